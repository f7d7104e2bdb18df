//! Why a buffer is where it is, who could be lower, what lowers the peak, what differs between plans, orders, pools.

use std::path::PathBuf;
use std::sync::Arc;

use arenascope_planner::ids::{BufferId, PoolId};
use arenascope_planner::order::Order;
use arenascope_planner::parallel::Parallel;
use arenascope_planner::plan::Plan;
use egui::Key;
use egui_kittest::kittest::Queryable;

use super::{opened, planned, sample, window};
use crate::command::Command;
use crate::jobs::{JobKind, Jobs};
use crate::selection::Item;
use crate::state::ColourBy;
use crate::theme::ThemeKind;
use crate::views::Pane;
use crate::views::inspector::sample_plans::POOR_ORDER;
use crate::views::strategies::{Against, Move};

/// Writes a file that lasts as long as the folder.
fn written(folder: &tempfile::TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("a temporary file");
    path
}

#[test]
fn the_inspector_says_who_blocks_a_buffer_and_leads_there() {
    let mut harness = opened("mobilenet_v2.onnx", ThemeKind::Dark);
    harness.state().send(Command::Maximise(Some(Pane::Inspector)));
    harness.state().send(Command::Select(Item::Buffer(BufferId(4))));
    harness.run_steps(3);
    harness.get_by_label("Why is it here?");
    harness.get_by_label_contains("#3 holds 0 B – 4.59 MiB ").click();
    harness.run_steps(3);
    assert_eq!(harness.state().state.selection.selected(), Some(Item::Buffer(BufferId(3))));
}

#[test]
fn who_could_be_lower_is_counted_and_listed() {
    let mut harness = opened("parallel_branches.json", ThemeKind::Light);
    harness.state().send(Command::SetStrategy("naive".to_owned()));
    harness.run_steps(4);
    let plan = planned(&harness);
    let lower = plan.insight().map(|insight| insight.lower.clone()).expect("it was worked out");
    assert!(lower.n > 0 && lower.n < lower.n_buffers(), "{lower:?}");
    harness.state().send(Command::Maximise(Some(Pane::Inspector)));
    harness.run_steps(3);
    harness.get_by_label(&lower.n.to_string()).click();
    harness.run_steps(3);
    harness.state().send(Command::Maximise(Some(Pane::Table)));
    harness.run_steps(4);
    assert_eq!(harness.query_all_by_label_contains("buffer #").count() as u64, lower.n);
}

#[test]
fn a_plan_found_in_a_file_says_who_could_be_lower() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = written(&folder, "holes.csv", "id,lower,upper,size,offset\na,0,2,64,0\nb,1,3,64,192\nc,2,4,64,0\n");
    let mut harness = window(Jobs::inline(), ThemeKind::Dark, None);
    harness.state().send(Command::Open(file));
    harness.state().send(Command::SetBefore(true));
    harness.run_steps(4);
    let plan = planned(&harness);
    let insight = plan.insight().expect("it was worked out");
    assert_eq!(insight.before.as_ref().map(|lower| (lower.n, lower.of(BufferId(1)))), Some((1, Some(64))));
    assert_eq!(insight.observed, Some((1, 3)));
    harness.get_by_label_contains("placed them could be lower");
}

#[test]
fn the_peak_step_says_what_would_lower_it() {
    let mut harness = opened("two_layer_perceptron_training.json", ThemeKind::Dark);
    harness.state().send(Command::Maximise(Some(Pane::Inspector)));
    harness.key_press(Key::P);
    harness.run_steps(3);
    harness.get_by_label("What would lower the peak");
    let plan = planned(&harness);
    let peak = plan.insight().map(|insight| insight.peak.clone()).expect("it was worked out");
    let largest = peak.live[0];
    harness.query_all_by_label_contains(&format!("#{} ", largest.0)).next().expect("the largest is in the list").click();
    harness.run_steps(3);
    assert_eq!(harness.state().state.selection.selected(), Some(Item::Buffer(largest)));
}

#[test]
fn two_plans_are_compared_and_the_arena_shows_what_moved() {
    let mut harness = opened("mobilenet_v2.onnx", ThemeKind::Dark);
    harness.state().send(Command::Maximise(Some(Pane::Strategies)));
    harness.run_steps(4);
    harness.get_by_label("Compare with…").click();
    harness.run_steps(3);
    harness.get_by_label("naive").click();
    harness.run_steps(4);
    let plan = planned(&harness);
    let difference = Arc::clone(harness.state().state.views.strategies.difference(&plan).expect("it was worked out"));
    assert_eq!(difference.against, Against::Strategy("naive".to_owned()));
    assert!(difference.n_moved(Move::Down) > 40, "most are lower than where every buffer has its own block");
    assert_eq!(Move::ALL.map(|moved| difference.n_moved(moved)).iter().sum::<u64>(), 53);
    assert_eq!(harness.state().state.colour_by(), ColourBy::Difference);
    let first = difference.changes[0].buffer.expect("it is in both plans");
    harness.get_by_label_contains(&format!("change of #{} ", first.0)).click();
    harness.run_steps(3);
    assert_eq!(harness.state().state.selection.selected(), Some(Item::Buffer(first)));
    harness.state().send(Command::SetColour(ColourBy::Size));
    harness.run_steps(2);
    assert_eq!(harness.state().state.colour_by(), ColourBy::Size, "another colour may be chosen");
    harness.get_by_label("Stop comparing plans").click();
    harness.run_steps(3);
    assert!(harness.state().state.views.strategies.difference(&plan).is_none());
}

#[test]
fn the_comparison_follows_the_shown_plan() {
    let mut harness = opened("mobilenet_v2.onnx", ThemeKind::Light);
    harness.state().send(Command::ShowFoot(Pane::Strategies));
    harness.run_steps(4);
    harness.state().send(Command::CompareWith(Some(Against::Strategy("lowest-floor".to_owned()))));
    harness.run_steps(3);
    let n_moved = |plan: &crate::session::Planned, harness: &egui_kittest::Harness<'static, crate::app::App>| {
        harness.state().state.views.strategies.difference(plan).map(|difference| difference.changes.len())
    };
    assert_eq!(n_moved(&planned(&harness), &harness), Some(0), "auto chose that very plan");
    harness.state().send(Command::SetStrategy("naive".to_owned()));
    harness.run_steps(4);
    assert!(n_moved(&planned(&harness), &harness).is_some_and(|n| n > 40));
}

#[test]
fn orders_are_measured_chosen_and_undone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut harness = window(Jobs::inline(), ThemeKind::Dark, None);
    harness.state().send(Command::Open(written(&folder, "order.json", POOR_ORDER)));
    harness.run_steps(4);
    let file_peak = planned(&harness).summary.peak_live_bytes;
    harness.get_by_label("Order").click();
    harness.run_steps(3);
    harness.get_by_label("Measure the peak of each").click();
    harness.run_steps(3);
    let session = harness.state().state.session.as_ref().expect("a file is open");
    let lowest = session.orders.value().and_then(|table| table.row(Order::MinPeak)).map(|row| row.peak_bytes).expect("they were measured");
    assert!(lowest < file_peak, "the sample's own order is not the best");
    harness.get_by_label_contains("min-peak ").click();
    harness.run_steps(4);
    assert_eq!(planned(&harness).summary.peak_live_bytes, lowest);
    harness.key_press_modifiers(egui::Modifiers::COMMAND, Key::Z);
    harness.run_steps(4);
    assert_eq!(planned(&harness).options.prepare.order, Order::File);
    assert_eq!(planned(&harness).summary.peak_live_bytes, file_peak);
    harness.state().send(Command::Redo);
    harness.run_steps(4);
    assert_eq!(planned(&harness).options.prepare.order, Order::MinPeak);
}

#[test]
fn ops_that_may_run_side_by_side_need_no_waiting() {
    let mut harness = opened("parallel_branches.json", ThemeKind::Dark);
    let added = |harness: &egui_kittest::Harness<'static, crate::app::App>| {
        planned(harness).insight().and_then(|insight| insight.added.as_ref().map(|added| added.edges.len())).expect("a graph")
    };
    assert!(added(&harness) > 0);
    harness.state().send(Command::SetParallel(Parallel::Ancestors));
    harness.run_steps(4);
    assert_eq!(added(&harness), 0);
    harness.state().send(Command::Maximise(Some(Pane::Inspector)));
    harness.run_steps(3);
    harness.get_by_label("all that the graph does not order");
}

/// A window in which a plan is shown and another one is being searched for.
fn searching() -> egui_kittest::Harness<'static, crate::app::App> {
    let mut harness = window(Jobs::held(), ThemeKind::Dark, None);
    harness.state().send(Command::Open(sample("parallel_branches.json")));
    for _ in 0..3 {
        harness.run_steps(2);
        harness.state_mut().state.jobs.run_held();
    }
    harness.run_steps(2);
    harness.state().send(Command::SetStrategy("exact".to_owned()));
    harness.run_steps(2);
    harness
}

/// Leaves a plan as a search would, with every buffer in a block of its own.
fn find_naive(harness: &egui_kittest::Harness<'static, crate::app::App>) {
    let shown = planned(harness);
    let problem = &shown.prepared.problem;
    let mut top = 0;
    let offsets = problem.buffers().iter().map(|buffer| {
        top += buffer.bytes;
        top - buffer.bytes
    });
    let plan = Plan::from_offsets("exact", problem, offsets.collect());
    let session = harness.state().state.session.as_ref().expect("a file is open");
    session.better.put(&shown.prepared, plan, &session.options, 0.1);
}

#[test]
fn a_better_plan_is_shown_while_the_search_goes_on_and_kept_when_it_is_stopped() {
    let mut harness = searching();
    find_naive(&harness);
    harness.run_steps(2);
    assert!(harness.state().state.jobs.running(JobKind::Better).is_some(), "it is checked in the background");
    // Only what is beside the search runs: the search itself goes on.
    harness.state_mut().state.jobs.run_held_of(JobKind::Better);
    harness.run_steps(2);
    assert_eq!(planned(&harness).plan.strategy, "exact");
    assert!(harness.state().state.is_searching());
    harness.state().send(Command::CancelJob);
    harness.run_steps(2);
    assert!(!harness.state().state.is_searching() && harness.state().state.jobs.running(JobKind::Plan).is_none());
    let notice = harness.state().state.notice.clone().expect("it says what is kept");
    assert!(notice.text.contains("the best plan so far is kept"), "{}", notice.text);
    assert_eq!(planned(&harness).plan.strategy, "exact");
    let session = harness.state().state.session.as_ref().expect("a file is open");
    assert_eq!(session.options.strategy, "exact");
}

#[test]
fn the_last_plan_of_a_search_replaces_what_was_found_on_the_way() {
    let mut harness = searching();
    find_naive(&harness);
    harness.run_steps(2);
    harness.state_mut().state.jobs.run_held();
    harness.run_steps(3);
    let plan = planned(&harness);
    assert!(plan.plan.arena_bytes < plan.summary.naive_bytes && plan.summary.proved_optimal);
    find_naive(&harness);
    harness.run_steps(3);
    harness.state_mut().state.jobs.run_held();
    harness.run_steps(3);
    assert_eq!(planned(&harness).plan.arena_bytes, plan.plan.arena_bytes, "a larger plan is not shown");
}

/// Two memories: what does not fit into the first goes to the second.
const TWO_POOLS: &str = r#"{
  "format": "problem-v1", "title": "Two memories",
  "pools": [{ "name": "SRAM", "capacity": "128 KiB" }, { "name": "PSRAM", "capacity": "8 MiB" }],
  "buffers": [
    { "id": "a", "size": "96 KiB", "start": 0, "end": 3 },
    { "id": "b", "size": "64 KiB", "start": 1, "end": 5 },
    { "id": "c", "size": "32 KiB", "start": 2, "end": 6 },
    { "id": "d", "size": "96 KiB", "start": 4, "end": 8 },
    { "id": "e", "size": "256 KiB", "start": 3, "end": 7 }
  ]
}"#;

#[test]
fn pools_stand_in_lanes_that_never_overlap() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut harness = window(Jobs::inline(), ThemeKind::Dark, None);
    harness.state().send(Command::Open(written(&folder, "pools.json", TWO_POOLS)));
    harness.run_steps(4);
    let plan = planned(&harness);
    let pools = plan.plan.pools.as_ref().expect("two pools");
    assert!(pools.of_buffer.contains(&PoolId(0)) && pools.of_buffer.contains(&PoolId(1)));
    let lanes = plan.model.lanes.lanes();
    assert_eq!(lanes.iter().map(|lane| lane.pool.name.as_str()).collect::<Vec<_>>(), ["SRAM", "PSRAM"]);
    assert!(lanes[0].end < lanes[1].begin);
    for rect in plan.model.after.rects() {
        let lane = plan.model.lanes.of(plan.plan.pool(rect.buffer.expect("a buffer"))).expect("its lane");
        assert!(lane.begin <= rect.low && rect.high <= lane.end);
    }
    for (index, one) in plan.model.after.rects().iter().enumerate() {
        for other in &plan.model.after.rects()[..index] {
            assert!(!one.lifetime.overlaps(other.lifetime) || one.high <= other.low || other.high <= one.low, "{one:?} {other:?}");
        }
    }
    let full = harness.state().state.bytes.full();
    assert!(full.end >= crate::views::chart::step_value(lanes[1].end), "both lanes are in sight");
    harness.get_by_label_contains("Arena chart: after · lowest-floor · 448 KiB in 2 pools");
    let spilled = plan.prepared.problem.ids().find(|&id| plan.plan.pool(id) == PoolId(1)).expect("one is in the second pool");
    harness.state().send(Command::Maximise(Some(Pane::Inspector)));
    harness.state().send(Command::Select(Item::Buffer(spilled)));
    harness.run_steps(3);
    harness.get_by_label("PSRAM");
}

/// Keeps pictures in the build folder, to be looked at.
#[test]
fn comparisons_reasons_and_orders_are_drawn() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let keep = |harness: &mut egui_kittest::Harness<'static, crate::app::App>, name: &str| {
        let picture = harness.render().expect("a picture");
        if folder.is_dir() {
            picture.save(folder.join(format!("look-window-{name}.png"))).expect("written");
        }
    };
    for (theme, word) in [(ThemeKind::Dark, "dark"), (ThemeKind::Light, "light")] {
        for (file, stem) in [("article_three_tensors.json", "article"), ("mobilenet_v2.onnx", "mobilenet")] {
            let mut harness = opened(file, theme);
            harness.state().send(Command::ShowFoot(Pane::Strategies));
            harness.run_steps(4);
            harness.state().send(Command::CompareWith(Some(Against::Strategy("slots-by-size".to_owned()))));
            harness.state().send(Command::Select(Item::Buffer(BufferId(1))));
            harness.run_steps(4);
            assert_eq!(harness.state().state.colour_by(), ColourBy::Difference, "{file}");
            keep(&mut harness, &format!("compared-{stem}-{word}"));
            harness.state().send(Command::Maximise(Some(Pane::Strategies)));
            harness.run_steps(4);
            keep(&mut harness, &format!("strategies-{stem}-{word}"));
            harness.state().send(Command::Maximise(Some(Pane::Inspector)));
            harness.run_steps(4);
            keep(&mut harness, &format!("buffer-{stem}-{word}"));
            harness.state().send(Command::CompareWith(None));
            harness.state().send(Command::Clear);
            harness.state().send(Command::MeasureOrders);
            harness.run_steps(4);
            harness.get_by_label("What would lower the peak");
            keep(&mut harness, &format!("plan-{stem}-{word}"));
            harness.state().send(Command::Maximise(None));
            harness.run_steps(4);
            harness.get_by_label("Order").click();
            harness.run_steps(4);
            harness.get_by_label_contains("exact ");
            keep(&mut harness, &format!("orders-{stem}-{word}"));
        }
    }
}
