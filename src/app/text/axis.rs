//! Where an axis puts its ticks: round binary bytes, round decimal steps.

use super::{bytes, count};

/// A labelled position on an axis of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteTick {
    /// Position in bytes.
    pub bytes: u64,
    /// `6 MiB`, `1.00 GiB`, or `0` at the origin.
    pub label: String,
}

/// The smallest power of two that gives at most `most` steps over `span_bytes`.
#[must_use]
pub fn byte_step(span_bytes: u64, most: usize) -> u64 {
    let most = u64::try_from(most.max(1)).unwrap_or(u64::MAX);
    span_bytes.div_ceil(most).max(1).checked_next_power_of_two().unwrap_or(1 << 63)
}

/// Ticks over `[low, high]` bytes, at most about `most` of them, in one unit where that is possible.
#[must_use]
pub fn byte_ticks(low: u64, high: u64, most: usize) -> Vec<ByteTick> {
    let step = byte_step(high.saturating_sub(low), most);
    ticks(low, high, step).map(|at| ByteTick { bytes: at, label: byte_label(at, step) }).collect()
}

/// The smallest of 1, 2, 4, 10, 20, 50, 100, … that gives at most `most` ticks over `span`.
#[must_use]
pub fn count_step(span: u64, most: usize) -> u64 {
    let wanted = span.div_ceil(u64::try_from(most.max(1)).unwrap_or(u64::MAX)).max(1);
    if let Some(step) = [1, 2, 4].into_iter().find(|&step| step >= wanted) {
        return step;
    }
    let mut decade: u64 = 10;
    loop {
        for factor in [1, 2, 5] {
            match decade.checked_mul(factor) {
                Some(step) if step < wanted => {}
                Some(step) => return step,
                None => return wanted,
            }
        }
        let Some(next) = decade.checked_mul(10) else { return wanted };
        decade = next;
    }
}

/// Positions of ticks over `[low, high]` for an axis that counts steps or rows.
#[must_use]
pub fn count_ticks(low: u64, high: u64, most: usize) -> Vec<u64> {
    ticks(low, high, count_step(high.saturating_sub(low), most)).collect()
}

fn ticks(low: u64, high: u64, step: u64) -> impl Iterator<Item = u64> {
    let first = low.div_ceil(step).checked_mul(step);
    std::iter::successors(first, move |at| at.checked_add(step)).take_while(move |&at| at <= high)
}

fn byte_label(at: u64, step: u64) -> String {
    if at == 0 {
        return "0".to_owned();
    }
    let power = step.ilog2() / 10;
    let in_unit = at >> (10 * power);
    if power > 0 && in_unit < 1000 {
        let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        let unit = units[usize::try_from(power).unwrap_or(0)];
        return format!("{} {unit}", count(in_unit));
    }
    bytes(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(low: u64, high: u64, most: usize) -> Vec<String> {
        byte_ticks(low, high, most).into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_round_and_in_one_unit() {
        assert_eq!(labels(0, 6_021_120, 7), ["0", "1 MiB", "2 MiB", "3 MiB", "4 MiB", "5 MiB"]);
        assert_eq!(labels(0, 100, 4), ["0", "32 B", "64 B", "96 B"]);
        assert_eq!(labels(0, 1 << 30, 4), ["0", "256 MiB", "512 MiB", "768 MiB", "1.00 GiB"]);
    }

    #[test]
    fn ticks_start_inside_a_zoomed_window() {
        assert_eq!(labels(3 << 20, 5 << 20, 2), ["3 MiB", "4 MiB", "5 MiB"]);
        assert!(labels(5, 5, 4).len() <= 1);
        assert!(byte_ticks(0, u64::MAX, 8).len() <= 9);
    }

    #[test]
    fn steps_are_at_round_numbers() {
        assert_eq!(count_ticks(0, 35, 9), [0, 4, 8, 12, 16, 20, 24, 28, 32]);
        assert_eq!(count_ticks(0, 99, 5), [0, 20, 40, 60, 80]);
        assert_eq!(count_ticks(7, 9, 10), [7, 8, 9]);
        assert_eq!(count_step(u64::MAX, 1), u64::MAX);
    }
}
