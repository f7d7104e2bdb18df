//! Faults put into a sound program on purpose: what a run must find, in the smallest form of each kind.

use serde::{Deserialize, Serialize};

use super::{Home, Program};

/// A kind of planning bug.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Plant {
    /// A buffer lies over another one that is still needed.
    Overlap,
    /// A tensor is larger than the plan believes.
    TooSmall,
    /// A buffer's place is given away before its last read.
    EarlyFree,
    /// An op writes its result over an input that a later op reads.
    InPlace,
    /// A view begins at the wrong byte of its storage.
    View,
}

impl Plant {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Overlap, Self::TooSmall, Self::EarlyFree, Self::InPlace, Self::View];

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Overlap => "overlap",
            Self::TooSmall => "too-small",
            Self::EarlyFree => "early-free",
            Self::InPlace => "in-place",
            Self::View => "view",
        }
    }
}

/// A broken program, and what a run must say about it.
#[derive(Clone, PartialEq, Debug)]
pub struct Planted {
    /// The program.
    pub program: Program,
    /// The tensor that is read wrongly.
    pub tensor: String,
    /// The op that reads it.
    pub reader: String,
    /// The tensor whose write did it; `None` if no write did.
    pub culprit: Option<String>,
}

/// A program in which a fault of that kind cannot be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no {} can be planted: the program has no tensor that would show it", kind.name())]
pub struct PlantError {
    /// The kind.
    pub kind: Plant,
}

impl Program {
    /// The program with one fault, at the first place where it can show.
    ///
    /// # Errors
    /// There is no such place.
    pub fn planted(&self, kind: Plant) -> Result<Planted, PlantError> {
        let found = match kind {
            Plant::Overlap | Plant::EarlyFree => self.plant_move(kind == Plant::EarlyFree),
            Plant::TooSmall => self.plant_growth(),
            Plant::InPlace => self.plant_in_place(),
            Plant::View => self.plant_view(),
        };
        found.ok_or(PlantError { kind })
    }

    /// Reads of arena values by a later op, as (value, producing step, reading step, step of the read before).
    fn long_reads(&self) -> impl Iterator<Item = (usize, usize, usize, usize)> {
        self.steps.iter().enumerate().flat_map(move |(reader, step)| {
            step.reads.iter().filter_map(move |read| {
                let value = &self.values[read.value];
                let written = value.written_at?;
                let is_own = value.tag as usize == read.value && self.buffers[value.buffer].home == Home::Arena;
                let reads = |step: usize| self.steps[step].reads.iter().any(|other| other.value == read.value);
                let before = (written + 1..reader).rev().find(|&step| reads(step)).unwrap_or(written);
                (is_own && reader > written + 1).then_some((read.value, written, reader, before))
            })
        })
    }

    /// Arena values written strictly between two steps into other storage than `buffer`.
    fn writes_between(&self, from: usize, to: usize, buffer: usize) -> impl Iterator<Item = usize> {
        let steps = self.steps.get(from + 1..to).unwrap_or_default();
        let is_other = move |&value: &usize| {
            let other = self.values[value].buffer;
            other != buffer && self.buffers[other].home == Home::Arena
        };
        steps.iter().flat_map(|step| step.writes.iter().copied()).filter(is_other)
    }

    fn expect(&self, program: Program, value: usize, reader: usize, culprit: Option<usize>) -> Planted {
        Planted {
            program,
            tensor: self.values[value].name.clone(),
            reader: self.steps[reader].op.clone(),
            culprit: culprit.map(|culprit| self.values[culprit].name.clone()),
        }
    }

    /// Moves a buffer that is written while another one waits for a read to the other one's place.
    fn plant_move(&self, is_after_a_read: bool) -> Option<Planted> {
        self.long_reads().find_map(|(value, written, reader, before)| {
            let from = if is_after_a_read { before } else { written };
            if is_after_a_read && before == written {
                return None;
            }
            let buffer = self.values[value].buffer;
            let culprit = self.writes_between(from, reader, buffer).find(|&other| {
                let (other, target) = (&self.buffers[self.values[other].buffer], &self.buffers[buffer]);
                other.bytes <= target.bytes && other.first_step > from
            })?;
            let mut program = self.clone();
            program.buffers[self.values[culprit].buffer].offset = self.buffers[buffer].offset;
            Some(self.expect(program, value, reader, Some(culprit)))
        })
    }

    /// Lets a tensor reach from its place into the next one above that waits for a read.
    fn plant_growth(&self) -> Option<Planted> {
        self.long_reads().find_map(|(value, written, reader, _)| {
            let begin = self.buffers[self.values[value].buffer].offset;
            let (_, target_begin, target_end) = self.range(value);
            let below = |&other: &usize| {
                let (_, other_begin, other_end) = self.range(other);
                other_begin < begin && other_end <= begin && self.values[other].shift == 0
            };
            let culprit = self.writes_between(written, reader, self.values[value].buffer).filter(below).max_by_key(|&other| self.range(other).1)?;
            let mut program = self.clone();
            let reach = (target_end - target_begin).min(16);
            if self.compute.is_some() {
                // Its elements are what they are: the plan left too few bytes for them.
                program.buffers[self.values[culprit].buffer].offset = begin + reach - self.values[culprit].bytes;
            } else {
                program.values[culprit].bytes = begin + reach - self.range(culprit).1;
            }
            Some(self.expect(program, value, reader, Some(culprit)))
        })
    }

    /// Puts an op's result where one of its inputs is that somebody reads later.
    fn plant_in_place(&self) -> Option<Planted> {
        self.long_reads().find_map(|(value, written, reader, _)| {
            let buffer = self.values[value].buffer;
            let takes = |step: &usize| self.steps[*step].reads.iter().any(|read| read.value == value && !read.is_consumed);
            let (taker, culprit) = (written + 1..reader).filter(takes).find_map(|taker| {
                let small = |&&other: &&usize| self.values[other].bytes <= self.values[value].bytes && self.values[other].buffer != buffer;
                let is_planned = |&&other: &&usize| self.buffers[self.values[other].buffer].home == Home::Arena;
                self.steps[taker].writes.iter().filter(small).find(is_planned).map(|&other| (taker, other))
            })?;
            let mut program = self.clone();
            program.values[culprit].buffer = buffer;
            for read in program.steps[taker].reads.iter_mut().filter(|read| read.value == value) {
                read.is_consumed = true;
            }
            Some(self.expect(program, value, reader, Some(culprit)))
        })
    }

    /// Moves the first view that is read by one alignment.
    fn plant_view(&self) -> Option<Planted> {
        let is_view = |value: usize| self.values[value].tag as usize != value && self.buffers[self.values[value].buffer].home == Home::Arena;
        let (value, reader) = self
            .steps
            .iter()
            .enumerate()
            .find_map(|(reader, step)| step.reads.iter().find(|read| is_view(read.value)).map(|read| (read.value, reader)))?;
        let mut program = self.clone();
        let shift = self.align.max(4).min(self.values[value].bytes);
        program.values[value].shift = shift;
        // It keeps its end, so that it stays inside the arena.
        program.values[value].bytes = (self.values[value].bytes - shift).max(1);
        Some(self.expect(program, value, reader, None))
    }
}
