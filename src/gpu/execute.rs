//! One iteration of a program: allocate, write, read, free, step by step.
//!
//! An op's results are written before its inputs are checked, except inputs that it consumes, so that an op that
//! writes over its own inputs is found as well. Nothing waits in between: reports stay on the device.
//! On several streams an iteration begins and ends on the first one; every other stream begins after its begin and is
//! waited for at its end.

use crate::device::{Device, DeviceError, Epoch, Range};
use crate::pattern::{CANARY, POISON};
use crate::placement::{GUARD_BYTES, Placement};
use crate::program::{Check, Home, Program};
use crate::streams::Streams;

/// Work that may be queued before the run waits and looks whether it is cancelled, bytes: 50 ms at 40 GB/s.
const MAX_QUEUED_BYTES: u64 = 2 << 30;

/// Why an iteration did not come to its end.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Stop {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Somebody cancelled the run.
    #[error("cancelled")]
    Cancelled,
}

/// What watches an iteration: called after a step's work, before its deaths.
pub(crate) trait Observer {
    /// Before the step's work.
    fn before_step(&mut self, device: &mut dyn Device, step: usize) -> Result<(), Stop>;
    /// After it.
    fn after_step(&mut self, device: &mut dyn Device, placement: &Placement, step: usize) -> Result<(), Stop>;
}

/// A program on a device, with everything about it that does not change between iterations.
pub(crate) struct Execution<'a> {
    pub(crate) program: &'a Program,
    /// The first byte of static memory.
    pub(crate) statics: Option<u64>,
    pub(crate) checks: Vec<Check>,
    /// Ranges of the arena that nothing may write, the guard after its end included.
    pub(crate) gaps: Vec<(u64, u64)>,
    births: Vec<Vec<usize>>,
    deaths: Vec<Vec<usize>>,
    /// Position of each step's first check in the report table; one more than there are steps.
    first_check: Vec<usize>,
    /// How the steps are spread over streams; `None` for a single one.
    pub(crate) streams: Option<Streams>,
    pub(crate) is_cancelled: &'a (dyn Fn() -> bool + 'a),
}

impl<'a> Execution<'a> {
    pub(crate) fn new(program: &'a Program, is_cancelled: &'a (dyn Fn() -> bool + 'a)) -> Self {
        let (births, deaths) = program.births_and_deaths();
        let checks = program.checks();
        let mut gaps = program.gaps();
        gaps.push((program.arena_bytes, program.arena_bytes + GUARD_BYTES));
        let mut first_check = vec![0];
        for step in &program.steps {
            first_check.push(first_check[first_check.len() - 1] + step.reads.len());
        }
        Self { program, statics: None, checks, gaps, births, deaths, first_check, streams: None, is_cancelled }
    }

    /// Reports that the device must keep: one per check, one per gap.
    pub(crate) fn n_reports(&self) -> usize {
        self.checks.len() + self.gaps.len()
    }

    /// Bytes written and read by an iteration.
    pub(crate) fn touched_bytes(&self) -> u64 {
        let bytes = |value: usize| self.program.values[value].bytes;
        let written: u64 = self.program.steps.iter().flat_map(|step| &step.writes).map(|&value| bytes(value)).sum();
        written + self.checks.iter().map(|check| bytes(check.value)).sum::<u64>()
    }

    /// Writes what is there before the first iteration: weights and the caller's inputs.
    pub(crate) fn fill_statics(&self, device: &mut dyn Device, placement: &Placement) -> Result<(), Stop> {
        for value in self.sources(Home::Static) {
            self.keep_going()?;
            device.fill(self.range(placement, value)?, self.program.values[value].tag, Epoch::Fixed)?;
        }
        Ok(device.synchronize()?)
    }

    /// Poisons the arena and lays canaries into its gaps.
    pub(crate) fn poison(&self, device: &mut dyn Device, placement: &Placement) -> Result<(), Stop> {
        let Some(arena) = placement.arena else { return Ok(()) };
        device.fill_constant(Range { address: arena, bytes: self.program.arena_bytes }, POISON)?;
        for &(begin, end) in &self.gaps {
            device.fill_constant(Range { address: arena + begin, bytes: end - begin }, CANARY)?;
        }
        Ok(device.synchronize()?)
    }

    /// Looks whether the canaries are still there.
    pub(crate) fn check_canaries(&self, device: &mut dyn Device, placement: &Placement) -> Result<(), Stop> {
        let Some(arena) = placement.arena else { return Ok(()) };
        for (index, &(begin, end)) in self.gaps.iter().enumerate() {
            device.check_constant(Range { address: arena + begin, bytes: end - begin }, CANARY, self.checks.len() + index)?;
        }
        Ok(device.synchronize()?)
    }

    /// All steps once.
    pub(crate) fn iteration(&self, device: &mut dyn Device, placement: &mut Placement, observer: &mut dyn Observer) -> Result<(), Stop> {
        device.next_epoch()?;
        let mut queued = 0;
        self.prepare_streams(device)?;
        for step in 0..self.program.steps.len() {
            self.keep_going()?;
            placement.birth(device, self.program, &self.births[step])?;
            observer.before_step(device, step)?;
            if step == 0 {
                for value in self.sources(Home::Arena) {
                    device.fill(self.range(placement, value)?, self.program.values[value].tag, Epoch::Current)?;
                }
                self.fork(device)?;
            }
            queued += self.step(device, placement, step)?;
            if step + 1 == self.program.steps.len() {
                self.join(device)?;
                self.check_outputs(device, placement)?;
            }
            observer.after_step(device, placement, step)?;
            placement.death(device, self.program, &self.deaths[step])?;
            if queued > MAX_QUEUED_BYTES {
                device.synchronize()?;
                queued = 0;
            }
        }
        Ok(())
    }

    /// The launches of an iteration alone, for a recording: no allocation, no waiting.
    pub(crate) fn record(&self, device: &mut dyn Device, placement: &Placement) -> Result<(), Stop> {
        self.prepare_streams(device)?;
        device.begin_recording()?;
        let launched = self.launches(device, placement);
        let ended = device.end_recording();
        launched.and(ended.map_err(Stop::from))
    }

    fn launches(&self, device: &mut dyn Device, placement: &Placement) -> Result<(), Stop> {
        device.next_epoch()?;
        for value in self.sources(Home::Arena) {
            device.fill(self.range(placement, value)?, self.program.values[value].tag, Epoch::Current)?;
        }
        self.fork(device)?;
        for step in 0..self.program.steps.len() {
            self.step(device, placement, step)?;
        }
        self.join(device)?;
        self.check_outputs(device, placement)
    }

    /// Signals are numbered by step; behind them come the begin of an iteration and the end of each stream.
    fn prepare_streams(&self, device: &mut dyn Device) -> Result<(), Stop> {
        let Some(streams) = &self.streams else { return Ok(device.prepare_streams(1, 0)?) };
        Ok(device.prepare_streams(streams.n, self.program.steps.len() + 1 + streams.n)?)
    }

    /// Every other stream begins when the first has come to here.
    fn fork(&self, device: &mut dyn Device) -> Result<(), Stop> {
        let Some(streams) = &self.streams else { return Ok(()) };
        let begin = self.program.steps.len();
        device.signal(begin)?;
        for stream in 1..streams.n {
            device.use_stream(stream);
            device.wait_for(begin)?;
        }
        device.use_stream(0);
        Ok(())
    }

    /// The first stream goes on when all others have come to here.
    fn join(&self, device: &mut dyn Device) -> Result<(), Stop> {
        let Some(streams) = &self.streams else { return Ok(()) };
        let end = |stream: usize| self.program.steps.len() + stream;
        for stream in 1..streams.n {
            device.use_stream(stream);
            device.signal(end(stream))?;
        }
        device.use_stream(0);
        for stream in 1..streams.n {
            device.wait_for(end(stream))?;
        }
        Ok(())
    }

    fn step(&self, device: &mut dyn Device, placement: &Placement, step: usize) -> Result<u64, Stop> {
        let op = &self.program.steps[step];
        if let Some(streams) = &self.streams {
            device.use_stream(streams.of[step]);
            for &other in &streams.waits[step] {
                device.wait_for(other)?;
            }
        }
        let mut touched = 0;
        let mut report = self.first_check[step];
        let n_consumed = op.reads.iter().filter(|read| read.is_consumed).count();
        for check in &self.checks[report..report + n_consumed] {
            touched += self.check(device, placement, check.value, report)?;
            report += 1;
        }
        for &value in &op.writes {
            device.fill(self.range(placement, value)?, self.program.values[value].tag, self.epoch(value))?;
            touched += self.program.values[value].bytes;
        }
        for check in &self.checks[report..self.first_check[step + 1]] {
            touched += self.check(device, placement, check.value, report)?;
            report += 1;
        }
        if self.streams.as_ref().is_some_and(|streams| streams.is_waited_for[step]) {
            device.signal(step)?;
        }
        Ok(touched)
    }

    fn check_outputs(&self, device: &mut dyn Device, placement: &Placement) -> Result<(), Stop> {
        let first = self.first_check[self.program.steps.len()];
        for (index, check) in self.checks[first..].iter().enumerate() {
            self.check(device, placement, check.value, first + index)?;
        }
        Ok(())
    }

    fn check(&self, device: &mut dyn Device, placement: &Placement, value: usize, report: usize) -> Result<u64, Stop> {
        device.check(self.range(placement, value)?, self.program.values[value].tag, self.epoch(value), report)?;
        Ok(self.program.values[value].bytes)
    }

    /// What is written once keeps the pattern of the whole run.
    fn epoch(&self, value: usize) -> Epoch {
        let tag = &self.program.values[self.program.values[value].tag as usize];
        let is_fixed = tag.written_at.is_none() && self.program.buffers[tag.buffer].home == Home::Static;
        if is_fixed { Epoch::Fixed } else { Epoch::Current }
    }

    fn sources(&self, home: Home) -> impl Iterator<Item = usize> {
        let is_source = move |&index: &usize| {
            let value = &self.program.values[index];
            value.written_at.is_none() && self.program.buffers[value.buffer].home == home
        };
        (0..self.program.values.len()).filter(is_source)
    }

    fn range(&self, placement: &Placement, value: usize) -> Result<Range, Stop> {
        let value = &self.program.values[value];
        let buffer = &self.program.buffers[value.buffer];
        let address = match buffer.home {
            Home::Static => self.statics.map(|statics| statics + buffer.offset),
            Home::Arena => placement.address(self.program, value.buffer),
        };
        let address = address.ok_or(DeviceError::IllegalAddress { address: 0, bytes: value.bytes })?;
        Ok(Range { address: address + value.shift, bytes: value.bytes })
    }

    fn keep_going(&self) -> Result<(), Stop> {
        if (self.is_cancelled)() { Err(Stop::Cancelled) } else { Ok(()) }
    }
}
