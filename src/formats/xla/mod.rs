//! XLA's dumps: the buffers of a compiled program with their live ranges, and where XLA put each of them.
//!
//! With `--xla_dump_to` the compiler writes two texts per module that belong together: `…buffer-assignment.txt` says
//! which values share which allocation and at what offset, `…live-range.txt` when each value lives. The allocation
//! called `preallocated-temp` is the arena. Both texts may also stand in one file, one after the other, as people
//! paste them; words that a log puts in front of a line do not matter.
//!
//! XLA lets the reader of a value write over it, so that a value's place is free again at the step that reads it last:
//! lifetimes end there, and hold one step at least.

mod files;
mod text;

use std::collections::HashMap;
use std::sync::Arc;

use arenascope_planner::lifetimes::Lifetime;
use arenascope_planner::workload::{BareBuffer, ObservedPlan, Source, Warning, Workload};

use self::text::{Allocation, Value};
use crate::detect::Origin;
use crate::error::{FormatError, clean, one_line};

pub(crate) use files::{MAX_FOLDER_FILES, pick, sibling};
pub(crate) use text::is_dump;

/// The format's short name.
pub const FORMAT: &str = "xla";

/// Who chose the offsets.
const TOOL: &str = "XLA";
/// Values named in one warning.
const MAX_NAMED: usize = 5;

/// Makes a workload of the texts of one module, whichever of the two each of them is. Time and space O(lines).
pub(crate) fn read(origin: &Origin, texts: &[&str]) -> Result<Workload, FormatError> {
    let mut dump = text::Dump::default();
    for text in texts {
        dump.add(text);
    }
    if dump.allocations.is_empty() {
        return Err(FormatError::Entry {
            path: origin.path.clone(),
            place: "the dump".to_owned(),
            what: "it has no `allocation N: size …` line, so nothing says how large its buffers are".to_owned(),
            advice: "give the module's buffer-assignment.txt".to_owned(),
        });
    }
    let mut warnings = Vec::new();
    let temp = arena(&dump.allocations, &mut warnings);
    let description = description(&dump.allocations);
    let (buffers, observed) = match temp {
        Some(temp) if !dump.ranges.is_empty() => placed(temp, &dump.ranges, &mut warnings),
        Some(_) => {
            let advice = "no live ranges beside it (…live-range.txt): each allocation is shown as one block, and nothing says when it is used";
            warnings.push(Warning::general(advice));
            (whole_allocations(&dump.allocations), None)
        }
        None => {
            warnings.push(Warning::general("the module needs no temporary memory; each allocation is shown as one block"));
            (whole_allocations(&dump.allocations), None)
        }
    };
    Ok(Workload {
        file: origin.file.clone(),
        format: FORMAT,
        title: String::new(),
        description,
        source: Source::Buffers(Arc::new(buffers)),
        constraints: None,
        observed,
        symbolic_dims: Vec::new(),
        warnings,
    })
}

/// The largest temporary allocation: there is one per memory space.
fn arena<'a>(allocations: &'a [Allocation], warnings: &mut Vec<Warning>) -> Option<&'a Allocation> {
    let temps: Vec<&Allocation> = allocations.iter().filter(|allocation| allocation.is_temp).collect();
    let largest = temps.iter().copied().max_by_key(|allocation| (allocation.bytes, std::cmp::Reverse(allocation.number)))?;
    if temps.len() > 1 {
        let message = format!("the module has {} temporary allocations; the largest, {}, is planned", temps.len(), largest.number);
        warnings.push(Warning::general(message));
    }
    Some(largest)
}

/// The values of the arena with lifetimes, and XLA's plan for them.
fn placed(temp: &Allocation, ranges: &HashMap<String, (u64, u64)>, warnings: &mut Vec<Warning>) -> (Vec<BareBuffer>, Option<ObservedPlan>) {
    let mut buffers = Vec::new();
    let mut offsets = Vec::new();
    let mut missing: Vec<&Value> = Vec::new();
    for value in temp.values.iter().filter(|value| value.bytes > 0) {
        let Some(&(start, end)) = ranges.get(&value.name) else {
            missing.push(value);
            continue;
        };
        let lifetime = Lifetime { start, end: end.max(start.saturating_add(1)) };
        let name = clean(value.name.strip_suffix("{}").unwrap_or(&value.name));
        buffers.push(BareBuffer { name, size_bytes: value.bytes, lifetime });
        offsets.push(Some(value.offset));
    }
    if !missing.is_empty() {
        let named: Vec<String> = missing.iter().take(MAX_NAMED).map(|value| format!("`{}`", one_line(&value.name))).collect();
        let message = format!("{} values have no live range and are left out, among them {}", missing.len(), named.join(", "));
        warnings.push(Warning::general(message));
    }
    let observed = ObservedPlan { tool: TOOL.to_owned(), offsets, arena_bytes: Some(temp.bytes) };
    (buffers, Some(observed))
}

/// One block per allocation that has bytes.
fn whole_allocations(allocations: &[Allocation]) -> Vec<BareBuffer> {
    let block = |allocation: &Allocation| BareBuffer {
        name: format!("allocation {} ({})", allocation.number, allocation.kind()),
        size_bytes: allocation.bytes,
        lifetime: Lifetime { start: 0, end: 1 },
    };
    allocations.iter().filter(|allocation| allocation.bytes > 0).map(block).collect()
}

/// Bytes by kind of allocation; they add up to the module's total.
fn description(allocations: &[Allocation]) -> String {
    let mut kinds: Vec<(&str, u64)> = Vec::new();
    for allocation in allocations {
        match kinds.iter_mut().find(|(kind, _)| *kind == allocation.kind()) {
            Some((_, bytes)) => *bytes = bytes.saturating_add(allocation.bytes),
            None => kinds.push((allocation.kind(), allocation.bytes)),
        }
    }
    let total = kinds.iter().fold(0_u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
    let parts: Vec<String> = kinds.iter().map(|(kind, bytes)| format!("{kind} {bytes}")).collect();
    format!("{} allocations, {total} bytes in all: {}", allocations.len(), parts.join(", "))
}
