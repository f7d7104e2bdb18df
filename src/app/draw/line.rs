//! Curves, steps and dashes.

use egui::{Color32, Painter, Pos2, Rect, Shape, Stroke, pos2};

use super::pixels::Pixels;

/// A curve through `points`.
pub fn polyline(painter: &Painter, points: Vec<Pos2>, width: f32, colour: Color32) {
    if points.len() > 1 {
        painter.add(Shape::line(points, Stroke::new(width, colour)));
    }
}

/// The corners of a step curve: `values[i]` holds from `xs[i]` to `xs[i + 1]`.
///
/// `xs` has one entry more than `values`; both are in points.
#[must_use]
pub fn steps(pixels: Pixels, xs: &[f32], values: &[f32]) -> Vec<Pos2> {
    let mut points = Vec::with_capacity(2 * values.len());
    for (pair, &y) in xs.windows(2).zip(values) {
        let y = pixels.centre(y);
        for x in pair {
            points.push(pos2(pixels.centre(*x), y));
        }
    }
    points
}

/// A dashed line; `dash` is the length of a dash and of the pause after it.
pub fn dashed_line(painter: &Painter, ends: [Pos2; 2], width: f32, colour: Color32, dash: [f32; 2]) {
    dashed_runs(painter, &ends, width, colour, dash);
}

/// A dashed line along a path.
pub fn dashed_runs(painter: &Painter, path: &[Pos2], width: f32, colour: Color32, [on, off]: [f32; 2]) {
    painter.extend(Shape::dashed_line(path, Stroke::new(width, colour), on, off));
}

/// The dashed outline of a rectangle.
pub fn dashed_rect(painter: &Painter, rect: Rect, width: f32, colour: Color32, dash: [f32; 2]) {
    let rect = rect.shrink(width / 2.0);
    let path = [rect.left_top(), rect.right_top(), rect.right_bottom(), rect.left_bottom(), rect.left_top()];
    dashed_runs(painter, &path, width, colour, dash);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_hold_each_value_over_its_interval() {
        let points = steps(Pixels::new(1.0), &[0.0, 10.0, 20.0], &[5.0, 7.0]);
        assert_eq!(points, [pos2(0.5, 5.5), pos2(10.5, 5.5), pos2(10.5, 7.5), pos2(20.5, 7.5)]);
    }
}
