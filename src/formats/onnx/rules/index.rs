//! Operators that pick, repeat or place elements by index.

use arenascope_planner::graph::Dtype;

use super::Rule;
use crate::onnx::call::{Call, Facts, broadcast, broadcast_indices, coordinates, dim, normal_axis, signed, small, strides};
use crate::onnx::value::{Data, Fact, Gap, product};

pub(super) fn find(kind: &str) -> Option<Rule> {
    Some(match kind {
        "Gather" => gather,
        "GatherElements" => gather_elements,
        "GatherND" => gather_nd,
        "Scatter" | "ScatterElements" | "ReverseSequence" | "Trilu" | "TensorScatter" => same,
        "ScatterND" => scatter_nd,
        "Slice" => slice,
        "Expand" => expand,
        "Tile" => tile,
        "Pad" => pad,
        "OneHot" => one_hot,
        "NonZero" => non_zero,
        "Compress" => compress,
        "CenterCropPad" => center_crop_pad,
        _ => return None,
    })
}

fn same(call: &Call<'_>) -> Facts {
    Ok(vec![call.like(0)?])
}

fn gather(call: &Call<'_>) -> Facts {
    let (input, indices) = (call.shape(0)?, call.shape(1)?);
    let axis = call.axis("axis", 0, input.len())?;
    let shape = [&input[..axis], indices, &input[axis + 1..]].concat();
    let data = gathered(call, input, axis);
    Ok(vec![Fact::known(call.dtype(0)?, shape)?.with(data)])
}

fn gathered(call: &Call<'_>, input: &[u64], axis: usize) -> Option<Data> {
    let data = call.data(0)?;
    let Data::Ints(indices) = call.data(1)? else { return None };
    let count = |dims: &[u64]| small(product(dims.iter().copied()).ok());
    let (outer, inner, length) = (count(&input[..axis])?, count(&input[axis + 1..])?, usize::try_from(input[axis]).ok()?);
    small(Some((outer * inner).checked_mul(indices.len())? as u64))?;
    if outer * inner == 0 {
        return None;
    }
    let at: Vec<usize> = indices.iter().map(|&index| normal_axis(index, length).ok()).collect::<Option<_>>()?;
    let rows = (0..outer).flat_map(|round| at.iter().map(move |index| (round * length + index) * inner));
    data.pick(rows.flat_map(|start| start..start + inner))
}

fn gather_elements(call: &Call<'_>) -> Facts {
    Ok(vec![Fact::known(call.dtype(0)?, call.shape(1)?.to_vec())?])
}

fn gather_nd(call: &Call<'_>) -> Facts {
    let (input, indices) = (call.shape(0)?, call.shape(1)?);
    let batch = usize::try_from(call.int_or("batch_dims", 0)).map_err(|_| Gap::from("negative `batch_dims`"))?;
    let last = indices.last().copied().and_then(|last| usize::try_from(last).ok()).ok_or_else(|| Gap::from("its indices are a scalar"))?;
    let rest = batch.checked_add(last).and_then(|skipped| input.get(skipped..));
    let rest = rest.ok_or_else(|| Gap::from(format!("its indices address {last} axes of an input of rank {}", input.len())))?;
    let shape = [&indices[..indices.len() - 1], rest].concat();
    let data = if batch == 0 { gathered_nd(call, input, last) } else { None };
    Ok(vec![Fact::known(call.dtype(0)?, shape)?.with(data)])
}

fn gathered_nd(call: &Call<'_>, input: &[u64], last: usize) -> Option<Data> {
    let data = call.data(0)?;
    let Data::Ints(indices) = call.data(1)? else { return None };
    let own = strides(input)?;
    let inner = small(product(input[last..].iter().copied()).ok())?;
    if last == 0 {
        return None;
    }
    small(Some((indices.len() / last).checked_mul(inner)? as u64))?;
    let start = |at: &[i64]| -> Option<usize> {
        at.iter().enumerate().map(|(axis, &index)| Some(normal_axis(index, usize::try_from(input[axis]).ok()?).ok()? * own[axis])).sum()
    };
    let starts: Vec<usize> = indices.chunks_exact(last).map(start).collect::<Option<_>>()?;
    data.pick(starts.into_iter().flat_map(|start| start..start + inner))
}

fn scatter_nd(call: &Call<'_>) -> Facts {
    let data = scattered_nd(call);
    Ok(vec![call.like(0)?.with(data)])
}

/// Whole numbers, single elements and no reduction: how exported models patch a shape.
fn scattered_nd(call: &Call<'_>) -> Option<Data> {
    let (Data::Ints(values), Data::Ints(indices), Data::Ints(updates)) = (call.data(0)?, call.data(1)?, call.data(2)?) else { return None };
    let input = call.shape(0).ok()?;
    let own = strides(input)?;
    if call.text("reduction").is_some_and(|reduction| reduction != "none")
        || call.shape(1).ok()?.last().copied() != Some(input.len() as u64)
        || input.is_empty()
    {
        return None;
    }
    let mut values = values.clone();
    for (at, &update) in indices.chunks_exact(input.len()).zip(updates) {
        let element: usize = at
            .iter()
            .enumerate()
            .map(|(axis, &index)| Some(normal_axis(index, usize::try_from(input[axis]).ok()?).ok()? * own[axis]))
            .sum::<Option<usize>>()?;
        *values.get_mut(element)? = update;
    }
    Some(Data::Ints(values))
}

/// One axis of a slice: first index, step, how many.
#[derive(Clone, Copy)]
struct Range {
    start: i64,
    step: i64,
    count: u64,
}

fn slice(call: &Call<'_>) -> Facts {
    let input = call.shape(0)?;
    let missing = || Gap::from("it has no starts or no ends");
    let (starts, ends, axes, steps) = if call.inputs.len() > 1 {
        (call.values(1)?, call.values(2)?, call.optional_values(3)?, call.optional_values(4)?)
    } else {
        (call.ints("starts").ok_or_else(missing)?, call.ints("ends").ok_or_else(missing)?, call.ints("axes"), None)
    };
    let mut ranges: Vec<Range> = input.iter().map(|&count| Range { start: 0, step: 1, count }).collect();
    for (position, (&start, &end)) in starts.iter().zip(ends).enumerate() {
        let axis = match axes {
            Some(axes) => axes.get(position).copied().ok_or_else(|| Gap::from("it has fewer axes than starts"))?,
            None => signed(position as u64),
        };
        let axis = normal_axis(axis, input.len())?;
        let step = steps.map_or(Some(1), |steps| steps.get(position).copied()).ok_or_else(|| Gap::from("it has fewer steps than starts"))?;
        ranges[axis] = range(start, end, step, signed(input[axis]))?;
    }
    let shape: Vec<u64> = ranges.iter().map(|range| range.count).collect();
    let data = sliced(call, input, &shape, &ranges);
    Ok(vec![Fact::known(call.dtype(0)?, shape)?.with(data)])
}

fn range(start: i64, end: i64, step: i64, length: i64) -> Result<Range, Gap> {
    if step == 0 {
        return Err(Gap::from("a step of 0"));
    }
    let from_front = |index: i64| if index < 0 { index.saturating_add(length) } else { index };
    let (low, high) = if step > 0 { (0, length) } else { (-1, length - 1) };
    let start = from_front(start).clamp(low.max(0), high.max(0));
    let end = from_front(end).clamp(low, high);
    let distance = if step > 0 { end.saturating_sub(start) } else { start.saturating_sub(end) };
    let count = if distance <= 0 || length == 0 { 0 } else { distance.unsigned_abs().div_ceil(step.unsigned_abs()) };
    Ok(Range { start, step, count })
}

fn sliced(call: &Call<'_>, input: &[u64], shape: &[u64], ranges: &[Range]) -> Option<Data> {
    let data = call.data(0)?;
    let (own, outer) = (strides(input)?, strides(shape)?);
    let total = small(product(shape.iter().copied()).ok())?;
    let source = |element: usize| -> Option<usize> {
        let at = coordinates(element, &outer);
        let index = |(axis, range): (usize, &Range)| {
            let index = range.start.checked_add(range.step.checked_mul(i64::try_from(at[axis]).ok()?)?)?;
            usize::try_from(index).ok()?.checked_mul(own[axis])
        };
        ranges.iter().enumerate().map(index).sum()
    };
    data.pick((0..total).map(source).collect::<Option<Vec<_>>>()?.into_iter())
}

fn expand(call: &Call<'_>) -> Facts {
    let wanted: Vec<u64> = call.values(1)?.iter().map(|&size| dim(size)).collect::<Result<_, _>>()?;
    let shape = broadcast(call.shape(0)?, &wanted)?;
    let data = call.data(0).and_then(|data| data.pick(broadcast_indices(call.shape(0).ok()?, &shape)?.into_iter()));
    Ok(vec![Fact::known(call.dtype(0)?, shape)?.with(data)])
}

fn tile(call: &Call<'_>) -> Facts {
    let input = call.shape(0)?;
    if call.opset < 6 {
        return Err(Gap::from("`Tile` before operator set 6 is not followed"));
    }
    let repeats = call.values(1)?;
    if repeats.len() != input.len() {
        return Err(Gap::from(format!("{} repeats for {} dimensions", repeats.len(), input.len())));
    }
    let grown = |(&size, &times): (&u64, &i64)| size.checked_mul(dim(times)?).ok_or_else(|| Gap::from("a dimension does not fit into 64 bits"));
    let shape: Vec<u64> = input.iter().zip(repeats).map(grown).collect::<Result<_, _>>()?;
    let data = tiled(call, input, &shape);
    Ok(vec![Fact::known(call.dtype(0)?, shape)?.with(data)])
}

fn tiled(call: &Call<'_>, input: &[u64], shape: &[u64]) -> Option<Data> {
    let data = call.data(0)?;
    let (own, outer) = (strides(input)?, strides(shape)?);
    let total = small(product(shape.iter().copied()).ok())?;
    let lengths: Vec<usize> = input.iter().map(|&size| usize::try_from(size).ok()).collect::<Option<_>>()?;
    let source = |element: usize| coordinates(element, &outer).iter().enumerate().map(|(axis, at)| at % lengths[axis].max(1) * own[axis]).sum();
    data.pick((0..total).map(source))
}

fn pad(call: &Call<'_>) -> Facts {
    let input = call.shape(0)?;
    let pads = if call.inputs.len() > 1 {
        call.values(1)?
    } else {
        call.ints("pads").or_else(|| call.ints("paddings")).ok_or_else(|| Gap::from("it has no pads"))?
    };
    let axes: Vec<usize> = match call.optional_values(3)? {
        Some(axes) => axes.iter().map(|&axis| normal_axis(axis, input.len())).collect::<Result<_, _>>()?,
        None => (0..input.len()).collect(),
    };
    if pads.len() != axes.len().saturating_mul(2) {
        return Err(Gap::from(format!("{} pads for {} axes", pads.len(), axes.len())));
    }
    let mut shape = input.to_vec();
    for (position, &axis) in axes.iter().enumerate() {
        let sum = signed(shape[axis]).checked_add(pads[position]).and_then(|sum| sum.checked_add(pads[position + axes.len()]));
        shape[axis] = dim(sum.ok_or_else(|| Gap::from("a dimension does not fit into 64 bits"))?)?;
    }
    Ok(vec![Fact::known(call.dtype(0)?, shape)?])
}

fn one_hot(call: &Call<'_>) -> Facts {
    let depth = call.fact(1)?;
    let depth = match (depth.ints(), depth.floats()) {
        (Some([depth]), _) => *depth,
        (_, Some([depth])) => crate::onnx::value::to_int(*depth).ok_or_else(|| Gap::from("its depth is no number"))?,
        _ => call.values(1)?.first().copied().ok_or_else(|| Gap::from("it has no depth"))?,
    };
    let mut shape = call.shape(0)?.to_vec();
    let axis = call.axis("axis", -1, shape.len() + 1)?;
    shape.insert(axis, dim(depth)?);
    Ok(vec![Fact::known(call.dtype(2)?, shape)?])
}

fn non_zero(call: &Call<'_>) -> Facts {
    let input = call.shape(0)?;
    let rank = input.len().max(1);
    let Some(data) = call.data(0) else {
        return Err(Gap::from("how many elements are not zero only a run can tell"));
    };
    let is_set: Vec<bool> = match data {
        Data::Ints(values) => values.iter().map(|&value| value != 0).collect(),
        Data::Floats(values) => values.iter().map(|&value| value != 0.0).collect(),
    };
    let own = strides(input).ok_or_else(|| Gap::from("its input is too large"))?;
    let found: Vec<Vec<usize>> = (0..is_set.len()).filter(|&element| is_set[element]).map(|element| coordinates(element, &own)).collect();
    let index = |at: &Vec<usize>, axis: usize| signed(at.get(axis).copied().unwrap_or(0) as u64);
    let values = (0..rank).flat_map(|axis| found.iter().map(move |at| index(at, axis))).collect();
    Ok(vec![Fact::known(Dtype::I64, vec![rank as u64, found.len() as u64])?.with(Some(Data::Ints(values)))])
}

fn compress(call: &Call<'_>) -> Facts {
    let kept = call.values(1)?.iter().filter(|&&value| value != 0).count() as u64;
    let mut shape = call.shape(0)?.to_vec();
    match call.int("axis") {
        Some(axis) => {
            let axis = normal_axis(axis, shape.len())?;
            shape[axis] = kept;
        }
        None => shape = vec![kept],
    }
    Ok(vec![Fact::known(call.dtype(0)?, shape)?])
}

fn center_crop_pad(call: &Call<'_>) -> Facts {
    let mut shape = call.shape(0)?.to_vec();
    let sizes = call.values(1)?;
    for (position, &size) in sizes.iter().enumerate() {
        let axis = call.ints("axes").map_or(Some(signed(position as u64)), |axes| axes.get(position).copied());
        let axis = normal_axis(axis.ok_or_else(|| Gap::from("it has fewer axes than sizes"))?, shape.len())?;
        shape[axis] = dim(size)?;
    }
    Ok(vec![Fact::known(call.dtype(0)?, shape)?])
}
