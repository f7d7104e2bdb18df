//! What is known of a value while shapes are worked out: type, dimensions, and the elements if they are few.

use std::rc::Rc;

use arenascope_planner::graph::Dtype;

/// Values with more elements are never shapes or indices: a size limit, as every shape reader has one.
pub(super) const MAX_ELEMENTS: u64 = 4096;

/// Why something is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Gap {
    /// The reason, without a full stop.
    pub(super) reason: String,
    /// Whether it only follows from another unknown value.
    pub(super) is_upstream: bool,
}

impl<T: Into<String>> From<T> for Gap {
    fn from(reason: T) -> Self {
        Self { reason: reason.into(), is_upstream: false }
    }
}

/// The elements of a small tensor, row by row. Truth values are 0 and 1.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Data {
    Ints(Vec<i64>),
    Floats(Vec<f64>),
}

impl Data {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Ints(values) => values.len(),
            Self::Floats(values) => values.len(),
        }
    }

    /// The elements at `indices`; `None` if one is out of range.
    pub(super) fn pick(&self, indices: impl Iterator<Item = usize>) -> Option<Self> {
        Some(match self {
            Self::Ints(values) => Self::Ints(indices.map(|index| values.get(index).copied()).collect::<Option<_>>()?),
            Self::Floats(values) => Self::Floats(indices.map(|index| values.get(index).copied()).collect::<Option<_>>()?),
        })
    }

    /// The elements as a type holds them: rounded to its precision; `None` if one does not fit.
    pub(super) fn held_as(self, dtype: Dtype) -> Option<Self> {
        match (self, dtype) {
            (Self::Floats(values), Dtype::F32) => Some(Self::Floats(values.into_iter().map(to_f32).collect())),
            (Self::Floats(values), Dtype::F64) => Some(Self::Floats(values)),
            (Self::Ints(values), dtype) => {
                let (low, high) = int_range(dtype)?;
                values.iter().all(|value| (low..=high).contains(value)).then_some(Self::Ints(values))
            }
            (Self::Floats(_), _) => None,
        }
    }
}

/// The numbers that an integer type holds; values beyond 63 bits are not followed.
pub(super) fn int_range(dtype: Dtype) -> Option<(i64, i64)> {
    Some(match dtype {
        Dtype::I64 => (i64::MIN, i64::MAX),
        Dtype::I32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        Dtype::I16 => (i64::from(i16::MIN), i64::from(i16::MAX)),
        Dtype::I8 => (-128, 127),
        Dtype::I4 => (-8, 7),
        Dtype::I2 => (-2, 1),
        Dtype::U64 => (0, i64::MAX),
        Dtype::U32 => (0, i64::from(u32::MAX)),
        Dtype::U16 => (0, i64::from(u16::MAX)),
        Dtype::U8 => (0, 255),
        Dtype::U4 => (0, 15),
        Dtype::U2 => (0, 3),
        Dtype::Bool => (0, 1),
        _ => return None,
    })
}

/// Rounds to what a 32-bit float holds.
#[expect(clippy::cast_possible_truncation, reason = "rounding to 32-bit precision is the purpose")]
pub(super) fn to_f32(value: f64) -> f64 {
    f64::from(value as f32)
}

/// A count as a float; exact below 2^53, as far as shapes go.
#[expect(clippy::cast_precision_loss, reason = "dimensions beyond 2^53 do not occur")]
pub(super) fn to_float(value: i64) -> f64 {
    value as f64
}

/// A float without its fraction, if it fits.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked, and cutting the fraction is the purpose")]
pub(super) fn to_int(value: f64) -> Option<i64> {
    /// 2^62: far from the type's limits.
    const LIMIT: f64 = 4_611_686_018_427_387_904.0;
    (value.abs() < LIMIT).then_some(value as i64)
}

/// What is known of a value.
#[derive(Clone, Debug)]
pub(super) struct Fact {
    /// The element type.
    pub(super) dtype: Dtype,
    /// The dimensions. Each fits into 63 bits, and so does the product of those that are not 0.
    pub(super) shape: Option<Vec<u64>>,
    /// The elements, if there are few and all are known.
    pub(super) data: Option<Rc<Data>>,
    /// For a sequence of tensors, which has no shape of its own: what is known of each of them.
    pub(super) items: Option<Rc<Vec<Fact>>>,
    /// Why the shape or the type is not known; empty if both are.
    pub(super) because: String,
    /// Whether it is unknown only because another value is.
    pub(super) is_upstream: bool,
}

impl Fact {
    /// A value of known type and shape.
    pub(super) fn known(dtype: Dtype, shape: Vec<u64>) -> Result<Self, Gap> {
        let too_large = || Gap::from(format!("its shape {shape:?} is more than 63 bits can count"));
        if dtype == Dtype::Unknown {
            return Err(Gap::from("its element type is not known"));
        }
        let elements = product(shape.iter().copied().map(|dim| dim.max(1)))?;
        if i64::try_from(elements).is_err() || dtype != Dtype::String && dtype.bytes_of(&shape).is_none() {
            return Err(too_large());
        }
        Ok(Self { dtype, shape: Some(shape), data: None, items: None, because: String::new(), is_upstream: false })
    }

    /// A value of which nothing is known.
    pub(super) fn unknown(gap: Gap) -> Self {
        Self { dtype: Dtype::Unknown, shape: None, data: None, items: None, because: gap.reason, is_upstream: gap.is_upstream }
    }

    /// A sequence of these tensors.
    pub(super) fn sequence(items: Vec<Self>) -> Self {
        let dtype = items
            .first()
            .map_or(Dtype::Unknown, |first| if items.iter().all(|item| item.dtype == first.dtype) { first.dtype } else { Dtype::Unknown });
        let because = "it is a sequence that holds a tensor of unknown size".to_owned();
        Self { dtype, shape: None, data: None, items: Some(Rc::new(items)), because, is_upstream: true }
    }

    /// Bytes of the value, or of all tensors of a sequence together; `None` if they are not known.
    pub(super) fn bytes(&self) -> Option<u64> {
        match (&self.shape, &self.items) {
            (Some(shape), _) => self.dtype.bytes_of(shape),
            (None, Some(items)) => items.iter().try_fold(0_u64, |sum, item| sum.checked_add(item.bytes()?)),
            (None, None) => None,
        }
    }

    /// The same type and shape, without the elements.
    pub(super) fn without_data(&self) -> Self {
        let items = self.items.as_ref().map(|items| Rc::new(items.iter().map(Self::without_data).collect()));
        Self { data: None, items, ..self.clone() }
    }

    /// Whether two values have one type and shape, or are sequences that agree in every tensor.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let same_items = match (&self.items, &other.items) {
            (Some(one), Some(two)) => one.len() == two.len() && one.iter().zip(two.iter()).all(|(one, two)| one.is_like(two)),
            (None, None) => true,
            _ => false,
        };
        self.shape == other.shape && self.dtype == other.dtype && same_items
    }

    /// The same value with its elements, if they are as many as the shape says and fit the type.
    pub(super) fn with(mut self, data: Option<Data>) -> Self {
        let expected = self.elements();
        self.data = data
            .filter(|data| Some(data.len() as u64) == expected && data.len() as u64 <= MAX_ELEMENTS)
            .and_then(|data| data.held_as(self.dtype))
            .map(Rc::new);
        self
    }

    /// How many elements it has.
    pub(super) fn elements(&self) -> Option<u64> {
        let shape = self.shape.as_ref()?;
        if shape.contains(&0) { Some(0) } else { product(shape.iter().copied()).ok() }
    }

    /// Its elements as whole numbers.
    pub(super) fn ints(&self) -> Option<&[i64]> {
        match self.data.as_deref()? {
            Data::Ints(values) => Some(values),
            Data::Floats(_) => None,
        }
    }

    /// Its elements as floats.
    pub(super) fn floats(&self) -> Option<&[f64]> {
        match self.data.as_deref()? {
            Data::Floats(values) => Some(values),
            Data::Ints(_) => None,
        }
    }
}

/// The product of dimensions, checked.
pub(super) fn product(dims: impl IntoIterator<Item = u64>) -> Result<u64, Gap> {
    let product = dims.into_iter().try_fold(1_u64, u64::checked_mul).filter(|&product| i64::try_from(product).is_ok());
    product.ok_or_else(|| Gap::from("a product of its dimensions is more than 63 bits can count"))
}

/// An ONNX element type by its number.
pub(super) fn dtype_of(data_type: i64) -> Dtype {
    match data_type {
        1 => Dtype::F32,
        2 => Dtype::U8,
        3 => Dtype::I8,
        4 => Dtype::U16,
        5 => Dtype::I16,
        6 => Dtype::I32,
        7 => Dtype::I64,
        8 => Dtype::String,
        9 => Dtype::Bool,
        10 => Dtype::F16,
        11 => Dtype::F64,
        12 => Dtype::U32,
        13 => Dtype::U64,
        14 => Dtype::C64,
        15 => Dtype::C128,
        16 => Dtype::BF16,
        17 | 18 => Dtype::F8E4M3,
        19 | 20 => Dtype::F8E5M2,
        21 => Dtype::U4,
        22 => Dtype::I4,
        23 => Dtype::F4E2M1,
        24 => Dtype::F8E8M0,
        25 => Dtype::U2,
        26 => Dtype::I2,
        _ => Dtype::Unknown,
    }
}
