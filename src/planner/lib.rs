//! Lifetimes, interference and arena plans of tensors.
//!
//! The pipeline: a [`workload::Workload`] (a graph, a memory trace, or bare buffers) is scheduled, its tensors are joined into
//! buffers and given lifetimes ([`prepare`]); the resulting [`problem::Problem`] goes to a strategy ([`solve`]),
//! whose [`plan::Plan`] is checked by two checkers that share no code with it ([`check`], [`replay`]) and measured
//! ([`metrics`]).
//!
//! # Glossary
//!
//! | word | meaning |
//! | --- | --- |
//! | op | one node of the graph; reads and writes tensors |
//! | tensor | a value in the graph: name, dtype, shape, size in bytes, role |
//! | static memory | parameters, constants, what is derived from them alone, graph inputs and outputs, persistent state |
//! | dynamic memory | op outputs, gradients and workspaces: what a plan reuses |
//! | schedule, step | the order in which ops run; a position in it, counted from 0 |
//! | lifetime | half-open range of steps `[start, end)`: `start` writes first, `end` is one past the last read |
//! | buffer | storage shared by one or more tensors (views, in-place results) |
//! | interference | two buffers are live at the same step |
//! | slot | a colour of the interference graph: one reusable block, as large as its largest buffer |
//! | arena, offset | one contiguous allocation; a buffer's first byte in it |
//! | naive total | every dynamic tensor in its own block |
//! | live bytes, peak | sum of the buffers live at a step; its maximum, a lower bound for every plan |
//! | gap | (arena − lower bound) / lower bound |
//! | hole | bytes inside the arena that no live buffer covers at a step |
//! | strategy | an algorithm that makes a plan |
//! | pool | one of several memories, each with an arena of its own |
//! | sub-view | a buffer at a byte offset inside another one |
//! | gap (of a lifetime) | steps in which a buffer need not be kept |
//! | chunk | a stretch of an arena that no buffer may reach out of |
//! | observed plan | offsets that another tool chose, read from a file |
//! | trace, event | what a real allocator did; one thing that it did |
//! | block | memory that a real allocator handed out, from its allocation to its release; a buffer of the problem |
//! | segment | memory that a real allocator holds and cuts into blocks |

pub mod alias;
pub mod arithmetic;
mod bodies;
pub mod bounds;
pub mod check;
mod check_rules;
mod check_sweep;
pub mod constraints;
pub mod control;
pub mod dependencies;
pub mod diff;
mod dtype;
pub mod explain;
mod families;
pub mod fragmentation;
pub mod generate;
pub mod graph;
pub mod ids;
pub mod interference;
mod interval_index;
pub mod keep;
pub mod kept_apart;
pub mod lifetimes;
pub mod links;
pub mod lookup;
pub mod metrics;
pub mod observed;
pub mod order;
pub mod parallel;
pub mod plan;
pub mod prepare;
pub mod problem;
mod ranges;
pub mod recording;
pub mod replay;
pub mod rigid;
pub mod schedule;
pub mod solve;
pub mod stacks;
pub mod summary;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(any(test, feature = "testing"))]
pub mod testing_rules;
#[cfg(any(test, feature = "testing"))]
pub mod tight_toys;
pub mod trace;
pub mod units;
pub mod workload;
