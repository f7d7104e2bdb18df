//! Numbers and names as a person reads them: one form per kind of value, used everywhere.

mod axis;
mod names;

/// A count in groups of three: `218,395`.
pub use arenascope_planner::units::grouped as count;
pub use axis::{ByteTick, byte_step, byte_ticks, count_step, count_ticks};
pub use names::{middle_cut, middle_cut_to_fit, short_names};

/// A value that does not exist.
pub const NONE: &str = "–";

/// A value that exists but is not known; the reason is shown on hover.
pub const UNKNOWN: &str = "unknown";

const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// Bytes with three significant digits in binary units, exact below 1 KiB: `5.74 MiB`.
#[must_use]
pub fn bytes(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{} B", count(bytes));
    }
    let mut value = real(bytes);
    let mut unit = 0;
    // From 999.5 on, three digits would need a thousand: the next unit says it shorter.
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", three_digits(value), UNITS[unit])
}

/// Bytes to the last one, for hover and copy: `6,021,120 B`.
#[must_use]
pub fn exact_bytes(bytes: u64) -> String {
    format!("{} B", count(bytes))
}

/// An offset in hex, eight digits or more: `0x00498000`.
#[must_use]
pub fn hex(offset: u64) -> String {
    format!("0x{offset:08x}").to_uppercase().replacen("0X", "0x", 1)
}

/// A share with one decimal, from a ratio: 0.884 gives `88.4 %`.
#[must_use]
pub fn percent(ratio: f64) -> String {
    if !ratio.is_finite() {
        return NONE.to_owned();
    }
    let text = format!("{:.1}", ratio.abs() * 100.0);
    let sign = if ratio < 0.0 && text != "0.0" { "−" } else { "" };
    format!("{sign}{text} %")
}

/// What a plan saves against separate buffers: `88.4 %`, or `–` when there is nothing to save.
#[must_use]
pub fn saving(naive_bytes: u64, arena_bytes: u64) -> String {
    if naive_bytes == 0 {
        return NONE.to_owned();
    }
    percent((real(naive_bytes) - real(arena_bytes)) / real(naive_bytes))
}

/// How far a plan is above the lower bound: `13.3 %`, `0.42 %`, `< 0.01 %`; `0.0 %` only when exact.
#[must_use]
pub fn gap(arena_bytes: u64, bound_bytes: u64) -> String {
    if arena_bytes == bound_bytes {
        return "0.0 %".to_owned();
    }
    if bound_bytes == 0 {
        return NONE.to_owned();
    }
    // The difference is taken in integers: two neighbours above 2^53 are not equal.
    let ratio = real(arena_bytes.abs_diff(bound_bytes)) / real(bound_bytes);
    gap_ratio(if arena_bytes < bound_bytes { -ratio } else { ratio })
}

/// A gap that is already a ratio.
#[must_use]
pub fn gap_ratio(ratio: f64) -> String {
    let percent_value = ratio * 100.0;
    if ratio == 0.0 {
        "0.0 %".to_owned()
    } else if (0.0..0.01).contains(&percent_value) {
        "< 0.01 %".to_owned()
    } else if (0.0..0.995).contains(&percent_value) {
        format!("{percent_value:.2} %")
    } else {
        percent(ratio)
    }
}

/// A half-open lifetime: `[7, 10)`.
#[must_use]
pub fn lifetime(start: u64, end: u64) -> String {
    format!("[{start}, {end})")
}

/// A number of things with its noun: `1 step`, `3 steps`, `218,395 conflicts`.
#[must_use]
pub fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// A window of steps in prose, both ends included: `steps 0–35 of 100`.
#[must_use]
pub fn step_range(first: u64, last: u64, total: u64) -> String {
    format!("steps {}–{} of {}", count(first), count(last), count(total))
}

/// A duration: `40 µs`, `0.3 ms`, `12 ms`, `1.23 s`, `2 min 5 s`, `1 h 20 min`.
#[must_use]
pub fn time(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return UNKNOWN.to_owned();
    }
    let ms = seconds * 1e3;
    if ms == 0.0 {
        "0 ms".to_owned()
    } else if ms < 0.05 {
        format!("{:.0} µs", (seconds * 1e6).max(1.0))
    } else if ms < 9.95 {
        format!("{ms:.1} ms")
    } else if ms < 999.5 {
        format!("{ms:.0} ms")
    } else if seconds < 59.95 {
        format!("{} s", three_digits(seconds))
    } else {
        long_time(seconds.round())
    }
}

fn long_time(seconds: f64) -> String {
    if seconds < 3600.0 {
        format!("{:.0} min {:.0} s", (seconds / 60.0).floor(), seconds % 60.0)
    } else {
        format!("{:.0} h {:.0} min", (seconds / 3600.0).floor(), (seconds % 3600.0 / 60.0).floor())
    }
}

/// An element type and a shape: `f32 1 × 96 × 56 × 56`.
#[must_use]
pub fn shape(dtype: &str, dims: &[u64]) -> String {
    if dims.is_empty() {
        return format!("{dtype} scalar");
    }
    let dims: Vec<String> = dims.iter().map(u64::to_string).collect();
    format!("{dtype} {}", dims.join(" × "))
}

/// A change in per cent, always signed: `−39.6 %`.
#[must_use]
pub fn change_percent(ratio: f64) -> String {
    let text = percent(ratio.abs());
    if text == "0.0 %" { "±0.0 %".to_owned() } else { format!("{}{text}", sign(ratio < 0.0)) }
}

/// A change in bytes, always signed: `+4.00 MiB`.
#[must_use]
pub fn change_bytes(before: u64, after: u64) -> String {
    if before == after {
        return "±0 B".to_owned();
    }
    format!("{}{}", sign(after < before), bytes(before.abs_diff(after)))
}

fn sign(negative: bool) -> &'static str {
    if negative { "−" } else { "+" }
}

/// A value of at most four figures before the point, with three significant digits.
fn three_digits(value: f64) -> String {
    let decimals = match value {
        v if v < 0.9995 => 3,
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

/// For text only: above 2^53 the last digits are rounded, which three digits never show.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn real(bytes: u64) -> f64 {
    bytes as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;

    #[test]
    fn bytes_have_three_significant_digits() {
        for (value, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1023, "1,023 B"),
            (KIB, "1.00 KiB"),
            (768 * KIB, "768 KiB"),
            (6_021_120, "5.74 MiB"),
            (1_204_224, "1.15 MiB"),
            (4 * MIB, "4.00 MiB"),
            (173 * MIB, "173 MiB"),
            (10 * KIB - 1, "10.0 KiB"),
            (1012 * KIB, "0.988 MiB"),
            (MIB - 1, "1.00 MiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(bytes(value), text, "{value}");
        }
    }

    #[test]
    fn exact_forms_keep_every_byte() {
        assert_eq!(exact_bytes(6_021_120), "6,021,120 B");
        assert_eq!(hex(0x0049_8000), "0x00498000");
        assert_eq!(hex(0xAB_CDEF_0123), "0xABCDEF0123");
        for value in [0, 1, 999, 1_000, 1_204_224, u64::MAX] {
            let digits: String = exact_bytes(value).chars().filter(char::is_ascii_digit).collect();
            assert_eq!(digits.parse::<u64>().expect("digits"), value);
        }
    }

    #[test]
    fn shares_have_one_decimal() {
        assert_eq!(percent(0.884), "88.4 %");
        assert_eq!(percent(-0.032), "−3.2 %");
        assert_eq!(percent(-0.0001), "0.0 %");
        assert_eq!(percent(f64::NAN), NONE);
        assert_eq!(saving(1000, 116), "88.4 %");
        assert_eq!(saving(0, 0), NONE);
    }

    #[test]
    fn a_gap_is_zero_only_when_exact() {
        assert_eq!(gap(100, 100), "0.0 %");
        assert_eq!(gap(0, 0), "0.0 %");
        assert_eq!(gap(1133, 1000), "13.3 %");
        assert_eq!(gap(10_042, 10_000), "0.42 %");
        assert_eq!(gap(100_001, 100_000), "< 0.01 %");
        assert_eq!(gap(10_001, 10_000), "0.01 %");
        assert_eq!(gap(100_999, 100_000), "1.0 %");
        assert_eq!(gap((1 << 40) + 1, 1 << 40), "< 0.01 %");
        assert_eq!(gap(1, 0), NONE);
    }

    #[test]
    fn times_take_the_unit_that_fits() {
        for (seconds, text) in [
            (0.0, "0 ms"),
            (0.000_04, "40 µs"),
            (0.000_3, "0.3 ms"),
            (0.001, "1.0 ms"),
            (0.012, "12 ms"),
            (0.999_6, "1.00 s"),
            (1.23, "1.23 s"),
            (42.0, "42.0 s"),
            (59.97, "1 min 0 s"),
            (125.0, "2 min 5 s"),
            (4800.0, "1 h 20 min"),
        ] {
            assert_eq!(time(seconds), text, "{seconds}");
        }
    }

    #[test]
    fn other_forms_follow_the_table() {
        assert_eq!(lifetime(7, 10), "[7, 10)");
        assert_eq!(counted(3, "step", "steps"), "3 steps");
        assert_eq!(counted(1, "step", "steps"), "1 step");
        assert_eq!(step_range(0, 35, 100), "steps 0–35 of 100");
        assert_eq!(count(218_395), "218,395");
        assert_eq!(shape("f32", &[1, 96, 56, 56]), "f32 1 × 96 × 56 × 56");
        assert_eq!(shape("i64", &[]), "i64 scalar");
        assert_eq!(change_percent(-0.396), "−39.6 %");
        assert_eq!(change_percent(0.0), "±0.0 %");
        assert_eq!(change_bytes(0, 4 * MIB), "+4.00 MiB");
        assert_eq!(change_bytes(4 * MIB, 0), "−4.00 MiB");
        assert_eq!(change_bytes(5, 5), "±0 B");
    }
}
