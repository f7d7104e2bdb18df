//! Which buffers are live together: the interference graph in interval form, and as a real graph while it is small.
//!
//! Problem: two buffers interfere when their lifetimes share a step; a million buffers have 10^8 such pairs.
//! Method: lifetimes are intervals, so sorted starts and sorted ends answer every question about the graph. The
//! degree of a buffer is (starts before its end) − (ends up to its start) − 1; neighbours come from an interval
//! index; the largest clique is the largest number of buffers live at one step, because intervals that meet
//! pairwise share a step (Helly).
//! Pairs that are kept apart for another reason ([`crate::kept_apart`]) are edges too; then it is a general graph.
//! Rules take edges away: buffers are not live in their gaps, and those that share a place do not interfere. Only the
//! pairs of such *exceptional* buffers are looked at one by one.
//! Guarantee: exact; edges between buffers live together are never stored.
//! Time O(n log n) to build, and O(k log n) more per exceptional buffer with k neighbours; O(log n) for a degree,
//! O(k log n) for k neighbours; space O(n).
//! Source: Golumbic, "Algorithmic Graph Theory and Perfect Graphs", chapter 8 (ISBN 978-0-444-51530-8).
//!
//! ```text
//! A ###....      A-B, B-C, C-D interfere: 3 conflicts
//! B ..###..      largest clique 2, at step 2
//! C ....##.
//! D .....##
//! ```

use std::collections::BTreeMap;

use petgraph::graph::{NodeIndex, UnGraph};

use crate::constraints::Constraints;
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
    exceptions: Option<Exceptions>,
}

impl Interference {
    /// Sorts starts and ends. Time O(n log n), and O(k log n) more per exceptional buffer with k neighbours.
    #[must_use]
    pub fn new(problem: &Problem) -> Self {
        let lifetimes: Vec<Lifetime> = problem.buffers().iter().map(|buffer| buffer.lifetime).collect();
        let (starts, ends) = sorted_ends(lifetimes.iter().copied());
        let index = IntervalIndex::full(problem);
        let exceptions = problem.constraints().and_then(|constraints| Exceptions::new(problem, constraints, &index));
        Self { lifetimes, starts, ends, index, kept_apart: problem.kept_apart().cloned(), exceptions }
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
        let n_false = self.exceptions.as_ref().map_or(0, Exceptions::n_pairs);
        n_live_together(&self.starts, &self.ends) + n_apart - n_false
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
        let n_false = self.exceptions.as_ref().map_or(0, |exceptions| exceptions.n_false[buffer.index()] as usize);
        (n_started - n_ended - 1 + n_apart - n_false) as u64
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
            if other != buffer && found.len() < max && self.meet(buffer, other) {
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

    /// Whether two buffers whose lifetimes meet are really in each other's way.
    fn meet(&self, one: BufferId, two: BufferId) -> bool {
        self.exceptions.as_ref().is_none_or(|exceptions| exceptions.meet((one, self.lifetimes[one.index()]), (two, self.lifetimes[two.index()])))
    }

    /// The buffers live at a step, by id. Time O(k log n) for k of them.
    #[must_use]
    pub fn live_at(&self, step: u64) -> Vec<BufferId> {
        let mut found = Vec::new();
        self.index.visit_live(Lifetime { start: step, end: step.saturating_add(1) }, |buffer| {
            if self.exceptions.as_ref().is_none_or(|exceptions| exceptions.is_live(buffer, step)) {
                found.push(buffer);
            }
            true
        });
        found.sort_unstable();
        found
    }

    /// The most buffers live at one step, and the first step at which they are; `(0, 0)` without buffers. Buffers that
    /// share a place count once.
    ///
    /// That is the size of the largest clique, and the fewest slots that any slot plan can use; where buffers have gaps
    /// or are kept apart there may be larger cliques, and it is a lower bound of both.
    #[must_use]
    pub fn largest_clique(&self) -> (usize, u64) {
        let (starts, ends) = self.exceptions.as_ref().map_or((&self.starts, &self.ends), |exceptions| (&exceptions.starts, &exceptions.ends));
        let larger = |best: (usize, u64), (n_live, step): (usize, u64)| if n_live + 1 > best.0 { (n_live + 1, step) } else { best };
        live_before_each_start(starts, ends).fold((0, 0), larger)
    }
}

/// What rules change: buffers with gaps, and buffers that share a place.
#[derive(Clone, Debug)]
struct Exceptions {
    /// When a buffer with gaps is live.
    live: BTreeMap<BufferId, Vec<Lifetime>>,
    /// The body of a buffer that shares its place with another one.
    body: BTreeMap<BufferId, u32>,
    /// How many buffers have a lifetime that meets that of each buffer, but are not in its way; by id.
    n_false: Vec<u32>,
    /// When places are taken, one range per body and time.
    starts: Vec<u64>,
    ends: Vec<u64>,
}

impl Exceptions {
    /// `None` if no rule takes an edge away.
    fn new(problem: &Problem, constraints: &Constraints, index: &IntervalIndex) -> Option<Self> {
        let ranges = |id: BufferId| (id, problem.live_ranges(id));
        let live: BTreeMap<BufferId, Vec<Lifetime>> = constraints.gaps.keys().map(|&id| ranges(id)).collect();
        let bodies = problem.bodies();
        let mut body: BTreeMap<BufferId, u32> = BTreeMap::new();
        for (number, shared) in (0_u32..).zip(bodies.iter()) {
            let members = bodies.members_of(shared);
            if members.len() > 1 {
                body.extend(members.iter().map(|&(id, _)| (id, number)));
            }
        }
        if live.is_empty() && body.is_empty() {
            return None;
        }
        let places = bodies.iter().flat_map(|body| joined(bodies.pieces_of(body).iter().map(|piece| piece.lifetime).collect()));
        let (starts, ends) = sorted_ends(places);
        let mut exceptions = Self { live, body, n_false: vec![0; problem.n_buffers()], starts, ends };
        exceptions.count_false(problem, index);
        Some(exceptions)
    }

    fn count_false(&mut self, problem: &Problem, index: &IntervalIndex) {
        let is_exceptional = |exceptions: &Self, id: BufferId| exceptions.live.contains_key(&id) || exceptions.body.contains_key(&id);
        let with_life = |id: BufferId| (id, problem.buffer(id).lifetime);
        let mut n_false = vec![0; self.n_false.len()];
        for id in problem.ids().filter(|&id| is_exceptional(self, id)) {
            index.visit_live(problem.buffer(id).lifetime, |other| {
                if other != id && !self.meet(with_life(id), with_life(other)) {
                    n_false[id.index()] += 1;
                    n_false[other.index()] += u32::from(!is_exceptional(self, other));
                }
                true
            });
        }
        self.n_false = n_false;
    }

    fn n_pairs(&self) -> u64 {
        self.n_false.iter().map(|&count| u64::from(count)).sum::<u64>() / 2
    }

    /// Whether two buffers with these lifetimes are live together and do not share a place.
    fn meet(&self, one: (BufferId, Lifetime), two: (BufferId, Lifetime)) -> bool {
        let shares_place = self.body.get(&one.0).is_some_and(|body| self.body.get(&two.0) == Some(body));
        let (whole_one, whole_two) = ([one.1], [two.1]);
        let ones = self.live.get(&one.0).map_or(&whole_one[..], Vec::as_slice);
        let twos = self.live.get(&two.0).map_or(&whole_two[..], Vec::as_slice);
        !shares_place && any_overlap(ones, twos)
    }

    fn is_live(&self, buffer: BufferId, step: u64) -> bool {
        self.live.get(&buffer).is_none_or(|ranges| ranges.iter().any(|range| range.contains(step)))
    }
}

/// Whether any of two sorted lists of ranges that do not meet share a step. Time O(n).
fn any_overlap(mut ones: &[Lifetime], mut twos: &[Lifetime]) -> bool {
    while let ([one, later_ones @ ..], [two, later_twos @ ..]) = (ones, twos) {
        if one.overlaps(*two) {
            return true;
        }
        if one.end <= two.start { ones = later_ones } else { twos = later_twos }
    }
    false
}

/// The union of ranges, as ranges that do not meet; sorted.
fn joined(mut ranges: Vec<Lifetime>) -> Vec<Lifetime> {
    ranges.sort_unstable();
    let mut joined: Vec<Lifetime> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// How many pairs of buffers are live together or kept apart, without building the rest. Time O(n log n) without rules.
#[must_use]
pub fn n_conflicts(problem: &Problem) -> u64 {
    if problem.constraints().is_some() {
        return Interference::new(problem).n_conflicts();
    }
    let (starts, ends) = sorted_ends(problem.buffers().iter().map(|buffer| buffer.lifetime));
    n_live_together(&starts, &ends) + problem.kept_apart().map_or(0, KeptApart::n_pairs)
}

fn sorted_ends(ranges: impl Iterator<Item = Lifetime>) -> (Vec<u64>, Vec<u64>) {
    let (mut starts, mut ends): (Vec<u64>, Vec<u64>) = ranges.map(|range| (range.start, range.end)).unzip();
    starts.sort_unstable();
    ends.sort_unstable();
    (starts, ends)
}

/// How many pairs of ranges meet: each is counted once, at the later start.
fn n_live_together(starts: &[u64], ends: &[u64]) -> u64 {
    live_before_each_start(starts, ends).map(|(n_live, _)| n_live as u64).sum()
}

/// For every birth in order: how many buffers that came before it are live, and its step.
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
    use crate::testing_rules::{are_related, random_problem_with_rules};

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
    fn buffers_with_gaps_or_a_shared_place_agree_with_comparing_all_pairs() {
        let mut n_fewer = 0;
        for problem in (0..600).filter_map(|seed| random_problem_with_rules(seed, 14)) {
            let interference = Interference::new(&problem);
            let hull = |a: BufferId, b: BufferId| problem.buffer(a).lifetime.overlaps(problem.buffer(b).lifetime);
            let span = problem.span();
            let lives: Vec<Vec<BufferId>> = (span.start..span.end).map(|step| live_by_the_rules(&problem, step)).collect();
            let meets =
                |a: BufferId, b: BufferId| a != b && !share_place(&problem, a, b) && lives.iter().any(|live| live.contains(&a) && live.contains(&b));
            let mut n_edges = 0;
            for a in problem.ids() {
                let neighbours: Vec<BufferId> = problem.ids().filter(|&b| meets(a, b)).collect();
                n_fewer += problem.ids().filter(|&b| b != a && hull(a, b)).count() - neighbours.len();
                assert_eq!(interference.neighbours(a), neighbours, "{problem:?}");
                assert_eq!(interference.degree(a), neighbours.len() as u64);
                n_edges += neighbours.len() as u64;
            }
            assert_eq!((interference.n_conflicts(), n_conflicts(&problem)), (n_edges / 2, n_edges / 2));
            let mut best = (0, 0);
            for (step, live) in (span.start..).zip(&lives) {
                assert_eq!(&interference.live_at(step), live);
                let n_places = live.iter().filter(|&&one| live.iter().all(|&two| two >= one || !share_place(&problem, one, two))).count();
                best = if n_places > best.0 { (n_places, step) } else { best };
            }
            assert_eq!(interference.largest_clique(), best);
        }
        assert!(n_fewer > 300, "{n_fewer}");
    }

    /// By the tables of rules alone.
    fn live_by_the_rules(problem: &Problem, step: u64) -> Vec<BufferId> {
        let gaps = |id: BufferId| problem.constraints().map_or(&[][..], |rules| rules.gaps(id));
        let is_live = |id: &BufferId| {
            let in_gap = gaps(*id).iter().any(|gap| gap.window.is_none() && gap.lifetime.contains(step));
            problem.buffer(*id).lifetime.contains(step) && !in_gap
        };
        problem.ids().filter(is_live).collect()
    }

    fn share_place(problem: &Problem, one: BufferId, two: BufferId) -> bool {
        problem.constraints().is_some_and(|rules| are_related(rules, one, two))
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
