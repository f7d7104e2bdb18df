//! Many short searches that differ: arms, restarts, threads.
//!
//! Problem: the time of one search is heavy-tailed; the same instance takes one order 200 decisions and another one
//! millions.
//! Method: run *arms* (an order and a way to pick) in turn with limits from Luby's sequence; from the second round on
//! the orders are drawn at random, or taken from one that found something, with a few exchanges. A task is a pure
//! function of the instance, the seed, what is known and its own numbers, so tasks may run on any thread in any order;
//! the task with the lowest number that has an answer decides, and tasks after it are cancelled.
//! Guarantee: the same result for every number of threads. Luby's sequence is within a logarithmic factor of the best
//! restart strategy.
//! Time: the sum of the limits; space: one search state per thread.
//! Source: Luby, Sinclair, Zuckerman, "Optimal speedup of Las Vegas algorithms", DOI 10.1016/0020-0190(93)90029-9;
//! Gomes and Selman, "Algorithm portfolios", DOI 10.1016/S0004-3702(00)00081-3.
//!
//! ```text
//! round   1    2    3    4         limits 1 1 2 1 1 2 4 … times the unit
//! arm A   1    1'   2'   1'        ' = order drawn
//! arm B   1    1'   2'   1'
//! ```

use std::sync::atomic::{AtomicUsize, Ordering};

use super::instance::Instance;
use super::keys::{drawn_ranks, ranks, swap_a_few};
use super::nogoods::{Learned, Nogood};
use super::pick::{Mode, Pick, Section, Tie};
use super::rules::Rules;
use super::search::{Outcome, Search};
use super::state::State;
use super::unit::Unit;

/// An order and a way to pick.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arm {
    pub(super) keys: &'static str,
    pub(super) mode: Mode,
}

const fn arm(keys: &'static str, pick: Pick, tie: Tie) -> Arm {
    Arm { keys, mode: Mode { pick, tie } }
}

/// The arms in the order in which they are tried; chosen to differ, see the notes on each family.
pub(super) const ARMS: [Arm; 12] = [
    arm("ZA", Pick::Local(Section::Ratio), Tie::Total),
    arm("WAT", Pick::Global, Tie::Total),
    arm("CZ", Pick::Global, Tie::Total),
    arm("OT", Pick::Global, Tie::Total),
    arm("TOA", Pick::Local(Section::Failures), Tie::Tightness),
    arm("UZ", Pick::Global, Tie::Order),
    arm("TAW", Pick::Local(Section::Last), Tie::Total),
    arm("TOA", Pick::Local(Section::Ratio), Tie::Total),
    arm("TWA", Pick::Global, Tie::Order),
    arm("CT", Pick::Local(Section::Ratio), Tie::Total),
    arm("TC", Pick::Global, Tie::Total),
    arm("CAT", Pick::Local(Section::Last), Tie::Order),
];

/// One search to run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task<U> {
    pub(super) arm: usize,
    /// Round 0 takes the arm's order, later ones draw one.
    pub(super) round: u64,
    /// Instead of the arm's order, that of this winner with a few exchanges.
    pub(super) winner: Option<usize>,
    pub(super) ceiling: U,
    pub(super) max_nodes: u64,
    /// Whether to jump back, if the rules allow it at all.
    pub(super) jumps: bool,
}

/// What came of one task.
#[derive(Clone, Debug)]
pub(super) struct Answer<U> {
    pub(super) outcome: Outcome,
    /// The placement, if one was found.
    pub(super) offsets: Option<Vec<U>>,
    pub(super) n_nodes: u64,
    /// The order that found it.
    pub(super) ranks: Option<Vec<u32>>,
    /// Nogoods that were learned, if the task jumps back.
    pub(super) learned: Vec<Nogood<U>>,
}

/// An order that found something, and the arm it belongs to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Winner {
    pub(super) arm: usize,
    pub(super) ranks: Vec<u32>,
}

/// What tasks learn from those before them.
pub(super) struct Known<'k, U> {
    pub(super) winners: &'k [Winner],
    /// For tasks that jump back.
    pub(super) learned: &'k Learned<U>,
}

/// The `round`-th limit of Luby's sequence, from 0: 1 1 2 1 1 2 4 …
pub(super) fn luby(round: u64) -> u64 {
    let mut at = round + 1;
    loop {
        let power = (at + 1).next_power_of_two();
        if power == at + 1 {
            return power / 2;
        }
        at -= power / 2 - 1;
    }
}

/// What all tasks share.
pub(super) struct Portfolio<'a, U> {
    pub(super) instance: &'a Instance<U>,
    pub(super) arms: &'a [Arm],
    pub(super) rules: Rules,
    pub(super) seed: u64,
    pub(super) threads: usize,
    pub(super) should_stop: &'a (dyn Fn() -> bool + Sync),
}

impl<'a, U: Unit> Portfolio<'a, U> {
    /// Runs tasks; with `first_decides` those after the first that has an answer are cancelled.
    ///
    /// Answers are by task; a cancelled one is missing at the end of the list.
    pub(super) fn run(&self, tasks: &[Task<U>], known: &Known<'_, U>, first_decides: bool, states: &mut Vec<State<'a, U>>) -> Vec<Answer<U>> {
        let n_workers = self.threads.clamp(1, tasks.len().max(1));
        while states.len() < n_workers {
            states.push(State::new(self.instance, self.rules));
        }
        let next = AtomicUsize::new(0);
        let decided = AtomicUsize::new(usize::MAX);
        let work = |state: &mut State<'a, U>| self.work(tasks, known, first_decides, state, &next, &decided);
        let mut answers: Vec<(usize, Answer<U>)> = if n_workers == 1 {
            work(&mut states[0])
        } else {
            std::thread::scope(|scope| {
                let mut workers = Vec::new();
                let mut done = Vec::new();
                let (own, others) = states.split_at_mut(1);
                for state in &mut others[..n_workers - 1] {
                    // Without another thread this one does all the work.
                    workers.extend(std::thread::Builder::new().name("exact search".to_owned()).spawn_scoped(scope, || work(state)));
                }
                done.extend(work(&mut own[0]));
                for worker in workers {
                    done.extend(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
                }
                done
            })
        };
        answers.sort_unstable_by_key(|answer| answer.0);
        let n_valid = decided.into_inner().saturating_add(1).min(answers.len());
        answers.truncate(n_valid);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }

    fn work(
        &self,
        tasks: &[Task<U>],
        known: &Known<'_, U>,
        first_decides: bool,
        state: &mut State<'a, U>,
        next: &AtomicUsize,
        decided: &AtomicUsize,
    ) -> Vec<(usize, Answer<U>)> {
        let mut answers = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= tasks.len() || number > decided.load(Ordering::Relaxed) {
                return answers;
            }
            let is_late = || number > decided.load(Ordering::Relaxed) || (self.should_stop)();
            let answer = self.search(&tasks[number], known, state, &is_late);
            if first_decides && matches!(answer.outcome, Outcome::Found | Outcome::Exhausted) {
                decided.fetch_min(number, Ordering::Relaxed);
            }
            answers.push((number, answer));
        }
    }

    /// One task: a pure function of the instance, the rules, the seed, what is known and the task, unless stopped.
    fn search(&self, task: &Task<U>, known: &Known<'_, U>, state: &mut State<'a, U>, should_stop: &dyn Fn() -> bool) -> Answer<U> {
        let arm = &self.arms[task.arm];
        let mut rng = fastrand::Rng::with_seed(mix(self.seed, task.arm as u64, task.round));
        let ranks = if let Some(winner) = task.winner {
            let mut ranks = known.winners[winner].ranks.clone();
            swap_a_few(&mut ranks, &mut rng);
            ranks
        } else if task.round == 0 {
            ranks(self.instance, arm.keys)
        } else {
            drawn_ranks(self.instance, &mut rng)
        };
        state.rules.backjumps = self.rules.backjumps && task.jumps;
        let mut search = Search::new(state, arm.mode, &ranks);
        let nothing = Learned::default();
        let outcome = search.run(task.ceiling, task.max_nodes, if task.jumps { known.learned } else { &nothing }, should_stop);
        let n_nodes = search.n_nodes;
        let is_found = outcome == Outcome::Found;
        let offsets = is_found.then(|| state.offset.clone());
        Answer { outcome, offsets, n_nodes, ranks: is_found.then_some(ranks), learned: state.nogoods.own() }
    }
}

/// One number from three, by the finalizer of `SplitMix64` (Steele, Lea, Flood, DOI 10.1145/2660193.2660195).
fn mix(seed: u64, arm: u64, round: u64) -> u64 {
    let mut state = seed ^ arm.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ round.wrapping_mul(0xD1B5_4A32_D192_ED03);
    state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    state ^ (state >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_follow_lubys_sequence() {
        let limits: Vec<u64> = (0..15).map(luby).collect();
        assert_eq!(limits, [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]);
    }
}
