//! What an op's name says about storage: which ops are views, which may work in place, which are random.
//!
//! Names are ATen's without `aten.` and overload (`aten.add.Tensor` is `add`), or plain ones in any case.
//! A trailing underscore of ATen's in-place variants is dropped.

/// An op's class by its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Output 0 is input 0 under another shape or stride.
    View,
    /// Output 0 may take over the storage of any input.
    InPlace,
    /// The result differs from run to run, so it is never a constant.
    Random,
    /// None of these.
    Other,
}

/// The same storage under another shape, in every framework.
const VIEWS: &[&str] = &[
    "alias",
    "detach",
    "flatten",
    "identity",
    "lift",
    "reshape",
    "squeeze",
    "unflatten",
    "unsqueeze",
    "view",
    "view_as",
    "_reshape_alias",
    "_unsafe_view",
];

/// Views by stride: these share storage in ATen, while the ops of the same names elsewhere copy.
const ATEN_VIEWS: &[&str] =
    &["as_strided", "diagonal", "expand", "movedim", "mt", "narrow", "permute", "select", "slice", "swapaxes", "t", "transpose"];

/// Element-wise ops, inference batch normalisation and softmax.
const IN_PLACE: &[&str] = &[
    "abs",
    "acos",
    "acosh",
    "add",
    "addcdiv",
    "addcmul",
    "and",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "batch_norm_inference",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "celu",
    "clamp",
    "clamp_max",
    "clamp_min",
    "clip",
    "copysign",
    "cos",
    "cosh",
    "div",
    "elu",
    "elu_backward",
    "eq",
    "equal",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "floor_divide",
    "fmod",
    "ge",
    "gelu",
    "gelu_backward",
    "greater",
    "gt",
    "hardshrink",
    "hardsigmoid",
    "hardsigmoid_backward",
    "hardswish",
    "hardswish_backward",
    "hardtanh",
    "hardtanh_backward",
    "isinf",
    "isnan",
    "le",
    "leaky_relu",
    "leaky_relu_backward",
    "leakyrelu",
    "lerp",
    "less",
    "log",
    "log10",
    "log1p",
    "log2",
    "log_sigmoid",
    "log_softmax",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logsoftmax",
    "lt",
    "masked_fill",
    "maximum",
    "minimum",
    "mish",
    "mul",
    "ne",
    "neg",
    "not",
    "or",
    "pow",
    "prelu",
    "reciprocal",
    "relu",
    "relu6",
    "remainder",
    "round",
    "rsqrt",
    "rsub",
    "selu",
    "sigmoid",
    "sigmoid_backward",
    "sign",
    "silu",
    "silu_backward",
    "sin",
    "sinh",
    "softmax",
    "softplus",
    "softplus_backward",
    "softsign",
    "sqrt",
    "square",
    "sub",
    "swish",
    "tan",
    "tanh",
    "tanh_backward",
    "threshold",
    "threshold_backward",
    "trunc",
    "where",
    "xor",
    "_log_softmax",
    "_native_batch_norm_legit_no_training",
    "_softmax",
];

/// Random generators.
const RANDOM: &[&str] = &[
    "bernoulli",
    "dropout",
    "exponential",
    "multinomial",
    "native_dropout",
    "normal",
    "poisson",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "uniform",
];

/// The class of an op.
#[must_use]
pub fn class_of(op: &str) -> Class {
    let (name, is_aten) = plain_name(op);
    let is_in = |table: &[&str]| table.contains(&name.as_str());
    if is_in(VIEWS) || is_aten && is_in(ATEN_VIEWS) {
        Class::View
    } else if is_in(IN_PLACE) {
        Class::InPlace
    } else if is_in(RANDOM) {
        Class::Random
    } else {
        Class::Other
    }
}

/// The name without namespace, overload and case, and whether the namespace is ATen's.
pub(super) fn plain_name(op: &str) -> (String, bool) {
    let rest = op.trim().strip_prefix("torch.ops.").unwrap_or(op.trim()).replace("::", ".");
    let (base, is_aten) = match rest.strip_prefix("aten.") {
        Some(base) => (base.split('.').next().unwrap_or_default(), true),
        None => (rest.as_str(), false),
    };
    let lower = base.to_ascii_lowercase();
    (lower.strip_suffix('_').unwrap_or(&lower).to_owned(), is_aten)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_aten_and_plain_ones_mean_the_same() {
        for (op, class) in [
            ("aten.add.Tensor", Class::InPlace),
            ("aten::relu_", Class::InPlace),
            ("Relu", Class::InPlace),
            ("aten.view.default", Class::View),
            ("aten.t.default", Class::View),
            ("transpose", Class::Other),
            ("aten.rand_like.default", Class::Random),
            ("aten._softmax_backward_data.default", Class::Other),
            ("conv", Class::Other),
        ] {
            assert_eq!(class_of(op), class, "{op}");
        }
    }
}
