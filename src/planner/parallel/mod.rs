//! Plans for ops that run side by side: which buffers must not share memory, whatever the schedule.
//!
//! Problem: a plan for one schedule lets a branch take over what another one has just left; run side by side they
//! would have to wait for each other.
//! Method: with [`Parallel::Ancestors`] one buffer may follow another in the same bytes only if the graph itself orders
//! every op that touches the first before every op that begins the second. With [`Parallel::Paths`] the longest paths
//! of ops are coloured one after another, a buffer has the colour of the op that begins it, and it may follow only a
//! buffer of the same colour, or one where either has none; ops of two colours must be ordered by the graph as above.
//! Writing in place follows the same rule, since it makes the writer wait for all other readers.
//! Guarantee: with ancestors a valid plan adds no order to the graph; with paths none between two coloured paths.
//! Time O(ops² / 64 + buffers²) and O(K · reads) for paths; space ops² / 8 + buffers² / 8 bytes, refused beyond
//! [`crate::links::MAX_CLOSURE_BYTES`].
//! Source: the colouring of paths is that of MXNet (`nnvm/src/pass/graph_algorithm.h`, `MXGetAuxColor`); the ordering
//! rule is the happens-before of stream-aware allocators.
//!
//! ```text
//! a -> b -> c -> g      colours: a b c g 1, d e f 2
//!  \-> d -> e -> f -^   c may follow a's bytes? d reads a and is not before c: no
//! ```

use std::str::FromStr;

use crate::alias::{BufferMap, Io, view_storages};
use crate::graph::{Graph, Role};
use crate::ids::{BufferId, OpId, TensorId};
use crate::kept_apart::KeptApart;
use crate::links::{MAX_CLOSURE_BYTES, OpLinks, Reachability};
use crate::problem::{Problem, ProblemError};
use crate::schedule::Schedule;

/// Which ops must be able to run side by side.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Parallel {
    /// None: the schedule decides who may share.
    #[default]
    Off,
    /// Those of so many longest paths.
    Paths(u32),
    /// All that the graph does not order.
    Ancestors,
}

/// A parallel mode that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown parallel mode `{0}`; use off, ancestors or paths=K with K at least 1")]
pub struct UnknownParallel(String);

impl FromStr for Parallel {
    type Err = UnknownParallel;

    fn from_str(text: &str) -> Result<Self, UnknownParallel> {
        let unknown = || UnknownParallel(text.to_owned());
        match text {
            "off" => Ok(Self::Off),
            "ancestors" => Ok(Self::Ancestors),
            _ => {
                let n_paths = text.strip_prefix("paths=").and_then(|number| number.parse().ok()).filter(|&number| number > 0);
                n_paths.map(Self::Paths).ok_or_else(unknown)
            }
        }
    }
}

impl std::fmt::Display for Parallel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Paths(n_paths) => write!(f, "paths={n_paths}"),
            Self::Ancestors => f.write_str("ancestors"),
        }
    }
}

/// The colour of a path, from 0; `None` for ops on no coloured path.
pub type PathColour = Option<u32>;

/// Colours the ops of the `n_paths` longest paths, one after another; each leads through ops without a colour.
///
/// Length is the number of ops; of two equally long paths the one whose ops come first in `order` is taken.
/// Time O(`n_paths` · (ops + reads)).
#[must_use]
pub fn colour_paths(links: &OpLinks, order: &[OpId], n_paths: u32) -> Vec<PathColour> {
    let mut colour: Vec<PathColour> = vec![None; order.len()];
    for path in 0..n_paths {
        // Ops from each op to the end of the longest path, and the next op on it.
        let mut length = vec![0_u32; order.len()];
        let mut next: Vec<Option<OpId>> = vec![None; order.len()];
        let mut first: Option<OpId> = None;
        for &op in order.iter().rev().filter(|op| colour[op.index()].is_none()) {
            for &reader in links.after[op.index()].iter().filter(|reader| colour[reader.index()].is_none()) {
                if length[reader.index()] > length[op.index()] {
                    length[op.index()] = length[reader.index()];
                    next[op.index()] = Some(reader);
                }
            }
            length[op.index()] += 1;
            if first.is_none_or(|first| length[op.index()] >= length[first.index()]) {
                first = Some(op);
            }
        }
        let mut at = first;
        if at.is_none() {
            break;
        }
        while let Some(op) = at {
            colour[op.index()] = Some(path);
            at = next[op.index()];
        }
    }
    colour
}

/// The rules of one parallel mode on one graph.
pub(crate) struct ParallelOps {
    reach: Reachability,
    /// By op; empty with [`Parallel::Ancestors`], where every op is a path of its own.
    colour: Vec<PathColour>,
    /// The tensor that stands for the views of each tensor.
    view_root: Vec<TensorId>,
    /// Ops that touch a tensor or a view of it, by standing tensor.
    view_touchers: Vec<Vec<OpId>>,
}

impl ParallelOps {
    /// `None` for [`Parallel::Off`].
    pub(crate) fn new(graph: &Graph, schedule: &Schedule, parallel: Parallel, io: Io) -> Result<Option<Self>, ProblemError> {
        let links = || OpLinks::new(graph);
        let (links, colour) = match parallel {
            Parallel::Off => return Ok(None),
            Parallel::Ancestors => (links(), Vec::new()),
            Parallel::Paths(n_paths) => {
                let links = links();
                let colour = colour_paths(&links, schedule.order(), n_paths);
                (links, colour)
            }
        };
        let too_many = || ProblemError::TooManyOps { n_ops: graph.ops().len(), max_ops: (MAX_CLOSURE_BYTES * 8).isqrt() };
        let reach = Reachability::new(&links, schedule.order()).ok_or_else(too_many)?;
        let view_root = view_storages(graph, schedule, io).root;
        let mut view_touchers = vec![Vec::new(); graph.tensors().len()];
        for tensor in graph.tensor_ids() {
            view_touchers[view_root[tensor.index()].index()].extend(graph.producer(tensor).into_iter().chain(graph.readers(tensor).iter().copied()));
        }
        Ok(Some(Self { reach, colour, view_root, view_touchers }))
    }

    /// Whether `op` may write over a tensor without waiting for an op that may run beside it.
    pub(crate) fn may_take(&self, op: OpId, input: TensorId) -> bool {
        let touchers = &self.view_touchers[self.view_root[input.index()].index()];
        touchers.iter().all(|&other| other == op || self.may_follow(other, op))
    }

    /// Whether `second` may be made to wait for `first`.
    fn may_follow(&self, first: OpId, second: OpId) -> bool {
        self.reach.precedes(first, second) || (!self.colour.is_empty() && self.have_one_colour(first, second))
    }

    /// Whether both are on one path, or one of them on none.
    fn have_one_colour(&self, first: OpId, second: OpId) -> bool {
        let colour = |op: OpId| self.colour.get(op.index()).copied().flatten();
        colour(first).zip(colour(second)).is_none_or(|(one, two)| one == two)
    }

    /// The pairs that may not share memory.
    pub(crate) fn kept_apart(&self, graph: &Graph, map: &BufferMap, problem: &Problem, io: Io) -> KeptApart {
        let uses: Vec<Use> = map.buffers.iter().map(|buffer| self.use_of(graph, &buffer.tensors, io)).collect();
        let lifetime = |id: BufferId| problem.buffer(id).lifetime;
        let mut by_end: Vec<BufferId> = problem.ids().collect();
        by_end.sort_unstable_by_key(|&id| (lifetime(id).end, id));
        let pairs = problem.ids().flat_map(|later| {
            let n_dead = by_end.partition_point(|&id| lifetime(id).end <= lifetime(later).start);
            let uses = &uses;
            by_end[..n_dead]
                .iter()
                .filter(move |earlier| !self.may_share(&uses[earlier.index()], &uses[later.index()]))
                .map(move |&earlier| (earlier, later))
        });
        KeptApart::new(problem, pairs)
    }

    fn may_share(&self, earlier: &Use, later: &Use) -> bool {
        let is_ordered = || earlier.last.iter().all(|&first| later.first.iter().all(|&second| self.may_follow(first, second)));
        let has_one_colour =
            || earlier.first.iter().all(|&one| later.first.iter().all(|&two| self.colour.is_empty() || self.have_one_colour(one, two)));
        let is_unread_input = earlier.is_early && earlier.last.is_empty();
        !earlier.is_kept && !later.is_early && !is_unread_input && has_one_colour() && is_ordered()
    }

    fn use_of(&self, graph: &Graph, tensors: &[TensorId], io: Io) -> Use {
        let touching = |tensor: TensorId| graph.producer(tensor).into_iter().chain(graph.readers(tensor).iter().copied());
        let mut touchers: Vec<OpId> = tensors.iter().flat_map(|&tensor| touching(tensor)).collect();
        touchers.sort_unstable();
        touchers.dedup();
        // Whatever follows an op that comes last for the graph follows those before it; paths look at all.
        let is_last = |op: OpId| !self.colour.is_empty() || !touchers.iter().any(|&other| self.reach.precedes(op, other));
        let is_first = |op: OpId| !touchers.iter().any(|&other| self.reach.precedes(other, op));
        let has = |role: Role| io == Io::Arena && tensors.iter().any(|&tensor| graph.tensor(tensor).role == role);
        Use {
            first: touchers.iter().copied().filter(|&op| is_first(op)).collect(),
            last: touchers.iter().copied().filter(|&op| is_last(op)).collect(),
            is_early: has(Role::GraphInput),
            is_kept: has(Role::GraphOutput),
        }
    }
}

/// Who begins and who ends the use of a buffer.
struct Use {
    /// Ops that no other op touching the buffer must come before.
    first: Vec<OpId>,
    /// Ops that must be over before the bytes are free.
    last: Vec<OpId>,
    /// The caller fills it before the first op.
    is_early: bool,
    /// The caller reads it after the last op.
    is_kept: bool,
}

#[cfg(test)]
mod tests;
