//! Writes pickles as other programs do: by value for small cases, and a large snapshot by repeating a real one.

use std::collections::HashMap;
use std::io::Write;

use arenascope_planner::trace::{Action, Event, Trace};

/// Opcodes as they are put together by hand.
pub(crate) fn pickle(opcodes: &[&[u8]]) -> Vec<u8> {
    [&[&[0x80, 4][..]], opcodes].concat().concat()
}

/// A text.
pub(crate) fn text(value: &str) -> Vec<u8> {
    let length = u32::try_from(value.len()).expect("a short text");
    [&b"X"[..], &length.to_le_bytes(), value.as_bytes()].concat()
}

/// A number of 64 bits.
pub(crate) fn number(value: i64) -> Vec<u8> {
    [&[0x8a, 8], &value.to_le_bytes()[..]].concat()
}

/// A dict in one go, keys and values in turn.
pub(crate) fn dict(items: &[Vec<u8>]) -> Vec<u8> {
    [&b"}("[..], &items.concat(), b"u"].concat()
}

/// A list in one go.
pub(crate) fn list(items: &[Vec<u8>]) -> Vec<u8> {
    [&b"]("[..], &items.concat(), b"e"].concat()
}

/// Writes a snapshot of protocol 4 whose events are those of `trace`, `times` over, as Python writes it: events in
/// batches of 1000, dicts, lists and texts memoised, frames shared, and every `fresh`th event with a list of frames of
/// its own. Returns how many bytes were written. The events must leave nothing live behind, so that they can repeat.
pub(crate) fn write_repeated(out: &mut dyn Write, trace: &Trace, times: usize, fresh: usize) -> std::io::Result<u64> {
    let mut writer = Writer { out, bytes: 0, memo: 0, names: HashMap::new(), frames: HashMap::new(), stacks: HashMap::new() };
    writer.put(&[0x80, 4])?;
    writer.open(b'}')?;
    writer.name("segments")?;
    writer.segments(trace)?;
    writer.name("device_traces")?;
    writer.open(b']')?;
    writer.open(b']')?;
    let mut n_written = 0_usize;
    for round in 0..times {
        for event in trace.events() {
            writer.event(trace, event, round, (n_written + 1).is_multiple_of(fresh))?;
            n_written += 1;
            if n_written.is_multiple_of(1000) {
                writer.put(b"e(")?;
            }
        }
    }
    writer.put(b"eeu.")?;
    Ok(writer.bytes)
}

struct Writer<'a> {
    out: &'a mut dyn Write,
    bytes: u64,
    memo: u32,
    names: HashMap<String, u32>,
    frames: HashMap<u32, u32>,
    stacks: HashMap<u32, u32>,
}

impl Writer<'_> {
    fn put(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.bytes += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    /// An empty container, memoised, and a mark for its items.
    fn open(&mut self, code: u8) -> std::io::Result<u32> {
        self.put(&[code, 0x94, b'('])?;
        self.memo += 1;
        Ok(self.memo - 1)
    }

    fn fresh_text(&mut self, value: &str) -> std::io::Result<()> {
        let length = u8::try_from(value.len().min(250)).expect("at most 250");
        self.put(&[0x8c, length])?;
        self.put(&value.as_bytes()[..usize::from(length)])?;
        self.put(&[0x94])?;
        self.memo += 1;
        Ok(())
    }

    fn get(&mut self, memo: u32) -> std::io::Result<()> {
        match u8::try_from(memo) {
            Ok(short) => self.put(&[b'h', short]),
            Err(_) => self.put(&[&b"j"[..], &memo.to_le_bytes()].concat()),
        }
    }

    /// A text that is written once and then referred to.
    fn name(&mut self, value: &str) -> std::io::Result<()> {
        if let Some(&memo) = self.names.get(value) {
            return self.get(memo);
        }
        self.names.insert(value.to_owned(), self.memo);
        self.fresh_text(value)
    }

    fn number(&mut self, value: u64) -> std::io::Result<()> {
        match (u8::try_from(value), i32::try_from(value)) {
            (Ok(byte), _) => self.put(&[b'K', byte]),
            (_, Ok(word)) => self.put(&[&b"J"[..], &word.to_le_bytes()].concat()),
            _ => self.put(&[&[0x8a, 8], &value.to_le_bytes()[..]].concat()),
        }
    }

    fn field(&mut self, name: &str, value: u64) -> std::io::Result<()> {
        self.name(name)?;
        self.number(value)
    }

    fn segments(&mut self, trace: &Trace) -> std::io::Result<()> {
        self.open(b']')?;
        for segment in trace.segments().iter().filter(|segment| u64::from(segment.end) == trace.n_steps()) {
            self.open(b'}')?;
            for (name, value) in [("device", 0), ("address", segment.address), ("total_size", segment.bytes), ("stream", 0)] {
                self.field(name, value)?;
            }
            self.name("blocks")?;
            self.open(b']')?;
            let is_inside = |address: u64| segment.address <= address && address < segment.address_end();
            for block in trace.blocks().iter().filter(|block| u64::from(block.end) == trace.n_steps() && is_inside(block.address)) {
                self.open(b'}')?;
                for (name, value) in [("address", block.address), ("size", block.rounded_bytes), ("requested_size", block.requested_bytes)] {
                    self.field(name, value)?;
                }
                self.name("state")?;
                self.name("active_allocated")?;
                self.put(b"u")?;
            }
            self.put(b"eu")?;
        }
        self.put(b"e")
    }

    fn event(&mut self, trace: &Trace, event: &Event, round: usize, is_fresh: bool) -> std::io::Result<()> {
        let action = match event.action {
            Action::Alloc => "alloc",
            Action::FreeRequested => "free_requested",
            Action::FreeCompleted => "free_completed",
            _ => "snapshot",
        };
        self.open(b'}')?;
        self.name("action")?;
        self.name(action)?;
        for (name, value) in [("addr", event.address), ("size", event.bytes), ("stream", 0)] {
            self.field(name, value)?;
        }
        let later = 1_000_000 * u64::try_from(round).expect("a small number");
        self.field("time_us", event.time_us.unwrap_or(0).cast_unsigned() + later)?;
        self.name("compile_context")?;
        self.fresh_text("N/A")?;
        self.name("user_metadata")?;
        self.fresh_text("")?;
        self.name("frames")?;
        match self.stacks.get(&event.stack.0) {
            Some(&memo) if !is_fresh => self.get(memo)?,
            _ => self.stack(trace, event)?,
        }
        self.put(b"u")
    }

    fn stack(&mut self, trace: &Trace, event: &Event) -> std::io::Result<()> {
        let memo = self.open(b']')?;
        self.stacks.insert(event.stack.0, memo);
        for &id in trace.stacks().stack(event.stack) {
            if let Some(&memo) = self.frames.get(&id.0) {
                self.get(memo)?;
                continue;
            }
            let frame = trace.stacks().frame(id);
            let memo = self.open(b'}')?;
            self.frames.insert(id.0, memo);
            self.name("name")?;
            self.name(trace.stacks().text(frame.function))?;
            self.name("filename")?;
            self.name(trace.stacks().text(frame.file))?;
            self.field("line", frame.line.into())?;
            self.put(b"u")?;
        }
        self.put(b"e")
    }
}
