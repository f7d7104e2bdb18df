//! `article-printed`: unsafe, for teaching; a well-known first sketch of a planner, as printed.
//!
//! Problem: place buffers without overlaps; this code does not.
//! Method: by birth; collect the *start offsets* of the buffers placed before whose lifetime meets this one; try 0,
//! 64 KiB, 128 KiB … until the candidate is not *equal* to one of those starts.
//! Guarantee: none. Two ranges with different starts still overlap when the first one is longer than the step, so
//! every buffer above 64 KiB is in danger. `first-fit` with an alignment of 64 KiB is the same idea done right.
//! Time O(n · live buffers), space O(n).
//! Source: the sketch of offset assignment that introductions to compiler memory planning print.
//!
//! ```text
//! byte 8 MiB |.BBB        A (4 MiB) is put at 0; B (8 MiB) tries 0, which is taken,
//!            |xxBB        then 64 KiB, which is not the *start* of anything:
//!          0 |AA..        the two overlap in almost all of A
//! ```

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::{Request, SolveError, Strategy, StrategyKind};
use crate::constraints::FeatureSet;
use crate::ids::BufferId;
use crate::plan::Plan;

/// The step between two candidates, bytes; from the printed code.
const STEP_BYTES: u64 = 64 << 10;

pub(super) const STRATEGY: Strategy = Strategy {
    name: "article-printed",
    summary: "Unsafe, for teaching: compares start offsets instead of ranges, so that buffers overlap.",
    source: "the sketch that introductions to memory planning print",
    kind: StrategyKind::Offsets,
    is_safe: false,
    needs_graph: false,
    supports: FeatureSet::NONE,
    run,
};

fn run(request: &Request<'_>) -> Result<Plan, SolveError> {
    let problem = request.problem;
    let mut order: Vec<BufferId> = problem.ids().collect();
    order.sort_unstable_by_key(|&id| (problem.buffer(id).lifetime.start, id));
    let mut offsets = vec![0; problem.n_buffers()];
    let mut deaths: BinaryHeap<Reverse<(u64, u64)>> = BinaryHeap::new();
    let mut live_starts: BTreeMap<u64, usize> = BTreeMap::new();
    for (turn, id) in order.into_iter().enumerate() {
        request.keep_going(turn)?;
        let lifetime = problem.buffer(id).lifetime;
        while let Some(&Reverse((death, start))) = deaths.peek()
            && death <= lifetime.start
        {
            deaths.pop();
            let count = live_starts.entry(start).or_default();
            *count -= 1;
            if *count == 0 {
                live_starts.remove(&start);
            }
        }
        let mut candidate = 0;
        for &start in live_starts.keys() {
            if start != candidate {
                break;
            }
            candidate += STEP_BYTES;
        }
        *live_starts.entry(candidate).or_default() += 1;
        deaths.push(Reverse((lifetime.end, candidate)));
        offsets[id.index()] = candidate;
    }
    let mut plan = Plan::from_offsets(STRATEGY.name, problem, offsets);
    plan.note = Some("unsafe, for teaching: only start offsets are compared, so ranges overlap".to_owned());
    Ok(plan)
}
