//! Colours of data: roles, slots, the size ramp, and what states do to a fill.

use arenascope_planner::graph::Role;
use egui::Color32;

use super::tokens::Tokens;

/// Bytes at and below which the size ramp stays at its first stop.
pub const RAMP_FLOOR_BYTES: u64 = 32 * 1024;

/// The second channel of a fill, for those who cannot tell its hue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// Nothing over the fill.
    Plain,
    /// Diagonals over the lowest quarter.
    Foot,
    /// Diagonals all over.
    Hatch,
    /// Diagonals both ways.
    Cross,
    /// Small dots.
    Dots,
}

impl Tokens {
    /// The fill of a role.
    #[must_use]
    pub fn role(&self, role: Role) -> Color32 {
        self.roles[match role {
            Role::Parameter => 0,
            Role::Constant => 1,
            Role::GraphInput => 2,
            Role::GraphOutput => 3,
            Role::Activation => 4,
            Role::Gradient => 5,
            Role::OptimizerState => 6,
            Role::Workspace => 7,
            Role::PreExisting => 8,
        }]
    }

    /// The fill of a slot counted from 0; hue repeats after eight.
    #[must_use]
    pub fn slot(&self, slot_idx: usize) -> Color32 {
        self.slots[slot_idx % self.slots.len()]
    }

    /// The colour at `t` of the size ramp, `t` from 0 (smallest) to 1 (largest).
    #[must_use]
    pub fn ramp(&self, t: f32) -> Color32 {
        let t = if t.is_nan() { 0.0 } else { t.clamp(0.0, 1.0) };
        let mut rest = t * 6.0;
        for pair in self.ramp.windows(2) {
            if rest <= 1.0 {
                return mix(pair[0], pair[1], rest);
            }
            rest -= 1.0;
        }
        self.ramp[6]
    }

    /// The colour of a buffer by size: log₂ of its bytes from 32 KiB to the largest buffer.
    #[must_use]
    pub fn size_colour(&self, bytes: u64, largest_bytes: u64) -> Color32 {
        self.ramp(size_position(bytes, largest_bytes))
    }

    /// Black or white, whichever contrasts more with `fill`.
    #[must_use]
    pub fn ink(&self, fill: Color32) -> Color32 {
        if contrast(Color32::BLACK, fill) >= contrast(Color32::WHITE, fill) { Color32::BLACK } else { Color32::WHITE }
    }

    /// The outline of a rectangle: its own colour towards black.
    #[must_use]
    pub fn outline(&self, fill: Color32) -> Color32 {
        mix(fill, Color32::BLACK, self.outline_mix)
    }

    /// A fill while something else is hovered: two thirds towards the chart ground.
    #[must_use]
    pub fn dim(&self, fill: Color32) -> Color32 {
        mix(fill, self.chart, 2.0 / 3.0)
    }

    /// A fill under the pointer: a quarter towards white.
    #[must_use]
    pub fn hovered(&self, fill: Color32) -> Color32 {
        mix(fill, Color32::WHITE, 0.25)
    }

    /// The ink of a hatch over `fill`: label ink at 45 %.
    #[must_use]
    pub fn hatch_ink(&self, fill: Color32) -> Color32 {
        mix(fill, self.ink(fill), 0.45)
    }

    /// The area under the curve of live bytes.
    #[must_use]
    pub fn live_area(&self) -> Color32 {
        alpha(self.live, 0.26)
    }

    /// The band over the steps of the peak, drawn under the data.
    #[must_use]
    pub fn peak_band(&self) -> Color32 {
        alpha(self.bound, 0.13)
    }

    /// The border of a badge: its colour 60 % over its ground.
    #[must_use]
    pub fn badge_border(&self, colour: Color32, ground: Color32) -> Color32 {
        mix(ground, colour, 0.6)
    }
}

/// The second channel of a role; drawn on rectangles of at least 24 × 14 points.
#[must_use]
pub fn role_pattern(role: Role) -> Pattern {
    match role {
        Role::Gradient => Pattern::Foot,
        Role::Workspace => Pattern::Hatch,
        Role::OptimizerState => Pattern::Dots,
        _ => Pattern::Plain,
    }
}

/// The pattern of a slot counted from 0: plain, then hatched, then cross hatched.
///
/// Beyond slot 24 colours and patterns repeat, and the number label carries the identity.
#[must_use]
pub fn slot_pattern(slot_idx: usize) -> Pattern {
    match (slot_idx / 8) % 3 {
        0 => Pattern::Plain,
        1 => Pattern::Hatch,
        _ => Pattern::Cross,
    }
}

/// Where a size stands on the ramp, from 0 to 1.
#[must_use]
pub fn size_position(bytes: u64, largest_bytes: u64) -> f32 {
    if bytes <= RAMP_FLOOR_BYTES {
        return 0.0;
    }
    if bytes >= largest_bytes {
        return 1.0;
    }
    let floor = log2(RAMP_FLOOR_BYTES);
    let t = (log2(bytes) - floor) / (log2(largest_bytes) - floor);
    narrow(t.clamp(0.0, 1.0))
}

/// Mixes `a` towards `b` by `t`, both opaque, in the space in which they are written.
#[must_use]
pub fn mix(a: Color32, b: Color32, t: f32) -> Color32 {
    a.lerp_to_gamma(b, t)
}

/// The same colour at an opacity from 0 to 1.
#[must_use]
pub fn alpha(colour: Color32, opacity: f32) -> Color32 {
    colour.gamma_multiply(opacity)
}

/// WCAG contrast of two opaque colours, from 1 to 21.
#[must_use]
pub fn contrast(a: Color32, b: Color32) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

fn luminance(colour: Color32) -> f64 {
    0.2126 * linear(colour.r()) + 0.7152 * linear(colour.g()) + 0.0722 * linear(colour.b())
}

/// One sRGB channel as linear light, from 0 to 1.
pub(super) fn linear(channel: u8) -> f64 {
    let c = f64::from(channel) / 255.0;
    if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
}

#[expect(clippy::cast_precision_loss, reason = "a logarithm for a colour needs few digits")]
fn log2(bytes: u64) -> f64 {
    (bytes as f64).log2()
}

#[expect(clippy::cast_possible_truncation, reason = "a share from 0 to 1 fits")]
fn narrow(share: f64) -> f32 {
    share as f32
}
