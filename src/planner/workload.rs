//! What a file gives: a graph, a memory trace or a bare problem, plans that another tool chose, and what the reader had to say.

use std::sync::Arc;

use crate::constraints::Constraints;
use crate::graph::Graph;
use crate::lifetimes::Lifetime;
use crate::trace::Trace;

/// Something the reader noticed that does not make the file unreadable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning {
    /// Where: an op, a tensor, a line; empty if it concerns the whole file.
    pub place: String,
    /// What is the matter and what it means, without a full stop.
    pub message: String,
}

impl Warning {
    /// A warning about one place.
    #[must_use]
    pub fn at(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into() }
    }

    /// A warning about the whole file.
    #[must_use]
    pub fn general(message: impl Into<String>) -> Self {
        Self::at("", message)
    }
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.place.is_empty() { f.write_str(&self.message) } else { write!(f, "{}: {}", self.place, self.message) }
    }
}

/// A dimension that the file leaves open, and the number used for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SymbolicDim {
    /// Its name in the file, or `input:axis` if it has none.
    pub name: String,
    /// The number it was bound to.
    pub value: u64,
    /// Whether that is the reader's default and not the user's choice.
    pub is_default: bool,
}

/// A buffer of a bare problem.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BareBuffer {
    /// The name or id in the file.
    pub name: String,
    /// Its size before rounding.
    pub size_bytes: u64,
    /// Its lifetime.
    pub lifetime: Lifetime,
}

/// What there is to plan.
#[derive(Clone, Debug)]
pub enum Source {
    /// A model graph; lifetimes follow from it.
    Graph(Arc<Graph>),
    /// Buffers with lifetimes, and nothing about where they come from.
    Buffers(Arc<Vec<BareBuffer>>),
    /// What a real allocator did; its blocks are the buffers.
    Trace(Arc<Trace>),
}

/// Offsets that another tool chose, by position in [`Source::Buffers`] or among the blocks of [`Source::Trace`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObservedPlan {
    /// Who chose them.
    pub tool: String,
    /// First byte of each buffer of [`Source::Buffers`] or each tensor of [`Source::Graph`], by position; `None` where the
    /// tool left the place open or keeps the tensor elsewhere.
    pub offsets: Vec<Option<u64>>,
    /// The size of the tool's arena, as the file says it; `None` if it ends with its highest buffer.
    pub arena_bytes: Option<u64>,
}

/// A file, read.
#[derive(Clone, Debug)]
pub struct Workload {
    /// The file's name without its folder.
    pub file: String,
    /// The format's short name: `onnx`, `minimalloc-csv`, `op-list`, `torch-snapshot`.
    pub format: &'static str,
    /// What the file calls itself; empty if it does not.
    pub title: String,
    /// What the file says about itself; empty if nothing.
    pub description: String,
    /// What there is to plan.
    pub source: Source,
    /// Rules beyond sizes and lifetimes, by position in [`Source::Buffers`]; `None` without any, and for graphs.
    pub constraints: Option<Arc<Constraints>>,
    /// The plan found in the file, if any.
    pub observed: Option<ObservedPlan>,
    /// The open dimensions, in order of appearance.
    pub symbolic_dims: Vec<SymbolicDim>,
    /// What the reader noticed.
    pub warnings: Vec<Warning>,
}

impl Workload {
    /// How many tensors, blocks of a trace, or buffers of a bare problem there are.
    #[must_use]
    pub fn n_items(&self) -> usize {
        match &self.source {
            Source::Graph(graph) => graph.tensors().len(),
            Source::Buffers(buffers) => buffers.len(),
            Source::Trace(trace) => trace.blocks().len(),
        }
    }
}
