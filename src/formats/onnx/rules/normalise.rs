//! Normalisations, dropout, attention: the first output has the input's shape, others are statistics.

use arenascope_planner::graph::Dtype;

use super::Rule;
use crate::onnx::call::{Call, Facts, dim};
use crate::onnx::value::{Fact, Gap, dtype_of};

pub(super) fn find(kind: &str) -> Option<Rule> {
    Some(match kind {
        "GroupNormalization"
        | "InstanceNormalization"
        | "LRN"
        | "LpNormalization"
        | "MeanVarianceNormalization"
        | "RMSNormalization"
        | "RotaryEmbedding" => same,
        "BatchNormalization" => batch,
        "LayerNormalization" | "SimplifiedLayerNormalization" => layer,
        "Dropout" => dropout,
        "Attention" => attention,
        _ => return None,
    })
}

fn same(call: &Call<'_>) -> Facts {
    Ok(vec![call.like(0)?])
}

fn batch(call: &Call<'_>) -> Facts {
    let mut outputs = vec![call.like(0)?];
    for index in 1..call.n_outputs() {
        let statistic = if index % 2 == 1 { 3 } else { 4 };
        outputs.push(call.like(statistic)?);
    }
    Ok(outputs)
}

fn layer(call: &Call<'_>) -> Facts {
    let input = call.shape(0)?;
    let axis = call.axis("axis", -1, input.len())?;
    let folded: Vec<u64> = input.iter().enumerate().map(|(at, &size)| if at < axis { size } else { 1 }).collect();
    let statistic = dtype_of(call.int_or("stash_type", 1));
    let mut outputs = vec![call.like(0)?];
    for _ in 1..call.n_outputs() {
        outputs.push(Fact::known(statistic, folded.clone())?);
    }
    Ok(outputs)
}

fn dropout(call: &Call<'_>) -> Facts {
    let mut outputs = vec![call.like(0)?.with(call.data(0).cloned())];
    if call.n_outputs() > 1 {
        let mask = if call.opset < 10 { call.dtype(0)? } else { Dtype::Bool };
        outputs.push(Fact::known(mask, call.shape(0)?.to_vec())?);
    }
    Ok(outputs)
}

/// Attention of operator set 23: query, key and value in three or four dimensions, and a cache.
fn attention(call: &Call<'_>) -> Facts {
    let (query, key, value) = (call.shape(0)?, call.shape(1)?, call.shape(2)?);
    let heads = |index: usize, shape: &[u64], attribute: &str| match shape {
        [batch, heads, length, size] => Ok([*batch, *heads, *length, *size]),
        [batch, length, width] => {
            let heads =
                call.int(attribute).map(dim).transpose()?.filter(|&heads| heads > 0).ok_or_else(|| Gap::from(format!("it has no `{attribute}`")))?;
            Ok([*batch, heads, *length, width / heads])
        }
        other => Err(Gap::from(format!("its input {index} {other:?} has neither three nor four dimensions"))),
    };
    let [batch, n_heads, length, _] = heads(0, query, "q_num_heads")?;
    let [_, key_heads, key_length, key_size] = heads(1, key, "kv_num_heads")?;
    let [_, _, value_length, value_size] = heads(2, value, "kv_num_heads")?;
    let past = |index: usize| if call.has(index) { Ok(call.shape(index)?.get(2).copied().unwrap_or(0)) } else { Ok::<u64, Gap>(0) };
    let too_long = || Gap::from("a dimension does not fit into 64 bits");
    let keys = key_length.checked_add(past(4)?).ok_or_else(too_long)?;
    let values = value_length.checked_add(past(5)?).ok_or_else(too_long)?;
    let width = n_heads.checked_mul(value_size).ok_or_else(too_long)?;
    let shape = if query.len() == 4 { vec![batch, n_heads, length, value_size] } else { vec![batch, length, width] };
    let dtype = call.dtype(0)?;
    Ok(vec![
        Fact::known(dtype, shape)?,
        Fact::known(call.dtype(1)?, vec![batch, key_heads, keys, key_size])?,
        Fact::known(call.dtype(2)?, vec![batch, key_heads, values, value_size])?,
        Fact::known(dtype, vec![batch, n_heads, length, keys])?,
    ])
}
