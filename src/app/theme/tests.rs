//! What the themes promise: contrast, distinguishable palettes, glyphs for every icon.

use arenascope_planner::graph::Role;
use egui::Color32;

use super::palette::linear;
use super::*;

fn grounds(t: &Tokens) -> [Color32; 5] {
    [t.bg0, t.bg1, t.bg2, t.bg3, t.chart]
}

fn fills(t: &Tokens) -> Vec<Color32> {
    let ramp = (0..=240_u16).map(|i| t.ramp(f32::from(i) / 240.0));
    t.roles.iter().chain(&t.slots).copied().chain(ramp).collect()
}

#[test]
fn every_text_token_is_readable_on_every_ground() {
    for kind in ThemeKind::ALL {
        let t = kind.tokens();
        let texts = [t.text, t.text2, t.text3, t.accent, t.ok, t.warn, t.err, t.info];
        for (idx, text) in texts.into_iter().enumerate() {
            for ground in grounds(t) {
                let ratio = contrast(text, ground);
                assert!(ratio >= 4.5, "{kind:?}: text token {idx} on {ground:?} has {ratio:.2}");
            }
        }
        assert!(contrast(t.accentink, t.accent) >= 4.5);
        assert!(contrast(t.text2, t.accentbg) >= 4.5);
        for (ink, badge) in [(t.ok, t.okbg), (t.warn, t.warnbg), (t.err, t.errbg)] {
            assert!(contrast(ink, badge) >= 4.5, "{kind:?}: {ink:?} on its badge");
        }
    }
}

#[test]
fn label_ink_is_readable_on_every_fill() {
    for kind in ThemeKind::ALL {
        let t = kind.tokens();
        for fill in fills(t) {
            for shown in [fill, t.hovered(fill)] {
                assert!(contrast(t.ink(shown), shown) >= 4.5, "{kind:?}: ink on {shown:?}");
            }
        }
    }
}

#[test]
fn every_rectangle_has_a_boundary() {
    for kind in ThemeKind::ALL {
        let t = kind.tokens();
        for fill in t.roles.iter().chain(&t.slots) {
            let edge = if kind == ThemeKind::Dark { *fill } else { t.outline(*fill) };
            assert!(contrast(edge, t.chart) >= 3.0, "{kind:?}: {fill:?}");
        }
    }
}

#[test]
fn the_size_ramp_is_monotone_in_lightness() {
    for kind in ThemeKind::ALL {
        let t = kind.tokens();
        for (idx, simulation) in SIMULATIONS.into_iter().enumerate() {
            let light = |colour| lab(simulated(colour, simulation))[0];
            let sign = if kind == ThemeKind::Dark { 1.0 } else { -1.0 };
            for pair in t.ramp.windows(2) {
                let rise = sign * (light(pair[1]) - light(pair[0]));
                assert!(rise > 0.0, "{kind:?}, simulation {idx}: {pair:?} rises by {rise:.2}");
            }
        }
    }
}

#[test]
fn sizes_map_to_the_ramp_by_their_logarithm() {
    assert!(size_position(0, 0) <= 0.0);
    assert!(size_position(RAMP_FLOOR_BYTES, 1 << 30) <= 0.0);
    assert!((size_position(1 << 30, 1 << 30) - 1.0).abs() < 1e-6);
    assert!((size_position(1 << 20, 1 << 25) - 0.5).abs() < 1e-6);
    let t = ThemeKind::Dark.tokens();
    assert_eq!(t.ramp(0.0), t.ramp[0]);
    assert_eq!(t.ramp(1.0), t.ramp[6]);
    assert_eq!(t.ramp(0.5), t.ramp[3]);
}

#[test]
fn roles_and_slots_stay_apart_for_colour_blind_people() {
    for kind in ThemeKind::ALL {
        let t = kind.tokens();
        for simulation in SIMULATIONS {
            let roles = smallest_difference(&t.roles, simulation);
            let slots = smallest_difference(&t.slots, simulation);
            assert!(roles >= 8.0, "{kind:?}: roles {roles:.1}");
            assert!(slots >= 10.0, "{kind:?}: slots {slots:.1}");
        }
    }
}

#[test]
fn colour_difference_agrees_with_published_pairs() {
    // Sharma, Wu and Dalal 2005 (doi 10.1002/col.20070), table 1, pairs 1, 7 and 17.
    for (a, b, expected) in [
        ([50.0, 2.6772, -79.7751], [50.0, 0.0, -82.7485], 2.0425),
        ([50.0, 0.0, 0.0], [50.0, -1.0, 2.0], 2.3669),
        ([50.0, 2.5, 0.0], [73.0, 25.0, -18.0], 27.1492),
    ] {
        assert!((ciede2000(a, b) - expected).abs() < 1e-3, "{}", ciede2000(a, b));
    }
}

#[test]
fn every_role_has_its_own_fill() {
    let t = ThemeKind::Dark.tokens();
    let mut seen: Vec<Color32> = Role::ALL.iter().map(|&role| t.role(role)).collect();
    seen.dedup();
    assert_eq!(seen.len(), Role::ALL.len());
    assert_eq!(slot_pattern(7), Pattern::Plain);
    assert_eq!(slot_pattern(8), Pattern::Hatch);
    assert_eq!(slot_pattern(16), Pattern::Cross);
}

#[test]
fn fonts_have_every_icon_and_every_sign() {
    let ctx = Context::default();
    install(&ctx, ThemeKind::Dark);
    let mut output = ctx.run_ui(egui::RawInput::default(), |_| {});
    output.textures_delta.clear();
    ctx.fonts_mut(|fonts| {
        for icon in ALL_ICONS {
            for size in [11.0, 15.0] {
                assert!(fonts.has_glyph(&icon_font(size), icon.glyph()), "{icon:?}");
            }
        }
        let signs = "→←↑↓−×≤≥≠≈·…–✓±µ²₂\u{2009}\u{202f}αβЖ⌘⇧▲▼●○“”";
        for weight in [Weight::Regular, Weight::Medium, Weight::SemiBold] {
            for sign in signs.chars().chain("简体中文内存计划。，".chars()) {
                assert!(fonts.has_glyph(&font(12.0, weight), sign), "{weight:?} lacks {sign}");
            }
            let width = |digit: char, fonts: &mut egui::epaint::text::FontsView<'_>| fonts.glyph_width(&font(12.0, weight), digit);
            let one = width('1', fonts);
            assert!(('0'..='9').all(|digit| (width(digit, fonts) - one).abs() < 1e-4), "tabular digits");
        }
    });
}

#[test]
fn a_context_remembers_its_theme() {
    let ctx = Context::default();
    assert_eq!(tokens(&ctx).kind, ThemeKind::Dark);
    for kind in ThemeKind::ALL {
        install(&ctx, kind);
        assert_eq!(tokens(&ctx).kind, kind);
        assert_eq!(ctx.global_style().visuals.panel_fill, kind.tokens().bg1);
    }
}

/// Normal vision, then Machado, Oliveira and Fernandes 2009 (doi 10.1109/TVCG.2009.113)
/// at severity 1 for protanopia, deuteranopia and tritanopia, on linear light.
const SIMULATIONS: [[[f64; 3]; 3]; 4] = [
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    [[0.152_286, 1.052_583, -0.204_868], [0.114_503, 0.786_281, 0.099_216], [-0.003_882, -0.048_116, 1.051_998]],
    [[0.367_322, 0.860_646, -0.227_968], [0.280_085, 0.672_501, 0.047_413], [-0.011_820, 0.042_940, 0.968_881]],
    [[1.255_528, -0.076_749, -0.178_779], [-0.078_411, 0.930_809, 0.147_602], [0.004_733, 0.691_367, 0.303_900]],
];

fn simulated(colour: Color32, matrix: [[f64; 3]; 3]) -> [f64; 3] {
    let rgb = [colour.r(), colour.g(), colour.b()].map(linear);
    matrix.map(|row| row.iter().zip(rgb).map(|(m, c)| m * c).sum::<f64>().clamp(0.0, 1.0))
}

/// CIE L*a*b* under D65 of linear RGB.
fn lab([r, g, b]: [f64; 3]) -> [f64; 3] {
    let f = |t: f64| if t > 0.008_856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
    let x = f((0.412_456 * r + 0.357_576 * g + 0.180_437 * b) / 0.950_47);
    let y = f(0.212_673 * r + 0.715_152 * g + 0.072_175 * b);
    let z = f((0.019_334 * r + 0.119_192 * g + 0.950_304 * b) / 1.088_83);
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

fn smallest_difference(set: &[Color32], matrix: [[f64; 3]; 3]) -> f64 {
    let labs: Vec<[f64; 3]> = set.iter().map(|&colour| lab(simulated(colour, matrix))).collect();
    let pairs = labs.iter().enumerate().flat_map(|(i, a)| labs[..i].iter().map(move |b| ciede2000(*a, *b)));
    pairs.fold(f64::INFINITY, f64::min)
}

fn ciede2000([l1, a1, b1]: [f64; 3], [l2, a2, b2]: [f64; 3]) -> f64 {
    let c_mean = f64::midpoint(a1.hypot(b1), a2.hypot(b2));
    let g = 0.5 * (1.0 - (c_mean.powi(7) / (c_mean.powi(7) + 25.0_f64.powi(7))).sqrt());
    let (a1, a2) = (a1 * (1.0 + g), a2 * (1.0 + g));
    let (c1, c2) = (a1.hypot(b1), a2.hypot(b2));
    let hue = |a: f64, b: f64| if a == 0.0 && b == 0.0 { 0.0 } else { b.atan2(a).to_degrees().rem_euclid(360.0) };
    let (h1, h2) = (hue(a1, b1), hue(a2, b2));
    let mut dh = h2 - h1;
    let mut h_mean = f64::midpoint(h1, h2);
    if c1 * c2 == 0.0 {
        dh = 0.0;
        h_mean = h1 + h2;
    } else if dh.abs() > 180.0 {
        dh -= 360.0 * dh.signum();
        h_mean += if h1 + h2 < 360.0 { 180.0 } else { -180.0 };
    }
    let dh = 2.0 * (c1 * c2).sqrt() * (dh.to_radians() / 2.0).sin();
    let (l_mean, c_mean) = (f64::midpoint(l1, l2), f64::midpoint(c1, c2));
    let cos = |degrees: f64| degrees.to_radians().cos();
    let t = 1.0 - 0.17 * cos(h_mean - 30.0) + 0.24 * cos(2.0 * h_mean) + 0.32 * cos(3.0 * h_mean + 6.0) - 0.20 * cos(4.0 * h_mean - 63.0);
    let s_l = 1.0 + 0.015 * (l_mean - 50.0).powi(2) / (20.0 + (l_mean - 50.0).powi(2)).sqrt();
    let (s_c, s_h) = (1.0 + 0.045 * c_mean, 1.0 + 0.015 * c_mean * t);
    let theta = 30.0 * (-((h_mean - 275.0) / 25.0).powi(2)).exp();
    let r_c = 2.0 * (c_mean.powi(7) / (c_mean.powi(7) + 25.0_f64.powi(7))).sqrt();
    let r_t = -r_c * (2.0 * theta).to_radians().sin();
    let (dl, dc, dh) = ((l2 - l1) / s_l, (c2 - c1) / s_c, dh / s_h);
    (dl * dl + dc * dc + dh * dh + r_t * dc * dh).sqrt()
}
