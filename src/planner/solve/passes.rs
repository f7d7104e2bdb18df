//! Many passes over a part, one per order, on several threads; the first of the lowest is kept.
//!
//! Problem: fourteen passes that do not need each other could share the cores, but one after another each ends as soon
//! as it is no better than those before it, and all of them share a budget of looks.
//! Method: the first pass runs alone: without a plan nothing can be cut, and it may be all that is needed. Threads take
//! the other orders in turn. What has ended is entered into a ledger in the order of the orders: there a pass counts
//! for what it would have given, and taken, below the best of those before it and with the looks left by them. A pass
//! is cut only by passes before it, so it has always gone far enough for that.
//! Guarantee: the result of one thread, whatever the number of threads.
//! Time: the sum of the passes; space O(n) for each thread, and for each pass that waits to be entered.
//! Source: the project's own.
//!
//! ```text
//! order   TAW  Z   TWA      Z is slow and not ended yet: TWA waits for it with its 96, and is then entered
//! height  100  97   96      with a ceiling of 97; after a Z of 95 it would count as cut by Z
//! ```

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Request;
use super::descent::Descent;
use super::orders::Orders;
use super::sections::Part;
use crate::control::{Control, Progress};

/// Items of a part whose orders take long enough to be told about; chosen by eye.
const WORTH_REPORTING: usize = 5_000;

/// Looks of one pass from which on another thread is worth its start; half a millisecond.
const WORTH_A_THREAD: u64 = 10_000;

/// Looks at floors that may still be taken.
pub(super) struct Looks {
    pub(super) left: u64,
}

/// A placement of a part.
pub(super) struct Placed {
    /// By item.
    pub(super) offsets: Vec<u64>,
    /// Highest end.
    pub(super) bytes: u64,
    /// The order that gave it.
    pub(super) order: &'static str,
}

/// Who runs passes, and when that ends.
#[derive(Clone, Copy)]
pub(super) struct Crew<'a> {
    pub(super) control: &'a Control<'a>,
    /// At least 1; the result does not depend on it.
    pub(super) threads: usize,
}

impl<'a> Crew<'a> {
    pub(super) fn of(request: &Request<'a>) -> Self {
        Self { control: request.control, threads: request.options.threads }
    }
}

/// Passes over a part, and the best placement so far.
pub(super) struct Passes<'a> {
    part: &'a Part,
    sorter: Orders<'a>,
    enough_bytes: u64,
    crew: Crew<'a>,
    pub(super) best: Option<Placed>,
}

/// A pass that has ended, or was cut.
struct Pass<'a> {
    descent: Descent<'a>,
    placed: Option<Placed>,
}

/// What has ended, and what of it counts.
struct Ledger<'a> {
    /// By order; taken out as they are entered.
    ended: Vec<Option<Pass<'a>>>,
    /// The next order to be taken by a thread.
    to_run: usize,
    /// The next order to be entered.
    to_enter: usize,
    best: Option<Placed>,
    looks_left: u64,
    /// Nothing more will be entered.
    is_over: bool,
}

impl Ledger<'_> {
    fn is_done(&self, enough_bytes: u64) -> bool {
        self.is_over || self.best.as_ref().is_some_and(|best| best.bytes <= enough_bytes || self.looks_left == 0)
    }

    /// What a pass must stay below to be of use, as far as is known by now; 0 if nothing is of use.
    fn ceiling(&self, number: usize) -> u64 {
        if self.is_over {
            return 0;
        }
        let before = self.ended[..number].iter().flatten().filter_map(|pass| pass.placed.as_ref());
        before.chain(&self.best).map(|placed| placed.bytes).min().unwrap_or(u64::MAX)
    }

    /// Enters the next pass, as if all had run one after another; `None` if it has not ended.
    fn enter_next(&mut self, enough_bytes: u64) -> Option<Entered> {
        if self.is_done(enough_bytes) {
            return None;
        }
        let Pass { descent, placed } = self.ended.get_mut(self.to_enter)?.take()?;
        self.to_enter += 1;
        let (below, limit) = self.best.as_ref().map_or((u64::MAX, u64::MAX), |best| (best.bytes, self.looks_left));
        let cut_at = descent.looks_until(below);
        let taken = cut_at.unwrap_or(descent.n_looks);
        self.looks_left = self.looks_left.saturating_sub(taken.min(limit.saturating_add(1)));
        if cut_at.is_some() || taken > limit {
            return Some(Entered { better: None });
        }
        // Neither ended nor cut: the caller stopped it.
        self.is_over = placed.is_none();
        let better = placed.as_ref().map(|placed| placed.order);
        self.best = placed.or_else(|| self.best.take());
        Some(Entered { better })
    }
}

/// A pass was entered.
struct Entered {
    /// The order, if it is the best by now.
    better: Option<&'static str>,
}

impl<'a> Passes<'a> {
    pub(super) fn new(part: &'a Part, enough_bytes: u64, crew: Crew<'a>) -> Self {
        Self { part, sorter: Orders::new(part), enough_bytes, crew, best: None }
    }

    /// One pass per order, each with `long` stacked first. Without a plan the first is finished whatever it takes.
    pub(super) fn run(&mut self, orders: &[&'static str], long: &[u32], looks: &mut Looks) {
        let ended = orders.iter().map(|_| None).collect();
        let best = self.best.take();
        let is_first_alone = best.is_none();
        let ledger = Mutex::new(Ledger { ended, to_run: 0, to_enter: 0, best, looks_left: looks.left, is_over: false });
        let mut n_threads = self.crew.threads;
        if is_first_alone && !orders.is_empty() {
            self.work(&orders[..1], long, &ledger);
            let taken = looks.left - locked(&ledger).looks_left;
            if taken < WORTH_A_THREAD {
                n_threads = 1;
            }
        }
        let n_left = if locked(&ledger).is_done(self.enough_bytes) { 0 } else { orders.len() - locked(&ledger).to_run };
        std::thread::scope(|scope| {
            let this = &*self;
            for _ in 1..n_threads.min(n_left) {
                // Without another thread this one does all the work.
                let _ = std::thread::Builder::new().name("lowest floor".to_owned()).spawn_scoped(scope, || this.work(orders, long, &ledger));
            }
            if n_left > 0 {
                this.work(orders, long, &ledger);
            }
        });
        let ledger = ledger.into_inner().unwrap_or_else(PoisonError::into_inner);
        looks.left = ledger.looks_left;
        self.best = ledger.best;
    }

    /// Runs and enters passes until there is none left to run.
    fn work(&self, orders: &[&'static str], long: &[u32], ledger: &Mutex<Ledger<'a>>) {
        loop {
            let (number, below, limit) = {
                let mut ledger = locked(ledger);
                let number = ledger.to_run;
                if number >= orders.len() || ledger.is_done(self.enough_bytes) {
                    return;
                }
                ledger.to_run += 1;
                let limit = if ledger.best.is_some() { ledger.looks_left } else { u64::MAX };
                (number, ledger.ceiling(number), limit)
            };
            let order = orders[number];
            let mut descent = Descent::new(self.part, below, limit, self.enough_bytes);
            let watch = || if self.crew.control.is_stopped() { 0 } else { locked(ledger).ceiling(number) };
            let offsets = descent.run(long, &self.sorter.sorted(order), &watch);
            let placed = offsets.map(|offsets| {
                let bytes = self.part.height(&offsets);
                Placed { offsets, bytes, order }
            });
            let mut ledger = locked(ledger);
            ledger.ended[number] = Some(Pass { descent, placed });
            while let Some(entered) = ledger.enter_next(self.enough_bytes) {
                if let Some(order) = entered.better
                    && self.part.n_items() >= WORTH_REPORTING
                {
                    let what = format!("lowest floor, order {order} done");
                    self.crew.control.report(Progress { what, fraction: None, best_arena_bytes: None });
                }
            }
        }
    }
}

fn locked<'l, 'a>(ledger: &'l Mutex<Ledger<'a>>) -> MutexGuard<'l, Ledger<'a>> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Kind;
    use crate::solve::sections::parts;
    use crate::testing::generated_problem;

    const ORDERS: [&str; 6] = ["TAW", "Z", "TC", "LW", "TKW", "U"];

    /// Offsets, order and looks left after all passes.
    type Outcome = (Option<(Vec<u64>, &'static str)>, u64);

    fn raced(part: &Part, enough: u64, budget: u64, threads: usize, long: &[u32]) -> Outcome {
        let control = Control::unattended();
        let mut passes = Passes::new(part, enough, Crew { control: &control, threads });
        let mut looks = Looks { left: budget };
        passes.run(&ORDERS, long, &mut looks);
        (passes.best.map(|best| (best.offsets, best.order)), looks.left)
    }

    /// The same by the plain loop.
    fn one_after_another(part: &Part, enough: u64, budget: u64, long: &[u32]) -> Outcome {
        let mut best: Option<(Vec<u64>, &'static str)> = None;
        let (mut below, mut left) = (u64::MAX, budget);
        for order in ORDERS {
            if below <= enough || (best.is_some() && left == 0) {
                break;
            }
            let limit = if best.is_some() { left } else { u64::MAX };
            let mut descent = Descent::new(part, below, limit, u64::MAX);
            let offsets = descent.run(long, &Orders::new(part).sorted(order), &|| u64::MAX);
            left = left.saturating_sub(descent.n_looks);
            if let Some(offsets) = offsets {
                below = part.height(&offsets);
                best = Some((offsets, order));
            }
        }
        (best, left)
    }

    #[test]
    fn every_number_of_threads_gives_what_one_order_after_another_gives() {
        let mut n_used_up = 0;
        let mut n_best_later = 0;
        for (kind, n, seed) in [(Kind::Uni, 40, 1), (Kind::Uni, 300, 2), (Kind::Uni, 301, 3), (Kind::Ml, 800, 4), (Kind::Train, 1_500, 5)] {
            let problem = generated_problem(kind, n, seed);
            for part in parts(&problem, problem.ids().collect()) {
                for (enough, budget) in [(0, u64::MAX), (part.bound_bytes(), u64::MAX), (0, 200_000), (0, 60_000), (0, 3_000), (0, 0)] {
                    for long in [&[][..], &[0]] {
                        let expected = one_after_another(&part, enough, budget, long);
                        n_used_up += u32::from(expected.1 == 0 && budget > 0);
                        n_best_later += u32::from(expected.0.as_ref().is_some_and(|best| best.1 != ORDERS[0]));
                        for threads in [1, 2, 3, 8] {
                            assert!(raced(&part, enough, budget, threads, long) == expected, "{kind:?} {n}, budget {budget}, {threads} threads");
                        }
                    }
                }
            }
        }
        assert!(n_used_up >= 5 && n_best_later >= 5, "the budget ended {n_used_up}, a later order won {n_best_later}");
    }
}
