//! The vertical axis of the Memory view: linear, or broken where the naive total would flatten everything else.

use arenascope_planner::summary::Summary;
use egui::Rect;

use crate::views::chart::step_value;

/// From how many times the arena on the naive total is squeezed into the top.
const BREAK_FROM: f64 = 3.0;
/// The linear part ends this far above the arena.
const HEADROOM: f64 = 1.15;
/// Height of the squeezed part, in points.
const SQUEEZED: f64 = 30.0;

/// Places bytes on the vertical axis.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct MemoryScale {
    linear: f64,
    naive: f64,
    squeezed: f64,
}

impl MemoryScale {
    /// The axis for a plan in a plot of `height` points.
    pub(super) fn new(summary: &Summary, height: f32) -> Self {
        let highest = summary.arena_bytes.max(summary.capacity_bytes.unwrap_or(0)).max(summary.lower_bound_bytes);
        let arena = step_value(highest.max(1));
        let naive = step_value(summary.naive_bytes.max(1));
        let squeezed = SQUEEZED.min(f64::from(height) / 3.0);
        if naive <= arena * BREAK_FROM {
            return Self { linear: naive.max(arena) * 1.08, naive, squeezed: 0.0 };
        }
        let linear = arena * HEADROOM;
        Self { linear, naive, squeezed: linear * squeezed / (f64::from(height) - squeezed).max(1.0) }
    }

    /// Whether the axis is broken.
    pub(super) fn is_broken(&self) -> bool {
        self.squeezed > 0.0
    }

    /// Where a value stands, in units of the plot.
    pub(super) fn place(&self, bytes: u64) -> f64 {
        let bytes = step_value(bytes);
        if bytes <= self.linear || !self.is_broken() {
            return bytes;
        }
        let share = ((bytes - self.linear) / (self.naive - self.linear)).min(1.0);
        // The highest value stays a little below the edge so that its line is whole.
        self.linear + share * self.squeezed * 0.85
    }

    /// The upper edge of the plot, in its units.
    pub(super) fn top(&self) -> f64 {
        self.linear + self.squeezed
    }

    /// The bytes at which the linear part ends.
    pub(super) fn linear_bytes(&self) -> u64 {
        crate::views::chart::to_whole(self.linear)
    }

    /// The naive total.
    pub(super) fn naive_bytes(&self) -> u64 {
        crate::views::chart::to_whole(self.naive)
    }

    /// The pixel of a value in a plot.
    pub(super) fn pixel(&self, bytes: u64, plot: Rect) -> f32 {
        #[expect(clippy::cast_possible_truncation, reason = "a share of a height")]
        let share = (self.place(bytes) / self.top()) as f32;
        plot.bottom() - share * plot.height()
    }
}
