//! A CUDA device as a [`Device`]: work goes to the stream in use; everything else is ordered by the first stream.

use std::collections::BTreeMap;
use std::path::Path;

use cudarc::driver::{result, sys};

use super::context::{Context, Kernel, failed};
use super::encode::encode;
use super::library;
use super::probe::{count, report_of};
use crate::compute::{self, Element};
use crate::device::{Device, DeviceDescription, DeviceError, Epoch, Mark, MemoryInfo, PoolCounters, Range, Turns};
use crate::pattern::{POISON, WordReport};
use crate::probe::{ProbeOutcome, ProbeReport};

/// The most bytes of one launch: far below 50 ms on any device that can run at all.
const MAX_LAUNCH_BYTES: u64 = 256 << 20;
/// The code of the driver for a lack of memory.
const OUT_OF_MEMORY: sys::CUresult = sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY;
/// A signal beyond those that were prepared.
const NO_SIGNAL: DeviceError = DeviceError::Unsupported("a signal that was never made");
/// Words of a report on the device: how many, first, last.
const REPORT_WORDS: u64 = 3;

/// A GPU.
pub struct CudaDevice {
    context: Context,
    pool: Option<sys::CUmemoryPool>,
    /// Two words: the present epoch, and a zero for what is written once.
    epochs: u64,
    /// Two counters of the footprint scan.
    counters: u64,
    reports: u64,
    n_reports: usize,
    /// How many reports the block at `reports` has room for.
    reports_room: usize,
    recording: Option<(sys::CUgraph, sys::CUgraphExec)>,
    /// Whether launches are being recorded, in which no event can be timed and nothing can be waited for.
    is_recording: bool,
    /// Events by mark; `None` once they were read.
    events: Vec<Option<sys::CUevent>>,
    spare_events: Vec<sys::CUevent>,
    /// Where the numbers of each kernel that computes are.
    lists: BTreeMap<Vec<u64>, u64>,
    /// Points at which streams wait for each other, by signal; they keep no time.
    signals: Vec<sys::CUevent>,
}

impl std::fmt::Debug for CudaDevice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CudaDevice").field("description", &self.context.description).finish_non_exhaustive()
    }
}

impl CudaDevice {
    /// Opens the driver, or the library given in its place, and the device at a position.
    ///
    /// # Errors
    /// [`DeviceError::Unusable`] in the words of the probe.
    pub fn open(index: u32, gpu_lib: Option<&Path>) -> Result<Self, DeviceError> {
        let n = library::open(gpu_lib).and_then(|()| count()).map_err(ProbeReport::into_error)?;
        if index >= n {
            let report = ProbeReport::failure(ProbeOutcome::NoDevice, &format!("GPU {index} was asked for, but there are {n}, counted from 0"));
            return Err(report.into_error());
        }
        let context = Context::open(index).map_err(|error| report_of(&error).into_error())?;
        let mut device = Self {
            context,
            pool: None,
            epochs: 0,
            counters: 0,
            reports: 0,
            n_reports: 0,
            reports_room: 0,
            recording: None,
            is_recording: false,
            events: Vec::new(),
            spare_events: Vec::new(),
            signals: Vec::new(),
            lists: BTreeMap::new(),
        };
        device.prepare().map_err(|error| report_of(&error).into_error())?;
        Ok(device)
    }

    /// What every run needs: two words for epochs, two counters, and a pool if there are any.
    fn prepare(&mut self) -> Result<(), DeviceError> {
        self.epochs = self.allocate(8)?;
        self.counters = self.allocate(16)?;
        self.upload(self.epochs, &[0_u32, 0])?;
        if self.context.description.has_pools {
            self.pool = Some(create_pool(self.context.ordinal())?);
        }
        Ok(())
    }

    fn upload<T: Copy>(&mut self, address: u64, values: &[T]) -> Result<(), DeviceError> {
        // SAFETY: the block at `address` was allocated with room for the values, which outlive the wait below.
        unsafe { result::memcpy_htod_async(address, values, self.context.stream) }.map_err(failed("cuMemcpyHtoDAsync"))?;
        self.synchronize()
    }

    fn download<T: Copy>(&mut self, address: u64, values: &mut [T]) -> Result<(), DeviceError> {
        // SAFETY: the block at `address` holds that many values, and `values` outlives the wait below.
        unsafe { result::memcpy_dtoh_async(values, address, self.context.stream) }.map_err(failed("cuMemcpyDtoHAsync"))?;
        self.synchronize()
    }

    /// Calls `launch` with slices of a range: address, bytes, and position of the slice in the range.
    fn slices(range: Range, mut launch: impl FnMut(u64, u64, u64) -> Result<(), DeviceError>) -> Result<(), DeviceError> {
        let mut from = 0;
        while from < range.bytes {
            let bytes = (range.bytes - from).min(MAX_LAUNCH_BYTES);
            launch(range.address + from, bytes, from)?;
            from += bytes;
        }
        Ok(())
    }

    fn epoch_address(&self, epoch: Epoch) -> u64 {
        if epoch == Epoch::Current { self.epochs } else { self.epochs + 4 }
    }

    fn report_address(&self, report: usize) -> u64 {
        self.reports + report as u64 * REPORT_WORDS * 4
    }

    fn pool(&self) -> Result<sys::CUmemoryPool, DeviceError> {
        self.pool.ok_or(DeviceError::Unsupported("this device has no stream-ordered pool"))
    }

    fn pool_attribute(&self, attribute: sys::CUmemPool_attribute) -> Result<u64, DeviceError> {
        let mut value = 0_u64;
        // SAFETY: the pool lives until `drop`; the attributes asked for are 64-bit counters.
        unsafe { result::mem_pool::get_attribute(self.pool()?, attribute, (&raw mut value).cast()) }.map_err(failed("cuMemPoolGetAttribute"))?;
        Ok(value)
    }
}

fn create_pool(ordinal: sys::CUdevice) -> Result<sys::CUmemoryPool, DeviceError> {
    // SAFETY: the structure is plain data for which zero means "none" in every field.
    let mut properties: sys::CUmemPoolProps = unsafe { std::mem::zeroed() };
    properties.allocType = sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = ordinal;
    // SAFETY: the properties are complete and alive during the call.
    let pool = unsafe { result::mem_pool::create(&raw const properties) }.map_err(failed("cuMemPoolCreate"))?;
    // Without this the pool hands memory back whenever the stream is waited for.
    let mut keep = u64::MAX;
    let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
    // SAFETY: the pool was just made; the threshold is a 64-bit number.
    unsafe { result::mem_pool::set_attribute(pool, attribute, (&raw mut keep).cast()) }.map_err(failed("cuMemPoolSetAttribute"))?;
    Ok(pool)
}

fn allocation_error(call: &'static str, bytes: u64) -> impl Fn(result::DriverError) -> DeviceError {
    move |error| if error.0 == OUT_OF_MEMORY { DeviceError::OutOfMemory { bytes } } else { failed(call)(error) }
}

fn host_size(bytes: u64) -> Result<usize, DeviceError> {
    usize::try_from(bytes.max(1)).map_err(|_| DeviceError::OutOfMemory { bytes })
}

impl Device for CudaDevice {
    fn description(&self) -> &DeviceDescription {
        &self.context.description
    }

    fn memory(&mut self) -> Result<MemoryInfo, DeviceError> {
        let (free, total) = result::mem_get_info().map_err(failed("cuMemGetInfo"))?;
        Ok(MemoryInfo { free_bytes: free as u64, total_bytes: total as u64, used_bytes: total.saturating_sub(free) as u64 })
    }

    fn allocate(&mut self, bytes: u64) -> Result<u64, DeviceError> {
        // SAFETY: allocates; the address goes only into launches and copies within its size.
        unsafe { result::malloc_sync(host_size(bytes)?) }.map_err(allocation_error("cuMemAlloc", bytes))
    }

    fn release(&mut self, address: u64) -> Result<(), DeviceError> {
        // SAFETY: the address came from `allocate`; the call waits for everything that uses it.
        unsafe { result::free_sync(address) }.map_err(failed("cuMemFree"))
    }

    fn pool_allocate(&mut self, bytes: u64) -> Result<u64, DeviceError> {
        // SAFETY: pool and stream live until `drop`; what is done with the block is on the same stream.
        unsafe { result::mem_pool::alloc_async(self.pool()?, host_size(bytes)?, self.context.stream) }
            .map_err(allocation_error("cuMemAllocFromPoolAsync", bytes))
    }

    fn pool_release(&mut self, address: u64) -> Result<(), DeviceError> {
        // SAFETY: the address came from `pool_allocate`; the stream orders this after everything that uses it.
        unsafe { result::free_async(address, self.context.stream) }.map_err(failed("cuMemFreeAsync"))
    }

    fn pool_counters(&mut self) -> Result<PoolCounters, DeviceError> {
        Ok(PoolCounters {
            reserved_bytes: self.pool_attribute(sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)?,
            used_bytes: self.pool_attribute(sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)?,
        })
    }

    fn pool_trim(&mut self) -> Result<(), DeviceError> {
        let Some(pool) = self.pool else { return Ok(()) };
        // SAFETY: the pool lives until `drop`.
        unsafe { result::mem_pool::trim_to(pool, 0) }.map_err(failed("cuMemPoolTrimTo"))
    }

    fn prepare_reports(&mut self, n: usize) -> Result<(), DeviceError> {
        let clean = [WordReport::CLEAN.n_wrong, WordReport::CLEAN.first, WordReport::CLEAN.last];
        if n > self.reports_room {
            if self.reports != 0 {
                self.release(self.reports)?;
            }
            self.reports = self.allocate(n as u64 * REPORT_WORDS * 4)?;
            self.reports_room = n;
        }
        self.n_reports = n;
        self.upload(self.reports, &clean.repeat(n))
    }

    fn next_epoch(&mut self) -> Result<(), DeviceError> {
        self.context.launch(Kernel::NextEpoch, 1, &mut [self.epochs])
    }

    fn fill(&mut self, range: Range, tag: u32, epoch: Epoch) -> Result<(), DeviceError> {
        let epoch = self.epoch_address(epoch);
        Self::slices(range, |address, bytes, from| {
            self.context.launch(Kernel::Fill, bytes.div_ceil(4), &mut [address, bytes, from / 4, u64::from(tag), epoch])
        })
    }

    fn check(&mut self, range: Range, tag: u32, epoch: Epoch, report: usize) -> Result<(), DeviceError> {
        let (epoch, report) = (self.epoch_address(epoch), self.report_address(report));
        Self::slices(range, |address, bytes, from| {
            self.context.launch(Kernel::Check, bytes.div_ceil(4), &mut [address, bytes, from / 4, u64::from(tag), epoch, report])
        })
    }

    fn fill_constant(&mut self, range: Range, word: u32) -> Result<(), DeviceError> {
        Self::slices(range, |address, bytes, _| self.context.launch(Kernel::ConstantFill, bytes.div_ceil(4), &mut [address, bytes, u64::from(word)]))
    }

    fn check_constant(&mut self, range: Range, word: u32, report: usize) -> Result<(), DeviceError> {
        let report = self.report_address(report);
        Self::slices(range, |address, bytes, from| {
            self.context.launch(Kernel::ConstantCheck, bytes.div_ceil(4), &mut [address, bytes, from / 4, u64::from(word), report])
        })
    }

    fn compute(&mut self, computation: &compute::Kernel, operands: &[(Range, Element)]) -> Result<(), DeviceError> {
        let elements: Vec<Element> = operands.iter().map(|&(_, element)| element).collect();
        let n_output = operands.first().map_or(0, |&(range, element)| range.bytes / element.bytes());
        let encoded = encode(computation, &elements, n_output);
        let list = match self.lists.get(&encoded.words) {
            Some(&address) => address,
            None => {
                let address = self.allocate(encoded.words.len() as u64 * 8)?;
                self.upload(address, &encoded.words)?;
                self.lists.insert(encoded.words, address);
                address
            }
        };
        // A kernel takes as many addresses as it has operands, and those that are not there are never looked at.
        let mut arguments = [list, 0, 0, 0, 0, 0, 0];
        for (argument, (range, _)) in arguments[1..].iter_mut().zip(operands) {
            *argument = range.address;
        }
        self.context.launch(encoded.kernel, encoded.threads, &mut arguments)
    }

    fn compare(&mut self, range: Range, with: Range, report: usize) -> Result<(), DeviceError> {
        let report = self.report_address(report);
        Self::slices(range, |address, bytes, from| {
            self.context.launch(Kernel::Compare, bytes.div_ceil(4), &mut [address, bytes, from / 4, with.address + from, report])
        })
    }

    fn copy(&mut self, from: Range, to: Range) -> Result<(), DeviceError> {
        Self::slices(to, |address, bytes, at| self.context.launch(Kernel::Move, bytes.div_ceil(4), &mut [address, bytes, from.address + at]))
    }

    fn write(&mut self, range: Range, bytes: &[u8]) -> Result<(), DeviceError> {
        self.upload(range.address, bytes)
    }

    fn read(&mut self, range: Range) -> Result<Vec<u8>, DeviceError> {
        let mut bytes = vec![0; host_size(range.bytes)?];
        self.download(range.address, &mut bytes)?;
        Ok(bytes)
    }

    fn footprint(&mut self, range: Range) -> Result<(u64, u64), DeviceError> {
        let counters = self.counters;
        self.upload(counters, &[0_u64, 0])?;
        Self::slices(range, |address, bytes, from| {
            self.context.launch(Kernel::Footprint, bytes.div_ceil(4), &mut [address, bytes, from, u64::from(POISON), counters])
        })?;
        let mut found = [0_u64; 2];
        self.download(counters, &mut found)?;
        Ok((found[0], found[1]))
    }

    fn prepare_streams(&mut self, n_streams: usize, n_signals: usize) -> Result<(), DeviceError> {
        self.context.use_stream(0);
        self.context.make_streams(n_streams)?;
        while n_streams > 1 && self.signals.len() < n_signals {
            self.signals.push(result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING).map_err(failed("cuEventCreate"))?);
        }
        Ok(())
    }

    fn use_stream(&mut self, stream: usize) {
        self.context.use_stream(stream);
    }

    /// The hardware decides.
    fn take_turns(&mut self, _turns: Turns) -> Result<(), DeviceError> {
        Ok(())
    }

    fn signal(&mut self, signal: usize) -> Result<(), DeviceError> {
        let event = *self.signals.get(signal).ok_or(NO_SIGNAL)?;
        // SAFETY: event and stream live until `drop`.
        unsafe { result::event::record(event, self.context.current()) }.map_err(failed("cuEventRecord"))
    }

    fn wait_for(&mut self, signal: usize) -> Result<(), DeviceError> {
        let event = *self.signals.get(signal).ok_or(NO_SIGNAL)?;
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: event and stream live until `drop`.
        unsafe { result::stream::wait_event(self.context.current(), event, flags) }.map_err(failed("cuStreamWaitEvent"))
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        for stream in self.context.streams() {
            // SAFETY: the stream lives until `drop`.
            unsafe { result::stream::synchronize(stream) }.map_err(failed("cuStreamSynchronize"))?;
        }
        Ok(())
    }

    fn reports(&mut self) -> Result<Vec<WordReport>, DeviceError> {
        let mut words = vec![0_u32; self.n_reports * 3];
        if !words.is_empty() {
            self.download(self.reports, &mut words)?;
        }
        Ok(words.chunks_exact(3).map(|words| WordReport { n_wrong: words[0], first: words[1], last: words[2] }).collect())
    }

    fn mark(&mut self) -> Result<Mark, DeviceError> {
        let event = match self.spare_events.pop() {
            Some(event) => event,
            None => result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT).map_err(failed("cuEventCreate"))?,
        };
        self.events.push(Some(event));
        // SAFETY: the event was made here and lives until `drop`; so does the stream.
        unsafe { result::event::record(event, self.context.stream) }.map_err(failed("cuEventRecord"))?;
        Ok(Mark(self.events.len() as u64 - 1))
    }

    fn elapsed_ms(&mut self, from: Mark, to: Mark) -> Result<f64, DeviceError> {
        let mut take = |mark: Mark| usize::try_from(mark.0).ok().and_then(|index| self.events.get_mut(index)?.take());
        let (Some(from), Some(to)) = (take(from), take(to)) else { return Err(DeviceError::Unsupported("a mark that was never made")) };
        self.spare_events.extend([from, to]);
        // SAFETY: both events live until `drop`.
        unsafe { result::event::synchronize(to) }.map_err(failed("cuEventSynchronize"))?;
        // SAFETY: both events were recorded on the stream, and the later one is complete.
        let ms = unsafe { result::event::elapsed(from, to) }.map_err(failed("cuEventElapsedTime"))?;
        Ok(f64::from(ms))
    }

    fn begin_recording(&mut self) -> Result<(), DeviceError> {
        self.drop_recording()?;
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is our own and not capturing.
        unsafe { result::stream::begin_capture(self.context.stream, mode) }.map_err(failed("cuStreamBeginCapture"))?;
        self.is_recording = true;
        Ok(())
    }

    fn end_recording(&mut self) -> Result<(), DeviceError> {
        self.is_recording = false;
        // SAFETY: the stream is capturing.
        let graph = unsafe { result::stream::end_capture(self.context.stream) }.map_err(failed("cuStreamEndCapture"))?;
        // SAFETY: the graph was just captured. The flags are none: the graph holds launches alone.
        let executable = unsafe { instantiate(graph) };
        match executable {
            Ok(executable) => self.recording = Some((graph, executable)),
            Err(error) => {
                // SAFETY: the graph was just captured and is not used again.
                let _ = unsafe { result::graph::destroy(graph) };
                return Err(failed("cuGraphInstantiateWithFlags")(error));
            }
        }
        let executable = self.recording.map_or(std::ptr::null_mut(), |(_, executable)| executable);
        // SAFETY: the executable graph was just made; the stream is our own.
        unsafe { result::graph::upload(executable, self.context.stream) }.map_err(failed("cuGraphUpload"))?;
        self.synchronize()
    }

    fn replay(&mut self) -> Result<(), DeviceError> {
        let (_, executable) = self.recording.ok_or(DeviceError::Unsupported("nothing was recorded"))?;
        // SAFETY: the executable graph lives until the recording is dropped; the stream is our own.
        unsafe { result::graph::launch(executable, self.context.stream) }.map_err(failed("cuGraphLaunch"))
    }

    fn drop_recording(&mut self) -> Result<(), DeviceError> {
        let Some((graph, executable)) = self.recording.take() else { return Ok(()) };
        // SAFETY: both were made in `end_recording` and are destroyed only here.
        let first = unsafe { result::graph::exec_destroy(executable) }.map_err(failed("cuGraphExecDestroy"));
        // SAFETY: as above.
        first.and(unsafe { result::graph::destroy(graph) }.map_err(failed("cuGraphDestroy")))
    }
}

/// Makes a captured graph executable.
///
/// # Safety
/// The graph must be valid.
unsafe fn instantiate(graph: sys::CUgraph) -> Result<sys::CUgraphExec, result::DriverError> {
    let mut executable = std::ptr::null_mut();
    // SAFETY: the graph is valid by contract, and the pointer is to a local.
    unsafe { sys::cuGraphInstantiateWithFlags(&raw mut executable, graph, 0) }.result()?;
    Ok(executable)
}

impl Drop for CudaDevice {
    fn drop(&mut self) {
        // Failures here have no consequence: the process ends soon, and the driver cleans up after it.
        if self.is_recording {
            let _ = self.end_recording();
        }
        let _ = self.drop_recording();
        for event in self.events.drain(..).flatten().chain(self.spare_events.drain(..)).chain(self.signals.drain(..)) {
            // SAFETY: every event is in exactly one of the three lists and was made here.
            let _ = unsafe { result::event::destroy(event) };
        }
        let lists = std::mem::take(&mut self.lists).into_values();
        for address in [self.epochs, self.counters, self.reports].into_iter().chain(lists).filter(|&address| address != 0) {
            let _ = self.release(address);
        }
        if let Some(pool) = self.pool.take() {
            // SAFETY: made in `open` and destroyed only here.
            let _ = unsafe { result::mem_pool::destroy(pool) };
        }
    }
}
