//! What the views draw, computed once per plan off the UI thread: rectangles, curves, orders, names.

use arenascope_planner::alias::Storage;
use arenascope_planner::bounds::{LowerBound, lower_bound};
use arenascope_planner::graph::Role;
use arenascope_planner::ids::{BufferId, TensorId};
use arenascope_planner::interference::Interference;
use arenascope_planner::lifetimes::{Lifetime, lifetimes};
use arenascope_planner::metrics::{Hole, holes, live_curve, naive_curve};
use arenascope_planner::observed::observed_plan;
use arenascope_planner::plan::Plan;
use arenascope_planner::prepare::Prepared;

use crate::curve_index::CurveIndex;
use crate::lanes::Lanes;
use crate::rects::{ChartRect, RectIndex};
use crate::text::short_names;

/// Most holes that are drawn; the rest is counted.
const MAX_HOLES: usize = 20_000;

/// In which order the lifetimes stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash, serde::Serialize, serde::Deserialize)]
pub enum RowOrder {
    /// First write first.
    #[default]
    Birth,
    /// Largest first.
    Size,
    /// By slot, or by offset in an offset plan.
    Slot,
}

impl RowOrder {
    /// All orders.
    pub const ALL: [Self; 3] = [Self::Birth, Self::Size, Self::Slot];

    /// The word in the header.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Birth => "birth",
            Self::Size => "size",
            Self::Slot => "slot",
        }
    }
}

/// What stands in the Arena view before planning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BeforeKind {
    /// Every tensor in its own block, stacked by birth.
    Naive,
    /// The offsets that another tool chose.
    Observed,
}

/// A block of ops that share a name scope.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scope {
    /// The scope's whole name.
    pub name: String,
    /// Its steps.
    pub steps: Lifetime,
}

/// Everything the views draw of one plan.
#[derive(Debug)]
pub struct Model {
    /// Short unique names, by buffer.
    pub short: Vec<String>,
    /// Roles, by buffer.
    pub roles: Vec<Role>,
    /// The roles that occur.
    pub roles_present: Vec<Role>,
    /// Index into `op_kinds` of the op that writes the buffer first, by buffer.
    pub op_kind: Vec<u32>,
    /// Op types, the one with the most bytes first.
    pub op_kinds: Vec<String>,
    /// How many buffers each interferes with, by buffer.
    pub degrees: Vec<u64>,
    /// Pairs of buffers that interfere.
    pub n_conflicts: u64,
    /// The most buffers live at one step, and such a step.
    pub largest_clique: (usize, u64),
    /// The size of each slot: that of its largest buffer; empty for an offset plan.
    pub slot_bytes: Vec<u64>,
    /// The lower bound and who forces it.
    pub bound: LowerBound,
    /// The largest buffer, rounded.
    pub largest_bytes: u64,
    /// Live bytes over the steps.
    pub live: CurveIndex,
    /// The naive total over the steps.
    pub naive: CurveIndex,
    /// The pools, one above the other.
    pub lanes: Lanes,
    /// Where the plan puts each buffer, pools in their lanes; item = buffer.
    pub after: RectIndex,
    /// Where each tensor is before planning; item = tensor, or buffer of a bare problem.
    pub before: RectIndex,
    /// What `before` shows.
    pub before_kind: BeforeKind,
    /// The height of `before`.
    pub before_bytes: u64,
    /// Space trapped below live buffers, at most 20,000 rectangles of it.
    pub holes: RectIndex,
    /// Rows of the lifetimes, by order and buffer.
    rows: [Vec<u32>; 3],
    /// Buffers in each order.
    orders: [Vec<BufferId>; 3],
    /// Ends of all lifetimes, sorted.
    deaths: Vec<u64>,
    /// The steps shown when everything is shown.
    pub steps: Lifetime,
    /// Name scopes by depth, the outermost first; empty for bare problems.
    pub scopes: Vec<Vec<Scope>>,
}

impl Model {
    /// Computes everything. Time O(n log n) and the strategies of names and holes.
    #[must_use]
    pub fn new(prepared: &Prepared, plan: &Plan) -> Self {
        let problem = &*prepared.problem;
        let names: Vec<&str> = problem.ids().map(|id| prepared.buffer_name(id)).collect();
        let interference = Interference::new(problem);
        let (op_kind, op_kinds) = op_kinds(prepared);
        let orders = orders(prepared, plan);
        let rows = orders.each_ref().map(|order| rows(order));
        let (before, before_kind, before_bytes) = before(prepared);
        let lanes = Lanes::new(problem, plan);
        Self {
            short: short_names(&names),
            roles_present: Role::ALL.into_iter().filter(|role| problem.ids().any(|id| prepared.buffer_role(id) == *role)).collect(),
            roles: problem.ids().map(|id| prepared.buffer_role(id)).collect(),
            op_kind,
            op_kinds,
            degrees: problem.ids().map(|id| interference.degree(id)).collect(),
            n_conflicts: interference.n_conflicts(),
            largest_clique: interference.largest_clique(),
            slot_bytes: slot_bytes(prepared, plan),
            bound: lower_bound(problem),
            largest_bytes: problem.buffers().iter().map(|buffer| buffer.bytes).max().unwrap_or(0),
            live: CurveIndex::new(live_curve(problem)),
            naive: CurveIndex::new(naive_curve(prepared)),
            after: after(prepared, plan, &lanes),
            before,
            before_kind,
            before_bytes,
            holes: hole_index(&holes(problem, plan, MAX_HOLES), &lanes),
            lanes,
            rows,
            orders,
            deaths: deaths(prepared),
            steps: problem.span(),
            scopes: scopes(prepared),
        }
    }

    /// The row of a buffer in an order.
    #[must_use]
    pub fn row(&self, order: RowOrder, buffer: BufferId) -> u32 {
        self.rows[order as usize][buffer.index()]
    }

    /// How many buffers born before `step` (the first `n_born` by birth) still live at it.
    #[must_use]
    pub fn n_live_before(&self, step: u64, n_born: usize) -> u64 {
        let dead = self.deaths.partition_point(|&end| end <= step);
        (n_born as u64).saturating_sub(dead as u64)
    }

    /// The buffers in an order, first row first.
    #[must_use]
    pub fn order(&self, order: RowOrder) -> &[BufferId] {
        &self.orders[order as usize]
    }
}

fn op_kinds(prepared: &Prepared) -> (Vec<u32>, Vec<String>) {
    let Some(context) = &prepared.context else { return (vec![0; prepared.problem.n_buffers()], vec!["–".to_owned()]) };
    let kind_of = |id: BufferId| {
        let producer = context.map.buffers[id.index()].tensors.first().and_then(|&tensor| context.graph.producer(tensor));
        producer.map_or("graph input", |op| context.graph.op(op).kind.as_str())
    };
    let mut totals: std::collections::BTreeMap<&str, u64> = std::collections::BTreeMap::new();
    for id in prepared.problem.ids() {
        *totals.entry(kind_of(id)).or_default() += prepared.problem.buffer(id).bytes;
    }
    let mut kinds: Vec<(&str, u64)> = totals.into_iter().collect();
    kinds.sort_by_key(|&(kind, bytes)| (std::cmp::Reverse(bytes), kind));
    let position: std::collections::BTreeMap<&str, u32> = (0..).zip(&kinds).map(|(index, &(kind, _))| (kind, index)).collect();
    let by_buffer = prepared.problem.ids().map(|id| position[kind_of(id)]).collect();
    (by_buffer, kinds.into_iter().map(|(kind, _)| kind.to_owned()).collect())
}

fn orders(prepared: &Prepared, plan: &Plan) -> [Vec<BufferId>; 3] {
    let problem = &*prepared.problem;
    let mut by_birth: Vec<BufferId> = problem.ids().collect();
    by_birth.sort_by_key(|&id| (problem.buffer(id).lifetime.start, id));
    let mut by_size = by_birth.clone();
    by_size.sort_by_key(|&id| std::cmp::Reverse(problem.buffer(id).bytes));
    let mut by_slot = by_birth.clone();
    by_slot.sort_by_key(|&id| (plan.slot(id), plan.address(id)));
    [by_birth, by_size, by_slot]
}

fn slot_bytes(prepared: &Prepared, plan: &Plan) -> Vec<u64> {
    let mut bytes = vec![0; plan.n_slots().unwrap_or(0)];
    for id in prepared.problem.ids() {
        if let Some(slot) = plan.slot(id) {
            bytes[slot.index()] = prepared.problem.buffer(id).bytes.max(bytes[slot.index()]);
        }
    }
    bytes
}

fn deaths(prepared: &Prepared) -> Vec<u64> {
    let mut ends: Vec<u64> = prepared.problem.buffers().iter().map(|buffer| buffer.lifetime.end).collect();
    ends.sort_unstable();
    ends
}

fn rows(order: &[BufferId]) -> Vec<u32> {
    let mut rows = vec![0; order.len()];
    for (row, id) in (0_u32..).zip(order) {
        rows[id.index()] = row;
    }
    rows
}

fn after(prepared: &Prepared, plan: &Plan, lanes: &Lanes) -> RectIndex {
    let rect = |id: BufferId| {
        let buffer = prepared.problem.buffer(id);
        let low = lanes.place_of(plan, id);
        ChartRect { lifetime: buffer.lifetime, low, high: low.saturating_add(buffer.bytes), buffer: Some(id), item: id.0 }
    };
    RectIndex::new(prepared.problem.ids().map(rect).collect())
}

/// The picture before planning, its kind and its height.
fn before(prepared: &Prepared) -> (RectIndex, BeforeKind, u64) {
    if let Some(observed) = observed_plan(prepared) {
        let height = observed.arena_bytes;
        return (after(prepared, &observed, &Lanes::default()), BeforeKind::Observed, height);
    }
    let mut rects = Vec::new();
    let mut top = 0_u64;
    let mut push = |lifetime: Lifetime, bytes: u64, buffer: Option<BufferId>, item: u32| {
        rects.push(ChartRect { lifetime, low: top, high: top + bytes, buffer, item });
        top += bytes;
    };
    if let Some(context) = &prepared.context {
        let life = lifetimes(&context.graph, &context.schedule, context.io);
        for (id, lifetime) in naive_tensors(prepared, &life) {
            let bytes = context.graph.tensor(id).bytes.and_then(|bytes| prepared.settings.align.round_up(bytes)).unwrap_or(0);
            let buffer = match context.map.storage[id.index()] {
                Storage::Planned(buffer) => Some(buffer),
                Storage::Static | Storage::Empty | Storage::Unknown => None,
            };
            push(lifetime, bytes, buffer, id.0);
        }
    } else {
        for id in prepared.problem.ids() {
            let buffer = prepared.problem.buffer(id);
            push(buffer.lifetime, buffer.bytes, Some(id), id.0);
        }
    }
    (RectIndex::new(rects), BeforeKind::Naive, top)
}

/// The dynamic tensors with bytes, by birth.
fn naive_tensors(prepared: &Prepared, life: &[Option<Lifetime>]) -> Vec<(TensorId, Lifetime)> {
    let Some(context) = &prepared.context else { return Vec::new() };
    let is_dynamic = |id: &TensorId| {
        let tensor = context.graph.tensor(*id);
        context.map.is_dynamic(*id) && tensor.bytes.is_some_and(|bytes| bytes > 0)
    };
    let mut tensors: Vec<(TensorId, Lifetime)> =
        context.graph.tensor_ids().filter(is_dynamic).filter_map(|id| life[id.index()].map(|life| (id, life))).collect();
    tensors.sort_by_key(|&(id, life)| (life.start, id));
    tensors
}

fn hole_index(holes: &[Hole], lanes: &Lanes) -> RectIndex {
    let rect = |(item, hole): (u32, &Hole)| {
        let low = lanes.place_of_address(hole.offset);
        ChartRect { lifetime: hole.lifetime, low, high: low + hole.bytes, buffer: None, item }
    };
    RectIndex::new((0..).zip(holes).map(rect).collect())
}

/// Runs of ops whose names share their first one, two, … parts.
fn scopes(prepared: &Prepared) -> Vec<Vec<Scope>> {
    let Some(context) = &prepared.context else { return Vec::new() };
    let parts = |name: &str| -> Vec<String> { name.split(['/']).filter(|part| !part.is_empty()).map(str::to_owned).collect() };
    let names: Vec<Vec<String>> = context.schedule.order().iter().map(|&op| parts(&context.graph.op(op).name)).collect();
    (1..=4).map_while(|depth| scopes_at(&names, depth)).collect()
}

fn scopes_at(names: &[Vec<String>], depth: usize) -> Option<Vec<Scope>> {
    let mut scopes: Vec<Scope> = Vec::new();
    let mut found = false;
    for (step, parts) in (0_u64..).zip(names) {
        // The last part is the op itself, not a scope.
        let scope = parts[..parts.len().saturating_sub(1).min(depth)].join("/");
        found |= parts.len() > depth;
        match scopes.last_mut() {
            Some(last) if last.name == scope => last.steps.end = step + 1,
            _ => scopes.push(Scope { name: scope, steps: Lifetime { start: step, end: step + 1 } }),
        }
    }
    found.then_some(scopes)
}
