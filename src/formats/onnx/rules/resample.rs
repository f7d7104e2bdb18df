//! Operators that change the resolution of an image.

use super::Rule;
use crate::onnx::call::{Call, Facts, dim, normal_axis, signed};
use crate::onnx::value::{Fact, Gap, to_f32, to_float, to_int};

pub(super) fn find(kind: &str) -> Option<Rule> {
    Some(match kind {
        "Resize" => resize,
        "Upsample" => upsample,
        "GridSample" => grid_sample,
        "AffineGrid" => affine_grid,
        _ => return None,
    })
}

/// A length times a scale, rounded down in 32-bit arithmetic as runtimes do.
fn scaled(size: u64, scale: f64) -> Result<u64, Gap> {
    let length = to_int(to_f32(to_f32(to_float(signed(size))) * to_f32(scale)).floor());
    dim(length.ok_or_else(|| Gap::from(format!("{size} × {scale} is no length")))?)
}

fn resize(call: &Call<'_>) -> Facts {
    let mut shape = call.shape(0)?.to_vec();
    let (scales, sizes) = if call.opset < 11 { (call.optional_floats(1)?, None) } else { (None, call.optional_values(3)?) };
    let axes: Vec<usize> = match call.ints("axes") {
        Some(axes) => axes.iter().map(|&axis| normal_axis(axis, shape.len())).collect::<Result<_, _>>()?,
        None => (0..shape.len()).collect(),
    };
    let too_short = || Gap::from(format!("its scales or sizes are not one per axis ({})", axes.len()));
    if let Some(sizes) = sizes.filter(|sizes| !sizes.is_empty()) {
        if matches!(call.text("keep_aspect_ratio_policy"), Some("not_larger" | "not_smaller")) {
            return Err(Gap::from("`keep_aspect_ratio_policy` is not followed"));
        }
        for (position, &axis) in axes.iter().enumerate() {
            shape[axis] = dim(*sizes.get(position).ok_or_else(too_short)?)?;
        }
        return Ok(vec![Fact::known(call.dtype(0)?, shape)?]);
    }
    if call.text("coordinate_transformation_mode") == Some("tf_crop_and_resize") {
        return Err(Gap::from("scales of a cropped region are not followed"));
    }
    let scales = if call.opset < 11 { scales } else { call.optional_floats(2)? };
    let scales = scales.ok_or_else(|| Gap::from("it has neither scales nor sizes"))?;
    for (position, &axis) in axes.iter().enumerate() {
        shape[axis] = scaled(shape[axis], *scales.get(position).ok_or_else(too_short)?)?;
    }
    Ok(vec![Fact::known(call.dtype(0)?, shape)?])
}

fn upsample(call: &Call<'_>) -> Facts {
    let input = call.shape(0)?;
    let scales = if call.inputs.len() > 1 { call.optional_floats(1)? } else { call.floats("scales") };
    let scales = scales.filter(|scales| scales.len() == input.len()).ok_or_else(|| Gap::from("its scales are not one per axis"))?;
    let shape = input.iter().zip(scales).map(|(&size, &scale)| scaled(size, scale)).collect::<Result<_, _>>()?;
    Ok(vec![Fact::known(call.dtype(0)?, shape)?])
}

fn grid_sample(call: &Call<'_>) -> Facts {
    let (input, grid) = (call.shape(0)?, call.shape(1)?);
    let (Some(outer), true) = (input.get(..2), grid.len() >= 2) else { return Err(Gap::from("its input is no image")) };
    Ok(vec![Fact::known(call.dtype(0)?, [outer, &grid[1..grid.len() - 1]].concat())?])
}

fn affine_grid(call: &Call<'_>) -> Facts {
    let size: Vec<u64> = call.values(1)?.iter().map(|&size| dim(size)).collect::<Result<_, _>>()?;
    let [batch, _, spatial @ ..] = size.as_slice() else { return Err(Gap::from("its size is no image")) };
    Ok(vec![Fact::known(call.dtype(0)?, [&[*batch], spatial, &[spatial.len() as u64]].concat())?])
}
