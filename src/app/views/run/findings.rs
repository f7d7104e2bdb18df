//! What a run found: each wrong read with its tensor, its op, its bytes and who overwrote them; a click selects them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arenascope_gpu::findings::Finding;
use arenascope_planner::ids::{BufferId, TensorId};
use egui::{RichText, ScrollArea, Sense, Ui, vec2};

use super::frame::RunCtx;
use super::recording::Recording;
use super::words::regime_name;
use crate::command::Command;
use crate::draw::{Notice, notice};
use crate::selection::Item;
use crate::session::Planned;
use crate::text;
use crate::theme::Icon;

/// What the names in the findings and outputs of a run mean in the plan that is shown.
#[derive(Debug, Default)]
pub(super) struct Links {
    of: (usize, usize),
    items: BTreeMap<String, Item>,
    are_steps_linked: bool,
}

impl Links {
    /// Works the names out if run or plan are others than before. Time O(tensors + findings + outputs) then, else O(1).
    pub(super) fn update(&mut self, recording: &Recording, planned: Option<&Arc<Planned>>) {
        let key = (std::ptr::from_ref(recording).addr(), planned.map_or(0, |planned| Arc::as_ptr(planned).addr()));
        if self.of == key {
            return;
        }
        self.of = key;
        self.items.clear();
        self.are_steps_linked = planned.is_some_and(|planned| recording.kinship(planned) > super::Kinship::Stranger);
        let Some(planned) = planned.filter(|_| self.are_steps_linked) else { return };
        let record = &recording.record;
        let found = record.findings.iter().flat_map(|finding| finding.culprits.iter().map(|culprit| &culprit.tensor).chain([&finding.tensor]));
        let computed = record.compute.iter().flat_map(|report| report.outputs.iter().map(|output| &output.tensor).chain([&report.worst_tensor]));
        let names = found.chain(computed);
        let wanted: BTreeSet<&str> = names.map(String::as_str).collect();
        if !wanted.is_empty() {
            self.items = items(planned, &wanted);
        }
    }

    /// The tensor, or the buffer of a bare problem, of a name.
    pub(super) fn item(&self, name: &str) -> Option<Item> {
        self.items.get(name).copied()
    }
}

fn items(planned: &Planned, wanted: &BTreeSet<&str>) -> BTreeMap<String, Item> {
    match &planned.prepared.context {
        Some(context) => {
            let tensors = context.graph.tensors().iter().enumerate().filter(|(_, tensor)| wanted.contains(tensor.name.as_str()));
            tensors.map(|(index, tensor)| (tensor.name.clone(), Item::Tensor(TensorId::new(index)))).collect()
        }
        None => {
            let buffers = (0..planned.prepared.problem.n_buffers()).map(BufferId::new);
            let named = buffers.map(|buffer| (planned.prepared.buffer_name(buffer), buffer)).filter(|(name, _)| wanted.contains(name));
            named.map(|(name, buffer)| (name.to_owned(), Item::Buffer(buffer))).collect()
        }
    }
}

/// Draws the list.
pub(super) fn findings_ui(ui: &mut Ui, ctx: &RunCtx<'_>, recording: &Recording, links: &Links) {
    let t = ctx.tokens;
    let record = &recording.record;
    if record.findings.is_empty() {
        let area = ui.available_rect_before_wrap();
        let computed = record.compute.as_ref().map(|report| report.n_reads);
        let n: u64 = computed.or_else(|| record.regimes.iter().map(|report| report.n_checks).max()).unwrap_or(0);
        let how = match computed {
            Some(_) => "each compared bit for bit with the same read where every tensor has memory of its own",
            None => "each compared word by word with what its writer wrote",
        };
        let reads = text::counted(n, "read", "reads");
        let detail = format!("{reads} per iteration, {how}; gaps of the arena and what lies behind it are looked at too.");
        let title = if n > 0 { "Nothing was overwritten" } else { "Nothing was checked" };
        notice(ui, t, area, &Notice { icon: Icon::SEAL_CHECK, failed: false, title, detail: &detail, actions: &[] });
        return;
    }
    ScrollArea::vertical().id_salt("run-findings").auto_shrink(false).show(ui, |ui| {
        ui.spacing_mut().item_spacing = vec2(6.0, 2.0);
        for (index, finding) in record.findings.iter().enumerate() {
            row(ui, ctx, (recording, links), index, finding);
        }
        let more = record.n_findings.saturating_sub(record.findings.len() as u64);
        if more > 0 {
            ui.label(RichText::new(format!("   and {} more that were counted and not kept", text::count(more))).font(t.body()).color(t.text3));
        }
        let n_following = record.compute.as_ref().map_or(0, |report| report.n_following);
        if n_following > 0 {
            let words = text::counted(n_following, "further wrong read follows from these", "further wrong reads follow from these");
            ui.label(RichText::new(format!("   {words}")).font(t.body()).color(t.text3));
        }
    });
}

fn row(ui: &mut Ui, ctx: &RunCtx<'_>, (recording, links): (&Recording, &Links), index: usize, finding: &Finding) {
    let t = ctx.tokens;
    let frame = egui::Frame::new().inner_margin(egui::Margin::symmetric(12, 4));
    let response = frame
        .show(ui, |ui| {
            ui.set_width(ui.available_width());
            ui.horizontal_wrapped(|ui| {
                ui.label(Icon::WARNING_OCTAGON.text(14.0, t.err));
                let tensor = if finding.tensor.is_empty() { "bytes that no buffer covers" } else { &finding.tensor };
                link(ui, ctx, &text::middle_cut(tensor, 48), links.item(&finding.tensor), true);
                plain(ui, ctx, if finding.reader.is_empty() { "after the last step" } else { "read by" });
                op_link(ui, ctx, (recording, links), &finding.reader, finding.step);
                let bytes = format!(
                    "{} of {} wrong, bytes {} to {}",
                    text::count(finding.words_wrong),
                    text::counted(finding.words, "word", "words"),
                    text::count(finding.from_byte),
                    text::count(finding.to_byte)
                );
                plain(ui, ctx, &format!("· {bytes} · {}", regime_name(finding.regime)));
            });
            ui.horizontal_wrapped(|ui| {
                ui.add_space(20.0);
                if finding.culprits.is_empty() {
                    let why = finding.message.split("; ").nth(1).unwrap_or(&finding.message);
                    plain(ui, ctx, why);
                }
                // On several streams nothing says which of them came last.
                let further = if recording.record.options.streams > 1 { "or by" } else { "before that by" };
                for (n, culprit) in finding.culprits.iter().enumerate() {
                    plain(ui, ctx, if n == 0 { "overwritten by" } else { further });
                    op_link(ui, ctx, (recording, links), &culprit.op, Some(culprit.step));
                    plain(ui, ctx, "writing");
                    link(ui, ctx, &text::middle_cut(&culprit.tensor, 40), links.item(&culprit.tensor), false);
                    plain(ui, ctx, if culprit.is_at_same_offset { "at the same offset" } else { "over these bytes" });
                }
            });
        })
        .response;
    ui.painter().hline(response.rect.x_range(), response.rect.bottom(), egui::Stroke::new(1.0, t.grid));
    let label = format!("finding {index}: {}", finding.message);
    let whole = ui.interact(response.rect, ui.scope_id().with(("run-finding", index)), Sense::hover());
    whole.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Row, true, &label));
}

fn plain(ui: &mut Ui, ctx: &RunCtx<'_>, words: &str) {
    ui.label(RichText::new(words).font(ctx.tokens.body()).color(ctx.tokens.text2));
}

fn op_link(ui: &mut Ui, ctx: &RunCtx<'_>, (recording, links): (&Recording, &Links), name: &str, step: Option<usize>) {
    if name.is_empty() {
        return;
    }
    let number = step.and_then(|step| recording.number(step));
    let item = number
        .filter(|_| links.are_steps_linked)
        .map(|number| ctx.planned.and_then(|planned| planned.op_at(number)).map_or(Item::Step(number), Item::Op));
    let words = number.map_or_else(String::new, |number| format!("step {} ", text::count(number)));
    link(ui, ctx, &format!("{words}{}", text::middle_cut(name, 40)), item, false);
}

/// A name that selects what it names; plain text if the open file does not have it.
pub(super) fn link(ui: &mut Ui, ctx: &RunCtx<'_>, words: &str, item: Option<Item>, is_strong: bool) {
    let t = ctx.tokens;
    let font = if is_strong { t.body_strong() } else { t.body_medium() };
    let Some(item) = item else {
        ui.label(RichText::new(words).font(font).color(t.text));
        return;
    };
    let response = ui.link(RichText::new(words).font(font).color(t.accent));
    if response.hovered() {
        ctx.selection.hover(item);
    }
    if response.clicked() {
        ctx.send(Command::Select(item));
    }
}
