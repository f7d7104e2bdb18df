//! Planning again after a change: what did not change stays where it was, as far as possible.
//!
//! Problem: a plan exists, a few buffers changed; find a plan that moves as few bytes as possible.
//! Method: a buffer is unchanged if its name and its size are. Unchanged buffers are offered their old places, larger
//! first; one whose place is not free (two lifetimes changed so that they meet now) or no longer allowed is placed
//! anew. So of two unchanged buffers in each other's way the smaller one moves. All others go, largest first, to
//! their lowest free offset. If that is over the capacity, unchanged buffers give up their places, those that live
//! together with what sticks out and have the fewest bytes first, a growing number each time; at last nothing is kept
//! and the problem is planned anew.
//! Guarantee: valid; nothing moves if nothing changed. Not the fewest moved bytes possible, which is NP-hard.
//! Time O(conflicts · log n) per round, at most log2(n) rounds; space O(n).
//! Source: the incremental planning of TensorFlow Lite's arena, which keeps what is allocated, with a way back.
//!
//! ```text
//! before A BB .       now  C is new and larger than the free place:
//! byte   0 12 3       kept A 0, BB 1; placed CC 3
//! ```

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::control::Control;
use crate::ids::{BufferId, PoolId};
use crate::plan::Plan;
use crate::prepare::GraphContext;
use crate::problem::Problem;
use crate::rigid::Body;
use crate::solve::packing::Packing;
use crate::solve::{AUTO, SolveError, SolveOptions, solve};
use crate::units::Align;

/// The name in plans that were made this way.
pub const KEEP: &str = "keep";

/// A buffer of the plan to keep.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OldBuffer {
    /// Its name; buffers with an empty name or one that occurs twice are not recognised.
    pub name: String,
    /// Its size, rounded; `None` if the plan does not say.
    pub bytes: Option<u64>,
    /// Its offset.
    pub offset: u64,
    /// Its pool; `None` if the plan has one arena.
    pub pool: Option<PoolId>,
}

/// A buffer that has another place than before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moved {
    /// The buffer.
    pub buffer: BufferId,
    /// Its old offset.
    pub from: u64,
    /// Its new offset.
    pub to: u64,
}

/// A buffer that has another size than before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Resized {
    /// The buffer.
    pub buffer: BufferId,
    /// Its old size.
    pub from_bytes: u64,
    /// Its new size.
    pub to_bytes: u64,
}

/// What planning again did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KeepReport {
    /// Unchanged buffers that are where they were.
    pub n_kept: u64,
    /// Their bytes.
    pub kept_bytes: u64,
    /// Unchanged buffers that had to move.
    pub moved: Vec<Moved>,
    /// Their bytes.
    pub moved_bytes: u64,
    /// Buffers that grew or shrank.
    pub resized: Vec<Resized>,
    /// Buffers that are new.
    pub appeared: Vec<BufferId>,
    /// Buffers that are gone, as the old plan has them.
    pub vanished: Vec<OldBuffer>,
    /// Whether the kept places alone did not fit the capacity, so that more had to move.
    pub gave_up_places: bool,
}

/// Plans `problem`, keeping the places of `old` where possible; `name` gives the buffers' names.
///
/// # Errors
/// As [`solve`] with [`AUTO`], which is asked where nothing can be kept, and for problems with several pools.
pub fn plan_keeping<'a>(
    problem: &Problem,
    name: impl Fn(BufferId) -> &'a str,
    old: &[OldBuffer],
    context: Option<&GraphContext>,
    options: &SolveOptions,
    control: &Control<'_>,
) -> Result<(Plan, KeepReport), SolveError> {
    let matched = match_buffers(problem, name, old);
    let unchanged = |id: BufferId| matched.old_of[id.index()].filter(|&at| is_same_size(problem, id, &old[at])).map(|at| old[at].offset);
    let mut offers = offers(problem, unchanged);
    let mut gave_up = offers.is_empty() || !problem.pools().is_empty();
    let mut n_given_up = 1;
    let plan = loop {
        if gave_up && (offers.is_empty() || !problem.pools().is_empty()) {
            break solve(AUTO, problem, context, options, control)?;
        }
        if control.is_stopped() {
            return Err(SolveError::Stopped);
        }
        let plan = place_around(problem, &offers);
        let Some(capacity) = problem.capacity_bytes().filter(|&capacity| plan.arena_bytes > capacity) else { break plan };
        gave_up = true;
        give_up_places(problem, &plan, capacity, n_given_up, &mut offers);
        n_given_up *= 2;
    };
    let mut report = report(problem, &plan, old, &matched);
    report.gave_up_places = gave_up && !old.is_empty();
    Ok((plan, report))
}

/// Which old buffer is which.
struct Matched {
    /// The position in the old plan, by buffer.
    old_of: Vec<Option<usize>>,
    is_found: Vec<bool>,
}

fn match_buffers<'a>(problem: &Problem, name: impl Fn(BufferId) -> &'a str, old: &[OldBuffer]) -> Matched {
    let mut by_name: HashMap<&str, Option<usize>> = HashMap::new();
    for (at, buffer) in old.iter().enumerate().filter(|(_, buffer)| !buffer.name.is_empty()) {
        by_name.entry(buffer.name.as_str()).and_modify(|entry| *entry = None).or_insert(Some(at));
    }
    let mut n_own: HashMap<&str, u32> = HashMap::new();
    for id in problem.ids() {
        *n_own.entry(name(id)).or_default() += 1;
    }
    let mut is_found = vec![false; old.len()];
    let find = |id: BufferId| {
        let name = name(id);
        let at = by_name.get(name).copied().flatten().filter(|_| n_own.get(name) == Some(&1))?;
        is_found[at] = true;
        Some(at)
    };
    let old_of = problem.ids().map(find).collect();
    Matched { old_of, is_found }
}

/// Bodies of which a member is unchanged, with their old places; larger ones first.
fn offers(problem: &Problem, unchanged: impl Fn(BufferId) -> Option<u64>) -> Vec<(usize, u64)> {
    let bodies = problem.bodies();
    let place = |index: usize| {
        let members = bodies.members_of(bodies.get(index));
        members.iter().find_map(|&(id, at)| unchanged(id)?.checked_sub(at)).map(|offset| (index, offset))
    };
    let mut offers: Vec<(usize, u64)> = (0..bodies.len()).filter_map(place).collect();
    offers.sort_by_key(|&(index, _)| (Reverse(bodies.get(index).bytes), index));
    offers
}

/// Every body at its offered place if that is free, all others at their lowest offset.
fn place_around(problem: &Problem, offers: &[(usize, u64)]) -> Plan {
    /// Larger offsets than any plan has would overflow; such an offer is none.
    const MAX_OFFSET: u64 = 1 << 61;
    let mut packing = Packing::new(problem);
    for &(index, offset) in offers.iter().filter(|&&(_, offset)| offset < MAX_OFFSET) {
        if !packing.is_placed(index) && packing.fits(index, offset) {
            packing.place(index, offset);
        }
    }
    let bodies = packing.bodies();
    let mut rest: Vec<(Reverse<(u64, u64)>, usize)> = (0..bodies.len())
        .filter(|&index| !packing.is_placed(index))
        .map(|index| (Reverse((bodies.get(index).bytes, bodies.get(index).lifetime.n_steps())), index))
        .collect();
    rest.sort_unstable();
    for (_, index) in rest {
        packing.place_lowest(index);
    }
    Plan::from_offsets(KEEP, problem, packing.into_offsets(problem.n_buffers()))
}

/// Withdraws offers of bodies that conflict with something above the capacity: the `count` smallest, or all if
/// there are none.
fn give_up_places(problem: &Problem, plan: &Plan, capacity: u64, count: usize, offers: &mut Vec<(usize, u64)>) {
    let bodies = problem.bodies();
    let outside: Vec<_> = bodies.iter().filter(|body| plan.offset(body.root).saturating_add(body.bytes) > capacity).collect();
    let meets = |one: &Body, two: &Body| {
        one.lifetime.overlaps(two.lifetime) || problem.kept_apart().is_some_and(|kept_apart| kept_apart.has(one.root, two.root))
    };
    let is_in_the_way = |index: usize| outside.iter().any(|other| meets(other, bodies.get(index)));
    let n_before = offers.len();
    let mut left = count;
    // Offers are sorted, larger first, so the last ones have the fewest bytes.
    for at in (0..n_before).rev() {
        if left > 0 && is_in_the_way(offers[at].0) {
            offers.remove(at);
            left -= 1;
        }
    }
    if offers.len() == n_before {
        offers.clear();
    }
}

/// Whether a buffer has the size that the old plan gives it; plans round up, so any rounding in use counts.
fn is_same_size(problem: &Problem, id: BufferId, old: &OldBuffer) -> bool {
    let buffer = problem.buffer(id);
    old.bytes.is_none_or(|bytes| bytes == buffer.bytes || bytes == buffer.size_bytes || Align::DEFAULT.round_up(buffer.size_bytes) == Some(bytes))
}

fn report(problem: &Problem, plan: &Plan, old: &[OldBuffer], matched: &Matched) -> KeepReport {
    let mut report = KeepReport::default();
    for id in problem.ids() {
        let bytes = problem.buffer(id).bytes;
        let Some(before) = matched.old_of[id.index()].map(|at| &old[at]) else {
            report.appeared.push(id);
            continue;
        };
        let is_same_place = before.offset == plan.offset(id) && before.pool.is_none_or(|pool| pool == plan.pool(id));
        if !is_same_size(problem, id, before) {
            report.resized.push(Resized { buffer: id, from_bytes: before.bytes.unwrap_or(bytes), to_bytes: bytes });
        } else if is_same_place {
            report.n_kept += 1;
            report.kept_bytes = report.kept_bytes.saturating_add(bytes);
        } else {
            report.moved.push(Moved { buffer: id, from: before.offset, to: plan.offset(id) });
            report.moved_bytes = report.moved_bytes.saturating_add(bytes);
        }
    }
    report.vanished = old.iter().zip(&matched.is_found).filter(|(_, is_found)| !**is_found).map(|(old, _)| old.clone()).collect();
    report
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::check::check;
    use crate::kept_apart::KeptApart;
    use crate::lifetimes::Lifetime;
    use crate::testing::random_problem;

    fn names(n: usize) -> Vec<String> {
        (0..n).map(|index| format!("b{index}")).collect()
    }

    fn keep(problem: &Problem, old: &[OldBuffer]) -> (Plan, KeepReport) {
        let names = names(problem.n_buffers());
        let name = |id: BufferId| names[id.index()].as_str();
        plan_keeping(problem, name, old, None, &SolveOptions::default(), &Control::unattended()).expect("nothing stops it")
    }

    fn old_of(problem: &Problem, plan: &Plan) -> Vec<OldBuffer> {
        let names = names(problem.n_buffers());
        let old =
            |id: BufferId| OldBuffer { name: names[id.index()].clone(), bytes: Some(problem.buffer(id).bytes), offset: plan.offset(id), pool: None };
        problem.ids().map(old).collect()
    }

    #[test]
    fn nothing_moves_if_nothing_changed() {
        for seed in 0..100 {
            let problem = random_problem(seed, 40);
            let plan = solve(AUTO, &problem, None, &SolveOptions::default(), &Control::unattended()).expect("a plan");
            let (again, report) = keep(&problem, &old_of(&problem, &plan));
            assert_eq!((again.offsets, report.n_kept), (plan.offsets, problem.n_buffers() as u64), "seed {seed}");
        }
    }

    #[test]
    fn random_changes_leave_a_valid_plan_that_accounts_for_every_buffer() {
        for seed in 0..300 {
            let before = random_problem(seed, 30);
            let plan = solve(AUTO, &before, None, &SolveOptions::default(), &Control::unattended()).expect("a plan");
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut change = |buffer: &crate::problem::Buffer| {
                let grown = if rng.u32(0..5) == 0 { buffer.size_bytes + rng.u64(1..9) } else { buffer.size_bytes };
                let longer = if rng.u32(0..5) == 0 { rng.u64(1..4) } else { 0 };
                (grown, Lifetime { start: buffer.lifetime.start, end: buffer.lifetime.end + longer })
            };
            let mut sizes: Vec<(u64, Lifetime)> = before.buffers().iter().map(&mut change).collect();
            sizes.push((3, Lifetime { start: 0, end: 9 }));
            let after = Problem::new(sizes, before.align()).expect("a valid problem");
            let capacity = (seed % 2 == 0).then(|| crate::bounds::bound_bytes(&after).0 * 11 / 10);
            let (again, report) = keep(&after.clone().with_capacity(capacity), &old_of(&before, &plan));
            assert!(check(&after, &again).is_valid(), "seed {seed}");
            let n = report.n_kept + (report.moved.len() + report.resized.len() + report.appeared.len()) as u64;
            assert_eq!((n, report.vanished.len()), (after.n_buffers() as u64, 0), "seed {seed}");
        }
    }

    #[test]
    fn buffers_that_are_kept_apart_stay_apart() {
        for seed in 0..150 {
            let before = random_problem(seed, 30);
            let plan = solve(AUTO, &before, None, &SolveOptions::default(), &Control::unattended()).expect("a plan");
            let mut rng = fastrand::Rng::with_seed(seed);
            let n = before.n_buffers();
            let pairs: Vec<_> = (0..2 * n).map(|_| (BufferId::new(rng.usize(0..n)), BufferId::new(rng.usize(0..n)))).collect();
            let kept_apart = KeptApart::new(&before, pairs);
            let after = before.clone().with_kept_apart(Arc::new(kept_apart));
            let capacity = (seed % 2 == 0).then(|| crate::bounds::lower_bound_bytes(&after) * 11 / 10);
            let (again, _) = keep(&after.clone().with_capacity(capacity), &old_of(&before, &plan));
            assert_eq!(check(&after, &again).violations, [], "seed {seed}");
            let (same, report) = keep(&after, &old_of(&after, &again));
            assert_eq!((same.offsets, report.n_kept), (again.offsets, n as u64), "seed {seed}");
        }
    }

    #[test]
    fn of_two_in_each_others_way_the_smaller_moves() {
        let life = |start, end| Lifetime { start, end };
        let before = Problem::new([(4, life(0, 2)), (8, life(2, 4))], Align::ONE).expect("a valid problem");
        let old = old_of(&before, &Plan::from_offsets("old", &before, vec![0, 0]));
        let after = Problem::new([(4, life(0, 3)), (8, life(2, 4))], Align::ONE).expect("a valid problem");
        let (plan, report) = keep(&after, &old);
        assert_eq!((plan.offsets, report.moved), (vec![8, 0], vec![Moved { buffer: BufferId(0), from: 0, to: 8 }]));
    }

    #[test]
    fn gives_up_places_only_when_the_capacity_asks_for_it() {
        let life = Lifetime { start: 0, end: 1 };
        let before = Problem::new([(4, life), (4, life), (2, life)], Align::ONE).expect("a valid problem");
        let old = old_of(&before, &Plan::from_offsets("old", &before, vec![0, 6, 4]));
        let after = Problem::new([(4, life), (4, life), (2, life), (6, life)], Align::ONE).expect("a valid problem");
        let spread = vec![OldBuffer { offset: 7, ..old[1].clone() }, old[0].clone()];
        let (roomy, _) = keep(&after, &spread);
        assert_eq!(roomy.arena_bytes, 17);
        let (tight, report) = keep(&after.with_capacity(Some(16)), &spread);
        assert_eq!((tight.arena_bytes, report.gave_up_places, tight.offsets[0]), (16, true, 0));
    }
}
