//! The ways of getting memory that a run compares, and what each is predicted to take.

use serde::{Deserialize, Serialize};

use crate::caching::CachingAllocator;
use crate::program::{Home, Program};

/// One way of getting memory for the same steps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Regime {
    /// Every buffer has a block of its own throughout.
    AllLive,
    /// Every buffer is allocated before its first step and freed after its last one.
    PerTensor,
    /// The same from the driver's stream-ordered pool.
    Pool,
    /// The same from a caching allocator by PyTorch's rules.
    Caching,
    /// One block, laid out by the plan.
    Arena,
    /// The same, with all launches of an iteration recorded once and replayed.
    ArenaGraph,
}

impl Regime {
    /// All of them, the plan's own last.
    pub const ALL: [Self; 6] = [Self::AllLive, Self::PerTensor, Self::Pool, Self::Caching, Self::Arena, Self::ArenaGraph];

    /// The name on the command line and in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AllLive => "all-live",
            Self::PerTensor => "per-tensor",
            Self::Pool => "pool",
            Self::Caching => "caching",
            Self::Arena => "arena",
            Self::ArenaGraph => "arena-graph",
        }
    }

    /// Whether the plan's offsets decide where buffers are.
    #[must_use]
    pub fn is_arena(self) -> bool {
        matches!(self, Self::Arena | Self::ArenaGraph)
    }
}

/// Bytes that a regime takes from the device at every step of a first iteration, after the step's births and before
/// its deaths. Time O(buffers log buffers + steps).
///
/// For the pool these are the bytes handed out; what it keeps beyond that is the driver's business.
#[must_use]
pub fn predicted_curve(program: &Program, regime: Regime) -> Vec<u64> {
    match regime {
        Regime::AllLive => vec![planned_bytes(program); program.steps.len()],
        Regime::Arena | Regime::ArenaGraph => vec![program.arena_bytes; program.steps.len()],
        Regime::PerTensor | Regime::Pool => live_curve(program),
        Regime::Caching => caching_curve(program),
    }
}

fn planned_bytes(program: &Program) -> u64 {
    program.buffers.iter().filter(|buffer| buffer.home == Home::Arena).map(|buffer| buffer.bytes).sum()
}

/// Bytes of the buffers that each step needs.
pub(crate) fn live_curve(program: &Program) -> Vec<u64> {
    let (births, deaths) = program.births_and_deaths();
    let sum = |buffers: &[usize]| buffers.iter().map(|&buffer| program.buffers[buffer].bytes).sum::<u64>();
    let mut live = 0;
    let at_step = |(born, dead): (&Vec<usize>, &Vec<usize>)| {
        live += sum(born);
        let now = live;
        live -= sum(dead);
        now
    };
    births.iter().zip(&deaths).map(at_step).collect()
}

fn caching_curve(program: &Program) -> Vec<u64> {
    let (births, deaths) = program.births_and_deaths();
    let mut allocator = CachingAllocator::default();
    let mut places = vec![None; program.buffers.len()];
    let mut curve = Vec::with_capacity(births.len());
    for (born, dead) in births.iter().zip(&deaths) {
        for &buffer in born {
            places[buffer] = Some(allocator.allocate(program.buffers[buffer].bytes).place);
        }
        curve.push(allocator.reserved_bytes());
        for &buffer in dead {
            if let Some(place) = places[buffer].take() {
                allocator.release(place);
            }
        }
    }
    curve
}
