//! `naive`: every buffer in a block of its own, the picture before any planning.
//!
//! Problem: place buffers without overlaps.
//! Method: one after another, by id.
//! Guarantee: valid; the arena is the sum of all sizes, the largest that makes sense.
//! Time and space O(n).
//! Source: what a framework does that allocates every result and frees nothing.
//!
//! ```text
//! byte 3 |....CC      A, B and C never share a byte
//!      2 |..BBB.
//!      1 |AAA...
//! ```

use super::{Request, SolveError, Strategy, StrategyKind};
use crate::constraints::{Feature, FeatureSet};
use crate::plan::Plan;

pub(super) const STRATEGY: Strategy = Strategy {
    name: "naive",
    summary: "Every buffer gets its own block; nothing is reused.",
    source: "the baseline of every study of memory planning",
    kind: StrategyKind::Offsets,
    is_safe: true,
    needs_graph: false,
    supports: FeatureSet::of(&[Feature::Alignment, Feature::Gaps, Feature::Pools]),
    run,
};

fn run(request: &Request<'_>) -> Result<Plan, SolveError> {
    let problem = request.problem;
    let mut end = 0;
    let mut offsets = Vec::with_capacity(problem.n_buffers());
    // Without views and in-place groups, which are not supported, bodies are buffers.
    let bodies = problem.constraints().map(|_| problem.bodies());
    for (index, buffer) in problem.buffers().iter().enumerate() {
        let offset = bodies.as_ref().map_or(end, |bodies| bodies.next_offset(bodies.get(index), end));
        offsets.push(offset);
        end = offset + buffer.bytes;
    }
    Ok(Plan::from_offsets(STRATEGY.name, problem, offsets))
}
