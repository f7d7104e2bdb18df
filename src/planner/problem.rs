//! The planning problem: sizes and lifetimes, an alignment, a capacity. The waist between formats and solvers.

use std::sync::Arc;

use crate::ids::BufferId;
use crate::kept_apart::KeptApart;
use crate::lifetimes::Lifetime;
use crate::units::Align;

/// One buffer to place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Buffer {
    /// Bytes as the input has them, before rounding; greater than 0.
    pub size_bytes: u64,
    /// Bytes that the buffer takes in an arena: the size rounded up to the alignment.
    pub bytes: u64,
    /// When it must be kept.
    pub lifetime: Lifetime,
}

/// One rule of a problem that the input broke.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProblemError {
    /// A lifetime covers no step.
    #[error("buffer {buffer}: lifetime [{start}, {end}) covers no step; the end must be larger than the start")]
    EmptyLifetime {
        /// The buffer.
        buffer: BufferId,
        /// Its first step.
        start: u64,
        /// One past its last step.
        end: u64,
    },
    /// A buffer has no bytes.
    #[error("buffer {buffer}: size 0; leave buffers without bytes out")]
    EmptyBuffer {
        /// The buffer.
        buffer: BufferId,
    },
    /// The sum of all sizes does not fit into 62 bits.
    #[error("buffer {buffer}: its size of {size_bytes} bytes brings the sum of all sizes over 2^62 bytes")]
    SizeOverflow {
        /// The buffer at which the sum overflows.
        buffer: BufferId,
        /// Its size.
        size_bytes: u64,
    },
    /// A parallel plan needs to know for every pair of ops which comes first.
    #[error("{n_ops} ops are more than the {max_ops} for which parallel plans are made; plan it without --parallel")]
    TooManyOps {
        /// How many ops the graph has.
        n_ops: usize,
        /// For how many there is room.
        max_ops: usize,
    },
    /// More buffers than ids.
    #[error("{n_buffers} buffers are more than the {} that can be planned", u32::MAX)]
    TooMany {
        /// How many the input has.
        n_buffers: usize,
    },
}

/// Buffers with sizes and lifetimes, to be placed in one arena.
///
/// Every sum of sizes fits into 62 bits, every lifetime covers a step, no buffer is empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    buffers: Vec<Buffer>,
    align: Align,
    capacity_bytes: Option<u64>,
    kept_apart: Option<Arc<KeptApart>>,
}

/// Sums below this stay far from overflow wherever two of them are added.
const MAX_TOTAL_BYTES: u64 = 1 << 62;

impl Problem {
    /// A problem from sizes before rounding and lifetimes. Time and space O(n).
    ///
    /// # Errors
    /// The first rule that the input breaks, naming the buffer.
    pub fn new(sizes: impl IntoIterator<Item = (u64, Lifetime)>, align: Align) -> Result<Self, ProblemError> {
        let mut buffers = Vec::new();
        let mut total = 0_u64;
        for (index, (size_bytes, lifetime)) in sizes.into_iter().enumerate() {
            if index >= u32::MAX as usize {
                return Err(ProblemError::TooMany { n_buffers: index + 1 });
            }
            let buffer = BufferId::new(index);
            if lifetime.start >= lifetime.end {
                return Err(ProblemError::EmptyLifetime { buffer, start: lifetime.start, end: lifetime.end });
            }
            if size_bytes == 0 {
                return Err(ProblemError::EmptyBuffer { buffer });
            }
            let bytes = align.round_up(size_bytes).filter(|&bytes| bytes < MAX_TOTAL_BYTES);
            let sum = bytes.map(|bytes| total + bytes).filter(|&sum| sum < MAX_TOTAL_BYTES);
            let (Some(bytes), Some(sum)) = (bytes, sum) else { return Err(ProblemError::SizeOverflow { buffer, size_bytes }) };
            total = sum;
            buffers.push(Buffer { size_bytes, bytes, lifetime });
        }
        Ok(Self { buffers, align, capacity_bytes: None, kept_apart: None })
    }

    /// The same problem with a limit on the arena.
    #[must_use]
    pub fn with_capacity(mut self, capacity_bytes: Option<u64>) -> Self {
        self.capacity_bytes = capacity_bytes;
        self
    }

    /// The same problem with pairs of buffers that may not share memory although they are never live together.
    #[must_use]
    pub fn with_kept_apart(mut self, kept_apart: Arc<KeptApart>) -> Self {
        assert_eq!(kept_apart.n_buffers(), self.buffers.len(), "the pairs are those of this problem");
        self.kept_apart = Some(kept_apart);
        self
    }

    /// Pairs that may not share memory although they are never live together; `None` where lifetimes decide alone.
    #[must_use]
    pub fn kept_apart(&self) -> Option<&KeptApart> {
        self.kept_apart.as_deref()
    }

    /// The buffers, by id.
    #[must_use]
    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// One buffer.
    #[must_use]
    pub fn buffer(&self, id: BufferId) -> &Buffer {
        &self.buffers[id.index()]
    }

    /// How many buffers there are.
    #[must_use]
    pub fn n_buffers(&self) -> usize {
        self.buffers.len()
    }

    /// All buffer ids in order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = BufferId> + DoubleEndedIterator + use<> {
        (0..self.buffers.len()).map(BufferId::new)
    }

    /// What every offset is a multiple of.
    #[must_use]
    pub fn align(&self) -> Align {
        self.align
    }

    /// The largest arena wanted, in bytes; `None` without a limit.
    #[must_use]
    pub fn capacity_bytes(&self) -> Option<u64> {
        self.capacity_bytes
    }

    /// Sum of all buffers, rounded: the arena of a plan that shares nothing.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.buffers.iter().map(|buffer| buffer.bytes).sum()
    }

    /// The steps from the first birth to the last death; an empty problem has `[0, 1)`.
    #[must_use]
    pub fn span(&self) -> Lifetime {
        let start = self.buffers.iter().map(|buffer| buffer.lifetime.start).min().unwrap_or(0);
        let end = self.buffers.iter().map(|buffer| buffer.lifetime.end).max().unwrap_or(1);
        Lifetime { start, end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn life(start: u64, end: u64) -> Lifetime {
        Lifetime { start, end }
    }

    #[test]
    fn rounds_sizes_up_and_keeps_the_exact_ones() {
        let problem = Problem::new([(65, life(0, 2))], Align::DEFAULT).expect("a valid problem");
        assert_eq!((problem.buffers()[0].size_bytes, problem.buffers()[0].bytes, problem.total_bytes()), (65, 128, 128));
    }

    #[test]
    fn names_the_buffer_that_breaks_a_rule() {
        let of = |sizes: Vec<(u64, Lifetime)>| Problem::new(sizes, Align::ONE).expect_err("a broken problem");
        assert_eq!(of(vec![(1, life(0, 1)), (1, life(3, 3))]), ProblemError::EmptyLifetime { buffer: BufferId(1), start: 3, end: 3 });
        assert_eq!(of(vec![(0, life(0, 1))]), ProblemError::EmptyBuffer { buffer: BufferId(0) });
        assert_eq!(of(vec![(1 << 61, life(0, 1)), (1 << 61, life(0, 1))]), ProblemError::SizeOverflow { buffer: BufferId(1), size_bytes: 1 << 61 });
        assert_eq!(of(vec![(u64::MAX, life(0, 1))]), ProblemError::SizeOverflow { buffer: BufferId(0), size_bytes: u64::MAX });
    }
}
