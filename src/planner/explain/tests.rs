use std::sync::Arc;

use super::*;
use crate::alias::{AliasSettings, Io};
use crate::bounds::peak_live_bytes;
use crate::control::Control;
use crate::ids::BufferId;
use crate::lifetimes::Lifetime;
use crate::parallel::Parallel;
use crate::plan::Plan;
use crate::prepare::{PrepareSettings, Prepared, prepare};
use crate::problem::Problem;
use crate::solve::{SolveOptions, solve};
use crate::testing::{random_graph, random_problem, workload_of};
use crate::workload::Source;

/// Plans of a strategy, and faulty ones with random offsets.
fn plans(problem: &Problem, seed: u64) -> Vec<Plan> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let solved = ["first-fit", "naive", "slots-by-size"]
        .map(|strategy| solve(strategy, problem, None, &SolveOptions::default(), &Control::unattended()).expect("a plan"));
    let align = problem.align().bytes();
    let limit = problem.total_bytes() / align + 1;
    let random = Plan::from_offsets("random", problem, problem.ids().map(|_| align * rng.u64(0..limit)).collect());
    solved.into_iter().chain([random]).collect()
}

fn meets(problem: &Problem, a: BufferId, b: BufferId) -> bool {
    let is_apart = problem.kept_apart().is_some_and(|kept_apart| kept_apart.has(a, b));
    a != b && (is_apart || problem.buffer(a).lifetime.overlaps(problem.buffer(b).lifetime))
}

/// Whether `id` at `offset` would share a byte with a neighbour that begins below its present place.
fn collides(problem: &Problem, plan: &Plan, id: BufferId, offset: u64) -> bool {
    let end = |other: BufferId| plan.offset(other) + problem.buffer(other).bytes;
    let is_below = |other: &BufferId| meets(problem, id, *other) && plan.offset(*other) < plan.offset(id);
    problem.ids().filter(is_below).any(|other| offset < end(other) && plan.offset(other) < offset + problem.buffer(id).bytes)
}

fn check_place(problem: &Problem, plan: &Plan, id: BufferId) {
    let report = explain_place(problem, plan, id);
    let own = plan.offset(id);
    let align = problem.align().bytes();
    let lowest = (0..own.div_ceil(align)).map(|unit| unit * align).find(|&offset| !collides(problem, plan, id, offset));
    assert_eq!(report.could_be_at, lowest);
    let mut at = 0;
    for range in &report.below {
        let (from, to) = match range {
            LowerRange::Blocked { from_byte, to_byte, .. }
            | LowerRange::TooSmall { from_byte, to_byte, .. }
            | LowerRange::Free { from_byte, to_byte } => (*from_byte, *to_byte),
        };
        assert_eq!(from, at);
        at = to;
        let holders = |byte: u64| {
            let holds = |other: &BufferId| meets(problem, id, *other) && plan.offset(*other) < own && plan.offset(*other) <= byte;
            problem.ids().filter(holds).filter(|&other| byte < plan.offset(other) + problem.buffer(other).bytes).collect::<Vec<_>>()
        };
        for byte in [from, (from + to) / 2, to - 1] {
            match range {
                LowerRange::Blocked { blockers, .. } => {
                    let named: Vec<BufferId> = blockers
                        .iter()
                        .filter(|blocker| (blocker.from_byte..blocker.to_byte).contains(&byte))
                        .map(|blocker| blocker.buffer)
                        .collect();
                    let mut expected = holders(byte);
                    expected.sort_by_key(|&other| (plan.offset(other), other));
                    assert_eq!(named, expected);
                    assert!(!named.is_empty());
                    let life = problem.buffer(id).lifetime;
                    let shares = |blocker: &Blocker| {
                        blocker
                            .steps
                            .is_none_or(|steps| life.contains(steps.start) && problem.buffer(blocker.buffer).lifetime.contains(steps.end - 1))
                    };
                    assert!(blockers.iter().all(shares));
                }
                LowerRange::TooSmall { .. } | LowerRange::Free { .. } => assert_eq!(holders(byte), []),
            }
        }
        if let LowerRange::TooSmall { short_bytes, .. } = range {
            assert!(*short_bytes > 0);
        }
    }
    assert_eq!(at, own);
    assert_eq!(report.below.iter().any(|range| matches!(range, LowerRange::Free { .. })), report.could_be_at.is_some());
}

#[test]
fn what_is_below_a_buffer_is_what_geometry_says() {
    for seed in 0..120 {
        let problem = random_problem(seed, 25);
        for plan in plans(&problem, seed) {
            let lower = lower_offsets(&problem, &plan, &Control::unattended()).expect("not stopped");
            for id in problem.ids() {
                check_place(&problem, &plan, id);
                assert_eq!(lower[id.index()], explain_place(&problem, &plan, id).could_be_at, "seed {seed}");
            }
            if plan.strategy == "first-fit" {
                let stopped = || true;
                assert_eq!(lower_offsets(&problem, &plan, &Control::new(&stopped, &|_| ())), None);
            }
        }
    }
}

fn prepared(seed: u64, max_ops: usize, parallel: Parallel) -> Prepared {
    let io = if seed.is_multiple_of(3) { Io::Arena } else { Io::Static };
    let alias = AliasSettings { in_place: !seed.is_multiple_of(5), io };
    let settings = PrepareSettings { alias, parallel, ..PrepareSettings::default() };
    prepare(&workload_of(Source::Graph(Arc::new(random_graph(seed, max_ops)))), settings).expect("a small graph")
}

#[test]
fn buffers_kept_apart_block_each_other() {
    let mut n_apart = 0;
    for seed in 0..60 {
        let prepared = prepared(seed, 20, Parallel::Ancestors);
        for plan in plans(&prepared.problem, seed) {
            let lower = lower_offsets(&prepared.problem, &plan, &Control::unattended()).expect("not stopped");
            for id in prepared.problem.ids() {
                check_place(&prepared.problem, &plan, id);
                let report = explain_place(&prepared.problem, &plan, id);
                assert_eq!(lower[id.index()], report.could_be_at, "seed {seed}");
                let has_apart = |range: &LowerRange| matches!(range, LowerRange::Blocked { blockers, .. } if blockers.iter().any(|blocker| blocker.steps.is_none()));
                n_apart += report.below.iter().filter(|range| has_apart(range)).count();
            }
        }
    }
    assert!(n_apart > 50);
}

/// The peak when the lifetimes are others; empty lifetimes are left out.
fn peak_with(problem: &Problem, lifetime_of: impl Fn(BufferId, Lifetime) -> Option<Lifetime>) -> u64 {
    let sizes = problem.ids().filter_map(|id| Some((problem.buffer(id).size_bytes, lifetime_of(id, problem.buffer(id).lifetime)?)));
    peak_live_bytes(&Problem::new(sizes, problem.align()).expect("smaller than a valid problem")).0
}

#[test]
fn every_saving_is_what_the_changed_problem_saves() {
    let (mut n_removed, mut n_earlier, mut n_in_place) = (0, 0, 0);
    for seed in 0..300 {
        let prepared = prepared(seed, 25, Parallel::Off);
        let problem = &prepared.problem;
        let report = explain_peak(&prepared);
        assert_eq!((report.bytes, report.step), peak_live_bytes(problem), "seed {seed}");
        assert_eq!(report.live.iter().map(|&id| problem.buffer(id).bytes).sum::<u64>(), report.bytes, "seed {seed}");
        for id in problem.ids() {
            let without = peak_with(problem, |other, lifetime| (other != id).then_some(lifetime));
            let told = report.savings.iter().find(|saving| saving.change == Change::Remove { buffer: id }).map(|saving| saving.peak_bytes);
            assert_eq!(told, (without < report.bytes).then_some(without), "seed {seed}: {id}");
        }
        for saving in &report.savings {
            let peak = match &saving.change {
                Change::Remove { buffer } => {
                    n_removed += 1;
                    peak_with(problem, |other, lifetime| (other != *buffer).then_some(lifetime))
                }
                Change::DieEarlier { buffer, last_step, readers } => {
                    n_earlier += 1;
                    assert!(!readers.is_empty() && *last_step < report.step, "seed {seed}");
                    let cut = |lifetime: Lifetime| Lifetime { end: last_step + 1, ..lifetime };
                    peak_with(problem, |other, lifetime| Some(if other == *buffer { cut(lifetime) } else { lifetime }))
                }
                Change::WriteInPlace { input, output, .. } => {
                    n_in_place += 1;
                    let end = problem.buffer(*output).lifetime.end;
                    peak_with(problem, |other, lifetime| match other {
                        other if other == *output => None,
                        other if other == *input => Some(Lifetime { end, ..lifetime }),
                        _ => Some(lifetime),
                    })
                }
                Change::Reorder { .. } => unreachable!("orders are asked for apart"),
            };
            assert_eq!((saving.peak_bytes, saving.saved_bytes), (peak, report.bytes - peak), "seed {seed}: {:?}", saving.change);
        }
        if let Some(saving) = reorder_saving(&prepared, &Control::unattended()) {
            assert_eq!(saving.peak_bytes + saving.saved_bytes, report.bytes, "seed {seed}");
        }
    }
    assert!(n_removed > 100 && n_earlier > 20 && n_in_place > 20, "{n_removed}, {n_earlier}, {n_in_place}");
}
