//! The Table view: every buffer as a row, the twin of every chart.
//!
//! Only visible rows are drawn; which rows there are, and in which order, is worked out when plan, filter or order
//! change.

mod filter;
mod paint;
mod row;

use std::sync::Arc;

use arenascope_planner::ids::BufferId;
use egui::{TextEdit, Ui, vec2};

use crate::command::Command;
use crate::ctx::ViewCtx;
use crate::draw::{Action, Notice, icon_button, notice};
use crate::session::Planned;
use crate::text;
use crate::theme::{Icon, space};
use crate::views::Pane;
use crate::views::header::header_ui;
use filter::Filter;
use row::{Sort, rows};

/// The rows that were worked out last, and for what.
#[derive(Debug)]
struct Known {
    planned: Arc<Planned>,
    /// Whether it was known who could be lower.
    is_explained: bool,
    filter: String,
    sort: Sort,
    rows: Vec<BufferId>,
}

/// State of the view.
#[derive(Debug, Default)]
pub struct TableState {
    /// The filter in force.
    filter: String,
    /// The text in the field.
    typed: String,
    sort: Sort,
    known: Option<Known>,
    wants_focus: bool,
    reveal: Option<BufferId>,
}

impl TableState {
    /// Draws the view.
    pub fn ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>) {
        let is_explained = ctx.planned.insight().is_some();
        // Rows change with what is worked out later only where they are chosen or sorted by it.
        let depends = self.sort.column == row::Column::Lower || self.filter.contains("is:");
        let is_current = |known: &Known| {
            Arc::ptr_eq(&known.planned, ctx.planned)
                && (known.is_explained == is_explained || !depends)
                && known.filter == self.filter
                && known.sort == self.sort
        };
        let known = self.known.take().filter(is_current);
        let known = known.unwrap_or_else(|| self.work_out(ctx.planned));
        let n_all = ctx.planned.prepared.problem.n_buffers();
        let facts = facts(ctx, known.rows.len(), n_all, self.sort);
        let is_empty = known.rows.is_empty();
        header_ui(ui, ctx, Pane::Table, &facts, |ui| self.filter_ui(ui, ctx, is_empty));
        if n_all == 0 {
            let area = ui.available_rect_before_wrap();
            ui.advance_cursor_after_rect(area);
            notice(ui, ctx.tokens, area, &Notice::empty(Icon::TABLE, "No dynamic buffers: everything in this file is static", &[]));
        } else if is_empty {
            self.no_match(ui, ctx);
        } else {
            let scroll_to = self.reveal.take().and_then(|buffer| known.rows.iter().position(|&row| row == buffer));
            if let Some(column) = paint::table(ui, ctx, &known.rows, self.sort, scroll_to) {
                self.sort = self.sort.clicked(column);
                ui.ctx().request_repaint();
            }
        }
        self.known = Some(known);
    }

    /// Filters the rows.
    pub fn set_filter(&mut self, filter: String) {
        self.typed.clone_from(&filter);
        self.filter = filter;
    }

    /// Puts the cursor into the filter at the next frame.
    pub fn start_search(&mut self) {
        self.wants_focus = true;
    }

    /// Drops what belongs to the plan before this one.
    pub fn replan(&mut self, _planned: &Planned) {
        self.known = None;
    }

    /// Scrolls to a buffer at the next frame.
    pub fn reveal(&mut self, buffer: BufferId) {
        self.reveal = Some(buffer);
    }

    fn work_out(&self, planned: &Arc<Planned>) -> Known {
        let rows = rows(planned, &Filter::parse(&self.filter), self.sort);
        Known { planned: Arc::clone(planned), is_explained: planned.insight().is_some(), filter: self.filter.clone(), sort: self.sort, rows }
    }

    /// The filter field, and a cross beside it while it holds something.
    fn filter_ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>, is_empty: bool) {
        let t = ctx.tokens;
        ui.add_space(4.0);
        let height = space::CONTROL_SMALL.max(t.size.body + 7.0);
        ui.spacing_mut().interact_size.y = height;
        let width = (ui.available_width() * 0.42).clamp(90.0, 300.0);
        let field = TextEdit::singleline(&mut self.typed)
            .id_salt("table-filter")
            .hint_text("Filter: words, op:Conv, @step, >1MiB")
            .font(t.body())
            .margin(egui::Margin::symmetric(6, 0))
            .align(egui::Align2::LEFT_CENTER)
            .desired_width(width);
        let response = ui.add_sized(vec2(width, height), field.min_size(vec2(width, height)));
        response.ctx.accesskit_node_builder(response.id, |node| node.set_label("Filter the table"));
        if std::mem::take(&mut self.wants_focus) {
            response.request_focus();
        }
        if response.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter)) {
            self.walk_hits(ui, ctx);
            response.request_focus();
        }
        if response.changed() {
            ctx.send(Command::SetFilter(self.typed.clone()));
        }
        if !self.filter.is_empty() && !is_empty && icon_button(ui, t, Icon::X, "Clear the filter").clicked() {
            ctx.send(Command::SetFilter(String::new()));
        }
    }

    /// Selects the next hit of the filter, with Shift the one before; from the last one on to the first.
    fn walk_hits(&self, ui: &Ui, ctx: &ViewCtx<'_>) {
        let rows = self.work_out(ctx.planned).rows;
        if rows.is_empty() {
            return;
        }
        let at = ctx.selection.selected_buffer().and_then(|buffer| rows.iter().position(|&row| row == buffer));
        let back = ui.input(|input| input.modifiers.shift);
        let next = match at {
            None => 0,
            Some(at) if back => (at + rows.len() - 1) % rows.len(),
            Some(at) => (at + 1) % rows.len(),
        };
        ctx.send(Command::Select(crate::selection::Item::Buffer(rows[next])));
    }

    fn no_match(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>) {
        let area = ui.available_rect_before_wrap();
        ui.advance_cursor_after_rect(area);
        let title = format!("No buffer matches “{}”", text::middle_cut(self.filter.trim(), 40));
        if notice(ui, ctx.tokens, area, &Notice::no_match(&title, &[Action::new("Clear the filter")])).is_some() {
            ctx.send(Command::SetFilter(String::new()));
        }
    }
}

fn facts(ctx: &ViewCtx<'_>, n: usize, n_all: usize, sort: Sort) -> String {
    if n_all == 0 {
        return "no dynamic buffers".to_owned();
    }
    let all = text::counted(n_all as u64, "buffer", "buffers");
    let shown = if n == n_all { all } else { format!("{} of {all}", text::count(n as u64)) };
    let selected = if ctx.selection.selected_buffer().is_some() { " · 1 selected" } else { "" };
    let direction = if sort.is_descending { ", descending" } else { "" };
    format!("{shown}{selected} · sorted by {}{direction}", sort.column.order())
}
