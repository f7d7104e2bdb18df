//! The font files, their families, and the type scale as `FontId`s.

use std::sync::Arc;

use egui::{FontData, FontDefinitions, FontFamily, FontId};

use super::tokens::Tokens;

const INTER_REGULAR: &[u8] = include_bytes!("../../../assets/fonts/Inter-Regular.ttf");
const INTER_MEDIUM: &[u8] = include_bytes!("../../../assets/fonts/Inter-Medium.ttf");
const INTER_SEMIBOLD: &[u8] = include_bytes!("../../../assets/fonts/Inter-SemiBold.ttf");
const PHOSPHOR: &[u8] = include_bytes!("../../../assets/fonts/Phosphor.ttf");
const PHOSPHOR_BOLD: &[u8] = include_bytes!("../../../assets/fonts/Phosphor-Bold.ttf");
const NOTO_SC: &[u8] = include_bytes!("../../../assets/fonts/NotoSansSC-Regular.otf");

const REGULAR: &str = "Inter-Regular";
const MEDIUM: &str = "Inter-Medium";
const SEMIBOLD: &str = "Inter-SemiBold";
const ICONS: &str = "Phosphor";
const ICONS_BOLD: &str = "Phosphor-Bold";
const CHINESE: &str = "NotoSansSC";

/// At and below this size the bold icons are used: the regular ones get too thin.
const BOLD_ICON_PX: f32 = 13.0;

/// How strong a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// 400.
    Regular,
    /// 500: controls and labels inside charts.
    Medium,
    /// 600: titles and key numbers.
    SemiBold,
}

impl Weight {
    /// The font family that draws this weight.
    #[must_use]
    pub fn family(self) -> FontFamily {
        match self {
            Self::Regular => FontFamily::Proportional,
            Self::Medium => FontFamily::Name("medium".into()),
            Self::SemiBold => FontFamily::Name("semibold".into()),
        }
    }
}

impl Tokens {
    /// Axis ticks and hints inside a chart: 11.
    #[must_use]
    pub fn tick(&self) -> FontId {
        font(self.size.tick, Weight::Regular)
    }

    /// Labels inside a chart: 11 medium.
    #[must_use]
    pub fn tick_medium(&self) -> FontId {
        font(self.size.tick, Weight::Medium)
    }

    /// Badges, tags, names in rectangles: 11 semibold.
    #[must_use]
    pub fn tick_strong(&self) -> FontId {
        font(self.size.tick, Weight::SemiBold)
    }

    /// Tables, inspector, hints: 12.
    #[must_use]
    pub fn body(&self) -> FontId {
        font(self.size.body, Weight::Regular)
    }

    /// Text of controls: 12 medium.
    #[must_use]
    pub fn body_medium(&self) -> FontId {
        font(self.size.body, Weight::Medium)
    }

    /// Panel titles: 12 semibold.
    #[must_use]
    pub fn body_strong(&self) -> FontId {
        font(self.size.body, Weight::SemiBold)
    }

    /// Menu bar: 13.
    #[must_use]
    pub fn menu(&self) -> FontId {
        font(self.size.menu, Weight::Regular)
    }

    /// Key numbers of the status bar, card titles: 13 semibold.
    #[must_use]
    pub fn menu_strong(&self) -> FontId {
        font(self.size.menu, Weight::SemiBold)
    }

    /// Name of the selection, dialog titles: 15 semibold.
    #[must_use]
    pub fn title(&self) -> FontId {
        font(self.size.title, Weight::SemiBold)
    }

    /// Headline numbers: 18 semibold.
    #[must_use]
    pub fn number(&self) -> FontId {
        font(self.size.number, Weight::SemiBold)
    }

    /// The first screen: 30 semibold.
    #[must_use]
    pub fn display(&self) -> FontId {
        font(self.size.display, Weight::SemiBold)
    }

    /// Hex, tensor names and code.
    #[must_use]
    pub fn mono(&self) -> FontId {
        FontId::new(self.size.code, FontFamily::Monospace)
    }

    /// Hex inside a chart or a narrow cell.
    #[must_use]
    pub fn mono_tick(&self) -> FontId {
        FontId::new(self.size.tick, FontFamily::Monospace)
    }
}

/// A text size in a weight.
#[must_use]
pub fn font(size: f32, weight: Weight) -> FontId {
    FontId::new(size, weight.family())
}

/// The font of icons at `size` points.
#[must_use]
pub fn icon_font(size: f32) -> FontId {
    let family = if size <= BOLD_ICON_PX { "icons-bold" } else { "icons" };
    FontId::new(size, FontFamily::Name(family.into()))
}

/// The file of a family whose font the program brings along, for pictures that carry their fonts.
#[must_use]
pub fn font_file(family: &str) -> Option<&'static [u8]> {
    match family {
        "regular" => Some(INTER_REGULAR),
        "medium" => Some(INTER_MEDIUM),
        "semibold" => Some(INTER_SEMIBOLD),
        "icons" => Some(PHOSPHOR),
        "icons-bold" => Some(PHOSPHOR_BOLD),
        _ => None,
    }
}

/// All families: Inter, then icons, then egui's own fonts, then Chinese.
///
/// Icons come before egui's fonts because those have glyphs of their own in the private area.
#[must_use]
pub fn definitions() -> FontDefinitions {
    let mut fonts = FontDefinitions::default();
    for (name, bytes) in [
        (REGULAR, INTER_REGULAR),
        (MEDIUM, INTER_MEDIUM),
        (SEMIBOLD, INTER_SEMIBOLD),
        (ICONS, PHOSPHOR),
        (ICONS_BOLD, PHOSPHOR_BOLD),
        (CHINESE, NOTO_SC),
    ] {
        fonts.font_data.insert(name.to_owned(), Arc::new(FontData::from_static(bytes)));
    }
    let default_of = |family: &FontFamily| fonts.families.get(family).cloned().unwrap_or_default();
    let text = default_of(&FontFamily::Proportional);
    let code = default_of(&FontFamily::Monospace);
    let (first_code, rest_of_code) = code.split_at(code.len().min(1));
    let chain = |first: &[&str], rest: &[String]| -> Vec<String> {
        first.iter().map(|s| (*s).to_owned()).chain(rest.iter().cloned()).chain([CHINESE.to_owned()]).collect()
    };
    let mut mono = first_code.to_vec();
    mono.push(ICONS.to_owned());
    mono.extend(chain(&[], rest_of_code));
    let families = [
        (FontFamily::Proportional, chain(&[REGULAR, ICONS], &text)),
        (FontFamily::Name("regular".into()), chain(&[REGULAR, ICONS], &text)),
        (Weight::Medium.family(), chain(&[MEDIUM, ICONS], &text)),
        (Weight::SemiBold.family(), chain(&[SEMIBOLD, ICONS_BOLD], &text)),
        (FontFamily::Name("icons".into()), vec![ICONS.to_owned()]),
        (FontFamily::Name("icons-bold".into()), vec![ICONS_BOLD.to_owned()]),
        (FontFamily::Monospace, mono),
    ];
    fonts.families.extend(families);
    fonts
}
