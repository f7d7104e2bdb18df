//! The frame that all charts share: gutter, plot, step axis, grid, peak band, and the gestures on them.

use arenascope_planner::lifetimes::Lifetime;
use egui::{Align2, CursorIcon, Id, Painter, PointerButton, Pos2, Rect, Response, Sense, Stroke, Ui, pos2};

use crate::axis::{Glide, Range, Scale};
use crate::command::Command;
use crate::ctx::ViewCtx;
use crate::draw::{Pixels, dashed_rect};
use crate::text::count_ticks;
use crate::theme::{Tokens, alpha, space, stroke};

/// A chart about to be painted.
pub struct Chart {
    /// Everything, gutter included.
    pub rect: Rect,
    /// Where data stands.
    pub plot: Rect,
    /// Steps along x.
    pub x: Scale,
    /// Paints into the plot only.
    pub painter: Painter,
    /// The plot's pointer.
    pub response: Response,
}

/// What the gestures of a chart need of the view around it.
pub trait StepControls {
    /// Colours and sizes.
    fn tokens(&self) -> &'static Tokens;
    /// Whether the plain wheel zooms.
    fn wheel_zooms(&self) -> bool;
    /// Asks for a change.
    fn ask(&self, command: Command);
}

impl StepControls for ViewCtx<'_> {
    fn tokens(&self) -> &'static Tokens {
        self.tokens
    }

    fn wheel_zooms(&self) -> bool {
        self.wheel_zooms
    }

    fn ask(&self, command: Command) {
        self.send(command);
    }
}

/// Pixels of one scroll notch that pan a chart by a tenth.
const PAN_PER_POINT: f64 = 0.0025;

impl Chart {
    /// Takes all space that is left and paints ground, grid, peak band and marked steps.
    pub fn begin(ui: &mut Ui, ctx: &ViewCtx<'_>, name: &str) -> Self {
        let rect = ui.available_rect_before_wrap();
        ui.advance_cursor_after_rect(rect);
        let chart = Self::in_frame(ui, (rect, plot_rect(rect)), ctx.steps.shown(), name);
        chart.paint_ground(ui, ctx);
        chart
    }

    /// A chart on rectangles of its own, everything and the plot, with nothing painted yet.
    pub fn in_frame(ui: &Ui, (rect, plot): (Rect, Rect), steps: Range, name: &str) -> Self {
        let x = Scale::new(steps, plot.left(), plot.right());
        let response = ui.interact(plot, Id::unique(("chart", name)), Sense::click_and_drag());
        Self { rect, plot, x, painter: ui.painter_at(plot), response }
    }

    /// Paints the ground and a line at every numbered step.
    pub fn paint_grid(&self, ui: &Ui, t: &Tokens) {
        let pixels = Pixels::of(&self.painter);
        ui.painter_at(self.rect).rect_filled(self.rect, 0.0, t.chart);
        for step in step_ticks(&self.x, self.plot.width()) {
            let at = pixels.centre(self.x.pixel(step_value(step)));
            self.painter.vline(at, self.plot.y_range(), Stroke::new(pixels.one(), t.grid));
        }
    }

    fn paint_ground(&self, ui: &Ui, ctx: &ViewCtx<'_>) {
        let t = ctx.tokens;
        self.paint_grid(ui, t);
        let peak = ctx.planned.summary.peak_step;
        self.band(peak, peak + 1, t.peak_band());
        if let Some(Lifetime { start, end }) = ctx.selection.steps {
            self.band(start, end, alpha(t.accent, 0.16));
        }
        if let Some(crate::selection::Item::Step(step)) = ctx.selection.hovered() {
            self.band(step, step + 1, alpha(t.text3, 0.14));
        }
    }

    /// Fills the whole height over some steps.
    pub fn band(&self, start: u64, end: u64, colour: egui::Color32) {
        let pixels = Pixels::of(&self.painter);
        let (left, right) = (self.x.pixel(step_value(start)), self.x.pixel(step_value(end)));
        let left = pixels.edge(left);
        let right = pixels.edge(right).max(left + pixels.one());
        self.painter.rect_filled(Rect::from_x_y_ranges(left..=right, self.plot.y_range()), 0.0, colour);
    }

    /// How many pixel columns the plot has.
    #[must_use]
    pub fn n_columns(&self) -> usize {
        usize::try_from(to_whole(f64::from(self.plot.width()))).unwrap_or(1).max(1)
    }

    /// The steps that are at least partly visible.
    #[must_use]
    pub fn visible_steps(&self) -> Lifetime {
        let Range { start, end } = self.x.range();
        let start = to_whole(start.floor());
        Lifetime { start, end: to_whole(end.ceil()).max(start + 1) }
    }

    /// The step under a position; `None` outside the plot.
    #[must_use]
    pub fn step_at(&self, at: Pos2) -> Option<u64> {
        self.plot.contains(at).then(|| to_whole(self.x.value(at.x).floor()))
    }

    /// The gestures on steps that all charts share. `scrolls` says that the plain wheel belongs to the view itself.
    pub fn step_gestures(&self, ui: &Ui, ctx: &impl StepControls, scrolls: bool) {
        self.drag_gestures(ui, ctx);
        if self.response.double_clicked() {
            ctx.ask(Command::Fit);
        }
        let Some(at) = self.response.hover_pos() else { return };
        let (zoom, scroll, shift) = ui.input(|input| (input.zoom_delta_2d(), input.smooth_scroll_delta(), input.modifiers.shift));
        let value = self.x.value(at.x);
        if (zoom.x - 1.0).abs() > 1e-3 && !shift {
            ctx.ask(Command::ZoomSteps { at: value, factor: f64::from(zoom.x) });
        }
        if scroll.x != 0.0 {
            ctx.ask(Command::PanSteps(-f64::from(scroll.x) * PAN_PER_POINT));
        }
        if scroll.y != 0.0 && ctx.wheel_zooms() {
            ctx.ask(Command::ZoomSteps { at: value, factor: f64::from(scroll.y / 200.0).exp() });
        } else if scroll.y != 0.0 && !scrolls {
            ctx.ask(Command::PanSteps(-f64::from(scroll.y) * PAN_PER_POINT));
        }
    }

    fn drag_gestures(&self, ui: &Ui, ctx: &impl StepControls) {
        let shift = ui.input(|input| input.modifiers.shift);
        let response = &self.response;
        if response.dragged_by(PointerButton::Primary) && !shift {
            ui.ctx().set_cursor_icon(CursorIcon::Grabbing);
            ctx.ask(Command::PanSteps(-f64::from(response.drag_delta().x) / f64::from(self.plot.width())));
        }
        // Where the drag began is gone on the frame in which it ends, so it is kept.
        let began = response.id.with("began");
        if response.drag_started()
            && let Some(press) = ui.input(|input| input.pointer.press_origin())
        {
            ui.data_mut(|data| data.insert_temp(began, press));
        }
        let from = ui.data(|data| data.get_temp::<Pos2>(began));
        let to = response.interact_pointer_pos().or_else(|| ui.input(|input| input.pointer.latest_pos()));
        let Some((from, to)) = from.zip(to).filter(|_| response.dragged() || response.drag_stopped()) else { return };
        if !self.plot.contains(from) {
            return;
        }
        let (left, right) = (from.x.min(to.x), from.x.max(to.x));
        let (low, high) = (self.x.value(left), self.x.value(right));
        if response.dragged_by(PointerButton::Primary) && shift {
            let start = to_whole(low.floor());
            ctx.ask(Command::MarkSteps(Some(Lifetime { start, end: to_whole(high.ceil()).max(start + 1) })));
        }
        if response.dragged_by(PointerButton::Secondary) {
            let frame = Rect::from_x_y_ranges(left..=right, self.plot.y_range());
            self.painter.rect_filled(frame, 0.0, alpha(ctx.tokens().accent, 0.12));
            dashed_rect(&self.painter, frame, stroke::HAIR, ctx.tokens().accent, stroke::DASH_GUIDE);
        }
        if response.drag_stopped_by(PointerButton::Secondary) && right - left > 4.0 {
            ctx.ask(Command::ShowSteps(Range::new(low, high), Glide::Calm));
        }
    }

    /// Writes a value at the left of the plot, right-aligned, inside the chart's own height.
    pub fn gutter_label(&self, ui: &Ui, ctx: &ViewCtx<'_>, y: f32, text: &str) {
        let at = pos2(self.plot.left() - 8.0, y.clamp(self.rect.top() + 7.0, self.rect.bottom() - 7.0));
        ui.painter_at(self.rect).text(at, Align2::RIGHT_CENTER, text, ctx.tokens.tick(), ctx.tokens.text3);
    }
}

/// The plot inside a chart's rectangle: the same left and right edges in every chart.
#[must_use]
pub fn plot_rect(rect: Rect) -> Rect {
    Rect::from_min_max(
        pos2(rect.left() + space::GUTTER, rect.top()),
        pos2((rect.right() - space::MARGIN_RIGHT).max(rect.left() + space::GUTTER + 1.0), rect.bottom()),
    )
}

/// The steps at which grid lines and numbers stand, about 90 points apart.
#[must_use]
pub fn step_ticks(x: &Scale, width: f32) -> Vec<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a window is a few thousand points wide")]
    let most = (width / 90.0).clamp(2.0, 40.0) as usize;
    let Range { start, end } = x.range();
    count_ticks(to_whole(start.ceil()), to_whole(end.floor()), most)
}

/// A step or byte as a position on an axis.
#[must_use]
pub fn step_value(step: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "values beyond 2^53 cannot be told apart on a screen")]
    let value = step as f64;
    value
}

/// A position on an axis as a whole step or byte, at least 0.
#[must_use]
pub fn to_whole(value: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates, and that is what is wanted")]
    let whole = value.max(0.0) as u64;
    whole
}
