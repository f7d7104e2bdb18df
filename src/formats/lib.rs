//! Readers and writers of model graphs, planning problems and plans.
//!
//! [`read`] tells the format by its content, then by the file's name, and gives a
//! [`Workload`](arenascope_planner::workload::Workload). One file or folder per format:
//!
//! | module | reads | writes |
//! | --- | --- | --- |
//! | [`onnx`] | ONNX models, weights skipped | |
//! | [`oplist`] | op lists in JSON: forward and backward graphs, hand-made examples | |
//! | [`minimalloc`] | buffers with lifetimes in CSV, with alignments, fixed offsets and gaps | the same, with offsets |
//! | [`problem_json`] | planning problems in JSON with all their rules | the same |
//! | [`plan_file`] | plans in JSON | the same |
//! | [`dot`] | | graphs and interference graphs for Graphviz |
//!
//! Readers are tolerant: what they cannot know becomes a warning in the workload; only an unreadable file is an error.

pub mod atomic;
pub mod dot;
pub mod error;
pub mod minimalloc;
pub mod onnx;
pub mod oplist;
pub mod plan_file;
pub mod problem_json;

mod detect;

pub use detect::{FormatInfo, ReadOptions, formats, read, read_bytes};
pub use error::FormatError;
