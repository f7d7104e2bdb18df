//! `mxnet`: slots by reference count from a free list that accepts sizes within a factor of 16.
//!
//! Problem: give every buffer a slot while walking the graph once, without looking ahead.
//! Method: at each op, first the buffers born there ask for slots, larger first; then the slots of those whose last
//! reader it is go on the free list ([`super::reference_counts`]). A buffer takes the smallest free slot of its size to
//! 16 times its size, else the largest free one down to a 16th of its size, which grows, else a new one; among equals
//! the one that has been free longest. What an op writes over an input of the same size without readers to come is in
//! that input's buffer already ([`crate::alias`]).
//! Guarantee: valid; no bound on the bytes. The range keeps a small buffer out of a huge slot, which costs a slot more
//! and saves the huge one from being taken when a huge buffer comes.
//! Time O((reads + n) log n), space O(n).
//! Source: MXNet, `src/nnvm/plan_memory.cc`; Chen et al., "Training Deep Nets with Sublinear Memory Cost",
//! DOI 10.48550/arXiv.1604.06174.
//!
//! ```text
//! free: slot 0 of 64 bytes     B (3 bytes) may take slots of 3 to 48 bytes: it opens slot 1,
//! born: B, then D              and slot 0 is still free when D (60 bytes) comes
//! ```

use std::collections::BTreeSet;

use super::reference_counts::walk;
use super::{Request, SolveError, Strategy, StrategyKind};
use crate::constraints::FeatureSet;
use crate::ids::{BufferId, SlotId};
use crate::plan::Plan;

pub(super) const STRATEGY: Strategy = Strategy {
    name: "mxnet",
    summary: "Runs the graph with reference counts; a slot is reused for sizes within a factor of 16.",
    source: "MXNet, src/nnvm/plan_memory.cc; Chen et al. 2016, DOI 10.48550/arXiv.1604.06174",
    kind: StrategyKind::Slots,
    is_safe: true,
    needs_graph: true,
    supports: FeatureSet::NONE,
    run,
};

fn run(request: &Request<'_>) -> Result<Plan, SolveError> {
    let slots = reuse_slots(request, &STRATEGY, &[])?;
    Ok(Plan::from_slots(STRATEGY.name, request.problem, slots))
}

/// The largest factor between a buffer and the slot that it takes; the source's default.
const MATCH_RANGE: u64 = 16;

/// A slot for each buffer. With `colour_of` ops, a slot is reused only by an op of the colour that released it.
pub(super) fn reuse_slots(request: &Request<'_>, strategy: &Strategy, colour_of: &[u32]) -> Result<Vec<SlotId>, SolveError> {
    let mut pool = Pool { bytes: Vec::new(), free: BTreeSet::new(), n_released: 0 };
    let mut slot_of = vec![SlotId(0); request.problem.n_buffers()];
    let bytes = |buffer: BufferId| request.problem.buffer(buffer).bytes;
    walk(request, strategy, |change| {
        let colour = change.op.and_then(|op| colour_of.get(op.index())).copied().unwrap_or(0);
        let mut born = change.born.to_vec();
        born.sort_by_key(|&buffer| std::cmp::Reverse(bytes(buffer)));
        for buffer in born {
            slot_of[buffer.index()] = pool.request(bytes(buffer), colour);
        }
        for buffer in change.dead {
            pool.release(slot_of[buffer.index()], colour);
        }
    })?;
    Ok(slot_of)
}

/// Slots with their sizes, and the free ones.
struct Pool {
    bytes: Vec<u64>,
    /// Size, how many were released before, slot, and the colour of the op that released it.
    free: BTreeSet<(u64, usize, SlotId, u32)>,
    n_released: usize,
}

impl Pool {
    fn request(&mut self, bytes: u64, colour: u32) -> SlotId {
        let at_least = |bytes: u64| (bytes, 0, SlotId(0), 0);
        let suits = |entry: &&(u64, usize, SlotId, u32)| entry.3 == colour;
        let large = self.free.range(at_least(bytes)..at_least(bytes.saturating_mul(MATCH_RANGE).saturating_add(1))).find(suits);
        let small = || self.free.range(at_least(bytes / MATCH_RANGE)..at_least(bytes)).rev().find(suits);
        let Some(entry) = large.or_else(small).copied() else {
            self.bytes.push(bytes);
            return SlotId::new(self.bytes.len() - 1);
        };
        self.free.remove(&entry);
        let slot = entry.2;
        self.bytes[slot.index()] = self.bytes[slot.index()].max(bytes);
        slot
    }

    fn release(&mut self, slot: SlotId, colour: u32) {
        self.free.insert((self.bytes[slot.index()], self.n_released, slot, colour));
        self.n_released += 1;
    }
}
