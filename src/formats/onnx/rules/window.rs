//! Operators that slide a window over the spatial axes: convolutions and pools.

use arenascope_planner::graph::Dtype;

use super::Rule;
use crate::onnx::call::{Call, Facts, dim, signed};
use crate::onnx::value::{Fact, Gap};

pub(super) fn find(kind: &str) -> Option<Rule> {
    Some(match kind {
        "Conv" => conv,
        "ConvInteger" => conv_integer,
        "QLinearConv" => conv_quantised,
        "DeformConv" => conv,
        "ConvTranspose" => conv_transpose,
        "AveragePool" | "LpPool" | "MaxPool" => pool,
        "MaxUnpool" => unpool,
        "MaxRoiPool" => max_roi_pool,
        "RoiAlign" => roi_align,
        "Col2Im" => col2im,
        _ => return None,
    })
}

/// How a window moves along each spatial axis.
struct Window {
    kernel: Vec<i64>,
    strides: Vec<i64>,
    dilations: Vec<i64>,
    /// Begins, then ends.
    pads: Vec<i64>,
    ceil: bool,
    padding: Padding,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Padding {
    Explicit,
    Same,
    Valid,
}

impl Window {
    fn new(call: &Call<'_>, kernel: Vec<i64>) -> Result<Self, Gap> {
        let rank = kernel.len();
        let list = |name: &str, count: usize, default: i64| {
            let values = call.ints(name).filter(|values| !values.is_empty()).map_or_else(|| vec![default; count], <[i64]>::to_vec);
            if values.len() == count { Ok(values) } else { Err(Gap::from(format!("{} numbers in `{name}` for {rank} spatial axes", values.len()))) }
        };
        let padding = match call.text("auto_pad").unwrap_or_default() {
            "SAME_UPPER" | "SAME_LOWER" => Padding::Same,
            "VALID" => Padding::Valid,
            _ => Padding::Explicit,
        };
        let (strides, dilations) = (list("strides", rank, 1)?, list("dilations", rank, 1)?);
        if strides.iter().chain(&dilations).chain(&kernel).any(|&size| size < 1) {
            return Err(Gap::from("a kernel, stride or dilation below 1"));
        }
        Ok(Self { strides, dilations, pads: list("pads", rank * 2, 0)?, ceil: call.int_or("ceil_mode", 0) != 0, padding, kernel })
    }

    /// Positions of the window along an axis of `size`.
    fn count(&self, axis: usize, size: i64) -> Result<i64, Gap> {
        let overflow = || Gap::from("a dimension does not fit into 64 bits");
        let stride = self.strides[axis];
        if self.padding == Padding::Same {
            return size.checked_add(stride - 1).map(|size| size / stride).ok_or_else(overflow);
        }
        let extent = self.dilations[axis].checked_mul(self.kernel[axis] - 1).and_then(|reach| reach.checked_add(1)).ok_or_else(overflow)?;
        let (begin, end) = if self.padding == Padding::Valid { (0, 0) } else { (self.pads[axis], self.pads[axis + self.kernel.len()]) };
        let padded = size.checked_add(begin).and_then(|size| size.checked_add(end)).ok_or_else(overflow)?;
        let room = padded.checked_sub(extent).ok_or_else(overflow)?;
        if room < 0 {
            return Err(Gap::from(format!("a window of {extent} does not fit into {padded}")));
        }
        let mut count = room / stride + 1;
        if self.ceil && room % stride != 0 {
            if self.padding == Padding::Valid {
                return Err(Gap::from("runtimes differ on `ceil_mode` with `auto_pad` VALID"));
            }
            // A last window that would start in the end padding is left out.
            let starts_inside = count.checked_mul(stride).zip(size.checked_add(begin)).is_some_and(|(start, limit)| start < limit);
            count += i64::from(starts_inside);
        }
        Ok(count)
    }

    fn counts(&self, spatial: &[u64]) -> Result<Vec<u64>, Gap> {
        spatial.iter().enumerate().map(|(axis, &size)| dim(self.count(axis, signed(size))?)).collect()
    }
}

/// Batch, channels and spatial axes of an image-like input.
fn image<'c>(call: &'c Call<'_>, index: usize) -> Result<(u64, u64, &'c [u64]), Gap> {
    match call.shape(index)? {
        [batch, channels, spatial @ ..] => Ok((*batch, *channels, spatial)),
        other => Err(Gap::from(format!("its input {other:?} has no batch and channels"))),
    }
}

fn kernel(call: &Call<'_>, weight: &[u64], spatial: &[u64]) -> Result<Vec<i64>, Gap> {
    let own = call.ints("kernel_shape").filter(|kernel| !kernel.is_empty()).map(<[i64]>::to_vec);
    let kernel = own.unwrap_or_else(|| weight.iter().map(|&size| signed(size)).collect());
    if kernel.len() == spatial.len() {
        Ok(kernel)
    } else {
        Err(Gap::from(format!("a kernel of {} axes for {} spatial axes", kernel.len(), spatial.len())))
    }
}

/// The output of a convolution with the weight at input `weight`.
fn conv_shape(call: &Call<'_>, weight: usize) -> Result<Vec<u64>, Gap> {
    let (batch, _, spatial) = image(call, 0)?;
    let (filters, _, weight) = image(call, weight)?;
    let window = Window::new(call, kernel(call, weight, spatial)?)?;
    Ok([&[batch, filters], window.counts(spatial)?.as_slice()].concat())
}

pub(super) fn conv(call: &Call<'_>) -> Facts {
    Ok(vec![Fact::known(call.dtype(0)?, conv_shape(call, 1)?)?])
}

fn conv_integer(call: &Call<'_>) -> Facts {
    Ok(vec![Fact::known(Dtype::I32, conv_shape(call, 1)?)?])
}

fn conv_quantised(call: &Call<'_>) -> Facts {
    Ok(vec![Fact::known(call.dtype(7)?, conv_shape(call, 3)?)?])
}

fn conv_transpose(call: &Call<'_>) -> Facts {
    let (batch, _, spatial) = image(call, 0)?;
    let (_, per_group, weight) = image(call, 1)?;
    let window = Window::new(call, kernel(call, weight, spatial)?)?;
    let overflow = || Gap::from("a dimension does not fit into 64 bits");
    let channels = per_group.checked_mul(dim(call.int_or("group", 1))?).ok_or_else(overflow)?;
    let (given, extra) = (call.ints("output_shape"), call.ints("output_padding"));
    let mut shape = vec![batch, channels];
    for (axis, &size) in spatial.iter().enumerate() {
        if let Some(given) = given.filter(|given| !given.is_empty()) {
            let skip = given.len().saturating_sub(spatial.len());
            shape.push(dim(given.get(skip + axis).copied().ok_or_else(|| Gap::from("its output shape is too short"))?)?);
            continue;
        }
        let stride = window.strides[axis];
        if window.padding == Padding::Same {
            shape.push(dim(signed(size).checked_mul(stride).ok_or_else(overflow)?)?);
            continue;
        }
        let pads = if window.padding == Padding::Valid { 0 } else { window.pads[axis].saturating_add(window.pads[axis + spatial.len()]) };
        let extent = window.dilations[axis].checked_mul(window.kernel[axis] - 1).and_then(|reach| reach.checked_add(1));
        let extra = extra.and_then(|extra| extra.get(axis)).copied().unwrap_or(0);
        let length = signed(size).checked_sub(1).and_then(|steps| steps.checked_mul(stride)).and_then(|length| length.checked_add(extent?));
        let length = length.and_then(|length| length.checked_add(extra)).and_then(|length| length.checked_sub(pads));
        shape.push(dim(length.ok_or_else(overflow)?)?);
    }
    Ok(vec![Fact::known(call.dtype(0)?, shape)?])
}

pub(super) fn pool(call: &Call<'_>) -> Facts {
    let (batch, channels, spatial) = image(call, 0)?;
    let kernel = kernel(call, &[], spatial)?;
    let window = Window::new(call, kernel)?;
    let shape = [&[batch, channels], window.counts(spatial)?.as_slice()].concat();
    let mut outputs = vec![Fact::known(call.dtype(0)?, shape.clone())?];
    if call.node.kind == "MaxPool" {
        outputs.push(Fact::known(Dtype::I64, shape)?);
    }
    Ok(outputs)
}

fn unpool(call: &Call<'_>) -> Facts {
    if let Some(shape) = call.optional_values(2)? {
        let shape: Vec<u64> = shape.iter().map(|&size| dim(size)).collect::<Result<_, _>>()?;
        return Ok(vec![Fact::known(call.dtype(0)?, shape)?]);
    }
    let (batch, channels, spatial) = image(call, 0)?;
    let window = Window::new(call, kernel(call, &[], spatial)?)?;
    let mut shape = vec![batch, channels];
    for (axis, &size) in spatial.iter().enumerate() {
        let grown = signed(size).checked_sub(1).and_then(|steps| steps.checked_mul(window.strides[axis]));
        let pads = window.pads[axis].saturating_add(window.pads[axis + spatial.len()]);
        let length = grown.and_then(|length| length.checked_add(window.kernel[axis])).and_then(|length| length.checked_sub(pads));
        shape.push(dim(length.ok_or_else(|| Gap::from("a dimension does not fit into 64 bits"))?)?);
    }
    Ok(vec![Fact::known(call.dtype(0)?, shape)?])
}

fn rois(call: &Call<'_>) -> Result<(u64, u64), Gap> {
    let (_, channels, _) = image(call, 0)?;
    let count = call.shape(1)?.first().copied().ok_or_else(|| Gap::from("it has no regions"))?;
    Ok((count, channels))
}

fn max_roi_pool(call: &Call<'_>) -> Facts {
    let (count, channels) = rois(call)?;
    let pooled = call.ints("pooled_shape").ok_or_else(|| Gap::from("it has no pooled shape"))?;
    let sizes: Vec<u64> = pooled.iter().map(|&size| dim(size)).collect::<Result<_, _>>()?;
    Ok(vec![Fact::known(call.dtype(0)?, [&[count, channels], sizes.as_slice()].concat())?])
}

fn roi_align(call: &Call<'_>) -> Facts {
    let (count, channels) = rois(call)?;
    let (height, width) = (dim(call.int_or("output_height", 1))?, dim(call.int_or("output_width", 1))?);
    Ok(vec![Fact::known(call.dtype(0)?, vec![count, channels, height, width])?])
}

fn col2im(call: &Call<'_>) -> Facts {
    let [batch, columns, _] = call.shape(0)? else { return Err(Gap::from("its input has not three dimensions")) };
    let sizes: Vec<u64> = call.values(1)?.iter().map(|&size| dim(size)).collect::<Result<_, _>>()?;
    let block = call.values(2)?.iter().try_fold(1_u64, |product, &size| product.checked_mul(dim(size).ok()?)).filter(|&block| block > 0);
    let channels = block.and_then(|block| columns.checked_div(block)).ok_or_else(|| Gap::from("its block is empty"))?;
    Ok(vec![Fact::known(call.dtype(0)?, [&[*batch, channels], sizes.as_slice()].concat())?])
}
