//! From a workload to a problem: schedule, sharing, lifetimes, and the totals that do not depend on a plan.

use std::sync::Arc;

use crate::alias::{AliasSettings, BufferMap, Io, share_buffers};
use crate::graph::{Graph, Role};
use crate::ids::{BufferId, TensorId};
use crate::plan::Plan;
use crate::problem::{Problem, ProblemError};
use crate::schedule::Schedule;
use crate::units::Align;
use crate::workload::{BareBuffer, Source, Warning, Workload};

/// What decides the problem; a change to any of them makes another problem.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct PrepareSettings {
    /// What every offset and size is rounded to.
    pub align: Align,
    /// How tensors become buffers.
    pub alias: AliasSettings,
    /// The largest arena wanted.
    pub capacity_bytes: Option<u64>,
}

impl Default for PrepareSettings {
    fn default() -> Self {
        Self { align: Align::DEFAULT, alias: AliasSettings::default(), capacity_bytes: None }
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
    /// The graph; `None` for bare problems.
    pub context: Option<Arc<GraphContext>>,
    /// Ops in the schedule; 0 for bare problems.
    pub n_ops: usize,
    /// Tensors in the graph, or buffers of a bare problem.
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
            (None, Source::Graph(_)) => "",
        }
    }

    /// The tensors in a buffer, in the order in which they are written; empty for bare problems.
    #[must_use]
    pub fn buffer_tensors(&self, buffer: BufferId) -> &[TensorId] {
        self.context.as_ref().map_or(&[], |context| &context.map.buffers[buffer.index()].tensors)
    }

    /// What a buffer is for: the role of its first tensor; bare buffers are activations.
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
        Source::Buffers(buffers) => prepare_bare(workload, buffers, settings),
    }
}

fn prepare_graph(workload: &Arc<Workload>, graph: &Arc<Graph>, settings: PrepareSettings) -> Result<Prepared, ProblemError> {
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

fn prepare_bare(workload: &Arc<Workload>, buffers: &[BareBuffer], settings: PrepareSettings) -> Result<Prepared, ProblemError> {
    let mut problem =
        Problem::new(buffers.iter().map(|buffer| (buffer.size_bytes, buffer.lifetime)), settings.align)?.with_capacity(settings.capacity_bytes);
    if let Some(constraints) = &workload.constraints {
        problem = problem.with_constraints(constraints.as_ref().clone())?;
    }
    Ok(Prepared {
        naive_bytes: problem.total_bytes(),
        static_bytes: 0,
        n_ops: 0,
        n_tensors: buffers.len(),
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
    graph.tensor_ids().filter(|&id| map.is_dynamic(id)).map(rounded).sum()
}

/// The plan found in the file, as a plan of the problem; `None` if there is none, or if it is for other buffers.
///
/// It is as the other tool made it: nothing says that it is aligned, or valid.
#[must_use]
pub fn observed_plan(prepared: &Prepared) -> Option<Plan> {
    let observed = prepared.workload.observed.as_ref()?;
    let has_one_arena = prepared.problem.pools().is_empty();
    let is_for_these = has_one_arena && prepared.context.is_none() && observed.offsets.len() == prepared.problem.n_buffers();
    is_for_these.then(|| Plan::from_offsets(observed.tool.clone(), &prepared.problem, observed.offsets.clone()))
}
