//! A plan as a C header: the size of the arena, and where each tensor is in it.

use std::collections::HashSet;

use arenascope_planner::ids::BufferId;
use arenascope_planner::plan::Plan;
use arenascope_planner::prepare::Prepared;

use crate::error::clean;

/// A plan as C99, and C++ as well. Names are those of the tensors with everything but letters and digits replaced, and
/// a number behind those that would be the same. Time and space O(tensors).
#[must_use]
pub fn plan_to_header(prepared: &Prepared, plan: &Plan) -> String {
    let stem = prepared.workload.file.split('.').next().unwrap_or_default();
    let prefix = identifier(if stem.is_empty() { "model" } else { stem }).to_ascii_lowercase();
    let upper = prefix.to_ascii_uppercase();
    let problem = &prepared.problem;
    let own = problem.ids().filter_map(|id| problem.constraints()?.align(id));
    let align = own.fold(problem.align().bytes(), |all, own| common_multiple(all, own.bytes()));
    let mut text = format!(
        "/* Memory plan of {}: {} buffers in {} bytes, by {}. */\n\
         #ifndef ARENA_{upper}_H\n#define ARENA_{upper}_H\n\n\
         #include <stddef.h>\n#include <stdint.h>\n\n\
         /* The arena must begin at a multiple of ARENA_{upper}_ALIGN. */\n\
         #define ARENA_{upper}_BYTES ((size_t){}ULL)\n\
         #define ARENA_{upper}_ALIGN ((size_t){align}ULL)\n\n\
         /* The address of a tensor: the arena's first byte and one of the offsets below. */\n\
         #define ARENA_{upper}_ADDRESS(base, offset) ((void *)((uint8_t *)(base) + (offset)))\n\n",
        in_comment(&prepared.workload.file),
        problem.n_buffers(),
        plan.arena_bytes,
        in_comment(&plan.strategy),
        plan.arena_bytes,
    );
    let mut taken = HashSet::new();
    for id in problem.ids() {
        for name in names(prepared, id) {
            let buffer = problem.buffer(id);
            let constant = unique(format!("arena_{prefix}_offset_{}", identifier(&name)), &mut taken);
            text.push_str(&format!(
                "static const size_t {constant} = (size_t){}ULL; /* {}: buffer {}, {} bytes, steps {} to {} */\n",
                plan.offset(id),
                in_comment(&name),
                id.0,
                buffer.size_bytes,
                buffer.lifetime.start,
                buffer.lifetime.end - 1,
            ));
        }
    }
    text.push_str(&format!("\n#endif /* ARENA_{upper}_H */\n"));
    text
}

/// The smallest number that both divide; the larger one where that does not fit into 64 bits.
pub(crate) fn common_multiple(one: u64, two: u64) -> u64 {
    let (mut divisor, mut rest) = (one, two);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (one / divisor).checked_mul(two).unwrap_or(one.max(two))
}

/// The tensors of a buffer, or its own name.
fn names(prepared: &Prepared, id: BufferId) -> Vec<String> {
    match &prepared.context {
        Some(context) => prepared.buffer_tensors(id).iter().map(|&tensor| context.graph.tensor(tensor).name.clone()).collect(),
        None => vec![prepared.buffer_name(id).to_owned()],
    }
}

/// The text with every character that no C name may hold replaced; it may begin with a digit.
fn identifier(name: &str) -> String {
    let replaced: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if replaced.is_empty() { "unnamed".to_owned() } else { replaced }
}

fn unique(name: String, taken: &mut HashSet<String>) -> String {
    let mut candidate = name.clone();
    let mut number = 2_u64;
    while !taken.insert(candidate.clone()) {
        candidate = format!("{name}__{number}");
        number += 1;
    }
    candidate
}

/// Text that does not end the comment it is in, nor begin another.
fn in_comment(text: &str) -> String {
    clean(text).replace("*/", "* /").replace("/*", "/ *").replace('\\', "/")
}
