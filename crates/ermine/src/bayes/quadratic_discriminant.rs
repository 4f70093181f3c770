//! Quadratic discriminant analysis: classes are normal with means and covariances of their own,
//! `ln p(c | x) = ln p(c) - ln det S_c / 2 - (x - m_c)' S_c^-1 (x - m_c) / 2 + constant`.
//!
//! One pass for the scatter of each class, then a factorisation of each. `reg_param` r gives `(1 - r) S + r I`;
//! shrinkage pulls towards a multiple of the identity. A direction in which a class does not vary would decide
//! everything: its variance is held at `tol`^2 of the variance within classes, and the log says so. Cost O(n p^2 + k
//! p^3); prediction is one matrix product for each class.

use super::{
    class_count,
    class_scatter::ClassGrams,
    linear_discriminant::{Shrinkage, shrunk_covariances, whitening},
    posterior, priors,
};
use crate::{
    Array, Ctx, Error, Estimator, Fit, FitLog, Info, Matrix, Model, Output, Passes, Result, Shape, Source, Task, X,
    core::{
        param::{at_least, between},
        params, reduce, simd,
    },
};
use serde::{Deserialize, Serialize};

params! {
    /// Classifies by normal densities with a covariance for each class, so boundaries are quadratic.
    pub struct QuadraticDiscriminantAnalysis {
        /// Prior probabilities of the classes; learned from the data unless given.
        priors: Option<Vec<f64>> = None, at_least(0.0);
        /// Regularisation: weight of the identity in each covariance.
        reg_param: f64 = 0.0, between(0.0, 1.0);
        /// Shrinkage of the covariance towards a multiple of the identity.
        shrinkage: Shrinkage = Shrinkage::None;
        /// Smallest standard deviation of a direction within a class, relative to that within all classes.
        tol: f64 = 1e-4, at_least(0.0);
    }
}

impl Estimator for QuadraticDiscriminantAnalysis {
    type Model = QuadraticDiscriminantModel;

    const INFO: Info = Info::new(
        "discriminant_analysis",
        Task::Classification,
        "max_c ln p(c) - ln det S_c / 2 - (x - m_c)' S_c^-1 (x - m_c) / 2",
        Passes::One,
    );

    fn cost(&self, shape: &Shape) -> f64 {
        let (n, p, classes) = shape.sizes();
        1e-9 * (6e4 + 40.0 * n + n * p * (2.0 + (0.1 + 0.05 * classes) * p) + 0.3 * classes * p.powi(3))
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<QuadraticDiscriminantModel>> {
        let (shape, name) = (data.shape(), "QuadraticDiscriminantAnalysis");
        let (classes, cols) = (class_count(name, &shape)?, shape.cols);
        let grams = reduce(ctx, data, &ClassGrams { classes, cols })?;
        if let Some(class) = grams.iter().position(|gram| gram.weight <= 1.0) {
            return Err(Error::Data(format!(
                "{name}: class {class} has {} rows (samples), and a covariance needs more than 1",
                grams[class].weight
            )));
        }
        let (mut covariances, _) = shrunk_covariances(data, ctx, &grams, self.shrinkage)?;
        let weights: Vec<f64> = grams.iter().map(|gram| gram.weight).collect();
        let total: f64 = weights.iter().sum();
        let prior = priors(name, "priors", self.priors.as_ref(), &weights)?;
        for covariance in &mut covariances {
            covariance.values.iter_mut().for_each(|value| *value *= 1.0 - self.reg_param);
            (0..cols).for_each(|j| covariance[(j, j)] += self.reg_param);
        }
        // Columns are measured against their deviation within classes; one that has none keeps its units.
        let scale: Vec<f64> = (0..cols)
            .map(|j| {
                let variance = (0..classes).map(|c| weights[c] / total * covariances[c][(j, j)]).sum::<f64>();
                let far = grams.iter().map(|gram| gram.mean[j].abs()).fold(0.0, f64::max);
                if variance.sqrt() <= f64::EPSILON * total.sqrt() * far || variance == 0.0 {
                    1.0
                } else {
                    variance.sqrt()
                }
            })
            .collect();
        let floor = (self.tol * self.tol).max(f64::EPSILON * cols as f64);
        let mut log = FitLog::exact(Default::default());
        let mut parts = Vec::new();
        for (c, covariance) in covariances.into_iter().enumerate() {
            let failed = || Error::Diverged(format!("{name}: the covariance of class {c} could not be decomposed"));
            let (whiten, log_determinant, flat) = whitening(&covariance, &scale, floor).ok_or_else(failed)?;
            if flat > 0 {
                log.notes.push(format!(
                    "class {c} varies in {} of {cols} directions; the others were given a small variance (reg_param \
                     gives more)",
                    cols - flat
                ));
            }
            let mean = grams[c].mean.clone();
            parts.push(QuadraticPart { mean, covariance, whiten, log_determinant });
        }
        Ok(Fit::new(QuadraticDiscriminantModel { prior, parts }, log))
    }
}

/// One normal density: of a class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuadraticPart {
    pub mean: Vec<f64>,
    pub covariance: Matrix,
    /// W with `S^-1 = W W'`.
    pub whiten: Matrix,
    pub log_determinant: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuadraticDiscriminantModel {
    pub prior: Vec<f64>,
    pub parts: Vec<QuadraticPart>,
}

impl QuadraticDiscriminantModel {
    /// `ln p(a | x) / p(b | x) = x'A x + w.x + c`: a logistic model of squares and products. Returns A, w and c.
    pub fn log_odds(&self, a: usize, b: usize) -> (Matrix, Vec<f64>, f64) {
        let p = self.parts[a].mean.len();
        let (mut quadratic, mut linear, mut constant) = (Matrix::zeros(p, p), vec![0.0; p], 0.0);
        for (class, sign) in [(a, 1.0), (b, -1.0)] {
            let part = &self.parts[class];
            let precision = part.whiten.times(&part.whiten.transposed());
            let pull: Vec<f64> = (0..p).map(|i| simd::dot(precision.row(i), &part.mean)).collect();
            simd::add_scaled(-0.5 * sign, &precision.values, &mut quadratic.values);
            simd::add_scaled(sign, &pull, &mut linear);
            let at_mean = simd::dot(&pull, &part.mean) + part.log_determinant;
            constant += sign * (self.prior[class].ln() - 0.5 * at_mean);
        }
        (quadratic, linear, constant)
    }
}

impl Model for QuadraticDiscriminantModel {
    fn cols(&self) -> usize {
        self.parts[0].mean.len()
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        let k = self.prior.len();
        vec![(Output::Class, 1), (Output::Probability, k), (Output::Decision, if k == 2 { 1 } else { k })]
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        let (k, p) = (self.prior.len(), self.cols());
        let mut joint = vec![0.0; x.rows() * k];
        let mut whitened = vec![0.0; x.rows() * p];
        let mut centred = x.to_matrix();
        for (c, part) in self.parts.iter().enumerate() {
            // Rows about this mean, so that no digits are lost far from zero.
            for i in 0..x.rows() {
                super::class_scatter::difference(&x.row(i), &part.mean, centred.row_mut(i));
            }
            X::dense(&centred.values, p)?.times_matrix(&part.whiten.values, p, &mut whitened);
            let constant = self.prior[c].ln() - 0.5 * part.log_determinant;
            for (i, z) in whitened.chunks_exact(p).enumerate() {
                joint[i * k + c] = constant - 0.5 * simd::dot(z, z);
            }
        }
        match output {
            Output::Decision if k == 2 => {
                joint.chunks_exact(2).zip(out).for_each(|(pair, out)| *out = pair[1] - pair[0]);
            }
            Output::Decision => out.copy_from_slice(&joint),
            output => posterior(&mut joint, k, output, out),
        }
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let p = self.cols();
        let means = Matrix::from_fn(self.parts.len(), p, |c, j| self.parts[c].mean[j]);
        let covariances: Vec<f64> = self.parts.iter().flat_map(|part| part.covariance.values.clone()).collect();
        let covariances = Array { shape: vec![self.parts.len(), p, p], values: crate::Numbers::Float(covariances) };
        vec![("means_", (&means).into()), ("covariance_", covariances), ("priors_", (&self.prior).into())]
    }

    fn check(&self) -> Result<()> {
        let k = self.prior.len();
        let p = self.parts.first().map_or(0, |part| part.mean.len());
        let square = |m: &Matrix| m.is_consistent() && (m.rows, m.cols) == (p, p);
        let part_fits = |part: &QuadraticPart| part.mean.len() == p && square(&part.whiten) && square(&part.covariance);
        let fits = k > 1 && p > 0 && self.parts.len() == k && self.parts.iter().all(part_fits);
        if fits {
            Ok(())
        } else {
            Err(Error::shape("stored covariances", format!("{k} of {p} x {p}"), self.parts.len()))
        }
    }
}
