//! The state sheet: every mark of this module in one picture per theme, to be looked at.

use arenascope_planner::graph::Role;
use egui::{Align, Align2, CornerRadius, Layout, Mesh, Painter, Pos2, Rect, Shape, Stroke, StrokeKind, Ui, UiBuilder, Vec2, pos2, vec2};
use egui_kittest::{Harness, kittest::Queryable as _};

use super::*;
use crate::cpu_renderer::write_png;
use crate::testing::CpuTestRenderer;
use crate::text;
use crate::theme::{Icon, ThemeKind, Tokens, alpha, install, role_pattern, slot_pattern, stroke, tokens};

const SIZE: Vec2 = vec2(1440.0, 900.0);

fn card(ui: &Ui, t: &Tokens, rect: Rect, title: &str, hint: &str) {
    let line = Stroke::new(stroke::HAIR, t.line);
    ui.painter().rect(rect, CornerRadius::same(6), t.bg1, line, StrokeKind::Inside);
    let at = rect.min + vec2(12.0, 16.0);
    let name = ui.painter().text(at, Align2::LEFT_CENTER, title, t.body_strong(), t.text);
    ui.painter().text(name.right_center() + vec2(8.0, 0.0), Align2::LEFT_CENTER, hint, t.body(), t.text3);
}

fn fill(painter: &Painter, t: &Tokens, rect: Rect, colour: egui::Color32) -> Rect {
    let mut batch = RectBatch::new(painter, t, Detail::Full);
    let rect = batch.add(rect, colour);
    batch.paint(painter);
    rect
}

fn states(ui: &Ui, t: &Tokens, card_rect: Rect) {
    let painter = ui.painter();
    let colour = t.slot(0);
    let names = [
        "rest",
        "hovered",
        "selected",
        "related",
        "dimmed",
        "violation",
        "hole",
        "pinned",
        "could be lower",
        "ghost (before)",
        "search hit",
        "focused",
    ];
    let step = (card_rect.width() - 24.0) / 12.0;
    let mut x = card_rect.left() + 18.0;
    for (idx, name) in names.into_iter().enumerate() {
        let rect = Rect::from_min_size(pos2(x, card_rect.top() + 34.0), vec2(90.0, 44.0));
        x += step;
        painter.text(rect.center_bottom() + vec2(0.0, 20.0), Align2::CENTER_CENTER, name, t.body(), t.text2);
        let upper = Rect::from_min_size(rect.min + vec2(28.0, 0.0), vec2(62.0, 30.0));
        let lower = Rect::from_min_size(rect.min + vec2(0.0, 10.0), vec2(64.0, 34.0));
        match idx {
            4 => drop(fill(painter, t, rect, t.dim(colour))),
            5 => {
                fill(painter, t, upper, t.slot(4));
                fill(painter, t, lower, colour);
                violation(painter, t, upper.intersect(lower), true);
            }
            6 => {
                let mut mesh = Mesh::default();
                hole(&mut mesh, t, rect);
                painter.add(Shape::mesh(mesh));
            }
            9 => ghost(painter, t, rect, colour),
            1 => drop(fill(painter, t, rect, t.hovered(colour))),
            _ => drop(fill(painter, t, rect, colour)),
        }
        match idx {
            1 => outline(painter, t, rect, Outline::Hovered),
            2 => outline(painter, t, rect, Outline::Selected),
            3 => outline(painter, t, rect, Outline::Related),
            7 => pinned(painter, t, rect, colour),
            8 => could_be_lower(painter, t, rect),
            10 => {
                outline(painter, t, rect, Outline::SearchHit);
                search_tag(painter, t, rect, "3 of 41");
            }
            11 => outline(painter, t, rect, Outline::Focused),
            _ => {}
        }
    }
}

fn chart(ui: &Ui, t: &Tokens, rect: Rect) {
    let painter = ui.painter().with_clip_rect(rect);
    painter.rect_filled(rect, CornerRadius::ZERO, t.chart);
    let mut mesh = Mesh::default();
    hole(&mut mesh, t, Rect::from_min_max(rect.left_top() + vec2(60.0, 90.0), rect.left_top() + vec2(110.0, 170.0)));
    painter.add(Shape::mesh(mesh));
    let mut batch = RectBatch::new(&painter, t, Detail::Full);
    for (i, bytes) in [32_u64, 64, 180, 400, 900, 2000, 4700].into_iter().enumerate() {
        let left = rect.left() + 60.0 * f32::from(u8::try_from(i).unwrap_or(0)) + 6.3;
        let height = 12.0 + 22.0 * f32::from(u8::try_from(i).unwrap_or(0));
        let colour = t.size_colour(bytes << 10, 4700 << 10);
        let at = batch.add(Rect::from_min_max(pos2(left, rect.bottom() - height), pos2(left + 54.4, rect.bottom() - 2.0)), colour);
        let n = at.min + vec2(4.0, 8.0);
        if height > 14.0 {
            painter.text(n, Align2::LEFT_CENTER, format!("#{i}"), t.tick_strong(), t.ink(colour));
        }
    }
    batch.paint(&painter);
    let y = rect.top() + 18.0;
    dashed_line(&painter, [pos2(rect.left(), y), pos2(rect.right(), y)], stroke::CURVE, t.bound, stroke::DASH_BOUND);
    tag(&painter, t, pos2(rect.right() - 4.0, y), Align2::RIGHT_CENTER, t.bound, "arena 5.74 MiB = lower bound, forced at step 7");
    let target = rect.left_top() + vec2(120.0, 70.0);
    callout(
        &painter,
        t,
        target,
        (target + vec2(14.0, -8.0), Align2::LEFT_CENTER),
        Some(Icon::ARROW_DOWN),
        "blocked below 4.59 MiB by #3 until step 8",
    );
    text_backed(&painter, t, rect.left_top() + vec2(6.0, 100.0), Align2::LEFT_CENTER, &text::bytes(6 << 20), t.text3);
}

fn memory(ui: &Ui, t: &Tokens, rect: Rect) {
    let painter = ui.painter().with_clip_rect(rect);
    painter.rect_filled(rect, CornerRadius::ZERO, t.chart);
    let xs: Vec<f32> = (0..12_u8).map(|i| rect.left() + 36.0 * f32::from(i)).collect();
    let ys: Vec<f32> = [80.0, 70.0, 30.0, 45.0, 20.0, 60.0, 75.0, 50.0, 66.0, 72.0, 40.0].map(|y| rect.top() + y).to_vec();
    let mut area = RectBatch::new(&painter, t, Detail::Plain);
    for (pair, y) in xs.windows(2).zip(&ys) {
        area.add(Rect::from_min_max(pos2(pair[0], *y), pos2(pair[1], rect.bottom())), t.live_area());
    }
    area.paint(&painter);
    polyline(&painter, steps(Pixels::of(&painter), &xs, &ys), stroke::CURVE, t.live);
    over_capacity(&painter, t, Rect::from_min_max(rect.min, pos2(rect.right(), rect.top() + 12.0)));
    painter.hline(rect.x_range(), rect.top() + 12.0, Stroke::new(stroke::STRONG, t.capacity));
    tag(&painter, t, pos2(rect.center().x, rect.bottom() - 14.0), Align2::CENTER_CENTER, t.live, "live bytes");
}

fn palettes(ui: &Ui, t: &Tokens, rect: Rect) {
    let painter = ui.painter();
    let swatch = |at: Pos2, size: Vec2, colour, kind| {
        let at = fill(painter, t, Rect::from_min_size(at, size), colour);
        let mut mesh = Mesh::default();
        pattern(&mut mesh, t, at.shrink(1.0), colour, kind);
        painter.add(Shape::mesh(mesh));
    };
    for (idx, role) in Role::ALL.into_iter().enumerate() {
        let n = f32::from(u8::try_from(idx).unwrap_or(0));
        let at = rect.min + vec2(16.0 + 220.0 * (n / 5.0).floor(), 36.0 + 46.0 * (n % 5.0));
        swatch(at, Vec2::splat(40.0), t.role(role), role_pattern(role));
        painter.text(at + vec2(54.0, 20.0), Align2::LEFT_CENTER, role.name(), t.body_medium(), t.text);
    }
    for slot in 0..24_usize {
        let n = f32::from(u8::try_from(slot).unwrap_or(0));
        let at = rect.min + vec2(470.0 + 56.0 * (n % 8.0), 36.0 + 40.0 * (n / 8.0).floor());
        swatch(at, vec2(50.0, 32.0), t.slot(slot), slot_pattern(slot));
        let ink = t.ink(t.slot(slot));
        painter.text(at + vec2(6.0, 9.0), Align2::LEFT_CENTER, slot + 1, t.tick_strong(), ink);
    }
    let mut ramp = RectBatch::new(painter, t, Detail::Plain);
    for i in 0..110_u8 {
        let left = rect.left() + 470.0 + 4.0 * f32::from(i);
        ramp.add(Rect::from_min_size(pos2(left, rect.top() + 170.0), vec2(4.0, 16.0)), t.ramp(f32::from(i) / 109.0));
    }
    ramp.paint(painter);
    let scale = rect.min + vec2(470.0, 206.0);
    let words = "60,400 B · 1 × 96 × 56 × 56 · −39.6 % · [7, 10) · → ≤ 32 KiB · 简体中文 内存计划";
    painter.text(scale, Align2::LEFT_CENTER, words, t.body(), t.text2);
    painter.text(scale + vec2(0.0, 22.0), Align2::LEFT_CENTER, "0x00498000 /features/con…1/Conv", t.mono(), t.text2);
    painter.text(scale + vec2(0.0, 52.0), Align2::LEFT_CENTER, "Arenascope 1.17 GiB", t.number(), t.text);
}

fn controls(ui: &mut Ui, t: &Tokens, rect: Rect, mode: &mut usize) {
    let area = Rect::from_min_max(rect.min + vec2(12.0, 32.0), rect.max - vec2(8.0, 8.0));
    ui.scope_builder(UiBuilder::new().max_rect(area).layout(Layout::top_down(Align::Min)), |ui| {
        ui.horizontal_wrapped(|ui| {
            badge(ui, t, Tone::Ok, Icon::SEAL_CHECK, "Valid, proved optimal");
            badge(ui, t, Tone::Warn, Icon::WARNING, "Not checked");
            badge(ui, t, Tone::Err, Icon::WARNING_CIRCLE, "2 overlaps");
            badge(ui, t, Tone::Err, Icon::WARNING_CIRCLE, "Over capacity by 173 MiB");
            pill(ui, t, t.role(Role::Activation), "activation");
        });
        ui.horizontal(|ui| {
            let options = [(0, "Explore"), (1, "Compare"), (2, "Run"), (3, "Teach")];
            segmented(ui, t, mode, &options, 26.0);
            segmented(ui, t, &mut 1, &[(0, "Before"), (1, "After")], 21.0);
        });
        ui.horizontal(|ui| {
            tool_button(ui, t, Icon::ARROW_COUNTER_CLOCKWISE, "Undo");
            tool_button(ui, t, Icon::ARROW_CLOCKWISE, "Redo");
            button(ui, t, Some(Icon::EXPORT), "Export");
            primary_button(ui, t, Some(Icon::FOLDER_OPEN), "Open a file");
            small_button(ui, t, None, "Fit");
            keycap(ui, t, "Ctrl P");
        });
        ui.horizontal(|ui| {
            icon_button(ui, t, Icon::QUESTION, "Help");
            icon_button(ui, t, Icon::ARROWS_OUT_SIMPLE, "Maximise");
            icon_toggle(ui, t, Icon::EYE, "Show holes", true);
            ui.add_enabled_ui(false, |ui| button(ui, t, None, "Disabled"));
            ui.add_enabled_ui(false, |ui| segmented(ui, t, &mut 0, &[(0, "Off"), (1, "On")], 26.0));
        });
        ui.horizontal(|ui| {
            let _ = ui.button("stock button");
            ui.checkbox(&mut true, "checkbox");
            let _ = ui.link("step 7 Conv");
            ui.add(egui::TextEdit::singleline(&mut String::from("stock field")).desired_width(90.0))
                .widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "stock field"));
        });
    });
}

fn sheet(ui: &mut Ui, mode: &mut usize) {
    let t = tokens(ui.ctx());
    ui.painter().rect_filled(ui.ctx().content_rect(), CornerRadius::ZERO, t.bg0);
    ui.painter().text(pos2(20.0, 24.0), Align2::LEFT_CENTER, "States and palettes", t.number(), t.text);
    let at = |x: f32, y: f32, w: f32, h: f32| Rect::from_min_size(pos2(x, y), vec2(w, h));
    let row = at(20.0, 44.0, 1400.0, 118.0);
    card(ui, t, row, "Rectangle states", "fill stays the data colour; state is an outline, dimming or hatch");
    states(ui, t, row);
    card(ui, t, at(20.0, 176.0, 460.0, 246.0), "Arena", "outline from 4 px");
    chart(ui, t, at(28.0, 206.0, 444.0, 208.0));
    card(ui, t, at(490.0, 176.0, 460.0, 246.0), "Memory", "live bytes over capacity");
    memory(ui, t, at(498.0, 206.0, 444.0, 208.0));
    let last = at(960.0, 176.0, 460.0, 246.0);
    card(ui, t, last, "Controls", "");
    controls(ui, t, last, mode);
    let cell = |x: f32| at(x, 466.0, 326.0, 108.0);
    for (x, title) in [(20.0, "Empty"), (372.0, "Loading"), (724.0, "Failed"), (1076.0, "No match")] {
        card(ui, t, at(x, 436.0, 344.0, 148.0), title, "");
        ui.painter().rect_filled(cell(x + 9.0), CornerRadius::ZERO, t.chart);
    }
    notice(ui, t, cell(29.0), &Notice::empty(Icon::STACK, "No plan for this file yet", &[Action::primary("Plan it")]));
    fill(ui.painter(), t, at(400.0, 480.0, 60.0, 94.0), alpha(t.dim(t.slot(1)), 1.0));
    progress_card(ui, t, cell(381.0), "Searching for a smaller arena", "gap 2.1 % · 4.2 s", Some(0.6));
    let retry = [Action::new("Copy details").with_icon(Icon::COPY), Action::new("Try again")];
    let detail = "line 14: size 18,446,744 is larger than the arena";
    notice(ui, t, cell(733.0), &Notice::failed("This plan could not be checked", detail, &retry));
    notice(ui, t, cell(1085.0), &Notice::no_match("No buffer matches “>16MiB”", &[Action::new("Clear the filter")]));
    let row = at(20.0, 598.0, 1400.0, 284.0);
    card(ui, t, row, "Roles, slots, size", "second channels, label ink");
    palettes(ui, t, row);
}

fn harness(kind: ThemeKind, per_point: f32) -> Harness<'static, usize> {
    Harness::builder().with_size(SIZE).with_pixels_per_point(per_point).renderer(CpuTestRenderer::default()).build_ui_state(
        move |ui, mode| {
            // Fonts set in a pass come with the next one.
            if crate::theme::is_installed(ui.ctx()) {
                sheet(ui, mode);
            } else {
                install(ui.ctx(), kind);
                ui.ctx().request_repaint();
            }
        },
        0,
    )
}

#[test]
fn every_theme_draws_the_sheet() {
    for (kind, name) in [(ThemeKind::Dark, "dark"), (ThemeKind::Light, "light"), (ThemeKind::Projector, "projector")] {
        let mut harness = harness(kind, 1.0);
        harness.run_steps(3);
        let picture = harness.render().expect("a picture");
        assert_eq!(picture.dimensions(), (1440, 900));
        let has = |colour: egui::Color32| picture.pixels().any(|pixel| pixel.0 == colour.to_array());
        let t = kind.tokens();
        for colour in [t.select, t.accent, t.err, t.warn, t.ok, t.bound, t.slot(0), t.bg0, t.chart] {
            assert!(has(colour), "{name} lacks {colour:?}");
        }
        save(&picture, &format!("state-sheet-{name}.png"));
    }
}

#[test]
fn the_sheet_is_sharp_at_fractional_scales() {
    let mut harness = harness(ThemeKind::Dark, 1.5);
    harness.run_steps(3);
    let picture = harness.render().expect("a picture");
    assert_eq!(picture.dimensions(), (2160, 1350));
    save(&picture, "state-sheet-dark-1.5x.png");
}

#[test]
fn controls_have_names_and_answer() {
    let mut harness = harness(ThemeKind::Dark, 1.0);
    harness.run_steps(3);
    for name in ["Undo", "Export", "Help", "Plan it", "Copy details", "Cancel", "Clear the filter"] {
        harness.get_by_label(name);
    }
    harness.get_by_label("Compare").click();
    harness.run_steps(2);
    assert_eq!(*harness.state(), 1);
}

/// Keeps a picture in the build folder, to be looked at.
fn save(picture: &image::RgbaImage, name: &str) {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    if folder.is_dir() {
        let size = [picture.width(), picture.height()].map(|side| usize::try_from(side).expect("small"));
        let image = egui::ColorImage::from_rgba_unmultiplied(size, picture.as_raw());
        write_png(&folder.join(name), &image).expect("written");
    }
}
