//! From a workload to a problem: schedule, sharing, lifetimes, and the totals that do not depend on a plan.

use std::sync::Arc;

use crate::alias::{AliasSettings, BufferMap, Io, Storage, share_buffers, share_buffers_where};
use crate::bodies::with_body_arenas;
use crate::control::Control;
use crate::graph::{Graph, Role};
use crate::ids::{BufferId, OpId, TensorId};
use crate::lifetimes::Lifetime;
use crate::order::{Order, OrderSettings, Ordered, order_graph};
use crate::parallel::{Parallel, ParallelOps};
use crate::problem::{Problem, ProblemError};
use crate::schedule::Schedule;
use crate::units::Align;
use crate::workload::{Source, Warning, Workload};

/// What decides the problem; a change to any of them makes another problem.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct PrepareSettings {
    /// What every offset and size is rounded to.
    pub align: Align,
    /// How tensors become buffers.
    pub alias: AliasSettings,
    /// The largest arena wanted.
    pub capacity_bytes: Option<u64>,
    /// Whether the arena of the graphs inside an op counts as a workspace of that op.
    pub subgraphs: bool,
    /// How the ops of a graph are ordered.
    pub order: Order,
    /// The seed of the search for an order.
    pub order_seed: u64,
    /// Which ops must be able to run side by side.
    pub parallel: Parallel,
}

impl PrepareSettings {
    /// What decides the order of a graph.
    #[must_use]
    pub fn order_settings(self) -> OrderSettings {
        OrderSettings { alias: self.alias, align: self.align, seed: self.order_seed }
    }
}

impl Default for PrepareSettings {
    fn default() -> Self {
        Self {
            align: Align::DEFAULT,
            alias: AliasSettings::default(),
            capacity_bytes: None,
            subgraphs: true,
            order: Order::File,
            order_seed: 0,
            parallel: Parallel::Off,
        }
    }
}

/// The graph beside a problem, for strategies and checks that replay it.
#[derive(Clone, Debug)]
pub struct GraphContext {
    /// The graph.
    pub graph: Arc<Graph>,
    /// The order it runs in.
    pub schedule: Schedule,
    /// Which tensor lives in which buffer; buffer ids are those of the problem.
    pub map: BufferMap,
    /// Whether graph inputs and outputs belong to the arena.
    pub io: Io,
}

impl GraphContext {
    /// The ops that write or read any tensor of a buffer, each once, in the order in which they run.
    #[must_use]
    pub fn touching_ops(&self, buffer: BufferId) -> Vec<OpId> {
        let tensors = &self.map.buffers[buffer.index()].tensors;
        let touching = |&tensor: &TensorId| self.graph.producer(tensor).into_iter().chain(self.graph.readers(tensor).iter().copied());
        let mut ops: Vec<OpId> = tensors.iter().flat_map(touching).collect();
        ops.sort_unstable_by_key(|&op| self.schedule.step_of(op));
        ops.dedup();
        ops
    }

    /// The buffer that a tensor is in; `None` if the plan does not place it.
    #[must_use]
    pub fn buffer_of(&self, tensor: TensorId) -> Option<BufferId> {
        match self.map.storage[tensor.index()] {
            Storage::Planned(buffer) => Some(buffer),
            Storage::Static | Storage::Empty | Storage::Unknown => None,
        }
    }
}

/// How a schedule came about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OrderUsed {
    /// The method that gave it: the one asked for, or what stood in for it; `None` if the caller gave the order.
    pub method: Option<Order>,
    /// Whether no order has a lower peak; `false` if that is not known.
    pub is_lowest: bool,
}

/// A problem with everything that is known about where it comes from.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The file.
    pub workload: Arc<Workload>,
    /// What made this problem of it.
    pub settings: PrepareSettings,
    /// The problem.
    pub problem: Arc<Problem>,
    /// The graph; `None` for bare problems and traces.
    pub context: Option<Arc<GraphContext>>,
    /// How the schedule came about; `None` for bare problems and traces.
    pub order: Option<OrderUsed>,
    /// Ops in the schedule; 0 for bare problems and traces.
    pub n_ops: usize,
    /// Tensors in the graph, or buffers of a bare problem or a trace.
    pub n_tensors: usize,
    /// Every dynamic tensor in its own block, rounded.
    pub naive_bytes: u64,
    /// Static memory, not rounded.
    pub static_bytes: u64,
    /// The reader's warnings and those of this stage.
    pub warnings: Vec<Warning>,
}

impl Prepared {
    /// The name of a buffer: that of its first tensor, or the id in the file.
    #[must_use]
    pub fn buffer_name(&self, buffer: BufferId) -> &str {
        match (&self.context, &self.workload.source) {
            (Some(context), _) => &context.graph.tensor(context.map.buffers[buffer.index()].tensors[0]).name,
            (None, Source::Buffers(buffers)) => &buffers[buffer.index()].name,
            (None, Source::Trace(trace)) => trace.block_label(buffer),
            (None, Source::Graph(_)) => "",
        }
    }

    /// How many tensors are in no number because their size is unknown.
    #[must_use]
    pub fn n_unknown(&self) -> u64 {
        let is_unknown = |storage: &&Storage| matches!(storage, Storage::Unknown);
        self.context.as_ref().map_or(0, |context| context.map.storage.iter().filter(is_unknown).count() as u64)
    }

    /// The tensors in a buffer, in the order in which they are written; empty for bare problems.
    #[must_use]
    pub fn buffer_tensors(&self, buffer: BufferId) -> &[TensorId] {
        self.context.as_ref().map_or(&[], |context| &context.map.buffers[buffer.index()].tensors)
    }

    /// Whether a buffer is older than the recording that it comes from; never for graphs and bare problems.
    #[must_use]
    pub fn is_pre_existing(&self, buffer: BufferId) -> bool {
        matches!(&self.workload.source, Source::Trace(trace) if trace.block(buffer).is_pre_existing())
    }

    /// What a buffer is for: the role of its first tensor. Blocks that are older than their recording are a class of
    /// their own; other blocks and bare buffers are activations.
    #[must_use]
    pub fn buffer_role(&self, buffer: BufferId) -> Role {
        if self.is_pre_existing(buffer) {
            return Role::PreExisting;
        }
        let first = self.buffer_tensors(buffer).first();
        first.zip(self.context.as_ref()).map_or(Role::Activation, |(&tensor, context)| context.graph.tensor(tensor).role)
    }
}

/// Makes the planning problem of a workload. Time O((tensors + reads) log ops), space O(tensors), and more with
/// another [`Order`] than the file's or with [`Parallel`] ops.
///
/// # Errors
/// A size that cannot be rounded or summed; more ops than parallel plans are made for.
pub fn prepare(workload: &Arc<Workload>, settings: PrepareSettings) -> Result<Prepared, ProblemError> {
    prepare_with(workload, settings, &Control::unattended())
}

/// [`prepare`] that can be stopped while it searches for an order; the best one so far is then used.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_with(workload: &Arc<Workload>, settings: PrepareSettings, control: &Control<'_>) -> Result<Prepared, ProblemError> {
    match &workload.source {
        Source::Graph(graph) => {
            let graph = &with_bodies(graph, settings)?;
            let Ordered { order, schedule, is_lowest, note } = order_graph(graph, settings.order, settings.order_settings(), control);
            let mut prepared = prepare_graph(workload, graph, schedule, settings)?;
            prepared.order = Some(OrderUsed { method: Some(order), is_lowest });
            prepared.warnings.extend(note.map(Warning::general));
            Ok(prepared)
        }
        Source::Buffers(_) | Source::Trace(_) => prepare_without_graph(workload, settings),
    }
}

/// [`prepare`] for an order that the caller gives, such as that of a plan file; `settings.order` is not used.
///
/// A bare problem has no order: the schedule is not used either.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_in_order(workload: &Arc<Workload>, schedule: Schedule, settings: PrepareSettings) -> Result<Prepared, ProblemError> {
    match &workload.source {
        Source::Graph(graph) => prepare_graph(workload, &with_bodies(graph, settings)?, schedule, settings),
        Source::Buffers(_) | Source::Trace(_) => prepare_without_graph(workload, settings),
    }
}

/// The graph with the arenas of the graphs inside its ops, if they count.
fn with_bodies(graph: &Arc<Graph>, settings: PrepareSettings) -> Result<Arc<Graph>, ProblemError> {
    if settings.subgraphs { with_body_arenas(graph, settings) } else { Ok(Arc::clone(graph)) }
}

fn prepare_without_graph(workload: &Arc<Workload>, settings: PrepareSettings) -> Result<Prepared, ProblemError> {
    match &workload.source {
        Source::Graph(_) => unreachable!("a graph is prepared with its schedule"),
        Source::Buffers(buffers) => prepare_bare(workload, buffers.iter().map(|buffer| (buffer.size_bytes, buffer.lifetime)), settings),
        Source::Trace(trace) => prepare_bare(workload, trace.blocks().iter().map(|block| (block.requested_bytes, block.lifetime())), settings),
    }
}

fn prepare_graph(workload: &Arc<Workload>, graph: &Arc<Graph>, schedule: Schedule, settings: PrepareSettings) -> Result<Prepared, ProblemError> {
    let parallel = ParallelOps::new(graph, &schedule, settings.parallel, settings.alias.io)?;
    let map = match &parallel {
        None => share_buffers(graph, &schedule, settings.alias),
        Some(parallel) => share_buffers_where(graph, &schedule, settings.alias, &|op, input| parallel.may_take(op, input)),
    };
    let sizes = map.buffers.iter().map(|buffer| (buffer.bytes, buffer.lifetime));
    let mut problem = Problem::new(sizes, settings.align)?.with_capacity(settings.capacity_bytes);
    if let Some(parallel) = parallel {
        let kept_apart = parallel.kept_apart(graph, &map, &problem, settings.alias.io);
        problem = problem.with_kept_apart(Arc::new(kept_apart));
    }
    let mut warnings = workload.warnings.clone();
    if settings.order == Order::File && !schedule.is_file_order() {
        warnings.push(Warning::general("the file lists ops before what they read; a topological order close to the file's is used"));
    }
    Ok(Prepared {
        naive_bytes: naive_bytes(graph, &map, settings),
        static_bytes: map.static_bytes,
        order: Some(OrderUsed { method: None, is_lowest: false }),
        n_ops: graph.ops().len(),
        n_tensors: graph.tensors().len(),
        problem: Arc::new(problem),
        context: Some(Arc::new(GraphContext { graph: Arc::clone(graph), schedule, map, io: settings.alias.io })),
        workload: Arc::clone(workload),
        settings,
        warnings,
    })
}

fn prepare_bare(workload: &Arc<Workload>, sizes: impl Iterator<Item = (u64, Lifetime)>, settings: PrepareSettings) -> Result<Prepared, ProblemError> {
    let mut problem = Problem::new(sizes, settings.align)?.with_capacity(settings.capacity_bytes);
    if let Some(constraints) = &workload.constraints {
        problem = problem.with_constraints(constraints.as_ref().clone())?;
    }
    let mut warnings = workload.warnings.clone();
    if settings.order != Order::File || settings.parallel != Parallel::Off {
        warnings.push(Warning::general("the file has buffers but no graph, so that there is no order to choose and nothing to run in parallel"));
    }
    Ok(Prepared {
        naive_bytes: problem.total_bytes(),
        static_bytes: 0,
        order: None,
        n_ops: 0,
        n_tensors: problem.n_buffers(),
        problem: Arc::new(problem),
        context: None,
        workload: Arc::clone(workload),
        settings,
        warnings,
    })
}

/// Views and in-place results included, each in its own block.
fn naive_bytes(graph: &Graph, map: &BufferMap, settings: PrepareSettings) -> u64 {
    let rounded = |id: TensorId| graph.tensor(id).bytes.and_then(|bytes| settings.align.round_up(bytes)).unwrap_or(0);
    let is_used = |&id: &TensorId| matches!(map.storage[id.index()], Storage::Planned(_) | Storage::Unknown);
    graph.tensor_ids().filter(is_used).map(rounded).sum()
}
