//! Streams as a real device treats them: what is launched waits in its stream, and streams take turns as they like.
//!
//! Work is done at the latest moment, when somebody waits for it, and in an order that is meant to hurt: in one wait
//! the newest stream runs as far as its events let it, in the next one chance decides, from a fixed seed.
//! A graph of launches is treated the same way: only what its captured events say is kept in order.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::driver::{CAPTURE_UNJOINED, INVALID_HANDLE, Launch, Outcome};

/// What waits in a stream.
#[derive(Clone)]
pub(crate) enum Work {
    Launch(Launch),
    /// The event is reached; the number is how often it had been recorded then.
    Record {
        event: u64,
        times: u64,
    },
    /// Nothing after it happens before the event was reached that often.
    Wait {
        event: u64,
        times: u64,
    },
    /// All launches of a graph, as one piece.
    Graph(Vec<Node>),
}

/// A launch in a graph, and the earlier ones that it comes after.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) launch: Launch,
    pub(crate) after: Vec<usize>,
}

/// What the streams of one capture collect.
#[derive(Default)]
pub(crate) struct Capture {
    pub(crate) nodes: Vec<Node>,
    /// For each stream that takes part: the nodes that its next one comes after.
    last: BTreeMap<u64, Vec<usize>>,
    /// What each event recorded in the capture stands for.
    events: HashMap<u64, Vec<usize>>,
    pub(crate) is_broken: bool,
}

impl Capture {
    pub(crate) fn new(origin: u64) -> Self {
        Self { last: BTreeMap::from([(origin, Vec::new())]), ..Self::default() }
    }

    pub(crate) fn has(&self, stream: u64) -> bool {
        self.last.contains_key(&stream)
    }

    pub(crate) fn knows(&self, event: u64) -> bool {
        self.events.contains_key(&event)
    }

    pub(crate) fn launch(&mut self, stream: u64, launch: Launch) {
        let node = self.nodes.len();
        let after = self.last.insert(stream, vec![node]).unwrap_or_default();
        self.nodes.push(Node { launch, after });
    }

    pub(crate) fn record(&mut self, event: u64, stream: u64) {
        let at = self.last.get(&stream).cloned().unwrap_or_default();
        self.events.insert(event, at);
    }

    /// The stream takes part from here on.
    pub(crate) fn wait(&mut self, stream: u64, event: u64) {
        let reached = self.events.get(&event).cloned().unwrap_or_default();
        let last = self.last.entry(stream).or_default();
        last.extend(reached.into_iter().filter(|node| !last.contains(node)).collect::<Vec<_>>());
    }

    /// Whether everything that other streams launched comes before the end of the first one.
    pub(crate) fn joined(&self, origin: u64) -> Outcome {
        let mut is_seen = vec![false; self.nodes.len()];
        let mut stack = self.last.get(&origin).cloned().unwrap_or_default();
        while let Some(node) = stack.pop() {
            if !std::mem::replace(&mut is_seen[node], true) {
                stack.extend(&self.nodes[node].after);
            }
        }
        if is_seen.into_iter().all(|is_seen| is_seen) { Ok(()) } else { Err(CAPTURE_UNJOINED) }
    }
}

/// All streams, what waits in them, and how often each event was recorded and reached.
#[derive(Default)]
pub(crate) struct Streams {
    queues: BTreeMap<u64, VecDeque<Work>>,
    recorded: HashMap<u64, u64>,
    reached: HashMap<u64, u64>,
    /// Waits so far, which decide who goes first.
    n_waits: u64,
    chance: u64,
}

impl Streams {
    pub(crate) fn create(&mut self, stream: u64) {
        self.queues.insert(stream, VecDeque::new());
    }

    pub(crate) fn destroy(&mut self, stream: u64) -> Outcome {
        self.queues.remove(&stream).map(drop).ok_or(INVALID_HANDLE)
    }

    pub(crate) fn has(&self, stream: u64) -> bool {
        self.queues.contains_key(&stream)
    }

    pub(crate) fn push(&mut self, stream: u64, work: Work) {
        if let Some(queue) = self.queues.get_mut(&stream) {
            queue.push_back(work);
        }
    }

    pub(crate) fn record(&mut self, event: u64, stream: u64) {
        let times = self.recorded.entry(event).or_default();
        *times += 1;
        let times = *times;
        self.push(stream, Work::Record { event, times });
    }

    /// An event that was never recorded holds nobody up.
    pub(crate) fn wait_event(&mut self, stream: u64, event: u64) {
        let times = self.recorded.get(&event).copied().unwrap_or(0);
        self.push(stream, Work::Wait { event, times });
    }

    /// Begins a wait: decides who goes first until it ends.
    pub(crate) fn begin_wait(&mut self) {
        self.n_waits += 1;
    }

    fn is_able(&self, queue: &VecDeque<Work>) -> bool {
        match queue.front() {
            None => false,
            Some(Work::Wait { event, times }) => self.reached.get(event).copied().unwrap_or(0) >= *times,
            Some(_) => true,
        }
    }

    fn is_done(&self, stream: Option<u64>) -> bool {
        stream.map_or_else(|| self.queues.values().all(VecDeque::is_empty), |stream| self.queues.get(&stream).is_none_or(VecDeque::is_empty))
    }

    /// The next piece of work, of whichever stream has its turn; `None` when the stream that is waited for is empty, or
    /// all of them are.
    pub(crate) fn next(&mut self, waited_for: Option<u64>) -> Option<Work> {
        while !self.is_done(waited_for) {
            let able: Vec<u64> = self.queues.iter().filter(|(_, queue)| self.is_able(queue)).map(|(&stream, _)| stream).collect();
            let turn = if self.n_waits.is_multiple_of(2) { able.len().checked_sub(1)? } else { self.draw(able.len())? };
            match self.queues.get_mut(&able[turn])?.pop_front()? {
                Work::Record { event, times } => _ = self.reached.insert(event, times),
                Work::Wait { .. } => {}
                work => return Some(work),
            }
        }
        None
    }

    fn draw(&mut self, n: usize) -> Option<usize> {
        self.chance = self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.chance >> 33).ok()?.checked_rem(n)
    }

    /// An order of a graph's nodes that keeps what it must: the newest node that may go, or one by chance.
    pub(crate) fn order_of(&mut self, nodes: &[Node]) -> Vec<usize> {
        let mut order = Vec::with_capacity(nodes.len());
        let mut is_over = vec![false; nodes.len()];
        while order.len() < nodes.len() {
            let may_go = |&node: &usize| !is_over[node] && nodes[node].after.iter().all(|&before| is_over[before]);
            let able: Vec<usize> = (0..nodes.len()).filter(may_go).collect();
            let newest = able.len().saturating_sub(1);
            let turn = if self.n_waits.is_multiple_of(2) { newest } else { self.draw(able.len()).unwrap_or(newest) };
            is_over[able[turn]] = true;
            order.push(able[turn]);
        }
        order
    }
}
