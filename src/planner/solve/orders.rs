//! The orders in which buffers are preferred: strings of keys, larger first.
//!
//! | key | meaning |
//! | --- | --- |
//! | T | largest total size of a section that the buffer lives in |
//! | A | area: size times length of the lifetime |
//! | W | length of the lifetime in steps |
//! | Z | size |
//! | O | number of conflicts |
//! | C | number of sections |
//! | K | size times number of sections |
//! | L | start, earlier first |
//! | U | end, later first |
//!
//! Ties go to the earlier row. Source: MiniMalloc, `src/solver.h` (DOI 10.1145/3623278.3624752), for T, A, W, Z and O.

use std::sync::OnceLock;

use super::sections::Part;
use super::skyline::Skyline;

/// Sorts the items of a part by strings of keys; computes each column once. Threads share it.
pub(super) struct Orders<'a> {
    part: &'a Part,
    /// By position in [`KEYS`]; only those that somebody has asked for.
    columns: [OnceLock<Vec<u64>>; KEYS.len()],
}

const KEYS: [char; 9] = ['T', 'A', 'W', 'Z', 'O', 'C', 'K', 'L', 'U'];

impl<'a> Orders<'a> {
    pub(super) fn new(part: &'a Part) -> Self {
        Self { part, columns: Default::default() }
    }

    /// The items in the order that `keys` describes.
    pub(super) fn sorted(&self, keys: &str) -> Vec<u32> {
        let of_key =
            |key: char| KEYS.iter().position(|&known| known == key).map(|at| self.columns[at].get_or_init(|| column(self.part, key)).as_slice());
        let columns: Vec<&[u64]> = keys.chars().filter_map(of_key).collect();
        let mut items: Vec<(u64, u32)> = columns[0].iter().copied().zip(0..).collect();
        let tie = |item: u32| (self.part.ids[item as usize], item);
        items.sort_unstable_by(|one, two| {
            let (a, b) = (one.1 as usize, two.1 as usize);
            let rest = || columns[1..].iter().map(|column| column[b].cmp(&column[a])).find(|order| order.is_ne());
            two.0.cmp(&one.0).then_with(|| rest().unwrap_or_else(|| tie(one.1).cmp(&tie(two.1))))
        });
        items.into_iter().map(|(_, item)| item).collect()
    }
}

fn column(part: &Part, key: char) -> Vec<u64> {
    let items = 0..part.n_items();
    let n_steps = |item: usize| part.lifetimes[item].n_steps();
    let n_sections = |item: usize| u64::from(part.end[item] - part.first[item]);
    match key {
        'T' => {
            let loads = Skyline::from_heights(&part.load);
            items.map(|item| loads.max(part.range(item).0, part.range(item).1)).collect()
        }
        'A' => items.map(|item| part.bytes[item].saturating_mul(n_steps(item))).collect(),
        'W' => items.map(n_steps).collect(),
        'Z' => part.bytes.clone(),
        'O' => conflicts(part),
        'C' => items.map(n_sections).collect(),
        'K' => items.map(|item| part.bytes[item].saturating_mul(n_sections(item))).collect(),
        'L' => part.lifetimes.iter().map(|lifetime| u64::MAX - lifetime.start).collect(),
        'U' => part.lifetimes.iter().map(|lifetime| lifetime.end).collect(),
        other => unreachable!("the orders are constants, and none has the key {other}"),
    }
}

/// How many other items share a section with each item, from counts of firsts and ends up to each section.
fn conflicts(part: &Part) -> Vec<u64> {
    let mut started = vec![0_u64; part.load.len() + 1];
    let mut ended = vec![0_u64; part.load.len() + 1];
    for (&first, &end) in part.first.iter().zip(&part.end) {
        started[first as usize + 1] += 1;
        ended[end as usize] += 1;
    }
    for section in 1..started.len() {
        started[section] += started[section - 1];
        ended[section] += ended[section - 1];
    }
    (0..part.n_items()).map(|item| part.range(item)).map(|(first, end)| started[end] - ended[first] - 1).collect()
}
