//! Operators of `com.microsoft`: what ONNX Runtime's optimiser and quantiser put into models.

use arenascope_planner::graph::Dtype;

use super::Rule;
use super::elementwise::same;
use super::linear::{gemm, product_shape};
use super::quantise::{dequantize, quantize};
use super::window::{conv, pool};
use crate::onnx::call::{Call, Facts, broadcast, dim};
use crate::onnx::value::{Fact, Gap, product};

pub(super) fn find(kind: &str) -> Option<Rule> {
    Some(match kind {
        "Gelu" | "FastGelu" | "QuickGelu" | "BiasGelu" | "BiasSoftmax" | "RotaryEmbedding" | "GroupNorm" => same,
        "FusedConv" => conv,
        "FusedGemm" => gemm,
        "FusedMatMul" | "TransposeMatMul" => fused_matmul,
        "QuantizeLinear" => quantize,
        "DequantizeLinear" => dequantize,
        "QLinearAdd" | "QLinearMul" => quantised_pair,
        "QLinearSigmoid" | "QLinearLeakyRelu" | "QLinearSoftmax" => same,
        "QLinearGlobalAveragePool" => quantised_global_pool,
        "QLinearAveragePool" => quantised_pool,
        "QLinearConcat" => quantised_concat,
        "QGemm" => quantised_gemm,
        "MatMulNBits" => matmul_bits,
        "DynamicQuantizeMatMul" => dynamic_matmul,
        "MatMulIntegerToFloat" => integer_to_float,
        "SkipLayerNormalization" | "SkipSimplifiedLayerNormalization" => skip_layer,
        "EmbedLayerNormalization" => embed_layer,
        "Attention" => attention,
        "MultiHeadAttention" => multi_head,
        "GroupQueryAttention" => group_query,
        _ => return None,
    })
}

fn swapped(shape: &[u64], is_swapped: bool) -> Vec<u64> {
    let mut shape = shape.to_vec();
    if let (true, [.., one, two]) = (is_swapped, shape.as_mut_slice()) {
        std::mem::swap(one, two);
    }
    shape
}

fn fused_matmul(call: &Call<'_>) -> Facts {
    if call.int_or("transBatchA", 0) != 0 || call.int_or("transBatchB", 0) != 0 {
        return Err(Gap::from("transposed batches are not followed"));
    }
    let (first, second) = (swapped(call.shape(0)?, call.int_or("transA", 0) != 0), swapped(call.shape(1)?, call.int_or("transB", 0) != 0));
    Ok(vec![Fact::known(call.dtype(0)?, product_shape(&first, &second)?)?])
}

fn quantised_pair(call: &Call<'_>) -> Facts {
    Ok(vec![Fact::known(call.dtype(0)?, broadcast(call.shape(0)?, call.shape(3)?)?)?])
}

fn quantised_global_pool(call: &Call<'_>) -> Facts {
    let input = call.shape(0)?;
    let is_last = call.int_or("channels_last", 0) != 0;
    let kept = |axis: usize| axis == 0 || if is_last { axis + 1 == input.len() } else { axis == 1 };
    let shape = input.iter().enumerate().map(|(axis, &size)| if kept(axis) { size } else { 1 }).collect();
    Ok(vec![Fact::known(call.dtype(0)?, shape)?])
}

fn quantised_pool(call: &Call<'_>) -> Facts {
    if call.int_or("channels_last", 0) != 0 {
        return Err(Gap::from("pooling with the channels last is not followed"));
    }
    pool(call)
}

/// After the result's scale and zero point come the inputs, each with its own.
fn quantised_concat(call: &Call<'_>) -> Facts {
    let first = call.shape(2)?;
    let axis = call.axis("axis", 0, first.len())?;
    let mut shape = first.to_vec();
    for index in (5..call.inputs.len()).step_by(3) {
        let other = call.shape(index)?;
        let fits = other.len() == first.len() && other.iter().zip(first).enumerate().all(|(at, (one, two))| at == axis || one == two);
        let sum = other.get(axis).and_then(|size| shape[axis].checked_add(*size)).filter(|_| fits);
        shape[axis] = sum.ok_or_else(|| Gap::from(format!("its inputs {first:?} and {other:?} do not fit together")))?;
    }
    Ok(vec![Fact::known(call.dtype(2)?, shape)?])
}

fn quantised_gemm(call: &Call<'_>) -> Facts {
    let (&[rows, depth], &[height, width]) = (call.shape(0)?, call.shape(3)?) else { return Err(Gap::from("its inputs are no matrices")) };
    let rows = if call.int_or("transA", 0) != 0 { depth } else { rows };
    let columns = if call.int_or("transB", 0) != 0 { height } else { width };
    let dtype = if call.has(8) { call.dtype(8)? } else { Dtype::F32 };
    Ok(vec![Fact::known(dtype, vec![rows, columns])?])
}

fn matmul_bits(call: &Call<'_>) -> Facts {
    let mut shape = call.shape(0)?.to_vec();
    let columns = call.int("N").ok_or_else(|| Gap::from("it has no `N`"))?;
    *shape.last_mut().ok_or_else(|| Gap::from("its input is a scalar"))? = dim(columns)?;
    Ok(vec![Fact::known(call.dtype(0)?, shape)?])
}

fn dynamic_matmul(call: &Call<'_>) -> Facts {
    Ok(vec![Fact::known(call.dtype(0)?, product_shape(call.shape(0)?, call.shape(1)?)?)?])
}

fn integer_to_float(call: &Call<'_>) -> Facts {
    Ok(vec![Fact::known(call.dtype(2)?, product_shape(call.shape(0)?, call.shape(1)?)?)?])
}

fn skip_layer(call: &Call<'_>) -> Facts {
    let input = call.shape(0)?;
    let folded: Vec<u64> = input.iter().enumerate().map(|(axis, &size)| if axis + 1 < input.len() { size } else { 1 }).collect();
    let statistic = Fact::known(Dtype::F32, folded)?;
    Ok(vec![call.like(0)?, statistic.clone(), statistic, call.like(0)?])
}

fn embed_layer(call: &Call<'_>) -> Facts {
    let (ids, words) = (call.shape(0)?, call.shape(2)?);
    let (&[batch, length], &[_, width]) = (ids, words) else { return Err(Gap::from("its ids or its embedding are no matrix")) };
    let whole = Fact::known(call.dtype(2)?, vec![batch, length, width])?;
    Ok(vec![whole.clone(), Fact::known(Dtype::I32, vec![batch])?, whole])
}

/// Attention over one input that is multiplied with the stacked weights of query, key and value.
fn attention(call: &Call<'_>) -> Facts {
    let (&[batch, length, _], &[.., columns]) = (call.shape(0)?, call.shape(1)?) else { return Err(Gap::from("its input has not three dimensions")) };
    let sizes = call.ints("qkv_hidden_sizes").filter(|sizes| sizes.len() == 3);
    let width = sizes.map_or(Ok(columns / 3), |sizes| dim(sizes[2]))?;
    let dtype = call.dtype(0)?;
    let mut outputs = vec![Fact::known(dtype, vec![batch, length, width])?];
    if call.n_outputs() > 1 {
        if sizes.is_some() || call.int_or("past_present_share_buffer", 0) != 0 {
            return Err(Gap::from("the shape of its cache is not followed with these attributes"));
        }
        let heads = dim(call.int_or("num_heads", 0))?;
        let size = width.checked_div(heads).ok_or_else(|| Gap::from("it has no heads"))?;
        let past = if call.has(4) { call.shape(4)?.get(3).copied().unwrap_or(0) } else { 0 };
        let total = past.checked_add(length).ok_or_else(|| Gap::from("a dimension does not fit into 64 bits"))?;
        outputs.push(Fact::known(dtype, vec![2, batch, heads, total, size])?);
    }
    Ok(outputs)
}

/// Query, key and value apart; packed inputs have other ranks and are not followed.
fn multi_head(call: &Call<'_>) -> Facts {
    let &[batch, length, width] = call.shape(0)? else { return Err(Gap::from("packed query, key and value are not followed")) };
    let heads = dim(call.int_or("num_heads", 0))?;
    let dtype = call.dtype(0)?;
    let (value_width, keys) = match (call.has(2), call.has(1)) {
        (true, true) => match (call.shape(2)?, call.shape(1)?) {
            (&[_, _, value_width], &[_, keys, _]) => (value_width, keys),
            (&[_, value_heads, _, size], &[_, _, keys, _]) => (product([value_heads, size])?, keys),
            _ => return Err(Gap::from("its value has neither three nor four dimensions")),
        },
        _ => return Err(Gap::from("packed key and value are not followed")),
    };
    let mut outputs = vec![Fact::known(dtype, vec![batch, length, value_width])?];
    if call.n_outputs() > 1 {
        let (size, value_size) = (width.checked_div(heads), value_width.checked_div(heads));
        let (size, value_size) = size.zip(value_size).ok_or_else(|| Gap::from("it has no heads"))?;
        let past = if call.has(6) { call.shape(6)?.get(2).copied().unwrap_or(0) } else { 0 };
        let total = past.checked_add(keys).ok_or_else(|| Gap::from("a dimension does not fit into 64 bits"))?;
        outputs.push(Fact::known(dtype, vec![batch, heads, total, size])?);
        outputs.push(Fact::known(dtype, vec![batch, heads, total, value_size])?);
    }
    Ok(outputs)
}

fn group_query(call: &Call<'_>) -> Facts {
    let &[batch, length, width] = call.shape(0)? else { return Err(Gap::from("its query has not three dimensions")) };
    let (heads, groups) = (dim(call.int_or("num_heads", 0))?, dim(call.int_or("kv_num_heads", 0))?);
    let is_packed = !call.has(1);
    let n_parts = if is_packed { groups.checked_mul(2).and_then(|both| both.checked_add(heads)) } else { Some(heads) };
    let size = n_parts.and_then(|parts| width.checked_div(parts)).ok_or_else(|| Gap::from("it has no heads"))?;
    let dtype = call.dtype(0)?;
    let mut outputs = vec![Fact::known(dtype, vec![batch, length, product([heads, size])?])?];
    if call.n_outputs() > 1 {
        // With a cache of fixed length the present one has its length; otherwise it grows by what is new.
        let past = if call.has(3) { call.shape(3)?.get(2).copied() } else { None };
        let total = call.fact(6).ok().and_then(Fact::ints).and_then(|values| values.first().copied()).map(dim).transpose()?;
        let present = match (past, total) {
            (Some(past), Some(total)) => past.max(total),
            (None, Some(total)) => total.max(length),
            (_, None) => return Err(Gap::from("the length of its cache depends on the total sequence length, which only a run can tell")),
        };
        let cache = Fact::known(dtype, vec![batch, groups, present, size])?;
        outputs.extend([cache.clone(), cache]);
    }
    Ok(outputs)
}
