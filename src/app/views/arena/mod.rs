//! The Arena view: the Gantt chart of memory, steps on x and bytes (or slots) on y.

mod paint;
mod pools;

use std::sync::Arc;

use egui::{CursorIcon, Id, Rect, Sense, Ui, pos2};

use crate::axis::{Glide, Range, Scale};
use crate::command::Command;
use crate::ctx::ViewCtx;
use crate::draw::segmented;
use crate::model::BeforeKind;
use crate::rects::{ChartRect, RectIndex};
use crate::selection::Item;
use crate::text;
use crate::theme::space;
use crate::views::Pane;
use crate::views::chart::{Chart, step_value, to_whole};
use crate::views::header::header_ui;
use crate::views::legend::legend_ui;

/// The Arena view's gestures.
#[derive(Debug, Default)]
pub struct ArenaState {
    /// The slot lanes of the plan they were built for.
    lanes: Option<(usize, Arc<RectIndex>)>,
    /// What the last frame could not show in full.
    hidden: Hidden,
}

/// Rectangles that a frame could not show in full.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Hidden {
    /// Smaller than a pixel one way, so drawn larger than they are.
    pub(super) n_small: u64,
    /// Their bytes.
    pub(super) small_bytes: u64,
    /// Not drawn at all.
    pub(super) n_left_out: u64,
}

impl Hidden {
    /// The words in the header; empty if everything is shown.
    fn words(self) -> String {
        let small = (self.n_small > 0).then(|| format!(" · {} under one pixel, {}", text::count(self.n_small), text::bytes(self.small_bytes)));
        let left_out = (self.n_left_out > 0).then(|| format!(" · {} not drawn", text::count(self.n_left_out)));
        small.unwrap_or_default() + &left_out.unwrap_or_default()
    }
}

/// What is drawn and against which vertical axis.
pub(super) struct Scene<'a> {
    pub(super) index: &'a RectIndex,
    pub(super) y: Scale,
    pub(super) is_lanes: bool,
    pub(super) is_before: bool,
}

impl ArenaState {
    /// Draws the view.
    pub fn ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>) {
        let planned = Arc::clone(ctx.planned);
        let is_lanes = ctx.slot_lanes && !ctx.show_before && planned.plan.slots.is_some();
        header_ui(ui, ctx, Pane::Arena, &format!("{}{}", facts(ctx), self.hidden.words()), |ui| {
            lane_switch(ui, ctx);
            legend_ui(ui, ctx);
        });
        let chart = Chart::begin(ui, ctx, "arena");
        let lanes = is_lanes.then(|| self.lanes(ctx));
        let index = match &lanes {
            Some(lanes) => lanes,
            None if ctx.show_before => &planned.model.before,
            None => &planned.model.after,
        };
        let range = if is_lanes { lane_range(ctx) } else { ctx.bytes.shown() };
        let y = Scale::new(range, chart.plot.bottom() - 1.0, chart.plot.top() + 2.0);
        let scene = Scene { index, y, is_lanes, is_before: ctx.show_before };
        let hidden = paint::scene(ui, ctx, &chart, &scene);
        if hidden != self.hidden {
            self.hidden = hidden;
            ui.ctx().request_repaint();
        }
        if !is_lanes {
            byte_gestures(ui, ctx, &chart, &y);
        }
        chart.step_gestures(ui, ctx, false);
        point(ui, ctx, &chart, &scene);
        let label = format!("Arena chart: {}{}", facts(ctx), self.hidden.words());
        chart.response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Canvas, true, &label));
    }

    /// One lane per slot, rebuilt when the plan changes.
    fn lanes(&mut self, ctx: &ViewCtx<'_>) -> Arc<RectIndex> {
        let key = Arc::as_ptr(ctx.planned).addr();
        if let Some((known, lanes)) = &self.lanes
            && *known == key
        {
            return Arc::clone(lanes);
        }
        let lane = |rect: &ChartRect| {
            let slot = rect.buffer.and_then(|buffer| ctx.planned.plan.slot(buffer)).map_or(0, |slot| u64::from(slot.0));
            ChartRect { low: slot * LANE, high: slot * LANE + LANE - LANE_GAP, ..*rect }
        };
        let lanes = Arc::new(RectIndex::new(ctx.planned.model.after.rects().iter().map(lane).collect()));
        self.lanes = Some((key, Arc::clone(&lanes)));
        lanes
    }
}

/// Height of a slot lane, in units of the lane axis.
pub(super) const LANE: u64 = 10;
const LANE_GAP: u64 = 1;

fn lane_range(ctx: &ViewCtx<'_>) -> Range {
    let n = ctx.planned.plan.n_slots().unwrap_or(1).max(1) as u64;
    Range::new(-1.0, step_value(n * LANE))
}

fn facts(ctx: &ViewCtx<'_>) -> String {
    let planned = ctx.planned;
    if ctx.show_before {
        let what = match planned.model.before_kind {
            BeforeKind::Naive => "every tensor in its own block".to_owned(),
            BeforeKind::Observed => {
                planned.prepared.workload.observed.as_ref().map_or_else(String::new, |plan| format!("as placed by {}", plan.tool))
            }
        };
        return format!("before · {what} · {}", text::bytes(planned.model.before_bytes));
    }
    let slots = planned.plan.n_slots().map_or_else(String::new, |n| format!(" · {}", text::counted(n as u64, "slot", "slots")));
    let pools = match planned.model.lanes.lanes().len() {
        0 => String::new(),
        n => format!(" in {}", text::counted(n as u64, "pool", "pools")),
    };
    format!("after · {} · {}{pools}{slots}", planned.plan.strategy, text::bytes(planned.plan.arena_bytes))
}

fn lane_switch(ui: &mut Ui, ctx: &ViewCtx<'_>) {
    ui.add_space(8.0);
    let has_slots = ctx.planned.plan.slots.is_some() && !ctx.show_before;
    if !has_slots {
        return;
    }
    let mut lanes = ctx.slot_lanes;
    if segmented(ui, ctx.tokens, &mut lanes, &[(false, "Offset"), (true, "Slots")], space::CONTROL_SMALL) {
        ctx.send(Command::SetSlotLanes(lanes));
    }
}

/// Zooming and panning of bytes: drag on the gutter, Shift with the zoom gesture, Shift with the wheel.
fn byte_gestures(ui: &Ui, ctx: &ViewCtx<'_>, chart: &Chart, y: &Scale) {
    let gutter = Rect::from_min_max(chart.rect.min, pos2(chart.plot.left(), chart.rect.bottom()));
    let grip = ui.interact(gutter, Id::unique("arena-bytes"), Sense::click_and_drag());
    if grip.hovered() {
        ui.ctx().set_cursor_icon(CursorIcon::ResizeVertical);
    }
    if grip.dragged() {
        let at = y.value(chart.plot.bottom());
        ctx.send(Command::ZoomBytes { at, factor: f64::from(-grip.drag_delta().y / 120.0).exp() });
    }
    if grip.double_clicked() {
        ctx.send(Command::ShowBytes(ctx.bytes.full(), Glide::Calm));
    }
    let zooming = !ctx.bytes.is_fit();
    if chart.response.dragged_by(egui::PointerButton::Primary) && zooming && !ui.input(|input| input.modifiers.shift) {
        let moved = f64::from(chart.response.drag_delta().y) / y.pixels_per_unit();
        let shown = ctx.bytes.shown();
        ctx.send(Command::ShowBytes(Range { start: shown.start + moved, end: shown.end + moved }, Glide::Jump));
    }
    let Some(at) = chart.response.hover_pos() else { return };
    let (zoom, shift) = ui.input(|input| (input.zoom_delta_2d(), input.modifiers.shift));
    // With Shift the wheel counts as horizontal, and so does its zoom.
    let factor = if (zoom.y - 1.0).abs() > (zoom.x - 1.0).abs() { zoom.y } else { zoom.x };
    if shift && (factor - 1.0).abs() > 1e-3 {
        ctx.send(Command::ZoomBytes { at: y.value(at.y), factor: f64::from(factor) });
    }
}

/// Hover and click on a rectangle.
fn point(ui: &Ui, ctx: &ViewCtx<'_>, chart: &Chart, scene: &Scene<'_>) {
    let Some(at) = chart.response.hover_pos() else { return };
    let Some(step) = chart.step_at(at) else { return };
    let value = scene.y.value(at.y);
    let hit = (value >= 0.0).then(|| scene.index.at(step, to_whole(value))).flatten();
    if let Some(rect) = hit {
        let item = item_of(ctx, scene, rect);
        ctx.hover(item);
        chart.response.clone().on_hover_ui_at_pointer(|ui| crate::views::inspector::item_tooltip(ui, ctx, item));
    }
    if chart.response.clicked() && !ui.input(|input| input.modifiers.shift) {
        ctx.send(hit.map_or(Command::Clear, |rect| Command::Select(item_of(ctx, scene, rect))));
    }
}

/// What a rectangle stands for: its buffer, or before planning the tensor.
fn item_of(ctx: &ViewCtx<'_>, scene: &Scene<'_>, rect: &ChartRect) -> Item {
    let is_tensor = scene.is_before && ctx.planned.model.before_kind == BeforeKind::Naive && ctx.planned.prepared.context.is_some();
    match rect.buffer {
        Some(buffer) if !is_tensor => Item::Buffer(buffer),
        _ => Item::Tensor(arenascope_planner::ids::TensorId(rect.item)),
    }
}
