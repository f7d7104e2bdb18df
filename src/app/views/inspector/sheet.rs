//! What the Inspector shows, as plain data: headings, facts, links and rows.
//!
//! A sheet is made once per selection and drawn every frame, so nothing here may depend on egui.

use arenascope_planner::graph::Role;
use arenascope_planner::ids::{BufferId, OpId, SlotId};
use arenascope_planner::order::Order;

use crate::selection::Item;
use crate::session::Planned;

/// A piece of a fact's value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Piece {
    /// The value itself.
    Strong(String),
    /// What explains it.
    Plain(String),
    /// Code and hex.
    Mono(String),
    /// A place to go to.
    Link(String, Item),
    /// A filter of the table.
    Filter {
        /// What there is to say.
        text: String,
        /// What the table is filtered by.
        filter: &'static str,
    },
    /// A button that copies a text; what it copies, for the tooltip.
    Copy {
        /// The text.
        text: String,
        /// `Copy the offset`.
        name: &'static str,
    },
    /// Something that is wrong.
    Bad(String),
    /// Something that is good.
    Good(String),
    /// Something to look at.
    Warn(String),
    /// A value that is not known, and why.
    Unknown(String),
}

/// Where a row leads, and what it says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Row {
    /// What is selected by a click.
    pub(super) item: Item,
    /// Whose colour stands at the left.
    pub(super) swatch: Option<BufferId>,
    /// Number or name.
    pub(super) strong: String,
    /// What there is to say.
    pub(super) text: String,
    /// A word or number at the right end.
    pub(super) right: String,
}

/// The first lines of a sheet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Head {
    /// Whose colour stands at the left.
    pub(super) swatch: Option<BufferId>,
    /// `#4`; empty for none.
    pub(super) number: String,
    /// The short name.
    pub(super) title: String,
    /// The role, in a pill.
    pub(super) role: Option<Role>,
    /// The whole name, copied by a button; empty if the title is it.
    pub(super) full: String,
}

/// A part of a sheet, from top to bottom.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Block {
    /// The first lines.
    Head(Head),
    /// A label and its value.
    Fact(&'static str, Vec<Piece>),
    /// A line across.
    Rule,
    /// The title of what follows, and a number beside it.
    Heading(String, String),
    /// Something to go to.
    Row(Row),
    /// A paragraph.
    Text(String),
    /// A quiet line: what was left out, or that there is nothing.
    Note(String),
    /// A line in red.
    Fault(String),
    /// A line in yellow: something that could be better.
    Warning(String),
    /// A line in green.
    Good(String),
    /// An order of the ops that would lower the peak, with a button that uses it.
    Order {
        /// The order.
        order: Order,
        /// By how much the peak falls.
        saved_bytes: u64,
    },
    /// Bytes side by side; what was left out comes last without a buffer.
    Bar(Vec<(Option<BufferId>, u64)>),
    /// Goes to the selected thing in the charts.
    ZoomButton,
}

/// A whole sheet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Sheet {
    /// Its parts.
    pub(super) blocks: Vec<Block>,
}

impl Sheet {
    pub(super) fn push(&mut self, block: Block) {
        self.blocks.push(block);
    }

    pub(super) fn fact(&mut self, label: &'static str, value: impl Into<Vec<Piece>>) {
        self.blocks.push(Block::Fact(label, value.into()));
    }

    pub(super) fn heading(&mut self, title: &str, facts: impl Into<String>) {
        self.blocks.push(Block::Rule);
        self.blocks.push(Block::Heading(title.to_owned(), facts.into()));
    }

    /// The first `most` of `rows`, and the number of the others.
    pub(super) fn rows(&mut self, n: usize, most: usize, rows: impl Iterator<Item = Row>) {
        self.blocks.extend(rows.take(most).map(Block::Row));
        self.more(n, most);
    }

    /// Says how many of `n` come after the first `most`.
    pub(super) fn more(&mut self, n: usize, most: usize) {
        if n > most {
            self.blocks.push(Block::Note(format!("and {} more", crate::text::count((n - most) as u64))));
        }
    }
}

/// The short name of a buffer; `None` if it is just its number, which stands beside it anyway.
pub(in crate::views) fn own_name(planned: &Planned, id: BufferId) -> Option<&str> {
    let short = planned.model.short.get(id.index())?;
    (short.parse() != Ok(id.0)).then_some(short)
}

/// Bytes as a person reads them and, where that is rounded, to the last one.
pub(super) fn both_sizes(bytes: u64) -> Vec<Piece> {
    let mut pieces = vec![strong(crate::text::bytes(bytes))];
    if bytes >= 1024 {
        pieces.push(plain(crate::text::exact_bytes(bytes)));
    }
    pieces
}

/// A link to a buffer.
pub(super) fn to_buffer(buffer: BufferId) -> Piece {
    Piece::Link(format!("#{}", buffer.0), Item::Buffer(buffer))
}

/// A link to a step.
pub(super) fn to_step(step: u64) -> Piece {
    Piece::Link(format!("step {}", crate::text::count(step)), Item::Step(step))
}

/// A link to an op.
pub(super) fn to_op(op: OpId, kind: &str) -> Piece {
    Piece::Link(kind.to_owned(), Item::Op(op))
}

/// A link to a slot.
pub(super) fn to_slot(slot: SlotId) -> Piece {
    Piece::Link(format!("slot {}", slot.0), Item::Slot(slot))
}

pub(super) fn strong(text: impl Into<String>) -> Piece {
    Piece::Strong(text.into())
}

pub(super) fn plain(text: impl Into<String>) -> Piece {
    Piece::Plain(text.into())
}

#[cfg(test)]
impl Sheet {
    /// Everything that can be read on the sheet, one block a line.
    pub(super) fn words(&self) -> String {
        let line = |block: &Block| match block {
            Block::Head(head) => format!("{} {} {}", head.number, head.title, head.full),
            Block::Fact(label, pieces) => format!("{label}: {}", pieces.iter().map(piece_words).collect::<Vec<_>>().join(" ")),
            Block::Row(row) => format!("{} | {} | {}", row.strong, row.text, row.right),
            Block::Heading(title, facts) => format!("## {title} {facts}"),
            Block::Text(text) | Block::Note(text) | Block::Fault(text) | Block::Warning(text) | Block::Good(text) => text.clone(),
            Block::Order { order, saved_bytes } => format!("order {} saves {saved_bytes}", order.name()),
            Block::Bar(parts) => format!("bar of {}", parts.len()),
            Block::Rule | Block::ZoomButton => String::new(),
        };
        self.blocks.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
fn piece_words(piece: &Piece) -> &str {
    match piece {
        Piece::Strong(text)
        | Piece::Plain(text)
        | Piece::Mono(text)
        | Piece::Link(text, _)
        | Piece::Bad(text)
        | Piece::Good(text)
        | Piece::Warn(text)
        | Piece::Filter { text, .. } => text,
        Piece::Unknown(why) => why,
        Piece::Copy { .. } => "",
    }
}
