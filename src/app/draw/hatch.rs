//! Hatches and dots as triangles, clipped to their rectangle by hand.

use std::f32::consts::FRAC_PI_4;

use egui::{Color32, Mesh, Pos2, Rect, Vec2, pos2};

use crate::theme::{Pattern, Tokens, alpha};

/// How a hatch is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hatch {
    /// Distance between two lines along the x axis, points.
    pub spacing: f32,
    /// Width of a line, points.
    pub width: f32,
    /// Direction of the lines, radians from the x axis, counter-clockwise.
    pub angle: f32,
}

impl Hatch {
    /// Second channel of roles and slots.
    pub const PATTERN: Self = Self { spacing: 7.0, width: 2.0, angle: FRAC_PI_4 };
    /// One direction of a cross hatch; wider, because the other direction comes on top.
    pub const CROSS: Self = Self { spacing: 11.0, ..Self::PATTERN };
    /// The other direction of a cross hatch.
    pub const CROSS_BACK: Self = Self { angle: -FRAC_PI_4, ..Self::CROSS };
    /// Space trapped below a live buffer.
    pub const HOLE: Self = Self { spacing: 6.0, width: 1.0, angle: FRAC_PI_4 };
    /// Over an overlap and above the capacity.
    pub const ALARM: Self = Self { spacing: 6.0, width: 1.5, angle: FRAC_PI_4 };
    /// The foot of a gradient: finer, because the foot is low.
    pub const FOOT: Self = Self { spacing: 4.0, width: 1.0, angle: FRAC_PI_4 };
}

/// Width of the soft edge of a line, points.
const FEATHER: f32 = 0.7;
/// A hatch of more lines than this is a grey area anyway.
const MOST_LINES: u16 = 2000;
const DOT_SPACING: f32 = 10.0;
const DOT_RADIUS: f32 = 1.3;

/// Adds parallel lines over `rect`.
///
/// Lines lie on a grid of the whole window, so that neighbouring rectangles join.
pub fn hatch(mesh: &mut Mesh, rect: Rect, colour: Color32, style: Hatch) {
    if !rect.is_positive() || !rect.is_finite() {
        return;
    }
    let (sin, cos) = style.angle.sin_cos();
    let normal = Vec2::new(sin, cos);
    let along = |p: Pos2| p.to_vec2().dot(normal);
    let corners = corners(rect).map(along);
    let low = corners.iter().copied().fold(f32::INFINITY, f32::min);
    let high = corners.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let half = style.width / 2.0;
    let core = (half - FEATHER / 2.0).max(0.0);
    let edge = half + FEATHER / 2.0;
    let peak = (style.width / (core + edge)).min(1.0);
    let spacing = (style.spacing * sin.abs()).max(1.0);
    let mut line = ((low - edge) / spacing).ceil() * spacing;
    for _ in 0..MOST_LINES {
        if line - edge > high {
            break;
        }
        let shade = |at: f32| {
            let off = (at - line).abs();
            let t = if edge > core { ((edge - off) / (edge - core)).clamp(0.0, 1.0) } else { 1.0 };
            alpha(colour, t * peak)
        };
        for (from, to) in [(-edge, -core), (-core, core), (core, edge)] {
            if to > from {
                band(mesh, rect, normal, (line + from, line + to), shade);
            }
        }
        line += spacing;
    }
}

/// Adds lines in both diagonal directions.
pub fn cross_hatch(mesh: &mut Mesh, rect: Rect, colour: Color32) {
    hatch(mesh, rect, colour, Hatch::CROSS);
    hatch(mesh, rect, colour, Hatch::CROSS_BACK);
}

/// Adds a grid of dots; only dots that lie whole inside `rect`.
pub fn dots(mesh: &mut Mesh, rect: Rect, colour: Color32) {
    let margin = DOT_SPACING / 2.0;
    let mut y = rect.top() + margin;
    while y + DOT_RADIUS <= rect.bottom() {
        let mut x = rect.left() + margin;
        while x + DOT_RADIUS <= rect.right() {
            dot(mesh, pos2(x, y), colour);
            x += DOT_SPACING;
        }
        y += DOT_SPACING;
    }
}

/// Adds the second channel of a fill, if the rectangle is large enough to show it.
pub fn pattern(mesh: &mut Mesh, tokens: &Tokens, rect: Rect, fill: Color32, pattern: Pattern) {
    if rect.width() < 8.0 || rect.height() < 8.0 {
        return;
    }
    let ink = tokens.hatch_ink(fill);
    match pattern {
        Pattern::Plain => {}
        Pattern::Foot => {
            let foot = Rect::from_min_max(pos2(rect.left(), rect.bottom() - rect.height() / 4.0), rect.max);
            hatch(mesh, foot, ink, Hatch::FOOT);
        }
        Pattern::Hatch => hatch(mesh, rect, ink, Hatch::PATTERN),
        Pattern::Cross => cross_hatch(mesh, rect, ink),
        Pattern::Dots => dots(mesh, rect, tokens.ink(fill)),
    }
}

fn corners(rect: Rect) -> [Pos2; 4] {
    [rect.left_top(), rect.right_top(), rect.right_bottom(), rect.left_bottom()]
}

/// Adds the part of `rect` between two parallel lines, shaded by the distance along the normal.
fn band(mesh: &mut Mesh, rect: Rect, normal: Vec2, (from, to): (f32, f32), shade: impl Fn(f32) -> Color32) {
    let along = |p: Pos2| p.to_vec2().dot(normal);
    let mut polygon = corners(rect).to_vec();
    for (sign, limit) in [(1.0, from), (-1.0, -to)] {
        polygon = cut(&polygon, |p| sign * along(p) - limit);
    }
    if polygon.len() < 3 {
        return;
    }
    let Ok(first) = u32::try_from(mesh.vertices.len()) else { return };
    for &p in &polygon {
        mesh.colored_vertex(p, shade(along(p).clamp(from, to)));
    }
    for (next, _) in (first + 1..).zip(2..polygon.len()) {
        mesh.add_triangle(first, next, next + 1);
    }
}

/// The part of a convex polygon where `inside` is not negative (Sutherland and Hodgman 1974).
fn cut(polygon: &[Pos2], inside: impl Fn(Pos2) -> f32) -> Vec<Pos2> {
    let mut out = Vec::with_capacity(polygon.len() + 1);
    for (idx, &b) in polygon.iter().enumerate() {
        let a = polygon[(idx + polygon.len() - 1) % polygon.len()];
        let (da, db) = (inside(a), inside(b));
        if (da < 0.0) != (db < 0.0) {
            out.push(a + (b - a) * (da / (da - db)));
        }
        if db >= 0.0 {
            out.push(b);
        }
    }
    out
}

fn dot(mesh: &mut Mesh, centre: Pos2, colour: Color32) {
    let Ok(first) = u32::try_from(mesh.vertices.len()) else { return };
    for corner in 0..8_u8 {
        let angle = f32::from(corner) * FRAC_PI_4;
        mesh.colored_vertex(centre + DOT_RADIUS * Vec2::angled(angle), colour);
    }
    for next in 1..7 {
        mesh.add_triangle(first, first + next, first + next + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hatches_and_dots_stay_inside() {
        let rect = Rect::from_min_max(pos2(3.0, 5.0), pos2(61.0, 40.0));
        for angle in [FRAC_PI_4, -FRAC_PI_4, 0.3] {
            let mut mesh = Mesh::default();
            hatch(&mut mesh, rect, Color32::WHITE, Hatch { angle, ..Hatch::PATTERN });
            dots(&mut mesh, rect, Color32::WHITE);
            assert!(mesh.is_valid() && !mesh.is_empty());
            assert!(rect.expand(0.01).contains_rect(mesh.calc_bounds()));
        }
    }

    #[test]
    fn an_empty_or_infinite_rectangle_has_no_lines() {
        for rect in [Rect::NOTHING, Rect::EVERYTHING, Rect::from_min_size(pos2(1.0, 1.0), Vec2::ZERO)] {
            let mut mesh = Mesh::default();
            hatch(&mut mesh, rect, Color32::WHITE, Hatch::HOLE);
            assert!(mesh.is_empty());
        }
    }
}
