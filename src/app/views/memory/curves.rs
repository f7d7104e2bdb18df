//! Curves as pixel columns, for the minimap.

use egui::Rect;

use crate::axis::Scale;
use crate::curve_index::CurveIndex;
use crate::views::chart::to_whole;

/// A column of pixels, or a wider step.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::views) struct Column {
    /// Its left edge.
    pub(in crate::views) left: f32,
    /// Its right edge.
    pub(in crate::views) right: f32,
    /// The highest value in it.
    pub(in crate::views) high: u64,
}

/// The curve over the whole width of `strip`, one column per point of width at most.
pub(in crate::views) fn columns(curve: &CurveIndex, x: &Scale, strip: Rect) -> Vec<Column> {
    let n = usize::try_from(to_whole(f64::from(strip.width()))).unwrap_or(1).max(1);
    let range = x.range();
    let spans = curve.spans(range.start, range.end, n);
    spans.iter().map(|span| Column { left: x.pixel(span.start), right: x.pixel(span.end), high: span.high }).collect()
}
