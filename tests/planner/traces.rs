//! Traces from recordings: whatever part of the events is lost, what is known at every step is what really was there.

use arenascope_planner::fragmentation::{fragmentation_at, trace_curves, walk};
use arenascope_planner::recording::{EndBlock, Recording, RecordingError, Rounding};
use arenascope_planner::stacks::{StackId, StackTable};
use arenascope_planner::trace::{Action, Event, Origin, Segment};

const UNIT: u64 = 512;

/// A sequence of numbers that looks random and is the same every time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

fn event(action: Action, address: u64, bytes: u64) -> Event {
    Event { action, address, bytes, time_us: None, stack: StackId::EMPTY, block: None, stream: 0, pool: 0 }
}

fn held(address: u64, bytes: u64) -> Segment {
    Segment { address, bytes, start: 0, end: 0, is_small: None, is_expandable: false, stream: 0, pool: 0 }
}

/// Requested bytes of the block in each cell of a segment, and whether it was given back.
type Cells = [Option<(u64, bool)>; 10];

/// A small allocator: segments of ten cells, blocks of one cell each, a segment goes back when it is empty.
#[derive(Default)]
struct Allocator {
    events: Vec<Event>,
    /// The address and the cells of each segment.
    segments: Vec<(u64, Cells)>,
    /// Requested bytes after each event.
    levels: Vec<u64>,
    live: u64,
}

impl Allocator {
    fn push(&mut self, action: Action, address: u64, bytes: u64) {
        self.events.push(event(action, address, bytes));
        self.levels.push(self.live);
    }

    fn act(&mut self, numbers: &mut Numbers) {
        let cell = 4 * UNIT;
        let (which, place) = (numbers.below(6), usize::try_from(numbers.below(10)).expect("below ten"));
        let address = 1_000 * UNIT + which * 10 * cell;
        let Some(at) = self.segments.iter().position(|&(other, _)| other == address) else {
            self.segments.push((address, [None; 10]));
            return self.push(Action::SegmentAlloc, address, 10 * cell);
        };
        let block = address + place as u64 * cell;
        match self.segments[at].1[place] {
            None if numbers.below(3) == 0 && self.segments[at].1.iter().all(Option::is_none) => {
                self.segments.remove(at);
                self.push(Action::SegmentFree, address, 10 * cell);
            }
            None => {
                let bytes = 1 + numbers.below(cell);
                self.live += bytes;
                self.segments[at].1[place] = Some((bytes, false));
                self.push(Action::Alloc, block, bytes);
            }
            Some((bytes, false)) => {
                self.segments[at].1[place] = Some((bytes, true));
                self.push(Action::FreeRequested, block, bytes);
            }
            Some((bytes, true)) => {
                self.live -= bytes;
                self.segments[at].1[place] = None;
                self.push(Action::FreeCompleted, block, bytes);
            }
        }
    }

    /// The last `kept` events, as a ring buffer has them, and the state at the end.
    fn recording(&self, kept: usize) -> Recording {
        let cell = 4 * UNIT;
        let blocks = self.segments.iter().flat_map(|&(address, cells)| {
            let used = cells.into_iter().enumerate().filter_map(|(place, block)| Some((place, block?.0)));
            used.map(move |(place, requested_bytes)| EndBlock {
                address: address + place as u64 * cell,
                requested_bytes,
                rounded_bytes: requested_bytes.next_multiple_of(UNIT),
                stack: StackId::EMPTY,
                stream: 0,
                pool: 0,
            })
        });
        Recording {
            events: self.events[self.events.len() - kept..].to_vec(),
            end_blocks: Some(blocks.collect()),
            end_segments: self.segments.iter().map(|&(address, _)| held(address, 10 * cell)).collect(),
            rounding: Rounding { unit_bytes: UNIT, power_of_two_divisions: Vec::new() },
            ..Recording::empty("test", StackTable::default())
        }
    }
}

#[test]
fn a_ring_buffer_of_any_length_gives_the_true_levels() {
    for seed in 0..40 {
        let mut numbers = Numbers(seed);
        let mut allocator = Allocator::default();
        for _ in 0..300 {
            allocator.act(&mut numbers);
        }
        let whole = trace_curves(&allocator.recording(300).into_trace().expect("a sound recording"));
        for kept in [0, 1, 10, 150, 299, 300] {
            let trace = allocator.recording(kept).into_trace().expect("a sound recording");
            assert!(trace.check().is_consistent() && trace.check().odd_events == 0, "seed {seed}, {kept} kept: {:?}", trace.check());
            let lost = 300 - kept;
            let curves = trace_curves(&trace);
            for step in 0..=kept {
                let at = step as u64;
                let truth = if lost + step == 0 { 0 } else { allocator.levels[lost + step - 1] };
                // A block without any event between the cut and its end is known by its segment alone.
                assert_eq!(curves.requested.at(at), truth, "seed {seed}, {kept} kept, step {step}");
                let later = (lost + step) as u64;
                assert_eq!(curves.reserved.at(at), whole.reserved.at(later), "seed {seed}, {kept} kept, step {step}");
                assert_eq!(curves.largest_hole.at(at), whole.largest_hole.at(later), "seed {seed}, {kept} kept, step {step}");
            }
            walk(&trace, |step, levels| assert_eq!(*levels, fragmentation_at(&trace, step).levels, "seed {seed}, {kept} kept, step {step}"));
        }
    }
}

#[test]
fn events_that_cannot_be_are_counted_and_do_no_harm() {
    let actions = [
        Action::Alloc,
        Action::FreeRequested,
        Action::FreeCompleted,
        Action::SegmentAlloc,
        Action::SegmentFree,
        Action::SegmentMap,
        Action::SegmentUnmap,
    ];
    for seed in 0..300 {
        let mut numbers = Numbers(seed);
        let events: Vec<Event> = (0..60)
            .map(|_| {
                let action = actions[usize::try_from(numbers.below(7)).expect("below seven")];
                event(action, numbers.below(12) * UNIT, numbers.below(6) * 300)
            })
            .collect();
        let end_segments = (0..numbers.below(3)).map(|index| held(index * 4 * UNIT, 4 * UNIT)).collect();
        let rounding = Rounding { unit_bytes: UNIT, power_of_two_divisions: Vec::new() };
        let recording = Recording { events, end_segments, end_blocks: Some(Vec::new()), rounding, ..Recording::empty("test", StackTable::default()) };
        let trace = recording.into_trace().expect("small numbers");
        let mut steps = 0;
        walk(&trace, |step, levels| {
            steps += 1;
            let seen = fragmentation_at(&trace, step).levels;
            assert_eq!(
                (levels.requested_bytes, levels.rounded_bytes, levels.active_bytes),
                (seen.requested_bytes, seen.rounded_bytes, seen.active_bytes),
                "seed {seed}, step {step}"
            );
            assert_eq!(levels.reserved_bytes, seen.reserved_bytes, "seed {seed}, step {step}");
        });
        assert_eq!(steps, trace.n_steps());
        assert!(trace.blocks().iter().all(|block| block.start < block.end && block.given_back <= block.end), "seed {seed}");
        let _ = trace.offsets();
    }
}

#[test]
fn part_of_a_mapped_range_can_go() {
    let map = |action, address, cells: u64| event(action, address * UNIT, cells * UNIT);
    let events = vec![map(Action::SegmentMap, 0, 8), map(Action::SegmentUnmap, 2, 3)];
    let end_segments = vec![Segment { is_expandable: true, ..held(0, 2 * UNIT) }, Segment { is_expandable: true, ..held(5 * UNIT, 3 * UNIT) }];
    let trace = Recording { events, end_segments, ..Recording::empty("test", StackTable::default()) }.into_trace().expect("a sound recording");
    let pieces: Vec<_> = trace.segments().iter().map(|piece| (piece.address / UNIT, piece.bytes / UNIT, piece.start, piece.end)).collect();
    assert_eq!(pieces, [(0, 2, 1, 3), (2, 3, 1, 2), (5, 3, 1, 3)]);
    let largest: Vec<u64> = (0..3).map(|step| fragmentation_at(&trace, step).levels.largest_hole_bytes / UNIT).collect();
    assert_eq!(largest, [0, 8, 3]);
}

#[test]
fn sizes_round_up_to_parts_of_a_power_of_two_where_asked() {
    let plain = Rounding { unit_bytes: UNIT, power_of_two_divisions: Vec::new() };
    let parts = Rounding { unit_bytes: UNIT, power_of_two_divisions: vec![4, 0, 8] };
    for (bytes, by_unit, by_parts) in [
        (1, 512, 512),
        (513, 1024, 1024),
        (5000, 5120, 5120),
        (1_048_577, 1_049_088, 1_310_720),
        (2_097_153, 2_097_664, 2_097_664),
        (5_000_000, 5_000_192, 5_242_880),
    ] {
        assert_eq!((plain.round_up(bytes), parts.round_up(bytes)), (by_unit, by_parts), "{bytes}");
    }
}

#[test]
fn memory_in_use_before_is_accounted_for() {
    let events = vec![event(Action::FreeCompleted, UNIT, 100), event(Action::Alloc, UNIT, 40)];
    let trace =
        Recording { events, bytes_before: Some(1000), ..Recording::empty("test", StackTable::default()) }.into_trace().expect("a sound recording");
    let blocks: Vec<_> = trace.blocks().iter().map(|block| (block.requested_bytes, block.origin, block.start, block.end)).collect();
    assert_eq!(blocks, [(100, Origin::PreExistingFreed, 0, 1), (900, Origin::PreExistingKept, 0, 3), (40, Origin::Traced, 2, 3)]);
    assert_eq!((trace.check().peak_bytes, trace.check().end_bytes), (1000, 940));
}

#[test]
fn numbers_beyond_their_range_are_errors() {
    let of = |address, bytes| {
        Recording { events: vec![event(Action::Alloc, address, bytes)], ..Recording::empty("test", StackTable::default()) }.into_trace().map(|_| ())
    };
    assert!(matches!(of(0, 1 << 62), Err(RecordingError::SizeOverflow { event: 0, .. })));
    assert!(matches!(of(u64::MAX - 5, 6), Err(RecordingError::AddressOverflow { event: 0, .. })));
    assert_eq!(of(0, 0), Ok(()));
}
