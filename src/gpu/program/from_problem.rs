//! A bare problem as a program: each buffer is written at its first step and read at its last.

use std::collections::BTreeSet;

use arenascope_planner::check::CheckedPlan;

use super::{Home, Program, ProgramBuffer, Read, Step, Value};

/// Steps at which nothing begins or ends are left out, because trace clocks can be sparse.
pub(super) fn program(file: &str, checked: &CheckedPlan) -> Program {
    let (problem, plan) = (checked.problem(), checked.plan());
    let numbers: BTreeSet<u64> = problem.buffers().iter().flat_map(|buffer| [buffer.lifetime.start, buffer.lifetime.end - 1]).collect();
    let numbers: Vec<u64> = numbers.into_iter().collect();
    let index_of = |number: u64| numbers.partition_point(|&other| other < number);
    let step = |&number: &u64| Step { op: format!("step {number}"), number, reads: Vec::new(), writes: Vec::new() };
    let mut steps: Vec<Step> = numbers.iter().map(step).collect();
    let mut buffers = Vec::with_capacity(problem.n_buffers());
    let mut values = Vec::with_capacity(problem.n_buffers());
    for (index, id) in problem.ids().enumerate() {
        let buffer = problem.buffer(id);
        let (first_step, last_step) = (index_of(buffer.lifetime.start), index_of(buffer.lifetime.end - 1));
        let name = format!("buffer {id}");
        steps[first_step].writes.push(index);
        steps[last_step].reads.push(Read { value: index, is_consumed: false });
        buffers.push(ProgramBuffer {
            name: name.clone(),
            home: Home::Arena,
            offset: plan.offset(id),
            bytes: buffer.bytes,
            size_bytes: buffer.size_bytes,
            first_step,
            last_step,
        });
        values.push(Value { name, buffer: index, shift: 0, bytes: buffer.size_bytes, tag: id.0, written_at: Some(first_step), is_output: false });
    }
    let align = problem.align().bytes();
    Program {
        file: file.to_owned(),
        buffers,
        values,
        steps,
        arena_bytes: plan.arena_bytes,
        static_bytes: 0,
        align,
        scale: 1,
        compute: None,
        order: None,
    }
}
