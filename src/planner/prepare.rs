//! From a workload to a problem: schedule, sharing, lifetimes, and the totals that do not depend on a plan.

use std::sync::Arc;

use crate::alias::{AliasSettings, BufferMap, Io, Storage, share_buffers};
use crate::bodies::with_body_arenas;
use crate::graph::{Graph, Role};
use crate::ids::{BufferId, TensorId};
use crate::lifetimes::Lifetime;
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
}

impl Default for PrepareSettings {
    fn default() -> Self {
        Self { align: Align::DEFAULT, alias: AliasSettings::default(), capacity_bytes: None, subgraphs: true }
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

    /// What a buffer is for: the role of its first tensor; bare buffers and blocks of a trace are activations.
    #[must_use]
    pub fn buffer_role(&self, buffer: BufferId) -> Role {
        let first = self.buffer_tensors(buffer).first();
        first.zip(self.context.as_ref()).map_or(Role::Activation, |(&tensor, context)| context.graph.tensor(tensor).role)
    }
}

/// Makes the planning problem of a workload. Time O((tensors + reads) log ops), space O(tensors).
///
/// # Errors
/// A size that cannot be rounded or summed.
pub fn prepare(workload: &Arc<Workload>, settings: PrepareSettings) -> Result<Prepared, ProblemError> {
    match &workload.source {
        Source::Graph(graph) => prepare_graph(workload, graph, settings),
        Source::Buffers(buffers) => prepare_bare(workload, buffers.iter().map(|buffer| (buffer.size_bytes, buffer.lifetime)), settings),
        Source::Trace(trace) => prepare_bare(workload, trace.blocks().iter().map(|block| (block.requested_bytes, block.lifetime())), settings),
    }
}

fn prepare_graph(workload: &Arc<Workload>, graph: &Arc<Graph>, settings: PrepareSettings) -> Result<Prepared, ProblemError> {
    let graph = &if settings.subgraphs { with_body_arenas(graph, settings)? } else { Arc::clone(graph) };
    let schedule = Schedule::new(graph);
    let map = share_buffers(graph, &schedule, settings.alias);
    let problem =
        Problem::new(map.buffers.iter().map(|buffer| (buffer.bytes, buffer.lifetime)), settings.align)?.with_capacity(settings.capacity_bytes);
    let mut warnings = workload.warnings.clone();
    if !schedule.is_file_order() {
        warnings.push(Warning::general("the file lists ops before what they read; a topological order close to the file's is used"));
    }
    Ok(Prepared {
        naive_bytes: naive_bytes(graph, &map, settings),
        static_bytes: map.static_bytes,
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
    Ok(Prepared {
        naive_bytes: problem.total_bytes(),
        static_bytes: 0,
        n_ops: 0,
        n_tensors: problem.n_buffers(),
        problem: Arc::new(problem),
        context: None,
        workload: Arc::clone(workload),
        settings,
        warnings: workload.warnings.clone(),
    })
}

/// Views and in-place results included, each in its own block.
fn naive_bytes(graph: &Graph, map: &BufferMap, settings: PrepareSettings) -> u64 {
    let rounded = |id: TensorId| graph.tensor(id).bytes.and_then(|bytes| settings.align.round_up(bytes)).unwrap_or(0);
    let is_used = |&id: &TensorId| matches!(map.storage[id.index()], Storage::Planned(_) | Storage::Unknown);
    graph.tensor_ids().filter(is_used).map(rounded).sum()
}
