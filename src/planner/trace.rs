//! A memory trace: what a real allocator did, event by event, at which addresses, and for which stack.
//!
//! A trace has no graph: its blocks have lifetimes already, and it enters the pipeline half way, with its observed
//! addresses as a plan to check, draw and compare.
//! [`crate::recording`] makes a trace from the events that a file lists; [`crate::fragmentation`] says what was free
//! at any step.
//!
//! # Steps
//!
//! Step 0 is the state before the first event; event `i` takes effect at step `i + 1`. A block that event `i`
//! allocates and event `j` frees lives in `[i + 1, j + 1)`; one that is there before the recording lives from step 0;
//! one that is never freed lives to the last step, [`Trace::n_steps`].

use crate::ids::BufferId;
use crate::lifetimes::Lifetime;
use crate::stacks::{StackId, StackTable, TextId};

/// What offsets keep of addresses; the caching allocator aligns blocks to as much, the host's allocator to less.
pub const KEPT_ALIGN: u64 = 512;

/// What an event does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Action {
    /// A block is handed out.
    Alloc,
    /// The owner gives a block back; another stream may still use it.
    FreeRequested,
    /// The block can be handed out again: the end of its life.
    FreeCompleted,
    /// A segment is taken from the device.
    SegmentAlloc,
    /// A segment is given back to the device.
    SegmentFree,
    /// Memory is mapped into an expandable segment.
    SegmentMap,
    /// Memory is unmapped from an expandable segment.
    SegmentUnmap,
    /// A snapshot was taken.
    Snapshot,
    /// An allocation failed.
    OutOfMemory,
    /// A mark that the user set.
    Mark,
    /// An action of a newer version; the text is its name.
    Other(TextId),
}

/// One event of the recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// What happens.
    pub action: Action,
    /// The first byte of the block or segment; 0 where there is none.
    pub address: u64,
    /// Bytes asked for (blocks), taken (segments), or asked for in vain (out of memory).
    pub bytes: u64,
    /// Microseconds since 1970 or since the profiler's epoch; `None` if not recorded.
    pub time_us: Option<i64>,
    /// Where it was called from.
    pub stack: StackId,
    /// The block that it allocates or frees; `None` for other events, and for frees of nothing.
    pub block: Option<BufferId>,
    /// A position in [`Trace::streams`].
    pub stream: u16,
    /// A position in [`Trace::pools`].
    pub pool: u16,
}

/// How a block relates to the recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Origin {
    /// Its allocation is an event.
    Traced,
    /// It is older than the first event, and freed by one.
    PreExistingFreed,
    /// It is older than the first event, and there at the end.
    PreExistingKept,
}

impl Origin {
    /// The word used in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Traced => "traced",
            Self::PreExistingFreed => "pre-existing, freed",
            Self::PreExistingKept => "pre-existing, kept",
        }
    }
}

/// A piece of memory between its allocation and its release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// Its first byte in the device's address space.
    pub address: u64,
    /// Bytes that the owner asked for; greater than 0.
    pub requested_bytes: u64,
    /// Bytes that the allocator set aside; exact for blocks that are there at the end, else the rule of rounding,
    /// which is a lower bound where a remainder was too small to be split off.
    pub rounded_bytes: u64,
    /// The first step at which it is live.
    pub start: u32,
    /// One past the last step at which it is live.
    pub end: u32,
    /// The step at which its owner gave it back; `end` if nobody did, or if it was free at once.
    pub given_back: u32,
    /// Where it was allocated.
    pub stack: StackId,
    /// Its name: the allocating line, or its address if no stack was recorded.
    pub label: TextId,
    /// How it relates to the recording.
    pub origin: Origin,
    /// A position in [`Trace::streams`].
    pub stream: u16,
    /// A position in [`Trace::pools`].
    pub pool: u16,
}

impl Block {
    /// When it is live.
    #[must_use]
    pub fn lifetime(&self) -> Lifetime {
        Lifetime { start: self.start.into(), end: self.end.into() }
    }

    /// Whether it is older than the first event.
    #[must_use]
    pub fn is_pre_existing(&self) -> bool {
        self.origin != Origin::Traced
    }

    /// One past its last byte.
    #[must_use]
    pub fn address_end(&self) -> u64 {
        self.address + self.rounded_bytes
    }
}

/// Memory that the allocator holds, while it holds it; of an expandable segment each mapped range is one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Its first byte.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
    /// The first step at which it is held; 0 if it is older than the recording.
    pub start: u32,
    /// One past the last such step.
    pub end: u32,
    /// Whether it serves small requests only; `None` if the file does not say.
    pub is_small: Option<bool>,
    /// Whether ranges that touch it belong to the same address range.
    pub is_expandable: bool,
    /// A position in [`Trace::streams`].
    pub stream: u16,
    /// A position in [`Trace::pools`].
    pub pool: u16,
}

impl Segment {
    /// One past its last byte.
    #[must_use]
    pub fn address_end(&self) -> u64 {
        self.address + self.bytes
    }

    /// Whether it is held at a step.
    #[must_use]
    pub fn is_held_at(&self, step: u64) -> bool {
        u64::from(self.start) <= step && step < u64::from(self.end)
    }
}

/// An allocation that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutOfMemory {
    /// The step at which it failed.
    pub step: u64,
    /// Bytes asked for.
    pub asked_bytes: u64,
    /// Bytes that the device had left; `None` if not recorded.
    pub device_free_bytes: Option<u64>,
    /// Where it was asked for.
    pub stack: StackId,
    /// A position in [`Trace::streams`].
    pub stream: u16,
    /// A position in [`Trace::pools`].
    pub pool: u16,
}

/// A named range or instant of the recording.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Annotation {
    /// Its name.
    pub name: String,
    /// `START`, `END`, or empty for an instant.
    pub stage: String,
    /// When, in the unit of [`Event::time_us`].
    pub time_us: Option<i64>,
    /// The first step at or after that time.
    pub step: u64,
}

/// A number of bytes over time that the file gives without saying which blocks it is made of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CategoryCurve {
    /// The category: `parameter`, `activation`, ….
    pub category: String,
    /// Bytes at each of [`Trace::category_times_us`].
    pub bytes: Vec<u64>,
}

/// Text that an event carries beyond its fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Note {
    /// The event.
    pub event: u32,
    /// What it is: the field's name in the file.
    pub field: TextId,
    /// The text.
    pub text: TextId,
}

/// Whether the events explain what the file says about their end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReplayCheck {
    /// Blocks that an event allocates and none frees.
    pub live_at_end: u64,
    /// Those of them that the file lists as active at the end.
    pub found_at_end: u64,
    /// Those of them that have the same requested size there.
    pub same_size: u64,
    /// Active blocks at the end that no event mentions.
    pub never_traced: u64,
    /// Frees of blocks that no event allocates.
    pub frees_of_untraced: u64,
    /// Requested bytes before the first event.
    pub pre_existing_bytes: u64,
    /// The largest sum of requested bytes at one step.
    pub peak_bytes: u64,
    /// Requested bytes after the last event.
    pub end_bytes: u64,
    /// Requested bytes of all active blocks that the file lists at the end; `None` if it lists no segments.
    pub listed_end_bytes: Option<u64>,
    /// Events that cannot be: frees of nothing, allocations over a live block, blocks without bytes.
    pub odd_events: u64,
}

impl ReplayCheck {
    /// Whether every block that should be there at the end is, at its size, and the sums agree.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        self.listed_end_bytes.is_none_or(|bytes| bytes == self.end_bytes && self.same_size == self.live_at_end)
    }
}

/// A memory trace. [`crate::recording::Recording::into_trace`] makes it.
#[derive(Clone, Debug)]
pub struct Trace {
    pub(crate) device: String,
    pub(crate) events: Vec<Event>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) segments: Vec<Segment>,
    pub(crate) stacks: StackTable,
    pub(crate) streams: Vec<u64>,
    pub(crate) pools: Vec<(i64, i64)>,
    pub(crate) annotations: Vec<Annotation>,
    pub(crate) notes: Vec<Note>,
    pub(crate) failures: Vec<OutOfMemory>,
    pub(crate) check: ReplayCheck,
    pub(crate) category_times_us: Vec<i64>,
    pub(crate) categories: Vec<CategoryCurve>,
}

impl Trace {
    /// The device, as the file calls it: `cuda:0`, `cpu`.
    #[must_use]
    pub fn device(&self) -> &str {
        &self.device
    }

    /// What happened, in order.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The blocks: pre-existing ones by address, then the others by birth. Their positions are the buffer ids of the
    /// problem.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The segments over time, by birth, then by address; empty if the file knows none.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Texts, frames and stacks.
    #[must_use]
    pub fn stacks(&self) -> &StackTable {
        &self.stacks
    }

    /// The streams, as the file numbers them.
    #[must_use]
    pub fn streams(&self) -> &[u64] {
        &self.streams
    }

    /// The pools, as the file numbers them; the first is the default pool.
    #[must_use]
    pub fn pools(&self) -> &[(i64, i64)] {
        &self.pools
    }

    /// Named ranges and instants, by step.
    #[must_use]
    pub fn annotations(&self) -> &[Annotation] {
        &self.annotations
    }

    /// What events carry beyond their fields, by event.
    #[must_use]
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Allocations that failed, by step.
    #[must_use]
    pub fn failures(&self) -> &[OutOfMemory] {
        &self.failures
    }

    /// Whether the events explain the end.
    #[must_use]
    pub fn check(&self) -> &ReplayCheck {
        &self.check
    }

    /// The times of the curves by category; empty if there are none.
    #[must_use]
    pub fn category_times_us(&self) -> &[i64] {
        &self.category_times_us
    }

    /// Curves by category; empty for traces with blocks.
    #[must_use]
    pub fn categories(&self) -> &[CategoryCurve] {
        &self.categories
    }

    /// How many steps there are: one more than events.
    #[must_use]
    pub fn n_steps(&self) -> u64 {
        self.events.len() as u64 + 1
    }

    /// One block.
    #[must_use]
    pub fn block(&self, id: BufferId) -> &Block {
        &self.blocks[id.index()]
    }

    /// The name of a block: its allocating line, or its address. Blocks of one line share it.
    #[must_use]
    pub fn block_label(&self, id: BufferId) -> &str {
        self.stacks.text(self.block(id).label)
    }

    /// The event that takes effect at a step; `None` for step 0 and past the end.
    #[must_use]
    pub fn event_at(&self, step: u64) -> Option<&Event> {
        usize::try_from(step.checked_sub(1)?).ok().and_then(|index| self.events.get(index))
    }

    /// The offset of each block in one arena, by block: addresses counted from the lowest one, with the gaps between
    /// segments (or between blocks, where no segments are known) left out.
    ///
    /// Addresses of one segment keep their distances, so that no two blocks share a byte that did not share it on the
    /// device; every address keeps its remainder by [`KEPT_ALIGN`], so that what was aligned stays aligned.
    /// Time O((blocks + segments) log), space O(blocks + segments).
    #[must_use]
    pub fn offsets(&self) -> Vec<u64> {
        let mut ranges: Vec<(u64, u64)> = self.segments.iter().map(|segment| (segment.address, segment.address_end())).collect();
        ranges.extend(self.blocks.iter().map(|block| (block.address, block.address_end())));
        ranges.sort_unstable();
        let mut merged: Vec<(u64, u64, u64)> = Vec::new();
        for (begin, end) in ranges {
            match merged.last_mut() {
                Some((_, last_end, _)) if begin <= *last_end => *last_end = end.max(*last_end),
                last => {
                    let top = last.map_or(begin % KEPT_ALIGN, |&mut (last_begin, last_end, last_base)| last_base + (last_end - last_begin));
                    merged.push((begin, end, top + (begin % KEPT_ALIGN + KEPT_ALIGN - top % KEPT_ALIGN) % KEPT_ALIGN));
                }
            }
        }
        let offset = |block: &Block| {
            let range = merged.partition_point(|&(begin, _, _)| begin <= block.address);
            let (begin, _, base) = merged[range.checked_sub(1).expect("every block is in a range")];
            base + (block.address - begin)
        };
        self.blocks.iter().map(offset).collect()
    }
}

/// The sums of one allocating line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineSum {
    /// The line.
    pub line: TextId,
    /// Its blocks.
    pub blocks: u64,
    /// Requested bytes of all its blocks.
    pub bytes: u64,
    /// Blocks of it that are live at the step asked for.
    pub live_blocks: u64,
    /// Requested bytes of those.
    pub live_bytes: u64,
}

/// Blocks by allocating line, the line with the most bytes live at `step` first, then the most bytes over all.
///
/// Time O(blocks + lines log lines).
#[must_use]
pub fn by_allocating_line(trace: &Trace, step: u64) -> Vec<LineSum> {
    let mut position: Vec<Option<usize>> = vec![None; trace.stacks.n_texts()];
    let mut sums: Vec<LineSum> = Vec::new();
    for block in &trace.blocks {
        let line = trace.stacks.line(block.stack);
        let at = *position[line.0 as usize].get_or_insert_with(|| {
            sums.push(LineSum { line, blocks: 0, bytes: 0, live_blocks: 0, live_bytes: 0 });
            sums.len() - 1
        });
        let sum = &mut sums[at];
        sum.blocks += 1;
        sum.bytes += block.requested_bytes;
        if block.lifetime().contains(step) {
            sum.live_blocks += 1;
            sum.live_bytes += block.requested_bytes;
        }
    }
    sums.sort_by_key(|sum| (std::cmp::Reverse((sum.live_bytes, sum.bytes)), sum.line));
    sums
}
