//! `A = L L'` for large symmetric positive definite matrices, on all threads.
//!
//! By columns of blocks: factor the diagonal block, divide the panel below by it, subtract the panel's outer product
//! from the rest. The last step has all the work and runs in parallel over blocks of rows, each a sequence of plain
//! products: the result is the same for any number of threads. n^3 / 3 operations.

use crate::{
    Ctx, Matrix, Result,
    core::linalg::{Cholesky, View, multiply},
};
use rayon::prelude::*;

const BLOCK: usize = 128;

/// Replaces the lower triangle of `a` by the factor; `None` when the matrix is not positive definite.
pub fn factor(ctx: &Ctx, a: &mut Matrix) -> Result<Option<()>> {
    let n = a.rows;
    for first in (0..n).step_by(BLOCK) {
        ctx.check()?;
        let (b, next) = (BLOCK.min(n - first), (first + BLOCK).min(n));
        let diagonal = Matrix::from_fn(b, b, |i, j| a[(first + i, first + j)]);
        let Some(factor) = Cholesky::new(&diagonal) else { return Ok(None) };
        let lower = factor.lower();
        if (0..b).any(|i| !(lower[(i, i)] > 0.0)) {
            return Ok(None);
        }
        for i in 0..b {
            a.row_mut(first + i)[first..first + b].copy_from_slice(lower.row(i));
        }
        if next == n {
            break;
        }
        // The panel times the inverse transpose of the block: B small enough that its inverse costs nothing.
        let inverse = lower_inverse(&lower);
        let below = &mut a.values[next * n..];
        let panel: Vec<f64> = ctx.install(|| {
            let parts: Vec<Vec<f64>> = below
                .par_chunks(BLOCK * n)
                .map(|rows| {
                    let m = rows.len() / n;
                    let left: Vec<f64> = rows.chunks_exact(n).flat_map(|row| row[first..first + b].to_vec()).collect();
                    let mut out = vec![0.0; m * b];
                    multiply(View::rows(&left, m, b), inverse.view().transposed(), 0.0, &mut out);
                    out
                })
                .collect();
            parts.concat()
        });
        let count = n - next;
        ctx.install(|| {
            below.par_chunks_mut(BLOCK * n).enumerate().for_each(|(k, rows)| {
                let (start, m) = (k * BLOCK, rows.len() / n);
                // Only up to the diagonal block of these rows.
                let width = (start + m).min(count);
                let mut product = vec![0.0; m * width];
                let left = View::rows(&panel[start * b..(start + m) * b], m, b);
                multiply(left, View::rows(&panel[..width * b], width, b).transposed(), 0.0, &mut product);
                for (i, row) in rows.chunks_exact_mut(n).enumerate() {
                    row[first..first + b].copy_from_slice(&panel[(start + i) * b..(start + i + 1) * b]);
                    let part = &product[i * width..(i + 1) * width];
                    row[next..next + width].iter_mut().zip(part).for_each(|(a, p)| *a -= p);
                }
            });
        });
    }
    Ok(Some(()))
}

fn lower_inverse(l: &Matrix) -> Matrix {
    let n = l.rows;
    let mut out = Matrix::zeros(n, n);
    for j in 0..n {
        out[(j, j)] = 1.0 / l[(j, j)];
        for i in j + 1..n {
            let sum: f64 = (j..i).map(|k| l[(i, k)] * out[(k, j)]).sum();
            out[(i, j)] = -sum / l[(i, i)];
        }
    }
    out
}

/// Solves `L L' x = b` in place for `k` right-hand sides, row-major.
pub fn solve(l: &Matrix, b: &mut [f64], k: usize) {
    let n = l.rows;
    for i in 0..n {
        let (done, rest) = b.split_at_mut(i * k);
        let row = &mut rest[..k];
        for (j, &lij) in l.row(i)[..i].iter().enumerate() {
            row.iter_mut().zip(&done[j * k..(j + 1) * k]).for_each(|(x, y)| *x -= lij * y);
        }
        row.iter_mut().for_each(|x| *x /= l[(i, i)]);
    }
    // Backwards by rows of L, which are columns of L': each finished value is taken off the ones before it.
    for i in (0..n).rev() {
        let (before, rest) = b.split_at_mut(i * k);
        let row = &mut rest[..k];
        row.iter_mut().for_each(|x| *x /= l[(i, i)]);
        for (j, &lij) in l.row(i)[..i].iter().enumerate() {
            before[j * k..(j + 1) * k].iter_mut().zip(row.iter()).for_each(|(x, y)| *x -= lij * y);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves_what_it_factored() {
        let n = 300;
        let mut a = Matrix::from_fn(n, n, |i, j| {
            let d = i as f64 - j as f64;
            (-0.01 * d * d).exp() + f64::from(i == j)
        });
        let truth: Vec<f64> = (0..2 * n).map(|i| (i as f64).sin()).collect();
        let mut b = a.times(&Matrix::new(truth.clone(), n, 2)).values;
        let ctx = Ctx::new(0).with_threads(2);
        factor(&ctx, &mut a).unwrap().unwrap();
        solve(&a, &mut b, 2);
        assert!(b.iter().zip(&truth).all(|(b, t)| (b - t).abs() < 1e-10));
        let mut negative = Matrix::from_fn(n, n, |i, j| if i == j { -1.0 } else { 0.0 });
        assert!(factor(&ctx, &mut negative).unwrap().is_none());
    }
}
