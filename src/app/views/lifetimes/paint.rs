//! Painting the bars: one mesh for all, labels and outlines for few.

use arenascope_planner::ids::BufferId;
use egui::{Align2, Painter, Rect, Ui, pos2};

use super::bar_rect;
use super::rows::Rows;
use crate::ctx::ViewCtx;
use crate::draw::{Detail, Outline, RectBatch, outline};
use crate::model::RowOrder;
use crate::selection::Highlight;
use crate::text;
use crate::views::chart::{Chart, step_value};

/// Rows of at least this height carry labels.
const LABEL_FROM: f32 = 9.5;

/// Most bars that are drawn one by one; of more, the longest.
pub(super) const MAX_BARS: usize = 50_000;

/// Longest name beside a bar, in characters; longer ones lose their middle.
const LABEL_LENGTH: usize = 44;

/// Buffers in view whose size stands beside the name.
const SIZES: usize = 10;

struct Bar {
    buffer: BufferId,
    row: u32,
    rect: Rect,
    highlight: Highlight,
}

/// Paints all visible bars.
pub(super) fn bars(ui: &Ui, ctx: &ViewCtx<'_>, chart: &Chart, rows: &Rows, order: RowOrder) {
    stripes(ctx, chart, rows);
    let visible = visible(ctx, rows, chart, order);
    let detail = if rows.height < 4.0 { Detail::Plain } else { Detail::for_count(visible.len()) };
    let mut batch = RectBatch::new(&chart.painter, ctx.tokens, detail);
    batch.reserve(visible.len());
    let mut marked = Vec::new();
    let mut bars = Vec::with_capacity(visible.len().min(512));
    for (buffer, row) in visible {
        let life = ctx.planned.prepared.problem.buffer(buffer).lifetime;
        let rect = bar_rect(chart, rows, row, chart.x.pixel(step_value(life.start)), chart.x.pixel(step_value(life.end)));
        let (fill, highlight) = ctx.fill(buffer);
        let rect = batch.add(rect, fill);
        if shows_mark(rect, highlight) && marked.len() < MAX_MARKS {
            marked.push((rect, highlight));
        }
        if rows.height >= LABEL_FROM {
            bars.push(Bar { buffer, row, rect, highlight });
        }
    }
    batch.paint(&chart.painter);
    for (rect, highlight) in marked {
        mark(&chart.painter, ctx, rect, highlight);
    }
    labels(ui, ctx, chart, rows, &bars);
}

/// Most outlines of states per chart.
pub(in crate::views) const MAX_MARKS: usize = 1_000;

/// Whether the outline of a state is drawn: always for what is hovered or selected, else where it can be seen.
pub(in crate::views) fn shows_mark(rect: Rect, highlight: Highlight) -> bool {
    match highlight {
        Highlight::None => false,
        Highlight::Related => rect.height() >= 3.0 && rect.width() >= 3.0,
        Highlight::Selected | Highlight::Hovered => true,
    }
}

/// The outline of a state.
pub(in crate::views) fn mark(painter: &Painter, ctx: &ViewCtx<'_>, rect: Rect, highlight: Highlight) {
    let state = match highlight {
        Highlight::None => return,
        Highlight::Related => Outline::Related,
        Highlight::Selected => Outline::Selected,
        Highlight::Hovered => Outline::Hovered,
    };
    outline(painter, ctx.tokens, rect, state);
}

/// The visible buffers with their rows; at most [`MAX_BARS`], then the longest.
fn visible(ctx: &ViewCtx<'_>, rows: &Rows, chart: &Chart, order: RowOrder) -> Vec<(BufferId, u32)> {
    let model = &ctx.planned.model;
    let steps = chart.visible_steps();
    let indices = rows.visible_indices();
    if indices.len() <= MAX_BARS {
        let slice = model.order(order).get(indices.clone()).unwrap_or_default();
        let lives = |&(buffer, _): &(BufferId, u32)| ctx.planned.prepared.problem.buffer(buffer).lifetime.overlaps(steps);
        let first = u32::try_from(indices.start).unwrap_or(u32::MAX);
        return slice.iter().copied().zip(first..).filter(lives).collect();
    }
    let mut bars = Vec::with_capacity(MAX_BARS);
    model.after.visit(steps, 0, u64::MAX, |rect| {
        if let Some(buffer) = rect.buffer {
            bars.push((buffer, model.row(order, buffer)));
        }
        if bars.len() < MAX_BARS { std::ops::ControlFlow::Continue(()) } else { std::ops::ControlFlow::Break(()) }
    });
    bars
}

fn stripes(ctx: &ViewCtx<'_>, chart: &Chart, rows: &Rows) {
    if rows.height < LABEL_FROM {
        return;
    }
    let indices = rows.visible_indices();
    for row in indices.filter(|row| row % 2 == 1) {
        let centre = rows.centre(u32::try_from(row).unwrap_or(u32::MAX));
        let stripe = Rect::from_x_y_ranges(chart.plot.x_range(), centre - rows.height / 2.0..=centre + rows.height / 2.0);
        chart.painter.rect_filled(stripe, 0.0, ctx.tokens.stripe.gamma_multiply(0.7));
    }
}

fn labels(ui: &Ui, ctx: &ViewCtx<'_>, chart: &Chart, rows: &Rows, bars: &[Bar]) {
    let t = ctx.tokens;
    let mut sizes: Vec<u64> = bars.iter().map(|bar| ctx.planned.prepared.problem.buffer(bar.buffer).bytes).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let large = sizes.get(SIZES - 1).copied().unwrap_or(0);
    let every = if rows.height < 16.0 { 2 } else { 1 };
    for bar in bars {
        let strong = bar.highlight >= Highlight::Selected;
        let colour = if strong { t.text } else { t.text3 };
        let font = if strong { t.tick_strong() } else { t.tick() };
        if bar.row % every == 0 || strong {
            let at = pos2(chart.plot.left() - 8.0, bar.rect.center().y);
            ui.painter_at(chart.rect).text(at, Align2::RIGHT_CENTER, format!("#{}", bar.buffer.0), font.clone(), colour);
        }
        let bytes = ctx.planned.prepared.problem.buffer(bar.buffer).bytes;
        let name = text::middle_cut(&ctx.planned.model.short[bar.buffer.index()], LABEL_LENGTH);
        let label = if bytes >= large { format!("{name}  {}", text::bytes(bytes)) } else { name };
        let colour = if strong { t.text } else { t.text2 };
        place_label(ctx, chart, bar, label, font, colour);
    }
}

/// Right of the bar, else left of it, else inside.
fn place_label(ctx: &ViewCtx<'_>, chart: &Chart, bar: &Bar, label: String, font: egui::FontId, colour: egui::Color32) {
    let fill = ctx.colours.of(bar.buffer);
    let bar = bar.rect;
    let galley = chart.painter.layout_no_wrap(label, font, colour);
    let (width, height) = (galley.size().x, galley.size().y);
    let y = bar.center().y - height / 2.0;
    if bar.right() + 7.0 + width < chart.plot.right() {
        chart.painter.galley(pos2(bar.right().max(chart.plot.left() - 3.0) + 7.0, y), galley, colour);
    } else if bar.left() - 7.0 - width > chart.plot.left() {
        chart.painter.galley(pos2(bar.left() - 7.0 - width, y), galley, colour);
    } else if bar.height() >= height && bar.intersect(chart.plot).width() > width + 12.0 {
        let ink = ctx.tokens.ink(fill);
        chart.painter.galley_with_override_text_color(pos2(bar.left().max(chart.plot.left()) + 6.0, y), galley, ink);
    }
}
