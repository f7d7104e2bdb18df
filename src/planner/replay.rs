//! The symbolic run of a plan: ops write tags into the arena and find out whether what they read is still there.
//!
//! Problem: a plan can be geometrically sound and still wrong, if lifetimes or sharing decisions are.
//! Method: keep who wrote each byte of the arena last. Walk the schedule: an op looks whether every byte of its
//! planned inputs still carries the tag of the write that made it, then writes its own tags; afterwards its inputs
//! must still be whole unless the op declares that it may overwrite them, and its outputs must be whole too. A view
//! writes nothing and carries its input's tag. Graph outputs in the arena are looked at once more at the end.
//! Guarantee: every byte that a run of the graph would read wrongly is found, up to one fault per op and tensor.
//! Time O((reads + writes) log n + pieces), space O(n).
//! Source: the poisoning of sanitizers, with symbols for bytes; the idea of checking a result by running it
//! symbolically is regalloc2's `src/checker.rs`.
//! This module derives nothing from lifetimes on purpose.
//!
//! ```text
//! A = f()      AAAA....
//! B = g(A)     AABBBB..     B was put over half of A
//! C = h(A)     reads A: bytes 2 and 3 carry B        -> fault, culprit B
//! ```

use std::collections::BTreeMap;

use crate::alias::{Io, Storage};
use crate::graph::{Graph, InPlace, Op, Role};
use crate::ids::{BufferId, OpId, TensorId};
use crate::plan::Plan;
use crate::prepare::GraphContext;
use crate::problem::Problem;

/// One tensor that is not what it should be when it is needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplayFault {
    /// The op that meets the fault; the last op of the schedule for a graph output found damaged at the end.
    pub op: OpId,
    /// The step at which it runs; one past the last step for the look at the end.
    pub step: u64,
    /// The tensor that is damaged.
    pub tensor: TensorId,
    /// The tensor whose write is there instead; `None` if nothing was ever written there.
    pub culprit: Option<TensorId>,
    /// First damaged byte in the arena.
    pub from_byte: u64,
    /// One past the last byte of the damaged piece.
    pub to_byte: u64,
}

impl ReplayFault {
    /// One sentence with names.
    #[must_use]
    pub fn describe(&self, graph: &Graph) -> String {
        let tensor = &graph.tensor(self.tensor).name;
        let op = &graph.op(self.op).name;
        let what = self.culprit.map_or_else(|| "were never written".to_owned(), |culprit| format!("hold `{}`", graph.tensor(culprit).name));
        format!("step {}, op `{op}`: bytes {} to {} of `{tensor}` {what}", self.step, self.from_byte, self.to_byte)
    }
}

/// Runs graph, schedule and plan symbolically.
///
/// The plan must have an offset for every buffer; one with too few offsets is for [`crate::check`] to refuse.
#[must_use]
pub fn replay(context: &GraphContext, problem: &Problem, plan: &Plan) -> Vec<ReplayFault> {
    let mut run = Run::new(context, problem, plan);
    let Some(&first) = context.schedule.order().first() else { return Vec::new() };
    for tensor in context.graph.tensor_ids() {
        if context.graph.producer(tensor).is_none() {
            run.write(tensor);
        }
    }
    for (step, &op) in (0_u64..).zip(context.schedule.order()) {
        run.step(op, step);
        if op == first {
            run.look_at_inputs(op, step);
        }
    }
    run.look_at_outputs();
    run.faults
}

struct Run<'a> {
    context: &'a GraphContext,
    problem: &'a Problem,
    plan: &'a Plan,
    arena: Arena,
    /// The write that each tensor's bytes should carry; `None` before there is one, and outside the arena.
    tag: Vec<Option<TensorId>>,
    faults: Vec<ReplayFault>,
}

impl<'a> Run<'a> {
    fn new(context: &'a GraphContext, problem: &'a Problem, plan: &'a Plan) -> Self {
        assert_eq!(plan.offsets.len(), problem.n_buffers(), "a plan has one offset per buffer");
        Self { context, problem, plan, arena: Arena::default(), tag: vec![None; context.graph.tensors().len()], faults: Vec::new() }
    }

    fn buffer(&self, tensor: TensorId) -> Option<BufferId> {
        match self.context.map.storage[tensor.index()] {
            Storage::Planned(buffer) => Some(buffer),
            Storage::Static | Storage::Empty | Storage::Unknown => None,
        }
    }

    /// The whole buffer: a view can lie anywhere in it.
    fn range(&self, buffer: BufferId) -> (u64, u64) {
        let from = self.plan.offset(buffer);
        (from, from.saturating_add(self.problem.buffer(buffer).size_bytes))
    }

    fn write(&mut self, tensor: TensorId) {
        if let Some(buffer) = self.buffer(tensor) {
            let (from, to) = self.range(buffer);
            self.arena.write(from, to, tensor);
            self.tag[tensor.index()] = Some(tensor);
        }
    }

    fn step(&mut self, id: OpId, step: u64) {
        let context = self.context;
        let op = context.graph.op(id);
        for &input in &op.inputs {
            self.look(id, step, input);
        }
        for &output in &op.outputs {
            match view_source(op, output).filter(|&input| self.buffer(input) == self.buffer(output)) {
                Some(input) => self.tag[output.index()] = self.tag[input.index()],
                None => self.write(output),
            }
        }
        for &input in &op.inputs {
            if !self.may_be_gone(op, input) {
                self.look(id, step, input);
            }
        }
        for &output in &op.outputs {
            self.look(id, step, output);
        }
    }

    /// Whether the op declares that it may overwrite `input` by an output that it writes to the same buffer.
    fn may_be_gone(&self, op: &Op, input: TensorId) -> bool {
        let shares = |output: TensorId| self.buffer(output).is_some() && self.buffer(input) == self.buffer(output);
        match &op.in_place {
            InPlace::No => false,
            InPlace::AnyInput => op.outputs.first().is_some_and(|&output| shares(output)),
            InPlace::Pairs(pairs) => pairs.iter().any(|&(_, output)| shares(output)),
        }
    }

    fn look_at_inputs(&mut self, op: OpId, step: u64) {
        let context = self.context;
        for tensor in context.graph.tensor_ids().filter(|&tensor| context.graph.tensor(tensor).role == Role::GraphInput) {
            self.look(op, step, tensor);
        }
    }

    fn look_at_outputs(&mut self) {
        let context = self.context;
        let Some(&last) = context.schedule.order().last().filter(|_| context.io == Io::Arena) else { return };
        for tensor in context.graph.tensor_ids().filter(|&tensor| context.graph.tensor(tensor).role == Role::GraphOutput) {
            self.look(last, context.schedule.n_steps(), tensor);
        }
    }

    fn look(&mut self, op: OpId, step: u64, tensor: TensorId) {
        let Some(buffer) = self.buffer(tensor) else { return };
        let (from, to) = self.range(buffer);
        let Some((culprit, from_byte, to_byte)) = self.arena.first_piece_without(self.tag[tensor.index()], from, to) else { return };
        let is_known = self.faults.iter().rev().take_while(|fault| fault.step == step).any(|fault| fault.tensor == tensor);
        if !is_known {
            self.faults.push(ReplayFault { op, step, tensor, culprit, from_byte, to_byte });
        }
    }
}

fn view_source(op: &Op, output: TensorId) -> Option<TensorId> {
    op.views.iter().find(|&&(_, view)| view == output).map(|&(input, _)| input)
}

/// Who wrote each byte last: disjoint ranges by their first byte.
#[derive(Default)]
struct Arena {
    pieces: BTreeMap<u64, (u64, TensorId)>,
}

impl Arena {
    fn write(&mut self, from: u64, to: u64, tensor: TensorId) {
        if let Some((&begin, &(end, owner))) = self.pieces.range(..from).next_back()
            && end > from
        {
            self.pieces.insert(begin, (from, owner));
            self.pieces.insert(from, (end, owner));
        }
        while let Some((&begin, &(end, owner))) = self.pieces.range(from..to).next() {
            self.pieces.remove(&begin);
            if end > to {
                self.pieces.insert(to, (end, owner));
            }
        }
        self.pieces.insert(from, (to, tensor));
    }

    /// The first bytes of `from..to` that do not carry `tag`, and what they carry.
    fn first_piece_without(&self, tag: Option<TensorId>, from: u64, to: u64) -> Option<(Option<TensorId>, u64, u64)> {
        let mut at = from;
        let first = self.pieces.range(..=from).next_back().map_or(from, |(&begin, _)| begin);
        for (&begin, &(end, owner)) in self.pieces.range(first..to) {
            if end <= at {
                continue;
            }
            if begin > at {
                return Some((None, at, begin));
            }
            if Some(owner) != tag {
                return Some((Some(owner), at, end.min(to)));
            }
            at = end;
        }
        (at < to).then_some((None, at, to))
    }
}
