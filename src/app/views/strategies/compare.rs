//! Running all strategies on one problem; on a worker thread.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arenascope_planner::check::check;
use arenascope_planner::control::{Control, Progress};
use arenascope_planner::plan::Plan;
use arenascope_planner::problem::Problem;
use arenascope_planner::replay::replay;
use arenascope_planner::solve::{solve, strategies};
use arenascope_planner::summary::{Summary, summarize};

use crate::session::Planned;
use crate::small_picture::{Part, parts};

/// Longest time one strategy may take; the best plan it has by then counts.
const LIMIT: Duration = Duration::from_secs(10);

/// Most rectangles of a row's picture: it is a hundred points wide.
const PICTURE: usize = 1_500;

/// What a strategy came to.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// A plan, with its numbers.
    Plan {
        /// The headline numbers.
        summary: Box<Summary>,
        /// Whether both checkers accept it.
        is_valid: bool,
        /// How many overlaps there are.
        n_overlaps: u64,
        /// How long it took.
        seconds: f64,
        /// A small picture of it.
        parts: Vec<Part>,
        /// The plan itself.
        plan: Arc<Plan>,
    },
    /// No plan, and why.
    None(String),
}

/// One strategy on this problem.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// What it came to.
    pub outcome: Outcome,
}

/// All strategies on one problem, the smallest valid arena first.
#[derive(Clone, Debug)]
pub struct Comparison {
    problem: Arc<Problem>,
    /// The rows.
    pub rows: Vec<Row>,
}

impl Comparison {
    /// Whether this is a comparison of this very problem.
    #[must_use]
    pub fn is_of(&self, problem: &Arc<Problem>) -> bool {
        Arc::ptr_eq(&self.problem, problem)
    }

    /// Whether this is a comparison of an equal problem. Time O(n).
    #[must_use]
    pub fn is_equal(&self, problem: &Arc<Problem>) -> bool {
        self.is_of(problem) || self.problem == *problem
    }

    /// The same comparison as one of an equal problem.
    #[must_use]
    pub fn of(&self, problem: &Arc<Problem>) -> Self {
        Self { problem: Arc::clone(problem), rows: self.rows.clone() }
    }

    /// The plan of a strategy, if it made one.
    #[must_use]
    pub fn plan(&self, name: &str) -> Option<&Arc<Plan>> {
        self.rows.iter().find(|row| row.name == name).and_then(|row| match &row.outcome {
            Outcome::Plan { plan, .. } => Some(plan),
            Outcome::None(_) => None,
        })
    }
}

/// Runs every strategy.
///
/// # Errors
/// When it was cancelled.
pub fn compare(planned: &Arc<Planned>, control: &Control<'_>) -> Result<Arc<Comparison>, String> {
    let mut rows = Vec::new();
    let all = strategies();
    for (index, strategy) in all.iter().enumerate() {
        if control.is_stopped() {
            return Err("cancelled".to_owned());
        }
        #[expect(clippy::cast_precision_loss, reason = "a few dozen strategies")]
        let fraction = Some(index as f64 / all.len() as f64);
        control.report(Progress { what: format!("Running {}", strategy.name), fraction, best_arena_bytes: None });
        rows.push(Row { name: strategy.name, outcome: run(strategy.name, planned, control) });
    }
    rows.sort_by_key(|row| match &row.outcome {
        Outcome::Plan { summary, is_valid, .. } => (u8::from(!is_valid), summary.arena_bytes),
        Outcome::None(_) => (2, 0),
    });
    Ok(Arc::new(Comparison { problem: Arc::clone(&planned.prepared.problem), rows }))
}

fn run(name: &str, planned: &Planned, control: &Control<'_>) -> Outcome {
    let prepared = &planned.prepared;
    let started = Instant::now();
    let should_stop = || control.is_stopped() || started.elapsed() >= LIMIT;
    let limited = Control::new(&should_stop, &|_| ());
    let plan = match solve(name, &prepared.problem, prepared.context.as_deref(), &planned.options.solve, &limited) {
        Ok(plan) => plan,
        Err(error) => return Outcome::None(error.to_string()),
    };
    let seconds = started.elapsed().as_secs_f64();
    let report = check(&prepared.problem, &plan);
    let replays = prepared.context.as_deref().is_none_or(|context| replay(context, &prepared.problem, &plan).is_empty());
    Outcome::Plan {
        summary: Box::new(summarize(prepared, &plan, &report)),
        is_valid: report.is_valid() && replays,
        n_overlaps: report.n_overlaps,
        seconds,
        parts: parts(&prepared.problem, &plan, PICTURE),
        plan: Arc::new(plan),
    }
}
