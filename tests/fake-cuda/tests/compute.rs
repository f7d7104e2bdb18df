//! Programs that compute: the arena gives the same bits as memory without any sharing, and the kernels the right values.

use std::path::Path;

use arenascope_gpu::program::{Plant, Planted, Program};
use arenascope_gpu::protocol::{Mode, Outcome, RunOptions};
use arenascope_gpu::record::RunRecord;
use arenascope_gpu::regimes::Regime;

use crate::support::{computable, computable_file, fake_device, quick, run_on, run_on_cpu};

fn computed(program: &Program) -> RunRecord {
    let options = RunOptions { mode: Mode::Compute, budget_bytes: Some(6 << 30), ..quick(&[Regime::Arena]) };
    run_on_cpu(program, &options)
}

fn assert_equal_bits(name: &str, dims: &[(&str, u64)]) {
    let program = computable(name, dims).unwrap_or_else(|error| panic!("{name}: {error}"));
    let record = computed(&program);
    let report = record.compute.as_ref();
    assert_eq!((record.outcome, record.n_findings), (Outcome::Clean, 0), "{name}: {:?} {:?} {report:?}", record.findings.first(), record.error);
    let report = report.expect("it computed");
    assert!(report.worst_error <= report.tolerance && report.n_samples > 1000 && report.n_reads > 50, "{report:?}");
}

#[test]
fn mobilenet_gives_the_same_bits_in_the_arena() {
    assert_equal_bits("mobilenet_v2.onnx", &[]);
}

#[test]
fn bert_and_gpt2_give_the_same_bits_in_the_arena() {
    assert_equal_bits("bert_base.onnx", &[("batch", 1), ("seq", 6)]);
    assert_equal_bits("gpt2.onnx", &[("batch", 1), ("seq", 5)]);
}

#[test]
fn a_training_step_gives_the_same_bits_in_the_arena() {
    let program = computable("two_layer_perceptron_training.json", &[]).expect("all of its ops can be computed");
    let record = computed(&program);
    let report = record.compute.as_ref().expect("it computed");
    assert_eq!((record.outcome, record.n_findings, report.n_kernels), (Outcome::Clean, 0, 13), "{:?} {:?}", record.findings.first(), record.error);
    let loss = report.outputs.iter().find(|output| output.tensor == "loss").expect("an output");
    // Logits near 0 over 1024 classes: every class is about as likely as every other one.
    assert!(loss.values.len() == 1 && loss.values[0].is_some_and(|loss| (loss - 1024.0_f64.ln()).abs() < 0.5), "{loss:?}");
}

/// Every operator against what ONNX Runtime computes, which the file holds: see `make_cases.py`.
#[test]
fn operators_have_the_values_of_another_runtime() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/compute/cases.onnx");
    let program = computable_file(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
    assert_operators(&computed(&program));
}

fn assert_operators(record: &RunRecord) {
    assert_eq!((record.outcome, record.n_findings), (Outcome::Clean, 0), "{:?} {:?}", record.findings.first(), record.error);
    let outputs = &record.compute.as_ref().expect("it computed").outputs;
    assert_eq!(outputs.len(), 92);
    let wrong: Vec<_> = outputs.iter().filter(|output| !output.values[0].is_some_and(|distance| distance < 5e-5)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// A small perceptron in which every kind of bug can be planted.
fn small() -> Program {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../gpu/compute.json");
    computable_file(&path, &[]).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_planted_bug_is_a_difference_in_bits_with_the_tensor_named() {
    let program = small();
    assert_eq!(computed(&program).outcome, Outcome::Clean);
    for kind in Plant::ALL {
        let planted = program.planted(kind).unwrap_or_else(|error| panic!("{error}"));
        assert_named(&computed(&planted.program), &planted);
    }
}

fn assert_named(record: &RunRecord, planted: &Planted) {
    assert_eq!(record.outcome, Outcome::Clobbered, "{planted:?}: {:?}", record.error);
    let finding = record.findings.iter().find(|finding| finding.tensor == planted.tensor && finding.reader == planted.reader);
    let finding = finding.unwrap_or_else(|| panic!("`{}` is not among {:?}", planted.tensor, record.findings));
    assert!(finding.words_wrong > 0 && finding.message.contains(&planted.tensor), "{finding:?}");
    if let Some(culprit) = &planted.culprit {
        assert!(finding.culprits.iter().any(|other| other.tensor == *culprit), "{}", finding.message);
    }
}

#[test]
fn a_bug_in_a_whole_model_is_found_by_its_bits() {
    let program = computable("mobilenet_v2.onnx", &[]).expect("all of its ops can be computed");
    let planted = program.planted(Plant::Overlap).expect("there are long reads");
    let record = computed(&planted.program);
    assert_eq!(record.outcome, Outcome::Clobbered, "{:?}", record.error);
    assert!(record.findings.iter().any(|finding| finding.tensor == planted.tensor && finding.reader == planted.reader), "{:?}", record.findings);
    // What was computed from it is counted, and not listed.
    assert!(record.compute.is_some_and(|report| report.n_following > 0) && record.findings.len() < 10);
}

#[test]
fn an_op_that_cannot_be_computed_is_named_before_anything_runs() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/onnx/loop_if_scan.onnx");
    let error = computable_file(&path, &[("*", 4)]).expect_err("a loop has no kernel").to_string();
    assert!(error.starts_with("op `") && error.contains("cannot be computed") && error.contains("--mode integrity"), "{error}");
}

/// The shipped kernels, interpreted: every operator has the values of the file, and a bug shows as on the CPU.
#[test]
fn the_shipped_kernels_compute_the_same_operators() {
    let (_guard, mut fake) = fake_device();
    let options = RunOptions { mode: Mode::Compute, ..quick(&[Regime::Arena]) };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/compute/cases.onnx");
    let program = computable_file(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
    assert_operators(&run_on(&mut fake, &program, &options));
    for kind in Plant::ALL {
        let planted = small().planted(kind).unwrap_or_else(|error| panic!("{error}"));
        assert_named(&run_on(&mut fake, &planted.program, &options), &planted);
    }
    let record = run_on(&mut fake, &small(), &options);
    assert_eq!((record.outcome, record.n_findings), (Outcome::Clean, 0), "{:?} {:?}", record.findings.first(), record.error);
}

#[test]
fn the_shipped_kernels_compute_a_training_step() {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sample-graphs/two_layer_perceptron_training.json"));
    let text = text.expect("samples can be read").replace("1024", "12").replace("4096", "20").replace("256", "6");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("small_training.json");
    std::fs::write(&path, text).expect("writable");
    let program = computable_file(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
    let (_guard, mut fake) = fake_device();
    for record in [run_on(&mut fake, &program, &RunOptions { mode: Mode::Compute, ..quick(&[Regime::Arena]) }), computed(&program)] {
        assert_eq!((record.outcome, record.n_findings), (Outcome::Clean, 0), "{:?} {:?}", record.findings.first(), record.error);
        assert!(record.compute.is_some_and(|report| report.worst_error < report.tolerance && report.n_samples > 500));
    }
}

#[test]
fn a_budget_that_is_too_small_is_said_with_numbers() {
    let record = run_on_cpu(&small(), &RunOptions { mode: Mode::Compute, budget_bytes: Some(1000), ..quick(&[Regime::Arena]) });
    assert!(record.outcome == Outcome::DoesNotFit && record.error.is_some_and(|error| error.message.contains("1000 B may be taken")));
}
