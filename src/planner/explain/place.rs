//! Why a buffer is at its offset: what blocks every lower range, and whether it could move down on its own.
//!
//! Problem: a plan is a result without reasons; a plan from elsewhere is not even known to be tight.
//! Method: the neighbours of a buffer (live together with it, or kept apart from it) hold ranges of bytes; their union
//! below its offset is what blocks it, and what is left between is too small for it, or it could go there.
//! With rules beyond sizes and lifetimes, what moves as one is explained as one: see the module `ruled`.
//! Guarantee: exact, for any plan, valid or not.
//! Time O(n + k log k) for k neighbours; see [`lower_offsets`] for all buffers; space O(n).
//! Source: the project's own.
//!
//! ```text
//! byte 6 |..XXX.     X (2 bytes) sits on B; below it A blocks bytes 0 to 2 at steps 1 and 2,
//!      4 |..BB..     B bytes 4 to 6 at steps 2 and 3, and of bytes 2 to 4 there is enough:
//!      0 |.AA...     X could be lower
//! ```

use super::ruled;
use crate::control::Control;
use crate::ids::{BufferId, PoolId};
use crate::lifetimes::Lifetime;
use crate::plan::Plan;
use crate::problem::Problem;

/// Something that holds bytes below a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Blocker {
    /// The neighbour; `None` for bytes that are reserved.
    pub buffer: Option<BufferId>,
    /// Its first byte.
    pub from_byte: u64,
    /// One past its last byte.
    pub to_byte: u64,
    /// The steps at which both are live, from the first to the last; `None` if they never are, but may not share memory
    /// all the same.
    pub steps: Option<Lifetime>,
}

/// A range of bytes below a buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LowerRange {
    /// Neighbours hold every byte of it at some step of the buffer's life.
    Blocked {
        /// First byte.
        from_byte: u64,
        /// One past the last byte.
        to_byte: u64,
        /// Who holds it, by first byte, then id.
        blockers: Vec<Blocker>,
    },
    /// Free while the buffer lives, but too small for it.
    TooSmall {
        /// First byte.
        from_byte: u64,
        /// One past the last byte.
        to_byte: u64,
        /// How many bytes it lacks, counted from its first aligned byte.
        short_bytes: u64,
    },
    /// Free while the buffer lives, and large enough, but no offset in it suits the buffer's own rules: its alignment,
    /// the chunks, or what else moves with it.
    Unsuitable {
        /// First byte.
        from_byte: u64,
        /// One past the last byte.
        to_byte: u64,
    },
    /// Free while the buffer lives, and large enough: it could be here.
    Free {
        /// First byte.
        from_byte: u64,
        /// One past the last byte; the buffer's own bytes may follow.
        to_byte: u64,
    },
}

/// Why a buffer is where it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlaceReport {
    /// The buffer.
    pub buffer: BufferId,
    /// Its offset.
    pub offset: u64,
    /// Everything below it, from byte 0 to its offset, without gaps.
    pub below: Vec<LowerRange>,
    /// The lowest offset at which it could be if nothing else moved; `None` if that is where it is.
    ///
    /// In a slot plan it would leave its slot.
    pub could_be_at: Option<u64>,
    /// Whether a rule fixes its offset.
    pub is_pinned: bool,
    /// The buffers that move with it, because one lies in the other or they share a place; by id.
    pub moves_with: Vec<BufferId>,
    /// The pools that it prefers to the one that it is in, the best first.
    pub better_pools: Vec<BetterPool>,
}

/// A pool that a buffer would rather be in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BetterPool {
    /// The pool.
    pub pool: PoolId,
    /// One past the last byte that the buffer would have at its lowest place there, if nothing else moved.
    pub needs_bytes: u64,
    /// Whether that is within the pool's capacity.
    pub fits: bool,
}

/// Explains the place of one buffer; what moves as one with others is explained by its first byte.
/// Time O(n + k log k) for k neighbours.
#[must_use]
pub fn explain_place(problem: &Problem, plan: &Plan, buffer: BufferId) -> PlaceReport {
    explain_place_among(problem, plan, buffer, problem.ids())
}

/// [`explain_place`] where an index knows who can be a neighbour: `others` must hold every buffer that is live together
/// with it or kept apart from it, each once; with rules they are not asked. Time O(k log k) for k others.
#[must_use]
pub fn explain_place_among(problem: &Problem, plan: &Plan, buffer: BufferId, others: impl IntoIterator<Item = BufferId>) -> PlaceReport {
    if problem.constraints().is_some() {
        return ruled::explain_place(problem, plan, buffer);
    }
    let mut blockers = blockers(problem, plan, buffer, others);
    blockers.sort_unstable_by_key(|blocker| (blocker.from_byte, blocker.buffer));
    let offset = plan.offset(buffer);
    let bytes = problem.buffer(buffer).bytes;
    let obstacles: Vec<(u64, u64)> = blockers.iter().map(|blocker| (blocker.from_byte, blocker.to_byte)).collect();
    let could_be_at = lower_fit(problem, &obstacles, offset, bytes);
    let below = ranges_below(&blockers, offset, bytes, |from_byte, to_byte, limit| gap(problem, from_byte, to_byte, limit, bytes));
    PlaceReport { buffer, offset, below, could_be_at, is_pinned: false, moves_with: Vec::new(), better_pools: Vec::new() }
}

/// Everything below `offset`: runs of blockers, which are sorted, and what `gap` makes of the ranges between them.
///
/// `gap` gets the first byte, one past the last byte, and one past the last byte that a buffer in it may use.
pub(super) fn ranges_below(blockers: &[Blocker], offset: u64, bytes: u64, mut gap: impl FnMut(u64, u64, u64) -> LowerRange) -> Vec<LowerRange> {
    let mut below = Vec::new();
    let mut at = 0;
    for run in runs(blockers, offset) {
        let (from_byte, to_byte) = (run[0].from_byte, run.iter().map(|blocker| blocker.to_byte).max().unwrap_or(0));
        if from_byte > at {
            below.push(gap(at, from_byte, from_byte));
        }
        below.push(LowerRange::Blocked { from_byte, to_byte: to_byte.min(offset), blockers: run.to_vec() });
        at = to_byte;
    }
    if at < offset {
        // The own bytes are free as well, so that the buffer can slide down by any aligned part of this range.
        below.push(gap(at, offset, offset.saturating_add(bytes)));
    }
    below
}

/// The lowest offset of every buffer if nothing else moved, by id; `None` for one that cannot be lower.
///
/// Most buffers have no room below them among those live at their birth alone, which are at hand sorted by offset;
/// only for the others are those born later looked at. `None` altogether if stopped.
/// Time O(n · live + later births · log), space O(n).
#[must_use]
pub fn lower_offsets(problem: &Problem, plan: &Plan, control: &Control<'_>) -> Option<Vec<Option<u64>>> {
    if problem.constraints().is_some() {
        return ruled::lower_offsets(problem, plan, control);
    }
    let mut births: Vec<BufferId> = problem.ids().collect();
    births.sort_unstable_by_key(|&id| (problem.buffer(id).lifetime.start, id));
    let range = |id: BufferId| (plan.offset(id), plan.offset(id).saturating_add(problem.buffer(id).bytes));
    let mut lower = vec![None; problem.n_buffers()];
    let mut live: Vec<((u64, u64), BufferId)> = Vec::new();
    let mut obstacles: Vec<(u64, u64)> = Vec::new();
    let mut n_born = 0;
    for born in births.chunk_by(|&one, &two| problem.buffer(one).lifetime.start == problem.buffer(two).lifetime.start) {
        if control.is_stopped() {
            return None;
        }
        n_born += born.len();
        let start = problem.buffer(born[0]).lifetime.start;
        live.retain(|&(_, id)| problem.buffer(id).lifetime.end > start);
        for &id in born {
            let entry = (range(id), id);
            live.insert(live.partition_point(|other| other < &entry), entry);
        }
        for &id in born {
            let (offset, buffer) = (plan.offset(id), problem.buffer(id));
            obstacles.clear();
            obstacles.extend(live.iter().take_while(|(range, _)| range.0 < offset).filter(|(_, other)| *other != id).map(|&(range, _)| range));
            if lower_fit(problem, &obstacles, offset, buffer.bytes).is_none() {
                continue;
            }
            let later = births[n_born..].iter().take_while(|&&other| problem.buffer(other).lifetime.start < buffer.lifetime.end);
            let apart = problem.kept_apart().into_iter().flat_map(|kept_apart| kept_apart.of(id));
            obstacles.extend(later.copied().chain(apart).map(range).filter(|range| range.0 < offset));
            obstacles.sort_unstable();
            lower[id.index()] = lower_fit(problem, &obstacles, offset, buffer.bytes);
        }
    }
    Some(lower)
}

/// The neighbours of `buffer` among `others` that begin below it.
fn blockers(problem: &Problem, plan: &Plan, buffer: BufferId, others: impl IntoIterator<Item = BufferId>) -> Vec<Blocker> {
    let (offset, lifetime) = (plan.offset(buffer), problem.buffer(buffer).lifetime);
    let blocker = |other: BufferId| {
        let (from_byte, theirs) = (plan.offset(other), problem.buffer(other).lifetime);
        let shared = Lifetime { start: lifetime.start.max(theirs.start), end: lifetime.end.min(theirs.end) };
        let is_kept_apart = problem.kept_apart().is_some_and(|kept_apart| kept_apart.has(buffer, other));
        let steps = (shared.start < shared.end).then_some(shared);
        let is_neighbour = other != buffer && (steps.is_some() || is_kept_apart);
        let to_byte = from_byte.saturating_add(problem.buffer(other).bytes);
        (is_neighbour && from_byte < offset).then_some(Blocker { buffer: Some(other), from_byte, to_byte, steps })
    };
    others.into_iter().filter_map(blocker).collect()
}

/// Blockers in groups whose bytes touch or overlap; sorted by first byte.
fn runs(blockers: &[Blocker], offset: u64) -> Vec<&[Blocker]> {
    let mut runs = Vec::new();
    let mut begin = 0;
    let mut top = 0;
    for (at, blocker) in blockers.iter().enumerate() {
        if at > begin && blocker.from_byte > top {
            runs.push(&blockers[begin..at]);
            begin = at;
        }
        top = if at == begin { blocker.to_byte } else { top.max(blocker.to_byte) };
    }
    if begin < blockers.len() && blockers[begin].from_byte < offset {
        runs.push(&blockers[begin..]);
    }
    runs
}

/// What a free range is good for; `limit` is one past the last byte that a buffer in it may use.
fn gap(problem: &Problem, from_byte: u64, to_byte: u64, limit: u64, bytes: u64) -> LowerRange {
    let aligned = problem.align().round_up(from_byte).unwrap_or(limit).min(limit);
    let room = limit - aligned;
    if room >= bytes && aligned < to_byte {
        LowerRange::Free { from_byte, to_byte }
    } else {
        LowerRange::TooSmall { from_byte, to_byte, short_bytes: bytes.saturating_sub(room).max(1) }
    }
}

/// The lowest aligned offset below `offset` at which `bytes` fit between the obstacles that begin below it, sorted.
fn lower_fit(problem: &Problem, obstacles: &[(u64, u64)], offset: u64, bytes: u64) -> Option<u64> {
    let align = problem.align();
    let mut at = 0_u64;
    for &(begin, end) in obstacles {
        if at >= offset {
            return None;
        }
        if begin.checked_sub(at).is_some_and(|room| room >= bytes) {
            return Some(at);
        }
        if end > at {
            at = align.round_up(end)?;
        }
    }
    (at < offset).then_some(at)
}
