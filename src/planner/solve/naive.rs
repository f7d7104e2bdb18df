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
use crate::plan::Plan;

pub(super) const STRATEGY: Strategy = Strategy {
    name: "naive",
    summary: "Every buffer gets its own block; nothing is reused.",
    source: "the baseline of every study of memory planning",
    kind: StrategyKind::Offsets,
    is_safe: true,
    needs_graph: false,
    run,
};

fn run(request: &Request<'_>) -> Result<Plan, SolveError> {
    let mut end = 0;
    let mut place = |bytes: u64| {
        let offset = end;
        end += bytes;
        offset
    };
    let offsets = request.problem.buffers().iter().map(|buffer| place(buffer.bytes)).collect();
    Ok(Plan::from_offsets(STRATEGY.name, request.problem, offsets))
}
