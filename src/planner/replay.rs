//! The symbolic run of a plan: ops write tags into the arena and find out whether what they read is still there.
//!
//! Problem: a plan can be geometrically sound and still wrong, if lifetimes or sharing decisions are.
//! Method: keep who wrote each byte of the arena last. Walk the schedule: an op looks whether every byte of its
//! planned inputs still carries the tag of the write that made it, then writes its own tags; afterwards its inputs
//! must still be whole unless the op declares that it may overwrite them, and its outputs must be whole too. A view
//! writes nothing and carries its input's tag; where the rules of the problem put a view's buffer inside its input's
//! ([`crate::constraints::SubView`]) it carries it there. Where they put the input's buffer inside the output's, as a
//! concatenation does whose parts are made in place, the parts carry the output's tag from then on. Graph outputs in
//! the arena are looked at once more at the end.
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
use crate::families::families;
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
    /// Family and distance from its first byte of each buffer that shares a place by a rule.
    places: BTreeMap<BufferId, (usize, u64)>,
    arena: Arena,
    /// The write that each tensor's bytes should carry; `None` before there is one, and outside the arena.
    tag: Vec<Option<TensorId>>,
    faults: Vec<ReplayFault>,
}

impl<'a> Run<'a> {
    fn new(context: &'a GraphContext, problem: &'a Problem, plan: &'a Plan) -> Self {
        assert_eq!(plan.offsets.len(), problem.n_buffers(), "a plan has one offset per buffer");
        let families = problem.constraints().map_or_else(Vec::new, |rules| families(rules).expect("the rules of a problem hold together"));
        let members = families.into_iter().enumerate().flat_map(|(family, members)| members.into_iter().map(move |(id, at)| (id, (family, at))));
        let tag = vec![None; context.graph.tensors().len()];
        Self { context, problem, plan, places: members.collect(), arena: Arena::default(), tag, faults: Vec::new() }
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

    /// Whether one buffer lies in the other: they are one, or the rules of the problem say so.
    fn lies_in(&self, inner: Option<BufferId>, outer: Option<BufferId>) -> bool {
        if inner == outer {
            return true;
        }
        let place = |buffer: BufferId| Some((*self.places.get(&buffer)?, self.problem.buffer(buffer).size_bytes));
        let (Some(((family, at), bytes)), Some(((other, from), of_bytes))) = (inner.and_then(place), outer.and_then(place)) else { return false };
        family == other && at >= from && at + bytes <= from + of_bytes
    }

    /// The parts that an output is made of in place carry its tag.
    fn adopt_parts(&mut self, op: &Op, output: TensorId) {
        let context = self.context;
        for &(input, whole) in op.views.iter().filter(|&&(_, whole)| whole == output) {
            let (part, of) = (self.buffer(input), self.buffer(whole));
            let Some(buffer) = part.filter(|_| part != of && self.lies_in(part, of)) else { continue };
            let old = self.tag[input.index()];
            for &tensor in &context.map.buffers[buffer.index()].tensors {
                if self.tag[tensor.index()] == old {
                    self.tag[tensor.index()] = Some(output);
                }
            }
        }
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
            match view_source(op, output).filter(|&input| self.lies_in(self.buffer(output), self.buffer(input))) {
                Some(input) => self.tag[output.index()] = self.tag[input.index()],
                None => {
                    self.write(output);
                    self.adopt_parts(op, output);
                }
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
        let (from, to) = (self.buffer(input), |output: TensorId| self.buffer(output));
        let shares = |output: TensorId| to(output).is_some() && (self.lies_in(from, to(output)) || self.lies_in(to(output), from));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alias::{AliasSettings, SharedBuffer};
    use crate::constraints::Constraints;
    use crate::graph::{Dtype, GraphParts, Tensor};
    use crate::lifetimes::Lifetime;
    use crate::testing::prepare_graph;
    use crate::units::Align;

    /// A graph of ops with inputs, outputs and views; every tensor after the first is a buffer of its own.
    fn context(bytes: &[u64], ops: &[(&[u32], u32, bool)]) -> GraphContext {
        let tensor = |(index, &bytes): (usize, &u64)| {
            let role = if index == 0 { Role::GraphInput } else { Role::Activation };
            Tensor { name: format!("t{index}"), dtype: Dtype::U8, shape: None, bytes: Some(bytes), role, unknown_because: String::new() }
        };
        let op = |&(inputs, output, is_view): &(&[u32], u32, bool)| Op {
            name: format!("op{output}"),
            kind: "Op".to_owned(),
            inputs: inputs.iter().copied().map(TensorId).collect(),
            outputs: vec![TensorId(output)],
            views: if is_view { inputs.iter().map(|&input| (TensorId(input), TensorId(output))).collect() } else { Vec::new() },
            in_place: InPlace::No,
            foldable: false,
            bodies: Vec::new(),
        };
        let parts = GraphParts { tensors: bytes.iter().enumerate().map(tensor).collect(), ops: ops.iter().map(op).collect() };
        let prepared = prepare_graph(Graph::new(parts).expect("a valid graph"), Align::ONE, AliasSettings::default());
        let mut context = prepared.context.as_deref().expect("it has a graph").clone();
        let own = |index: usize| if index == 0 { Storage::Static } else { Storage::Planned(BufferId::new(index - 1)) };
        context.map.storage = (0..bytes.len()).map(own).collect();
        let lifetime = Lifetime { start: 0, end: 1 };
        let shared = |index: usize| SharedBuffer { tensors: vec![TensorId::new(index)], bytes: bytes[index], lifetime };
        context.map.buffers = (1..bytes.len()).map(shared).collect();
        context
    }

    fn problem(lives: &[(u64, u64, u64)], views: &[(u32, u32, u64)]) -> Problem {
        let mut rules = Constraints::default();
        for &(view, of, at) in views {
            rules.set_view(BufferId(view), BufferId(of), at);
        }
        let sizes = lives.iter().map(|&(bytes, start, end)| (bytes, Lifetime { start, end }));
        Problem::new(sizes, Align::ONE).and_then(|problem| problem.with_constraints(rules)).expect("a valid problem")
    }

    fn faults(context: &GraphContext, problem: &Problem, offsets: &[u64]) -> Vec<String> {
        let plan = Plan::from_offsets("test", problem, offsets.to_vec());
        replay(context, problem, &plan).iter().map(|fault| fault.describe(&context.graph)).collect()
    }

    #[test]
    fn a_slice_keeps_its_bytes_alone_when_the_rest_is_dead() {
        // t1 = f(t0); t2 = upper half of t1; t3 = g(t2); t4 = h(t2, t3): t3 may take the lower half of t1.
        let context = context(&[8, 8, 4, 4, 1], &[(&[0], 1, false), (&[1], 2, true), (&[2], 3, false), (&[2, 3], 4, false)]);
        let problem = problem(&[(8, 0, 2), (4, 1, 4), (4, 2, 4), (1, 3, 4)], &[(1, 0, 4)]);
        assert_eq!(faults(&context, &problem, &[0, 4, 0, 8]), Vec::<String>::new());
        assert_eq!(crate::check::check(&problem, &Plan::from_offsets("test", &problem, vec![0, 4, 0, 8])).violations, []);
        assert_eq!(faults(&context, &problem, &[0, 4, 1, 8])[0], "step 2, op `op3`: bytes 4 to 5 of `t2` hold `t3`");
        // A slice that is put elsewhere finds bytes that nobody wrote.
        assert_eq!(faults(&context, &problem, &[0, 10, 0, 9])[0], "step 1, op `op2`: bytes 10 to 14 of `t2` were never written");
    }

    #[test]
    fn parts_made_in_place_are_whole_before_and_after_they_are_joined() {
        // t1 and t2 are the halves of t3; t4 reads t1 after the join.
        let context = context(&[8, 4, 4, 8, 1], &[(&[0], 1, false), (&[0], 2, false), (&[1, 2], 3, true), (&[1, 3], 4, false)]);
        let problem = problem(&[(4, 0, 4), (4, 1, 3), (8, 2, 4), (1, 3, 4)], &[(0, 2, 0), (1, 2, 4)]);
        assert_eq!(faults(&context, &problem, &[0, 4, 0, 8]), Vec::<String>::new());
        assert_eq!(faults(&context, &problem, &[0, 4, 0, 7])[0], "step 3, op `op4`: bytes 7 to 8 of `t3` hold `t4`");
    }
}
