//! The pruning rules of the search, each with a switch, so that a test can show that none changes an answer.

/// Which rules are on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rules {
    /// A refused buffer must rest on another one later: its minimum offset rises to the lowest possible top of one.
    pub(super) support_bump: bool,
    /// In each section the lowest minimum offset and the sizes still to place must fit below the ceiling.
    pub(super) section_floors: bool,
    /// A buffer that was refused is freed only by one that begins below the refused top.
    pub(super) dominance: bool,
    /// Buffers of equal size and lifetime are placed in one order only.
    pub(super) twins: bool,
    /// Where no unplaced buffer crosses a boundary the sides are solved one after the other.
    pub(super) regions: bool,
    /// Buffers that live throughout their part go below all others beforehand.
    pub(super) whole_buffers: bool,
    /// A dead end takes back all decisions up to the last one that it follows from. It needs the support bump: without
    /// it, minimum offsets do not tell why a waiting buffer lies above a placed one.
    pub(super) backjumps: bool,
    /// What a dead end follows from is remembered, also by later searches. It needs the backjumps, which find it out.
    pub(super) nogoods: bool,
}

impl Rules {
    /// Everything on.
    pub(super) const ALL: Self = Self {
        support_bump: true,
        section_floors: true,
        dominance: true,
        twins: true,
        regions: true,
        whole_buffers: true,
        backjumps: true,
        nogoods: true,
    };
}
