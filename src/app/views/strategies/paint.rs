//! Painting the strategies: a row each, all bars on one scale.

use egui::{Align2, Color32, FontId, Rect, RichText, Sense, Stroke, Ui, pos2, vec2};

use super::compare::{Comparison, Outcome, Row};
use crate::command::Command;
use crate::ctx::ViewCtx;
use crate::draw::{chosen_edge, paint_icon, row_ground};
use crate::small_picture;
use crate::text;
use crate::theme::{Icon, Tokens, space};

/// Arenas beyond this many times the bound run off the bar, with an arrow.
const LONGEST_BAR: f64 = 1.4;

/// Right edges of the number columns and left edges of the others, as parts of the width.
struct Columns {
    name: f32,
    arena: f32,
    gap: f32,
    slots: f32,
    time: f32,
    bar: [f32; 2],
    checks: f32,
    /// Left out where there is no room for it.
    picture: Option<[f32; 2]>,
}

/// Width from which there is room for the pictures, points.
const PICTURES_FROM: f32 = 760.0;

impl Columns {
    fn new(rect: Rect) -> Self {
        let at = |part: f32| rect.left() + rect.width() * part;
        if rect.width() < PICTURES_FROM {
            return Self {
                name: rect.left() + 12.0,
                arena: at(0.36),
                gap: at(0.45),
                slots: at(0.51),
                time: at(0.61),
                bar: [at(0.64), at(0.80)],
                checks: at(0.82),
                picture: None,
            };
        }
        Self {
            name: rect.left() + 12.0,
            arena: at(0.245),
            gap: at(0.31),
            slots: at(0.365),
            time: at(0.44),
            bar: [at(0.47), at(0.745)],
            checks: at(0.765),
            picture: Some([at(0.895), rect.right() - 12.0]),
        }
    }
}

/// Draws the headings and all rows.
pub(super) fn rows(ui: &mut Ui, ctx: &ViewCtx<'_>, comparison: &Comparison) {
    headings(ui, ctx.tokens);
    egui::ScrollArea::vertical().id_salt("strategies").auto_shrink(false).show(ui, |ui| {
        for row in &comparison.rows {
            row_ui(ui, ctx, row);
        }
    });
}

fn headings(ui: &mut Ui, t: &'static Tokens) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), space::TABLE_ROW), Sense::hover());
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 0.0, t.bg2);
    painter.hline(rect.x_range(), rect.bottom() - 0.5, Stroke::new(1.0, t.line));
    let columns = Columns::new(rect);
    let y = rect.center().y;
    let put = |x: f32, align: Align2, text: &str| {
        painter.text(pos2(x, y), align, text, t.body(), t.text3);
    };
    put(columns.name, Align2::LEFT_CENTER, "Strategy");
    put(columns.arena, Align2::RIGHT_CENTER, "Arena");
    put(columns.gap, Align2::RIGHT_CENTER, "Gap");
    put(columns.slots, Align2::RIGHT_CENTER, "Slots");
    put(columns.time, Align2::RIGHT_CENTER, "Time");
    put(columns.bar[0], Align2::LEFT_CENTER, "Against the bound");
    put(columns.checks, Align2::LEFT_CENTER, "Checks");
    if let Some([left, _]) = columns.picture {
        put(left, Align2::LEFT_CENTER, "Arena picture");
    }
}

fn row_ui(ui: &mut Ui, ctx: &ViewCtx<'_>, row: &Row) {
    let t = ctx.tokens;
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), space::TABLE_ROW), Sense::click());
    let is_shown = ctx.planned.plan.strategy == row.name;
    let painter = ui.painter_at(rect);
    row_ground(&painter, t, rect, is_shown, response.hovered());
    if is_shown {
        chosen_edge(&painter, t, rect);
    }
    let columns = Columns::new(rect);
    let at = |x: f32| pos2(x, rect.center().y);
    let name = painter.text(at(columns.name), Align2::LEFT_CENTER, row.name, if is_shown { t.body_strong() } else { t.body() }, t.text);
    if is_shown && ctx.options.strategy == "auto" {
        painter.text(pos2(name.right() + 8.0, rect.center().y), Align2::LEFT_CENTER, "auto", t.tick(), t.accent);
    }
    match &row.outcome {
        Outcome::None(why) => {
            painter.text(at(columns.arena), Align2::RIGHT_CENTER, text::NONE, t.body(), t.text3);
            let quiet = if is_shown { t.text2 } else { t.text3 };
            painter.with_clip_rect(rect.with_min_x(columns.bar[0])).text(at(columns.bar[0]), Align2::LEFT_CENTER, why, t.body(), quiet);
        }
        Outcome::Plan { .. } => plan_cells(ui, ctx, rect, &columns, &row.outcome, is_shown),
    }
    let label = format!("strategy {}", row.name);
    response.widget_info(|| egui::WidgetInfo::selected(egui::Role::Row, true, is_shown, &label));
    if response.clicked() {
        ctx.send(Command::SetStrategy(row.name.to_owned()));
    }
    if let Some(strategy) = arenascope_planner::solve::find_strategy(row.name) {
        response.on_hover_ui(|ui| {
            ui.set_max_width(420.0);
            ui.label(RichText::new(strategy.summary).font(t.body()));
            ui.label(RichText::new(strategy.source).font(t.tick()).color(t.text3));
        });
    }
}

fn plan_cells(ui: &Ui, ctx: &ViewCtx<'_>, rect: Rect, columns: &Columns, outcome: &Outcome, is_shown: bool) {
    let Outcome::Plan { summary, is_valid, n_overlaps, seconds, parts, .. } = outcome else { return };
    let t = ctx.tokens;
    let painter = ui.painter_at(rect);
    let quiet = if is_shown { t.text2 } else { t.text3 };
    let put = |x: f32, text: String, font: FontId, colour: Color32| {
        painter.text(pos2(x, rect.center().y), Align2::RIGHT_CENTER, text, font, colour);
    };
    put(columns.arena, text::bytes(summary.arena_bytes), t.body_strong(), t.text);
    let gap = match summary.gap {
        gap if gap < 0.0 => t.err,
        gap if gap <= 0.0 => t.ok,
        gap if gap <= 0.05 => t.text,
        _ => t.warn,
    };
    put(columns.gap, text::gap(summary.arena_bytes, summary.lower_bound_bytes), t.body(), gap);
    put(columns.slots, summary.slots.map_or_else(|| text::NONE.to_owned(), text::count), t.body(), t.text2);
    put(columns.time, text::time(*seconds), t.body(), t.text2);
    bar(ui, t, rect, columns.bar, summary.arena_bytes, summary.lower_bound_bytes);
    let (icon, colour, words) = if *n_overlaps > 0 {
        (Icon::WARNING_CIRCLE, t.err, text::counted(*n_overlaps, "overlap", "overlaps"))
    } else if !is_valid {
        (Icon::WARNING_CIRCLE, t.err, "not valid".to_owned())
    } else if summary.proved_optimal {
        (Icon::CHECK, t.ok, "valid, optimal".to_owned())
    } else {
        (Icon::CHECK, t.ok, "valid".to_owned())
    };
    paint_icon(&painter, pos2(columns.checks + 6.0, rect.center().y), icon, 12.0, colour);
    painter.text(pos2(columns.checks + 18.0, rect.center().y), Align2::LEFT_CENTER, words, t.body(), if *is_valid { quiet } else { t.err });
    if let Some([left, right]) = columns.picture {
        let frame = Rect::from_x_y_ranges(left..=right, rect.top() + 2.0..=rect.bottom() - 2.0);
        small_picture::paint(&painter.with_clip_rect(frame), t, frame, parts, 1.0);
    }
}

/// The bound in blue, what lies above it in yellow, the bound itself as a line; one scale for all rows.
fn bar(ui: &Ui, t: &Tokens, rect: Rect, [left, right]: [f32; 2], arena: u64, bound: u64) {
    let painter = ui.painter_at(rect);
    let frame = Rect::from_x_y_ranges(left..=right, rect.center().y - 6.5..=rect.center().y + 6.5);
    let per_bound = f64::from(frame.width()) / LONGEST_BAR;
    let bound_value = crate::views::chart::step_value(bound.max(1));
    let ratio = crate::views::chart::step_value(arena) / bound_value;
    #[expect(clippy::cast_possible_truncation, reason = "a width on the screen")]
    let x = |ratio: f64| frame.left() + (ratio.min(LONGEST_BAR) * per_bound) as f32;
    painter.rect_filled(frame, 0.0, t.bg3);
    painter.rect_filled(frame.with_max_x(x(ratio.min(1.0))), 0.0, t.live.gamma_multiply(0.75));
    if ratio > 1.0 {
        painter.rect_filled(Rect::from_x_y_ranges(x(1.0)..=x(ratio), frame.y_range()), 0.0, t.warn);
    }
    painter.vline(x(1.0), frame.top() - 2.0..=frame.bottom() + 2.0, Stroke::new(2.0, t.bound));
    if ratio > LONGEST_BAR {
        let text = format!("×{ratio:.1}");
        let ink = t.ink(t.warn);
        painter.text(pos2(frame.right() - 4.0, frame.center().y), Align2::RIGHT_CENTER, text, t.tick_strong(), ink);
    }
}
