//! What the program and its child process say to each other: one JSON object per line.
//!
//! The parent writes one [`Request`], then nothing or the line `cancel`. The child answers with [`Event`]s, the last
//! of which is `done` or `error`, and ends with the exit code of its [`Outcome`].

use serde::{Deserialize, Serialize};

use crate::device::{DeviceDescription, MemoryInfo};
use crate::findings::Finding;
use crate::latency::Latency;
use crate::program::Program;
use crate::regimes::Regime;

/// The version of requests, events and recorded runs.
pub const SCHEMA: u32 = 1;
/// The line that asks a child to stop.
pub const CANCEL: &str = "cancel";

/// Where to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceChoice {
    /// The host.
    Cpu,
    /// The GPU at that position.
    Gpu(u32),
}

/// What a run does with the tensors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Every tensor carries a pattern; any op can run.
    #[default]
    Integrity,
    /// The ops are computed, if all of them can be.
    Compute,
}

/// What makes a stream wait for another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Waits {
    /// The graph alone: an op waits for those whose results it reads.
    Graph,
    /// The graph and the order that the plan adds to it.
    #[default]
    Plan,
}

/// How to run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RunOptions {
    /// Where.
    pub device: DeviceChoice,
    /// Which ways of getting memory are compared, in order.
    pub regimes: Vec<Regime>,
    /// Iterations whose every step is checked and measured, at least 1; the first one is traced.
    pub checked_iterations: u32,
    /// Iterations that are timed per regime; 0 leaves the timing out.
    pub timed_iterations: u32,
    /// No regime is timed for longer than this, milliseconds.
    pub timed_limit_ms: u64,
    /// The most memory that a regime may take, bytes; half of what is free by default.
    pub budget_bytes: Option<u64>,
    /// Whether to look at the arena's bytes after every step.
    pub footprint: bool,
    /// A driver library to use in place of the installed one.
    pub gpu_lib: Option<String>,
    /// What is done with the tensors.
    #[serde(default)]
    pub mode: Mode,
    /// Streams over which the ops are spread.
    #[serde(default = "one_stream")]
    pub streams: u32,
    /// What makes one stream wait for another.
    #[serde(default)]
    pub waits: Waits,
}

fn one_stream() -> u32 {
    1
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            device: DeviceChoice::Cpu,
            regimes: Regime::ALL.to_vec(),
            checked_iterations: 3,
            timed_iterations: 200,
            timed_limit_ms: 20_000,
            budget_bytes: None,
            footprint: false,
            gpu_lib: None,
            mode: Mode::default(),
            streams: one_stream(),
            waits: Waits::default(),
        }
    }
}

/// What the parent asks for.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Request {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What to run.
    pub program: Program,
    /// How.
    pub options: RunOptions,
}

/// How a run ended; its code is the process's exit code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every read found what was written.
    Clean,
    /// A tensor was clobbered.
    Clobbered,
    /// Not even the arena fits into the device's memory or the budget.
    DoesNotFit,
    /// There is no device to run on.
    NoDevice,
    /// The device failed.
    DeviceFailed,
    /// The run was cancelled.
    Cancelled,
}

impl Outcome {
    /// The exit code of `run` and of the child.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::Clobbered => 3,
            Self::DoesNotFit => 4,
            Self::NoDevice => 5,
            Self::DeviceFailed => 6,
            Self::Cancelled => 7,
        }
    }
}

/// Calls of an allocator.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Calls {
    /// Calls of the device's allocator before the first iteration.
    pub setup: u64,
    /// Calls of the device's allocator in the first iteration.
    pub first_iteration: u64,
    /// Calls of the device's allocator in a later iteration; the last one made.
    pub iteration: u64,
    /// Requests per iteration of whatever allocator the regime has, the device's or one on top of it.
    pub requests: u64,
}

/// Why the device reports another peak than was predicted, bytes; the parts add up to the difference.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Difference {
    /// Measured minus predicted.
    pub total: i64,
    /// Blocks end inside a granule of the device's memory; the most that this can be is the tolerance.
    pub granularity: i64,
    /// What a pool or a cache keeps beyond what it was asked for.
    pub kept: i64,
    /// What other programs took or gave back, as far as it was seen before the start.
    pub others: i64,
    /// The rest, for which there is no reason.
    pub unexplained: i64,
    /// The same in one sentence.
    pub why: String,
}

/// How a regime went.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RegimeStatus {
    /// It ran.
    Ran,
    /// It was not tried; the note says why.
    Skipped,
    /// The device failed in it; the note says how.
    Failed,
}

/// What running on several streams costs: how often they wait, and what that does to the time.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct StreamReport {
    /// How many streams.
    pub n_streams: u32,
    /// Waits per iteration that the graph itself asks for.
    pub graph_waits: u64,
    /// Waits per iteration that the plan adds to them.
    pub plan_waits: u64,
    /// Timed iterations on one stream.
    pub one_stream: Option<Latency>,
    /// Timed iterations with the waits of the graph alone.
    pub graph_only: Option<Latency>,
    /// Timed iterations with the waits of graph and plan.
    pub with_plan: Option<Latency>,
}

/// One way of getting memory, predicted and measured.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RegimeReport {
    /// Which.
    pub regime: Regime,
    /// Whether it ran.
    pub status: RegimeStatus,
    /// Why not, or how it failed; empty if it ran.
    pub note: String,
    /// The peak that was predicted before the run, bytes.
    pub predicted_peak_bytes: u64,
    /// The peak of the bytes that the run held, by its own count.
    pub counted_peak_bytes: u64,
    /// The peak as the device reports it, above the baseline, bytes.
    pub measured_peak_bytes: u64,
    /// Why the two differ.
    pub difference: Difference,
    /// Share of the memory held at the peak that no live buffer used then.
    pub fragmentation: f64,
    /// Calls of allocators.
    pub calls: Calls,
    /// The timed iterations, host clock, with a wait at the end of each.
    pub latency: Option<Latency>,
    /// The middle timed iteration by the device's own clock, milliseconds.
    pub device_ms: Option<f64>,
    /// Predicted bytes at every step.
    pub predicted_curve: Vec<u64>,
    /// Counted bytes at every step of the first iteration.
    pub counted_curve: Vec<u64>,
    /// Bytes above the baseline at every step of the first iteration, as the device reports them.
    pub measured_curve: Vec<u64>,
    /// Blocks that the device's allocator had given out at every step; empty in records of before it was written.
    #[serde(default)]
    pub blocks_curve: Vec<u64>,
    /// What the pool kept beyond what it had given at every step, bytes; empty without a pool.
    #[serde(default)]
    pub kept_curve: Vec<u64>,
    /// Milliseconds of every step of the first iteration; empty where steps cannot be timed one by one.
    pub step_ms: Vec<f64>,
    /// Reads checked per iteration.
    pub n_checks: u64,
    /// Bytes written and read per iteration.
    pub touched_bytes: u64,
    /// What the streams cost; `None` on a single one.
    #[serde(default)]
    pub streams: Option<StreamReport>,
}

/// The first elements of a graph output.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct OutputSample {
    /// The tensor.
    pub tensor: String,
    /// Its first elements; one that is no finite number is `None`.
    pub values: Vec<Option<f64>>,
}

/// How a run went that computed.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ComputeReport {
    /// Launches per iteration.
    pub n_kernels: u64,
    /// Reads that were compared, bit for bit, with those of a run in which every tensor has memory of its own.
    pub n_reads: u64,
    /// Wrong reads that follow from others and are no findings of their own.
    pub n_following: u64,
    /// Results that were compared with 64-bit arithmetic.
    pub n_samples: u64,
    /// The largest error among them, as a share of the sum of the magnitudes that make the result.
    pub worst_error: f64,
    /// The tensor in which it is.
    pub worst_tensor: String,
    /// The largest error that is allowed.
    pub tolerance: f64,
    /// The first elements of the graph's outputs.
    #[serde(default)]
    pub outputs: Vec<OutputSample>,
    /// The timed iterations in the arena, host clock.
    pub latency: Option<Latency>,
}

/// What the child says.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The device is ready.
    Device {
        /// What it is.
        device: DeviceDescription,
        /// Its memory with a context and nothing else of ours.
        empty: MemoryInfo,
        /// Its memory before the first regime, after everything that all regimes need.
        baseline: MemoryInfo,
        /// What the process itself took to get there: context, kernels, reports, static memory; bytes.
        own_bytes: u64,
        /// How far free memory moved while nothing was done, bytes: other programs.
        noise_bytes: u64,
    },
    /// A regime begins.
    RegimeStart {
        /// Which.
        regime: Regime,
        /// Its predicted peak.
        predicted_peak_bytes: u64,
    },
    /// One step of a traced iteration.
    Step {
        /// In which regime.
        regime: Regime,
        /// The step, as an index into the program.
        step: usize,
        /// Bytes held by our own count.
        counted_bytes: u64,
        /// Bytes above the baseline as the device reports them.
        measured_bytes: u64,
        /// How long it took; `None` where it cannot be timed alone.
        ms: Option<f64>,
    },
    /// What the arena's own bytes say after a step.
    Footprint {
        /// The step.
        step: usize,
        /// Bytes that no longer hold poison.
        touched_bytes: u64,
        /// One past the highest of them.
        top_bytes: u64,
        /// What the plan says that they should be.
        predicted_touched_bytes: u64,
        /// What the plan says that it should be.
        predicted_top_bytes: u64,
    },
    /// A sign of life during long work.
    Progress {
        /// In which regime.
        regime: Regime,
        /// Iterations done.
        iterations: u32,
    },
    /// Something read wrongly.
    Finding(Finding),
    /// What computing gave.
    Compute(Box<ComputeReport>),
    /// A regime's numbers.
    RegimeEnd(Box<RegimeReport>),
    /// The run came to its end.
    Done {
        /// How.
        outcome: Outcome,
        /// Reads that were clobbered, over all regimes.
        n_findings: u64,
    },
    /// The run could not begin or go on.
    Error {
        /// What that means for the exit code.
        outcome: Outcome,
        /// What is the matter.
        message: String,
        /// What would help.
        remedy: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_single_lines_and_come_back_equal() {
        let event = Event::Error { outcome: Outcome::NoDevice, message: "no\ndriver".to_owned(), remedy: String::new() };
        let line = serde_json::to_string(&event).expect("plain data");
        assert!(!line.contains('\n') && line.starts_with("{\"event\":\"error\""), "{line}");
        assert_eq!(serde_json::from_str::<Event>(&line).expect("the same"), event);
    }

    #[test]
    fn exit_codes_are_those_of_the_manual() {
        let all = [Outcome::Clean, Outcome::Clobbered, Outcome::DoesNotFit, Outcome::NoDevice, Outcome::DeviceFailed, Outcome::Cancelled];
        assert_eq!(all.map(Outcome::exit_code), [0, 3, 4, 5, 6, 7]);
    }
}
