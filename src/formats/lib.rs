//! Readers and writers of model graphs, planning problems and plans.
//!
//! [`read`] tells the format by its content, then by the file's name, and gives a
//! [`Workload`](arenascope_planner::workload::Workload). One file or folder per format:
//!
//! | module | reads | writes |
//! | --- | --- | --- |
//! | [`onnx`] | ONNX models, weights skipped | |
//! | [`tflite`] | TFLite models, and plans in them | plans into them |
//! | [`executorch`] | ExecuTorch programs with their plan | |
//! | [`openvino`] | OpenVINO's model graphs | |
//! | [`oplist`] | op lists in JSON: forward and backward graphs, hand-made examples | |
//! | [`xla`] | XLA's buffer assignments and live ranges, with XLA's plan | |
//! | [`minimalloc`] | buffers with lifetimes in CSV, with alignments, fixed offsets and gaps | the same, with offsets |
//! | [`problem_json`] | planning problems in JSON with all their rules | the same |
//! | [`torch`] | memory snapshots and profiler traces of PyTorch | |
//! | [`dsa`] | buffers with lifetimes in dsa-solver's JSON | the same |
//! | [`printed`] | plans that TensorFlow Lite Micro and Vela print | |
//! | [`plan_file`] | plans in JSON | the same |
//! | [`c_header`] | | offsets as a C header |
//! | [`dot`] | | graphs and interference graphs for Graphviz |
//!
//! Readers are tolerant: what they cannot know becomes a warning in the workload; only an unreadable file is an error.

pub mod atomic;
pub mod c_header;
pub mod dot;
pub mod dsa;
pub mod error;
pub mod executorch;
pub mod minimalloc;
pub mod onnx;
pub mod openvino;
pub mod oplist;
pub mod plan_file;
pub mod printed;
pub mod problem_json;
pub mod tflite;
pub mod torch;
pub mod xla;

mod detect;
mod dims;
mod extras;
mod flat_tables;
mod json_fault;
mod open;
mod open_shapes;
mod packed;
mod typed_in;
mod zip;

pub use detect::{FormatInfo, ReadOptions, formats};
pub use error::FormatError;
pub use open::{read, read_all, read_bytes};
