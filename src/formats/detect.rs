//! Tells a file's format by its content, then by its name, and hands it to the reader.

use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;

use arenascope_planner::control::{Control, Progress};
use arenascope_planner::workload::Workload;

use crate::error::FormatError;
use crate::torch::{self, Reading, json::Kind};
use crate::{dsa, executorch, minimalloc, onnx, openvino, oplist, packed, printed, problem_json, tflite, xla};

/// What the user says about a file beyond its content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Numbers for open dimensions, as pairs of a name and a value. A name is a symbolic dimension, `input:axis`,
    /// `*` for all others, or a scalar graph input whose value decides shapes.
    pub dims: Vec<(String, u64)>,
    /// Which device of a memory trace is read, as the file numbers them; `None` for the one with most events.
    pub device: Option<i64>,
    /// Bytes of tensors whose size the file does not tell, as pairs of a name and a size.
    pub bytes: Vec<(String, u64)>,
    /// Other files that belong to the one that is read: the second text of an XLA dump.
    pub beside: Vec<PathBuf>,
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

/// The formats that [`read`](crate::read) knows; any of them may be packed as `.gz` or `.zip`.
#[must_use]
pub fn formats() -> &'static [FormatInfo] {
    &FORMATS
}

/// Whether a file's name ends as those of a format do, packed or not.
pub(crate) fn has_known_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let plain = lower.strip_suffix(".gz").unwrap_or(&lower);
    plain.rsplit_once('.').is_some_and(|(_, extension)| formats().iter().any(|format| format.extensions.contains(&extension)))
}

const fn info(name: &'static str, extensions: &'static [&'static str], summary: &'static str) -> FormatInfo {
    FormatInfo { name, extensions, summary }
}

static FORMATS: [FormatInfo; 14] = [
    info(onnx::FORMAT, &["onnx"], "A model graph; shapes are worked out, weights are not read."),
    info(tflite::FORMAT, &["tflite", "lite"], "A model for phones and microcontrollers; plans are read from it and written into it."),
    info(executorch::FORMAT, &["pte"], "A program for ExecuTorch with the plan that its compiler made."),
    info(openvino::FORMAT, &["xml"], "A model graph of OpenVINO; the file of weights beside it is not needed."),
    info(xla::FORMAT, &["txt"], "Buffers of a program that XLA compiled, and its own plan: a dump folder or its texts."),
    info(oplist::FORMAT, &["json"], "Ops and tensors with sizes, also forward and backward together; easy to write by hand."),
    info(problem_json::FORMAT, &["json"], "Buffers with lifetimes and every rule of a planning problem: pools, fixed offsets, gaps, views."),
    info(minimalloc::FORMAT, &["csv"], "Buffers with lifetimes and sizes, and offsets if another tool chose some."),
    info(dsa::FORMAT, &["json"], "Buffers with lifetimes and constraints, as dsa-solver takes and gives them."),
    info(
        torch::SNAPSHOT_FORMAT,
        &["pickle", "pkl", "json", "html"],
        "What PyTorch's CUDA allocator did: blocks and segments at their addresses, stacks, failures.",
    ),
    info(torch::CHROME_FORMAT, &["json"], "A trace of PyTorch's profiler with memory events, named by the operators around them."),
    info(torch::TIMELINE_FORMAT, &["json"], "A memory timeline of PyTorch's profiler: curves by category, nothing to plan."),
    info(printed::TFLM_FORMAT, &["txt", "log"], "The plan that TensorFlow Lite Micro prints."),
    info(printed::VELA_FORMAT, &["txt", "log"], "The allocation that the Vela compiler prints."),
];

/// Bytes looked at to tell the format: enough for a CSV header or the start of a JSON object.
pub(crate) const PROBE_BYTES: u64 = 4096;
/// Text formats are held in memory as a whole up to this size.
const MAX_TEXT_BYTES: u64 = 1 << 30;
/// Bytes read between two looks at the caller's wish to stop.
pub(crate) const CHUNK_BYTES: u64 = 1 << 22;

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
pub(crate) enum Content {
    Gzip,
    Zip,
    Json,
    Html,
    Pickle,
    Csv,
    Onnx,
    Tflite,
    ExecuTorch,
    Xml,
    Xla,
    PrintedPlan,
}

/// Reads a source; `beside` gives the other text of an XLA dump, if the source turns out to be one.
pub(crate) fn read_source<R: Read + Seek>(
    origin: &Origin,
    mut source: BufReader<R>,
    options: &ReadOptions,
    control: &Control<'_>,
    beside: &dyn Fn() -> Option<String>,
) -> Result<Workload, FormatError> {
    if origin.bytes == 0 {
        return Err(FormatError::Empty { path: origin.path.clone() });
    }
    let failed = |error: std::io::Error| FormatError::Unreadable { path: origin.path.clone(), offset: 0, reason: plain_reason(&error) };
    let mut head = Vec::new();
    source.by_ref().take(PROBE_BYTES).read_to_end(&mut head).map_err(failed)?;
    source.seek(SeekFrom::Start(0)).map_err(failed)?;
    match content(&head, &origin.file).map_err(|found| FormatError::Unrecognised { path: origin.path.clone(), found })? {
        Content::Gzip => packed::read_gzip(origin, &mut source, options, control, beside),
        Content::Zip => packed::read_zip(origin, &mut source, options, control),
        Content::Json => read_json(origin, &head, source, options, control),
        Content::Html => torch::html::read(&Reading { origin, options, control }, source),
        Content::Pickle => torch::read_pickle(&Reading { origin, options, control }, source),
        Content::Csv => minimalloc::read(origin, source, control),
        Content::Onnx => onnx::read(origin, source, options, control),
        Content::Tflite => tflite::read(origin, source, options, control),
        Content::ExecuTorch => executorch::read(origin, source, control),
        Content::Xml => openvino::read(origin, &text(origin, source, control)?, options),
        Content::PrintedPlan => printed::read(origin, &text(origin, source, control)?),
        Content::Xla => {
            let own = text(origin, source, control)?;
            let other = beside();
            xla::read(origin, &[Some(own.as_str()), other.as_deref()].into_iter().flatten().collect::<Vec<_>>())
        }
    }
}

fn read_json<R: Read + Seek>(
    origin: &Origin,
    head: &[u8],
    mut source: BufReader<R>,
    options: &ReadOptions,
    control: &Control<'_>,
) -> Result<Workload, FormatError> {
    let reading = Reading { origin, options, control };
    let known = as_text(head).and_then(torch::json::kind_of_head);
    let is_whole = head.len() as u64 == origin.bytes;
    let kind = match known {
        Some(kind) => kind,
        None if is_whole => Kind::OpList,
        None => {
            let kind = torch::json::kind_of_all(&reading, &mut source);
            let failed = |error: std::io::Error| FormatError::Unreadable { path: origin.path.clone(), offset: 0, reason: plain_reason(&error) };
            source.seek(SeekFrom::Start(0)).map_err(failed)?;
            kind
        }
    };
    match kind {
        Kind::Snapshot => torch::json::read(&reading, source),
        Kind::ChromeTrace => torch::chrome::read(&reading, source),
        Kind::MemoryTimeline => torch::timeline::read(&reading, source),
        Kind::OpList => {
            let text = text(origin, source, control)?;
            match text.as_str() {
                text if problem_json::is_problem(text) => problem_json::read(origin, text),
                text if dsa::looks_like_one(text) => dsa::read(origin, text),
                text => oplist::read(origin, text),
            }
        }
    }
}

/// What the first bytes and the name say; `Err` says what the content looks like instead.
pub(crate) fn content(head: &[u8], file: &str) -> Result<Content, String> {
    let lower = file.to_ascii_lowercase();
    let ends = |extension: &str| lower.ends_with(extension);
    match head {
        [0x1f, 0x8b, ..] => return Ok(Content::Gzip),
        [b'P', b'K', 3 | 5, 4 | 6, ..] => return Ok(Content::Zip),
        _ => {}
    }
    if let Some(text) = as_text(head) {
        return text_content(text, &lower);
    }
    let at_four = head.get(4..8).unwrap_or_default();
    if at_four == b"TFL3" {
        return Ok(Content::Tflite);
    }
    if at_four.starts_with(b"ET1") {
        return Ok(Content::ExecuTorch);
    }
    if let [0x80, 2..=5, ..] = head {
        return Ok(Content::Pickle);
    }
    if let Some(other) = foreign_kind(head) {
        return Err(other.to_owned());
    }
    match () {
        () if ends(".tflite") => Ok(Content::Tflite),
        () if ends(".onnx") || onnx::looks_like_a_model(head) => Ok(Content::Onnx),
        () => Err("binary content of no known kind".to_owned()),
    }
}

fn text_content(text: &str, lower_name: &str) -> Result<Content, String> {
    let ends = |extension: &str| lower_name.ends_with(extension);
    let start = text.trim_start_matches('\u{feff}').trim_start();
    let first = start.chars().next();
    match first {
        Some('{') => Ok(Content::Json),
        Some('<') if is_page(start) => Ok(Content::Html),
        Some('<') if openvino::looks_like_one(start) || ends(".xml") => Ok(Content::Xml),
        _ if xla::is_dump(start) => Ok(Content::Xla),
        _ if printed::looks_like_one(start) => Ok(Content::PrintedPlan),
        Some('[') => Ok(Content::Json),
        _ if minimalloc::is_header(start.lines().next().unwrap_or_default()) || ends(".csv") => Ok(Content::Csv),
        _ if ends(".json") => Ok(Content::Json),
        _ if lower_name.contains("buffer-assignment") || lower_name.contains("live-range") => Ok(Content::Xla),
        // A program's output may say much before it comes to its plan.
        Some(_) if ends(".log") || ends(".txt") && text.len() as u64 >= PROBE_BYTES => Ok(Content::PrintedPlan),
        None => Err("it holds nothing but blanks".to_owned()),
        Some(_) => Err("text of no known kind".to_owned()),
    }
}

fn is_page(text: &str) -> bool {
    let start: String = text.chars().take(256).collect::<String>().to_ascii_lowercase();
    start.starts_with("<!doctype html") || start.contains("<html")
}

/// The bytes as text, if they are: UTF-8 up to a cut character, no control characters but blanks.
fn as_text(head: &[u8]) -> Option<&str> {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => std::str::from_utf8(head.get(..error.valid_up_to())?).ok()?,
        Err(_) => return None,
    };
    text.chars().all(|c| !c.is_control() || matches!(c, '\t' | '\r' | '\n' | '\u{1b}')).then_some(text)
}

/// Well-known kinds that are no workload, so that the message can say what the file is.
fn foreign_kind(head: &[u8]) -> Option<&'static str> {
    match head {
        [0x89, b'P', b'N', b'G', ..] => Some("this is a picture"),
        [b'%', b'P', b'D', b'F', ..] => Some("this is a PDF document"),
        [b'G', b'G', b'U', b'F', ..] => Some("this is a GGUF file, which holds weights and no graph"),
        [0x89, b'H', b'D', b'F', ..] => Some("this is an HDF5 file"),
        _ => None,
    }
}

/// A text as a whole, read in chunks so that the caller can follow and stop it.
pub(crate) fn text<R: Read>(origin: &Origin, mut source: BufReader<R>, control: &Control<'_>) -> Result<String, FormatError> {
    if origin.bytes > MAX_TEXT_BYTES {
        return Err(FormatError::TooLarge { path: origin.path.clone(), bytes: origin.bytes, limit: MAX_TEXT_BYTES });
    }
    let mut bytes = Vec::new();
    loop {
        poll(origin, control, bytes.len() as u64)?;
        let read = source.by_ref().take(CHUNK_BYTES).read_to_end(&mut bytes).map_err(|error| FormatError::Unreadable {
            path: origin.path.clone(),
            offset: bytes.len() as u64,
            reason: plain_reason(&error),
        })?;
        if read == 0 || bytes.len() as u64 >= MAX_TEXT_BYTES {
            break;
        }
    }
    String::from_utf8(bytes).map_err(|error| FormatError::Damaged {
        path: origin.path.clone(),
        offset: error.utf8_error().valid_up_to() as u64,
        what: "the text is not UTF-8".to_owned(),
    })
}

/// Tells how far reading is; an error if the caller wants it to stop.
pub(crate) fn poll(origin: &Origin, control: &Control<'_>, at: u64) -> Result<(), FormatError> {
    if control.is_stopped() {
        return Err(FormatError::Stopped { path: origin.path.clone() });
    }
    #[expect(clippy::cast_precision_loss, reason = "a fraction for a progress bar")]
    let fraction = at as f64 / origin.bytes.max(1) as f64;
    control.report(Progress { what: format!("reading {}", origin.file), fraction: Some(fraction.min(1.0)), best_arena_bytes: None });
    Ok(())
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
        assert_eq!(content(b"\x1c\0\0\0TFL3\x14\0", "model.onnx"), Ok(Content::Tflite));
        assert_eq!(content(b"\x1c\0\0\0ET12\x14\0\xff", "a.txt"), Ok(Content::ExecuTorch));
        assert_eq!(content(b"<?xml version=\"1.0\"?>\n<net name=\"x\" version=\"11\">", "a"), Ok(Content::Xml));
        assert_eq!(content(b"BufferAssignment:\nallocation 0: size 8, constant:\n", "a.csv"), Ok(Content::Xla));
        assert_eq!(content(b"0 (id=0): size=16, offset=0, first_used=0 last_used=1\n", "a"), Ok(Content::PrintedPlan));
        assert!(content(b"hello world", "model.onnx").is_err());
        assert!(content(&[0; 64], "zeros.bin").is_err());
    }
}
