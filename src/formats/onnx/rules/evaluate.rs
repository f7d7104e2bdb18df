//! Arithmetic on the elements of small tensors: what models compute their own shapes with.

use arenascope_planner::graph::Dtype;

use crate::onnx::call::broadcast_indices;
use crate::onnx::value::{Data, to_float, to_int};

/// An element-wise operator of one input; `None` if its result is not followed.
pub(super) fn unary(kind: &str, data: &Data) -> Option<Data> {
    Some(match data {
        Data::Ints(values) => {
            let apply = int_unary(kind)?;
            Data::Ints(values.iter().map(|&value| apply(value)).collect::<Option<_>>()?)
        }
        Data::Floats(values) => {
            let apply = float_unary(kind)?;
            Data::Floats(values.iter().map(|&value| apply(value)).collect())
        }
    })
}

fn int_unary(kind: &str) -> Option<fn(i64) -> Option<i64>> {
    Some(match kind {
        "Identity" => Some,
        "Abs" => i64::checked_abs,
        "Neg" => i64::checked_neg,
        "Not" => |value| Some(i64::from(value == 0)),
        "Sign" => |value| Some(value.signum()),
        "Relu" => |value| Some(value.max(0)),
        _ => return None,
    })
}

fn float_unary(kind: &str) -> Option<fn(f64) -> f64> {
    Some(match kind {
        "Identity" => |value| value,
        "Abs" => f64::abs,
        "Neg" => |value: f64| -value,
        "Ceil" => f64::ceil,
        "Floor" => f64::floor,
        "Round" => f64::round_ties_even,
        "Sqrt" => f64::sqrt,
        "Reciprocal" => f64::recip,
        "Relu" => |value: f64| value.max(0.0),
        "Sign" => |value: f64| if value == 0.0 { 0.0 } else { value.signum() },
        _ => return None,
    })
}

/// An element-wise operator of two inputs, each with its shape, broadcast to `shape`.
pub(super) fn binary(kind: &str, first: (&Data, &[u64]), second: (&Data, &[u64]), shape: &[u64], dtype: Dtype) -> Option<Data> {
    let one = first.0.pick(broadcast_indices(first.1, shape)?.into_iter())?;
    let two = second.0.pick(broadcast_indices(second.1, shape)?.into_iter())?;
    match (one, two) {
        (Data::Ints(one), Data::Ints(two)) => {
            let apply = int_binary(kind)?;
            Data::Ints(one.into_iter().zip(two).map(|(a, b)| apply(a, b)).collect::<Option<_>>()?).held_as(dtype)
        }
        (Data::Floats(one), Data::Floats(two)) => {
            let pairs = one.into_iter().zip(two);
            if let Some(test) = float_test(kind) {
                return Some(Data::Ints(pairs.map(|(a, b)| i64::from(test(a, b))).collect()));
            }
            let apply = float_binary(kind)?;
            Data::Floats(pairs.map(|(a, b)| apply(a, b)).collect()).held_as(dtype)
        }
        (Data::Floats(one), Data::Ints(two)) if kind == "Pow" => {
            Data::Floats(one.into_iter().zip(two).map(|(a, b)| a.powf(to_float(b))).collect()).held_as(dtype)
        }
        _ => None,
    }
}

fn int_binary(kind: &str) -> Option<fn(i64, i64) -> Option<i64>> {
    Some(match kind {
        "Add" => i64::checked_add,
        "Sub" => i64::checked_sub,
        "Mul" => i64::checked_mul,
        "Div" => i64::checked_div,
        "Fmod" => i64::checked_rem,
        "Mod" => |a, b| {
            let rest = a.checked_rem(b)?;
            if rest != 0 && (rest < 0) != (b < 0) { rest.checked_add(b) } else { Some(rest) }
        },
        "Pow" => |a, b| a.checked_pow(u32::try_from(b).ok()?),
        "Max" => |a, b| Some(a.max(b)),
        "Min" => |a, b| Some(a.min(b)),
        "Equal" => |a, b| Some(i64::from(a == b)),
        "Greater" => |a, b| Some(i64::from(a > b)),
        "GreaterOrEqual" => |a, b| Some(i64::from(a >= b)),
        "Less" => |a, b| Some(i64::from(a < b)),
        "LessOrEqual" => |a, b| Some(i64::from(a <= b)),
        "And" => |a, b| Some(i64::from(a != 0 && b != 0)),
        "Or" => |a, b| Some(i64::from(a != 0 || b != 0)),
        "Xor" => |a, b| Some(i64::from((a != 0) != (b != 0))),
        _ => return None,
    })
}

fn float_binary(kind: &str) -> Option<fn(f64, f64) -> f64> {
    Some(match kind {
        "Add" => |a, b| a + b,
        "Sub" => |a, b| a - b,
        "Mul" => |a, b| a * b,
        "Div" => |a, b| a / b,
        "Fmod" => |a, b| a % b,
        "Pow" => f64::powf,
        "Max" => f64::max,
        "Min" => f64::min,
        _ => return None,
    })
}

fn float_test(kind: &str) -> Option<fn(f64, f64) -> bool> {
    Some(match kind {
        "Equal" =>
        {
            #[expect(clippy::float_cmp, reason = "the operator compares exactly")]
            |a, b| a == b
        }
        "Greater" => |a, b| a > b,
        "GreaterOrEqual" => |a, b| a >= b,
        "Less" => |a, b| a < b,
        "LessOrEqual" => |a, b| a <= b,
        _ => return None,
    })
}

/// `Where`: the second input's element where the first is true, else the third's.
pub(super) fn select(condition: (&Data, &[u64]), yes: (&Data, &[u64]), no: (&Data, &[u64]), shape: &[u64]) -> Option<Data> {
    let spread = |(data, from): (&Data, &[u64])| data.pick(broadcast_indices(from, shape)?.into_iter());
    let Data::Ints(condition) = spread(condition)? else { return None };
    match (spread(yes)?, spread(no)?) {
        (Data::Ints(yes), Data::Ints(no)) => Some(Data::Ints(chosen(&condition, yes, no))),
        (Data::Floats(yes), Data::Floats(no)) => Some(Data::Floats(chosen(&condition, yes, no))),
        _ => None,
    }
}

fn chosen<T>(condition: &[i64], yes: Vec<T>, no: Vec<T>) -> Vec<T> {
    condition.iter().zip(yes.into_iter().zip(no)).map(|(&is_true, (yes, no))| if is_true != 0 { yes } else { no }).collect()
}

/// Conversion to another type; `None` where the result depends on the machine.
pub(super) fn cast(data: &Data, dtype: Dtype) -> Option<Data> {
    let is_float = matches!(dtype, Dtype::F32 | Dtype::F64);
    let converted = match data {
        Data::Ints(values) if is_float => Data::Floats(values.iter().map(|&value| to_float(value)).collect()),
        Data::Ints(values) if dtype == Dtype::Bool => Data::Ints(values.iter().map(|&value| i64::from(value != 0)).collect()),
        Data::Floats(values) if dtype == Dtype::Bool => Data::Ints(values.iter().map(|&value| i64::from(value != 0.0)).collect()),
        Data::Floats(values) if !is_float => Data::Ints(values.iter().map(|&value| to_int(value)).collect::<Option<_>>()?),
        same => same.clone(),
    };
    converted.held_as(dtype)
}
