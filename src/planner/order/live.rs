//! Live bytes while ops run one after another, step by step and without making a problem: what searches for orders ask.
//!
//! Problem: the peak of thousands of orders of one graph.
//! Method: views are joined once, since no order changes them. A storage counts from the first op that writes it to
//! the last op that touches it; an op writes in place by the rules of [`crate::alias`], which need only what has run
//! before. So the memory of a step depends on the set of ops that ran, not on their order.
//! Guarantee: the peak of [`crate::bounds::peak_live_bytes`] on the problem of that order, unless [`LiveModel::is_regular`]
//! is false: then an in-place result is larger than what it replaces, which makes the storage larger in hindsight.
//! Time O(reads and writes) for an order; space O(tensors).
//! Source: the project's own.

use crate::alias::{AliasSettings, Io, in_place_pairs, view_storages};
use crate::graph::{Graph, Role};
use crate::ids::{OpId, TensorId};
use crate::schedule::Schedule;
use crate::units::Align;

/// What one op does to storages, as positions in the tables of [`LiveModel`].
#[derive(Clone, Debug, Default)]
pub(super) struct OpMemory {
    /// Storages that it reads or writes, each once.
    pub(super) touches: Vec<u32>,
    /// Storages that it writes, each once.
    pub(super) writes: Vec<u32>,
    /// A storage that may be taken over and the one that would take it, in the order tried.
    takes: Vec<(u32, u32)>,
}

/// A graph as storages and the ops that touch them.
#[derive(Clone, Debug)]
pub(super) struct LiveModel {
    /// Rounded bytes of each storage.
    pub(super) bytes: Vec<u64>,
    /// How many ops touch each storage, and one more for what is kept to the end.
    pub(super) n_touches: Vec<u32>,
    /// There before the first step.
    pub(super) is_born_early: Vec<bool>,
    /// By op.
    pub(super) ops: Vec<OpMemory>,
    /// Bytes that only the first step holds: graph inputs in the arena that nobody reads.
    pub(super) first_step_bytes: u64,
    /// Whether memory depends on nothing but the set of ops that ran.
    pub(super) is_regular: bool,
}

const ABSENT: u32 = u32::MAX;

impl LiveModel {
    pub(super) fn new(graph: &Graph, schedule: &Schedule, alias: AliasSettings, align: Align) -> Self {
        let views = view_storages(graph, schedule, alias.io);
        let mut model = Self {
            bytes: Vec::new(),
            n_touches: Vec::new(),
            is_born_early: Vec::new(),
            ops: vec![OpMemory::default(); graph.ops().len()],
            first_step_bytes: 0,
            is_regular: true,
        };
        // The storage that each standing tensor has in the model; static, empty and unknown ones have none.
        let mut storage_of = vec![ABSENT; graph.tensors().len()];
        for tensor in graph.tensor_ids() {
            let root = views.root[tensor.index()].index();
            let bytes = views.bytes[root].and_then(|bytes| align.round_up(bytes)).unwrap_or(0);
            if bytes > 0 && !views.is_static[root] && storage_of[root] == ABSENT {
                storage_of[root] = u32::try_from(model.bytes.len()).expect("tensors have 32-bit ids");
                model.bytes.push(bytes);
            }
        }
        model.n_touches = vec![0; model.bytes.len()];
        model.is_born_early = vec![false; model.bytes.len()];
        let mut n_beginners = vec![0_u32; model.bytes.len()];
        let storage = |tensor: TensorId| storage_of[views.root[tensor.index()].index()];
        for id in graph.op_ids() {
            let op = graph.op(id);
            let present = |tensors: &[TensorId]| {
                let mut storages: Vec<u32> = tensors.iter().map(|&tensor| storage(tensor)).filter(|&storage| storage != ABSENT).collect();
                storages.sort_unstable();
                storages.dedup();
                storages
            };
            let memory = &mut model.ops[id.index()];
            memory.writes = present(&op.outputs);
            memory.touches = present(&[op.inputs.as_slice(), op.outputs.as_slice()].concat());
            for &touched in &memory.touches {
                model.n_touches[touched as usize] += 1;
            }
            let reads = present(&op.inputs);
            for &begun in memory.writes.iter().filter(|written| !reads.contains(written)) {
                n_beginners[begun as usize] += 1;
            }
            for (input, output) in in_place_pairs(op).into_iter().filter(|_| alias.in_place) {
                let (from, to) = (views.root[input.index()], views.root[output.index()]);
                let same_size = views.bytes[from.index()].is_some() && views.bytes[from.index()] == graph.tensor(output).bytes;
                let is_open = !views.is_static[from.index()] && !views.is_pinned[from.index()] && !views.is_static[to.index()];
                if from == to || !same_size || !is_open {
                    continue;
                }
                model.is_regular &= views.bytes[to.index()] == views.bytes[from.index()];
                if storage(input) != ABSENT && storage(output) != ABSENT {
                    memory.takes.push((storage(input), storage(output)));
                }
            }
        }
        model.mark_callers_memory(graph, alias.io, &storage);
        // A storage begun by several ops would be born at another step when one of them moves.
        model.is_regular &= n_beginners.iter().zip(&model.is_born_early).all(|(&n, &is_early)| n + u32::from(is_early) <= 1);
        model
    }

    /// Graph inputs in the arena are there from the start, graph outputs to the end.
    fn mark_callers_memory(&mut self, graph: &Graph, io: Io, storage: &dyn Fn(TensorId) -> u32) {
        for tensor in graph.tensor_ids().filter(|&tensor| io == Io::Arena && storage(tensor) != ABSENT) {
            let at = storage(tensor) as usize;
            match graph.tensor(tensor).role {
                Role::GraphInput => self.is_born_early[at] = true,
                Role::GraphOutput if graph.producer(tensor).is_some() => self.n_touches[at] += 1,
                _ => {}
            }
        }
        for at in 0..self.bytes.len() {
            if self.is_born_early[at] && self.n_touches[at] == 0 {
                self.first_step_bytes += self.bytes[at];
                self.is_born_early[at] = false;
            }
        }
    }

    /// Bytes that an op can save at most by writing in place, in any order.
    pub(super) fn most_taken_bytes(&self, op: usize) -> u64 {
        let mut results: Vec<u32> = self.ops[op].takes.iter().map(|&(_, to)| to).collect();
        results.sort_unstable();
        results.dedup();
        results.into_iter().map(|to| self.bytes[to as usize]).sum()
    }

    /// The largest sum of live bytes when the ops run in `order`. Time O(reads and writes).
    pub(super) fn peak(&self, order: &[OpId]) -> u64 {
        let mut state = LiveState::new(self);
        order.iter().map(|&op| state.run(op)).max().unwrap_or(0)
    }
}

/// What a step would hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct StepBytes {
    /// Live bytes while the op runs.
    pub(super) during: u64,
    /// Live bytes once it has run.
    pub(super) after: u64,
}

/// Which storages are live after some ops have run.
#[derive(Clone, Debug)]
pub(super) struct LiveState<'m> {
    model: &'m LiveModel,
    /// Touches to come, by storage.
    left: Vec<u32>,
    is_born: Vec<bool>,
    pub(super) live_bytes: u64,
    is_first_step: bool,
}

impl<'m> LiveState<'m> {
    pub(super) fn new(model: &'m LiveModel) -> Self {
        let early = model.is_born_early.iter().zip(&model.bytes).filter(|(is_born, _)| **is_born);
        Self {
            left: model.n_touches.clone(),
            is_born: model.is_born_early.clone(),
            live_bytes: early.map(|(_, bytes)| bytes).sum(),
            is_first_step: true,
            model,
        }
    }

    /// What running `op` next would hold.
    pub(super) fn preview(&self, op: OpId) -> StepBytes {
        let memory = &self.model.ops[op.index()];
        let bytes = |storage: u32| self.model.bytes[storage as usize];
        let births: u64 = memory.writes.iter().filter(|&&storage| !self.is_born[storage as usize]).map(|&storage| bytes(storage)).sum();
        let deaths: u64 = memory.touches.iter().filter(|&&storage| self.left[storage as usize] == 1).map(|&storage| bytes(storage)).sum();
        let first = if self.is_first_step { self.model.first_step_bytes } else { 0 };
        let all = self.live_bytes + births;
        StepBytes { during: all + first - self.taken_bytes(memory), after: all - deaths }
    }

    /// Bytes of the results that go where an input was.
    fn taken_bytes(&self, memory: &OpMemory) -> u64 {
        let mut taken: Vec<(u32, u32)> = Vec::new();
        for &(from, to) in &memory.takes {
            let is_free = taken.iter().all(|&(other_from, other_to)| other_from != from && other_to != to);
            if is_free && self.left[from as usize] == 1 && self.is_born[from as usize] && !self.is_born[to as usize] {
                taken.push((from, to));
            }
        }
        taken.iter().map(|&(_, to)| self.model.bytes[to as usize]).sum()
    }

    /// Runs `op` and says what its step holds.
    pub(super) fn run(&mut self, op: OpId) -> u64 {
        self.run_recorded(op, &mut |_| ())
    }

    /// [`LiveState::run`] that names the storages it begins.
    pub(super) fn run_recorded(&mut self, op: OpId, begun: &mut dyn FnMut(u32)) -> u64 {
        let step = self.preview(op);
        let memory = &self.model.ops[op.index()];
        for &written in &memory.writes {
            if !self.is_born[written as usize] {
                self.is_born[written as usize] = true;
                begun(written);
            }
        }
        for &touched in &memory.touches {
            self.left[touched as usize] -= 1;
        }
        self.live_bytes = step.after;
        self.is_first_step = false;
        step.during
    }

    /// Takes back the last op that ran; the caller says what it had begun and what was live before.
    pub(super) fn take_back(&mut self, op: OpId, begun: &[u32], live_bytes: u64, is_first_step: bool) {
        for &storage in begun {
            self.is_born[storage as usize] = false;
        }
        for &touched in &self.model.ops[op.index()].touches {
            self.left[touched as usize] += 1;
        }
        (self.live_bytes, self.is_first_step) = (live_bytes, is_first_step);
    }
}
