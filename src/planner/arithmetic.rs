//! What ops compute, in words that no format owns: for runs that compare results and not only who wrote where.
//!
//! Shapes and element types are those of the tensors; what is said here is only what they do not tell. Planning does
//! not look at any of this.

use std::collections::BTreeMap;

use crate::ids::TensorId;

/// The elements of a tensor, row by row; truth values are 0 and 1.
#[derive(Clone, PartialEq, Debug)]
pub enum Elements {
    /// Whole numbers.
    Ints(Vec<i64>),
    /// Floats.
    Floats(Vec<f64>),
}

/// What is known of a graph's arithmetic.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ArithmeticTable {
    /// By op id; `None` where it is not known.
    pub ops: Vec<Option<Arithmetic>>,
    /// The elements of tensors that the file fixes, if they are few.
    pub elements: BTreeMap<TensorId, Elements>,
}

/// What one op computes.
#[derive(Clone, PartialEq, Debug)]
pub struct Arithmetic {
    /// The formula.
    pub formula: Formula,
    /// The tensors that it takes, in the formula's order; the op may read more, such as shapes that are known already.
    pub operands: Vec<TensorId>,
}

/// A formula; operands are counted from 0.
#[derive(Clone, PartialEq, Debug)]
pub enum Formula {
    /// Element by element; operands are stretched to the output as NumPy does.
    Map(Function),
    /// A product of matrices: `alpha · A·B + beta · C`. Outer axes are batches and stretch; vectors count as a row or a
    /// column; C is optional and stretches.
    Product {
        /// Whether the last two axes of A change places first.
        transpose_a: bool,
        /// Whether the last two axes of B change places first.
        transpose_b: bool,
        /// Factor of the product.
        alpha: f64,
        /// Factor of C.
        beta: f64,
    },
    /// A convolution of `[batch, channels, spatial…]` with `[filters, channels / groups, kernel…]` and an optional bias.
    Convolution {
        /// Groups of channels that do not see each other.
        groups: u64,
        /// How the kernel moves.
        window: Window,
    },
    /// The largest or the mean element under a window, channel by channel.
    Pool {
        /// Which.
        fold: Fold,
        /// The size of the window, by spatial axis.
        kernel: Vec<u64>,
        /// How it moves.
        window: Window,
        /// Whether a mean counts the padding as zeros.
        counts_padding: bool,
    },
    /// Axes folded to one element; whether they stay as axes of length 1 is a matter of the output's shape.
    Reduce {
        /// How.
        fold: Fold,
        /// Which axes, ascending.
        axes: Vec<usize>,
    },
    /// Exponentials that sum up to 1 along the last axes, from `axis` on if `is_folded`, else along `axis` alone.
    Softmax {
        /// The axis.
        axis: usize,
        /// Whether all axes from it on are one.
        is_folded: bool,
        /// Whether the result is the logarithm.
        is_log: bool,
    },
    /// `(x − mean) / √(variance + epsilon) · scale + bias` over groups of elements that follow one another.
    Normalise {
        /// How many elements in a row share a mean.
        length: u64,
        /// Whether the mean is taken off first; root-mean-square normalisation does not.
        is_centred: bool,
        /// What keeps the root away from 0.
        epsilon: f64,
        /// How many elements in a row have one scale and bias; these repeat over the tensor.
        run: u64,
    },
    /// The same with mean and variance given: operands are x, scale, bias, mean, variance, each by channel.
    NormaliseGiven {
        /// What keeps the root away from 0.
        epsilon: f64,
    },
    /// Elements in other places; nothing is computed.
    Move(Moves),
    /// Slices of operand 0 along an axis, picked by the whole numbers of operand 1.
    Gather {
        /// The axis.
        axis: usize,
    },
    /// Elements that are known before the run: shapes, ranges. Reads nothing.
    Known(Elements),
    /// One value everywhere. Reads nothing.
    Fill(f64),
    /// The mean of −log p of the right class: operands are log p by row and class, and the class of each row.
    NegativeLogLikelihood,
    /// Its derivative by log p.
    NegativeLogLikelihoodGradient,
    /// The derivative of the logarithm of softmax over the last axis: operands are the gradient and the result.
    LogSoftmaxGradient,
}

/// Where elements go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Moves {
    /// The same order under another shape.
    Same,
    /// Axis `i` of the output is axis `order[i]` of the input.
    Transpose(Vec<usize>),
    /// A range of each axis: first index and step.
    Slice(Vec<(i64, i64)>),
    /// All operands one after another along an axis.
    Concatenate(usize),
    /// The outputs are the input's parts along an axis.
    Split(usize),
    /// The input stretched to the output's shape as NumPy does.
    Stretch,
    /// Every element so often along each axis, beside itself.
    Repeat(Vec<u64>),
    /// The whole so often along each axis, after itself.
    Tile(Vec<u64>),
}

/// How a window moves, by spatial axis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Window {
    /// Elements from one position to the next.
    pub strides: Vec<u64>,
    /// Elements from one tap to the next.
    pub dilations: Vec<u64>,
    /// Padding before the first element; what is after the last one follows from the output's shape.
    pub pads: Vec<u64>,
}

/// How several elements become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fold {
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

/// A function of one element of each operand.
#[derive(Clone, Copy, PartialEq, Debug)]
#[expect(missing_docs, reason = "functions of analysis and machine learning by their usual names")]
pub enum Function {
    Abs,
    Ceil,
    Clip {
        low: f64,
        high: f64,
    },
    Convert,
    Cos,
    Elu {
        alpha: f64,
    },
    Erf,
    Exp,
    Floor,
    Gelu,
    GeluByTanh,
    HardSigmoid {
        alpha: f64,
        beta: f64,
    },
    HardSwish,
    LeakyRelu {
        alpha: f64,
    },
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
    /// Operand 0 where operand 1 is above 0, else 0.
    ReluGradient,
    Sub,
    /// Operand 1 where operand 0 is true, else operand 2.
    Where,
}

impl Function {
    /// How many operands it takes.
    #[must_use]
    pub fn arity(self) -> usize {
        match self {
            Self::Where => 3,
            Self::Add
            | Self::And
            | Self::Div
            | Self::Equal
            | Self::Greater
            | Self::GreaterOrEqual
            | Self::Less
            | Self::LessOrEqual
            | Self::Max
            | Self::Min
            | Self::Mul
            | Self::Or
            | Self::Pow
            | Self::ReluGradient
            | Self::Sub => 2,
            _ => 1,
        }
    }
}
