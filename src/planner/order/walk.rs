//! A schedule in the making: what has run, what may run next, and what is live; every step can be taken back.

use super::live::{LiveModel, LiveState, StepBytes};
use crate::ids::OpId;
use crate::links::OpLinks;

/// Some ops have run.
pub(super) struct Walk<'m> {
    links: &'m OpLinks,
    live: LiveState<'m>,
    /// Ops read from that have not run, by op.
    missing: Vec<u32>,
    /// Ops that may run next, in file order.
    ready: Vec<OpId>,
    done: Vec<Done>,
    peak_bytes: u64,
    /// Ops looked at or run so far: what the work is counted in.
    pub(super) n_looks: u64,
}

/// What it takes to take a step back.
struct Done {
    op: OpId,
    begun: Vec<u32>,
    live_bytes: u64,
    peak_bytes: u64,
}

impl<'m> Walk<'m> {
    pub(super) fn new(links: &'m OpLinks, model: &'m LiveModel) -> Self {
        let missing: Vec<u32> = links.before.iter().map(|before| u32::try_from(before.len()).expect("ops have 32-bit ids")).collect();
        let ready = (0..missing.len()).filter(|&op| missing[op] == 0).map(OpId::new).collect();
        Self { links, live: LiveState::new(model), missing, ready, done: Vec::new(), peak_bytes: 0, n_looks: 0 }
    }

    pub(super) fn ready(&self) -> &[OpId] {
        &self.ready
    }

    pub(super) fn n_done(&self) -> usize {
        self.done.len()
    }

    pub(super) fn order(&self) -> Vec<OpId> {
        self.done.iter().map(|done| done.op).collect()
    }

    /// The ops that ran after the first `n`.
    pub(super) fn order_since(&self, n: usize) -> Vec<OpId> {
        self.done[n..].iter().map(|done| done.op).collect()
    }

    /// The largest step so far.
    pub(super) fn peak_bytes(&self) -> u64 {
        self.peak_bytes
    }

    pub(super) fn live_bytes(&self) -> u64 {
        self.live.live_bytes
    }

    pub(super) fn preview(&self, op: OpId) -> StepBytes {
        self.live.preview(op)
    }

    /// Runs an op that is ready.
    pub(super) fn run(&mut self, op: OpId) {
        self.n_looks += 1;
        let at = self.ready.binary_search(&op).expect("only ready ops run");
        self.ready.remove(at);
        let (live_bytes, peak_bytes) = (self.live.live_bytes, self.peak_bytes);
        let mut begun = Vec::new();
        let during = self.live.run_recorded(op, &mut |storage| begun.push(storage));
        self.peak_bytes = peak_bytes.max(during);
        self.done.push(Done { op, begun, live_bytes, peak_bytes });
        for &reader in &self.links.after[op.index()] {
            self.missing[reader.index()] -= 1;
            if self.missing[reader.index()] == 0 {
                let at = self.ready.partition_point(|&other| other < reader);
                self.ready.insert(at, reader);
            }
        }
    }

    /// Takes the last steps back until `n` ops have run.
    pub(super) fn take_back_to(&mut self, n: usize) {
        while self.done.len() > n {
            let Some(Done { op, begun, live_bytes, peak_bytes }) = self.done.pop() else { return };
            for &reader in &self.links.after[op.index()] {
                if self.missing[reader.index()] == 0
                    && let Ok(at) = self.ready.binary_search(&reader)
                {
                    self.ready.remove(at);
                }
                self.missing[reader.index()] += 1;
            }
            let at = self.ready.partition_point(|&other| other < op);
            self.ready.insert(at, op);
            self.live.take_back(op, &begun, live_bytes, self.done.is_empty());
            self.peak_bytes = peak_bytes;
        }
    }

    /// Runs up to `max` ops that cost nothing: no step above `bound_bytes`, and no more live bytes afterwards.
    ///
    /// Running such an op at once is never worse: whatever follows holds at most what it held without it, and finds at
    /// least the same inputs to write over. Only the first `width` ops that may run next are looked at each time.
    pub(super) fn run_free(&mut self, bound_bytes: u64, max: usize, width: usize) {
        for _ in 0..max {
            let live_bytes = self.live.live_bytes;
            let is_free = |step: StepBytes| step.during <= bound_bytes && step.after <= live_bytes;
            let looked_at = &self.ready[..self.ready.len().min(width)];
            let Some(at) = looked_at.iter().position(|&op| is_free(self.live.preview(op))) else {
                self.n_looks += looked_at.len() as u64;
                return;
            };
            self.n_looks += at as u64 + 1;
            self.run(self.ready[at]);
        }
    }
}
