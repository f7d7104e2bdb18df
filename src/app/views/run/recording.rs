//! A recorded run with everything that the view draws of it, made off the UI thread; nothing here knows egui.

use std::sync::Arc;

use arenascope_gpu::device::DeviceKind;
use arenascope_gpu::protocol::{Mode, RegimeReport};
use arenascope_gpu::record::RunRecord;
use arenascope_gpu::regimes::Regime;
use arenascope_gpu::residual::{Held, Residual, residual, tolerance_bytes};
use arenascope_planner::lifetimes::Lifetime;
use arenascope_planner::metrics::Curve;

use crate::curve_index::CurveIndex;
use crate::session::Planned;

/// How much a recorded run has to do with the plan that is shown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kinship {
    /// Another file, or other ops.
    Stranger,
    /// The same steps with another plan.
    SameSteps,
    /// The same steps and an arena of the same size.
    SamePlan,
}

/// A curve with values below zero.
#[derive(Debug)]
pub struct SignedCurve {
    shifted: CurveIndex,
    base: i64,
}

/// A part of a signed curve as wide as a pixel or more.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SignedSpan {
    /// First step.
    pub start: f64,
    /// One past the last step.
    pub end: f64,
    /// The lowest value in between.
    pub low: i64,
    /// The highest value in between.
    pub high: i64,
}

impl SignedCurve {
    fn new(starts: &[u64], values: &[i64]) -> Option<Self> {
        let base = values.iter().copied().min().unwrap_or(0);
        let shifted: Vec<u64> = values.iter().map(|value| value.abs_diff(base)).collect();
        Some(Self { shifted: curve(starts, &shifted)?, base })
    }

    /// The curve between two steps as about `n_columns` spans.
    #[must_use]
    pub fn spans(&self, start: f64, end: f64, n_columns: usize) -> Vec<SignedSpan> {
        let back = |value: u64| self.base.saturating_add_unsigned(value);
        let spans = self.shifted.spans(start, end, n_columns).into_iter();
        spans.map(|span| SignedSpan { start: span.start, end: span.end, low: back(span.low), high: back(span.high) }).collect()
    }

    /// The lowest and the highest value.
    #[must_use]
    pub fn extremes(&self) -> (i64, i64) {
        (self.base, self.base.saturating_add_unsigned(self.shifted.max().0))
    }
}

/// The curves of one way of getting memory.
#[derive(Debug)]
pub struct RegimeCurves {
    /// Planned bytes.
    pub predicted: CurveIndex,
    /// Measured bytes above the baseline.
    pub measured: CurveIndex,
    /// The lowest that granules explain.
    pub band_low: CurveIndex,
    /// The highest that granules and pools explain.
    pub band_high: CurveIndex,
    /// Measured minus planned.
    pub residual: SignedCurve,
    /// The lowest and the highest difference that has a reason: on a CPU also pages that were never touched.
    pub residual_band: [SignedCurve; 2],
    /// The difference by step, split into parts with names.
    pub parts: Vec<Residual>,
    /// The step with the most live buffers among those at which about the most was measured.
    pub peak: usize,
    /// Bytes without a reason, whatever their sign.
    pub unexplained: CurveIndex,
    /// Steps with such bytes.
    pub n_unexplained: u64,
    /// Nanoseconds of every step; `None` where steps were not timed one by one.
    pub step_ns: Option<CurveIndex>,
}

/// What the arena's own bytes said after every step.
#[derive(Debug)]
pub struct FootprintCurves {
    /// Bytes that no longer held poison.
    pub touched: CurveIndex,
    /// One past the highest of them.
    pub top: CurveIndex,
    /// What the plan says that they should be.
    pub predicted_touched: CurveIndex,
    /// What the plan says that it should be.
    pub predicted_top: CurveIndex,
    /// Steps at which both are as predicted.
    pub n_equal: u64,
}

/// A recorded run as the view shows it.
#[derive(Debug)]
pub struct Recording {
    /// The name in lists: its file, or `run 3`.
    pub name: String,
    /// The run itself.
    pub record: RunRecord,
    /// The first step with a live buffer and one past the last step, in the plan's numbers.
    pub steps: Lifetime,
    /// The plan's number of every step, and one past the last one.
    starts: Vec<u64>,
    /// By position in `record.regimes`; `None` for those that did not run.
    pub curves: Vec<Option<RegimeCurves>>,
    /// Bytes of the buffers that each step needs, where the record has them.
    pub live: Option<CurveIndex>,
    /// The footprint scan, if there was one.
    pub footprint: Option<FootprintCurves>,
}

impl Recording {
    /// Works out the curves. Time O(regimes · steps).
    #[must_use]
    pub fn new(name: impl Into<String>, record: RunRecord) -> Self {
        let starts = starts(&record);
        let live = curve(&starts, &record.live_curve);
        let curves = record.regimes.iter().map(|report| regime_curves(&record, &starts, report)).collect();
        let footprint = footprint(&record, &starts);
        // Like the plan's own axis, that of a run begins where the first buffer does.
        let first = record.live_curve.iter().position(|&bytes| bytes > 0).filter(|_| live.is_some()).unwrap_or(0);
        let steps = Lifetime { start: starts[first], end: starts[starts.len() - 1] };
        Self { name: name.into(), record, steps, starts, curves, live, footprint }
    }

    /// The same read from the text of a recorded run.
    ///
    /// # Errors
    /// A sentence that says why the text is something else.
    pub fn from_json(name: impl Into<String>, text: &str) -> Result<Arc<Self>, String> {
        RunRecord::from_json(text).map(|record| Arc::new(Self::new(name, record))).map_err(|error| error.to_string())
    }

    /// The report of a regime with its curves, if it ran.
    #[must_use]
    pub fn regime(&self, regime: Regime) -> Option<(&RegimeReport, &RegimeCurves)> {
        let at = self.record.regimes.iter().position(|report| report.regime == regime)?;
        Some((&self.record.regimes[at], self.curves.get(at)?.as_ref()?))
    }

    /// The regimes that ran.
    pub fn ran(&self) -> impl Iterator<Item = (&RegimeReport, &RegimeCurves)> {
        self.record.regimes.iter().zip(&self.curves).filter_map(|(report, curves)| Some((report, curves.as_ref()?)))
    }

    /// The index of the run's step that covers a step of the plan.
    #[must_use]
    pub fn index_of(&self, step: u64) -> Option<usize> {
        let after = self.starts.partition_point(|&start| start <= step);
        (after > 0 && after < self.starts.len()).then(|| after - 1)
    }

    /// The plan's number of a step of the run.
    #[must_use]
    pub fn number(&self, index: usize) -> Option<u64> {
        self.starts[..self.starts.len() - 1].get(index).copied()
    }

    /// Whether the ops were computed, or were to be.
    #[must_use]
    pub fn is_computed(&self) -> bool {
        self.record.options.mode == Mode::Compute
    }

    /// Whether the device only pretends to be one.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        self.record.device.as_ref().is_some_and(|device| device.kind == DeviceKind::Simulated)
    }

    /// What this run has to do with a plan. Time O(steps).
    #[must_use]
    pub fn kinship(&self, planned: &Planned) -> Kinship {
        let record = &self.record;
        if record.file != planned.prepared.workload.file {
            return Kinship::Stranger;
        }
        let same_steps = match &planned.prepared.context {
            Some(context) => {
                let order = context.schedule.order();
                order.len() == record.ops.len() && order.iter().zip(&record.ops).all(|(&op, name)| context.graph.op(op).name == *name)
            }
            None => {
                let span = planned.prepared.problem.span();
                span.start <= self.steps.start && self.steps.end <= span.end
            }
        };
        match planned.plan.arena_bytes.checked_mul(record.scale.max(1)) {
            _ if !same_steps => Kinship::Stranger,
            Some(arena) if arena == record.arena_bytes => Kinship::SamePlan,
            _ => Kinship::SameSteps,
        }
    }
}

/// The plan's numbers of the steps and one past the last; counted from 0 if the record does not say or makes no sense.
fn starts(record: &RunRecord) -> Vec<u64> {
    let numbers = &record.step_numbers;
    let is_sound = !numbers.is_empty() && numbers.len() == record.ops.len() && numbers.windows(2).all(|pair| pair[0] < pair[1]);
    let mut starts = if is_sound { numbers.clone() } else { (0..record.ops.len().max(1) as u64).collect() };
    starts.push(starts.last().map_or(1, |last| last.saturating_add(1)));
    starts
}

/// A curve over the steps; `None` if a value is missing.
fn curve(starts: &[u64], values: &[u64]) -> Option<CurveIndex> {
    (values.len() + 1 == starts.len()).then(|| CurveIndex::new(Curve { steps: starts.to_vec(), bytes: values.to_vec() }))
}

fn regime_curves(record: &RunRecord, starts: &[u64], report: &RegimeReport) -> Option<RegimeCurves> {
    let kind = record.device.as_ref()?.kind;
    let (predicted, measured) = (&report.predicted_curve, &report.measured_curve);
    if predicted.len() + 1 != starts.len() || measured.len() != predicted.len() {
        return None;
    }
    let freed = freed(kind, report);
    let kept = |step: usize| report.kept_curve.get(step).or(freed.get(step)).copied();
    let held = |step: usize| Held {
        n_blocks: report.blocks_curve.get(step).copied().unwrap_or(1),
        kept_bytes: kept(step).unwrap_or_else(|| report.difference.kept.max(0).unsigned_abs()),
    };
    let steps = 0..predicted.len();
    let parts: Vec<Residual> = steps.clone().map(|step| residual(kind, measured[step], predicted[step], held(step), record.noise_bytes)).collect();
    let tolerance = |step: usize| tolerance_bytes(kind, held(step).n_blocks).saturating_add(record.noise_bytes);
    let high: Vec<u64> = steps.clone().map(|step| predicted[step].saturating_add(tolerance(step)).saturating_add(held(step).kept_bytes)).collect();
    let low: Vec<u64> = steps.map(|step| predicted[step].saturating_sub(tolerance(step))).collect();
    let lowest = if kind == DeviceKind::Cpu { vec![0; low.len()] } else { low.clone() };
    let unexplained: Vec<u64> = parts.iter().map(|parts| parts.unexplained.unsigned_abs()).collect();
    let minus_planned = |edge: &[u64]| -> Option<SignedCurve> {
        let signed = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        let values: Vec<i64> = edge.iter().zip(predicted).map(|(&edge, &planned)| signed(edge) - signed(planned)).collect();
        SignedCurve::new(starts, &values)
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates, and no step takes centuries")]
    let nanoseconds: Vec<u64> = report.step_ms.iter().map(|ms| (ms.max(0.0) * 1e6) as u64).collect();
    Some(RegimeCurves {
        predicted: curve(starts, predicted)?,
        measured: curve(starts, measured)?,
        residual: SignedCurve::new(starts, &parts.iter().map(|parts| parts.total).collect::<Vec<_>>())?,
        residual_band: [minus_planned(&lowest)?, minus_planned(&high)?],
        peak: peak(measured, &record.live_curve),
        band_low: curve(starts, &low)?,
        band_high: curve(starts, &high)?,
        n_unexplained: unexplained.iter().filter(|&&bytes| bytes > 0).count() as u64,
        unexplained: curve(starts, &unexplained)?,
        step_ns: curve(starts, &nanoseconds),
        parts,
    })
}

/// What was freed before each step and may still be resident: a process's own allocator gives little back to the system.
/// At most what was needed at once before. Empty where frees reach the device.
fn freed(kind: DeviceKind, report: &RegimeReport) -> Vec<u64> {
    if kind != DeviceKind::Cpu {
        return Vec::new();
    }
    let mut most = 0_u64;
    let since_most = report.counted_curve.iter().map(|&bytes| {
        most = most.max(bytes);
        most - bytes
    });
    since_most.collect()
}

/// Measured bytes jitter by a page or two, so every step within 1 % of the most counts as the peak.
fn peak(measured: &[u64], live: &[u64]) -> usize {
    let most = measured.iter().copied().max().unwrap_or(0);
    let near = (0..measured.len()).filter(|&step| measured[step] >= most - most / 100);
    near.max_by_key(|&step| (live.get(step), std::cmp::Reverse(step))).unwrap_or(0)
}

fn footprint(record: &RunRecord, starts: &[u64]) -> Option<FootprintCurves> {
    let steps = &record.footprint;
    let of = |value: fn(&arenascope_gpu::record::FootprintStep) -> u64| curve(starts, &steps.iter().map(value).collect::<Vec<_>>());
    let is_equal = |step: &&arenascope_gpu::record::FootprintStep| {
        (step.touched_bytes, step.top_bytes) == (step.predicted_touched_bytes, step.predicted_top_bytes)
    };
    Some(FootprintCurves {
        touched: of(|step| step.touched_bytes)?,
        top: of(|step| step.top_bytes)?,
        predicted_touched: of(|step| step.predicted_touched_bytes)?,
        predicted_top: of(|step| step.predicted_top_bytes)?,
        n_equal: steps.iter().filter(is_equal).count() as u64,
    })
}

/// Whether the first bytes of a file are those of a recorded run.
#[must_use]
pub fn is_recorded_run(head: &[u8]) -> bool {
    let text: String = String::from_utf8_lossy(head).chars().filter(|c| !c.is_whitespace()).take(64).collect();
    text.starts_with('{') && text.contains("\"kind\":\"run\"")
}

#[cfg(test)]
mod tests {
    use arenascope_gpu::program::{Program, Step};
    use arenascope_gpu::protocol::RunOptions;

    use super::*;

    fn record() -> RunRecord {
        let step = |op: &str, number| Step { op: op.to_owned(), number, reads: Vec::new(), writes: Vec::new() };
        let program = Program {
            file: "far apart".to_owned(),
            buffers: Vec::new(),
            values: Vec::new(),
            steps: vec![step("first", 3), step("second", 7)],
            arena_bytes: 64,
            static_bytes: 0,
            align: 64,
            scale: 1,
            compute: None,
            order: None,
        };
        RunRecord::new(&program, &RunOptions::default())
    }

    #[test]
    fn steps_that_are_far_apart_keep_their_numbers() {
        let recording = Recording::new("run", record());
        assert_eq!((recording.steps.start, recording.steps.end), (3, 8));
        assert_eq!([2, 3, 6, 7, 8].map(|step| recording.index_of(step)), [None, Some(0), Some(0), Some(1), None]);
        assert_eq!([0, 1, 2].map(|index| recording.number(index)), [Some(3), Some(7), None]);
    }

    #[test]
    fn a_record_that_contradicts_itself_opens_with_what_makes_sense() {
        let mut record = record();
        record.step_numbers = vec![7, 3];
        record.live_curve = vec![1];
        let recording = Recording::new("run", record);
        assert_eq!([recording.number(0), recording.number(1)], [Some(0), Some(1)], "counted from 0");
        assert!(recording.live.is_none() && recording.curves.is_empty());
        let empty = Recording::from_json("empty", "{\"kind\": \"plan\"}").expect_err("it is no run");
        assert!(empty.contains("not a recorded run"), "{empty}");
    }

    #[test]
    fn the_peak_is_where_most_is_live_among_steps_measured_alike() {
        assert_eq!(peak(&[1000, 1000, 992, 10], &[1, 5, 9, 50]), 2);
        assert_eq!(peak(&[10, 20, 20], &[]), 1, "the first one, where nothing else decides");
        assert_eq!(peak(&[], &[]), 0);
    }

    #[test]
    fn a_recorded_run_is_told_by_its_first_bytes() {
        assert!(is_recorded_run(b"{\n  \"schema\": 1,\n  \"kind\": \"run\",\n"));
        assert!(!is_recorded_run(b"{\"schema\": 1, \"kind\": \"plan\"}") && !is_recorded_run(b"[1]") && !is_recorded_run(b""));
    }
}
