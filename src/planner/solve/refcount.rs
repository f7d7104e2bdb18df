//! `refcount`: what a runtime with reference counts and a free list does.
//!
//! Problem: give every buffer a slot while walking the graph once, without looking ahead.
//! Method: count for each buffer the reads still to come. At each op, first give slots to the buffers born there,
//! then count down its inputs; a buffer without reads to come puts its slot on the free list. A new buffer takes the
//! smallest free slot that is large enough, else the largest free one, which grows, else a new one. With
//! [`Share::Equal`] only a slot of exactly its size. Results that the op writes over an input are in the input's
//! buffer already ([`crate::alias`]).
//! Guarantee: valid; no bound on the bytes. The number of slots is the largest clique with [`Share::Any`].
//! Time O((reads + n) log n), space O(n).
//! Source: MXNet's and NNVM's `plan_memory` pass (nnvm/src/pass/plan_memory.cc); Chen et al., "Training Deep Nets with
//! Sublinear Memory Cost", DOI 10.48550/arXiv.1604.06174.
//!
//! ```text
//! B = conv(A)     slot 0: B    C = sigmoid(B)   slot 1: C (F still reads B)
//! F = conv(B)     slot 2: F, B's reads are done: slot 0 is free
//! E = pool(C)     slot 0: E
//! ```

use std::collections::BTreeSet;

use super::{Request, Share, SolveError, Strategy, StrategyKind};
use crate::alias::{Io, Storage};
use crate::constraints::FeatureSet;
use crate::graph::Role;
use crate::ids::{BufferId, SlotId, TensorId};
use crate::plan::Plan;
use crate::prepare::GraphContext;

pub(super) const STRATEGY: Strategy = Strategy {
    name: "refcount",
    summary: "Runs the graph with reference counts and a free list of slots, without looking ahead.",
    source: "MXNet nnvm/src/pass/plan_memory.cc; Chen et al. 2016, DOI 10.48550/arXiv.1604.06174",
    kind: StrategyKind::Slots,
    is_safe: true,
    needs_graph: true,
    supports: FeatureSet::NONE,
    run,
};

fn run(request: &Request<'_>) -> Result<Plan, SolveError> {
    let because = "it counts the readers of each tensor, and this file has buffers but no graph";
    let context = request.context.ok_or(SolveError::Unsupported { strategy: STRATEGY.name, because })?;
    let mut slots = Slots::new(request);
    let mut reads_to_come = count_reads(context, request.problem.n_buffers());
    for tensor in context.graph.tensor_ids().filter(|&tensor| context.graph.producer(tensor).is_none()) {
        slots.open(storage(context, tensor));
    }
    for (turn, &op) in context.schedule.order().iter().enumerate() {
        request.keep_going(turn)?;
        let op = context.graph.op(op);
        for &output in &op.outputs {
            slots.open(storage(context, output));
        }
        let mut inputs = op.inputs.clone();
        inputs.sort_unstable();
        inputs.dedup();
        for &input in &inputs {
            if let Some(buffer) = storage(context, input) {
                reads_to_come[buffer.index()] -= 1;
            }
        }
        let touched = inputs.iter().chain(&op.outputs).filter_map(|&tensor| storage(context, tensor));
        for buffer in touched.filter(|buffer| reads_to_come[buffer.index()] == 0) {
            slots.close(buffer);
        }
        if turn == 0 {
            // A graph input that nobody reads is needed in the first step only.
            let unread = |tensor: &TensorId| context.graph.producer(*tensor).is_none();
            for buffer in context.graph.tensor_ids().filter(unread).filter_map(|tensor| storage(context, tensor)) {
                if reads_to_come[buffer.index()] == 0 {
                    slots.close(buffer);
                }
            }
        }
    }
    Ok(Plan::from_slots(STRATEGY.name, request.problem, slots.slot_of.into_iter().map(|slot| slot.unwrap_or(SlotId(0))).collect()))
}

fn storage(context: &GraphContext, tensor: TensorId) -> Option<BufferId> {
    match context.map.storage[tensor.index()] {
        Storage::Planned(buffer) => Some(buffer),
        Storage::Static | Storage::Empty | Storage::Unknown => None,
    }
}

/// Reads of each buffer: one per tensor in it and op that reads the tensor; one more that never comes for what the
/// caller reads at the end.
fn count_reads(context: &GraphContext, n_buffers: usize) -> Vec<usize> {
    let mut reads = vec![0; n_buffers];
    for tensor in context.graph.tensor_ids() {
        if let Some(buffer) = storage(context, tensor) {
            let is_kept = context.io == Io::Arena && context.graph.tensor(tensor).role == Role::GraphOutput;
            reads[buffer.index()] += context.graph.readers(tensor).len() + usize::from(is_kept);
        }
    }
    reads
}

/// Slots with their sizes, and the free ones by size.
struct Slots<'a> {
    request: &'a Request<'a>,
    slot_of: Vec<Option<SlotId>>,
    bytes: Vec<u64>,
    free: BTreeSet<(u64, SlotId)>,
    is_closed: Vec<bool>,
}

impl<'a> Slots<'a> {
    fn new(request: &'a Request<'a>) -> Self {
        let n = request.problem.n_buffers();
        Self { request, slot_of: vec![None; n], bytes: Vec::new(), free: BTreeSet::new(), is_closed: vec![false; n] }
    }

    /// Gives the buffer a slot if it has none.
    fn open(&mut self, buffer: Option<BufferId>) {
        let Some(buffer) = buffer.filter(|buffer| self.slot_of[buffer.index()].is_none()) else { return };
        let bytes = self.request.problem.buffer(buffer).bytes;
        let large_enough = self.free.range((bytes, SlotId(0))..).next().copied();
        let found = match self.request.options.share {
            Share::Any => large_enough.or_else(|| self.free.last().copied()),
            Share::Equal => large_enough.filter(|&(free_bytes, _)| free_bytes == bytes),
        };
        let slot = if let Some((free_bytes, slot)) = found {
            self.free.remove(&(free_bytes, slot));
            self.bytes[slot.index()] = free_bytes.max(bytes);
            slot
        } else {
            self.bytes.push(bytes);
            SlotId::new(self.bytes.len() - 1)
        };
        self.slot_of[buffer.index()] = Some(slot);
    }

    /// Puts the buffer's slot on the free list, once.
    fn close(&mut self, buffer: BufferId) {
        if let Some(slot) = self.slot_of[buffer.index()].filter(|_| !self.is_closed[buffer.index()]) {
            self.is_closed[buffer.index()] = true;
            self.free.insert((self.bytes[slot.index()], slot));
        }
    }
}
