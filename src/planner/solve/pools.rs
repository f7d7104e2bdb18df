//! Several pools: which buffers go into which memory, each memory planned by the strategy that was asked for.
//!
//! Problem: buffers prefer pools, pools have capacities, and a strategy plans one arena.
//! Method: everything starts in its most preferred pool. Where the load of a pool is over its capacity, the buffers
//! with the largest size × pressure (the bytes over capacity, summed over the load's pieces that they live in) are
//! spilled to their next pool, until the load fits. The pool is planned alone; what sticks out of the capacity is
//! spilled too. Then spilled buffers come back, largest first, wherever they fit into the pool's free bytes as they are.
//! Guarantee: valid; every buffer is in a pool that it may be in. A pool is over its capacity only if what must be in
//! it could not be planned within it; then the summary says so. Not the fewest spilled bytes possible.
//! Time: that of the strategy per planned pool and round, and O(n · pieces of the load) for the choice; space O(n).
//! Source: spilling by size and pressure as compilers do for register files (Chaitin, DOI 10.1145/872726.806984);
//! preference lists as in TVM's unified static memory planner.
//!
//! ```text
//! SRAM, 8 bytes     A 4, B 6, C 2 live together: 4 over; B has the largest size × pressure
//! PSRAM             B
//! ```

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::packing::Packing;
use super::{Request, SolveError, SolveOptions};
use crate::constraints::{Constraints, Pool, Reserved};
use crate::ids::{BufferId, PoolId};
use crate::metrics::Curve;
use crate::plan::{Plan, Status};
use crate::problem::Problem;
use crate::rigid::Bodies;

/// Plans one pool.
type PlanOne<'a> = dyn Fn(&Request<'_>) -> Result<Plan, SolveError> + 'a;

/// Splits the problem by pool and puts the plans together.
pub(super) fn run(request: &Request<'_>, strategy: &'static str, plan_one: &PlanOne<'_>) -> Result<Plan, SolveError> {
    let problem = request.problem;
    let mut pools = Pools::new(problem);
    let mut names: Vec<String> = Vec::new();
    while let Some(pool) = pools.is_open.iter().position(|&is_open| is_open) {
        pools.is_open[pool] = false;
        pools.spill_load(pool);
        if let Some(name) = pools.plan(pool, request, plan_one)? {
            names.push(name);
        }
        pools.refill(pool);
    }
    names.dedup();
    let name = if let [name] = names.as_slice() { name.as_str() } else { strategy };
    let mut plan = pools.to_plan(name);
    if plan.arena_bytes == request.bound_bytes {
        plan.status = Status::Optimal;
    }
    Ok(plan)
}

/// Who is where.
struct Pools<'a> {
    problem: &'a Problem,
    bodies: Cow<'a, Bodies>,
    /// For each body, which of its preferences it has.
    rank: Vec<usize>,
    /// Where each body was put when its pool was last planned.
    offset: Vec<u64>,
    /// Pools that got buffers since they were last planned.
    is_open: Vec<bool>,
    is_refilled: Vec<bool>,
}

impl<'a> Pools<'a> {
    fn new(problem: &'a Problem) -> Self {
        let bodies = problem.bodies();
        let (n, n_pools) = (bodies.len(), problem.pools().len());
        Self { problem, bodies, rank: vec![0; n], offset: vec![0; n], is_open: vec![true; n_pools], is_refilled: vec![false; n_pools] }
    }

    fn pool_of(&self, body: usize) -> usize {
        self.bodies.pools_of(body)[self.rank[body]].index()
    }

    fn capacity(&self, pool: usize) -> Option<u64> {
        self.problem.pool_capacity_bytes(PoolId::new(pool))
    }

    fn members(&self, pool: usize) -> Vec<usize> {
        (0..self.bodies.len()).filter(|&body| self.pool_of(body) == pool).collect()
    }

    fn may_spill(&self, body: usize) -> bool {
        self.rank[body] + 1 < self.bodies.pools_of(body).len()
    }

    fn spill(&mut self, body: usize) {
        self.rank[body] += 1;
        let next = self.pool_of(body);
        self.is_open[next] = true;
    }

    /// Spills until no step needs more than the capacity, as far as buffers may be spilled.
    fn spill_load(&mut self, pool: usize) {
        let Some(capacity) = self.capacity(pool) else { return };
        let members = self.members(pool);
        let mut load = load_of(&part(self.problem, &self.buffers(&members), pool));
        for body in self.by_pressure(&members, &load, capacity) {
            let pieces = self.bodies.pieces_of(self.bodies.get(body));
            let ranges: Vec<(std::ops::Range<usize>, u64)> = pieces.iter().map(|piece| (sections(&load, piece.lifetime), piece.bytes())).collect();
            if ranges.iter().any(|(range, _)| load.bytes[range.clone()].iter().any(|&bytes| bytes > capacity)) {
                for (range, bytes) in ranges {
                    load.bytes[range].iter_mut().for_each(|load| *load -= bytes);
                }
                self.spill(body);
            }
        }
    }

    /// The members that may be spilled, the largest size × pressure first.
    fn by_pressure(&self, members: &[usize], load: &Curve, capacity: u64) -> Vec<usize> {
        let mut over = Vec::with_capacity(load.bytes.len() + 1);
        over.push(0_u128);
        for &bytes in &load.bytes {
            over.push(over[over.len() - 1] + u128::from(bytes.saturating_sub(capacity)));
        }
        let score = |&body: &usize| {
            let body = self.bodies.get(body);
            let range = sections(load, body.lifetime);
            Reverse(u128::from(body.bytes).saturating_mul(over[range.end] - over[range.start]))
        };
        let mut order: Vec<usize> = members.iter().copied().filter(|&body| self.may_spill(body)).collect();
        order.sort_by_cached_key(|body| (score(body), *body));
        order
    }

    /// Plans a pool, spilling what sticks out of it; returns who planned it, if there was anything to plan.
    fn plan(&mut self, pool: usize, request: &Request<'_>, plan_one: &PlanOne<'_>) -> Result<Option<String>, SolveError> {
        let capacity = self.capacity(pool).unwrap_or(u64::MAX);
        // A search that goes on until the clock stops it would leave no time to the pools after this one.
        let max_nodes = if request.is_open_ended() { None } else { request.options.max_nodes };
        let options = SolveOptions { max_nodes, ..*request.options };
        let mut n_forced = 1;
        loop {
            let members = self.members(pool);
            if members.is_empty() {
                return Ok(None);
            }
            let problem = part(self.problem, &self.buffers(&members), pool);
            let plan = plan_one(&Request::new(&problem, None, &options, request.control))?;
            let bodies = problem.bodies();
            for (&body, own) in members.iter().zip(bodies.iter()) {
                self.offset[body] = plan.offset(own.root);
            }
            let outside = |&body: &usize| self.offset[body] + self.bodies.get(body).bytes > capacity;
            let (may, must): (Vec<usize>, Vec<usize>) = members.iter().copied().filter(outside).partition(|&body| self.may_spill(body));
            may.iter().for_each(|&body| self.spill(body));
            if must.is_empty() {
                return Ok(Some(plan.strategy));
            }
            // What may not leave sticks out: others make room, a few more each time.
            let rest: Vec<usize> = members.into_iter().filter(|body| !may.contains(body)).collect();
            let victims: Vec<usize> = self.by_pressure(&rest, &load_of(&problem), 0).into_iter().take(n_forced).collect();
            if victims.is_empty() && may.is_empty() {
                return Ok(Some(plan.strategy));
            }
            victims.into_iter().for_each(|body| self.spill(body));
            n_forced *= 2;
        }
    }

    /// Takes back what prefers this pool and fits between what is in it, once per pool.
    fn refill(&mut self, pool: usize) {
        let Some(capacity) = self.capacity(pool).filter(|_| !self.is_refilled[pool]) else { return };
        let id = PoolId::new(pool);
        let place = |body: usize| self.bodies.pools_of(body).iter().take(self.rank[body]).position(|&other| other == id);
        let mut back: Vec<(usize, usize)> = (0..self.bodies.len()).filter_map(|body| Some((body, place(body)?))).collect();
        if back.is_empty() {
            return;
        }
        self.is_refilled[pool] = true;
        back.sort_by_key(|&(body, _)| (Reverse(self.bodies.get(body).bytes), body));
        let mut all = self.members(pool);
        all.extend(back.iter().map(|&(body, _)| body));
        all.sort_unstable();
        let problem = part(self.problem, &self.buffers(&all), pool);
        let position = |body: usize| all.binary_search(&body).expect("it was just listed");
        let mut packing = Packing::new(&problem);
        for &body in all.iter().filter(|&&body| self.pool_of(body) == pool && self.bodies.get(body).pin.is_none()) {
            packing.place(position(body), self.offset[body]);
        }
        for (body, rank) in back {
            let offset = packing.lowest(position(body), PoolId(0));
            if offset.saturating_add(self.bodies.get(body).bytes) <= capacity {
                packing.place(position(body), offset);
                self.rank[body] = rank;
                self.offset[body] = offset;
            }
        }
    }

    /// The buffers of some bodies, by id.
    fn buffers(&self, bodies: &[usize]) -> Vec<BufferId> {
        let members = bodies.iter().flat_map(|&body| self.bodies.members_of(self.bodies.get(body)));
        let mut ids: Vec<BufferId> = members.map(|&(id, _)| id).collect();
        ids.sort_unstable();
        ids
    }

    fn to_plan(&self, strategy: &str) -> Plan {
        let n = self.problem.n_buffers();
        let (mut offsets, mut of_buffer) = (vec![0; n], vec![PoolId(0); n]);
        let mut spilled = vec![(0_u64, 0_u64); self.is_open.len()];
        for (index, body) in self.bodies.iter().enumerate() {
            let pool = self.pool_of(index);
            for &(id, at) in self.bodies.members_of(body) {
                offsets[id.index()] = self.offset[index] + at;
                of_buffer[id.index()] = PoolId::new(pool);
            }
            if self.rank[index] > 0 {
                spilled[pool] = (spilled[pool].0 + 1, spilled[pool].1 + body.bytes);
            }
        }
        let mut plan = Plan::from_pools(strategy, self.problem, offsets, of_buffer);
        let lines = spilled.iter().enumerate().filter(|(_, (count, _))| *count > 0);
        let lines: Vec<String> =
            lines.map(|(pool, (count, bytes))| format!("{count} ({bytes} bytes) to {}", pool_name(self.problem.pools(), pool))).collect();
        plan.note = Some(if lines.is_empty() { "nothing spilled".to_owned() } else { format!("spilled {}", lines.join(", ")) });
        plan
    }
}

/// Kept bytes per step, with a piece between every two births and deaths, also where the sum stays the same.
fn load_of(problem: &Problem) -> Curve {
    let mut changes: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for piece in problem.pieces() {
        changes.entry(piece.lifetime.start).or_default().0 += piece.bytes();
        changes.entry(piece.lifetime.end).or_default().1 += piece.bytes();
    }
    let steps: Vec<u64> = changes.keys().copied().collect();
    let mut live = 0_u64;
    let mut bytes: Vec<u64> = Vec::with_capacity(steps.len());
    for (born, dead) in changes.into_values() {
        live = live + born - dead;
        bytes.push(live);
    }
    // The last change is the last death: nothing is kept from there on.
    bytes.pop();
    Curve { steps, bytes }
}

/// The name of a pool, or its number.
fn pool_name(pools: &[Pool], pool: usize) -> String {
    let name = &pools[pool].name;
    if name.is_empty() { format!("pool {pool}") } else { name.clone() }
}

/// The pieces of a curve that a lifetime covers; the lifetime begins and ends where pieces do.
fn sections(load: &Curve, lifetime: crate::lifetimes::Lifetime) -> std::ops::Range<usize> {
    let n_pieces = load.bytes.len();
    let first = load.steps.partition_point(|&step| step <= lifetime.start).saturating_sub(1).min(n_pieces);
    let end = load.steps.partition_point(|&step| step < lifetime.end).min(n_pieces);
    first..end.max(first)
}

/// The problem of some buffers, sorted by id, in one pool.
fn part(problem: &Problem, ids: &[BufferId], pool: usize) -> Problem {
    let sizes = ids.iter().map(|&id| (problem.buffer(id).size_bytes, problem.buffer(id).lifetime));
    let part = Problem::new(sizes, problem.align())
        .expect("a part of a valid problem is valid")
        .with_capacity(problem.pool_capacity_bytes(PoolId::new(pool)));
    let Some(all) = problem.constraints() else { return part };
    let position = |id: BufferId| ids.binary_search(&id).ok().map(BufferId::new);
    let mut own = Constraints { max_chunk_bytes: all.max_chunk_bytes, ..Constraints::default() };
    own.aligns = all.aligns.iter().filter_map(|(&id, &align)| Some((position(id)?, align))).collect();
    own.pins = all.pins.iter().filter_map(|(&id, &pin)| Some((position(id)?, pin))).collect();
    own.gaps = all.gaps.iter().filter_map(|(&id, gaps)| Some((position(id)?, gaps.clone()))).collect();
    for (&view, sub) in &all.views {
        if let (Some(view), Some(of)) = (position(view), position(sub.of)) {
            own.set_view(view, of, sub.at_byte);
        }
    }
    own.in_place = all.in_place.iter().filter_map(|&(one, two)| Some((position(one)?, position(two)?))).collect();
    let here = all.reserved.iter().filter(|range| range.pool.index() == pool);
    own.reserved = here.map(|range| Reserved { pool: PoolId(0), ..*range }).collect();
    part.with_constraints(own).expect("rules of a part are rules of the whole")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::check;
    use crate::control::Control;
    use crate::lifetimes::Lifetime;
    use crate::solve::{AUTO, SolveOptions, solve};
    use crate::units::Align;

    fn two_pools(sram: u64, sizes: &[(u64, u64, u64)], rules: impl FnOnce(&mut Constraints)) -> Problem {
        let mut constraints = Constraints::default();
        constraints.add_pool(Pool { name: "SRAM".to_owned(), capacity_bytes: Some(sram) });
        constraints.add_pool(Pool { name: "PSRAM".to_owned(), capacity_bytes: None });
        rules(&mut constraints);
        let sizes = sizes.iter().map(|&(bytes, start, end)| (bytes, Lifetime { start, end }));
        Problem::new(sizes, Align::ONE).and_then(|problem| problem.with_constraints(constraints)).expect("a valid problem")
    }

    fn pools_of(problem: &Problem, strategy: &str) -> (Vec<u32>, Vec<u64>) {
        let plan = solve(strategy, problem, None, &SolveOptions::default(), &Control::unattended()).expect("a plan");
        assert_eq!(check(problem, &plan).violations, []);
        let pools = plan.pools.expect("there are two");
        (pools.of_buffer.into_iter().map(|pool| pool.0).collect(), pools.arena_bytes)
    }

    #[test]
    fn small_buffers_stay_and_the_large_one_is_spilled() {
        let problem = two_pools(8, &[(4, 0, 4), (6, 0, 4), (2, 0, 4), (8, 4, 5)], |_| ());
        for strategy in [AUTO, "first-fit", "greedy-size", "lowest-floor", "hot-core", "naive"] {
            let (pools, bytes) = pools_of(&problem, strategy);
            assert_eq!(pools[..3], [0, 1, 0], "{strategy}");
            assert!(bytes[0] <= 8, "{strategy}: {bytes:?}");
        }
    }

    #[test]
    fn what_may_not_be_spilled_makes_room_by_spilling_others() {
        let problem = two_pools(8, &[(4, 0, 4), (6, 0, 4), (2, 0, 4)], |rules| {
            rules.prefer(BufferId(1), vec![PoolId(0)]);
        });
        assert_eq!(pools_of(&problem, AUTO), (vec![1, 0, 0], vec![8, 4]));
    }

    #[test]
    fn a_pool_that_cannot_hold_what_must_be_in_it_is_over_its_capacity() {
        let problem = two_pools(5, &[(6, 0, 4), (1, 0, 4)], |rules| {
            rules.prefer(BufferId(0), vec![PoolId(0)]);
        });
        assert_eq!(pools_of(&problem, AUTO), (vec![0, 1], vec![6, 1]));
    }

    #[test]
    fn slots_are_refused_and_nothing_spills_without_need() {
        let problem = two_pools(12, &[(4, 0, 4), (6, 0, 4), (2, 0, 4)], |_| ());
        assert_eq!(pools_of(&problem, AUTO), (vec![0, 0, 0], vec![12, 0]));
        let refused = solve("slots-by-birth", &problem, None, &SolveOptions::default(), &Control::unattended());
        assert!(matches!(refused, Err(SolveError::Unsupported { strategy: "slots-by-birth", because }) if because.contains("several pools")));
    }
}
