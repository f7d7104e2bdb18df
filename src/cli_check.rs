//! A plan file against the file it was made for.

use std::path::Path;

use anyhow::Context;
use arenascope_formats::ReadOptions;
use arenascope_formats::plan_file::{PlanFile, plan_from_json};
use arenascope_planner::alias::Io;
use arenascope_planner::prepare::{PrepareSettings, Prepared, prepare_in_order};
use arenascope_planner::schedule::Schedule;
use arenascope_planner::units::Align;
use serde::Serialize;

use crate::cli_json::object;
use crate::cli_plan::{Planned, judge, load};
use crate::cli_print::{counted, exact_bytes, grouped};
use crate::cli_report::{all_faults, n_faults};
use crate::cli_request::ProblemOverrides;

/// The largest plan file that is read: a million buffers take 300 MB, and more is no plan.
const MAX_PLAN_BYTES: u64 = 4 << 30;

/// Reads a plan and checks it, geometrically and, for graphs, by replay.
///
/// The problem is made with the settings that the plan file names, unless the command line overrides them.
pub(crate) fn check_plan(file: &Path, plan_path: &Path, read: &ReadOptions, overrides: ProblemOverrides) -> anyhow::Result<(Prepared, Planned)> {
    let plan_file = read_plan(plan_path)?;
    let settings = overrides.over(own_settings(&plan_file));
    let mut prepared = load(file, read, settings)?;
    if overrides.order.is_none() && !plan_file.order.is_empty() {
        prepared = in_own_order(prepared, &plan_file, plan_path)?;
    }
    let plan = plan_file.for_problem(&prepared).with_context(|| plan_path.display().to_string())?;
    let planned = judge(&prepared, plan, 0.0);
    Ok((prepared, planned))
}

/// The problem for the order that the plan was made for.
fn in_own_order(prepared: Prepared, plan_file: &PlanFile, plan_path: &Path) -> anyhow::Result<Prepared> {
    let Some(context) = &prepared.context else { return Ok(prepared) };
    let place = || plan_path.display().to_string();
    let Some(schedule) = Schedule::from_names(&context.graph, &plan_file.order) else {
        // A plan for another model lacks buffers; that says more than its order.
        plan_file.for_problem(&prepared).with_context(place)?;
        let (n_listed, n_ops) = (counted(plan_file.order.len() as u64, "op"), prepared.n_ops);
        anyhow::bail!(
            "{}: its order of {n_listed} is none of this model of {n_ops}: each op once, after what it reads; leave `order` out for the file's",
            place()
        );
    };
    if schedule == context.schedule {
        return Ok(prepared);
    }
    prepare_in_order(&prepared.workload, schedule, prepared.settings).with_context(place)
}

pub(crate) fn read_plan(path: &Path) -> anyhow::Result<PlanFile> {
    let place = || path.display().to_string();
    let metadata = std::fs::metadata(path).with_context(place)?;
    anyhow::ensure!(metadata.is_file(), "{}: not a file; give the plan that `export -o PLAN.json` wrote", place());
    anyhow::ensure!(metadata.len() <= MAX_PLAN_BYTES, "{}: {} is more than any plan takes", place(), exact_bytes(metadata.len()));
    let bytes = std::fs::read(path).with_context(place)?;
    let text =
        String::from_utf8(bytes).with_context(|| format!("{}: not a plan, which is JSON text; write one with `export -o PLAN.json`", place()))?;
    plan_from_json(&text).with_context(place)
}

fn own_settings(plan: &PlanFile) -> PrepareSettings {
    let mut settings = PrepareSettings::default();
    settings.align = plan.align.and_then(Align::new).unwrap_or(settings.align);
    settings.alias.in_place = plan.in_place.as_deref().map_or(settings.alias.in_place, |word| word != "off");
    settings.subgraphs = plan.subgraphs.as_deref() != Some("off");
    settings.alias.io = if plan.io.as_deref() == Some("arena") { Io::Arena } else { Io::Static };
    settings.parallel = plan.parallel.as_deref().and_then(|mode| mode.parse().ok()).unwrap_or_default();
    settings
}

/// `valid`, or every fault; then the verdict on the capacity, if there is one.
pub(crate) fn text_report(prepared: &Prepared, planned: &Planned) -> String {
    let faults = all_faults(prepared, planned);
    let unlisted = n_faults(planned).saturating_sub(faults.len() as u64);
    let held = format!("{} in an arena of {}", counted(planned.summary.buffers, "buffer"), exact_bytes(planned.summary.arena_bytes));
    let mut text = if planned.is_valid() { format!("valid: {held}\n") } else { format!("invalid: {}\n", counted(n_faults(planned), "fault")) };
    for fault in faults {
        text.push_str(&format!("  {fault}\n"));
    }
    if unlisted > 0 {
        text.push_str(&format!("  and {} more that are counted but not listed\n", grouped(unlisted)));
    }
    text + &capacity_verdict(planned)
}

/// A line for each capacity that the plan is over; empty if it fits.
pub(crate) fn capacity_verdict(planned: &Planned) -> String {
    let mut text = String::new();
    if let Some(capacity) = planned.summary.capacity_bytes.filter(|&capacity| planned.summary.arena_bytes > capacity) {
        let (arena, capacity) = (exact_bytes(planned.summary.arena_bytes), exact_bytes(capacity));
        text.push_str(&format!("does not fit: the arena of {arena} is larger than the capacity of {capacity}\n"));
    }
    for pool in planned.summary.pools.iter().filter(|pool| !pool.fits()) {
        let (arena, capacity) = (exact_bytes(pool.arena_bytes), exact_bytes(pool.capacity_bytes.unwrap_or(0)));
        text.push_str(&format!("does not fit: {} needs {arena}, but has {capacity}\n", pool.name));
    }
    text
}

/// What `check --json` prints.
#[derive(Serialize)]
struct CheckJson {
    valid: bool,
    arena_bytes: u64,
    capacity_bytes: Option<u64>,
    fits_capacity: bool,
    overlaps: u64,
    n_faults: u64,
    faults: Vec<String>,
}

/// The same for programs.
pub(crate) fn json_report(prepared: &Prepared, planned: &Planned) -> String {
    object(&CheckJson {
        valid: planned.is_valid(),
        arena_bytes: planned.summary.arena_bytes,
        capacity_bytes: planned.summary.capacity_bytes,
        fits_capacity: planned.summary.fits_capacity,
        overlaps: planned.report.n_overlaps,
        n_faults: n_faults(planned),
        faults: all_faults(prepared, planned),
    })
}
