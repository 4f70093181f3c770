//! Rows against rows, dense or sparse: column by column, and all products at once.

use crate::{X, core::data::Row};

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
    // The right side becomes dense a few rows at a time: turned around it stays in the cache, and a wide one does not
    // fill the memory.
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
    use crate::{Matrix, OwnedX};

    /// Without zeros, in whatever pieces, rows have the products that they have with them.
    #[test]
    fn thin_rows_have_the_same_products() {
        for (n, m, d) in [(5, 3, 7), (40, 70, 900), (3, 65, 2000)] {
            let thin = |rows: usize, seed: usize| {
                let value = |i: usize, j: usize| match (i * 31 + j * 17 + seed) % 7 {
                    0 => ((i * j + seed) as f64).sin(),
                    _ => 0.0,
                };
                OwnedX::Dense(Matrix::from_fn(rows, d, value))
            };
            let (a, b) = (thin(n, 1), thin(m, 2));
            let (mut dense, mut sparse) = (vec![0.0; n * m], vec![1.0; n * m]);
            products(&a.x(), &b.x(), &mut dense);
            let (a, b) = (a.thinned(), b.thinned());
            assert!(matches!((&a, &b), (OwnedX::Sparse(_), OwnedX::Sparse(_))));
            products(&a.x(), &b.x(), &mut sparse);
            assert!(dense.iter().zip(&sparse).all(|(a, b)| (a - b).abs() < 1e-12), "{n} x {m} x {d}");
        }
        let full = OwnedX::Dense(Matrix::from_fn(3, 4, |i, j| (i + j + 1) as f64));
        assert_eq!(full.clone().thinned(), full);
    }
}
