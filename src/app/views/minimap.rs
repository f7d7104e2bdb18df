//! The whole run in one strip: live bytes, the visible part as a window to drag, the peak, the selection.

use egui::{CursorIcon, Id, Rect, Sense, Shape, Stroke, Ui, Vec2, pos2, vec2};

use super::chart::{plot_rect, step_value};
use crate::axis::{Glide, Range, Scale};
use crate::command::Command;
use crate::ctx::ViewCtx;
use crate::draw::small_button;
use crate::theme::{alpha, space};

/// Draws the strip.
pub fn minimap_ui(ui: &mut Ui, ctx: &ViewCtx<'_>) {
    let t = ctx.tokens;
    let (rect, _) = ui.allocate_exact_size(Vec2::new(ui.available_width(), space::MINIMAP), Sense::hover());
    ui.painter().rect_filled(rect, 0.0, t.bg1);
    ui.painter().hline(rect.x_range(), rect.top() + 0.5, Stroke::new(1.0, t.line));
    let strip = plot_rect(rect.shrink2(vec2(0.0, 4.0)));
    let x = Scale::new(ctx.steps.full(), strip.left(), strip.right());
    ui.painter().rect_filled(strip, 2.0, t.bg0);
    paint_live(ui, ctx, &x, strip);
    paint_marks(ui, ctx, &x, strip);
    let shown = ctx.steps.shown();
    let window = Rect::from_x_y_ranges(x.pixel(shown.start)..=x.pixel(shown.end), strip.y_range());
    ui.painter().rect_filled(window, 2.0, alpha(t.accent, 0.13));
    ui.painter().rect_stroke(window, 2.0, Stroke::new(1.0, t.accent), egui::StrokeKind::Inside);
    for edge in [window.left(), window.right()] {
        let grip = Rect::from_center_size(pos2(edge, strip.center().y), vec2(4.0, 14.0));
        ui.painter().rect_filled(grip, 2.0, t.accent);
    }
    drag_window(ui, ctx, &x, strip, window);
    fit_button(ui, ctx, rect, strip);
}

fn fit_button(ui: &mut Ui, ctx: &ViewCtx<'_>, rect: Rect, strip: Rect) {
    let place = Rect::from_center_size(pos2((rect.left() + strip.left()) / 2.0, rect.center().y), vec2(space::GUTTER - 16.0, space::CONTROL_SMALL));
    let mut corner = ui.new_child(egui::UiBuilder::new().max_rect(place).layout(egui::Layout::centered_and_justified(egui::Direction::LeftToRight)));
    if small_button(&mut corner, ctx.tokens, None, "Fit").on_hover_text("Show the whole run (Home)").clicked() {
        ctx.send(Command::Fit);
    }
}

fn paint_live(ui: &Ui, ctx: &ViewCtx<'_>, x: &Scale, strip: Rect) {
    let curve = &ctx.planned.model.live;
    let (peak, _) = curve.max();
    let columns = super::memory::columns(curve, x, strip);
    let painter = ui.painter_at(strip);
    let mut batch = crate::draw::RectBatch::new(&painter, ctx.tokens, crate::draw::Detail::Plain);
    let height = f64::from(strip.height() - 3.0) / step_value(peak.max(1));
    for column in columns {
        #[expect(clippy::cast_possible_truncation, reason = "a height of the strip")]
        let top = strip.bottom() - (step_value(column.high) * height) as f32;
        batch.add_plain(Rect::from_x_y_ranges(column.left..=column.right, top..=strip.bottom()), ctx.tokens.live.gamma_multiply(0.55));
    }
    batch.paint(&painter);
}

fn paint_marks(ui: &Ui, ctx: &ViewCtx<'_>, x: &Scale, strip: Rect) {
    let t = ctx.tokens;
    let peak = x.pixel(step_value(ctx.planned.summary.peak_step) + 0.5);
    let top = strip.top() - 2.0;
    ui.painter().add(Shape::convex_polygon(vec![pos2(peak - 5.0, top), pos2(peak + 5.0, top), pos2(peak, top + 6.0)], t.bound, Stroke::NONE));
    if let Some(life) = ctx.selection.selected_buffer().and_then(|buffer| ctx.planned.lifetime(buffer)) {
        let (left, right) = (x.pixel(step_value(life.start)), x.pixel(step_value(life.end)));
        ui.painter().rect_filled(Rect::from_x_y_ranges(left..=right.max(left + 2.0), strip.bottom()..=strip.bottom() + 3.0), 0.0, t.select);
    }
}

fn drag_window(ui: &Ui, ctx: &ViewCtx<'_>, x: &Scale, strip: Rect, window: Rect) {
    let shown = ctx.steps.shown();
    let by = |delta: f32| f64::from(delta) / x.pixels_per_unit();
    for (name, edge) in [("start", window.left()), ("end", window.right())] {
        let grip = ui.interact(Rect::from_center_size(pos2(edge, strip.center().y), vec2(10.0, strip.height())), Id::unique(("minimap", name)), Sense::drag());
        if grip.hovered() || grip.dragged() {
            ui.ctx().set_cursor_icon(CursorIcon::ResizeHorizontal);
        }
        if grip.dragged() {
            let moved = by(grip.drag_delta().x);
            let range = if name == "start" { Range::new((shown.start + moved).min(shown.end - 1.0), shown.end) } else { Range::new(shown.start, (shown.end + moved).max(shown.start + 1.0)) };
            ctx.send(Command::ShowSteps(range, Glide::Jump));
            return;
        }
    }
    let inside = strip.shrink2(vec2(0.0, 0.0));
    let body = ui.interact(inside, Id::unique(("minimap", "body")), Sense::click_and_drag());
    let Some(at) = body.interact_pointer_pos() else { return };
    if body.dragged() {
        let moved = by(body.drag_delta().x);
        ctx.send(Command::ShowSteps(Range::new(shown.start + moved, shown.end + moved), Glide::Jump));
    } else if body.clicked() {
        let centre = x.value(at.x);
        ctx.send(Command::ShowSteps(Range::new(centre - shown.len() / 2.0, centre + shown.len() / 2.0), Glide::Calm));
    }
}
