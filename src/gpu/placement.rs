//! Where buffers are during a run: one regime's allocations, counted call by call.

use crate::caching::{CachingAllocator, Place};
use crate::device::{Device, DeviceError};
use crate::program::{Home, Program};
use crate::protocol::Calls;
use crate::regimes::Regime;

/// Bytes after the arena's end that nobody may write; not part of any number.
pub(crate) const GUARD_BYTES: u64 = 256;

/// The memory that a regime holds.
pub(crate) struct Placement {
    regime: Regime,
    /// The arena's first byte, in the regimes that have one.
    pub(crate) arena: Option<u64>,
    /// The first byte of every buffer that has a block now.
    addresses: Vec<Option<u64>>,
    cache: CachingAllocator,
    places: Vec<Option<Place>>,
    /// The first byte of every segment of the cache.
    segments: Vec<u64>,
    /// Bytes that the regime holds now, as asked for.
    pub(crate) held_bytes: u64,
    /// Blocks that the device's allocator has given and not got back.
    pub(crate) n_blocks: u64,
    calls_now: u64,
    requests_now: u64,
    pub(crate) calls: Calls,
}

impl Placement {
    pub(crate) fn new(program: &Program, regime: Regime) -> Self {
        let n = program.buffers.len();
        Self {
            regime,
            arena: None,
            addresses: vec![None; n],
            cache: CachingAllocator::default(),
            places: vec![None; n],
            segments: Vec::new(),
            held_bytes: 0,
            n_blocks: 0,
            calls_now: 0,
            requests_now: 0,
            calls: Calls::default(),
        }
    }

    /// Takes what the regime holds throughout.
    pub(crate) fn begin(&mut self, device: &mut dyn Device, program: &Program) -> Result<(), DeviceError> {
        match self.regime {
            Regime::AllLive => {
                for (index, buffer) in program.buffers.iter().enumerate().filter(|(_, buffer)| buffer.home == Home::Arena) {
                    self.addresses[index] = Some(self.take(device, buffer.bytes)?);
                }
            }
            Regime::Arena | Regime::ArenaGraph => {
                self.arena = Some(self.take(device, program.arena_bytes + GUARD_BYTES)?);
                self.held_bytes -= GUARD_BYTES;
            }
            Regime::PerTensor | Regime::Pool | Regime::Caching => {}
        }
        self.calls.setup = std::mem::take(&mut self.calls_now);
        Ok(())
    }

    fn take(&mut self, device: &mut dyn Device, bytes: u64) -> Result<u64, DeviceError> {
        self.calls_now += 1;
        let address = if self.regime == Regime::Pool { device.pool_allocate(bytes)? } else { device.allocate(bytes)? };
        self.held_bytes += bytes;
        self.n_blocks += 1;
        Ok(address)
    }

    fn give(&mut self, device: &mut dyn Device, address: u64, bytes: u64) -> Result<(), DeviceError> {
        self.calls_now += 1;
        self.held_bytes -= bytes;
        self.n_blocks -= 1;
        if self.regime == Regime::Pool { device.pool_release(address) } else { device.release(address) }
    }

    /// Takes what a step needs first.
    pub(crate) fn birth(&mut self, device: &mut dyn Device, program: &Program, buffers: &[usize]) -> Result<(), DeviceError> {
        for &buffer in buffers {
            let bytes = program.buffers[buffer].bytes;
            match self.regime {
                Regime::PerTensor | Regime::Pool => self.addresses[buffer] = Some(self.take(device, bytes)?),
                Regime::Caching => {
                    let answer = self.cache.allocate(bytes);
                    if let Some(segment_bytes) = answer.new_segment_bytes {
                        let segment = self.take(device, segment_bytes)?;
                        self.segments.push(segment);
                    }
                    self.places[buffer] = Some(answer.place);
                    self.addresses[buffer] = Some(self.segments[answer.place.segment] + answer.place.offset);
                }
                Regime::AllLive | Regime::Arena | Regime::ArenaGraph => continue,
            }
            self.requests_now += 1;
        }
        Ok(())
    }

    /// Gives back what a step needed last.
    pub(crate) fn death(&mut self, device: &mut dyn Device, program: &Program, buffers: &[usize]) -> Result<(), DeviceError> {
        for &buffer in buffers {
            match self.regime {
                Regime::PerTensor | Regime::Pool => {
                    if let Some(address) = self.addresses[buffer].take() {
                        self.give(device, address, program.buffers[buffer].bytes)?;
                    }
                }
                Regime::Caching => {
                    self.addresses[buffer] = None;
                    if let Some(place) = self.places[buffer].take() {
                        self.cache.release(place);
                    }
                }
                Regime::AllLive | Regime::Arena | Regime::ArenaGraph => continue,
            }
            self.requests_now += 1;
        }
        Ok(())
    }

    /// Closes the books of an iteration.
    pub(crate) fn end_iteration(&mut self, is_first: bool) {
        self.calls.iteration = std::mem::take(&mut self.calls_now);
        self.calls.requests = std::mem::take(&mut self.requests_now);
        if is_first {
            self.calls.first_iteration = self.calls.iteration;
        }
    }

    /// Gives everything back, whatever state a failed iteration left.
    pub(crate) fn end(&mut self, device: &mut dyn Device) -> Result<(), DeviceError> {
        let mut first_error = Ok(());
        let is_pool = self.regime == Regime::Pool;
        let own = if self.regime == Regime::Caching { Vec::new() } else { self.addresses.iter_mut().filter_map(Option::take).collect() };
        for address in own.into_iter().chain(self.arena.take()).chain(self.segments.drain(..)) {
            let result = if is_pool { device.pool_release(address) } else { device.release(address) };
            first_error = first_error.and(result);
        }
        self.cache.drain();
        self.held_bytes = 0;
        self.n_blocks = 0;
        first_error.and(device.synchronize()).and(device.pool_trim())
    }

    /// The first byte of an arena or per-buffer block; `None` for a buffer that has no block now.
    pub(crate) fn address(&self, program: &Program, buffer: usize) -> Option<u64> {
        match self.arena {
            Some(arena) => Some(arena + program.buffers[buffer].offset),
            None => self.addresses[buffer],
        }
    }
}
