//! Below the overlay: measured minus planned with the band that is explained, and the time of every step.

use arenascope_gpu::regimes::Regime;
use egui::{Align2, Mesh, Rect, Shape, Stroke, Ui, pos2};

use super::frame::{RunCtx, step_chart, step_pointer, strip, tip};
use super::recording::{Recording, SignedSpan};
use super::words::{milliseconds, signed_bytes};
use crate::axis::{Range, Scale};
use crate::draw::{Pixels, Tone, badge, polyline, text_backed};
use crate::text;
use crate::theme::{Icon, Tokens, alpha, stroke};
use crate::views::chart::{Chart, step_value};

/// A band beyond this many times the largest difference is cut, so that the difference stays visible.
const TALLEST_BAND: f64 = 4.0;

/// Measured minus planned.
pub(super) fn residual_ui(ui: &mut Ui, ctx: &RunCtx<'_>, recording: &Recording, regime: Regime, height: f32, controls: impl FnOnce(&mut Ui)) {
    let Some((_, curves)) = recording.regime(regime) else { return };
    let t = ctx.tokens;
    let n_steps = curves.parts.len() as u64;
    let (worst, _) = curves.unexplained.max();
    strip(ui, t, "Residual", "measured − planned, over what granules and pools explain", |ui| {
        controls(ui);
        if curves.n_unexplained == 0 {
            badge(ui, t, Tone::Ok, Icon::CHECK, &format!("explained at {} of {}", text::count(n_steps), text::counted(n_steps, "step", "steps")));
        } else {
            let at = text::counted(curves.n_unexplained, "step", "steps");
            badge(ui, t, Tone::Err, Icon::WARNING_CIRCLE, &format!("unexplained at {at}, up to {}", text::bytes(worst)));
        }
    });
    let chart = step_chart(ui, ctx, "run-residual", height);
    let (least, most) = curves.residual.extremes();
    let y = residual_scale(&chart, (least, most), curves.residual_band[1].extremes().1);
    signed_axis(ui, t, &chart, &y);
    let range = chart.x.range();
    let n = chart.n_columns();
    let [low, high] = curves.residual_band.each_ref().map(|edge| edge.spans(range.start, range.end, n));
    let mut mesh = Mesh::default();
    for (low, high) in low.iter().zip(&high) {
        mesh.add_colored_rect(column(&chart, &y, high, (low.low, high.high)), alpha(t.measured, 0.22));
    }
    let line = curves.residual.spans(range.start, range.end, n);
    // What lies outside of the band has no reason, and is red.
    for (span, (low, high)) in line.iter().zip(low.iter().zip(&high)).filter(|_| curves.n_unexplained > 0 && line.len() == low.len()) {
        if span.high > high.low {
            mesh.add_colored_rect(column(&chart, &y, span, (high.low, span.high)), alpha(t.err, 0.7));
        }
        if span.low < low.high {
            mesh.add_colored_rect(column(&chart, &y, span, (span.low, low.high)), alpha(t.err, 0.7));
        }
    }
    chart.painter.add(Shape::mesh(mesh));
    let pixels = Pixels::of(&chart.painter);
    chart.painter.hline(chart.plot.x_range(), pixels.centre(y.pixel(0.0)), Stroke::new(pixels.one(), t.text3));
    let corners = |span: &SignedSpan| {
        let (left, right) = (chart.x.pixel(span.start), chart.x.pixel(span.end));
        [pos2(left, y.pixel(real(span.high))), pos2(f32::midpoint(left, right), y.pixel(real(span.low))), pos2(right, y.pixel(real(span.high)))]
    };
    polyline(&chart.painter, line.iter().flat_map(corners).collect(), stroke::STRONG * t.line_scale, t.measured);
    step_pointer(ui, ctx, &chart, recording, |ui, index| {
        if let Some(parts) = curves.parts.get(index) {
            tip(ui, t, "measured − planned", &signed_bytes(parts.total), t.text);
            tip(ui, t, "granules", &signed_bytes(parts.granularity), t.text2);
            tip(ui, t, "kept by pool or allocator", &signed_bytes(parts.kept), t.text2);
            tip(ui, t, "other programs", &signed_bytes(parts.others), t.text2);
            tip(ui, t, "unexplained", &signed_bytes(parts.unexplained), if parts.unexplained == 0 { t.ok } else { t.err });
        }
        if let Some(empty) = recording.record.empty {
            tip(ui, t, "below both: empty context", &text::bytes(empty.used_bytes), t.text3);
        }
    });
    let label = format!(
        "Residual chart: from {} to {}, unexplained at {}",
        signed_bytes(least),
        signed_bytes(most),
        text::counted(curves.n_unexplained, "step", "steps")
    );
    chart.response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Canvas, true, &label));
}

fn real(bytes: i64) -> f64 {
    if bytes < 0 { -step_value(bytes.unsigned_abs()) } else { step_value(bytes.unsigned_abs()) }
}

fn residual_scale(chart: &Chart, (least, most): (i64, i64), band: i64) -> Scale {
    let tallest = real(most.max(least.saturating_abs())).max(1.0);
    let top = real(most).max(real(band).min(tallest * TALLEST_BAND)).max(real(band).min(4096.0)).max(1.0);
    let bottom = real(least.min(0)).min(-top * 0.12);
    let room = (top - bottom) * 0.1;
    Scale::new(Range::new(bottom - room, top + room), chart.plot.bottom(), chart.plot.top())
}

fn column(chart: &Chart, y: &Scale, span: &SignedSpan, (low, high): (i64, i64)) -> Rect {
    Rect::from_x_y_ranges(chart.x.pixel(span.start)..=chart.x.pixel(span.end), y.pixel(real(high))..=y.pixel(real(low)))
}

/// Zero, and one round value on each side that has room.
fn signed_axis(ui: &Ui, t: &Tokens, chart: &Chart, y: &Scale) {
    let outside = ui.painter_at(chart.rect);
    let pixels = Pixels::of(&chart.painter);
    let Range { start, end } = y.range();
    let step = text::byte_step(crate::views::chart::to_whole(end - start), 3).max(1);
    let at = |bytes: i64| {
        let place = y.pixel(real(bytes));
        if place > chart.rect.top() + 6.0 && place < chart.rect.bottom() - 6.0 {
            chart.painter.hline(chart.plot.x_range(), pixels.centre(place), Stroke::new(pixels.one(), t.grid));
            let words = if bytes == 0 { "0".to_owned() } else { signed_bytes(bytes) };
            outside.text(pos2(chart.plot.left() - 8.0, place), Align2::RIGHT_CENTER, words, t.tick(), t.text3);
        }
    };
    let step = i64::try_from(step).unwrap_or(i64::MAX);
    for n in -4..=4_i64 {
        at(step.saturating_mul(n));
    }
}

/// The time of every step of the traced iteration.
pub(super) fn step_times_ui(ui: &mut Ui, ctx: &RunCtx<'_>, recording: &Recording, regime: Regime, height: f32, controls: impl FnOnce(&mut Ui)) {
    let Some((report, curves)) = recording.regime(regime) else { return };
    let Some(times) = &curves.step_ns else { return };
    let t = ctx.tokens;
    let (most, slowest) = times.max();
    let total: f64 = report.step_ms.iter().sum();
    let op = recording.index_of(slowest).and_then(|index| recording.record.ops.get(index)).map_or("", String::as_str);
    let facts = format!("{} in all · slowest: step {} {}", milliseconds(total), text::count(slowest), text::middle_cut(op, 48));
    strip(ui, t, "Step times", &facts, controls);
    let chart = step_chart(ui, ctx, "run-times", height);
    let y = Scale::new(Range::new(0.0, step_value(most.max(1)) * 1.12), chart.plot.bottom(), chart.plot.top());
    let outside = ui.painter_at(chart.rect);
    let pixels = Pixels::of(&chart.painter);
    for part in [0.5, 1.0] {
        let ns = step_value(most) * part;
        let place = y.pixel(ns);
        chart.painter.hline(chart.plot.x_range(), pixels.centre(place), Stroke::new(pixels.one(), t.grid));
        outside.text(pos2(chart.plot.left() - 8.0, place), Align2::RIGHT_CENTER, milliseconds(ns / 1e6), t.tick(), t.text3);
    }
    let range = chart.x.range();
    let mut mesh = Mesh::default();
    for span in times.spans(range.start, range.end, chart.n_columns()) {
        let (left, right) = (chart.x.pixel(span.start), chart.x.pixel(span.end));
        let gap = if right - left > 4.0 { 1.0 } else { 0.0 };
        mesh.add_colored_rect(Rect::from_x_y_ranges(left..=right - gap, y.pixel(step_value(span.high))..=chart.plot.bottom()), t.info);
    }
    chart.painter.add(Shape::mesh(mesh));
    if height > 40.0 {
        let at = pos2(chart.plot.right() - 4.0, chart.plot.top() + 9.0);
        text_backed(&chart.painter, t, at, Align2::RIGHT_CENTER, "first iteration, waited for after every step", t.text3);
    }
    step_pointer(ui, ctx, &chart, recording, |ui, index| {
        if let Some(&ms) = report.step_ms.get(index) {
            tip(ui, t, "took", &milliseconds(ms), t.text);
        }
    });
    let label = format!("Step times chart: slowest step {slowest}, {}", milliseconds(step_value(most) / 1e6));
    chart.response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Canvas, true, &label));
}
