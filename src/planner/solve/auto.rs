//! `auto`: the smallest checked plan of the strategies that fit the size of the problem.
//!
//! Problem: which strategy is best depends on the graph.
//! Method: run the safe strategies, best first by experience; check every plan; keep the smallest, the earlier one on
//! ties; stop at the lower bound. Strategies whose time grows with the number of conflicts are left out beyond a
//! limit, and the note says so. If none reaches the bound, the best plan is lowered: by a fixed number of nodes of the
//! exact search if the problem is small, and by a fixed effort of `peak-repair` unless that has proved it smallest. If
//! the caller's clock decides when to end, one of the two goes on until then.
//! Guarantee: valid, never larger than any strategy it ran, the same every time.
//! Time and space: the sum of the times and the largest of the spaces of what it runs; each of the two
//! searches adds at most a few tenths of a second.
//! Source: MindSpore SOMAS runs all its combinations and keeps the best in the same way.
//!
//! ```text
//! lowest-floor 112   hot-core 108   greedy-size 110   exact from 108: 104   ->  exact 104
//! ```

use super::{Request, SolveError, exact, find_strategy, peak_repair};
use crate::check::check;
use crate::control::Progress;
use crate::plan::{Plan, Status};

/// What large inputs need, in this order, and the number of conflicts beyond which it is left out: ten to thirty seconds
/// each at the limit; the first one limits itself. Also where `peak-repair` starts.
pub(super) const STARTS: [(&str, u64); 4] =
    [("lowest-floor", u64::MAX), ("hot-core", 100_000_000), ("greedy-size", 200_000_000), ("first-fit", 10_000_000_000)];

/// What is tried after that, as one of them may happen to be best: about a tenth of a second each at the limit, measured.
const OTHERS: [(&str, u64); 15] = [
    ("best-fit-decreasing", 1_000_000),
    ("greedy-family", 500_000),
    ("tflite-arena", 2_000_000),
    ("greedy-conflicts", 1_000_000_000),
    ("hill-climb", 10_000),
    ("boxing", 50_000),
    ("executorch-greedy", 2_000_000),
    ("ort-pattern", 10_000_000_000),
    ("slots-by-size", 1_000_000_000),
    ("slots-by-birth", u64::MAX),
    ("greedy-breadth", 2_000_000),
    ("slots-dsatur", 200_000),
    ("refcount", u64::MAX),
    ("mxnet", u64::MAX),
    ("mxnet-co-share", u64::MAX),
];

/// Conflicts up to which the exact search is affordable.
const MAX_EXACT_CONFLICTS: u64 = 100_000;

/// What the exact search may spend: nodes times neighbours of an average buffer; 0.1 to 0.3 s.
const EXACT_EFFORT: u64 = 6_000_000;

/// What `peak-repair` may spend, in items stacked or nodes: in all, 0.3 to 0.5 s; and for each buffer.
const REPAIR_EFFORT: (u64, u64) = (4_000_000, 10_000);

pub(super) fn run(request: &Request<'_>) -> Result<Plan, SolveError> {
    // With rules beyond sizes and lifetimes, rectangles are looked at one by one.
    let n_conflicts = request.n_conflicts().saturating_mul(if request.problem.constraints().is_some() { 10 } else { 1 });
    let mut best: Option<Plan> = None;
    let mut n_tried = 0;
    let mut skipped: Vec<&str> = Vec::new();
    let mut unable: Vec<&str> = Vec::new();
    // Where rules force buffers apart, even a plan that shares nothing can be the smallest.
    let last = request.problem.constraints().map(|_| ("naive", u64::MAX));
    for (name, max_conflicts) in STARTS.into_iter().chain(OTHERS).chain(last) {
        let best_bytes = best.as_ref().map(|best| best.arena_bytes);
        if best_bytes.is_some_and(|bytes| bytes <= request.bound_bytes) {
            break;
        }
        let is_last_resort = best.is_none() && name == "first-fit";
        if n_conflicts > max_conflicts && !is_last_resort {
            skipped.push(name);
            continue;
        }
        let Some(strategy) = find_strategy(name) else { continue };
        request.control.report(Progress { what: format!("trying {name}"), fraction: None, best_arena_bytes: best_bytes });
        match request.run(strategy) {
            Ok(plan) => {
                n_tried += 1;
                if best_bytes.is_none_or(|bytes| plan.arena_bytes < bytes) && check(request.problem, &plan).is_valid() {
                    best = Some(plan);
                }
            }
            Err(SolveError::Stopped) => break,
            Err(SolveError::Unsupported { .. }) if request.problem.features().first_beyond(strategy.supports).is_some() => unable.push(name),
            Err(SolveError::Unsupported { .. } | SolveError::UnknownStrategy { .. }) => {}
        }
    }
    let mut plan = best.ok_or(SolveError::Stopped)?;
    let mut lower = |search: fn(&Request<'_>, &Plan, u64) -> Option<Plan>, effort| {
        if let Some(smaller) = search(request, &plan, effort) {
            n_tried += 1;
            plan = smaller;
        }
    };
    lower(search_exactly, EXACT_EFFORT);
    lower(repair, REPAIR_EFFORT.0.min(REPAIR_EFFORT.1 * request.problem.n_buffers() as u64));
    if request.is_open_ended() {
        // Whichever of the two is better at this size takes the rest of the time.
        lower(if request.n_conflicts() > MAX_EXACT_CONFLICTS { repair } else { search_exactly }, u64::MAX);
    }
    let unable = if unable.is_empty() { String::new() } else { format!("; {} cannot honour all rules of the problem", unable.join(", ")) };
    plan.note = Some(explain(&plan, n_tried, &skipped, request) + &unable);
    Ok(plan)
}

/// Whether a search that knows lifetimes alone may find a smaller plan.
fn may_be_lowered(request: &Request<'_>, plan: &Plan) -> bool {
    let is_done = plan.status == Status::Optimal || plan.arena_bytes <= request.bound_bytes || request.control.is_stopped();
    !is_done && request.problem.kept_apart().is_none() && request.problem.constraints().is_none()
}

/// A plan by the exact search that is smaller than `plan` or proved smallest; `None` if that is not affordable, not
/// needed, or found nothing.
fn search_exactly(request: &Request<'_>, plan: &Plan, effort: u64) -> Option<Plan> {
    if !may_be_lowered(request, plan) || request.n_conflicts() > MAX_EXACT_CONFLICTS {
        return None;
    }
    let found = exact::lower(request, plan, effort);
    let is_better = found.arena_bytes < plan.arena_bytes || found.status == Status::Optimal;
    (is_better && check(request.problem, &found).is_valid()).then_some(found)
}

/// A plan by `peak-repair` that is smaller than `plan`; `None` if that is not needed, or found nothing.
fn repair(request: &Request<'_>, plan: &Plan, effort: u64) -> Option<Plan> {
    if !may_be_lowered(request, plan) {
        return None;
    }
    let found = peak_repair::lower(request, plan, effort.min(request.options.max_nodes.unwrap_or(u64::MAX)));
    (found.arena_bytes < plan.arena_bytes && check(request.problem, &found).is_valid()).then_some(found)
}

/// One sentence about the choice.
fn explain(plan: &Plan, n_tried: usize, skipped: &[&str], request: &Request<'_>) -> String {
    let name = &plan.strategy;
    let detail = plan.note.as_ref().map_or_else(String::new, |note| format!(" ({note})"));
    if plan.status == Status::Optimal && plan.arena_bytes > request.bound_bytes {
        return format!("{name}{detail}: no plan can be smaller");
    }
    if plan.status == Status::Optimal {
        return format!("{name}{detail} reaches the lower bound, so no plan can be smaller");
    }
    let gap = (plan.arena_bytes as f64 / request.bound_bytes as f64 - 1.0) * 100.0;
    let skipped = match skipped {
        [] => String::new(),
        [one, two, _, ..] => format!("; too many conflicts for {one}, {two} and {} more", skipped.len() - 2),
        few => format!("; too many conflicts for {}", few.join(" and ")),
    };
    let stopped = if request.control.is_stopped() { ", stopped early" } else { "" };
    format!("{name}{detail} is the smallest of {n_tried} plans, {gap:.3} % above the lower bound{stopped}{skipped}")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::bounds::lower_bound_bytes;
    use crate::constraints::{Constraints, Pool};
    use crate::control::Control;
    use crate::generate::Kind;
    use crate::ids::{BufferId, PoolId};
    use crate::interference::n_conflicts;
    use crate::problem::Problem;
    use crate::solve::{AUTO, SolveOptions, solve, strategies};
    use crate::testing::generated_problem;
    use crate::tight_toys;
    use crate::units::Align;

    #[test]
    fn every_safe_strategy_is_a_candidate_but_naive_and_the_searches_that_follow() {
        let mut safe: Vec<&str> = strategies()
            .iter()
            .filter(|strategy| strategy.is_safe && !matches!(strategy.name, "naive" | "exact" | "peak-repair"))
            .map(|strategy| strategy.name)
            .collect();
        let mut candidates: Vec<&str> = STARTS.iter().chain(&OTHERS).map(|&(name, _)| name).collect();
        safe.sort_unstable();
        candidates.sort_unstable();
        assert_eq!(candidates, safe);
    }

    #[test]
    fn is_never_worse_than_a_strategy_that_it_can_afford() {
        // From one where all are affordable to one where half of them are not.
        for (kind, n, seed) in [(Kind::Uni, 20, 1), (Kind::Uni, 60, 2), (Kind::Uni, 150, 3), (Kind::Train, 400, 4), (Kind::Uni, 900, 5)] {
            let problem = generated_problem(kind, n, seed);
            let plan = |name| solve(name, &problem, None, &SolveOptions::default(), &Control::unattended());
            let auto = plan(AUTO).expect("a plan").arena_bytes;
            for (name, max_conflicts) in STARTS.into_iter().chain(OTHERS) {
                if n_conflicts(&problem) <= max_conflicts
                    && let Ok(other) = plan(name)
                {
                    assert!(auto <= other.arena_bytes, "{name} needs {} bytes for {kind:?} {n}, auto {auto}", other.arena_bytes);
                }
            }
        }
    }

    /// Plans with `auto` until it has asked `max_polls` times whether to stop; how often it asked.
    fn plan_until(problem: &Problem, max_nodes: Option<u64>, max_polls: usize) -> (Plan, usize) {
        let n_polls = AtomicUsize::new(0);
        let should_stop = || n_polls.fetch_add(1, Ordering::Relaxed) >= max_polls;
        let options = SolveOptions { max_nodes, ..SolveOptions::default() };
        let plan = solve(AUTO, problem, None, &options, &Control::new(&should_stop, &|_| ())).expect("a plan");
        assert!(check(problem, &plan).is_valid());
        (plan, n_polls.into_inner())
    }

    /// No strategy reaches the bound of it within its own limits; few enough conflicts for the exact search.
    fn hard() -> Problem {
        tight_toys::crowded(60, 400, 0)
    }

    #[test]
    fn goes_on_until_it_is_stopped_if_the_clock_decides() {
        for problem in [hard(), generated_problem(Kind::Uni, 1_000, 3)] {
            let (usual, n_polls) = plan_until(&problem, None, usize::MAX);
            assert!(usual.arena_bytes > lower_bound_bytes(&problem), "too easy");
            let max_polls = n_polls + 300;
            let (longer, n_polls) = plan_until(&problem, Some(u64::MAX), max_polls);
            assert!(n_polls > max_polls || longer.status == Status::Optimal, "{n_polls} of {max_polls} polls");
            assert!(longer.arena_bytes <= usual.arena_bytes);
        }
    }

    #[test]
    fn leaves_time_to_every_pool_if_the_clock_decides() {
        let hard = hard();
        let n = hard.n_buffers();
        let twice = || hard.buffers().iter().chain(hard.buffers()).map(|buffer| (buffer.bytes, buffer.lifetime));
        let pools = ["one", "two"].map(|name| Pool { name: name.to_owned(), capacity_bytes: None });
        let preferences = (0..2 * n).map(|index| (BufferId::new(index), vec![PoolId::new(index / n)])).collect();
        let constraints = Constraints { pools: pools.to_vec(), preferences, ..Constraints::default() };
        let problem = Problem::new(twice(), Align::ONE).expect("a valid problem").with_constraints(constraints).expect("valid rules");
        // The search of one pool alone would go on for longer.
        plan_until(&problem, Some(u64::MAX), 100_000);
    }
}
