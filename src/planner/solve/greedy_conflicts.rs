//! `greedy-conflicts`: the buffer with the most conflicts first, each on top of everything that it meets.
//!
//! Problem: place buffers without overlaps in a small arena.
//! Method: by number of conflicts, more first, then by size; a buffer goes above the highest buffer placed before
//! that is live together with it, so a hole is never filled. A placed buffer makes the skyline over its lifetime
//! level, so the place is a range maximum of the skyline and no conflict is stored.
//! Guarantee: valid; no bound on the arena.
//! Time O(n log n), space O(n).
//! Source: TVM, `src/tir/usmp/algo/greedy.cc`, greedy by conflicts.
//!
//! ```text
//! byte 4 |.....ZZZ     X meets most and goes first, Y stands on it; Z meets only Y
//!      2 |VW.YYYYY     and goes above it, although below Y all is free by then
//!      0 |XXXX....
//! ```

use super::orders::Orders;
use super::sections::{Part, parts};
use super::skyline::Skyline;
use super::{Request, SolveError, Strategy, StrategyKind};
use crate::constraints::FeatureSet;
use crate::plan::Plan;

pub(super) const STRATEGY: Strategy = Strategy {
    name: "greedy-conflicts",
    summary: "Most conflicts first, each buffer above everything that it meets; holes are never filled.",
    source: "TVM, src/tir/usmp/algo/greedy.cc",
    kind: StrategyKind::Offsets,
    is_safe: true,
    needs_graph: false,
    supports: FeatureSet::NONE,
    run,
};

/// Number of conflicts, then size ([`super::orders`]).
const ORDER: &str = "OZ";

fn run(request: &Request<'_>) -> Result<Plan, SolveError> {
    let problem = request.problem;
    let mut offsets = vec![0; problem.n_buffers()];
    for part in parts(problem, problem.ids().collect()) {
        let order = Orders::new(&part).sorted(ORDER);
        stack(request, &part, &order, &mut offsets)?;
    }
    Ok(Plan::from_offsets(STRATEGY.name, problem, offsets))
}

/// Places the items of a part in `order`, each on top of what it meets.
fn stack(request: &Request<'_>, part: &Part, order: &[u32], offsets: &mut [u64]) -> Result<(), SolveError> {
    let mut skyline = Skyline::flat(part.load.len());
    for (turn, &item) in order.iter().enumerate() {
        request.keep_going(turn)?;
        let item = item as usize;
        let (from, to) = part.range(item);
        let offset = skyline.max(from, to);
        skyline.raise(from, to, offset + part.bytes[item]);
        offsets[part.ids[item].index()] = offset;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::control::Control;
    use crate::lifetimes::Lifetime;
    use crate::problem::Problem;
    use crate::solve::{SolveOptions, solve};
    use crate::testing::random_problem;
    use crate::units::Align;

    fn arena(name: &str, problem: &Problem) -> u64 {
        solve(name, problem, None, &SolveOptions::default(), &Control::unattended()).expect("a plan").arena_bytes
    }

    #[test]
    fn leaves_the_hole_that_first_fit_fills() {
        // The example of the module.
        let life = |start, end| Lifetime { start, end };
        let buffers = [(2, life(0, 4)), (2, life(3, 8)), (2, life(5, 8)), (1, life(0, 1)), (1, life(1, 2))];
        let problem = Problem::new(buffers, Align::ONE).expect("a valid problem");
        assert_eq!((arena("greedy-conflicts", &problem), arena("greedy-size", &problem)), (6, 4));
    }

    #[test]
    fn is_the_smaller_one_somewhere() {
        assert!((0..500).map(|seed| random_problem(seed, 40)).any(|problem| arena("greedy-conflicts", &problem) < arena("greedy-size", &problem)));
    }
}
