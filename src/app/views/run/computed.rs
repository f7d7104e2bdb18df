//! What computing gave: reads compared bit for bit, results compared with 64-bit arithmetic, the graph's outputs.

use arenascope_gpu::protocol::{ComputeReport, OutputSample};
use egui::{Align2, Rect, RichText, ScrollArea, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};

use super::findings::{Links, link};
use super::frame::{RunCtx, strip};
use super::recording::Recording;
use super::words::{milliseconds, share};
use crate::axis::{Range, Scale};
use crate::draw::{Pixels, Tone, badge};
use crate::text;
use crate::theme::{Icon, Tokens};

/// Width of the names at the left.
const NAMES: f32 = 150.0;
/// The longest line of values, points.
const WIDEST: f32 = 820.0;
/// Decades of the axis of errors: from the digits of a 64-bit float to far too much.
const DECADES: [i32; 2] = [-12, -2];

/// Draws the report over the whole area.
pub(super) fn computed_ui(ui: &mut Ui, ctx: &RunCtx<'_>, recording: &Recording, report: &ComputeReport, links: &Links) {
    let t = ctx.tokens;
    strip(ui, t, "Computed", &format!("static arena, once as it is · {}", recording.name), |ui| verdict_badge(ui, t, recording, report));
    ScrollArea::vertical().id_salt("run-computed").auto_shrink(false).show(ui, |ui| {
        egui::Frame::new().inner_margin(egui::Margin::symmetric(12, 10)).show(ui, |ui| {
            ui.spacing_mut().item_spacing = vec2(6.0, 5.0);
            ui.set_width(ui.available_width());
            reads(ui, ctx, recording, report);
            results(ui, ctx, report, links);
            line(ui, t, "Latency", |ui| plain(ui, t, &latency(report)));
            line(ui, t, "Values", |ui| plain(ui, t, "Weights and inputs that the file does not hold are numbers by chance, from fixed seeds."));
        });
        strip(ui, t, "Outputs", "their first elements, read from the arena", |_| ());
        egui::Frame::new().inner_margin(egui::Margin::symmetric(12, 10)).show(ui, |ui| {
            ui.spacing_mut().item_spacing = vec2(6.0, 5.0);
            ui.set_width(ui.available_width());
            if report.outputs.is_empty() {
                plain(ui, t, "The graph has no outputs with bytes of their own.");
            }
            for output in &report.outputs {
                output_ui(ui, ctx, output, links);
            }
        });
    });
}

fn is_right(report: &ComputeReport) -> bool {
    report.worst_error <= report.tolerance
}

fn verdict_badge(ui: &mut Ui, t: &'static Tokens, recording: &Recording, report: &ComputeReport) {
    let n_wrong = recording.record.n_findings;
    if n_wrong > 0 {
        badge(ui, t, Tone::Err, Icon::WARNING_CIRCLE, &text::counted(n_wrong, "wrong read", "wrong reads"));
    } else if is_right(report) {
        badge(ui, t, Tone::Ok, Icon::CHECK, "equal bit for bit");
    } else {
        badge(ui, t, Tone::Err, Icon::WARNING_CIRCLE, "a kernel is wrong");
    }
}

fn reads(ui: &mut Ui, ctx: &RunCtx<'_>, recording: &Recording, report: &ComputeReport) {
    let t = ctx.tokens;
    let record = &recording.record;
    line(ui, t, "Kernels", |ui| plain(ui, t, &format!("{} per iteration", text::counted(report.n_kernels, "launch", "launches"))));
    let iterations = text::counted(record.options.checked_iterations.into(), "iteration", "iterations");
    line(ui, t, "Reads", |ui| {
        strong(ui, t, &format!("{} compared bit for bit", text::count(report.n_reads)), t.text);
        plain(ui, t, &format!("in each of {iterations}, with a run in which every tensor has memory of its own"));
    });
    line(ui, t, "Wrong reads", |ui| {
        strong(ui, t, &text::count(record.n_findings), if record.n_findings == 0 { t.ok } else { t.err });
        if record.n_findings > 0 {
            plain(ui, t, "The Findings name tensor, op and culprit.");
        }
    });
    line(ui, t, "Following reads", |ui| {
        strong(ui, t, &text::count(report.n_following), if report.n_following == 0 { t.ok } else { t.warn });
        if report.n_following > 0 {
            plain(ui, t, "wrong only because they were computed from a wrong read; no findings of their own");
        }
    });
}

fn results(ui: &mut Ui, ctx: &RunCtx<'_>, report: &ComputeReport, links: &Links) {
    let t = ctx.tokens;
    line(ui, t, "64-bit arithmetic", |ui| {
        plain(
            ui,
            t,
            &format!("{} compared, each kernel for itself and from the same operands", text::counted(report.n_samples, "result", "results")),
        );
    });
    line(ui, t, "Worst error", |ui| {
        strong(ui, t, &share(report.worst_error), if is_right(report) { t.ok } else { t.err });
        plain(ui, t, "of what makes a result, in");
        link(ui, ctx, &text::middle_cut(&report.worst_tensor, 48), links.item(&report.worst_tensor), true);
        plain(ui, t, &format!("· allowed {:.0e}", report.tolerance));
    });
    line(ui, t, "", |ui| error_bar(ui, t, report));
}

/// The worst error as a bar on an axis of decades, with a mark where the tolerance is.
fn error_bar(ui: &mut Ui, t: &'static Tokens, report: &ComputeReport) {
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width().min(420.0), 34.0), Sense::hover());
    let painter = ui.painter_at(rect.expand(1.0));
    let bar = Rect::from_min_max(rect.min, pos2(rect.right(), rect.top() + 12.0));
    let x = Scale::new(Range::new(f64::from(DECADES[0]), f64::from(DECADES[1])), bar.left(), bar.right());
    painter.rect_filled(bar, 0.0, t.bg3);
    let pixels = Pixels::of(&painter);
    for decade in (DECADES[0]..=DECADES[1]).step_by(2) {
        let at = pixels.centre(x.pixel(f64::from(decade)));
        painter.vline(at, bar.y_range(), Stroke::new(pixels.one(), t.line2));
        let align = match decade {
            d if d == DECADES[0] => Align2::LEFT_TOP,
            d if d == DECADES[1] => Align2::RIGHT_TOP,
            _ => Align2::CENTER_TOP,
        };
        painter.text(pos2(at, bar.bottom() + 5.0), align, format!("1e{decade}"), t.tick(), t.text3);
    }
    let place = |error: f64| x.pixel(error.max(1e-300).log10()).clamp(bar.left(), bar.right());
    let end = if report.worst_error.is_finite() { place(report.worst_error) } else { bar.right() };
    painter.rect_filled(bar.with_max_x(end), 0.0, if is_right(report) { t.ok } else { t.err });
    painter.vline(pixels.centre(place(report.tolerance)), bar.top()..=bar.bottom() + 4.0, Stroke::new(2.0, t.text));
    let label = format!("worst error {} of {:.0e} allowed", share(report.worst_error), report.tolerance);
    response.widget_info(|| WidgetInfo::labeled(egui::Role::Label, true, &label));
    response.on_hover_text("An error as a share of the sum of the magnitudes that make the result; the mark is what is allowed");
}

fn latency(report: &ComputeReport) -> String {
    report.latency.as_ref().map_or_else(
        || "no iteration was timed".to_owned(),
        |latency| {
            let n = text::counted(latency.samples_ms.len() as u64, "timed iteration", "timed iterations");
            format!("median {} of {n}, p95 {}, p99 {}", milliseconds(latency.p50_ms), milliseconds(latency.p95_ms), milliseconds(latency.p99_ms))
        },
    )
}

fn output_ui(ui: &mut Ui, ctx: &RunCtx<'_>, output: &OutputSample, links: &Links) {
    let t = ctx.tokens;
    let values: Vec<String> = output.values.iter().map(|value| value.map_or_else(|| "no number".to_owned(), number)).collect();
    let values = values.join("   ");
    ui.horizontal_top(|ui| {
        ui.scope(|ui| {
            ui.set_width(NAMES);
            link(ui, ctx, &text::middle_cut(&output.tensor, 22), links.item(&output.tensor), true);
        });
        let width = ui.available_width().min(WIDEST);
        ui.allocate_ui(vec2(width, 0.0), |ui| ui.add(egui::Label::new(RichText::new(&values).font(t.mono_tick()).color(t.text2)).wrap()));
    });
}

/// Six digits that mean something.
fn number(value: f64) -> String {
    let size = value.abs();
    let digits = match size {
        0.0 => return "0".to_owned(),
        size if size.fract() == 0.0 && size < 1e6 => 0,
        size if !(1e-3..1e6).contains(&size) => return format!("{value:.5e}").replace('-', "−"),
        size if size < 0.01 => 8,
        size if size < 0.1 => 7,
        size if size < 1.0 => 6,
        size if size < 10.0 => 5,
        size if size < 100.0 => 4,
        size if size < 1e3 => 3,
        _ => 1,
    };
    format!("{value:.digits$}").replace('-', "−")
}

/// A name and what belongs to it, in one line or several.
fn line(ui: &mut Ui, t: &Tokens, name: &str, contents: impl FnOnce(&mut Ui)) {
    ui.horizontal_top(|ui| {
        let (rect, _) = ui.allocate_exact_size(vec2(NAMES, ui.spacing().interact_size.y), Sense::hover());
        ui.painter().text(rect.left_center(), Align2::LEFT_CENTER, name, t.body(), t.text3);
        let width = ui.available_width();
        ui.allocate_ui(vec2(width, 0.0), |ui| ui.horizontal_wrapped(contents));
    });
}

fn plain(ui: &mut Ui, t: &Tokens, words: &str) {
    ui.label(RichText::new(words).font(t.body()).color(t.text2));
}

fn strong(ui: &mut Ui, t: &Tokens, words: &str, colour: egui::Color32) {
    ui.label(RichText::new(words).font(t.body_strong()).color(colour));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_six_digits_and_whole_ones_no_point() {
        let words = [0.0, 3.0, -0.25, 1.0 / 3.0, 0.004_567_891, 12.345_678, -1234.5, 1e-7, 2.5e9].map(number);
        assert_eq!(words, ["0", "3", "−0.250000", "0.333333", "0.00456789", "12.3457", "−1234.5", "1.00000e−7", "2.50000e9"]);
    }
}
