//! What a snapshot is made of while it is read: each event, block and frame becomes a row as soon as its dict closes.
//!
//! Both front ends (pickle and JSON) build values from the inside out and hand each closed list and dict to the
//! [`Store`]. A dict that is an event, a block or a frame is not kept: its fields go into columns, and a small number
//! stands for it from then on. So a file of millions of events takes some ten bytes per event beyond what it must.

use std::collections::HashMap;
use std::hash::Hash;

use arenascope_planner::stacks::{Frame, FrameId, StackId, StackTable, TextId};
use arenascope_planner::trace::{Action, Event, Note};

use super::fields;
use super::labels::allocating_line;

/// A value of the file; lists and dicts by position in the store.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Value {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(TextId),
    List(u32),
    Dict(u32),
    /// A dict without items so far; the number is the reader's own.
    NewDict(u32),
    Frame(FrameId),
    Event(u32),
    Block(u32),
}

/// A list, in the shortest form that holds its items.
enum List {
    Items(Vec<Value>),
    Stack(StackId),
    Events(Vec<u32>),
}

/// A dict that is no row, or the row that it has become.
enum Dict {
    Pairs(Vec<(Value, Value)>),
    Row(Value),
}

/// A block of a segment as the file has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockRow {
    pub(super) address: Option<u64>,
    pub(super) bytes: u64,
    pub(super) requested_bytes: Option<u64>,
    pub(super) is_active: bool,
    pub(super) stack: StackId,
}

/// Numbers that many events share, by position.
pub(super) struct Shared<T> {
    pub(super) list: Vec<T>,
    positions: HashMap<T, u16>,
}

impl<T: Copy + Eq + Hash> Shared<T> {
    fn new(first: T) -> Self {
        Self { list: vec![first], positions: HashMap::from([(first, 0)]) }
    }

    /// The position of a number; 0 if there are more distinct ones than positions.
    pub(super) fn position(&mut self, value: T) -> u16 {
        if let Some(&position) = self.positions.get(&value) {
            return position;
        }
        let Ok(position) = u16::try_from(self.list.len()) else { return 0 };
        self.list.push(value);
        self.positions.insert(value, position);
        position
    }
}

/// All values read so far.
pub(super) struct Store {
    pub(super) stacks: StackTable,
    pub(super) events: Vec<Event>,
    pub(super) notes: Vec<Note>,
    /// What the device had left, by event.
    pub(super) device_free: Vec<(u32, u64)>,
    pub(super) blocks: Vec<BlockRow>,
    pub(super) streams: Shared<u64>,
    pub(super) pools: Shared<(i64, i64)>,
    lists: Vec<List>,
    dicts: Vec<Dict>,
    /// About what the rows, lists, dicts and texts take.
    pub(super) memory_bytes: u64,
    /// What they may take; the reader raises it as it reads on.
    pub(super) limit_bytes: u64,
}

/// About what one entry takes, its share of the tables included.
mod cost {
    pub(super) const LIST: u64 = 32;
    pub(super) const VALUE: u64 = 16;
    pub(super) const DICT: u64 = 32;
    pub(super) const TEXT: u64 = 96;
    pub(super) const FRAME: u64 = 48;
    pub(super) const STACK: u64 = 96;
    /// A row, and a block of the trace for one event in three.
    pub(super) const EVENT: u64 = 64;
    pub(super) const NOTE: u64 = 12;
    pub(super) const BLOCK: u64 = 160;
}

/// How much memory the content of `read_bytes` bytes may take: six times as much, and 64 MiB in any case. Real files
/// take about as much as they have.
pub(super) fn memory_limit(read_bytes: u64) -> u64 {
    read_bytes.saturating_mul(6).saturating_add(64 << 20)
}

/// The next position of a list; files are refused long before there are 2^32 of anything.
fn position(length: usize) -> Result<u32, String> {
    u32::try_from(length).map_err(|_| "more than 2^32 entries".to_owned())
}

impl Store {
    pub(super) fn new() -> Self {
        Self {
            stacks: fields::table(),
            events: Vec::new(),
            notes: Vec::new(),
            device_free: Vec::new(),
            blocks: Vec::new(),
            streams: Shared::new(0),
            pools: Shared::new((0, 0)),
            lists: Vec::new(),
            dicts: Vec::new(),
            memory_bytes: 0,
            limit_bytes: memory_limit(0),
        }
    }

    /// Counts memory, and refuses what a file of this size does not need.
    pub(super) fn spend(&mut self, bytes: u64) -> Result<(), String> {
        self.memory_bytes = self.memory_bytes.saturating_add(bytes);
        if self.memory_bytes > self.limit_bytes {
            return Err(format!("its content takes more than {} bytes of memory, which no real snapshot of this size does", self.limit_bytes));
        }
        Ok(())
    }

    /// A text of the file.
    pub(super) fn text(&mut self, text: &str) -> Result<TextId, String> {
        let before = self.stacks.n_texts();
        let id = self.stacks.text_id(text);
        if self.stacks.n_texts() > before {
            self.spend(cost::TEXT + text.len() as u64)?;
        }
        Ok(id)
    }

    /// A list without items.
    pub(super) fn new_list(&mut self) -> Result<Value, String> {
        self.spend(cost::LIST)?;
        self.lists.push(List::Items(Vec::new()));
        position(self.lists.len() - 1).map(Value::List)
    }

    /// Adds items to a list.
    pub(super) fn extend(&mut self, list: Value, items: &[Value]) -> Result<(), String> {
        let Value::List(list) = list else { return Err("items are added to what is no list".to_owned()) };
        if items.is_empty() {
            return Ok(());
        }
        let items: Vec<Value> = items.iter().map(|&item| self.settled(item)).collect::<Result<_, _>>()?;
        let index = list as usize;
        let is_new = matches!(&self.lists[index], List::Items(old) if old.is_empty());
        if let Some(frames) = all(&items, |item| if let Value::Frame(frame) = item { Some(frame) } else { None })
            && (is_new || matches!(self.lists[index], List::Stack(_)))
        {
            self.lists[index] = List::Stack(self.longer_stack(index, &frames)?);
            return Ok(());
        }
        if let Some(events) = all(&items, |item| if let Value::Event(event) = item { Some(event) } else { None })
            && (is_new || matches!(self.lists[index], List::Events(_)))
        {
            match &mut self.lists[index] {
                List::Events(old) => old.extend(events),
                other => *other = List::Events(events),
            }
            return Ok(());
        }
        self.spend(cost::VALUE * items.len() as u64)?;
        let mut old = self.items(list);
        old.extend(items);
        self.lists[index] = List::Items(old);
        Ok(())
    }

    fn longer_stack(&mut self, index: usize, frames: &[FrameId]) -> Result<StackId, String> {
        let mut all = match self.lists[index] {
            List::Stack(stack) => self.stacks.stack(stack).to_vec(),
            _ => Vec::new(),
        };
        all.extend_from_slice(frames);
        let before = self.stacks.n_stacks();
        let stack = self.stacks.stack_id(&all, |stacks| allocating_line(stacks, &all));
        if self.stacks.n_stacks() > before {
            self.spend(cost::STACK + 8 * all.len() as u64)?;
        }
        Ok(stack)
    }

    /// The items of a list, taken out of it if it holds them as such.
    fn items(&mut self, list: u32) -> Vec<Value> {
        match &mut self.lists[list as usize] {
            List::Items(items) => std::mem::take(items),
            List::Events(events) => events.iter().copied().map(Value::Event).collect(),
            List::Stack(stack) => self.stacks.stack(*stack).iter().copied().map(Value::Frame).collect(),
        }
    }

    /// A dict of its first items, keys and values in turn: a row if its keys say so.
    pub(super) fn dict(&mut self, pairs: &[Value]) -> Result<Value, String> {
        if let Some(row) = self.row(pairs)? {
            return Ok(row);
        }
        self.spend(cost::DICT + cost::VALUE * pairs.len() as u64)?;
        self.dicts.push(Dict::Pairs(paired(pairs)));
        position(self.dicts.len() - 1).map(Value::Dict)
    }

    /// Adds items to a dict that has some.
    pub(super) fn add_items(&mut self, dict: Value, pairs: &[Value]) -> Result<(), String> {
        match dict {
            Value::Event(event) => self.event_fields(event, pairs),
            Value::Block(block) => {
                self.block_fields(block as usize, pairs);
                Ok(())
            }
            Value::Dict(index) => match &mut self.dicts[index as usize] {
                Dict::Pairs(old) => {
                    old.extend(paired(pairs));
                    self.spend(cost::VALUE * pairs.len() as u64)
                }
                Dict::Row(row) => {
                    let row = *row;
                    self.add_items(row, pairs)
                }
            },
            _ => Err("fields are added to what is no dict".to_owned()),
        }
    }

    /// A dict that was built field by field as the row that it is.
    fn settled(&mut self, value: Value) -> Result<Value, String> {
        let Value::Dict(index) = value else { return Ok(value) };
        let pairs: Vec<Value> = match &self.dicts[index as usize] {
            Dict::Row(row) => return Ok(*row),
            Dict::Pairs(pairs) => pairs.iter().flat_map(|&(key, value)| [key, value]).collect(),
        };
        Ok(match self.row(&pairs)? {
            Some(row) => {
                self.dicts[index as usize] = Dict::Row(row);
                row
            }
            None => value,
        })
    }

    /// The row of a dict, if its keys are those of one.
    fn row(&mut self, pairs: &[Value]) -> Result<Option<Value>, String> {
        let has = |key: TextId| pairs.chunks_exact(2).any(|pair| pair[0] == Value::Text(key));
        if has(fields::ACTION) {
            let event = position(self.events.len())?;
            self.spend(cost::EVENT)?;
            self.events.push(Event {
                action: Action::Other(TextId(0)),
                address: 0,
                bytes: 0,
                time_us: None,
                stack: StackId::EMPTY,
                block: None,
                stream: 0,
                pool: 0,
            });
            self.event_fields(event, pairs)?;
            return Ok(Some(Value::Event(event)));
        }
        if has(fields::FILENAME) && (has(fields::NAME) || has(fields::LINE)) {
            return self.frame(pairs).map(|frame| Some(Value::Frame(frame)));
        }
        if has(fields::STATE) && has(fields::SIZE) {
            let block = position(self.blocks.len())?;
            self.spend(cost::BLOCK)?;
            self.blocks.push(BlockRow { address: None, bytes: 0, requested_bytes: None, is_active: false, stack: StackId::EMPTY });
            self.block_fields(block as usize, pairs);
            return Ok(Some(Value::Block(block)));
        }
        Ok(None)
    }

    fn event_fields(&mut self, event: u32, pairs: &[Value]) -> Result<(), String> {
        let mut row = self.events[event as usize];
        for pair in pairs.chunks_exact(2) {
            let Value::Text(key) = pair[0] else { continue };
            match (key, pair[1]) {
                (fields::ACTION, Value::Text(name)) => row.action = fields::action(name),
                (fields::ADDR, value) => row.address = bytes(value)?,
                (fields::SIZE, value) => row.bytes = amount(value)?,
                (fields::TIME_US, Value::Int(time)) => row.time_us = Some(time),
                (fields::STREAM, Value::Int(stream)) => row.stream = self.streams.position(stream.cast_unsigned()),
                (fields::FRAMES, frames) => row.stack = self.stack_of(frames),
                (fields::POOL_ID | fields::SEGMENT_POOL_ID, pool) => row.pool = self.pool(pool),
                (fields::DEVICE_FREE, value) => self.device_free.push((event, amount(value)?)),
                (fields::COMPILE_CONTEXT | fields::USER_METADATA | fields::INTERNAL_METADATA, value) => self.note(event, key, value)?,
                _ => {}
            }
        }
        self.events[event as usize] = row;
        Ok(())
    }

    fn note(&mut self, event: u32, field: TextId, value: Value) -> Result<(), String> {
        let text = match value {
            Value::Text(TextId(0) | fields::NOT_AVAILABLE) | Value::None | Value::NewDict(_) => return Ok(()),
            Value::Text(text) => text,
            Value::Dict(index) => {
                let text = match &self.dicts[index as usize] {
                    Dict::Row(Value::Text(text)) => *text,
                    _ => {
                        let text = self.shown(value, 0);
                        self.text(&text)?
                    }
                };
                // The dict is spoken of by many events; its text is made once.
                self.dicts[index as usize] = Dict::Row(Value::Text(text));
                text
            }
            other => {
                let text = self.shown(other, 0);
                self.text(&text)?
            }
        };
        self.spend(cost::NOTE)?;
        self.notes.push(Note { event, field, text });
        Ok(())
    }

    fn frame(&mut self, pairs: &[Value]) -> Result<FrameId, String> {
        let mut frame = Frame { function: TextId(0), file: TextId(0), line: 0 };
        for pair in pairs.chunks_exact(2) {
            match (pair[0], pair[1]) {
                (Value::Text(fields::NAME), Value::Text(name)) => frame.function = name,
                (Value::Text(fields::FILENAME), Value::Text(file)) => frame.file = file,
                (Value::Text(fields::LINE), Value::Int(line)) => frame.line = u32::try_from(line).unwrap_or(0),
                _ => {}
            }
        }
        let before = self.stacks.n_frames();
        let id = self.stacks.frame_id(frame);
        if self.stacks.n_frames() > before {
            self.spend(cost::FRAME)?;
        }
        Ok(id)
    }

    fn block_fields(&mut self, block: usize, pairs: &[Value]) {
        let mut row = self.blocks[block];
        for pair in pairs.chunks_exact(2) {
            match (pair[0], pair[1]) {
                (Value::Text(fields::ADDRESS), value) => row.address = bytes(value).ok(),
                (Value::Text(fields::SIZE), value) => row.bytes = amount(value).unwrap_or(0),
                (Value::Text(fields::REQUESTED_SIZE), value) => row.requested_bytes = amount(value).ok(),
                (Value::Text(fields::STATE), Value::Text(state)) => row.is_active = state != fields::INACTIVE,
                (Value::Text(fields::FRAMES), frames) => row.stack = self.stack_of(frames),
                (Value::Text(fields::HISTORY), Value::List(history)) => self.block_history(&mut row, history),
                _ => {}
            }
        }
        self.blocks[block] = row;
    }

    /// Old files: the latest entry of a block's history has its requested size and its frames.
    fn block_history(&mut self, row: &mut BlockRow, history: u32) {
        let List::Items(items) = &self.lists[history as usize] else { return };
        let Some(&latest) = items.first() else { return };
        row.requested_bytes = row.requested_bytes.or(self.field(latest, fields::REAL_SIZE).and_then(|size| amount(size).ok()));
        if let Some(frames) = self.field(latest, fields::FRAMES) {
            row.stack = self.stack_of(frames);
        }
    }

    /// The stack that a list of frames is; the empty one for anything else.
    fn stack_of(&self, frames: Value) -> StackId {
        match frames {
            Value::List(list) => match &self.lists[list as usize] {
                List::Stack(stack) => *stack,
                _ => StackId::EMPTY,
            },
            _ => StackId::EMPTY,
        }
    }

    /// The position of a pair of numbers among the pools.
    pub(super) fn pool(&mut self, value: Value) -> u16 {
        match self.list_items(value).as_slice() {
            [Value::Int(owner), Value::Int(id)] => self.pools.position((*owner, *id)),
            _ => 0,
        }
    }

    /// A field of a dict; the last one if it is there twice.
    pub(super) fn field(&self, dict: Value, key: TextId) -> Option<Value> {
        let Value::Dict(index) = dict else { return None };
        let Dict::Pairs(pairs) = &self.dicts[index as usize] else { return None };
        pairs.iter().rev().find(|(name, _)| *name == Value::Text(key)).map(|&(_, value)| value)
    }

    /// The items of a list or tuple; empty for anything else.
    pub(super) fn list_items(&self, list: Value) -> Vec<Value> {
        let Value::List(index) = list else { return Vec::new() };
        match &self.lists[index as usize] {
            List::Items(items) => items.clone(),
            List::Events(events) => events.iter().copied().map(Value::Event).collect(),
            List::Stack(stack) => self.stacks.stack(*stack).iter().copied().map(Value::Frame).collect(),
        }
    }

    /// The events that a list holds, without a copy of its own; empty for anything else.
    pub(super) fn event_list(&self, list: Value) -> &[u32] {
        match list {
            Value::List(index) => match &self.lists[index as usize] {
                List::Events(events) => events,
                _ => &[],
            },
            _ => &[],
        }
    }

    /// The pairs of a dict with texts as keys.
    pub(super) fn text_fields(&self, dict: Value) -> Vec<(&str, Value)> {
        let Value::Dict(index) = dict else { return Vec::new() };
        let Dict::Pairs(pairs) = &self.dicts[index as usize] else { return Vec::new() };
        let named = |&(key, value)| if let Value::Text(key) = key { Some((self.stacks.text(key), value)) } else { None };
        pairs.iter().filter_map(named).collect()
    }

    /// A value as a short text.
    pub(super) fn shown(&self, value: Value, depth: usize) -> String {
        /// Chosen by eye: metadata is a few words.
        const MAX_ITEMS: usize = 16;
        const MAX_DEPTH: usize = 4;
        match value {
            Value::None => "None".to_owned(),
            Value::Bool(value) => value.to_string(),
            Value::Int(value) => value.to_string(),
            Value::Float(value) => value.to_string(),
            Value::Text(text) => crate::error::one_line(self.stacks.text(text)),
            Value::List(_) if depth < MAX_DEPTH => {
                let items: Vec<String> = self.list_items(value).iter().take(MAX_ITEMS).map(|&item| self.shown(item, depth + 1)).collect();
                format!("[{}]", items.join(", "))
            }
            Value::Dict(_) if depth < MAX_DEPTH => {
                let fields = self.text_fields(value);
                let shown =
                    fields.iter().take(MAX_ITEMS).map(|(key, value)| format!("{}={}", crate::error::one_line(key), self.shown(*value, depth + 1)));
                shown.collect::<Vec<_>>().join(", ")
            }
            _ => "…".to_owned(),
        }
    }
}

/// All items as one kind, or `None` if one is of another; `None` for no items.
fn all<T>(items: &[Value], kind: impl Fn(Value) -> Option<T>) -> Option<Vec<T>> {
    if items.is_empty() { None } else { items.iter().map(|&item| kind(item)).collect() }
}

fn paired(pairs: &[Value]) -> Vec<(Value, Value)> {
    pairs.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
}

/// A number of 64 bits, whatever its sign: addresses beyond 2^63 are written as negative numbers by some writers.
fn bytes(value: Value) -> Result<u64, String> {
    match value {
        Value::Int(number) => Ok(number.cast_unsigned()),
        _ => Err("an address is no number".to_owned()),
    }
}

/// A number of bytes.
pub(super) fn amount(value: Value) -> Result<u64, String> {
    match value {
        Value::Int(number) => u64::try_from(number).map_err(|_| format!("a size is negative ({number})")),
        _ => Err("a size is no number".to_owned()),
    }
}
