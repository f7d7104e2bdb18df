//! `boxing`: packs small buffers into boxes until all have one height, colours them, and squeezes what comes out.
//!
//! Problem: place buffers without overlaps in a small arena.
//! Method: start with first fit by size. Then, in each round, pack small buffers into boxes until everything has the
//! same height ([`super::boxing_jobs`]); colour the boxes into rows, which is optimal for one height; unpack them, so
//! that every buffer has a loose offset; and place the buffers in the order of their loose offsets, each at its lowest
//! free offset, until that is no better than the best plan so far. A round draws its own critical points and its own
//! ratio of neighbouring classes.
//! Guarantee: valid, never larger than `greedy-size`. The same seed gives the same plan. In theory the arena is
//! LOAD + O(LOAD^(6/7) · largest^(1/7)); in practice a round seldom beats the start.
//! Time O(rounds · conflicts · log live), space O(n). 2 to 64 rounds, by the number of conflicts; refuses more than
//! 2·10^8 of them.
//! Source: Buchsbaum, Karloff, Kenyon, Reingold and Thorup, "OPT versus LOAD in dynamic storage allocation",
//! DOI 10.1137/S0097539703423941; idealloc, `coreba/src/algo/mod.rs` (the rounds and the squeeze).
//!
//! ```text
//! pack     a b c d -> one box as high as E     colour   row 1  [abcd]
//! unpack   loose offsets, with gaps                     row 0  E   F
//! squeeze  first fit, lowest loose offset first
//! ```

use super::boxing_jobs::{Job, Jobs};
use super::greedy_size::{Filling, by_size};
use super::{Request, SolveError, Strategy, StrategyKind};
use crate::constraints::FeatureSet;
use crate::control::Progress;
use crate::ids::BufferId;
use crate::plan::Plan;

pub(super) const STRATEGY: Strategy = Strategy {
    name: "boxing",
    summary: "Packs small buffers into boxes of one height, colours those, and squeezes the result by first fit.",
    source: "Buchsbaum et al. 2004, DOI 10.1137/S0097539703423941; idealloc, coreba/src/algo",
    kind: StrategyKind::Offsets,
    is_safe: true,
    needs_graph: false,
    supports: FeatureSet::NONE,
    run,
};

/// Conflicts beyond which the start and two rounds take more than about twenty seconds; measured.
const MAX_CONFLICTS: u64 = 200_000_000;

/// Conflicts looked at in all rounds together, unless two rounds take more; one to two seconds, measured.
const CONFLICT_BUDGET: u64 = 20_000_000;

/// Rounds that even a large input gets, and that even a small one does not exceed; chosen by eye.
const ROUNDS: std::ops::RangeInclusive<u64> = 2..=64;

/// Values of ε to draw from: classes of heights grow by 1 + ε.
const EPSILONS: [f64; 4] = [0.25, 0.5, 1.0, 2.0];

/// How much higher than the smallest jobs the boxes are that they go into; drawn too.
const STEPS: [u64; 4] = [4, 8, 16, 64];

fn run(request: &Request<'_>) -> Result<Plan, SolveError> {
    let n_conflicts = request.afford(&STRATEGY, MAX_CONFLICTS, "a round looks at every conflict, and there are more than 200,000,000")?;
    let n_rounds = (CONFLICT_BUDGET / n_conflicts.max(1)).clamp(*ROUNDS.start(), *ROUNDS.end());
    let mut rng = fastrand::Rng::with_seed(request.options.seed);
    let start = squeeze(request, &by_size(request.problem), u64::MAX)?.ok_or(SolveError::Stopped)?;
    let mut best = Plan::from_offsets(STRATEGY.name, request.problem, start);
    best.note = Some("the start, first fit by size".to_owned());
    for round in 1..=n_rounds {
        if best.arena_bytes <= request.bound_bytes || request.control.is_stopped() {
            break;
        }
        let order = loose_order(request, rng.fork());
        match squeeze(request, &order, best.arena_bytes) {
            Ok(Some(offsets)) => {
                best = Plan::from_offsets(STRATEGY.name, request.problem, offsets);
                best.note = Some(format!("round {round} of {n_rounds}"));
                request.control.report(Progress { what: format!("boxing, round {round}"), fraction: None, best_arena_bytes: Some(best.arena_bytes) });
            }
            Ok(None) => {}
            Err(_) => break,
        }
    }
    Ok(best)
}

/// First fit in an order; `None` if it does not end below `below`.
fn squeeze(request: &Request<'_>, order: &[BufferId], below: u64) -> Result<Option<Vec<u64>>, SolveError> {
    let mut filling = Filling::new(request.problem);
    let highest = filling.place_all(request, order.iter().copied(), Filling::place_lowest, below)?;
    Ok(highest.map(|_| filling.offsets))
}

/// The buffers by the offsets that boxing gives them, larger first on ties.
fn loose_order(request: &Request<'_>, mut rng: fastrand::Rng) -> Vec<BufferId> {
    let problem = request.problem;
    let (epsilon, step) = (EPSILONS[rng.usize(0..EPSILONS.len())], STEPS[rng.usize(0..STEPS.len())]);
    let mut jobs = Jobs::new(problem.buffers().iter().map(|buffer| (buffer.lifetime, buffer.bytes)), rng);
    let offsets = loose_offsets(&mut jobs, problem.n_buffers(), epsilon, step);
    let mut order: Vec<BufferId> = problem.ids().collect();
    order.sort_unstable_by_key(|&id| (offsets[id.index()], std::cmp::Reverse(problem.buffer(id).bytes), id));
    order
}

/// Boxes everything, colours the boxes and unpacks them: an offset for each of the first `n_buffers` jobs.
fn loose_offsets(jobs: &mut Jobs, n_buffers: usize, epsilon: f64, step: u64) -> Vec<u64> {
    let height = |all: &[Job], job: u32| all[job as usize].height;
    let mut present: Vec<u32> = (0..).take(n_buffers).collect();
    let highest = present.iter().map(|&job| height(&jobs.all, job)).max().unwrap_or(0);
    loop {
        let lowest = present.iter().map(|&job| height(&jobs.all, job)).min().unwrap_or(0);
        if lowest == highest {
            break;
        }
        let box_height = lowest.saturating_mul(step).min(highest);
        // Only what fits more than once gains from a box, except at the end, when all must become alike.
        let limit = if box_height == highest { highest - 1 } else { box_height / 2 };
        let (small, large): (Vec<u32>, Vec<u32>) = present.iter().partition(|&&job| height(&jobs.all, job) <= limit.max(lowest));
        present = large;
        present.extend(jobs.pack(small, box_height, epsilon));
    }
    let mut offsets = vec![0; jobs.all.len()];
    let mut open: Vec<(u32, u64)> = Vec::new();
    for (row, offset) in jobs.rows(present).into_iter().zip((0_u64..).map(|row| row.saturating_mul(highest))) {
        open.extend(row.into_iter().map(|job| (job, offset)));
    }
    while let Some((job, offset)) = open.pop() {
        offsets[job as usize] = offset;
        open.extend(jobs.all[job as usize].inside.iter().map(|&(job, above)| (job, offset.saturating_add(above))));
    }
    offsets.truncate(n_buffers);
    offsets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::check;
    use crate::control::Control;
    use crate::generate::Kind;
    use crate::problem::Problem;
    use crate::solve::{SolveOptions, solve};
    use crate::testing::{generated_problem, random_problem};

    fn arena(name: &str, problem: &Problem) -> u64 {
        solve(name, problem, None, &SolveOptions::default(), &Control::unattended()).expect("a plan").arena_bytes
    }

    fn dense(seed: u64) -> Problem {
        generated_problem(Kind::Uni, 600, seed)
    }

    #[test]
    fn loose_offsets_are_a_plan_themselves() {
        for seed in 0..400 {
            // Every twentieth is crowded enough for strips.
            let problem = if seed % 20 == 0 { dense(seed) } else { random_problem(seed, 80) };
            let rng = fastrand::Rng::with_seed(seed);
            let mut jobs = Jobs::new(problem.buffers().iter().map(|buffer| (buffer.lifetime, buffer.bytes)), rng);
            let at = usize::try_from(seed % 4).expect("a small number");
            let offsets = loose_offsets(&mut jobs, problem.n_buffers(), EPSILONS[at], STEPS[at]);
            let report = check(&problem, &Plan::from_offsets("loose", &problem, offsets));
            assert_eq!(report.n_overlaps, 0, "seed {seed}: {:?}", report.violations.first());
        }
    }

    #[test]
    fn a_round_beats_its_start_and_lowest_floor_somewhere() {
        let problems: Vec<Problem> = (0..300).map(|seed| random_problem(seed, 60)).collect();
        for other in ["greedy-size", "lowest-floor"] {
            assert!(problems.iter().any(|problem| arena("boxing", problem) < arena(other, problem)), "never smaller than {other}");
        }
    }
}
