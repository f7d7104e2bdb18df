//! What a plan's numbers mean: who could be lower, what the peak is made of, what order the plan adds.
//!
//! All of it grows with the model, so it is worked out in a job once the plan is shown.

use arenascope_planner::control::{Control, Progress};
use arenascope_planner::dependencies::{AddedOrder, added_order};
use arenascope_planner::explain::{Change, PeakReport, Saving, explain_peak, lower_offsets, reorder_saving};
use arenascope_planner::ids::BufferId;
use arenascope_planner::observed::{observed, observed_plan};
use arenascope_planner::plan::Plan;
use arenascope_planner::problem::Problem;

use crate::session::Planned;

/// Which buffers of a plan could be lower if nothing else moved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lower {
    /// The lowest offset of each, by id; `None` for one that cannot be lower.
    offsets: Vec<Option<u64>>,
    /// How many there are.
    pub n: u64,
}

impl Lower {
    fn new(offsets: Vec<Option<u64>>) -> Self {
        let n = offsets.iter().flatten().count() as u64;
        Self { offsets, n }
    }

    /// Where a buffer could be; `None` if it cannot be lower.
    #[must_use]
    pub fn of(&self, buffer: BufferId) -> Option<u64> {
        self.offsets.get(buffer.index()).copied().flatten()
    }

    /// How many buffers were looked at.
    #[must_use]
    pub fn n_buffers(&self) -> u64 {
        self.offsets.len() as u64
    }
}

/// What was worked out about a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Insight {
    /// Who could be lower.
    pub lower: Lower,
    /// The same for the plan found in the file, as the Arena view draws it; `None` if it draws none.
    pub before: Option<Lower>,
    /// How many buffers of the plan found in the file could be lower, and of how many, as its tool made it.
    pub observed: Option<(u64, u64)>,
    /// What the peak is made of, and what would lower it.
    pub peak: PeakReport,
    /// The order that the plan adds; `None` without a graph.
    pub added: Option<AddedOrder>,
}

impl Insight {
    /// Works everything out. Time: that of its parts, up to a few seconds for a large graph.
    ///
    /// # Errors
    /// When it was stopped.
    pub fn new(planned: &Planned, control: &Control<'_>) -> Result<Self, String> {
        let stopped = || "cancelled".to_owned();
        control.report(Progress { what: "Explaining the plan".to_owned(), fraction: None, best_arena_bytes: None });
        let prepared = &planned.prepared;
        let lower = lower_of(&prepared.problem, &planned.plan, control).ok_or_else(stopped)?;
        let before = match observed_plan(prepared) {
            Some(plan) => Some(lower_of(&prepared.problem, &plan, control).ok_or_else(stopped)?),
            None => None,
        };
        let observed = match observed(&prepared.workload) {
            Some(observed) => {
                let lower = lower_of(&observed.problem, &observed.plan, control).ok_or_else(stopped)?;
                Some((lower.n, lower.n_buffers()))
            }
            None => None,
        };
        let mut peak = explain_peak(prepared);
        peak.savings.extend(reorder_saving(prepared, control));
        peak.savings.sort_by_key(|saving| std::cmp::Reverse(saving.saved_bytes));
        if control.is_stopped() {
            return Err(stopped());
        }
        let added = prepared.context.as_deref().map(|context| added_order(context, &prepared.problem, &planned.plan));
        Ok(Self { lower, before, observed, peak, added })
    }
}

fn lower_of(problem: &Problem, plan: &Plan, control: &Control<'_>) -> Option<Lower> {
    lower_offsets(problem, plan, control).map(Lower::new)
}

/// How many savings of one kind are worth a line: removing any of the live buffers always helps.
const MAX_OF_A_KIND: usize = 4;

/// The savings worth showing, the largest first, and how many others there are.
#[must_use]
pub fn notable_savings(peak: &PeakReport) -> (Vec<&Saving>, usize) {
    let kind = |change: &Change| match change {
        Change::Remove { .. } => 0,
        Change::DieEarlier { .. } => 1,
        Change::WriteInPlace { .. } => 2,
        Change::Reorder { .. } => 3,
    };
    let mut n_of = [0; 4];
    let is_notable = |saving: &&Saving| {
        let n = &mut n_of[kind(&saving.change)];
        *n += 1;
        *n <= MAX_OF_A_KIND
    };
    let notable: Vec<_> = peak.savings.iter().filter(is_notable).collect();
    let n_others = peak.savings.len() - notable.len();
    (notable, n_others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::inspector::sample_plans::{bare_with, sample};
    use arenascope_planner::control::Control;

    fn insight(planned: &Planned) -> Insight {
        Insight::new(planned, &Control::unattended()).expect("not stopped")
    }

    #[test]
    fn a_plan_without_sharing_could_be_lower_nearly_everywhere() {
        let planned = bare_with(&[(64, 0, 1), (64, 1, 2), (64, 2, 3)], "naive");
        let lower = insight(&planned).lower;
        assert_eq!((lower.n, lower.n_buffers(), lower.of(BufferId(0)), lower.of(BufferId(2))), (2, 3, None, Some(0)));
    }

    #[test]
    fn a_graph_says_what_order_its_plan_adds() {
        let planned = sample("mobilenet_v2.onnx");
        let insight = insight(&planned);
        let added = insight.added.expect("a graph");
        assert!(added.chain_ops_with >= added.chain_ops && added.chain_ops > 50, "{added:?}");
        assert_eq!(insight.peak.bytes, planned.summary.peak_live_bytes);
    }

    #[test]
    fn few_savings_of_each_kind_are_notable() {
        let buffers: Vec<(u64, u64, u64)> = (0..9).map(|_| (64, 0, 1)).collect();
        let peak = insight(&bare_with(&buffers, "first-fit")).peak;
        let (notable, n_others) = notable_savings(&peak);
        assert_eq!((notable.len(), n_others), (4, 5));
    }

    #[test]
    fn a_stopped_job_says_so() {
        let planned = bare_with(&[(64, 0, 1)], "first-fit");
        assert!(Insight::new(&planned, &Control::new(&|| true, &|_| ())).is_err());
    }
}
