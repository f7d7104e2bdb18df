//! `executorch-greedy`: by size into shared objects, at their bottom or above what is live in them.
//!
//! Problem: place buffers without overlaps in a small arena.
//! Method: by size, larger first. An object is as large as the buffer that opened it and never grows. A buffer goes to
//! the bottom of the first object that holds nobody who is live together with it; if there is none, into the first
//! object that has room above the highest buffer that is live together with it; else it opens a new object. At the
//! end the objects lie one after another.
//! Guarantee: valid; no bound on the arena. Objects never interlock, so what one leaves free at its top is lost to a
//! buffer that would need two of them.
//! Time O(conflicts + n · objects), space O(n). Refuses more than 2·10^8 conflicts.
//! Source: ExecuTorch, `exir/memory_planning.py`, the `greedy` algorithm with overlapping allocations.
//!
//! ```text
//! object 1 |.CCC..     A opens object 0 (4 bytes), C meets A and D and opens object 1;
//! object 0 |...BB.     B goes to the bottom of object 0, D above it
//!          |AAAD..
//! ```

use super::greedy_size::by_size;
use super::{Request, SolveError, Strategy, StrategyKind};
use crate::constraints::FeatureSet;
use crate::interval_index::IntervalIndex;
use crate::plan::Plan;

pub(super) const STRATEGY: Strategy = Strategy {
    name: "executorch-greedy",
    summary: "By size into shared objects that never grow: at the bottom, or above whoever is live in one.",
    source: "ExecuTorch, exir/memory_planning.py",
    kind: StrategyKind::Offsets,
    is_safe: true,
    needs_graph: false,
    supports: FeatureSet::NONE,
    run,
};

/// Conflicts beyond which it takes more than two to ten seconds, by the number of objects; measured.
const MAX_CONFLICTS: u64 = 200_000_000;

/// A range of the arena that buffers share.
struct SharedObject {
    bytes: u64,
    /// The turn in which somebody live was last seen in it; turns count from 1.
    seen_in: usize,
    /// The highest end of those seen in that turn, from the object's begin.
    top: u64,
}

fn run(request: &Request<'_>) -> Result<Plan, SolveError> {
    request.afford(&STRATEGY, MAX_CONFLICTS, "it looks at every conflict, and there are more than 200,000,000")?;
    let problem = request.problem;
    let mut index = IntervalIndex::empty(problem);
    let mut objects: Vec<SharedObject> = Vec::new();
    // Object and offset in it, by buffer.
    let mut places = vec![(0, 0); problem.n_buffers()];
    for (turn, id) in (1_usize..).zip(by_size(problem)) {
        request.keep_going(turn)?;
        let buffer = problem.buffer(id);
        index.visit_live(buffer.lifetime, |other| {
            let (object, offset): (usize, u64) = places[other.index()];
            let object = &mut objects[object];
            let top = if object.seen_in == turn { object.top } else { 0 };
            (object.seen_in, object.top) = (turn, top.max(offset + problem.buffer(other).bytes));
            true
        });
        let idle = objects.iter().position(|object| object.seen_in != turn).map(|object| (object, 0));
        let has_room = |object: &SharedObject| object.top + buffer.bytes <= object.bytes;
        let place = idle.or_else(|| objects.iter().position(has_room).map(|object| (object, objects[object].top)));
        places[id.index()] = place.unwrap_or_else(|| {
            objects.push(SharedObject { bytes: buffer.bytes, seen_in: 0, top: 0 });
            (objects.len() - 1, 0)
        });
        index.insert(id, buffer.lifetime.end);
    }
    let mut end = 0;
    let mut begin_of = |object: &SharedObject| {
        end += object.bytes;
        end - object.bytes
    };
    let begins: Vec<u64> = objects.iter().map(&mut begin_of).collect();
    let offsets = places.into_iter().map(|(object, offset)| begins[object] + offset).collect();
    Ok(Plan::from_offsets(STRATEGY.name, problem, offsets))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;
    use crate::lifetimes::Lifetime;
    use crate::problem::Problem;
    use crate::solve::{SolveOptions, solve};
    use crate::units::Align;

    fn plan(name: &str, problem: &Problem) -> Plan {
        solve(name, problem, None, &SolveOptions::default(), &Control::unattended()).expect("a plan")
    }

    #[test]
    fn two_small_ones_share_an_object_that_a_slot_gives_to_one() {
        let life = |start, end| Lifetime { start, end };
        let problem = Problem::new([(4, life(0, 2)), (2, life(2, 4)), (2, life(2, 4))], Align::ONE).expect("a valid problem");
        assert_eq!((plan("executorch-greedy", &problem).offsets, plan("slots-by-size", &problem).arena_bytes), (vec![0, 0, 2], 6));
    }

    #[test]
    fn objects_do_not_interlock() {
        // C (3 bytes) fits neither of the objects of 2 bytes, while offsets may put it across both.
        let life = |start, end| Lifetime { start, end };
        let problem = Problem::new([(4, life(0, 2)), (2, life(0, 2)), (5, life(2, 4)), (1, life(2, 4))], Align::ONE).expect("a valid problem");
        assert_eq!((plan("executorch-greedy", &problem).arena_bytes, plan("lowest-floor", &problem).arena_bytes), (7, 6));
    }
}
