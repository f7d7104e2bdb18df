//! Programs that compute: what each step does to the elements of its tensors, ready for a device.
//!
//! A formula of the planner becomes kernels over strides (`lower`); a device runs them, and `run` compares a run in the
//! arena with one in which every tensor has memory of its own, and both with arithmetic in 64-bit floats (`reference`).
//! No kernel needs memory beside its operands, so that no workspace has to be planned for them.

mod layout;
mod lower;
pub(crate) mod reference;
pub(crate) mod run;

use serde::{Deserialize, Serialize};

pub use lower::ComputeError;
pub(crate) use lower::lower;

/// An element type that kernels know.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Element {
    /// 32-bit float.
    F32,
    /// 64-bit whole number.
    I64,
    /// 32-bit whole number.
    I32,
    /// Truth value, one byte.
    Bool,
}

impl Element {
    /// Bytes of one element.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Self::I64 => 8,
            Self::F32 | Self::I32 => 4,
            Self::Bool => 1,
        }
    }
}

/// What a tensor holds before the first step.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Numbers by chance between two bounds, from the position of the element and this seed.
    Random {
        /// The seed.
        seed: u64,
        /// The lower bound.
        low: f64,
        /// The upper bound; whole numbers stay at or below it.
        high: f64,
    },
    /// The file's own bytes.
    Bytes(Vec<u8>),
}

/// A value as kernels see it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ComputeTensor {
    /// Its element type.
    pub element: Element,
    /// How many elements.
    pub n_elements: u64,
    /// What it holds before the first step; `None` for what an op writes.
    pub source: Option<Source>,
}

impl ComputeTensor {
    /// Its bytes; a buffer may be larger.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.n_elements * self.element.bytes()
    }
}

/// The arithmetic of a program.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ComputeProgram {
    /// By value of the program.
    pub tensors: Vec<ComputeTensor>,
    /// The kernels of each step, in order.
    pub steps: Vec<Vec<Kernel>>,
}

impl ComputeProgram {
    /// Checks that every index is in range, for programs that come from another process.
    pub(crate) fn is_consistent(&self, n_values: usize, n_steps: usize) -> bool {
        let mut values = self.steps.iter().flatten().flat_map(|kernel| kernel.inputs.iter().chain([&kernel.output]));
        self.tensors.len() == n_values && self.steps.len() == n_steps && values.all(|&value| value < n_values)
    }
}

/// One launch.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Kernel {
    /// The value that it writes.
    pub output: usize,
    /// The values that it reads.
    pub inputs: Vec<usize>,
    /// What it does.
    pub body: Body,
}

/// Where elements are in an operand, in elements.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Strides {
    /// The first element.
    pub offset: i64,
    /// From one index to the next, by axis; 0 for an axis that is stretched.
    pub by_axis: Vec<i64>,
}

/// Up to three spatial axes of a window; missing ones come first and have length 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Sliding {
    /// Lengths of the input.
    pub input: [u64; 3],
    /// Lengths of the output.
    pub output: [u64; 3],
    /// Taps of the window.
    pub kernel: [u64; 3],
    /// Elements from one position to the next.
    pub strides: [u64; 3],
    /// Elements from one tap to the next.
    pub dilations: [u64; 3],
    /// Padding before the first element.
    pub pads: [u64; 3],
}

/// How several elements become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Folding {
    /// Their sum.
    Sum,
    /// Their mean.
    Mean,
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// Their product.
    Product,
    /// The sum of their squares.
    SumOfSquares,
}

/// A function of one element of each operand, by the names of the planner's; their order is that of the kernels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "functions of analysis and machine learning by their usual names")]
pub enum MapFunction {
    Abs,
    Ceil,
    Clip,
    Convert,
    Cos,
    Elu,
    Erf,
    Exp,
    Floor,
    Gelu,
    GeluByTanh,
    HardSigmoid,
    HardSwish,
    LeakyRelu,
    Log,
    Neg,
    Not,
    Reciprocal,
    Relu,
    Sigmoid,
    Sign,
    Silu,
    Sin,
    Softplus,
    Sqrt,
    Tanh,
    Add,
    And,
    Div,
    Equal,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    Max,
    Min,
    Mul,
    Or,
    Pow,
    ReluGradient,
    Sub,
    Where,
}

/// What a kernel does; operands are counted as in [`Kernel::inputs`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// A function of each element of `shape`; the output is row by row.
    Map {
        /// The function.
        function: MapFunction,
        /// Its numbers.
        parameters: [f64; 2],
        /// The axes.
        shape: Vec<u64>,
        /// Where each operand's elements are.
        inputs: Vec<Strides>,
    },
    /// Elements of operand 0 to other places of the output.
    Copy {
        /// The axes.
        shape: Vec<u64>,
        /// Where they come from.
        from: Strides,
        /// Where they go.
        to: Strides,
    },
    /// `alpha · A·B + beta · C`, row by row; the last two axes of the strides are those of the matrix.
    Product {
        /// Lengths of the outer axes.
        batch: Vec<u64>,
        /// Rows of the result.
        rows: u64,
        /// Columns of the result.
        columns: u64,
        /// What is summed over.
        depth: u64,
        /// Batch, row, depth.
        a: Strides,
        /// Batch, depth, column.
        b: Strides,
        /// Batch, row, column.
        c: Option<Strides>,
        /// Factor of the product.
        alpha: f64,
        /// Factor of C.
        beta: f64,
    },
    /// Operands are x, weights, and perhaps a bias.
    Convolution {
        /// Images.
        batch: u64,
        /// Groups.
        groups: u64,
        /// Channels of the input per group.
        channels: u64,
        /// Channels of the output per group.
        filters: u64,
        /// Spatial axes.
        sliding: Sliding,
    },
    /// One fold per window of each plane.
    Pool {
        /// How.
        fold: Folding,
        /// Images times channels.
        planes: u64,
        /// Spatial axes.
        sliding: Sliding,
        /// Whether a mean counts the padding as zeros.
        counts_padding: bool,
    },
    /// One fold per element of the kept axes.
    Reduce {
        /// How.
        fold: Folding,
        /// Lengths of the kept axes.
        kept: Vec<u64>,
        /// Strides of the kept axes.
        kept_strides: Vec<i64>,
        /// Lengths of the folded axes.
        folded: Vec<u64>,
        /// Strides of the folded axes.
        folded_strides: Vec<i64>,
    },
    /// Along `length` elements that are `inner` apart.
    Softmax {
        /// Rows before them.
        outer: u64,
        /// Elements that share a sum.
        length: u64,
        /// Elements between two of them.
        inner: u64,
        /// Whether the result is the logarithm.
        is_log: bool,
    },
    /// Operands are x, scale, and perhaps a bias.
    Normalise {
        /// Groups of elements that share a mean.
        rows: u64,
        /// Elements of a group.
        length: u64,
        /// Elements that share a scale.
        run: u64,
        /// How many scales there are.
        n_scales: u64,
        /// Whether the mean is taken off.
        is_centred: bool,
        /// What keeps the root away from 0.
        epsilon: f64,
    },
    /// Operands are x, scale, bias, mean, variance.
    NormaliseGiven {
        /// Images.
        batch: u64,
        /// Channels.
        channels: u64,
        /// Elements of a channel.
        inner: u64,
        /// What keeps the root away from 0.
        epsilon: f64,
    },
    /// Operands are x and indices; an index outside is drawn to the nearest end, so that no data can lead out of a tensor.
    Gather {
        /// Rounds.
        outer: u64,
        /// Length of the axis.
        length: u64,
        /// Elements after it.
        inner: u64,
        /// Indices.
        n_indices: u64,
    },
    /// The same bytes over and over.
    Fill {
        /// Those of one element, or of the whole tensor.
        bytes: Vec<u8>,
    },
    /// Operands are log p and classes.
    NegativeLogLikelihood {
        /// Rows.
        rows: u64,
        /// Classes.
        classes: u64,
    },
    /// Operand is the classes.
    NegativeLogLikelihoodGradient {
        /// Rows.
        rows: u64,
        /// Classes.
        classes: u64,
    },
    /// Operands are the gradient and the result.
    LogSoftmaxGradient {
        /// Rows.
        rows: u64,
        /// Elements of a row.
        length: u64,
    },
}
