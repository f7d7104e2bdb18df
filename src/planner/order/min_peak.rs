//! `min-peak`: search for an order with a low peak.
//!
//! Problem: the topological order with the smallest largest step; NP-hard (Sethi 1975).
//! Method: three starts (the file's order, depth first, and a greedy walk); the best of them goes through a local
//! search. The greedy walk runs at once whatever costs nothing, and else looks ahead from each candidate to the next
//! valley of live bytes and takes the lowest way. The local search moves a block of one to eight ops, more often near
//! the peak, and keeps what is not worse: first the peak, then the number of steps at the peak.
//! Guarantee: topological, never a higher peak than the file's order, the same for a seed; not the lowest peak.
//! Time: the greedy walk O(ops · candidates · depth), the search at most 5 million simulated ops; space O(reads).
//! Source: looking ahead to the valley follows Liu, "An application of generalized tree pebbling to sparse matrix
//! factorization", DOI 10.1137/0608031; the moves are the project's own.
//!
//! ```text
//! live after each way on:   A  ..##..__.     up by 2, then a valley: taken
//!                           B  .####.....    up by 4
//! ```

use super::depth_first::depth_first;
use super::live::{LiveModel, LiveState};
use super::walk::Walk;
use crate::control::{Control, Progress};
use crate::ids::OpId;
use crate::links::OpLinks;

/// Ops simulated by the local search at most: about a third of a second.
const SEARCH_BUDGET: u64 = 5_000_000;

/// Ops looked at by the greedy walk, after which it looks ahead no more: about a second.
const LOOK_BUDGET: u64 = 20_000_000;

/// Ops that may run next which a look ahead looks at for a free one; chosen by eye.
const MAX_WIDTH: usize = 16;

/// The same where nothing is tried out: the widest graphs are looked at in part. Chosen by eye.
const MAX_FREE_WIDTH: usize = 1_024;

/// Moves that the local search tries per op at most; a small graph is soon exhausted. Chosen by eye.
const MOVES_PER_OP: u64 = 1_000;

/// Candidates of a greedy step from which the walk looks ahead; chosen by eye.
const MAX_CANDIDATES: usize = 12;

/// Ops that a look ahead runs at most; chosen by eye, the length of a block in a large model.
const MAX_DEPTH: usize = 24;

/// The longest block that is moved, ops.
const MAX_BLOCK: usize = 8;

/// An order and its largest step.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) order: Vec<OpId>,
    pub(super) peak_bytes: u64,
}

/// `file` is the file's order, or the one closest to it; a peak of `enough_bytes` ends the search.
pub(super) fn min_peak(links: &OpLinks, model: &LiveModel, file: &[OpId], enough_bytes: u64, seed: u64, control: &Control<'_>) -> Found {
    let mut best = Found { order: file.to_vec(), peak_bytes: model.peak(file) };
    let starts: [&dyn Fn() -> Option<Vec<OpId>>; 2] = [&|| Some(depth_first(links)), &|| greedy(links, model, control)];
    for start in starts {
        if best.peak_bytes <= enough_bytes || control.is_stopped() {
            break;
        }
        if let Some(order) = start() {
            let peak_bytes = model.peak(&order);
            if peak_bytes < best.peak_bytes {
                best = Found { order, peak_bytes };
            }
        }
    }
    if best.peak_bytes > enough_bytes { Search::new(links, model, best.order, seed).run(enough_bytes, control) } else { best }
}

/// `None` if stopped.
fn greedy(links: &OpLinks, model: &LiveModel, control: &Control<'_>) -> Option<Vec<OpId>> {
    let mut walk = Walk::new(links, model);
    loop {
        walk.run_free(walk.peak_bytes(), usize::MAX, MAX_FREE_WIDTH);
        let mut candidates: Vec<((u64, u64), OpId)> = walk.ready().iter().map(|&op| (step_key(&walk, op), op)).collect();
        if candidates.is_empty() {
            return Some(walk.order());
        }
        if control.is_stopped() {
            return None;
        }
        candidates.sort_unstable();
        walk.n_looks += candidates.len() as u64;
        candidates.truncate(if walk.n_looks < LOOK_BUDGET { MAX_CANDIDATES } else { 1 });
        let best = candidates.into_iter().map(|(_, op)| (look_ahead(&mut walk, links, op), op)).min();
        if let Some((_, op)) = best {
            walk.run(op);
        }
    }
}

fn step_key(walk: &Walk<'_>, op: OpId) -> (u64, u64) {
    let step = walk.preview(op);
    (step.during.max(walk.peak_bytes()), step.after)
}

/// The peak on the way from `op` to its lowest valley, and the bytes live there; the walk is left as it was.
fn look_ahead(walk: &mut Walk<'_>, links: &OpLinks, op: OpId) -> (u64, u64) {
    let begin = walk.n_done();
    let mut last = op;
    walk.run(op);
    let mut valley = (walk.peak_bytes(), walk.live_bytes());
    while walk.n_done() - begin < MAX_DEPTH {
        walk.run_free(walk.peak_bytes(), MAX_DEPTH - (walk.n_done() - begin), MAX_WIDTH);
        last = walk.order_since(walk.n_done() - 1).first().copied().unwrap_or(last);
        if walk.live_bytes() < valley.1 && walk.peak_bytes() == valley.0 {
            valley.1 = walk.live_bytes();
        }
        let readers = &links.after[last.index()];
        let next = readers.iter().filter(|reader| walk.ready().binary_search(reader).is_ok()).map(|&op| (step_key(walk, op), op)).min();
        let Some((_, next)) = next else { break };
        walk.run(next);
        last = next;
    }
    walk.take_back_to(begin);
    valley
}

/// How good an order is: the peak, then the number of steps at it.
type Quality = (u64, u32);

/// The local search.
struct Search<'m> {
    links: &'m OpLinks,
    model: &'m LiveModel,
    order: Vec<OpId>,
    step_of: Vec<usize>,
    quality: Quality,
    /// The steps at the peak.
    peak_steps: Vec<usize>,
    rng: fastrand::Rng,
    looks_left: u64,
}

impl<'m> Search<'m> {
    fn new(links: &'m OpLinks, model: &'m LiveModel, order: Vec<OpId>, seed: u64) -> Self {
        let mut step_of = vec![0; order.len()];
        for (step, op) in order.iter().enumerate() {
            step_of[op.index()] = step;
        }
        let rng = fastrand::Rng::with_seed(seed);
        let n = order.len() as u64;
        let looks_left = SEARCH_BUDGET.min(n * n * MOVES_PER_OP);
        let mut search = Self { links, model, order, step_of, quality: (0, 0), peak_steps: Vec::new(), rng, looks_left };
        search.measure();
        search
    }

    fn run(mut self, enough_bytes: u64, control: &Control<'_>) -> Found {
        /// Moves between two questions whether to stop.
        const POLL: u64 = 64;
        for turn in 0_u64.. {
            let is_over = self.quality.0 <= enough_bytes || self.looks_left == 0 || self.order.len() < 2;
            if is_over || (turn % POLL == 0 && control.is_stopped()) {
                break;
            }
            self.try_move(control);
        }
        Found { order: self.order, peak_bytes: self.quality.0 }
    }

    /// Moves a block to another place that the graph allows, and back if that is worse.
    fn try_move(&mut self, control: &Control<'_>) {
        let n = self.order.len();
        let begin = self.rng.usize(0..n);
        let begin = if self.rng.bool() { self.near_peak() } else { begin };
        let end = (begin + self.rng.usize(1..=MAX_BLOCK)).min(n);
        let (lowest, highest) = self.room(begin, end);
        self.looks_left = self.looks_left.saturating_sub(16);
        if lowest == begin && highest == end {
            return;
        }
        let (first, middle, last) = if self.rng.bool() && lowest < begin {
            (self.rng.usize(lowest..begin), begin, end)
        } else if highest > end {
            (begin, end, self.rng.usize(end + 1..=highest))
        } else {
            return;
        };
        self.order[first..last].rotate_left(middle - first);
        self.looks_left = self.looks_left.saturating_sub(n as u64);
        let quality = self.quality_of();
        if quality > self.quality {
            self.order[first..last].rotate_right(middle - first);
            return;
        }
        let is_better = quality.0 < self.quality.0;
        for step in first..last {
            self.step_of[self.order[step].index()] = step;
        }
        self.measure();
        if is_better {
            control.report(Progress { what: format!("order with a peak of {} bytes", quality.0), fraction: None, best_arena_bytes: None });
        }
    }

    /// A step where something at the peak was born or dies, or one beside the peak.
    fn near_peak(&mut self) -> usize {
        /// How far from the peak a block is looked for, steps; chosen by eye.
        const REACH: usize = 40;
        let peak = self.peak_steps[self.rng.usize(0..self.peak_steps.len())];
        let low = peak.saturating_sub(REACH);
        self.rng.usize(low..(peak + REACH).min(self.order.len()))
    }

    /// The first step at which the block `begin..end` may begin, and one past the last at which it may end.
    fn room(&self, begin: usize, end: usize) -> (usize, usize) {
        let block = || self.order[begin..end].iter();
        let before = block().flat_map(|op| &self.links.before[op.index()]).map(|op| self.step_of[op.index()] + 1).filter(|&step| step <= begin);
        let after = block().flat_map(|op| &self.links.after[op.index()]).map(|op| self.step_of[op.index()]).filter(|&step| step >= end);
        (before.max().unwrap_or(0), after.min().unwrap_or(self.order.len()))
    }

    /// Stops counting as soon as the order is worse than the present one.
    fn quality_of(&self) -> Quality {
        let mut state = LiveState::new(self.model);
        let mut quality = (0, 0);
        for &op in &self.order {
            let during = state.run(op);
            if during > quality.0 {
                quality = (during, 1);
            } else if during == quality.0 {
                quality.1 += 1;
            }
            if quality.0 > self.quality.0 {
                break;
            }
        }
        quality
    }

    fn measure(&mut self) {
        let mut state = LiveState::new(self.model);
        let steps: Vec<u64> = self.order.iter().map(|&op| state.run(op)).collect();
        let peak = steps.iter().copied().max().unwrap_or(0);
        self.peak_steps = (0..steps.len()).filter(|&step| steps[step] == peak).collect();
        self.quality = (peak, u32::try_from(self.peak_steps.len()).expect("ops have 32-bit ids"));
    }
}
