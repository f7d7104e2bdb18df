//! Operators that make a tensor from a shape, a range or chance, and the signal operators.

use arenascope_planner::graph::Dtype;

use super::Rule;
use crate::onnx::call::{Call, Facts, dim, normal_axis, small};
use crate::onnx::tensor_facts::{constant, tensor_fact};
use crate::onnx::value::{Data, Fact, Gap, dtype_of, product, to_f32, to_float, to_int};

pub(super) fn find(kind: &str) -> Option<Rule> {
    Some(match kind {
        "Constant" => constant,
        "ConstantOfShape" => constant_of_shape,
        "Range" => range,
        "RandomNormal" | "RandomUniform" => random,
        "RandomNormalLike" | "RandomUniformLike" | "Bernoulli" | "EyeLike" => like,
        "Multinomial" => multinomial,
        "BlackmanWindow" | "HammingWindow" | "HannWindow" => window,
        "MelWeightMatrix" => mel,
        "DFT" => fourier,
        "STFT" => short_fourier,
        _ => return None,
    })
}

fn constant_of_shape(call: &Call<'_>) -> Facts {
    let shape: Vec<u64> = call.values(0)?.iter().map(|&size| dim(size)).collect::<Result<_, _>>()?;
    let value = match call.tensor("value") {
        Some(tensor) => tensor_fact(tensor),
        None => Fact::known(Dtype::F32, Vec::new())?.with(Some(Data::Floats(vec![0.0]))),
    };
    let count = small(product(shape.iter().copied()).ok()).filter(|_| call.may_evaluate);
    let data = value.data.as_deref().zip(count).and_then(|(data, count)| data.pick((0..count).map(|_| 0)));
    Ok(vec![Fact::known(value.dtype, shape)?.with(data)])
}

fn range(call: &Call<'_>) -> Facts {
    let dtype = call.dtype(0)?;
    if let (Some([start]), Some([limit]), Some([step])) = (call.fact(0)?.floats(), call.fact(1)?.floats(), call.fact(2)?.floats()) {
        let count = to_int((to_f32_if(dtype, limit - start) / step).ceil().max(0.0)).ok_or_else(|| Gap::from("its length is no number"))?;
        let data = small(u64::try_from(count).ok()).map(|_| Data::Floats((0..count).map(|at| start + to_float(at) * step).collect()));
        return Ok(vec![Fact::known(dtype, vec![dim(count)?])?.with(data.filter(|_| call.may_evaluate))]);
    }
    let scalar = |index: usize| match call.values(index)? {
        [value] => Ok(*value),
        _ => Err(Gap::from("its bounds are no scalars")),
    };
    let (start, limit, step) = (scalar(0)?, scalar(1)?, scalar(2)?);
    let distance = i128::from(limit) - i128::from(start);
    if step == 0 {
        return Err(Gap::from("a step of 0"));
    }
    let step = i128::from(step);
    let count = if (distance > 0) == (step > 0) {
        u64::try_from(distance.unsigned_abs().div_ceil(step.unsigned_abs())).map_err(|_| Gap::from("it is too long"))?
    } else {
        0
    };
    let element = |at: u64| i64::try_from(i128::from(start) + i128::from(at) * step).ok();
    let data = small(Some(count)).filter(|_| call.may_evaluate).and_then(|_| (0..count).map(element).collect::<Option<_>>()).map(Data::Ints);
    Ok(vec![Fact::known(dtype, vec![count])?.with(data)])
}

/// A difference as the type holds it, since runtimes subtract in that type.
fn to_f32_if(dtype: Dtype, value: f64) -> f64 {
    if dtype == Dtype::F32 { to_f32(value) } else { value }
}

fn random(call: &Call<'_>) -> Facts {
    let shape = call.ints("shape").ok_or_else(|| Gap::from("it has no shape"))?;
    let shape = shape.iter().map(|&size| dim(size)).collect::<Result<_, _>>()?;
    Ok(vec![Fact::known(dtype_of(call.int_or("dtype", 1)), shape)?])
}

fn like(call: &Call<'_>) -> Facts {
    let dtype = call.int("dtype").map_or_else(|| call.dtype(0), |number| Ok(dtype_of(number)))?;
    Ok(vec![Fact::known(dtype, call.shape(0)?.to_vec())?])
}

fn multinomial(call: &Call<'_>) -> Facts {
    let batch = call.shape(0)?.first().copied().ok_or_else(|| Gap::from("its input is a scalar"))?;
    Ok(vec![Fact::known(dtype_of(call.int_or("dtype", 6)), vec![batch, dim(call.int_or("sample_size", 1))?])?])
}

fn first(call: &Call<'_>, index: usize) -> Result<i64, Gap> {
    call.values(index)?.first().copied().ok_or_else(|| Gap::from("an input is empty"))
}

fn window(call: &Call<'_>) -> Facts {
    Ok(vec![Fact::known(dtype_of(call.int_or("output_datatype", 1)), vec![dim(first(call, 0)?)?])?])
}

fn mel(call: &Call<'_>) -> Facts {
    let bins = first(call, 1)?.checked_div(2).and_then(|half| half.checked_add(1)).ok_or_else(|| Gap::from("its length is no number"))?;
    Ok(vec![Fact::known(dtype_of(call.int_or("output_datatype", 1)), vec![dim(bins)?, dim(first(call, 0)?)?])?])
}

fn fourier(call: &Call<'_>) -> Facts {
    let mut shape = call.shape(0)?.to_vec();
    let axis = match call.optional_values(2)? {
        Some(axis) => axis.first().copied().unwrap_or(-2),
        None => call.int_or("axis", if call.opset < 20 { 1 } else { -2 }),
    };
    let axis = normal_axis(axis, shape.len())?;
    if let Some(length) = call.optional_values(1)? {
        shape[axis] = dim(length.first().copied().unwrap_or(0))?;
    }
    let is_half = call.int_or("onesided", 0) != 0;
    if is_half {
        shape[axis] = shape[axis] / 2 + 1;
    }
    let last = shape.len() - 1;
    if axis == last {
        return Err(Gap::from("its axis is that of real and imaginary parts"));
    }
    shape[last] = if is_half && call.int_or("inverse", 0) != 0 { 1 } else { 2 };
    Ok(vec![Fact::known(call.dtype(0)?, shape)?])
}

fn short_fourier(call: &Call<'_>) -> Facts {
    let &[batch, length, ..] = call.shape(0)? else { return Err(Gap::from("its signal is a scalar")) };
    let step = dim(first(call, 1)?)?;
    let frame = match (call.has(3), call.has(2)) {
        (true, _) => dim(first(call, 3)?)?,
        (false, true) => call.shape(2)?.first().copied().unwrap_or(0),
        (false, false) => return Err(Gap::from("it has neither a window nor a frame length")),
    };
    let room = length.checked_sub(frame).ok_or_else(|| Gap::from(format!("a frame of {frame} does not fit into {length}")))?;
    let frames = room.checked_div(step).ok_or_else(|| Gap::from("a step of 0"))? + 1;
    let bins = if call.int_or("onesided", 1) != 0 { frame / 2 + 1 } else { frame };
    Ok(vec![Fact::known(call.dtype(0)?, vec![batch, frames, bins, 2])?])
}
