//! The table of regimes: planned, measured, why they differ, allocator calls, time, unused memory.

use arenascope_gpu::protocol::{RegimeReport, RegimeStatus};
use arenascope_gpu::regimes::Regime;
use egui::{Align2, Color32, FontId, Painter, Rect, RichText, ScrollArea, Sense, Stroke, Ui, pos2, vec2};

use super::frame::{RunCtx, cut_text};
use super::recording::Recording;
use super::words::{capital, milliseconds, regime_help, regime_name, signed_bytes};
use crate::draw::{chosen_edge, paint_icon, row_ground};
use crate::text;
use crate::theme::{Icon, Tokens, space};

/// Shares above this are ordinary waste of an allocator and stand out.
const UNUSED_WARNS_FROM: f64 = 0.2;

/// Right edges of the numbers, left edges of the texts.
pub(super) struct Columns {
    eye: f32,
    name: f32,
    planned: f32,
    measured: f32,
    difference: f32,
    why: f32,
    calls: f32,
    median: f32,
    unused: f32,
    result: f32,
}

impl Columns {
    fn new(rect: Rect) -> Self {
        let at = |part: f32| rect.left() + rect.width() * part;
        Self {
            eye: rect.left() + 18.0,
            name: rect.left() + 34.0,
            planned: at(0.305),
            measured: at(0.395),
            difference: at(0.485),
            why: at(0.5),
            calls: at(0.74),
            median: at(0.82),
            unused: at(0.895),
            result: at(0.912),
        }
    }
}

/// Draws the table; a click looks at a regime, its eye keeps its line beside the others.
pub(super) fn table(ui: &mut Ui, ctx: &RunCtx<'_>, recording: &Recording, looked_at: Option<Regime>, regime: &mut Regime, beside: &mut Vec<Regime>) {
    headings(ui, ctx.tokens);
    if recording.record.regimes.is_empty() {
        let area = ui.available_rect_before_wrap();
        ui.painter().text(area.center(), Align2::CENTER_CENTER, "Nothing was measured", ctx.tokens.body(), ctx.tokens.text3);
        return;
    }
    ScrollArea::vertical().id_salt("run-regimes").auto_shrink(false).show(ui, |ui| {
        for report in &recording.record.regimes {
            let is_front = looked_at == Some(report.regime);
            let n_wrong = recording.record.findings.iter().filter(|finding| finding.regime == report.regime).count();
            row(ui, ctx, (report, n_wrong), is_front, regime, beside);
        }
    });
}

fn headings(ui: &mut Ui, t: &'static Tokens) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), space::TABLE_ROW), Sense::hover());
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 0.0, t.bg2);
    painter.hline(rect.x_range(), rect.bottom() - 0.5, Stroke::new(1.0, t.line));
    let columns = Columns::new(rect);
    let put = |x: f32, align: Align2, text: &str| {
        painter.text(pos2(x, rect.center().y), align, text, t.body(), t.text3);
    };
    put(columns.name, Align2::LEFT_CENTER, "Regime");
    put(columns.planned, Align2::RIGHT_CENTER, "Planned peak");
    put(columns.measured, Align2::RIGHT_CENTER, "Measured");
    put(columns.difference, Align2::RIGHT_CENTER, "Difference");
    put(columns.why, Align2::LEFT_CENTER, "Why");
    put(columns.calls, Align2::RIGHT_CENTER, "Allocator calls");
    put(columns.median, Align2::RIGHT_CENTER, "Median");
    put(columns.unused, Align2::RIGHT_CENTER, "Unused");
    put(columns.result, Align2::LEFT_CENTER, "Result");
}

fn row(ui: &mut Ui, ctx: &RunCtx<'_>, (report, n_wrong): (&RegimeReport, usize), is_front: bool, regime: &mut Regime, beside: &mut Vec<Regime>) {
    let t = ctx.tokens;
    let has_run = report.status == RegimeStatus::Ran;
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), space::TABLE_ROW.max(t.size.body + 8.0)), Sense::click());
    let painter = ui.painter_at(rect);
    row_ground(&painter, t, rect, is_front, response.hovered() && has_run);
    if is_front {
        chosen_edge(&painter, t, rect);
    }
    let columns = Columns::new(rect);
    let at = |x: f32| pos2(x, rect.center().y);
    let font = if is_front { t.body_strong() } else { t.body_medium() };
    let ink = if has_run { t.text } else { t.text3 };
    let planned = text::bytes(report.predicted_peak_bytes);
    let number = painter.text(at(columns.planned), Align2::RIGHT_CENTER, planned, t.body(), if has_run { t.text2 } else { t.text3 });
    cut_text(&painter, at(columns.name), Align2::LEFT_CENTER, number.left() - 8.0 - columns.name, (regime_name(report.regime), font, ink));
    if has_run {
        eye(ui, ctx, at(columns.eye), report.regime, beside);
        cells(&painter, t, rect, &columns, (report, n_wrong), is_front);
    } else {
        let (word, colour) = if report.status == RegimeStatus::Failed { ("failed", t.err) } else { ("not run", t.text2) };
        let words = format!("{word}: {}", report.note);
        cut_text(&painter, at(columns.planned + 16.0), Align2::LEFT_CENTER, rect.right() - columns.planned - 28.0, (&words, t.body(), colour));
    }
    if response.clicked() && has_run {
        *regime = report.regime;
    }
    let label = format!("regime {}", report.regime.name());
    response.widget_info(|| egui::WidgetInfo::selected(egui::Role::Row, has_run, is_front, &label));
    response.on_hover_ui(|ui| tooltip(ui, t, report));
}

fn eye(ui: &mut Ui, ctx: &RunCtx<'_>, centre: egui::Pos2, regime: Regime, beside: &mut Vec<Regime>) {
    let t = ctx.tokens;
    let is_on = beside.contains(&regime);
    let hit = Rect::from_center_size(centre, vec2(space::HIT, space::HIT));
    let response = ui.interact(hit, ui.scope_id().with(("run-eye", regime.name())), Sense::click());
    let colour = match (is_on, response.hovered()) {
        (_, true) => t.text,
        (true, false) => t.text2,
        (false, false) => t.disabled,
    };
    paint_icon(ui.painter(), centre, if is_on { Icon::EYE } else { Icon::EYE_SLASH }, 13.0, colour);
    let label = format!("Keep the line of {}", regime.name());
    response.widget_info(|| egui::WidgetInfo::selected(egui::Role::CheckBox, true, is_on, &label));
    if response.clicked() {
        if is_on {
            beside.retain(|&other| other != regime);
        } else {
            beside.push(regime);
            beside.sort_unstable();
        }
    }
    response.on_hover_text("Draw its measured line beside the regime that is looked at");
}

fn cells(painter: &Painter, t: &'static Tokens, rect: Rect, columns: &Columns, (report, n_wrong): (&RegimeReport, usize), is_front: bool) {
    let quiet = if is_front { t.text2 } else { t.text3 };
    let put = |x: f32, text: &str, font: FontId, colour: Color32| {
        painter.text(pos2(x, rect.center().y), Align2::RIGHT_CENTER, text, font, colour);
    };
    put(columns.measured, &text::bytes(report.measured_peak_bytes), t.body_strong(), t.text);
    let difference = &report.difference;
    let has_riddle = difference.unexplained != 0;
    let colour = match (has_riddle, difference.total) {
        (true, _) => t.err,
        (false, 0) => quiet,
        (false, _) => t.text,
    };
    put(columns.difference, &signed_bytes(difference.total), t.body(), colour);
    let width = columns.calls - 78.0 - columns.why;
    let why = (difference.why.as_str(), t.body(), if has_riddle { t.err } else { quiet });
    cut_text(painter, pos2(columns.why, rect.center().y), Align2::LEFT_CENTER, width, why);
    let calls = report.calls;
    let words = format!("{} + {}", text::count(calls.setup.saturating_add(calls.first_iteration)), text::count(calls.iteration));
    put(columns.calls, &words, t.body(), if calls.iteration == 0 { t.ok } else { t.text2 });
    let median = report.latency.as_ref().map_or_else(|| text::NONE.to_owned(), |latency| milliseconds(latency.p50_ms));
    put(columns.median, &median, t.body(), t.text2);
    let unused = if report.fragmentation > UNUSED_WARNS_FROM { t.warn } else { t.text2 };
    put(columns.unused, &text::percent(report.fragmentation), t.body(), unused);
    let (icon, colour, words) = match n_wrong {
        0 => (Icon::CHECK, t.ok, "clean".to_owned()),
        n => (Icon::WARNING_OCTAGON, t.err, format!("{} wrong", text::count(n as u64))),
    };
    paint_icon(painter, pos2(columns.result + 7.0, rect.center().y), icon, 12.0, colour);
    let width = rect.right() - columns.result - 24.0;
    cut_text(
        painter,
        pos2(columns.result + 18.0, rect.center().y),
        Align2::LEFT_CENTER,
        width,
        (&words, t.body(), if n_wrong == 0 { quiet } else { t.err }),
    );
}

fn tooltip(ui: &mut Ui, t: &'static Tokens, report: &RegimeReport) {
    ui.set_max_width(420.0);
    ui.label(RichText::new(regime_name(report.regime)).font(t.body_strong()));
    let line = |ui: &mut Ui, words: &str| {
        ui.label(RichText::new(words).font(t.body()).color(t.text2));
    };
    line(ui, regime_help(report.regime));
    if report.status != RegimeStatus::Ran {
        line(ui, &format!("{}.", capital(&report.note)));
        return;
    }
    line(ui, &format!("Measured against planned: {}.", report.difference.why));
    let calls = report.calls;
    line(
        ui,
        &format!(
            "Calls of the device's allocator: {} before the first iteration and {} in it, then {} per iteration; {} requests per iteration.",
            text::count(calls.setup),
            text::count(calls.first_iteration),
            text::count(calls.iteration),
            text::count(calls.requests)
        ),
    );
    line(ui, &format!("{} of what was held at the peak was used by no live buffer.", text::percent(report.fragmentation)));
}
