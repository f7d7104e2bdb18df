//! Problems in the JSON of dsa-solver: buffers with live intervals, pools and constraints.
//!
//! One arena is planned here: of several pools the one with the most bytes. Alignments, gaps between live intervals and
//! pins are kept, unless every buffer is pinned: that is a plan. Other constraints are pointed out.

use std::collections::BTreeMap;
use std::sync::Arc;

use arenascope_planner::constraints::Gap;
use arenascope_planner::ids::BufferId;
use arenascope_planner::lifetimes::Lifetime;
use arenascope_planner::plan::Plan;
use arenascope_planner::prepare::Prepared;
use arenascope_planner::problem::Problem;
use arenascope_planner::units::Align;
use arenascope_planner::workload::{BareBuffer, ObservedPlan, Source, Warning, Workload};
use serde::{Deserialize, Serialize};

use crate::c_header::common_multiple;
use crate::detect::Origin;
use crate::error::{FormatError, clean, one_line};
use crate::extras::{Extras, rules};
use crate::json_fault;

/// The format's short name.
pub const FORMAT: &str = "dsa-json";

/// Sums below this can be planned.
const MAX_TOTAL_BYTES: u64 = 1 << 62;

#[derive(Deserialize, Serialize)]
struct File {
    #[serde(default)]
    instance: String,
    problem: ProblemEntry,
    #[serde(default)]
    schema_version: u64,
}

#[derive(Deserialize, Serialize)]
struct ProblemEntry {
    buffers: Vec<BufferEntry>,
    #[serde(default)]
    constraints: Constraints,
    #[serde(default)]
    pools: Vec<Pool>,
}

#[derive(Deserialize, Serialize)]
struct BufferEntry {
    id: u64,
    #[serde(default)]
    name: String,
    size: u64,
    #[serde(default)]
    alignment: Option<u64>,
    #[serde(default)]
    allowed_pools: Vec<u64>,
    live_intervals: Vec<Interval>,
}

#[derive(Deserialize, Serialize, Clone, Copy)]
struct Interval {
    lower: u64,
    upper: u64,
}

#[derive(Deserialize, Serialize, Default)]
struct Constraints {
    #[serde(default)]
    colocations: Vec<serde_json::Value>,
    #[serde(default)]
    pinned_allocations: Vec<Pin>,
    #[serde(default)]
    separations: Vec<serde_json::Value>,
    #[serde(default)]
    temporal_exclusions: Vec<serde_json::Value>,
}

/// Other fields, such as the pool, are not needed where one pool is planned.
#[derive(Deserialize, Serialize)]
struct Pin {
    #[serde(alias = "buffer_id", alias = "id")]
    buffer: u64,
    offset: u64,
}

#[derive(Deserialize, Serialize)]
struct Pool {
    id: u64,
    #[serde(default)]
    name: String,
    #[serde(default)]
    capacity: Option<u64>,
    #[serde(default)]
    reserved_ranges: Vec<serde_json::Value>,
}

/// Whether a JSON text is such a problem and no op list.
pub(crate) fn looks_like_one(text: &str) -> bool {
    text.contains("\"live_intervals\"") && text.contains("\"problem\"")
}

/// Reads a problem.
pub(crate) fn read(origin: &Origin, text: &str) -> Result<Workload, FormatError> {
    let file: File = serde_json::from_str(text).map_err(|error| FormatError::Line {
        path: origin.path.clone(),
        line: error.line().max(1) as u64,
        what: format!("column {}: {}", error.column(), json_fault::what(&error)),
        advice: "write `problem` with `buffers`, each with `id`, `size` and `live_intervals`".to_owned(),
    })?;
    let mut warnings = Vec::new();
    let chosen = chosen_pool(&file.problem, &mut warnings);
    let pins: BTreeMap<u64, u64> = file.problem.constraints.pinned_allocations.iter().map(|pin| (pin.buffer, pin.offset)).collect();
    let mut reader = Rows { origin, buffers: Vec::new(), extras: Vec::new(), total: 0, warnings };
    for entry in file.problem.buffers.iter().filter(|entry| chosen.is_none() || pool_of(entry) == chosen) {
        reader.push(entry, pins.get(&entry.id).copied())?;
    }
    let Rows { buffers, mut extras, mut warnings, .. } = reader;
    let offsets: Vec<Option<u64>> = extras.iter().map(|extra| extra.fixed_offset).collect();
    if !offsets.is_empty() && offsets.iter().all(Option::is_some) {
        extras.iter_mut().for_each(|extra| extra.fixed_offset = None);
        warnings.push(Warning::general("every buffer is pinned: that is a plan, which a plan made here need not keep"));
    }
    let constraints = rules(origin, &buffers, &extras, &mut warnings)?;
    warn_of_constraints(&file.problem, &mut warnings);
    let observed = offsets.iter().any(Option::is_some).then(|| ObservedPlan { tool: "the file's pins".to_owned(), offsets, arena_bytes: None });
    let capacity = file.problem.pools.iter().find(|pool| Some(pool.id) == chosen).and_then(|pool| pool.capacity);
    Ok(Workload {
        file: origin.file.clone(),
        format: FORMAT,
        title: clean(&file.instance),
        description: capacity.map_or_else(String::new, |bytes| format!("the pool has a capacity of {bytes} bytes")),
        source: Source::Buffers(Arc::new(buffers)),
        constraints,
        observed,
        symbolic_dims: Vec::new(),
        warnings,
    })
}

fn pool_of(entry: &BufferEntry) -> Option<u64> {
    entry.allowed_pools.first().copied()
}

/// The pool with the most bytes; `None` if no buffer names one.
fn chosen_pool(problem: &ProblemEntry, warnings: &mut Vec<Warning>) -> Option<u64> {
    let mut bytes: BTreeMap<u64, u64> = BTreeMap::new();
    for entry in &problem.buffers {
        if let Some(pool) = pool_of(entry) {
            let sum = bytes.entry(pool).or_default();
            *sum = sum.saturating_add(entry.size);
        }
    }
    let (&chosen, _) = bytes.iter().max_by_key(|(pool, bytes)| (**bytes, std::cmp::Reverse(**pool)))?;
    if bytes.len() > 1 {
        let name = problem.pools.iter().find(|pool| pool.id == chosen).map_or("", |pool| pool.name.as_str());
        warnings.push(Warning::general(format!(
            "the problem has {} pools; the buffers of pool {chosen} ({}) are planned",
            bytes.len(),
            one_line(name)
        )));
    }
    Some(chosen)
}

fn warn_of_constraints(problem: &ProblemEntry, warnings: &mut Vec<Warning>) {
    let constraints = &problem.constraints;
    let reserved = problem.pools.iter().map(|pool| pool.reserved_ranges.len()).sum();
    for (count, what) in [
        (constraints.colocations.len(), "colocation"),
        (constraints.separations.len(), "separation"),
        (constraints.temporal_exclusions.len(), "temporal exclusion"),
        (reserved, "reserved range"),
    ] {
        if count > 0 {
            let plural = if count == 1 { "" } else { "s" };
            warnings.push(Warning::general(format!("constraints that are not planned with: {count} {what}{plural}")));
        }
    }
}

struct Rows<'a> {
    origin: &'a Origin,
    buffers: Vec<BareBuffer>,
    extras: Vec<Extras>,
    total: u64,
    warnings: Vec<Warning>,
}

impl Rows<'_> {
    fn push(&mut self, entry: &BufferEntry, fixed_offset: Option<u64>) -> Result<(), FormatError> {
        let name = if entry.name.is_empty() { entry.id.to_string() } else { clean(&entry.name) };
        let broken = |what: String, advice: &str| FormatError::Entry {
            path: self.origin.path.clone(),
            place: format!("buffer `{}`", one_line(&name)),
            what,
            advice: advice.to_owned(),
        };
        if entry.size == 0 {
            self.warnings.push(Warning::at(one_line(&name), "size 0; the buffer is left out"));
            return Ok(());
        }
        let mut intervals = entry.live_intervals.clone();
        intervals.sort_by_key(|interval| (interval.lower, interval.upper));
        let (Some(first), Some(end)) = (intervals.first(), intervals.iter().map(|interval| interval.upper).max()) else {
            return Err(broken("it has no live interval".to_owned(), "give it one with `lower` and `upper`"));
        };
        if let Some(empty) = intervals.iter().find(|interval| interval.lower >= interval.upper) {
            return Err(broken(format!("its interval [{}, {}) covers no step", empty.lower, empty.upper), "`upper` is one past the last step"));
        }
        let ends = fixed_offset.unwrap_or(0).checked_add(entry.size);
        let total = self.total.checked_add(entry.size).filter(|&total| total < MAX_TOTAL_BYTES && ends.is_some_and(|end| end < MAX_TOTAL_BYTES));
        self.total = total
            .ok_or_else(|| broken(format!("its size of {} bytes brings the sum of all sizes over 2^62 bytes", entry.size), "sizes are bytes"))?;
        let mut gaps = Vec::new();
        let mut reached = first.upper;
        for interval in &intervals[1..] {
            if interval.lower > reached {
                gaps.push(Gap { lifetime: Lifetime { start: reached, end: interval.lower }, window: None });
            }
            reached = reached.max(interval.upper);
        }
        self.buffers.push(BareBuffer { name, size_bytes: entry.size, lifetime: Lifetime { start: first.lower, end } });
        self.extras.push(Extras { align: entry.alignment.and_then(Align::new), gaps, fixed_offset, hint: None });
        Ok(())
    }
}

/// What the buffer's offset must be a multiple of: by the problem, and by a rule of its own.
fn align_bytes(problem: &Problem, id: BufferId) -> u64 {
    let all = problem.align().bytes();
    problem.constraints().and_then(|rules| rules.align(id)).map_or(all, |own| common_multiple(all, own.bytes()))
}

/// What the gaps leave of a lifetime; gaps that keep some bytes count as live.
fn live_intervals(problem: &Problem, id: BufferId) -> Vec<Interval> {
    let life = problem.buffer(id).lifetime;
    let gaps = problem.constraints().map_or(&[][..], |rules| rules.gaps(id));
    let mut ends: Vec<Lifetime> = gaps.iter().filter(|gap| gap.window.is_none()).map(|gap| gap.lifetime).collect();
    ends.sort_unstable_by_key(|gap| gap.start);
    let starts = std::iter::once(life.start).chain(ends.iter().map(|gap| gap.end));
    let stops = ends.iter().map(|gap| gap.start).chain(std::iter::once(life.end));
    starts.zip(stops).filter(|(lower, upper)| lower < upper).map(|(lower, upper)| Interval { lower, upper }).collect()
}

/// A problem as such a JSON text, with the plan's offsets as pins if there is a plan. Time and space O(buffers).
///
/// Own alignments and gaps are written; other rules have no place in it.
#[must_use]
pub fn problem_to_json(prepared: &Prepared, plan: Option<&Plan>) -> String {
    let problem = &prepared.problem;
    let buffers = problem.ids().map(|id| {
        let buffer = problem.buffer(id);
        BufferEntry {
            id: u64::from(id.0),
            name: prepared.buffer_name(id).to_owned(),
            size: buffer.size_bytes,
            alignment: Some(align_bytes(problem, id)),
            allowed_pools: vec![0],
            live_intervals: live_intervals(problem, id),
        }
    });
    let pins = plan.map_or_else(Vec::new, |plan| problem.ids().map(|id| Pin { buffer: u64::from(id.0), offset: plan.offset(id) }).collect());
    let file = File {
        instance: prepared.workload.file.clone(),
        problem: ProblemEntry {
            buffers: buffers.collect(),
            constraints: Constraints { pinned_allocations: pins, ..Constraints::default() },
            pools: vec![Pool { id: 0, name: "arena".to_owned(), capacity: problem.capacity_bytes(), reserved_ranges: Vec::new() }],
        },
        schema_version: 1,
    };
    let mut text = serde_json::to_string_pretty(&file).expect("strings and numbers always serialise");
    text.push('\n');
    text
}
