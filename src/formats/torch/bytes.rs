//! A file read once from begin to end, a piece at a time, with the offset of every byte known.

use std::io::Read;

/// How much is read at once: enough that refilling costs nothing, little enough to stay in a cache.
const PIECE_BYTES: usize = 1 << 18;

/// Why no byte came.
#[derive(Debug)]
pub(super) enum Missing {
    /// The file ends here.
    End,
    /// The medium failed.
    Failed(std::io::Error),
}

/// Bytes that can be taken from the front.
pub(super) struct Bytes<R> {
    source: R,
    piece: Vec<u8>,
    position: usize,
    /// Where in the file the piece begins.
    base: u64,
    /// How many pieces have been read.
    pub(super) n_pieces: u64,
}

impl<R: Read> Bytes<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, piece: Vec::with_capacity(PIECE_BYTES), position: 0, base: 0, n_pieces: 0 }
    }

    /// The offset of the next byte.
    pub(super) fn offset(&self) -> u64 {
        self.base + self.position as u64
    }

    /// The next byte.
    #[inline]
    pub(super) fn next(&mut self) -> Result<u8, Missing> {
        if let Some(&byte) = self.piece.get(self.position) {
            self.position += 1;
            return Ok(byte);
        }
        self.take(1).map(|bytes| bytes.first().copied().unwrap_or_default())
    }

    /// The next `N` bytes.
    #[inline]
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Missing> {
        let bytes = self.take(N)?;
        <[u8; N]>::try_from(bytes).map_err(|_| Missing::End)
    }

    /// The next `length` bytes. A length that the file does not have takes no more memory than the rest of the file.
    #[inline]
    pub(super) fn take(&mut self, length: usize) -> Result<&[u8], Missing> {
        if self.piece.len() - self.position < length {
            self.refill(length)?;
        }
        let begin = self.position;
        self.position += length;
        Ok(&self.piece[begin..begin + length])
    }

    fn refill(&mut self, length: usize) -> Result<(), Missing> {
        self.piece.drain(..self.position);
        self.base += self.position as u64;
        self.position = 0;
        self.n_pieces += 1;
        // Doubling: what is held is never more than twice what the file gave.
        while self.piece.len() < length {
            let wanted = PIECE_BYTES.max(self.piece.len()) as u64;
            let read = self.source.by_ref().take(wanted).read_to_end(&mut self.piece).map_err(Missing::Failed)?;
            if read == 0 {
                self.position = self.piece.len();
                return Err(Missing::End);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_beyond_the_end_is_no_allocation() {
        let mut bytes = Bytes::new([1_u8, 2, 3].as_slice());
        assert_eq!(bytes.next().ok(), Some(1));
        assert!(matches!(bytes.take(usize::MAX / 2), Err(Missing::End)));
        assert!(bytes.piece.capacity() < 1 << 20);
    }
}
