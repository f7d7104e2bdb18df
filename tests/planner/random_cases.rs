//! Long random runs: every strategy, both checkers, the bound, and brute force where it is feasible.

use arenascope_planner::lifetimes::Lifetime;
use arenascope_planner::problem::Problem;
use arenascope_planner::testing::{check_case, check_problem};
use arenascope_planner::units::Align;
use proptest::prelude::{ProptestConfig, prop_assert_eq, proptest};

#[test]
fn fifteen_hundred_cases_hold() {
    for seed in 1_000..2_500 {
        if let Err(fault) = check_case(seed) {
            panic!("seed {seed}: {fault}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_strategy_plans_every_problem(
        buffers in proptest::collection::vec((1_u64..2_000, 0_u64..60, 1_u64..20), 1..80),
        align in 1_u64..130,
    ) {
        let sizes = buffers.into_iter().map(|(bytes, start, steps)| (bytes, Lifetime { start, end: start + steps }));
        let problem = Problem::new(sizes, Align::new(align).expect("at least 1")).expect("small numbers");
        prop_assert_eq!(check_problem(&problem), Ok(()));
    }

    #[test]
    fn far_steps_and_huge_sizes_do_not_overflow(
        buffers in proptest::collection::vec((1_u64..1 << 54, 0_u64..4, 1_u64..4), 1..40),
    ) {
        let far = u64::MAX - 10;
        let sizes = buffers.into_iter().map(|(bytes, start, steps)| (bytes, Lifetime { start: far + start, end: far + start + steps }));
        let problem = Problem::new(sizes, Align::DEFAULT).expect("below 2^62 in total");
        prop_assert_eq!(check_problem(&problem), Ok(()));
    }
}
