//! The open document: the file, what was made of it, and the settings that made it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use arenascope_formats::ReadOptions;
use arenascope_planner::alias::{AliasSettings, Io, Storage};
use arenascope_planner::check::{CheckReport, check};
use arenascope_planner::control::{Control, Progress};
use arenascope_planner::ids::{BufferId, OpId, TensorId};
use arenascope_planner::lifetimes::Lifetime;
use arenascope_planner::order::Order;
use arenascope_planner::parallel::Parallel;
use arenascope_planner::plan::Plan;
use arenascope_planner::prepare::{PrepareSettings, Prepared, prepare_with};
use arenascope_planner::replay::{ReplayFault, replay};
use arenascope_planner::solve::{SolveOptions, solve};
use arenascope_planner::summary::{Summary, summarize};
use arenascope_planner::units::Align;
use arenascope_planner::workload::Workload;

use crate::better::Better;
use crate::insight::Insight;
use crate::model::Model;
use crate::orders::OrderTable;
use crate::selection::Item;

/// A value that is computed in the background.
#[derive(Clone, Debug)]
pub enum Stage<T> {
    /// Nothing asked for it yet.
    Empty,
    /// It is being computed; the last value may still be shown.
    Running(Option<Arc<T>>),
    /// It is there.
    Ready(Arc<T>),
    /// It could not be computed, and why; the last value may still be shown.
    Failed(String, Option<Arc<T>>),
}

impl<T> Stage<T> {
    /// The value to show: the newest there is.
    #[must_use]
    pub fn value(&self) -> Option<&Arc<T>> {
        match self {
            Self::Empty => None,
            Self::Running(value) | Self::Failed(_, value) => value.as_ref(),
            Self::Ready(value) => Some(value),
        }
    }

    /// Begins to compute, keeping the last value for show.
    pub fn start(&mut self) {
        *self = Self::Running(self.value().cloned());
    }

    /// Ends a computation that was cancelled, if there is one: the last value stays.
    pub fn give_up(&mut self) {
        if !self.is_running() {
            return;
        }
        *self = self.value().cloned().map_or(Self::Empty, Self::Ready);
    }

    /// Takes a result.
    pub fn finish(&mut self, result: Result<Arc<T>, String>) {
        *self = match result {
            Ok(value) => Self::Ready(value),
            Err(message) => Self::Failed(message, self.value().cloned()),
        };
    }

    /// Whether it is being computed.
    #[must_use]
    pub fn is_running(&self) -> bool {
        matches!(self, Self::Running(_))
    }
}

/// Everything that changes the plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanOptions {
    /// The strategy's name, or `auto`.
    pub strategy: String,
    /// Alignment, sharing and capacity.
    pub prepare: PrepareSettings,
    /// Seed, threads and what a slot may be reused for.
    pub solve: SolveOptions,
    /// When to stop and take the best so far; `None` without a limit.
    pub time_limit: Option<Duration>,
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self { strategy: "auto".to_owned(), prepare: PrepareSettings::default(), solve: SolveOptions::default(), time_limit: None }
    }
}

impl PlanOptions {
    /// The same options with another alignment.
    #[must_use]
    pub fn with_align(mut self, align: Align) -> Self {
        self.prepare.align = align;
        self
    }

    /// The same options with in-place switched.
    #[must_use]
    pub fn with_in_place(mut self, in_place: bool) -> Self {
        self.prepare.alias = AliasSettings { in_place, ..self.prepare.alias };
        self
    }

    /// The same options with graph inputs and outputs in or out of the arena.
    #[must_use]
    pub fn with_io(mut self, io: Io) -> Self {
        self.prepare.alias = AliasSettings { io, ..self.prepare.alias };
        self
    }

    /// The same options with the ops in another order.
    #[must_use]
    pub fn with_order(mut self, order: Order) -> Self {
        self.prepare.order = order;
        self
    }

    /// The same options with other ops able to run side by side.
    #[must_use]
    pub fn with_parallel(mut self, parallel: Parallel) -> Self {
        self.prepare.parallel = parallel;
        self
    }
}

/// A plan with everything the views need, all made off the UI thread.
#[derive(Debug)]
pub struct Planned {
    /// The problem and where it comes from.
    pub prepared: Arc<Prepared>,
    /// The plan, valid or not.
    pub plan: Arc<Plan>,
    /// What the geometric checker found.
    pub report: CheckReport,
    /// What the replay found; empty without a graph.
    pub replay_faults: Vec<ReplayFault>,
    /// The headline numbers.
    pub summary: Summary,
    /// What the views draw.
    pub model: Model,
    /// The options it was made with.
    pub options: PlanOptions,
    /// How long the strategy took.
    pub plan_seconds: f64,
    /// What was worked out about it since; set once.
    pub insight: OnceLock<Arc<Insight>>,
}

impl Planned {
    /// Checks a plan and makes what the views draw of it. Time O(n log n) and the strategies of names and holes.
    #[must_use]
    pub fn new(prepared: Arc<Prepared>, plan: Plan, options: PlanOptions, plan_seconds: f64) -> Self {
        let report = check(&prepared.problem, &plan);
        let replay_faults = prepared.context.as_deref().map(|context| replay(context, &prepared.problem, &plan)).unwrap_or_default();
        let summary = summarize(&prepared, &plan, &report);
        let model = Model::new(&prepared, &plan);
        Self { prepared, plan: Arc::new(plan), report, replay_faults, summary, model, options, plan_seconds, insight: OnceLock::new() }
    }

    /// What was worked out about the plan; `None` while that is not done.
    #[must_use]
    pub fn insight(&self) -> Option<&Insight> {
        self.insight.get().map(|insight| &**insight)
    }

    /// Where a buffer could be if nothing else moved; `None` if it cannot be lower, or while that is not known.
    #[must_use]
    pub fn could_be_at(&self, buffer: BufferId) -> Option<u64> {
        self.insight()?.lower.of(buffer)
    }

    /// When a buffer lives; `None` for an id of another plan.
    #[must_use]
    pub fn lifetime(&self, buffer: BufferId) -> Option<Lifetime> {
        self.prepared.problem.buffers().get(buffer.index()).map(|buffer| buffer.lifetime)
    }

    /// The planned buffer of a tensor.
    #[must_use]
    pub fn buffer_of(&self, tensor: TensorId) -> Option<BufferId> {
        match self.prepared.context.as_ref()?.map.storage.get(tensor.index())? {
            Storage::Planned(buffer) => Some(*buffer),
            Storage::Static | Storage::Empty | Storage::Unknown => None,
        }
    }

    /// The planned buffers that an op reads or writes, each once.
    #[must_use]
    pub fn buffers_of_op(&self, op: OpId) -> Vec<BufferId> {
        let Some(context) = &self.prepared.context else { return Vec::new() };
        let Some(op) = context.graph.ops().get(op.index()) else { return Vec::new() };
        let mut buffers: Vec<BufferId> = op.inputs.iter().chain(&op.outputs).filter_map(|&tensor| self.buffer_of(tensor)).collect();
        buffers.sort_unstable();
        buffers.dedup();
        buffers
    }

    /// The step at which an op runs.
    #[must_use]
    pub fn step_of(&self, op: OpId) -> Option<u64> {
        let context = self.prepared.context.as_ref()?;
        (op.index() < context.graph.ops().len()).then(|| context.schedule.step_of(op))
    }

    /// The op that runs at a step.
    #[must_use]
    pub fn op_at(&self, step: u64) -> Option<OpId> {
        self.prepared.context.as_ref()?.schedule.op_at(step)
    }

    /// Whether an item exists in this plan.
    #[must_use]
    pub fn has(&self, item: Item) -> bool {
        match item {
            Item::Buffer(buffer) => buffer.index() < self.prepared.problem.n_buffers(),
            Item::Tensor(tensor) => self.prepared.context.as_ref().is_some_and(|context| tensor.index() < context.graph.tensors().len()),
            Item::Op(op) => self.step_of(op).is_some(),
            Item::Step(step) => self.prepared.problem.span().contains(step) || self.op_at(step).is_some(),
            Item::Slot(slot) => self.plan.n_slots().is_some_and(|n| slot.index() < n),
        }
    }

    /// Whether the plan passed both checkers.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.report.is_valid() && self.replay_faults.is_empty()
    }
}

/// Prepares, plans and checks a workload; the one function behind window, pictures and tests.
///
/// # Errors
/// One sentence that says which stage failed and why.
pub fn make_plan(workload: &Arc<Workload>, options: &PlanOptions, control: &Control<'_>) -> Result<Arc<Planned>, String> {
    make_plan_showing(workload, options, control, &Better::default())
}

/// [`make_plan`] that leaves every better plan of a search in `better` as it is found.
///
/// # Errors
/// As [`make_plan`].
pub fn make_plan_showing(workload: &Arc<Workload>, options: &PlanOptions, control: &Control<'_>, better: &Better) -> Result<Arc<Planned>, String> {
    let say = |what: &str| control.report(Progress { what: what.to_owned(), fraction: None, best_arena_bytes: None });
    say("Working out lifetimes");
    let prepared = Arc::new(prepare_with(workload, options.prepare, control).map_err(|error| error.to_string())?);
    say("Planning the arena");
    let started = Instant::now();
    let limit = options.time_limit;
    let should_stop = || control.is_stopped() || limit.is_some_and(|limit| started.elapsed() >= limit);
    let report = |progress: Progress| control.report(progress);
    // A search within one of several pools knows only that pool.
    let is_whole = prepared.problem.pools().is_empty();
    let improved = |plan: Plan| {
        if is_whole {
            better.put(&prepared, plan, options, started.elapsed().as_secs_f64());
        }
    };
    let limited = Control::new(&should_stop, &report).with_plans(&improved);
    let plan =
        solve(&options.strategy, &prepared.problem, prepared.context.as_deref(), &options.solve, &limited).map_err(|error| error.to_string())?;
    let plan_seconds = started.elapsed().as_secs_f64();
    say("Checking and drawing the plan");
    Ok(Arc::new(Planned::new(prepared, plan, options.clone(), plan_seconds)))
}

/// The open document.
#[derive(Debug)]
pub struct Session {
    /// Where it was read from; `None` for a built-in sample.
    pub path: Option<PathBuf>,
    /// The name shown for it.
    pub name: String,
    /// How it is read.
    pub read: ReadOptions,
    /// Grows with every change of the settings; results of older revisions are dropped.
    pub revision: u64,
    /// What makes the plan.
    pub options: PlanOptions,
    /// The file, read.
    pub workload: Stage<Workload>,
    /// The plan with what the views draw.
    pub planned: Stage<Planned>,
    /// A better plan that a search has found and that is not shown yet.
    pub better: Better,
    /// Whether the shown plan is the best so far of the settings that are planned with.
    pub shows_best: bool,
    /// Options of before, for undo, the last ones last; and those undone, for redo.
    pub history: History,
    /// The peak of each order, once somebody has asked.
    pub orders: Stage<OrderTable>,
}

/// Options that can be gone back to.
#[derive(Clone, Debug, Default)]
pub struct History {
    past: Vec<PlanOptions>,
    future: Vec<PlanOptions>,
}

impl History {
    /// Remembers options that are about to be replaced by others.
    pub fn remember(&mut self, options: &PlanOptions) {
        self.past.push(options.clone());
        self.future.clear();
    }

    /// The options before `now`; `None` if there are none.
    pub fn undo(&mut self, now: &PlanOptions) -> Option<PlanOptions> {
        let options = self.past.pop()?;
        self.future.push(now.clone());
        Some(options)
    }

    /// The options that were undone last; `None` if there are none.
    pub fn redo(&mut self, now: &PlanOptions) -> Option<PlanOptions> {
        let options = self.future.pop()?;
        self.past.push(now.clone());
        Some(options)
    }
}

impl Session {
    /// A document about to be read.
    #[must_use]
    pub fn new(path: Option<&Path>, name: impl Into<String>, read: ReadOptions, options: PlanOptions) -> Self {
        Self {
            path: path.map(Path::to_owned),
            name: name.into(),
            read,
            revision: 0,
            options,
            workload: Stage::Running(None),
            planned: Stage::Empty,
            better: Better::default(),
            shows_best: false,
            history: History::default(),
            orders: Stage::Empty,
        }
    }

    /// The plan to show, if there is one.
    #[must_use]
    pub fn shown(&self) -> Option<&Arc<Planned>> {
        self.planned.value()
    }
}
