//! What the tests of this folder share: paths, and one way to read and to prepare.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arenascope_formats::{FormatError, ReadOptions, read, read_bytes};
use arenascope_planner::alias::{AliasSettings, Io};
use arenascope_planner::control::Control;
use arenascope_planner::graph::Graph;
use arenascope_planner::prepare::{PrepareSettings, Prepared, prepare};
use arenascope_planner::trace::Trace;
use arenascope_planner::units::Align;
use arenascope_planner::workload::{Source, Workload};
use serde::Deserialize;

/// One variant of a reference: how many buffers, and which totals.
#[derive(Deserialize, PartialEq, Eq, Debug, Clone, Copy)]
pub(crate) struct Totals {
    pub(crate) buffers: u64,
    pub(crate) naive: u64,
    pub(crate) peak: u64,
}

/// What is known of one model.
#[derive(Deserialize)]
pub(crate) struct Model {
    pub(crate) file: String,
    pub(crate) dims: BTreeMap<String, u64>,
    pub(crate) ops: usize,
    pub(crate) variants: BTreeMap<String, Totals>,
    /// The activation block that ONNX Runtime plans without optimisations, in bytes; `None` if it was not measured.
    #[serde(default)]
    pub(crate) ort_none: Option<u64>,
}

#[derive(Deserialize)]
struct Reference {
    models: BTreeMap<String, Model>,
}

/// All ONNX models of the tests by name.
pub(crate) fn models() -> BTreeMap<String, Model> {
    let text = std::fs::read_to_string(path("tests/data/onnx/reference.json")).expect("the reference is part of the tests");
    serde_json::from_str::<Reference>(&text).expect("the reference is well-formed").models
}

/// A path inside the repository.
pub(crate) fn path(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(relative)
}

/// Reads a file as the program does.
pub(crate) fn open(file: &Path, dims: &[(&str, u64)]) -> Result<Workload, FormatError> {
    let dims = dims.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    read(file, &ReadOptions { dims, ..ReadOptions::default() }, &Control::unattended())
}

/// Reads a model of the reference with its dimensions.
pub(crate) fn open_model(model: &Model) -> Arc<Workload> {
    let dims: Vec<(&str, u64)> = model.dims.iter().map(|(name, &value)| (name.as_str(), value)).collect();
    Arc::new(open(&path(&model.file), &dims).expect("a model of the tests"))
}

/// Reads bytes under a name.
pub(crate) fn parse(name: &str, bytes: &[u8]) -> Result<Workload, FormatError> {
    read_bytes(name, bytes, &ReadOptions::default())
}

/// A damaged file may be read or refused; what is said of it is one line.
pub(crate) fn one_line(result: Result<Workload, FormatError>) {
    if let Err(error) = result {
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}

/// A number as protocol buffers write it.
pub(crate) fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(u8::try_from(value & 0x7f).expect("seven bits") | 0x80);
        value >>= 7;
    }
    bytes.push(u8::try_from(value).expect("seven bits"));
    bytes
}

/// The graph of a workload that has one.
pub(crate) fn graph(workload: &Workload) -> &Graph {
    match &workload.source {
        Source::Graph(graph) => graph,
        Source::Buffers(_) | Source::Trace(_) => panic!("{} has no graph", workload.file),
    }
}

/// The trace of a workload that has one.
pub(crate) fn trace(workload: &Workload) -> &Trace {
    match &workload.source {
        Source::Trace(trace) => trace,
        Source::Buffers(_) | Source::Graph(_) => panic!("{} has no trace", workload.file),
    }
}

/// The problem with alignment 1.
pub(crate) fn prepared(workload: &Arc<Workload>, in_place: bool, io: Io) -> Prepared {
    let settings = PrepareSettings { align: Align::ONE, alias: AliasSettings { in_place, io }, subgraphs: false, ..PrepareSettings::default() };
    prepare(workload, settings).expect("a problem that adds up")
}

/// Buffers, naive total and peak; the peak by a sweep of its own, beside the planner's.
pub(crate) fn totals(workload: &Arc<Workload>, in_place: bool, io: Io) -> Totals {
    let prepared = prepared(workload, in_place, io);
    let mut events: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for buffer in prepared.problem.buffers() {
        events.entry(buffer.lifetime.start).or_default().0 += buffer.bytes;
        events.entry(buffer.lifetime.end).or_default().1 += buffer.bytes;
    }
    let (mut live, mut peak) = (0, 0);
    for (born, died) in events.into_values() {
        live = live + born - died;
        peak = peak.max(live);
    }
    Totals { buffers: prepared.problem.n_buffers() as u64, naive: prepared.naive_bytes, peak }
}
