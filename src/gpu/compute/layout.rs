//! Where elements are: layouts of tensors and views, and the strides by which moves read and write them.

use arenascope_planner::arithmetic::Moves;

use super::{Element, Strides};

/// Where a tensor's elements are in the storage of the value that it is a view of.
#[derive(Clone)]
pub(super) struct Layout {
    pub(super) shape: Vec<u64>,
    pub(super) strides: Vec<i64>,
    pub(super) offset: i64,
    pub(super) element: Element,
}

impl Layout {
    pub(super) fn plain(shape: &[u64], element: Element) -> Self {
        Self { shape: shape.to_vec(), strides: row_by_row(shape), offset: 0, element }
    }

    pub(super) fn n_elements(&self) -> u64 {
        if self.shape.contains(&0) { 0 } else { self.shape.iter().fold(1, |product: u64, &length| product.saturating_mul(length)) }
    }

    pub(super) fn is_plain(&self) -> bool {
        let is_right = |(axis, stride): (usize, &i64)| self.shape[axis] == 1 || row_by_row(&self.shape)[axis] == *stride;
        self.offset == 0 && self.strides.iter().enumerate().all(is_right)
    }
}

pub(super) fn row_by_row(shape: &[u64]) -> Vec<i64> {
    let mut strides = vec![1_i64; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].saturating_mul(signed(shape[axis]));
    }
    strides
}

pub(super) fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Strides of a tensor that is stretched to `shape`.
pub(super) fn stretched(layout: &Layout, shape: &[u64]) -> Result<Strides, String> {
    let skip = shape.len().checked_sub(layout.shape.len()).ok_or("an input of more axes than the output")?;
    let mut by_axis = vec![0; shape.len()];
    for (axis, &length) in layout.shape.iter().enumerate() {
        if length != 1 && length != shape[axis + skip] {
            return Err(format!("the shape {:?} does not stretch to {shape:?}", layout.shape));
        }
        by_axis[axis + skip] = if length == 1 { 0 } else { layout.strides[axis] };
    }
    Ok(Strides { offset: layout.offset, by_axis })
}

/// Where the elements of an output of `shape` come from.
pub(super) fn moved(moves: &Moves, from: &Layout, shape: &[u64]) -> Result<Strides, String> {
    match moves {
        Moves::Transpose(order) => {
            let is_right = order.len() == from.shape.len()
                && order.len() == shape.len()
                && order.iter().zip(shape).all(|(&axis, &length)| from.shape.get(axis) == Some(&length));
            if !is_right {
                return Err("an order of axes that does not fit its shape".to_owned());
            }
            Ok(Strides { offset: from.offset, by_axis: order.iter().map(|&axis| from.strides[axis]).collect() })
        }
        Moves::Slice(ranges) => {
            if ranges.len() != from.shape.len() || shape.len() != from.shape.len() {
                return Err("ranges that do not fit its shape".to_owned());
            }
            let mut strides = Strides { offset: from.offset, by_axis: Vec::new() };
            for (axis, &(start, step)) in ranges.iter().enumerate() {
                let last = step.saturating_mul(signed(shape[axis]).saturating_sub(1)).saturating_add(start);
                let is_inside = |index: i64| (0..signed(from.shape[axis])).contains(&index);
                if shape[axis] > 0 && !(is_inside(start) && is_inside(last)) {
                    return Err("a range that leaves its input".to_owned());
                }
                strides.offset = strides.offset.saturating_add(start.saturating_mul(from.strides[axis]));
                strides.by_axis.push(step.saturating_mul(from.strides[axis]));
            }
            Ok(strides)
        }
        Moves::Stretch => stretched(from, shape),
        _ => Err("no view".to_owned()),
    }
}

/// Every axis becomes two: the times beside the elements, or around them.
pub(super) fn repeated(is_tile: bool, times: &[u64], from: &Layout, to: &Layout) -> Result<(Vec<u64>, Strides, Strides), String> {
    let fits = |axis: usize| from.shape[axis].checked_mul(times[axis]) == to.shape.get(axis).copied();
    if times.len() != from.shape.len() || to.shape.len() != times.len() || !(0..times.len()).all(fits) {
        return Err("repetitions that do not fit its shape".to_owned());
    }
    let (mut shape, mut source, mut target) = (Vec::new(), Vec::new(), Vec::new());
    for (axis, &times) in times.iter().enumerate() {
        let own = (from.shape[axis], from.strides[axis], to.strides[axis] * if is_tile { 1 } else { signed(times) });
        let again = (times, 0, to.strides[axis] * if is_tile { signed(from.shape[axis]) } else { 1 });
        for (length, from_stride, to_stride) in if is_tile { [again, own] } else { [own, again] } {
            shape.push(length);
            source.push(from_stride);
            target.push(to_stride);
        }
    }
    Ok((shape, Strides { offset: from.offset, by_axis: source }, Strides { offset: 0, by_axis: target }))
}

/// Fewer axes: those of length 1 go, and neighbours that every operand walks through in one stride become one.
pub(super) fn collapsed<const N: usize>(shape: &[u64], strides: [Strides; N]) -> (Vec<u64>, [Strides; N]) {
    let (shape, strides) = collapsed_all(shape, strides.to_vec());
    (shape, strides.try_into().unwrap_or_else(|_| unreachable!("as many come back as went in")))
}

pub(super) fn collapsed_all(shape: &[u64], mut strides: Vec<Strides>) -> (Vec<u64>, Vec<Strides>) {
    // An output that is row by row limits nothing that the operands allow.
    let mut lengths: Vec<u64> = Vec::new();
    let mut axes: Vec<Vec<i64>> = vec![Vec::new(); strides.len()];
    for (axis, &length) in shape.iter().enumerate().filter(|&(_, &length)| length != 1) {
        let joins = !lengths.is_empty()
            && strides
                .iter()
                .zip(&axes)
                .all(|(own, done)| done.last().is_some_and(|&outer| outer == own.by_axis[axis].saturating_mul(signed(length))));
        if joins {
            if let Some(last) = lengths.last_mut() {
                *last *= length;
            }
            for (own, done) in strides.iter().zip(&mut axes) {
                if let Some(last) = done.last_mut() {
                    *last = own.by_axis[axis];
                }
            }
        } else {
            lengths.push(length);
            for (own, done) in strides.iter().zip(&mut axes) {
                done.push(own.by_axis[axis]);
            }
        }
    }
    for (own, done) in strides.iter_mut().zip(axes) {
        own.by_axis = done;
    }
    (lengths, strides)
}
