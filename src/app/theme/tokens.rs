//! Every colour, size and duration of the window, per theme.

use egui::Color32;

/// One look of the whole window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum ThemeKind {
    /// Dark ground, for work at a desk.
    #[default]
    Dark,
    /// Light ground.
    Light,
    /// Light, larger and with more contrast, to be read from the back of a room.
    Projector,
}

impl ThemeKind {
    /// All themes, in the order in which a menu lists them.
    pub const ALL: [Self; 3] = [Self::Dark, Self::Light, Self::Projector];

    /// The constants of this theme.
    #[must_use]
    pub fn tokens(self) -> &'static Tokens {
        match self {
            Self::Dark => &DARK,
            Self::Light => &LIGHT,
            Self::Projector => &PROJECTOR,
        }
    }
}

/// Sizes of text in points; nothing is smaller than `tick`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TypeScale {
    /// Axis ticks, labels inside charts, keycaps, badges.
    pub tick: f32,
    /// Tables, inspector, controls, hints.
    pub body: f32,
    /// Menu bar, key numbers of the status bar, card titles.
    pub menu: f32,
    /// Name of the selection, dialog titles.
    pub title: f32,
    /// Headline of Compare and Out of memory.
    pub number: f32,
    /// The first screen only.
    pub display: f32,
    /// Code and hex.
    pub code: f32,
}

/// The named constants of one theme.
///
/// Colours are asked for by meaning. Palettes (roles, slots, size) are reached through
/// the methods in `palette`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tokens {
    /// Which theme this is.
    pub kind: ThemeKind,
    /// Window behind panels, sunken fields.
    pub bg0: Color32,
    /// Panel.
    pub bg1: Color32,
    /// Headers, tabs, status bar, popovers.
    pub bg2: Color32,
    /// Controls, inactive meters.
    pub bg3: Color32,
    /// Chart ground.
    pub chart: Color32,
    /// Hovered row or control.
    pub hoverbg: Color32,
    /// Pressed control.
    pub press: Color32,
    /// Hairline between areas.
    pub line: Color32,
    /// Border of a control.
    pub line2: Color32,
    /// Grid line in a chart.
    pub grid: Color32,
    /// Primary text, key numbers.
    pub text: Color32,
    /// Secondary text.
    pub text2: Color32,
    /// Labels, axis ticks, hints; on `accentbg` use `text2` instead.
    pub text3: Color32,
    /// Disabled text; always with a reason on hover.
    pub disabled: Color32,
    /// Focus, active tab, links, primary button, outline of related things.
    pub accent: Color32,
    /// Selected row, active toggle.
    pub accentbg: Color32,
    /// Text on `accent`.
    pub accentink: Color32,
    /// Valid, proved, saved.
    pub ok: Color32,
    /// Badge ground of `ok`.
    pub okbg: Color32,
    /// Gap above 5 %, not checked, could be lower.
    pub warn: Color32,
    /// Badge ground of `warn`.
    pub warnbg: Color32,
    /// Violation, over capacity, failed.
    pub err: Color32,
    /// Badge ground of `err`.
    pub errbg: Color32,
    /// Notes.
    pub info: Color32,
    /// Outline of hovered and selected things.
    pub select: Color32,
    /// Ring between a selected thing and its outline.
    pub gap: Color32,
    /// Diagonals of space trapped below a live buffer.
    pub hole: Color32,
    /// Every second block of the scope band; the others are `bg3`.
    pub scope: Color32,
    /// Every second row of the lifetimes.
    pub stripe: Color32,
    /// Shadow of things that float.
    pub shadow: Color32,
    /// Curve: sum of all buffers.
    pub naive: Color32,
    /// Curve: live bytes.
    pub live: Color32,
    /// Curve: arena size.
    pub arena: Color32,
    /// Curve: lower bound; also peak markers and search hits.
    pub bound: Color32,
    /// Curve: capacity.
    pub capacity: Color32,
    /// Curve: measured bytes.
    pub measured: Color32,
    /// Fills of roles, in the order of `planner::graph::Role`.
    pub(super) roles: [Color32; 9],
    /// Fills of slots 1 to 8.
    pub(super) slots: [Color32; 8],
    /// Stops of the size ramp, from 32 KiB to the largest buffer.
    pub(super) ramp: [Color32; 7],
    /// How far an outline is mixed towards black.
    pub(super) outline_mix: f32,
    /// Text sizes.
    pub size: TypeScale,
    /// Factor on the widths of lines: 1, or 1.5 on a projector.
    pub line_scale: f32,
    /// Width of the outline of related things, points.
    pub related_width: f32,
}

#[expect(clippy::disallowed_methods, reason = "this is where the colours are")]
const fn hex(rgb: u32) -> Color32 {
    let [_, r, g, b] = rgb.to_be_bytes();
    Color32::from_rgb(r, g, b)
}

/// A colour that lets what is below through, its channels already multiplied.
#[expect(clippy::disallowed_methods, reason = "this is where the colours are")]
const fn veil(r: u8, g: u8, b: u8, a: u8) -> Color32 {
    Color32::from_rgba_premultiplied(r, g, b, a)
}

const DESK_SIZES: TypeScale = TypeScale { tick: 11.0, body: 12.0, menu: 13.0, title: 15.0, number: 18.0, display: 30.0, code: 12.0 };
const PROJECTOR_SIZES: TypeScale = TypeScale { tick: 13.0, body: 15.0, menu: 15.0, title: 18.0, number: 22.0, display: 30.0, code: 18.0 };

static DARK: Tokens = Tokens {
    kind: ThemeKind::Dark,
    bg0: hex(0x0B0D12),
    bg1: hex(0x12151B),
    bg2: hex(0x181C24),
    bg3: hex(0x212734),
    chart: hex(0x0E1116),
    hoverbg: hex(0x262D3A),
    press: hex(0x2E3646),
    line: hex(0x252B37),
    line2: hex(0x3A4252),
    grid: hex(0x1C212B),
    text: hex(0xE8EBF1),
    text2: hex(0xB3BBC9),
    text3: hex(0x8A94A5),
    disabled: hex(0x626B7B),
    accent: hex(0x8F96FF),
    accentbg: hex(0x2A2D57),
    accentink: hex(0x0B0D12),
    ok: hex(0x4CC38A),
    okbg: hex(0x12291F),
    warn: hex(0xF0B429),
    warnbg: hex(0x2E2410),
    err: hex(0xFF6B6B),
    errbg: hex(0x3A171B),
    info: hex(0x6CB6FF),
    select: hex(0xFFFFFF),
    gap: hex(0x0B0D12),
    hole: hex(0x3A4252),
    scope: hex(0x2E3543),
    stripe: hex(0x12161D),
    shadow: veil(0, 0, 0, 140),
    naive: hex(0xA6ABB2),
    live: hex(0x29A3E4),
    arena: hex(0xE8EBF1),
    bound: hex(0xE6C958),
    capacity: hex(0xFF6B6B),
    measured: hex(0xFF8AD8),
    roles: [hex(0xA6ABB2), hex(0x5D636D), hex(0x279873), hex(0xFCA8E8), hex(0x29A3E4), hex(0xDC6A38), hex(0x8861D3), hex(0xF8E28B), hex(0x997799)],
    slots: [hex(0x59B3E2), hex(0xDA7804), hex(0x3BA661), hex(0xB26E9D), hex(0xE6C958), hex(0x7975E6), hex(0x82EDF9), hex(0xFB9C9B)],
    ramp: [hex(0x495D96), hex(0x795CB4), hex(0xB555AE), hex(0xE7637A), hex(0xFA8F5D), hex(0xFCC069), hex(0xFBEAA8)],
    outline_mix: 0.35,
    size: DESK_SIZES,
    line_scale: 1.0,
    related_width: 1.5,
};

static LIGHT: Tokens = Tokens {
    kind: ThemeKind::Light,
    bg0: hex(0xE9ECF1),
    bg1: hex(0xF6F7F9),
    bg2: hex(0xFFFFFF),
    bg3: hex(0xEDF0F4),
    chart: hex(0xFFFFFF),
    hoverbg: hex(0xE3E7EE),
    press: hex(0xD5DBE5),
    line: hex(0xDADFE7),
    line2: hex(0xB7BFCC),
    grid: hex(0xEEF0F4),
    text: hex(0x171B22),
    text2: hex(0x434C5B),
    text3: hex(0x5F6979),
    disabled: hex(0x98A1B0),
    accent: hex(0x4A4FD0),
    accentbg: hex(0xE3E4FB),
    accentink: hex(0xFFFFFF),
    ok: hex(0x0F6B42),
    okbg: hex(0xE0F3EA),
    warn: hex(0x8A5A00),
    warnbg: hex(0xFBF0D6),
    err: hex(0xC4262E),
    errbg: hex(0xFBE4E4),
    info: hex(0x1866B4),
    select: hex(0x171B22),
    gap: hex(0xFFFFFF),
    hole: hex(0xC0C7D2),
    scope: hex(0xD2D8E0),
    stripe: hex(0xF7F8FA),
    shadow: veil(4, 5, 6, 46),
    naive: hex(0x626870),
    live: hex(0x3898E3),
    arena: hex(0x171B22),
    bound: hex(0x765B00),
    capacity: hex(0xC4262E),
    measured: hex(0xB3208A),
    roles: [hex(0x787D83), hex(0x343D4B), hex(0x046D4D), hex(0xD364B6), hex(0x3898E3), hex(0xBA3505), hex(0x7134CD), hex(0xB8A21D), hex(0xCBB3CB)],
    slots: [hex(0x0FA6EC), hex(0x8E4B0F), hex(0x2F9256), hex(0xC460A9), hex(0xB29F33), hex(0x7351BF), hex(0x085C62), hex(0xEA969C)],
    ramp: [hex(0xE4DBBA), hex(0xE6BD7C), hex(0xEB8F53), hex(0xDB585A), hex(0xA5397E), hex(0x5E327F), hex(0x272757)],
    outline_mix: 0.38,
    size: DESK_SIZES,
    line_scale: 1.0,
    related_width: 1.5,
};

static PROJECTOR: Tokens = Tokens {
    kind: ThemeKind::Projector,
    bg0: hex(0xFFFFFF),
    bg1: hex(0xFFFFFF),
    bg2: hex(0xFFFFFF),
    bg3: hex(0xEEF0F3),
    chart: hex(0xFFFFFF),
    hoverbg: hex(0xDDE1E8),
    press: hex(0xC9D0DB),
    line: hex(0x8B93A1),
    line2: hex(0x000000),
    grid: hex(0xE2E5EA),
    text: hex(0x000000),
    text2: hex(0x1C2027),
    text3: hex(0x3C434F),
    disabled: hex(0x767E8B),
    accent: hex(0x2A2FB8),
    accentbg: hex(0xDFE1FF),
    accentink: hex(0xFFFFFF),
    ok: hex(0x00603A),
    okbg: hex(0xD8F2E5),
    warn: hex(0x6B4500),
    warnbg: hex(0xFFEFC7),
    err: hex(0xA80012),
    errbg: hex(0xFFDFE0),
    info: hex(0x004C99),
    select: hex(0x000000),
    gap: hex(0xFFFFFF),
    hole: hex(0x9AA2AF),
    scope: hex(0xC9D0DB),
    stripe: hex(0xF6F7F9),
    naive: hex(0x5A6069),
    live: hex(0x1474BF),
    arena: hex(0x000000),
    bound: hex(0x6B5200),
    capacity: hex(0xA80012),
    measured: hex(0x8E0F6C),
    size: PROJECTOR_SIZES,
    line_scale: 1.5,
    related_width: 3.0,
    ..LIGHT
};

/// Heights, widths and paddings in points (visual base unit 4).
pub mod space {
    /// Menu bar.
    pub const MENU_BAR: f32 = 36.0;
    /// Toolbar.
    pub const TOOLBAR: f32 = 38.0;
    /// Status bar.
    pub const STATUS_BAR: f32 = 30.0;
    /// Header of a panel.
    pub const PANEL_HEADER: f32 = 24.0;
    /// Row of tabs.
    pub const TAB_BAR: f32 = 26.0;
    /// Header and row of a table.
    pub const TABLE_ROW: f32 = 22.0;
    /// Button, drop-down, segmented control.
    pub const CONTROL: f32 = 26.0;
    /// The same in a panel header.
    pub const CONTROL_SMALL: f32 = 21.0;
    /// Ruler: scope band and ticks.
    pub const RULER: f32 = 38.0;
    /// Scope band of the ruler.
    pub const SCOPE_BAND: f32 = 15.0;
    /// Minimap.
    pub const MINIMAP: f32 = 36.0;
    /// Left gutter of a chart.
    pub const GUTTER: f32 = 66.0;
    /// Left gutter of the charts of Run.
    pub const GUTTER_RUN: f32 = 128.0;
    /// Right margin of a chart.
    pub const MARGIN_RIGHT: f32 = 14.0;
    /// Row of the lifetimes at middle zoom.
    pub const LIFETIME_ROW: f32 = 12.0;
    /// Bar in that row.
    pub const LIFETIME_BAR: f32 = 9.0;
    /// Right column: usual, smallest and largest width.
    pub const RIGHT_COLUMN: [f32; 3] = [373.0, 300.0, 520.0];
    /// Smallest heights of Lifetimes, Arena and Memory.
    pub const SMALLEST_CHART: [f32; 3] = [120.0, 140.0, 72.0];
    /// Smallest side of something that can be hit.
    pub const HIT: f32 = 22.0;
    /// How far from its centre line a thin bar answers.
    pub const HIT_BAR: f32 = 4.0;
    /// Icon in a panel header, in the toolbar and in an empty state.
    pub const ICON: [f32; 3] = [14.0, 15.0, 24.0];
    /// Panel padding.
    pub const PADDING: f32 = 12.0;
    /// Between a label and its control.
    pub const LABEL_GAP: f32 = 6.0;
    /// Between two controls.
    pub const CONTROL_GAP: f32 = 14.0;
    /// Between cards.
    pub const CARD_GAP: f32 = 8.0;
    /// Below this window width the right column becomes tabs.
    pub const NARROW: f32 = 1180.0;
    /// Smallest window.
    pub const SMALLEST_WINDOW: [f32; 2] = [960.0, 600.0];
}

/// Corner radii in points.
pub mod radius {
    /// Chart rectangle of at least 8 × 8.
    pub const RECT: u8 = 2;
    /// Tag, keycap.
    pub const TAG: u8 = 3;
    /// Control, callout.
    pub const CONTROL: u8 = 4;
    /// Segmented control.
    pub const SEGMENTED: u8 = 5;
    /// Card, popover, tooltip.
    pub const CARD: u8 = 6;
    /// Drop target.
    pub const DROP: u8 = 10;
}

/// Line widths in points before `Tokens::line_scale`, and dash patterns.
pub mod stroke {
    /// Hairline, grid, border.
    pub const HAIR: f32 = 1.0;
    /// Curve.
    pub const CURVE: f32 = 1.5;
    /// Emphasised curve; outline of hovered and selected things; edge of the selection.
    pub const STRONG: f32 = 2.0;
    /// Dash and pause of a bound.
    pub const DASH_BOUND: [f32; 2] = [5.0, 4.0];
    /// Dash and pause of a bound drawn over a coinciding curve.
    pub const DASH_OVER: [f32; 2] = [6.0, 6.0];
    /// Dash and pause of a guide or a ghost.
    pub const DASH_GUIDE: [f32; 2] = [4.0, 3.0];
}

/// Durations in seconds.
pub mod motion {
    /// A hover highlight fades out.
    pub const HOVER_OUT: f32 = 0.090;
    /// Dimming.
    pub const DIM: f32 = 0.090;
    /// Zoom and pan by key or wheel, cubic out.
    pub const ZOOM: f32 = 0.140;
    /// Zoom to selection, fit, peak, cubic in-out.
    pub const FIT: f32 = 0.220;
    /// Rectangles travel between two plans, cubic in-out.
    pub const FLIP: f32 = 0.260;
    /// The same as a cross-fade, above 4,000 rectangles.
    pub const CROSS_FADE: f32 = 0.160;
    /// One step of Teach at speed 1.
    pub const TEACH: f32 = 0.320;
    /// Panel, tab, popover.
    pub const PANEL: f32 = 0.100;
    /// A tooltip on a control waits this long; in charts it does not wait.
    pub const TOOLTIP: f32 = 0.400;
    /// Work below this time changes nothing on screen.
    pub const QUIET: f64 = 0.5;
}
