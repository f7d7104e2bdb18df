//! Drawing a sheet: labels at the left, values that wrap beside them, rows that lead somewhere.

use egui::{
    Align, Align2, CornerRadius, FontId, Galley, Label, Layout, Rect, Response, RichText, Role as SpokenRole, Sense, Stroke, StrokeKind, Ui,
    UiBuilder, WidgetInfo, pos2, vec2,
};

use super::sheet::{Block, Head, Piece, Row, Sheet};
use crate::command::Command;
use crate::ctx::ViewCtx;
use crate::draw::{icon_button, pill, small_button};
use crate::selection::{Highlight, Item};
use crate::text;
use crate::theme::{Icon, Tokens, radius, space, stroke};

/// Width of the labels, points at the text size of a desk.
const LABELS: f32 = 98.0;
/// Text size at which the widths above were chosen.
const DESK_BODY: f32 = 12.0;
/// Height of a line of facts.
const LINE: f32 = 18.0;
/// Side of the colour beside a title, and beside a row.
const SWATCHES: [f32; 2] = [15.0, 9.0];

/// Draws all blocks from top to bottom.
pub(super) fn sheet(ui: &mut Ui, ctx: &ViewCtx<'_>, sheet: &Sheet) {
    ui.spacing_mut().item_spacing = vec2(6.0, 2.0);
    let mut was_rule = true;
    for block in &sheet.blocks {
        let is_rule = matches!(block, Block::Rule);
        if !(is_rule && was_rule) {
            draw(ui, ctx, block);
        }
        was_rule = is_rule;
    }
    ui.add_space(space::PADDING);
}

fn draw(ui: &mut Ui, ctx: &ViewCtx<'_>, block: &Block) {
    let t = ctx.tokens;
    match block {
        Block::Head(of) => head(ui, ctx, of),
        Block::Fact(label, pieces) => fact(ui, ctx, label, pieces),
        Block::Rule => rule(ui, t),
        Block::Heading(title, facts) => heading(ui, t, title, facts),
        Block::Row(of) => row(ui, ctx, of),
        Block::Text(text) => paragraph(ui, RichText::new(text).font(t.body()).color(t.text2)),
        Block::Note(text) => paragraph(ui, RichText::new(text).font(t.body()).color(t.text3)),
        Block::Fault(text) => paragraph(ui, RichText::new(text).font(t.body()).color(t.err)),
        Block::Warning(text) => paragraph(ui, RichText::new(text).font(t.body_medium()).color(t.warn)),
        Block::Good(text) => paragraph(ui, RichText::new(text).font(t.body()).color(t.ok)),
        Block::Order { order, saved_bytes } => order_button(ui, ctx, *order, *saved_bytes),
        Block::Bar(parts) => bar(ui, ctx, parts),
        Block::ZoomButton => {
            ui.add_space(4.0);
            if small_button(ui, t, Some(Icon::CROSSHAIR), "Zoom to it").clicked() {
                ctx.send(Command::ZoomToSelection);
            }
            ui.add_space(4.0);
        }
    }
}

/// An order that lowers the peak, and the button that plans with it.
fn order_button(ui: &mut Ui, ctx: &ViewCtx<'_>, order: arenascope_planner::order::Order, saved_bytes: u64) {
    let t = ctx.tokens;
    ui.horizontal(|ui| {
        ui.add_space(6.0);
        if small_button(ui, t, Some(Icon::SORT_ASCENDING), &format!("Run in order {}", order.name())).on_hover_text(order.summary()).clicked() {
            ctx.send(Command::SetOrder(order));
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.add(Label::new(RichText::new(text::change_bytes(saved_bytes, 0)).font(t.body()).color(t.text3)).selectable(false));
        });
    });
    ui.add_space(2.0);
}

fn paragraph(ui: &mut Ui, text: RichText) {
    ui.add(Label::new(text).wrap().selectable(true));
    ui.add_space(2.0);
}

fn rule(ui: &mut Ui, t: &Tokens) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 11.0), Sense::hover());
    ui.painter().hline(rect.x_range(), rect.center().y.floor() + 0.5, Stroke::new(stroke::HAIR, t.line));
}

fn heading(ui: &mut Ui, t: &Tokens, title: &str, facts: &str) {
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 8.0;
        ui.add(Label::new(RichText::new(title).font(t.body_strong()).color(t.text)).selectable(false));
        if !facts.is_empty() {
            ui.add(Label::new(RichText::new(facts).font(t.body()).color(t.text3)).selectable(false).truncate());
        }
    });
    ui.add_space(1.0);
}

fn head(ui: &mut Ui, ctx: &ViewCtx<'_>, head: &Head) {
    let t = ctx.tokens;
    ui.add_space(4.0);
    if head.swatch.is_none() && head.role.is_none() {
        ui.add(Label::new(RichText::new(&head.title).font(t.title()).color(t.text)).wrap());
    } else {
        head_line(ui, ctx, head);
    }
    if !head.full.is_empty() {
        full_name(ui, t, &head.full);
    }
    ui.add_space(4.0);
}

/// Swatch, number and name at the left, the role at the right.
fn head_line(ui: &mut Ui, ctx: &ViewCtx<'_>, head: &Head) {
    let t = ctx.tokens;
    let (line, _) = ui.allocate_exact_size(vec2(ui.available_width(), t.size.title + 9.0), Sense::hover());
    let mut left = line.left();
    if let Some(buffer) = head.swatch {
        let rect = Rect::from_min_size(pos2(left, line.center().y - SWATCHES[0] / 2.0), vec2(SWATCHES[0], SWATCHES[0]));
        swatch(ui, ctx, rect, buffer);
        left = rect.right() + 9.0;
    }
    let mut right = line.right();
    if let Some(role) = head.role {
        let mut corner = ui.new_child(UiBuilder::new().max_rect(line).layout(Layout::right_to_left(Align::Center)));
        right = pill(&mut corner, t, t.role(role), role.name()).rect.left() - 8.0;
    }
    let room = (right - left).max(0.0);
    let number = if head.number.is_empty() { String::new() } else { format!("{}  ", head.number) };
    let width = |text: &str| ui.painter().layout_no_wrap(text.to_owned(), t.title(), t.text).size().x;
    let title = text::middle_cut_to_fit(&head.title, |title| width(&format!("{number}{title}")) <= room);
    let at = Rect::from_min_max(pos2(left, line.top()), pos2(right, line.bottom()));
    let mut words = ui.new_child(UiBuilder::new().max_rect(at).layout(Layout::left_to_right(Align::Center)));
    let label = words.add(Label::new(RichText::new(format!("{number}{title}")).font(t.title()).color(t.text)).selectable(false));
    if title != head.title {
        label.on_hover_text(&head.title);
    }
}

fn swatch(ui: &Ui, ctx: &ViewCtx<'_>, rect: Rect, buffer: arenascope_planner::ids::BufferId) {
    let fill = ctx.colours.of(buffer);
    let line = Stroke::new(stroke::HAIR, ctx.tokens.outline(fill));
    ui.painter().rect(rect, CornerRadius::same(radius::RECT), fill, line, StrokeKind::Inside);
}

/// A long name on one line with both ends, whole on hover, with a button that copies it.
fn full_name(ui: &mut Ui, t: &Tokens, name: &str) {
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        let room = (ui.available_width() - space::HIT - 6.0).max(20.0);
        let width = |text: &str| ui.painter().layout_no_wrap(text.to_owned(), t.mono_tick(), t.text3).size().x;
        let shown = text::middle_cut_to_fit(name, |text| width(text) <= room);
        ui.add(Label::new(RichText::new(shown).font(t.mono_tick()).color(t.text3)).selectable(false)).on_hover_text(name);
        if icon_button(ui, t, Icon::COPY_SIMPLE, "Copy the name").clicked() {
            ui.ctx().copy_text(name.to_owned());
        }
    });
}

fn fact(ui: &mut Ui, ctx: &ViewCtx<'_>, label: &str, pieces: &[Piece]) {
    let t = ctx.tokens;
    let labels = LABELS * t.size.body / DESK_BODY;
    let line = LINE * t.size.body / DESK_BODY;
    ui.horizontal_top(|ui| {
        ui.spacing_mut().item_spacing.x = 0.0;
        let (at, _) = ui.allocate_exact_size(vec2(labels, line), Sense::hover());
        ui.painter().text(at.left_center(), Align2::LEFT_CENTER, label, t.body(), t.text3);
        let room = vec2(ui.available_width(), line);
        ui.allocate_ui_with_layout(room, Layout::left_to_right(Align::Center).with_main_wrap(true), |ui| {
            ui.spacing_mut().item_spacing = vec2(8.0, 0.0);
            ui.spacing_mut().interact_size.y = line;
            ui.set_row_height(line);
            for piece in pieces {
                self::piece(ui, ctx, piece);
            }
        });
    });
}

fn piece(ui: &mut Ui, ctx: &ViewCtx<'_>, piece: &Piece) {
    let t = ctx.tokens;
    let mut words = |text: &str, font: FontId, colour| {
        ui.add(Label::new(RichText::new(text).font(font).color(colour)).selectable(true));
    };
    match piece {
        Piece::Strong(text) => words(text, t.body_strong(), t.text),
        Piece::Plain(text) => words(text, t.body(), t.text2),
        Piece::Mono(text) => words(text, t.mono_tick(), t.text2),
        Piece::Bad(text) => words(text, t.body_strong(), t.err),
        Piece::Good(text) => words(text, t.body_strong(), t.ok),
        Piece::Warn(text) => words(text, t.body_medium(), t.warn),
        Piece::Unknown(why) => {
            words(text::UNKNOWN, t.body_strong(), t.warn);
            words(why, t.body(), t.text2);
        }
        Piece::Link(text, item) => {
            let response = ui.add(egui::Link::new(RichText::new(text).font(t.body_medium())));
            follow(ctx, &response, *item);
        }
        Piece::Filter { text, filter } => {
            let response = ui.add(egui::Link::new(RichText::new(text).font(t.body_medium()))).on_hover_text("Show them in the table");
            if response.clicked() {
                if ctx.maximised.is_some() {
                    ctx.send(Command::Maximise(None));
                }
                ctx.send(Command::ShowFoot(crate::views::Pane::Table));
                ctx.send(Command::SetFilter((*filter).to_owned()));
            }
        }
        Piece::Copy { text, name } => {
            if copy_button(ui, t, name).clicked() {
                ui.ctx().copy_text(text.clone());
            }
        }
    }
}

/// A small icon that fits a line of facts.
fn copy_button(ui: &mut Ui, t: &Tokens, name: &str) -> Response {
    let (rect, response) = ui.allocate_exact_size(vec2(space::HIT, ui.spacing().interact_size.y), Sense::click());
    let ink = if response.hovered() { t.text } else { t.text3 };
    crate::draw::paint_icon(ui.painter(), pos2(rect.left() + 7.0, rect.center().y), Icon::COPY_SIMPLE, 13.0, ink);
    response.widget_info(|| WidgetInfo::labeled(SpokenRole::Button, true, name));
    response.on_hover_text(name)
}

/// A click selects, the pointer highlights everywhere.
fn follow(ctx: &ViewCtx<'_>, response: &Response, item: Item) {
    if response.hovered() {
        ctx.hover(item);
    }
    if response.clicked() {
        ctx.select(item);
    }
}

fn row(ui: &mut Ui, ctx: &ViewCtx<'_>, row: &Row) {
    let t = ctx.tokens;
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), space::TABLE_ROW.max(t.size.body + 9.0)), Sense::click());
    follow(ctx, &response, row.item);
    response.widget_info(|| WidgetInfo::labeled(SpokenRole::Link, true, format!("{} {} {}", row.strong, row.text, row.right)));
    if !ui.is_rect_visible(rect) {
        return;
    }
    let highlight = ctx.highlight(row.item);
    if response.hovered() || highlight == Highlight::Hovered {
        ui.painter().rect_filled(rect, CornerRadius::same(radius::CONTROL), t.hoverbg);
    }
    if response.has_focus() {
        ui.painter().rect_stroke(rect, CornerRadius::same(radius::CONTROL), Stroke::new(stroke::STRONG, t.accent), StrokeKind::Inside);
    }
    let mut left = rect.left() + 6.0;
    if let Some(buffer) = row.swatch {
        let at = Rect::from_center_size(pos2(left + SWATCHES[1] / 2.0, rect.center().y), vec2(SWATCHES[1], SWATCHES[1]));
        swatch(ui, ctx, at, buffer);
        left = at.right() + 8.0;
    }
    let put = |text: &str, font: FontId, colour, from: f32, to: f32| {
        let galley = one_line(ui, text, font, colour, to - from);
        let size = galley.size();
        ui.painter().galley(pos2(from, rect.center().y - size.y / 2.0), galley, colour);
        size.x
    };
    let width_of_right = one_line(ui, &row.right, t.body(), t.text2, rect.width() * 0.5).size().x;
    let end = rect.right() - 6.0 - width_of_right;
    let strong = put(&row.strong, t.body_strong(), t.text, left, end - 8.0);
    put(&row.text, t.body(), t.text2, left + strong + 8.0, end - 10.0);
    put(&row.right, t.body(), t.text3, end, rect.right());
}

/// Text on one line, cut at the end where there is no room.
fn one_line(ui: &Ui, text: &str, font: FontId, colour: egui::Color32, room: f32) -> std::sync::Arc<Galley> {
    let mut job = egui::text::LayoutJob::simple_singleline(text.to_owned(), font, colour);
    job.wrap = egui::text::TextWrapping::truncate_at_width(room.max(0.0));
    ui.painter().layout_job(job)
}

/// Bytes side by side; each part answers to the pointer.
fn bar(ui: &mut Ui, ctx: &ViewCtx<'_>, parts: &[(Option<arenascope_planner::ids::BufferId>, u64)]) {
    let t = ctx.tokens;
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 16.0), Sense::click());
    let total: f64 = parts.iter().map(|&(_, bytes)| crate::views::chart::step_value(bytes)).sum();
    let mut batch = crate::draw::RectBatch::new(ui.painter(), t, crate::draw::Detail::Full);
    let mut from = 0.0;
    for &(buffer, bytes) in parts {
        let to = from + crate::views::chart::step_value(bytes);
        #[expect(clippy::cast_possible_truncation, reason = "a position on the screen")]
        let at = |value: f64| rect.left() + (value / total.max(1.0)) as f32 * rect.width();
        let part = Rect::from_x_y_ranges(at(from)..=at(to), rect.y_range());
        from = to;
        batch.add(part, buffer.map_or(t.bg3, |buffer| ctx.fill(buffer).0));
        if let (Some(buffer), true) = (buffer, response.hover_pos().is_some_and(|pointer| part.contains(pointer))) {
            follow(ctx, &response, Item::Buffer(buffer));
        }
    }
    batch.paint(ui.painter());
    let label = format!("{} side by side", text::counted(parts.len() as u64, "buffer", "buffers"));
    response.widget_info(|| WidgetInfo::labeled(SpokenRole::GraphicsObject, true, &label));
    ui.add_space(3.0);
}
