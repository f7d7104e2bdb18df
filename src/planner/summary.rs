//! The numbers of one plan: what the command line prints and the status bar shows.

use crate::bounds::{lower_bound_bytes, peak_live_bytes};
use crate::check::CheckReport;
use crate::observed::observed_bytes;
use crate::plan::{Plan, Status};
use crate::prepare::Prepared;
use crate::problem::Problem;

/// Every number that is reported about a plan; bytes are rounded to the alignment except `static_bytes`.
#[derive(Clone, PartialEq, Debug)]
pub struct Summary {
    /// Ops in the schedule.
    pub ops: u64,
    /// Tensors in the graph, or buffers of a bare problem.
    pub tensors: u64,
    /// Dynamic buffers that are not empty.
    pub buffers: u64,
    /// Every dynamic tensor in its own block.
    pub naive_bytes: u64,
    /// Largest sum of buffers live at a step.
    pub peak_live_bytes: u64,
    /// What no plan can go below; at least the peak.
    pub lower_bound_bytes: u64,
    /// The size of the plan.
    pub arena_bytes: u64,
    /// Static memory, not rounded.
    pub static_bytes: u64,
    /// The arena of the plan found in the file; `None` if there is none.
    pub observed_bytes: Option<u64>,
    /// The largest arena wanted; `None` without a limit.
    pub capacity_bytes: Option<u64>,
    /// Static memory and the naive total.
    pub total_before: u64,
    /// Static memory and the arena.
    pub total_after: u64,
    /// The strategy that made the plan.
    pub strategy: String,
    /// What is known about the plan's quality.
    pub status: Status,
    /// Whether the plan is valid and as small as the bound.
    pub proved_optimal: bool,
    /// Tensors whose size is unknown and that are in no number.
    pub unknown_tensors: u64,
    /// Whether the check found no fault.
    pub valid: bool,
    /// How many slots; `None` for an offset plan.
    pub slots: Option<u64>,
    /// 1 − arena / naive total; 0 if there is nothing to plan.
    pub saving: f64,
    /// Arena / lower bound − 1; 0 if the bound is 0.
    pub gap: f64,
    /// The alignment in bytes.
    pub align: u64,
    /// Whether the arena is within the capacity, and each pool within its own; true without any.
    pub fits_capacity: bool,
    /// What each pool holds; empty if there is one arena.
    pub pools: Vec<PoolSummary>,
    /// The first step at which the peak is reached.
    pub peak_step: u64,
    /// What the strategy says about its choice.
    pub note: Option<String>,
}

/// The numbers of one of several pools.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PoolSummary {
    /// Its name, or its number if it has none.
    pub name: String,
    /// Highest end of any buffer in it.
    pub arena_bytes: u64,
    /// How many bytes it has; `None` without a limit.
    pub capacity_bytes: Option<u64>,
    /// How many buffers are in it.
    pub buffers: u64,
}

impl PoolSummary {
    /// Whether the pool is within its capacity.
    #[must_use]
    pub fn fits(&self) -> bool {
        self.capacity_bytes.is_none_or(|capacity| self.arena_bytes <= capacity)
    }
}

/// What a plan puts into each pool; empty if there is one arena, or if the plan knows no pools.
#[must_use]
pub fn pool_summaries(problem: &Problem, plan: &Plan) -> Vec<PoolSummary> {
    let Some(planned) = &plan.pools else { return Vec::new() };
    let mut buffers = vec![0_u64; problem.pools().len()];
    for pool in &planned.of_buffer {
        if let Some(count) = buffers.get_mut(pool.index()) {
            *count += 1;
        }
    }
    let pools = problem.pools().iter().enumerate().zip(&planned.arena_bytes).zip(buffers);
    pools
        .map(|(((index, pool), &arena_bytes), buffers)| PoolSummary {
            name: if pool.name.is_empty() { format!("pool {index}") } else { pool.name.clone() },
            arena_bytes,
            capacity_bytes: pool.capacity_bytes,
            buffers,
        })
        .collect()
}

/// Gathers the numbers. Time O(n log n).
#[must_use]
pub fn summarize(prepared: &Prepared, plan: &Plan, report: &CheckReport) -> Summary {
    let problem = &prepared.problem;
    let (peak_live_bytes, peak_step) = peak_live_bytes(problem);
    let lower_bound_bytes = lower_bound_bytes(problem);
    let valid = report.is_valid();
    let pools = pool_summaries(problem, plan);
    let unknown_tensors = prepared.n_unknown();
    // What is not counted might not fit: no claim about the whole.
    let status = if unknown_tensors > 0 && plan.status == Status::Optimal { Status::Feasible } else { plan.status };
    Summary {
        ops: prepared.n_ops as u64,
        tensors: prepared.n_tensors as u64,
        buffers: problem.n_buffers() as u64,
        naive_bytes: prepared.naive_bytes,
        peak_live_bytes,
        lower_bound_bytes,
        arena_bytes: plan.arena_bytes,
        static_bytes: prepared.static_bytes,
        observed_bytes: observed_bytes(prepared),
        capacity_bytes: problem.capacity_bytes(),
        total_before: prepared.static_bytes.saturating_add(prepared.naive_bytes),
        total_after: prepared.static_bytes.saturating_add(plan.arena_bytes),
        strategy: plan.strategy.clone(),
        status,
        proved_optimal: valid && status == Status::Optimal,
        unknown_tensors,
        valid,
        slots: plan.n_slots().map(|slots| slots as u64),
        saving: if prepared.naive_bytes == 0 { 0.0 } else { 1.0 - ratio(plan.arena_bytes, prepared.naive_bytes) },
        gap: if lower_bound_bytes == 0 { 0.0 } else { ratio(plan.arena_bytes, lower_bound_bytes) - 1.0 },
        align: problem.align().bytes(),
        fits_capacity: problem.capacity_bytes().is_none_or(|capacity| plan.arena_bytes <= capacity) && pools.iter().all(PoolSummary::fits),
        pools,
        peak_step,
        note: plan.note.clone(),
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}
