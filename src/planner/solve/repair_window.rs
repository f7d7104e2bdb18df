//! A few items of a placement taken out, with what all others leave to them.
//!
//! Problem: who can be where if everybody else stays.
//! Method: go through the others from the bottom up, once for each free item and once for each section in which a
//! free item begins, and collect what lies between them below the ceiling.
//! Guarantee: exact. Nobody below the lowest free item is looked at: free items stay above that floor.
//! Time O(free items · others above the floor), space O(free items · gaps).
//! Source: the project's own.
//!
//! ```text
//! ceiling  ------------     A and B are free: A may be where neither # is in its steps
//!          ..AA..####..     B in the gap between the #, if it is small enough
//!          ..####..BB..
//! floor    ------------
//! ```

use super::sections::Part;
use super::window_search::{MAX_FREE, Room, Window};

/// The window of `free` items, at most [`MAX_FREE`], with ends up to `ceiling`; and the items looked at.
///
/// `by_offset` are all items, rising; `is_free` tells by item.
pub(super) fn window(part: &Part, offsets: &[u64], by_offset: &[u32], free: &[u32], is_free: &[bool], ceiling: u64) -> (Window, u64) {
    let floor = free.iter().map(|&item| offsets[item as usize]).min().unwrap_or(0);
    let from = free.iter().map(|&item| part.first[item as usize]).min().unwrap_or(0);
    let to = free.iter().map(|&item| part.end[item as usize]).max().unwrap_or(0);
    let is_obstacle = |&item: &usize| {
        !is_free[item] && part.first[item] < to && from < part.end[item] && offsets[item] + part.bytes[item] > floor && offsets[item] < ceiling
    };
    let obstacles: Vec<Obstacle> = by_offset
        .iter()
        .map(|&item| item as usize)
        .filter(is_obstacle)
        .map(|item| Obstacle { first: part.first[item], end: part.end[item], from: offsets[item], to: offsets[item] + part.bytes[item] })
        .collect();
    let n_looks = by_offset.len() + obstacles.len() * free.len() * 2;
    let mut window = Window { bytes: Vec::new(), meets: Vec::new(), places: Vec::new(), twin: Vec::new(), rooms: Vec::new() };
    for (at, item) in free.iter().map(|&item| item as usize).enumerate() {
        let bytes = part.bytes[item];
        let span = (part.first[item], part.end[item]);
        let gaps = gaps(&obstacles, span, floor, ceiling).into_iter();
        window.places.push(gaps.filter(|&(from, to)| to - from >= bytes).map(|(from, to)| (from, to - bytes)).collect());
        window.bytes.push(bytes);
        let mask_of = |is_in: &dyn Fn(usize) -> bool| {
            free.iter().enumerate().filter(|&(_, &other)| is_in(other as usize)).map(|(bit, _)| 1_u64 << bit).sum::<u64>()
        };
        window.meets.push(mask_of(&|other| other != item && part.first[other] < span.1 && span.0 < part.end[other]));
        let is_like = |other: usize| part.bytes[other] == bytes && (part.first[other], part.end[other]) == span;
        let twins = mask_of(&is_like) & ((1 << at) - 1);
        window.twin.push(if twins == 0 { 0 } else { 1 << (63 - twins.leading_zeros()) });
        let members = mask_of(&|other| part.first[other] <= span.0 && span.0 < part.end[other]);
        let is_new = window.rooms.iter().all(|room: &Room| room.members & members != members);
        if is_new && window.rooms.len() < MAX_FREE {
            window.rooms.push(Room::new(members, self::gaps(&obstacles, (span.0, span.0 + 1), floor, ceiling)));
        }
    }
    (window, n_looks as u64)
}

/// Something that stays: its sections and its bytes.
struct Obstacle {
    first: u32,
    end: u32,
    from: u64,
    to: u64,
}

/// The free ranges over all of some sections, between the floor and the ceiling, rising.
fn gaps(obstacles: &[Obstacle], (first, end): (u32, u32), floor: u64, ceiling: u64) -> Vec<(u64, u64)> {
    let mut gaps = Vec::new();
    let mut at = floor;
    for obstacle in obstacles {
        if obstacle.first < end && first < obstacle.end {
            if obstacle.from > at {
                gaps.push((at, obstacle.from.min(ceiling)));
            }
            at = at.max(obstacle.to);
        }
    }
    if at < ceiling {
        gaps.push((at, ceiling));
    }
    gaps
}
