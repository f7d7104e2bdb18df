//! What a device executes: per step the tensors read and written, each with its place in the arena.
//!
//! A program is made from a [`CheckedPlan`] and nothing else (`from_graph`, `from_problem`), scaled (`scaled`), or
//! broken on purpose (`plant`) to show that a run finds the fault.

mod from_graph;
mod from_problem;
mod plant;

use crate::compute::{ComputeError, ComputeProgram, lower};
use crate::protocol::{Mode, RunOptions};
use arenascope_planner::check::CheckedPlan;
use arenascope_planner::constraints::Feature;
use arenascope_planner::prepare::GraphContext;
use arenascope_planner::problem::Problem;
use serde::{Deserialize, Serialize};

pub use plant::{Plant, PlantError, Planted};

/// Which block a buffer is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Home {
    /// The arena that the plan lays out.
    Arena,
    /// Static memory: weights, and what the caller owns; a block of its own that every regime holds throughout.
    Static,
}

/// Storage that one or more tensors share.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ProgramBuffer {
    /// The name of its first tensor.
    pub name: String,
    /// The block it is in.
    pub home: Home,
    /// Its first byte in that block.
    pub offset: u64,
    /// Bytes that it takes there, rounded to the alignment.
    pub bytes: u64,
    /// Bytes before rounding.
    pub size_bytes: u64,
    /// The first step that needs it, as an index into [`Program::steps`].
    pub first_step: usize,
    /// The last step that needs it, inclusive.
    pub last_step: usize,
}

/// A tensor as an op sees it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Value {
    /// Its name.
    pub name: String,
    /// The buffer it is in, as an index into [`Program::buffers`].
    pub buffer: usize,
    /// Its first byte in the buffer; 0 in every sound program.
    pub shift: u64,
    /// Bytes that its writer writes and its readers read.
    pub bytes: u64,
    /// Whose bytes it carries: the index of the value whose write made them; its own unless it is a view.
    pub tag: u32,
    /// The step that writes it; `None` if it is there before step 0.
    pub written_at: Option<usize>,
    /// Whether it must still be whole after the last step.
    pub is_output: bool,
}

/// One read of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Read {
    /// The value.
    pub value: usize,
    /// Whether the op writes its result over it: it is then whole before the writes, not after them.
    pub is_consumed: bool,
}

/// One op in schedule order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Step {
    /// The op's name.
    pub op: String,
    /// The step's number in the plan: its index, except for problems whose steps are far apart.
    pub number: u64,
    /// What it reads, each value once.
    pub reads: Vec<Read>,
    /// What it writes; views write nothing.
    pub writes: Vec<usize>,
}

/// Which steps must be over before a step begins, by step; every one of them is an earlier step.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StepOrder {
    /// Steps whose results the step reads: the graph's own order.
    pub graph: Vec<Vec<usize>>,
    /// Steps that the plan makes it wait for, because their buffers share bytes.
    pub plan: Vec<Vec<usize>>,
}

/// A plan as a device executes it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Program {
    /// The file that was planned.
    pub file: String,
    /// The storage, planned buffers first.
    pub buffers: Vec<ProgramBuffer>,
    /// The tensors that have bytes.
    pub values: Vec<Value>,
    /// The ops.
    pub steps: Vec<Step>,
    /// Bytes of the arena.
    pub arena_bytes: u64,
    /// Bytes of the block of static memory.
    pub static_bytes: u64,
    /// What sizes and offsets were rounded to.
    pub align: u64,
    /// By how much sizes and offsets were multiplied.
    pub scale: u64,
    /// What the ops compute; `None` if it was not worked out.
    pub compute: Option<ComputeProgram>,
    /// What must come before what, for runs on several streams; `None` if it was not worked out.
    pub order: Option<StepOrder>,
}

/// One look at a tensor during an iteration; its position among all checks is its place in the report table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Check {
    /// The step that reads; `None` for outputs after the last step.
    pub step: Option<usize>,
    /// The value that is read.
    pub value: usize,
    /// Whether the step writes over it afterwards.
    pub is_consumed: bool,
}

/// Why a program cannot be made.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ProgramError {
    /// A size times the scale does not fit.
    #[error("the plan cannot be scaled by {scale}: sizes would exceed 62 bits; use a smaller factor")]
    ScaleTooLarge {
        /// The factor.
        scale: u64,
    },
    /// A bare problem of which buffers share bytes or lie in several arenas.
    #[error(
        "buffers with lifetime gaps, sub-views, in-place groups or several pools cannot be run: a run writes each buffer whole, once, in one arena"
    )]
    Rules,
    /// There is nothing to run.
    #[error("there is nothing to run: the plan places no buffer")]
    Empty,
}

/// What a way of running needs and a plan does not have.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EquipError {
    /// Compute mode without a graph.
    #[error("the file has buffers but no graph, so that there is nothing to compute: use --mode integrity")]
    NothingToCompute,
    /// Several streams without a graph.
    #[error("the file has buffers but no graph, so that nothing says which ops may run side by side: leave --streams out")]
    NoBranches,
    /// Compute mode with an op that has no kernel.
    #[error(transparent)]
    Compute(#[from] ComputeError),
}

/// Arenas below this vanish in the granularity of device memory, bytes: 128 times 2 MiB.
const VISIBLE_ARENA_BYTES: u64 = 256 << 20;

/// The factor that makes an arena large enough to be seen beside the granularity of device memory.
#[must_use]
pub fn suggested_scale(arena_bytes: u64) -> u64 {
    VISIBLE_ARENA_BYTES.div_ceil(arena_bytes.max(1)).max(1)
}

/// Why no plan of a problem can be run, whatever the plan; `None` if one can.
#[must_use]
pub fn refusal(problem: &Problem) -> Option<ProgramError> {
    let features = problem.features();
    let has_rules = [Feature::Gaps, Feature::Views, Feature::InPlace, Feature::Pools].into_iter().any(|feature| features.has(feature));
    if has_rules {
        return Some(ProgramError::Rules);
    }
    (problem.n_buffers() == 0).then_some(ProgramError::Empty)
}

impl StepOrder {
    fn is_consistent(&self, n_steps: usize) -> bool {
        let is_earlier = |before: &[Vec<usize>]| before.iter().enumerate().all(|(step, before)| before.iter().all(|&other| other < step));
        [&self.graph, &self.plan].into_iter().all(|before| before.len() == n_steps && is_earlier(before))
    }
}

impl Program {
    /// The program of a plan: of the graph it belongs to, or, for a bare problem, one that writes each buffer at its
    /// first step and reads it at its last.
    ///
    /// # Errors
    /// The plan places nothing, or has gaps, views, in-place groups or several pools.
    pub fn new(file: &str, checked: &CheckedPlan, context: Option<&GraphContext>) -> Result<Self, ProgramError> {
        if let Some(error) = refusal(checked.problem()) {
            return Err(error);
        }
        let program = match context {
            Some(context) => from_graph::program(file, checked, context),
            None => from_problem::program(file, checked),
        };
        if program.buffers.iter().any(|buffer| buffer.home == Home::Arena) { Ok(program) } else { Err(ProgramError::Empty) }
    }

    /// The same program with what its mode and its streams need.
    ///
    /// # Errors
    /// There is no graph, or the first op that cannot be computed.
    pub fn equipped(self, checked: &CheckedPlan, context: Option<&GraphContext>, options: &RunOptions) -> Result<Self, EquipError> {
        let program = match options.mode {
            Mode::Integrity => self,
            Mode::Compute => self.with_arithmetic(checked, context.ok_or(EquipError::NothingToCompute)?)?,
        };
        Ok(match options.streams {
            ..=1 => program,
            _ => program.with_order(checked, context.ok_or(EquipError::NoBranches)?),
        })
    }

    /// The same program with the order that its graph and its plan need, so that it can run on several streams.
    #[must_use]
    pub fn with_order(mut self, checked: &CheckedPlan, context: &GraphContext) -> Self {
        self.order = Some(from_graph::step_order(checked, context));
        self
    }

    /// The same program with the kernels of its ops.
    ///
    /// # Errors
    /// The first op that cannot be computed.
    pub fn with_arithmetic(mut self, checked: &CheckedPlan, context: &GraphContext) -> Result<Self, ComputeError> {
        let value_of = from_graph::values(checked, context);
        self.compute = Some(lower(&self, context, &value_of)?);
        Ok(self)
    }

    /// The same program with all sizes and offsets times `scale`: a valid plan stays valid.
    ///
    /// # Errors
    /// The sizes become too large.
    pub fn scaled(mut self, scale: u64) -> Result<Self, ProgramError> {
        let times = |bytes: &mut u64| {
            *bytes = bytes.checked_mul(scale).filter(|&bytes| bytes < 1 << 62)?;
            Some(())
        };
        let mut scale_all = || {
            for buffer in &mut self.buffers {
                times(&mut buffer.offset)?;
                times(&mut buffer.bytes)?;
                times(&mut buffer.size_bytes)?;
            }
            for value in &mut self.values {
                times(&mut value.shift)?;
                times(&mut value.bytes)?;
            }
            times(&mut self.arena_bytes)?;
            times(&mut self.static_bytes)?;
            times(&mut self.align)
        };
        scale_all().ok_or(ProgramError::ScaleTooLarge { scale })?;
        self.scale = self.scale.saturating_mul(scale);
        Ok(self)
    }

    /// The factor that makes the arena large enough to be seen beside the granularity of device memory.
    #[must_use]
    pub fn suggested_scale(&self) -> u64 {
        suggested_scale(self.arena_bytes)
    }

    /// Where a value begins and ends in its block.
    #[must_use]
    pub fn range(&self, value: usize) -> (Home, u64, u64) {
        let value = &self.values[value];
        let buffer = &self.buffers[value.buffer];
        let begin = buffer.offset.saturating_add(value.shift);
        (buffer.home, begin, begin.saturating_add(value.bytes))
    }

    /// Every check of an iteration, in the order of execution.
    #[must_use]
    pub fn checks(&self) -> Vec<Check> {
        let mut checks = Vec::new();
        for (index, step) in self.steps.iter().enumerate() {
            let (before, after): (Vec<&Read>, Vec<&Read>) = step.reads.iter().partition(|read| read.is_consumed);
            let check = |read: &Read| Check { step: Some(index), value: read.value, is_consumed: read.is_consumed };
            checks.extend(before.into_iter().chain(after).map(check));
        }
        let outputs = (0..self.values.len()).filter(|&value| self.values[value].is_output);
        checks.extend(outputs.map(|value| Check { step: None, value, is_consumed: false }));
        checks
    }

    /// Bytes of the arena that no buffer ever covers: alignment gaps and what no plan used, as begin and end.
    #[must_use]
    pub fn gaps(&self) -> Vec<(u64, u64)> {
        let planned = self.buffers.iter().filter(|buffer| buffer.home == Home::Arena);
        let mut covered: Vec<(u64, u64)> = planned.map(|buffer| (buffer.offset, buffer.offset.saturating_add(buffer.size_bytes))).collect();
        covered.sort_unstable();
        let mut gaps = Vec::new();
        let mut top = 0;
        for (begin, end) in covered {
            if begin > top {
                gaps.push((top, begin));
            }
            top = top.max(end);
        }
        if top < self.arena_bytes {
            gaps.push((top, self.arena_bytes));
        }
        gaps
    }

    /// The planned buffers that each step needs first, and those it needs last.
    #[must_use]
    pub fn births_and_deaths(&self) -> (Vec<Vec<usize>>, Vec<Vec<usize>>) {
        let (mut births, mut deaths) = (vec![Vec::new(); self.steps.len()], vec![Vec::new(); self.steps.len()]);
        for (index, buffer) in self.buffers.iter().enumerate().filter(|(_, buffer)| buffer.home == Home::Arena) {
            births[buffer.first_step].push(index);
            deaths[buffer.last_step].push(index);
        }
        (births, deaths)
    }

    /// Checks that every index is in range, for programs that come from another process.
    pub(crate) fn is_consistent(&self) -> bool {
        let n_steps = self.steps.len();
        let reads_in_range =
            |step: &Step| step.reads.iter().all(|read| read.value < self.values.len()) && step.writes.iter().all(|&value| value < self.values.len());
        self.buffers.iter().all(|buffer| buffer.first_step <= buffer.last_step && buffer.last_step < n_steps.max(1))
            && self.values.iter().all(|value| value.buffer < self.buffers.len() && value.written_at.is_none_or(|step| step < n_steps))
            && self.steps.iter().all(reads_in_range)
            && self.compute.as_ref().is_none_or(|compute| compute.is_consistent(self.values.len(), n_steps))
            && self.order.as_ref().is_none_or(|order| order.is_consistent(n_steps))
            && n_steps > 0
    }
}
