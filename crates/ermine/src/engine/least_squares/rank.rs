//! Which columns depend on the others, to within the rounding of the numbers that were given.
//!
//! A number x comes rounded by up to eps |x| / 2. For a column of mean 1e9 and deviation 1 that is 1e-7 of its centred
//! length, and what is computed from it carries as much: that 0.3 a + 0.7 b stands 1e-8 beside the plane of a and b
//! says nothing. So a direction v of unit length in scaled columns is empty when its singular value is below what
//! rounding of the columns can do to it, `sum_j |v_j| u_j` with `u_j = eps |x_j| / |x_j - mean|` in lengths of columns,
//! plus what the decomposition itself rounds. Above it, a direction explains more of the target than predictions in
//! double lose by its large coefficients: error for error, both are u / s of it.

use super::{Problem, Triangles};
use crate::{
    Ctx, Error, Matrix, Result, Source,
    core::{
        linalg::Svd,
        log::Redundant,
        reduce, simd,
        stats::{CrossProducts, Gram},
    },
};

/// What columns of less than full rank have to say.
pub struct Dependence {
    /// Columns to leave out, in order, so that the others are independent; the later ones of those that could be.
    pub redundant: Vec<Redundant>,
    /// Orthonormal directions of coefficients, in columns, that change no prediction.
    pub basis: Matrix,
}

impl Dependence {
    /// The same predictions with coefficients of least norm; returns the change of `coef.mean` that the intercept has
    /// to take up.
    pub fn least_norm(&self, coef: &mut [f64], mean: &[f64]) -> f64 {
        let before = simd::dot(coef, mean);
        self.take_out(coef);
        before - simd::dot(coef, mean)
    }

    pub fn notes(&self) -> Vec<String> {
        self.redundant.iter().map(Redundant::note).collect()
    }

    pub(super) fn take_out(&self, coef: &mut [f64]) {
        for k in 0..self.basis.cols {
            let along: f64 = coef.iter().enumerate().map(|(j, w)| self.basis[(j, k)] * w).sum();
            coef.iter_mut().enumerate().for_each(|(j, w)| *w -= along * self.basis[(j, k)]);
        }
    }
}

/// Beyond these columns the scatter matrix costs more than the fit that asks.
const MOST_COLUMNS: usize = 2048;

/// For models that are fitted without a penalty by other means: one more pass for the scatter of the columns.
pub fn dependence_of(
    data: &dyn Source,
    ctx: &Ctx,
    intercept: bool,
    outside: Option<usize>,
) -> Result<Option<Dependence>> {
    let shape = data.shape();
    // With more columns than rows there is nothing to name: any of them can go.
    if shape.cols > shape.rows.min(MOST_COLUMNS) {
        return Ok(None);
    }
    let gram = reduce(ctx, data, &CrossProducts { cols: shape.cols, targets: 0 })?;
    dependence(data, ctx, &gram, intercept, outside)
}

/// Of all columns but the one `outside`: from the scatter of (x, y), if it tells that all is well, else from the
/// triangle of the rows. `None` for full rank.
pub fn dependence(
    data: &dyn Source,
    ctx: &Ctx,
    gram: &Gram,
    intercept: bool,
    outside: Option<usize>,
) -> Result<Option<Dependence>> {
    let mut problem = Problem::new(gram, data.shape().cols, 0.0, intercept);
    if let Some(outside) = outside {
        problem.leave_out(outside);
    }
    if problem.cholesky().is_some() {
        return Ok(None);
    }
    let r = reduce(ctx, data, &Triangles { problem: &problem })?;
    let (p, first) = (problem.cols, usize::from(intercept));
    let x = Matrix::from_fn(p, p, |i, j| if problem.constant[j] { 0.0 } else { r[(first + i, first + j)] });
    let svd = problem.decomposed(&x)?;
    let rank = problem.rank(&svd);
    if rank + usize::from(outside.is_some()) >= p {
        return Ok(None);
    }
    let mut found = problem.dependence(&svd, rank)?;
    found.redundant.retain(|redundant| Some(redundant.column) != outside);
    Ok(Some(found))
}

impl Problem {
    /// A column of zeros beside the others, as a constant one is.
    fn leave_out(&mut self, column: usize) {
        (self.constant[column], self.length[column]) = (true, 1.0);
        for i in 0..self.cols {
            let (high, low) = (i.max(column), i.min(column));
            self.scatter[(high, low)] = f64::from(u8::from(high == low));
        }
    }

    /// How many directions stand clear of rounding.
    pub(super) fn rank(&self, svd: &Svd) -> usize {
        let p = self.cols;
        let own = f64::EPSILON * svd.s.first().copied().unwrap_or(0.0) * p.max(64) as f64;
        let given = |k: usize| (0..p).map(|j| svd.v[(j, k)].abs() * self.rounding[j]).sum::<f64>();
        (0..p).filter(|&k| svd.s[k] > own + given(k)).count()
    }

    pub(super) fn dependence(&self, svd: &Svd, rank: usize) -> Result<Dependence> {
        let (p, free) = (self.cols, self.cols - rank);
        let null = Matrix::from_fn(free, p, |k, j| svd.v[(j, rank + k)]);
        let directions = Matrix::from_fn(p, free, |j, k| null[(k, j)] / self.length[j]);
        let failed = || Error::Diverged("the null space did not converge".into());
        let basis = Svd::new(&directions).ok_or_else(failed)?.u;
        Ok(Dependence { redundant: self.redundant(null), basis })
    }

    /// Brings the null space to the form in which every direction has one column to itself: that column is what the
    /// direction says of the others. Of the columns that divide well, the last.
    fn redundant(&self, mut null: Matrix) -> Vec<Redundant> {
        let (free, p) = (null.rows, null.cols);
        let mut columns: Vec<usize> = Vec::new();
        for k in 0..free {
            let largest = |null: &Matrix, j: usize| {
                (k..free).max_by(|&a, &b| null[(a, j)].abs().total_cmp(&null[(b, j)].abs())).unwrap_or(k)
            };
            let size: Vec<f64> = (0..p).map(|j| null[(largest(&null, j), j)].abs()).collect();
            let enough = 0.1 * size.iter().copied().fold(0.0, f64::max);
            let Some(column) = (0..p).rev().find(|&j| size[j] >= enough && !columns.contains(&j)) else { break };
            let row = largest(&null, column);
            (0..p).for_each(|j| null.values.swap(k * p + j, row * p + j));
            let pivot = null[(k, column)];
            null.row_mut(k).iter_mut().for_each(|v| *v /= pivot);
            let own = null.row(k).to_vec();
            for other in (0..free).filter(|&other| other != k) {
                let factor = null[(other, column)];
                simd::add_scaled(-factor, &own, null.row_mut(other));
            }
            columns.push(column);
        }
        let mut redundant: Vec<Redundant> = columns
            .iter()
            .enumerate()
            .map(|(k, &column)| {
                let others = (0..p).filter(|j| !columns.contains(j) && null[(k, *j)].abs() > 1e-6);
                let of = others.map(|j| (j, -null[(k, j)] * self.length[column] / self.length[j])).collect();
                Redundant { column, of }
            })
            .collect();
        redundant.sort_by_key(|redundant| redundant.column);
        redundant
    }
}
