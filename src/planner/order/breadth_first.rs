//! `breadth-first`: every op as early as its level allows.
//!
//! Problem: the order that a runtime with many streams would show.
//! Method: the level of an op is one more than the highest level that it reads from; levels run one after another,
//! each in file order.
//! Guarantee: topological; the fewest levels; usually a high peak.
//! Time O(ops log ops + reads), space O(ops).
//! Source: the "as soon as possible" schedule of high-level synthesis (De Micheli, "Synthesis and Optimization of
//! Digital Circuits", section 5.3).
//!
//! ```text
//! a -> b -> c -> g      a | b d | c e | f | g
//!  \-> d -> e -> f -^
//! ```

use crate::ids::OpId;
use crate::links::OpLinks;

/// `topological` is any topological order.
pub(super) fn breadth_first(links: &OpLinks, topological: &[OpId]) -> Vec<OpId> {
    let mut level = vec![0_u32; links.before.len()];
    for &op in topological {
        level[op.index()] = links.before[op.index()].iter().map(|source| level[source.index()] + 1).max().unwrap_or(0);
    }
    let mut order = topological.to_vec();
    order.sort_by_key(|&op| (level[op.index()], op));
    order
}
