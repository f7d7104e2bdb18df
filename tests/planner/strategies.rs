//! The strategies as a set: names, errors, determinism, stopping, and that each is of use somewhere.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use arenascope_planner::control::Control;
use arenascope_planner::generate::{Kind, generate};
use arenascope_planner::plan::Status;
use arenascope_planner::problem::Problem;
use arenascope_planner::solve::{AUTO, SolveError, SolveOptions, find_strategy, solve, strategies};
use arenascope_planner::testing::random_problem;
use arenascope_planner::units::Align;

use crate::sketch::plan_bare;

fn generated(kind: Kind, n: usize) -> Problem {
    seeded(kind, n, 1)
}

fn seeded(kind: Kind, n: usize, seed: u64) -> Problem {
    Problem::new(generate(kind, n, seed).iter().map(|buffer| (buffer.size_bytes, buffer.lifetime)), Align::DEFAULT).expect("a valid problem")
}

#[test]
fn names_are_unique_and_only_the_printed_article_is_unsafe() {
    let names: BTreeSet<&str> = strategies().iter().map(|strategy| strategy.name).collect();
    assert_eq!(names.len(), strategies().len());
    let is_unsafe: Vec<&str> = strategies().iter().filter(|strategy| !strategy.is_safe).map(|strategy| strategy.name).collect();
    assert_eq!(is_unsafe, ["article-printed"]);
    assert!(find_strategy("lowest-floor").is_some() && find_strategy(AUTO).is_none());
}

#[test]
fn an_unknown_name_and_a_missing_graph_are_errors_that_say_what_to_do() {
    let problem = random_problem(1, 5);
    let run = |name: &str| solve(name, &problem, None, &SolveOptions::default(), &Control::unattended()).expect_err("no plan");
    assert!(run("best").to_string().contains("unknown strategy `best`; use one of auto, naive, first-fit"));
    assert!(matches!(run("refcount"), SolveError::Unsupported { strategy: "refcount", .. }));
}

#[test]
fn same_input_same_plan() {
    let problem = generated(Kind::Ml, 2_000);
    for strategy in strategies().iter().filter(|strategy| !strategy.needs_graph) {
        let run = || solve(strategy.name, &problem, None, &SolveOptions::default(), &Control::unattended()).expect("a plan");
        assert_eq!(run(), run(), "{}", strategy.name);
    }
    assert_eq!(plan_bare(AUTO, &problem), plan_bare(AUTO, &problem));
}

#[test]
fn the_number_of_threads_changes_no_plan() {
    for (kind, n) in [(Kind::Uni, 60), (Kind::Uni, 300), (Kind::Train, 3_000), (Kind::Ml, 5_000)] {
        let problem = seeded(kind, n, 3);
        for name in ["lowest-floor", "hot-core", "peak-repair", AUTO] {
            let with = |threads| {
                let options = SolveOptions { threads, max_nodes: Some(20_000), ..SolveOptions::default() };
                solve(name, &problem, None, &options, &Control::unattended()).expect("a plan")
            };
            let alone = with(1);
            for threads in [2, 3, 8] {
                assert_eq!(with(threads), alone, "{name} with {threads} threads, {kind:?} {n}");
            }
        }
    }
}

#[test]
fn every_strategy_stops_soon_after_it_is_asked_to() {
    let large = generated(Kind::Uni, 3_000);
    // Below the limits of those that store every conflict.
    let small = generated(Kind::Uni, 1_000);
    let names = strategies().iter().filter(|strategy| !strategy.needs_graph && strategy.name != "naive").map(|strategy| strategy.name);
    for name in names.chain([AUTO]) {
        let asked = AtomicUsize::new(0);
        let should_stop = || asked.fetch_add(1, Ordering::Relaxed) >= 1;
        let problem = if ["hill-climb", "slots-dsatur"].contains(&name) { &small } else { &large };
        let result = solve(name, problem, None, &SolveOptions::default(), &Control::new(&should_stop, &|_| ()));
        assert_eq!(result, Err(SolveError::Stopped), "{name}");
        assert!(asked.load(Ordering::Relaxed) <= 6, "{name} went on after it was told to stop");
    }
}

#[test]
fn a_stopped_search_returns_the_best_plan_so_far() {
    let problem = generated(Kind::Uni, 2_000);
    let first = AtomicUsize::new(0);
    let report = |_| {
        first.fetch_add(1, Ordering::Relaxed);
    };
    let should_stop = || first.load(Ordering::Relaxed) >= 2;
    let plan = solve(AUTO, &problem, None, &SolveOptions::default(), &Control::new(&should_stop, &report)).expect("lowest-floor was done");
    assert_eq!((plan.strategy.as_str(), plan.status), ("lowest-floor", Status::Feasible));
    assert!(plan.note.expect("auto explains itself").contains("stopped early"));
}

#[test]
fn each_offset_strategy_beats_another_one_somewhere() {
    let pairs = [
        ("lowest-floor", "hot-core"),
        ("hot-core", "lowest-floor"),
        ("lowest-floor", "greedy-size"),
        ("greedy-size", "hot-core"),
        ("greedy-size", "first-fit"),
        ("first-fit", "greedy-size"),
        ("first-fit", "naive"),
        ("best-fit-decreasing", "greedy-size"),
        ("greedy-size", "best-fit-decreasing"),
        ("tflite-arena", "best-fit-decreasing"),
        ("best-fit-decreasing", "tflite-arena"),
        ("executorch-greedy", "greedy-size"),
        ("greedy-size", "executorch-greedy"),
        ("greedy-conflicts", "first-fit"),
        ("first-fit", "greedy-conflicts"),
        ("hill-climb", "lowest-floor"),
        ("lowest-floor", "hill-climb"),
        ("peak-repair", "hot-core"),
        ("peak-repair", "hill-climb"),
        ("exact", "peak-repair"),
        ("boxing", "hill-climb"),
        ("hill-climb", "boxing"),
    ];
    let problems: Vec<Problem> = (0..100).map(|seed| random_problem(seed, 60)).chain((0..300).map(|seed| seeded(Kind::Uni, 30, seed))).collect();
    for (better, worse) in pairs {
        let is_better = |problem: &Problem| plan_bare(better, problem).arena_bytes < plan_bare(worse, problem).arena_bytes;
        assert!(problems.iter().any(is_better), "{better} is never smaller than {worse}");
    }
}

#[test]
fn each_slot_strategy_needs_fewer_bytes_than_each_other_somewhere() {
    const NAMES: [&str; 4] = ["slots-by-birth", "slots-by-size", "greedy-breadth", "slots-dsatur"];
    let mut smaller = [[false; NAMES.len()]; NAMES.len()];
    for seed in 0..300 {
        let problem = random_problem(seed, 20);
        let bytes = NAMES.map(|name| plan_bare(name, &problem).arena_bytes);
        for (one, two) in (0..NAMES.len()).flat_map(|one| (0..NAMES.len()).map(move |two| (one, two))) {
            smaller[one][two] |= one == two || bytes[one] < bytes[two];
        }
    }
    assert_eq!(smaller, [[true; NAMES.len()]; NAMES.len()]);
}

#[test]
fn beyond_its_limit_a_strategy_says_so() {
    let problem = generated(Kind::Uni, 3_000);
    for (name, limit) in [("hill-climb", "more than 1,000,000"), ("slots-dsatur", "more than 1,000,000")] {
        let error = solve(name, &problem, None, &SolveOptions::default(), &Control::unattended()).expect_err("too many conflicts");
        assert!(matches!(error, SolveError::Unsupported { strategy, .. } if strategy == name) && error.to_string().contains(limit), "{error}");
    }
}

#[test]
fn a_hundred_thousand_buffers_are_planned_at_the_bound() {
    let plan = plan_bare(AUTO, &generated(Kind::Ml, 100_000));
    assert_eq!((plan.strategy.as_str(), plan.status), ("lowest-floor", Status::Optimal));
}

#[test]
fn no_buffers_make_an_empty_plan() {
    let problem = Problem::new([], Align::DEFAULT).expect("no buffers break no rule");
    for strategy in strategies().iter().filter(|strategy| !strategy.needs_graph && strategy.is_safe) {
        let plan = plan_bare(strategy.name, &problem);
        assert_eq!((plan.arena_bytes, plan.status), (0, Status::Optimal), "{}", strategy.name);
    }
    assert_eq!(plan_bare(AUTO, &problem).arena_bytes, 0);
}
