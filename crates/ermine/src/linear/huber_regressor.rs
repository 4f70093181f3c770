//! Huber regression, robust to outliers in y: `min_{w,b,sigma>0} sum_i w_i (sigma + H((y_i - w.x_i - b) / sigma) sigma) + alpha ||w||^2` with
//! H(z) = z^2 up to epsilon and 2 epsilon |z| - epsilon^2 beyond (Huber 1981; Owen 2007). The scale sigma is estimated jointly, and the problem is
//! convex in all three. With `delta` the scale is fixed: residuals above delta, in units of y, count linearly.
//!
//! Method. Newton's on a piecewise quadratic: with z = (x, 1, r / sigma) the Hessian is the sum of 2 z z' / sigma over the
//! rows within epsilon sigma, so that loss, gradient and Hessian are one fused pass; a handful of passes usually do. A sum: any
//! source. Cost O(n p^2) a pass. The outliers are reported row by row.

use super::{LinearModel, model::scores};
use crate::{
    Array, Certificate, Ctx, Error, Estimator, Fit, FitLog, Info, Matrix, Model, Numbers, Output, Passes, Result,
    Shape, Source, Stop, Task, X,
    core::{
        Batch, Reduce, Sweep,
        ctx::Progress,
        data::Row,
        kernel, linalg,
        param::{above, at_least, log},
        params, reduce,
        stats::{ColumnMoments, Moments},
        sweep,
    },
    engine::{lbfgs::largest, least_squares, newton::newton_step},
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
        /// Stop when no component of the gradient of the mean objective exceeds this.
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

    fn fit(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<HuberModel>> {
        let p = data.shape().cols;
        let moments = reduce(ctx, data, &ColumnMoments { cols: p })?;
        let y = reduce(ctx, data, &TargetMoments)?;
        let spread = y.variance(0).sqrt();
        // A target that is a plane to the last digit has no scale; it stops here instead of at zero.
        let floor = (1e-12 * spread.max(y.mean[0].abs())).max(1e-300);
        let (n, fixed) = (moments.weight, self.delta.is_some());
        let centre = if self.fit_intercept { moments.mean.clone() } else { vec![0.0; p] };
        let mut theta = vec![0.0; p + 2];
        theta[p] = if self.fit_intercept { y.mean[0] } else { 0.0 };
        theta[p + 1] = if fixed { 1.0 } else { spread.max(floor) };
        let epsilon = self.delta.unwrap_or(self.epsilon);
        let stride = linalg::padded(p + 2);
        let at = |theta: &[f64]| -> Result<Bowl> {
            let sum = Bowls { theta, centre: &centre, epsilon, fixed };
            let mut at = reduce(ctx, data, &sum)?;
            at.loss = (at.loss + self.alpha * kernel::dot(&theta[..p], &theta[..p])) / n;
            at.gradient.iter_mut().chain(&mut at.hessian).for_each(|value| *value /= n);
            for j in 0..p {
                at.gradient[j] += 2.0 * self.alpha / n * theta[j];
                at.hessian[j * stride + j] += 2.0 * self.alpha / n;
            }
            let held = [(p, !self.fit_intercept), (p + 1, fixed)];
            for (j, _) in held.into_iter().filter(|(_, held)| *held) {
                at.gradient[j] = 0.0;
                (0..stride).for_each(|k| at.hessian[j * stride + k] = 0.0);
                (0..stride).for_each(|k| at.hessian[k * stride + j] = 0.0);
                at.hessian[j * stride + j] = 1.0;
            }
            Ok(at)
        };
        let mut here = at(&theta)?;
        let mut path = vec![here.loss];
        let mut stop = Stop::MaxIter;
        'newton: for iteration in 0..self.max_iter {
            if largest(&here.gradient) <= self.tol {
                stop = Stop::Converged;
                break;
            }
            let step = newton_step(&here.hessian, stride, &here.gradient);
            let decrement = -kernel::dot(&step, &here.gradient);
            // The scale stays positive: at most nine tenths of it in one step.
            let mut length = 1.0;
            if theta[p + 1] + step[p + 1] < 0.1 * theta[p + 1] {
                length = -0.9 * theta[p + 1] / step[p + 1];
            }
            let (moved, there) = loop {
                let moved: Vec<f64> = theta.iter().zip(&step).map(|(w, d)| w + length * d).collect();
                let there = at(&moved)?;
                let noise = here.loss.abs() * 4.0 * f64::EPSILON;
                if there.loss <= here.loss - 1e-4 * length * decrement + noise {
                    break (moved, there);
                }
                length *= 0.5;
                if length < 1e-10 {
                    stop = Stop::NoProgress;
                    break 'newton;
                }
            };
            if there.loss >= here.loss && largest(&there.gradient) >= largest(&here.gradient) {
                stop = Stop::NoProgress;
                break;
            }
            (theta, here) = (moved, there);
            path.push(here.loss);
            ctx.progress(Progress { what: "newton", step: iteration + 1, of: None, value: Some(here.loss) });
            if !fixed && theta[p + 1] <= floor {
                stop = Stop::NoProgress;
                break;
            }
        }
        if stop == Stop::MaxIter && largest(&here.gradient) <= self.tol {
            stop = Stop::Converged;
        }
        let coef = Matrix::new(theta[..p].to_vec(), 1, p);
        let intercept = if self.fit_intercept { theta[p] - kernel::dot(&theta[..p], &centre) } else { 0.0 };
        let log = FitLog {
            passes: path.len() - 1,
            stop,
            objective: path,
            certificate: Certificate::Gradient { norm: largest(&here.gradient), tolerance: self.tol },
            notes: Vec::new(),
        };
        let model = HuberModel { linear: LinearModel { coef, intercept: vec![intercept] }, scale: theta[p + 1] };
        let mut outliers = vec![0u8; data.held().len()];
        sweep(ctx, data, &Outliers { model: &model, limit: epsilon * model.scale }, &mut outliers)?;
        let outliers =
            Array { shape: vec![outliers.len()], values: Numbers::Int(outliers.into_iter().map(i64::from).collect()) };
        Ok(Fit { model, log, rows: vec![("outliers_", outliers)] })
    }
}

/// Mean and spread of the target.
struct TargetMoments;

impl Reduce for TargetMoments {
    type Stat = Moments;

    fn zero(&self) -> Moments {
        Moments::new(1)
    }

    fn add(&self, stat: &mut Moments, batch: &Batch) -> Result<()> {
        stat.add(&X::dense(batch.y.real(), 1)?, batch.weights);
        Ok(())
    }

    fn merge(&self, left: &mut Moments, right: Moments) {
        left.merge(right);
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
        let shift = self.theta[p] - kernel::dot(self.centre, w);
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
            kernel::vectorised(
                #[inline(always)]
                || {
                    for (i, z) in stat.packed.chunks_exact_mut(stride).enumerate() {
                        let weight = part.weight(i);
                        let r = y[i] - score[i] - shift;
                        match part.x.row(i) {
                            Row::Dense(row) => {
                                for ((z, x), c) in z.iter_mut().zip(row).zip(self.centre) {
                                    *z = x - c;
                                }
                            }
                            sparse => {
                                z.iter_mut().zip(self.centre).for_each(|(z, c)| *z = -c);
                                sparse.for_each(|j, value| z[j] += value);
                            }
                        }
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
        kernel::add_scaled(1.0, &right.gradient, &mut left.gradient);
        kernel::add_scaled(1.0, &right.hessian, &mut left.hessian);
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
