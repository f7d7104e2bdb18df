//! The state of one search: what is placed, the lowest offset that is left to each buffer, and how to take it back.
//!
//! Problem: place, refuse and take back buffers thousands of times without recomputing anything from scratch.
//! Method: flat columns and a trail of old values.
//! * A buffer is *ready* (its minimum offset is exactly the highest top of its placed neighbours), *waiting* (it was
//!   refused at its lowest place, or its twin is not placed yet) or placed.
//! * Placing a buffer raises the minimum offset of its unplaced neighbours to its top.
//! * A refused buffer must later rest on a neighbour that begins below the refused top; its minimum offset rises to
//!   the lowest top that such a neighbour can have (the *support bump*). Without such a neighbour the state is dead.
//! * In each section the lowest minimum offset (the *floor*) and the sizes of all unplaced buffers must fit below the
//!   ceiling, else the state is dead. A section is looked at again only when its *witness* rises, a member at the floor.
//!
//! Guarantee: if a placement below the ceiling exists in which no buffer can be moved to a lower free place, and it
//! agrees with the decisions so far, then no rule excludes it. Take the refused place in such a placement: it is not
//! free, so an unplaced neighbour begins below its top.
//! Time per decision: O(neighbours + Σ members of the sections whose witness rose); space O(instance).
//! Source: the floors follow MiniMalloc (Moffitt, DOI 10.1145/3623278.3624752); refusing with a later supporter
//! follows the bottom-left-stable placements of strip packing (Baker, Coffman, Rivest, DOI 10.1137/0209064).
//!
//! ```text
//! byte 3 |..?      C was refused at byte 1, so B or D must go under it:
//!      2 |.BC      B can end at 3 at the lowest, D at 4: C begins at 3 or above
//!      1 |.BC..D
//!      0 |AAAAAA
//! ```

use super::explain::REFUSAL;
use super::instance::{Instance, NONE};
use super::nogoods::Nogoods;
use super::rules::Rules;
use super::unit::Unit;

/// What an entry of the trail restores.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Low,
    Limit,
    Floor,
    Place,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<U> {
    kind: Kind,
    pub(super) index: u32,
    pub(super) old: U,
    /// Of a raise: the row whose placement caused it, a refusal with [`REFUSAL`], or [`NONE`] for the twin.
    /// Of a limit: the refusal before. Of a floor: the witness before.
    pub(super) cause: u32,
    /// Of a raise: the raise of the same row before it.
    pub(super) before: u32,
}

/// What made a dead end one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Failure {
    /// This row no longer fits below the ceiling.
    Ceiling(u32),
    /// This row was refused and has no supporter left.
    Unsupported(u32),
    /// The unplaced rows of this section no longer fit below the ceiling.
    Crowded(u32),
    /// All literals of this nogood hold.
    Nogood(u32),
    /// No row is ready; it does not follow from any smaller set of decisions that is known.
    Stuck,
}

pub(super) struct State<'a, U> {
    pub(super) instance: &'a Instance<U>,
    pub(super) rules: Rules,
    /// No buffer may end above it.
    pub(super) ceiling: U,
    /// Minimum offset by row; the largest number once placed.
    pub(super) low: Vec<U>,
    /// `low` of ready rows, the largest number for all others.
    pub(super) ready: Vec<U>,
    /// Zero if not waiting, the largest number if waiting for the twin, else the top of the refused place.
    limit: Vec<U>,
    /// A neighbour that may be the supporter of a waiting row, at the lowest possible top when it was chosen.
    supporter: Vec<u32>,
    /// Rows that wait, as bits.
    waiting: Vec<u64>,
    /// Offset of placed rows.
    pub(super) offset: Vec<U>,
    /// Lowest `low` of the unplaced members of each section; the largest number if there are none.
    pub(super) floor: Vec<U>,
    /// Sum of sizes of the unplaced members of each section.
    pub(super) total: Vec<U>,
    /// Unplaced rows that cross the boundary before each section.
    pub(super) crossing: Vec<u32>,
    /// Unplaced rows that begin in each section.
    pub(super) n_beginning: Vec<u32>,
    /// Whether a boundary lost its last crossing row since the flag was cleared.
    pub(super) has_split: bool,
    pub(super) n_unplaced: usize,
    /// Dead ends found in each section.
    pub(super) n_failures: Vec<u32>,
    /// The section of the last dead end.
    pub(super) last_failed: Option<u32>,
    /// An unplaced member of each section at its floor; [`NONE`] while the section is dirty, or if there are none.
    witness: Vec<u32>,
    /// Sections whose witness rose, with that witness.
    dirty: Vec<(u32, u32)>,
    pub(super) trail: Vec<Entry<U>>,
    /// The last raise of each row on the trail.
    pub(super) last_raise: Vec<u32>,
    /// The decision that placed each row.
    pub(super) placed_by: Vec<u32>,
    /// The decision that refused each waiting row.
    pub(super) refusal: Vec<u32>,
    /// By decision: the place that was refused.
    pub(super) refused_at: Vec<U>,
    /// The reason of the last dead end.
    pub(super) failure: Failure,
    /// Sets of decisions that are known to be dead ends below the ceiling.
    pub(super) nogoods: Nogoods<U>,
}

impl<'a, U: Unit> State<'a, U> {
    pub(super) fn new(instance: &'a Instance<U>, rules: Rules) -> Self {
        let (n_rows, n_sections) = (instance.n_rows(), instance.n_sections());
        let mut crossing = vec![0; n_sections + 1];
        let mut n_beginning = vec![0; n_sections];
        for row in 0..n_rows {
            let range = instance.range(row);
            n_beginning[range.start] += 1;
            crossing[range.start + 1..range.end].iter_mut().for_each(|count| *count += 1);
        }
        Self {
            instance,
            rules,
            ceiling: U::MAX,
            low: vec![U::ZERO; n_rows],
            ready: vec![U::ZERO; n_rows],
            limit: vec![U::ZERO; n_rows],
            supporter: vec![NONE; n_rows],
            waiting: vec![0; n_rows.div_ceil(64)],
            offset: vec![U::ZERO; n_rows],
            floor: vec![U::ZERO; n_sections],
            total: instance.load.clone(),
            crossing,
            n_beginning,
            has_split: true,
            n_unplaced: n_rows,
            n_failures: vec![0; n_sections],
            last_failed: None,
            witness: (0..n_sections).map(|section| instance.members.of(section).first().copied().unwrap_or(NONE)).collect(),
            dirty: Vec::new(),
            trail: Vec::new(),
            last_raise: vec![NONE; n_rows],
            placed_by: vec![NONE; n_rows],
            refusal: vec![NONE; n_rows],
            refused_at: Vec::new(),
            failure: Failure::Crowded(0),
            nogoods: Nogoods::new(n_rows),
        }
    }

    /// Takes everything back and sets the ceiling; false if nothing can fit below it.
    pub(super) fn reset(&mut self, ceiling: U) -> bool {
        self.undo_to(0);
        self.ceiling = ceiling;
        self.n_failures.fill(0);
        self.last_failed = None;
        for row in 0..self.instance.n_rows() {
            if self.instance.pred[row] != NONE {
                self.set_limit(row, U::MAX, NONE);
                self.supporter[row] = self.instance.pred[row];
            }
        }
        if self.rules.section_floors && self.total.iter().any(|&total| total > ceiling) {
            return false;
        }
        self.instance.size.iter().all(|&size| size <= ceiling) && self.settle()
    }

    /// How much of the trail is in use: what [`State::undo_to`] returns to.
    pub(super) fn mark(&self) -> usize {
        self.trail.len()
    }

    /// Places a ready row at its minimum offset, as the decision of a number; false if that is a dead end.
    pub(super) fn place(&mut self, row: usize, decision: u32) -> bool {
        let instance = self.instance;
        let (offset, size) = (self.low[row], instance.size[row]);
        let top = offset + size;
        self.trail.push(Entry { kind: Kind::Place, index: id(row), old: offset, cause: NONE, before: NONE });
        self.placed_by[row] = decision;
        self.offset[row] = offset;
        self.low[row] = U::MAX;
        self.ready[row] = U::MAX;
        self.count_placed(row, size);
        self.mark_dirty(row);
        if !self.agrees_with_nogoods(row) {
            return self.fail();
        }
        for &other in instance.neighbours.of(row) {
            let other = other as usize;
            if self.low[other] == U::MAX {
                continue;
            }
            if self.limit[other] != U::ZERO && self.is_freed(other, row, offset, top) {
                self.set_limit(other, U::ZERO, self.refusal[other]);
            }
            if self.low[other] < top && !self.raise(other, top, id(row)) {
                return self.fail();
            }
        }
        self.settle()
    }

    /// Whether placing `row` lets the waiting row `other` be placed.
    #[inline]
    fn is_freed(&self, other: usize, row: usize, offset: U, top: U) -> bool {
        if self.limit[other] == U::MAX {
            return self.instance.pred[other] as usize == row;
        }
        if self.rules.dominance { offset < self.limit[other] } else { top > self.low[other] || offset < self.limit[other] }
    }

    /// Refuses a ready row at its minimum offset, as the decision of a number; false if that is a dead end.
    pub(super) fn refuse(&mut self, row: usize, decision: u32) -> bool {
        self.refused_at.truncate(decision as usize);
        self.refused_at.resize(decision as usize + 1, self.low[row]);
        self.set_limit(row, self.low[row] + self.instance.size[row], decision);
        self.supporter[row] = NONE;
        self.agrees_with_nogoods(row) && self.settle()
    }

    fn agrees_with_nogoods(&mut self, row: usize) -> bool {
        let nogood = self.nogood(row);
        if let Some(nogood) = nogood {
            self.note_failure(self.crowded(row), Failure::Nogood(nogood));
        }
        nogood.is_none()
    }

    fn count_placed(&mut self, row: usize, size: U) {
        let range = self.instance.range(row);
        self.n_beginning[range.start] -= 1;
        self.n_unplaced -= 1;
        for count in &mut self.crossing[range.start + 1..range.end] {
            *count -= 1;
            self.has_split |= *count == 0;
        }
        for total in &mut self.total[range] {
            *total -= size;
        }
    }

    fn set_limit(&mut self, row: usize, limit: U, refusal: u32) {
        self.trail.push(Entry { kind: Kind::Limit, index: id(row), old: self.limit[row], cause: self.refusal[row], before: NONE });
        self.refusal[row] = refusal;
        self.restore_limit(row, limit);
    }

    fn restore_limit(&mut self, row: usize, limit: U) {
        self.limit[row] = limit;
        let bit = 1 << (row % 64);
        if limit == U::ZERO {
            self.ready[row] = self.low[row];
            self.waiting[row / 64] &= !bit;
        } else {
            self.ready[row] = U::MAX;
            self.waiting[row / 64] |= bit;
        }
    }

    /// Raises the minimum offset of an unplaced row; false if it no longer fits.
    #[inline]
    fn raise(&mut self, row: usize, low: U, cause: u32) -> bool {
        let old = self.low[row];
        let entry = id(self.trail.len());
        self.trail.push(Entry { kind: Kind::Low, index: id(row), old, cause, before: self.last_raise[row] });
        self.last_raise[row] = entry;
        self.low[row] = low;
        if self.limit[row] == U::ZERO {
            self.ready[row] = low;
        }
        self.mark_dirty(row);
        if low + self.instance.size[row] <= self.ceiling {
            return true;
        }
        self.note_failure(self.crowded(row), Failure::Ceiling(id(row)));
        false
    }

    /// Marks the sections whose witness a row is: their floor may rise now.
    #[inline]
    fn mark_dirty(&mut self, row: usize) {
        let range = self.instance.range(row);
        let (begin, row) = (range.start, id(row));
        for (at, witness) in self.witness[range].iter_mut().enumerate() {
            if *witness == row {
                *witness = NONE;
                self.dirty.push((id(begin + at), row));
            }
        }
    }

    /// Raises waiting rows until nothing changes, then the floors; false at a dead end.
    fn settle(&mut self) -> bool {
        if self.rules.support_bump {
            let mut is_quiet = false;
            while !is_quiet {
                is_quiet = true;
                for word in 0..self.waiting.len() {
                    let mut bits = self.waiting[word];
                    while bits != 0 {
                        let row = word * 64 + bits.trailing_zeros() as usize;
                        bits &= bits - 1;
                        if self.is_supported(row) {
                            continue;
                        }
                        is_quiet = false;
                        if !self.find_supporter(row) {
                            return self.fail();
                        }
                    }
                }
            }
        }
        self.settle_floors()
    }

    /// Whether the known supporter of a waiting row still says no more than its minimum offset does.
    #[inline]
    fn is_supported(&self, row: usize) -> bool {
        let supporter = self.supporter[row];
        if supporter == NONE {
            return false;
        }
        let low = self.low[supporter as usize];
        low != U::MAX && self.may_support(low, row) && low + self.instance.size[supporter as usize] <= self.low[row]
    }

    #[inline]
    fn may_support(&self, low: U, row: usize) -> bool {
        !self.rules.dominance || low < self.limit[row]
    }

    /// Finds the neighbour with the lowest possible top that may support a waiting row; false at a dead end.
    fn find_supporter(&mut self, row: usize) -> bool {
        let instance = self.instance;
        let enough = self.low[row];
        let mut best = (U::MAX, NONE);
        let mut cause = NONE;
        if self.limit[row] == U::MAX {
            let twin = instance.pred[row];
            best = (self.low[twin as usize] + instance.size[twin as usize], twin);
        } else {
            cause = REFUSAL + self.refusal[row];
            for &other in instance.neighbours.of(row) {
                let low = self.low[other as usize];
                if low == U::MAX || !self.may_support(low, row) {
                    continue;
                }
                let top = low + instance.size[other as usize];
                if top < best.0 {
                    best = (top, other);
                    if top <= enough {
                        break;
                    }
                }
            }
        }
        self.supporter[row] = best.1;
        if best.1 == NONE {
            self.note_failure(self.crowded(row), Failure::Unsupported(id(row)));
            return false;
        }
        best.0 <= enough || self.raise(row, best.0, cause)
    }

    fn settle_floors(&mut self) -> bool {
        while let Some((section, risen)) = self.dirty.pop() {
            let at = section as usize;
            let old = self.floor[at];
            let (mut floor, mut witness) = (U::MAX, NONE);
            for &row in self.instance.members.of(at) {
                let low = self.low[row as usize];
                if low < floor {
                    (floor, witness) = (low, row);
                    if low == old {
                        break;
                    }
                }
            }
            self.witness[at] = witness;
            if floor == old {
                continue;
            }
            self.trail.push(Entry { kind: Kind::Floor, index: section, old, cause: risen, before: NONE });
            self.floor[at] = floor;
            if floor != U::MAX && self.rules.section_floors && floor + self.total[at] > self.ceiling {
                self.note_failure(Some(at), Failure::Crowded(section));
                return self.fail();
            }
        }
        true
    }

    /// The section of a row with the most left to place.
    fn crowded(&self, row: usize) -> Option<usize> {
        self.instance.range(row).max_by_key(|&section| self.total[section])
    }

    fn note_failure(&mut self, section: Option<usize>, failure: Failure) {
        self.failure = failure;
        if let Some(section) = section {
            self.n_failures[section] += 1;
            self.last_failed = Some(id(section));
        }
    }

    /// Forgets which floors are out of date: the caller takes back what made them so.
    fn fail(&mut self) -> bool {
        for (section, witness) in self.dirty.drain(..) {
            self.witness[section as usize] = witness;
        }
        false
    }

    /// Takes back everything after a mark.
    pub(super) fn undo_to(&mut self, mark: usize) {
        while self.trail.len() > mark {
            let Some(Entry { kind, index, old, cause, before }) = self.trail.pop() else { return };
            let at = index as usize;
            match kind {
                Kind::Low => {
                    self.low[at] = old;
                    self.last_raise[at] = before;
                    if self.limit[at] == U::ZERO {
                        self.ready[at] = old;
                    }
                }
                Kind::Limit => {
                    self.refusal[at] = cause;
                    self.restore_limit(at, old);
                }
                Kind::Floor => {
                    self.floor[at] = old;
                    // It was a witness as long as the floor was there.
                    self.witness[at] = cause;
                }
                Kind::Place => self.unplace(at, old),
            }
        }
        self.has_split = true;
    }

    fn unplace(&mut self, row: usize, offset: U) {
        self.low[row] = offset;
        self.ready[row] = offset;
        let range = self.instance.range(row);
        self.n_beginning[range.start] += 1;
        self.n_unplaced += 1;
        for count in &mut self.crossing[range.start + 1..range.end] {
            *count += 1;
        }
        let size = self.instance.size[row];
        for total in &mut self.total[range] {
            *total += size;
        }
    }
}

/// Rows and sections have 32-bit ids.
fn id(index: usize) -> u32 {
    u32::try_from(index).expect("an instance has 32-bit ids")
}
