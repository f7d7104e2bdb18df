//! Kernels of the CPU: plain loops in an order that caches like, with a fixed amount of scratch on the stack.
//!
//! Operands may overlap, in place or by a wrong plan: elements are reached through cells, which allows that. No element
//! of any operand decides where another one is, except indices, and those are drawn into range.

mod element_wise;
mod folds;
mod layers;
mod matrices;

use std::cell::Cell;

use super::streams::Bytes;
use crate::compute::{Body, Element, Kernel, Strides};
use crate::device::DeviceError;

/// An operand: where it is, and of what type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand {
    pub(crate) bytes: Bytes,
    pub(crate) element: Element,
}

impl Operand {
    /// Whether it begins at a multiple of its element's size.
    pub(crate) fn is_aligned(self) -> bool {
        (self.bytes.pointer.addr() as u64).is_multiple_of(self.element.bytes())
    }

    /// Its elements as plain bytes, 4-byte or 8-byte numbers.
    ///
    /// # Safety
    /// The range is inside a living block, aligned for `T`, which is plain data, and no other thread touches it.
    unsafe fn cells<'a, T: Copy>(self) -> &'a [Cell<T>] {
        // SAFETY: by contract; cells of one thread may alias.
        unsafe { std::slice::from_raw_parts(self.bytes.pointer.cast::<Cell<T>>(), self.bytes.len / size_of::<T>()) }
    }
}

/// Elements of one of the types.
#[derive(Clone, Copy)]
pub(super) enum Cells<'a> {
    F32(&'a [Cell<f32>]),
    I64(&'a [Cell<i64>]),
    I32(&'a [Cell<i32>]),
    Bool(&'a [Cell<u8>]),
}

impl<'a> Cells<'a> {
    /// # Safety
    /// As [`Operand::cells`].
    unsafe fn new(operand: Operand) -> Self {
        // SAFETY: by contract; the type is the operand's own.
        unsafe {
            match operand.element {
                Element::F32 => Self::F32(operand.cells()),
                Element::I64 => Self::I64(operand.cells()),
                Element::I32 => Self::I32(operand.cells()),
                Element::Bool => Self::Bool(operand.cells()),
            }
        }
    }

    pub(super) fn floats(self) -> Option<&'a [Cell<f32>]> {
        match self {
            Self::F32(cells) => Some(cells),
            _ => None,
        }
    }

    /// An element as a whole number.
    #[expect(clippy::cast_possible_truncation, reason = "indices that are floats do not occur; any value is drawn into range")]
    pub(super) fn int(self, at: usize) -> i64 {
        match self {
            Self::F32(cells) => cells[at].get() as i64,
            Self::I64(cells) => cells[at].get(),
            Self::I32(cells) => i64::from(cells[at].get()),
            Self::Bool(cells) => i64::from(cells[at].get()),
        }
    }
}

/// A position in a kernel's sizes.
pub(super) fn at(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

/// The nearest 32-bit float.
#[expect(clippy::cast_possible_truncation, reason = "rounding to the nearest is the purpose")]
pub(super) fn single(value: f64) -> f32 {
    value as f32
}

const WRONG_TYPES: DeviceError = DeviceError::Unsupported("a kernel with operands of other types than its own");

/// Runs a kernel; operand 0 is the output, then come the inputs.
///
/// # Safety
/// Every operand is inside a living block and aligned for its elements, and no other thread touches any of them.
pub(crate) unsafe fn execute(kernel: &Kernel, operands: &[Operand]) -> Result<(), DeviceError> {
    // SAFETY: by contract.
    let cells: Vec<Cells<'_>> = operands.iter().map(|&operand| unsafe { Cells::new(operand) }).collect();
    let (&output, inputs) = cells.split_first().ok_or(WRONG_TYPES)?;
    let floats = || -> Result<Vec<&[Cell<f32>]>, DeviceError> { inputs.iter().map(|cells| cells.floats().ok_or(WRONG_TYPES)).collect() };
    let out = || output.floats().ok_or(WRONG_TYPES);
    match &kernel.body {
        Body::Map { function, parameters, shape, inputs: strides } => element_wise::map((*function, *parameters), shape, strides, output, inputs),
        // SAFETY: by contract.
        Body::Copy { shape, from, to } => unsafe { copy(shape, from, to, operands[0], operands[1]) },
        // SAFETY: by contract.
        Body::Fill { bytes } => unsafe { fill(bytes, operands[0]) },
        Body::Product { .. } => matrices::product(&kernel.body, out()?, &floats()?),
        Body::Convolution { .. } => layers::convolution(&kernel.body, out()?, &floats()?),
        Body::Pool { .. } => layers::pool(&kernel.body, out()?, floats()?[0]),
        Body::Reduce { .. } => folds::reduce(&kernel.body, out()?, floats()?[0]),
        Body::Softmax { .. } => folds::softmax(&kernel.body, out()?, floats()?[0]),
        Body::Normalise { .. } => folds::normalise(&kernel.body, out()?, &floats()?),
        Body::NormaliseGiven { .. } => folds::normalise_given(&kernel.body, out()?, &floats()?),
        // SAFETY: by contract.
        Body::Gather { .. } => unsafe { gather(&kernel.body, operands, inputs[1]) },
        Body::NegativeLogLikelihood { rows, classes } => {
            let log_p = inputs[0].floats().ok_or(WRONG_TYPES)?;
            let class = |row: usize| at(inputs[1].int(row).clamp(0, *classes as i64 - 1).unsigned_abs());
            let sum: f64 = (0..at(*rows)).map(|row| f64::from(log_p[row * at(*classes) + class(row)].get())).sum();
            out()?[0].set(single(-sum / *rows as f64));
        }
        Body::NegativeLogLikelihoodGradient { rows, classes } => {
            let out = out()?;
            let share = -1.0 / *rows as f32;
            for row in 0..at(*rows) {
                let class = inputs[0].int(row).clamp(0, *classes as i64 - 1);
                for (column, cell) in (0..).zip(&out[row * at(*classes)..(row + 1) * at(*classes)]) {
                    cell.set(if column == class { share } else { 0.0 });
                }
            }
        }
        Body::LogSoftmaxGradient { rows, length } => folds::log_softmax_gradient(at(*rows), at(*length), out()?, &floats()?),
    }
    Ok(())
}

/// Calls `work` with the first offset of each operand for every row of `shape`, whose last axis is left out.
pub(super) fn for_each_row(shape: &[u64], strides: &[&Strides], mut work: impl FnMut(usize, &[i64])) {
    let outer = &shape[..shape.len().saturating_sub(1)];
    let mut index = vec![0_u64; outer.len()];
    let mut offsets: Vec<i64> = strides.iter().map(|strides| strides.offset).collect();
    let n_rows: u64 = outer.iter().product();
    for row in 0..at(n_rows) {
        work(row, &offsets);
        for axis in (0..outer.len()).rev() {
            index[axis] += 1;
            for (offset, strides) in offsets.iter_mut().zip(strides) {
                *offset += strides.by_axis[axis];
            }
            if index[axis] < outer[axis] {
                break;
            }
            for (offset, strides) in offsets.iter_mut().zip(strides) {
                *offset -= strides.by_axis[axis] * outer[axis] as i64;
            }
            index[axis] = 0;
        }
    }
}

pub(super) fn place(offset: i64, stride: i64, index: usize) -> usize {
    usize::try_from(offset + stride * index as i64).unwrap_or(usize::MAX)
}

/// # Safety
/// As [`execute`].
unsafe fn copy(shape: &[u64], from: &Strides, to: &Strides, output: Operand, input: Operand) {
    fn move_all<T: Copy>(shape: &[u64], strides: [&Strides; 2], output: &[Cell<T>], input: &[Cell<T>]) {
        let n = at(shape.last().copied().unwrap_or(1));
        let [from, to] = strides.map(|strides| strides.by_axis.last().copied().unwrap_or(0));
        for_each_row(shape, &strides, |_, offsets| {
            if from == 1 && to == 1 {
                let (source, target) = (place(offsets[0], 1, 0), place(offsets[1], 1, 0));
                for (target, source) in output[target..target + n].iter().zip(&input[source..source + n]) {
                    target.set(source.get());
                }
                return;
            }
            for index in 0..n {
                output[place(offsets[1], to, index)].set(input[place(offsets[0], from, index)].get());
            }
        });
    }
    // SAFETY: by contract; elements are moved as plain bits of their size.
    unsafe {
        match output.element.bytes() {
            8 => move_all::<u64>(shape, [from, to], output.cells(), input.cells()),
            4 => move_all::<u32>(shape, [from, to], output.cells(), input.cells()),
            _ => move_all::<u8>(shape, [from, to], output.cells(), input.cells()),
        }
    }
}

/// # Safety
/// As [`execute`].
unsafe fn fill(bytes: &[u8], output: Operand) {
    // SAFETY: by contract; bytes have no alignment.
    let cells = unsafe { output.cells::<u8>() };
    for (cell, &byte) in cells.iter().zip(bytes.iter().cycle()) {
        cell.set(byte);
    }
}

/// # Safety
/// As [`execute`].
unsafe fn gather(body: &Body, operands: &[Operand], indices: Cells<'_>) {
    let &Body::Gather { outer, length, inner, n_indices } = body else { return };
    let run = at(inner * operands[0].element.bytes());
    // SAFETY: by contract; bytes have no alignment.
    let (output, input) = unsafe { (operands[0].cells::<u8>(), operands[1].cells::<u8>()) };
    for round in 0..at(outer) {
        for position in 0..at(n_indices) {
            let index = indices.int(position);
            let index = if index < 0 { index + length as i64 } else { index }.clamp(0, length as i64 - 1);
            let from = (round * at(length) + at(index.unsigned_abs())) * run;
            let to = (round * at(n_indices) + position) * run;
            for (target, source) in output[to..to + run].iter().zip(&input[from..from + run]) {
                target.set(source.get());
            }
        }
    }
}
