//! Places explained where rules beyond sizes and lifetimes hold: alignments, fixed offsets, reserved bytes, gaps, views,
//! in-place groups, chunks and pools.
//!
//! Problem: such a buffer may move with others, may not go everywhere, and is kept only at some steps.
//! Method: what moves as one (a body of [`crate::rigid`]) is explained as one, by its first byte. Its neighbours are the
//! pieces of other bodies in its pool that are kept at one of its steps, and what is reserved there. Whether it could
//! be lower is asked of the same packing that strategies fill, with everything in it at the plan's places.
//! Guarantee: exact for one body at a time.
//! Time O(n log n) for one buffer, O(n log n + Σ met pieces · log) for all; space O(n).
//! Source: the project's own.
//!
//! ```text
//! byte 8 |BBBB      B with its view C moves as one; reserved bytes 4 to 6
//!      6 |CC..      and A below them block every lower place
//!      4 |rrrr
//!      0 |AAAA
//! ```

use super::place::{BetterPool, Blocker, LowerRange, PlaceReport, ranges_below};
use crate::constraints::Constraints;
use crate::control::Control;
use crate::ids::{BufferId, PoolId};
use crate::plan::Plan;
use crate::problem::Problem;
use crate::rigid::Bodies;
use crate::solve::packing::Packing;

/// As [`super::explain_place`].
pub(super) fn explain_place(problem: &Problem, plan: &Plan, buffer: BufferId) -> PlaceReport {
    let mut packing = Packing::of_plan(problem, plan);
    let index = body_of(packing.bodies(), buffer);
    let body = packing.bodies().get(index).clone();
    let (offset, pool) = (plan.offset(body.root), plan.pool(body.root));
    let is_pinned = body.pin.is_some();
    let blockers = blockers(problem, &packing, index, pool, offset);
    let mut lowest = |from: u64, limit: u64| if is_pinned { None } else { packing.lowest_between(index, pool, from, limit) };
    let could_be_at = lowest(0, offset);
    let below = ranges_below(&blockers, offset, body.bytes, |from_byte, to_byte, limit| {
        let short_bytes = body.bytes.saturating_sub(limit - from_byte);
        if lowest(from_byte, to_byte).is_some() {
            LowerRange::Free { from_byte, to_byte }
        } else if short_bytes > 0 {
            LowerRange::TooSmall { from_byte, to_byte, short_bytes }
        } else {
            LowerRange::Unsuitable { from_byte, to_byte }
        }
    });
    let members = packing.bodies().members_of(&body);
    let mut moves_with: Vec<BufferId> = members.iter().map(|&(id, _)| id).filter(|&id| id != buffer).collect();
    moves_with.sort_unstable();
    let better_pools = better_pools(problem, &mut packing, index, pool);
    PlaceReport { buffer, offset, below, could_be_at, is_pinned, moves_with, better_pools }
}

/// As [`super::lower_offsets`]; buffers that move as one all have the offset that they would have then.
pub(super) fn lower_offsets(problem: &Problem, plan: &Plan, control: &Control<'_>) -> Option<Vec<Option<u64>>> {
    /// Bodies between two questions; a body takes 1 to 100 µs.
    const POLL: usize = 64;
    let mut packing = Packing::of_plan(problem, plan);
    let mut lower = vec![None; problem.n_buffers()];
    for index in 0..packing.bodies().len() {
        if index.is_multiple_of(POLL) && control.is_stopped() {
            return None;
        }
        let body = packing.bodies().get(index);
        if body.pin.is_some() {
            continue;
        }
        let (offset, pool) = (plan.offset(body.root), plan.pool(body.root));
        if let Some(base) = packing.lowest_between(index, pool, 0, offset) {
            let bodies = packing.bodies();
            for &(id, at) in bodies.members_of(bodies.get(index)) {
                lower[id.index()] = Some(base + at);
            }
        }
    }
    Some(lower)
}

/// The body that a buffer belongs to.
fn body_of(bodies: &Bodies, buffer: BufferId) -> usize {
    let has = |index: &usize| bodies.members_of(bodies.get(*index)).iter().any(|&(id, _)| id == buffer);
    (0..bodies.len()).find(has).expect("every buffer belongs to a body")
}

/// What holds bytes below a body while it is kept, by first byte, then id, reserved bytes first.
fn blockers(problem: &Problem, packing: &Packing<'_>, index: usize, pool: PoolId, offset: u64) -> Vec<Blocker> {
    let body = packing.bodies().get(index);
    let pieces = packing.in_the_way(index, pool).into_iter();
    let mut blockers: Vec<Blocker> = pieces
        .map(|piece| Blocker { buffer: Some(piece.buffer), from_byte: piece.from_byte, to_byte: piece.to_byte, steps: Some(piece.lifetime) })
        .collect();
    let reserved = problem.constraints().map_or(&[][..], Constraints::reserved).iter().filter(|range| range.pool == pool);
    blockers.extend(reserved.filter_map(|range| {
        let steps = packing.bodies().common_steps(body, range.lifetime)?;
        Some(Blocker { buffer: None, from_byte: range.from_byte, to_byte: range.to_byte, steps: Some(steps) })
    }));
    blockers.retain(|blocker| blocker.from_byte < offset);
    blockers.sort_unstable_by_key(|blocker| (blocker.from_byte, blocker.buffer, blocker.steps));
    blockers
}

/// Where a body would be in the pools that it prefers to `pool`.
fn better_pools(problem: &Problem, packing: &mut Packing<'_>, index: usize, pool: PoolId) -> Vec<BetterPool> {
    let bodies = packing.bodies();
    let bytes = bodies.get(index).bytes;
    let better: Vec<PoolId> = bodies.pools_of(index).iter().copied().take_while(|&other| other != pool).collect();
    let place = |pool: PoolId| {
        let lowest = packing.lowest_between(index, pool, 0, u64::MAX)?;
        let needs_bytes = lowest.saturating_add(bytes);
        let fits = problem.pool_capacity_bytes(pool).is_none_or(|capacity| needs_bytes <= capacity);
        Some(BetterPool { pool, needs_bytes, fits })
    };
    better.into_iter().filter_map(place).collect()
}
