//! ONNX models: the user's own graph, with every shape that can be known.
//!
//! A file is read in one pass without its weights (`wire`, `parse`, `tensor_data`), open dimensions become numbers
//! (`bind`), ops get their storage rules (`classes`), and one walk works out every shape (`infer`, `rules`).
//! Declared shapes of inner values and of outputs are not used: exporters leave stale and symbolic ones behind.

mod arithmetic;
mod bind;
mod build;
mod call;
mod captured;
mod classes;
mod control_flow;
mod infer;
mod model;
mod names;
mod parse;
mod rules;
mod tensor_data;
mod tensor_facts;
mod value;
mod wire;

use std::io::{BufReader, Read, Seek};

use arenascope_planner::control::Control;
use arenascope_planner::workload::Workload;

use crate::detect::{Origin, ReadOptions};
use crate::error::FormatError;

/// The format's short name.
pub const FORMAT: &str = "onnx";

/// Whether bytes can be the start of a serialised model: its version first, then another of its fields.
pub(crate) fn looks_like_a_model(head: &[u8]) -> bool {
    matches!(head, [0x08, 1..=127, 0x12 | 0x1a | 0x22 | 0x2a | 0x32 | 0x3a | 0x42, ..])
}

/// Reads a model. Time and space in proportion to its ops, not to its weights.
pub(crate) fn read<R: Read + Seek>(
    origin: &Origin,
    source: BufReader<R>,
    options: &ReadOptions,
    control: &Control<'_>,
) -> Result<Workload, FormatError> {
    let mut reader = wire::Reader::new(origin, source);
    let model = parse::model(&mut reader, control)?;
    build::workload(origin, &model, options, control)
}
