//! The names that snapshots use, as numbers: a field is compared with one look instead of letter by letter.

use arenascope_planner::stacks::{StackTable, TextId};
use arenascope_planner::trace::Action;

macro_rules! fields {
    ($($name:ident = $text:literal),* $(,)?) => {
        #[expect(non_camel_case_types, clippy::upper_case_acronyms, reason = "the names of the constants, numbered")]
        enum Position { $($name),* }
        $(
            #[doc = concat!("`", $text, "`")]
            pub(super) const $name: TextId = TextId(Position::$name as u32 + 1);
        )*
        const TEXTS: &[&str] = &[$($text),*];
    };
}

fields! {
    ACTION = "action",
    ADDR = "addr",
    ADDRESS = "address",
    SIZE = "size",
    STREAM = "stream",
    FRAMES = "frames",
    TIME_US = "time_us",
    DEVICE_FREE = "device_free",
    COMPILE_CONTEXT = "compile_context",
    USER_METADATA = "user_metadata",
    INTERNAL_METADATA = "internal_metadata",
    POOL_ID = "pool_id",
    SEGMENT_POOL_ID = "segment_pool_id",
    NAME = "name",
    FILENAME = "filename",
    LINE = "line",
    STATE = "state",
    REQUESTED_SIZE = "requested_size",
    REAL_SIZE = "real_size",
    HISTORY = "history",
    BLOCKS = "blocks",
    TOTAL_SIZE = "total_size",
    SEGMENT_TYPE = "segment_type",
    IS_EXPANDABLE = "is_expandable",
    DEVICE = "device",
    STAGE = "stage",
    SEGMENTS = "segments",
    DEVICE_TRACES = "device_traces",
    ALLOCATOR_SETTINGS = "allocator_settings",
    EXTERNAL_ANNOTATIONS = "external_annotations",
    HOST_SEGMENTS = "host_segments",
    HOST_TRACES = "host_traces",
    TRACE_ALLOC_OVERFLOWED = "trace_alloc_overflowed",
    ROUNDUP_POWER2_DIVISIONS = "roundup_power2_divisions",
    ALLOC = "alloc",
    FREE_REQUESTED = "free_requested",
    FREE_COMPLETED = "free_completed",
    FREE = "free",
    SEGMENT_ALLOC = "segment_alloc",
    SEGMENT_FREE = "segment_free",
    SEGMENT_MAP = "segment_map",
    SEGMENT_UNMAP = "segment_unmap",
    SNAPSHOT = "snapshot",
    OOM = "oom",
    USER_DEFINED = "user_defined",
    ANNOTATE = "annotate",
    INACTIVE = "inactive",
    SMALL = "small",
    LARGE = "large",
    NOT_AVAILABLE = "N/A",
}

/// A table in which every field has its number. Text 0 is the empty text.
pub(super) fn table() -> StackTable {
    let mut table = StackTable::default();
    for (position, text) in (1_u32..).zip(TEXTS) {
        let id = table.text_id(text);
        assert_eq!(id, TextId(position), "fields are numbered in order");
    }
    table
}

/// The action that a text names.
pub(super) fn action(text: TextId) -> Action {
    match text {
        ALLOC => Action::Alloc,
        FREE_REQUESTED => Action::FreeRequested,
        FREE_COMPLETED | FREE => Action::FreeCompleted,
        SEGMENT_ALLOC => Action::SegmentAlloc,
        SEGMENT_FREE => Action::SegmentFree,
        SEGMENT_MAP => Action::SegmentMap,
        SEGMENT_UNMAP => Action::SegmentUnmap,
        SNAPSHOT => Action::Snapshot,
        OOM => Action::OutOfMemory,
        USER_DEFINED | ANNOTATE => Action::Mark,
        other => Action::Other(other),
    }
}
