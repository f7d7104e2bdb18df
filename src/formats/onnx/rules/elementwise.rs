//! Element-wise operators: the output has the inputs' broadcast shape.

use arenascope_planner::graph::Dtype;

use super::Rule;
use super::evaluate::{binary, cast, select, unary};
use crate::onnx::call::{Call, Facts, broadcast};
use crate::onnx::value::{Fact, Gap, dtype_of};

pub(super) fn find(kind: &str) -> Option<Rule> {
    Some(match kind {
        "Abs" | "Acos" | "Acosh" | "Asin" | "Asinh" | "Atan" | "Atanh" | "BitwiseNot" | "Ceil" | "Celu" | "Clip" | "Cos" | "Cosh" | "Elu" | "Erf"
        | "Exp" | "Floor" | "Gelu" | "HardSigmoid" | "HardSwish" | "Hardmax" | "Identity" | "LeakyRelu" | "Log" | "LogSoftmax" | "Mish" | "Neg"
        | "Not" | "Reciprocal" | "Relu" | "Round" | "ScaledTanh" | "Selu" | "Shrink" | "Sigmoid" | "Sign" | "Sin" | "Sinh" | "Softmax"
        | "Softplus" | "Softsign" | "Sqrt" | "Swish" | "Tan" | "Tanh" | "ThresholdedRelu" | "Affine" | "ImageScaler" | "ParametricSoftplus" => same,
        "IsInf" | "IsNaN" => test,
        "Add" | "And" | "BitShift" | "BitwiseAnd" | "BitwiseOr" | "BitwiseXor" | "Div" | "Mod" | "Mul" | "Or" | "PRelu" | "Pow" | "Sub" | "Xor" => {
            pair
        }
        "Equal" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual" => comparison,
        "Max" | "Mean" | "Min" | "Sum" => variadic,
        "Where" => choice,
        "Cast" => converted,
        "CastLike" => converted_like,
        _ => return None,
    })
}

/// The first input's shape and type.
pub(super) fn same(call: &Call<'_>) -> Facts {
    if call.node.kind == "Identity" && call.fact(0)?.items.is_some() {
        return Ok(vec![call.fact(0)?.clone()]);
    }
    let data = match call.node.kind.as_str() {
        "Clip" => clipped(call),
        kind => call.data(0).and_then(|data| unary(kind, data)),
    };
    Ok(vec![call.like(0)?.with(data)])
}

fn clipped(call: &Call<'_>) -> Option<crate::onnx::value::Data> {
    let (low, high) = (call.data(1), call.data(2));
    if call.has(1) && low.is_none() || call.has(2) && high.is_none() || call.opset < 11 {
        return None;
    }
    let shape = call.shape(0).ok()?;
    let mut data = call.data(0)?.clone();
    for (kind, bound) in [("Max", low), ("Min", high)] {
        if let Some(bound) = bound {
            data = binary(kind, (&data, shape), (bound, &[]), shape, call.dtype(0).ok()?)?;
        }
    }
    Some(data)
}

fn test(call: &Call<'_>) -> Facts {
    Ok(vec![Fact::known(Dtype::Bool, call.shape(0)?.to_vec())?])
}

/// Two inputs; before operator set 7 the second is stretched to the first.
fn pair_shape(call: &Call<'_>) -> Result<Vec<u64>, Gap> {
    let (first, second) = (call.shape(0)?, call.shape(1)?);
    if call.opset < 7 && call.int_or("broadcast", 0) != 0 { Ok(first.to_vec()) } else { broadcast(first, second) }
}

fn pair(call: &Call<'_>) -> Facts {
    let shape = pair_shape(call)?;
    let data = pair_data(call, &shape, call.dtype(0)?);
    Ok(vec![Fact::known(call.dtype(0)?, shape)?.with(data)])
}

fn pair_data(call: &Call<'_>, shape: &[u64], dtype: Dtype) -> Option<crate::onnx::value::Data> {
    if call.opset < 7 {
        return None;
    }
    let kind = match call.node.kind.as_str() {
        "Mod" if call.int_or("fmod", 0) != 0 => "Fmod",
        "BitShift" => return None,
        kind => kind,
    };
    binary(kind, (call.data(0)?, call.shape(0).ok()?), (call.data(1)?, call.shape(1).ok()?), shape, dtype)
}

fn comparison(call: &Call<'_>) -> Facts {
    let shape = pair_shape(call)?;
    let data = pair_data(call, &shape, Dtype::Bool);
    Ok(vec![Fact::known(Dtype::Bool, shape)?.with(data)])
}

fn variadic(call: &Call<'_>) -> Facts {
    let mut shape = call.shape(0)?.to_vec();
    for index in 1..call.inputs.len() {
        shape = broadcast(&shape, call.shape(index)?)?;
    }
    let dtype = call.dtype(0)?;
    let data = variadic_data(call, dtype);
    Ok(vec![Fact::known(dtype, shape)?.with(data)])
}

fn variadic_data(call: &Call<'_>, dtype: Dtype) -> Option<crate::onnx::value::Data> {
    let kind = match call.node.kind.as_str() {
        "Sum" => "Add",
        "Mean" => return None,
        kind => kind,
    };
    let mut data = call.data(0)?.clone();
    let mut shape = call.shape(0).ok()?.to_vec();
    for index in 1..call.inputs.len() {
        let next = broadcast(&shape, call.shape(index).ok()?).ok()?;
        data = binary(kind, (&data, &shape), (call.data(index)?, call.shape(index).ok()?), &next, dtype)?;
        shape = next;
    }
    Some(data)
}

fn choice(call: &Call<'_>) -> Facts {
    let shape = broadcast(&broadcast(call.shape(0)?, call.shape(1)?)?, call.shape(2)?)?;
    let data = choice_data(call, &shape);
    Ok(vec![Fact::known(call.dtype(1)?, shape)?.with(data)])
}

fn choice_data(call: &Call<'_>, shape: &[u64]) -> Option<crate::onnx::value::Data> {
    let part = |index: usize| Some((call.data(index)?, call.shape(index).ok()?));
    select(part(0)?, part(1)?, part(2)?, shape)
}

fn converted(call: &Call<'_>) -> Facts {
    let to = call.int("to").ok_or_else(|| Gap::from("its attribute `to` is missing or is a text"))?;
    to_dtype(call, dtype_of(to))
}

fn converted_like(call: &Call<'_>) -> Facts {
    to_dtype(call, call.dtype(1)?)
}

fn to_dtype(call: &Call<'_>, dtype: Dtype) -> Facts {
    let data = call.data(0).and_then(|data| cast(data, dtype));
    Ok(vec![Fact::known(dtype, call.shape(0)?.to_vec())?.with(data)])
}
