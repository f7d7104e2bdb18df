//! Planning problems as JSON: buffers with lifetimes, and every rule that a problem may have.
//!
//! # The file
//!
//! ```json
//! {
//!   "format": "problem-v1",
//!   "title": "Two memories",
//!   "pools": [{ "name": "SRAM", "capacity": "256 KiB" }, { "name": "PSRAM" }],
//!   "reserved": [{ "pool": "SRAM", "from": 0, "to": 1024, "start": 0, "end": 2 }],
//!   "buffers": [
//!     { "id": "a", "size": "128 KiB", "start": 0, "end": 3, "pools": ["SRAM", "PSRAM"] },
//!     { "id": "b", "size": 4096, "live": [[0, 2], [5, 6]], "align": 1024 },
//!     { "id": "c", "size": 1024, "start": 1, "end": 4, "view_of": "a", "at": 2048 },
//!     { "id": "d", "size": 4096, "start": 2, "end": 5, "in_place_with": "b" },
//!     { "id": "e", "size": 64, "start": 3, "end": 6, "offset": 8192, "pools": ["SRAM"] }
//!   ]
//! }
//! ```
//!
//! | field | meaning | if it is left out |
//! | --- | --- | --- |
//! | `format` | `problem-v1`, before the buffers | an error |
//! | `title`, `description` | shown as they are | empty |
//! | `capacity` | bytes of the arena, if there is one | no limit |
//! | `pools` | memories with `name` and `capacity`, the best first | one arena |
//! | `max_chunk` | no buffer may straddle a multiple of so many bytes | no limit |
//! | `reserved` | bytes `from` to `to` that no buffer may touch in steps `start` to `end` of `pool` | none; all steps; the first pool |
//! | `buffers` | the buffers | an error |
//! | `in_place` | groups of buffers that share a place | none |
//!
//! A buffer:
//!
//! | field | meaning | if it is left out |
//! | --- | --- | --- |
//! | `id` | a name or a number by which others refer to it | its position |
//! | `size` | bytes before rounding | an error |
//! | `start`, `end` | its lifetime, `end` is one past the last step | those of `live` |
//! | `live` | pairs of steps in which it must be kept | all of its lifetime |
//! | `gaps` | `start` and `end` of steps in which it need not be kept; `keep` is a pair of bytes that must be all the same | none |
//! | `align` | its own alignment, beside that of the problem | that of the problem |
//! | `offset` | where it must be | chosen by the plan |
//! | `pools` | the pools that it may be in, by name or position, the best first | all |
//! | `view_of`, `at` | the buffer that it lies in, and its first byte there | a place of its own; 0 |
//! | `in_place_with` | a buffer whose place it shares | a place of its own |
//!
//! Bytes are numbers, or text such as `"4 MiB"`. A field that is not listed here is named in a warning.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arenascope_planner::constraints::{Constraints, Pool, Reserved};
use arenascope_planner::ids::{BufferId, PoolId};
use arenascope_planner::lifetimes::Lifetime;
use arenascope_planner::problem::Problem;
use arenascope_planner::units::{Align, parse_bytes};
use arenascope_planner::workload::{BareBuffer, Source, Warning, Workload};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::detect::Origin;
use crate::error::{FormatError, one_line};
use crate::json_fault;

/// The format's short name.
pub const FORMAT: &str = "problem-json";
/// The value of `format`.
const VERSION: &str = "problem-v1";
/// Where `format` must be found, bytes from the start.
const HEAD_BYTES: usize = 4096;

#[derive(Serialize, Deserialize, Default)]
struct FileEntry {
    format: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    capacity: Option<Bytes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_chunk: Option<Bytes>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pools: Vec<PoolEntry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reserved: Vec<ReservedEntry>,
    buffers: Vec<BufferEntry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    in_place: Vec<Vec<Name>>,
    #[serde(flatten)]
    other: BTreeMap<String, Value>,
}

#[derive(Serialize, Deserialize)]
struct PoolEntry {
    #[serde(default)]
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    capacity: Option<Bytes>,
    #[serde(flatten)]
    other: BTreeMap<String, Value>,
}

#[derive(Serialize, Deserialize)]
struct ReservedEntry {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pool: Option<Name>,
    from: Bytes,
    to: Bytes,
    #[serde(default)]
    start: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<u64>,
    #[serde(flatten)]
    other: BTreeMap<String, Value>,
}

#[derive(Serialize, Deserialize)]
struct BufferEntry {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<Name>,
    size: Bytes,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    live: Option<Vec<(u64, u64)>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    gaps: Vec<GapEntry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    align: Option<Bytes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    offset: Option<Bytes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pools: Option<Vec<Name>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    view_of: Option<Name>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<Bytes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    in_place_with: Option<Name>,
    #[serde(flatten)]
    other: BTreeMap<String, Value>,
}

#[derive(Serialize, Deserialize)]
struct GapEntry {
    start: u64,
    end: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    keep: Option<(u64, u64)>,
    #[serde(flatten)]
    other: BTreeMap<String, Value>,
}

/// A name, or a number that stands for one.
#[derive(Serialize, Deserialize, Clone)]
#[serde(untagged, expecting = "this must be a name (a text) or a whole number")]
enum Name {
    Text(String),
    Number(u64),
}

impl Name {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
        }
    }
}

/// A number of bytes, or text such as `4 MiB`.
#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "this must be a number of bytes, or a text such as \"4 MiB\"")]
enum Bytes {
    Number(u64),
    Text(String),
}

/// Whether a JSON text is a problem of this kind.
pub(crate) fn is_problem(text: &str) -> bool {
    let head = text.as_bytes().get(..HEAD_BYTES).unwrap_or(text.as_bytes());
    let wanted = format!("\"{VERSION}\"");
    head.windows(wanted.len()).any(|window| window == wanted.as_bytes())
}

/// Reads a problem. Time O(n log n), space O(n).
pub(crate) fn read(origin: &Origin, text: &str) -> Result<Workload, FormatError> {
    let file: FileEntry = serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| {
        let what = format!("column {}: {}", error.column(), json_fault::what(&error));
        let advice = "a problem has `format` and `buffers`, each with `size`, `start` and `end`".to_owned();
        FormatError::Line { path: origin.path.clone(), line: error.line().max(1) as u64, what, advice }
    })?;
    if file.format != VERSION {
        let what = format!("`{}` is not `{VERSION}`", one_line(&file.format));
        return Err(broken(origin, "format", what, "write it again with this version"));
    }
    let mut reader = Reader { origin, constraints: Constraints::default(), buffers: Vec::new(), warnings: Vec::new() };
    reader.unknown("the file", &file.other);
    let pools = reader.pools(&file)?;
    let ids = reader.ids(&file.buffers)?;
    for (index, entry) in file.buffers.iter().enumerate() {
        reader.buffer(index, entry, &ids, &pools)?;
    }
    for group in &file.in_place {
        reader.group(group, &ids)?;
    }
    let span = reader.buffers.iter().map(|buffer| buffer.lifetime.end).max().unwrap_or(1);
    reader.reserved(&file.reserved, &pools, span)?;
    if let Some(bytes) = &file.max_chunk {
        let bytes = reader.bytes("max_chunk", bytes)?;
        reader.constraints.limit_chunks(bytes);
    }
    reader.into_workload(file.title, file.description)
}

fn broken(origin: &Origin, place: &str, what: impl Into<String>, advice: &str) -> FormatError {
    FormatError::Entry { path: origin.path.clone(), place: one_line(place), what: what.into(), advice: advice.to_owned() }
}

struct Reader<'a> {
    origin: &'a Origin,
    constraints: Constraints,
    buffers: Vec<BareBuffer>,
    warnings: Vec<Warning>,
}

/// Names with what they stand for.
type Names<T> = HashMap<String, T>;

impl Reader<'_> {
    fn unknown(&mut self, place: &str, other: &BTreeMap<String, Value>) {
        for field in other.keys() {
            self.warnings.push(Warning::at(one_line(place), format!("field `{}` is not known and not used", one_line(field))));
        }
    }

    fn bytes(&self, place: &str, bytes: &Bytes) -> Result<u64, FormatError> {
        match bytes {
            Bytes::Number(number) => Ok(*number),
            Bytes::Text(text) => parse_bytes(text).map_err(|message| broken(self.origin, place, one_line(&message), "write bytes as a number")),
        }
    }

    fn pools(&mut self, file: &FileEntry) -> Result<Names<PoolId>, FormatError> {
        let mut names = Names::new();
        for (index, entry) in file.pools.iter().enumerate() {
            let place = format!("pool `{}`", entry.name);
            self.unknown(&place, &entry.other);
            let capacity_bytes = entry.capacity.as_ref().map(|bytes| self.bytes(&place, bytes)).transpose()?;
            let pool = self.constraints.add_pool(Pool { name: entry.name.clone(), capacity_bytes });
            names.entry(index.to_string()).or_insert(pool);
            if !entry.name.is_empty() {
                names.insert(entry.name.clone(), pool);
            }
        }
        if let Some(bytes) = &file.capacity {
            let capacity_bytes = Some(self.bytes("capacity", bytes)?);
            if !file.pools.is_empty() {
                return Err(broken(self.origin, "capacity", "both `capacity` and `pools`", "give each pool its capacity"));
            }
            self.constraints.add_pool(Pool { name: String::new(), capacity_bytes });
        }
        Ok(names)
    }

    /// Where each buffer will be; those without bytes are left out.
    fn ids(&mut self, entries: &[BufferEntry]) -> Result<Names<BufferId>, FormatError> {
        let mut ids = Names::new();
        let mut next = 0;
        for (index, entry) in entries.iter().enumerate() {
            let name = name_of(index, entry);
            if self.bytes(&place_of(&name), &entry.size)? == 0 {
                self.warnings.push(Warning::at(place_of(&name), "size 0; the buffer is left out"));
                continue;
            }
            if ids.insert(name.clone(), BufferId::new(next)).is_some() {
                return Err(broken(self.origin, &place_of(&name), "two buffers with this id", "give each buffer its own"));
            }
            next += 1;
        }
        Ok(ids)
    }

    fn buffer(&mut self, index: usize, entry: &BufferEntry, ids: &Names<BufferId>, pools: &Names<PoolId>) -> Result<(), FormatError> {
        let name = name_of(index, entry);
        let place = place_of(&name);
        self.unknown(&place, &entry.other);
        let size_bytes = self.bytes(&place, &entry.size)?;
        if size_bytes == 0 {
            return Ok(());
        }
        let id = BufferId::new(self.buffers.len());
        let ranges: Vec<Lifetime> = entry.live.iter().flatten().map(|&(start, end)| Lifetime { start, end }).collect();
        let start = entry.start.or(ranges.first().map(|range| range.start));
        let end = entry.end.or(ranges.last().map(|range| range.end));
        let (Some(start), Some(end)) = (start, end) else {
            return Err(broken(self.origin, &place, "no lifetime", "give `start` and `end`, or `live`"));
        };
        if start >= end {
            let what = format!("lifetime [{start}, {end}) covers no step");
            return Err(broken(self.origin, &place, what, "`end` is one past the last step"));
        }
        self.live_ranges(id, &place, Lifetime { start, end }, &ranges)?;
        for gap in &entry.gaps {
            self.unknown(&place, &gap.other);
            self.constraints.add_gap(id, Lifetime { start: gap.start, end: gap.end }, gap.keep);
        }
        self.rules(id, &place, entry, ids, pools)?;
        self.buffers.push(BareBuffer { name, size_bytes, lifetime: Lifetime { start, end } });
        Ok(())
    }

    fn group(&mut self, group: &[Name], ids: &Names<BufferId>) -> Result<(), FormatError> {
        let find = |name: &Name| {
            let what = || format!("`{}` is no buffer", one_line(&name.text()));
            ids.get(&name.text()).copied().ok_or_else(|| broken(self.origin, "in_place", what(), "name the `id` of a buffer with bytes"))
        };
        let members: Vec<BufferId> = group.iter().map(find).collect::<Result<_, _>>()?;
        for pair in members.windows(2) {
            self.constraints.share_place(pair[0], pair[1]);
        }
        Ok(())
    }

    /// What a lifetime has beside its live ranges becomes gaps.
    fn live_ranges(&mut self, id: BufferId, place: &str, life: Lifetime, ranges: &[Lifetime]) -> Result<(), FormatError> {
        let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else { return Ok(()) };
        let is_sorted = ranges.iter().all(|range| range.start < range.end) && ranges.windows(2).all(|pair| pair[0].end < pair[1].start);
        if !is_sorted || first.start < life.start || last.end > life.end {
            return Err(broken(
                self.origin,
                place,
                "`live` ranges that are empty, meet, or leave the lifetime",
                "sort them and join those that meet",
            ));
        }
        if life.start < first.start {
            self.constraints.add_gap(id, Lifetime { start: life.start, end: first.start }, None);
        }
        self.constraints.set_live_ranges(id, ranges);
        if last.end < life.end {
            self.constraints.add_gap(id, Lifetime { start: last.end, end: life.end }, None);
        }
        Ok(())
    }

    fn rules(&mut self, id: BufferId, place: &str, entry: &BufferEntry, ids: &Names<BufferId>, pools: &Names<PoolId>) -> Result<(), FormatError> {
        let origin = self.origin;
        let find = |field: &str, name: &Name| {
            let what = || format!("`{field}` names `{}`, which is no buffer", one_line(&name.text()));
            ids.get(&name.text()).copied().ok_or_else(|| broken(origin, place, what(), "name the `id` of a buffer with bytes"))
        };
        if let Some(bytes) = &entry.align {
            let align = Align::new(self.bytes(place, bytes)?);
            self.constraints.set_align(id, align.ok_or_else(|| broken(origin, place, "an alignment of 0", "use 1 or more"))?);
        }
        if let Some(bytes) = &entry.offset {
            let offset = self.bytes(place, bytes)?;
            self.constraints.pin(id, offset);
        }
        if let Some(of) = &entry.view_of {
            let at = entry.at.as_ref().map(|bytes| self.bytes(place, bytes)).transpose()?;
            self.constraints.set_view(id, find("view_of", of)?, at.unwrap_or(0));
        } else if entry.at.is_some() {
            return Err(broken(origin, place, "`at` without `view_of`", "say which buffer it lies in, or use `offset`"));
        }
        if let Some(with) = &entry.in_place_with {
            self.constraints.share_place(id, find("in_place_with", with)?);
        }
        if let Some(names) = &entry.pools {
            let allowed = names.iter().map(|name| find_pool(origin, place, pools, name)).collect::<Result<_, _>>()?;
            self.constraints.prefer(id, allowed);
        }
        Ok(())
    }

    fn reserved(&mut self, entries: &[ReservedEntry], pools: &Names<PoolId>, span: u64) -> Result<(), FormatError> {
        for (index, entry) in entries.iter().enumerate() {
            let place = format!("reserved range {index}");
            self.unknown(&place, &entry.other);
            let pool = entry.pool.as_ref().map(|name| find_pool(self.origin, &place, pools, name)).transpose()?;
            let lifetime = Lifetime { start: entry.start, end: entry.end.unwrap_or(span) };
            let (from_byte, to_byte) = (self.bytes(&place, &entry.from)?, self.bytes(&place, &entry.to)?);
            self.constraints.reserve(Reserved { pool: pool.unwrap_or(PoolId(0)), lifetime, from_byte, to_byte });
        }
        Ok(())
    }

    fn into_workload(mut self, title: Option<String>, description: Option<String>) -> Result<Workload, FormatError> {
        if self.buffers.is_empty() {
            self.warnings.push(Warning::general("the file lists no buffers"));
        }
        let constraints = checked(self.origin, &self.buffers, self.constraints)?;
        Ok(Workload {
            file: self.origin.file.clone(),
            format: FORMAT,
            title: title.unwrap_or_default(),
            description: description.unwrap_or_default(),
            source: Source::Buffers(Arc::new(self.buffers)),
            constraints,
            observed: None,
            symbolic_dims: Vec::new(),
            warnings: self.warnings,
        })
    }
}

fn name_of(index: usize, entry: &BufferEntry) -> String {
    entry.id.as_ref().map_or_else(|| index.to_string(), Name::text)
}

fn place_of(name: &str) -> String {
    format!("buffer `{}`", one_line(name))
}

fn find_pool(origin: &Origin, place: &str, pools: &Names<PoolId>, name: &Name) -> Result<PoolId, FormatError> {
    let what = || format!("`{}` is no pool", one_line(&name.text()));
    pools.get(&name.text()).copied().ok_or_else(|| broken(origin, place, what(), "name one of `pools`"))
}

/// The rules, if there are any, and if they contradict neither the buffers nor each other.
pub(crate) fn checked(origin: &Origin, buffers: &[BareBuffer], constraints: Constraints) -> Result<Option<Arc<Constraints>>, FormatError> {
    if constraints == Constraints::default() {
        return Ok(None);
    }
    let sizes = buffers.iter().map(|buffer| (buffer.size_bytes, buffer.lifetime));
    let problem = Problem::new(sizes, Align::ONE).and_then(|problem| problem.with_constraints(constraints.clone()));
    problem.map_err(|error| FormatError::Graph { path: origin.path.clone(), reason: one_line(&error.to_string()) })?;
    Ok(Some(Arc::new(constraints)))
}

/// A bare problem as the text of such a file; it reads back as it is. Time and space O(n).
#[must_use]
pub fn problem_to_json(title: &str, buffers: &[BareBuffer], constraints: Option<&Constraints>) -> String {
    let none = Constraints::default();
    let rules = constraints.unwrap_or(&none);
    let pool_name = |pool: PoolId| match rules.pools().get(pool.index()) {
        Some(pool) if !pool.name.is_empty() => Name::Text(pool.name.clone()),
        _ => Name::Number(u64::from(pool.0)),
    };
    let name = |id: BufferId| Name::Text(buffers[id.index()].name.clone());
    let entry = |(index, buffer): (usize, &BareBuffer)| {
        let id = BufferId::new(index);
        let view = rules.view(id);
        BufferEntry {
            id: Some(name(id)),
            size: Bytes::Number(buffer.size_bytes),
            start: Some(buffer.lifetime.start),
            end: Some(buffer.lifetime.end),
            live: None,
            gaps: rules
                .gaps(id)
                .iter()
                .map(|gap| GapEntry { start: gap.lifetime.start, end: gap.lifetime.end, keep: gap.window, other: BTreeMap::new() })
                .collect(),
            align: rules.align(id).map(|align| Bytes::Number(align.bytes())),
            offset: rules.pinned(id).map(Bytes::Number),
            pools: rules.preferences(id).map(|pools| pools.iter().map(|&pool| pool_name(pool)).collect()),
            view_of: view.map(|view| name(view.of)),
            at: view.map(|view| Bytes::Number(view.at_byte)),
            in_place_with: None,
            other: BTreeMap::new(),
        }
    };
    let reserved = |range: &Reserved| ReservedEntry {
        pool: (!rules.pools().is_empty()).then(|| pool_name(range.pool)),
        from: Bytes::Number(range.from_byte),
        to: Bytes::Number(range.to_byte),
        start: range.lifetime.start,
        end: Some(range.lifetime.end),
        other: BTreeMap::new(),
    };
    let pool = |pool: &Pool| PoolEntry { name: pool.name.clone(), capacity: pool.capacity_bytes.map(Bytes::Number), other: BTreeMap::new() };
    let file = FileEntry {
        format: VERSION.to_owned(),
        title: (!title.is_empty()).then(|| title.to_owned()),
        max_chunk: rules.max_chunk_bytes().map(Bytes::Number),
        pools: rules.pools().iter().map(pool).collect(),
        reserved: rules.reserved().iter().map(reserved).collect(),
        buffers: buffers.iter().enumerate().map(entry).collect(),
        in_place: rules.in_place().iter().map(|&(one, two)| vec![name(one), name(two)]).collect(),
        ..FileEntry::default()
    };
    let mut text = serde_json::to_string_pretty(&file).expect("strings and numbers always serialise");
    text.push('\n');
    text
}
