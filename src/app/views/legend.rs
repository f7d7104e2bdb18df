//! What the colours in the charts mean, in the header where it can hide nothing.

use egui::{Align2, Mesh, Painter, Pos2, Rect, Sense, Shape, Ui, pos2, vec2};

use crate::colours::{N_OP_HUES, move_fill, move_pattern};
use crate::ctx::ViewCtx;
use crate::draw::{could_be_lower, hole, pattern};
use crate::state::ColourBy;
use crate::text;
use crate::theme::{Pattern, RAMP_FLOOR_BYTES, role_pattern};
use crate::views::strategies::Move;

/// Most entries, so that the legend stays small.
const MAX_ENTRIES: usize = 6;
/// Width of the size ramp, in points.
const RAMP: f32 = 96.0;

struct Entry {
    colour: egui::Color32,
    pattern: Pattern,
    text: String,
}

impl Entry {
    fn plain(colour: egui::Color32, text: String) -> Self {
        Self { colour, pattern: Pattern::Plain, text }
    }
}

/// Draws the legend of the colouring in force, if there is room; added from right to left.
pub fn legend_ui(ui: &mut Ui, ctx: &ViewCtx<'_>) {
    let t = ctx.tokens;
    let painter = ui.painter().clone();
    let text_of = |text: String| painter.layout_no_wrap(text, t.tick(), t.text2);
    let entries = entries(ctx);
    let galleys: Vec<_> = entries.iter().map(|entry| text_of(entry.text.clone())).collect();
    let ends = (ctx.colour_by == ColourBy::Size)
        .then(|| (text_of(format!("≤{}", text::bytes(RAMP_FLOOR_BYTES))), text_of(text::bytes(ctx.planned.model.largest_bytes))));
    let ramp = ends.as_ref().map_or(0.0, |(low, high)| low.size().x + high.size().x + RAMP + 30.0);
    let shows_lanes = ctx.slot_lanes && ctx.planned.plan.slots.is_some();
    let shows_holes = !(ctx.show_before || shows_lanes);
    let holes = if shows_holes { 58.0 } else { 0.0 };
    let lower = n_lower(ctx).filter(|&n| n > 0 && !shows_lanes).map(|n| text_of(format!("{} could be lower", text::count(n))));
    let lower_width = lower.as_ref().map_or(0.0, |galley| galley.size().x + 36.0);
    let width = ramp + galleys.iter().map(|galley| galley.size().x + 28.0).sum::<f32>() + lower_width + holes;
    // The facts at the left keep at least this much room.
    if ui.available_width() < width + 260.0 {
        return;
    }
    let (rect, _) = ui.allocate_exact_size(vec2(width, 18.0), Sense::hover());
    let row = rect.center().y;
    let mut left = rect.left();
    let mut put = |galley: std::sync::Arc<egui::Galley>, gap: f32| {
        let size = galley.size();
        painter.galley(pos2(left, row - size.y / 2.0), galley, t.text2);
        left += size.x + gap;
        left
    };
    if let Some((low, high)) = ends {
        let bar = put(low, RAMP + 12.0) - RAMP - 6.0;
        paint_ramp(&painter, ctx, pos2(bar, row));
        put(high, 18.0);
    }
    for (entry, galley) in entries.iter().zip(galleys) {
        let at = put(text_of(String::new()), 16.0) - 10.0;
        swatch(&painter, ctx, pos2(at, row), entry);
        put(galley, 12.0);
    }
    if let Some(galley) = lower {
        let at = put(text_of(String::new()), 24.0) - 14.0;
        could_be_lower(&painter, t, Rect::from_center_size(pos2(at, row), vec2(18.0, 14.0)));
        put(galley, 12.0);
    }
    if shows_holes {
        let sample = Rect::from_center_size(pos2(rect.right() - 46.0, row), vec2(18.0, 12.0));
        let mut mesh = Mesh::default();
        hole(&mut mesh, t, sample);
        painter.add(Shape::mesh(mesh));
        painter.text(pos2(rect.right() - 32.0, row), Align2::LEFT_CENTER, "hole", t.tick(), t.text2);
    }
}

/// How many buffers of the picture could be lower; `None` while that is not known, or where it means nothing.
fn n_lower(ctx: &ViewCtx<'_>) -> Option<u64> {
    let insight = ctx.planned.insight()?;
    let lower = if ctx.show_before { insight.before.as_ref() } else { Some(&insight.lower) };
    lower.map(|lower| lower.n)
}

fn swatch(painter: &Painter, ctx: &ViewCtx<'_>, at: Pos2, entry: &Entry) {
    let rect = Rect::from_center_size(at, vec2(11.0, 11.0));
    let mut mesh = Mesh::default();
    mesh.add_colored_rect(rect, entry.colour);
    pattern(&mut mesh, ctx.tokens, rect, entry.colour, entry.pattern);
    painter.add(Shape::mesh(mesh));
}

/// The size ramp with its left centre at `at`.
fn paint_ramp(painter: &Painter, ctx: &ViewCtx<'_>, at: Pos2) {
    let mut mesh = Mesh::default();
    let n = 48_u8;
    for index in 0..n {
        let (from, to) = (f32::from(index) / f32::from(n), f32::from(index + 1) / f32::from(n));
        let part = Rect::from_x_y_ranges(at.x + RAMP * from..=at.x + RAMP * to, at.y - 5.0..=at.y + 5.0);
        mesh.add_colored_rect(part, ctx.tokens.ramp(f32::midpoint(from, to)));
    }
    painter.add(Shape::mesh(mesh));
}

fn entries(ctx: &ViewCtx<'_>) -> Vec<Entry> {
    let model = &ctx.planned.model;
    let t = ctx.tokens;
    match ctx.colour_by {
        ColourBy::Size => Vec::new(),
        ColourBy::Difference => {
            let moves = Move::ALL.into_iter().filter(|&moved| ctx.difference.is_some_and(|difference| difference.n_moved(moved) > 0));
            moves.map(|moved| Entry { colour: move_fill(t, moved), pattern: move_pattern(moved), text: moved.name().to_owned() }).collect()
        }
        ColourBy::Role => model
            .roles_present
            .iter()
            .map(|&role| Entry { colour: t.role(role), pattern: role_pattern(role), text: role.name().to_owned() })
            .collect(),
        ColourBy::Slot => match ctx.planned.plan.n_slots() {
            Some(n) => {
                let mut entries: Vec<Entry> = (0..n.min(MAX_ENTRIES)).map(|slot| Entry::plain(t.slot(slot), format!("slot {slot}"))).collect();
                if n > MAX_ENTRIES {
                    entries.push(Entry::plain(t.naive, format!("and {} more", n - MAX_ENTRIES)));
                }
                entries
            }
            None => vec![Entry::plain(t.slot(0), "no slots in this plan: hues only tell neighbours apart".to_owned())],
        },
        ColourBy::Op => {
            let shown = model.op_kinds.len().min(N_OP_HUES).min(MAX_ENTRIES);
            let mut entries: Vec<Entry> = (0..shown).map(|kind| Entry::plain(t.slot(kind), model.op_kinds[kind].clone())).collect();
            if model.op_kinds.len() > shown {
                entries.push(Entry::plain(t.naive, format!("and {} more", model.op_kinds.len() - shown)));
            }
            entries
        }
    }
}
