//! ONNX beyond plain graphs: memory of bodies, sequences, sizes typed in, and the whole list of operators.

use std::sync::Arc;

use arenascope_formats::{ReadOptions, read_bytes};
use arenascope_planner::alias::{AliasSettings, Io};
use arenascope_planner::control::Control;
use arenascope_planner::graph::{Role, Tensor};
use arenascope_planner::prepare::{PrepareSettings, Prepared, prepare};
use arenascope_planner::solve::{AUTO, SolveOptions, solve};
use arenascope_planner::units::Align;
use arenascope_planner::workload::Workload;

use crate::built_models::{Dim, Message, graph as body, graph_attribute, int_attribute, model, node, tensor, value};
use crate::support::{graph, models, open_model, path};

const FLOAT: i64 = 1;
const INT64: i64 = 7;
const BOOL: i64 = 9;

fn read(bytes: &[u8], sizes: &[(&str, u64)]) -> Workload {
    let bytes_of = sizes.iter().map(|&(name, bytes)| (name.to_owned(), bytes)).collect();
    read_bytes("built.onnx", bytes, &ReadOptions { bytes: bytes_of, ..ReadOptions::default() }).expect("a valid model")
}

fn named<'w>(workload: &'w Workload, name: &str) -> &'w Tensor {
    graph(workload).tensors().iter().find(|tensor| tensor.name == name).unwrap_or_else(|| panic!("`{name}` is not in the graph"))
}

fn with_bodies(workload: &Arc<Workload>, subgraphs: bool) -> Prepared {
    let alias = AliasSettings { in_place: true, io: Io::Static };
    prepare(workload, PrepareSettings { align: Align::ONE, alias, subgraphs, ..PrepareSettings::default() }).expect("a problem that adds up")
}

#[test]
fn a_bodys_own_arena_is_a_workspace_of_its_op() {
    // The branch keeps two of its own tensors of 4 × 4 floats at once; its result is the caller's.
    let branch = |names: [&str; 3]| {
        let nodes = [
            node("MatMul", &["x", "x"], &[names[0]], &[]),
            node("MatMul", &[names[0], "x"], &[names[1]], &[]),
            node("MatMul", &[names[0], names[1]], &[names[2]], &[]),
        ];
        body(&nodes, &[], &[], &[value(names[2], FLOAT, &[])])
    };
    let attributes = [graph_attribute("then_branch", &branch(["a", "b", "c"])), graph_attribute("else_branch", &branch(["d", "e", "f"]))];
    let nodes = [node("If", &["flag"], &["y"], &attributes)];
    let inputs = [value("x", FLOAT, &[Dim::Is(4), Dim::Is(4)]), value("flag", BOOL, &[])];
    let workload = Arc::new(read(&model(17, &body(&nodes, &[], &inputs, &[value("y", FLOAT, &[])])), &[]));
    assert_eq!(graph(&workload).ops()[0].bodies.len(), 2);
    let off = with_bodies(&workload, false);
    assert_eq!((off.problem.n_buffers(), off.naive_bytes), (0, 0));
    let on = with_bodies(&workload, true);
    assert_eq!((on.problem.n_buffers(), on.naive_bytes), (1, 128));
    assert_eq!(on.buffer_role(on.problem.ids().next().expect("one buffer")), Role::Workspace);
}

#[test]
fn real_models_with_bodies_need_more_with_them_than_without() {
    for (name, model) in models() {
        let workload = open_model(&model);
        let has_bodies = graph(&workload).ops().iter().any(|op| !op.bodies.is_empty());
        let (off, on) = (with_bodies(&workload, false), with_bodies(&workload, true));
        assert!(on.naive_bytes >= off.naive_bytes, "{name}");
        assert_eq!(on.naive_bytes > off.naive_bytes, has_bodies && on.n_tensors > off.n_tensors, "{name}");
        let expected = matches!(name.as_str(), "silero_vad_16k_op15" | "loop_if_scan");
        assert_eq!(has_bodies, expected, "{name}");
    }
}

#[test]
fn sequences_are_sized_tensor_by_tensor() {
    let nodes = [
        node("SplitToSequence", &["x", "parts"], &["s"], &[int_attribute("axis", 1)]),
        node("SequenceAt", &["s", "one"], &["second"], &[]),
        node("SequenceInsert", &["s", "second"], &["longer"], &[]),
        node("ConcatFromSequence", &["longer"], &["y"], &[int_attribute("axis", 1)]),
        node("SequenceLength", &["longer"], &["n"], &[]),
        node("SequenceErase", &["longer", "one"], &["shorter"], &[]),
        node("Identity", &["shorter"], &["same"], &[]),
    ];
    let weights = [tensor("parts", INT64, &[2], &[3, 5]), tensor("one", INT64, &[], &[1])];
    let x = value("x", FLOAT, &[Dim::Is(2), Dim::Is(8)]);
    let workload = read(&model(17, &body(&nodes, &weights, &[x], &[value("y", FLOAT, &[])])), &[]);
    assert_eq!((named(&workload, "s").bytes, named(&workload, "second").shape.clone()), (Some(64), Some(vec![2, 5])));
    assert_eq!((named(&workload, "longer").bytes, named(&workload, "y").shape.clone()), (Some(104), Some(vec![2, 13])));
    assert_eq!((named(&workload, "same").bytes, named(&workload, "n").bytes), (Some(64), Some(8)));
    assert!(workload.warnings.is_empty(), "{:?}", workload.warnings);
}

#[test]
fn a_body_for_each_tensor_of_a_sequence_gives_a_sequence() {
    let inner = body(&[node("Transpose", &["e"], &["t"], &[])], &[], &[value("e", FLOAT, &[])], &[value("t", FLOAT, &[])]);
    let nodes = [
        node("SequenceConstruct", &["x", "z"], &["s"], &[]),
        node("SequenceMap", &["s"], &["m"], &[graph_attribute("body", &inner)]),
        node("SequenceAt", &["m", "one"], &["y"], &[]),
    ];
    let inputs = [value("x", FLOAT, &[Dim::Is(2), Dim::Is(8)]), value("z", FLOAT, &[Dim::Is(3), Dim::Is(4)])];
    let weights = [tensor("one", INT64, &[], &[1])];
    let workload = read(&model(17, &body(&nodes, &weights, &inputs, &[value("y", FLOAT, &[])])), &[]);
    assert_eq!((named(&workload, "m").bytes, named(&workload, "y").shape.clone()), (Some(112), Some(vec![4, 3])));
}

fn unknown_model() -> Vec<u8> {
    let nodes = [node("Frobnicate", &["x"], &["a"], &[]), node("MatMul", &["x", "x"], &["b"], &[])];
    model(17, &body(&nodes, &[], &[value("x", FLOAT, &[Dim::Is(4), Dim::Is(4)])], &[value("b", FLOAT, &[])]))
}

#[test]
fn a_size_that_the_user_gives_counts() {
    let plain = read(&unknown_model(), &[]);
    assert!(plain.warnings.iter().any(|warning| warning.message.starts_with("the size of `a` is not known")), "{:?}", plain.warnings);
    let given = Arc::new(read(&unknown_model(), &[("a", 1000)]));
    assert_eq!(named(&given, "a").bytes, Some(1000));
    assert!(given.warnings.iter().all(|warning| !warning.message.contains("not known")), "{:?}", given.warnings);
    assert_eq!(with_bodies(&given, true).naive_bytes, 1000);
    let wrong = read(&unknown_model(), &[("b", 1), ("nobody", 1)]);
    let effects = wrong.warnings.iter().filter(|warning| warning.message.contains("has no effect")).count();
    assert_eq!((effects, named(&wrong, "b").bytes), (2, Some(64)));
}

#[test]
fn every_operator_of_the_current_set_has_a_rule() {
    let text = std::fs::read_to_string(path("tests/data/onnx/operators.txt")).expect("the list is part of the tests");
    assert!(text.lines().count() > 200);
    for kind in text.lines() {
        let x = value("x", FLOAT, &[Dim::Is(1), Dim::Is(4), Dim::Is(4)]);
        let bytes = model(28, &body(&[node(kind, &["x"], &["y"], &[])], &[], &[x], &[value("y", FLOAT, &[])]));
        let workload = read(&bytes, &[]);
        assert!(workload.warnings.iter().all(|warning| !warning.message.contains("no shape rule")), "{kind}: {:?}", workload.warnings);
    }
}

#[test]
fn narrow_types_are_packed() {
    let nodes: Vec<Message> = Vec::new();
    let weights: Vec<Message> =
        [(21, "u4"), (22, "i4"), (23, "f4"), (25, "u2"), (17, "f8"), (24, "e8")].iter().map(|&(ty, name)| tensor(name, ty, &[3, 3], &[])).collect();
    let workload = read(&model(25, &body(&nodes, &weights, &[value("x", FLOAT, &[Dim::Is(1)])], &[])), &[]);
    let bytes = |name: &str| named(&workload, name).bytes;
    assert_eq!(
        [bytes("u4"), bytes("i4"), bytes("f4"), bytes("u2"), bytes("f8"), bytes("e8")],
        [Some(5), Some(5), Some(5), Some(3), Some(9), Some(9)]
    );
}

/// Source of the block that ONNX Runtime plans: the first arena request of its third run, optimisations disabled.
#[test]
fn no_model_needs_more_than_onnx_runtime_plans() {
    let mut table = String::new();
    for (name, model) in models() {
        let Some(theirs) = model.ort_none else { continue };
        let prepared = with_bodies(&open_model(&model), false);
        let context = prepared.context.as_deref();
        let plan = solve(AUTO, &prepared.problem, context, &SolveOptions::default(), &Control::unattended()).expect("a plan");
        table.push_str(&format!("| {name} | {} | {theirs} |\n", plan.arena_bytes));
        assert!(plan.arena_bytes <= theirs, "{name}: {} against {theirs}", plan.arena_bytes);
    }
    assert!(table.lines().count() > 15, "{table}");
}
