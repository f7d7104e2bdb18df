//! A device with its context, its streams and the kernels.

use std::ffi::{CString, c_void};

use cudarc::driver::{result, sys};

use super::KERNELS;
use super::library::{version, version_name};
use crate::device::{DeviceDescription, DeviceError, DeviceKind};

/// The word in a device's name by which a test's driver says that it is none.
const SIMULATED: &str = "Fake GPU";
/// Room for what the driver's compiler has to say, bytes.
const LOG_BYTES: usize = 8 << 10;

/// The kernels by name, in the order of [`Context::functions`].
const KERNEL_NAMES: [&str; 22] = [
    "plan_fill",
    "plan_check",
    "plan_constant_fill",
    "plan_constant_check",
    "plan_footprint",
    "plan_next_epoch",
    "plan_map",
    "plan_copy",
    "plan_repeat",
    "plan_product",
    "plan_convolution",
    "plan_pool",
    "plan_reduce",
    "plan_softmax",
    "plan_normalise",
    "plan_normalise_given",
    "plan_gather",
    "plan_loss",
    "plan_loss_gradient",
    "plan_softmax_gradient",
    "plan_compare",
    "plan_move",
];

/// One of the kernels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kernel {
    Fill,
    Check,
    ConstantFill,
    ConstantCheck,
    Footprint,
    NextEpoch,
    Map,
    Copy,
    Repeat,
    Product,
    Convolution,
    Pool,
    Reduce,
    Softmax,
    Normalise,
    NormaliseGiven,
    Gather,
    Loss,
    LossGradient,
    SoftmaxGradient,
    Compare,
    Move,
}

/// An open device. Everything in it belongs to the thread that opened it.
pub(super) struct Context {
    pub(super) description: DeviceDescription,
    device: sys::CUdevice,
    pub(super) stream: sys::CUstream,
    /// Streams beside the first, made when they are needed.
    more_streams: Vec<sys::CUstream>,
    /// The stream that launches go to; the first is 0.
    current: usize,
    module: sys::CUmodule,
    functions: Vec<sys::CUfunction>,
}

/// The driver's code of an error.
pub(super) fn code_of(error: result::DriverError) -> i32 {
    error.0 as i32
}

/// The driver's words for an error.
pub(super) fn words_of(error: result::DriverError) -> String {
    let name = error.error_name().map_or_else(|_| format!("code {}", code_of(error)), |name| name.to_string_lossy().into_owned());
    let text = error.error_string().map_or_else(|_| String::new(), |text| format!(": {}", text.to_string_lossy()));
    format!("{name}{text}")
}

/// Names the call that an error came from.
pub(super) fn failed(call: &'static str) -> impl Fn(result::DriverError) -> DeviceError {
    move |error| DeviceError::Failed { call, code: code_of(error), message: words_of(error) }
}

impl Context {
    /// Opens the device at a position; the driver must have been checked and initialised.
    pub(super) fn open(index: u32) -> Result<Self, DeviceError> {
        let ordinal = i32::try_from(index).map_err(|_| DeviceError::Unsupported("no such device"))?;
        let device = result::device::get(ordinal).map_err(failed("cuDeviceGet"))?;
        // SAFETY: the device comes from `device::get`; what is retained here is released in `drop`.
        let context = unsafe { result::primary_ctx::retain(device) }.map_err(failed("cuDevicePrimaryCtxRetain"))?;
        let mut opened = Self {
            description: empty_description(index),
            device,
            stream: std::ptr::null_mut(),
            more_streams: Vec::new(),
            current: 0,
            module: std::ptr::null_mut(),
            functions: Vec::new(),
        };
        // SAFETY: the context was just retained and stays so until `drop`.
        unsafe { result::ctx::set_current(context) }.map_err(failed("cuCtxSetCurrent"))?;
        // The default stream cannot be captured, so that everything runs on one of our own.
        opened.stream = result::stream::create(result::stream::StreamKind::NonBlocking).map_err(failed("cuStreamCreate"))?;
        opened.module = load_kernels()?;
        for name in KERNEL_NAMES {
            let name = CString::new(name).map_err(|_| DeviceError::Unsupported("a kernel's name with a zero byte"))?;
            // SAFETY: the module was just loaded and lives until `drop`.
            let function = unsafe { result::module::get_function(opened.module, name) }.map_err(failed("cuModuleGetFunction"))?;
            opened.functions.push(function);
        }
        opened.describe(index)?;
        Ok(opened)
    }

    fn describe(&mut self, index: u32) -> Result<(), DeviceError> {
        let name = result::device::get_name(self.device).map_err(failed("cuDeviceGetName"))?;
        let attribute = |attribute| {
            // SAFETY: the device is valid; attributes are plain integers.
            unsafe { result::device::get_attribute(self.device, attribute) }.map_err(failed("cuDeviceGetAttribute"))
        };
        let major = attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let has_pools = attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)? != 0;
        let (free, total) = result::mem_get_info().map_err(failed("cuMemGetInfo"))?;
        self.description = DeviceDescription {
            kind: if name.starts_with(SIMULATED) { DeviceKind::Simulated } else { DeviceKind::Gpu },
            index,
            name,
            compute_capability: format!("{major}.{minor}"),
            driver: version().map_or_else(|_| String::new(), version_name),
            total_bytes: total as u64,
            free_bytes: free as u64,
            has_pools,
            has_graphs: true,
        };
        Ok(())
    }

    /// Makes streams until there are `n`.
    pub(super) fn make_streams(&mut self, n: usize) -> Result<(), DeviceError> {
        while self.more_streams.len() + 1 < n {
            self.more_streams.push(result::stream::create(result::stream::StreamKind::NonBlocking).map_err(failed("cuStreamCreate"))?);
        }
        Ok(())
    }

    /// Launches go to this stream from here on; one that was not made stands for the first.
    pub(super) fn use_stream(&mut self, stream: usize) {
        self.current = stream;
    }

    /// The stream that launches go to.
    pub(super) fn current(&self) -> sys::CUstream {
        self.current.checked_sub(1).and_then(|index| self.more_streams.get(index)).copied().unwrap_or(self.stream)
    }

    /// All streams.
    pub(super) fn streams(&self) -> impl Iterator<Item = sys::CUstream> + use<> {
        let mut all = vec![self.stream];
        all.extend(&self.more_streams);
        all.into_iter()
    }

    /// The position of the device for the driver.
    pub(super) fn ordinal(&self) -> sys::CUdevice {
        self.device
    }

    /// Launches a kernel over so many threads; `arguments` are its parameters, 8 bytes each, of which it takes what it
    /// needs.
    pub(super) fn launch(&self, kernel: Kernel, words: u64, arguments: &mut [u64]) -> Result<(), DeviceError> {
        /// The widest block; enough to fill a multiprocessor with a few of them.
        const MAX_THREADS: u64 = 256;
        /// Blocks beyond this only queue: kernels stride over the rest. Chosen for devices of up to 150 multiprocessors.
        const MAX_BLOCKS: u64 = 4096;
        let threads = words.next_multiple_of(32).clamp(32, MAX_THREADS);
        let blocks = words.div_ceil(threads).clamp(1, MAX_BLOCKS);
        let size = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        let mut pointers: Vec<*mut c_void> = arguments.iter_mut().map(|argument| std::ptr::from_mut(argument).cast()).collect();
        let function = self.functions[kernel as usize];
        // SAFETY: the function belongs to the loaded module; every parameter of every kernel is at most 8 bytes wide, so
        // reading it from a little-endian u64 is in bounds and right; the addresses are those of live device blocks.
        unsafe { result::launch_kernel(function, (size(blocks), 1, 1), (size(threads), 1, 1), 0, self.current(), &mut pointers) }
            .map_err(failed("cuLaunchKernel"))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // Failures here have no consequence: the process ends soon, and the driver cleans up after it.
        if !self.module.is_null() {
            // SAFETY: loaded in `open` and unloaded only here.
            let _ = unsafe { result::module::unload(self.module) };
        }
        let first = (!self.stream.is_null()).then_some(self.stream);
        for stream in self.more_streams.drain(..).chain(first) {
            // SAFETY: made in `open` or `make_streams` and destroyed only here.
            let _ = unsafe { result::stream::destroy(stream) };
        }
        // SAFETY: retained in `open` and released only here.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

fn empty_description(index: u32) -> DeviceDescription {
    DeviceDescription {
        kind: DeviceKind::Gpu,
        index,
        name: String::new(),
        compute_capability: String::new(),
        driver: String::new(),
        total_bytes: 0,
        free_bytes: 0,
        has_pools: false,
        has_graphs: false,
    }
}

/// Lets the driver compile the kernels; if it refuses, its compiler's log is part of the error.
fn load_kernels() -> Result<sys::CUmodule, DeviceError> {
    let text = CString::new(KERNELS).map_err(|_| DeviceError::Unsupported("kernels with a zero byte"))?;
    let mut log = vec![0_u8; LOG_BYTES];
    let mut options = [sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(LOG_BYTES)];
    let mut module = std::ptr::null_mut();
    // SAFETY: the text ends with a zero byte; the options are a buffer and its size, both alive during the call.
    let status = unsafe { sys::cuModuleLoadDataEx(&raw mut module, text.as_ptr().cast(), 2, options.as_mut_ptr(), values.as_mut_ptr()) };
    status.result().map_err(|error| {
        let end = log.iter().position(|&byte| byte == 0).unwrap_or(0);
        let log = String::from_utf8_lossy(&log[..end]).trim().to_owned();
        let message = if log.is_empty() { words_of(error) } else { format!("{}; {log}", words_of(error)) };
        DeviceError::Failed { call: "cuModuleLoadDataEx", code: code_of(error), message }
    })?;
    Ok(module)
}
