//! Operators that arrange the same elements in another shape.

use arenascope_planner::graph::Dtype;

use super::Rule;
use crate::onnx::call::{Call, Facts, coordinates, dim, normal_axis, signed, small, strides};
use crate::onnx::value::{Data, Fact, Gap, product};

pub(super) fn find(kind: &str) -> Option<Rule> {
    Some(match kind {
        "Reshape" => reshape,
        "Flatten" => flatten,
        "Squeeze" => squeeze,
        "Unsqueeze" => unsqueeze,
        "Transpose" => transpose,
        "Concat" => concat,
        "Split" => split,
        "DepthToSpace" => depth_to_space,
        "SpaceToDepth" => space_to_depth,
        "Shape" => shape_of,
        "Size" => size_of,
        _ => return None,
    })
}

/// The first input's elements under another shape.
fn reshaped(call: &Call<'_>, shape: Vec<u64>) -> Facts {
    let before = product(call.shape(0)?.iter().copied())?;
    if product(shape.iter().copied())? != before {
        return Err(Gap::from(format!("its input {:?} does not fill the shape {shape:?}", call.shape(0)?)));
    }
    Ok(vec![Fact::known(call.dtype(0)?, shape)?.with(call.data(0).cloned())])
}

fn reshape(call: &Call<'_>) -> Facts {
    let input = call.shape(0)?;
    let wanted = if call.inputs.len() > 1 { call.values(1)? } else { call.ints("shape").ok_or_else(|| Gap::from("it has no shape"))? };
    let keeps_zero = call.int_or("allowzero", 0) != 0;
    let mut shape = Vec::with_capacity(wanted.len());
    let mut open = None;
    for (axis, &size) in wanted.iter().enumerate() {
        match size {
            -1 if open.is_some() => return Err(Gap::from("its shape leaves two dimensions open")),
            -1 => {
                open = Some(axis);
                shape.push(1);
            }
            0 if !keeps_zero => shape.push(*input.get(axis).ok_or_else(|| Gap::from("its shape copies a dimension that the input does not have"))?),
            size => shape.push(dim(size)?),
        }
    }
    if let Some(axis) = open {
        let (all, rest) = (product(input.iter().copied())?, product(shape.iter().copied())?);
        shape[axis] = all.checked_div(rest).ok_or_else(|| Gap::from("its open dimension cannot be known: another one is 0"))?;
    }
    reshaped(call, shape)
}

fn flatten(call: &Call<'_>) -> Facts {
    let input = call.shape(0)?;
    let rank = signed(input.len() as u64);
    let axis = call.int_or("axis", 1);
    let axis = if axis == rank { input.len() } else { normal_axis(axis, input.len())? };
    reshaped(call, vec![product(input[..axis].iter().copied())?, product(input[axis..].iter().copied())?])
}

/// Axes from an input (operator set 13 and later) or an attribute.
fn axes<'c>(call: &'c Call<'_>) -> Result<Option<&'c [i64]>, Gap> {
    if call.has(1) { call.values(1).map(Some) } else { Ok(call.ints("axes")) }
}

fn squeeze(call: &Call<'_>) -> Facts {
    let input = call.shape(0)?;
    let dropped: Vec<usize> = match axes(call)? {
        None => (0..input.len()).filter(|&axis| input[axis] == 1).collect(),
        Some(axes) => axes.iter().map(|&axis| normal_axis(axis, input.len())).collect::<Result<_, _>>()?,
    };
    reshaped(call, input.iter().enumerate().filter(|(axis, _)| !dropped.contains(axis)).map(|(_, &dim)| dim).collect())
}

fn unsqueeze(call: &Call<'_>) -> Facts {
    let input = call.shape(0)?;
    let axes = axes(call)?.ok_or_else(|| Gap::from("it has no axes"))?;
    let rank = input.len() + axes.len();
    let added: Vec<usize> = axes.iter().map(|&axis| normal_axis(axis, rank)).collect::<Result<_, _>>()?;
    let mut rest = input.iter().copied();
    let shape: Option<Vec<u64>> = (0..rank).map(|axis| if added.contains(&axis) { Some(1) } else { rest.next() }).collect();
    reshaped(call, shape.ok_or_else(|| Gap::from("an axis is given twice"))?)
}

fn transpose(call: &Call<'_>) -> Facts {
    let input = call.shape(0)?;
    let order: Vec<usize> = match call.ints("perm") {
        Some(order) => order.iter().map(|&axis| normal_axis(axis, input.len())).collect::<Result<_, _>>()?,
        None => (0..input.len()).rev().collect(),
    };
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if !sorted.into_iter().eq(0..input.len()) {
        return Err(Gap::from(format!("its order {order:?} is none of {} axes", input.len())));
    }
    let shape: Vec<u64> = order.iter().map(|&axis| input[axis]).collect();
    let data = transposed(call, input, &shape, &order);
    Ok(vec![Fact::known(call.dtype(0)?, shape)?.with(data)])
}

fn transposed(call: &Call<'_>, input: &[u64], shape: &[u64], order: &[usize]) -> Option<Data> {
    let data = call.data(0)?;
    let (own, outer) = (strides(input)?, strides(shape)?);
    let source = |element: usize| coordinates(element, &outer).iter().zip(order).map(|(&at, &axis)| at * own[axis]).sum();
    data.pick((0..data.len()).map(source))
}

fn concat(call: &Call<'_>) -> Facts {
    let mut shape = call.shape(0)?.to_vec();
    let axis = call.axis("axis", if call.opset < 4 { 1 } else { 0 }, shape.len())?;
    for index in 1..call.inputs.len() {
        let next = call.shape(index)?;
        let fits = next.len() == shape.len() && (0..shape.len()).all(|at| at == axis || next[at] == shape[at]);
        if !fits {
            return Err(Gap::from(format!("its inputs {shape:?} and {next:?} differ beside axis {axis}")));
        }
        shape[axis] = shape[axis].checked_add(next[axis]).ok_or_else(|| Gap::from("its length does not fit into 64 bits"))?;
    }
    let data = concatenated(call, axis);
    Ok(vec![Fact::known(call.dtype(0)?, shape)?.with(data)])
}

fn concatenated(call: &Call<'_>, axis: usize) -> Option<Data> {
    let parts: Vec<(&Data, usize)> = (0..call.inputs.len())
        .map(|index| Some((call.data(index)?, small(product(call.shape(index).ok()?[axis..].iter().copied()).ok())?)))
        .collect::<Option<_>>()?;
    let outer = small(product(call.shape(0).ok()?[..axis].iter().copied()).ok())?;
    if parts.iter().all(|(data, _)| matches!(data, Data::Ints(_))) {
        return interleaved(outer, &parts, |data| if let Data::Ints(values) = data { values } else { &[] }).map(Data::Ints);
    }
    if parts.iter().all(|(data, _)| matches!(data, Data::Floats(_))) {
        return interleaved(outer, &parts, |data| if let Data::Floats(values) = data { values } else { &[] }).map(Data::Floats);
    }
    None
}

fn interleaved<T: Copy>(outer: usize, parts: &[(&Data, usize)], values: impl Fn(&Data) -> &[T]) -> Option<Vec<T>> {
    let mut all = Vec::new();
    for round in 0..outer {
        for (data, run) in parts {
            all.extend_from_slice(values(data).get(round * run..(round + 1) * run)?);
            small(Some(all.len() as u64))?;
        }
    }
    Some(all)
}

fn split(call: &Call<'_>) -> Facts {
    let input = call.shape(0)?;
    let axis = call.axis("axis", 0, input.len())?;
    let sizes: Vec<u64> = match if call.has(1) { Some(call.values(1)?) } else { call.ints("split") } {
        Some(sizes) => sizes.iter().map(|&size| dim(size)).collect::<Result<_, _>>()?,
        None => even_parts(call, input[axis])?,
    };
    let total = sizes.iter().try_fold(0_u64, |sum, &size| sum.checked_add(size));
    if total != Some(input[axis]) {
        return Err(Gap::from(format!("its parts {sizes:?} do not add up to {}", input[axis])));
    }
    let mut start = 0;
    sizes
        .into_iter()
        .map(|size| {
            let mut shape = input.to_vec();
            shape[axis] = size;
            let data = part(call, input, axis, (start, size));
            start += size;
            Ok(Fact::known(call.dtype(0)?, shape)?.with(data))
        })
        .collect()
}

fn even_parts(call: &Call<'_>, length: u64) -> Result<Vec<u64>, Gap> {
    let n_parts = call.int("num_outputs").map_or(Ok(call.n_outputs() as u64), dim)?;
    if n_parts == 0 || n_parts > call.n_outputs() as u64 {
        return Err(Gap::from("it has no parts, or more than outputs"));
    }
    let size = length.div_ceil(n_parts);
    let mut left = length;
    Ok((0..n_parts)
        .map(|_| {
            let taken = size.min(left);
            left -= taken;
            taken
        })
        .collect())
}

fn part(call: &Call<'_>, input: &[u64], axis: usize, (start, size): (u64, u64)) -> Option<Data> {
    let data = call.data(0)?;
    let count = |dims: &[u64]| small(product(dims.iter().copied()).ok());
    let (outer, inner, length) = (count(&input[..axis])?, count(&input[axis + 1..])?, usize::try_from(input[axis]).ok()?);
    let (start, size) = (usize::try_from(start).ok()?, usize::try_from(size).ok()?);
    let run = size.checked_mul(inner)?;
    if outer == 0 || run == 0 {
        return None;
    }
    data.pick((0..outer).flat_map(|round| (0..run).map(move |at| (round * length + start) * inner + at)))
}

fn depth_to_space(call: &Call<'_>) -> Facts {
    let block = block_size(call)?;
    let [batch, channels, height, width] = four(call)?;
    let area = block.checked_mul(block).filter(|&area| channels.is_multiple_of(area));
    let area = area.ok_or_else(|| Gap::from(format!("{channels} channels are no multiple of the block {block}²")))?;
    let grown = |size: u64| size.checked_mul(block).ok_or_else(|| Gap::from("a dimension does not fit into 64 bits"));
    Ok(vec![Fact::known(call.dtype(0)?, vec![batch, channels / area, grown(height)?, grown(width)?])?])
}

fn space_to_depth(call: &Call<'_>) -> Facts {
    let block = block_size(call)?;
    let [batch, channels, height, width] = four(call)?;
    let depth =
        block.checked_mul(block).and_then(|area| channels.checked_mul(area)).ok_or_else(|| Gap::from("a dimension does not fit into 64 bits"))?;
    Ok(vec![Fact::known(call.dtype(0)?, vec![batch, depth, height / block, width / block])?])
}

fn block_size(call: &Call<'_>) -> Result<u64, Gap> {
    call.int("blocksize").and_then(|size| u64::try_from(size).ok()).filter(|&size| size > 0).ok_or_else(|| Gap::from("it has no block size"))
}

fn four(call: &Call<'_>) -> Result<[u64; 4], Gap> {
    call.shape(0)?.try_into().map_err(|_| Gap::from("its input has not four dimensions"))
}

fn shape_of(call: &Call<'_>) -> Facts {
    let input = call.shape(0)?;
    let rank = signed(input.len() as u64);
    let clamp = |axis: i64| usize::try_from(if axis < 0 { axis.saturating_add(rank) } else { axis }.clamp(0, rank)).unwrap_or(0);
    let (start, end) = (clamp(call.int_or("start", 0)), clamp(call.int_or("end", rank)));
    let dims: Vec<i64> = input.get(start..end).unwrap_or_default().iter().map(|&dim| signed(dim)).collect();
    Ok(vec![Fact::known(Dtype::I64, vec![dims.len() as u64])?.with(Some(Data::Ints(dims)))])
}

fn size_of(call: &Call<'_>) -> Facts {
    let count = product(call.shape(0)?.iter().copied())?;
    Ok(vec![Fact::known(Dtype::I64, Vec::new())?.with(Some(Data::Ints(vec![signed(count)])))])
}
