//! One pass of [`super::lowest_floor`]: the buffer with the lowest floor goes next, ties by an order.
//!
//! Problem: place a part's items without overlaps, below a height that is known to be possible.
//! Method: see [`super::lowest_floor`]. A pass also notes when its height rose above what is enough, counted in looks,
//! so that one can say afterwards where a lower ceiling or fewer looks would have ended it.
//! Guarantee: valid; a function of the part, the order and what is stacked first.
//! Time O(looks · log n); space O(n).
//! Source: the first dive of MiniMalloc without its search (Moffitt, DOI 10.1145/3623278.3624752).
//!
//! ```text
//! looks    1  2  3  4  5  6        with a ceiling of 7 it would have ended at look 4,
//! height   3  3  5  7  7  9        with 3 looks at look 3
//! ```

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use super::sections::Part;
use super::skyline::Skyline;

/// Looks between two questions whether the pass is still wanted; a fraction of a millisecond.
const POLL: u64 = 4096;

/// One pass over a part in one order.
pub(super) struct Descent<'a> {
    part: &'a Part,
    /// A placement must end below this to be of use.
    below: u64,
    /// An end from this on is noted, or ends the pass.
    alert: u64,
    /// Looks that this pass may take.
    limit: u64,
    pub(super) n_looks: u64,
    /// Each new height above what is enough, and the look at which it came up.
    rises: Vec<(u64, u64)>,
}

impl<'a> Descent<'a> {
    /// A pass that must end below `below`; heights up to `enough` are not noted.
    pub(super) fn new(part: &'a Part, below: u64, limit: u64, enough: u64) -> Self {
        Self { part, below, alert: below.min(enough.saturating_add(1)), limit, n_looks: 0, rises: Vec::new() }
    }

    /// The number of looks at which a pass with this ceiling would have ended; `None` if it would not have.
    pub(super) fn looks_until(&self, below: u64) -> Option<u64> {
        self.rises.get(self.rises.partition_point(|&(_, height)| height < below)).map(|&(n_looks, _)| n_looks)
    }

    /// Offsets by item, those of `long` stacked first; `None` if it cannot get below the best or takes too many looks.
    ///
    /// `watch` is asked now and then for a new ceiling; 0 ends the pass.
    pub(super) fn run(&mut self, long: &[u32], order: &[u32], watch: &dyn Fn() -> u64) -> Option<Vec<u64>> {
        /// What the others' offsets are until they are placed.
        const NOWHERE: u64 = u64::MAX;
        let part = self.part;
        let mut skyline = Skyline::flat(part.load.len());
        let mut offsets = vec![NOWHERE; part.n_items()];
        for item in long.iter().map(|&item| item as usize) {
            let (from, to) = part.range(item);
            let floor = skyline.max(from, to);
            let end = floor + part.bytes[item];
            if end >= self.alert && self.is_too_high(end) {
                return None;
            }
            skyline.raise(from, to, end);
            offsets[item] = floor;
        }
        let mut waiting = Waiting::all_at_zero(order.len());
        let mut ranks = Vec::new();
        while let Some(level) = waiting.take_lowest(&mut ranks) {
            for &rank in &ranks {
                let item = order[rank as usize] as usize;
                if offsets[item] != NOWHERE {
                    continue;
                }
                let (from, to) = part.range(item);
                let floor = skyline.max(from, to);
                let end = floor + part.bytes[item];
                self.n_looks += 1;
                if self.n_looks.is_multiple_of(POLL) && self.is_unwanted(watch()) {
                    return None;
                }
                if (end >= self.alert && self.is_too_high(end)) || self.n_looks > self.limit {
                    return None;
                }
                if floor > level {
                    waiting.add(floor, rank);
                } else {
                    skyline.raise(from, to, end);
                    offsets[item] = floor;
                }
            }
        }
        Some(offsets)
    }

    /// Notes a new height, and whether it is of no use.
    #[cold]
    fn is_too_high(&mut self, end: u64) -> bool {
        self.rises.push((self.n_looks, end));
        self.alert = self.below.min(end + 1);
        end >= self.below
    }

    /// Takes a new ceiling, and whether the pass is above it already.
    #[cold]
    fn is_unwanted(&mut self, ceiling: u64) -> bool {
        self.below = self.below.min(ceiling);
        self.alert = self.alert.min(self.below);
        ceiling == 0 || self.rises.last().is_some_and(|&(_, height)| height >= self.below)
    }
}

/// The ranks of unplaced items by their floor when it was last looked at.
///
/// Floors only rise and nothing joins the lowest level while it is worked on, so one list per floor is enough: the
/// lists are threaded through one array, and only distinct floors go through a heap.
struct Waiting {
    floors: BinaryHeap<Reverse<u64>>,
    /// First rank of the list of each floor.
    head: HashMap<u64, u32, BuildHasherDefault<FloorHasher>>,
    /// The rank after each one in its list, [`Waiting::NONE`] at the end.
    next: Vec<u32>,
}

impl Waiting {
    const NONE: u32 = u32::MAX;

    fn all_at_zero(n_items: usize) -> Self {
        let last = u32::try_from(n_items).expect("items have 32-bit ids");
        let next = (1..=last).map(|rank| if rank == last { Self::NONE } else { rank }).collect();
        let mut head = HashMap::default();
        head.insert(0, 0);
        Self { floors: BinaryHeap::from([Reverse(0)]), head, next }
    }

    fn add(&mut self, floor: u64, rank: u32) {
        let before = match self.head.entry(floor) {
            Entry::Occupied(mut head) => head.insert(rank),
            Entry::Vacant(head) => {
                head.insert(rank);
                self.floors.push(Reverse(floor));
                Self::NONE
            }
        };
        self.next[rank as usize] = before;
    }

    /// Moves the ranks of the lowest floor into `ranks`, in order, and returns the floor.
    fn take_lowest(&mut self, ranks: &mut Vec<u32>) -> Option<u64> {
        let Reverse(floor) = self.floors.pop()?;
        ranks.clear();
        let mut at = self.head.remove(&floor).unwrap_or(Self::NONE);
        while at != Self::NONE {
            ranks.push(at);
            at = self.next[at as usize];
        }
        ranks.sort_unstable();
        Some(floor)
    }
}

/// Hashes a floor by one multiplication; floors are multiples of the alignment, so the high half is folded down.
#[derive(Default)]
struct FloorHasher(u64);

impl Hasher for FloorHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(self.0 ^ u64::from(byte));
        }
    }

    fn write_u64(&mut self, floor: u64) {
        /// 2^64 divided by the golden ratio, odd: Fibonacci hashing (Knuth, volume 3, section 6.4).
        const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
        let product = floor.wrapping_mul(GOLDEN);
        self.0 = product ^ (product >> 32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::check;
    use crate::generate::Kind;
    use crate::plan::Plan;
    use crate::solve::orders::Orders;
    use crate::solve::sections::parts;
    use crate::testing::{generated_problem, random_problem};

    #[test]
    fn whatever_is_stacked_first_nothing_overlaps() {
        for seed in 0..300 {
            let problem = random_problem(seed, 60);
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut offsets = vec![0; problem.n_buffers()];
            for part in parts(&problem, problem.ids().collect()) {
                let n = u32::try_from(part.n_items()).expect("a small part");
                let mut long: Vec<u32> = (0..n).filter(|_| rng.u32(0..3) == 0).collect();
                rng.shuffle(&mut long);
                let mut descent = Descent::new(&part, u64::MAX, u64::MAX, 0);
                let placed = descent.run(&long, &Orders::new(&part).sorted("TAW"), &|| u64::MAX).expect("nothing stops it");
                for (&id, offset) in part.ids.iter().zip(placed) {
                    offsets[id.index()] = offset;
                }
            }
            assert!(check(&problem, &Plan::from_offsets("stacked", &problem, offsets)).is_valid(), "seed {seed}");
        }
    }

    #[test]
    fn says_afterwards_where_a_lower_ceiling_would_have_ended_it() {
        let problem = generated_problem(Kind::Uni, 80, 1);
        let parts = parts(&problem, problem.ids().collect());
        let order = Orders::new(&parts[0]).sorted("TAW");
        let pass = |below: u64, enough: u64| {
            let mut descent = Descent::new(&parts[0], below, u64::MAX, enough);
            let offsets = descent.run(&[], &order, &|| u64::MAX);
            (offsets, descent)
        };
        let (offsets, free) = pass(u64::MAX, 1 << 20);
        let height = parts[0].height(&offsets.expect("no ceiling"));
        assert_eq!(free.looks_until(height + 1), None);
        for below in [2 << 20, height / 2, height - 1, height] {
            let (offsets, cut) = pass(below, 0);
            assert_eq!((offsets, free.looks_until(below)), (None, Some(cut.n_looks)), "{below}");
        }
    }

    #[test]
    fn ends_when_it_is_no_longer_wanted() {
        let problem = generated_problem(Kind::Uni, 1_000, 1);
        let parts = parts(&problem, problem.ids().collect());
        let order = Orders::new(&parts[0]).sorted("TAW");
        let mut descent = Descent::new(&parts[0], u64::MAX, u64::MAX, 0);
        assert_eq!((descent.run(&[], &order, &|| 0), descent.n_looks), (None, POLL));
    }

    #[test]
    fn floors_that_hash_alike_do_not_get_mixed_up() {
        let mut waiting = Waiting::all_at_zero(3);
        let mut ranks = Vec::new();
        assert_eq!((waiting.take_lowest(&mut ranks), ranks.as_slice()), (Some(0), &[0, 1, 2][..]));
        waiting.add(1 << 40, 2);
        waiting.add(64, 1);
        waiting.add(1 << 40, 0);
        assert_eq!((waiting.take_lowest(&mut ranks), ranks.as_slice()), (Some(64), &[1][..]));
        assert_eq!((waiting.take_lowest(&mut ranks), ranks.as_slice()), (Some(1 << 40), &[0, 2][..]));
        assert_eq!(waiting.take_lowest(&mut ranks), None);
    }
}
