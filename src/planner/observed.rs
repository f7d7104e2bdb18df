//! The plan found in a file: as a plan of the prepared problem, and as a problem of its own that can be checked.
//!
//! Another tool need not share storage as this planner would: what it placed apart stays apart here, and an op's output
//! counts as written over its input only where the op allows it and the tool gave both the same place.

use crate::alias::Io;
use crate::check::{CheckReport, check};
use crate::constraints::Constraints;
use crate::graph::{Graph, InPlace};
use crate::ids::{BufferId, TensorId};
use crate::lifetimes::{Lifetime, lifetimes};
use crate::plan::Plan;
use crate::prepare::Prepared;
use crate::problem::Problem;
use crate::schedule::Schedule;
use crate::units::Align;
use crate::workload::{ObservedPlan, Source, Workload};

/// The plan found in the file, as a plan of the problem; `None` if there is none, or if it does not place this problem's
/// buffers: with in-place results shared, a buffer may hold tensors that the tool placed apart, and of several pools it
/// knows one.
///
/// It is as the other tool made it: nothing says that it is aligned, or valid.
#[must_use]
pub fn observed_plan(prepared: &Prepared) -> Option<Plan> {
    let observed = prepared.workload.observed.as_ref().filter(|_| prepared.problem.pools().is_empty())?;
    let offsets: Option<Vec<u64>> = match &prepared.context {
        None if observed.offsets.len() == prepared.problem.n_buffers() => observed.offsets.iter().copied().collect(),
        None => None,
        Some(context) => context.map.buffers.iter().map(|buffer| common_offset(observed, &buffer.tensors)).collect(),
    };
    let plan = Plan::from_offsets(observed.tool.clone(), &prepared.problem, offsets?);
    Some(Plan { arena_bytes: observed.arena_bytes.unwrap_or(plan.arena_bytes), ..plan })
}

/// Where all of these tensors are that have a place; `None` without one, or if they are apart.
fn common_offset(observed: &ObservedPlan, tensors: &[TensorId]) -> Option<u64> {
    let mut places = tensors.iter().filter_map(|tensor| observed.offsets.get(tensor.index()).copied().flatten());
    let first = places.next()?;
    places.all(|place| place == first).then_some(first)
}

/// The arena of the plan found in the file, in bytes: what the tool says, else where its highest tensor ends.
#[must_use]
pub fn observed_bytes(prepared: &Prepared) -> Option<u64> {
    let observed = prepared.workload.observed.as_ref()?;
    if let Some(bytes) = observed.arena_bytes {
        return Some(bytes);
    }
    match &prepared.workload.source {
        Source::Buffers(_) | Source::Trace(_) => {
            let ends =
                observed.offsets.iter().zip(prepared.problem.buffers()).filter_map(|(place, buffer)| place.map(|at| at.saturating_add(buffer.bytes)));
            ends.max()
        }
        Source::Graph(graph) => {
            let end = |(place, tensor): (&Option<u64>, &crate::graph::Tensor)| Some((*place)?.saturating_add(tensor.bytes.unwrap_or(0)));
            observed.offsets.iter().zip(graph.tensors()).filter_map(end).max()
        }
    }
}

/// What another tool placed, as it placed it.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The placed buffers with their lifetimes, unaligned but for alignments of their own, and with their gaps.
    pub problem: Problem,
    /// Where the tool put them.
    pub plan: Plan,
    /// The name of each buffer: that of its first tensor.
    pub names: Vec<String>,
}

impl Observed {
    /// Whether the tool's plan keeps apart what is live together.
    #[must_use]
    pub fn check(&self) -> CheckReport {
        check(&self.problem, &self.plan)
    }
}

/// The plan found in a file as a problem and a plan of its own; `None` if there is none or it places nothing.
///
/// Time O((tensors + reads) log ops).
#[must_use]
pub fn observed(workload: &Workload) -> Option<Observed> {
    let found = workload.observed.as_ref()?;
    let mut sizes = Vec::new();
    let mut offsets = Vec::new();
    let mut names = Vec::new();
    let mut rules = Constraints::default();
    let mut push = |name: &str, bytes: u64, lifetime: Lifetime, offset: u64| {
        let is_placed = bytes > 0 && offset.checked_add(bytes).is_some();
        if is_placed {
            sizes.push((bytes, lifetime));
            offsets.push(offset);
            names.push(name.to_owned());
        }
        is_placed.then(|| BufferId::new(names.len() - 1))
    };
    match &workload.source {
        Source::Buffers(buffers) => {
            for ((index, buffer), place) in buffers.iter().enumerate().zip(&found.offsets) {
                if let Some(id) = place.and_then(|offset| push(&buffer.name, buffer.size_bytes, buffer.lifetime, offset))
                    && let Some(given) = &workload.constraints
                {
                    rules.copy_own(id, given, BufferId::new(index));
                }
            }
        }
        Source::Trace(trace) => {
            for ((index, block), place) in trace.blocks().iter().enumerate().zip(&found.offsets) {
                if let Some(offset) = *place {
                    push(trace.block_label(BufferId::new(index)), block.requested_bytes, block.lifetime(), offset);
                }
            }
        }
        Source::Graph(graph) => {
            for (first, bytes, lifetime, offset) in placed_groups(graph, found) {
                push(&graph.tensor(first).name, bytes, lifetime, offset);
            }
        }
    }
    let problem =
        Problem::new(sizes, Align::ONE).and_then(|problem| problem.with_constraints(rules)).ok().filter(|problem| problem.n_buffers() > 0)?;
    let plan = Plan::from_offsets(found.tool.clone(), &problem, offsets);
    let arena_bytes = found.arena_bytes.unwrap_or(plan.arena_bytes);
    Some(Observed { problem, plan: Plan { arena_bytes, ..plan }, names })
}

/// First tensor, bytes, lifetime and place of each storage that the tool uses.
fn placed_groups(graph: &Graph, found: &ObservedPlan) -> Vec<(TensorId, u64, Lifetime, u64)> {
    let schedule = Schedule::new(graph);
    let lifetimes = lifetimes(graph, &schedule, Io::Arena);
    let place = |tensor: TensorId| found.offsets.get(tensor.index()).copied().flatten();
    let mut root: Vec<TensorId> = graph.tensor_ids().collect();
    for &id in schedule.order() {
        let op = graph.op(id);
        let in_place: Vec<(TensorId, TensorId)> = match &op.in_place {
            InPlace::No => Vec::new(),
            InPlace::AnyInput => op.outputs.first().map_or_else(Vec::new, |&output| op.inputs.iter().map(|&input| (input, output)).collect()),
            InPlace::Pairs(pairs) => pairs.clone(),
        };
        for (input, output) in op.views.iter().copied().chain(in_place) {
            if place(input).is_some() && place(input) == place(output) && root[output.index()] == output {
                root[output.index()] = root[input.index()];
            }
        }
    }
    let mut groups: std::collections::BTreeMap<TensorId, (u64, Lifetime, u64)> = std::collections::BTreeMap::new();
    for tensor in graph.tensor_ids() {
        let (Some(offset), Some(bytes), Some(life)) = (place(tensor), graph.tensor(tensor).bytes, lifetimes[tensor.index()]) else { continue };
        let group = groups.entry(root[tensor.index()]).or_insert((bytes, life, offset));
        group.0 = group.0.max(bytes);
        group.1 = Lifetime { start: group.1.start.min(life.start), end: group.1.end.max(life.end) };
    }
    groups.into_iter().map(|(first, (bytes, lifetime, offset))| (first, bytes, lifetime, offset)).collect()
}
