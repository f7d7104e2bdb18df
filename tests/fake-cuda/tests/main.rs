//! What a run finds and measures, on the CPU and on the fake driver, in this process and in a child.

mod child;
mod clobbered_reads;
mod compute;
mod curves;
mod faults;
mod kernels;
mod planted_bugs;
mod streams;
mod support;
