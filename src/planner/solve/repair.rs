//! Lowers a placement of one part: small changes of the order and windows that are planned anew, in turn.
//!
//! Problem: a placement is a little higher than the bound; what stands in the way is spread over the whole arena.
//! Method: *order*: a chain of items that rest on each other reaches from the bottom to the top. Two of a chain change
//! places and all above is stacked again ([`super::stacking`]); that is kept if the height is at most the best, or a
//! share of what is left to gain above it, which shrinks. *Windows*: an item that ends above a target, and some that
//! live with it, are taken out and placed anew below the target among all others
//! ([`super::repair_window`], [`super::window_search`]); who is taken out is drawn, from the top or from any height,
//! over the item's whole life or in one section. Windows look at whatever placement the order has come to.
//! Guarantee: never higher than the start; a function of the part, the start, the seed and the effort.
//! Time: the effort, in items stacked or nodes; 0.1 to 0.3 microseconds each. Space O(n).
//! Source: exchanges on the critical path as in job shops (van Laarhoven, Aarts, Lenstra, DOI 10.1287/opre.40.1.113);
//! large-neighbourhood search (Shaw, DOI 10.1007/3-540-49481-2_30).
//!
//! ```text
//! byte 4 |...DD                    the chain below the top is D, B, A;
//!      2 |CCBBB       2 |CCBBB     D and B change places in the order A B C D:
//!      0 |AAA..       0 |AAADD     D fits beside A, and the height is 4 and not 6
//! ```

use super::repair_window::window;
use super::sections::Part;
use super::stacking::Stacking;
use super::window_search::{Found, search};
use crate::control::Control;

/// Share of what is left to gain by which an order may be worse than the best, at first; chosen by measurement.
const LOOSE: f64 = 0.05;

/// Nodes of one window: dives that fail soon are tried elsewhere; chosen by measurement.
const WINDOW_NODES: u64 = 150;

/// Fewest and most items taken out; chosen by measurement.
const FREE_ITEMS: std::ops::RangeInclusive<usize> = 4..=12;

/// Windows between two stretches of exchanges.
const N_WINDOWS: usize = 24;

/// Exchanges of one chain, before another one is followed down.
const CHAIN_USES: usize = 8;

/// How far apart in a chain two items may be that change places.
const REACH: usize = 20;

/// An effort is of no use if it does not pay for so many placements of the part.
const MIN_PLACEMENTS: u64 = 8;

/// What is wanted of a repair.
pub(super) struct Aim<'a> {
    /// A height at which it ends.
    pub(super) goal: u64,
    pub(super) seed: u64,
    /// Items stacked or nodes.
    pub(super) effort: u64,
    pub(super) control: &'a Control<'a>,
    /// Told of every lower placement: offsets by item, and the height.
    pub(super) lowered: &'a dyn Fn(&[u64], u64),
}

/// The lowest placement found, and what was spent; `None` if it is no lower than the start.
pub(super) fn repair(part: &Part, start: &[u64], aim: &Aim<'_>) -> (Option<Vec<u64>>, u64) {
    let height = part.height(start);
    if height <= aim.goal || aim.effort / MIN_PLACEMENTS < part.n_items() as u64 {
        return (None, 0);
    }
    let rng = fastrand::Rng::with_seed(aim.seed);
    let is_free = vec![false; part.n_items()];
    let mut repair = Repair { part, aim, rng, stacking: Stacking::new(part, start), best: None, height, window_effort: 0, is_free };
    repair.keep_if_lower();
    while repair.is_wanted() {
        repair.try_windows();
        repair.try_orders();
    }
    let spent = repair.spent();
    (repair.best, spent)
}

struct Repair<'a> {
    part: &'a Part,
    aim: &'a Aim<'a>,
    rng: fastrand::Rng,
    stacking: Stacking<'a>,
    best: Option<Vec<u64>>,
    /// That of the best, or of the start.
    height: u64,
    window_effort: u64,
    /// By item; all false between windows.
    is_free: Vec<bool>,
}

impl Repair<'_> {
    fn spent(&self) -> u64 {
        self.window_effort + self.stacking.cost()
    }

    fn is_wanted(&self) -> bool {
        self.height > self.aim.goal && self.spent() < self.aim.effort && !self.aim.control.is_stopped()
    }

    fn keep_if_lower(&mut self) {
        if self.stacking.height() < self.height {
            self.height = self.stacking.height();
            self.best = Some(self.stacking.offsets().to_vec());
            (self.aim.lowered)(self.stacking.offsets(), self.height);
        }
    }

    /// Exchanges for as long as a stretch of windows has taken.
    fn try_orders(&mut self) {
        while self.is_wanted() && self.stacking.cost() < self.window_effort {
            let chain = self.stacking.chain(&mut self.rng);
            if chain.len() < 2 {
                // The top item lies on the bottom; only its own size is in the way.
                return;
            }
            for _ in 0..CHAIN_USES {
                let above = self.rng.usize(0..chain.len() - 1);
                let reach = if self.rng.bool() { 1 } else { REACH.min(chain.len() - 1 - above) };
                let below = above + self.rng.usize(1..=reach);
                let moves_below = self.rng.bool();
                if self.is_wanted() && self.stacking.exchange(chain[below], chain[above], moves_below, self.height + self.slack()) {
                    break;
                }
            }
            self.keep_if_lower();
        }
    }

    /// How much higher than the best an order may be.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a number that fits")]
    fn slack(&self) -> u64 {
        let left = 1.0 - self.spent() as f64 / self.aim.effort as f64;
        (LOOSE * left * (self.height - self.aim.goal) as f64) as u64
    }

    /// Some windows on the placement at hand.
    fn try_windows(&mut self) {
        let mut by_offset = self.stacking.by_offset();
        for _ in 0..N_WINDOWS {
            if !self.is_wanted() {
                return;
            }
            let gain = ((self.height - self.aim.goal) >> self.rng.u32(0..6)).max(1);
            let target = self.height - gain;
            let free = self.draw_free(&by_offset, target);
            for &item in &free {
                self.is_free[item as usize] = true;
            }
            let (window, n_looks) = window(self.part, self.stacking.offsets(), &by_offset, &free, &self.is_free, target);
            for &item in &free {
                self.is_free[item as usize] = false;
            }
            let (found, n_nodes) = search(&window, WINDOW_NODES);
            // Measured: a look is a thirtieth of an item stacked, a node four times as much for sixteen items.
            self.window_effort += 1 + n_looks / 32 + n_nodes * free.len() as u64 / 4;
            if let Found::Placement(placed) = found {
                let mut offsets = self.stacking.offsets().to_vec();
                for (&item, offset) in free.iter().zip(placed) {
                    offsets[item as usize] = offset;
                }
                self.stacking.restart(&offsets);
                self.keep_if_lower();
                by_offset = self.stacking.by_offset();
            }
        }
    }

    /// An item that ends above the target, and some that live while it does.
    fn draw_free(&mut self, by_offset: &[u32], target: u64) -> Vec<u32> {
        let Self { part, rng, stacking, .. } = self;
        let above: Vec<u32> = by_offset.iter().copied().filter(|&item| stacking.end(item) > target).collect();
        let offender = above[rng.usize(0..above.len())];
        let (first, end) = (part.first[offender as usize], part.end[offender as usize]);
        let in_section = rng.bool().then(|| rng.u32(first..end));
        let lives_near = |item: u32| {
            let (from, to) = in_section.map_or((first, end), |section| (section, section + 1));
            item != offender && part.first[item as usize] < to && from < part.end[item as usize]
        };
        let near: Vec<u32> = by_offset.iter().rev().copied().filter(|&item| lives_near(item)).collect();
        let n_free = rng.usize(FREE_ITEMS);
        let mut free = vec![offender];
        match rng.u32(0..4) {
            // Some of the topmost.
            0 => {
                let mut top: Vec<u32> = near.into_iter().take(3 * n_free).collect();
                rng.shuffle(&mut top);
                free.extend(top.into_iter().take(n_free));
            }
            // A layer at any height.
            _ => {
                let skipped = rng.usize(0..=near.len().saturating_sub(n_free));
                free.extend(near.into_iter().skip(skipped).take(n_free));
            }
        }
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::check;
    use crate::generate::Kind;
    use crate::plan::Plan;
    use crate::solve::sections::parts;
    use crate::testing::{generated_problem, random_problem};

    /// Every item on top of all before it that it meets, in order of their rows.
    fn stacked(part: &Part) -> Vec<u64> {
        Stacking::new(part, &vec![0; part.n_items()]).offsets().to_vec()
    }

    /// What a repair of a part makes of its rows stacked, and every height that it told about.
    fn repaired(part: &Part, seed: u64, effort: u64) -> (Vec<u64>, Vec<u64>) {
        let told = std::cell::RefCell::new(Vec::new());
        let lowered = |offsets: &[u64], height: u64| {
            assert_eq!(part.height(offsets), height);
            told.borrow_mut().push(height);
        };
        let aim = Aim { goal: part.bound_bytes(), seed, effort, control: &Control::unattended(), lowered: &lowered };
        let start = stacked(part);
        let (better, spent) = repair(part, &start, &aim);
        let most = aim.effort + 4 * part.n_items() as u64 + 4 * WINDOW_NODES;
        assert!(spent <= most, "spent {spent} of {effort}");
        (better.unwrap_or(start), told.into_inner())
    }

    #[test]
    fn what_it_tells_sinks_to_a_valid_placement() {
        let mut n_lower = 0;
        for seed in 0..200 {
            let problem = random_problem(seed, 60);
            let mut offsets = vec![0; problem.n_buffers()];
            for part in parts(&problem, problem.ids().collect()) {
                let (placed, told) = repaired(&part, seed, 20_000);
                assert!(told.is_sorted_by(|one, two| one > two), "seed {seed}: {told:?}");
                let start = part.height(&stacked(&part));
                assert_eq!(part.height(&placed), told.last().copied().unwrap_or(start), "seed {seed}");
                n_lower += u32::from(!told.is_empty());
                for (&id, offset) in part.ids.iter().zip(placed) {
                    offsets[id.index()] = offset;
                }
            }
            assert!(check(&problem, &Plan::from_offsets("repaired", &problem, offsets)).is_valid(), "seed {seed}");
        }
        assert!(n_lower > 100, "only {n_lower} parts became lower");
    }

    #[test]
    fn a_seed_and_an_effort_name_a_placement() {
        let problem = generated_problem(Kind::Uni, 100, 1);
        let parts = parts(&problem, problem.ids().collect());
        assert_eq!(repaired(&parts[0], 1, 50_000), repaired(&parts[0], 1, 50_000));
        assert_ne!(repaired(&parts[0], 1, 50_000).0, repaired(&parts[0], 2, 50_000).0);
    }

    #[test]
    fn is_not_begun_where_the_effort_is_too_small() {
        let problem = generated_problem(Kind::Uni, 100, 1);
        let parts = parts(&problem, problem.ids().collect());
        let effort = MIN_PLACEMENTS * parts[0].n_items() as u64;
        assert!(repaired(&parts[0], 1, effort - 1).1.is_empty());
        assert!(!repaired(&parts[0], 1, effort).1.is_empty());
    }
}
