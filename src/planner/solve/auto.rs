//! `auto`: the smallest checked plan of the strategies that fit the size of the problem.
//!
//! Problem: which strategy is best depends on the graph.
//! Method: run the safe strategies, best first by experience; check every plan; keep the smallest, the earlier one on
//! ties; stop at the lower bound. Strategies whose time grows with the number of conflicts are left out beyond a
//! limit, and the note says so.
//! Guarantee: valid, never larger than any strategy it ran, the same every time.
//! Time and space: the sum of the times and the largest of the spaces of what it runs.
//! Source: MindSpore SOMAS runs all its combinations and keeps the best in the same way.
//!
//! ```text
//! lowest-floor 112   hot-core 108   greedy-size 110   ->  hot-core 108
//! ```

use super::{Request, SolveError, find_strategy};
use crate::check::check;
use crate::control::Progress;
use crate::interference::n_conflicts;
use crate::plan::{Plan, Status};

/// What is tried, in this order, and the number of conflicts beyond which it is left out: ten to thirty seconds each.
const CANDIDATES: [(&str, u64); 7] = [
    ("lowest-floor", 1_000_000_000),
    ("hot-core", 100_000_000),
    ("greedy-size", 200_000_000),
    ("first-fit", 10_000_000_000),
    ("slots-by-size", 1_000_000_000),
    ("slots-by-birth", u64::MAX),
    ("refcount", u64::MAX),
];

pub(super) fn run(request: &Request<'_>) -> Result<Plan, SolveError> {
    // With rules beyond sizes and lifetimes, rectangles are looked at one by one.
    let n_conflicts = n_conflicts(request.problem).saturating_mul(if request.problem.constraints().is_some() { 10 } else { 1 });
    let mut best: Option<Plan> = None;
    let mut n_tried = 0;
    let mut skipped: Vec<&str> = Vec::new();
    let mut unable: Vec<&str> = Vec::new();
    // Where rules force buffers apart, even a plan that shares nothing can be the smallest.
    let last = request.problem.constraints().map(|_| ("naive", u64::MAX));
    for (name, max_conflicts) in CANDIDATES.into_iter().chain(last) {
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
    let unable = if unable.is_empty() { String::new() } else { format!("; {} cannot honour all rules of the problem", unable.join(", ")) };
    plan.note = Some(explain(&plan, n_tried, &skipped, request) + &unable);
    Ok(plan)
}

/// One sentence about the choice.
fn explain(plan: &Plan, n_tried: usize, skipped: &[&str], request: &Request<'_>) -> String {
    let name = &plan.strategy;
    let detail = plan.note.as_ref().map_or_else(String::new, |note| format!(" ({note})"));
    if plan.status == Status::Optimal {
        return format!("{name}{detail} reaches the lower bound, so no plan can be smaller");
    }
    let gap = (plan.arena_bytes as f64 / request.bound_bytes as f64 - 1.0) * 100.0;
    let skipped = if skipped.is_empty() { String::new() } else { format!("; too many conflicts for {}", skipped.join(", ")) };
    let stopped = if request.control.is_stopped() { ", stopped early" } else { "" };
    format!("{name}{detail} is the smallest of {n_tried} plans, {gap:.3} % above the lower bound{stopped}{skipped}")
}
