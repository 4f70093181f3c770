//! Penalised least squares, `min_{W,b} sum_i w_i ||y_i - W x_i - b||^2 + alpha ||W||^2`, by the cheapest safe path.
//!
//! 1. Normal equations: one pass for the scatter of (x, y) about its mean, columns brought to unit length, Cholesky.
//!    Squares the condition number, so it is kept only while the estimated condition says that ten digits survive.
//! 2. QR: a second pass sums triangles (R of one block on top of R of the next has the R of both), then an SVD of the
//!    small triangle. Singular values at rounding level ([`rank`]) mean dependent columns: the solution of least norm
//!    is taken, and the redundant columns are named with what they depend on.
//! 3. More columns than rows: [`wide`].
//!
//! Small problems get their last digits as well: residuals of 32 digits ([`super::double_double`]) correct the solution
//! until it is that of the numbers as given. Where columns of full rank are nearly dependent, the normal equations
//! themselves are summed in 32 digits first.
//!
//! Cost O(n p^2) with a small constant; memory O(p^2) for each thread. All are sums and run on any source; which path
//! is taken depends on the numbers alone, so that a model is the same from memory, from disk and from workers.

mod rank;
mod wide;

pub use rank::{Dependence, dependence, dependence_of};
pub use wide::{fit_rows, inner_products};

use crate::{
    Certificate, Ctx, Error, Fit, FitLog, Matrix, Result, Shape, Source,
    core::{
        Batch, Reduce, TargetKind,
        data::Row,
        linalg::{self, Cholesky, Svd},
        log::Redundant,
        reduce, simd,
        stats::{CrossProducts, Gram},
    },
    engine::{
        double_double::{Dd, ExactProducts, ExactResiduals, Factor, minus_dot},
        gather::Rows,
    },
    linear::LinearModel,
};

/// Condition of the scaled normal equations up to which about ten digits survive in the coefficients.
const WELL_CONDITIONED: f64 = 1e6;

/// Products of 32 digits that are worth their time, each of some ten nanoseconds: to save digits that a bad condition
/// would cost, and to bring the last ones of a solution that is good already.
const SAVING_WORK: f64 = 3e8;
const LAST_DIGITS_WORK: f64 = 1e5;

/// Corrections by residuals of 32 digits: each gains the digits that the first solution has right.
const REFINEMENTS: usize = 2;

pub fn fit(data: &dyn Source, ctx: &Ctx, alpha: f64, intercept: bool) -> Result<Fit<LinearModel>> {
    let shape = data.shape();
    let TargetKind::Real(targets) = shape.target else {
        return Err(Error::Data("least squares needs a target of numbers".into()));
    };
    if shape.cols > shape.rows {
        return fit_rows(Rows::new(data, ctx)?, ctx, alpha, intercept);
    }
    let gram = reduce(ctx, data, &CrossProducts { cols: shape.cols, targets })?;
    fit_gram(data, ctx, &gram, alpha, intercept)
}

/// With the scatter of (x, y) already at hand, and no fewer rows than columns.
pub fn fit_gram(data: &dyn Source, ctx: &Ctx, gram: &Gram, alpha: f64, intercept: bool) -> Result<Fit<LinearModel>> {
    let cols = data.shape().cols;
    let problem = Problem::new(gram, cols, alpha, intercept);
    if let Some((cholesky, condition)) = problem.cholesky() {
        let solution = problem.normal_equations(data, ctx, &cholesky, condition)?;
        return Ok(problem.finish(solution));
    }
    let solution = problem.orthogonal(&reduce(ctx, data, &Triangles { problem: &problem })?)?;
    let work = data.shape().rows as f64 * (cols as f64).powi(2);
    if solution.rank < cols || work > SAVING_WORK {
        return Ok(problem.finish(solution));
    }
    Ok(match problem.extended(data, ctx)? {
        Some((coef, intercept)) => {
            problem.finish(Solution { coef, intercept, method: "extended precision", ..solution })
        }
        None => problem.finish(solution),
    })
}

/// The problem in scaled, centred variables: z = D (x - mean), D = 1 / length of the column.
struct Problem {
    cols: usize,
    targets: usize,
    alpha: f64,
    intercept: bool,
    weight: f64,
    /// Of x and y; zero without an intercept.
    mean: Vec<f64>,
    /// Length of each centred column; 1 for a column that is constant.
    length: Vec<f64>,
    /// Length of what rounding to double leaves unknown of a scaled column: little, unless its mean is many times its
    /// deviation.
    rounding: Vec<f64>,
    /// Lower triangle about `mean`, unscaled.
    scatter: Matrix,
    constant: Vec<bool>,
}

struct Solution {
    /// One row for each target, in the original units.
    coef: Matrix,
    intercept: Vec<f64>,
    rank: usize,
    condition: f64,
    method: &'static str,
    redundant: Vec<Redundant>,
}

impl Problem {
    fn new(gram: &Gram, cols: usize, alpha: f64, intercept: bool) -> Self {
        let targets = gram.mean.len() - cols;
        let scatter = if intercept { gram.scatter.clone() } else { gram.about_zero() };
        let mean = if intercept { gram.mean.clone() } else { vec![0.0; cols + targets] };
        let about_zero = |j: usize| gram.scatter[(j, j)] + gram.weight * gram.mean[j] * gram.mean[j];
        let unknown = |j: usize| f64::EPSILON * about_zero(j).sqrt();
        // A column is constant when its scatter is what rounding of its mean alone would leave.
        let constant: Vec<bool> = (0..cols).map(|j| scatter[(j, j)].max(0.0).sqrt() <= 4.0 * unknown(j)).collect();
        let length: Vec<f64> =
            (0..cols).map(|j| if constant[j] { 1.0 } else { scatter[(j, j)].max(0.0).sqrt() }).collect();
        let rounding = (0..cols).map(|j| unknown(j) / length[j]).collect();
        let weight = gram.weight;
        Problem { cols, targets, alpha, intercept, weight, mean, length, rounding, scatter, constant }
    }

    /// Penalty of the scaled coefficient of column j.
    fn penalty(&self, j: usize) -> f64 {
        self.alpha / (self.length[j] * self.length[j])
    }

    /// The factor of the scaled normal equations and their condition, if they are good enough.
    fn cholesky(&self) -> Option<(Cholesky, f64)> {
        let p = self.cols;
        let mut a = Matrix::zeros(p, p);
        for i in 0..p {
            for j in 0..=i {
                a[(i, j)] = self.scatter[(i, j)] / (self.length[i] * self.length[j]);
            }
            a[(i, i)] += self.penalty(i);
        }
        let cholesky = Cholesky::new(&a)?;
        let condition = cholesky.condition();
        (condition < WELL_CONDITIONED).then_some((cholesky, condition))
    }

    fn normal_equations(&self, data: &dyn Source, ctx: &Ctx, cholesky: &Cholesky, condition: f64) -> Result<Solution> {
        let (p, m) = (self.cols, self.targets);
        let mut z = Matrix::from_fn(p, m, |j, t| self.scatter[(p + t, j)] / self.length[j]);
        cholesky.solve(&mut z.values, m);
        let mut coef = Matrix::from_fn(m, p, |t, j| z[(j, t)] / self.length[j]);
        let mut intercept = self.intercepts(&coef);
        if data.shape().rows as f64 * ((p + 1) * m) as f64 <= LAST_DIGITS_WORK {
            let start = (0..m).map(|t| std::iter::once(0.0).chain(coef.row(t).iter().copied()).map(Dd::new).collect());
            let step = |left: &mut [Dd]| {
                let mut z: Vec<f64> = (0..p).map(|j| left[1 + j].value() / self.length[j]).collect();
                cholesky.solve(&mut z, 1);
                left[0] = Dd::new(left[0].value() / self.weight);
                (0..p).for_each(|j| left[1 + j] = Dd::new(z[j] / self.length[j]));
            };
            (coef, intercept) = self.refined(data, ctx, start.collect(), 1, &step)?;
        }
        let (rank, condition) = (p, condition.sqrt());
        Ok(Solution { coef, intercept, rank, condition, method: "Cholesky", redundant: Vec::new() })
    }

    /// From the triangle R of the rows (1, z, y), or (z, y) without an intercept.
    fn orthogonal(&self, r: &Matrix) -> Result<Solution> {
        let (p, m) = (self.cols, self.targets);
        let first = usize::from(self.intercept);
        let mut rows = Matrix::zeros(p + m + p, p + m);
        for i in 0..p + m {
            rows.row_mut(i).copy_from_slice(&r.row(first + i)[first..]);
            // What rounding left of a constant column says nothing.
            (0..p).filter(|&j| self.constant[j]).for_each(|j| rows[(i, j)] = 0.0);
        }
        for j in 0..p {
            rows[(p + m + j, j)] = self.penalty(j).sqrt();
        }
        let own = linalg::triangle(&rows);
        let svd = self.decomposed(&own)?;
        let rank = self.rank(&svd);
        // Coordinates of the solution along the right singular vectors that carry information.
        let mut z = Matrix::zeros(p, m);
        for k in 0..rank {
            for t in 0..m {
                let along: f64 = (0..p).map(|i| svd.u[(i, k)] * own[(i, p + t)]).sum::<f64>() / svd.s[k];
                for j in 0..p {
                    z[(j, t)] += along * svd.v[(j, k)];
                }
            }
        }
        let mut coef = Matrix::from_fn(m, p, |t, j| z[(j, t)] / self.length[j]);
        let mut redundant = Vec::new();
        if rank < p {
            let dependence = self.dependence(&svd, rank)?;
            (0..m).for_each(|t| dependence.take_out(coef.row_mut(t)));
            redundant = dependence.redundant;
        }
        let mut intercept = self.intercepts(&coef);
        for t in (0..m).filter(|_| self.intercept) {
            // The mean is rounded: what it misses stands in the row of the ones.
            let missed: f64 = (0..p).map(|j| r[(0, 1 + j)] * coef[(t, j)] * self.length[j]).sum();
            intercept[t] += (r[(0, 1 + p + t)] - missed) / r[(0, 0)];
        }
        let condition = if rank > 0 { svd.s[0] / svd.s[rank - 1] } else { 1.0 };
        Ok(Solution { coef, intercept, rank, condition, method: if rank < p { "SVD" } else { "QR" }, redundant })
    }

    /// Of the columns of x in a triangle of (z, y).
    fn decomposed(&self, triangle: &Matrix) -> Result<Svd> {
        let a = Matrix::from_fn(self.cols, self.cols, |i, j| triangle[(i, j)]);
        Svd::new(&a).ok_or_else(|| Error::Diverged("the singular value decomposition did not converge".into()))
    }

    /// Normal equations of 32 digits, refined. `None` when even they are not definite.
    fn extended(&self, data: &dyn Source, ctx: &Ctx) -> Result<Option<(Matrix, Vec<f64>)>> {
        let (width, m) = (1 + self.cols, self.targets);
        let Some(normal) = self.exact(data, ctx)? else { return Ok(None) };
        let mut start: Vec<Vec<Dd>> = (0..m).map(|t| normal.right[t * width..(t + 1) * width].to_vec()).collect();
        start.iter_mut().for_each(|right| normal.solve(right));
        self.refined(data, ctx, start, REFINEMENTS, &|left| normal.solve(left)).map(Some)
    }

    /// The normal equations of (1, x - mean) in 32 digits.
    fn exact(&self, data: &dyn Source, ctx: &Ctx) -> Result<Option<Exact>> {
        let (p, m) = (self.cols, self.targets);
        // Any centre will do, because the column of ones is kept: the intercept takes up what it misses.
        let mut sums = reduce(ctx, data, &ExactProducts { cols: p, targets: m, centre: &self.mean })?;
        for j in 0..p {
            sums[at(1 + j, 1 + j)] = sums[at(1 + j, 1 + j)].add(Dd::new(self.alpha));
        }
        if !self.intercept {
            // The ones stay out: their row is that of the identity.
            sums[at(0, 0)] = Dd::new(1.0);
            (1..1 + p + m).for_each(|i| sums[at(i, 0)] = Dd::default());
        }
        Ok(Exact::new(&sums, &(0..=p).collect::<Vec<_>>(), 1 + p, m))
    }

    /// Corrects solutions (b about the mean, w) of each target by residuals of 32 digits; `step` solves the normal
    /// equations with some digits right. Their own matrix squares the condition; the residuals of the rows do not.
    fn refined(
        &self,
        data: &dyn Source,
        ctx: &Ctx,
        mut solution: Vec<Vec<Dd>>,
        steps: usize,
        step: &dyn Fn(&mut [Dd]),
    ) -> Result<(Matrix, Vec<f64>)> {
        let (p, m) = (self.cols, self.targets);
        for _ in 0..steps {
            let residuals = ExactResiduals { cols: p, targets: m, centre: &self.mean, solution: &solution };
            let mut left = reduce(ctx, data, &residuals)?;
            for (left, v) in left.chunks_exact_mut(1 + p).zip(&mut solution) {
                (1..1 + p).for_each(|j| left[j] = left[j].subtract(Dd::new(self.alpha).times(v[j])));
                if !self.intercept {
                    left[0] = Dd::default();
                }
                step(left);
                v.iter_mut().zip(left).for_each(|(v, step)| *v = v.add(*step));
            }
        }
        let coef = Matrix::from_fn(m, p, |t, j| solution[t][1 + j].value());
        let intercept = |t: usize| {
            let start = Dd::new(self.mean[p + t]).add(solution[t][0]);
            (0..p).fold(start, |b, j| b.subtract(solution[t][1 + j].times(Dd::new(self.mean[j])))).value()
        };
        let intercepts = (0..m).map(|t| if self.intercept { intercept(t) } else { 0.0 }).collect();
        Ok((coef, intercepts))
    }

    /// What each target's mean leaves for the intercept; zero without one, as are the means.
    fn intercepts(&self, coef: &Matrix) -> Vec<f64> {
        let (x, y) = self.mean.split_at(self.cols);
        (0..self.targets).map(|t| minus_dot(y[t], coef.row(t), x)).collect()
    }

    fn finish(&self, solution: Solution) -> Fit<LinearModel> {
        let Solution { mut coef, intercept, rank, condition, method, redundant } = solution;
        for j in (0..self.cols).filter(|&j| self.constant[j]) {
            (0..self.targets).for_each(|t| coef[(t, j)] = 0.0);
        }
        let notes = redundant.iter().map(Redundant::note).collect();
        let certificate =
            Certificate::LeastSquares { rank, columns: self.cols, condition, method: method.into(), redundant };
        let mut log = FitLog::exact(certificate);
        log.notes = notes;
        Fit::new(LinearModel { coef, intercept }, log)
    }
}

fn at(i: usize, j: usize) -> usize {
    i * (i + 1) / 2 + j
}

/// Normal equations of some of the columns, factored; powers of two bring the columns to one size and round nothing.
struct Exact {
    factor: Factor,
    scale: Vec<f64>,
    /// Products with each target.
    right: Vec<Dd>,
}

impl Exact {
    /// Of the columns `kept` in the packed products of `width` columns and then `targets`.
    fn new(sums: &[Dd], kept: &[usize], width: usize, targets: usize) -> Option<Exact> {
        let size = |&j: &usize| sums[at(j, j)].hi.max(f64::MIN_POSITIVE);
        let scale: Vec<f64> = kept.iter().map(|j| (-0.5 * size(j).log2()).round().exp2()).collect();
        let mut lower = Vec::with_capacity(at(kept.len(), 0));
        for (a, &i) in kept.iter().enumerate() {
            lower.extend((0..=a).map(|b| sums[at(i, kept[b])].scaled(scale[a] * scale[b])));
        }
        let factor = Factor::new(&lower, kept.len())?;
        let right = (0..targets).flat_map(|t| kept.iter().map(move |&j| sums[at(width + t, j)])).collect();
        Some(Exact { factor, scale, right })
    }

    fn solve(&self, right: &mut [Dd]) {
        let scale = |right: &mut [Dd]| right.iter_mut().zip(&self.scale).for_each(|(v, s)| *v = v.scaled(*s));
        scale(right);
        self.factor.solve(right);
        scale(right);
    }
}

/// What inference needs of the rows: the sum of squares about the mean of the target (about zero without an intercept),
/// and the inverse of the normal equations of (1, x) for the columns that are not redundant, the intercept first if
/// there is one.
pub struct Normal {
    pub total: Dd,
    pub inverse: Matrix,
}

/// Of the columns `kept`, which must not depend on each other; in 32 digits where that is affordable.
pub fn normal(data: &dyn Source, ctx: &Ctx, gram: &Gram, intercept: bool, kept: &[usize]) -> Result<Option<Normal>> {
    let p = data.shape().cols;
    let problem = Problem::new(gram, p, 0.0, intercept);
    let first = usize::from(intercept);
    let k = kept.len() + first;
    if data.shape().rows as f64 * ((p + 2) as f64).powi(2) > SAVING_WORK {
        return problem.normal_in_doubles(data, ctx, kept);
    }
    let sums = reduce(ctx, data, &ExactProducts { cols: p, targets: 1, centre: &problem.mean })?;
    let places: Vec<usize> = (0..first).chain(kept.iter().map(|j| 1 + j)).collect();
    let Some(exact) = Exact::new(&sums, &places, 1 + p, 0) else { return Ok(None) };
    // Rows of the inverse about the centre, then about zero: b = b' - w.centre on both sides.
    let mut inverse: Vec<Vec<Dd>> = (0..k)
        .map(|i| {
            let mut unit = vec![Dd::default(); k];
            unit[i] = Dd::new(1.0);
            exact.solve(&mut unit);
            unit
        })
        .collect();
    if intercept {
        let centre: Vec<Dd> = kept.iter().map(|&j| Dd::new(problem.mean[j])).collect();
        for row in &mut inverse {
            row[0] = (1..k).fold(row[0], |own, j| own.subtract(row[j].times(centre[j - 1])));
        }
        for j in 0..k {
            let own = (1..k).fold(inverse[0][j], |own, i| own.subtract(inverse[i][j].times(centre[i - 1])));
            inverse[0][j] = own;
        }
    }
    let missed = sums[at(1 + p, 0)];
    let about = if intercept { missed.times(missed).over(sums[at(0, 0)]) } else { Dd::default() };
    let total = sums[at(1 + p, 1 + p)].subtract(about);
    Ok(Some(Normal { total, inverse: Matrix::from_fn(k, k, |i, j| inverse[i][j].value()) }))
}

impl Problem {
    fn normal_in_doubles(&self, data: &dyn Source, ctx: &Ctx, kept: &[usize]) -> Result<Option<Normal>> {
        let (p, first) = (self.cols, usize::from(self.intercept));
        let r = reduce(ctx, data, &Triangles { problem: self })?;
        let columns = Matrix::from_fn(p, kept.len(), |i, a| r[(first + i, first + kept[a])]);
        let Some(svd) = Svd::new(&columns) else { return Ok(None) };
        let root = Matrix::from_fn(kept.len(), kept.len(), |a, k| svd.v[(a, k)] / (svd.s[k] * self.length[kept[a]]));
        let slopes = root.times(&root.transposed());
        let total = Dd::new(self.scatter[(p, p)]);
        if !self.intercept {
            return Ok(Some(Normal { total, inverse: slopes }));
        }
        let mean: Vec<f64> = kept.iter().map(|&j| self.mean[j]).collect();
        let along: Vec<f64> = (0..kept.len()).map(|i| simd::dot(slopes.row(i), &mean)).collect();
        let own = 1.0 / self.weight + simd::dot(&along, &mean);
        let inverse = Matrix::from_fn(kept.len() + 1, kept.len() + 1, |i, j| match (i, j) {
            (0, 0) => own,
            (0, j) => -along[j - 1],
            (i, 0) => -along[i - 1],
            (i, j) => slopes[(i - 1, j - 1)],
        });
        Ok(Some(Normal { total, inverse }))
    }
}

/// Every least-squares solution: `w(u) = particular + basis u`, the particular one of least norm.
pub struct SolutionFamily {
    pub particular: LinearModel,
    /// Orthonormal directions, in columns, that change no prediction on these rows; none when the rank is full.
    pub basis: Matrix,
    x_mean: Vec<f64>,
}

impl SolutionFamily {
    /// The member at coordinates `u`, one for each direction.
    pub fn at(&self, u: &[f64]) -> LinearModel {
        let mut model = self.particular.clone();
        for t in 0..model.coef.rows {
            for j in 0..model.coef.cols {
                let change: f64 = (0..self.basis.cols).map(|k| self.basis[(j, k)] * u[k]).sum();
                model.coef[(t, j)] += change;
                model.intercept[t] -= change * self.x_mean[j];
            }
        }
        model
    }
}

/// The particular solution and the null space of the (centred) columns.
pub fn solution_family(data: &dyn Source, ctx: &Ctx, intercept: bool) -> Result<SolutionFamily> {
    let cols = data.shape().cols;
    let particular = fit(data, ctx, 0.0, intercept)?.model;
    let gram = reduce(ctx, data, &CrossProducts { cols, targets: particular.coef.rows })?;
    let basis = match dependence(data, ctx, &gram, intercept, None)? {
        Some(dependence) => dependence.basis,
        None => Matrix::zeros(cols, 0),
    };
    let x_mean = if intercept { gram.mean[..cols].to_vec() } else { vec![0.0; cols] };
    Ok(SolutionFamily { particular, basis, x_mean })
}

/// The sum of triangles of the rows (1, D (x - mean), y - mean), each times the root of its weight; without an
/// intercept there are no ones. With them the columns are centred to the last digit although the mean is rounded.
struct Triangles<'a> {
    problem: &'a Problem,
}

impl Reduce for Triangles<'_> {
    type Stat = Matrix;

    fn zero(&self) -> Matrix {
        let width = usize::from(self.problem.intercept) + self.problem.cols + self.problem.targets;
        Matrix::zeros(width, width)
    }

    fn add(&self, stat: &mut Matrix, batch: &Batch) -> Result<()> {
        let Problem { cols, targets, intercept, ref mean, ref length, .. } = *self.problem;
        let (width, first) = (stat.cols, usize::from(intercept));
        let mut rows = Matrix::zeros(width + batch.rows(), width);
        rows.values[..width * width].copy_from_slice(&stat.values);
        let y = batch.y.real();
        for i in 0..batch.rows() {
            let root = batch.weight(i).sqrt();
            let out = rows.row_mut(width + i);
            out[..first].fill(root);
            let out = &mut out[first..];
            match batch.x.row(i) {
                Row::Dense(row) => (0..cols).for_each(|j| out[j] = row[j] - mean[j]),
                sparse => {
                    (0..cols).for_each(|j| out[j] = -mean[j]);
                    sparse.for_each(|j, value| out[j] += value);
                }
            }
            for j in 0..cols {
                out[j] *= root / length[j];
            }
            for t in 0..targets {
                out[cols + t] = root * (y[i * targets + t] - mean[cols + t]);
            }
        }
        *stat = linalg::triangle(&rows);
        Ok(())
    }

    fn merge(&self, left: &mut Matrix, right: Matrix) {
        let mut rows = std::mem::take(left);
        rows.values.extend_from_slice(&right.values);
        rows.rows += right.rows;
        *left = linalg::triangle(&rows);
    }
}

/// Nanoseconds of one fit, by the normal equations or, with fewer rows than columns, the dual.
pub fn cost(shape: &Shape) -> f64 {
    let (n, p, targets) = shape.sizes();
    let least = n.min(p);
    1e5 + n * p * (2.0 + 0.08 * least + 0.5 * targets) + 0.1 * least.powi(3)
}
