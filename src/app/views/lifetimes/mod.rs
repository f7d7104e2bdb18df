//! The Lifetimes view: a bar per buffer, from its first write to one past its last read.

mod paint;
pub(in crate::views) use paint::{MAX_MARKS, mark, shows_mark};
mod rows;

use std::sync::Arc;

use arenascope_planner::ids::BufferId;
use egui::{Ui, vec2};

use crate::command::Command;
use crate::ctx::ViewCtx;
use crate::draw::icon_button;
use crate::model::RowOrder;
use crate::selection::Item;
use crate::session::Planned;
use crate::text;
use crate::theme::{Icon, space};
use crate::views::Pane;
use crate::views::chart::Chart;
use crate::views::header::header_ui;
use rows::Rows;

/// Sorting and scrolling of the lifetimes.
#[derive(Debug, Default)]
pub struct LifetimesState {
    /// The order of the rows.
    pub order: RowOrder,
    /// The first visible row while scrolling by hand; `None` while the rows follow the visible steps.
    first_row: Option<f64>,
    /// A buffer to scroll to at the next frame.
    reveal: Option<BufferId>,
}

impl LifetimesState {
    /// Scrolls to a buffer at the next frame if it is out of sight.
    pub fn reveal(&mut self, _planned: &Planned, buffer: BufferId) {
        self.reveal = Some(buffer);
    }

    /// Draws the view.
    pub fn ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>) {
        let planned = Arc::clone(ctx.planned);
        let height = (ui.available_height() - space::PANEL_HEADER).max(1.0);
        let rows = self.rows(ctx, height);
        let facts = facts(ctx, &rows, self.order);
        let is_following = self.first_row.is_none();
        let mut follow = is_following;
        header_ui(ui, ctx, Pane::Lifetimes, &facts, |ui| {
            order_menu(ui, ctx, self.order);
            let (icon, name) = if is_following {
                (Icon::ROWS, "Rows follow the visible steps")
            } else {
                (Icon::FRAME_CORNERS, "Let the rows follow the visible steps")
            };
            if icon_button(ui, ctx.tokens, icon, name).clicked() {
                follow = !is_following;
            }
        });
        if follow != is_following {
            self.first_row = if follow { None } else { Some(rows.first) };
        }
        let chart = Chart::begin(ui, ctx, "lifetimes");
        let rows = Rows { top: chart.plot.top(), ..rows };
        if planned.prepared.problem.n_buffers() > 0 {
            paint::bars(ui, ctx, &chart, &rows, self.order);
        }
        self.scroll(ui, &chart, &rows, ctx.wheel_zooms);
        chart.step_gestures(ui, ctx, true);
        point(ui, ctx, &chart, &rows, self.order);
        summary_for_readers(&chart, &facts);
    }

    fn rows(&mut self, ctx: &ViewCtx<'_>, height: f32) -> Rows {
        let rows = match self.first_row {
            None => Rows::following(ctx, self.order, height),
            Some(first) => Rows::scrolled(ctx, first, height),
        };
        let Some(buffer) = self.reveal.take() else { return rows };
        let row = f64::from(ctx.planned.model.row(self.order, buffer));
        if rows.contains(row) {
            return rows;
        }
        let first = (row - rows.n_visible() / 2.0).max(0.0);
        let scrolled = Rows::scrolled(ctx, first, height);
        self.first_row = Some(scrolled.first);
        scrolled
    }

    fn scroll(&mut self, ui: &Ui, chart: &Chart, rows: &Rows, wheel_zooms: bool) {
        if !chart.response.hovered() || wheel_zooms {
            return;
        }
        let scroll = ui.input(|input| input.smooth_scroll_delta().y);
        if scroll != 0.0 && rows.n_rows > rows.n_visible() {
            let base = self.first_row.unwrap_or(rows.first);
            self.first_row = Some((base - f64::from(scroll / rows.height.max(1.0))).clamp(0.0, (rows.n_rows - rows.n_visible()).max(0.0)));
        }
    }
}

fn order_menu(ui: &mut Ui, ctx: &ViewCtx<'_>, order: RowOrder) {
    let button = icon_button(ui, ctx.tokens, Icon::SORT_ASCENDING, "Sort the lifetimes");
    egui::Popup::menu(&button).show(|ui| {
        for choice in RowOrder::ALL {
            if ui.selectable_label(choice == order, format!("Sort by {}", choice.name())).clicked() {
                ctx.send(Command::SetRowOrder(choice));
            }
        }
    });
}

fn facts(ctx: &ViewCtx<'_>, rows: &Rows, order: RowOrder) -> String {
    let n = ctx.planned.prepared.problem.n_buffers() as u64;
    if n == 0 {
        return "no dynamic buffers".to_owned();
    }
    let shown = rows.visible_indices().len() as u64;
    let in_view =
        if shown < n { format!("{} of {} buffers in view", text::count(shown), text::count(n)) } else { text::counted(n, "buffer", "buffers") };
    let small = if rows.height < 1.0 {
        format!(", {} rows per pixel", text::count(crate::views::chart::to_whole(f64::from(1.0 / rows.height).ceil())))
    } else {
        String::new()
    };
    let sorted = format!("{in_view}, sorted by {}{small}", order.name());
    match rows.above {
        0 => sorted,
        above => format!("{sorted}, {} born earlier above", text::count(above)),
    }
}

/// Hover and click on a bar.
fn point(ui: &Ui, ctx: &ViewCtx<'_>, chart: &Chart, rows: &Rows, order: RowOrder) {
    let Some(at) = chart.response.hover_pos() else { return };
    let hit = rows.buffer_at(ctx, chart, order, at);
    if let Some(buffer) = hit {
        ctx.hover(Item::Buffer(buffer));
        chart.response.clone().on_hover_ui_at_pointer(|ui| crate::views::inspector::buffer_tooltip(ui, ctx, buffer));
    }
    if chart.response.clicked() && !ui.input(|input| input.modifiers.shift) {
        ctx.send(hit.map_or(Command::Clear, |buffer| Command::Select(Item::Buffer(buffer))));
    }
}

fn summary_for_readers(chart: &Chart, facts: &str) {
    let label = format!("Lifetimes chart: {facts}");
    chart.response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Canvas, true, &label));
}

/// The bar of a row, for painting and pointing.
fn bar_rect(chart: &Chart, rows: &Rows, row: u32, left: f32, right: f32) -> egui::Rect {
    let centre = rows.centre(row);
    let height = if rows.height < 4.0 { rows.height.max(1.0) } else { rows.height * space::LIFETIME_BAR / space::LIFETIME_ROW };
    let left = left.max(chart.plot.left() - 20.0);
    let width = (right.min(chart.plot.right() + 20.0) - left).max(1.0);
    egui::Rect::from_min_size(egui::pos2(left, centre - height / 2.0), vec2(width, height))
}
