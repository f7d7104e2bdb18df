//! Who runs before whom in the graph itself, whatever the schedule: neighbours, and reachability as bitsets.
//!
//! Problem: answer "must op a run before op b?" many times.
//! Method: one bitset of ancestors per op, filled along a topological order by joining those of the ops it reads from.
//! Guarantee: exact; refused beyond [`MAX_CLOSURE_BYTES`].
//! Time O(reads · ops / 64) to build, O(1) for a question; space ops² / 8 bytes.
//! Source: the transitive closure of an acyclic graph in topological order (Purdom 1970, DOI 10.1007/BF01940892).
//!
//! ```text
//! a -> b -> d      ancestors of d: a, b, c
//!  \-> c ---^      b and c: neither precedes the other
//! ```

use crate::graph::Graph;
use crate::ids::OpId;

/// The largest table of ancestors that is built, bytes: about 23,000 ops; chosen so that it stays beside the rest.
pub const MAX_CLOSURE_BYTES: usize = 64 << 20;

/// The neighbours of every op, each once, in file order.
#[derive(Clone, Debug)]
pub struct OpLinks {
    /// The ops that each op reads from, by op.
    pub before: Vec<Vec<OpId>>,
    /// The ops that read from each op, by op.
    pub after: Vec<Vec<OpId>>,
}

impl OpLinks {
    /// Collects the neighbours. Time and space O(ops + reads).
    #[must_use]
    pub fn new(graph: &Graph) -> Self {
        let mut links = Self { before: vec![Vec::new(); graph.ops().len()], after: vec![Vec::new(); graph.ops().len()] };
        for id in graph.op_ids() {
            let mut before: Vec<OpId> = graph.op(id).inputs.iter().filter_map(|&input| graph.producer(input)).collect();
            before.sort_unstable();
            before.dedup();
            for &source in &before {
                links.after[source.index()].push(id);
            }
            links.before[id.index()] = before;
        }
        links
    }
}

/// Rows of bits, all of one length.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct BitRows {
    words: Vec<u64>,
    n_words: usize,
}

impl BitRows {
    /// `n_rows` rows of `n_bits` zeros each.
    pub(crate) fn zeros(n_rows: usize, n_bits: usize) -> Self {
        let n_words = n_bits.div_ceil(64);
        Self { words: vec![0; n_rows * n_words], n_words }
    }

    /// How many bytes such rows take.
    pub(crate) fn bytes_for(n_rows: usize, n_bits: usize) -> usize {
        n_rows.saturating_mul(n_bits.div_ceil(64)).saturating_mul(8)
    }

    pub(crate) fn row(&self, row: usize) -> &[u64] {
        &self.words[row * self.n_words..(row + 1) * self.n_words]
    }

    pub(crate) fn has(&self, row: usize, bit: usize) -> bool {
        self.words[row * self.n_words + bit / 64] >> (bit % 64) & 1 == 1
    }

    pub(crate) fn set(&mut self, row: usize, bit: usize) {
        self.words[row * self.n_words + bit / 64] |= 1 << (bit % 64);
    }

    /// Adds the bits of row `from` to row `to`.
    fn join(&mut self, from: usize, to: usize) {
        for word in 0..self.n_words {
            let bits = self.words[from * self.n_words + word];
            self.words[to * self.n_words + word] |= bits;
        }
    }

    /// The positions of the bits set in a row, ascending.
    pub(crate) fn ones(&self, row: usize) -> impl Iterator<Item = usize> + '_ {
        self.row(row).iter().enumerate().flat_map(|(at, &word)| {
            let rest = std::iter::successors(Some(word), |&word| Some(word & word.wrapping_sub(1)));
            rest.take_while(|&word| word != 0).map(move |word| at * 64 + word.trailing_zeros() as usize)
        })
    }

    /// How many bits are set in all rows.
    pub(crate) fn n_ones(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

/// Which op must run before which, directly or through others.
#[derive(Clone, Debug)]
pub struct Reachability {
    ancestors: BitRows,
}

impl Reachability {
    /// The closure of the graph's dependencies; `None` if it would take more than [`MAX_CLOSURE_BYTES`].
    ///
    /// `order` must be topological; it only sets the order of the work.
    #[must_use]
    pub fn new(links: &OpLinks, order: &[OpId]) -> Option<Self> {
        let n_ops = links.before.len();
        if BitRows::bytes_for(n_ops, n_ops) > MAX_CLOSURE_BYTES {
            return None;
        }
        let mut ancestors = BitRows::zeros(n_ops, n_ops);
        for &op in order {
            for &source in &links.before[op.index()] {
                ancestors.join(source.index(), op.index());
                ancestors.set(op.index(), source.index());
            }
        }
        Some(Self { ancestors })
    }

    /// Whether `first` must run before `second`; no op runs before itself.
    #[must_use]
    pub fn precedes(&self, first: OpId, second: OpId) -> bool {
        self.ancestors.has(second.index(), first.index())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Schedule;
    use crate::testing::random_graph;

    #[test]
    fn the_closure_is_that_of_floyd_and_warshall() {
        for seed in 0..60 {
            let graph = random_graph(seed, 90);
            let links = OpLinks::new(&graph);
            let n = graph.ops().len();
            let mut reaches = vec![vec![false; n]; n];
            for (source, after) in links.after.iter().enumerate() {
                for target in after {
                    reaches[source][target.index()] = true;
                }
            }
            for middle in 0..n {
                for source in 0..n {
                    for target in 0..n {
                        reaches[source][target] |= reaches[source][middle] && reaches[middle][target];
                    }
                }
            }
            let closure = Reachability::new(&links, Schedule::new(&graph).order()).expect("a small graph");
            for (source, target) in (0..n).flat_map(|source| (0..n).map(move |target| (source, target))) {
                assert_eq!(closure.precedes(OpId::new(source), OpId::new(target)), reaches[source][target], "seed {seed}");
            }
        }
    }

    #[test]
    fn bits_are_listed_in_order() {
        let mut rows = BitRows::zeros(2, 130);
        for bit in [129, 0, 64, 63] {
            rows.set(1, bit);
        }
        assert_eq!((rows.ones(1).collect::<Vec<_>>(), rows.ones(0).count(), rows.n_ones()), (vec![0, 63, 64, 129], 0, 4));
    }
}
