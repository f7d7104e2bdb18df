//! Packed files: gzip, and ZIP archives of one file, of one model among others, or of an XLA dump.
//!
//! A file is unpacked once to see that it is whole and how long it is. What is short is kept in memory; what is long is
//! unpacked again while it is read, so that memory does not grow with it.

use std::io::{BufReader, Cursor, ErrorKind, Read, Seek, SeekFrom, Take};

use arenascope_planner::control::{Control, Progress};
use arenascope_planner::workload::Workload;
use flate2::read::{DeflateDecoder, MultiGzDecoder};

use crate::detect::{CHUNK_BYTES, Content, Origin, PROBE_BYTES, ReadOptions, content, has_known_name, plain_reason, read_source};
use crate::error::FormatError;
use crate::{xla, zip};

/// What unpacks to no more than this is kept in memory.
const MAX_KEPT_BYTES: u64 = 1 << 28;
/// What is larger may unpack to this many times its packed size: real traces reach 30, a bomb 1000.
const MAX_RATIO: u64 = 200;
/// How often a long file may be unpacked from its start: readers look at its head, and then read it once or twice.
const MAX_RESTARTS: u32 = 16;

/// Where packed bytes come from.
trait Packed: Read + Seek {}

impl<R: Read + Seek> Packed for R {}

/// How bytes are packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Packing {
    Gzip,
    Deflate,
    Stored,
}

/// The packed bytes of one file: how they are packed and where they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) packing: Packing,
    pub(crate) at: u64,
    pub(crate) bytes: u64,
}

enum Decoder<'a> {
    Gzip(MultiGzDecoder<Take<Box<dyn Packed + 'a>>>),
    Deflate(DeflateDecoder<Take<Box<dyn Packed + 'a>>>),
    Stored(Take<Box<dyn Packed + 'a>>),
}

impl<'a> Decoder<'a> {
    fn new(mut source: Box<dyn Packed + 'a>, part: Part) -> std::io::Result<Self> {
        source.seek(SeekFrom::Start(part.at))?;
        let packed = source.take(part.bytes);
        Ok(match part.packing {
            Packing::Gzip => Self::Gzip(MultiGzDecoder::new(packed)),
            Packing::Deflate => Self::Deflate(DeflateDecoder::new(packed)),
            Packing::Stored => Self::Stored(packed),
        })
    }

    fn into_source(self) -> Box<dyn Packed + 'a> {
        match self {
            Self::Gzip(decoder) => decoder.into_inner().into_inner(),
            Self::Deflate(decoder) => decoder.into_inner().into_inner(),
            Self::Stored(packed) => packed.into_inner(),
        }
    }
}

impl Read for Decoder<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Gzip(decoder) => decoder.read(into),
            Self::Deflate(decoder) => decoder.read(into),
            Self::Stored(packed) => packed.read(into),
        }
    }
}

/// A packed file as if it were unpacked. Going forward unpacks what lies between, going back unpacks from the start.
pub(crate) struct Unpacked<'a> {
    /// `None` only after a failure.
    decoder: Option<Decoder<'a>>,
    part: Part,
    at: u64,
    unpacked_bytes: u64,
    n_restarts: u32,
}

impl Read for Unpacked<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = self.decoder.as_mut().map_or(Ok(0), |decoder| decoder.read(into))?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Unpacked<'_> {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        let target = match to {
            SeekFrom::Start(target) => Some(target),
            SeekFrom::Current(distance) => self.at.checked_add_signed(distance),
            SeekFrom::End(distance) => self.unpacked_bytes.checked_add_signed(distance),
        };
        let target = target.ok_or_else(|| std::io::Error::new(ErrorKind::InvalidInput, "a position before the start"))?;
        if target < self.at {
            self.n_restarts += 1;
            if self.n_restarts > MAX_RESTARTS {
                return Err(std::io::Error::other("it is read in no order, which a packed file of this size is too slow for: unpack it first"));
            }
            if let Some(decoder) = self.decoder.take() {
                self.decoder = Some(Decoder::new(decoder.into_source(), self.part)?);
            }
            self.at = 0;
        }
        let distance = target - self.at;
        std::io::copy(&mut self.by_ref().take(distance), &mut std::io::sink())?;
        // Past the end there is nothing to read, as in a file.
        self.at = target;
        Ok(target)
    }
}

/// What a part unpacks to.
enum Extent {
    Kept(Vec<u8>),
    /// Too long to be kept: only its length.
    Long(u64),
}

/// Unpacks a part once, in chunks, so that the caller can follow and stop it.
fn unpack<R: Read + Seek>(origin: &Origin, source: &mut R, part: Part, control: &Control<'_>) -> Result<Extent, FormatError> {
    let damaged = |at: u64, what: String| FormatError::Damaged { path: origin.path.clone(), offset: at, what };
    let failed = |at: u64, error: &std::io::Error| damaged(at, format!("unpacking failed: {}", plain_reason(error)));
    let mut decoder = Decoder::new(Box::new(source), part).map_err(|error| failed(0, &error))?;
    let limit = MAX_KEPT_BYTES.max(part.bytes.saturating_mul(MAX_RATIO));
    let (mut kept, mut at) = (Vec::new(), 0_u64);
    loop {
        if control.is_stopped() {
            return Err(FormatError::Stopped { path: origin.path.clone() });
        }
        // How long it will be in the end is not known.
        control.report(Progress { what: format!("unpacking {}", origin.file), fraction: None, best_arena_bytes: None });
        let read = if at + CHUNK_BYTES <= MAX_KEPT_BYTES {
            decoder.by_ref().take(CHUNK_BYTES).read_to_end(&mut kept).map(|read| read as u64)
        } else {
            kept = Vec::new();
            std::io::copy(&mut decoder.by_ref().take(CHUNK_BYTES), &mut std::io::sink())
        };
        match read {
            Err(error) => return Err(failed(at, &error)),
            Ok(0) if at + CHUNK_BYTES <= MAX_KEPT_BYTES => return Ok(Extent::Kept(kept)),
            Ok(0) => return Ok(Extent::Long(at)),
            Ok(read) => at += read,
        }
        if at > limit {
            let what = format!("{} packed bytes unpack to more than {limit}, {MAX_RATIO} times as much or 256 MiB; unpack it first", part.bytes);
            return Err(damaged(at, what));
        }
    }
}

/// Reads what a part unpacks to as the file `name`.
fn read_part<R: Read + Seek>(
    origin: &Origin,
    name: String,
    source: &mut R,
    part: Part,
    options: &ReadOptions,
    control: &Control<'_>,
    beside: &dyn Fn() -> Option<String>,
) -> Result<Workload, FormatError> {
    let inner = |bytes: u64| Origin { path: origin.path.clone(), file: name.clone(), bytes };
    let workload = match unpack(origin, source, part, control)? {
        Extent::Kept(bytes) => {
            not_packed_again(origin, &bytes)?;
            read_source(&inner(bytes.len() as u64), BufReader::new(Cursor::new(bytes.as_slice())), options, control, beside)?
        }
        Extent::Long(bytes) => {
            let failed = |error: std::io::Error| FormatError::Unreadable { path: origin.path.clone(), offset: 0, reason: plain_reason(&error) };
            let decoder = Decoder::new(Box::new(source), part).map_err(failed)?;
            let mut unpacked = Unpacked { decoder: Some(decoder), part, at: 0, unpacked_bytes: bytes, n_restarts: 0 };
            let mut head = Vec::new();
            unpacked.by_ref().take(PROBE_BYTES).read_to_end(&mut head).map_err(failed)?;
            unpacked.seek(SeekFrom::Start(0)).map_err(failed)?;
            not_packed_again(origin, &head)?;
            // Their tables point anywhere.
            if matches!(content(&head, &name), Ok(Content::Tflite | Content::ExecuTorch)) {
                let what = format!("a model that unpacks to {bytes} bytes is not read while it is packed; unpack it first");
                return Err(FormatError::Damaged { path: origin.path.clone(), offset: 0, what });
            }
            read_source(&inner(bytes), BufReader::with_capacity(1 << 16, unpacked), options, control, beside)?
        }
    };
    Ok(Workload { file: origin.file.clone(), ..workload })
}

fn not_packed_again(origin: &Origin, head: &[u8]) -> Result<(), FormatError> {
    if head.starts_with(&[0x1f, 0x8b]) || head.starts_with(b"PK\x03\x04") {
        return Err(FormatError::Damaged { path: origin.path.clone(), offset: 0, what: "it is packed twice".to_owned() });
    }
    Ok(())
}

/// Reads a file packed by gzip.
pub(crate) fn read_gzip<R: Read + Seek>(
    origin: &Origin,
    source: &mut R,
    options: &ReadOptions,
    control: &Control<'_>,
    beside: &dyn Fn() -> Option<String>,
) -> Result<Workload, FormatError> {
    let part = Part { packing: Packing::Gzip, at: 0, bytes: origin.bytes };
    read_part(origin, origin.file.trim_end_matches(".gz").to_owned(), source, part, options, control, beside)
}

/// Reads an archive of one file, of one model among others, or of an XLA dump.
pub(crate) fn read_zip<R: Read + Seek>(
    origin: &Origin,
    source: &mut R,
    options: &ReadOptions,
    control: &Control<'_>,
) -> Result<Workload, FormatError> {
    let members: Vec<zip::Member> = zip::members(origin, source)?.into_iter().filter(|member| !is_hidden(&member.name)).collect();
    let names: Vec<(String, u64)> = members.iter().map(|member| (member.name.clone(), member.bytes)).collect();
    let (main, other) = match xla::pick(&names) {
        Some(pair) => pair,
        None => (only_member(origin, &members)?, None),
    };
    let mut beside = None;
    if let Some(other) = other {
        let part = zip::part_of(origin, source, &members[other])?;
        if let Extent::Kept(bytes) = unpack(origin, source, part, control)? {
            beside = Some(String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    let part = zip::part_of(origin, source, &members[main])?;
    let file = names[main].0.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
    read_part(origin, file, source, part, options, control, &|| beside.clone())
}

fn is_hidden(name: &str) -> bool {
    name.split(['/', '\\']).any(|part| part.starts_with('.') || part == "__MACOSX")
}

/// The one member, or the one that is called like something that can be read.
fn only_member(origin: &Origin, members: &[zip::Member]) -> Result<usize, FormatError> {
    if members.len() == 1 {
        return Ok(0);
    }
    let known: Vec<usize> = members.iter().enumerate().filter(|(_, member)| has_known_name(&member.name)).map(|(index, _)| index).collect();
    let found = |what: String| FormatError::Unrecognised { path: origin.path.clone(), found: what };
    // A checkpoint's pickle beside its data would otherwise be taken for a memory snapshot.
    if members.iter().any(|member| member.name.ends_with("data.pkl")) {
        return Err(found("this is a PyTorch checkpoint, which holds weights and no graph".to_owned()));
    }
    match known.as_slice() {
        [only] => Ok(*only),
        [] => Err(found(format!("this is a ZIP archive of {} files, none of a known kind", members.len()))),
        several => Err(found(format!("this is a ZIP archive with {} files that could be meant: unpack it and name one", several.len()))),
    }
}
