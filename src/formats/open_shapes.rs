//! Open dimensions of op outputs, for files that give every output a shape and mark the open ones in it.
//!
//! The known dimensions of the file stay as they are; only the open ones are filled in, and only where they follow from
//! the inputs for certain.

/// How the open dimensions of an output follow from the inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// The inputs, broadcast against each other.
    Broadcast,
    /// The elements of the first input in another shape.
    Elements,
    /// As many elements as this.
    Count(u64),
    /// The dimensions of the first input in another order.
    Permute,
    /// The same axes as the first input.
    SameAxes,
    /// Axis 0 is that of the first input whose axis 0 is open; other open axes are not known.
    Batch,
    /// Some axes of the first input, in their order: known ones are found again by their number.
    Subsequence,
    /// The inputs one after the other along an axis.
    Concat(i64),
    /// A matrix product, with the last two axes of an input swapped or not.
    MatMul { swap_a: bool, swap_b: bool },
    /// Rows of the first input, looked up by the second.
    Lookup,
    /// A window that slides over the axes from 2 on.
    Window(Window),
}

/// What a window that slides over axes does, by axis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) kernel: Vec<u64>,
    pub(crate) strides: Vec<u64>,
    pub(crate) dilations: Vec<u64>,
    pub(crate) pads_begin: Vec<u64>,
    pub(crate) pads_end: Vec<u64>,
    /// The output is the input divided by the stride, whatever the kernel.
    pub(crate) same: bool,
    /// A window that hangs over the end counts.
    pub(crate) ceil: bool,
    /// Axis 1 is the input's.
    pub(crate) keeps_channels: bool,
}

/// An input: its dimensions as numbers, and which of them the file leaves open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input<'s> {
    pub(crate) dims: &'s [u64],
    pub(crate) declared: &'s [Option<u64>],
}

/// The output's dimensions, or `None` if an open one does not follow. Time and space O(dimensions).
pub(crate) fn complete(rule: &Rule, declared: &[Option<u64>], inputs: &[Input<'_>]) -> Option<Vec<u64>> {
    let first = inputs.first();
    let same_axis = |axis: usize| first?.dims.get(axis).copied();
    match rule {
        Rule::Broadcast => fill(declared, |axis| broadcast(axis, declared.len(), inputs)),
        Rule::Elements => by_count(declared, product(first?.dims)?),
        Rule::Count(count) => by_count(declared, *count),
        Rule::Permute => leftover(declared, first?.dims),
        Rule::SameAxes => fill(declared, same_axis),
        Rule::Batch => {
            let batch = inputs.iter().find(|input| input.declared.first() == Some(&None)).and_then(|input| input.dims.first().copied());
            fill(declared, |axis| batch.filter(|_| axis == 0))
        }
        Rule::Subsequence => {
            let mut found = None;
            let is_only = first.is_some_and(|input| only_subsequence(declared, input, &mut Vec::new(), &mut found));
            found.filter(|_| is_only)
        }
        Rule::Concat(axis) => {
            let rank = i64::try_from(declared.len()).ok()?;
            let along = usize::try_from(if *axis < 0 { axis + rank } else { *axis }).ok()?;
            let sum = || inputs.iter().try_fold(0_u64, |sum, input| sum.checked_add(*input.dims.get(along)?));
            fill(declared, |axis| if axis == along { sum() } else { same_axis(axis) })
        }
        Rule::MatMul { swap_a, swap_b } => mat_mul(declared, inputs, *swap_a, *swap_b),
        Rule::Lookup => {
            let [table, indices, ..] = inputs else { return None };
            let found: Vec<u64> = indices.dims.iter().chain(table.dims.get(1..)?).copied().collect();
            (found.len() == declared.len()).then_some(())?;
            fill(declared, |axis| found.get(axis).copied())
        }
        Rule::Window(window) => fill(declared, |axis| match axis {
            0 => same_axis(0),
            1 => same_axis(1).filter(|_| window.keeps_channels),
            _ => window.slide(axis - 2, same_axis(axis)?),
        }),
    }
}

fn fill(declared: &[Option<u64>], open: impl Fn(usize) -> Option<u64>) -> Option<Vec<u64>> {
    declared.iter().enumerate().map(|(axis, dim)| dim.or_else(|| open(axis))).collect()
}

fn product(dims: &[u64]) -> Option<u64> {
    dims.iter().try_fold(1_u64, |product, &dim| product.checked_mul(dim))
}

/// Axes count from the last one; a dimension of 1 gives way.
fn broadcast(axis: usize, rank: usize, inputs: &[Input<'_>]) -> Option<u64> {
    let dim = |input: &Input<'_>| (axis + input.dims.len()).checked_sub(rank).and_then(|own| input.dims.get(own).copied());
    let mut dims = inputs.iter().filter_map(dim).filter(|&dim| dim != 1);
    let found = dims.next().unwrap_or(1);
    dims.all(|other| other == found).then_some(found)
}

/// The one open dimension, from how many elements there are.
fn by_count(declared: &[Option<u64>], count: u64) -> Option<Vec<u64>> {
    let known: Vec<u64> = declared.iter().copied().flatten().collect();
    let known_product = product(&known)?;
    if declared.len() - known.len() > 1 {
        return None;
    }
    let open = (known_product > 0 && count.is_multiple_of(known_product)).then(|| count / known_product);
    fill(declared, |_| open)
}

/// What is left of the input's dimensions when the known ones are taken away, if that is one number.
fn leftover(declared: &[Option<u64>], dims: &[u64]) -> Option<Vec<u64>> {
    let mut left = dims.to_vec();
    (left.len() == declared.len()).then_some(())?;
    for known in declared.iter().flatten() {
        let position = left.iter().position(|dim| dim == known)?;
        left.swap_remove(position);
    }
    let only = left.first().copied().filter(|first| left.iter().all(|other| other == first));
    fill(declared, |_| only)
}

/// Looks for the axes of `input` that `declared` may stand for, after those `taken`; `false` if two ways of choosing
/// them give two shapes. Time O(2^axes); inputs of more than 12 axes are not looked at.
fn only_subsequence(declared: &[Option<u64>], input: &Input<'_>, taken: &mut Vec<usize>, found: &mut Option<Vec<u64>>) -> bool {
    const MAX_AXES: usize = 12;
    if input.dims.len() > MAX_AXES {
        return false;
    }
    let Some(wanted) = declared.get(taken.len()) else {
        let shape: Vec<u64> = taken.iter().map(|&axis| input.dims[axis]).collect();
        return *found.get_or_insert_with(|| shape.clone()) == shape;
    };
    let from = taken.last().map_or(0, |&axis| axis + 1);
    for axis in (from..input.dims.len()).filter(|&axis| input.declared[axis] == *wanted) {
        taken.push(axis);
        let is_only = only_subsequence(declared, input, taken, found);
        taken.pop();
        if !is_only {
            return false;
        }
    }
    true
}

fn mat_mul(declared: &[Option<u64>], inputs: &[Input<'_>], swap_a: bool, swap_b: bool) -> Option<Vec<u64>> {
    let [a, b, ..] = inputs else { return None };
    let rank = declared.len();
    (a.dims.len() >= 2 && b.dims.len() >= 2 && rank >= 2).then_some(())?;
    let from_end = |input: &Input<'_>, back: usize| input.dims.len().checked_sub(back).and_then(|axis| input.dims.get(axis).copied());
    fill(declared, |axis| match rank - axis {
        1 => from_end(b, if swap_b { 2 } else { 1 }),
        2 => from_end(a, if swap_a { 1 } else { 2 }),
        _ => broadcast(axis, rank, &inputs[..2]),
    })
}

impl Window {
    fn slide(&self, axis: usize, dim: u64) -> Option<u64> {
        let number = |list: &[u64], default: u64| if list.is_empty() { Some(default) } else { list.get(axis).copied() };
        let stride = number(&self.strides, 1).filter(|&stride| stride > 0)?;
        if self.same {
            return Some(dim.div_ceil(stride));
        }
        let reach = self.kernel.get(axis)?.checked_sub(1)?.checked_mul(number(&self.dilations, 1)?)?.checked_add(1)?;
        let padded = dim.checked_add(number(&self.pads_begin, 0)?)?.checked_add(number(&self.pads_end, 0)?)?;
        let room = padded.checked_sub(reach)?;
        Some(if self.ceil { room.div_ceil(stride) } else { room / stride } + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: Option<u64> = None;

    fn known(dims: &[u64]) -> Vec<Option<u64>> {
        dims.iter().copied().map(Some).collect()
    }

    fn completed(rule: &Rule, declared: &[Option<u64>], inputs: &[(&[u64], &[Option<u64>])]) -> Option<Vec<u64>> {
        let inputs: Vec<Input<'_>> = inputs.iter().map(|&(dims, declared)| Input { dims, declared }).collect();
        complete(rule, declared, &inputs)
    }

    #[test]
    fn shapes_follow_where_they_must() {
        let batch: (&[u64], &[Option<u64>]) = (&[4, 3, 10], &[OPEN, Some(3), Some(10)]);
        for (rule, declared, expected) in [
            (Rule::Broadcast, vec![OPEN, Some(3), Some(10)], Some(vec![4, 3, 10])),
            (Rule::Elements, vec![OPEN, Some(5)], Some(vec![24, 5])),
            (Rule::Elements, vec![OPEN, Some(7)], None),
            (Rule::Elements, vec![OPEN, OPEN], None),
            (Rule::Count(40), vec![OPEN, Some(10)], Some(vec![4, 10])),
            (Rule::Permute, vec![Some(3), OPEN, Some(10)], Some(vec![3, 4, 10])),
            (Rule::SameAxes, vec![OPEN, Some(1), Some(1)], Some(vec![4, 1, 1])),
            (Rule::Batch, vec![OPEN, Some(8)], Some(vec![4, 8])),
            (Rule::Batch, vec![OPEN, OPEN], None),
            (Rule::Subsequence, vec![OPEN, Some(10)], Some(vec![4, 10])),
            (Rule::Subsequence, vec![Some(3), OPEN], None),
        ] {
            assert_eq!(completed(&rule, &declared, &[batch]), expected, "{rule:?} {declared:?}");
        }
    }

    #[test]
    fn what_is_left_of_a_shape_is_known_if_it_can_be_only_one() {
        let image: (&[u64], &[Option<u64>]) = (&[4, 8, 20, 30], &[OPEN, Some(8), OPEN, OPEN]);
        assert_eq!(completed(&Rule::Subsequence, &[OPEN, Some(8)], &[image]), Some(vec![4, 8]));
        assert_eq!(completed(&Rule::Subsequence, &[OPEN, OPEN], &[image]), None);
        assert_eq!(completed(&Rule::Subsequence, &[Some(8), OPEN, OPEN], &[image]), Some(vec![8, 20, 30]));
    }

    #[test]
    fn two_inputs_make_one_shape() {
        let (a, b): (&[u64], &[u64]) = (&[2, 5, 7], &[7, 9]);
        let (open_a, known_b) = ([OPEN, OPEN, Some(7)], known(b));
        let product = Rule::MatMul { swap_a: false, swap_b: false };
        assert_eq!(completed(&product, &[OPEN, OPEN, Some(9)], &[(a, &open_a), (b, &known_b)]), Some(vec![2, 5, 9]));
        let scores = Rule::MatMul { swap_a: false, swap_b: true };
        assert_eq!(completed(&scores, &[OPEN, OPEN, OPEN], &[(a, &open_a), (a, &open_a)]), Some(vec![2, 5, 5]));
        assert_eq!(completed(&Rule::Concat(-2), &[OPEN, OPEN, Some(7)], &[(a, &open_a), (a, &open_a)]), Some(vec![2, 10, 7]));
        let table: (&[u64], &[Option<u64>]) = (&[100, 16], &known(&[100, 16]));
        assert_eq!(completed(&Rule::Lookup, &[OPEN, OPEN, Some(16)], &[table, (&[2, 5], &[OPEN, OPEN])]), Some(vec![2, 5, 16]));
        assert_eq!(completed(&Rule::Broadcast, &[OPEN, OPEN], &[(&[4, 1], &[OPEN, Some(1)]), (&[1, 6], &[Some(1), OPEN])]), Some(vec![4, 6]));
    }

    #[test]
    fn windows_slide_as_published() {
        // torchvision's ResNet-50 stem on 224 × 224: 7 × 7 by 2 with 3 around gives 112, and 3 × 3 by 2 with 1 around 56.
        let stem = Window { kernel: vec![7, 7], strides: vec![2, 2], pads_begin: vec![3, 3], pads_end: vec![3, 3], ..Window::default() };
        let input: (&[u64], &[Option<u64>]) = (&[1, 3, 224, 224], &[OPEN, Some(3), OPEN, OPEN]);
        assert_eq!(completed(&Rule::Window(stem), &[OPEN, Some(64), OPEN, OPEN], &[input]), Some(vec![1, 64, 112, 112]));
        let pool = Window { kernel: vec![3], strides: vec![2], pads_begin: vec![1], pads_end: vec![1], ..Window::default() };
        assert_eq!(pool.slide(0, 112), Some(56));
        assert_eq!(Window { same: true, strides: vec![2], ..Window::default() }.slide(0, 7), Some(4));
        // 5 with a window of 2 by 2: the last element counts only if a window may hang over.
        let two = Window { kernel: vec![2], strides: vec![2], ..Window::default() };
        assert_eq!((two.slide(0, 5), Window { ceil: true, ..two }.slide(0, 5)), (Some(2), Some(3)));
        let dilated = Window { kernel: vec![3], dilations: vec![2], ..Window::default() };
        assert_eq!((dilated.slide(0, 10), dilated.slide(0, 3)), (Some(6), None));
    }
}
