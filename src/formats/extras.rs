//! What a problem file may say about a buffer beyond its size and lifetime: what becomes a rule, and what is a wish.
//!
//! Readers fill this in whole; [`rules`] is the one place that says what the planner does not take into account.

use std::sync::Arc;

use arenascope_planner::constraints::{Constraints, Gap};
use arenascope_planner::ids::BufferId;
use arenascope_planner::units::Align;
use arenascope_planner::workload::{BareBuffer, Warning};

use crate::detect::Origin;
use crate::error::FormatError;
use crate::problem_json::checked;

/// What else is said about one buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extras {
    /// What its offset must be a multiple of.
    pub(crate) align: Option<Align>,
    /// Parts of its lifetime in which its bytes, or most of them, are not needed.
    pub(crate) gaps: Vec<Gap>,
    /// Where it must be.
    pub(crate) fixed_offset: Option<u64>,
    /// Where it would best be: not planned with.
    pub(crate) hint: Option<u64>,
}

/// The rules that follow, `None` without any, and a warning of what is read and not planned with.
///
/// # Errors
/// Rules that contradict the buffers or each other.
pub(crate) fn rules(
    origin: &Origin,
    buffers: &[BareBuffer],
    extras: &[Extras],
    warnings: &mut Vec<Warning>,
) -> Result<Option<Arc<Constraints>>, FormatError> {
    let mut rules = Constraints::default();
    for (index, extra) in extras.iter().enumerate() {
        let id = BufferId::new(index);
        // 1 is what every offset is a multiple of, and what tools write for "none".
        if let Some(align) = extra.align.filter(|&align| align != Align::ONE) {
            rules.set_align(id, align);
        }
        for gap in &extra.gaps {
            rules.add_gap(id, gap.lifetime, gap.window);
        }
        if let Some(offset) = extra.fixed_offset {
            rules.pin(id, offset);
        }
    }
    let n_hints = extras.iter().filter(|extra| extra.hint.is_some()).count();
    if n_hints > 0 {
        let subject = if n_hints == 1 { "1 buffer has".to_owned() } else { format!("{n_hints} buffers each have") };
        warnings.push(Warning::general(format!("{subject} a hint for its offset, which is not used")));
    }
    checked(origin, buffers, rules)
}
