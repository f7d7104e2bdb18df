//! What the fuzz targets share: which bytes belong to which reader, and what must hold of every answer.
//!
//! An answer is a workload or an error of one line, within the memory that [`Kind::bytes_per_byte`] states, and what a
//! workload holds can be prepared for planning or is refused with a reason. A panic ends a run, and so does an
//! allocation beyond the limit.

use std::alloc::System;
use std::sync::{Arc, OnceLock};

use arenascope_formats::plan_file::plan_from_json;
use arenascope_formats::{ReadOptions, read_bytes};
use arenascope_planner::check::check;
use arenascope_planner::observed::observed;
use arenascope_planner::prepare::{PrepareSettings, Prepared, prepare};
use arenascope_planner::workload::Workload;
use cap::Cap;
use libfuzzer_sys::Corpus;

pub mod problems;

#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

/// Memory that a reader may use whatever the input: tables, buffers for reading, messages.
const FIXED_BYTES: usize = 4 << 20;

/// A reader, by what it reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Onnx,
    Tflite,
    ExecuTorch,
    OpenVino,
    Xla,
    TflmPlan,
    VelaAllocation,
    OpList,
    ProblemJson,
    DsaJson,
    MinimallocCsv,
    TorchPickle,
    TorchJson,
    TorchHtml,
    ChromeTrace,
    MemoryTimeline,
    Packed,
}

impl Kind {
    /// A name that leads to the reader where the content alone does not.
    fn file_name(self) -> &'static str {
        match self {
            Self::Onnx => "a.onnx",
            Self::Tflite => "a.tflite",
            Self::ExecuTorch => "a.pte",
            Self::OpenVino => "a.xml",
            Self::Xla => "buffer-assignment.txt",
            Self::TflmPlan | Self::VelaAllocation => "a.log",
            Self::MinimallocCsv => "a.csv",
            Self::TorchPickle => "a.pickle",
            Self::TorchHtml => "a.html",
            Self::Packed => "a",
            Self::OpList | Self::ProblemJson | Self::DsaJson | Self::TorchJson | Self::ChromeTrace | Self::MemoryTimeline => "a.json",
        }
    }

    /// Whether the bytes would come to this reader; what would go to another one is that one's target.
    fn owns(self, bytes: &[u8]) -> bool {
        let holds = |word: &str| bytes.windows(word.len()).any(|window| window == word.as_bytes());
        let begins = |start: &[u8]| bytes.starts_with(start);
        match self {
            Self::Onnx => !begins(b"PK") && !begins(&[0x1f, 0x8b]) && !begins(&[0x80]) && std::str::from_utf8(bytes).is_err(),
            Self::Tflite => bytes.get(4..8) == Some(b"TFL3"),
            Self::ExecuTorch => bytes.get(4..7) == Some(b"ET1"),
            Self::OpenVino => begins(b"<"),
            Self::TorchPickle => begins(&[0x80]),
            Self::TorchHtml => holds("base64"),
            Self::Packed => begins(b"PK") || begins(&[0x1f, 0x8b]),
            Self::Xla => holds("llocation") || holds("BufferLiveRange"),
            Self::TflmPlan => holds("first_used="),
            Self::VelaAllocation => holds("Tensor Size"),
            Self::MinimallocCsv => !begins(b"{") && !begins(b"[") && !begins(b"<") && !begins(b"PK") && !begins(&[0x1f, 0x8b]),
            Self::OpList | Self::ProblemJson | Self::DsaJson | Self::TorchJson | Self::ChromeTrace => begins(b"{"),
            Self::MemoryTimeline => begins(b"["),
        }
    }

    /// How many bytes of memory a reader may use per byte of its input, the prepared problem included.
    #[must_use]
    pub fn bytes_per_byte(self) -> usize {
        match self {
            // Deflate packs a thousand zeros into a byte.
            Self::Packed => 20_000,
            _ => 400,
        }
    }
}

/// Runs `work` with no more memory than it may use for an input of `bytes`; the process ends if it wants more.
fn within_memory<T>(bytes: usize, per_byte: usize, work: impl FnOnce() -> T) -> T {
    let allowed = FIXED_BYTES + per_byte * bytes;
    MEMORY.set_limit(MEMORY.allocated() + allowed).expect("more than is in use");
    let result = work();
    MEMORY.set_limit(usize::MAX).expect("no limit");
    result
}

/// Reads `bytes` and prepares what was read.
///
/// # Panics
/// If something does not hold that must.
pub fn check_reader(kind: Kind, bytes: &[u8]) -> Corpus {
    if !kind.owns(bytes) {
        return Corpus::Reject;
    }
    within_memory(bytes.len(), kind.bytes_per_byte(), || match read_bytes(kind.file_name(), bytes, &ReadOptions::default()) {
        Err(error) => is_one_line(&error.to_string()),
        Ok(workload) => check_workload(workload),
    });
    Corpus::Keep
}

fn is_one_line(message: &str) {
    assert!(!message.is_empty() && !message.contains('\n'), "not one line: {message:?}");
}

fn check_workload(workload: Workload) {
    for warning in &workload.warnings {
        is_one_line(&warning.to_string());
    }
    if let Some(found) = observed(&workload) {
        let _ = found.check();
    }
    match prepare(&Arc::new(workload), PrepareSettings::default()) {
        Err(error) => is_one_line(&error.to_string()),
        Ok(prepared) => {
            let total: u64 = prepared.problem.buffers().iter().map(|buffer| buffer.bytes).sum();
            assert!(total < 1 << 62, "{total} bytes in total");
        }
    }
}

/// Reads `bytes` as a plan file, and checks its plan for a problem of the samples.
///
/// # Panics
/// If something does not hold that must.
pub fn check_plan_file(bytes: &[u8]) -> Corpus {
    static PREPARED: OnceLock<Prepared> = OnceLock::new();
    let Ok(text) = std::str::from_utf8(bytes) else { return Corpus::Reject };
    let prepared = PREPARED.get_or_init(|| {
        let sample = include_bytes!("../../sample-graphs/article_three_tensors.json");
        let workload = read_bytes("sample.json", sample, &ReadOptions::default()).expect("a sample");
        prepare(&Arc::new(workload), PrepareSettings::default()).expect("a sample")
    });
    within_memory(bytes.len(), 400, || match plan_from_json(text) {
        Err(error) => is_one_line(&error.to_string()),
        Ok(file) => {
            let _ = (file.placed_buffers(), file.arena_bytes(), file.to_keep());
            match file.for_problem(prepared) {
                Err(error) => is_one_line(&error.to_string()),
                Ok(plan) => {
                    let _ = check(&prepared.problem, &plan);
                }
            }
        }
    });
    Corpus::Keep
}
