//! Quantisation: the same shape in another type.

use arenascope_planner::graph::Dtype;

use super::Rule;
use super::linear::product_shape;
use crate::onnx::call::{Call, Facts};
use crate::onnx::value::{Fact, dtype_of};

pub(super) fn find(kind: &str) -> Option<Rule> {
    Some(match kind {
        "QuantizeLinear" => quantize,
        "DequantizeLinear" => dequantize,
        "DynamicQuantizeLinear" => dynamic,
        "QLinearMatMul" => matmul,
        _ => return None,
    })
}

pub(super) fn quantize(call: &Call<'_>) -> Facts {
    let dtype = match call.int("output_dtype") {
        Some(number) if number != 0 => dtype_of(number),
        _ if call.has(2) => call.dtype(2)?,
        _ => Dtype::U8,
    };
    Ok(vec![Fact::known(dtype, call.shape(0)?.to_vec())?])
}

pub(super) fn dequantize(call: &Call<'_>) -> Facts {
    let dtype = match call.int("output_dtype") {
        Some(number) if number != 0 => dtype_of(number),
        _ => call.dtype(1)?,
    };
    Ok(vec![Fact::known(dtype, call.shape(0)?.to_vec())?])
}

fn dynamic(call: &Call<'_>) -> Facts {
    Ok(vec![Fact::known(Dtype::U8, call.shape(0)?.to_vec())?, Fact::known(Dtype::F32, Vec::new())?, Fact::known(Dtype::U8, Vec::new())?])
}

fn matmul(call: &Call<'_>) -> Facts {
    Ok(vec![Fact::known(call.dtype(7)?, product_shape(call.shape(0)?, call.shape(3)?)?)?])
}
