//! A plan as a picture of a few points: for cards and table rows.

use arenascope_planner::ids::BufferId;
use arenascope_planner::plan::Plan;
use arenascope_planner::problem::Problem;
use egui::{Painter, Rect, pos2};

use crate::draw::{Detail, RectBatch};
use crate::theme::{Tokens, size_position};

/// Up to this many buffers, hues tell them apart; beyond, colour says how large they are.
const HUES_UP_TO: usize = 16;

/// A rectangle of a small picture, in parts of its width and height.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Part {
    /// Left edge.
    pub left: f32,
    /// Right edge.
    pub right: f32,
    /// Lower edge.
    pub low: f32,
    /// Upper edge.
    pub high: f32,
    /// Which hue of the slots, for small samples.
    pub hue: usize,
    /// Where on the size ramp, for large ones.
    pub size: f32,
}

/// The rectangles of a plan; of more than `most`, those with the largest areas.
#[must_use]
pub fn parts(problem: &Problem, plan: &Plan, most: usize) -> Vec<Part> {
    let span = problem.span();
    let largest = problem.buffers().iter().map(|buffer| buffer.bytes).max().unwrap_or(1);
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "a picture of a few hundred points")]
    let share = |value: u64, of: u64| (value as f64 / of.max(1) as f64) as f32;
    let part = |id: BufferId| {
        let buffer = problem.buffer(id);
        let offset = plan.address(id);
        Part {
            left: share(buffer.lifetime.start - span.start, span.n_steps()),
            right: share(buffer.lifetime.end - span.start, span.n_steps()),
            low: share(offset, plan.arena_bytes),
            high: share(offset + buffer.bytes, plan.arena_bytes),
            hue: id.index(),
            size: size_position(buffer.bytes, largest),
        }
    };
    let mut parts: Vec<Part> = problem.ids().map(part).collect();
    if parts.len() > most {
        let area = |part: &Part| (part.right - part.left) * (part.high - part.low);
        parts.sort_by(|a, b| area(b).total_cmp(&area(a)));
        parts.truncate(most);
    }
    parts
}

/// Paints the rectangles; the arena's height is `scale` of the frame's.
pub fn paint(painter: &Painter, t: &Tokens, frame: Rect, parts: &[Part], scale: f32) {
    let few = parts.len() <= HUES_UP_TO;
    let mut batch = RectBatch::new(painter, t, if few && frame.height() > 60.0 { Detail::Full } else { Detail::Plain });
    batch.reserve(parts.len());
    let height = frame.height() * scale;
    for part in parts {
        let rect = Rect::from_min_max(
            pos2(frame.left() + part.left * frame.width(), frame.bottom() - part.high * height),
            pos2(frame.left() + part.right * frame.width(), frame.bottom() - part.low * height),
        );
        batch.add(rect, if few { t.slot(part.hue) } else { t.ramp(part.size) });
    }
    batch.paint(painter);
}
