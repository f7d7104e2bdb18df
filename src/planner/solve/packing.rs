//! Placing bodies one by one at the lowest offset that every rule allows: alignments, fixed offsets, reserved bytes,
//! gaps, views, in-place groups and chunks.
//!
//! Problem: find the lowest offset of a body among bodies that have a place.
//! Method: what is fixed is placed first. For a body at hand, every rectangle that it must keep and every rectangle in
//! the way that shares a step with it forbid a range of offsets; sort the ranges and take the lowest offset outside
//! all of them, rounded up to what alignments and chunks allow.
//! Guarantee: valid, and lowest for this body. Time O(met rectangles · log) per body, space O(n).
//! Source: first fit (see [`super::first_fit`]) with obstacles in the space of offsets, the configuration-space
//! obstacles of Lozano-Pérez, DOI 10.1109/TC.1983.1676196.
//!
//! ```text
//! in the way  [4, 8) at some steps, body of 3 bytes:
//! forbidden   offsets 2 to 7, so 0 and 1 are free, then 8
//! ```

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Request, SolveError};
use crate::constraints::{Constraints, Feature, FeatureSet, Reserved};
use crate::ids::{BufferId, PoolId};
use crate::interval_index::IntervalIndex;
use crate::kept_apart::KeptApart;
use crate::metrics::live_curve;
use crate::plan::Plan;
use crate::problem::Problem;
use crate::rigid::{Bodies, Body, Piece};

/// What this filler honours; pools are split off before it is asked.
pub(super) const SUPPORTS: FeatureSet = FeatureSet::of(&Feature::ALL);

/// Rectangles looked at after which no further order is begun; about a second.
const LOOK_BUDGET: u64 = 50_000_000;

/// Bodies of a problem, some of them placed.
pub(crate) struct Packing<'a> {
    bodies: Cow<'a, Bodies>,
    reserved: &'a [Reserved],
    /// Only without rules, so that every body is the buffer with its number.
    kept_apart: Option<&'a KeptApart>,
    index: IntervalIndex,
    offsets: Vec<u64>,
    is_placed: Vec<bool>,
    /// The pool of each body; empty if there is one.
    pools: Vec<PoolId>,
    /// Offsets that the body at hand may not have, as half-open ranges; kept for its memory.
    forbidden: Vec<(u64, u64)>,
    n_looks: u64,
}

impl<'a> Packing<'a> {
    /// A packing in which only what is fixed has its place.
    pub(crate) fn new(problem: &'a Problem) -> Self {
        let bodies = problem.bodies();
        let n = bodies.len();
        let index = IntervalIndex::over(n, |id| bodies.get(id.index()).lifetime);
        let reserved = problem.constraints().map_or(&[][..], Constraints::reserved);
        let kept_apart = problem.kept_apart();
        let (offsets, is_placed) = (vec![0; n], vec![false; n]);
        let (pools, forbidden) = (vec![PoolId(0); if problem.pools().is_empty() { 0 } else { n }], Vec::new());
        let mut packing = Self { bodies, reserved, kept_apart, index, offsets, is_placed, pools, forbidden, n_looks: 0 };
        for body in 0..n {
            if let Some(pin) = packing.bodies.get(body).pin {
                let pool = packing.bodies.pools_of(body).first().copied().unwrap_or(PoolId(0));
                packing.place_in(body, pool, pin);
            }
        }
        packing
    }

    /// A packing in which every body is where the plan has its first byte, in the plan's pools. Time O(n log n).
    pub(crate) fn of_plan(problem: &'a Problem, plan: &Plan) -> Self {
        let mut packing = Self::new(problem);
        for body in 0..packing.bodies.len() {
            let root = packing.bodies.get(body).root;
            packing.place_in(body, plan.pool(root), plan.offset(root));
        }
        packing
    }

    /// The lowest offset from `from` to below `limit` that a body may have in a pool if nothing else moves.
    pub(crate) fn lowest_between(&mut self, body: usize, pool: PoolId, from: u64, limit: u64) -> Option<u64> {
        /// Sums of offsets and sizes stay below 2^62, except in plans from elsewhere.
        const MAX_OFFSET: u64 = 1 << 62;
        let limit = limit.min(MAX_OFFSET);
        let offset = self.first_allowed(body, pool, from.min(limit), limit);
        (offset < limit).then_some(offset)
    }

    /// The lowest offset from `from` on that a body without a pin may have in a pool; `limit` or more if it is not below.
    fn first_allowed(&mut self, body: usize, pool: PoolId, from: u64, limit: u64) -> u64 {
        self.forbid(body, pool);
        let shape = self.bodies.get(body);
        let mut offset = self.bodies.next_offset(shape, from);
        for &(from, to) in &self.forbidden {
            if from > offset || offset >= limit {
                break;
            }
            if to > offset {
                offset = if to < limit { self.bodies.next_offset(shape, to) } else { limit };
            }
        }
        offset
    }

    /// What else holds bytes while a body is kept, in a pool: the pieces with their bytes there and the steps that both
    /// have in common.
    pub(crate) fn in_the_way(&self, body: usize, pool: PoolId) -> Vec<Piece> {
        let shape = self.bodies.get(body);
        let mut found = Vec::new();
        self.index.visit_live(shape.lifetime, |other| {
            if other.index() != body && is_in(&self.pools, other.index(), pool) {
                let (base, other) = (self.offsets[other.index()], self.bodies.get(other.index()));
                for piece in self.bodies.pieces_of(other) {
                    let (from_byte, to_byte) = (base.saturating_add(piece.from_byte), base.saturating_add(piece.to_byte));
                    let common = self.bodies.common_steps(shape, piece.lifetime);
                    found.extend(common.map(|lifetime| Piece { buffer: piece.buffer, lifetime, from_byte, to_byte }));
                }
            }
            true
        });
        found
    }

    pub(crate) fn bodies(&self) -> &Bodies {
        &self.bodies
    }

    pub(crate) fn is_placed(&self, body: usize) -> bool {
        self.is_placed[body]
    }

    /// Gives a body a place in a pool; nothing is checked.
    pub(crate) fn place_in(&mut self, body: usize, pool: PoolId, offset: u64) {
        if let Some(its) = self.pools.get_mut(body) {
            *its = pool;
        }
        self.place(body, offset);
    }

    /// Gives a body a place in the first pool; nothing is checked.
    pub(crate) fn place(&mut self, body: usize, offset: u64) {
        self.offsets[body] = offset;
        self.is_placed[body] = true;
        self.index.insert(BufferId::new(body), self.bodies.get(body).lifetime.end);
    }

    /// The lowest offset that a body without a pin may have among what is placed in a pool.
    pub(crate) fn lowest(&mut self, body: usize, pool: PoolId) -> u64 {
        self.first_allowed(body, pool, 0, u64::MAX)
    }

    /// Whether a body may be at `offset` among what is placed in a pool.
    pub(crate) fn fits(&mut self, body: usize, pool: PoolId, offset: u64) -> bool {
        self.forbid(body, pool);
        self.bodies.allows(self.bodies.get(body), offset) && self.forbidden.iter().all(|&(from, to)| offset < from || offset >= to)
    }

    /// Places a body at its lowest offset and returns one past its last byte.
    pub(crate) fn place_lowest(&mut self, body: usize) -> u64 {
        let offset = self.lowest(body, PoolId(0));
        self.place(body, offset);
        offset + self.bodies.get(body).bytes
    }

    /// The plan of what is placed, over all pools.
    pub(crate) fn into_plan(mut self, strategy: &'static str, problem: &Problem) -> Plan {
        let pools = std::mem::take(&mut self.pools);
        let mut of_buffer = vec![PoolId(0); if pools.is_empty() { 0 } else { problem.n_buffers() }];
        for (body, &pool) in self.bodies.iter().zip(&pools) {
            for &(id, _) in self.bodies.members_of(body) {
                of_buffer[id.index()] = pool;
            }
        }
        let offsets = self.into_offsets(problem.n_buffers());
        if pools.is_empty() { Plan::from_offsets(strategy, problem, offsets) } else { Plan::from_pools(strategy, problem, offsets, of_buffer) }
    }

    /// Where every member of every body is, by buffer.
    pub(crate) fn into_offsets(self, n_buffers: usize) -> Vec<u64> {
        let mut offsets = vec![0; n_buffers];
        for (body, &offset) in self.bodies.iter().zip(&self.offsets) {
            for &(id, at) in self.bodies.members_of(body) {
                offsets[id.index()] = offset + at;
            }
        }
        offsets
    }

    /// Lists the offsets that what else is placed or reserved in a pool forbids, sorted.
    fn forbid(&mut self, body: usize, pool: PoolId) {
        let Self { bodies, reserved, kept_apart, index, offsets, is_placed, pools, forbidden, n_looks } = self;
        let shape = bodies.get(body);
        forbidden.clear();
        let mut add = |one: &Piece, from_byte: u64, to_byte: u64| {
            let (from, to) = (from_byte.saturating_add(1).saturating_sub(one.to_byte), to_byte.saturating_sub(one.from_byte));
            if from < to {
                forbidden.push((from, to));
            }
        };
        for range in reserved.iter().filter(|range| range.pool == pool && range.lifetime.overlaps(shape.lifetime)) {
            for one in bodies.pieces_during(shape, range.lifetime) {
                add(one, range.from_byte, range.to_byte);
            }
        }
        index.visit_live(shape.lifetime, |other| {
            if other.index() == body || !is_in(pools, other.index(), pool) {
                return true;
            }
            let (base, other) = (offsets[other.index()], bodies.get(other.index()));
            for two in bodies.pieces_of(other) {
                *n_looks += 1;
                for one in bodies.pieces_during(shape, two.lifetime) {
                    add(one, base.saturating_add(two.from_byte), base.saturating_add(two.to_byte));
                }
            }
            true
        });
        if let Some(kept_apart) = kept_apart {
            for other in kept_apart.of(BufferId::new(body)).filter(|other| is_placed[other.index()]) {
                let base = offsets[other.index()];
                for one in bodies.pieces_of(shape) {
                    add(one, base, base + bodies.get(other.index()).bytes);
                }
            }
        }
        forbidden.sort_unstable();
    }
}

/// Whether a body is in a pool; `pools` is empty if there is one.
fn is_in(pools: &[PoolId], body: usize, pool: PoolId) -> bool {
    pools.get(body).is_none_or(|&its| its == pool)
}

/// Places all bodies in an order, each at its lowest offset.
pub(super) fn in_order<K: Ord>(request: &Request<'_>, strategy: &'static str, key: impl Fn(&Body) -> K) -> Result<Plan, SolveError> {
    let problem = request.problem;
    let mut packing = Packing::new(problem);
    let mut order: Vec<usize> = (0..packing.bodies.len()).filter(|&body| !packing.is_placed(body)).collect();
    order.sort_by_cached_key(|&body| (key(packing.bodies.get(body)), body));
    for body in order {
        // A body of many pieces takes long enough to ask every time.
        request.keep_going(0)?;
        packing.place_lowest(body);
    }
    Ok(Plan::from_offsets(strategy, problem, packing.into_offsets(problem.n_buffers())))
}

/// What an order of [`lowest_first`] sorts by, larger first.
#[derive(Clone, Copy)]
enum Key {
    Area,
    Length,
    Size,
    Load,
    Start,
    End,
}

const ORDERS: [(&str, [Key; 3]); 6] = [
    ("TAW", [Key::Load, Key::Area, Key::Length]),
    ("Z", [Key::Size, Key::Length, Key::Area]),
    ("TWA", [Key::Load, Key::Length, Key::Area]),
    ("WAT", [Key::Length, Key::Area, Key::Load]),
    ("LW", [Key::Start, Key::Length, Key::Size]),
    ("U", [Key::End, Key::Size, Key::Length]),
];

/// Always places the body whose lowest offset is lowest, ties by an order; the best of several orders.
///
/// As [`super::lowest_floor`], but a body may also slip into the room below what is fixed or reserved.
/// Lowest offsets only rise as bodies are placed, so an old one is a lower bound and bodies wait in a heap.
pub(super) fn lowest_first(request: &Request<'_>, strategy: &'static str) -> Result<Plan, SolveError> {
    let problem = request.problem;
    let mut best: Option<Plan> = None;
    let mut n_looks = 0;
    for (name, keys) in ORDERS {
        let below = best.as_ref().map_or(u64::MAX, |best| best.arena_bytes);
        if below <= request.bound_bytes || n_looks > LOOK_BUDGET {
            break;
        }
        let mut packing = Packing::new(problem);
        let order = sorted(problem, &packing, keys);
        let outcome = lowest_in_order(request, &mut packing, &order, below);
        n_looks += packing.n_looks;
        match outcome {
            Ok(true) => {
                let mut plan = Plan::from_offsets(strategy, problem, packing.into_offsets(problem.n_buffers()));
                plan.note = Some(format!("order {name}"));
                if plan.arena_bytes < below {
                    best = Some(plan);
                }
            }
            Ok(false) => {}
            Err(stopped) => return best.ok_or(stopped),
        }
    }
    best.ok_or(SolveError::Stopped)
}

/// Whether all bodies end below `below`.
fn lowest_in_order(request: &Request<'_>, packing: &mut Packing<'_>, order: &[usize], below: u64) -> Result<bool, SolveError> {
    let mut waiting: BinaryHeap<Reverse<(u64, usize)>> = (0..order.len()).map(|rank| Reverse((0, rank))).collect();
    while let Some(Reverse((known, rank))) = waiting.pop() {
        request.keep_going(0)?;
        let body = order[rank];
        let offset = packing.lowest(body, PoolId(0));
        if offset.saturating_add(packing.bodies.get(body).bytes) >= below {
            return Ok(false);
        }
        if offset > known {
            waiting.push(Reverse((offset, rank)));
        } else {
            packing.place(body, offset);
        }
    }
    Ok(true)
}

fn sorted(problem: &Problem, packing: &Packing<'_>, keys: [Key; 3]) -> Vec<usize> {
    let load = live_curve(problem);
    let bodies = &packing.bodies;
    let crowd = |body: &Body| {
        let first = load.steps.partition_point(|&step| step <= body.lifetime.start).saturating_sub(1);
        let pieces = load.steps[first..].iter().zip(&load.bytes[first..]);
        pieces.take_while(|&(&step, _)| step < body.lifetime.end).map(|(_, &bytes)| bytes).max().unwrap_or(0)
    };
    let value = |body: &Body, key: Key| match key {
        Key::Area => u128::from(body.bytes) * u128::from(body.lifetime.n_steps()),
        Key::Length => u128::from(body.lifetime.n_steps()),
        Key::Size => u128::from(body.bytes),
        Key::Load => u128::from(crowd(body)),
        Key::Start => u128::from(u64::MAX - body.lifetime.start),
        Key::End => u128::from(body.lifetime.end),
    };
    let mut order: Vec<usize> = (0..bodies.len()).filter(|&body| !packing.is_placed(body)).collect();
    order.sort_by_cached_key(|&body| (keys.map(|key| Reverse(value(bodies.get(body), key))), body));
    order
}
