//! What OpenVINO's ops say about storage and shapes.

use roxmltree::Node;

use super::child;
use crate::open_shapes::{Input, Rule, Window};

/// Ops whose output is their first input's storage.
const VIEWS: &[&str] = &["Reshape", "Squeeze", "Unsqueeze"];

/// Ops that may write over an input.
const IN_PLACE: &[&str] = &[
    "Abs",
    "Acos",
    "Acosh",
    "Add",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "BatchNormInference",
    "BitwiseAnd",
    "BitwiseNot",
    "BitwiseOr",
    "BitwiseXor",
    "Ceiling",
    "Clamp",
    "Cos",
    "Cosh",
    "Divide",
    "Elu",
    "Equal",
    "Erf",
    "Exp",
    "Floor",
    "FloorMod",
    "Gelu",
    "Greater",
    "GreaterEqual",
    "HSigmoid",
    "HSwish",
    "HardSigmoid",
    "IsFinite",
    "IsInf",
    "IsNaN",
    "Less",
    "LessEqual",
    "Log",
    "LogSoftmax",
    "LogicalAnd",
    "LogicalNot",
    "LogicalOr",
    "LogicalXor",
    "Maximum",
    "Minimum",
    "Mish",
    "Mod",
    "Multiply",
    "Negative",
    "NotEqual",
    "PReLU",
    "Power",
    "ReLU",
    "Round",
    "Select",
    "Selu",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "SoftMax",
    "SoftPlus",
    "SoftSign",
    "Softmax",
    "Sqrt",
    "SquaredDifference",
    "Subtract",
    "Swish",
    "Tan",
    "Tanh",
];

/// Ops beside the in-place ones whose output has the shape of their first input.
const SAME_SHAPE: &[&str] = &[
    "BatchNormInference",
    "Convert",
    "ConvertLike",
    "CumSum",
    "FakeConvert",
    "FakeQuantize",
    "GRN",
    "GroupNormalization",
    "LRN",
    "MVN",
    "NormalizeL2",
    "RMS",
    "ReverseSequence",
    "RoPE",
];

/// Ops that keep axis 0 of what they compute on.
const KEEP_BATCH: &[&str] = &[
    "AdaptiveAvgPool",
    "AdaptiveMaxPool",
    "ConvolutionBackpropData",
    "DepthToSpace",
    "GRUCell",
    "GroupConvolutionBackpropData",
    "Interpolate",
    "LSTMCell",
    "PriorBox",
    "RNNCell",
    "SpaceToDepth",
];

pub(super) fn is_view(kind: &str) -> bool {
    VIEWS.contains(&kind)
}

pub(super) fn is_in_place(kind: &str) -> bool {
    IN_PLACE.contains(&kind)
}

/// How the open dimensions of an op's output follow from its inputs; `None` if that is not known.
pub(super) fn rule(layer: Node<'_, '_>, declared: &[Option<u64>], inputs: &[Input<'_>]) -> Option<Rule> {
    let kind = layer.attribute("type").unwrap_or_default();
    let first_rank = inputs.first().map(|input| input.dims.len());
    match kind {
        "Transpose" => Some(Rule::Permute),
        "Concat" => Some(Rule::Concat(option(layer, "axis")?.parse().ok()?)),
        "MatMul" => Some(Rule::MatMul { swap_a: flag(layer, "transpose_a"), swap_b: flag(layer, "transpose_b") }),
        // A table of weights, looked up by numbers: an embedding.
        "Gather" => inputs.first().filter(|table| table.dims.len() == 2 && !table.declared.contains(&None)).map(|_| Rule::Lookup),
        "Convolution" | "GroupConvolution" => {
            let leading = if kind == "Convolution" { 2 } else { 3 };
            window(layer, inputs.get(1)?.dims.get(leading..)?.to_vec(), false).map(Rule::Window)
        }
        "MaxPool" | "AvgPool" => {
            let ceil = option(layer, "rounding_type").is_some_and(|rounding| rounding.starts_with("ceil"));
            let mut pool = window(layer, numbers(layer, "kernel")?, ceil)?;
            // Its channels are those of the input; of a window they are the weights'.
            pool.keeps_channels = true;
            Some(Rule::Window(pool))
        }
        // A reduced axis is 1, or is gone.
        _ if kind.starts_with("Reduce") => Some(if first_rank == Some(declared.len()) { Rule::SameAxes } else { Rule::Subsequence }),
        "Split" | "VariadicSplit" => is_cut_elsewhere(declared, inputs).then_some(Rule::SameAxes),
        _ if is_view(kind) => Some(Rule::Elements),
        _ if SAME_SHAPE.contains(&kind) => Some(Rule::SameAxes),
        _ if is_in_place(kind) => Some(Rule::Broadcast),
        _ if KEEP_BATCH.contains(&kind) => Some(Rule::Batch),
        _ => None,
    }
}

/// Whether a known axis differs from the input's, so that the open ones are whole.
fn is_cut_elsewhere(declared: &[Option<u64>], inputs: &[Input<'_>]) -> bool {
    let Some(whole) = inputs.first().filter(|input| input.dims.len() == declared.len()) else { return false };
    declared.iter().zip(whole.declared).any(|(part, whole)| part.zip(*whole).is_some_and(|(part, whole)| part != whole))
}

fn option<'d>(layer: Node<'d, '_>, name: &str) -> Option<&'d str> {
    child(layer, "data")?.attribute(name)
}

fn flag(layer: Node<'_, '_>, name: &str) -> bool {
    option(layer, name).is_some_and(|text| text.eq_ignore_ascii_case("true") || text == "1")
}

/// Numbers separated by commas.
fn numbers(layer: Node<'_, '_>, name: &str) -> Option<Vec<u64>> {
    option(layer, name)?.split(',').map(|number| number.trim().parse().ok()).collect()
}

fn window(layer: Node<'_, '_>, kernel: Vec<u64>, ceil: bool) -> Option<Window> {
    let pad = option(layer, "auto_pad").unwrap_or("explicit");
    let is_explicit = pad.eq_ignore_ascii_case("explicit") || pad.eq_ignore_ascii_case("notset");
    let list = |name: &str| if option(layer, name).is_some() { numbers(layer, name) } else { Some(Vec::new()) };
    let pads = |name: &str| if is_explicit { list(name) } else { Some(Vec::new()) };
    Some(Window {
        kernel,
        strides: list("strides")?,
        dilations: list("dilations")?,
        pads_begin: pads("pads_begin")?,
        pads_end: pads("pads_end")?,
        same: pad.starts_with("same"),
        ceil,
        keeps_channels: false,
    })
}
