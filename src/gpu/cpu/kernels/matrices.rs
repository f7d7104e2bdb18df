//! Products of matrices: four rows at a time, in tiles of columns that stay in the first cache.

use std::cell::Cell;

use super::{at, for_each_row, place, single};
use crate::compute::{Body, Strides};

/// Rows whose sums are kept at once: B is then read a quarter as often.
const ROWS: usize = 4;
/// Columns of a tile: the sums of four rows take 4 KiB.
const COLUMNS: usize = 256;

pub(super) fn product(body: &Body, output: &[Cell<f32>], inputs: &[&[Cell<f32>]]) {
    let Body::Product { batch, rows, columns, depth, a, b, c, alpha, beta } = body else { return };
    let (rows, columns, depth) = (at(*rows), at(*columns), at(*depth));
    let own = Strides { offset: 0, by_axis: vec![0; batch.len()] };
    let outer = |strides: &Strides| Strides { offset: strides.offset, by_axis: strides.by_axis[..batch.len()].to_vec() };
    let (outer_a, outer_b, outer_c) = (outer(a), outer(b), c.as_ref().map_or(own, outer));
    let last = |strides: &Strides, back: usize| strides.by_axis[strides.by_axis.len() - back];
    let scales = (single(*alpha), single(*beta));
    // `for_each_row` leaves the last axis out, and there is none to leave out here.
    let shape: Vec<u64> = batch.iter().copied().chain([1]).collect();
    for_each_row(&shape, &[&outer_a, &outer_b, &outer_c], |index, offsets| {
        let matrices = Matrices {
            depth,
            a: (inputs[0], offsets[0], last(a, 2), last(a, 1)),
            b: (inputs[1], offsets[1], last(b, 2), last(b, 1)),
            c: c.as_ref().map(|c| (inputs[2], offsets[2], last(c, 2), last(c, 1))),
            scales,
        };
        let output = &output[index * rows * columns..(index + 1) * rows * columns];
        for first_row in (0..rows).step_by(ROWS) {
            let n_rows = ROWS.min(rows - first_row);
            for first_column in (0..columns).step_by(COLUMNS) {
                let n_columns = COLUMNS.min(columns - first_column);
                let sums = matrices.tile(first_row, n_rows, first_column, n_columns);
                for (row, sums) in sums.iter().enumerate().take(n_rows) {
                    let from = (first_row + row) * columns + first_column;
                    for (column, cell) in output[from..from + n_columns].iter().enumerate() {
                        cell.set(matrices.finished(sums[column], first_row + row, first_column + column));
                    }
                }
            }
        }
    });
}

/// A matrix: its elements, the first one, and the strides of rows and columns.
type Matrix<'a> = (&'a [Cell<f32>], i64, i64, i64);

struct Matrices<'a> {
    depth: usize,
    a: Matrix<'a>,
    b: Matrix<'a>,
    c: Option<Matrix<'a>>,
    scales: (f32, f32),
}

impl Matrices<'_> {
    fn finished(&self, sum: f32, row: usize, column: usize) -> f32 {
        let (alpha, beta) = self.scales;
        match self.c {
            Some((c, offset, rows, columns)) => alpha * sum + beta * c[place(offset + rows * row as i64, columns, column)].get(),
            None => alpha * sum,
        }
    }

    fn tile(&self, first_row: usize, n_rows: usize, first_column: usize, n_columns: usize) -> [[f32; COLUMNS]; ROWS] {
        let mut sums = [[0.0_f32; COLUMNS]; ROWS];
        let (a, a_offset, a_rows, a_depth) = self.a;
        let (b, b_offset, b_depth, b_columns) = self.b;
        let row_of_a = |row: usize| a_offset + a_rows * (first_row + row) as i64;
        if b_depth == 1 && a_depth == 1 {
            // Both run along the sum: dot products.
            for (row, sums) in sums.iter_mut().enumerate().take(n_rows) {
                let a = &a[place(row_of_a(row), 1, 0)..][..self.depth];
                for (column, sum) in sums.iter_mut().enumerate().take(n_columns) {
                    let b = &b[place(b_offset, b_columns, first_column + column)..][..self.depth];
                    *sum = dot(a, b);
                }
            }
            return sums;
        }
        for index in 0..self.depth {
            let from_b = b_offset + b_depth * index as i64 + b_columns * first_column as i64;
            for (row, sums) in sums.iter_mut().enumerate().take(n_rows) {
                let factor = a[place(row_of_a(row), a_depth, index)].get();
                if b_columns == 1 {
                    let b = &b[place(from_b, 1, 0)..][..n_columns];
                    for (sum, b) in sums[..n_columns].iter_mut().zip(b) {
                        *sum += factor * b.get();
                    }
                } else {
                    for (column, sum) in sums[..n_columns].iter_mut().enumerate() {
                        *sum += factor * b[place(from_b, b_columns, column)].get();
                    }
                }
            }
        }
        sums
    }
}

/// Eight sums side by side, so that they can be one vector.
fn dot(a: &[Cell<f32>], b: &[Cell<f32>]) -> f32 {
    let mut sums = [0.0_f32; 8];
    let (a_chunks, a_rest) = a.as_chunks::<8>();
    let (b_chunks, b_rest) = b.as_chunks::<8>();
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a.get() * b.get();
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a.get() * b.get()).sum();
    sums.iter().sum::<f32>() + rest
}
