//! The Interference view: who is live together with whom.
//!
//! The whole graph as nodes and lines while it is small, laid out off the UI thread; above that, one buffer and its
//! largest neighbours, with the count of what is not drawn.

mod layout;
mod marks;
mod model;
mod paint;

use std::sync::Arc;

use arenascope_planner::ids::BufferId;
use arenascope_planner::problem::Problem;
use egui::{Align, CursorIcon, Id, Layout, PointerButton, Rect, Response, RichText, Sense, Ui, UiBuilder, vec2};

pub use layout::{NodeLayout, lay_out};

use crate::command::Command;
use crate::ctx::ViewCtx;
use crate::draw::{Action, Notice, notice, progress_card, segmented};
use crate::selection::Item;
use crate::session::Planned;
use crate::text;
use crate::theme::{Icon, motion, space};
use crate::views::Pane;
use crate::views::header::header_ui;
use crate::views::inspector::own_name;
use marks::{ScreenNode, node_at};
pub(in crate::views) use model::live_during;
use model::{Ego, MAX_NEIGHBOURS, can_draw_whole, largest_at_peak};
use paint::Camera;

/// Height of the strip with the switch between the two pictures.
const STRIP: f32 = 34.0;
/// Height of the line at the foot.
const FOOT: f32 = 20.0;

/// Which picture is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Picture {
    /// All nodes.
    #[default]
    Graph,
    /// One buffer and its neighbours.
    Ego,
}

/// What became of the layout that was asked for.
#[derive(Debug, Default)]
enum Wait {
    /// None was asked for.
    #[default]
    Idle,
    /// It is being computed for this problem, since this time of the window's clock.
    Running(Arc<Problem>, f64),
    /// It could not be computed.
    Failed(String),
    /// The person cancelled it.
    GivenUp,
}

/// The neighbours that were gathered last, and for what.
#[derive(Debug)]
struct KnownEgo {
    planned: Arc<Planned>,
    rows: usize,
    ego: Ego,
}

/// State of the view.
#[derive(Debug, Default)]
pub struct InterferenceState {
    picture: Picture,
    layout: Option<Arc<NodeLayout>>,
    wait: Wait,
    camera: Camera,
    ego: Option<KnownEgo>,
}

impl InterferenceState {
    /// Draws the view.
    pub fn ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>) {
        let facts = facts(ctx.planned);
        header_ui(ui, ctx, Pane::Interference, &facts, |_| ());
        let all = ui.available_rect_before_wrap();
        ui.advance_cursor_after_rect(all);
        ui.painter().rect_filled(all, 0.0, ctx.tokens.chart);
        if let Some(words) = nothing_to_draw(ctx.planned) {
            notice(ui, ctx.tokens, all, &Notice::empty(Icon::GRAPH, words, &[]));
            return;
        }
        let strip = Rect::from_min_size(all.min, vec2(all.width(), STRIP));
        let whole = can_draw_whole(ctx.planned.prepared.problem.n_buffers(), ctx.planned.model.n_conflicts);
        let picture = if whole { self.picture } else { Picture::Ego };
        let centre = ctx.selection.selected_buffer().or_else(|| largest_at_peak(ctx.planned));
        self.strip_ui(ui, ctx, strip, whole, picture, centre);
        let area = Rect::from_min_max(strip.left_bottom(), all.max - vec2(0.0, FOOT));
        let foot = match (picture, centre) {
            (Picture::Ego, Some(centre)) => self.ego_ui(ui, ctx, area, centre, &facts),
            _ => self.graph_ui(ui, ctx, area, &facts),
        };
        foot_ui(ui, ctx, Rect::from_min_max(area.left_bottom(), all.max), &foot);
    }

    /// Takes a finished layout.
    pub fn take_layout(&mut self, layout: Result<Arc<NodeLayout>, String>) {
        match layout {
            Ok(layout) => {
                self.layout = Some(layout);
                self.camera = Camera::default();
                self.wait = Wait::Idle;
            }
            Err(message) => self.wait = Wait::Failed(message),
        }
    }

    /// Forgets a layout that was cancelled.
    pub fn give_up(&mut self) {
        if matches!(self.wait, Wait::Running(..)) {
            self.wait = Wait::GivenUp;
        }
    }

    /// Drops what belongs to the plan before this one; a layout stays while sizes and lifetimes do.
    pub fn replan(&mut self, planned: &Planned) {
        let problem = &planned.prepared.problem;
        self.ego = None;
        let keeps_waiting = match &self.wait {
            Wait::Running(of, _) => of.buffers() == problem.buffers(),
            Wait::Idle | Wait::Failed(_) | Wait::GivenUp => false,
        };
        if !keeps_waiting {
            self.wait = Wait::Idle;
        }
    }

    fn strip_ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>, strip: Rect, whole: bool, mut picture: Picture, centre: Option<BufferId>) {
        let t = ctx.tokens;
        let inner = strip.shrink2(vec2(space::PADDING - 2.0, 0.0));
        let mut row = ui.new_child(UiBuilder::new().max_rect(inner).layout(Layout::left_to_right(Align::Center)));
        row.spacing_mut().item_spacing.x = 10.0;
        if whole && segmented(&mut row, t, &mut picture, &[(Picture::Graph, "Graph"), (Picture::Ego, "Ego")], space::CONTROL_SMALL) {
            self.picture = picture;
        }
        let note = match (picture, centre) {
            (Picture::Graph, _) => return,
            (Picture::Ego, Some(centre)) if ctx.selection.selected_buffer().is_none() => {
                format!("{}: largest at the peak", named(ctx.planned, centre))
            }
            (Picture::Ego, Some(centre)) => format!("{} and who is live with it", named(ctx.planned, centre)),
            (Picture::Ego, None) => return,
        };
        row.add(egui::Label::new(RichText::new(note).font(t.body()).color(t.text3)).selectable(false).truncate());
    }

    fn graph_ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>, area: Rect, facts: &str) -> String {
        let problem = &ctx.planned.prepared.problem;
        let layout = self.layout.clone();
        let current = layout.as_ref().filter(|layout| layout.is_of(problem));
        let now = ui.input(|input| input.time);
        if current.is_none() && matches!(self.wait, Wait::Idle) {
            ctx.send(Command::LayOutInterference);
            self.wait = Wait::Running(Arc::clone(problem), now);
        }
        let response = self.camera_gestures(ui, ctx, area);
        let label = format!("Interference graph: {facts}");
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::GraphicsObject, true, &label));
        let painter = ui.painter_at(area);
        if let Some(layout) = &layout {
            let placed = paint::place(layout, self.camera, area);
            if current.is_some() {
                paint::graph(&painter, ctx, layout, &placed);
                point(ui, ctx, &response, &placed);
            } else {
                paint::stale_graph(&painter, ctx, layout, &placed);
            }
        }
        if current.is_none() {
            self.wait_ui(ui, ctx, area, now);
        }
        "area = bytes · edge = live at the same step".to_owned()
    }

    /// What is said while there is no layout.
    fn wait_ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>, area: Rect, now: f64) {
        let t = ctx.tokens;
        let again = match &self.wait {
            Wait::Idle => None,
            Wait::Running(_, since) if now - since < motion::QUIET => {
                ui.ctx().request_repaint_after_secs(0.5);
                None
            }
            Wait::Running(..) => {
                if progress_card(ui, t, area, "Laying out the graph", &facts(ctx.planned), None) {
                    ctx.send(Command::CancelJob);
                }
                None
            }
            Wait::Failed(message) => {
                let actions = [Action::new("Copy details").with_icon(Icon::COPY), Action::new("Try again")];
                let clicked = notice(ui, t, area, &Notice::failed("The graph could not be laid out", message, &actions));
                if clicked == Some(0) {
                    ui.ctx().copy_text(message.clone());
                }
                clicked.filter(|&action| action == 1)
            }
            Wait::GivenUp => notice(ui, t, area, &Notice::empty(Icon::GRAPH, "The graph is not laid out", &[Action::primary("Lay it out")])),
        };
        if again.is_some() {
            self.wait = Wait::Idle;
            ui.ctx().request_repaint();
        }
    }

    fn camera_gestures(&mut self, ui: &Ui, ctx: &ViewCtx<'_>, area: Rect) -> Response {
        let response = ui.interact(area, Id::unique("interference-graph"), Sense::click_and_drag());
        if response.dragged_by(PointerButton::Primary) {
            ui.ctx().set_cursor_icon(CursorIcon::Grabbing);
            self.camera.pan_by(area, response.drag_delta());
        }
        if response.double_clicked() {
            self.camera = Camera::default();
        }
        if let Some(at) = response.hover_pos() {
            let (zoom, scroll) = ui.input(|input| (input.zoom_delta(), input.smooth_scroll_delta()));
            let factor = if ctx.wheel_zooms { zoom * (scroll.y / 200.0).exp() } else { zoom };
            if (factor - 1.0).abs() > 1e-3 {
                self.camera.zoom_at(area, at, factor);
            } else if scroll != egui::Vec2::ZERO {
                self.camera.pan_by(area, scroll);
            }
        }
        response
    }

    fn ego_ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>, area: Rect, centre: BufferId, facts: &str) -> String {
        let rows = paint::ego_rows(area);
        let known = self.ego.take().filter(|known| Arc::ptr_eq(&known.planned, ctx.planned) && known.ego.centre == centre && known.rows == rows);
        let known =
            known.unwrap_or_else(|| KnownEgo { planned: Arc::clone(ctx.planned), rows, ego: Ego::new(ctx.planned, centre, MAX_NEIGHBOURS, rows) });
        let ego = &self.ego.insert(known).ego;
        let response = ui.interact(area, Id::unique("interference-ego"), Sense::click());
        let n_drawn = (ego.before.len() + ego.after.len()) as u64;
        let n = n_drawn + ego.n_left_out;
        let label = format!("Interference of #{}: {} of {facts}", centre.0, text::counted(n, "neighbour", "neighbours"));
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::GraphicsObject, true, &label));
        let inner = area.shrink2(vec2(space::PADDING, 0.0));
        let placed = paint::place_ego(ctx, ego, inner);
        paint::ego(&ui.painter_at(area), ctx, ego, &placed, inner);
        point(ui, ctx, &response, &placed);
        if ego.n_left_out == 0 {
            return format!("area = bytes · all {} drawn", text::counted(n, "neighbour", "neighbours"));
        }
        let more = text::counted(ego.n_left_out, "more neighbour", "more neighbours");
        format!("area = bytes · and {more}, {}, not drawn", text::bytes(ego.left_out_bytes))
    }
}

/// Hover and click on a node; in an ego view a click makes it the centre.
fn point(ui: &Ui, ctx: &ViewCtx<'_>, response: &Response, placed: &[ScreenNode]) {
    let Some(at) = response.hover_pos() else { return };
    let hit = node_at(placed, at);
    if let Some(buffer) = hit {
        ctx.hover(Item::Buffer(buffer));
        ui.ctx().set_cursor_icon(CursorIcon::PointingHand);
        response.clone().on_hover_ui_at_pointer(|ui| crate::views::inspector::buffer_tooltip(ui, ctx, buffer));
    }
    if response.clicked() {
        ctx.send(hit.map_or(Command::Clear, |buffer| Command::Select(Item::Buffer(buffer))));
    }
}

/// Number, name and size of a buffer.
fn named(planned: &Planned, buffer: BufferId) -> String {
    let name = own_name(planned, buffer).map_or_else(String::new, |name| format!(" {}", text::middle_cut(name, 22)));
    format!("#{}{name}, {}", buffer.0, text::bytes(planned.prepared.problem.buffer(buffer).bytes))
}

fn facts(planned: &Planned) -> String {
    let model = &planned.model;
    // Long numbers leave no room for two words.
    let clique = if model.n_conflicts < 1_000_000 { "largest clique" } else { "clique" };
    format!("{} · {clique} {}", text::counted(model.n_conflicts, "conflict", "conflicts"), text::count(model.largest_clique.0 as u64))
}

/// Why there is no picture at all; `None` if there is one.
fn nothing_to_draw(planned: &Planned) -> Option<&'static str> {
    match (planned.prepared.problem.n_buffers(), planned.model.n_conflicts) {
        (0, _) => Some("No dynamic buffers: nothing can interfere"),
        (_, 0) => Some("No two buffers are live at the same step: they can all share one place"),
        _ => None,
    }
}

fn foot_ui(ui: &mut Ui, ctx: &ViewCtx<'_>, rect: Rect, words: &str) {
    let inner = rect.shrink2(vec2(space::PADDING, 0.0));
    let mut row = ui.new_child(UiBuilder::new().max_rect(inner).layout(Layout::left_to_right(Align::Center)));
    row.add(egui::Label::new(RichText::new(words).font(ctx.tokens.tick()).color(ctx.tokens.text3)).selectable(false).truncate());
}
