//! The search against a second method, with every rule switched off alone.

use std::sync::Mutex;

use super::instance::decompose;
use super::portfolio::{ARMS, Arm};
use super::question::{Limits, Question, answer, answer_in};
use super::rules::Rules;
use super::{fits, infeasible_core};
use crate::bounds::peak_live_bytes;
use crate::check::check;
use crate::control::Control;
use crate::ids::BufferId;
use crate::lifetimes::Lifetime;
use crate::plan::{Plan, Status};
use crate::problem::Problem;
use crate::solve::{SolveOptions, solve};
use crate::tight_toys::{self, scaled, tight_toy};
use crate::units::Align;

/// Far more than any toy needs.
const NODES: u64 = 100_000;

fn limits(arms: &[Arm], rules: Rules) -> Limits<'_> {
    Limits { max_nodes: NODES, seed: 0, threads: 1, arms, rules, should_stop: &|| false }
}

fn all(problem: &Problem) -> Vec<BufferId> {
    problem.ids().collect()
}

/// Offsets that put each buffer on top of the one before.
fn stacked(problem: &Problem) -> Vec<u64> {
    problem.buffers().iter().scan(0, |top, buffer| Some(std::mem::replace(top, *top + buffer.bytes))).collect()
}

/// Asks about a toy, starting with one of the arms, and says whether it fits; `None` without an answer.
fn toy_fits(seed: u64, rules: Rules) -> Option<bool> {
    let toy = tight_toy(seed);
    let pick = usize::try_from(seed).unwrap();
    // A common factor must not change anything.
    let factor = [1, 3, 1 << 40][pick % 3];
    let problem = &scaled(&toy.problem, factor);
    let capacity_bytes = toy.capacity_bytes * factor;
    let mut arms = ARMS;
    arms.rotate_left(pick % ARMS.len());
    let limits = limits(&arms, rules);
    let (ids, start, question) = (all(problem), stacked(problem), Question::Fit(capacity_bytes));
    let answered = if seed.is_multiple_of(2) {
        answer(problem, &ids, &start, question, &limits, &|_, _| ())
    } else {
        answer_in::<u64>(problem, &decompose(problem, ids, rules), factor, &start, question, &limits, &|_, _| ()).unwrap()
    };
    let plan = Plan::from_offsets("exact", problem, answered.offsets);
    assert!(check(problem, &plan).is_valid(), "toy {seed} with {rules:?}: an invalid plan");
    assert_eq!(plan.arena_bytes, answered.arena_bytes, "toy {seed} with {rules:?}");
    let fits = plan.arena_bytes <= capacity_bytes;
    assert!(!fits || answered.bound_bytes <= capacity_bytes, "toy {seed} with {rules:?}: a plan below its own bound");
    (fits || answered.bound_bytes > capacity_bytes).then_some(fits)
}

fn swept_fits(seed: u64) -> bool {
    let toy = tight_toy(seed);
    tight_toys::fits(&toy.problem, &all(&toy.problem), toy.capacity_bytes)
}

#[test]
fn agrees_with_a_sweep_on_tight_toys() {
    let mut n_infeasible = 0;
    for seed in 0..TOYS {
        let expected = swept_fits(seed);
        n_infeasible += u64::from(!expected);
        for backjumps in [true, false] {
            assert_eq!(toy_fits(seed, Rules { backjumps, ..Rules::ALL }), Some(expected), "toy {seed}, backjumps: {backjumps}");
        }
    }
    assert!(n_infeasible * 50 > TOYS, "only {n_infeasible} of {TOYS} toys test a proof");
}

const TOYS: u64 = 2_000;

#[test]
fn no_rule_changes_an_answer() {
    const ALL: Rules = Rules::ALL;
    let switched_off = [
        Rules { support_bump: false, ..ALL },
        Rules { section_floors: false, ..ALL },
        Rules { dominance: false, ..ALL },
        Rules { twins: false, ..ALL },
        Rules { regions: false, ..ALL },
        Rules { whole_buffers: false, ..ALL },
        Rules { backjumps: false, ..ALL },
        Rules { nogoods: false, ..ALL },
    ];
    let mut n_open = 0;
    for seed in TOYS..TOYS + 500 {
        let expected = swept_fits(seed);
        for rules in switched_off {
            match toy_fits(seed, rules) {
                Some(fits) => assert_eq!(fits, expected, "toy {seed} with {rules:?}"),
                None => n_open += 1,
            }
        }
    }
    assert!(n_open < 30, "{n_open} of 4,000 without an answer");
}

#[test]
fn proofs_take_fewer_nodes_with_backjumps_and_fewer_still_with_nogoods() {
    // Longer than the toys of the sweep, and full everywhere; most do not fit. None may have two answers.
    let [mut all_on, mut no_nogoods, mut no_backjumps] = [0; 3];
    let mut n_infeasible = 0;
    for seed in 0..60 {
        let capacity_bytes = 10;
        let problem = tight_toys::crowded(24, capacity_bytes, seed);
        let of = |rules| fits(&problem, &all(&problem), capacity_bytes, &Limits { max_nodes: 1_000_000, ..limits(&ARMS, rules) });
        let (expected, n_nodes) = of(Rules::ALL);
        let without = [Rules { nogoods: false, ..Rules::ALL }, Rules { backjumps: false, ..Rules::ALL }].map(of);
        assert!(without.iter().all(|(fits, _)| *fits == expected && expected.is_some()), "toy {seed}: {expected:?}, {without:?}");
        if expected == Some(false) {
            n_infeasible += 1;
            all_on += n_nodes;
            no_nogoods += without[0].1;
            no_backjumps += without[1].1;
        }
    }
    assert!(n_infeasible > 10, "only {n_infeasible} proofs");
    assert!(
        2 * all_on < no_nogoods && 2 * no_nogoods < no_backjumps,
        "{all_on} nodes, {no_nogoods} without nogoods, {no_backjumps} without backjumps"
    );
}

#[test]
fn the_minimum_is_the_smallest_capacity_that_fits() {
    for seed in 0..300 {
        let toy = tight_toy(seed + 50_000);
        let problem = &toy.problem;
        let ids = all(problem);
        let smallest = (peak_live_bytes(problem).0..).find(|&capacity| tight_toys::fits(problem, &ids, capacity)).unwrap();
        let answered = answer(problem, &ids, &stacked(problem), Question::Minimum, &limits(&ARMS, Rules::ALL), &|_, _| ());
        assert_eq!((answered.arena_bytes, answered.bound_bytes), (smallest, smallest), "toy {seed}");
    }
}

#[test]
fn a_core_does_not_fit_and_fits_without_any_one_buffer() {
    let mut n_cores = 0;
    for seed in 0..400 {
        let toy = tight_toy(seed);
        let Some(core) = infeasible_core(&toy.problem, toy.capacity_bytes, NODES, &Control::unattended()) else { continue };
        n_cores += 1;
        assert!(core.is_irreducible, "toy {seed}");
        assert!(!tight_toys::fits(&toy.problem, &core.buffers, toy.capacity_bytes), "toy {seed}: the core fits");
        for without in &core.buffers {
            let rest: Vec<BufferId> = core.buffers.iter().copied().filter(|id| id != without).collect();
            assert!(tight_toys::fits(&toy.problem, &rest, toy.capacity_bytes), "toy {seed}: not needed: {without}");
        }
    }
    assert!(n_cores > 10, "only {n_cores} cores");
}

#[test]
fn answers_about_a_subset_only() {
    let toy = tight_toy(3);
    assert_eq!(fits(&toy.problem, &[], 1, &limits(&ARMS, Rules::ALL)).0, Some(true));
    assert_eq!(fits(&toy.problem, &[BufferId(0)], 0, &limits(&ARMS, Rules::ALL)).0, Some(false));
}

/// A problem on which `lowest-floor` is far from optimal, and the search takes some rounds.
fn hard() -> Problem {
    tight_toys::cut_rectangle(120, 40, 1_000_000, 1)
}

fn solved(strategy: &str, problem: &Problem, options: SolveOptions, control: &Control<'_>) -> Plan {
    solve(strategy, problem, None, &options, control).unwrap()
}

#[test]
fn the_plan_does_not_depend_on_the_number_of_threads() {
    let of = |threads| solved("exact", &hard(), SolveOptions { threads, max_nodes: Some(60_000), ..SolveOptions::default() }, &Control::unattended());
    assert_eq!(of(1), of(3));
    let capacity = Some(of(1).arena_bytes);
    let fit = |threads| {
        let options = SolveOptions { threads, max_nodes: Some(60_000), ..SolveOptions::default() };
        solved("exact", &hard().with_capacity(capacity), options, &Control::unattended())
    };
    assert_eq!(fit(1), fit(4));
}

#[test]
fn is_never_worse_than_lowest_floor_whatever_the_limit() {
    let problem = hard();
    let floor = solved("lowest-floor", &problem, SolveOptions::default(), &Control::unattended());
    let mut arenas = vec![floor.arena_bytes];
    for max_nodes in [0, 1, 100, 40_000] {
        let plan = solved("exact", &problem, SolveOptions { max_nodes: Some(max_nodes), ..SolveOptions::default() }, &Control::unattended());
        assert!(check(&problem, &plan).is_valid());
        assert!(plan.arena_bytes <= floor.arena_bytes);
        arenas.push(plan.arena_bytes);
    }
    assert!(arenas[4] < arenas[0], "the search helps: {arenas:?}");
}

#[test]
fn gives_the_best_plan_so_far_when_stopped_and_streams_better_ones() {
    let problem = hard();
    let streamed = Mutex::new(Vec::new());
    let hand_over = |plan: Plan| streamed.lock().unwrap().push(plan);
    let should_stop = || streamed.lock().unwrap().len() >= 2;
    let plan = solved("exact", &problem, SolveOptions::default(), &Control::new(&should_stop, &|_| ()).with_plans(&hand_over));
    let streamed = streamed.into_inner().unwrap();
    assert!(streamed.iter().all(|plan| check(&problem, plan).is_valid()));
    assert!(streamed.is_sorted_by(|one, two| one.arena_bytes > two.arena_bytes));
    assert_eq!(streamed.last().map(|last| &last.offsets), Some(&plan.offsets));
}

#[test]
fn rows_time_and_scale_do_not_change_the_search() {
    let problem = hard();
    let span = problem.span();
    let rows: Vec<(u64, Lifetime)> = problem.buffers().iter().map(|buffer| (buffer.bytes, buffer.lifetime)).collect();
    let backwards = rows.iter().rev().map(|&(bytes, life)| {
        let lifetime = Lifetime { start: span.end - life.end, end: span.end - life.start };
        (3 * bytes, lifetime)
    });
    let variant = Problem::new(backwards, Align::ONE).unwrap();
    let of = |problem: &Problem| {
        let answered = answer(
            problem,
            &all(problem),
            &stacked(problem),
            Question::Minimum,
            &Limits { max_nodes: 5_000, ..limits(&ARMS, Rules::ALL) },
            &|_, _| (),
        );
        (answered.arena_bytes, answered.n_nodes)
    };
    let (arena_bytes, n_nodes) = of(&problem);
    assert_eq!(of(&variant), (3 * arena_bytes, n_nodes));
}

#[test]
fn says_which_buffers_cannot_fit_together() {
    let life = |start, end| Lifetime { start, end };
    let problem = Problem::new([(4, life(0, 2)), (4, life(1, 3)), (1, life(2, 4))], Align::ONE).unwrap().with_capacity(Some(7));
    let plan = solved("exact", &problem, SolveOptions::default(), &Control::unattended());
    assert_eq!((plan.status, plan.arena_bytes), (Status::Infeasible, 8));
    assert!(plan.note.unwrap().ends_with("2 buffers, #0, #1"));
}
