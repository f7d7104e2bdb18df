//! Kernels as lists of numbers for the device; `kernels/plan.cu` says by kernel what is where.

use super::context::Kernel;
use crate::compute::{Body, Element, Folding, Kernel as Computation, Sliding, Strides};

/// Axes that a list has room for.
const RANK: usize = 8;

/// A launch: which kernel, over how many threads, with which numbers.
pub(super) struct Encoded {
    pub(super) kernel: Kernel,
    pub(super) threads: u64,
    pub(super) words: Vec<u64>,
}

/// A list under construction.
#[derive(Default)]
struct List(Vec<u64>);

impl List {
    fn number(mut self, n: u64) -> Self {
        self.0.push(n);
        self
    }

    fn flag(self, is_set: bool) -> Self {
        self.number(u64::from(is_set))
    }

    fn float(self, value: f64) -> Self {
        self.number(value.to_bits())
    }

    /// Rank and eight lengths.
    fn shape(self, shape: &[u64]) -> Self {
        let mut list = self.number(shape.len() as u64);
        list.0.extend((0..RANK).map(|axis| shape.get(axis).copied().unwrap_or(1)));
        list
    }

    /// An offset and eight strides.
    fn strides(mut self, offset: i64, by_axis: &[i64]) -> Self {
        self.0.push(offset.cast_unsigned());
        self.0.extend((0..RANK).map(|axis| by_axis.get(axis).copied().unwrap_or(0).cast_unsigned()));
        self
    }

    fn sliding(mut self, sliding: &Sliding) -> Self {
        for sizes in [sliding.input, sliding.output, sliding.kernel, sliding.strides, sliding.dilations, sliding.pads] {
            self.0.extend(sizes);
        }
        self
    }
}

fn type_of(element: Element) -> u64 {
    match element {
        Element::F32 => 0,
        Element::I64 => 1,
        Element::I32 => 2,
        Element::Bool => 3,
    }
}

fn fold_of(fold: Folding) -> u64 {
    match fold {
        Folding::Sum => 0,
        Folding::Mean => 1,
        Folding::Max => 2,
        Folding::Min => 3,
        Folding::Product => 4,
        Folding::SumOfSquares => 5,
    }
}

/// Encodes a kernel; `elements` are the types of its output and its inputs, `n_output` the elements of the output.
pub(super) fn encode(computation: &Computation, elements: &[Element], n_output: u64) -> Encoded {
    let element = |operand: usize| elements.get(operand).copied().unwrap_or(Element::F32);
    let own = |kernel: Kernel, threads: u64, list: List| Encoded { kernel, threads, words: list.0 };
    let list = |n: u64| List::default().number(n);
    match &computation.body {
        Body::Map { function, parameters, shape, inputs } => {
            let n = shape.iter().product();
            let mut words = list(n).number(*function as u64).float(parameters[0]).float(parameters[1]).number(inputs.len() as u64);
            for operand in 0..4 {
                words = words.number(type_of(element(operand)));
            }
            words = words.shape(shape);
            for strides in inputs {
                words = words.strides(strides.offset, &strides.by_axis);
            }
            own(Kernel::Map, n, words)
        }
        Body::Copy { shape, from, to } => {
            let n = shape.iter().product();
            let words = list(n).number(element(0).bytes()).shape(shape);
            own(Kernel::Copy, n, words.strides(from.offset, &from.by_axis).strides(to.offset, &to.by_axis))
        }
        Body::Fill { bytes } => {
            let n = n_output * element(0).bytes();
            let mut words = list(n).number(bytes.len() as u64);
            words.0.extend(bytes.chunks(8).map(|chunk| {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                u64::from_le_bytes(word)
            }));
            own(Kernel::Repeat, n, words)
        }
        Body::Product { .. } => own(Kernel::Product, n_output, product(&computation.body, list(n_output))),
        Body::Convolution { groups, channels, filters, sliding, .. } => {
            let words = list(n_output).number(*groups).number(*channels).number(*filters).flag(computation.inputs.len() > 2);
            own(Kernel::Convolution, n_output, words.sliding(sliding))
        }
        Body::Pool { fold, sliding, counts_padding, .. } => {
            own(Kernel::Pool, n_output, list(n_output).flag(*fold == Folding::Max).flag(*counts_padding).sliding(sliding))
        }
        Body::Reduce { fold, kept, kept_strides, folded, folded_strides } => {
            let words = list(n_output).number(fold_of(*fold)).number(folded.iter().product()).shape(kept).strides(0, kept_strides);
            own(Kernel::Reduce, n_output, words.shape(folded).strides(0, folded_strides))
        }
        &Body::Softmax { outer, length, inner, is_log } => {
            own(Kernel::Softmax, outer * inner, list(outer * inner).number(length).number(inner).flag(is_log))
        }
        &Body::Normalise { rows, length, run, n_scales, is_centred, epsilon } => {
            let words = list(rows).number(length).number(run).number(n_scales).flag(is_centred).float(epsilon);
            own(Kernel::Normalise, rows, words.flag(computation.inputs.len() > 2))
        }
        &Body::NormaliseGiven { channels, inner, epsilon, .. } => {
            own(Kernel::NormaliseGiven, n_output, list(n_output).number(channels).number(inner).float(epsilon))
        }
        &Body::Gather { length, inner, n_indices, .. } => {
            let n = n_output * element(0).bytes();
            let words = list(n).number(inner * element(0).bytes()).number(length).number(n_indices).number(type_of(element(2)));
            own(Kernel::Gather, n, words)
        }
        &Body::NegativeLogLikelihood { rows, classes } => own(Kernel::Loss, 1, list(1).number(rows).number(classes).number(type_of(element(2)))),
        &Body::NegativeLogLikelihoodGradient { rows, classes } => {
            own(Kernel::LossGradient, n_output, list(n_output).number(rows).number(classes).number(type_of(element(1))))
        }
        &Body::LogSoftmaxGradient { rows, length } => own(Kernel::SoftmaxGradient, rows, list(rows).number(length)),
    }
}

fn product(body: &Body, list: List) -> List {
    let Body::Product { batch, rows, columns, depth, a, b, c, alpha, beta } = body else { return list };
    let mut words = list.number(*rows).number(*columns).number(*depth).shape(batch).float(*alpha).float(*beta).flag(c.is_some());
    let none = Strides { offset: 0, by_axis: vec![0; batch.len() + 2] };
    for strides in [a, b, c.as_ref().unwrap_or(&none)] {
        let (outer, inner) = strides.by_axis.split_at(batch.len());
        words = words.strides(strides.offset, outer);
        words.0.extend(inner.iter().map(|stride| stride.cast_unsigned()));
    }
    words
}
