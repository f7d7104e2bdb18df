//! The menu bar: logo, menus from the command table, search, theme.

use egui::{Align, Layout, RichText, Ui};

use crate::command::{COMMANDS, Command, CommandSender, MENUS, entry_of, shortcut_text};
use crate::draw::{keycap, segmented, tool_button};
use crate::theme::{Icon, ThemeKind, Tokens, space};
use crate::views::Pane;

/// Draws the bar.
pub fn menu_bar_ui(ui: &mut Ui, t: &'static Tokens, commands: &CommandSender, has_file: bool, maximised: Option<Pane>) {
    let frame = egui::Frame::new().fill(t.bg2).inner_margin(egui::Margin::symmetric(10, 0));
    egui::Panel::top("menu-bar").exact_size(space::MENU_BAR).frame(frame).show(ui, |ui| {
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            logo_ui(ui, 18.0);
            ui.add_space(6.0);
            menus_ui(ui, t, commands, has_file);
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                let (icon, name) = match t.kind {
                    ThemeKind::Dark => (Icon::MOON, "Theme: dark"),
                    ThemeKind::Light => (Icon::SUN, "Theme: light"),
                    ThemeKind::Projector => (Icon::PROJECTOR_SCREEN, "Theme: projector"),
                };
                if tool_button(ui, t, icon, name).clicked() {
                    commands.send(Command::NextTheme);
                }
                if has_file {
                    search_ui(ui, t, commands);
                    modes_ui(ui, t, commands, maximised);
                }
            });
        });
    });
}

/// The views together, or the plan on a device.
fn modes_ui(ui: &mut Ui, t: &'static Tokens, commands: &CommandSender, maximised: Option<Pane>) {
    ui.add_space(6.0);
    let is_run = maximised == Some(Pane::Run);
    let mut wants_run = is_run;
    if segmented(ui, t, &mut wants_run, &[(false, "Explore"), (true, "Run")], space::CONTROL) {
        commands.send(Command::Maximise(wants_run.then_some(Pane::Run)));
    }
}

fn menus_ui(ui: &mut Ui, t: &'static Tokens, commands: &CommandSender, has_file: bool) {
    ui.spacing_mut().item_spacing.x = 2.0;
    for menu in MENUS {
        egui::containers::menu::MenuButton::from_button(
            egui::Button::new(RichText::new(menu).font(t.menu()).color(t.text)).frame_when_inactive(false),
        )
        .ui(ui, |ui| {
            ui.set_min_width(220.0);
            for entry in COMMANDS.iter().filter(|entry| entry.menu == menu) {
                let enabled = has_file || !entry.needs_file;
                let button = egui::Button::new(RichText::new(entry.text).font(t.body())).shortcut_text(shortcut_text(ui.ctx(), &entry.command));
                let response = ui.add_enabled(enabled, button).on_hover_text(entry.tooltip).on_disabled_hover_text("Open a file first");
                if response.clicked() {
                    commands.send(entry.command.clone());
                    ui.close();
                }
            }
        });
    }
}

/// A field-like button that leads to the table's filter.
fn search_ui(ui: &mut Ui, t: &'static Tokens, commands: &CommandSender) {
    ui.add_space(6.0);
    let frame = egui::Frame::new()
        .fill(t.bg0)
        .stroke(egui::Stroke::new(1.0, t.line2))
        .corner_radius(crate::theme::radius::CONTROL)
        .inner_margin(egui::Margin::symmetric(8, 3));
    let response = frame
        .show(ui, |ui| {
            ui.set_width(280.0);
            ui.set_height(20.0);
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                ui.spacing_mut().item_spacing.x = 6.0;
                ui.label(Icon::MAGNIFYING_GLASS.text(14.0, t.text3));
                ui.label(RichText::new("Find a buffer, op, @step, >1MiB").font(t.body()).color(t.text3));
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    keycap(ui, t, &shortcut_text(ui.ctx(), &Command::Find));
                });
            });
        })
        .response;
    let tooltip = entry_of(&Command::Find).map_or("", |entry| entry.tooltip);
    let click = ui.interact(response.rect, ui.scope_id().with("search"), egui::Sense::click()).on_hover_text(tooltip);
    click.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, "Find"));
    if click.clicked() {
        commands.send(Command::Find);
    }
}

/// The program's mark: three rectangles in a rounded square.
pub fn logo_ui(ui: &mut Ui, side: f32) {
    let (rect, _) = ui.allocate_exact_size(egui::Vec2::splat(side), egui::Sense::hover());
    let painter = ui.painter();
    let accent = ThemeKind::Dark.tokens().accent;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a corner of a few points")]
    let corner = (side * 0.19) as u8;
    painter.rect_filled(rect, corner, accent);
    let part = |x: f32, y: f32, w: f32, h: f32| egui::Rect::from_min_size(rect.min + egui::vec2(x, y) * side, egui::vec2(w, h) * side);
    let ink = ThemeKind::Light.tokens().bg2;
    painter.rect_filled(part(0.2, 0.2, 0.24, 0.26), 1, ink.gamma_multiply(0.7));
    painter.rect_filled(part(0.2, 0.52, 0.4, 0.28), 1, ink);
    painter.rect_filled(part(0.66, 0.34, 0.15, 0.46), 1, ink.gamma_multiply(0.8));
}
