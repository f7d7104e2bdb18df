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

use super::apart_floor;
use super::passes::{Crew, Looks, Passes, Placed};
use super::sections::{Part, parts};
use super::{Request, SolveError, Strategy, StrategyKind, packing};
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
    let crew = Crew::of(request);
    let parts = parts(problem, problem.ids().collect());
    let n_parts = parts.len();
    for part in parts {
        let placed = best_of_orders(&part, &ORDERS, request.bound_bytes, &mut looks, crew).ok_or(SolveError::Stopped)?;
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

/// The best placement over `orders`; ends at `enough_bytes`, when the looks are used up, or when stopped.
///
/// The first order is always finished; `None` only if the caller stops before that.
pub(super) fn best_of_orders(part: &Part, orders: &[&'static str], enough_bytes: u64, looks: &mut Looks, crew: Crew<'_>) -> Option<Placed> {
    let mut passes = Passes::new(part, enough_bytes.max(part.bound_bytes()), crew);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::lower_bound_bytes;
    use crate::check::check;
    use crate::control::Control;
    use crate::generate::Kind;
    use crate::solve::{SolveOptions, solve};
    use crate::testing::{generated_problem, random_problem};

    /// These three win on published instances instead; `tests/planner` shows where.
    const WIN_ELSEWHERE: [&str; 3] = ["Z", "U", "UZ"];

    #[test]
    fn every_other_order_is_the_only_best_somewhere() {
        let mut is_needed = [false; ORDERS.len()];
        for seed in 0..1_000 {
            let dense = generated_problem(Kind::Uni, 100, seed);
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
        let crew = Crew { control: &Control::unattended(), threads: 1 };
        let height = |order: &&'static str| {
            let placed = best_of_orders(part, &[*order], 0, &mut Looks { left: u64::MAX }, crew);
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
    fn a_crowd_of_nested_lifetimes_reaches_the_bound() {
        let problem = generated_problem(Kind::Train, 80_000, 1);
        let part = parts(&problem, problem.ids().collect()).into_iter().max_by_key(Part::n_items).expect("a part");
        assert!(crowd(&part, u32::MAX) > CROWDED);
        let long = long_items(&part);
        assert!((1_000..part.n_items() / 2).contains(&long.len()), "{}", long.len());
        let plan = solve("lowest-floor", &problem, None, &SolveOptions::default(), &Control::unattended()).expect("a plan");
        assert!(check(&problem, &plan).is_valid());
        assert_eq!(plan.arena_bytes, lower_bound_bytes(&problem));
    }
}
