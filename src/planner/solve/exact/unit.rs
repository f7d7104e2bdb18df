//! The number type of sizes and offsets inside the search: 32 bits where they are enough, else 64.

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Sub, SubAssign};

/// An unsigned number of units; a unit is the greatest common divisor of all sizes.
pub(super) trait Unit:
    Copy + Ord + Debug + Default + std::hash::Hash + Send + Sync + Add<Output = Self> + Sub<Output = Self> + AddAssign + SubAssign + 'static
{
    const ZERO: Self;
    const ONE: Self;
    const MAX: Self;

    /// `None` if `units` does not fit.
    fn from_units(units: u64) -> Option<Self>;

    fn units(self) -> u64;
}

macro_rules! unit {
    ($number:ty) => {
        impl Unit for $number {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const MAX: Self = <$number>::MAX;

            fn from_units(units: u64) -> Option<Self> {
                Self::try_from(units).ok()
            }

            fn units(self) -> u64 {
                u64::from(self)
            }
        }
    };
}

unit!(u32);
unit!(u64);
