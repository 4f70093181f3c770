//! Rows that a model keeps: support vectors, neighbours, landmarks. Dense or sparse as they came, and whole when read from a file.

use crate::{Error, Matrix, Result, X, core::data::Row};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Points {
    Dense(Matrix),
    Sparse { starts: Vec<usize>, columns: Vec<u32>, values: Vec<f64>, cols: usize },
}

impl Points {
    /// Copies of the rows of `x` at `rows`, in that order.
    pub fn take(x: &X, rows: impl IntoIterator<Item = usize>) -> Points {
        match x {
            X::Dense(_) => {
                let mut values = Vec::new();
                let mut count = 0;
                for i in rows {
                    if let Row::Dense(row) = x.row(i) {
                        values.extend_from_slice(row);
                    }
                    count += 1;
                }
                Points::Dense(Matrix::new(values, count, x.cols()))
            }
            X::Sparse(_) => {
                let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
                for i in rows {
                    if let Row::Sparse { columns: c, values: v } = x.row(i) {
                        columns.extend_from_slice(c);
                        values.extend_from_slice(v);
                    }
                    starts.push(values.len());
                }
                Points::Sparse { starts, columns, values, cols: x.cols() }
            }
        }
    }

    /// The same rows without their zeros, where these are most numbers: products are then made of what is left.
    pub fn thinned(self) -> Points {
        let Points::Dense(Matrix { values, rows, cols }) = &self else { return self };
        let stored = values.iter().filter(|value| **value != 0.0).count();
        if stored * 4 > values.len() {
            return self;
        }
        let (mut starts, mut columns, mut kept) = (vec![0], Vec::with_capacity(stored), Vec::with_capacity(stored));
        for row in values.chunks_exact((*cols).max(1)).take(*rows) {
            for (j, &value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                columns.push(j as u32);
                kept.push(value);
            }
            starts.push(kept.len());
        }
        Points::Sparse { starts, columns, values: kept, cols: *cols }
    }

    pub fn all(x: &X) -> Points {
        Points::take(x, 0..x.rows())
    }

    pub fn x(&self) -> X<'_> {
        use crate::core::data::{Csr, Dense};
        match self {
            Points::Dense(m) => X::Dense(Dense { values: &m.values, rows: m.rows, cols: m.cols }),
            Points::Sparse { starts, columns, values, cols } => X::Sparse(Csr { starts, columns, values, cols: *cols }),
        }
    }

    pub fn rows(&self) -> usize {
        match self {
            Points::Dense(m) => m.rows,
            Points::Sparse { starts, .. } => starts.len().saturating_sub(1),
        }
    }

    pub fn cols(&self) -> usize {
        match self {
            Points::Dense(m) => m.cols,
            Points::Sparse { cols, .. } => *cols,
        }
    }

    pub fn to_matrix(&self) -> Matrix {
        match self {
            Points::Dense(m) => m.clone(),
            Points::Sparse { .. } => self.x().to_matrix(),
        }
    }

    /// Whether points read from a file hold together.
    pub fn check(&self) -> Result<()> {
        match self {
            Points::Dense(m) if m.is_consistent() && m.cols > 0 => Ok(()),
            Points::Dense(m) => Err(Error::shape("stored rows", format!("{} x {}", m.rows, m.cols), m.values.len())),
            Points::Sparse { starts, columns, values, cols } => {
                // A width beyond memory would be refused by nobody else.
                if *cols == 0 || *cols > u32::MAX as usize {
                    return Err(Error::shape("stored rows", "at least one column", cols));
                }
                X::csr(starts, columns, values, *cols).map(drop)
            }
        }
    }
}

/// Calls `f(a_j, b_j)` for every column where either row stores a value.
#[inline]
pub fn for_each_pair(a: Row, b: Row, mut f: impl FnMut(f64, f64)) {
    match (a, b) {
        (Row::Dense(a), Row::Dense(b)) => a.iter().zip(b).for_each(|(&x, &y)| f(x, y)),
        (Row::Sparse { columns, values }, Row::Dense(dense)) | (Row::Dense(dense), Row::Sparse { columns, values }) => {
            let sparse_first = matches!(a, Row::Sparse { .. });
            let mut at = 0;
            for (j, &y) in dense.iter().enumerate() {
                let stored = at < columns.len() && columns[at] as usize == j;
                let x = if stored { values[at] } else { 0.0 };
                at += usize::from(stored);
                if sparse_first { f(x, y) } else { f(y, x) }
            }
        }
        (Row::Sparse { columns: ca, values: va }, Row::Sparse { columns: cb, values: vb }) => {
            let (mut i, mut j) = (0, 0);
            while i < ca.len() || j < cb.len() {
                let (a, b) = (ca.get(i).copied().unwrap_or(u32::MAX), cb.get(j).copied().unwrap_or(u32::MAX));
                // Both ends cannot be reached inside the loop, so a missing side is really behind the other.
                if j >= cb.len() || (i < ca.len() && a < b) {
                    f(va[i], 0.0);
                    i += 1;
                } else if i >= ca.len() || b < a {
                    f(0.0, vb[j]);
                    j += 1;
                } else {
                    f(va[i], vb[j]);
                    i += 1;
                    j += 1;
                }
            }
        }
    }
}

/// `out[i, j] = a_i . b_j`, row-major: one matrix product whatever the storage.
pub fn products(a: &X, b: &X, out: &mut [f64]) {
    use crate::core::linalg::{View, multiply};
    let (n, m, d) = (a.rows(), b.rows(), a.cols());
    let out = &mut out[..n * m];
    if n == 0 || m == 0 {
        return;
    }
    if let (X::Dense(a), X::Dense(b)) = (a, b) {
        multiply(View::rows(a.values, n, d), View::rows(b.values, m, d).transposed(), 0.0, out);
        return;
    }
    // The right side becomes dense a few rows at a time: turned around it stays in the cache, and a wide one does not fill the memory.
    let chunk = ((1 << 15) / d.max(1)).max(32).min((1 << 22) / d.max(1)).clamp(1, m);
    let mut wide = vec![0.0; d * chunk];
    let mut part = vec![0.0; n * chunk];
    for first in (0..m).step_by(chunk) {
        let k = chunk.min(m - first);
        for j in 0..k {
            b.row(first + j).for_each(|column, value| wide[column * k + j] = value);
        }
        a.times_matrix(&wide[..d * k], k, &mut part[..n * k]);
        for i in 0..n {
            out[i * m + first..i * m + first + k].copy_from_slice(&part[i * k..(i + 1) * k]);
        }
        for j in 0..k {
            b.row(first + j).for_each(|column, _| wide[column * k + j] = 0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without zeros, in whatever pieces, rows have the products that they have with them.
    #[test]
    fn thin_rows_have_the_same_products() {
        for (n, m, d) in [(5, 3, 7), (40, 70, 900), (3, 65, 2000)] {
            let thin = |rows: usize, seed: usize| {
                let value = |i: usize, j: usize| match (i * 31 + j * 17 + seed) % 7 {
                    0 => ((i * j + seed) as f64).sin(),
                    _ => 0.0,
                };
                Points::Dense(Matrix::from_fn(rows, d, value))
            };
            let (a, b) = (thin(n, 1), thin(m, 2));
            let (mut dense, mut sparse) = (vec![0.0; n * m], vec![1.0; n * m]);
            products(&a.x(), &b.x(), &mut dense);
            let (a, b) = (a.thinned(), b.thinned());
            assert!(matches!((&a, &b), (Points::Sparse { .. }, Points::Sparse { .. })));
            products(&a.x(), &b.x(), &mut sparse);
            assert!(dense.iter().zip(&sparse).all(|(a, b)| (a - b).abs() < 1e-12), "{n} x {m} x {d}");
        }
        let full = Points::Dense(Matrix::from_fn(3, 4, |i, j| (i + j + 1) as f64));
        assert_eq!(full.clone().thinned(), full);
    }
}
