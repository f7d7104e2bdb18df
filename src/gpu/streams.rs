//! Which step runs on which stream, and which steps of other streams it waits for.
//!
//! Problem: run ops that the graph does not order side by side, waiting no more often than it takes.
//! Method: the longest path of ops goes to stream 0, the longest of the rest to stream 1, and so on; what is left goes
//! to the last stream. Each stream knows how far it has seen every other one (a vector clock), so that a wait that
//! follows from an earlier one is left out.
//! Guarantee: a step begins after every step that its order names, and no wait is made whose end is known already.
//! Time O(steps · (streams + edges)), space O(steps · streams).
//! Source: vector clocks (Fidge 1988, Mattern 1989); the paths are those of [`colour_paths`].
//!
//! ```text
//! stream 0   a -> b -> c -----> g      g waits for f
//! stream 1     \-> d -> e -> f -^      d waits for a
//! ```

use arenascope_planner::ids::OpId;
use arenascope_planner::links::OpLinks;
use arenascope_planner::parallel::colour_paths;

use crate::program::StepOrder;
use crate::protocol::Waits;

/// The streams of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Streams {
    /// How many there are.
    pub n: usize,
    /// The stream of each step.
    pub of: Vec<usize>,
    /// The steps of other streams that each step waits for.
    pub waits: Vec<Vec<usize>>,
    /// Whether some other stream waits for the step.
    pub is_waited_for: Vec<bool>,
    /// The position of each step in its stream, from 1.
    position: Vec<usize>,
    /// For each step and stream: how many steps of that stream are over when the step is.
    clocks: Vec<Vec<usize>>,
}

impl Streams {
    /// Spreads the steps over `n` streams and makes them wait as `waits` says.
    #[must_use]
    pub fn new(order: &StepOrder, n: usize, waits: Waits) -> Self {
        let of = assign(order, n);
        let n_steps = of.len();
        let mut streams = Self {
            n,
            of,
            waits: vec![Vec::new(); n_steps],
            is_waited_for: vec![false; n_steps],
            position: vec![0; n_steps],
            clocks: Vec::with_capacity(n_steps),
        };
        let mut known = vec![vec![0_usize; n]; n];
        for step in 0..n_steps {
            let added = if waits == Waits::Plan { order.plan[step].as_slice() } else { &[] };
            let mut before: Vec<usize> = order.graph[step].iter().chain(added).copied().collect();
            // The latest first: waiting for it may cover the others.
            before.sort_unstable_by(|one, two| two.cmp(one));
            let stream = streams.of[step];
            for other in before {
                if known[stream][streams.of[other]] < streams.position[other] {
                    streams.waits[step].push(other);
                    streams.is_waited_for[other] = true;
                    for (own, seen) in known[stream].iter_mut().zip(&streams.clocks[other]) {
                        *own = (*own).max(*seen);
                    }
                }
            }
            known[stream][stream] += 1;
            streams.position[step] = known[stream][stream];
            streams.clocks.push(known[stream].clone());
        }
        streams
    }

    /// How often a stream waits for another one in an iteration.
    #[must_use]
    pub fn n_waits(&self) -> u64 {
        self.waits.iter().map(|waits| waits.len() as u64).sum()
    }

    /// Whether `first` is over before `second` begins, whatever the streams do.
    #[must_use]
    pub fn precedes(&self, first: usize, second: usize) -> bool {
        first != second && self.clocks[second][self.of[first]] >= self.position[first]
    }
}

/// The stream of each step.
fn assign(order: &StepOrder, n: usize) -> Vec<usize> {
    let n_steps = order.graph.len();
    let mut links = OpLinks { before: vec![Vec::new(); n_steps], after: vec![Vec::new(); n_steps] };
    for (step, before) in order.graph.iter().enumerate() {
        for &other in before {
            links.before[step].push(OpId::new(other));
            links.after[other].push(OpId::new(step));
        }
    }
    let steps: Vec<OpId> = (0..n_steps).map(OpId::new).collect();
    let last = n.saturating_sub(1);
    let colours = colour_paths(&links, &steps, u32::try_from(last).unwrap_or(u32::MAX));
    colours.into_iter().map(|colour| colour.and_then(|colour| usize::try_from(colour).ok()).unwrap_or(last)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// a feeds b -> d and c -> e; f joins them; the plan makes d wait for c.
    fn diamond() -> StepOrder {
        StepOrder { graph: vec![vec![], vec![0], vec![0], vec![1], vec![2], vec![3, 4]], plan: vec![vec![], vec![], vec![], vec![2], vec![], vec![]] }
    }

    #[test]
    fn the_longest_path_has_a_stream_and_waits_are_made_across_streams_only() {
        let streams = Streams::new(&diamond(), 2, Waits::Graph);
        assert_eq!(streams.of, [0, 0, 1, 0, 1, 0]);
        assert_eq!(streams.waits, [vec![], vec![], vec![0], vec![], vec![], vec![4]]);
        assert_eq!((streams.n_waits(), streams.precedes(0, 4), streams.precedes(2, 3), streams.precedes(3, 3)), (2, true, false, false));
    }

    #[test]
    fn the_plan_adds_a_wait_and_with_it_an_order() {
        let streams = Streams::new(&diamond(), 2, Waits::Plan);
        assert_eq!((streams.waits[3].as_slice(), streams.n_waits(), streams.precedes(2, 3)), (&[2][..], 3, true));
    }

    #[test]
    fn one_stream_waits_for_nothing() {
        let streams = Streams::new(&diamond(), 1, Waits::Plan);
        assert_eq!((streams.n_waits(), streams.of), (0, vec![0; 6]));
    }

    #[test]
    fn precedes_is_the_closure_of_streams_and_waits() {
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..200 {
            let n_steps = rng.usize(1..25);
            let edges = |rng: &mut fastrand::Rng, most: usize| -> Vec<Vec<usize>> {
                (0..n_steps).map(|step| if step == 0 { vec![] } else { (0..rng.usize(0..=most)).map(|_| rng.usize(0..step)).collect() }).collect()
            };
            let order = StepOrder { graph: edges(&mut rng, 3), plan: edges(&mut rng, 1) };
            let n = rng.usize(1..5);
            let streams = Streams::new(&order, n, Waits::Plan);
            let mut before = vec![vec![false; n_steps]; n_steps];
            for step in 0..n_steps {
                for other in 0..step {
                    before[other][step] |= streams.of[other] == streams.of[step] || streams.waits[step].contains(&other);
                    if before[other][step] {
                        (0..other).for_each(|first| before[first][step] |= before[first][other]);
                    }
                }
                assert!(order.graph[step].iter().chain(&order.plan[step]).all(|&other| before[other][step]), "every wanted order is kept");
            }
            for (first, second) in (0..n_steps).flat_map(|first| (0..n_steps).map(move |second| (first, second))) {
                assert_eq!(streams.precedes(first, second), before[first][second]);
            }
        }
    }
}
