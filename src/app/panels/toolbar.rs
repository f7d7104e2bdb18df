//! The toolbar: the file, what changes the plan, how it is drawn.

use arenascope_planner::alias::Io;
use arenascope_planner::solve::{find_strategy, strategies};
use arenascope_planner::units::{Align, parse_bytes};
use egui::{Layout, RichText, Ui};

use crate::command::{Command, CommandSender, shortcut_text};
use crate::draw::{button, keycap, segmented};
use crate::panels::order_menu;
use crate::session::Session;
use crate::state::{ColourBy, State};
use crate::text;
use crate::theme::{Icon, Tokens, space};

/// The alignments offered; 64 KiB is the step of the article.
const ALIGNMENTS: [u64; 6] = [1, 16, 64, 256, 4096, 65_536];

/// Widths of the window from which the drop-downs have captions, and of the bar from which the counts are shown.
const CAPTIONS_FROM: f32 = 1300.0;
const FACTS_FROM: f32 = 860.0;
/// Width of the bar from which ops are counted too: a graph has more drop-downs than a bare problem.
const OPS_FROM: f32 = 1480.0;

/// Draws the bar for an open file.
pub fn toolbar_ui(ui: &mut Ui, t: &'static Tokens, state: &State, session: &Session, commands: &CommandSender) {
    let frame = egui::Frame::new().fill(t.bg1).inner_margin(egui::Margin::symmetric(12, 0));
    egui::Panel::top("toolbar").exact_size(space::TOOLBAR).frame(frame).show(ui, |ui| {
        ui.with_layout(Layout::left_to_right(egui::Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = space::LABEL_GAP;
            file_ui(ui, t, session);
            ui.add_space(space::LABEL_GAP);
            ui.separator();
            plan_ui(ui, t, session, commands);
            colour_ui(ui, t, state, commands);
            ui.with_layout(Layout::right_to_left(egui::Align::Center), |ui| {
                if button(ui, t, Some(Icon::EXPORT), "Export").on_hover_text("Write the plan, the graph or a picture (Ctrl+E)").clicked() {
                    commands.send(Command::ExportDialog);
                }
                ui.add_space(space::CONTROL_GAP - space::LABEL_GAP);
                let mut before = state.show_before;
                if segmented(ui, t, &mut before, &[(true, "Before"), (false, "After")], space::CONTROL) {
                    commands.send(Command::SetBefore(before));
                }
                if ui.available_width() > 24.0 {
                    keycap(ui, t, &shortcut_text(ui.ctx(), &Command::FlipBefore));
                }
            });
        });
    });
}

fn file_ui(ui: &mut Ui, t: &'static Tokens, session: &Session) {
    ui.label(Icon::FILE.text(15.0, t.text2));
    let full = session.path.as_ref().map_or_else(|| session.name.clone(), |path| path.display().to_string());
    ui.label(
        RichText::new(text::middle_cut(&session.name, if ui.available_width() > CAPTIONS_FROM { 24 } else { 14 }))
            .font(t.body_strong())
            .color(t.text),
    )
    .on_hover_text(full);
    if let Some(planned) = session.shown() {
        let summary = &planned.summary;
        let buffers = text::counted(summary.buffers, "buffer", "buffers");
        let facts = if summary.ops > 0 && ui.available_width() > OPS_FROM {
            format!("{} · {buffers}", text::counted(summary.ops, "op", "ops"))
        } else {
            buffers
        };
        if ui.available_width() > FACTS_FROM {
            ui.label(RichText::new(facts).font(t.body()).color(t.text3));
        }
    }
}

fn label(ui: &mut Ui, t: &'static Tokens, text: &str) -> egui::Response {
    ui.label(RichText::new(text).font(t.body()).color(t.text3))
}

/// A drop-down with a caption where there is room for one.
pub(crate) fn drop_down(ui: &mut Ui, t: &'static Tokens, name: &str, shown: &str, width: f32, contents: impl FnOnce(&mut Ui)) {
    drop_down_until(ui, t, (name, shown, width), egui::PopupCloseBehavior::CloseOnClick, contents);
}

/// A drop-down that closes when its own behaviour says so.
fn drop_down_until(
    ui: &mut Ui,
    t: &'static Tokens,
    (name, shown, width): (&str, &str, f32),
    close: egui::PopupCloseBehavior,
    contents: impl FnOnce(&mut Ui),
) {
    let caption = (ui.ctx().content_rect().width() >= CAPTIONS_FROM).then(|| label(ui, t, name));
    let response = egui::ComboBox::from_id_salt(name)
        .selected_text(RichText::new(shown).font(t.body_medium()))
        .close_behavior(close)
        .truncate()
        .width(width)
        .height(420.0)
        .show_ui(ui, contents)
        .response;
    match caption {
        Some(caption) => {
            response.labelled_by(caption.id);
            ui.add_space(space::CONTROL_GAP - space::LABEL_GAP);
        }
        None => {
            response.on_hover_text(name);
        }
    }
}

fn plan_ui(ui: &mut Ui, t: &'static Tokens, session: &Session, commands: &CommandSender) {
    let options = &session.options;
    let shown = match session.shown() {
        Some(planned) if options.strategy == "auto" && !session.planned.is_running() => format!("auto: {}", planned.plan.strategy),
        _ => options.strategy.clone(),
    };
    drop_down(ui, t, "Strategy", &shown, 128.0, |ui| strategy_choices(ui, t, session, commands));
    let align = options.prepare.align;
    drop_down(ui, t, "Align", &text::bytes(align.bytes()), 52.0, |ui| {
        for choice in ALIGNMENTS.into_iter().filter_map(Align::new) {
            if ui.selectable_label(choice == align, text::bytes(choice.bytes())).clicked() {
                commands.send(Command::SetAlign(choice));
            }
        }
    });
    let has_graph = session.shown().is_none_or(|planned| planned.prepared.context.is_some());
    if has_graph {
        sharing_ui(ui, t, session, commands);
    }
    capacity_ui(ui, t, session, commands);
    if has_graph {
        // It stays open while the orders are measured.
        let what = ("Order", &*order_menu::shown(options), 62.0);
        let close = egui::PopupCloseBehavior::CloseOnClickOutside;
        drop_down_until(ui, t, what, close, |ui| order_menu::order_menu_ui(ui, t, session, commands));
    }
}

/// What only graphs have: in-place results, and graph inputs and outputs.
fn sharing_ui(ui: &mut Ui, t: &'static Tokens, session: &Session, commands: &CommandSender) {
    let options = &session.options;
    let in_place = options.prepare.alias.in_place;
    drop_down(ui, t, "In-place", if in_place { "on" } else { "off" }, 36.0, |ui| {
        for (on, name) in [(true, "on"), (false, "off")] {
            if ui.selectable_label(on == in_place, name).clicked() {
                commands.send(Command::SetInPlace(on));
            }
        }
    });
    let io = options.prepare.alias.io;
    drop_down(ui, t, "I/O", if io == Io::Arena { "arena" } else { "static" }, 46.0, |ui| {
        for (choice, name) in [(Io::Static, "static: the caller's memory"), (Io::Arena, "arena: planned too")] {
            if ui.selectable_label(choice == io, name).clicked() {
                commands.send(Command::SetIo(choice));
            }
        }
    });
}

fn strategy_choices(ui: &mut Ui, t: &'static Tokens, session: &Session, commands: &CommandSender) {
    let current = &session.options.strategy;
    let has_graph = session.shown().is_none_or(|planned| planned.prepared.context.is_some());
    if ui.selectable_label(current == "auto", "auto").on_hover_text("The best checked plan of the strategies that fit the size").clicked() {
        commands.send(Command::SetStrategy("auto".to_owned()));
    }
    for strategy in strategies() {
        let enabled = has_graph || !strategy.needs_graph;
        let name = if strategy.is_safe {
            RichText::new(strategy.name)
        } else {
            RichText::new(format!("{}  (unsafe, for teaching)", strategy.name)).color(t.warn)
        };
        let choice = ui.add_enabled(enabled, egui::Button::selectable(current == strategy.name, name));
        let choice = choice.on_hover_text(strategy.summary).on_disabled_hover_text("This strategy replays the graph, and the file has none");
        if choice.clicked() {
            commands.send(Command::SetStrategy(strategy.name.to_owned()));
        }
    }
    if let Some(strategy) = find_strategy(current) {
        ui.separator();
        ui.label(RichText::new(strategy.summary).font(t.tick()).color(t.text3));
    }
}

fn colour_ui(ui: &mut Ui, t: &'static Tokens, state: &State, commands: &CommandSender) {
    let current = state.colour_by();
    let is_compared = state.planned().is_some_and(|planned| state.views.strategies.difference(planned).is_some());
    drop_down(ui, t, "Colour", current.name(), 56.0, |ui| {
        for choice in ColourBy::ALL.into_iter().chain(is_compared.then_some(ColourBy::Difference)) {
            if ui.selectable_label(choice == current, choice.name()).clicked() {
                commands.send(Command::SetColour(choice));
            }
        }
    });
}

/// The capacity line: a drop-down with a field.
fn capacity_ui(ui: &mut Ui, t: &'static Tokens, session: &Session, commands: &CommandSender) {
    let capacity = session.options.prepare.capacity_bytes;
    let shown = capacity.map_or_else(|| "none".to_owned(), text::bytes);
    drop_down(ui, t, "Capacity", &shown, 50.0, |ui| {
        let caption = ui.label(RichText::new("Largest arena, for example 8GiB").font(t.body()).color(t.text2));
        let id = ui.scope_id().with("capacity");
        let mut typed = ui.data(|data| data.get_temp::<String>(id)).unwrap_or_default();
        let field = ui.add(egui::TextEdit::singleline(&mut typed).desired_width(180.0)).labelled_by(caption.id);
        match parse_capacity(&typed) {
            Ok(bytes) if field.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter)) => {
                commands.send(Command::SetCapacity(bytes));
                ui.close();
            }
            Ok(_) => {}
            Err(message) => {
                ui.label(RichText::new(message).font(t.tick()).color(t.err));
            }
        }
        ui.data_mut(|data| data.insert_temp(id, typed));
        if ui.selectable_label(capacity.is_none(), "none").clicked() {
            commands.send(Command::SetCapacity(None));
        }
    });
}

/// Reads what a person typed as a capacity; empty means none.
///
/// # Errors
/// A sentence that says what was not understood.
pub fn parse_capacity(text: &str) -> Result<Option<u64>, String> {
    if text.trim().is_empty() { Ok(None) } else { parse_bytes(text).map(Some) }
}
