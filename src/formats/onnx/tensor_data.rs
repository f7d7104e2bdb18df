//! A tensor message: its dimensions, and its elements only if they are few; the rest is skipped, never read.

use std::io::{Read, Seek};

use arenascope_planner::graph::Dtype;

use super::model::TensorDef;
use super::parse::{MAX_RANK, floats, ints};
use super::value::{Data, MAX_ELEMENTS, dtype_of};
use super::wire::{Reader, Wire};
use crate::error::FormatError;

/// Elements kept while reading; one more tells that there were more.
const LIMIT: usize = 4096;

/// What the message holds of the elements.
#[derive(Default)]
struct Payload {
    /// First byte and one past the last of the raw little-endian elements.
    raw: Option<(u64, u64)>,
    ints: Vec<i64>,
    floats: Vec<f64>,
    is_external: bool,
}

/// Reads a tensor message that ends at `end`.
pub(super) fn tensor<R: Read + Seek>(reader: &mut Reader<'_, R>, end: u64) -> Result<TensorDef, FormatError> {
    let mut tensor = TensorDef::default();
    let mut payload = Payload::default();
    while let Some(field) = reader.field(end)? {
        match (field.number, field.wire) {
            (1, _) => {
                ints(reader, field, end, MAX_RANK, &mut tensor.dims)?;
                if tensor.dims.len() > MAX_RANK {
                    return Err(reader.damaged(reader.at(), format!("a tensor with more than {MAX_RANK} dimensions")));
                }
            }
            (2, Wire::Varint) => tensor.data_type = reader.int(end)?,
            (4, _) => floats(reader, field, end, LIMIT, &mut payload.floats)?,
            (5 | 7 | 11, _) => ints(reader, field, end, LIMIT, &mut payload.ints)?,
            (8, Wire::Length) => tensor.name = reader.text(end)?,
            (9, Wire::Length) => {
                let raw_end = reader.length(end)?;
                payload.raw = Some((reader.at(), raw_end));
                reader.go_to(raw_end)?;
            }
            (10, _) => doubles(reader, field.wire, end, &mut payload.floats)?,
            (14, Wire::Varint) => payload.is_external = reader.int(end)? == 1,
            _ => reader.skip(field.wire, end)?,
        }
    }
    tensor.data = elements(reader, &tensor, payload)?;
    reader.go_to(end)?;
    Ok(tensor)
}

fn doubles<R: Read + Seek>(reader: &mut Reader<'_, R>, wire: Wire, end: u64, into: &mut Vec<f64>) -> Result<(), FormatError> {
    match wire {
        Wire::Fixed64 => into.push(reader.f64(end)?),
        Wire::Length => {
            let run_end = reader.length(end)?;
            while reader.at() < run_end && into.len() <= LIMIT {
                into.push(reader.f64(run_end)?);
            }
            reader.go_to(run_end)?;
        }
        Wire::Varint | Wire::Fixed32 => reader.skip(wire, end)?,
    }
    into.truncate(LIMIT + 1);
    Ok(())
}

fn elements<R: Read + Seek>(reader: &mut Reader<'_, R>, tensor: &TensorDef, payload: Payload) -> Result<Option<Data>, FormatError> {
    let dtype = dtype_of(tensor.data_type);
    let dims: Option<Vec<u64>> = tensor.dims.iter().map(|&dim| u64::try_from(dim).ok()).collect();
    let count = dims.and_then(|dims| if dims.contains(&0) { Some(0) } else { dims.into_iter().try_fold(1_u64, u64::checked_mul) });
    let Some(count) = count.filter(|&count| count <= MAX_ELEMENTS && !payload.is_external) else { return Ok(None) };
    let data = match payload.raw {
        Some((start, end)) => {
            if dtype.bits().map(|bits| (bits * count).div_ceil(8)) != Some(end - start) {
                return Ok(None);
            }
            reader.go_to(start)?;
            let mut bytes = Vec::new();
            reader.bytes(end, &mut bytes)?;
            decode(dtype, &bytes)
        }
        None if matches!(dtype, Dtype::F32 | Dtype::F64) => Some(Data::Floats(payload.floats)),
        None if dtype.bits().is_some_and(|bits| bits >= 8) => Some(Data::Ints(payload.ints)),
        None => None,
    };
    Ok(data.filter(|data| data.len() as u64 == count).and_then(|data| data.held_as(dtype)))
}

/// Little-endian elements of a type; `None` for types that decide no shape.
fn decode(dtype: Dtype, bytes: &[u8]) -> Option<Data> {
    macro_rules! each {
        ($variant:ident, $read:ty, $wide:expr) => {
            Data::$variant(
                bytes
                    .chunks_exact(size_of::<$read>())
                    .map(|chunk| chunk.try_into().map(<$read>::from_le_bytes).ok().and_then($wide))
                    .collect::<Option<_>>()?,
            )
        };
    }
    Some(match dtype {
        Dtype::F32 => each!(Floats, f32, |value| Some(f64::from(value))),
        Dtype::F64 => each!(Floats, f64, Some),
        Dtype::I64 => each!(Ints, i64, Some),
        Dtype::I32 => each!(Ints, i32, |value| Some(i64::from(value))),
        Dtype::I16 => each!(Ints, i16, |value| Some(i64::from(value))),
        Dtype::I8 => each!(Ints, i8, |value| Some(i64::from(value))),
        Dtype::U64 => each!(Ints, u64, |value| i64::try_from(value).ok()),
        Dtype::U32 => each!(Ints, u32, |value| Some(i64::from(value))),
        Dtype::U16 => each!(Ints, u16, |value| Some(i64::from(value))),
        Dtype::U8 => each!(Ints, u8, |value| Some(i64::from(value))),
        Dtype::Bool => each!(Ints, u8, |value| Some(i64::from(value != 0))),
        _ => return None,
    })
}
