//! Kernels that fold elements: sums in 64 bits, results in 32.

use std::cell::Cell;

use super::{at, place, single};
use crate::compute::{Body, Folding, Strides};

/// The places of all elements of some axes, in order.
fn places(lengths: &[u64], strides: &[i64]) -> Vec<i64> {
    lengths.iter().zip(strides).fold(vec![0], |places, (&length, &stride)| {
        places.iter().flat_map(|&place| (0..length as i64).map(move |index| place + index * stride)).collect()
    })
}

pub(super) fn reduce(body: &Body, output: &[Cell<f32>], x: &[Cell<f32>]) {
    let Body::Reduce { fold, kept, kept_strides, folded, folded_strides } = body else { return };
    let inner = places(folded, folded_strides);
    let strides = Strides { offset: 0, by_axis: kept_strides.clone() };
    let n = at(kept.last().copied().unwrap_or(1));
    let last = kept_strides.last().copied().unwrap_or(0);
    super::for_each_row(kept, &[&strides], |row, offsets| {
        for index in 0..n {
            let first = offsets[0] + last * index as i64;
            let values = inner.iter().map(|&offset| f64::from(x[place(first, offset, 1)].get()));
            let result = match fold {
                Folding::Sum => values.sum(),
                Folding::Mean => values.sum::<f64>() / inner.len() as f64,
                Folding::Max => values.fold(f64::NEG_INFINITY, f64::max),
                Folding::Min => values.fold(f64::INFINITY, f64::min),
                Folding::Product => values.product(),
                Folding::SumOfSquares => values.map(|value| value * value).sum(),
            };
            output[row * n + index].set(single(result));
        }
    });
}

/// Every element is read before it is written, so that the result may lie over the input.
pub(super) fn softmax(body: &Body, output: &[Cell<f32>], x: &[Cell<f32>]) {
    let &Body::Softmax { outer, length, inner, is_log } = body else { return };
    let (length, inner) = (at(length), at(inner));
    for (first, lane) in (0..at(outer)).flat_map(|row| (0..inner).map(move |lane| (row * length * inner, lane))) {
        let cell = |index: usize| first + index * inner + lane;
        let most = (0..length).map(|index| x[cell(index)].get()).fold(f32::NEG_INFINITY, f32::max);
        if is_log {
            let sum: f64 = (0..length).map(|index| f64::from((x[cell(index)].get() - most).exp())).sum();
            let log = single(sum.ln());
            for index in 0..length {
                output[cell(index)].set(x[cell(index)].get() - most - log);
            }
            continue;
        }
        let mut sum = 0.0_f64;
        for index in 0..length {
            let value = (x[cell(index)].get() - most).exp();
            sum += f64::from(value);
            output[cell(index)].set(value);
        }
        let factor = single(1.0 / sum);
        for index in 0..length {
            output[cell(index)].set(output[cell(index)].get() * factor);
        }
    }
}

pub(super) fn log_softmax_gradient(rows: usize, length: usize, output: &[Cell<f32>], inputs: &[&[Cell<f32>]]) {
    let [gradient, result] = inputs[..] else { return };
    for row in (0..rows).map(|row| row * length..(row + 1) * length) {
        let sum: f64 = gradient[row.clone()].iter().map(|cell| f64::from(cell.get())).sum();
        for index in row {
            output[index].set(gradient[index].get() - result[index].get().exp() * single(sum));
        }
    }
}

pub(super) fn normalise(body: &Body, output: &[Cell<f32>], inputs: &[&[Cell<f32>]]) {
    let &Body::Normalise { rows, length, run, n_scales, is_centred, epsilon } = body else { return };
    let (x, scale, bias) = (inputs[0], inputs[1], inputs.get(2));
    let (length, run, n_scales) = (at(length), at(run), at(n_scales));
    for first in (0..at(rows)).map(|row| row * length) {
        let row = &x[first..first + length];
        let n = length as f64;
        let mean = if is_centred { row.iter().map(|cell| f64::from(cell.get())).sum::<f64>() / n } else { 0.0 };
        let variance = row.iter().map(|cell| (f64::from(cell.get()) - mean).powi(2)).sum::<f64>() / n;
        let factor = single(1.0 / (variance + epsilon).sqrt());
        let mean = single(mean);
        for (index, cell) in row.iter().enumerate() {
            let at = (first + index) / run % n_scales;
            let bias = bias.map_or(0.0, |bias| bias[at].get());
            output[first + index].set((cell.get() - mean) * factor * scale[at].get() + bias);
        }
    }
}

pub(super) fn normalise_given(body: &Body, output: &[Cell<f32>], inputs: &[&[Cell<f32>]]) {
    let &Body::NormaliseGiven { batch, channels, inner, epsilon } = body else { return };
    let [x, scale, bias, mean, variance] = inputs[..] else { return };
    let (channels, inner) = (at(channels), at(inner));
    for (plane, channel) in (0..at(batch) * channels).map(|plane| (plane * inner..(plane + 1) * inner, plane % channels)) {
        let factor = single(f64::from(scale[channel].get()) / (f64::from(variance[channel].get()) + epsilon).sqrt());
        let (mean, bias) = (mean[channel].get(), bias[channel].get());
        for (output, x) in output[plane.clone()].iter().zip(&x[plane]) {
            output.set((x.get() - mean) * factor + bias);
        }
    }
}
