//! Reports for programs: one object or array, keys in a stable order.

use arenascope_planner::keep::KeepReport;
use arenascope_planner::order::Order;
use arenascope_planner::prepare::Prepared;
use arenascope_planner::summary::PoolSummary;
use serde::Serialize;

use crate::cli_keep::{self, KeepJson};
use crate::cli_plan::Planned;

/// The version of the layout of [`PlanReport`].
const SCHEMA: u32 = 1;

/// What `plan --json` prints; names and order of the keys are a promise.
#[derive(Serialize)]
struct PlanReport<'a> {
    schema: u32,
    file: &'a str,
    format: &'a str,
    ops: u64,
    tensors: u64,
    buffers: u64,
    naive_bytes: u64,
    peak_live_bytes: u64,
    lower_bound_bytes: u64,
    arena_bytes: u64,
    static_bytes: u64,
    observed_bytes: Option<u64>,
    capacity_bytes: Option<u64>,
    total_before: u64,
    total_after: u64,
    strategy: &'a str,
    status: &'a str,
    proved_optimal: bool,
    valid: bool,
    slots: Option<u64>,
    saving: f64,
    gap: f64,
    align: u64,
    plan_seconds: f64,
    warnings: Vec<String>,
    /// The method that ordered the ops; `null` for bare problems and for the order of a plan file.
    order: Option<&'static str>,
    order_is_lowest: Option<bool>,
    parallel: String,
    /// Pairs of ops that the plan orders and the graph does not.
    added_edges: Option<u64>,
    longest_chain_ops: Option<u64>,
    longest_chain_ops_with_added: Option<u64>,
    /// Only if there are several pools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pools: Vec<PoolJson<'a>>,
    /// Only with `--keep`.
    #[serde(skip_serializing_if = "Option::is_none")]
    keep: Option<KeepJson<'a>>,
}

/// One of several pools.
#[derive(Serialize)]
struct PoolJson<'a> {
    name: &'a str,
    arena_bytes: u64,
    capacity_bytes: Option<u64>,
    buffers: u64,
    fits: bool,
}

/// The report of one plan.
pub(crate) fn plan_report(prepared: &Prepared, planned: &Planned, keep: Option<&KeepReport>) -> String {
    let summary = &planned.summary;
    object(&PlanReport {
        schema: SCHEMA,
        file: &prepared.workload.file,
        format: prepared.workload.format,
        ops: summary.ops,
        tensors: summary.tensors,
        buffers: summary.buffers,
        naive_bytes: summary.naive_bytes,
        peak_live_bytes: summary.peak_live_bytes,
        lower_bound_bytes: summary.lower_bound_bytes,
        arena_bytes: summary.arena_bytes,
        static_bytes: summary.static_bytes,
        observed_bytes: summary.observed_bytes,
        capacity_bytes: summary.capacity_bytes,
        total_before: summary.total_before,
        total_after: summary.total_after,
        strategy: &summary.strategy,
        status: summary.status.name(),
        proved_optimal: summary.proved_optimal,
        valid: planned.is_valid(),
        slots: summary.slots,
        saving: summary.saving,
        gap: summary.gap,
        align: summary.align,
        plan_seconds: planned.seconds,
        warnings: prepared.warnings.iter().map(ToString::to_string).collect(),
        order: prepared.order.and_then(|order| order.method).map(Order::name),
        order_is_lowest: prepared.order.map(|order| order.is_lowest),
        parallel: prepared.settings.parallel.to_string(),
        added_edges: planned.added.as_ref().map(|added| added.edges.len() as u64),
        longest_chain_ops: planned.added.as_ref().map(|added| added.chain_ops),
        longest_chain_ops_with_added: planned.added.as_ref().map(|added| added.chain_ops_with),
        pools: summary.pools.iter().map(pool).collect(),
        keep: keep.map(|keep| cli_keep::json(prepared, keep)),
    })
}

fn pool(pool: &PoolSummary) -> PoolJson<'_> {
    PoolJson { name: &pool.name, arena_bytes: pool.arena_bytes, capacity_bytes: pool.capacity_bytes, buffers: pool.buffers, fits: pool.fits() }
}

/// Any report as indented JSON with a final line end.
pub(crate) fn object(report: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(report).expect("reports hold only strings, numbers, lists and string keys");
    text.push('\n');
    text
}
