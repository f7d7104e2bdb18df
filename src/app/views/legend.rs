//! What the colours in the charts mean, drawn into a corner.

use egui::{Align2, CornerRadius, Mesh, Painter, Rect, Shape, Stroke, StrokeKind, pos2, vec2};

use crate::colours::N_OP_HUES;
use crate::ctx::ViewCtx;
use crate::draw::{hole, pattern};
use crate::state::ColourBy;
use crate::text;
use crate::theme::{RAMP_FLOOR_BYTES, radius, role_pattern};
use arenascope_planner::graph::Role;

/// Legends are left out below this height of a chart.
const HEIGHT_FROM: f32 = 120.0;
/// Most entries, so that the legend stays small.
const MAX_ENTRIES: usize = 6;

struct Entry {
    colour: egui::Color32,
    role: Option<Role>,
    text: String,
}

/// Draws the legend of the colouring in force into the right half of `plot`.
pub fn legend(ctx: &ViewCtx<'_>, painter: Painter, plot: Rect, is_before: bool) {
    if plot.height() < HEIGHT_FROM || plot.width() < 420.0 {
        return;
    }
    let entries = entries(ctx);
    let t = ctx.tokens;
    let galleys: Vec<_> = entries.iter().map(|entry| painter.layout_no_wrap(entry.text.clone(), t.tick(), t.text2)).collect();
    let is_ramp = ctx.colour_by == ColourBy::Size;
    let ramp_width = if is_ramp { 118.0 } else { 0.0 };
    let hole_width = if is_before { 0.0 } else { 62.0 };
    let width = 20.0 + ramp_width + galleys.iter().map(|galley| galley.size().x + 26.0).sum::<f32>() + hole_width + if is_ramp { 30.0 } else { 0.0 };
    let height = if is_ramp { 38.0 } else { 24.0 };
    let min = pos2(plot.right() - 8.0 - width, plot.top() + (plot.height() * 0.5).max(44.0) - height / 2.0);
    let rect = Rect::from_min_size(min, vec2(width, height));
    painter.rect(rect, CornerRadius::same(radius::CONTROL), t.bg2.gamma_multiply(0.92), Stroke::new(1.0, t.line), StrokeKind::Inside);
    let row = rect.top() + 12.0;
    let mut left = rect.left() + 10.0;
    if is_ramp {
        left = ramp(ctx, &painter, pos2(left, row));
    }
    for (entry, galley) in entries.iter().zip(galleys) {
        let swatch = Rect::from_center_size(pos2(left + 6.0, row), vec2(11.0, 11.0));
        let mut mesh = Mesh::default();
        mesh.add_colored_rect(swatch, entry.colour);
        if let Some(role) = entry.role {
            pattern(&mut mesh, t, swatch, entry.colour, role_pattern(role));
        }
        painter.add(Shape::mesh(mesh));
        let size = galley.size();
        painter.galley(pos2(left + 16.0, row - size.y / 2.0), galley, t.text2);
        left += size.x + 26.0;
    }
    if !is_before {
        let swatch = Rect::from_center_size(pos2(left + 10.0, row), vec2(18.0, 12.0));
        let mut mesh = Mesh::default();
        hole(&mut mesh, t, swatch);
        painter.add(Shape::mesh(mesh));
        painter.text(pos2(left + 25.0, row), Align2::LEFT_CENTER, "hole", t.tick(), t.text2);
    }
}

/// The size ramp with its two ends; returns where the next entry begins.
fn ramp(ctx: &ViewCtx<'_>, painter: &Painter, at: egui::Pos2) -> f32 {
    let t = ctx.tokens;
    painter.text(at, Align2::LEFT_CENTER, "size", t.tick(), t.text2);
    let bar = Rect::from_min_size(pos2(at.x + 30.0, at.y - 5.0), vec2(106.0, 11.0));
    let mut mesh = Mesh::default();
    let n = 48_u8;
    for index in 0..n {
        let (from, to) = (f32::from(index) / f32::from(n), f32::from(index + 1) / f32::from(n));
        let part = Rect::from_x_y_ranges(bar.left() + bar.width() * from..=bar.left() + bar.width() * to, bar.y_range());
        mesh.add_colored_rect(part, t.ramp((from + to) / 2.0));
    }
    painter.add(Shape::mesh(mesh));
    painter.text(pos2(bar.left(), bar.bottom() + 10.0), Align2::LEFT_CENTER, format!("≤{}", text::bytes(RAMP_FLOOR_BYTES)), t.tick(), t.text3);
    painter.text(pos2(bar.right(), bar.bottom() + 10.0), Align2::RIGHT_CENTER, text::bytes(ctx.planned.model.largest_bytes), t.tick(), t.text3);
    bar.right() + 16.0
}

fn entries(ctx: &ViewCtx<'_>) -> Vec<Entry> {
    let model = &ctx.planned.model;
    let t = ctx.tokens;
    match ctx.colour_by {
        ColourBy::Size => Vec::new(),
        ColourBy::Role => Role::ALL
            .into_iter()
            .filter(|role| model.roles_present.contains(role))
            .map(|role| Entry { colour: t.role(role), role: Some(role), text: role.name().to_owned() })
            .collect(),
        ColourBy::Slot => match ctx.planned.plan.n_slots() {
            Some(n) => (0..n.min(MAX_ENTRIES)).map(|slot| Entry { colour: t.slot(slot), role: None, text: format!("{slot}") }).collect(),
            None => vec![Entry { colour: t.slot(0), role: None, text: "neighbours differ; this plan has no slots".to_owned() }],
        },
        ColourBy::Op => {
            let shown = model.op_kinds.len().min(N_OP_HUES).min(MAX_ENTRIES);
            let mut entries: Vec<Entry> =
                (0..shown).map(|kind| Entry { colour: t.slot(kind), role: None, text: model.op_kinds[kind].clone() }).collect();
            if model.op_kinds.len() > N_OP_HUES {
                entries.push(Entry { colour: t.naive, role: None, text: format!("{} others", model.op_kinds.len() - N_OP_HUES) });
            }
            entries
        }
    }
}
