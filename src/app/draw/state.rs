//! How a rectangle looks in each state: always an outline or an overlay, never another fill.

use egui::{Align2, Color32, CornerRadius, Mesh, Painter, Pos2, Rect, Shape, Stroke, StrokeKind, pos2, vec2};

use super::hatch::{Hatch, hatch};
use super::label::{paint_icon, tag};
use super::line::dashed_rect;
use super::pixels::Pixels;
use crate::theme::{Icon, Tokens, alpha, radius, stroke};

/// A state that is an outline; when several apply, the first of this list is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outline {
    /// Under the pointer.
    Hovered,
    /// Selected; stays visible under hover.
    Selected,
    /// Found by the search.
    SearchHit,
    /// Shares a step with the selection.
    Related,
    /// Has the keyboard.
    Focused,
}

/// Below this height the selection has no ring between it and its outline.
const RING_FROM: f32 = 14.0;
/// Opacity of the red over an overlap, by eye: at 60 % it turns purple over a blue fill.
const OVERLAP: f32 = 0.8;

/// Draws the outline of a state around `rect`.
pub fn outline(painter: &Painter, t: &Tokens, rect: Rect, state: Outline) {
    let rect = Pixels::of(painter).snap(rect);
    let strong = stroke::STRONG * t.line_scale;
    let ring = |rect: Rect, width: f32, colour: Color32, kind: StrokeKind| {
        painter.rect_stroke(rect, corner(rect), Stroke::new(width, colour), kind);
    };
    match state {
        Outline::Hovered => ring(rect, strong, t.select, StrokeKind::Outside),
        Outline::Selected if rect.height() < RING_FROM => ring(rect, strong, t.select, StrokeKind::Outside),
        Outline::Selected => {
            ring(rect, stroke::HAIR, t.gap, StrokeKind::Outside);
            ring(rect.expand(stroke::HAIR), strong, t.select, StrokeKind::Outside);
        }
        Outline::SearchHit => ring(rect, strong, t.bound, StrokeKind::Outside),
        Outline::Related => ring(rect, t.related_width, t.accent, StrokeKind::Middle),
        Outline::Focused => ring(rect.expand(2.0), strong, t.accent, StrokeKind::Outside),
    }
}

/// The tag of the current search hit, in the middle of its rectangle.
pub fn search_tag(painter: &Painter, t: &Tokens, rect: Rect, text: &str) -> Rect {
    tag(painter, t, rect.center(), Align2::CENTER_CENTER, t.bound, text)
}

/// The area that two rectangles share although they may not; with a warning sign above it if `has_sign`.
pub fn violation(painter: &Painter, t: &Tokens, shared: Rect, has_sign: bool) {
    let shared = Pixels::of(painter).snap(shared);
    let mut mesh = Mesh::default();
    mesh.add_colored_rect(shared, alpha(t.err, OVERLAP));
    hatch(&mut mesh, shared, Color32::WHITE, Hatch::ALARM);
    painter.add(Shape::mesh(mesh));
    let line = Stroke::new(stroke::STRONG * t.line_scale, t.err);
    painter.rect_stroke(shared, CornerRadius::ZERO, line, StrokeKind::Middle);
    if has_sign {
        warning_sign(painter, t, pos2(shared.center().x, shared.top() - 7.0));
    }
}

/// A warning triangle on its own ground, so that it reads over any fill.
fn warning_sign(painter: &Painter, t: &Tokens, centre: Pos2) {
    let triangle = [vec2(0.0, -7.5), vec2(8.0, 6.5), vec2(-8.0, 6.5)].map(|v| centre + v);
    painter.add(Shape::convex_polygon(triangle.to_vec(), t.chart, Stroke::NONE));
    paint_icon(painter, centre, Icon::WARNING, 13.0, t.err);
}

/// The part of the picture above the capacity line.
pub fn over_capacity(painter: &Painter, t: &Tokens, rect: Rect) {
    let mut mesh = Mesh::default();
    mesh.add_colored_rect(rect, alpha(t.err, 0.55));
    hatch(&mut mesh, rect, Color32::WHITE, Hatch::ALARM);
    painter.add(Shape::mesh(mesh));
}

/// Space trapped below a live buffer; hatched only where there is room for it.
pub fn hole(mesh: &mut Mesh, t: &Tokens, rect: Rect) {
    if rect.width() >= 8.0 && rect.height() >= 8.0 {
        hatch(mesh, rect, t.hole, Hatch::HOLE);
    }
}

/// Height from which a rectangle has room for a mark below its name.
const TALL_FROM: f32 = 34.0;

/// Marks a rectangle that nothing below it holds up.
pub fn could_be_lower(painter: &Painter, t: &Tokens, rect: Rect) {
    let rect = Pixels::of(painter).snap(rect);
    let foot = Rect::from_min_max(pos2(rect.left(), rect.bottom() - 2.0), rect.max);
    // A line of the ground keeps the mark readable on any fill.
    let edge = Stroke::new(stroke::HAIR, t.chart);
    if rect.height() >= 8.0 {
        painter.hline(rect.x_range(), foot.top() - 0.5, edge);
    }
    painter.rect_filled(foot, CornerRadius::ZERO, t.warn);
    if rect.width() >= 16.0 && rect.height() >= 14.0 {
        // In a low rectangle the middle belongs to the name.
        let x = if rect.height() < TALL_FROM { rect.right() - 9.0 } else { rect.center().x };
        let tip = pos2(x, rect.bottom() - 3.0);
        let triangle = vec![tip, tip + vec2(-6.5, -7.5), tip + vec2(6.5, -7.5)];
        painter.add(Shape::convex_polygon(triangle, t.warn, edge));
    }
}

/// The pin at the upper right of a rectangle whose offset is fixed.
pub fn pinned(painter: &Painter, t: &Tokens, rect: Rect, fill: Color32) {
    if rect.width() >= 18.0 && rect.height() >= 16.0 {
        paint_icon(painter, pos2(rect.right() - 10.0, rect.top() + 10.0), Icon::PUSH_PIN, 13.0, t.ink(fill));
    }
}

/// Where a rectangle is in the other plan.
pub fn ghost(painter: &Painter, t: &Tokens, rect: Rect, colour: Color32) {
    let rect = Pixels::of(painter).snap(rect);
    painter.rect_filled(rect, CornerRadius::ZERO, alpha(colour, 0.12));
    dashed_rect(painter, rect, stroke::CURVE * t.line_scale, colour, stroke::DASH_GUIDE);
}

fn corner(rect: Rect) -> CornerRadius {
    let round = rect.width() >= 8.0 && rect.height() >= 8.0;
    CornerRadius::same(if round { radius::RECT } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stronger_states_come_first() {
        let mut states = [Outline::Related, Outline::Hovered, Outline::SearchHit, Outline::Selected];
        states.sort_unstable();
        assert_eq!(states, [Outline::Hovered, Outline::Selected, Outline::SearchHit, Outline::Related]);
    }
}
