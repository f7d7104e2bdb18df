//! Places a few items among obstacles below a ceiling, or shows that it cannot be done, by branch and bound.
//!
//! Problem: up to 64 items with lifetimes, and for each the ranges of offsets that obstacles leave to it; find offsets.
//! Method: if there is a placement, there is one in which no item can go lower: each lies on 0, on an obstacle or on
//! another item. Place items by offset, never below the one before, always at the lowest supported offset; branch on which is
//! next. A branch ends if an item has no offset left, if a section has less room than its unplaced items need, or if
//! an unplaced item would fit wholly below the next offset, because it could go there. Of items that are alike, and of
//! those on one level, the first goes first; the item for which the search failed last is tried first.
//! Guarantee: a placement, or the proof that there is none, unless it runs out of nodes.
//! Time O(items + sections) per node, at most 64 each; space O(items · obstacles).
//! Source: the placements of MiniMalloc (Moffitt, DOI 10.1145/3623278.3624752), with obstacles; last-failed-first is
//! last-conflict reasoning (Lecoutre et al., DOI 10.1016/j.artint.2009.09.002).
//!
//! ```text
//! ceiling  -----      # stays; A, B and C are free
//! byte 4 |..CC.
//!      2 |.BBB#       A goes to 0, B on A, C on B: none of them can go lower
//!      0 |AA.##
//! ```

/// Most items of a window: one bit each.
pub(super) const MAX_FREE: usize = 64;

/// No offset.
const NOWHERE: u64 = u64::MAX;

/// What is to be placed. Columns by item; at most [`MAX_FREE`].
pub(super) struct Window {
    pub(super) bytes: Vec<u64>,
    /// The items that each meets.
    pub(super) meets: Vec<u64>,
    /// Where each may be: disjoint ranges of offsets, first and last, rising.
    pub(super) places: Vec<Vec<(u64, u64)>>,
    /// An item before each one that is exactly like it, as a mask.
    pub(super) twin: Vec<u64>,
    pub(super) rooms: Vec<Room>,
}

/// What obstacles leave free in one section.
pub(super) struct Room {
    /// The items that live there.
    pub(super) members: u64,
    /// Free ranges, rising.
    pub(super) free: Vec<(u64, u64)>,
    /// Free bytes from each range on.
    pub(super) above: Vec<u64>,
}

impl Room {
    pub(super) fn new(members: u64, free: Vec<(u64, u64)>) -> Self {
        let mut above = vec![0; free.len()];
        let mut sum = 0;
        for (at, &(from, to)) in free.iter().enumerate().rev() {
            sum += to - from;
            above[at] = sum;
        }
        Self { members, free, above }
    }

    /// Free bytes from a level on.
    fn bytes_from(&self, level: u64) -> u64 {
        let at = self.free.partition_point(|&(_, to)| to <= level);
        self.free.get(at).map_or(0, |&(from, _)| self.above[at] - level.saturating_sub(from))
    }
}

/// How a search ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Found {
    /// Offsets by item.
    Placement(Vec<u64>),
    /// There is none.
    Nothing,
    /// The nodes were used up.
    Limit,
}

/// Searches with at most `max_nodes` nodes; how it ended, and the nodes taken.
pub(super) fn search(window: &Window, max_nodes: u64) -> (Found, u64) {
    let n = window.bytes.len();
    assert!(n <= MAX_FREE && window.rooms.len() <= MAX_FREE, "one bit for each item");
    let unplaced = if n == MAX_FREE { u64::MAX } else { (1 << n) - 1 };
    let mut need = [0; MAX_FREE];
    for (need, room) in need.iter_mut().zip(&window.rooms) {
        *need = items(room.members).map(|item| window.bytes[item]).sum();
    }
    let root = Node { unplaced, level: 0, last: 0, base: [0; MAX_FREE], tops: [0; MAX_FREE], need };
    let mut search = Search { window, offsets: vec![0; n], last_failed: MAX_FREE, n_nodes: 0, max_nodes };
    let is_found = search.descend(&root);
    let found = match (is_found, search.n_nodes > max_nodes) {
        (true, _) => Found::Placement(search.offsets),
        (false, true) => Found::Limit,
        (false, false) => Found::Nothing,
    };
    (found, search.n_nodes.min(max_nodes))
}

/// The positions of the bits that are set.
fn items(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let item = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (item < MAX_FREE).then_some(item)
    })
}

/// A partial placement.
#[derive(Clone)]
struct Node {
    unplaced: u64,
    /// The offset of the last one that was placed, and which one that was.
    level: u64,
    last: usize,
    /// The highest top of placed items that each item meets.
    base: [u64; MAX_FREE],
    /// The highest top of placed items in each room.
    tops: [u64; MAX_FREE],
    /// The bytes of unplaced items in each room.
    need: [u64; MAX_FREE],
}

/// An item and where it would go.
type Candidate = (bool, u64, std::cmp::Reverse<u64>, usize);

struct Search<'a> {
    window: &'a Window,
    offsets: Vec<u64>,
    last_failed: usize,
    n_nodes: u64,
    max_nodes: u64,
}

impl Search<'_> {
    fn descend(&mut self, node: &Node) -> bool {
        self.n_nodes += 1;
        if node.unplaced == 0 {
            return true;
        }
        if self.n_nodes > self.max_nodes || !self.has_room(node) {
            return false;
        }
        let Some(candidates) = self.candidates(node) else { return false };
        for (_, offset, _, item) in candidates {
            self.offsets[item] = offset;
            if self.descend(&self.placed(node, item, offset)) {
                return true;
            }
            if self.n_nodes > self.max_nodes {
                return false;
            }
        }
        false
    }

    fn has_room(&self, node: &Node) -> bool {
        let rooms = self.window.rooms.iter().enumerate();
        rooms.filter(|(_, room)| room.members & node.unplaced != 0).all(|(at, room)| room.bytes_from(node.level.max(node.tops[at])) >= node.need[at])
    }

    /// Who may be next and where, best first; `None` if somebody has no place.
    fn candidates(&mut self, node: &Node) -> Option<Vec<Candidate>> {
        let window = self.window;
        let mut candidates: Vec<Candidate> = Vec::with_capacity(node.unplaced.count_ones() as usize);
        let mut lowest_top = NOWHERE;
        for item in items(node.unplaced) {
            let (base, places) = (node.base[item], &window.places[item]);
            let from = base.max(node.level);
            let at = places.partition_point(|&(_, last)| last < from);
            let Some(&(first, _)) = places.get(at) else {
                self.last_failed = item;
                return None;
            };
            let lowest = first.max(from);
            lowest_top = lowest_top.min(lowest + window.bytes[item]);
            let is_supported = lowest == first || lowest == base;
            let offset = if is_supported { lowest } else { places.get(at + 1).map_or(NOWHERE, |&(first, _)| first) };
            let is_repeated = (offset == node.level && item < node.last) || window.twin[item] & node.unplaced != 0;
            if offset != NOWHERE && !is_repeated {
                candidates.push((item != self.last_failed, offset, std::cmp::Reverse(window.bytes[item]), item));
            }
        }
        candidates.retain(|&(_, offset, _, _)| offset < lowest_top);
        candidates.sort_unstable();
        Some(candidates)
    }

    /// The node after an item is placed.
    fn placed(&self, node: &Node, item: usize, offset: u64) -> Node {
        let window = self.window;
        let top = offset + window.bytes[item];
        let mut next = Node { unplaced: node.unplaced & !(1 << item), level: offset, last: item, ..node.clone() };
        for other in items(window.meets[item] & next.unplaced) {
            next.base[other] = next.base[other].max(top);
        }
        for (at, room) in window.rooms.iter().enumerate() {
            if room.members & (1 << item) != 0 {
                next.tops[at] = next.tops[at].max(top);
                next.need[at] -= window.bytes[item];
            }
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Problem;
    use crate::solve::repair_window::window;
    use crate::solve::sections::{Part, parts};
    use crate::solve::stacking::Stacking;
    use crate::testing::random_problem;

    /// The lowest height of the free items over all orders in which each takes the lowest place that is free: in a
    /// placement whose offsets have the smallest sum, the order by offset gives it again.
    fn lowest_height(part: &Part, offsets: &mut [u64], placed: &mut Vec<u32>, free: &mut Vec<u32>, floor: u64) -> u64 {
        let mut lowest = if free.is_empty() { 0 } else { u64::MAX };
        for at in 0..free.len() {
            let item = free.swap_remove(at);
            let bytes = part.bytes[item as usize];
            let mut ranges: Vec<(u64, u64)> = placed
                .iter()
                .filter(|&&other| part.meet(other, item))
                .map(|&other| other as usize)
                .map(|other| (offsets[other], offsets[other] + part.bytes[other]))
                .collect();
            ranges.sort_unstable();
            let offset = ranges.iter().fold((floor, false), |(offset, is_found), &(from, to)| {
                let is_found = is_found || from >= offset + bytes;
                (if is_found { offset } else { offset.max(to) }, is_found)
            });
            offsets[item as usize] = offset.0;
            placed.push(item);
            lowest = lowest.min(lowest_height(part, offsets, placed, free, floor).max(offset.0 + bytes));
            placed.pop();
            free.push(item);
            let last = free.len() - 1;
            free.swap(at, last);
        }
        lowest
    }

    #[test]
    fn finds_a_placement_exactly_if_trying_all_orders_does() {
        let (mut n_found, mut n_nothing) = (0, 0);
        for seed in 0..600 {
            let problem: Problem = random_problem(seed, 30);
            let mut rng = fastrand::Rng::with_seed(seed);
            for part in parts(&problem, problem.ids().collect()).iter().filter(|part| part.n_items() > 2) {
                let stacking = Stacking::new(part, &vec![0; part.n_items()]);
                let by_offset = stacking.by_offset();
                let mut free = by_offset.clone();
                rng.shuffle(&mut free);
                free.truncate(rng.usize(1..=5));
                let mut is_free = vec![false; part.n_items()];
                free.iter().for_each(|&item| is_free[item as usize] = true);
                let top = free.iter().map(|&item| stacking.end(item)).max().expect("a free item");
                let ceiling = top - rng.u64(0..=top.min(1 + part.bytes[free[0] as usize]));
                let floor = free.iter().map(|&item| stacking.offsets()[item as usize]).min().expect("a free item");
                let (window, _) = window(part, stacking.offsets(), &by_offset, &free, &is_free, ceiling);
                let mut offsets = stacking.offsets().to_vec();
                let mut fixed: Vec<u32> = by_offset.iter().copied().filter(|&item| !is_free[item as usize]).collect();
                let lowest = lowest_height(part, &mut offsets.clone(), &mut fixed, &mut free.clone(), floor);
                match search(&window, u64::MAX).0 {
                    Found::Placement(placed) => {
                        for (&item, offset) in free.iter().zip(placed) {
                            offsets[item as usize] = offset;
                            assert!(offset + part.bytes[item as usize] <= ceiling, "seed {seed}");
                        }
                        let is_apart = |one: u32, two: u32| {
                            let (a, b) = (one as usize, two as usize);
                            !part.meet(one, two) || offsets[a] + part.bytes[a] <= offsets[b] || offsets[b] + part.bytes[b] <= offsets[a]
                        };
                        assert!(free.iter().all(|&one| by_offset.iter().all(|&two| one == two || is_apart(one, two))), "seed {seed}");
                        n_found += 1;
                    }
                    Found::Nothing => {
                        assert!(lowest > ceiling, "seed {seed}: {lowest} is possible below {ceiling}");
                        n_nothing += 1;
                    }
                    Found::Limit => panic!("there is no limit"),
                }
            }
        }
        assert!(n_found > 100 && n_nothing > 100, "{n_found} found, {n_nothing} refused");
    }

    #[test]
    fn stops_at_its_limit() {
        // Three items of 2 bytes each in the same section, with room for 5.
        let room = Room::new(0b111, vec![(0, 2), (3, 7)]);
        let twin = vec![0, 1, 2];
        let window = Window { bytes: vec![2; 3], meets: vec![0b110, 0b101, 0b011], places: vec![vec![(0, 0), (3, 5)]; 3], twin, rooms: vec![room] };
        assert_eq!(search(&window, 100).0, Found::Placement(vec![0, 3, 5]));
        assert_eq!(search(&window, 2), (Found::Limit, 2));
    }
}
