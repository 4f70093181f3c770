//! Huber regression, robust to outliers in y:
//! `min_{w,b,sigma>0} sum_i w_i (sigma + H((y_i - w.x_i - b) / sigma) sigma) + alpha ||w||^2` with H(z) = z^2 up to
//! epsilon and 2 epsilon |z| - epsilon^2 beyond (Huber 1981; Owen 2007). The scale sigma is estimated jointly, and the
//! problem is convex in all three. With `delta` the scale is fixed: residuals above delta, in units of y, count
//! linearly.
//!
//! Method. Newton's on a piecewise quadratic: with z = (x, 1, r / sigma) the Hessian is the sum of 2 z z' / sigma over
//! the rows within epsilon sigma, so that loss, gradient and Hessian are one fused pass. Rows beyond have no curvature,
//! so steps are damped by that of all rows as far as the objective does not follow the quadratic (Levenberg 1944,
//! Marquardt 1963). A sum: any source. Cost O(n p^2) a pass. The outliers are reported row by row.
//!
//! Certificate. The dual is `max sum_i w_i v_i y_i - |sum_i w_i v_i x_i|^2 / (4 alpha)` over |v_i| <= 2 epsilon, sum_i
//! w_i v_i = 0 and, as the price of a free scale, sum_i w_i v_i^2 <= 4 sum_i w_i (a fixed delta pays w_i v_i^2 / 4 for
//! each row instead). The slopes of the loss, moved onto the equations by the rows within the limit and shrunk into the
//! bounds, are feasible: what separates both objectives bounds the error.

use super::{LinearModel, model::scores, net::RowProducts};
use crate::{
    Array, Bound, Ctx, Error, Estimator, Fit, FitLog, Halt, Info, Matrix, Model, Numbers, Output, Passes, Result,
    Shape, Source, Task, X,
    core::{
        Batch, Reduce, Sweep,
        ctx::Progress,
        linalg::{self, Cholesky},
        param::{above, at_least, log},
        params, reduce, simd, sweep,
    },
    engine::{lbfgs::largest, least_squares, newton::centred},
};
use serde::{Deserialize, Serialize};

params! {
    /// Linear regression that is robust to outliers in the target: large residuals count linearly instead of squared.
    pub struct HuberRegressor {
        /// Residuals above this many times the scale are outliers.
        epsilon: f64 = 1.35, at_least(1.0), log(1.0, 5.0);
        /// Maximum number of Newton steps.
        max_iter: usize = 100, at_least(1.0);
        /// Strength of the L2 penalty.
        alpha: f64 = 1e-4, at_least(0.0), log(1e-6, 1e2);
        /// Whether to fit an intercept.
        fit_intercept: bool = true;
        /// Stop when the objective is proven to be this close to its optimum, relative to it.
        tol: f64 = 1e-5, above(0.0);
        /// Fixed residual above which a row counts linearly, in units of the target; none to estimate the scale.
        delta: Option<f64> = None, above(0.0);
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HuberModel {
    pub linear: LinearModel,
    /// Scale of the residuals; 1 when delta is fixed.
    pub scale: f64,
}

impl Estimator for HuberRegressor {
    type Model = HuberModel;

    const INFO: Info = Info {
        scale: true,
        ..Info::new(
            "linear_model",
            Task::Regression,
            "min_{w,b,s} sum_i s + H((y_i - w.x_i - b) / s) s + alpha ||w||^2",
            Passes::Many,
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        // A handful of Newton passes, each as much as a fit of least squares.
        1e-9 * 7.0f64.min(self.max_iter as f64) * least_squares::cost(shape)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<HuberModel>> {
        let shape = data.shape();
        let p = shape.cols;
        let gram = reduce(ctx, data, &RowProducts { cols: p, targets: 1, rows: 0..shape.rows })?;
        let scatter = if self.fit_intercept { gram.scatter.clone() } else { gram.about_zero() };
        let level = gram.mean[p];
        // About what the start predicts: the mean, or zero where there is no intercept.
        let spread = (scatter[(p, p)] / gram.weight).max(0.0).sqrt();
        let problem = Problem {
            huber: self,
            data,
            ctx,
            centre: if self.fit_intercept { gram.mean[..p].to_vec() } else { vec![0.0; p] },
            weight: gram.weight,
            spread,
            products: Matrix::from_fn(p, p, |i, j| scatter[(i.max(j), i.min(j))]),
            epsilon: self.delta.unwrap_or(self.epsilon),
            fixed: self.delta.is_some(),
        };
        let mut theta = vec![0.0; p + 2];
        theta[p] = if self.fit_intercept { level } else { 0.0 };
        // A target that is a plane to the last digit has no scale; it stops here instead of at zero.
        let floor = (1e-12 * spread.max(level.abs())).max(1e-300);
        theta[p + 1] = if problem.fixed { 1.0 } else { spread.max(floor) };
        let (theta, log) = problem.solve(theta, floor)?;
        let coef = Matrix::new(theta[..p].to_vec(), 1, p);
        let intercept = if self.fit_intercept { theta[p] - simd::dot(&theta[..p], &problem.centre) } else { 0.0 };
        let model = HuberModel { linear: LinearModel { coef, intercept: vec![intercept] }, scale: theta[p + 1] };
        let mut outliers = vec![0u8; data.held().len()];
        sweep(ctx, data, &Outliers { model: &model, limit: problem.epsilon * model.scale }, &mut outliers)?;
        let outliers =
            Array { shape: vec![outliers.len()], values: Numbers::Int(outliers.into_iter().map(i64::from).collect()) };
        Ok(Fit { rows: vec![("outliers_", outliers)], ..Fit::new(model, log) })
    }
}

/// What share of the curvature of all rows may mend the equations where rows within the limit cannot.
const FAINT: f64 = 1e-8;

struct Problem<'a> {
    huber: &'a HuberRegressor,
    data: &'a dyn Source,
    ctx: &'a Ctx,
    centre: Vec<f64>,
    weight: f64,
    /// sum_i w_i x_i x_i' of centred columns.
    products: Matrix,
    /// Of the target.
    spread: f64,
    epsilon: f64,
    fixed: bool,
}

impl Problem<'_> {
    fn cols(&self) -> usize {
        self.centre.len()
    }

    fn at(&self, theta: &[f64]) -> Result<Bowl> {
        let (p, alpha) = (self.cols(), self.huber.alpha);
        let stride = linalg::padded(p + 2);
        let sum = Bowls { theta, centre: &self.centre, epsilon: self.epsilon, fixed: self.fixed };
        let mut at = reduce(self.ctx, self.data, &sum)?;
        at.loss += alpha * simd::dot(&theta[..p], &theta[..p]);
        for j in 0..p {
            at.gradient[j] += 2.0 * alpha * theta[j];
            at.hessian[j * stride + j] += 2.0 * alpha;
        }
        let held = [(p, !self.huber.fit_intercept), (p + 1, self.fixed)];
        for (j, _) in held.into_iter().filter(|(_, held)| *held) {
            at.gradient[j] = 0.0;
            (0..stride).for_each(|k| at.hessian[j * stride + k] = 0.0);
            (0..stride).for_each(|k| at.hessian[k * stride + j] = 0.0);
            at.hessian[j * stride + j] = 1.0;
        }
        Ok(at)
    }

    fn solve(&self, mut theta: Vec<f64>, floor: f64) -> Result<(Vec<f64>, FitLog)> {
        let (p, tol) = (self.cols(), self.huber.tol);
        let mut here = self.at(&theta)?;
        if !here.loss.is_finite() || !simd::all_finite(&here.hessian) {
            return Err(Error::Data("HuberRegressor: squares of the values overflow".into())
                .hint("bring the columns and the target to a common scale"));
        }
        let mut path = vec![here.loss];
        // At the start nearly all rows are within the limit, and the step to their minimum would leave most of them
        // beyond it.
        let (mut halt, mut damping) = (Halt::MaxIter, if self.fixed { 0.0 } else { 0.4 });
        let mut bound = Bound::new(f64::INFINITY, tol, here.loss, here.loss);
        let mut rejected = 0;
        while path.len() <= self.huber.max_iter {
            let (step, promised) = self.step(&theta, &here, damping);
            // Worth a pass to prove it when the quadratic has little left to gain. Coefficients come closer than the
            // objective shows: the gradient goes to the tolerance too, as far as rounding lets it.
            if promised <= tol * here.loss && (rejected > 0 || largest(&here.gradient) <= tol * self.weight) {
                bound = self.bound(&theta, &here)?;
                if bound.holds() {
                    break;
                }
            }
            if !(promised > 4.0 * f64::EPSILON * f64::EPSILON * here.loss) || damping > 1e16 || rejected > 60 {
                halt = Halt::Rounding;
                break;
            }
            let mut moved: Vec<f64> = theta.iter().zip(&step).map(|(w, d)| w + d).collect();
            // The scale stays positive: at most nine tenths of it in one step.
            if !self.fixed {
                moved[p + 1] = moved[p + 1].max(0.1 * theta[p + 1]).max(floor);
            }
            let there = self.at(&moved)?;
            let noise = 4.0 * f64::EPSILON * here.loss;
            let fell = here.loss - there.loss;
            if fell < 0.25 * promised - noise || !there.loss.is_finite() {
                damping = (4.0 * damping).max(1e-4);
            } else if fell > 0.75 * promised {
                damping = if damping > 1e-8 { damping / 8.0 } else { 0.0 };
            }
            if !(fell >= 1e-4 * promised - noise) {
                rejected += 1;
                continue;
            }
            rejected = if fell > 0.0 { 0 } else { rejected + 1 };
            (theta, here) = (moved, there);
            path.push(here.loss);
            let progress = Progress { what: "newton", step: path.len() - 1, of: None, value: Some(here.loss) };
            self.ctx.progress(progress);
        }
        if !bound.holds() {
            bound = self.bound(&theta, &here)?;
        }
        Ok((theta, FitLog::proven(path.len() - 1, path, bound, halt)))
    }

    /// The minimum of the quadratic model with so much of the curvature of all rows added, and by how much it is lower.
    fn step(&self, theta: &[f64], here: &Bowl, damping: f64) -> (Vec<f64>, f64) {
        let p = self.cols();
        let stride = linalg::padded(p + 2);
        let whole = |j: usize| {
            let rows = if j < p { self.products[(j, j)] } else { self.weight };
            2.0 * (rows / theta[p + 1] + self.huber.alpha)
        };
        let scale: Vec<f64> = (0..p + 2).map(|j| whole(j).max(f64::MIN_POSITIVE).sqrt()).collect();
        let scaled = |i: usize, j: usize| here.hessian[i.max(j) * stride + i.min(j)] / (scale[i] * scale[j]);
        let mut ridge: f64 = damping.max(1e-14);
        loop {
            let a = Matrix::from_fn(p + 2, p + 2, |i, j| scaled(i, j) + if i == j { ridge } else { 0.0 });
            let factor = Cholesky::new(&a);
            if factor.is_none() && ridge < 1e6 {
                ridge *= 100.0;
                continue;
            }
            let slope: Vec<f64> = here.gradient.iter().zip(&scale).map(|(g, s)| -g / s).collect();
            let mut step = slope.clone();
            if let Some(factor) = factor {
                factor.solve(&mut step, 1);
            }
            // slope.d - d'Hd / 2, and (H + ridge) d = slope.
            let promised = 0.5 * (simd::dot(&slope, &step) + ridge * simd::dot(&step, &step));
            step.iter_mut().zip(&scale).for_each(|(d, s)| *d /= s);
            return (step, promised);
        }
    }

    /// The slopes, moved onto the equations by rows that have room: those within the limit by their curvature, the
    /// others hardly.
    fn bound(&self, theta: &[f64], here: &Bowl) -> Result<Bound> {
        let (p, alpha, tol) = (self.cols(), self.huber.alpha, self.huber.tol);
        let stride = linalg::padded(p + 2);
        let steep = 2.0 / theta[p + 1];
        let entry = |i: usize, j: usize| {
            let whole = match (i < p, j < p) {
                (true, true) => self.products[(i, j)],
                (false, false) => self.weight,
                // Columns are centred where there is an intercept.
                _ => 0.0,
            };
            let ridge = if i == j && i < p { 2.0 * alpha } else { 0.0 };
            here.hessian[i.max(j) * stride + i.min(j)] - ridge + FAINT * steep * whole
        };
        let n = p + usize::from(self.huber.fit_intercept);
        let root: Vec<f64> = (0..n).map(|j| entry(j, j).max(0.0).sqrt()).collect();
        let solid: Vec<usize> = (0..n).filter(|&j| root[j] > 0.0).collect();
        let mut q = vec![0.0; p + 1];
        let mut right: Vec<f64> = solid.iter().map(|&j| here.gradient[j] / root[j]).collect();
        let mut ridge = 0.0;
        while ridge < 1.0 && !solid.is_empty() {
            let a = Matrix::from_fn(solid.len(), solid.len(), |i, j| {
                let (a, b) = (solid[i], solid[j]);
                entry(a, b) / (root[a] * root[b]) + if i == j { ridge } else { 0.0 }
            });
            if let Some(factor) = Cholesky::new(&a) {
                factor.solve(&mut right, 1);
                solid.iter().zip(&right).for_each(|(&j, value)| q[j] = value / root[j]);
                break;
            }
            ridge = f64::max(1e-14, ridge * 100.0);
        }
        let sum = Duals { theta, centre: &self.centre, epsilon: self.epsilon, q: &q };
        let dual = reduce(self.ctx, self.data, &sum)?;
        let w = &theta[..p];
        let norm2 = simd::dot(w, w);
        let mut shrink = (2.0 * self.epsilon / dual.largest).min(1.0);
        if !self.fixed {
            shrink = shrink.min(2.0 * (self.weight / dual.squares).sqrt());
        }
        // What the equations still lack by rounding, or because a column depends on others.
        let lack = |j: usize| dual.sums[j] - 2.0 * alpha * w[j];
        let fitted: f64 = (0..p).map(|j| w[j] * dual.sums[j]).sum();
        let mut price = 0.0;
        for j in 0..p {
            price += match alpha > 0.0 {
                true => (shrink * dual.sums[j]).powi(2) / (4.0 * alpha),
                false => 2.0 * (lack(j) * w[j]).abs(),
            };
        }
        if self.huber.fit_intercept {
            price += 10.0 * dual.sums[p].abs() * theta[p + 1].max(self.spread);
        }
        if self.fixed {
            price += 0.25 * shrink * shrink * dual.squares;
        }
        let value = shrink * (dual.along + fitted) - price;
        Ok(Bound::new(here.loss - value, tol, here.loss, here.loss + alpha * norm2))
    }
}

/// What the dual point v + room z q is worth, with v the slopes of the loss.
struct Duals<'a> {
    theta: &'a [f64],
    centre: &'a [f64],
    epsilon: f64,
    q: &'a [f64],
}

#[derive(Serialize, Deserialize)]
struct Dual {
    /// sum w v r
    along: f64,
    /// sum w v^2
    squares: f64,
    largest: f64,
    /// sum w v z
    sums: Vec<f64>,
}

impl Reduce for Duals<'_> {
    type Stat = Dual;

    fn zero(&self) -> Dual {
        Dual { along: 0.0, squares: 0.0, largest: 0.0, sums: vec![0.0; self.q.len()] }
    }

    fn add(&self, stat: &mut Dual, batch: &Batch) -> Result<()> {
        let p = self.centre.len();
        let (w, sigma) = (&self.theta[..p], self.theta[p + 1]);
        let mut z = vec![0.0; p + 1];
        for (i, y) in batch.y.real().iter().enumerate() {
            let weight = batch.weight(i);
            if weight == 0.0 {
                continue;
            }
            centred(&batch.x.row(i), self.centre, &mut z);
            z[p] = 1.0;
            let r = y - simd::dot(&z[..p], w) - self.theta[p];
            let inside = r.abs() <= self.epsilon * sigma;
            let room = (f64::from(u8::from(inside)) + FAINT) * 2.0 / sigma;
            let v = (2.0 * r / sigma).clamp(-2.0 * self.epsilon, 2.0 * self.epsilon) + room * simd::dot(&z, self.q);
            stat.along += weight * v * r;
            stat.squares += weight * v * v;
            stat.largest = stat.largest.max(v.abs());
            simd::add_scaled(weight * v, &z, &mut stat.sums);
        }
        Ok(())
    }

    fn merge(&self, left: &mut Dual, right: Dual) {
        left.along += right.along;
        left.squares += right.squares;
        left.largest = left.largest.max(right.largest);
        simd::add_scaled(1.0, &right.sums, &mut left.sums);
    }
}

/// Loss, gradient and Hessian at (w, b, sigma) in centred columns.
struct Bowls<'a> {
    theta: &'a [f64],
    centre: &'a [f64],
    epsilon: f64,
    fixed: bool,
}

#[derive(Serialize, Deserialize)]
struct Bowl {
    loss: f64,
    gradient: Vec<f64>,
    /// Lower triangle, padded.
    hessian: Vec<f64>,
    #[serde(skip)]
    packed: Vec<f64>,
}

impl Reduce for Bowls<'_> {
    type Stat = Bowl;

    fn zero(&self) -> Bowl {
        let n = self.theta.len();
        let stride = linalg::padded(n);
        Bowl { loss: 0.0, gradient: vec![0.0; n], hessian: vec![0.0; stride * stride], packed: Vec::new() }
    }

    fn add(&self, stat: &mut Bowl, batch: &Batch) -> Result<()> {
        let p = self.centre.len();
        let stride = linalg::padded(p + 2);
        let (w, sigma) = (&self.theta[..p], self.theta[p + 1]);
        let shift = self.theta[p] - simd::dot(self.centre, w);
        let limit = self.epsilon * sigma;
        let sheet = linalg::sheet_rows(stride);
        let mut score = vec![0.0; sheet];
        for first in (0..batch.rows()).step_by(sheet) {
            let part = batch.slice(first..(first + sheet).min(batch.rows()));
            let n = part.rows();
            part.x.times_vector(w, &mut score[..n]);
            let y = part.y.real();
            stat.packed.clear();
            stat.packed.resize(n * stride, 0.0);
            simd::vectorised(
                #[inline(always)]
                || {
                    for (i, z) in stat.packed.chunks_exact_mut(stride).enumerate() {
                        let weight = part.weight(i);
                        let r = y[i] - score[i] - shift;
                        centred(&part.x.row(i), self.centre, z);
                        z[p] = 1.0;
                        z[p + 1] = 0.0;
                        let inside = r.abs() <= limit;
                        let slope = if inside { -2.0 * r / sigma } else { -2.0 * self.epsilon * r.signum() };
                        for (g, z) in stat.gradient.iter_mut().zip(&*z) {
                            *g += weight * slope * z;
                        }
                        let scale = if self.fixed { 0.0 } else { 1.0 };
                        if inside {
                            stat.loss += weight * (scale * sigma + r * r / sigma);
                            stat.gradient[p + 1] += weight * (scale - r * r / (sigma * sigma));
                            z[p + 1] = r / sigma;
                            let root = (2.0 * weight / sigma).sqrt();
                            z.iter_mut().for_each(|z| *z *= root);
                        } else {
                            let beyond = 2.0 * self.epsilon * r.abs() - self.epsilon * self.epsilon * sigma;
                            stat.loss += weight * (scale * sigma + beyond);
                            stat.gradient[p + 1] += weight * (scale - self.epsilon * self.epsilon);
                            z.fill(0.0);
                        }
                    }
                },
            );
            linalg::add_gram(&stat.packed, stride, &mut stat.hessian);
        }
        Ok(())
    }

    fn merge(&self, left: &mut Bowl, right: Bowl) {
        left.loss += right.loss;
        simd::add_scaled(1.0, &right.gradient, &mut left.gradient);
        simd::add_scaled(1.0, &right.hessian, &mut left.hessian);
    }
}

/// Marks the rows beyond the limit.
struct Outliers<'a> {
    model: &'a HuberModel,
    limit: f64,
}

impl Sweep for Outliers<'_> {
    type Stat = ();
    type Cell = u8;

    fn zero(&self) {}

    fn add(&self, (): &mut (), batch: &Batch, cells: &mut [u8]) -> Result<()> {
        let mut fitted = vec![0.0; batch.rows()];
        scores(&batch.x, &self.model.linear.coef, &self.model.linear.intercept, &mut fitted);
        for ((cell, fitted), y) in cells.iter_mut().zip(fitted).zip(batch.y.real()) {
            *cell = u8::from((y - fitted).abs() > self.limit);
        }
        Ok(())
    }

    fn merge(&self, (): &mut (), (): ()) {}
}

impl Model for HuberModel {
    fn cols(&self) -> usize {
        self.linear.coef.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        self.linear.outputs()
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        self.linear.predict(x, output, out)
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let mut attributes = self.linear.attributes();
        attributes.push(("scale_", self.scale.into()));
        attributes
    }

    fn check(&self) -> Result<()> {
        if self.linear.coef.rows != 1 {
            return Err(Error::shape("stored coefficients", "one row", self.linear.coef.rows));
        }
        self.linear.check()
    }
}
