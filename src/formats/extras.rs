//! What a problem file may say about a buffer beyond its size and lifetime, and what of it is not planned with.
//!
//! Readers fill this in whole; [`not_used`] is the one place that says what the planner does not take into account.

use arenascope_planner::lifetimes::Lifetime;
use arenascope_planner::workload::Warning;

/// Further wishes about one buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extras {
    /// What its offset must be a multiple of.
    pub(crate) align: Option<u64>,
    /// Parts of its lifetime in which its bytes are not needed.
    pub(crate) gaps: Vec<Lifetime>,
    /// Where it must be.
    pub(crate) fixed_offset: Option<u64>,
    /// Where it would best be.
    pub(crate) hint: Option<u64>,
}

/// One warning per kind of wish that is read and not planned with.
pub(crate) fn not_used(extras: &[Extras]) -> Vec<Warning> {
    let count = |has: fn(&Extras) -> bool| extras.iter().filter(|extra| has(extra)).count();
    let kinds: [(usize, &str); 4] = [
        (
            count(|extra| extra.align.is_some_and(|align| align > 1)),
            "an alignment of its own, which is not planned with: give the largest with --align",
        ),
        (count(|extra| !extra.gaps.is_empty()), "gaps in its lifetime, which is planned as if it were live throughout"),
        (count(|extra| extra.fixed_offset.is_some()), "a fixed offset, which a plan made here need not keep"),
        (count(|extra| extra.hint.is_some()), "a hint for its offset, which is not used"),
    ];
    let subject = |count: usize| if count == 1 { "1 buffer has".to_owned() } else { format!("{count} buffers each have") };
    let message = |(count, what): &(usize, &str)| Warning::general(format!("{} {what}", subject(*count)));
    kinds.iter().filter(|(count, _)| *count > 0).map(message).collect()
}
