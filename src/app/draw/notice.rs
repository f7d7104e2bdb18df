//! What a view shows instead of data: empty, loading, failed, no match.

use egui::{Align, CornerRadius, Layout, Rect, Stroke, StrokeKind, Ui, UiBuilder, Vec2, pos2, vec2};

use super::controls::{button, control_height, primary_button};
use super::label::paint_icon;
use crate::theme::{Icon, Tokens, popup_shadow, radius, space, stroke};

/// A button under a notice.
#[derive(Clone, Copy, Debug)]
pub struct Action<'a> {
    /// A verb: what it does.
    pub text: &'a str,
    /// Before the words.
    pub icon: Option<Icon>,
    /// Whether it is the one thing to do here.
    pub primary: bool,
}

impl<'a> Action<'a> {
    /// An ordinary action.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Self { text, icon: None, primary: false }
    }

    /// The one thing to do here.
    #[must_use]
    pub fn primary(text: &'a str) -> Self {
        Self { primary: true, ..Self::new(text) }
    }

    /// The same with an icon.
    #[must_use]
    pub fn with_icon(self, icon: Icon) -> Self {
        Self { icon: Some(icon), ..self }
    }
}

/// The words of an empty, failed or filtered view.
#[derive(Clone, Copy, Debug)]
pub struct Notice<'a> {
    /// Above the words.
    pub icon: Icon,
    /// Whether something went wrong.
    pub failed: bool,
    /// One sentence that says what is missing or failed.
    pub title: &'a str,
    /// The cause, with place and both numbers; may be empty.
    pub detail: &'a str,
    /// At most two.
    pub actions: &'a [Action<'a>],
}

impl<'a> Notice<'a> {
    /// Nothing to show yet, and the button that provides it.
    #[must_use]
    pub fn empty(icon: Icon, title: &'a str, actions: &'a [Action<'a>]) -> Self {
        Self { icon, failed: false, title, detail: "", actions }
    }

    /// Something failed; the rest of the window stays usable.
    #[must_use]
    pub fn failed(title: &'a str, detail: &'a str, actions: &'a [Action<'a>]) -> Self {
        Self { icon: Icon::WARNING_OCTAGON, failed: true, title, detail, actions }
    }

    /// A filter hides everything.
    #[must_use]
    pub fn no_match(title: &'a str, actions: &'a [Action<'a>]) -> Self {
        Self::empty(Icon::FUNNEL, title, actions)
    }
}

/// Shows a notice in the middle of `rect`; returns the action that was clicked.
pub fn notice(ui: &mut Ui, t: &Tokens, rect: Rect, notice: &Notice<'_>) -> Option<usize> {
    let width = (rect.width() - 24.0).max(0.0);
    let lines = [(notice.title, t.menu_strong(), t.text), (notice.detail, t.body(), t.text2)];
    let lines = lines.into_iter().filter(|(text, ..)| !text.is_empty());
    let lines: Vec<_> = lines
        .map(|(text, font, colour)| {
            let height = ui.painter().layout(text.to_owned(), font.clone(), colour, width).size().y;
            (egui::RichText::new(text).font(font).color(colour), height)
        })
        .collect();
    let button_height = control_height(t, space::CONTROL);
    let actions_height = if notice.actions.is_empty() { 0.0 } else { button_height + 4.0 };
    let height = 32.0 + lines.iter().map(|(_, height)| height + 4.0).sum::<f32>() + actions_height;
    let mut y = rect.center().y - height / 2.0;
    let x = rect.center().x;
    let ink = if notice.failed { t.err } else { t.text3 };
    paint_icon(ui.painter(), pos2(x, y + 12.0), notice.icon, space::ICON[2], ink);
    y += 32.0;
    for (text, height) in lines {
        let at = Rect::from_center_size(pos2(x, y + height / 2.0), vec2(width, height));
        y += height + 4.0;
        // A label, so that a screen reader finds the sentence.
        let builder = UiBuilder::new().max_rect(at).layout(Layout::top_down(Align::Center));
        ui.scope_builder(builder, |ui| ui.add(egui::Label::new(text).wrap().selectable(false)));
    }
    let row = Rect::from_min_max(pos2(rect.left(), y + 4.0), pos2(rect.right(), y + 4.0 + button_height));
    actions(ui, t, row, notice.actions)
}

/// The buttons of a notice, centred in `row`.
fn actions(ui: &mut Ui, t: &Tokens, row: Rect, actions: &[Action<'_>]) -> Option<usize> {
    let gap = 8.0;
    let width_of = |action: &Action<'_>| {
        let words = ui.painter().layout_no_wrap(action.text.to_owned(), t.body_medium(), t.text);
        words.size().x + 20.0 + if action.icon.is_some() { 20.0 } else { 0.0 }
    };
    let width = actions.iter().map(|action| width_of(action) + gap).sum::<f32>() - gap;
    let row = Rect::from_center_size(row.center(), vec2(width.max(0.0), row.height()));
    let mut clicked = None;
    let layout = Layout::left_to_right(Align::Center);
    ui.scope_builder(UiBuilder::new().max_rect(row).layout(layout), |ui| {
        ui.spacing_mut().item_spacing.x = gap;
        for (idx, action) in actions.iter().enumerate() {
            let make = if action.primary { primary_button } else { button };
            if make(ui, t, action.icon, action.text).clicked() {
                clicked = Some(idx);
            }
        }
    });
    clicked
}

/// Size of the card at the text size of a desk.
const CARD: Vec2 = vec2(280.0, 56.0);
const DESK_BODY: f32 = 12.0;
/// The sliding third crosses the card in this time, seconds.
const SLIDE: f64 = 1.6;

/// The card over a view that is being computed; returns whether Cancel was clicked.
///
/// `figure` is what improves ("gap 2.1 % · 4.2 s"); `progress` is a share from 0 to 1, or none
/// when the end is unknown. Show it only for work above half a second.
pub fn progress_card(ui: &mut Ui, t: &Tokens, view: Rect, title: &str, figure: &str, progress: Option<f32>) -> bool {
    let scale = t.size.body / DESK_BODY;
    let rect = Rect::from_center_size(view.center(), vec2(CARD.x * scale, CARD.y).min(view.size()));
    let corner = CornerRadius::same(radius::CARD);
    let painter = ui.painter();
    painter.add(popup_shadow(t).as_shape(rect, corner));
    painter.rect(rect, corner, t.bg2, Stroke::new(stroke::HAIR, t.line2), StrokeKind::Inside);
    let (from, to) = match progress {
        Some(share) => (0.0, share.clamp(0.0, 1.0)),
        None => sliding_third(ui),
    };
    let at = |share: f32| egui::lerp(rect.left() + 1.0..=rect.right() - 1.0, share);
    let line = Rect::from_min_max(pos2(at(from), rect.bottom() - 4.0), pos2(at(to), rect.bottom() - 1.0));
    painter.rect_filled(line, CornerRadius::ZERO, t.accent);
    let text_width = rect.width() - 90.0 * scale;
    let text_at = |row: f32| Rect::from_min_size(pos2(rect.left() + 12.0, row), vec2(text_width, 18.0));
    for (row, font, colour, text) in [(8.0, t.body_strong(), t.text, title), (26.0, t.body(), t.text2, figure)] {
        let layout = Layout::left_to_right(Align::Center);
        ui.scope_builder(UiBuilder::new().max_rect(text_at(rect.top() + row)).layout(layout), |ui| {
            ui.add(egui::Label::new(egui::RichText::new(text).font(font).color(colour)).truncate());
        });
    }
    let right = Rect::from_min_max(rect.min, pos2(rect.right() - 10.0, rect.bottom() - 3.0));
    let layout = Layout::right_to_left(Align::Center);
    ui.scope_builder(UiBuilder::new().max_rect(right).layout(layout), |ui| button(ui, t, None, "Cancel").clicked()).inner
}

fn sliding_third(ui: &Ui) -> (f32, f32) {
    ui.ctx().request_repaint();
    let phase = ui.input(|input| (input.time / SLIDE).fract());
    #[expect(clippy::cast_possible_truncation, reason = "a share from 0 to 1")]
    let left = (phase * 4.0 / 3.0 - 1.0 / 3.0) as f32;
    (left.max(0.0), (left + 1.0 / 3.0).min(1.0))
}
