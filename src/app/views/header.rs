//! The strip above every view: its name, one line of facts, at most four controls.

use egui::{Align, Layout, RichText, Sense, Ui, UiBuilder, Vec2};

use super::Pane;
use crate::command::Command;
use crate::ctx::ViewCtx;
use crate::draw::icon_button;
use crate::theme::{Icon, Tokens, space};

/// The two views that share the foot of the window.
const FOOT: [Pane; 2] = [Pane::Table, Pane::Strategies];

/// Draws the header; `controls` adds to its right end, from right to left, before help and maximise.
pub fn header_ui(ui: &mut Ui, ctx: &ViewCtx<'_>, pane: Pane, facts: &str, controls: impl FnOnce(&mut Ui)) {
    let t = ctx.tokens;
    let (rect, _) = ui.allocate_exact_size(Vec2::new(ui.available_width(), space::PANEL_HEADER), Sense::hover());
    ui.painter().rect_filled(rect, 0.0, t.bg2);
    ui.painter().hline(rect.x_range(), rect.bottom() - 0.5, egui::Stroke::new(1.0, t.line));
    let inner = rect.shrink2(Vec2::new(9.0, 0.0));
    let mut right = ui.new_child(UiBuilder::new().max_rect(inner).layout(Layout::right_to_left(Align::Center)));
    right.spacing_mut().item_spacing.x = 4.0;
    let is_alone = ctx.maximised == Some(pane);
    let (icon, name) = if is_alone { (Icon::ARROWS_IN_SIMPLE, "Show all views") } else { (Icon::ARROWS_OUT_SIMPLE, "Maximise") };
    if icon_button(&mut right, t, icon, &format!("{name}: {}", pane.title())).clicked() {
        ctx.send(Command::Maximise(if is_alone { None } else { Some(pane) }));
    }
    let help = icon_button(&mut right, t, Icon::QUESTION, &format!("Help: {}", pane.title()));
    egui::Popup::menu(&help).show(|ui| {
        ui.set_max_width(320.0);
        ui.label(RichText::new(pane.title()).font(t.body_strong()));
        ui.label(RichText::new(pane.help()).font(t.body()).color(t.text2));
    });
    controls(&mut right);
    let free = right.min_rect().left();
    let text = inner.with_max_x(free - 8.0);
    if FOOT.contains(&pane) && !is_alone {
        foot_titles(ui, ctx, text, pane, facts);
    } else {
        title(ui, t, text, pane.title(), facts);
    }
}

/// Titles that switch between the two views at the foot.
fn foot_titles(ui: &mut Ui, ctx: &ViewCtx<'_>, rect: egui::Rect, pane: Pane, facts: &str) {
    let t = ctx.tokens;
    let mut left = ui.new_child(UiBuilder::new().max_rect(rect).layout(Layout::left_to_right(Align::Center)));
    left.spacing_mut().item_spacing.x = 14.0;
    for other in FOOT {
        let is_front = other == pane;
        let text = RichText::new(other.title()).font(t.body_strong()).color(if is_front { t.text } else { t.text3 });
        let response = left.add(egui::Label::new(text).selectable(false).sense(Sense::click()));
        response.widget_info(|| egui::WidgetInfo::selected(egui::Role::Tab, true, is_front, format!("{} tab", other.title())));
        if is_front {
            let line = response.rect.expand2(Vec2::new(2.0, 0.0));
            left.painter().hline(line.x_range(), rect.top() + 1.0, egui::Stroke::new(2.0, t.accent));
        }
        if response.clicked() {
            ctx.send(Command::ShowFoot(other));
        }
    }
    left.add(egui::Label::new(RichText::new(facts).font(t.body()).color(t.text3)).selectable(false).truncate());
}

fn title(ui: &mut Ui, t: &Tokens, rect: egui::Rect, title: &str, facts: &str) {
    let mut left = ui.new_child(UiBuilder::new().max_rect(rect).layout(Layout::left_to_right(Align::Center)));
    left.spacing_mut().item_spacing.x = 8.0;
    left.add(egui::Label::new(RichText::new(title).font(t.body_strong()).color(t.text)).selectable(false));
    left.add(egui::Label::new(RichText::new(facts).font(t.body()).color(t.text3)).selectable(false).truncate());
}
