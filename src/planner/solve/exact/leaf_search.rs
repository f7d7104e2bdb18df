//! The two questions about one part: does it fit, and how low can it get? Answered round by round.
//!
//! Problem: several parts share one budget and one arena, so each must be searched in small instalments.
//! Method: *fit*: one round of all arms at the capacity. *Minimum*: first a round at the lowest height that would be of
//! use; then batches of short searches. One of a batch tries for a proof, at that height and just below the best in
//! turn, with backjumps, with what earlier ones learned, and with growing limits. The others want a placement: their ceilings lie just below the best, or somewhere down to that height, as
//! large steps come from short searches well below the best. Most of them take an order that lowered the best before
//! and exchange a few of its rows: a climb through orders, each tried by a tree search of some hundred nodes. Two climbs
//! take turns, so that one that has come to rest is not the end: the other one begins anew.
//! Guarantee: what is done in an instalment depends on the instalments before it only; see [`super::portfolio`].
//! Time and space: those of the tasks.
//! Source: the project's own; the ceilings follow the observation that tight ceilings prune better.
//!
//! Measured on the hard instances D and J, for the same processor time: short searches below the best succeed almost
//! twice as often without backjumps, which cost more than a search of a few hundred nodes gives back. Eight good orders
//! of J, one per cent lower: four exchanges succeeded in 7 of 565 searches, all ranks moved by 2 to 15 % in 8 of 1,840,
//! fresh orders in 2 of 1,214, orders read off the best placement in none of 1,137. Keeping who lies below whom in the
//! best placement, except around a few rows, went down one unit at a time and was given up. Of 35 searches that lowered
//! the best of J, 5 took more than twice the shortest limit: with limits of up to twice the shortest, eight seeds of D
//! come to 984 units of 1,024 in 6 million nodes, and six of J to 986 in 4 million; up to eight times, to 988 and 988;
//! all the shortest, D to 986. Exchanges among rows that live together lower D less than those of any two rows, by three
//! units. With one climb in place of two, one seed of eight comes to rest far above the others.
//!
//! ```text
//! best 1100 ─ 1099 ── 1094 ─────── 1075 ── random ──────── 1000 lowest of use
//! ```

use super::instance::{Instance, Leaf};
use super::nogoods::Learned;
use super::portfolio::{Answer, Known, Portfolio, Task, Winner, luby};
use super::search::Outcome;
use super::state::State;
use super::unit::Unit;

/// Nodes that may still be spent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    pub(super) left: u64,
}

/// Nodes of one task at the start of Luby's sequence; measured on published instances.
const MIN_NODES_PER_TASK: u64 = 1000;
/// The same per row, for large instances.
const NODES_PER_ROW: u64 = 3;
/// Nodes of one task in the search for the minimum, where short searches win.
const SHORT_NODES: u64 = 600;
/// The same per row.
const SHORT_NODES_PER_ROW: u64 = 2;
/// Largest factor of Luby's sequence there; measured.
const MAX_SHORT: u64 = 2;
/// The last tasks that lowered the best, which others are modelled on.
const MAX_WINNERS: usize = 8;
/// Batches without a lower height after which a climb is at rest, times Luby's sequence; 20 and 48 do about the same, but
/// fewer seeds stay far above the others.
const PATIENCE: u64 = 20;
/// Tasks of one batch in the search for the minimum; enough to keep some threads busy until the last one ends.
const TASKS_PER_BATCH: usize = 24;

/// A part under search.
pub(super) struct LeafSearch<'a, U> {
    pub(super) instance: &'a Instance<U>,
    pub(super) leaf: &'a Leaf,
    /// Offset of each row in the best placement known.
    pub(super) best: Vec<U>,
    /// Its highest end.
    pub(super) height: U,
    /// No placement is lower: the largest load, or what was proved.
    pub(super) bound: U,
    states: Vec<State<'a, U>>,
    round: u64,
    n_batched: u64,
    /// The lowest one, and one that looks elsewhere; batches go to them in turn.
    climbs: [Climb<U>; 2],
    /// What searches that jump back have learned.
    learned: Learned<U>,
}

/// Orders that each lowered the height that the ones before it had reached.
///
/// A climb may come to a height that nothing close to its orders is below, so that there are two: the lower one goes
/// on, and the other one begins anew when it has come to rest.
struct Climb<U> {
    number: u64,
    /// Where it began, and where it is.
    start: U,
    height: U,
    /// Batches since the height was lowered.
    n_idle: u64,
    /// The last orders that lowered it, newest first.
    winners: Vec<Winner>,
}

impl<U: Unit> Climb<U> {
    fn new(number: u64, start: U) -> Self {
        Self { number, start, height: start, n_idle: 0, winners: Vec::new() }
    }

    /// Another one from where this one began, if too many batches were in vain.
    fn begin_anew_if_at_rest(&mut self) {
        if self.n_idle > PATIENCE * luby(self.number) {
            *self = Self::new(self.number + 1, self.start);
        }
    }

    fn step(&mut self, height: U, winner: Winner) {
        self.height = height;
        self.n_idle = 0;
        self.winners.insert(0, winner);
        self.winners.truncate(MAX_WINNERS);
    }
}

/// What is known about a question after an instalment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// A placement; it is the best one now.
    Found,
    /// Proved that there is none.
    Impossible,
    /// Nothing yet.
    Open,
}

impl<'a, U: Unit> LeafSearch<'a, U> {
    /// Starts from a placement by row.
    pub(super) fn new(instance: &'a Instance<U>, leaf: &'a Leaf, best: Vec<U>) -> Self {
        let height = instance.height(&best);
        Self {
            instance,
            leaf,
            best,
            height,
            bound: instance.bound(),
            states: Vec::new(),
            round: 0,
            n_batched: 0,
            climbs: [Climb::new(0, height), Climb::new(0, height)],
            learned: Learned::default(),
        }
    }

    /// One round of all arms at a ceiling.
    pub(super) fn fit_round(&mut self, ceiling: U, portfolio: &Portfolio<'a, U>, budget: &mut Budget) -> Verdict {
        let limit = self.task_nodes(self.round);
        let tasks = (0..portfolio.arms.len()).map(|arm| Task { arm, round: self.round, winner: None, ceiling, max_nodes: limit, jumps: true });
        let tasks = within(tasks, budget);
        // The first round answers most questions in milliseconds; other threads would only waste work. One task learns
        // from the other instead.
        let at_once = if self.round == 0 { 1 } else { tasks.len().max(1) };
        self.round += 1;
        for tasks in tasks.chunks(at_once) {
            let verdict = self.fit_tasks(tasks, portfolio, budget);
            if verdict != Verdict::Open || (portfolio.should_stop)() {
                return verdict;
            }
        }
        Verdict::Open
    }

    /// Tasks with one ceiling, of which the first that has an answer decides.
    fn fit_tasks(&mut self, tasks: &[Task<U>], portfolio: &Portfolio<'a, U>, budget: &mut Budget) -> Verdict {
        let answers = self.answers(tasks, true, portfolio, budget);
        match tasks.iter().zip(answers).next_back() {
            Some((_, Answer { outcome: Outcome::Found, offsets: Some(offsets), .. })) => {
                self.take(offsets);
                Verdict::Found
            }
            Some((task, Answer { outcome: Outcome::Exhausted, .. })) => {
                self.bound = self.bound.max(after(task.ceiling));
                Verdict::Impossible
            }
            _ => Verdict::Open,
        }
    }

    /// Runs tasks, pays for them and keeps what they learned.
    fn answers(&mut self, tasks: &[Task<U>], first_decides: bool, portfolio: &Portfolio<'a, U>, budget: &mut Budget) -> Vec<Answer<U>> {
        let known = Known { winners: &self.climbs[self.turn()].winners, learned: &self.learned };
        let mut answers = portfolio.run(tasks, &known, first_decides, &mut self.states);
        spend(&answers, budget);
        for (task, answer) in tasks.iter().zip(&mut answers) {
            self.learned.add(task.ceiling, std::mem::take(&mut answer.learned));
        }
        answers
    }

    /// One instalment of the search for the minimum; `enough` is the lowest height that is of use.
    pub(super) fn lower(&mut self, enough: U, portfolio: &Portfolio<'a, U>, budget: &mut Budget) -> Verdict {
        let lowest = self.bound.max(enough);
        if self.height <= lowest {
            return Verdict::Impossible;
        }
        if self.round == 0 {
            return self.fit_round(lowest, portfolio, budget);
        }
        let mut rng = fastrand::Rng::with_seed(portfolio.seed ^ self.n_batched);
        let first = self.n_batched;
        let tasks = (first..first + TASKS_PER_BATCH as u64).map(|number| self.short_task(number, lowest, portfolio.arms.len(), &mut rng));
        let tasks = within(tasks.collect::<Vec<_>>().into_iter(), budget);
        let answers = self.answers(&tasks, false, portfolio, budget);
        let verdict = self.merge(&tasks, answers);
        self.n_batched += TASKS_PER_BATCH as u64;
        verdict
    }

    /// Which climb the batch at hand belongs to: the lower one has half of them until it rests, then a quarter.
    fn turn(&self) -> usize {
        let share = if self.climbs[0].n_idle <= PATIENCE { 2 } else { 4 };
        usize::from(!(self.n_batched / TASKS_PER_BATCH as u64).is_multiple_of(share))
    }

    /// The `number`-th task of the search for the minimum.
    fn short_task(&self, number: u64, lowest: U, n_arms: usize, rng: &mut fastrand::Rng) -> Task<U> {
        let unit = SHORT_NODES.max(SHORT_NODES_PER_ROW * self.instance.n_rows() as u64);
        let turn = number / n_arms as u64;
        let max_nodes = luby(turn).min(MAX_SHORT) * unit;
        let fresh = Task {
            arm: usize::try_from(number % n_arms as u64).unwrap_or(0),
            round: 1 + number,
            winner: None,
            ceiling: self.target(number, lowest, rng),
            max_nodes,
            jumps: false,
        };
        if number.is_multiple_of(TASKS_PER_BATCH as u64) {
            let batch = number / TASKS_PER_BATCH as u64;
            let arm = usize::try_from(batch % n_arms as u64).unwrap_or(0);
            // Below the best, a proof ends the search; at the lowest height it is easier, and a placement is worth more.
            let just_below = U::from_units(self.height.units() - 1).unwrap_or(lowest);
            let ceiling = if batch.is_multiple_of(2) { lowest } else { just_below };
            return Task { arm, ceiling, max_nodes: luby(batch) * unit, jumps: true, ..fresh };
        }
        let winners = &self.climbs[self.turn()].winners;
        if winners.is_empty() {
            return fresh;
        }
        let winner = rng.usize(0..winners.len());
        let arm = winners[winner].arm;
        match rng.u32(0..8) {
            0..5 => Task { arm, winner: Some(winner), ..fresh },
            5 => Task { arm, ..fresh },
            _ => fresh,
        }
    }

    fn merge(&mut self, tasks: &[Task<U>], answers: Vec<Answer<U>>) -> Verdict {
        let mut verdict = Verdict::Open;
        let turn = self.turn();
        self.climbs[turn].n_idle += 1;
        for (task, answer) in tasks.iter().zip(answers) {
            if answer.outcome == Outcome::Exhausted {
                self.bound = self.bound.max(after(task.ceiling));
                self.learned.forget_below(self.bound);
            }
            let Some(offsets) = answer.offsets else { continue };
            let height = self.instance.height(&offsets);
            if height < self.climbs[turn].height {
                self.climbs[turn].step(height, Winner { arm: task.arm, ranks: answer.ranks.unwrap_or_default() });
            }
            if height < self.height {
                self.take(offsets);
                verdict = Verdict::Found;
            }
        }
        if self.climbs[1].height < self.climbs[0].height {
            self.climbs.swap(0, 1);
        }
        self.climbs[1].begin_anew_if_at_rest();
        verdict
    }

    /// The ceiling of a task: from `lowest` to one below where the climb is.
    fn target(&self, number: u64, lowest: U, rng: &mut fastrand::Rng) -> U {
        let (lowest, best) = (lowest.units(), self.climbs[self.turn()].height.units());
        let gap = best - lowest;
        let target = match number % 8 {
            0 | 1 | 5 => best - 1,
            2 => best - 1 - (gap - 1) / 16,
            3 => best - 1 - (gap - 1) / 8,
            6 => best - 1 - (gap - 1) / 4,
            _ => rng.u64(lowest..best),
        };
        U::from_units(target).unwrap_or(self.height)
    }

    fn take(&mut self, offsets: Vec<U>) {
        self.height = self.instance.height(&offsets);
        self.best = offsets;
    }

    fn task_nodes(&self, round: u64) -> u64 {
        luby(round) * MIN_NODES_PER_TASK.max(NODES_PER_ROW * self.instance.n_rows() as u64)
    }

    /// The best placement in bytes, by item of the part.
    pub(super) fn offsets_bytes(&self, bytes_per_unit: u64) -> Vec<u64> {
        let mut offsets = vec![0; self.best.len()];
        for (&item, &offset) in self.instance.item_of.iter().zip(&self.best) {
            offsets[item as usize] = offset.units() * bytes_per_unit;
        }
        offsets
    }
}

/// Tasks as far as the budget goes; the last one may be cut short.
fn within<U: Unit>(tasks: impl Iterator<Item = Task<U>>, budget: &Budget) -> Vec<Task<U>> {
    let mut left = budget.left;
    let mut kept = Vec::new();
    for mut task in tasks {
        task.max_nodes = task.max_nodes.min(left);
        left -= task.max_nodes;
        if task.max_nodes > 0 {
            kept.push(task);
        }
    }
    kept
}

fn spend<U>(answers: &[Answer<U>], budget: &mut Budget) {
    let spent: u64 = answers.iter().map(|answer| answer.n_nodes).sum();
    budget.left = budget.left.saturating_sub(spent.max(1));
}

/// The next height.
fn after<U: Unit>(height: U) -> U {
    U::from_units(height.units() + 1).unwrap_or(height)
}

/// A placement by item of the part, in bytes, as one by row, in units.
pub(super) fn by_row<U: Unit>(instance: &Instance<U>, offsets_by_item: &[u64], bytes_per_unit: u64) -> Option<Vec<U>> {
    instance.item_of.iter().map(|&item| U::from_units(offsets_by_item[item as usize] / bytes_per_unit)).collect()
}
