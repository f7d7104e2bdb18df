//! Tensors looked up by position or by a part of their name: what they are, who makes and reads them, where they live.

use arenascope_planner::alias::Storage;
use arenascope_planner::graph::Graph;
use arenascope_planner::ids::{BufferId, TensorId};
use arenascope_planner::prepare::Prepared;
use serde::Serialize;

use crate::cli_print::{counted, exact_bytes, grouped};

/// How many tensors a text report shows.
const MAX_SHOWN: usize = 20;

/// One tensor, or one buffer of a bare problem.
#[derive(Serialize)]
pub(crate) struct Found {
    index: u64,
    name: String,
    role: &'static str,
    dtype: &'static str,
    shape: Option<Vec<u64>>,
    bytes: Option<u64>,
    written_by: Option<String>,
    read_by: Vec<String>,
    storage: String,
    observed_offset: Option<u64>,
}

/// The tensor at a position, or all whose name contains the text.
pub(crate) fn find(prepared: &Prepared, query: &str) -> Vec<Found> {
    let position: Option<usize> = query.trim_start_matches('#').parse().ok();
    let is_meant = |index: usize, name: &str| position.map_or_else(|| name.contains(query), |position| position == index);
    let place = |index: usize| prepared.workload.observed.as_ref().and_then(|plan| plan.offsets.get(index).copied().flatten());
    match &prepared.context {
        Some(context) => {
            let all = context.graph.tensors().iter().enumerate();
            let meant = all.filter(|(index, tensor)| is_meant(*index, &tensor.name));
            meant.map(|(index, _)| tensor(prepared, &context.graph, TensorId::new(index), place(index))).collect()
        }
        None => {
            let all = prepared.problem.ids().filter(|&id| is_meant(id.index(), prepared.buffer_name(id)));
            all.map(|id| buffer(prepared, id, place(id.index()))).collect()
        }
    }
}

fn tensor(prepared: &Prepared, graph: &Graph, id: TensorId, observed_offset: Option<u64>) -> Found {
    let tensor = graph.tensor(id);
    let storage = prepared.context.as_ref().map(|context| context.map.storage[id.index()]);
    Found {
        index: id.index() as u64,
        name: tensor.name.clone(),
        role: tensor.role.name(),
        dtype: tensor.dtype.name(),
        shape: tensor.shape.clone(),
        bytes: tensor.bytes,
        written_by: graph.producer(id).map(|op| graph.op(op).name.clone()),
        read_by: graph.readers(id).iter().map(|&op| graph.op(op).name.clone()).collect(),
        storage: match storage {
            Some(Storage::Planned(buffer)) => lifetime(prepared, buffer),
            Some(Storage::Static) => "static memory".to_owned(),
            Some(Storage::Empty) => "none: it has no bytes, or no op touches it".to_owned(),
            Some(Storage::Unknown) | None => format!("unknown: {}", tensor.unknown_because),
        },
        observed_offset,
    }
}

fn buffer(prepared: &Prepared, id: BufferId, observed_offset: Option<u64>) -> Found {
    Found {
        index: u64::from(id.0),
        name: prepared.buffer_name(id).to_owned(),
        role: prepared.buffer_role(id).name(),
        dtype: "unknown",
        shape: None,
        bytes: Some(prepared.problem.buffer(id).size_bytes),
        written_by: None,
        read_by: Vec::new(),
        storage: lifetime(prepared, id),
        observed_offset,
    }
}

fn lifetime(prepared: &Prepared, id: BufferId) -> String {
    let life = prepared.problem.buffer(id).lifetime;
    format!("buffer {id}, live at steps {} to {}", life.start, life.end - 1)
}

/// The report for people.
pub(crate) fn text_report(found: &[Found]) -> String {
    let mut text = format!("{}\n", counted(found.len() as u64, "tensor"));
    for one in found.iter().take(MAX_SHOWN) {
        let shape = one.shape.as_ref().map_or_else(String::new, |shape| format!(" {shape:?}"));
        let bytes = one.bytes.map_or_else(|| "size unknown".to_owned(), exact_bytes);
        text.push_str(&format!("\n#{} {}\n  {}, {}{shape}, {bytes}\n", one.index, one.name, one.role, one.dtype));
        if let Some(op) = &one.written_by {
            text.push_str(&format!("  written by {op}\n"));
        }
        if !one.read_by.is_empty() {
            text.push_str(&format!("  read by {}\n", one.read_by.join(", ")));
        }
        text.push_str(&format!("  {}\n", one.storage));
        if let Some(offset) = one.observed_offset {
            text.push_str(&format!("  at byte {} of the plan in the file\n", grouped(offset)));
        }
    }
    if found.len() > MAX_SHOWN {
        text.push_str(&format!("\nand {} more; name it more exactly\n", grouped((found.len() - MAX_SHOWN) as u64)));
    }
    text
}
