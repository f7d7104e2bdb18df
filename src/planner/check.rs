//! The geometric check of a plan: every fault, found without knowing how the plan was made.
//!
//! Problem: list all pairs of buffers that are live at one step and share a byte, and every buffer that is
//! misaligned, outside the arena, or outside its slot.
//! Method: walk the births in time order; the live buffers sit in a tree by offset that knows the highest end below
//! each node; a new buffer meets those that begin before its end (a prefix) and end after its begin.
//! Guarantee: all faults are counted; the first [`MAX_STORED`] are kept.
//! Time O(n log n + overlaps · log n), space O(n).
//! Source: the segment-intersection sweep of Bentley and Ottmann reduced to axis-parallel rectangles,
//! DOI 10.1109/TC.1979.1675432.
//! This module shares no code with [`crate::solve`] on purpose.
//!
//! ```text
//! byte 7 |.BBB       A [0, 3) holds bytes 0 to 3, B [1, 4) bytes 3 to 7:
//!      3 |AxxB       both hold byte 3 at steps 1 and 2
//!      0 |AAA.
//! ```

use std::sync::Arc;

use crate::check_rules::check_rules;
use crate::check_sweep::{Rectangles, sweep};
use crate::ids::{BufferId, PoolId, SlotId};
use crate::lifetimes::Lifetime;
use crate::plan::{Plan, PoolPlan};
use crate::problem::Problem;

/// How many violations a report keeps; all are counted. Chosen by eye: nobody reads more.
pub const MAX_STORED: usize = 10_000;

/// One fault of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Violation {
    /// Two buffers are live together and share bytes.
    #[error("buffers {a} and {b} share bytes {from_byte} to {to_byte} while both are live, in steps {from_step} to {to_step} (ends excluded)")]
    Overlap {
        /// The one with the smaller id.
        a: BufferId,
        /// The one with the larger id.
        b: BufferId,
        /// First step at which both are live.
        from_step: u64,
        /// One past the last such step.
        to_step: u64,
        /// First byte that both hold.
        from_byte: u64,
        /// One past the last such byte.
        to_byte: u64,
    },
    /// An offset is no multiple of the alignment.
    #[error("buffer {buffer} is at byte {offset}, which is not a multiple of the alignment of {align} bytes")]
    Misaligned {
        /// The buffer.
        buffer: BufferId,
        /// Its offset.
        offset: u64,
        /// The alignment in bytes.
        align: u64,
    },
    /// A buffer ends after the arena.
    #[error("buffer {buffer} needs {bytes} bytes from byte {offset} on, but the arena ends at byte {arena_bytes}")]
    OutsideArena {
        /// The buffer.
        buffer: BufferId,
        /// Its offset.
        offset: u64,
        /// Its size.
        bytes: u64,
        /// The size of the arena.
        arena_bytes: u64,
    },
    /// The plan does not have one offset (and one slot) per buffer.
    #[error("the plan has {n_planned} {what}, but there are {n_buffers} buffers")]
    WrongCount {
        /// What there are too many or too few of: `offsets`, `slots` or `pools`.
        what: &'static str,
        /// How many the plan has.
        n_planned: usize,
        /// How many there should be.
        n_buffers: usize,
    },
    /// Two buffers of one slot have different offsets.
    #[error("buffers {a} and {b} are both in slot {slot}, but at bytes {offset_a} and {offset_b}")]
    SlotMismatch {
        /// The slot.
        slot: SlotId,
        /// The buffer with the smallest id in the slot.
        a: BufferId,
        /// The other buffer.
        b: BufferId,
        /// Where the first one is.
        offset_a: u64,
        /// Where the other one is.
        offset_b: u64,
    },
    /// Two buffers that are kept apart share bytes, though never at one step: the plan orders ops that the graph does not.
    #[error("buffers {a} and {b} share bytes {from_byte} to {to_byte} one after the other, but nothing in the graph orders their ops")]
    KeptApart {
        /// The one with the smaller id.
        a: BufferId,
        /// The one with the larger id.
        b: BufferId,
        /// First byte that both hold.
        from_byte: u64,
        /// One past the last such byte.
        to_byte: u64,
    },
    /// A buffer reaches into the next slot.
    #[error("buffer {buffer} of {bytes} bytes is in slot {slot}, which has {slot_bytes} bytes before the next slot begins")]
    SlotTooSmall {
        /// The slot.
        slot: SlotId,
        /// The buffer.
        buffer: BufferId,
        /// The size of the buffer.
        bytes: u64,
        /// Bytes from the slot's begin to the begin of the next one.
        slot_bytes: u64,
    },
    /// A fixed buffer is somewhere else.
    #[error("buffer {buffer} is at byte {offset}, but it is fixed at byte {pin}")]
    NotAtPin {
        /// The buffer.
        buffer: BufferId,
        /// Its offset.
        offset: u64,
        /// Where it must be.
        pin: u64,
    },
    /// A buffer needs bytes that are reserved.
    #[error("buffer {buffer} needs bytes {from_byte} to {to_byte} at step {step}, but they are reserved")]
    InReserved {
        /// The buffer.
        buffer: BufferId,
        /// The first such step.
        step: u64,
        /// First such byte.
        from_byte: u64,
        /// One past the last such byte.
        to_byte: u64,
    },
    /// A view is not where it must be in the buffer that it lies in.
    #[error("buffer {view} is at byte {offset}, but it lies at byte {at_byte} of buffer {of}, which is at byte {of_offset}")]
    ViewElsewhere {
        /// The view.
        view: BufferId,
        /// What it lies in.
        of: BufferId,
        /// Where in it.
        at_byte: u64,
        /// The view's offset.
        offset: u64,
        /// The offset of what it lies in.
        of_offset: u64,
    },
    /// Two buffers that share a place have two.
    #[error("buffers {a} and {b} share one place, but are at bytes {offset_a} and {offset_b}, or in two pools")]
    NotInPlace {
        /// One of them.
        a: BufferId,
        /// The other one.
        b: BufferId,
        /// Where the first one is.
        offset_a: u64,
        /// Where the other one is.
        offset_b: u64,
    },
    /// A buffer is in a pool that it may not be in.
    #[error("buffer {buffer} is in pool {pool}, which it may not be in")]
    WrongPool {
        /// The buffer.
        buffer: BufferId,
        /// Its pool.
        pool: PoolId,
    },
    /// A buffer reaches into the next chunk.
    #[error("buffer {buffer} of {bytes} bytes at byte {offset} straddles a multiple of the chunk size of {chunk_bytes} bytes")]
    StraddlesChunk {
        /// The buffer.
        buffer: BufferId,
        /// Its offset.
        offset: u64,
        /// Its size.
        bytes: u64,
        /// The size of a chunk.
        chunk_bytes: u64,
    },
}

impl Violation {
    /// The buffers that the fault is about; none if it is about the plan as a whole.
    #[must_use]
    pub fn buffers(&self) -> Vec<BufferId> {
        match *self {
            Self::Overlap { a, b, .. } | Self::SlotMismatch { a, b, .. } | Self::NotInPlace { a, b, .. } | Self::KeptApart { a, b, .. } => vec![a, b],
            Self::ViewElsewhere { view, of, .. } => vec![view, of],
            Self::Misaligned { buffer, .. }
            | Self::OutsideArena { buffer, .. }
            | Self::SlotTooSmall { buffer, .. }
            | Self::NotAtPin { buffer, .. }
            | Self::InReserved { buffer, .. }
            | Self::WrongPool { buffer, .. }
            | Self::StraddlesChunk { buffer, .. } => vec![buffer],
            Self::WrongCount { .. } => Vec::new(),
        }
    }
}

/// What is wrong with a plan.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CheckReport {
    /// The faults, those of single buffers first, then overlaps by step; at most [`MAX_STORED`].
    pub violations: Vec<Violation>,
    /// All faults, also the ones not stored.
    pub n_violations: u64,
    /// All pairs of buffers that overlap, also the ones not stored.
    pub n_overlaps: u64,
}

impl CheckReport {
    /// Whether the plan has no fault.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.n_violations == 0
    }

    pub(crate) fn add(&mut self, violation: Violation) {
        self.n_violations += 1;
        if self.violations.len() < MAX_STORED {
            self.violations.push(violation);
        }
    }
}

/// A plan that the check found no fault in; there is no other way to make one.
#[derive(Clone, Debug)]
pub struct CheckedPlan {
    problem: Arc<Problem>,
    plan: Arc<Plan>,
}

impl CheckedPlan {
    /// Checks `plan`.
    ///
    /// # Errors
    /// The report, if it lists any fault.
    pub fn new(problem: Arc<Problem>, plan: Arc<Plan>) -> Result<Self, CheckReport> {
        let report = check(&problem, &plan);
        if report.is_valid() { Ok(Self { problem, plan }) } else { Err(report) }
    }

    /// The problem that the plan solves.
    #[must_use]
    pub fn problem(&self) -> &Arc<Problem> {
        &self.problem
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }
}

/// Every fault of `plan`. A plan larger than the capacity is not faulty; see [`crate::summary::Summary`].
#[must_use]
pub fn check(problem: &Problem, plan: &Plan) -> CheckReport {
    let mut report = CheckReport::default();
    let n_buffers = problem.n_buffers();
    if plan.offsets.len() != n_buffers {
        report.add(Violation::WrongCount { what: "offsets", n_planned: plan.offsets.len(), n_buffers });
    }
    if let Some(slots) = plan.slots.as_ref().filter(|slots| slots.len() != n_buffers) {
        report.add(Violation::WrongCount { what: "slots", n_planned: slots.len(), n_buffers });
    }
    let n_pools = problem.pools().len();
    let pools = plan.pools.as_ref();
    let n_planned = pools.map_or(if n_pools == 0 { n_buffers } else { 0 }, |pools| pools.of_buffer.len());
    let is_known = |pools: &PoolPlan| pools.arena_bytes.len() == n_pools && pools.of_buffer.iter().all(|pool| pool.index() < n_pools);
    if n_planned != n_buffers || pools.is_some_and(|pools| !is_known(pools)) {
        report.add(Violation::WrongCount { what: "pools", n_planned, n_buffers });
    }
    if !report.is_valid() {
        return report;
    }
    check_places(problem, plan, &mut report);
    if let Some(slots) = &plan.slots {
        check_slots(problem, plan, slots, &mut report);
    }
    match problem.constraints() {
        None => check_overlaps(problem, plan, &mut report),
        Some(constraints) => check_rules(problem, constraints, plan, &mut report),
    }
    check_kept_apart(problem, plan, &mut report);
    report
}

/// Time O(pairs kept apart).
fn check_kept_apart(problem: &Problem, plan: &Plan, report: &mut CheckReport) {
    let Some(kept_apart) = problem.kept_apart() else { return };
    let end = |id: BufferId| plan.offset(id).saturating_add(problem.buffer(id).bytes);
    for a in problem.ids() {
        for b in kept_apart.of(a).filter(|&b| b > a) {
            let (from_byte, to_byte) = (plan.offset(a).max(plan.offset(b)), end(a).min(end(b)));
            if from_byte < to_byte {
                report.add(Violation::KeptApart { a, b, from_byte, to_byte });
            }
        }
    }
}

fn check_places(problem: &Problem, plan: &Plan, report: &mut CheckReport) {
    for id in problem.ids() {
        let (offset, bytes) = (plan.offset(id), problem.buffer(id).bytes);
        let arena_bytes = plan.pools.as_ref().map_or(plan.arena_bytes, |pools| pools.arena_bytes[pools.of_buffer[id.index()].index()]);
        if !problem.is_exact(id) && !problem.align().divides(offset) {
            report.add(Violation::Misaligned { buffer: id, offset, align: problem.align().bytes() });
        }
        if offset.checked_add(bytes).is_none_or(|end| end > arena_bytes) {
            report.add(Violation::OutsideArena { buffer: id, offset, bytes, arena_bytes });
        }
    }
}

fn check_slots(problem: &Problem, plan: &Plan, slots: &[SlotId], report: &mut CheckReport) {
    let mut by_slot: Vec<(SlotId, BufferId)> = slots.iter().copied().zip(problem.ids()).collect();
    by_slot.sort_unstable();
    let groups: Vec<&[(SlotId, BufferId)]> = by_slot.chunk_by(|one, two| one.0 == two.0).collect();
    let mut begins: Vec<u64> = groups.iter().map(|group| plan.offset(group[0].1)).collect();
    begins.sort_unstable();
    for group in groups {
        let (slot, a) = group[0];
        let begin = plan.offset(a);
        let at = begins.partition_point(|&other| other <= begin);
        let is_shared = at >= 2 && begins[at - 2] == begin;
        let next = if is_shared { begin } else { begins.get(at).copied().unwrap_or(u64::MAX) };
        for &(_, b) in group {
            let (offset_b, bytes) = (plan.offset(b), problem.buffer(b).bytes);
            if offset_b != begin {
                report.add(Violation::SlotMismatch { slot, a, b, offset_a: begin, offset_b });
            } else if bytes > next - begin {
                report.add(Violation::SlotTooSmall { slot, buffer: b, bytes, slot_bytes: next - begin });
            }
        }
    }
}

/// Every buffer whole, from its first to its last step.
struct Whole<'a> {
    problem: &'a Problem,
    plan: &'a Plan,
}

impl Rectangles for Whole<'_> {
    fn len(&self) -> usize {
        self.problem.n_buffers()
    }

    fn steps(&self, index: usize) -> Lifetime {
        self.problem.buffers()[index].lifetime
    }

    fn bytes(&self, index: usize) -> (u64, u64) {
        let offset = self.plan.offsets[index];
        (offset, offset.saturating_add(self.problem.buffers()[index].bytes))
    }
}

fn check_overlaps(problem: &Problem, plan: &Plan, report: &mut CheckReport) {
    sweep(&Whole { problem, plan }, &mut |one, two| {
        report.n_overlaps += 1;
        report.add(overlap(problem, plan, BufferId::new(one), BufferId::new(two)));
    });
}

fn overlap(problem: &Problem, plan: &Plan, one: BufferId, two: BufferId) -> Violation {
    let (a, b) = (one.min(two), one.max(two));
    let (life_a, life_b) = (problem.buffer(a).lifetime, problem.buffer(b).lifetime);
    let end = |id: BufferId| plan.offset(id).saturating_add(problem.buffer(id).bytes);
    Violation::Overlap {
        a,
        b,
        from_step: life_a.start.max(life_b.start),
        to_step: life_a.end.min(life_b.end),
        from_byte: plan.offset(a).max(plan.offset(b)),
        to_byte: end(a).min(end(b)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Align;

    /// A (4 bytes) [0, 3), B (8) [1, 4), C (4) [3, 5): a good plan has A and C at 0 and B at 4.
    fn problem() -> Problem {
        let life = |start, end| Lifetime { start, end };
        Problem::new([(4, life(0, 3)), (8, life(1, 4)), (4, life(3, 5))], Align::new(4).expect("not zero")).expect("a valid problem")
    }

    fn offsets() -> Plan {
        Plan::from_offsets("test", &problem(), vec![0, 4, 0])
    }

    fn slots() -> Plan {
        Plan::from_slots("test", &problem(), vec![SlotId(0), SlotId(1), SlotId(0)])
    }

    fn violations(plan: &Plan) -> Vec<Violation> {
        check(&problem(), plan).violations
    }

    #[test]
    fn accepts_good_plans_and_only_then_gives_a_checked_one() {
        assert_eq!(violations(&offsets()), []);
        assert_eq!(violations(&slots()), []);
        let checked = CheckedPlan::new(Arc::new(problem()), Arc::new(slots())).expect("a good plan");
        assert_eq!((checked.plan().arena_bytes, checked.problem().n_buffers()), (12, 3));
        let mut bad = offsets();
        bad.offsets[1] = 0;
        assert_eq!(CheckedPlan::new(Arc::new(problem()), Arc::new(bad)).expect_err("A and B overlap").n_overlaps, 2);
    }

    #[test]
    fn rejects_a_plan_with_one_byte_of_overlap() {
        let life = |start, end| Lifetime { start, end };
        let problem = Problem::new([(4, life(0, 3)), (8, life(2, 4))], Align::ONE).expect("a valid problem");
        let plan = Plan::from_offsets("test", &problem, vec![0, 3]);
        let expected = Violation::Overlap { a: BufferId(0), b: BufferId(1), from_step: 2, to_step: 3, from_byte: 3, to_byte: 4 };
        let report = check(&problem, &plan);
        assert_eq!((report.violations, report.n_overlaps), (vec![expected], 1));
        assert_eq!(expected.to_string(), "buffers #0 and #1 share bytes 3 to 4 while both are live, in steps 2 to 3 (ends excluded)");
    }

    #[test]
    fn rejects_an_offset_one_byte_off_the_alignment() {
        let mut plan = offsets();
        plan.offsets[1] = 5;
        plan.arena_bytes = 13;
        assert_eq!(violations(&plan), [Violation::Misaligned { buffer: BufferId(1), offset: 5, align: 4 }]);
    }

    #[test]
    fn rejects_an_arena_one_byte_too_small() {
        let mut plan = offsets();
        plan.arena_bytes = 11;
        assert_eq!(violations(&plan), [Violation::OutsideArena { buffer: BufferId(1), offset: 4, bytes: 8, arena_bytes: 11 }]);
    }

    #[test]
    fn rejects_an_offset_that_overflows() {
        let mut plan = offsets();
        plan.offsets[1] = u64::MAX - 3;
        assert!(matches!(violations(&plan)[..], [Violation::OutsideArena { .. }]));
    }

    #[test]
    fn rejects_one_offset_or_slot_too_few() {
        let mut plan = offsets();
        plan.offsets.pop();
        assert_eq!(violations(&plan), [Violation::WrongCount { what: "offsets", n_planned: 2, n_buffers: 3 }]);
        let mut plan = slots();
        plan.slots.as_mut().expect("a slot plan").pop();
        assert_eq!(violations(&plan), [Violation::WrongCount { what: "slots", n_planned: 2, n_buffers: 3 }]);
    }

    #[test]
    fn rejects_a_slot_that_is_in_two_places() {
        let mut plan = slots();
        plan.offsets[2] = 12;
        plan.arena_bytes = 16;
        assert_eq!(violations(&plan), [Violation::SlotMismatch { slot: SlotId(0), a: BufferId(0), b: BufferId(2), offset_a: 0, offset_b: 12 }]);
    }

    #[test]
    fn rejects_a_buffer_larger_than_its_slot() {
        let life = |start, end| Lifetime { start, end };
        let problem = Problem::new([(4, life(0, 1)), (8, life(1, 2)), (4, life(0, 1))], Align::ONE).expect("a valid problem");
        let mut plan = Plan::from_offsets("test", &problem, vec![0, 0, 4]);
        plan.slots = Some(vec![SlotId(0), SlotId(0), SlotId(1)]);
        assert_eq!(check(&problem, &plan).violations, [Violation::SlotTooSmall { slot: SlotId(0), buffer: BufferId(1), bytes: 8, slot_bytes: 4 }]);
    }

    #[test]
    fn counts_all_overlaps_and_stores_only_some() {
        let life = Lifetime { start: 0, end: 1 };
        let problem = Problem::new((0..200).map(|_| (1, life)), Align::ONE).expect("a valid problem");
        let report = check(&problem, &Plan::from_offsets("test", &problem, vec![0; 200]));
        assert_eq!((report.n_overlaps, report.violations.len()), (199 * 200 / 2, MAX_STORED));
    }
}
