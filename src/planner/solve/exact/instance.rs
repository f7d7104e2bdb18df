//! What the search works on: a part of a problem in canonical form, flat and in units.
//!
//! Problem: the same problem comes with its rows in any order, with time running backwards, or with all sizes tripled,
//! and must be searched the same way.
//! Method: buffers that live throughout their part go to the bottom, and what is left is split again where nobody
//! crosses; sizes are divided by their greatest common divisor; time is reduced to maximal sections; rows are sorted
//! by first section, end, size and width, in that direction of time which gives the smaller list. Rows with equal
//! sections and size are *twins* and form a chain.
//! Guarantee: a placement below a ceiling exists here exactly if one exists in the problem. Sliding a whole-part
//! buffer to the bottom moves what was below it up by its size; every stable placement has sums of sizes as offsets.
//! Time O(n log n + conflicts), space O(n + conflicts + Σ sections per buffer).
//! Source: the partitions and sections of MiniMalloc (Moffitt, DOI 10.1145/3623278.3624752); the canonical form is
//! the project's own.
//!
//! ```text
//! W ########     W lives throughout: it takes the bottom, and A, B | C, D are two parts on top of it
//! A ###..        C and D are twins
//! B .###.
//! C ....#####
//! D ....#####
//! ```

use super::rules::Rules;
use super::unit::Unit;
use crate::ids::BufferId;
use crate::problem::Problem;
use crate::solve::sections::{Part, parts};

/// Stands for "no row".
pub(super) const NONE: u32 = u32::MAX;

/// A part that is solved alone, on top of buffers that live throughout it.
pub(super) struct Leaf {
    pub(super) part: Part,
    /// The buffers below it.
    pub(super) base: Vec<BufferId>,
    /// Their sizes together: where the part begins.
    pub(super) base_bytes: u64,
}

/// A problem taken apart.
pub(super) struct Decomposed {
    /// Offsets of the buffers at the bottom of their parts; 0 for all others.
    pub(super) offsets: Vec<u64>,
    /// The highest end of those buffers.
    pub(super) top_bytes: u64,
    pub(super) leaves: Vec<Leaf>,
}

/// Splits `ids` into parts and peels off what lives throughout them, again and again.
pub(super) fn decompose(problem: &Problem, ids: Vec<BufferId>, rules: Rules) -> Decomposed {
    let mut offsets = vec![0; problem.n_buffers()];
    let mut leaves = Vec::new();
    let mut top_bytes = 0;
    let mut todo: Vec<(Vec<BufferId>, Vec<BufferId>, u64)> = vec![(ids, Vec::new(), 0)];
    while let Some((ids, base, base_bytes)) = todo.pop() {
        for part in parts(problem, ids) {
            let lives_throughout = |item: usize| rules.whole_buffers && part.range(item) == (0, part.load.len());
            let (whole, rest): (Vec<usize>, Vec<usize>) = (0..part.n_items()).partition(|&item| lives_throughout(item));
            if whole.is_empty() {
                leaves.push(Leaf { part, base: base.clone(), base_bytes });
                continue;
            }
            let mut below = base.clone();
            let mut top = base_bytes;
            for item in whole {
                offsets[part.ids[item].index()] = top;
                top += part.bytes[item];
                below.push(part.ids[item]);
            }
            top_bytes = top_bytes.max(top);
            todo.push((rest.into_iter().map(|item| part.ids[item]).collect(), below, top));
        }
    }
    Decomposed { offsets, top_bytes, leaves }
}

/// Rows that each belong to something, one after another: compressed sparse rows.
#[derive(Debug, Default)]
pub(super) struct Lists {
    start: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    fn new(counts: &[u32]) -> Self {
        let mut start = Vec::with_capacity(counts.len() + 1);
        let mut sum = 0;
        start.push(0);
        for count in counts {
            sum += count;
            start.push(sum);
        }
        Self { start, items: vec![0; sum as usize] }
    }

    /// Fills in `item` as the next one of `list`; `at` counts how many are in already.
    fn put(&mut self, list: usize, at: &mut u32, item: u32) {
        self.items[(self.start[list] + *at) as usize] = item;
        *at += 1;
    }

    #[inline]
    pub(super) fn of(&self, list: usize) -> &[u32] {
        &self.items[self.start[list] as usize..self.start[list + 1] as usize]
    }
}

/// A leaf in canonical form; columns by row.
pub(super) struct Instance<U> {
    /// The item of the part that each row is.
    pub(super) item_of: Vec<u32>,
    pub(super) size: Vec<U>,
    pub(super) first: Vec<u32>,
    pub(super) end: Vec<u32>,
    /// Length of each lifetime, steps.
    pub(super) width: Vec<u64>,
    /// The twin that must be placed before each row, [`NONE`] if there is none.
    pub(super) pred: Vec<u32>,
    /// The rows that share a section with each row.
    pub(super) neighbours: Lists,
    /// The rows of each section.
    pub(super) members: Lists,
    /// Sum of sizes in each section.
    pub(super) load: Vec<U>,
    /// First row with a first section at or after each section; one more entry than sections.
    pub(super) row_at: Vec<u32>,
}

/// One row before the direction of time is chosen.
type Row<U> = (u32, u32, U, u64, u32);

impl<U: Unit> Instance<U> {
    /// `None` if a sum of sizes does not fit into `U`.
    pub(super) fn new(part: &Part, bytes_per_unit: u64, rules: Rules) -> Option<Self> {
        let total: u64 = part.bytes.iter().map(|bytes| bytes / bytes_per_unit).sum();
        // Half the range, so that the sum of two offsets below the total fits too.
        U::from_units(total.checked_mul(2)?)?;
        let rows = canonical_rows(part, bytes_per_unit)?;
        let n_sections = part.load.len();
        let first: Vec<u32> = rows.iter().map(|row| row.0).collect();
        let end: Vec<u32> = rows.iter().map(|row| row.1).collect();
        let size: Vec<U> = rows.iter().map(|row| row.2).collect();
        let is_twin =
            |row: usize| rules.twins && row > 0 && rows[row - 1].0 == rows[row].0 && rows[row - 1].1 == rows[row].1 && size[row - 1] == size[row];
        let pred = (0..rows.len()).zip(0_u32..).map(|(row, id)| if is_twin(row) { id - 1 } else { NONE }).collect();
        let members = members(&first, &end, n_sections);
        let load = (0..n_sections).map(|section| members.of(section).iter().fold(U::ZERO, |sum, &row| sum + size[row as usize])).collect();
        let row_at = (0..=n_sections).zip(0_u32..).map(|(_, section)| position(first.partition_point(|&first| first < section))).collect();
        Some(Self {
            item_of: rows.iter().map(|row| row.4).collect(),
            width: rows.iter().map(|row| row.3).collect(),
            neighbours: neighbours(&first, &end),
            size,
            first,
            end,
            pred,
            members,
            load,
            row_at,
        })
    }

    pub(super) fn n_rows(&self) -> usize {
        self.size.len()
    }

    pub(super) fn n_sections(&self) -> usize {
        self.load.len()
    }

    /// The sections of a row, as positions.
    #[inline]
    pub(super) fn range(&self, row: usize) -> std::ops::Range<usize> {
        self.first[row] as usize..self.end[row] as usize
    }

    /// The largest load.
    pub(super) fn bound(&self) -> U {
        self.load.iter().copied().max().unwrap_or(U::ZERO)
    }

    /// The highest end of a placement by row.
    pub(super) fn height(&self, offsets: &[U]) -> U {
        offsets.iter().zip(&self.size).map(|(&offset, &size)| offset + size).max().unwrap_or(U::ZERO)
    }
}

fn position(index: usize) -> u32 {
    u32::try_from(index).expect("rows have 32-bit ids")
}

/// The rows in that direction of time which gives the smaller sorted list.
fn canonical_rows<U: Unit>(part: &Part, bytes_per_unit: u64) -> Option<Vec<Row<U>>> {
    let n_sections = position(part.load.len());
    let mut forward = Vec::with_capacity(part.n_items());
    for (item, id) in (0..part.n_items()).zip(0_u32..) {
        let size = U::from_units(part.bytes[item] / bytes_per_unit)?;
        forward.push((part.first[item], part.end[item], size, part.lifetimes[item].n_steps(), id));
    }
    let mut backward: Vec<Row<U>> =
        forward.iter().map(|&(first, end, size, width, id)| (n_sections - end, n_sections - first, size, width, id)).collect();
    forward.sort_unstable();
    backward.sort_unstable();
    let shape = |rows: &[Row<U>]| -> Vec<(u32, u32, U, u64)> { rows.iter().map(|row| (row.0, row.1, row.2, row.3)).collect() };
    Some(if shape(&backward) < shape(&forward) { backward } else { forward })
}

fn members(first: &[u32], end: &[u32], n_sections: usize) -> Lists {
    let mut counts = vec![0; n_sections];
    for (&first, &end) in first.iter().zip(end) {
        counts[first as usize..end as usize].iter_mut().for_each(|count| *count += 1);
    }
    let mut lists = Lists::new(&counts);
    counts.fill(0);
    for (row, (&first, &end)) in (0_u32..).zip(first.iter().zip(end)) {
        for (section, count) in counts.iter_mut().enumerate().take(end as usize).skip(first as usize) {
            lists.put(section, count, row);
        }
    }
    lists
}

/// Rows are sorted by first section, so the later neighbours of a row are those that begin before it ends.
fn neighbours(first: &[u32], end: &[u32]) -> Lists {
    let n_later = |row: usize| first[row + 1..].iter().take_while(|&&begin| begin < end[row]).count();
    let pairs = || (0..first.len()).flat_map(|row| (row + 1..=row + n_later(row)).map(move |later| (row, later)));
    let mut counts = vec![0; first.len()];
    for (row, later) in pairs() {
        counts[row] += 1;
        counts[later] += 1;
    }
    let mut lists = Lists::new(&counts);
    counts.fill(0);
    // Earlier neighbours come first in each list, as rows are visited in order.
    for (row, later) in pairs() {
        lists.put(row, &mut counts[row], position(later));
        lists.put(later, &mut counts[later], position(row));
    }
    lists
}
