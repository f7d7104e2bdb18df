//! Functions of one element of each operand.

use std::cell::Cell;

use super::{Cells, at, for_each_row, place, single};
use crate::compute::{MapFunction, Strides};

/// One element of any type.
#[derive(Clone, Copy)]
enum Scalar {
    Float(f32),
    Int(i64),
}

impl Scalar {
    #[expect(clippy::cast_precision_loss, reason = "a conversion that the graph asks for")]
    fn float(self) -> f32 {
        match self {
            Self::Float(value) => value,
            Self::Int(value) => value as f32,
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "a conversion that the graph asks for")]
    fn int(self) -> i64 {
        match self {
            Self::Float(value) => value as i64,
            Self::Int(value) => value,
        }
    }

    fn is_true(self) -> bool {
        match self {
            Self::Float(value) => value != 0.0,
            Self::Int(value) => value != 0,
        }
    }
}

impl Cells<'_> {
    fn scalar(self, index: usize) -> Scalar {
        match self {
            Self::F32(cells) => Scalar::Float(cells[index].get()),
            other => Scalar::Int(other.int(index)),
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "a conversion that the graph asks for")]
    fn put(self, index: usize, value: Scalar) {
        match self {
            Self::F32(cells) => cells[index].set(value.float()),
            Self::I64(cells) => cells[index].set(value.int()),
            Self::I32(cells) => cells[index].set(value.int() as i32),
            Self::Bool(cells) => cells[index].set(u8::from(value.is_true())),
        }
    }
}

pub(super) fn map(function: (MapFunction, [f64; 2]), shape: &[u64], strides: &[Strides], output: Cells<'_>, inputs: &[Cells<'_>]) {
    let views: Vec<&Strides> = strides.iter().collect();
    if let (Cells::F32(output), Some(inputs)) = (output, inputs.iter().map(|cells| cells.floats()).collect::<Option<Vec<_>>>()) {
        match inputs[..] {
            [x] => return unary(function, shape, views[0], output, x),
            [x, y] if binary(function.0, shape, [views[0], views[1]], output, [x, y]) => return,
            _ => {}
        }
    }
    let n = at(shape.last().copied().unwrap_or(1));
    let inner: Vec<i64> = strides.iter().map(|strides| strides.by_axis.last().copied().unwrap_or(0)).collect();
    let mut operands = Vec::with_capacity(inputs.len());
    for_each_row(shape, &views, |row, offsets| {
        for index in 0..n {
            operands.clear();
            operands.extend(inputs.iter().zip(offsets).zip(&inner).map(|((cells, &offset), &stride)| cells.scalar(place(offset, stride, index))));
            output.put(row * n + index, of_scalars(function, &operands));
        }
    });
}

/// Writes a row from operands at an offset and a stride.
type RowFunction<'f> = &'f dyn Fn(&[Cell<f32>], &[Cell<f32>], i64, i64);

fn unary((function, [a, b]): (MapFunction, [f64; 2]), shape: &[u64], strides: &Strides, output: &[Cell<f32>], x: &[Cell<f32>]) {
    let (a, b) = (single(a), single(b));
    let each = |f: RowFunction<'_>| {
        let n = at(shape.last().copied().unwrap_or(1));
        let stride = strides.by_axis.last().copied().unwrap_or(0);
        for_each_row(shape, &[strides], |row, offsets| f(&output[row * n..(row + 1) * n], x, offsets[0], stride));
    };
    macro_rules! with {
        ($f:expr) => {
            each(&|output, x, offset, stride| {
                if stride == 1 {
                    let x = &x[place(offset, 1, 0)..][..output.len()];
                    for (output, x) in output.iter().zip(x) {
                        output.set($f(x.get()));
                    }
                } else {
                    for (index, output) in output.iter().enumerate() {
                        output.set($f(x[place(offset, stride, index)].get()));
                    }
                }
            })
        };
    }
    // The frequent ones have loops of their own, which become vector code.
    match function {
        MapFunction::Relu => with!(|x: f32| if x > 0.0 { x } else { 0.0 }),
        MapFunction::Clip => with!(|x: f32| x.max(a).min(b)),
        MapFunction::Neg => with!(|x: f32| -x),
        MapFunction::Abs => with!(f32::abs),
        MapFunction::Sqrt => with!(f32::sqrt),
        MapFunction::Reciprocal => with!(|x: f32| 1.0 / x),
        MapFunction::LeakyRelu => with!(|x: f32| if x < 0.0 { a * x } else { x }),
        MapFunction::HardSwish => with!(|x: f32| x * (x / 6.0 + 0.5).clamp(0.0, 1.0)),
        MapFunction::Sigmoid => with!(sigmoid),
        MapFunction::Tanh => with!(f32::tanh),
        MapFunction::Erf => with!(erf),
        MapFunction::Gelu => with!(gelu),
        other => with!(|x: f32| of_float(other, x, a, b)),
    }
}

/// Whether the function is one of floats alone; then it is done.
fn binary(function: MapFunction, shape: &[u64], strides: [&Strides; 2], output: &[Cell<f32>], [x, y]: [&[Cell<f32>]; 2]) -> bool {
    let n = at(shape.last().copied().unwrap_or(1));
    let [sx, sy] = strides.map(|strides| strides.by_axis.last().copied().unwrap_or(0));
    macro_rules! with {
        ($f:expr) => {
            for_each_row(shape, &strides, |row, offsets| {
                let output = &output[row * n..(row + 1) * n];
                let (from_x, from_y) = (place(offsets[0], 1, 0), place(offsets[1], 1, 0));
                match (sx, sy) {
                    (1, 1) => {
                        for ((output, x), y) in output.iter().zip(&x[from_x..from_x + n]).zip(&y[from_y..from_y + n]) {
                            output.set($f(x.get(), y.get()));
                        }
                    }
                    (1, 0) => {
                        let y = y[from_y].get();
                        for (output, x) in output.iter().zip(&x[from_x..from_x + n]) {
                            output.set($f(x.get(), y));
                        }
                    }
                    _ => {
                        for (index, output) in output.iter().enumerate() {
                            output.set($f(x[place(offsets[0], sx, index)].get(), y[place(offsets[1], sy, index)].get()));
                        }
                    }
                }
            })
        };
    }
    match function {
        MapFunction::Add => with!(|x: f32, y: f32| x + y),
        MapFunction::Sub => with!(|x: f32, y: f32| x - y),
        MapFunction::Mul => with!(|x: f32, y: f32| x * y),
        MapFunction::Div => with!(|x: f32, y: f32| x / y),
        MapFunction::Max => with!(f32::max),
        MapFunction::Min => with!(f32::min),
        MapFunction::Pow => with!(f32::powf),
        MapFunction::ReluGradient => with!(|x: f32, y: f32| if y > 0.0 { x } else { 0.0 }),
        _ => return false,
    }
    true
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

fn gelu(x: f32) -> f32 {
    0.5 * x * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2))
}

/// The error function, to within 1.2e-7 of its complement (Chebyshev fit of Numerical Recipes, `erfcc`).
pub(super) fn erf(x: f32) -> f32 {
    const FIT: [f64; 10] = [
        0.170_872_77,
        -0.822_152_23,
        1.488_515_87,
        -1.135_203_98,
        0.278_868_07,
        -0.186_288_06,
        0.096_784_18,
        0.374_091_96,
        1.000_023_68,
        -1.265_512_23,
    ];
    let z = f64::from(x.abs());
    let t = 1.0 / (1.0 + 0.5 * z);
    let series = FIT.iter().fold(0.0, |sum, &term| sum * t + term);
    let complement = t * (series - z * z).exp();
    single((1.0 - complement).copysign(f64::from(x)))
}

/// √(2/π), of the approximation of gelu by tanh.
const SQRT_2_OVER_PI: f32 = 0.797_884_6;

/// A function of one float.
fn of_float(function: MapFunction, x: f32, a: f32, b: f32) -> f32 {
    match function {
        MapFunction::Abs => x.abs(),
        MapFunction::Ceil => x.ceil(),
        MapFunction::Clip => x.max(a).min(b),
        MapFunction::Cos => x.cos(),
        MapFunction::Elu => {
            if x < 0.0 {
                a * x.exp_m1()
            } else {
                x
            }
        }
        MapFunction::Erf => erf(x),
        MapFunction::Exp => x.exp(),
        MapFunction::Floor => x.floor(),
        MapFunction::Gelu => gelu(x),
        MapFunction::GeluByTanh => 0.5 * x * (1.0 + (SQRT_2_OVER_PI * (x + 0.044_715 * x * x * x)).tanh()),
        MapFunction::HardSigmoid => (a * x + b).clamp(0.0, 1.0),
        MapFunction::HardSwish => x * (x / 6.0 + 0.5).clamp(0.0, 1.0),
        MapFunction::LeakyRelu => {
            if x < 0.0 {
                a * x
            } else {
                x
            }
        }
        MapFunction::Log => x.ln(),
        MapFunction::Neg => -x,
        MapFunction::Not => f32::from(x == 0.0),
        MapFunction::Reciprocal => 1.0 / x,
        MapFunction::Relu => x.max(0.0),
        MapFunction::Sigmoid => sigmoid(x),
        MapFunction::Sign => {
            if x == 0.0 {
                0.0
            } else {
                x.signum()
            }
        }
        MapFunction::Silu => x * sigmoid(x),
        MapFunction::Sin => x.sin(),
        MapFunction::Softplus => x.max(0.0) + (-x.abs()).exp().ln_1p(),
        MapFunction::Sqrt => x.sqrt(),
        MapFunction::Tanh => x.tanh(),
        _ => x,
    }
}

fn of_scalars((function, [a, b]): (MapFunction, [f64; 2]), operands: &[Scalar]) -> Scalar {
    match *operands {
        [Scalar::Float(x)] => Scalar::Float(of_float(function, x, single(a), single(b))),
        [Scalar::Int(x)] => Scalar::Int(of_int(function, x, a, b)),
        [Scalar::Float(x), Scalar::Float(y)] => Scalar::Int(i64::from(match function {
            MapFunction::Equal => x == y,
            MapFunction::Greater => x > y,
            MapFunction::GreaterOrEqual => x >= y,
            MapFunction::Less => x < y,
            MapFunction::LessOrEqual => x <= y,
            MapFunction::And => x != 0.0 && y != 0.0,
            _ => x != 0.0 || y != 0.0,
        })),
        [x, y] => Scalar::Int(of_ints(function, x.int(), y.int())),
        [condition, yes, no] => {
            if condition.is_true() {
                yes
            } else {
                no
            }
        }
        _ => Scalar::Int(0),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "bounds of whole numbers are whole")]
fn of_int(function: MapFunction, x: i64, a: f64, b: f64) -> i64 {
    match function {
        MapFunction::Abs => x.wrapping_abs(),
        MapFunction::Clip => x.clamp(a as i64, (b as i64).max(a as i64)),
        MapFunction::Neg => x.wrapping_neg(),
        MapFunction::Not => i64::from(x == 0),
        MapFunction::Relu => x.max(0),
        MapFunction::Sign => x.signum(),
        _ => x,
    }
}

fn of_ints(function: MapFunction, x: i64, y: i64) -> i64 {
    match function {
        MapFunction::Add => x.wrapping_add(y),
        MapFunction::Sub => x.wrapping_sub(y),
        MapFunction::Mul => x.wrapping_mul(y),
        // A zero can only come from clobbered memory, and must not end the run.
        MapFunction::Div => x.checked_div(y).unwrap_or(0),
        MapFunction::Max => x.max(y),
        MapFunction::Min => x.min(y),
        MapFunction::Pow => (0..y.clamp(0, 64)).fold(1_i64, |power, _| power.wrapping_mul(x)),
        MapFunction::And => i64::from(x != 0 && y != 0),
        MapFunction::Or => i64::from(x != 0 || y != 0),
        MapFunction::Equal => i64::from(x == y),
        MapFunction::Greater => i64::from(x > y),
        MapFunction::GreaterOrEqual => i64::from(x >= y),
        MapFunction::Less => i64::from(x < y),
        MapFunction::LessOrEqual => i64::from(x <= y),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_function_has_the_values_of_the_tables() {
        for (x, expected) in [(0.0, 0.0), (0.5, 0.5205), (-1.0, -0.842_701), (2.0, 0.995_322), (5.0, 1.0)] {
            assert!((erf(x) - expected).abs() < 1e-6, "erf({x}) is {}", erf(x));
        }
    }
}
