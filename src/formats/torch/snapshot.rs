//! From the values of a snapshot file to a trace.

use std::collections::BTreeMap;
use std::sync::Arc;

use arenascope_planner::recording::{EndBlock, Recording, Rounding};
use arenascope_planner::trace::{Action, Annotation, Event, Segment, Trace};
use arenascope_planner::workload::{ObservedPlan, Source, Warning, Workload};

use super::devices::{Device, choose};
use super::store::{Store, Value, amount};
use super::{Reading, SNAPSHOT_FORMAT, fields};
use crate::error::{FormatError, one_line};

/// Every size is rounded up to a multiple of this (`kMinBlockSize` in `CUDACachingAllocator.cpp`).
const UNIT_BYTES: u64 = 512;
/// Who chose the addresses.
const TOOL: &str = "PyTorch's caching allocator";

/// The workload of a snapshot whose value is `root`.
pub(super) fn workload(reading: &Reading<'_>, root: Value, mut store: Store) -> Result<Workload, FormatError> {
    let parts = parts(reading, &store, root)?;
    let segments = segments(reading, &mut store, &parts)?;
    let (device, several) = choose(reading, &devices(&store, &parts, &segments))?;
    let mut warnings: Vec<Warning> = several.into_iter().collect();
    warnings.extend(facts(&store, root, &parts));
    let events = parts.traces.get(usize::try_from(device).unwrap_or(usize::MAX)).copied();
    let recording = recording(&mut store, root, device, segments, events, parts.settings);
    drop(store);
    let trace = recording.into_trace().map_err(|error| FormatError::Graph { path: reading.path().to_owned(), reason: error.to_string() })?;
    warnings.extend(trace_warnings(&trace, parts.is_list));
    Ok(of_trace(reading, SNAPSHOT_FORMAT, TOOL, trace, warnings))
}

/// A workload around a trace.
pub(super) fn of_trace(reading: &Reading<'_>, format: &'static str, tool: &str, trace: Trace, warnings: Vec<Warning>) -> Workload {
    let observed = (!trace.blocks().is_empty()).then(|| ObservedPlan {
        tool: tool.to_owned(),
        offsets: trace.offsets().into_iter().map(Some).collect(),
        arena_bytes: None,
    });
    Workload {
        file: reading.origin.file.clone(),
        format,
        title: String::new(),
        description: String::new(),
        source: Source::Trace(Arc::new(trace)),
        constraints: None,
        observed,
        symbolic_dims: Vec::new(),
        warnings,
    }
}

/// The lists of a snapshot.
struct Parts {
    segments: Vec<Value>,
    traces: Vec<Value>,
    settings: Option<Value>,
    /// Whether the file is a bare list of segments.
    is_list: bool,
}

fn parts(reading: &Reading<'_>, store: &Store, root: Value) -> Result<Parts, FormatError> {
    if let Value::List(_) = root {
        let segments = store.list_items(root);
        if !segments.is_empty() && segments.iter().all(|&segment| store.field(segment, fields::BLOCKS).is_some()) {
            return Ok(Parts { segments, traces: Vec::new(), settings: None, is_list: true });
        }
    }
    let (segments, traces) = (store.field(root, fields::SEGMENTS), store.field(root, fields::DEVICE_TRACES));
    if segments.is_none() && traces.is_none() {
        let what = "this is plain data, but no memory snapshot: neither `segments` nor `device_traces` is in it";
        return Err(reading.entry("top level", what, "write the file with torch.cuda.memory._dump_snapshot"));
    }
    Ok(Parts {
        segments: segments.map(|list| store.list_items(list)).unwrap_or_default(),
        traces: traces.map(|list| store.list_items(list)).unwrap_or_default(),
        settings: store.field(root, fields::ALLOCATOR_SETTINGS),
        is_list: false,
    })
}

/// A segment of the file with its blocks in use.
struct SegmentRow {
    device: i64,
    segment: Segment,
    blocks: Vec<EndBlock>,
}

fn segments(reading: &Reading<'_>, store: &mut Store, parts: &Parts) -> Result<Vec<SegmentRow>, FormatError> {
    let mut rows = Vec::with_capacity(parts.segments.len());
    for (index, &value) in parts.segments.iter().enumerate() {
        let row = segment(store, value);
        rows.push(row.map_err(|what| reading.entry(&format!("segment {index}"), what, "write the snapshot again"))?);
    }
    Ok(rows)
}

fn segment(store: &mut Store, value: Value) -> Result<SegmentRow, String> {
    let number = |key| store.field(value, key);
    let address = match number(fields::ADDRESS) {
        Some(Value::Int(address)) => address.cast_unsigned(),
        _ => return Err("no `address`".to_owned()),
    };
    let bytes = number(fields::TOTAL_SIZE).map_or_else(|| Err("no `total_size`".to_owned()), amount)?;
    let device = if let Some(Value::Int(device)) = number(fields::DEVICE) { device } else { 0 };
    let stream = if let Some(Value::Int(stream)) = number(fields::STREAM) { stream.cast_unsigned() } else { 0 };
    let is_small = match number(fields::SEGMENT_TYPE) {
        Some(Value::Text(fields::SMALL)) => Some(true),
        Some(Value::Text(fields::LARGE)) => Some(false),
        _ => None,
    };
    let is_expandable = number(fields::IS_EXPANDABLE) == Some(Value::Bool(true));
    let listed = number(fields::BLOCKS).map(|blocks| store.list_items(blocks)).unwrap_or_default();
    let pool = store.field(value, fields::SEGMENT_POOL_ID).map_or(0, |pool| store.pool(pool));
    let stream = store.streams.position(stream);
    let segment = Segment { address, bytes, start: 0, end: 0, is_small, is_expandable, stream, pool };
    Ok(SegmentRow { device, segment, blocks: blocks_in_use(store, &segment, &listed) })
}

fn blocks_in_use(store: &Store, segment: &Segment, listed: &[Value]) -> Vec<EndBlock> {
    let mut blocks = Vec::new();
    let mut next = segment.address;
    for value in listed {
        let Value::Block(index) = value else { continue };
        let row = store.blocks[*index as usize];
        let address = row.address.unwrap_or(next);
        next = address.saturating_add(row.bytes);
        let requested_bytes = row.requested_bytes.filter(|&bytes| bytes > 0).unwrap_or(row.bytes);
        if row.is_active && requested_bytes > 0 {
            let (stream, pool) = (segment.stream, segment.pool);
            blocks.push(EndBlock { address, requested_bytes, rounded_bytes: row.bytes, stack: row.stack, stream, pool });
        }
    }
    blocks
}

fn devices(store: &Store, parts: &Parts, segments: &[SegmentRow]) -> Vec<Device> {
    let mut devices: BTreeMap<i64, Device> = BTreeMap::new();
    let new = |number: i64| Device { number, name: device_name(number), n_events: 0, bytes: 0 };
    for (number, &trace) in (0_i64..).zip(&parts.traces) {
        devices.entry(number).or_insert_with(|| new(number)).n_events = store.event_list(trace).len() as u64;
    }
    for row in segments {
        let device = devices.entry(row.device).or_insert_with(|| new(row.device));
        device.bytes = device.bytes.saturating_add(row.segment.bytes);
    }
    devices.into_values().collect()
}

fn device_name(number: i64) -> String {
    format!("cuda:{number}")
}

/// What the file says about itself that a reader must know.
fn facts(store: &Store, root: Value, parts: &Parts) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let is_filled = |key| store.field(root, key).is_some_and(|list| !store.list_items(list).is_empty());
    if is_filled(fields::HOST_SEGMENTS) || is_filled(fields::HOST_TRACES) {
        warnings.push(Warning::general("pinned memory of the host is recorded as well; it is not shown"));
    }
    let overflowed = parts.settings.and_then(|settings| store.field(settings, fields::TRACE_ALLOC_OVERFLOWED));
    if overflowed.is_some_and(|value| is_true(store, value)) {
        warnings.push(Warning::general("the recording was longer than its limit: the earliest events are lost, their blocks count as pre-existing"));
    }
    warnings
}

fn is_true(store: &Store, value: Value) -> bool {
    match value {
        Value::Bool(value) => value,
        Value::Int(value) => value != 0,
        Value::List(_) => store.list_items(value).contains(&Value::Bool(true)),
        Value::Dict(_) => store.text_fields(value).iter().any(|&(_, item)| item == Value::Bool(true)),
        _ => false,
    }
}

fn recording(store: &mut Store, root: Value, device: i64, segments: Vec<SegmentRow>, trace: Option<Value>, settings: Option<Value>) -> Recording {
    let has_segments = !segments.is_empty();
    let (mut end_blocks, mut end_segments) = (Vec::new(), Vec::new());
    for row in segments.into_iter().filter(|row| row.device == device) {
        end_blocks.extend(row.blocks);
        end_segments.push(row.segment);
    }
    let mut annotations = external_annotations(store, root, device);
    let rounding =
        Rounding { unit_bytes: UNIT_BYTES, power_of_two_divisions: settings.map(|settings| divisions(store, settings)).unwrap_or_default() };
    let wanted = trace.map(|trace| store.event_list(trace).to_vec()).unwrap_or_default();
    take_events(store, &wanted);
    annotations.extend(marks(store));
    Recording {
        events: std::mem::take(&mut store.events),
        end_blocks: has_segments.then_some(end_blocks),
        end_segments,
        rounding,
        streams: std::mem::take(&mut store.streams.list),
        pools: std::mem::take(&mut store.pools.list),
        annotations,
        notes: std::mem::take(&mut store.notes),
        device_free: std::mem::take(&mut store.device_free),
        ..Recording::empty(device_name(device), std::mem::take(&mut store.stacks))
    }
}

/// Keeps the events of one device, in its order.
fn take_events(store: &mut Store, wanted: &[u32]) {
    let is_all = wanted.len() == store.events.len() && wanted.iter().zip(0_u32..).all(|(&event, index)| event == index);
    if is_all {
        store.notes.sort_by_key(|note| note.event);
        return;
    }
    let mut position: Vec<Option<u32>> = vec![None; store.events.len()];
    for (index, &event) in (0_u32..).zip(wanted) {
        position[event as usize] = Some(index);
    }
    let kept: Vec<Event> = wanted.iter().map(|&event| store.events[event as usize]).collect();
    store.events = kept;
    store.notes.retain_mut(|note| position[note.event as usize].map(|index| note.event = index).is_some());
    store.notes.sort_by_key(|note| note.event);
    store.device_free.retain_mut(|(event, _)| position[*event as usize].map(|index| *event = index).is_some());
}

/// `roundup_power2_divisions`: divisions by the size in MiB from which they hold.
fn divisions(store: &Store, settings: Value) -> Vec<u64> {
    let Some(listed) = store.field(settings, fields::ROUNDUP_POWER2_DIVISIONS) else { return Vec::new() };
    let number = |(size, value): (&str, Value)| Some((size.parse::<u64>().ok()?, amount(value).ok()?));
    let mut by_size: Vec<(u64, u64)> = store.text_fields(listed).into_iter().filter_map(number).collect();
    by_size.sort_unstable();
    by_size.into_iter().map(|(_, divisions)| divisions).collect()
}

fn external_annotations(store: &Store, root: Value, device: i64) -> Vec<Annotation> {
    let Some(list) = store.field(root, fields::EXTERNAL_ANNOTATIONS) else { return Vec::new() };
    let is_of_device = |&item: &Value| store.field(item, fields::DEVICE).is_none_or(|value| value == Value::Int(device));
    let text = |item, key| if let Some(Value::Text(text)) = store.field(item, key) { one_line(store.stacks.text(text)) } else { String::new() };
    let items = store.list_items(list);
    items
        .into_iter()
        .filter(is_of_device)
        .map(|item| {
            let time_us = if let Some(Value::Int(time)) = store.field(item, fields::TIME_US) { Some(time) } else { None };
            Annotation { name: text(item, fields::NAME), stage: text(item, fields::STAGE), time_us, step: 0 }
        })
        .collect()
}

/// Marks among the events: their name and stage are the first frame's function and file, or their metadata.
fn marks(store: &Store) -> Vec<Annotation> {
    let mark = |(index, event): (usize, &Event)| {
        let first = store.notes.partition_point(|note| (note.event as usize) < index);
        let note = store.notes.get(first).filter(|note| note.event as usize == index).map(|note| note.text);
        let frame = store.stacks.stack(event.stack).first().map(|&frame| store.stacks.frame(frame));
        let name = frame.map(|frame| frame.function).or(note)?;
        let stage = frame.map_or("", |frame| store.stacks.text(frame.file));
        let stage = if stage.eq_ignore_ascii_case("start") || stage.eq_ignore_ascii_case("end") { stage.to_ascii_uppercase() } else { String::new() };
        Some(Annotation { name: one_line(store.stacks.text(name)), stage, time_us: event.time_us, step: 0 })
    };
    store.events.iter().enumerate().filter(|(_, event)| event.action == Action::Mark).filter_map(mark).collect()
}

/// What the trace itself shows.
fn trace_warnings(trace: &Trace, is_list: bool) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let check = trace.check();
    if trace.events().is_empty() {
        let why = if is_list { "the file lists segments only" } else { "no events were recorded" };
        warnings.push(Warning::general(format!("{why}: what is known is the state at the end, not how it came about")));
    } else if check.pre_existing_bytes > 0 {
        let n_old = trace.blocks().iter().filter(|block| block.is_pre_existing()).count();
        warnings.push(Warning::general(format!(
            "{n_old} blocks with {} bytes are older than the recording; they live from the first step",
            check.pre_existing_bytes
        )));
    }
    if !check.is_consistent() {
        warnings.push(Warning::general(format!(
            "the events do not explain the end: {} of {} blocks live there are listed with the same size, and {} bytes remain by the events but {} by the segments",
            check.same_size,
            check.live_at_end,
            check.end_bytes,
            check.listed_end_bytes.unwrap_or(0)
        )));
    }
    if check.odd_events > 0 {
        warnings.push(Warning::general(format!("{} events cannot be (a block freed or allocated twice, or without bytes)", check.odd_events)));
    }
    warnings.extend(unknown_actions(trace));
    warnings
}

fn unknown_actions(trace: &Trace) -> Vec<Warning> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for event in trace.events() {
        if let Action::Other(name) = event.action {
            *counts.entry(trace.stacks().text(name)).or_default() += 1;
        }
    }
    let said = |(name, count): (&str, u64)| Warning::at(one_line(name), format!("{count} events of this kind are kept but not understood"));
    counts.into_iter().map(said).collect()
}
