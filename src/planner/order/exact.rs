//! `exact`: the lowest peak of any order, by dynamic programming over sets of ops that have run.
//!
//! Problem: the topological order with the smallest largest step.
//! Method: what a step holds depends only on the set of ops that ran before (a downset of the graph), so the best way
//! to a set is all that counts. Sets are taken up by the peak of the best way to them, lowest first; whatever costs
//! nothing runs at once ([`Walk::run_free`]); sets that cannot get below the best known order are dropped. If a lower
//! bound over single ops meets that order, nothing is searched at all.
//! Guarantee: the lowest peak, or the answer that there are too many sets.
//! Time O(sets · (ops + reads)), space O(sets · ops / 8); at most [`MAX_SETS`] sets, [`MAX_SET_BYTES`] and
//! [`MAX_LOOKS`] ops looked at.
//! Source: Held and Karp's recursion over sets (DOI 10.1137/0110015) in the order of Dijkstra; for memory of neural
//! graphs Ahn et al., "Ordering Chaos", arXiv 2003.02369.
//!
//! ```text
//! {} -> {a} -> {a,b} -> {a,b,d} -> all      each set keeps the lowest peak of all ways to it
//!          \-> {a,d} ---^
//! ```

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::live::LiveModel;
use super::min_peak::Found;
use super::walk::Walk;
use crate::control::Control;
use crate::ids::OpId;
use crate::links::{OpLinks, Reachability};

/// The most sets that are kept.
pub const MAX_SETS: usize = 1_000_000;

/// The most memory for sets, bytes.
pub const MAX_SET_BYTES: usize = 256 << 20;

/// The most ops that are looked at: two to eight seconds.
pub const MAX_LOOKS: u64 = 8_000_000;

/// How the search ended.
#[derive(Clone, Debug)]
pub(super) enum Exact {
    /// No order has a lower peak.
    Proved(Found),
    /// The limit was reached after so many sets; the order is the best known.
    Limit(Found, usize),
    /// Stopped by the caller; the order is the best known.
    Stopped(Found),
}

/// `known` is the best order so far, `bound_bytes` a lower bound on every order.
pub(super) fn exact(links: &OpLinks, model: &LiveModel, known: Found, bound_bytes: u64, control: &Control<'_>) -> Exact {
    if known.peak_bytes <= bound_bytes || known.order.is_empty() {
        return Exact::Proved(known);
    }
    Sets::new(links, model, bound_bytes, known).run(control)
}

/// Bytes that some step holds in every order: what an op touches, and what is begun before it and needed after it.
///
/// Time O(ops · storages · touches), space as [`Reachability`]; without that, only what single ops touch counts.
pub(super) fn bound_over_ops(model: &LiveModel, reach: Option<&Reachability>) -> u64 {
    let touching = touching_ops(model);
    let surely_live = |op: OpId, storage: usize| {
        let (toucher, memory) = (&touching[storage], &model.ops[op.index()]);
        let is_kept = model.n_touches[storage] as usize > toucher.len();
        let is_touched = || memory.touches.iter().any(|&touched| touched as usize == storage);
        let precedes = |one: OpId, two: OpId| reach.is_some_and(|reach| reach.precedes(one, two));
        let is_begun = || model.is_born_early[storage] || toucher.iter().any(|&other| precedes(other, op));
        let is_needed = || is_kept || toucher.iter().any(|&other| precedes(op, other));
        is_touched() || (is_begun() && is_needed())
    };
    let step = |op: usize| {
        let live = (0..model.bytes.len()).filter(|&storage| surely_live(OpId::new(op), storage));
        live.map(|storage| model.bytes[storage]).sum::<u64>() - model.most_taken_bytes(op)
    };
    (0..model.ops.len()).map(step).max().unwrap_or(0)
}

fn touching_ops(model: &LiveModel) -> Vec<Vec<OpId>> {
    let mut touching = vec![Vec::new(); model.bytes.len()];
    for (op, memory) in model.ops.iter().enumerate() {
        for &storage in &memory.touches {
            touching[storage as usize].push(OpId::new(op));
        }
    }
    touching
}

/// A set of ops, known by the way to it.
struct Way {
    parent: usize,
    ops: Vec<OpId>,
}

struct Sets<'m> {
    links: &'m OpLinks,
    model: &'m LiveModel,
    bound_bytes: u64,
    best: Found,
    ways: Vec<Way>,
    /// The lowest peak of a way to each set.
    peak_of: HashMap<Box<[u64]>, u64>,
    /// Peak, ops still to run, way: the lowest first, then the nearest to the end, then the first found.
    waiting: BinaryHeap<Reverse<(u64, usize, usize)>>,
    n_looks: u64,
}

/// The parent of the first way.
const NOBODY: usize = usize::MAX;

impl<'m> Sets<'m> {
    fn new(links: &'m OpLinks, model: &'m LiveModel, bound_bytes: u64, best: Found) -> Self {
        let n = links.before.len();
        let waiting = BinaryHeap::from([Reverse((bound_bytes, n, 0))]);
        let ways = vec![Way { parent: NOBODY, ops: Vec::new() }];
        Self { links, model, bound_bytes, best, ways, peak_of: HashMap::new(), waiting, n_looks: 0 }
    }

    fn run(mut self, control: &Control<'_>) -> Exact {
        let set_bytes = self.links.before.len().div_ceil(64) * 8 + 96;
        let max_sets = MAX_SETS.min(MAX_SET_BYTES / set_bytes);
        while let Some(Reverse((peak_bytes, _, way))) = self.waiting.pop() {
            if peak_bytes >= self.best.peak_bytes {
                break;
            }
            if control.is_stopped() {
                return Exact::Stopped(self.best);
            }
            if self.ways.len() >= max_sets || self.n_looks >= MAX_LOOKS {
                return Exact::Limit(self.best, self.ways.len());
            }
            self.expand(way, peak_bytes);
        }
        Exact::Proved(self.best)
    }

    /// Continues a way by every op that may come next.
    fn expand(&mut self, way: usize, peak_bytes: u64) {
        let mut walk = Walk::new(self.links, self.model);
        for op in self.order_to(way) {
            walk.run(op);
        }
        let begin = walk.n_done();
        for op in walk.ready().to_vec() {
            let during = walk.preview(op).during;
            if during >= self.best.peak_bytes {
                continue;
            }
            walk.run(op);
            let peak_bytes = peak_bytes.max(during);
            walk.run_free(peak_bytes, usize::MAX, usize::MAX);
            self.keep(&walk, way, begin, peak_bytes);
            walk.take_back_to(begin);
        }
        self.n_looks += walk.n_looks + 64;
    }

    /// Notes the set that `walk` reached, unless a way to it with no higher peak is known.
    fn keep(&mut self, walk: &Walk<'_>, parent: usize, begin: usize, peak_bytes: u64) {
        let n = self.links.before.len();
        if walk.n_done() == n {
            if walk.peak_bytes() < self.best.peak_bytes {
                self.best = Found { order: walk.order(), peak_bytes: walk.peak_bytes() };
            }
            return;
        }
        let mut set = vec![0_u64; n.div_ceil(64)].into_boxed_slice();
        for op in walk.order_since(0) {
            set[op.index() / 64] |= 1 << (op.index() % 64);
        }
        let known = self.peak_of.entry(set).or_insert(u64::MAX);
        if *known > peak_bytes {
            *known = peak_bytes;
            self.waiting.push(Reverse((peak_bytes.max(self.bound_bytes), n - walk.n_done(), self.ways.len())));
            self.ways.push(Way { parent, ops: walk.order_since(begin) });
        }
    }

    fn order_to(&self, way: usize) -> Vec<OpId> {
        let mut parts = Vec::new();
        let mut at = way;
        while at != NOBODY {
            parts.push(&self.ways[at].ops);
            at = self.ways[at].parent;
        }
        parts.into_iter().rev().flatten().copied().collect()
    }
}
