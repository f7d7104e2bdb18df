//! The difference between two plans: what moved, grew, shrank, appeared and vanished.
//!
//! Problem: two plans of one model, or of two versions of it; ids say nothing across them.
//! Method: buffers are matched by name, the k-th of a name with the k-th; what is left over appeared or vanished.
//! Guarantee: every buffer of both plans is in exactly one row or counted as unchanged.
//! Time O(n log n), space O(n).
//! Source: the project's own.

use std::collections::BTreeMap;

use crate::ids::{BufferId, PoolId};
use crate::lifetimes::Lifetime;
use crate::plan::Plan;
use crate::prepare::Prepared;

/// A buffer with its place, as a plan or a plan file has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlacedBuffer {
    /// Its name: that of its first tensor.
    pub name: String,
    /// Its size, rounded; 0 if a file does not say it.
    pub bytes: u64,
    /// Its pool; `None` if there is one arena.
    pub pool: Option<PoolId>,
    /// Its first byte in the arena, or in its pool.
    pub offset: u64,
    /// Its lifetime; `None` if a file does not say it.
    pub lifetime: Option<Lifetime>,
}

/// The buffers of a plan with their places.
#[must_use]
pub fn placed_buffers(prepared: &Prepared, plan: &Plan) -> Vec<PlacedBuffer> {
    let place = |id: BufferId| {
        let buffer = prepared.problem.buffer(id);
        PlacedBuffer {
            name: prepared.buffer_name(id).to_owned(),
            bytes: buffer.bytes,
            pool: plan.pools.as_ref().map(|pools| pools.of_buffer[id.index()]),
            offset: plan.offset(id),
            lifetime: Some(buffer.lifetime),
        }
    };
    prepared.problem.ids().map(place).collect()
}

/// One buffer that is not as it was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DiffRow {
    /// In both plans, at another offset or with another size or lifetime.
    Changed {
        /// As it was.
        old: PlacedBuffer,
        /// As it is.
        new: PlacedBuffer,
    },
    /// Only in the new plan.
    Appeared(PlacedBuffer),
    /// Only in the old plan.
    Vanished(PlacedBuffer),
}

impl DiffRow {
    /// The buffer's name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Changed { new, .. } | Self::Appeared(new) => &new.name,
            Self::Vanished(old) => &old.name,
        }
    }

    /// What happened, in the words of reports; a buffer may have moved and grown.
    #[must_use]
    pub fn changes(&self) -> Vec<&'static str> {
        let (old, new) = match self {
            Self::Changed { old, new } => (old, new),
            Self::Appeared(_) => return vec!["appeared"],
            Self::Vanished(_) => return vec!["vanished"],
        };
        let all = [
            ((old.pool, old.offset) != (new.pool, new.offset), "moved"),
            (old.bytes < new.bytes, "grew"),
            (old.bytes > new.bytes, "shrank"),
            (old.lifetime != new.lifetime, "lives at other steps"),
        ];
        all.into_iter().filter(|&(is_so, _)| is_so).map(|(_, word)| word).collect()
    }
}

/// What changed from one plan to another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanDiff {
    /// Changed buffers in the order of the new plan, then those that appeared, then those that vanished.
    pub rows: Vec<DiffRow>,
    /// How many buffers are as they were.
    pub n_same: u64,
}

impl PlanDiff {
    /// How many rows say `change`, one of the words of [`DiffRow::changes`].
    #[must_use]
    pub fn n_of(&self, change: &str) -> u64 {
        self.rows.iter().filter(|row| row.changes().contains(&change)).count() as u64
    }
}

/// Compares two plans.
#[must_use]
pub fn diff_plans(old: &[PlacedBuffer], new: &[PlacedBuffer]) -> PlanDiff {
    let mut waiting: BTreeMap<&str, Vec<&PlacedBuffer>> = BTreeMap::new();
    for buffer in old.iter().rev() {
        waiting.entry(&buffer.name).or_default().push(buffer);
    }
    let (mut rows, mut appeared, mut n_same) = (Vec::new(), Vec::new(), 0);
    for buffer in new {
        match waiting.get_mut(buffer.name.as_str()).and_then(Vec::pop) {
            Some(before) if before == buffer => n_same += 1,
            Some(before) => rows.push(DiffRow::Changed { old: before.clone(), new: buffer.clone() }),
            None => appeared.push(DiffRow::Appeared(buffer.clone())),
        }
    }
    rows.append(&mut appeared);
    let is_left =
        |buffer: &&PlacedBuffer| waiting.get(buffer.name.as_str()).is_some_and(|left| left.iter().any(|other| std::ptr::eq(*other, *buffer)));
    rows.extend(old.iter().filter(is_left).map(|buffer| DiffRow::Vanished(buffer.clone())));
    PlanDiff { rows, n_same }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(name: &str, bytes: u64, offset: u64) -> PlacedBuffer {
        PlacedBuffer { name: name.to_owned(), bytes, pool: None, offset, lifetime: Some(Lifetime { start: 0, end: 1 }) }
    }

    #[test]
    fn every_buffer_of_both_plans_is_accounted_for_once() {
        let old =
            [buffer("same", 4, 0), buffer("moved", 4, 8), buffer("both", 4, 16), buffer("gone", 4, 24), buffer("twin", 1, 0), buffer("twin", 2, 0)];
        let new =
            [buffer("same", 4, 0), buffer("moved", 4, 4), buffer("both", 8, 20), buffer("twin", 1, 0), buffer("twin", 1, 0), buffer("here", 4, 0)];
        let diff = diff_plans(&old, &new);
        let rows: Vec<(&str, Vec<&str>)> = diff.rows.iter().map(|row| (row.name(), row.changes())).collect();
        let expected = [
            ("moved", vec!["moved"]),
            ("both", vec!["moved", "grew"]),
            ("twin", vec!["shrank"]),
            ("here", vec!["appeared"]),
            ("gone", vec!["vanished"]),
        ];
        assert_eq!((rows.as_slice(), diff.n_same, diff.n_of("moved")), (&expected[..], 2, 2));
        assert_eq!(diff_plans(&old, &old), PlanDiff { rows: Vec::new(), n_same: 6 });
    }

    #[test]
    fn the_same_byte_of_another_pool_is_another_place() {
        let (one, two) = ([buffer("x", 1, 0)], [PlacedBuffer { pool: Some(PoolId(1)), ..buffer("x", 1, 0) }]);
        assert_eq!(diff_plans(&one, &two).n_of("moved"), 1);
    }

    #[test]
    fn more_of_a_name_appear_or_vanish() {
        let (one, two) = ([buffer("x", 1, 0)], [buffer("x", 1, 0), buffer("x", 1, 4)]);
        assert_eq!(diff_plans(&one, &two).rows, [DiffRow::Appeared(two[1].clone())]);
        assert_eq!(diff_plans(&two, &one).rows, [DiffRow::Vanished(two[1].clone())]);
    }
}
