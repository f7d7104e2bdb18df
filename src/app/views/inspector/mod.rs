//! The Inspector view.

use arenascope_planner::ids::BufferId;
use egui::Ui;

use crate::ctx::ViewCtx;
use crate::selection::Item;
use crate::views::Pane;
use crate::views::header::header_ui;

/// State of the view.
#[derive(Debug, Default)]
pub struct InspectorState {}

impl InspectorState {
    /// Draws the view.
    pub fn ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>) {
        header_ui(ui, ctx, Pane::Inspector, "", |_| ());
    }
}

/// The tooltip of a buffer in charts.
pub fn buffer_tooltip(ui: &mut Ui, ctx: &ViewCtx<'_>, buffer: BufferId) {
    ui.label(ctx.planned.prepared.buffer_name(buffer));
}

/// The tooltip of any item in charts.
pub fn item_tooltip(ui: &mut Ui, ctx: &ViewCtx<'_>, item: Item) {
    if let Item::Buffer(buffer) = item {
        buffer_tooltip(ui, ctx, buffer);
    }
}
