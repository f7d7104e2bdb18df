//! The ruler above the charts: name scopes, step numbers, op types when there is room.

use egui::{Align2, Painter, Rect, Sense, Stroke, Ui, Vec2, pos2};

use super::chart::{plot_rect, step_ticks, step_value, to_whole};
use crate::axis::Scale;
use crate::command::Command;
use crate::ctx::ViewCtx;
use crate::draw::Pixels;
use crate::model::Scope;
use crate::selection::Item;
use crate::theme::{space, stroke};

/// A scope band whose blocks are wider than this on average may be shown, points.
const MIN_BLOCK: f64 = 40.0;

/// Space above the scope band, points.
const BAND_TOP: f32 = 4.0;

/// Width of a character of a scope's name, points; for deciding only.
const CHARACTER: f64 = 6.5;

/// Pixels per step from which each step shows its op type.
const OP_TYPES_FROM: f64 = 40.0;

/// Draws the ruler over the width of the charts.
pub fn ruler_ui(ui: &mut Ui, ctx: &ViewCtx<'_>) {
    let t = ctx.tokens;
    let scopes = deepest_scopes(ctx, f64::from(ui.available_width()));
    let has_scopes = !ctx.planned.model.scopes.is_empty();
    let height = if has_scopes { space::RULER + BAND_TOP } else { space::RULER - space::SCOPE_BAND };
    let (rect, response) = ui.allocate_exact_size(Vec2::new(ui.available_width(), height), Sense::click());
    let plot = plot_rect(rect);
    let x = Scale::new(ctx.steps.shown(), plot.left(), plot.right());
    let outside = ui.painter_at(rect);
    outside.rect_filled(rect, 0.0, t.bg2);
    outside.hline(rect.x_range(), rect.bottom() - 0.5, Stroke::new(1.0, t.line));
    let painter = ui.painter_at(plot);
    let top = if has_scopes {
        let band = Rect::from_min_max(plot.min + egui::vec2(0.0, BAND_TOP), pos2(plot.right(), plot.top() + BAND_TOP + space::SCOPE_BAND));
        outside.text(pos2(plot.left() - 8.0, band.center().y), Align2::RIGHT_CENTER, "block", t.tick(), t.text3);
        scope_band(&painter, ctx, &x, band, scopes.unwrap_or_default());
        band.bottom()
    } else {
        plot.top()
    };
    let ticks = Rect::from_min_max(pos2(plot.left(), top), plot.max);
    outside.text(pos2(plot.left() - 8.0, ticks.center().y), Align2::RIGHT_CENTER, "step", t.tick(), t.text3);
    if x.pixels_per_unit() >= OP_TYPES_FROM && ctx.planned.prepared.context.is_some() {
        op_types(&painter, ctx, &x, ticks)
    } else {
        step_numbers(&painter, ctx, &x, ticks)
    }
    mark_peak(&painter, ctx, &x, ticks);
    if let Some(step) = response.hover_pos().filter(|at| plot.contains(*at)).map(|at| to_whole(x.value(at.x).floor())) {
        ctx.hover(Item::Step(step));
        response.clone().on_hover_ui_at_pointer(|ui| step_tooltip(ui, ctx, step));
        if response.clicked() {
            ctx.select(Item::Step(step));
        }
    }
    if response.double_clicked() {
        ctx.send(Command::Fit);
    }
}

/// The deepest scopes whose visible blocks are wide enough on average.
fn deepest_scopes<'a>(ctx: &'a ViewCtx<'_>, width: f64) -> Option<&'a [Scope]> {
    let shown = ctx.steps.shown();
    let pixels_per_step = width / shown.len();
    let wide_enough = |scopes: &&Vec<Scope>| {
        let visible: Vec<&Scope> =
            scopes.iter().filter(|scope| step_value(scope.steps.end) > shown.start && step_value(scope.steps.start) < shown.end).collect();
        let fits = |scope: &&&Scope| {
            step_value(scope.steps.n_steps()) * pixels_per_step >= step_value(shortest_part(&scope.name).chars().count() as u64) * CHARACTER
        };
        let n_fitting = visible.iter().filter(fits).count();
        let distinct: std::collections::BTreeSet<&str> = visible.iter().map(|scope| last_part(&scope.name)).collect();
        visible.len() > 1
            && 2 * distinct.len() > visible.len()
            && width / step_value(visible.len() as u64) >= MIN_BLOCK
            && 2 * n_fitting >= visible.len()
    };
    ctx.planned.model.scopes.iter().rev().find(wide_enough).map(Vec::as_slice)
}

fn scope_band(painter: &Painter, ctx: &ViewCtx<'_>, x: &Scale, band: Rect, scopes: &[Scope]) {
    let t = ctx.tokens;
    let pixels = Pixels::of(painter);
    let name_of = |name: &str| painter.layout_no_wrap(name.to_owned(), t.tick(), t.text2);
    let mut blocks = Vec::new();
    for (index, scope) in scopes.iter().enumerate() {
        let (left, right) = (x.pixel(step_value(scope.steps.start)), x.pixel(step_value(scope.steps.end)));
        if right >= band.left() && left <= band.right() {
            let edges = pixels.edge(left.max(band.left()))..=pixels.edge(right.min(band.right())) - pixels.one();
            blocks.push((index, scope, Rect::from_x_y_ranges(edges, band.top() + 1.0..=band.bottom() - 1.0)));
        }
    }
    // One kind of name for the whole band: a mixture reads as if the scopes had different depths.
    let fits = |scope: &Scope, block: &Rect| name_of(last_part(&scope.name)).size().x + 6.0 < block.width();
    let named: f32 = blocks.iter().filter(|(_, scope, block)| fits(scope, block)).map(|(_, _, block)| block.width()).sum();
    let whole_names = named > 0.6 * band.width();
    for (index, scope, block) in blocks {
        painter.rect_filled(block, 0.0, if index % 2 == 0 { t.scope } else { t.bg3 });
        let galley = name_of(if whole_names { last_part(&scope.name) } else { shortest_part(&scope.name) });
        if galley.size().x + 6.0 < block.width() {
            painter.galley(block.center() - galley.size() / 2.0, galley, t.text2);
        }
    }
}

fn last_part(scope: &str) -> &str {
    scope.rsplit('/').next().unwrap_or_default()
}

/// What is left when even the last part is too wide: `2` of `features.2`.
fn shortest_part(scope: &str) -> &str {
    let last = last_part(scope);
    last.rsplit(['.', '_']).next().filter(|part| !part.is_empty()).unwrap_or(last)
}

fn step_numbers(painter: &Painter, ctx: &ViewCtx<'_>, x: &Scale, rect: Rect) {
    let t = ctx.tokens;
    let pixels = Pixels::of(painter);
    for step in step_ticks(x, rect.width()) {
        let at = pixels.centre(x.pixel(step_value(step)));
        painter.vline(at, rect.bottom() - 14.0..=rect.bottom(), Stroke::new(pixels.one(), t.line2));
        let number = painter.layout_no_wrap(crate::text::count(step), t.tick(), t.text2);
        if at + 5.0 + number.size().x <= rect.right() {
            painter.galley(pos2(at + 5.0, rect.center().y - number.size().y / 2.0), number, t.text2);
        }
    }
}

fn op_types(painter: &Painter, ctx: &ViewCtx<'_>, x: &Scale, rect: Rect) {
    let t = ctx.tokens;
    let pixels = Pixels::of(painter);
    let shown = x.range();
    for step in to_whole(shown.start.floor())..to_whole(shown.end.ceil()) {
        let Some(op) = ctx.planned.op_at(step) else { continue };
        let Some(context) = &ctx.planned.prepared.context else { return };
        let (left, right) = (x.pixel(step_value(step)), x.pixel(step_value(step + 1)));
        painter.vline(pixels.centre(left), rect.bottom() - 14.0..=rect.bottom(), Stroke::new(pixels.one(), t.line2));
        let text = format!("{} {}", crate::text::count(step), context.graph.op(op).kind);
        let whole = painter.layout_no_wrap(text, t.tick(), t.text2);
        let galley = if whole.size().x + 8.0 < right - left { whole } else { painter.layout_no_wrap(crate::text::count(step), t.tick(), t.text2) };
        painter.galley(pos2(left + 5.0, rect.center().y - galley.size().y / 2.0), galley, t.text2);
    }
}

fn mark_peak(painter: &Painter, ctx: &ViewCtx<'_>, x: &Scale, rect: Rect) {
    let step = ctx.planned.summary.peak_step;
    let (left, right) = (x.pixel(step_value(step)), x.pixel(step_value(step + 1)));
    let pixels = Pixels::of(painter);
    let right = right.max(left + pixels.one());
    painter.rect_filled(Rect::from_x_y_ranges(left..=right, rect.bottom() - stroke::STRONG..=rect.bottom()), 0.0, ctx.tokens.bound);
}

/// What a step does, for tooltips.
pub fn step_tooltip(ui: &mut Ui, ctx: &ViewCtx<'_>, step: u64) {
    let t = ctx.tokens;
    ui.label(egui::RichText::new(format!("step {}", crate::text::count(step))).font(t.body_strong()));
    if let Some((op, context)) = ctx.planned.op_at(step).zip(ctx.planned.prepared.context.as_ref()) {
        let op = context.graph.op(op);
        ui.label(egui::RichText::new(format!("{}  {}", op.kind, crate::text::middle_cut(&op.name, 60))).font(t.body()).color(t.text2));
    }
    let live = ctx.planned.model.live.at(step);
    ui.label(egui::RichText::new(format!("{} live", crate::text::bytes(live))).font(t.body()).color(t.text2));
}
