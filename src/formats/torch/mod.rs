//! What PyTorch records about memory: snapshots of its CUDA allocator, and traces of its profiler.
//!
//! | file | reader | what it gives |
//! | --- | --- | --- |
//! | CUDA snapshot, `.pickle` (protocols 2 to 5) | `pickle.rs` | blocks, segments, stacks, failures |
//! | CUDA snapshot as JSON | `json.rs` | the same |
//! | the HTML page that PyTorch's memory viewer exports | `html.rs` | the same: it holds the pickle |
//! | Chrome trace with `[memory]` events, `.json` | `chrome.rs` | blocks, named by the operators around them |
//! | memory timeline, `.json` and `.raw.json` | `timeline.rs` | curves by category, no blocks |
//!
//! # Snapshots
//!
//! A snapshot has the segments with their blocks at the end (`segments`), and the last events of each device
//! (`device_traces`). A bare list is the former alone. Fields come in any order; ones that are missing are taken as
//! absent, ones that are unknown are passed over.
//!
//! | field | meaning | since |
//! | --- | --- | --- |
//! | event `action` | `alloc`, `free_requested`, `free_completed`, `segment_alloc`, `segment_free`, `segment_map`, `segment_unmap`, `snapshot`, `oom`, `user_defined`, `annotate`; others are kept by name | |
//! | event `addr`, `size`, `stream` | where, requested bytes, which stream | |
//! | event `device_free` | what the device had left (`oom`, in place of `addr`) | |
//! | event `frames` | the stack, innermost call first | absent without context |
//! | event `time_us` | microseconds since 1970 | 2.2 |
//! | event `compile_context`, `user_metadata`, `internal_metadata` | kept as notes of the event | 2025, 2026 |
//! | event `pool_id`, segment `segment_pool_id` | which pool | |
//! | block `address` | where; the sum of the sizes before it if it is missing | 2.1 |
//! | block `size`, `requested_size`, `state` | rounded and requested bytes; everything but `inactive` is in use | |
//! | block `history` | in place of `requested_size` and `frames` | before 2.0 |
//! | `external_annotations` | named ranges | 2.5 |
//! | `host_segments`, `host_traces` | pinned memory of the host: not shown, with a warning | 2026 |
//!
//! Blocks that no event allocates are found by the rule of [`arenascope_planner::recording`].
//! Of several devices one is read: the one that [`crate::ReadOptions::device`] names, or the one with most events.

mod bytes;
pub(crate) mod chrome;
mod chrome_event;
mod devices;
mod fields;
pub(crate) mod html;
pub(crate) mod json;
mod labels;
mod pickle;
mod polled;
mod snapshot;
mod store;
pub(crate) mod timeline;

use std::io::Read;

use arenascope_planner::control::{Control, Progress};
use arenascope_planner::workload::Workload;

use crate::detect::{Origin, ReadOptions, plain_reason};
use crate::error::FormatError;

/// The short name of snapshots.
pub const SNAPSHOT_FORMAT: &str = "torch-snapshot";
/// The short name of Chrome traces.
pub const CHROME_FORMAT: &str = "torch-chrome-trace";
/// The short name of memory timelines.
pub const TIMELINE_FORMAT: &str = "torch-memory-timeline";

/// A file that is being read: how to speak of it, and whom to tell.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    pub(crate) origin: &'a Origin,
    pub(crate) options: &'a ReadOptions,
    pub(crate) control: &'a Control<'a>,
}

impl Reading<'_> {
    fn path(&self) -> &str {
        &self.origin.path
    }

    /// Tells how far the reading is; whether it shall go on.
    fn goes_on(&self, at: u64) -> bool {
        #[expect(clippy::cast_precision_loss, reason = "a fraction for a progress bar")]
        let fraction = at as f64 / self.origin.bytes.max(1) as f64;
        let what = format!("reading {}", self.origin.file);
        self.control.report(Progress { what, fraction: Some(fraction.min(1.0)), best_arena_bytes: None });
        !self.control.is_stopped()
    }

    fn damaged(&self, offset: u64, what: impl Into<String>) -> FormatError {
        FormatError::Damaged { path: self.path().to_owned(), offset, what: what.into() }
    }

    fn failed(&self, error: &std::io::Error, offset: u64) -> FormatError {
        FormatError::Unreadable { path: self.path().to_owned(), offset, reason: plain_reason(error) }
    }

    fn entry(&self, place: &str, what: impl Into<String>, advice: &str) -> FormatError {
        FormatError::Entry { path: self.path().to_owned(), place: place.to_owned(), what: what.into(), advice: advice.to_owned() }
    }
}

/// Reads a snapshot from a pickle.
pub(crate) fn read_pickle<R: Read>(reading: &Reading<'_>, source: R) -> Result<Workload, FormatError> {
    let (value, store) = pickle::read(reading, source)?;
    snapshot::workload(reading, value, store)
}
