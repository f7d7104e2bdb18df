//! The summary of one plan for people.

use arenascope_planner::check::Violation;
use arenascope_planner::order::Order;
use arenascope_planner::parallel::Parallel;
use arenascope_planner::plan::Status;
use arenascope_planner::prepare::Prepared;
use arenascope_planner::summary::Summary;

use crate::cli_plan::Planned;
use crate::cli_print::{Set, binary_bytes, counted, exact_bytes, grouped, paragraph, percent, seconds, table};

/// How many faults a summary lists; `check` lists all.
const FAULTS_SHOWN: usize = 5;

/// How many warnings a summary lists; `inspect` lists all.
const WARNINGS_SHOWN: usize = 10;

/// The widest line of running text in columns.
pub(crate) const TEXT_WIDTH: usize = 100;

/// What the plan saves, how good it is, and whether it may be used.
pub(crate) fn plan_report(prepared: &Prepared, planned: &Planned) -> String {
    let mut text = heading(prepared, &planned.summary);
    text.push('\n');
    text.push_str(&table(2, &[Set::Left, Set::Right, Set::Right, Set::Left], &byte_rows(prepared, &planned.summary)));
    text.push('\n');
    text.push_str(&table(2, &[Set::Left, Set::Left], &fact_rows(prepared, planned)));
    text.push_str(&fault_lines(prepared, planned));
    text.push_str(&warning_lines(prepared, WARNINGS_SHOWN));
    text
}

/// `inplace_trap.json: op-list, 5 ops, 8 tensors, 2 dynamic buffers`, then the title if it is one for people:
/// exporters call every model `main_graph`.
fn heading(prepared: &Prepared, summary: &Summary) -> String {
    let workload = &prepared.workload;
    let mut facts = vec![workload.format.to_owned()];
    if summary.ops > 0 {
        facts.push(counted(summary.ops, "op"));
        facts.push(counted(summary.tensors, "tensor"));
    }
    facts.push(counted(summary.buffers, "dynamic buffer"));
    let mut text = format!("{}: {}\n", workload.file, facts.join(", "));
    if workload.title.contains(char::is_whitespace) {
        text.push_str(&paragraph(0, TEXT_WIDTH, &workload.title));
    }
    text
}

fn byte_rows(prepared: &Prepared, summary: &Summary) -> Vec<Vec<String>> {
    let row = |label: &str, bytes: u64, note: String| vec![label.to_owned(), exact_bytes(bytes), binary_bytes(bytes), note];
    let plain = String::new;
    let mut rows = vec![
        row("before, every tensor in its own block", summary.naive_bytes, plain()),
        row(
            if summary.pools.is_empty() { "after, one arena" } else { "after, all pools" },
            summary.arena_bytes,
            format!("saves {}", percent(summary.saving)),
        ),
        row("peak live bytes", summary.peak_live_bytes, peak_place(prepared, summary)),
        row("lower bound of every plan", summary.lower_bound_bytes, format!("gap {}", percent(summary.gap))),
    ];
    if let Some((buffers, bytes)) = pre_existing(prepared) {
        rows.push(row("pre-existing: older than the recording", bytes, counted(buffers, "buffer")));
    }
    for pool in &summary.pools {
        let limit = pool.capacity_bytes.map_or_else(String::new, |capacity| {
            let verdict = if pool.fits() { "fits" } else { "DOES NOT FIT" };
            format!(", {verdict} in {}", exact_bytes(capacity))
        });
        rows.push(row(&format!("  in {}", pool.name), pool.arena_bytes, format!("{}{limit}", counted(pool.buffers, "buffer"))));
    }
    if let Some(observed) = summary.observed_bytes {
        let tool = prepared.workload.observed.as_ref().map_or_else(plain, |observed| format!("chosen by {}", observed.tool));
        let n_overlaps = arenascope_planner::observed::observed(&prepared.workload).map_or(0, |found| found.check().n_overlaps);
        let verdict = if n_overlaps == 0 { String::new() } else { format!(", INVALID: {}", counted(n_overlaps, "overlap")) };
        rows.push(row("plan found in the file", observed, tool + &verdict));
    }
    if let Some(capacity) = summary.capacity_bytes {
        let verdict = if summary.arena_bytes <= capacity {
            format!("fits, {} to spare", binary_bytes(capacity - summary.arena_bytes))
        } else {
            format!("DOES NOT FIT, {} missing", exact_bytes(summary.arena_bytes.saturating_sub(capacity)))
        };
        rows.push(row("capacity", capacity, verdict));
    }
    if summary.static_bytes > 0 {
        rows.push(row("static memory, beside the arena", summary.static_bytes, plain()));
        rows.push(row("static + dynamic before", summary.total_before, plain()));
        rows.push(row("static + dynamic after", summary.total_after, plain()));
    }
    rows
}

/// How many buffers are older than the recording that they come from, and their bytes; `None` if there are none.
fn pre_existing(prepared: &Prepared) -> Option<(u64, u64)> {
    let older = prepared.problem.ids().filter(|&id| prepared.is_pre_existing(id));
    let sums = older.fold((0, 0), |(count, bytes), id| (count + 1, bytes + prepared.problem.buffer(id).bytes));
    (sums.0 > 0).then_some(sums)
}

/// `at step 12, Conv features.2/conv.0`.
fn peak_place(prepared: &Prepared, summary: &Summary) -> String {
    let step = grouped(summary.peak_step);
    let op = prepared.context.as_ref().and_then(|context| {
        let id = context.schedule.order().get(usize::try_from(summary.peak_step).ok()?)?;
        let op = context.graph.op(*id);
        Some(format!("at step {step}, {} {}", op.kind, op.name))
    });
    op.unwrap_or_else(|| format!("at step {step}"))
}

fn fact_rows(prepared: &Prepared, planned: &Planned) -> Vec<Vec<String>> {
    let summary = &planned.summary;
    let alias = prepared.settings.alias;
    let mut rows = vec![["strategy".to_owned(), summary.strategy.clone()], ["plan".to_owned(), badge(planned)]];
    if let Some(note) = &summary.note {
        rows.push([String::new(), note.clone()]);
    }
    if let Some(slots) = summary.slots {
        rows.push(["slots".to_owned(), grouped(slots)]);
    }
    let sharing = if prepared.context.is_none() {
        String::new()
    } else {
        format!(", in-place {}, graph inputs and outputs {}", if alias.in_place { "on" } else { "off" }, io_name(prepared))
    };
    rows.push(["settings".to_owned(), format!("align {}{sharing}", binary_bytes(summary.align))]);
    rows.extend(order_rows(prepared, planned));
    rows.push(["planned in".to_owned(), seconds(planned.seconds)]);
    rows.into_iter().map(Vec::from).collect()
}

/// The order of the ops, and what the plan adds to it; nothing for bare problems.
fn order_rows(prepared: &Prepared, planned: &Planned) -> Vec<[String; 2]> {
    let (Some(order), Some(added)) = (&prepared.order, &planned.added) else { return Vec::new() };
    let method = order.method.map_or("that of the plan", Order::name);
    let lowest = if order.is_lowest { ", no order has a lower peak" } else { "" };
    let parallel = match prepared.settings.parallel {
        Parallel::Off => String::new(),
        parallel => format!(", parallel {parallel}"),
    };
    let bound = prepared.problem.kept_apart().map(|kept_apart| kept_apart.clique()).map_or("", |clique| match clique.is_largest {
        true => ", bound: the heaviest clique",
        false => ", bound: a heavy clique, perhaps not the heaviest",
    });
    let (edges, exact) = (counted(added.edges.len() as u64, "ordering edge"), if added.is_exact { "" } else { "at most " });
    let chain = format!("longest chain {} with them, {} without", counted(added.chain_ops_with, "op"), counted(added.chain_ops, "op"));
    vec![["order".to_owned(), format!("{method}{lowest}{parallel}{bound}")], ["added to the graph".to_owned(), format!("{exact}{edges}; {chain}")]]
}

fn io_name(prepared: &Prepared) -> &'static str {
    match prepared.settings.alias.io {
        arenascope_planner::alias::Io::Static => "static",
        arenascope_planner::alias::Io::Arena => "in the arena",
    }
}

/// The check badge in words.
pub(crate) fn badge(planned: &Planned) -> String {
    if !planned.is_valid() {
        return "INVALID: live buffers overlap or a tensor is overwritten before it is read; do not use it".to_owned();
    }
    let quality = match planned.summary.status {
        Status::Optimal => "and optimal: no plan can be smaller",
        Status::Feasible => "perhaps not the smallest",
        Status::Infeasible => "but no plan fits the capacity, and that is proved",
        Status::Limit => "stopped at the limit before it could answer for the capacity",
    };
    let unknown = planned.summary.unknown_tensors;
    if unknown > 0 {
        return format!("valid, but {} of unknown size not counted", counted(unknown, "tensor"));
    }
    let joint = if matches!(planned.summary.status, Status::Optimal) { " " } else { ", " };
    format!("valid{joint}{quality}")
}

fn fault_lines(prepared: &Prepared, planned: &Planned) -> String {
    let faults = all_faults(prepared, planned);
    if faults.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", counted(n_faults(planned), "fault"));
    for fault in faults.iter().take(FAULTS_SHOWN) {
        text.push_str(&format!("  {fault}\n"));
    }
    let unlisted = n_faults(planned).saturating_sub(FAULTS_SHOWN as u64);
    if unlisted > 0 {
        text.push_str(&format!("  and {} more\n", grouped(unlisted)));
    }
    text
}

/// How many faults both checkers found, also those that are counted but not kept.
pub(crate) fn n_faults(planned: &Planned) -> u64 {
    planned.report.n_violations + planned.faults.len() as u64
}

/// Every fault that was kept, as sentences with names.
pub(crate) fn all_faults(prepared: &Prepared, planned: &Planned) -> Vec<String> {
    let geometric = planned.report.violations.iter().map(|violation| named_violation(prepared, violation));
    let replayed = prepared.context.iter().flat_map(|context| planned.faults.iter().map(|fault| fault.describe(&context.graph)));
    geometric.chain(replayed).collect()
}

/// `buffers #0 and #1 share bytes … (#0 is `A`, #1 is `B`)`.
fn named_violation(prepared: &Prepared, violation: &Violation) -> String {
    let buffers = violation.buffers();
    if buffers.is_empty() {
        return violation.to_string();
    }
    let names: Vec<String> = buffers.into_iter().map(|id| format!("{id} is `{}`", prepared.buffer_name(id))).collect();
    format!("{violation} ({})", names.join(", "))
}

/// The first `limit` warnings under a heading that counts all; empty without warnings.
pub(crate) fn warning_lines(prepared: &Prepared, limit: usize) -> String {
    let warnings = &prepared.warnings;
    if warnings.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", counted(warnings.len() as u64, "warning"));
    for warning in warnings.iter().take(limit) {
        text.push_str(&format!("  {warning}\n"));
    }
    if warnings.len() > limit {
        text.push_str(&format!("  and {} more; `arenascope inspect` lists all\n", grouped((warnings.len() - limit) as u64)));
    }
    text
}
