//! Streams of a CPU: queues of jobs, worked off by one thread each, or in turns by a chosen rule.
//!
//! Jobs on overlapping bytes exclude each other, so that a clobbered tensor is a whole write in the wrong place and
//! never a data race; which of two such jobs comes first is left open, as on a GPU.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::device::{DeviceError, Turns};
use crate::pattern::{CANARY, WordReport, check_words, fill_words, pattern};

/// A range of a block: it stays valid until every job was worked off.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes {
    pub(super) pointer: *mut u8,
    pub(super) len: usize,
}

// SAFETY: a range is only a place; who may touch it when is decided by `Locks`.
unsafe impl Send for Bytes {}
// SAFETY: as above.
unsafe impl Sync for Bytes {}

impl Bytes {
    fn span(self) -> (usize, usize) {
        let begin = self.pointer.addr();
        (begin, begin + self.len)
    }
}

/// What a word of a range is compared with or set to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Words {
    Pattern(u32),
    Constant(u32),
}

impl Words {
    fn at(self, word: u64) -> u32 {
        match self {
            Self::Pattern(seed) => pattern(seed, word),
            Self::Constant(value) => value,
        }
    }
}

/// One piece of work.
#[derive(Clone, Debug)]
pub(super) enum Job {
    Fill { range: Bytes, words: Words },
    Check { range: Bytes, words: Words, report: usize },
    Signal { signal: usize },
    Wait { signal: usize, times: u64 },
}

impl Job {
    /// The ranges that it reads and those that it writes.
    fn ranges(&self) -> (Vec<Bytes>, Vec<Bytes>) {
        match self {
            Self::Fill { range, .. } => (vec![], vec![*range]),
            Self::Check { range, .. } => (vec![*range], vec![]),
            Self::Signal { .. } | Self::Wait { .. } => (vec![], vec![]),
        }
    }

    /// Does the work.
    ///
    /// # Safety
    /// Its ranges are inside living blocks, and nobody else touches what it writes, or writes what it reads, meanwhile.
    pub(super) unsafe fn run(&self, reports: &Mutex<Vec<WordReport>>) {
        match *self {
            Self::Fill { range, words } => {
                // SAFETY: by contract of this function.
                let bytes = unsafe { std::slice::from_raw_parts_mut(range.pointer, range.len) };
                match words {
                    Words::Pattern(seed) => fill_words(bytes, |word| pattern(seed, word)),
                    Words::Constant(value) => fill_words(bytes, |_| value),
                }
            }
            Self::Check { range, words, report } => {
                // SAFETY: by contract of this function.
                let bytes = unsafe { std::slice::from_raw_parts(range.pointer, range.len) };
                let mut found = held(reports)[report];
                check_words(bytes, &mut found, |word| words.at(word));
                held(reports)[report] = found;
            }
            Self::Signal { .. } | Self::Wait { .. } => {}
        }
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The queues, and how often each signal was called for.
#[derive(Debug, Default)]
pub(super) struct Queues {
    jobs: Vec<VecDeque<Job>>,
    called: Vec<u64>,
    reached: Vec<u64>,
    pub(super) current: usize,
    turns: Option<Turns>,
}

impl Queues {
    /// New queues; those before must be empty.
    pub(super) fn prepare(&mut self, n_streams: usize, n_signals: usize) {
        let turns = self.turns;
        let jobs = if n_streams > 1 { vec![VecDeque::new(); n_streams] } else { Vec::new() };
        *self = Self { jobs, called: vec![0; n_signals], reached: vec![0; n_signals], current: 0, turns };
    }

    /// Whether jobs are queued rather than done at once.
    pub(super) fn are_used(&self) -> bool {
        !self.jobs.is_empty()
    }

    pub(super) fn set_turns(&mut self, turns: Turns) {
        self.turns = Some(turns);
    }

    pub(super) fn push(&mut self, job: Job) {
        self.jobs[self.current].push_back(job);
    }

    /// On a single stream everything is in order anyway.
    pub(super) fn signal(&mut self, signal: usize) -> Result<(), DeviceError> {
        if !self.are_used() {
            return Ok(());
        }
        *self.called.get_mut(signal).ok_or(NO_SIGNAL)? += 1;
        self.push(Job::Signal { signal });
        Ok(())
    }

    pub(super) fn wait_for(&mut self, signal: usize) -> Result<(), DeviceError> {
        if !self.are_used() {
            return Ok(());
        }
        let times = *self.called.get(signal).ok_or(NO_SIGNAL)?;
        self.push(Job::Wait { signal, times });
        Ok(())
    }

    /// Works everything off.
    pub(super) fn drain(&mut self, reports: &Mutex<Vec<WordReport>>) -> Result<(), DeviceError> {
        if self.jobs.iter().all(VecDeque::is_empty) {
            return Ok(());
        }
        match self.turns.unwrap_or(Turns::Free) {
            Turns::Free => self.drain_side_by_side(reports),
            Turns::LastFirst => self.drain_in_turns(reports, |able| able.len() - 1),
            Turns::FirstFirst => self.drain_in_turns(reports, |_| 0),
            Turns::Random(seed) => {
                let mut state = seed;
                self.drain_in_turns(reports, |able| {
                    state = splitmix(state);
                    usize::try_from(state % able.len() as u64).unwrap_or(0)
                })
            }
        }
    }

    /// One job after another; `choose` picks among the streams that are able to go on.
    fn drain_in_turns(&mut self, reports: &Mutex<Vec<WordReport>>, mut choose: impl FnMut(&[usize]) -> usize) -> Result<(), DeviceError> {
        loop {
            let is_able = |queue: &VecDeque<Job>| match queue.front() {
                None => false,
                Some(Job::Wait { signal, times }) => self.reached[*signal] >= *times,
                Some(_) => true,
            };
            let able: Vec<usize> = (0..self.jobs.len()).filter(|&stream| is_able(&self.jobs[stream])).collect();
            if able.is_empty() {
                return if self.jobs.iter().all(VecDeque::is_empty) { Ok(()) } else { Err(DEADLOCK) };
            }
            match self.jobs[able[choose(&able)]].pop_front() {
                Some(Job::Signal { signal }) => self.reached[signal] += 1,
                // SAFETY: ranges were checked when the job was made, and no other thread has any.
                Some(job) => unsafe { job.run(reports) },
                None => {}
            }
        }
    }

    /// One thread per stream.
    fn drain_side_by_side(&mut self, reports: &Mutex<Vec<WordReport>>) -> Result<(), DeviceError> {
        let queues: Vec<VecDeque<Job>> = self.jobs.iter_mut().map(std::mem::take).collect();
        let signals = Signals { reached: Mutex::new(std::mem::take(&mut self.reached)), changed: Condvar::new() };
        let locks = Locks::default();
        let work = |queue: &VecDeque<Job>| {
            for job in queue {
                match *job {
                    Job::Signal { signal } => signals.reach(signal),
                    Job::Wait { signal, times } => signals.wait(signal, times),
                    Job::Fill { .. } | Job::Check { .. } => {
                        let _held = locks.take(job);
                        // SAFETY: ranges were checked when the job was made; the lock keeps others out of them.
                        unsafe { job.run(reports) };
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            for queue in &queues {
                scope.spawn(|| work(queue));
            }
        });
        self.reached = signals.reached.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(())
    }
}

const NO_SIGNAL: DeviceError = DeviceError::Unsupported("a signal that was never made");
const DEADLOCK: DeviceError = DeviceError::Unsupported("a stream waits for a point that no stream reaches");

/// The next state of a generator that is good enough to take turns (splitmix64, S. Vigna, public domain).
fn splitmix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31) ^ u64::from(CANARY)
}

/// How often each signal was reached.
struct Signals {
    reached: Mutex<Vec<u64>>,
    changed: Condvar,
}

impl Signals {
    fn reach(&self, signal: usize) {
        held(&self.reached)[signal] += 1;
        self.changed.notify_all();
    }

    fn wait(&self, signal: usize, times: u64) {
        let reached = held(&self.reached);
        drop(self.changed.wait_while(reached, |reached| reached[signal] < times).unwrap_or_else(PoisonError::into_inner));
    }
}

/// A range in use: begin, end, and whether it is written.
type InUse = (usize, usize, bool);

/// Keeps jobs on overlapping bytes from running at once.
#[derive(Default)]
struct Locks {
    in_use: Mutex<Vec<InUse>>,
    freed: Condvar,
}

/// Ranges that are held until it is dropped.
struct Held<'l> {
    locks: &'l Locks,
    ranges: Vec<InUse>,
}

impl Locks {
    /// Waits until no other job uses the job's ranges in a way that conflicts. All are taken at once, so that two jobs
    /// never wait for each other.
    fn take(&self, job: &Job) -> Held<'_> {
        let (reads, writes) = job.ranges();
        let range = |is_written: bool| {
            move |bytes: Bytes| {
                let (begin, end) = bytes.span();
                (begin, end, is_written)
            }
        };
        let ranges: Vec<InUse> = reads.into_iter().map(range(false)).chain(writes.into_iter().map(range(true))).collect();
        let conflicts = |in_use: &mut Vec<InUse>| {
            let meets = |one: &InUse, two: &InUse| one.0 < two.1 && two.0 < one.1 && (one.2 || two.2);
            in_use.iter().any(|used| ranges.iter().any(|wanted| meets(used, wanted)))
        };
        let in_use = held(&self.in_use);
        let mut in_use = self.freed.wait_while(in_use, conflicts).unwrap_or_else(PoisonError::into_inner);
        in_use.extend(&ranges);
        Held { locks: self, ranges }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let mut in_use = held(&self.locks.in_use);
        for range in &self.ranges {
            if let Some(at) = in_use.iter().position(|used| used == range) {
                in_use.swap_remove(at);
            }
        }
        drop(in_use);
        self.locks.freed.notify_all();
    }
}
