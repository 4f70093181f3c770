//! Bayesian ridge: y = w.x + b + noise of precision alpha, w normal of precision lambda, both precisions with Gamma
//! priors and set to what makes the data most probable (type II maximum likelihood).
//!
//! In the eigenvectors of the scatter matrix, with eigenvalues s and g = sum_k alpha s_k / (lambda + alpha s_k) the
//! number of well-determined parameters, the fixed point is lambda = (g + 2 lambda_1) / (||w||^2 + 2 lambda_2), alpha =
//! (n - g + 2 alpha_1) / (||y - Xw||^2 + 2 alpha_2) (MacKay 1992; Tipping 2001). One pass over the rows, one
//! eigendecomposition, then O(p) a step. The objective in the log is minus the log marginal likelihood. Predictions
//! come with their standard deviation.

use super::{LinearModel, model::scores};
use crate::{
    Array, Ctx, Error, Estimator, Fit, FitLog, Halt, Info, Matrix, Model, Output, Passes, Result, Shape, Source, Task,
    X,
    core::{
        linalg::Eigen,
        param::{above, at_least},
        params, reduce, simd,
        stats::CrossProducts,
    },
    engine::least_squares,
};
use serde::{Deserialize, Serialize};

params! {
    /// Ridge regression whose penalty and noise level maximise the marginal likelihood; predicts with a standard
    /// deviation.
    pub struct BayesianRidge {
        /// Maximum number of iterations.
        max_iter: usize = 300, at_least(1.0);
        /// Stop when the coefficients change by less than this in total.
        tol: f64 = 1e-3, above(0.0);
        /// Shape of the gamma prior on the noise precision.
        alpha_1: f64 = 1e-6, at_least(0.0);
        /// Rate of the gamma prior on the noise precision.
        alpha_2: f64 = 1e-6, at_least(0.0);
        /// Shape of the gamma prior on the precision of the coefficients.
        lambda_1: f64 = 1e-6, at_least(0.0);
        /// Rate of the gamma prior on the precision of the coefficients.
        lambda_2: f64 = 1e-6, at_least(0.0);
        /// Initial noise precision; none is 1 / variance of the target.
        alpha_init: Option<f64> = None, above(0.0);
        /// Initial precision of the coefficients; none is 1.
        lambda_init: Option<f64> = None, above(0.0);
        /// Whether to fit an intercept.
        fit_intercept: bool = true;
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BayesianRidgeModel {
    pub linear: LinearModel,
    /// Precision of the noise.
    pub alpha: f64,
    /// Precision of the coefficients.
    pub lambda: f64,
    /// Covariance of the coefficients.
    pub sigma: Matrix,
    /// What columns are centred by.
    pub mean: Vec<f64>,
}

impl Estimator for BayesianRidge {
    type Model = BayesianRidgeModel;

    const INFO: Info = Info {
        scale: true,
        ..Info::new(
            "linear_model",
            Task::Regression,
            "max_{alpha,lambda} p(y | X, alpha, lambda), then w = argmin alpha ||y - Xw - b||^2 + lambda ||w||^2",
            Passes::One,
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        let (n, p, _) = shape.sizes();
        1e-9 * (least_squares::cost(shape) + 0.6 * p.powi(3) + n * p)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<BayesianRidgeModel>> {
        let p = data.shape().cols;
        let gram = reduce(ctx, data, &CrossProducts { cols: p, targets: 1 })?;
        let n = gram.weight;
        let scatter = if self.fit_intercept { gram.scatter.clone() } else { gram.about_zero() };
        let x = Matrix::from_fn(p, p, |i, j| if j <= i { scatter[(i, j)] } else { scatter[(j, i)] });
        let failed = || Error::Diverged("the eigenvalue decomposition did not converge".into());
        let eigen = Eigen::new(&x).ok_or_else(failed)?;
        let s: Vec<f64> = eigen.values.iter().map(|value| value.max(0.0)).collect();
        let cross: Vec<f64> = (0..p).map(|j| scatter[(p, j)]).collect();
        let along: Vec<f64> = (0..p).map(|k| (0..p).map(|j| eigen.vectors[(j, k)] * cross[j]).sum()).collect();
        let yy = scatter[(p, p)];
        let spread = gram.scatter[(p, p)] / n;
        let mut alpha = self.alpha_init.unwrap_or(1.0 / (spread + f64::EPSILON));
        let mut lambda = self.lambda_init.unwrap_or(1.0);
        // Coefficients along the eigenvectors, and the squared residual that they leave.
        let solve = |ratio: f64| -> (Vec<f64>, f64) {
            let z: Vec<f64> = (0..p).map(|k| along[k] / (s[k] + ratio)).collect();
            let explained: f64 = (0..p).map(|k| z[k] * (2.0 * along[k] - s[k] * z[k])).sum();
            (z, (yy - explained).max(0.0))
        };
        let coefficients = |z: &[f64]| -> Vec<f64> { (0..p).map(|j| simd::dot(eigen.vectors.row(j), z)).collect() };
        let mut halt = Halt::MaxIter;
        let mut objective = Vec::new();
        let mut old: Option<Vec<f64>> = None;
        for _ in 0..self.max_iter {
            ctx.check()?;
            let (z, squares) = solve(lambda / alpha);
            let norm2 = simd::dot(&z, &z);
            objective.push(-self.evidence(n, &s, alpha, lambda, squares, norm2));
            let determined: f64 = s.iter().map(|s| alpha * s / (lambda + alpha * s)).sum();
            lambda = (determined + 2.0 * self.lambda_1) / (norm2 + 2.0 * self.lambda_2);
            alpha = (n - determined + 2.0 * self.alpha_1) / (squares + 2.0 * self.alpha_2);
            // A perfect fit has no noise; precisions stay numbers.
            (alpha, lambda) = (alpha.clamp(1e-300, 1e300), lambda.clamp(1e-300, 1e300));
            let w = coefficients(&z);
            let moved = old.map_or(f64::INFINITY, |old| old.iter().zip(&w).map(|(a, b)| (a - b).abs()).sum());
            old = Some(w);
            if moved < self.tol {
                halt = Halt::Settled;
                break;
            }
        }
        let (z, squares) = solve(lambda / alpha);
        objective.push(-self.evidence(n, &s, alpha, lambda, squares, simd::dot(&z, &z)));
        let w = coefficients(&z);
        let scaled = Matrix::from_fn(p, p, |j, k| eigen.vectors[(j, k)] / (alpha * s[k] + lambda));
        let sigma = scaled.times(&eigen.vectors.transposed());
        let mean = if self.fit_intercept { gram.mean[..p].to_vec() } else { vec![0.0; p] };
        let intercept = if self.fit_intercept { gram.mean[p] - simd::dot(&w, &mean) } else { 0.0 };
        let certificate = FitLog::monotone(&objective);
        let log = FitLog::ended(objective.len() - 1, objective, halt, certificate);
        let linear = LinearModel { coef: Matrix::new(w, 1, p), intercept: vec![intercept] };
        Ok(Fit::new(BayesianRidgeModel { linear, alpha, lambda, sigma, mean }, log))
    }
}

impl BayesianRidge {
    /// Log marginal likelihood, priors included.
    fn evidence(&self, n: f64, s: &[f64], alpha: f64, lambda: f64, squares: f64, norm2: f64) -> f64 {
        let determinant: f64 = s.iter().map(|s| (lambda + alpha * s).ln()).sum();
        let priors =
            self.lambda_1 * lambda.ln() - self.lambda_2 * lambda + self.alpha_1 * alpha.ln() - self.alpha_2 * alpha;
        let p = s.len() as f64;
        priors
            + 0.5
                * (p * lambda.ln() + n * alpha.ln()
                    - alpha * squares
                    - lambda * norm2
                    - determinant
                    - n * (2.0 * std::f64::consts::PI).ln())
    }
}

impl Model for BayesianRidgeModel {
    fn cols(&self) -> usize {
        self.linear.coef.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Value, 1), (Output::Deviation, 1)]
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        if output == Output::Value {
            scores(x, &self.linear.coef, &self.linear.intercept, out);
            return Ok(());
        }
        let mut rows = x.to_matrix();
        for i in 0..x.rows() {
            simd::add_scaled(-1.0, &self.mean, rows.row_mut(i));
        }
        let spread = rows.times(&self.sigma);
        for (i, out) in out.iter_mut().enumerate() {
            *out = (simd::dot(spread.row(i), rows.row(i)).max(0.0) + 1.0 / self.alpha).sqrt();
        }
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let mut attributes = self.linear.attributes();
        attributes.push(("alpha_", self.alpha.into()));
        attributes.push(("lambda_", self.lambda.into()));
        attributes.push(("sigma_", (&self.sigma).into()));
        attributes.push(("X_offset_", (&self.mean).into()));
        attributes
    }

    fn check(&self) -> Result<()> {
        self.linear.check()?;
        let p = self.linear.coef.cols;
        let fits = self.sigma.is_consistent() && self.sigma.rows == p && self.sigma.cols == p && self.mean.len() == p;
        if self.linear.coef.rows != 1 || !fits {
            return Err(Error::shape("stored covariance", format!("{p} x {p}"), self.sigma.values.len()));
        }
        Ok(())
    }
}
