//! Positions on whole physical pixels, so that edges are sharp at every scale.

use egui::{Painter, Pos2, Rect, Vec2, pos2};

/// The pixel grid of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pixels {
    per_point: f32,
}

impl Pixels {
    /// The grid of `pixels_per_point` physical pixels in a point.
    #[must_use]
    pub fn new(pixels_per_point: f32) -> Self {
        Self { per_point: pixels_per_point.max(f32::MIN_POSITIVE) }
    }

    /// The grid on which `painter` draws.
    #[must_use]
    pub fn of(painter: &Painter) -> Self {
        Self::new(painter.pixels_per_point())
    }

    /// One physical pixel, in points.
    #[must_use]
    pub fn one(self) -> f32 {
        1.0 / self.per_point
    }

    /// The width in points of a line of `points`: whole pixels, at least one.
    #[must_use]
    pub fn width(self, points: f32) -> f32 {
        (points * self.per_point).floor().max(1.0) / self.per_point
    }

    /// The nearest pixel edge.
    #[must_use]
    pub fn edge(self, at: f32) -> f32 {
        (at * self.per_point).round() / self.per_point
    }

    /// The nearest pixel centre: where a line of one pixel is sharp.
    #[must_use]
    pub fn centre(self, at: f32) -> f32 {
        ((at * self.per_point).floor() + 0.5) / self.per_point
    }

    /// The rectangle with its edges on pixels, at least one pixel in each direction.
    #[must_use]
    pub fn snap(self, rect: Rect) -> Rect {
        let min = pos2(self.edge(rect.min.x), self.edge(rect.min.y));
        let size = pos2(self.edge(rect.max.x), self.edge(rect.max.y)) - min;
        Rect::from_min_size(min, size.max(Vec2::splat(self.one())))
    }

    /// The position with both coordinates on pixel edges.
    #[must_use]
    pub fn point(self, at: Pos2) -> Pos2 {
        pos2(self.edge(at.x), self.edge(at.y))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_vanishes_and_neighbours_still_touch() {
        for per_point in [1.0, 1.25, 1.5, 2.0] {
            let grid = Pixels::new(per_point);
            let left = grid.snap(Rect::from_min_max(pos2(0.3, 0.0), pos2(10.4, 0.01)));
            let right = grid.snap(Rect::from_min_max(pos2(10.4, 0.0), pos2(10.41, 5.0)));
            assert!((left.max.x - right.min.x).abs() < 1e-6, "{per_point}");
            assert!(left.height() * per_point > 0.99 && right.width() * per_point > 0.99);
        }
    }

    #[test]
    fn hairlines_are_whole_pixels() {
        assert!((Pixels::new(1.25).width(1.0) * 1.25 - 1.0).abs() < 1e-6);
        assert!((Pixels::new(2.0).width(1.0) * 2.0 - 2.0).abs() < 1e-6);
        assert!((Pixels::new(1.0).centre(3.9) - 3.5).abs() < 1e-6);
    }
}
