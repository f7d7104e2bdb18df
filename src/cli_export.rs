//! Files written by the headless commands: plans, graphs and synthetic problems.

use std::path::Path;

use anyhow::Context;
use arenascope_formats::atomic::write_atomically;
use arenascope_formats::c_header::plan_to_header;
use arenascope_formats::dot::{graph_to_dot, problem_to_dot};
use arenascope_formats::dsa::problem_to_json;
use arenascope_formats::minimalloc::{buffers_to_csv, plan_to_csv};
use arenascope_formats::plan_file::plan_to_json;
use arenascope_formats::tflite::with_plan;
use arenascope_planner::generate::{Kind, generate};
use arenascope_planner::ids::BufferId;
use arenascope_planner::prepare::Prepared;
use arenascope_planner::workload::Source;

use crate::cli_check::capacity_verdict;
use crate::cli_plan::Planned;
use crate::cli_print::{counted, exact_bytes};
use crate::cli_report::badge;
use crate::cli_request::PlanKind;

/// The most edges of an interference graph that are written: more is neither drawn nor read by anyone.
const MAX_DOT_EDGES: usize = 20_000;

/// Writes the plan and says what was written.
pub(crate) fn export_plan(prepared: &Prepared, planned: &Planned, kind: PlanKind, file: &Path, output: &Path) -> anyhow::Result<String> {
    let has_pools = !prepared.problem.pools().is_empty();
    anyhow::ensure!(
        !has_pools || !matches!(kind, PlanKind::Dsa | PlanKind::Header),
        "this kind of file knows one arena, and the plan has several pools; write it as .json"
    );
    let bytes = match kind {
        PlanKind::Csv => plan_to_csv(prepared, &planned.plan).into_bytes(),
        PlanKind::Json => plan_to_json(prepared, &planned.plan).into_bytes(),
        PlanKind::Dsa => problem_to_json(prepared, Some(&planned.plan)).into_bytes(),
        PlanKind::Header => plan_to_header(prepared, &planned.plan).into_bytes(),
        PlanKind::Tflite => {
            let shown = file.display().to_string();
            let model = std::fs::read(file).with_context(|| shown.clone())?;
            with_plan(&shown, &model, prepared, &planned.plan)?
        }
    };
    write_atomically(output, &bytes)?;
    let (buffers, arena) = (counted(planned.summary.buffers, "buffer"), exact_bytes(planned.summary.arena_bytes));
    let caution = if kind == PlanKind::Tflite && prepared.settings.alias.in_place {
        "  some ops write over their inputs in this plan; --in-place off makes one for kernels that may not\n"
    } else {
        ""
    };
    let verdict = capacity_verdict(planned);
    Ok(format!("{}: plan of {buffers} in {arena} by {}; {}\n{caution}{verdict}", output.display(), planned.summary.strategy, badge(planned)))
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
