//! A recorded run as text: what was found, and a table of the ways of getting memory.

use std::path::Path;

use arenascope_gpu::device::{DeviceDescription, DeviceKind};
use arenascope_gpu::latency::Latency;
use arenascope_gpu::protocol::{Outcome, RegimeReport, RegimeStatus};
use arenascope_gpu::record::RunRecord;

use crate::cli_print::{Set, binary_bytes, counted, grouped, percent, seconds, table};

/// Findings shown as text; the recorded run has more of them.
const FINDINGS_SHOWN: usize = 20;

/// The report for people.
pub(crate) fn text_report(record: &RunRecord, saved: Option<&Path>) -> String {
    let mut text = heading(record);
    if !record.regimes.is_empty() {
        text.push('\n');
        text.push_str(&memory_table(record));
        text.push('\n');
        text.push_str(&time_table(record));
        text.push_str(&stream_lines(record));
        text.push_str(&notes(record));
    }
    text.push_str(&computed(record));
    text.push_str(&findings(record));
    text.push_str(&footprint(record));
    if let Some(path) = saved {
        text.push_str(&format!("\n{}: the recorded run\n", path.display()));
    }
    text
}

/// `mobilenet_v2.onnx on …: clean`, then the sizes.
fn heading(record: &RunRecord) -> String {
    let device = record.device.as_ref().map_or_else(|| "no device".to_owned(), device_name);
    let verdict = match record.outcome {
        Outcome::Clean => format!("clean, every read found what was written ({} per iteration)", checks(record)),
        Outcome::Clobbered => format!("CLOBBERED, {}", counted(record.n_findings, "finding")),
        Outcome::DoesNotFit => "does not fit".to_owned(),
        Outcome::NoDevice => "not run".to_owned(),
        Outcome::DeviceFailed => "the device failed".to_owned(),
        Outcome::Cancelled => "cancelled".to_owned(),
    };
    let scale = if record.scale > 1 { format!(", all sizes × {}", grouped(record.scale)) } else { String::new() };
    let (arena, statics) = (binary_bytes(record.arena_bytes), binary_bytes(record.static_bytes));
    let own = record.device.as_ref().map_or_else(String::new, |_| {
        let empty = record.empty.map_or_else(String::new, |empty| format!("; {} in use with an empty context", binary_bytes(empty.used_bytes)));
        format!("{empty}; before any regime the run itself took {} more (tables, static memory)", binary_bytes(record.own_bytes))
    });
    format!("{} on {device}: {verdict}\narena {arena}, static memory {statics}{scale}{own}\n", record.file)
}

fn checks(record: &RunRecord) -> String {
    let computed = record.compute.as_ref().map(|report| report.n_reads);
    let n = record.regimes.iter().map(|report| report.n_checks).chain(computed).max().unwrap_or(0);
    counted(n, "read")
}

fn device_name(device: &DeviceDescription) -> String {
    match device.kind {
        DeviceKind::Cpu => format!("{} (CPU)", device.name),
        DeviceKind::Gpu => format!("{} (gpu:{})", device.name, device.index),
        DeviceKind::Simulated => format!("{} (SIMULATED, not a GPU)", device.name),
    }
}

fn ran(record: &RunRecord) -> impl Iterator<Item = &RegimeReport> {
    record.regimes.iter().filter(|report| report.status == RegimeStatus::Ran)
}

fn memory_table(record: &RunRecord) -> String {
    let head = ["regime", "predicted", "counted", "measured", "difference", "unexplained", "unused", "why measured differs"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(ran(record).map(|report| {
        vec![
            report.regime.name().to_owned(),
            binary_bytes(report.predicted_peak_bytes),
            binary_bytes(report.counted_peak_bytes),
            binary_bytes(report.measured_peak_bytes),
            signed(report.difference.total),
            signed(report.difference.unexplained),
            percent(report.fragmentation),
            report.difference.why.clone(),
        ]
    }));
    table(2, &[Set::Left, Set::Right, Set::Right, Set::Right, Set::Right, Set::Right, Set::Right, Set::Left], &rows)
}

fn time_table(record: &RunRecord) -> String {
    let head = ["regime", "allocator calls: setup", "first", "later", "requests", "iterations", "p50", "p95", "p99", "std"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(ran(record).map(|report| {
        let calls = report.calls;
        let mut row = vec![report.regime.name().to_owned()];
        row.extend([calls.setup, calls.first_iteration, calls.iteration, calls.requests].map(grouped));
        if let Some(latency) = &report.latency {
            row.push(grouped(latency.samples_ms.len() as u64));
            row.extend([latency.p50_ms, latency.p95_ms, latency.p99_ms, latency.std_ms].map(|ms| seconds(ms / 1e3)));
        }
        row
    }));
    let mut columns = vec![Set::Left];
    columns.resize(head.len(), Set::Right);
    table(2, &columns, &rows)
}

fn signed(bytes: i64) -> String {
    let sign = if bytes < 0 { "−" } else { "+" };
    if bytes == 0 { "0 B".to_owned() } else { format!("{sign}{}", binary_bytes(bytes.unsigned_abs())) }
}

/// What computing gave.
fn computed(record: &RunRecord) -> String {
    let Some(report) = &record.compute else { return String::new() };
    let mut text = format!(
        "\n{} per iteration; {} compared bit for bit with a run in which every tensor has memory of its own\n",
        counted(report.n_kernels, "kernel"),
        counted(report.n_reads, "read")
    );
    text.push_str(&format!(
        "{} compared with 64-bit arithmetic: at most {:.1e} of what makes a result, in `{}` (allowed {:.0e})\n",
        counted(report.n_samples, "result"),
        report.worst_error,
        report.worst_tensor,
        report.tolerance
    ));
    text.push_str("weights and inputs that the file does not hold are numbers by chance from fixed seeds\n");
    if let Some(latency) = &report.latency {
        let n = latency.samples_ms.len() as u64;
        text.push_str(&format!("{}: median {}\n", counted(n, "timed iteration"), seconds(latency.p50_ms / 1e3)));
    }
    if report.n_following > 0 {
        text.push_str(&format!("{} follow from the findings below\n", counted(report.n_following, "further wrong read")));
    }
    text
}

/// What several streams cost, by regime.
fn stream_lines(record: &RunRecord) -> String {
    let line = |report: &RegimeReport| {
        let cost = report.streams.as_ref()?;
        let time = |latency: &Option<Latency>| latency.as_ref().map(|latency| seconds(latency.p50_ms / 1e3));
        let times = [("one stream", &cost.one_stream), ("waits of the graph alone", &cost.graph_only), ("with the plan's", &cost.with_plan)];
        let times: String = times.into_iter().filter_map(|(what, latency)| Some(format!("; {what} {}", time(latency)?))).collect();
        let (n, waits) = (cost.n_streams, counted(cost.graph_waits, "wait"));
        Some(format!(
            "  {}: {n} streams, {waits} of the graph and {} of the plan per iteration{times}\n",
            report.regime.name(),
            grouped(cost.plan_waits)
        ))
    };
    let lines: String = ran(record).filter_map(line).collect();
    if lines.is_empty() { lines } else { format!("\nstreams (times are medians):\n{lines}") }
}

/// Regimes that were not run, or failed, with the reason.
fn notes(record: &RunRecord) -> String {
    let rest = record.regimes.iter().filter(|report| report.status != RegimeStatus::Ran);
    let lines: String = rest
        .map(|report| {
            let how = if report.status == RegimeStatus::Skipped { "not run" } else { "FAILED" };
            format!("  {}: {how}: {}\n", report.regime.name(), report.note)
        })
        .collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

fn findings(record: &RunRecord) -> String {
    let mut text = String::new();
    for finding in record.findings.iter().take(FINDINGS_SHOWN) {
        text.push_str(&format!("  {}: {}\n", finding.regime.name(), finding.message));
    }
    let unlisted = record.n_findings.saturating_sub(record.findings.len().min(FINDINGS_SHOWN) as u64);
    if unlisted > 0 {
        text.push_str(&format!("  and {} more\n", grouped(unlisted)));
    }
    if text.is_empty() { text } else { format!("\nwrong reads:\n{text}") }
}

fn footprint(record: &RunRecord) -> String {
    let Some(last) = record.footprint.last() else { return String::new() };
    let is_equal = |step: &&arenascope_gpu::record::FootprintStep| {
        (step.touched_bytes, step.top_bytes) == (step.predicted_touched_bytes, step.predicted_top_bytes)
    };
    let n_equal = record.footprint.iter().filter(is_equal).count();
    format!(
        "\nfootprint: {} of the arena written in the end; as predicted at {} of {}\n",
        binary_bytes(last.touched_bytes),
        grouped(n_equal as u64),
        counted(record.footprint.len() as u64, "step")
    )
}
