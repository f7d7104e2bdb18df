//! A run that computes: in the arena, and beside it with every tensor in memory of its own; both must agree bit for bit.
//!
//! Each read of a step is compared between the two: what the op writes over is compared before it runs, everything else
//! after it. Both runs are on the same device, with the same kernels in the same order, so that any difference is the
//! plan's. The kernels themselves are compared with 64-bit arithmetic, each for itself and from the same operands.

use std::time::{Duration, Instant};

use arenascope_planner::units::binary_bytes;

use super::reference::{Data, expected, n_results};
use super::{ComputeProgram, Element, Kernel, Source};
use crate::device::{Device, DeviceError, Range};
use crate::execute::{Execution, Stop};
use crate::findings::{Finding, findings};
use crate::latency::Latency;
use crate::placement::Placement;
use crate::program::{Home, Program};
use crate::protocol::{ComputeReport, Event, Outcome, OutputSample, RunOptions};
use crate::regimes::Regime;

/// Results of a kernel that are compared with the reference; smaller tensors are compared whole.
const SAMPLES: u64 = 256;
/// The largest error, as a share of the sum of the magnitudes that make a result.
pub(crate) const TOLERANCE: f64 = 1e-5;
/// Tensors of a run beside the arena begin at multiples of this, bytes.
const ALIGN: u64 = 256;
/// The most bytes that are made on the host at once.
const MAX_UPLOAD_BYTES: u64 = 8 << 20;
/// Findings reported; all are counted.
const MAX_FINDINGS: usize = 100;
/// Elements of an output that are reported.
const MAX_SHOWN: u64 = 8;
/// How long a run may be silent while it works.
const PULSE: Duration = Duration::from_secs(1);
/// Timed iterations before those that count.
const WARM_UP: u32 = 1;

/// Gives a sign of life now and then, so that nobody takes long work for a device that hangs.
struct Pulse<'s> {
    told: Instant,
    iterations: u32,
    send: &'s mut dyn FnMut(&Event),
}

impl Pulse<'_> {
    fn beat(&mut self) {
        if self.told.elapsed() > PULSE {
            self.told = Instant::now();
            (self.send)(&Event::Progress { regime: Regime::Arena, iterations: self.iterations });
        }
    }
}

/// The memory of a run.
struct Memory {
    statics: Option<u64>,
    /// Where every value has bytes of its own; `None` for those in static memory that nobody writes.
    apart: Vec<Option<u64>>,
    apart_block: u64,
    placement: Placement,
}

/// A run that computes.
pub(crate) struct Computation<'a> {
    pub(crate) program: &'a Program,
    pub(crate) compute: &'a ComputeProgram,
    pub(crate) execution: &'a Execution<'a>,
    pub(crate) options: &'a RunOptions,
    pub(crate) is_cancelled: &'a dyn Fn() -> bool,
}

impl Computation<'_> {
    /// Runs everything; what was found is counted into `n_findings`.
    pub(crate) fn run(&self, device: &mut dyn Device, send: &mut dyn FnMut(&Event), n_findings: &mut u64) -> Result<Outcome, Stop> {
        let mut memory = self.allocate(device)?;
        let result = self.run_in(device, &mut memory, send, n_findings);
        let ended = memory.placement.end(device);
        for block in [Some(memory.apart_block), memory.statics].into_iter().flatten() {
            let _ = device.release(block);
        }
        let outcome = result?;
        ended?;
        Ok(outcome)
    }

    fn allocate(&self, device: &mut dyn Device) -> Result<Memory, Stop> {
        let mut apart_bytes = 0;
        let mut offsets = vec![None; self.program.values.len()];
        for (value, offset) in offsets.iter_mut().enumerate().filter(|(value, _)| self.is_apart(*value)) {
            *offset = Some(apart_bytes);
            apart_bytes += self.compute.tensors[value].bytes().next_multiple_of(ALIGN);
        }
        let needed = self.program.static_bytes + apart_bytes + self.program.arena_bytes;
        let limit = self.options.budget_bytes.unwrap_or(u64::MAX).min(device.memory()?.free_bytes / 10 * 9);
        if needed > limit {
            let message = format!(
                "compute mode needs {} (every tensor once more beside the arena), {} may be taken",
                binary_bytes(needed),
                binary_bytes(limit)
            );
            return Err(Stop::Device(DeviceError::DoesNotFit { message }));
        }
        let statics = if self.program.static_bytes > 0 { Some(device.allocate(self.program.static_bytes)?) } else { None };
        let apart_block = device.allocate(apart_bytes.max(1))?;
        let mut placement = Placement::new(self.program, Regime::Arena);
        placement.begin(device, self.program)?;
        let apart = offsets.into_iter().map(|offset| offset.map(|offset| apart_block + offset)).collect();
        Ok(Memory { statics, apart, apart_block, placement })
    }

    /// Whether a value has bytes of its own beside the arena: all but views, and what is static and never written.
    fn is_apart(&self, value: usize) -> bool {
        let own = &self.program.values[value];
        let is_fixed = own.written_at.is_none() && self.program.buffers[own.buffer].home == Home::Static;
        own.tag as usize == value && !is_fixed
    }

    /// A value in the arena, or in static memory, where the program says.
    fn placed(&self, memory: &Memory, value: usize) -> Result<Range, Stop> {
        let own = &self.program.values[value];
        let buffer = &self.program.buffers[own.buffer];
        let block = match buffer.home {
            Home::Static => memory.statics,
            Home::Arena => memory.placement.arena,
        };
        let address = block.ok_or(DeviceError::IllegalAddress { address: 0, bytes: own.bytes })? + buffer.offset + own.shift;
        Ok(Range { address, bytes: self.bytes(value) })
    }

    /// The same value with memory of its own.
    fn apart(&self, memory: &Memory, value: usize) -> Result<Range, Stop> {
        let storage = self.program.values[value].tag as usize;
        match memory.apart[storage] {
            Some(address) => Ok(Range { address, bytes: self.bytes(value) }),
            None => self.placed(memory, storage).map(|range| Range { bytes: self.bytes(value), ..range }),
        }
    }

    /// A view may lie anywhere in what it is a view of.
    fn bytes(&self, value: usize) -> u64 {
        self.compute.tensors[self.program.values[value].tag as usize].bytes()
    }

    fn run_in(&self, device: &mut dyn Device, memory: &mut Memory, send: &mut dyn FnMut(&Event), n_findings: &mut u64) -> Result<Outcome, Stop> {
        device.prepare_streams(1, 0)?;
        device.prepare_reports(self.execution.n_reports())?;
        self.execution.poison(device, &memory.placement)?;
        let mut pulse = Pulse { told: Instant::now(), iterations: 0, send };
        self.fill_sources(device, memory, &mut pulse)?;
        let mut report = ComputeReport {
            n_kernels: self.compute.steps.iter().map(|kernels| kernels.len() as u64).sum(),
            n_reads: self.execution.checks.len() as u64,
            tolerance: TOLERANCE,
            ..ComputeReport::default()
        };
        for iteration in 0..self.options.checked_iterations {
            pulse.iterations = iteration;
            self.iteration(device, memory, (iteration == 0, true), &mut pulse)?;
            device.synchronize()?;
            if iteration == 0 {
                self.compare_with_reference(device, memory, &mut report, &mut pulse)?;
            }
        }
        self.execution.check_canaries(device, &memory.placement)?;
        let reports = device.reports()?;
        let checks = (self.execution.checks.as_slice(), self.execution.gaps.as_slice());
        let found = findings(self.program, Regime::Arena, checks, &reports, (self.options.checked_iterations, None));
        let (roots, n_following) = self.without_following(found);
        *n_findings += roots.len() as u64;
        report.n_following = n_following;
        for finding in roots.into_iter().take(MAX_FINDINGS) {
            (pulse.send)(&Event::Finding(finding));
        }
        report.outputs = self.outputs(device, memory)?;
        report.latency = self.time(device, memory, &mut pulse)?;
        let is_right = report.worst_error <= TOLERANCE;
        let message = format!(
            "`{}` differs from 64-bit arithmetic by {:.1e} of what it is made from, more than {TOLERANCE:.0e}",
            report.worst_tensor, report.worst_error
        );
        (pulse.send)(&Event::Compute(Box::new(report)));
        match (*n_findings, is_right) {
            (1.., _) => Ok(Outcome::Clobbered),
            (0, true) => Ok(Outcome::Clean),
            (0, false) => Err(Stop::Device(DeviceError::WrongResult { message })),
        }
    }

    /// Weights and inputs: the file's own elements, or numbers by chance from a seed.
    fn fill_sources(&self, device: &mut dyn Device, memory: &Memory, pulse: &mut Pulse<'_>) -> Result<(), Stop> {
        for (value, tensor) in self.compute.tensors.iter().enumerate() {
            let Some(source) = &tensor.source else { continue };
            let range = self.apart(memory, value)?;
            let mut from = 0;
            while from < range.bytes {
                self.keep_going()?;
                pulse.beat();
                let bytes = (range.bytes - from).min(MAX_UPLOAD_BYTES);
                device.write(Range { address: range.address + from, bytes }, &made(source, tensor.element, from, bytes))?;
                from += bytes;
            }
        }
        Ok(device.synchronize()?)
    }

    /// All steps once in the arena, and, `with_apart`, beside it as well.
    fn iteration(&self, device: &mut dyn Device, memory: &Memory, (with_apart, is_checked): (bool, bool), pulse: &mut Pulse<'_>) -> Result<(), Stop> {
        for value in (0..self.program.values.len()).filter(|&value| self.is_apart(value) && self.program.values[value].written_at.is_none()) {
            device.copy(self.apart(memory, value)?, self.placed(memory, value)?)?;
        }
        let mut report = 0;
        for (step, kernels) in self.compute.steps.iter().enumerate() {
            self.keep_going()?;
            pulse.beat();
            let reads = &self.program.steps[step].reads;
            let n_consumed = reads.iter().filter(|read| read.is_consumed).count();
            let checks = report..report + reads.len();
            if is_checked {
                self.compare(device, memory, checks.start..checks.start + n_consumed)?;
            }
            for kernel in kernels {
                if with_apart {
                    self.launch(device, kernel, &|value| self.apart(memory, value))?;
                }
                self.launch(device, kernel, &|value| self.placed(memory, value))?;
            }
            if is_checked {
                self.compare(device, memory, checks.start + n_consumed..checks.end)?;
            }
            report = checks.end;
        }
        if is_checked { self.compare(device, memory, report..self.execution.checks.len()) } else { Ok(()) }
    }

    fn launch(&self, device: &mut dyn Device, kernel: &Kernel, range: &dyn Fn(usize) -> Result<Range, Stop>) -> Result<(), Stop> {
        let values = std::iter::once(kernel.output).chain(kernel.inputs.iter().copied());
        let operands = values.map(|value| Ok((range(value)?, self.compute.tensors[value].element))).collect::<Result<Vec<_>, Stop>>()?;
        Ok(device.compute(kernel, &operands)?)
    }

    fn compare(&self, device: &mut dyn Device, memory: &Memory, reports: std::ops::Range<usize>) -> Result<(), Stop> {
        for report in reports {
            let value = self.execution.checks[report].value;
            device.compare(self.placed(memory, value)?, self.apart(memory, value)?, report)?;
        }
        Ok(())
    }

    /// Of a chain of wrong reads only the first is a fault of the plan; the others read what was computed from it.
    fn without_following(&self, found: Vec<Finding>) -> (Vec<Finding>, u64) {
        let wrong_steps: Vec<usize> = found.iter().filter_map(|finding| finding.step).collect();
        let step_of = |finding: &Finding| self.program.steps.iter().position(|step| step.op == finding.producer);
        let n = found.len();
        let is_root = |finding: &Finding| finding.producer.is_empty() || step_of(finding).is_none_or(|step| !wrong_steps.contains(&step));
        let roots: Vec<Finding> = found.into_iter().filter(is_root).collect();
        let n_following = (n - roots.len()) as u64;
        (roots, n_following)
    }

    /// Every kernel for itself, on the operands that it had beside the arena.
    fn compare_with_reference(
        &self,
        device: &mut dyn Device,
        memory: &Memory,
        report: &mut ComputeReport,
        pulse: &mut Pulse<'_>,
    ) -> Result<(), Stop> {
        for kernel in self.compute.steps.iter().flatten() {
            self.keep_going()?;
            pulse.beat();
            let mut read = |value: usize| -> Result<Data, Stop> {
                let bytes = device.read(self.apart(memory, value)?)?;
                Ok(Data { element: self.compute.tensors[value].element, bytes })
            };
            let inputs = kernel.inputs.iter().map(|&value| read(value)).collect::<Result<Vec<_>, _>>()?;
            let output = read(kernel.output)?;
            let n = n_results(kernel, self.compute.tensors[kernel.output].n_elements);
            let n_samples = n.min(SAMPLES);
            for sample in 0..n_samples {
                // Spread over the tensor, the first and the last element among them.
                let nth =
                    if n_samples > 1 { u64::try_from(u128::from(sample) * u128::from(n - 1) / u128::from(n_samples - 1)).unwrap_or(0) } else { 0 };
                let wanted = expected(kernel, &inputs, output.element, nth);
                let error = error_of(output.get(wanted.index), wanted.value, wanted.magnitude);
                if error > report.worst_error || report.worst_tensor.is_empty() {
                    report.worst_error = error;
                    report.worst_tensor.clone_from(&self.program.values[kernel.output].name);
                }
            }
            report.n_samples += n_samples;
        }
        Ok(())
    }

    /// What the graph gives, as it is in the arena run.
    fn outputs(&self, device: &mut dyn Device, memory: &Memory) -> Result<Vec<OutputSample>, Stop> {
        let mut outputs = Vec::new();
        for value in (0..self.program.values.len()).filter(|&value| self.program.values[value].is_output) {
            let tensor = &self.compute.tensors[value];
            let n_elements = tensor.n_elements.min(MAX_SHOWN);
            let range = Range { bytes: n_elements * tensor.element.bytes(), ..self.placed(memory, value)? };
            let data = Data { element: tensor.element, bytes: device.read(range)? };
            let values = (0..usize::try_from(n_elements).unwrap_or(0)).map(|index| Some(data.get(index)).filter(|value| value.is_finite()));
            outputs.push(OutputSample { tensor: self.program.values[value].name.clone(), values: values.collect() });
        }
        Ok(outputs)
    }

    fn time(&self, device: &mut dyn Device, memory: &Memory, pulse: &mut Pulse<'_>) -> Result<Option<Latency>, Stop> {
        if self.options.timed_iterations == 0 {
            return Ok(None);
        }
        let limit = Duration::from_millis(self.options.timed_limit_ms);
        let began = Instant::now();
        let mut samples = Vec::new();
        for iterations in 0..WARM_UP.saturating_add(self.options.timed_iterations) {
            if began.elapsed() > limit && !samples.is_empty() {
                break;
            }
            let start = Instant::now();
            pulse.iterations = iterations;
            self.iteration(device, memory, (false, false), pulse)?;
            device.synchronize()?;
            if iterations >= WARM_UP {
                samples.push(start.elapsed().as_secs_f64() * 1e3);
            }
        }
        Ok(Latency::of(samples))
    }

    fn keep_going(&self) -> Result<(), Stop> {
        if (self.is_cancelled)() { Err(Stop::Cancelled) } else { Ok(()) }
    }
}

/// Bytes `from..from + bytes` of a source.
fn made(source: &Source, element: Element, from: u64, bytes: u64) -> Vec<u8> {
    let at = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let (seed, low, high) = match source {
        Source::Bytes(all) => return all.iter().copied().skip(at(from)).take(at(bytes)).collect(),
        &Source::Random { seed, low, high } => (seed, low, high),
    };
    let indices = from / element.bytes()..(from + bytes) / element.bytes();
    let mut made = Vec::with_capacity(at(bytes));
    for share in indices.map(|index| share(seed, index)) {
        match element {
            Element::F32 => made.extend_from_slice(&single(low + share * (high - low)).to_le_bytes()),
            Element::I64 => made.extend_from_slice(&whole(low, high, share).to_le_bytes()),
            Element::I32 => made.extend_from_slice(&i32::try_from(whole(low, high, share)).unwrap_or(0).to_le_bytes()),
            Element::Bool => made.push(u8::from(whole(low, high, share) > 0)),
        }
    }
    made
}

/// A number from 0 up to 1, by chance, from the position of an element (splitmix64, S. Vigna, public domain).
fn share(seed: u64, index: u64) -> f64 {
    let mut z = seed.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(index).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 31;
    (z >> 11) as f64 / (1_u64 << 53) as f64
}

#[expect(clippy::cast_possible_truncation, reason = "rounding to the nearest is the purpose")]
fn single(value: f64) -> f32 {
    value as f32
}

/// A whole number between two bounds, both among them.
#[expect(clippy::cast_possible_truncation, reason = "the bounds are small")]
fn whole(low: f64, high: f64, share: f64) -> i64 {
    (low + share * (high - low + 1.0)).floor() as i64
}

fn error_of(seen: f64, wanted: f64, magnitude: f64) -> f64 {
    if seen == wanted || seen.is_nan() && wanted.is_nan() {
        return 0.0;
    }
    // The smallest number that a 32-bit float holds with all its digits: below it nothing is meant.
    let error = (seen - wanted).abs() / magnitude.max(f64::from(f32::MIN_POSITIVE));
    if error.is_nan() { f64::INFINITY } else { error }
}
