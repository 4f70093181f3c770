//! Penalised least squares, `min_{W,b} sum_i w_i ||y_i - W x_i - b||^2 + alpha ||W||^2`, by the cheapest safe path.
//!
//! 1. Normal equations: one pass for the scatter of (x, y) about its mean, columns brought to unit length, Cholesky. Squares
//!    the condition number, so it is kept only while the estimated condition says that ten digits survive.
//! 2. QR: a second pass sums triangles (R of one block on top of R of the next has the R of both), then an SVD of the
//!    small triangle. Singular values at rounding level mean dependent columns: the solution of least norm is taken, and
//!    the redundant columns are named with what they depend on.
//!    Columns of full rank that are nearly dependent get the digits back that this costs: the normal equations once more, of
//!    exact differences in numbers of 32 digits ([`double_double`]), so that the coefficients are those of the matrix as given.
//! 3. More columns than rows, in memory: the dual, `w = X' (X X' + alpha I)^+ y`.
//!
//! Cost O(n p^2) with a small constant; memory O(p^2) for each thread. Paths 1 and 2 are sums and run on any source.

use crate::{
    Certificate, Ctx, Error, Fit, FitLog, Matrix, Result, Shape, Source, X,
    core::{
        Batch, Reduce, Target,
        data::Row,
        kernel,
        linalg::{self, Cholesky, Eigen, PivotedQr, Svd},
        log::Redundant,
        reduce,
        stats::{CrossProducts, Gram},
    },
    engine::double_double::{self, Dd, ExactProducts, ExactResiduals},
    linear::LinearModel,
};

/// Condition of the scaled normal equations up to which about ten digits survive in the coefficients.
const WELL_CONDITIONED: f64 = 1e6;

/// Products of 32 digits that are worth their time; each takes some ten nanoseconds.
const EXTENDED_WORK: f64 = 3e8;

/// Each gains the digits that the first solution has right; after two a condition of 1e12 leaves a full double.
const REFINEMENTS: usize = 2;

pub fn fit(data: &dyn Source, ctx: &Ctx, alpha: f64, intercept: bool) -> Result<Fit<LinearModel>> {
    let shape = data.shape();
    let targets = match shape.target {
        crate::core::TargetKind::Real(targets) => targets,
        _ => return Err(Error::Data("least squares needs a target of numbers".into())),
    };
    if shape.cols > shape.rows
        && let Some(batch) = data.memory().filter(|_| data.held().len() == shape.rows)
    {
        return dual(&batch, alpha, intercept, ctx);
    }
    let gram = reduce(ctx, data, &CrossProducts { cols: shape.cols, targets })?;
    fit_gram(data, ctx, &gram, alpha, intercept)
}

/// With the scatter of (x, y) already at hand.
pub fn fit_gram(data: &dyn Source, ctx: &Ctx, gram: &Gram, alpha: f64, intercept: bool) -> Result<Fit<LinearModel>> {
    let cols = data.shape().cols;
    let problem = Problem::new(gram, cols, gram.mean.len() - cols, alpha, intercept);
    if let Some(solution) = problem.normal_equations() {
        return Ok(problem.finish(solution));
    }
    let triangles = Triangles { problem: &problem, intercept };
    let mut solution = problem.orthogonal(&reduce(ctx, data, &triangles)?)?;
    let work = data.shape().rows as f64 * (cols as f64).powi(2);
    if solution.rank < cols || work > EXTENDED_WORK || problem.constant.contains(&true) {
        return Ok(problem.finish(solution));
    }
    let Some((coef, intercepts)) = problem.extended(data, ctx, gram, intercept)? else {
        return Ok(problem.finish(solution));
    };
    (solution.coef, solution.method) = (coef, "extended precision");
    let mut fit = problem.finish(solution);
    fit.model.intercept = intercepts;
    Ok(fit)
}

/// The problem in scaled, centred variables: z = D (x - mean), D = 1 / length of the column.
struct Problem {
    cols: usize,
    targets: usize,
    alpha: f64,
    /// Zero without an intercept.
    mean: Vec<f64>,
    /// Length of each centred column; 1 for a column that is constant.
    length: Vec<f64>,
    /// Lower triangle about `mean`, unscaled.
    scatter: Matrix,
    constant: Vec<bool>,
}

struct Solution {
    /// One row for each target, in the original units.
    coef: Matrix,
    rank: usize,
    condition: f64,
    method: &'static str,
    redundant: Vec<Redundant>,
}

impl Problem {
    fn new(gram: &Gram, cols: usize, targets: usize, alpha: f64, intercept: bool) -> Self {
        let scatter = if intercept { gram.scatter.clone() } else { gram.about_zero() };
        let mean = if intercept { gram.mean.clone() } else { vec![0.0; cols + targets] };
        // A column is constant when its scatter is what rounding of its mean alone would leave.
        let rounding = |j: usize| (4.0 * f64::EPSILON * gram.mean[j]).powi(2) * gram.weight;
        let constant: Vec<bool> = (0..cols).map(|j| scatter[(j, j)] <= rounding(j)).collect();
        let length = (0..cols).map(|j| if constant[j] { 1.0 } else { scatter[(j, j)].sqrt() }).collect();
        Problem { cols, targets, alpha, mean, length, scatter, constant }
    }

    /// Penalty of the scaled coefficient of column j.
    fn penalty(&self, j: usize) -> f64 {
        self.alpha / (self.length[j] * self.length[j])
    }

    fn normal_equations(&self) -> Option<Solution> {
        let (p, m) = (self.cols, self.targets);
        let mut a = Matrix::zeros(p, p);
        for i in 0..p {
            for j in 0..=i {
                a[(i, j)] = self.scatter[(i, j)] / (self.length[i] * self.length[j]);
            }
            a[(i, i)] += self.penalty(i);
        }
        let cholesky = Cholesky::new(&a)?;
        let condition = cholesky.condition();
        if !(condition < WELL_CONDITIONED) {
            return None;
        }
        let mut z = Matrix::from_fn(p, m, |j, t| self.scatter[(p + t, j)] / self.length[j]);
        cholesky.solve(&mut z.values, m);
        let coef = Matrix::from_fn(m, p, |t, j| z[(j, t)] / self.length[j]);
        Some(Solution { coef, rank: p, condition: condition.sqrt(), method: "Cholesky", redundant: Vec::new() })
    }

    /// From the triangle R of the rows (z, y), penalty rows included.
    fn orthogonal(&self, r: &Matrix) -> Result<Solution> {
        let (p, m) = (self.cols, self.targets);
        let mut rows = Matrix::zeros(p + m + p, p + m);
        rows.values[..r.values.len()].copy_from_slice(&r.values);
        for j in 0..p {
            rows[(p + m + j, j)] = self.penalty(j).sqrt();
        }
        let r = linalg::triangle(&rows);
        let a = Matrix::from_fn(p, p, |i, j| r[(i, j)]);
        let failed = || Error::Diverged("the singular value decomposition did not converge".into());
        let svd = Svd::new(&a).ok_or_else(failed)?;
        let rank = svd.rank(p.max(64), p);
        // Coordinates of the solution along the right singular vectors that carry information.
        let mut z = Matrix::zeros(p, m);
        for k in 0..rank {
            for t in 0..m {
                let along: f64 = (0..p).map(|i| svd.u[(i, k)] * r[(i, p + t)]).sum::<f64>() / svd.s[k];
                for j in 0..p {
                    z[(j, t)] += along * svd.v[(j, k)];
                }
            }
        }
        let mut coef = Matrix::from_fn(m, p, |t, j| z[(j, t)] / self.length[j]);
        if rank < p {
            self.least_norm(&mut coef, &svd, rank)?;
        }
        let condition = if rank > 0 { svd.s[0] / svd.s[rank - 1] } else { 1.0 };
        let redundant = if rank < p { self.redundant(&a, rank) } else { Vec::new() };
        Ok(Solution { coef, rank, condition, method: if rank < p { "SVD" } else { "QR" }, redundant })
    }

    /// Normal equations of 32 digits, refined by residuals of 32 digits, which bring back what squaring the condition took.
    /// `None` when even they are not definite.
    fn extended(
        &self,
        data: &dyn Source,
        ctx: &Ctx,
        gram: &Gram,
        intercept: bool,
    ) -> Result<Option<(Matrix, Vec<f64>)>> {
        let (p, m) = (self.cols, self.targets);
        // Any centre will do, because the column of ones is kept: the intercept takes up what it misses.
        let centre = if intercept { gram.mean.clone() } else { vec![0.0; p + m] };
        let mut sums = reduce(ctx, data, &ExactProducts { cols: p, targets: m, centre: &centre })?;
        let at = |i: usize, j: usize| i * (i + 1) / 2 + j;
        for j in 0..p {
            sums[at(1 + j, 1 + j)] = sums[at(1 + j, 1 + j)].add(Dd::new(self.alpha));
        }
        if !intercept {
            // The ones stay out: their row is that of the identity.
            sums[at(0, 0)] = Dd::new(1.0);
            (1..1 + p + m).for_each(|i| sums[at(i, 0)] = Dd::default());
        }
        let width = 1 + p;
        // Powers of two bring the columns to one size and round nothing.
        let scale: Vec<f64> =
            (0..width).map(|j| (-0.5 * sums[at(j, j)].hi.max(f64::MIN_POSITIVE).log2()).round().exp2()).collect();
        let scaled = |(i, j): (usize, usize)| sums[at(i, j)].scaled(scale[i] * scale[j]);
        let lower: Vec<Dd> = (0..width).flat_map(|i| (0..=i).map(move |j| (i, j))).map(scaled).collect();
        let Some(factor) = double_double::Factor::new(&lower, width) else { return Ok(None) };
        let mut solution = vec![vec![Dd::default(); width]; m];
        let mut left: Vec<Dd> =
            (0..m).flat_map(|t| (0..width).map(move |j| (t, j))).map(|(t, j)| sums[at(width + t, j)]).collect();
        for refinement in 0..=REFINEMENTS {
            for (v, left) in solution.iter_mut().zip(left.chunks_exact_mut(width)) {
                left.iter_mut().zip(&scale).for_each(|(left, scale)| *left = left.scaled(*scale));
                factor.solve(left);
                for ((v, step), scale) in v.iter_mut().zip(left).zip(&scale) {
                    *v = v.add(step.scaled(*scale));
                }
            }
            if refinement < REFINEMENTS {
                let residuals = ExactResiduals { cols: p, targets: m, centre: &centre, solution: &solution };
                left = reduce(ctx, data, &residuals)?;
                for (left, v) in left.chunks_exact_mut(width).zip(&solution) {
                    (1..width).for_each(|j| left[j] = left[j].subtract(Dd::new(self.alpha).times(v[j])));
                    if !intercept {
                        left[0] = Dd::default();
                    }
                }
            }
        }
        let solved = |t: usize, j: usize| solution[t][j];
        let coef = Matrix::from_fn(m, p, |t, j| solved(t, 1 + j).value());
        let intercepts = (0..m)
            .map(|t| {
                if !intercept {
                    return 0.0;
                }
                let start = Dd::new(centre[p + t]).add(solved(t, 0));
                (0..p).fold(start, |b, j| b.subtract(solved(t, 1 + j).times(Dd::new(centre[j])))).value()
            })
            .collect();
        Ok(Some((coef, intercepts)))
    }

    /// Takes out of each solution what lies in the null space, in original units: w - M (M'M)^-1 M' w, M = D N.
    fn least_norm(&self, coef: &mut Matrix, svd: &Svd, rank: usize) -> Result<()> {
        let (p, free) = (self.cols, self.cols - rank);
        let null = Matrix::from_fn(p, free, |j, k| svd.v[(j, rank + k)] / self.length[j]);
        let basis = Svd::new(&null).ok_or_else(|| Error::Diverged("the null space did not converge".into()))?.u;
        for t in 0..coef.rows {
            for k in 0..free {
                let along: f64 = (0..p).map(|j| basis[(j, k)] * coef[(t, j)]).sum();
                (0..p).for_each(|j| coef[(t, j)] -= along * basis[(j, k)]);
            }
        }
        Ok(())
    }

    /// Names the columns that pivoting leaves for last and what they are made of.
    fn redundant(&self, a: &Matrix, rank: usize) -> Vec<Redundant> {
        let p = self.cols;
        let qr = PivotedQr::new(a);
        (rank..p)
            .map(|place| {
                // Back substitution: R11 c = R12.
                let mut c: Vec<f64> = (0..rank).map(|i| qr.r[(i, place)]).collect();
                for i in (0..rank).rev() {
                    let known: f64 = (i + 1..rank).map(|k| qr.r[(i, k)] * c[k]).sum();
                    c[i] = (c[i] - known) / qr.r[(i, i)];
                }
                let column = qr.order[place];
                let mut of: Vec<(usize, f64)> = (0..rank)
                    .map(|k| (qr.order[k], c[k] * self.length[column] / self.length[qr.order[k]]))
                    .filter(|&(other, factor)| {
                        !self.constant[column] && (factor * self.length[other] / self.length[column]).abs() > 1e-7
                    })
                    .collect();
                of.sort_by_key(|&(other, _)| other);
                Redundant { column, of }
            })
            .collect()
    }

    fn finish(&self, solution: Solution) -> Fit<LinearModel> {
        let Solution { mut coef, rank, condition, method, redundant } = solution;
        let intercept = (0..self.targets)
            .map(|t| {
                for j in (0..self.cols).filter(|&j| self.constant[j]) {
                    coef[(t, j)] = 0.0;
                }
                self.mean[self.cols + t] - kernel::dot(coef.row(t), &self.mean[..self.cols])
            })
            .collect();
        let certificate =
            Certificate::LeastSquares { rank, columns: self.cols, condition, method: method.into(), redundant };
        Fit::new(LinearModel { coef, intercept }, FitLog::exact(certificate))
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
    let targets = particular.coef.rows;
    let gram = reduce(ctx, data, &CrossProducts { cols, targets })?;
    let problem = Problem::new(&gram, cols, targets, 0.0, intercept);
    let r = reduce(ctx, data, &Triangles { problem: &problem, intercept })?;
    let a = Matrix::from_fn(cols, cols, |i, j| if problem.constant[j] { 0.0 } else { r[(i, j)] });
    let failed = || Error::Diverged("the singular value decomposition did not converge".into());
    let svd = Svd::new(&a).ok_or_else(failed)?;
    let rank = svd.rank(cols.max(64), cols);
    let null = Matrix::from_fn(cols, cols - rank, |j, k| svd.v[(j, rank + k)] / problem.length[j]);
    let basis = if rank < cols { Svd::new(&null).ok_or_else(failed)?.u } else { Matrix::zeros(cols, 0) };
    Ok(SolutionFamily { particular, basis, x_mean: problem.mean[..cols].to_vec() })
}

/// The inverse of the scatter matrix of x, from its triangle, so that nearly dependent columns keep their digits; `None` when
/// columns depend on each other.
pub fn inverse_scatter(data: &dyn Source, ctx: &Ctx, gram: &Gram, intercept: bool) -> Result<Option<Matrix>> {
    let cols = data.shape().cols;
    let problem = Problem::new(gram, cols, gram.mean.len() - cols, 0.0, intercept);
    let r = reduce(ctx, data, &Triangles { problem: &problem, intercept })?;
    let a = Matrix::from_fn(cols, cols, |i, j| r[(i, j)]);
    let Some(svd) = Svd::new(&a) else { return Ok(None) };
    if svd.rank(cols.max(64), cols) < cols || problem.constant.contains(&true) {
        return Ok(None);
    }
    let root = Matrix::from_fn(cols, cols, |j, k| svd.v[(j, k)] / (svd.s[k] * problem.length[j]));
    Ok(Some(root.times(&root.transposed())))
}

/// The sum of triangles of the rows (D (x - mean), y - mean), each times the root of its weight.
struct Triangles<'a> {
    problem: &'a Problem,
    intercept: bool,
}

impl Reduce for Triangles<'_> {
    type Stat = Matrix;

    fn zero(&self) -> Matrix {
        let width = self.problem.cols + self.problem.targets;
        Matrix::zeros(width, width)
    }

    fn add(&self, stat: &mut Matrix, batch: &Batch) -> Result<()> {
        let Problem { cols, targets, ref mean, ref length, .. } = *self.problem;
        let width = cols + targets;
        let mut rows = Matrix::zeros(width + batch.rows(), width);
        rows.values[..width * width].copy_from_slice(&stat.values);
        let y = batch.y.real();
        for i in 0..batch.rows() {
            let root = batch.weight(i).sqrt();
            let out = rows.row_mut(width + i);
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
        debug_assert!(self.intercept || mean.iter().all(|&m| m == 0.0));
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

/// More columns than rows: everything happens in the n x n matrix of inner products of the centred rows.
fn dual(batch: &Batch, alpha: f64, intercept: bool, ctx: &Ctx) -> Result<Fit<LinearModel>> {
    batch.x.check_finite(batch.first)?;
    let Target::Real { values: y, cols: m } = batch.y else {
        return Err(Error::Data("least squares needs a target of numbers".into()));
    };
    let (n, p) = (batch.rows(), batch.x.cols());
    let weights: Vec<f64> = (0..n).map(|i| batch.weight(i)).collect();
    let total: f64 = weights.iter().sum();
    let (mut x_mean, mut y_mean) = (vec![0.0; p], vec![0.0; m]);
    if intercept {
        batch.x.add_transposed_vector(&weights, &mut x_mean);
        X::dense(y, m)?.add_transposed_vector(&weights, &mut y_mean);
        x_mean.iter_mut().chain(&mut y_mean).for_each(|mean| *mean /= total);
    }
    let mut rows = batch.x.to_matrix();
    for i in 0..n {
        let root = weights[i].sqrt();
        rows.row_mut(i).iter_mut().zip(&x_mean).for_each(|(x, mean)| *x = root * (*x - mean));
    }
    ctx.check()?;
    let mut inner = Matrix::zeros(n, n);
    linalg::multiply(rows.view(), rows.view().transposed(), 0.0, &mut inner.values);
    let failed = || Error::Diverged("the eigenvalue decomposition did not converge".into());
    let eigen = Eigen::new(&inner).ok_or_else(failed)?;
    let largest = eigen.values.last().copied().unwrap_or(0.0).max(0.0);
    let limit = largest * f64::EPSILON * p as f64;
    let rank = eigen.values.iter().filter(|&&value| value > limit).count();
    // (K + alpha I)^+ y, along the eigenvectors that carry information.
    let mut dual = Matrix::zeros(n, m);
    for k in n - rank..n {
        for t in 0..m {
            let along: f64 =
                (0..n).map(|i| eigen.vectors[(i, k)] * weights[i].sqrt() * (y[i * m + t] - y_mean[t])).sum::<f64>()
                    / (eigen.values[k] + alpha);
            (0..n).for_each(|i| dual[(i, t)] += along * eigen.vectors[(i, k)]);
        }
    }
    let mut by_column = Matrix::zeros(p, m);
    linalg::multiply(rows.view().transposed(), dual.view(), 0.0, &mut by_column.values);
    let coef = by_column.transposed();
    let intercept = (0..m).map(|t| y_mean[t] - kernel::dot(coef.row(t), &x_mean)).collect();
    let condition = if rank > 0 { (largest / eigen.values[n - rank]).sqrt() } else { 1.0 };
    let certificate =
        Certificate::LeastSquares { rank, columns: p, condition, method: "dual".into(), redundant: Vec::new() };
    Ok(Fit::new(LinearModel { coef, intercept }, FitLog::exact(certificate)))
}

/// Nanoseconds of one fit, by the normal equations or, with fewer rows than columns, the dual.
pub fn cost(shape: &Shape) -> f64 {
    let (n, p, targets) = shape.sizes();
    let least = n.min(p);
    1e5 + n * p * (2.0 + 0.08 * least + 0.5 * targets) + 0.1 * least.powi(3)
}
