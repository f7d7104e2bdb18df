//! `exact`: branch and bound for the smallest arena, or for a plan within a capacity, with proofs.
//!
//! Problem: *minimum*, without a capacity: the smallest arena; *fit*, with one: a plan of at most that size, or the
//! proof that there is none.
//! Method: start from `lowest-floor`; take the problem apart (`instance.rs`); then many short searches
//! (`search.rs` on `state.rs`) by different orders with restarts (`portfolio.rs`), lower bound first (`leaf_search.rs`),
//! always in the part that defines the arena (`question.rs`). Dead ends are explained by the decisions that they follow
//! from (`explain.rs`): the search goes back to the deepest of those, and remembers them, also for later searches
//! (`nogoods.rs`). If nothing fits, deletion finds a set of buffers that cannot fit together ([`infeasible_core()`]).
//! Guarantee: valid; never larger than `lowest-floor`, whatever the limits; "optimal" and "infeasible" are proved.
//! Deterministic for a seed and a limit on nodes, whatever the number of threads.
//! Time: exponential in the worst case, limited by nodes; published hard instances of 150 to 450 buffers take
//! milliseconds. Space O(n + conflicts) per thread.
//! Source: MiniMalloc (Moffitt, DOI 10.1145/3623278.3624752) for sections, floors and orders; the support bump, the
//! regions, the explanations and the portfolio are the project's own; backjumps follow Prosser
//! (DOI 10.1111/j.1467-8640.1993.tb00310.x), nogoods Dechter (DOI 10.1016/0004-3702(90)90046-3).
//!
//! ```text
//! byte 4 |AAA.        lowest-floor puts A and C at 0, so B and D end at 6.
//!      2 |BBDD        A is refused at 0: it must rest on B. Height 4, the largest load: optimal.
//!      0 |..CC
//! ```

mod explain;
mod infeasible_core;
mod instance;
mod keys;
mod leaf_search;
mod nogoods;
mod pick;
mod portfolio;
mod question;
mod rules;
mod search;
mod state;
#[cfg(test)]
mod tests;
mod unit;

pub use infeasible_core::{InfeasibleCore, infeasible_core};

use portfolio::ARMS;
use question::{Answered, Limits, Question, answer};
use rules::Rules;

use super::{Request, SolveError, Strategy, StrategyKind, lowest_floor};
use crate::constraints::FeatureSet;
use crate::control::Progress;
use crate::interference::Interference;
use crate::plan::{Plan, Status};
use crate::problem::Problem;

pub(super) const STRATEGY: Strategy = Strategy {
    name: "exact",
    summary: "Searches for the smallest arena, or for a plan within the capacity, and proves what it finds.",
    source: "branch and bound on the placements of MiniMalloc, Moffitt 2023, DOI 10.1145/3623278.3624752",
    kind: StrategyKind::Offsets,
    is_safe: true,
    needs_graph: false,
    supports: FeatureSet::NONE,
    run,
};

/// Nodes times neighbours of an average buffer, without a limit from the caller; about 5 s.
const DEFAULT_EFFORT: u64 = 300_000_000;
/// Conflicts beyond which the search is not begun; its lists take 8 bytes for each.
const MAX_CONFLICTS: u64 = 10_000_000;
/// Nodes for the explanation when nothing fits, in total.
const CORE_MAX_NODES: u64 = 200_000;

fn run(request: &Request<'_>) -> Result<Plan, SolveError> {
    let start = request.run(&lowest_floor::STRATEGY)?;
    Ok(improve(request, &start, request.problem.capacity_bytes(), |n_conflicts| {
        request.options.max_nodes.unwrap_or_else(|| nodes(request.problem, n_conflicts, DEFAULT_EFFORT))
    }))
}

/// The smallest plan that a limited effort finds, starting from `start`; a capacity plays no role.
///
/// `effort` is nodes times neighbours of an average buffer; 50 million take about a second.
pub(super) fn lower(request: &Request<'_>, start: &Plan, effort: u64) -> Plan {
    improve(request, start, None, |n_conflicts| nodes(request.problem, n_conflicts, effort).min(request.options.max_nodes.unwrap_or(u64::MAX)))
}

/// The nodes that an effort is worth.
fn nodes(problem: &Problem, n_conflicts: u64, effort: u64) -> u64 {
    let n_buffers = problem.n_buffers() as u64;
    effort.saturating_mul(n_buffers) / (2 * n_conflicts + n_buffers).max(1)
}

fn improve(request: &Request<'_>, start: &Plan, capacity_bytes: Option<u64>, max_nodes: impl FnOnce(u64) -> u64) -> Plan {
    let problem = request.problem;
    let mut plan = Plan { strategy: STRATEGY.name.to_owned(), note: None, slots: None, status: Status::Feasible, ..start.clone() };
    let is_enough = plan.arena_bytes <= capacity_bytes.unwrap_or(request.bound_bytes);
    let n_conflicts = if is_enough { 0 } else { Interference::new(problem).n_conflicts() };
    if is_enough || n_conflicts > MAX_CONFLICTS {
        let why = if is_enough { "no search needed" } else { "too many conflicts to search" };
        plan.note = Some(format!("{why}; the plan is that of {}", start.strategy));
        if !is_enough && capacity_bytes.is_some() {
            plan.status = if capacity_bytes < Some(request.bound_bytes) { Status::Infeasible } else { Status::Limit };
        }
        return plan;
    }
    let max_nodes = max_nodes(n_conflicts);
    let should_stop = || request.control.is_stopped();
    let limits =
        Limits { max_nodes, seed: request.options.seed, threads: request.options.threads, arms: &ARMS, rules: Rules::ALL, should_stop: &should_stop };
    let improved = |offsets: &[u64], arena_bytes: u64| {
        let what = format!("exact search, {arena_bytes} bytes");
        request.control.report(Progress { what, fraction: None, best_arena_bytes: Some(arena_bytes) });
        request.control.improve(|| Plan::from_offsets(STRATEGY.name, problem, offsets.to_vec()));
    };
    let ids: Vec<_> = problem.ids().collect();
    let question = capacity_bytes.map_or(Question::Minimum, Question::Fit);
    let answered = answer(problem, &ids, &start.offsets, question, &limits, &improved);
    if answered.arena_bytes < plan.arena_bytes {
        plan = Plan::from_offsets(STRATEGY.name, problem, answered.offsets.clone());
    }
    judge(request, &mut plan, &answered, capacity_bytes);
    plan
}

/// Sets the status and the note of a plan from what was proved.
fn judge(request: &Request<'_>, plan: &mut Plan, answered: &Answered, capacity_bytes: Option<u64>) {
    let nodes = format!("{} nodes", answered.n_nodes);
    let is_smallest = plan.arena_bytes <= answered.bound_bytes;
    let (status, note) = match capacity_bytes {
        Some(capacity) if answered.bound_bytes > capacity => (Status::Infeasible, explain_infeasible(request, capacity, &nodes)),
        Some(capacity) if plan.arena_bytes > capacity => (Status::Limit, format!("no plan within the capacity found in {nodes}")),
        _ if is_smallest => (Status::Optimal, format!("proved smallest in {nodes}")),
        Some(_) => (Status::Feasible, format!("fits, found in {nodes}")),
        None => (Status::Feasible, format!("smallest found in {nodes}; no plan is below {} bytes", answered.bound_bytes)),
    };
    plan.status = status;
    plan.note = Some(note);
}

fn explain_infeasible(request: &Request<'_>, capacity: u64, nodes: &str) -> String {
    /// Buffers named in a note; more would not be read.
    const MAX_NAMED: usize = 12;
    let proof = format!("proved in {nodes} that nothing fits {capacity} bytes");
    let Some(core) = infeasible_core(request.problem, capacity, CORE_MAX_NODES, request.control) else { return proof };
    let named: Vec<String> = core.buffers.iter().take(MAX_NAMED).map(ToString::to_string).collect();
    let more = if core.buffers.len() > MAX_NAMED { ", …" } else { "" };
    let these = if core.is_irreducible {
        "these alone cannot fit together, and without any one of them they could"
    } else {
        "these alone cannot fit together"
    };
    format!("{proof}: {these}: {} buffers, {}{more}", core.buffers.len(), named.join(", "))
}

/// What the searches in tests and in [`infeasible_core`] need of a problem: does a subset fit?
fn fits(problem: &Problem, ids: &[crate::ids::BufferId], capacity_bytes: u64, limits: &Limits<'_>) -> (Option<bool>, u64) {
    let mut stacked = vec![0; problem.n_buffers()];
    let mut top = 0;
    for &id in ids {
        stacked[id.index()] = top;
        top += problem.buffer(id).bytes;
    }
    let answered = answer(problem, ids, &stacked, Question::Fit(capacity_bytes), limits, &|_, _| ());
    let verdict = if answered.bound_bytes > capacity_bytes { Some(false) } else { (answered.arena_bytes <= capacity_bytes).then_some(true) };
    (verdict, answered.n_nodes)
}
