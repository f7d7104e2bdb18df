//! A run and a probe on a worker thread: the plan becomes a program, a child process runs it, events become a recording.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use arenascope_gpu::parent::{ChildCommand, Patience, probe_in_child, run_in_child};
use arenascope_gpu::probe::ProbeReport;
use arenascope_gpu::program::{EquipError, Program};
use arenascope_gpu::protocol::{Event, Mode, RunOptions};
use arenascope_gpu::record::RunRecord;
use arenascope_planner::check::CheckedPlan;
use arenascope_planner::control::{Control, Progress};

use super::recording::Recording;
use super::settings::{NO_BRANCHES, NOTHING_TO_COMPUTE};
use super::words::{capital, for_window, regime_name};
use crate::session::Planned;

/// How the window reaches devices: always through a child process of its own program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceAccess {
    /// How a child is started.
    pub command: ChildCommand,
    /// A driver library to use in place of the installed one.
    pub gpu_lib: Option<PathBuf>,
    /// How long a child may be silent.
    pub patience: Patience,
}

impl DeviceAccess {
    /// The program's own hidden commands.
    ///
    /// # Errors
    /// The system does not say where the program is.
    pub fn own() -> std::io::Result<Self> {
        Ok(Self { command: ChildCommand::own()?, gpu_lib: None, patience: Patience::default() })
    }
}

/// What has arrived of a run that still goes on.
#[derive(Clone, Default)]
pub struct Live(Arc<Mutex<Option<Arc<Recording>>>>);

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Live").field(&self.get().is_some()).finish()
    }
}

impl Live {
    /// The last state.
    #[must_use]
    pub fn get(&self) -> Option<Arc<Recording>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, recording: Arc<Recording>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(recording);
    }
}

/// A run about to begin.
#[derive(Clone, Debug)]
pub struct RunOrder {
    /// The plan.
    pub planned: Arc<Planned>,
    /// How a child is started.
    pub access: DeviceAccess,
    /// Where and how.
    pub options: RunOptions,
    /// By how much the plan is multiplied.
    pub times: u64,
    /// The name of the recording.
    pub name: String,
    /// Where to say what has arrived so far.
    pub live: Live,
}

/// Asks a child which GPUs work.
#[must_use]
pub fn probe(access: &DeviceAccess) -> ProbeReport {
    probe_in_child(&access.command, access.gpu_lib.as_deref())
}

/// Runs to the end, whatever end that is; a run that was stopped gives what it had.
///
/// # Errors
/// The plan is no program for a device; the sentence says why.
pub fn run(order: &RunOrder, control: &Control<'_>) -> Result<Arc<Recording>, String> {
    say(control, "Preparing the plan for the device", None);
    let program = program(&order.planned, &order.options)?.scaled(order.times).map_err(|error| error.to_string())?;
    let options = RunOptions { gpu_lib: order.access.gpu_lib.as_ref().map(|path| path.display().to_string()), ..order.options.clone() };
    say(control, "Opening the device", None);
    let mut told = Told { order, control, n_steps: program.steps.len(), n_done: 0, so_far: RunRecord::new(&program, &options) };
    let is_cancelled = || control.is_stopped();
    let record = run_in_child(&order.access.command, &program, &options, order.access.patience, &is_cancelled, &mut |event| told.hear(event));
    Ok(Arc::new(Recording::new(order.name.clone(), record)))
}

/// The plan as a program, with what its mode and its streams need.
fn program(planned: &Planned, options: &RunOptions) -> Result<Program, String> {
    let prepared = &planned.prepared;
    let checked = CheckedPlan::new(Arc::clone(&prepared.problem), Arc::clone(&planned.plan));
    let checked =
        checked.map_err(|report| format!("the plan has {} and was not run", crate::text::counted(report.n_violations, "fault", "faults")))?;
    let program = Program::new(&prepared.workload.file, &checked, prepared.context.as_deref()).map_err(|error| error.to_string())?;
    program.equipped(&checked, prepared.context.as_deref(), options).map_err(|error| match error {
        EquipError::NothingToCompute => NOTHING_TO_COMPUTE.to_owned(),
        EquipError::NoBranches => NO_BRANCHES.to_owned(),
        EquipError::Compute(error) => for_window(&error.to_string()),
    })
}

/// Why the ops of a plan cannot be computed: the first op that has no kernel, with the reason. Time O(graph).
pub(super) fn uncomputable(planned: &Planned) -> Option<String> {
    let options = RunOptions { mode: Mode::Compute, ..RunOptions::default() };
    program(planned, &options).err().map(|why| sentence(&why))
}

fn sentence(words: &str) -> String {
    let end = if words.ends_with('.') { "" } else { "." };
    format!("{}{end}", capital(words))
}

/// What was heard of a run so far.
struct Told<'a> {
    order: &'a RunOrder,
    control: &'a Control<'a>,
    n_steps: usize,
    n_done: u32,
    so_far: RunRecord,
}

impl Told<'_> {
    fn hear(&mut self, event: &Event) {
        self.so_far.add(event);
        match event {
            Event::Device { .. } => self.show(),
            Event::RegimeStart { regime, .. } => self.tell(&format!("{}: begins", regime_name(*regime)), 0.0),
            Event::Step { regime, step, .. } if step.is_multiple_of(16) => {
                let part = crate::views::chart::step_value(*step as u64 + 1) / crate::views::chart::step_value(self.n_steps as u64);
                self.tell(&format!("{}: step {} of {}", regime_name(*regime), step + 1, self.n_steps), part / 2.0);
            }
            Event::Progress { iterations, .. } if self.order.options.mode == Mode::Compute => {
                say(self.control, &format!("Computing: iteration {}", iterations + 1), None);
            }
            Event::Progress { regime, iterations } => {
                let part = f64::from(*iterations) / f64::from(self.order.options.timed_iterations.max(1));
                self.tell(&format!("{}: {iterations} iterations", regime_name(*regime)), 0.5 + part.min(1.0) / 2.0);
            }
            Event::Compute(_) => self.show(),
            Event::RegimeEnd(_) => {
                self.n_done += 1;
                self.show();
            }
            Event::Step { .. } | Event::Footprint { .. } | Event::Finding(_) | Event::Done { .. } | Event::Error { .. } => {}
        }
    }

    fn show(&self) {
        self.order.live.set(Arc::new(Recording::new(self.order.name.clone(), self.so_far.clone())));
    }

    fn tell(&self, what: &str, part: f64) {
        let n = f64::from(u32::try_from(self.order.options.regimes.len()).unwrap_or(u32::MAX).max(1));
        say(self.control, what, Some(((f64::from(self.n_done) + part) / n).min(1.0)));
    }
}

fn say(control: &Control<'_>, what: &str, fraction: Option<f64>) {
    control.report(Progress { what: what.to_owned(), fraction, best_arena_bytes: None });
}
