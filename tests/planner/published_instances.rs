//! Heights on published instances. Bounds are the largest sums of live sizes; both come from public data files.

use std::path::Path;

use arenascope_planner::bounds::lower_bound;
use arenascope_planner::check::check;
use arenascope_planner::control::Control;
use arenascope_planner::lifetimes::Lifetime;
use arenascope_planner::plan::Status;
use arenascope_planner::problem::Problem;
use arenascope_planner::solve::{SolveOptions, solve};
use arenascope_planner::units::Align;

use crate::sketch::plan_bare;

fn instance(file: &str) -> Problem {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/instances").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let buffers = text.lines().skip(1).map(|line| {
        let numbers: Vec<u64> = line.split(',').skip(1).map(|field| field.parse().expect("a number")).collect();
        (numbers[2], Lifetime { start: numbers[0], end: numbers[1] })
    });
    Problem::new(buffers, Align::ONE).expect("a valid instance")
}

/// Name, lower bound, and the height that one pass of lowest-floor reaches with the best of the known orders.
/// Source: MiniMalloc's challenging set (DOI 10.1145/3623278.3624752); heights computed with the loop of
/// `solve/lowest_floor.rs` over the orders TAW, TWA, WAT, Z, TZ, OZ, UW, UZ, TLW, LW, TL and U.
const CHALLENGING: [(&str, u64, u64); 11] = [
    ("A", 1_048_576, 1_075_200),
    ("B", 1_048_576, 1_169_408),
    ("C", 1_039_360, 1_121_280),
    ("D", 986_112, 1_107_968),
    ("E", 1_048_576, 1_216_512),
    ("F", 1_048_576, 1_179_648),
    ("G", 1_048_576, 1_144_832),
    ("H", 1_048_576, 1_155_072),
    ("I", 1_048_576, 1_187_840),
    ("J", 989_184, 1_108_992),
    ("K", 1_048_576, 1_247_232),
];

#[test]
fn lowest_floor_reaches_the_one_pass_heights_of_the_challenging_set() {
    for (name, bound, height) in CHALLENGING {
        let problem = instance(&format!("minimalloc/{name}.1048576.csv"));
        let plan = plan_bare("lowest-floor", &problem);
        assert_eq!(lower_bound(&problem).bytes, bound, "{name}");
        assert!(plan.arena_bytes <= height, "{name}: {} is above {height}", plan.arena_bytes);
        assert!(plan_bare("auto", &problem).arena_bytes <= plan.arena_bytes, "{name}");
    }
}

#[test]
fn the_exact_search_fits_the_challenging_set_into_its_capacity_within_few_nodes() {
    const CAPACITY: u64 = 1_048_576;
    let options = SolveOptions { max_nodes: Some(10_000), ..SolveOptions::default() };
    for (name, bound, _) in CHALLENGING {
        let problem = instance(&format!("minimalloc/{name}.1048576.csv")).with_capacity(Some(CAPACITY));
        let plan = solve("exact", &problem, None, &options, &Control::unattended()).expect("a plan");
        assert!(check(&problem, &plan).is_valid(), "{name}");
        let status = if bound == CAPACITY { Status::Optimal } else { Status::Feasible };
        assert_eq!((plan.status, plan.arena_bytes <= CAPACITY), (status, true), "{name}: {:?}", plan.note);
    }
}

#[test]
fn the_orders_by_size_and_by_end_win_where_the_others_do_not() {
    for (file, order) in [("minimalloc/I.1048576.csv", "order U"), ("minimalloc/B.1048576.csv", "order UZ"), ("idealloc/pangu_2.6B.csv", "order Z")] {
        assert_eq!(plan_bare("lowest-floor", &instance(file)).note.as_deref(), Some(order), "{file}");
    }
}

#[test]
fn peak_repair_lowers_most_of_the_challenging_set_below_every_pass_and_raises_none() {
    let options = SolveOptions { max_nodes: Some(1_000_000), ..SolveOptions::default() };
    let mut n_lower = 0;
    for (name, ..) in CHALLENGING {
        let problem = instance(&format!("minimalloc/{name}.1048576.csv"));
        let repaired = solve("peak-repair", &problem, None, &options, &Control::unattended()).expect("a plan");
        assert!(check(&problem, &repaired).is_valid(), "{name}");
        let passes = ["lowest-floor", "hot-core", "greedy-size", "first-fit"].map(|pass| plan_bare(pass, &problem).arena_bytes);
        let smallest = passes.into_iter().min().expect("four passes");
        assert!(repaired.arena_bytes <= smallest, "{name}: {} is above {smallest}", repaired.arena_bytes);
        n_lower += u32::from(repaired.arena_bytes < smallest);
    }
    assert!(n_lower >= 6, "only {n_lower} are lower");
}

#[test]
fn first_fit_beats_greedy_by_size_on_pipelines() {
    for name in ["F", "G"] {
        let problem = instance(&format!("minimalloc/{name}.1048576.csv"));
        assert!(plan_bare("first-fit", &problem).arena_bytes < plan_bare("greedy-size", &problem).arena_bytes, "{name}");
    }
}

#[test]
fn the_minimalloc_example_fits_into_its_capacity() {
    // Source: minimalloc, benchmarks/examples/input.12.csv; the number is the capacity.
    let plan = plan_bare("auto", &instance("minimalloc/example-input.12.csv"));
    assert_eq!((plan.arena_bytes, plan.status), (12, Status::Optimal));
}

#[test]
fn lowest_floor_reaches_the_bound_of_resnet50_and_g_1() {
    // Source: idealloc, benchmarks/somas_tensors/resnet50.csv and benchmarks/iopddl/G_1.csv.
    for (file, bound) in [("idealloc/resnet50.csv", 1_515_472_556), ("idealloc/G_1.csv", 3_030_937_746)] {
        let plan = plan_bare("lowest-floor", &instance(file));
        assert_eq!((plan.arena_bytes, plan.status), (bound, Status::Optimal), "{file}");
    }
}

#[test]
fn hot_core_reaches_the_bound_of_pangu_where_lowest_floor_stays_within_0_758_per_cent() {
    // Source: idealloc, benchmarks/somas_tensors/pangu_2.6B.csv.
    const BOUND: u64 = 5_530_099_775;
    let problem = instance("idealloc/pangu_2.6B.csv");
    let floor = plan_bare("lowest-floor", &problem);
    assert!((floor.arena_bytes - BOUND) as f64 / BOUND as f64 <= 0.007_585, "{}", floor.arena_bytes);
    let core = plan_bare("hot-core", &problem);
    assert_eq!((core.arena_bytes, core.status), (BOUND, Status::Optimal));
}
