//! From formulas over shapes to kernels over strides.
//!
//! Views take part: a transposed view has no elements of its own, and what reads it reads its storage by other strides.
//! Every operand's size is checked here against what its kernel touches.

use arenascope_planner::arithmetic::{Arithmetic, Elements, Fold, Formula, Function, Moves, Window};
use arenascope_planner::graph::{Dtype, Graph, Role};
use arenascope_planner::ids::{OpId, TensorId};
use arenascope_planner::prepare::GraphContext;

use super::layout::{Layout, collapsed, collapsed_all, moved, repeated, row_by_row, signed, stretched};
use super::{Body, ComputeProgram, ComputeTensor, Element, Folding, Kernel, MapFunction, Sliding, Source, Strides};
use crate::program::Program;

/// An op that cannot be computed, and why.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ComputeError {
    /// The op itself.
    #[error("op `{op}` ({kind}) cannot be computed: {why}; `run --mode integrity` runs every op")]
    Op {
        /// The op's name.
        op: String,
        /// Its kind.
        kind: String,
        /// What is the matter.
        why: String,
    },
    /// The plan.
    #[error("{0}")]
    Plan(String),
}

/// Axes that a kernel may have: more than any model here, and few enough for a kernel's registers.
pub(crate) const MAX_RANK: usize = 8;

struct Lowering<'a> {
    program: &'a Program,
    graph: &'a Graph,
    /// By tensor id; `None` for what has no bytes or no known shape.
    layouts: Vec<Option<Layout>>,
    value_of: &'a [Option<usize>],
}

/// The kernels of a program. `value_of` gives the value of each tensor.
pub(crate) fn lower(program: &Program, context: &GraphContext, value_of: &[Option<usize>]) -> Result<ComputeProgram, ComputeError> {
    let graph: &Graph = &context.graph;
    let mut lowering = Lowering { program, graph, layouts: vec![None; graph.tensors().len()], value_of };
    for tensor in graph.tensor_ids() {
        lowering.layouts[tensor.index()] = lowering.plain_layout(tensor);
    }
    let mut steps = Vec::with_capacity(context.schedule.order().len());
    for &op in context.schedule.order() {
        let kernels = lowering.op(op).map_err(|why| {
            let op = graph.op(op);
            ComputeError::Op { op: op.name.clone(), kind: op.kind.clone(), why }
        })?;
        steps.push(kernels);
    }
    let tensors = lowering.tensors()?;
    check_alignment(program, &tensors)?;
    Ok(ComputeProgram { tensors, steps })
}

fn check_alignment(program: &Program, tensors: &[ComputeTensor]) -> Result<(), ComputeError> {
    for (value, tensor) in program.values.iter().zip(tensors) {
        let buffer = &program.buffers[value.buffer];
        if !(buffer.offset + value.shift).is_multiple_of(tensor.element.bytes()) {
            let (name, bytes) = (&value.name, tensor.element.bytes());
            return Err(ComputeError::Plan(format!(
                "`{name}` does not begin at a multiple of its element's {bytes} bytes: plan with --align 8 or more"
            )));
        }
        if tensor.bytes() > buffer.size_bytes {
            let (name, bytes) = (&value.name, tensor.bytes());
            return Err(ComputeError::Plan(format!("`{name}` has {bytes} bytes by type and shape, and the file says {}", buffer.size_bytes)));
        }
    }
    Ok(())
}

type Kernels = Result<Vec<Kernel>, String>;

impl Lowering<'_> {
    fn plain_layout(&self, tensor: TensorId) -> Option<Layout> {
        let tensor = self.graph.tensor(tensor);
        let element = match tensor.dtype {
            Dtype::F32 => Element::F32,
            Dtype::I64 => Element::I64,
            Dtype::I32 => Element::I32,
            Dtype::Bool => Element::Bool,
            _ => return None,
        };
        tensor.shape.as_ref().map(|shape| Layout::plain(shape, element))
    }

    fn layout(&self, tensor: TensorId) -> Result<&Layout, String> {
        self.layouts[tensor.index()].as_ref().ok_or_else(|| {
            let tensor = self.graph.tensor(tensor);
            let what = if tensor.shape.is_none() { "an unknown shape".to_owned() } else { format!("the element type {}", tensor.dtype.name()) };
            format!("`{}` has {what}", tensor.name)
        })
    }

    fn value(&self, tensor: TensorId) -> Result<usize, String> {
        self.value_of[tensor.index()].ok_or_else(|| format!("`{}` has no bytes", self.graph.tensor(tensor).name))
    }

    fn is_view(&self, op: OpId, output: TensorId) -> bool {
        let is_own = |value: usize| self.program.values[value].tag as usize == value;
        self.graph.op(op).views.iter().any(|&(_, view)| view == output) && self.value_of[output.index()].is_some_and(|value| !is_own(value))
    }

    fn op(&mut self, id: OpId) -> Kernels {
        let graph = self.graph;
        let op = graph.op(id);
        let outputs: Vec<TensorId> = op.outputs.iter().copied().filter(|&output| graph.tensor(output).role != Role::Workspace).collect();
        if outputs.iter().all(|output| graph.tensor(*output).bytes == Some(0)) {
            return Ok(Vec::new());
        }
        let arithmetic = graph.arithmetic(id).ok_or("no kernel is known for it")?;
        if let [output] = outputs[..]
            && self.is_view(id, output)
        {
            self.view(arithmetic, output)?;
            return Ok(Vec::new());
        }
        let mut kernels = match &arithmetic.formula {
            Formula::Move(moves) => self.moves(moves, &arithmetic.operands, &outputs)?,
            formula => {
                let [output] = outputs[..] else { return Err("more than one output".to_owned()) };
                vec![self.kernel(formula, &arithmetic.operands, output)?]
            }
        };
        kernels.retain(|kernel| self.program.values[kernel.output].bytes > 0);
        Ok(kernels)
    }

    /// A view: the same storage by other strides.
    fn view(&mut self, arithmetic: &Arithmetic, output: TensorId) -> Result<(), String> {
        let &[input] = arithmetic.operands.as_slice() else { return Err("a view of several tensors".to_owned()) };
        let from = self.layout(input)?.clone();
        let to = self.layout(output)?.clone();
        let layout = match &arithmetic.formula {
            Formula::Move(Moves::Same) if from.is_plain() && from.element == to.element => to,
            Formula::Move(moves @ (Moves::Transpose(_) | Moves::Slice(_) | Moves::Stretch)) => {
                let strides = moved(moves, &from, &to.shape)?;
                Layout { strides: strides.by_axis, offset: strides.offset, ..to }
            }
            _ => return Err("a view that is not described by strides".to_owned()),
        };
        self.layouts[output.index()] = Some(layout);
        Ok(())
    }

    fn moves(&self, moves: &Moves, operands: &[TensorId], outputs: &[TensorId]) -> Kernels {
        let copy = |output: TensorId, input: TensorId, shape: Vec<u64>, from: Strides, to: Strides| {
            let (output, input) = (self.value(output)?, self.value(input)?);
            let (shape, [from, to]) = collapsed(&shape, [from, to]);
            if shape.len() > MAX_RANK {
                return Err(format!("{} axes", shape.len()));
            }
            Ok(Kernel { output, inputs: vec![input], body: Body::Copy { shape, from, to } })
        };
        let part = |layout: &Layout, axis: usize, start: u64| Strides {
            offset: layout.offset + layout.strides[axis] * signed(start),
            by_axis: layout.strides.clone(),
        };
        let first_output = *outputs.first().ok_or("no output")?;
        let to = self.layout(first_output)?;
        match moves {
            Moves::Concatenate(axis) => {
                let mut start = 0;
                let mut kernels = Vec::new();
                for &input in operands {
                    let from = self.layout(input)?;
                    let length = *from.shape.get(*axis).ok_or("an axis that is not there")?;
                    if from.n_elements() > 0 {
                        let strides = Strides { offset: from.offset, by_axis: from.strides.clone() };
                        kernels.push(copy(first_output, input, from.shape.clone(), strides, part(to, *axis, start))?);
                    }
                    start += length;
                }
                Ok(kernels)
            }
            Moves::Split(axis) => {
                let &[input] = operands else { return Err("several inputs".to_owned()) };
                let from = self.layout(input)?;
                let mut start = 0;
                let mut kernels = Vec::new();
                for &output in outputs {
                    let to = self.layout(output)?;
                    let length = *to.shape.get(*axis).ok_or("an axis that is not there")?;
                    if to.n_elements() > 0 {
                        let strides = Strides { offset: 0, by_axis: to.strides.clone() };
                        kernels.push(copy(output, input, to.shape.clone(), part(from, *axis, start), strides)?);
                    }
                    start += length;
                }
                Ok(kernels)
            }
            _ => {
                let &[input] = operands else { return Err("several inputs".to_owned()) };
                let from = self.layout(input)?;
                if from.element != to.element {
                    return Err("input and output of different element types".to_owned());
                }
                let (shape, from, to) = match moves {
                    Moves::Same => {
                        if from.n_elements() != to.n_elements() {
                            return Err("input and output of different sizes".to_owned());
                        }
                        (
                            from.shape.clone(),
                            Strides { offset: from.offset, by_axis: from.strides.clone() },
                            Strides { offset: 0, by_axis: row_by_row(&from.shape) },
                        )
                    }
                    Moves::Repeat(times) | Moves::Tile(times) => repeated(matches!(moves, Moves::Tile(_)), times, from, to)?,
                    other => (to.shape.clone(), moved(other, from, &to.shape)?, Strides { offset: 0, by_axis: to.strides.clone() }),
                };
                Ok(vec![copy(first_output, input, shape, from, to)?])
            }
        }
    }

    /// Operands that a kernel reads row by row.
    fn plain(&self, tensor: TensorId) -> Result<&Layout, String> {
        let layout = self.layout(tensor)?;
        if layout.is_plain() { Ok(layout) } else { Err(format!("`{}` is a view with strides of its own", self.graph.tensor(tensor).name)) }
    }

    fn float(&self, tensor: TensorId) -> Result<&Layout, String> {
        let layout = self.plain(tensor)?;
        if layout.element == Element::F32 { Ok(layout) } else { Err(format!("`{}` does not hold 32-bit floats", self.graph.tensor(tensor).name)) }
    }

    fn kernel(&self, formula: &Formula, operands: &[TensorId], output: TensorId) -> Result<Kernel, String> {
        let to = self.layout(output)?;
        let body = match formula {
            Formula::Map(function) => return self.map(*function, operands, output),
            Formula::Known(elements) => Body::Fill { bytes: encoded(elements, to.element) },
            Formula::Fill(value) => Body::Fill { bytes: encoded(&Elements::Floats(vec![*value]), to.element) },
            Formula::Gather { axis } => self.gather(*axis, operands, to)?,
            Formula::Product { .. } => self.product(formula, operands, to)?,
            Formula::Convolution { groups, window } => self.convolution(*groups, window, operands, to)?,
            Formula::Pool { fold, kernel, window, counts_padding } => {
                let &[x] = operands else { return Err("not one input".to_owned()) };
                let x = self.float(x)?;
                let sliding = sliding(x.shape.get(2..), to.shape.get(2..), kernel, window)?;
                let planes = to.shape.get(..2).ok_or("no channels")?.iter().product();
                Body::Pool { fold: folding(*fold), planes, sliding, counts_padding: *counts_padding }
            }
            Formula::Reduce { fold, axes } => self.reduce(*fold, axes, operands)?,
            Formula::Softmax { axis, is_folded, is_log } => {
                let shape = &self.float(*operands.first().ok_or("no input")?)?.shape;
                let count = |dims: &[u64]| dims.iter().product::<u64>();
                let end = if *is_folded { shape.len() } else { axis + 1 };
                Body::Softmax { outer: count(&shape[..*axis]), length: count(&shape[*axis..end]), inner: count(&shape[end..]), is_log: *is_log }
            }
            Formula::Normalise { .. } | Formula::NormaliseGiven { .. } => self.normalise(formula, operands)?,
            Formula::NegativeLogLikelihood | Formula::NegativeLogLikelihoodGradient | Formula::LogSoftmaxGradient => self.loss(formula, operands)?,
            Formula::Move(_) => return Err("a move is no formula".to_owned()),
        };
        let reads = match formula {
            Formula::NegativeLogLikelihoodGradient => &operands[1..2],
            _ => operands,
        };
        let inputs = reads.iter().map(|&input| self.value(input)).collect::<Result<_, _>>()?;
        Ok(Kernel { output: self.value(output)?, inputs, body })
    }

    fn map(&self, function: Function, operands: &[TensorId], output: TensorId) -> Result<Kernel, String> {
        let to = self.layout(output)?;
        if operands.len() != function.arity() {
            return Err(format!("{} inputs", operands.len()));
        }
        let layouts = operands.iter().map(|&operand| self.layout(operand)).collect::<Result<Vec<_>, _>>()?;
        let strides = layouts.iter().map(|layout| stretched(layout, &to.shape)).collect::<Result<Vec<_>, _>>()?;
        let (shape, inputs) = collapsed_all(&to.shape, strides);
        if shape.len() > MAX_RANK {
            return Err(format!("{} axes", shape.len()));
        }
        let (function, parameters) = lowered(function);
        let inputs_of = operands.iter().map(|&operand| self.value(operand)).collect::<Result<_, _>>()?;
        Ok(Kernel { output: self.value(output)?, inputs: inputs_of, body: Body::Map { function, parameters, shape, inputs } })
    }

    fn gather(&self, axis: usize, operands: &[TensorId], to: &Layout) -> Result<Body, String> {
        let &[x, indices] = operands else { return Err("not two inputs".to_owned()) };
        let (x, indices) = (self.plain(x)?, self.plain(indices)?);
        if !matches!(indices.element, Element::I64 | Element::I32) || x.element != to.element || x.n_elements() == 0 {
            return Err("indices that are no whole numbers, or nothing to pick from".to_owned());
        }
        let count = |dims: &[u64]| dims.iter().product::<u64>();
        Ok(Body::Gather {
            outer: count(&x.shape[..axis]),
            length: x.shape[axis],
            inner: count(&x.shape[axis + 1..]),
            n_indices: indices.n_elements(),
        })
    }

    fn product(&self, formula: &Formula, operands: &[TensorId], to: &Layout) -> Result<Body, String> {
        let &Formula::Product { transpose_a, transpose_b, alpha, beta } = formula else { return Err("no product".to_owned()) };
        let (first, second) = match operands {
            [first, second] | [first, second, _] => (*first, *second),
            _ => return Err("not two or three inputs".to_owned()),
        };
        let matrix = |tensor: TensorId, is_second: bool, is_transposed: bool| -> Result<Layout, String> {
            let mut layout = self.layout(tensor)?.clone();
            if layout.element != Element::F32 {
                return Err(format!("`{}` does not hold 32-bit floats", self.graph.tensor(tensor).name));
            }
            if layout.shape.len() == 1 {
                // A vector is a row on the left and a column on the right.
                let at = if is_second { 1 } else { 0 };
                layout.shape.insert(at, 1);
                layout.strides.insert(at, 0);
            }
            let rank = layout.shape.len();
            if rank < 2 {
                return Err("a product of scalars".to_owned());
            }
            if is_transposed {
                layout.shape.swap(rank - 1, rank - 2);
                layout.strides.swap(rank - 1, rank - 2);
            }
            Ok(layout)
        };
        let (a, b) = (matrix(first, false, transpose_a)?, matrix(second, true, transpose_b)?);
        let (rows, depth) = (a.shape[a.shape.len() - 2], a.shape[a.shape.len() - 1]);
        let columns = b.shape[b.shape.len() - 1];
        if b.shape[b.shape.len() - 2] != depth || !to.n_elements().is_multiple_of((rows * columns).max(1)) {
            return Err("matrices that do not multiply".to_owned());
        }
        let (outer_a, outer_b) = (&a.shape[..a.shape.len() - 2], &b.shape[..b.shape.len() - 2]);
        let rank = outer_a.len().max(outer_b.len());
        let at = |dims: &[u64], axis: usize| (axis + dims.len()).checked_sub(rank).map_or(1, |axis| dims[axis]);
        let batch: Vec<u64> = (0..rank).map(|axis| at(outer_a, axis).max(at(outer_b, axis))).collect();
        let over = |layout: &Layout| stretched(layout, &[batch.as_slice(), &layout.shape[layout.shape.len() - 2..]].concat());
        let c = match operands.get(2) {
            Some(&c) => Some(stretched(self.float(c)?, &[batch.as_slice(), &[rows, columns]].concat())?),
            None => None,
        };
        if rank + 2 > MAX_RANK {
            return Err(format!("{} axes", rank + 2));
        }
        Ok(Body::Product { a: over(&a)?, b: over(&b)?, c, batch, rows, columns, depth, alpha, beta })
    }

    fn convolution(&self, groups: u64, window: &Window, operands: &[TensorId], to: &Layout) -> Result<Body, String> {
        let (x, weights) = match operands {
            [x, weights] | [x, weights, _] => (self.float(*x)?, self.float(*weights)?),
            _ => return Err("not two or three inputs".to_owned()),
        };
        for &bias in operands.get(2..).unwrap_or_default() {
            self.float(bias)?;
        }
        let (&[filters, channels, ref kernel @ ..], &[batch, ..]) = (weights.shape.as_slice(), x.shape.as_slice()) else {
            return Err("no channels".to_owned());
        };
        if groups == 0 || !filters.is_multiple_of(groups) || x.shape.get(1) != Some(&(channels * groups)) {
            return Err("groups that do not divide its channels".to_owned());
        }
        let sliding = sliding(x.shape.get(2..), to.shape.get(2..), kernel, window)?;
        Ok(Body::Convolution { batch, groups, channels, filters: filters / groups, sliding })
    }

    fn reduce(&self, fold: Fold, axes: &[usize], operands: &[TensorId]) -> Result<Body, String> {
        let &[x] = operands else { return Err("not one input".to_owned()) };
        let x = self.layout(x)?;
        if x.element != Element::F32 || x.offset != 0 || x.shape.len() > MAX_RANK {
            return Err("only 32-bit floats are folded".to_owned());
        }
        let split = |is_folded: bool| -> (Vec<u64>, Vec<i64>) {
            let own = (0..x.shape.len()).filter(|axis| axes.contains(axis) == is_folded);
            own.map(|axis| (x.shape[axis], x.strides[axis])).unzip()
        };
        let ((kept, kept_strides), (folded, folded_strides)) = (split(false), split(true));
        Ok(Body::Reduce { fold: folding(fold), kept, kept_strides, folded, folded_strides })
    }

    fn normalise(&self, formula: &Formula, operands: &[TensorId]) -> Result<Body, String> {
        for &operand in operands {
            self.float(operand)?;
        }
        let sizes: Vec<u64> = operands.iter().map(|&operand| self.layout(operand).map(Layout::n_elements)).collect::<Result<_, _>>()?;
        match *formula {
            Formula::Normalise { length, is_centred, epsilon, run } => {
                let (&[elements, n_scales] | &[elements, n_scales, _]) = sizes.as_slice() else { return Err("not two or three inputs".to_owned()) };
                if length == 0 || run == 0 || n_scales == 0 || !elements.is_multiple_of(length) || sizes.get(2).is_some_and(|&n| n != n_scales) {
                    return Err("groups that do not divide its elements".to_owned());
                }
                Ok(Body::Normalise { rows: elements / length, length, run, n_scales, is_centred, epsilon })
            }
            Formula::NormaliseGiven { epsilon } => {
                let shape = &self.layout(*operands.first().ok_or("no input")?)?.shape;
                let channels = *shape.get(1).ok_or("no channels")?;
                if sizes.len() != 5 || sizes[1..].iter().any(|&n| n != channels) {
                    return Err("not four numbers per channel".to_owned());
                }
                Ok(Body::NormaliseGiven { batch: shape[0], channels, inner: shape[2..].iter().product(), epsilon })
            }
            _ => Err("no normalisation".to_owned()),
        }
    }

    fn loss(&self, formula: &Formula, operands: &[TensorId]) -> Result<Body, String> {
        let &[one, two] = operands else { return Err("not two inputs".to_owned()) };
        let (one, two) = (self.float(one)?, self.plain(two)?);
        let (length, outer) = one.shape.split_last().ok_or("a scalar")?;
        let (rows, length) = (outer.iter().product::<u64>(), *length);
        if *formula == Formula::LogSoftmaxGradient {
            return if two.element == Element::F32 && two.shape == one.shape {
                Ok(Body::LogSoftmaxGradient { rows, length })
            } else {
                Err("two shapes".to_owned())
            };
        }
        if two.element != Element::I64 || two.n_elements() != rows || length == 0 {
            return Err("not one class per row".to_owned());
        }
        Ok(match formula {
            Formula::NegativeLogLikelihood => Body::NegativeLogLikelihood { rows, classes: length },
            _ => Body::NegativeLogLikelihoodGradient { rows, classes: length },
        })
    }

    /// Every value's type, size, and what it holds in the beginning.
    fn tensors(&self) -> Result<Vec<ComputeTensor>, ComputeError> {
        let mut tensors: Vec<Option<ComputeTensor>> = vec![None; self.program.values.len()];
        for tensor in self.graph.tensor_ids() {
            let Some(value) = self.value_of[tensor.index()] else { continue };
            let is_used = self.graph.producer(tensor).is_some() || !self.graph.readers(tensor).is_empty();
            let made = match &self.layouts[tensor.index()] {
                Some(layout) => {
                    let source = (self.program.values[value].written_at.is_none()).then(|| self.source(tensor, value, layout));
                    ComputeTensor { element: layout.element, n_elements: layout.n_elements(), source }
                }
                // Nobody computes with it: its bytes are enough.
                None if !is_used || self.graph.tensor(tensor).role == Role::Workspace => {
                    ComputeTensor { element: Element::Bool, n_elements: self.graph.tensor(tensor).bytes.unwrap_or(0), source: None }
                }
                None => return Err(ComputeError::Plan(self.layout(tensor).err().unwrap_or_default())),
            };
            tensors[value] = Some(made);
        }
        Ok(tensors.into_iter().map(|tensor| tensor.unwrap_or(ComputeTensor { element: Element::Bool, n_elements: 0, source: None })).collect())
    }

    /// The file's own elements where it holds a few; weights by chance, small enough that no layer grows its input.
    fn source(&self, tensor: TensorId, value: usize, layout: &Layout) -> Source {
        if let Some(elements) = self.graph.elements(tensor).filter(|elements| n_of(elements) as u64 == layout.n_elements()) {
            return Source::Bytes(encoded(elements, layout.element));
        }
        let seed = value as u64;
        if layout.element != Element::F32 {
            // Indices and masks: every table has a first and a second row.
            return Source::Random { seed, low: 0.0, high: 1.0 };
        }
        let (low, high) = match (self.graph.tensor(tensor).role, layout.shape.as_slice()) {
            (Role::GraphInput, _) => (-1.0, 1.0),
            // Scales, biases, variances: above 0.
            (_, [] | [_]) => (0.05, 0.15),
            (_, shape) => {
                let fan_in = (layout.n_elements() / shape[0].max(1)).max(shape[0]);
                let bound = (3.0 / fan_in.max(1) as f64).sqrt();
                (-bound, bound)
            }
        };
        Source::Random { seed, low, high }
    }
}

fn n_of(elements: &Elements) -> usize {
    match elements {
        Elements::Ints(values) => values.len(),
        Elements::Floats(values) => values.len(),
    }
}

/// The bytes of elements of a type.
#[expect(clippy::cast_possible_truncation, reason = "the type is the tensor's own: a conversion as the file means it")]
fn encoded(elements: &Elements, element: Element) -> Vec<u8> {
    let of_float = |value: f64| match element {
        Element::F32 => (value as f32).to_le_bytes().to_vec(),
        Element::I64 => (value as i64).to_le_bytes().to_vec(),
        Element::I32 => (value as i32).to_le_bytes().to_vec(),
        Element::Bool => vec![u8::from(value != 0.0)],
    };
    let of_int = |value: i64| match element {
        Element::F32 => (value as f32).to_le_bytes().to_vec(),
        Element::I64 => value.to_le_bytes().to_vec(),
        Element::I32 => (value as i32).to_le_bytes().to_vec(),
        Element::Bool => vec![u8::from(value != 0)],
    };
    match elements {
        Elements::Ints(values) => values.iter().flat_map(|&value| of_int(value)).collect(),
        Elements::Floats(values) => values.iter().flat_map(|&value| of_float(value)).collect(),
    }
}

fn folding(fold: Fold) -> Folding {
    match fold {
        Fold::Sum => Folding::Sum,
        Fold::Mean => Folding::Mean,
        Fold::Max => Folding::Max,
        Fold::Min => Folding::Min,
        Fold::Product => Folding::Product,
        Fold::SumOfSquares => Folding::SumOfSquares,
    }
}

fn lowered(function: Function) -> (MapFunction, [f64; 2]) {
    // Infinite bounds do not survive the way to the child process; no finite float lies beyond these.
    let finite = |bound: f64| bound.clamp(f64::from(f32::MIN), f64::from(f32::MAX));
    let plain = |function: MapFunction| (function, [0.0, 0.0]);
    match function {
        Function::Clip { low, high } => (MapFunction::Clip, [finite(low), finite(high)]),
        Function::Elu { alpha } => (MapFunction::Elu, [alpha, 0.0]),
        Function::HardSigmoid { alpha, beta } => (MapFunction::HardSigmoid, [alpha, beta]),
        Function::LeakyRelu { alpha } => (MapFunction::LeakyRelu, [alpha, 0.0]),
        Function::Abs => plain(MapFunction::Abs),
        Function::Ceil => plain(MapFunction::Ceil),
        Function::Convert => plain(MapFunction::Convert),
        Function::Cos => plain(MapFunction::Cos),
        Function::Erf => plain(MapFunction::Erf),
        Function::Exp => plain(MapFunction::Exp),
        Function::Floor => plain(MapFunction::Floor),
        Function::Gelu => plain(MapFunction::Gelu),
        Function::GeluByTanh => plain(MapFunction::GeluByTanh),
        Function::HardSwish => plain(MapFunction::HardSwish),
        Function::Log => plain(MapFunction::Log),
        Function::Neg => plain(MapFunction::Neg),
        Function::Not => plain(MapFunction::Not),
        Function::Reciprocal => plain(MapFunction::Reciprocal),
        Function::Relu => plain(MapFunction::Relu),
        Function::Sigmoid => plain(MapFunction::Sigmoid),
        Function::Sign => plain(MapFunction::Sign),
        Function::Silu => plain(MapFunction::Silu),
        Function::Sin => plain(MapFunction::Sin),
        Function::Softplus => plain(MapFunction::Softplus),
        Function::Sqrt => plain(MapFunction::Sqrt),
        Function::Tanh => plain(MapFunction::Tanh),
        Function::Add => plain(MapFunction::Add),
        Function::And => plain(MapFunction::And),
        Function::Div => plain(MapFunction::Div),
        Function::Equal => plain(MapFunction::Equal),
        Function::Greater => plain(MapFunction::Greater),
        Function::GreaterOrEqual => plain(MapFunction::GreaterOrEqual),
        Function::Less => plain(MapFunction::Less),
        Function::LessOrEqual => plain(MapFunction::LessOrEqual),
        Function::Max => plain(MapFunction::Max),
        Function::Min => plain(MapFunction::Min),
        Function::Mul => plain(MapFunction::Mul),
        Function::Or => plain(MapFunction::Or),
        Function::Pow => plain(MapFunction::Pow),
        Function::ReluGradient => plain(MapFunction::ReluGradient),
        Function::Sub => plain(MapFunction::Sub),
        Function::Where => plain(MapFunction::Where),
    }
}

fn sliding(input: Option<&[u64]>, output: Option<&[u64]>, kernel: &[u64], window: &Window) -> Result<Sliding, String> {
    let (Some(input), Some(output)) = (input, output) else { return Err("no spatial axes".to_owned()) };
    let rank = kernel.len();
    let lists = [input, output, kernel, &window.strides, &window.dilations, &window.pads];
    if !(1..=3).contains(&rank) || lists.iter().any(|list| list.len() != rank) {
        return Err(format!("{rank} spatial axes"));
    }
    let three = |list: &[u64], missing: u64| {
        let mut all = [missing; 3];
        all[3 - rank..].copy_from_slice(list);
        all
    };
    Ok(Sliding {
        input: three(input, 1),
        output: three(output, 1),
        kernel: three(kernel, 1),
        strides: three(&window.strides, 1),
        dilations: three(&window.dilations, 1),
        pads: three(&window.pads, 0),
    })
}
