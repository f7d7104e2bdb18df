//! What would lower the peak, one change at a time.

use arenascope_planner::explain::{Change, Saving};

use super::sheet::{Block, Row, Sheet, own_name};
use crate::insight::notable_savings;
use crate::selection::Item;
use crate::session::Planned;
use crate::text;

/// Adds the changes that would lower the peak, or says that they are being worked out.
pub(super) fn savings(sheet: &mut Sheet, planned: &Planned) {
    let Some(insight) = planned.insight() else {
        sheet.heading("What would lower the peak", "being worked out");
        return;
    };
    let peak = &insight.peak;
    if peak.bytes == 0 {
        return;
    }
    sheet.heading("What would lower the peak", format!("{} at step {}, one change at a time", text::bytes(peak.bytes), text::count(peak.step)));
    let (notable, n_others) = notable_savings(peak);
    if notable.is_empty() {
        sheet.push(Block::Note("no single change does".to_owned()));
    }
    for saving in notable {
        sheet.push(block(planned, saving));
    }
    if n_others > 0 {
        sheet.push(Block::Note(format!("and {} more, smaller or of the same kind", text::count(n_others as u64))));
    }
}

fn block(planned: &Planned, saving: &Saving) -> Block {
    let right = text::change_bytes(saving.saved_bytes, 0);
    let of_buffer = |buffer: arenascope_planner::ids::BufferId, what: String| {
        // What would change comes first: a long name is cut.
        let words = std::iter::once(what.as_str()).chain(own_name(planned, buffer)).collect::<Vec<_>>().join("  ");
        Block::Row(Row { item: Item::Buffer(buffer), swatch: Some(buffer), strong: format!("#{}", buffer.0), text: words, right: right.clone() })
    };
    match &saving.change {
        Change::Remove { buffer } => of_buffer(*buffer, "not kept at all".to_owned()),
        Change::DieEarlier { buffer, last_step, readers } => {
            let later = text::counted(readers.len() as u64, "later reader", "later readers");
            of_buffer(*buffer, format!("dead after step {}, {later}", text::count(*last_step)))
        }
        Change::WriteInPlace { op, input, output } => {
            let kind = planned.prepared.context.as_deref().map_or("op", |context| context.graph.op(*op).kind.as_str());
            Block::Row(Row {
                item: Item::Op(*op),
                swatch: Some(*output),
                strong: format!("#{}", output.0),
                text: format!("written over #{} by {kind}", input.0),
                right,
            })
        }
        Change::Reorder { order } => Block::Order { order: *order, saved_bytes: saving.saved_bytes },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::sample_plans::{POOR_ORDER, bare_with, json_file};
    use super::*;
    use crate::insight::Insight;
    use arenascope_planner::control::Control;

    fn words(planned: &Planned) -> String {
        let insight = Insight::new(planned, &Control::unattended()).expect("not stopped");
        planned.insight.set(Arc::new(insight)).expect("set once");
        let mut sheet = Sheet::default();
        savings(&mut sheet, planned);
        sheet.words()
    }

    #[test]
    fn before_it_is_worked_out_it_says_so() {
        let mut sheet = Sheet::default();
        savings(&mut sheet, &bare_with(&[(64, 0, 1)], "first-fit"));
        assert!(sheet.words().contains("being worked out"));
    }

    #[test]
    fn removing_a_buffer_saves_what_is_left_below_the_next_peak() {
        let words = words(&bare_with(&[(128, 0, 2), (64, 0, 2), (64, 1, 3), (192, 4, 5)], "first-fit"));
        assert!(words.contains("256 B at step 1"), "{words}");
        assert!(words.contains("#0 | not kept at all  b0 | −64 B"), "{words}");
    }

    #[test]
    fn a_better_order_can_be_chosen() {
        let words = words(&json_file(POOR_ORDER));
        assert!(words.contains("order min-peak saves"), "{words}");
    }
}
