//! `slots-by-size`: the largest buffer first, in the first slot that nobody needs meanwhile.
//!
//! Problem: few bytes in slots, where a slot is as large as its largest buffer.
//! Method: by size, larger first; a buffer never makes its slot larger, so take the first slot without a buffer that
//! is live at the same time, or open a new one.
//! Guarantee: valid; neither the number of slots nor the bytes are the fewest possible.
//! Time O(conflicts), space O(n); no edge is stored.
//! Source: Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference" ("shared objects, greedy by
//! size"), DOI 10.48550/arXiv.2001.03288.
//!
//! ```text
//! slot 1 |.BBB.      A (4 bytes) opens slot 0; B (3) meets A and opens slot 1;
//! slot 0 |AA.CC      C (1) meets only B and moves into slot 0, which stays at 4
//! ```

use super::greedy_size::by_size;
use super::{Request, SolveError, Strategy, StrategyKind};
use crate::constraints::FeatureSet;
use crate::ids::SlotId;
use crate::interval_index::IntervalIndex;
use crate::plan::Plan;

pub(super) const STRATEGY: Strategy = Strategy {
    name: "slots-by-size",
    summary: "Largest buffer first, each in the first slot that no live buffer holds.",
    source: "Pisarchyk and Lee 2020, DOI 10.48550/arXiv.2001.03288",
    kind: StrategyKind::Slots,
    is_safe: true,
    needs_graph: false,
    supports: FeatureSet::NONE,
    run,
};

fn run(request: &Request<'_>) -> Result<Plan, SolveError> {
    let problem = request.problem;
    let mut index = IntervalIndex::empty(problem);
    let mut slots = vec![SlotId(0); problem.n_buffers()];
    // The turn in which a slot was last seen taken; turns count from 1.
    let mut taken_in: Vec<usize> = Vec::new();
    for (turn, id) in (1_usize..).zip(by_size(problem)) {
        request.keep_going(turn)?;
        let lifetime = problem.buffer(id).lifetime;
        index.visit_live(lifetime, |other| {
            taken_in[slots[other.index()].index()] = turn;
            true
        });
        if let Some(kept_apart) = problem.kept_apart() {
            for other in kept_apart.of(id).filter(|&other| index.contains(other)) {
                taken_in[slots[other.index()].index()] = turn;
            }
        }
        let slot = taken_in.iter().position(|&taken| taken != turn).unwrap_or(taken_in.len());
        if slot == taken_in.len() {
            taken_in.push(0);
        }
        slots[id.index()] = SlotId::new(slot);
        index.insert(id, lifetime.end);
    }
    Ok(Plan::from_slots(STRATEGY.name, problem, slots))
}
