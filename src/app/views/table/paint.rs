//! Drawing the visible rows and the headings.

use arenascope_planner::graph::Role;
use arenascope_planner::ids::BufferId;
use egui::{Align2, Color32, FontId, Rect, Response, Role as SpokenRole, ScrollArea, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};
use egui_extras::{Column as TableColumn, TableBuilder};

use super::row::{Column, Row, Sort};
use crate::ctx::ViewCtx;
use crate::draw::paint_icon;
use crate::selection::{Highlight, Item};
use crate::theme::{Icon, Tokens, space, stroke};

/// Space at both sides of a cell.
const PAD: f32 = 8.0;
/// Width of the colour at the left of a row, and of the bar of a selected one.
const SWATCH: f32 = 3.0;
/// Text size at which the widths of the columns were chosen.
const DESK_BODY: f32 = 12.0;

/// Draws the table; returns the heading that was clicked.
pub(super) fn table(ui: &mut Ui, ctx: &ViewCtx<'_>, rows: &[BufferId], sort: Sort, scroll_to: Option<usize>) -> Option<Column> {
    let t = ctx.tokens;
    let scale = t.size.body / DESK_BODY;
    let row_height = space::TABLE_ROW.max(t.size.body + 8.0);
    let mut clicked = None;
    let least = |column: Column| widest(ui, ctx, column) + 2.0 * PAD;
    let shown = shown_columns(ctx, sort);
    let columns: Vec<(Column, f32, f32)> = shown.iter().map(|&column| (column, (column.width() * scale).max(least(column)), least(column))).collect();
    let widths: f32 = columns.iter().map(|(_, width, _)| width).sum();
    let spare = (ui.available_width() - widths - 12.0).max(0.0);
    ui.scope(|ui| {
        ui.spacing_mut().item_spacing = vec2(0.0, 0.0);
        ScrollArea::horizontal().id_salt("table-columns").auto_shrink(false).show(ui, |ui| {
            let mut table = TableBuilder::new(ui)
                .id_salt(("table", shown.len(), std::sync::Arc::as_ptr(&ctx.planned.prepared.workload).addr()))
                .striped(false)
                .resizable(true)
                .sense(Sense::click())
                .auto_shrink(false)
                .min_scrolled_height(0.0);
            for (column, width, least) in columns {
                // What is left over goes to the texts that are cut most often.
                let extra = match column {
                    Column::Name => spare * 0.4,
                    Column::Shape => (spare * 0.25).min(70.0 * scale),
                    Column::Shares => spare * 0.35,
                    _ => 0.0,
                };
                table = table.column(TableColumn::initial(width + extra).at_least(least.max(32.0)).clip(true));
            }
            if let Some(row) = scroll_to {
                table = table.scroll_to_row(row, Some(egui::Align::Center));
            }
            let table = table.header(row_height, |mut header| {
                for &column in &shown {
                    header.col(|ui| {
                        if heading(ui, t, column, sort).clicked() {
                            clicked = Some(column);
                        }
                    });
                }
            });
            table.body(|body| {
                body.rows(row_height, rows.len(), |mut row| {
                    if let Some(&id) = rows.get(row.index()) {
                        self::row(ctx, &mut row, &shown, id);
                    }
                });
            });
        });
    });
    clicked
}

/// The columns that have something to say: where buffers could be only if one of them could.
fn shown_columns(ctx: &ViewCtx<'_>, sort: Sort) -> Vec<Column> {
    let n_lower = ctx.planned.insight().map_or(0, |insight| insight.lower.n);
    let is_shown = |&column: &Column| column != Column::Lower || n_lower > 0 || sort.column == Column::Lower;
    Column::ALL.into_iter().filter(is_shown).collect()
}

/// The room that the longest number of a column needs: a cut number is a wrong number. The longest role has room too, as
/// there are few; 0 for other texts.
fn widest(ui: &Ui, ctx: &ViewCtx<'_>, column: Column) -> f32 {
    let t = ctx.tokens;
    let planned = ctx.planned;
    let n = planned.prepared.problem.n_buffers() as u64;
    let (text, font, more) = match column {
        Column::Id => (format!("#{}", n.saturating_sub(1)), t.body_strong(), 10.0),
        Column::Start | Column::End => (crate::text::count(planned.model.steps.end), t.body(), 0.0),
        Column::Conflicts => (crate::text::count(n), t.body(), 0.0),
        Column::Role => return widest_role(ui, t),
        Column::Offset | Column::Lower => (crate::text::hex(planned.plan.arena_bytes), t.mono_tick(), 0.0),
        _ => return 0.0,
    };
    ui.painter().layout_no_wrap(text, font, t.text).size().x + more
}

/// The width of the longest role that a planned buffer can have.
fn widest_role(ui: &Ui, t: &Tokens) -> f32 {
    let planned = [Role::Activation, Role::Gradient, Role::Workspace, Role::PreExisting, Role::GraphInput, Role::GraphOutput];
    let width = |role: Role| ui.painter().layout_no_wrap(role.name().to_owned(), t.body(), t.text).size().x;
    planned.into_iter().map(width).fold(0.0, f32::max)
}

fn heading(ui: &mut Ui, t: &Tokens, column: Column, sort: Sort) -> Response {
    let rect = ui.max_rect();
    let response = ui.interact(rect, ui.scope_id().with("heading"), Sense::click());
    let painter = ui.painter();
    painter.rect_filled(rect, 0.0, if response.hovered() { t.hoverbg } else { t.bg2 });
    painter.hline(rect.x_range(), rect.bottom() - 0.5, Stroke::new(stroke::HAIR, t.line));
    let is_sorted = sort.column == column;
    let (font, ink) = if is_sorted { (t.body_strong(), t.text) } else { (t.body(), t.text3) };
    let galley = painter.layout_no_wrap(column.title().to_owned(), font, ink);
    let arrow = if is_sorted { 14.0 } else { 0.0 };
    let left = if column.is_number() { rect.right() - PAD - galley.size().x } else { rect.left() + PAD };
    let width = galley.size().x;
    painter.galley(pos2(left, rect.center().y - galley.size().y / 2.0), galley, ink);
    if is_sorted {
        let icon = if sort.is_descending { Icon::ARROW_DOWN } else { Icon::ARROW_UP };
        let x = if column.is_number() { left - arrow / 2.0 - 1.0 } else { left + width + arrow / 2.0 + 1.0 };
        paint_icon(painter, pos2(x, rect.center().y), icon, 11.0, t.text2);
    }
    if response.has_focus() {
        painter.rect_stroke(rect, 0.0, Stroke::new(stroke::STRONG, t.accent), egui::StrokeKind::Inside);
    }
    let name = format!("Sort by {}", column.order());
    response.widget_info(|| WidgetInfo::labeled(SpokenRole::ColumnHeader, true, &name));
    response.on_hover_text(name)
}

fn row(ctx: &ViewCtx<'_>, row: &mut egui_extras::TableRow<'_, '_>, columns: &[Column], id: BufferId) {
    let of = Row { planned: ctx.planned, id };
    let highlight = ctx.highlight(Item::Buffer(id));
    let (mut clicked, mut hovered) = (false, false);
    for &column in columns {
        let (_, response) = row.col(|ui| {
            let rect = ui.max_rect();
            ground(ui, ctx, rect, highlight);
            if column == Column::Id {
                swatch(ui, ctx, rect, id, highlight);
            }
            if column == Column::Name {
                let name = spoken(ui, rect, &of, highlight == Highlight::Selected);
                clicked |= name.clicked();
                hovered |= name.hovered();
            }
            cell(ui, ctx, rect, &of, column, highlight);
        });
        clicked |= response.clicked();
        hovered |= response.hovered();
    }
    if hovered {
        ctx.hover(Item::Buffer(id));
    }
    if clicked {
        ctx.select(Item::Buffer(id));
    }
}

/// The name cell speaks for the whole row.
fn spoken(ui: &Ui, rect: Rect, row: &Row<'_>, is_selected: bool) -> Response {
    let response = ui.interact(rect, ui.scope_id().with("name"), Sense::click());
    let label = format!("buffer #{} {}", row.id.0, row.short());
    response.widget_info(|| WidgetInfo::selected(SpokenRole::Row, true, is_selected, &label));
    if row.name() == row.short() { response } else { response.on_hover_text(row.name()) }
}

fn ground(ui: &Ui, ctx: &ViewCtx<'_>, rect: Rect, highlight: Highlight) {
    let t = ctx.tokens;
    let fill = match highlight {
        Highlight::Hovered => t.hoverbg,
        Highlight::Selected => t.accentbg,
        Highlight::None | Highlight::Related => t.bg1,
    };
    ui.painter().rect_filled(rect, 0.0, fill);
    ui.painter().hline(rect.x_range(), rect.bottom() - 0.5, Stroke::new(stroke::HAIR, t.grid));
}

/// The buffer's colour; a selected row has the accent at its edge, a related one a thin line of it.
fn swatch(ui: &Ui, ctx: &ViewCtx<'_>, rect: Rect, id: BufferId, highlight: Highlight) {
    let t = ctx.tokens;
    let is_selected = ctx.selection.selected_buffer() == Some(id);
    let edge = match highlight {
        _ if is_selected => SWATCH,
        Highlight::Related => 1.0,
        _ => 0.0,
    };
    if edge > 0.0 {
        ui.painter().rect_filled(Rect::from_min_size(rect.min, vec2(edge, rect.height() - 1.0)), 0.0, t.accent);
    }
    let bar = Rect::from_center_size(pos2(rect.left() + 10.5, rect.center().y), vec2(SWATCH, 12.0));
    ui.painter().rect_filled(bar, 0.0, ctx.colours.of(id));
}

fn cell(ui: &Ui, ctx: &ViewCtx<'_>, rect: Rect, row: &Row<'_>, column: Column, highlight: Highlight) {
    let t = ctx.tokens;
    let strong = highlight >= Highlight::Selected;
    let font = match column {
        Column::Offset => t.mono_tick(),
        Column::Lower if row.lower().is_some() => t.mono_tick(),
        Column::Name if strong => t.body_strong(),
        _ => t.body(),
    };
    let colour = match column {
        Column::Name | Column::Bytes => t.text,
        Column::Lower if row.lower().is_some() => t.warn,
        Column::Id if !strong => t.text3,
        _ => t.text2,
    };
    let room = rect.shrink2(vec2(PAD, 0.0)).with_min_x(rect.left() + if column == Column::Id { 16.0 } else { PAD });
    text_in(ui, room, &row.cell(column), font, colour, column.is_number());
}

/// Text on one line, cut where there is no room.
fn text_in(ui: &Ui, room: Rect, text: &str, font: FontId, colour: Color32, is_right: bool) {
    let mut job = egui::text::LayoutJob::simple_singleline(text.to_owned(), font, colour);
    job.wrap = egui::text::TextWrapping::truncate_at_width(room.width().max(0.0));
    let galley = ui.painter().layout_job(job);
    let (at, align) = if is_right { (room.right_center(), Align2::RIGHT_CENTER) } else { (room.left_center(), Align2::LEFT_CENTER) };
    ui.painter().galley(align.anchor_size(at, galley.size()).min, galley, colour);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theme::{self, ThemeKind};

    #[test]
    fn the_room_for_roles_is_that_of_the_longest_one() {
        let t = ThemeKind::Dark.tokens();
        let mut harness = egui_kittest::Harness::builder().with_context_setup(|ctx| theme::install(ctx, ThemeKind::Dark)).build_ui_state(
            move |ui, widths: &mut Vec<f32>| {
                let width = |name: &str| ui.painter().layout_no_wrap(name.to_owned(), t.body(), t.text).size().x;
                *widths = vec![widest_role(ui, t), width("pre-existing"), width("graph output"), width("activation")];
            },
            Vec::new(),
        );
        harness.run_steps(2);
        let [room, names @ ..] = harness.state().as_slice() else { panic!("nothing was drawn") };
        assert!(names.iter().all(|width| *width > 40.0 && width <= room) && names.contains(room), "{room}: {names:?}");
    }
}
