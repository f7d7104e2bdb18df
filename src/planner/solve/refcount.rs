//! `refcount`: what a runtime with reference counts and a free list does.
//!
//! Problem: give every buffer a slot while walking the graph once, without looking ahead.
//! Method: at each op, first give slots to the buffers born there, then put the slots of those whose last reader it is
//! on the free list ([`super::reference_counts`]). A new buffer takes the smallest free slot that is large enough, else
//! the largest free one, which grows, else a new one. With [`Share::Equal`] only a slot of exactly its size.
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

use super::reference_counts::walk;
use super::{Request, Share, SolveError, Strategy, StrategyKind};
use crate::constraints::FeatureSet;
use crate::ids::{BufferId, SlotId};
use crate::plan::Plan;

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
    let mut slots = Slots::new(request);
    walk(request, &STRATEGY, |change| {
        change.born.iter().for_each(|&buffer| slots.open(buffer));
        change.dead.iter().for_each(|&buffer| slots.close(buffer));
    })?;
    Ok(Plan::from_slots(STRATEGY.name, request.problem, slots.slot_of))
}

/// Slots with their sizes, and the free ones by size.
struct Slots<'a> {
    request: &'a Request<'a>,
    slot_of: Vec<SlotId>,
    bytes: Vec<u64>,
    free: BTreeSet<(u64, SlotId)>,
}

impl<'a> Slots<'a> {
    fn new(request: &'a Request<'a>) -> Self {
        Self { request, slot_of: vec![SlotId(0); request.problem.n_buffers()], bytes: Vec::new(), free: BTreeSet::new() }
    }

    /// Gives the buffer a slot.
    fn open(&mut self, buffer: BufferId) {
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
        self.slot_of[buffer.index()] = slot;
    }

    /// Puts the buffer's slot on the free list.
    fn close(&mut self, buffer: BufferId) {
        let slot = self.slot_of[buffer.index()];
        self.free.insert((self.bytes[slot.index()], slot));
    }
}
