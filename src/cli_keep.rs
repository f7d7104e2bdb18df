//! Planning again with the places of an older plan: the plan, and what moved, grew, appeared and vanished.

use std::path::Path;
use std::time::Instant;

use arenascope_planner::control::Control;
use arenascope_planner::keep::{KeepReport, plan_keeping};
use arenascope_planner::prepare::Prepared;
use serde::Serialize;

use crate::cli_check::read_plan;
use crate::cli_plan::{Planned, judge};
use crate::cli_print::{counted, exact_bytes, grouped};
use crate::cli_request::Job;

/// How many buffers each list of the text names; `--json` lists all.
const SHOWN: usize = 10;

/// Plans with the places that `plan` gives to buffers that did not change.
pub(crate) fn make_plan(prepared: &Prepared, job: &Job, plan: &Path) -> anyhow::Result<(Planned, KeepReport)> {
    let old = read_plan(plan)?.to_keep();
    let began = Instant::now();
    let should_stop = || job.run.time_limit.is_some_and(|limit| began.elapsed() >= limit);
    let control = Control::new(&should_stop, &|_| ());
    let name = |buffer| prepared.buffer_name(buffer);
    let (plan, report) = plan_keeping(&prepared.problem, name, &old, prepared.context.as_deref(), &job.run.solve, &control)?;
    let seconds = began.elapsed().as_secs_f64();
    Ok((judge(prepared, plan, seconds), report))
}

/// What became of the old plan, for people.
pub(crate) fn text(prepared: &Prepared, report: &KeepReport) -> String {
    let mut text = format!("\nkept {} ({}) in place", counted(report.n_kept, "buffer"), exact_bytes(report.kept_bytes));
    if report.gave_up_places {
        text.push_str("; more could not stay, because the arena would be over its capacity");
    }
    text.push('\n');
    let name = |id| format!("`{}`", prepared.buffer_name(id));
    let moved = report.moved.iter().map(|moved| format!("{} from byte {} to {}", name(moved.buffer), grouped(moved.from), grouped(moved.to)));
    let resized =
        report.resized.iter().map(|size| format!("{} from {} to {}", name(size.buffer), exact_bytes(size.from_bytes), exact_bytes(size.to_bytes)));
    let vanished = report.vanished.iter().map(|old| format!("`{}`", old.name.escape_debug()));
    list(&mut text, &format!("moved ({})", exact_bytes(report.moved_bytes)), moved.collect());
    list(&mut text, "changed size", resized.collect());
    list(&mut text, "appeared", report.appeared.iter().map(|&id| name(id)).collect());
    list(&mut text, "vanished", vanished.collect());
    text
}

fn list(text: &mut String, what: &str, lines: Vec<String>) {
    if lines.is_empty() {
        return;
    }
    text.push_str(&format!("{}: {what}\n", counted(lines.len() as u64, "buffer")));
    for line in lines.iter().take(SHOWN) {
        text.push_str(&format!("  {line}\n"));
    }
    if lines.len() > SHOWN {
        text.push_str(&format!("  and {} more\n", grouped((lines.len() - SHOWN) as u64)));
    }
}

/// The same for programs: the value of the key `keep`.
#[derive(Serialize)]
pub(crate) struct KeepJson<'a> {
    kept: u64,
    kept_bytes: u64,
    moved_bytes: u64,
    gave_up_places: bool,
    moved: Vec<MovedJson<'a>>,
    resized: Vec<ResizedJson<'a>>,
    appeared: Vec<&'a str>,
    vanished: Vec<&'a str>,
}

#[derive(Serialize)]
struct MovedJson<'a> {
    name: &'a str,
    from: u64,
    to: u64,
}

#[derive(Serialize)]
struct ResizedJson<'a> {
    name: &'a str,
    from_bytes: u64,
    to_bytes: u64,
}

/// The report of what became of the old plan.
pub(crate) fn json<'a>(prepared: &'a Prepared, report: &'a KeepReport) -> KeepJson<'a> {
    let name = |id| prepared.buffer_name(id);
    let moved = |moved: &arenascope_planner::keep::Moved| MovedJson { name: name(moved.buffer), from: moved.from, to: moved.to };
    let resized =
        |size: &arenascope_planner::keep::Resized| ResizedJson { name: name(size.buffer), from_bytes: size.from_bytes, to_bytes: size.to_bytes };
    KeepJson {
        kept: report.n_kept,
        kept_bytes: report.kept_bytes,
        moved_bytes: report.moved_bytes,
        gave_up_places: report.gave_up_places,
        moved: report.moved.iter().map(moved).collect(),
        resized: report.resized.iter().map(resized).collect(),
        appeared: report.appeared.iter().map(|&id| name(id)).collect(),
        vanished: report.vanished.iter().map(|old| old.name.as_str()).collect(),
    }
}
