//! Opening and exporting by path: a field with completion, for when no file dialog can be shown, and always at hand.

use std::path::{Path, PathBuf};

use egui::{Align2, Context, Key, RichText, TextEdit};

use crate::command::{Command, CommandSender};
use crate::draw::{button, primary_button};
use crate::state::PathField;
use crate::theme::Tokens;

/// Most completions shown.
const MAX_COMPLETIONS: usize = 8;

/// Draws the field over the window.
pub fn path_field_ui(ctx: &Context, t: &'static Tokens, field: &mut PathField, commands: &CommandSender) {
    let PathField { text: path, is_export } = field;
    let (title, verb) = if *is_export { ("Export to", "Export") } else { ("Open by path", "Open") };
    let frame = egui::Frame::window(&ctx.global_style()).inner_margin(egui::Margin::same(14));
    egui::Window::new("Open by path")
        .collapsible(false)
        .resizable(false)
        .anchor(Align2::CENTER_TOP, [0.0, 110.0])
        .frame(frame)
        .title_bar(false)
        .show(ctx, |ui| {
            ui.set_width(560.0);
            let caption = ui.label(RichText::new(title).font(t.title()).color(t.text));
            ui.add_space(6.0);
            let edit = TextEdit::singleline(path).hint_text("/home/me/models/unet.onnx").desired_width(f32::INFINITY).margin(egui::vec2(8.0, 6.0));
            let field = ui.add(edit).labelled_by(caption.id);
            if !field.has_focus() && !field.lost_focus() {
                field.request_focus();
            }
            let enter = field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
            let found = completions(path);
            for candidate in &found {
                let text = candidate.display().to_string();
                if ui.selectable_label(false, RichText::new(&text).font(t.mono())).clicked() {
                    *path = if candidate.is_dir() { format!("{text}/") } else { text };
                    field.request_focus();
                }
            }
            ui.add_space(8.0);
            ui.horizontal(|ui| {
                let open = primary_button(ui, t, None, verb).clicked();
                if (open || enter) && !path.trim().is_empty() {
                    let path = PathBuf::from(expand_home(path.trim()));
                    commands.send(if *is_export { Command::Export(path) } else { Command::Open(path) });
                }
                if button(ui, t, None, "Cancel").clicked() {
                    commands.send(Command::Clear);
                }
            });
        });
}

fn expand_home(path: &str) -> String {
    match (path.strip_prefix("~/"), std::env::var("HOME")) {
        (Some(rest), Ok(home)) => format!("{home}/{rest}"),
        _ => path.to_owned(),
    }
}

/// Entries of the typed folder that begin with what was typed after it, folders first.
fn completions(typed: &str) -> Vec<PathBuf> {
    let typed = expand_home(typed);
    let (folder, prefix) =
        typed.rsplit_once('/').map_or((".", typed.as_str()), |(folder, prefix)| (if folder.is_empty() { "/" } else { folder }, prefix));
    if typed.is_empty() {
        return Vec::new();
    }
    let Ok(entries) = std::fs::read_dir(Path::new(folder)) else { return Vec::new() };
    // A folder may be huge or slow; a few thousand names are enough to complete from.
    let names = entries.take(4000).filter_map(Result::ok);
    let mut found: Vec<PathBuf> = names
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| entry.path())
        .filter(|path| path.as_os_str() != typed.as_str())
        .collect();
    found.sort_by_key(|path| (!path.is_dir(), path.clone()));
    found.truncate(MAX_COMPLETIONS);
    found
}
