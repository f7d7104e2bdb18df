//! A source that tells how far it is, for parsers that only know how to read.

use std::cell::Cell;
use std::io::{Error, Read};

use super::Reading;
use crate::error::FormatError;
use crate::json_fault;

/// Bytes between two looks at the caller's wish to stop.
const BYTES_PER_POLL: u64 = 1 << 20;

/// How far a source is, and whether the caller wants no more of it.
#[derive(Default)]
pub(super) struct Position {
    pub(super) bytes: Cell<u64>,
    is_stopped: Cell<bool>,
}

/// A source that keeps a [`Position`] and fails when the caller wants to stop.
pub(super) struct Polled<'a, R> {
    pub(super) source: R,
    pub(super) reading: &'a Reading<'a>,
    pub(super) position: &'a Position,
}

impl<R: Read> Read for Polled<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = self.source.read(into)?;
        let before = self.position.bytes.get();
        let after = before + count as u64;
        self.position.bytes.set(after);
        if before / BYTES_PER_POLL != after / BYTES_PER_POLL && !self.reading.goes_on(after) {
            self.position.is_stopped.set(true);
            return Err(Error::other("stopped"));
        }
        Ok(count)
    }
}

impl Reading<'_> {
    /// The message for JSON that cannot be read.
    pub(super) fn json_error(&self, error: &serde_json::Error, position: &Position) -> FormatError {
        if position.is_stopped.get() {
            return FormatError::Stopped { path: self.path().to_owned() };
        }
        let line = u64::try_from(error.line()).unwrap_or(0);
        let what = format!("column {}: {}", error.column(), json_fault::what(error));
        FormatError::Line { path: self.path().to_owned(), line, what, advice: "write or download the file again".to_owned() }
    }
}
