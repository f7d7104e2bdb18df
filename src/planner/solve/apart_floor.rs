//! `lowest-floor` where buffers are kept apart: the lowest floor first, on any interference graph.
//!
//! Problem: place buffers without overlaps in a small arena when some are kept apart although they are never live
//! together: no skyline over time knows them.
//! Method: keep for every unplaced buffer its floor, the highest top of placed neighbours; place the one with the
//! lowest floor there, ties by larger size, then larger area, then id; a second pass takes the largest area first;
//! the smaller plan is kept.
//! Guarantee: valid; no bound on the arena.
//! Time O(conflicts · log n), space O(n).
//! Source: the first dive of MiniMalloc (Moffitt 2023, DOI 10.1145/3623278.3624752) without its sections.
//!
//! ```text
//! A | B kept apart      floors  A 0, B 0, C 0:  A to 0, then B on top of it,
//! C meets nobody                                C to 0
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Request, SolveError};
use crate::ids::BufferId;
use crate::interference::Interference;
use crate::plan::Plan;
use crate::problem::Buffer;

pub(super) fn plan(strategy: &str, request: &Request<'_>) -> Result<Plan, SolveError> {
    let interference = Interference::new(request.problem);
    let area = |buffer: &Buffer| u128::from(buffer.bytes) * u128::from(buffer.lifetime.n_steps());
    let by_size = descend(strategy, request, &interference, &|buffer| (u128::from(buffer.bytes), area(buffer)))?;
    let by_area = descend(strategy, request, &interference, &|buffer| (area(buffer), u128::from(buffer.bytes)))?;
    Ok(if by_area.arena_bytes < by_size.arena_bytes { by_area } else { by_size })
}

type Key<'k> = &'k dyn Fn(&Buffer) -> (u128, u128);

fn descend(strategy: &str, request: &Request<'_>, interference: &Interference, key: Key<'_>) -> Result<Plan, SolveError> {
    let problem = request.problem;
    let mut floors = vec![0; problem.n_buffers()];
    let mut is_placed = vec![false; problem.n_buffers()];
    let entry = |floor: u64, id: BufferId| (Reverse(floor), key(problem.buffer(id)), Reverse(id));
    let mut waiting: BinaryHeap<_> = problem.ids().map(|id| entry(0, id)).collect();
    let mut turn = 0;
    while let Some((Reverse(floor), _, Reverse(id))) = waiting.pop() {
        request.keep_going(turn)?;
        turn += 1;
        if is_placed[id.index()] || floor < floors[id.index()] {
            continue;
        }
        is_placed[id.index()] = true;
        let top = floor + problem.buffer(id).bytes;
        for other in interference.neighbours(id).into_iter().filter(|other| !is_placed[other.index()]) {
            if floors[other.index()] < top {
                floors[other.index()] = top;
                waiting.push(entry(top, other));
            }
        }
    }
    Ok(Plan::from_offsets(strategy, problem, floors))
}
