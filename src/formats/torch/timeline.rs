//! Memory timelines of PyTorch's profiler: sums by category over time, without tensors.
//!
//! Two forms of JSON:
//! `[[time, …], [[0, parameter, optimizer state, …], …]]`, and the raw one, a list of `[time, action, bytes, category]`
//! where bytes are negative for what goes away and time is −1 for what was there before.
//! Neither has ids or addresses, so there are no buffers to plan: the curves by category are all that is exact.

use std::fmt;
use std::io::{BufReader, Read};

use arenascope_planner::recording::Recording;
use arenascope_planner::stacks::StackTable;
use arenascope_planner::trace::CategoryCurve;
use arenascope_planner::workload::{Warning, Workload};
use serde::Deserializer as _;
use serde::de::{Deserialize, Error, SeqAccess, Visitor};

use super::polled::{Polled, Position};
use super::snapshot::of_trace;
use super::{Reading, TIMELINE_FORMAT};
use crate::error::FormatError;

/// The categories in the order of `_CATEGORY_TO_INDEX` in `torch/profiler/_memory_profiler.py`.
const CATEGORIES: [&str; 8] = ["parameter", "optimizer state", "input", "temporary", "activation", "gradient", "autograd detail", "unknown"];
/// Categories that are read at most; there are eight.
const MAX_CATEGORIES: usize = 64;

/// Reads a timeline of either form.
pub(crate) fn read<R: Read>(reading: &Reading<'_>, source: R) -> Result<Workload, FormatError> {
    let position = Position::default();
    let polled = BufReader::with_capacity(1 << 16, Polled { source, reading, position: &position });
    let mut parser = serde_json::Deserializer::from_reader(polled);
    let timeline = parser.deserialize_seq(Outer).and_then(|timeline| parser.end().map(|()| timeline));
    let Timeline { times, curves } = timeline.map_err(|error| reading.json_error(&error, &position))?;
    let names = CATEGORIES.iter().map(|&name| name.to_owned()).chain((CATEGORIES.len()..).map(|index| format!("category {index}")));
    let categories = names.zip(curves).map(|(category, bytes)| CategoryCurve { category, bytes }).collect();
    let recording = Recording { category_times_us: times, categories, ..Recording::empty("", StackTable::default()) };
    let trace = recording.into_trace().map_err(|error| FormatError::Graph { path: reading.path().to_owned(), reason: error.to_string() })?;
    let message = "a memory timeline holds sums by category only, no tensors: there is nothing to plan; record a Chrome trace with profile_memory=True for that";
    Ok(of_trace(reading, TIMELINE_FORMAT, "", trace, vec![Warning::general(message)]))
}

/// Bytes per category at each time.
struct Timeline {
    times: Vec<i64>,
    curves: Vec<Vec<u64>>,
}

/// A number, or a list of numbers.
enum Cell {
    Number(i64),
    Row(Vec<i64>),
}

impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CellVisitor)
    }
}

struct CellVisitor;

impl<'de> Visitor<'de> for CellVisitor {
    type Value = Cell;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a list of numbers")
    }

    fn visit_i64<E>(self, value: i64) -> Result<Cell, E> {
        Ok(Cell::Number(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Cell, E> {
        Ok(Cell::Number(i64::try_from(value).unwrap_or(i64::MAX)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Cell, E> {
        #[expect(clippy::cast_possible_truncation, reason = "whole numbers that the writer happened to write with a point")]
        let whole = value.round() as i64;
        Ok(Cell::Number(whole))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Cell, A::Error> {
        let mut row = Vec::new();
        while let Some(cell) = seq.next_element::<Cell>()? {
            let Cell::Number(number) = cell else { return Err(A::Error::custom("lists nested too deeply")) };
            row.push(number);
            if row.len() > MAX_CATEGORIES {
                return Err(A::Error::custom("more columns than there are categories"));
            }
        }
        Ok(Cell::Row(row))
    }
}

/// One of the outer lists: numbers, or rows of numbers.
#[derive(Default)]
struct Middle {
    numbers: Vec<i64>,
    /// The rows one behind the other, each `width` long.
    rows: Vec<i64>,
    width: usize,
}

impl<'de> Deserialize<'de> for Middle {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(MiddleVisitor)
    }
}

struct MiddleVisitor;

impl<'de> Visitor<'de> for MiddleVisitor {
    type Value = Middle;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of numbers, or of rows of numbers")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Middle, A::Error> {
        let mut middle = Middle::default();
        while let Some(cell) = seq.next_element::<Cell>()? {
            match cell {
                Cell::Number(number) => middle.numbers.push(number),
                Cell::Row(row) => {
                    if middle.rows.is_empty() {
                        middle.width = row.len();
                    }
                    if row.len() != middle.width || row.is_empty() {
                        return Err(A::Error::custom(format!("a row of {} numbers among rows of {}", row.len(), middle.width)));
                    }
                    middle.rows.extend(row);
                }
            }
        }
        Ok(middle)
    }
}

struct Outer;

impl<'de> Visitor<'de> for Outer {
    type Value = Timeline;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Timeline, A::Error> {
        let first = seq.next_element::<Middle>()?.unwrap_or_default();
        let second = seq.next_element::<Middle>()?.unwrap_or_default();
        if second.width > 0 {
            return table(first.numbers, &second).ok_or_else(|| A::Error::custom("times and rows of sizes do not match"));
        }
        let mut raw = Raw::default();
        let mut next = Some(first);
        let mut after = Some(second).filter(|second| !second.numbers.is_empty());
        while let Some(row) = next {
            if !raw.add(&row.numbers) {
                return Err(A::Error::custom("an entry is not [time, action, bytes, category]"));
            }
            next = after.take();
            if next.is_none() {
                next = seq.next_element::<Middle>()?;
            }
        }
        Ok(raw.into_timeline())
    }
}

/// Rows begin with a 0 for stacked drawing, which is no category.
fn table(times: Vec<i64>, rows: &Middle) -> Option<Timeline> {
    if rows.rows.len() != times.len().checked_mul(rows.width)? {
        return None;
    }
    let skipped = usize::from(rows.width > CATEGORIES.len());
    let column = |index: usize| rows.rows.chunks_exact(rows.width).map(|row| u64::try_from(row[index]).unwrap_or(0)).collect();
    Some(Timeline { times, curves: (skipped..rows.width).map(column).collect() })
}

/// Sums over the entries of a raw timeline.
#[derive(Default)]
struct Raw {
    times: Vec<i64>,
    levels: [i64; CATEGORIES.len()],
    rows: Vec<[i64; CATEGORIES.len()]>,
}

impl Raw {
    fn add(&mut self, entry: &[i64]) -> bool {
        let [time, _, bytes, category] = *entry else { return false };
        let Some(level) = usize::try_from(category).ok().and_then(|category| self.levels.get_mut(category)) else { return false };
        let Some(sum) = level.checked_add(bytes) else { return false };
        *level = sum;
        if self.times.last() == Some(&time) {
            self.rows.pop();
        } else {
            self.times.push(time);
        }
        self.rows.push(self.levels);
        true
    }

    fn into_timeline(mut self) -> Timeline {
        // What was there before has the time -1; the curves begin with the first real time.
        if let [-1, first, ..] = *self.times.as_slice() {
            self.times[0] = first;
        }
        let column = |index: usize| self.rows.iter().map(|row| u64::try_from(row[index]).unwrap_or(0)).collect();
        Timeline { curves: (0..CATEGORIES.len()).map(column).collect(), times: self.times }
    }
}
