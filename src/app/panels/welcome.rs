//! The first screen: what can be opened, what was opened, and samples to begin with.

use egui::{Align, Align2, CornerRadius, Layout, Rect, RichText, Sense, Stroke, StrokeKind, Ui, UiBuilder, Vec2, pos2, vec2};

use super::menu_bar::logo_ui;
use crate::command::{Command, CommandSender, shortcut_text};
use crate::draw::{button, dashed_line, dashed_rect, keycap, primary_button};
use crate::samples::{SAMPLES, Thumbnail};
use crate::small_picture;
use crate::state::{Sample, State};
use crate::text;
use crate::theme::{Icon, Tokens, radius, stroke};

/// Widths of the two columns and the space between them.
const COLUMNS: [f32; 3] = [540.0, 616.0, 60.0];
const CARD_GAP: f32 = 16.0;
const PICTURE_HEIGHT: f32 = 142.0;

/// Draws the screen.
pub fn welcome_ui(ui: &mut Ui, t: &'static Tokens, state: &State, commands: &CommandSender) {
    let rect = ui.available_rect_before_wrap();
    ui.painter().rect_filled(rect, 0.0, t.bg0);
    let scroll = egui::ScrollArea::vertical().auto_shrink(false);
    scroll.show(ui, |ui| {
        let wide = rect.width() >= COLUMNS.iter().sum::<f32>() + 40.0;
        let total = if wide { COLUMNS.iter().sum::<f32>() } else { COLUMNS[0].min(rect.width() - 48.0) };
        let left = (rect.width() - total) / 2.0;
        ui.add_space(if rect.height() > 760.0 { 64.0 } else { 28.0 });
        ui.horizontal_top(|ui| {
            ui.add_space(left);
            ui.vertical(|ui| {
                ui.set_width(if wide { COLUMNS[0] } else { total });
                left_column(ui, t, state, commands);
                if !wide {
                    ui.add_space(20.0);
                    samples_ui(ui, t, state, commands);
                }
            });
            if wide {
                ui.add_space(COLUMNS[2]);
                ui.vertical(|ui| {
                    ui.set_width(COLUMNS[1]);
                    samples_ui(ui, t, state, commands);
                });
            }
        });
    });
}

fn left_column(ui: &mut Ui, t: &'static Tokens, state: &State, commands: &CommandSender) {
    ui.horizontal(|ui| {
        logo_ui(ui, 52.0);
        ui.add_space(10.0);
        ui.vertical(|ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            ui.label(RichText::new("Arenascope").font(t.display()).color(t.text));
            ui.label(
                RichText::new("See where every tensor lives, and why.").font(crate::theme::font(16.0, crate::theme::Weight::Regular)).color(t.text2),
            );
        });
    });
    ui.add_space(26.0);
    drop_target(ui, t, commands);
    ui.add_space(24.0);
    recent_ui(ui, t, state, commands);
}

fn drop_target(ui: &mut Ui, t: &'static Tokens, commands: &CommandSender) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 196.0), Sense::hover());
    let hovering = ui.input(|input| !input.raw.hovered_files.is_empty());
    ui.painter().rect_filled(rect, CornerRadius::same(radius::DROP), if hovering { t.accentbg } else { t.bg1 });
    dashed_rect(ui.painter(), rect.shrink(0.5), stroke::CURVE, if hovering { t.accent } else { t.line2 }, stroke::DASH_GUIDE);
    let mut inner = ui.new_child(UiBuilder::new().max_rect(rect.shrink2(vec2(16.0, 24.0))).layout(Layout::top_down(Align::Center)));
    inner.label(Icon::DOWNLOAD_SIMPLE.text(32.0, t.accent));
    inner.add_space(8.0);
    inner.label(RichText::new("Drop a model or a planning problem anywhere").font(t.title()).color(t.text));
    inner.label(RichText::new("ONNX, op-list JSON, minimalloc CSV").font(t.body()).color(t.text3));
    inner.add_space(14.0);
    let row = Rect::from_min_size(pos2(rect.center().x - 152.0, inner.cursor().top()), vec2(400.0, 34.0));
    let mut row = inner.new_child(UiBuilder::new().max_rect(row).layout(Layout::left_to_right(Align::Center)));
    let keys = shortcut_text(row.ctx(), &Command::OpenDialog);
    keycap(&mut row, t, &keys);
    if primary_button(&mut row, t, Some(Icon::FOLDER_OPEN), "Open a file").clicked() {
        commands.send(Command::OpenDialog);
    }
    if button(&mut row, t, None, "Open by path").clicked() {
        commands.send(Command::OpenByPath);
    }
    let keys = shortcut_text(row.ctx(), &Command::OpenByPath);
    keycap(&mut row, t, &keys);
}

fn recent_ui(ui: &mut Ui, t: &'static Tokens, state: &State, commands: &CommandSender) {
    if state.settings.recent.is_empty() {
        return;
    }
    ui.horizontal(|ui| {
        ui.label(RichText::new("Recent").font(t.menu_strong()).color(t.text));
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            if ui.add(egui::Button::new(RichText::new("clear").font(t.body()).color(t.text3)).frame(false)).clicked() {
                commands.send(Command::ClearRecent);
            }
        });
    });
    ui.add_space(4.0);
    for path in &state.settings.recent {
        let name = path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
        let folder = path.parent().map(|folder| folder.display().to_string()).unwrap_or_default();
        let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 28.0), Sense::click());
        if response.hovered() {
            ui.painter().rect_filled(rect, CornerRadius::same(radius::CONTROL), t.hoverbg);
        }
        let y = rect.center().y;
        crate::draw::paint_icon(ui.painter(), pos2(rect.left() + 12.0, y), Icon::FILE, 15.0, t.text3);
        ui.painter().text(pos2(rect.left() + 30.0, y), Align2::LEFT_CENTER, text::middle_cut(&name, 44), t.menu(), t.text);
        ui.painter().text(pos2(rect.right() - 6.0, y), Align2::RIGHT_CENTER, text::middle_cut(&folder, 34), t.body(), t.text3);
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Open {name}")));
        if response.on_hover_text(path.display().to_string()).clicked() {
            commands.send(Command::Open(path.clone()));
        }
    }
}

fn samples_ui(ui: &mut Ui, t: &'static Tokens, state: &State, commands: &CommandSender) {
    ui.horizontal(|ui| {
        ui.label(RichText::new("Samples").font(t.menu_strong()).color(t.text));
        ui.label(RichText::new("built in, one click").font(t.body()).color(t.text3));
    });
    ui.add_space(6.0);
    let n_columns = if ui.available_width() >= 560.0 { 2 } else { 1 };
    #[expect(clippy::cast_precision_loss, reason = "one or two columns")]
    let width = (ui.available_width() - CARD_GAP * (n_columns - 1) as f32) / n_columns as f32;
    let indices: Vec<usize> = (0..SAMPLES.len()).collect();
    for row in indices.chunks(n_columns) {
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = CARD_GAP;
            for &index in row {
                card_ui(ui, t, index, state.views.thumbnails.get(index), width, commands);
            }
        });
        ui.add_space(CARD_GAP - 8.0);
    }
}

fn card_ui(ui: &mut Ui, t: &'static Tokens, index: usize, thumbnail: Option<&Thumbnail>, width: f32, commands: &CommandSender) {
    let sample = &SAMPLES[index];
    let (rect, response) = ui.allocate_exact_size(vec2(width, PICTURE_HEIGHT + 66.0), Sense::click());
    let hovered = response.hovered() || response.has_focus();
    let border = if hovered { Stroke::new(2.0, t.accent) } else { Stroke::new(1.0, t.line) };
    ui.painter().rect(rect, CornerRadius::same(radius::CARD), if hovered { t.hoverbg } else { t.bg1 }, border, StrokeKind::Inside);
    let picture = Rect::from_min_size(rect.min + Vec2::splat(7.0), vec2(width - 14.0, PICTURE_HEIGHT - 6.0));
    ui.painter().rect_filled(picture, CornerRadius::same(radius::CONTROL), t.chart);
    if let Some(thumbnail) = thumbnail {
        thumbnail_ui(ui, t, picture.shrink(2.0), thumbnail);
        let n = text::counted(thumbnail.n_buffers as u64, "buffer", "buffers");
        ui.painter().text(pos2(rect.right() - 12.0, picture.bottom() + 18.0), Align2::RIGHT_CENTER, n, t.body(), t.text3);
    }
    let at = pos2(rect.left() + 12.0, picture.bottom() + 18.0);
    ui.painter().text(at, Align2::LEFT_CENTER, sample.title, t.menu_strong(), t.text);
    let facts = thumbnail.map_or(sample.hint.to_owned(), |thumbnail| thumbnail.facts(sample.hint));
    ui.painter().text(at + vec2(0.0, 22.0), Align2::LEFT_CENTER, facts, t.body(), t.text2);
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Open sample {}", sample.title)));
    if response.clicked() {
        commands.send(Command::OpenSample(Sample { index }));
    }
}

fn thumbnail_ui(ui: &Ui, t: &'static Tokens, frame: Rect, thumbnail: &Thumbnail) {
    let painter = ui.painter_at(frame);
    small_picture::paint(&painter, t, frame, &thumbnail.parts, (frame.height() - 6.0) / frame.height());
    let y = frame.top() + 5.0;
    dashed_line(&painter, [pos2(frame.left(), y), pos2(frame.right(), y)], stroke::CURVE, t.bound, stroke::DASH_BOUND);
}
