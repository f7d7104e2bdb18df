//! The HTML page that PyTorch's memory viewer exports: a snapshot pickle in base64 inside a JSON literal.

use std::io::{BufRead, Read};

use arenascope_planner::workload::Workload;
use base64::engine::general_purpose::STANDARD;
use base64::read::DecoderReader;

use super::{Reading, read_pickle};
use crate::error::FormatError;

/// The key before the pickle, with its quotes.
const KEY: &[u8] = b"\"base64\"";

/// Reads the snapshot in a page. Byte offsets in messages are those of the pickle.
pub(crate) fn read<R: BufRead>(reading: &Reading<'_>, mut source: R) -> Result<Workload, FormatError> {
    let failed = |error: std::io::Error| reading.failed(&error, 0);
    if !(skip_past(&mut source, KEY).map_err(failed)? && skip_past(&mut source, b"\"").map_err(failed)?) {
        let advice = "save the page with torch.cuda._memory_viz, or give the snapshot itself";
        return Err(reading.entry("page", "there is no memory snapshot in this page", advice));
    }
    read_pickle(reading, DecoderReader::new(UntilQuote { source, is_over: false }, &STANDARD))
}

/// Reads on to the end of `wanted`; false if the source ends before. `wanted` begins with the only byte that its parts
/// could begin with.
fn skip_past(source: &mut impl BufRead, wanted: &[u8]) -> std::io::Result<bool> {
    let mut matched = 0;
    loop {
        let piece = source.fill_buf()?;
        if piece.is_empty() {
            return Ok(false);
        }
        for (position, byte) in piece.iter().enumerate() {
            matched = if wanted.get(matched) == Some(byte) { matched + 1 } else { usize::from(wanted.first() == Some(byte)) };
            if matched == wanted.len() {
                source.consume(position + 1);
                return Ok(true);
            }
        }
        let length = piece.len();
        source.consume(length);
    }
}

/// A source that ends at the next quote.
struct UntilQuote<R> {
    source: R,
    is_over: bool,
}

impl<R: BufRead> Read for UntilQuote<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.is_over || into.is_empty() {
            return Ok(0);
        }
        let piece = self.source.fill_buf()?;
        let length = piece.len().min(into.len());
        let (piece, into) = (&piece[..length], &mut into[..length]);
        let count = piece.iter().position(|&byte| byte == b'"').unwrap_or(length);
        into[..count].copy_from_slice(&piece[..count]);
        self.is_over = count < length;
        self.source.consume(count);
        Ok(count)
    }
}
