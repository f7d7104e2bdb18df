//! `slots-by-birth`: the left-edge algorithm; uses exactly as many slots as the largest clique.
//!
//! Problem: colour the interference graph with as few slots as possible.
//! Method: walk the births in time order; a slot whose buffer is dead is free; take the free slot with the lowest
//! number, or open a new one.
//! Guarantee: valid, and optimal in the *number* of slots, because a new slot is opened only when all others hold a
//! buffer that is live at this step: interval graphs are perfect. Not optimal in bytes.
//! Time O(n log n), space O(n).
//! Source: Hashimoto and Stevens, "Wire routing by optimizing channel assignment within large apertures",
//! DOI 10.1145/800158.805069.
//!
//! ```text
//! slot 1 |.BBBB..     C finds slot 0 free, D too: two slots,
//! slot 0 |AAA.CDD     and at most two buffers are ever live
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::first_fit::by_birth;
use super::{Request, SolveError, Strategy, StrategyKind};
use crate::constraints::FeatureSet;
use crate::ids::SlotId;
use crate::plan::Plan;

pub(super) const STRATEGY: Strategy = Strategy {
    name: "slots-by-birth",
    summary: "In order of birth, each buffer takes the first free slot: the fewest slots possible.",
    source: "Hashimoto and Stevens 1971 (left edge), DOI 10.1145/800158.805069",
    kind: StrategyKind::Slots,
    is_safe: true,
    needs_graph: false,
    supports: FeatureSet::NONE,
    run,
};

fn run(request: &Request<'_>) -> Result<Plan, SolveError> {
    let problem = request.problem;
    let mut slots = vec![SlotId(0); problem.n_buffers()];
    let mut n_slots = 0;
    let mut free: BinaryHeap<Reverse<SlotId>> = BinaryHeap::new();
    let mut busy: BinaryHeap<Reverse<(u64, SlotId)>> = BinaryHeap::new();
    for (turn, index) in by_birth(problem).into_iter().enumerate() {
        request.keep_going(turn)?;
        let lifetime = problem.buffers()[index].lifetime;
        while let Some(&Reverse((death, slot))) = busy.peek()
            && death <= lifetime.start
        {
            busy.pop();
            free.push(Reverse(slot));
        }
        let slot = free.pop().map_or_else(
            || {
                n_slots += 1;
                SlotId::new(n_slots - 1)
            },
            |Reverse(slot)| slot,
        );
        busy.push(Reverse((lifetime.end, slot)));
        slots[index] = slot;
    }
    Ok(Plan::from_slots(STRATEGY.name, problem, slots))
}
