//! What the Interference view draws besides the whole graph: one buffer and its neighbours, and who was left out.
//!
//! A graph of a million buffers has more edges than anyone can draw; one buffer's largest neighbours always fit.

use std::ops::ControlFlow;

use arenascope_planner::ids::BufferId;
use arenascope_planner::lifetimes::Lifetime;

use crate::session::Planned;

/// Most vertices of a graph that is drawn whole.
pub(super) const MAX_NODES: usize = 2_000;
/// Most edges of a graph that is drawn whole.
pub(super) const MAX_EDGES: usize = 20_000;
/// Most neighbours of an ego view, chosen by eye: a column of names on either side.
pub(super) const MAX_NEIGHBOURS: usize = 40;
/// Smallest and largest radius of a node, points, chosen by eye.
pub(super) const RADII: [f32; 2] = [5.0, 16.0];

/// Whether a problem is small enough to be drawn whole.
pub(super) fn can_draw_whole(n_buffers: usize, n_conflicts: u64) -> bool {
    n_buffers <= MAX_NODES && n_conflicts <= MAX_EDGES as u64
}

/// The radius of a node whose area stands for its bytes; the smallest nodes stay visible.
pub(super) fn radius(bytes: u64, largest_bytes: u64) -> f32 {
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "a share from 0 to 1")]
    let share = (bytes as f64 / largest_bytes.max(1) as f64) as f32;
    (RADII[1] * share.sqrt()).clamp(RADII[0], RADII[1])
}

/// One buffer and the largest of its neighbours.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Ego {
    /// The buffer in the middle.
    pub(super) centre: BufferId,
    /// Neighbours born before it, by birth.
    pub(super) before: Vec<BufferId>,
    /// Neighbours born with or after it, by birth.
    pub(super) after: Vec<BufferId>,
    /// Neighbours that are not drawn.
    pub(super) n_left_out: u64,
    /// Their bytes.
    pub(super) left_out_bytes: u64,
}

impl Ego {
    /// The neighbourhood of `centre` with at most `most` neighbours, of which at most `most_per_side` on a side: the largest.
    ///
    /// Time O(k log k) for k neighbours; space O(k).
    pub(super) fn new(planned: &Planned, centre: BufferId, most: usize, most_per_side: usize) -> Self {
        let problem = &planned.prepared.problem;
        let birth = |id: BufferId| (problem.buffer(id).lifetime.start, id);
        let mut neighbours = live_during(planned, problem.buffer(centre).lifetime);
        neighbours.retain(|&id| id != centre);
        neighbours.sort_unstable_by_key(|&id| (std::cmp::Reverse(problem.buffer(id).bytes), id));
        let mut ego = Self { centre, before: Vec::new(), after: Vec::new(), n_left_out: 0, left_out_bytes: 0 };
        for id in neighbours {
            let n_drawn = ego.before.len() + ego.after.len();
            let side = if birth(id) < birth(centre) { &mut ego.before } else { &mut ego.after };
            if n_drawn < most && side.len() < most_per_side {
                side.push(id);
            } else {
                ego.n_left_out += 1;
                ego.left_out_bytes += problem.buffer(id).bytes;
            }
        }
        ego.before.sort_unstable_by_key(|&id| birth(id));
        ego.after.sort_unstable_by_key(|&id| birth(id));
        ego
    }
}

/// The buffers live at any step of a range, in no particular order.
pub(in crate::views) fn live_during(planned: &Planned, steps: Lifetime) -> Vec<BufferId> {
    let mut found = Vec::new();
    planned.model.after.visit(steps, 0, u64::MAX, |rect| {
        found.extend(rect.buffer);
        ControlFlow::Continue(())
    });
    found
}

/// The largest of the buffers that force the lower bound; `None` without buffers.
pub(super) fn largest_at_peak(planned: &Planned) -> Option<BufferId> {
    let bytes = |id: &BufferId| planned.prepared.problem.buffer(*id).bytes;
    planned.model.bound.buffers.iter().copied().max_by_key(|id| (bytes(id), std::cmp::Reverse(*id)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::inspector::sample_plans::bare;

    #[test]
    fn area_stands_for_bytes_between_the_smallest_and_the_largest_radius() {
        assert!((radius(100, 100) - RADII[1]).abs() < 1e-6);
        assert!((radius(25, 100) - RADII[1] / 2.0).abs() < 1e-6);
        assert!((radius(1, 1_000_000) - RADII[0]).abs() < 1e-6);
        assert!(radius(0, 0).is_finite());
    }

    #[test]
    fn the_largest_neighbours_stand_by_birth_and_the_others_are_counted() {
        let planned = bare(&[(64, 0, 4), (256, 1, 5), (128, 2, 6), (512, 3, 4), (64, 3, 9), (1024, 7, 9)]);
        let ego = Ego::new(&planned, BufferId(2), 3, 2);
        assert_eq!((ego.before, ego.after), (vec![BufferId(0), BufferId(1)], vec![BufferId(3)]));
        assert_eq!((ego.n_left_out, ego.left_out_bytes), (1, 64));
    }

    #[test]
    fn a_full_side_leaves_out_its_smallest() {
        let planned = bare(&[(64, 0, 9), (256, 0, 9), (128, 0, 9), (512, 3, 9)]);
        let ego = Ego::new(&planned, BufferId(3), 40, 2);
        assert_eq!((ego.before, ego.after), (vec![BufferId(1), BufferId(2)], vec![]));
        assert_eq!((ego.n_left_out, ego.left_out_bytes), (1, 64));
    }

    #[test]
    fn the_peak_names_its_largest_buffer() {
        let planned = bare(&[(64, 0, 2), (256, 1, 2), (128, 3, 4)]);
        assert_eq!(largest_at_peak(&planned), Some(BufferId(1)));
        assert_eq!(largest_at_peak(&bare(&[])), None);
    }
}
