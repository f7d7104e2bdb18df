//! Op lists: a graph as plain JSON, for what ONNX cannot carry (a backward pass) and for examples made by hand.
//!
//! # The file
//!
//! ```json
//! {
//!   "format": "op-list-v1",
//!   "title": "Two ops",
//!   "description": "What to look for.",
//!   "tensors": [
//!     { "name": "x", "dtype": "float32", "shape": [1024] },
//!     { "name": "a", "dtype": "float32", "shape": [1024] },
//!     { "name": "y", "bytes": "4 KiB" }
//!   ],
//!   "ops": [
//!     { "op": "relu", "inputs": ["x"], "outputs": ["a"] },
//!     { "name": "last", "op": "matmul", "inputs": ["a"], "outputs": ["y"] }
//!   ],
//!   "outputs": ["y"]
//! }
//! ```
//!
//! | field | meaning | if it is left out |
//! | --- | --- | --- |
//! | `format` | `op-list-v1` | an error |
//! | `title`, `description` | shown as they are | empty (`model` and `producer` stand in) |
//! | `tensors` | the tensors, in any order | an error |
//! | `ops` | the ops, in the order in which they run | an error |
//! | `inputs`, `outputs` | tensors that the caller gives and gets | what no op writes; none |
//!
//! A tensor:
//!
//! | field | meaning | if it is left out |
//! | --- | --- | --- |
//! | `id` | a whole number by which ops may refer to it | refer to it by name |
//! | `name` | its name | made from the id |
//! | `dtype` | `float32`, `f32`, `bfloat16`, `int64`, `bool`, … | unknown: give `bytes` |
//! | `shape` | a list of numbers | unknown: give `bytes` |
//! | `bytes` | its size: a number, or text such as `"4 MiB"` | dtype × shape |
//! | `kind` | `parameter`, `buffer`, `constant`, `optimizer_state`, `input`, `output`, `activation`, `gradient`, `workspace` | input if no op writes it, output if `outputs` lists it, else activation |
//! | `alias_of` | the tensor whose storage it shares (a view), or `null` for none | by the op's name |
//!
//! An op:
//!
//! | field | meaning | if it is left out |
//! | --- | --- | --- |
//! | `op` | what it does: ATen names (`aten.relu.default`), or plain ones (`relu`) | an error |
//! | `name` | its name | made from `op` and its position |
//! | `inputs`, `outputs` | the tensors it reads and writes, by id or by name | none |
//! | `in_place` | pairs `[input, output]`: the output may take the input's storage; `[]` forbids it | by the op's name: [`classes`] |
//!
//! An op without inputs makes its output anew in each run, so that its output is dynamic; an op that reads only
//! parameters, constants and what follows from them makes a static one.
//! `buffer` is state that persists between runs, such as the running mean of a batch normalisation.
//! A tensor of kind `parameter`, `buffer`, `constant` or `optimizer_state` is static; all others are planned as the
//! settings say. A graph output that is a gradient keeps the kind `gradient` only if `outputs` does not list it.

mod arithmetic;
mod build;
pub mod classes;
mod entries;

pub(crate) use build::read;

/// The format's short name.
pub const FORMAT: &str = "op-list";
