//! Orders on graphs with one lesson each.

use arenascope_planner::bounds::lower_bound;
use arenascope_planner::control::Control;
use arenascope_planner::graph::Role;
use arenascope_planner::order::{Order, OrderSettings, compare_orders};
use arenascope_planner::prepare::{PrepareSettings, Prepared, prepare_in_order, prepare_with};
use arenascope_planner::replay::replay;
use arenascope_planner::schedule::Schedule;
use arenascope_planner::units::Align;

use crate::sketch::{Sketch, context, in_place, plan};

/// Four branches, each of a large tensor that becomes a small one; the file makes all large ones first.
fn fan() -> Sketch {
    let mut sketch = Sketch::default().source("x", 8, Role::GraphInput);
    let names: Vec<(String, String)> = (0..4).map(|branch| (format!("large{branch}"), format!("small{branch}"))).collect();
    for (large, _) in &names {
        sketch = sketch.op("Conv", &["x"], large, 100);
    }
    for (large, small) in &names {
        sketch = sketch.op("Conv", &[large], small, 1);
    }
    let smalls: Vec<&str> = names.iter().map(|(_, small)| small.as_str()).collect();
    sketch.output("Concat", &smalls, "y", 4)
}

fn settings() -> OrderSettings {
    OrderSettings { alias: in_place(true), align: Align::ONE, seed: 0 }
}

fn with(order: Order) -> Prepared {
    fan().prepare_with(PrepareSettings { align: Align::ONE, order, ..PrepareSettings::default() })
}

#[test]
fn one_branch_after_the_other_needs_one_large_tensor() {
    let prepared = fan().prepare(in_place(true));
    let peaks = compare_orders(&context(&prepared).graph, &Order::ALL, settings(), &Control::unattended());
    let peaks: Vec<(&str, u64, bool)> = peaks.iter().map(|peak| (peak.asked.name(), peak.peak_bytes, peak.ordered.is_lowest)).collect();
    let expected = [("file", 401, false), ("depth-first", 104, false), ("breadth-first", 401, false), ("min-peak", 104, false), ("exact", 104, true)];
    assert_eq!(peaks, expected);
}

#[test]
fn a_plan_is_valid_for_the_order_it_was_made_for() {
    for order in Order::ALL {
        let prepared = with(order);
        assert_eq!(prepared.order.and_then(|used| used.method), Some(order));
        let plan = plan("auto", &prepared);
        assert_eq!(replay(context(&prepared), &prepared.problem, &plan), [], "{}", order.name());
        assert_eq!(plan.arena_bytes, lower_bound(&prepared.problem).bytes, "{}", order.name());
        let names: Vec<String> = context(&prepared).schedule.order().iter().map(|&op| context(&prepared).graph.op(op).name.clone()).collect();
        let schedule = Schedule::from_names(&context(&prepared).graph, &names).expect("the order of a plan is an order");
        let again = prepare_in_order(&prepared.workload, schedule, prepared.settings).expect("a valid problem");
        assert_eq!((&again.problem, again.order.and_then(|used| used.method)), (&prepared.problem, None));
    }
    let (file, low) = (with(Order::File), with(Order::MinPeak));
    let small = plan("auto", &low);
    assert!(!replay(context(&file), &low.problem, &small).is_empty(), "a plan for another order overwrites what is still read");
}

#[test]
fn a_stopped_search_falls_back_to_the_best_order_so_far() {
    let stop = || true;
    let workload = with(Order::File).workload;
    let settings = PrepareSettings { align: Align::ONE, order: Order::Exact, ..PrepareSettings::default() };
    let prepared = prepare_with(&workload, settings, &Control::new(&stop, &|_| ())).expect("a valid problem");
    assert_eq!(lower_bound(&prepared.problem).bytes, 401);
    assert!(prepared.warnings.iter().any(|warning| warning.message.contains("stopped")));
}
