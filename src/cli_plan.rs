//! The way from a file to a checked plan, as every headless command takes it; the clock is here and nowhere deeper.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use arenascope_formats::ReadOptions;
use arenascope_planner::check::{CheckReport, check};
use arenascope_planner::control::Control;
use arenascope_planner::dependencies::{AddedOrder, added_order};
use arenascope_planner::plan::Plan;
use arenascope_planner::prepare::{PrepareSettings, Prepared, prepare};
use arenascope_planner::replay::{ReplayFault, replay};
use arenascope_planner::solve::{SolveError, solve};
use arenascope_planner::summary::{Summary, summarize};

use crate::cli_request::{Job, RunLimits};

/// A plan with what both checkers say about it.
pub(crate) struct Planned {
    pub(crate) plan: Plan,
    pub(crate) report: CheckReport,
    /// Wrong reads when the graph runs symbolically over the plan; empty for bare problems.
    pub(crate) faults: Vec<ReplayFault>,
    pub(crate) summary: Summary,
    /// The order that the plan adds to the graph; `None` for bare problems.
    pub(crate) added: Option<AddedOrder>,
    /// How long the strategy took.
    pub(crate) seconds: f64,
}

impl Planned {
    /// Whether neither checker found a fault.
    pub(crate) fn is_valid(&self) -> bool {
        self.summary.valid && self.faults.is_empty()
    }

    /// Whether the plan may be used as it is: valid, and within the capacity if there is one.
    pub(crate) fn is_usable(&self) -> bool {
        self.is_valid() && self.summary.fits_capacity
    }
}

/// Reads a file and makes its planning problem.
pub(crate) fn load(file: &Path, read: &ReadOptions, settings: PrepareSettings) -> anyhow::Result<Prepared> {
    let workload = arenascope_formats::read(file, read, &Control::unattended())?;
    prepare(&Arc::new(workload), settings).with_context(|| file.display().to_string())
}

/// Makes one plan and checks it.
pub(crate) fn make_plan(prepared: &Prepared, job: &Job) -> anyhow::Result<Planned> {
    Ok(run_strategy(prepared, &job.strategy, &job.run)?)
}

/// Runs one strategy under its limits and checks what comes out.
pub(crate) fn run_strategy(prepared: &Prepared, strategy: &str, limits: &RunLimits) -> Result<Planned, SolveError> {
    let began = Instant::now();
    let plan = plan_once(prepared, strategy, limits)?;
    let seconds = began.elapsed().as_secs_f64();
    Ok(judge(prepared, plan, seconds))
}

/// Runs one strategy under its limits; nothing is checked.
pub(crate) fn plan_once(prepared: &Prepared, strategy: &str, limits: &RunLimits) -> Result<Plan, SolveError> {
    let began = Instant::now();
    let is_over = |limit: Duration| began.elapsed() >= limit;
    let should_stop = || limits.time_limit.is_some_and(is_over);
    let control = Control::new(&should_stop, &|_| ());
    solve(strategy, &prepared.problem, prepared.context.as_deref(), &limits.solve, &control)
}

/// Checks a plan both ways and measures it.
pub(crate) fn judge(prepared: &Prepared, plan: Plan, seconds: f64) -> Planned {
    let report = check(&prepared.problem, &plan);
    let faults = prepared.context.as_ref().map_or_else(Vec::new, |context| replay(context, &prepared.problem, &plan));
    let summary = summarize(prepared, &plan, &report);
    let added = prepared.context.as_ref().map(|context| added_order(context, &prepared.problem, &plan));
    Planned { plan, report, faults, summary, added, seconds }
}
