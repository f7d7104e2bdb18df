//! Buffers with lifetimes as CSV: the format of MiniMalloc's benchmark, and what the planner writes for other tools.
//!
//! A header line names the columns in any order: `id`, `lower`, `upper`, `size`, and `offset` where a tool has placed
//! the buffers already. `lower` is the first step, `upper` one past the last, sizes are bytes before rounding.
//! More columns, empty where a buffer has no such rule: `alignment`; `fixed_offset`, where it must be; `gaps`, steps in
//! which it need not be kept, as `5-7`, or `5-7@0:2` if bytes 0 and 1 must be kept all the same, divided by blanks.
//! If only some rows have an `offset`, those are fixed. A `hint` is a wish without force: it is read and not used.
//!
//! ```csv
//! id,lower,upper,size,alignment,gaps
//! a,0,3,4,,
//! b,3,9,4,8,5-7
//! ```

use std::collections::HashSet;
use std::io::Read;
use std::sync::Arc;

use arenascope_planner::constraints::{Constraints, Gap};
use arenascope_planner::control::Control;
use arenascope_planner::lifetimes::Lifetime;
use arenascope_planner::plan::Plan;
use arenascope_planner::prepare::Prepared;
use arenascope_planner::units::Align;
use arenascope_planner::workload::{BareBuffer, ObservedPlan, Source, Warning, Workload};

use crate::detect::{Origin, plain_reason, poll};
use crate::error::{FormatError, one_line};
use crate::extras::{Extras, rules};

/// The format's short name.
pub const FORMAT: &str = "minimalloc-csv";

/// Rows between two looks at the caller's wish to stop.
const ROWS_PER_POLL: usize = 1 << 14;
/// The longest line read; a longer one is no text, whatever it begins with.
const MAX_LINE_BYTES: usize = 1 << 20;
/// Sums below this can be planned.
const MAX_TOTAL_BYTES: u64 = 1 << 62;
/// A column's name and the other names that tools give it.
const COLUMNS: [(&str, &[&str]); 9] = [
    ("id", &["buffer", "buffer_id", "name"]),
    ("lower", &["start", "begin"]),
    ("upper", &["end"]),
    ("size", &["bytes"]),
    ("offset", &["address"]),
    ("alignment", &["align"]),
    ("fixed_offset", &["pin"]),
    ("gaps", &["gap"]),
    ("hint", &[]),
];

/// Whether a line is a header of this format.
pub(crate) fn is_header(line: &str) -> bool {
    let fields: Vec<String> = line.split(',').map(normal).collect();
    COLUMNS[1..4].iter().all(|column| fields.iter().any(|field| is_column(field, column)))
}

fn normal(field: &str) -> String {
    field.trim().trim_start_matches('\u{feff}').trim_matches('"').to_ascii_lowercase()
}

fn is_column(field: &str, (name, others): &(&str, &[&str])) -> bool {
    field == *name || others.contains(&field)
}

/// Where each column is.
struct Columns {
    id: Option<usize>,
    lower: usize,
    upper: usize,
    size: usize,
    offset: Option<usize>,
    align: Option<usize>,
    fixed_offset: Option<usize>,
    gaps: Option<usize>,
    hint: Option<usize>,
}

/// Reads a problem, and the plan in it if there is an `offset` column. Time and space O(rows).
pub(crate) fn read<R: Read>(origin: &Origin, source: R, control: &Control<'_>) -> Result<Workload, FormatError> {
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).flexible(true).trim(csv::Trim::All).from_reader(ShortLines { source, since_break: 0 });
    let mut record = csv::StringRecord::new();
    let mut warnings = Vec::new();
    if !next(origin, &mut reader, &mut record)? {
        return Err(line_error(origin, 1, "no header", "write `id,lower,upper,size` as the first line"));
    }
    let columns = columns(origin, &record, &mut warnings)?;
    let n_columns = record.len();
    let mut rows = Rows { origin, columns, buffers: Vec::new(), offsets: Vec::new(), extras: Vec::new(), total_bytes: 0, warnings };
    while next(origin, &mut reader, &mut record)? {
        let line = record.position().map_or(0, csv::Position::line);
        if record.len() != n_columns {
            let what = format!("{} fields, but the header has {n_columns}", record.len());
            return Err(line_error(origin, line, what, "give every line the header's fields"));
        }
        rows.push(line, &record)?;
        if rows.buffers.len().is_multiple_of(ROWS_PER_POLL) {
            poll(origin, control, record.position().map_or(0, csv::Position::byte))?;
        }
    }
    rows.into_workload()
}

/// A source that fails where a line does not end, so that no line takes more memory than lines may.
struct ShortLines<R> {
    source: R,
    since_break: usize,
}

impl<R: Read> Read for ShortLines<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = self.source.read(into)?;
        let read = into.get(..count).unwrap_or_default();
        self.since_break = match read.iter().rposition(|&byte| byte == b'\n') {
            Some(position) => count - position,
            None => self.since_break.saturating_add(count),
        };
        if self.since_break > MAX_LINE_BYTES {
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, format!("a line of more than {MAX_LINE_BYTES} bytes")));
        }
        Ok(count)
    }
}

fn next<R: Read>(origin: &Origin, reader: &mut csv::Reader<R>, record: &mut csv::StringRecord) -> Result<bool, FormatError> {
    reader.read_record(record).map_err(|error| {
        let line = error.position().map_or(1, csv::Position::line);
        let what = match error.kind() {
            csv::ErrorKind::Utf8 { .. } => "the text is not UTF-8".to_owned(),
            csv::ErrorKind::Io(error) => one_line(&plain_reason(error)),
            _ => one_line(&error.to_string()),
        };
        line_error(origin, line, what, "save the file as plain comma-separated text")
    })
}

fn line_error(origin: &Origin, line: u64, what: impl Into<String>, advice: &str) -> FormatError {
    FormatError::Line { path: origin.path.clone(), line, what: what.into(), advice: advice.to_owned() }
}

fn columns(origin: &Origin, header: &csv::StringRecord, warnings: &mut Vec<Warning>) -> Result<Columns, FormatError> {
    let mut found = [None; COLUMNS.len()];
    for (index, field) in header.iter().enumerate() {
        let field = normal(field);
        match COLUMNS.iter().position(|column| is_column(&field, column)) {
            Some(column) if found[column].is_some() => {
                return Err(line_error(origin, 1, format!("two columns named `{}`", COLUMNS[column].0), "keep one of them"));
            }
            Some(column) => found[column] = Some(index),
            None => warnings.push(Warning::at("line 1", format!("column `{}` is not used", one_line(&field)))),
        }
    }
    let need = |column: usize| {
        let what = || format!("no column `{}` in the header", COLUMNS[column].0);
        found[column].ok_or_else(|| line_error(origin, 1, what(), "write `id,lower,upper,size` (and `offset`) as the first line"))
    };
    Ok(Columns {
        id: found[0],
        lower: need(1)?,
        upper: need(2)?,
        size: need(3)?,
        offset: found[4],
        align: found[5],
        fixed_offset: found[6],
        gaps: found[7],
        hint: found[8],
    })
}

/// What has been read so far.
struct Rows<'a> {
    origin: &'a Origin,
    columns: Columns,
    buffers: Vec<BareBuffer>,
    offsets: Vec<Option<u64>>,
    extras: Vec<Extras>,
    total_bytes: u64,
    warnings: Vec<Warning>,
}

impl Rows<'_> {
    fn push(&mut self, line: u64, record: &csv::StringRecord) -> Result<(), FormatError> {
        let start = self.number(line, record, self.columns.lower, "lower")?;
        let end = self.number(line, record, self.columns.upper, "upper")?;
        let size_bytes = self.number(line, record, self.columns.size, "size")?;
        if start >= end {
            let what = format!("lifetime [{start}, {end}) covers no step");
            return Err(line_error(self.origin, line, what, "`upper` is one past the last step and must be larger than `lower`"));
        }
        if size_bytes == 0 {
            self.warnings.push(Warning::at(format!("line {line}"), "size 0; the buffer is left out"));
            return Ok(());
        }
        let total = self.total_bytes.checked_add(size_bytes).filter(|&total| total < MAX_TOTAL_BYTES);
        self.total_bytes = total.ok_or_else(|| {
            let what = format!("its size of {size_bytes} bytes brings the sum of all sizes over 2^62 bytes");
            line_error(self.origin, line, what, "check the unit: sizes are bytes")
        })?;
        let offset = self.optional(line, record, self.columns.offset, "offset")?;
        if let Some(offset) = offset.filter(|offset| offset.checked_add(size_bytes).is_none_or(|end| end >= MAX_TOTAL_BYTES)) {
            let what = format!("offset {offset} plus size {size_bytes} is over 2^62 bytes");
            return Err(line_error(self.origin, line, what, "offsets are bytes from the arena's start"));
        }
        self.offsets.push(offset);
        self.extras.push(Extras {
            align: self.align(line, record)?,
            gaps: self.gaps(line, record, Lifetime { start, end })?,
            fixed_offset: self.optional(line, record, self.columns.fixed_offset, "fixed_offset")?,
            hint: self.optional(line, record, self.columns.hint, "hint")?,
        });
        let given = self.columns.id.and_then(|column| record.get(column)).unwrap_or_default();
        let name = if given.is_empty() { self.buffers.len().to_string() } else { given.to_owned() };
        self.buffers.push(BareBuffer { name, size_bytes, lifetime: Lifetime { start, end } });
        Ok(())
    }

    fn number(&self, line: u64, record: &csv::StringRecord, column: usize, name: &str) -> Result<u64, FormatError> {
        let text = record.get(column).unwrap_or_default();
        text.parse().map_err(|_| {
            let is_integer = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            let what = match text.strip_prefix('-') {
                _ if text.is_empty() => format!("`{name}` is empty"),
                Some(digits) if is_integer(digits) => format!("`{name}` is negative ({})", one_line(text)),
                _ if is_integer(text) => format!("`{name}` ({}) does not fit into 64 bits", one_line(text)),
                _ => format!("`{name}` is not a whole number (`{}`)", one_line(text)),
            };
            line_error(self.origin, line, what, "write a whole number from 0 to 2^62")
        })
    }

    /// A number in a column that may be absent, or empty in some rows; hints below 0 stand for none.
    fn optional(&self, line: u64, record: &csv::StringRecord, column: Option<usize>, name: &str) -> Result<Option<u64>, FormatError> {
        match column.map(|column| (column, record.get(column).unwrap_or_default())) {
            None | Some((_, "")) => Ok(None),
            Some((_, text)) if name == "hint" && text.starts_with('-') => Ok(None),
            Some((column, _)) => self.number(line, record, column, name).map(Some),
        }
    }

    fn align(&self, line: u64, record: &csv::StringRecord) -> Result<Option<Align>, FormatError> {
        let Some(bytes) = self.optional(line, record, self.columns.align, "alignment")? else { return Ok(None) };
        Align::new(bytes).map(Some).ok_or_else(|| line_error(self.origin, line, "an alignment of 0", "use 1 or more"))
    }

    /// Gaps stand apart by blanks.
    fn gaps(&self, line: u64, record: &csv::StringRecord, life: Lifetime) -> Result<Vec<Gap>, FormatError> {
        let text = self.columns.gaps.and_then(|column| record.get(column)).unwrap_or_default();
        let one = |text: &str| {
            let is_within = |gap: &Gap| life.start <= gap.lifetime.start && gap.lifetime.start < gap.lifetime.end && gap.lifetime.end <= life.end;
            let what = || format!("`{}` is no gap within the lifetime", one_line(text));
            gap(text).filter(is_within).ok_or_else(|| line_error(self.origin, line, what(), "write gaps as `5-7` or `5-7@0:2`"))
        };
        text.split_whitespace().map(one).collect()
    }

    /// What the planner must keep to. Where only some rows have an offset, those are fixed, unless they contradict each
    /// other: then they are what another tool made, to be shown and not kept.
    fn rules(&mut self) -> Result<Option<Arc<Constraints>>, FormatError> {
        if self.columns.offset.is_none() || self.offsets.iter().all(Option::is_some) {
            return rules(self.origin, &self.buffers, &self.extras, &mut self.warnings);
        }
        let fix = |(extra, offset): (&Extras, &Option<u64>)| Extras { fixed_offset: extra.fixed_offset.or(*offset), ..extra.clone() };
        let fixed: Vec<Extras> = self.extras.iter().zip(&self.offsets).map(fix).collect();
        let mut warnings = Vec::new();
        match rules(self.origin, &self.buffers, &fixed, &mut warnings) {
            Err(_) if fixed != self.extras => {
                let constraints = rules(self.origin, &self.buffers, &self.extras, &mut self.warnings)?;
                let n_fixed = self.offsets.iter().flatten().count();
                self.warnings.push(Warning::general(format!(
                    "the offsets of {n_fixed} of {} buffers cannot all be kept: they are shown as a plan, and not planned with",
                    self.buffers.len()
                )));
                Ok(constraints)
            }
            found => {
                self.warnings.append(&mut warnings);
                found
            }
        }
    }

    fn into_workload(mut self) -> Result<Workload, FormatError> {
        if self.buffers.is_empty() {
            self.warnings.push(Warning::general("the file lists no buffers"));
        }
        self.warnings.extend(repeated_names(&self.buffers));
        let constraints = self.rules()?;
        let observed = self.columns.offset.filter(|_| self.offsets.iter().any(Option::is_some)).map(|_| ObservedPlan {
            tool: "file".to_owned(),
            offsets: self.offsets,
            arena_bytes: None,
        });
        Ok(Workload {
            file: self.origin.file.clone(),
            format: FORMAT,
            title: String::new(),
            description: String::new(),
            source: Source::Buffers(Arc::new(self.buffers)),
            constraints,
            observed,
            symbolic_dims: Vec::new(),
            warnings: self.warnings,
        })
    }
}

/// A warning where names are not unique: the rows are still buffers of their own. Time and space O(rows).
fn repeated_names(buffers: &[BareBuffer]) -> Option<Warning> {
    let mut seen = HashSet::with_capacity(buffers.len());
    let mut repeated = buffers.iter().filter(|buffer| !seen.insert(buffer.name.as_str()));
    let first = repeated.next()?;
    let rows = 1 + repeated.count();
    let noun = if rows == 1 { "row repeats" } else { "rows repeat" };
    let name = one_line(&first.name);
    Some(Warning::general(format!("{rows} {noun} an earlier id, `{name}` first; each row is a buffer of its own")))
}

/// `5-7` or `5-7@0:2`: steps, and bytes that must be kept all the same.
fn gap(text: &str) -> Option<Gap> {
    let (steps, window) = text.split_once('@').map_or((text, None), |(steps, window)| (steps, Some(window)));
    let pair = |text: &str, divider: char| text.split_once(divider).and_then(|(one, two)| Some((one.parse().ok()?, two.parse().ok()?)));
    let (start, end) = pair(steps, '-')?;
    let window = match window {
        Some(window) => Some(pair(window, ':')?),
        None => None,
    };
    Some(Gap { lifetime: Lifetime { start, end }, window })
}

/// A plan with its problem, one row per dynamic buffer: `id,lower,upper,size,offset`, sizes before rounding.
#[must_use]
pub fn plan_to_csv(prepared: &Prepared, plan: &Plan) -> String {
    let rows = prepared.problem.ids().map(|id| {
        let buffer = prepared.problem.buffer(id);
        [
            id.0.to_string(),
            buffer.lifetime.start.to_string(),
            buffer.lifetime.end.to_string(),
            buffer.size_bytes.to_string(),
            plan.offset(id).to_string(),
        ]
    });
    to_csv(["id", "lower", "upper", "size", "offset"], rows)
}

/// A bare problem: `id,lower,upper,size`.
#[must_use]
pub fn buffers_to_csv(buffers: &[BareBuffer]) -> String {
    let rows = buffers
        .iter()
        .map(|buffer| [buffer.name.clone(), buffer.lifetime.start.to_string(), buffer.lifetime.end.to_string(), buffer.size_bytes.to_string()]);
    to_csv(["id", "lower", "upper", "size"], rows)
}

fn to_csv<const N: usize>(header: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(header).expect("memory does not fail");
    for row in rows {
        writer.write_record(row).expect("memory does not fail, and rows have the header's length");
    }
    String::from_utf8(writer.into_inner().expect("memory does not fail")).expect("only strings were written")
}
