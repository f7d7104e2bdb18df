//! `ort-pattern`: blocks reused for equal sizes by reference count, then placed as a memory pattern.
//!
//! Problem: place buffers while walking the graph once, as a runtime does that records one run and replays it.
//! Method: two passes. In the first, a buffer takes over the block of a dead buffer of exactly its size, the one that
//! died last, else it gets a block of its own; a block is needed until its last buffer dies. In the second, the blocks
//! are placed in the order of their first births: each in the smallest gap between the live ones that is large enough,
//! the lowest on ties, else above all live ones.
//! Guarantee: valid; no bound on the arena. A block that waits for its next buffer stays reserved, so reuse can make
//! the arena larger than no reuse at all.
//! Time O((reads + n) log n + n · live blocks), space O(n).
//! Source: ONNX Runtime, `onnxruntime/core/framework/allocation_planner.cc` (reuse) and
//! `onnxruntime/core/framework/mem_pattern_planner.h` (placement).
//!
//! ```text
//! byte 7 |..CC.     D has A's size and takes A's block, which waits reserved while C is born:
//!      4 |.BB..     C goes above B, although nobody lives below B at that step
//!      0 |AA-DD
//! ```

use std::collections::BTreeMap;

use super::reference_counts::walk;
use super::{Request, SolveError, Strategy, StrategyKind};
use crate::constraints::FeatureSet;
use crate::ids::BufferId;
use crate::plan::Plan;
use crate::problem::Problem;

pub(super) const STRATEGY: Strategy = Strategy {
    name: "ort-pattern",
    summary: "Blocks reused for equal sizes by reference count, then placed by best fit as one run would allocate them.",
    source: "ONNX Runtime, onnxruntime/core/framework/allocation_planner.cc and mem_pattern_planner.h",
    kind: StrategyKind::Offsets,
    is_safe: true,
    needs_graph: true,
    supports: FeatureSet::NONE,
    run,
};

fn run(request: &Request<'_>) -> Result<Plan, SolveError> {
    let mut reuse = Reuse::new(request.problem);
    walk(request, &STRATEGY, |change| {
        change.born.iter().for_each(|&buffer| reuse.open(buffer));
        change.dead.iter().for_each(|&buffer| reuse.close(buffer));
    })?;
    let block_offsets = reuse.place(request)?;
    let offsets = reuse.block_of.iter().map(|&block| block_offsets[block]).collect();
    Ok(Plan::from_offsets(STRATEGY.name, request.problem, offsets))
}

/// What the first pass records: the blocks, and when they are needed first and last.
struct Reuse<'a> {
    problem: &'a Problem,
    block_of: Vec<usize>,
    block_bytes: Vec<u64>,
    /// Blocks whose buffer is dead, by size, the last to die at the end.
    free: BTreeMap<u64, Vec<usize>>,
    /// Every birth of a block and every death of a buffer in it, in order: the block, and whether it is its birth.
    events: Vec<(usize, bool)>,
    /// The event after which each block is not needed any more.
    last_event: Vec<usize>,
}

impl<'a> Reuse<'a> {
    fn new(problem: &'a Problem) -> Self {
        let block_of = vec![0; problem.n_buffers()];
        Self { problem, block_of, block_bytes: Vec::new(), free: BTreeMap::new(), events: Vec::new(), last_event: Vec::new() }
    }

    fn open(&mut self, buffer: BufferId) {
        let bytes = self.problem.buffer(buffer).bytes;
        let block = self.free.get_mut(&bytes).and_then(Vec::pop).unwrap_or_else(|| {
            self.block_bytes.push(bytes);
            self.last_event.push(usize::MAX);
            self.events.push((self.block_bytes.len() - 1, true));
            self.block_bytes.len() - 1
        });
        // Needed to the end, unless its death comes.
        self.last_event[block] = usize::MAX;
        self.block_of[buffer.index()] = block;
    }

    fn close(&mut self, buffer: BufferId) {
        let block = self.block_of[buffer.index()];
        self.last_event[block] = self.events.len();
        self.events.push((block, false));
        self.free.entry(self.block_bytes[block]).or_default().push(block);
    }

    /// The second pass: an offset for each block.
    fn place(&self, request: &Request<'_>) -> Result<Vec<u64>, SolveError> {
        let mut offsets = vec![0; self.block_bytes.len()];
        // Live blocks as (begin, end), sorted and disjoint.
        let mut live: Vec<(u64, u64)> = Vec::new();
        for (turn, &(block, is_birth)) in self.events.iter().enumerate() {
            request.keep_going(turn)?;
            if is_birth {
                let bytes = self.block_bytes[block];
                let (at, offset) = tightest_gap(&live, bytes);
                live.insert(at, (offset, offset + bytes));
                offsets[block] = offset;
            } else if self.last_event[block] == turn {
                let at = live.partition_point(|&(begin, _)| begin < offsets[block]);
                live.remove(at);
            }
        }
        Ok(offsets)
    }
}

/// Where among the sorted `live` ranges a block of `bytes` goes, and at which offset.
fn tightest_gap(live: &[(u64, u64)], bytes: u64) -> (usize, u64) {
    let mut top = 0;
    let mut best: Option<(u64, usize, u64)> = None;
    for (at, &(begin, end)) in live.iter().enumerate() {
        let gap = begin - top;
        if gap >= bytes && best.is_none_or(|(smallest, ..)| gap < smallest) {
            best = Some((gap, at, top));
        }
        top = end;
    }
    best.map_or((live.len(), top), |(_, at, offset)| (at, offset))
}
