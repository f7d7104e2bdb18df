//! Two branches that could run side by side: what a serial plan takes from them, and what parallel plans leave.

use arenascope_planner::bounds::lower_bound;
use arenascope_planner::dependencies::{AddedOrder, added_order};
use arenascope_planner::ids::OpId;
use arenascope_planner::parallel::Parallel;
use arenascope_planner::plan::{Plan, Status};
use arenascope_planner::prepare::{PrepareSettings, Prepared};
use arenascope_planner::replay::replay;
use arenascope_planner::solve::{SolveError, SolveOptions, solve};

use crate::sketch::{MIB, context, parallel_branches, plan};

/// A1 feeds A2 to A4 and A5 to A7, in turns; A8 joins them. As `sample-graphs/parallel_branches.json`.
fn branches(parallel: Parallel) -> Prepared {
    parallel_branches(4 * MIB).prepare_with(PrepareSettings { parallel, ..PrepareSettings::default() })
}

/// The name of what an op makes.
fn made(prepared: &Prepared, op: OpId) -> &str {
    let graph = &context(prepared).graph;
    &graph.tensor(graph.op(op).outputs[0]).name
}

fn edges<'a>(prepared: &'a Prepared, added: &AddedOrder) -> Vec<(&'a str, &'a str)> {
    added.edges.iter().map(|&(first, second)| (made(prepared, first), made(prepared, second))).collect()
}

fn added(prepared: &Prepared, plan: &Plan) -> AddedOrder {
    assert_eq!(replay(context(prepared), &prepared.problem, plan), []);
    added_order(context(prepared), &prepared.problem, plan)
}

/// Pairs that are never live together and may share memory.
fn may_share(prepared: &Prepared) -> Vec<(&str, &str)> {
    let problem = &prepared.problem;
    let pairs = problem.ids().flat_map(|a| problem.ids().map(move |b| (a, b))).filter(|(a, b)| a < b);
    let is_free = |(a, b): &(_, _)| {
        let is_apart = problem.kept_apart().is_some_and(|kept_apart| kept_apart.has(*a, *b));
        !is_apart && !problem.buffer(*a).lifetime.overlaps(problem.buffer(*b).lifetime)
    };
    let mut names: Vec<(&str, &str)> = pairs.filter(is_free).map(|(a, b)| (prepared.buffer_name(a), prepared.buffer_name(b))).collect();
    names.sort_unstable();
    names
}

#[test]
fn a_serial_plan_lets_the_branches_share_and_makes_them_wait() {
    let prepared = branches(Parallel::Off);
    let plan = plan("slots-by-birth", &prepared);
    assert_eq!((plan.arena_bytes, plan.n_slots()), (12 * MIB, Some(3)));
    let added = added(&prepared, &plan);
    assert_eq!(edges(&prepared, &added), [("A5", "A3"), ("A3", "A6"), ("A6", "A4"), ("A4", "A7")]);
    assert_eq!((added.chain_ops, added.chain_ops_with, added.is_exact), (6, 8, true));
    for strategy in ["auto", "refcount", "first-fit", "lowest-floor"] {
        let plan = crate::sketch::plan(strategy, &prepared);
        let between = |(one, two): &(&str, &str)| {
            let side = |name: &str| ["A2", "A3", "A4"].contains(&name);
            side(one) != side(two)
        };
        assert!(edges(&prepared, &self::added(&prepared, &plan)).iter().any(between), "{strategy}");
    }
}

#[test]
fn parallel_plans_add_no_order() {
    let ancestors = [("A1", "A8"), ("A2", "A4"), ("A2", "A8"), ("A3", "A8"), ("A5", "A7"), ("A5", "A8"), ("A6", "A8")];
    let paths = [("A1", "A8"), ("A2", "A4"), ("A2", "A8"), ("A3", "A8"), ("A5", "A7")];
    for (parallel, expected) in [(Parallel::Ancestors, &ancestors[..]), (Parallel::Paths(2), &paths)] {
        let prepared = branches(parallel);
        assert_eq!(may_share(&prepared), expected, "{parallel}");
        for strategy in ["auto", "greedy-size", "first-fit", "slots-by-size", "lowest-floor", "naive"] {
            let plan = plan(strategy, &prepared);
            let added = added(&prepared, &plan);
            assert_eq!((edges(&prepared, &added), added.chain_ops, added.chain_ops_with), (vec![], 6, 6), "{parallel}, {strategy}");
        }
        let best = plan("auto", &prepared);
        assert_eq!((best.arena_bytes, best.status), (20 * MIB, Status::Optimal), "{parallel}");
        let bound = lower_bound(&prepared.problem);
        assert_eq!((bound.bytes, bound.buffers.len()), (20 * MIB, 5), "{parallel}");
        assert!(prepared.problem.kept_apart().is_some_and(|kept_apart| kept_apart.clique().is_largest), "{parallel}");
    }
}

#[test]
fn one_path_leaves_the_other_branch_free_to_share() {
    let prepared = branches(Parallel::Paths(1));
    let plan = plan("auto", &prepared);
    assert!(plan.arena_bytes < 20 * MIB);
    assert!(!added(&prepared, &plan).edges.is_empty());
}

#[test]
fn strategies_that_know_only_lifetimes_refuse() {
    let prepared = branches(Parallel::Ancestors);
    for strategy in ["slots-by-birth", "refcount", "hot-core"] {
        let refused = solve(
            strategy,
            &prepared.problem,
            prepared.context.as_deref(),
            &SolveOptions::default(),
            &arenascope_planner::control::Control::unattended(),
        );
        assert!(matches!(refused, Err(SolveError::Unsupported { because, .. }) if because.contains("--parallel")), "{strategy}");
    }
}
