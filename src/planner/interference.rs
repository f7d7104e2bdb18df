//! Which buffers are live together: the interference graph in interval form, and as a real graph while it is small.
//!
//! Problem: two buffers interfere when their lifetimes share a step; a million buffers have 10^8 such pairs.
//! Method: lifetimes are intervals, so sorted starts and sorted ends answer every question about the graph. The
//! degree of a buffer is (starts before its end) − (ends up to its start) − 1; neighbours come from an interval
//! index; the largest clique is the largest number of buffers live at one step, because intervals that meet
//! pairwise share a step (Helly).
//! Pairs that are kept apart for another reason ([`crate::kept_apart`]) are edges too; then it is a general graph.
//! Guarantee: exact; edges between buffers live together are never stored.
//! Time O(n log n) to build, O(log n) for a degree, O(k log n) for k neighbours; space O(n).
//! Source: Golumbic, "Algorithmic Graph Theory and Perfect Graphs", chapter 8 (ISBN 978-0-444-51530-8).
//!
//! ```text
//! A ###....      A-B, B-C, C-D interfere: 3 conflicts
//! B ..###..      largest clique 2, at step 2
//! C ....##.
//! D .....##
//! ```

use petgraph::graph::{NodeIndex, UnGraph};

use crate::ids::BufferId;
use crate::interval_index::IntervalIndex;
use crate::kept_apart::KeptApart;
use crate::lifetimes::Lifetime;
use crate::problem::Problem;

/// The interference graph of a problem, in interval form.
#[derive(Clone, Debug)]
pub struct Interference {
    lifetimes: Vec<Lifetime>,
    starts: Vec<u64>,
    ends: Vec<u64>,
    index: IntervalIndex,
    kept_apart: Option<KeptApart>,
}

impl Interference {
    /// Sorts starts and ends. Time O(n log n).
    #[must_use]
    pub fn new(problem: &Problem) -> Self {
        let lifetimes: Vec<Lifetime> = problem.buffers().iter().map(|buffer| buffer.lifetime).collect();
        let (starts, ends) = sorted_ends(problem);
        Self { lifetimes, starts, ends, index: IntervalIndex::full(problem), kept_apart: problem.kept_apart().cloned() }
    }

    /// How many buffers there are.
    #[must_use]
    pub fn n_buffers(&self) -> usize {
        self.lifetimes.len()
    }

    /// How many pairs of buffers are live together or kept apart. Time O(n log n).
    #[must_use]
    pub fn n_conflicts(&self) -> u64 {
        let n_apart = self.kept_apart.as_ref().map_or(0, KeptApart::n_pairs);
        live_before_each_start(&self.starts, &self.ends).map(|(n_live, _)| n_live as u64).sum::<u64>() + n_apart
    }

    /// Conflicts over all pairs, from 0 to 1; 0 with fewer than two buffers.
    #[must_use]
    pub fn density(&self) -> f64 {
        let n = self.n_buffers() as f64;
        if n < 2.0 { 0.0 } else { self.n_conflicts() as f64 / (n * (n - 1.0) / 2.0) }
    }

    /// How many buffers are live together with `buffer` or kept apart from it. Time O(log n), O(n / 64) for the latter.
    #[must_use]
    pub fn degree(&self, buffer: BufferId) -> u64 {
        let lifetime = self.lifetimes[buffer.index()];
        let n_started = self.starts.partition_point(|&start| start < lifetime.end);
        let n_ended = self.ends.partition_point(|&end| end <= lifetime.start);
        let n_apart = self.kept_apart.as_ref().map_or(0, |kept_apart| kept_apart.of(buffer).count());
        (n_started - n_ended - 1 + n_apart) as u64
    }

    /// The buffers live together with `buffer` or kept apart from it, by id. Time O(k log n) for k of them.
    #[must_use]
    pub fn neighbours(&self, buffer: BufferId) -> Vec<BufferId> {
        self.neighbours_limited(buffer, usize::MAX)
    }

    /// At most `max` of the neighbours of `buffer`, by id: those live together with it that start first, then those
    /// kept apart from it.
    #[must_use]
    pub fn neighbours_limited(&self, buffer: BufferId, max: usize) -> Vec<BufferId> {
        let mut found = Vec::new();
        self.index.visit_live(self.lifetimes[buffer.index()], |other| {
            if other != buffer && found.len() < max {
                found.push(other);
            }
            found.len() < max
        });
        if let Some(kept_apart) = &self.kept_apart {
            found.extend(kept_apart.of(buffer).take(max - found.len()));
        }
        found.sort_unstable();
        found
    }

    /// The buffers live at a step, by id. Time O(k log n) for k of them.
    #[must_use]
    pub fn live_at(&self, step: u64) -> Vec<BufferId> {
        let mut found = Vec::new();
        self.index.visit_live(Lifetime { start: step, end: step.saturating_add(1) }, |buffer| {
            found.push(buffer);
            true
        });
        found.sort_unstable();
        found
    }

    /// The most buffers live at one step, and the first step at which they are; `(0, 0)` without buffers.
    ///
    /// That is the size of the largest clique, and the fewest slots that any slot plan can use; where buffers are kept
    /// apart there may be larger cliques, and it is a lower bound of both.
    #[must_use]
    pub fn largest_clique(&self) -> (usize, u64) {
        let larger = |best: (usize, u64), (n_live, step): (usize, u64)| if n_live + 1 > best.0 { (n_live + 1, step) } else { best };
        live_before_each_start(&self.starts, &self.ends).fold((0, 0), larger)
    }
}

/// How many pairs of buffers are live together or kept apart, without building the rest. Time O(n log n).
#[must_use]
pub fn n_conflicts(problem: &Problem) -> u64 {
    let (starts, ends) = sorted_ends(problem);
    let n_apart = problem.kept_apart().map_or(0, KeptApart::n_pairs);
    live_before_each_start(&starts, &ends).map(|(n_live, _)| n_live as u64).sum::<u64>() + n_apart
}

fn sorted_ends(problem: &Problem) -> (Vec<u64>, Vec<u64>) {
    let mut starts: Vec<u64> = problem.buffers().iter().map(|buffer| buffer.lifetime.start).collect();
    let mut ends: Vec<u64> = problem.buffers().iter().map(|buffer| buffer.lifetime.end).collect();
    starts.sort_unstable();
    ends.sort_unstable();
    (starts, ends)
}

/// For every birth in order: how many buffers that came before it are live, and its step.
///
/// Summed up, that counts each conflict once, at the later birth.
fn live_before_each_start<'a>(starts: &'a [u64], ends: &'a [u64]) -> impl Iterator<Item = (usize, u64)> + 'a {
    let mut n_ended = 0;
    starts.iter().enumerate().map(move |(n_started, &start)| {
        while ends[n_ended] <= start {
            n_ended += 1;
        }
        (n_started - n_ended, start)
    })
}

/// The interference graph as a graph, or `None` beyond the limits. Time and space O(nodes + edges).
#[must_use]
pub fn conflict_graph(problem: &Problem, max_nodes: usize, max_edges: usize) -> Option<UnGraph<BufferId, (), u32>> {
    if problem.n_buffers() > max_nodes {
        return None;
    }
    let interference = Interference::new(problem);
    let n_edges = usize::try_from(interference.n_conflicts()).ok().filter(|&edges| edges <= max_edges)?;
    let mut graph = UnGraph::with_capacity(problem.n_buffers(), n_edges);
    for id in problem.ids() {
        graph.add_node(id);
    }
    for id in problem.ids() {
        for other in interference.neighbours(id).into_iter().filter(|&other| other > id) {
            graph.add_edge(NodeIndex::new(id.index()), NodeIndex::new(other.index()), ());
        }
    }
    Some(graph)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random_problem;

    #[test]
    fn agrees_with_comparing_all_pairs() {
        for seed in 0..200 {
            let problem = random_problem(seed, 70);
            let interference = Interference::new(&problem);
            let meets = |a: BufferId, b: BufferId| a != b && problem.buffer(a).lifetime.overlaps(problem.buffer(b).lifetime);
            let mut n_edges = 0;
            for a in problem.ids() {
                let neighbours: Vec<BufferId> = problem.ids().filter(|&b| meets(a, b)).collect();
                assert_eq!(interference.neighbours(a), neighbours, "seed {seed}");
                assert_eq!(interference.degree(a), neighbours.len() as u64, "seed {seed}");
                assert_eq!(interference.neighbours_limited(a, 2).len(), neighbours.len().min(2), "seed {seed}");
                n_edges += neighbours.len() as u64;
            }
            assert_eq!((interference.n_conflicts(), n_conflicts(&problem)), (n_edges / 2, n_edges / 2), "seed {seed}");
            let graph = conflict_graph(&problem, 70, 10_000).expect("within the limits");
            assert_eq!(graph.edge_count() as u64, n_edges / 2, "seed {seed}");
            let (clique, step) = interference.largest_clique();
            assert_eq!(interference.live_at(step).len(), clique, "seed {seed}");
            let span = problem.span();
            assert_eq!((span.start..span.end).map(|step| interference.live_at(step).len()).max(), Some(clique), "seed {seed}");
        }
    }

    #[test]
    fn is_no_graph_beyond_the_limits_and_empty_without_buffers() {
        let problem = random_problem(1, 70);
        assert!(conflict_graph(&problem, problem.n_buffers() - 1, usize::MAX).is_none());
        assert!(conflict_graph(&problem, usize::MAX, 0).is_none());
        let empty = Problem::new([], problem.align()).expect("no buffers break no rule");
        let interference = Interference::new(&empty);
        assert_eq!((interference.n_conflicts(), interference.largest_clique(), interference.live_at(0)), (0, (0, 0), vec![]));
        assert_eq!(interference.density().to_bits(), 0);
    }
}
