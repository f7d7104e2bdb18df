//! The icons of the window as characters of the Phosphor subset.
//!
//! Written by `assets/fonts/build_fonts.py`, which cuts the font files to the same list.

use super::Icon;

impl Icon {
    /// Phosphor `arrow-clockwise`.
    pub const ARROW_CLOCKWISE: Self = Self('\u{e036}');
    /// Phosphor `arrow-counter-clockwise`.
    pub const ARROW_COUNTER_CLOCKWISE: Self = Self('\u{e038}');
    /// Phosphor `arrow-down`.
    pub const ARROW_DOWN: Self = Self('\u{e03e}');
    /// Phosphor `arrow-left`.
    pub const ARROW_LEFT: Self = Self('\u{e058}');
    /// Phosphor `arrow-right`.
    pub const ARROW_RIGHT: Self = Self('\u{e06c}');
    /// Phosphor `arrow-square-out`.
    pub const ARROW_SQUARE_OUT: Self = Self('\u{e5de}');
    /// Phosphor `arrow-up`.
    pub const ARROW_UP: Self = Self('\u{e08e}');
    /// Phosphor `arrows-down-up`.
    pub const ARROWS_DOWN_UP: Self = Self('\u{e098}');
    /// Phosphor `arrows-in`.
    pub const ARROWS_IN: Self = Self('\u{e09a}');
    /// Phosphor `arrows-in-simple`.
    pub const ARROWS_IN_SIMPLE: Self = Self('\u{e09e}');
    /// Phosphor `arrows-left-right`.
    pub const ARROWS_LEFT_RIGHT: Self = Self('\u{e0a0}');
    /// Phosphor `arrows-out`.
    pub const ARROWS_OUT: Self = Self('\u{e0a2}');
    /// Phosphor `arrows-out-simple`.
    pub const ARROWS_OUT_SIMPLE: Self = Self('\u{e0a6}');
    /// Phosphor `caret-down`.
    pub const CARET_DOWN: Self = Self('\u{e136}');
    /// Phosphor `caret-left`.
    pub const CARET_LEFT: Self = Self('\u{e138}');
    /// Phosphor `caret-right`.
    pub const CARET_RIGHT: Self = Self('\u{e13a}');
    /// Phosphor `caret-up`.
    pub const CARET_UP: Self = Self('\u{e13c}');
    /// Phosphor `chart-bar`.
    pub const CHART_BAR: Self = Self('\u{e150}');
    /// Phosphor `chart-line`.
    pub const CHART_LINE: Self = Self('\u{e154}');
    /// Phosphor `check`.
    pub const CHECK: Self = Self('\u{e182}');
    /// Phosphor `check-circle`.
    pub const CHECK_CIRCLE: Self = Self('\u{e184}');
    /// Phosphor `circle`.
    pub const CIRCLE: Self = Self('\u{e18a}');
    /// Phosphor `circle-half`.
    pub const CIRCLE_HALF: Self = Self('\u{e18c}');
    /// Phosphor `clock`.
    pub const CLOCK: Self = Self('\u{e19a}');
    /// Phosphor `command`.
    pub const COMMAND: Self = Self('\u{e1c4}');
    /// Phosphor `copy`.
    pub const COPY: Self = Self('\u{e1ca}');
    /// Phosphor `copy-simple`.
    pub const COPY_SIMPLE: Self = Self('\u{e1cc}');
    /// Phosphor `corners-out`.
    pub const CORNERS_OUT: Self = Self('\u{e1d0}');
    /// Phosphor `cpu`.
    pub const CPU: Self = Self('\u{e610}');
    /// Phosphor `crosshair`.
    pub const CROSSHAIR: Self = Self('\u{e1d6}');
    /// Phosphor `dots-three`.
    pub const DOTS_THREE: Self = Self('\u{e1fe}');
    /// Phosphor `dots-three-vertical`.
    pub const DOTS_THREE_VERTICAL: Self = Self('\u{e208}');
    /// Phosphor `download-simple`.
    pub const DOWNLOAD_SIMPLE: Self = Self('\u{e20c}');
    /// Phosphor `export`.
    pub const EXPORT: Self = Self('\u{eaf0}');
    /// Phosphor `eye`.
    pub const EYE: Self = Self('\u{e220}');
    /// Phosphor `eye-slash`.
    pub const EYE_SLASH: Self = Self('\u{e224}');
    /// Phosphor `fast-forward`.
    pub const FAST_FORWARD: Self = Self('\u{e6a6}');
    /// Phosphor `file`.
    pub const FILE: Self = Self('\u{e230}');
    /// Phosphor `file-plus`.
    pub const FILE_PLUS: Self = Self('\u{e236}');
    /// Phosphor `file-text`.
    pub const FILE_TEXT: Self = Self('\u{e23a}');
    /// Phosphor `flag-checkered`.
    pub const FLAG_CHECKERED: Self = Self('\u{ea38}');
    /// Phosphor `floppy-disk`.
    pub const FLOPPY_DISK: Self = Self('\u{e248}');
    /// Phosphor `folder-open`.
    pub const FOLDER_OPEN: Self = Self('\u{e256}');
    /// Phosphor `frame-corners`.
    pub const FRAME_CORNERS: Self = Self('\u{e626}');
    /// Phosphor `funnel`.
    pub const FUNNEL: Self = Self('\u{e266}');
    /// Phosphor `gear`.
    pub const GEAR: Self = Self('\u{e270}');
    /// Phosphor `gear-six`.
    pub const GEAR_SIX: Self = Self('\u{e272}');
    /// Phosphor `git-diff`.
    pub const GIT_DIFF: Self = Self('\u{e27c}');
    /// Phosphor `gps-fix`.
    pub const GPS_FIX: Self = Self('\u{edd6}');
    /// Phosphor `graduation-cap`.
    pub const GRADUATION_CAP: Self = Self('\u{e62c}');
    /// Phosphor `graph`.
    pub const GRAPH: Self = Self('\u{eb58}');
    /// Phosphor `graphics-card`.
    pub const GRAPHICS_CARD: Self = Self('\u{e612}');
    /// Phosphor `hash`.
    pub const HASH: Self = Self('\u{e2a2}');
    /// Phosphor `house`.
    pub const HOUSE: Self = Self('\u{e2c2}');
    /// Phosphor `image`.
    pub const IMAGE: Self = Self('\u{e2ca}');
    /// Phosphor `info`.
    pub const INFO: Self = Self('\u{e2ce}');
    /// Phosphor `keyboard`.
    pub const KEYBOARD: Self = Self('\u{e2d8}');
    /// Phosphor `lightbulb`.
    pub const LIGHTBULB: Self = Self('\u{e2dc}');
    /// Phosphor `link`.
    pub const LINK: Self = Self('\u{e2e2}');
    /// Phosphor `list`.
    pub const LIST: Self = Self('\u{e2f0}');
    /// Phosphor `lock`.
    pub const LOCK: Self = Self('\u{e2fa}');
    /// Phosphor `magnifying-glass`.
    pub const MAGNIFYING_GLASS: Self = Self('\u{e30c}');
    /// Phosphor `magnifying-glass-minus`.
    pub const MAGNIFYING_GLASS_MINUS: Self = Self('\u{e30e}');
    /// Phosphor `magnifying-glass-plus`.
    pub const MAGNIFYING_GLASS_PLUS: Self = Self('\u{e310}');
    /// Phosphor `memory`.
    pub const MEMORY: Self = Self('\u{e9c4}');
    /// Phosphor `minus`.
    pub const MINUS: Self = Self('\u{e32a}');
    /// Phosphor `monitor`.
    pub const MONITOR: Self = Self('\u{e32e}');
    /// Phosphor `moon`.
    pub const MOON: Self = Self('\u{e330}');
    /// Phosphor `pause`.
    pub const PAUSE: Self = Self('\u{e39e}');
    /// Phosphor `pencil-simple`.
    pub const PENCIL_SIMPLE: Self = Self('\u{e3b4}');
    /// Phosphor `play`.
    pub const PLAY: Self = Self('\u{e3d0}');
    /// Phosphor `plus`.
    pub const PLUS: Self = Self('\u{e3d4}');
    /// Phosphor `presentation`.
    pub const PRESENTATION: Self = Self('\u{e654}');
    /// Phosphor `projector-screen`.
    pub const PROJECTOR_SCREEN: Self = Self('\u{e658}');
    /// Phosphor `push-pin`.
    pub const PUSH_PIN: Self = Self('\u{e3e2}');
    /// Phosphor `push-pin-slash`.
    pub const PUSH_PIN_SLASH: Self = Self('\u{e3e4}');
    /// Phosphor `question`.
    pub const QUESTION: Self = Self('\u{e3e8}');
    /// Phosphor `rewind`.
    pub const REWIND: Self = Self('\u{e6a8}');
    /// Phosphor `rows`.
    pub const ROWS: Self = Self('\u{e5a2}');
    /// Phosphor `seal-check`.
    pub const SEAL_CHECK: Self = Self('\u{e606}');
    /// Phosphor `share-network`.
    pub const SHARE_NETWORK: Self = Self('\u{e408}');
    /// Phosphor `shuffle`.
    pub const SHUFFLE: Self = Self('\u{e422}');
    /// Phosphor `sidebar-simple`.
    pub const SIDEBAR_SIMPLE: Self = Self('\u{ec24}');
    /// Phosphor `skip-back`.
    pub const SKIP_BACK: Self = Self('\u{e5a4}');
    /// Phosphor `skip-forward`.
    pub const SKIP_FORWARD: Self = Self('\u{e5a6}');
    /// Phosphor `sliders-horizontal`.
    pub const SLIDERS_HORIZONTAL: Self = Self('\u{e434}');
    /// Phosphor `sort-ascending`.
    pub const SORT_ASCENDING: Self = Self('\u{e444}');
    /// Phosphor `sort-descending`.
    pub const SORT_DESCENDING: Self = Self('\u{e446}');
    /// Phosphor `sparkle`.
    pub const SPARKLE: Self = Self('\u{e6a2}');
    /// Phosphor `stack`.
    pub const STACK: Self = Self('\u{e466}');
    /// Phosphor `stack-simple`.
    pub const STACK_SIMPLE: Self = Self('\u{e468}');
    /// Phosphor `stop`.
    pub const STOP: Self = Self('\u{e46c}');
    /// Phosphor `sun`.
    pub const SUN: Self = Self('\u{e472}');
    /// Phosphor `swap`.
    pub const SWAP: Self = Self('\u{e83c}');
    /// Phosphor `table`.
    pub const TABLE: Self = Self('\u{e476}');
    /// Phosphor `target`.
    pub const TARGET: Self = Self('\u{e47c}');
    /// Phosphor `translate`.
    pub const TRANSLATE: Self = Self('\u{e4a2}');
    /// Phosphor `trash`.
    pub const TRASH: Self = Self('\u{e4a6}');
    /// Phosphor `tree-structure`.
    pub const TREE_STRUCTURE: Self = Self('\u{e67c}');
    /// Phosphor `upload-simple`.
    pub const UPLOAD_SIMPLE: Self = Self('\u{e4c0}');
    /// Phosphor `warning`.
    pub const WARNING: Self = Self('\u{e4e0}');
    /// Phosphor `warning-circle`.
    pub const WARNING_CIRCLE: Self = Self('\u{e4e2}');
    /// Phosphor `warning-octagon`.
    pub const WARNING_OCTAGON: Self = Self('\u{e4e4}');
    /// Phosphor `x`.
    pub const X: Self = Self('\u{e4f6}');
    /// Phosphor `x-circle`.
    pub const X_CIRCLE: Self = Self('\u{e4f8}');
}

/// Every icon, in the order above.
pub const ALL_ICONS: &[Icon] = &[
    Icon::ARROW_CLOCKWISE,
    Icon::ARROW_COUNTER_CLOCKWISE,
    Icon::ARROW_DOWN,
    Icon::ARROW_LEFT,
    Icon::ARROW_RIGHT,
    Icon::ARROW_SQUARE_OUT,
    Icon::ARROW_UP,
    Icon::ARROWS_DOWN_UP,
    Icon::ARROWS_IN,
    Icon::ARROWS_IN_SIMPLE,
    Icon::ARROWS_LEFT_RIGHT,
    Icon::ARROWS_OUT,
    Icon::ARROWS_OUT_SIMPLE,
    Icon::CARET_DOWN,
    Icon::CARET_LEFT,
    Icon::CARET_RIGHT,
    Icon::CARET_UP,
    Icon::CHART_BAR,
    Icon::CHART_LINE,
    Icon::CHECK,
    Icon::CHECK_CIRCLE,
    Icon::CIRCLE,
    Icon::CIRCLE_HALF,
    Icon::CLOCK,
    Icon::COMMAND,
    Icon::COPY,
    Icon::COPY_SIMPLE,
    Icon::CORNERS_OUT,
    Icon::CPU,
    Icon::CROSSHAIR,
    Icon::DOTS_THREE,
    Icon::DOTS_THREE_VERTICAL,
    Icon::DOWNLOAD_SIMPLE,
    Icon::EXPORT,
    Icon::EYE,
    Icon::EYE_SLASH,
    Icon::FAST_FORWARD,
    Icon::FILE,
    Icon::FILE_PLUS,
    Icon::FILE_TEXT,
    Icon::FLAG_CHECKERED,
    Icon::FLOPPY_DISK,
    Icon::FOLDER_OPEN,
    Icon::FRAME_CORNERS,
    Icon::FUNNEL,
    Icon::GEAR,
    Icon::GEAR_SIX,
    Icon::GIT_DIFF,
    Icon::GPS_FIX,
    Icon::GRADUATION_CAP,
    Icon::GRAPH,
    Icon::GRAPHICS_CARD,
    Icon::HASH,
    Icon::HOUSE,
    Icon::IMAGE,
    Icon::INFO,
    Icon::KEYBOARD,
    Icon::LIGHTBULB,
    Icon::LINK,
    Icon::LIST,
    Icon::LOCK,
    Icon::MAGNIFYING_GLASS,
    Icon::MAGNIFYING_GLASS_MINUS,
    Icon::MAGNIFYING_GLASS_PLUS,
    Icon::MEMORY,
    Icon::MINUS,
    Icon::MONITOR,
    Icon::MOON,
    Icon::PAUSE,
    Icon::PENCIL_SIMPLE,
    Icon::PLAY,
    Icon::PLUS,
    Icon::PRESENTATION,
    Icon::PROJECTOR_SCREEN,
    Icon::PUSH_PIN,
    Icon::PUSH_PIN_SLASH,
    Icon::QUESTION,
    Icon::REWIND,
    Icon::ROWS,
    Icon::SEAL_CHECK,
    Icon::SHARE_NETWORK,
    Icon::SHUFFLE,
    Icon::SIDEBAR_SIMPLE,
    Icon::SKIP_BACK,
    Icon::SKIP_FORWARD,
    Icon::SLIDERS_HORIZONTAL,
    Icon::SORT_ASCENDING,
    Icon::SORT_DESCENDING,
    Icon::SPARKLE,
    Icon::STACK,
    Icon::STACK_SIMPLE,
    Icon::STOP,
    Icon::SUN,
    Icon::SWAP,
    Icon::TABLE,
    Icon::TARGET,
    Icon::TRANSLATE,
    Icon::TRASH,
    Icon::TREE_STRUCTURE,
    Icon::UPLOAD_SIMPLE,
    Icon::WARNING,
    Icon::WARNING_CIRCLE,
    Icon::WARNING_OCTAGON,
    Icon::X,
    Icon::X_CIRCLE,
];
