//! Op lists: the totals of real training graphs, and what a hand-written file may leave out.

use std::collections::BTreeMap;
use std::sync::Arc;

use arenascope_planner::alias::Io;
use arenascope_planner::graph::{InPlace, Role};
use serde::Deserialize;

use crate::support::{Totals, graph, open, parse, path, totals};

#[derive(Deserialize)]
struct Entry {
    alias: Totals,
    no_alias: Totals,
    ops: usize,
    tensors: usize,
}

#[derive(Deserialize)]
struct Reference {
    files: BTreeMap<String, Entry>,
}

#[test]
fn training_graphs_have_the_references_totals() {
    let text = std::fs::read_to_string(path("tests/data/oplist/reference.json")).expect("part of the tests");
    let reference: Reference = serde_json::from_str(&text).expect("well-formed");
    assert_eq!(reference.files.len(), 2);
    for (name, entry) in reference.files {
        let workload = Arc::new(open(&path(&format!("tests/data/oplist/{name}.oplist.json")), &[]).expect("a readable op list"));
        assert!(workload.warnings.is_empty(), "{name}: {:?}", workload.warnings);
        assert_eq!((graph(&workload).ops().len(), graph(&workload).tensors().len()), (entry.ops, entry.tensors), "{name}");
        let found = totals(&workload, false, Io::Arena);
        assert_eq!((found.peak, found.buffers), (entry.alias.peak, entry.alias.buffers), "{name}");
        assert_eq!(found.naive, entry.no_alias.naive, "{name}: the naive total counts views for themselves");
    }
}

#[test]
fn a_hand_written_file_needs_little() {
    let text = r#"{
        "format": "op-list-v1", "title": "Tiny",
        "tensors": [
            { "name": "x", "bytes": "1 KiB" },
            { "name": "w", "dtype": "f16", "shape": [8], "kind": "parameter" },
            { "name": "a", "dtype": "float32", "shape": [16, 16] },
            { "name": "v", "dtype": "float32", "shape": [256] },
            { "name": "y", "bytes": 1024 }
        ],
        "ops": [
            { "op": "conv", "inputs": ["x", "w"], "outputs": ["a"] },
            { "op": "reshape", "inputs": ["a"], "outputs": ["v"] },
            { "op": "relu", "inputs": ["v"], "outputs": ["y"] }
        ],
        "outputs": ["y"]
    }"#;
    let workload = Arc::new(parse("tiny.json", text.as_bytes()).expect("a valid op list"));
    assert_eq!((workload.format, workload.title.as_str()), ("op-list", "Tiny"));
    assert!(workload.warnings.is_empty(), "{:?}", workload.warnings);
    let graph = graph(&workload);
    let roles: Vec<Role> = graph.tensors().iter().map(|tensor| tensor.role).collect();
    assert_eq!(roles, [Role::GraphInput, Role::Parameter, Role::Activation, Role::Activation, Role::GraphOutput]);
    assert_eq!(graph.tensors()[2].bytes, Some(1024));
    assert_eq!(graph.ops()[1].views.len(), 1);
    assert_eq!((&graph.ops()[0].in_place, &graph.ops()[2].in_place), (&InPlace::No, &InPlace::AnyInput));
    assert_eq!(totals(&workload, true, Io::Static), Totals { buffers: 1, naive: 2048, peak: 1024 });
}

#[test]
fn in_place_and_alias_of_in_the_file_decide_over_the_ops_name() {
    let text = r#"{
        "format": "op-list-v1",
        "tensors": [
            { "id": 1, "bytes": 8 }, { "id": 2, "bytes": 8 }, { "id": 3, "bytes": 8, "alias_of": null }, { "id": 4, "bytes": 8, "alias_of": 3 }, { "id": 5, "bytes": 8 }
        ],
        "ops": [
            { "op": "conv", "inputs": [1], "outputs": [2], "in_place": [[1, 2]] },
            { "op": "aten.view.default", "inputs": [2], "outputs": [3] },
            { "op": "aten.unbind.int", "inputs": [3], "outputs": [4] },
            { "op": "relu", "inputs": [4], "outputs": [5], "in_place": [] }
        ]
    }"#;
    let workload = parse("said.json", text.as_bytes()).expect("a valid op list");
    let ops = graph(&workload).ops();
    assert_eq!(ops[0].in_place, InPlace::Pairs(vec![(ops[0].inputs[0], ops[0].outputs[0])]));
    assert!(ops[1].views.is_empty());
    assert_eq!(ops[2].views.len(), 1);
    assert_eq!(ops[3].in_place, InPlace::Pairs(Vec::new()));
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let with = |tensors: &str, ops: &str| format!(r#"{{ "format": "op-list-v1", "tensors": [{tensors}], "ops": [{ops}] }}"#);
    let cases = [
        (with(r#"{"name":"x","bytes":-5}"#, ""), "line 1"),
        (with(r#"{"name":"x","bytes":"5 parsecs"}"#, ""), "tensor `x`"),
        (with(r#"{"name":"x","dtype":"f32","shape":[4294967296,4294967296,4294967296]}"#, ""), "64-bit"),
        (with(r#"{"name":"x","dtype":"float33","shape":[1]}"#, ""), "float33"),
        (with(r#"{"name":"x","bytes":1,"kind":"thing"}"#, ""), "thing"),
        (with(r#"{"name":"x","bytes":1},{"name":"x","bytes":1}"#, ""), "second tensor"),
        (with(r#"{"bytes":1}"#, ""), "neither `id` nor `name`"),
        (with("", r#"{"op":"relu","inputs":["ghost"]}"#), "ghost"),
        (with(r#"{"name":"x","bytes":1}"#, r#"{"op":"a","outputs":["x"]},{"op":"b","outputs":["x"]}"#), "already provides"),
        (with(r#"{"name":"x","bytes":1},{"name":"y","bytes":1,"alias_of":"x"}"#, r#"{"op":"relu","outputs":["y"]}"#), "does not read"),
        (r#"{"format":"op-list-v2","tensors":[],"ops":[]}"#.to_owned(), "op-list-v1"),
        (r#"{"schema":1,"kind":"plan","buffers":[]}"#.to_owned(), "this is a plan"),
        (r#"{"schema":1,"kind":"run","ops":["Op1"]}"#.to_owned(), "this is a recorded run"),
        (r#"{"format":"op-list-v1","tensors":[{"name""#.to_owned(), "cut off"),
    ];
    for (text, expected) in cases {
        let message = parse("broken.json", text.as_bytes()).expect_err(&text).to_string();
        assert!(message.contains(expected) && message.contains("broken.json") && !message.contains('\n'), "{message}");
    }
}

#[test]
fn an_unknown_field_or_size_is_a_warning() {
    let text = r#"{ "format": "op-list-v1", "tensors": [{ "name": "x", "bytes": 4 }, { "name": "y", "dtpye": "f32" }],
                    "ops": [{ "op": "conv", "inputs": ["x"], "outputs": ["y"] }] }"#;
    let workload = parse("odd.json", text.as_bytes()).expect("readable");
    let warnings: Vec<String> = workload.warnings.iter().map(ToString::to_string).collect();
    assert!(
        warnings.iter().any(|warning| warning.contains("dtpye")) && warnings.iter().any(|warning| warning.contains("size is not known")),
        "{warnings:?}"
    );
    assert!(graph(&workload).tensors()[1].bytes.is_none());
}
