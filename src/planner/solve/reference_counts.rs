//! When a runtime that counts readers needs each buffer, and when it can give the buffer back.
//!
//! Problem: the strategies that imitate runtimes see births and deaths one op at a time, without looking ahead.
//! Method: count for each buffer the reads still to come. At each op the buffers of its outputs are born, then its
//! inputs are counted down; a buffer without reads to come dies. Results that the op writes over an input are in the
//! input's buffer already ([`crate::alias`]).
//! Guarantee: every buffer is born before it is read, and dies once, after its last reader; one that the caller reads
//! at the end does not die.
//! Time O(reads), space O(n).
//! Source: NNVM, `nnvm/src/pass/plan_memory.cc`, and ONNX Runtime, `onnxruntime/core/framework/allocation_planner.cc`,
//! count in the same way.
//!
//! ```text
//! B = conv(A)      born B
//! C = sigmoid(B)   born C
//! F = conv(B)      born F, dead B: both of its readers are done
//! ```

use super::{Request, SolveError, Strategy};
use crate::alias::{Io, Storage};
use crate::graph::{Op, Role};
use crate::ids::{BufferId, OpId, TensorId};
use crate::prepare::GraphContext;

/// What happens to buffers at an op.
pub(super) struct Change<'a> {
    /// The op; `None` for what is there before the first one.
    pub(super) op: Option<OpId>,
    /// Who is needed from now on, in the order of the op's outputs.
    pub(super) born: &'a [BufferId],
    /// Who is not needed any more after the op.
    pub(super) dead: &'a [BufferId],
}

/// Calls `visit` for what is there before the first op, then for each op in the order of the schedule.
pub(super) fn walk(request: &Request<'_>, strategy: &Strategy, mut visit: impl FnMut(&Change<'_>)) -> Result<(), SolveError> {
    let because = "it counts the readers of each tensor, and this file has buffers but no graph";
    let context = request.context.ok_or(SolveError::Unsupported { strategy: strategy.name, because })?;
    let mut counts = Counts::new(context, request.problem.n_buffers());
    let sources: Vec<TensorId> = context.graph.tensor_ids().filter(|&tensor| context.graph.producer(tensor).is_none()).collect();
    let there = counts.births(&sources);
    visit(&Change { op: None, born: &there, dead: &[] });
    for (turn, &id) in context.schedule.order().iter().enumerate() {
        request.keep_going(turn)?;
        let op = context.graph.op(id);
        let born = counts.births(&op.outputs);
        let mut dead = counts.deaths(op);
        if turn == 0 {
            // A graph input that nobody reads is needed in the first step only.
            counts.bury(&sources, &mut dead);
        }
        visit(&Change { op: Some(id), born: &born, dead: &dead });
    }
    Ok(())
}

/// The buffer that a tensor is in; `None` for one that is not planned.
fn storage(context: &GraphContext, tensor: TensorId) -> Option<BufferId> {
    match context.map.storage[tensor.index()] {
        Storage::Planned(buffer) => Some(buffer),
        Storage::Static | Storage::Empty | Storage::Unknown => None,
    }
}

struct Counts<'a> {
    context: &'a GraphContext,
    reads_to_come: Vec<usize>,
    is_born: Vec<bool>,
    is_dead: Vec<bool>,
}

impl<'a> Counts<'a> {
    /// Reads of each buffer: one per tensor in it and op that reads the tensor; one more that never comes for what the
    /// caller reads at the end.
    fn new(context: &'a GraphContext, n_buffers: usize) -> Self {
        let mut reads_to_come = vec![0; n_buffers];
        for tensor in context.graph.tensor_ids() {
            if let Some(buffer) = storage(context, tensor) {
                let is_kept = context.io == Io::Arena && context.graph.tensor(tensor).role == Role::GraphOutput;
                reads_to_come[buffer.index()] += context.graph.readers(tensor).len() + usize::from(is_kept);
            }
        }
        Self { context, reads_to_come, is_born: vec![false; n_buffers], is_dead: vec![false; n_buffers] }
    }

    fn births(&mut self, tensors: &[TensorId]) -> Vec<BufferId> {
        let buffers = tensors.iter().filter_map(|&tensor| storage(self.context, tensor));
        buffers.filter(|buffer| !std::mem::replace(&mut self.is_born[buffer.index()], true)).collect()
    }

    fn deaths(&mut self, op: &Op) -> Vec<BufferId> {
        let mut touched = op.inputs.clone();
        touched.sort_unstable();
        touched.dedup();
        for buffer in touched.iter().filter_map(|&input| storage(self.context, input)) {
            self.reads_to_come[buffer.index()] -= 1;
        }
        touched.extend(&op.outputs);
        let mut dead = Vec::new();
        self.bury(&touched, &mut dead);
        dead
    }

    /// Adds the buffers of `tensors` that have no reads to come and were alive so far.
    fn bury(&mut self, tensors: &[TensorId], dead: &mut Vec<BufferId>) {
        for buffer in tensors.iter().filter_map(|&tensor| storage(self.context, tensor)) {
            if self.reads_to_come[buffer.index()] == 0 && !std::mem::replace(&mut self.is_dead[buffer.index()], true) {
                dead.push(buffer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alias::AliasSettings;
    use crate::control::Control;
    use crate::solve::{SolveOptions, find_strategy};
    use crate::testing::{prepare_graph, random_graph};
    use crate::units::Align;

    #[test]
    fn births_and_deaths_are_those_of_the_lifetimes() {
        for seed in 0..200 {
            let io = if seed % 2 == 0 { Io::Arena } else { Io::Static };
            let prepared = prepare_graph(random_graph(seed, 30), Align::ONE, AliasSettings { in_place: seed % 3 > 0, io });
            let (problem, context) = (&*prepared.problem, prepared.context.as_deref());
            let (options, control) = (SolveOptions::default(), Control::unattended());
            let request = Request::new(problem, context, &options, &control);
            let mut step = 0;
            let mut seen = vec![(None, None); problem.n_buffers()];
            let strategy = find_strategy("refcount").expect("it exists");
            let visit = |change: &Change<'_>| {
                change.born.iter().for_each(|id| seen[id.index()].0 = Some(step));
                step += u64::from(change.op.is_some());
                change.dead.iter().for_each(|id| seen[id.index()].1 = Some(step));
            };
            walk(&request, strategy, visit).expect("there is a graph");
            for (buffer, (birth, death)) in problem.buffers().iter().zip(seen) {
                assert_eq!((birth, death.unwrap_or(step)), (Some(buffer.lifetime.start), buffer.lifetime.end), "seed {seed}");
            }
        }
    }
}
