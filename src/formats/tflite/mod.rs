//! TFLite models: every shape is in the file, so that only other numbers for its open axes have to be worked out; and
//! plans, read and written.
//!
//! A file may carry a plan in its metadata, `OfflineMemoryAllocation`: that is how a plan made here reaches TensorFlow
//! Lite Micro. Variable tensors keep their content between runs and are static.

mod build;
mod open;
mod ops;
mod schema;
mod write;

use std::io::{Read, Seek};

use arenascope_planner::control::Control;
use arenascope_planner::workload::Workload;

use crate::detect::{Origin, ReadOptions};
use crate::error::FormatError;
use crate::flat_tables::FlatFile;

pub use write::with_plan;

/// The format's short name.
pub const FORMAT: &str = "tflite";

/// Reads a model. Time and space in proportion to its tables, not to its weights.
pub(crate) fn read<R: Read + Seek>(origin: &Origin, source: R, options: &ReadOptions, control: &Control<'_>) -> Result<Workload, FormatError> {
    if control.is_stopped() {
        return Err(FormatError::Stopped { path: origin.path.clone() });
    }
    let file = FlatFile::new(origin, source);
    let model = schema::model(file.root()?)?;
    build::workload(origin, &model, &options.dims)
}
