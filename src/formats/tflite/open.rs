//! Numbers for the axes that a model leaves open, and what follows from them.
//!
//! Every tensor has a stored shape, and its signature says which axes of it are open. While the inputs keep their
//! stored numbers, so do all others. With another number an op's open axes are worked out by a rule, or its size is not
//! known, with the reason.

use arenascope_planner::graph::Tensor;

use super::ops;
use super::schema::{Operator, SubGraph, TensorDef};
use crate::dims::{Chosen, DEFAULT_BATCH, DEFAULT_OTHER};
use crate::open_shapes::{Input, Rule, complete};

/// Ops that keep axis 0 of what they compute on.
const KEEP_BATCH: &[&str] = &[
    "ARG_MAX",
    "ARG_MIN",
    "AVERAGE_POOL_2D",
    "BATCH_MATMUL",
    "CONCATENATION",
    "CONV_2D",
    "CONV_3D",
    "DEPTHWISE_CONV_2D",
    "DEPTH_TO_SPACE",
    "L2_POOL_2D",
    "MAX_POOL_2D",
    "MEAN",
    "MIRROR_PAD",
    "PAD",
    "PADV2",
    "REDUCE_MAX",
    "REDUCE_MIN",
    "REDUCE_PROD",
    "RESIZE_BILINEAR",
    "RESIZE_NEAREST_NEIGHBOR",
    "SLICE",
    "SPACE_TO_DEPTH",
    "SPLIT",
    "SPLIT_V",
    "STRIDED_SLICE",
    "SUM",
    "SVDF",
    "TOPK_V2",
    "TRANSPOSE_CONV",
    "UNIDIRECTIONAL_SEQUENCE_LSTM",
    "UNIDIRECTIONAL_SEQUENCE_RNN",
];

/// Ops beside the in-place ones whose output has the shape of their input.
const SAME_SHAPE: &[&str] = &["CAST", "CUMSUM", "DEQUANTIZE", "L2_NORMALIZATION", "LOCAL_RESPONSE_NORMALIZATION", "QUANTIZE", "ZEROS_LIKE"];

/// Binds the open axes of a graph's inputs and gives all tensors the shapes that follow; `true` if any changed.
pub(super) fn bind(def: &SubGraph, tensors: &mut [Tensor], chosen: &mut Chosen<'_>) -> bool {
    let mut is_changed = vec![false; tensors.len()];
    let mut is_bound = vec![false; tensors.len()];
    for index in def.inputs.iter().filter_map(|&input| usize::try_from(input).ok()) {
        let Some(tensor) = tensors.get_mut(index) else { continue };
        if std::mem::replace(&mut is_bound[index], true) {
            continue;
        }
        for &axis in &def.tensors[index].open_axes {
            let Some(stored) = def.tensors[index].shape.get(axis).copied() else { continue };
            let default = u64::try_from(stored).unwrap_or(if axis == 0 { DEFAULT_BATCH } else { DEFAULT_OTHER });
            let value = chosen.axis(&tensor.name, axis, default);
            is_changed[index] |= i64::try_from(value) != Ok(i64::from(stored));
            let mut shape = tensor.shape.take().unwrap_or_else(|| vec![0; def.tensors[index].shape.len()]);
            shape[axis] = value;
            set(tensor, Ok(shape));
        }
    }
    if !is_changed.contains(&true) {
        return false;
    }
    for operator in &def.operators {
        follow(def, operator, tensors, &mut is_changed);
    }
    true
}

fn set(tensor: &mut Tensor, shape: Result<Vec<u64>, String>) {
    let shape = shape.and_then(|shape| match tensor.dtype.bytes_of(&shape) {
        Some(bytes) => Ok((shape, bytes)),
        None if tensor.unknown_because.is_empty() => Err("its size is more than 64 bits can count".to_owned()),
        None => Err(tensor.unknown_because.clone()),
    });
    match shape {
        Ok((shape, bytes)) => (tensor.shape, tensor.bytes, tensor.unknown_because) = (Some(shape), Some(bytes), String::new()),
        Err(because) => (tensor.shape, tensor.bytes, tensor.unknown_because) = (None, None, because),
    }
}

/// The open axes of a tensor as the file declares them.
fn declared(def: &TensorDef) -> Vec<Option<u64>> {
    def.shape.iter().enumerate().map(|(axis, &dim)| u64::try_from(dim).ok().filter(|_| !def.open_axes.contains(&axis))).collect()
}

/// Gives the outputs of an op the shapes that follow from its inputs, if one of those changed.
fn follow(def: &SubGraph, operator: &Operator, tensors: &mut [Tensor], is_changed: &mut [bool]) {
    let indices = |numbers: &[i32]| -> Vec<usize> {
        numbers.iter().filter_map(|&number| usize::try_from(number).ok().filter(|&index| index < def.tensors.len())).collect()
    };
    let inputs = indices(&operator.inputs);
    if !inputs.iter().any(|&input| is_changed[input]) {
        return;
    }
    for output in indices(&operator.outputs) {
        let pattern = declared(&def.tensors[output]);
        if !pattern.contains(&None) {
            continue;
        }
        let shape = match inputs.iter().find(|&&input| is_changed[input] && tensors[input].shape.is_none()) {
            Some(&unknown) => Err(format!("it follows from `{}`, whose shape is not known", tensors[unknown].name)),
            None => output_shape(def, operator, &inputs, output, tensors),
        };
        is_changed[output] = true;
        set(&mut tensors[output], shape);
    }
}

fn output_shape(def: &SubGraph, operator: &Operator, inputs: &[usize], output: usize, tensors: &[Tensor]) -> Result<Vec<u64>, String> {
    let patterns: Vec<Vec<Option<u64>>> = inputs.iter().map(|&input| declared(&def.tensors[input])).collect();
    let known = |(&input, pattern): (&usize, _)| tensors[input].shape.as_deref().map(|dims| (dims, pattern));
    let given: Vec<Input<'_>> = inputs.iter().zip(&patterns).filter_map(known).map(|(dims, declared)| Input { dims, declared }).collect();
    let stored_batch = |index: usize| def.tensors[index].shape.first().copied();
    let kind = operator.kind.as_str();
    let rule = match kind {
        "FULLY_CONNECTED" => row_count(&given).map(Rule::Count),
        "TRANSPOSE" => Some(Rule::Permute),
        _ if ops::is_view(kind) => Some(Rule::Elements),
        _ if SAME_SHAPE.contains(&kind) => Some(Rule::SameAxes),
        _ if ops::is_in_place(kind) => Some(Rule::Broadcast),
        _ if KEEP_BATCH.contains(&kind) => {
            let open = inputs.iter().zip(&patterns).find(|(_, pattern)| pattern.first() == Some(&None));
            open.filter(|(input, _)| stored_batch(**input) == stored_batch(output)).map(|_| Rule::Batch)
        }
        _ => None,
    };
    rule.and_then(|rule| complete(&rule, &declared(&def.tensors[output]), &given))
        .ok_or_else(|| format!("how its shape follows from the open dimensions is not known for {kind}"))
}

/// The elements of a product of rows by a matrix of weights.
fn row_count(given: &[Input<'_>]) -> Option<u64> {
    let [rows, weights, ..] = given else { return None };
    let [n_out, n_in] = weights.dims else { return None };
    let elements = rows.dims.iter().try_fold(1_u64, |product, &dim| product.checked_mul(dim))?;
    (*n_in > 0 && elements.is_multiple_of(*n_in)).then(|| (elements / n_in).checked_mul(*n_out)).flatten()
}
