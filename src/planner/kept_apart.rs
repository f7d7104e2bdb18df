//! Buffers that may not share memory although they are never live together, and the clique that follows from them.
//!
//! Problem: a plan for ops that run side by side needs more than lifetimes; see [`crate::parallel`].
//! Method: one bit per ordered pair. With such pairs the interference graph is no longer an interval graph, so the
//! largest sum of live bytes is not its heaviest clique: that is searched for by branch and bound, where a colouring of
//! the candidates limits what they can add. It starts from the buffers live at the peak and from the heaviest ones.
//! Guarantee: the clique is a clique, so its weight is a lower bound of every plan; it is the heaviest if
//! [`Clique::is_largest`].
//! Time O(n² / 64) and at most [`MAX_LOOKS`] comparisons more; space n² / 4 bytes.
//! Source: Tomita and Kameda's colouring bound (DOI 10.1007/s10898-006-9039-7) with weights as in Kumlander 2004.
//!
//! ```text
//! A ##....      A and C are never live together; kept apart they
//! B .####.      form a clique with B of weight A + B + C
//! C ...##.
//! ```

use crate::bounds::lower_bound;
use crate::ids::BufferId;
use crate::links::BitRows;
use crate::problem::Problem;

/// Pairs compared by the search for the heaviest clique: a quarter of a second.
pub const MAX_LOOKS: u64 = 50_000_000;

/// The most buffers for which the heaviest clique is searched for.
pub const MAX_EXACT: usize = 600;

/// Buffers, heaviest first, from which a clique is grown where there is no search; chosen by eye.
const N_STARTS: usize = 64;

/// Buffers that conflict pairwise.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Clique {
    /// The sum of their sizes, rounded.
    pub bytes: u64,
    /// The buffers, by id.
    pub buffers: Vec<BufferId>,
    /// Whether no clique is heavier; otherwise it is only a bound.
    pub is_largest: bool,
}

/// Pairs of buffers kept apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeptApart {
    apart: BitRows,
    n_buffers: usize,
    n_pairs: u64,
    clique: Clique,
}

impl KeptApart {
    /// Keeps the buffers of each pair apart; pairs that are live together are left out. The table takes n² / 8 bytes.
    #[must_use]
    pub fn new(problem: &Problem, pairs: impl IntoIterator<Item = (BufferId, BufferId)>) -> Self {
        let n_buffers = problem.n_buffers();
        let mut apart = BitRows::zeros(n_buffers, n_buffers);
        for (a, b) in pairs {
            if a != b && !problem.buffer(a).lifetime.overlaps(problem.buffer(b).lifetime) {
                apart.set(a.index(), b.index());
                apart.set(b.index(), a.index());
            }
        }
        let clique = heavy_clique(problem, &apart);
        Self { n_pairs: apart.n_ones() / 2, n_buffers, clique, apart }
    }

    /// How many buffers the problem has.
    #[must_use]
    pub fn n_buffers(&self) -> usize {
        self.n_buffers
    }

    /// How many pairs are kept apart that are never live together.
    #[must_use]
    pub fn n_pairs(&self) -> u64 {
        self.n_pairs
    }

    /// The buffers kept apart from `buffer`, by id. Time O(n / 64).
    pub fn of(&self, buffer: BufferId) -> impl Iterator<Item = BufferId> + '_ {
        self.apart.ones(buffer.index()).map(BufferId::new)
    }

    /// Whether two buffers are kept apart.
    #[must_use]
    pub fn has(&self, a: BufferId, b: BufferId) -> bool {
        self.apart.has(a.index(), b.index())
    }

    /// A heavy clique of the whole interference graph: a lower bound of every plan.
    #[must_use]
    pub fn clique(&self) -> &Clique {
        &self.clique
    }
}

fn heavy_clique(problem: &Problem, apart: &BitRows) -> Clique {
    let meets = |a: usize, b: usize| a != b && (apart.has(a, b) || problem.buffers()[a].lifetime.overlaps(problem.buffers()[b].lifetime));
    let weight = |id: usize| problem.buffers()[id].bytes;
    let mut by_weight: Vec<usize> = (0..problem.n_buffers()).collect();
    by_weight.sort_by_key(|&id| (std::cmp::Reverse(weight(id)), id));
    let peak: Vec<usize> = lower_bound(problem).buffers.iter().map(|id| id.index()).collect();
    let starts = std::iter::once(peak).chain(by_weight.iter().take(N_STARTS).map(|&id| vec![id]));
    let mut best: (u64, Vec<usize>) = (0, Vec::new());
    for mut clique in starts {
        for &id in &by_weight {
            if clique.iter().all(|&member| meets(id, member)) {
                clique.push(id);
            }
        }
        let bytes = clique.iter().map(|&id| weight(id)).sum();
        if bytes > best.0 {
            best = (bytes, clique);
        }
    }
    let mut is_largest = false;
    if problem.n_buffers() <= MAX_EXACT {
        let mut search = CliqueSearch { meets: &meets, weight: &weight, best, chosen: Vec::new(), looks_left: MAX_LOOKS };
        search.extend(by_weight, 0);
        is_largest = search.looks_left > 0;
        best = search.best;
    }
    best.1.sort_unstable();
    Clique { bytes: best.0, buffers: best.1.into_iter().map(BufferId::new).collect(), is_largest }
}

struct CliqueSearch<'a> {
    meets: &'a dyn Fn(usize, usize) -> bool,
    weight: &'a dyn Fn(usize) -> u64,
    best: (u64, Vec<usize>),
    chosen: Vec<usize>,
    looks_left: u64,
}

impl CliqueSearch<'_> {
    /// Extends the chosen clique of `bytes` by candidates that meet all of it.
    fn extend(&mut self, candidates: Vec<usize>, bytes: u64) {
        if bytes > self.best.0 {
            self.best = (bytes, self.chosen.clone());
        }
        let n = candidates.len() as u64;
        self.looks_left = self.looks_left.saturating_sub(1 + n * n / 2);
        let mut coloured = self.colour(&candidates);
        while let Some((id, limit)) = coloured.pop() {
            if bytes + limit <= self.best.0 {
                return;
            }
            if self.looks_left == 0 {
                return;
            }
            let rest = coloured.iter().map(|&(other, _)| other).filter(|&other| (self.meets)(id, other)).collect();
            self.chosen.push(id);
            self.extend(rest, bytes + (self.weight)(id));
            self.chosen.pop();
        }
    }

    /// Candidates by colour, each with the most that it and those before it can add: one of each colour.
    fn colour(&self, candidates: &[usize]) -> Vec<(usize, u64)> {
        let mut classes: Vec<Vec<usize>> = Vec::new();
        for &id in candidates {
            match classes.iter_mut().find(|class| class.iter().all(|&other| !(self.meets)(id, other))) {
                Some(class) => class.push(id),
                None => classes.push(vec![id]),
            }
        }
        let mut limit = 0;
        let mut coloured = Vec::with_capacity(candidates.len());
        for class in classes {
            let heaviest = class.iter().map(|&id| (self.weight)(id)).max().unwrap_or(0);
            coloured.extend(class.into_iter().map(|id| (id, limit + heaviest)));
            limit += heaviest;
        }
        coloured
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random_problem;

    fn random_pairs(problem: &Problem, seed: u64) -> Vec<(BufferId, BufferId)> {
        let mut rng = fastrand::Rng::with_seed(seed);
        let n = problem.n_buffers();
        (0..2 * n).map(|_| (BufferId::new(rng.usize(0..n)), BufferId::new(rng.usize(0..n)))).collect()
    }

    #[test]
    fn the_clique_is_the_heaviest_of_all_subsets() {
        for seed in 0..150 {
            let problem = random_problem(seed, 11);
            let kept_apart = KeptApart::new(&problem, random_pairs(&problem, seed));
            let n = problem.n_buffers();
            let meets = |a: usize, b: usize| {
                kept_apart.has(BufferId::new(a), BufferId::new(b)) || problem.buffers()[a].lifetime.overlaps(problem.buffers()[b].lifetime)
            };
            let weight = |set: u32| {
                let members: Vec<usize> = (0..n).filter(|&id| set >> id & 1 == 1).collect();
                let is_clique = members.iter().enumerate().all(|(at, &a)| members[at + 1..].iter().all(|&b| meets(a, b)));
                is_clique.then(|| members.iter().map(|&id| problem.buffers()[id].bytes).sum::<u64>())
            };
            let heaviest = (0..1_u32 << n).filter_map(weight).max();
            let clique = kept_apart.clique();
            assert_eq!((Some(clique.bytes), clique.is_largest), (heaviest, true), "seed {seed}");
            assert_eq!(clique.buffers.iter().map(|&id| problem.buffer(id).bytes).sum::<u64>(), clique.bytes, "seed {seed}");
        }
    }

    #[test]
    fn pairs_that_are_live_together_are_not_counted_twice() {
        for seed in 0..50 {
            let problem = random_problem(seed, 40);
            let kept_apart = KeptApart::new(&problem, random_pairs(&problem, seed));
            let mut n_pairs = 0;
            for a in problem.ids() {
                for b in kept_apart.of(a) {
                    assert!(kept_apart.has(b, a) && !problem.buffer(a).lifetime.overlaps(problem.buffer(b).lifetime), "seed {seed}");
                    n_pairs += 1;
                }
            }
            assert_eq!(kept_apart.n_pairs(), n_pairs / 2, "seed {seed}");
        }
    }
}
