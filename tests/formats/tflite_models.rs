//! TFLite: every number of the reference, plans in the file and out of it, and damage.

use std::collections::BTreeMap;
use std::sync::Arc;

use arenascope_formats::tflite::with_plan;
use arenascope_planner::alias::{AliasSettings, Io};
use arenascope_planner::bounds::peak_live_bytes;
use arenascope_planner::control::Control;
use arenascope_planner::graph::Role;
use arenascope_planner::observed::{observed, observed_bytes, observed_plan};
use arenascope_planner::prepare::{PrepareSettings, Prepared, prepare};
use arenascope_planner::solve::{AUTO, SolveOptions, solve};
use arenascope_planner::units::Align;
use arenascope_planner::workload::Workload;
use serde::Deserialize;

use crate::support::{graph, open, parse, path, totals};

#[derive(Deserialize)]
struct Reference {
    ops: usize,
    activation_tensors: usize,
    const_derived_tensors: usize,
    peak_a16: u64,
    peak_excl_const_derived: u64,
    naive_excl_const_derived: u64,
    weights_bytes: u64,
    tflm_head: Option<u64>,
}

/// Models whose kernels ask TensorFlow Lite Micro for no scratch memory: there the runtime's arena is the peak.
const WITHOUT_SCRATCH: [&str; 5] =
    ["person_detect.tflite", "micro_speech_quantized.tflite", "hand_recrop.tflite", "hello_world_float.tflite", "hello_world_int8.tflite"];

fn references() -> BTreeMap<String, Reference> {
    let text = std::fs::read_to_string(path("tests/data/tflite/reference.json")).expect("the reference is part of the tests");
    serde_json::from_str(&text).expect("the reference is well-formed")
}

fn model(name: &str) -> Arc<Workload> {
    Arc::new(open(&path(&format!("tests/data/tflite/{name}")), &[]).unwrap_or_else(|error| panic!("{error}")))
}

fn prepared(workload: &Arc<Workload>, align: u64, in_place: bool, io: Io) -> Prepared {
    let settings = PrepareSettings {
        align: Align::new(align).expect("not zero"),
        alias: AliasSettings { in_place, io },
        subgraphs: true,
        ..PrepareSettings::default()
    };
    prepare(workload, settings).expect("a problem that adds up")
}

#[test]
fn every_number_is_the_references() {
    for (name, expected) in references() {
        let workload = model(&name);
        let graph = graph(&workload);
        assert_eq!(graph.ops().len(), expected.ops, "{name}");
        let whole = totals(&workload, false, Io::Arena);
        assert_eq!((whole.peak, whole.naive), (expected.peak_excl_const_derived, expected.naive_excl_const_derived), "{name}");
        let weights: u64 = graph.tensors().iter().filter(|tensor| tensor.role == Role::Parameter).filter_map(|tensor| tensor.bytes).sum();
        assert_eq!(weights, expected.weights_bytes, "{name}: weights");
        let prepared = prepared(&workload, 1, false, Io::Arena);
        let map = &prepared.context.as_ref().expect("a graph").map;
        let derived = map.constant_derived.iter().filter(|derived| **derived).count();
        assert_eq!(derived, expected.const_derived_tensors, "{name}: constant-derived");
        let made = graph.tensors().iter().filter(|tensor| !tensor.role.is_source() || tensor.role == Role::GraphInput).count();
        assert!(made >= expected.activation_tensors, "{name}: {made}");
    }
}

#[test]
fn the_peak_is_what_the_micro_runtime_takes_where_kernels_need_no_scratch() {
    let references = references();
    for name in WITHOUT_SCRATCH {
        let (peak, _) = peak_live_bytes(&prepared(&model(name), 16, false, Io::Arena).problem);
        assert_eq!(Some(peak), references[name].tflm_head, "{name}");
        assert_eq!(peak, references[name].peak_a16, "{name}");
    }
}

#[test]
fn the_compilers_plan_is_read_from_the_file() {
    let workload = model("person_detect_vela.tflite");
    let prepared = prepared(&workload, 16, false, Io::Arena);
    assert_eq!(observed_plan(&prepared).expect("it places both tensors").offsets, [0, 0]);
    let scratch = graph(&workload).tensors().iter().find(|tensor| tensor.role == Role::Workspace).expect("the compiled op has scratch memory");
    assert_eq!(observed_bytes(&prepared), scratch.bytes, "the compiler lets its scratch memory cover the tensors");
    let found = observed(&workload).expect("a plan");
    assert!(found.check().is_valid(), "input and output share a place, as the compiled op allows");
}

#[test]
fn a_plan_written_into_a_model_reads_back_and_nothing_else_changes() {
    for name in references().into_keys() {
        let workload = model(&name);
        let prepared_model = prepared(&workload, 16, false, Io::Arena);
        let plan = solve(AUTO, &prepared_model.problem, None, &SolveOptions::default(), &Control::unattended()).expect("a plan");
        let bytes = std::fs::read(path(&format!("tests/data/tflite/{name}"))).expect("a model of the tests");
        let written = with_plan(&name, &bytes, &prepared_model, &plan).unwrap_or_else(|error| panic!("{error}"));
        let again = Arc::new(parse(&name, &written).unwrap_or_else(|error| panic!("{error}")));
        let before: Vec<String> = graph(&workload).tensors().iter().map(|tensor| format!("{tensor:?}")).collect();
        let after: Vec<String> = graph(&again).tensors().iter().map(|tensor| format!("{tensor:?}")).collect();
        assert_eq!(before, after, "{name}");
        let found = observed_plan(&prepared(&again, 16, false, Io::Arena)).unwrap_or_else(|| panic!("{name}: no plan"));
        assert_eq!(found.offsets, plan.offsets, "{name}");
        assert!(observed(&again).expect("a plan").check().is_valid(), "{name}");
        let twice = with_plan(&name, &written, &prepared_model, &plan).expect("again");
        assert_eq!(twice, written, "{name}: a second export changes nothing");
    }
}

#[test]
fn a_plan_that_the_runtime_cannot_use_is_refused() {
    let workload = model("micro_speech_quantized.tflite");
    let bytes = std::fs::read(path("tests/data/tflite/micro_speech_quantized.tflite")).expect("a model of the tests");
    let unaligned = prepared(&workload, 1, false, Io::Arena);
    let plan = solve("naive", &unaligned.problem, None, &SolveOptions::default(), &Control::unattended()).expect("a plan");
    let message = with_plan("m", &bytes, &unaligned, &plan).expect_err("offsets are odd").to_string();
    assert!(message.contains("--align 16"), "{message}");
}

const OPEN_AXIS: &str = "serving_default_dense_input:0:0";

fn with_batch(batch: u64) -> Arc<Workload> {
    Arc::new(open(&path("tests/data/tflite/hello_world_float.tflite"), &[(OPEN_AXIS, batch)]).expect("a model of the tests"))
}

#[test]
fn an_open_axis_keeps_its_stored_number_until_another_one_is_given() {
    let workload = model("hello_world_float.tflite");
    let dims: Vec<_> = workload.symbolic_dims.iter().map(|dim| (dim.name.as_str(), dim.value, dim.is_default)).collect();
    assert_eq!(dims, [(OPEN_AXIS, 1, true)]);
    assert!(workload.warnings.iter().any(|warning| warning.message.contains(&format!("--dim {OPEN_AXIS}=N"))), "{:?}", workload.warnings);
}

#[test]
fn the_number_of_an_open_axis_reaches_every_tensor_that_follows_from_it() {
    let workload = with_batch(4);
    assert!(workload.warnings.is_empty(), "{:?}", workload.warnings);
    let shapes = |workload: &Workload, role: Role| -> Vec<Option<Vec<u64>>> {
        graph(workload).tensors().iter().filter(|tensor| tensor.role == role).map(|tensor| tensor.shape.clone()).collect()
    };
    assert_eq!(shapes(&workload, Role::GraphInput), [Some(vec![4, 1])]);
    assert_eq!(shapes(&workload, Role::Activation), [Some(vec![4, 16]), Some(vec![4, 16])]);
    assert_eq!(shapes(&workload, Role::GraphOutput), [Some(vec![4, 1])]);
    assert_eq!(shapes(&workload, Role::Parameter), shapes(&model("hello_world_float.tflite"), Role::Parameter));
    // Two layers of 16 floats each are live together.
    assert_eq!(totals(&workload, false, Io::Static).peak, 2 * 16 * 4 * 4);
    let unused = open(&path("tests/data/tflite/hello_world_float.tflite"), &[("height", 3)]).expect("a model of the tests");
    assert!(unused.warnings.iter().any(|warning| warning.message.contains("height=3 has no effect")), "{:?}", unused.warnings);
}

#[test]
fn a_plan_for_other_numbers_is_not_written_into_the_model() {
    let bytes = std::fs::read(path("tests/data/tflite/hello_world_float.tflite")).expect("a model of the tests");
    let prepared = prepared(&with_batch(4), 16, false, Io::Arena);
    let plan = solve(AUTO, &prepared.problem, None, &SolveOptions::default(), &Control::unattended()).expect("a plan");
    let message = with_plan("m", &bytes, &prepared, &plan).expect_err("other shapes").to_string();
    assert!(message.contains("other shapes") && message.contains("--dim"), "{message}");
}

#[test]
fn a_model_cut_or_changed_anywhere_is_answered() {
    for name in ["hello_world_int8", "person_detect_vela", "trained_lstm_int8"] {
        let bytes = std::fs::read(path(&format!("tests/data/tflite/{name}.tflite"))).expect("a model of the tests");
        let step = (bytes.len() / 500).max(1);
        for position in (8..bytes.len()).step_by(step).chain(8..bytes.len().min(64)) {
            let one_line = |result: Result<Workload, arenascope_formats::FormatError>| {
                if let Err(error) = result {
                    assert!(!error.to_string().contains('\n'), "{error}");
                }
            };
            one_line(parse("cut.tflite", &bytes[..position]));
            for mask in [0x01, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[position] ^= mask;
                one_line(parse("changed.tflite", &changed));
            }
        }
    }
}
