//! What differs between the plan that is shown and another one of the same file; on a worker thread.

use std::sync::Arc;

use arenascope_planner::diff::{DiffRow, PlacedBuffer, PlanDiff, diff_plans, placed_buffers};
use arenascope_planner::ids::{BufferId, PoolId};
use arenascope_planner::observed::{observed, observed_plan};
use arenascope_planner::plan::Plan;

use crate::session::Planned;

/// The kinds of change that are counted.
pub(super) const CHANGES: [&str; 6] = ["moved", "grew", "shrank", "lives at other steps", "appeared", "vanished"];

/// The plan that the shown one is compared with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Against {
    /// That of a strategy.
    Strategy(String),
    /// The one found in the file.
    Observed,
}

impl Against {
    /// How it is called in the window.
    #[must_use]
    pub fn name(&self, planned: &Planned) -> String {
        match self {
            Self::Strategy(name) => name.clone(),
            Self::Observed => {
                planned.prepared.workload.observed.as_ref().map_or_else(|| "the file".to_owned(), |plan| format!("{} (in the file)", plan.tool))
            }
        }
    }
}

/// What became of a buffer's place, from the other plan to the shown one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Move {
    /// It is where it was.
    Same,
    /// It is lower.
    Down,
    /// It is higher.
    Up,
    /// It is in another pool, or only in one of the plans.
    Other,
}

impl Move {
    /// All of them, in the order of the legend.
    pub const ALL: [Self; 4] = [Self::Down, Self::Up, Self::Same, Self::Other];

    /// The words of the legend.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Same => "same place",
            Self::Down => "moved down",
            Self::Up => "moved up",
            Self::Other => "elsewhere or new",
        }
    }

    fn of(old: &PlacedBuffer, new: &PlacedBuffer) -> Self {
        match new.offset.cmp(&old.offset) {
            _ if old.pool != new.pool => Self::Other,
            std::cmp::Ordering::Less => Self::Down,
            std::cmp::Ordering::Equal => Self::Same,
            std::cmp::Ordering::Greater => Self::Up,
        }
    }
}

/// The other plan, as a job needs it.
#[derive(Clone, Debug)]
pub enum Other {
    /// A plan of the same problem.
    Plan(Arc<Plan>),
    /// The plan found in the file.
    Observed,
}

/// A change with the buffer that it happened to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangedBuffer {
    /// What happened.
    pub row: DiffRow,
    /// The buffer in the shown plan; `None` if it is not in it.
    pub buffer: Option<BufferId>,
}

impl ChangedBuffer {
    /// It before and now; `None` on the side where it is not.
    #[must_use]
    pub fn sides(&self) -> (Option<&PlacedBuffer>, Option<&PlacedBuffer>) {
        match &self.row {
            DiffRow::Changed { old, new } => (Some(old), Some(new)),
            DiffRow::Appeared(new) => (None, Some(new)),
            DiffRow::Vanished(old) => (Some(old), None),
        }
    }

    /// What became of its place.
    #[must_use]
    pub fn moved(&self) -> Move {
        match &self.row {
            DiffRow::Changed { old, new } => Move::of(old, new),
            DiffRow::Appeared(_) | DiffRow::Vanished(_) => Move::Other,
        }
    }

    /// Bytes × distance: what it adds to the picture.
    fn weight(&self) -> u128 {
        match self.sides() {
            (Some(old), Some(new)) => u128::from(new.bytes) * u128::from(old.offset.abs_diff(new.offset)),
            (Some(one), None) | (None, Some(one)) => u128::from(one.bytes) * u128::from(one.bytes),
            (None, None) => 0,
        }
    }
}

/// What differs between two plans.
#[derive(Clone, Debug)]
pub struct Difference {
    planned: Arc<Planned>,
    /// The other plan.
    pub against: Against,
    /// Its arena.
    pub other_bytes: u64,
    /// The changes, those with the most bytes × distance first.
    pub changes: Vec<ChangedBuffer>,
    /// How many buffers are as they were.
    pub n_same: u64,
    /// How many changes there are of each kind of `CHANGES`.
    counts: Vec<(&'static str, u64)>,
    /// How many buffers of the shown plan moved each way, in the order of [`Move::ALL`].
    n_moved: [u64; 4],
    moves: Vec<Move>,
    places: Vec<Option<(PoolId, u64)>>,
}

impl Difference {
    /// Compares `other`, as it was, with the shown plan, as it is. Time O(n log n).
    ///
    /// # Errors
    /// When the other plan places nothing.
    pub fn new(planned: &Arc<Planned>, against: Against, other: &Other) -> Result<Self, String> {
        let prepared = &planned.prepared;
        let (old, other_bytes) = match other {
            Other::Plan(plan) => (placed_buffers(prepared, plan), plan.arena_bytes),
            Other::Observed => placed_in_file(planned).ok_or("the file has no plan that could be compared")?,
        };
        let new = placed_buffers(prepared, &planned.plan);
        let diff = diff_plans(&old, &new);
        let counts = CHANGES.into_iter().map(|change| (change, diff.n_of(change))).collect();
        let n_same = diff.n_same;
        let mut changes = with_buffers(diff, &new);
        let n = prepared.problem.n_buffers();
        let (mut moves, mut places) = (vec![Move::Same; n], vec![None; n]);
        for id in prepared.problem.ids() {
            places[id.index()] = Some((planned.plan.pool(id), planned.plan.offset(id)));
        }
        for change in &changes {
            let Some(buffer) = change.buffer else { continue };
            moves[buffer.index()] = change.moved();
            places[buffer.index()] = change.sides().0.map(|old| (old.pool.unwrap_or(PoolId(0)), old.offset));
        }
        let n_moved = Move::ALL.map(|moved| moves.iter().filter(|&&other| other == moved).count() as u64);
        changes.sort_by_key(|change| std::cmp::Reverse(change.weight()));
        Ok(Self { planned: Arc::clone(planned), against, other_bytes, changes, n_same, counts, n_moved, moves, places })
    }

    /// Whether this is about a plan.
    #[must_use]
    pub fn is_of(&self, planned: &Planned) -> bool {
        std::ptr::eq(Arc::as_ptr(&self.planned), planned)
    }

    /// What became of a buffer's place.
    #[must_use]
    pub fn move_of(&self, buffer: BufferId) -> Move {
        self.moves.get(buffer.index()).copied().unwrap_or(Move::Other)
    }

    /// The pool and offset of a buffer in the other plan; `None` if it is not in it.
    #[must_use]
    pub fn place_of(&self, buffer: BufferId) -> Option<(PoolId, u64)> {
        self.places.get(buffer.index()).copied().flatten()
    }

    /// How many buffers of the shown plan moved that way.
    #[must_use]
    pub fn n_moved(&self, moved: Move) -> u64 {
        Move::ALL.iter().zip(self.n_moved).find(|(other, _)| **other == moved).map_or(0, |(_, n)| n)
    }

    /// Every kind of change with how many there are.
    #[must_use]
    pub fn counts(&self) -> &[(&'static str, u64)] {
        &self.counts
    }
}

/// The buffers of the plan found in the file and its arena: as buffers of this problem where that is possible, else as
/// the tool placed them.
fn placed_in_file(planned: &Planned) -> Option<(Vec<PlacedBuffer>, u64)> {
    if let Some(plan) = observed_plan(&planned.prepared) {
        return Some((placed_buffers(&planned.prepared, &plan), plan.arena_bytes));
    }
    let observed = observed(&planned.prepared.workload)?;
    let place = |(id, name): (BufferId, &String)| {
        let buffer = observed.problem.buffer(id);
        PlacedBuffer { name: name.clone(), bytes: buffer.bytes, pool: None, offset: observed.plan.offset(id), lifetime: Some(buffer.lifetime) }
    };
    Some((observed.problem.ids().zip(&observed.names).map(place).collect(), observed.plan.arena_bytes))
}

/// Finds the buffers again: changed ones, and then those that appeared, stand in the order of the shown plan.
fn with_buffers(diff: PlanDiff, new: &[PlacedBuffer]) -> Vec<ChangedBuffer> {
    let mut changed = (0_usize..).zip(new);
    let mut appeared = (0_usize..).zip(new);
    let with_buffer = |row: DiffRow| {
        let buffer = match &row {
            DiffRow::Changed { new, .. } => changed.find(|(_, buffer)| *buffer == new),
            DiffRow::Appeared(new) => appeared.find(|(_, buffer)| *buffer == new),
            DiffRow::Vanished(_) => None,
        };
        ChangedBuffer { buffer: buffer.map(|(index, _)| BufferId::new(index)), row }
    };
    diff.rows.into_iter().map(with_buffer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::inspector::sample_plans::{bare_with, placed};

    #[test]
    fn every_change_finds_its_buffer_and_its_direction() {
        let planned = placed(&[(64, 0, 4), (128, 0, 2), (64, 2, 4)], &[0, 64, 64]);
        let offsets = vec![128, 0, 64];
        let other = Arc::new(Plan::from_offsets("other", &planned.prepared.problem, offsets.clone()));
        let difference = Difference::new(&planned, Against::Strategy("other".to_owned()), &Other::Plan(other)).expect("a plan");
        let moves: Vec<Move> = planned.prepared.problem.ids().map(|id| difference.move_of(id)).collect();
        assert_eq!(moves, [Move::Down, Move::Up, Move::Same]);
        // 64 bytes by 128, and 128 by 64, weigh the same.
        let ids: Vec<Option<BufferId>> = difference.changes.iter().map(|change| change.buffer).collect();
        assert_eq!(ids, [Some(BufferId(0)), Some(BufferId(1))]);
        assert_eq!((difference.n_same, difference.counts()[0], difference.n_moved(Move::Down)), (1, ("moved", 2), 1));
        let places: Vec<Option<u64>> = planned.prepared.problem.ids().map(|id| difference.place_of(id).map(|(_, offset)| offset)).collect();
        assert_eq!(places, offsets.into_iter().map(Some).collect::<Vec<_>>());
        assert!(difference.is_of(&planned) && !difference.is_of(&bare_with(&[(64, 0, 1)], "naive")));
    }

    #[test]
    fn without_a_plan_in_the_file_there_is_nothing_to_compare() {
        let planned = bare_with(&[(64, 0, 1)], "first-fit");
        assert!(Difference::new(&planned, Against::Observed, &Other::Observed).is_err());
    }
}
