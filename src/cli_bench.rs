//! What strategies reach on many files, and what that costs: the figures behind a claim.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use arenascope_formats::ReadOptions;
use arenascope_planner::generate::{Kind, generate};
use arenascope_planner::prepare::{PrepareSettings, Prepared, prepare};
use arenascope_planner::solve::{AUTO, SolveError};
use arenascope_planner::workload::{Source, Workload};
use serde::Serialize;

use crate::cli_json::object;
use crate::cli_measure::{Cost, measure};
use crate::cli_plan::{Planned, judge, load, plan_once};
use crate::cli_print::{Set, binary_bytes, grouped, seconds, table};
use crate::cli_request::RunLimits;

/// Instances that need no file: kind and buffers; the seed is that of the run.
const GENERATED: [(Kind, usize); 6] =
    [(Kind::Ml, 1_000), (Kind::Ml, 10_000), (Kind::Ml, 100_000), (Kind::Train, 1_000), (Kind::Train, 10_000), (Kind::Uni, 1_000)];

/// What came of one strategy on one instance.
pub(crate) struct Row {
    instance: String,
    strategy: String,
    outcome: Result<Planned, SolveError>,
    cost: Cost,
}

/// Runs `only`, or `auto`, on every file, or on the generated instances.
pub(crate) fn bench(
    files: &[PathBuf],
    read: &ReadOptions,
    settings: PrepareSettings,
    limits: &RunLimits,
    only: &[String],
) -> anyhow::Result<Vec<Row>> {
    let auto = [AUTO.to_owned()];
    let strategies = if only.is_empty() { &auto[..] } else { only };
    let mut rows = Vec::new();
    for prepared in instances(files, read, settings, limits.solve.seed) {
        let prepared = prepared?;
        for strategy in strategies {
            let (plan, cost) = measure(|| plan_once(&prepared, strategy, limits));
            let outcome = plan.map(|plan| judge(&prepared, plan, cost.cpu_seconds));
            rows.push(Row { instance: prepared.workload.file.clone(), strategy: strategy.clone(), outcome, cost });
        }
    }
    Ok(rows)
}

/// One at a time, so that no instance takes memory while another one is measured.
fn instances<'a>(
    files: &'a [PathBuf],
    read: &'a ReadOptions,
    settings: PrepareSettings,
    seed: u64,
) -> Box<dyn Iterator<Item = anyhow::Result<Prepared>> + 'a> {
    if files.is_empty() {
        Box::new(GENERATED.iter().map(move |&(kind, n)| generated(kind, n, settings, seed)))
    } else {
        Box::new(files.iter().map(move |file| load(file, read, settings)))
    }
}

fn generated(kind: Kind, n: usize, settings: PrepareSettings, seed: u64) -> anyhow::Result<Prepared> {
    let workload = Workload {
        file: format!("{} {} seed {seed}", kind.name(), grouped(n as u64)),
        format: "generated",
        title: String::new(),
        description: String::new(),
        source: Source::Buffers(Arc::new(generate(kind, n, seed))),
        constraints: None,
        observed: None,
        symbolic_dims: Vec::new(),
        warnings: Vec::new(),
    };
    prepare(&Arc::new(workload), settings).context("a generated instance")
}

/// Whether every plan that was made is usable, and there is one.
pub(crate) fn is_success(rows: &[Row]) -> bool {
    let mut plans = rows.iter().filter_map(|row| row.outcome.as_ref().ok()).peekable();
    plans.peek().is_some() && plans.all(Planned::is_usable)
}

/// The table for people.
pub(crate) fn text_report(rows: &[Row]) -> String {
    let columns = [Set::Left, Set::Left, Set::Right, Set::Right, Set::Right, Set::Right, Set::Right, Set::Left];
    let head = ["instance", "strategy", "true bound", "arena", "gap", "CPU", "memory", "result"].map(str::to_owned);
    let mut lines = vec![Vec::from(head)];
    lines.extend(rows.iter().map(cells));
    table(0, &columns, &lines)
}

fn cells(row: &Row) -> Vec<String> {
    let dash = || "-".to_owned();
    let planned = row.outcome.as_ref().ok();
    let result = match &row.outcome {
        Ok(planned) if !planned.is_valid() => "INVALID".to_owned(),
        Ok(planned) if !planned.summary.fits_capacity => "does not fit".to_owned(),
        Ok(planned) => planned.summary.status.name().to_owned(),
        Err(error) => error.to_string(),
    };
    let summary = planned.map(|planned| &planned.summary);
    vec![
        row.instance.clone(),
        row.strategy.clone(),
        summary.map_or_else(dash, |summary| grouped(summary.lower_bound_bytes)),
        summary.map_or_else(dash, |summary| grouped(summary.arena_bytes)),
        summary.map_or_else(dash, |summary| format!("{:.3} %", summary.gap * 100.0)),
        planned.map_or_else(dash, |_| seconds(row.cost.cpu_seconds)),
        planned.and(row.cost.peak_bytes).map_or_else(dash, binary_bytes),
        result,
    ]
}

/// One element of `bench --json`.
#[derive(Serialize)]
struct RowReport<'a> {
    instance: &'a str,
    strategy: &'a str,
    lower_bound_bytes: Option<u64>,
    arena_bytes: Option<u64>,
    gap: Option<f64>,
    status: Option<&'a str>,
    valid: bool,
    cpu_seconds: f64,
    peak_memory_bytes: Option<u64>,
}

/// The same for programs.
pub(crate) fn json_report(rows: &[Row]) -> String {
    let reports: Vec<RowReport<'_>> = rows
        .iter()
        .map(|row| {
            let planned = row.outcome.as_ref().ok();
            let summary = planned.map(|planned| &planned.summary);
            RowReport {
                instance: &row.instance,
                strategy: &row.strategy,
                lower_bound_bytes: summary.map(|summary| summary.lower_bound_bytes),
                arena_bytes: summary.map(|summary| summary.arena_bytes),
                gap: summary.map(|summary| summary.gap),
                status: summary.map(|summary| summary.status.name()),
                valid: planned.is_some_and(Planned::is_valid),
                cpu_seconds: row.cost.cpu_seconds,
                peak_memory_bytes: row.cost.peak_bytes,
            }
        })
        .collect();
    object(&reports)
}
