//! A graph and its plan as a program: every tensor that has bytes, in the storage that it shares with others.

use std::collections::BTreeMap;

use arenascope_planner::alias::{JoinKind, Storage};
use arenascope_planner::check::CheckedPlan;
use arenascope_planner::dependencies::added_order;
use arenascope_planner::graph::{Op, Role};
use arenascope_planner::ids::{OpId, TensorId};
use arenascope_planner::links::OpLinks;
use arenascope_planner::prepare::GraphContext;

use super::{Home, Program, ProgramBuffer, Read, Step, StepOrder, Value};

/// Static tensors begin at multiples of this, bytes: what device allocators give.
const STATIC_ALIGN: u64 = 256;

/// Weights and other static tensors are laid out one after another in a block of their own.
pub(super) fn program(file: &str, checked: &CheckedPlan, context: &GraphContext) -> Program {
    let mut builder = Builder::new(checked, context);
    builder.add_values();
    let steps = context.schedule.order().iter().map(|&op| builder.step(op)).collect();
    let Builder { buffers, values, static_bytes, .. } = builder;
    let (arena_bytes, align) = (checked.plan().arena_bytes, checked.problem().align().bytes());
    Program { file: file.to_owned(), buffers, values, steps, arena_bytes, static_bytes, align, scale: 1, compute: None, order: None }
}

/// The value of each tensor of a program, by tensor id: those of [`program`].
pub(super) fn values(checked: &CheckedPlan, context: &GraphContext) -> Vec<Option<usize>> {
    let mut builder = Builder::new(checked, context);
    builder.add_values();
    builder.value_of
}

/// The steps that each step reads from, and those that the plan makes it wait for.
pub(super) fn step_order(checked: &CheckedPlan, context: &GraphContext) -> StepOrder {
    let step = |op: OpId| usize::try_from(context.schedule.step_of(op)).expect("steps are positions in a table");
    let links = OpLinks::new(&context.graph);
    let graph = context.schedule.order().iter().map(|op| links.before[op.index()].iter().map(|&before| step(before)).collect());
    let mut order = StepOrder { graph: graph.collect(), plan: vec![Vec::new(); context.schedule.order().len()] };
    for (first, second) in added_order(context, checked.problem(), checked.plan()).edges {
        order.plan[step(second)].push(step(first));
    }
    order
}

struct Builder<'a> {
    context: &'a GraphContext,
    buffers: Vec<ProgramBuffer>,
    values: Vec<Value>,
    /// The value of each tensor, by tensor id; `None` for those without bytes.
    value_of: Vec<Option<usize>>,
    static_bytes: u64,
}

impl<'a> Builder<'a> {
    fn new(checked: &CheckedPlan, context: &'a GraphContext) -> Self {
        let last = context.schedule.order().len().saturating_sub(1);
        let index = |step: u64| usize::try_from(step).unwrap_or(usize::MAX).min(last);
        let planned = |(id, shared): (_, &arenascope_planner::alias::SharedBuffer)| {
            let buffer = checked.problem().buffer(id);
            ProgramBuffer {
                name: context.graph.tensor(shared.tensors[0]).name.clone(),
                home: Home::Arena,
                offset: checked.plan().offset(id),
                bytes: buffer.bytes,
                size_bytes: buffer.size_bytes,
                first_step: index(buffer.lifetime.start),
                last_step: index(buffer.lifetime.end - 1),
            }
        };
        let buffers = checked.problem().ids().zip(&context.map.buffers).map(planned).collect();
        Self { context, buffers, values: Vec::new(), value_of: vec![None; context.graph.tensors().len()], static_bytes: 0 }
    }

    /// Values in schedule order, sources first, so that a view comes after what it is a view of.
    fn add_values(&mut self) {
        let graph = &self.context.graph;
        let static_root = static_groups(self.context);
        let mut group_bytes = vec![0_u64; static_root.len()];
        for tensor in graph.tensor_ids() {
            let bytes = &mut group_bytes[static_root[tensor.index()].index()];
            *bytes = (*bytes).max(graph.tensor(tensor).bytes.unwrap_or(0));
        }
        let mut static_buffer: BTreeMap<TensorId, usize> = BTreeMap::new();
        let sources = graph.tensor_ids().filter(|&tensor| graph.producer(tensor).is_none());
        let outputs = self.context.schedule.order().iter().flat_map(|&op| graph.op(op).outputs.iter().copied());
        let tensors: Vec<TensorId> = sources.chain(outputs).collect();
        for &tensor in &tensors {
            let buffer = match self.context.map.storage[tensor.index()] {
                Storage::Planned(buffer) => Some(buffer.index()),
                Storage::Static => {
                    let root = static_root[tensor.index()];
                    let known = static_buffer.get(&root).copied();
                    known.or_else(|| self.add_static(root, group_bytes[root.index()]).inspect(|&index| _ = static_buffer.insert(root, index)))
                }
                Storage::Empty | Storage::Unknown => None,
            };
            if let Some(buffer) = buffer {
                self.add_value(tensor, buffer);
            }
        }
    }

    fn add_static(&mut self, root: TensorId, bytes: u64) -> Option<usize> {
        if bytes == 0 {
            return None;
        }
        let offset = self.static_bytes;
        self.static_bytes = offset.checked_add(bytes)?.checked_next_multiple_of(STATIC_ALIGN)?;
        let last_step = self.context.schedule.order().len().saturating_sub(1);
        let name = self.context.graph.tensor(root).name.clone();
        self.buffers.push(ProgramBuffer { name, home: Home::Static, offset, bytes, size_bytes: bytes, first_step: 0, last_step });
        Some(self.buffers.len() - 1)
    }

    fn add_value(&mut self, tensor: TensorId, buffer: usize) {
        let graph = &self.context.graph;
        let producer = graph.producer(tensor);
        let index = self.values.len();
        let source = producer.and_then(|op| view_source(graph.op(op), tensor)).and_then(|input| self.value_of[input.index()]);
        // A view carries the bytes of what it is a view of, if both are in one storage.
        let tag = source.filter(|&source| self.values[source].buffer == buffer).map(|source| self.values[source].tag);
        self.value_of[tensor.index()] = Some(index);
        self.values.push(Value {
            name: graph.tensor(tensor).name.clone(),
            buffer,
            shift: 0,
            // The whole buffer: a view can lie anywhere in it.
            bytes: self.buffers[buffer].size_bytes,
            tag: tag.unwrap_or_else(|| u32::try_from(index).unwrap_or(u32::MAX)),
            written_at: producer.map(|op| self.step_index(op)),
            is_output: graph.tensor(tensor).role == Role::GraphOutput,
        });
    }

    fn step_index(&self, op: OpId) -> usize {
        usize::try_from(self.context.schedule.step_of(op)).expect("steps are positions in a table")
    }

    fn step(&self, id: OpId) -> Step {
        let op = self.context.graph.op(id);
        let value = |tensor: &TensorId| self.value_of[tensor.index()];
        let is_view = |index: usize| self.values[index].tag as usize != index;
        let writes: Vec<usize> = op.outputs.iter().filter_map(value).filter(|&index| !is_view(index)).collect();
        let taken: Vec<usize> = self.taken_buffers(id);
        let mut reads: Vec<Read> = Vec::new();
        for index in op.inputs.iter().filter_map(value) {
            if reads.iter().all(|read| read.value != index) {
                reads.push(Read { value: index, is_consumed: taken.contains(&self.values[index].buffer) });
            }
        }
        let is_workspace = |tensor: &&TensorId| self.context.graph.tensor(**tensor).role == Role::Workspace;
        let workspaces = op.outputs.iter().filter(is_workspace).filter_map(value);
        reads.extend(workspaces.map(|value| Read { value, is_consumed: false }));
        Step { op: op.name.clone(), number: self.context.schedule.step_of(id), reads, writes }
    }

    /// The buffers that the op writes its result over by a decision of the planner.
    fn taken_buffers(&self, op: OpId) -> Vec<usize> {
        let joins = &self.context.map.joins;
        let first = joins.partition_point(|join| self.context.schedule.step_of(join.op) < self.context.schedule.step_of(op));
        let own = joins[first..].iter().take_while(|join| join.op == op).filter(|join| join.kind == JoinKind::InPlace);
        own.filter_map(|join| self.value_of[join.output.index()]).map(|value| self.values[value].buffer).collect()
    }
}

fn view_source(op: &Op, output: TensorId) -> Option<TensorId> {
    op.views.iter().find(|&&(_, view)| view == output).map(|&(input, _)| input)
}

/// Which static tensors share storage: each tensor's representative.
fn static_groups(context: &GraphContext) -> Vec<TensorId> {
    let mut root: Vec<TensorId> = context.graph.tensor_ids().collect();
    // Joins are in schedule order, so an input's root is final when its output takes it over.
    for join in &context.map.joins {
        let (from, to) = (root[join.output.index()], root[join.input.index()]);
        if from != to {
            root[join.output.index()] = to;
        }
    }
    root
}
