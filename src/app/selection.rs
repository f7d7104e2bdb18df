//! What is selected and hovered, and what that makes of every buffer, op and step.
//!
//! The one place that decides what "related" means:
//! to a buffer, the buffers that it interferes with; to an op or a tensor, the buffers live at its step;
//! to a step, the buffers live at it; to a slot, nothing beyond its own buffers.

use std::cell::Cell;

use arenascope_planner::ids::{BufferId, OpId, SlotId, TensorId};
use arenascope_planner::lifetimes::Lifetime;

use crate::session::Planned;

/// Something that can be selected in one view and seen in all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Item {
    /// A tensor of the graph.
    Tensor(TensorId),
    /// A buffer of the plan.
    Buffer(BufferId),
    /// An op of the graph.
    Op(OpId),
    /// A step of the schedule.
    Step(u64),
    /// A slot of a slot plan.
    Slot(SlotId),
}

/// How strongly a thing is marked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Highlight {
    /// Not at all.
    #[default]
    None,
    /// It has to do with what is selected or hovered.
    Related,
    /// It is what is selected.
    Selected,
    /// It is under the pointer.
    Hovered,
}

/// An item with its meaning in buffers and steps worked out once per frame.
#[derive(Clone, Debug)]
struct Resolved {
    item: Item,
    own: Own,
    /// Buffers that meet this range of steps are related.
    related: Option<Lifetime>,
}

#[derive(Clone, Debug)]
enum Own {
    Buffers(Vec<BufferId>),
    Slot(SlotId),
}

impl Resolved {
    fn new(item: Item, planned: &Planned) -> Self {
        let (own, related) = match item {
            Item::Buffer(buffer) => (vec![buffer], planned.lifetime(buffer)),
            Item::Tensor(tensor) => {
                let own: Vec<BufferId> = planned.buffer_of(tensor).into_iter().collect();
                let related = own.first().and_then(|&buffer| planned.lifetime(buffer));
                (own, related)
            }
            Item::Op(op) => (planned.buffers_of_op(op), planned.step_of(op).map(|step| Lifetime { start: step, end: step + 1 })),
            Item::Step(step) => (Vec::new(), Some(Lifetime { start: step, end: step + 1 })),
            Item::Slot(slot) => return Self { item, own: Own::Slot(slot), related: None },
        };
        Self { item, own: Own::Buffers(own), related }
    }

    fn owns(&self, buffer: BufferId, planned: &Planned) -> bool {
        match &self.own {
            Own::Buffers(buffers) => buffers.contains(&buffer),
            Own::Slot(slot) => planned.plan.slot(buffer) == Some(*slot),
        }
    }

    fn is_related(&self, buffer: BufferId, planned: &Planned) -> bool {
        self.related.zip(planned.lifetime(buffer)).is_some_and(|(range, lifetime)| range.overlaps(lifetime))
    }
}

/// What is selected and hovered.
#[derive(Debug, Default)]
pub struct Selection {
    selected: Option<Resolved>,
    hovered: Option<Resolved>,
    next_hover: Cell<Option<Item>>,
    /// A range of steps marked with Shift and the pointer.
    pub steps: Option<Lifetime>,
}

impl Selection {
    /// The selected item.
    #[must_use]
    pub fn selected(&self) -> Option<Item> {
        self.selected.as_ref().map(|resolved| resolved.item)
    }

    /// The item under the pointer.
    #[must_use]
    pub fn hovered(&self) -> Option<Item> {
        self.hovered.as_ref().map(|resolved| resolved.item)
    }

    /// The selected buffer, if what is selected means exactly one.
    #[must_use]
    pub fn selected_buffer(&self) -> Option<BufferId> {
        match self.selected.as_ref().map(|resolved| (&resolved.item, &resolved.own))? {
            (Item::Buffer(_) | Item::Tensor(_), Own::Buffers(buffers)) => buffers.first().copied(),
            _ => None,
        }
    }

    /// Selects an item, or nothing.
    pub fn select(&mut self, item: Option<Item>, planned: Option<&Planned>) {
        self.selected = item.zip(planned).map(|(item, planned)| Resolved::new(item, planned));
    }

    /// Says that the pointer is over an item; shown from the next frame on.
    pub fn hover(&self, item: Item) {
        self.next_hover.set(Some(item));
    }

    /// Begins a frame: what was under the pointer in the last one is hovered in this one. `true` if that changed.
    pub fn begin_frame(&mut self, planned: Option<&Planned>) -> bool {
        let next = self.next_hover.take();
        let changed = next != self.hovered();
        if changed {
            self.hovered = next.zip(planned).map(|(item, planned)| Resolved::new(item, planned));
        }
        changed
    }

    /// Keeps the items that still exist after the plan changed.
    pub fn replan(&mut self, planned: Option<&Planned>) {
        let kept = self.selected().filter(|&item| planned.is_some_and(|planned| planned.has(item)));
        self.select(kept, planned);
        self.hovered = None;
    }

    /// How a buffer is marked.
    #[must_use]
    pub fn highlight_buffer(&self, buffer: BufferId, planned: &Planned) -> Highlight {
        if self.hovered.as_ref().is_some_and(|hovered| hovered.owns(buffer, planned)) {
            return Highlight::Hovered;
        }
        if self.selected.as_ref().is_some_and(|selected| selected.owns(buffer, planned)) {
            return Highlight::Selected;
        }
        let source = self.hovered.as_ref().or(self.selected.as_ref());
        if source.is_some_and(|source| source.is_related(buffer, planned)) { Highlight::Related } else { Highlight::None }
    }

    /// How an op, a step or a slot is marked.
    #[must_use]
    pub fn highlight(&self, item: Item, planned: &Planned) -> Highlight {
        if let Item::Buffer(buffer) = item {
            return self.highlight_buffer(buffer, planned);
        }
        match item {
            _ if self.hovered() == Some(item) => Highlight::Hovered,
            _ if self.selected() == Some(item) => Highlight::Selected,
            Item::Tensor(tensor) => planned.buffer_of(tensor).map_or(Highlight::None, |buffer| self.highlight_buffer(buffer, planned).min(Highlight::Related)),
            Item::Op(op) => self.op_highlight(op, planned),
            _ => Highlight::None,
        }
    }

    fn op_highlight(&self, op: OpId, planned: &Planned) -> Highlight {
        let touches = planned.buffers_of_op(op).into_iter().any(|buffer| self.highlight_buffer(buffer, planned) >= Highlight::Selected);
        if touches { Highlight::Related } else { Highlight::None }
    }

    /// Whether things that are not marked step back: only while something is hovered.
    #[must_use]
    pub fn dims_others(&self) -> bool {
        self.hovered.is_some()
    }
}
