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

/// A number of bytes that no plan can go below, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LowerBound {
    /// The bound; 0 without buffers.
    pub bytes: u64,
    /// The first step that forces it; where a clique of buffers that are kept apart does, the step of the peak.
    pub step: u64,
    /// The buffers live at that step, or those of the clique, by id; their sizes add up to the bound.
    pub buffers: Vec<BufferId>,
}

/// The largest sum of sizes live at one step; where buffers are kept apart, that of a clique if it is larger.
#[must_use]
pub fn lower_bound(problem: &Problem) -> LowerBound {
    let (bytes, step) = peak_live_bytes(problem);
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
    peak_live_bytes(problem).0.max(clique_bytes)
}

/// The largest sum of sizes live at one step, and the first step at which it is reached; `(0, 0)` without buffers.
#[must_use]
pub fn peak_live_bytes(problem: &Problem) -> (u64, u64) {
    let mut births: Vec<(u64, u64)> = problem.buffers().iter().map(|buffer| (buffer.lifetime.start, buffer.bytes)).collect();
    let mut deaths: Vec<(u64, u64)> = problem.buffers().iter().map(|buffer| (buffer.lifetime.end, buffer.bytes)).collect();
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
    use crate::testing::random_problem;

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
}
