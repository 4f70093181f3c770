//! Linear discriminant analysis (Fisher 1936; Rao 1948): classes are normal with means of their own and one covariance
//! S, `ln p(c | x) = ln p(c) + x' S^-1 m_c - m_c' S^-1 m_c / 2 + constant`: a linear model whose coefficients have a
//! closed form.
//!
//! Method. One pass for class means and the pooled scatter. Columns are brought to unit variance within classes, the
//! scatter is whitened by its eigenvectors (directions without variance, as of constant or repeated columns, are left
//! out), and the class means are decomposed in that space: the same directions serve as the supervised projection
//! (`transform`). With `shrinkage`, the covariance of each class is pulled towards a multiple of the identity, by a
//! fixed share or by the one that Ledoit and Wolf (2004, on standardised columns; needs a second pass) or OAS (Chen et
//! al. 2010) find, and the class covariances are averaged. Cost O(n p^2 + p^3). The covariance divides by n - classes
//! without shrinkage, and by n with it.

use super::{
    class_count,
    class_scatter::{ClassGrams, FourthMoments, PoolScatter},
    posterior, priors,
};
use crate::{
    Array, Ctx, Error, Estimator, Fit, FitLog, Info, Matrix, Model, Output, Passes, Result, Shape, Source, Task, X,
    core::{
        choice,
        linalg::{Cholesky, Eigen, Svd},
        param::{at_least, between},
        params, reduce, simd,
        stats::Gram,
    },
};
use serde::{Deserialize, Serialize};

choice! {
    /// Shrinkage of the covariance towards a multiple of the identity.
    pub enum Shrinkage: f64 where between(0.0, 1.0) => {
        /// No shrinkage.
        None = "none",
        /// Ledoit and Wolf's formula.
        Auto = "auto",
        /// The oracle approximating formula.
        Oas = "oas",
    }
}

params! {
    /// Classifies by normal densities with one common covariance, so boundaries are linear; also projects onto the
    /// directions that separate the classes best.
    pub struct LinearDiscriminantAnalysis {
        /// Shrinkage of the covariance towards a multiple of the identity.
        shrinkage: Shrinkage = Shrinkage::None;
        /// Prior probabilities of the classes; learned from the data unless given.
        priors: Option<Vec<f64>> = None, at_least(0.0);
        /// Number of directions to project onto; at most and by default the number of classes minus 1.
        n_components: Option<usize> = None, at_least(1.0);
        /// Directions whose within-class standard deviation is below this, in standardised columns, are dropped.
        tol: f64 = 1e-4, at_least(0.0);
    }
}

impl Estimator for LinearDiscriminantAnalysis {
    type Model = LinearDiscriminantModel;

    const INFO: Info = Info::new(
        "discriminant_analysis",
        Task::Classification,
        "max_c ln p(c) + x' S^-1 m_c - m_c' S^-1 m_c / 2",
        Passes::One,
    );

    fn cost(&self, shape: &Shape) -> f64 {
        let (n, p, classes) = shape.sizes();
        1e-9 * (6e4 + 20.0 * n + n * p * (2.0 + 0.1 * p + 0.3 * classes) + 0.5 * p.powi(3))
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<LinearDiscriminantModel>> {
        let (shape, name) = (data.shape(), "LinearDiscriminantAnalysis");
        let (classes, cols) = (class_count(name, &shape)?, shape.cols);
        let within = if self.shrinkage == Shrinkage::None {
            let pooled = reduce(ctx, data, &PoolScatter { classes, cols })?;
            let total = pooled.weight.iter().sum::<f64>();
            if total <= classes as f64 {
                let rows = shape.rows;
                return Err(Error::Data(format!(
                    "{name}: the number of samples ({rows}) must be more than the number of classes ({classes})"
                )));
            }
            let mut covariance = pooled.scatter;
            covariance.values.iter_mut().for_each(|value| *value /= total);
            Within { weight: pooled.weight, mean: pooled.mean, covariance, shrunk: Vec::new() }
        } else {
            self.shrunk(data, ctx, classes, cols)?
        };
        let prior = priors(name, "priors", self.priors.as_ref(), &within.weight)?;
        let most = (classes - 1).min(cols);
        let components = self.n_components.unwrap_or(most);
        if components > most {
            return Err(Error::Parameter {
                model: name.into(),
                name: "n_components".into(),
                value: components.to_string(),
                allowed: format!("at most {most} (the smaller of the columns and the classes less one)"),
            });
        }
        self.finish(within, prior, components)
    }
}

/// What the rows say: class weights, class means, one covariance (lower triangle).
struct Within {
    weight: Vec<f64>,
    mean: Matrix,
    covariance: Matrix,
    /// The share by which each class was shrunk.
    shrunk: Vec<f64>,
}

impl LinearDiscriminantAnalysis {
    fn shrunk(&self, data: &dyn Source, ctx: &Ctx, classes: usize, cols: usize) -> Result<Within> {
        let grams = reduce(ctx, data, &ClassGrams { classes, cols })?;
        let (covariances, shrunk) = shrunk_covariances(data, ctx, &grams, self.shrinkage)?;
        let weight: Vec<f64> = grams.iter().map(|gram| gram.weight).collect();
        let prior = priors("LinearDiscriminantAnalysis", "priors", self.priors.as_ref(), &weight)?;
        let mut covariance = Matrix::zeros(cols, cols);
        for (c, class) in covariances.iter().enumerate() {
            simd::add_scaled(prior[c], &class.values, &mut covariance.values);
        }
        let mean = Matrix::from_fn(classes, cols, |c, j| grams[c].mean[j]);
        Ok(Within { weight, mean, covariance, shrunk })
    }

    fn finish(&self, within: Within, prior: Vec<f64>, components: usize) -> Result<Fit<LinearDiscriminantModel>> {
        let Within { weight, mean, mut covariance, shrunk } = within;
        let (k, p) = (mean.rows, mean.cols);
        covariance.mirror();
        // A column that is constant within classes up to rounding has no scale of its own.
        let rounding = |j: usize| {
            (0..k).map(|c| mean[(c, j)].abs()).fold(0.0, f64::max) * f64::EPSILON * weight.iter().sum::<f64>().sqrt()
        };
        let scale: Vec<f64> = (0..p)
            .map(|j| if covariance[(j, j)].sqrt() <= rounding(j) { 1.0 } else { covariance[(j, j)].sqrt() })
            .collect();
        let scaled = Matrix::from_fn(p, p, |i, j| covariance[(i, j)] / (scale[i] * scale[j]));
        let failed = || Error::Diverged("the eigenvalue decomposition of the covariance did not converge".into());
        let eigen = Eigen::new(&scaled).ok_or_else(failed)?;
        let limit = (self.tol * self.tol).max(f64::EPSILON * p as f64);
        let kept: Vec<usize> = (0..p).rev().filter(|&i| eigen.values[i] > limit).collect();
        if kept.is_empty() {
            return Err(Error::Data("LinearDiscriminantAnalysis: no column varies within the classes".into()));
        }
        let whiten = Matrix::from_fn(p, kept.len(), |j, a| {
            eigen.vectors[(j, kept[a])] / (scale[j] * eigen.values[kept[a]].sqrt())
        });
        let centre: Vec<f64> = (0..p).map(|j| (0..k).map(|c| prior[c] * mean[(c, j)]).sum()).collect();
        let total: f64 = weight.iter().sum();
        let spread = Matrix::from_fn(k, p, |c, j| mean[(c, j)] - centre[j]);
        let whitened = spread.times(&whiten);
        let between = Matrix::from_fn(k, kept.len(), |c, a| {
            (total * prior[c] / (k as f64 - 1.0).max(1.0)).sqrt() * whitened[(c, a)]
        });
        let svd = Svd::new(&between).ok_or_else(failed)?;
        let first = svd.s.first().copied().unwrap_or(0.0);
        let rank = svd.s.iter().filter(|&&s| s > self.tol * first).count();
        let variance: f64 = svd.s.iter().map(|s| s * s).sum();
        let mut scalings = Matrix::zeros(p, rank);
        for a in 0..rank {
            let mut direction: Vec<f64> =
                (0..p).map(|j| (0..kept.len()).map(|b| whiten[(j, b)] * svd.v[(b, a)]).sum()).collect();
            // The sign is free: the largest entry is positive.
            let largest = direction.iter().copied().fold(0.0, |a: f64, b| if b.abs() > a.abs() { b } else { a });
            direction.iter_mut().for_each(|value| *value *= 1.0f64.copysign(largest));
            (0..p).for_each(|j| scalings[(j, a)] = direction[j]);
        }
        let projected = spread.times(&scalings);
        let mut coef = projected.times(&scalings.transposed());
        let mut intercept: Vec<f64> = (0..k)
            .map(|c| {
                prior[c].ln() - 0.5 * simd::dot(projected.row(c), projected.row(c)) - simd::dot(coef.row(c), &centre)
            })
            .collect();
        if k == 2 {
            let difference = (0..p).map(|j| coef[(1, j)] - coef[(0, j)]).collect();
            coef = Matrix::new(difference, 1, p);
            intercept = vec![intercept[1] - intercept[0]];
        }
        let explained =
            svd.s.iter().take(components).map(|s| if variance > 0.0 { s * s / variance } else { 0.0 }).collect();
        let mut log = FitLog::exact(Default::default());
        if kept.len() < p {
            log.notes
                .push(format!("{} of {p} directions vary within the classes; the others were left out", kept.len()));
        }
        let components = components.min(rank);
        let model = LinearDiscriminantModel {
            prior,
            mean,
            covariance,
            centre,
            scalings,
            components,
            explained,
            coef,
            intercept,
            shrunk,
        };
        Ok(Fit::new(model, log))
    }
}

/// The covariance of each class (divided by its weight, mirrored), shrunk, with the shares by which they were.
pub(super) fn shrunk_covariances(
    data: &dyn Source,
    ctx: &Ctx,
    grams: &[Gram],
    shrinkage: Shrinkage,
) -> Result<(Vec<Matrix>, Vec<f64>)> {
    let p = grams[0].mean.len();
    let covariance = |gram: &Gram| {
        let mut matrix = gram.scatter.clone();
        matrix.values.iter_mut().for_each(|value| *value /= gram.weight.max(f64::MIN_POSITIVE));
        matrix.mirror();
        matrix
    };
    let mut covariances: Vec<Matrix> = grams.iter().map(covariance).collect();
    let ones = vec![1.0; p];
    let scale: Vec<Vec<f64>> = match shrinkage {
        Shrinkage::Auto => covariances
            .iter()
            .map(|s| (0..p).map(|j| if s[(j, j)] > 0.0 { s[(j, j)].sqrt() } else { 1.0 }).collect())
            .collect(),
        _ => vec![ones; grams.len()],
    };
    let fourth = match shrinkage {
        Shrinkage::Auto => {
            let mean: Vec<Vec<f64>> = grams.iter().map(|gram| gram.mean.clone()).collect();
            reduce(ctx, data, &FourthMoments { mean: &mean, scale: &scale })?
        }
        _ => vec![0.0; grams.len()],
    };
    let mut shares = Vec::new();
    for (c, covariance) in covariances.iter_mut().enumerate() {
        let (n, scale) = (grams[c].weight, &scale[c]);
        for i in 0..p {
            for j in 0..p {
                covariance[(i, j)] /= scale[i] * scale[j];
            }
        }
        let trace: f64 = (0..p).map(|j| covariance[(j, j)]).sum();
        let (mu, squares) = (trace / p as f64, covariance.values.iter().map(|v| v * v).sum::<f64>());
        let share = match shrinkage {
            Shrinkage::None => 0.0,
            Shrinkage::Number(share) => share,
            _ if n == 0.0 => 0.0,
            Shrinkage::Auto => {
                // Ledoit and Wolf (2004): the error of the covariance over its distance from the target.
                let distance = (squares - p as f64 * mu * mu) / p as f64;
                let error = ((fourth[c] / n - squares) / (p as f64 * n)).min(distance);
                if error > 0.0 && distance > 0.0 { error / distance } else { 0.0 }
            }
            Shrinkage::Oas => {
                let mean_square = squares / (p * p) as f64;
                let below = (n + 1.0) * (mean_square - mu * mu / p as f64);
                if below == 0.0 { 1.0 } else { ((mean_square + mu * mu) / below).min(1.0) }
            }
        };
        for i in 0..p {
            for j in 0..p {
                let target = if i == j { mu } else { 0.0 };
                covariance[(i, j)] = ((1.0 - share) * covariance[(i, j)] + share * target) * scale[i] * scale[j];
            }
        }
        shares.push(share);
    }
    Ok((covariances, shares))
}

/// Class means, one covariance, and the linear scores that follow from them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinearDiscriminantModel {
    pub prior: Vec<f64>,
    /// One row for each class.
    pub mean: Matrix,
    pub covariance: Matrix,
    /// Mean of the class means, weighted by the priors.
    pub centre: Vec<f64>,
    /// Directions of the projection, by column.
    pub scalings: Matrix,
    pub components: usize,
    /// Share of the variance between classes along each direction.
    pub explained: Vec<f64>,
    /// One row for each class; the difference of the two when there are two.
    pub coef: Matrix,
    pub intercept: Vec<f64>,
    pub shrunk: Vec<f64>,
}

impl LinearDiscriminantModel {
    /// `ln p(a | x) / p(b | x) = w.x + c`: normal classes of one covariance make a logistic model, with
    /// `w = S^-1 (m_a - m_b)` and `c = ln p(a) / p(b) - (m_a + m_b).w / 2`.
    pub fn log_odds(&self, a: usize, b: usize) -> (Vec<f64>, f64) {
        // With two classes the difference of their scores is what is stored.
        let score = |class: usize| match (self.coef.rows, class) {
            (1, 0) => (vec![0.0; self.coef.cols], 0.0),
            (1, _) => (self.coef.row(0).to_vec(), self.intercept[0]),
            _ => (self.coef.row(class).to_vec(), self.intercept[class]),
        };
        let ((mut w, mut c), (other, offset)) = (score(a), score(b));
        simd::add_scaled(-1.0, &other, &mut w);
        c -= offset;
        (w, c)
    }

    fn scores(&self, x: &X, out: &mut [f64]) {
        let k = self.coef.rows;
        x.times_matrix(&self.coef.transposed().values, k, out);
        out.chunks_exact_mut(k).for_each(|row| simd::add_scaled(1.0, &self.intercept, row));
    }
}

impl Model for LinearDiscriminantModel {
    fn cols(&self) -> usize {
        self.coef.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![
            (Output::Class, 1),
            (Output::Probability, self.prior.len()),
            (Output::Decision, self.coef.rows),
            (Output::Transform, self.components),
        ]
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        if output == Output::Transform {
            let kept = Matrix::from_fn(self.scalings.rows, self.components, |j, a| self.scalings[(j, a)]);
            x.times_matrix(&kept.values, self.components, out);
            let offset: Vec<f64> =
                (0..self.components).map(|a| (0..kept.rows).map(|j| self.centre[j] * kept[(j, a)]).sum()).collect();
            out.chunks_exact_mut(self.components.max(1)).for_each(|row| simd::add_scaled(-1.0, &offset, row));
            return Ok(());
        }
        if output == Output::Decision {
            self.scores(x, out);
            return Ok(());
        }
        let mut decision = vec![0.0; x.rows() * self.coef.rows];
        self.scores(x, &mut decision);
        if self.coef.rows == 1 {
            decision = decision.iter().flat_map(|&score| [0.0, score]).collect();
        }
        posterior(&mut decision, self.prior.len(), output, out);
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        vec![
            ("coef_", (&self.coef).into()),
            ("intercept_", (&self.intercept).into()),
            ("covariance_", (&self.covariance).into()),
            ("explained_variance_ratio_", (&self.explained).into()),
            ("means_", (&self.mean).into()),
            ("priors_", (&self.prior).into()),
            ("scalings_", (&self.scalings).into()),
            ("xbar_", (&self.centre).into()),
        ]
    }

    fn check(&self) -> Result<()> {
        let (k, p) = (self.prior.len(), self.coef.cols);
        let scores = if k == 2 { 1 } else { k };
        let fits = k > 1
            && p > 0
            && self.coef.is_consistent()
            && self.coef.rows == scores
            && self.intercept.len() == scores
            && self.scalings.is_consistent()
            && self.scalings.rows == p
            && self.components <= self.scalings.cols
            && self.centre.len() == p
            && self.mean.is_consistent()
            && self.covariance.is_consistent();
        if fits {
            Ok(())
        } else {
            Err(Error::shape("stored coefficients", format!("{scores} x {p}"), self.coef.values.len()))
        }
    }
}

/// Precision-like whitening of one class for the quadratic form: `||(x - m) W||^2` and `ln det`, with directions of no
/// variance held at a floor. Returns W (by column), the log determinant, and how many directions were at the floor.
pub(super) fn whitening(covariance: &Matrix, scale: &[f64], floor: f64) -> Option<(Matrix, f64, usize)> {
    let p = covariance.rows;
    let scaled = Matrix::from_fn(p, p, |i, j| covariance[(i, j)] / (scale[i] * scale[j]));
    let log_scale: f64 = scale.iter().map(|s| 2.0 * s.ln()).sum();
    // Cholesky where it is safe, since its triangle is half the work; eigenvectors where a direction has no variance.
    if let Some(cholesky) = Cholesky::new(&scaled).filter(|cholesky| cholesky.condition() * floor < 1e-2) {
        let lower = cholesky.lower();
        let mut inverse = Matrix::zeros(p, p);
        // Columns of L^-T: W[(j, a)] = (L^-1)[(a, j)] / scale_j.
        for j in 0..p {
            let mut column = vec![0.0; p];
            for i in j..p {
                let known: f64 = (j..i).map(|b| lower[(i, b)] * column[b]).sum();
                column[i] = (f64::from(i == j) - known) / lower[(i, i)];
            }
            (0..p).for_each(|a| inverse[(j, a)] = column[a] / scale[j]);
        }
        return Some((inverse, cholesky.log_determinant() + log_scale, 0));
    }
    let eigen = Eigen::new(&scaled)?;
    let at_floor = eigen.values.iter().filter(|&&value| value < floor).count();
    let values: Vec<f64> = eigen.values.iter().map(|value| value.max(floor)).collect();
    let whiten = Matrix::from_fn(p, p, |j, a| eigen.vectors[(j, a)] / (scale[j] * values[a].sqrt()));
    Some((whiten, values.iter().map(|v| v.ln()).sum::<f64>() + log_scale, at_floor))
}
