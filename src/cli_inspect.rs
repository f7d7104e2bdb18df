//! What is in a file: ops by type, tensors by role and dtype, bytes, open dimensions, warnings.

use std::collections::BTreeMap;

use arenascope_planner::bounds::peak_live_bytes;
use arenascope_planner::check::Violation;
use arenascope_planner::graph::{Dtype, Graph, Role};
use arenascope_planner::ids::BufferId;
use arenascope_planner::observed::{Observed, observed, observed_bytes};
use arenascope_planner::prepare::Prepared;
use arenascope_planner::workload::Source;
use serde::Serialize;

use crate::cli_inspect_trace::{self, TraceInspection, inspect_trace};
use crate::cli_json::object;
use crate::cli_print::{Set, binary_bytes, counted, exact_bytes, grouped, paragraph, table};
use crate::cli_report::{TEXT_WIDTH, warning_lines};

/// A file's content, counted.
#[derive(Serialize)]
pub(crate) struct Inspection<'a> {
    file: &'a str,
    format: &'a str,
    title: &'a str,
    description: &'a str,
    ops: u64,
    tensors: u64,
    buffers: u64,
    naive_bytes: u64,
    static_bytes: u64,
    unknown_sizes: u64,
    ops_by_type: Vec<KindCount>,
    tensors_by_role: Vec<TensorCount>,
    dimensions: Vec<Dimension<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<TraceInspection>,
    observed: Option<ObservedReport>,
    warnings: Vec<String>,
}

/// The plan found in the file, as its tool made it.
#[derive(Serialize)]
struct ObservedReport {
    tool: String,
    arena_bytes: u64,
    buffers: u64,
    peak_live_bytes: u64,
    valid: bool,
    faults: Vec<String>,
}

#[derive(Serialize)]
struct KindCount {
    kind: String,
    ops: u64,
}

#[derive(Serialize)]
struct TensorCount {
    role: &'static str,
    dtype: &'static str,
    tensors: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct Dimension<'a> {
    name: &'a str,
    value: u64,
    is_default: bool,
}

/// Counts what is in a file. Of a memory trace, `fits` asks whether so many bytes would fit.
pub(crate) fn inspect(prepared: &Prepared, fits: Option<u64>) -> Inspection<'_> {
    let workload = &prepared.workload;
    let graph = match &workload.source {
        Source::Graph(graph) => Some(graph.as_ref()),
        Source::Buffers(_) | Source::Trace(_) => None,
    };
    let trace = match &workload.source {
        Source::Trace(trace) => Some(inspect_trace(prepared, trace, fits)),
        Source::Graph(_) | Source::Buffers(_) => None,
    };
    Inspection {
        file: &workload.file,
        format: workload.format,
        title: &workload.title,
        description: &workload.description,
        ops: prepared.n_ops as u64,
        tensors: prepared.n_tensors as u64,
        buffers: prepared.problem.n_buffers() as u64,
        naive_bytes: prepared.naive_bytes,
        static_bytes: prepared.static_bytes,
        unknown_sizes: graph.map_or(0, |graph| graph.tensors().iter().filter(|tensor| tensor.bytes.is_none()).count() as u64),
        ops_by_type: graph.map_or_else(Vec::new, ops_by_type),
        tensors_by_role: tensors_by_role(prepared, graph),
        dimensions: workload.symbolic_dims.iter().map(|dim| Dimension { name: &dim.name, value: dim.value, is_default: dim.is_default }).collect(),
        trace,
        observed: observed(workload).map(|found| observed_report(&found, observed_bytes(prepared))),
        warnings: prepared.warnings.iter().map(ToString::to_string).collect(),
    }
}

fn observed_report(found: &Observed, said_bytes: Option<u64>) -> ObservedReport {
    let report = found.check();
    let name = |id: BufferId| found.names[id.index()].as_str();
    let fault = |violation: &Violation| match *violation {
        Violation::Overlap { a, b, .. } => format!("{violation} (`{}` and `{}`)", name(a), name(b)),
        _ => violation.to_string(),
    };
    ObservedReport {
        tool: found.plan.strategy.clone(),
        arena_bytes: said_bytes.unwrap_or(found.plan.arena_bytes),
        buffers: found.problem.n_buffers() as u64,
        peak_live_bytes: peak_live_bytes(&found.problem).0,
        valid: report.is_valid(),
        faults: report.violations.iter().map(fault).collect(),
    }
}

/// Op types, the most frequent first, then by name.
fn ops_by_type(graph: &Graph) -> Vec<KindCount> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for op in graph.ops() {
        *counts.entry(&op.kind).or_default() += 1;
    }
    let mut list: Vec<KindCount> = counts.into_iter().map(|(kind, ops)| KindCount { kind: kind.to_owned(), ops }).collect();
    list.sort_by_key(|count| std::cmp::Reverse(count.ops));
    list
}

/// Tensors by role, in the order of [`Role::ALL`], then by dtype; bytes are exact and not rounded. Of a memory trace
/// its blocks; bare buffers have no roles.
fn tensors_by_role(prepared: &Prepared, graph: Option<&Graph>) -> Vec<TensorCount> {
    let rank = |role: Role| Role::ALL.iter().position(|&other| other == role);
    let mut counts: BTreeMap<(Option<usize>, &str), TensorCount> = BTreeMap::new();
    let mut add = |role: Role, dtype: &'static str, bytes: u64| {
        let count = counts.entry((rank(role), dtype)).or_insert(TensorCount { role: role.name(), dtype, tensors: 0, bytes: 0 });
        count.tensors += 1;
        count.bytes += bytes;
    };
    match &prepared.workload.source {
        Source::Graph(_) => {
            for tensor in graph.into_iter().flat_map(Graph::tensors) {
                add(tensor.role, tensor.dtype.name(), tensor.bytes.unwrap_or(0));
            }
        }
        Source::Trace(_) => {
            for id in prepared.problem.ids() {
                add(prepared.buffer_role(id), Dtype::Unknown.name(), prepared.problem.buffer(id).size_bytes);
            }
        }
        Source::Buffers(_) => {}
    }
    counts.into_values().collect()
}

/// The report for people.
pub(crate) fn text_report(prepared: &Prepared, inspection: &Inspection<'_>) -> String {
    let mut text = format!("{}: {}\n", inspection.file, inspection.format);
    if !inspection.title.is_empty() {
        text.push_str(&paragraph(0, TEXT_WIDTH, inspection.title));
    }
    if !inspection.description.is_empty() {
        text.push('\n');
        text.push_str(&paragraph(2, TEXT_WIDTH, inspection.description));
    }
    text.push('\n');
    text.push_str(&table(2, &[Set::Left, Set::Right, Set::Right], &total_rows(inspection)));
    if !inspection.ops_by_type.is_empty() {
        let rows: Vec<Vec<String>> = inspection.ops_by_type.iter().map(|count| vec![count.kind.clone(), grouped(count.ops)]).collect();
        text.push_str(&format!(
            "\n{} of {}\n{}",
            counted(inspection.ops, "op"),
            counted(rows.len() as u64, "type"),
            table(2, &[Set::Left, Set::Right], &rows)
        ));
    }
    if !inspection.tensors_by_role.is_empty() {
        text.push_str(if inspection.trace.is_some() { "\nblocks by role\n" } else { "\ntensors by role and dtype\n" });
        text.push_str(&table(2, &[Set::Left, Set::Left, Set::Right, Set::Right, Set::Right], &tensor_rows(inspection)));
    }
    if !inspection.dimensions.is_empty() {
        text.push_str("\nopen dimensions\n");
        text.push_str(&table(2, &[Set::Left, Set::Right, Set::Left], &dimension_rows(inspection)));
    }
    text.push_str(&inspection.trace.as_ref().map_or_else(String::new, cli_inspect_trace::text_report));
    if let Some(observed) = &inspection.observed {
        text.push_str(&format!("\nplan found in the file, by {}\n", observed.tool));
        text.push_str(&table(2, &[Set::Left, Set::Right, Set::Right], &observed_rows(observed)));
        for fault in &observed.faults {
            text.push_str(&format!("  {fault}\n"));
        }
    }
    text.push_str(&warning_lines(prepared, usize::MAX));
    text
}

fn observed_rows(observed: &ObservedReport) -> Vec<Vec<String>> {
    let bytes = |label: &str, bytes: u64| vec![label.to_owned(), exact_bytes(bytes), binary_bytes(bytes)];
    vec![
        bytes("arena", observed.arena_bytes),
        bytes("peak of what it places", observed.peak_live_bytes),
        vec!["placed buffers".to_owned(), grouped(observed.buffers)],
        vec![if observed.valid { "valid: nothing live overlaps".to_owned() } else { "INVALID: live buffers overlap".to_owned() }],
    ]
}

fn total_rows(inspection: &Inspection<'_>) -> Vec<Vec<String>> {
    let count = |label: &str, number: u64| vec![label.to_owned(), grouped(number)];
    let bytes = |label: &str, bytes: u64| vec![label.to_owned(), exact_bytes(bytes), binary_bytes(bytes)];
    let mut rows = Vec::new();
    if inspection.ops > 0 {
        rows.push(count("ops", inspection.ops));
        rows.push(count("tensors", inspection.tensors));
    }
    rows.push(count("dynamic buffers", inspection.buffers));
    rows.push(bytes("dynamic, every tensor in its own block", inspection.naive_bytes));
    rows.push(bytes("static", inspection.static_bytes));
    if inspection.unknown_sizes > 0 {
        rows.push(count("tensors of unknown size", inspection.unknown_sizes));
    }
    rows
}

fn tensor_rows(inspection: &Inspection<'_>) -> Vec<Vec<String>> {
    let row = |count: &TensorCount| {
        vec![count.role.to_owned(), count.dtype.to_owned(), grouped(count.tensors), exact_bytes(count.bytes), binary_bytes(count.bytes)]
    };
    inspection.tensors_by_role.iter().map(row).collect()
}

fn dimension_rows(inspection: &Inspection<'_>) -> Vec<Vec<String>> {
    let origin = |dim: &Dimension<'_>| if dim.is_default { format!("a default; set it with --dim {}=N", dim.name) } else { "as given".to_owned() };
    inspection.dimensions.iter().map(|dim| vec![dim.name.to_owned(), grouped(dim.value), origin(dim)]).collect()
}

/// The report for programs.
pub(crate) fn json_report(inspection: &Inspection<'_>) -> String {
    object(inspection)
}
