//! A recorded run: everything that the child said, as one value that can be saved and opened again.

use serde::{Deserialize, Serialize};

use crate::device::{DeviceDescription, MemoryInfo};
use crate::findings::Finding;
use crate::program::Program;
use crate::protocol::{ComputeReport, Event, Outcome, RegimeReport, RunOptions, SCHEMA};
use crate::regimes::live_curve;

/// One line of the footprint scan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FootprintStep {
    /// The step.
    pub step: usize,
    /// Bytes that no longer hold poison.
    pub touched_bytes: u64,
    /// One past the highest of them.
    pub top_bytes: u64,
    /// What the plan says that they should be.
    pub predicted_touched_bytes: u64,
    /// What the plan says that it should be.
    pub predicted_top_bytes: u64,
}

/// Why a run did not come to its end.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RunError {
    /// What is the matter.
    pub message: String,
    /// What would help; may be empty.
    pub remedy: String,
}

/// A run as it is saved.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunRecord {
    /// The version of this layout: [`SCHEMA`].
    pub schema: u32,
    /// Always `run`.
    pub kind: String,
    /// When it began, seconds since 1970; 0 if unknown.
    pub unix_seconds: u64,
    /// The file that was planned.
    pub file: String,
    /// The ops, by step.
    pub ops: Vec<String>,
    /// The plan's numbers of these steps; empty in records of before they were written: then they count from 0.
    #[serde(default)]
    pub step_numbers: Vec<u64>,
    /// Bytes of the planned buffers that each step needs, scaled; empty in records of before they were written.
    #[serde(default)]
    pub live_curve: Vec<u64>,
    /// Bytes of the arena, scaled.
    pub arena_bytes: u64,
    /// Bytes of static memory, scaled.
    pub static_bytes: u64,
    /// By how much the plan was scaled.
    pub scale: u64,
    /// How it was run.
    pub options: RunOptions,
    /// The device; `None` if there was none.
    pub device: Option<DeviceDescription>,
    /// Memory with a context and nothing else of ours: what the others hold, and the context itself.
    #[serde(default)]
    pub empty: Option<MemoryInfo>,
    /// Memory before the first regime.
    pub baseline: Option<MemoryInfo>,
    /// What the process took before that, bytes: context, kernels, reports, static memory.
    pub own_bytes: u64,
    /// How far free memory moved while nothing was done, bytes.
    pub noise_bytes: u64,
    /// The regimes in the order in which they ran.
    pub regimes: Vec<RegimeReport>,
    /// What was found, the first hundred per regime.
    pub findings: Vec<Finding>,
    /// All findings, also those not listed.
    pub n_findings: u64,
    /// The footprint scan; empty if it was not asked for.
    pub footprint: Vec<FootprintStep>,
    /// What computing gave; `None` in a run that did not compute.
    #[serde(default)]
    pub compute: Option<ComputeReport>,
    /// How it ended.
    pub outcome: Outcome,
    /// Why it did not come to its end; `None` if it did.
    pub error: Option<RunError>,
}

/// Why a text is no recorded run.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// It is not the right JSON.
    #[error("not a recorded run: {0}; write one with `run -o run.json`")]
    Unreadable(#[from] serde_json::Error),
    /// It is another kind of file or version.
    #[error("not a recorded run: kind `{kind}`, schema {schema}; write one with `run -o run.json`")]
    Foreign {
        /// What it calls itself.
        kind: String,
        /// Its version.
        schema: u32,
    },
}

impl RunRecord {
    /// A run of which nothing is known yet; it counts as failed until it ends.
    #[must_use]
    pub fn new(program: &Program, options: &RunOptions) -> Self {
        let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Self {
            schema: SCHEMA,
            kind: "run".to_owned(),
            unix_seconds: since_1970.map_or(0, |time| time.as_secs()),
            file: program.file.clone(),
            ops: program.steps.iter().map(|step| step.op.clone()).collect(),
            step_numbers: program.steps.iter().map(|step| step.number).collect(),
            live_curve: live_curve(program),
            arena_bytes: program.arena_bytes,
            static_bytes: program.static_bytes,
            scale: program.scale,
            options: options.clone(),
            device: None,
            empty: None,
            baseline: None,
            own_bytes: 0,
            noise_bytes: 0,
            regimes: Vec::new(),
            findings: Vec::new(),
            n_findings: 0,
            footprint: Vec::new(),
            compute: None,
            outcome: Outcome::DeviceFailed,
            error: None,
        }
    }

    /// Takes in what the child said; `true` if it was its last word.
    pub fn add(&mut self, event: &Event) -> bool {
        match event {
            Event::Device { device, empty, baseline, own_bytes, noise_bytes } => {
                self.empty = Some(*empty);
                self.device = Some(device.clone());
                (self.baseline, self.own_bytes, self.noise_bytes) = (Some(*baseline), *own_bytes, *noise_bytes);
            }
            Event::Compute(report) => self.compute = Some((**report).clone()),
            Event::RegimeEnd(report) => self.regimes.push((**report).clone()),
            Event::Finding(finding) => self.findings.push(finding.clone()),
            &Event::Footprint { step, touched_bytes, top_bytes, predicted_touched_bytes, predicted_top_bytes } => {
                self.footprint.push(FootprintStep { step, touched_bytes, top_bytes, predicted_touched_bytes, predicted_top_bytes });
            }
            Event::Done { outcome, n_findings } => {
                (self.outcome, self.n_findings) = (*outcome, *n_findings);
                return true;
            }
            Event::Error { outcome, message, remedy } => {
                self.outcome = *outcome;
                self.error = Some(RunError { message: message.clone(), remedy: remedy.clone() });
                return true;
            }
            Event::RegimeStart { .. } | Event::Step { .. } | Event::Progress { .. } => {}
        }
        false
    }

    /// The text of a recorded run.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("strings, finite numbers and lists always serialise");
        text.push('\n');
        text
    }

    /// Reads a recorded run.
    ///
    /// # Errors
    /// The text is something else.
    pub fn from_json(text: &str) -> Result<Self, RecordError> {
        let record: Self = serde_json::from_str(text)?;
        if record.kind == "run" && record.schema == SCHEMA {
            Ok(record)
        } else {
            Err(RecordError::Foreign { kind: record.kind, schema: record.schema })
        }
    }
}
