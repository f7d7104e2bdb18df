//! The difference between two plan files.

use arenascope_formats::plan_file::PlanFile;
use arenascope_planner::diff::{DiffRow, PlacedBuffer, PlanDiff, diff_plans};
use serde::Serialize;

use crate::cli_json::object;
use crate::cli_print::{Set, counted, exact_bytes, grouped, table};

/// The kinds of change that are counted.
const CHANGES: [&str; 6] = ["moved", "grew", "shrank", "lives at other steps", "appeared", "vanished"];

fn diff(old: &PlanFile, new: &PlanFile) -> PlanDiff {
    diff_plans(&old.placed_buffers(), &new.placed_buffers())
}

/// Totals, then one line per buffer that is not as it was.
pub(crate) fn text_report(old: &PlanFile, new: &PlanFile) -> String {
    let diff = diff(old, new);
    let change = match (old.arena_bytes(), new.arena_bytes()) {
        (before, after) if before < after => format!(", {} more", exact_bytes(after - before)),
        (before, after) if before > after => format!(", {} less", exact_bytes(before - after)),
        _ => ", the same".to_owned(),
    };
    let mut text = format!("arena {} to {}{change}\n", exact_bytes(old.arena_bytes()), exact_bytes(new.arena_bytes()));
    let counts = CHANGES.iter().map(|change| (change, diff.n_of(change))).filter(|&(_, n)| n > 0);
    let counts: Vec<String> = counts.map(|(change, n)| format!("{} {change}", grouped(n))).collect();
    text.push_str(&format!("{} as before{}{}\n", counted(diff.n_same, "buffer"), if counts.is_empty() { "" } else { ", " }, counts.join(", ")));
    if !diff.rows.is_empty() {
        let mut lines = vec![["buffer", "change", "offset before", "offset after", "bytes before", "bytes after"].map(str::to_owned).to_vec()];
        lines.extend(diff.rows.iter().map(cells));
        text.push('\n');
        text.push_str(&table(2, &[Set::Left, Set::Left, Set::Right, Set::Right, Set::Right, Set::Right], &lines));
    }
    text
}

fn sides(row: &DiffRow) -> (Option<&PlacedBuffer>, Option<&PlacedBuffer>) {
    match row {
        DiffRow::Changed { old, new } => (Some(old), Some(new)),
        DiffRow::Appeared(new) => (None, Some(new)),
        DiffRow::Vanished(old) => (Some(old), None),
    }
}

fn cells(row: &DiffRow) -> Vec<String> {
    let (old, new) = sides(row);
    let cell = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), grouped);
    let offset = |side: Option<&PlacedBuffer>| cell(side.map(|buffer| buffer.offset));
    let bytes = |side: Option<&PlacedBuffer>| cell(side.map(|buffer| buffer.bytes));
    vec![row.name().to_owned(), row.changes().join(", "), offset(old), offset(new), bytes(old), bytes(new)]
}

#[derive(Serialize)]
struct DiffReport<'a> {
    old_arena_bytes: u64,
    new_arena_bytes: u64,
    same: u64,
    moved: u64,
    grew: u64,
    shrank: u64,
    appeared: u64,
    vanished: u64,
    buffers: Vec<RowReport<'a>>,
}

#[derive(Serialize)]
struct RowReport<'a> {
    name: &'a str,
    changes: Vec<&'static str>,
    old_offset: Option<u64>,
    new_offset: Option<u64>,
    old_bytes: Option<u64>,
    new_bytes: Option<u64>,
}

/// The same for programs.
pub(crate) fn json_report(old: &PlanFile, new: &PlanFile) -> String {
    let diff = diff(old, new);
    let row = |row: &'_ DiffRow| {
        let (old, new) = sides(row);
        (row.changes(), old.map(|buffer| (buffer.offset, buffer.bytes)), new.map(|buffer| (buffer.offset, buffer.bytes)))
    };
    let buffers = diff.rows.iter().map(|changed| {
        let (changes, old, new) = row(changed);
        RowReport {
            name: changed.name(),
            changes,
            old_offset: old.map(|place| place.0),
            new_offset: new.map(|place| place.0),
            old_bytes: old.map(|place| place.1),
            new_bytes: new.map(|place| place.1),
        }
    });
    object(&DiffReport {
        old_arena_bytes: old.arena_bytes(),
        new_arena_bytes: new.arena_bytes(),
        same: diff.n_same,
        moved: diff.n_of("moved"),
        grew: diff.n_of("grew"),
        shrank: diff.n_of("shrank"),
        appeared: diff.n_of("appeared"),
        vanished: diff.n_of("vanished"),
        buffers: buffers.collect(),
    })
}
