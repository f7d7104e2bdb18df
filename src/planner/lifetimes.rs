//! Liveness of single tensors: from the step that writes a tensor to one past the last step that reads it.
//!
//! This is the picture before any sharing; [`crate::alias`] joins tensors into buffers.

use crate::alias::Io;
use crate::graph::{Graph, Role};
use crate::ids::TensorId;
use crate::schedule::Schedule;

/// A half-open range of steps: `start` writes first, `end` is one past the last read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct Lifetime {
    /// The first step at which the storage is needed.
    pub start: u64,
    /// One past the last step at which it is needed; greater than `start`.
    pub end: u64,
}

impl Lifetime {
    /// Whether two lifetimes share a step.
    #[must_use]
    pub fn overlaps(self, other: Self) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// Whether the lifetime covers a step.
    #[must_use]
    pub fn contains(self, step: u64) -> bool {
        self.start <= step && step < self.end
    }

    /// How many steps it covers.
    #[must_use]
    pub fn n_steps(self) -> u64 {
        self.end - self.start
    }
}

/// The lifetime of each tensor, by id; `None` for tensors that live throughout or that no op touches.
///
/// An op's inputs and outputs are live together: an output written at step k and last read at step m lives in
/// `[k, m + 1)`, one that nobody reads in `[k, k + 1)`.
/// With [`Io::Arena`] a graph input lives from step 0 to its last read and a graph output from its op to the end.
/// Time O(tensors + reads).
#[must_use]
pub fn lifetimes(graph: &Graph, schedule: &Schedule, io: Io) -> Vec<Option<Lifetime>> {
    graph.tensor_ids().map(|tensor| lifetime(graph, schedule, io, tensor)).collect()
}

fn lifetime(graph: &Graph, schedule: &Schedule, io: Io, tensor: TensorId) -> Option<Lifetime> {
    let role = graph.tensor(tensor).role;
    let start = match graph.producer(tensor) {
        Some(op) => schedule.step_of(op),
        None if role == Role::GraphInput && io == Io::Arena => 0,
        None => return None,
    };
    let last_read = graph.readers(tensor).iter().map(|&op| schedule.step_of(op)).max();
    let end = if role == Role::GraphOutput && io == Io::Arena { schedule.n_steps() } else { last_read.unwrap_or(start).max(start) + 1 };
    Some(Lifetime { start, end })
}
