//! Whether the ops of the plan can be computed: worked out beside the UI thread, once per plan.

use std::sync::{Arc, OnceLock, Weak};

use super::job::uncomputable;
use crate::session::Planned;

/// Whether compute mode can be asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Computable {
    /// It is being worked out.
    Unknown,
    /// Every op has kernels.
    Yes,
    /// An op cannot be computed; the sentence names it and says why.
    No(String),
}

/// The answer for one plan.
#[derive(Debug, Default)]
pub(super) struct Arithmetic {
    of: Weak<Planned>,
    why_not: Arc<OnceLock<Option<String>>>,
}

impl Arithmetic {
    /// Begins to work it out if the plan is another one than before; a repaint is asked for when the answer is there.
    pub(super) fn update(&mut self, planned: &Arc<Planned>, ctx: &egui::Context) {
        if self.is_of(planned) {
            return;
        }
        (self.of, self.why_not) = (Arc::downgrade(planned), Arc::default());
        let (planned, answer, ctx) = (Arc::clone(planned), Arc::clone(&self.why_not), ctx.clone());
        let work = move || {
            let _ = answer.set(uncomputable(&planned));
            ctx.request_repaint();
        };
        if std::thread::Builder::new().name("arithmetic".to_owned()).spawn(work).is_err() {
            // The run itself says why it cannot begin.
            let _ = self.why_not.set(None);
        }
    }

    /// The answer so far.
    pub(super) fn of(&self, planned: &Planned) -> Computable {
        match self.why_not.get().filter(|_| self.is_of(planned)) {
            None => Computable::Unknown,
            Some(None) => Computable::Yes,
            Some(Some(why)) => Computable::No(why.clone()),
        }
    }

    fn is_of(&self, planned: &Planned) -> bool {
        std::ptr::eq(self.of.as_ptr(), planned)
    }
}
