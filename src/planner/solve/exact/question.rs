//! A whole problem under search: its parts, the plan put together from them, and what is proved.
//!
//! Problem: the arena is as large as the highest part, so work on any other part is wasted.
//! Method: *minimum*: give the next instalment to the part that is highest now; end when it is proved to be as low as
//! it can get, or as low as the highest lower bound of all. *Fit*: give every part that is too high one round after the
//! other; end when all fit or one is proved not to.
//! Guarantee: never worse than the plan it starts from; see [`super::portfolio`] for determinism.
//! Time and space: those of the instalments.
//! Source: the project's own.
//!
//! ```text
//! part      1    2    3
//! height   90  100   70      lower part 2 until it is at 90 or proved, then the higher of 1 and 2 …
//! ```

use super::instance::{Decomposed, Instance, decompose};
use super::leaf_search::{Budget, LeafSearch, Verdict, by_row};
use super::portfolio::{Arm, Portfolio};
use super::rules::Rules;
use super::unit::Unit;
use crate::ids::BufferId;
use crate::problem::Problem;

/// What limits a search.
pub(super) struct Limits<'a> {
    pub(super) max_nodes: u64,
    pub(super) seed: u64,
    pub(super) threads: usize,
    pub(super) arms: &'a [Arm],
    pub(super) rules: Rules,
    pub(super) should_stop: &'a (dyn Fn() -> bool + Sync),
}

/// What came of a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Answered {
    /// Offsets by buffer id; those of buffers that were not asked about stay 0.
    pub(super) offsets: Vec<u64>,
    /// Highest end.
    pub(super) arena_bytes: u64,
    /// No placement is smaller; at least the largest sum of live sizes.
    pub(super) bound_bytes: u64,
    /// Placements and refusals tried.
    pub(super) n_nodes: u64,
}

/// A better placement: offsets by buffer id, and the arena in bytes.
pub(super) type Improved<'a> = &'a dyn Fn(&[u64], u64);

/// What is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Question {
    /// A placement of at most so many bytes.
    Fit(u64),
    /// The smallest placement.
    Minimum,
}

/// The largest number that divides all sizes of `ids`; 1 without any.
fn unit_bytes(problem: &Problem, ids: &[BufferId]) -> u64 {
    ids.iter().map(|&id| problem.buffer(id).bytes).fold(0, gcd).max(1)
}

fn gcd(mut one: u64, mut two: u64) -> u64 {
    while two != 0 {
        (one, two) = (two, one % two);
    }
    one
}

/// Answers a question about some of a problem's buffers, starting from a valid placement of them.
pub(super) fn answer(
    problem: &Problem,
    ids: &[BufferId],
    start: &[u64],
    question: Question,
    limits: &Limits<'_>,
    improved: Improved<'_>,
) -> Answered {
    let unit = unit_bytes(problem, ids);
    let decomposed = decompose(problem, ids.to_vec(), limits.rules);
    let answered = answer_in::<u32>(problem, &decomposed, unit, start, question, limits, improved);
    let answered = answered.or_else(|| answer_in::<u64>(problem, &decomposed, unit, start, question, limits, improved));
    answered.expect("sums of sizes fit into 62 bits")
}

/// [`answer`] with numbers of one width; `None` if they are too narrow.
pub(super) fn answer_in<U: Unit>(
    problem: &Problem,
    decomposed: &Decomposed,
    unit: u64,
    start: &[u64],
    question: Question,
    limits: &Limits<'_>,
    improved: Improved<'_>,
) -> Option<Answered> {
    let leaves = &decomposed.leaves;
    let instances: Vec<Instance<U>> = leaves.iter().map(|leaf| Instance::new(&leaf.part, unit, limits.rules)).collect::<Option<_>>()?;
    let mut searches = Vec::with_capacity(leaves.len());
    for (instance, leaf) in instances.iter().zip(leaves) {
        // What lies below a row in the starting plan and belongs to the base moves to the bottom.
        let without_base = |&id: &BufferId| {
            let below = leaf.base.iter().filter(|base| start[base.index()] < start[id.index()]).map(|&base| problem.buffer(base).bytes);
            start[id.index()] - below.sum::<u64>()
        };
        let offsets: Vec<u64> = leaf.part.ids.iter().map(without_base).collect();
        // Plans of other strategies need not have offsets in units; rounding down could make buffers overlap.
        let settled = if offsets.iter().all(|offset| offset.is_multiple_of(unit)) { offsets } else { pushed_down(&leaf.part.ids, &offsets, problem) };
        searches.push(LeafSearch::new(instance, leaf, by_row(instance, &settled, unit)?));
    }
    let mut whole = Whole { decomposed, unit, searches, budget: Budget { left: limits.max_nodes }, limits, improved };
    match question {
        Question::Fit(capacity_bytes) => whole.fit(capacity_bytes),
        Question::Minimum => whole.minimum(),
    }
    Some(whole.answered())
}

/// The same placement with every buffer, lowest first, moved down onto what is below it. Time O(n²).
fn pushed_down(ids: &[BufferId], offsets: &[u64], problem: &Problem) -> Vec<u64> {
    let mut order: Vec<usize> = (0..ids.len()).collect();
    order.sort_unstable_by_key(|&item| (offsets[item], item));
    let mut settled = vec![0; ids.len()];
    for (at, &item) in order.iter().enumerate() {
        let lifetime = problem.buffer(ids[item]).lifetime;
        let below = order[..at].iter().filter(|&&other| problem.buffer(ids[other]).lifetime.overlaps(lifetime));
        settled[item] = below.map(|&other| settled[other] + problem.buffer(ids[other]).bytes).max().unwrap_or(0);
    }
    settled
}

/// All parts under search.
struct Whole<'a, U> {
    decomposed: &'a Decomposed,
    unit: u64,
    searches: Vec<LeafSearch<'a, U>>,
    budget: Budget,
    limits: &'a Limits<'a>,
    improved: Improved<'a>,
}

impl<'a, U: Unit> Whole<'a, U> {
    fn fit(&mut self, capacity_bytes: u64) {
        let capacity = capacity_bytes / self.unit;
        let room = |search: &LeafSearch<'a, U>| capacity.checked_sub(search.leaf.base_bytes / self.unit);
        if self.bound_bytes() / self.unit > capacity {
            return;
        }
        let mut open: Vec<(usize, U)> = Vec::new();
        for (at, search) in self.searches.iter().enumerate() {
            let Some(room) = room(search) else { return };
            if search.height.units() > room
                && let Some(ceiling) = U::from_units(room)
            {
                open.push((at, ceiling));
            }
        }
        while !open.is_empty() && self.may_go_on() {
            let mut is_impossible = false;
            let mut budget = self.budget;
            open.retain(|&(at, ceiling)| {
                if is_impossible {
                    return true;
                }
                let search = &mut self.searches[at];
                let portfolio = portfolio(search.instance, self.limits);
                let verdict = search.fit_round(ceiling, &portfolio, &mut budget);
                is_impossible = verdict == Verdict::Impossible;
                verdict == Verdict::Open
            });
            self.budget = budget;
            if is_impossible {
                break;
            }
        }
        self.tell();
    }

    fn minimum(&mut self) {
        let mut told = u64::MAX;
        while self.may_go_on() {
            let bound = self.bound_bytes();
            let Some(highest) = (0..self.searches.len()).max_by_key(|&at| (self.top_bytes(at), std::cmp::Reverse(at))) else { return };
            if self.arena_bytes() <= bound || self.top_bytes(highest) <= self.decomposed.top_bytes {
                return;
            }
            let mut budget = self.budget;
            let search = &mut self.searches[highest];
            let enough = U::from_units((bound - search.leaf.base_bytes) / self.unit).unwrap_or(U::ZERO);
            let portfolio = portfolio(search.instance, self.limits);
            let verdict = search.lower(enough, &portfolio, &mut budget);
            self.budget = budget;
            if verdict == Verdict::Found && self.arena_bytes() < told {
                told = self.arena_bytes();
                self.tell();
            }
        }
    }

    fn may_go_on(&self) -> bool {
        self.budget.left > 0 && !(self.limits.should_stop)()
    }

    fn top_bytes(&self, at: usize) -> u64 {
        self.searches[at].leaf.base_bytes + self.searches[at].height.units() * self.unit
    }

    fn arena_bytes(&self) -> u64 {
        (0..self.searches.len()).map(|at| self.top_bytes(at)).max().unwrap_or(0).max(self.decomposed.top_bytes)
    }

    fn bound_bytes(&self) -> u64 {
        let bounds = self.searches.iter().map(|search| search.leaf.base_bytes + search.bound.units() * self.unit);
        bounds.max().unwrap_or(0).max(self.decomposed.top_bytes)
    }

    fn offsets(&self) -> Vec<u64> {
        let mut offsets = self.decomposed.offsets.clone();
        for search in &self.searches {
            for (id, offset) in search.leaf.part.ids.iter().zip(search.offsets_bytes(self.unit)) {
                offsets[id.index()] = search.leaf.base_bytes + offset;
            }
        }
        offsets
    }

    fn tell(&self) {
        (self.improved)(&self.offsets(), self.arena_bytes());
    }

    fn answered(&self) -> Answered {
        let n_nodes = self.limits.max_nodes - self.budget.left;
        Answered { offsets: self.offsets(), arena_bytes: self.arena_bytes(), bound_bytes: self.bound_bytes(), n_nodes }
    }
}

fn portfolio<'a, U: Unit>(instance: &'a Instance<U>, limits: &'a Limits<'a>) -> Portfolio<'a, U> {
    Portfolio { instance, arms: limits.arms, rules: limits.rules, seed: limits.seed, threads: limits.threads, should_stop: limits.should_stop }
}
