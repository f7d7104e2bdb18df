//! Readers and writers: expected values stand in `tests/data`, with their source beside them.

mod built_models;
mod csv_problems;
mod mutated_files;
mod onnx_reading;
mod onnx_shapes;
mod op_lists;
mod plan_files;
mod problem_files;
mod support;
mod totals;
mod wrong_files;
