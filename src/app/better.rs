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
