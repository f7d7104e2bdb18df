//! Element types and how many bytes tensors of them take.

/// An element type, with its exact width.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Dtype {
    /// 64-bit float.
    F64,
    /// 32-bit float.
    F32,
    /// 16-bit IEEE float.
    F16,
    /// 16-bit brain float.
    BF16,
    /// 8-bit float, four exponent and three mantissa bits.
    F8E4M3,
    /// 8-bit float, five exponent and two mantissa bits.
    F8E5M2,
    /// 8-bit power of two, as block scales use.
    F8E8M0,
    /// 4-bit float, two per byte.
    F4E2M1,
    /// 64-bit signed integer.
    I64,
    /// 32-bit signed integer.
    I32,
    /// 16-bit signed integer.
    I16,
    /// 8-bit signed integer.
    I8,
    /// 4-bit signed integer, two per byte.
    I4,
    /// 2-bit signed integer, four per byte.
    I2,
    /// 64-bit unsigned integer.
    U64,
    /// 32-bit unsigned integer.
    U32,
    /// 16-bit unsigned integer.
    U16,
    /// 8-bit unsigned integer.
    U8,
    /// 4-bit unsigned integer, two per byte.
    U4,
    /// 2-bit unsigned integer, four per byte.
    U2,
    /// Truth value, one byte.
    Bool,
    /// Pair of 32-bit floats.
    C64,
    /// Pair of 64-bit floats.
    C128,
    /// Text: its size is not a matter of the type.
    String,
    /// Not said by the file.
    Unknown,
}

impl Dtype {
    /// Every type that has a width.
    pub const SIZED: [Self; 23] = [
        Self::F64,
        Self::F32,
        Self::F16,
        Self::BF16,
        Self::F8E4M3,
        Self::F8E5M2,
        Self::F8E8M0,
        Self::F4E2M1,
        Self::I64,
        Self::I32,
        Self::I16,
        Self::I8,
        Self::I4,
        Self::I2,
        Self::U64,
        Self::U32,
        Self::U16,
        Self::U8,
        Self::U4,
        Self::U2,
        Self::Bool,
        Self::C64,
        Self::C128,
    ];

    /// Bits of one element; `None` for strings and unknown types.
    #[must_use]
    pub fn bits(self) -> Option<u64> {
        Some(match self {
            Self::C128 => 128,
            Self::F64 | Self::I64 | Self::U64 | Self::C64 => 64,
            Self::F32 | Self::I32 | Self::U32 => 32,
            Self::F16 | Self::BF16 | Self::I16 | Self::U16 => 16,
            Self::F8E4M3 | Self::F8E5M2 | Self::F8E8M0 | Self::I8 | Self::U8 | Self::Bool => 8,
            Self::F4E2M1 | Self::I4 | Self::U4 => 4,
            Self::I2 | Self::U2 => 2,
            Self::String | Self::Unknown => return None,
        })
    }

    /// The short name used in the window and in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::F64 => "f64",
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::BF16 => "bf16",
            Self::F8E4M3 => "f8e4m3",
            Self::F8E5M2 => "f8e5m2",
            Self::F8E8M0 => "f8e8m0",
            Self::F4E2M1 => "f4e2m1",
            Self::I64 => "i64",
            Self::I32 => "i32",
            Self::I16 => "i16",
            Self::I8 => "i8",
            Self::I4 => "i4",
            Self::I2 => "i2",
            Self::U64 => "u64",
            Self::U32 => "u32",
            Self::U16 => "u16",
            Self::U8 => "u8",
            Self::U4 => "u4",
            Self::U2 => "u2",
            Self::Bool => "bool",
            Self::C64 => "c64",
            Self::C128 => "c128",
            Self::String => "string",
            Self::Unknown => "unknown",
        }
    }

    /// Bytes of `shape` elements, sub-byte types packed over the whole tensor; `None` if unknown or over 64 bits.
    #[must_use]
    pub fn bytes_of(self, shape: &[u64]) -> Option<u64> {
        if shape.contains(&0) {
            return self.bits().map(|_| 0);
        }
        let elements = shape.iter().try_fold(1_u64, |product, &dim| product.checked_mul(dim))?;
        let bits = self.bits()?;
        if bits.is_multiple_of(8) { elements.checked_mul(bits / 8) } else { Some(elements.checked_mul(bits)?.div_ceil(8)) }
    }
}
