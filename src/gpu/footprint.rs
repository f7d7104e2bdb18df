//! The measured curve inside the arena: which of its bytes have been written so far.
//!
//! From outside an arena is one flat line. The poison that it held at the start tells more: after every step the
//! device counts the bytes that are no longer poison, and the plan says how many those should be.

use crate::device::{Device, DeviceError, Range};
use crate::program::{Home, Program};
use crate::protocol::Event;

/// The plan's side of the scan.
pub(crate) struct Footprint {
    arena_bytes: u64,
    /// Per step what it writes into the arena, as begin and end; gaps, which hold canaries, come first.
    writes: Vec<Vec<(u64, u64)>>,
    /// Disjoint ranges that are no longer poison, ascending.
    touched: Vec<(u64, u64)>,
}

impl Footprint {
    pub(crate) fn new(program: &Program) -> Self {
        let range = |value: usize| {
            let (home, begin, end) = program.range(value);
            (home == Home::Arena).then_some((begin, end.min(program.arena_bytes)))
        };
        let mut writes: Vec<Vec<(u64, u64)>> =
            program.steps.iter().map(|step| step.writes.iter().filter_map(|&value| range(value)).collect()).collect();
        let sources = (0..program.values.len()).filter(|&value| program.values[value].written_at.is_none()).filter_map(range);
        writes[0].extend(sources);
        Self { arena_bytes: program.arena_bytes, writes, touched: program.gaps() }
    }

    /// Asks the device, and says what it answers beside what the plan says.
    pub(crate) fn after_step(&mut self, device: &mut dyn Device, arena: u64, step: usize) -> Result<Event, DeviceError> {
        self.touched.append(&mut self.writes[step]);
        self.touched.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::with_capacity(self.touched.len());
        for &(begin, end) in &self.touched {
            match merged.last_mut() {
                Some(last) if begin <= last.1 => last.1 = last.1.max(end),
                _ => merged.push((begin, end)),
            }
        }
        self.touched = merged;
        let (touched_bytes, top_bytes) = device.footprint(Range { address: arena, bytes: self.arena_bytes })?;
        Ok(Event::Footprint {
            step,
            touched_bytes,
            top_bytes,
            predicted_touched_bytes: self.touched.iter().map(|&(begin, end)| end - begin).sum(),
            predicted_top_bytes: self.touched.last().map_or(0, |&(_, end)| end),
        })
    }
}
