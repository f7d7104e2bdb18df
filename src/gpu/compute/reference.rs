//! The same kernels in 64-bit floats, one element at a time, by the formulas as they stand in books.
//!
//! Every element comes with the size of what was added up to make it: an error is measured against that, because sums
//! of numbers that cancel out have no correct digits in any arithmetic.

use super::{Body, Element, Folding, Kernel, MapFunction, Sliding, Strides};

/// The elements of an operand, read back from a device.
pub(crate) struct Data {
    pub(crate) element: Element,
    pub(crate) bytes: Vec<u8>,
}

impl Data {
    pub(crate) fn get(&self, index: usize) -> f64 {
        fn number<const N: usize>(bytes: &[u8], index: usize) -> [u8; N] {
            bytes.get(index * N..(index + 1) * N).and_then(|bytes| bytes.try_into().ok()).unwrap_or([0; N])
        }
        match self.element {
            Element::F32 => f64::from(f32::from_le_bytes(number(&self.bytes, index))),
            Element::I64 => i64::from_le_bytes(number(&self.bytes, index)) as f64,
            Element::I32 => f64::from(i32::from_le_bytes(number(&self.bytes, index))),
            Element::Bool => f64::from(self.bytes.get(index).copied().unwrap_or(0)),
        }
    }
}

/// One element as it should be.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Expected {
    /// Its position in the output.
    pub(crate) index: usize,
    /// Its value.
    pub(crate) value: f64,
    /// The sum of the magnitudes of what it is made from.
    pub(crate) magnitude: f64,
}

fn at(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

/// How many elements a kernel writes, given those of its output.
pub(crate) fn n_results(kernel: &Kernel, n_output: u64) -> u64 {
    match &kernel.body {
        Body::Copy { shape, .. } => shape.iter().product(),
        _ => n_output,
    }
}

/// Element `nth` of those that a kernel writes.
pub(crate) fn expected(kernel: &Kernel, inputs: &[Data], output: Element, nth: u64) -> Expected {
    let index = at(nth);
    let plain = |(value, magnitude): (f64, f64)| Expected { index, value, magnitude };
    let exact = |value: f64| Expected { index, value, magnitude: value.abs() };
    match &kernel.body {
        Body::Map { function, parameters, shape, inputs: strides } => {
            let operands: Vec<f64> = inputs.iter().zip(strides).map(|(data, strides)| data.get(place(strides, shape, nth))).collect();
            plain(mapped(*function, *parameters, &operands, output))
        }
        Body::Copy { shape, from, to } => {
            let value = inputs[0].get(place(from, shape, nth));
            Expected { index: place(to, shape, nth), value, magnitude: value.abs() }
        }
        Body::Fill { bytes } => {
            let size = at(output.bytes());
            let bytes: Vec<u8> = bytes.iter().copied().cycle().skip(index * size % bytes.len().max(1)).take(size).collect();
            exact(Data { element: output, bytes }.get(0))
        }
        Body::Product { .. } => plain(product(&kernel.body, inputs, nth)),
        Body::Convolution { .. } => plain(convolution(&kernel.body, inputs, index)),
        Body::Pool { fold, sliding, counts_padding, .. } => plain(pool(*fold, sliding, *counts_padding, &inputs[0], index)),
        Body::Reduce { fold, kept, kept_strides, folded, folded_strides } => {
            let first = Strides { offset: 0, by_axis: kept_strides.clone() };
            let first = place(&first, kept, nth);
            let inner = Strides { offset: first as i64, by_axis: folded_strides.clone() };
            let n: u64 = folded.iter().product();
            plain(folded_values(*fold, (0..n).map(|index| inputs[0].get(place(&inner, folded, index)))))
        }
        &Body::Softmax { length, inner, is_log, .. } => {
            let lane = nth / (length * inner) * length * inner + nth % inner;
            let x = |index: u64| inputs[0].get(at(lane + index * inner));
            let most = (0..length).map(x).fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = (0..length).map(|index| (x(index) - most).exp()).sum();
            let own = inputs[0].get(index) - most;
            plain(if is_log { (own - sum.ln(), own.abs() + most.abs() + 1.0) } else { (own.exp() / sum, 1.0) })
        }
        Body::Normalise { .. } => plain(normalised(&kernel.body, inputs, nth)),
        &Body::NormaliseGiven { channels, inner, epsilon, .. } => {
            let channel = at(nth / inner % channels);
            let [scale, bias, mean, variance] = [1, 2, 3, 4].map(|operand| inputs[operand].get(channel));
            let (x, factor) = (inputs[0].get(index), scale / (variance + epsilon).sqrt());
            plain(((x - mean) * factor + bias, (x.abs() + mean.abs()) * factor.abs() + bias.abs()))
        }
        &Body::Gather { length, inner, n_indices, .. } => {
            let (round, position) = (nth / inner / n_indices, nth / inner % n_indices);
            let given = inputs[1].get(at(position));
            let from_front = if given < 0.0 { given + length as f64 } else { given };
            let picked = (0..length).rev().find(|&row| row as f64 <= from_front).unwrap_or(0);
            exact(inputs[0].get(at((round * length + picked) * inner + nth % inner)))
        }
        &Body::NegativeLogLikelihood { rows, classes } => {
            let class = |row: u64| (0..classes).find(|&class| inputs[1].get(at(row)) == class as f64).unwrap_or(0);
            let values = (0..rows).map(|row| inputs[0].get(at(row * classes + class(row))));
            let (sum, magnitude) = values.fold((0.0, 0.0), |(sum, magnitude), value| (sum - value, magnitude + value.abs()));
            plain((sum / rows as f64, magnitude / rows as f64))
        }
        &Body::NegativeLogLikelihoodGradient { rows, classes } => {
            let is_class = inputs[0].get(at(nth / classes)) == (nth % classes) as f64;
            exact(if is_class { -1.0 / rows as f64 } else { 0.0 })
        }
        &Body::LogSoftmaxGradient { length, .. } => {
            let row = nth / length * length;
            let (sum, total) =
                (0..length).map(|column| inputs[0].get(at(row + column))).fold((0.0, 0.0), |(sum, total), g| (sum + g, total + g.abs()));
            let (gradient, share) = (inputs[0].get(index), inputs[1].get(index).exp());
            plain((gradient - share * sum, gradient.abs() + share * total))
        }
    }
}

/// Where element `nth` of `shape` is.
fn place(strides: &Strides, shape: &[u64], nth: u64) -> usize {
    let mut rest = nth;
    let mut at = strides.offset;
    for (&length, &stride) in shape.iter().zip(&strides.by_axis).rev() {
        at += (rest % length.max(1)) as i64 * stride;
        rest /= length.max(1);
    }
    usize::try_from(at).unwrap_or(usize::MAX)
}

fn product(body: &Body, inputs: &[Data], nth: u64) -> (f64, f64) {
    let Body::Product { batch, rows, columns, depth, a, b, c, alpha, beta } = body else { return (0.0, 0.0) };
    let (outer, row, column) = (nth / columns / rows, nth / columns % rows, nth % columns);
    let element = |data: &Data, strides: &Strides, row: u64, column: u64| {
        let (outer_axes, inner_axes) = strides.by_axis.split_at(batch.len());
        let first = place(&Strides { offset: strides.offset, by_axis: outer_axes.to_vec() }, batch, outer);
        data.get(first + at(row) * at(inner_axes[0].unsigned_abs()) + at(column) * at(inner_axes[1].unsigned_abs()))
    };
    let (mut sum, mut magnitude) = (0.0, 0.0);
    for index in 0..*depth {
        let term = alpha * element(&inputs[0], a, row, index) * element(&inputs[1], b, index, column);
        sum += term;
        magnitude += term.abs();
    }
    if let Some(c) = c {
        let term = beta * element(&inputs[2], c, row, column);
        sum += term;
        magnitude += term.abs();
    }
    (sum, magnitude)
}

fn convolution(body: &Body, inputs: &[Data], index: usize) -> (f64, f64) {
    let Body::Convolution { groups, channels, filters, sliding, .. } = body else { return (0.0, 0.0) };
    let (groups, channels, filters) = (at(*groups), at(*channels), at(*filters));
    let plane: usize = sliding.output.iter().map(|&size| at(size)).product();
    let (filter, image) = (index / plane % (groups * filters), index / plane / (groups * filters));
    let first_channel = filter / filters * channels + image * groups * channels;
    let bias = inputs.get(2).map_or(0.0, |bias| bias.get(filter));
    let [in_plane, taps] = [sliding.input, sliding.kernel].map(|sizes| sizes.iter().map(|&size| at(size)).product::<usize>());
    let (mut sum, mut magnitude) = (bias, bias.abs());
    for channel in 0..channels {
        for (tap, source) in sources(sliding, index % plane) {
            let term = inputs[0].get((first_channel + channel) * in_plane + source) * inputs[1].get((filter * channels + channel) * taps + tap);
            sum += term;
            magnitude += term.abs();
        }
    }
    (sum, magnitude)
}

/// The taps of a window that are inside the input, with the element under each.
fn sources(sliding: &Sliding, position: usize) -> Vec<(usize, usize)> {
    let sizes = |sizes: [u64; 3]| sizes.map(at);
    let (input, output, kernel) = (sizes(sliding.input), sizes(sliding.output), sizes(sliding.kernel));
    let (strides, dilations, pads) = (sizes(sliding.strides), sizes(sliding.dilations), sizes(sliding.pads));
    let along = |index: usize, lengths: [usize; 3]| [index / (lengths[1] * lengths[2]), index / lengths[2] % lengths[1], index % lengths[2]];
    let at = along(position, output);
    let source = |tap: usize| {
        let taps = along(tap, kernel);
        let mut place = 0;
        for axis in 0..3 {
            let index = (at[axis] * strides[axis] + taps[axis] * dilations[axis]).checked_sub(pads[axis]).filter(|&index| index < input[axis])?;
            place = place * input[axis] + index;
        }
        Some((tap, place))
    };
    (0..kernel.iter().product()).filter_map(source).collect()
}

fn pool(fold: Folding, sliding: &Sliding, counts_padding: bool, x: &Data, index: usize) -> (f64, f64) {
    let [in_plane, plane, taps] = [sliding.input, sliding.output, sliding.kernel].map(|sizes| sizes.iter().map(|&size| at(size)).product::<usize>());
    let values: Vec<f64> = sources(sliding, index % plane).into_iter().map(|(_, source)| x.get(index / plane * in_plane + source)).collect();
    let n = if counts_padding { taps } else { values.len().max(1) } as f64;
    let (value, magnitude) = folded_values(if fold == Folding::Max { fold } else { Folding::Sum }, values.into_iter());
    if fold == Folding::Max { (value, magnitude) } else { (value / n, magnitude / n) }
}

fn folded_values(fold: Folding, values: impl Iterator<Item = f64>) -> (f64, f64) {
    let values: Vec<f64> = values.collect();
    let n = values.len() as f64;
    let (sum, total) = values.iter().fold((0.0, 0.0), |(sum, total), value| (sum + value, total + value.abs()));
    let itself = |value: f64| (value, value.abs());
    match fold {
        Folding::Sum => (sum, total),
        Folding::Mean => (sum / n, total / n),
        Folding::Max => itself(values.into_iter().fold(f64::NEG_INFINITY, f64::max)),
        Folding::Min => itself(values.into_iter().fold(f64::INFINITY, f64::min)),
        Folding::Product => itself(values.into_iter().product()),
        Folding::SumOfSquares => itself(values.into_iter().map(|value| value * value).sum()),
    }
}

fn normalised(body: &Body, inputs: &[Data], nth: u64) -> (f64, f64) {
    let &Body::Normalise { length, run, n_scales, is_centred, epsilon, .. } = body else { return (0.0, 0.0) };
    let first = nth / length * length;
    let row: Vec<f64> = (first..first + length).map(|index| inputs[0].get(at(index))).collect();
    let mean = if is_centred { row.iter().sum::<f64>() / length as f64 } else { 0.0 };
    let variance = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / length as f64;
    let scale_at = at(nth / run % n_scales);
    let (scale, bias) = (inputs[1].get(scale_at), inputs.get(2).map_or(0.0, |bias| bias.get(scale_at)));
    let (x, factor) = (inputs[0].get(at(nth)), scale / (variance + epsilon).sqrt());
    ((x - mean) * factor + bias, (x.abs() + mean.abs()) * factor.abs() + bias.abs())
}

/// A function and the size that its rounding error goes by: 1 is added where it has a slope beside its value.
fn mapped(function: MapFunction, [a, b]: [f64; 2], operands: &[f64], output: Element) -> (f64, f64) {
    let x = operands.first().copied().unwrap_or(0.0);
    let y = operands.get(1).copied().unwrap_or(0.0);
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let truth = |is_true: bool| f64::from(u8::from(is_true));
    let value = match function {
        MapFunction::Abs => x.abs(),
        MapFunction::Ceil => x.ceil(),
        MapFunction::Clip => x.max(a).min(b),
        MapFunction::Convert => match output {
            Element::F32 => x,
            Element::I64 | Element::I32 => x.trunc(),
            Element::Bool => truth(x != 0.0),
        },
        MapFunction::Cos => x.cos(),
        MapFunction::Elu if x < 0.0 => a * (x.exp() - 1.0),
        MapFunction::LeakyRelu if x < 0.0 => a * x,
        MapFunction::Elu | MapFunction::LeakyRelu => x,
        MapFunction::Erf => erf(x),
        MapFunction::Exp => x.exp(),
        MapFunction::Floor => x.floor(),
        MapFunction::Gelu => 0.5 * x * (1.0 + erf(x / std::f64::consts::SQRT_2)),
        MapFunction::GeluByTanh => 0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3))).tanh()),
        MapFunction::HardSigmoid => (a * x + b).clamp(0.0, 1.0),
        MapFunction::HardSwish => x * (x / 6.0 + 0.5).clamp(0.0, 1.0),
        MapFunction::Log => x.ln(),
        MapFunction::Neg => -x,
        MapFunction::Not => truth(x == 0.0),
        MapFunction::Reciprocal => 1.0 / x,
        MapFunction::Relu => x.max(0.0),
        MapFunction::Sigmoid => sigmoid(x),
        MapFunction::Sign => truth(x > 0.0) - truth(x < 0.0),
        MapFunction::Silu => x * sigmoid(x),
        MapFunction::Sin => x.sin(),
        MapFunction::Softplus => (1.0 + x.exp()).ln().max(x),
        MapFunction::Sqrt => x.sqrt(),
        MapFunction::Tanh => x.tanh(),
        MapFunction::Add => x + y,
        MapFunction::And => truth(x != 0.0 && y != 0.0),
        MapFunction::Div if output != Element::F32 => (x / y).trunc(),
        MapFunction::Div => x / y,
        MapFunction::Equal => truth(x == y),
        MapFunction::Greater => truth(x > y),
        MapFunction::GreaterOrEqual => truth(x >= y),
        MapFunction::Less => truth(x < y),
        MapFunction::LessOrEqual => truth(x <= y),
        MapFunction::Max => x.max(y),
        MapFunction::Min => x.min(y),
        MapFunction::Mul => x * y,
        MapFunction::Or => truth(x != 0.0 || y != 0.0),
        MapFunction::Pow => x.powf(y),
        MapFunction::ReluGradient => x * truth(y > 0.0),
        MapFunction::Sub => x - y,
        MapFunction::Where => operands.get(if x != 0.0 { 1 } else { 2 }).copied().unwrap_or(0.0),
    };
    let has_slope = matches!(
        function,
        MapFunction::Cos
            | MapFunction::Elu
            | MapFunction::Erf
            | MapFunction::Exp
            | MapFunction::Gelu
            | MapFunction::GeluByTanh
            | MapFunction::HardSigmoid
            | MapFunction::HardSwish
            | MapFunction::Log
            | MapFunction::Sigmoid
            | MapFunction::Silu
            | MapFunction::Sin
            | MapFunction::Softplus
            | MapFunction::Tanh
    );
    let sum = matches!(function, MapFunction::Add | MapFunction::Sub);
    let magnitude = if sum { x.abs() + y.abs() } else { value.abs() + if has_slope { 1.0 } else { 0.0 } };
    (value, magnitude)
}

/// The error function by its power series, and by its continued fraction where that is slow.
fn erf(x: f64) -> f64 {
    let z = x.abs();
    if z > 6.0 {
        return 1.0_f64.copysign(x);
    }
    if z < 3.0 {
        let (mut term, mut sum) = (z, z);
        for n in 1..100 {
            let n = f64::from(n);
            term *= -z * z / n;
            sum += term / (2.0 * n + 1.0);
        }
        return (sum * 2.0 / std::f64::consts::PI.sqrt()).copysign(x);
    }
    let fraction = (1..60).rev().fold(0.0, |fraction, n| f64::from(n) / 2.0 / (z + fraction));
    let complement = (-z * z).exp() / std::f64::consts::PI.sqrt() / (z + fraction);
    (1.0 - complement).copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_function_has_the_values_of_the_tables() {
        for (x, expected) in [(0.5, 0.520_499_877_813), (-1.0, -0.842_700_792_950), (2.9, 0.999_958_902_122), (3.1, 0.999_988_351_343)] {
            assert!((erf(x) - expected).abs() < 1e-11, "erf({x}) is {}", erf(x));
        }
    }
}
