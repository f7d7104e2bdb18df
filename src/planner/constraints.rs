//! What a problem may ask for beyond sizes and lifetimes: one entry per rule, all optional.
//!
//! [`Constraints`] is filled entry by entry and validated as a whole by
//! [`Problem::with_constraints`](crate::problem::Problem::with_constraints).
//! The tables are sparse: a buffer without a rule of its own has no entry.

use std::collections::BTreeMap;

use crate::ids::{BufferId, PoolId};
use crate::lifetimes::Lifetime;
use crate::units::Align;

/// A kind of rule that a strategy may or may not be able to honour.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Feature {
    /// A buffer has an alignment of its own.
    Alignment,
    /// A buffer has a fixed offset.
    Pins,
    /// Bytes that no buffer may touch during some steps.
    Reserved,
    /// A buffer need not be kept in some of its steps.
    Gaps,
    /// A buffer lies at a byte offset inside another one.
    Views,
    /// Buffers that share one place.
    InPlace,
    /// More than one arena.
    Pools,
    /// No buffer may straddle the end of a chunk.
    Chunks,
}

impl Feature {
    /// All features, in the order in which they are reported.
    pub const ALL: [Self; 8] = [Self::Alignment, Self::Pins, Self::Reserved, Self::Gaps, Self::Views, Self::InPlace, Self::Pools, Self::Chunks];

    /// The words used in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Alignment => "alignment per buffer",
            Self::Pins => "fixed offsets",
            Self::Reserved => "reserved ranges",
            Self::Gaps => "lifetime gaps",
            Self::Views => "sub-views",
            Self::InPlace => "in-place groups",
            Self::Pools => "several pools",
            Self::Chunks => "a maximum chunk size",
        }
    }

    /// Why a strategy without this feature cannot plan a problem that has it.
    #[must_use]
    pub(crate) fn because(self) -> &'static str {
        match self {
            Self::Alignment => "it knows one alignment for all, and some buffers have their own (alignment per buffer)",
            Self::Pins => "it chooses every offset itself, and some are fixed (fixed offsets)",
            Self::Reserved => "it cannot keep out of bytes that are reserved (reserved ranges)",
            Self::Gaps => "it keeps every buffer from its first to its last step, and some have gaps (lifetime gaps)",
            Self::Views => "it places buffers one by one, and some lie inside another (sub-views)",
            Self::InPlace => "it places buffers one by one, and some share a place (in-place groups)",
            Self::Pools => "it plans one arena, and there are several (several pools)",
            Self::Chunks => "it cannot keep buffers from straddling chunks (a maximum chunk size)",
        }
    }
}

/// A set of features.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct FeatureSet(u16);

impl FeatureSet {
    /// No feature: sizes and lifetimes, one alignment, one arena.
    pub const NONE: Self = Self(0);

    /// The set of these features.
    #[must_use]
    pub const fn of(features: &[Feature]) -> Self {
        let mut bits = 0;
        let mut at = 0;
        while at < features.len() {
            bits |= 1 << features[at] as u16;
            at += 1;
        }
        Self(bits)
    }

    /// Whether a feature is in the set.
    #[must_use]
    pub const fn has(self, feature: Feature) -> bool {
        self.0 & (1 << feature as u16) != 0
    }

    /// The first feature of this set that `other` lacks.
    #[must_use]
    pub fn first_beyond(self, other: Self) -> Option<Feature> {
        self.iter().find(|&feature| !other.has(feature))
    }

    /// The features in the set, in the order of [`Feature::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Feature> {
        Feature::ALL.into_iter().filter(move |&feature| self.has(feature))
    }
}

/// Steps in which a buffer need not be kept, or only some bytes of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Gap {
    /// The steps; within the buffer's lifetime.
    pub lifetime: Lifetime,
    /// The bytes that must be kept all the same, counted from the buffer's first byte: first and one past the last.
    /// `None` if nothing must be kept.
    pub window: Option<(u64, u64)>,
}

/// Where a buffer lies inside another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct SubView {
    /// The buffer that it lies in.
    pub of: BufferId,
    /// Its first byte, counted from the first byte of that buffer.
    pub at_byte: u64,
}

/// Bytes that no buffer may touch during some steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Reserved {
    /// The pool; the first one where there is only one.
    pub pool: PoolId,
    /// The steps.
    pub lifetime: Lifetime,
    /// The first reserved byte.
    pub from_byte: u64,
    /// One past the last reserved byte.
    pub to_byte: u64,
}

/// A memory that buffers can be placed in: an arena of its own.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Pool {
    /// Its name, such as `SRAM`; may be empty.
    pub name: String,
    /// How many bytes it has; `None` without a limit.
    pub capacity_bytes: Option<u64>,
}

/// The rules of a problem beyond sizes and lifetimes; empty by default.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Constraints {
    pub(crate) aligns: BTreeMap<BufferId, Align>,
    pub(crate) pins: BTreeMap<BufferId, u64>,
    pub(crate) gaps: BTreeMap<BufferId, Vec<Gap>>,
    pub(crate) views: BTreeMap<BufferId, SubView>,
    pub(crate) in_place: Vec<(BufferId, BufferId)>,
    pub(crate) reserved: Vec<Reserved>,
    pub(crate) pools: Vec<Pool>,
    pub(crate) preferences: BTreeMap<BufferId, Vec<PoolId>>,
    pub(crate) max_chunk_bytes: Option<u64>,
}

impl Constraints {
    /// The buffer's offset must be a multiple of `align` as well as of the problem's alignment.
    pub fn set_align(&mut self, buffer: BufferId, align: Align) -> &mut Self {
        self.aligns.insert(buffer, align);
        self
    }

    /// The buffer must be at `offset` of its pool; the problem's own alignment does not apply to it.
    pub fn pin(&mut self, buffer: BufferId, offset: u64) -> &mut Self {
        self.pins.insert(buffer, offset);
        self
    }

    /// The buffer need not be kept during `lifetime`, except for the bytes of `window` if there is one.
    pub fn add_gap(&mut self, buffer: BufferId, lifetime: Lifetime, window: Option<(u64, u64)>) -> &mut Self {
        self.gaps.entry(buffer).or_default().push(Gap { lifetime, window });
        self
    }

    /// The buffer must be kept only during these ranges, which are sorted and do not meet; what lies between them
    /// becomes gaps. Its lifetime must span them.
    pub fn set_live_ranges(&mut self, buffer: BufferId, ranges: &[Lifetime]) -> &mut Self {
        for pair in ranges.windows(2) {
            self.add_gap(buffer, Lifetime { start: pair[0].end, end: pair[1].start }, None);
        }
        self
    }

    /// `view` lies `at_byte` bytes into `of` and takes no bytes of its own.
    pub fn set_view(&mut self, view: BufferId, of: BufferId, at_byte: u64) -> &mut Self {
        self.views.insert(view, SubView { of, at_byte });
        self
    }

    /// Both buffers have the same offset, and may hold the same bytes at the same step.
    pub fn share_place(&mut self, one: BufferId, two: BufferId) -> &mut Self {
        self.in_place.push((one, two));
        self
    }

    /// No buffer may touch these bytes during these steps.
    pub fn reserve(&mut self, reserved: Reserved) -> &mut Self {
        self.reserved.push(reserved);
        self
    }

    /// Adds a pool. A single one is the arena with its capacity; without any there is one arena without a limit.
    pub fn add_pool(&mut self, pool: Pool) -> PoolId {
        self.pools.push(pool);
        PoolId::new(self.pools.len() - 1)
    }

    /// The buffer may only be in these pools, the best first. A buffer without preferences may be in all, in order.
    pub fn prefer(&mut self, buffer: BufferId, pools: Vec<PoolId>) -> &mut Self {
        self.preferences.insert(buffer, pools);
        self
    }

    /// No buffer may straddle a multiple of `bytes`.
    pub fn limit_chunks(&mut self, bytes: u64) -> &mut Self {
        self.max_chunk_bytes = Some(bytes);
        self
    }

    /// Gives `to` the alignment and the gaps that `from` has in `other`: what concerns one buffer alone, in one arena.
    pub(crate) fn copy_own(&mut self, to: BufferId, other: &Self, from: BufferId) {
        if let Some(align) = other.align(from) {
            self.set_align(to, align);
        }
        for gap in other.gaps(from) {
            self.add_gap(to, gap.lifetime, gap.window);
        }
    }

    /// The buffer's own alignment.
    #[must_use]
    pub fn align(&self, buffer: BufferId) -> Option<Align> {
        self.aligns.get(&buffer).copied()
    }

    /// Where the buffer must be.
    #[must_use]
    pub fn pinned(&self, buffer: BufferId) -> Option<u64> {
        self.pins.get(&buffer).copied()
    }

    /// When the buffer need not be kept.
    #[must_use]
    pub fn gaps(&self, buffer: BufferId) -> &[Gap] {
        self.gaps.get(&buffer).map_or(&[], Vec::as_slice)
    }

    /// What the buffer lies in.
    #[must_use]
    pub fn view(&self, buffer: BufferId) -> Option<SubView> {
        self.views.get(&buffer).copied()
    }

    /// Pairs of buffers that share a place.
    #[must_use]
    pub fn in_place(&self) -> &[(BufferId, BufferId)] {
        &self.in_place
    }

    /// The bytes that no buffer may touch.
    #[must_use]
    pub fn reserved(&self) -> &[Reserved] {
        &self.reserved
    }

    /// The pools; empty if there is one arena.
    #[must_use]
    pub fn pools(&self) -> &[Pool] {
        &self.pools
    }

    /// The pools that the buffer may be in, as they were given; `None` for all.
    #[must_use]
    pub fn preferences(&self, buffer: BufferId) -> Option<&[PoolId]> {
        self.preferences.get(&buffer).map(Vec::as_slice)
    }

    /// What no buffer may straddle a multiple of.
    #[must_use]
    pub fn max_chunk_bytes(&self) -> Option<u64> {
        self.max_chunk_bytes
    }

    /// Which kinds of rules there are.
    #[must_use]
    pub fn features(&self) -> FeatureSet {
        let has = |feature: Feature| match feature {
            Feature::Alignment => !self.aligns.is_empty(),
            Feature::Pins => !self.pins.is_empty(),
            Feature::Reserved => !self.reserved.is_empty(),
            Feature::Gaps => !self.gaps.is_empty(),
            Feature::Views => !self.views.is_empty(),
            Feature::InPlace => !self.in_place.is_empty(),
            Feature::Pools => self.pools.len() > 1,
            Feature::Chunks => self.max_chunk_bytes.is_some(),
        };
        let present: Vec<Feature> = Feature::ALL.into_iter().filter(|&feature| has(feature)).collect();
        FeatureSet::of(&present)
    }
}

/// One rule that contradicts the buffers or another rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConstraintError {
    /// A rule is about a buffer that does not exist.
    #[error("{rule} for buffer {buffer}, but there are only {n_buffers} buffers")]
    UnknownBuffer {
        /// What kind of rule.
        rule: &'static str,
        /// The buffer that it names.
        buffer: BufferId,
        /// How many there are.
        n_buffers: usize,
    },
    /// A rule is about a pool that does not exist.
    #[error("{rule} in pool {pool}, but there are only {n_pools} pools")]
    UnknownPool {
        /// What kind of rule.
        rule: &'static str,
        /// The pool that it names.
        pool: PoolId,
        /// How many there are.
        n_pools: usize,
    },
    /// A buffer has no pool that it and all that share its place may be in.
    #[error("buffer {buffer} has no pool: it, what it lies in and what shares its place allow none in common")]
    NoPool {
        /// The buffer.
        buffer: BufferId,
    },
    /// A gap is not inside the lifetime, covers no step, or meets another gap.
    #[error(
        "buffer {buffer}: gap [{start}, {end}) must cover a step, lie within the lifetime [{life_start}, {life_end}) and begin after the gap before it"
    )]
    BadGap {
        /// The buffer.
        buffer: BufferId,
        /// First step of the gap.
        start: u64,
        /// One past its last step.
        end: u64,
        /// First step of the lifetime.
        life_start: u64,
        /// One past its last step.
        life_end: u64,
    },
    /// The bytes kept in a gap are not bytes of the buffer.
    #[error("buffer {buffer}: bytes {from} to {to} kept in a gap are none of its {size_bytes} bytes")]
    BadWindow {
        /// The buffer.
        buffer: BufferId,
        /// First byte kept.
        from: u64,
        /// One past the last byte kept.
        to: u64,
        /// The buffer's size.
        size_bytes: u64,
    },
    /// Gaps cover the whole lifetime.
    #[error("buffer {buffer}: its gaps leave no step in which it is kept; leave it out")]
    NeverKept {
        /// The buffer.
        buffer: BufferId,
    },
    /// A view reaches beyond the buffer that it lies in.
    #[error("buffer {view} of {bytes} bytes at byte {at_byte} of buffer {of} reaches beyond its {of_bytes} bytes")]
    ViewOutside {
        /// The view.
        view: BufferId,
        /// What it lies in.
        of: BufferId,
        /// Where.
        at_byte: u64,
        /// The view's size.
        bytes: u64,
        /// The size of what it lies in.
        of_bytes: u64,
    },
    /// Views, in-place groups or pins put one buffer in two places.
    #[error("buffer {buffer} would have to be in two places: its views, in-place groups and fixed offsets contradict each other")]
    TwoPlaces {
        /// The buffer.
        buffer: BufferId,
    },
    /// No offset suits all alignments of what shares a place, or an alignment is too large.
    #[error("buffer {buffer}: no offset suits its alignment of {align} bytes and those of what shares its place; alignments go up to 2^32")]
    AlignsDisagree {
        /// The buffer.
        buffer: BufferId,
        /// The alignment that does not fit.
        align: u64,
    },
    /// A fixed offset is no multiple of the buffer's own alignment.
    #[error("buffer {buffer} is fixed at byte {offset}, which does not suit its own alignment or that of what shares its place")]
    PinMisaligned {
        /// The buffer.
        buffer: BufferId,
        /// Where it is fixed.
        offset: u64,
    },
    /// Offsets end at 2^62.
    #[error("byte {to_byte} of {what} is beyond 2^62")]
    TooFar {
        /// A fixed buffer or a reserved range.
        what: &'static str,
        /// One past its last byte.
        to_byte: u64,
    },
    /// Two fixed buffers need one byte at one step.
    #[error("buffers {a} and {b} are fixed on bytes that both need at step {step}")]
    PinsCollide {
        /// The one with the smaller id.
        a: BufferId,
        /// The other one.
        b: BufferId,
        /// The first such step.
        step: u64,
    },
    /// A fixed buffer needs a reserved byte.
    #[error("buffer {buffer} is fixed on bytes that are reserved at step {step}")]
    PinOnReserved {
        /// The buffer.
        buffer: BufferId,
        /// The first such step.
        step: u64,
    },
    /// A reserved range covers no byte or no step.
    #[error("reserved bytes {from_byte} to {to_byte} in steps {start} to {end} (ends excluded) cover nothing")]
    EmptyReserved {
        /// First byte.
        from_byte: u64,
        /// One past the last byte.
        to_byte: u64,
        /// First step.
        start: u64,
        /// One past the last step.
        end: u64,
    },
    /// A buffer does not fit into a chunk.
    #[error("buffer {buffer} of {bytes} bytes does not fit into a chunk of {chunk_bytes} bytes where it must be")]
    ChunkTooSmall {
        /// The buffer.
        buffer: BufferId,
        /// Its size, with all that shares its place.
        bytes: u64,
        /// The size of a chunk.
        chunk_bytes: u64,
    },
    /// The chunk size and an alignment do not divide each other.
    #[error("a maximum chunk of {chunk_bytes} bytes and the alignment of {align} bytes of buffer {buffer}: one must be a multiple of the other")]
    ChunkUnaligned {
        /// The buffer.
        buffer: BufferId,
        /// Its alignment.
        align: u64,
        /// The size of a chunk.
        chunk_bytes: u64,
    },
}
