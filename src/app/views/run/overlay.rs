//! The overlay: planned memory as an area, measured memory as steps over it, the band that granules explain, the
//! baseline as a bar at the left.

use arenascope_gpu::protocol::RegimeReport;
use arenascope_gpu::regimes::Regime;
use egui::{Align2, Color32, Mesh, Painter, Rect, Sense, Shape, Stroke, Ui, pos2, vec2};

use super::frame::{RunCtx, byte_axis, curve_path, cut_text, fill_below, step_chart, step_pointer, strip, tip};
use super::recording::{Kinship, Recording, RegimeCurves};
use super::words::{milliseconds, regime_name, signed_bytes, verdict, waits_name};
use crate::axis::{Range, Scale};
use crate::draw::{Hatch, Notice, Pixels, dashed_runs, hatch, icon_button, notice, polyline, tag};
use crate::text;
use crate::theme::{Icon, Tokens, alpha, stroke};
use crate::views::Pane;
use crate::views::chart::{Chart, step_value};

/// Room above the highest line.
const HEADROOM: f64 = 1.14;
/// The baseline bar inside the gutter: its left edge and its width.
const BAR: [f32; 2] = [12.0, 42.0];
/// Part of the height that a baseline bar which is too tall takes.
const BROKEN_BAR: f32 = 0.86;
/// Height of a tag and the space around it.
const TAG: f32 = 19.0;
/// Room that the title and the facts keep beside the legend.
const LEGEND_FROM: f32 = 640.0;

/// What is drawn besides the planned area.
pub(super) struct Lines<'a> {
    /// The regime that is looked at.
    pub(super) regime: Regime,
    /// Others whose measured line stands beside it.
    pub(super) beside: &'a [Regime],
    /// Another run, of which the same regime is drawn.
    pub(super) against: Option<&'a Recording>,
}

/// Draws the strip and the chart, `height` points in all.
pub(super) fn overlay_ui(ui: &mut Ui, ctx: &RunCtx<'_>, recording: &Recording, lines: &Lines<'_>, height: f32) {
    let Some((report, curves)) = recording.regime(lines.regime) else { return };
    let t = ctx.tokens;
    strip(ui, t, "Planned and measured", &facts(recording, lines.regime), |ui| {
        help(ui, t);
        legend(ui, t);
    });
    let chart = step_chart(ui, ctx, "run", (height - crate::theme::space::PANEL_HEADER).max(30.0));
    let y = scale(recording, curves, lines, &chart);
    byte_axis(ui, t, &chart, &y);
    baseline_bar(ui, t, recording, &chart, &y);
    fill_below(&chart, &curves.predicted, &y, alpha(t.naive, 0.22));
    band(&chart, curves, &y, alpha(t.measured, 0.22));
    if let Some(live) = &recording.live {
        fill_below(&chart, live, &y, t.live_area());
        polyline(&chart.painter, curve_path(&chart, live, &y), stroke::CURVE, t.live);
    }
    polyline(&chart.painter, curve_path(&chart, &curves.predicted, &y), stroke::HAIR, t.naive);
    let mut tags = Vec::new();
    for (index, &other) in lines.beside.iter().enumerate().filter(|(_, other)| **other != lines.regime) {
        if let Some((other_report, other_curves)) = recording.regime(other) {
            let colour = if other == Regime::Arena { t.arena } else { t.slot(index + 1) };
            polyline(&chart.painter, curve_path(&chart, &other_curves.measured, &y), stroke::CURVE, colour);
            tags.push((
                other_report.measured_peak_bytes,
                colour,
                format!("{} {}", regime_name(other), text::bytes(other_report.measured_peak_bytes)),
            ));
        }
    }
    if let Some((other_report, other_curves)) = lines.against.and_then(|other| other.regime(lines.regime)) {
        let path = curve_path(&chart, &other_curves.measured, &y);
        dashed_runs(&chart.painter, &path, stroke::STRONG * t.line_scale, t.info, stroke::DASH_GUIDE);
        let name = lines.against.map_or("", |other| other.name.as_str());
        tags.push((
            other_report.measured_peak_bytes,
            t.info,
            format!("{}: {}", text::middle_cut(name, 24), text::bytes(other_report.measured_peak_bytes)),
        ));
    }
    polyline(&chart.painter, curve_path(&chart, &curves.measured, &y), stroke::STRONG * t.line_scale, t.measured);
    let words = format!("measured {}, planned {}", text::bytes(report.measured_peak_bytes), text::bytes(report.predicted_peak_bytes));
    tags.push((report.measured_peak_bytes, t.measured, words));
    paint_tags(t, &chart, &y, tags);
    cursor(ctx, recording, curves, &chart, &y);
    step_pointer(ui, ctx, &chart, recording, |ui, index| tell(ui, t, recording, report, curves, index));
    let label = format!(
        "Run chart: {}, planned {}, measured {}, {}",
        regime_name(lines.regime),
        text::bytes(report.predicted_peak_bytes),
        text::bytes(report.measured_peak_bytes),
        report.difference.why
    );
    chart.response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Canvas, true, &label));
}

/// What stands in place of the chart when no regime ran.
pub(super) fn nothing_ran(ui: &mut Ui, ctx: &RunCtx<'_>, recording: &Recording) {
    let words = verdict(&recording.record);
    let area = ui.available_rect_before_wrap();
    let failed = words.tone == crate::draw::Tone::Err;
    let icon = if failed { Icon::WARNING_OCTAGON } else { words.icon };
    notice(ui, ctx.tokens, area, &Notice { icon, failed, title: &words.title, detail: &words.detail, actions: &[] });
}

fn facts(recording: &Recording, regime: Regime) -> String {
    let scale = recording.record.scale;
    let scaled = if scale > 1 { format!(" · all sizes × {}", text::count(scale)) } else { String::new() };
    let streams = match recording.record.options.streams {
        0 | 1 => String::new(),
        n => format!(" · {n} streams, {} waits", waits_name(recording.record.options.waits)),
    };
    let simulated = if recording.is_simulated() { " · simulated" } else { "" };
    format!("{}, first iteration{streams}{scaled}{simulated} · {}", regime_name(regime), recording.name)
}

/// The words beside a recording that is not of the plan that is shown.
pub(super) fn kinship_words(kinship: Kinship, recording: &Recording) -> Option<String> {
    match kinship {
        Kinship::SamePlan => None,
        Kinship::SameSteps => Some(format!(
            "of another plan of this file: its arena is {}. Steps are linked, planned memory is that of the run.",
            text::bytes(recording.record.arena_bytes / recording.record.scale.max(1))
        )),
        Kinship::Stranger => Some(format!("of {}, which is not the file that is open: its steps are not linked.", recording.record.file)),
    }
}

/// What the chart shows, behind a question mark.
fn help(ui: &mut Ui, t: &'static Tokens) {
    let button = icon_button(ui, t, Icon::QUESTION, "Help: Run");
    egui::Popup::menu(&button).show(|ui| {
        ui.set_max_width(320.0);
        ui.label(egui::RichText::new(Pane::Run.title()).font(t.body_strong()));
        ui.label(egui::RichText::new(Pane::Run.help()).font(t.body()).color(t.text2));
    });
}

fn legend(ui: &mut Ui, t: &'static Tokens) {
    if ui.available_width() < LEGEND_FROM {
        return;
    }
    // From right to left.
    for (name, colour, is_line) in [
        ("live bytes", t.live, true),
        ("explained by granules", alpha(t.measured, 0.4), false),
        ("measured", t.measured, true),
        ("planned", alpha(t.naive, 0.45), false),
    ] {
        let galley = ui.painter().layout_no_wrap(name.to_owned(), t.tick(), t.text2);
        let (rect, _) = ui.allocate_exact_size(vec2(galley.size().x + 20.0, 18.0), Sense::hover());
        let mark = Rect::from_center_size(pos2(rect.left() + 6.0, rect.center().y), vec2(12.0, if is_line { 3.0 } else { 10.0 }));
        ui.painter().rect_filled(mark, 0.0, colour);
        ui.painter().galley(pos2(rect.left() + 17.0, rect.center().y - galley.size().y / 2.0), galley, t.text2);
    }
}

fn scale(recording: &Recording, curves: &RegimeCurves, lines: &Lines<'_>, chart: &Chart) -> Scale {
    let mut top = curves.predicted.max().0.max(curves.measured.max().0);
    // A band that is taller than the data would hide it.
    top = top.max(curves.band_high.max().0.min(top.saturating_mul(2)));
    let beside = lines.beside.iter().filter_map(|&regime| recording.regime(regime)).map(|(_, curves)| curves.measured.max().0);
    let against = lines.against.and_then(|other| other.regime(lines.regime)).map(|(_, curves)| curves.measured.max().0);
    top = beside.chain(against).fold(top, u64::max).max(1);
    Scale::new(Range::new(0.0, step_value(top) * HEADROOM), chart.plot.bottom(), chart.plot.top())
}

fn band(chart: &Chart, curves: &RegimeCurves, y: &Scale, colour: Color32) {
    let range = chart.x.range();
    let n = chart.n_columns();
    let mut mesh = Mesh::default();
    // Both edges change at the same steps, so their spans are the same.
    for (low, high) in curves.band_low.spans(range.start, range.end, n).into_iter().zip(curves.band_high.spans(range.start, range.end, n)) {
        let x = chart.x.pixel(high.start)..=chart.x.pixel(high.end);
        mesh.add_colored_rect(Rect::from_x_y_ranges(x, y.pixel(step_value(high.high))..=y.pixel(step_value(low.low))), colour);
    }
    chart.painter.add(Shape::mesh(mesh));
}

/// What the process took before any regime, on the same scale; broken where it would leave the chart.
fn baseline_bar(ui: &Ui, t: &'static Tokens, recording: &Recording, chart: &Chart, y: &Scale) {
    let record = &recording.record;
    if record.device.is_none() || chart.rect.height() < 60.0 {
        return;
    }
    let painter = ui.painter_at(chart.rect);
    let pixels = Pixels::of(&painter);
    let [left, width] = BAR;
    let x = chart.rect.left() + left..=chart.rect.left() + left + width;
    let empty = record.empty.map(|empty| empty.used_bytes);
    let bytes = record.own_bytes.saturating_add(empty.unwrap_or(0));
    let whole = y.pixel(step_value(bytes));
    let highest = (chart.plot.bottom() - chart.plot.height() * BROKEN_BAR).max(chart.plot.top() + 34.0);
    let is_broken = whole < highest;
    let top = whole.max(highest).min(chart.plot.bottom() - 1.0);
    let bar = pixels.snap(Rect::from_x_y_ranges(x, top..=chart.plot.bottom()));
    let mut mesh = Mesh::default();
    mesh.add_colored_rect(bar, t.bg3);
    hatch(&mut mesh, bar, t.text3, Hatch::HOLE);
    if let Some(empty) = empty {
        let band = empty_band(bar, empty, bytes);
        mesh.add_colored_rect(band, t.disabled);
    }
    painter.add(Shape::mesh(mesh));
    if let Some(band) = empty.map(|empty| empty_band(bar, empty, bytes)) {
        painter.hline(band.x_range(), pixels.centre(band.top()), Stroke::new(pixels.one(), t.line2));
        let lines = t.size.tick + 2.0;
        if band.height() > 2.0 * lines + 4.0 {
            for (word, dy) in [("empty", -0.5), ("context", 0.5)] {
                let at = pos2(band.center().x, band.center().y + dy * lines);
                cut_text(&painter, at, Align2::CENTER_CENTER, band.width() + 6.0, (word, t.tick(), t.text));
            }
        }
    }
    painter.rect_stroke(bar, 0.0, Stroke::new(pixels.one(), t.line2), egui::StrokeKind::Inside);
    if is_broken {
        break_mark(&painter, t, bar);
    }
    let above = pos2(bar.center().x, bar.top() - 3.0);
    cut_text(&painter, above, Align2::CENTER_BOTTOM, 72.0, (&text::bytes(bytes), t.tick_strong(), t.text));
    cut_text(&painter, above - vec2(0.0, t.size.tick + 3.0), Align2::CENTER_BOTTOM, 72.0, ("baseline", t.tick(), t.text3));
    painter.vline(pixels.centre(bar.right() + 12.0), chart.rect.y_range(), Stroke::new(pixels.one(), t.line));
    let response = ui.interact(bar.expand2(vec2(6.0, 0.0)).with_min_y(bar.top() - 34.0), chart.response.id.with("baseline"), Sense::hover());
    let spoken = match empty {
        Some(empty) => format!("baseline {}, of which empty context {}", text::bytes(bytes), text::bytes(empty)),
        None => format!("baseline {}", text::bytes(bytes)),
    };
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, &spoken));
    response.on_hover_ui(|ui| {
        ui.set_max_width(300.0);
        let words = "In use before any way of getting memory begins, and no part of the curves: context, kernels, tables, static memory.";
        ui.label(egui::RichText::new(words).font(t.body()).color(t.text2));
        tip(ui, t, "in all", &text::exact_bytes(bytes), t.text);
        if let Some(empty) = empty {
            tip(ui, t, "empty context", &text::exact_bytes(empty), t.text);
            tip(ui, t, "taken by the run", &text::exact_bytes(record.own_bytes), t.text);
        }
        tip(ui, t, "static memory", &text::exact_bytes(record.static_bytes), t.text);
    });
}

/// The part of the baseline that is there with a context and nothing else: in proportion, also in a broken bar.
fn empty_band(bar: Rect, empty: u64, bytes: u64) -> Rect {
    #[expect(clippy::cast_possible_truncation, reason = "a share of a height")]
    let part = (step_value(empty) / step_value(bytes.max(1))).min(1.0) as f32;
    bar.with_min_y(bar.bottom() - bar.height() * part)
}

fn break_mark(painter: &Painter, t: &Tokens, bar: Rect) {
    let y = bar.top() + 16.0;
    let (left, right) = (bar.left() - 4.0, bar.right() + 4.0);
    painter.line(vec![pos2(left, y), pos2(right, y - 6.0)], Stroke::new(5.0, t.chart));
    for dy in [-2.5, 2.5] {
        painter.line(vec![pos2(left, y + dy), pos2(right, y - 6.0 + dy)], Stroke::new(1.0, t.text3));
    }
}

fn paint_tags(t: &'static Tokens, chart: &Chart, y: &Scale, tags: Vec<(u64, Color32, String)>) {
    if chart.plot.height() < 70.0 {
        return;
    }
    let mut centres: Vec<f32> = tags.iter().map(|(bytes, ..)| y.pixel(step_value(*bytes)) - TAG * 0.6).collect();
    super::frame::spread(&mut centres, TAG, chart.plot.top() + 2.0, chart.plot.bottom());
    for ((_, colour, words), centre) in tags.into_iter().zip(centres) {
        tag(&chart.painter, t, pos2(chart.plot.right() - 4.0, centre), Align2::RIGHT_CENTER, colour, &words);
    }
}

/// Dots at the step that is hovered or selected anywhere.
fn cursor(ctx: &RunCtx<'_>, recording: &Recording, curves: &RegimeCurves, chart: &Chart, y: &Scale) {
    let Some(step) = ctx.step_in_hand().filter(|&step| recording.index_of(step).is_some()) else { return };
    let t = ctx.tokens;
    let x = chart.x.pixel(step_value(step) + 0.5);
    for (curve, colour) in [(Some(&curves.measured), t.measured), (recording.live.as_ref(), t.live)] {
        if let Some(curve) = curve {
            let at = pos2(x, y.pixel(step_value(curve.at(step))));
            chart.painter.circle_filled(at, 3.5, colour);
            chart.painter.circle_stroke(at, 3.5, Stroke::new(1.0, t.select));
        }
    }
}

fn tell(ui: &mut Ui, t: &'static Tokens, recording: &Recording, report: &RegimeReport, curves: &RegimeCurves, index: usize) {
    let at = |values: &[u64]| values.get(index).map_or_else(|| text::NONE.to_owned(), |&bytes| text::bytes(bytes));
    tip(ui, t, "live", &at(&recording.record.live_curve), t.text);
    tip(ui, t, "planned", &at(&report.predicted_curve), t.text);
    tip(ui, t, "measured", &at(&report.measured_curve), t.measured);
    if let Some(parts) = curves.parts.get(index) {
        tip(ui, t, "difference", &signed_bytes(parts.total), t.text);
        for (name, bytes) in [("  kept by pool or allocator", parts.kept), ("  granules", parts.granularity), ("  other programs", parts.others)] {
            if bytes != 0 {
                tip(ui, t, name, &signed_bytes(bytes), t.text2);
            }
        }
        if parts.unexplained != 0 {
            tip(ui, t, "  unexplained", &signed_bytes(parts.unexplained), t.err);
        }
    }
    if let Some(&ms) = report.step_ms.get(index) {
        tip(ui, t, "took", &milliseconds(ms), t.text);
    }
}
