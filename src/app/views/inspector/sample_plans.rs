//! Plans for tests of the views: bare buffers, generated problems, the hand-made samples.

use std::sync::Arc;

use arenascope_formats::{ReadOptions, read_bytes};
use arenascope_planner::control::Control;
use arenascope_planner::generate::{Kind, generate};
use arenascope_planner::lifetimes::Lifetime;
use arenascope_planner::plan::Plan;
use arenascope_planner::workload::{BareBuffer, Source, Workload};

use crate::session::{PlanOptions, Planned, make_plan};

/// The default plan of buffers given as `(bytes, start, end)`.
pub(crate) fn bare(buffers: &[(u64, u64, u64)]) -> Arc<Planned> {
    bare_with(buffers, "auto")
}

/// The plan of a strategy for buffers given as `(bytes, start, end)`.
pub(crate) fn bare_with(buffers: &[(u64, u64, u64)], strategy: &str) -> Arc<Planned> {
    let buffer = |(index, &(size_bytes, start, end)): (usize, &(u64, u64, u64))| BareBuffer {
        name: format!("b{index}"),
        size_bytes,
        lifetime: Lifetime { start, end },
    };
    plan(buffers.iter().enumerate().map(buffer).collect(), strategy)
}

/// Two branches that the file runs side by side although one after the other needs less: large, small, large, small.
pub(crate) const POOR_ORDER: &str = r#"{
  "format": "op-list-v1",
  "tensors": [
    { "name": "x", "dtype": "float32", "shape": [16], "kind": "input" },
    { "name": "large1", "dtype": "float32", "shape": [1024, 1024] },
    { "name": "large2", "dtype": "float32", "shape": [1024, 1024] },
    { "name": "small1", "dtype": "float32", "shape": [1024] },
    { "name": "small2", "dtype": "float32", "shape": [1024] },
    { "name": "y", "dtype": "float32", "shape": [1024], "kind": "output" }
  ],
  "ops": [
    { "name": "make1", "op": "matmul", "inputs": ["x"], "outputs": ["large1"] },
    { "name": "make2", "op": "matmul", "inputs": ["x"], "outputs": ["large2"] },
    { "name": "reduce1", "op": "matmul", "inputs": ["large1"], "outputs": ["small1"] },
    { "name": "reduce2", "op": "matmul", "inputs": ["large2"], "outputs": ["small2"] },
    { "name": "join", "op": "matmul", "inputs": ["small1", "small2"], "outputs": ["y"] }
  ]
}"#;

/// The default plan of an op list.
pub(crate) fn json_file(text: &str) -> Arc<Planned> {
    plan_of(read_bytes("test.json", text.as_bytes(), &ReadOptions::default()).expect("a readable op list"), "auto")
}

/// Buffers given as `(bytes, start, end)` at these offsets.
pub(crate) fn placed(buffers: &[(u64, u64, u64)], offsets: &[u64]) -> Arc<Planned> {
    let planned = bare_with(buffers, "naive");
    let plan = Plan::from_offsets("by hand", &planned.prepared.problem, offsets.to_vec());
    Arc::new(Planned::new(Arc::clone(&planned.prepared), plan, planned.options.clone(), 0.0))
}

/// The plan of a generated problem, by a fast strategy.
pub(crate) fn generated(kind: Kind, n: usize) -> Arc<Planned> {
    plan(generate(kind, n, 1), "first-fit")
}

/// The default plan of a sample of `sample-graphs/`.
pub(crate) fn sample(file: &str) -> Arc<Planned> {
    sample_with(file, "auto")
}

/// The plan of a strategy for a sample of `sample-graphs/`.
pub(crate) fn sample_with(file: &str, strategy: &str) -> Arc<Planned> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sample-graphs").join(file);
    let bytes = std::fs::read(&path).expect("a sample");
    let workload = read_bytes(file, &bytes, &ReadOptions::default()).expect("a readable sample");
    plan_of(workload, strategy)
}

fn plan(buffers: Vec<BareBuffer>, strategy: &str) -> Arc<Planned> {
    let workload = Workload {
        file: "test.csv".to_owned(),
        format: "minimalloc-csv",
        title: String::new(),
        description: String::new(),
        source: Source::Buffers(Arc::new(buffers)),
        constraints: None,
        observed: None,
        symbolic_dims: Vec::new(),
        warnings: Vec::new(),
    };
    plan_of(workload, strategy)
}

fn plan_of(workload: Workload, strategy: &str) -> Arc<Planned> {
    let options = PlanOptions { strategy: strategy.to_owned(), ..PlanOptions::default() };
    make_plan(&Arc::new(workload), &options, &Control::unattended()).expect("a plan")
}
