//! The measured curve inside the arena: bytes that no longer hold poison, and the highest of them.

use egui::{Align2, Ui, pos2};

use super::frame::{RunCtx, byte_axis, curve_path, fill_below, step_chart, step_pointer, strip, tip};
use super::recording::Recording;
use crate::axis::{Range, Scale};
use crate::draw::{Tone, badge, dashed_runs, polyline, tag};
use crate::text;
use crate::theme::{Icon, alpha, stroke};
use crate::views::chart::step_value;

/// Draws the curve over the steps.
pub(super) fn footprint_ui(ui: &mut Ui, ctx: &RunCtx<'_>, recording: &Recording) {
    let Some(curves) = &recording.footprint else { return };
    let t = ctx.tokens;
    let n = recording.record.footprint.len() as u64;
    strip(ui, t, "Inside the arena", "bytes written so far, and the top of them: as the device counts them, over what the plan says", |ui| {
        if curves.n_equal == n {
            badge(ui, t, Tone::Ok, Icon::CHECK, &format!("as planned at {} of {}", text::count(n), text::counted(n, "step", "steps")));
        } else {
            badge(ui, t, Tone::Err, Icon::WARNING_CIRCLE, &format!("not as planned at {}", text::counted(n - curves.n_equal, "step", "steps")));
        }
    });
    let chart = step_chart(ui, ctx, "run-footprint", ui.available_height().max(20.0));
    let arena = recording.record.arena_bytes;
    let most = curves.top.max().0.max(curves.predicted_top.max().0).max(arena).max(1);
    let y = Scale::new(Range::new(0.0, step_value(most) * 1.12), chart.plot.bottom(), chart.plot.top());
    byte_axis(ui, t, &chart, &y);
    fill_below(&chart, &curves.predicted_touched, &y, alpha(t.naive, 0.22));
    dashed_runs(&chart.painter, &curve_path(&chart, &curves.predicted_top, &y), stroke::CURVE, t.naive, stroke::DASH_GUIDE);
    polyline(&chart.painter, curve_path(&chart, &curves.touched, &y), stroke::STRONG * t.line_scale, t.measured);
    polyline(&chart.painter, curve_path(&chart, &curves.top, &y), stroke::CURVE * t.line_scale, t.info);
    let right = chart.plot.right() - 4.0;
    let place = |bytes: u64| y.pixel(step_value(bytes));
    if chart.plot.height() > 60.0 {
        let written = format!("written {}", text::bytes(curves.touched.max().0));
        tag(&chart.painter, t, pos2(right, place(curves.touched.max().0) + 14.0), Align2::RIGHT_CENTER, t.measured, &written);
        let top = format!("top {}", text::bytes(curves.top.max().0));
        let at = pos2(chart.plot.left() + chart.plot.width() * 0.55, place(curves.top.max().0) - 2.0);
        tag(&chart.painter, t, at, Align2::LEFT_BOTTOM, t.info, &top);
    }
    step_pointer(ui, ctx, &chart, recording, |ui, index| {
        if let Some(step) = recording.record.footprint.get(index) {
            tip(ui, t, "written", &text::bytes(step.touched_bytes), t.measured);
            tip(ui, t, "planned", &text::bytes(step.predicted_touched_bytes), t.text);
            tip(ui, t, "top", &text::bytes(step.top_bytes), t.info);
            tip(ui, t, "planned", &text::bytes(step.predicted_top_bytes), t.text);
        }
    });
    let label = format!("Footprint chart: {} of {} written in the end", text::bytes(curves.touched.max().0), text::bytes(arena));
    chart.response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Canvas, true, &label));
}
