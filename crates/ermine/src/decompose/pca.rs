//! Principal components (Pearson 1901; Hotelling 1933): orthonormal directions v_1 .. v_k of most variance of the rows
//! about their mean, which are also those of least reconstruction error, `min_V sum_i w_i ||x_i - m - V V' (x_i -
//! m)||^2`.
//!
//! The decomposition is chosen by the shape (engine/spectrum.rs): eigenvectors of the covariance, an SVD, or subspace
//! iteration for few components of many columns; all are sums. The number of components is given, or a share of the
//! variance to explain, or found by Minka's evidence (2000, "mle"). The model is also a density, that of probabilistic
//! PCA (Tipping and Bishop 1999): the variance of the directions left out is spread evenly over them. The objective in
//! the log is the mean squared reconstruction error.

use crate::{
    Array, Ctx, Error, Estimator, Fit, FitLog, Info, Matrix, Model, Output, Passes, Result, Source, Task, X,
    core::{choice, param::above, params, simd},
    engine::spectrum::{Spectrum, decompose, project},
};
use serde::{Deserialize, Serialize};

choice! {
    /// How many components: a count, or below 1 the share of the variance that they must explain.
    pub enum Components: f64 where above(0.0) => {
        /// As many as there are.
        All = "none",
        /// As many as Minka's evidence finds.
        Mle = "mle",
    }
}

params! {
    /// Principal component analysis: projects onto the directions of largest variance.
    pub struct PCA {
        /// Number of components: a count, a fraction of the variance below 1, `mle`, or none for all.
        n_components: Components = Components::All;
        /// Whether to scale the components to unit variance.
        whiten: bool = false;
    }
}

impl Estimator for PCA {
    type Model = PCAModel;

    const INFO: Info = Info {
        scale: true,
        random: true,
        ..Info::new(
            "decomposition",
            Task::Transformation,
            "min_V sum_i ||x_i - m - V V' (x_i - m)||^2,  V'V = I",
            Passes::Many,
        )
    };

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<PCAModel>> {
        let shape = data.shape();
        let most = shape.rows.min(shape.cols);
        let refused = |allowed: String| Error::Parameter {
            model: "PCA".into(),
            name: "n_components".into(),
            value: crate::core::param::Field::to_value(&self.n_components).to_string(),
            allowed,
        };
        if shape.rows < 2 {
            return Err(Error::Data("PCA: one row (1 sample) has no variance, and at least 2 are needed".into()));
        }
        let count = match self.n_components {
            Components::Number(count) if count >= 1.0 => {
                if count.fract() != 0.0 || count > most as f64 {
                    return Err(refused(format!(
                        "an integer between 1 and {most} (min(n_samples, n_features)), or a share below 1"
                    )));
                }
                Some(count as usize)
            }
            Components::Mle if shape.rows < shape.cols => {
                return Err(refused("a number when there are fewer rows (n_samples) than columns (n_features)".into()));
            }
            _ => None,
        };
        let mut spectrum = decompose(data, ctx, true, count)?;
        check_weight("PCA", spectrum.weight)?;
        // Weights above one stand for rows that are there more than once.
        let most = shape.rows.max(spectrum.weight.round() as usize).min(shape.cols);
        let count = match self.n_components {
            Components::All => most,
            Components::Mle => {
                let variances: Vec<f64> = spectrum.squares.iter().map(|s| s / (spectrum.weight - 1.0)).collect();
                evidence_dimension(&variances, spectrum.weight)
            }
            Components::Number(share) if share < 1.0 => share_dimension(&spectrum, share).min(most),
            Components::Number(count) => count as usize,
        };
        spectrum.complete(count);
        let mut log = FitLog::default();
        log.notes.push(format!("by {}", spectrum.method));
        let weight = spectrum.weight;
        let model = PCAModel::new(spectrum, most, self.whiten);
        log.objective.push(model.reconstruction_error() * (weight - 1.0) / weight);
        Ok(Fit::new(model, log))
    }
}

pub(super) fn check_weight(model: &str, weight: f64) -> Result<()> {
    if weight > 1.0 {
        return Ok(());
    }
    Err(Error::Data(format!("{model}: the total weight is {weight}, but it must be > 1")))
}

/// The fewest components that explain more than `share` of the variance.
fn share_dimension(spectrum: &Spectrum, share: f64) -> usize {
    let mut sum = 0.0;
    for (i, square) in spectrum.squares.iter().enumerate() {
        sum += square;
        if sum > share * spectrum.total {
            return i + 1;
        }
    }
    spectrum.squares.len()
}

/// The dimension of largest evidence (Minka 2000, equations 30 and 77) for covariance eigenvalues of `n` rows.
fn evidence_dimension(eigenvalues: &[f64], n: f64) -> usize {
    let p = eigenvalues.len();
    if p < 2 {
        return p;
    }
    // ln Gamma of half-integers by recurrence.
    let mut ln_gamma_half = vec![0.0; p + 2];
    ln_gamma_half[1] = 0.5 * std::f64::consts::PI.ln();
    for m in 3..p + 2 {
        ln_gamma_half[m] = ln_gamma_half[m - 2] + ((m - 2) as f64 / 2.0).ln();
    }
    let evidence = |k: usize| {
        if eigenvalues[k - 1] < 1e-15 {
            return f64::NEG_INFINITY;
        }
        let rest = (eigenvalues[k..].iter().sum::<f64>() / (p - k) as f64).max(1e-15);
        let hat = |i: usize| if i < k { eigenvalues[i] } else { rest };
        let mut log = -(k as f64) * std::f64::consts::LN_2;
        for i in 1..=k {
            let m = p - i + 1;
            log += ln_gamma_half[m] - std::f64::consts::PI.ln() * m as f64 / 2.0;
        }
        log -= 0.5 * n * eigenvalues[..k].iter().map(|value| value.ln()).sum::<f64>();
        log -= 0.5 * n * (p - k) as f64 * rest.ln();
        let m = (p * k) as f64 - (k * (k + 1)) as f64 / 2.0;
        log += 0.5 * (m + k as f64) * std::f64::consts::TAU.ln();
        for i in 0..k {
            for j in i + 1..p {
                let curvature = (eigenvalues[i] - eigenvalues[j]) * (1.0 / hat(j) - 1.0 / hat(i));
                log -= 0.5 * (curvature.ln() + n.ln());
            }
        }
        log - 0.5 * k as f64 * n.ln()
    };
    let mut best = (1, f64::NEG_INFINITY);
    for k in 1..p {
        let value = evidence(k);
        if value > best.1 {
            best = (k, value);
        }
    }
    best.0
}

/// Directions with the variance along each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PCAModel {
    pub mean: Vec<f64>,
    /// One row for each component.
    pub components: Matrix,
    /// Variance along each.
    pub explained: Vec<f64>,
    pub singular: Vec<f64>,
    /// Variance along all directions together.
    pub total: f64,
    /// Mean variance along the directions that were left out.
    pub noise: f64,
    pub whiten: bool,
}

impl PCAModel {
    /// From as many directions as it shall have, of `most` that the rows allow.
    pub(super) fn new(spectrum: Spectrum, most: usize, whiten: bool) -> Self {
        let (freedom, count) = (spectrum.weight - 1.0, spectrum.squares.len());
        let explained: Vec<f64> = spectrum.squares.iter().map(|square| square / freedom).collect();
        let total = spectrum.total / freedom;
        let left = (total - explained.iter().sum::<f64>()).max(0.0);
        let noise = if count < most { left / (most - count) as f64 } else { 0.0 };
        let singular = spectrum.squares.iter().map(|square| square.sqrt()).collect();
        let (mean, components) = (spectrum.mean, spectrum.vectors);
        PCAModel { mean, components, explained, singular, total, noise, whiten }
    }

    /// What a whitened component is divided by.
    fn deviation(&self, a: usize) -> f64 {
        self.explained[a].sqrt().max(f64::EPSILON)
    }

    /// Scores of the variables: components times the standard deviation along them.
    pub fn loadings(&self) -> Matrix {
        Matrix::from_fn(self.components.rows, self.components.cols, |a, j| {
            self.components[(a, j)] * self.explained[a].sqrt()
        })
    }

    /// Variance that is lost by going through the components and back.
    pub fn reconstruction_error(&self) -> f64 {
        (self.total - self.explained.iter().sum::<f64>()).max(0.0)
    }
}

impl Model for PCAModel {
    fn cols(&self) -> usize {
        self.mean.len()
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Transform, self.components.rows), (Output::Inverse, self.mean.len()), (Output::Density, 1)]
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        let (k, p) = (self.components.rows, self.mean.len());
        match output {
            Output::Inverse => {
                if x.cols() != k {
                    return Err(Error::shape("x", format!("{k} columns, one for each component"), x.cols()));
                }
                let scale = |a: usize| if self.whiten { self.deviation(a) } else { 1.0 };
                let back = Matrix::from_fn(k, p, |a, j| self.components[(a, j)] * scale(a));
                x.times_matrix(&back.values, p, out);
                out.chunks_exact_mut(p).for_each(|row| simd::add_scaled(1.0, &self.mean, row));
            }
            Output::Density => {
                let mut scores = vec![0.0; x.rows() * k];
                project(x, &self.mean, &self.components, &mut scores);
                // A direction without variance is held at rounding level.
                let floor = f64::EPSILON * self.total.max(f64::MIN_POSITIVE);
                let variance: Vec<f64> = self.explained.iter().map(|v| v.max(floor)).collect();
                let noise = self.noise.max(floor);
                let log_determinant = variance.iter().map(|v| v.ln()).sum::<f64>() + (p - k) as f64 * noise.ln();
                for (i, z) in scores.chunks_exact(k).enumerate() {
                    let rest =
                        if k < p { (x.row(i).distance2(&self.mean) - simd::dot(z, z)).max(0.0) / noise } else { 0.0 };
                    let inside: f64 = z.iter().zip(&variance).map(|(z, v)| z * z / v).sum();
                    out[i] = -0.5 * (p as f64 * std::f64::consts::TAU.ln() + log_determinant + inside + rest);
                }
            }
            _ => {
                project(x, &self.mean, &self.components, out);
                if self.whiten {
                    for row in out.chunks_exact_mut(k) {
                        (0..k).for_each(|a| row[a] /= self.deviation(a));
                    }
                }
            }
        }
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let share: Vec<f64> =
            self.explained.iter().map(|v| if self.total > 0.0 { v / self.total } else { 0.0 }).collect();
        vec![
            ("components_", (&self.components).into()),
            ("explained_variance_", (&self.explained).into()),
            ("explained_variance_ratio_", (&share).into()),
            ("singular_values_", (&self.singular).into()),
            ("mean_", (&self.mean).into()),
            ("n_components_", self.components.rows.into()),
            ("noise_variance_", self.noise.into()),
        ]
    }

    fn check(&self) -> Result<()> {
        let (k, p) = (self.components.rows, self.mean.len());
        let fits = self.components.is_consistent()
            && k > 0
            && k <= p
            && self.components.cols == p
            && self.explained.len() == k
            && self.singular.len() == k;
        if fits {
            Ok(())
        } else {
            Err(Error::shape("stored components", format!("{k} x {p}"), self.components.values.len()))
        }
    }
}
