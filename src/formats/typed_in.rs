//! Sizes that the user gives for tensors whose size the file does not tell.

use std::sync::Arc;

use arenascope_planner::graph::{Graph, GraphParts};
use arenascope_planner::workload::{Source, Warning, Workload};

use crate::error::{FormatError, one_line, one_message};

/// The workload with the given sizes, as pairs of a tensor's name and its bytes.
pub(crate) fn with_sizes(mut workload: Workload, path: &str, sizes: &[(String, u64)]) -> Result<Workload, FormatError> {
    if sizes.is_empty() {
        return Ok(workload);
    }
    let mut parts = match &workload.source {
        Source::Graph(graph) => Some(GraphParts { tensors: graph.tensors().to_vec(), ops: graph.ops().to_vec() }),
        Source::Buffers(_) | Source::Trace(_) => None,
    };
    for (name, bytes) in sizes {
        let shown = one_line(name);
        let found = parts.as_mut().and_then(|parts| parts.tensors.iter_mut().find(|tensor| tensor.name == *name));
        let message = match found {
            None => format!("the size given for `{shown}` has no effect: the file has no tensor of this name"),
            Some(tensor) if tensor.bytes.is_some_and(|known| known != *bytes) => {
                format!("the size given for `{shown}` has no effect: it is {} bytes", tensor.bytes.unwrap_or(0))
            }
            Some(tensor) => {
                tensor.bytes = Some(*bytes);
                tensor.unknown_because.clear();
                let is_settled = |warning: &Warning| warning.message.starts_with(&format!("the size of `{shown}` is not known"));
                workload.warnings.retain(|warning| !is_settled(warning));
                format!("`{shown}` counts with {bytes} bytes, as given")
            }
        };
        workload.warnings.push(Warning::general(message));
    }
    if let Some(parts) = parts {
        let graph = Graph::new(parts).map_err(|error| FormatError::Graph { path: path.to_owned(), reason: one_message(&error.to_string()) })?;
        workload.source = Source::Graph(Arc::new(graph));
    }
    Ok(workload)
}
