//! Small tight problems, and a second way to answer them that shares nothing with the strategies.
//!
//! Problem: a solver that says "impossible" must be believed, and on random small problems the optimum is nearly
//! always the largest load, so they test no proof.
//! Method: draw a few buffers, then fill every step exactly to the capacity with buffers that live in that step only;
//! some per cent of these cannot be placed. The second method walks through time and keeps *all* placements of the
//! live buffers that any placement of the dead ones leads to.
//! Guarantee: [`fits`] is exact.
//! Time O(steps · placements · capacity), exponential in the number of live buffers; for capacities up to about 8.
//! Source: the padding is that of the project's own study; the sweep is dynamic programming over a path decomposition.
//!
//! ```text
//! cap 4   AA?      step 0: A and a filler of 3, step 1: A, B and fillers, …
//!         .BB      placements after step 0: {A at 0}, {A at 3}
//! ```

use std::collections::BTreeSet;

use crate::ids::BufferId;
use crate::lifetimes::Lifetime;
use crate::problem::Problem;
use crate::units::Align;

/// A problem and the capacity to which every step is filled.
#[derive(Clone, Debug)]
pub struct TightToy {
    /// Some dozens of buffers, with the fillers; without a capacity of its own.
    pub problem: Problem,
    /// What every step sums up to.
    pub capacity_bytes: u64,
}

/// The toy of a seed; about 3 % of them do not fit.
#[must_use]
pub fn tight_toy(seed: u64) -> TightToy {
    let mut rng = fastrand::Rng::with_seed(seed);
    let n_steps = rng.usize(12..=16);
    let capacity = rng.u64(6..=8);
    let mut load = vec![0; n_steps];
    let mut buffers: Vec<(u64, Lifetime)> = Vec::new();
    let mut add = |load: &mut Vec<u64>, from: usize, to: usize, size: u64| {
        load[from..to].iter_mut().for_each(|load| *load += size);
        buffers.push((size, Lifetime { start: from as u64, end: to as u64 }));
    };
    for _ in 0..rng.usize(40..=80) {
        let from = rng.usize(0..n_steps - 1);
        let to = rng.usize(from + 2..=n_steps.min(from + 6));
        let room = load[from..to].iter().map(|load| capacity - load).min().unwrap_or(0);
        if room > 0 {
            let size = rng.u64(1..=room.min(5));
            let n_copies = if rng.u32(0..6) == 0 && 2 * size <= room { 2 } else { 1 };
            for _ in 0..n_copies {
                add(&mut load, from, to, size);
            }
        }
    }
    for step in 0..n_steps {
        let mut left = capacity - load[step];
        if left > 1 && rng.u32(0..4) == 0 {
            let part = rng.u64(1..left);
            add(&mut load, step, step + 1, part);
            left -= part;
        }
        if left > 0 {
            add(&mut load, step, step + 1, left);
        }
    }
    rng.shuffle(&mut buffers);
    let problem = Problem::new(buffers, Align::ONE).expect("toys have sizes and lifetimes above zero");
    TightToy { problem, capacity_bytes: capacity }
}

/// A problem with longer lifetimes whose every step is filled exactly to `capacity_bytes`; the
/// longer and the finer, the fewer fit. Beyond what [`fits`] can answer.
///
/// # Panics
/// If there are fewer than three steps.
#[must_use]
pub fn crowded(n_steps: usize, capacity_bytes: u64, seed: u64) -> Problem {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut load = vec![0; n_steps];
    let mut buffers = Vec::new();
    for _ in 0..8 * n_steps {
        let from = rng.usize(0..n_steps - 1);
        let to = rng.usize(from + 2..=n_steps.min(from + 2 + n_steps / 3));
        let room = load[from..to].iter().map(|load| capacity_bytes - load).min().unwrap_or(0);
        if room > 0 {
            let size = rng.u64(1..=room.min(capacity_bytes * 2 / 3));
            load[from..to].iter_mut().for_each(|load| *load += size);
            buffers.push((size, Lifetime { start: from as u64, end: to as u64 }));
        }
    }
    let fillers = (0_u64..).zip(&load).filter(|&(_, &load)| load < capacity_bytes);
    buffers.extend(fillers.map(|(step, load)| (capacity_bytes - load, Lifetime { start: step, end: step + 1 })));
    Problem::new(buffers, Align::ONE).expect("buffers have sizes and lifetimes above zero")
}

/// Whether any placement of `ids` ends at or below `capacity_bytes`.
#[must_use]
pub fn fits(problem: &Problem, ids: &[BufferId], capacity_bytes: u64) -> bool {
    let mut births: Vec<BufferId> = ids.to_vec();
    births.sort_unstable_by_key(|&id| (problem.buffer(id).lifetime.start, id));
    // Every state lists the live buffers with their offsets, in order of birth.
    let mut states: BTreeSet<Vec<(BufferId, u64)>> = BTreeSet::from([Vec::new()]);
    for id in births {
        let buffer = problem.buffer(id);
        let now = buffer.lifetime.start;
        let is_live = |other: BufferId| problem.buffer(other).lifetime.end > now;
        let mut after = BTreeSet::new();
        for state in &states {
            let live: Vec<(BufferId, u64)> = state.iter().copied().filter(|&(other, _)| is_live(other)).collect();
            for offset in 0..=capacity_bytes.saturating_sub(buffer.bytes) {
                let end = offset + buffer.bytes;
                let is_free = end <= capacity_bytes && live.iter().all(|&(other, at)| end <= at || at + problem.buffer(other).bytes <= offset);
                if is_free {
                    after.insert(live.iter().copied().chain([(id, offset)]).collect());
                }
            }
        }
        states = after;
    }
    !states.is_empty()
}

/// The same problem with every size multiplied.
///
/// # Panics
/// If a size leaves the range of a problem.
#[must_use]
pub fn scaled(problem: &Problem, factor: u64) -> Problem {
    let sizes = problem.buffers().iter().map(|buffer| (buffer.bytes * factor, buffer.lifetime));
    Problem::new(sizes, Align::ONE).expect("toys stay small")
}

/// A rectangle of `n_steps` steps and `capacity_bytes` cut into `n_buffers` pieces at random: every step is full, and
/// the pieces fit. Each cut goes through the largest piece of three drawn ones, across its longer side as a share.
///
/// # Panics
/// If there are fewer steps or bytes than pieces.
#[must_use]
pub fn cut_rectangle(n_buffers: usize, n_steps: u64, capacity_bytes: u64, seed: u64) -> Problem {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut pieces = vec![(0, n_steps, 0, capacity_bytes)];
    while pieces.len() < n_buffers {
        let area = |piece: &(u64, u64, u64, u64)| (piece.1 - piece.0) * (piece.3 - piece.2);
        let drawn = [(); 3].map(|()| rng.usize(0..pieces.len()));
        let at = drawn.into_iter().max_by_key(|&at| area(&pieces[at])).unwrap_or(0);
        let (start, end, bottom, top) = pieces[at];
        if (end - start) * capacity_bytes > (top - bottom) * n_steps && end - start > 1 {
            let cut = rng.u64(start + 1..end);
            pieces[at].1 = cut;
            pieces.push((cut, end, bottom, top));
        } else if top - bottom > 1 {
            let cut = rng.u64(bottom + 1..top);
            pieces[at].3 = cut;
            pieces.push((start, end, cut, top));
        }
    }
    rng.shuffle(&mut pieces);
    let buffers = pieces.into_iter().map(|(start, end, bottom, top)| (top - bottom, Lifetime { start, end }));
    Problem::new(buffers, Align::ONE).expect("pieces have sizes and lifetimes above zero")
}
