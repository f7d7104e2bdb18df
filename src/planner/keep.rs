//! Planning again after a change: what did not change stays where it was, as far as possible.
//!
//! Problem: a plan exists, a few buffers changed; find a plan that moves as few bytes as possible.
//! Method: a buffer is unchanged if its name and its size are. Unchanged buffers are offered their old places, larger
//! first; one whose place is not free (two lifetimes changed so that they meet now) or no longer allowed is placed
//! anew. So of two unchanged buffers in each other's way the smaller one moves. All others go, largest first, to
//! their lowest free offset. If that is over the capacity, unchanged buffers give up their places, those that live
//! together with what sticks out and have the fewest bytes first, a growing number each time; at last nothing is kept
//! and the problem is planned anew. With several pools a place is a pool and an offset in it, and what has no place goes
//! into the first pool that it prefers and where it fits.
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
/// As [`solve`] with [`AUTO`], which is asked where nothing can be kept.
pub fn plan_keeping<'a>(
    problem: &Problem,
    name: impl Fn(BufferId) -> &'a str,
    old: &[OldBuffer],
    context: Option<&GraphContext>,
    options: &SolveOptions,
    control: &Control<'_>,
) -> Result<(Plan, KeepReport), SolveError> {
    let matched = match_buffers(problem, name, old);
    let place = |old: &OldBuffer| (old.pool.unwrap_or(PoolId(0)), old.offset);
    let unchanged = |id: BufferId| matched.old_of[id.index()].map(|at| &old[at]).filter(|old| is_same_size(problem, id, old)).map(place);
    let mut offers = offers(problem, unchanged);
    let mut gave_up = false;
    let mut n_given_up = 1;
    let plan = loop {
        if offers.is_empty() {
            break solve(AUTO, problem, context, options, control)?;
        }
        if control.is_stopped() {
            return Err(SolveError::Stopped);
        }
        let plan = place_around(problem, &offers);
        let outside = outside(problem, &plan);
        if outside.is_empty() {
            break plan;
        }
        gave_up = true;
        give_up_places(problem, &plan, &outside, n_given_up, &mut offers);
        n_given_up *= 2;
    };
    let mut report = report(problem, &plan, old, &matched);
    report.gave_up_places = gave_up;
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

/// A place that a body had before.
struct Offer {
    body: usize,
    pool: PoolId,
    offset: u64,
}

/// Bodies of which a member is unchanged, with their old places; larger ones first.
fn offers(problem: &Problem, unchanged: impl Fn(BufferId) -> Option<(PoolId, u64)>) -> Vec<Offer> {
    let bodies = problem.bodies();
    let place = |body: usize| {
        let members = bodies.members_of(bodies.get(body));
        let place = |(id, at)| unchanged(id).and_then(|(pool, offset)| Some((pool, offset.checked_sub(at)?)));
        let (pool, offset) = members.iter().copied().find_map(place)?;
        let is_allowed = bodies.pools_of(body).is_empty() || bodies.pools_of(body).contains(&pool);
        is_allowed.then_some(Offer { body, pool, offset })
    };
    let mut offers: Vec<Offer> = (0..bodies.len()).filter_map(place).collect();
    offers.sort_by_key(|offer| (Reverse(bodies.get(offer.body).bytes), offer.body));
    offers
}

/// Every body at its offered place if that is free, all others at their lowest offset in the best pool with room.
fn place_around(problem: &Problem, offers: &[Offer]) -> Plan {
    /// Larger offsets than any plan has would overflow; such an offer is none.
    const MAX_OFFSET: u64 = 1 << 61;
    let mut packing = Packing::new(problem);
    for offer in offers.iter().filter(|offer| offer.offset < MAX_OFFSET) {
        if !packing.is_placed(offer.body) && packing.fits(offer.body, offer.pool, offer.offset) {
            packing.place_in(offer.body, offer.pool, offer.offset);
        }
    }
    let bodies = packing.bodies();
    let mut rest: Vec<(Reverse<(u64, u64)>, usize)> = (0..bodies.len())
        .filter(|&index| !packing.is_placed(index))
        .map(|index| (Reverse((bodies.get(index).bytes, bodies.get(index).lifetime.n_steps())), index))
        .collect();
    rest.sort_unstable();
    for (_, index) in rest {
        let (pool, offset) = best_place(problem, &mut packing, index);
        packing.place_in(index, pool, offset);
    }
    packing.into_plan(KEEP, problem)
}

/// The lowest offset in the first pool in which a body stays within the capacity, or in the last that it may be in.
fn best_place(problem: &Problem, packing: &mut Packing<'_>, body: usize) -> (PoolId, u64) {
    let pools = packing.bodies().pools_of(body).to_vec();
    let bytes = packing.bodies().get(body).bytes;
    let mut place = (PoolId(0), 0);
    for pool in if pools.is_empty() { vec![PoolId(0)] } else { pools } {
        place = (pool, packing.lowest(body, pool));
        if problem.pool_capacity_bytes(pool).is_none_or(|capacity| place.1.saturating_add(bytes) <= capacity) {
            break;
        }
    }
    place
}

/// The bodies that end above the capacity of their pool.
fn outside(problem: &Problem, plan: &Plan) -> Vec<Body> {
    let end = |body: &Body| plan.offset(body.root).saturating_add(body.bytes);
    let is_outside = |body: &&Body| problem.pool_capacity_bytes(plan.pool(body.root)).is_some_and(|capacity| end(body) > capacity);
    problem.bodies().iter().filter(is_outside).cloned().collect()
}

/// Withdraws offers of bodies that conflict with something outside its pool's capacity: the `count` smallest, or all
/// if there are none.
fn give_up_places(problem: &Problem, plan: &Plan, outside: &[Body], count: usize, offers: &mut Vec<Offer>) {
    let bodies = problem.bodies();
    let meets = |one: &Body, two: &Body| {
        one.lifetime.overlaps(two.lifetime) || problem.kept_apart().is_some_and(|kept_apart| kept_apart.has(one.root, two.root))
    };
    let is_in_the_way = |offer: &Offer| outside.iter().any(|other| plan.pool(other.root) == offer.pool && meets(other, bodies.get(offer.body)));
    let n_before = offers.len();
    let mut left = count;
    // Offers are sorted, larger first, so the last ones have the fewest bytes.
    for at in (0..n_before).rev() {
        if left > 0 && is_in_the_way(&offers[at]) {
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
    use crate::constraints::{Constraints, Pool};
    use crate::kept_apart::KeptApart;
    use crate::lifetimes::Lifetime;
    use crate::testing::random_problem;
    use crate::testing_rules::random_problem_with_rules;

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
        let old = |id: BufferId| OldBuffer {
            name: names[id.index()].clone(),
            bytes: Some(problem.buffer(id).bytes),
            offset: plan.offset(id),
            pool: plan.pools.as_ref().map(|_| plan.pool(id)),
        };
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
    fn rules_and_pools_are_kept_and_nothing_moves_if_nothing_changed() {
        let mut n_pooled = 0;
        for problem in (0..600).filter_map(|seed| random_problem_with_rules(seed, 12)) {
            let plan = solve(AUTO, &problem, None, &SolveOptions::default(), &Control::unattended()).expect("a plan");
            let is_within = outside(&problem, &plan).is_empty();
            let (again, report) = keep(&problem, &old_of(&problem, &plan));
            assert!(check(&problem, &again).is_valid(), "{problem:?}");
            if is_within {
                assert_eq!((&again.offsets, report.n_kept, report.gave_up_places), (&plan.offsets, problem.n_buffers() as u64, false));
                assert_eq!(again.pools, plan.pools);
                n_pooled += usize::from(plan.pools.is_some());
            }
        }
        assert!(n_pooled > 30, "{n_pooled}");
    }

    #[test]
    fn what_grew_out_of_a_small_pool_goes_to_the_next_and_the_others_stay() {
        let life = Lifetime { start: 0, end: 1 };
        let with_sizes = |sizes: [u64; 3]| {
            let mut rules = Constraints::default();
            rules.add_pool(Pool { name: "fast".to_owned(), capacity_bytes: Some(10) });
            rules.add_pool(Pool { name: "slow".to_owned(), capacity_bytes: None });
            Problem::new(sizes.map(|size| (size, life)), Align::ONE).and_then(|problem| problem.with_constraints(rules)).expect("a valid problem")
        };
        let before = with_sizes([4, 3, 3]);
        let plan = solve(AUTO, &before, None, &SolveOptions::default(), &Control::unattended()).expect("a plan");
        assert_eq!(plan.pools.as_ref().map(|pools| pools.arena_bytes.clone()), Some(vec![10, 0]));
        let (again, report) = keep(&with_sizes([4, 3, 5]), &old_of(&before, &plan));
        assert_eq!((again.pool(BufferId(2)), again.offset(BufferId(2)), report.n_kept), (PoolId(1), 0, 2));
        assert_eq!((report.moved, report.resized.len()), (vec![], 1));
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
