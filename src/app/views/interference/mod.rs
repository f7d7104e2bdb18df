//! The Interference view.

use std::sync::Arc;

use arenascope_planner::control::Control;
use egui::Ui;

use crate::ctx::ViewCtx;
use crate::session::Planned;
use crate::views::Pane;
use crate::views::header::header_ui;

/// Node positions of the interference graph.
#[derive(Debug)]
pub struct NodeLayout {}

/// State of the view.
#[derive(Debug, Default)]
pub struct InterferenceState {}

impl InterferenceState {
    /// Draws the view.
    pub fn ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>) {
        header_ui(ui, ctx, Pane::Interference, "", |_| ());
    }

    /// Takes a finished layout.
    pub fn take_layout(&mut self, _layout: Result<Arc<NodeLayout>, String>) {}

    /// Forgets a layout that was cancelled.
    pub fn give_up(&mut self) {}

    /// Drops what belongs to the plan before this one.
    pub fn replan(&mut self, _planned: &Planned) {}
}

/// Lays out the graph; runs on a worker thread.
///
/// # Errors
/// A sentence.
pub fn lay_out(_planned: &Arc<Planned>, _control: &Control<'_>) -> Result<Arc<NodeLayout>, String> {
    Ok(Arc::new(NodeLayout {}))
}
