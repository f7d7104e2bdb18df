//! The Inspector view: everything known about what is selected, or about the plan when nothing is.
//!
//! A sheet is made once per selection (`sheet.rs`); drawing it costs what is on it, never what is in the model.

#[cfg(test)]
mod looks;
mod neighbours;
mod of_buffer;
mod of_others;
mod of_peak;
mod of_plan;
mod paint;
#[cfg(test)]
pub(crate) mod sample_plans;
mod sheet;
mod tooltip;
mod why;

use std::sync::Arc;

use egui::{Margin, ScrollArea, Ui};

pub(in crate::views) use sheet::own_name;
pub use tooltip::{buffer_tooltip, item_tooltip};

use crate::ctx::ViewCtx;
use crate::selection::Item;
use crate::session::Planned;
use crate::text;
use crate::views::Pane;
use crate::views::header::header_ui;
use crate::views::strategies::Difference;
use sheet::Sheet;

/// State of the view.
#[derive(Debug, Default)]
pub struct InspectorState {
    known: Option<Known>,
}

/// A sheet, and what it is about.
#[derive(Debug)]
struct Known {
    planned: Arc<Planned>,
    item: Option<Item>,
    /// Whether what its numbers mean had been worked out, and what the plan was compared with.
    is_explained: bool,
    difference: Option<Arc<Difference>>,
    sheet: Sheet,
}

impl InspectorState {
    /// Draws the view.
    pub fn ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>) {
        let item = ctx.selection.selected().filter(|&item| ctx.planned.has(item));
        header_ui(ui, ctx, Pane::Inspector, &facts(item), |_| ());
        let is_explained = ctx.planned.insight().is_some();
        let is_same_difference = |known: &Option<Arc<Difference>>| known.as_ref().map(Arc::as_ptr) == ctx.difference.map(Arc::as_ptr);
        let is_current = |known: &Known| {
            known.item == item
                && Arc::ptr_eq(&known.planned, ctx.planned)
                && known.is_explained == is_explained
                && is_same_difference(&known.difference)
        };
        let known = self.known.take().filter(is_current).unwrap_or_else(|| Known {
            planned: Arc::clone(ctx.planned),
            item,
            is_explained,
            difference: ctx.difference.cloned(),
            sheet: make(ctx.planned, ctx.difference.map(|difference| &**difference), item),
        });
        let sheet = &self.known.insert(known).sheet;
        ScrollArea::vertical().id_salt(("inspector", item)).auto_shrink(false).show(ui, |ui| {
            egui::Frame::new().inner_margin(Margin { left: 14, right: 14, top: 6, bottom: 0 }).show(ui, |ui| paint::sheet(ui, ctx, sheet));
        });
    }
}

fn facts(item: Option<Item>) -> String {
    match item {
        None => "the plan; nothing is selected".to_owned(),
        Some(Item::Buffer(buffer)) => format!("buffer #{}", buffer.0),
        Some(Item::Tensor(_)) => "a tensor".to_owned(),
        Some(Item::Op(_)) => "an op".to_owned(),
        Some(Item::Step(step)) => format!("step {}", text::count(step)),
        Some(Item::Slot(slot)) => format!("slot {}", slot.0),
    }
}

fn make(planned: &Planned, difference: Option<&Difference>, item: Option<Item>) -> Sheet {
    match item {
        None => of_plan::sheet(planned),
        Some(Item::Buffer(buffer)) => of_buffer::sheet(planned, difference, buffer),
        Some(Item::Tensor(tensor)) => of_others::tensor(planned, tensor),
        Some(Item::Op(op)) => of_others::op(planned, op),
        Some(Item::Step(step)) => of_others::step(planned, step),
        Some(Item::Slot(slot)) => of_others::slot(planned, slot),
    }
}
