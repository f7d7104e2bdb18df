//! A whole run on one device: every regime in turn, traced, checked and timed; events out.

use std::time::{Duration, Instant};

use arenascope_planner::units::binary_bytes;

use crate::compute::run::Computation;
use crate::device::{Device, DeviceError, DeviceKind, MemoryInfo, Turns};
use crate::execute::{Execution, Observer, Stop};
use crate::findings::findings;
use crate::footprint::Footprint;
use crate::latency::Latency;
use crate::placement::Placement;
use crate::program::Program;
use crate::protocol::{Calls, Difference, Event, Mode, Outcome, RegimeReport, RegimeStatus, RunOptions, StreamReport, Waits};
use crate::regimes::{Regime, live_curve, predicted_curve};
use crate::residual::{Held, Residual, residual};
use crate::streams::Streams;

/// Memory that is left alone beside a regime's own, bytes; a driver needs some for itself.
const MARGIN_BYTES: u64 = 256 << 20;
/// Iterations before the timed ones.
const WARM_UP: u32 = 3;
/// Looks at free memory before the start; if it moves, others use the device.
const NOISE_SAMPLES: u32 = 5;
/// How long a run may be silent while it works.
const PULSE: Duration = Duration::from_secs(1);
/// Findings reported per regime; all are counted.
const MAX_FINDINGS: usize = 100;

/// Runs `program` on `device`. `emit` gets every event and says whether anybody still listens.
pub fn run(
    device: &mut dyn Device,
    program: &Program,
    options: &RunOptions,
    is_cancelled: &dyn Fn() -> bool,
    emit: &mut dyn FnMut(&Event) -> bool,
) -> Outcome {
    let before = device.memory();
    let gone = std::cell::Cell::new(false);
    let should_stop = || gone.get() || is_cancelled();
    let mut send = |event: &Event| {
        if !emit(event) {
            gone.set(true);
        }
    };
    let mut run = Run { program, options, execution: Execution::new(program, &should_stop), baseline_used: 0, noise_bytes: 0, n_findings: 0 };
    let outcome = match before.map_err(Stop::from).and_then(|before| run.everything(device, before, &mut send)) {
        Ok(outcome) => outcome,
        Err(Stop::Cancelled) => Outcome::Cancelled,
        Err(Stop::Device(error)) => {
            let (message, remedy) = describe(&error);
            let outcome = match error {
                DeviceError::OutOfMemory { .. } | DeviceError::DoesNotFit { .. } => Outcome::DoesNotFit,
                DeviceError::Unusable { .. } => Outcome::NoDevice,
                DeviceError::IllegalAddress { .. } | DeviceError::Failed { .. } | DeviceError::WrongResult { .. } | DeviceError::Unsupported(_) => {
                    Outcome::DeviceFailed
                }
            };
            send(&Event::Error { outcome, message, remedy });
            return outcome;
        }
    };
    send(&Event::Done { outcome, n_findings: run.n_findings });
    outcome
}

fn describe(error: &DeviceError) -> (String, String) {
    match error {
        DeviceError::Unusable { message, remedy } => (message.clone(), remedy.clone()),
        DeviceError::OutOfMemory { .. } | DeviceError::DoesNotFit { .. } => {
            (error.to_string(), "close other programs, or run with a smaller --scale".to_owned())
        }
        other => (other.to_string(), "the run was stopped; `arenascope devices` says whether the device still answers".to_owned()),
    }
}

struct Run<'a> {
    program: &'a Program,
    options: &'a RunOptions,
    execution: Execution<'a>,
    /// Memory in use before the present regime, after everything that all regimes need, bytes.
    baseline_used: u64,
    noise_bytes: u64,
    n_findings: u64,
}

type Send<'s> = dyn FnMut(&Event) + 's;

impl Run<'_> {
    fn everything(&mut self, device: &mut dyn Device, before: MemoryInfo, send: &mut Send<'_>) -> Result<Outcome, Stop> {
        let held = self.program.static_bytes;
        if self.options.mode == Mode::Compute {
            return self.compute(device, before, send);
        }
        self.execution.streams = self.streams(Regime::Arena, self.options.waits)?;
        if let Some(short) = self.lacks(held, before) {
            let remedy = "weights and inputs alone do not fit; raise --budget, or take a smaller model or --scale".to_owned();
            send(&Event::Error { outcome: Outcome::DoesNotFit, message: format!("static memory {short}"), remedy });
            return Ok(Outcome::DoesNotFit);
        }
        device.prepare_reports(self.execution.n_reports())?;
        if held > 0 {
            self.execution.statics = Some(device.allocate(held)?);
            self.execution.fill_statics(device, &Placement::new(self.program, Regime::AllLive))?;
        }
        self.take_baseline(device, before, send)?;
        let mut any_ran = false;
        let mut failed = None;
        for &regime in &self.options.regimes {
            let report = self.regime(device, regime, send)?;
            any_ran |= report.status == RegimeStatus::Ran && regime.is_arena();
            if report.status == RegimeStatus::Failed {
                failed.get_or_insert(report.note.clone());
            }
            let is_lost = report.status == RegimeStatus::Failed && device.synchronize().is_err();
            send(&Event::RegimeEnd(Box::new(report)));
            if is_lost {
                break;
            }
        }
        if let Some(statics) = self.execution.statics.take() {
            let _ = device.release(statics);
        }
        let wants_arena = self.options.regimes.iter().any(|regime| regime.is_arena());
        Ok(match failed {
            _ if self.n_findings > 0 => Outcome::Clobbered,
            Some(_) => Outcome::DeviceFailed,
            None if wants_arena && !any_ran => Outcome::DoesNotFit,
            None => Outcome::Clean,
        })
    }

    fn compute(&mut self, device: &mut dyn Device, before: MemoryInfo, send: &mut Send<'_>) -> Result<Outcome, Stop> {
        let compute = self.program.compute.as_ref().ok_or(DeviceError::Unsupported("nothing says what the ops compute"))?;
        self.take_baseline(device, before, send)?;
        let (program, options, is_cancelled) = (self.program, self.options, self.execution.is_cancelled);
        let computation = Computation { program, compute, execution: &self.execution, options, is_cancelled };
        computation.run(device, send, &mut self.n_findings)
    }

    /// The steps over the streams that are wanted; `None` for a single one. A plan adds no order where nothing is reused.
    fn streams(&self, regime: Regime, waits: Waits) -> Result<Option<Streams>, Stop> {
        let waits = if regime == Regime::AllLive { Waits::Graph } else { waits };
        let n = usize::try_from(self.options.streams).unwrap_or(usize::MAX);
        if n <= 1 {
            return Ok(None);
        }
        let order =
            self.program.order.as_ref().ok_or(DeviceError::Unsupported("nothing says which ops may run side by side: run it on one stream"))?;
        Ok(Some(Streams::new(order, n, waits)))
    }

    fn take_baseline(&mut self, device: &mut dyn Device, before: MemoryInfo, send: &mut Send<'_>) -> Result<(), Stop> {
        device.synchronize()?;
        let baseline = device.memory()?;
        let (mut least, mut most) = (baseline.used_bytes, baseline.used_bytes);
        for _ in 0..NOISE_SAMPLES {
            let used = device.memory()?.used_bytes;
            (least, most) = (least.min(used), most.max(used));
        }
        self.noise_bytes = most - least;
        let own_bytes = baseline.used_bytes.saturating_sub(before.used_bytes);
        send(&Event::Device { device: device.description().clone(), empty: before, baseline, own_bytes, noise_bytes: self.noise_bytes });
        Ok(())
    }

    /// Why so many bytes cannot be had, or `None` if they can.
    fn lacks(&self, bytes: u64, now: MemoryInfo) -> Option<String> {
        let margin = MARGIN_BYTES.max(bytes / 20);
        let cap = now.free_bytes / 10 * 9;
        let budget = self.options.budget_bytes.unwrap_or(now.free_bytes / 2);
        let needed = bytes.saturating_add(margin);
        if needed <= cap.min(budget) {
            return None;
        }
        let limit = if budget <= cap {
            format!("the budget is {}", binary_bytes(budget))
        } else {
            format!("{} are free, of which 90 % may be taken", binary_bytes(now.free_bytes))
        };
        Some(format!("needs {} and {} to spare; {limit}", binary_bytes(bytes), binary_bytes(margin)))
    }

    fn regime(&mut self, device: &mut dyn Device, regime: Regime, send: &mut Send<'_>) -> Result<RegimeReport, Stop> {
        self.execution.streams = self.streams(regime, self.options.waits)?;
        let predicted_curve = predicted_curve(self.program, regime);
        let predicted_peak_bytes = predicted_curve.iter().copied().max().unwrap_or(0);
        let mut report = empty_report(regime, predicted_curve, predicted_peak_bytes);
        let description = device.description();
        let unsupported = match regime {
            Regime::Pool if !description.has_pools => Some("this device has no stream-ordered pool"),
            Regime::ArenaGraph if !description.has_graphs => Some("this device has no graph of launches to replay"),
            Regime::PerTensor | Regime::Pool | Regime::Caching if self.execution.streams.is_some() => {
                Some("it takes and gives blocks in the order of one stream")
            }
            _ => None,
        };
        let lacks = self.lacks(predicted_peak_bytes, device.memory()?).map(|short| format!("{} {short}: not run", regime.name()));
        if let Some(note) = unsupported.map(str::to_owned).or(lacks) {
            report.note = note;
            return Ok(report);
        }
        send(&Event::RegimeStart { regime, predicted_peak_bytes });
        device.prepare_reports(self.execution.n_reports())?;
        // What the regime before has given back may still be held, by the driver or by the process's own allocator.
        self.baseline_used = device.memory()?.used_bytes;
        let mut placement = Placement::new(self.program, regime);
        let result = self.run_regime(device, &mut placement, &mut report, send);
        let ended = placement.end(device);
        let _ = device.drop_recording();
        match result.and(ended.map_err(Stop::from)) {
            Ok(()) => report.status = RegimeStatus::Ran,
            Err(Stop::Cancelled) => return Err(Stop::Cancelled),
            Err(Stop::Device(error)) => {
                report.status = RegimeStatus::Failed;
                report.note = error.to_string();
            }
        }
        Ok(report)
    }

    fn run_regime(&mut self, device: &mut dyn Device, placement: &mut Placement, report: &mut RegimeReport, send: &mut Send<'_>) -> Result<(), Stop> {
        placement.begin(device, self.program)?;
        self.execution.poison(device, placement)?;
        report.n_checks = self.execution.checks.len() as u64;
        report.touched_bytes = self.execution.touched_bytes();
        if report.regime == Regime::ArenaGraph {
            self.execution.record(device, placement)?;
        }
        self.trace(device, placement, report, send)?;
        let (regime, mut told) = (report.regime, Instant::now());
        for iterations in 1..self.checked_iterations() {
            device.take_turns(turns(iterations))?;
            self.once(device, placement, Pulse { regime, iterations, told: &mut told, send: &mut *send })?;
            device.synchronize()?;
            send(&Event::Progress { regime, iterations: iterations + 1 });
        }
        device.take_turns(Turns::Free)?;
        self.execution.check_canaries(device, placement)?;
        self.find(device, report.regime, send)?;
        self.time(device, placement, report, send)?;
        self.cost_of_streams(device, placement, report, send)?;
        report.calls = placement.calls;
        Ok(())
    }

    /// Nothing is side by side in a traced iteration, so that streams need another one.
    fn checked_iterations(&self) -> u32 {
        self.options.checked_iterations.max(if self.execution.streams.is_some() { 2 } else { 1 })
    }

    /// Counts the waits and times the steps on one stream, with the graph's waits alone, and with the plan's.
    fn cost_of_streams(
        &mut self,
        device: &mut dyn Device,
        placement: &mut Placement,
        report: &mut RegimeReport,
        send: &mut Send<'_>,
    ) -> Result<(), Stop> {
        let (graph_only, with_plan) = (self.streams(report.regime, Waits::Graph)?, self.streams(report.regime, Waits::Plan)?);
        let (Some(graph_only), Some(with_plan)) = (graph_only, with_plan) else { return Ok(()) };
        let mut cost = StreamReport { n_streams: self.options.streams, graph_waits: graph_only.n_waits(), ..StreamReport::default() };
        cost.plan_waits = with_plan.n_waits().saturating_sub(cost.graph_waits);
        let own = self.execution.streams.take();
        for (streams, latency) in [(None, &mut cost.one_stream), (Some(graph_only), &mut cost.graph_only), (Some(with_plan), &mut cost.with_plan)] {
            if streams == own {
                latency.clone_from(&report.latency);
                continue;
            }
            self.execution.streams = streams;
            if report.regime == Regime::ArenaGraph {
                self.execution.record(device, placement)?;
            }
            let mut again = report.clone();
            self.time(device, placement, &mut again, send)?;
            *latency = again.latency;
        }
        self.execution.streams = own;
        report.streams = Some(cost);
        Ok(())
    }

    /// One iteration as this regime makes it.
    fn once(&self, device: &mut dyn Device, placement: &mut Placement, mut pulse: Pulse<'_>) -> Result<(), Stop> {
        if pulse.regime == Regime::ArenaGraph {
            device.replay()?;
        } else {
            self.execution.iteration(device, placement, &mut pulse)?;
        }
        placement.end_iteration(false);
        Ok(())
    }

    /// The first iteration: after every step the run waits and reads every counter, so that one stream is enough.
    fn trace(&mut self, device: &mut dyn Device, placement: &mut Placement, report: &mut RegimeReport, send: &mut Send<'_>) -> Result<(), Stop> {
        let baseline_used = self.baseline_used;
        let mut most = Held { n_blocks: placement.n_blocks, kept_bytes: 0 };
        if report.regime == Regime::ArenaGraph {
            device.replay()?;
            device.synchronize()?;
            let measured = device.memory()?.used_bytes.saturating_sub(baseline_used);
            report.counted_curve = vec![placement.held_bytes; self.program.steps.len()];
            report.measured_curve = vec![measured; self.program.steps.len()];
            report.blocks_curve = vec![placement.n_blocks; self.program.steps.len()];
            placement.end_iteration(true);
        } else {
            let footprint = (self.options.footprint && report.regime == Regime::Arena).then(|| Footprint::new(self.program));
            let mut trace = Trace {
                regime: report.regime,
                baseline_used,
                before: None,
                counted: vec![],
                measured: vec![],
                ms: vec![],
                blocks: vec![],
                kept: vec![],
                footprint,
                send,
            };
            let streams = self.execution.streams.take();
            let traced = self.execution.iteration(device, placement, &mut trace);
            self.execution.streams = streams;
            traced?;
            let Trace { counted, measured, ms, blocks, kept, .. } = trace;
            placement.end_iteration(true);
            most.n_blocks = blocks.iter().copied().fold(most.n_blocks, u64::max);
            most.kept_bytes = kept.iter().copied().fold(most.kept_bytes, u64::max);
            (report.counted_curve, report.measured_curve, report.step_ms) = (counted, measured, ms);
            (report.blocks_curve, report.kept_curve) = (blocks, kept);
        }
        self.summarize(device, report, most);
        Ok(())
    }

    fn summarize(&self, device: &dyn Device, report: &mut RegimeReport, most: Held) {
        report.counted_peak_bytes = report.counted_curve.iter().copied().max().unwrap_or(0);
        report.measured_peak_bytes = report.measured_curve.iter().copied().max().unwrap_or(0);
        report.difference = difference(device.description().kind, report, most, self.noise_bytes);
        let live = live_curve(self.program);
        let held = report.counted_peak_bytes.saturating_add(most.kept_bytes);
        let at_peak = report.counted_curve.iter().zip(&live).max_by_key(|(counted, live)| (**counted, **live)).map_or(0, |(_, &live)| live);
        report.fragmentation = if held == 0 { 0.0 } else { 1.0 - at_peak as f64 / held as f64 };
    }

    fn find(&mut self, device: &mut dyn Device, regime: Regime, send: &mut Send<'_>) -> Result<(), Stop> {
        let reports = device.reports()?;
        let found = findings(
            self.program,
            regime,
            (&self.execution.checks, &self.execution.gaps),
            &reports,
            (self.checked_iterations(), self.execution.streams.as_ref()),
        );
        self.n_findings += found.len() as u64;
        for finding in found.into_iter().take(MAX_FINDINGS) {
            send(&Event::Finding(finding));
        }
        Ok(())
    }

    fn time(&self, device: &mut dyn Device, placement: &mut Placement, report: &mut RegimeReport, send: &mut Send<'_>) -> Result<(), Stop> {
        if self.options.timed_iterations == 0 {
            return Ok(());
        }
        let limit = Duration::from_millis(self.options.timed_limit_ms);
        let began = Instant::now();
        let (mut host_ms, mut device_ms) = (Vec::new(), Vec::new());
        let mut told = Instant::now();
        let regime = report.regime;
        for iterations in 0..WARM_UP + self.options.timed_iterations {
            if began.elapsed() > limit && !host_ms.is_empty() {
                break;
            }
            let from = device.mark()?;
            let start = Instant::now();
            self.once(device, placement, Pulse { regime, iterations, told: &mut told, send: &mut *send })?;
            let to = device.mark()?;
            device.synchronize()?;
            let elapsed = start.elapsed();
            let on_device = device.elapsed_ms(from, to)?;
            if iterations >= WARM_UP {
                host_ms.push(elapsed.as_secs_f64() * 1e3);
                device_ms.push(on_device);
            }
            if told.elapsed() > PULSE {
                told = Instant::now();
                send(&Event::Progress { regime, iterations });
            }
        }
        report.device_ms = Latency::of(device_ms).map(|latency| latency.p50_ms);
        report.latency = Latency::of(host_ms);
        Ok(())
    }
}

/// In the first iteration after the traced one the last stream runs ahead, then the first, then chance decides.
fn turns(iteration: u32) -> Turns {
    match iteration {
        0 | 1 => Turns::LastFirst,
        2 => Turns::FirstFirst,
        later => Turns::Random(u64::from(later)),
    }
}

/// Gives a sign of life now and then, so that nobody takes long work for a device that hangs.
struct Pulse<'p> {
    regime: Regime,
    iterations: u32,
    told: &'p mut Instant,
    send: &'p mut Send<'p>,
}

impl Observer for Pulse<'_> {
    fn before_step(&mut self, _: &mut dyn Device, _: usize) -> Result<(), Stop> {
        Ok(())
    }

    fn after_step(&mut self, _: &mut dyn Device, _: &Placement, _: usize) -> Result<(), Stop> {
        if self.told.elapsed() > PULSE {
            *self.told = Instant::now();
            (self.send)(&Event::Progress { regime: self.regime, iterations: self.iterations });
        }
        Ok(())
    }
}

/// Reads every counter after every step.
struct Trace<'t> {
    regime: Regime,
    baseline_used: u64,
    before: Option<crate::device::Mark>,
    counted: Vec<u64>,
    measured: Vec<u64>,
    ms: Vec<f64>,
    blocks: Vec<u64>,
    kept: Vec<u64>,
    footprint: Option<Footprint>,
    send: &'t mut Send<'t>,
}

impl Observer for Trace<'_> {
    fn before_step(&mut self, device: &mut dyn Device, _step: usize) -> Result<(), Stop> {
        self.before = Some(device.mark()?);
        Ok(())
    }

    fn after_step(&mut self, device: &mut dyn Device, placement: &Placement, step: usize) -> Result<(), Stop> {
        let after = device.mark()?;
        device.synchronize()?;
        let ms = self.before.take().map(|before| device.elapsed_ms(before, after)).transpose()?;
        let measured_bytes = device.memory()?.used_bytes.saturating_sub(self.baseline_used);
        if self.regime == Regime::Pool {
            let pool = device.pool_counters()?;
            self.kept.push(pool.reserved_bytes.saturating_sub(pool.used_bytes));
        }
        let counted_bytes = placement.held_bytes;
        (self.send)(&Event::Step { regime: self.regime, step, counted_bytes, measured_bytes, ms });
        self.counted.push(counted_bytes);
        self.measured.push(measured_bytes);
        self.blocks.push(placement.n_blocks);
        self.ms.extend(ms);
        if let (Some(footprint), Some(arena)) = (&mut self.footprint, placement.arena) {
            let event = footprint.after_step(device, arena, step)?;
            (self.send)(&event);
        }
        Ok(())
    }
}

/// What explains the difference at the peaks: the most blocks held at a step, and the most that a pool kept.
fn difference(kind: DeviceKind, report: &RegimeReport, most: Held, noise_bytes: u64) -> Difference {
    let Residual { total, kept, granularity, others, unexplained } =
        residual(kind, report.measured_peak_bytes, report.predicted_peak_bytes, most, noise_bytes);
    let mut parts = Vec::new();
    let granularity_name = match kind {
        _ if granularity < 0 => "not touched, or inside memory that is already held",
        DeviceKind::Cpu => "pages and the process's own allocator",
        DeviceKind::Gpu | DeviceKind::Simulated => "granularity of the device's memory",
    };
    for (bytes, name) in [(kept, "kept by the pool"), (granularity, granularity_name), (others, "other programs"), (unexplained, "unexplained")] {
        if bytes != 0 {
            let sign = if bytes < 0 { "−" } else { "" };
            parts.push(format!("{sign}{} {name}", binary_bytes(bytes.unsigned_abs())));
        }
    }
    let why = if parts.is_empty() { "as predicted".to_owned() } else { parts.join(", ") };
    Difference { total, granularity, kept, others, unexplained, why }
}

fn empty_report(regime: Regime, predicted_curve: Vec<u64>, predicted_peak_bytes: u64) -> RegimeReport {
    RegimeReport {
        regime,
        status: RegimeStatus::Skipped,
        note: String::new(),
        predicted_peak_bytes,
        counted_peak_bytes: 0,
        measured_peak_bytes: 0,
        difference: Difference::default(),
        fragmentation: 0.0,
        calls: Calls::default(),
        latency: None,
        device_ms: None,
        predicted_curve,
        counted_curve: Vec::new(),
        measured_curve: Vec::new(),
        blocks_curve: Vec::new(),
        kept_curve: Vec::new(),
        step_ms: Vec::new(),
        n_checks: 0,
        touched_bytes: 0,
        streams: None,
    }
}
