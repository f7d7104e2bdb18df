//! A plan: where each buffer goes, and how good that is known to be.

use crate::ids::{BufferId, PoolId, SlotId};
use crate::problem::Problem;

/// What is known about the quality of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// No plan can be smaller: the arena equals a lower bound.
    Optimal,
    /// A plan, perhaps not the smallest.
    Feasible,
    /// No plan fits the capacity, and that is proved.
    Infeasible,
    /// The search was stopped before it could answer.
    Limit,
}

impl Status {
    /// The word used in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Optimal => "optimal",
            Self::Feasible => "feasible",
            Self::Infeasible => "infeasible",
            Self::Limit => "limit",
        }
    }
}

/// Which pool each buffer is in, and how much of each pool that takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PoolPlan {
    /// The pool of each buffer, by buffer id.
    pub of_buffer: Vec<PoolId>,
    /// Highest end of any buffer in each pool, by pool id.
    pub arena_bytes: Vec<u64>,
}

/// An offset for every buffer, unchecked: see [`crate::check`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The strategy that made it, or the name of the tool it was read from.
    pub strategy: String,
    /// First byte of each buffer in the arena, or in its pool, by buffer id.
    pub offsets: Vec<u64>,
    /// The slot of each buffer, by buffer id; `None` for an offset plan.
    pub slots: Option<Vec<SlotId>>,
    /// The pool of each buffer; `None` if there is one arena.
    pub pools: Option<PoolPlan>,
    /// Highest end of any buffer, in bytes; 0 without buffers. The sum over all pools if there are several.
    pub arena_bytes: u64,
    /// What is known about its quality.
    pub status: Status,
    /// One sentence about the choice, if the strategy has something to say.
    pub note: Option<String>,
}

impl Plan {
    /// A feasible offset plan; the arena ends with its highest buffer. Time O(n).
    #[must_use]
    pub fn from_offsets(strategy: impl Into<String>, problem: &Problem, offsets: Vec<u64>) -> Self {
        assert_eq!(offsets.len(), problem.n_buffers(), "a plan has one offset per buffer");
        let arena_bytes = problem.buffers().iter().zip(&offsets).map(|(buffer, offset)| offset.saturating_add(buffer.bytes)).max().unwrap_or(0);
        Self { strategy: strategy.into(), offsets, slots: None, pools: None, arena_bytes, status: Status::Feasible, note: None }
    }

    /// A feasible offset plan over several pools; each ends with its highest buffer. Time O(n).
    #[must_use]
    pub fn from_pools(strategy: impl Into<String>, problem: &Problem, offsets: Vec<u64>, of_buffer: Vec<PoolId>) -> Self {
        assert_eq!(of_buffer.len(), problem.n_buffers(), "a plan has one pool per buffer");
        let mut pool_bytes = vec![0_u64; problem.pools().len()];
        for ((buffer, &offset), pool) in problem.buffers().iter().zip(&offsets).zip(&of_buffer) {
            pool_bytes[pool.index()] = pool_bytes[pool.index()].max(offset.saturating_add(buffer.bytes));
        }
        let arena_bytes = pool_bytes.iter().fold(0, |sum: u64, &bytes| sum.saturating_add(bytes));
        let pools = Some(PoolPlan { of_buffer, arena_bytes: pool_bytes });
        Self { pools, arena_bytes, ..Self::from_offsets(strategy, problem, offsets) }
    }

    /// A feasible slot plan: slots lie one after another, each as large as its largest buffer. Time O(n).
    #[must_use]
    pub fn from_slots(strategy: impl Into<String>, problem: &Problem, slots: Vec<SlotId>) -> Self {
        assert_eq!(slots.len(), problem.n_buffers(), "a plan has one slot per buffer");
        let n_slots = slots.iter().map(|slot| slot.index() + 1).max().unwrap_or(0);
        let mut slot_bytes = vec![0_u64; n_slots];
        for (buffer, slot) in problem.buffers().iter().zip(&slots) {
            slot_bytes[slot.index()] = slot_bytes[slot.index()].max(buffer.bytes);
        }
        let mut slot_offset = Vec::with_capacity(n_slots);
        let mut arena_bytes = 0_u64;
        for bytes in slot_bytes {
            slot_offset.push(arena_bytes);
            arena_bytes += bytes;
        }
        let offsets = slots.iter().map(|slot| slot_offset[slot.index()]).collect();
        Self { strategy: strategy.into(), offsets, slots: Some(slots), pools: None, arena_bytes, status: Status::Feasible, note: None }
    }

    /// The first byte of a buffer.
    #[must_use]
    pub fn offset(&self, buffer: BufferId) -> u64 {
        self.offsets[buffer.index()]
    }

    /// The slot of a buffer; `None` in an offset plan.
    #[must_use]
    pub fn slot(&self, buffer: BufferId) -> Option<SlotId> {
        self.slots.as_ref().map(|slots| slots[buffer.index()])
    }

    /// How many slots the plan uses; `None` for an offset plan.
    #[must_use]
    pub fn n_slots(&self) -> Option<usize> {
        self.slots.as_ref().map(|slots| slots.iter().map(|slot| slot.index() + 1).max().unwrap_or(0))
    }

    /// The pool of a buffer; the first one where there is only one.
    #[must_use]
    pub fn pool(&self, buffer: BufferId) -> PoolId {
        self.pools.as_ref().map_or(PoolId(0), |pools| pools.of_buffer[buffer.index()])
    }

    /// Where a pool begins when all are laid one after another, as views draw them; 0 where there is only one.
    #[must_use]
    pub fn pool_begin(&self, pool: PoolId) -> u64 {
        let before = self.pools.iter().flat_map(|pools| pools.arena_bytes.iter().take(pool.index()));
        before.fold(0, |sum: u64, &bytes| sum.saturating_add(bytes))
    }

    /// The first byte of a buffer when all pools are laid one after another; its offset where there is only one.
    #[must_use]
    pub fn address(&self, buffer: BufferId) -> u64 {
        if self.pools.is_none() { self.offset(buffer) } else { self.pool_begin(self.pool(buffer)).saturating_add(self.offset(buffer)) }
    }
}
