//! Sequences and optionals: lists of tensors whose facts are kept one by one, as far as a list is known.

use arenascope_planner::graph::Dtype;

use super::Rule;
use crate::onnx::call::{Call, Facts, dim, normal_axis, signed};
use crate::onnx::value::{Data, Fact, Gap, MAX_ELEMENTS};

pub(super) fn find(kind: &str) -> Option<Rule> {
    Some(match kind {
        "SequenceConstruct" => construct,
        "SequenceEmpty" => empty,
        "SequenceInsert" => insert,
        "SequenceErase" => erase,
        "SequenceAt" => at,
        "SequenceLength" => length,
        "SplitToSequence" => split,
        "ConcatFromSequence" => concat,
        "Optional" => optional,
        "OptionalGetElement" => element,
        "OptionalHasElement" => has_element,
        _ => return None,
    })
}

/// The tensors of a sequence.
fn items<'c>(call: &'c Call<'_>, index: usize) -> Result<&'c [Fact], Gap> {
    let fact = call.fact(index)?;
    fact.items
        .as_deref()
        .map(Vec::as_slice)
        .ok_or_else(|| Gap { reason: format!("it follows from a sequence of which nothing is known: {}", fact.because), is_upstream: true })
}

/// Whether all have one type and shape, so that their order does not matter.
fn are_alike<'f>(mut facts: impl Iterator<Item = &'f Fact>) -> bool {
    let Some(first) = facts.next() else { return true };
    first.shape.is_some() && facts.all(|fact| fact.shape == first.shape && fact.dtype == first.dtype)
}

/// A position in a sequence of `count` tensors; `None` if only a run can tell.
fn position(call: &Call<'_>, index: usize, count: usize) -> Result<Option<usize>, Gap> {
    match call.values(index) {
        Ok(values) => normal_axis(values.first().copied().unwrap_or(0), count).map(Some),
        Err(_) => Ok(None),
    }
}

fn construct(call: &Call<'_>) -> Facts {
    sequence(call, call.inputs.iter().flatten().cloned().collect())
}

/// A sequence of tensors, neither of other sequences nor longer than what is followed.
fn sequence(call: &Call<'_>, list: Vec<Fact>) -> Facts {
    if list.iter().any(|fact| fact.items.is_some()) {
        return Err(Gap::from("it would hold other sequences"));
    }
    if list.len() as u64 > MAX_ELEMENTS || !call.may_evaluate {
        return Err(Gap::from(format!("a sequence of {} tensors is more than is followed", list.len())));
    }
    Ok(vec![Fact::sequence(list)])
}

fn empty(_call: &Call<'_>) -> Facts {
    Ok(vec![Fact::sequence(Vec::new())])
}

fn insert(call: &Call<'_>) -> Facts {
    let (mut list, new) = (items(call, 0)?.to_vec(), call.fact(1)?.clone());
    let place = if call.has(2) { position(call, 2, list.len() + 1)? } else { Some(list.len()) };
    match place {
        Some(place) => list.insert(place, new),
        None if are_alike(list.iter().chain([&new])) => {
            list.push(new);
            list = list.iter().map(Fact::without_data).collect();
        }
        None => return Err(Gap::from("it inserts where only a run can tell, between tensors of other shapes")),
    }
    sequence(call, list)
}

fn erase(call: &Call<'_>) -> Facts {
    let mut list = items(call, 0)?.to_vec();
    let last = list.len().checked_sub(1).ok_or_else(|| Gap::from("its sequence is empty"))?;
    let place = if call.has(1) { position(call, 1, list.len())? } else { Some(last) };
    match place {
        Some(place) => drop(list.remove(place)),
        None if are_alike(list.iter()) => {
            list.pop();
            list = list.iter().map(Fact::without_data).collect();
        }
        None => return Err(Gap::from("it removes what only a run can tell, among tensors of other shapes")),
    }
    sequence(call, list)
}

fn at(call: &Call<'_>) -> Facts {
    let list = items(call, 0)?;
    match position(call, 1, list.len())? {
        Some(place) => Ok(vec![list[place].clone()]),
        None if are_alike(list.iter()) && !list.is_empty() => Ok(vec![list[0].without_data()]),
        None => Err(Gap::from("only a run can tell which tensor of the sequence it takes, and their shapes differ")),
    }
}

fn length(call: &Call<'_>) -> Facts {
    let count = call.fact(0)?.items.as_ref().map(|list| Data::Ints(vec![signed(list.len() as u64)]));
    Ok(vec![Fact::known(Dtype::I64, Vec::new())?.with(count)])
}

fn split(call: &Call<'_>) -> Facts {
    let input = call.shape(0)?;
    let axis = call.axis("axis", 0, input.len())?;
    let whole = input[axis];
    let keeps = call.has(1) || call.int_or("keepdims", 1) != 0;
    let is_scalar = call.has(1) && call.shape(1)?.is_empty();
    let sizes: Vec<u64> = match call.optional_values(1)? {
        Some([size]) if is_scalar => chunks(whole, dim(*size)?)?,
        Some(sizes) => sizes.iter().map(|&size| dim(size)).collect::<Result<_, _>>()?,
        None => chunks(whole, 1)?,
    };
    if sizes.iter().try_fold(0_u64, |sum, &size| sum.checked_add(size)) != Some(whole) {
        return Err(Gap::from(format!("its parts {sizes:?} do not add up to {whole}")));
    }
    let part = |size: u64| {
        let mut shape = input.to_vec();
        if keeps {
            shape[axis] = size;
        } else {
            shape.remove(axis);
        }
        Fact::known(call.dtype(0)?, shape)
    };
    sequence(call, sizes.into_iter().map(part).collect::<Result<_, _>>()?)
}

/// Equal parts, the last one smaller if need be.
fn chunks(whole: u64, size: u64) -> Result<Vec<u64>, Gap> {
    let count = whole.checked_add(size.saturating_sub(1)).and_then(|sum| sum.checked_div(size)).filter(|&count| count <= MAX_ELEMENTS);
    let count = count.ok_or_else(|| Gap::from(format!("it splits {whole} into parts of {size}, more than are followed")))?;
    Ok((0..count).map(|index| size.min(whole - index * size)).collect())
}

fn concat(call: &Call<'_>) -> Facts {
    let list = items(call, 0)?;
    let upstream = || Gap { reason: "it follows from a tensor of the sequence that is unknown".to_owned(), is_upstream: true };
    let shapes: Vec<&Vec<u64>> = list.iter().map(|fact| fact.shape.as_ref().ok_or_else(upstream)).collect::<Result<_, _>>()?;
    let (Some(first), Some(fact)) = (shapes.first(), list.first()) else { return Err(Gap::from("its sequence is empty")) };
    let mut shape = (*first).clone();
    if call.int_or("new_axis", 0) != 0 {
        let axis = normal_axis(call.int_or("axis", 0), shape.len() + 1)?;
        if shapes.iter().any(|other| *other != *first) {
            return Err(Gap::from("the tensors of its sequence differ in shape"));
        }
        shape.insert(axis, list.len() as u64);
        return Ok(vec![Fact::known(fact.dtype, shape)?]);
    }
    let axis = normal_axis(call.int_or("axis", 0), shape.len())?;
    let mut total = 0_u64;
    for other in &shapes {
        let fits = other.len() == first.len() && other.iter().zip(*first).enumerate().all(|(at, (one, two))| at == axis || one == two);
        if !fits {
            return Err(Gap::from("the tensors of its sequence do not fit together"));
        }
        total = total.checked_add(other[axis]).ok_or_else(|| Gap::from("a dimension does not fit into 64 bits"))?;
    }
    shape[axis] = total;
    Ok(vec![Fact::known(fact.dtype, shape)?])
}

fn optional(call: &Call<'_>) -> Facts {
    if call.has(0) { Ok(vec![call.fact(0)?.clone()]) } else { Ok(vec![Fact::sequence(Vec::new())]) }
}

fn element(call: &Call<'_>) -> Facts {
    Ok(vec![call.fact(0)?.clone()])
}

/// Whether an optional of the graph's inputs holds something, only its caller knows.
fn has_element(call: &Call<'_>) -> Facts {
    let fact = call.inputs.first().and_then(Option::as_ref);
    let answer = match fact {
        None => Some(0),
        Some(fact) if fact.shape.is_some() => Some(1),
        Some(_) => None,
    };
    Ok(vec![Fact::known(Dtype::Bool, Vec::new())?.with(answer.map(|answer| Data::Ints(vec![answer])))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_chunk_takes_what_is_left() {
        assert_eq!(chunks(7, 3).ok(), Some(vec![3, 3, 1]));
        assert_eq!(chunks(0, 3).ok(), Some(vec![]));
        assert!(chunks(7, 0).is_err() && chunks(u64::MAX, 1).is_err());
    }
}
