//! Writes a plan into a TFLite file, as the metadata that TensorFlow Lite Micro takes its offsets from.
//!
//! Offsets inside such a file point forward only, so what is new goes in front: a root table that names the new
//! metadata and everything that was there, then the old content, moved by a multiple of 64 bytes so that every weight
//! keeps its alignment. A file that holds a plan of the same length keeps its layout and gets new numbers.

use std::io::Cursor;

use arenascope_planner::alias::Storage;
use arenascope_planner::graph::Tensor;
use arenascope_planner::ids::TensorId;
use arenascope_planner::plan::Plan;
use arenascope_planner::prepare::Prepared;
use arenascope_planner::workload::Source;

use super::FORMAT;
use super::schema::{self, OFFLINE_NAME, TensorDef};
use crate::detect::Origin;
use crate::error::FormatError;
use crate::flat_tables::{FlatFile, Table};

/// What the old content is moved by a multiple of: the alignment of weights in such files is 16, of some commands 64.
const MOVE_ALIGN: usize = 64;
/// TensorFlow Lite Micro aligns every buffer to this.
const RUNTIME_ALIGN: u64 = 16;
/// Fields of the root table, by slot; all are four bytes wide.
const ROOT_SLOTS: u64 = 8;
const BUFFERS_SLOT: u64 = 4;
const METADATA_SLOT: u64 = 6;
/// The root offset and the identifier.
const HEADER_BYTES: usize = 8;

/// The model file with a plan in it. Graph inputs and outputs are left to the runtime unless the plan places them.
///
/// `path` is for messages, `model` the content of the file that was planned.
///
/// # Errors
/// Another format, another order of ops, offsets that the runtime cannot use, or a file that is damaged.
pub fn with_plan(path: &str, model: &[u8], prepared: &Prepared, plan: &Plan) -> Result<Vec<u8>, FormatError> {
    let offsets = tensor_offsets(prepared, plan)?;
    let mut numbers = vec![0, 0, to_i32(offsets.len() as u64, "the number of tensors")?];
    numbers.extend(offsets);
    let data: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let origin = Origin { path: path.to_owned(), file: String::new(), bytes: model.len() as u64 };
    let file = FlatFile::new(&origin, Cursor::new(model));
    if model.get(4..8) != Some(b"TFL3") {
        return Err(file.damaged(4, "the file has no TFLite identifier"));
    }
    let root = file.root()?;
    check_shapes(root, prepared)?;
    if let Some((start, bytes)) = existing(root)?.filter(|(_, bytes)| *bytes == data.len() as u64) {
        let mut copy = model.to_vec();
        let range = index(start)?..index(start + bytes)?;
        copy.get_mut(range).ok_or_else(|| file.damaged(start, "the plan lies outside the file"))?.copy_from_slice(&data);
        return Ok(copy);
    }
    with_new_metadata(&file, root, model, &data)
}

fn cannot(what: impl Into<String>, advice: &str) -> FormatError {
    FormatError::Plan { what: what.into(), advice: advice.to_owned() }
}

fn to_i32(value: u64, what: &str) -> Result<i32, FormatError> {
    i32::try_from(value).map_err(|_| cannot(format!("{what} is {value}, and the runtime counts in 31 bits"), "plan a smaller model"))
}

fn index(value: u64) -> Result<usize, FormatError> {
    usize::try_from(value).map_err(|_| cannot("the file is larger than this machine can address", "use a 64-bit machine"))
}

/// For each tensor of the file its first byte, or −1 where the plan does not place it.
fn tensor_offsets(prepared: &Prepared, plan: &Plan) -> Result<Vec<i32>, FormatError> {
    let (Source::Graph(graph), Some(context)) = (&prepared.workload.source, &prepared.context) else {
        return Err(cannot("the plan is not for a TFLite model", "plan a .tflite file to write one"));
    };
    if prepared.workload.format != FORMAT {
        return Err(cannot(format!("the plan is for a file of format {}", prepared.workload.format), "plan a .tflite file to write one"));
    }
    if !context.schedule.is_file_order() {
        return Err(cannot("the plan is for another order of ops than the file's", "plan it in the file's order"));
    }
    let place = |id: TensorId| match context.map.storage[id.index()] {
        Storage::Planned(buffer) => {
            let offset = plan.offset(buffer);
            if !offset.is_multiple_of(RUNTIME_ALIGN) {
                let what = format!("`{}` is at byte {offset}, and the runtime needs multiples of {RUNTIME_ALIGN}", graph.tensor(id).name);
                return Err(cannot(what, "plan with --align 16 or a multiple of it"));
            }
            to_i32(offset, "an offset")
        }
        Storage::Static | Storage::Empty | Storage::Unknown => Ok(-1),
    };
    graph.tensor_ids().map(place).collect()
}

/// A plan for other shapes than the stored ones would let tensors overlap in a run.
fn check_shapes(root: Table<'_, '_>, prepared: &Prepared) -> Result<(), FormatError> {
    let Source::Graph(graph) = &prepared.workload.source else { return Ok(()) };
    let model = schema::model(root)?;
    let stored = model.subgraphs.first().map_or(&[][..], |graph| &graph.tensors);
    let is_stored = |(tensor, stored): (&Tensor, &TensorDef)| {
        let dims: Option<Vec<u64>> = stored.shape.iter().map(|&dim| u64::try_from(dim).ok()).collect();
        tensor.shape == dims
    };
    if stored.len() == graph.tensors().len() && graph.tensors().iter().zip(stored).all(is_stored) {
        return Ok(());
    }
    Err(cannot("the plan is for other shapes than those stored in the file", "plan it without --dim, or save the model with those shapes"))
}

/// The bytes of the plan that the file has already.
fn existing(root: Table<'_, '_>) -> Result<Option<(u64, u64)>, FormatError> {
    let buffers = root.tables(BUFFERS_SLOT)?;
    for entry in root.tables(METADATA_SLOT)? {
        if entry.text(0)? == OFFLINE_NAME {
            let buffer = usize::try_from(entry.u32(1, 0)?).ok().and_then(|index| buffers.get(index));
            return Ok(buffer.map(|buffer| buffer.byte_range(0)).transpose()?.flatten());
        }
    }
    Ok(None)
}

fn with_new_metadata(file: &FlatFile<'_>, root: Table<'_, '_>, model: &[u8], data: &[u8]) -> Result<Vec<u8>, FormatError> {
    let old_buffers: Vec<u64> = root.tables(BUFFERS_SLOT)?.into_iter().map(Table::at).collect();
    let mut old_metadata = Vec::new();
    for entry in root.tables(METADATA_SLOT)? {
        if entry.text(0)? != OFFLINE_NAME {
            old_metadata.push(entry.at());
        }
    }
    let mut front = Front::new(model);
    let table = front.root_table(root)?;
    let buffer_vector = front.vector(&old_buffers);
    let metadata_vector = front.vector(&old_metadata);
    let metadata = front.metadata_table(u32::try_from(old_buffers.len()).map_err(|_| file.damaged(0, "more buffers than can be counted"))?);
    let buffer = front.buffer_table(data);
    front.point(buffer_vector.last, buffer);
    front.point(metadata_vector.last, metadata);
    front.point(table + 4 + 4 * index(BUFFERS_SLOT)?, buffer_vector.start);
    front.point(table + 4 + 4 * index(METADATA_SLOT)?, metadata_vector.start);
    let moved_by = front.finish()?;
    let mut whole = front.bytes;
    whole.extend_from_slice(&model[HEADER_BYTES..]);
    move_absolute_offsets(root, &mut whole, moved_by)?;
    if i32::try_from(whole.len()).is_err() {
        return Err(cannot(format!("the file would have {} bytes, and its offsets count in 31 bits", whole.len()), "plan a smaller model"));
    }
    Ok(whole)
}

/// Positions in the file that are counted from its start, not from where they stand.
fn move_absolute_offsets(root: Table<'_, '_>, whole: &mut [u8], moved_by: u64) -> Result<(), FormatError> {
    let mut fields = Vec::new();
    for buffer in root.tables(BUFFERS_SLOT)? {
        fields.push((buffer.field(1)?, buffer.u64(1, 0)?));
    }
    for graph in root.tables(2)? {
        for operator in graph.tables(3)? {
            fields.push((operator.field(9)?, operator.u64(9, 0)?));
        }
    }
    for (field, value) in fields {
        let (Some(at), true) = (field, value > 1) else { continue };
        let start = index(at + moved_by)?;
        if let Some(bytes) = whole.get_mut(start..start + 8) {
            bytes.copy_from_slice(&value.saturating_add(moved_by).to_le_bytes());
        }
    }
    Ok(())
}

/// What goes in front of the old content, with places to fill in once the length is known.
struct Front {
    bytes: Vec<u8>,
    /// Places of offsets, and the old positions that they lead to.
    to_old: Vec<(usize, u64)>,
}

/// A vector of offsets in front.
struct OffsetVector {
    start: usize,
    /// The place of the one offset that is new.
    last: usize,
}

impl Front {
    fn new(model: &[u8]) -> Self {
        Self { bytes: model[..HEADER_BYTES].to_vec(), to_old: Vec::new() }
    }

    fn push_u16(&mut self, value: usize) {
        self.bytes.extend(u16::try_from(value).unwrap_or(0).to_le_bytes());
    }

    fn push_u32(&mut self, value: u32) {
        self.bytes.extend(value.to_le_bytes());
    }

    fn pad_to(&mut self, align: usize, beyond: usize) {
        while self.bytes.len() % align != beyond {
            self.bytes.push(0);
        }
    }

    /// A copy of the root table with room for every field; its layout stands right before it.
    fn root_table(&mut self, root: Table<'_, '_>) -> Result<usize, FormatError> {
        let layout_bytes = 4 + 2 * index(ROOT_SLOTS)?;
        self.pad_to(4, 0);
        self.push_u16(layout_bytes);
        self.push_u16(4 + 4 * index(ROOT_SLOTS)?);
        for slot in 0..ROOT_SLOTS {
            let is_there = slot == BUFFERS_SLOT || slot == METADATA_SLOT || root.field(slot)?.is_some();
            self.push_u16(if is_there { 4 + 4 * index(slot)? } else { 0 });
        }
        self.pad_to(4, 0);
        let table = self.bytes.len();
        self.push_u32(u32::try_from(layout_bytes).unwrap_or(0));
        self.push_u32(root.u32(0, 0)?);
        for slot in 1..ROOT_SLOTS {
            if let Some(old) = root.target(slot)?.filter(|_| slot != BUFFERS_SLOT && slot != METADATA_SLOT) {
                self.to_old.push((self.bytes.len(), old));
            }
            self.push_u32(0);
        }
        let offset = u32::try_from(table).unwrap_or(0);
        self.bytes[..4].copy_from_slice(&offset.to_le_bytes());
        Ok(table)
    }

    /// Offsets to old tables, and one more that is not yet known.
    fn vector(&mut self, old: &[u64]) -> OffsetVector {
        let start = self.bytes.len();
        self.push_u32(u32::try_from(old.len() + 1).unwrap_or(0));
        for &position in old {
            self.to_old.push((self.bytes.len(), position));
            self.push_u32(0);
        }
        let last = self.bytes.len();
        self.push_u32(0);
        OffsetVector { start, last }
    }

    fn metadata_table(&mut self, buffer: u32) -> usize {
        for value in [8, 12, 4, 8] {
            self.push_u16(value);
        }
        let table = self.bytes.len();
        self.push_u32(8);
        self.push_u32(8);
        self.push_u32(buffer);
        self.push_u32(u32::try_from(OFFLINE_NAME.len()).unwrap_or(0));
        self.bytes.extend(OFFLINE_NAME.as_bytes());
        self.bytes.push(0);
        self.pad_to(4, 0);
        table
    }

    fn buffer_table(&mut self, data: &[u8]) -> usize {
        for value in [6, 8, 4, 0] {
            self.push_u16(value);
        }
        let table = self.bytes.len();
        self.push_u32(8);
        let field = self.bytes.len();
        self.push_u32(0);
        self.pad_to(16, 12);
        let vector = self.bytes.len();
        self.push_u32(u32::try_from(data.len()).unwrap_or(0));
        self.bytes.extend(data);
        self.point(field, vector);
        table
    }

    /// Lets the offset at `at` lead to `to`.
    fn point(&mut self, at: usize, to: usize) {
        let offset = u32::try_from(to - at).unwrap_or(0);
        self.bytes[at..at + 4].copy_from_slice(&offset.to_le_bytes());
    }

    /// Pads, and lets everything that leads to old content lead to where that goes now; how far it moves.
    fn finish(&mut self) -> Result<u64, FormatError> {
        self.pad_to(MOVE_ALIGN, HEADER_BYTES);
        let moved_by = (self.bytes.len() - HEADER_BYTES) as u64;
        for (at, old) in std::mem::take(&mut self.to_old) {
            self.point(at, index(old + moved_by)?);
        }
        Ok(moved_by)
    }
}
