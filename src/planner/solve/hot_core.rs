//! `hot-core`: plan the crowded steps first, then fit everything else around them.
//!
//! Problem: place buffers without overlaps in a small arena, when few of many steps are near the lower bound.
//! Method: take the buffers that live in a section whose load is at least a share of the bound; plan that core alone
//! with [`super::lowest_floor`]; then place all others, largest first, at their lowest free offset. Try several
//! shares and keep the best.
//! Guarantee: valid; no bound on the arena. Reaches the bound on large graphs where one pass over everything does
//! not, because the orders see only what matters.
//! Time: that of `lowest-floor` on the core and of `greedy-size` on the rest, per share; space O(n).
//! Source: the project's own.
//!
//! ```text
//! load  3 9 9 4 2       share 0.9 of the bound 9: sections 1 and 2 are hot;
//!       . # # . .       whoever lives there is the core, the rest fills the gaps
//! ```

use super::greedy_size::{Filling, by_size};
use super::lowest_floor::best_of_orders;
use super::passes::{Crew, Looks};
use super::sections::{Part, parts};
use super::{Request, SolveError, Strategy, StrategyKind};
use crate::constraints::{Feature, FeatureSet};
use crate::ids::BufferId;
use crate::plan::Plan;
use crate::problem::Problem;

pub(super) const STRATEGY: Strategy = Strategy {
    name: "hot-core",
    summary: "Plans the buffers of the crowded steps first and fits all others around them.",
    source: "the project's own, on top of lowest-floor and greedy-size",
    kind: StrategyKind::Offsets,
    is_safe: true,
    needs_graph: false,
    supports: FeatureSet::of(&[Feature::Pools]),
    run,
};

/// Orders for the core; T with a measure of sections wins on large real graphs.
const ORDERS: [&str; 14] = ["TC", "TKW", "LW", "TL", "TWA", "TAW", "OZ", "WAT", "TZ", "Z", "U", "UZ", "UW", "TLW"];

/// Shares of the bound in per cent; no single one is safe (measured on the PanGu and S_1 instances).
const SHARES_PERCENT: [u64; 4] = [90, 95, 85, 80];

/// Looks at floors after which no core gets more than one order; one to three seconds.
const LOOK_BUDGET: u64 = 30_000_000;

fn run(request: &Request<'_>) -> Result<Plan, SolveError> {
    let problem = request.problem;
    let whole = parts(problem, problem.ids().collect());
    let by_size = by_size(problem);
    let mut looks = Looks { left: LOOK_BUDGET };
    let mut best: Option<Plan> = None;
    for share in SHARES_PERCENT {
        if best.as_ref().is_some_and(|best| best.arena_bytes <= request.bound_bytes) {
            break;
        }
        let core = core(problem, &whole, request.bound_bytes / 100 * share);
        let below = best.as_ref().map_or(u64::MAX, |best| best.arena_bytes);
        match plan_around(request, core, &by_size, below, &mut looks) {
            Ok(Some(offsets)) => {
                let mut plan = Plan::from_offsets(STRATEGY.name, problem, offsets);
                plan.note = Some(format!("core: steps with at least {share} % of the lower bound"));
                best = Some(plan);
            }
            Ok(None) => {}
            Err(stopped) => return best.ok_or(stopped),
        }
    }
    best.ok_or(SolveError::Stopped)
}

/// The buffers that live in a section with at least `hot_bytes`.
fn core(problem: &Problem, whole: &[Part], hot_bytes: u64) -> Vec<BufferId> {
    let mut core = Vec::with_capacity(problem.n_buffers());
    for part in whole {
        let mut n_hot = vec![0_u32; part.load.len() + 1];
        for (section, &load) in part.load.iter().enumerate() {
            n_hot[section + 1] = n_hot[section] + u32::from(load >= hot_bytes);
        }
        let is_hot = |item: usize| n_hot[part.range(item).1] > n_hot[part.range(item).0];
        core.extend((0..part.n_items()).filter(|&item| is_hot(item)).map(|item| part.ids[item]));
    }
    core
}

/// Plans the core, then the rest; `None` if that does not end below `below`.
fn plan_around(
    request: &Request<'_>,
    core: Vec<BufferId>,
    by_size: &[BufferId],
    below: u64,
    looks: &mut Looks,
) -> Result<Option<Vec<u64>>, SolveError> {
    let problem = request.problem;
    let mut filling = Filling::new(problem);
    let mut is_placed = vec![false; problem.n_buffers()];
    for part in parts(problem, core) {
        let placed = best_of_orders(&part, &ORDERS, request.bound_bytes, looks, Crew::of(request)).ok_or(SolveError::Stopped)?;
        if placed.bytes >= below {
            return Ok(None);
        }
        for (&id, &offset) in part.ids.iter().zip(&placed.offsets) {
            filling.place_at(id, offset);
            is_placed[id.index()] = true;
        }
    }
    let rest = by_size.iter().copied().filter(|id| !is_placed[id.index()]);
    let highest = filling.place_all(request, rest, Filling::place_lowest, below)?;
    Ok(highest.map(|_| filling.offsets))
}
