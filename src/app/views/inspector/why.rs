//! Why a buffer is where it is: who holds the bytes below it, and whether it could be lower on its own.

use arenascope_planner::explain::{Blocker, LowerRange, PlaceReport, explain_place_among};
use arenascope_planner::ids::BufferId;

use super::sheet::{Block, Row, Sheet, own_name};
use crate::selection::Item;
use crate::session::Planned;
use crate::text;
use crate::views::interference::live_during;

/// Most lines of reasons.
const MAX_LINES: usize = 8;

/// Adds the reasons. Time O(k log k) for k neighbours.
pub(super) fn why(sheet: &mut Sheet, planned: &Planned, id: BufferId) {
    let problem = &planned.prepared.problem;
    sheet.heading("Why is it here?", "from the top down");
    let lifetime = problem.buffer(id).lifetime;
    let mut neighbours = live_during(planned, lifetime);
    neighbours.extend(problem.kept_apart().into_iter().flat_map(|apart| apart.of(id)));
    neighbours.sort_unstable();
    neighbours.dedup();
    let report = explain_place_among(problem, &planned.plan, id, neighbours);
    by_the_rules(sheet, planned, &report);
    let bytes = problem.buffer(id).bytes;
    // A buffer may stand on thousands; only those that are shown become text.
    let n = report.below.iter().map(|range| if let LowerRange::Blocked { blockers, .. } = range { blockers.len() } else { 1 }).sum();
    sheet.blocks.extend(report.below.iter().rev().flat_map(|range| lines(range, bytes)).take(MAX_LINES));
    sheet.more(n, MAX_LINES);
    let during = text::lifetime(lifetime.start, lifetime.end);
    match report.could_be_at {
        Some(lower) => sheet.push(Block::Warning(format!("It could be at {} if nothing else moved.", place(lower)))),
        None if report.is_pinned => sheet.push(Block::Text("A rule fixes it there.".to_owned())),
        None if report.offset == 0 && !problem.pools().is_empty() => sheet.push(Block::Text("It is at the bottom of its pool.".to_owned())),
        None if report.offset == 0 => sheet.push(Block::Text("It is at the bottom of the arena.".to_owned())),
        None => {
            let below = text::bytes(report.offset);
            sheet.push(Block::Text(format!("No offset below {below} has room for it during {during}: it cannot be lower on its own.")));
        }
    }
}

/// What the rules of the file say about its place: what moves with it, and the pools that it would rather be in.
fn by_the_rules(sheet: &mut Sheet, planned: &Planned, report: &PlaceReport) {
    if !report.moves_with.is_empty() {
        sheet.push(Block::Note(format!("it moves as one with these, which begin at {}", place(report.offset))));
        sheet.rows(report.moves_with.len(), MAX_LINES, report.moves_with.iter().map(|&other| partner_row(planned, other)));
    }
    for better in &report.better_pools {
        let pool = &planned.prepared.problem.pools()[better.pool.index()];
        let needs = text::bytes(better.needs_bytes);
        sheet.push(match pool.capacity_bytes {
            Some(capacity) if !better.fits => {
                Block::Note(format!("it prefers {}, but would end at {needs} there, of {}", pool.name, text::bytes(capacity)))
            }
            _ => Block::Warning(format!("It prefers {} and would fit there: it would end at {needs}.", pool.name)),
        });
    }
}

fn partner_row(planned: &Planned, other: BufferId) -> Row {
    let name = own_name(planned, other).unwrap_or_default().to_owned();
    Row { item: Item::Buffer(other), swatch: Some(other), strong: format!("#{}", other.0), text: name, right: "with it".to_owned() }
}

/// The lines of a range below a buffer of that size, from the top down.
fn lines(range: &LowerRange, bytes: u64) -> Box<dyn Iterator<Item = Block> + '_> {
    match range {
        LowerRange::Blocked { blockers, .. } => Box::new(blockers.iter().rev().map(blocker_line)),
        LowerRange::TooSmall { from_byte, to_byte, short_bytes } => {
            let room = text::bytes(to_byte - from_byte);
            let note = format!("{room} free at {}, {} too small", text::bytes(*from_byte), text::bytes(*short_bytes));
            Box::new(std::iter::once(Block::Note(note)))
        }
        LowerRange::Unsuitable { from_byte, to_byte } => {
            let room = text::bytes(to_byte - from_byte);
            let note = format!("{room} free at {}, but no offset there suits its own rules", text::bytes(*from_byte));
            Box::new(std::iter::once(Block::Note(note)))
        }
        LowerRange::Free { from_byte, to_byte } => {
            let room = to_byte - from_byte;
            // Right below a buffer its own bytes count as well.
            let how = if room < bytes { "it could slide down" } else { "large enough" };
            let good = format!("{} free at {}: {how}", text::bytes(room), text::bytes(*from_byte));
            Box::new(std::iter::once(Block::Good(good)))
        }
    }
}

/// `1.50 MiB, 0x00180000`.
fn place(offset: u64) -> String {
    format!("{}, {}", text::bytes(offset), text::hex(offset))
}

fn blocker_line(blocker: &Blocker) -> Block {
    let steps = match blocker.steps {
        Some(steps) if steps.n_steps() == 1 => format!("at step {}", text::count(steps.start)),
        Some(steps) => format!("steps {}–{}", text::count(steps.start), text::count(steps.end - 1)),
        None => "may run beside it".to_owned(),
    };
    let (from, to) = (text::bytes(blocker.from_byte), text::bytes(blocker.to_byte));
    // Far up, both ends of a small buffer read the same.
    let what =
        if from == to { format!("holds {} at {from}", text::bytes(blocker.to_byte - blocker.from_byte)) } else { format!("holds {from} – {to}") };
    match blocker.buffer {
        Some(id) => Block::Row(Row { item: Item::Buffer(id), swatch: Some(id), strong: format!("#{}", id.0), text: what, right: steps }),
        None => Block::Note(format!("reserved: {from} – {to}, {steps}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample_plans::{bare_with, json_file, placed, sample};
    use super::*;

    fn words(planned: &Planned, id: u32) -> String {
        let mut sheet = Sheet::default();
        why(&mut sheet, planned, BufferId(id));
        sheet.words()
    }

    #[test]
    fn names_who_blocks_which_bytes_when_and_what_is_too_small() {
        // 0 at the bottom to step 3, 1 on it, 2 fits under neither once both are there.
        let planned = placed(&[(128, 0, 3), (64, 2, 6), (192, 2, 4), (64, 5, 8)], &[0, 128, 192, 0]);
        assert!(words(&planned, 0).contains("at the bottom"));
        let words = words(&planned, 2);
        assert!(words.contains("#1 | holds 128 B – 192 B | steps 2–3"), "{words}");
        assert!(words.contains("#0 | holds 0 B – 128 B | at step 2"), "{words}");
        assert!(words.contains("cannot be lower on its own"), "{words}");
    }

    #[test]
    fn says_where_it_could_be_and_what_is_short() {
        let planned = bare_with(&[(64, 0, 1), (128, 1, 3), (64, 2, 4)], "naive");
        let of_second = words(&planned, 1);
        assert!(of_second.contains("64 B free at 0 B: it could slide down") && of_second.contains("could be at 0 B, 0x00000000"), "{of_second}");
        let of_third = words(&planned, 2);
        assert!(of_third.contains("64 B free at 0 B: large enough") && of_third.contains("could be at 0 B"), "{of_third}");
        let tight = placed(&[(64, 0, 2), (64, 0, 9), (128, 3, 5)], &[0, 64, 128]);
        let words = words(&tight, 2);
        assert!(words.contains("64 B free at 0 B, 64 B too small"), "{words}");
    }

    #[test]
    fn rules_and_pools_have_their_reasons() {
        let planned = json_file(
            r#"{"format": "problem-v1", "pools": [{"name": "SRAM", "capacity": 256}, {"name": "PSRAM"}],
            "reserved": [{"pool": "SRAM", "from": 0, "to": 64, "start": 0, "end": 4}],
            "buffers": [{"id": "a", "size": 128, "start": 0, "end": 3}, {"id": "b", "size": 192, "start": 1, "end": 4},
                {"id": "v", "size": 64, "start": 1, "end": 3, "view_of": "a", "at": 64},
                {"id": "fixed", "size": 64, "start": 5, "end": 6, "offset": 128, "pools": ["SRAM"]}]}"#,
        );
        let of = |id: u32| words(&planned, id);
        assert!(
            of(0).contains("moves as one") && of(0).contains("#2 | v | with it") && of(0).contains("reserved: 0 B – 64 B, steps 0–2"),
            "{}",
            of(0)
        );
        assert!(of(1).contains("it prefers SRAM, but would end at 384 B there, of 256 B"), "{}", of(1));
        assert!(of(3).contains("A rule fixes it there."), "{}", of(3));
    }

    #[test]
    fn a_real_buffer_has_the_reason_of_the_mock() {
        let words = words(&sample("mobilenet_v2.onnx"), 4);
        assert!(words.contains("#3 | holds 0 B – 4.59 MiB"), "{words}");
    }
}
