//! What a model sees: rows of numbers, a target, weights. Views only; nothing here owns or copies.
//!
//! `X` is dense (row-major) or sparse (CSR), and every operation a model needs exists for both, so one loop serves
//! both. Labels, categories and missing values were turned into numbers at the edges and are never seen here.

use crate::{Error, Result, linalg::Matrix, simd};
use std::ops::Range;

/// Rows of `cols` numbers.
#[derive(Clone, Copy, Debug)]
pub enum X<'a> {
    Dense(Dense<'a>),
    Sparse(Csr<'a>),
}

/// Row-major: row `i` is `values[i * cols..(i + 1) * cols]`.
#[derive(Clone, Copy, Debug)]
pub struct Dense<'a> {
    pub values: &'a [f64],
    pub rows: usize,
    pub cols: usize,
}

/// Compressed sparse rows: row `i` holds `values[starts[i]..starts[i + 1]]` in the columns of the same range, which
/// increase strictly. `starts` has one entry more than there are rows and need not begin at zero.
#[derive(Clone, Copy, Debug)]
pub struct Csr<'a> {
    pub starts: &'a [usize],
    pub columns: &'a [u32],
    pub values: &'a [f64],
    pub cols: usize,
}

/// One row of an [`X`].
#[derive(Clone, Copy, Debug)]
pub enum Row<'a> {
    Dense(&'a [f64]),
    Sparse { columns: &'a [u32], values: &'a [f64] },
}

impl<'a> X<'a> {
    pub fn dense(values: &'a [f64], cols: usize) -> Result<Self> {
        if cols == 0 || !values.len().is_multiple_of(cols) {
            return Err(Error::shape("x", format!("a multiple of {cols} values"), values.len()));
        }
        Ok(X::Dense(Dense { values, rows: values.len() / cols, cols }))
    }

    /// Checks the structure, so that no kernel has to.
    pub fn csr(starts: &'a [usize], columns: &'a [u32], values: &'a [f64], cols: usize) -> Result<Self> {
        let ordered = starts.windows(2).all(|pair| pair[0] <= pair[1]);
        if starts.is_empty() || !ordered || *starts.last().unwrap() > values.len() || columns.len() != values.len() {
            return Err(Error::Data("sparse x: row starts, columns and values are inconsistent".into()));
        }
        for row in starts.windows(2) {
            let columns = &columns[row[0]..row[1]];
            if columns.windows(2).any(|pair| pair[0] >= pair[1]) {
                return Err(Error::Data("sparse x: the columns of a row must increase strictly".into()));
            }
            if columns.last().is_some_and(|&last| last as usize >= cols) {
                return Err(Error::shape("sparse x", format!("columns below {cols}"), columns.last().unwrap()));
            }
        }
        Ok(X::Sparse(Csr { starts, columns, values, cols }))
    }

    pub fn rows(&self) -> usize {
        match self {
            X::Dense(x) => x.rows,
            X::Sparse(x) => x.starts.len() - 1,
        }
    }

    pub fn cols(&self) -> usize {
        match self {
            X::Dense(x) => x.cols,
            X::Sparse(x) => x.cols,
        }
    }

    /// Values that are stored: all of them when dense.
    pub fn stored(&self) -> usize {
        match self {
            X::Dense(x) => x.values.len(),
            X::Sparse(x) => x.starts[x.starts.len() - 1] - x.starts[0],
        }
    }

    pub fn is_sparse(&self) -> bool {
        matches!(self, X::Sparse(_))
    }

    pub fn row(&self, i: usize) -> Row<'a> {
        match self {
            X::Dense(x) => Row::Dense(&x.values[i * x.cols..(i + 1) * x.cols]),
            X::Sparse(x) => {
                let range = x.starts[i]..x.starts[i + 1];
                Row::Sparse { columns: &x.columns[range.clone()], values: &x.values[range] }
            }
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Row<'a>> + use<'a> {
        let x = *self;
        (0..x.rows()).map(move |i| x.row(i))
    }

    pub fn slice(&self, rows: Range<usize>) -> X<'a> {
        match self {
            X::Dense(x) => X::Dense(Dense {
                values: &x.values[rows.start * x.cols..rows.end * x.cols],
                rows: rows.len(),
                cols: x.cols,
            }),
            X::Sparse(x) => X::Sparse(Csr { starts: &x.starts[rows.start..=rows.end], ..*x }),
        }
    }

    /// `out[i] = x_i . w`
    pub fn times_vector(&self, w: &[f64], out: &mut [f64]) {
        match self {
            X::Dense(x) => simd::matrix_vector(x.values, x.cols, w, out),
            X::Sparse(_) => {
                for (row, out) in self.iter().zip(out) {
                    *out = row.dot(w);
                }
            }
        }
    }

    /// `out += sum_i r[i] x_i`, the transposed product.
    pub fn add_transposed_vector(&self, r: &[f64], out: &mut [f64]) {
        match self {
            X::Dense(x) => simd::add_transposed_vector(x.values, x.cols, r, out),
            X::Sparse(_) => {
                for (row, &r) in self.iter().zip(r) {
                    row.add_to(r, out);
                }
            }
        }
    }

    /// `out = X W`, with `w` of `cols` x k and `out` of rows x k, both row-major.
    pub fn times_matrix(&self, w: &[f64], k: usize, out: &mut [f64]) {
        match self {
            X::Dense(x) => crate::linalg::multiply(
                crate::linalg::View::rows(x.values, x.rows, x.cols),
                crate::linalg::View::rows(w, x.cols, k),
                0.0,
                out,
            ),
            X::Sparse(x) => {
                out[..self.rows() * k].fill(0.0);
                x.add_times_matrix(w, k, out);
            }
        }
    }

    /// `out += X' R`, with `r` of rows x k and `out` of `cols` x k, both row-major.
    pub fn add_transposed_matrix(&self, r: &[f64], k: usize, out: &mut [f64]) {
        match self {
            X::Dense(x) => crate::linalg::multiply(
                crate::linalg::View::rows(x.values, x.rows, x.cols).transposed(),
                crate::linalg::View::rows(r, x.rows, k),
                1.0,
                out,
            ),
            X::Sparse(x) => x.add_transposed_times_matrix(r, k, out),
        }
    }

    /// A dense copy, for what has no sparse form.
    pub fn to_matrix(&self) -> Matrix {
        let mut out = Matrix::zeros(self.rows(), self.cols());
        for (i, row) in self.iter().enumerate() {
            row.for_each(|j, value| out.row_mut(i)[j] = value);
        }
        out
    }

    /// The first value that is NaN or infinite, as an error.
    pub fn check_finite(&self, first_row: usize) -> Result<()> {
        let stored = match self {
            X::Dense(x) => x.values,
            X::Sparse(x) => &x.values[x.starts[0]..x.starts[x.starts.len() - 1]],
        };
        if simd::all_finite(stored) {
            return Ok(());
        }
        for (i, row) in self.iter().enumerate() {
            let mut found = None;
            row.for_each(|j, value| {
                if !value.is_finite() && found.is_none() {
                    found = Some((j, value));
                }
            });
            if let Some((j, value)) = found {
                let what = if value.is_nan() { "NaN (missing)" } else { "infinity" };
                return Err(Error::value(
                    first_row + i,
                    j,
                    format!("the value is {what}, but this model needs numbers"),
                ));
            }
        }
        Ok(())
    }
}

impl Csr<'_> {
    /// `out += X W`
    fn add_times_matrix(&self, w: &[f64], k: usize, out: &mut [f64]) {
        simd::vectorised(
            #[inline(always)]
            || {
                for (range, out) in self.starts.windows(2).zip(out.chunks_exact_mut(k)) {
                    let range = range[0]..range[1];
                    add_combination(&self.columns[range.clone()], &self.values[range], w, k, out);
                }
            },
        );
    }

    /// `out += X' R`. Column by column, since a row of `out` then stays in registers while its terms are added; where
    /// columns hold next to nothing, turning the rows around would cost more than it saves.
    fn add_transposed_times_matrix(&self, r: &[f64], k: usize, out: &mut [f64]) {
        let (first, last) = (self.starts[0], self.starts[self.starts.len() - 1]);
        if last - first < self.cols {
            for (range, r) in self.starts.windows(2).zip(r.chunks_exact(k)) {
                for at in range[0]..range[1] {
                    let j = self.columns[at] as usize;
                    simd::add_scaled(self.values[at], r, &mut out[j * k..(j + 1) * k]);
                }
            }
            return;
        }
        // Ends of the columns, which become starts while they are filled from behind.
        let mut starts = vec![0; self.cols + 1];
        self.columns[first..last].iter().for_each(|&j| starts[j as usize] += 1);
        let mut total = 0;
        for start in &mut starts {
            total += *start;
            *start = total;
        }
        let (mut rows, mut values) = (vec![0u32; last - first], vec![0.0; last - first]);
        for i in (0..self.starts.len() - 1).rev() {
            for at in self.starts[i]..self.starts[i + 1] {
                let to = &mut starts[self.columns[at] as usize];
                *to -= 1;
                (rows[*to], values[*to]) = (i as u32, self.values[at]);
            }
        }
        simd::vectorised(
            #[inline(always)]
            || {
                for (range, out) in starts.windows(2).zip(out.chunks_exact_mut(k)) {
                    add_combination(&rows[range[0]..range[1]], &values[range[0]..range[1]], r, k, out);
                }
            },
        );
    }
}

/// `out += sum_t factors[t] m_{which[t]}` for rows m of `k` numbers; sums stay in registers, a strip of `out` at a
/// time.
#[inline(always)]
fn add_combination(which: &[u32], factors: &[f64], m: &[f64], k: usize, out: &mut [f64]) {
    let mut at = 0;
    while at + 32 <= k {
        add_strip::<32>(which, factors, m, k, at, out);
        at += 32;
    }
    while at + 8 <= k {
        add_strip::<8>(which, factors, m, k, at, out);
        at += 8;
    }
    while at < k {
        add_strip::<1>(which, factors, m, k, at, out);
        at += 1;
    }
}

#[inline(always)]
fn add_strip<const N: usize>(which: &[u32], factors: &[f64], m: &[f64], k: usize, at: usize, out: &mut [f64]) {
    let mut sums: [f64; N] = out[at..at + N].try_into().expect("a strip");
    for (&row, &factor) in which.iter().zip(factors) {
        let from = row as usize * k + at;
        let m: &[f64; N] = m[from..from + N].try_into().expect("a strip");
        for lane in 0..N {
            sums[lane] = factor.mul_add(m[lane], sums[lane]);
        }
    }
    out[at..at + N].copy_from_slice(&sums);
}

impl Row<'_> {
    pub fn dot(&self, w: &[f64]) -> f64 {
        match self {
            Row::Dense(x) => simd::dot(x, w),
            Row::Sparse { columns, values } => {
                columns.iter().zip(*values).map(|(&j, &value)| value * w[j as usize]).sum()
            }
        }
    }

    /// `out += a x`
    pub fn add_to(&self, a: f64, out: &mut [f64]) {
        match self {
            Row::Dense(x) => simd::add_scaled(a, x, out),
            Row::Sparse { columns, values } => {
                for (&j, &value) in columns.iter().zip(*values) {
                    out[j as usize] += a * value;
                }
            }
        }
    }

    pub fn norm2(&self) -> f64 {
        match self {
            Row::Dense(x) => simd::dot(x, x),
            Row::Sparse { values, .. } => simd::dot(values, values),
        }
    }

    /// Squared Euclidean distance to a dense point.
    pub fn distance2(&self, point: &[f64]) -> f64 {
        match self {
            Row::Dense(x) => simd::distance2(x, point),
            Row::Sparse { columns, values } => {
                let mut next = 0;
                let mut sum = 0.0;
                for (&j, &value) in columns.iter().zip(*values) {
                    sum += simd::dot(&point[next..j as usize], &point[next..j as usize]);
                    sum += (value - point[j as usize]) * (value - point[j as usize]);
                    next = j as usize + 1;
                }
                sum + simd::dot(&point[next..], &point[next..])
            }
        }
    }

    /// Calls `f(column, value)` for every stored value.
    pub fn for_each(&self, mut f: impl FnMut(usize, f64)) {
        match self {
            Row::Dense(x) => x.iter().enumerate().for_each(|(j, &value)| f(j, value)),
            Row::Sparse { columns, values } => {
                columns.iter().zip(*values).for_each(|(&j, &value)| f(j as usize, value));
            }
        }
    }
}

/// What is to be predicted.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    None,
    /// Row-major, `cols` values a row.
    Real {
        values: &'a [f64],
        cols: usize,
    },
    /// Class numbers below `classes`.
    Class {
        codes: &'a [u32],
        classes: usize,
    },
}

impl<'a> Target<'a> {
    pub fn kind(&self) -> TargetKind {
        match *self {
            Target::None => TargetKind::None,
            Target::Real { cols, .. } => TargetKind::Real(cols),
            Target::Class { classes, .. } => TargetKind::Class(classes),
        }
    }

    pub fn slice(&self, rows: Range<usize>) -> Target<'a> {
        match *self {
            Target::None => Target::None,
            Target::Real { values, cols } => Target::Real { values: &values[rows.start * cols..rows.end * cols], cols },
            Target::Class { codes, classes } => Target::Class { codes: &codes[rows], classes },
        }
    }

    /// The values of a real target; empty for any other.
    pub fn real(&self) -> &'a [f64] {
        match *self {
            Target::Real { values, .. } => values,
            _ => &[],
        }
    }

    /// The codes of a class target; empty for any other.
    pub fn codes(&self) -> &'a [u32] {
        match *self {
            Target::Class { codes, .. } => codes,
            _ => &[],
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum TargetKind {
    None,
    /// How many columns.
    Real(usize),
    /// How many classes.
    Class(usize),
}

/// What a column of numbers means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Feature {
    #[default]
    Number,
    /// Codes `0..levels`; anything else is missing or was never seen.
    Category { levels: u32 },
}

/// Consecutive rows with what belongs to them.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    pub x: X<'a>,
    pub y: Target<'a>,
    pub weights: Option<&'a [f64]>,
    /// Number of the first row among all rows of all workers.
    pub first: usize,
}

impl<'a> Batch<'a> {
    pub fn rows(&self) -> usize {
        self.x.rows()
    }

    pub fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[i])
    }

    /// Rows counted from the start of this batch.
    pub fn slice(&self, rows: Range<usize>) -> Batch<'a> {
        Batch {
            x: self.x.slice(rows.clone()),
            y: self.y.slice(rows.clone()),
            weights: self.weights.map(|weights| &weights[rows.clone()]),
            first: self.first + rows.start,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Strips of every width, and columns both full and nearly empty.
    #[test]
    fn sparse_products_are_those_of_the_dense_rows() {
        let number = |i: usize| (i as f64 * 0.618_033_988_75).fract() - 0.5;
        for (rows, cols) in [(20, 7), (5, 60)] {
            let dense: Vec<f64> = (0..rows * cols).map(|i| if i % 6 == 1 { number(i) } else { 0.0 }).collect();
            let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
            for row in dense.chunks(cols) {
                for (j, &value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                    columns.push(j as u32);
                    values.push(value);
                }
                starts.push(values.len());
            }
            let dense = X::dense(&dense, cols).unwrap();
            let sparse = X::csr(&starts, &columns, &values, cols).unwrap();
            // A window, whose starts do not begin at zero.
            for (dense, sparse) in [(dense, sparse), (dense.slice(2..5), sparse.slice(2..5))] {
                for k in [1, 3, 8, 43] {
                    let product = |x: &X| {
                        let w: Vec<f64> = (0..cols * k).map(|i| number(3 * i + 1)).collect();
                        let r: Vec<f64> = (0..x.rows() * k).map(|i| number(7 * i + 2)).collect();
                        let (mut forth, mut back) = (vec![9.0; x.rows() * k], vec![0.25; cols * k]);
                        x.times_matrix(&w, k, &mut forth);
                        x.add_transposed_matrix(&r, k, &mut back);
                        (forth, back)
                    };
                    let (expected, found) = (product(&dense), product(&sparse));
                    let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-14);
                    assert!(close(&expected.0, &found.0) && close(&expected.1, &found.1), "{rows} x {cols}, {k}");
                }
            }
        }
    }
}
