//! Rows of lists that are clicked.

use egui::{Painter, Rect, Stroke, vec2};

use crate::theme::Tokens;

/// Paints the ground of a row and the line below it.
pub fn row_ground(painter: &Painter, t: &Tokens, rect: Rect, is_chosen: bool, is_hovered: bool) {
    let ground = match (is_chosen, is_hovered) {
        (true, _) => t.accentbg,
        (false, true) => t.hoverbg,
        (false, false) => t.bg1,
    };
    painter.rect_filled(rect, 0.0, ground);
    painter.hline(rect.x_range(), rect.bottom() - 0.5, Stroke::new(1.0, t.grid));
}

/// Marks the left edge of the row that is chosen.
pub fn chosen_edge(painter: &Painter, t: &Tokens, rect: Rect) {
    painter.rect_filled(Rect::from_min_size(rect.min, vec2(3.0, rect.height())), 0.0, t.accent);
}
