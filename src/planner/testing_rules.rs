//! Random rules, brute force and an independent picture of a plan, for problems with rules beyond sizes and lifetimes.
//!
//! Everything here is for tiny inputs and is a function of its seed.

use std::collections::BTreeMap;

use crate::bounds::bound_bytes;
use crate::check::check;
use crate::constraints::{Constraints, Pool, Reserved};
use crate::control::Control;
use crate::ids::{BufferId, PoolId};
use crate::lifetimes::Lifetime;
use crate::metrics::{holes, live_curve, top_curve};
use crate::plan::Plan;
use crate::problem::Problem;
use crate::solve::{AUTO, SolveError, SolveOptions, solve, strategies};
use crate::units::Align;

/// Steps of a random problem with rules.
const N_STEPS: u64 = 8;
/// Buffers up to which a problem is compared with brute force.
const TINY: usize = 4;
/// The largest size of a buffer.
const MAX_BYTES: u64 = 6;

/// A problem of 1 to `max_buffers` buffers with random rules; seeds whose rules contradict each other give `None`.
#[must_use]
pub fn random_problem_with_rules(seed: u64, max_buffers: usize) -> Option<Problem> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let n = rng.usize(1..=max_buffers);
    let sizes: Vec<(u64, Lifetime)> = (0..n)
        .map(|_| {
            let start = rng.u64(0..N_STEPS - 1);
            (rng.u64(1..=MAX_BYTES), Lifetime { start, end: rng.u64(start + 1..=N_STEPS) })
        })
        .collect();
    let align = Align::new([1, 1, 2][rng.usize(0..3)])?;
    let mut rules = Constraints::default();
    let n_pools = if rng.u32(0..4) == 0 { 2 } else { 1 };
    if n_pools == 2 {
        for name in ["fast", "slow"] {
            rules.add_pool(Pool { name: name.to_owned(), capacity_bytes: (name == "fast").then(|| rng.u64(4..20)) });
        }
    }
    let kinds = rng.u32(1..256);
    for (index, &(bytes, life)) in sizes.iter().enumerate() {
        add_rules(&mut rng, &mut rules, kinds, BufferId::new(index), bytes, life, n_pools);
    }
    for index in 1..n {
        add_place(&mut rng, &mut rules, kinds, index, &sizes);
    }
    if kinds & 32 != 0 {
        let (start, from_byte) = (rng.u64(0..N_STEPS), rng.u64(0..8));
        let lifetime = Lifetime { start, end: rng.u64(start + 1..=N_STEPS) };
        rules.reserve(Reserved { pool: PoolId(0), lifetime, from_byte, to_byte: from_byte + rng.u64(1..5) });
    }
    if kinds & 64 != 0 {
        rules.limit_chunks([6, 8, 12][rng.usize(0..3)]);
    }
    Problem::new(sizes, align).ok()?.with_constraints(rules).ok()
}

fn add_rules(rng: &mut fastrand::Rng, rules: &mut Constraints, kinds: u32, id: BufferId, bytes: u64, life: Lifetime, n_pools: u32) {
    if kinds & 1 != 0 && rng.u32(0..3) == 0 {
        rules.set_align(id, Align::new(rng.u64(1..=4)).unwrap_or(Align::ONE));
    }
    if kinds & 2 != 0 && rng.u32(0..5) == 0 {
        rules.pin(id, rng.u64(0..10));
    }
    if kinds & 4 != 0 && life.n_steps() >= 2 && rng.bool() {
        let start = rng.u64(life.start..life.end);
        let window = rng.bool().then(|| (rng.u64(0..bytes), bytes));
        rules.add_gap(id, Lifetime { start, end: rng.u64(start + 1..=life.end) }, window);
    }
    if n_pools == 2 && rng.u32(0..4) == 0 {
        rules.prefer(id, [vec![PoolId(1)], vec![PoolId(1), PoolId(0)], vec![PoolId(0)]][rng.usize(0..3)].clone());
    }
}

fn add_place(rng: &mut fastrand::Rng, rules: &mut Constraints, kinds: u32, index: usize, sizes: &[(u64, Lifetime)]) {
    let (id, other) = (BufferId::new(index), rng.usize(0..index));
    let (bytes, of_bytes) = (sizes[index].0, sizes[other].0);
    if kinds & 8 != 0 && bytes <= of_bytes && rng.u32(0..3) == 0 {
        rules.set_view(id, BufferId::new(other), rng.u64(0..=of_bytes - bytes));
    } else if kinds & 16 != 0 && rng.u32(0..3) == 0 {
        rules.share_place(id, BufferId::new(other));
    }
}

/// Makes the problem of `seed`, plans it with every strategy, and checks all that must hold; `Ok(false)` if the rules
/// contradict each other.
///
/// # Errors
/// A sentence about the first thing that does not hold.
pub fn check_rules_case(seed: u64) -> Result<bool, String> {
    let max_buffers = if seed.is_multiple_of(2) { TINY } else { 14 };
    let Some(problem) = random_problem_with_rules(seed, max_buffers) else { return Ok(false) };
    let bound = bound_bytes(&problem).0;
    let is_tiny = max_buffers <= TINY && problem.pools().is_empty();
    let smallest = if is_tiny { smallest_arena_with_rules(&problem) } else { None };
    if let Some(smallest) = smallest.filter(|&smallest| smallest < bound) {
        return Err(format!("brute force finds {smallest} bytes below the bound of {bound}"));
    }
    let mut best = u64::MAX;
    let names = strategies().iter().filter(|strategy| strategy.is_safe && !strategy.needs_graph).map(|strategy| strategy.name);
    for name in names.chain([AUTO]) {
        let lacking = crate::solve::find_strategy(name).and_then(|strategy| problem.features().first_beyond(strategy.supports));
        let plan = match (solve(name, &problem, None, &SolveOptions::default(), &Control::unattended()), lacking) {
            (Ok(plan), None) => plan,
            (Err(SolveError::Unsupported { because, .. }), Some(feature)) if because.ends_with(&format!("({})", feature.name())) => continue,
            (outcome, lacking) => return Err(format!("{name}: {:?} although it lacks {lacking:?}", outcome.map(|plan| plan.offsets))),
        };
        check_plan(&problem, &plan).map_err(|fault| format!("{name}: {fault}"))?;
        if let Some(violation) = check(&problem, &plan).violations.first() {
            return Err(format!("{name}: {violation}"));
        }
        if plan.arena_bytes < bound || smallest.is_some_and(|smallest| plan.arena_bytes < smallest) {
            return Err(format!("{name}: {} bytes, below the bound of {bound} or the optimum of {smallest:?}", plan.arena_bytes));
        }
        if name == AUTO && problem.pools().is_empty() && plan.arena_bytes > best {
            return Err(format!("auto: {} bytes, but a strategy needs only {best}", plan.arena_bytes));
        }
        best = best.min(plan.arena_bytes);
        check_broken_plans(seed, &problem, &plan)?;
    }
    Ok(true)
}

/// Changes one offset after the other, and compares the check with the picture.
fn check_broken_plans(seed: u64, problem: &Problem, plan: &Plan) -> Result<(), String> {
    let mut rng = fastrand::Rng::with_seed(seed);
    for id in problem.ids() {
        let mut broken = Plan { slots: None, ..plan.clone() };
        broken.offsets[id.index()] = rng.u64(0..12);
        if let Some(pools) = broken.pools.as_mut().filter(|_| rng.bool()) {
            pools.of_buffer[id.index()] = PoolId(rng.u32(0..2));
        }
        check_plan(problem, &broken).map_err(|fault| format!("broken plan: {fault}"))?;
    }
    Ok(())
}

/// Compares check and metrics with a picture of every byte at every step.
fn check_plan(problem: &Problem, plan: &Plan) -> Result<(), String> {
    let report = check(problem, plan);
    let is_valid = report.is_valid();
    let picture = Picture::new(problem, plan);
    if is_valid == picture.has_fault {
        return Err(format!("check finds {:?}, the picture says fault {}: {:?}", report.violations, picture.has_fault, plan.offsets));
    }
    if !is_valid {
        return Ok(());
    }
    let (live, top, holes) = (live_curve(problem), top_curve(problem, plan), holes(problem, plan, usize::MAX));
    for step in 0..N_STEPS {
        let at = picture.steps.get(&step).copied().unwrap_or_default();
        let free: u64 = holes.iter().filter(|hole| hole.lifetime.contains(step)).map(|hole| hole.bytes).sum();
        if (live.at(step), top.at(step), free) != (at.kept, at.top, at.free) {
            return Err(format!("step {step}: curves {} {} {free}, picture {at:?}", live.at(step), top.at(step)));
        }
    }
    Ok(())
}

/// What the picture shows at a step.
#[derive(Clone, Copy, Debug, Default)]
struct AtStep {
    kept: u64,
    top: u64,
    free: u64,
}

/// Every byte at every step, painted buffer by buffer; rules are looked up in the tables and nowhere else.
struct Picture {
    steps: BTreeMap<u64, AtStep>,
    has_fault: bool,
}

impl Picture {
    fn new(problem: &Problem, plan: &Plan) -> Self {
        let none = Constraints::default();
        let rules = problem.constraints().unwrap_or(&none);
        let mut has_fault = breaks_a_place(problem, rules, plan);
        let n_pools = problem.pools().len().max(1);
        let mut steps = BTreeMap::new();
        for step in 0..N_STEPS {
            let mut at = AtStep::default();
            for pool in (0..n_pools).map(PoolId::new) {
                let mut bytes: BTreeMap<u64, Vec<BufferId>> = BTreeMap::new();
                for id in problem.ids().filter(|&id| plan.pool(id) == pool) {
                    for byte in kept_at(problem, rules, id, step) {
                        bytes.entry(plan.offset(id) + byte).or_default().push(id);
                    }
                }
                let ranges = rules.reserved().iter().filter(|range| range.pool == pool && range.lifetime.contains(step));
                let reserved: Vec<u64> = ranges.flat_map(|range| range.from_byte..range.to_byte).collect();
                has_fault |= reserved.iter().any(|byte| bytes.contains_key(byte));
                has_fault |= bytes.values().any(|owners| owners.iter().any(|&one| owners.iter().any(|&two| !are_related(rules, one, two))));
                let top = bytes.keys().next_back().map_or(0, |byte| byte + 1);
                at.kept += bytes.len() as u64;
                at.top += top;
                at.free += (0..top).filter(|byte| !bytes.contains_key(byte) && !reserved.contains(byte)).count() as u64;
            }
            steps.insert(step, at);
        }
        Self { steps, has_fault }
    }
}

/// The bytes of a buffer that must be kept at a step.
pub(crate) fn kept_at(problem: &Problem, rules: &Constraints, id: BufferId, step: u64) -> std::ops::Range<u64> {
    let buffer = problem.buffer(id);
    if !buffer.lifetime.contains(step) {
        return 0..0;
    }
    match rules.gaps(id).iter().find(|gap| gap.lifetime.contains(step)) {
        None => 0..buffer.bytes,
        Some(gap) => match gap.window {
            None => 0..0,
            Some((from, to)) if to == buffer.size_bytes => from..buffer.bytes,
            Some((from, to)) => from..to,
        },
    }
}

/// Whether two buffers are one, or share a place over any number of views and in-place groups.
pub(crate) fn are_related(rules: &Constraints, one: BufferId, two: BufferId) -> bool {
    let mut reached = vec![one];
    let mut next = 0;
    while let Some(&at) = reached.get(next) {
        next += 1;
        let views = rules.views.iter().map(|(&view, sub)| (view, sub.of));
        for (a, b) in views.chain(rules.in_place.iter().copied()) {
            let other = if a == at { b } else { a };
            if (a == at || b == at) && !reached.contains(&other) {
                reached.push(other);
            }
        }
    }
    reached.contains(&two)
}

fn breaks_a_place(problem: &Problem, rules: &Constraints, plan: &Plan) -> bool {
    let is_pinned = |id: BufferId| problem.ids().any(|other| rules.pinned(other).is_some() && are_related(rules, id, other));
    let breaks = |id: BufferId| {
        let (offset, bytes) = (plan.offset(id), problem.buffer(id).bytes);
        let is_placed_freely = rules.view(id).is_none() && !is_pinned(id);
        let arena = plan.pools.as_ref().map_or(plan.arena_bytes, |pools| pools.arena_bytes[plan.pool(id).index()]);
        (is_placed_freely && !problem.align().divides(offset))
            || rules.align(id).is_some_and(|align| !align.divides(offset))
            || rules.pinned(id).is_some_and(|pin| pin != offset)
            || rules.max_chunk_bytes().is_some_and(|chunk| (offset..offset + bytes).any(|byte| byte / chunk != offset / chunk))
            || rules.preferences(id).is_some_and(|allowed| !allowed.contains(&plan.pool(id)))
            || rules.view(id).is_some_and(|sub| plan.offset(sub.of) + sub.at_byte != offset || plan.pool(sub.of) != plan.pool(id))
            || offset + bytes > arena
    };
    let is_apart = |&(a, b): &(BufferId, BufferId)| plan.offset(a) != plan.offset(b) || plan.pool(a) != plan.pool(b);
    problem.ids().any(breaks) || rules.in_place().iter().any(is_apart)
}

/// The smallest arena of any plan of a problem with one pool, by trying all offsets; `None` beyond 24 bytes.
///
/// A plan that fits an arena fits every larger one, so sizes from just below the bound on tell whether it is one.
#[must_use]
pub fn smallest_arena_with_rules(problem: &Problem) -> Option<u64> {
    let mut plan = Plan::from_offsets("brute force", problem, vec![0; problem.n_buffers()]);
    (bound_bytes(problem).0.saturating_sub(1)..=24).find(|&arena_bytes| {
        plan.arena_bytes = arena_bytes;
        fits_within(problem, &mut plan, 0)
    })
}

/// Whether the buffers from `next` on can be placed below the plan's arena.
fn fits_within(problem: &Problem, plan: &mut Plan, next: usize) -> bool {
    let Some(buffer) = problem.buffers().get(next) else { return !Picture::new(problem, plan).has_fault };
    for offset in 0..(plan.arena_bytes + 1).saturating_sub(buffer.bytes) {
        plan.offsets[next] = offset;
        let is_clear = (0..next).all(|other| is_pair_clear(problem, plan, BufferId::new(next), BufferId::new(other)));
        if is_clear && fits_within(problem, plan, next + 1) {
            return true;
        }
    }
    false
}

/// Whether two placed buffers share no byte that both must keep, or share a place.
fn is_pair_clear(problem: &Problem, plan: &Plan, one: BufferId, two: BufferId) -> bool {
    let none = Constraints::default();
    let rules = problem.constraints().unwrap_or(&none);
    let at_step = |id: BufferId, step: u64| {
        let range = kept_at(problem, rules, id, step);
        (plan.offset(id) + range.start, plan.offset(id) + range.end)
    };
    let meet = |step: u64| {
        let ((from, to), (other_from, other_to)) = (at_step(one, step), at_step(two, step));
        from < to && other_from < other_to && from < other_to && other_from < to
    };
    are_related(rules, one, two) || !(0..N_STEPS).any(meet)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::Feature;

    #[test]
    fn every_strategy_honours_random_rules_or_refuses_them() {
        let mut n_per_feature = [0; Feature::ALL.len()];
        for seed in 0..1_500 {
            match check_rules_case(seed) {
                Err(fault) => panic!("seed {seed}: {fault}"),
                Ok(false) => {}
                Ok(true) => {
                    let problem = random_problem_with_rules(seed, if seed % 2 == 0 { TINY } else { 14 }).expect("it was just planned");
                    for (count, feature) in n_per_feature.iter_mut().zip(Feature::ALL) {
                        *count += u32::from(problem.features().has(feature));
                    }
                }
            }
        }
        assert!(n_per_feature.iter().all(|&count| count > 50), "{n_per_feature:?}");
    }
}
