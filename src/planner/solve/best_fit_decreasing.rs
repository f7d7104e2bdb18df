//! `best-fit-decreasing`: three orders, each buffer in the smallest hole that is large enough; the best order is kept.
//!
//! Problem: place buffers without overlaps in a small arena.
//! Method: sort by size, then by size times length of the lifetime, then by length ("temporal"), larger first; place
//! each buffer in the tightest gap between the buffers placed before that are live together with it, the lowest one
//! on ties, and above all of them if no gap is large enough. An order ends as soon as it is no better than the best
//! one so far; the first plan at the lower bound ends all. The note names the key that won.
//! Guarantee: valid; no bound on the arena. A tight gap is not always a good one: the smallest hole can cut a larger
//! one that the next buffer needed.
//! Time O(conflicts · log live) per key, space O(n). Refuses more than 2·10^8 conflicts.
//! Source: XLA, `xla/service/heap_simulator/heap_simulator.cc`, global decreasing size best fit with its spatial and
//! temporal orders; size times time is the third order that its users pass in.
//!
//! ```text
//! byte 5 |..B...     A gap of 3 bytes and one of 1 are free while C lives:
//!      3 |.CBAA.     C (1 byte) takes the gap of 1, where first fit
//!      0 |...AA.     would have cut the gap of 3
//! ```

use std::cmp::Reverse;

use super::greedy_size::Filling;
use super::{Request, SolveError, Strategy, StrategyKind};
use crate::constraints::FeatureSet;
use crate::ids::BufferId;
use crate::plan::Plan;
use crate::problem::Buffer;

pub(super) const STRATEGY: Strategy = Strategy {
    name: "best-fit-decreasing",
    summary: "By size, size times time, or time, each buffer in the smallest hole that is large enough; the best is kept.",
    source: "XLA, xla/service/heap_simulator/heap_simulator.cc",
    kind: StrategyKind::Offsets,
    is_safe: true,
    needs_graph: false,
    supports: FeatureSet::NONE,
    run,
};

/// Conflicts beyond which the keys take more than about twenty seconds; measured.
const MAX_CONFLICTS: u64 = 200_000_000;

/// What comes first in an order, and what decides ties.
type Key = fn(&Buffer) -> (u128, u64);

const KEYS: [(&str, Key); 3] = [
    ("size", |buffer| (u128::from(buffer.bytes), buffer.lifetime.n_steps())),
    ("size × time", |buffer| (u128::from(buffer.bytes) * u128::from(buffer.lifetime.n_steps()), buffer.bytes)),
    ("time", |buffer| (u128::from(buffer.lifetime.n_steps()), buffer.bytes)),
];

fn run(request: &Request<'_>) -> Result<Plan, SolveError> {
    request.afford(&STRATEGY, MAX_CONFLICTS, "it looks at every conflict three times, and there are more than 200,000,000")?;
    let mut best: Option<Plan> = None;
    for (name, key) in KEYS {
        let below = best.as_ref().map_or(u64::MAX, |best| best.arena_bytes);
        if below <= request.bound_bytes {
            break;
        }
        match place_all(request, key, below) {
            Ok(Some(offsets)) => {
                let mut plan = Plan::from_offsets(STRATEGY.name, request.problem, offsets);
                plan.note = Some(format!("by {name}"));
                best = Some(plan);
            }
            Ok(None) => {}
            Err(stopped) => return best.ok_or(stopped),
        }
    }
    best.ok_or(SolveError::Stopped)
}

/// Offsets in one order; `None` if the arena does not end below `below`.
fn place_all(request: &Request<'_>, key: Key, below: u64) -> Result<Option<Vec<u64>>, SolveError> {
    let problem = request.problem;
    let mut order: Vec<BufferId> = problem.ids().collect();
    order.sort_by_cached_key(|&id| (Reverse(key(problem.buffer(id))), id));
    let mut filling = Filling::new(problem);
    let highest = filling.place_all(request, order, Filling::place_tightest, below)?;
    Ok(highest.map(|_| filling.offsets))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;
    use crate::solve::{SolveOptions, solve};
    use crate::testing::random_problem;

    fn plan(name: &str, problem: &crate::problem::Problem) -> Plan {
        solve(name, problem, None, &SolveOptions::default(), &Control::unattended()).expect("a plan")
    }

    #[test]
    fn every_key_wins_somewhere_and_the_tightest_hole_beats_the_lowest_one() {
        let mut winners = [false; KEYS.len()];
        let mut beats_lowest = false;
        for seed in 0..2_000 {
            let problem = random_problem(seed, 60);
            let best = plan("best-fit-decreasing", &problem);
            for (won, (name, _)) in winners.iter_mut().zip(KEYS) {
                *won |= best.note.as_deref() == Some(&format!("by {name}"));
            }
            beats_lowest |= best.note.as_deref() == Some("by size") && best.arena_bytes < plan("greedy-size", &problem).arena_bytes;
        }
        assert_eq!((winners, beats_lowest), ([true; 3], true));
    }
}
