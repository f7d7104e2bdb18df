//! `lowest-floor`: place the buffer that can sit lowest, again and again, in several orders; keep the best.
//!
//! Problem: place buffers without overlaps in a small arena.
//! Method: the *floor* of an unplaced buffer is the highest top of the placed ones that it meets. Place the buffer
//! with the lowest floor at its floor, ties by an order ([`super::orders`]), until all are placed. A placed buffer
//! makes the skyline over its whole lifetime level, so floors are range maxima of a skyline and no conflict is
//! stored. Buffers wait in lists by the floor they had when last looked at; the lowest list is looked at again, and a
//! buffer whose floor has risen joins a higher list. Parts of the problem that nobody crosses are planned alone; an order ends as soon as it is no better than
//! the best one so far; the first plan at the lower bound ends all.
//! Where very many buffers are live at once, every placement makes all of them wait again. There the longest-lived are
//! first stacked in order of length, which is what a training step's nested lifetimes need, and the others go on top of
//! them; if that reaches the bound, or there are too many conflicts for more, it ends there.
//! Guarantee: valid; no bound on the arena. On published hard instances 12 to 19 % above the lower bound, on large
//! real ones under 1 %.
//! Time O(looks · log n) per order, with a few to a few hundred looks per buffer; space O(n), about 100 bytes each.
//! Source: the first dive of MiniMalloc without its search (Moffitt, DOI 10.1145/3623278.3624752).
//!
//! ```text
//! byte 3 |..DDD.      order Z: A is the largest and goes to 0; C's floor is still 0,
//!      2 |BBB...      those of B and D are 2: C is next, then B, the earlier row,
//!      1 |AAA...      which raises D's floor to 3
//!      0 |AAACCC
//! ```

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use super::apart_floor;
use super::orders::Orders;
use super::sections::{Part, parts};
use super::skyline::Skyline;
use super::{Request, SolveError, Strategy, StrategyKind, packing};
use crate::control::{Control, Progress};
use crate::plan::Plan;

pub(super) const STRATEGY: Strategy = Strategy {
    name: "lowest-floor",
    summary: "Always places the buffer that can sit lowest; tries several orders and keeps the best.",
    source: "first dive of MiniMalloc, Moffitt 2023, DOI 10.1145/3623278.3624752",
    kind: StrategyKind::Offsets,
    is_safe: true,
    needs_graph: false,
    supports: packing::SUPPORTS,
    run,
};

/// The orders tried, best first by experience; every one is the only best on some problem, as the tests show.
const ORDERS: [&str; 14] = ["TAW", "Z", "TWA", "TZ", "WAT", "OZ", "U", "UZ", "UW", "TL", "LW", "TLW", "TC", "TKW"];

/// Looks at floors after which no further order is begun; one to two seconds.
const LOOK_BUDGET: u64 = 30_000_000;

/// Items of a part whose orders take long enough to be told about; chosen by eye.
const WORTH_REPORTING: usize = 5_000;

fn run(request: &Request<'_>) -> Result<Plan, SolveError> {
    let problem = request.problem;
    if problem.constraints().is_some() {
        return packing::lowest_first(request, STRATEGY.name);
    }
    if problem.kept_apart().is_some() {
        return apart_floor::plan(STRATEGY.name, request);
    }
    let mut offsets = vec![0; problem.n_buffers()];
    let mut note = None;
    let mut looks = Looks { left: LOOK_BUDGET };
    let parts = parts(problem, problem.ids().collect());
    let n_parts = parts.len();
    for part in parts {
        let placed = best_of_orders(&part, &ORDERS, request.bound_bytes, &mut looks, request.control).ok_or(SolveError::Stopped)?;
        for (&id, &offset) in part.ids.iter().zip(&placed.offsets) {
            offsets[id.index()] = offset;
        }
        if note.is_none() || placed.bytes > request.bound_bytes {
            note = Some(placed.order);
        }
    }
    let mut plan = Plan::from_offsets(STRATEGY.name, problem, offsets);
    plan.note = note.map(|order| if n_parts == 1 { format!("order {order}") } else { format!("order {order}, {n_parts} parts planned alone") });
    Ok(plan)
}

/// Items times items live with an average one from which on the longest are stacked first; a full order takes 5 s there.
const CROWDED: f64 = 3e8;

/// The same, from which on nothing else is tried; a full order would take half a minute and more.
const TOO_CROWDED: f64 = 2e9;

/// Looks at floors that may still be taken.
pub(super) struct Looks {
    pub(super) left: u64,
}

/// A placement of a part.
pub(super) struct Placed {
    /// By item.
    pub(super) offsets: Vec<u64>,
    /// Highest end.
    pub(super) bytes: u64,
    /// The order that gave it.
    pub(super) order: &'static str,
}

/// The best placement over `orders`; ends at `enough_bytes`, when the looks are used up, or when stopped.
///
/// The first order is always finished; `None` only if the caller stops before that.
pub(super) fn best_of_orders(part: &Part, orders: &[&'static str], enough_bytes: u64, looks: &mut Looks, control: &Control<'_>) -> Option<Placed> {
    let enough_bytes = enough_bytes.max(part.bound_bytes());
    let mut passes = Passes { part, sorter: Orders::new(part), enough_bytes, best: None, control };
    let crowd = crowd(part, u32::MAX);
    if crowd > CROWDED {
        let long = long_items(part);
        passes.run(orders, &long, &mut Looks { left: looks.left });
    }
    if crowd <= TOO_CROWDED {
        passes.run(orders, &[], looks);
    }
    passes.best
}

/// Passes over a part, and the best placement so far.
struct Passes<'a> {
    part: &'a Part,
    sorter: Orders<'a>,
    enough_bytes: u64,
    best: Option<Placed>,
    control: &'a Control<'a>,
}

impl Passes<'_> {
    /// One pass per order, each with `long` stacked first.
    fn run(&mut self, orders: &[&'static str], long: &[u32], looks: &mut Looks) {
        for &order in orders {
            let below = self.best.as_ref().map_or(u64::MAX, |best| best.bytes);
            if below <= self.enough_bytes || (self.best.is_some() && looks.left == 0) {
                break;
            }
            let limit = if self.best.is_some() { looks.left } else { u64::MAX };
            let mut descent = Descent { part: self.part, below, limit, n_looks: 0 };
            let offsets = descent.run(long, &self.sorter.sorted(order), self.control);
            looks.left = looks.left.saturating_sub(descent.n_looks);
            if let Some(offsets) = offsets {
                let bytes = offsets.iter().zip(&self.part.bytes).map(|(offset, bytes)| offset + bytes).max().unwrap_or(0);
                if self.part.n_items() >= WORTH_REPORTING {
                    self.control.report(Progress { what: format!("lowest floor, order {order} done"), fraction: None, best_arena_bytes: None });
                }
                self.best = Some(Placed { offsets, bytes, order });
            } else if self.control.is_stopped() {
                break;
            }
        }
    }
}

/// Items of fewer than `width` sections, times how many of them are live in a section on average: about twice the
/// conflicts among them.
fn crowd(part: &Part, width: u32) -> f64 {
    let widths = part.first.iter().zip(&part.end).map(|(first, end)| end - first);
    let (n, sum) = widths.filter(|&its| its < width).fold((0.0, 0.0), |(n, sum), its| (n + 1.0, sum + f64::from(its)));
    n * sum / part.load.len().max(1) as f64
}

/// The longest items, so many that the others are no crowd, and more as long as that thins them out; longest first,
/// then by birth.
fn long_items(part: &Part) -> Vec<u32> {
    /// Shorter items are never long; they meet few others.
    const MIN_WIDTH: u32 = 64;
    let mut width = 1 << 31;
    let mut left = crowd(part, width);
    while width > MIN_WIDTH {
        let fewer = crowd(part, width / 2);
        if left <= CROWDED / 2.0 && fewer > 0.8 * left {
            break;
        }
        (width, left) = (width / 2, fewer);
    }
    let its = |item: u32| part.end[item as usize] - part.first[item as usize];
    let n = u32::try_from(part.n_items()).expect("items have 32-bit ids");
    let mut long: Vec<u32> = (0..n).filter(|&item| its(item) >= width).collect();
    long.sort_by_key(|&item| (Reverse(its(item)), item));
    long
}

/// One pass over a part in one order.
struct Descent<'a> {
    part: &'a Part,
    /// A placement must end below this to be of use.
    below: u64,
    /// Looks that this pass may take.
    limit: u64,
    n_looks: u64,
}

impl Descent<'_> {
    /// Offsets by item, those of `long` stacked first; `None` if it cannot get below the best, takes too many looks, or
    /// is stopped.
    fn run(&mut self, long: &[u32], order: &[u32], control: &Control<'_>) -> Option<Vec<u64>> {
        /// What the others' offsets are until they are placed.
        const NOWHERE: u64 = u64::MAX;
        let part = self.part;
        let mut skyline = Skyline::flat(part.load.len());
        let mut offsets = vec![NOWHERE; part.n_items()];
        for item in long.iter().map(|&item| item as usize) {
            let (from, to) = part.range(item);
            let floor = skyline.max(from, to);
            let end = floor + part.bytes[item];
            if end >= self.below {
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
                let is_stopped = self.n_looks.is_multiple_of(4096) && control.is_stopped();
                if end >= self.below || self.n_looks > self.limit || is_stopped {
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
    use crate::bounds::lower_bound_bytes;
    use crate::check::check;
    use crate::generate::{Kind, generate};
    use crate::problem::Problem;
    use crate::solve::{SolveOptions, solve};
    use crate::testing::random_problem;
    use crate::units::Align;

    /// These three win on published instances instead; `tests/planner` shows where.
    const WIN_ELSEWHERE: [&str; 3] = ["Z", "U", "UZ"];

    #[test]
    fn every_other_order_is_the_only_best_somewhere() {
        let mut is_needed = [false; ORDERS.len()];
        for seed in 0..1_000 {
            let dense = generate(Kind::Uni, 100, seed);
            let dense = Problem::new(dense.iter().map(|buffer| (buffer.size_bytes, buffer.lifetime)), Align::ONE).expect("a valid problem");
            for problem in [random_problem(seed, 60), dense] {
                for part in parts(&problem, problem.ids().collect()) {
                    note_single_winner(&part, &mut is_needed);
                }
            }
            if seed % 100 == 99 && ORDERS.iter().zip(is_needed).all(|(order, needed)| needed || WIN_ELSEWHERE.contains(order)) {
                return;
            }
        }
        panic!("needed: {:?}", ORDERS.iter().zip(is_needed).collect::<Vec<_>>());
    }

    fn note_single_winner(part: &Part, is_needed: &mut [bool]) {
        let height = |order: &&'static str| {
            let placed = best_of_orders(part, &[*order], 0, &mut Looks { left: u64::MAX }, &Control::unattended());
            placed.map_or(u64::MAX, |placed| placed.bytes)
        };
        let heights: Vec<u64> = ORDERS.iter().map(height).collect();
        let best = heights.iter().min().copied().unwrap_or(0);
        let mut winners = heights.iter().enumerate().filter(|&(_, &height)| height == best);
        if let (Some((winner, _)), None) = (winners.next(), winners.next()) {
            is_needed[winner] = true;
        }
    }

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
                let mut descent = Descent { part: &part, below: u64::MAX, limit: u64::MAX, n_looks: 0 };
                let placed = descent.run(&long, &Orders::new(&part).sorted("TAW"), &Control::unattended()).expect("nothing stops it");
                for (&id, offset) in part.ids.iter().zip(placed) {
                    offsets[id.index()] = offset;
                }
            }
            assert!(check(&problem, &Plan::from_offsets("stacked", &problem, offsets)).is_valid(), "seed {seed}");
        }
    }

    #[test]
    fn a_crowd_of_nested_lifetimes_reaches_the_bound() {
        let buffers = generate(Kind::Train, 80_000, 1);
        let problem = Problem::new(buffers.iter().map(|buffer| (buffer.size_bytes, buffer.lifetime)), Align::ONE).expect("a valid problem");
        let part = parts(&problem, problem.ids().collect()).into_iter().max_by_key(Part::n_items).expect("a part");
        assert!(crowd(&part, u32::MAX) > CROWDED);
        let long = long_items(&part);
        assert!((1_000..part.n_items() / 2).contains(&long.len()), "{}", long.len());
        let plan = solve("lowest-floor", &problem, None, &SolveOptions::default(), &Control::unattended()).expect("a plan");
        assert!(check(&problem, &plan).is_valid());
        assert_eq!(plan.arena_bytes, lower_bound_bytes(&problem));
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
