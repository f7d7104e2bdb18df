//! Readers and writers: expected values stand in `tests/data`, with their source beside them.

mod built_models;
mod c_headers;
mod compiled_programs;
mod csv_problems;
mod mutated_files;
mod onnx_bodies;
mod onnx_ml;
mod onnx_reading;
mod onnx_shapes;
mod op_lists;
mod other_problems;
mod pickle_writer;
mod plan_files;
mod problem_files;
mod support;
mod tflite_models;
mod torch_damaged;
mod torch_profiler;
mod torch_snapshots;
mod totals;
mod wrong_files;
