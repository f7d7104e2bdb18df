//! What a problem and a plan look like over time: curves per step, and the free space that a plan traps.

use std::collections::{BTreeMap, BinaryHeap};

use crate::alias::Io;
use crate::graph::{Graph, Role};
use crate::ids::{BufferId, TensorId};
use crate::lifetimes::Lifetime;
use crate::plan::Plan;
use crate::prepare::{GraphContext, Prepared};
use crate::problem::Problem;

/// A number of bytes for every step, constant between the steps listed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Curve {
    /// Where pieces begin, ascending, and where the last one ends: one more than there are pieces.
    pub steps: Vec<u64>,
    /// `bytes[i]` holds on `[steps[i], steps[i + 1])`.
    pub bytes: Vec<u64>,
}

impl Curve {
    /// The value at a step; 0 outside the curve.
    #[must_use]
    pub fn at(&self, step: u64) -> u64 {
        let piece = self.steps.partition_point(|&begin| begin <= step);
        piece.checked_sub(1).and_then(|piece| self.bytes.get(piece)).copied().unwrap_or(0)
    }

    /// The largest value and the first step at which it is reached.
    #[must_use]
    pub fn max(&self) -> (u64, u64) {
        let first_best = |best: (u64, u64), (&step, &bytes)| if bytes > best.0 { (bytes, step) } else { best };
        self.steps.iter().zip(&self.bytes).fold((0, self.steps.first().copied().unwrap_or(0)), first_best)
    }

    /// A curve over `span` from its values at the steps where it changes, ascending; 0 before the first.
    fn from_changes(span: Lifetime, changes: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut curve = Self { steps: vec![span.start], bytes: vec![0] };
        for (step, bytes) in changes.into_iter().filter(|&(step, _)| step < span.end) {
            match curve.bytes.last_mut() {
                Some(last) if *last == bytes => {}
                Some(last) if curve.steps.last() == Some(&step) => *last = bytes,
                _ => {
                    curve.steps.push(step);
                    curve.bytes.push(bytes);
                }
            }
        }
        curve.steps.push(span.end);
        curve
    }
}

/// Live bytes at every step; its maximum is the peak. Time O(n log n).
#[must_use]
pub fn live_curve(problem: &Problem) -> Curve {
    let mut changes: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for buffer in problem.buffers() {
        changes.entry(buffer.lifetime.start).or_default().0 += buffer.bytes;
        changes.entry(buffer.lifetime.end).or_default().1 += buffer.bytes;
    }
    let mut live = 0_u64;
    let values = changes.into_iter().map(|(step, (born, dead))| {
        live = live + born - dead;
        (step, live)
    });
    Curve::from_changes(problem.span(), values)
}

/// What memory would hold at every step if nothing were ever reused: the sum of all dynamic tensors born so far.
#[must_use]
pub fn naive_curve(prepared: &Prepared) -> Curve {
    let mut births: BTreeMap<u64, u64> = BTreeMap::new();
    let mut span = prepared.problem.span();
    if let Some(context) = &prepared.context {
        span = Lifetime { start: 0, end: context.schedule.n_steps().max(1) };
        for tensor in context.graph.tensor_ids() {
            if let Some(step) = birth(context, tensor) {
                let bytes = context.graph.tensor(tensor).bytes.and_then(|bytes| prepared.settings.align.round_up(bytes));
                *births.entry(step).or_default() += bytes.unwrap_or(0);
            }
        }
    } else {
        for buffer in prepared.problem.buffers() {
            *births.entry(buffer.lifetime.start).or_default() += buffer.bytes;
        }
    }
    let mut total = 0_u64;
    let values = births.into_iter().map(|(step, bytes)| {
        total += bytes;
        (step, total)
    });
    Curve::from_changes(span, values)
}

/// The step at which a dynamic tensor is first written; `None` for static ones.
fn birth(context: &GraphContext, tensor: TensorId) -> Option<u64> {
    let graph: &Graph = &context.graph;
    let role = graph.tensor(tensor).role;
    if !context.map.is_dynamic(tensor) {
        return None;
    }
    match graph.producer(tensor) {
        Some(op) => Some(context.schedule.step_of(op)),
        None if role == Role::GraphInput && context.io == Io::Arena => Some(0),
        None => None,
    }
}

/// The highest byte that a live buffer holds at every step, plus one. Time O(n log n).
#[must_use]
pub fn top_curve(problem: &Problem, plan: &Plan) -> Curve {
    let mut steps: Vec<u64> = problem.buffers().iter().flat_map(|buffer| [buffer.lifetime.start, buffer.lifetime.end]).collect();
    steps.sort_unstable();
    steps.dedup();
    let mut births = by_birth(problem).into_iter().peekable();
    let mut tops: BinaryHeap<(u64, u64)> = BinaryHeap::new();
    let values = steps.into_iter().map(|step| {
        while let Some(id) = births.next_if(|&id| problem.buffer(id).lifetime.start <= step) {
            let buffer = problem.buffer(id);
            tops.push((plan.offset(id).saturating_add(buffer.bytes), buffer.lifetime.end));
        }
        while tops.peek().is_some_and(|&(_, end)| end <= step) {
            tops.pop();
        }
        (step, tops.peek().map_or(0, |&(top, _)| top))
    });
    Curve::from_changes(problem.span(), values)
}

fn by_birth(problem: &Problem) -> Vec<BufferId> {
    let mut births: Vec<BufferId> = problem.ids().collect();
    births.sort_unstable_by_key(|&id| (problem.buffer(id).lifetime.start, id));
    births
}

/// Free space below a live buffer: bytes that are in the arena, used by nobody, and not at its top.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hole {
    /// The steps in which exactly these bytes are free between two live buffers (or the arena's begin and one).
    pub lifetime: Lifetime,
    /// The first free byte.
    pub offset: u64,
    /// How many are free.
    pub bytes: u64,
}

/// The first `max` holes by their end.
///
/// Method: between two births or deaths nothing changes; list the gaps between the live buffers there, and prolong
/// those that were there before.
/// Time O(pieces · live buffers), space O(live buffers); works on faulty plans too.
#[must_use]
pub fn holes(problem: &Problem, plan: &Plan, max: usize) -> Vec<Hole> {
    let mut steps: Vec<u64> = problem.buffers().iter().flat_map(|buffer| [buffer.lifetime.start, buffer.lifetime.end]).collect();
    steps.sort_unstable();
    steps.dedup();
    let mut births = by_birth(problem).into_iter().peekable();
    let mut live: Vec<(u64, u64, u64)> = Vec::new();
    let mut open: Vec<Hole> = Vec::new();
    let mut closed: Vec<Hole> = Vec::new();
    for step in steps {
        live.retain(|&(_, _, death)| death > step);
        while let Some(id) = births.next_if(|&id| problem.buffer(id).lifetime.start <= step) {
            let range = (plan.offset(id), plan.offset(id).saturating_add(problem.buffer(id).bytes), problem.buffer(id).lifetime.end);
            live.insert(live.partition_point(|other| other < &range), range);
        }
        let gaps = gaps(&live, step, &open);
        closed.extend(
            open.iter()
                .filter(|hole| gaps.binary_search_by_key(&hole.offset, |gap| gap.offset).map_or(true, |at| gaps[at].lifetime != hole.lifetime))
                .map(|hole| Hole { lifetime: Lifetime { start: hole.lifetime.start, end: step }, ..*hole }),
        );
        if closed.len() >= max {
            closed.truncate(max);
            return closed;
        }
        open = gaps;
    }
    closed
}

/// The gaps between live buffers at `step`; one that was open keeps its start. The end is not known yet.
fn gaps(live: &[(u64, u64, u64)], step: u64, open: &[Hole]) -> Vec<Hole> {
    let mut gaps = Vec::new();
    let mut top = 0;
    for &(begin, end, _) in live {
        if begin > top {
            let bytes = begin - top;
            let before = open.binary_search_by_key(&top, |hole| hole.offset).ok().map(|at| open[at]).filter(|hole| hole.bytes == bytes);
            let start = before.map_or(step, |hole| hole.lifetime.start);
            gaps.push(Hole { lifetime: Lifetime { start, end: u64::MAX }, offset: top, bytes });
        }
        top = top.max(end);
    }
    gaps
}
