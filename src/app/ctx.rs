//! What a view may see and ask for while it draws.

use std::sync::Arc;

use arenascope_planner::ids::BufferId;
use egui::Color32;

use crate::axis::Axis;
use crate::colours::Colours;
use crate::command::{Command, CommandSender};
use crate::selection::{Highlight, Item, Selection};
use crate::session::{PlanOptions, Planned};
use crate::state::ColourBy;
use crate::theme::Tokens;
use crate::views::strategies::Difference;

/// Everything a view reads; nothing here can be changed while drawing.
#[derive(Debug)]
pub struct ViewCtx<'a> {
    /// Colours and sizes.
    pub tokens: &'static Tokens,
    /// The plan that is shown.
    pub planned: &'a Arc<Planned>,
    /// What differs from another plan, while plans are compared.
    pub difference: Option<&'a Arc<Difference>>,
    /// The options that the next plan will be made with.
    pub options: &'a PlanOptions,
    /// What is selected and hovered.
    pub selection: &'a Selection,
    /// The visible steps.
    pub steps: &'a Axis,
    /// The visible bytes of the Arena view.
    pub bytes: &'a Axis,
    /// Whether the memory before planning is shown.
    pub show_before: bool,
    /// Whether the Arena view shows slots.
    pub slot_lanes: bool,
    /// Whether the plain wheel zooms.
    pub wheel_zooms: bool,
    /// How buffers are coloured.
    pub colour_by: ColourBy,
    /// The colour of each buffer.
    pub colours: &'a Colours,
    /// The view shown alone, if any.
    pub maximised: Option<crate::views::Pane>,
    /// Whether a newer plan is being made.
    pub is_stale: bool,
    /// Where commands go.
    pub commands: &'a CommandSender,
}

impl ViewCtx<'_> {
    /// Asks for a change.
    pub fn send(&self, command: Command) {
        self.commands.send(command);
    }

    /// Says that the pointer is over an item.
    pub fn hover(&self, item: Item) {
        self.selection.hover(item);
    }

    /// Selects an item.
    pub fn select(&self, item: Item) {
        self.commands.send(Command::Select(item));
    }

    /// How an item is marked.
    #[must_use]
    pub fn highlight(&self, item: Item) -> Highlight {
        self.selection.highlight(item, self.planned)
    }

    /// The fill of a buffer with its state: lighter under the pointer, dimmed while something else is.
    #[must_use]
    pub fn fill(&self, buffer: BufferId) -> (Color32, Highlight) {
        let fill = self.colours.of(buffer);
        let highlight = self.selection.highlight_buffer(buffer, self.planned);
        let fill = match highlight {
            Highlight::Hovered => self.tokens.hovered(fill),
            Highlight::None if self.selection.dims_others() => self.tokens.dim(fill),
            Highlight::None | Highlight::Related | Highlight::Selected => fill,
        };
        (fill, highlight)
    }
}
