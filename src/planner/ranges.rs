//! Sets of bytes as ranges of addresses: what is mapped, what is free.

use std::collections::BTreeMap;

/// Disjoint ranges of addresses. Every operation takes O(log n + ranges touched).
#[derive(Clone, Debug, Default)]
pub(crate) struct RangeSet {
    /// End (excluded) by begin.
    ends: BTreeMap<u64, u64>,
}

impl RangeSet {
    /// Adds what of `[begin, end)` is not in the set; a range that touches another one is joined with it if
    /// `joins` says so for the address between them. Hands each range that vanishes or comes to `changed`.
    pub(crate) fn insert(&mut self, begin: u64, end: u64, joins: impl Fn(u64) -> bool, mut changed: impl FnMut(Change)) {
        for (begin, end) in self.gaps(begin, end) {
            let (mut from, mut to) = (begin, end);
            if let Some((&left, &left_end)) = self.ends.range(..begin).next_back()
                && left_end == begin
                && joins(begin)
            {
                changed(Change::Gone { begin: left, end: left_end });
                self.ends.remove(&left);
                from = left;
            }
            if let Some(&right_end) = self.ends.get(&end)
                && joins(end)
            {
                changed(Change::Gone { begin: end, end: right_end });
                self.ends.remove(&end);
                to = right_end;
            }
            changed(Change::New { begin: from, end: to });
            self.ends.insert(from, to);
        }
    }

    /// Takes `[begin, end)` out of the set. Hands each range that vanishes or comes to `changed`.
    pub(crate) fn remove(&mut self, begin: u64, end: u64, mut changed: impl FnMut(Change)) {
        let first = self.ends.range(..=begin).next_back().filter(|&(_, &other_end)| other_end > begin).map(|(&key, _)| key);
        let mut next = first.or_else(|| self.ends.range(begin..end).next().map(|(&key, _)| key));
        while let Some(key) = next.filter(|&key| key < end) {
            let key_end = self.ends.remove(&key).unwrap_or(key);
            changed(Change::Gone { begin: key, end: key_end });
            for (from, to) in [(key, begin), (end, key_end)] {
                if from < to {
                    self.ends.insert(from, to);
                    changed(Change::New { begin: from, end: to });
                }
            }
            next = self.ends.range(key_end.min(end)..end).next().map(|(&key, _)| key);
        }
    }

    /// The parts of `[begin, end)` that are not in the set.
    fn gaps(&self, begin: u64, end: u64) -> Vec<(u64, u64)> {
        let mut gaps = Vec::new();
        let mut at = begin;
        for (from, to) in self.parts(begin, end) {
            if at < from {
                gaps.push((at, from));
            }
            at = to;
        }
        if at < end {
            gaps.push((at, end));
        }
        gaps
    }

    /// The parts of `[begin, end)` that are in the set, range by range.
    pub(crate) fn parts(&self, begin: u64, end: u64) -> Vec<(u64, u64)> {
        let before = self.ends.range(..begin).next_back().filter(|&(_, &other_end)| other_end > begin);
        before.into_iter().chain(self.ends.range(begin..end)).map(|(&from, &to)| (from.max(begin), to.min(end))).collect()
    }

    /// All ranges by address.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.ends.iter().map(|(&begin, &end)| (begin, end))
    }
}

/// What an operation did to a range of the set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    /// The range is in the set now.
    New { begin: u64, end: u64 },
    /// The range is not in the set any more.
    Gone { begin: u64, end: u64 },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(ranges: &[(u64, u64)]) -> RangeSet {
        RangeSet { ends: ranges.iter().copied().collect() }
    }

    #[test]
    fn inserting_joins_only_where_allowed() {
        let mut joined = set(&[(0, 2), (4, 6)]);
        joined.insert(2, 4, |_| true, |_| ());
        assert_eq!(joined.iter().collect::<Vec<_>>(), [(0, 6)]);
        let mut apart = set(&[(0, 2), (4, 6)]);
        apart.insert(1, 5, |at| at != 2, |_| ());
        assert_eq!(apart.iter().collect::<Vec<_>>(), [(0, 2), (2, 6)]);
    }

    #[test]
    fn removing_cuts_every_range_it_meets() {
        let mut cut = set(&[(0, 3), (4, 6), (8, 9)]);
        let mut changes = Vec::new();
        cut.remove(2, 8, |change| changes.push(change));
        assert_eq!(cut.iter().collect::<Vec<_>>(), [(0, 2), (8, 9)]);
        assert_eq!(changes.len(), 3);
        let mut split = set(&[(0, 9)]);
        split.remove(3, 5, |_| ());
        assert_eq!(split.iter().collect::<Vec<_>>(), [(0, 3), (5, 9)]);
        assert_eq!(split.parts(2, 6), [(2, 3), (5, 6)]);
    }
}
