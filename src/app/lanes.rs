//! Where each pool stands in the Arena view: one lane above the other, each with its own zero, never overlapping.
//!
//! A plan with one arena has one lane without a name, and every address is the offset.

use arenascope_planner::ids::{BufferId, PoolId};
use arenascope_planner::plan::Plan;
use arenascope_planner::problem::Problem;
use arenascope_planner::summary::{PoolSummary, pool_summaries};

/// Space between two lanes, as a part of all their bytes.
const GAP_PARTS: u64 = 12;

/// A capacity is drawn in its lane up to this many times what the pool holds; beyond, it would flatten everything.
const MAX_CAPACITY: u64 = 3;

/// A pool with its place on the vertical axis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lane {
    /// The pool's name, what it holds and what it can hold.
    pub pool: PoolSummary,
    /// Where byte 0 of the pool stands.
    pub begin: u64,
    /// One past the last byte that is drawn for it.
    pub end: u64,
}

impl Lane {
    /// The capacity, if it is near enough to be drawn as a line.
    #[must_use]
    pub fn drawn_capacity(&self) -> Option<u64> {
        self.pool.capacity_bytes.filter(|&capacity| self.begin.saturating_add(capacity) <= self.end)
    }
}

/// The lanes of a plan.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lanes {
    /// From the bottom up; empty where there is one arena.
    lanes: Vec<Lane>,
    /// Where each pool begins when they lie one after another, as the planner counts addresses.
    addresses: Vec<u64>,
}

impl Lanes {
    /// The lanes of a plan, the first pool at the bottom. Time O(n).
    #[must_use]
    pub fn new(problem: &Problem, plan: &Plan) -> Self {
        let pools = pool_summaries(problem, plan);
        let height = |pool: &PoolSummary| {
            let shown = pool.arena_bytes.max(1);
            shown.max(pool.capacity_bytes.filter(|&capacity| capacity <= shown.saturating_mul(MAX_CAPACITY)).unwrap_or(0))
        };
        let total = pools.iter().fold(0_u64, |sum, pool| sum.saturating_add(height(pool)));
        let (gap, least) = (total / GAP_PARTS + 1, total / GAP_PARTS);
        let mut lanes: Vec<Lane> = Vec::with_capacity(pools.len());
        for pool in pools {
            let begin = lanes.last().map_or(0, |below| below.end.saturating_add(gap));
            // An empty pool, or one much smaller than the others, still has room for its name.
            let end = begin.saturating_add(height(&pool).max(least));
            lanes.push(Lane { pool, begin, end });
        }
        let addresses = (0..lanes.len()).map(|pool| plan.pool_begin(PoolId::new(pool))).collect();
        Self { lanes, addresses }
    }

    /// The lanes from the bottom up; empty where there is one arena.
    #[must_use]
    pub fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// The lane of a pool; `None` where there is one arena.
    #[must_use]
    pub fn of(&self, pool: PoolId) -> Option<&Lane> {
        self.lanes.get(pool.index())
    }

    /// Where a byte of a pool stands.
    #[must_use]
    pub fn place(&self, pool: PoolId, byte: u64) -> u64 {
        self.of(pool).map_or(byte, |lane| lane.begin.saturating_add(byte))
    }

    /// Where a buffer of the plan stands.
    #[must_use]
    pub fn place_of(&self, plan: &Plan, buffer: BufferId) -> u64 {
        self.place(plan.pool(buffer), plan.offset(buffer))
    }

    /// Where an address of the planner stands, which counts pools one after another.
    #[must_use]
    pub fn place_of_address(&self, address: u64) -> u64 {
        // An empty pool begins where the next one does; the last of them has the byte.
        let at = self.addresses.partition_point(|&begin| begin <= address);
        match at.checked_sub(1) {
            Some(pool) => self.place(PoolId::new(pool), address - self.addresses[pool]),
            None => address,
        }
    }

    /// The top of the highest lane; 0 where there is one arena.
    #[must_use]
    pub fn height(&self) -> u64 {
        self.lanes.last().map_or(0, |lane| lane.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arenascope_planner::constraints::{Constraints, Pool};
    use arenascope_planner::lifetimes::Lifetime;
    use arenascope_planner::units::Align;

    fn lanes(capacities: &[Option<u64>], sizes: &[(u64, u32)]) -> (Lanes, Plan) {
        let mut rules = Constraints::default();
        for (index, &capacity_bytes) in capacities.iter().enumerate() {
            rules.add_pool(Pool { name: format!("p{index}"), capacity_bytes });
        }
        let lifetime = Lifetime { start: 0, end: 1 };
        let problem = Problem::new(sizes.iter().map(|&(bytes, _)| (bytes, lifetime)), Align::ONE).expect("small");
        let problem = problem.with_constraints(rules).expect("pools alone");
        let plan = Plan::from_pools("test", &problem, vec![0; sizes.len()], sizes.iter().map(|&(_, pool)| PoolId(pool)).collect());
        (Lanes::new(&problem, &plan), plan)
    }

    #[test]
    fn lanes_never_overlap_and_hold_what_is_in_them() {
        let (lanes, plan) = lanes(&[Some(100), Some(1 << 40), None, None], &[(90, 0), (240, 1), (500, 3)]);
        for pair in lanes.lanes().windows(2) {
            assert!(pair[0].end < pair[1].begin, "{pair:?}");
        }
        for (id, bytes) in [(0, 90), (1, 240), (2, 500)] {
            let id = BufferId(id);
            let lane = lanes.of(plan.pool(id)).expect("its pool");
            let place = lanes.place_of(&plan, id);
            assert!(lane.begin <= place && place + bytes <= lane.end, "{lane:?}");
            assert_eq!(lanes.place_of_address(plan.address(id)), place);
        }
        let drawn: Vec<Option<u64>> = lanes.lanes().iter().map(Lane::drawn_capacity).collect();
        assert_eq!(drawn, [Some(100), None, None, None], "a capacity far above what is used is not drawn");
        assert!(lanes.lanes()[2].end > lanes.lanes()[2].begin, "an empty pool has room for its name");
    }

    #[test]
    fn one_arena_has_no_lanes() {
        let problem = Problem::new([(8, Lifetime { start: 0, end: 1 })], Align::ONE).expect("small");
        let plan = Plan::from_offsets("test", &problem, vec![16]);
        let lanes = Lanes::new(&problem, &plan);
        assert_eq!((lanes.lanes().len(), lanes.height(), lanes.place_of(&plan, BufferId(0)), lanes.place_of_address(24)), (0, 0, 16, 24));
    }
}
