//! The strategies: one file each, and this table of contents.
//!
//! A strategy gets a [`Problem`] (and the graph, if there is one) and gives a [`Plan`]; none of them checks itself.

mod apart_floor;
mod article_printed;
mod auto;
mod best_fit_decreasing;
mod boxing;
mod boxing_jobs;
mod descent;
pub mod exact;
mod executorch_greedy;
mod first_fit;
mod greedy_breadth;
mod greedy_conflicts;
mod greedy_family;
mod greedy_size;
mod hill_climb;
mod hot_core;
mod lowest_floor;
mod mxnet;
mod mxnet_co_share;
mod naive;
mod orders;
mod ort_pattern;
pub(crate) mod packing;
mod passes;
mod peak_repair;
mod pools;
mod refcount;
mod reference_counts;
mod repair;
mod repair_window;
mod sections;
mod skyline;
mod slots_by_birth;
mod slots_by_size;
mod slots_dsatur;
mod stacking;
mod tflite_arena;
mod window_search;

use std::sync::OnceLock;

use crate::bounds::lower_bound_bytes;
use crate::constraints::{Feature, FeatureSet};
use crate::control::Control;
use crate::interference::n_conflicts;
use crate::plan::{Plan, Status};
use crate::prepare::GraphContext;
use crate::problem::Problem;

/// What kind of plan a strategy makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StrategyKind {
    /// A byte offset per buffer; ranges may interlock freely.
    Offsets,
    /// A slot per buffer; a slot is as large as its largest buffer.
    Slots,
}

/// An algorithm that makes a plan.
#[derive(Clone, Copy, Debug)]
pub struct Strategy {
    /// The name on the command line and in plans.
    pub name: &'static str,
    /// One sentence about what it does.
    pub summary: &'static str,
    /// Where the algorithm comes from.
    pub source: &'static str,
    /// What kind of plan it makes.
    pub kind: StrategyKind,
    /// Whether its plans are always valid; false only for what is shown as a warning.
    pub is_safe: bool,
    /// Whether it needs the graph beside the problem.
    pub needs_graph: bool,
    /// Which rules beyond sizes and lifetimes it honours; it refuses problems with others.
    pub supports: FeatureSet,
    run: fn(&Request<'_>) -> Result<Plan, SolveError>,
}

/// Which free slots `refcount` may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Share {
    /// Any: the smallest that is large enough, else the largest one, which grows.
    #[default]
    Any,
    /// Only one of exactly the same size.
    Equal,
}

/// What a caller may choose besides the strategy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct SolveOptions {
    /// Seed of strategies that draw random numbers: `exact`, `peak-repair`, `hill-climb` and `boxing`.
    pub seed: u64,
    /// How many threads may be used, at least 1; the plan does not depend on it.
    pub threads: usize,
    /// Which free slots `refcount` may take.
    pub share: Share,
    /// How many decisions `exact` may try, and how much `peak-repair` may do; `None` for their own limits. The same number
    /// gives the same plan. With [`u64::MAX`] they, and `auto`, go on until they are stopped or have proved a plan.
    pub max_nodes: Option<u64>,
}

impl Default for SolveOptions {
    fn default() -> Self {
        Self { seed: 0, threads: 1, share: Share::Any, max_nodes: None }
    }
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SolveError {
    /// No strategy has that name.
    #[error("unknown strategy `{name}`; use one of {known}")]
    UnknownStrategy {
        /// What was asked for.
        name: String,
        /// The names that exist, separated by commas.
        known: String,
    },
    /// The strategy cannot work on this input.
    #[error("strategy `{strategy}` cannot plan this input: {because}")]
    Unsupported {
        /// The strategy.
        strategy: &'static str,
        /// What is missing, or too much.
        because: &'static str,
    },
    /// The caller stopped the computation before there was any plan.
    #[error("stopped before there was a plan")]
    Stopped,
}

/// The name that stands for the best of all safe strategies.
pub const AUTO: &str = "auto";

/// The strategies that honour [`Problem::kept_apart`]; the others refuse such a problem.
const KEEPS_APART: [&str; 5] = ["naive", "first-fit", "greedy-size", "slots-by-size", "lowest-floor"];

/// All strategies but `auto`, in the order shown to people.
#[must_use]
pub fn strategies() -> &'static [Strategy] {
    static STRATEGIES: [Strategy; 23] = [
        naive::STRATEGY,
        first_fit::STRATEGY,
        greedy_size::STRATEGY,
        greedy_family::STRATEGY,
        lowest_floor::STRATEGY,
        hot_core::STRATEGY,
        peak_repair::STRATEGY,
        exact::STRATEGY,
        best_fit_decreasing::STRATEGY,
        tflite_arena::STRATEGY,
        executorch_greedy::STRATEGY,
        greedy_conflicts::STRATEGY,
        hill_climb::STRATEGY,
        boxing::STRATEGY,
        ort_pattern::STRATEGY,
        slots_by_birth::STRATEGY,
        slots_by_size::STRATEGY,
        greedy_breadth::STRATEGY,
        slots_dsatur::STRATEGY,
        refcount::STRATEGY,
        mxnet::STRATEGY,
        mxnet_co_share::STRATEGY,
        article_printed::STRATEGY,
    ];
    &STRATEGIES
}

/// The strategy with a name; `None` for `auto` and for names that do not exist.
#[must_use]
pub fn find_strategy(name: &str) -> Option<&'static Strategy> {
    strategies().iter().find(|strategy| strategy.name == name)
}

/// Plans `problem` with the strategy of that name, or with the best one for [`AUTO`].
///
/// The status is [`Status::Optimal`] when the arena equals the lower bound. Same input, same plan, byte for byte.
///
/// # Errors
/// An unknown name, a strategy that needs the graph where there is none, an input beyond a strategy's limit, or a stop
/// before there was any plan.
pub fn solve(
    strategy: &str,
    problem: &Problem,
    context: Option<&GraphContext>,
    options: &SolveOptions,
    control: &Control<'_>,
) -> Result<Plan, SolveError> {
    let request = Request::new(problem, context, options, control);
    if strategy == AUTO {
        return if problem.pools().is_empty() { auto::run(&request) } else { pools::run(&request, AUTO, &auto::run) };
    }
    let Some(strategy) = find_strategy(strategy) else {
        let known: Vec<&str> = std::iter::once(AUTO).chain(strategies().iter().map(|strategy| strategy.name)).collect();
        return Err(SolveError::UnknownStrategy { name: strategy.to_owned(), known: known.join(", ") });
    };
    request.run(strategy)
}

/// One call of [`solve`], as the strategies see it.
pub(crate) struct Request<'a> {
    problem: &'a Problem,
    context: Option<&'a GraphContext>,
    options: &'a SolveOptions,
    control: &'a Control<'a>,
    /// The lower bound: a plan of this size ends every search.
    bound_bytes: u64,
    /// How many pairs of buffers are live together, once somebody has asked.
    n_conflicts: OnceLock<u64>,
}

impl<'a> Request<'a> {
    fn new(problem: &'a Problem, context: Option<&'a GraphContext>, options: &'a SolveOptions, control: &'a Control<'a>) -> Self {
        Self { problem, context, options, control, bound_bytes: lower_bound_bytes(problem), n_conflicts: OnceLock::new() }
    }

    /// Whether searches go on until the caller stops them.
    fn is_open_ended(&self) -> bool {
        self.options.max_nodes == Some(u64::MAX)
    }

    /// How many pairs of buffers are live together. Time O(n log n) for the first call.
    fn n_conflicts(&self) -> u64 {
        *self.n_conflicts.get_or_init(|| n_conflicts(self.problem))
    }

    /// Refuses an input with more than `max_conflicts` conflicts, with the reason; gives their number otherwise.
    fn afford(&self, strategy: &Strategy, max_conflicts: u64, because: &'static str) -> Result<u64, SolveError> {
        let n_conflicts = self.n_conflicts();
        if n_conflicts > max_conflicts { Err(SolveError::Unsupported { strategy: strategy.name, because }) } else { Ok(n_conflicts) }
    }

    fn run(&self, strategy: &Strategy) -> Result<Plan, SolveError> {
        if let Some(feature) = self.problem.features().first_beyond(strategy.supports) {
            return Err(SolveError::Unsupported { strategy: strategy.name, because: feature.because() });
        }
        if self.problem.kept_apart().is_some() && !KEEPS_APART.contains(&strategy.name) {
            let because = "it decides by lifetimes alone, and here more buffers are kept apart (see --parallel)";
            return Err(SolveError::Unsupported { strategy: strategy.name, because });
        }
        let mut plan = if self.problem.features().has(Feature::Pools) {
            pools::run(self, strategy.name, &|request| request.run(strategy))?
        } else {
            (strategy.run)(self)?
        };
        if strategy.is_safe && plan.status == Status::Feasible && plan.arena_bytes == self.bound_bytes {
            plan.status = Status::Optimal;
        }
        Ok(plan)
    }

    /// Fails if the caller wants to stop; asks once per `POLL` calls of a loop that counts with `turn`.
    fn keep_going(&self, turn: usize) -> Result<(), SolveError> {
        /// Turns between two questions; a turn takes from 10 ns to a millisecond, a question about 1 ns.
        const POLL: usize = 64;
        if turn.is_multiple_of(POLL) && self.control.is_stopped() { Err(SolveError::Stopped) } else { Ok(()) }
    }
}
