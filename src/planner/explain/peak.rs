//! What the peak is made of, and which single change would lower it by how much.
//!
//! Problem: the peak bounds every plan, so a smaller arena needs a smaller peak.
//! Method: every change below touches only buffers live at the peak step. Live bytes fall by a buffer's size over the
//! steps it no longer covers, and the new peak is the largest of what is left there and of what prefix and suffix
//! maxima say about the other steps.
//! With rules beyond sizes and lifetimes a change is about what moves as one, and about the bytes that it keeps at each
//! step.
//! Guarantee: exact for one change at a time; several changes add up to less or more.
//! Time O(n log n), space O(n).
//! Source: the project's own.
//!
//! ```text
//! live  4 9 9 7 2     peak 9 at step 1; without A (3 bytes, steps 1 and 2) the peak is 7
//! ```

use crate::alias::JoinKind;
use crate::bounds::peak_live_bytes;
use crate::control::Control;
use crate::ids::{BufferId, OpId};
use crate::lifetimes::Lifetime;
use crate::metrics::{Curve, live_curve};
use crate::order::{Order, order_graph, peak_of};
use crate::prepare::{GraphContext, Prepared};
use crate::problem::Problem;
use crate::rigid::{Body, Piece};

/// A change that would lower the peak.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// The buffer does not exist: its tensors are recomputed, kept elsewhere, or not needed.
    Remove {
        /// The buffer.
        buffer: BufferId,
    },
    /// The buffer dies before the peak: what reads it later does so earlier, or reads a copy.
    DieEarlier {
        /// The buffer.
        buffer: BufferId,
        /// Its last use before the peak step.
        last_step: u64,
        /// The ops that keep it, in the order in which they run.
        readers: Vec<OpId>,
    },
    /// The op at the peak writes its result over an input that dies there.
    WriteInPlace {
        /// The op.
        op: OpId,
        /// The buffer written over.
        input: BufferId,
        /// The buffer that is no longer needed.
        output: BufferId,
    },
    /// The ops run in another order.
    Reorder {
        /// The method that finds the order.
        order: Order,
    },
}

/// A change and what it brings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Saving {
    /// The change.
    pub change: Change,
    /// By how much the peak falls; more than 0.
    pub saved_bytes: u64,
    /// The peak after the change.
    pub peak_bytes: u64,
}

/// What the peak is made of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PeakReport {
    /// The first step at the peak.
    pub step: u64,
    /// Live bytes there.
    pub bytes: u64,
    /// The buffers live there, largest first, then by id; of those that share a place, the one at its first byte.
    pub live: Vec<BufferId>,
    /// How many bytes each of them keeps there; their sum is `bytes`.
    pub live_bytes: Vec<u64>,
    /// Single changes that lower it, the largest saving first, then in the order of [`Change`] and by id.
    pub savings: Vec<Saving>,
}

/// Takes the peak apart. A new order is not tried: see [`reorder_saving`].
#[must_use]
pub fn explain_peak(prepared: &Prepared) -> PeakReport {
    let problem = &prepared.problem;
    let (bytes, step) = peak_live_bytes(problem);
    if problem.constraints().is_some() {
        return explain_bodies(problem, bytes, step);
    }
    let mut live: Vec<BufferId> = problem.ids().filter(|&id| problem.buffer(id).lifetime.contains(step)).collect();
    live.sort_by_key(|&id| (std::cmp::Reverse(problem.buffer(id).bytes), id));
    let outside = Outside::new(&live_curve(problem));
    let mut savings = Vec::new();
    let mut add = |change: Change, without: u64, freed: Lifetime| {
        let peak_bytes = (bytes - without).max(outside.max(freed));
        if peak_bytes < bytes {
            savings.push(Saving { change, saved_bytes: bytes - peak_bytes, peak_bytes });
        }
    };
    for &buffer in &live {
        add(Change::Remove { buffer }, problem.buffer(buffer).bytes, problem.buffer(buffer).lifetime);
    }
    if let Some(context) = &prepared.context {
        for &buffer in &live {
            if let Some((change, freed)) = die_earlier(context, problem, buffer, step) {
                add(change, problem.buffer(buffer).bytes, freed);
            }
        }
        for (change, without) in write_in_place(context, problem, step) {
            add(change, without, Lifetime { start: step, end: step + 1 });
        }
    }
    savings.sort_by_key(|saving| std::cmp::Reverse(saving.saved_bytes));
    let live_bytes = live.iter().map(|&id| problem.buffer(id).bytes).collect();
    PeakReport { step, bytes, live, live_bytes, savings }
}

/// The same where rules hold: graphs have none, so the only change is to remove what moves as one.
/// Time O(bodies at the peak · pieces of the curve).
fn explain_bodies(problem: &Problem, bytes: u64, step: u64) -> PeakReport {
    let bodies = problem.bodies();
    let kept_at = |body: &Body, step: u64| bodies.pieces_during(body, Lifetime { start: step, end: step + 1 }).map(Piece::bytes).sum::<u64>();
    let mut live: Vec<(u64, &Body)> = bodies.iter().map(|body| (kept_at(body, step), body)).filter(|&(bytes, _)| bytes > 0).collect();
    live.sort_by_key(|&(bytes, body)| (std::cmp::Reverse(bytes), body.root));
    let curve = live_curve(problem);
    let outside = Outside::new(&curve);
    let mut savings = Vec::new();
    for &(_, body) in &live {
        // Where the curve or what the body keeps changes; nothing changes between these steps.
        let pieces = bodies.pieces_of(body);
        let first = curve.steps.partition_point(|&begin| begin < body.lifetime.start);
        let changes = curve.steps[first..].iter().take_while(|&&begin| begin < body.lifetime.end).copied();
        let own = pieces.iter().flat_map(|piece| [piece.lifetime.start, piece.lifetime.end]).filter(|&step| body.lifetime.contains(step));
        let inside = changes.chain(own).map(|step| curve.at(step) - kept_at(body, step)).max().unwrap_or(0);
        let peak_bytes = inside.max(outside.max(body.lifetime));
        if peak_bytes < bytes {
            savings.push(Saving { change: Change::Remove { buffer: body.root }, saved_bytes: bytes - peak_bytes, peak_bytes });
        }
    }
    savings.sort_by_key(|saving| std::cmp::Reverse(saving.saved_bytes));
    let (live_bytes, live) = live.into_iter().map(|(bytes, body)| (bytes, body.root)).unzip();
    PeakReport { step, bytes, live, live_bytes, savings }
}

/// What `min-peak` saves over the present order; `None` if nothing, or without a graph. Takes up to a second.
#[must_use]
pub fn reorder_saving(prepared: &Prepared, control: &Control<'_>) -> Option<Saving> {
    let context = prepared.context.as_ref()?;
    let settings = prepared.settings.order_settings();
    let bytes = peak_of(&context.graph, &context.schedule, settings);
    let ordered = order_graph(&context.graph, Order::MinPeak, settings, control);
    let peak_bytes = peak_of(&context.graph, &ordered.schedule, settings);
    (peak_bytes < bytes).then_some(Saving { change: Change::Reorder { order: Order::MinPeak }, saved_bytes: bytes - peak_bytes, peak_bytes })
}

/// A buffer that no op touches at the peak step, but that a later one needs, and the steps it would no longer cover.
fn die_earlier(context: &GraphContext, problem: &Problem, buffer: BufferId, peak_step: u64) -> Option<(Change, Lifetime)> {
    let step_of = |op: OpId| context.schedule.step_of(op);
    let ops = context.touching_ops(buffer);
    let n_before = ops.partition_point(|&op| step_of(op) < peak_step);
    let readers = ops[n_before..].to_vec();
    let last_step = ops[..n_before].last().map(|&op| step_of(op))?;
    let is_touched = readers.first().is_none_or(|&op| step_of(op) == peak_step);
    let freed = Lifetime { start: last_step + 1, end: problem.buffer(buffer).lifetime.end };
    (!is_touched).then_some((Change::DieEarlier { buffer, last_step, readers }, freed))
}

/// Inputs that die at the peak op and results of the same size that are born there; each once, in the op's order.
fn write_in_place(context: &GraphContext, problem: &Problem, step: u64) -> Vec<(Change, u64)> {
    let Some(op) = context.schedule.op_at(step) else { return Vec::new() };
    let is_joined = context.map.joins.iter().any(|join| join.op == op && join.kind == JoinKind::InPlace);
    let mut changes = Vec::new();
    if is_joined {
        return changes;
    }
    let dynamic = |tensors: &[crate::ids::TensorId]| -> Vec<BufferId> { tensors.iter().filter_map(|&tensor| context.buffer_of(tensor)).collect() };
    let (inputs, outputs) = (dynamic(&context.graph.op(op).inputs), dynamic(&context.graph.op(op).outputs));
    for &output in outputs.iter().filter(|&&output| problem.buffer(output).lifetime.start == step && !inputs.contains(&output)) {
        let fits = |input: BufferId| problem.buffer(input).lifetime.end == step + 1 && problem.buffer(input).bytes == problem.buffer(output).bytes;
        if let Some(&input) = inputs.iter().find(|&&input| fits(input)) {
            changes.push((Change::WriteInPlace { op, input, output }, problem.buffer(output).bytes));
        }
    }
    changes
}

/// The largest live bytes outside a range of steps.
struct Outside {
    curve_steps: Vec<u64>,
    /// Largest of the first i pieces.
    before: Vec<u64>,
    /// Largest of the pieces from i on.
    from: Vec<u64>,
}

impl Outside {
    fn new(curve: &Curve) -> Self {
        let n = curve.bytes.len();
        let (mut before, mut from) = (vec![0; n + 1], vec![0; n + 1]);
        for at in 0..n {
            before[at + 1] = curve.bytes[at].max(before[at]);
            from[n - 1 - at] = curve.bytes[n - 1 - at].max(from[n - at]);
        }
        Self { curve_steps: curve.steps.clone(), before, from }
    }

    /// A piece that the range only cuts counts as outside.
    fn max(&self, range: Lifetime) -> u64 {
        let n = self.from.len() - 1;
        let n_before = self.curve_steps[..n].partition_point(|&begin| begin < range.start);
        let first_after = self.curve_steps[1..].partition_point(|&end| end <= range.end).min(n);
        self.before[n_before].max(self.from[first_after])
    }
}
