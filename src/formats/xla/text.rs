//! The lines of XLA's dumps.

use std::collections::HashMap;

/// What has been found in the texts of a module.
#[derive(Default)]
pub(super) struct Dump {
    pub(super) allocations: Vec<Allocation>,
    /// For each value, `name{index}`: the steps that write it first and read it last.
    pub(super) ranges: HashMap<String, (u64, u64)>,
}

/// One allocation of a module.
pub(super) struct Allocation {
    pub(super) number: u64,
    pub(super) bytes: u64,
    pub(super) is_temp: bool,
    kind: &'static str,
    pub(super) values: Vec<Value>,
}

/// One value in an allocation.
pub(super) struct Value {
    /// With its index: `fusion{0}`, `dot{}`.
    pub(super) name: String,
    pub(super) bytes: u64,
    pub(super) offset: u64,
}

impl Allocation {
    /// What it is for, in a word.
    pub(super) fn kind(&self) -> &'static str {
        self.kind
    }
}

/// Whether a text begins like one of the dumps.
pub(crate) fn is_dump(head: &str) -> bool {
    head.contains("BufferAssignment:")
        || head.contains("HloLiveRange")
        || head.contains("BufferLiveRange:")
        || head.lines().any(|line| allocation(line).is_some())
}

impl Dump {
    /// Adds what a text holds; lines that are neither are no matter.
    pub(super) fn add(&mut self, text: &str) {
        let mut in_ranges = false;
        let mut in_allocations = true;
        for line in text.lines() {
            if line.contains("BufferLiveRange:") {
                in_ranges = true;
            } else if line.contains("LiveRange at") || line.contains("BufferAssignment:") {
                in_ranges = false;
                in_allocations = true;
            } else if let Some(allocation) = allocation(line) {
                self.allocations.push(allocation);
                in_allocations = true;
            } else if line.trim_end().ends_with("Used values:") {
                // What follows lists uses, in lines that look like values of the last allocation.
                in_allocations = false;
            } else if let Some(value) = value(line).filter(|_| in_allocations)
                && let Some(last) = self.allocations.last_mut()
            {
                last.values.push(value);
            } else if in_ranges && let Some((name, range)) = range(line) {
                self.ranges.insert(name, range);
            }
        }
    }
}

/// `allocation 23: size 8388608, preallocated-temp:`
fn allocation(line: &str) -> Option<Allocation> {
    let (_, rest) = line.split_once("allocation ")?;
    let (number, rest) = rest.split_once(": size ")?;
    let number = number.parse().ok()?;
    let (size, attributes) = rest.split_once([',', ':']).unwrap_or((rest, ""));
    let bytes = size.trim().parse().ok()?;
    let has = |attribute: &str| attributes.contains(attribute);
    let kind = match () {
        () if has("preallocated-temp") => "temporary",
        () if has("thread-local") => "thread-local",
        () if has("parameter ") => "parameters",
        () if has("constant") && !has("output shape") => "constants",
        () if has("maybe-live-out") || has("output shape") => "outputs",
        () => "other",
    };
    Some(Allocation { number, bytes, is_temp: kind == "temporary", kind, values: Vec::new() })
}

/// ` value: <88 wrapped_broadcast{0} @0> (size=2097152,offset=0): f32[32,32,32,16]{3,2,1,0}`
fn value(line: &str) -> Option<Value> {
    let (_, rest) = line.split_once("value: <")?;
    let (label, rest) = rest.split_once("> (size=")?;
    let (_, name) = label.split_once(' ')?;
    let (name, _) = name.rsplit_once(" @")?;
    let (bytes, rest) = rest.split_once(",offset=")?;
    let (offset, _) = rest.split_once(')')?;
    let name = if name.ends_with('}') { name.to_owned() } else { format!("{name}{{}}") };
    let (bytes, offset) = (bytes.parse().ok()?, offset.parse().ok()?);
    is_plannable(bytes, offset).then_some(Value { name, bytes, offset })
}

/// Sums of sizes stay far from overflow.
fn is_plannable(bytes: u64, offset: u64) -> bool {
    bytes.checked_add(offset).is_some_and(|end| end < 1 << 62)
}

/// `    wrapped_broadcast{}:25-40`
fn range(line: &str) -> Option<(String, (u64, u64))> {
    let (name, range) = line.trim().rsplit_once(':')?;
    let (start, end) = range.split_once('-')?;
    let (start, end): (u64, u64) = (start.trim().parse().ok()?, end.trim().parse().ok()?);
    let name = name.rsplit_once(char::is_whitespace).map_or(name, |(_, name)| name);
    name.ends_with('}').then(|| (name.to_owned(), (start, end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_with_and_without_what_a_log_puts_in_front() {
        for prefix in ["", "I0000 00:00:1 cpu_compiler.cc:99] "] {
            let mut dump = Dump::default();
            dump.add(&format!(
                "{prefix}allocation 3: size 64, color 1, preallocated-temp:\n{prefix} value: <7 a b{{1}} @2> (size=8,offset=16): f32[2]{{0}}\n"
            ));
            dump.add(&format!("{prefix}  BufferLiveRange:\n{prefix}    fusion.1{{}}:2-9\n"));
            let allocation = &dump.allocations[0];
            assert_eq!((allocation.number, allocation.bytes, allocation.is_temp), (3, 64, true));
            let value = &allocation.values[0];
            assert_eq!((value.name.as_str(), value.bytes, value.offset), ("a b{1}", 8, 16));
            assert_eq!(dump.ranges["fusion.1{}"], (2, 9));
        }
    }
}
