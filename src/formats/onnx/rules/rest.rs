//! Operators that belong to no larger family: losses, texts, gates, states, and those whose results only a run can size.

use arenascope_planner::graph::Dtype;

use super::Rule;
use crate::onnx::call::{Call, Facts, broadcast, dim};
use crate::onnx::value::{Fact, Gap, dtype_of};

pub(super) fn find(kind: &str) -> Option<Rule> {
    Some(match kind {
        "BitCast" => bit_cast,
        "SwiGLU" => gate,
        "CausalConvWithState" => causal_conv,
        "LinearAttention" => linear_attention,
        "NegativeLogLikelihoodLoss" | "SoftmaxCrossEntropyLoss" => loss,
        "RegexFullMatch" => text_test,
        "StringConcat" => text_pair,
        "TfIdfVectorizer" => counted_words,
        "ImageDecoder" | "NonMaxSuppression" | "StringNormalizer" | "StringSplit" | "Unique" => decided_by_values,
        _ => return None,
    })
}

fn bit_cast(call: &Call<'_>) -> Facts {
    let to = call.int("to").ok_or_else(|| Gap::from("it has no `to`"))?;
    Ok(vec![Fact::known(dtype_of(to), call.shape(0)?.to_vec())?])
}

fn gate(call: &Call<'_>) -> Facts {
    Ok(vec![call.like(0)?])
}

fn causal_conv(call: &Call<'_>) -> Facts {
    let (&[batch, channels, _], Some(&kernel)) = (call.shape(0)?, call.shape(1)?.last()) else {
        return Err(Gap::from("its input has not three dimensions, or its weight none"));
    };
    Ok(vec![call.like(0)?, Fact::known(call.dtype(0)?, vec![batch, channels, kernel.saturating_sub(1)])?])
}

fn linear_attention(call: &Call<'_>) -> Facts {
    let heads = |name: &str| {
        let count = call.int(name).map(dim).transpose()?.filter(|&count| count > 0);
        count.ok_or_else(|| Gap::from(format!("it has no `{name}`")))
    };
    let (queries, keys) = (heads("q_num_heads")?, heads("kv_num_heads")?);
    let (&[batch, length, _], &[_, _, key_width], &[_, _, value_width]) = (call.shape(0)?, call.shape(1)?, call.shape(2)?) else {
        return Err(Gap::from("its query, key or value has not three dimensions"));
    };
    let (key_size, value_size) = (key_width / keys, value_width / keys);
    let width = queries.checked_mul(value_size).ok_or_else(|| Gap::from("a dimension does not fit into 64 bits"))?;
    let state_type = if call.has(3) { call.dtype(3)? } else { call.dtype(0)? };
    Ok(vec![Fact::known(call.dtype(0)?, vec![batch, length, width])?, Fact::known(state_type, vec![batch, keys, key_size, value_size])?])
}

fn loss(call: &Call<'_>) -> Facts {
    let shape = if call.text("reduction") == Some("none") { call.shape(1)?.to_vec() } else { Vec::new() };
    Ok(vec![Fact::known(call.dtype(0)?, shape)?, call.like(0)?])
}

fn text_test(call: &Call<'_>) -> Facts {
    Ok(vec![Fact::known(Dtype::Bool, call.shape(0)?.to_vec())?])
}

fn text_pair(call: &Call<'_>) -> Facts {
    Ok(vec![Fact::known(Dtype::String, broadcast(call.shape(0)?, call.shape(1)?)?)?])
}

fn counted_words(call: &Call<'_>) -> Facts {
    let mut shape = call.shape(0)?.to_vec();
    let highest = call.ints("ngram_indexes").and_then(|indexes| indexes.iter().max()).ok_or_else(|| Gap::from("it has no `ngram_indexes`"))?;
    let width = dim(highest.saturating_add(1))?;
    match shape.last_mut() {
        Some(last) => *last = width,
        None => shape.push(width),
    }
    Ok(vec![Fact::known(Dtype::F32, shape)?])
}

fn decided_by_values(call: &Call<'_>) -> Facts {
    let what = match call.node.kind.as_str() {
        "ImageDecoder" => "the picture's size stands in its file",
        "NonMaxSuppression" => "how many boxes are left only a run can tell",
        "Unique" => "how many values differ only a run can tell",
        _ => "how many texts there are only a run can tell",
    };
    Err(Gap::from(what))
}
