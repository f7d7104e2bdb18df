//! A step curve that can be asked for its extremes over any range without reading every step of it.

use arenascope_planner::metrics::Curve;

/// Segments per block, a power of two near the square root of a large curve.
const BLOCK: usize = 256;

/// A curve with the lowest and highest value of each block of segments.
#[derive(Debug)]
pub struct CurveIndex {
    curve: Curve,
    blocks: Vec<(u64, u64)>,
}

/// A part of a curve as wide as a pixel or more.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Span {
    /// First step.
    pub start: f64,
    /// One past the last step.
    pub end: f64,
    /// The lowest value in between.
    pub low: u64,
    /// The highest value in between.
    pub high: u64,
}

impl CurveIndex {
    /// Indexes a curve. Time O(segments).
    #[must_use]
    pub fn new(curve: Curve) -> Self {
        let blocks = curve.bytes.chunks(BLOCK).map(extremes).collect();
        Self { curve, blocks }
    }

    /// The value at a step.
    #[must_use]
    pub fn at(&self, step: u64) -> u64 {
        self.curve.at(step)
    }

    /// The highest value, and the first step that has it.
    #[must_use]
    pub fn max(&self) -> (u64, u64) {
        self.curve.max()
    }

    /// The curve between two steps as about `n_columns` spans; exact segments if there are no more than that.
    #[must_use]
    pub fn spans(&self, start: f64, end: f64, n_columns: usize) -> Vec<Span> {
        let first = self.segment_at(start);
        let last = self.segment_at(end).max(first);
        let Some(n) = (!self.curve.bytes.is_empty()).then(|| last - first + 1) else { return Vec::new() };
        if n <= n_columns.max(1) {
            return (first..=last).map(|segment| self.span(segment, segment)).collect();
        }
        let width = (end - start) / cast(n_columns);
        let mut spans = Vec::with_capacity(n_columns);
        for column in 0..n_columns {
            let (from, to) = (start + width * cast(column), start + width * cast(column + 1));
            let (a, b) = (self.segment_at(from), self.segment_at(to));
            let (low, high) = self.range(a, b.max(a));
            spans.push(Span { start: from, end: to, low, high });
        }
        spans
    }

    fn span(&self, from: usize, to: usize) -> Span {
        let (low, high) = self.range(from, to);
        Span { start: step(self.curve.steps[from]), end: step(self.curve.steps[to + 1]), low, high }
    }

    /// The segment that covers a step; the nearest one outside the curve.
    fn segment_at(&self, at: f64) -> usize {
        let after = self.curve.steps.partition_point(|&start| step(start) <= at);
        after.saturating_sub(1).min(self.curve.bytes.len().saturating_sub(1))
    }

    /// The extremes of the segments `from..=to`. Time O(blocks between + block).
    fn range(&self, from: usize, to: usize) -> (u64, u64) {
        let (first_block, last_block) = (from / BLOCK, to / BLOCK);
        if first_block == last_block {
            return extremes(&self.curve.bytes[from..=to]);
        }
        let head = extremes(&self.curve.bytes[from..(first_block + 1) * BLOCK]);
        let tail = extremes(&self.curve.bytes[last_block * BLOCK..=to]);
        let middle = self.blocks[first_block + 1..last_block].iter().copied();
        middle.chain([tail]).fold(head, |(low, high), (a, b)| (low.min(a), high.max(b)))
    }
}

fn extremes(values: &[u64]) -> (u64, u64) {
    (values.iter().copied().min().unwrap_or(0), values.iter().copied().max().unwrap_or(0))
}

fn step(value: u64) -> f64 {
    crate::views::chart::step_value(value)
}

fn cast(n: usize) -> f64 {
    step(n as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_of_any_range_equal_a_scan() {
        let n = 3000_u64;
        let bytes: Vec<u64> = (0..n).map(|i| i * i * 7919 % 10_007).collect();
        let index = CurveIndex::new(Curve { steps: (0..=n).collect(), bytes: bytes.clone() });
        for (from, to) in [(0, 2999), (5, 5), (255, 256), (100, 900), (256, 511), (0, 255)] {
            assert_eq!(index.range(from, to), extremes(&bytes[from..=to]));
        }
        let spans = index.spans(0.0, 3000.0, 100);
        assert_eq!(spans.len(), 100);
        assert_eq!(spans.iter().map(|span| span.high).max(), bytes.iter().copied().max());
    }

    #[test]
    fn few_segments_come_back_exactly() {
        let index = CurveIndex::new(Curve { steps: vec![2, 5, 9], bytes: vec![10, 20] });
        assert_eq!(index.spans(0.0, 9.0, 50), [Span { start: 2.0, end: 5.0, low: 10, high: 10 }, Span { start: 5.0, end: 9.0, low: 20, high: 20 }]);
    }
}
