//! What an operator says about storage: views, in-place results, chance.

use super::infer::is_standard;
use super::model::{AttributeValue, Model, Node};
use super::value::Fact;

/// Functions that call functions: beyond this depth an op counts as random, the safe side.
const MAX_DEPTH: usize = 8;

/// Whether output 0 is input 0 under another shape.
pub(super) fn is_view(node: &Node, opset: i64, training: Option<&Fact>) -> bool {
    if !is_standard(&node.domain) {
        return false;
    }
    match node.kind.as_str() {
        "Flatten" | "Identity" | "Reshape" | "Squeeze" | "Unsqueeze" => true,
        "Dropout" => is_inference_dropout(node, opset, training),
        _ => false,
    }
}

fn is_inference_dropout(node: &Node, opset: i64, training: Option<&Fact>) -> bool {
    if opset < 7 {
        return int(node, "is_test").unwrap_or(0) != 0;
    }
    match node.inputs.get(2).map(String::as_str) {
        None | Some("") => true,
        Some(_) => training.and_then(Fact::ints).is_some_and(|values| values.iter().all(|&value| value == 0)),
    }
}

/// Whether output 0 may take over the storage of any input.
pub(super) fn is_in_place(node: &Node, opset: i64) -> bool {
    match node.domain.as_str() {
        "" | "ai.onnx" => match node.kind.as_str() {
            "BatchNormalization" => is_inference_batch_normalization(node, opset),
            kind => is_element_wise(kind),
        },
        "com.microsoft" => matches!(node.kind.as_str(), "BiasGelu" | "FastGelu" | "Gelu" | "QuickGelu"),
        _ => false,
    }
}

fn is_element_wise(kind: &str) -> bool {
    matches!(
        kind,
        "Abs"
            | "Acos"
            | "Acosh"
            | "Add"
            | "And"
            | "Asin"
            | "Asinh"
            | "Atan"
            | "Atanh"
            | "BitShift"
            | "BitwiseAnd"
            | "BitwiseNot"
            | "BitwiseOr"
            | "BitwiseXor"
            | "Ceil"
            | "Celu"
            | "Clip"
            | "Cos"
            | "Cosh"
            | "Div"
            | "Elu"
            | "Equal"
            | "Erf"
            | "Exp"
            | "Floor"
            | "Gelu"
            | "Greater"
            | "GreaterOrEqual"
            | "HardSigmoid"
            | "HardSwish"
            | "IsInf"
            | "IsNaN"
            | "LeakyRelu"
            | "Less"
            | "LessOrEqual"
            | "Log"
            | "LogSoftmax"
            | "Max"
            | "Mean"
            | "Min"
            | "Mish"
            | "Mod"
            | "Mul"
            | "Neg"
            | "Not"
            | "Or"
            | "PRelu"
            | "Pow"
            | "Reciprocal"
            | "Relu"
            | "Round"
            | "Selu"
            | "Shrink"
            | "Sigmoid"
            | "Sign"
            | "Sin"
            | "Sinh"
            | "Softmax"
            | "Softplus"
            | "Softsign"
            | "Sqrt"
            | "Sub"
            | "Sum"
            | "Swish"
            | "Tan"
            | "Tanh"
            | "ThresholdedRelu"
            | "Where"
            | "Xor"
    )
}

fn is_inference_batch_normalization(node: &Node, opset: i64) -> bool {
    let one_output = node.outputs.iter().skip(1).all(String::is_empty);
    let is_inference = match opset {
        ..7 => int(node, "is_test").unwrap_or(0) != 0,
        7..14 => true,
        _ => int(node, "training_mode").unwrap_or(0) == 0,
    };
    one_output && is_inference
}

fn int(node: &Node, name: &str) -> Option<i64> {
    match node.attributes.iter().find(|attribute| attribute.name == name)?.value {
        AttributeValue::Int(value) => Some(value),
        _ => None,
    }
}

/// Whether the result differs from run to run; also if only something inside a body or a function does.
pub(super) fn is_random(node: &Node, model: &Model) -> bool {
    is_random_within(node, model, MAX_DEPTH)
}

fn is_random_within(node: &Node, model: &Model, depth: usize) -> bool {
    if matches!(node.kind.as_str(), "Bernoulli" | "Multinomial" | "RandomNormal" | "RandomNormalLike" | "RandomUniform" | "RandomUniformLike") {
        return true;
    }
    let Some(deeper) = depth.checked_sub(1) else { return true };
    let any = |nodes: &[Node]| nodes.iter().any(|node| is_random_within(node, model, deeper));
    let in_bodies = node.attributes.iter().any(|attribute| match &attribute.value {
        AttributeValue::Graph(graph) => any(&graph.nodes),
        AttributeValue::Graphs(graphs) => graphs.iter().any(|graph| any(&graph.nodes)),
        _ => false,
    });
    let own = || model.functions.iter().find(|function| function.name == node.kind && function.domain == node.domain);
    in_bodies || !is_standard(&node.domain) && own().is_some_and(|function| any(&function.nodes))
}
