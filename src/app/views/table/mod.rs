//! The Table view.

use arenascope_planner::ids::BufferId;
use egui::Ui;

use crate::ctx::ViewCtx;
use crate::session::Planned;
use crate::views::Pane;
use crate::views::header::header_ui;

/// State of the view.
#[derive(Debug, Default)]
pub struct TableState {}

impl TableState {
    /// Draws the view.
    pub fn ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>) {
        header_ui(ui, ctx, Pane::Table, "", |_| ());
    }

    /// Filters the rows.
    pub fn set_filter(&mut self, _filter: String) {}

    /// Puts the cursor into the filter at the next frame.
    pub fn start_search(&mut self) {}

    /// Drops what belongs to the plan before this one.
    pub fn replan(&mut self, _planned: &Planned) {}

    /// Scrolls to a buffer at the next frame.
    pub fn reveal(&mut self, _buffer: BufferId) {}
}
