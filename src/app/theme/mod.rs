//! How the window looks: the only place where colours, sizes and fonts are written down.

mod fonts;
mod icons;
mod palette;
#[cfg(test)]
mod tests;
mod tokens;
mod visuals;

pub use fonts::{Weight, definitions, font, font_file, icon_font};
pub use icons::ALL_ICONS;
pub use palette::{Pattern, RAMP_FLOOR_BYTES, alpha, contrast, mix, role_pattern, size_position, slot_pattern};
pub use tokens::{ThemeKind, Tokens, TypeScale, motion, radius, space, stroke};
pub use visuals::{callout_shadow, popup_shadow, style, visuals};

use egui::{Color32, Context, Id, RichText};

/// One icon of the font, as a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Icon(char);

impl Icon {
    /// The character in the families `icons` and `icons-bold`.
    #[must_use]
    pub fn glyph(self) -> char {
        self.0
    }

    /// The icon as text of `size` points.
    #[must_use]
    pub fn text(self, size: f32, colour: Color32) -> RichText {
        RichText::new(self.0).font(icon_font(size)).color(colour)
    }
}

/// Gives `ctx` the fonts and the style of a theme.
///
/// Works with a plain context as with a window; fonts are loaded once per context,
/// and become available at the start of the next pass.
pub fn install(ctx: &Context, kind: ThemeKind) {
    let loaded = ctx.data_mut(|data| {
        data.insert_temp(theme_id(), kind);
        std::mem::replace(data.get_temp_mut_or_default::<bool>(fonts_id()), true)
    });
    if !loaded {
        ctx.set_fonts(definitions());
    }
    let style = style(kind.tokens());
    ctx.all_styles_mut(|target| *target = style.clone());
    ctx.set_theme(if kind == ThemeKind::Dark { egui::Theme::Dark } else { egui::Theme::Light });
}

/// Whether `install` has run for this context, so that its fonts can be used from the next pass on.
#[must_use]
pub fn is_installed(ctx: &Context) -> bool {
    ctx.data(|data| data.get_temp::<ThemeKind>(theme_id())).is_some()
}

/// The constants of the theme that `install` gave to this context; dark before that.
#[must_use]
pub fn tokens(ctx: &Context) -> &'static Tokens {
    ctx.data(|data| data.get_temp::<ThemeKind>(theme_id())).unwrap_or_default().tokens()
}

fn theme_id() -> Id {
    Id::unique("arenascope-theme")
}

fn fonts_id() -> Id {
    Id::unique("arenascope-fonts-loaded")
}
