//! Plans that tools print: TensorFlow Lite Micro's memory plan and the allocation of the Vela compiler.
//!
//! ```text
//! 0 (id=0): size=36864, offset=0, first_used=0 last_used=1
//! ```
//!
//! is a line of the first, printed by its planner; what a log puts in front does not matter. The second is a table:
//!
//! ```text
//! Start Time -   End Time: Start Addr -   End Addr: Tensor Size: Memory Usage: Tensor Purpose      : Tensor Name
//!          0 -          3:        0x0 -     0x9000:       36864:        36864: FeatureMap          : input
//! ```
//!
//! with `Format` in place of the purpose since Vela 5. Both count the last step in which a buffer is used as used. Vela
//! lists tensors that are one buffer one by one, at the same address for the same time.

use std::collections::HashSet;
use std::sync::Arc;

use arenascope_planner::lifetimes::Lifetime;
use arenascope_planner::workload::{BareBuffer, ObservedPlan, Source, Warning, Workload};

use crate::detect::Origin;
use crate::error::{FormatError, clean, one_line};

/// The short name of TensorFlow Lite Micro's plan.
pub const TFLM_FORMAT: &str = "tflm-plan";
/// The short name of Vela's table.
pub const VELA_FORMAT: &str = "vela-allocation";

/// Sums below this can be planned.
const MAX_TOTAL_BYTES: u64 = 1 << 62;

/// Whether a text holds a line of either kind.
pub(crate) fn looks_like_one(text: &str) -> bool {
    text.lines().any(|line| micro_line(line).is_some() || is_vela_header(line))
}

/// One plan of a text.
#[derive(Default)]
struct Printed {
    buffers: Vec<Placed>,
    /// The arena as the tool says it.
    arena_bytes: Option<u64>,
    /// Whether it places weights, which keep their place.
    is_read_only: bool,
}

/// One placed buffer.
struct Placed {
    /// The position that the tool gives it, if it does.
    id: Option<u64>,
    name: String,
    bytes: u64,
    offset: u64,
    lifetime: Lifetime,
}

/// Reads a printed plan, whatever stands around it.
pub(crate) fn read(origin: &Origin, text: &str) -> Result<Workload, FormatError> {
    let mut warnings: Vec<Warning> = text.lines().filter_map(failure).collect();
    let micro = micro_plans(text);
    let (format, tool, plans) =
        if micro.is_empty() { (VELA_FORMAT, "Vela", vela_tables(text)) } else { (TFLM_FORMAT, "TensorFlow Lite Micro", micro) };
    let sum = |plan: &Printed| plan.buffers.iter().fold(0_u64, |sum, placed| sum.saturating_add(placed.bytes));
    let n_plans = plans.len();
    let Some(plan) = plans.into_iter().max_by_key(|plan| (!plan.is_read_only, sum(plan))) else {
        return Err(FormatError::Unrecognised { path: origin.path.clone(), found: "text without a printed memory plan".to_owned() });
    };
    if n_plans > 1 {
        warnings.push(Warning::general(format!("the text holds {n_plans} plans; the one with the most bytes, weights aside, is shown")));
    }
    if sum(&plan) >= MAX_TOTAL_BYTES || plan.buffers.iter().any(|placed| placed.offset >= MAX_TOTAL_BYTES) {
        let what = "its sizes or offsets reach 2^62 bytes".to_owned();
        return Err(FormatError::Entry { path: origin.path.clone(), place: "the plan".to_owned(), what, advice: "check the text".to_owned() });
    }
    let highest = plan.buffers.iter().map(|placed| placed.offset + placed.bytes).max().unwrap_or(0);
    let arena_bytes = plan.arena_bytes.filter(|&bytes| bytes >= highest);
    let offsets = plan.buffers.iter().map(|placed| Some(placed.offset)).collect();
    let buffer = |placed: Placed| BareBuffer { name: placed.name, size_bytes: placed.bytes, lifetime: placed.lifetime };
    Ok(Workload {
        file: origin.file.clone(),
        format,
        title: String::new(),
        description: String::new(),
        source: Source::Buffers(Arc::new(plan.buffers.into_iter().map(buffer).collect())),
        constraints: None,
        observed: Some(ObservedPlan { tool: tool.to_owned(), offsets, arena_bytes }),
        symbolic_dims: Vec::new(),
        warnings,
    })
}

/// A plan begins again where a position comes again.
fn micro_plans(text: &str) -> Vec<Printed> {
    let mut plans: Vec<Printed> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for placed in text.lines().filter_map(micro_line) {
        if plans.is_empty() || !seen.insert(placed.id) {
            plans.push(Printed::default());
            seen.clear();
            seen.insert(placed.id);
        }
        if let Some(plan) = plans.last_mut().filter(|_| placed.bytes > 0) {
            plan.buffers.push(placed);
        }
    }
    plans.retain(|plan| !plan.buffers.is_empty());
    plans
}

fn micro_line(line: &str) -> Option<Placed> {
    let number = |key: &str| {
        let (_, rest) = line.split_once(key)?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..digits].parse::<u64>().ok()
    };
    let id = number("(id=")?;
    let (first, last) = (number("first_used=")?, number("last_used=")?);
    let lifetime = Lifetime { start: first, end: last.checked_add(1)?.max(first.checked_add(1)?) };
    Some(Placed { id: Some(id), name: format!("buffer {id}"), bytes: number("size=")?, offset: number(" offset=")?, lifetime })
}

/// `Failed to resize buffer. Requested: 55296, available 35120, missing: 20176`
fn failure(line: &str) -> Option<Warning> {
    let numbers = |key: &str| line.split_once(key).map(|(_, rest)| rest.trim_start_matches([':', ' ']));
    let is_one = numbers("equested").is_some() && numbers("available").is_some() && numbers("missing").is_some();
    is_one.then(|| Warning::general(format!("the text tells of a failed allocation: {}", one_line(line.trim()))))
}

fn is_vela_header(line: &str) -> bool {
    line.contains("Start Time") && line.contains("End Addr") && line.contains("Tensor Size")
}

/// Each table stands below its own header, with a title above that and its size below.
fn vela_tables(text: &str) -> Vec<Printed> {
    let mut tables: Vec<Printed> = Vec::new();
    let mut seen = HashSet::new();
    let mut title = "";
    for line in text.lines() {
        if is_vela_header(line) {
            let is_read_only = title.contains("read-only") || title.contains("Permanent");
            tables.push(Printed { is_read_only, ..Printed::default() });
            seen.clear();
        } else if let Some(table) = tables.last_mut() {
            if let Some(placed) = vela_line(line).filter(|placed| placed.bytes > 0) {
                // One buffer under several names is shown under the first.
                if seen.insert((placed.lifetime, placed.offset, placed.bytes)) {
                    table.buffers.push(placed);
                }
            } else if let Some(bytes) = vela_peak(line) {
                table.arena_bytes = Some(bytes);
            }
        }
        title = line;
    }
    tables.retain(|table| !table.buffers.is_empty());
    tables
}

/// `Allocation Peak Tensor Size: 74480 bytes == 72.734375 KiB`
fn vela_peak(line: &str) -> Option<u64> {
    let (_, rest) = line.split_once("Allocation Peak Tensor Size:")?;
    rest.split_whitespace().next()?.parse().ok()
}

fn vela_line(line: &str) -> Option<Placed> {
    let mut parts = line.splitn(6, ':');
    let (start, end) = parts.next()?.split_once('-')?;
    let (offset, _) = parts.next()?.split_once('-')?;
    let bytes = parts.next()?.trim().parse().ok()?;
    let _usage = parts.next()?;
    let _purpose = parts.next()?;
    let name = clean(parts.next()?.trim());
    let (start, end): (u64, u64) = (start.trim().parse().ok()?, end.trim().parse().ok()?);
    let digits: String = offset.trim().trim_start_matches("0x").chars().filter(|c| !c.is_whitespace()).collect();
    let offset = u64::from_str_radix(&digits, 16).ok()?;
    let lifetime = Lifetime { start, end: end.checked_add(1)?.max(start.checked_add(1)?) };
    Some(Placed { id: None, name, bytes, offset, lifetime })
}
