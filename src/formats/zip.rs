//! Finds the members of ZIP archives: stored and deflated ones, which is all that tools write.
//!
//! Lengths are checked against the archive's.

use std::io::{Read, Seek, SeekFrom};

use crate::detect::{Origin, plain_reason};
use crate::error::{FormatError, one_line};
use crate::packed::{Packing, Part};

/// Members of one archive that are looked at.
const MAX_MEMBERS: u64 = 1 << 16;
/// The end record with the longest comment it may have.
const MAX_END_BYTES: u64 = 22 + 65_535;
/// A directory longer than this is none.
const MAX_DIRECTORY_BYTES: u64 = 1 << 26;

/// One file in an archive.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    /// Its size when unpacked, as the archive says.
    pub(crate) bytes: u64,
    method: u16,
    packed_bytes: u64,
    header_at: u64,
}

/// Little-endian fields of a record.
struct Record<'b>(&'b [u8]);

impl Record<'_> {
    fn u16(&self, at: usize) -> u16 {
        self.0.get(at..at + 2).and_then(|bytes| bytes.try_into().ok()).map_or(0, u16::from_le_bytes)
    }

    fn u32(&self, at: usize) -> u64 {
        self.0.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, |bytes| u64::from(u32::from_le_bytes(bytes)))
    }

    fn u64(&self, at: usize) -> u64 {
        self.0.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
    }
}

fn damaged(origin: &Origin, offset: u64, what: impl Into<String>) -> FormatError {
    FormatError::Damaged { path: origin.path.clone(), offset, what: what.into() }
}

fn part<R: Read + Seek>(origin: &Origin, source: &mut R, at: u64, bytes: u64) -> Result<Vec<u8>, FormatError> {
    if at.checked_add(bytes).is_none_or(|end| end > origin.bytes) {
        return Err(damaged(origin, at, format!("{bytes} bytes are expected here, but the archive has {}", origin.bytes)));
    }
    let failed = |error: std::io::Error| FormatError::Unreadable { path: origin.path.clone(), offset: at, reason: plain_reason(&error) };
    let mut read = Vec::new();
    source.seek(SeekFrom::Start(at)).map_err(failed)?;
    source.by_ref().take(bytes).read_to_end(&mut read).map_err(failed)?;
    Ok(read)
}

/// The archive's members, folders left out.
pub(crate) fn members<R: Read + Seek>(origin: &Origin, source: &mut R) -> Result<Vec<Member>, FormatError> {
    let tail_at = origin.bytes.saturating_sub(MAX_END_BYTES);
    let tail = part(origin, source, tail_at, origin.bytes - tail_at)?;
    let end = tail.windows(4).rposition(|window| window == b"PK\x05\x06");
    let end = end.ok_or_else(|| damaged(origin, origin.bytes, "the archive has no directory; it may be cut off"))?;
    let record = Record(&tail[end..]);
    let (mut count, mut bytes, mut at) = (u64::from(record.u16(10)), record.u32(12), record.u32(16));
    if let Some(locator) = end.checked_sub(20).map(|start| Record(&tail[start..])).filter(|locator| locator.0.starts_with(b"PK\x06\x07")) {
        let wide = part(origin, source, locator.u64(8), 56)?;
        let wide = Record(&wide);
        (count, bytes, at) = (wide.u64(32), wide.u64(40), wide.u64(48));
    }
    if count > MAX_MEMBERS || bytes > MAX_DIRECTORY_BYTES {
        return Err(damaged(origin, at, format!("a directory of {count} members and {bytes} bytes is more than is read")));
    }
    let directory = part(origin, source, at, bytes)?;
    let mut members = Vec::new();
    let mut rest = directory.as_slice();
    for _ in 0..count {
        let Some((member, after)) = member(rest) else { return Err(damaged(origin, at, "an entry of the directory is cut off")) };
        if !member.name.ends_with('/') {
            members.push(member);
        }
        rest = after;
    }
    Ok(members)
}

fn member(bytes: &[u8]) -> Option<(Member, &[u8])> {
    let record = Record(bytes);
    let (name_len, extra_len, comment_len) = (usize::from(record.u16(28)), usize::from(record.u16(30)), usize::from(record.u16(32)));
    let name = bytes.get(46..46 + name_len).filter(|_| bytes.starts_with(b"PK\x01\x02"))?;
    let extra = bytes.get(46 + name_len..46 + name_len + extra_len)?;
    let (mut unpacked, mut packed, mut header_at) = (record.u32(24), record.u32(20), record.u32(42));
    let wide = Record(wide_fields(extra));
    let mut at = 0;
    for field in [&mut unpacked, &mut packed, &mut header_at] {
        if *field == u64::from(u32::MAX) {
            *field = wide.u64(at);
            at += 8;
        }
    }
    let name = String::from_utf8_lossy(name).into_owned();
    let member = Member { name, bytes: unpacked, method: record.u16(10), packed_bytes: packed, header_at };
    Some((member, bytes.get(46 + name_len + extra_len + comment_len..)?))
}

/// The extra field with sizes of more than 32 bits.
fn wide_fields(mut extra: &[u8]) -> &[u8] {
    while extra.len() >= 4 {
        let record = Record(extra);
        let (kind, bytes) = (record.u16(0), usize::from(record.u16(2)));
        let Some(field) = extra.get(4..4 + bytes) else { break };
        if kind == 1 {
            return field;
        }
        extra = &extra[4 + bytes..];
    }
    &[]
}

/// Where a member's packed bytes are, and how they are packed.
pub(crate) fn part_of<R: Read + Seek>(origin: &Origin, source: &mut R, member: &Member) -> Result<Part, FormatError> {
    let header = part(origin, source, member.header_at, 30)?;
    let header = Record(&header);
    let at = member.header_at + 30 + u64::from(header.u16(26)) + u64::from(header.u16(28));
    if at.checked_add(member.packed_bytes).is_none_or(|end| end > origin.bytes) {
        return Err(damaged(origin, at, format!("`{}` does not fit into the archive", one_line(&member.name))));
    }
    let packing = match member.method {
        0 => Packing::Stored,
        8 => Packing::Deflate,
        method => {
            let what = format!("`{}` is packed by method {method}; pack it as usual ZIP or give it unpacked", one_line(&member.name));
            return Err(damaged(origin, at, what));
        }
    };
    Ok(Part { packing, at, bytes: member.packed_bytes })
}
