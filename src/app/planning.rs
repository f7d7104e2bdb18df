//! What follows from a plan and from a change of its settings: part of [`crate::apply`].

use std::sync::Arc;

use arenascope_planner::control::Control;
use arenascope_planner::solve::AUTO;

use crate::apply::{notify, submit_plan, take_over};
use crate::insight::Insight;
use crate::jobs::{JobKind, Outcome};
use crate::orders::OrderTable;
use crate::session::{History, PlanOptions, Planned, Stage};
use crate::state::State;
use crate::views::strategies::{Against, Difference};

fn shown(state: &State) -> Option<Arc<Planned>> {
    state.session.as_ref().and_then(|session| session.shown().cloned())
}

fn revision(state: &State) -> u64 {
    state.session.as_ref().map_or(0, |session| session.revision)
}

/// Works out in the background what a plan's numbers mean, if nobody has.
pub(crate) fn explain(state: &mut State, planned: &Arc<Planned>) {
    if planned.insight().is_some() {
        return;
    }
    let revision = revision(state);
    let planned = Arc::clone(planned);
    let work = move |control: &Control<'_>| Outcome::Explained(Insight::new(&planned, control).map(|insight| (planned, Arc::new(insight))));
    state.jobs.submit(JobKind::Explain, revision, "Explaining the plan", Box::new(work));
}

/// Chooses the plan that the shown one is compared with.
pub(crate) fn compare_with(state: &mut State, against: Option<Against>) {
    state.jobs.cancel(JobKind::Difference);
    state.views.strategies.set_against(against);
    work_out_difference(state);
}

/// Compares the shown plan with the chosen one in the background, if that one is there.
pub(crate) fn work_out_difference(state: &mut State) {
    let Some(planned) = shown(state) else { return };
    let Some((against, other)) = state.views.strategies.other_plan(&planned) else { return };
    let revision = revision(state);
    let work = move |_: &Control<'_>| Outcome::Differs(Difference::new(&planned, against, &other).map(Arc::new));
    state.jobs.submit(JobKind::Difference, revision, "Comparing two plans", Box::new(work));
}

/// Measures the peak of every order in the background.
pub(crate) fn measure_orders(state: &mut State) {
    let Some(planned) = shown(state) else { return };
    let Some(session) = &mut state.session else { return };
    session.orders.start();
    let work = move |control: &Control<'_>| Outcome::Ordered(OrderTable::new(&planned, control).map(Arc::new));
    state.jobs.submit(JobKind::Orders, 0, "Measuring the orders", Box::new(work));
}

/// Plans again with the settings before the last change.
pub(crate) fn undo(state: &mut State) {
    travel(state, History::undo, "nothing to undo");
}

/// Plans again with the settings that were undone last.
pub(crate) fn redo(state: &mut State) {
    travel(state, History::redo, "nothing to redo");
}

fn travel(state: &mut State, go: impl FnOnce(&mut History, &PlanOptions) -> Option<PlanOptions>, nothing: &str) {
    let Some(session) = &mut state.session else { return };
    match go(&mut session.history, &session.options) {
        Some(options) => {
            session.options = options;
            submit_plan(state, None);
        }
        None => notify(state, nothing, false),
    }
}

/// Has the newest plan of a running search checked, one at a time, so that none waits for an older one for long.
pub(crate) fn take_better(state: &mut State) {
    if state.jobs.running(JobKind::Better).is_some() {
        return;
    }
    let Some(session) = &state.session else { return };
    let Some(found) = session.better.take().filter(|found| is_wanted(session.shown(), &session.options, found.arena_bytes())) else { return };
    let revision = session.revision;
    // Nobody will read what is being worked out about the plan before.
    state.jobs.cancel(JobKind::Explain);
    let work = move |_: &Control<'_>| Outcome::Better(Ok(found.finish()));
    state.jobs.submit(JobKind::Better, revision, "Checking a better plan", Box::new(work));
}

/// Whether a plan of a search is worth showing: it is the first one of these settings, or smaller than what is shown.
fn is_wanted(shown: Option<&Arc<Planned>>, options: &PlanOptions, arena_bytes: u64) -> bool {
    shown.is_none_or(|shown| {
        let is_other = shown.options.prepare != options.prepare || (options.strategy != AUTO && shown.options.strategy != options.strategy);
        is_other || arena_bytes < shown.plan.arena_bytes
    })
}

/// Shows a better plan while its search goes on, or after it was stopped.
pub(crate) fn better_planned(state: &mut State, revision: u64, planned: Arc<Planned>) {
    let Some(session) = state.session.as_mut().filter(|session| session.revision == revision) else { return };
    if !planned.is_valid() || !is_wanted(session.shown(), &planned.options, planned.plan.arena_bytes) {
        let shown = session.shown().cloned();
        return shown.iter().for_each(|shown| explain(state, shown));
    }
    let is_first = session.shown().is_none();
    session.shows_best = true;
    if session.planned.is_running() {
        session.planned = Stage::Running(Some(Arc::clone(&planned)));
    } else {
        // The search was stopped: its settings are those of the plan that is kept.
        session.options = planned.options.clone();
        session.planned = Stage::Ready(Arc::clone(&planned));
    }
    take_over(state, &planned, is_first);
}
