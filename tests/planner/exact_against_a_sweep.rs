//! What `exact` says about ten thousand tight toys, against a method that shares nothing with it.

use arenascope_planner::check::check;
use arenascope_planner::control::Control;
use arenascope_planner::ids::BufferId;
use arenascope_planner::plan::Status;
use arenascope_planner::solve::{SolveOptions, solve};
use arenascope_planner::tight_toys::{fits, tight_toy};

/// How many toys are asked about; their seeds begin where those of the crate's own tests end.
const TOYS: std::ops::Range<u64> = 1_000_000..1_010_000;

#[test]
fn ten_thousand_answers_agree_with_a_sweep() {
    let mut n_infeasible = 0;
    for seed in TOYS {
        let toy = tight_toy(seed);
        let ids: Vec<BufferId> = toy.problem.ids().collect();
        let expected = fits(&toy.problem, &ids, toy.capacity_bytes);
        let problem = toy.problem.with_capacity(Some(toy.capacity_bytes));
        let options = SolveOptions { seed, ..SolveOptions::default() };
        let plan = solve("exact", &problem, None, &options, &Control::unattended()).unwrap();
        assert!(check(&problem, &plan).is_valid(), "toy {seed}");
        // Every step is filled to the capacity, so a plan that fits is a smallest one.
        let status = if expected { Status::Optimal } else { Status::Infeasible };
        assert_eq!((plan.status, plan.arena_bytes <= toy.capacity_bytes), (status, expected), "toy {seed}: {:?}", plan.note);
        n_infeasible += u32::from(!expected);
    }
    assert!(n_infeasible > 200, "only {n_infeasible} toys test a proof");
}
