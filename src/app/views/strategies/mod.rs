//! The Strategies view: what every strategy reaches on this input, and one click to use it.

mod compare;
mod paint;

use std::sync::Arc;

use arenascope_planner::problem::Problem;
use egui::Ui;

use crate::command::Command;
use crate::ctx::ViewCtx;
use crate::draw::{Action, Notice, notice};
use crate::session::Stage;
use crate::text;
use crate::views::Pane;
use crate::views::header::header_ui;
pub use compare::{Comparison, Outcome, Row, compare};

/// State of the view.
#[derive(Debug)]
pub struct StrategiesState {
    comparison: Stage<Comparison>,
    /// The problem that was compared, or is being.
    problem: Option<Arc<Problem>>,
    gave_up: bool,
}

impl Default for StrategiesState {
    fn default() -> Self {
        Self { comparison: Stage::Empty, problem: None, gave_up: false }
    }
}

impl StrategiesState {
    /// Draws the view; asks for the comparison when it is first seen.
    pub fn ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>) {
        self.ask(ctx);
        header_ui(ui, ctx, Pane::Strategies, &self.facts(ctx), |_| ());
        let area = ui.available_rect_before_wrap();
        let shown = self.comparison.value().filter(|comparison| comparison.is_of(ctx.planned)).cloned();
        match (&self.comparison, shown) {
            (_, Some(comparison)) => paint::rows(ui, ctx, &comparison),
            (Stage::Failed(message, _), None) => {
                if notice(ui, ctx.tokens, area, &Notice::failed("The strategies could not be compared", message, &[Action::new("Try again")]))
                    .is_some()
                {
                    *self = Self::default();
                }
            }
            (_, None) if self.gave_up => {
                if notice(ui, ctx.tokens, area, &Notice::failed("Cancelled", "", &[Action::new("Compare all strategies")])).is_some() {
                    *self = Self::default();
                }
            }
            (_, None) => {
                ui.painter().text(
                    area.center(),
                    egui::Align2::CENTER_CENTER,
                    "Running all strategies on this input…",
                    ctx.tokens.body(),
                    ctx.tokens.text3,
                );
            }
        }
    }

    /// Takes a finished comparison.
    pub fn take(&mut self, result: Result<Arc<Comparison>, String>) {
        self.comparison.finish(result);
    }

    /// Forgets a comparison that was cancelled.
    pub fn give_up(&mut self) {
        self.gave_up = self.comparison.is_running();
        self.comparison.give_up();
    }

    /// Asks for the comparison of a problem that was not compared yet.
    fn ask(&mut self, ctx: &ViewCtx<'_>) {
        let problem = &ctx.planned.prepared.problem;
        let is_known = self.problem.as_ref().is_some_and(|known| Arc::ptr_eq(known, problem) || known == problem);
        if ctx.is_stale || (is_known && !matches!(self.comparison, Stage::Empty)) || (is_known && self.gave_up) {
            return;
        }
        self.problem = Some(Arc::clone(problem));
        self.gave_up = false;
        self.comparison.start();
        ctx.send(Command::CompareStrategies);
    }

    fn facts(&self, ctx: &ViewCtx<'_>) -> String {
        match self.comparison.value().filter(|comparison| comparison.is_of(ctx.planned)) {
            Some(comparison) => format!("{} · click to switch", text::counted(comparison.rows.len() as u64, "strategy", "strategies")),
            None => "the same input, every strategy".to_owned(),
        }
    }
}
