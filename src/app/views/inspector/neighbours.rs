//! Who stands next to a buffer in the arena, and who has its bytes before and after it.
//!
//! Problem: of all buffers above (or before, after) one, which ones can be seen from it? What is below is explained by
//! [`super::why`].
//! Method: sort the candidates by how near they are and keep what is covered of the looked-at side, a set of
//! intervals; a candidate is a neighbour if some of its part is not covered yet.
//! Guarantee: exact; every step (or byte) of the side is shown with its nearest candidate.
//! Time O(k log k + k × pieces) for k candidates; ends as soon as the whole side is covered. Space O(k).
//!
//! ```text
//! bytes | AAAAAA
//!       |  BBB          above X: B over steps 0 to 2, then A over step 3;
//!       |  [  X  ]      A is hidden behind B elsewhere
//! ```

use std::cmp::Reverse;
use std::ops::ControlFlow;

use arenascope_planner::ids::BufferId;
use arenascope_planner::lifetimes::Lifetime;

use crate::session::Planned;

/// The neighbours of a buffer in the arena.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Neighbours {
    /// Directly above while it lives, the nearest first, with the free bytes between.
    pub(super) above: Vec<(BufferId, u64)>,
    /// Who had some of its bytes last, the latest first, with the idle steps between.
    pub(super) before: Vec<(BufferId, u64)>,
    /// Who gets some of its bytes next, the earliest first, with the idle steps between.
    pub(super) after: Vec<(BufferId, u64)>,
}

/// One side's candidate: who, how far away, and what part of the side it covers.
struct Candidate {
    buffer: BufferId,
    distance: u64,
    covers: Lifetime,
}

/// Finds the neighbours of a buffer.
pub(super) fn neighbours(planned: &Planned, buffer: BufferId) -> Neighbours {
    let rects = planned.model.after.rects();
    let Some(own) = rects.get(buffer.index()) else { return Neighbours::default() };
    let bytes = Lifetime { start: own.low, end: own.high };
    let steps = own.lifetime;
    let (mut above, mut before, mut after) = (Vec::new(), Vec::new(), Vec::new());
    planned.model.after.visit(steps, bytes.end, u64::MAX, |rect| {
        let covers = Lifetime { start: rect.lifetime.start.max(steps.start), end: rect.lifetime.end.min(steps.end) };
        let is_near = |&other: &BufferId| other != buffer && planned.plan.pool(other) == planned.plan.pool(buffer);
        if let Some(buffer) = rect.buffer.filter(is_near)
            && rect.low >= bytes.end
        {
            above.push(Candidate { buffer, distance: rect.low - bytes.end, covers });
        }
        ControlFlow::Continue(())
    });
    planned.model.after.visit(Lifetime { start: 0, end: u64::MAX }, bytes.start, bytes.end, |rect| {
        let covers = Lifetime { start: rect.low.max(bytes.start), end: rect.high.min(bytes.end) };
        if let Some(buffer) = rect.buffer.filter(|&other| other != buffer) {
            if rect.lifetime.end <= steps.start {
                before.push(Candidate { buffer, distance: steps.start - rect.lifetime.end, covers });
            } else if rect.lifetime.start >= steps.end {
                after.push(Candidate { buffer, distance: rect.lifetime.start - steps.end, covers });
            }
        }
        ControlFlow::Continue(())
    });
    Neighbours { above: visible(above, steps), before: visible(before, bytes), after: visible(after, bytes) }
}

/// The candidates that can be seen from a side.
fn visible(mut candidates: Vec<Candidate>, side: Lifetime) -> Vec<(BufferId, u64)> {
    candidates.sort_unstable_by_key(|candidate| (candidate.distance, Reverse(candidate.covers.n_steps()), candidate.buffer));
    let mut covered: Vec<Lifetime> = Vec::new();
    let mut seen = Vec::new();
    for candidate in candidates {
        if cover(&mut covered, candidate.covers) {
            seen.push((candidate.buffer, candidate.distance));
        }
        if covered.first() == Some(&side) {
            break;
        }
    }
    seen
}

/// Adds a range to a sorted set of disjoint ranges; `false` if it was covered already.
fn cover(covered: &mut Vec<Lifetime>, range: Lifetime) -> bool {
    if range.start >= range.end {
        return false;
    }
    let first = covered.partition_point(|piece| piece.end < range.start);
    let last = covered.partition_point(|piece| piece.start <= range.end);
    if covered[first..last].iter().any(|piece| piece.start <= range.start && range.end <= piece.end) {
        return false;
    }
    let start = covered[first..last].first().map_or(range.start, |piece| piece.start.min(range.start));
    let end = covered[first..last].last().map_or(range.end, |piece| piece.end.max(range.end));
    covered.splice(first..last, [Lifetime { start, end }]);
    true
}

#[cfg(test)]
mod tests {
    use super::super::sample_plans::bare_with;
    use super::*;

    fn ids(list: &[(BufferId, u64)]) -> Vec<u32> {
        list.iter().map(|(id, _)| id.0).collect()
    }

    #[test]
    fn ranges_join_and_are_counted_once() {
        let range = |start, end| Lifetime { start, end };
        let mut covered = Vec::new();
        assert!(cover(&mut covered, range(0, 2)));
        assert!(cover(&mut covered, range(5, 7)));
        assert!(!cover(&mut covered, range(5, 6)));
        assert!(cover(&mut covered, range(1, 6)));
        assert_eq!(covered, [range(0, 7)]);
        assert!(!cover(&mut covered, range(3, 3)));
    }

    #[test]
    fn sees_the_nearest_above_at_every_step() {
        // 0 and 1 lie at the bottom one after the other, 2 on both of them, 3 on top.
        let planned = bare_with(&[(128, 0, 3), (64, 3, 6), (64, 0, 6), (64, 1, 2)], "first-fit");
        assert_eq!(planned.plan.offsets, [0, 0, 128, 192]);
        assert_eq!(neighbours(&planned, BufferId(2)).above, [(BufferId(3), 0)]);
        assert_eq!(ids(&neighbours(&planned, BufferId(0)).above), [2]);
        assert_eq!(neighbours(&planned, BufferId(1)).above, [(BufferId(2), 64)]);
    }

    #[test]
    fn sees_who_had_the_bytes_and_who_gets_them() {
        let planned = bare_with(&[(64, 0, 1), (64, 1, 2), (64, 4, 5), (64, 7, 8)], "first-fit");
        let of_second = neighbours(&planned, BufferId(1));
        assert_eq!(of_second.before, [(BufferId(0), 0)]);
        assert_eq!(of_second.after, [(BufferId(2), 2)]);
    }
}
