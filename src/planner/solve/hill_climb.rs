//! `hill-climb`: greedy by size, then 500 rounds that swap neighbours of a buffer at the top.
//!
//! Problem: place buffers without overlaps in a small arena.
//! Method: place buffers in an order, by size at first, each at its lowest free offset. A round takes a buffer that
//! ends at the top of the arena, and swaps in the order one of those that meet it and are placed before it with one
//! that meets such a buffer and is placed before that; then places again. A better arena is kept; a worse one too, with
//! a chance that falls with the loss and the number of rounds; else the swap is undone. The best of all rounds is
//! the plan. Only what comes after the first of the two swapped buffers is placed again.
//! Guarantee: valid, never larger than its start; no bound on the arena. The same seed gives the same plan.
//! Time O(500 · conflicts · log live), space O(conflicts). Refuses more than 1,000,000 conflicts.
//! Source: TVM, `src/tir/usmp/algo/hill_climb.cc`.
//!
//! ```text
//! byte 5 |.CC..      C is at the top: swap A, which it meets, with B,
//!      2 |AAA..      which meets A; B goes down, A up, and C fits below
//!      0 |..BBB
//! ```

use super::greedy_size::lowest_gap;
use super::{Request, SolveError, Strategy, StrategyKind};
use crate::constraints::FeatureSet;
use crate::control::Progress;
use crate::ids::BufferId;
use crate::interference::Interference;
use crate::plan::Plan;

pub(super) const STRATEGY: Strategy = Strategy {
    name: "hill-climb",
    summary: "Greedy by size, then 500 rounds that swap neighbours of a buffer at the top of the arena.",
    source: "TVM, src/tir/usmp/algo/hill_climb.cc",
    kind: StrategyKind::Offsets,
    is_safe: true,
    needs_graph: false,
    supports: FeatureSet::NONE,
    run,
};

/// Rounds; the source's constant.
const ROUNDS: u64 = 500;

/// Conflicts beyond which the rounds take more than about ten seconds; measured.
const MAX_CONFLICTS: u64 = 1_000_000;

/// Chance in per cent to swap with a neighbour of a neighbour and not with a neighbour; the source's constant.
const SECOND_LEVEL_PERCENT: u64 = 75;

fn run(request: &Request<'_>) -> Result<Plan, SolveError> {
    let because = "it goes through all conflicts 500 times, and there are more than 1,000,000";
    request.afford(&STRATEGY, MAX_CONFLICTS, because)?;
    let mut climb = Climb::new(request)?;
    climb.place_from(0)?;
    let mut best = climb.offsets.clone();
    let mut best_bytes = climb.arena_bytes();
    let mut accepted_bytes = best_bytes;
    for round in 1..ROUNDS {
        if best_bytes <= request.bound_bytes || request.control.is_stopped() {
            break;
        }
        let Some((one, two)) = climb.choose_swap() else { continue };
        let before = climb.offsets.clone();
        climb.swap(one, two);
        if climb.place_from(one.min(two)).is_err() {
            break;
        }
        let bytes = climb.arena_bytes();
        let loss_percent = bytes.saturating_sub(accepted_bytes).saturating_mul(50) / bytes.max(1) / round;
        if bytes < accepted_bytes || climb.rng.u64(0..100) < loss_percent {
            accepted_bytes = bytes;
        } else {
            climb.swap(one, two);
            climb.offsets = before;
        }
        if bytes < best_bytes {
            best_bytes = bytes;
            best.clone_from(&climb.offsets);
            request.control.report(Progress { what: format!("hill climb, round {round}"), fraction: None, best_arena_bytes: Some(bytes) });
        }
    }
    Ok(Plan::from_offsets(STRATEGY.name, request.problem, best))
}

/// An order of the buffers with the placement that it gives; columns by buffer.
struct Climb<'a> {
    request: &'a Request<'a>,
    rng: fastrand::Rng,
    /// Who each buffer meets.
    neighbours: Vec<Vec<BufferId>>,
    order: Vec<BufferId>,
    position: Vec<usize>,
    /// How many of those that a buffer meets are placed before it.
    n_before: Vec<u64>,
    offsets: Vec<u64>,
    /// Ranges in the way of the buffer at hand; kept for its memory.
    obstacles: Vec<(u64, u64)>,
}

impl<'a> Climb<'a> {
    fn new(request: &'a Request<'a>) -> Result<Self, SolveError> {
        let problem = request.problem;
        let interference = Interference::new(problem);
        let mut neighbours = Vec::with_capacity(problem.n_buffers());
        for (turn, id) in problem.ids().enumerate() {
            request.keep_going(turn)?;
            neighbours.push(interference.neighbours(id));
        }
        let mut order: Vec<BufferId> = problem.ids().collect();
        order.sort_unstable_by_key(|&id| (std::cmp::Reverse((problem.buffer(id).bytes, neighbours[id.index()].len())), id));
        let mut position = vec![0; order.len()];
        for (at, id) in order.iter().enumerate() {
            position[id.index()] = at;
        }
        let rng = fastrand::Rng::with_seed(request.options.seed);
        let n_before = vec![0; order.len()];
        let offsets = vec![0; order.len()];
        let mut climb = Self { request, rng, neighbours, order, position, n_before, offsets, obstacles: Vec::new() };
        for id in problem.ids() {
            climb.count_before(id);
        }
        Ok(climb)
    }

    fn is_before(&self, one: BufferId, two: BufferId) -> bool {
        self.position[one.index()] < self.position[two.index()]
    }

    fn count_before(&mut self, id: BufferId) {
        let n = self.neighbours[id.index()].iter().filter(|&&other| self.is_before(other, id)).count();
        self.n_before[id.index()] = n as u64;
    }

    /// Places the buffers from a position on; those before it keep their places.
    fn place_from(&mut self, first: usize) -> Result<(), SolveError> {
        let problem = self.request.problem;
        for at in first..self.order.len() {
            self.request.keep_going(at - first)?;
            let id = self.order[at];
            self.obstacles.clear();
            for &other in &self.neighbours[id.index()] {
                if self.position[other.index()] < at {
                    let begin = self.offsets[other.index()];
                    self.obstacles.push((begin, begin + problem.buffer(other).bytes));
                }
            }
            self.offsets[id.index()] = lowest_gap(&mut self.obstacles, problem.buffer(id).bytes);
        }
        Ok(())
    }

    fn end(&self, id: BufferId) -> u64 {
        self.offsets[id.index()] + self.request.problem.buffer(id).bytes
    }

    fn arena_bytes(&self) -> u64 {
        self.order.iter().map(|&id| self.end(id)).max().unwrap_or(0)
    }

    /// Swaps the buffers at two positions. Time O(neighbours).
    fn swap(&mut self, one: usize, two: usize) {
        let (first, second) = (one.min(two), one.max(two));
        let (later, earlier) = (self.order[first], self.order[second]);
        let Self { neighbours, position, n_before, .. } = self;
        let is_between = |id: &&BufferId| (first + 1..second).contains(&position[id.index()]);
        neighbours[later.index()].iter().filter(is_between).for_each(|id| n_before[id.index()] -= 1);
        neighbours[earlier.index()].iter().filter(is_between).for_each(|id| n_before[id.index()] += 1);
        self.order.swap(first, second);
        self.position[earlier.index()] = first;
        self.position[later.index()] = second;
        self.count_before(earlier);
        self.count_before(later);
    }

    /// Two positions to swap; `None` if nobody who meets the chosen buffer at the top is placed before it.
    fn choose_swap(&mut self) -> Option<(usize, usize)> {
        let arena_bytes = self.arena_bytes();
        let tops: Vec<BufferId> = self.order.iter().copied().filter(|&id| self.end(id) == arena_bytes).collect();
        let top = tops[self.rng.usize(0..tops.len())];
        let first_level: Vec<BufferId> = self.neighbours[top.index()].iter().copied().filter(|&other| self.is_before(other, top)).collect();
        let n_second: u64 = self.neighbours[top.index()].iter().map(|id| self.n_before[id.index()]).sum();
        if first_level.is_empty() || (first_level.len() < 2 && n_second < 2) {
            return None;
        }
        let one = first_level[self.rng.usize(0..first_level.len())];
        // A draw in which all candidates are the same buffer must end.
        (0..16).find_map(|_| {
            let takes_second = n_second > 0 && self.rng.u64(0..100) < SECOND_LEVEL_PERCENT;
            let two = if takes_second { self.second_level(top, n_second)? } else { first_level[self.rng.usize(0..first_level.len())] };
            (two != one).then(|| (self.position[one.index()], self.position[two.index()]))
        })
    }

    /// One of the `n_second` pairs of a buffer that meets `top` and one that meets that and is placed before it.
    fn second_level(&mut self, top: BufferId, n_second: u64) -> Option<BufferId> {
        let mut rest = self.rng.u64(0..n_second);
        for &first in &self.neighbours[top.index()] {
            let n_before = self.n_before[first.index()];
            if rest < n_before {
                let mut before = self.neighbours[first.index()].iter().copied().filter(|&other| self.is_before(other, first));
                return before.nth(usize::try_from(rest).ok()?);
            }
            rest -= n_before;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;
    use crate::generate::Kind;
    use crate::problem::Problem;
    use crate::solve::{SolveOptions, solve};
    use crate::testing::generated_problem;

    fn dense(n: usize, seed: u64) -> Problem {
        generated_problem(Kind::Uni, n, seed)
    }

    fn plan(name: &str, problem: &Problem, seed: u64) -> Plan {
        let options = SolveOptions { seed, ..SolveOptions::default() };
        solve(name, problem, None, &options, &Control::unattended()).expect("a plan")
    }

    #[test]
    fn climbs_below_every_greedy_strategy_somewhere() {
        let one_pass = ["greedy-size", "first-fit", "best-fit-decreasing", "tflite-arena", "greedy-conflicts"];
        let is_below = |problem: &Problem| {
            let climbed = plan("hill-climb", problem, 0).arena_bytes;
            one_pass.iter().all(|name| plan(name, problem, 0).arena_bytes > climbed)
        };
        assert!((0..20).map(|seed| dense(40, seed)).any(|problem| is_below(&problem)));
    }

    #[test]
    fn a_seed_names_a_plan() {
        let problem = dense(40, 1);
        assert_eq!(plan("hill-climb", &problem, 1), plan("hill-climb", &problem, 1));
        assert_ne!(plan("hill-climb", &problem, 1).offsets, plan("hill-climb", &problem, 2).offsets);
    }

    #[test]
    fn counts_who_is_placed_before_through_many_swaps() {
        let problem = dense(40, 3);
        let (options, control) = (SolveOptions::default(), Control::unattended());
        let request = Request::new(&problem, None, &options, &control);
        let mut climb = Climb::new(&request).expect("nobody stops it");
        for _ in 0..200 {
            let (one, two) = (climb.rng.usize(0..40), climb.rng.usize(0..40));
            if one != two {
                climb.swap(one, two);
            }
            let counted = climb.n_before.clone();
            problem.ids().for_each(|id| climb.count_before(id));
            assert_eq!(counted, climb.n_before);
        }
    }
}
