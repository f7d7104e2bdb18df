//! `auto`: the smallest checked plan of the strategies that fit the size of the problem.
//!
//! Problem: which strategy is best depends on the graph.
//! Method: run the safe strategies, best first by experience; check every plan; keep the smallest, the earlier one on
//! ties; stop at the lower bound. Strategies whose time grows with the number of conflicts are left out beyond a
//! limit, and the note says so. If none reaches the bound and the problem is small, the exact search gets a fixed
//! number of nodes to lower the best plan.
//! Guarantee: valid, never larger than any strategy it ran, the same every time.
//! Time and space: the sum of the times and the largest of the spaces of what it runs; the exact search adds at most a
//! few tenths of a second.
//! Source: MindSpore SOMAS runs all its combinations and keeps the best in the same way.
//!
//! ```text
//! lowest-floor 112   hot-core 108   greedy-size 110   exact from 108: 104   ->  exact 104
//! ```

use super::{Request, SolveError, exact, find_strategy};
use crate::check::check;
use crate::interference::Interference;
use crate::plan::{Plan, Status};

/// What is tried, in this order.
const CANDIDATES: [&str; 7] = ["lowest-floor", "hot-core", "greedy-size", "first-fit", "slots-by-size", "slots-by-birth", "refcount"];

/// The strategies whose time grows with the number of conflicts.
const GROWS_WITH_CONFLICTS: [&str; 4] = ["hot-core", "greedy-size", "first-fit", "slots-by-size"];

/// Conflicts beyond which they are left out; a few seconds each.
const MAX_CONFLICTS: u64 = 100_000_000;

/// Conflicts up to which the exact search is affordable.
const MAX_EXACT_CONFLICTS: u64 = 100_000;

/// What the exact search may spend: nodes times neighbours of an average buffer; 0.1 to 0.3 s.
const EXACT_EFFORT: u64 = 6_000_000;

pub(super) fn run(request: &Request<'_>) -> Result<Plan, SolveError> {
    let mut best: Option<Plan> = None;
    let mut n_tried = 0;
    let mut skipped: Vec<&str> = Vec::new();
    let mut n_conflicts = None;
    for name in CANDIDATES {
        if best.as_ref().is_some_and(|best| best.arena_bytes <= request.bound_bytes) {
            break;
        }
        if GROWS_WITH_CONFLICTS.contains(&name)
            && *n_conflicts.get_or_insert_with(|| Interference::new(request.problem).n_conflicts()) > MAX_CONFLICTS
        {
            skipped.push(name);
            continue;
        }
        let Some(strategy) = find_strategy(name) else { continue };
        match request.run(strategy) {
            Ok(plan) => {
                n_tried += 1;
                let is_smaller = best.as_ref().is_none_or(|best| plan.arena_bytes < best.arena_bytes);
                if is_smaller && check(request.problem, &plan).is_valid() {
                    best = Some(plan);
                }
            }
            Err(SolveError::Stopped) => break,
            Err(SolveError::Unsupported { .. } | SolveError::UnknownStrategy { .. }) => {}
        }
    }
    let mut plan = best.ok_or(SolveError::Stopped)?;
    if let Some(smaller) = search(request, &plan) {
        n_tried += 1;
        plan = smaller;
    }
    plan.note = Some(explain(&plan, n_tried, &skipped, request));
    Ok(plan)
}

/// A plan by the exact search that is smaller than `plan` or proved smallest; `None` if that is not affordable, not
/// needed, or found nothing.
fn search(request: &Request<'_>, plan: &Plan) -> Option<Plan> {
    if plan.status == Status::Optimal || plan.arena_bytes <= request.bound_bytes || request.control.is_stopped() {
        return None;
    }
    let n_conflicts = Interference::new(request.problem).n_conflicts();
    if n_conflicts > MAX_EXACT_CONFLICTS {
        return None;
    }
    let found = exact::lower(request, plan, EXACT_EFFORT);
    let is_better = found.arena_bytes < plan.arena_bytes || found.status == Status::Optimal;
    (is_better && check(request.problem, &found).is_valid()).then_some(found)
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
    let skipped = if skipped.is_empty() { String::new() } else { format!("; {} left out because of the number of conflicts", skipped.join(", ")) };
    let stopped = if request.control.is_stopped() { ", stopped early" } else { "" };
    format!("{name}{detail} is the smallest of {n_tried} plans, {gap:.3} % above the lower bound{stopped}{skipped}")
}
