//! Operators that fold an axis: sums, maxima, positions of maxima, the k largest.

use arenascope_planner::graph::Dtype;

use super::Rule;
use crate::onnx::call::{Call, Facts, dim, normal_axis, small, strides};
use crate::onnx::value::{Data, Fact, Gap};

pub(super) fn find(kind: &str) -> Option<Rule> {
    Some(match kind {
        "ReduceL1" | "ReduceL2" | "ReduceLogSum" | "ReduceLogSumExp" | "ReduceMax" | "ReduceMean" | "ReduceMin" | "ReduceProd" | "ReduceSum"
        | "ReduceSumSquare" => reduce,
        "ArgMax" | "ArgMin" => position,
        "TopK" => top_k,
        "CumSum" | "CumProd" => running,
        "Det" => determinant,
        "GlobalAveragePool" | "GlobalMaxPool" | "GlobalLpPool" => global_pool,
        _ => return None,
    })
}

fn reduce(call: &Call<'_>) -> Facts {
    let input = call.shape(0)?;
    let given = if call.has(1) { Some(call.values(1)?) } else { call.ints("axes") };
    let folded: Vec<usize> = match given {
        Some(axes) if !axes.is_empty() => axes.iter().map(|&axis| normal_axis(axis, input.len())).collect::<Result<_, _>>()?,
        _ if call.int_or("noop_with_empty_axes", 0) != 0 => Vec::new(),
        _ => (0..input.len()).collect(),
    };
    let keeps = call.int_or("keepdims", 1) != 0;
    let data = reduced(call, input, &folded);
    Ok(vec![Fact::known(call.dtype(0)?, folded_shape(input, &folded, keeps))?.with(data)])
}

fn folded_shape(input: &[u64], folded: &[usize], keeps: bool) -> Vec<u64> {
    let kept = |(axis, &size): (usize, &u64)| match folded.contains(&axis) {
        true if keeps => Some(1),
        true => None,
        false => Some(size),
    };
    input.iter().enumerate().filter_map(kept).collect()
}

/// Sums, products and extremes of whole numbers, as models fold their shapes.
fn reduced(call: &Call<'_>, input: &[u64], folded: &[usize]) -> Option<Data> {
    let Data::Ints(values) = call.data(0)? else { return None };
    let fold: fn(i64, i64) -> Option<i64> = match call.node.kind.as_str() {
        "ReduceSum" => i64::checked_add,
        "ReduceProd" => i64::checked_mul,
        "ReduceMax" => |a, b| Some(a.max(b)),
        "ReduceMin" => |a, b| Some(a.min(b)),
        _ => return None,
    };
    let shape = folded_shape(input, folded, true);
    let total = small(crate::onnx::value::product(shape.iter().copied()).ok())?;
    let (own, outer) = (strides(input)?, strides(&shape)?);
    let mut results: Vec<Option<i64>> = vec![None; total];
    for (element, &value) in values.iter().enumerate() {
        let at = crate::onnx::call::coordinates(element, &own);
        let target: usize = at.iter().enumerate().map(|(axis, &at)| if folded.contains(&axis) { 0 } else { at * outer[axis] }).sum();
        let result = results.get_mut(target)?;
        *result = Some(match *result {
            Some(sum) => fold(sum, value)?,
            None => value,
        });
    }
    results.into_iter().collect::<Option<_>>().map(Data::Ints)
}

fn position(call: &Call<'_>) -> Facts {
    let input = call.shape(0)?;
    let axis = call.axis("axis", 0, input.len())?;
    Ok(vec![Fact::known(Dtype::I64, folded_shape(input, &[axis], call.int_or("keepdims", 1) != 0))?])
}

fn top_k(call: &Call<'_>) -> Facts {
    let mut shape = call.shape(0)?.to_vec();
    let axis = call.axis("axis", -1, shape.len())?;
    let count = if call.inputs.len() > 1 { call.values(1)?.first().copied() } else { call.int("k") };
    shape[axis] = dim(count.ok_or_else(|| Gap::from("it has no k"))?)?;
    Ok(vec![Fact::known(call.dtype(0)?, shape.clone())?, Fact::known(Dtype::I64, shape)?])
}

fn running(call: &Call<'_>) -> Facts {
    let data = running_sum(call);
    Ok(vec![call.like(0)?.with(data)])
}

fn running_sum(call: &Call<'_>) -> Option<Data> {
    let (Data::Ints(values), [_]) = (call.data(0)?, call.shape(0).ok()?) else { return None };
    if call.node.kind != "CumSum" || call.int_or("exclusive", 0) != 0 || call.int_or("reverse", 0) != 0 {
        return None;
    }
    let mut sum = 0_i64;
    let mut sums = Vec::with_capacity(values.len());
    for value in values {
        sum = sum.checked_add(*value)?;
        sums.push(sum);
    }
    Some(Data::Ints(sums))
}

fn determinant(call: &Call<'_>) -> Facts {
    let input = call.shape(0)?;
    let outer = input.len().checked_sub(2).ok_or_else(|| Gap::from("its input is no matrix"))?;
    Ok(vec![Fact::known(call.dtype(0)?, input[..outer].to_vec())?])
}

fn global_pool(call: &Call<'_>) -> Facts {
    let shape = call.shape(0)?.iter().enumerate().map(|(axis, &size)| if axis < 2 { size } else { 1 }).collect();
    Ok(vec![Fact::known(call.dtype(0)?, shape)?])
}
