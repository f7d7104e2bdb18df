//! Reads FlatBuffers without generated code: tables, vectors and texts by slot number, every step checked.
//!
//! A table is found through offsets that the file itself gives, so nothing of it is trusted: positions are checked
//! against the file's length, and the elements read altogether against a multiple of it, because many tables may
//! point to one long vector. Pages are read when they are needed, so that weights cost nothing.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom};

use crate::detect::{Origin, plain_reason};
use crate::error::FormatError;

/// Bytes read at once: small against weights, large against tables.
const PAGE_BYTES: u64 = 1 << 14;
/// How often the file's own length may be read in vectors and texts: real files stay below 1.
const MAX_READ_FACTOR: u64 = 8;
/// Elements that any file may have read, however short it is.
const MIN_READ_BYTES: u64 = 1 << 16;
/// A text longer than this is no name.
const MAX_TEXT_BYTES: u64 = 1 << 16;

/// A source of bytes at any position.
trait Source: Read + Seek {}
impl<T: Read + Seek> Source for T {}

/// A file of tables.
pub(crate) struct FlatFile<'s> {
    path: String,
    len: u64,
    inner: RefCell<Inner<'s>>,
}

struct Inner<'s> {
    source: Box<dyn Source + 's>,
    pages: HashMap<u64, Box<[u8]>>,
    read_bytes: u64,
}

impl<'s> FlatFile<'s> {
    /// A file whose bytes come from `source`.
    pub(crate) fn new(origin: &Origin, source: impl Read + Seek + 's) -> Self {
        let inner = Inner { source: Box::new(source), pages: HashMap::new(), read_bytes: 0 };
        Self { path: origin.path.clone(), len: origin.bytes, inner: RefCell::new(inner) }
    }

    /// The table that everything else hangs from.
    pub(crate) fn root(&self) -> Result<Table<'_, 's>, FormatError> {
        self.table_at(self.follow(0)?)
    }

    pub(crate) fn damaged(&self, offset: u64, what: impl Into<String>) -> FormatError {
        FormatError::Damaged { path: self.path.clone(), offset, what: what.into() }
    }

    fn bytes<const N: usize>(&self, at: u64) -> Result<[u8; N], FormatError> {
        let mut bytes = [0; N];
        self.fill(at, &mut bytes)?;
        Ok(bytes)
    }

    /// Copies the bytes from `at` on, page by page.
    fn fill(&self, at: u64, into: &mut [u8]) -> Result<(), FormatError> {
        let wanted = into.len() as u64;
        if at.checked_add(wanted).is_none_or(|end| end > self.len) {
            return Err(self.damaged(at, format!("{wanted} bytes are expected here, but the file has {}", self.len)));
        }
        let mut done = 0;
        let mut position = at;
        while done < into.len() {
            let page = position / PAGE_BYTES;
            let inside = usize::try_from(position % PAGE_BYTES).unwrap_or(0);
            let mut inner = self.inner.borrow_mut();
            if !inner.pages.contains_key(&page) {
                let loaded = self.load(&mut inner, page)?;
                inner.pages.insert(page, loaded);
            }
            let rest = inner.pages.get(&page).and_then(|bytes| bytes.get(inside..)).unwrap_or_default();
            let count = rest.len().min(into.len() - done);
            if count == 0 {
                return Err(self.damaged(position, "the file is shorter than it was when it was opened"));
            }
            into[done..done + count].copy_from_slice(&rest[..count]);
            done += count;
            position += count as u64;
        }
        Ok(())
    }

    fn load(&self, inner: &mut Inner<'s>, page: u64) -> Result<Box<[u8]>, FormatError> {
        let start = page * PAGE_BYTES;
        let failed = |error: std::io::Error| FormatError::Unreadable { path: self.path.clone(), offset: start, reason: plain_reason(&error) };
        let mut bytes = Vec::new();
        inner.source.seek(SeekFrom::Start(start)).map_err(failed)?;
        inner.source.by_ref().take(PAGE_BYTES).read_to_end(&mut bytes).map_err(failed)?;
        Ok(bytes.into_boxed_slice())
    }

    fn u16(&self, at: u64) -> Result<u16, FormatError> {
        self.bytes(at).map(u16::from_le_bytes)
    }

    fn u32(&self, at: u64) -> Result<u32, FormatError> {
        self.bytes(at).map(u32::from_le_bytes)
    }

    /// The position that the offset at `at` points to; offsets point forward only.
    fn follow(&self, at: u64) -> Result<u64, FormatError> {
        let to = at + u64::from(self.u32(at)?);
        if to <= at || to >= self.len { Err(self.damaged(at, format!("an offset leads to byte {to} of {}", self.len))) } else { Ok(to) }
    }

    fn table_at(&self, at: u64) -> Result<Table<'_, 's>, FormatError> {
        let back = i64::from(i32::from_le_bytes(self.bytes(at)?));
        let vtable = i64::try_from(at).ok().and_then(|at| at.checked_sub(back)).and_then(|vtable| u64::try_from(vtable).ok());
        let vtable = vtable.ok_or_else(|| self.damaged(at, "a table's layout lies outside the file"))?;
        let vtable_bytes = u64::from(self.u16(vtable)?);
        if vtable_bytes < 4 {
            return Err(self.damaged(vtable, format!("a table's layout has {vtable_bytes} bytes, but needs 4")));
        }
        Ok(Table { file: self, at, vtable, vtable_bytes })
    }

    /// Where a vector's elements begin, and how many there are; counted against the budget.
    fn vector_at(&self, at: u64, element_bytes: u64) -> Result<(u64, u64), FormatError> {
        let count = u64::from(self.u32(at)?);
        let start = at + 4;
        let bytes = count.saturating_mul(element_bytes);
        if start.saturating_add(bytes) > self.len {
            return Err(self.damaged(at, format!("a vector of {count} elements of {element_bytes} bytes does not fit into {} bytes", self.len)));
        }
        Ok((start, count))
    }

    fn spend(&self, at: u64, bytes: u64) -> Result<(), FormatError> {
        let mut inner = self.inner.borrow_mut();
        inner.read_bytes = inner.read_bytes.saturating_add(bytes);
        if inner.read_bytes > self.len.saturating_mul(MAX_READ_FACTOR).max(MIN_READ_BYTES) {
            return Err(self.damaged(at, "its tables share vectors over and over, far beyond what the file holds"));
        }
        Ok(())
    }
}

/// A table of a file.
#[derive(Clone, Copy)]
pub(crate) struct Table<'f, 's> {
    file: &'f FlatFile<'s>,
    at: u64,
    vtable: u64,
    vtable_bytes: u64,
}

macro_rules! scalar {
    ($(#[$doc:meta])* $name:ident, $kind:ty) => {
        $(#[$doc])*
        pub(crate) fn $name(self, slot: u64, default: $kind) -> Result<$kind, FormatError> {
            match self.field(slot)? {
                Some(at) => self.file.bytes(at).map(<$kind>::from_le_bytes),
                None => Ok(default),
            }
        }
    };
}

impl<'f, 's> Table<'f, 's> {
    scalar!(u8, u8);
    scalar!(i8, i8);
    scalar!(i32, i32);
    scalar!(u32, u32);
    scalar!(u64, u64);

    /// Where the table lies in the file.
    pub(crate) fn at(self) -> u64 {
        self.at
    }

    /// Where a field lies; `None` if it has its default.
    pub(crate) fn field(self, slot: u64) -> Result<Option<u64>, FormatError> {
        let entry = 4 + 2 * slot;
        if entry + 2 > self.vtable_bytes {
            return Ok(None);
        }
        let inside = u64::from(self.file.u16(self.vtable + entry)?);
        Ok((inside != 0).then(|| self.at + inside))
    }

    /// A truth value; false by default.
    pub(crate) fn flag(self, slot: u64) -> Result<bool, FormatError> {
        self.u8(slot, 0).map(|value| value != 0)
    }

    /// Where what a field points to lies.
    pub(crate) fn target(self, slot: u64) -> Result<Option<u64>, FormatError> {
        self.field(slot)?.map(|at| self.file.follow(at)).transpose()
    }

    /// A table inside.
    pub(crate) fn table(self, slot: u64) -> Result<Option<Self>, FormatError> {
        self.target(slot)?.map(|at| self.file.table_at(at)).transpose()
    }

    /// A vector of tables; empty if it is absent.
    pub(crate) fn tables(self, slot: u64) -> Result<Vec<Self>, FormatError> {
        let Some(at) = self.target(slot)? else { return Ok(Vec::new()) };
        let (start, count) = self.file.vector_at(at, 4)?;
        self.file.spend(at, count * 4)?;
        (0..count).map(|index| self.file.table_at(self.file.follow(start + 4 * index)?)).collect()
    }

    /// The bytes of a vector, as a range of the file; `None` if it is absent.
    pub(crate) fn byte_range(self, slot: u64) -> Result<Option<(u64, u64)>, FormatError> {
        self.target(slot)?.map(|at| self.file.vector_at(at, 1)).transpose()
    }

    /// A vector of 32-bit integers; `None` if it is absent.
    pub(crate) fn ints(self, slot: u64) -> Result<Option<Vec<i32>>, FormatError> {
        self.numbers(slot, i32::from_le_bytes)
    }

    /// A vector of 64-bit integers; `None` if it is absent.
    pub(crate) fn longs(self, slot: u64) -> Result<Option<Vec<i64>>, FormatError> {
        self.numbers(slot, i64::from_le_bytes)
    }

    fn numbers<const N: usize, T>(self, slot: u64, decode: fn([u8; N]) -> T) -> Result<Option<Vec<T>>, FormatError> {
        let Some(at) = self.target(slot)? else { return Ok(None) };
        let (start, count) = self.file.vector_at(at, N as u64)?;
        self.file.spend(at, count * N as u64)?;
        (0..count).map(|index| self.file.bytes(start + N as u64 * index).map(decode)).collect::<Result<_, _>>().map(Some)
    }

    /// Consecutive little-endian 32-bit integers at a range given by [`Table::byte_range`].
    pub(crate) fn ints_in(self, (start, bytes): (u64, u64)) -> Result<Vec<i32>, FormatError> {
        self.file.spend(start, bytes)?;
        (0..bytes / 4).map(|index| self.file.bytes(start + 4 * index).map(i32::from_le_bytes)).collect()
    }

    /// A text; empty if it is absent. Bytes that are no UTF-8 are replaced.
    pub(crate) fn text(self, slot: u64) -> Result<String, FormatError> {
        let Some(at) = self.target(slot)? else { return Ok(String::new()) };
        let (start, count) = self.file.vector_at(at, 1)?;
        if count > MAX_TEXT_BYTES {
            return Err(self.file.damaged(at, format!("a name of {count} bytes is longer than {MAX_TEXT_BYTES}")));
        }
        self.file.spend(at, count)?;
        let mut bytes = vec![0; usize::try_from(count).unwrap_or(0)];
        self.file.fill(start, &mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// An error at this table.
    pub(crate) fn damaged(self, what: impl Into<String>) -> FormatError {
        self.file.damaged(self.at, what)
    }
}
