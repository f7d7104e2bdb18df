//! Graphs as Graphviz text: the op graph of a model, or the interference graph of a bare problem.

use std::fmt::Write as _;

use arenascope_planner::graph::{Graph, Role};
use arenascope_planner::ids::TensorId;
use arenascope_planner::problem::Problem;

/// The op graph: a box per op, an edge per tensor from its producer to each reader, ellipses for inputs and outputs.
///
/// Parameters and constants are left out: they hang on every op and say nothing about memory reuse.
/// Time and space O(ops + reads).
#[must_use]
pub fn graph_to_dot(graph: &Graph) -> String {
    let mut text = String::from(
        "digraph model {\n  rankdir=TB;\n  node [shape=box, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];\n",
    );
    for id in graph.op_ids() {
        let op = graph.op(id);
        line(&mut text, format_args!("  op{} [label=\"{}\\n{}\"];", id.0, escaped(&op.kind), escaped(&op.name)));
    }
    for id in graph.tensor_ids() {
        tensor_edges(&mut text, graph, id);
    }
    text.push_str("}\n");
    text
}

fn tensor_edges(text: &mut String, graph: &Graph, id: TensorId) {
    let tensor = graph.tensor(id);
    if matches!(tensor.role, Role::Parameter | Role::Constant) {
        return;
    }
    let label = escaped(&tensor.name);
    let size = tensor.bytes.map_or_else(|| "unknown size".to_owned(), |bytes| format!("{bytes} B"));
    let source = match graph.producer(id) {
        Some(op) => format!("op{}", op.0),
        None => {
            line(text, format_args!("  t{} [shape=ellipse, label=\"{label}\\n{size}\"];", id.0));
            format!("t{}", id.0)
        }
    };
    for reader in graph.readers(id) {
        line(text, format_args!("  {source} -> op{} [label=\"{label}\\n{size}\"];", reader.0));
    }
    if tensor.role == Role::GraphOutput {
        line(text, format_args!("  out{} [shape=ellipse, label=\"{label}\\n{size}\"];", id.0));
        line(text, format_args!("  {source} -> out{};", id.0));
    }
}

/// The interference graph of a problem: a node per buffer, an edge where two are live at one step.
///
/// `name` gives a buffer's name by position. Above `max_edges` edges nothing more is drawn and a comment says so,
/// since the number of edges can grow with the square of the buffers. Time O(n log n + edges drawn).
#[must_use]
pub fn problem_to_dot<'a>(problem: &Problem, name: impl Fn(usize) -> &'a str, max_edges: usize) -> String {
    let mut text = String::from("graph interference {\n  node [shape=box, fontname=\"sans-serif\"];\n");
    for id in problem.ids() {
        let buffer = problem.buffer(id);
        let life = buffer.lifetime;
        line(
            &mut text,
            format_args!("  b{} [label=\"{}\\n{} B, [{}, {})\"];", id.0, escaped(name(id.index())), buffer.size_bytes, life.start, life.end),
        );
    }
    let mut order: Vec<_> = problem.ids().collect();
    order.sort_by_key(|&id| (problem.buffer(id).lifetime.start, id));
    let mut live: Vec<arenascope_planner::ids::BufferId> = Vec::new();
    let mut n_edges = 0_usize;
    'all: for id in order {
        let start = problem.buffer(id).lifetime.start;
        live.retain(|&other| problem.buffer(other).lifetime.end > start);
        for other in &live {
            if n_edges == max_edges {
                line(&mut text, format_args!("  // Only the first {max_edges} edges are drawn."));
                break 'all;
            }
            line(&mut text, format_args!("  b{} -- b{};", other.0, id.0));
            n_edges += 1;
        }
        live.push(id);
    }
    text.push_str("}\n");
    text
}

fn line(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    writeln!(text, "{arguments}").expect("a string does not fail");
}

/// Text inside a quoted Graphviz string.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' | '\r' => out.push_str("\\n"),
            c if c.is_control() => out.push('?'),
            c => out.push(c),
        }
    }
    out
}
