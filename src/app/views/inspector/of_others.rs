//! The sheets of an op, a step, a slot and a tensor.

use std::cmp::Reverse;

use arenascope_planner::alias::{Io, Storage};
use arenascope_planner::graph::Role;
use arenascope_planner::ids::{BufferId, OpId, SlotId, TensorId};
use arenascope_planner::lifetimes::Lifetime;
use arenascope_planner::prepare::GraphContext;

use super::of_buffer::{last_scope, links_to_ops, scope_of, shape, writer};
use super::of_peak::savings;
use super::sheet::{Block, Head, Piece, Row, Sheet, both_sizes, own_name, plain, strong, to_buffer, to_op, to_step};
use crate::selection::Item;
use crate::session::Planned;
use crate::text;
use crate::views::interference::live_during;

/// Most buffers listed at a step.
const MAX_LIVE: usize = 30;
/// Most tensors listed at an op, and most buffers listed of a slot.
const MAX_LISTED: usize = 40;
/// Most links in a line.
const MAX_LINKS: usize = 8;

pub(super) fn op(planned: &Planned, id: OpId) -> Sheet {
    let mut sheet = Sheet::default();
    let Some(context) = planned.prepared.context.as_deref() else { return sheet };
    let op = context.graph.op(id);
    let step = context.schedule.step_of(id);
    sheet.push(Block::Head(Head { title: op.kind.clone(), full: op.name.clone(), ..Head::default() }));
    sheet.fact("Step", vec![to_step(step), plain(format!("of {}", text::count(context.schedule.n_steps())))]);
    live_facts(&mut sheet, planned, step);
    for (title, tensors) in [("Reads", &op.inputs), ("Writes", &op.outputs)] {
        sheet.heading(title, text::counted(tensors.len() as u64, "tensor", "tensors"));
        let rows = tensors.iter().map(|&tensor| tensor_row(planned, context, tensor));
        sheet.rows(tensors.len(), MAX_LISTED, rows);
    }
    sheet
}

/// A tensor with its bytes and where they are.
fn tensor_row(planned: &Planned, context: &GraphContext, id: TensorId) -> Row {
    let tensor = context.graph.tensor(id);
    let buffer = planned.buffer_of(id);
    let place = match context.map.storage[id.index()] {
        Storage::Planned(buffer) => format!("in #{}", buffer.0),
        Storage::Static if context.map.constant_derived[id.index()] => "static, made from constants alone".to_owned(),
        Storage::Static => format!("static, {}", tensor.role.name()),
        Storage::Empty => "no bytes".to_owned(),
        Storage::Unknown => format!("unknown: {}", tensor.unknown_because),
    };
    let right = tensor.bytes.map_or_else(|| text::UNKNOWN.to_owned(), text::bytes);
    let item = buffer.map_or(Item::Tensor(id), Item::Buffer);
    Row { item, swatch: buffer, strong: last_scope(&tensor.name), text: place, right }
}

fn live_facts(sheet: &mut Sheet, planned: &Planned, step: u64) {
    let bytes = planned.model.live.at(step);
    let mut live = both_sizes(bytes);
    if bytes == planned.summary.lower_bound_bytes && bytes > 0 {
        live.push(Piece::Warn("= lower bound".to_owned()));
    }
    sheet.fact("Live bytes", live);
}

pub(super) fn step(planned: &Planned, step: u64) -> Sheet {
    let mut sheet = Sheet::default();
    let problem = &planned.prepared.problem;
    sheet.push(Block::Head(Head { title: format!("Step {}", text::count(step)), ..Head::default() }));
    if let Some((context, op)) = planned.prepared.context.as_deref().zip(planned.op_at(step)) {
        let op_of_step = context.graph.op(op);
        sheet.fact("Op", vec![to_op(op, &op_of_step.kind), plain(scope_of(&op_of_step.name))]);
    }
    live_facts(&mut sheet, planned, step);
    let mut live = live_during(planned, Lifetime { start: step, end: step.saturating_add(1) });
    live.sort_unstable_by_key(|&id| (Reverse(problem.buffer(id).bytes), id));
    let born: Vec<BufferId> = live.iter().copied().filter(|&id| problem.buffer(id).lifetime.start == step).collect();
    let freed: Vec<BufferId> = live.iter().copied().filter(|&id| problem.buffer(id).lifetime.end == step + 1).collect();
    sheet.fact("Born here", links(&born));
    sheet.fact("Freed after it", links(&freed));
    if step == planned.summary.peak_step {
        savings(&mut sheet, planned);
    }
    sheet.heading("Live", text::counted(live.len() as u64, "buffer", "buffers"));
    if live.is_empty() {
        sheet.push(Block::Note("no buffer is live at this step".to_owned()));
        return sheet;
    }
    let mut parts: Vec<(Option<BufferId>, u64)> = live.iter().take(MAX_LIVE).map(|&id| (Some(id), problem.buffer(id).bytes)).collect();
    let rest: u64 = live.iter().skip(MAX_LIVE).map(|&id| problem.buffer(id).bytes).sum();
    parts.extend((rest > 0).then_some((None, rest)));
    sheet.push(Block::Bar(parts));
    sheet.blocks.extend(live.iter().take(MAX_LIVE).map(|&id| Block::Row(buffer_row(planned, id))));
    if live.len() > MAX_LIVE {
        sheet.push(Block::Note(format!("and {} more, {}", text::count((live.len() - MAX_LIVE) as u64), text::bytes(rest))));
    }
    sheet
}

/// A buffer with its lifetime and its size.
pub(super) fn buffer_row(planned: &Planned, id: BufferId) -> Row {
    let buffer = planned.prepared.problem.buffer(id);
    let life = text::lifetime(buffer.lifetime.start, buffer.lifetime.end);
    Row {
        item: Item::Buffer(id),
        swatch: Some(id),
        strong: format!("#{}", id.0),
        text: own_name(planned, id).into_iter().chain([life.as_str()]).collect::<Vec<_>>().join("  "),
        right: text::bytes(buffer.bytes),
    }
}

fn links(buffers: &[BufferId]) -> Vec<Piece> {
    if buffers.is_empty() {
        return vec![plain("none")];
    }
    let mut pieces: Vec<Piece> = buffers.iter().take(MAX_LINKS).map(|&id| to_buffer(id)).collect();
    if buffers.len() > MAX_LINKS {
        pieces.push(plain(format!("and {} more", text::count((buffers.len() - MAX_LINKS) as u64))));
    }
    pieces
}

pub(super) fn slot(planned: &Planned, slot: SlotId) -> Sheet {
    let mut sheet = Sheet::default();
    let problem = &planned.prepared.problem;
    let mut members: Vec<BufferId> = problem.ids().filter(|&id| planned.plan.slot(id) == Some(slot)).collect();
    members.sort_by_key(|&id| (problem.buffer(id).lifetime.start, id));
    sheet.push(Block::Head(Head { title: format!("Slot {}", slot.0), ..Head::default() }));
    let size = members.iter().map(|&id| problem.buffer(id).bytes).max().unwrap_or(0);
    sheet.fact("Size", both_sizes(size));
    if let Some(&first) = members.first() {
        let offset = planned.plan.offset(first);
        sheet.fact("Offset", vec![strong(text::bytes(offset)), Piece::Mono(text::hex(offset))]);
    }
    let span = problem.span().n_steps();
    sheet.fact("In use", vec![strong(text::percent(share(busy_steps(planned, &members), u128::from(span)))), plain("of the steps")]);
    let held: u128 = members.iter().map(|&id| u128::from(problem.buffer(id).bytes) * u128::from(problem.buffer(id).lifetime.n_steps())).sum();
    sheet.fact("Filled", vec![strong(text::percent(share(held, u128::from(size) * u128::from(span)))), plain("of its bytes × steps")]);
    if let Some(&widest) = members.iter().max_by_key(|&&id| (problem.buffer(id).bytes, Reverse(id))) {
        sheet.fact("Sized by", vec![to_buffer(widest), plain(planned.model.short[widest.index()].clone())]);
    }
    sheet.heading("Buffers in time order", text::count(members.len() as u64));
    sheet.rows(members.len(), MAX_LISTED, members.iter().map(|&id| buffer_row(planned, id)));
    sheet
}

/// Steps at which at least one of `members` is live; they are sorted by birth.
fn busy_steps(planned: &Planned, members: &[BufferId]) -> u128 {
    let mut until = 0;
    let mut busy = 0_u128;
    for &id in members {
        let life = planned.prepared.problem.buffer(id).lifetime;
        busy += u128::from(life.end.saturating_sub(life.start.max(until)));
        until = until.max(life.end);
    }
    busy
}

fn share(part: u128, whole: u128) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a share with one decimal")]
    let share = part as f64 / whole.max(1) as f64;
    share
}

pub(super) fn tensor(planned: &Planned, id: TensorId) -> Sheet {
    let mut sheet = Sheet::default();
    let Some(context) = planned.prepared.context.as_deref() else { return sheet };
    let tensor = context.graph.tensor(id);
    let title = last_scope(&tensor.name);
    let full = if title == tensor.name { String::new() } else { tensor.name.clone() };
    sheet.push(Block::Head(Head { swatch: planned.buffer_of(id), number: String::new(), title, role: Some(tensor.role), full }));
    let size = match tensor.bytes {
        Some(bytes) => both_sizes(bytes),
        None => vec![Piece::Unknown(tensor.unknown_because.clone())],
    };
    sheet.fact("Size", size);
    sheet.fact("Shape", shape(&context.graph, id));
    sheet.fact("Storage", storage(context, id));
    sheet.fact("Written by", writer(context, id));
    let mut readers = context.graph.readers(id).to_vec();
    readers.sort_by_key(|&op| context.schedule.step_of(op));
    sheet.fact("Read by", links_to_ops(context, &readers));
    sheet
}

/// Where the bytes of a tensor are, and why there.
fn storage(context: &GraphContext, id: TensorId) -> Vec<Piece> {
    let tensor = context.graph.tensor(id);
    match context.map.storage[id.index()] {
        Storage::Planned(buffer) => vec![to_buffer(buffer)],
        Storage::Empty => vec![strong("none"), plain("it has no bytes")],
        Storage::Unknown => vec![Piece::Unknown(format!("its size is not known: {}", tensor.unknown_because))],
        Storage::Static => {
            let because = match tensor.role {
                _ if context.map.constant_derived[id.index()] => "it follows from constants and weights alone",
                Role::Parameter => "it is a parameter",
                Role::Constant => "it is a constant",
                Role::OptimizerState => "it is kept between runs",
                Role::GraphInput if context.io == Io::Static => "it is a graph input, the caller's memory",
                Role::GraphOutput if context.io == Io::Static => "it is a graph output, the caller's memory",
                _ => "it is a view of static memory",
            };
            vec![strong("static"), plain(format!("because {because}"))]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample_plans::{bare_with, sample, sample_with};
    use super::*;

    #[test]
    fn a_step_lists_what_is_live_born_and_freed() {
        let planned = bare_with(&[(64, 0, 2), (256, 1, 2), (128, 1, 4)], "first-fit");
        let words = step(&planned, 1).words();
        assert!(words.contains("Live bytes: 448 B"), "{words}");
        assert!(words.contains("Born here: #1 #2"), "{words}");
        assert!(words.contains("Freed after it: #1 #0"), "{words}");
        assert!(words.contains("= lower bound") && words.contains("bar of 3"), "{words}");
        assert!(step(&planned, 9).words().contains("no buffer is live"));
    }

    #[test]
    fn long_lists_are_cut_with_count_and_bytes() {
        let buffers: Vec<(u64, u64, u64)> = (0..40).map(|_| (64, 0, 1)).collect();
        let words = step(&bare_with(&buffers, "first-fit"), 0).words();
        assert!(words.contains("and 10 more, 640 B") && words.contains("bar of 31"), "{words}");
    }

    #[test]
    fn an_op_says_where_its_tensors_are() {
        let planned = sample("article_three_tensors.json");
        let words = op(&planned, OpId(0)).words();
        assert!(words.contains("static, parameter") && words.contains("static, graph input"), "{words}");
        assert!(words.contains("A | in #0 | 4.00 MiB"), "{words}");
    }

    #[test]
    fn a_slot_says_how_well_it_is_used() {
        let planned = bare_with(&[(64, 0, 2), (128, 2, 4), (64, 0, 4)], "slots-by-birth");
        let first = planned.plan.slot(BufferId(0)).expect("a slot plan");
        let words = slot(&planned, first).words();
        assert!(words.contains("Size: 128 B"), "{words}");
        assert!(words.contains("In use: 100.0 %") && words.contains("Filled: 75.0 %") && words.contains("Sized by: #1"), "{words}");
    }

    #[test]
    fn a_tensor_says_why_it_is_static() {
        let planned = sample_with("article_three_tensors.json", "first-fit");
        let context = planned.prepared.context.as_deref().expect("a graph");
        let find = |name: &str| context.graph.tensor_ids().find(|&id| context.graph.tensor(id).name == name).expect("the tensor");
        assert!(tensor(&planned, find("W1")).words().contains("static because it is a parameter"));
        assert!(tensor(&planned, find("x1")).words().contains("caller's memory"));
        assert!(tensor(&planned, find("A")).words().contains("Storage: #0"));
        assert!(tensor(&planned, find("A")).words().contains("Read by: step 2 relu"));
    }
}
