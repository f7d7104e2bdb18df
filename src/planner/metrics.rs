//! What a problem and a plan look like over time: curves per step, and the free space that a plan traps.

use std::collections::{BTreeMap, BinaryHeap};

use crate::alias::Io;
use crate::constraints::{Constraints, Reserved};
use crate::graph::{Graph, Role};
use crate::ids::{PoolId, TensorId};
use crate::lifetimes::Lifetime;
use crate::plan::Plan;
use crate::prepare::{GraphContext, Prepared};
use crate::problem::Problem;
use crate::rigid::Piece;

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
    for piece in problem.pieces() {
        changes.entry(piece.lifetime.start).or_default().0 += piece.bytes();
        changes.entry(piece.lifetime.end).or_default().1 += piece.bytes();
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

/// The highest byte that a live buffer holds at every step, plus one; summed over the pools. Time O(n log n).
#[must_use]
pub fn top_curve(problem: &Problem, plan: &Plan) -> Curve {
    let mut births = by_birth(problem).into_iter().peekable();
    let mut tops: Vec<BinaryHeap<(u64, u64)>> = vec![BinaryHeap::new(); problem.pools().len().max(1)];
    let values = steps_of_change(problem).into_iter().map(|step| {
        while let Some(piece) = births.next_if(|piece| piece.lifetime.start <= step) {
            let end = plan.offset(piece.buffer).saturating_add(piece.to_byte);
            tops[plan.pool(piece.buffer).index()].push((end, piece.lifetime.end));
        }
        let mut sum = 0_u64;
        for tops in &mut tops {
            while tops.peek().is_some_and(|&(_, end)| end <= step) {
                tops.pop();
            }
            sum = sum.saturating_add(tops.peek().map_or(0, |&(top, _)| top));
        }
        (step, sum)
    });
    Curve::from_changes(problem.span(), values)
}

fn by_birth(problem: &Problem) -> Vec<Piece> {
    let mut births: Vec<Piece> = problem.pieces().collect();
    births.sort_unstable_by_key(|piece| (piece.lifetime.start, piece.buffer, piece.from_byte));
    births
}

/// The steps at which something begins or ends to be kept, ascending.
fn steps_of_change(problem: &Problem) -> Vec<u64> {
    let mut steps: Vec<u64> = problem.pieces().flat_map(|piece| [piece.lifetime.start, piece.lifetime.end]).collect();
    steps.sort_unstable();
    steps.dedup();
    steps
}

/// Free space below a live buffer: bytes that are in the arena, used by nobody, and not at its top.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hole {
    /// The steps in which exactly these bytes are free between two live buffers (or the arena's begin and one).
    pub lifetime: Lifetime,
    /// The first free byte; several pools lie one after another.
    pub offset: u64,
    /// How many are free.
    pub bytes: u64,
}

/// The first `max` holes by their end. Several pools lie one after another; reserved bytes are no hole.
///
/// Method: between two births or deaths nothing changes; list the gaps between the live buffers there, and prolong
/// those that were there before.
/// Time O(pieces · live buffers), space O(live buffers); works on faulty plans too.
#[must_use]
pub fn holes(problem: &Problem, plan: &Plan, max: usize) -> Vec<Hole> {
    let pool_begins: Vec<u64> = (0..problem.pools().len().max(1)).map(|pool| plan.pool_begin(PoolId::new(pool))).collect();
    let reserved = problem.constraints().map_or(&[][..], Constraints::reserved);
    let mut steps = steps_of_change(problem);
    steps.extend(reserved.iter().flat_map(|range| [range.lifetime.start, range.lifetime.end]));
    steps.sort_unstable();
    steps.dedup();
    let mut births: Vec<Taken> = reserved.iter().map(|range| Taken::reserved(range, &pool_begins)).collect();
    births.extend(by_birth(problem).iter().map(|piece| Taken::kept(piece, plan)));
    births.sort_by_key(|taken| taken.lifetime.start);
    let mut births = births.into_iter().peekable();
    let mut live: Vec<Taken> = Vec::new();
    let mut open: Vec<Hole> = Vec::new();
    let mut closed: Vec<Hole> = Vec::new();
    for step in steps {
        live.retain(|taken| taken.lifetime.end > step);
        while let Some(taken) = births.next_if(|taken| taken.lifetime.start <= step) {
            live.insert(live.partition_point(|other| (other.begin, other.end) < (taken.begin, taken.end)), taken);
        }
        let gaps = gaps(&live, &pool_begins, step, &open);
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

/// Bytes that are no hole at some steps.
struct Taken {
    begin: u64,
    end: u64,
    lifetime: Lifetime,
    is_reserved: bool,
}

impl Taken {
    /// What is reserved above the pool's highest buffer is cut off: the next pool begins there.
    fn reserved(range: &Reserved, pool_begins: &[u64]) -> Self {
        let pool = range.pool.index();
        let next = pool_begins.get(pool + 1).copied().unwrap_or(u64::MAX);
        let address = |byte: u64| pool_begins[pool].saturating_add(byte).min(next);
        Self { begin: address(range.from_byte), end: address(range.to_byte), lifetime: range.lifetime, is_reserved: true }
    }

    fn kept(piece: &Piece, plan: &Plan) -> Self {
        let address = plan.address(piece.buffer);
        let (begin, end) = (address.saturating_add(piece.from_byte), address.saturating_add(piece.to_byte));
        Self { begin, end, lifetime: piece.lifetime, is_reserved: false }
    }
}

/// The gaps below live buffers at `step`; one that was open keeps its start. The end is not known yet.
fn gaps(live: &[Taken], pool_begins: &[u64], step: u64, open: &[Hole]) -> Vec<Hole> {
    let mut gaps = Vec::new();
    let mut n_below_live = 0;
    let mut top = 0;
    let mut pool = 0;
    for taken in live {
        let here = pool_begins.partition_point(|&begin| begin <= taken.begin);
        if here != pool {
            gaps.truncate(n_below_live);
            top = top.max(pool_begins[here.saturating_sub(1)]);
            pool = here;
        }
        if taken.begin > top {
            let bytes = taken.begin - top;
            let before = open.binary_search_by_key(&top, |hole| hole.offset).ok().map(|at| open[at]).filter(|hole| hole.bytes == bytes);
            let start = before.map_or(step, |hole| hole.lifetime.start);
            gaps.push(Hole { lifetime: Lifetime { start, end: u64::MAX }, offset: top, bytes });
        }
        top = top.max(taken.end);
        if !taken.is_reserved {
            n_below_live = gaps.len();
        }
    }
    gaps.truncate(n_below_live);
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alias::AliasSettings;
    use crate::bounds::lower_bound;
    use crate::control::Control;
    use crate::solve::{SolveOptions, solve};
    use crate::testing::{prepare_graph, random_graph, random_problem};
    use crate::units::Align;

    fn life(start: u64, end: u64) -> Lifetime {
        Lifetime { start, end }
    }

    fn plan_of(problem: &Problem) -> Plan {
        solve("first-fit", problem, None, &SolveOptions::default(), &Control::unattended()).expect("first-fit plans everything")
    }

    #[test]
    fn curves_agree_with_adding_up_every_step() {
        for seed in 0..100 {
            let problem = random_problem(seed, 30);
            let plan = plan_of(&problem);
            let (live, top) = (live_curve(&problem), top_curve(&problem, &plan));
            assert_eq!(live.max(), (lower_bound(&problem).bytes, lower_bound(&problem).step), "seed {seed}");
            for step in problem.span().start..problem.span().end {
                let there = || problem.ids().filter(|&id| problem.buffer(id).lifetime.contains(step));
                assert_eq!(live.at(step), there().map(|id| problem.buffer(id).bytes).sum::<u64>(), "seed {seed}, step {step}");
                assert_eq!(top.at(step), there().map(|id| plan.offset(id) + problem.buffer(id).bytes).max().unwrap_or(0), "seed {seed}, step {step}");
                let trapped: u64 = holes(&problem, &plan, usize::MAX).iter().filter(|hole| hole.lifetime.contains(step)).map(|hole| hole.bytes).sum();
                assert_eq!(trapped, top.at(step) - live.at(step), "seed {seed}, step {step}");
            }
            assert_eq!((live.at(problem.span().end), live.steps.len()), (0, live.bytes.len() + 1));
        }
    }

    #[test]
    fn the_naive_curve_ends_at_the_naive_total() {
        for seed in 0..50 {
            let prepared = prepare_graph(random_graph(seed, 20), Align::DEFAULT, AliasSettings::default());
            assert_eq!(naive_curve(&prepared).max().0, prepared.naive_bytes, "seed {seed}");
        }
    }

    #[test]
    fn a_hole_lasts_as_long_as_its_range_does() {
        let problem = Problem::new([(4, life(0, 2)), (4, life(0, 6)), (2, life(3, 4))], Align::ONE).expect("a valid problem");
        let plan = Plan::from_offsets("test", &problem, vec![0, 4, 0]);
        let expected = [
            Hole { lifetime: life(2, 3), offset: 0, bytes: 4 },
            Hole { lifetime: life(3, 4), offset: 2, bytes: 2 },
            Hole { lifetime: life(4, 6), offset: 0, bytes: 4 },
        ];
        assert_eq!(holes(&problem, &plan, usize::MAX), expected);
        assert_eq!(holes(&problem, &plan, 1), expected[..1]);
    }

    #[test]
    fn an_empty_problem_has_flat_curves() {
        let problem = Problem::new([], Align::ONE).expect("no buffers break no rule");
        assert_eq!(live_curve(&problem), Curve { steps: vec![0, 1], bytes: vec![0] });
    }
}
