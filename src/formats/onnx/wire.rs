//! Protobuf on a seekable source: varints, lengths checked against what is left, payloads skipped without reading.
//!
//! No length field is trusted: a message ends where its parent says at the latest, and the outermost ends with the file.

use std::io::{BufReader, Read, Seek, SeekFrom};

use crate::detect::{Origin, plain_reason};
use crate::error::FormatError;

/// The longest name that is read; real ones have some hundred bytes.
const MAX_TEXT_BYTES: u64 = 1 << 16;

/// How a field's payload is coded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wire {
    Varint,
    Fixed64,
    Length,
    Fixed32,
}

/// One field's number and coding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Field {
    pub(super) number: u64,
    pub(super) wire: Wire,
}

/// A position in a source with a known length.
pub(super) struct Reader<'a, R> {
    origin: &'a Origin,
    source: BufReader<R>,
    at: u64,
}

impl<'a, R: Read + Seek> Reader<'a, R> {
    pub(super) fn new(origin: &'a Origin, source: BufReader<R>) -> Self {
        Self { origin, source, at: 0 }
    }

    pub(super) fn at(&self) -> u64 {
        self.at
    }

    pub(super) fn end(&self) -> u64 {
        self.origin.bytes
    }

    pub(super) fn path(&self) -> &str {
        &self.origin.path
    }

    pub(super) fn damaged(&self, offset: u64, what: impl Into<String>) -> FormatError {
        FormatError::Damaged { path: self.origin.path.clone(), offset, what: what.into() }
    }

    fn failed(&self, error: &std::io::Error) -> FormatError {
        if error.kind() == std::io::ErrorKind::UnexpectedEof {
            return self.damaged(self.at, "the file ends in the middle of a value");
        }
        FormatError::Unreadable { path: self.origin.path.clone(), offset: self.at, reason: plain_reason(error) }
    }

    /// The next field of a message that ends at `end`; `None` at its end.
    pub(super) fn field(&mut self, end: u64) -> Result<Option<Field>, FormatError> {
        if self.at >= end {
            return Ok(None);
        }
        let start = self.at;
        let key = self.varint(end)?;
        let wire = match key & 7 {
            0 => Wire::Varint,
            1 => Wire::Fixed64,
            2 => Wire::Length,
            5 => Wire::Fixed32,
            other => return Err(self.damaged(start, format!("wire type {other}, where a model has only 0, 1, 2 and 5"))),
        };
        if key >> 3 == 0 {
            return Err(self.damaged(start, "field number 0, where a model counts from 1"));
        }
        Ok(Some(Field { number: key >> 3, wire }))
    }

    pub(super) fn varint(&mut self, end: u64) -> Result<u64, FormatError> {
        let start = self.at;
        let mut value = 0_u64;
        for shift in (0..70).step_by(7) {
            if self.at >= end {
                return Err(self.damaged(start, "a number is cut off by the end of its message"));
            }
            let mut byte = [0];
            self.fill(&mut byte)?;
            let bits = u64::from(byte[0] & 0x7f);
            value |= if shift == 63 { (bits & 1) << 63 } else { bits << shift };
            if byte[0] & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.damaged(start, "a number of more than 10 bytes, where 64 bits take at most 10"))
    }

    /// A varint that stands for a signed number.
    pub(super) fn int(&mut self, end: u64) -> Result<i64, FormatError> {
        self.varint(end).map(u64::cast_signed)
    }

    /// A length-delimited payload: the position of its end.
    pub(super) fn length(&mut self, end: u64) -> Result<u64, FormatError> {
        let start = self.at;
        let length = self.varint(end)?;
        let left = end - self.at;
        if length > left {
            return Err(self.damaged(start, format!("a length of {length} bytes where {left} are left")));
        }
        Ok(self.at + length)
    }

    pub(super) fn f32(&mut self, end: u64) -> Result<f32, FormatError> {
        let mut bytes = [0; 4];
        self.fixed(&mut bytes, end)?;
        Ok(f32::from_le_bytes(bytes))
    }

    pub(super) fn f64(&mut self, end: u64) -> Result<f64, FormatError> {
        let mut bytes = [0; 8];
        self.fixed(&mut bytes, end)?;
        Ok(f64::from_le_bytes(bytes))
    }

    fn fixed(&mut self, bytes: &mut [u8], end: u64) -> Result<(), FormatError> {
        if end - self.at.min(end) < bytes.len() as u64 {
            return Err(self.damaged(self.at, "a fixed-size number is cut off by the end of its message"));
        }
        self.fill(bytes)
    }

    /// A text; what is not UTF-8 becomes a replacement character.
    pub(super) fn text(&mut self, end: u64) -> Result<String, FormatError> {
        let start = self.at;
        let text_end = self.length(end)?;
        let length = text_end - self.at;
        if length > MAX_TEXT_BYTES {
            return Err(self.damaged(start, format!("a name of {length} bytes, where {MAX_TEXT_BYTES} are the limit")));
        }
        let mut bytes = Vec::new();
        self.bytes(text_end, &mut bytes)?;
        Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// A text, or nothing where it is longer than any that matters: such payloads are skipped.
    pub(super) fn short_text(&mut self, end: u64) -> Result<Option<String>, FormatError> {
        let text_end = self.length(end)?;
        if text_end - self.at > MAX_TEXT_BYTES {
            self.go_to(text_end)?;
            return Ok(None);
        }
        let mut bytes = Vec::new();
        self.bytes(text_end, &mut bytes)?;
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Everything up to `end`; the caller has bounded it.
    pub(super) fn bytes(&mut self, end: u64, into: &mut Vec<u8>) -> Result<(), FormatError> {
        let length = end - self.at;
        let read = self.source.by_ref().take(length).read_to_end(into).map_err(|error| self.failed(&error))?;
        self.at += read as u64;
        if self.at == end { Ok(()) } else { Err(self.damaged(self.at, "the file ends in the middle of a value")) }
    }

    /// Leaves a field out.
    pub(super) fn skip(&mut self, wire: Wire, end: u64) -> Result<(), FormatError> {
        let target = match wire {
            Wire::Varint => return self.varint(end).map(|_| ()),
            Wire::Fixed64 => self.at.saturating_add(8),
            Wire::Fixed32 => self.at.saturating_add(4),
            Wire::Length => self.length(end)?,
        };
        if target > end {
            return Err(self.damaged(self.at, "a field is cut off by the end of its message"));
        }
        self.go_to(target)
    }

    /// Moves to a position inside the file; near ones stay in the buffer.
    pub(super) fn go_to(&mut self, target: u64) -> Result<(), FormatError> {
        let distance = i128::from(target) - i128::from(self.at);
        let moved = match i64::try_from(distance) {
            Ok(distance) => self.source.seek_relative(distance),
            Err(_) => self.source.seek(SeekFrom::Start(target)).map(|_| ()),
        };
        moved.map_err(|error| self.failed(&error))?;
        self.at = target;
        Ok(())
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), FormatError> {
        self.source.read_exact(bytes).map_err(|error| self.failed(&error))?;
        self.at += bytes.len() as u64;
        Ok(())
    }
}
