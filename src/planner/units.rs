//! Bytes and alignments: parsing what a person types, writing what a person reads, rounding up without overflow.

use std::num::NonZeroU64;

/// An alignment in bytes, at least 1; not necessarily a power of two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct Align(NonZeroU64);

impl Align {
    /// No alignment at all: every byte may start a buffer.
    pub const ONE: Self = Self(NonZeroU64::MIN);
    /// The default of the program: one cache line, and enough for every vector unit.
    pub const DEFAULT: Self = Self(NonZeroU64::new(64).expect("64 is not zero"));

    /// An alignment of `bytes`, or `None` for 0.
    #[must_use]
    pub fn new(bytes: u64) -> Option<Self> {
        NonZeroU64::new(bytes).map(Self)
    }

    /// The alignment in bytes.
    #[must_use]
    pub fn bytes(self) -> u64 {
        self.0.get()
    }

    /// The smallest multiple of the alignment that is at least `bytes`; `None` if that overflows.
    #[must_use]
    pub fn round_up(self, bytes: u64) -> Option<u64> {
        bytes.checked_next_multiple_of(self.0.get())
    }

    /// Whether `offset` is a multiple of the alignment.
    #[must_use]
    pub fn divides(self, offset: u64) -> bool {
        offset.is_multiple_of(self.0.get())
    }
}

/// Parses a number of bytes as a person writes it: `64`, `64KiB`, `1.5 GiB`, `8GB`, `4_096`.
///
/// Binary units are powers of 1024, decimal ones (`KB`, `MB`, …) powers of 1000, a bare `K`, `M`, `G`, `T` is binary.
///
/// # Errors
/// A sentence that says what was not understood.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let compact: String = text.chars().filter(|c| !c.is_whitespace() && *c != '_' && *c != ',').collect();
    let digits = compact.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(compact.len());
    let (number, unit) = compact.split_at(digits);
    let factor: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        other => return Err(format!("unknown unit `{other}` in `{text}`; use B, KiB, MiB, GiB or TiB")),
    };
    let too_large = || format!("`{text}` is more than a 64-bit number of bytes");
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor).ok_or_else(too_large);
    }
    scaled_fraction(number, factor).ok_or_else(|| format!("`{text}` is not a number of bytes; write for example 65536 or 64KiB"))
}

/// A number with a comma between thousands: `6,021,120`.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Bytes in the largest binary unit that leaves at least 1: `5.74 MiB`.
#[must_use]
pub fn binary_bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let exponent = bytes.checked_ilog2().unwrap_or(0) / 10;
    match UNITS.get(exponent.wrapping_sub(1) as usize) {
        None => format!("{bytes} B"),
        Some(unit) => format!("{:.2} {unit}", bytes as f64 / 1024_f64.powi(exponent.cast_signed())),
    }
}

/// `number` with a decimal point, times `factor`, rounded down to whole bytes.
fn scaled_fraction(number: &str, factor: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.')?;
    if fraction.is_empty() || fraction.len() > 12 || fraction.contains('.') {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let numerator: u64 = fraction.parse().ok()?;
    let denominator = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    let part = u64::try_from(u128::from(numerator) * u128::from(factor) / denominator).ok()?;
    whole.checked_mul(factor)?.checked_add(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_bytes_as_people_write_them() {
        for (text, bytes) in
            [("64", 64), ("64KiB", 65_536), ("8GiB", 8 << 30), ("1.5 MiB", 1_572_864), ("2kb", 2_000), ("4_096", 4_096), (".5k", 512)]
        {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_number_of_bytes() {
        for text in ["", "GiB", "-1", "1.2.3", "12 parsecs", "99999999999999999999", "18446744073709551615KiB", "1."] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rounding_up_reports_overflow() {
        let align = Align::new(64).expect("64 is not zero");
        assert_eq!(align.round_up(1), Some(64));
        assert_eq!(align.round_up(64), Some(64));
        assert_eq!(align.round_up(u64::MAX), None);
        assert_eq!(Align::new(0), None);
    }
}
