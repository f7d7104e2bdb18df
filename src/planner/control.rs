//! Progress out, cancel in: how a long computation talks to whoever started it.

use crate::plan::Plan;

/// Something a computation wants to tell while it runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Progress {
    /// What is being done, as a short sentence without a full stop.
    pub what: String,
    /// How much of it is done, from 0 to 1; `None` if the end is unknown.
    pub fraction: Option<f64>,
    /// The smallest valid arena so far, in bytes.
    pub best_arena_bytes: Option<u64>,
}

/// What a computation receives from its caller. Neither closure may block.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    should_stop: &'a (dyn Fn() -> bool + Sync),
    report: &'a (dyn Fn(Progress) + Sync),
    improved: Option<&'a (dyn Fn(Plan) + Sync)>,
}

impl<'a> Control<'a> {
    /// A control that asks `should_stop` at bounded intervals and hands progress to `report`.
    #[must_use]
    pub fn new(should_stop: &'a (dyn Fn() -> bool + Sync), report: &'a (dyn Fn(Progress) + Sync)) -> Self {
        Self { should_stop, report, improved: None }
    }

    /// A control that never stops and drops all progress.
    #[must_use]
    pub fn unattended() -> Control<'static> {
        Control { should_stop: &|| false, report: &|_| (), improved: None }
    }

    /// The same control, which also hands every better plan to `improved` as it is found, unchecked.
    #[must_use]
    pub fn with_plans(self, improved: &'a (dyn Fn(Plan) + Sync)) -> Self {
        Self { improved: Some(improved), ..self }
    }

    /// Whether the caller wants the best result so far, now.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        (self.should_stop)()
    }

    /// Tells the caller how far the computation is.
    pub fn report(&self, progress: Progress) {
        (self.report)(progress);
    }

    /// Hands a better plan to the caller, who may not want any; it is made only if needed.
    pub fn improve(&self, plan: impl FnOnce() -> Plan) {
        if let Some(improved) = self.improved {
            improved(plan());
        }
    }
}

impl std::fmt::Debug for Control<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").finish_non_exhaustive()
    }
}
