//! How long iterations took: one dot each, one row per regime, and the percentiles.

use arenascope_gpu::latency::Latency;
use arenascope_gpu::record::RunRecord;
use egui::{Align2, Rect, ScrollArea, Sense, Stroke, Ui, pos2, vec2};

use super::frame::{RunCtx, cut_text};
use super::recording::Recording;
use super::words::{milliseconds, regime_name};
use crate::axis::{Range, Scale};
use crate::draw::{Notice, Pixels, notice};
use crate::text;
use crate::theme::{Icon, Tokens, alpha, space};
use crate::views::chart::step_value;

/// Most dots per row; of more iterations every second, third, … is drawn.
const MAX_DOTS: usize = 1000;
/// Radius of a dot.
const DOT: f32 = 1.7;
/// Width of the names at the left.
const NAMES: f32 = 196.0;
/// Width of one number at the right.
const NUMBER: f32 = 66.0;
/// From this ratio of the longest to the shortest iteration on, the axis is logarithmic.
const LOG_FROM: f64 = 12.0;

/// Iterations that were timed alike.
struct Times<'a> {
    name: String,
    /// What the row is called where it is read aloud.
    spoken: String,
    latency: &'a Latency,
    device_ms: Option<f64>,
    is_arena: bool,
}

impl<'a> Times<'a> {
    /// All of a run: of each regime, of the same on one stream and with other waits, and of computing.
    fn of(record: &'a RunRecord) -> Vec<Self> {
        let mut rows = Vec::new();
        for report in &record.regimes {
            let Some(latency) = &report.latency else { continue };
            let (name, spoken, is_arena) = (regime_name(report.regime), report.regime.name(), report.regime.is_arena());
            rows.push(Self { name: name.to_owned(), spoken: spoken.to_owned(), latency, device_ms: report.device_ms, is_arena });
            let Some(cost) = &report.streams else { continue };
            for (what, other) in
                [("one stream", &cost.one_stream), ("graph's waits alone", &cost.graph_only), ("with the plan's waits", &cost.with_plan)]
            {
                // One of them is the run itself.
                if let Some(other) = other.as_ref().filter(|other| *other != latency) {
                    rows.push(Self { name: format!("    {what}"), spoken: format!("{spoken}, {what}"), latency: other, device_ms: None, is_arena });
                }
            }
        }
        let computing = record.compute.as_ref().and_then(|report| report.latency.as_ref());
        rows.extend(computing.map(|latency| Self {
            name: "Computing, static arena".to_owned(),
            spoken: "computing".to_owned(),
            latency,
            device_ms: None,
            is_arena: true,
        }));
        rows
    }
}

/// Where a time stands between the edges of the plot.
struct TimeAxis {
    x: Scale,
    is_log: bool,
}

impl TimeAxis {
    fn new(rows: &[Times<'_>], plot: Rect) -> Self {
        let samples = || rows.iter().flat_map(|row| row.latency.samples_ms.iter().copied()).filter(|ms| ms.is_finite() && *ms >= 0.0);
        let (least, most) = samples().fold((f64::INFINITY, 0.0_f64), |(least, most), ms| (least.min(ms), most.max(ms)));
        let (least, most) = if least > most { (0.0, 1.0) } else { (least.max(1e-6), most.max(1e-6)) };
        let is_log = most / least > LOG_FROM;
        // Times close together are told apart by what lies between them, not by their distance to zero.
        let spare = (most - least) * 0.08;
        let start = if least > most / 2.0 { (least - spare).max(0.0) } else { 0.0 };
        let range = if is_log { Range::new(least.log10() - 0.04, most.log10() + 0.04) } else { Range::new(start, most + spare) };
        Self { x: Scale::new(range, plot.left(), plot.right()), is_log }
    }

    fn pixel(&self, ms: f64) -> f32 {
        self.x.pixel(if self.is_log { ms.max(1e-9).log10() } else { ms })
    }

    /// About six round times.
    fn ticks(&self) -> Vec<f64> {
        let Range { start, end } = self.x.range();
        let (least, most) = if self.is_log { (10_f64.powf(start), 10_f64.powf(end)) } else { (start, end) };
        if self.is_log {
            #[expect(clippy::cast_possible_truncation, reason = "the decade of a time")]
            let decades = start.floor() as i32..=end.ceil() as i32;
            let rounds = decades.flat_map(|decade| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(decade)));
            return rounds.filter(|ms| (least..=most).contains(ms)).collect();
        }
        let rough = (most - least) / 6.0;
        let decade = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|digit| digit * decade).find(|step| *step >= rough).unwrap_or(rough);
        let first = (least / step).ceil();
        (0_u32..12).map(|n| (first + f64::from(n)) * step).filter(|ms| *ms <= most).collect()
    }
}

/// How far a dot stands from the middle of its row, from −1 to 1: the same for the same iteration, spread like chance.
#[must_use]
fn jitter(index: usize) -> f32 {
    // Multiples of the golden ratio fill an interval evenly without repeating.
    let part = (step_value(index as u64) * 0.618_033_988_749_894_9).fract();
    #[expect(clippy::cast_possible_truncation, reason = "a share from −1 to 1")]
    let at = (part * 2.0 - 1.0) as f32;
    at
}

/// Draws the rows.
pub(super) fn times_ui(ui: &mut Ui, ctx: &RunCtx<'_>, recording: &Recording) {
    let t = ctx.tokens;
    let rows = Times::of(&recording.record);
    let area = ui.available_rect_before_wrap();
    if rows.is_empty() {
        let words = Notice::empty(Icon::CLOCK, "No iteration of this run was timed", &[]);
        notice(ui, t, area, &words);
        return;
    }
    let plot = Rect::from_x_y_ranges(area.left() + NAMES..=(area.right() - 5.0 * NUMBER - 14.0).max(area.left() + NAMES + 40.0), area.y_range());
    let axis = TimeAxis::new(&rows, plot);
    headings(ui, t, &axis, plot, &rows);
    let n = u16::try_from(rows.len()).unwrap_or(1);
    let height = (ui.available_height() / f32::from(n)).clamp(24.0, 40.0);
    ScrollArea::vertical().id_salt("run-latency").auto_shrink(false).show(ui, |ui| {
        for times in &rows {
            row(ui, t, &axis, plot, times, height);
        }
    });
}

fn headings(ui: &mut Ui, t: &'static Tokens, axis: &TimeAxis, plot: Rect, rows: &[Times<'_>]) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), space::TABLE_ROW), Sense::hover());
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 0.0, t.bg2);
    painter.hline(rect.x_range(), rect.bottom() - 0.5, Stroke::new(1.0, t.line));
    let y = rect.center().y;
    let most = rows.iter().map(|row| row.latency.samples_ms.len()).max().unwrap_or(0) as u64;
    let scale = if axis.is_log { ", log" } else { "" };
    let words = format!("{}{scale}", text::counted(most, "iteration", "iterations"));
    cut_text(&painter, pos2(rect.left() + 12.0, y), Align2::LEFT_CENTER, NAMES - 40.0, (&words, t.body(), t.text3));
    let mut free = plot.left() - 40.0;
    for ms in axis.ticks() {
        let galley = painter.layout_no_wrap(milliseconds(ms), t.tick(), t.text3);
        let left = axis.pixel(ms) - galley.size().x / 2.0;
        if left > free {
            free = left + galley.size().x + 10.0;
            painter.galley(pos2(left, y - galley.size().y / 2.0), galley, t.text3);
        }
    }
    for (index, name) in ["p50", "p95", "p99", "std dev", "on device"].into_iter().enumerate() {
        painter.text(pos2(number_at(plot, index), y), Align2::RIGHT_CENTER, name, t.body(), t.text3);
    }
}

/// The right edge of a number beside the plot.
fn number_at(plot: Rect, index: usize) -> f32 {
    plot.right() + NUMBER * f32::from(u8::try_from(index + 1).unwrap_or(1))
}

fn row(ui: &mut Ui, t: &'static Tokens, axis: &TimeAxis, plot: Rect, times: &Times<'_>, height: f32) {
    let latency = times.latency;
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::hover());
    let painter = ui.painter_at(rect);
    let pixels = Pixels::of(&painter);
    painter.rect_filled(rect, 0.0, t.chart);
    painter.hline(rect.x_range(), rect.bottom() - 0.5, Stroke::new(1.0, t.grid));
    for ms in axis.ticks() {
        painter.vline(pixels.centre(axis.pixel(ms)), rect.y_range(), Stroke::new(pixels.one(), t.grid));
    }
    let y = rect.center().y;
    cut_text(&painter, pos2(rect.left() + 12.0, y), Align2::LEFT_CENTER, NAMES - 20.0, (&times.name, t.body_medium(), t.text));
    let colour = if times.is_arena { alpha(t.live, 0.55) } else { alpha(t.naive, 0.55) };
    let every = latency.samples_ms.len().div_ceil(MAX_DOTS).max(1);
    for (index, &ms) in latency.samples_ms.iter().enumerate().step_by(every) {
        painter.circle_filled(pos2(axis.pixel(ms), y + jitter(index) * (height * 0.36)), DOT, colour);
    }
    for (ms, mark, width, part) in [(latency.p99_ms, t.warn, 1.5, 0.3), (latency.p95_ms, t.bound, 1.5, 0.38), (latency.p50_ms, t.text, 2.0, 0.46)] {
        painter.vline(pixels.centre(axis.pixel(ms)), y - height * part..=y + height * part, Stroke::new(width, mark));
    }
    let numbers = [
        (Some(latency.p50_ms), t.text),
        (Some(latency.p95_ms), t.bound),
        (Some(latency.p99_ms), t.warn),
        (Some(latency.std_ms), t.text2),
        (times.device_ms, t.text2),
    ];
    for (index, (ms, ink)) in numbers.into_iter().enumerate() {
        let words = ms.map_or_else(|| text::NONE.to_owned(), milliseconds);
        let font = if index == 0 { t.body_strong() } else { t.body() };
        painter.text(pos2(number_at(plot, index), y), Align2::RIGHT_CENTER, words, font, ink);
    }
    let label = format!("times of {}: p50 {}, p99 {}", times.spoken, milliseconds(latency.p50_ms), milliseconds(latency.p99_ms));
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Row, true, &label));
    let drawn = if every > 1 { format!(", every {every}th is drawn") } else { String::new() };
    let words = format!(
        "{} timed by this computer's clock, with a wait at the end of each{drawn}. Mean {}. On device: the middle one by the device's own clock.",
        text::counted(latency.samples_ms.len() as u64, "iteration", "iterations"),
        milliseconds(latency.mean_ms)
    );
    response.on_hover_text(words);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_spread_and_stay_where_they_are() {
        let first: Vec<f32> = (0..100).map(jitter).collect();
        assert_eq!(first, (0..100).map(jitter).collect::<Vec<_>>());
        for quarter in 0..4_u8 {
            let from = -1.0 + 0.5 * f32::from(quarter);
            let n = first.iter().filter(|at| (from..from + 0.5).contains(*at)).count();
            assert!((20..=30).contains(&n), "{n} of 100 in quarter {quarter}");
        }
    }
}
