//! The colour of every buffer under the colouring in force, computed when the plan, colouring or theme changes.

use arenascope_planner::ids::BufferId;
use egui::Color32;

use std::sync::Arc;

use arenascope_planner::graph::Role;

use crate::session::Planned;
use crate::state::ColourBy;
use crate::theme::{Pattern, ThemeKind, Tokens, mix, role_pattern, slot_pattern};
use crate::views::strategies::{Difference, Move};

/// How many op types have a hue of their own; the others are grey.
pub const N_OP_HUES: usize = 8;

/// Colours and patterns by buffer.
#[derive(Debug, Default)]
pub struct Colours {
    fills: Vec<Color32>,
    patterns: Vec<Pattern>,
    key: Option<(usize, usize, ColourBy, ThemeKind)>,
}

impl Colours {
    /// Recomputes the colours if what they depend on changed. Time O(n) then, else O(1).
    pub fn update(&mut self, planned: &Arc<Planned>, difference: Option<&Arc<Difference>>, by: ColourBy, tokens: &Tokens) {
        let key = Some((Arc::as_ptr(planned).addr(), difference.map_or(0, |difference| Arc::as_ptr(difference).addr()), by, tokens.kind));
        if self.key == key {
            return;
        }
        self.key = key;
        let problem = &planned.prepared.problem;
        if let (ColourBy::Difference, Some(difference)) = (by, difference) {
            self.fills = problem.ids().map(|id| move_fill(tokens, difference.move_of(id))).collect();
            self.patterns = problem.ids().map(|id| move_pattern(difference.move_of(id))).collect();
            return;
        }
        self.fills = problem.ids().map(|id| fill(planned, by, tokens, id)).collect();
        self.patterns = problem.ids().map(|id| pattern(planned, by, id)).collect();
    }

    /// The fill of a buffer at rest.
    #[must_use]
    pub fn of(&self, buffer: BufferId) -> Color32 {
        self.fills.get(buffer.index()).copied().unwrap_or_default()
    }

    /// The second channel of a buffer.
    #[must_use]
    pub fn pattern(&self, buffer: BufferId) -> Pattern {
        self.patterns.get(buffer.index()).copied().unwrap_or(Pattern::Plain)
    }
}

/// The hue of a buffer without a slot: neighbours in space differ, so it counts by order of offset.
fn slot_index(planned: &Planned, id: BufferId) -> usize {
    planned.plan.slot(id).map_or_else(|| planned.model.row(crate::model::RowOrder::Slot, id) as usize % 8, |slot| slot.index())
}

fn fill(planned: &Planned, by: ColourBy, tokens: &Tokens, id: BufferId) -> Color32 {
    match by {
        ColourBy::Role => tokens.role(planned.model.roles[id.index()]),
        ColourBy::Size | ColourBy::Difference => tokens.size_colour(planned.prepared.problem.buffer(id).bytes, planned.model.largest_bytes),
        ColourBy::Slot => tokens.slot(slot_index(planned, id)),
        ColourBy::Op => match planned.model.op_kind[id.index()] as usize {
            kind if kind < N_OP_HUES => tokens.slot(kind),
            _ => tokens.naive,
        },
    }
}

fn pattern(planned: &Planned, by: ColourBy, id: BufferId) -> Pattern {
    match by {
        ColourBy::Role => role_pattern(planned.model.roles[id.index()]),
        ColourBy::Slot => slot_pattern(slot_index(planned, id)),
        ColourBy::Size | ColourBy::Op | ColourBy::Difference => Pattern::Plain,
    }
}

/// How much of its own colour a buffer keeps that did not move.
const SAME: f32 = 0.55;

/// The fill of a buffer by what became of it between two plans.
#[must_use]
pub fn move_fill(tokens: &Tokens, moved: Move) -> Color32 {
    match moved {
        Move::Same => mix(tokens.chart, tokens.role(Role::Parameter), SAME),
        Move::Down => tokens.slot(0),
        Move::Up => tokens.slot(1),
        Move::Other => tokens.slot(5),
    }
}

/// The second channel of a buffer by what became of it between two plans.
#[must_use]
pub fn move_pattern(moved: Move) -> Pattern {
    match moved {
        Move::Same | Move::Down => Pattern::Plain,
        Move::Up => Pattern::Hatch,
        Move::Other => Pattern::Dots,
    }
}
