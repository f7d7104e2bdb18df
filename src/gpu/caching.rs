//! A caching allocator by PyTorch's rules: blocks are cut from segments, kept when freed, split and merged.
//!
//! Problem: what a framework's allocator takes from the device for a sequence of requests.
//! Method: sizes are rounded to 512 bytes; up to 1 MiB come from segments of 2 MiB, larger ones below 10 MiB from
//! segments of 20 MiB, all others from a segment of their own size rounded to 2 MiB; the smallest free block that is
//! large enough is taken (lowest address first), and split if what remains is worth it; a freed block merges with
//! its free neighbours.
//! Guarantee: the same requests give the same segments; nothing is given back before [`CachingAllocator::drain`].
//! Time O(log n) per request, space O(n).
//! Source: `c10/cuda/CUDACachingAllocator.cpp` of PyTorch (BSD-3), defaults without environment settings, one stream.

use std::collections::{BTreeMap, BTreeSet};

/// What every request is rounded up to, bytes; `kMinBlockSize`.
const ROUND_BYTES: u64 = 512;
/// The largest request that comes from a small segment; `kSmallSize`.
const SMALL_BYTES: u64 = 1 << 20;
/// A small segment; `kSmallBuffer`.
const SMALL_SEGMENT_BYTES: u64 = 2 << 20;
/// The smallest request with a segment of its own size; `kMinLargeAlloc`.
const OWN_SEGMENT_BYTES: u64 = 10 << 20;
/// A segment for requests between the two; `kLargeBuffer`.
const LARGE_SEGMENT_BYTES: u64 = 20 << 20;
/// What segments of their own size are rounded to; `kRoundLarge`.
const ROUND_SEGMENT_BYTES: u64 = 2 << 20;

/// A place inside a segment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    /// The segment, by order of creation.
    pub segment: usize,
    /// The first byte in it.
    pub offset: u64,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    bytes: u64,
    is_free: bool,
}

/// Segments, and the blocks cut from them.
#[derive(Clone, Default, Debug)]
pub struct CachingAllocator {
    /// Bytes of every segment ever made, in order; 0 once it is given back.
    segments: Vec<u64>,
    blocks: BTreeMap<Place, Block>,
    /// Free blocks by pool (small or not), size and place.
    free: BTreeSet<(bool, u64, Place)>,
    in_use_bytes: u64,
}

/// What a request needs: a place, and first a new segment if there was none to cut it from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The place.
    pub place: Place,
    /// Bytes of the segment that must be made for it.
    pub new_segment_bytes: Option<u64>,
}

impl CachingAllocator {
    /// An allocator in the midst of its life: for every segment, by address, the sizes of its blocks in order, and
    /// whether each is free.
    #[must_use]
    pub fn with_segments(segments: &[Vec<(u64, bool)>]) -> Self {
        let mut allocator = Self::default();
        for (segment, blocks) in segments.iter().enumerate() {
            let segment_bytes = blocks.iter().map(|&(bytes, _)| bytes).sum();
            allocator.segments.push(segment_bytes);
            let mut place = Place { segment, offset: 0 };
            for &(bytes, is_free) in blocks {
                allocator.blocks.insert(place, Block { bytes, is_free });
                if is_free {
                    allocator.free.insert((segment_bytes == SMALL_SEGMENT_BYTES, bytes, place));
                } else {
                    allocator.in_use_bytes += bytes;
                }
                place.offset += bytes;
            }
        }
        allocator
    }

    /// Takes a block of at least `bytes`.
    pub fn allocate(&mut self, bytes: u64) -> Answer {
        let bytes = bytes.max(1).next_multiple_of(ROUND_BYTES);
        let is_small = bytes <= SMALL_BYTES;
        let found = self.free.range((is_small, bytes, Place { segment: 0, offset: 0 })..).next().copied().filter(|entry| entry.0 == is_small);
        let (place, new_segment_bytes) = match found {
            Some((_, _, place)) => (place, None),
            None => {
                let segment_bytes = segment_bytes(bytes);
                let place = Place { segment: self.segments.len(), offset: 0 };
                self.segments.push(segment_bytes);
                self.blocks.insert(place, Block { bytes: segment_bytes, is_free: true });
                self.free.insert((is_small, segment_bytes, place));
                (place, Some(segment_bytes))
            }
        };
        self.take(place, bytes, is_small);
        Answer { place, new_segment_bytes }
    }

    fn take(&mut self, place: Place, bytes: u64, is_small: bool) {
        let block = self.blocks.get_mut(&place).expect("free blocks are blocks");
        self.free.remove(&(is_small, block.bytes, place));
        let rest = block.bytes - bytes;
        let is_worth_it = if is_small { rest >= ROUND_BYTES } else { rest > SMALL_BYTES };
        block.is_free = false;
        if is_worth_it {
            block.bytes = bytes;
            let remainder = Place { segment: place.segment, offset: place.offset + bytes };
            self.blocks.insert(remainder, Block { bytes: rest, is_free: true });
            self.free.insert((is_small, rest, remainder));
        }
        self.in_use_bytes += self.blocks[&place].bytes;
    }

    /// Gives a block back to the cache.
    pub fn release(&mut self, place: Place) {
        let Some(block) = self.blocks.get(&place).copied().filter(|block| !block.is_free) else { return };
        self.in_use_bytes -= block.bytes;
        let is_small = self.is_small_segment(place.segment);
        let (mut at, mut bytes) = (place, block.bytes);
        let next = Place { segment: place.segment, offset: place.offset + block.bytes };
        if let Some(other) = self.blocks.get(&next).copied().filter(|other| other.is_free) {
            self.free.remove(&(is_small, other.bytes, next));
            self.blocks.remove(&next);
            bytes += other.bytes;
        }
        let before = self.blocks.range(..place).next_back().map(|(&other, &block)| (other, block));
        if let Some((other, block)) = before.filter(|(other, block)| other.segment == place.segment && block.is_free) {
            self.free.remove(&(is_small, block.bytes, other));
            self.blocks.remove(&place);
            at = other;
            bytes += block.bytes;
        }
        self.blocks.insert(at, Block { bytes, is_free: true });
        self.free.insert((is_small, bytes, at));
    }

    /// Large requests get segments of 20 MiB or of at least 10 MiB, so that the size tells the pool.
    fn is_small_segment(&self, segment: usize) -> bool {
        self.segments[segment] == SMALL_SEGMENT_BYTES
    }

    /// Bytes of all segments.
    #[must_use]
    pub fn reserved_bytes(&self) -> u64 {
        self.segments.iter().sum()
    }

    /// Bytes of all blocks that are taken, rounded as they are.
    #[must_use]
    pub fn in_use_bytes(&self) -> u64 {
        self.in_use_bytes
    }

    /// Forgets everything.
    pub fn drain(&mut self) {
        *self = Self::default();
    }
}

fn segment_bytes(bytes: u64) -> u64 {
    match bytes {
        small if small <= SMALL_BYTES => SMALL_SEGMENT_BYTES,
        medium if medium < OWN_SEGMENT_BYTES => LARGE_SEGMENT_BYTES,
        large => large.next_multiple_of(ROUND_SEGMENT_BYTES),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_have_the_sizes_of_the_rules() {
        for (bytes, segment) in [
            (1, 2 << 20),
            (1 << 20, 2 << 20),
            ((1 << 20) + 1, 20 << 20),
            ((10 << 20) - 512, 20 << 20),
            (10 << 20, 10 << 20),
            ((10 << 20) + 1, 12 << 20),
            (33 << 20, 34 << 20),
        ] {
            assert_eq!(CachingAllocator::default().allocate(bytes).new_segment_bytes, Some(segment), "{bytes}");
        }
    }

    #[test]
    fn a_freed_block_is_taken_again_and_neighbours_merge() {
        let mut allocator = CachingAllocator::default();
        let places: Vec<Place> = (0..4).map(|_| allocator.allocate(512 << 10).place).collect();
        assert_eq!((allocator.reserved_bytes(), allocator.in_use_bytes()), (2 << 20, 2 << 20));
        allocator.release(places[1]);
        allocator.release(places[2]);
        assert_eq!(allocator.allocate(1 << 20), Answer { place: places[1], new_segment_bytes: None });
        assert_eq!(allocator.allocate(512), Answer { place: Place { segment: 1, offset: 0 }, new_segment_bytes: Some(2 << 20) });
    }

    #[test]
    fn the_requests_of_a_recorded_snapshot_get_the_places_that_pytorch_gave_them() {
        let number = |word: Option<&str>| word.and_then(|word| word.parse::<u64>().ok()).expect("a number");
        let (mut segments, mut requests) = (Vec::new(), Vec::new());
        for line in include_str!("../../tests/data/caching/medium_256_inference.txt").lines() {
            match line.strip_prefix("segment ") {
                Some(blocks) => segments.push(blocks.split(' ').map(|block| (number(block.get(1..)), block.starts_with('-'))).collect()),
                None => requests.push(line.split(' ')),
            }
        }
        let mut allocator = CachingAllocator::with_segments(&segments);
        let reserved = allocator.reserved_bytes();
        assert_eq!(reserved, 1_864_368_128, "what the snapshot says is reserved");
        for mut words in requests {
            let bytes = (words.next() == Some("+")).then(|| number(words.next()));
            let segment = usize::try_from(number(words.next())).expect("small");
            let place = Place { segment, offset: number(words.next()) };
            match bytes {
                Some(bytes) => assert_eq!(allocator.allocate(bytes), Answer { place, new_segment_bytes: None }),
                None => allocator.release(place),
            }
        }
        assert_eq!(allocator.reserved_bytes(), reserved);
    }

    #[test]
    fn best_fit_takes_the_smallest_block_that_is_large_enough() {
        let mut allocator = CachingAllocator::default();
        let large = allocator.allocate(40 << 20).place;
        let medium = allocator.allocate(30 << 20).place;
        allocator.release(large);
        allocator.release(medium);
        assert_eq!(allocator.allocate(25 << 20).place, medium);
    }

    #[test]
    fn a_large_block_is_split_only_if_more_than_a_mebibyte_remains() {
        let mut allocator = CachingAllocator::default();
        let place = allocator.allocate(30 << 20).place;
        allocator.release(place);
        allocator.allocate(29 << 20);
        assert_eq!(allocator.in_use_bytes(), 30 << 20, "a rest of exactly 1 MiB stays with its block");
        allocator.release(place);
        allocator.allocate(28 << 20);
        assert_eq!(allocator.in_use_bytes(), 28 << 20);
    }
}
