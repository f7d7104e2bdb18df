//! Painting the two pictures: the whole graph under a camera, and one buffer between its neighbours.

use arenascope_planner::ids::BufferId;
use egui::{Align2, Mesh, Painter, Pos2, Rect, Shape, Stroke, Vec2, pos2, vec2};

use super::layout::NodeLayout;
use super::marks::{NUMBER_FROM, ScreenNode, edge_colour, names_beside, nodes, paint_mesh, soft_line};
use super::model::{Ego, radius};
use crate::ctx::ViewCtx;
use crate::selection::{Highlight, Item};
use crate::text;
use crate::theme::stroke;
use crate::views::inspector::own_name;

/// What part of the drawing is shown: it fits the panel at zoom 1 without a pan.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Camera {
    pub(super) zoom: f32,
    pub(super) pan: Vec2,
}

impl Default for Camera {
    fn default() -> Self {
        Self { zoom: 1.0, pan: Vec2::ZERO }
    }
}

/// How far one can zoom in.
const MAX_ZOOM: f32 = 40.0;
/// One direction may be stretched by this much more than the other, so that the drawing fills the panel.
const MAX_STRETCH: f32 = 1.7;
/// Small graphs are not blown up further than this.
const MAX_FIT: f32 = 2.4;
/// Nodes do not grow beyond this when zooming in.
const MAX_NODE_SCALE: f32 = 1.6;

impl Camera {
    /// Zooms so that what is under `at` stays there.
    pub(super) fn zoom_at(&mut self, area: Rect, at: Pos2, factor: f32) {
        let zoom = (self.zoom * factor).clamp(1.0, MAX_ZOOM);
        let from_centre = at - area.center();
        self.pan = from_centre - (from_centre - self.pan) * (zoom / self.zoom);
        self.zoom = zoom;
        self.keep_in(area);
    }

    /// Moves the drawing, not further than its edge to the middle.
    pub(super) fn pan_by(&mut self, area: Rect, by: Vec2) {
        self.pan += by;
        self.keep_in(area);
    }

    fn keep_in(&mut self, area: Rect) {
        let most = area.size() * 0.5 * self.zoom;
        self.pan = self.pan.clamp(-most, most);
    }
}

/// The nodes of a layout on the screen.
pub(super) fn place(layout: &NodeLayout, camera: Camera, area: Rect) -> Vec<ScreenNode> {
    let inner = area.shrink(12.0);
    let size = vec2(layout.size[0].max(1.0), layout.size[1].max(1.0));
    let fit = inner.size() / size;
    let least = fit.min_elem().min(MAX_FIT);
    let stretch = fit.min(Vec2::splat(least * MAX_STRETCH));
    let node_scale = (least * camera.zoom).min(MAX_NODE_SCALE);
    let place = |(index, (&[x, y], &radius)): (usize, (&[f32; 2], &f32))| {
        let from_centre = (vec2(x, y) - size * 0.5) * stretch;
        ScreenNode {
            buffer: BufferId::new(index),
            at: inner.center() + camera.pan + from_centre * camera.zoom,
            radius: (radius * node_scale).max(1.5),
        }
    };
    layout.positions.iter().zip(&layout.radii).enumerate().map(place).collect()
}

/// Paints the whole graph.
pub(super) fn graph(painter: &Painter, ctx: &ViewCtx<'_>, layout: &NodeLayout, placed: &[ScreenNode]) {
    let t = ctx.tokens;
    let clip = painter.clip_rect();
    let of_selection = [focused(ctx, ctx.selection.hovered()), ctx.selection.selected_buffer()];
    let mut mesh = Mesh::default();
    let mut strong = Vec::new();
    let colour = edge_colour(t, layout.edges.len());
    for &(a, b) in &layout.edges {
        let ends = [placed[a as usize].at, placed[b as usize].at];
        if of_selection.iter().flatten().any(|buffer| buffer.0 == a || buffer.0 == b) {
            strong.push(ends);
        } else if clip.intersects(Rect::from_two_pos(ends[0], ends[1])) {
            soft_line(&mut mesh, ends[0], ends[1], colour);
        }
    }
    paint_mesh(painter, mesh);
    for ends in strong {
        painter.line_segment(ends, Stroke::new(stroke::STRONG * t.line_scale, t.accent));
    }
    nodes(painter, ctx, placed);
    let Some(centre) = ctx.selection.selected_buffer() else { return };
    let is_named = |node: &&ScreenNode| {
        let related = node.buffer == centre
            || layout.edges.iter().any(|&(a, b)| (a == centre.0 && b == node.buffer.0) || (b == centre.0 && a == node.buffer.0));
        related && node.radius < NUMBER_FROM
    };
    names_beside(painter, ctx, placed, placed.iter().filter(is_named).copied());
}

/// A drawing of the plan before this one, until the new layout is there: shapes only.
pub(super) fn stale_graph(painter: &Painter, ctx: &ViewCtx<'_>, layout: &NodeLayout, placed: &[ScreenNode]) {
    let t = ctx.tokens;
    let mut mesh = Mesh::default();
    for &(a, b) in &layout.edges {
        soft_line(&mut mesh, placed[a as usize].at, placed[b as usize].at, t.grid);
    }
    paint_mesh(painter, mesh);
    for node in placed {
        painter.circle_filled(node.at, node.radius, t.bg3);
    }
}

/// The buffer that an item stands for, if it is one.
fn focused(ctx: &ViewCtx<'_>, item: Option<Item>) -> Option<BufferId> {
    match item? {
        Item::Buffer(buffer) => Some(buffer),
        Item::Tensor(tensor) => ctx.planned.buffer_of(tensor),
        Item::Op(_) | Item::Step(_) | Item::Slot(_) => None,
    }
}

/// Height of a row of the ego view, points.
pub(super) const EGO_ROW: f32 = 17.0;
/// Space above the rows for the two headings.
const EGO_TOP: f32 = 18.0;
/// How far the outer rows lean towards the middle.
const EGO_BEND: f32 = 16.0;
/// Radius of the buffer in the middle.
const EGO_CENTRE: f32 = 18.0;

/// How many neighbours fit on a side.
pub(super) fn ego_rows(area: Rect) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few dozen rows")]
    let rows = ((area.height() - EGO_TOP) / EGO_ROW).max(1.0) as usize;
    rows
}

/// The nodes of an ego view on the screen, the one in the middle first.
pub(super) fn place_ego(ctx: &ViewCtx<'_>, ego: &Ego, area: Rect) -> Vec<ScreenNode> {
    let problem = &ctx.planned.prepared.problem;
    let largest = ctx.planned.model.largest_bytes;
    let rows = area.with_min_y(area.top() + EGO_TOP);
    let mut placed = vec![ScreenNode { buffer: ego.centre, at: rows.center(), radius: EGO_CENTRE }];
    let away = (area.width() * 0.13).clamp(40.0, 150.0);
    for (side, out) in [(&ego.before, -1.0), (&ego.after, 1.0)] {
        #[expect(clippy::cast_precision_loss, reason = "a few dozen rows")]
        let (n, half) = (side.len() as f32, side.len() as f32 / 2.0 * EGO_ROW);
        let top = rows.center().y - n / 2.0 * EGO_ROW + EGO_ROW / 2.0;
        let mut y = top;
        for &buffer in side {
            let lean = ((y - rows.center().y) / half.max(1.0)).powi(2) * EGO_BEND;
            let x = rows.center().x + out * (away + EGO_BEND - lean);
            let radius = (radius(problem.buffer(buffer).bytes, largest) * 0.6).clamp(3.0, EGO_ROW / 2.0 - 1.0);
            placed.push(ScreenNode { buffer, at: pos2(x, y), radius });
            y += EGO_ROW;
        }
    }
    placed
}

/// Paints one buffer and its neighbours.
pub(super) fn ego(painter: &Painter, ctx: &ViewCtx<'_>, ego: &Ego, placed: &[ScreenNode], area: Rect) {
    let t = ctx.tokens;
    let [centre, others @ ..] = placed else { return };
    let hovered = focused(ctx, ctx.selection.hovered());
    for node in others {
        let strong = hovered == Some(node.buffer);
        let line =
            if strong { Stroke::new(stroke::STRONG * t.line_scale, t.accent) } else { Stroke::new(stroke::HAIR, edge_colour(t, others.len())) };
        edge_to(painter, centre.at, node.at, line);
    }
    nodes(painter, ctx, placed);
    let mut taken: Vec<Rect> = others.iter().map(ScreenNode::bounds).collect();
    for is_left in [true, false] {
        let side: Vec<&ScreenNode> = others.iter().filter(|node| (node.at.x < centre.at.x) == is_left).collect();
        taken.extend(beside(painter, ctx, &side, is_left, area));
    }
    centre_label(painter, ctx, centre, &taken);
    headings(painter, ctx, ego, area, centre.at.x);
}

/// An edge that leaves both ends level.
fn edge_to(painter: &Painter, from: Pos2, to: Pos2, line: Stroke) {
    let middle = (from.x + to.x) / 2.0;
    let points = [from, pos2(middle, from.y), pos2(middle, to.y), to];
    painter.add(Shape::CubicBezier(egui::epaint::CubicBezierShape::from_points_stroke(points, false, egui::Color32::TRANSPARENT, line)));
}

/// Number, name and size of the neighbours on a side: the longest form that fits for all of them. Returns where they stand.
fn beside(painter: &Painter, ctx: &ViewCtx<'_>, side: &[&ScreenNode], is_left: bool, area: Rect) -> Vec<Rect> {
    let away = |node: &ScreenNode| node.radius + 6.0;
    let room = |node: &ScreenNode| if is_left { node.at.x - away(node) - area.left() } else { area.right() - node.at.x - away(node) };
    let galley = |node: &ScreenNode, form: u8| {
        let (font, colour) = ink_beside(ctx, node);
        painter.layout_no_wrap(words_beside(ctx, node.buffer, form), font, colour)
    };
    let form = (0..FORMS - 1).find(|&form| side.iter().all(|node| galley(node, form).size().x <= room(node))).unwrap_or(FORMS - 1);
    let mut taken = Vec::new();
    for node in side {
        let galley = galley(node, form);
        let (align, x) = if is_left { (Align2::RIGHT_CENTER, node.at.x - away(node)) } else { (Align2::LEFT_CENTER, node.at.x + away(node)) };
        let rect = align.anchor_size(pos2(x, node.at.y), galley.size());
        painter.galley(rect.min, galley, ctx.tokens.text2);
        taken.push(rect);
    }
    taken
}

/// How many ways there are to name a neighbour, from the longest to the shortest.
const FORMS: u8 = 3;

fn words_beside(ctx: &ViewCtx<'_>, buffer: BufferId, form: u8) -> String {
    let id = format!("#{}", buffer.0);
    let size = text::bytes(ctx.planned.prepared.problem.buffer(buffer).bytes);
    match (form, own_name(ctx.planned, buffer)) {
        (0, Some(name)) => format!("{id}  {name}  {size}"),
        (0 | 1, _) => format!("{id}  {size}"),
        _ => id,
    }
}

fn ink_beside(ctx: &ViewCtx<'_>, node: &ScreenNode) -> (egui::FontId, egui::Color32) {
    let t = ctx.tokens;
    match ctx.highlight(Item::Buffer(node.buffer)) {
        Highlight::Selected | Highlight::Hovered => (t.tick_strong(), t.text),
        Highlight::None if ctx.selection.dims_others() => (t.tick(), t.text3),
        Highlight::None | Highlight::Related => (t.tick(), t.text2),
    }
}

/// Name and size of the buffer in the middle, below or above it; left out where that would cover a neighbour, since the
/// strip above says it too.
fn centre_label(painter: &Painter, ctx: &ViewCtx<'_>, node: &ScreenNode, taken: &[Rect]) {
    let t = ctx.tokens;
    let name = own_name(ctx.planned, node.buffer).map_or_else(|| format!("#{}", node.buffer.0), |name| text::middle_cut(name, 18));
    let size = text::bytes(ctx.planned.prepared.problem.buffer(node.buffer).bytes);
    let lines = [(name, t.tick_strong(), t.text), (size, t.tick(), t.text2)];
    let galleys = lines.map(|(line, font, colour)| (painter.layout_no_wrap(line, font, colour), colour));
    let height: f32 = galleys.iter().map(|(galley, _)| galley.size().y).sum();
    let width = galleys.iter().map(|(galley, _)| galley.size().x).fold(0.0, f32::max);
    let away = node.radius + 5.0;
    let box_at = |top: f32| Rect::from_min_size(pos2(node.at.x - width / 2.0, top), vec2(width, height));
    let places = [box_at(node.at.y + away), box_at(node.at.y - away - height)];
    let Some(place) = first_free(places, painter.clip_rect(), taken) else { return };
    let mut y = place.top();
    for (galley, colour) in galleys {
        let rect = Align2::CENTER_TOP.anchor_size(pos2(node.at.x, y), galley.size());
        painter.rect_filled(rect.expand2(vec2(2.0, 0.0)), 0.0, t.chart);
        painter.galley(rect.min, galley, colour);
        y += rect.height();
    }
}

/// The first place inside `clip` that keeps clear of all that is taken.
fn first_free(places: [Rect; 2], clip: Rect, taken: &[Rect]) -> Option<Rect> {
    places.into_iter().find(|place| clip.contains_rect(*place) && !taken.iter().any(|other| other.intersects(place.expand(2.0))))
}

fn headings(painter: &Painter, ctx: &ViewCtx<'_>, ego: &Ego, area: Rect, middle: f32) {
    let t = ctx.tokens;
    let y = area.top() + 7.0;
    for (side, text, x, align) in
        [(&ego.before, "born before", middle - 40.0, Align2::RIGHT_CENTER), (&ego.after, "born with it or later", middle + 40.0, Align2::LEFT_CENTER)]
    {
        if !side.is_empty() {
            painter.text(pos2(x, y), align, text, t.tick(), t.text3);
        }
    }
    if ego.before.is_empty() && ego.after.is_empty() {
        let at = pos2(area.center().x, area.bottom() - 20.0);
        painter.text(at, Align2::CENTER_CENTER, "no other buffer is live at its steps", t.body(), t.text2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area() -> Rect {
        Rect::from_min_size(pos2(10.0, 20.0), vec2(400.0, 300.0))
    }

    #[test]
    fn what_is_under_the_pointer_stays_there_while_zooming() {
        let at = pos2(120.0, 90.0);
        let mut camera = Camera::default();
        let seen = |camera: Camera| (at - area().center() - camera.pan) / camera.zoom;
        let before = seen(camera);
        camera.zoom_at(area(), at, 3.0);
        assert!((seen(camera) - before).length() < 1e-3);
        assert!((camera.zoom - 3.0).abs() < 1e-6);
    }

    #[test]
    fn a_label_goes_where_nothing_stands_or_nowhere() {
        let at = |y: f32| Rect::from_min_size(pos2(100.0, y), vec2(80.0, 28.0));
        let places = [at(120.0), at(60.0)];
        let neighbour = |y: f32| Rect::from_min_size(pos2(170.0, y), vec2(60.0, 14.0));
        assert_eq!(first_free(places, area(), &[]), Some(at(120.0)));
        assert_eq!(first_free(places, area(), &[neighbour(130.0)]), Some(at(60.0)));
        assert_eq!(first_free(places, area(), &[neighbour(130.0), neighbour(80.0)]), None);
        assert_eq!(first_free([at(2.0), at(60.0)], area(), &[]), Some(at(60.0)), "outside the view");
    }

    #[test]
    fn the_drawing_cannot_be_lost() {
        let mut camera = Camera::default();
        camera.pan_by(area(), vec2(10_000.0, -10_000.0));
        assert_eq!(camera.pan, vec2(200.0, -150.0));
        camera.zoom_at(area(), area().center(), 1e-3);
        assert!((camera.zoom - 1.0).abs() < 1e-6);
    }
}
