//! Time, reduced to what matters for placing: maximal sections, and parts that do not touch each other.
//!
//! Problem: a million steps, most of which say nothing new about who meets whom.
//! Method: two buffers meet exactly if they are live together at some step where a birth is followed by a death, so
//! only those steps are kept, as *sections*; the live sets of all others are contained in a neighbour's. Where
//! nobody is live across a boundary the problem falls into parts that are planned alone.
//! Guarantee: a placement is valid in the sections exactly if it is in the steps.
//! Time O(n log n), space O(n).
//! Source: MiniMalloc, `src/sweeper.h` (Moffitt, DOI 10.1145/3623278.3624752).
//!
//! ```text
//! A ###......      births and deaths: A+ B+ A- C+ B- C- D+ D-
//! B .####....      sections:          {A,B}  {B,C}      {D}
//! C ...##....      parts:             {A,B,C}           {D}
//! D ......##.
//! ```

use crate::ids::BufferId;
use crate::lifetimes::Lifetime;
use crate::problem::Problem;

/// A part of a problem that can be planned alone; columns by item, items by (start, id).
pub(super) struct Part {
    /// The buffer of each item.
    pub(super) ids: Vec<BufferId>,
    pub(super) bytes: Vec<u64>,
    pub(super) lifetimes: Vec<Lifetime>,
    /// First section of each item.
    pub(super) first: Vec<u32>,
    /// One past the last section of each item; larger than the first.
    pub(super) end: Vec<u32>,
    /// Sum of the sizes live in each section.
    pub(super) load: Vec<u64>,
}

impl Part {
    pub(super) fn n_items(&self) -> usize {
        self.ids.len()
    }

    /// Sections of an item, as positions.
    pub(super) fn range(&self, item: usize) -> (usize, usize) {
        (self.first[item] as usize, self.end[item] as usize)
    }

    /// Whether two items share a section.
    pub(super) fn meet(&self, one: u32, two: u32) -> bool {
        let (one, two) = (one as usize, two as usize);
        self.first[one] < self.end[two] && self.first[two] < self.end[one]
    }

    /// The highest end of a placement by item.
    pub(super) fn height(&self, offsets: &[u64]) -> u64 {
        offsets.iter().zip(&self.bytes).map(|(offset, bytes)| offset + bytes).max().unwrap_or(0)
    }

    /// The largest load: no plan of this part is smaller.
    pub(super) fn bound_bytes(&self) -> u64 {
        self.load.iter().copied().max().unwrap_or(0)
    }

    /// Keeps what the part holds and drops the memory set aside for more.
    fn new(problem: &Problem, ids: &[BufferId]) -> Self {
        let lifetimes: Vec<Lifetime> = ids.iter().map(|&id| problem.buffer(id).lifetime).collect();
        let bytes: Vec<u64> = ids.iter().map(|&id| problem.buffer(id).bytes).collect();
        let mut deaths: Vec<(u64, u32)> = lifetimes.iter().map(|lifetime| lifetime.end).zip(0..).collect();
        deaths.sort_unstable();
        let mut first = vec![0; ids.len()];
        let mut end = vec![0; ids.len()];
        let mut load = Vec::new();
        let mut live_bytes = 0_u64;
        let mut born = 0;
        // Births at the same step as a death come after it: lifetimes are half-open.
        for (death, item) in deaths {
            let section = u32::try_from(load.len()).expect("a part has no more sections than items");
            let n_before = born;
            while born < ids.len() && lifetimes[born].start < death {
                first[born] = section;
                live_bytes += bytes[born];
                born += 1;
            }
            if born > n_before {
                load.push(live_bytes);
            }
            let item = item as usize;
            end[item] = u32::try_from(load.len()).expect("a part has no more sections than items");
            live_bytes -= bytes[item];
        }
        Self { ids: ids.to_vec(), bytes, lifetimes, first, end, load }
    }
}

/// The parts of `problem` restricted to `ids`, in order of time.
pub(super) fn parts(problem: &Problem, mut ids: Vec<BufferId>) -> Vec<Part> {
    ids.sort_unstable_by_key(|&id| (problem.buffer(id).lifetime.start, id));
    let mut latest_end = 0;
    let mut parts = Vec::new();
    let mut begin = 0;
    for (at, &id) in ids.iter().enumerate() {
        let lifetime = problem.buffer(id).lifetime;
        if at > begin && lifetime.start >= latest_end {
            parts.push(Part::new(problem, &ids[begin..at]));
            begin = at;
        }
        latest_end = latest_end.max(lifetime.end);
    }
    if begin < ids.len() {
        parts.push(Part::new(problem, &ids[begin..]));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Align;

    #[test]
    fn keeps_maximal_sections_and_splits_where_nobody_crosses() {
        // The example of the module: A [0, 3), B [1, 5), C [3, 5), D [6, 8).
        let life = |start, end| Lifetime { start, end };
        let problem = Problem::new([(1, life(0, 3)), (2, life(1, 5)), (4, life(3, 5)), (8, life(6, 8))], Align::ONE).expect("a valid problem");
        let parts = parts(&problem, problem.ids().collect());
        assert_eq!(parts.len(), 2);
        assert_eq!((&parts[0].load[..], parts[0].bound_bytes()), (&[3, 6][..], 6));
        assert_eq!((0..3).map(|item| parts[0].range(item)).collect::<Vec<_>>(), [(0, 1), (0, 2), (1, 2)]);
        assert_eq!((&parts[1].ids[..], &parts[1].load[..]), (&[BufferId(3)][..], &[8][..]));
    }
}
