//! The Memory view: naive total, live bytes, arena, lower bound and capacity over the steps.

mod curves;
mod scale;

use std::sync::Arc;

use egui::{Align2, Rect, Sense, Stroke, Ui, UiBuilder, pos2};
use egui_plot::{HLine, Line, LineStyle, Plot, PlotBounds, PlotPoint, PlotPoints};

use crate::ctx::ViewCtx;
use crate::curve_index::CurveIndex;
use crate::draw::{Pixels, dashed_line, tag, text_backed};
use crate::selection::Item;
use crate::text;
use crate::theme::{Tokens, space, stroke};
use crate::views::Pane;
use crate::views::chart::{Chart, step_value, to_whole};
use crate::views::header::header_ui;
use crate::views::minimap::minimap_ui;
use crate::views::ruler::step_tooltip;
use crate::views::run::Measured;
pub(in crate::views) use curves::columns;
use scale::MemoryScale;

/// Heights below which the plot gives way to its header and minimap.
const PLOT_FROM: f32 = 24.0;

/// Height of a label in the gutter, in points.
const LABEL_HEIGHT: f32 = 13.0;

/// Most points per pixel column handed to the plot.
const POINTS_PER_COLUMN: usize = 2;

/// Draws the view with the minimap at its foot.
pub(crate) fn memory_ui(ui: &mut Ui, ctx: &ViewCtx<'_>, measured: Option<Measured<'_>>) {
    header_ui(ui, ctx, Pane::Memory, &facts(ctx, measured), |_| ());
    let rest = ui.available_rect_before_wrap();
    let plot_height = (rest.height() - space::MINIMAP).max(0.0);
    if plot_height >= PLOT_FROM {
        let upper = Rect::from_min_size(rest.min, egui::vec2(rest.width(), plot_height));
        let mut child = ui.new_child(UiBuilder::new().max_rect(upper));
        chart_ui(&mut child, ctx, measured);
        ui.advance_cursor_after_rect(upper);
    }
    minimap_ui(ui, ctx);
}

fn facts(ctx: &ViewCtx<'_>, measured: Option<Measured<'_>>) -> String {
    let shown = ctx.planned.summary.capacity_bytes.map_or("", |_| ", capacity");
    match ctx.selection.steps {
        None => format!("naive total, live bytes, arena{shown}{}", measured.map_or_else(String::new, measured_words)),
        Some(marked) => {
            let peak = ctx
                .planned
                .model
                .live
                .spans(step_value(marked.start), step_value(marked.end) - 0.5, 1)
                .iter()
                .map(|span| span.high)
                .max()
                .unwrap_or(0);
            format!(
                "steps {} marked: {}, up to {} live",
                text::lifetime(marked.start, marked.end),
                text::counted(marked.n_steps(), "step", "steps"),
                text::bytes(peak)
            )
        }
    }
}

/// What the pink line is.
fn measured_words(measured: Measured<'_>) -> String {
    let divided = if measured.times > 1 { format!(" ÷ {}", text::count(measured.times)) } else { String::new() };
    format!(", measured{divided}: {}", measured.what)
}

fn chart_ui(ui: &mut Ui, ctx: &ViewCtx<'_>, measured: Option<Measured<'_>>) {
    let planned = Arc::clone(ctx.planned);
    let chart = Chart::begin(ui, ctx, "memory");
    let scale = MemoryScale::new(&planned.summary, chart.plot.height());
    axis(ui, ctx, &chart, &scale);
    plot(ui, ctx, &chart, &scale, measured);
    cursor(ui, ctx, &chart, &scale);
    tags(ctx, &chart, &scale);
    chart.step_gestures(ui, ctx, false);
    let peak = text::bytes(planned.summary.peak_live_bytes);
    let label = format!("Memory chart: peak {peak} live at step {}, arena {}", planned.summary.peak_step, text::bytes(planned.summary.arena_bytes));
    chart.response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Canvas, true, &label));
}

/// The curves, as one plot whose horizontal axis is the shared one.
fn plot(ui: &mut Ui, ctx: &ViewCtx<'_>, chart: &Chart, scale: &MemoryScale, measured: Option<Measured<'_>>) {
    let t = ctx.tokens;
    let summary = &ctx.planned.summary;
    let n_columns = chart.n_columns();
    let live = points(&ctx.planned.model.live, chart, scale, n_columns, Way::of(false));
    let naive = points(&ctx.planned.model.naive, chart, scale, n_columns, Way::of(true));
    let measured = measured.map(|measured| points(measured.curve, chart, scale, n_columns, Way { rising: false, times: measured.times }));
    let range = chart.x.range();
    let bounds = PlotBounds::from_min_max([range.start, 0.0], [range.end, scale.top()]);
    let mut child = ui.new_child(UiBuilder::new().max_rect(chart.plot));
    child.set_clip_rect(chart.plot.intersect(ui.clip_rect()));
    let line = |points, name: &str, colour, width| {
        Line::new(name.to_owned(), PlotPoints::Owned(points)).color(colour).width(width).allow_hover(false).allow_band(false)
    };
    Plot::new("memory-plot")
        .show_axes(false)
        .show_grid(false)
        .show_background(false)
        .show_x(false)
        .show_y(false)
        .allow_drag(false)
        .allow_zoom(false)
        .allow_scroll(false)
        .allow_boxed_zoom(false)
        .allow_double_click_reset(false)
        .allow_axis_zoom_drag(false)
        .sense(Sense::hover())
        .set_margin_fraction(egui::Vec2::ZERO)
        .width(chart.plot.width())
        .height(chart.plot.height())
        .show(&mut child, |plot| {
            plot.set_plot_bounds(bounds);
            let live_line = line(live, "live bytes", t.live, stroke::CURVE);
            plot.line(live_line.fill(0.0).fill_alpha(0.26));
            plot.line(line(naive, "naive total", t.naive, stroke::STRONG));
            if let Some(measured) = measured {
                plot.line(line(measured, "measured", t.measured, stroke::CURVE));
            }
            let level =
                |name: &str, bytes: u64, colour, width| HLine::new(name.to_owned(), scale.place(bytes)).color(colour).width(width).allow_hover(false);
            plot.hline(level("arena", summary.arena_bytes, t.arena, stroke::STRONG));
            if let Some(capacity) = summary.capacity_bytes {
                plot.hline(level("capacity", capacity, t.capacity, stroke::STRONG));
            }
            let same = summary.arena_bytes == summary.lower_bound_bytes;
            let (width, dash) = if same { (stroke::STRONG, 6.0) } else { (stroke::CURVE, 5.0) };
            plot.hline(level("lower bound", summary.lower_bound_bytes, t.bound, width).style(LineStyle::Dashed { length: dash }));
        });
}

/// How a curve becomes points.
#[derive(Clone, Copy)]
struct Way {
    /// Whether it only rises, so that a column is a slope.
    rising: bool,
    /// What its bytes are multiplied by.
    times: u64,
}

impl Way {
    fn of(rising: bool) -> Self {
        Self { rising, times: 1 }
    }
}

/// A curve as corners of steps, at most two per pixel column.
fn points(curve: &CurveIndex, chart: &Chart, scale: &MemoryScale, n_columns: usize, way: Way) -> Vec<PlotPoint> {
    let place = |bytes: u64| scale.place(bytes / way.times);
    let range = chart.x.range();
    let mut points = Vec::with_capacity(n_columns * POINTS_PER_COLUMN);
    for span in curve.spans(range.start, range.end, n_columns) {
        if span.low == span.high || way.rising {
            points.push(PlotPoint::new(span.start, place(span.low)));
            points.push(PlotPoint::new(span.end, place(span.high)));
        } else {
            points.push(PlotPoint::new(span.start, place(span.high)));
            points.push(PlotPoint::new(f64::midpoint(span.start, span.end), place(span.low)));
        }
    }
    points
}

fn axis(ui: &Ui, ctx: &ViewCtx<'_>, chart: &Chart, scale: &MemoryScale) {
    let pixels = Pixels::of(&chart.painter);
    let y = |bytes: u64| pixels.centre(scale.pixel(bytes, chart.plot));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a plot is a few thousand points high")]
    let most = (chart.plot.height() / 24.0).clamp(2.0, 12.0) as usize;
    let mut last = f32::INFINITY;
    for tick in text::byte_ticks(0, scale.linear_bytes(), most) {
        let at = y(tick.bytes);
        chart.painter.hline(chart.plot.x_range(), at, Stroke::new(pixels.one(), ctx.tokens.grid));
        let label_at = at.min(chart.rect.bottom() - 7.0);
        if label_at < last - LABEL_HEIGHT && at > chart.plot.top() + if scale.is_broken() { 22.0 } else { 0.0 } {
            last = label_at;
            chart.gutter_label(ui, ctx, at, &tick.label);
        }
    }
    if scale.is_broken() {
        chart.gutter_label(ui, ctx, y(scale.naive_bytes()), &text::bytes(scale.naive_bytes()));
        let at = y(scale.linear_bytes());
        dashed_line(&chart.painter, [pos2(chart.plot.left(), at), pos2(chart.plot.right(), at)], stroke::HAIR, ctx.tokens.line2, [2.0, 3.0]);
        let zigzag: Vec<egui::Pos2> =
            [(-7.0, 0.0), (-4.0, -4.0), (-1.0, 3.0), (3.0, -3.0), (6.0, 0.0)].iter().map(|&(dx, dy)| pos2(chart.plot.left() + dx, at + dy)).collect();
        ui.painter_at(chart.rect).line(zigzag, Stroke::new(1.0, ctx.tokens.text3));
    }
}

/// The value under the pointer, and the step under it for every other view.
fn cursor(ui: &Ui, ctx: &ViewCtx<'_>, chart: &Chart, scale: &MemoryScale) {
    let hovered = chart.response.hover_pos().and_then(|at| chart.step_at(at));
    if let Some(step) = hovered {
        ctx.hover(Item::Step(step));
        chart.response.clone().on_hover_ui_at_pointer(|ui| step_tooltip(ui, ctx, step));
        if chart.response.clicked() && !ui.input(|input| input.modifiers.shift) {
            ctx.select(Item::Step(step));
        }
    }
    let Some(Item::Step(step)) = ctx.selection.hovered().or(ctx.selection.selected()) else { return };
    let at = pos2(chart.x.pixel(step_value(step) + 0.5), scale.pixel(ctx.planned.model.live.at(step), chart.plot));
    chart.painter.circle_filled(at, 3.0, ctx.tokens.live);
    chart.painter.circle_stroke(at, 3.0, Stroke::new(1.0, ctx.tokens.select));
}

/// Labels on the lines: naive where it is calm, arena at the right, the peak beside it, live bytes low.
fn tags(ctx: &ViewCtx<'_>, chart: &Chart, scale: &MemoryScale) {
    let t: &Tokens = ctx.tokens;
    let summary = &ctx.planned.summary;
    if chart.plot.height() < 60.0 {
        return;
    }
    let y = |bytes: u64| scale.pixel(bytes, chart.plot);
    let right = chart.plot.right() - 4.0;
    let is_bound = if summary.arena_bytes == summary.lower_bound_bytes { " = bound" } else { "" };
    let arena_text = format!("arena {}{is_bound}", text::bytes(summary.arena_bytes));
    let arena = tag(&chart.painter, t, pos2(right, y(summary.arena_bytes) + 12.0), Align2::RIGHT_CENTER, t.arena, &arena_text);
    let mut left_of = arena;
    if let Some(capacity) = summary.capacity_bytes {
        let words = format!("capacity {}", text::bytes(capacity));
        left_of = tag(&chart.painter, t, pos2(arena.left() - 8.0, y(capacity)), Align2::RIGHT_CENTER, t.capacity, &words);
    }
    naive_tag(ctx, chart, scale);
    let peak_x = chart.x.pixel(step_value(summary.peak_step) + 1.0) + 6.0;
    if chart.plot.x_range().contains(peak_x) && peak_x < left_of.left() - 100.0 {
        let words = format!("peak {}", text::bytes(summary.peak_live_bytes));
        tag(&chart.painter, t, pos2(peak_x, y(summary.peak_live_bytes) + 16.0), Align2::LEFT_CENTER, t.bound, &words);
    }
    let near_foot = pos2(chart.plot.left() + chart.plot.width() * 0.62, chart.plot.bottom() - 12.0);
    text_backed(&chart.painter, t, near_foot, Align2::LEFT_CENTER, "live bytes", t.text2);
}

/// The naive total's label, at the first place where its line is clear of arena and bound.
fn naive_tag(ctx: &ViewCtx<'_>, chart: &Chart, scale: &MemoryScale) {
    let summary = &ctx.planned.summary;
    let y = |bytes: u64| scale.pixel(bytes, chart.plot);
    let others = [y(summary.arena_bytes), y(summary.lower_bound_bytes)];
    let at = |part: f32| {
        let x = chart.plot.left() + chart.plot.width() * part;
        pos2(x, y(ctx.planned.model.naive.at(to_whole(chart.x.value(x)))).max(chart.plot.top() + 9.0))
    };
    let clear = [0.45, 0.3, 0.6, 0.75, 0.15].map(at).into_iter().find(|at| others.iter().all(|other| (other - at.y).abs() > 18.0));
    if let Some(at) = clear {
        let words = format!("naive total {}", text::bytes(summary.naive_bytes));
        tag(&chart.painter, ctx.tokens, at, Align2::LEFT_CENTER, ctx.tokens.naive, &words);
    }
}
