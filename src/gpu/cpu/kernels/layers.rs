//! Convolutions and pools, directly: no matrix of patches is built, so that no scratch has to be planned.

use std::cell::Cell;

use super::at;
use crate::compute::{Body, Folding, Sliding};

/// Filters whose sums are kept at once: the input is then read a quarter as often.
const FILTERS: usize = 4;
/// Positions of a tile: the sums of four filters take 4 KiB.
const POSITIONS: usize = 256;

/// The sizes of a sliding window as index types.
#[derive(Clone, Copy)]
struct Sizes {
    input: [usize; 3],
    output: [usize; 3],
    kernel: [usize; 3],
    strides: [usize; 3],
    dilations: [usize; 3],
    pads: [usize; 3],
}

impl Sizes {
    fn new(sliding: &Sliding) -> Self {
        let all = |sizes: [u64; 3]| sizes.map(at);
        Self {
            input: all(sliding.input),
            output: all(sliding.output),
            kernel: all(sliding.kernel),
            strides: all(sliding.strides),
            dilations: all(sliding.dilations),
            pads: all(sliding.pads),
        }
    }

    /// A window of one tap that moves by one is no window: all positions are then one row.
    fn flattened(self) -> Self {
        let is_pointwise = self.kernel == [1; 3] && self.strides == [1; 3] && self.pads == [0; 3] && self.input == self.output;
        if !is_pointwise {
            return self;
        }
        let row = [1, 1, self.input.iter().product()];
        Self { input: row, output: row, ..self }
    }

    /// The input's index along an axis; `None` in the padding.
    fn source(&self, axis: usize, position: usize, tap: usize) -> Option<usize> {
        (position * self.strides[axis] + tap * self.dilations[axis]).checked_sub(self.pads[axis]).filter(|&index| index < self.input[axis])
    }

    /// The positions `from..to` of the last axis, of those in `first..end`, whose tap is inside the input.
    fn inside(&self, tap: usize, first: usize, end: usize) -> (usize, usize) {
        let (stride, shift) = (self.strides[2], tap * self.dilations[2]);
        let from = self.pads[2].saturating_sub(shift).div_ceil(stride).max(first);
        let limit = (self.input[2] + self.pads[2]).saturating_sub(shift);
        let to = limit.div_ceil(stride).min(end);
        (from.min(to), to)
    }
}

pub(super) fn convolution(body: &Body, output: &[Cell<f32>], inputs: &[&[Cell<f32>]]) {
    let Body::Convolution { batch, groups, channels, filters, sliding } = body else { return };
    let sizes = Sizes::new(sliding).flattened();
    let (groups, channels, filters) = (at(*groups), at(*channels), at(*filters));
    let [in_plane, out_plane, taps] = [sizes.input, sizes.output, sizes.kernel].map(|sizes| sizes.iter().product::<usize>());
    for (image, group) in (0..at(*batch)).flat_map(|image| (0..groups).map(move |group| (image, group))) {
        let x = &inputs[0][(image * groups + group) * channels * in_plane..][..channels * in_plane];
        for first in (0..filters).step_by(FILTERS) {
            let n_filters = FILTERS.min(filters - first);
            let filter = group * filters + first;
            let block = Block {
                sizes,
                x,
                weights: &inputs[1][filter * channels * taps..][..n_filters * channels * taps],
                bias: inputs.get(2).map(|bias| &bias[filter..filter + n_filters]),
                channels,
                n_filters,
            };
            let out = &output[(image * groups * filters + filter) * out_plane..][..n_filters * out_plane];
            block.run(out, out_plane);
        }
    }
}

/// A few filters over one group of one image.
struct Block<'a> {
    sizes: Sizes,
    x: &'a [Cell<f32>],
    weights: &'a [Cell<f32>],
    bias: Option<&'a [Cell<f32>]>,
    channels: usize,
    n_filters: usize,
}

impl Block<'_> {
    fn run(&self, out: &[Cell<f32>], out_plane: usize) {
        let [depth, height, width] = self.sizes.output;
        for (z, y) in (0..depth).flat_map(|z| (0..height).map(move |y| (z, y))) {
            for first in (0..width).step_by(POSITIONS) {
                let end = (first + POSITIONS).min(width);
                let sums = self.tile(z, y, first, end);
                for (filter, sums) in sums.iter().enumerate().take(self.n_filters) {
                    let from = filter * out_plane + (z * height + y) * width + first;
                    for (cell, sum) in out[from..from + end - first].iter().zip(sums) {
                        cell.set(*sum);
                    }
                }
            }
        }
    }

    fn tile(&self, z: usize, y: usize, first: usize, end: usize) -> [[f32; POSITIONS]; FILTERS] {
        let sizes = &self.sizes;
        let [depth, height, width] = sizes.input;
        let taps: usize = sizes.kernel.iter().product();
        let mut sums = [[0.0_f32; POSITIONS]; FILTERS];
        for (filter, sums) in sums.iter_mut().enumerate().take(self.n_filters) {
            let bias = self.bias.map_or(0.0, |bias| bias[filter].get());
            sums[..end - first].fill(bias);
        }
        for channel in 0..self.channels {
            let plane = &self.x[channel * depth * height * width..][..depth * height * width];
            for (tap_z, tap_y) in (0..sizes.kernel[0]).flat_map(|z| (0..sizes.kernel[1]).map(move |y| (z, y))) {
                let (Some(source_z), Some(source_y)) = (sizes.source(0, z, tap_z), sizes.source(1, y, tap_y)) else { continue };
                let row = &plane[(source_z * height + source_y) * width..][..width];
                for tap_x in 0..sizes.kernel[2] {
                    let (from, to) = sizes.inside(tap_x, first, end);
                    if from == to {
                        continue;
                    }
                    let tap = (tap_z * sizes.kernel[1] + tap_y) * sizes.kernel[2] + tap_x;
                    let source = from * sizes.strides[2] + tap_x * sizes.dilations[2] - sizes.pads[2];
                    for (filter, sums) in sums.iter_mut().enumerate().take(self.n_filters) {
                        let weight = self.weights[(filter * self.channels + channel) * taps + tap].get();
                        let sums = &mut sums[from - first..to - first];
                        if sizes.strides[2] == 1 {
                            for (sum, x) in sums.iter_mut().zip(&row[source..source + to - from]) {
                                *sum += weight * x.get();
                            }
                        } else {
                            for (sum, x) in sums.iter_mut().zip(row[source..].iter().step_by(sizes.strides[2])) {
                                *sum += weight * x.get();
                            }
                        }
                    }
                }
            }
        }
        sums
    }
}

pub(super) fn pool(body: &Body, output: &[Cell<f32>], x: &[Cell<f32>]) {
    let Body::Pool { fold, planes, sliding, counts_padding } = body else { return };
    let sizes = Sizes::new(sliding);
    let [in_plane, out_plane, taps] = [sizes.input, sizes.output, sizes.kernel].map(|sizes| sizes.iter().product::<usize>());
    for plane in 0..at(*planes) {
        let x = &x[plane * in_plane..][..in_plane];
        for (position, cell) in output[plane * out_plane..][..out_plane].iter().enumerate() {
            let [_, height, width] = sizes.output;
            let at = [position / (height * width), position / width % height, position % width];
            let (mut most, mut sum, mut n) = (f32::NEG_INFINITY, 0.0_f32, 0_u32);
            for tap_z in 0..sizes.kernel[0] {
                let Some(z) = sizes.source(0, at[0], tap_z) else { continue };
                for tap_y in 0..sizes.kernel[1] {
                    let Some(y) = sizes.source(1, at[1], tap_y) else { continue };
                    for tap_x in 0..sizes.kernel[2] {
                        let Some(column) = sizes.source(2, at[2], tap_x) else { continue };
                        let value = x[(z * sizes.input[1] + y) * sizes.input[2] + column].get();
                        most = most.max(value);
                        sum += value;
                        n += 1;
                    }
                }
            }
            let count = if *counts_padding { taps as f32 } else { n.max(1) as f32 };
            cell.set(if *fold == Folding::Max { most } else { sum / count });
        }
    }
}
