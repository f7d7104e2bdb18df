//! NVIDIA's driver as far as a run needs it, over host memory: the shipped kernels run here by interpreting their text.
//!
//! It is stricter than the real thing: blocks are checked on every access, freed blocks are gone, a capturing thread
//! may neither allocate nor wait, a context must be current on the calling thread. It names its device so that nobody
//! takes it for a GPU. Faults are injected through the environment, see `faults.rs`.
//!
//! Not checked: races between threads of a kernel, and the number of a launch's arguments, of which a driver is given
//! only the addresses.

mod driver;
mod faults;
mod memory;
mod ptx;
mod streams;
mod warp;

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use driver::{
    CAPTURE_UNSUPPORTED, Driver, ILLEGAL_ADDRESS, INVALID_CONTEXT, INVALID_VALUE, NO_DEVICE, NOT_INITIALIZED, NOT_READY, OUT_OF_MEMORY, Outcome,
};
use faults::{Faults, Verdict};
use warp::Grid;

/// What the device calls itself.
const NAME: &[u8] = b"Fake GPU (host memory)";
/// The one context there is.
const CONTEXT: u64 = 0xC0;
/// The flag of an event that keeps no time.
const DISABLE_TIMING: u32 = 2;
const DEFAULT_MEMORY: u64 = 4 << 30;
const DEFAULT_VERSION: i32 = 12_040;

type Handle = *mut c_void;

/// A driver that moves between threads; its reference-counted kernels never leave the lock.
struct Shared(Option<Driver>);

// SAFETY: the driver is only reached through the mutex, and nothing in it is handed out, so that no two threads ever
// touch a reference count at once.
unsafe impl Send for Shared {}

static DRIVER: Mutex<Shared> = Mutex::new(Shared(None));

thread_local! {
    /// Whether this thread has made the context current.
    static IS_CURRENT: Cell<bool> = const { Cell::new(false) };
}

fn number<T: std::str::FromStr>(name: &str, default: T) -> T {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn new_driver() -> Driver {
    let (version, memory) = (number("FAKE_CUDA_VERSION", DEFAULT_VERSION), number("FAKE_CUDA_MEMORY", DEFAULT_MEMORY));
    Driver::new(Faults::from_environment(), version, memory, std::env::var_os("FAKE_CUDA_NO_POOLS").is_none())
}

fn lock() -> MutexGuard<'static, Shared> {
    DRIVER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What must be true before a function may be called.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Needs {
    Nothing,
    Init,
    Context,
}

/// Every function goes through here: faults, preconditions, then the work.
fn enter(function: &'static str, needs: Needs, work: impl FnOnce(&mut Driver) -> Outcome) -> i32 {
    let mut shared = lock();
    let driver = shared.0.get_or_insert_with(new_driver);
    match driver.faults.call(function) {
        Verdict::Work => {}
        Verdict::Fail(code) => return code,
        Verdict::Hang => {
            drop(shared);
            loop {
                std::thread::sleep(Duration::from_secs(1));
            }
        }
    }
    if needs >= Needs::Init && !driver.is_initialized {
        return NOT_INITIALIZED;
    }
    if needs >= Needs::Context && (driver.contexts == 0 || !IS_CURRENT.get()) {
        return INVALID_CONTEXT;
    }
    if let (Needs::Context, Some(code)) = (needs, driver.sticky) {
        return code;
    }
    work(driver).err().unwrap_or(0)
}

/// Writes a result where the caller wants it.
fn put<T>(to: *mut T, value: T) -> Outcome {
    if to.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: a pointer that is not null is the caller's to write to, by the function's contract.
    unsafe { to.write(value) };
    Ok(())
}

fn put_handle(to: *mut Handle, handle: u64) -> Outcome {
    put(to, std::ptr::without_provenance_mut(usize::try_from(handle).map_err(|_| INVALID_VALUE)?))
}

fn id(handle: Handle) -> u64 {
    handle.addr() as u64
}

/// Defines exported functions: name, arguments, what they need, and their work on the driver.
macro_rules! driver_functions {
    ($($name:ident($($argument:ident: $kind:ty),*) needs $needs:ident |$driver:ident| $work:expr;)*) => {
        $(
            // SAFETY: no other symbol of this name is in the library; the name is the driver's own.
            #[unsafe(no_mangle)]
            extern "C" fn $name($($argument: $kind),*) -> i32 {
                enter(stringify!($name), Needs::$needs, |$driver| $work)
            }
        )*
    };
}

driver_functions! {
    cuInit(_flags: u32) needs Nothing |driver| {
        if driver.total_bytes == 0 { return Err(NO_DEVICE) }
        driver.is_initialized = true;
        Ok(())
    };
    cuDriverGetVersion(version: *mut i32) needs Nothing |driver| put(version, driver.version);
    cuDeviceGetCount(count: *mut i32) needs Init |_driver| put(count, 1);
    cuDeviceGet(device: *mut i32, ordinal: i32) needs Init |_driver| if ordinal == 0 { put(device, 0) } else { Err(101) };
    cuDeviceGetName(name: *mut c_char, room: i32, _device: i32) needs Init |_driver| {
        let bytes: Vec<c_char> = NAME.iter().chain(b"\0").map(|byte| byte.cast_signed()).collect();
        let room = usize::try_from(room).unwrap_or(0);
        // SAFETY: the caller gives room for so many bytes.
        let to = unsafe { std::slice::from_raw_parts_mut(name, room) };
        to.get_mut(..bytes.len()).ok_or(INVALID_VALUE)?.copy_from_slice(&bytes);
        Ok(())
    };
    cuDeviceGetAttribute(value: *mut i32, attribute: i32, _device: i32) needs Init |driver| match attribute {
        75 => put(value, 5),
        76 => put(value, 0),
        115 => put(value, i32::from(driver.has_pools)),
        _ => Err(INVALID_VALUE),
    };
    cuDeviceTotalMem_v2(bytes: *mut usize, _device: i32) needs Init |driver| put(bytes, size(driver.total_bytes));
    cuDevicePrimaryCtxRetain(context: *mut Handle, _device: i32) needs Init |driver| {
        driver.contexts += 1;
        put_handle(context, CONTEXT)
    };
    cuDevicePrimaryCtxRelease_v2(_device: i32) needs Init |driver| {
        driver.release_context();
        Ok(())
    };
    cuCtxSetCurrent(context: Handle) needs Init |_driver| {
        IS_CURRENT.set(id(context) == CONTEXT);
        Ok(())
    };
    cuCtxGetCurrent(context: *mut Handle) needs Init |_driver| put_handle(context, if IS_CURRENT.get() { CONTEXT } else { 0 });
    cuStreamCreate(stream: *mut Handle, _flags: u32) needs Context |driver| put_handle(stream, driver.create_stream());
    cuStreamDestroy_v2(stream: Handle) needs Init |driver| driver.destroy_stream(id(stream));
    cuStreamSynchronize(stream: Handle) needs Context |driver| driver.check_stream(id(stream)).and_then(|()| driver.wait(Some(id(stream))));
    cuStreamWaitEvent(stream: Handle, event: Handle, _flags: u32) needs Context |driver| driver.wait_event(id(stream), id(event));
    cuStreamBeginCapture_v2(stream: Handle, _mode: u32) needs Context |driver| driver.begin_capture(id(stream));
    cuStreamEndCapture(stream: Handle, graph: *mut Handle) needs Context |driver| driver.end_capture(id(stream)).and_then(|handle| put_handle(graph, handle));
    cuEventCreate(event: *mut Handle, flags: u32) needs Context |driver| put_handle(event, driver.create_event(flags & DISABLE_TIMING == 0));
    cuEventRecord(event: Handle, stream: Handle) needs Context |driver| driver.record(id(event), id(stream));
    cuEventQuery(event: Handle) needs Context |driver| driver.check_event(id(event));
    cuEventSynchronize(event: Handle) needs Context |driver| driver.check_event(id(event)).and_then(|()| driver.wait(None));
    cuEventElapsedTime(ms: *mut f32, from: Handle, to: Handle) needs Context |driver| put(ms, driver.elapsed_ms(id(from), id(to))?);
    cuEventDestroy_v2(event: Handle) needs Init |driver| driver.destroy_event(id(event));
    cuMemAlloc_v2(address: *mut u64, bytes: usize) needs Context |driver| put(address, driver.allocate(bytes as u64)?);
    cuMemFree_v2(address: u64) needs Context |driver| driver.release(address);
    cuMemGetInfo_v2(free: *mut usize, total: *mut usize) needs Context |driver| {
        put(free, size(driver.free_bytes()))?;
        put(total, size(driver.total_bytes))
    };
    cuMemPoolCreate(pool: *mut Handle, _properties: Handle) needs Context |driver| {
        if !driver.has_pools { return Err(801) }
        put_handle(pool, driver.create_pool())
    };
    cuMemPoolDestroy(pool: Handle) needs Init |driver| driver.destroy_pool(id(pool));
    cuMemPoolTrimTo(pool: Handle, keep: usize) needs Context |driver| driver.trim_pool(id(pool), keep as u64);
    cuMemPoolGetAttribute(pool: Handle, attribute: u32, value: *mut u64) needs Context |driver| put(value, driver.pool_attribute(id(pool), attribute)?);
    cuMemPoolSetAttribute(pool: Handle, attribute: u32, value: *const u64) needs Context |driver| {
        // SAFETY: the attributes that are known here are 64-bit numbers, so that the caller points to one.
        let value = unsafe { value.as_ref() }.copied().ok_or(INVALID_VALUE)?;
        driver.set_pool_attribute(id(pool), attribute, value)
    };
    cuMemAllocFromPoolAsync(address: *mut u64, bytes: usize, pool: Handle, stream: Handle) needs Context |driver| {
        driver.check_stream(id(stream))?;
        put(address, driver.pool_allocate(id(pool), bytes as u64)?)
    };
    cuMemFreeAsync(address: u64, stream: Handle) needs Context |driver| driver.check_stream(id(stream)).and(driver.pool_release(address));
    cuMemcpyHtoDAsync_v2(to: u64, from: *const u8, bytes: usize, stream: Handle) needs Context |driver| {
        check_copy(driver, to, bytes, stream)?;
        // SAFETY: the block holds the range, and the caller gives so many bytes.
        unsafe { std::ptr::copy_nonoverlapping(from, std::ptr::with_exposed_provenance_mut(size(to)), bytes) };
        Ok(())
    };
    cuMemcpyDtoHAsync_v2(to: *mut u8, from: u64, bytes: usize, stream: Handle) needs Context |driver| {
        check_copy(driver, from, bytes, stream)?;
        // SAFETY: the block holds the range, and the caller gives room for so many bytes.
        unsafe { std::ptr::copy_nonoverlapping(std::ptr::with_exposed_provenance(size(from)), to, bytes) };
        Ok(())
    };
    cuMemsetD8Async(to: u64, byte: u8, bytes: usize, stream: Handle) needs Context |driver| {
        check_copy(driver, to, bytes, stream)?;
        // SAFETY: the block holds the range.
        unsafe { std::ptr::write_bytes(std::ptr::with_exposed_provenance_mut::<u8>(size(to)), byte, bytes) };
        Ok(())
    };
    cuModuleLoadDataEx(module: *mut Handle, text: *const c_char, n: u32, options: *const u32, values: *const Handle) needs Context |driver| {
        // SAFETY: the caller gives text that ends with a zero byte.
        let text = unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| INVALID_VALUE)?;
        driver.load_module(text).map_err(|(code, why)| {
            write_log(&why, n, options, values);
            code
        }).and_then(|handle| put_handle(module, handle))
    };
    cuModuleGetFunction(function: *mut Handle, module: Handle, name: *const c_char) needs Context |driver| {
        // SAFETY: the caller gives text that ends with a zero byte.
        let name = unsafe { CStr::from_ptr(name) }.to_str().map_err(|_| INVALID_VALUE)?;
        put_handle(function, driver.function(id(module), name)?)
    };
    cuModuleUnload(module: Handle) needs Init |driver| driver.unload_module(id(module));
    cuGraphInstantiateWithFlags(executable: *mut Handle, graph: Handle, _flags: u64) needs Context |driver| put_handle(executable, driver.instantiate(id(graph))?);
    cuGraphUpload(executable: Handle, stream: Handle) needs Context |driver| driver.check_stream(id(stream)).and(driver.check_executable(id(executable)));
    cuGraphLaunch(executable: Handle, stream: Handle) needs Context |driver| {
        driver.check_stream(id(stream))?;
        driver.replay(id(executable), id(stream))
    };
    cuGraphExecDestroy(executable: Handle) needs Init |driver| driver.destroy_executable(id(executable));
    cuGraphDestroy(graph: Handle) needs Init |driver| driver.destroy_graph(id(graph));
}

// SAFETY: no other symbol of this name is in the library; the name is the driver's own.
#[unsafe(no_mangle)]
extern "C" fn cuLaunchKernel(
    function: Handle,
    blocks_x: u32,
    blocks_y: u32,
    blocks_z: u32,
    threads_x: u32,
    threads_y: u32,
    threads_z: u32,
    shared_bytes: u32,
    stream: Handle,
    arguments: *const *const u8,
    extra: *const c_void,
) -> i32 {
    enter("cuLaunchKernel", Needs::Context, |driver| {
        let sizes = driver.parameters(id(function))?;
        let is_plain = [blocks_y, blocks_z, threads_y, threads_z] == [1; 4] && shared_bytes == 0 && extra.is_null();
        if !is_plain || arguments.is_null() {
            return Err(INVALID_VALUE);
        }
        let mut parameters = Vec::with_capacity(sizes.len());
        for (index, bytes) in sizes.into_iter().enumerate() {
            // SAFETY: the caller gives one address per parameter of the kernel.
            let from = unsafe { arguments.add(index).read() };
            if from.is_null() {
                return Err(INVALID_VALUE);
            }
            let mut value = [0_u8; 8];
            // SAFETY: the address is that of an argument as wide as the parameter.
            unsafe { std::ptr::copy_nonoverlapping(from, value.as_mut_ptr(), bytes) };
            parameters.push(u64::from_le_bytes(value));
        }
        driver.launch(id(function), Grid { blocks: blocks_x, threads: threads_x }, id(stream), parameters)
    })
}

/// A result's name and meaning, each ending with a zero byte.
fn words(code: i32) -> (&'static CStr, &'static CStr) {
    match code {
        0 => (c"CUDA_SUCCESS", c"no error"),
        INVALID_VALUE => (c"CUDA_ERROR_INVALID_VALUE", c"invalid argument"),
        OUT_OF_MEMORY => (c"CUDA_ERROR_OUT_OF_MEMORY", c"out of memory"),
        NOT_INITIALIZED => (c"CUDA_ERROR_NOT_INITIALIZED", c"initialization error"),
        NO_DEVICE => (c"CUDA_ERROR_NO_DEVICE", c"no CUDA-capable device is detected"),
        INVALID_CONTEXT => (c"CUDA_ERROR_INVALID_CONTEXT", c"invalid device context"),
        NOT_READY => (c"CUDA_ERROR_NOT_READY", c"device not ready"),
        ILLEGAL_ADDRESS => (c"CUDA_ERROR_ILLEGAL_ADDRESS", c"an illegal memory access was encountered"),
        CAPTURE_UNSUPPORTED => (c"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", c"operation not permitted when stream is capturing"),
        _ => (c"CUDA_ERROR_UNKNOWN", c"unknown error"),
    }
}

// SAFETY: no other symbol of this name is in the library; the name is the driver's own.
#[unsafe(no_mangle)]
extern "C" fn cuGetErrorName(code: i32, text: *mut *const c_char) -> i32 {
    put(text, words(code).0.as_ptr()).err().unwrap_or(0)
}

// SAFETY: no other symbol of this name is in the library; the name is the driver's own.
#[unsafe(no_mangle)]
extern "C" fn cuGetErrorString(code: i32, text: *mut *const c_char) -> i32 {
    put(text, words(code).1.as_ptr()).err().unwrap_or(0)
}

fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// Copies are refused while capturing, because nothing here ever captures one.
fn check_copy(driver: &mut Driver, address: u64, bytes: usize, stream: Handle) -> Outcome {
    driver.check_stream(id(stream))?;
    driver.refuse_in_capture()?;
    driver.work_off(Some(id(stream)));
    driver.sticky.map_or(Ok(()), Err)?;
    if driver.holds(address, bytes) { Ok(()) } else { Err(INVALID_VALUE) }
}

/// Puts what the compiler has to say into the log buffer that the caller gave, if any.
fn write_log(why: &str, n: u32, options: *const u32, values: *const Handle) {
    const LOG: u32 = 5;
    const LOG_BYTES: u32 = 6;
    let n = usize::try_from(n).unwrap_or(0);
    if options.is_null() || values.is_null() {
        return;
    }
    // SAFETY: the caller gives `n` options and as many values.
    let (options, values) = unsafe { (std::slice::from_raw_parts(options, n), std::slice::from_raw_parts(values, n)) };
    let value = |option: u32| options.iter().position(|&other| other == option).map(|at| values[at]);
    let (Some(log), Some(room)) = (value(LOG), value(LOG_BYTES)) else { return };
    let bytes = why.len().min(room.addr().saturating_sub(1));
    // SAFETY: the buffer has room for so many bytes and a zero after them.
    unsafe {
        std::ptr::copy_nonoverlapping(why.as_ptr(), log.cast(), bytes);
        log.cast::<u8>().add(bytes).write(0);
    }
}
