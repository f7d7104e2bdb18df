//! `tflite-arena`: what lives throughout first, then by size, each buffer in the best-fitting gap.
//!
//! Problem: place buffers without overlaps in a small arena.
//! Method: buffers that live from the first step to the last go to the bottom, by id; the others follow by size,
//! larger first, the earlier birth on ties. Each takes the smallest gap that is large enough between the buffers
//! placed before that are live together with it, the lowest one on ties, else the place above all of them.
//! Guarantee: valid; no bound on the arena.
//! Time O(conflicts · log live), space O(n). Refuses more than 2·10^8 conflicts.
//! Source: TensorFlow Lite, `tensorflow/lite/arena_planner.cc` (the order) and `tensorflow/lite/simple_memory_arena.cc`
//! (the gap); Pisarchyk and Lee, DOI 10.48550/arXiv.2001.03288, "greedy by size for offset calculation".
//!
//! ```text
//! byte 3 |.BBB..     A (1 byte) lives throughout and goes to the bottom,
//!      1 |.BBBCC     before the larger B; greedy-size would put A on top
//!      0 |AAAAAA
//! ```

use std::cmp::Reverse;

use super::greedy_size::Filling;
use super::{Request, SolveError, Strategy, StrategyKind};
use crate::constraints::FeatureSet;
use crate::ids::BufferId;
use crate::plan::Plan;

pub(super) const STRATEGY: Strategy = Strategy {
    name: "tflite-arena",
    summary: "What lives throughout first, then by size, each in the smallest gap that is large enough.",
    source: "TensorFlow Lite, tensorflow/lite/arena_planner.cc and simple_memory_arena.cc",
    kind: StrategyKind::Offsets,
    is_safe: true,
    needs_graph: false,
    supports: FeatureSet::NONE,
    run,
};

/// Conflicts beyond which it takes more than about ten seconds; measured.
const MAX_CONFLICTS: u64 = 200_000_000;

fn run(request: &Request<'_>) -> Result<Plan, SolveError> {
    request.afford(&STRATEGY, MAX_CONFLICTS, "it looks at every conflict, and there are more than 200,000,000")?;
    let problem = request.problem;
    let span = problem.span();
    let mut order: Vec<BufferId> = problem.ids().collect();
    order.sort_unstable_by_key(|&id| {
        let buffer = problem.buffer(id);
        let lives_throughout = buffer.lifetime == span;
        let (bytes, start) = if lives_throughout { (0, 0) } else { (buffer.bytes, buffer.lifetime.start) };
        (Reverse(lives_throughout), Reverse(bytes), start, id)
    });
    let mut filling = Filling::new(problem);
    filling.place_all(request, order, Filling::place_tightest, u64::MAX)?;
    Ok(Plan::from_offsets(STRATEGY.name, problem, filling.offsets))
}

#[cfg(test)]
mod tests {
    use crate::control::Control;
    use crate::lifetimes::Lifetime;
    use crate::problem::Problem;
    use crate::solve::{SolveOptions, solve};
    use crate::units::Align;

    #[test]
    fn puts_what_lives_throughout_below_what_is_larger() {
        // The example of the module: A throughout, B the largest, C in the gap that B leaves.
        let life = |start, end| Lifetime { start, end };
        let problem = Problem::new([(1, life(0, 6)), (3, life(1, 4)), (1, life(4, 6))], Align::ONE).expect("a valid problem");
        let plan = |name| solve(name, &problem, None, &SolveOptions::default(), &Control::unattended()).expect("a plan");
        assert_eq!(plan("tflite-arena").offsets, [0, 1, 1]);
        assert_eq!(plan("greedy-size").offsets, [3, 0, 0]);
    }
}
