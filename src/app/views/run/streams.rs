//! What running on several streams costs: how often they wait, and what that does to the time of an iteration.

use arenascope_gpu::latency::Latency;
use arenascope_gpu::protocol::StreamReport;
use arenascope_gpu::regimes::Regime;
use egui::{Align2, Rect, RichText, ScrollArea, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};

use super::frame::{RunCtx, cut_text};
use super::recording::Recording;
use super::words::{milliseconds, regime_name};
use crate::text;
use crate::theme::{Tokens, space};

/// Right edges of the numbers, as shares of the width.
const COLUMNS: [(f32, &str); 7] = [
    (0.28, "Streams"),
    (0.40, "Graph waits"),
    (0.52, "Plan waits"),
    (0.64, "One stream"),
    (0.76, "Graph alone"),
    (0.88, "With plan's"),
    (0.985, "Plan costs"),
];

/// The regimes of a run that were spread over streams.
pub(super) fn reports(recording: &Recording) -> impl Iterator<Item = (Regime, &StreamReport)> {
    recording.record.regimes.iter().filter_map(|report| Some((report.regime, report.streams.as_ref()?)))
}

/// Draws the table.
pub(super) fn streams_ui(ui: &mut Ui, ctx: &RunCtx<'_>, recording: &Recording) {
    let t = ctx.tokens;
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), space::TABLE_ROW), Sense::hover());
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 0.0, t.bg2);
    painter.hline(rect.x_range(), rect.bottom() - 0.5, Stroke::new(1.0, t.line));
    painter.text(pos2(rect.left() + 12.0, rect.center().y), Align2::LEFT_CENTER, "Regime", t.body(), t.text3);
    for (part, name) in COLUMNS {
        painter.text(at(rect, part), Align2::RIGHT_CENTER, name, t.body(), t.text3);
    }
    ScrollArea::vertical().id_salt("run-streams").auto_shrink(false).show(ui, |ui| {
        for (regime, report) in reports(recording) {
            row(ui, t, regime, report);
        }
        egui::Frame::new().inner_margin(egui::Margin::symmetric(12, 8)).show(ui, |ui| {
            let words = "Waits are counted per iteration, times are medians. An op waits for the ops whose results it reads (graph), and for \
                         those whose bytes its own buffers take over (plan). Times with the graph's waits alone show what the plan's \
                         order costs; reads are checked with the waits that the run was asked for.";
            ui.add(egui::Label::new(RichText::new(words).font(t.body()).color(t.text2)).wrap());
        });
    });
}

fn at(rect: Rect, part: f32) -> egui::Pos2 {
    pos2(rect.left() + rect.width() * part, rect.center().y)
}

fn row(ui: &mut Ui, t: &'static Tokens, regime: Regime, report: &StreamReport) {
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), space::TABLE_ROW.max(t.size.body + 8.0)), Sense::hover());
    let painter = ui.painter_at(rect);
    painter.hline(rect.x_range(), rect.bottom() - 0.5, Stroke::new(1.0, t.grid));
    let name = (regime_name(regime), t.body_medium(), t.text);
    cut_text(&painter, pos2(rect.left() + 12.0, rect.center().y), Align2::LEFT_CENTER, rect.width() * COLUMNS[0].0 - 60.0, name);
    let median = |latency: &Option<Latency>| latency.as_ref().map(|latency| latency.p50_ms);
    let shown = |latency: &Option<Latency>| median(latency).map_or_else(|| text::NONE.to_owned(), milliseconds);
    let cost = cost(median(&report.graph_only), median(&report.with_plan));
    let words = [
        (text::count(report.n_streams.into()), t.text2),
        (text::count(report.graph_waits), t.text),
        (text::count(report.plan_waits), if report.plan_waits > 0 { t.warn } else { t.text }),
        (shown(&report.one_stream), t.text2),
        (shown(&report.graph_only), t.text),
        (shown(&report.with_plan), t.text),
        (cost.map_or_else(|| text::NONE.to_owned(), text::change_percent), t.text2),
    ];
    for ((part, _), (words, colour)) in COLUMNS.into_iter().zip(&words) {
        painter.text(at(rect, part), Align2::RIGHT_CENTER, words, t.body(), *colour);
    }
    let label = format!(
        "streams of {}: {}, {} of the graph and {} of the plan",
        regime.name(),
        words[0].0,
        text::counted(report.graph_waits, "wait", "waits"),
        words[2].0
    );
    response.widget_info(|| WidgetInfo::labeled(egui::Role::Row, true, &label));
}

/// How much longer an iteration takes with the plan's waits, as a share.
fn cost(graph_only: Option<f64>, with_plan: Option<f64>) -> Option<f64> {
    graph_only.zip(with_plan).filter(|(graph_only, _)| *graph_only > 0.0).map(|(graph_only, with_plan)| with_plan / graph_only - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_is_what_the_waits_of_the_plan_add() {
        assert_eq!([cost(Some(2.0), Some(3.0)), cost(Some(2.0), None), cost(Some(0.0), Some(1.0))], [Some(0.5), None, None]);
    }
}
