//! One op as a shape rule sees it: attributes, and what is known of its inputs.

use std::collections::HashMap;

use arenascope_planner::graph::Dtype;

use super::model::{Attribute, AttributeValue, Node, TensorDef};
use super::value::{Data, Fact, Gap, MAX_ELEMENTS};
use crate::error::one_line;

/// Attributes that a function's body may refer to, by name.
pub(super) type CallAttributes<'m> = HashMap<&'m str, &'m AttributeValue>;

/// What a rule gives: a fact per output, in order; missing ones are unknown.
pub(super) type Facts = Result<Vec<Fact>, Gap>;

/// One op with the facts of its inputs.
pub(super) struct Call<'m> {
    pub(super) node: &'m Node,
    /// By position; `None` for an omitted optional input.
    pub(super) inputs: Vec<Option<Fact>>,
    /// The version of the op's operator set.
    pub(super) opset: i64,
    /// Inside a function: the attributes of the call.
    pub(super) outer: Option<&'m CallAttributes<'m>>,
    /// Whether elements may still be followed: see the pass's budget.
    pub(super) may_evaluate: bool,
}

impl<'m> Call<'m> {
    fn attribute(&self, name: &str) -> Option<&'m AttributeValue> {
        let attribute: &'m Attribute = self.node.attributes.iter().find(|attribute| attribute.name == name)?;
        if attribute.reference.is_empty() { Some(&attribute.value) } else { self.outer?.get(attribute.reference.as_str()).copied() }
    }

    /// Whether an attribute is there, whatever it holds: long lists are not read.
    pub(super) fn has_attribute(&self, name: &str) -> bool {
        self.attribute(name).is_some()
    }

    pub(super) fn int(&self, name: &str) -> Option<i64> {
        match self.attribute(name)? {
            AttributeValue::Int(value) => Some(*value),
            _ => None,
        }
    }

    pub(super) fn int_or(&self, name: &str, default: i64) -> i64 {
        self.int(name).unwrap_or(default)
    }

    pub(super) fn float(&self, name: &str) -> Option<f64> {
        match self.attribute(name)? {
            AttributeValue::Float(value) => Some(*value),
            _ => None,
        }
    }

    pub(super) fn text(&self, name: &str) -> Option<&'m str> {
        match self.attribute(name)? {
            AttributeValue::Text(value) => Some(value),
            _ => None,
        }
    }

    pub(super) fn ints(&self, name: &str) -> Option<&'m [i64]> {
        match self.attribute(name)? {
            AttributeValue::Ints(values) => Some(values),
            _ => None,
        }
    }

    pub(super) fn floats(&self, name: &str) -> Option<&'m [f64]> {
        match self.attribute(name)? {
            AttributeValue::Floats(values) => Some(values),
            _ => None,
        }
    }

    pub(super) fn n_texts(&self, name: &str) -> Option<usize> {
        match self.attribute(name)? {
            AttributeValue::Texts(count) => Some(*count),
            _ => None,
        }
    }

    pub(super) fn tensor(&self, name: &str) -> Option<&'m TensorDef> {
        match self.attribute(name)? {
            AttributeValue::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    pub(super) fn has(&self, index: usize) -> bool {
        self.inputs.get(index).is_some_and(Option::is_some)
    }

    /// The fact of a required input.
    pub(super) fn fact(&self, index: usize) -> Result<&Fact, Gap> {
        self.inputs.get(index).and_then(Option::as_ref).ok_or_else(|| Gap::from(format!("its input {index} is missing")))
    }

    /// The dimensions of a required input.
    pub(super) fn shape(&self, index: usize) -> Result<&[u64], Gap> {
        let fact = self.fact(index)?;
        fact.shape.as_deref().ok_or_else(|| self.upstream(index))
    }

    /// The element type of a required input.
    pub(super) fn dtype(&self, index: usize) -> Result<Dtype, Gap> {
        let fact = self.fact(index)?;
        if fact.dtype == Dtype::Unknown { Err(self.upstream(index)) } else { Ok(fact.dtype) }
    }

    fn upstream(&self, index: usize) -> Gap {
        let name = self.node.inputs.get(index).map_or("", String::as_str);
        Gap { reason: format!("it follows from `{}`, which is unknown", one_line(name)), is_upstream: true }
    }

    /// The elements of a required input that decides the shape.
    pub(super) fn values(&self, index: usize) -> Result<&[i64], Gap> {
        let fact = self.fact(index)?;
        if fact.shape.is_none() {
            return Err(self.upstream(index));
        }
        let name = self.node.inputs.get(index).map_or("", String::as_str);
        fact.ints().ok_or_else(|| Gap::from(format!("it depends on the value of `{}`, which only a run can tell", one_line(name))))
    }

    /// The elements of an optional input; `Ok(None)` if it is omitted.
    pub(super) fn optional_values(&self, index: usize) -> Result<Option<&[i64]>, Gap> {
        if self.has(index) { self.values(index).map(Some) } else { Ok(None) }
    }

    /// The elements of an optional input of floats; `Ok(None)` if it is omitted or empty.
    pub(super) fn optional_floats(&self, index: usize) -> Result<Option<&[f64]>, Gap> {
        if !self.has(index) {
            return Ok(None);
        }
        let fact = self.fact(index)?;
        if fact.elements() == Some(0) {
            return Ok(None);
        }
        let name = self.node.inputs.get(index).map_or("", String::as_str);
        fact.floats().map(Some).ok_or_else(|| Gap::from(format!("it depends on the value of `{}`, which only a run can tell", one_line(name))))
    }

    /// An input's elements, if they are known and may be followed.
    pub(super) fn data(&self, index: usize) -> Option<&Data> {
        if self.may_evaluate { self.inputs.get(index)?.as_ref()?.data.as_deref() } else { None }
    }

    /// An attribute that counts axes from the end where it is negative.
    pub(super) fn axis(&self, name: &str, default: i64, rank: usize) -> Result<usize, Gap> {
        normal_axis(self.int_or(name, default), rank)
    }

    /// How many outputs the op names.
    pub(super) fn n_outputs(&self) -> usize {
        self.node.outputs.len()
    }

    /// The same shape and type as an input.
    pub(super) fn like(&self, index: usize) -> Result<Fact, Gap> {
        Fact::known(self.dtype(index)?, self.shape(index)?.to_vec())
    }
}

/// An axis counted from the front.
pub(super) fn normal_axis(axis: i64, rank: usize) -> Result<usize, Gap> {
    let rank_i = i64::try_from(rank).map_err(|_| Gap::from("too many dimensions"))?;
    let from_front = if axis < 0 { axis.checked_add(rank_i) } else { Some(axis) };
    let inside = from_front.filter(|&axis| axis < rank_i).and_then(|axis| usize::try_from(axis).ok());
    inside.ok_or_else(|| Gap::from(format!("its axis {axis} is outside a tensor of rank {rank}")))
}

/// A dimension as a signed number; facts hold no larger ones.
pub(super) fn signed(dim: u64) -> i64 {
    i64::try_from(dim).unwrap_or(i64::MAX)
}

/// A computed dimension.
pub(super) fn dim(value: i64) -> Result<u64, Gap> {
    u64::try_from(value).map_err(|_| Gap::from(format!("a dimension would be {value}")))
}

/// A count of elements as an index type, if elements are followed for that many.
pub(super) fn small(elements: Option<u64>) -> Option<usize> {
    elements.filter(|&elements| elements <= MAX_ELEMENTS).and_then(|elements| usize::try_from(elements).ok())
}

/// Strides, in elements, of a row-major tensor that is known to be small.
pub(super) fn strides(shape: &[u64]) -> Option<Vec<usize>> {
    let mut strides = vec![1_usize; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].checked_mul(usize::try_from(shape[axis]).ok()?)?;
    }
    Some(strides)
}

/// The coordinates of element `index` of a small row-major tensor.
pub(super) fn coordinates(mut index: usize, strides: &[usize]) -> Vec<usize> {
    strides
        .iter()
        .map(|&stride| {
            let stride = stride.max(1);
            let at = index / stride;
            index %= stride;
            at
        })
        .collect()
}

/// The common shape of two that broadcast.
pub(super) fn broadcast(first: &[u64], second: &[u64]) -> Result<Vec<u64>, Gap> {
    let rank = first.len().max(second.len());
    let at = |shape: &[u64], axis: usize| (axis + shape.len()).checked_sub(rank).map_or(1, |axis| shape[axis]);
    (0..rank)
        .map(|axis| match (at(first, axis), at(second, axis)) {
            (one, two) if one == two => Ok(one),
            (1, two) => Ok(two),
            (one, 1) => Ok(one),
            _ => Err(Gap::from(format!("its inputs {first:?} and {second:?} do not broadcast"))),
        })
        .collect()
}

/// For each element of `shape`, the element of a tensor of shape `from` that broadcasts to it.
pub(super) fn broadcast_indices(from: &[u64], shape: &[u64]) -> Option<Vec<usize>> {
    let total = small(super::value::product(shape.iter().copied()).ok())?;
    let (own, outer) = (strides(from)?, strides(shape)?);
    let skip = shape.len().checked_sub(from.len())?;
    let index = |element: usize| {
        let at = coordinates(element, &outer);
        from.iter().enumerate().map(|(axis, &dim)| if dim == 1 { 0 } else { at[axis + skip] * own[axis] }).sum()
    };
    Some((0..total).map(index).collect())
}
