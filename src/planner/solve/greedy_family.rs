//! `greedy-family`: every order of greedy placement with both ways to choose a gap; the smallest plan is kept.
//!
//! Problem: place buffers without overlaps in a small arena; which order is good depends on the graph.
//! Method: five orders (size, area, length of the lifetime, birth, number of conflicts), each with the lowest gap that
//! is large enough (first fit) and with the smallest one (best fit). Parts that nobody crosses are planned alone. A
//! pass ends as soon as it is no better than the best one so far; the first at the lower bound ends all. The note names
//! what won in the highest part.
//! Guarantee: valid; never larger than `greedy-size` or `first-fit`; no bound on the arena.
//! Time O(conflicts · log live) per pass, space O(n). Refuses more than 6·10^7 conflicts.
//! Source: the orders and fits of MindSpore SOMAS, which runs all combinations, and of the greedy planners of
//! TensorFlow Lite, XLA and TVM.
//!
//! ```text
//!          first fit   best fit
//! size        112         114       each pass ends when it gets as high as the best one before it;
//! area        109         111       the smallest of all is kept
//! birth       104  <-     110
//! ```

use super::greedy_size::Filling;
use super::orders::Orders;
use super::sections::{Part, parts};
use super::{Request, SolveError, Strategy, StrategyKind};
use crate::constraints::FeatureSet;
use crate::ids::BufferId;
use crate::plan::Plan;

pub(super) const STRATEGY: Strategy = Strategy {
    name: "greedy-family",
    summary: "Five greedy orders, each with the lowest gap and with the smallest gap that is large enough; the best is kept.",
    source: "the project's own combination, as in MindSpore SOMAS, mindspore/ccsrc/backend/common/somas",
    kind: StrategyKind::Offsets,
    is_safe: true,
    needs_graph: false,
    supports: FeatureSet::NONE,
    run,
};

/// Conflicts beyond which the passes take more than about twenty seconds.
const MAX_CONFLICTS: u64 = 60_000_000;

/// Keys as in [`super::orders`], and what people call the order.
const ORDERS: [(&str, &str); 5] = [("ZW", "size"), ("A", "area"), ("WA", "length"), ("LZ", "birth"), ("OA", "conflicts")];

/// How a gap is chosen.
const FITS: [(Fit, &str); 2] = [(|filling, id| filling.place_lowest(id), "first fit"), (|filling, id| filling.place_tightest(id), "best fit")];

type Fit = fn(&mut Filling<'_>, BufferId) -> u64;

fn run(request: &Request<'_>) -> Result<Plan, SolveError> {
    request.afford(&STRATEGY, MAX_CONFLICTS, "it looks at every conflict ten times, and there are more than 60,000,000")?;
    let parts = parts(request.problem, request.problem.ids().collect());
    let parts = parts.iter().map(|part| PartSoFar { part, orders: Orders::new(part), lowest: None }).collect();
    let mut family = Family { request, parts, offsets: vec![0; request.problem.n_buffers()] };
    for (fit, fit_name) in FITS {
        for (keys, order) in ORDERS {
            if let Err(stopped) = family.pass(keys, fit, (order, fit_name)) {
                return family.has_plan().then(|| family.plan()).ok_or(stopped);
            }
        }
    }
    Ok(family.plan())
}

/// An order and a fit.
type Name = (&'static str, &'static str);

struct PartSoFar<'a> {
    part: &'a Part,
    orders: Orders<'a>,
    /// The height of its lowest placement, and what gave it.
    lowest: Option<(u64, Name)>,
}

struct Family<'a> {
    request: &'a Request<'a>,
    parts: Vec<PartSoFar<'a>>,
    /// By buffer.
    offsets: Vec<u64>,
}

impl Family<'_> {
    /// One order with one fit, in every part that may still become lower. Parts do not meet, so that one filling
    /// serves them all.
    fn pass(&mut self, keys: &str, fit: Fit, name: Name) -> Result<(), SolveError> {
        let mut filling = Filling::new(self.request.problem);
        for PartSoFar { part, orders, lowest } in &mut self.parts {
            let below = lowest.map_or(u64::MAX, |(bytes, _)| bytes);
            if below <= self.request.bound_bytes.max(part.bound_bytes()) {
                continue;
            }
            let ids = orders.sorted(keys).into_iter().map(|item| part.ids[item as usize]);
            if let Some(bytes) = filling.place_all(self.request, ids, fit, below)? {
                *lowest = Some((bytes, name));
                part.ids.iter().for_each(|&id| self.offsets[id.index()] = filling.offsets[id.index()]);
            }
        }
        Ok(())
    }

    fn has_plan(&self) -> bool {
        self.parts.iter().all(|part| part.lowest.is_some())
    }

    /// The plan, with what won in the highest part as its note.
    fn plan(&self) -> Plan {
        let highest = self.parts.iter().filter_map(|part| part.lowest).max_by_key(|&(bytes, _)| bytes);
        let note = highest.map(|(_, (order, fit))| format!("by {order}, {fit}"));
        Plan { note, ..Plan::from_offsets(STRATEGY.name, self.request.problem, self.offsets.clone()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;
    use crate::problem::Problem;
    use crate::solve::{SolveOptions, solve};
    use crate::testing::random_problem;

    fn plan(name: &str, problem: &Problem) -> Plan {
        solve(name, problem, None, &SolveOptions::default(), &Control::unattended()).expect("a plan")
    }

    #[test]
    fn every_member_wins_somewhere_and_no_other_greedy_strategy_is_better() {
        let names: Vec<String> = ORDERS.iter().flat_map(|(_, order)| FITS.map(|(_, fit)| format!("by {order}, {fit}"))).collect();
        let mut winners = vec![false; names.len()];
        for seed in 0..2_000 {
            let problem = random_problem(seed, 60);
            let best = plan(STRATEGY.name, &problem);
            for other in ["greedy-size", "first-fit"] {
                assert!(best.arena_bytes <= plan(other, &problem).arena_bytes, "seed {seed}: {other} is better");
            }
            winners.iter_mut().zip(&names).for_each(|(won, name)| *won |= best.note.as_ref() == Some(name));
        }
        let missing: Vec<&String> = names.iter().zip(winners).filter(|(_, won)| !won).map(|(name, _)| name).collect();
        assert!(missing.is_empty(), "never the best: {missing:?}");
    }
}
