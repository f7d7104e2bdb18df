//! Small texts that stand in a picture: tags on lines, callouts, badges, pills.

use std::sync::Arc;

use egui::{Align2, Color32, CornerRadius, Galley, Painter, Pos2, Rect, Response, Role, Sense, Stroke, StrokeKind, Ui, Vec2, WidgetInfo, pos2, vec2};

use crate::theme::{Icon, Tokens, callout_shadow, icon_font, radius, stroke};

/// What a badge says besides its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Valid, proved, saved.
    Ok,
    /// Not checked, could be better.
    Warn,
    /// Violation, over capacity, failed.
    Err,
    /// A fact.
    Plain,
}

impl Tone {
    /// The colour of icon and words, and the ground.
    #[must_use]
    pub fn colours(self, t: &Tokens) -> (Color32, Color32) {
        match self {
            Self::Ok => (t.ok, t.okbg),
            Self::Warn => (t.warn, t.warnbg),
            Self::Err => (t.err, t.errbg),
            Self::Plain => (t.text2, t.bg3),
        }
    }
}

const TAG_PAD: Vec2 = vec2(5.0, 1.0);
const SAMPLE: Vec2 = vec2(9.0, 3.0);
const BADGE_PAD: f32 = 7.0;
const BADGE_HEIGHT: f32 = 18.0;

/// Text in the primary colour, on one line.
fn strong(painter: &Painter, t: &Tokens, text: &str, colour: Color32) -> Arc<Galley> {
    painter.layout_no_wrap(text.to_owned(), t.tick_strong(), colour)
}

/// The label of a line: a sample of its colour, then text; returns where it stands.
///
/// `at` is the point of the box that `align` names, moved so that the box stays in the clip rect.
pub fn tag(painter: &Painter, t: &Tokens, at: Pos2, align: Align2, sample: Color32, text: &str) -> Rect {
    let galley = strong(painter, t, text, t.text);
    let size = galley.size() + 2.0 * TAG_PAD + vec2(SAMPLE.x + 4.0, 1.0);
    let rect = keep_inside(align.anchor_size(at, size), painter.clip_rect());
    let border = Stroke::new(stroke::HAIR, t.line2);
    painter.rect(rect, CornerRadius::same(radius::TAG), t.bg2, border, StrokeKind::Inside);
    let mark = Rect::from_center_size(pos2(rect.left() + TAG_PAD.x + SAMPLE.x / 2.0, rect.center().y), SAMPLE);
    painter.rect_filled(mark, CornerRadius::ZERO, sample);
    let left = pos2(mark.right() + 4.0, rect.center().y);
    painter.galley(Align2::LEFT_CENTER.anchor_size(left, galley.size()).min, galley, t.text);
    rect
}

/// A note with one leader line from `target` to the nearest edge of its box; returns the box.
///
/// At most ten words; the full reasoning belongs to the inspector.
pub fn callout(painter: &Painter, t: &Tokens, target: Pos2, (at, align): (Pos2, Align2), icon: Option<Icon>, text: &str) -> Rect {
    let galley = painter.layout_no_wrap(text.to_owned(), t.tick_medium(), t.text);
    let icon_width = if icon.is_some() { 17.0 } else { 0.0 };
    let size = galley.size() + vec2(icon_width + 16.0, 6.0);
    let rect = keep_inside(align.anchor_size(at, size), painter.clip_rect());
    let accent = Stroke::new(stroke::HAIR * t.line_scale, t.accent);
    painter.line_segment([target, rect.clamp(target)], accent);
    let corner = CornerRadius::same(radius::CONTROL);
    painter.add(callout_shadow(t).as_shape(rect, corner));
    painter.rect(rect, corner, t.bg2, accent, StrokeKind::Inside);
    if let Some(icon) = icon {
        paint_icon(painter, pos2(rect.left() + 15.0, rect.center().y), icon, 12.0, t.accent);
    }
    let left = pos2(rect.left() + 8.0 + icon_width, rect.center().y);
    painter.galley(Align2::LEFT_CENTER.anchor_size(left, galley.size()).min, galley, t.text);
    rect
}

/// Text over chart lines, with a backing of one point in the colour of the ground.
pub fn text_backed(painter: &Painter, t: &Tokens, at: Pos2, align: Align2, text: &str, colour: Color32) -> Rect {
    let galley = painter.layout_no_wrap(text.to_owned(), t.tick(), colour);
    let rect = align.anchor_size(at, galley.size());
    painter.rect_filled(rect.expand2(vec2(1.0, 0.0)), CornerRadius::ZERO, t.chart);
    painter.galley(rect.min, galley, colour);
    rect
}

/// An icon centred at a point.
pub fn paint_icon(painter: &Painter, centre: Pos2, icon: Icon, size: f32, colour: Color32) -> Rect {
    painter.text(centre, Align2::CENTER_CENTER, icon.glyph(), icon_font(size), colour)
}

/// A badge painted with its left centre at `at`; returns where it stands.
pub fn paint_badge(painter: &Painter, t: &Tokens, at: Pos2, tone: Tone, icon: Icon, text: &str) -> Rect {
    let (colour, ground) = tone.colours(t);
    let galley = strong(painter, t, text, colour);
    let rect = Align2::LEFT_CENTER.anchor_size(at, badge_size(&galley));
    let border = Stroke::new(stroke::HAIR, t.badge_border(colour, ground));
    painter.rect(rect, half_height(rect), ground, border, StrokeKind::Inside);
    paint_icon(painter, pos2(rect.left() + BADGE_PAD + 6.0, rect.center().y), icon, 13.0, colour);
    let left = pos2(rect.left() + BADGE_PAD + 15.0, rect.center().y);
    painter.galley(Align2::LEFT_CENTER.anchor_size(left, galley.size()).min, galley, colour);
    rect
}

/// A badge as a widget; the status bar and tables use it.
pub fn badge(ui: &mut Ui, t: &Tokens, tone: Tone, icon: Icon, text: &str) -> Response {
    let galley = strong(ui.painter(), t, text, t.text);
    let (rect, response) = ui.allocate_exact_size(badge_size(&galley), Sense::hover());
    paint_badge(ui.painter(), t, rect.left_center(), tone, icon, text);
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, text));
    response
}

/// A name with a dot of its colour, in an outlined pill.
pub fn pill(ui: &mut Ui, t: &Tokens, dot: Color32, text: &str) -> Response {
    let galley = ui.painter().layout_no_wrap(text.to_owned(), t.tick_medium(), t.text2);
    let size = vec2(galley.size().x + 2.0 * BADGE_PAD + 11.0, BADGE_HEIGHT);
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    let painter = ui.painter();
    painter.rect_stroke(rect, half_height(rect), Stroke::new(stroke::HAIR, t.line2), StrokeKind::Inside);
    painter.circle_filled(pos2(rect.left() + BADGE_PAD + 3.0, rect.center().y), 3.5, dot);
    let left = pos2(rect.left() + BADGE_PAD + 11.0, rect.center().y);
    painter.galley(Align2::LEFT_CENTER.anchor_size(left, galley.size()).min, galley, t.text2);
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, text));
    response
}

fn badge_size(galley: &Galley) -> Vec2 {
    vec2(galley.size().x + 2.0 * BADGE_PAD + 15.0, BADGE_HEIGHT.max(galley.size().y + 4.0))
}

fn half_height(rect: Rect) -> CornerRadius {
    CornerRadius::from(rect.height() / 2.0)
}

/// Moves `rect` into `bounds` as far as it fits.
fn keep_inside(rect: Rect, bounds: Rect) -> Rect {
    if !bounds.is_finite() || !bounds.is_positive() {
        return rect;
    }
    let right = (rect.right() - bounds.right()).max(0.0);
    let down = (rect.bottom() - bounds.bottom()).max(0.0);
    let moved = rect.translate(vec2(-right, -down));
    moved.translate((bounds.min - moved.min).max(Vec2::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_flip_back_into_view() {
        let bounds = Rect::from_min_max(pos2(0.0, 0.0), pos2(100.0, 50.0));
        let outside = Rect::from_min_size(pos2(90.0, -5.0), vec2(30.0, 10.0));
        assert_eq!(keep_inside(outside, bounds), Rect::from_min_size(pos2(70.0, 0.0), vec2(30.0, 10.0)));
        assert_eq!(keep_inside(outside, Rect::EVERYTHING), outside);
    }
}
