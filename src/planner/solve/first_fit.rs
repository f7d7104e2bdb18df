//! `first-fit`: by birth, at the lowest offset whose whole range is free.
//!
//! Problem: place buffers without overlaps in a small arena.
//! Method: walk the births in time order; whoever was placed before and lives at the birth is the only obstacle, so
//! keep those sorted by offset and take the first gap that is large enough. An alignment of 64 KiB gives the steps
//! that teaching articles try one by one.
//! Guarantee: valid. The arena can exceed the live bytes by a factor that grows with the logarithm of the largest
//! size (Robson).
//! Time O(n · live buffers), space O(n).
//! Source: Robson, "Worst case fragmentation of first fit and best fit storage allocation strategies",
//! DOI 10.1093/comjnl/20.3.242.
//!
//! ```text
//! byte 2 |.BBBB..     C is born when A is dead: it takes A's place,
//!      1 |AAA.CC.     because the whole of it is free
//! ```

use super::greedy_size::Filling;
use super::{Request, SolveError, Strategy, StrategyKind, packing};
use crate::ids::BufferId;
use crate::plan::Plan;
use crate::problem::Problem;

pub(super) const STRATEGY: Strategy = Strategy {
    name: "first-fit",
    summary: "In order of birth, each buffer at the lowest offset where its whole range is free.",
    source: "Robson 1977, DOI 10.1093/comjnl/20.3.242",
    kind: StrategyKind::Offsets,
    is_safe: true,
    needs_graph: false,
    supports: packing::SUPPORTS,
    run,
};

fn run(request: &Request<'_>) -> Result<Plan, SolveError> {
    let problem = request.problem;
    if problem.constraints().is_some() {
        return packing::in_order(request, STRATEGY.name, |body| (body.lifetime.start, std::cmp::Reverse(body.bytes)));
    }
    if problem.kept_apart().is_some() {
        return fill_by_birth(request);
    }
    let mut offsets = vec![0; problem.n_buffers()];
    let mut live: Vec<Placed> = Vec::new();
    for (turn, index) in by_birth(problem).into_iter().enumerate() {
        request.keep_going(turn)?;
        let buffer = &problem.buffers()[index];
        let mut offset = 0;
        let mut at = None;
        live.retain(|placed| placed.death > buffer.lifetime.start);
        for (position, placed) in live.iter().enumerate() {
            if placed.begin >= offset + buffer.bytes {
                at = Some(position);
                break;
            }
            offset = offset.max(placed.end);
        }
        let placed = Placed { begin: offset, end: offset + buffer.bytes, death: buffer.lifetime.end };
        live.insert(at.unwrap_or(live.len()), placed);
        offsets[index] = offset;
    }
    Ok(Plan::from_offsets(STRATEGY.name, problem, offsets))
}

/// The same where buffers are kept apart: those placed before may be in the way although they are dead.
fn fill_by_birth(request: &Request<'_>) -> Result<Plan, SolveError> {
    let mut filling = Filling::new(request.problem);
    let ids = by_birth(request.problem).into_iter().map(BufferId::new);
    filling.place_all(request, ids, Filling::place_lowest, u64::MAX)?;
    Ok(Plan::from_offsets(STRATEGY.name, request.problem, filling.offsets))
}

/// A live buffer; the list is sorted by `begin` and its ranges are disjoint.
struct Placed {
    begin: u64,
    end: u64,
    death: u64,
}

/// Buffer positions by (start, larger first, id).
pub(super) fn by_birth(problem: &Problem) -> Vec<usize> {
    let mut order: Vec<usize> = (0..problem.n_buffers()).collect();
    order.sort_unstable_by_key(|&index| {
        let buffer = &problem.buffers()[index];
        (buffer.lifetime.start, std::cmp::Reverse(buffer.bytes), index)
    });
    order
}
