//! The height reached over each section of time, raised and asked for by range.
//!
//! Problem: "how high is anything between these sections?" and "raise all of them to this height", many times.
//! Method: a tree with 64 children per node. A raise always goes above everything in its range, so a node that is
//! covered whole just remembers the height (its floor), and nothing is ever pushed down; a question looks at the
//! pieces of its range on each level, and at the floors of the nodes above its two ends.
//! Guarantee: exact, as long as raises never go below what is there.
//! Time O(64 · log_64 sections), in slices that a compiler vectorizes; space O(sections).
//! Source: the bottom-up segment tree without propagation, with wider nodes.
//!
//! ```text
//! level 1   [    7    ][   9    ]      max over each node; floors below what covered them whole
//! level 0    3 7 7 2    9 9 0 4        ask sections 1..6: max(7 7 2, 9 9) = 9
//! ```

/// Children per node; a slice of 64 heights is eight cache lines.
const FANOUT: usize = 64;

/// Heights by section.
#[derive(Clone)]
pub(super) struct Skyline {
    /// The largest height below each node; level 0 holds the sections themselves.
    highest: Vec<Vec<u64>>,
    /// The height to which a whole node was raised; not kept for level 0.
    floor: Vec<Vec<u64>>,
}

impl Skyline {
    /// A skyline with the given heights.
    pub(super) fn from_heights(heights: &[u64]) -> Self {
        let mut highest = vec![heights.to_vec()];
        let mut floor = vec![Vec::new()];
        while let Some(below) = highest.last().filter(|below| below.len() > 1) {
            let level: Vec<u64> = below.chunks(FANOUT).map(|chunk| chunk.iter().copied().max().unwrap_or(0)).collect();
            floor.push(vec![0; level.len()]);
            highest.push(level);
        }
        Self { highest, floor }
    }

    /// A flat skyline.
    pub(super) fn flat(n_sections: usize) -> Self {
        Self::from_heights(&vec![0; n_sections])
    }

    /// Becomes the same as another one over as many sections, without new memory.
    pub(super) fn copy_from(&mut self, other: &Self) {
        for (mine, its) in self.highest.iter_mut().zip(&other.highest).chain(self.floor.iter_mut().zip(&other.floor)) {
            mine.copy_from_slice(its);
        }
    }

    /// The largest height in sections `from..to`, which is not empty.
    pub(super) fn max(&self, from: usize, to: usize) -> u64 {
        let (mut left, mut right) = (from, to);
        let (mut above_left, mut above_right) = (from, to - 1);
        let mut best = 0;
        for level in 0..self.highest.len() {
            if left < right {
                let row = &self.highest[level];
                if left / FANOUT == (right - 1) / FANOUT {
                    best = best.max(largest(&row[left..right]));
                    right = left;
                } else {
                    let (first, last) = (left.div_ceil(FANOUT), right / FANOUT);
                    best = best.max(largest(&row[left..first * FANOUT])).max(largest(&row[last * FANOUT..right]));
                    (left, right) = (first, last);
                }
            }
            if let Some(floors) = self.floor.get(level + 1) {
                (above_left, above_right) = (above_left / FANOUT, above_right / FANOUT);
                best = best.max(floors[above_left]).max(floors[above_right]);
            }
        }
        best
    }

    /// Raises sections `from..to` to `height`, which is at least what `max` gives for them.
    pub(super) fn raise(&mut self, from: usize, to: usize, height: u64) {
        let (mut left, mut right) = (from, to);
        let (mut above_left, mut above_right) = (from, to - 1);
        for level in 0..self.highest.len() {
            if left < right {
                if left / FANOUT == (right - 1) / FANOUT {
                    self.fill(level, left, right, height);
                    right = left;
                } else {
                    let (first, last) = (left.div_ceil(FANOUT), right / FANOUT);
                    self.fill(level, left, first * FANOUT, height);
                    self.fill(level, last * FANOUT, right, height);
                    (left, right) = (first, last);
                }
            }
            if let Some(row) = self.highest.get_mut(level + 1) {
                (above_left, above_right) = (above_left / FANOUT, above_right / FANOUT);
                row[above_left] = row[above_left].max(height);
                row[above_right] = row[above_right].max(height);
            }
        }
    }

    fn fill(&mut self, level: usize, from: usize, to: usize, height: u64) {
        self.highest[level][from..to].fill(height);
        if level > 0 {
            self.floor[level][from..to].fill(height);
        }
    }
}

fn largest(heights: &[u64]) -> u64 {
    heights.iter().copied().fold(0, u64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_a_plain_array() {
        for (seed, n) in (0..40).zip([1, 2, 63, 64, 65, 4_095, 4_096, 4_097, 10_000].into_iter().cycle()) {
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut plain = vec![0_u64; n];
            let mut skyline = Skyline::flat(n);
            for _ in 0..300 {
                let from = rng.usize(0..n);
                let to = if rng.bool() { rng.usize(from..n) + 1 } else { (from + rng.usize(1..=5)).min(n) };
                let highest = plain[from..to].iter().copied().max().unwrap_or(0);
                assert_eq!(skyline.max(from, to), highest, "seed {seed}, {from}..{to}");
                if rng.bool() {
                    let height = highest + rng.u64(0..10);
                    plain[from..to].fill(height);
                    skyline.raise(from, to, height);
                }
            }
        }
    }
}
