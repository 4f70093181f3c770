//! Gaussian naive Bayes: `p(x | c) = prod_j N(x_j; mean_cj, var_cj + epsilon)`.
//!
//! One pass of class means and variances, each kept about its own mean so that an offset of the data costs no digits;
//! epsilon is `var_smoothing` times the largest variance of a column over all rows, which keeps a column that is
//! constant within a class from deciding everything.

use super::{class_count, posterior, priors, same_classes};
use crate::{
    Array, Ctx, Error, Estimator, Fit, FitLog, Info, Matrix, Model, Output, Passes, Result, Shape, Source, Task, X,
    core::{
        Batch, Reduce,
        data::Row,
        param::{at_least, log},
        params, reduce, simd,
        stats::Moments,
    },
};
use serde::{Deserialize, Serialize};

params! {
    /// Naive Bayes for real-valued columns: each column is normally distributed within each class.
    pub struct GaussianNB {
        /// Prior probabilities of the classes; learned from the data unless given.
        priors: Option<Vec<f64>> = None, at_least(0.0);
        /// Fraction of the largest variance that is added to all variances for stability.
        var_smoothing: f64 = 1e-9, at_least(0.0), log(1e-12, 1.0);
    }
}

impl Estimator for GaussianNB {
    type Model = GaussianNBModel;

    const INFO: Info = Info {
        resume: true,
        ..Info::new(
            "naive_bayes",
            Task::Classification,
            "max_c ln p(c) + sum_j ln N(x_j; mean_cj, var_cj)",
            Passes::One,
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        let (n, p, classes) = shape.sizes();
        1e-9 * (8e4 + 10.0 * n + n * p * (1.5 + 0.3 * classes))
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<GaussianNBModel>> {
        let shape = data.shape();
        let classes = class_count("GaussianNB", &shape)?;
        self.finish(reduce(ctx, data, &ClassMoments { classes, cols: shape.cols })?)
    }

    fn learn_more(&self, model: &GaussianNBModel, data: &dyn Source, ctx: &Ctx) -> Result<Fit<GaussianNBModel>> {
        let shape = data.shape();
        same_classes("GaussianNB", model.moments.len(), &shape)?;
        let sum = ClassMoments { classes: model.moments.len(), cols: shape.cols };
        let mut moments = model.moments.clone();
        sum.merge(&mut moments, reduce(ctx, data, &sum)?);
        self.finish(moments)
    }
}

impl GaussianNB {
    fn finish(&self, moments: Vec<Moments>) -> Result<Fit<GaussianNBModel>> {
        let cols = moments[0].mean.len();
        let weights: Vec<f64> = moments.iter().map(|class| class.weight).collect();
        let prior = priors("GaussianNB", "priors", self.priors.as_ref(), &weights)?;
        let mut all = Moments::new(cols);
        moments.iter().for_each(|class| all.merge(class.clone()));
        let largest = (0..cols).map(|j| all.variance(j)).fold(0.0, f64::max);
        // Columns that are all constant still need a variance.
        let epsilon = self.var_smoothing * if largest > 0.0 { largest } else { 1.0 };
        let variance = Matrix::from_fn(moments.len(), cols, |c, j| {
            epsilon + if weights[c] > 0.0 { moments[c].variance(j) } else { 0.0 }
        });
        if let Some(at) = variance.values.iter().position(|&v| v <= 0.0) {
            let problem = format!("it is constant in class {}, so that its density is not defined", at / cols);
            return Err(Error::value(None, at % cols, problem).hint("set var_smoothing above 0"));
        }
        let model = GaussianNBModel { prior, epsilon, variance, moments };
        Ok(Fit::new(model, FitLog::exact(Default::default())))
    }
}

/// The sum that gives the moments of each class.
struct ClassMoments {
    classes: usize,
    cols: usize,
}

impl Reduce for ClassMoments {
    type Stat = Vec<Moments>;

    fn zero(&self) -> Vec<Moments> {
        vec![Moments::new(self.cols); self.classes]
    }

    /// Twice over a block that is in the cache: class means, then scatter about them.
    fn add(&self, stat: &mut Vec<Moments>, batch: &Batch) -> Result<()> {
        batch.x.check_finite(batch.first)?;
        let codes = batch.y.codes();
        let mut block = self.zero();
        simd::vectorised(
            #[inline(always)]
            || {
                for (i, &class) in codes.iter().enumerate() {
                    let (class, weight) = (&mut block[class as usize], batch.weight(i));
                    class.weight += weight;
                    match batch.x.row(i) {
                        Row::Dense(row) => class.mean.iter_mut().zip(row).for_each(|(mean, x)| *mean += weight * x),
                        row => row.for_each(|j, x| class.mean[j] += weight * x),
                    }
                }
                for class in block.iter_mut().filter(|class| class.weight > 0.0) {
                    class.mean.iter_mut().for_each(|mean| *mean /= class.weight);
                }
            },
        );
        match batch.x {
            X::Dense(_) => simd::vectorised(
                #[inline(always)]
                || {
                    for (i, &class) in codes.iter().enumerate() {
                        let (class, weight) = (&mut block[class as usize], batch.weight(i));
                        if let Row::Dense(row) = batch.x.row(i) {
                            for ((scatter, mean), x) in class.scatter.iter_mut().zip(&class.mean).zip(row) {
                                *scatter += weight * (x - mean) * (x - mean);
                            }
                        }
                    }
                },
            ),
            X::Sparse(_) => {
                // Stored values now, the zeros of every column in one go.
                let mut stored = Matrix::zeros(self.classes, self.cols);
                for (i, &class) in codes.iter().enumerate() {
                    let (class, weight) = (class as usize, batch.weight(i));
                    batch.x.row(i).for_each(|j, x| {
                        stored[(class, j)] += weight;
                        block[class].scatter[j] += weight * (x - block[class].mean[j]).powi(2);
                    });
                }
                for (c, class) in block.iter_mut().enumerate() {
                    for j in 0..self.cols {
                        class.scatter[j] += (class.weight - stored[(c, j)]).max(0.0) * class.mean[j] * class.mean[j];
                    }
                }
            }
        }
        self.merge(stat, block);
        Ok(())
    }

    fn merge(&self, left: &mut Vec<Moments>, right: Vec<Moments>) {
        left.iter_mut().zip(right).for_each(|(left, right)| left.merge(right));
    }
}

/// Means and variances of each class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GaussianNBModel {
    pub prior: Vec<f64>,
    /// What was added to every variance.
    pub epsilon: f64,
    /// One row for each class.
    pub variance: Matrix,
    /// What was summed, from which a later fit goes on; without epsilon.
    pub moments: Vec<Moments>,
}

impl Model for GaussianNBModel {
    fn cols(&self) -> usize {
        self.variance.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Class, 1), (Output::Probability, self.prior.len())]
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        let k = self.prior.len();
        let mut joint = vec![0.0; x.rows() * k];
        for (c, class) in self.moments.iter().enumerate() {
            let variance = self.variance.row(c);
            let inverse: Vec<f64> = variance.iter().map(|v| 1.0 / v).collect();
            let log_scale: f64 = variance.iter().map(|v| (std::f64::consts::TAU * v).ln()).sum();
            let constant = self.prior[c].ln() - 0.5 * log_scale;
            // What a row of zeros has, to which the stored values of a sparse row are differences.
            let at_zero: f64 = class.mean.iter().zip(&inverse).map(|(mean, inverse)| mean * mean * inverse).sum();
            simd::vectorised(
                #[inline(always)]
                || {
                    for (i, row) in x.iter().enumerate() {
                        let distance = match row {
                            Row::Dense(row) => scaled_distance2(row, &class.mean, &inverse),
                            row => {
                                let mut sum = at_zero;
                                row.for_each(|j, x| sum += x * (x - 2.0 * class.mean[j]) * inverse[j]);
                                sum
                            }
                        };
                        joint[i * k + c] = constant - 0.5 * distance;
                    }
                },
            );
        }
        posterior(&mut joint, k, output, out);
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let means = Matrix::from_fn(self.variance.rows, self.variance.cols, |c, j| self.moments[c].mean[j]);
        let counts: Vec<f64> = self.moments.iter().map(|class| class.weight).collect();
        vec![
            ("theta_", (&means).into()),
            ("var_", (&self.variance).into()),
            ("class_prior_", (&self.prior).into()),
            ("class_count_", (&counts).into()),
            ("epsilon_", self.epsilon.into()),
        ]
    }

    fn check(&self) -> Result<()> {
        let (k, p) = (self.variance.rows, self.variance.cols);
        let class_fits = |class: &Moments| class.mean.len() == p && class.scatter.len() == p;
        let fits = self.variance.is_consistent()
            && k > 0
            && p > 0
            && self.prior.len() == k
            && self.moments.len() == k
            && self.moments.iter().all(class_fits);
        if fits {
            Ok(())
        } else {
            Err(Error::shape("stored variances", format!("{k} x {p}"), self.variance.values.len()))
        }
    }
}

/// `sum_j (x_j - m_j)^2 s_j` in four chains.
#[inline(always)]
fn scaled_distance2(x: &[f64], mean: &[f64], scale: &[f64]) -> f64 {
    let n = x.len().min(mean.len()).min(scale.len());
    let (x, mean, scale) = (&x[..n], &mean[..n], &scale[..n]);
    let mut sums = [0.0; 8];
    let whole = n - n % 8;
    for start in (0..whole).step_by(8) {
        for lane in 0..8 {
            let d = x[start + lane] - mean[start + lane];
            sums[lane] += d * d * scale[start + lane];
        }
    }
    for j in whole..n {
        sums[j - whole] += (x[j] - mean[j]) * (x[j] - mean[j]) * scale[j];
    }
    ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]))
}
