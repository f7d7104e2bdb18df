//! What the columns of the table say of a buffer, and in which order its rows stand.

use std::cmp::Ordering;

use arenascope_planner::graph::Tensor;
use arenascope_planner::ids::BufferId;
use arenascope_planner::lifetimes::Lifetime;

use super::filter::Filter;
use crate::model::RowOrder;
use crate::session::Planned;
use crate::text;

/// One buffer, asked for what its row shows.
pub(super) struct Row<'a> {
    pub(super) planned: &'a Planned,
    pub(super) id: BufferId,
}

impl<'a> Row<'a> {
    fn tensor(&self) -> Option<&'a Tensor> {
        let first = self.planned.prepared.buffer_tensors(self.id).first()?;
        Some(self.planned.prepared.context.as_ref()?.graph.tensor(*first))
    }

    pub(super) fn name(&self) -> &'a str {
        self.planned.prepared.buffer_name(self.id)
    }

    pub(super) fn short(&self) -> &'a str {
        &self.planned.model.short[self.id.index()]
    }

    pub(super) fn op(&self) -> &'a str {
        let model = &self.planned.model;
        model.op_kinds.get(model.op_kind[self.id.index()] as usize).map_or(text::NONE, String::as_str)
    }

    pub(super) fn role(&self) -> &'static str {
        self.planned.model.roles[self.id.index()].name()
    }

    pub(super) fn dtype(&self) -> &'static str {
        self.tensor().map_or(text::NONE, |tensor| tensor.dtype.name())
    }

    fn dims(&self) -> Option<&'a [u64]> {
        self.tensor()?.shape.as_deref()
    }

    pub(super) fn shape(&self) -> String {
        match (self.tensor(), self.dims()) {
            (_, Some([])) => "scalar".to_owned(),
            (_, Some(dims)) => dims.iter().map(u64::to_string).collect::<Vec<_>>().join(" × "),
            (Some(_), None) => text::UNKNOWN.to_owned(),
            (None, None) => text::NONE.to_owned(),
        }
    }

    pub(super) fn size_bytes(&self) -> u64 {
        self.planned.prepared.problem.buffer(self.id).size_bytes
    }

    pub(super) fn lifetime(&self) -> Lifetime {
        self.planned.prepared.problem.buffer(self.id).lifetime
    }

    pub(super) fn offset(&self) -> u64 {
        self.planned.plan.offset(self.id)
    }

    /// Where it could be if nothing else moved.
    pub(super) fn lower(&self) -> Option<u64> {
        self.planned.could_be_at(self.id)
    }

    pub(super) fn slot(&self) -> Option<u32> {
        self.planned.plan.slot(self.id).map(|slot| slot.0)
    }

    pub(super) fn conflicts(&self) -> u64 {
        self.planned.model.degrees[self.id.index()]
    }

    /// How many other tensors are in the buffer.
    fn n_shares(&self) -> usize {
        self.planned.prepared.buffer_tensors(self.id).len().saturating_sub(1)
    }

    /// The tensors that share the buffer with the first one: `Clip_output_0 and 2 more`.
    pub(super) fn shares(&self) -> String {
        let tensors = self.planned.prepared.buffer_tensors(self.id);
        let (Some(context), [_, second, others @ ..]) = (&self.planned.prepared.context, tensors) else { return text::NONE.to_owned() };
        let name = &context.graph.tensor(*second).name;
        let last = name.rsplit('/').find(|part| !part.is_empty()).unwrap_or(name);
        if others.is_empty() { last.to_owned() } else { format!("{last} and {} more", others.len()) }
    }

    /// What a cell shows.
    pub(super) fn cell(&self, column: Column) -> String {
        match column {
            Column::Id => format!("#{}", self.id.0),
            Column::Name => self.short().to_owned(),
            Column::Op => self.op().to_owned(),
            Column::Role => self.role().to_owned(),
            Column::Dtype => self.dtype().to_owned(),
            Column::Shape => self.shape(),
            Column::Bytes => text::bytes(self.size_bytes()),
            Column::Start => text::count(self.lifetime().start),
            Column::End => text::count(self.lifetime().end),
            Column::Offset => text::hex(self.offset()),
            Column::Lower => self.lower().map_or_else(|| text::NONE.to_owned(), text::hex),
            Column::Slot => self.slot().map_or_else(|| text::NONE.to_owned(), |slot| slot.to_string()),
            Column::Conflicts => text::count(self.conflicts()),
            Column::Shares => self.shares(),
        }
    }
}

/// A column of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Column {
    Id,
    Name,
    Op,
    Role,
    Dtype,
    Shape,
    Bytes,
    Start,
    End,
    Offset,
    Lower,
    Slot,
    Conflicts,
    Shares,
}

impl Column {
    /// All columns from left to right.
    pub(super) const ALL: [Self; 14] = [
        Self::Id,
        Self::Name,
        Self::Op,
        Self::Role,
        Self::Dtype,
        Self::Shape,
        Self::Bytes,
        Self::Start,
        Self::End,
        Self::Offset,
        Self::Lower,
        Self::Slot,
        Self::Conflicts,
        Self::Shares,
    ];

    /// The word in the heading.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Id => "Id",
            Self::Name => "Name",
            Self::Op => "Op",
            Self::Role => "Role",
            Self::Dtype => "Dtype",
            Self::Shape => "Shape",
            Self::Bytes => "Bytes",
            Self::Start => "Start",
            Self::End => "End",
            Self::Offset => "Offset",
            Self::Lower => "Could be at",
            Self::Slot => "Slot",
            Self::Conflicts => "Conflicts",
            Self::Shares => "Shares storage with",
        }
    }

    /// What the rows are sorted by, for the header.
    pub(super) fn order(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Name => "name",
            Self::Op => "op",
            Self::Role => "role",
            Self::Dtype => "dtype",
            Self::Shape => "shape",
            Self::Bytes => "size",
            Self::Start => "birth",
            Self::End => "death",
            Self::Offset => "offset",
            Self::Lower => "where it could be",
            Self::Slot => "slot",
            Self::Conflicts => "conflicts",
            Self::Shares => "shared storage",
        }
    }

    /// Numbers stand at the right of their column.
    pub(super) fn is_number(self) -> bool {
        matches!(self, Self::Id | Self::Bytes | Self::Start | Self::End | Self::Offset | Self::Lower | Self::Slot | Self::Conflicts)
    }

    /// Usual width, points at the text size of a desk.
    pub(super) fn width(self) -> f32 {
        match self {
            Self::Id => 50.0,
            Self::Name => 150.0,
            Self::Op => 72.0,
            Self::Role => 78.0,
            Self::Dtype => 50.0,
            Self::Shape => 124.0,
            Self::Bytes => 72.0,
            Self::Start | Self::End => 54.0,
            Self::Offset | Self::Lower => 84.0,
            Self::Slot => 44.0,
            Self::Conflicts => 70.0,
            Self::Shares => 132.0,
        }
    }

    fn compare(self, a: &Row<'_>, b: &Row<'_>) -> Ordering {
        match self {
            Self::Id => a.id.cmp(&b.id),
            Self::Name => a.short().cmp(b.short()),
            Self::Op => a.op().cmp(b.op()),
            Self::Role => a.role().cmp(b.role()),
            Self::Dtype => a.dtype().cmp(b.dtype()),
            Self::Shape => a.dims().cmp(&b.dims()),
            Self::Bytes => a.size_bytes().cmp(&b.size_bytes()),
            Self::Start => a.lifetime().start.cmp(&b.lifetime().start),
            Self::End => a.lifetime().end.cmp(&b.lifetime().end),
            Self::Offset => a.offset().cmp(&b.offset()),
            Self::Lower => a.lower().cmp(&b.lower()),
            Self::Slot => a.slot().cmp(&b.slot()),
            Self::Conflicts => a.conflicts().cmp(&b.conflicts()),
            Self::Shares => a.n_shares().cmp(&b.n_shares()),
        }
    }
}

/// In which order the rows stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sort {
    pub(super) column: Column,
    pub(super) is_descending: bool,
}

impl Default for Sort {
    fn default() -> Self {
        Self { column: Column::Start, is_descending: false }
    }
}

impl Sort {
    /// The order after a click on a heading: that column, or the other direction.
    pub(super) fn clicked(self, column: Column) -> Self {
        Self { column, is_descending: self.column == column && !self.is_descending }
    }
}

/// The buffers that a filter accepts, in order; equal ones stay in order of birth. Time O(n log n).
pub(super) fn rows(planned: &Planned, filter: &Filter, sort: Sort) -> Vec<BufferId> {
    let by_birth = planned.model.order(RowOrder::Birth);
    let mut rows: Vec<BufferId> = by_birth.iter().copied().filter(|&id| filter.is_empty() || filter.accepts(planned, id)).collect();
    let compare = |&a: &BufferId, &b: &BufferId| {
        let order = sort.column.compare(&Row { planned, id: a }, &Row { planned, id: b });
        if sort.is_descending { order.reverse() } else { order }
    };
    rows.sort_by(compare);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::inspector::sample_plans::{bare_with, sample};

    fn ids(planned: &Planned, column: Column, is_descending: bool) -> Vec<u32> {
        rows(planned, &Filter::default(), Sort { column, is_descending }).into_iter().map(|id| id.0).collect()
    }

    #[test]
    fn sorts_both_ways_and_keeps_birth_order_among_equals() {
        let planned = bare_with(&[(64, 4, 9), (128, 0, 2), (64, 2, 3), (128, 1, 5)], "first-fit");
        assert_eq!(ids(&planned, Column::Start, false), [1, 3, 2, 0]);
        assert_eq!(ids(&planned, Column::Bytes, false), [2, 0, 1, 3]);
        assert_eq!(ids(&planned, Column::Bytes, true), [1, 3, 2, 0]);
        assert_eq!(ids(&planned, Column::Id, true), [3, 2, 1, 0]);
        assert_eq!(ids(&planned, Column::End, true), [0, 3, 2, 1]);
    }

    #[test]
    fn a_second_click_turns_the_order() {
        let first = Sort::default().clicked(Column::Bytes);
        assert_eq!(first, Sort { column: Column::Bytes, is_descending: false });
        assert!(first.clicked(Column::Bytes).is_descending);
        assert!(!first.clicked(Column::Bytes).clicked(Column::Bytes).is_descending);
    }

    #[test]
    fn cells_say_what_is_known_and_what_is_not() {
        let bare = bare_with(&[(2048, 3, 1_007)], "first-fit");
        let cells: Vec<String> = Column::ALL.into_iter().map(|column| Row { planned: &bare, id: BufferId(0) }.cell(column)).collect();
        assert_eq!(cells, ["#0", "b0", "–", "activation", "–", "–", "2.00 KiB", "3", "1,007", "0x00000000", "–", "–", "0", "–"]);
        let graph = sample("article_three_tensors.json");
        let row = Row { planned: &graph, id: BufferId(0) };
        assert_eq!(
            (row.cell(Column::Shape), row.cell(Column::Shares), row.cell(Column::Op)),
            ("1024 × 1024".to_owned(), "C".to_owned(), "matmul".to_owned())
        );
    }
}
