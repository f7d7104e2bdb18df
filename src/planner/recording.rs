//! From what a file lists to a trace: events are paired to blocks, and what is older than the recording is found.
//!
//! Problem: a recording keeps the last events only and often starts late, so that most blocks in use have no
//! allocation event.
//! Method: walk the events with the live blocks by address. A free of an address that is not live belongs to a block
//! that is older than the recording; so does every active block at the end whose address is not live there.
//! Segments are walked backwards from those at the end to those at the start, then forwards.
//! Guarantee: the sum at the end equals the active blocks at the end if the recording lost no event in its middle;
//! [`ReplayCheck`] says whether it does.
//! Time O(events log segments), space O(events).
//! Source: the order in which the caching allocator of PyTorch records (`CUDACachingAllocator.cpp`).
//!
//! ```text
//! events      free A, alloc B, alloc A, free B        active at the end: A (new), C
//! older       A (freed by the first event), C (never mentioned)
//! ```

use std::collections::{BTreeMap, HashMap};

use crate::ids::BufferId;
use crate::ranges::RangeSet;
use crate::stacks::{StackId, StackTable, TextId};
use crate::trace::{Action, Annotation, Block, CategoryCurve, Event, Note, Origin, OutOfMemory, ReplayCheck, Segment, Trace};

/// A block that is in use when the recording ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndBlock {
    /// Its first byte.
    pub address: u64,
    /// Bytes asked for.
    pub requested_bytes: u64,
    /// Bytes set aside.
    pub rounded_bytes: u64,
    /// Where it was allocated; empty if not kept.
    pub stack: StackId,
    /// A position in [`Recording::streams`].
    pub stream: u16,
    /// A position in [`Recording::pools`].
    pub pool: u16,
}

/// How an allocator rounds a request up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rounding {
    /// Every size is a multiple of this; at least 1.
    pub unit_bytes: u64,
    /// Into how many parts a power of two is divided, for sizes from 2^(20 + index) bytes on; empty if not used.
    pub power_of_two_divisions: Vec<u64>,
}

impl Rounding {
    /// No rounding: what is asked for is set aside.
    #[must_use]
    pub fn none() -> Self {
        Self { unit_bytes: 1, power_of_two_divisions: Vec::new() }
    }

    /// What a request of `bytes` takes, without a remainder that was not split off.
    #[must_use]
    pub fn round_up(&self, bytes: u64) -> u64 {
        let unit = self.unit_bytes.max(1);
        let exponent = bytes.max(1).ilog2();
        let index = usize::try_from(exponent.saturating_sub(20)).unwrap_or(0);
        let divisions = self.power_of_two_divisions.get(index).or(self.power_of_two_divisions.last()).copied().unwrap_or(0);
        let part = if divisions > 1 && divisions.is_power_of_two() && bytes > unit.saturating_mul(divisions) {
            ((1_u64 << exponent) / divisions).max(1)
        } else {
            unit
        };
        bytes.max(1).checked_next_multiple_of(part).unwrap_or(bytes)
    }
}

/// What a file lists, before it is understood.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The device, as the file calls it.
    pub device: String,
    /// The events in order; their `block` is not looked at.
    pub events: Vec<Event>,
    /// Blocks in use at the end; `None` if the file does not say.
    pub end_blocks: Option<Vec<EndBlock>>,
    /// Segments held at the end; `start` and `end` are not looked at.
    pub end_segments: Vec<Segment>,
    /// Bytes in use before the first event; `None` if the file does not say. What the events do not account for becomes
    /// one block of unknown address, placed above all others.
    pub bytes_before: Option<u64>,
    /// How requests are rounded up.
    pub rounding: Rounding,
    /// Texts, frames and stacks that the events refer to.
    pub stacks: StackTable,
    /// The streams that events refer to by position.
    pub streams: Vec<u64>,
    /// The pools that events refer to by position.
    pub pools: Vec<(i64, i64)>,
    /// Named ranges and instants; their `step` is not looked at.
    pub annotations: Vec<Annotation>,
    /// What events carry beyond their fields, by event.
    pub notes: Vec<Note>,
    /// What the device had left when an allocation failed, by event.
    pub device_free: Vec<(u32, u64)>,
    /// The times of the curves by category.
    pub category_times_us: Vec<i64>,
    /// Curves by category, for files that hold nothing else.
    pub categories: Vec<CategoryCurve>,
}

/// One rule of a recording that the input broke.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordingError {
    /// More events or blocks than ids.
    #[error("{n_events} events and {n_blocks} blocks are more than the {} that can be told apart", MAX_COUNT)]
    TooMany {
        /// Events in the input.
        n_events: usize,
        /// Blocks at the end in the input.
        n_blocks: usize,
    },
    /// The sizes do not add up in 62 bits.
    #[error("event {event}: its {bytes} bytes bring the sum of all sizes over 2^62 bytes")]
    SizeOverflow {
        /// The event, counted from 0; the number of events for a block or segment at the end.
        event: usize,
        /// Its size.
        bytes: u64,
    },
    /// A range of addresses ends beyond 64 bits.
    #[error("event {event}: {bytes} bytes from address {address:#x} on end beyond 64 bits")]
    AddressOverflow {
        /// The event, counted from 0; the number of events for a block or segment at the end.
        event: usize,
        /// The first byte.
        address: u64,
        /// The size.
        bytes: u64,
    },
}

/// Events and blocks that 31 bits can count: one bit tells pre-existing blocks apart while they are found.
const MAX_COUNT: usize = (1 << 31) - 1;
/// Sums below this stay far from overflow wherever two of them are added.
const MAX_TOTAL_BYTES: u64 = 1 << 62;
/// Where the block of unknown address may begin: as real blocks do.
const UNKNOWN_ALIGN: u64 = 512;
/// Marks the position of a pre-existing block before all of them are known.
const OLD: u32 = 1 << 31;
/// Stands for the live block at an address whose block was freed.
const DEAD: u32 = u32::MAX;

impl Recording {
    /// A recording without anything in it.
    #[must_use]
    pub fn empty(device: impl Into<String>, stacks: StackTable) -> Self {
        Self {
            device: device.into(),
            events: Vec::new(),
            end_blocks: None,
            end_segments: Vec::new(),
            bytes_before: None,
            rounding: Rounding::none(),
            stacks,
            streams: vec![0],
            pools: vec![(0, 0)],
            annotations: Vec::new(),
            notes: Vec::new(),
            device_free: Vec::new(),
            category_times_us: Vec::new(),
            categories: Vec::new(),
        }
    }

    /// Pairs events to blocks and finds what is older than the recording.
    ///
    /// # Errors
    /// Sizes or addresses that do not fit into their numbers.
    pub fn into_trace(mut self) -> Result<Trace, RecordingError> {
        check_numbers(&self)?;
        let segments = segments_over_time(&self.events, &self.end_segments);
        let end_step = u32::try_from(self.events.len() + 1).expect("the number of events was checked");
        let mut pairing = Pairing::new(&self.rounding, end_step);
        for (index, event) in self.events.iter_mut().enumerate() {
            event.block = pairing.event(index, event).map(BufferId);
        }
        let end_blocks = self.end_blocks.take();
        pairing.reconcile(end_blocks.as_deref());
        pairing.account_for(self.bytes_before.unwrap_or(0));
        let Pairing { mut check, older, traced, .. } = pairing;
        let blocks = join(older, traced, &mut self.events);
        check.listed_end_bytes = end_blocks.map(|blocks| blocks.iter().map(|block| block.requested_bytes).sum());
        sum_up(&mut check, &blocks, end_step);
        let blocks = with_labels(blocks, &mut self.stacks);
        Ok(Trace {
            failures: failures(&self.events, &self.device_free),
            annotations: with_steps(self.annotations, &self.events),
            device: self.device,
            events: self.events,
            blocks,
            segments,
            stacks: self.stacks,
            streams: self.streams,
            pools: self.pools,
            notes: self.notes,
            check,
            category_times_us: self.category_times_us,
            categories: self.categories,
        })
    }
}

fn check_numbers(recording: &Recording) -> Result<(), RecordingError> {
    let end_blocks = recording.end_blocks.as_deref().unwrap_or_default();
    let (n_events, n_blocks) = (recording.events.len(), end_blocks.len());
    if n_events.saturating_add(n_blocks) >= MAX_COUNT {
        return Err(RecordingError::TooMany { n_events, n_blocks });
    }
    let of_events = recording.events.iter().enumerate().map(|(index, event)| (index, event.address, event.bytes));
    let of_end = end_blocks.iter().map(|block| (n_events, block.address, block.rounded_bytes.max(block.requested_bytes)));
    let before = recording.bytes_before.map(|bytes| (n_events, 0, bytes));
    let of_segments = recording.end_segments.iter().map(|segment| (n_events, segment.address, segment.bytes));
    let mut total = 0_u64;
    for (event, address, bytes) in of_events.chain(of_end).chain(of_segments).chain(before) {
        // A rounded size is below twice the size plus a unit, which keeps it within the limits as well.
        let room = bytes.checked_mul(2).and_then(|twice| twice.checked_add(recording.rounding.unit_bytes));
        let sum = room.and_then(|room| total.checked_add(room)).filter(|&sum| sum < MAX_TOTAL_BYTES);
        total = sum.ok_or(RecordingError::SizeOverflow { event, bytes })?;
        if address.checked_add(room.unwrap_or(u64::MAX)).is_none() {
            return Err(RecordingError::AddressOverflow { event, address, bytes });
        }
    }
    Ok(())
}

/// The state while events are walked.
struct Pairing<'a> {
    rounding: &'a Rounding,
    end_step: u32,
    /// The live block at an address: a position in `traced`, or in `older` with [`OLD`] set.
    live: HashMap<u64, u32>,
    older: Vec<Block>,
    traced: Vec<Block>,
    check: ReplayCheck,
}

impl<'a> Pairing<'a> {
    fn new(rounding: &'a Rounding, end_step: u32) -> Self {
        Self { rounding, end_step, live: HashMap::new(), older: Vec::new(), traced: Vec::new(), check: ReplayCheck::default() }
    }

    /// Takes an event in; the block it is about, if any.
    fn event(&mut self, index: usize, event: &Event) -> Option<u32> {
        let step = u32::try_from(index + 1).expect("the number of events was checked");
        match event.action {
            Action::Alloc if event.bytes == 0 => self.odd(),
            Action::Alloc => Some(self.alloc(step, event)),
            Action::FreeRequested => {
                let id = self.live_or_older(event)?;
                self.block_mut(id).given_back = step;
                Some(id)
            }
            Action::FreeCompleted => {
                let id = self.live_or_older(event)?;
                self.live.insert(event.address, DEAD);
                if id & OLD != 0 {
                    self.check.frees_of_untraced += 1;
                    self.block_mut(id).origin = Origin::PreExistingFreed;
                }
                self.close(id, step);
                Some(id)
            }
            _ => None,
        }
    }

    fn odd(&mut self) -> Option<u32> {
        self.check.odd_events += 1;
        None
    }

    fn alloc(&mut self, step: u32, event: &Event) -> u32 {
        let id = u32::try_from(self.traced.len()).expect("there are no more blocks than events");
        self.traced.push(self.block(event, step, event.stack, Origin::Traced));
        if let Some(lost) = self.live.insert(event.address, id).filter(|&lost| lost != DEAD) {
            self.check.odd_events += 1;
            self.close(lost, step);
        }
        id
    }

    /// The live block at an event's address, or a new one of which only its release speaks.
    fn live_or_older(&mut self, event: &Event) -> Option<u32> {
        match self.live.get(&event.address) {
            Some(&DEAD) => return self.odd(),
            Some(&id) => return Some(id),
            None if event.bytes == 0 => return self.odd(),
            None => {}
        }
        let id = OLD | u32::try_from(self.older.len()).expect("there are no more blocks than events");
        self.older.push(self.block(event, 0, StackId::EMPTY, Origin::PreExistingKept));
        self.live.insert(event.address, id);
        Some(id)
    }

    fn block(&self, event: &Event, start: u32, stack: StackId, origin: Origin) -> Block {
        Block {
            address: event.address,
            requested_bytes: event.bytes,
            rounded_bytes: self.rounding.round_up(event.bytes),
            start,
            end: self.end_step,
            given_back: self.end_step,
            stack,
            label: TextId(0),
            origin,
            stream: event.stream,
            pool: event.pool,
        }
    }

    fn block_mut(&mut self, id: u32) -> &mut Block {
        let index = (id & !OLD) as usize;
        if id & OLD == 0 { &mut self.traced[index] } else { &mut self.older[index] }
    }

    fn close(&mut self, id: u32, step: u32) {
        let block = self.block_mut(id);
        block.end = step;
        block.given_back = block.given_back.min(step);
    }

    /// Compares the live blocks with those that the file lists at the end, and adds the ones that no event mentions.
    fn reconcile(&mut self, end_blocks: Option<&[EndBlock]>) {
        self.live.retain(|_, &mut id| id != DEAD);
        self.check.live_at_end = self.live.values().filter(|&&id| id & OLD == 0).count() as u64;
        let Some(end_blocks) = end_blocks else { return };
        let mut at_end: HashMap<u64, u32> = std::mem::take(&mut self.live);
        for end in end_blocks.iter().filter(|block| block.requested_bytes > 0) {
            let Some(id) = at_end.remove(&end.address) else {
                self.check.never_traced += 1;
                self.older.push(self.untraced(end));
                continue;
            };
            if id & OLD == 0 {
                self.check.found_at_end += 1;
                self.check.same_size += u64::from(self.block_mut(id).requested_bytes == end.requested_bytes);
            }
            let block = self.block_mut(id);
            block.rounded_bytes = end.rounded_bytes.max(block.requested_bytes);
        }
        // Given back, never seen again, and not there at the end: gone when it was given back.
        let mut gone: Vec<u32> = at_end.into_values().filter(|id| id & OLD != 0).collect();
        gone.sort_unstable();
        for id in gone {
            self.check.odd_events += 1;
            let block = self.block_mut(id);
            (block.end, block.origin) = (block.given_back, Origin::PreExistingFreed);
        }
    }

    /// Adds what was in use before the first event beyond the older blocks that are known.
    fn account_for(&mut self, bytes_before: u64) {
        let known: u64 = self.older.iter().map(|block| block.requested_bytes).sum();
        let top = self.older.iter().chain(&self.traced).map(Block::address_end).max().unwrap_or(0);
        let rest = bytes_before.saturating_sub(known);
        let address = top.checked_next_multiple_of(UNKNOWN_ALIGN).filter(|address| address.checked_add(rest).is_some());
        if let Some(address) = address.filter(|_| rest > 0) {
            let (stack, stream, pool) = (StackId::EMPTY, 0, 0);
            self.older.push(self.untraced(&EndBlock { address, requested_bytes: rest, rounded_bytes: rest, stack, stream, pool }));
        }
    }

    fn untraced(&self, end: &EndBlock) -> Block {
        Block {
            address: end.address,
            requested_bytes: end.requested_bytes,
            rounded_bytes: end.rounded_bytes.max(end.requested_bytes),
            start: 0,
            end: self.end_step,
            given_back: self.end_step,
            stack: end.stack,
            label: TextId(0),
            origin: Origin::PreExistingKept,
            stream: end.stream,
            pool: end.pool,
        }
    }
}

/// Older blocks by address, then the traced ones; events get the final positions.
fn join(older: Vec<Block>, mut traced: Vec<Block>, events: &mut [Event]) -> Vec<Block> {
    let n_older = u32::try_from(older.len()).expect("the number of blocks was checked");
    let mut order: Vec<u32> = (0..n_older).collect();
    order.sort_by_key(|&index| (older[index as usize].address, older[index as usize].end, index));
    let mut rank = vec![0_u32; older.len()];
    for (position, &index) in (0_u32..).zip(&order) {
        rank[index as usize] = position;
    }
    for event in events {
        event.block = event.block.map(|BufferId(id)| BufferId(if id & OLD == 0 { id + n_older } else { rank[(id & !OLD) as usize] }));
    }
    if older.is_empty() {
        return traced;
    }
    let mut blocks: Vec<Block> = order.iter().map(|&index| older[index as usize]).collect();
    blocks.append(&mut traced);
    blocks
}

fn sum_up(check: &mut ReplayCheck, blocks: &[Block], end_step: u32) {
    let mut births: Vec<(u32, u64)> = blocks.iter().map(|block| (block.start, block.requested_bytes)).collect();
    let mut deaths: Vec<(u32, u64)> = blocks.iter().map(|block| (block.end, block.requested_bytes)).collect();
    births.sort_unstable();
    deaths.sort_unstable();
    let (mut live, mut n_dead) = (0_u64, 0);
    for (start, bytes) in births {
        while deaths[n_dead].0 <= start {
            live -= deaths[n_dead].1;
            n_dead += 1;
        }
        live += bytes;
        check.peak_bytes = check.peak_bytes.max(live);
    }
    let sum = |blocks: &mut dyn Iterator<Item = &Block>| blocks.map(|block| block.requested_bytes).sum();
    check.pre_existing_bytes = sum(&mut blocks.iter().filter(|block| block.is_pre_existing()));
    check.end_bytes = sum(&mut blocks.iter().filter(|block| block.end == end_step));
}

/// Names blocks by their allocating line, or by their address where there is no stack.
fn with_labels(mut blocks: Vec<Block>, stacks: &mut StackTable) -> Vec<Block> {
    let mut by_address: HashMap<u64, TextId> = HashMap::new();
    for block in &mut blocks {
        block.label = stacks.line(block.stack);
        if stacks.text(block.label).is_empty() {
            block.label = *by_address.entry(block.address).or_insert_with(|| stacks.text_id(&format!("{:#x}", block.address)));
        }
    }
    blocks
}

fn failures(events: &[Event], device_free: &[(u32, u64)]) -> Vec<OutOfMemory> {
    let free: HashMap<usize, u64> = device_free.iter().map(|&(event, bytes)| (event as usize, bytes)).collect();
    let failed = events.iter().enumerate().filter(|(_, event)| event.action == Action::OutOfMemory);
    failed
        .map(|(index, event)| OutOfMemory {
            step: index as u64 + 1,
            asked_bytes: event.bytes,
            device_free_bytes: free.get(&index).copied(),
            stack: event.stack,
            stream: event.stream,
            pool: event.pool,
        })
        .collect()
}

/// Places annotations among the events by time; those without a time keep the order and get step 0.
fn with_steps(mut annotations: Vec<Annotation>, events: &[Event]) -> Vec<Annotation> {
    let mut latest = i64::MIN;
    let times: Vec<i64> = if annotations.is_empty() {
        Vec::new()
    } else {
        let not_before = |event: &Event| {
            latest = latest.max(event.time_us.unwrap_or(latest));
            latest
        };
        events.iter().map(not_before).collect()
    };
    for annotation in &mut annotations {
        annotation.step = annotation.time_us.map_or(0, |time| times.partition_point(|&event| event < time) as u64);
    }
    annotations.sort_by_key(|annotation| annotation.step);
    annotations
}

/// Which memory the allocator held when: from the segments at the end backwards to the start, then forwards.
fn segments_over_time(events: &[Event], end_segments: &[Segment]) -> Vec<Segment> {
    let mut mapped = RangeSet::default();
    for segment in end_segments {
        mapped.insert(segment.address, segment.address_end(), |_| false, |_| ());
    }
    for event in events.iter().rev() {
        let (begin, end) = (event.address, event.address + event.bytes);
        match event.action {
            Action::SegmentAlloc | Action::SegmentMap => mapped.remove(begin, end, |_| ()),
            Action::SegmentFree | Action::SegmentUnmap => mapped.insert(begin, end, |_| false, |_| ()),
            _ => {}
        }
    }
    let mut held = Held::new(end_segments, events.len());
    for (begin, end) in mapped.iter() {
        held.open(0, begin, end, None);
    }
    for (step, event) in (1_u32..).zip(events) {
        match event.action {
            Action::SegmentAlloc | Action::SegmentMap => held.open(step, event.address, event.address + event.bytes, Some(event)),
            Action::SegmentFree | Action::SegmentUnmap => held.close(step, event.address, event.address + event.bytes),
            _ => {}
        }
    }
    held.finish()
}

/// Segments while events are walked forwards.
struct Held<'a> {
    /// The segments at the end, by address.
    listed: Vec<&'a Segment>,
    end_step: u32,
    /// Open segments by address.
    open: BTreeMap<u64, Segment>,
    closed: Vec<Segment>,
}

impl<'a> Held<'a> {
    fn new(end_segments: &'a [Segment], n_events: usize) -> Self {
        let mut listed: Vec<&Segment> = end_segments.iter().collect();
        listed.sort_by_key(|segment| segment.address);
        let end_step = u32::try_from(n_events + 1).expect("the number of events was checked");
        Self { listed, end_step, open: BTreeMap::new(), closed: Vec::new() }
    }

    fn open(&mut self, step: u32, begin: u64, end: u64, event: Option<&Event>) {
        if begin >= end {
            return;
        }
        self.close(step, begin, end);
        let before = self.listed.partition_point(|segment| segment.address <= begin);
        let listed = before.checked_sub(1).map(|index| self.listed[index]).filter(|segment| begin < segment.address_end());
        let segment = Segment {
            address: begin,
            bytes: end - begin,
            start: step,
            end: self.end_step,
            is_small: listed.and_then(|segment| segment.is_small),
            is_expandable: listed.is_some_and(|segment| segment.is_expandable) || event.is_some_and(|event| event.action == Action::SegmentMap),
            stream: event.map_or(0, |event| event.stream),
            pool: event.map_or(0, |event| event.pool),
        };
        let known = listed.map_or(segment, |listed| Segment { stream: listed.stream, pool: listed.pool, ..segment });
        self.open.insert(begin, known);
    }

    /// Ends what is open in `[begin, end)`; a segment that reaches beyond it is cut.
    fn close(&mut self, step: u32, begin: u64, end: u64) {
        let first = self.open.range(..begin).next_back().filter(|(_, segment)| segment.address_end() > begin).map(|(&key, _)| key);
        let touched: Vec<u64> = first.into_iter().chain(self.open.range(begin..end.max(begin)).map(|(&key, _)| key)).collect();
        for key in touched {
            let Some(segment) = self.open.remove(&key) else { continue };
            let mut piece = |from: u64, to: u64, is_open: bool| {
                if from < to {
                    let part = Segment { address: from, bytes: to - from, ..segment };
                    if is_open {
                        self.open.insert(from, part);
                    } else if part.start < step {
                        self.closed.push(Segment { end: step, ..part });
                    }
                }
            };
            piece(segment.address, begin, true);
            piece(begin.max(segment.address), end.min(segment.address_end()), false);
            piece(end, segment.address_end(), true);
        }
    }

    fn finish(mut self) -> Vec<Segment> {
        self.closed.extend(self.open.into_values());
        self.closed.sort_by_key(|segment| (segment.start, segment.address, segment.end));
        self.closed
    }
}
