//! Rectangles of a chart with an index: which of a million are visible, and which is under the pointer.
//!
//! The index splits the rectangles by the power of two of their duration and sorts each level by start.
//! A query looks back by at most one duration per level, so it visits little more than what it returns.
//! Building costs O(n log n), a query O(levels × log n + answers).

use std::ops::ControlFlow;

use arenascope_planner::ids::BufferId;
use arenascope_planner::lifetimes::Lifetime;

/// One rectangle: steps along x, bytes or rows along y.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChartRect {
    /// Its extent along x.
    pub lifetime: Lifetime,
    /// Its lower edge along y.
    pub low: u64,
    /// Its upper edge along y.
    pub high: u64,
    /// The buffer it stands for; `None` for a tensor whose storage is not planned.
    pub buffer: Option<BufferId>,
    /// Its position in the caller's own table.
    pub item: u32,
}

#[derive(Clone, Debug)]
struct Level {
    longest: u64,
    by_start: Vec<u32>,
}

/// Rectangles by index, longest durations first.
#[derive(Clone, Debug, Default)]
pub struct RectIndex {
    rects: Vec<ChartRect>,
    levels: Vec<Level>,
}

impl RectIndex {
    /// Indexes `rects`.
    #[must_use]
    pub fn new(rects: Vec<ChartRect>) -> Self {
        let mut levels: Vec<Level> = Vec::new();
        let mut by_level: Vec<Vec<u32>> = vec![Vec::new(); 65];
        for (index, rect) in (0_u32..).zip(&rects) {
            by_level[rect.lifetime.n_steps().max(1).ilog2() as usize].push(index);
        }
        for mut by_start in by_level.into_iter().rev().filter(|level| !level.is_empty()) {
            by_start.sort_by_key(|&index| (rects[index as usize].lifetime.start, index));
            let longest = by_start.iter().map(|&index| rects[index as usize].lifetime.n_steps()).max().unwrap_or(1);
            levels.push(Level { longest, by_start });
        }
        Self { rects, levels }
    }

    /// All rectangles, in the order in which they were given.
    #[must_use]
    pub fn rects(&self) -> &[ChartRect] {
        &self.rects
    }

    /// Calls `visit` with every rectangle that meets `steps` and `[low, high)`, long ones first, until it breaks.
    pub fn visit(&self, steps: Lifetime, low: u64, high: u64, mut visit: impl FnMut(&ChartRect) -> ControlFlow<()>) {
        for level in &self.levels {
            let from = steps.start.saturating_sub(level.longest);
            let first = level.by_start.partition_point(|&index| self.rects[index as usize].lifetime.start < from);
            for &index in &level.by_start[first..] {
                let rect = &self.rects[index as usize];
                if rect.lifetime.start >= steps.end {
                    break;
                }
                if rect.lifetime.end > steps.start && rect.low < high && low < rect.high && visit(rect).is_break() {
                    return;
                }
            }
        }
    }

    /// How many rectangles meet a window, counted up to `limit`.
    #[must_use]
    pub fn count(&self, steps: Lifetime, low: u64, high: u64, limit: usize) -> usize {
        let mut n = 0;
        self.visit(steps, low, high, |_| {
            n += 1;
            if n >= limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        n
    }

    /// The rectangle at a point; of several the one that starts last, which is drawn on top.
    #[must_use]
    pub fn at(&self, step: u64, y: u64) -> Option<&ChartRect> {
        let mut hit: Option<&ChartRect> = None;
        for level in &self.levels {
            let from = step.saturating_sub(level.longest);
            let first = level.by_start.partition_point(|&index| self.rects[index as usize].lifetime.start < from);
            for &index in &level.by_start[first..] {
                let rect = &self.rects[index as usize];
                if rect.lifetime.start > step {
                    break;
                }
                let inside = rect.lifetime.contains(step) && rect.low <= y && y < rect.high;
                if inside && hit.is_none_or(|other| (other.lifetime.start, other.item) < (rect.lifetime.start, rect.item)) {
                    hit = Some(rect);
                }
            }
        }
        hit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(n: u64) -> RectIndex {
        let rect = |i: u64| {
            let start = i * 7 % n;
            let length = 1 + (i * i) % 97;
            let low = (i * 13) % 101;
            ChartRect { lifetime: Lifetime { start, end: start + length }, low, high: low + 1 + i % 5, buffer: None, item: u32::try_from(i).expect("small") }
        };
        RectIndex::new((0..n).map(rect).collect())
    }

    #[test]
    fn finds_exactly_what_a_scan_finds() {
        let index = index(500);
        for (start, end, low, high) in [(0, 1, 0, 200), (100, 140, 20, 40), (0, 600, 0, 200), (499, 500, 50, 51), (300, 301, 0, 1)] {
            let steps = Lifetime { start, end };
            let mut found = Vec::new();
            index.visit(steps, low, high, |rect| {
                found.push(rect.item);
                ControlFlow::Continue(())
            });
            found.sort_unstable();
            let scan: Vec<u32> =
                index.rects().iter().filter(|r| r.lifetime.overlaps(steps) && r.low < high && low < r.high).map(|r| r.item).collect();
            assert_eq!(found, scan);
            assert_eq!(index.count(steps, low, high, 10), scan.len().min(10));
        }
    }

    #[test]
    fn the_rectangle_under_a_point_is_the_one_drawn_last() {
        let index = index(500);
        for (step, y) in [(10, 10), (250, 50), (480, 99), (3, 0)] {
            let scan = index.rects().iter().filter(|r| r.lifetime.contains(step) && r.low <= y && y < r.high).max_by_key(|r| (r.lifetime.start, r.item));
            assert_eq!(index.at(step, y), scan);
        }
    }
}
