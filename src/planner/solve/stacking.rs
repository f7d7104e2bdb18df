//! An order as a placement: each item in turn on top of whatever it meets. Made for many small changes of the order.
//!
//! Problem: the height of an order after two of its items have changed places, thousands of times.
//! Method: the skyline is remembered at marks along the order, and stacking begins again at the last mark before the
//! change. It ends early above the height that is of use: when an item does, and also when one leaves a hole in a
//! *hot* section, one of the fullest of the whole time, and what is still to come there has no room any more.
//! Guarantee: in some order this gives a smallest placement; sorted by offset, no placement gets higher.
//! Time O(log n) per item from the mark on; space O(n): at most 16 marks, and fewer where there are many items.
//! Source: sequences as placements are common in strip packing (Baker, Coffman, Rivest, DOI 10.1137/0209064).
//!
//! ```text
//! order    A B C D | E F G H      F and H change places: back to the mark, then H, G and F again
//!                  mark
//! ```

use super::sections::Part;
use super::skyline::Skyline;

/// Sections that are watched; chosen by measurement.
const N_HOT: usize = 16;

/// Marks along the order: two skylines each.
const MAX_MARKS: usize = 16;

/// Items from which on there are few marks, so that they take no more than 64 bytes per item.
const MANY_ITEMS: usize = 50_000;

/// Fewest items between two marks; copying a skyline costs as much.
const MIN_STRIDE: usize = 16;

/// Items in an order, and where stacking puts them.
pub(super) struct Stacking<'a> {
    part: &'a Part,
    order: Vec<u32>,
    /// The place of each item in the order.
    position: Vec<u32>,
    /// By item.
    offsets: Vec<u64>,
    height: u64,
    stride: usize,
    marks: Vec<Mark>,
    /// Those of the order at hand, until it is known to be of use.
    next_marks: Vec<Mark>,
    now: Mark,
    /// By position, as `next_marks`.
    next_offsets: Vec<u64>,
    hot: [u32; N_HOT],
    n_looks: u64,
}

/// What is known before a position of the order.
#[derive(Clone)]
struct Mark {
    skyline: Skyline,
    /// Bytes of the items from here on in each hot section.
    to_come: [u64; N_HOT],
    height: u64,
}

impl Mark {
    fn copy_from(&mut self, other: &Self) {
        self.skyline.copy_from(&other.skyline);
        self.to_come = other.to_come;
        self.height = other.height;
    }
}

impl<'a> Stacking<'a> {
    /// The items by offset, ties by row; no item ends up higher than it was.
    pub(super) fn new(part: &'a Part, offsets: &[u64]) -> Self {
        let n = part.n_items();
        let n_marks = if n < MANY_ITEMS { MAX_MARKS } else { MAX_MARKS / 4 };
        let stride = n.div_ceil(n_marks).max(MIN_STRIDE);
        let hot = hot_sections(part);
        let start = Mark { skyline: Skyline::flat(part.load.len()), to_come: hot.map(|section| part.load[section as usize]), height: 0 };
        let marks = vec![start.clone(); n.div_ceil(stride)];
        let (order, position) = ((0..).take(n).collect(), vec![0; n]);
        let (placed, next_offsets, next_marks) = (vec![0; n], vec![0; n], marks.clone());
        let mut stacking =
            Self { part, order, position, offsets: placed, height: 0, stride, marks, next_marks, now: start, next_offsets, hot, n_looks: 0 };
        stacking.restart(offsets);
        stacking
    }

    /// Begins again with another placement.
    pub(super) fn restart(&mut self, offsets: &[u64]) {
        self.order.sort_unstable_by_key(|&item| (offsets[item as usize], item));
        self.stack_from(0, u64::MAX);
    }

    pub(super) fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    pub(super) fn height(&self) -> u64 {
        self.height
    }

    /// What all stacking has taken so far: 1 per item, and more where the skyline does not fit into the nearest caches.
    pub(super) fn cost(&self) -> u64 {
        /// Sections that cost as much as what else an item takes; measured.
        const SECTIONS: u64 = 1_500;
        self.n_looks + self.n_looks * self.part.load.len() as u64 / SECTIONS
    }

    pub(super) fn end(&self, item: u32) -> u64 {
        self.offsets[item as usize] + self.part.bytes[item as usize]
    }

    /// Moves `below` behind `above`, or `above` before `below`, whichever is asked for, if the placement then ends at
    /// `limit` or below; whether it did.
    pub(super) fn exchange(&mut self, below: u32, above: u32, moves_below: bool, limit: u64) -> bool {
        let (from, to) = (self.position[below as usize] as usize, self.position[above as usize] as usize);
        let turn = |range: &mut [u32], left: bool| if left { range.rotate_left(1) } else { range.rotate_right(1) };
        turn(&mut self.order[from..=to], moves_below);
        let is_kept = self.stack_from(from, limit);
        if !is_kept {
            turn(&mut self.order[from..=to], !moves_below);
        }
        is_kept
    }

    /// Stacks the items from a position on; keeps that if it ends at `limit` or below.
    fn stack_from(&mut self, from: usize, limit: u64) -> bool {
        let first = from / self.stride;
        let begin = first * self.stride;
        let Self { part, order, marks, next_marks, now, next_offsets, n_looks, .. } = self;
        now.copy_from(&marks[first]);
        for (at, &item) in order.iter().enumerate().skip(begin) {
            if at.is_multiple_of(self.stride) {
                next_marks[at / self.stride].copy_from(now);
            }
            let (from, to) = part.range(item as usize);
            let bytes = part.bytes[item as usize];
            let floor = now.skyline.max(from, to);
            *n_looks += 1;
            if floor + bytes > limit {
                return false;
            }
            for (to_come, &section) in now.to_come.iter_mut().zip(&self.hot) {
                if (from..to).contains(&(section as usize)) {
                    if floor + *to_come > limit {
                        return false;
                    }
                    *to_come -= bytes;
                }
            }
            now.skyline.raise(from, to, floor + bytes);
            now.height = now.height.max(floor + bytes);
            next_offsets[at] = floor;
        }
        self.height = now.height;
        for (mark, next) in marks.iter_mut().zip(next_marks).skip(first) {
            std::mem::swap(mark, next);
        }
        for (position, &item) in (0..).zip(&self.order).skip(begin) {
            self.position[item as usize] = position;
            self.offsets[item as usize] = self.next_offsets[position as usize];
        }
        true
    }

    /// A chain of items that rest on each other, from one at the top, drawn at random, down to the bottom.
    ///
    /// The arena gets lower only if every such chain is broken.
    pub(super) fn chain(&self, rng: &mut fastrand::Rng) -> Vec<u32> {
        let tops: Vec<u32> = self.order.iter().copied().filter(|&item| self.end(item) == self.height).collect();
        let mut chain = vec![tops[rng.usize(0..tops.len())]];
        let support = |of: u32| {
            let before = self.order[..self.position[of as usize] as usize].iter().rev().copied();
            before.into_iter().find(|&item| self.end(item) == self.offsets[of as usize] && self.part.meet(item, of))
        };
        while let Some(below) = chain.last().and_then(|&item| support(item)) {
            chain.push(below);
        }
        chain
    }

    /// The items by offset, ties by row.
    pub(super) fn by_offset(&self) -> Vec<u32> {
        let mut items = self.order.clone();
        items.sort_unstable_by_key(|&item| (self.offsets[item as usize], item));
        items
    }
}

/// The fullest sections of the fullest of some blocks of time, so that they are not all neighbours.
fn hot_sections(part: &Part) -> [u32; N_HOT] {
    let width = part.load.len().div_ceil(4 * N_HOT).max(1);
    let loads: Vec<(u64, u32)> = part.load.iter().copied().zip(0..).collect();
    let mut fullest: Vec<(u64, u32)> = loads.chunks(width).filter_map(|block| block.iter().max().copied()).collect();
    fullest.sort_unstable_by(|one, two| two.cmp(one));
    std::array::from_fn(|at| fullest[at % fullest.len()].1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Kind;
    use crate::solve::sections::parts;
    use crate::testing::generated_problem;

    /// Offsets of an order by comparing all pairs.
    fn stacked(part: &Part, order: &[u32]) -> Vec<u64> {
        let mut offsets = vec![0; part.n_items()];
        for (at, &item) in order.iter().enumerate() {
            let below = order[..at].iter().filter(|&&other| part.meet(other, item));
            offsets[item as usize] = below.map(|&other| offsets[other as usize] + part.bytes[other as usize]).max().unwrap_or(0);
        }
        offsets
    }

    #[test]
    fn marks_and_hot_sections_change_no_placement_and_refuse_none_that_is_low_enough() {
        for seed in 0..20 {
            let mut rng = fastrand::Rng::with_seed(seed);
            let problem = generated_problem(Kind::Uni, 150, seed);
            for part in parts(&problem, problem.ids().collect()).iter().filter(|part| part.n_items() > 1) {
                let mut stacking = Stacking::new(part, &vec![0; part.n_items()]);
                let (mut n_kept, mut n_refused) = (0, 0);
                for _ in 0..100 {
                    let mut two = [rng.usize(0..part.n_items()), rng.usize(0..part.n_items())];
                    two.sort_unstable();
                    let (below, above, moves_below) = (stacking.order[two[0]], stacking.order[two[1]], rng.bool());
                    let mut order = stacking.order.clone();
                    if moves_below {
                        order[two[0]..=two[1]].rotate_left(1)
                    } else {
                        order[two[0]..=two[1]].rotate_right(1)
                    }
                    let expected = stacked(part, &order);
                    let height = part.height(&expected);
                    let limit = stacking.height.saturating_sub(1 << 19) + rng.u64(0..1 << 20);
                    let before = stacking.order.clone();
                    let is_kept = stacking.exchange(below, above, moves_below, limit);
                    assert_eq!(is_kept, height <= limit, "seed {seed}");
                    assert_eq!(stacking.order, if is_kept { order } else { before });
                    assert_eq!(stacking.offsets, stacked(part, &stacking.order));
                    (n_kept, n_refused) = (n_kept + u32::from(is_kept), n_refused + u32::from(!is_kept));
                }
                assert!(part.n_items() < 100 || (n_kept > 5 && n_refused > 5), "{n_kept} kept, {n_refused} refused");
            }
        }
    }

    #[test]
    fn a_chain_leads_from_the_top_to_the_bottom_without_gaps() {
        let problem = generated_problem(Kind::Uni, 150, 1);
        let parts = parts(&problem, problem.ids().collect());
        let stacking = Stacking::new(&parts[0], &vec![0; parts[0].n_items()]);
        let chain = stacking.chain(&mut fastrand::Rng::with_seed(1));
        assert_eq!((stacking.end(chain[0]), chain.len() > 20), (stacking.height, true));
        assert_eq!(chain.iter().map(|&item| parts[0].bytes[item as usize]).sum::<u64>(), stacking.height);
        assert!(chain.windows(2).all(|two| parts[0].meet(two[0], two[1])));
    }
}
