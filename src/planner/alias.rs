//! Which tensors share one buffer: views, in-place results, and what is static altogether.

use crate::graph::{Graph, InPlace, Op, Role};
use crate::ids::{BufferId, OpId, TensorId};
use crate::lifetimes::{Lifetime, lifetimes};
use crate::schedule::Schedule;

/// Whether graph inputs and outputs belong to the arena.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Io {
    /// They are the caller's memory.
    #[default]
    Static,
    /// The plan places them too.
    Arena,
}

/// What decides how tensors become buffers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct AliasSettings {
    /// Whether an op may write over an input that nobody reads afterwards.
    pub in_place: bool,
    /// Whether graph inputs and outputs belong to the arena.
    pub io: Io,
}

impl Default for AliasSettings {
    fn default() -> Self {
        Self { in_place: true, io: Io::Static }
    }
}

/// Where a tensor's bytes are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Storage {
    /// In a buffer that the plan places.
    Planned(BufferId),
    /// Static memory: allocated once, live throughout.
    Static,
    /// Nowhere: the tensor has no bytes.
    Empty,
    /// Unknown, because its size is.
    Unknown,
}

/// Why two tensors share storage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinKind {
    /// The output is the input under another shape.
    View,
    /// The op writes its output over the input.
    InPlace,
}

/// One decision to share storage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Join {
    /// The op that makes the output.
    pub op: OpId,
    /// The tensor whose storage is taken over.
    pub input: TensorId,
    /// The tensor that takes it over.
    pub output: TensorId,
    /// Why that is right.
    pub kind: JoinKind,
}

/// A dynamic buffer: storage that one or more tensors share.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SharedBuffer {
    /// The tensors in it, in the order in which they are written.
    pub tensors: Vec<TensorId>,
    /// Bytes before rounding: those of its largest tensor.
    pub bytes: u64,
    /// From the first write to the last read of any tensor in it.
    pub lifetime: Lifetime,
}

/// Which tensor lives in which buffer.
#[derive(Clone, Debug)]
pub struct BufferMap {
    /// Where each tensor is, by tensor id.
    pub storage: Vec<Storage>,
    /// Whether each tensor is made from weights and constants alone, by tensor id.
    pub constant_derived: Vec<bool>,
    /// The dynamic buffers that are not empty, by birth.
    pub buffers: Vec<SharedBuffer>,
    /// Every decision to share, in schedule order.
    pub joins: Vec<Join>,
    /// Bytes of static memory, each storage once, before rounding.
    pub static_bytes: u64,
}

impl BufferMap {
    /// Whether a tensor is planned: its storage holds no weight, nothing derived from weights, and no caller's memory.
    #[must_use]
    pub fn is_dynamic(&self, tensor: TensorId) -> bool {
        self.storage[tensor.index()] != Storage::Static
    }
}

/// Decides for each tensor whether it is static and which tensors share a buffer.
///
/// Problem: fewest bytes without letting an op destroy what a later op reads.
/// Method: join views always; a joined storage that holds a graph input, a graph output or a constant is static as
/// a whole (with [`Io::Static`]); then walk the schedule and let output 0 take over the first input whose whole
/// buffer is dynamic, is no graph input, has the output's exact size and is last read by this op.
/// Guarantee: no op but the overwriting one reads the taken storage from then on; not the fewest bytes possible.
/// Time O((tensors + reads) α), space O(tensors).
/// Source: the rules are those of ONNX Runtime's allocation planner, with whole buffers instead of single values.
#[must_use]
pub fn share_buffers(graph: &Graph, schedule: &Schedule, settings: AliasSettings) -> BufferMap {
    share_buffers_where(graph, schedule, settings, &|_, _| true)
}

/// [`share_buffers`] with one more condition for writing in place: `may_take` says whether an op may take over what
/// the views of a tensor hold.
pub(crate) fn share_buffers_where(
    graph: &Graph,
    schedule: &Schedule,
    settings: AliasSettings,
    may_take: &dyn Fn(OpId, TensorId) -> bool,
) -> BufferMap {
    let constant_derived = constant_derived(graph, schedule);
    let mut groups = Groups::new(graph, schedule, settings.io, &constant_derived);
    let mut joins = join_views(graph, schedule, &mut groups);
    if settings.in_place {
        join_in_place(graph, schedule, &mut groups, &mut joins, may_take);
        joins.sort_by_key(|join| schedule.step_of(join.op));
    }
    groups.into_map(graph, schedule, constant_derived, joins)
}

/// Storages as views alone join them, before any op writes in place: what no schedule changes.
pub(crate) struct ViewStorages {
    /// The tensor that stands for the storage of each tensor, by tensor id.
    pub(crate) root: Vec<TensorId>,
    /// Static as a whole, by standing tensor.
    pub(crate) is_static: Vec<bool>,
    /// Holds the caller's bytes, by standing tensor.
    pub(crate) is_pinned: Vec<bool>,
    /// Bytes before rounding, by standing tensor; `None` if unknown.
    pub(crate) bytes: Vec<Option<u64>>,
}

/// Joins views and nothing else.
pub(crate) fn view_storages(graph: &Graph, schedule: &Schedule, io: Io) -> ViewStorages {
    let mut groups = Groups::new(graph, schedule, io, &constant_derived(graph, schedule));
    join_views(graph, schedule, &mut groups);
    ViewStorages {
        root: graph.tensor_ids().map(|tensor| groups.find(tensor)).collect(),
        is_static: groups.root.iter().map(|facts| facts.is_static).collect(),
        is_pinned: groups.root.iter().map(|facts| facts.is_pinned).collect(),
        bytes: groups.root.iter().map(|facts| facts.bytes).collect(),
    }
}

/// Pairs of an input and the output that may take its place, in the order in which they are tried.
pub(crate) fn in_place_pairs(op: &Op) -> Vec<(TensorId, TensorId)> {
    match &op.in_place {
        InPlace::No => Vec::new(),
        InPlace::AnyInput => op.outputs.first().map_or_else(Vec::new, |&output| op.inputs.iter().map(|&input| (input, output)).collect()),
        InPlace::Pairs(pairs) => pairs.clone(),
    }
}

/// Tensors whose op reads only weights, constants and other such tensors: computed once, then static.
fn constant_derived(graph: &Graph, schedule: &Schedule) -> Vec<bool> {
    let is_fixed = |role: Role| matches!(role, Role::Parameter | Role::Constant);
    let mut derived = vec![false; graph.tensors().len()];
    for &op in schedule.order() {
        let op = graph.op(op);
        let fixed = op.foldable && op.inputs.iter().all(|&input| derived[input.index()] || is_fixed(graph.tensor(input).role));
        for output in op.outputs.iter().filter(|_| fixed) {
            derived[output.index()] = true;
        }
    }
    derived
}

fn join_views(graph: &Graph, schedule: &Schedule, groups: &mut Groups) -> Vec<Join> {
    let mut joins = Vec::new();
    for &id in schedule.order() {
        for &(input, output) in &graph.op(id).views {
            if groups.join(input, output) {
                joins.push(Join { op: id, input, output, kind: JoinKind::View });
            }
        }
    }
    joins
}

fn join_in_place(graph: &Graph, schedule: &Schedule, groups: &mut Groups, joins: &mut Vec<Join>, may_take: &dyn Fn(OpId, TensorId) -> bool) {
    for &id in schedule.order() {
        let step = schedule.step_of(id);
        let pairs = in_place_pairs(graph.op(id));
        // Outputs of this op that have a place already; an input's storage is given away once.
        let mut taken: Vec<TensorId> = Vec::new();
        for (input, output) in pairs {
            let is_gone = taken.iter().any(|&other| other == output || groups.find(other) == groups.find(input));
            if !is_gone && groups.may_overwrite(graph, input, output, step) && may_take(id, input) && groups.join(input, output) {
                taken.push(output);
                joins.push(Join { op: id, input, output, kind: JoinKind::InPlace });
            }
        }
    }
}

/// Union-find over tensors, with what each storage holds at its root.
struct Groups {
    parent: Vec<TensorId>,
    root: Vec<GroupFacts>,
}

#[derive(Clone, Copy)]
struct GroupFacts {
    is_static: bool,
    /// Holds a graph input or output: the caller's bytes, which no op may overwrite.
    is_pinned: bool,
    bytes: Option<u64>,
    lifetime: Option<Lifetime>,
}

impl Groups {
    fn new(graph: &Graph, schedule: &Schedule, io: Io, constant_derived: &[bool]) -> Self {
        let lifetimes = lifetimes(graph, schedule, io);
        let facts = |id: TensorId| {
            let tensor = graph.tensor(id);
            let is_static = match tensor.role {
                Role::Parameter | Role::Constant | Role::OptimizerState => true,
                Role::GraphInput | Role::GraphOutput => io == Io::Static || constant_derived[id.index()],
                Role::Activation | Role::Gradient | Role::Workspace | Role::PreExisting => constant_derived[id.index()],
            };
            let is_pinned = matches!(tensor.role, Role::GraphInput | Role::GraphOutput);
            GroupFacts { is_static, is_pinned, bytes: tensor.bytes, lifetime: lifetimes[id.index()] }
        };
        Self { parent: graph.tensor_ids().collect(), root: graph.tensor_ids().map(facts).collect() }
    }

    fn find(&mut self, tensor: TensorId) -> TensorId {
        let mut at = tensor;
        while self.parent[at.index()] != at {
            let grandparent = self.parent[self.parent[at.index()].index()];
            self.parent[at.index()] = grandparent;
            at = grandparent;
        }
        at
    }

    /// Joins the storages of two tensors; `false` if they are one already.
    fn join(&mut self, input: TensorId, output: TensorId) -> bool {
        let (a, b) = (self.find(input), self.find(output));
        if a == b {
            return false;
        }
        let (first, second) = (self.root[a.index()], self.root[b.index()]);
        let span = |one: Lifetime, two: Lifetime| Lifetime { start: one.start.min(two.start), end: one.end.max(two.end) };
        self.parent[b.index()] = a;
        self.root[a.index()] = GroupFacts {
            is_static: first.is_static || second.is_static,
            is_pinned: first.is_pinned || second.is_pinned,
            bytes: first.bytes.zip(second.bytes).map(|(one, two)| one.max(two)),
            lifetime: match (first.lifetime, second.lifetime) {
                (Some(one), Some(two)) => Some(span(one, two)),
                (one, two) => one.or(two),
            },
        };
        true
    }

    /// Whether the op at `step` may write `output` over `input`'s whole buffer.
    fn may_overwrite(&mut self, graph: &Graph, input: TensorId, output: TensorId, step: u64) -> bool {
        let (from, to) = (self.find(input), self.find(output));
        let (source, target) = (self.root[from.index()], self.root[to.index()]);
        let same_size = source.bytes.is_some() && source.bytes == graph.tensor(output).bytes;
        let last_read_here = source.lifetime.is_some_and(|lifetime| lifetime.end == step + 1);
        let born_here = target.lifetime.is_some_and(|lifetime| lifetime.start == step);
        from != to && !source.is_static && !target.is_static && !source.is_pinned && same_size && last_read_here && born_here
    }

    fn into_map(mut self, graph: &Graph, schedule: &Schedule, constant_derived: Vec<bool>, joins: Vec<Join>) -> BufferMap {
        let mut members: Vec<Vec<TensorId>> = vec![Vec::new(); self.parent.len()];
        for tensor in graph.tensor_ids() {
            members[self.find(tensor).index()].push(tensor);
        }
        let mut storage = vec![Storage::Static; self.parent.len()];
        let mut static_bytes = 0;
        let mut buffers = Vec::new();
        for (root, tensors) in members.into_iter().enumerate().filter(|(_, tensors)| !tensors.is_empty()) {
            let facts = self.root[root];
            let place = match (facts.is_static, facts.bytes, facts.lifetime) {
                (true, bytes, _) => {
                    static_bytes += bytes.unwrap_or(0);
                    Storage::Static
                }
                (false, None, _) => Storage::Unknown,
                (false, Some(0), _) | (false, _, None) => Storage::Empty,
                (false, Some(bytes), Some(lifetime)) => {
                    buffers.push(SharedBuffer { tensors, bytes, lifetime });
                    continue;
                }
            };
            for tensor in tensors {
                storage[tensor.index()] = place;
            }
        }
        buffers.sort_by_key(|buffer| (buffer.lifetime.start, buffer.tensors[0]));
        for (index, buffer) in buffers.iter_mut().enumerate() {
            buffer.tensors.sort_by_key(|&tensor| graph.producer(tensor).map(|op| schedule.step_of(op)));
            for tensor in &buffer.tensors {
                storage[tensor.index()] = Storage::Planned(BufferId::new(index));
            }
        }
        BufferMap { storage, constant_derived, buffers, joins, static_bytes }
    }
}
