//! Plan files: written, read back, matched by name, refused with a reason; and the graph as Graphviz text.

use std::sync::Arc;

use arenascope_formats::dot::{graph_to_dot, problem_to_dot};
use arenascope_formats::plan_file::{plan_from_json, plan_to_json};
use arenascope_planner::alias::Io;
use arenascope_planner::ids::SlotId;
use arenascope_planner::plan::Plan;
use arenascope_planner::prepare::Prepared;

use crate::support::{graph, open, path, prepared};

fn sample(in_place: bool) -> Prepared {
    let workload = Arc::new(open(&path("sample-graphs/mobilenet_v2.onnx"), &[]).expect("a sample"));
    prepared(&workload, in_place, Io::Static)
}

fn naive(prepared: &Prepared) -> Plan {
    let slots = (0..prepared.problem.n_buffers()).map(SlotId::new).collect();
    Plan::from_slots("naive", &prepared.problem, slots)
}

#[test]
fn a_plan_reads_back_as_it_was_written() {
    let prepared = sample(true);
    let plan = naive(&prepared);
    let text = plan_to_json(&prepared, &plan);
    let file = plan_from_json(&text).expect("what was written");
    assert_eq!(
        (file.file.as_str(), file.in_place.as_deref(), file.io.as_deref(), file.align),
        ("mobilenet_v2.onnx", Some("on"), Some("static"), Some(1))
    );
    assert_eq!(file.order.len(), prepared.n_ops);
    let again = file.for_problem(&prepared).expect("the same problem");
    assert_eq!((again.offsets, again.slots, again.arena_bytes), (plan.offsets, plan.slots, plan.arena_bytes));
}

#[test]
fn buffers_are_found_by_name_when_their_order_changes() {
    let prepared = sample(true);
    let plan = naive(&prepared);
    let mut file = plan_from_json(&plan_to_json(&prepared, &plan)).expect("what was written");
    file.buffers.reverse();
    for (position, buffer) in (0..).zip(&mut file.buffers) {
        buffer.id = Some(position);
    }
    assert_eq!(file.for_problem(&prepared).expect("names decide").offsets, plan.offsets);
}

#[test]
fn a_plan_for_other_buffers_names_the_first_that_is_missing() {
    let (with, without) = (sample(true), sample(false));
    let file = plan_from_json(&plan_to_json(&with, &naive(&with))).expect("what was written");
    let message = file.for_problem(&without).expect_err("in-place results have no buffer of their own").to_string();
    assert!(message.contains("no offset for buffer") && message.contains("missing"), "{message}");
}

#[test]
fn what_is_no_plan_is_refused_in_one_line() {
    for (text, expected) in [
        ("", "empty"),
        ("{", "ends in the middle"),
        (r#"{"schema":1,"kind":"model","buffers":[]}"#, "model"),
        (r#"{"schema":2,"kind":"plan","buffers":[]}"#, "schema 2"),
        (r#"{"schema":1,"kind":"plan","buffers":[{"name":"a"}]}"#, "offset"),
        (r#"{"schema":1,"kind":"plan","buffers":[{"name":"a","offset":-1}]}"#, "-1"),
        (r#"{"schema":1,"kind":"plan","buffers":[{"name":"a","bytes":9,"offset":18446744073709551615}]}"#, "64 bits"),
    ] {
        let message = plan_from_json(text).expect_err(text).to_string();
        assert!(message.contains(expected) && !message.contains('\n'), "{message}");
    }
}

#[test]
fn a_graph_becomes_graphviz_text() {
    let workload = open(&path("sample-graphs/mobilenet_v2.onnx"), &[]).expect("a sample");
    let text = graph_to_dot(graph(&workload));
    assert!(text.starts_with("digraph") && text.ends_with("}\n"));
    assert_eq!(text.matches("Conv\\n").count(), 52);
    let prepared = sample(true);
    let limited = problem_to_dot(&prepared.problem, |index| prepared.buffer_name(arenascope_planner::ids::BufferId::new(index)), 3);
    assert_eq!(limited.matches(" -- ").count(), 3);
    assert!(limited.contains("Only the first 3 edges"));
}
