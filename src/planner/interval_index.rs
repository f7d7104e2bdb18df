//! Which buffers are live during a range of steps, without storing who meets whom.
//!
//! Problem: list all inserted buffers whose lifetime shares a step with a given one.
//! Method: buffers sorted by start; a binary tree over blocks of them holds the latest end of what is inserted.
//! A buffer is met if it starts before the range ends (a prefix) and ends after it starts (a descent into the
//! parts of the prefix whose latest end is late enough).
//! Guarantee: exact.
//! Time O(log n) to insert, O(k + blocks visited) to list k buffers, at most O(k log n); space O(n), about 26
//! bytes per buffer.
//! Source: the interval tree as an augmented search tree (Cormen et al., "Introduction to Algorithms", section 14.3).
//!
//! ```text
//! starts   0   1   3   6      who is live in [4, 7)?
//! ends     5   2   9   8      starts < 7: all four; ends > 4: 5, 9, 8
//! latest    [5]     [9]       no block is skipped, the second buffer is
//! ```

use crate::ids::BufferId;
use crate::lifetimes::Lifetime;
use crate::problem::Problem;

/// Buffers per leaf; chosen by measurement (8 to 32 are alike).
const BLOCK: usize = 16;

/// Buffers of a problem by start, some of them inserted.
#[derive(Clone, Debug)]
pub(crate) struct IntervalIndex {
    /// All buffers by (start, id).
    ids: Vec<BufferId>,
    /// The position of each buffer in `ids`.
    position: Vec<u32>,
    starts: Vec<u64>,
    /// The end of each inserted buffer, 0 for the others, by position.
    ends: Vec<u64>,
    /// Latest end below each tree node; leaves are blocks, the root is node 1.
    latest: Vec<u64>,
    n_leaves: usize,
}

impl IntervalIndex {
    /// An index over all buffers of `problem` with none inserted.
    pub(crate) fn empty(problem: &Problem) -> Self {
        Self::over(problem.n_buffers(), |id| problem.buffer(id).lifetime)
    }

    /// An index over `n` things with lifetimes, none of them inserted.
    pub(crate) fn over(n: usize, lifetime: impl Fn(BufferId) -> Lifetime) -> Self {
        let mut ids: Vec<BufferId> = (0..n).map(BufferId::new).collect();
        ids.sort_unstable_by_key(|&id| (lifetime(id).start, id));
        let mut position = vec![0; ids.len()];
        for (at, id) in (0_u32..).zip(&ids) {
            position[id.index()] = at;
        }
        let starts = ids.iter().map(|&id| lifetime(id).start).collect();
        let n_leaves = ids.len().div_ceil(BLOCK).next_power_of_two();
        Self { ends: vec![0; ids.len()], latest: vec![0; 2 * n_leaves], n_leaves, ids, position, starts }
    }

    /// An index with all buffers inserted.
    pub(crate) fn full(problem: &Problem) -> Self {
        let mut index = Self::empty(problem);
        for (end, &id) in index.ends.iter_mut().zip(&index.ids) {
            *end = problem.buffer(id).lifetime.end;
        }
        for (leaf, block) in index.ends.chunks(BLOCK).enumerate() {
            index.latest[index.n_leaves + leaf] = block.iter().copied().max().unwrap_or(0);
        }
        for node in (1..index.n_leaves).rev() {
            index.latest[node] = index.latest[2 * node].max(index.latest[2 * node + 1]);
        }
        index
    }

    /// Inserts a buffer that ends at `end`.
    pub(crate) fn insert(&mut self, id: BufferId, end: u64) {
        let at = self.position[id.index()] as usize;
        self.ends[at] = end;
        let mut node = self.n_leaves + at / BLOCK;
        while node > 0 && self.latest[node] < end {
            self.latest[node] = end;
            node /= 2;
        }
    }

    /// Whether a buffer was inserted.
    pub(crate) fn contains(&self, id: BufferId) -> bool {
        self.ends[self.position[id.index()] as usize] > 0
    }

    /// Calls `visit` for every inserted buffer that shares a step with `during`, in order of (start, id), until it
    /// returns `false`.
    pub(crate) fn visit_live(&self, during: Lifetime, mut visit: impl FnMut(BufferId) -> bool) {
        let prefix = self.starts.partition_point(|&start| start < during.end);
        let mut stack = [(0_usize, 0_usize, 0_usize); 64];
        stack[0] = (1, 0, self.n_leaves);
        let mut depth = 1;
        while depth > 0 {
            depth -= 1;
            let (node, first, n_blocks) = stack[depth];
            if self.latest[node] <= during.start || first * BLOCK >= prefix {
                continue;
            }
            if n_blocks > 1 {
                let half = n_blocks / 2;
                stack[depth] = (2 * node + 1, first + half, half);
                stack[depth + 1] = (2 * node, first, half);
                depth += 2;
                continue;
            }
            let range = first * BLOCK..((first + 1) * BLOCK).min(prefix);
            for at in range {
                if self.ends[at] > during.start && !visit(self.ids[at]) {
                    return;
                }
            }
        }
    }
}
