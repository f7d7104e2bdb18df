//! The tokens as egui's own `Style`, so that stock widgets look like ours.

use std::collections::BTreeMap;

use egui::{
    CornerRadius, FontId, Margin, Shadow, Stroke, Style, TextStyle, Vec2, Visuals,
    style::{Selection, WidgetVisuals, Widgets},
};

use super::palette::mix;
use super::tokens::{ThemeKind, Tokens, motion, radius, space, stroke};

/// How much of a disabled widget's colours stays; `text3` at this opacity looks like `disabled`.
const DISABLED_ALPHA: f32 = 0.65;

/// The whole style of a theme.
#[must_use]
pub fn style(tokens: &Tokens) -> Style {
    let mut style = Style { text_styles: text_styles(tokens), visuals: visuals(tokens), ..Style::default() };
    style.animation_time = motion::PANEL;
    style.wrap_mode = None;
    style.interaction.tooltip_delay = motion::TOOLTIP;
    style.interaction.selectable_labels = false;
    let spacing = &mut style.spacing;
    spacing.item_spacing = Vec2::new(space::LABEL_GAP, 4.0);
    spacing.button_padding = Vec2::new(10.0, 4.0);
    spacing.interact_size = Vec2::new(space::HIT, space::CONTROL);
    spacing.window_margin = Margin::same(12);
    spacing.menu_margin = Margin::same(6);
    spacing.icon_width = 14.0;
    spacing.combo_width = 60.0;
    spacing.tooltip_width = 360.0;
    spacing.scroll.bar_width = 8.0;
    style
}

fn text_styles(tokens: &Tokens) -> BTreeMap<TextStyle, FontId> {
    BTreeMap::from([
        (TextStyle::Small, tokens.tick()),
        (TextStyle::Body, tokens.body()),
        (TextStyle::Button, tokens.body_medium()),
        (TextStyle::Heading, tokens.title()),
        (TextStyle::Monospace, tokens.mono()),
    ])
}

/// The colours of a theme in egui's terms.
#[must_use]
pub fn visuals(tokens: &Tokens) -> Visuals {
    let base = if tokens.kind == ThemeKind::Dark { Visuals::dark() } else { Visuals::light() };
    let shadow = popup_shadow(tokens);
    Visuals {
        widgets: widgets(tokens),
        selection: Selection { bg_fill: tokens.accentbg, stroke: Stroke::new(1.0, tokens.accent) },
        weak_text_color: Some(tokens.text3),
        hyperlink_color: tokens.accent,
        faint_bg_color: mix(tokens.bg1, tokens.bg2, 0.6),
        extreme_bg_color: tokens.bg0,
        code_bg_color: tokens.bg3,
        warn_fg_color: tokens.warn,
        error_fg_color: tokens.err,
        window_corner_radius: CornerRadius::same(radius::CARD),
        menu_corner_radius: CornerRadius::same(radius::CARD),
        window_shadow: shadow,
        popup_shadow: shadow,
        window_fill: tokens.bg2,
        window_stroke: Stroke::new(stroke::HAIR, tokens.line2),
        panel_fill: tokens.bg1,
        striped: false,
        disabled_alpha: DISABLED_ALPHA,
        ..base
    }
}

fn widgets(tokens: &Tokens) -> Widgets {
    let control = |fill, border, text| WidgetVisuals {
        bg_fill: fill,
        weak_bg_fill: fill,
        bg_stroke: Stroke::new(stroke::HAIR, border),
        corner_radius: CornerRadius::same(radius::CONTROL),
        fg_stroke: Stroke::new(stroke::HAIR, text),
        expansion: 0.0,
    };
    Widgets {
        noninteractive: control(tokens.bg2, tokens.line, tokens.text2),
        inactive: control(tokens.bg3, tokens.line2, tokens.text),
        hovered: control(tokens.hoverbg, tokens.line2, tokens.text),
        active: control(tokens.press, tokens.accent, tokens.text),
        open: control(tokens.press, tokens.line2, tokens.text),
    }
}

/// The shadow of tooltips and popovers.
#[must_use]
pub fn popup_shadow(tokens: &Tokens) -> Shadow {
    Shadow { offset: [0, 8], blur: 24, spread: 0, color: tokens.shadow }
}

/// The shadow of callouts.
#[must_use]
pub fn callout_shadow(tokens: &Tokens) -> Shadow {
    Shadow { offset: [0, 3], blur: 10, spread: 0, color: tokens.shadow }
}
