//! Tells a file's format by its content, then by its name, and hands it to the reader.

use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use arenascope_planner::control::Control;
use arenascope_planner::workload::Workload;

use crate::error::FormatError;
use crate::{minimalloc, onnx, oplist, problem_json};

/// What the user says about a file beyond its content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Numbers for open dimensions, as pairs of a name and a value. A name is a symbolic dimension, `input:axis`,
    /// `*` for all others, or a scalar graph input whose value decides shapes.
    pub dims: Vec<(String, u64)>,
}

/// A format that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatInfo {
    /// The short name that reports show.
    pub name: &'static str,
    /// File name endings, without the dot.
    pub extensions: &'static [&'static str],
    /// What it holds, in a sentence.
    pub summary: &'static str,
}

/// The formats that [`read`] knows.
#[must_use]
pub fn formats() -> &'static [FormatInfo] {
    &[
        FormatInfo { name: onnx::FORMAT, extensions: &["onnx"], summary: "A model graph; shapes are worked out, weights are not read." },
        FormatInfo {
            name: oplist::FORMAT,
            extensions: &["json"],
            summary: "Ops and tensors with sizes, also forward and backward together; easy to write by hand.",
        },
        FormatInfo {
            name: problem_json::FORMAT,
            extensions: &["json"],
            summary: "Buffers with lifetimes and every rule of a planning problem: pools, fixed offsets, gaps, views.",
        },
        FormatInfo {
            name: minimalloc::FORMAT,
            extensions: &["csv"],
            summary: "Buffers with lifetimes and sizes, and offsets if another tool chose some.",
        },
    ]
}

/// Bytes looked at to tell the format: enough for a CSV header or the start of a JSON object.
const PROBE_BYTES: u64 = 4096;
/// Text formats are held in memory as a whole up to this size.
const MAX_TEXT_BYTES: u64 = 1 << 30;
/// A compressed file may unpack to at most this many bytes.
const MAX_UNPACKED_BYTES: u64 = 1 << 28;

/// Reads a file. Of an ONNX model only what is needed is read, so that its size hardly matters.
///
/// # Errors
/// Only if the file cannot be read at all; see [`FormatError`].
pub fn read(path: &Path, options: &ReadOptions, control: &Control<'_>) -> Result<Workload, FormatError> {
    let shown = path.display().to_string();
    let unopenable = |error: std::io::Error| FormatError::Unopenable { path: shown.clone(), reason: plain_reason(&error) };
    let metadata = std::fs::metadata(path).map_err(unopenable)?;
    if metadata.is_dir() {
        return Err(FormatError::Folder { path: shown });
    }
    if !metadata.is_file() {
        return Err(FormatError::Unopenable { path: shown, reason: "it is not a regular file".to_owned() });
    }
    let file = File::open(path).map_err(unopenable)?;
    let name = path.file_name().map_or_else(|| shown.clone(), |name| name.to_string_lossy().into_owned());
    read_source(&Origin { path: shown, file: name, bytes: metadata.len() }, BufReader::with_capacity(1 << 16, file), options, control)
}

/// Reads a file that is in memory; `name` stands for its path.
///
/// # Errors
/// As [`read`].
pub fn read_bytes(name: &str, bytes: &[u8], options: &ReadOptions) -> Result<Workload, FormatError> {
    let origin = Origin { path: name.to_owned(), file: name.rsplit(['/', '\\']).next().unwrap_or(name).to_owned(), bytes: bytes.len() as u64 };
    read_source(&origin, BufReader::new(Cursor::new(bytes)), options, &Control::unattended())
}

/// Where bytes come from: what messages and workloads call it, and how many there are.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    /// The path as the user gave it.
    pub(crate) path: String,
    /// The file's name without its folder.
    pub(crate) file: String,
    /// How many bytes it has.
    pub(crate) bytes: u64,
}

/// What the first bytes look like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Content {
    Gzip,
    Json,
    Csv,
    Onnx,
}

fn read_source<R: Read + Seek>(
    origin: &Origin,
    mut source: BufReader<R>,
    options: &ReadOptions,
    control: &Control<'_>,
) -> Result<Workload, FormatError> {
    if origin.bytes == 0 {
        return Err(FormatError::Empty { path: origin.path.clone() });
    }
    let failed = |error: std::io::Error| FormatError::Unreadable { path: origin.path.clone(), offset: 0, reason: plain_reason(&error) };
    let mut head = Vec::new();
    source.by_ref().take(PROBE_BYTES).read_to_end(&mut head).map_err(failed)?;
    source.seek(SeekFrom::Start(0)).map_err(failed)?;
    match content(&head, &origin.file).map_err(|found| FormatError::Unrecognised { path: origin.path.clone(), found })? {
        Content::Gzip => read_gzip(origin, source, options, control),
        Content::Json => {
            let text = text(origin, source)?;
            if problem_json::is_problem(&text) { problem_json::read(origin, &text) } else { oplist::read(origin, &text) }
        }
        Content::Csv => minimalloc::read(origin, source, control),
        Content::Onnx => onnx::read(origin, source, options, control),
    }
}

/// What the first bytes and the name say; `Err` says what the content looks like instead.
fn content(head: &[u8], file: &str) -> Result<Content, String> {
    let lower = file.to_ascii_lowercase();
    let ends = |extension: &str| lower.ends_with(extension);
    if head.starts_with(&[0x1f, 0x8b]) {
        return Ok(Content::Gzip);
    }
    if let Some(text) = as_text(head) {
        let start = text.trim_start_matches('\u{feff}').trim_start();
        return match start.chars().next() {
            Some('{' | '[') => Ok(Content::Json),
            _ if minimalloc::is_header(start.lines().next().unwrap_or_default()) || ends(".csv") => Ok(Content::Csv),
            _ if ends(".json") => Ok(Content::Json),
            None => Err("it holds nothing but blanks".to_owned()),
            Some(_) => Err("text of no known kind".to_owned()),
        };
    }
    if let Some(other) = foreign_kind(head) {
        return Err(other.to_owned());
    }
    if ends(".onnx") || onnx::looks_like_a_model(head) {
        return Ok(Content::Onnx);
    }
    Err("binary content of no known kind".to_owned())
}

/// The bytes as text, if they are: UTF-8 up to a cut character, no control characters but blanks.
fn as_text(head: &[u8]) -> Option<&str> {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => std::str::from_utf8(head.get(..error.valid_up_to())?).ok()?,
        Err(_) => return None,
    };
    text.chars().all(|c| !c.is_control() || matches!(c, '\t' | '\r' | '\n')).then_some(text)
}

/// Well-known kinds that are no workload, so that the message can say what the file is.
fn foreign_kind(head: &[u8]) -> Option<&'static str> {
    let at_four = head.get(4..8).unwrap_or_default();
    match head {
        [b'P', b'K', 3 | 5, 4 | 6, ..] => Some("this is a ZIP archive (or a PyTorch checkpoint): unpack it first"),
        [0x80, 2..=5, ..] => Some("this is a Python pickle"),
        [0x89, b'P', b'N', b'G', ..] => Some("this is a picture"),
        [b'%', b'P', b'D', b'F', ..] => Some("this is a PDF document"),
        [b'G', b'G', b'U', b'F', ..] => Some("this is a GGUF file, which holds weights and no graph"),
        [0x89, b'H', b'D', b'F', ..] => Some("this is an HDF5 file"),
        _ if at_four == b"TFL3" => Some("this is a TFLite model"),
        _ if at_four == b"ET12" => Some("this is an ExecuTorch program"),
        _ => None,
    }
}

fn text<R: Read>(origin: &Origin, source: BufReader<R>) -> Result<String, FormatError> {
    if origin.bytes > MAX_TEXT_BYTES {
        return Err(FormatError::TooLarge { path: origin.path.clone(), bytes: origin.bytes, limit: MAX_TEXT_BYTES });
    }
    let mut bytes = Vec::new();
    source.take(MAX_TEXT_BYTES).read_to_end(&mut bytes).map_err(|error| FormatError::Unreadable {
        path: origin.path.clone(),
        offset: bytes.len() as u64,
        reason: plain_reason(&error),
    })?;
    String::from_utf8(bytes).map_err(|error| FormatError::Damaged {
        path: origin.path.clone(),
        offset: error.utf8_error().valid_up_to() as u64,
        what: "the text is not UTF-8".to_owned(),
    })
}

fn read_gzip<R: Read>(origin: &Origin, source: BufReader<R>, options: &ReadOptions, control: &Control<'_>) -> Result<Workload, FormatError> {
    let mut bytes = Vec::new();
    let damaged = |offset: usize, what: String| FormatError::Damaged { path: origin.path.clone(), offset: offset as u64, what };
    let unpacked = flate2::bufread::MultiGzDecoder::new(source).take(MAX_UNPACKED_BYTES).read_to_end(&mut bytes);
    unpacked.map_err(|error| damaged(bytes.len(), format!("unpacking failed: {}", plain_reason(&error))))?;
    if bytes.len() as u64 == MAX_UNPACKED_BYTES {
        return Err(damaged(bytes.len(), format!("it unpacks to more than {MAX_UNPACKED_BYTES} bytes")));
    }
    let inner = Origin { path: origin.path.clone(), file: origin.file.trim_end_matches(".gz").to_owned(), bytes: bytes.len() as u64 };
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return Err(damaged(0, "it is packed twice".to_owned()));
    }
    let workload = read_source(&inner, BufReader::new(Cursor::new(bytes.as_slice())), options, control)?;
    Ok(Workload { file: origin.file.clone(), ..workload })
}

/// What the system says, without its error number.
pub(crate) fn plain_reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => {
            let text = error.to_string();
            text.split(" (os error").next().unwrap_or(&text).to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_decides_before_the_name() {
        assert_eq!(content(b" {\"format\": 1", "model.onnx"), Ok(Content::Json));
        assert_eq!(content(b"id,lower,upper,size\n", "model.onnx"), Ok(Content::Csv));
        assert_eq!(content(&[8, 8, 18, 7, b'p'], "data.bin"), Ok(Content::Onnx));
        assert_eq!(content(b"whatever", "a.csv"), Ok(Content::Csv));
        assert!(content(b"hello world", "model.onnx").is_err());
        assert!(content(&[0; 64], "zeros.bin").is_err());
    }
}
