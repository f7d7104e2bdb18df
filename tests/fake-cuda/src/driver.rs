//! The state behind the driver's functions, and rules that are stricter than the real ones.
//!
//! Work is done when it is waited for (see `streams.rs`), and an error of a kernel shows only then, and from then on in
//! every call, as on a real device.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write;
use std::rc::Rc;
use std::time::Instant;

use crate::faults::Faults;
use crate::memory::Memory;
use crate::ptx::{Kernel, parse};
use crate::streams::{Capture, Node, Streams, Work};
use crate::warp::{Grid, Trap, launch};

pub(crate) const INVALID_VALUE: i32 = 1;
pub(crate) const OUT_OF_MEMORY: i32 = 2;
pub(crate) const NOT_INITIALIZED: i32 = 3;
pub(crate) const NO_DEVICE: i32 = 100;
pub(crate) const INVALID_CONTEXT: i32 = 201;
pub(crate) const INVALID_PTX: i32 = 218;
pub(crate) const INVALID_HANDLE: i32 = 400;
pub(crate) const NOT_FOUND: i32 = 500;
pub(crate) const NOT_READY: i32 = 600;
pub(crate) const ILLEGAL_ADDRESS: i32 = 700;
pub(crate) const MISALIGNED_ADDRESS: i32 = 716;
pub(crate) const LAUNCH_FAILED: i32 = 719;
pub(crate) const CAPTURE_UNSUPPORTED: i32 = 900;
pub(crate) const CAPTURE_UNJOINED: i32 = 904;

/// Blocks below this share granules, bytes.
const SMALL_BYTES: u64 = 1 << 20;
/// Small blocks are rounded to this, bytes.
const SMALL_ROUND: u64 = 512;
/// The device's memory is given out in such pieces, bytes.
const GRANULE: u64 = 2 << 20;
/// A pool takes memory from the device in such lumps, bytes.
const POOL_LUMP: u64 = 32 << 20;
/// What a context takes, bytes.
const CONTEXT_BYTES: u64 = 256 << 20;

pub(crate) type Outcome<T = ()> = Result<T, i32>;

/// A launch as it was asked for.
#[derive(Clone)]
pub(crate) struct Launch {
    name: String,
    kernel: Rc<Kernel>,
    grid: Grid,
    parameters: Vec<u64>,
}

#[derive(Default)]
struct Pool {
    used: u64,
    used_high: u64,
    reserved: u64,
    reserved_high: u64,
    threshold: u64,
}

impl Pool {
    fn trim(&mut self, keep: u64) {
        let needed = self.used.max(keep.min(self.reserved)).next_multiple_of(POOL_LUMP);
        self.reserved = self.reserved.min(needed);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Event {
    New,
    Recorded(Instant),
    /// Recorded by a stream that captured: it is no point in time.
    Captured,
}

/// Everything that the driver knows.
#[derive(Default)]
pub(crate) struct Driver {
    pub(crate) faults: Faults,
    pub(crate) version: i32,
    pub(crate) total_bytes: u64,
    pub(crate) has_pools: bool,
    pub(crate) is_initialized: bool,
    pub(crate) contexts: u32,
    memory: Memory,
    /// Sizes of blocks from `cuMemAlloc`, by address.
    plain: BTreeMap<u64, u64>,
    /// Pool and size of blocks from pools, by address.
    pooled: BTreeMap<u64, (u64, u64)>,
    pools: BTreeMap<u64, Pool>,
    streams: Streams,
    /// By the stream that began it.
    captures: BTreeMap<u64, Capture>,
    events: HashMap<u64, Event>,
    /// Events that keep the time.
    timed: HashSet<u64>,
    modules: HashMap<u64, HashMap<String, Rc<Kernel>>>,
    functions: HashMap<u64, (u64, String)>,
    graphs: HashMap<u64, Vec<Node>>,
    executables: HashMap<u64, Vec<Node>>,
    next_handle: u64,
    /// The error of a kernel, which ends the context.
    pub(crate) sticky: Option<i32>,
}

impl Driver {
    /// A driver that nobody has called yet; without memory there is no device.
    pub(crate) fn new(faults: Faults, version: i32, total_bytes: u64, has_pools: bool) -> Self {
        Self { faults, version, total_bytes, has_pools, ..Self::default() }
    }

    fn handle(&mut self) -> u64 {
        self.next_handle += 16;
        self.next_handle
    }

    /// Bytes of the device that are taken: by the context, by granules, by pools.
    fn taken(&self) -> u64 {
        let (small, large): (Vec<u64>, Vec<u64>) = self.plain.values().partition(|&&bytes| bytes < SMALL_BYTES);
        let small: u64 = small.iter().map(|bytes| bytes.next_multiple_of(SMALL_ROUND)).sum();
        let large: u64 = large.iter().map(|bytes| bytes.next_multiple_of(GRANULE)).sum();
        let pools: u64 = self.pools.values().map(|pool| pool.reserved).sum();
        let context = if self.contexts > 0 { CONTEXT_BYTES } else { 0 };
        small.next_multiple_of(GRANULE) + large + pools + context
    }

    pub(crate) fn free_bytes(&self) -> u64 {
        self.total_bytes.saturating_sub(self.taken())
    }

    fn is_capturing(&self) -> bool {
        !self.captures.is_empty()
    }

    /// Calls that a capturing thread must not make break its capture.
    pub(crate) fn refuse_in_capture(&mut self) -> Outcome {
        for capture in self.captures.values_mut() {
            capture.is_broken = true;
        }
        if self.is_capturing() { Err(CAPTURE_UNSUPPORTED) } else { Ok(()) }
    }

    pub(crate) fn release_context(&mut self) {
        self.contexts = self.contexts.saturating_sub(1);
        if self.contexts == 0 {
            for address in self.plain.keys().chain(self.pooled.keys()).copied().collect::<Vec<u64>>() {
                self.memory.release(address);
            }
            self.plain.clear();
            self.pooled.clear();
            self.pools.clear();
            self.captures.clear();
            self.sticky = None;
        }
    }

    pub(crate) fn allocate(&mut self, bytes: u64) -> Outcome<u64> {
        self.refuse_in_capture()?;
        if bytes == 0 {
            return Err(INVALID_VALUE);
        }
        let before = self.free_bytes();
        let size = usize::try_from(bytes).map_err(|_| OUT_OF_MEMORY)?;
        if bytes > before {
            return Err(OUT_OF_MEMORY);
        }
        let address = self.memory.allocate(size).ok_or(OUT_OF_MEMORY)?;
        self.plain.insert(address, bytes);
        if self.taken() > self.total_bytes {
            self.plain.remove(&address);
            self.memory.release(address);
            return Err(OUT_OF_MEMORY);
        }
        Ok(address)
    }

    pub(crate) fn release(&mut self, address: u64) -> Outcome {
        self.refuse_in_capture()?;
        // The real one waits as well before it gives memory back.
        self.work_off(None);
        self.plain.remove(&address).ok_or(INVALID_VALUE)?;
        self.memory.release(address).map(drop).ok_or(INVALID_VALUE)
    }

    pub(crate) fn create_pool(&mut self) -> u64 {
        let handle = self.handle();
        self.pools.insert(handle, Pool::default());
        handle
    }

    pub(crate) fn destroy_pool(&mut self, pool: u64) -> Outcome {
        self.pools.remove(&pool).map(drop).ok_or(INVALID_HANDLE)
    }

    pub(crate) fn trim_pool(&mut self, pool: u64, keep: u64) -> Outcome {
        self.pools.get_mut(&pool).map(|pool| pool.trim(keep)).ok_or(INVALID_HANDLE)
    }

    pub(crate) fn pool_attribute(&self, pool: u64, attribute: u32) -> Outcome<u64> {
        let pool = self.pools.get(&pool).ok_or(INVALID_HANDLE)?;
        Ok(match attribute {
            4 => pool.threshold,
            5 => pool.reserved,
            6 => pool.reserved_high,
            7 => pool.used,
            8 => pool.used_high,
            _ => return Err(INVALID_VALUE),
        })
    }

    pub(crate) fn set_pool_attribute(&mut self, pool: u64, attribute: u32, value: u64) -> Outcome {
        let pool = self.pools.get_mut(&pool).ok_or(INVALID_HANDLE)?;
        match (attribute, value) {
            (4, threshold) => pool.threshold = threshold,
            // High marks can only be reset.
            (6, 0) => pool.reserved_high = pool.reserved,
            (8, 0) => pool.used_high = pool.used,
            _ => return Err(INVALID_VALUE),
        }
        Ok(())
    }

    pub(crate) fn pool_allocate(&mut self, pool: u64, bytes: u64) -> Outcome<u64> {
        self.refuse_in_capture()?;
        let free = self.free_bytes();
        let state = self.pools.get_mut(&pool).ok_or(INVALID_HANDLE)?;
        let rounded = bytes.max(1).next_multiple_of(SMALL_ROUND);
        let reserved = (state.used + rounded).next_multiple_of(POOL_LUMP).max(state.reserved);
        if reserved - state.reserved > free {
            return Err(OUT_OF_MEMORY);
        }
        let size = usize::try_from(bytes.max(1)).map_err(|_| OUT_OF_MEMORY)?;
        let address = self.memory.allocate(size).ok_or(OUT_OF_MEMORY)?;
        state.reserved = reserved;
        state.used += rounded;
        state.reserved_high = state.reserved_high.max(state.reserved);
        state.used_high = state.used_high.max(state.used);
        self.pooled.insert(address, (pool, rounded));
        Ok(address)
    }

    pub(crate) fn pool_release(&mut self, address: u64) -> Outcome {
        self.refuse_in_capture()?;
        // Host memory cannot be given back in the order of a stream.
        self.work_off(None);
        let (pool, rounded) = self.pooled.remove(&address).ok_or(INVALID_VALUE)?;
        if let Some(pool) = self.pools.get_mut(&pool) {
            pool.used -= rounded;
        }
        self.memory.release(address).map(drop).ok_or(INVALID_VALUE)
    }

    pub(crate) fn holds(&self, address: u64, bytes: usize) -> bool {
        bytes == 0 || self.memory.holds(address, bytes)
    }

    pub(crate) fn create_stream(&mut self) -> u64 {
        let handle = self.handle();
        self.streams.create(handle);
        handle
    }

    pub(crate) fn destroy_stream(&mut self, stream: u64) -> Outcome {
        self.work_off(Some(stream));
        self.streams.destroy(stream)
    }

    /// Streams that were made; the default stream is refused, because nothing on it can be captured.
    pub(crate) fn check_stream(&self, stream: u64) -> Outcome {
        if self.streams.has(stream) { Ok(()) } else { Err(INVALID_HANDLE) }
    }

    /// Waits for a stream, or for all of them.
    pub(crate) fn wait(&mut self, stream: Option<u64>) -> Outcome {
        self.refuse_in_capture()?;
        self.work_off(stream);
        for pool in self.pools.values_mut() {
            let threshold = pool.threshold;
            pool.trim(threshold);
        }
        self.sticky.map_or(Ok(()), Err)
    }

    pub(crate) fn begin_capture(&mut self, stream: u64) -> Outcome {
        self.check_stream(stream)?;
        if self.captures.insert(stream, Capture::new(stream)).is_some() { Err(CAPTURE_UNSUPPORTED) } else { Ok(()) }
    }

    pub(crate) fn end_capture(&mut self, stream: u64) -> Outcome<u64> {
        let capture = self.captures.remove(&stream).ok_or(INVALID_VALUE)?;
        if capture.is_broken {
            return Err(CAPTURE_UNSUPPORTED);
        }
        capture.joined(stream)?;
        let handle = self.handle();
        self.graphs.insert(handle, capture.nodes);
        Ok(handle)
    }

    pub(crate) fn instantiate(&mut self, graph: u64) -> Outcome<u64> {
        let launches = self.graphs.get(&graph).ok_or(INVALID_HANDLE)?.clone();
        let handle = self.handle();
        self.executables.insert(handle, launches);
        Ok(handle)
    }

    pub(crate) fn check_executable(&self, executable: u64) -> Outcome {
        if self.executables.contains_key(&executable) { Ok(()) } else { Err(INVALID_HANDLE) }
    }

    pub(crate) fn replay(&mut self, executable: u64, stream: u64) -> Outcome {
        self.refuse_in_capture()?;
        let nodes = self.executables.get(&executable).ok_or(INVALID_HANDLE)?.clone();
        self.streams.push(stream, Work::Graph(nodes));
        Ok(())
    }

    /// The capture that a stream takes part in.
    fn capture_of(&mut self, stream: u64) -> Option<&mut Capture> {
        self.captures.values_mut().find(|capture| capture.has(stream))
    }

    /// Does what waits in a stream and whatever must come before it; everything, without a stream.
    pub(crate) fn work_off(&mut self, stream: Option<u64>) {
        self.streams.begin_wait();
        while let Some(work) = self.streams.next(stream) {
            match work {
                Work::Launch(launch) => self.execute(&launch),
                Work::Graph(nodes) => {
                    for node in self.streams.order_of(&nodes) {
                        self.execute(&nodes[node].launch);
                    }
                }
                Work::Record { .. } | Work::Wait { .. } => {}
            }
        }
    }

    pub(crate) fn wait_event(&mut self, stream: u64, event: u64) -> Outcome {
        self.check_stream(stream)?;
        self.check_event(event)?;
        match self.captures.values_mut().find(|capture| capture.knows(event)) {
            Some(capture) => capture.wait(stream, event),
            None => self.streams.wait_event(stream, event),
        }
        Ok(())
    }

    pub(crate) fn destroy_graph(&mut self, graph: u64) -> Outcome {
        self.graphs.remove(&graph).map(drop).ok_or(INVALID_HANDLE)
    }

    pub(crate) fn destroy_executable(&mut self, executable: u64) -> Outcome {
        self.executables.remove(&executable).map(drop).ok_or(INVALID_HANDLE)
    }

    pub(crate) fn create_event(&mut self, keeps_time: bool) -> u64 {
        let handle = self.handle();
        if keeps_time {
            self.timed.insert(handle);
        }
        self.events.insert(handle, Event::New);
        handle
    }

    pub(crate) fn destroy_event(&mut self, event: u64) -> Outcome {
        self.events.remove(&event).map(drop).ok_or(INVALID_HANDLE)
    }

    pub(crate) fn record(&mut self, event: u64, stream: u64) -> Outcome {
        self.check_stream(stream)?;
        self.check_event(event)?;
        let state = match self.capture_of(stream) {
            Some(capture) => {
                capture.record(event, stream);
                Event::Captured
            }
            None => {
                // Time passes where the work is, so that a timed stretch holds the work between its ends.
                if self.timed.contains(&event) {
                    self.work_off(Some(stream));
                }
                self.streams.record(event, stream);
                Event::Recorded(Instant::now())
            }
        };
        self.events.insert(event, state);
        Ok(())
    }

    pub(crate) fn check_event(&self, event: u64) -> Outcome {
        if self.events.contains_key(&event) { Ok(()) } else { Err(INVALID_HANDLE) }
    }

    pub(crate) fn elapsed_ms(&self, from: u64, to: u64) -> Outcome<f32> {
        let at = |event: u64| match self.events.get(&event) {
            Some(Event::Recorded(at)) if self.timed.contains(&event) => Ok(*at),
            Some(_) | None => Err(INVALID_HANDLE),
        };
        let micros = at(to)?.saturating_duration_since(at(from)?).as_micros();
        Ok(f32::from(u16::try_from(micros / 1000).unwrap_or(u16::MAX)) + f32::from(u16::try_from(micros % 1000).unwrap_or(0)) / 1000.0)
    }

    pub(crate) fn load_module(&mut self, text: &str) -> Result<u64, (i32, String)> {
        let kernels = parse(text).map_err(|why| (INVALID_PTX, why))?;
        let handle = self.handle();
        self.modules.insert(handle, kernels.into_iter().map(|(name, kernel)| (name, Rc::new(kernel))).collect());
        Ok(handle)
    }

    pub(crate) fn unload_module(&mut self, module: u64) -> Outcome {
        self.functions.retain(|_, (owner, _)| *owner != module);
        self.modules.remove(&module).map(drop).ok_or(INVALID_HANDLE)
    }

    pub(crate) fn function(&mut self, module: u64, name: &str) -> Outcome<u64> {
        let kernels = self.modules.get(&module).ok_or(INVALID_HANDLE)?;
        if !kernels.contains_key(name) {
            return Err(NOT_FOUND);
        }
        let handle = self.handle();
        self.functions.insert(handle, (module, name.to_owned()));
        Ok(handle)
    }

    /// Bytes of each parameter of a function.
    pub(crate) fn parameters(&self, function: u64) -> Outcome<Vec<usize>> {
        self.kernel(function).map(|(_, kernel)| kernel.parameters.clone())
    }

    fn kernel(&self, function: u64) -> Outcome<(&str, &Rc<Kernel>)> {
        let (module, name) = self.functions.get(&function).ok_or(INVALID_HANDLE)?;
        let kernel = self.modules.get(module).and_then(|kernels| kernels.get(name)).ok_or(INVALID_HANDLE)?;
        Ok((name, kernel))
    }

    pub(crate) fn launch(&mut self, function: u64, grid: Grid, stream: u64, parameters: Vec<u64>) -> Outcome {
        self.check_stream(stream)?;
        if grid.blocks == 0 || !(1..=1024).contains(&grid.threads) {
            return Err(INVALID_VALUE);
        }
        let (name, kernel) = self.kernel(function)?;
        let launch = Launch { name: name.to_owned(), kernel: Rc::clone(kernel), grid, parameters };
        match self.capture_of(stream) {
            Some(capture) => capture.launch(stream, launch),
            None => self.streams.push(stream, Work::Launch(launch)),
        }
        Ok(())
    }

    /// Runs a kernel; its error shows later.
    fn execute(&mut self, work: &Launch) {
        if self.sticky.is_some() {
            return;
        }
        let mut parameters = work.parameters.clone();
        if self.faults.strays(&work.name) {
            parameters[0] = 0x10;
        }
        let Err(trap) = launch(&work.kernel, work.grid, &parameters, &mut self.memory) else { return };
        let (code, why) = match trap {
            Trap::IllegalAddress { line, address, bytes } => (ILLEGAL_ADDRESS, format!("line {line}: {bytes} bytes at {address:#x} are in no block")),
            Trap::Misaligned { line, address, bytes } => (MISALIGNED_ADDRESS, format!("line {line}: {address:#x} is no multiple of {bytes}")),
            Trap::MissingLanes { line } => (LAUNCH_FAILED, format!("line {line}: not all lanes of the shuffle are there")),
            Trap::Endless => (LAUNCH_FAILED, "it does not end".to_owned()),
        };
        let _ = writeln!(std::io::stderr().lock(), "fake driver: kernel {}: {why}", work.name);
        self.sticky = Some(code);
    }
}
