//! The sweep of [`crate::check`]: every pair of rectangles of steps and bytes that share a point.
//!
//! This module shares no code with [`crate::solve`] on purpose.

use crate::lifetimes::Lifetime;

/// Rectangles by index.
pub(crate) trait Rectangles {
    /// How many there are.
    fn len(&self) -> usize;
    /// The steps of one.
    fn steps(&self, index: usize) -> Lifetime;
    /// The first byte of one, and one past its last.
    fn bytes(&self, index: usize) -> (u64, u64);
}

/// Calls `found` with every pair that shares a step and a byte, the later birth first, by its step.
pub(crate) fn sweep(rectangles: &impl Rectangles, found: &mut impl FnMut(usize, usize)) {
    let n = u32::try_from(rectangles.len()).expect("rectangles have 32-bit indices");
    let mut births: Vec<u32> = (0..n).collect();
    let mut deaths = births.clone();
    let mut by_offset = births.clone();
    births.sort_unstable_by_key(|&index| (rectangles.steps(index as usize).start, index));
    deaths.sort_unstable_by_key(|&index| rectangles.steps(index as usize).end);
    by_offset.sort_unstable_by_key(|&index| (rectangles.bytes(index as usize).0, index));
    let mut live = LiveByOffset::new(rectangles, by_offset);
    let mut n_dead = 0;
    for &index in &births {
        let start = rectangles.steps(index as usize).start;
        while rectangles.steps(deaths[n_dead] as usize).end <= start {
            live.set(deaths[n_dead], 0);
            n_dead += 1;
        }
        let (from, to) = rectangles.bytes(index as usize);
        live.visit_overlapping(from, to, &mut |other| found(index as usize, other as usize));
        live.set(index, to);
    }
}

/// The live rectangles by offset, in a tree that holds the highest end below each node (0 where nothing is live).
struct LiveByOffset {
    by_offset: Vec<u32>,
    rank: Vec<u32>,
    offsets: Vec<u64>,
    highest: Vec<u64>,
    n_leaves: usize,
}

impl LiveByOffset {
    fn new(rectangles: &impl Rectangles, by_offset: Vec<u32>) -> Self {
        let mut rank = vec![0; by_offset.len()];
        for (at, &index) in (0_u32..).zip(&by_offset) {
            rank[index as usize] = at;
        }
        let n_leaves = by_offset.len().next_power_of_two();
        let offsets = by_offset.iter().map(|&index| rectangles.bytes(index as usize).0).collect();
        Self { by_offset, rank, offsets, highest: vec![0; 2 * n_leaves], n_leaves }
    }

    fn set(&mut self, index: u32, end: u64) {
        let mut node = self.n_leaves + self.rank[index as usize] as usize;
        self.highest[node] = end;
        while node > 1 {
            node /= 2;
            let highest = self.highest[2 * node].max(self.highest[2 * node + 1]);
            if self.highest[node] == highest {
                return;
            }
            self.highest[node] = highest;
        }
    }

    fn visit_overlapping(&self, from: u64, to: u64, visit: &mut impl FnMut(u32)) {
        let prefix = self.offsets.partition_point(|&offset| offset < to);
        self.descend(1, 0, self.n_leaves, prefix, from, visit);
    }

    fn descend(&self, node: usize, first: usize, width: usize, prefix: usize, from: u64, visit: &mut impl FnMut(u32)) {
        if first >= prefix || self.highest[node] <= from {
            return;
        }
        if width == 1 {
            visit(self.by_offset[first]);
            return;
        }
        self.descend(2 * node, first, width / 2, prefix, from, visit);
        self.descend(2 * node + 1, first + width / 2, width / 2, prefix, from, visit);
    }
}
