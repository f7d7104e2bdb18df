//! Better plans of a search that still runs: the search leaves the newest one here, and the window takes it.

use std::sync::{Arc, Mutex, PoisonError};

use arenascope_planner::plan::Plan;
use arenascope_planner::prepare::Prepared;

use crate::session::{PlanOptions, Planned};

/// A plan that is neither checked nor drawn yet.
#[derive(Clone, Debug)]
pub struct Found {
    prepared: Arc<Prepared>,
    plan: Plan,
    options: PlanOptions,
    seconds: f64,
}

impl Found {
    /// Checks and draws it; for a job.
    #[must_use]
    pub fn finish(self) -> Arc<Planned> {
        Arc::new(Planned::new(self.prepared, self.plan, self.options, self.seconds))
    }

    /// The size of its arena.
    #[must_use]
    pub fn arena_bytes(&self) -> u64 {
        self.plan.arena_bytes
    }
}

/// Where a search leaves its newest plan; clones share the place.
#[derive(Clone, Debug, Default)]
pub struct Better(Arc<Mutex<Option<Found>>>);

impl Better {
    /// Leaves a plan, in place of one that nobody has taken.
    pub fn put(&self, prepared: &Arc<Prepared>, plan: Plan, options: &PlanOptions, seconds: f64) {
        let found = Found { prepared: Arc::clone(prepared), plan, options: options.clone(), seconds };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
    }

    /// Takes the newest plan, if there is one.
    #[must_use]
    pub fn take(&self) -> Option<Found> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::make_plan_showing;
    use crate::views::inspector::sample_plans::generated;
    use arenascope_planner::control::Control;
    use arenascope_planner::generate::Kind;

    #[test]
    fn a_search_leaves_valid_plans_on_its_way() {
        let mut n_found = 0;
        for n in 30..60 {
            let first = generated(Kind::Uni, n);
            let options = PlanOptions { strategy: "exact".to_owned(), ..first.options.clone() };
            let better = Better::default();
            let last = make_plan_showing(&first.prepared.workload, &options, &Control::unattended(), &better).expect("a plan");
            let Some(found) = better.take() else { continue };
            n_found += 1;
            assert!(found.arena_bytes() >= last.plan.arena_bytes, "the last plan is the smallest");
            let found = found.finish();
            assert!(found.is_valid() && found.options == options);
            assert!(better.take().is_none(), "a plan is taken once");
        }
        assert!(n_found > 0, "no search found anything better than where it began");
    }
}
