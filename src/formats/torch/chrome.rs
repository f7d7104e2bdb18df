//! Chrome traces of PyTorch's profiler: `[memory]` events, named by the operators that run around them.
//!
//! Each `[memory]` event has an address and a number of bytes, negative for a release. Events are put in order of time
//! and paired by address like those of a snapshot. The stack of an allocation is what runs on its thread at that time:
//! operators (`cpu_op`) and, if they were recorded, Python functions, innermost first.
//! `Total Allocated` of the first event says what was in use before; what no release accounts for becomes one block of
//! unknown address.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io::{BufReader, Read};

use arenascope_planner::recording::Recording;
use arenascope_planner::stacks::{Frame, FrameId, StackId, StackTable, TextId};
use arenascope_planner::trace::{Action, Event, Trace};
use arenascope_planner::workload::{Warning, Workload};
use serde::Deserializer as _;
use serde::de::{Deserialize, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::chrome_event::{RawEvent, Span};
use super::devices::{Device, choose};
use super::labels::is_helper;
use super::polled::{Polled, Position};
use super::snapshot::of_trace;
use super::{CHROME_FORMAT, Reading};
use crate::error::{FormatError, one_line};

/// Calls of a stack that are kept, the innermost ones.
const MAX_DEPTH: usize = 64;
/// The device type of the host in `c10::DeviceType`.
const HOST: i64 = 0;
/// Who chose the addresses.
const TOOL: &str = "PyTorch's allocator";
/// One allocation or release.
#[derive(Clone, Copy)]
struct Memory {
    time_us: f64,
    thread: TextId,
    address: u64,
    /// Negative for a release.
    bytes: i64,
    total_allocated: Option<i64>,
    device: (i64, i64),
}

/// What is read of a trace.
struct Content {
    stacks: StackTable,
    memory: Vec<Memory>,
    spans: Vec<Span>,
}

/// Reads a Chrome trace.
pub(crate) fn read<R: Read>(reading: &Reading<'_>, source: R) -> Result<Workload, FormatError> {
    let position = Position::default();
    let polled = BufReader::with_capacity(1 << 16, Polled { source, reading, position: &position });
    let mut parser = serde_json::Deserializer::from_reader(polled);
    let content = parser.deserialize_any(Top).and_then(|content| parser.end().map(|()| content));
    let mut content = content.map_err(|error| reading.json_error(&error, &position))?;
    if content.memory.is_empty() {
        let what = "the trace has no `[memory]` events";
        return Err(reading.entry("traceEvents", what, "record it with torch.profiler.profile(profile_memory=True)"));
    }
    let (number, several) = choose(reading, &devices(&content.memory))?;
    content.memory.retain(|memory| device_number(memory.device) == number);
    content.memory.sort_by(|a, b| a.time_us.total_cmp(&b.time_us));
    let reported_peak = content.memory.iter().filter_map(|memory| memory.total_allocated).max();
    let trace = trace(content).map_err(|error| FormatError::Graph { path: reading.path().to_owned(), reason: error.to_string() })?;
    let warnings = several.into_iter().chain(warnings(&trace, reported_peak)).collect();
    Ok(of_trace(reading, CHROME_FORMAT, TOOL, trace, warnings))
}

/// The number by which a device is asked for: −1 is the host.
fn device_number((kind, index): (i64, i64)) -> i64 {
    if kind == HOST { -1 } else { index }
}

fn device_name(number: i64) -> String {
    if number < 0 { "cpu".to_owned() } else { format!("device {number}") }
}

fn devices(memory: &[Memory]) -> Vec<Device> {
    let mut devices: BTreeMap<i64, Device> = BTreeMap::new();
    for event in memory {
        let number = device_number(event.device);
        let device = devices.entry(number).or_insert_with(|| Device { number, name: device_name(number), n_events: 0, bytes: 0 });
        device.n_events += 1;
    }
    devices.into_values().collect()
}

fn trace(content: Content) -> Result<Trace, arenascope_planner::recording::RecordingError> {
    let Content { mut stacks, memory, spans } = content;
    let stacks_of = stacks_of(&mut stacks, &memory, spans);
    let device = memory.first().map_or(-1, |memory| device_number(memory.device));
    let event = |(memory, &stack): (&Memory, &StackId)| Event {
        action: if memory.bytes < 0 { Action::FreeCompleted } else { Action::Alloc },
        address: memory.address,
        bytes: memory.bytes.unsigned_abs(),
        time_us: Some(whole(memory.time_us)),
        stack,
        block: None,
        stream: 0,
        pool: 0,
    };
    let before = memory.first().and_then(|first| first.total_allocated?.checked_sub(first.bytes)).and_then(|bytes| u64::try_from(bytes).ok());
    let recording = Recording {
        events: memory.iter().zip(&stacks_of).map(event).collect(),
        bytes_before: before,
        ..Recording::empty(device_name(device), stacks)
    };
    recording.into_trace()
}

fn whole(time_us: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "microseconds; what is out of range is clamped")]
    let whole = time_us.round() as i64;
    whole
}

/// The stack of each memory event, in order.
///
/// Per thread, spans and memory events are walked by time with the open spans on a stack; a span that begins at the
/// same time as another is inside it if it is shorter. Time O((spans + events) log), depth at most [`MAX_DEPTH`].
fn stacks_of(stacks: &mut StackTable, memory: &[Memory], spans: Vec<Span>) -> Vec<StackId> {
    let mut by_thread: HashMap<TextId, Vec<Span>> = HashMap::new();
    for span in spans {
        by_thread.entry(span.thread).or_default().push(span);
    }
    let mut of_thread: BTreeMap<TextId, Vec<usize>> = BTreeMap::new();
    for (index, event) in memory.iter().enumerate() {
        of_thread.entry(event.thread).or_default().push(index);
    }
    let mut result = vec![StackId::EMPTY; memory.len()];
    for (thread, events) in of_thread {
        let mut spans = by_thread.remove(&thread).unwrap_or_default();
        spans.sort_by(|a, b| a.begin_us.total_cmp(&b.begin_us).then(b.end_us.total_cmp(&a.end_us)));
        let mut spans = spans.into_iter().peekable();
        let mut open: Vec<Span> = Vec::new();
        for index in events {
            let time = memory[index].time_us;
            while let Some(span) = spans.next_if(|span| span.begin_us <= time) {
                open.retain(|outer| outer.end_us >= span.begin_us);
                open.push(span);
            }
            open.retain(|span| span.end_us >= time);
            result[index] = stack(stacks, &open);
        }
    }
    result
}

fn stack(stacks: &mut StackTable, open: &[Span]) -> StackId {
    let nothing = stacks.text_id("");
    let innermost: Vec<&Span> = open.iter().rev().take(MAX_DEPTH).collect();
    let frames: Vec<FrameId> = innermost.iter().map(|span| stacks.frame_id(Frame { function: span.name, file: nothing, line: 0 })).collect();
    stacks.stack_id(&frames, |stacks| producer(stacks, &innermost))
}

/// The operator that an allocation is for, and the line of Python around it.
fn producer(stacks: &StackTable, innermost: &[&Span]) -> String {
    let name = |span: &&Span| stacks.text(span.name);
    let operators = || innermost.iter().filter(|span| !span.is_python).map(name);
    let operator = operators().find(|operator| !is_helper(operator.strip_prefix("aten::").unwrap_or(operator))).or_else(|| operators().next());
    let is_own = |function: &str| {
        function.contains(".py(")
            && !["torch/", "site-packages", "dist-packages", "<"].iter().any(|part| function.starts_with(part) || function.contains("-packages"))
    };
    let line = innermost.iter().filter(|span| span.is_python).map(name).find(|function| is_own(function));
    match (operator, line) {
        (Some(operator), Some(line)) => format!("{} in {}", one_line(operator), one_line(line)),
        (Some(only), None) | (None, Some(only)) => one_line(only),
        (None, None) => String::new(),
    }
}

fn warnings(trace: &Trace, reported_peak: Option<i64>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let check = trace.check();
    if check.pre_existing_bytes > 0 {
        let n_old = trace.blocks().iter().filter(|block| block.is_pre_existing()).count();
        warnings.push(Warning::general(format!(
            "{n_old} blocks with {} bytes are older than the recording; they live from the first step, and what no release names is one block of unknown address",
            check.pre_existing_bytes
        )));
    }
    if let Some(peak) = reported_peak.and_then(|peak| u64::try_from(peak).ok()).filter(|&peak| peak != check.peak_bytes) {
        warnings.push(Warning::general(format!("the profiler counts a peak of {peak} bytes, the events make {}", check.peak_bytes)));
    }
    if check.odd_events > 0 {
        warnings.push(Warning::general(format!("{} events cannot be (a block freed or allocated twice, or without bytes)", check.odd_events)));
    }
    warnings
}

/// The whole file: an object with `traceEvents`, or the list of events alone.
struct Top;

impl<'de> Visitor<'de> for Top {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `traceEvents`, or a list of events")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Content, A::Error> {
        let mut content = Content { stacks: StackTable::default(), memory: Vec::new(), spans: Vec::new() };
        while let Some(key) = map.next_key::<String>()? {
            if key == "traceEvents" {
                content = map.next_value::<Content>()?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(content)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Content, A::Error> {
        Events.visit_seq(seq)
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Events)
    }
}

/// The list of events: what is of no use is dropped as soon as it is read.
struct Events;

impl<'de> Visitor<'de> for Events {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Content, A::Error> {
        let mut content = Content { stacks: StackTable::default(), memory: Vec::new(), spans: Vec::new() };
        while let Some(event) = seq.next_element::<RawEvent>()? {
            let thread = |stacks: &mut StackTable| stacks.text_id(&format!("{} {}", event.process, event.thread));
            if let Some(span) = event.span() {
                let thread = thread(&mut content.stacks);
                let name = content.stacks.text_id(&event.name);
                content.spans.push(Span { thread, name, ..span });
            } else if event.name == "[memory]"
                && let (Some(address), Some(bytes), Some(time_us)) = (event.args.address, event.args.bytes, event.time_us)
            {
                content.memory.push(Memory {
                    time_us,
                    thread: thread(&mut content.stacks),
                    address: address.cast_unsigned(),
                    bytes,
                    total_allocated: event.args.total_allocated,
                    device: (event.args.device_kind.unwrap_or(HOST), event.args.device_index.unwrap_or(-1)),
                });
            }
        }
        Ok(content)
    }
}
