//! Problems made of bytes, for every strategy and both checkers.

use arbitrary::{Arbitrary, Result, Unstructured};
use arenascope_planner::lifetimes::Lifetime;
use arenascope_planner::problem::Problem;
use arenascope_planner::testing::{check_case, check_problem};
use arenascope_planner::testing_rules::check_rules_case;
use arenascope_planner::units::Align;

/// More buffers make a case slow and find nothing that fewer do not.
const MAX_BUFFERS: usize = 24;

/// What one run plans.
#[derive(Debug)]
pub enum Input {
    /// Buffers as bytes and lifetime, and an alignment.
    Buffers(Vec<(u64, Lifetime)>, u64),
    /// The problem and the graph of a seed.
    Case(u64),
    /// The problem with rules of an odd seed: for even ones brute force takes seconds, and the tests run it.
    Rules(u64),
}

impl<'a> Arbitrary<'a> for Input {
    fn arbitrary(source: &mut Unstructured<'a>) -> Result<Self> {
        match source.int_in_range(0..=7_u8)? {
            0 => return Ok(Self::Case(source.arbitrary()?)),
            1 => return Ok(Self::Rules(source.arbitrary::<u64>()? | 1)),
            _ => {}
        }
        let align = match source.int_in_range(0..=3_u8)? {
            0 => 1,
            1 => 64,
            2 => source.int_in_range(1..=17_u8)?.into(),
            _ => source.int_in_range(1..=1 << 20)?,
        };
        // Sizes and steps are small, or anywhere where a sum of them is still in range.
        let (is_large, is_far) = (source.ratio(1_u8, 8_u8)?, source.ratio(1_u8, 8_u8)?);
        let base = if is_far { u64::MAX - 1_000 } else { 0 };
        let mut buffers = Vec::new();
        for _ in 0..source.int_in_range(1..=MAX_BUFFERS)? {
            let bytes = if is_large { source.int_in_range(1..=1_u64 << 56)? } else { u64::from(source.int_in_range(1..=40_u8)?) };
            let start = u64::from(source.int_in_range(0..=30_u8)?);
            let steps = u64::from(source.int_in_range(1..=12_u8)?);
            buffers.push((bytes, Lifetime { start: base + start, end: base + start + steps }));
        }
        Ok(Self::Buffers(buffers, align))
    }
}

/// Plans an input with every strategy and checks all that must hold.
///
/// # Panics
/// If something does not hold.
pub fn check_input(input: &Input) {
    let outcome = match input {
        Input::Case(seed) => check_case(*seed),
        Input::Rules(seed) => check_rules_case(*seed).map(|_| ()),
        Input::Buffers(buffers, align) => {
            let align = Align::new(*align).expect("at least 1");
            let problem = Problem::new(buffers.iter().copied(), align).expect("below 2^62 in total");
            check_problem(&problem)
        }
    };
    if let Err(fault) = outcome {
        panic!("{fault}");
    }
}
