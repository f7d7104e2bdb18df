use std::sync::Arc;

use super::*;
use crate::alias::AliasSettings;
use crate::check::{Violation, check};
use crate::control::Control;
use crate::dependencies::added_order;
use crate::interference::{Interference, conflict_graph, n_conflicts};
use crate::plan::{Plan, Status};
use crate::prepare::{GraphContext, PrepareSettings, Prepared, prepare};
use crate::replay::replay;
use crate::solve::{AUTO, SolveError, SolveOptions, solve, strategies};
use crate::testing::{random_graph, workload_of};
use crate::units::Align;
use crate::workload::Source;

fn prepared(seed: u64, max_ops: usize, parallel: Parallel) -> Prepared {
    let io = if seed.is_multiple_of(3) { Io::Arena } else { Io::Static };
    let alias = AliasSettings { in_place: !seed.is_multiple_of(5), io };
    let settings = PrepareSettings { align: Align::ONE, alias, parallel, ..PrepareSettings::default() };
    prepare(&workload_of(Source::Graph(Arc::new(random_graph(seed, max_ops)))), settings).expect("a small graph")
}

fn reaches(graph: &Graph) -> Vec<Vec<bool>> {
    let n = graph.ops().len();
    let mut reaches = vec![vec![false; n]; n];
    for edge in graph.dependencies().raw_edges() {
        reaches[edge.source().index()][edge.target().index()] = true;
    }
    for middle in 0..n {
        for source in 0..n {
            for target in 0..n {
                reaches[source][target] |= reaches[source][middle] && reaches[middle][target];
            }
        }
    }
    reaches
}

/// A random topological order of the graph with more edges.
fn random_order(context: &GraphContext, edges: &[(OpId, OpId)], rng: &mut fastrand::Rng) -> Schedule {
    let links = OpLinks::new(&context.graph);
    let n = links.before.len();
    let mut order: Vec<OpId> = Vec::new();
    while order.len() < n {
        let is_ready = |op: &OpId| {
            let waits = edges.iter().filter(|(_, second)| second == op).all(|(first, _)| order.contains(first));
            !order.contains(op) && waits && links.before[op.index()].iter().all(|source| order.contains(source))
        };
        let ready: Vec<OpId> = (0..n).map(OpId::new).filter(is_ready).collect();
        order.push(ready[rng.usize(0..ready.len())]);
    }
    Schedule::in_order(&context.graph, order).expect("topological")
}

/// Runs the plan in orders that the graph and `edges` allow; `true` if every read was right.
fn runs_in_any_order(prepared: &Prepared, plan: &Plan, edges: &[(OpId, OpId)], seed: u64) -> bool {
    let context = prepared.context.as_ref().expect("a graph");
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..8).all(|_| {
        let schedule = random_order(context, edges, &mut rng);
        replay(&GraphContext { schedule, ..context.as_ref().clone() }, &prepared.problem, plan).is_empty()
    })
}

fn plan(prepared: &Prepared, strategy: &str) -> Result<Plan, SolveError> {
    solve(strategy, &prepared.problem, prepared.context.as_deref(), &SolveOptions::default(), &Control::unattended())
}

#[test]
fn ancestors_keep_apart_whatever_the_graph_does_not_order() {
    for seed in 0..120 {
        let prepared = prepared(seed, 35, Parallel::Ancestors);
        let context = prepared.context.as_ref().expect("a graph");
        let (reaches, problem) = (reaches(&context.graph), &prepared.problem);
        let kept_apart = problem.kept_apart().expect("a parallel plan");
        let has_role = |id: BufferId, role: Role| {
            context.io == Io::Arena && context.map.buffers[id.index()].tensors.iter().any(|&tensor| context.graph.tensor(tensor).role == role)
        };
        let may_follow = |first: BufferId, second: BufferId| {
            let (one, two) = (context.touching_ops(first), context.touching_ops(second));
            let is_unread = has_role(first, Role::GraphInput) && one.is_empty();
            let is_ordered = one.iter().all(|a| two.iter().all(|b| reaches[a.index()][b.index()]));
            is_ordered && !is_unread && !has_role(first, Role::GraphOutput) && !has_role(second, Role::GraphInput)
        };
        for (a, b) in problem.ids().flat_map(|a| problem.ids().map(move |b| (a, b))).filter(|(a, b)| a != b) {
            let meet = problem.buffer(a).lifetime.overlaps(problem.buffer(b).lifetime);
            assert_eq!(kept_apart.has(a, b), !meet && !may_follow(a, b) && !may_follow(b, a), "seed {seed}: {a} and {b}");
        }
    }
}

#[test]
fn plans_with_ancestors_hold_in_every_order_and_add_none() {
    let mut n_differ = 0;
    for seed in 0..120 {
        let (prepared, serial) = (prepared(seed, 25, Parallel::Ancestors), prepared(seed, 25, Parallel::Off));
        let context = prepared.context.as_ref().expect("a graph");
        for strategy in strategies() {
            let plan = match plan(&prepared, strategy.name) {
                Ok(plan) => plan,
                Err(SolveError::Unsupported { .. }) => continue,
                Err(error) => panic!("{error}"),
            };
            assert!(check(&prepared.problem, &plan).is_valid(), "seed {seed}, {}", strategy.name);
            assert!(runs_in_any_order(&prepared, &plan, &[], seed), "seed {seed}, {}", strategy.name);
            let added = added_order(context, &prepared.problem, &plan);
            assert_eq!((added.edges.len(), added.is_exact, added.chain_ops), (0, true, added.chain_ops_with), "seed {seed}, {}", strategy.name);
            let clique = prepared.problem.kept_apart().expect("a parallel plan").clique();
            assert!(plan.arena_bytes >= clique.bytes && (plan.status == Status::Optimal) == (plan.arena_bytes == clique.bytes), "seed {seed}");
        }
        let best = plan(&prepared, AUTO).expect("strategies that keep apart");
        n_differ += u32::from(best.arena_bytes > plan(&serial, AUTO).expect("a plan").arena_bytes);
    }
    assert!(n_differ > 10, "only {n_differ} graphs have branches");
}

#[test]
fn the_added_edges_are_enough_and_none_of_them_is_in_the_graph() {
    let mut n_needed = 0;
    for seed in 0..150 {
        let prepared = prepared(seed, 25, Parallel::Off);
        let context = prepared.context.as_ref().expect("a graph");
        // A graph input that nobody reads must outlast the first op, whichever that is: no edge can say so.
        if prepared.problem.ids().any(|id| context.touching_ops(id).is_empty()) {
            continue;
        }
        let plan = plan(&prepared, AUTO).expect("a plan");
        let added = added_order(context, &prepared.problem, &plan);
        let reaches = reaches(&context.graph);
        assert!(added.edges.iter().all(|(first, second)| !reaches[first.index()][second.index()]), "seed {seed}");
        assert!(added.chain_ops <= added.chain_ops_with, "seed {seed}");
        assert!(runs_in_any_order(&prepared, &plan, &added.edges, seed), "seed {seed}");
        n_needed += u32::from(!added.edges.is_empty() && !runs_in_any_order(&prepared, &plan, &[], seed));
    }
    assert!(n_needed > 20, "only {n_needed} plans fail without their edges");
}

#[test]
fn paths_add_no_order_between_coloured_paths_where_all_ops_are_coloured() {
    for seed in 0..100 {
        let prepared = prepared(seed, 20, Parallel::Paths(40));
        let context = prepared.context.as_ref().expect("a graph");
        let plan = plan(&prepared, AUTO).expect("a plan");
        assert!(check(&prepared.problem, &plan).is_valid(), "seed {seed}");
        assert!(runs_in_any_order(&prepared, &plan, &[], seed), "seed {seed}");
        assert_eq!(added_order(context, &prepared.problem, &plan).edges, [], "seed {seed}");
    }
}

#[test]
fn a_path_is_as_long_as_the_longest_and_lies_in_the_graph() {
    for seed in 0..80 {
        let graph = random_graph(seed, 30);
        let (links, schedule) = (OpLinks::new(&graph), Schedule::new(&graph));
        let colours = colour_paths(&links, schedule.order(), 3);
        let mut length = vec![0_u32; graph.ops().len()];
        for &op in schedule.order() {
            length[op.index()] = 1 + links.before[op.index()].iter().map(|source| length[source.index()]).max().unwrap_or(0);
        }
        for path in 0..3 {
            let ops: Vec<OpId> = schedule.order().iter().copied().filter(|op| colours[op.index()] == Some(path)).collect();
            assert!(ops.windows(2).all(|pair| links.after[pair[0].index()].contains(&pair[1])), "seed {seed}");
            assert!(path > 0 || Some(&u32::try_from(ops.len()).expect("few")) == length.iter().max(), "seed {seed}");
        }
    }
}

#[test]
fn one_shared_byte_between_buffers_kept_apart_is_a_fault() {
    let mut n_found = 0;
    for seed in 0..60 {
        let prepared = prepared(seed, 25, Parallel::Ancestors);
        let problem = &prepared.problem;
        let kept_apart = problem.kept_apart().expect("a parallel plan");
        let Some((a, b)) = problem.ids().find_map(|a| kept_apart.of(a).find(|&b| b > a).map(|b| (a, b))) else { continue };
        let mut offsets = plan(&prepared, "naive").expect("a plan").offsets;
        offsets[b.index()] = offsets[a.index()] + problem.buffer(a).bytes - 1;
        let report = check(problem, &Plan::from_offsets("broken", problem, offsets));
        let is_it = |violation: &Violation| matches!(violation, Violation::KeptApart { a: one, b: two, from_byte, to_byte } if (*one, *two, to_byte - from_byte) == (a, b, 1));
        assert!(report.violations.iter().any(is_it), "seed {seed}");
        n_found += 1;
    }
    assert!(n_found > 20);
}

#[test]
fn interference_counts_what_is_kept_apart() {
    for seed in 0..40 {
        let prepared = prepared(seed, 25, Parallel::Ancestors);
        let problem = &prepared.problem;
        let interference = Interference::new(problem);
        let kept_apart = problem.kept_apart().expect("a parallel plan");
        let meets = |a: BufferId, b: BufferId| a != b && (kept_apart.has(a, b) || problem.buffer(a).lifetime.overlaps(problem.buffer(b).lifetime));
        let mut n = 0;
        for a in problem.ids() {
            let expected: Vec<BufferId> = problem.ids().filter(|&b| meets(a, b)).collect();
            assert_eq!((interference.neighbours(a), interference.degree(a)), (expected.clone(), expected.len() as u64), "seed {seed}");
            assert_eq!(interference.neighbours_limited(a, 2).len(), expected.len().min(2), "seed {seed}");
            n += expected.len() as u64;
        }
        assert_eq!((interference.n_conflicts(), n_conflicts(problem)), (n / 2, n / 2), "seed {seed}");
        assert_eq!(conflict_graph(problem, 1_000, 100_000).map(|graph| graph.edge_count() as u64), Some(n / 2), "seed {seed}");
    }
}

#[test]
fn modes_have_names() {
    for (text, parallel) in [("off", Parallel::Off), ("ancestors", Parallel::Ancestors), ("paths=3", Parallel::Paths(3))] {
        assert_eq!((text.parse(), parallel.to_string()), (Ok(parallel), text.to_owned()));
    }
    assert!(["paths", "paths=", "paths=0", "paths=-1", "on"].iter().all(|text| text.parse::<Parallel>().is_err()));
}
