//! Facts of what the file itself holds: initialisers and constants.

use arenascope_planner::graph::Dtype;

use super::call::{Call, Facts};
use super::model::TensorDef;
use super::value::{Data, Fact, Gap, dtype_of};

/// The fact of an initialiser.
pub(super) fn tensor_fact(tensor: &TensorDef) -> Fact {
    let dims: Option<Vec<u64>> = tensor.dims.iter().map(|&dim| u64::try_from(dim).ok()).collect();
    let known = match dims {
        Some(dims) => Fact::known(dtype_of(tensor.data_type), dims),
        None => Err(Gap::from(format!("the file gives it the dimensions {:?}", tensor.dims))),
    };
    match known {
        Ok(fact) => fact.with(tensor.data.clone()),
        Err(gap) => Fact::unknown(gap),
    }
}

/// `Constant`: one of several attributes holds the value.
pub(super) fn constant(call: &Call<'_>) -> Facts {
    let list = |dtype: Dtype, data: Data, shape: Vec<u64>| Ok(vec![Fact::known(dtype, shape)?.with(Some(data))]);
    if let Some(tensor) = call.tensor("value") {
        return Ok(vec![tensor_fact(tensor)]);
    }
    if let Some(value) = call.int("value_int") {
        return list(Dtype::I64, Data::Ints(vec![value]), Vec::new());
    }
    if let Some(value) = call.float("value_float") {
        return list(Dtype::F32, Data::Floats(vec![value]), Vec::new());
    }
    if let Some(values) = call.ints("value_ints") {
        return list(Dtype::I64, Data::Ints(values.to_vec()), vec![values.len() as u64]);
    }
    if let Some(values) = call.floats("value_floats") {
        return list(Dtype::F32, Data::Floats(values.to_vec()), vec![values.len() as u64]);
    }
    if call.text("value_string").is_some() {
        return Ok(vec![Fact::known(Dtype::String, Vec::new())?]);
    }
    if let Some(count) = call.n_texts("value_strings") {
        return Ok(vec![Fact::known(Dtype::String, vec![count as u64])?]);
    }
    Err(Gap::from("the constant has no dense value"))
}
