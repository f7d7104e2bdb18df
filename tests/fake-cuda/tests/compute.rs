//! Programs that compute: the arena gives the same bits as memory without any sharing, and the kernels the right values.

use arenascope_gpu::program::Program;
use arenascope_gpu::protocol::{Mode, Outcome, RunOptions};
use arenascope_gpu::record::RunRecord;
use arenascope_gpu::regimes::Regime;

use crate::support::{computable, quick, run_on_cpu};

fn computed(program: &Program) -> RunRecord {
    let options = RunOptions { mode: Mode::Compute, budget_bytes: Some(6 << 30), ..quick(&[Regime::Arena]) };
    run_on_cpu(program, &options)
}

fn assert_equal_bits(name: &str, dims: &[(&str, u64)]) {
    let program = computable(name, dims).unwrap_or_else(|error| panic!("{name}: {error}"));
    let record = computed(&program);
    let report = record.compute.as_ref();
    println!("{name}: {report:?}");
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
