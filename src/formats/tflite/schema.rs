//! The parts of a TFLite file that matter for memory, by the slot numbers of its schema.

use arenascope_planner::graph::Dtype;

use super::ops;
use crate::error::FormatError;
use crate::flat_tables::Table;

/// A model.
pub(super) struct Model {
    pub(super) version: u32,
    pub(super) description: String,
    pub(super) subgraphs: Vec<SubGraph>,
    /// For each buffer: whether it holds data.
    pub(super) has_data: Vec<bool>,
    /// A plan that the file brings along.
    pub(super) offline: Option<OfflinePlan>,
}

/// The plan in the metadata `OfflineMemoryAllocation`.
pub(super) struct OfflinePlan {
    pub(super) subgraph: i32,
    /// The first byte of each tensor; below 0 where the runtime decides.
    pub(super) offsets: Vec<i32>,
}

/// One graph of a model.
pub(super) struct SubGraph {
    pub(super) name: String,
    pub(super) tensors: Vec<TensorDef>,
    pub(super) inputs: Vec<i32>,
    pub(super) outputs: Vec<i32>,
    pub(super) operators: Vec<Operator>,
}

/// A tensor of a graph.
pub(super) struct TensorDef {
    pub(super) name: String,
    pub(super) dtype: Dtype,
    /// What stands in the way of a size, if the type does.
    pub(super) type_remark: &'static str,
    pub(super) shape: Vec<i32>,
    /// The axes that the file leaves open.
    pub(super) open_axes: Vec<usize>,
    pub(super) buffer: u32,
    pub(super) is_variable: bool,
}

/// An op.
pub(super) struct Operator {
    pub(super) kind: String,
    pub(super) inputs: Vec<i32>,
    pub(super) outputs: Vec<i32>,
    /// The graphs that it runs, by their position in the file.
    pub(super) graphs: Vec<i32>,
}

/// The name of the metadata entry that holds a plan.
pub(super) const OFFLINE_NAME: &str = "OfflineMemoryAllocation";

/// Reads a model from its root table.
pub(super) fn model(root: Table<'_, '_>) -> Result<Model, FormatError> {
    let kinds = root.tables(1)?.into_iter().map(operator_kind).collect::<Result<Vec<String>, _>>()?;
    let buffers = root.tables(4)?;
    let has_data = buffers.iter().map(|buffer| holds_data(*buffer)).collect::<Result<_, _>>()?;
    Ok(Model {
        version: root.u32(0, 0)?,
        description: root.text(3)?,
        subgraphs: root.tables(2)?.into_iter().map(|table| subgraph(table, &kinds)).collect::<Result<_, _>>()?,
        has_data,
        offline: offline_plan(root, &buffers)?,
    })
}

/// Older files have small codes in a byte; newer ones have a wider field beside it.
fn operator_kind(code: Table<'_, '_>) -> Result<String, FormatError> {
    let number = i32::from(code.i8(0, 0)?).max(code.i32(3, 0)?);
    let custom = code.text(1)?;
    Ok(if number == ops::CUSTOM && !custom.is_empty() { custom } else { ops::name(number) })
}

/// Files beyond 2 GiB keep data outside the tables, at an offset greater than 1.
fn holds_data(buffer: Table<'_, '_>) -> Result<bool, FormatError> {
    Ok(buffer.byte_range(0)?.is_some_and(|(_, bytes)| bytes > 0) || buffer.u64(1, 0)? > 1)
}

fn subgraph(table: Table<'_, '_>, kinds: &[String]) -> Result<SubGraph, FormatError> {
    Ok(SubGraph {
        name: table.text(4)?,
        tensors: table.tables(0)?.into_iter().map(tensor).collect::<Result<_, _>>()?,
        inputs: table.ints(1)?.unwrap_or_default(),
        outputs: table.ints(2)?.unwrap_or_default(),
        operators: table.tables(3)?.into_iter().map(|table| operator(table, kinds)).collect::<Result<_, _>>()?,
    })
}

fn tensor(table: Table<'_, '_>) -> Result<TensorDef, FormatError> {
    let (dtype, type_remark) = dtype(table.i8(1, 0)?);
    let open_axes = table.ints(7)?.unwrap_or_default().iter().enumerate().filter(|(_, dim)| **dim < 0).map(|(axis, _)| axis).collect();
    Ok(TensorDef {
        name: table.text(3)?,
        dtype,
        type_remark,
        shape: table.ints(0)?.unwrap_or_default(),
        open_axes,
        buffer: table.u32(2, 0)?,
        is_variable: table.flag(5)?,
    })
}

fn operator(table: Table<'_, '_>, kinds: &[String]) -> Result<Operator, FormatError> {
    let index = table.u32(0, 0)?;
    let kind = usize::try_from(index).ok().and_then(|index| kinds.get(index));
    let kind = kind.ok_or_else(|| table.damaged(format!("an op has operator code {index}, but there are {}", kinds.len())))?.clone();
    let slots = ops::graph_slots(&kind);
    let options = if slots.is_empty() { None } else { table.table(4)? };
    let graphs = options.map_or(Ok(Vec::new()), |options| slots.iter().map(|&slot| options.i32(slot, 0)).collect())?;
    Ok(Operator { kind, inputs: table.ints(1)?.unwrap_or_default(), outputs: table.ints(2)?.unwrap_or_default(), graphs })
}

fn offline_plan(root: Table<'_, '_>, buffers: &[Table<'_, '_>]) -> Result<Option<OfflinePlan>, FormatError> {
    for entry in root.tables(6)? {
        if entry.text(0)? != OFFLINE_NAME {
            continue;
        }
        let buffer = usize::try_from(entry.u32(1, 0)?).ok().and_then(|index| buffers.get(index));
        let Some(range) = buffer.map(|buffer| buffer.byte_range(0)).transpose()?.flatten() else { return Ok(None) };
        let numbers = entry.ints_in(range)?;
        let [_version, subgraph, _count, offsets @ ..] = numbers.as_slice() else { return Ok(None) };
        return Ok(Some(OfflinePlan { subgraph: *subgraph, offsets: offsets.to_vec() }));
    }
    Ok(None)
}

/// An element type by its number, and what to say if it has no size.
fn dtype(number: i8) -> (Dtype, &'static str) {
    let known = match number {
        0 => Dtype::F32,
        1 => Dtype::F16,
        2 => Dtype::I32,
        3 => Dtype::U8,
        4 => Dtype::I64,
        5 => return (Dtype::String, "texts have no fixed size"),
        6 => Dtype::Bool,
        7 => Dtype::I16,
        8 => Dtype::C64,
        9 => Dtype::I8,
        10 => Dtype::F64,
        11 => Dtype::C128,
        12 => Dtype::U64,
        13 => return (Dtype::Unknown, "it is a handle to a resource"),
        14 => return (Dtype::Unknown, "it is a variant, whose size only a run can tell"),
        15 => Dtype::U32,
        16 => Dtype::U16,
        17 => Dtype::I4,
        18 => Dtype::BF16,
        19 => Dtype::I2,
        20 => Dtype::U4,
        _ => return (Dtype::Unknown, "the file gives it an element type that is not known"),
    };
    (known, "")
}
