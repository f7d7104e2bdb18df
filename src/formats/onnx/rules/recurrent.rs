//! Recurrent layers.

use super::Rule;
use crate::onnx::call::{Call, Facts, dim};
use crate::onnx::value::{Fact, Gap};

pub(super) fn find(kind: &str) -> Option<Rule> {
    matches!(kind, "GRU" | "LSTM" | "RNN").then_some(recurrent)
}

fn recurrent(call: &Call<'_>) -> Facts {
    let &[first, second, _] = call.shape(0)? else { return Err(Gap::from("its input has not three dimensions")) };
    let (length, batch) = if call.int_or("layout", 0) != 0 { (second, first) } else { (first, second) };
    let hidden = match call.int("hidden_size") {
        Some(size) => dim(size)?,
        None => call.shape(2)?.get(2).copied().ok_or_else(|| Gap::from("it has no hidden size"))?,
    };
    let directions = if call.text("direction") == Some("bidirectional") { 2 } else { 1 };
    let dtype = call.dtype(0)?;
    let (all, last) = if call.int_or("layout", 0) != 0 {
        (vec![batch, length, directions, hidden], vec![batch, directions, hidden])
    } else {
        (vec![length, directions, batch, hidden], vec![directions, batch, hidden])
    };
    let mut outputs = vec![Fact::known(dtype, all)?, Fact::known(dtype, last.clone())?];
    if call.node.kind == "LSTM" {
        outputs.push(Fact::known(dtype, last)?);
    }
    Ok(outputs)
}
