//! All keys and gestures in one card.

use egui::{Align2, Context, RichText};

use crate::command::{COMMANDS, Command, CommandSender};
use crate::draw::{button, keycap};
use crate::theme::Tokens;

/// Gestures that are no keys.
const GESTURES: [(&str, &str); 7] = [
    ("drag", "pan"),
    ("Ctrl+wheel", "zoom at the pointer"),
    ("Shift+Ctrl+wheel", "zoom bytes alone"),
    ("right-drag", "zoom into a range of steps"),
    ("Shift+drag", "mark steps and see their peak"),
    ("double-click", "show everything"),
    ("drag the numbers at the left", "zoom bytes alone"),
];

/// Draws the card over the window.
pub fn help_ui(ctx: &Context, t: &'static Tokens, commands: &CommandSender) {
    let frame = egui::Frame::window(&ctx.global_style()).inner_margin(egui::Margin::same(16));
    egui::Window::new("Keys").collapsible(false).resizable(false).anchor(Align2::CENTER_CENTER, [0.0, 0.0]).frame(frame).title_bar(false).show(ctx, |ui| {
        ui.label(RichText::new("Keys and gestures").font(t.title()).color(t.text));
        ui.add_space(8.0);
        ui.columns(2, |columns| {
            let with_keys: Vec<_> = COMMANDS.iter().filter(|entry| !entry.keys.is_empty()).collect();
            for (index, entry) in with_keys.iter().enumerate() {
                let column = &mut columns[usize::from(index * 2 >= with_keys.len())];
                column.horizontal(|ui| {
                    keycap(ui, t, &ui.ctx().format_shortcut(&entry.keys[0]));
                    ui.label(RichText::new(entry.text).font(t.body()).color(t.text2));
                });
            }
        });
        ui.add_space(8.0);
        for (gesture, meaning) in GESTURES {
            ui.horizontal(|ui| {
                ui.label(RichText::new(gesture).font(t.body_medium()).color(t.text));
                ui.label(RichText::new(meaning).font(t.body()).color(t.text2));
            });
        }
        ui.add_space(8.0);
        if button(ui, t, None, "Close").clicked() {
            commands.send(Command::ToggleHelp);
        }
    });
}
