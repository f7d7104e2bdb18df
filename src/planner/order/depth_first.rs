//! `depth-first`: each branch to its end before the next one begins.
//!
//! Problem: an order that keeps few branches open.
//! Method: walk back from the ops that nobody reads from, in file order; an op runs as soon as all it reads has run,
//! and what it reads is run in the order of its inputs.
//! Guarantee: topological; no bound on the peak.
//! Time O(ops + reads), space O(ops).
//! Source: the reverse postorder of Tarjan, "Depth-first search and linear graph algorithms", DOI 10.1137/0201010.
//!
//! ```text
//! a -> b -> c -> g      a b c d e f g: the upper branch first,
//!  \-> d -> e -> f -^   then the lower one, then what joins them
//! ```

use crate::ids::OpId;
use crate::links::OpLinks;

pub(super) fn depth_first(links: &OpLinks) -> Vec<OpId> {
    let n = links.before.len();
    let mut order = Vec::with_capacity(n);
    let mut is_seen = vec![false; n];
    let sinks = (0..n).filter(|&op| links.after[op].is_empty()).map(OpId::new);
    for sink in sinks {
        is_seen[sink.index()] = true;
        // An op and how many of those it reads from have been visited.
        let mut stack = vec![(sink, 0)];
        while let Some((op, n_visited)) = stack.last_mut() {
            match links.before[op.index()].get(*n_visited) {
                Some(&source) => {
                    *n_visited += 1;
                    if !std::mem::replace(&mut is_seen[source.index()], true) {
                        stack.push((source, 0));
                    }
                }
                None => {
                    order.push(*op);
                    stack.pop();
                }
            }
        }
    }
    order
}
