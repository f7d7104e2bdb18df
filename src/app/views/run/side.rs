//! The right column: the device, what came of the run, and where the bytes went.

use arenascope_gpu::protocol::{DeviceChoice, RegimeReport};
use arenascope_gpu::residual::Residual;
use egui::{Color32, Mesh, Rect, RichText, Sense, Shape, Ui, vec2};

use super::frame::{RunCtx, cut_text, strip};
use super::overlay::kinship_words;
use super::recording::{Recording, RegimeCurves};
use super::words::{Verdict, capital, date, for_window, kind_name, regime_name, signed_bytes, verdict};
use super::{Kinship, RunState, settings};
use crate::draw::{Hatch, Tone, hatch, paint_icon};
use crate::session::Stage;
use crate::text;
use crate::theme::{Icon, Tokens, alpha};

/// Draws the column.
pub(super) fn side_ui(ui: &mut Ui, ctx: &RunCtx<'_>, state: &RunState, recording: Option<&Recording>) {
    egui::ScrollArea::vertical().id_salt("run-side").auto_shrink(false).show(ui, |ui| {
        ui.spacing_mut().item_spacing = egui::Vec2::ZERO;
        match recording {
            Some(recording) => recorded_device(ui, ctx.tokens, recording),
            None => chosen_device(ui, ctx, state),
        }
        let Some(recording) = recording else { return };
        outcome(ui, ctx, recording, state.shown_kinship().filter(|_| ctx.running.is_none()));
        if let Some((report, curves)) = state.regime_of(recording).and_then(|regime| recording.regime(regime)) {
            bytes(ui, ctx, recording, report, curves);
        } else if recording.record.compute.is_some() {
            bytes_of_computing(ui, ctx.tokens, recording);
        }
    });
}

/// Lays out the inside of a section.
fn inside(ui: &mut Ui, contents: impl FnOnce(&mut Ui)) {
    egui::Frame::new().inner_margin(egui::Margin::symmetric(12, 8)).show(ui, |ui| {
        ui.spacing_mut().item_spacing = vec2(6.0, 4.0);
        ui.set_width(ui.available_width());
        contents(ui);
    });
}

fn paragraph(ui: &mut Ui, t: &Tokens, words: &str, colour: Color32) {
    ui.add(egui::Label::new(RichText::new(words).font(t.body()).color(colour)).wrap());
}

fn fact(ui: &mut Ui, t: &Tokens, name: &str, value: &str) {
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), t.size.body + 7.0), Sense::hover());
    let at = |x: f32| egui::pos2(x, rect.center().y);
    ui.painter().text(at(rect.left()), egui::Align2::LEFT_CENTER, name, t.body(), t.text3);
    let left = rect.left() + 96.0;
    cut_text(ui.painter(), at(left), egui::Align2::LEFT_CENTER, rect.right() - left, (value, t.body_medium(), t.text));
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, format!("{name}: {value}")));
    response.on_hover_text(value);
}

/// The device that the next run takes, or why there is only the CPU.
fn chosen_device(ui: &mut Ui, ctx: &RunCtx<'_>, state: &RunState) {
    let t = ctx.tokens;
    let probe = state.probe.value().map(|probe| &**probe);
    let device = state.settings.device(probe);
    strip(ui, t, "Device", "for the next run", |_| ());
    inside(ui, |ui| {
        match settings::described(probe, device) {
            Some(device) => {
                title(ui, t, Icon::GRAPHICS_CARD, &device.name, kind_name(device.kind));
                fact(ui, t, "Memory", &format!("{}, {} free", text::bytes(device.total_bytes), text::bytes(device.free_bytes)));
                fact(ui, t, "Compute", &format!("{}, driver for CUDA {}", device.compute_capability, device.driver));
            }
            None if device == DeviceChoice::Cpu => {
                title(ui, t, Icon::CPU, "CPU", "this computer's own memory");
                paragraph(
                    ui,
                    t,
                    "It checks every read as a GPU would. Memory is that of a process: pages of 4 KiB, given when they are touched.",
                    t.text2,
                );
            }
            None => paragraph(ui, t, "This GPU does not answer. Look for devices again in the toolbar.", t.warn),
        }
        let budget = state.settings.budget_bytes.map_or_else(|| "half of what is free".to_owned(), text::bytes);
        fact(ui, t, "Budget", &budget);
    });
    strip(ui, t, "GPUs", "", |_| ());
    inside(ui, |ui| match (&state.probe, probe) {
        (Stage::Running(_), None) => paragraph(ui, t, "Looking for GPUs, for ten seconds at most…", t.text2),
        (_, Some(probe)) if probe.devices.is_empty() => {
            paragraph(ui, t, &format!("{}.", capital(&probe.message)), t.text);
            paragraph(ui, t, &format!("What may help: {}.", for_window(&probe.remedy)), t.text2);
            if !probe.remedy.contains("cpu") {
                paragraph(ui, t, "The CPU can run the plan meanwhile.", t.text2);
            }
        }
        (_, Some(probe)) => {
            for device in &probe.devices {
                fact(ui, t, &format!("GPU {}", device.index), &format!("{} ({})", device.name, kind_name(device.kind)));
            }
        }
        _ => paragraph(ui, t, "Devices are looked for by the program itself, not while it draws a picture.", t.text2),
    });
}

fn title(ui: &mut Ui, t: &Tokens, icon: Icon, name: &str, detail: &str) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 36.0), Sense::hover());
    paint_icon(ui.painter(), egui::pos2(rect.left() + 12.0, rect.center().y), icon, 22.0, t.ok);
    let left = rect.left() + 34.0;
    let width = rect.right() - left;
    cut_text(ui.painter(), egui::pos2(left, rect.top() + 2.0), egui::Align2::LEFT_TOP, width, (name, t.menu_strong(), t.text));
    cut_text(ui.painter(), egui::pos2(left, rect.bottom() - 1.0), egui::Align2::LEFT_BOTTOM, width, (detail, t.body(), t.text2));
}

/// The device that a recording comes from.
fn recorded_device(ui: &mut Ui, t: &'static Tokens, recording: &Recording) {
    let record = &recording.record;
    strip(ui, t, "Device", &recording.name, |_| ());
    inside(ui, |ui| {
        if let Some(device) = &record.device {
            let icon = if device.kind == arenascope_gpu::device::DeviceKind::Cpu { Icon::CPU } else { Icon::GRAPHICS_CARD };
            title(ui, t, icon, &device.name, kind_name(device.kind));
            fact(ui, t, "Memory", &format!("{}, {} free before the run", text::bytes(device.total_bytes), text::bytes(device.free_bytes)));
            if !device.driver.is_empty() {
                fact(ui, t, "Compute", &format!("{}, driver for CUDA {}", device.compute_capability, device.driver));
            }
        } else {
            paragraph(ui, t, "No device was opened.", t.text2);
        }
        let noise = if record.noise_bytes == 0 { "did not move".to_owned() } else { format!("move by ±{}", text::bytes(record.noise_bytes)) };
        fact(ui, t, "Others", &noise);
        let date = date(record.unix_seconds);
        if !date.is_empty() {
            fact(ui, t, "Begun", &date);
        }
    });
}

fn outcome(ui: &mut Ui, ctx: &RunCtx<'_>, recording: &Recording, kinship: Option<Kinship>) {
    let t = ctx.tokens;
    let (title, facts) = if recording.is_computed() { ("Computed", "every read is compared") } else { ("Integrity", "every read is checked") };
    strip(ui, t, title, facts, |_| ());
    inside(ui, |ui| {
        if ctx.running.is_some() {
            paragraph(ui, t, "The run goes on.", t.text2);
            return;
        }
        let Verdict { tone, icon, title, detail } = verdict(&recording.record);
        let colour = match tone {
            Tone::Ok => t.ok,
            Tone::Warn => t.warn,
            Tone::Err => t.err,
            Tone::Plain => t.text2,
        };
        ui.horizontal(|ui| {
            ui.label(icon.text(20.0, colour));
            ui.label(RichText::new(&title).font(t.menu_strong()).color(t.text));
        });
        paragraph(ui, t, &detail, t.text2);
        if let Some(words) = kinship.filter(|_| ctx.planned.is_some()).and_then(|kinship| kinship_words(kinship, recording)) {
            ui.add_space(4.0);
            ui.horizontal_top(|ui| {
                ui.label(Icon::WARNING.text(14.0, t.warn));
                paragraph(ui, t, &format!("This run is {words}"), t.text2);
            });
        }
    });
}

/// One part of what was measured.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Part {
    name: &'static str,
    bytes: i64,
    colour: Color32,
    is_hatched: bool,
}

/// What was measured at a step, split; the parts before the first hatched baseline part add up to the measured bytes.
fn parts(t: &Tokens, recording: &Recording, report: &RegimeReport, split: Residual, index: usize) -> Vec<Part> {
    let record = &recording.record;
    let signed = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
    let planned = report.predicted_curve.get(index).copied().unwrap_or(0);
    let live = record.live_curve.get(index).copied().map_or(planned, |live| live.min(planned));
    let part = |name, bytes, colour, is_hatched| Part { name, bytes, colour, is_hatched };
    let mut parts = vec![part("live buffers of the plan", signed(live), t.live, false)];
    parts.push(part("held, used by no buffer now", signed(planned - live), t.naive, true));
    let name = if split.granularity < 0 { "not touched, or in memory held already" } else { "rounding to granules" };
    parts.push(part(name, split.granularity, t.measured, false));
    parts.push(part("kept by pool or allocator", split.kept, alpha(t.measured, 0.5), true));
    parts.push(part("other programs", split.others, t.warn, false));
    parts.push(part("unexplained", split.unexplained, t.err, false));
    parts
}

fn bytes(ui: &mut Ui, ctx: &RunCtx<'_>, recording: &Recording, report: &RegimeReport, curves: &RegimeCurves) {
    let t = ctx.tokens;
    let in_hand = ctx.step_in_hand().and_then(|step| Some((step, recording.index_of(step)?)));
    let peak = || (recording.number(curves.peak).unwrap_or(0), curves.peak);
    let is_peak = in_hand.is_none();
    let (step, index) = in_hand.unwrap_or_else(peak);
    let facts = format!("{}, step {}{}", regime_name(report.regime), text::count(step), if is_peak { ", its peak" } else { "" });
    strip(ui, t, "Where the bytes went", &facts, |_| ());
    let split = curves.parts.get(index).copied().unwrap_or_default();
    let parts = parts(t, recording, report, split, index);
    inside(ui, |ui| {
        bar(ui, t, &parts);
        ui.add_space(2.0);
        for part in &parts {
            row(ui, t, part);
        }
        rule(ui, t);
        let measured = report.measured_curve.get(index).copied().unwrap_or(0);
        total(ui, t, "measured above the baseline", measured);
        let own = recording.record.own_bytes;
        let statics = recording.record.static_bytes.min(own);
        let empty = recording.record.empty.map(|empty| empty.used_bytes);
        let tables = if empty.is_some() { "kernels and tables" } else { "context, kernels and tables" };
        held(ui, t, tables, own - statics);
        held(ui, t, "static memory: weights, inputs", statics);
        rule(ui, t);
        let taken = measured.saturating_add(own);
        total(ui, t, "taken by the run", taken);
        if let Some(empty) = empty {
            empty_context(ui, t, empty);
            total(ui, t, "in use", taken.saturating_add(empty));
        }
    });
}

/// Bytes that are held throughout.
fn held(ui: &mut Ui, t: &Tokens, name: &'static str, bytes: u64) -> egui::Response {
    row(ui, t, &Part { name, bytes: i64::try_from(bytes).unwrap_or(i64::MAX), colour: t.bg3, is_hatched: true })
}

fn empty_context(ui: &mut Ui, t: &Tokens, bytes: u64) {
    let part = Part { name: "empty context", bytes: i64::try_from(bytes).unwrap_or(i64::MAX), colour: t.disabled, is_hatched: false };
    row(ui, t, &part).on_hover_text("In use before the run takes anything: the context or process itself and, on a GPU, what other programs hold");
}

/// What a run that computes holds; the memory of its own that every tensor has beside the arena is not counted here.
fn bytes_of_computing(ui: &mut Ui, t: &'static Tokens, recording: &Recording) {
    let record = &recording.record;
    strip(ui, t, "Memory", "besides every tensor's own", |_| ());
    inside(ui, |ui| {
        held(ui, t, "arena", record.arena_bytes);
        held(ui, t, "static memory: weights, inputs", record.static_bytes);
        held(ui, t, "kernels and tables", record.own_bytes);
        if let Some(empty) = record.empty {
            empty_context(ui, t, empty.used_bytes);
        }
    });
}

fn bar(ui: &mut Ui, t: &Tokens, parts: &[Part]) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 16.0), Sense::hover());
    ui.painter().rect_filled(rect, 0.0, t.bg3);
    let real = |bytes: i64| crate::views::chart::step_value(bytes.max(0).unsigned_abs());
    let total: f64 = parts.iter().map(|part| real(part.bytes)).sum();
    let mut mesh = Mesh::default();
    let mut sum = 0.0;
    #[expect(clippy::cast_possible_truncation, reason = "a share of a width")]
    let x = |sum: f64| rect.left() + (sum / total.max(1.0)) as f32 * rect.width();
    for part in parts.iter().filter(|part| part.bytes > 0) {
        let piece = Rect::from_x_y_ranges(x(sum)..=x(sum + real(part.bytes)), rect.y_range());
        sum += real(part.bytes);
        swatch(&mut mesh, t, piece, part);
    }
    ui.painter().add(Shape::mesh(mesh));
}

fn swatch(mesh: &mut Mesh, t: &Tokens, rect: Rect, part: &Part) {
    mesh.add_colored_rect(rect, part.colour);
    if part.is_hatched {
        hatch(mesh, rect, t.text3, Hatch::HOLE);
    }
}

fn row(ui: &mut Ui, t: &Tokens, part: &Part) -> egui::Response {
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), t.size.body + 6.0), Sense::hover());
    let mut mesh = Mesh::default();
    swatch(&mut mesh, t, Rect::from_center_size(egui::pos2(rect.left() + 6.0, rect.center().y), vec2(11.0, 11.0)), part);
    ui.painter().add(Shape::mesh(mesh));
    let is_alarm = part.name == "unexplained" && part.bytes != 0;
    let colour = if is_alarm { t.err } else { t.text2 };
    ui.painter().text(egui::pos2(rect.left() + 20.0, rect.center().y), egui::Align2::LEFT_CENTER, part.name, t.body(), colour);
    let value = if part.bytes < 0 { signed_bytes(part.bytes) } else { text::bytes(part.bytes.unsigned_abs()) };
    let ink = match (is_alarm, part.bytes) {
        (true, _) => t.err,
        (false, 0) => t.text3,
        (false, _) => t.text,
    };
    ui.painter().text(egui::pos2(rect.right(), rect.center().y), egui::Align2::RIGHT_CENTER, &value, t.body_medium(), ink);
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, format!("{}: {value}", part.name)));
    response.on_hover_text(format!("{} B", signed_count(part.bytes)))
}

fn signed_count(bytes: i64) -> String {
    let sign = if bytes < 0 { "−" } else { "" };
    format!("{sign}{}", text::count(bytes.unsigned_abs()))
}

fn total(ui: &mut Ui, t: &Tokens, name: &str, bytes: u64) {
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), t.size.body + 7.0), Sense::hover());
    ui.painter().text(egui::pos2(rect.left() + 20.0, rect.center().y), egui::Align2::LEFT_CENTER, name, t.body_strong(), t.text);
    ui.painter().text(egui::pos2(rect.right(), rect.center().y), egui::Align2::RIGHT_CENTER, text::bytes(bytes), t.body_strong(), t.text);
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, format!("{name}: {}", text::bytes(bytes))));
    response.on_hover_text(text::exact_bytes(bytes));
}

fn rule(ui: &mut Ui, t: &Tokens) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 5.0), Sense::hover());
    ui.painter().hline(rect.x_range(), rect.center().y, egui::Stroke::new(1.0, t.line));
}
