//! Why a dead end is one: the decisions that it follows from, worked out only when there is one.
//!
//! Problem: the last decision is often not to blame, and going back to it repeats the same dead end many times.
//! Method: every raised minimum offset notes its cause on the trail. A dead end asks for a few facts of the form
//! "this row lies at or above `v`", with the smallest `v` that still makes it one; each is traced to the entry that
//! first made it true, and that entry to the facts and decisions behind it, latest first:
//! * a neighbour placed at `o`: that placement, and that the row does not fit below it (at or above `o - size + 1`);
//! * a refusal: that refusal, that the row lies at or above the refused place, and for each neighbour that could be
//!   the supporter why it is none: where it is placed, or how high it lies at least;
//! * a twin: how high the twin before it lies at least.
//!
//! Guarantee: no stable placement agrees with the set that comes out; it holds whatever else was decided.
//! Time O(facts · neighbours · raises of one row), of which a row has at most one open at a time; space O(trail).
//! Source: lazy explanations as in Ohrimenko, Stuckey and Codish, "Propagation via lazy clause generation"
//! (DOI 10.1007/s10601-008-9064-x); the explanations themselves are the project's own.
//!
//! ```text
//! byte 9 |======    the ceiling
//!      4 |...BB.    C is 5 high and lives with B, which lies at 4 to 6: it fits neither below nor above.
//!      0 |AADD..    That B is placed there is to blame, not that A and D are.
//! ```

use super::instance::NONE;
use super::nogoods::Literal;
use super::state::{Entry, Failure, State};
use super::unit::Unit;

/// Stands for a cause that is a refusal: the rest is the number of the decision.
pub(super) const REFUSAL: u32 = 1 << 31;

/// A set of decisions, by number.
#[derive(Clone, Default, Debug)]
pub(super) struct Decisions {
    words: Vec<u64>,
}

impl Decisions {
    pub(super) fn insert(&mut self, decision: u32) {
        let word = decision as usize / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (decision % 64);
    }

    pub(super) fn remove(&mut self, decision: u32) -> bool {
        let Some(word) = self.words.get_mut(decision as usize / 64) else { return false };
        let bit = 1 << (decision % 64);
        let was_in = *word & bit != 0;
        *word &= !bit;
        was_in
    }

    pub(super) fn add(&mut self, others: &Self) {
        if self.words.len() < others.words.len() {
            self.words.resize(others.words.len(), 0);
        }
        self.words.iter_mut().zip(&others.words).for_each(|(word, other)| *word |= other);
    }

    pub(super) fn clear(&mut self) {
        self.words.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The decisions, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        let bits = |(&word, first)| (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| first + bit);
        self.words.iter().zip((0_u32..).step_by(64)).flat_map(bits)
    }
}

/// The facts that are still to be traced. Of several about one row the highest implies the others: whoever asked for
/// them did so later on the trail than the entry that made it true.
pub(super) struct Open<U> {
    /// The entries of the trail that made the facts true, as bits.
    entries: Vec<u64>,
    /// By row: where it must lie at least; zero if nothing is asked of it.
    at_least: Vec<U>,
    /// By row: the entry of that fact.
    entry: Vec<u32>,
    /// By row: its last raise that is not traced yet.
    last: Vec<u32>,
}

impl<U: Unit> Open<U> {
    pub(super) fn new(n_rows: usize) -> Self {
        Self { entries: Vec::new(), at_least: vec![U::ZERO; n_rows], entry: vec![NONE; n_rows], last: vec![NONE; n_rows] }
    }
}

/// One explanation.
struct Explanation<'s, 'a, U> {
    state: &'s State<'a, U>,
    open: &'s mut Open<U>,
    conflict: &'s mut Decisions,
}

/// Adds to `conflict` the decisions that the last dead end follows from; to be called before anything is taken back.
pub(super) fn explain<U: Unit>(state: &State<'_, U>, n_decisions: u32, open: &mut Open<U>, conflict: &mut Decisions) {
    open.entries.resize(state.trail.len().div_ceil(64), 0);
    open.last.copy_from_slice(&state.last_raise);
    let mut explanation = Explanation { state, open, conflict };
    explanation.begin(n_decisions);
    explanation.trace_all();
}

impl<U: Unit> Explanation<'_, '_, U> {
    fn begin(&mut self, n_decisions: u32) {
        let state = self.state;
        match state.failure {
            Failure::Stuck => (0..n_decisions).for_each(|decision| self.conflict.insert(decision)),
            Failure::Ceiling(row) => self.ask(row, state.ceiling - state.instance.size[row as usize] + U::ONE),
            Failure::Unsupported(row) => self.trace_refusal(row, state.refusal[row as usize], U::MAX),
            Failure::Nogood(nogood) => state.nogoods.of(nogood as usize).iter().for_each(|&literal| self.ask_literal(literal)),
            Failure::Crowded(section) => {
                let at_least = state.ceiling - state.total[section as usize] + U::ONE;
                for &row in state.instance.members.of(section as usize) {
                    if state.low[row as usize] != U::MAX {
                        self.ask(row, at_least);
                    }
                }
            }
        }
    }

    /// Notes what a literal that holds follows from.
    fn ask_literal(&mut self, literal: Literal<U>) {
        let (state, row) = (self.state, literal.row as usize);
        if state.low[row] == U::MAX {
            self.conflict.insert(state.placed_by[row]);
        } else if state.low[row] > literal.offset {
            self.ask(literal.row, literal.offset + U::ONE);
        } else {
            self.conflict.insert(state.refusal[row]);
        }
    }

    fn trace_all(&mut self) {
        for word in (0..self.open.entries.len()).rev() {
            while self.open.entries[word] != 0 {
                let bit = 63 - self.open.entries[word].leading_zeros();
                self.open.entries[word] &= !(1 << bit);
                self.trace(word * 64 + bit as usize);
            }
        }
    }

    /// Notes that it must be explained why a row lies at or above `at_least`.
    #[inline]
    fn ask(&mut self, row: u32, at_least: U) {
        let at = row as usize;
        let known = self.open.at_least[at];
        if at_least <= known {
            return;
        }
        if known != U::ZERO {
            let entry = self.open.entry[at];
            self.open.entries[entry as usize / 64] &= !(1 << (entry % 64));
        }
        let mut entry = self.open.last[at];
        while self.state.trail[entry as usize].old >= at_least {
            entry = self.state.trail[entry as usize].before;
        }
        self.open.entries[entry as usize / 64] |= 1 << (entry % 64);
        self.open.entry[at] = entry;
        self.open.at_least[at] = at_least;
    }

    /// Replaces one fact by what it follows from.
    fn trace(&mut self, entry: usize) {
        let Entry { index: row, cause, before, .. } = self.state.trail[entry];
        let at_least = std::mem::replace(&mut self.open.at_least[row as usize], U::ZERO);
        self.open.last[row as usize] = before;
        let size = self.state.instance.size[row as usize];
        if cause == NONE {
            let twin = self.state.instance.pred[row as usize];
            let twin_size = self.state.instance.size[twin as usize];
            if at_least > twin_size {
                self.ask(twin, at_least - twin_size);
            }
        } else if cause >= REFUSAL {
            self.trace_refusal(row, cause - REFUSAL, at_least);
        } else {
            self.conflict.insert(self.state.placed_by[cause as usize]);
            let offset = self.state.offset[cause as usize];
            if offset >= size {
                self.ask(row, offset - size + U::ONE);
            }
        }
    }

    /// Why a refused row lies at or above `at_least`: no neighbour with a lower top can be its supporter.
    fn trace_refusal(&mut self, row: u32, decision: u32, at_least: U) {
        let state = self.state;
        self.conflict.insert(decision);
        let refused = state.refused_at[decision as usize];
        self.ask(row, refused);
        let limit = if state.rules.dominance { refused + state.instance.size[row as usize] } else { U::MAX };
        for &other in state.instance.neighbours.of(row as usize) {
            let size = state.instance.size[other as usize];
            if at_least <= size {
                continue;
            }
            let enough = limit.min(at_least - size);
            if enough > state.offset[other as usize] && state.low[other as usize] == U::MAX {
                self.conflict.insert(state.placed_by[other as usize]);
            } else {
                self.ask(other, enough);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifetimes::Lifetime;
    use crate::problem::Problem;
    use crate::solve::exact::instance::{Instance, decompose};
    use crate::solve::exact::rules::Rules;
    use crate::units::Align;

    /// The picture above on top of one more byte that lives throughout: its buffers by size, with their lifetimes.
    const PICTURE: [(u64, u64, u64); 5] = [(1, 0, 6), (3, 0, 2), (4, 2, 4), (2, 3, 5), (6, 4, 6)];

    /// Does `decisions` in turn, a size and whether to place it, until one is a dead end; the decisions that it follows from.
    fn to_blame(ceiling: u32, decisions: &[(u32, bool)]) -> Vec<u32> {
        let rules = Rules { whole_buffers: false, ..Rules::ALL };
        let buffers = PICTURE.map(|(bytes, start, end)| (bytes, Lifetime { start, end }));
        let problem = Problem::new(buffers, Align::ONE).unwrap();
        let leaves = decompose(&problem, problem.ids().collect(), rules).leaves;
        let instance = Instance::<u32>::new(&leaves[0].part, 1, rules).unwrap();
        let mut state = State::new(&instance, rules);
        assert!(state.reset(ceiling));
        for (decision, &(size, is_placed)) in (0..).zip(decisions) {
            let row = instance.size.iter().position(|&other| other == size).unwrap();
            let is_alive = if is_placed { state.place(row, decision) } else { state.refuse(row, decision) };
            assert_eq!(is_alive, decision as usize + 1 < decisions.len(), "decision {decision}");
        }
        let mut conflict = Decisions::default();
        explain(&state, u32::try_from(decisions.len()).unwrap(), &mut Open::new(instance.n_rows()), &mut conflict);
        conflict.iter().collect()
    }

    #[test]
    fn only_the_placement_that_leaves_no_place_is_to_blame() {
        assert_eq!(to_blame(11, &[(1, true), (3, true), (4, true), (2, true)]), [3]);
    }

    #[test]
    fn a_refused_row_without_a_supporter_blames_what_lies_where_a_supporter_would() {
        // After 1 is placed, 3 can rest on nothing else; 4 and 2 do not touch it.
        assert_eq!(to_blame(11, &[(1, true), (4, true), (2, false), (3, false)]), [0, 3]);
    }
}
