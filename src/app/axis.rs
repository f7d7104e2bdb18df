//! The visible part of an axis, in domain values: what is shown, what could be, and the way between them.

use crate::theme::motion;

/// A range of domain values (steps, bytes or rows); `end` is greater than `start`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Range {
    /// The lowest visible value.
    pub start: f64,
    /// The highest visible value.
    pub end: f64,
}

impl Range {
    /// A range from `start` to `end`, at least a thousandth wide.
    #[must_use]
    pub fn new(start: f64, end: f64) -> Self {
        Self { start, end: end.max(start + 1e-3) }
    }

    /// How much it covers.
    #[must_use]
    pub fn len(self) -> f64 {
        self.end - self.start
    }

    /// Whether it covers a value.
    #[must_use]
    pub fn contains(self, value: f64) -> bool {
        self.start <= value && value <= self.end
    }

    /// The point `t` of the way from the start to the end.
    #[must_use]
    pub fn at(self, t: f64) -> f64 {
        self.start + self.len() * t
    }

    fn mix(self, other: Self, t: f64) -> Self {
        Self { start: self.start + (other.start - self.start) * t, end: self.end + (other.end - self.end) * t }
    }
}

/// How a view moves to a new range.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Glide {
    /// At once: dragging, tests, reduced motion.
    Jump,
    /// In the time of a key or wheel zoom.
    Quick,
    /// In the time of a fit or a jump to something.
    Calm,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Motion {
    from: Range,
    started: Option<f64>,
    seconds: f64,
}

/// One axis: the full range of the data and the part of it that is shown.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    full: Range,
    shown: Range,
    target: Range,
    motion: Option<Motion>,
    smallest: f64,
}

impl Axis {
    /// An axis that shows all of `full` and zooms in to `smallest` at most.
    #[must_use]
    pub fn new(full: Range, smallest: f64) -> Self {
        Self { full, shown: full, target: full, motion: None, smallest: smallest.min(full.len()) }
    }

    /// The range of the data.
    #[must_use]
    pub fn full(&self) -> Range {
        self.full
    }

    /// What is shown now.
    #[must_use]
    pub fn shown(&self) -> Range {
        self.shown
    }

    /// What will be shown when the motion ends.
    #[must_use]
    pub fn target(&self) -> Range {
        self.target
    }

    /// Whether everything is shown.
    #[must_use]
    pub fn is_fit(&self) -> bool {
        self.target == self.full
    }

    /// Replaces the data's range; a view that showed everything still does.
    pub fn set_full(&mut self, full: Range, smallest: f64) {
        let was_fit = self.is_fit();
        self.full = full;
        self.smallest = smallest.min(full.len());
        self.show(if was_fit { full } else { self.target }, Glide::Jump);
    }

    /// Moves to `range`, kept inside the data and no smaller than the smallest zoom.
    pub fn show(&mut self, range: Range, glide: Glide) {
        let len = range.len().clamp(self.smallest, self.full.len());
        let centre = range.at(0.5);
        let start = (centre - len / 2.0).clamp(self.full.start, self.full.end - len);
        self.target = Range { start, end: start + len };
        let seconds = match glide {
            Glide::Jump => 0.0,
            Glide::Quick => f64::from(motion::ZOOM),
            Glide::Calm => f64::from(motion::FIT),
        };
        if seconds == 0.0 {
            self.shown = self.target;
            self.motion = None;
        } else {
            self.motion = Some(Motion { from: self.shown, started: None, seconds });
        }
    }

    /// Shows everything.
    pub fn fit(&mut self, glide: Glide) {
        self.show(self.full, glide);
    }

    /// Moves by a part of what is shown: 0.5 is half a view to the right.
    pub fn pan(&mut self, part: f64, glide: Glide) {
        let by = self.target.len() * part;
        self.show(Range { start: self.target.start + by, end: self.target.end + by }, glide);
    }

    /// Zooms so that the value at `at` stays where it is; `factor` above 1 shows less.
    pub fn zoom(&mut self, at: f64, factor: f64, glide: Glide) {
        let Range { start, end } = self.target;
        let len = ((end - start) / factor).clamp(self.smallest, self.full.len());
        let anchor = ((at - start) / (end - start)).clamp(0.0, 1.0);
        let new_start = at.clamp(start, end) - len * anchor;
        self.show(Range { start: new_start, end: new_start + len }, glide);
    }

    /// Advances the motion to the time `now` in seconds; `true` while it goes on.
    pub fn animate(&mut self, now: f64) -> bool {
        let Some(motion) = &mut self.motion else { return false };
        let started = *motion.started.get_or_insert(now);
        let t = ((now - started) / motion.seconds).clamp(0.0, 1.0);
        let eased = 1.0 - (1.0 - t).powi(3);
        self.shown = motion.from.mix(self.target, eased);
        if t >= 1.0 {
            self.shown = self.target;
            self.motion = None;
        }
        self.motion.is_some()
    }
}

/// Where values are on the screen: a range along pixels, computed in `f64`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scale {
    range: Range,
    from: f64,
    to: f64,
}

impl Scale {
    /// `range` from pixel `from` to pixel `to`; a vertical axis has `from` below `to`, so greater.
    #[must_use]
    pub fn new(range: Range, from: f32, to: f32) -> Self {
        Self { range, from: f64::from(from), to: f64::from(to) }
    }

    /// The pixel of a value.
    #[must_use]
    pub fn pixel(&self, value: f64) -> f32 {
        let t = (value - self.range.start) / self.range.len();
        #[expect(clippy::cast_possible_truncation, reason = "pixels far outside the screen may lose their fraction")]
        let pixel = (self.from + (self.to - self.from) * t).clamp(-1e6, 1e6) as f32;
        pixel
    }

    /// The value at a pixel.
    #[must_use]
    pub fn value(&self, pixel: f32) -> f64 {
        self.range.at((f64::from(pixel) - self.from) / (self.to - self.from))
    }

    /// How many pixels one unit takes.
    #[must_use]
    pub fn pixels_per_unit(&self) -> f64 {
        ((self.to - self.from) / self.range.len()).abs()
    }

    /// The visible values.
    #[must_use]
    pub fn range(&self) -> Range {
        self.range
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis() -> Axis {
        Axis::new(Range::new(0.0, 100.0), 1.0)
    }

    #[test]
    fn zooming_keeps_the_value_under_the_cursor() {
        let mut axis = axis();
        axis.zoom(25.0, 4.0, Glide::Jump);
        assert_eq!(axis.shown(), Range { start: 18.75, end: 43.75 });
        axis.zoom(25.0, 0.25, Glide::Jump);
        assert!(axis.is_fit());
    }

    #[test]
    fn never_leaves_the_data_nor_passes_the_smallest_zoom() {
        let mut axis = axis();
        axis.zoom(99.9, 1e9, Glide::Jump);
        assert!((axis.shown().len() - 1.0).abs() < 1e-9);
        axis.pan(50.0, Glide::Jump);
        assert!((axis.shown().end - 100.0).abs() < 1e-9);
        axis.show(Range::new(-500.0, 900.0), Glide::Jump);
        assert!(axis.is_fit());
    }

    #[test]
    fn a_motion_starts_where_the_view_is_and_ends_at_its_target() {
        let mut axis = axis();
        axis.show(Range::new(40.0, 60.0), Glide::Calm);
        assert_eq!(axis.shown(), axis.full());
        assert!(axis.animate(7.0));
        assert_eq!(axis.shown(), axis.full());
        assert!(axis.animate(7.1));
        assert!(axis.shown().start > 0.0 && axis.shown().start < 40.0);
        assert!(!axis.animate(9.0));
        assert_eq!(axis.shown(), Range::new(40.0, 60.0));
    }

    #[test]
    fn a_scale_counts_single_bytes_beyond_sixteen_mebibytes() {
        let scale = Scale::new(Range::new(5e9, 5e9 + 100.0), 500.0, 0.0);
        assert!((scale.pixel(5e9 + 1.0) - 495.0).abs() < 1e-3);
        assert!((scale.value(495.0) - (5e9 + 1.0)).abs() < 1e-3);
        assert!((scale.pixels_per_unit() - 5.0).abs() < 1e-9);
    }
}
