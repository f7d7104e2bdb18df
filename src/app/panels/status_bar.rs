//! The status bar: the numbers that are always in sight, the badge, the work in the background.

use egui::{Align, Color32, Layout, RichText, Ui};

use crate::command::{Command, CommandSender};
use crate::draw::{Tone, badge, small_button};
use crate::jobs::{JobKind, Running};
use crate::session::Planned;
use crate::state::State;
use crate::text;
use crate::theme::{Icon, Tokens, motion, space};

/// Gaps up to this are ordinary.
const GAP_WARNS_FROM: f64 = 0.05;

/// Draws the bar.
pub fn status_bar_ui(ui: &mut Ui, t: &'static Tokens, state: &State, commands: &CommandSender) {
    let frame = egui::Frame::new().fill(t.bg2).inner_margin(egui::Margin::symmetric(12, 0));
    egui::Panel::bottom("status-bar").exact_size(space::STATUS_BAR).frame(frame).show(ui, |ui| {
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = space::LABEL_GAP;
            match state.planned() {
                Some(planned) => numbers_ui(ui, t, planned),
                None => idle_ui(ui, t, state),
            }
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| right_ui(ui, t, state, commands));
        });
    });
}

fn idle_ui(ui: &mut Ui, t: &'static Tokens, state: &State) {
    let failed = state.session.as_ref().is_some_and(|session| matches!(session.workload, crate::session::Stage::Failed(..)));
    if !failed {
        ui.label(Icon::INFO.text(13.0, t.text3));
        ui.label(RichText::new("Nothing leaves this computer.").font(t.body_medium()).color(t.text2));
    }
}

fn number(ui: &mut Ui, t: &'static Tokens, name: &str, value: &str, colour: Color32, hover: &str) {
    ui.label(RichText::new(name).font(t.menu()).color(t.text3)).on_hover_text(hover);
    ui.label(RichText::new(value).font(t.menu_strong()).color(colour)).on_hover_text(hover);
}

fn numbers_ui(ui: &mut Ui, t: &'static Tokens, planned: &Planned) {
    let summary = &planned.summary;
    let exact = |bytes: u64| text::exact_bytes(bytes);
    number(ui, t, "Naive", &text::bytes(summary.naive_bytes), t.text2, &exact(summary.naive_bytes));
    ui.label(Icon::ARROW_RIGHT.text(12.0, t.text3));
    number(ui, t, "Arena", &text::bytes(summary.arena_bytes), t.text, &exact(summary.arena_bytes));
    ui.add_space(space::LABEL_GAP);
    let saving_colour = if planned.is_valid() { t.ok } else { t.err };
    number(ui, t, "Saving", &text::saving(summary.naive_bytes, summary.arena_bytes), saving_colour, "1 − arena / naive");
    ui.add_space(space::LABEL_GAP);
    let forced = format!("{}, forced at step {}", exact(summary.lower_bound_bytes), planned.model.bound.step);
    number(ui, t, "Lower bound", &text::bytes(summary.lower_bound_bytes), t.bound, &forced);
    ui.add_space(space::LABEL_GAP);
    let gap_colour = match summary.gap {
        gap if gap < 0.0 => t.err,
        gap if gap <= 0.0 => t.ok,
        gap if gap <= GAP_WARNS_FROM => t.text,
        _ => t.warn,
    };
    number(ui, t, "Gap", &text::gap(summary.arena_bytes, summary.lower_bound_bytes), gap_colour, "arena / lower bound − 1");
    ui.add_space(space::LABEL_GAP);
    badge_ui(ui, t, planned);
    if ui.available_width() > 520.0 {
        totals_ui(ui, t, planned);
    }
}

/// Static memory with the dynamic one, before and after.
fn totals_ui(ui: &mut Ui, t: &'static Tokens, planned: &Planned) {
    let summary = &planned.summary;
    ui.add_space(space::LABEL_GAP);
    let hover = format!(
        "static memory {} + dynamic {} before, {} after",
        text::bytes(summary.static_bytes),
        text::bytes(summary.naive_bytes),
        text::bytes(summary.arena_bytes)
    );
    let value = format!("{} → {}", text::bytes(summary.total_before), text::bytes(summary.total_after));
    number(ui, t, "with static", &value, t.text2, &hover);
}

fn badge_ui(ui: &mut Ui, t: &'static Tokens, planned: &Planned) {
    let summary = &planned.summary;
    let n_overlaps = planned.report.n_overlaps;
    let capacity = summary.capacity_bytes.filter(|&capacity| summary.arena_bytes > capacity);
    let (tone, icon, words) = if n_overlaps > 0 {
        (Tone::Err, Icon::WARNING_CIRCLE, text::counted(n_overlaps, "overlap", "overlaps"))
    } else if !planned.is_valid() {
        let n = planned.report.n_violations + planned.replay_faults.len() as u64;
        (Tone::Err, Icon::WARNING_CIRCLE, text::counted(n, "fault", "faults"))
    } else if let Some(capacity) = capacity {
        (Tone::Err, Icon::WARNING_CIRCLE, format!("Over capacity by {}", text::bytes(summary.arena_bytes - capacity)))
    } else if summary.proved_optimal {
        (Tone::Ok, Icon::SEAL_CHECK, "Valid, proved optimal".to_owned())
    } else {
        (Tone::Ok, Icon::CHECK_CIRCLE, "Valid".to_owned())
    };
    let unknown = summary.unknown_tensors;
    let (tone, icon, words) = match tone {
        Tone::Ok if unknown > 0 => {
            (Tone::Warn, Icon::WARNING, format!("Valid, {} not counted", text::counted(unknown, "unknown size", "unknown sizes")))
        }
        _ => (tone, icon, words),
    };
    badge(ui, t, tone, icon, &words).on_hover_text(planned.plan.note.clone().unwrap_or_else(|| format!("strategy {}", planned.plan.strategy)));
}

fn right_ui(ui: &mut Ui, t: &'static Tokens, state: &State, commands: &CommandSender) {
    if ui.available_width() < 90.0 {
        return;
    }
    let hint = |ui: &mut Ui, text: &str| {
        ui.label(RichText::new(text).font(t.body()).color(t.text3));
    };
    let is_slow = |running: &&Running| running.since.elapsed().as_secs_f64() >= motion::QUIET;
    let loud = state.jobs.all().filter(|running| !running.kind.is_quiet()).find(is_slow);
    if let Some(running) = loud.or_else(|| state.jobs.all().find(is_slow)) {
        if loud.is_some() && small_button(ui, t, None, "Cancel").clicked() {
            commands.send(Command::CancelJob);
        }
        hint(ui, &running_words(state, running));
        return;
    }
    if let Some(notice) = &state.notice {
        let colour = if notice.is_error { t.err } else { t.text2 };
        ui.add(egui::Label::new(RichText::new(&notice.text).font(t.body_medium()).color(colour)).truncate()).on_hover_text(&notice.text);
        return;
    }
    let Some(planned) = state.planned() else {
        hint(ui, concat!("version ", env!("CARGO_PKG_VERSION")));
        hint(ui, "? shows every key  ·");
        return;
    };
    if ui.available_width() > 320.0 {
        hint(ui, if state.settings.wheel_zooms { "wheel zooms" } else { "wheel scrolls · Ctrl+wheel zooms" });
        ui.add_space(space::CONTROL_GAP);
    }
    let shown = state.steps.target();
    let (first, last) = (crate::views::chart::to_whole(shown.start.floor()), crate::views::chart::to_whole(shown.end.ceil()).saturating_sub(1));
    let total = if planned.summary.ops > 0 { planned.summary.ops } else { planned.model.steps.end };
    let steps = text::step_range(first, last, total);
    if ui.available_width() > 140.0 {
        hint(ui, &steps);
    }
}

/// What runs, and how far it is.
fn running_words(state: &State, running: &Running) -> String {
    let progress = running.progress.as_ref();
    let best = progress.and_then(|progress| progress.best_arena_bytes).map_or_else(String::new, |bytes| format!(" · {} so far", text::bytes(bytes)));
    let what = progress.map_or(running.label.as_str(), |progress| progress.what.as_str());
    let searching = if running.kind == JobKind::Plan && state.is_searching() { "still searching: " } else { "" };
    format!("{searching}{what}{best} · {}", text::time(running.since.elapsed().as_secs_f64()))
}
