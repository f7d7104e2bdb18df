use std::sync::Arc;

use super::*;
use crate::alias::{AliasSettings, Io};
use crate::bounds::peak_live_bytes;
use crate::check::check;
use crate::constraints::Constraints;
use crate::control::Control;
use crate::ids::{BufferId, PoolId};
use crate::lifetimes::Lifetime;
use crate::parallel::Parallel;
use crate::plan::Plan;
use crate::prepare::{PrepareSettings, Prepared, prepare};
use crate::problem::Problem;
use crate::solve::{SolveOptions, solve};
use crate::testing::{random_graph, random_problem, workload_of};
use crate::testing_rules::{are_related, kept_at, random_problem_with_rules};
use crate::units::Align;
use crate::workload::{BareBuffer, Source, Workload};

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
            | LowerRange::Unsuitable { from_byte, to_byte }
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
                        .filter_map(|blocker| blocker.buffer)
                        .collect();
                    let mut expected = holders(byte);
                    expected.sort_by_key(|&other| (plan.offset(other), other));
                    assert_eq!(named, expected);
                    assert!(!named.is_empty());
                    let life = problem.buffer(id).lifetime;
                    let shares = |blocker: &Blocker| {
                        blocker.steps.is_none_or(|steps| {
                            life.contains(steps.start) && blocker.buffer.is_some_and(|other| problem.buffer(other).lifetime.contains(steps.end - 1))
                        })
                    };
                    assert!(blockers.iter().all(shares));
                }
                LowerRange::TooSmall { .. } | LowerRange::Free { .. } => assert_eq!(holders(byte), []),
                LowerRange::Unsuitable { .. } => unreachable!("without rules every aligned offset suits"),
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

/// A problem in which at least one rule is left.
fn ruled_problem(seed: u64, max_buffers: usize) -> Option<Problem> {
    random_problem_with_rules(seed, max_buffers).filter(|problem| problem.constraints().is_some())
}

/// The plan with what moves with `id` at another offset and pool; pools end with their highest buffers.
fn moved(problem: &Problem, plan: &Plan, id: BufferId, offset: u64, pool: PoolId) -> Plan {
    let rules = problem.constraints().expect("a problem with rules");
    let mut offsets = plan.offsets.clone();
    let mut pools: Vec<PoolId> = problem.ids().map(|other| plan.pool(other)).collect();
    for other in problem.ids().filter(|&other| are_related(rules, id, other)) {
        offsets[other.index()] = offset + plan.offset(other) - first_byte(problem, plan, id);
        pools[other.index()] = pool;
    }
    if problem.pools().is_empty() { Plan::from_offsets("moved", problem, offsets) } else { Plan::from_pools("moved", problem, offsets, pools) }
}

fn first_byte(problem: &Problem, plan: &Plan, id: BufferId) -> u64 {
    let rules = problem.constraints().expect("a problem with rules");
    problem.ids().filter(|&other| are_related(rules, id, other)).map(|other| plan.offset(other)).min().expect("it is related to itself")
}

fn check_ruled_place(problem: &Problem, plan: &Plan, id: BufferId) -> [usize; 3] {
    let report = explain_place(problem, plan, id);
    let rules = problem.constraints().expect("a problem with rules");
    let (offset, pool) = (first_byte(problem, plan, id), plan.pool(id));
    assert_eq!(report.offset, offset);
    let related: Vec<BufferId> = problem.ids().filter(|&other| other != id && are_related(rules, id, other)).collect();
    assert_eq!(report.moves_with, related);
    assert_eq!(report.is_pinned, problem.ids().any(|other| are_related(rules, id, other) && rules.pinned(other).is_some()));
    let is_place = |offset: u64| check(problem, &moved(problem, plan, id, offset, pool)).is_valid();
    assert_eq!(report.could_be_at, (0..offset).find(|&offset| is_place(offset)), "{plan:?}");
    let mut at = 0;
    let mut n_unsuitable = 0;
    for range in &report.below {
        let (from, to) = match *range {
            LowerRange::Blocked { from_byte, to_byte, .. }
            | LowerRange::TooSmall { from_byte, to_byte, .. }
            | LowerRange::Unsuitable { from_byte, to_byte }
            | LowerRange::Free { from_byte, to_byte } => (from_byte, to_byte),
        };
        assert_eq!(from, at);
        at = to;
        n_unsuitable += usize::from(matches!(range, LowerRange::Unsuitable { .. }));
        if !matches!(range, LowerRange::Blocked { .. }) {
            assert_eq!(matches!(range, LowerRange::Free { .. }), (from..to).any(is_place), "{range:?}");
        }
        for byte in from..to {
            let is_held = problem.span().end > 0 && (0..problem.span().end).any(|step| is_held_at(problem, plan, id, byte, step));
            let is_blocked = matches!(range, LowerRange::Blocked { blockers, .. } if blockers.iter().any(|blocker| (blocker.from_byte..blocker.to_byte).contains(&byte)));
            assert_eq!(is_held, is_blocked, "byte {byte} below {id}");
        }
    }
    assert_eq!(at, offset);
    for better in &report.better_pools {
        let bytes = problem
            .ids()
            .filter(|&other| are_related(rules, id, other))
            .map(|other| plan.offset(other) + problem.buffer(other).bytes)
            .max()
            .unwrap_or(0)
            - offset;
        let is_place = |offset: u64| check(problem, &moved(problem, plan, id, offset, better.pool)).is_valid();
        assert_eq!(Some(better.needs_bytes - bytes), (0..100).find(|&offset| is_place(offset)));
        assert_eq!(better.fits, problem.pools()[better.pool.index()].capacity_bytes.is_none_or(|capacity| better.needs_bytes <= capacity));
    }
    [report.moves_with.len(), n_unsuitable, report.better_pools.len()]
}

/// Whether a byte is held at a step by something else or reserved, while what moves with `id` keeps anything.
fn is_held_at(problem: &Problem, plan: &Plan, id: BufferId, byte: u64, step: u64) -> bool {
    let rules = problem.constraints().expect("a problem with rules");
    let pool = plan.pool(id);
    let keeps = |other: BufferId| !kept_at(problem, rules, other, step).is_empty();
    let holds = |other: BufferId| plan.pool(other) == pool && kept_at(problem, rules, other, step).contains(&byte.wrapping_sub(plan.offset(other)));
    let is_kept = problem.ids().any(|other| are_related(rules, id, other) && keeps(other));
    let is_reserved =
        rules.reserved().iter().any(|range| range.pool == pool && range.lifetime.contains(step) && (range.from_byte..range.to_byte).contains(&byte));
    is_kept && (is_reserved || problem.ids().any(|other| !are_related(rules, id, other) && holds(other)))
}

#[test]
fn places_under_rules_are_what_moving_and_checking_says() {
    let mut seen = [0; 3];
    for seed in 0..700 {
        let Some(problem) = ruled_problem(seed, 9) else { continue };
        for strategy in ["auto", "naive", "first-fit"] {
            let Ok(plan) = solve(strategy, &problem, None, &SolveOptions::default(), &Control::unattended()) else { continue };
            if !check(&problem, &plan).is_valid() {
                continue;
            }
            let lower = lower_offsets(&problem, &plan, &Control::unattended()).expect("not stopped");
            for id in problem.ids() {
                for (seen, count) in seen.iter_mut().zip(check_ruled_place(&problem, &plan, id)) {
                    *seen += count;
                }
                let could_be_at = explain_place(&problem, &plan, id).could_be_at;
                let own = plan.offset(id) - first_byte(&problem, &plan, id);
                assert_eq!(lower[id.index()], could_be_at.map(|offset| offset + own), "seed {seed}");
            }
        }
    }
    assert!(seen.iter().all(|&count| count > 20), "{seen:?}");
}

#[test]
fn places_under_rules_are_explained_in_faulty_plans_too() {
    for seed in 0..200 {
        let Some(problem) = ruled_problem(seed, 9) else { continue };
        let offsets = problem.ids().map(|id| if id.index().is_multiple_of(3) { u64::MAX - 1 } else { 1 << 62 }).collect();
        let plan = match problem.pools().len() {
            0 => Plan::from_offsets("faulty", &problem, offsets),
            _ => Plan::from_pools("faulty", &problem, offsets, vec![PoolId(0); problem.n_buffers()]),
        };
        let lower = lower_offsets(&problem, &plan, &Control::unattended()).expect("not stopped");
        for id in problem.ids() {
            assert_eq!(explain_place(&problem, &plan, id).could_be_at.is_some(), lower[id.index()].is_some(), "seed {seed}");
        }
    }
}

#[test]
fn savings_under_rules_are_what_the_picture_without_it_says() {
    let mut n_saved = 0;
    for seed in 0..600 {
        let Some(problem) = ruled_problem(seed, 12) else { continue };
        let rules = problem.constraints().cloned().expect("a problem with rules");
        let sizes = problem.buffers().iter().map(|buffer| (buffer.size_bytes, buffer.lifetime)).collect::<Vec<_>>();
        let bare = prepare_problem(&sizes, &rules, problem.align());
        let report = explain_peak(&bare);
        let plan = solve("first-fit", &problem, None, &SolveOptions::default(), &Control::unattended()).expect("a plan");
        let kept_without = |gone: Option<BufferId>| {
            let is_left = |id: BufferId| gone.is_none_or(|gone| !are_related(&rules, gone, id));
            (0..8).map(|step| distinct_bytes(&problem, &plan, step, is_left)).max().unwrap_or(0)
        };
        assert_eq!(report.bytes, kept_without(None), "seed {seed}");
        assert_eq!(report.live_bytes.iter().sum::<u64>(), report.bytes, "seed {seed}");
        for &id in &report.live {
            let told = report.savings.iter().find(|saving| saving.change == Change::Remove { buffer: id }).map(|saving| saving.peak_bytes);
            let without = kept_without(Some(id));
            assert_eq!(told, (without < report.bytes).then_some(without), "seed {seed}: {id}");
            n_saved += usize::from(told.is_some());
        }
    }
    assert!(n_saved > 100, "{n_saved}");
}

/// Bytes kept at a step: those of a family are counted once, wherever it lies.
fn distinct_bytes(problem: &Problem, plan: &Plan, step: u64, is_left: impl Fn(BufferId) -> bool) -> u64 {
    let rules = problem.constraints().expect("a problem with rules");
    let mut bytes: Vec<(PoolId, u64)> = Vec::new();
    for id in problem.ids().filter(|&id| is_left(id)) {
        bytes.extend(kept_at(problem, rules, id, step).map(|byte| (plan.pool(id), plan.offset(id) + byte)));
    }
    bytes.sort_unstable();
    bytes.dedup();
    bytes.len() as u64
}

fn prepare_problem(sizes: &[(u64, Lifetime)], rules: &Constraints, align: Align) -> Prepared {
    let buffers = sizes.iter().map(|&(size_bytes, lifetime)| BareBuffer { name: String::new(), size_bytes, lifetime }).collect();
    let mut workload = Workload::clone(&workload_of(Source::Buffers(Arc::new(buffers))));
    workload.constraints = Some(Arc::new(rules.clone()));
    prepare(&Arc::new(workload), PrepareSettings { align, ..PrepareSettings::default() }).expect("a valid problem")
}
