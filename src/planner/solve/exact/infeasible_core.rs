//! Why nothing fits: a set of buffers that cannot fit together, from which none can be left out.
//!
//! Problem: "no plan fits" helps nobody; which buffers are the reason?
//! Method: if the largest sum of live sizes is over the capacity, take the buffers of that step, largest first, until
//! the sum is over it. Else delete buffers, in halves first and then one by one, as long as the rest is proved not to
//! fit.
//! Guarantee: the set is proved not to fit. It is irreducible if every deletion that was taken back was shown to fit;
//! when the limit on nodes is reached first, that is said.
//! Time: O(n) searches, limited by nodes in total; space that of one search.
//! Source: QuickXplain (Junker, "Preferred explanations and relaxations for over-constrained problems", AAAI 2004) and
//! deletion filtering (Chinneck and Dravnieks, DOI 10.1287/ijoc.3.2.157).
//!
//! ```text
//! A B C D E   does not fit
//! A B C . .   does not fit    keep
//! . B C . .   fits            A stays
//! A . C . .   does not fit    B goes: {A, C} is the core
//! ```

use super::fits;
use super::portfolio::ARMS;
use super::question::Limits;
use super::rules::Rules;
use crate::bounds::lower_bound;
use crate::control::Control;
use crate::ids::BufferId;
use crate::problem::Problem;

/// Buffers that cannot fit together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InfeasibleCore {
    /// The buffers, by id.
    pub buffers: Vec<BufferId>,
    /// Whether the set is known to fit without any one of them.
    pub is_irreducible: bool,
}

/// A set of buffers that cannot fit into `capacity_bytes`; `None` if it is not proved within `max_nodes` that all
/// cannot.
#[must_use]
pub fn infeasible_core(problem: &Problem, capacity_bytes: u64, max_nodes: u64, control: &Control<'_>) -> Option<InfeasibleCore> {
    let bound = lower_bound(problem);
    if bound.bytes > capacity_bytes {
        return Some(InfeasibleCore { buffers: crowded(problem, bound.buffers, capacity_bytes), is_irreducible: true });
    }
    let mut deletion = Deletion { problem, capacity_bytes, left: max_nodes, control };
    let mut core: Vec<BufferId> = problem.ids().collect();
    if deletion.fits(&core) != Some(false) {
        return None;
    }
    core.sort_unstable_by_key(|&id| (problem.buffer(id).lifetime.start, id));
    let is_irreducible = deletion.shrink(&mut core);
    core.sort_unstable();
    Some(InfeasibleCore { buffers: core, is_irreducible })
}

/// Of buffers that are live together, the largest ones that are over the capacity; without any one they are not.
fn crowded(problem: &Problem, mut buffers: Vec<BufferId>, capacity_bytes: u64) -> Vec<BufferId> {
    buffers.sort_unstable_by_key(|&id| (std::cmp::Reverse(problem.buffer(id).bytes), id));
    let mut sum = 0;
    buffers.retain(|&id| {
        let is_needed = sum <= capacity_bytes;
        sum += problem.buffer(id).bytes;
        is_needed
    });
    buffers.sort_unstable();
    buffers
}

struct Deletion<'a> {
    problem: &'a Problem,
    capacity_bytes: u64,
    left: u64,
    control: &'a Control<'a>,
}

impl Deletion<'_> {
    /// `None` if the limit was reached first.
    fn fits(&mut self, ids: &[BufferId]) -> Option<bool> {
        /// Share of what is left that one question may take.
        const SHARE: u64 = 8;
        let should_stop = || self.control.is_stopped();
        let limits = Limits { max_nodes: self.left / SHARE, seed: 0, threads: 1, arms: &ARMS, rules: Rules::ALL, should_stop: &should_stop };
        let (verdict, n_nodes) = fits(self.problem, ids, self.capacity_bytes, &limits);
        self.left = self.left.saturating_sub(n_nodes.max(1));
        verdict
    }

    /// Deletes runs of buffers, shorter and shorter; whether the rest is shown to be irreducible.
    fn shrink(&mut self, core: &mut Vec<BufferId>) -> bool {
        let mut length = core.len().div_ceil(2);
        loop {
            let mut is_decided = true;
            let mut at = 0;
            while at < core.len() {
                let end = (at + length).min(core.len());
                let rest: Vec<BufferId> = core[..at].iter().chain(&core[end..]).copied().collect();
                match self.fits(&rest) {
                    Some(false) => {
                        *core = rest;
                        continue;
                    }
                    Some(true) => {}
                    None => is_decided = false,
                }
                at = end;
            }
            if length == 1 {
                return is_decided;
            }
            length = length.div_ceil(2).min(length - 1);
        }
    }
}
