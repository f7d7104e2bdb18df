//! The recorded runs of this window, and what differs between the one that is shown and another.

use std::sync::Arc;

use arenascope_gpu::device::DeviceKind;
use arenascope_gpu::latency::Latency;
use arenascope_gpu::protocol::{Mode, Outcome};
use egui::{Align2, Color32, Rect, ScrollArea, Sense, Stroke, Ui, UiBuilder, pos2, vec2};

use super::frame::{RunCtx, cut_text, strip};
use super::recording::Recording;
use super::words::{milliseconds, regime_name, waits_name};
use super::{Kinship, RunCommand};
use crate::command::Command;
use crate::draw::{icon_button, icon_toggle, row_ground};
use crate::text;
use crate::theme::{Icon, Tokens, space};

/// Draws the list, and the table of differences while two runs are compared.
pub(super) fn runs_ui(
    ui: &mut Ui,
    ctx: &RunCtx<'_>,
    recordings: &[Arc<Recording>],
    kin: &[Kinship],
    (shown, against): (Option<usize>, Option<usize>),
) {
    let area = ui.available_rect_before_wrap();
    let pair = shown.zip(against).and_then(|(shown, against)| Some((recordings.get(shown)?, recordings.get(against)?)));
    let list = if pair.is_some() { area.with_max_x(area.left() + (area.width() * 0.4).max(300.0)) } else { area };
    let mut child = ui.new_child(UiBuilder::new().max_rect(list));
    child.set_clip_rect(list.intersect(ui.clip_rect()));
    ScrollArea::vertical().id_salt("run-list").auto_shrink(false).show(&mut child, |ui| {
        ui.spacing_mut().item_spacing = egui::Vec2::ZERO;
        // The newest first.
        for (index, recording) in recordings.iter().enumerate().rev() {
            let kinship = kin.get(index).copied().unwrap_or(Kinship::Stranger);
            row(ui, ctx, (index, recording), kinship, (shown == Some(index), against == Some(index)));
        }
    });
    if let Some((shown, against)) = pair {
        let table = area.with_min_x(list.right());
        ui.painter().vline(table.left(), table.y_range(), Stroke::new(1.0, ctx.tokens.line));
        let mut child = ui.new_child(UiBuilder::new().max_rect(table.with_min_x(table.left() + 1.0)));
        child.set_clip_rect(table.intersect(ui.clip_rect()));
        child.spacing_mut().item_spacing = egui::Vec2::ZERO;
        differences(&mut child, ctx, shown, against);
    }
}

fn row(ui: &mut Ui, ctx: &RunCtx<'_>, (index, recording): (usize, &Recording), kinship: Kinship, (is_shown, is_against): (bool, bool)) {
    let t = ctx.tokens;
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), space::TABLE_ROW + 4.0), Sense::click());
    row_ground(ui.painter(), t, rect, is_shown, response.hovered());
    let inner = rect.shrink2(vec2(12.0, 0.0));
    let mut right = ui.new_child(UiBuilder::new().max_rect(inner).layout(egui::Layout::right_to_left(egui::Align::Center)));
    right.spacing_mut().item_spacing.x = 4.0;
    if icon_button(&mut right, t, Icon::TRASH, &format!("Take {} out of the list", recording.name)).clicked() {
        ctx.send(Command::Run(RunCommand::Forget(index)));
    }
    if !is_shown && icon_toggle(&mut right, t, Icon::GIT_DIFF, &format!("Compare with {}", recording.name), is_against).clicked() {
        ctx.send(Command::Run(RunCommand::Against(if is_against { None } else { Some(index) })));
    }
    let free = right.min_rect().left() - 10.0;
    let name = cut_text(
        ui.painter(),
        pos2(inner.left(), rect.center().y),
        Align2::LEFT_CENTER,
        170.0,
        (&recording.name, if is_shown { t.body_strong() } else { t.body_medium() }, t.text),
    );
    let left = name.right().max(inner.left() + 80.0) + 10.0;
    let facts = facts(recording, kinship, ctx.planned.is_some());
    cut_text(ui.painter(), pos2(left, rect.center().y), Align2::LEFT_CENTER, free - left, (&facts, t.body(), t.text2));
    let label = format!("recording {}", recording.name);
    response.widget_info(|| egui::WidgetInfo::selected(egui::Role::Row, true, is_shown, &label));
    if response.clicked() {
        ctx.send(Command::Run(RunCommand::Show(index)));
    }
    response.on_hover_text(facts);
}

fn facts(recording: &Recording, kinship: Kinship, has_file: bool) -> String {
    let record = &recording.record;
    let outcome = match record.outcome {
        Outcome::Clean => "clean",
        Outcome::Clobbered => "CLOBBERED",
        Outcome::DoesNotFit => "does not fit",
        Outcome::NoDevice => "no device",
        Outcome::DeviceFailed => "failed",
        Outcome::Cancelled => "cancelled",
    };
    let device = record.device.as_ref().map_or("no device", |device| match device.kind {
        DeviceKind::Cpu => "CPU",
        DeviceKind::Gpu | DeviceKind::Simulated => device.name.as_str(),
    });
    let scale = if record.scale > 1 { format!(" × {}", text::count(record.scale)) } else { String::new() };
    let whose = match kinship {
        _ if !has_file => format!("{} · ", record.file),
        Kinship::SamePlan => String::new(),
        Kinship::SameSteps => "another plan · ".to_owned(),
        Kinship::Stranger => format!("of {} · ", record.file),
    };
    let how = match (record.options.mode, record.options.streams) {
        (Mode::Compute, _) => " · computed".to_owned(),
        (Mode::Integrity, n @ 2..) => format!(" · {n} streams, {} waits", waits_name(record.options.waits)),
        (Mode::Integrity, _) => String::new(),
    };
    format!("{whose}{device} · arena {}{scale}{how} · {outcome}", text::bytes(record.arena_bytes))
}

/// Right edges of the numbers: measured and median of both runs, and their changes.
fn columns(rect: Rect) -> [f32; 6] {
    [0.42, 0.54, 0.66, 0.78, 0.88, 0.985].map(|part| rect.left() + rect.width() * part)
}

fn differences(ui: &mut Ui, ctx: &RunCtx<'_>, shown: &Recording, against: &Recording) {
    let t = ctx.tokens;
    let scales = (shown.record.scale, against.record.scale);
    let facts = if scales.0 == scales.1 {
        "measured peak and median".to_owned()
    } else {
        format!("sizes differ: × {} against × {}", text::count(scales.0), text::count(scales.1))
    };
    let title = format!("{} against {}", text::middle_cut(&shown.name, 24), text::middle_cut(&against.name, 24));
    strip(ui, t, &title, &facts, |ui| {
        if icon_button(ui, t, Icon::X, "Compare no more").clicked() {
            ctx.send(Command::Run(RunCommand::Against(None)));
        }
    });
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), space::TABLE_ROW), Sense::hover());
    ui.painter().rect_filled(rect, 0.0, t.bg2);
    for (x, name) in columns(rect).into_iter().zip(["this", "other", "change", "this", "other", "change"]) {
        ui.painter().text(pos2(x, rect.center().y), Align2::RIGHT_CENTER, name, t.body(), t.text3);
    }
    ScrollArea::vertical().id_salt("run-differences").auto_shrink(false).show(ui, |ui| {
        ui.spacing_mut().item_spacing = egui::Vec2::ZERO;
        for (report, _) in shown.ran() {
            if let Some((other, _)) = against.regime(report.regime) {
                let sides = [report, other].map(|report| Side { bytes: Some(report.measured_peak_bytes), latency: report.latency.as_ref() });
                difference(ui, t, (regime_name(report.regime), report.regime.name()), sides);
            }
        }
        if let (Some(report), Some(other)) = (&shown.record.compute, &against.record.compute) {
            let sides = [report, other].map(|report| Side { bytes: None, latency: report.latency.as_ref() });
            difference(ui, t, ("Computing, static arena", "computing"), sides);
        }
    });
}

/// What is compared of one of two runs.
#[derive(Clone, Copy)]
struct Side<'a> {
    /// The measured peak; `None` where none was measured.
    bytes: Option<u64>,
    latency: Option<&'a Latency>,
}

fn difference(ui: &mut Ui, t: &'static Tokens, (name, spoken): (&str, &str), [own, other]: [Side<'_>; 2]) {
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), space::TABLE_ROW), Sense::hover());
    let painter = ui.painter_at(rect);
    painter.hline(rect.x_range(), rect.bottom() - 0.5, Stroke::new(1.0, t.grid));
    let columns = columns(rect);
    let name = (name, t.body_medium(), t.text);
    cut_text(&painter, pos2(rect.left() + 12.0, rect.center().y), Align2::LEFT_CENTER, columns[0] - rect.left() - 84.0, name);
    let both = own.bytes.zip(other.bytes);
    let peak = |side: Side<'_>| side.bytes.map_or_else(|| text::NONE.to_owned(), text::bytes);
    let change = both.map_or_else(|| text::NONE.to_owned(), |(bytes, others)| text::change_bytes(others, bytes));
    let median = |side: Side<'_>| side.latency.map(|latency| latency.p50_ms);
    let shown = |ms: Option<f64>| ms.map_or_else(|| text::NONE.to_owned(), milliseconds);
    let ratio = median(own).zip(median(other)).filter(|(_, other)| *other > 0.0).map(|(own, other)| own / other - 1.0);
    let better = |is_less: bool, is_more: bool| match (is_less, is_more) {
        (true, _) => t.ok,
        (_, true) => t.warn,
        _ => t.text3,
    };
    let words: [(String, Color32); 6] = [
        (peak(own), t.text),
        (peak(other), t.text2),
        (change.clone(), both.map_or(t.text3, |(bytes, others)| better(bytes < others, bytes > others))),
        (shown(median(own)), t.text),
        (shown(median(other)), t.text2),
        (ratio.map_or_else(|| text::NONE.to_owned(), text::change_percent), ratio.map_or(t.text3, |ratio| better(ratio < -0.01, ratio > 0.01))),
    ];
    for (x, (words, colour)) in columns.into_iter().zip(words) {
        painter.text(pos2(x, rect.center().y), Align2::RIGHT_CENTER, words, t.body(), colour);
    }
    let label = format!("difference of {spoken}: {change}");
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Row, true, &label));
}
