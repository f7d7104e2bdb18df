//! The order in which buffers with equal minimum offsets are preferred: strings of keys, larger first.
//!
//! The letters are those of [`crate::solve`]'s one-pass orders: T largest section total, W width, A area, Z size,
//! C number of sections, O number of neighbours, K size times sections, L start and U end. Ties go to the earlier row
//! of the canonical form.
//!
//! A *drawn* order is one of a list, or a random product of powers of the keys, so that a restart goes elsewhere but
//! still knows what is large. (Random factors on every row do worse: they break up the groups of equal keys.)
//! Time O(n log n) per order, space O(n).

use std::cmp::Ordering;

use super::instance::Instance;
use super::unit::Unit;

/// Orders that a restart may draw; each solves some hard instance that few others do.
const DRAWN: [&str; 24] = [
    "TWA", "TAW", "WAT", "WTA", "OZ", "OT", "OAT", "OWT", "ZA", "ZO", "TCA", "TC", "TKW", "CAT", "CT", "CZ", "KO", "TOA", "TZW", "LZ", "UZ", "W",
    "WZ", "A",
];

/// Largest addition to the logarithm of a key in a random order; measured: 0 and 1 find less.
const NOISE: f64 = 0.2;

/// Most pairs that are exchanged. Measured on one hard instance, with few successes to count: four exchanges in a good
/// order lower the best about three times as often as moving all ranks by some per cent does, and seven times as often
/// as a fresh order.
const MAX_SWAPS: usize = 6;

/// The rank of each row in the order that `keys` describes, lower first.
pub(super) fn ranks<U: Unit>(instance: &Instance<U>, keys: &str) -> Vec<u32> {
    let columns: Vec<Vec<f64>> = keys.chars().map(|key| column(instance, key)).collect();
    let by_column = |one: usize, two: usize| columns.iter().map(|column| column[two].total_cmp(&column[one])).find(|order| order.is_ne());
    ranks_by(instance.n_rows(), |one, two| by_column(one, two).unwrap_or(Ordering::Equal))
}

/// The rank of each row in a random order, lower first.
pub(super) fn drawn_ranks<U: Unit>(instance: &Instance<U>, rng: &mut fastrand::Rng) -> Vec<u32> {
    // A listed order is the same search every time, so most are made up.
    if rng.u32(0..4) == 0 {
        return ranks(instance, DRAWN[rng.usize(0..DRAWN.len())]);
    }
    let noise = if rng.bool() { 0.0 } else { NOISE * rng.f64() };
    let mut score: Vec<f64> = (0..instance.n_rows()).map(|_| noise * rng.f64()).collect();
    for key in ['W', 'Z', 'C', 'O', 'T'] {
        let weight = if rng.bool() { rng.f64() } else { 0.0 };
        score.iter_mut().zip(column(instance, key)).for_each(|(score, value)| *score += weight * value.ln());
    }
    ranks_by(instance.n_rows(), |one, two| score[two].total_cmp(&score[one]))
}

/// Exchanges the ranks of a few pairs of rows, so that most of what made the order good is kept.
pub(super) fn swap_a_few(ranks: &mut [u32], rng: &mut fastrand::Rng) {
    for _ in 0..rng.usize(1..=MAX_SWAPS) {
        ranks.swap(rng.usize(0..ranks.len()), rng.usize(0..ranks.len()));
    }
}

/// Ties go to the earlier row.
fn ranks_by(n_rows: usize, compare: impl Fn(usize, usize) -> Ordering) -> Vec<u32> {
    let mut rows: Vec<u32> = (0_u32..).take(n_rows).collect();
    rows.sort_by(|&one, &two| compare(one as usize, two as usize).then(one.cmp(&two)));
    let mut ranks = vec![0; rows.len()];
    for (rank, row) in (0_u32..).zip(rows) {
        ranks[row as usize] = rank;
    }
    ranks
}

fn column<U: Unit>(instance: &Instance<U>, key: char) -> Vec<f64> {
    (0..instance.n_rows()).map(|row| value(instance, key, row)).collect()
}

fn value<U: Unit>(instance: &Instance<U>, key: char, row: usize) -> f64 {
    let size = instance.size[row].units() as f64;
    let width = instance.width[row] as f64;
    let n_sections = f64::from(instance.end[row] - instance.first[row]);
    match key {
        'T' => instance.load[instance.range(row)].iter().map(|load| load.units()).max().unwrap_or(0) as f64,
        'W' => width,
        'A' => size * width,
        'Z' => size,
        'C' => n_sections,
        'O' => instance.neighbours.of(row).len() as f64,
        'K' => size * n_sections,
        'L' => f64::from(instance.first[row]),
        'U' => f64::from(instance.end[row]),
        other => unreachable!("the orders are constants, and none has the key {other}"),
    }
}
