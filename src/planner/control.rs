//! Progress out, cancel in: how a long computation talks to whoever started it.

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
}

impl<'a> Control<'a> {
    /// A control that asks `should_stop` at bounded intervals and hands progress to `report`.
    #[must_use]
    pub fn new(should_stop: &'a (dyn Fn() -> bool + Sync), report: &'a (dyn Fn(Progress) + Sync)) -> Self {
        Self { should_stop, report }
    }

    /// A control that never stops and drops all progress.
    #[must_use]
    pub fn unattended() -> Control<'static> {
        Control { should_stop: &|| false, report: &|_| () }
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
}

impl std::fmt::Debug for Control<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").finish_non_exhaustive()
    }
}
