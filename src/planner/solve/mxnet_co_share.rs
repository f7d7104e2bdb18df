//! `mxnet-co-share`: as `mxnet`, but the longest path shares only with itself, so that branches can run in parallel.
//!
//! Problem: a slot that one branch takes over from another makes the second wait for the first.
//! Method: colour the ops: those of the longest path of the graph get one colour, all others the second. A slot is
//! reused only by an op of the colour of the op that released it; all else is [`super::mxnet`].
//! Guarantee: valid; no bound on the bytes. No slot makes an op of the longest path wait for one beside it, or the
//! other way round; ops beside the path may still wait for each other.
//! Time O((reads + n) log n + free slots of the other colour), space O(n + ops).
//! Source: MXNet, `src/nnvm/graph_algorithm.h` (the colouring) and `src/nnvm/plan_memory.cc`, with two colours, the
//! fewest that make a difference.
//!
//! ```text
//! x - A1 - A2 - A3 - A8      longest path: A1 A2 A3 A8, colour 0
//!      \- A5 - A6 -/         A5 A6: colour 1, never in a slot that A2 or A3 released
//! ```

use super::mxnet::reuse_slots;
use super::{Request, SolveError, Strategy, StrategyKind};
use crate::constraints::FeatureSet;
use crate::ids::OpId;
use crate::plan::Plan;
use crate::prepare::GraphContext;

pub(super) const STRATEGY: Strategy = Strategy {
    name: "mxnet-co-share",
    summary: "As mxnet, but the longest path reuses only its own slots, so that branches do not wait for each other.",
    source: "MXNet, src/nnvm/graph_algorithm.h and src/nnvm/plan_memory.cc",
    kind: StrategyKind::Slots,
    is_safe: true,
    needs_graph: true,
    supports: FeatureSet::NONE,
    run,
};

fn run(request: &Request<'_>) -> Result<Plan, SolveError> {
    let colours = request.context.map_or_else(Vec::new, longest_path_or_not);
    let slots = reuse_slots(request, &STRATEGY, &colours)?;
    Ok(Plan::from_slots(STRATEGY.name, request.problem, slots))
}

/// 0 for the ops of one longest path, 1 for the others, by op id. Time O(reads).
fn longest_path_or_not(context: &GraphContext) -> Vec<u32> {
    let graph = &context.graph;
    // Ops on the longest path that ends here, and the op before this one on it.
    let mut best: Vec<(usize, Option<OpId>)> = vec![(0, None); graph.ops().len()];
    for &id in context.schedule.order() {
        let before = graph.op(id).inputs.iter().filter_map(|&input| graph.producer(input));
        let longest = before.map(|op| (best[op.index()].0, std::cmp::Reverse(op))).max();
        best[id.index()] = longest.map_or((1, None), |(n_ops, op)| (n_ops + 1, Some(op.0)));
    }
    let mut at = graph.op_ids().max_by_key(|&op| (best[op.index()].0, std::cmp::Reverse(op)));
    let mut colours = vec![1; best.len()];
    while let Some(op) = at {
        colours[op.index()] = 0;
        at = best[op.index()].1;
    }
    colours
}
