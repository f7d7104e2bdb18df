//! The order that a plan adds to a graph: ops that must wait for each other only because their buffers share bytes.
//!
//! Problem: memory saved is parallelism lost; say how much.
//! Method: walk the births in time order and keep who held each byte last. A new buffer makes the ops that begin it
//! wait for all ops that read the buffers it replaces; earlier holders are waited for through those. An op that
//! writes in place waits for all that read its input before. Pairs that the graph orders anyway are left out, by a
//! search back from the waiting op that ends at the step of the op it waits for.
//! Guarantee: the graph with these edges forbids exactly the runs that the plan forbids; edges that follow from other
//! added ones through a third buffer are not listed.
//! Time O(n log n + pairs + the steps searched back, at most [`MAX_LOOKS`]), space O(n + pairs).
//! Source: the project's own; the anti-dependencies of register allocation (Pinter 1993, DOI 10.1145/155090.155114).
//!
//! ```text
//! a -> b        e takes b's bytes after c has read it: c -> e is added
//! b -> c        unless the graph says so already
//! d -> e
//! ```

use std::collections::BTreeMap;

use crate::alias::JoinKind;
use crate::ids::{BufferId, OpId};
use crate::links::OpLinks;
use crate::plan::Plan;
use crate::prepare::GraphContext;
use crate::problem::Problem;

/// Steps of searches back after which edges are no longer tested, only counted as added: one to two seconds.
pub const MAX_LOOKS: u64 = 200_000_000;

/// What a plan adds to the order of a graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddedOrder {
    /// Pairs of ops: the second must wait for the first, and the graph alone does not say so; by second, then first.
    pub edges: Vec<(OpId, OpId)>,
    /// Whether every pair was tested against the graph; if not, some of `edges` may be in it anyway.
    pub is_exact: bool,
    /// Ops in the longest chain of the graph.
    pub chain_ops: u64,
    /// Ops in the longest chain of the graph with `edges`.
    pub chain_ops_with: u64,
}

/// Compares the order that `plan` needs with that of the graph.
#[must_use]
pub fn added_order(context: &GraphContext, problem: &Problem, plan: &Plan) -> AddedOrder {
    let links = OpLinks::new(&context.graph);
    let mut waits = waits_for_bytes(context, problem, plan);
    waits.extend(waits_for_results(context));
    waits.sort_unstable();
    waits.dedup();
    let chain_ops = longest_chain(context, &links, &[]);
    let (edges, is_exact) = without_known(context, &links, waits);
    let chain_ops_with = longest_chain(context, &links, &edges);
    let edges = edges.into_iter().map(|(second, first)| (first, second)).collect();
    AddedOrder { edges, is_exact, chain_ops, chain_ops_with }
}

/// A waiting op and the op it waits for.
type Wait = (OpId, OpId);

/// Ops that begin a buffer wait for those that touch what lay there before.
fn waits_for_bytes(context: &GraphContext, problem: &Problem, plan: &Plan) -> Vec<Wait> {
    let mut births: Vec<BufferId> = problem.ids().collect();
    births.sort_unstable_by_key(|&id| (problem.buffer(id).lifetime.start, id));
    let mut holders = Holders::default();
    let mut replaced = Vec::new();
    let mut waits = Vec::new();
    for id in births {
        let from = plan.offset(id);
        replaced.clear();
        holders.replace(from, from.saturating_add(problem.buffer(id).bytes), id, &mut replaced);
        replaced.sort_unstable();
        replaced.dedup();
        let begins = beginners(context, id);
        for &before in replaced.iter().filter(|before| problem.buffer(**before).lifetime.end <= problem.buffer(id).lifetime.start) {
            for first in last_users(context, before) {
                waits.extend(begins.iter().map(|&second| (second, first)));
            }
        }
    }
    waits
}

/// Ops that read from a buffer, and those whose result in it nobody reads: all others come before one of them.
fn last_users(context: &GraphContext, buffer: BufferId) -> Vec<OpId> {
    let mut users = Vec::new();
    for &tensor in &context.map.buffers[buffer.index()].tensors {
        match context.graph.readers(tensor) {
            [] => users.extend(context.graph.producer(tensor)),
            readers => users.extend_from_slice(readers),
        }
    }
    users
}

/// Ops that write into a buffer without having read from it.
fn beginners(context: &GraphContext, buffer: BufferId) -> Vec<OpId> {
    let reads_it = |op: OpId| context.graph.op(op).inputs.iter().any(|&input| context.buffer_of(input) == Some(buffer));
    let writers = context.map.buffers[buffer.index()].tensors.iter().filter_map(|&tensor| context.graph.producer(tensor));
    let mut begins: Vec<OpId> = writers.filter(|&op| !reads_it(op)).collect();
    begins.sort_unstable();
    begins.dedup();
    begins
}

/// Ops that write in place wait for those that touched the buffer since the last such op.
fn waits_for_results(context: &GraphContext) -> Vec<Wait> {
    let mut waits = Vec::new();
    let mut since: BTreeMap<BufferId, u64> = BTreeMap::new();
    for join in context.map.joins.iter().filter(|join| join.kind == JoinKind::InPlace) {
        let Some(buffer) = context.buffer_of(join.output) else { continue };
        let step = context.schedule.step_of(join.op);
        let from = since.insert(buffer, step).unwrap_or(0);
        let touching = context.touching_ops(buffer).into_iter();
        waits.extend(touching.filter(|&op| (from..step).contains(&context.schedule.step_of(op))).map(|first| (join.op, first)));
    }
    waits
}

/// Drops the waits that the graph orders anyway; `waits` must be sorted.
fn without_known(context: &GraphContext, links: &OpLinks, waits: Vec<Wait>) -> (Vec<Wait>, bool) {
    let step = |op: OpId| context.schedule.step_of(op);
    let mut seen_for = vec![usize::MAX; context.graph.ops().len()];
    let mut looks_left = MAX_LOOKS;
    let mut kept = Vec::new();
    for (turn, group) in waits.chunk_by(|one, two| one.0 == two.0).enumerate() {
        let second = group[0].0;
        let first_step = group.iter().map(|&(_, first)| step(first)).min().unwrap_or(0);
        let mut stack = vec![second];
        while let Some(op) = stack.pop().filter(|_| looks_left > 0) {
            for &before in &links.before[op.index()] {
                looks_left = looks_left.saturating_sub(1);
                if step(before) >= first_step && seen_for[before.index()] != turn {
                    seen_for[before.index()] = turn;
                    stack.push(before);
                }
            }
        }
        kept.extend(group.iter().copied().filter(|&(_, first)| seen_for[first.index()] != turn));
    }
    (kept, looks_left > 0)
}

fn longest_chain(context: &GraphContext, links: &OpLinks, waits: &[Wait]) -> u64 {
    let mut length = vec![0_u64; context.graph.ops().len()];
    for &op in context.schedule.order() {
        let from = waits.partition_point(|&(second, _)| second < op);
        let added = waits[from..].iter().take_while(|&&(second, _)| second == op).map(|&(_, first)| first);
        let before = links.before[op.index()].iter().copied().chain(added).map(|first| length[first.index()]).max();
        length[op.index()] = before.unwrap_or(0) + 1;
    }
    length.into_iter().max().unwrap_or(0)
}

/// Who held each byte last: disjoint ranges by their first byte.
#[derive(Default)]
struct Holders {
    ranges: BTreeMap<u64, (u64, BufferId)>,
}

impl Holders {
    /// Gives `from..to` to `id` and adds those that held any of it to `replaced`.
    fn replace(&mut self, from: u64, to: u64, id: BufferId, replaced: &mut Vec<BufferId>) {
        if let Some((&begin, &(end, holder))) = self.ranges.range(..from).next_back()
            && end > from
        {
            self.ranges.insert(begin, (from, holder));
            self.ranges.insert(from, (end, holder));
        }
        while let Some((&begin, &(end, holder))) = self.ranges.range(from..to).next() {
            self.ranges.remove(&begin);
            replaced.push(holder);
            if end > to {
                self.ranges.insert(to, (end, holder));
            }
        }
        self.ranges.insert(from, (to, id));
    }
}
