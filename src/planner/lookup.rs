//! Finds buffers by what people have at hand: an index, a tensor's name, or a byte of the arena.

use crate::alias::Storage;
use crate::ids::BufferId;
use crate::plan::Plan;
use crate::prepare::Prepared;
use crate::units::parse_bytes;

/// How many near misses a failed look-up names; chosen by eye.
const MAX_HINTS: usize = 8;

/// Why nothing was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// There is no such thing.
    #[error("no buffer or tensor `{query}`; give a tensor's name, #N for a buffer, or @BYTE for a byte of the arena{}", hint(.close))]
    Nothing {
        /// What was asked for.
        query: String,
        /// Names that contain it, at most eight.
        close: Vec<String>,
    },
    /// The tensor exists but has no place in the arena.
    #[error("tensor `{name}` has no place in the arena: {because}")]
    NotPlanned {
        /// The tensor.
        name: String,
        /// Where it is instead.
        because: &'static str,
    },
    /// No buffer ever holds the byte.
    #[error("no buffer ever holds byte {byte}; the arena has {arena_bytes} bytes")]
    UnusedByte {
        /// The byte.
        byte: u64,
        /// The size of the plan.
        arena_bytes: u64,
    },
}

fn hint(close: &[String]) -> String {
    if close.is_empty() { String::new() } else { format!("; similar names: {}", close.join(", ")) }
}

/// The buffers that a query means: a tensor's exact name, `#12` for a buffer, `@4096`, `@64KiB` or `@0x1000` for
/// whoever holds that byte (by birth), or a part of a name that only one buffer has.
///
/// Time O(tensors).
///
/// # Errors
/// Nothing fits, or what fits has no place in the plan.
pub fn find_buffers(prepared: &Prepared, plan: &Plan, query: &str) -> Result<Vec<BufferId>, LookupError> {
    if let Some(found) = by_name(prepared, query)? {
        return Ok(found);
    }
    if let Some(id) = query.strip_prefix('#').and_then(|index| index.parse::<u32>().ok()).map(BufferId)
        && id.index() < prepared.problem.n_buffers()
    {
        return Ok(vec![id]);
    }
    if let Some(byte) = query.strip_prefix('@').and_then(parse_place) {
        return by_byte(prepared, plan, byte);
    }
    by_part(prepared, query)
}

fn parse_place(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => parse_bytes(text).ok(),
    }
}

/// `None` if no tensor or bare buffer has exactly that name.
fn by_name(prepared: &Prepared, name: &str) -> Result<Option<Vec<BufferId>>, LookupError> {
    let Some(context) = &prepared.context else {
        let found: Vec<BufferId> = prepared.problem.ids().filter(|&id| prepared.buffer_name(id) == name).collect();
        return Ok((!found.is_empty()).then_some(found));
    };
    let named: Vec<_> = context.graph.tensor_ids().filter(|&tensor| context.graph.tensor(tensor).name == name).collect();
    let mut found: Vec<BufferId> = named.iter().filter_map(|&tensor| context.buffer_of(tensor)).collect();
    found.sort_unstable();
    found.dedup();
    match named.first() {
        Some(&tensor) if found.is_empty() => {
            let because = match context.map.storage[tensor.index()] {
                Storage::Static => "it is static memory, allocated once beside it",
                Storage::Empty => "it has no bytes",
                Storage::Unknown => "its size is not known",
                Storage::Planned(_) => unreachable!("a planned tensor has a buffer"),
            };
            Err(LookupError::NotPlanned { name: name.to_owned(), because })
        }
        Some(_) => Ok(Some(found)),
        None => Ok(None),
    }
}

fn by_byte(prepared: &Prepared, plan: &Plan, byte: u64) -> Result<Vec<BufferId>, LookupError> {
    let problem = &prepared.problem;
    let holds = |id: BufferId| plan.offset(id) <= byte && byte - plan.offset(id) < problem.buffer(id).bytes;
    let mut found: Vec<BufferId> = problem.ids().filter(|&id| holds(id)).collect();
    found.sort_by_key(|&id| problem.buffer(id).lifetime.start);
    if found.is_empty() { Err(LookupError::UnusedByte { byte, arena_bytes: plan.arena_bytes }) } else { Ok(found) }
}

fn by_part(prepared: &Prepared, part: &str) -> Result<Vec<BufferId>, LookupError> {
    let part = part.to_lowercase();
    let mut hits: Vec<(BufferId, &str)> = Vec::new();
    for id in prepared.problem.ids() {
        match &prepared.context {
            Some(context) => {
                let names = prepared.buffer_tensors(id).iter().map(|&tensor| context.graph.tensor(tensor).name.as_str());
                hits.extend(names.filter(|name| name.to_lowercase().contains(&part)).map(|name| (id, name)));
            }
            None => hits.extend(Some((id, prepared.buffer_name(id))).filter(|(_, name)| name.to_lowercase().contains(&part))),
        }
    }
    match hits.first() {
        Some(&(id, _)) if hits.iter().all(|&(other, _)| other == id) => Ok(vec![id]),
        _ => {
            let close = hits.iter().take(MAX_HINTS).map(|&(_, name)| format!("`{name}`")).collect();
            Err(LookupError::Nothing { query: part, close })
        }
    }
}
