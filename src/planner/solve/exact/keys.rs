//! The order in which buffers with equal minimum offsets are preferred: strings of keys, larger first.
//!
//! The letters are those of [`crate::solve`]'s one-pass orders: T largest section total, W width, A area, Z size,
//! C number of sections, O number of neighbours, K size times sections, L start and U end. Ties go to the earlier row
//! of the canonical form.
//!
//! A *perturbed* order multiplies every key of every row by a random factor near 1, so that a restart goes elsewhere.
//! Time O(n log n) per order, space O(n).

use super::instance::Instance;
use super::unit::Unit;

/// How far a factor may be from 1; measured to be large enough to go elsewhere and small enough to keep the order's
/// character.
const SPREAD: f64 = 0.15;

/// The rank of each row, lower first.
pub(super) fn ranks<U: Unit>(instance: &Instance<U>, keys: &str, mut noise: Option<fastrand::Rng>) -> Vec<u32> {
    let columns: Vec<Vec<f64>> = keys
        .chars()
        .map(|key| {
            let mut column: Vec<f64> = (0..instance.n_rows()).map(|row| value(instance, key, row)).collect();
            if let Some(rng) = &mut noise {
                column.iter_mut().for_each(|value| *value *= 1.0 + SPREAD * (2.0 * rng.f64() - 1.0));
            }
            column
        })
        .collect();
    let mut rows: Vec<u32> = (0_u32..).take(instance.n_rows()).collect();
    rows.sort_by(|&one, &two| {
        let of = |column: &Vec<f64>| column[two as usize].total_cmp(&column[one as usize]);
        columns.iter().map(of).find(|order| order.is_ne()).unwrap_or_else(|| one.cmp(&two))
    });
    let mut ranks = vec![0; rows.len()];
    for (rank, row) in (0_u32..).zip(rows) {
        ranks[row as usize] = rank;
    }
    ranks
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
        'l' => -f64::from(instance.first[row]),
        'u' => -f64::from(instance.end[row]),
        other => unreachable!("the orders are constants, and none has the key {other}"),
    }
}
