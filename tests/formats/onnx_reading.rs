//! ONNX: open dimensions, unknown operators, bodies, old files, and what counts as what.

use std::sync::Arc;

use arenascope_formats::{ReadOptions, read_bytes};
use arenascope_planner::alias::Io;
use arenascope_planner::graph::{InPlace, Op, Role, Tensor};
use arenascope_planner::workload::Workload;

use crate::built_models::{Dim, Message, graph as body, graph_attribute, int_attribute, model, node, tensor, value};
use crate::support::{graph, open, parse, path, prepared};

const FLOAT: i64 = 1;
const INT64: i64 = 7;
const BOOL: i64 = 9;

fn read(bytes: &[u8], dims: &[(&str, u64)]) -> Workload {
    let dims = dims.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    read_bytes("built.onnx", bytes, &ReadOptions { dims, ..ReadOptions::default() }).expect("a valid model")
}

fn named<'w>(workload: &'w Workload, name: &str) -> &'w Tensor {
    graph(workload).tensors().iter().find(|tensor| tensor.name == name).unwrap_or_else(|| panic!("`{name}` is not in the graph"))
}

fn op<'w>(workload: &'w Workload, kind: &str) -> &'w Op {
    graph(workload).ops().iter().find(|op| op.kind == kind).unwrap_or_else(|| panic!("no `{kind}`"))
}

fn input_names(workload: &Workload, op: &Op) -> Vec<String> {
    op.inputs.iter().map(|&input| graph(workload).tensor(input).name.clone()).collect()
}

fn simple(nodes: &[Message], output: &str) -> Vec<u8> {
    let x = value("x", FLOAT, &[Dim::Named("batch"), Dim::Is(8)]);
    model(17, &body(nodes, &[], &[x], &[value(output, FLOAT, &[])]))
}

#[test]
fn open_dimensions_get_a_stated_default_and_a_warning() {
    let workload = open(&path("sample-graphs/bert_base.onnx"), &[]).expect("a sample");
    let dims: Vec<(&str, u64, bool)> = workload.symbolic_dims.iter().map(|dim| (dim.name.as_str(), dim.value, dim.is_default)).collect();
    assert_eq!(dims, [("batch", 1, true), ("seq", 128, true)]);
    let warnings: Vec<String> = workload.warnings.iter().map(ToString::to_string).collect();
    assert!(warnings.iter().any(|warning| warning.contains("`seq`") && warning.contains("128") && warning.contains("--dim seq=")), "{warnings:?}");
    assert_eq!(named(&workload, "input_ids").shape, Some(vec![1, 128]));
}

#[test]
fn an_unknown_operator_leaves_its_outputs_unknown_and_says_so() {
    let nodes = [node("Frobnicate", &["x"], &["a"], &[]), node("Relu", &["a"], &["b"], &[]), node("Relu", &["x"], &["c"], &[])];
    let workload = read(&simple(&nodes, "b"), &[]);
    assert!(named(&workload, "a").shape.is_none() && named(&workload, "b").bytes.is_none());
    assert_eq!(named(&workload, "c").bytes, Some(32));
    assert!(named(&workload, "a").unknown_because.contains("Frobnicate"));
    let warnings: Vec<String> = workload.warnings.iter().map(ToString::to_string).collect();
    assert!(warnings.iter().any(|warning| warning.contains("`a`") && warning.contains("Frobnicate")), "{warnings:?}");
    assert!(warnings.iter().any(|warning| warning.contains("`b`") && !warning.contains("Frobnicate")), "{warnings:?}");
}

#[test]
fn what_a_body_reads_from_outside_is_read_by_its_op() {
    let branch = |name: &str, kind: &str, from: &str| body(&[node(kind, &[from], &[name], &[])], &[], &[], &[value(name, FLOAT, &[])]);
    let nested = body(
        &[node(
            "If",
            &["flag"],
            &["deep"],
            &[graph_attribute("then_branch", &branch("t2", "Relu", "b")), graph_attribute("else_branch", &branch("e2", "Relu", "x"))],
        )],
        &[],
        &[],
        &[value("deep", FLOAT, &[])],
    );
    let conditional =
        node("If", &["flag"], &["y"], &[graph_attribute("then_branch", &branch("t", "Sigmoid", "a")), graph_attribute("else_branch", &nested)]);
    let nodes = [node("MatMul", &["x", "x"], &["a"], &[]), node("MatMul", &["a", "x"], &["b"], &[]), conditional];
    let inputs = [value("x", FLOAT, &[Dim::Is(4), Dim::Is(4)]), value("flag", BOOL, &[])];
    let workload = read(&model(17, &body(&nodes, &[], &inputs, &[value("y", FLOAT, &[])])), &[]);
    assert_eq!(input_names(&workload, op(&workload, "If")), ["flag", "a", "b", "x"]);
    assert_eq!(named(&workload, "y").shape, Some(vec![4, 4]));
    assert_eq!(op(&workload, "If").in_place, InPlace::No);
}

#[test]
fn a_scalar_input_may_be_given_a_value_that_decides_shapes() {
    let range = [node("Range", &["zero", "n", "one"], &["r"], &[])];
    let weights = [tensor("zero", INT64, &[], &[0]), tensor("one", INT64, &[], &[1])];
    let bytes = model(17, &body(&range, &weights, &[value("n", INT64, &[])], &[value("r", INT64, &[])]));
    let unknown = read(&bytes, &[]);
    assert!(named(&unknown, "r").unknown_because.contains("only a run can tell"), "{}", named(&unknown, "r").unknown_because);
    assert_eq!(named(&read(&bytes, &[("n", 7)]), "r").shape, Some(vec![7]));
}

#[test]
fn a_loop_needs_its_number_of_rounds() {
    let round = body(
        &[node("Identity", &["c"], &["c_out"], &[]), node("Relu", &["s"], &["s_out"], &[]), node("Relu", &["s"], &["each"], &[])],
        &[],
        &[value("i", INT64, &[]), value("c", BOOL, &[]), value("s", FLOAT, &[])],
        &[value("c_out", BOOL, &[]), value("s_out", FLOAT, &[]), value("each", FLOAT, &[])],
    );
    let nodes = [node("Loop", &["n", "", "x"], &["last", "all"], &[graph_attribute("body", &round)])];
    let inputs = [value("n", INT64, &[]), value("x", FLOAT, &[Dim::Is(3), Dim::Is(2)])];
    let bytes = model(17, &body(&nodes, &[], &inputs, &[value("all", FLOAT, &[])]));
    let workload = read(&bytes, &[("n", 5)]);
    assert_eq!((named(&workload, "last").shape.clone(), named(&workload, "all").shape.clone()), (Some(vec![3, 2]), Some(vec![5, 3, 2])));
    let unknown = read(&bytes, &[]);
    assert_eq!(named(&unknown, "last").shape, Some(vec![3, 2]));
    assert!(named(&unknown, "all").unknown_because.contains("rounds"));
}

#[test]
fn initialisers_listed_as_inputs_are_parameters() {
    let workload = open(&path("tests/data/onnx/light_squeezenet.onnx"), &[]).expect("a model of IR version 3");
    let inputs: Vec<&str> =
        graph(&workload).tensors().iter().filter(|tensor| tensor.role == Role::GraphInput).map(|tensor| tensor.name.as_str()).collect();
    assert_eq!(inputs, ["data_0"]);
}

#[test]
fn empty_names_are_no_tensors() {
    let nodes =
        [node("Clip", &["x", "", "high"], &["a"], &[]), node("MaxPool", &["i"], &["p", ""], &[]), node("LSTM", &["q", "w", "r"], &["", "h"], &[])];
    let inputs = [value("x", FLOAT, &[Dim::Is(8)]), value("high", FLOAT, &[]), value("i", FLOAT, &[Dim::Is(1)]), value("q", FLOAT, &[Dim::Is(1)])];
    let weights = [tensor("w", FLOAT, &[1], &[]), tensor("r", FLOAT, &[1], &[])];
    let workload = read(&model(17, &body(&nodes, &weights, &inputs, &[])), &[]);
    assert!(graph(&workload).tensors().iter().all(|tensor| !tensor.name.is_empty()));
    assert_eq!((op(&workload, "Clip").inputs.len(), op(&workload, "MaxPool").outputs.len(), op(&workload, "LSTM").outputs.len()), (2, 1, 1));
    assert_eq!(named(&workload, "a").shape, Some(vec![8]));
}

#[test]
fn ops_in_any_order_get_their_shapes() {
    let nodes = [node("Relu", &["b"], &["c"], &[]), node("Relu", &["a"], &["b"], &[]), node("Relu", &["x"], &["a"], &[])];
    let workload = Arc::new(read(&simple(&nodes, "c"), &[("batch", 2)]));
    assert_eq!(named(&workload, "c").shape, Some(vec![2, 8]));
    assert!(prepared(&workload, true, Io::Static).warnings.iter().any(|warning| warning.message.contains("topological")));
}

#[test]
fn storage_classes_follow_the_operator() {
    let nodes = [
        node("Relu", &["x"], &["a"], &[]),
        node("Flatten", &["a"], &["b"], &[]),
        node("Dropout", &["b"], &["c"], &[]),
        node("MatMul", &["c", "w"], &["d"], &[]),
        node("Softmax", &["d"], &["e"], &[]),
        node("RandomNormalLike", &["w"], &["f"], &[]),
        node("Transpose", &["w"], &["g"], &[]),
    ];
    let x = value("x", FLOAT, &[Dim::Is(2), Dim::Is(8)]);
    let workload = Arc::new(read(&model(17, &body(&nodes, &[tensor("w", FLOAT, &[8, 8], &[])], &[x], &[])), &[]));
    assert!(op(&workload, "Flatten").views.len() == 1 && op(&workload, "Dropout").views.len() == 1);
    assert!(op(&workload, "Relu").in_place == InPlace::AnyInput && op(&workload, "Softmax").in_place == InPlace::AnyInput);
    assert!(op(&workload, "MatMul").in_place == InPlace::No && op(&workload, "Transpose").views.is_empty());
    let map = &prepared(&workload, true, Io::Static).context.expect("a graph").map;
    let is_dynamic: Vec<bool> = ["f", "g"]
        .map(|name| graph(&workload).tensor_ids().find(|&id| graph(&workload).tensor(id).name == name))
        .into_iter()
        .flatten()
        .map(|id| map.is_dynamic(id))
        .collect();
    assert_eq!(is_dynamic, [true, false], "chance is no constant, a transposed weight is one");
}

#[test]
fn training_dropout_is_no_view() {
    let weights = [tensor("ratio", FLOAT, &[], &[]), tensor("mode", BOOL, &[], &[])];
    let mode = |on: i64| Message::default().int(2, BOOL).text(8, "mode").int(5, on);
    for (on, n_views) in [(1, 0), (0, 1)] {
        let nodes = [node("Dropout", &["x", "ratio", "mode"], &["y", "mask"], &[])];
        let x = value("x", FLOAT, &[Dim::Is(4)]);
        let workload = read(&model(17, &body(&nodes, &[weights[0].clone(), mode(on)], &[x], &[])), &[]);
        assert_eq!(op(&workload, "Dropout").views.len(), n_views);
        assert_eq!(named(&workload, "mask").dtype.name(), "bool");
    }
}

#[test]
fn shapes_computed_in_the_model_are_followed() {
    let nodes = [
        node("Shape", &["x"], &["s"], &[]),
        node("Gather", &["s", "zero"], &["b"], &[int_attribute("axis", 0)]),
        node("Unsqueeze", &["b", "zeros"], &["b1"], &[]),
        node("Concat", &["b1", "rest"], &["wanted"], &[int_attribute("axis", 0)]),
        node("Reshape", &["x", "wanted"], &["y"], &[]),
    ];
    let weights = [tensor("zero", INT64, &[], &[0]), tensor("zeros", INT64, &[1], &[0]), tensor("rest", INT64, &[2], &[2, -1])];
    let x = value("x", FLOAT, &[Dim::Named("batch"), Dim::Is(8)]);
    let workload = read(&model(17, &body(&nodes, &weights, &[x], &[value("y", FLOAT, &[])])), &[("batch", 3)]);
    assert_eq!(named(&workload, "y").shape, Some(vec![3, 2, 4]));
    assert_eq!(named(&workload, "rest").role, Role::Constant);
}

#[test]
fn nonsense_in_a_model_is_unknown_or_an_error_but_never_a_guess() {
    let x = || value("x", FLOAT, &[Dim::Is(4)]);
    let of = |nodes: &[Message], weights: &[Message]| model(17, &body(nodes, weights, &[x()], &[]));
    let huge = of(&[node("Tile", &["x", "n"], &["y"], &[])], &[tensor("n", INT64, &[1], &[i64::MAX])]);
    assert!(named(&read(&huge, &[]), "y").shape.is_none());
    let negative = of(&[node("Reshape", &["x", "n"], &["y"], &[])], &[tensor("n", INT64, &[1], &[-7])]);
    assert!(named(&read(&negative, &[]), "y").shape.is_none());
    let mismatch = of(&[node("Add", &["x", "w"], &["y"], &[])], &[tensor("w", FLOAT, &[3], &[])]);
    assert!(named(&read(&mismatch, &[]), "y").unknown_because.contains("broadcast"));
    let dims = of(&[node("Relu", &["w"], &["y"], &[])], &[tensor("w", FLOAT, &[-3, i64::MIN], &[])]);
    assert!(named(&read(&dims, &[]), "w").shape.is_none());
    for (nodes, expected) in [
        (vec![node("Relu", &["ghost"], &["y"], &[])], "ghost"),
        (vec![node("Relu", &["x"], &["x"], &[])], "already provides"),
        (vec![node("Relu", &["b"], &["a"], &[]), node("Relu", &["a"], &["b"], &[])], "cycle"),
    ] {
        let message = parse("built.onnx", &of(&nodes, &[])).expect_err(expected).to_string();
        assert!(message.contains(expected) && !message.contains('\n'), "{message}");
    }
}
