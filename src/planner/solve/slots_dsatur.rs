//! `slots-dsatur`: colours the interference graph without knowing that it comes from intervals.
//!
//! Problem: colour the interference graph with as few slots as possible.
//! Method: DSATUR: colour next the buffer whose neighbours have the most different colours so far, the one with most
//! neighbours on ties, with the lowest colour that no neighbour has. The graph is built with all its edges.
//! Guarantee: valid. On interval graphs `slots-by-birth` is optimal and this is not: it shows what a general method
//! gives where the structure is thrown away. Nothing is known about the bytes.
//! Time O((n + conflicts) log n), space O(n + conflicts). Refuses more than 1,000,000 conflicts: every edge is stored
//! twice with a hash set per buffer beside it, and the colouring cannot be stopped.
//! Source: Brélaz, "New methods to color the vertices of a graph", DOI 10.1145/359094.359101; the colouring is petgraph's,
//! `crates/petgraph/src/algo/coloring.rs`.
//!
//! ```text
//! A - B - C - D      B and C have most neighbours: B gets slot 0, C slot 1,
//!                    A slot 1, D slot 0
//! ```

use petgraph::algo::dsatur_coloring;
use petgraph::graph::NodeIndex;

use super::{Request, SolveError, Strategy, StrategyKind};
use crate::constraints::FeatureSet;
use crate::ids::SlotId;
use crate::interference::conflict_graph;
use crate::plan::Plan;

pub(super) const STRATEGY: Strategy = Strategy {
    name: "slots-dsatur",
    summary: "Colours the interference graph by saturation, without using that it comes from intervals.",
    source: "Brélaz 1979, DOI 10.1145/359094.359101; petgraph, crates/petgraph/src/algo/coloring.rs",
    kind: StrategyKind::Slots,
    is_safe: true,
    needs_graph: false,
    supports: FeatureSet::NONE,
    run,
};

/// Conflicts beyond which the graph takes more than about a second and 60 MB; measured.
const MAX_CONFLICTS: u64 = 1_000_000;

fn run(request: &Request<'_>) -> Result<Plan, SolveError> {
    request.keep_going(0)?;
    let because = "it stores every conflict, and there are more than 1,000,000";
    request.afford(&STRATEGY, MAX_CONFLICTS, because)?;
    let problem = request.problem;
    let graph = conflict_graph(problem, usize::MAX, usize::MAX).ok_or(SolveError::Unsupported { strategy: STRATEGY.name, because })?;
    request.keep_going(0)?;
    let (colour_of, _) = dsatur_coloring(&graph);
    let slots = problem.ids().map(|id| SlotId::new(colour_of[&NodeIndex::new(id.index())])).collect();
    Ok(Plan::from_slots(STRATEGY.name, problem, slots))
}

#[cfg(test)]
mod tests {
    use crate::control::Control;
    use crate::interference::Interference;
    use crate::solve::{SolveOptions, solve};
    use crate::testing::random_problem;

    #[test]
    fn needs_other_bytes_than_the_left_edge_and_never_fewer_slots() {
        let mut is_smaller = [false; 2];
        for seed in 0..500 {
            let problem = random_problem(seed, 40);
            let plan = |name| solve(name, &problem, None, &SolveOptions::default(), &Control::unattended()).expect("a plan");
            let (dsatur, birth) = (plan("slots-dsatur"), plan("slots-by-birth"));
            assert!(dsatur.n_slots() >= Some(Interference::new(&problem).largest_clique().0), "seed {seed}");
            is_smaller[0] |= dsatur.arena_bytes < birth.arena_bytes;
            is_smaller[1] |= birth.arena_bytes < dsatur.arena_bytes;
        }
        assert_eq!(is_smaller, [true, true]);
    }
}
