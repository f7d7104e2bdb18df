//! What ops of an op list compute, where names and shapes alone say it: an op list has no attributes.

use arenascope_planner::arithmetic::{Arithmetic, Fold, Formula, Function, Moves};
use arenascope_planner::graph::Tensor;
use arenascope_planner::ids::TensorId;

use super::classes::plain_name;

/// What an op computes; `None` where its name is not known, or it would take an attribute to know.
pub(super) fn arithmetic(kind: &str, tensors: &[Tensor], inputs: &[TensorId], outputs: &[TensorId]) -> Option<Arithmetic> {
    let shape = |id: &TensorId| tensors[id.index()].shape.as_deref();
    let (name, _) = plain_name(kind);
    let first = inputs.first().and_then(shape);
    let output = outputs.first().and_then(shape)?;
    let plain = |formula: Formula| Some(Arithmetic { formula, operands: inputs.to_vec() });
    if let Some(function) = function(&name) {
        return if inputs.len() == function.arity() { plain(Formula::Map(function)) } else { None };
    }
    let product = Formula::Product { transpose_a: false, transpose_b: false, alpha: 1.0, beta: 1.0 };
    match name.as_str() {
        "mm" | "bmm" | "matmul" | "mv" if inputs.len() == 2 => plain(product),
        // The summand comes first, and last in the formula.
        "addmm" | "baddbmm" => match inputs {
            &[c, a, b] => Some(Arithmetic { formula: product, operands: vec![a, b, c] }),
            _ => None,
        },
        "view" | "reshape" | "flatten" | "squeeze" | "unsqueeze" | "identity" | "alias" | "detach" | "clone" | "_unsafe_view" | "_reshape_alias" => {
            plain(Formula::Move(Moves::Same))
        }
        "t" => plain(Formula::Move(Moves::Transpose((0..first?.len()).rev().collect()))),
        "expand" => plain(Formula::Move(Moves::Stretch)),
        "sum" => plain(Formula::Reduce { fold: Fold::Sum, axes: leading_axes(first?, output)? }),
        "mean" => plain(Formula::Reduce { fold: Fold::Mean, axes: leading_axes(first?, output)? }),
        // Along the last axis, as every classifier has it.
        "softmax" | "_softmax" | "log_softmax" | "_log_softmax" | "logsoftmax" => {
            let is_log = name.contains("log");
            plain(Formula::Softmax { axis: first?.len().checked_sub(1)?, is_folded: false, is_log })
        }
        "_log_softmax_backward_data" if inputs.len() == 2 => plain(Formula::LogSoftmaxGradient),
        "nll_loss_forward" | "nll_loss" if inputs.len() == 2 && output.is_empty() && outputs.len() == 1 => plain(Formula::NegativeLogLikelihood),
        "nll_loss_backward" if inputs.len() == 2 => plain(Formula::NegativeLogLikelihoodGradient),
        _ => None,
    }
}

/// The axes that a sum folds, if the shapes leave no choice: all, or the first ones.
fn leading_axes(input: &[u64], output: &[u64]) -> Option<Vec<usize>> {
    let n_folded = input.len().checked_sub(output.len())?;
    let is_suffix = input[n_folded..] == *output;
    let is_prefix = n_folded > 0 && !output.is_empty() && input[..output.len()] == *output;
    (is_suffix && !is_prefix).then(|| (0..n_folded).collect())
}

fn function(name: &str) -> Option<Function> {
    Some(match name {
        "abs" => Function::Abs,
        "ceil" => Function::Ceil,
        "cos" => Function::Cos,
        "erf" => Function::Erf,
        "exp" => Function::Exp,
        "floor" => Function::Floor,
        "gelu" => Function::Gelu,
        "hardswish" => Function::HardSwish,
        "log" => Function::Log,
        "neg" => Function::Neg,
        "reciprocal" => Function::Reciprocal,
        "relu" => Function::Relu,
        "sigmoid" => Function::Sigmoid,
        "sign" => Function::Sign,
        "silu" => Function::Silu,
        "sin" => Function::Sin,
        "softplus" => Function::Softplus,
        "sqrt" => Function::Sqrt,
        "tanh" => Function::Tanh,
        "add" => Function::Add,
        "sub" => Function::Sub,
        "mul" => Function::Mul,
        "div" => Function::Div,
        "maximum" => Function::Max,
        "minimum" => Function::Min,
        "pow" => Function::Pow,
        "eq" | "equal" => Function::Equal,
        "gt" | "greater" => Function::Greater,
        "ge" => Function::GreaterOrEqual,
        "lt" | "less" => Function::Less,
        "le" => Function::LessOrEqual,
        "logical_and" | "and" => Function::And,
        "logical_or" | "or" => Function::Or,
        "logical_not" | "not" => Function::Not,
        "threshold_backward" => Function::ReluGradient,
        "where" => Function::Where,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_whose_axes_the_shapes_do_not_tell_is_not_guessed() {
        assert_eq!(leading_axes(&[2, 3, 4], &[4]), Some(vec![0, 1]));
        assert_eq!(leading_axes(&[2, 3], &[]), Some(vec![0, 1]));
        assert_eq!(leading_axes(&[3, 3], &[3]), None);
        assert_eq!(leading_axes(&[2, 3], &[2]), None);
    }
}
