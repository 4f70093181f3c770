//! What a model sees: rows of numbers, a target, weights. Views only; nothing here owns or copies.
//!
//! `X` is dense (row-major) or sparse (CSR), and every operation a model needs exists for both, so one loop serves both.
//! Labels, categories and missing values were turned into numbers at the edges and are never seen here.

use crate::{Error, Result, kernel, linalg::Matrix};
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
            return Err(Error::Data("sparse x: row starts, columns and values do not fit together".into()));
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
            X::Dense(x) => kernel::matrix_vector(x.values, x.cols, w, out),
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
            X::Dense(x) => kernel::add_transposed_vector(x.values, x.cols, r, out),
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
            X::Sparse(_) => {
                for (row, out) in self.iter().zip(out.chunks_exact_mut(k)) {
                    out.fill(0.0);
                    row.for_each(|j, value| kernel::add_scaled(value, &w[j * k..(j + 1) * k], out));
                }
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
            X::Sparse(_) => {
                for (row, r) in self.iter().zip(r.chunks_exact(k)) {
                    row.for_each(|j, value| kernel::add_scaled(value, r, &mut out[j * k..(j + 1) * k]));
                }
            }
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
        if kernel::all_finite(stored) {
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
                    format!("the value is {what}, and this model needs numbers"),
                ));
            }
        }
        Ok(())
    }
}

impl Row<'_> {
    pub fn dot(&self, w: &[f64]) -> f64 {
        match self {
            Row::Dense(x) => kernel::dot(x, w),
            Row::Sparse { columns, values } => {
                columns.iter().zip(*values).map(|(&j, &value)| value * w[j as usize]).sum()
            }
        }
    }

    /// `out += a x`
    pub fn add_to(&self, a: f64, out: &mut [f64]) {
        match self {
            Row::Dense(x) => kernel::add_scaled(a, x, out),
            Row::Sparse { columns, values } => {
                for (&j, &value) in columns.iter().zip(*values) {
                    out[j as usize] += a * value;
                }
            }
        }
    }

    pub fn norm2(&self) -> f64 {
        match self {
            Row::Dense(x) => kernel::dot(x, x),
            Row::Sparse { values, .. } => kernel::dot(values, values),
        }
    }

    /// Squared Euclidean distance to a dense point.
    pub fn distance2(&self, point: &[f64]) -> f64 {
        match self {
            Row::Dense(x) => kernel::distance2(x, point),
            Row::Sparse { columns, values } => {
                let mut next = 0;
                let mut sum = 0.0;
                for (&j, &value) in columns.iter().zip(*values) {
                    sum += kernel::dot(&point[next..j as usize], &point[next..j as usize]);
                    sum += (value - point[j as usize]) * (value - point[j as usize]);
                    next = j as usize + 1;
                }
                sum + kernel::dot(&point[next..], &point[next..])
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
