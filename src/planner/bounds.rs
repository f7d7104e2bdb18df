//! A lower bound on the arena of every plan, and the step and buffers that force it.
//!
//! Problem: how small could any plan be?
//! Method: buffers live at one step lie side by side, so no arena is smaller than the sum of their sizes; take the
//! step with the largest sum.
//! Guarantee: a true lower bound; the best plan can be larger (by up to a few per cent on published instances).
//! Time O(n log n), space O(n).
//! Source: the "max load" of Buchsbaum et al., "OPT versus LOAD in dynamic storage allocation",
//! DOI 10.1137/S0097539703423941.
//!
//! ```text
//! A 4 ###..       step  0 1 2 3 4
//! B 8 .###.       load  4 12 18 14 6     bound 18, forced by A, B, C at step 2
//! C 6 ..###
//! ```

use crate::ids::BufferId;
use crate::kept_apart::KeptApart;
use crate::problem::Problem;
use crate::rigid::Piece;

/// A number of bytes that no plan can go below, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LowerBound {
    /// The bound; 0 without buffers.
    pub bytes: u64,
    /// The first step that forces it; where a clique of buffers that are kept apart does, the step of the peak.
    pub step: u64,
    /// The buffers live at that step, or those of the clique, by id; without rules beyond sizes and lifetimes, their
    /// sizes add up to the bound.
    pub buffers: Vec<BufferId>,
}

/// The largest sum of sizes live at one step, or what fixed and reserved bytes make of it ([`bound_bytes`]); where
/// buffers are kept apart, that of a clique if it is larger.
#[must_use]
pub fn lower_bound(problem: &Problem) -> LowerBound {
    let (bytes, step) = bound_bytes(problem);
    if let Some(clique) = problem.kept_apart().map(KeptApart::clique).filter(|clique| clique.bytes > bytes) {
        return LowerBound { bytes: clique.bytes, step, buffers: clique.buffers.clone() };
    }
    let buffers = problem.ids().filter(|&id| problem.buffer(id).lifetime.contains(step)).collect();
    LowerBound { bytes, step, buffers }
}

/// The bytes of [`lower_bound`], without its buffers. Time O(n log n).
#[must_use]
pub fn lower_bound_bytes(problem: &Problem) -> u64 {
    let clique_bytes = problem.kept_apart().map_or(0, |kept_apart| kept_apart.clique().bytes);
    bound_bytes(problem).0.max(clique_bytes)
}

/// What no plan of `problem` can go below, kept-apart pairs aside, and the first step that forces it; `(0, 0)` without
/// buffers.
///
/// Without rules beyond sizes and lifetimes that is the peak. Otherwise: at each step, what must be kept and is not
/// fixed has to find room in the bytes that are neither reserved nor fixed, so the arena reaches at least as far as
/// that room does; and it reaches to the end of all that is fixed. Over several pools, the sum of their arenas is at
/// least the peak, and at least the sum of what is fixed highest in each.
#[must_use]
pub fn bound_bytes(problem: &Problem) -> (u64, u64) {
    let Some(constraints) = problem.constraints() else { return peak_live_bytes(problem) };
    let bodies = problem.bodies();
    let mut highest_pin = vec![(0_u64, 0_u64); problem.pools().len().max(1)];
    let mut free: Vec<Piece> = Vec::new();
    let mut taken: Vec<Piece> = Vec::new();
    for (index, body) in bodies.iter().enumerate() {
        let Some(pin) = body.pin else {
            free.extend(bodies.pieces_of(body));
            continue;
        };
        let pool = bodies.pools_of(index).first().map_or(0, |pool| pool.index());
        highest_pin[pool] = highest_pin[pool].max((pin + body.bytes, body.lifetime.start));
        let absolute = |piece: &Piece| Piece { from_byte: piece.from_byte + pin, to_byte: piece.to_byte + pin, ..*piece };
        taken.extend(bodies.pieces_of(body).iter().map(absolute));
    }
    let pinned = (highest_pin.iter().map(|&(end, _)| end).sum(), highest_pin.iter().max().map_or(0, |&(_, step)| step));
    let load = if problem.pools().is_empty() {
        taken.extend(constraints.reserved.iter().map(|range| Piece {
            buffer: BufferId(0),
            lifetime: range.lifetime,
            from_byte: range.from_byte,
            to_byte: range.to_byte,
        }));
        load_around(free, taken)
    } else {
        peak_live_bytes(problem)
    };
    if pinned.0 > load.0 { pinned } else { load }
}

/// The highest byte that `free` must reach at any step when it fills what `taken` leaves, and that step.
fn load_around(mut free: Vec<Piece>, mut taken: Vec<Piece>) -> (u64, u64) {
    let mut steps: Vec<u64> = free.iter().chain(&taken).map(|piece| piece.lifetime.start).collect();
    steps.extend(taken.iter().map(|piece| piece.lifetime.end));
    steps.sort_unstable();
    steps.dedup();
    free.sort_unstable_by_key(|piece| piece.lifetime.start);
    taken.sort_unstable_by_key(|piece| piece.lifetime.start);
    let mut deaths: Vec<(u64, u64)> = free.iter().map(|piece| (piece.lifetime.end, piece.bytes())).collect();
    deaths.sort_unstable();
    let (mut births, mut deaths) = (free.into_iter().peekable(), deaths.into_iter().peekable());
    let mut arrivals = taken.into_iter().peekable();
    let mut obstacles: Vec<Piece> = Vec::new();
    let mut live = 0;
    let mut best = (0, 0);
    for step in steps {
        while let Some(piece) = births.next_if(|piece| piece.lifetime.start <= step) {
            live += piece.bytes();
        }
        while let Some((_, bytes)) = deaths.next_if(|&(end, _)| end <= step) {
            live -= bytes;
        }
        obstacles.retain(|piece| piece.lifetime.end > step);
        while let Some(piece) = arrivals.next_if(|piece| piece.lifetime.start <= step) {
            if piece.lifetime.end > step {
                obstacles.insert(obstacles.partition_point(|other| other.from_byte < piece.from_byte), piece);
            }
        }
        let top = if live == 0 { 0 } else { top_around(live, &obstacles) };
        if top > best.0 {
            best = (top, step);
        }
    }
    best
}

/// Where `need` bytes end that fill from the bottom what `obstacles`, sorted, leave free.
fn top_around(mut need: u64, obstacles: &[Piece]) -> u64 {
    let mut top = 0;
    for piece in obstacles {
        let room = piece.from_byte.saturating_sub(top);
        if need <= room {
            break;
        }
        need -= room;
        top = top.max(piece.to_byte);
    }
    top + need
}

/// The largest sum of bytes kept at one step, shared ones once, and the first step at which it is reached; `(0, 0)` without buffers.
#[must_use]
pub fn peak_live_bytes(problem: &Problem) -> (u64, u64) {
    let mut births: Vec<(u64, u64)> = problem.pieces().map(|piece| (piece.lifetime.start, piece.bytes())).collect();
    let mut deaths: Vec<(u64, u64)> = problem.pieces().map(|piece| (piece.lifetime.end, piece.bytes())).collect();
    births.sort_unstable();
    deaths.sort_unstable();
    let mut best = (0, 0);
    let mut live_bytes = 0_u64;
    let mut n_dead = 0;
    for (start, bytes) in births {
        while deaths[n_dead].0 <= start {
            live_bytes -= deaths[n_dead].1;
            n_dead += 1;
        }
        live_bytes += bytes;
        if live_bytes > best.0 {
            best = (live_bytes, start);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::{Constraints, Reserved};
    use crate::ids::PoolId;
    use crate::lifetimes::Lifetime;
    use crate::testing::random_problem;
    use crate::units::Align;

    #[test]
    fn the_bound_is_the_largest_sum_over_all_steps_and_its_buffers_add_up_to_it() {
        for seed in 0..200 {
            let problem = random_problem(seed, 50);
            let span = problem.span();
            let load = |step: u64| problem.buffers().iter().filter(|buffer| buffer.lifetime.contains(step)).map(|buffer| buffer.bytes).sum::<u64>();
            let bound = lower_bound(&problem);
            assert_eq!(Some(bound.bytes), (span.start..span.end).map(load).max(), "seed {seed}");
            assert_eq!((span.start..span.end).find(|&step| load(step) == bound.bytes), Some(bound.step), "seed {seed}");
            assert_eq!(bound.buffers.iter().map(|&id| problem.buffer(id).bytes).sum::<u64>(), bound.bytes, "seed {seed}");
        }
    }

    #[test]
    fn what_is_fixed_and_reserved_raises_the_bound_and_gaps_lower_it() {
        let life = |start, end| Lifetime { start, end };
        let problem = |rules: &dyn Fn(&mut Constraints)| {
            let mut constraints = Constraints::default();
            rules(&mut constraints);
            let problem = Problem::new([(8, life(0, 4)), (4, life(2, 6))], Align::ONE).expect("a valid problem");
            bound_bytes(&problem.with_constraints(constraints).expect("rules without contradictions"))
        };
        let reserve = |from_byte, to_byte| Reserved { pool: PoolId(0), lifetime: life(3, 9), from_byte, to_byte };
        assert_eq!(problem(&|_| ()), (12, 2));
        assert_eq!(
            problem(&|rules| {
                rules.add_gap(BufferId(0), life(2, 4), None);
            }),
            (8, 0)
        );
        assert_eq!(
            problem(&|rules| {
                rules.reserve(reserve(0, 4));
            }),
            (16, 3)
        );
        assert_eq!(
            problem(&|rules| {
                rules.reserve(reserve(50, 60));
            }),
            (12, 2)
        );
        assert_eq!(
            problem(&|rules| {
                rules.pin(BufferId(1), 96);
            }),
            (100, 2)
        );
        assert_eq!(
            problem(&|rules| {
                rules.pin(BufferId(1), 4);
            }),
            (12, 2)
        );
    }
}
