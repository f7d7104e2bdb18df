//! What stands beside the pointer: the least one needs to know, in at most four short lines.

use arenascope_planner::alias::Storage;
use arenascope_planner::ids::{BufferId, TensorId};
use egui::{Label, RichText, Ui};

use super::of_buffer::last_scope;
use super::sheet::own_name;
use crate::ctx::ViewCtx;
use crate::selection::Item;
use crate::session::Planned;
use crate::text;

/// The tooltip of a buffer in charts.
pub fn buffer_tooltip(ui: &mut Ui, ctx: &ViewCtx<'_>, buffer: BufferId) {
    show(ui, ctx, &buffer_lines(ctx.planned, buffer));
}

/// The tooltip of any item in charts.
pub fn item_tooltip(ui: &mut Ui, ctx: &ViewCtx<'_>, item: Item) {
    show(ui, ctx, &item_lines(ctx.planned, item));
}

fn show(ui: &mut Ui, ctx: &ViewCtx<'_>, lines: &[String]) {
    let t = ctx.tokens;
    ui.spacing_mut().item_spacing.y = 1.0;
    for (index, line) in lines.iter().enumerate() {
        let text = RichText::new(line);
        let text = if index == 0 { text.font(t.body_strong()).color(t.text) } else { text.font(t.body()).color(t.text2) };
        ui.add(Label::new(text).extend().selectable(false));
    }
}

fn buffer_lines(planned: &Planned, id: BufferId) -> Vec<String> {
    let Some(buffer) = planned.prepared.problem.buffers().get(id.index()) else { return Vec::new() };
    let life = buffer.lifetime;
    let offset = planned.plan.offset(id);
    let mut place = format!("at {}, {}", text::bytes(offset), text::hex(offset));
    if let Some(lane) = planned.model.lanes.of(planned.plan.pool(id)) {
        place = format!("in {} {place}", lane.pool.name);
    }
    if let Some(slot) = planned.plan.slot(id) {
        place = format!("slot {}, {place}", slot.0);
    }
    vec![
        own_name(planned, id).map_or_else(|| format!("#{}", id.0), |name| format!("#{}  {name}", id.0)),
        size_line(buffer.size_bytes),
        format!("{}, {}", text::lifetime(life.start, life.end), text::counted(life.n_steps(), "step", "steps")),
        place,
    ]
}

/// The size as a person reads it and, where that is rounded, to the last byte.
fn size_line(bytes: u64) -> String {
    if bytes < 1024 { text::bytes(bytes) } else { format!("{}, {}", text::bytes(bytes), text::exact_bytes(bytes)) }
}

fn item_lines(planned: &Planned, item: Item) -> Vec<String> {
    match item {
        Item::Buffer(buffer) => buffer_lines(planned, buffer),
        Item::Tensor(tensor) => tensor_lines(planned, tensor),
        Item::Op(op) => {
            let Some(context) = planned.prepared.context.as_deref() else { return Vec::new() };
            let of = context.graph.op(op);
            let step = context.schedule.step_of(op);
            vec![format!("{}  {}", of.kind, last_scope(&of.name)), format!("step {}", text::count(step)), live_line(planned, step)]
        }
        Item::Step(step) => {
            let context = planned.prepared.context.as_deref();
            let op = context.zip(planned.op_at(step)).map(|(context, op)| context.graph.op(op));
            let kind = op.map_or_else(String::new, |op| format!("  {}", op.kind));
            vec![format!("step {}{kind}", text::count(step)), live_line(planned, step)]
        }
        Item::Slot(slot) => {
            let n = planned.prepared.problem.ids().filter(|&id| planned.plan.slot(id) == Some(slot)).count();
            vec![format!("slot {}", slot.0), text::counted(n as u64, "buffer", "buffers")]
        }
    }
}

fn live_line(planned: &Planned, step: u64) -> String {
    format!("{} live", text::bytes(planned.model.live.at(step)))
}

fn tensor_lines(planned: &Planned, id: TensorId) -> Vec<String> {
    let Some(context) = planned.prepared.context.as_deref() else { return Vec::new() };
    let tensor = context.graph.tensor(id);
    let size = match tensor.bytes {
        Some(bytes) => size_line(bytes),
        None => format!("size unknown: {}", tensor.unknown_because),
    };
    let place = match context.map.storage[id.index()] {
        Storage::Planned(buffer) => format!("in buffer #{}", buffer.0),
        Storage::Static => "in static memory".to_owned(),
        Storage::Empty => "without storage".to_owned(),
        Storage::Unknown => "in unknown storage".to_owned(),
    };
    vec![last_scope(&tensor.name), size, format!("{}, {place}", tensor.role.name())]
}

#[cfg(test)]
mod tests {
    use super::super::sample_plans::{bare_with, sample};
    use super::*;

    #[test]
    fn four_lines_say_who_how_large_when_and_where() {
        let planned = bare_with(&[(2048, 3, 7)], "slots-by-birth");
        let lines = buffer_lines(&planned, BufferId(0));
        assert_eq!(lines, ["#0  b0", "2.00 KiB, 2,048 B", "[3, 7), 4 steps", "slot 0, at 0 B, 0x00000000"]);
        assert!(buffer_lines(&planned, BufferId(9)).is_empty());
    }

    #[test]
    fn every_kind_of_item_has_lines() {
        let planned = sample("article_three_tensors.json");
        for item in [Item::Tensor(TensorId(0)), Item::Op(arenascope_planner::ids::OpId(0)), Item::Step(1)] {
            assert!(item_lines(&planned, item).len() >= 2, "{item:?}");
        }
    }
}
