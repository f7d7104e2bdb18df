//! What a run needs of a device: memory, patterns, checks, a clock. Two things implement it: the CPU and CUDA.

use serde::{Deserialize, Serialize};

use crate::compute::{Element, Kernel};
use crate::pattern::WordReport;

/// Whether a device is a CPU, a GPU, or the tests' imitation of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// The host's own memory.
    Cpu,
    /// A GPU behind NVIDIA's driver.
    Gpu,
    /// Something that behaves like a driver and says that it is none.
    Simulated,
}

/// A device as reports name it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DeviceDescription {
    /// What it is.
    pub kind: DeviceKind,
    /// Its position among the devices of its kind.
    pub index: u32,
    /// The name it gives itself.
    pub name: String,
    /// Compute capability such as `9.0`; empty for a CPU.
    pub compute_capability: String,
    /// The highest CUDA version the driver speaks, such as `12.4`; empty for a CPU.
    pub driver: String,
    /// All of its memory, bytes.
    pub total_bytes: u64,
    /// Memory that was free when it was asked, bytes.
    pub free_bytes: u64,
    /// Whether it has stream-ordered memory pools.
    pub has_pools: bool,
    /// Whether it can replay a recorded sequence of launches.
    pub has_graphs: bool,
}

/// A range of device memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// The first byte's address.
    pub address: u64,
    /// How many bytes.
    pub bytes: u64,
}

/// Which iteration's pattern is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Epoch {
    /// The present iteration's: for everything that the iteration itself writes.
    Current,
    /// That of the whole run: for what is written once, before the first iteration.
    Fixed,
}

/// Free and total memory as the device reports them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MemoryInfo {
    /// Free bytes.
    pub free_bytes: u64,
    /// All bytes.
    pub total_bytes: u64,
    /// Bytes in use from outside: by everybody on a GPU, by this process on a CPU.
    pub used_bytes: u64,
}

/// What the driver's private pool holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PoolCounters {
    /// Bytes taken from the device.
    pub reserved_bytes: u64,
    /// Bytes handed out.
    pub used_bytes: u64,
}

/// Why a device did not do what it was told.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DeviceError {
    /// No memory left.
    #[error("out of memory: {bytes} bytes were asked for")]
    OutOfMemory {
        /// The bytes of the request that failed.
        bytes: u64,
    },
    /// An access outside of any block.
    #[error("illegal address: {bytes} bytes at {address:#x} are in no block; the plan and the program disagree")]
    IllegalAddress {
        /// The first byte of the access.
        address: u64,
        /// Its bytes.
        bytes: u64,
    },
    /// There is no device to run on, or its driver cannot be used.
    #[error("{message}: {remedy}")]
    Unusable {
        /// What is the matter.
        message: String,
        /// What would help.
        remedy: String,
    },
    /// The driver refused a call.
    #[error("{call} failed: {message} (code {code})")]
    Failed {
        /// The driver's function.
        call: &'static str,
        /// Its result.
        code: i32,
        /// The result in words.
        message: String,
    },
    /// The run would take more than there is, or than it may take.
    #[error("{message}")]
    DoesNotFit {
        /// The numbers.
        message: String,
    },
    /// A kernel computes something else than it should.
    #[error("{message}")]
    WrongResult {
        /// Which, and by how much.
        message: String,
    },
    /// The device cannot do this at all.
    #[error("{0}")]
    Unsupported(&'static str),
}

/// How streams take turns, on a device that can choose; a GPU decides by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turns {
    /// Side by side.
    Free,
    /// The last stream runs as far as it may, then the one before it, and so on.
    LastFirst,
    /// The first stream runs as far as it may, then the next.
    FirstFirst,
    /// By chance, from a seed.
    Random(u64),
}

/// A point in the device's time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark(pub u64);

/// A device that executes programs. All work of a stream is ordered: an effect is visible to everything that is called
/// later on the same stream, and to everything after [`Device::synchronize`].
pub trait Device {
    /// What it is.
    fn description(&self) -> &DeviceDescription;
    /// Its memory right now.
    ///
    /// # Errors
    /// The device refuses.
    fn memory(&mut self) -> Result<MemoryInfo, DeviceError>;
    /// A new block from the device's own allocator.
    ///
    /// # Errors
    /// Out of memory.
    fn allocate(&mut self, bytes: u64) -> Result<u64, DeviceError>;
    /// Gives a block back.
    ///
    /// # Errors
    /// It is no block.
    fn release(&mut self, address: u64) -> Result<(), DeviceError>;
    /// A new block from the private stream-ordered pool.
    ///
    /// # Errors
    /// Out of memory, or no pools.
    fn pool_allocate(&mut self, bytes: u64) -> Result<u64, DeviceError>;
    /// Gives a block back to the pool.
    ///
    /// # Errors
    /// It is no block.
    fn pool_release(&mut self, address: u64) -> Result<(), DeviceError>;
    /// What the pool holds.
    ///
    /// # Errors
    /// No pools.
    fn pool_counters(&mut self) -> Result<PoolCounters, DeviceError>;
    /// Gives everything that the pool, or the allocator underneath, does not use back.
    ///
    /// # Errors
    /// The device refuses.
    fn pool_trim(&mut self) -> Result<(), DeviceError>;
    /// Makes a table of `n` clean reports.
    ///
    /// # Errors
    /// Out of memory.
    fn prepare_reports(&mut self, n: usize) -> Result<(), DeviceError>;
    /// Begins the next iteration's epoch.
    ///
    /// # Errors
    /// The device refuses.
    fn next_epoch(&mut self) -> Result<(), DeviceError>;
    /// Writes a tensor's pattern.
    ///
    /// # Errors
    /// An illegal range.
    fn fill(&mut self, range: Range, tag: u32, epoch: Epoch) -> Result<(), DeviceError>;
    /// Compares with a tensor's pattern and adds what differs to a report.
    ///
    /// # Errors
    /// An illegal range.
    fn check(&mut self, range: Range, tag: u32, epoch: Epoch, report: usize) -> Result<(), DeviceError>;
    /// Writes one word again and again.
    ///
    /// # Errors
    /// An illegal range.
    fn fill_constant(&mut self, range: Range, word: u32) -> Result<(), DeviceError>;
    /// Compares with one word again and again and adds what differs to a report.
    ///
    /// # Errors
    /// An illegal range.
    fn check_constant(&mut self, range: Range, word: u32, report: usize) -> Result<(), DeviceError>;
    /// Runs a kernel; operand 0 is its output, then come its inputs.
    ///
    /// # Errors
    /// An illegal range, or the device has no such kernel.
    fn compute(&mut self, kernel: &Kernel, operands: &[(Range, Element)]) -> Result<(), DeviceError>;
    /// Compares a range with one of the same size, and adds the words that differ to a report.
    ///
    /// # Errors
    /// An illegal range.
    fn compare(&mut self, range: Range, with: Range, report: usize) -> Result<(), DeviceError>;
    /// Copies a range to one of the same size.
    ///
    /// # Errors
    /// An illegal range.
    fn copy(&mut self, from: Range, to: Range) -> Result<(), DeviceError>;
    /// Writes bytes of the host.
    ///
    /// # Errors
    /// An illegal range.
    fn write(&mut self, range: Range, bytes: &[u8]) -> Result<(), DeviceError>;
    /// Reads bytes back, after waiting.
    ///
    /// # Errors
    /// An illegal range.
    fn read(&mut self, range: Range) -> Result<Vec<u8>, DeviceError>;
    /// Bytes of the range that are not poison, and one past the highest of them.
    ///
    /// # Errors
    /// An illegal range.
    fn footprint(&mut self, range: Range) -> Result<(u64, u64), DeviceError>;
    /// Makes streams, and as many points at which they can wait for each other; work then goes to the first.
    ///
    /// # Errors
    /// The device refuses.
    fn prepare_streams(&mut self, n_streams: usize, n_signals: usize) -> Result<(), DeviceError>;
    /// Work that is called for from here on goes to this stream.
    fn use_stream(&mut self, stream: usize);
    /// Sets how streams take turns.
    ///
    /// # Errors
    /// Work that is still waiting fails.
    fn take_turns(&mut self, turns: Turns) -> Result<(), DeviceError>;
    /// Sets a point that is reached when everything called so far on the present stream has happened.
    ///
    /// # Errors
    /// There is no such signal.
    fn signal(&mut self, signal: usize) -> Result<(), DeviceError>;
    /// What is called from here on, on the present stream, happens after the point was reached that was set last.
    ///
    /// # Errors
    /// There is no such signal.
    fn wait_for(&mut self, signal: usize) -> Result<(), DeviceError>;
    /// Waits until everything called so far has happened, on all streams.
    ///
    /// # Errors
    /// Something of it failed.
    fn synchronize(&mut self) -> Result<(), DeviceError>;
    /// The reports, after waiting.
    ///
    /// # Errors
    /// Something failed.
    fn reports(&mut self) -> Result<Vec<WordReport>, DeviceError>;
    /// Marks this point in time.
    ///
    /// # Errors
    /// The device refuses.
    fn mark(&mut self) -> Result<Mark, DeviceError>;
    /// Milliseconds between two marks, after waiting for the second; marks are then forgotten.
    ///
    /// # Errors
    /// The device refuses.
    fn elapsed_ms(&mut self, from: Mark, to: Mark) -> Result<f64, DeviceError>;
    /// Begins to record launches in place of making them.
    ///
    /// # Errors
    /// The device cannot.
    fn begin_recording(&mut self) -> Result<(), DeviceError>;
    /// Ends the recording; it can then be replayed.
    ///
    /// # Errors
    /// The device cannot.
    fn end_recording(&mut self) -> Result<(), DeviceError>;
    /// Makes all recorded launches.
    ///
    /// # Errors
    /// There is no recording.
    fn replay(&mut self) -> Result<(), DeviceError>;
    /// Drops the recording.
    ///
    /// # Errors
    /// The device refuses.
    fn drop_recording(&mut self) -> Result<(), DeviceError>;
}
