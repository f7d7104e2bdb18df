//! What all parts of the view share: the context, strips with a title, charts on the steps of the run.

use std::sync::Arc;

use arenascope_planner::lifetimes::Lifetime;
use egui::{Align, Align2, Color32, Layout, Painter, Pos2, Rect, RichText, Sense, Stroke, Ui, UiBuilder, Vec2, pos2, vec2};

use super::recording::Recording;
use crate::axis::{Axis, Scale};
use crate::command::{Command, CommandSender};
use crate::curve_index::CurveIndex;
use crate::draw::Pixels;
use crate::jobs::Running;
use crate::selection::{Item, Selection};
use crate::session::Planned;
use crate::text;
use crate::theme::{Tokens, alpha, space};
use crate::views::chart::{Chart, StepControls, step_ticks, step_value, to_whole};

/// Everything that the view reads.
#[derive(Clone, Copy)]
pub(crate) struct RunCtx<'a> {
    pub(crate) tokens: &'static Tokens,
    /// The plan that is shown; `None` while only a recorded run is open.
    pub(crate) planned: Option<&'a Arc<Planned>>,
    pub(crate) selection: &'a Selection,
    pub(crate) steps: &'a Axis,
    pub(crate) wheel_zooms: bool,
    pub(crate) commands: &'a CommandSender,
    /// The run in the background, if there is one.
    pub(crate) running: Option<&'a Running>,
    /// Whether the steps of the charts are those of all views; a run of another file has an axis of its own.
    pub(crate) is_linked: bool,
    /// Whether processes may be started at all.
    pub(crate) has_devices: bool,
}

impl RunCtx<'_> {
    pub(super) fn send(&self, command: Command) {
        self.commands.send(command);
    }

    /// The steps of what is hovered, else of what is selected, in the plan's numbers.
    pub(super) fn marked(&self, item: Item) -> Option<Lifetime> {
        let planned = self.planned?;
        let one = |step: u64| Lifetime { start: step, end: step + 1 };
        match item {
            Item::Step(step) => Some(one(step)),
            Item::Op(op) => planned.step_of(op).map(one),
            Item::Buffer(buffer) => planned.lifetime(buffer),
            Item::Tensor(tensor) => planned.buffer_of(tensor).and_then(|buffer| planned.lifetime(buffer)),
            Item::Slot(_) => None,
        }
    }

    /// The step that is under the pointer anywhere, else the one that is selected.
    pub(super) fn step_in_hand(&self) -> Option<u64> {
        let step = |item: Option<Item>| item.and_then(|item| self.marked(item)).filter(|life| life.n_steps() == 1).map(|life| life.start);
        step(self.selection.hovered()).or_else(|| step(self.selection.selected()))
    }
}

impl StepControls for RunCtx<'_> {
    fn tokens(&self) -> &'static Tokens {
        self.tokens
    }

    fn wheel_zooms(&self) -> bool {
        self.wheel_zooms
    }

    fn ask(&self, command: Command) {
        if self.is_linked {
            self.send(command);
        }
    }
}

/// A strip with a title and a line of facts; `controls` adds to its right end, from right to left.
pub(super) fn strip(ui: &mut Ui, t: &Tokens, title: &str, facts: &str, controls: impl FnOnce(&mut Ui)) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), space::PANEL_HEADER), Sense::hover());
    ui.painter().rect_filled(rect, 0.0, t.bg2);
    ui.painter().hline(rect.x_range(), rect.bottom() - 0.5, Stroke::new(1.0, t.line));
    let inner = rect.shrink2(vec2(9.0, 0.0));
    let mut right = ui.new_child(UiBuilder::new().max_rect(inner).layout(Layout::right_to_left(Align::Center)));
    right.spacing_mut().item_spacing.x = 8.0;
    controls(&mut right);
    let free = inner.with_max_x(right.min_rect().left() - 8.0);
    let mut left = ui.new_child(UiBuilder::new().max_rect(free).layout(Layout::left_to_right(Align::Center)));
    left.spacing_mut().item_spacing.x = 8.0;
    left.add(egui::Label::new(RichText::new(title).font(t.body_strong()).color(t.text)).selectable(false));
    if left.available_width() > 40.0 {
        left.add(egui::Label::new(RichText::new(facts).font(t.body()).color(t.text3)).selectable(false).truncate());
    }
}

/// A line of text that ends in three dots where it would leave `width`; returns where it stands.
pub(super) fn cut_text(painter: &Painter, at: Pos2, align: Align2, width: f32, (text, font, colour): (&str, egui::FontId, Color32)) -> Rect {
    let mut job = egui::text::LayoutJob::simple_singleline(text.to_owned(), font, colour);
    job.wrap = egui::text::TextWrapping::truncate_at_width(width.max(8.0));
    let galley = painter.layout_job(job);
    let rect = align.anchor_size(at, galley.size());
    painter.galley(rect.min, galley, colour);
    rect
}

/// The plot inside the rectangle of a chart of this view: the gutter has room for the baseline bar.
pub(super) fn run_plot(rect: Rect) -> Rect {
    let left = rect.left() + space::GUTTER_RUN;
    Rect::from_min_max(pos2(left, rect.top()), pos2((rect.right() - space::MARGIN_RIGHT).max(left + 1.0), rect.bottom()))
}

/// A chart over the steps with ground, grid and marks painted, and the gestures on steps done; `height` points of it.
pub(super) fn step_chart(ui: &mut Ui, ctx: &RunCtx<'_>, name: &str, height: f32) -> Chart {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::hover());
    let chart = Chart::in_frame(ui, (rect, run_plot(rect)), ctx.steps.shown(), name);
    let t = ctx.tokens;
    chart.paint_grid(ui, t);
    if let Some(planned) = ctx.planned {
        let peak = planned.summary.peak_step;
        chart.band(peak, peak + 1, t.peak_band());
    }
    if let Some(marked) = ctx.selection.steps {
        chart.band(marked.start, marked.end, alpha(t.accent, 0.16));
    }
    let bands = [(ctx.selection.selected(), alpha(t.accent, 0.22)), (ctx.selection.hovered(), alpha(t.text3, 0.16))];
    for (item, colour) in bands {
        if let Some(life) = item.and_then(|item| ctx.marked(item)) {
            chart.band(life.start, life.end, colour);
        }
    }
    chart.step_gestures(ui, ctx, false);
    chart
}

/// Hovering and selecting the step under the pointer; `tell` fills the tooltip.
pub(super) fn step_pointer(ui: &Ui, ctx: &RunCtx<'_>, chart: &Chart, recording: &Recording, tell: impl FnOnce(&mut Ui, usize)) {
    let hovered = chart.response.hover_pos().and_then(|at| chart.step_at(at));
    let Some((step, index)) = hovered.and_then(|step| Some((step, recording.index_of(step)?))) else { return };
    if ctx.planned.is_some() {
        ctx.selection.hover(Item::Step(step));
        if chart.response.clicked() && !ui.input(|input| input.modifiers.shift) {
            ctx.send(Command::Select(Item::Step(step)));
        }
    }
    chart.response.clone().on_hover_ui_at_pointer(|ui| {
        step_heading(ui, ctx.tokens, recording, step, index);
        tell(ui, index);
    });
}

fn step_heading(ui: &mut Ui, t: &Tokens, recording: &Recording, step: u64, index: usize) {
    ui.label(RichText::new(format!("step {}", text::count(step))).font(t.body_strong()));
    if let Some(op) = recording.record.ops.get(index) {
        ui.label(RichText::new(text::middle_cut(op, 60)).font(t.body()).color(t.text2));
    }
}

/// One line of a tooltip: a name and a value.
pub(super) fn tip(ui: &mut Ui, t: &Tokens, name: &str, value: &str, colour: Color32) {
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        ui.label(RichText::new(name).font(t.body()).color(t.text3));
        ui.label(RichText::new(value).font(t.body_strong()).color(colour));
    });
}

/// The ruler of the run's steps.
pub(super) fn ruler(ui: &mut Ui, ctx: &RunCtx<'_>) {
    let t = ctx.tokens;
    let (rect, response) = ui.allocate_exact_size(Vec2::new(ui.available_width(), space::RULER - space::SCOPE_BAND), Sense::click());
    let plot = run_plot(rect);
    let x = Scale::new(ctx.steps.shown(), plot.left(), plot.right());
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 0.0, t.bg2);
    painter.hline(rect.x_range(), rect.bottom() - 0.5, Stroke::new(1.0, t.line));
    painter.text(pos2(plot.left() - 8.0, rect.center().y), Align2::RIGHT_CENTER, "step", t.tick(), t.text3);
    let pixels = Pixels::of(&painter);
    for step in step_ticks(&x, plot.width()) {
        let at = pixels.centre(x.pixel(step_value(step)));
        painter.vline(at, rect.bottom() - 14.0..=rect.bottom(), Stroke::new(pixels.one(), t.line2));
        let number = painter.layout_no_wrap(text::count(step), t.tick(), t.text2);
        if at + 5.0 + number.size().x <= plot.right() {
            painter.galley(pos2(at + 5.0, rect.center().y - number.size().y / 2.0), number, t.text2);
        }
    }
    if response.double_clicked() {
        ctx.send(Command::Fit);
    }
}

/// The corners of a curve as steps; where a column holds several steps, its extremes.
pub(super) fn curve_path(chart: &Chart, curve: &CurveIndex, y: &Scale) -> Vec<Pos2> {
    let range = chart.x.range();
    let mut path = Vec::new();
    for span in curve.spans(range.start, range.end, chart.n_columns()) {
        let (left, right) = (chart.x.pixel(span.start), chart.x.pixel(span.end));
        path.push(pos2(left, y.pixel(step_value(span.high))));
        if span.low != span.high {
            path.push(pos2(f32::midpoint(left, right), y.pixel(step_value(span.low))));
        }
        path.push(pos2(right, y.pixel(step_value(span.high))));
    }
    path
}

/// Fills the area below a curve.
pub(super) fn fill_below(chart: &Chart, curve: &CurveIndex, y: &Scale, colour: Color32) {
    let range = chart.x.range();
    let mut mesh = egui::Mesh::default();
    for span in curve.spans(range.start, range.end, chart.n_columns()) {
        let x = chart.x.pixel(span.start)..=chart.x.pixel(span.end);
        mesh.add_colored_rect(Rect::from_x_y_ranges(x, y.pixel(step_value(span.high))..=chart.plot.bottom()), colour);
    }
    chart.painter.add(egui::Shape::mesh(mesh));
}

/// Numbers and lines of an axis of bytes.
pub(super) fn byte_axis(ui: &Ui, t: &Tokens, chart: &Chart, y: &Scale) {
    let pixels = Pixels::of(&chart.painter);
    let outside = ui.painter_at(chart.rect);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a plot is a few thousand points high")]
    let most = (chart.plot.height() / 34.0).clamp(2.0, 10.0) as usize;
    for tick in text::byte_ticks(0, to_whole(y.range().end), most) {
        let at = pixels.centre(y.pixel(step_value(tick.bytes)));
        chart.painter.hline(chart.plot.x_range(), at, Stroke::new(pixels.one(), t.grid));
        if at > chart.rect.top() + 7.0 {
            let label = pos2(chart.plot.left() - 8.0, at.min(chart.rect.bottom() - 7.0));
            outside.text(label, Align2::RIGHT_CENTER, &tick.label, t.tick(), t.text3);
        }
    }
}

/// Moves the centres of labels apart so that none covers another, inside `from..=to`; in their order from top to bottom.
pub(super) fn spread(centres: &mut [f32], height: f32, from: f32, to: f32) {
    let mut order: Vec<usize> = (0..centres.len()).collect();
    order.sort_by(|&a, &b| centres[a].total_cmp(&centres[b]));
    let mut least = from + height / 2.0;
    for &index in &order {
        centres[index] = centres[index].max(least);
        least = centres[index] + height;
    }
    let mut most = to - height / 2.0;
    for &index in order.iter().rev() {
        centres[index] = centres[index].min(most);
        most = centres[index] - height;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_would_cover_each_other_move_apart_and_stay_inside() {
        let mut centres = [50.0, 52.0, 51.0, 99.0];
        spread(&mut centres, 10.0, 0.0, 100.0);
        assert_eq!(centres, [50.0, 70.0, 60.0, 95.0]);
        let mut low = [98.0, 99.0];
        spread(&mut low, 10.0, 0.0, 100.0);
        assert_eq!(low, [85.0, 95.0]);
    }
}
