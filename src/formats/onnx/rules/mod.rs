//! A shape rule per operator, by family; this is their table of contents.

mod elementwise;
mod evaluate;
mod generate;
mod index;
mod layout;
mod linear;
mod microsoft;
mod ml;
mod normalise;
mod quantise;
mod recurrent;
mod reduce;
mod resample;
mod rest;
mod sequence;
mod window;

use super::call::{Call, Facts};
use super::infer::is_standard;

/// Type and shape of an op's outputs, and their elements where these are few and known.
pub(super) type Rule = fn(&Call<'_>) -> Facts;

/// The rule of an operator, if there is one.
pub(super) fn find(domain: &str, kind: &str) -> Option<Rule> {
    if !is_standard(domain) {
        return match domain {
            "com.microsoft" => microsoft::find(kind),
            "ai.onnx.ml" => ml::find(kind),
            _ => None,
        };
    }
    elementwise::find(kind)
        .or_else(|| layout::find(kind))
        .or_else(|| index::find(kind))
        .or_else(|| reduce::find(kind))
        .or_else(|| linear::find(kind))
        .or_else(|| window::find(kind))
        .or_else(|| resample::find(kind))
        .or_else(|| normalise::find(kind))
        .or_else(|| quantise::find(kind))
        .or_else(|| recurrent::find(kind))
        .or_else(|| generate::find(kind))
        .or_else(|| sequence::find(kind))
        .or_else(|| rest::find(kind))
}
