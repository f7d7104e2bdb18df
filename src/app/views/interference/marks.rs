//! Nodes and edges as shapes: soft lines in one mesh, circles with the outline of their state, names beside them.

use arenascope_planner::ids::BufferId;
use egui::{Align2, Color32, Mesh, Painter, Pos2, Rect, Shape, Stroke, vec2};

use crate::ctx::ViewCtx;
use crate::selection::Highlight;
use crate::theme::{Tokens, alpha, stroke};

/// Nodes of at least this radius carry their number.
pub(super) const NUMBER_FROM: f32 = 8.0;

/// A node on the screen.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScreenNode {
    pub(super) buffer: BufferId,
    pub(super) at: Pos2,
    pub(super) radius: f32,
}

impl ScreenNode {
    /// How far a position is from the node's edge; negative inside.
    pub(super) fn distance(&self, to: Pos2) -> f32 {
        self.at.distance(to) - self.radius
    }

    /// The square around it.
    pub(super) fn bounds(&self) -> Rect {
        Rect::from_center_size(self.at, vec2(2.0, 2.0) * self.radius)
    }
}

/// The node under a position, or within a few points of it.
pub(super) fn node_at(nodes: &[ScreenNode], at: Pos2) -> Option<BufferId> {
    let nearest = nodes.iter().min_by(|a, b| a.distance(at).total_cmp(&b.distance(at)))?;
    (nearest.distance(at) <= 4.0).then_some(nearest.buffer)
}

/// The ink of `n` edges: the more there are, the quieter each is, so that dense parts look dense.
pub(super) fn edge_colour(t: &Tokens, n: usize) -> Color32 {
    #[expect(clippy::cast_precision_loss, reason = "at most a few ten thousand edges")]
    let share = (250.0 / n.max(1) as f32).powf(0.75).clamp(0.06, 1.0);
    alpha(t.text3, 0.6 * share)
}

/// Adds a line of about one point with soft sides, so that any angle looks smooth in a plain mesh.
pub(super) fn soft_line(mesh: &mut Mesh, from: Pos2, to: Pos2, colour: Color32) {
    let along = to - from;
    if along.length_sq() < 1e-6 {
        return;
    }
    let across = along.normalized().rot90();
    let base = u32::try_from(mesh.vertices.len()).unwrap_or(u32::MAX);
    for (side, colour) in [(-1.0, Color32::TRANSPARENT), (0.0, colour), (1.0, Color32::TRANSPARENT)] {
        mesh.colored_vertex(from + across * side, colour);
        mesh.colored_vertex(to + across * side, colour);
    }
    for strip in [base, base + 2] {
        mesh.add_triangle(strip, strip + 1, strip + 2);
        mesh.add_triangle(strip + 1, strip + 2, strip + 3);
    }
}

/// Paints nodes, marked ones last so that their outlines are whole.
pub(super) fn nodes(painter: &Painter, ctx: &ViewCtx<'_>, nodes: &[ScreenNode]) {
    let t = ctx.tokens;
    let mut marked = Vec::new();
    for node in nodes {
        let (fill, highlight) = ctx.fill(node.buffer);
        if highlight == Highlight::None {
            circle(painter, t, node, fill);
            number(painter, ctx, node, fill, highlight);
        } else {
            marked.push((highlight, node, fill));
        }
    }
    marked.sort_by_key(|&(highlight, ..)| highlight);
    for (highlight, node, fill) in marked {
        circle(painter, t, node, fill);
        ring(painter, t, node, highlight);
        number(painter, ctx, node, fill, highlight);
    }
}

fn circle(painter: &Painter, t: &Tokens, node: &ScreenNode, fill: Color32) {
    let line = if node.radius >= 3.0 { Stroke::new(stroke::HAIR, t.outline(fill)) } else { Stroke::NONE };
    painter.circle(node.at, node.radius - line.width / 2.0, fill, line);
}

fn ring(painter: &Painter, t: &Tokens, node: &ScreenNode, highlight: Highlight) {
    let strong = stroke::STRONG * t.line_scale;
    match highlight {
        Highlight::None => {}
        Highlight::Related => {
            painter.circle_stroke(node.at, node.radius + t.related_width / 2.0, Stroke::new(t.related_width, t.accent));
        }
        Highlight::Selected => {
            painter.circle_stroke(node.at, node.radius + 0.5, Stroke::new(stroke::HAIR, t.gap));
            painter.circle_stroke(node.at, node.radius + stroke::HAIR + strong / 2.0, Stroke::new(strong, t.select));
        }
        Highlight::Hovered => {
            painter.circle_stroke(node.at, node.radius + strong / 2.0, Stroke::new(strong, t.select));
        }
    }
}

fn number(painter: &Painter, ctx: &ViewCtx<'_>, node: &ScreenNode, fill: Color32, highlight: Highlight) {
    let t = ctx.tokens;
    if node.radius < NUMBER_FROM {
        return;
    }
    let ink = if highlight == Highlight::None && ctx.selection.dims_others() { t.text3 } else { t.ink(fill) };
    let galley = painter.layout_no_wrap(node.buffer.0.to_string(), t.tick_strong(), ink);
    if galley.size().x <= 2.0 * node.radius - 3.0 {
        painter.galley(Align2::CENTER_CENTER.anchor_size(node.at, galley.size()).min, galley, ink);
    }
}

/// Most names beside nodes.
const MAX_NAMES: usize = 24;

/// Writes `#5` beside each of `named` where there is room: right, left, above or below the node.
pub(super) fn names_beside(painter: &Painter, ctx: &ViewCtx<'_>, nodes: &[ScreenNode], named: impl Iterator<Item = ScreenNode>) {
    let t = ctx.tokens;
    let mut taken: Vec<Rect> = Vec::new();
    for node in named.take(MAX_NAMES) {
        let galley = painter.layout_no_wrap(format!("#{}", node.buffer.0), t.tick_strong(), t.text);
        let away = node.radius + 4.0;
        let places = [
            (vec2(away, 0.0), Align2::LEFT_CENTER),
            (vec2(-away, 0.0), Align2::RIGHT_CENTER),
            (vec2(0.0, -away), Align2::CENTER_BOTTOM),
            (vec2(0.0, away), Align2::CENTER_TOP),
        ];
        let free = |rect: &Rect| {
            painter.clip_rect().contains_rect(*rect)
                && taken.iter().all(|other| !other.intersects(*rect))
                && nodes.iter().all(|other| other.buffer == node.buffer || !other.bounds().intersects(*rect))
        };
        let place = places.into_iter().map(|(by, align)| align.anchor_size(node.at + by, galley.size())).find(free);
        if let Some(rect) = place {
            painter.rect_filled(rect.expand2(vec2(1.0, -1.0)), 0.0, t.chart);
            painter.galley(rect.min, galley, t.text);
            taken.push(rect);
        }
    }
}

/// Paints a mesh of edges, if it has any.
pub(super) fn paint_mesh(painter: &Painter, mesh: Mesh) {
    if !mesh.is_empty() {
        painter.add(Shape::mesh(mesh));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::pos2;

    #[test]
    fn a_node_answers_a_little_outside_its_edge_and_the_nearest_wins() {
        let node = |id: u32, x: f32, radius: f32| ScreenNode { buffer: BufferId(id), at: pos2(x, 0.0), radius };
        let nodes = [node(0, 0.0, 10.0), node(1, 20.0, 4.0)];
        assert_eq!(node_at(&nodes, pos2(13.5, 0.0)), Some(BufferId(1)));
        assert_eq!(node_at(&nodes, pos2(11.0, 0.0)), Some(BufferId(0)));
        assert_eq!(node_at(&nodes, pos2(0.0, 15.0)), None);
        assert_eq!(node_at(&[], pos2(0.0, 0.0)), None);
    }

    #[test]
    fn a_soft_line_fades_to_both_sides() {
        let mut mesh = Mesh::default();
        soft_line(&mut mesh, pos2(0.0, 0.0), pos2(10.0, 0.0), Color32::WHITE);
        soft_line(&mut mesh, pos2(3.0, 3.0), pos2(3.0, 3.0), Color32::WHITE);
        assert_eq!((mesh.vertices.len(), mesh.indices.len()), (6, 12));
        assert_eq!(mesh.calc_bounds(), Rect::from_min_max(pos2(0.0, -1.0), pos2(10.0, 1.0)));
    }
}
