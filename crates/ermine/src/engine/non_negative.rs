//! Least squares with coefficients of zero or more, `min_{w >= 0, b} sum_i w_i (y_i - w.x_i - b)^2 + alpha ||w||^2`.
//!
//! Active sets (Lawson and Hanson 1974) on the scatter matrix (Bro and de Jong 1997), which is one pass over the rows:
//! the column whose coefficient most wants to grow from zero joins those that are free; where the free minimum makes
//! one of them negative, the step ends at zero and that one leaves. Columns have unit length. At the end no free
//! coefficient has a slope and no other wants to grow; how far that is from true is the certificate. Cost O(n p^2),
//! then O(k^3) a step for k free columns.

use crate::{
    Certificate, Ctx, Fit, FitLog, Halt, Matrix, Result, Source,
    core::{TargetKind, linalg::Cholesky, reduce, simd, stats::CrossProducts},
    linear::LinearModel,
};

/// A slope below this share of the target's length is none.
const TOLERANCE: f64 = 1e-10;

pub fn fit(data: &dyn Source, ctx: &Ctx, alpha: f64, intercept: bool) -> Result<Fit<LinearModel>> {
    let shape = data.shape();
    let (p, targets) = (shape.cols, if let TargetKind::Real(targets) = shape.target { targets } else { 0 });
    let gram = reduce(ctx, data, &CrossProducts { cols: p, targets })?;
    let scatter = if intercept { gram.scatter.clone() } else { gram.about_zero() };
    // A column is constant when its scatter is what rounding of its mean alone would leave.
    let rounding = |j: usize| (4.0 * f64::EPSILON * gram.mean[j]).powi(2) * gram.weight;
    let inverse_length = |j: usize| if scatter[(j, j)] <= rounding(j) { 0.0 } else { 1.0 / scatter[(j, j)].sqrt() };
    let scale: Vec<f64> = (0..p).map(inverse_length).collect();
    let normal = Matrix::from_fn(p, p, |i, j| {
        let penalty = if i == j { alpha } else { 0.0 };
        (scatter[(i.max(j), i.min(j))] + penalty) * scale[i] * scale[j]
    });
    let mut coef = Matrix::zeros(targets, p);
    let (mut worst, mut steps) = (0.0f64, 0);
    for t in 0..targets {
        ctx.check()?;
        let length = scatter[(p + t, p + t)].max(0.0).sqrt().max(f64::MIN_POSITIVE);
        let linear: Vec<f64> = (0..p).map(|j| scatter[(p + t, j)] * scale[j] / length).collect();
        let (w, violation, made) = solve(&normal, &linear);
        coef.row_mut(t).iter_mut().zip(w).zip(&scale).for_each(|((out, w), scale)| *out = w * scale * length);
        worst = worst.max(violation);
        steps = steps.max(made);
    }
    let offset = |t: usize| if intercept { gram.mean[p + t] - simd::dot(coef.row(t), &gram.mean[..p]) } else { 0.0 };
    let intercept = (0..targets).map(offset).collect();
    let halt = if worst <= TOLERANCE { Halt::Stationary } else { Halt::MaxIter };
    let certificate = Certificate::Gradient { norm: worst, tolerance: TOLERANCE };
    let log = FitLog::ended(1, Vec::new(), halt, certificate).with_notes(vec![format!("{steps} steps of active sets")]);
    Ok(Fit::new(LinearModel { coef, intercept }, log))
}

/// `min_{w >= 0} w'G w / 2 - c'w`: the solution, how far it is from optimal, and the steps made.
fn solve(g: &Matrix, c: &[f64]) -> (Vec<f64>, f64, usize) {
    let p = c.len();
    let mut w = vec![0.0; p];
    let (mut free, mut barred): (Vec<usize>, Vec<bool>) = (Vec::new(), vec![false; p]);
    let slopes = |w: &[f64]| -> Vec<f64> { (0..p).map(|j| c[j] - simd::dot(g.row(j), w)).collect() };
    let mut slope = slopes(&w);
    let most = 10 * p + 10;
    let mut steps = 0;
    while steps < most {
        let waiting = (0..p).filter(|j| !barred[*j] && g[(*j, *j)] > 0.0 && !free.contains(j));
        let Some(next) = waiting.max_by(|a, b| slope[*a].total_cmp(&slope[*b])) else { break };
        if slope[next] <= TOLERANCE {
            break;
        }
        free.push(next);
        loop {
            steps += 1;
            let k = free.len();
            let mut s: Vec<f64> = free.iter().map(|&j| c[j]).collect();
            let Some(factor) = Cholesky::new(&Matrix::from_fn(k, k, |a, b| g[(free[a], free[b])])) else {
                // The newest depends on the others: it can add nothing.
                barred[next] = true;
                free.retain(|&j| j != next);
                break;
            };
            factor.solve(&mut s, 1);
            // As far towards the free minimum as all stay at zero or above.
            let mut reach = 1.0f64;
            for (&j, &s) in free.iter().zip(&s).filter(|(_, s)| **s <= 0.0) {
                reach = reach.min(w[j] / (w[j] - s));
            }
            free.iter().zip(&s).for_each(|(&j, &s)| w[j] += reach * (s - w[j]));
            if reach == 1.0 {
                break;
            }
            let limit = f64::EPSILON * w.iter().copied().fold(0.0, f64::max);
            free.retain(|&j| w[j] > limit);
            (0..p).filter(|j| !free.contains(j)).for_each(|j| w[j] = 0.0);
            if free.is_empty() || steps >= most {
                break;
            }
        }
        slope = slopes(&w);
    }
    let off = |j: usize| if w[j] > 0.0 { slope[j].abs() } else { slope[j].max(0.0) };
    let violation = (0..p).filter(|&j| g[(j, j)] > 0.0).map(off).fold(0.0, f64::max);
    (w, violation, steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Data, X};

    /// Correlated columns of very different size, one constant, one twice, and more columns than rows: always optimal
    /// by its own proof, and no better for any small change that keeps the signs.
    #[test]
    fn optimal_on_hard_columns() {
        let number = |i: usize| (i as f64 * 0.754_877_666).fract() - 0.5;
        for (rows, cols) in [(40, 7), (9, 20)] {
            let size = |j: usize| 10f64.powi(3 * (j as i32 % 5) - 6);
            let row = |i: usize, j: usize| match j {
                3 => 2.5,
                5 => size(4) * (number(i * cols + 4) + 0.3 * number(i)),
                _ => size(j) * (number(i * cols + j) + 0.3 * number(i)),
            };
            let x: Vec<f64> = (0..rows * cols).map(|at| row(at / cols, at % cols)).collect();
            let y: Vec<f64> =
                (0..rows).map(|i| 3.0 * number(i * cols) - 2.0 * number(i * cols + 1) + number(i)).collect();
            let data = Data::new(X::dense(&x, cols).unwrap()).real(&y).unwrap();
            let Fit { model, log, .. } = fit(&data, &Ctx::new(0), 0.0, true).unwrap();
            assert!(log.converged(), "{log}");
            let cost = |w: &[f64], b: f64| -> f64 {
                x.chunks(cols).zip(&y).map(|(x, y)| (y - b - simd::dot(x, w)).powi(2)).sum()
            };
            let (w, b) = (model.coef.row(0), model.intercept[0]);
            assert!(w.iter().all(|w| *w >= 0.0) && w.iter().any(|w| *w > 0.0) && w.contains(&0.0), "{w:?}");
            let best = cost(w, b);
            for j in (0..cols).filter(|&j| j != 3) {
                for step in [1e-4, -1e-4] {
                    let mut other = w.to_vec();
                    other[j] = (w[j] + step / size(j.min(4))).max(0.0);
                    let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / rows as f64;
                    let b = mean(&mut x.chunks(cols).zip(&y).map(|(x, y)| y - simd::dot(x, &other)));
                    assert!(cost(&other, b) >= best * (1.0 - 1e-12), "column {j} of {cols}");
                }
            }
        }
    }
}
