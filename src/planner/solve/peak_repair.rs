//! `peak-repair`: lowers the best plan of one pass by moving what makes its peak.
//!
//! Problem: place buffers without overlaps in a small arena, when there are too many of them for the exact search.
//! Method: start from the smallest plan of `lowest-floor`, `hot-core`, `greedy-size` and `first-fit`, as far as these
//! are affordable. Take the highest part that can be planned alone and lower it ([`super::repair`]), then the next one,
//! as far as the highest that could not be lowered; parts at the lower bound are left alone.
//! Guarantee: valid, never larger than its start; no bound on the arena. Deterministic for a seed and an effort.
//! Time: its starts, and one to two seconds if they do not reach the bound. Space O(n), no conflict is stored.
//! Source: the project's own; see [`super::repair`].
//!
//! ```text
//! part      1    2    3       bound 88
//! height   90  100   85       lower part 2 to 88 if possible; if it stays at 93, part 1 can stay as it is
//! ```

use super::auto::STARTS;
use super::repair::{Aim, repair};
use super::sections::{Part, parts};
use super::{Request, SolveError, Strategy, StrategyKind, find_strategy};
use crate::constraints::{Feature, FeatureSet};
use crate::control::Progress;
use crate::plan::{Plan, Status};
use crate::problem::Problem;

pub(super) const STRATEGY: Strategy = Strategy {
    name: "peak-repair",
    summary: "Lowers the best plan of one pass by exchanges on the chains below its top and by planning small windows anew.",
    source: "the project's own; exchanges as in job shops, van Laarhoven 1992, DOI 10.1287/opre.40.1.113",
    kind: StrategyKind::Offsets,
    is_safe: true,
    needs_graph: false,
    supports: FeatureSet::of(&[Feature::Pools]),
    run,
};

/// Items stacked or nodes, without a limit from the caller: in all, one to two seconds; and for each buffer.
const DEFAULT_EFFORT: (u64, u64) = (14_000_000, 10_000);

fn run(request: &Request<'_>) -> Result<Plan, SolveError> {
    let mut start: Option<Plan> = None;
    for (name, max_conflicts) in STARTS {
        let below = start.as_ref().map_or(u64::MAX, |plan| plan.arena_bytes);
        if below <= request.bound_bytes || (start.is_some() && request.n_conflicts() > max_conflicts) {
            continue;
        }
        let Some(strategy) = find_strategy(name) else { continue };
        match request.run(strategy) {
            Ok(plan) if plan.arena_bytes < below => start = Some(plan),
            Ok(_) => {}
            Err(error) => return start.map(|plan| named(&plan)).ok_or(error),
        }
    }
    let start = start.ok_or(SolveError::Stopped)?;
    Ok(lower(request, &start, request.options.max_nodes.unwrap_or_else(|| default_effort(request.problem))))
}

fn default_effort(problem: &Problem) -> u64 {
    DEFAULT_EFFORT.0.min(DEFAULT_EFFORT.1 * problem.n_buffers() as u64)
}

/// The start as a plan of this strategy.
fn named(start: &Plan) -> Plan {
    let note = Some(format!("the plan is that of {}", start.strategy));
    Plan { strategy: STRATEGY.name.to_owned(), note, slots: None, ..start.clone() }
}

/// The smallest plan that an effort finds, starting from a valid one; its own status and note.
///
/// [`u64::MAX`] means until the caller stops it.
pub(super) fn lower(request: &Request<'_>, start: &Plan, effort: u64) -> Plan {
    if start.arena_bytes <= request.bound_bytes {
        return named(start);
    }
    let problem = request.problem;
    let mut offsets = start.offsets.clone();
    let mut seed = request.options.seed;
    // What a repair tolerates shrinks as its effort is used up, so that one without an end would never settle: each
    // round goes on from the best with another seed and twice the effort.
    let mut round = if effort == u64::MAX { default_effort(problem) } else { effort };
    loop {
        let arena_bytes = lower_parts(request, &mut offsets, seed, round);
        if effort != u64::MAX || arena_bytes <= request.bound_bytes || request.control.is_stopped() {
            break;
        }
        (seed, round) = (seed.wrapping_add(1), round.saturating_mul(2));
    }
    let plan = Plan::from_offsets(STRATEGY.name, problem, offsets);
    if plan.arena_bytes >= start.arena_bytes {
        return named(start);
    }
    let note = format!("{} bytes below {}", start.arena_bytes - plan.arena_bytes, start.strategy);
    let status = if plan.arena_bytes == request.bound_bytes { Status::Optimal } else { plan.status };
    Plan { note: Some(note), status, ..plan }
}

/// Lowers the parts, highest first, as far as an effort goes; the arena.
fn lower_parts(request: &Request<'_>, offsets: &mut Vec<u64>, seed: u64, mut effort: u64) -> u64 {
    let problem = request.problem;
    let mut parts = parts(problem, problem.ids().collect());
    let top = |part: &Part, offsets: &[u64]| part.ids.iter().map(|&id| offsets[id.index()] + problem.buffer(id).bytes).max().unwrap_or(0);
    parts.sort_by_key(|part| std::cmp::Reverse(top(part, offsets)));
    // What the parts so far need: there is no use in the others being lower.
    let mut goal = request.bound_bytes;
    for (at, part) in parts.iter().enumerate() {
        let rest = parts.get(at + 1).map_or(0, |next| top(next, offsets));
        let mine: Vec<u64> = part.ids.iter().map(|id| offsets[id.index()]).collect();
        let lowered = |lower: &[u64], height: u64| {
            let arena_bytes = height.max(rest).max(goal);
            request.control.report(Progress {
                what: format!("peak repair, {arena_bytes} bytes"),
                fraction: None,
                best_arena_bytes: Some(arena_bytes),
            });
            request.control.improve(|| Plan::from_offsets(STRATEGY.name, problem, with(part, offsets, lower)));
        };
        let aim = Aim { goal, seed, effort, control: request.control, lowered: &lowered };
        let (better, spent) = repair(part, &mine, &aim);
        effort -= spent.min(effort);
        if let Some(better) = better {
            *offsets = with(part, offsets, &better);
        }
        goal = goal.max(top(part, offsets));
    }
    parts.iter().map(|part| top(part, offsets)).max().unwrap_or(0)
}

/// Offsets by buffer, those of a part replaced.
fn with(part: &Part, offsets: &[u64], of_part: &[u64]) -> Vec<u64> {
    let mut offsets = offsets.to_vec();
    for (&id, &offset) in part.ids.iter().zip(of_part) {
        offsets[id.index()] = offset;
    }
    offsets
}
