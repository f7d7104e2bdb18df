//! Files written by the headless commands: plans, graphs and synthetic problems.

use std::path::Path;

use arenascope_formats::atomic::write_atomically;
use arenascope_formats::dot::{graph_to_dot, problem_to_dot};
use arenascope_formats::minimalloc::{buffers_to_csv, plan_to_csv};
use arenascope_formats::plan_file::plan_to_json;
use arenascope_planner::generate::{Kind, generate};
use arenascope_planner::ids::BufferId;
use arenascope_planner::prepare::Prepared;
use arenascope_planner::workload::Source;

use crate::cli_plan::Planned;
use crate::cli_print::{counted, exact_bytes};
use crate::cli_report::badge;
use crate::cli_request::PlanKind;

/// The most edges of an interference graph that are written: more is neither drawn nor read by anyone.
const MAX_DOT_EDGES: usize = 20_000;

/// Writes the plan and says what was written.
pub(crate) fn export_plan(prepared: &Prepared, planned: &Planned, kind: PlanKind, output: &Path) -> anyhow::Result<String> {
    let text = match kind {
        PlanKind::Csv => plan_to_csv(prepared, &planned.plan),
        PlanKind::Json => plan_to_json(prepared, &planned.plan),
    };
    write_atomically(output, text.as_bytes())?;
    let (buffers, arena) = (counted(planned.summary.buffers, "buffer"), exact_bytes(planned.summary.arena_bytes));
    Ok(format!("{}: plan of {buffers} in {arena} by {}; {}\n", output.display(), planned.summary.strategy, badge(planned)))
}

/// Writes the op graph, or the interference graph of a bare problem, and says what was written.
pub(crate) fn export_dot(prepared: &Prepared, output: &Path) -> anyhow::Result<String> {
    let (text, what) = match &prepared.workload.source {
        Source::Graph(graph) => (graph_to_dot(graph), format!("graph of {}", counted(prepared.n_ops as u64, "op"))),
        Source::Buffers(_) | Source::Trace(_) => {
            let name = |index: usize| prepared.buffer_name(BufferId::new(index));
            (
                problem_to_dot(&prepared.problem, name, MAX_DOT_EDGES),
                format!("interference graph of {}", counted(prepared.n_tensors as u64, "buffer")),
            )
        }
    };
    write_atomically(output, text.as_bytes())?;
    Ok(format!("{}: {what}\n", output.display()))
}

/// Writes a synthetic problem and says what was written.
pub(crate) fn export_generated(kind: Kind, n: usize, seed: u64, output: &Path) -> anyhow::Result<String> {
    let buffers = generate(kind, n, seed);
    write_atomically(output, buffers_to_csv(&buffers).as_bytes())?;
    Ok(format!("{}: {} with seed {seed}\n", output.display(), counted(n as u64, "buffer")))
}
