//! Ridge with its strength chosen by leave-one-out cross-validation in closed form.
//!
//! With h_i the i-th diagonal of the hat matrix, the prediction of row i by the fit without it misses by r_i / (1 - h_i). One
//! eigendecomposition of the scatter matrix (of the inner products of rows when there are more columns than rows) gives residuals and
//! leverages for every strength, by one projection of each row: two passes for any number of strengths. Weights count in the fit
//! and in the error; a row is left out with all of its weight.

use super::LinearModel;
use crate::{
    Array, Ctx, Error, Estimator, Fit, Info, Matrix, Model, Output, Passes, Result, Source, Task, X,
    core::{
        Batch, Reduce, Target, TargetKind, kernel,
        linalg::{self, Eigen},
        model::Property,
        param::above,
        params, reduce,
        stats::{CrossProducts, Gram},
    },
    engine::least_squares,
};
use serde::{Deserialize, Serialize};

params! {
    /// Ridge whose strength is the one with the least leave-one-out error, which has a closed form.
    pub struct RidgeCV {
        /// Strengths to try.
        alphas: Vec<f64> = vec![0.1, 1.0, 10.0], above(0.0);
        /// Whether to fit an intercept, which is not penalised.
        fit_intercept: bool = true;
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RidgeCvModel {
    pub linear: LinearModel,
    pub alpha: f64,
    /// Minus the mean squared leave-one-out error.
    pub best_score: f64,
    /// Mean squared leave-one-out error of each strength.
    pub errors: Vec<f64>,
}

impl Estimator for RidgeCV {
    type Model = RidgeCvModel;

    const INFO: Info = Info {
        multi_target: true,
        scale: true,
        exceptions: &[(
            Property::WeightIsRepetition,
            "leaving out a row of weight two leaves out both of what would be two rows",
        )],
        ..Info::new(
            "linear_model",
            Task::Regression,
            "min_{w,b} sum_i (y_i - w.x_i - b)^2 + alpha ||w||^2, alpha by leave-one-out error",
            Passes::Many,
        )
    };

    fn fit(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<RidgeCvModel>> {
        let shape = data.shape();
        let TargetKind::Real(targets) = shape.target else {
            return Err(Error::Data("RidgeCV needs a target of numbers".into()));
        };
        if self.alphas.is_empty() {
            return Err(Error::Data("RidgeCV: there is no strength to choose from".into()));
        }
        let wide = data.memory().filter(|_| shape.cols > shape.rows && data.held().len() == shape.rows);
        let (errors, gram) = match wide {
            Some(batch) => (self.wide(&batch, targets, ctx)?, None),
            None => {
                let gram = reduce(ctx, data, &CrossProducts { cols: shape.cols, targets })?;
                (self.tall(data, &gram, shape.cols, targets, ctx)?, Some(gram))
            }
        };
        let best = (0..errors.len()).min_by(|&a, &b| errors[a].total_cmp(&errors[b])).unwrap_or(0);
        let alpha = self.alphas[best];
        let Fit { model: linear, log, rows } = match gram {
            Some(gram) => least_squares::fit_gram(data, ctx, &gram, alpha, self.fit_intercept)?,
            None => least_squares::fit(data, ctx, alpha, self.fit_intercept)?,
        };
        Ok(Fit { model: RidgeCvModel { linear, alpha, best_score: -errors[best], errors }, log, rows })
    }
}

impl RidgeCV {
    fn tall(&self, data: &dyn Source, gram: &Gram, cols: usize, targets: usize, ctx: &Ctx) -> Result<Vec<f64>> {
        let scatter = if self.fit_intercept { gram.scatter.clone() } else { gram.about_zero() };
        let mean = if self.fit_intercept { gram.mean.clone() } else { vec![0.0; cols + targets] };
        let x = Matrix::from_fn(cols, cols, |i, j| if j <= i { scatter[(i, j)] } else { scatter[(j, i)] });
        let eigen = Eigen::new(&x).ok_or_else(failed)?;
        let cross = Matrix::from_fn(cols, targets, |j, t| scatter[(cols + t, j)]);
        let along = eigen.vectors.transposed().times(&cross);
        let values: Vec<f64> = eigen.values.iter().map(|value| value.max(0.0)).collect();
        let errors = LeaveOneOut {
            alphas: &self.alphas,
            vectors: &eigen.vectors,
            values: &values,
            along: &along,
            mean: &mean,
            level: if self.fit_intercept { 1.0 / gram.weight } else { 0.0 },
        };
        let sums = reduce(ctx, data, &errors)?;
        Ok(sums.iter().map(|sum| sum / (gram.weight * targets as f64)).collect())
    }

    /// More columns than rows: eigenvectors of the inner products of the centred rows.
    fn wide(&self, batch: &Batch, targets: usize, ctx: &Ctx) -> Result<Vec<f64>> {
        batch.x.check_finite(batch.first)?;
        let Target::Real { values: y, .. } = batch.y else {
            return Err(Error::Data("RidgeCV needs a target of numbers".into()));
        };
        let (n, p) = (batch.rows(), batch.x.cols());
        let weights: Vec<f64> = (0..n).map(|i| batch.weight(i)).collect();
        let total: f64 = weights.iter().sum();
        let (mut x_mean, mut y_mean) = (vec![0.0; p], vec![0.0; targets]);
        if self.fit_intercept {
            batch.x.add_transposed_vector(&weights, &mut x_mean);
            X::dense(y, targets)?.add_transposed_vector(&weights, &mut y_mean);
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
        let eigen = Eigen::new(&inner).ok_or_else(failed)?;
        let centred = Matrix::from_fn(n, targets, |i, t| weights[i].sqrt() * (y[i * targets + t] - y_mean[t]));
        let along = eigen.vectors.transposed().times(&centred);
        let level = if self.fit_intercept { 1.0 / total } else { 0.0 };
        let error = |alpha: f64| {
            let mut sum = 0.0;
            for i in 0..n {
                let row = eigen.vectors.row(i);
                let share = |k: usize| eigen.values[k].max(0.0) / (eigen.values[k].max(0.0) + alpha);
                let leverage: f64 = level * weights[i] + (0..n).map(|k| row[k] * row[k] * share(k)).sum::<f64>();
                for t in 0..targets {
                    let fitted: f64 = (0..n).map(|k| row[k] * share(k) * along[(k, t)]).sum();
                    sum += ((centred[(i, t)] - fitted) / free(leverage)).powi(2);
                }
            }
            sum / (total * targets as f64)
        };
        Ok(self.alphas.iter().map(|&alpha| error(alpha)).collect())
    }
}

fn failed() -> Error {
    Error::Diverged("the eigenvalue decomposition did not converge".into())
}

/// 1 - h, kept away from the zero that a row which decides its own fit has.
fn free(leverage: f64) -> f64 {
    (1.0 - leverage).max(1e-12)
}

/// Squared leave-one-out errors for each strength.
struct LeaveOneOut<'a> {
    alphas: &'a [f64],
    /// Eigenvectors of the scatter matrix, in columns.
    vectors: &'a Matrix,
    values: &'a [f64],
    /// V' X'y
    along: &'a Matrix,
    mean: &'a [f64],
    /// What the intercept adds to the leverage of a row of weight one.
    level: f64,
}

impl Reduce for LeaveOneOut<'_> {
    type Stat = Vec<f64>;

    fn zero(&self) -> Vec<f64> {
        vec![0.0; self.alphas.len()]
    }

    fn add(&self, stat: &mut Vec<f64>, batch: &Batch) -> Result<()> {
        let (p, targets) = (self.values.len(), self.along.cols);
        let mut rows = batch.x.to_matrix();
        for i in 0..batch.rows() {
            kernel::add_scaled(-1.0, &self.mean[..p], rows.row_mut(i));
        }
        let z = rows.times(self.vectors);
        let y = batch.y.real();
        for (a, &alpha) in self.alphas.iter().enumerate() {
            let inverse: Vec<f64> = self.values.iter().map(|value| 1.0 / (value + alpha)).collect();
            let slopes = Matrix::from_fn(targets, p, |t, k| self.along[(k, t)] * inverse[k]);
            for i in 0..batch.rows() {
                let (z, weight) = (z.row(i), batch.weight(i));
                let spread: f64 = z.iter().zip(&inverse).map(|(z, inverse)| z * z * inverse).sum();
                let leverage = weight * (self.level + spread);
                for t in 0..targets {
                    let residual = y[i * targets + t] - self.mean[p + t] - kernel::dot(z, slopes.row(t));
                    stat[a] += weight * (residual / free(leverage)).powi(2);
                }
            }
        }
        Ok(())
    }

    fn merge(&self, left: &mut Vec<f64>, right: Vec<f64>) {
        kernel::add_scaled(1.0, &right, left);
    }
}

impl Model for RidgeCvModel {
    fn cols(&self) -> usize {
        self.linear.cols()
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        self.linear.outputs()
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        self.linear.predict(x, output, out)
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let mut attributes = self.linear.attributes();
        attributes.push(("alpha_", self.alpha.into()));
        attributes.push(("best_score_", self.best_score.into()));
        attributes
    }

    fn check(&self) -> Result<()> {
        self.linear.check()
    }
}
