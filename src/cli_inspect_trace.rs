//! What a memory trace says: curves, segments, fragmentation, failures, who allocates, and what one arena would need.

use arenascope_planner::fragmentation::{Asker, Fit, Fragmentation, Levels, TraceCurves, fragmentation_at, trace_curves};
use arenascope_planner::metrics::Curve;
use arenascope_planner::prepare::Prepared;
use arenascope_planner::solve::SolveOptions;
use arenascope_planner::trace::{CategoryCurve, LineSum, OutOfMemory, Trace, by_allocating_line};
use serde::Serialize;

use crate::cli_plan::run_strategy;
use crate::cli_print::{Set, binary_bytes, exact_bytes, grouped, percent, table};
use crate::cli_request::RunLimits;

/// How many allocating lines are listed.
const LINES_SHOWN: usize = 10;
/// Beyond so many blocks the arena is planned by the fastest good strategy instead of by several: chosen so that a
/// look at a file takes seconds.
const MAX_BLOCKS_FOR_AUTO: usize = 50_000;

/// What is in a trace.
#[derive(Serialize)]
pub(crate) struct TraceInspection {
    device: String,
    events: u64,
    blocks: u64,
    pre_existing_blocks: u64,
    pre_existing_bytes: u64,
    stacks: u64,
    streams: u64,
    annotations: u64,
    /// Whether the events lead to the blocks listed at the end; null if the file lists none.
    consistent: Option<bool>,
    curves: Vec<CurveRow>,
    segments: SegmentRow,
    fragmentation: Vec<MomentRow>,
    failures: Vec<FailureRow>,
    one_arena: Option<ArenaRow>,
    by_line: Vec<LineRow>,
    categories: Vec<CategoryRow>,
}

#[derive(Serialize)]
struct CurveRow {
    name: &'static str,
    peak_bytes: u64,
    peak_step: u64,
    end_bytes: u64,
}

#[derive(Serialize)]
struct SegmentRow {
    at_end: u64,
    at_end_bytes: u64,
    over_time: u64,
}

#[derive(Serialize)]
struct MomentRow {
    at: &'static str,
    step: u64,
    requested_bytes: u64,
    active_bytes: u64,
    reserved_bytes: u64,
    free_bytes: u64,
    largest_hole_bytes: u64,
    holes: u64,
    /// The part of the free bytes outside the largest hole.
    fragmentation: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    fits: Option<&'static str>,
}

#[derive(Serialize)]
struct FailureRow {
    step: u64,
    asked_bytes: u64,
    device_free_bytes: Option<u64>,
    reserved_bytes: u64,
    active_bytes: u64,
    free_bytes: u64,
    largest_hole_bytes: u64,
    fits: &'static str,
    line: String,
}

#[derive(Serialize)]
struct ArenaRow {
    strategy: String,
    arena_bytes: u64,
    lower_bound_bytes: u64,
    observed_reserved_bytes: u64,
    observed_active_bytes: u64,
    /// What the observed allocator holds beyond the arena, at its peak; negative if it holds less.
    gap_bytes: i128,
    saving: f64,
}

#[derive(Serialize)]
struct LineRow {
    line: String,
    live_at_peak_bytes: u64,
    live_at_peak_blocks: u64,
    total_bytes: u64,
    blocks: u64,
}

#[derive(Serialize)]
struct CategoryRow {
    category: String,
    peak_bytes: u64,
    end_bytes: u64,
}

/// Looks at a trace; `fits` asks whether so many bytes would fit, at each moment that is listed.
pub(crate) fn inspect_trace(prepared: &Prepared, trace: &Trace, fits: Option<u64>) -> TraceInspection {
    let curves = trace_curves(trace);
    let (_, peak_step) = curves.requested.max();
    let check = trace.check();
    TraceInspection {
        device: trace.device().to_owned(),
        events: trace.events().len() as u64,
        blocks: trace.blocks().len() as u64,
        pre_existing_blocks: trace.blocks().iter().filter(|block| block.is_pre_existing()).count() as u64,
        pre_existing_bytes: check.pre_existing_bytes,
        stacks: trace.stacks().n_stacks() as u64,
        streams: n_streams(trace),
        annotations: trace.annotations().len() as u64,
        consistent: check.listed_end_bytes.map(|_| check.is_consistent()),
        curves: curve_rows(trace, &curves),
        segments: segment_row(trace, &curves),
        fragmentation: moments(trace, peak_step, fits),
        failures: trace.failures().iter().map(|failure| failure_row(trace, failure)).collect(),
        one_arena: one_arena(prepared, &curves),
        by_line: line_rows(trace, peak_step),
        categories: category_rows(trace),
    }
}

/// How many streams have blocks.
fn n_streams(trace: &Trace) -> u64 {
    let mut streams: Vec<u16> = trace.blocks().iter().map(|block| block.stream).collect();
    streams.sort_unstable();
    streams.dedup();
    streams.len() as u64
}

fn curve_rows(trace: &Trace, curves: &TraceCurves) -> Vec<CurveRow> {
    let row = |name: &'static str, curve: &Curve| {
        let (peak_bytes, peak_step) = curve.max();
        CurveRow { name, peak_bytes, peak_step, end_bytes: curve.at(trace.n_steps() - 1) }
    };
    let mut rows = vec![row("requested", &curves.requested), row("rounded", &curves.rounded), row("active", &curves.active)];
    if !trace.segments().is_empty() {
        rows.push(row("reserved", &curves.reserved));
    }
    if trace.blocks().is_empty() { Vec::new() } else { rows }
}

fn segment_row(trace: &Trace, curves: &TraceCurves) -> SegmentRow {
    let end = trace.n_steps() - 1;
    let held = trace.segments().iter().filter(|segment| segment.is_held_at(end)).count();
    SegmentRow { at_end: held as u64, at_end_bytes: curves.reserved.at(end), over_time: trace.segments().len() as u64 }
}

fn moments(trace: &Trace, peak_step: u64, fits: Option<u64>) -> Vec<MomentRow> {
    if trace.segments().is_empty() {
        return Vec::new();
    }
    let row = |(at, step): (&'static str, u64)| {
        let found = fragmentation_at(trace, step);
        let Levels { requested_bytes, active_bytes, reserved_bytes, free_bytes, largest_hole_bytes, .. } = found.levels;
        MomentRow {
            at,
            step,
            requested_bytes,
            active_bytes,
            reserved_bytes,
            free_bytes,
            largest_hole_bytes,
            holes: found.holes.len() as u64,
            fragmentation: if free_bytes == 0 { 0.0 } else { 1.0 - to_f64(largest_hole_bytes) / to_f64(free_bytes) },
            fits: fits.map(|bytes| fit_word(trace, &found, bytes, Asker::default())),
        }
    };
    [("peak", peak_step), ("end", trace.n_steps() - 1)].into_iter().map(row).collect()
}

/// The nearest float; exact below 2^53, and shares need far less.
fn to_f64(bytes: u64) -> f64 {
    bytes as f64
}

fn fit_word(trace: &Trace, found: &Fragmentation, bytes: u64, asker: Asker) -> &'static str {
    match found.would_fit(trace, bytes, asker) {
        Fit::Fits(_) => "fits",
        Fit::OnlyElsewhere(_) => "fits only into holes of another stream, pool or size class",
        Fit::TooLarge { .. } if found.levels.free_bytes >= bytes => "fits nowhere, though more is free: the free bytes are in pieces",
        Fit::TooLarge { .. } => "fits nowhere",
    }
}

fn failure_row(trace: &Trace, failure: &OutOfMemory) -> FailureRow {
    let found = fragmentation_at(trace, failure.step);
    FailureRow {
        step: failure.step,
        asked_bytes: failure.asked_bytes,
        device_free_bytes: failure.device_free_bytes,
        reserved_bytes: found.levels.reserved_bytes,
        active_bytes: found.levels.active_bytes,
        free_bytes: found.levels.free_bytes,
        largest_hole_bytes: found.levels.largest_hole_bytes,
        fits: fit_word(trace, &found, failure.asked_bytes, Asker { stream: failure.stream, pool: failure.pool }),
        line: trace.stacks().text(trace.stacks().line(failure.stack)).to_owned(),
    }
}

/// What the same lifetimes need in one arena, beside what the allocator held.
fn one_arena(prepared: &Prepared, curves: &TraceCurves) -> Option<ArenaRow> {
    let n_buffers = prepared.problem.n_buffers();
    let strategy = if n_buffers > MAX_BLOCKS_FOR_AUTO { "first-fit" } else { "auto" };
    let limits = RunLimits { solve: SolveOptions::default(), time_limit: None };
    let planned = (n_buffers > 0).then(|| run_strategy(prepared, strategy, &limits).ok()).flatten()?;
    let (reserved, active) = (curves.reserved.max().0, curves.active.max().0);
    let held = if reserved > 0 { reserved } else { active };
    let arena = planned.summary.arena_bytes;
    Some(ArenaRow {
        strategy: planned.summary.strategy.clone(),
        arena_bytes: arena,
        lower_bound_bytes: planned.summary.lower_bound_bytes,
        observed_reserved_bytes: reserved,
        observed_active_bytes: active,
        gap_bytes: i128::from(held) - i128::from(arena),
        saving: if held == 0 { 0.0 } else { 1.0 - to_f64(arena) / to_f64(held) },
    })
}

fn line_rows(trace: &Trace, peak_step: u64) -> Vec<LineRow> {
    let sums = by_allocating_line(trace, peak_step);
    let named = |text: &str| if text.is_empty() { "no stack: older than the recording, or not recorded".to_owned() } else { text.to_owned() };
    let row = |sum: &LineSum| LineRow {
        line: named(trace.stacks().text(sum.line)),
        live_at_peak_bytes: sum.live_bytes,
        live_at_peak_blocks: sum.live_blocks,
        total_bytes: sum.bytes,
        blocks: sum.blocks,
    };
    sums.iter().take(LINES_SHOWN).map(row).collect()
}

fn category_rows(trace: &Trace) -> Vec<CategoryRow> {
    let row = |curve: &CategoryCurve| CategoryRow {
        category: curve.category.clone(),
        peak_bytes: curve.bytes.iter().copied().max().unwrap_or(0),
        end_bytes: curve.bytes.last().copied().unwrap_or(0),
    };
    trace.categories().iter().map(row).collect()
}

/// The report for people, to stand behind the totals.
pub(crate) fn text_report(found: &TraceInspection) -> String {
    let mut text = format!("\ntrace of {}\n", if found.device.is_empty() { "sums by category" } else { found.device.as_str() });
    text.push_str(&table(2, &[Set::Left, Set::Right, Set::Right], &fact_rows(found)));
    section(&mut text, "bytes over time: peak, its step, end", &[Set::Left, Set::Right, Set::Right, Set::Right, Set::Right], &curve_cells(found));
    section(&mut text, "bytes by category: peak, end", &[Set::Left, Set::Right, Set::Right, Set::Right], &category_cells(found));
    for moment in &found.fragmentation {
        let title = format!("inside the segments at the {} (step {})", moment.at, grouped(moment.step));
        section(&mut text, &title, &[Set::Left, Set::Right, Set::Right], &moment_rows(moment));
    }
    for failure in &found.failures {
        let place = if failure.line.is_empty() { String::new() } else { format!(", in {}", failure.line) };
        let title = format!("out of memory at step {}{place}", grouped(failure.step));
        section(&mut text, &title, &[Set::Left, Set::Right, Set::Right], &failure_rows(failure));
    }
    if let Some(arena) = &found.one_arena {
        section(&mut text, "the same lifetimes in one arena", &[Set::Left, Set::Right, Set::Right], &arena_rows(arena));
    }
    section(&mut text, "by allocating line: live at the peak, all", &[Set::Right, Set::Right, Set::Right, Set::Right, Set::Left], &line_cells(found));
    text
}

fn curve_cells(found: &TraceInspection) -> Vec<Vec<String>> {
    let row = |curve: &CurveRow| {
        let (peak, end) = (exact_bytes(curve.peak_bytes), exact_bytes(curve.end_bytes));
        vec![curve.name.to_owned(), peak, binary_bytes(curve.peak_bytes), grouped(curve.peak_step), end]
    };
    found.curves.iter().map(row).collect()
}

fn category_cells(found: &TraceInspection) -> Vec<Vec<String>> {
    let row = |row: &CategoryRow| vec![row.category.clone(), exact_bytes(row.peak_bytes), binary_bytes(row.peak_bytes), exact_bytes(row.end_bytes)];
    found.categories.iter().map(row).collect()
}

fn line_cells(found: &TraceInspection) -> Vec<Vec<String>> {
    let row = |row: &LineRow| {
        let (live, total) = (exact_bytes(row.live_at_peak_bytes), exact_bytes(row.total_bytes));
        vec![live, grouped(row.live_at_peak_blocks), total, grouped(row.blocks), row.line.clone()]
    };
    found.by_line.iter().map(row).collect()
}

fn section(text: &mut String, title: &str, columns: &[Set], rows: &[Vec<String>]) {
    if !rows.is_empty() {
        text.push_str(&format!("\n{title}\n{}", table(2, columns, rows)));
    }
}

fn both(label: &str, bytes: u64) -> Vec<String> {
    vec![label.to_owned(), exact_bytes(bytes), binary_bytes(bytes)]
}

fn fact_rows(found: &TraceInspection) -> Vec<Vec<String>> {
    let count = |label: &str, number: u64| vec![label.to_owned(), grouped(number), String::new()];
    let mut rows = vec![count("events", found.events), count("blocks", found.blocks)];
    if found.pre_existing_blocks > 0 {
        rows.push(count("  of them older than the recording", found.pre_existing_blocks));
        rows.push(both("  with requested bytes", found.pre_existing_bytes));
    }
    if found.segments.over_time > 0 {
        rows.push(count("segments at the end", found.segments.at_end));
        rows.push(both("  with bytes", found.segments.at_end_bytes));
        rows.push(count("segments over time", found.segments.over_time));
    }
    rows.push(count("distinct stacks", found.stacks));
    rows.push(count("streams", found.streams));
    if let Some(consistent) = found.consistent {
        rows.push(vec!["the events explain the end".to_owned(), if consistent { "yes" } else { "no" }.to_owned(), String::new()]);
    }
    rows
}

fn moment_rows(moment: &MomentRow) -> Vec<Vec<String>> {
    let mut rows = vec![
        both("requested", moment.requested_bytes),
        both("active", moment.active_bytes),
        both("reserved", moment.reserved_bytes),
        both("free", moment.free_bytes),
        both("largest hole", moment.largest_hole_bytes),
        vec!["holes".to_owned(), grouped(moment.holes), String::new()],
        vec!["free bytes outside the largest hole".to_owned(), percent(moment.fragmentation), String::new()],
    ];
    if let Some(fits) = moment.fits {
        rows.push(vec!["the request asked about".to_owned(), fits.to_owned(), String::new()]);
    }
    rows
}

fn failure_rows(failure: &FailureRow) -> Vec<Vec<String>> {
    let mut rows = vec![both("asked", failure.asked_bytes)];
    rows.extend(failure.device_free_bytes.map(|bytes| both("free on the device", bytes)));
    rows.extend([
        both("reserved", failure.reserved_bytes),
        both("active", failure.active_bytes),
        both("free inside the segments", failure.free_bytes),
        both("largest hole", failure.largest_hole_bytes),
        vec!["without more memory the request".to_owned(), failure.fits.to_owned(), String::new()],
    ]);
    rows
}

fn arena_rows(arena: &ArenaRow) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    if arena.observed_reserved_bytes > 0 {
        rows.push(both("the allocator reserves", arena.observed_reserved_bytes));
    }
    rows.push(both("the allocator has active", arena.observed_active_bytes));
    rows.push(both(&format!("one arena ({})", arena.strategy), arena.arena_bytes));
    rows.push(both("lower bound of every plan", arena.lower_bound_bytes));
    let gap = u64::try_from(arena.gap_bytes.unsigned_abs()).unwrap_or(u64::MAX);
    let label = if arena.gap_bytes < 0 { "gap: the arena needs more by" } else { "gap: the arena saves" };
    rows.push(vec![label.to_owned(), exact_bytes(gap), percent(arena.saving.abs())]);
    rows
}
