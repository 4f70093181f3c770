//! More columns than rows: everything happens in the n x n matrix of inner products of the centred rows, K = A A', and
//! `w = A' (K + alpha I)^+ y` has the least norm. The rows take less room than any matrix of pairs of columns, so that
//! every worker gathers them all; nothing else depends on where they lay.
//!
//! Cholesky while the condition allows it; otherwise the triangle of A' and its SVD, which does not square it.

use super::{WELL_CONDITIONED, minus_dot};
use crate::{
    Certificate, Ctx, Error, Fit, FitLog, Matrix, Result,
    core::{
        linalg::{self, Cholesky, Svd, View},
        log::Redundant,
        simd,
    },
    engine::gather::Rows,
    linear::LinearModel,
};
use rayon::prelude::*;

pub fn fit_rows(mut rows: Rows, ctx: &Ctx, alpha: f64, intercept: bool) -> Result<Fit<LinearModel>> {
    let (n, p) = (rows.x.rows, rows.x.cols);
    if n == 0 {
        return Err(Error::Data("there are no rows to learn from".into()));
    }
    let m = rows.y.len() / n;
    // Before the mean is taken off: rounding goes with the numbers as given.
    let largest = {
        let mut squares = vec![0.0; p];
        for i in 0..n {
            squares.iter_mut().zip(rows.x.row(i)).for_each(|(sum, x)| *sum += rows.weights[i] * x * x);
        }
        squares.into_iter().fold(0.0, f64::max).sqrt()
    };
    let roots: Vec<f64> = rows.weights.iter().map(|weight| weight.sqrt()).collect();
    let total: f64 = rows.weights.iter().sum();
    let (mut x_mean, mut y_mean) = (vec![0.0; p], vec![0.0; m]);
    if intercept {
        x_mean = rows.centre()?;
        for (weight, y) in rows.weights.iter().zip(rows.y.chunks_exact(m)) {
            simd::add_scaled(weight / total, y, &mut y_mean);
        }
    }
    let mut y = Matrix::new(rows.y, n, m);
    let mut a = rows.x;
    for i in 0..n {
        y.row_mut(i).iter_mut().zip(&y_mean).for_each(|(y, mean)| *y = roots[i] * (*y - mean));
        a.row_mut(i).iter_mut().for_each(|x| *x *= roots[i]);
    }
    ctx.check()?;
    let inner = inner_products(&a, ctx);
    let ones = if intercept { &roots[..] } else { &[] };
    let by_cholesky = cholesky(&inner, alpha, ones, total);
    ctx.check()?;
    let (dual, rank, condition) = match by_cholesky {
        Some((factor, condition)) => {
            let mut dual = y.clone();
            factor.solve(&mut dual.values, m);
            // Once more for what is left, which the rows themselves say best.
            let fitted = a.times(&transposed_times(&a, &dual));
            let mut left = Matrix::from_fn(n, m, |i, t| y[(i, t)] - fitted[(i, t)] - alpha * dual[(i, t)]);
            factor.solve(&mut left.values, m);
            simd::add_scaled(1.0, &left.values, &mut dual.values);
            (dual, n - usize::from(intercept), condition.sqrt())
        }
        None => by_triangle(&a, &y, alpha, largest)?,
    };
    let coef = transposed_times(&a, &dual).transposed();
    let intercept = (0..m).map(|t| minus_dot(y_mean[t], coef.row(t), &x_mean)).collect();
    let redundant: Vec<Redundant> = Vec::new();
    let certificate = Certificate::LeastSquares { rank, columns: p, condition, method: "dual".into(), redundant };
    Ok(Fit::new(LinearModel { coef, intercept }, FitLog::exact(certificate)))
}

/// A' c
fn transposed_times(a: &Matrix, c: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(a.cols, c.cols);
    linalg::multiply(a.view().transposed(), c.view(), 0.0, &mut out.values);
    out
}

/// The lower triangle of A A', by bands whose size depends on nothing.
pub fn inner_products(a: &Matrix, ctx: &Ctx) -> Matrix {
    const BAND: usize = 64;
    let (n, p) = (a.rows, a.cols);
    let mut out = Matrix::zeros(n, n);
    ctx.install(|| {
        out.values.par_chunks_mut(BAND * n).enumerate().for_each(|(band, out)| {
            let (first, rows) = (band * BAND, out.len() / n);
            let others = first + rows;
            let mut part = vec![0.0; rows * others];
            let left = View::rows(&a.values[first * p..], rows, p);
            linalg::multiply(left, View::rows(&a.values, others, p).transposed(), 0.0, &mut part);
            for (out, part) in out.chunks_exact_mut(n).zip(part.chunks_exact(others)) {
                out[..others].copy_from_slice(part);
            }
        });
    });
    out
}

/// The factor of K + alpha I and its condition, if it is good enough. About the mean K sends the roots of the weights
/// to zero, and to no target either: along them it may have any eigenvalue.
fn cholesky(inner: &Matrix, alpha: f64, ones: &[f64], weight: f64) -> Option<(Cholesky, f64)> {
    let n = inner.rows;
    let mut k = inner.clone();
    let typical = (0..n).map(|i| k[(i, i)]).sum::<f64>() / n as f64;
    for i in 0..n {
        if let Some(own) = ones.get(i) {
            simd::add_scaled(typical * own / weight, &ones[..=i], &mut k.row_mut(i)[..=i]);
        }
        k[(i, i)] += alpha;
    }
    let factor = Cholesky::new(&k)?;
    let condition = factor.condition();
    (condition < WELL_CONDITIONED).then_some((factor, condition))
}

/// (K + alpha I)^+ y along the directions that stand clear of rounding, with rank and condition. A' = Q R, so that K =
/// R'R.
fn by_triangle(a: &Matrix, y: &Matrix, alpha: f64, largest: f64) -> Result<(Matrix, usize, f64)> {
    let (n, p, m) = (a.rows, a.cols, y.cols);
    let r = linalg::triangle_of(a.view().transposed());
    let failed = || Error::Diverged("the singular value decomposition did not converge".into());
    let svd = Svd::new(&r).ok_or_else(failed)?;
    let limit = f64::EPSILON * (svd.s.first().copied().unwrap_or(0.0) * p as f64 + largest);
    let rank = svd.s.iter().filter(|&&s| s > limit).count();
    let mut dual = Matrix::zeros(n, m);
    for k in 0..rank {
        for t in 0..m {
            let along: f64 = (0..n).map(|i| svd.v[(i, k)] * y[(i, t)]).sum::<f64>() / (svd.s[k] * svd.s[k] + alpha);
            (0..n).for_each(|i| dual[(i, t)] += along * svd.v[(i, k)]);
        }
    }
    let condition = if rank > 0 { svd.s[0] / svd.s[rank - 1] } else { 1.0 };
    Ok((dual, rank, condition))
}
