//! The Strategies view: what every strategy reaches on this input, and one click to use it.

mod changes;
mod compare;
mod difference;
mod paint;

use std::sync::Arc;

use arenascope_planner::problem::Problem;
use egui::{Rect, Ui, UiBuilder};

use crate::command::Command;
use crate::ctx::ViewCtx;
use crate::draw::{Action, Notice, notice};
use crate::session::{Planned, Stage};
use crate::text;
use crate::views::Pane;
use crate::views::header::header_ui;
pub use compare::{Comparison, Outcome, Row, compare};
pub use difference::{Against, ChangedBuffer, Difference, Move, Other};

/// State of the view.
#[derive(Debug)]
pub struct StrategiesState {
    comparison: Stage<Comparison>,
    /// The problem that was compared, or is being.
    problem: Option<Arc<Problem>>,
    gave_up: bool,
    /// The plan to compare with the shown one.
    against: Option<Against>,
    difference: Option<Arc<Difference>>,
    /// Whether the charts show the difference as colours.
    is_coloured: bool,
}

impl Default for StrategiesState {
    fn default() -> Self {
        Self { comparison: Stage::Empty, problem: None, gave_up: false, against: None, difference: None, is_coloured: true }
    }
}

/// Width of the list of changes beside the strategies, points, and of the view from which there is room for both.
const CHANGES: f32 = 390.0;
const BOTH_FROM: f32 = 900.0;

impl StrategiesState {
    /// Draws the view; asks for the comparison when it is first seen.
    pub fn ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>) {
        self.ask(ctx);
        let comparison = self.current();
        header_ui(ui, ctx, Pane::Strategies, &self.facts(comparison.as_deref()), |ui| {
            changes::menu(ui, ctx, comparison.as_deref(), self.against.as_ref());
        });
        let area = ui.available_rect_before_wrap();
        let Some(against) = self.against.clone() else { return self.rows_ui(ui, ctx, comparison.as_ref()) };
        let shows_both = area.width() >= BOTH_FROM;
        let left = if shows_both { area.right() - CHANGES } else { area.left() };
        if shows_both {
            let mut rows = ui.new_child(UiBuilder::new().max_rect(area.with_max_x(left)));
            self.rows_ui(&mut rows, ctx, comparison.as_ref());
        }
        let mut list = ui.new_child(UiBuilder::new().max_rect(area.with_min_x(left)));
        changes::list(&mut list, ctx, &against, comparison.as_deref());
        ui.advance_cursor_after_rect(area);
    }

    fn rows_ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>, comparison: Option<&Arc<Comparison>>) {
        let area: Rect = ui.available_rect_before_wrap();
        match (&self.comparison, comparison) {
            (_, Some(comparison)) => paint::rows(ui, ctx, comparison),
            (Stage::Failed(message, _), None) => {
                if notice(ui, ctx.tokens, area, &Notice::failed("The strategies could not be compared", message, &[Action::new("Try again")]))
                    .is_some()
                {
                    self.start_again();
                }
            }
            (_, None) if self.gave_up => {
                if notice(ui, ctx.tokens, area, &Notice::failed("Cancelled", "", &[Action::new("Compare all strategies")])).is_some() {
                    self.start_again();
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

    fn start_again(&mut self) {
        self.comparison = Stage::Empty;
        self.gave_up = false;
        self.problem = None;
    }

    /// The comparison, if it is one of the shown problem.
    fn current(&self) -> Option<Arc<Comparison>> {
        let problem = self.problem.as_ref()?;
        self.comparison.value().filter(|comparison| comparison.is_of(problem)).cloned()
    }

    /// Chooses the plan to compare with the shown one, or none.
    pub fn set_against(&mut self, against: Option<Against>) {
        self.against = against;
        self.difference = None;
        self.is_coloured = true;
    }

    /// The plan to compare `planned` with, if one was chosen and it is there.
    #[must_use]
    pub fn other_plan(&self, planned: &Planned) -> Option<(Against, Other)> {
        let against = self.against.clone()?;
        let other = match &against {
            Against::Observed => Other::Observed,
            Against::Strategy(name) => {
                let comparison = self.comparison.value().filter(|comparison| comparison.is_equal(&planned.prepared.problem))?;
                Other::Plan(Arc::clone(comparison.plan(name)?))
            }
        };
        Some((against, other))
    }

    /// Takes a finished difference.
    pub fn take_difference(&mut self, difference: Arc<Difference>) {
        self.difference = Some(difference);
    }

    /// What differs between the chosen plan and this one; `None` while no plan is chosen or that is not worked out.
    #[must_use]
    pub fn difference(&self, planned: &Planned) -> Option<&Arc<Difference>> {
        self.difference.as_ref().filter(|difference| difference.is_of(planned) && Some(&difference.against) == self.against.as_ref())
    }

    /// Whether the difference decides the colours.
    #[must_use]
    pub fn colours_difference(&self, planned: &Planned) -> bool {
        self.is_coloured && self.difference(planned).is_some()
    }

    /// Lets the difference decide the colours, or not.
    pub fn colour_difference(&mut self, is_coloured: bool) {
        self.is_coloured = is_coloured;
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
        let is_same = self.problem.as_ref().is_some_and(|known| Arc::ptr_eq(known, problem));
        // Another plan of the same file has a problem of its own that is often equal; that is looked at once.
        let is_known = is_same || self.problem.as_ref().is_some_and(|known| known == problem);
        if is_known && !is_same {
            if let Some(comparison) = self.comparison.value().filter(|comparison| comparison.is_equal(problem)) {
                self.comparison = Stage::Ready(Arc::new(comparison.of(problem)));
            }
            self.problem = Some(Arc::clone(problem));
        }
        if ctx.is_stale || (is_known && !matches!(self.comparison, Stage::Empty)) || (is_known && self.gave_up) {
            return;
        }
        self.problem = Some(Arc::clone(problem));
        self.gave_up = false;
        self.comparison.start();
        ctx.send(Command::CompareStrategies);
    }

    fn facts(&self, comparison: Option<&Comparison>) -> String {
        match comparison {
            Some(comparison) => format!("{} · click to switch", text::counted(comparison.rows.len() as u64, "strategy", "strategies")),
            None => "the same input, every strategy".to_owned(),
        }
    }
}
