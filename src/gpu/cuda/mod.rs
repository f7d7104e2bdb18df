//! CUDA as a device: NVIDIA's driver, opened at run time; absent, old or broken drivers are outcomes, not crashes.
//!
//! | file | what it does |
//! | --- | --- |
//! | `library.rs` | finds the driver and checks that it has every function, before any of them is called |
//! | `probe.rs` | which devices work |
//! | `encode.rs` | kernels that compute, as lists of numbers |
//! | `context.rs` | a device with its context, stream and kernels |
//! | `run.rs` | the same as a [`Device`](crate::device::Device) |

mod context;
mod encode;
mod library;
mod probe;
mod run;

pub use probe::probe;
pub use run::CudaDevice;

/// The kernels as text for the driver's own compiler; built by `kernels/build`.
pub const KERNELS: &str = include_str!("../kernels/plan.ptx");

/// Every function of the driver that a run calls; all of them are in drivers since 470.
pub const SYMBOLS: [&str; 47] = [
    "cuInit",
    "cuDriverGetVersion",
    "cuDeviceGetCount",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceGetAttribute",
    "cuDeviceTotalMem_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxSetCurrent",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamSynchronize",
    "cuStreamBeginCapture_v2",
    "cuStreamEndCapture",
    "cuEventCreate",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuEventElapsedTime",
    "cuEventDestroy_v2",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemAllocFromPoolAsync",
    "cuMemFreeAsync",
    "cuMemPoolCreate",
    "cuMemPoolDestroy",
    "cuMemPoolTrimTo",
    "cuMemPoolGetAttribute",
    "cuMemPoolSetAttribute",
    "cuMemGetInfo_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuModuleLoadDataEx",
    "cuModuleGetFunction",
    "cuModuleUnload",
    "cuLaunchKernel",
    "cuGraphInstantiateWithFlags",
    "cuGraphUpload",
    "cuGraphLaunch",
    "cuGraphExecDestroy",
    "cuGraphDestroy",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuMemsetD8Async",
    "cuCtxGetCurrent",
    "cuEventQuery",
    "cuStreamWaitEvent",
];

#[cfg(test)]
mod tests {
    use super::KERNELS;

    /// The same hash as `kernels/build` computes.
    fn fnv1a64(bytes: &[u8]) -> u64 {
        bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }

    #[test]
    fn the_committed_kernels_were_compiled_from_the_committed_source() {
        let line = format!("// source-fnv1a64: {:016x}", fnv1a64(include_bytes!("../kernels/plan.cu")));
        assert!(KERNELS.lines().any(|other| other == line), "run src/gpu/kernels/build: plan.ptx does not carry `{line}`");
    }

    #[test]
    fn the_kernels_ask_for_the_oldest_compiler_and_device() {
        assert!(KERNELS.lines().any(|line| line == ".version 6.4") && KERNELS.lines().any(|line| line == ".target sm_50"));
    }
}
