//! The CPU as a device: blocks of the host's own allocator; work is done at once, or on one thread per stream.
//!
//! It measures two things that are exact or real: the bytes asked of the allocator, and the process's resident memory.

mod kernels;
mod streams;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::compute::{Element, Kernel};
use crate::device::{Device, DeviceDescription, DeviceError, DeviceKind, Epoch, Mark, MemoryInfo, PoolCounters, Range, Turns};
use crate::pattern::{WordReport, compare_words, seed_of, touched};
use kernels::Operand;
use streams::{Bytes, Job, Queues, Words};

const NO_POOLS: DeviceError = DeviceError::Unsupported("the CPU has no stream-ordered pool");
const NO_GRAPHS: DeviceError = DeviceError::Unsupported("the CPU has no graph of launches to replay");

/// Blocks begin at a multiple of this many bytes, as those of a GPU do.
const LINE_BYTES: usize = 64;

/// What blocks are made of.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line {
    _bytes: [u8; LINE_BYTES],
}

#[derive(Debug)]
struct Block {
    lines: Vec<Line>,
    /// What was asked for.
    bytes: usize,
}

/// A device that is the host.
#[derive(Debug)]
pub struct CpuDevice {
    description: DeviceDescription,
    /// Every block by the address of its first byte.
    blocks: BTreeMap<u64, Block>,
    reports: Mutex<Vec<WordReport>>,
    queues: Queues,
    epoch: u32,
    marks: Vec<Instant>,
}

impl CpuDevice {
    /// The host's CPU and memory.
    #[must_use]
    pub fn new() -> Self {
        let memory = host_memory();
        let description = DeviceDescription {
            kind: DeviceKind::Cpu,
            index: 0,
            name: processor_name(),
            compute_capability: String::new(),
            driver: String::new(),
            total_bytes: memory.total_bytes,
            free_bytes: memory.free_bytes,
            has_pools: false,
            has_graphs: false,
        };
        Self { description, blocks: BTreeMap::new(), reports: Mutex::default(), queues: Queues::default(), epoch: 0, marks: Vec::new() }
    }

    fn bytes(&mut self, range: Range) -> Result<Bytes, DeviceError> {
        let illegal = DeviceError::IllegalAddress { address: range.address, bytes: range.bytes };
        let (begin, block) = self.blocks.range_mut(..=range.address).next_back().ok_or_else(|| illegal.clone())?;
        let from = usize::try_from(range.address - begin).map_err(|_| illegal.clone())?;
        let len = usize::try_from(range.bytes).map_err(|_| illegal.clone())?;
        let is_inside = from.checked_add(len).is_some_and(|to| to <= block.bytes);
        if !is_inside {
            return Err(illegal);
        }
        // SAFETY: `from` is inside the block, as was just checked.
        Ok(Bytes { pointer: unsafe { block.lines.as_mut_ptr().cast::<u8>().add(from) }, len })
    }

    /// Does a job now, or when its stream comes to it.
    fn work(&mut self, job: Job) {
        if self.queues.are_used() {
            self.queues.push(job);
        } else {
            // SAFETY: its ranges were checked when it was made, and no other thread has any.
            unsafe { job.run(&self.reports) };
        }
    }

    fn fill_with(&mut self, range: Range, words: Words) -> Result<(), DeviceError> {
        let range = self.bytes(range)?;
        self.work(Job::Fill { range, words });
        Ok(())
    }

    fn check_with(&mut self, range: Range, words: Words, report: usize) -> Result<(), DeviceError> {
        let range = self.bytes(range)?;
        self.work(Job::Check { range, words, report });
        Ok(())
    }

    fn seed(&self, tag: u32, epoch: Epoch) -> u32 {
        seed_of(tag, if epoch == Epoch::Current { self.epoch } else { 0 })
    }
}

impl Default for CpuDevice {
    fn default() -> Self {
        Self::new()
    }
}

impl Device for CpuDevice {
    fn description(&self) -> &DeviceDescription {
        &self.description
    }

    fn memory(&mut self) -> Result<MemoryInfo, DeviceError> {
        Ok(host_memory())
    }

    fn allocate(&mut self, bytes: u64) -> Result<u64, DeviceError> {
        let out_of_memory = DeviceError::OutOfMemory { bytes };
        let bytes = usize::try_from(bytes.max(1)).map_err(|_| out_of_memory.clone())?;
        let n = bytes.div_ceil(LINE_BYTES);
        let mut lines: Vec<Line> = Vec::new();
        lines.try_reserve_exact(n).map_err(|_| out_of_memory)?;
        lines.resize(n, Line { _bytes: [0; LINE_BYTES] });
        let address = lines.as_ptr().addr() as u64;
        self.blocks.insert(address, Block { lines, bytes });
        Ok(address)
    }

    fn release(&mut self, address: u64) -> Result<(), DeviceError> {
        self.synchronize()?;
        self.blocks.remove(&address).map(drop).ok_or(DeviceError::IllegalAddress { address, bytes: 0 })
    }

    fn pool_allocate(&mut self, _bytes: u64) -> Result<u64, DeviceError> {
        Err(NO_POOLS)
    }

    fn pool_release(&mut self, _address: u64) -> Result<(), DeviceError> {
        Err(NO_POOLS)
    }

    fn pool_counters(&mut self) -> Result<PoolCounters, DeviceError> {
        Err(NO_POOLS)
    }

    /// The process's own allocator keeps freed blocks; what it can it gives back here, so that every regime starts alike.
    fn pool_trim(&mut self) -> Result<(), DeviceError> {
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        {
            unsafe extern "C" {
                fn malloc_trim(keep: usize) -> i32;
            }
            // SAFETY: glibc's own function with its own signature; it touches free memory alone.
            unsafe { malloc_trim(0) };
        }
        Ok(())
    }

    fn prepare_reports(&mut self, n: usize) -> Result<(), DeviceError> {
        self.synchronize()?;
        self.reports = Mutex::new(vec![WordReport::CLEAN; n]);
        Ok(())
    }

    fn next_epoch(&mut self) -> Result<(), DeviceError> {
        self.epoch = self.epoch.wrapping_add(1);
        Ok(())
    }

    fn fill(&mut self, range: Range, tag: u32, epoch: Epoch) -> Result<(), DeviceError> {
        let seed = self.seed(tag, epoch);
        self.fill_with(range, Words::Pattern(seed))
    }

    fn check(&mut self, range: Range, tag: u32, epoch: Epoch, report: usize) -> Result<(), DeviceError> {
        let seed = self.seed(tag, epoch);
        self.check_with(range, Words::Pattern(seed), report)
    }

    fn fill_constant(&mut self, range: Range, word: u32) -> Result<(), DeviceError> {
        self.fill_with(range, Words::Constant(word))
    }

    fn check_constant(&mut self, range: Range, word: u32, report: usize) -> Result<(), DeviceError> {
        self.check_with(range, Words::Constant(word), report)
    }

    fn compute(&mut self, kernel: &Kernel, operands: &[(Range, Element)]) -> Result<(), DeviceError> {
        self.synchronize()?;
        let made = |&(range, element): &(Range, Element)| {
            let operand = Operand { bytes: self.bytes(range)?, element };
            if operand.is_aligned() { Ok(operand) } else { Err(DeviceError::Unsupported("an operand that begins inside an element")) }
        };
        let operands = operands.iter().map(made).collect::<Result<Vec<_>, _>>()?;
        // SAFETY: ranges and alignment were just checked, and all queued work is over.
        unsafe { kernels::execute(kernel, &operands) }
    }

    fn compare(&mut self, range: Range, with: Range, report: usize) -> Result<(), DeviceError> {
        self.synchronize()?;
        let (range, with) = (self.bytes(range)?, self.bytes(with)?);
        // SAFETY: both ranges are inside blocks, all queued work is over, and neither is written.
        let (seen, wanted) = unsafe { (std::slice::from_raw_parts(range.pointer, range.len), std::slice::from_raw_parts(with.pointer, with.len)) };
        let mut reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        compare_words(seen, wanted, &mut reports[report]);
        Ok(())
    }

    fn copy(&mut self, from: Range, to: Range) -> Result<(), DeviceError> {
        self.synchronize()?;
        let (from, to) = (self.bytes(from)?, self.bytes(to)?);
        // SAFETY: both ranges are inside blocks and all queued work is over; overlap is allowed.
        unsafe { std::ptr::copy(from.pointer, to.pointer, from.len.min(to.len)) };
        Ok(())
    }

    fn write(&mut self, range: Range, bytes: &[u8]) -> Result<(), DeviceError> {
        self.synchronize()?;
        let to = self.bytes(range)?;
        // SAFETY: the range is inside a block, all queued work is over, and the host's bytes are elsewhere.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.pointer, to.len.min(bytes.len())) };
        Ok(())
    }

    fn read(&mut self, range: Range) -> Result<Vec<u8>, DeviceError> {
        self.synchronize()?;
        let from = self.bytes(range)?;
        // SAFETY: the range is inside a block, and all queued work is over.
        Ok(unsafe { std::slice::from_raw_parts(from.pointer, from.len) }.to_vec())
    }

    fn footprint(&mut self, range: Range) -> Result<(u64, u64), DeviceError> {
        self.synchronize()?;
        let bytes = self.bytes(range)?;
        // SAFETY: the range is inside a block, and all work on it is over.
        Ok(touched(unsafe { std::slice::from_raw_parts(bytes.pointer, bytes.len) }))
    }

    fn prepare_streams(&mut self, n_streams: usize, n_signals: usize) -> Result<(), DeviceError> {
        self.synchronize()?;
        self.queues.prepare(n_streams, n_signals);
        Ok(())
    }

    fn use_stream(&mut self, stream: usize) {
        self.queues.current = stream;
    }

    fn take_turns(&mut self, turns: Turns) -> Result<(), DeviceError> {
        self.synchronize()?;
        self.queues.set_turns(turns);
        Ok(())
    }

    fn signal(&mut self, signal: usize) -> Result<(), DeviceError> {
        self.queues.signal(signal)
    }

    fn wait_for(&mut self, signal: usize) -> Result<(), DeviceError> {
        self.queues.wait_for(signal)
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        self.queues.drain(&self.reports)
    }

    fn reports(&mut self) -> Result<Vec<WordReport>, DeviceError> {
        self.synchronize()?;
        Ok(self.reports.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    fn mark(&mut self) -> Result<Mark, DeviceError> {
        self.synchronize()?;
        self.marks.push(Instant::now());
        Ok(Mark(self.marks.len() as u64 - 1))
    }

    fn elapsed_ms(&mut self, from: Mark, to: Mark) -> Result<f64, DeviceError> {
        let at = |mark: Mark| usize::try_from(mark.0).ok().and_then(|index| self.marks.get(index)).copied();
        let both = at(from).zip(at(to)).ok_or(DeviceError::Unsupported("a mark that was never made"))?;
        Ok(both.1.saturating_duration_since(both.0).as_secs_f64() * 1e3)
    }

    fn begin_recording(&mut self) -> Result<(), DeviceError> {
        Err(NO_GRAPHS)
    }

    fn end_recording(&mut self) -> Result<(), DeviceError> {
        Err(NO_GRAPHS)
    }

    fn replay(&mut self) -> Result<(), DeviceError> {
        Err(NO_GRAPHS)
    }

    fn drop_recording(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }
}

/// Memory of the host and of this process; unknown numbers are 0 for what is used and unlimited for what is free.
fn host_memory() -> MemoryInfo {
    let table = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let row = |name: &str| {
        let line = table.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
    };
    MemoryInfo {
        free_bytes: row("MemAvailable:").unwrap_or(u64::MAX / 4),
        total_bytes: row("MemTotal:").unwrap_or(u64::MAX / 4),
        used_bytes: resident_bytes(),
    }
}

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kib| kib * 1024)
}

fn processor_name() -> String {
    let table = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = table.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':').map(|(_, name)| name.trim().to_owned()));
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| "CPU".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_outside_of_every_block_is_an_error() {
        let mut device = CpuDevice::new();
        let address = device.allocate(64).expect("64 bytes");
        assert!(device.fill(Range { address, bytes: 64 }, 1, Epoch::Current).is_ok());
        assert!(matches!(device.fill(Range { address: address + 1, bytes: 64 }, 1, Epoch::Current), Err(DeviceError::IllegalAddress { .. })));
        device.release(address).expect("a block");
        assert!(matches!(device.fill(Range { address, bytes: 4 }, 1, Epoch::Current), Err(DeviceError::IllegalAddress { .. })));
        assert!(device.release(address).is_err());
    }

    #[test]
    fn more_memory_than_there_is_is_refused_and_not_a_crash() {
        assert!(matches!(CpuDevice::new().allocate(u64::MAX / 2), Err(DeviceError::OutOfMemory { .. })));
    }

    /// Two streams that hand one block to each other, on threads of their own.
    #[test]
    fn streams_side_by_side_keep_the_order_that_they_wait_for() {
        let mut device = CpuDevice::new();
        let address = device.allocate(1 << 16).expect("64 KiB");
        let range = Range { address, bytes: 1 << 16 };
        device.prepare_reports(1).expect("a report");
        device.take_turns(Turns::Free).expect("nothing waits");
        device.prepare_streams(2, 2).expect("two streams");
        for round in 0..100 {
            for stream in 0..2 {
                device.use_stream(stream);
                if (round, stream) != (0, 0) {
                    device.wait_for(1 - stream).expect("a signal");
                }
                device.fill(range, 2 * round + u32::try_from(stream).expect("0 or 1"), Epoch::Fixed).expect("a fill");
                device.check(range, 2 * round + u32::try_from(stream).expect("0 or 1"), Epoch::Fixed, 0).expect("a check");
                device.signal(stream).expect("a signal");
            }
        }
        assert_eq!(device.reports().expect("reports"), [WordReport::CLEAN]);
    }

    /// Without waits either write may come last, but never a part of each.
    #[test]
    fn writes_that_meet_exclude_each_other() {
        let mut device = CpuDevice::new();
        let address = device.allocate(1 << 18).expect("256 KiB");
        let range = Range { address, bytes: 1 << 18 };
        device.take_turns(Turns::Free).expect("nothing waits");
        for _ in 0..20 {
            device.prepare_reports(2).expect("reports");
            device.prepare_streams(2, 0).expect("two streams");
            for stream in 0..2 {
                device.use_stream(stream);
                device.fill(range, u32::try_from(stream).expect("0 or 1"), Epoch::Fixed).expect("a fill");
            }
            device.synchronize().expect("no deadlock");
            device.check(range, 0, Epoch::Fixed, 0).expect("a check");
            device.check(range, 1, Epoch::Fixed, 1).expect("a check");
            let reports = device.reports().expect("reports");
            assert!(reports.contains(&WordReport::CLEAN), "{reports:?}");
        }
    }

    #[test]
    fn a_wait_for_what_never_comes_is_an_error_and_no_hang() {
        let mut device = CpuDevice::new();
        device.take_turns(Turns::LastFirst).expect("nothing waits");
        device.prepare_streams(2, 1).expect("two streams");
        device.use_stream(0);
        assert!(device.wait_for(7).is_err() && device.signal(7).is_err());
        device.wait_for(0).expect("a signal that was never set holds nobody up");
        assert_eq!(device.synchronize(), Ok(()));
    }
}
