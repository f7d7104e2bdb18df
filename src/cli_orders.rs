//! The peaks of all orders in which a model's ops could run.

use std::path::Path;
use std::time::{Duration, Instant};

use arenascope_formats::ReadOptions;
use arenascope_planner::control::Control;
use arenascope_planner::order::{Order, OrderPeak, compare_orders};
use arenascope_planner::prepare::{PrepareSettings, Prepared};
use serde::Serialize;

use crate::cli_json::object;
use crate::cli_plan::load;
use crate::cli_print::{Set, binary_bytes, counted, grouped, percent, seconds, table};

/// A model and what came of each order.
pub(crate) struct Orders {
    prepared: Prepared,
    rows: Vec<Row>,
}

struct Row {
    peak: OrderPeak,
    seconds: f64,
}

/// Makes every order and measures its peak, with all sharing decisions made anew.
pub(crate) fn compare(file: &Path, read: &ReadOptions, settings: PrepareSettings, time_limit: Option<Duration>) -> anyhow::Result<Orders> {
    let prepared = load(file, read, PrepareSettings { order: Order::File, ..settings })?;
    let Some(context) = &prepared.context else {
        anyhow::bail!("{}: the file has buffers but no graph, so that there is no order to choose", file.display());
    };
    let began = Instant::now();
    let should_stop = || time_limit.is_some_and(|limit| began.elapsed() >= limit);
    let control = Control::new(&should_stop, &|_| ());
    let mut rows = Vec::new();
    for order in Order::ALL {
        let begin = Instant::now();
        let peaks = compare_orders(&context.graph, &[order], settings.order_settings(), &control);
        rows.extend(peaks.into_iter().map(|peak| Row { peak, seconds: begin.elapsed().as_secs_f64() }));
    }
    Ok(Orders { prepared, rows })
}

/// The table for people; the lowest peak is marked.
pub(crate) fn text_report(orders: &Orders) -> String {
    let Orders { prepared, rows } = orders;
    let lowest = rows.iter().map(|row| row.peak.peak_bytes).min();
    let file_bytes = rows.first().map_or(0, |row| row.peak.peak_bytes);
    let head = ["", "order", "peak bytes", "peak", "saves", "time", "result"].map(str::to_owned);
    let mut lines = vec![Vec::from(head)];
    lines.extend(rows.iter().map(|row| {
        let (bytes, ordered) = (row.peak.peak_bytes, &row.peak.ordered);
        let result = match (ordered.is_lowest, ordered.order == row.peak.asked) {
            (true, _) => "no order has a lower peak".to_owned(),
            (false, true) => String::new(),
            (false, false) => format!("not proved; {} stands in", ordered.order.name()),
        };
        let mark = if Some(bytes) == lowest { "*" } else { "" };
        let saves = percent(saving(bytes, file_bytes));
        vec![mark.to_owned(), row.peak.asked.name().to_owned(), grouped(bytes), binary_bytes(bytes), saves, seconds(row.seconds), result]
    }));
    let ops = counted(prepared.n_ops as u64, "op");
    let mut text = format!("{}: {}, {ops}\n\n", prepared.workload.file, prepared.workload.format);
    text.push_str(&table(0, &[Set::Left, Set::Left, Set::Right, Set::Right, Set::Right, Set::Right, Set::Left], &lines));
    for note in rows.iter().filter_map(|row| row.peak.ordered.note.as_ref()) {
        text.push_str(&format!("\n{note}\n"));
    }
    text
}

/// The share of the file's peak that an order saves.
fn saving(bytes: u64, file_bytes: u64) -> f64 {
    if file_bytes == 0 { 0.0 } else { 1.0 - bytes as f64 / file_bytes as f64 }
}

#[derive(Serialize)]
struct OrdersReport<'a> {
    file: &'a str,
    ops: u64,
    orders: Vec<OrderReport<'a>>,
}

#[derive(Serialize)]
struct OrderReport<'a> {
    order: &'static str,
    /// The method that gave the order, if the one asked for could not.
    used: &'static str,
    peak_bytes: u64,
    is_lowest: bool,
    seconds: f64,
    note: Option<&'a str>,
}

/// The same for programs.
pub(crate) fn json_report(orders: &Orders) -> String {
    let report = |row: &'_ Row| OrderReport {
        order: row.peak.asked.name(),
        used: row.peak.ordered.order.name(),
        peak_bytes: row.peak.peak_bytes,
        is_lowest: row.peak.ordered.is_lowest,
        seconds: row.seconds,
        note: None,
    };
    let rows = orders.rows.iter().map(|row| OrderReport { note: row.peak.ordered.note.as_deref(), ..report(row) });
    object(&OrdersReport { file: &orders.prepared.workload.file, ops: orders.prepared.n_ops as u64, orders: rows.collect() })
}
