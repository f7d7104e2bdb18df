//! The part of [`crate::check`] about rules beyond sizes and lifetimes: one function per rule.
//!
//! It reads the rules as they were given and derives nothing from [`crate::bodies`], which the strategies place by.

use std::collections::BTreeMap;

use crate::check::{CheckReport, Violation};
use crate::check_sweep::{Rectangles, sweep};
use crate::constraints::Constraints;
use crate::ids::{BufferId, PoolId};
use crate::lifetimes::Lifetime;
use crate::plan::Plan;
use crate::problem::Problem;

/// Adds every fault that the rules of `problem` find in `plan`, overlaps included.
pub(crate) fn check_rules(problem: &Problem, constraints: &Constraints, plan: &Plan, report: &mut CheckReport) {
    check_single_buffers(problem, constraints, plan, report);
    check_shared_places(constraints, plan, report);
    let rectangles = kept_rectangles(problem, constraints, plan);
    check_reserved(constraints, &rectangles, report);
    check_overlaps(problem, constraints, &rectangles, report);
}

fn check_single_buffers(problem: &Problem, constraints: &Constraints, plan: &Plan, report: &mut CheckReport) {
    for (&buffer, align) in &constraints.aligns {
        let offset = plan.offset(buffer);
        if !align.divides(offset) {
            report.add(Violation::Misaligned { buffer, offset, align: align.bytes() });
        }
    }
    for (&buffer, &pin) in &constraints.pins {
        if plan.offset(buffer) != pin {
            report.add(Violation::NotAtPin { buffer, offset: plan.offset(buffer), pin });
        }
    }
    if let Some(chunk_bytes) = constraints.max_chunk_bytes {
        for buffer in problem.ids() {
            let (offset, bytes) = (plan.offset(buffer), problem.buffer(buffer).bytes);
            if offset / chunk_bytes != offset.saturating_add(bytes - 1) / chunk_bytes {
                report.add(Violation::StraddlesChunk { buffer, offset, bytes, chunk_bytes });
            }
        }
    }
    for (&buffer, allowed) in &constraints.preferences {
        let pool = plan.pool(buffer);
        if !allowed.contains(&pool) {
            report.add(Violation::WrongPool { buffer, pool });
        }
    }
}

fn check_shared_places(constraints: &Constraints, plan: &Plan, report: &mut CheckReport) {
    for (&view, sub) in &constraints.views {
        let (offset, of_offset) = (plan.offset(view), plan.offset(sub.of));
        if of_offset.checked_add(sub.at_byte) != Some(offset) || plan.pool(view) != plan.pool(sub.of) {
            report.add(Violation::ViewElsewhere { view, of: sub.of, at_byte: sub.at_byte, offset, of_offset });
        }
    }
    for &(a, b) in &constraints.in_place {
        let (offset_a, offset_b) = (plan.offset(a), plan.offset(b));
        if offset_a != offset_b || plan.pool(a) != plan.pool(b) {
            report.add(Violation::NotInPlace { a, b, offset_a, offset_b });
        }
    }
}

/// Bytes that a buffer must keep during some steps, where the plan puts them.
struct Kept {
    buffer: BufferId,
    pool: PoolId,
    steps: Lifetime,
    from_byte: u64,
    to_byte: u64,
}

fn kept_rectangles(problem: &Problem, constraints: &Constraints, plan: &Plan) -> Vec<Kept> {
    let mut all = Vec::with_capacity(problem.n_buffers());
    for buffer in problem.ids() {
        let (life, bytes) = (problem.buffer(buffer).lifetime, problem.buffer(buffer).bytes);
        let (offset, pool) = (plan.offset(buffer), plan.pool(buffer));
        let mut keep = |start: u64, end: u64, from: u64, to: u64| {
            if start < end && from < to {
                let (from_byte, to_byte) = (offset.saturating_add(from), offset.saturating_add(to));
                all.push(Kept { buffer, pool, steps: Lifetime { start, end }, from_byte, to_byte });
            }
        };
        let mut gaps = constraints.gaps(buffer).to_vec();
        gaps.sort_unstable_by_key(|gap| gap.lifetime.start);
        let mut whole_from = life.start;
        for gap in gaps {
            keep(whole_from, gap.lifetime.start, 0, bytes);
            if let Some((from, to)) = gap.window {
                // The rounding belongs to the last byte.
                let to = if to == problem.buffer(buffer).size_bytes { bytes } else { to };
                keep(gap.lifetime.start, gap.lifetime.end, from, to);
            }
            whole_from = gap.lifetime.end;
        }
        keep(whole_from, life.end, 0, bytes);
    }
    all
}

fn check_reserved(constraints: &Constraints, rectangles: &[Kept], report: &mut CheckReport) {
    for kept in rectangles {
        for range in &constraints.reserved {
            let (from_byte, to_byte) = (kept.from_byte.max(range.from_byte), kept.to_byte.min(range.to_byte));
            if kept.pool == range.pool && kept.steps.overlaps(range.lifetime) && from_byte < to_byte {
                let step = kept.steps.start.max(range.lifetime.start);
                report.add(Violation::InReserved { buffer: kept.buffer, step, from_byte, to_byte });
            }
        }
    }
}

struct InPool<'a>(Vec<&'a Kept>);

impl Rectangles for InPool<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn steps(&self, index: usize) -> Lifetime {
        self.0[index].steps
    }

    fn bytes(&self, index: usize) -> (u64, u64) {
        (self.0[index].from_byte, self.0[index].to_byte)
    }
}

/// Overlaps between buffers that share no place by a rule, pool by pool.
fn check_overlaps(problem: &Problem, constraints: &Constraints, rectangles: &[Kept], report: &mut CheckReport) {
    let family = family_of(problem, constraints);
    for pool in (0..problem.pools().len().max(1)).map(PoolId::new) {
        let here = InPool(rectangles.iter().filter(|kept| kept.pool == pool).collect());
        sweep(&here, &mut |one, two| {
            let (one, two) = (here.0[one], here.0[two]);
            let is_related = |id: BufferId| family.get(&id);
            if one.buffer == two.buffer || is_related(one.buffer).is_some_and(|root| is_related(two.buffer) == Some(root)) {
                return;
            }
            report.n_overlaps += 1;
            report.add(Violation::Overlap {
                a: one.buffer.min(two.buffer),
                b: one.buffer.max(two.buffer),
                from_step: one.steps.start.max(two.steps.start),
                to_step: one.steps.end.min(two.steps.end),
                from_byte: one.from_byte.max(two.from_byte),
                to_byte: one.to_byte.min(two.to_byte),
            });
        });
    }
}

/// For each buffer that shares a place with others: a buffer that stands for all of them.
fn family_of(problem: &Problem, constraints: &Constraints) -> BTreeMap<BufferId, BufferId> {
    let views = constraints.views.iter().map(|(&view, sub)| (view, sub.of));
    let pairs: Vec<(BufferId, BufferId)> = views.chain(constraints.in_place.iter().copied()).collect();
    let mut parent: Vec<BufferId> = if pairs.is_empty() { Vec::new() } else { problem.ids().collect() };
    for &(one, two) in &pairs {
        let (one, two) = (root(&mut parent, one), root(&mut parent, two));
        parent[one.max(two).index()] = one.min(two);
    }
    pairs.iter().flat_map(|&(one, two)| [one, two]).map(|id| (id, root(&mut parent, id))).collect()
}

fn root(parent: &mut [BufferId], id: BufferId) -> BufferId {
    let mut at = id;
    while parent[at.index()] != at {
        parent[at.index()] = parent[parent[at.index()].index()];
        at = parent[at.index()];
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::check;
    use crate::constraints::{Pool, Reserved};
    use crate::plan::PoolPlan;
    use crate::units::Align;

    fn life(start: u64, end: u64) -> Lifetime {
        Lifetime { start, end }
    }

    /// A (8 bytes) [0, 4), B (4) [0, 4), C (4) [2, 6) with rules.
    fn problem(rules: impl FnOnce(&mut Constraints)) -> Problem {
        let mut constraints = Constraints::default();
        rules(&mut constraints);
        let problem = Problem::new([(8, life(0, 4)), (4, life(0, 4)), (4, life(2, 6))], Align::ONE).expect("a valid problem");
        problem.with_constraints(constraints).expect("rules without contradictions")
    }

    /// What the check says about offsets that are right and about offsets that are not.
    fn faults(problem: &Problem, right: [u64; 3], wrong: [u64; 3]) -> Vec<Violation> {
        let report = |offsets: [u64; 3]| check(problem, &Plan { arena_bytes: 100, ..Plan::from_offsets("test", problem, offsets.to_vec()) });
        assert_eq!(report(right).violations, []);
        report(wrong).violations
    }

    const A: BufferId = BufferId(0);
    const B: BufferId = BufferId(1);
    const C: BufferId = BufferId(2);

    #[test]
    fn finds_an_offset_that_its_own_alignment_does_not_allow() {
        let problem = problem(|rules| {
            rules.set_align(B, Align::new(16).expect("not zero"));
        });
        let expected = Violation::Misaligned { buffer: B, offset: 17, align: 16 };
        assert_eq!(faults(&problem, [0, 16, 8], [0, 17, 8]), [expected]);
    }

    #[test]
    fn finds_a_fixed_buffer_one_byte_off() {
        let problem = problem(|rules| {
            rules.pin(B, 9);
        });
        assert_eq!(faults(&problem, [0, 9, 13], [0, 8, 13]), [Violation::NotAtPin { buffer: B, offset: 8, pin: 9 }]);
    }

    #[test]
    fn finds_one_reserved_byte_in_use() {
        let reserved = Reserved { pool: PoolId(0), lifetime: life(5, 6), from_byte: 8, to_byte: 9 };
        let problem = problem(|rules| {
            rules.reserve(reserved);
        });
        let expected = Violation::InReserved { buffer: C, step: 5, from_byte: 8, to_byte: 9 };
        assert_eq!(faults(&problem, [0, 8, 12], [0, 12, 8]), [expected]);
    }

    #[test]
    fn lets_a_buffer_into_a_gap_and_finds_it_one_byte_into_what_is_kept_there() {
        let problem = problem(|rules| {
            rules.add_gap(A, life(2, 4), Some((0, 2)));
        });
        let expected = Violation::Overlap { a: A, b: C, from_step: 2, to_step: 4, from_byte: 1, to_byte: 2 };
        assert_eq!(faults(&problem, [0, 8, 2], [0, 8, 1]), [expected]);
    }

    #[test]
    fn finds_a_view_one_byte_off() {
        let problem = problem(|rules| {
            rules.set_view(B, A, 3);
        });
        let expected = Violation::ViewElsewhere { view: B, of: A, at_byte: 3, offset: 4, of_offset: 0 };
        assert_eq!(faults(&problem, [0, 3, 8], [0, 4, 8]), [expected]);
    }

    #[test]
    fn finds_a_place_that_is_not_shared() {
        let problem = problem(|rules| {
            rules.share_place(B, C);
        });
        let expected = Violation::NotInPlace { a: B, b: C, offset_a: 8, offset_b: 9 };
        assert_eq!(faults(&problem, [0, 8, 8], [0, 8, 9]), [expected]);
    }

    #[test]
    fn finds_one_byte_in_the_next_chunk() {
        let problem = problem(|rules| {
            rules.limit_chunks(16);
        });
        let expected = Violation::StraddlesChunk { buffer: C, offset: 13, bytes: 4, chunk_bytes: 16 };
        assert_eq!(faults(&problem, [0, 8, 12], [0, 8, 13]), [expected]);
    }

    #[test]
    fn pools_are_apart_and_a_buffer_is_only_where_it_may_be() {
        let pool = |name: &str| Pool { name: name.to_owned(), capacity_bytes: None };
        let problem = problem(|rules| {
            rules.add_pool(pool("SRAM"));
            rules.add_pool(pool("PSRAM"));
            rules.prefer(C, vec![PoolId(1)]);
        });
        let plan = |pools: [u32; 3]| Plan::from_pools("test", &problem, vec![0, 8, 0], pools.map(PoolId).to_vec());
        assert_eq!(check(&problem, &plan([0, 0, 1])).violations, []);
        let wrong = check(&problem, &plan([1, 1, 0])).violations;
        assert_eq!(wrong, [Violation::WrongPool { buffer: C, pool: PoolId(0) }]);
        let cut = Plan { pools: Some(PoolPlan { of_buffer: vec![PoolId(0); 2], arena_bytes: vec![12, 4] }), ..plan([0, 0, 1]) };
        let report = check(&problem, &cut);
        assert_eq!(report.violations, [Violation::WrongCount { what: "pools", n_planned: 2, n_buffers: 3 }]);
    }
}
