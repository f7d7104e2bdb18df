//! `greedy-breadth`: the most crowded step first, its buffers by size into the slots that suit them best.
//!
//! Problem: few bytes in slots, where a slot is as large as its largest buffer.
//! Method: the breadth of a step is the sum of the sizes live there. Go through the steps, the broadest first, and at
//! each through the buffers that live there and have no slot yet, larger first. A buffer takes the smallest free slot
//! that is large enough, else the largest free one, which grows, else a new one; free means that nobody in it is live
//! together with the buffer. Only maximal steps matter ([`super::sections`]): another one is narrower than a step
//! that holds all its buffers, so its turn comes when all have a slot.
//! Guarantee: valid; neither the number of slots nor the bytes are the fewest possible.
//! Time O(conflicts + n · slots), space O(n). Refuses more than 2·10^8 conflicts.
//! Source: TensorFlow Lite,
//! `tensorflow/lite/delegates/gpu/common/memory_management/greedy_by_breadth_assignment.cc`; Pisarchyk and Lee, DOI
//! 10.48550/arXiv.2001.03288 ("shared objects, greedy by breadth").
//!
//! ```text
//! breadth  4 7 5       step 1 is the broadest: B (4 bytes) opens slot 0, A (3) slot 1;
//! slot 1  |AA..        C (5) is free to follow B in slot 0, which grows to 5
//! slot 0  |.BCC
//! ```

use std::cmp::Reverse;

use super::sections::{Part, parts};
use super::skyline::Skyline;
use super::{Request, SolveError, Strategy, StrategyKind};
use crate::constraints::FeatureSet;
use crate::ids::{BufferId, SlotId};
use crate::interval_index::IntervalIndex;
use crate::plan::Plan;
use crate::problem::Problem;

pub(super) const STRATEGY: Strategy = Strategy {
    name: "greedy-breadth",
    summary: "The most crowded step first, its buffers by size into the slots that suit them best.",
    source: "TensorFlow Lite, greedy_by_breadth_assignment.cc; Pisarchyk and Lee 2020, DOI 10.48550/arXiv.2001.03288",
    kind: StrategyKind::Slots,
    is_safe: true,
    needs_graph: false,
    supports: FeatureSet::NONE,
    run,
};

/// Conflicts beyond which it takes more than two to ten seconds, by the number of slots; measured.
const MAX_CONFLICTS: u64 = 200_000_000;

fn run(request: &Request<'_>) -> Result<Plan, SolveError> {
    request.afford(&STRATEGY, MAX_CONFLICTS, "it looks at every conflict, and there are more than 200,000,000")?;
    let problem = request.problem;
    let mut index = IntervalIndex::empty(problem);
    let mut slots = vec![SlotId(0); problem.n_buffers()];
    let mut slot_bytes: Vec<u64> = Vec::new();
    // The turn in which a slot was last seen taken; turns count from 1.
    let mut taken_in: Vec<usize> = Vec::new();
    for (turn, id) in (1_usize..).zip(by_breadth(problem)) {
        request.keep_going(turn)?;
        let buffer = problem.buffer(id);
        index.visit_live(buffer.lifetime, |other| {
            taken_in[slots[other.index()].index()] = turn;
            true
        });
        let free = (0..slot_bytes.len()).filter(|&slot| taken_in[slot] != turn);
        let slot = free.min_by_key(|&slot| fit(slot_bytes[slot], buffer.bytes)).unwrap_or(slot_bytes.len());
        if slot == slot_bytes.len() {
            slot_bytes.push(0);
            taken_in.push(0);
        }
        slot_bytes[slot] = slot_bytes[slot].max(buffer.bytes);
        slots[id.index()] = SlotId::new(slot);
        index.insert(id, buffer.lifetime.end);
    }
    Ok(Plan::from_slots(STRATEGY.name, problem, slots))
}

/// How badly a slot suits a buffer: first those that are large enough, by what they waste; then by what they lack.
fn fit(slot_bytes: u64, bytes: u64) -> (bool, u64) {
    (slot_bytes < bytes, slot_bytes.abs_diff(bytes))
}

/// Buffers by the broadest step that they live in, the earliest on ties; then by size, larger first; then by id.
fn by_breadth(problem: &Problem) -> Vec<BufferId> {
    let parts = parts(problem, problem.ids().collect());
    let mut sections: Vec<(Reverse<u64>, usize, usize)> = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        sections.extend(part.load.iter().enumerate().map(|(section, &load)| (Reverse(load), at, section)));
    }
    sections.sort_unstable();
    let mut urgency: Vec<Vec<u64>> = parts.iter().map(|part| vec![0; part.load.len()]).collect();
    for (before_end, &(_, part, section)) in (1..=sections.len() as u64).rev().zip(&sections) {
        urgency[part][section] = before_end;
    }
    let mut order: Vec<(Reverse<u64>, Reverse<u64>, BufferId)> = Vec::with_capacity(problem.n_buffers());
    for (part, urgency) in parts.iter().zip(&urgency) {
        let urgency = Skyline::from_heights(urgency);
        let key = |item: usize| (Reverse(most_urgent(part, item, &urgency)), Reverse(part.bytes[item]), part.ids[item]);
        order.extend((0..part.n_items()).map(key));
    }
    order.sort_unstable();
    order.into_iter().map(|(_, _, id)| id).collect()
}

fn most_urgent(part: &Part, item: usize, urgency: &Skyline) -> u64 {
    let (from, to) = part.range(item);
    urgency.max(from, to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;
    use crate::lifetimes::Lifetime;
    use crate::solve::{SolveOptions, solve};
    use crate::testing::random_problem;
    use crate::units::Align;

    #[test]
    fn the_broadest_step_goes_first_and_slots_grow() {
        let life = |start, end| Lifetime { start, end };
        let problem = Problem::new([(3, life(0, 2)), (4, life(1, 2)), (5, life(2, 4))], Align::ONE).expect("a valid problem");
        let plan = solve("greedy-breadth", &problem, None, &SolveOptions::default(), &Control::unattended()).expect("a plan");
        assert_eq!((plan.slots, plan.arena_bytes), (Some(vec![SlotId(1), SlotId(0), SlotId(0)]), 8));
    }

    #[test]
    fn the_order_is_that_of_going_through_the_steps_one_by_one() {
        for seed in 0..200 {
            let problem = random_problem(seed, 40);
            let span = problem.span();
            let live = |step: u64| problem.ids().filter(|&id| problem.buffer(id).lifetime.contains(step)).collect::<Vec<_>>();
            let breadth = |step: &u64| Reverse(live(*step).into_iter().map(|id| problem.buffer(id).bytes).sum::<u64>());
            let mut steps: Vec<u64> = (span.start..span.end).collect();
            steps.sort_by_key(breadth);
            let mut order: Vec<BufferId> = Vec::new();
            for step in steps {
                let mut profile: Vec<BufferId> = live(step).into_iter().filter(|id| !order.contains(id)).collect();
                profile.sort_by_key(|&id| (Reverse(problem.buffer(id).bytes), id));
                order.extend(profile);
            }
            assert_eq!(by_breadth(&problem), order, "seed {seed}");
        }
    }
}
