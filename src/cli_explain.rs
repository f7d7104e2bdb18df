//! Why a buffer is where it is, what the peak is made of, and what would lower it.

use std::path::Path;

use arenascope_planner::control::Control;
use arenascope_planner::explain::{
    BetterPool, Blocker, Change, LowerRange, PeakReport, PlaceReport, Saving, explain_peak, explain_place, lower_offsets, reorder_saving,
};
use arenascope_planner::ids::{BufferId, OpId, PoolId};
use arenascope_planner::lookup::find_buffers;
use arenascope_planner::plan::Plan;
use arenascope_planner::prepare::Prepared;
use serde::Serialize;

use crate::cli_check::check_plan;
use crate::cli_json::object;
use crate::cli_plan::{Planned, load, make_plan};
use crate::cli_print::{Set, binary_bytes, counted, exact_bytes, grouped, table};
use crate::cli_request::PlanToExplain;

/// Lines of lists that the text shows; the JSON has all.
const LINES_SHOWN: usize = 12;

/// A plan with its reasons.
pub(crate) struct Explained {
    prepared: Prepared,
    planned: Planned,
    /// Where every buffer could be on its own, by id.
    lower: Vec<Option<u64>>,
    places: Vec<PlaceReport>,
    peak: PeakReport,
}

/// Makes or reads a plan and explains the buffers that `tensor` means, and the peak.
pub(crate) fn explain(file: &Path, tensor: Option<&str>, plan: PlanToExplain) -> anyhow::Result<Explained> {
    let (prepared, planned) = match plan {
        PlanToExplain::Made(job) => {
            let prepared = load(file, &job.read, job.prepare)?;
            let planned = make_plan(&prepared, &job)?;
            (prepared, planned)
        }
        PlanToExplain::File { plan, read, overrides } => check_plan(file, &plan, &read, overrides)?,
    };
    let control = Control::unattended();
    let found = tensor.map(|query| find_buffers(&prepared, &planned.plan, query)).transpose()?.unwrap_or_default();
    let places = found.into_iter().map(|buffer| explain_place(&prepared.problem, &planned.plan, buffer)).collect();
    let lower = lower_offsets(&prepared.problem, &planned.plan, &control).unwrap_or_default();
    let mut peak = explain_peak(&prepared);
    peak.savings.extend(reorder_saving(&prepared, &control));
    peak.savings.sort_by_key(|saving| std::cmp::Reverse(saving.saved_bytes));
    Ok(Explained { prepared, planned, lower, places, peak })
}

/// The places asked for, who could be lower, and the peak.
pub(crate) fn text_report(explained: &Explained) -> String {
    let Explained { prepared, planned, lower, places, peak } = explained;
    let mut text = String::new();
    for place in places {
        text.push_str(&place_text(prepared, planned, place));
        text.push('\n');
    }
    let n_lower = lower.iter().flatten().count() as u64;
    let all = counted(lower.len() as u64, "buffer");
    text.push_str(&format!("plan by {}: {} of {all} could be lower if nothing else moved\n", planned.summary.strategy, grouped(n_lower)));
    if places.is_empty() {
        let movable = prepared.problem.ids().zip(lower).filter_map(|(id, lower)| Some((id, (*lower)?)));
        for (id, lower) in movable.take(LINES_SHOWN) {
            text.push_str(&format!("  {} from byte {} to byte {}\n", named(prepared, id), grouped(planned.plan.offset(id)), grouped(lower)));
        }
        if n_lower > LINES_SHOWN as u64 {
            text.push_str(&format!("  and {} more; --json lists all\n", grouped(n_lower - LINES_SHOWN as u64)));
        }
    }
    text.push('\n');
    text.push_str(&peak_text(prepared, peak));
    text
}

/// `` `A` (#0) ``.
fn named(prepared: &Prepared, id: BufferId) -> String {
    format!("`{}` ({id})", prepared.buffer_name(id))
}

fn op_name(prepared: &Prepared, op: OpId) -> String {
    prepared.context.as_ref().map_or_else(|| op.to_string(), |context| format!("`{}`", context.graph.op(op).name))
}

/// The name of a pool; `None` where there is only one.
fn pool_name(prepared: &Prepared, pool: PoolId) -> Option<String> {
    let pools = prepared.problem.pools();
    let name = &pools.get(pool.index())?.name;
    Some(if name.is_empty() { format!("pool {pool}") } else { format!("`{name}`") })
}

fn better_pool_text(prepared: &Prepared, better: &BetterPool) -> String {
    let name = pool_name(prepared, better.pool).unwrap_or_default();
    let needs = grouped(better.needs_bytes);
    match prepared.problem.pool_capacity_bytes(better.pool) {
        Some(capacity) if !better.fits => {
            format!("  it prefers {name}, but its lowest place there ends at byte {needs}, and {name} has {}\n", exact_bytes(capacity))
        }
        _ => format!("  it prefers {name}, and it would fit there: its lowest place ends at byte {needs}\n"),
    }
}

fn place_text(prepared: &Prepared, planned: &Planned, place: &PlaceReport) -> String {
    let buffer = prepared.problem.buffer(place.buffer);
    let (start, last) = (buffer.lifetime.start, buffer.lifetime.end - 1);
    let (bytes, offset) = (exact_bytes(buffer.bytes), grouped(place.offset));
    let pool = pool_name(prepared, planned.plan.pool(place.buffer)).map_or_else(String::new, |name| format!(" of {name}"));
    let mut text = format!("{}: {bytes} at byte {offset}{pool}, live in steps {start} to {last}\n", named(prepared, place.buffer));
    if !place.moves_with.is_empty() {
        let others: Vec<String> = place.moves_with.iter().map(|&id| named(prepared, id)).collect();
        text.push_str(&format!("  it moves as one with {}, which begin at byte {}\n", others.join(", "), grouped(place.offset)));
    }
    for better in &place.better_pools {
        text.push_str(&better_pool_text(prepared, better));
    }
    let tensors = prepared.buffer_tensors(place.buffer);
    if let Some(context) = prepared.context.as_ref().filter(|_| tensors.len() > 1) {
        let names: Vec<&str> = tensors.iter().map(|&tensor| context.graph.tensor(tensor).name.as_str()).collect();
        text.push_str(&format!("  it holds {}\n", names.join(", ")));
    }
    let mut rows = Vec::new();
    for range in &place.below {
        rows.extend(range_rows(prepared, range));
    }
    let n_hidden = rows.len().saturating_sub(LINES_SHOWN);
    rows.truncate(LINES_SHOWN);
    text.push_str(&table(2, &[Set::Right, Set::Left, Set::Right, Set::Left], &rows));
    if n_hidden > 0 {
        text.push_str(&format!("  and {} more; --json lists all\n", counted(n_hidden as u64, "line")));
    }
    text.push_str(&match place.could_be_at {
        None if place.is_pinned => "  a rule fixes it at this byte\n".to_owned(),
        None if place.offset == 0 => "  it is at the bottom\n".to_owned(),
        None => "  nothing below it is large enough: it cannot be lower on its own\n".to_owned(),
        Some(lower) => format!("  it could be at byte {} if nothing else moved\n", grouped(lower)),
    });
    text
}

fn range_rows(prepared: &Prepared, range: &LowerRange) -> Vec<Vec<String>> {
    let row = |from: u64, to: u64, what: String| vec![grouped(from), "to".to_owned(), grouped(to), what];
    match range {
        LowerRange::Blocked { blockers, .. } => {
            let steps = |blocker: &Blocker| match blocker.steps {
                Some(steps) if steps.n_steps() == 1 => format!("in step {}", steps.start),
                Some(steps) => format!("in steps {} to {}", steps.start, steps.end - 1),
                None => "because their ops may run side by side".to_owned(),
            };
            let what = |blocker: &Blocker| match blocker.buffer {
                Some(buffer) => format!("blocked by {} {}", named(prepared, buffer), steps(blocker)),
                None => format!("reserved {}", steps(blocker)),
            };
            blockers.iter().map(|blocker| row(blocker.from_byte, blocker.to_byte, what(blocker))).collect()
        }
        LowerRange::TooSmall { from_byte, to_byte, short_bytes } => {
            vec![row(*from_byte, *to_byte, format!("free, but {} too small", exact_bytes(*short_bytes)))]
        }
        LowerRange::Unsuitable { from_byte, to_byte } => {
            vec![row(*from_byte, *to_byte, "free, but no offset in it suits the buffer's own rules".to_owned())]
        }
        LowerRange::Free { from_byte, to_byte } => vec![row(*from_byte, *to_byte, "free, and large enough".to_owned())],
    }
}

fn peak_text(prepared: &Prepared, peak: &PeakReport) -> String {
    let op = prepared.context.as_ref().and_then(|context| context.schedule.op_at(peak.step));
    let at = op.map_or_else(String::new, |op| format!(", op {}", op_name(prepared, op)));
    let mut text = format!("peak: {} ({}) in step {}{at}\n", exact_bytes(peak.bytes), binary_bytes(peak.bytes), grouped(peak.step));
    let live = peak.live.iter().zip(&peak.live_bytes).take(LINES_SHOWN);
    let rows: Vec<Vec<String>> = live.map(|(&id, &bytes)| vec![exact_bytes(bytes), named(prepared, id)]).collect();
    text.push_str(&table(2, &[Set::Right, Set::Left], &rows));
    if peak.live.len() > LINES_SHOWN {
        text.push_str(&format!("  and {} more\n", grouped((peak.live.len() - LINES_SHOWN) as u64)));
    }
    if peak.savings.is_empty() {
        text.push_str("no single change lowers it\n");
        return text;
    }
    text.push_str("what would lower it, one change at a time\n");
    let shown = peak.savings.iter().take(LINES_SHOWN);
    let rows: Vec<Vec<String>> = shown.map(|saving| vec![exact_bytes(saving.saved_bytes), change_text(prepared, &saving.change)]).collect();
    text.push_str(&table(2, &[Set::Right, Set::Left], &rows));
    if peak.savings.len() > LINES_SHOWN {
        text.push_str(&format!("  and {} more; --json lists all\n", grouped((peak.savings.len() - LINES_SHOWN) as u64)));
    }
    text
}

fn change_text(prepared: &Prepared, change: &Change) -> String {
    match change {
        Change::Remove { buffer } => format!("without {}", named(prepared, *buffer)),
        Change::DieEarlier { buffer, last_step, readers } => {
            let reader = readers.last().map_or_else(String::new, |&op| op_name(prepared, op));
            let more = if readers.len() > 1 { format!(" and {} more", readers.len() - 1) } else { String::new() };
            format!("if {} died after step {last_step}; {reader}{more} keeps it", named(prepared, *buffer))
        }
        Change::WriteInPlace { op, input, output } => {
            format!("if {} wrote {} over {}", op_name(prepared, *op), named(prepared, *output), named(prepared, *input))
        }
        Change::Reorder { order } => format!("with --order {}", order.name()),
    }
}

#[derive(Serialize)]
struct ExplainReport<'a> {
    strategy: &'a str,
    arena_bytes: u64,
    buffers: Vec<PlaceJson<'a>>,
    could_be_lower: Vec<LowerJson<'a>>,
    peak: PeakJson<'a>,
}

#[derive(Serialize)]
struct PlaceJson<'a> {
    id: u32,
    name: &'a str,
    offset: u64,
    bytes: u64,
    start: u64,
    end: u64,
    pool: Option<String>,
    pinned: bool,
    moves_with: Vec<&'a str>,
    better_pools: Vec<BetterPoolJson<'a>>,
    could_be_at: Option<u64>,
    below: Vec<RangeJson<'a>>,
}

#[derive(Serialize)]
struct BetterPoolJson<'a> {
    pool: &'a str,
    needs_bytes: u64,
    capacity_bytes: Option<u64>,
    fits: bool,
}

#[derive(Serialize)]
struct RangeJson<'a> {
    from_byte: u64,
    to_byte: u64,
    state: &'static str,
    short_bytes: Option<u64>,
    blockers: Vec<BlockerJson<'a>>,
}

#[derive(Serialize)]
struct BlockerJson<'a> {
    id: Option<u32>,
    name: Option<&'a str>,
    from_byte: u64,
    to_byte: u64,
    from_step: Option<u64>,
    to_step: Option<u64>,
}

#[derive(Serialize)]
struct LowerJson<'a> {
    id: u32,
    name: &'a str,
    offset: u64,
    could_be_at: u64,
}

#[derive(Serialize)]
struct PeakJson<'a> {
    step: u64,
    bytes: u64,
    live: Vec<&'a str>,
    savings: Vec<SavingJson>,
}

#[derive(Serialize)]
struct SavingJson {
    change: &'static str,
    saved_bytes: u64,
    peak_bytes: u64,
    what: String,
}

/// The same for programs, with all lines.
pub(crate) fn json_report(explained: &Explained) -> String {
    let Explained { prepared, planned, lower, places, peak } = explained;
    let movable = prepared.problem.ids().zip(lower).filter_map(|(id, lower)| Some((id, (*lower)?)));
    let lower_json =
        |(id, could_be_at): (BufferId, u64)| LowerJson { id: id.0, name: prepared.buffer_name(id), offset: planned.plan.offset(id), could_be_at };
    object(&ExplainReport {
        strategy: &planned.summary.strategy,
        arena_bytes: planned.plan.arena_bytes,
        buffers: places.iter().map(|place| place_json(prepared, &planned.plan, place)).collect(),
        could_be_lower: movable.map(lower_json).collect(),
        peak: PeakJson {
            step: peak.step,
            bytes: peak.bytes,
            live: peak.live.iter().map(|&id| prepared.buffer_name(id)).collect(),
            savings: peak.savings.iter().map(|saving| saving_json(prepared, saving)).collect(),
        },
    })
}

fn place_json<'a>(prepared: &'a Prepared, plan: &Plan, place: &PlaceReport) -> PlaceJson<'a> {
    let pool = plan.pool(place.buffer);
    let better_json = |better: &BetterPool| {
        let pool = &prepared.problem.pools()[better.pool.index()];
        BetterPoolJson { pool: &pool.name, needs_bytes: better.needs_bytes, capacity_bytes: pool.capacity_bytes, fits: better.fits }
    };
    let buffer = prepared.problem.buffer(place.buffer);
    PlaceJson {
        id: place.buffer.0,
        name: prepared.buffer_name(place.buffer),
        offset: plan.offset(place.buffer),
        bytes: buffer.bytes,
        start: buffer.lifetime.start,
        end: buffer.lifetime.end,
        pool: prepared.problem.pools().get(pool.index()).map(|pool| pool.name.clone()),
        pinned: place.is_pinned,
        moves_with: place.moves_with.iter().map(|&id| prepared.buffer_name(id)).collect(),
        better_pools: place.better_pools.iter().map(better_json).collect(),
        could_be_at: place.could_be_at,
        below: place.below.iter().map(|range| range_json(prepared, range)).collect(),
    }
}

fn range_json<'a>(prepared: &'a Prepared, range: &LowerRange) -> RangeJson<'a> {
    let blocker = |blocker: &Blocker| BlockerJson {
        id: blocker.buffer.map(|buffer| buffer.0),
        name: blocker.buffer.map(|buffer| prepared.buffer_name(buffer)),
        from_byte: blocker.from_byte,
        to_byte: blocker.to_byte,
        from_step: blocker.steps.map(|steps| steps.start),
        to_step: blocker.steps.map(|steps| steps.end),
    };
    let (from_byte, to_byte, state, short_bytes, blockers) = match range {
        LowerRange::Blocked { from_byte, to_byte, blockers } => (*from_byte, *to_byte, "blocked", None, blockers.iter().map(blocker).collect()),
        LowerRange::TooSmall { from_byte, to_byte, short_bytes } => (*from_byte, *to_byte, "too small", Some(*short_bytes), Vec::new()),
        LowerRange::Unsuitable { from_byte, to_byte } => (*from_byte, *to_byte, "unsuitable", None, Vec::new()),
        LowerRange::Free { from_byte, to_byte } => (*from_byte, *to_byte, "free", None, Vec::new()),
    };
    RangeJson { from_byte, to_byte, state, short_bytes, blockers }
}

fn saving_json(prepared: &Prepared, saving: &Saving) -> SavingJson {
    let change = match saving.change {
        Change::Remove { .. } => "remove",
        Change::DieEarlier { .. } => "die earlier",
        Change::WriteInPlace { .. } => "write in place",
        Change::Reorder { .. } => "reorder",
    };
    SavingJson { change, saved_bytes: saving.saved_bytes, peak_bytes: saving.peak_bytes, what: change_text(prepared, &saving.change) }
}
