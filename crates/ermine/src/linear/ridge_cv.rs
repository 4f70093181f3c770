//! Ridge with its strength chosen by cross-validation: leaving out one row at a time in closed form, or fold by fold.
//!
//! With h_i the i-th diagonal of the hat matrix, the prediction of row i by the fit without it misses by r_i / (1 -
//! h_i). One eigendecomposition of the scatter matrix gives residuals and leverages for every strength, by one
//! projection of each row: two passes for any number of strengths. Weights count in the fit and in the error; a row is
//! left out with all of its weight.
//!
//! Folds need one pass: the moments of each fold, merged over the others, give the fits of every strength, and the
//! moments of the fold their errors.
//!
//! Lengths and angles are all that ridge sees of the columns, so where there are more columns than rows, the rows are
//! first written in coordinates of the space that they span.

use super::{LinearModel, model::class_of, net::RowProducts};
use crate::{
    Array, Ctx, Data, Error, Estimator, Fit, Info, Matrix, Model, Output, OwnedData, Passes, Result, Shape, Source,
    Task, X,
    core::{
        Batch, Reduce, TargetKind,
        ctx::{Alone, Progress},
        linalg::Eigen,
        model::Property,
        param::{above, at_least},
        params, reduce, simd,
        stats::{CrossProducts, Gram},
    },
    engine::{
        coordinate::Whole,
        folds::{self, Folds},
        gather::Rows,
        least_squares,
    },
};
use serde::{Deserialize, Serialize};

params! {
    /// Ridge regression with the strength chosen by cross-validation; leave-one-out, the default, has a closed form.
    pub struct RidgeCV {
        /// Regularisation strengths to try.
        alphas: Vec<f64> = vec![0.1, 1.0, 10.0], above(0.0);
        /// Whether to fit an intercept, which is not penalised.
        fit_intercept: bool = true;
        /// Number of cross-validation folds; none for leave-one-out.
        cv: Option<usize> = None, at_least(2.0);
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RidgeCvModel {
    pub linear: LinearModel,
    pub alpha: f64,
    /// Minus the mean squared error on held-out rows.
    pub best_score: f64,
    /// Mean squared error of each strength on held-out rows.
    pub errors: Vec<f64>,
}

impl Estimator for RidgeCV {
    type Model = RidgeCvModel;

    const INFO: Info = Info {
        multi_target: true,
        scale: true,
        exceptions: &[(
            Property::WeightIsRepetition,
            "leaving out a row of weight 2 leaves out what would be two rows",
        )],
        ..Info::new(
            "linear_model",
            Task::Regression,
            "min_{w,b} sum_i (y_i - w.x_i - b)^2 + alpha ||w||^2, alpha by the error on held-out rows",
            Passes::Many,
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        1e-9 * cost(shape, self.alphas.len(), self.cv)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<RidgeCvModel>> {
        let rows = data.shape().rows;
        let runs = match self.cv {
            Some(count) => Some(folds::runs(ctx, rows, count)?),
            None => folds::given(ctx, rows)?,
        };
        let choice = Choice {
            name: "RidgeCV",
            alphas: &self.alphas,
            intercept: self.fit_intercept,
            folds: runs.map(Folds::Runs),
            score: Score::Squares,
        };
        choice.fit(data, ctx)
    }
}

/// What a strength is chosen by.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Score {
    /// Squared errors.
    Squares,
    /// Rows whose class is right, the targets being -1 and 1 for each class; one alone for two.
    Classes,
    /// Rows of which every label is right, the targets being -1 and 1 for each label.
    Labels,
}

/// The search for a strength; without folds each row is left out once.
pub(super) struct Choice<'a> {
    pub name: &'static str,
    pub alphas: &'a [f64],
    pub intercept: bool,
    pub folds: Option<Folds>,
    pub score: Score,
}

/// Predicted cost of a search, in nanoseconds.
pub(super) fn cost(shape: &Shape, alphas: usize, cv: Option<usize>) -> f64 {
    let (n, p, targets) = shape.sizes();
    let (least, alphas) = (n.min(p), alphas as f64);
    // An eigendecomposition, and each row in its directions for every strength; or a small system for each fold and
    // strength.
    let choose = match cv {
        None => 0.5 * least.powi(3) + n * (60.0 + least * (0.15 * least + targets * alphas)),
        Some(folds) => (folds as f64 + 1.0) * alphas * (1e4 + 0.5 * least.powi(3)),
    };
    least_squares::cost(shape) + choose
}

impl Choice<'_> {
    pub fn fit(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<RidgeCvModel>> {
        let shape = data.shape();
        let TargetKind::Real(targets) = shape.target else {
            return Err(Error::Data(format!("{} needs a target of numbers", self.name)));
        };
        if self.alphas.is_empty() {
            return Err(Error::Data(format!("{}: there are no alphas to choose from", self.name)));
        }
        let wide = if shape.cols > shape.rows { Some(Rows::new(data, ctx)?) } else { None };
        let (errors, gram) = match &wide {
            Some(rows) => {
                let coordinates = self.coordinates(rows, ctx)?;
                let rotated = Data::new(X::dense(&coordinates.values, coordinates.cols)?).reals(&rows.y, targets)?;
                let rotated = if shape.weighted { rotated.weights(&rows.weights)? } else { rotated };
                // Every worker has gathered all rows.
                (self.errors(&rotated, targets, &ctx.clone().with_exchange(Alone))?.0, None)
            }
            None => {
                let (errors, gram) = self.errors(data, targets, ctx)?;
                (errors, Some(gram))
            }
        };
        let best = (0..errors.len()).min_by(|&a, &b| errors[a].total_cmp(&errors[b])).unwrap_or(0);
        let alpha = self.alphas[best];
        let fit = match (wide, gram) {
            (Some(rows), _) => least_squares::fit_rows(rows, ctx, alpha, self.intercept)?,
            (None, Some(gram)) => least_squares::fit_gram(data, ctx, &gram, alpha, self.intercept)?,
            (None, None) => least_squares::fit(data, ctx, alpha, self.intercept)?,
        };
        Ok(fit.map(|linear| RidgeCvModel { linear, alpha, best_score: -errors[best], errors }))
    }

    /// What each strength loses on held-out rows, the least being best, and the moments of all rows.
    fn errors(&self, data: &dyn Source, targets: usize, ctx: &Ctx) -> Result<(Vec<f64>, Gram)> {
        if let Some(folds) = &self.folds {
            return self.fold_by_fold(folds, data, targets, ctx);
        }
        let gram = reduce(ctx, data, &CrossProducts { cols: data.shape().cols, targets })?;
        let path = RidgePath::new(&gram, targets, self.intercept)?;
        let level = if self.intercept { 1.0 / gram.weight } else { 0.0 };
        let sums = reduce(ctx, data, &LeaveOneOut { alphas: self.alphas, path: &path, level })?;
        Ok((sums.iter().map(|sum| sum / (gram.weight * targets as f64)).collect(), gram))
    }

    fn fold_by_fold(&self, folds: &Folds, data: &dyn Source, targets: usize, ctx: &Ctx) -> Result<(Vec<f64>, Gram)> {
        let cols = data.shape().cols;
        let mut grams = Vec::new();
        for fold in 0..folds.count() {
            grams.push(reduce(ctx, data, &FoldProducts { cols, targets, folds, fold })?);
            ctx.progress(Progress { what: "fold", step: fold + 1, of: Some(folds.count()), value: None });
        }
        let others = |without: usize| {
            let mut sum = Gram::new(cols + targets);
            (0..folds.count()).filter(|&f| f != without).for_each(|f| sum.merge(grams[f].clone()));
            sum
        };
        // Of each fold and strength the coefficients of the other rows, a row for each target.
        let fits: Vec<Vec<LinearModel>> = ctx.map(folds.count(), |f| {
            let train = others(f);
            if train.weight == 0.0 || grams[f].weight == 0.0 {
                return Err(Error::Data(format!("{}: a fold has no weight to train or to score on", self.name)));
            }
            let path = RidgePath::new(&train, targets, self.intercept)?;
            Ok(self.alphas.iter().map(|&alpha| path.fit(alpha)).collect())
        })?;
        let by_fold: Vec<Vec<f64>> = if self.score == Score::Squares {
            let error = |fold: usize, LinearModel { coef, intercept }: &LinearModel| {
                let of_target = |t: usize| Whole::error(&grams[fold], t, coef.row(t), intercept[t]);
                (0..targets).map(of_target).sum::<f64>() / targets as f64
            };
            ctx.map(folds.count(), |f| Ok(fits[f].iter().map(|fit| error(f, fit)).collect()))?
        } else {
            let right = reduce(ctx, data, &Right { fits: &fits, folds, score: self.score })?;
            let fold = |(f, right): (usize, &[f64])| right.iter().map(|right| -right / grams[f].weight).collect();
            right.chunks_exact(self.alphas.len()).enumerate().map(fold).collect()
        };
        let mean = |a: usize| by_fold.iter().map(|errors| errors[a]).sum::<f64>() / folds.count() as f64;
        Ok(((0..self.alphas.len()).map(mean).collect(), others(folds.count())))
    }

    /// Rows in coordinates of the space that they span (about their mean if there is an intercept): with the
    /// eigenvectors U and eigenvalues L of their inner products these are U L^(1/2).
    fn coordinates(&self, rows: &Rows, ctx: &Ctx) -> Result<Matrix> {
        let mut x = rows.x.clone();
        if self.intercept {
            let mean = rows.mean()?;
            (0..x.rows).for_each(|i| simd::add_scaled(-1.0, &mean, x.row_mut(i)));
        }
        ctx.check()?;
        let eigen = Eigen::new(&least_squares::inner_products(&x, ctx)).ok_or_else(failed)?;
        Ok(Matrix::from_fn(x.rows, x.rows, |i, k| eigen.vectors[(i, k)] * eigen.values[k].max(0.0).sqrt()))
    }
}

/// The fits of all strengths, in the axes of the scatter matrix S = V diag(values) V'.
struct RidgePath {
    /// V, in columns.
    vectors: Matrix,
    values: Vec<f64>,
    /// V' X'y
    along: Matrix,
    /// Of x and y; zero without an intercept.
    mean: Vec<f64>,
}

impl RidgePath {
    fn new(gram: &Gram, targets: usize, intercept: bool) -> Result<Self> {
        let cols = gram.mean.len() - targets;
        let scatter = if intercept { gram.scatter.clone() } else { gram.about_zero() };
        let mean = if intercept { gram.mean.clone() } else { vec![0.0; cols + targets] };
        let x = Matrix::from_fn(cols, cols, |i, j| scatter[(i.max(j), i.min(j))]);
        let eigen = Eigen::new(&x).ok_or_else(failed)?;
        let cross = Matrix::from_fn(cols, targets, |j, t| scatter[(cols + t, j)]);
        let along = eigen.vectors.transposed().times(&cross);
        let values = eigen.values.iter().map(|value| value.max(0.0)).collect();
        Ok(RidgePath { vectors: eigen.vectors, values, along, mean })
    }

    /// The coefficients in the columns.
    fn fit(&self, alpha: f64) -> LinearModel {
        let (cols, targets) = (self.values.len(), self.along.cols);
        let coef = self.vectors.times(&self.slopes(alpha).transposed()).transposed();
        let offset = |t: usize| self.mean[cols + t] - simd::dot(coef.row(t), &self.mean[..cols]);
        LinearModel { intercept: (0..targets).map(offset).collect(), coef }
    }

    /// Coefficients along the axes, a row for each target.
    fn slopes(&self, alpha: f64) -> Matrix {
        Matrix::from_fn(self.along.cols, self.values.len(), |t, k| self.along[(k, t)] / (self.values[k] + alpha))
    }
}

fn failed() -> Error {
    Error::Diverged("the eigenvalue decomposition did not converge".into())
}

/// The moments of one fold.
struct FoldProducts<'a> {
    cols: usize,
    targets: usize,
    folds: &'a Folds,
    fold: usize,
}

impl Reduce for FoldProducts<'_> {
    type Stat = Gram;

    fn zero(&self) -> Gram {
        Gram::new(self.cols + self.targets)
    }

    fn add(&self, stat: &mut Gram, batch: &Batch) -> Result<()> {
        let &FoldProducts { cols, targets, folds, fold } = self;
        if let Folds::Runs(runs) = folds {
            return RowProducts { cols, targets, rows: runs[fold].clone() }.add(stat, batch);
        }
        let rows: Vec<usize> = (0..batch.rows()).filter(|i| folds.of(batch.first + i) == fold).collect();
        if rows.is_empty() {
            return Ok(());
        }
        batch.x.check_finite(batch.first)?;
        let (mine, y) = (OwnedData::of_rows(batch, &rows)?, batch.y.real());
        stat.add(&mine.x.x(), mine.weights.as_deref(), |i| &y[rows[i] * targets..(rows[i] + 1) * targets]);
        Ok(())
    }

    fn close(&self, stat: &mut Gram) {
        stat.close();
    }

    fn merge(&self, left: &mut Gram, right: Gram) {
        left.merge(right);
    }
}

/// For each fold and strength the weight of the held-out rows that the others predict rightly.
struct Right<'a> {
    fits: &'a [Vec<LinearModel>],
    folds: &'a Folds,
    score: Score,
}

impl Reduce for Right<'_> {
    type Stat = Vec<f64>;

    fn zero(&self) -> Vec<f64> {
        vec![0.0; self.fits.iter().map(Vec::len).sum()]
    }

    fn add(&self, stat: &mut Vec<f64>, batch: &Batch) -> Result<()> {
        let targets = self.fits[0][0].coef.rows;
        let mut scores = vec![0.0; targets];
        for (i, y) in batch.y.real().chunks_exact(targets).enumerate() {
            let (row, fold) = (batch.x.row(i), self.folds.of(batch.first + i));
            for (a, fit) in self.fits[fold].iter().enumerate() {
                for (t, score) in scores.iter_mut().enumerate() {
                    *score = row.dot(fit.coef.row(t)) + fit.intercept[t];
                }
                let right = match self.score {
                    Score::Classes => class_of(&scores) == class_of(y),
                    _ => scores.iter().zip(y).all(|(score, y)| (*score > 0.0) == (*y > 0.0)),
                };
                stat[fold * self.fits[fold].len() + a] += if right { batch.weight(i) } else { 0.0 };
            }
        }
        Ok(())
    }

    fn merge(&self, left: &mut Vec<f64>, right: Vec<f64>) {
        simd::add_scaled(1.0, &right, left);
    }
}

/// 1 - h, kept away from the zero that a row which decides its own fit has.
fn free(leverage: f64) -> f64 {
    (1.0 - leverage).max(1e-12)
}

/// Squared leave-one-out errors for each strength.
struct LeaveOneOut<'a> {
    alphas: &'a [f64],
    path: &'a RidgePath,
    /// What the intercept adds to the leverage of a row of weight one.
    level: f64,
}

impl Reduce for LeaveOneOut<'_> {
    type Stat = Vec<f64>;

    fn zero(&self) -> Vec<f64> {
        vec![0.0; self.alphas.len()]
    }

    fn add(&self, stat: &mut Vec<f64>, batch: &Batch) -> Result<()> {
        let RidgePath { vectors, values, along, mean } = self.path;
        let (p, targets) = (values.len(), along.cols);
        let mut rows = batch.x.to_matrix();
        for i in 0..batch.rows() {
            simd::add_scaled(-1.0, &mean[..p], rows.row_mut(i));
        }
        let z = rows.times(vectors);
        let y = batch.y.real();
        for (a, &alpha) in self.alphas.iter().enumerate() {
            let inverse: Vec<f64> = values.iter().map(|value| 1.0 / (value + alpha)).collect();
            let slopes = self.path.slopes(alpha);
            for i in 0..batch.rows() {
                let (z, weight) = (z.row(i), batch.weight(i));
                let spread: f64 = z.iter().zip(&inverse).map(|(z, inverse)| z * z * inverse).sum();
                let leverage = weight * (self.level + spread);
                for t in 0..targets {
                    let residual = y[i * targets + t] - mean[p + t] - simd::dot(z, slopes.row(t));
                    stat[a] += weight * (residual / free(leverage)).powi(2);
                }
            }
        }
        Ok(())
    }

    fn merge(&self, left: &mut Vec<f64>, right: Vec<f64>) {
        simd::add_scaled(1.0, &right, left);
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
