//! All strategies on one file, as one table.

use arenascope_planner::prepare::Prepared;
use arenascope_planner::solve::{SolveError, find_strategy, strategies};
use serde::Serialize;

use crate::cli_json::object;
use crate::cli_plan::{Planned, run_strategy};
use crate::cli_print::{Set, binary_bytes, counted, grouped, percent, seconds, table};
use crate::cli_request::RunLimits;

/// What came of one strategy.
pub(crate) struct Row {
    strategy: String,
    /// Whether its plans can be trusted to be valid.
    is_safe: bool,
    outcome: Result<Planned, SolveError>,
}

/// Runs `only`, or all strategies in the order shown to people.
pub(crate) fn compare(prepared: &Prepared, limits: &RunLimits, only: &[String]) -> Vec<Row> {
    let names: Vec<&str> =
        if only.is_empty() { strategies().iter().map(|strategy| strategy.name).collect() } else { only.iter().map(String::as_str).collect() };
    names
        .into_iter()
        .map(|name| Row {
            strategy: name.to_owned(),
            is_safe: find_strategy(name).is_none_or(|strategy| strategy.is_safe),
            outcome: run_strategy(prepared, name, limits),
        })
        .collect()
}

/// Whether there is a usable plan and no safe strategy made a faulty one.
pub(crate) fn is_success(rows: &[Row]) -> bool {
    let plans = || rows.iter().filter_map(|row| Some((row.is_safe, row.outcome.as_ref().ok()?)));
    plans().any(|(_, planned)| planned.is_usable()) && plans().all(|(is_safe, planned)| planned.is_valid() || !is_safe)
}

/// The table for people; the smallest valid arena is marked.
pub(crate) fn text_report(prepared: &Prepared, rows: &[Row]) -> String {
    let best =
        rows.iter().filter_map(|row| row.outcome.as_ref().ok()).filter(|planned| planned.is_valid()).map(|planned| planned.summary.arena_bytes).min();
    let columns = [Set::Left, Set::Left, Set::Right, Set::Right, Set::Right, Set::Right, Set::Right, Set::Left];
    let head = ["", "strategy", "arena bytes", "arena", "gap", "slots", "time", "result"].map(str::to_owned);
    let mut lines = vec![Vec::from(head)];
    lines.extend(rows.iter().map(|row| cells(row, best)));
    let buffers = counted(prepared.problem.n_buffers() as u64, "dynamic buffer");
    let mut text = format!("{}: {}, {buffers}\n", prepared.workload.file, prepared.workload.format);
    if let Some(planned) = rows.iter().find_map(|row| row.outcome.as_ref().ok()) {
        let (naive, bound) = (planned.summary.naive_bytes, planned.summary.lower_bound_bytes);
        text.push_str(&format!(
            "naive total {} B ({}), lower bound {} B ({})\n",
            grouped(naive),
            binary_bytes(naive),
            grouped(bound),
            binary_bytes(bound)
        ));
    }
    text.push('\n');
    text.push_str(&table(0, &columns, &lines));
    if rows.iter().any(|row| row.strategy == "naive") && prepared.naive_bytes > prepared.problem.total_bytes() {
        text.push_str(
            "\nThe naive total counts every tensor; the strategy `naive` places buffers, in which views and in-place results already share.\n",
        );
    }
    text
}

fn cells(row: &Row, best: Option<u64>) -> Vec<String> {
    let dash = || "-".to_owned();
    let Ok(planned) = &row.outcome else {
        return vec![String::new(), row.strategy.clone(), dash(), dash(), dash(), dash(), dash(), note(row).unwrap_or_default()];
    };
    let summary = &planned.summary;
    let mark = if planned.is_valid() && Some(summary.arena_bytes) == best { "*" } else { "" };
    let capacity = if summary.fits_capacity { "" } else { ", does not fit" };
    let result = match (planned.is_valid(), row.is_safe) {
        (false, false) => "INVALID (unsafe, for teaching)".to_owned(),
        (false, true) => "INVALID".to_owned(),
        (true, _) => format!("valid, {}{capacity}", summary.status.name()),
    };
    let name = if row.strategy == summary.strategy { row.strategy.clone() } else { format!("{} ({})", row.strategy, summary.strategy) };
    vec![
        mark.to_owned(),
        name,
        grouped(summary.arena_bytes),
        binary_bytes(summary.arena_bytes),
        percent(summary.gap),
        summary.slots.map_or_else(dash, grouped),
        seconds(planned.seconds),
        result,
    ]
}

/// One element of `compare --json`.
#[derive(Serialize)]
struct RowReport<'a> {
    strategy: &'a str,
    arena_bytes: Option<u64>,
    lower_bound_bytes: Option<u64>,
    gap: Option<f64>,
    slots: Option<u64>,
    status: Option<&'a str>,
    proved_optimal: bool,
    valid: bool,
    fits_capacity: bool,
    is_safe: bool,
    plan_seconds: Option<f64>,
    note: Option<String>,
}

/// The same for programs.
pub(crate) fn json_report(rows: &[Row]) -> String {
    let reports: Vec<RowReport<'_>> = rows
        .iter()
        .map(|row| {
            let planned = row.outcome.as_ref().ok();
            let summary = planned.map(|planned| &planned.summary);
            RowReport {
                strategy: &row.strategy,
                arena_bytes: summary.map(|summary| summary.arena_bytes),
                lower_bound_bytes: summary.map(|summary| summary.lower_bound_bytes),
                gap: summary.map(|summary| summary.gap),
                slots: summary.and_then(|summary| summary.slots),
                status: summary.map(|summary| summary.status.name()),
                proved_optimal: summary.is_some_and(|summary| summary.proved_optimal),
                valid: planned.is_some_and(Planned::is_valid),
                fits_capacity: summary.is_some_and(|summary| summary.fits_capacity),
                is_safe: row.is_safe,
                plan_seconds: planned.map(|planned| planned.seconds),
                note: note(row),
            }
        })
        .collect();
    object(&reports)
}

/// Why there is no plan, or what the strategy has to say about the one there is.
fn note(row: &Row) -> Option<String> {
    match &row.outcome {
        Ok(planned) => planned.summary.note.clone(),
        Err(SolveError::Unsupported { because, .. }) => Some(format!("unsupported: {because}")),
        Err(error) => Some(error.to_string()),
    }
}
