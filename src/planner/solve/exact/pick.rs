//! Which ready buffer is decided next.
//!
//! *Global*: the lowest one of the region. That is always allowed: the lowest unplaced buffer of a stable placement
//! rests on placed ones, so it is ready, and no other can end up below it.
//! *Local*: the lowest one of the section that looks hardest, then on to lower neighbours until none is lower. It may
//! lie above others, so it is allowed only if no unplaced neighbour fits below it; else the pick is global.
//! Ties go to the larger current total over the buffer's sections, if the mode says so, then to the order.
//! Time O(rows of the region + sections); nothing is stored.
//! Source: the lowest-first picks are MiniMalloc's (Moffitt, DOI 10.1145/3623278.3624752); preferring what failed
//! often follows Boussemart et al., "Boosting systematic search by weighting constraints" (ECAI 2004), preferring what
//! failed last follows Lecoutre et al., DOI 10.1016/j.artint.2009.09.002.

use std::cmp::Reverse;
use std::ops::Range;

use super::state::State;
use super::unit::Unit;

/// What is picked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pick {
    /// The lowest ready row.
    Global,
    /// The lowest ready row of a section chosen by a rule.
    Local(Section),
}

/// Which section a local pick looks at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Section {
    /// Most dead ends, then least slack.
    Failures,
    /// Most dead ends per slack.
    Ratio,
    /// That of the last dead end while it has members, else as for `Failures`.
    Last,
}

/// What breaks ties between equal minimum offsets before the order does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tie {
    /// Nothing.
    Order,
    /// The largest total still to place over the row's sections.
    Total,
    /// The largest floor plus total over the row's sections.
    Tightness,
}

/// How one arm of the portfolio picks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mode {
    pub(super) pick: Pick,
    pub(super) tie: Tie,
}

/// Sections `first..end` without unplaced rows across either end.
pub(super) type Region = Range<usize>;

/// The next row to decide in a region; `None` if none is ready.
pub(super) fn pick<U: Unit>(state: &State<'_, U>, region: &Region, mode: Mode, ranks: &[u32]) -> Option<usize> {
    let chooser = Chooser { state, tie: mode.tie, ranks };
    if let Pick::Local(section) = mode.pick
        && let Some(row) = chooser.local(region, section)
    {
        return Some(row);
    }
    chooser.global(region)
}

struct Chooser<'a, 'b, U> {
    state: &'a State<'b, U>,
    tie: Tie,
    ranks: &'a [u32],
}

impl<U: Unit> Chooser<'_, '_, U> {
    fn global(&self, region: &Region) -> Option<usize> {
        let rows = self.state.instance.row_at[region.start] as usize..self.state.instance.row_at[region.end] as usize;
        let ready = &self.state.ready[rows.clone()];
        let lowest = ready.iter().copied().fold(U::MAX, U::min);
        if lowest == U::MAX {
            return None;
        }
        let ties = rows.zip(ready).filter(|&(_, &low)| low == lowest).map(|(row, _)| row);
        ties.min_by_key(|&row| self.preference(row))
    }

    /// Smaller is better.
    #[inline]
    fn preference(&self, row: usize) -> (Reverse<U>, u32) {
        let state = self.state;
        let range = state.instance.range(row);
        let tightness = match self.tie {
            Tie::Order => U::ZERO,
            Tie::Total => state.total[range].iter().copied().fold(U::ZERO, U::max),
            Tie::Tightness => {
                let sums = state.total[range.clone()].iter().zip(&state.floor[range]).map(|(&total, &floor)| total + floor);
                sums.fold(U::ZERO, U::max)
            }
        };
        (Reverse(tightness), self.ranks[row])
    }

    fn local(&self, region: &Region, rule: Section) -> Option<usize> {
        let section = self.section(region, rule)?;
        let members = self.state.instance.members.of(section);
        let mut row = self.lowest_of(members, U::MAX)?;
        while let Some(lower) = self.lowest_of(self.state.instance.neighbours.of(row), self.state.ready[row]) {
            row = lower;
        }
        self.nothing_fits_below(row).then_some(row)
    }

    /// The lowest ready one of `rows` below `limit`.
    fn lowest_of(&self, rows: &[u32], limit: U) -> Option<usize> {
        let ready = |row: &u32| self.state.ready[*row as usize];
        let lowest = rows.iter().map(ready).fold(U::MAX, U::min);
        if lowest >= limit {
            return None;
        }
        let ties = rows.iter().filter(|row| ready(row) == lowest).map(|&row| row as usize);
        ties.min_by_key(|&row| self.preference(row))
    }

    fn nothing_fits_below(&self, row: usize) -> bool {
        let (state, low) = (self.state, self.state.low[row]);
        state.instance.neighbours.of(row).iter().all(|&other| {
            let other = other as usize;
            state.low[other] >= low || state.low[other] + state.instance.size[other] > low
        })
    }

    fn section(&self, region: &Region, rule: Section) -> Option<usize> {
        let state = self.state;
        let is_open = |section: usize| state.total[section] > U::ZERO;
        if rule == Section::Last
            && let Some(last) = state.last_failed.map(|section| section as usize)
            && region.contains(&last)
            && is_open(last)
        {
            return Some(last);
        }
        let slack = |section: usize| (state.ceiling - state.total[section]).units().saturating_sub(state.floor[section].units());
        let open = region.clone().filter(|&section| is_open(section));
        match rule {
            Section::Failures | Section::Last => open.min_by_key(|&section| (Reverse(state.n_failures[section]), slack(section))),
            Section::Ratio => open.reduce(|best, section| {
                let gain = |of: usize, against: usize| (u128::from(state.n_failures[of]) + 1) * (u128::from(slack(against)) + 1);
                if gain(section, best) > gain(best, section) { section } else { best }
            }),
        }
    }
}
