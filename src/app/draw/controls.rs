//! Buttons, toggles and the segmented control, each with a name for screen readers.

use egui::{Align2, Color32, CornerRadius, FontId, Rect, Response, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2, vec2};

use super::label::paint_icon;
use crate::theme::{Icon, Tokens, radius, space, stroke};

/// A text button, with an icon before the words if there is one.
pub fn button(ui: &mut Ui, t: &Tokens, icon: Option<Icon>, text: &str) -> Response {
    text_button(ui, t, icon, text, Look { height: control_height(t, space::CONTROL), primary: false })
}

/// The one button of a panel that does what the panel is for.
pub fn primary_button(ui: &mut Ui, t: &Tokens, icon: Option<Icon>, text: &str) -> Response {
    text_button(ui, t, icon, text, Look { height: control_height(t, space::CONTROL), primary: true })
}

/// A text button that fits a panel header.
pub fn small_button(ui: &mut Ui, t: &Tokens, icon: Option<Icon>, text: &str) -> Response {
    text_button(ui, t, icon, text, Look { height: control_height(t, space::CONTROL_SMALL), primary: false })
}

#[derive(Clone, Copy)]
struct Look {
    height: f32,
    primary: bool,
}

/// Controls grow with the text of the theme.
pub(super) fn control_height(t: &Tokens, height: f32) -> f32 {
    height.max(t.size.body + 9.0)
}

fn text_button(ui: &mut Ui, t: &Tokens, icon: Option<Icon>, text: &str, look: Look) -> Response {
    let galley = ui.painter().layout_no_wrap(text.to_owned(), t.body_medium(), t.text);
    let icon_width = if icon.is_some() { 20.0 } else { 0.0 };
    let size = vec2(galley.size().x + icon_width + 20.0, look.height);
    let (rect, response) = ui.allocate_exact_size(size, Sense::click());
    let enabled = ui.is_enabled();
    let (fill, border, ink) = button_colours(t, &response, enabled, look.primary);
    let painter = ui.painter();
    let corner = CornerRadius::same(radius::CONTROL);
    painter.rect(rect, corner, fill, Stroke::new(stroke::HAIR, border), StrokeKind::Inside);
    if let Some(icon) = icon {
        paint_icon(painter, pos2(rect.left() + 17.0, rect.center().y), icon, space::ICON[1], ink);
    }
    let left = pos2(rect.left() + 10.0 + icon_width, rect.center().y);
    let at = Align2::LEFT_CENTER.anchor_size(left, galley.size()).min;
    painter.galley_with_override_text_color(at, galley, ink);
    focus_ring(ui, t, &response);
    response.widget_info(|| WidgetInfo::labeled(Role::Button, enabled, text));
    response
}

fn button_colours(t: &Tokens, response: &Response, enabled: bool, primary: bool) -> (Color32, Color32, Color32) {
    if !enabled {
        // egui fades everything in a disabled area, so the colours start stronger.
        return (t.bg2, t.line2, t.text3);
    }
    if primary {
        let fill = if response.hovered() { t.hovered(t.accent) } else { t.accent };
        return (fill, fill, if response.hovered() { t.ink(fill) } else { t.accentink });
    }
    (ground(t, response, t.bg3), t.line2, t.text)
}

fn ground(t: &Tokens, response: &Response, rest: Color32) -> Color32 {
    if response.is_pointer_button_down_on() {
        t.press
    } else if response.hovered() {
        t.hoverbg
    } else {
        rest
    }
}

/// An icon that acts, 22 × 22, without a border; `name` is its tooltip and its spoken name.
pub fn icon_button(ui: &mut Ui, t: &Tokens, icon: Icon, name: &str) -> Response {
    icon_control(ui, t, icon, name, None, space::HIT)
}

/// An icon that is on or off.
pub fn icon_toggle(ui: &mut Ui, t: &Tokens, icon: Icon, name: &str, on: bool) -> Response {
    icon_control(ui, t, icon, name, Some(on), space::HIT)
}

/// An icon in the toolbar, 26 × 26, with a border.
pub fn tool_button(ui: &mut Ui, t: &Tokens, icon: Icon, name: &str) -> Response {
    icon_control(ui, t, icon, name, None, space::CONTROL)
}

fn icon_control(ui: &mut Ui, t: &Tokens, icon: Icon, name: &str, on: Option<bool>, side: f32) -> Response {
    let (rect, response) = ui.allocate_exact_size(vec2(side, side), Sense::click());
    let enabled = ui.is_enabled();
    let framed = side > space::HIT;
    let lit = on == Some(true);
    let rest = match (lit, framed) {
        (true, _) => t.accentbg,
        (false, true) => t.bg3,
        (false, false) => Color32::TRANSPARENT,
    };
    let ink = match (enabled, lit, response.hovered()) {
        (false, _, _) => t.text3,
        (true, true, _) => t.accent,
        (true, false, true) => t.text,
        (true, false, false) => t.text2,
    };
    let border = if framed { t.line2 } else { Color32::TRANSPARENT };
    let fill = if enabled { ground(t, &response, rest) } else { rest };
    let line = Stroke::new(stroke::HAIR, border);
    ui.painter().rect(rect, CornerRadius::same(radius::CONTROL), fill, line, StrokeKind::Inside);
    let size = if framed { space::ICON[1] } else { space::ICON[0] } * t.size.body / 12.0;
    paint_icon(ui.painter(), rect.center(), icon, size, ink);
    focus_ring(ui, t, &response);
    response.widget_info(|| match on {
        Some(on) => WidgetInfo::selected(Role::Button, enabled, on, name),
        None => WidgetInfo::labeled(Role::Button, enabled, name),
    });
    response.on_hover_text(name)
}

/// A few choices side by side of which one holds; returns whether it changed.
///
/// `height` is `space::CONTROL`, or `space::CONTROL_SMALL` in a panel header.
pub fn segmented<T: Copy + PartialEq>(ui: &mut Ui, t: &Tokens, value: &mut T, options: &[(T, &str)], height: f32) -> bool {
    let height = control_height(t, height);
    let widths: Vec<f32> = options.iter().map(|(_, text)| text_width(ui, t.body_strong(), text) + 20.0).collect();
    let size = vec2(widths.iter().sum::<f32>() + 4.0, height);
    let (rect, _) = ui.allocate_exact_size(size, Sense::hover());
    let line = Stroke::new(stroke::HAIR, t.line);
    ui.painter().rect(rect, CornerRadius::same(radius::SEGMENTED), t.bg0, line, StrokeKind::Inside);
    let mut left = rect.left() + 2.0;
    let mut changed = false;
    let base = ui.next_auto_id();
    for ((choice, text), width) in options.iter().zip(widths) {
        let segment = Rect::from_min_size(pos2(left, rect.top() + 2.0), vec2(width, height - 4.0));
        let response = ui.interact(segment, base.with(text), Sense::click());
        left += width;
        let on = *value == *choice;
        paint_segment(ui, t, segment, &response, (text, on));
        response.widget_info(|| WidgetInfo::selected(Role::Button, ui.is_enabled(), on, text));
        if response.clicked() && !on {
            *value = *choice;
            changed = true;
        }
    }
    changed
}

fn paint_segment(ui: &Ui, t: &Tokens, rect: Rect, response: &Response, (text, on): (&str, bool)) {
    let enabled = ui.is_enabled();
    let painter = ui.painter();
    if on && enabled {
        let line = Stroke::new(stroke::HAIR, t.line2);
        painter.rect(rect, CornerRadius::same(radius::CONTROL), t.bg3, line, StrokeKind::Inside);
    } else if enabled && response.hovered() {
        painter.rect_filled(rect, CornerRadius::same(radius::CONTROL), t.hoverbg);
    }
    let ink = match (enabled, on) {
        (false, _) => t.text3,
        (true, true) => t.text,
        (true, false) => t.text2,
    };
    let font = if on { t.body_strong() } else { t.body_medium() };
    painter.text(rect.center(), Align2::CENTER_CENTER, text, font, ink);
    focus_ring(ui, t, response);
}

/// The name of a key.
pub fn keycap(ui: &mut Ui, t: &Tokens, text: &str) -> Response {
    let width = text_width(ui, t.tick_strong(), text) + 10.0;
    let (rect, response) = ui.allocate_exact_size(vec2(width, t.size.tick + 5.0), Sense::hover());
    let line = Stroke::new(stroke::HAIR, t.line2);
    ui.painter().rect(rect, CornerRadius::same(radius::TAG), t.bg3, line, StrokeKind::Inside);
    ui.painter().text(rect.center(), Align2::CENTER_CENTER, text, t.tick_strong(), t.text2);
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, text));
    response
}

fn text_width(ui: &Ui, font: FontId, text: &str) -> f32 {
    ui.painter().layout_no_wrap(text.to_owned(), font, Color32::PLACEHOLDER).size().x
}

/// The mark of the control that has the keyboard.
fn focus_ring(ui: &Ui, t: &Tokens, response: &Response) {
    if response.has_focus() {
        let line = Stroke::new(stroke::STRONG * t.line_scale, t.accent);
        let corner = CornerRadius::same(radius::CONTROL + 2);
        ui.painter().rect_stroke(response.rect.expand(2.0), corner, line, StrokeKind::Outside);
    }
}
