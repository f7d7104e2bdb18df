//! `lowest-floor`: place the buffer that can sit lowest, again and again, in several orders; keep the best.
//!
//! Problem: place buffers without overlaps in a small arena.
//! Method: the *floor* of an unplaced buffer is the highest top of the placed ones that it meets. Place the buffer
//! with the lowest floor at its floor, ties by an order ([`super::orders`]), until all are placed. A placed buffer
//! makes the skyline over its whole lifetime level, so floors are range maxima of a skyline and no conflict is
//! stored; a heap holds floors that may be out of date, and one that turns out too low goes back with its true
//! value. Parts of the problem that nobody crosses are planned alone; an order ends as soon as it is no better than
//! the best one so far; the first plan at the lower bound ends all.
//! Guarantee: valid; no bound on the arena. On published hard instances 12 to 19 % above the lower bound, on large
//! real ones under 1 %.
//! Time O(looks · log n) per order, with a few to a few hundred looks per buffer; space O(n), about 100 bytes each.
//! Source: the first dive of MiniMalloc without its search (Moffitt, DOI 10.1145/3623278.3624752).
//!
//! ```text
//! byte 3 |...DD.      A and C have floor 0: A goes first by size, then C beside it;
//!      2 |BBB...      B's floor is the top of A, D's the top of C:
//!      1 |AAACCC      the lower one goes first
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::orders::Orders;
use super::sections::{Part, parts};
use super::skyline::Skyline;
use super::{Request, SolveError, Strategy, StrategyKind};
use crate::control::{Control, Progress};
use crate::plan::Plan;

pub(super) const STRATEGY: Strategy = Strategy {
    name: "lowest-floor",
    summary: "Always places the buffer that can sit lowest; tries several orders and keeps the best.",
    source: "first dive of MiniMalloc, Moffitt 2023, DOI 10.1145/3623278.3624752",
    kind: StrategyKind::Offsets,
    is_safe: true,
    needs_graph: false,
    run,
};

/// The orders tried, best first by experience; every one is the best on some published instance.
const ORDERS: [&str; 14] = ["TAW", "Z", "TWA", "TZ", "WAT", "OZ", "U", "UZ", "UW", "TL", "LW", "TLW", "TC", "TKW"];

/// Looks at a floor after which no further order is begun; about two seconds.
const LOOK_BUDGET: u64 = 20_000_000;

fn run(request: &Request<'_>) -> Result<Plan, SolveError> {
    let problem = request.problem;
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
pub(super) fn best_of_orders(
    part: &Part,
    orders: &[&'static str],
    enough_bytes: u64,
    looks: &mut Looks,
    control: &Control<'_>,
) -> Option<Placed> {
    let enough_bytes = enough_bytes.max(part.bound_bytes());
    let mut sorter = Orders::new(part);
    let mut best: Option<Placed> = None;
    for &order in orders {
        let below = best.as_ref().map_or(u64::MAX, |best| best.bytes);
        if below <= enough_bytes || (best.is_some() && looks.left == 0) {
            break;
        }
        let limit = if best.is_some() { looks.left } else { u64::MAX };
        let mut descent = Descent { part, below, limit, n_looks: 0 };
        let offsets = descent.run(&sorter.sorted(order), control);
        looks.left = looks.left.saturating_sub(descent.n_looks);
        if let Some(offsets) = offsets {
            let bytes = offsets.iter().zip(&part.bytes).map(|(offset, bytes)| offset + bytes).max().unwrap_or(0);
            control.report(Progress { what: format!("lowest floor, order {order}"), fraction: None, best_arena_bytes: None });
            best = Some(Placed { offsets, bytes, order });
        } else if control.is_stopped() {
            break;
        }
    }
    best
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
    /// Offsets by item; `None` if it cannot get below the best, takes too many looks, or is stopped.
    fn run(&mut self, order: &[u32], control: &Control<'_>) -> Option<Vec<u64>> {
        let part = self.part;
        let mut skyline = Skyline::flat(part.load.len());
        let mut offsets = vec![0; part.n_items()];
        let ranks = 0..u32::try_from(order.len()).ok()?;
        let mut heap: BinaryHeap<Reverse<(u64, u32)>> = ranks.map(|rank| Reverse((0, rank))).collect();
        while let Some(mut top) = heap.peek_mut() {
            let Reverse((floor, rank)) = *top;
            let item = order[rank as usize] as usize;
            let (from, to) = part.range(item);
            let true_floor = skyline.max(from, to);
            self.n_looks += 1;
            if self.n_looks > self.limit || (self.n_looks.is_multiple_of(4096) && control.is_stopped()) {
                return None;
            }
            let end = true_floor + part.bytes[item];
            if end >= self.below {
                return None;
            }
            if true_floor > floor {
                *top = Reverse((true_floor, rank));
                continue;
            }
            std::collections::binary_heap::PeekMut::pop(top);
            skyline.raise(from, to, end);
            offsets[item] = true_floor;
        }
        Some(offsets)
    }
}
