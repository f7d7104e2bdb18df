//! Which rows are visible and where they stand.

use arenascope_planner::ids::BufferId;
use egui::Pos2;

use crate::ctx::ViewCtx;
use crate::model::RowOrder;
use crate::theme::space;
use crate::views::chart::{Chart, step_value, to_whole};

/// Rows are no taller than this, by eye.
const TALLEST: f32 = 28.0;

/// Rows keep their usual height while no more than this many times the plot would be needed.
const SPILL: f32 = 1.6;

/// Rows of less than this height are found by looking around the pointer.
const NEAR_ROWS: u32 = 64;

/// The visible rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    /// The row at the top edge, with a fraction.
    pub(super) first: f64,
    /// Height of a row, in points.
    pub(super) height: f32,
    /// Height of the plot, in points.
    pub(super) plot_height: f32,
    /// Top of the plot on the screen.
    pub(super) top: f32,
    /// All rows there are.
    pub(super) n_rows: f64,
    /// Buffers born before the visible steps that still live in them, and are not shown.
    pub(super) above: u64,
}

impl Rows {
    /// The rows of the buffers born in the visible steps; in other orders than birth, all rows.
    pub(super) fn following(ctx: &ViewCtx<'_>, order: RowOrder, plot_height: f32) -> Self {
        let model = &ctx.planned.model;
        let rows = model.order(order);
        let (low, high, above) = if order == RowOrder::Birth && !ctx.steps.is_fit() { born_in_view(ctx, rows) } else { (0, rows.len(), 0) };
        let n = step_value((high - low).max(1) as u64);
        #[expect(clippy::cast_possible_truncation, reason = "a height on the screen")]
        let fitting = ((f64::from(plot_height) / n) as f32).min(TALLEST);
        // Rather labels and a few rows below the edge than all rows and no labels.
        let height = if fitting * SPILL >= space::LIFETIME_ROW { fitting.max(space::LIFETIME_ROW) } else { fitting };
        Self { first: step_value(low as u64), height, plot_height, top: 0.0, n_rows: step_value(rows.len() as u64), above }
    }

    /// Rows of the usual height from `first` on.
    pub(super) fn scrolled(ctx: &ViewCtx<'_>, first: f64, plot_height: f32) -> Self {
        let n_rows = step_value(ctx.planned.prepared.problem.n_buffers() as u64);
        let height = space::LIFETIME_ROW;
        let most = (n_rows - f64::from(plot_height / height)).max(0.0);
        Self { first: first.min(most), height, plot_height, top: 0.0, n_rows, above: 0 }
    }

    /// How many rows fit.
    pub(super) fn n_visible(&self) -> f64 {
        f64::from(self.plot_height / self.height)
    }

    /// Whether a row is whole on the screen.
    pub(super) fn contains(&self, row: f64) -> bool {
        self.first <= row && row + 1.0 <= self.first + self.n_visible() + 0.01
    }

    /// The positions in the order that are at least partly visible.
    pub(super) fn visible_indices(&self) -> std::ops::Range<usize> {
        let last = (self.first + self.n_visible() - 0.05).ceil().min(self.n_rows);
        let index = |row: f64| usize::try_from(to_whole(row)).unwrap_or(usize::MAX);
        index(self.first)..index(last)
    }

    /// The middle of a row on the screen.
    pub(super) fn centre(&self, row: u32) -> f32 {
        #[expect(clippy::cast_possible_truncation, reason = "a position on the screen")]
        let offset = (f64::from(row) + 0.5 - self.first) as f32;
        self.top + offset * self.height
    }

    /// The buffer whose bar is at a position, or within a few points of it.
    pub(super) fn buffer_at(&self, ctx: &ViewCtx<'_>, chart: &Chart, order: RowOrder, at: Pos2) -> Option<BufferId> {
        let rows = ctx.planned.model.order(order);
        let row = self.first + f64::from((at.y - self.top) / self.height);
        let slack = f64::from(space::HIT_BAR) / chart.x.pixels_per_unit();
        let reach = to_whole(f64::from(space::HIT_BAR / self.height)).min(u64::from(NEAR_ROWS));
        let step = chart.x.value(at.x);
        let lives = |buffer: BufferId| {
            ctx.planned.lifetime(buffer).is_some_and(|life| step_value(life.start) - slack <= step && step < step_value(life.end) + slack)
        };
        let centre = to_whole(row);
        (0..=reach)
            .flat_map(|distance| [centre.checked_sub(distance), centre.checked_add(distance)])
            .flatten()
            .filter_map(|row| rows.get(usize::try_from(row).ok()?).copied())
            .find(|&buffer| lives(buffer))
    }
}

/// The rows of the buffers born in the visible steps, and how many older ones live there.
fn born_in_view(ctx: &ViewCtx<'_>, by_birth: &[BufferId]) -> (usize, usize, u64) {
    let shown = ctx.steps.shown();
    let (start, end) = (to_whole(shown.start.floor()), to_whole(shown.end.ceil()));
    let start_of = |buffer: &BufferId| ctx.planned.prepared.problem.buffer(*buffer).lifetime.start;
    let low = by_birth.partition_point(|buffer| start_of(buffer) < start);
    let high = by_birth.partition_point(|buffer| start_of(buffer) < end).max(low);
    let older = ctx.planned.model.n_live_before(start, low);
    (low, high, older)
}
