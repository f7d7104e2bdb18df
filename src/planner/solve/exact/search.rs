//! The search itself: decide, propagate, take back.
//!
//! Problem: does a placement below a ceiling exist?
//! Method: pick a ready buffer ([`super::pick`]); first place it at its minimum offset, then, if that failed, refuse
//! it there. Every stable placement is met at most once. Where no unplaced buffer crosses a boundary the rest falls
//! into *regions*; one is solved completely before the next is begun, the smallest first.
//! A dead end goes back to the deepest decision that it follows from ([`super::explain`]); what both sides of that
//! decision follow from, without the decision, is the next dead end. Without backjumps the last decision is taken back,
//! and only decisions of other regions than the impossible one are skipped.
//! Guarantee: without a limit it ends with a placement or with the proof that there is none.
//! Time: exponential in the worst case; a decision takes 1 to 40 µs on instances of 150 to 450 buffers, with its share
//! of explanations two to three times as much. Space O(instance + decisions · (decisions + changes per decision)).
//! Source: two-way branching with dominance as in Korf, Moffitt and Pollack, "Optimal rectangle packing"
//! (DOI 10.1007/s10479-008-0463-6), on the placements of MiniMalloc (DOI 10.1145/3623278.3624752); backjumps as in
//! Prosser, "Hybrid algorithms for the constraint satisfaction problem" (DOI 10.1111/j.1467-8640.1993.tb00310.x).
//!
//! Measured on 132 variants of published hard instances (warped addresses, shorter lifetimes, split buffers) within
//! 100,000 nodes each: 4 are left open with backjumps, in 2.9 s, and 17 without, in 3.2 s. Answers on small tight
//! problems take a quarter to a third fewer nodes. Searches of a few hundred nodes do better without: see `leaf_search.rs`.
//!
//! ```text
//! A at 0 ─┬─ B at 4 ─┬─ C at 0   fits: done
//!         │          └─ C not at 0: must rest on D …
//!         └─ B not at 4: must rest on D …
//! ```

use super::explain::{Decisions, Open, explain};
use super::nogoods::{Learned, Literal, MAX_LITERALS};
use super::pick::{Mode, Region, pick};
use super::state::{Failure, State};
use super::unit::Unit;

/// How a search ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// A placement below the ceiling; it is in [`State::offset`].
    Found,
    /// There is none.
    Exhausted,
    /// The limit on nodes was reached.
    Limit,
    /// The caller wants to stop.
    Stopped,
}

/// One decision.
#[derive(Debug)]
struct Frame {
    row: u32,
    /// Whether placing the row is a dead end, so that it is refused now.
    is_refused: bool,
    mark: usize,
    region: Region,
}

/// Nodes between two looks at the caller's wish to stop; under 10 ms.
const NODES_PER_POLL: u64 = 128;

/// A search below one ceiling by one arm.
pub(super) struct Search<'s, 'a, U> {
    state: &'s mut State<'a, U>,
    mode: Mode,
    ranks: &'s [u32],
    frames: Vec<Frame>,
    /// By decision that was refused: why its placement is a dead end.
    reasons: Vec<Decisions>,
    /// Why the last dead end is one.
    conflict: Decisions,
    open: Open<U>,
    /// Placements and refusals tried.
    pub(super) n_nodes: u64,
}

impl<'s, 'a, U: Unit> Search<'s, 'a, U> {
    pub(super) fn new(state: &'s mut State<'a, U>, mode: Mode, ranks: &'s [u32]) -> Self {
        let open = Open::new(state.instance.n_rows());
        Self { state, mode, ranks, open, frames: Vec::new(), reasons: Vec::new(), conflict: Decisions::default(), n_nodes: 0 }
    }

    /// Searches until an answer, the limit, or a stop.
    pub(super) fn run(&mut self, ceiling: U, max_nodes: u64, learned: &Learned<U>, should_stop: &dyn Fn() -> bool) -> Outcome {
        if !self.state.reset(ceiling) {
            return Outcome::Exhausted;
        }
        self.state.nogoods.begin_with(learned, ceiling);
        let mut is_alive = true;
        loop {
            if is_alive {
                if self.state.n_unplaced == 0 {
                    return Outcome::Found;
                }
                if let Some(end) = self.limit(max_nodes, should_stop) {
                    return end;
                }
                is_alive = self.decide();
            } else {
                match self.retreat() {
                    Some(still_alive) => is_alive = still_alive,
                    None => return Outcome::Exhausted,
                }
            }
        }
    }

    fn limit(&self, max_nodes: u64, should_stop: &dyn Fn() -> bool) -> Option<Outcome> {
        if self.n_nodes >= max_nodes {
            return Some(Outcome::Limit);
        }
        (self.n_nodes.is_multiple_of(NODES_PER_POLL) && should_stop()).then_some(Outcome::Stopped)
    }

    /// Picks a row and places it; false at a dead end.
    fn decide(&mut self) -> bool {
        let region = self.region();
        let picked = pick(self.state, &region, self.mode, self.ranks);
        let Some(row) = picked else {
            self.state.failure = Failure::Stuck;
            return false;
        };
        let decision = number(self.frames.len());
        self.frames.push(Frame { row: number(row), is_refused: false, mark: self.state.mark(), region });
        self.n_nodes += 1;
        self.state.place(row, decision)
    }

    /// Turns from placing the row of the last decision to refusing it; false at a dead end.
    fn turn(&mut self) -> bool {
        let decision = number(self.frames.len() - 1);
        let Some(frame) = self.frames.last_mut() else { return false };
        self.state.undo_to(frame.mark);
        frame.is_refused = true;
        self.n_nodes += 1;
        self.state.refuse(frame.row as usize, decision)
    }

    /// Goes back from a dead end to the last decision with another side that matters, and takes that side; `None` if
    /// there is none.
    fn retreat(&mut self) -> Option<bool> {
        if self.state.rules.backjumps && self.state.rules.support_bump { self.jump() } else { self.step_back() }
    }

    /// Goes back to the last decision that the dead end follows from, and so on while both sides of it are dead ends.
    fn jump(&mut self) -> Option<bool> {
        let mut conflict = std::mem::take(&mut self.conflict);
        conflict.clear();
        explain(self.state, number(self.frames.len()), &mut self.open, &mut conflict);
        let mut side = None;
        while let Some(at) = self.frames.len().checked_sub(1) {
            let decision = number(at);
            if !conflict.remove(decision) {
                self.frames.pop();
                continue;
            }
            if self.reasons.len() <= at {
                self.reasons.resize_with(at + 1, Decisions::default);
            }
            if self.frames[at].is_refused {
                conflict.add(&self.reasons[at]);
                self.frames.pop();
                continue;
            }
            self.learn(&conflict, decision);
            std::mem::swap(&mut self.reasons[at], &mut conflict);
            side = Some(self.turn());
            break;
        }
        self.conflict = conflict;
        side
    }

    /// Remembers that the placement of a decision is a dead end under these others.
    fn learn(&mut self, others: &Decisions, placement: u32) {
        if !self.state.rules.nogoods || others.len() >= MAX_LITERALS {
            return;
        }
        let literal = |decision: u32| {
            let frame = &self.frames[decision as usize];
            let offset = if frame.is_refused { self.state.refused_at[decision as usize] } else { self.state.offset[frame.row as usize] };
            Literal { row: frame.row, offset, is_placed: !frame.is_refused }
        };
        let open = literal(placement);
        let mut set: Vec<_> = others.iter().map(literal).chain([open]).collect();
        self.state.learn(&mut set, open);
    }

    /// Goes back to the last decision with another side, and takes it.
    fn step_back(&mut self) -> Option<bool> {
        loop {
            if !self.frames.last()?.is_refused {
                return Some(self.turn());
            }
            self.state.undo_to(self.frames.last()?.mark);
            let culprit = self.frames.pop()?.region;
            while let Some(above) = self.frames.pop_if(|above| are_disjoint(&above.region, &culprit)) {
                self.state.undo_to(above.mark);
            }
        }
    }

    /// The region to work in: within that of the last decision, else of the one before it with anything left.
    fn region(&mut self) -> Region {
        let whole = 0..self.state.instance.n_sections();
        if !self.state.rules.regions {
            return whole;
        }
        let last = self.frames.last().map_or(whole.clone(), |frame| frame.region.clone());
        if !self.state.has_split && self.has_unplaced(&last) {
            return last;
        }
        self.state.has_split = false;
        let around = self.frames.iter().rev().map(|frame| &frame.region).find(|region| self.has_unplaced(region)).cloned().unwrap_or(whole);
        self.smallest_part(around)
    }

    fn has_unplaced(&self, region: &Region) -> bool {
        self.state.n_beginning[region.clone()].iter().any(|&count| count > 0)
    }

    /// The part of a region, cut where nobody crosses, with the fewest unplaced rows.
    fn smallest_part(&self, region: Region) -> Region {
        let mut best = (u32::MAX, region.clone());
        let mut begin = region.start;
        let mut n_rows = 0;
        for section in region.clone() {
            n_rows += self.state.n_beginning[section];
            let end = section + 1;
            if end == region.end || self.state.crossing[end] == 0 {
                if n_rows > 0 && n_rows < best.0 {
                    best = (n_rows, begin..end);
                }
                (begin, n_rows) = (end, 0);
            }
        }
        best.1
    }
}

/// Decisions have 32-bit numbers, as they are fewer than entries of the trail.
fn number(decision: usize) -> u32 {
    u32::try_from(decision).expect("a search has 32-bit decisions")
}

fn are_disjoint(one: &Region, two: &Region) -> bool {
    one.end <= two.start || two.end <= one.start
}
