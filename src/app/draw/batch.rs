//! Many filled rectangles as one mesh of exact quads.

use std::sync::Arc;

use egui::{Color32, Mesh, Painter, Rect, Shape, Vec2, pos2};

use super::pixels::Pixels;
use crate::theme::{Tokens, alpha, radius, stroke};

/// How much each rectangle of a batch shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The fill only: dense pictures.
    Plain,
    /// Outline from 4 points up, corners from 8 × 8: while few rectangles are visible.
    Full,
}

/// Above this number of visible rectangles a picture uses `Detail::Plain`.
const FULL_UP_TO: usize = 4000;
const OUTLINE_FROM: f32 = 4.0;
const ROUND_FROM: f32 = 8.0;

impl Detail {
    /// The detail for `n_visible` rectangles.
    #[must_use]
    pub fn for_count(n_visible: usize) -> Self {
        if n_visible < FULL_UP_TO { Self::Full } else { Self::Plain }
    }
}

/// Collects rectangles and paints them in the order in which they were added.
pub struct RectBatch<'t> {
    tokens: &'t Tokens,
    pixels: Pixels,
    detail: Detail,
    mesh: Mesh,
}

impl<'t> RectBatch<'t> {
    /// An empty batch for the pixel grid of `painter`.
    #[must_use]
    pub fn new(painter: &Painter, tokens: &'t Tokens, detail: Detail) -> Self {
        Self { tokens, pixels: Pixels::of(painter), detail, mesh: Mesh::default() }
    }

    /// Makes room for `n_rects` more rectangles.
    pub fn reserve(&mut self, n_rects: usize) {
        self.mesh.reserve_vertices(4 * n_rects);
        self.mesh.reserve_triangles(2 * n_rects);
    }

    /// Adds a rectangle; returns where it really is, on whole pixels.
    pub fn add(&mut self, rect: Rect, fill: Color32) -> Rect {
        self.add_with_outline(rect, fill, self.tokens.outline(fill))
    }

    /// Adds a rectangle that is only filled, whatever the detail.
    pub fn add_plain(&mut self, rect: Rect, fill: Color32) -> Rect {
        let rect = self.pixels.snap(rect);
        self.mesh.add_colored_rect(rect, fill);
        rect
    }

    /// Adds a rectangle whose outline has a colour of its own.
    pub fn add_with_outline(&mut self, rect: Rect, fill: Color32, outline: Color32) -> Rect {
        let rect = self.pixels.snap(rect);
        let smallest = rect.width().min(rect.height());
        if self.detail == Detail::Plain || smallest < OUTLINE_FROM {
            self.mesh.add_colored_rect(rect, fill);
            return rect;
        }
        let corner = if smallest >= ROUND_FROM { f32::from(radius::RECT) } else { 0.0 };
        let line = self.pixels.width(stroke::HAIR);
        rounded(&mut self.mesh, self.pixels, rect, corner, outline);
        rounded(&mut self.mesh, self.pixels, rect.shrink(line), (corner - line).max(0.0), fill);
        rect
    }

    /// The mesh itself, for hatches that belong between two rectangles.
    pub fn mesh_mut(&mut self) -> &mut Mesh {
        &mut self.mesh
    }

    /// Whether nothing was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.mesh.is_empty()
    }

    /// Paints everything that was added.
    pub fn paint(self, painter: &Painter) {
        if !self.mesh.is_empty() {
            painter.add(Shape::mesh(Arc::new(self.mesh)));
        }
    }
}

/// A rectangle with round corners made of rows of whole pixels; only corner pixels are blended.
fn rounded(mesh: &mut Mesh, pixels: Pixels, rect: Rect, corner: f32, fill: Color32) {
    let px = pixels.one();
    let radius = (corner / px).round();
    if radius < 1.5 {
        mesh.add_colored_rect(rect, fill);
        return;
    }
    let band = radius * px;
    mesh.add_colored_rect(rect.shrink2(Vec2::new(0.0, band)), fill);
    let mut row = 0.0;
    while row < radius {
        let (above, below) = (rect.top() + row * px, rect.bottom() - (row + 1.0) * px);
        let mut inset = 0.0;
        while inset < radius {
            let covered = coverage(radius, inset, row);
            if covered > 0.9 {
                break;
            }
            if covered > 0.05 {
                for top in [above, below] {
                    for left in [rect.left() + inset * px, rect.right() - (inset + 1.0) * px] {
                        let pixel = Rect::from_min_size(pos2(left, top), Vec2::splat(px));
                        mesh.add_colored_rect(pixel, alpha(fill, covered));
                    }
                }
            }
            inset += 1.0;
        }
        for top in [above, below] {
            let left = rect.left() + inset * px;
            let size = Vec2::new(rect.width() - 2.0 * inset * px, px);
            mesh.add_colored_rect(Rect::from_min_size(pos2(left, top), size), fill);
        }
        row += 1.0;
    }
}

/// How much of the pixel at (`x`, `y`) from the corner lies in a circle of that radius.
fn coverage(radius: f32, x: f32, y: f32) -> f32 {
    let distance = (radius - x - 0.5).hypot(radius - y - 0.5);
    (radius - distance + 0.5).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theme::ThemeKind;

    fn batch(detail: Detail) -> RectBatch<'static> {
        let tokens = ThemeKind::Dark.tokens();
        RectBatch { tokens, pixels: Pixels::new(1.0), detail, mesh: Mesh::default() }
    }

    #[test]
    fn a_rectangle_below_a_pixel_is_still_drawn() {
        let mut batch = batch(Detail::Plain);
        let drawn = batch.add(Rect::from_min_max(pos2(3.2, 3.2), pos2(3.21, 3.21)), Color32::WHITE);
        assert_eq!(drawn.size(), Vec2::splat(1.0));
        assert_eq!(batch.mesh.vertices.len(), 4);
    }

    #[test]
    fn outlines_start_at_four_points() {
        for (side, n_quads) in [(3.0, 1), (5.0, 2)] {
            let mut batch = batch(Detail::Full);
            batch.add(Rect::from_min_size(pos2(0.0, 0.0), Vec2::splat(side)), Color32::WHITE);
            assert_eq!(batch.mesh.vertices.len(), 4 * n_quads, "{side}");
        }
        assert_eq!(Detail::for_count(3999), Detail::Full);
        assert_eq!(Detail::for_count(4000), Detail::Plain);
    }

    #[test]
    fn round_corners_stay_inside_the_rectangle() {
        let mut batch = batch(Detail::Full);
        let rect = Rect::from_min_size(pos2(1.0, 1.0), Vec2::new(20.0, 9.0));
        batch.add(rect, Color32::WHITE);
        assert_eq!(batch.mesh.calc_bounds(), rect);
    }
}
