//! What was free inside the allocator's segments at any step, and whether a request would have fitted.
//!
//! Problem: a device can be full although bytes are free, because no free range is long enough.
//! Method: at one step, take the active blocks out of the held segments ([`fragmentation_at`], time
//! O(blocks + segments)); over all steps, keep the free ranges in a set while events are walked ([`walk`], time
//! O(events log free ranges)). The two share no code, and tests compare them.
//! Guarantee: exact as far as rounded sizes are (see [`Block::rounded_bytes`]).
//! A free range never crosses from one segment into the next, except in expandable segments.
//! Source: the statistics that PyTorch's caching allocator keeps (`allocated`, `active`, `reserved`), worked out anew.
//!
//! ```text
//! segment  |####....##..|     reserved 12, active 6, free 6, largest hole 4: a request of 5 does not fit
//! ```

use std::collections::BTreeMap;

use crate::ids::BufferId;
use crate::metrics::Curve;
use crate::ranges::{Change, RangeSet};
use crate::trace::{Action, Block, Segment, Trace};

/// Sums at one step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Levels {
    /// Bytes asked for by live blocks.
    pub requested_bytes: u64,
    /// Rounded bytes of blocks that their owners have not given back.
    pub rounded_bytes: u64,
    /// Rounded bytes of blocks that cannot be handed out again: those, and those given back but still in use by
    /// another stream.
    pub active_bytes: u64,
    /// Bytes of the segments held.
    pub reserved_bytes: u64,
    /// Bytes inside segments that no active block covers.
    pub free_bytes: u64,
    /// The longest free range.
    pub largest_hole_bytes: u64,
}

/// A free range inside a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FreeRange {
    /// Its first byte.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
    /// The segment it begins in: a position in [`Trace::segments`].
    pub segment: usize,
}

/// The free ranges at one step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fragmentation {
    /// Sums at the step.
    pub levels: Levels,
    /// Free ranges by address.
    pub holes: Vec<FreeRange>,
}

/// Whether a request fits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fit {
    /// Into this free range, the smallest that is long enough.
    Fits(FreeRange),
    /// Only into ranges that serve another stream, another pool, or requests of another size class.
    OnlyElsewhere(FreeRange),
    /// Into none: the longest has this many bytes.
    TooLarge {
        /// The longest free range.
        largest_hole_bytes: u64,
    },
}

/// Who asks for memory: a free range serves one stream of one pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Asker {
    /// A position in [`Trace::streams`].
    pub stream: u16,
    /// A position in [`Trace::pools`].
    pub pool: u16,
}

/// Requests up to this size are served from small segments only (`kSmallSize` in `CUDACachingAllocator.cpp`).
pub const SMALL_REQUEST_BYTES: u64 = 1 << 20;
/// Every size is rounded up to a multiple of this (`kMinBlockSize` in `CUDACachingAllocator.cpp`).
const UNIT_BYTES: u64 = 512;

impl Fragmentation {
    /// Would a request fit now, without asking the device for more?
    #[must_use]
    pub fn would_fit(&self, trace: &Trace, bytes: u64, asker: Asker) -> Fit {
        let needed = bytes.max(1).checked_next_multiple_of(UNIT_BYTES).unwrap_or(u64::MAX);
        let serves = |hole: &&FreeRange| {
            let segment = &trace.segments[hole.segment];
            let is_small = needed <= SMALL_REQUEST_BYTES;
            segment.stream == asker.stream && segment.pool == asker.pool && segment.is_small.is_none_or(|small| small == is_small)
        };
        let fitting = || self.holes.iter().filter(|hole| hole.bytes >= needed);
        let smallest = |hole: &&FreeRange| (hole.bytes, hole.address);
        match fitting().filter(serves).min_by_key(smallest) {
            Some(&hole) => Fit::Fits(hole),
            None => match fitting().min_by_key(smallest) {
                Some(&hole) => Fit::OnlyElsewhere(hole),
                None => Fit::TooLarge { largest_hole_bytes: self.levels.largest_hole_bytes },
            },
        }
    }
}

/// What is free at a step. Time O(blocks + segments + live log live).
#[must_use]
pub fn fragmentation_at(trace: &Trace, step: u64) -> Fragmentation {
    let live: Vec<&Block> = trace.blocks.iter().filter(|block| block.lifetime().contains(step)).collect();
    let mut used: Vec<(u64, u64)> = live.iter().map(|block| (block.address, block.address_end())).collect();
    used.sort_unstable();
    let mut held: Vec<(usize, &Segment)> = trace.segments.iter().enumerate().filter(|(_, segment)| segment.is_held_at(step)).collect();
    held.sort_unstable_by_key(|(index, segment)| (segment.address, *index));
    let mut holes: Vec<FreeRange> = Vec::new();
    let mut next = 0;
    let mut at = 0;
    for (index, segment) in &held {
        at = at.max(segment.address);
        while let Some(&(begin, end)) = used.get(next).filter(|(begin, _)| *begin < segment.address_end()) {
            push_hole(&mut holes, trace, *index, at, begin);
            at = at.max(end);
            next += 1;
        }
        push_hole(&mut holes, trace, *index, at, segment.address_end());
        at = at.max(segment.address_end());
    }
    let not_given_back = live.iter().filter(|block| step < u64::from(block.given_back));
    let levels = Levels {
        requested_bytes: live.iter().map(|block| block.requested_bytes).sum(),
        rounded_bytes: not_given_back.map(|block| block.rounded_bytes).sum(),
        active_bytes: live.iter().map(|block| block.rounded_bytes).sum(),
        reserved_bytes: held.iter().map(|(_, segment)| segment.bytes).sum(),
        free_bytes: holes.iter().map(|hole| hole.bytes).sum(),
        largest_hole_bytes: holes.iter().map(|hole| hole.bytes).max().unwrap_or(0),
    };
    Fragmentation { levels, holes }
}

/// Adds the free range from `begin` to `end`, joined with the one before it where an expandable segment goes on.
fn push_hole(holes: &mut Vec<FreeRange>, trace: &Trace, segment: usize, begin: u64, end: u64) {
    if begin >= end {
        return;
    }
    match holes.last_mut() {
        Some(last) if last.address + last.bytes == begin && trace.segments[last.segment].is_expandable && trace.segments[segment].is_expandable => {
            last.bytes += end - begin;
        }
        _ => holes.push(FreeRange { address: begin, bytes: end - begin, segment }),
    }
}

/// Sums at every step, in order. Time O(events log free ranges), space O(free ranges).
pub fn walk(trace: &Trace, mut visit: impl FnMut(u64, &Levels)) {
    let mut state = State::new(trace);
    visit(0, &state.levels());
    let mut births = trace.segments.iter().skip_while(|segment| segment.start == 0).peekable();
    let mut deaths: Vec<&Segment> = trace.segments.iter().collect();
    deaths.sort_by_key(|segment| segment.end);
    let mut deaths = deaths.into_iter().peekable();
    let mut lost = lost_blocks(trace).into_iter().peekable();
    for (step, event) in (1_u32..).zip(&trace.events) {
        while let Some(segment) = deaths.next_if(|segment| segment.end <= step) {
            state.drop_segment(segment);
        }
        while let Some(segment) = births.next_if(|segment| segment.start <= step) {
            state.hold_segment(segment);
        }
        while let Some(block) = lost.next_if(|block| block.end <= step) {
            state.event(Action::FreeCompleted, block, step);
        }
        if let Some(id) = event.block {
            state.event(event.action, trace.block(id), step);
        }
        visit(step.into(), &state.levels());
    }
}

/// Blocks whose release was not recorded, so that they end with an event about another one; by end.
fn lost_blocks(trace: &Trace) -> Vec<&Block> {
    let is_own = |id: usize, block: &Block| trace.event_at(block.end.into()).is_none_or(|event| event.block.map(BufferId::index) == Some(id));
    let mut lost: Vec<&Block> = trace.blocks.iter().enumerate().filter(|&(id, block)| !is_own(id, block)).map(|(_, block)| block).collect();
    lost.sort_by_key(|block| block.end);
    lost
}

/// The curves of [`walk`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceCurves {
    /// [`Levels::requested_bytes`].
    pub requested: Curve,
    /// [`Levels::rounded_bytes`].
    pub rounded: Curve,
    /// [`Levels::active_bytes`].
    pub active: Curve,
    /// [`Levels::reserved_bytes`].
    pub reserved: Curve,
    /// [`Levels::free_bytes`].
    pub free: Curve,
    /// [`Levels::largest_hole_bytes`].
    pub largest_hole: Curve,
}

/// All curves of a trace. Time as [`walk`], space O(events).
#[must_use]
pub fn trace_curves(trace: &Trace) -> TraceCurves {
    let mut curves: [Curve; 6] = std::array::from_fn(|_| Curve { steps: Vec::new(), bytes: Vec::new() });
    walk(trace, |step, levels| {
        let values =
            [levels.requested_bytes, levels.rounded_bytes, levels.active_bytes, levels.reserved_bytes, levels.free_bytes, levels.largest_hole_bytes];
        for (curve, bytes) in curves.iter_mut().zip(values) {
            if curve.bytes.last() != Some(&bytes) {
                curve.steps.push(step);
                curve.bytes.push(bytes);
            }
        }
    });
    for curve in &mut curves {
        curve.steps.push(trace.n_steps());
    }
    let [requested, rounded, active, reserved, free, largest_hole] = curves;
    TraceCurves { requested, rounded, active, reserved, free, largest_hole }
}

/// Free ranges and sums while events are walked.
struct State {
    levels: Levels,
    free: RangeSet,
    /// How many free ranges there are of each length.
    lengths: BTreeMap<u64, u32>,
    /// Held segments by address: end, and whether it is expandable.
    held: BTreeMap<u64, (u64, bool)>,
}

impl State {
    fn new(trace: &Trace) -> Self {
        let mut state = Self { levels: Levels::default(), free: RangeSet::default(), lengths: BTreeMap::new(), held: BTreeMap::new() };
        for segment in trace.segments.iter().take_while(|segment| segment.start == 0) {
            state.hold_segment(segment);
        }
        for block in trace.blocks.iter().filter(|block| block.start == 0) {
            state.take(block);
        }
        state
    }

    fn levels(&self) -> Levels {
        Levels { largest_hole_bytes: self.lengths.last_key_value().map_or(0, |(&length, _)| length), ..self.levels }
    }

    fn event(&mut self, action: Action, block: &Block, step: u32) {
        match action {
            Action::Alloc => self.take(block),
            Action::FreeRequested if block.given_back == step => self.give_back(block),
            _ => {}
        }
        if block.end == step {
            if block.given_back == step && action != Action::FreeRequested {
                self.give_back(block);
            }
            self.levels.requested_bytes -= block.requested_bytes;
            self.levels.active_bytes -= block.rounded_bytes;
            self.set_free(block.address, block.address_end());
        }
    }

    fn take(&mut self, block: &Block) {
        self.levels.requested_bytes += block.requested_bytes;
        self.levels.rounded_bytes += block.rounded_bytes;
        self.levels.active_bytes += block.rounded_bytes;
        let (lengths, levels) = (&mut self.lengths, &mut self.levels);
        self.free.remove(block.address, block.address_end(), |change| count(lengths, levels, change));
    }

    fn give_back(&mut self, block: &Block) {
        self.levels.rounded_bytes -= block.rounded_bytes;
    }

    fn hold_segment(&mut self, segment: &Segment) {
        self.levels.reserved_bytes += segment.bytes;
        self.held.insert(segment.address, (segment.address_end(), segment.is_expandable));
        self.set_free(segment.address, segment.address_end());
    }

    fn drop_segment(&mut self, segment: &Segment) {
        self.levels.reserved_bytes -= segment.bytes;
        self.held.remove(&segment.address);
        let (lengths, levels) = (&mut self.lengths, &mut self.levels);
        self.free.remove(segment.address, segment.address_end(), |change| count(lengths, levels, change));
    }

    /// Makes what of a range lies in held segments free.
    fn set_free(&mut self, begin: u64, end: u64) {
        let (held, lengths, levels) = (&self.held, &mut self.lengths, &mut self.levels);
        let before = held.range(..begin).next_back().filter(|(_, (held_end, _))| *held_end > begin);
        for (&held_begin, &(held_end, _)) in before.into_iter().chain(held.range(begin..end.max(begin))) {
            let joins = |at: u64| {
                let left = held.range(..at).next_back();
                let is_border = held.contains_key(&at);
                !is_border || (held.get(&at).is_some_and(|&(_, expandable)| expandable) && left.is_some_and(|(_, &(_, expandable))| expandable))
            };
            self.free.insert(begin.max(held_begin), end.min(held_end), joins, |change| count(lengths, levels, change));
        }
    }
}

/// Keeps the number of free ranges of each length, and their sum.
fn count(lengths: &mut BTreeMap<u64, u32>, levels: &mut Levels, change: Change) {
    match change {
        Change::New { begin, end } => {
            *lengths.entry(end - begin).or_default() += 1;
            levels.free_bytes += end - begin;
        }
        Change::Gone { begin, end } => {
            levels.free_bytes -= end - begin;
            if let Some(number) = lengths.get_mut(&(end - begin)) {
                *number -= 1;
                if *number == 0 {
                    lengths.remove(&(end - begin));
                }
            }
        }
    }
}
