//! The sheet of a buffer: what it is, where it is and why, who shares it, who stands next to it.

use arenascope_planner::alias::{Join, JoinKind};
use arenascope_planner::check::Violation;
use arenascope_planner::graph::Graph;
use arenascope_planner::ids::{BufferId, TensorId};
use arenascope_planner::prepare::GraphContext;

use super::neighbours::neighbours;
use super::sheet::{Block, Head, Piece, Row, Sheet, both_sizes, own_name, plain, strong, to_buffer, to_op, to_slot, to_step};
use super::why::why;
use crate::selection::Item;
use crate::session::Planned;
use crate::text;
use crate::views::interference::live_during;
use crate::views::strategies::{Difference, Move};

/// Most links in a line.
const MAX_LINKS: usize = 6;
/// Most rows of a list of neighbours.
const MAX_ROWS: usize = 8;
/// Most tensors of a group.
const MAX_TENSORS: usize = 20;

pub(super) fn sheet(planned: &Planned, difference: Option<&Difference>, id: BufferId) -> Sheet {
    let mut sheet = Sheet::default();
    let prepared = &planned.prepared;
    let name = prepared.buffer_name(id);
    let short = &planned.model.short[id.index()];
    sheet.push(Block::Head(Head {
        swatch: Some(id),
        number: format!("#{}", id.0),
        title: own_name(planned, id).unwrap_or_default().to_owned(),
        role: Some(prepared.buffer_role(id)),
        full: if name == short { String::new() } else { name.to_owned() },
    }));
    size_and_place(&mut sheet, planned, id);
    if let Some(difference) = difference {
        other_place(&mut sheet, planned, difference, id);
    }
    overlaps(&mut sheet, planned, id);
    why(&mut sheet, planned, id);
    sheet.push(Block::ZoomButton);
    made_and_read(&mut sheet, planned, id);
    group(&mut sheet, planned, id);
    around(&mut sheet, planned, id);
    sheet
}

fn size_and_place(sheet: &mut Sheet, planned: &Planned, id: BufferId) {
    let buffer = planned.prepared.problem.buffer(id);
    let mut size = both_sizes(buffer.size_bytes);
    if buffer.bytes != buffer.size_bytes {
        size.push(plain(format!("rounded to {}", text::exact_bytes(buffer.bytes))));
    }
    sheet.fact("Size", size);
    let first = planned.prepared.buffer_tensors(id).first().copied();
    if let Some((context, tensor)) = planned.prepared.context.as_deref().zip(first) {
        sheet.fact("Shape", shape(&context.graph, tensor));
    }
    let life = buffer.lifetime;
    sheet.fact("Lifetime", vec![strong(text::lifetime(life.start, life.end)), plain(lasts(planned, id))]);
    let offset = planned.plan.offset(id);
    let hex = text::hex(offset);
    sheet.fact("Offset", vec![strong(text::bytes(offset)), Piece::Mono(hex.clone()), Piece::Copy { text: hex, name: "Copy the offset" }]);
    let end = offset.saturating_add(buffer.bytes);
    let mut ends = vec![strong(text::bytes(end))];
    let pool = planned.model.lanes.of(planned.plan.pool(id)).map(|lane| &lane.pool);
    if end == pool.map_or(planned.plan.arena_bytes, |pool| pool.arena_bytes) {
        ends.push(plain(format!("= top of {}", pool.map_or("the arena", |pool| pool.name.as_str()))));
    }
    sheet.fact("Ends at", ends);
    if let Some(pool) = pool {
        sheet.fact("Pool", vec![strong(pool.name.clone())]);
    }
    let slot = planned.plan.slot(id).map_or_else(|| vec![strong(text::NONE), plain("an offset plan has no slots")], |slot| vec![to_slot(slot)]);
    sheet.fact("Slot", slot);
    sheet.fact("Conflicts", conflicts(planned, id));
}

/// Where it is in the plan that this one is compared with.
fn other_place(sheet: &mut Sheet, planned: &Planned, difference: &Difference, id: BufferId) {
    let name = difference.against.name(planned);
    let Some((_, old)) = difference.place_of(id) else {
        sheet.fact("Compared", vec![strong(text::NONE), plain(format!("not in the plan of {name}"))]);
        return;
    };
    let now = planned.plan.offset(id);
    let moved = match difference.move_of(id) {
        Move::Same => "the same place".to_owned(),
        Move::Other => "now in another pool".to_owned(),
        Move::Down => format!("now {} lower", text::bytes(old - now)),
        Move::Up => format!("now {} higher", text::bytes(now - old)),
    };
    sheet.fact("Compared", vec![strong(text::bytes(old)), plain(format!("with {name}, {moved}"))]);
}

/// The type and the dimensions of a tensor.
pub(super) fn shape(graph: &Graph, tensor: TensorId) -> Vec<Piece> {
    let tensor = graph.tensor(tensor);
    let dtype = strong(tensor.dtype.name());
    match &tensor.shape {
        Some(dims) if dims.is_empty() => vec![dtype, plain("scalar")],
        Some(dims) => vec![dtype, plain(dims.iter().map(u64::to_string).collect::<Vec<_>>().join(" × "))],
        None => vec![dtype, Piece::Unknown(tensor.unknown_because.clone())],
    }
}

/// `3 steps, with Clip in place`.
fn lasts(planned: &Planned, id: BufferId) -> String {
    let steps = text::counted(planned.prepared.problem.buffer(id).lifetime.n_steps(), "step", "steps");
    let Some(context) = planned.prepared.context.as_deref() else { return steps };
    let joins = joins_of(context, planned.prepared.buffer_tensors(id));
    let mut kinds: Vec<String> = joins.iter().map(|join| format!("{} {}", context.graph.op(join.op).kind, how(join.kind))).collect();
    kinds.dedup();
    match kinds.as_slice() {
        [] => steps,
        [one] => format!("{steps}, with {one}"),
        [one, others @ ..] => format!("{steps}, with {one} and {} more", others.len()),
    }
}

fn how(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::View => "as a view",
        JoinKind::InPlace => "in place",
    }
}

/// The decisions that put these tensors together, in schedule order.
fn joins_of<'a>(context: &'a GraphContext, tensors: &[TensorId]) -> Vec<&'a Join> {
    if tensors.len() < 2 {
        return Vec::new();
    }
    context.map.joins.iter().filter(|join| tensors.contains(&join.output)).collect()
}

fn conflicts(planned: &Planned, id: BufferId) -> Vec<Piece> {
    let n = planned.model.degrees[id.index()];
    let problem = &planned.prepared.problem;
    let mut others = live_during(planned, problem.buffer(id).lifetime);
    others.retain(|&other| other != id);
    others.sort_unstable_by_key(|&other| (std::cmp::Reverse(problem.buffer(other).bytes), other));
    let mut pieces = vec![strong(text::count(n))];
    pieces.extend(others.iter().take(MAX_LINKS).map(|&other| to_buffer(other)));
    if others.len() > MAX_LINKS {
        pieces.push(plain(format!("and {} more, smaller", text::count((others.len() - MAX_LINKS) as u64))));
    }
    pieces
}

fn overlaps(sheet: &mut Sheet, planned: &Planned, id: BufferId) {
    let mine = |fault: &&Violation| fault.buffers().contains(&id);
    let faults: Vec<String> = planned.report.violations.iter().filter(mine).map(ToString::to_string).collect();
    sheet.blocks.extend(faults.iter().take(MAX_ROWS).map(|fault| Block::Fault(fault.clone())));
    sheet.more(faults.len(), MAX_ROWS);
}

fn made_and_read(sheet: &mut Sheet, planned: &Planned, id: BufferId) {
    let Some(context) = planned.prepared.context.as_deref() else { return };
    let tensors = planned.prepared.buffer_tensors(id);
    let Some(&first) = tensors.first() else { return };
    sheet.push(Block::Rule);
    sheet.fact("Written by", writer(context, first));
    let mut readers: Vec<_> = tensors.iter().flat_map(|&tensor| context.graph.readers(tensor)).copied().collect();
    readers.sort_by_key(|&op| context.schedule.step_of(op));
    readers.dedup();
    sheet.fact("Read by", links_to_ops(context, &readers));
}

/// The op that writes a tensor, or that there is none.
pub(super) fn writer(context: &GraphContext, tensor: TensorId) -> Vec<Piece> {
    match context.graph.producer(tensor) {
        Some(op) => vec![to_step(context.schedule.step_of(op)), to_op(op, &context.graph.op(op).kind), plain(scope_of(&context.graph.op(op).name))],
        None => vec![plain("no op: it comes from outside the graph")],
    }
}

/// Steps and kinds of ops, as many as fit.
pub(super) fn links_to_ops(context: &GraphContext, ops: &[arenascope_planner::ids::OpId]) -> Vec<Piece> {
    if ops.is_empty() {
        return vec![plain("no op")];
    }
    let mut pieces = Vec::new();
    for &op in ops.iter().take(MAX_LINKS) {
        pieces.push(to_step(context.schedule.step_of(op)));
        pieces.push(to_op(op, &context.graph.op(op).kind));
    }
    if ops.len() > MAX_LINKS {
        pieces.push(plain(format!("and {} more", text::count((ops.len() - MAX_LINKS) as u64))));
    }
    pieces
}

/// The tensors that share the buffer, each with how it joined.
fn group(sheet: &mut Sheet, planned: &Planned, id: BufferId) {
    let Some(context) = planned.prepared.context.as_deref() else { return };
    let tensors = planned.prepared.buffer_tensors(id);
    if tensors.len() < 2 {
        return;
    }
    let joins = joins_of(context, tensors);
    sheet.heading("Tensors in it", text::count(tensors.len() as u64));
    let row = |&tensor: &TensorId| {
        let join = joins.iter().find(|join| join.output == tensor);
        let text = match (join, context.graph.producer(tensor)) {
            (Some(join), _) => format!("{}, {}", context.graph.op(join.op).kind, how(join.kind)),
            (None, Some(op)) => format!("written by {}", context.graph.op(op).kind),
            (None, None) => context.graph.tensor(tensor).role.name().to_owned(),
        };
        let right = context.graph.producer(tensor).map_or_else(String::new, |op| format!("step {}", context.schedule.step_of(op)));
        Row { item: Item::Tensor(tensor), swatch: None, strong: last_scope(&context.graph.tensor(tensor).name), text, right }
    };
    sheet.rows(tensors.len(), MAX_TENSORS, tensors.iter().map(row));
}

/// The last part of a scoped name.
pub(super) fn last_scope(name: &str) -> String {
    let last = name.rsplit('/').find(|part| !part.is_empty()).unwrap_or(name);
    text::middle_cut(last, 26)
}

/// The scope that an op stands in, or its name if there is none: its kind is told anyway.
pub(super) fn scope_of(name: &str) -> String {
    let parts: Vec<&str> = name.split('/').filter(|part| !part.is_empty()).collect();
    text::middle_cut(parts.iter().rev().nth(1).unwrap_or(&name), 20)
}

/// Who stands next to it in space, and who in time.
fn around(sheet: &mut Sheet, planned: &Planned, id: BufferId) {
    let near = neighbours(planned, id);
    let buffer = planned.prepared.problem.buffer(id);
    let row = |&(other, distance): &(BufferId, u64), touching: &str, apart: String, word: &str| Row {
        item: Item::Buffer(other),
        swatch: Some(other),
        strong: format!("#{}", other.0),
        text: own_name(planned, other).into_iter().chain([if distance == 0 { touching } else { &apart }]).collect::<Vec<_>>().join(", "),
        right: word.to_owned(),
    };
    let shared = |other: BufferId| {
        let life = planned.prepared.problem.buffer(other).lifetime;
        let (start, end) = (life.start.max(buffer.lifetime.start), life.end.min(buffer.lifetime.end));
        if end - start == 1 { format!("at step {start}") } else { format!("at steps {start}–{}", end - 1) }
    };
    sheet.heading("On top of it", "while it lives");
    if near.above.is_empty() {
        sheet.push(Block::Note("nothing above it".to_owned()));
    }
    sheet.rows(
        near.above.len(),
        MAX_ROWS,
        near.above.iter().map(|near| row(near, &format!("touches {}", shared(near.0)), format!("{} free between", text::bytes(near.1)), "above")),
    );
    sheet.heading("Its bytes at other times", "");
    if near.before.is_empty() && near.after.is_empty() {
        sheet.push(Block::Note("nobody else uses these bytes".to_owned()));
    }
    let later = |steps: u64| format!("{} idle between", text::counted(steps, "step", "steps"));
    sheet.rows(near.before.len(), MAX_ROWS, near.before.iter().map(|near| row(near, "ends as it begins", later(near.1), "before")));
    sheet.rows(near.after.len(), MAX_ROWS, near.after.iter().map(|near| row(near, "begins as it ends", later(near.1), "after")));
}

#[cfg(test)]
mod tests {
    use super::super::sample_plans::{bare_with, sample, sample_with};
    use super::*;

    #[test]
    fn tells_how_in_place_tensors_joined() {
        let planned = sample("article_three_tensors.json");
        let words = sheet(&planned, None, BufferId(0)).words();
        assert!(words.contains("3 steps, with relu in place") || words.contains("4 steps, with relu in place"), "{words}");
        assert!(words.contains("## Tensors in it 2"), "{words}");
        assert!(words.contains("C | relu, in place | step 2"), "{words}");
        assert!(words.contains("4,194,304 B"), "{words}");
    }

    #[test]
    fn counts_conflicts_and_names_the_largest() {
        let planned = bare_with(&[(64, 0, 9), (128, 0, 2), (256, 1, 3), (64, 20, 21)], "first-fit");
        let words = sheet(&planned, None, BufferId(0)).words();
        assert!(words.contains("Conflicts: 2 #2 #1"), "{words}");
        assert!(words.contains("## Why is it here?") && words.contains("## On top of it"), "{words}");
        let alone = sheet(&planned, None, BufferId(3)).words();
        assert!(alone.contains("Conflicts: 0") && alone.contains("nothing above it") && alone.contains("at the bottom"), "{alone}");
    }

    #[test]
    fn an_overlap_is_told_at_both_buffers() {
        let planned = sample_with("article_three_tensors.json", "article-printed");
        assert!(!planned.report.is_valid());
        for id in [BufferId(0), BufferId(1)] {
            assert!(sheet(&planned, None, id).blocks.iter().any(|block| matches!(block, Block::Fault(_))));
        }
    }

    #[test]
    fn rounded_sizes_are_said() {
        let planned = bare_with(&[(65, 0, 1)], "first-fit");
        let words = sheet(&planned, None, BufferId(0)).words();
        assert!(words.contains("65 B") && words.contains("rounded to 128 B") && words.contains("= top of the arena"), "{words}");
    }
}
