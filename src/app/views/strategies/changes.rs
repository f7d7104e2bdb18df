//! Choosing a plan to compare with, and the list of what differs.

use arenascope_planner::diff::PlacedBuffer;
use egui::{Align2, Color32, CornerRadius, Mesh, Painter, Rect, RichText, ScrollArea, Sense, Shape, Stroke, StrokeKind, Ui, pos2, vec2};

use super::{Against, ChangedBuffer, Comparison, Difference, Move, Outcome};
use crate::colours::{move_fill, move_pattern};
use crate::command::Command;
use crate::ctx::ViewCtx;
use crate::draw::{icon_button, paint_icon, pattern, small_button};
use crate::selection::{Highlight, Item};
use crate::text;
use crate::theme::{Icon, Tokens, radius, space, stroke};
use crate::views::inspector::own_name;

/// The button that chooses the other plan, and the one that ends the comparison; added from right to left.
pub(super) fn menu(ui: &mut Ui, ctx: &ViewCtx<'_>, comparison: Option<&Comparison>, against: Option<&Against>) {
    let t = ctx.tokens;
    if against.is_some() && icon_button(ui, t, Icon::X, "Stop comparing plans").clicked() {
        ctx.send(Command::CompareWith(None));
    }
    let words = against.map_or_else(|| "Compare with…".to_owned(), |against| format!("Against {}", against.name(ctx.planned)));
    let button = small_button(ui, t, None, &text::middle_cut(&words, 34));
    egui::Popup::menu(&button).show(|ui| {
        ui.set_min_width(190.0);
        ui.label(RichText::new("Show what differs from the plan of").font(t.body()).color(t.text3));
        let choice = |ui: &mut Ui, name: &str, other: Against| {
            if ui.selectable_label(Some(&other) == against, name).clicked() {
                ctx.send(Command::CompareWith(Some(other)));
                ui.close();
            }
        };
        if ctx.planned.prepared.workload.observed.is_some() {
            choice(ui, &Against::Observed.name(ctx.planned), Against::Observed);
        }
        let Some(comparison) = comparison else {
            ui.label(RichText::new("the strategies still run").font(t.body()).color(t.text3));
            return;
        };
        for row in &comparison.rows {
            if matches!(row.outcome, Outcome::Plan { .. }) {
                choice(ui, row.name, Against::Strategy(row.name.to_owned()));
            }
        }
    });
}

/// The totals and every change.
pub(super) fn list(ui: &mut Ui, ctx: &ViewCtx<'_>, against: &Against, comparison: Option<&Comparison>) {
    let t = ctx.tokens;
    let area = ui.available_rect_before_wrap();
    ui.painter().vline(area.left() + 0.5, area.y_range(), Stroke::new(stroke::HAIR, t.line));
    let Some(difference) = ctx.difference else {
        let words = match (against, comparison) {
            (Against::Strategy(name), Some(comparison)) if comparison.plan(name).is_none() => {
                format!("{name} has no plan for these settings")
            }
            (Against::Strategy(name), None) => format!("{name} is being run with these settings…"),
            _ => "Working out what differs…".to_owned(),
        };
        ui.painter().text(area.center(), Align2::CENTER_CENTER, words, t.body(), t.text3);
        return;
    };
    totals(ui, ctx, difference);
    if difference.changes.is_empty() {
        ui.painter().text(ui.available_rect_before_wrap().center(), Align2::CENTER_CENTER, "Every buffer is where it was", t.body(), t.text3);
        return;
    }
    let height = row_height(t);
    ScrollArea::vertical().id_salt("changes").auto_shrink(false).show_rows(ui, height, difference.changes.len(), |ui, range| {
        for change in &difference.changes[range] {
            row(ui, ctx, change);
        }
    });
}

fn row_height(t: &Tokens) -> f32 {
    space::TABLE_ROW.max(t.size.body + 8.0)
}

/// Both arenas, how many buffers moved each way, and the other kinds of change.
fn totals(ui: &mut Ui, ctx: &ViewCtx<'_>, difference: &Difference) {
    let t = ctx.tokens;
    let line = row_height(t);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 2.0 * line), Sense::hover());
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect.with_min_x(rect.left() + 1.0), 0.0, t.bg2);
    painter.hline(rect.x_range(), rect.bottom() - 0.5, Stroke::new(stroke::HAIR, t.line));
    let (old, new) = (difference.other_bytes, ctx.planned.plan.arena_bytes);
    let change = if old == new { "the same size".to_owned() } else { text::change_bytes(old, new) };
    let words = format!("{} {} → {} {}", difference.against.name(ctx.planned), text::bytes(old), ctx.planned.plan.strategy, text::bytes(new));
    let room = rect.width() - 24.0;
    let y = rect.top() + line / 2.0;
    let galley = painter.layout_no_wrap(change, t.body(), if new < old { t.ok } else { t.text2 });
    let left_room = room - galley.size().x - 10.0;
    let width = |text: &str| painter.layout_no_wrap(text.to_owned(), t.body_strong(), t.text).size().x;
    painter.text(
        pos2(rect.left() + 12.0, y),
        Align2::LEFT_CENTER,
        text::middle_cut_to_fit(&words, |words| width(words) <= left_room),
        t.body_strong(),
        t.text,
    );
    painter.galley(Align2::RIGHT_CENTER.anchor_size(pos2(rect.right() - 12.0, y), galley.size()).min, galley, t.text2);
    let mut x = rect.left() + 12.0;
    let y = y + line;
    for moved in Move::ALL {
        let n = difference.n_moved(moved);
        if n == 0 && moved == Move::Other {
            continue;
        }
        swatch(&painter, t, Rect::from_center_size(pos2(x + 5.0, y), vec2(10.0, 10.0)), moved);
        x = painter.text(pos2(x + 14.0, y), Align2::LEFT_CENTER, format!("{} {}", text::count(n), moved.name()), t.tick(), t.text2).right() + 10.0;
    }
    let others: Vec<String> =
        difference.counts().iter().skip(1).filter(|(_, n)| *n > 0).map(|(change, n)| format!("{} {change}", text::count(*n))).collect();
    if !others.is_empty() {
        painter.text(pos2(x, y), Align2::LEFT_CENTER, others.join(", "), t.tick(), t.text2);
    }
    let label = totals_words(difference);
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, &label));
    response.on_hover_text(label);
}

/// All counts in one sentence, for a screen reader and on hover.
fn totals_words(difference: &Difference) -> String {
    let counts: Vec<String> = difference.counts().iter().map(|(change, n)| format!("{} {change}", text::count(*n))).collect();
    format!("{}; {} as before", counts.join(", "), text::count(difference.n_same))
}

fn swatch(painter: &Painter, t: &Tokens, rect: Rect, moved: Move) {
    let fill = move_fill(t, moved);
    let mut mesh = Mesh::default();
    mesh.add_colored_rect(rect, fill);
    pattern(&mut mesh, t, rect, fill, move_pattern(moved));
    painter.add(Shape::mesh(mesh));
    painter.rect_stroke(rect, CornerRadius::ZERO, Stroke::new(stroke::HAIR, t.outline(fill)), StrokeKind::Inside);
}

fn row(ui: &mut Ui, ctx: &ViewCtx<'_>, change: &ChangedBuffer) {
    let t = ctx.tokens;
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), row_height(t)), Sense::click());
    let number = change.buffer.map_or_else(|| text::NONE.to_owned(), |buffer| format!("#{}", buffer.0));
    let name = change.buffer.map_or_else(|| change.row.name(), |buffer| own_name(ctx.planned, buffer).unwrap_or_default());
    let words = change.row.changes().join(", ");
    let label = format!("change of {number} {name}: {words}");
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Row, true, &label));
    let mut highlight = Highlight::None;
    if let Some(buffer) = change.buffer {
        highlight = ctx.highlight(Item::Buffer(buffer));
        if response.hovered() {
            ctx.hover(Item::Buffer(buffer));
        }
        if response.clicked() {
            ctx.select(Item::Buffer(buffer));
        }
    }
    if !ui.is_rect_visible(rect) {
        return;
    }
    let ground = match highlight {
        Highlight::Hovered => t.hoverbg,
        Highlight::Selected => t.accentbg,
        Highlight::None | Highlight::Related => t.bg1,
    };
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect.with_min_x(rect.left() + 1.0), CornerRadius::same(radius::RECT), ground);
    painter.hline(rect.x_range(), rect.bottom() - 0.5, Stroke::new(stroke::HAIR, t.grid));
    direction(&painter, t, pos2(rect.left() + 17.0, rect.center().y), change.moved());
    let (old, new) = change.sides();
    let place = |side: Option<&PlacedBuffer>| side.map_or_else(|| text::NONE.to_owned(), |buffer| text::bytes(buffer.offset));
    let size = old.zip(new).filter(|(old, new)| old.bytes != new.bytes).map_or_else(
        || new.or(old).map_or_else(String::new, |buffer| text::bytes(buffer.bytes)),
        |(old, new)| format!("{} → {}", text::bytes(old.bytes), text::bytes(new.bytes)),
    );
    let right = put(&painter, t, rect.right() - 12.0, rect, format!("{} → {}", place(old), place(new)), t.text);
    let right = put(&painter, t, right.min(rect.right() - 150.0), rect, size, t.text2);
    let number = painter.text(pos2(rect.left() + 30.0, rect.center().y), Align2::LEFT_CENTER, number, t.body_strong(), t.text);
    let room = right - number.right() - 8.0;
    let name = if change.buffer.is_some() && change.row.changes() == ["moved"] { name.to_owned() } else { format!("{name} {words}") };
    let width = |text: &str| painter.layout_no_wrap(text.to_owned(), t.body(), t.text2).size().x;
    let shown = text::middle_cut_to_fit(&name, |name| width(name) <= room);
    painter.text(pos2(number.right() + 8.0, rect.center().y), Align2::LEFT_CENTER, shown, t.body(), t.text2);
}

/// Text that ends at `right`; returns where what stands left of it may end.
fn put(painter: &Painter, t: &Tokens, right: f32, rect: Rect, text: String, colour: Color32) -> f32 {
    painter.text(pos2(right, rect.center().y), Align2::RIGHT_CENTER, text, t.body(), colour).left() - 12.0
}

/// An arrow in the colour of the move.
fn direction(painter: &Painter, t: &Tokens, at: egui::Pos2, moved: Move) {
    let icon = match moved {
        Move::Down => Icon::ARROW_DOWN,
        Move::Up => Icon::ARROW_UP,
        Move::Same | Move::Other => return swatch(painter, t, Rect::from_center_size(at, vec2(8.0, 8.0)), moved),
    };
    paint_icon(painter, at, icon, 12.0, move_fill(t, moved));
}
