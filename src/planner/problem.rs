//! The planning problem: sizes and lifetimes, an alignment, a capacity. The waist between formats and solvers.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::constraints::{ConstraintError, Constraints, FeatureSet, Pool};
use crate::ids::{BufferId, PoolId};
use crate::kept_apart::KeptApart;
use crate::lifetimes::Lifetime;
use crate::rigid::{Bodies, Piece, check_pins, check_tables};
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
    /// A rule beyond sizes and lifetimes contradicts the buffers or another rule.
    #[error(transparent)]
    Constraint(#[from] ConstraintError),
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
    extras: Option<Box<Extras>>,
}

/// What a problem has beyond sizes and lifetimes, and what follows from it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Extras {
    constraints: Constraints,
    /// Buffers that the problem's alignment leaves alone: views, and what is fixed.
    exact: BTreeSet<BufferId>,
    bodies: Bodies,
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
        Ok(Self { buffers, align, capacity_bytes: None, kept_apart: None, extras: None })
    }

    /// The same problem with a limit on the arena.
    #[must_use]
    pub fn with_capacity(mut self, capacity_bytes: Option<u64>) -> Self {
        self.capacity_bytes = capacity_bytes;
        self
    }

    /// The same problem with rules beyond sizes and lifetimes; earlier ones are replaced.
    ///
    /// Views and buffers that are fixed, or share a place with one, count their exact size, and of the alignments only
    /// their own. A single pool is the arena: its capacity becomes the problem's if that has none.
    /// Time O(n log n), space O(n).
    ///
    /// # Errors
    /// The first rule that contradicts the buffers or another rule.
    ///
    /// # Panics
    /// If pairs of buffers are kept apart: such a problem comes from a graph, and graphs have no rules.
    pub fn with_constraints(mut self, mut constraints: Constraints) -> Result<Self, ProblemError> {
        let families = check_tables(&self.buffers, &constraints)?;
        if let [pool] = constraints.pools.as_slice() {
            self.capacity_bytes = self.capacity_bytes.or(pool.capacity_bytes);
            constraints.pools.clear();
        }
        if constraints.pools.is_empty() {
            constraints.preferences.clear();
        }
        if constraints.max_chunk_bytes == Some(0) {
            return Err(ConstraintError::ChunkTooSmall { buffer: BufferId(0), bytes: 1, chunk_bytes: 0 }.into());
        }
        let mut exact: BTreeSet<BufferId> = constraints.views.keys().chain(constraints.pins.keys()).copied().collect();
        for family in families.iter().filter(|family| family.iter().any(|(id, _)| constraints.pins.contains_key(id))) {
            exact.extend(family.iter().map(|&(id, _)| id));
        }
        // What the problem's alignment brings about anyway is no rule that a strategy would have to know.
        let align = self.align.bytes();
        constraints.aligns.retain(|id, own| exact.contains(id) || !align.is_multiple_of(own.bytes()));
        for (index, buffer) in self.buffers.iter_mut().enumerate() {
            let is_exact = !exact.is_empty() && exact.contains(&BufferId::new(index));
            buffer.bytes = if is_exact { buffer.size_bytes } else { self.align.round_up(buffer.size_bytes).unwrap_or(buffer.bytes) };
        }
        self.extras = None;
        if constraints.features() != FeatureSet::NONE {
            assert!(self.kept_apart.is_none(), "a problem has rules or pairs that are kept apart, not both");
            let bodies = Bodies::new(&self.buffers, self.align, &constraints, &exact, families)?;
            check_pins(&bodies, &constraints)?;
            self.extras = Some(Box::new(Extras { constraints, exact, bodies }));
        }
        Ok(self)
    }

    /// The rules beyond sizes and lifetimes; `None` without any.
    #[must_use]
    pub fn constraints(&self) -> Option<&Constraints> {
        self.extras.as_ref().map(|extras| &extras.constraints)
    }

    /// Which kinds of such rules there are.
    #[must_use]
    pub fn features(&self) -> FeatureSet {
        self.constraints().map_or(FeatureSet::NONE, Constraints::features)
    }

    /// The pools; empty if there is one arena.
    #[must_use]
    pub fn pools(&self) -> &[Pool] {
        self.constraints().map_or(&[], |constraints| &constraints.pools)
    }

    /// The capacity of a pool, or of the arena where there is only one; `None` without a limit.
    #[must_use]
    pub fn pool_capacity_bytes(&self, pool: PoolId) -> Option<u64> {
        self.pools().get(pool.index()).map_or(self.capacity_bytes, |pool| pool.capacity_bytes)
    }

    /// What must be kept when, as disjoint rectangles of steps and bytes; without rules one per buffer, by id.
    pub fn pieces(&self) -> impl Iterator<Item = Piece> + use<'_> {
        let (plain, bodies) = match &self.extras {
            None => (self.buffers.as_slice(), None),
            Some(extras) => (&[][..], Some(&extras.bodies)),
        };
        let whole = |(index, buffer): (usize, &Buffer)| Piece {
            buffer: BufferId::new(index),
            lifetime: buffer.lifetime,
            from_byte: 0,
            to_byte: buffer.bytes,
        };
        let of_bodies = bodies.into_iter().flat_map(|bodies| bodies.iter().flat_map(|body| bodies.pieces_of(body).iter().copied()));
        plain.iter().enumerate().map(whole).chain(of_bodies)
    }

    /// The steps in which at least some bytes of a buffer are kept: its lifetime without its gaps; sorted.
    #[must_use]
    pub fn live_ranges(&self, id: BufferId) -> Vec<Lifetime> {
        let lifetime = self.buffer(id).lifetime;
        let gaps = self.constraints().map_or(&[][..], |constraints| constraints.gaps(id));
        let mut empty: Vec<Lifetime> = gaps.iter().filter(|gap| gap.window.is_none()).map(|gap| gap.lifetime).collect();
        empty.sort_unstable();
        let mut ranges = Vec::with_capacity(empty.len() + 1);
        let mut start = lifetime.start;
        for gap in empty {
            ranges.push(Lifetime { start, end: gap.start });
            start = gap.end;
        }
        ranges.push(Lifetime { start, end: lifetime.end });
        ranges.retain(|range| range.start < range.end);
        ranges
    }

    /// What a placement moves as one.
    pub(crate) fn bodies(&self) -> Cow<'_, Bodies> {
        match &self.extras {
            Some(extras) => Cow::Borrowed(&extras.bodies),
            None => Cow::Owned(Bodies::plain(&self.buffers, self.align)),
        }
    }

    /// Whether the problem's alignment leaves a buffer alone: it is a view, or fixed.
    #[must_use]
    pub fn is_exact(&self, id: BufferId) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.exact.contains(&id))
    }

    /// The same problem with pairs of buffers that may not share memory although they are never live together.
    ///
    /// # Panics
    /// If there are rules beyond sizes and lifetimes, or the pairs are those of another problem.
    #[must_use]
    pub fn with_kept_apart(mut self, kept_apart: Arc<KeptApart>) -> Self {
        assert_eq!(kept_apart.n_buffers(), self.buffers.len(), "the pairs are those of this problem");
        assert!(self.extras.is_none(), "a problem has rules or pairs that are kept apart, not both");
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
