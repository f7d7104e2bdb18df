//! A reader of Python's pickle format that knows plain data and nothing else.
//!
//! A pickle is a program for a small stack machine. Of its opcodes only those that make dicts, lists, tuples, texts,
//! numbers, truth values and `None` are carried out; one that would import or call something is refused with its name
//! and its offset, so that a file can do nothing but be read.
//! Source: the opcode table of Python's `pickletools`, protocols 2 to 5.
//!
//! Dicts are built late: an empty one is only a note until its items come, so that a dict that turns out to be an event
//! never exists as a dict (see [`super::store`]).
//!
//! Memory: what the [`Store`] holds, 16 bytes per memoised value and per value on the stack, together at most what
//! [`memory_limit`] allows for the bytes read so far; lengths in the file are not trusted.

use std::collections::HashMap;
use std::io::Read;

use super::Reading;
use super::bytes::{Bytes, Missing};
use super::store::{Store, Value, memory_limit};
use crate::error::FormatError;

/// A dict without items that is not memoised.
const UNNAMED: u32 = u32::MAX;

/// The opcodes that are carried out.
mod op {
    pub(super) const MARK: u8 = b'(';
    pub(super) const STOP: u8 = b'.';
    pub(super) const POP: u8 = b'0';
    pub(super) const POP_MARK: u8 = b'1';
    pub(super) const DUP: u8 = b'2';
    pub(super) const BINFLOAT: u8 = b'G';
    pub(super) const BININT: u8 = b'J';
    pub(super) const BININT1: u8 = b'K';
    pub(super) const BININT2: u8 = b'M';
    pub(super) const NONE: u8 = b'N';
    pub(super) const SHORT_BINSTRING: u8 = b'U';
    pub(super) const BINSTRING: u8 = b'T';
    pub(super) const BINUNICODE: u8 = b'X';
    pub(super) const SHORT_BINBYTES: u8 = b'C';
    pub(super) const BINBYTES: u8 = b'B';
    pub(super) const EMPTY_LIST: u8 = b']';
    pub(super) const APPEND: u8 = b'a';
    pub(super) const APPENDS: u8 = b'e';
    pub(super) const LIST: u8 = b'l';
    pub(super) const EMPTY_TUPLE: u8 = b')';
    pub(super) const TUPLE: u8 = b't';
    pub(super) const EMPTY_DICT: u8 = b'}';
    pub(super) const DICT: u8 = b'd';
    pub(super) const SETITEM: u8 = b's';
    pub(super) const SETITEMS: u8 = b'u';
    pub(super) const BINGET: u8 = b'h';
    pub(super) const LONG_BINGET: u8 = b'j';
    pub(super) const BINPUT: u8 = b'q';
    pub(super) const LONG_BINPUT: u8 = b'r';
    pub(super) const PROTO: u8 = 0x80;
    pub(super) const TUPLE1: u8 = 0x85;
    pub(super) const TUPLE2: u8 = 0x86;
    pub(super) const TUPLE3: u8 = 0x87;
    pub(super) const NEWTRUE: u8 = 0x88;
    pub(super) const NEWFALSE: u8 = 0x89;
    pub(super) const LONG1: u8 = 0x8a;
    pub(super) const LONG4: u8 = 0x8b;
    pub(super) const SHORT_BINUNICODE: u8 = 0x8c;
    pub(super) const BINUNICODE8: u8 = 0x8d;
    pub(super) const BINBYTES8: u8 = 0x8e;
    pub(super) const MEMOIZE: u8 = 0x94;
    pub(super) const FRAME: u8 = 0x95;
}

/// The opcodes that are refused, by name.
const REFUSED: [(u8, &str); 24] = [
    (b'c', "GLOBAL"),
    (0x93, "STACK_GLOBAL"),
    (b'R', "REDUCE"),
    (b'b', "BUILD"),
    (b'i', "INST"),
    (b'o', "OBJ"),
    (0x81, "NEWOBJ"),
    (0x92, "NEWOBJ_EX"),
    (b'P', "PERSID"),
    (b'Q', "BINPERSID"),
    (0x82, "EXT1"),
    (0x83, "EXT2"),
    (0x84, "EXT4"),
    (0x8f, "EMPTY_SET"),
    (0x90, "ADDITEMS"),
    (0x91, "FROZENSET"),
    (0x96, "BYTEARRAY8"),
    (0x97, "NEXT_BUFFER"),
    (0x98, "READONLY_BUFFER"),
    (b'I', "INT"),
    (b'L', "LONG"),
    (b'F', "FLOAT"),
    (b'p', "PUT"),
    (b'g', "GET"),
];

/// Why a pickle cannot be read.
enum Fault {
    Missing(Missing),
    Broken(String),
    Refused(&'static str),
    Stopped,
}

impl From<Missing> for Fault {
    fn from(missing: Missing) -> Self {
        Self::Missing(missing)
    }
}

impl From<String> for Fault {
    fn from(what: String) -> Self {
        Self::Broken(what)
    }
}

/// Reads one pickle: its value, and all that is in it.
pub(super) fn read<R: Read>(reading: &Reading<'_>, source: R) -> Result<(Value, Store), FormatError> {
    let mut machine = Machine {
        bytes: Bytes::new(source),
        store: Store::new(),
        stack: Vec::new(),
        marks: Vec::new(),
        memo: Vec::new(),
        sparse: HashMap::new(),
        items: Vec::new(),
    };
    let mut at = 0;
    match machine.run(reading, &mut at) {
        Ok(value) => Ok((value, machine.store)),
        Err(fault) => Err(reading.fault(fault, at, machine.bytes.offset())),
    }
}

impl Reading<'_> {
    /// The message for a fault of the opcode at byte `at`.
    fn fault(&self, fault: Fault, at: u64, end: u64) -> FormatError {
        match fault {
            Fault::Missing(Missing::End) => self.damaged(end, "the file ends in the middle of the pickle"),
            Fault::Missing(Missing::Failed(error)) => self.failed(&error, end),
            Fault::Broken(what) => self.damaged(at, what),
            Fault::Refused(opcode) => FormatError::Refused { path: self.path().to_owned(), offset: at, opcode },
            Fault::Stopped => FormatError::Stopped { path: self.path().to_owned() },
        }
    }
}

struct Machine<R> {
    bytes: Bytes<R>,
    store: Store,
    stack: Vec<Value>,
    /// Where on the stack each open mark is.
    marks: Vec<usize>,
    memo: Vec<Value>,
    /// Memoised values whose numbers leave gaps.
    sparse: HashMap<u32, Value>,
    /// The items of the opcode at hand.
    items: Vec<Value>,
}

impl<R: Read> Machine<R> {
    fn run(&mut self, reading: &Reading<'_>, at: &mut u64) -> Result<Value, Fault> {
        let mut polled = 0;
        loop {
            *at = self.bytes.offset();
            let code = self.bytes.next()?;
            if self.bytes.n_pieces != polled {
                polled = self.bytes.n_pieces;
                self.poll(reading, *at)?;
            }
            if code == op::STOP {
                return self.pop().map(|value| self.named(value));
            }
            self.carry_out(code)?;
        }
    }

    fn poll(&mut self, reading: &Reading<'_>, at: u64) -> Result<(), Fault> {
        if !reading.goes_on(at) {
            return Err(Fault::Stopped);
        }
        self.store.limit_bytes = memory_limit(at);
        let held = 16 * (self.stack.len() as u64 + self.marks.len() as u64);
        self.store.spend(held)?;
        self.store.memory_bytes -= held;
        Ok(())
    }

    /// One opcode; those of containers and of the memo are in [`Self::container`].
    #[inline]
    fn carry_out(&mut self, code: u8) -> Result<(), Fault> {
        let value = match code {
            op::BINGET => {
                let index = self.bytes.next()?.into();
                self.get(index)?
            }
            op::LONG_BINGET => {
                let index = u32::from_le_bytes(self.bytes.array()?);
                self.get(index)?
            }
            op::BININT => Value::Int(i32::from_le_bytes(self.bytes.array()?).into()),
            op::BININT1 => Value::Int(self.bytes.next()?.into()),
            op::BININT2 => Value::Int(u16::from_le_bytes(self.bytes.array()?).into()),
            op::LONG1 => {
                let length = self.bytes.next()?.into();
                self.long(length)?
            }
            op::LONG4 => {
                let length = u32::from_le_bytes(self.bytes.array()?);
                self.long(length as usize)?
            }
            op::SHORT_BINUNICODE | op::SHORT_BINSTRING | op::SHORT_BINBYTES => {
                let length = self.bytes.next()?.into();
                self.text(length)?
            }
            op::BINUNICODE | op::BINSTRING | op::BINBYTES => {
                let length = u32::from_le_bytes(self.bytes.array()?);
                self.text(length as usize)?
            }
            op::BINUNICODE8 | op::BINBYTES8 => {
                let length = u64::from_le_bytes(self.bytes.array()?);
                self.text(usize::try_from(length).map_err(|_| Missing::End)?)?
            }
            op::BINFLOAT => Value::Float(f64::from_be_bytes(self.bytes.array()?)),
            op::NONE => Value::None,
            op::NEWTRUE => Value::Bool(true),
            op::NEWFALSE => Value::Bool(false),
            op::EMPTY_DICT => Value::NewDict(UNNAMED),
            op::EMPTY_LIST | op::EMPTY_TUPLE => self.store.new_list()?,
            _ => return self.container(code),
        };
        self.stack.push(value);
        Ok(())
    }

    fn container(&mut self, code: u8) -> Result<(), Fault> {
        match code {
            op::MARK => self.marks.push(self.stack.len()),
            op::MEMOIZE => {
                let index = u32::try_from(self.memo.len() + self.sparse.len()).map_err(|_| "more than 2^32 memoised values".to_owned())?;
                self.put(index)?;
            }
            op::BINPUT => {
                let index = self.bytes.next()?.into();
                self.put(index)?;
            }
            op::LONG_BINPUT => {
                let index = u32::from_le_bytes(self.bytes.array()?);
                self.put(index)?;
            }
            op::SETITEMS => {
                self.take_marked()?;
                self.set_items()?;
            }
            op::SETITEM => {
                self.take(2)?;
                self.set_items()?;
            }
            op::APPENDS => {
                self.take_marked()?;
                self.append()?;
            }
            op::APPEND => {
                self.take(1)?;
                self.append()?;
            }
            op::LIST | op::TUPLE => {
                self.take_marked()?;
                self.list()?;
            }
            op::TUPLE1 | op::TUPLE2 | op::TUPLE3 => {
                self.take(usize::from(code - op::TUPLE1) + 1)?;
                self.list()?;
            }
            op::DICT => {
                self.take_marked()?;
                self.stack.push(Value::NewDict(UNNAMED));
                self.set_items()?;
            }
            _ => return self.housekeeping(code),
        }
        Ok(())
    }

    fn housekeeping(&mut self, code: u8) -> Result<(), Fault> {
        match code {
            op::PROTO => match self.bytes.next()? {
                2..=5 => {}
                other => return Err(Fault::Broken(format!("pickle protocol {other}; 2 to 5 can be read"))),
            },
            // Its length is for readers that fetch whole frames.
            op::FRAME => drop(self.bytes.array::<8>()?),
            op::POP if self.marks.last() == Some(&self.stack.len()) => drop(self.marks.pop()),
            op::POP => drop(self.pop()?),
            op::POP_MARK => self.take_marked()?,
            op::DUP => {
                let top = *self.stack.last().ok_or_else(empty)?;
                self.stack.push(top);
            }
            _ => {
                let refused = REFUSED.iter().find(|(refused, _)| *refused == code);
                return Err(refused.map_or_else(|| Fault::Broken(format!("{code:#04x} is no pickle opcode")), |&(_, name)| Fault::Refused(name)));
            }
        }
        Ok(())
    }

    /// A value is below the latest mark, or there is none.
    fn pop(&mut self) -> Result<Value, Fault> {
        if self.marks.last().is_some_and(|&mark| mark >= self.stack.len()) {
            return Err(Fault::Broken("a value is needed, but there is only a mark".to_owned()));
        }
        self.stack.pop().ok_or_else(empty)
    }

    /// Moves the topmost `count` values to `items`.
    fn take(&mut self, count: usize) -> Result<(), Fault> {
        let floor = self.marks.last().copied().unwrap_or(0);
        let begin = self.stack.len().checked_sub(count).filter(|&begin| begin >= floor).ok_or_else(empty)?;
        self.move_from(begin);
        Ok(())
    }

    /// Moves the values above the latest mark to `items`, and takes the mark away.
    fn take_marked(&mut self) -> Result<(), Fault> {
        let begin = self.marks.pop().ok_or_else(|| "no mark on the stack".to_owned())?;
        self.move_from(begin);
        Ok(())
    }

    fn move_from(&mut self, begin: usize) {
        self.items.clear();
        let memo = (self.memo.as_slice(), &self.sparse);
        self.items.extend(self.stack.drain(begin..).map(|value| named(memo, value)));
    }

    /// A dict that was empty when it was put on the stack, as what it is now.
    fn named(&self, value: Value) -> Value {
        named((self.memo.as_slice(), &self.sparse), value)
    }

    fn get(&self, index: u32) -> Result<Value, Fault> {
        let known = self.memo.get(index as usize).or_else(|| self.sparse.get(&index)).copied();
        known.ok_or_else(|| Fault::Broken(format!("memoised value {index} is asked for before it is stored")))
    }

    fn put(&mut self, index: u32) -> Result<(), Fault> {
        let mut value = *self.stack.last().ok_or_else(empty)?;
        if value == Value::NewDict(UNNAMED) {
            value = Value::NewDict(index);
            if let Some(top) = self.stack.last_mut() {
                *top = value;
            }
        }
        self.store.spend(16)?;
        self.store_memo(index, value);
        Ok(())
    }

    fn store_memo(&mut self, index: u32, value: Value) {
        let length = self.memo.len();
        match self.memo.get_mut(index as usize) {
            Some(old) => *old = value,
            None if index as usize == length => self.memo.push(value),
            None => drop(self.sparse.insert(index, value)),
        }
    }

    /// Gives `items` to the dict on the stack.
    fn set_items(&mut self) -> Result<(), Fault> {
        if !self.items.len().is_multiple_of(2) {
            return Err(Fault::Broken("a dict has a key without a value".to_owned()));
        }
        let target = *self.stack.last().ok_or_else(empty)?;
        match self.named(target) {
            Value::NewDict(index) => {
                let dict = self.store.dict(&self.items)?;
                if index != UNNAMED {
                    self.store_memo(index, dict);
                }
                if let Some(top) = self.stack.last_mut() {
                    *top = dict;
                }
            }
            known => self.store.add_items(known, &self.items)?,
        }
        Ok(())
    }

    fn append(&mut self) -> Result<(), Fault> {
        let list = *self.stack.last().ok_or_else(empty)?;
        Ok(self.store.extend(list, &self.items)?)
    }

    fn list(&mut self) -> Result<(), Fault> {
        let list = self.store.new_list()?;
        self.store.extend(list, &self.items)?;
        self.stack.push(list);
        Ok(())
    }

    fn text(&mut self, length: usize) -> Result<Value, Fault> {
        let bytes = self.bytes.take(length)?;
        // Python writes half characters of file names as they are; a replacement is as good.
        let text = String::from_utf8_lossy(bytes);
        Ok(Value::Text(self.store.text(&text)?))
    }

    /// A number in two's complement, little end first.
    fn long(&mut self, length: usize) -> Result<Value, Fault> {
        let bytes = self.bytes.take(length)?;
        let fill = if bytes.last().is_some_and(|&last| last & 0x80 != 0) { 0xff } else { 0 };
        let mut number = [fill; 8];
        let (low, high) = bytes.split_at(length.min(8));
        number[..low.len()].copy_from_slice(low);
        // An address of 64 bits needs a ninth byte for its sign.
        if high.iter().any(|&byte| byte != fill) {
            return Err(Fault::Broken(format!("a number of {length} bytes")));
        }
        Ok(Value::Int(i64::from_le_bytes(number)))
    }
}

fn empty() -> Fault {
    Fault::Broken("a value is needed, but there is none".to_owned())
}

fn named((memo, sparse): (&[Value], &HashMap<u32, Value>), value: Value) -> Value {
    match value {
        Value::NewDict(index) if index != UNNAMED => memo.get(index as usize).or_else(|| sparse.get(&index)).copied().unwrap_or(value),
        other => other,
    }
}
