//! The sheet of the whole plan: the file, the totals, the bound and who forces it, what the checks found.

use std::cmp::Reverse;

use arenascope_planner::parallel::Parallel;

use super::of_others::buffer_row;
use super::of_peak::savings;
use super::sheet::{Block, Head, Piece, Sheet, both_sizes, plain, strong, to_step};
use crate::session::Planned;
use crate::text;

/// Most buffers that force the bound.
const MAX_FORCING: usize = 8;
/// Most warnings.
const MAX_WARNINGS: usize = 20;
/// Most faults.
const MAX_FAULTS: usize = 10;

pub(super) fn sheet(planned: &Planned) -> Sheet {
    let mut sheet = Sheet::default();
    let workload = &planned.prepared.workload;
    let title = if workload.title.is_empty() { &workload.file } else { &workload.title };
    sheet.push(Block::Head(Head { title: title.clone(), ..Head::default() }));
    faults(&mut sheet, planned);
    if !workload.description.is_empty() {
        sheet.push(Block::Text(workload.description.clone()));
    }
    contents(&mut sheet, planned);
    totals(&mut sheet, planned);
    strategy(&mut sheet, planned);
    forcing(&mut sheet, planned);
    savings(&mut sheet, planned);
    let warnings = &planned.prepared.warnings;
    if !warnings.is_empty() {
        sheet.heading("Warnings", text::count(warnings.len() as u64));
        sheet.blocks.extend(warnings.iter().take(MAX_WARNINGS).map(|warning| Block::Text(warning.to_string())));
        sheet.more(warnings.len(), MAX_WARNINGS);
    }
    sheet
}

fn contents(sheet: &mut Sheet, planned: &Planned) {
    let summary = &planned.summary;
    let workload = &planned.prepared.workload;
    sheet.fact("File", vec![strong(workload.file.clone()), plain(workload.format)]);
    if planned.prepared.context.is_some() {
        sheet.fact("Graph", vec![strong(text::counted(summary.ops, "op", "ops")), plain(text::counted(summary.tensors, "tensor", "tensors"))]);
    }
    let buffers = vec![strong(text::count(summary.buffers)), plain(text::counted(planned.model.n_conflicts, "conflict", "conflicts"))];
    sheet.fact("Buffers", buffers);
    for dim in &workload.symbolic_dims {
        let how = if dim.is_default { "by default" } else { "as chosen" };
        sheet.fact("Dimension", vec![strong(format!("{} = {}", dim.name, text::count(dim.value))), plain(how)]);
    }
    sheet.push(Block::Rule);
}

fn totals(sheet: &mut Sheet, planned: &Planned) {
    let summary = &planned.summary;
    sheet.fact("Naive total", both_sizes(summary.naive_bytes));
    sheet.fact("Arena", both_sizes(summary.arena_bytes));
    let is_valid = planned.is_valid();
    let good = |text: String| if is_valid { Piece::Good(text) } else { strong(text) };
    sheet.fact("Saving", vec![good(text::saving(summary.naive_bytes, summary.arena_bytes))]);
    let mut bound = both_sizes(summary.lower_bound_bytes);
    bound.push(to_step(planned.model.bound.step));
    sheet.fact("Lower bound", bound);
    let gap = text::gap(summary.arena_bytes, summary.lower_bound_bytes);
    let gap = match summary.gap {
        gap_ratio if gap_ratio > 0.05 => Piece::Warn(gap),
        gap_ratio if gap_ratio <= 0.0 => good(gap),
        _ => strong(gap),
    };
    sheet.fact("Gap", vec![gap]);
    if let Some(observed) = summary.observed_bytes {
        sheet.fact("In the file", both_sizes(observed));
    }
    for pool in &summary.pools {
        let of = pool.capacity_bytes.map_or_else(|| "no limit".to_owned(), |capacity| format!("of {}", text::bytes(capacity)));
        let buffers = text::counted(pool.buffers, "buffer", "buffers");
        let verdict = if pool.fits() { plain(buffers) } else { Piece::Bad("does not fit".to_owned()) };
        sheet.fact("Pool", vec![strong(pool.name.clone()), strong(text::bytes(pool.arena_bytes)), plain(of), verdict]);
    }
    if let Some(capacity) = summary.capacity_bytes {
        let verdict = if summary.fits_capacity {
            Piece::Good("fits".to_owned())
        } else {
            Piece::Bad(format!("{} do not fit", text::bytes(summary.arena_bytes.saturating_sub(capacity))))
        };
        sheet.fact("Capacity", vec![strong(text::bytes(capacity)), verdict]);
    }
    sheet.fact("Static memory", both_sizes(summary.static_bytes));
    let change = text::change_bytes(summary.total_before, summary.total_after);
    sheet.fact("All memory", vec![strong(format!("{} → {}", text::bytes(summary.total_before), text::bytes(summary.total_after))), plain(change)]);
    sheet.push(Block::Rule);
}

fn strategy(sheet: &mut Sheet, planned: &Planned) {
    let asked = &planned.options.strategy;
    let mut name = vec![strong(planned.plan.strategy.clone())];
    if *asked != planned.plan.strategy {
        name.push(plain(format!("chosen by {asked}")));
    }
    name.push(plain(text::time(planned.plan_seconds)));
    sheet.fact("Strategy", name);
    order(sheet, planned);
    if let Some(slots) = planned.summary.slots {
        sheet
            .fact("Slots", vec![strong(text::count(slots)), plain(format!("largest clique {}", text::count(planned.model.largest_clique.0 as u64)))]);
    }
    let verdict = match (planned.is_valid(), planned.summary.proved_optimal) {
        (false, _) => Piece::Bad("not valid".to_owned()),
        (true, true) => Piece::Good("valid, proved optimal".to_owned()),
        (true, false) => Piece::Good("valid".to_owned()),
    };
    sheet.fact("Checks", vec![verdict]);
    could_be_lower(sheet, planned);
    added_order(sheet, planned);
    if let Some(note) = &planned.plan.note {
        sheet.push(Block::Text(note.clone()));
    }
}

/// The order of the ops and which of them may run side by side.
fn order(sheet: &mut Sheet, planned: &Planned) {
    let Some(used) = planned.prepared.order else { return };
    let mut pieces = vec![strong(used.method.map_or("that of the plan", |method| method.name()))];
    if used.is_lowest {
        pieces.push(Piece::Good("no order has a lower peak".to_owned()));
    } else if used.method.is_some_and(|method| method != planned.options.prepare.order) {
        pieces.push(Piece::Warn(format!("in place of {}", planned.options.prepare.order.name())));
    }
    sheet.fact("Order", pieces);
    let side_by_side = match planned.options.prepare.parallel {
        Parallel::Off => return,
        Parallel::Ancestors => "all that the graph does not order".to_owned(),
        Parallel::Paths(paths) => format!("{paths} longest paths"),
    };
    sheet.fact("Side by side", vec![strong(side_by_side)]);
}

/// How many buffers could be lower, in this plan and in that of the file.
fn could_be_lower(sheet: &mut Sheet, planned: &Planned) {
    let Some(insight) = planned.insight() else {
        sheet.fact("Could be lower", vec![plain("being worked out")]);
        return;
    };
    let of = format!("of {}", text::counted(insight.lower.n_buffers(), "buffer", "buffers"));
    let n = match insight.lower.n {
        0 => Piece::Good("none".to_owned()),
        n => Piece::Filter { text: text::count(n), filter: "is:lower" },
    };
    sheet.fact("Could be lower", vec![n, plain(of), plain("if nothing else moved")]);
    if let Some((n, of)) = insight.observed {
        let tool = planned.prepared.workload.observed.as_ref().map_or("the file", |plan| plan.tool.as_str());
        let n = if n == 0 { Piece::Good("none".to_owned()) } else { Piece::Warn(text::count(n)) };
        sheet.fact("In the file", vec![n, plain(format!("of {} as {tool} placed them could be lower", text::counted(of, "buffer", "buffers")))]);
    }
}

/// The order that the plan adds to the graph.
fn added_order(sheet: &mut Sheet, planned: &Planned) {
    let Some(added) = planned.insight().and_then(|insight| insight.added.as_ref()) else { return };
    let n = added.edges.len() as u64;
    let about = if added.is_exact { "" } else { "at most " };
    let pairs = match n {
        0 => vec![Piece::Good("none".to_owned()), plain("no op waits for another's bytes")],
        n => vec![strong(format!("{about}{}", text::counted(n, "pair of ops", "pairs of ops"))), plain("must wait for each other's bytes")],
    };
    sheet.fact("Added order", pairs);
    let chain = |ops: u64| text::count(ops);
    let longest = if added.chain_ops == added.chain_ops_with {
        vec![strong(text::counted(added.chain_ops, "op", "ops")), plain("with and without it")]
    } else {
        vec![strong(format!("{} → {} ops", chain(added.chain_ops), chain(added.chain_ops_with))), plain("without and with it")]
    };
    sheet.fact("Longest chain", longest);
}

fn forcing(sheet: &mut Sheet, planned: &Planned) {
    let problem = &planned.prepared.problem;
    let bound = &planned.model.bound;
    if bound.buffers.is_empty() {
        return;
    }
    let mut buffers = bound.buffers.clone();
    buffers.sort_by_key(|&id| (Reverse(problem.buffer(id).bytes), id));
    sheet
        .heading("Who forces the bound", format!("{} at step {}", text::counted(buffers.len() as u64, "buffer", "buffers"), text::count(bound.step)));
    sheet.rows(buffers.len(), MAX_FORCING, buffers.iter().map(|&id| buffer_row(planned, id)));
}

fn faults(sheet: &mut Sheet, planned: &Planned) {
    if planned.is_valid() {
        return;
    }
    let report = &planned.report;
    let n = report.n_violations + planned.replay_faults.len() as u64;
    sheet.heading("This plan is not valid", text::counted(n, "fault", "faults"));
    let mut told: Vec<String> = report.violations.iter().take(MAX_FAULTS).map(ToString::to_string).collect();
    if let Some(context) = planned.prepared.context.as_deref() {
        let rest = MAX_FAULTS - told.len();
        told.extend(planned.replay_faults.iter().take(rest).map(|fault| fault.describe(&context.graph)));
    }
    sheet.blocks.extend(told.into_iter().map(Block::Fault));
    sheet.more(usize::try_from(n).unwrap_or(usize::MAX), MAX_FAULTS);
    sheet.push(Block::Rule);
}

#[cfg(test)]
mod tests {
    use super::super::sample_plans::{bare_with, sample, sample_with};
    use super::*;
    use crate::insight::Insight;
    use arenascope_planner::control::Control;
    use std::sync::Arc;

    #[test]
    fn shows_the_totals_of_the_summary() {
        let words = sheet(&sample("article_three_tensors.json")).words();
        assert!(words.contains("Naive total: 16.0 MiB 16,777,216 B"), "{words}");
        assert!(words.contains("Arena: 12.0 MiB") && words.contains("Saving: 25.0 %"), "{words}");
        assert!(words.contains("Gap: 0.0 %") && words.contains("Checks: valid, proved optimal"), "{words}");
        assert!(words.contains("Three tensors, and why"), "{words}");
    }

    #[test]
    fn says_what_was_worked_out_about_the_plan() {
        let planned = sample_with("parallel_branches.json", "naive");
        assert!(sheet(&planned).words().contains("Could be lower: being worked out"));
        let insight = Insight::new(&planned, &Control::unattended()).expect("not stopped");
        let (n, edges) = (insight.lower.n, insight.added.as_ref().map(|added| added.edges.len()));
        planned.insight.set(Arc::new(insight)).expect("set once");
        let words = sheet(&planned).words();
        assert!(n > 0 && words.contains(&format!("Could be lower: {n} of ")), "{words}");
        assert_eq!(edges, Some(0), "without sharing nobody waits");
        assert!(words.contains("Added order: none") && words.contains("Order: file"), "{words}");
        assert!(words.contains("## What would lower the peak"), "{words}");
    }

    #[test]
    fn lists_faults_of_an_invalid_plan() {
        let words = sheet(&sample_with("article_three_tensors.json", "article-printed")).words();
        assert!(words.contains("## This plan is not valid") && words.contains("Checks: not valid"), "{words}");
        assert!(words.contains("share bytes"), "{words}");
    }

    #[test]
    fn names_the_largest_of_those_that_force_the_bound() {
        let buffers: Vec<(u64, u64, u64)> = (1..12).map(|n| (n * 64, 0, 1)).collect();
        let words = sheet(&bare_with(&buffers, "first-fit")).words();
        assert!(words.contains("## Who forces the bound 11 buffers at step 0") && words.contains("and 3 more"), "{words}");
    }
}
