//! What operators compute, as formulas that no format owns; `None` for those that are not described.

use arenascope_planner::arithmetic::{Arithmetic, Elements, Fold, Formula, Function, Moves, Window};
use arenascope_planner::graph::Dtype;
use arenascope_planner::ids::TensorId;

use super::call::{Call, normal_axis, signed};
use super::infer::is_standard;
use super::value::{Data, Fact};

/// The elements that a fact knows.
pub(super) fn elements(fact: &Fact) -> Option<Elements> {
    Some(match fact.data.as_deref()? {
        Data::Ints(values) => Elements::Ints(values.clone()),
        Data::Floats(values) => Elements::Floats(values.clone()),
    })
}

/// What a call computes; `ids` are its inputs by position, `outputs` what is known of its outputs.
pub(super) fn arithmetic(call: &Call<'_>, ids: &[Option<TensorId>], outputs: &[Fact]) -> Option<Arithmetic> {
    let domain = call.node.domain.as_str();
    if !is_standard(domain) && domain != "com.microsoft" {
        return None;
    }
    let output = outputs.first()?;
    output.shape.as_ref()?;
    let (formula, n_operands) = formula(call, output)?;
    let operands: Option<Vec<TensorId>> = match n_operands {
        Operands::First(n) => ids.iter().take(n).copied().collect(),
        Operands::All => ids.iter().copied().collect(),
    };
    Some(Arithmetic { formula, operands: operands? })
}

/// Which inputs a formula takes.
enum Operands {
    First(usize),
    All,
}

fn formula(call: &Call<'_>, output: &Fact) -> Option<(Formula, Operands)> {
    if let Some(function) = function(call) {
        let n = if is_variadic(call) { call.inputs.len() } else { function.arity() };
        return (call.inputs.len() >= n).then_some((Formula::Map(function), Operands::First(n)));
    }
    if let Some(moves) = moves(call) {
        let n = if matches!(moves, Moves::Concatenate(_)) { Operands::All } else { Operands::First(1) };
        return Some((Formula::Move(moves), n));
    }
    let all = |formula: Formula| Some((formula, Operands::All));
    let one = |formula: Formula| Some((formula, Operands::First(1)));
    match call.node.kind.as_str() {
        "MatMul" => all(Formula::Product { transpose_a: false, transpose_b: false, alpha: 1.0, beta: 0.0 }),
        "Gemm" => {
            let flag = |name: &str| call.int_or(name, 0) != 0;
            let (alpha, beta) = (call.float("alpha").unwrap_or(1.0), call.float("beta").unwrap_or(1.0));
            all(Formula::Product { transpose_a: flag("transA"), transpose_b: flag("transB"), alpha, beta })
        }
        "Conv" => {
            let kernel = call.shape(1).ok()?.get(2..)?;
            all(Formula::Convolution { groups: u64::try_from(call.int_or("group", 1)).ok()?, window: window(call, kernel, output)? })
        }
        "MaxPool" | "AveragePool" => pool(call, output),
        "GlobalAveragePool" | "GlobalMaxPool" => {
            let fold = if call.node.kind == "GlobalMaxPool" { Fold::Max } else { Fold::Mean };
            one(Formula::Reduce { fold, axes: (2..call.shape(0).ok()?.len()).collect() })
        }
        "ReduceSum" => reduce(call, Fold::Sum),
        "ReduceMean" => reduce(call, Fold::Mean),
        "ReduceMax" => reduce(call, Fold::Max),
        "ReduceMin" => reduce(call, Fold::Min),
        "ReduceProd" => reduce(call, Fold::Product),
        "ReduceSumSquare" => reduce(call, Fold::SumOfSquares),
        "Softmax" | "LogSoftmax" => softmax(call),
        "LayerNormalization" | "RMSNormalization" | "SimplifiedLayerNormalization" | "InstanceNormalization" | "GroupNormalization" => {
            normalise(call)
        }
        "BatchNormalization" => {
            let is_inference = call.n_outputs() == 1 && call.int_or("training_mode", 0) == 0;
            let epsilon = call.float("epsilon").unwrap_or(1e-5);
            if is_inference { all(Formula::NormaliseGiven { epsilon }) } else { None }
        }
        "Gather" => {
            let axis = call.axis("axis", 0, call.shape(0).ok()?.len()).ok()?;
            Some((Formula::Gather { axis }, Operands::First(2)))
        }
        "Shape" | "Size" | "Range" => Some((Formula::Known(elements(output)?), Operands::First(0))),
        "ConstantOfShape" => {
            let value = call.tensor("value").and_then(|tensor| tensor.data.as_ref()).map_or(Some(0.0), |data| match data {
                Data::Ints(values) => values.first().map(|&value| super::value::to_float(value)),
                Data::Floats(values) => values.first().copied(),
            });
            Some((Formula::Fill(value?), Operands::First(0)))
        }
        _ => None,
    }
}

fn is_variadic(call: &Call<'_>) -> bool {
    matches!(call.node.kind.as_str(), "Sum" | "Max" | "Min")
}

/// An optional bound: the file's own number, or none.
fn bound(call: &Call<'_>, index: usize, attribute: &str, default: f64) -> Option<f64> {
    if call.opset < 11 {
        return Some(call.float(attribute).unwrap_or(default));
    }
    match call.inputs.get(index).and_then(Option::as_ref) {
        None => Some(default),
        Some(fact) => match fact.data.as_deref()? {
            Data::Floats(values) => values.first().copied(),
            Data::Ints(values) => values.first().map(|&value| super::value::to_float(value)),
        },
    }
}

fn function(call: &Call<'_>) -> Option<Function> {
    let alpha = |default: f64| call.float("alpha").unwrap_or(default);
    Some(match call.node.kind.as_str() {
        "Abs" => Function::Abs,
        "Ceil" => Function::Ceil,
        "Clip" => Function::Clip { low: bound(call, 1, "min", f64::NEG_INFINITY)?, high: bound(call, 2, "max", f64::INFINITY)? },
        "Cast" => Function::Convert,
        "Cos" => Function::Cos,
        "Elu" => Function::Elu { alpha: alpha(1.0) },
        "Erf" => Function::Erf,
        "Exp" => Function::Exp,
        "Floor" => Function::Floor,
        "Gelu" if call.text("approximate") == Some("tanh") => Function::GeluByTanh,
        "Gelu" => Function::Gelu,
        "HardSigmoid" => Function::HardSigmoid { alpha: alpha(0.2), beta: call.float("beta").unwrap_or(0.5) },
        "HardSwish" => Function::HardSwish,
        "LeakyRelu" => Function::LeakyRelu { alpha: alpha(0.01) },
        "Log" => Function::Log,
        "Neg" => Function::Neg,
        "Not" => Function::Not,
        "Reciprocal" => Function::Reciprocal,
        "Relu" => Function::Relu,
        "Sigmoid" => Function::Sigmoid,
        "Sign" => Function::Sign,
        "Sin" => Function::Sin,
        "Softplus" => Function::Softplus,
        "Sqrt" => Function::Sqrt,
        "Swish" if call.float("alpha").unwrap_or(1.0).to_bits() == 1.0_f64.to_bits() => Function::Silu,
        "Tanh" => Function::Tanh,
        "Add" | "Sum" => Function::Add,
        "And" => Function::And,
        "Div" => Function::Div,
        "Equal" => Function::Equal,
        "Greater" => Function::Greater,
        "GreaterOrEqual" => Function::GreaterOrEqual,
        "Less" => Function::Less,
        "LessOrEqual" => Function::LessOrEqual,
        "Max" => Function::Max,
        "Min" => Function::Min,
        "Mul" => Function::Mul,
        "Or" => Function::Or,
        "Pow" => Function::Pow,
        "Sub" => Function::Sub,
        "Where" => Function::Where,
        _ => return None,
    })
}

fn moves(call: &Call<'_>) -> Option<Moves> {
    let rank = || call.shape(0).ok().map(<[u64]>::len);
    Some(match call.node.kind.as_str() {
        "Identity" | "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze" => Moves::Same,
        "Dropout" if call.n_outputs() == 1 && call.opset >= 7 && !call.has(2) => Moves::Same,
        "Transpose" => {
            let rank = rank()?;
            let order = match call.ints("perm") {
                Some(perm) => perm.iter().map(|&axis| normal_axis(axis, rank).ok()).collect::<Option<Vec<usize>>>()?,
                None => (0..rank).rev().collect(),
            };
            Moves::Transpose(order)
        }
        "Slice" => Moves::Slice(slice(call)?),
        "Concat" => Moves::Concatenate(call.axis("axis", 0, rank()?).ok()?),
        "Split" => Moves::Split(call.axis("axis", 0, rank()?).ok()?),
        "Expand" => Moves::Stretch,
        "Tile" => Moves::Tile(call.values(1).ok()?.iter().map(|&times| u64::try_from(times).ok()).collect::<Option<_>>()?),
        "Resize" => Moves::Repeat(repeats(call)?),
        _ => return None,
    })
}

/// First index and step by axis.
fn slice(call: &Call<'_>) -> Option<Vec<(i64, i64)>> {
    let input = call.shape(0).ok()?;
    let (starts, axes, steps) = if call.inputs.len() > 1 {
        (call.values(1).ok()?, call.optional_values(3).ok()?, call.optional_values(4).ok()?)
    } else {
        (call.ints("starts")?, call.ints("axes"), None)
    };
    let mut ranges = vec![(0, 1); input.len()];
    for (position, &start) in starts.iter().enumerate() {
        let axis = axes.map_or(i64::try_from(position).ok(), |axes| axes.get(position).copied())?;
        let axis = normal_axis(axis, input.len()).ok()?;
        let step = steps.map_or(Some(1), |steps| steps.get(position).copied())?;
        let length = signed(input[axis]);
        let from_front = if start < 0 { start.saturating_add(length) } else { start };
        let last = if step > 0 { length } else { length - 1 };
        ranges[axis] = (from_front.clamp(0, last.max(0)), step);
    }
    Some(ranges)
}

/// Nearest neighbours at whole multiples; in these modes every element is simply repeated.
fn repeats(call: &Call<'_>) -> Option<Vec<u64>> {
    let is_nearest = matches!(call.text("mode"), None | Some("nearest"));
    let is_plain = call.text("coordinate_transformation_mode") == Some("asymmetric") && call.text("nearest_mode") == Some("floor");
    let scales = call.optional_floats(2).ok()??;
    if !(is_nearest && is_plain && call.ints("axes").is_none() && scales.len() == call.shape(0).ok()?.len()) {
        return None;
    }
    let whole = |&scale: &f64| super::value::to_int(scale).filter(|&times| times > 0 && super::value::to_float(times) == scale);
    scales.iter().map(|scale| u64::try_from(whole(scale)?).ok()).collect()
}

fn window(call: &Call<'_>, kernel: &[u64], output: &Fact) -> Option<Window> {
    let rank = kernel.len();
    let list = |name: &str, default: u64| -> Option<Vec<u64>> {
        match call.ints(name).filter(|values| !values.is_empty()) {
            Some(values) => values.iter().map(|&value| u64::try_from(value).ok()).collect(),
            None => Some(vec![default; rank]),
        }
    };
    let (strides, dilations) = (list("strides", 1)?, list("dilations", 1)?);
    let pads = match call.text("auto_pad") {
        Some("VALID") => vec![0; rank],
        Some(side @ ("SAME_UPPER" | "SAME_LOWER")) => {
            let (input, output) = (call.shape(0).ok()?.get(2..)?, output.shape.as_deref()?.get(2..)?);
            let before = |axis: usize| {
                let moved = output.get(axis)?.checked_sub(1)?.checked_mul(*strides.get(axis)?)?;
                let extent = kernel.get(axis)?.checked_sub(1)?.checked_mul(*dilations.get(axis)?)?;
                let missing = moved.checked_add(extent)?.checked_add(1)?.saturating_sub(*input.get(axis)?);
                Some(if side == "SAME_UPPER" { missing / 2 } else { missing.div_ceil(2) })
            };
            (0..rank).map(before).collect::<Option<_>>()?
        }
        _ => list("pads", 0)?.into_iter().take(rank).collect(),
    };
    (strides.len() == rank && dilations.len() == rank && pads.len() == rank).then_some(Window { strides, dilations, pads })
}

fn pool(call: &Call<'_>, output: &Fact) -> Option<(Formula, Operands)> {
    if call.n_outputs() != 1 {
        return None;
    }
    let kernel: Vec<u64> = call.ints("kernel_shape")?.iter().map(|&size| u64::try_from(size).ok()).collect::<Option<_>>()?;
    let fold = if call.node.kind == "MaxPool" { Fold::Max } else { Fold::Mean };
    let counts_padding = call.int_or("count_include_pad", 0) != 0;
    if counts_padding && call.int_or("ceil_mode", 0) != 0 {
        return None;
    }
    let window = window(call, &kernel, output)?;
    Some((Formula::Pool { fold, kernel, window, counts_padding }, Operands::First(1)))
}

fn reduce(call: &Call<'_>, fold: Fold) -> Option<(Formula, Operands)> {
    let rank = call.shape(0).ok()?.len();
    let given = if call.has(1) { Some(call.values(1).ok()?) } else { call.ints("axes") };
    let mut axes: Vec<usize> = match given {
        Some(axes) if !axes.is_empty() => axes.iter().map(|&axis| normal_axis(axis, rank).ok()).collect::<Option<_>>()?,
        _ if call.int_or("noop_with_empty_axes", 0) != 0 => Vec::new(),
        _ => (0..rank).collect(),
    };
    axes.sort_unstable();
    Some((Formula::Reduce { fold, axes }, Operands::First(1)))
}

/// Before operator set 13 all axes from the given one on are one.
fn softmax(call: &Call<'_>) -> Option<(Formula, Operands)> {
    let is_folded = call.opset < 13;
    let axis = call.axis("axis", if is_folded { 1 } else { -1 }, call.shape(0).ok()?.len()).ok()?;
    Some((Formula::Softmax { axis, is_folded, is_log: call.node.kind == "LogSoftmax" }, Operands::First(1)))
}

fn normalise(call: &Call<'_>) -> Option<(Formula, Operands)> {
    let shape = call.shape(0).ok()?;
    let elements = |dims: &[u64]| if dims.contains(&0) { 0 } else { dims.iter().product::<u64>() };
    let epsilon = call.float("epsilon").unwrap_or(1e-5);
    let (length, run, is_centred) = match call.node.kind.as_str() {
        "InstanceNormalization" => (elements(shape.get(2..)?), elements(shape.get(2..)?), true),
        "GroupNormalization" => {
            // Before operator set 21 scale and bias are by group, and the reference itself was changed.
            let groups = u64::try_from(call.int("num_groups")?).ok().filter(|&groups| groups > 0 && call.opset >= 21)?;
            (elements(shape.get(1..)?) / groups, elements(shape.get(2..)?), true)
        }
        kind => {
            let axis = call.axis("axis", -1, shape.len()).ok()?;
            let length = elements(&shape[axis..]);
            if call.fact(1).ok()?.elements() != Some(length) || call.n_outputs() != 1 || call.dtype(0).ok()? != Dtype::F32 {
                return None;
            }
            (length, 1, kind == "LayerNormalization")
        }
    };
    Some((Formula::Normalise { length, is_centred, epsilon, run }, Operands::All))
}
