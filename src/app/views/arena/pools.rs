//! Several pools in the Arena view: lanes one above the other, each with its own zero, its name and its capacity.

use egui::{Align2, Color32, Rect, Stroke, Ui, pos2};

use crate::axis::Scale;
use crate::ctx::ViewCtx;
use crate::draw::{Pixels, tag};
use crate::lanes::Lane;
use crate::text;
use crate::theme::stroke;
use crate::views::chart::{Chart, step_value, to_whole};

/// Distance between two numbers in the gutter, points.
const TICKS: f32 = 28.0;
/// Two numbers nearer than this would touch.
const CLEAR: f32 = 13.0;

/// The grid of every lane, and the ground between two lanes.
pub(super) fn grid(ui: &Ui, ctx: &ViewCtx<'_>, chart: &Chart, y: &Scale) {
    let t = ctx.tokens;
    let pixels = Pixels::of(&chart.painter);
    let lanes = ctx.planned.model.lanes.lanes();
    for pair in lanes.windows(2) {
        let between = Rect::from_x_y_ranges(chart.plot.x_range(), y.pixel(step_value(pair[1].begin))..=y.pixel(step_value(pair[0].end)));
        chart.painter.rect_filled(between, 0.0, t.bg2);
        for edge in [between.top(), between.bottom()] {
            chart.painter.hline(chart.plot.x_range(), pixels.centre(edge), Stroke::new(pixels.one(), t.line));
        }
    }
    let mut last_label = f32::INFINITY;
    for lane in lanes {
        for (place, label) in ticks(lane, y) {
            let at = pixels.centre(y.pixel(step_value(place)));
            if !chart.plot.y_range().contains(at) {
                continue;
            }
            chart.painter.hline(chart.plot.x_range(), at, Stroke::new(pixels.one(), t.grid));
            if last_label - at >= CLEAR {
                chart.gutter_label(ui, ctx, at, &label);
                last_label = at;
            }
        }
    }
}

/// The ticks of a lane from its zero up: where they stand, and the byte of the pool that they mark.
fn ticks(lane: &Lane, y: &Scale) -> Vec<(u64, String)> {
    let range = y.range();
    let (low, high) = (to_whole(range.start.floor()).max(lane.begin), to_whole(range.end.ceil()).min(lane.end));
    if low >= high {
        return Vec::new();
    }
    let height = y.pixel(step_value(low)) - y.pixel(step_value(high));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a plot is a few thousand points high")]
    let most = (height / TICKS).clamp(2.0, 24.0) as usize;
    let ticks = text::byte_ticks(low - lane.begin, high - lane.begin, most);
    ticks.into_iter().map(|tick| (lane.begin + tick.bytes, tick.label)).collect()
}

/// What every pool holds and can hold, as lines with tags; the lines first, so that none crosses a tag.
pub(super) fn limits(ctx: &ViewCtx<'_>, chart: &Chart, y: &Scale) {
    let t = ctx.tokens;
    let pixels = Pixels::of(&chart.painter);
    let mut lines: Vec<(u64, f32, Color32, String)> = Vec::new();
    for lane in ctx.planned.model.lanes.lanes() {
        let capacity = lane.drawn_capacity();
        let is_full = capacity == Some(lane.pool.arena_bytes);
        let colour = if is_full { t.capacity } else { t.arena };
        lines.push((lane.begin.saturating_add(lane.pool.arena_bytes), stroke::CURVE, colour, held(lane)));
        if let Some(capacity) = capacity.filter(|_| !is_full) {
            lines.push((lane.begin.saturating_add(capacity), stroke::STRONG, t.capacity, format!("capacity of {}", lane.pool.name)));
        }
    }
    lines.retain(|(place, ..)| chart.plot.y_range().contains(y.pixel(step_value(*place))));
    let at = |place: u64| pixels.centre(y.pixel(step_value(place)));
    for &(place, width, colour, _) in &lines {
        chart.painter.hline(chart.plot.x_range(), at(place), Stroke::new(width, colour));
    }
    let mut taken: Vec<Rect> = Vec::new();
    for (place, _, colour, words) in lines {
        // A tag that would lie on another one stands to its left.
        let near = taken.iter().filter(|other| (other.center().y - at(place)).abs() < other.height() + 2.0).map(|other| other.left());
        let right = near.fold(chart.plot.right() - 4.0, |right, left| right.min(left - 6.0));
        taken.push(tag(&chart.painter, t, pos2(right, at(place)), Align2::RIGHT_CENTER, colour, &words));
    }
}

/// `SRAM 96.0 KiB of 128 KiB`.
fn held(lane: &Lane) -> String {
    let pool = &lane.pool;
    let held = if pool.buffers == 0 { "empty".to_owned() } else { text::bytes(pool.arena_bytes) };
    let of = pool.capacity_bytes.map_or_else(String::new, |capacity| format!(" of {}", text::bytes(capacity)));
    format!("{} {held}{of}", pool.name)
}
