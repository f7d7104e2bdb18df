//! Matrix products.

use arenascope_planner::graph::Dtype;

use super::Rule;
use crate::onnx::call::{Call, Facts, broadcast};
use crate::onnx::value::{Fact, Gap};

pub(super) fn find(kind: &str) -> Option<Rule> {
    Some(match kind {
        "MatMul" => matmul,
        "MatMulInteger" => matmul_integer,
        "Gemm" => gemm,
        "Einsum" => einsum,
        _ => return None,
    })
}

/// The shape of a product with NumPy's rules: vectors count as a row or a column.
pub(super) fn product_shape(first: &[u64], second: &[u64]) -> Result<Vec<u64>, Gap> {
    let (Some(&inner), Some(&last)) = (first.last(), second.last()) else {
        return Err(Gap::from("a product of scalars"));
    };
    let rows = (first.len() > 1).then(|| first[first.len() - 2]);
    let (depth, columns) = if second.len() > 1 { (second[second.len() - 2], Some(last)) } else { (last, None) };
    if inner != depth {
        return Err(Gap::from(format!("its inputs {first:?} and {second:?} do not multiply")));
    }
    let outer = |shape: &[u64]| shape[..shape.len().saturating_sub(2)].to_vec();
    let mut shape = broadcast(&outer(first), &outer(second))?;
    shape.extend(rows);
    shape.extend(columns);
    Ok(shape)
}

pub(super) fn matmul(call: &Call<'_>) -> Facts {
    Ok(vec![Fact::known(call.dtype(0)?, product_shape(call.shape(0)?, call.shape(1)?)?)?])
}

fn matmul_integer(call: &Call<'_>) -> Facts {
    Ok(vec![Fact::known(Dtype::I32, product_shape(call.shape(0)?, call.shape(1)?)?)?])
}

pub(super) fn gemm(call: &Call<'_>) -> Facts {
    let matrix = |index: usize| match call.shape(index)? {
        [rows, columns] => Ok((*rows, *columns)),
        other => Err(Gap::from(format!("its input {other:?} is no matrix"))),
    };
    let ((rows, depth), (height, width)) = (matrix(0)?, matrix(1)?);
    let (rows, inner) = if call.int_or("transA", 0) != 0 { (depth, rows) } else { (rows, depth) };
    let (other, columns) = if call.int_or("transB", 0) != 0 { (width, height) } else { (height, width) };
    if inner != other {
        return Err(Gap::from(format!("its inputs {:?} and {:?} do not multiply", call.shape(0)?, call.shape(1)?)));
    }
    Ok(vec![Fact::known(call.dtype(0)?, vec![rows, columns])?])
}

fn einsum(call: &Call<'_>) -> Facts {
    let equation: String = call.text("equation").ok_or_else(|| Gap::from("it has no equation"))?.chars().filter(|c| !c.is_whitespace()).collect();
    let (left, right) = match equation.split_once("->") {
        Some((left, right)) => (left, Some(right)),
        None => (equation.as_str(), None),
    };
    let mut letters: Vec<(char, u64)> = Vec::new();
    let mut ellipsis: Vec<u64> = Vec::new();
    for (index, term) in left.split(',').enumerate() {
        let shape = call.shape(index)?;
        let n_letters = term.chars().filter(|c| c.is_alphabetic()).count();
        let n_rest = shape.len().checked_sub(n_letters).ok_or_else(|| Gap::from("its equation names more axes than an input has"))?;
        let mut axis = 0;
        for c in term.replace("...", "*").chars() {
            if c == '*' {
                ellipsis = broadcast(&ellipsis, &shape[axis..axis + n_rest])?;
                axis += n_rest;
                continue;
            }
            let size = *shape.get(axis).ok_or_else(|| Gap::from("its equation does not fit its inputs"))?;
            match letters.iter_mut().find(|(letter, _)| *letter == c) {
                Some((_, known)) if *known == 1 => *known = size,
                Some((_, known)) if size != 1 && *known != size => return Err(Gap::from(format!("its axis `{c}` has two lengths"))),
                Some(_) => {}
                None => letters.push((c, size)),
            }
            axis += 1;
        }
    }
    let result = right.map_or_else(|| implied_result(left), |right| right.replace("...", "*"));
    let mut shape = Vec::new();
    for c in result.chars() {
        match letters.iter().find(|(letter, _)| *letter == c) {
            _ if c == '*' => shape.extend(&ellipsis),
            Some((_, size)) => shape.push(*size),
            None => return Err(Gap::from(format!("its result names `{c}`, which no input has"))),
        }
    }
    Ok(vec![Fact::known(call.dtype(0)?, shape)?])
}

/// Without `->`: the ellipsis, then every letter that occurs once, in alphabetical order.
fn implied_result(left: &str) -> String {
    let mut once: Vec<char> = left.chars().filter(|c| c.is_alphabetic() && left.matches(*c).count() == 1).collect();
    once.sort_unstable();
    let ellipsis = if left.contains("...") { "*" } else { "" };
    ellipsis.chars().chain(once).collect()
}
