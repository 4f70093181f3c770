//! A mixture of normal densities with priors on all of its parameters, by variational inference: components that the
//! rows do not need end with almost no share.
//!
//! `max_q  E_q[ln p(x, z, theta)] - E_q[ln q(z, theta)]`, a lower bound of the log evidence, over `q(z) q(weights)
//! prod_k q(m_k, L_k)`: weights Dirichlet, or sticks broken off one after another (a Dirichlet process, truncated);
//! means normal and precisions Wishart, with prior mean m_0, strength beta_0, degrees of freedom nu_0 and inverse scale
//! V_0 (Attias 2000; Blei and Jordan 2006; Bishop 2006, 10.2).
//!
//! The loop of engine/em.rs with the sums of GaussianMixture; the M step adds the priors. Diagonal, spherical and tied
//! covariances are the same with the Wishart restricted to scales of that form, so that the bound never falls for them
//! either (but for `reg_covar`, which stands outside it). `lower_bound_` is the bound in full, with its constants. The
//! priors are of the size of the data unless given: arrays `mean_prior` and `covariance_prior`. The array `means_init`
//! gives the means whose nearest rows make up the first components. Dense rows only.

use super::gaussian_mixture::cost;
use super::gaussian_mixture::{
    Covariance, Expect, GaussianMixture, Mixture, MixtureInit, Problem, Sums, check_components, mixture_attributes,
    predict_mixture,
};
use crate::{
    Array, Ctx, Error, Estimator, Fit, Info, Matrix, Model, Output, Passes, Result, Shape, Source, Task, X,
    core::{
        Reduce, choice,
        linalg::Cholesky,
        param::{ArrayParam, above, at_least, log},
        params, reduce, simd,
        stats::CrossProducts,
    },
    engine::{
        em::{self, Em, Limits, Outcome},
        special::{digamma, ln_gamma},
    },
};
use serde::{Deserialize, Serialize};

choice! {
    /// Type of the prior on the weights of the components.
    pub enum Concentration {
        /// Sticks broken off one after another: few components, the first ones largest.
        Process = "dirichlet_process",
        /// All components alike.
        Distribution = "dirichlet_distribution",
    }
}

params! {
    /// Mixture of Gaussians with priors, fitted by variational inference; components that are not needed get almost no
    /// weight.
    pub struct BayesianGaussianMixture {
        /// Maximum number of components.
        n_components: usize = 1, at_least(1.0), log(1.0, 32.0);
        /// Form of the covariance matrices.
        covariance_type: Covariance = Covariance::Full;
        /// Stop when a pass raises the lower bound by less than this.
        tol: f64 = 1e-3, at_least(0.0);
        /// Added to every variance for stability.
        reg_covar: f64 = 1e-6, at_least(0.0);
        /// Maximum number of iterations of one start.
        max_iter: usize = 100, at_least(1.0);
        /// Number of starts; the best result is kept.
        n_init: usize = 1, at_least(1.0);
        /// How the responsibilities are initialised.
        init_params: MixtureInit = MixtureInit::KMeans;
        /// Type of the prior on the weights of the components.
        weight_concentration_prior_type: Concentration = Concentration::Process;
        /// Prior concentration of the weights: smaller values give fewer components. 1 / `n_components` unless given.
        weight_concentration_prior: Option<f64> = None, above(0.0), log(1e-3, 1e3);
        /// Number of rows that the prior on the means counts as; 1 unless given.
        mean_precision_prior: Option<f64> = None, above(0.0);
        /// Prior mean, as an array; the mean of the rows unless given.
        mean_prior: ArrayParam = ArrayParam;
        /// Degrees of freedom of the prior on the covariances, above the number of columns - 1; the number of columns
        /// unless given.
        degrees_of_freedom_prior: Option<f64> = None, above(0.0);
        /// Prior covariance, as an array shaped by `covariance_type`; the covariance of the rows unless given.
        covariance_prior: ArrayParam = ArrayParam;
    }
}

impl Estimator for BayesianGaussianMixture {
    type Model = BayesianGaussianMixtureModel;

    const INFO: Info = Info {
        sparse: false,
        scale: true,
        random: true,
        ..Info::new(
            "mixture",
            Task::Density,
            "max_q E_q[ln p(x, z, pi, m, L)] - E_q[ln q(z) q(pi) q(m, L)]",
            Passes::Many,
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        1e-9 * cost(shape, self.n_components, self.covariance_type, self.max_iter, self.n_init)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<BayesianGaussianMixtureModel>> {
        check_components("BayesianGaussianMixture", self.n_components, data.shape().rows)?;
        let plain = GaussianMixture {
            n_components: self.n_components,
            covariance_type: self.covariance_type,
            reg_covar: self.reg_covar,
            init_params: self.init_params,
            ..GaussianMixture::default()
        };
        let prior = self.prior(data, ctx)?;
        let problem = Bayes { problem: Problem::new(&plain, data, ctx)?, prior };
        let nearest = ctx.start("means_init");
        if let Some(given) = nearest {
            let (k, p) = (self.n_components, data.shape().cols);
            if (given.rows, given.cols) != (k, p) {
                return Err(Error::shape(
                    "means_init",
                    format!("{k} x {p}"),
                    format!("{} x {}", given.rows, given.cols),
                ));
            }
        }
        let limits = Limits { what: "mixture", max_iter: self.max_iter, tol: self.tol };
        let mut best: Option<Outcome<Posterior>> = None;
        for start in 0..self.n_init as u64 {
            let (about, stat) = problem.problem.first(data, ctx, start, nearest)?;
            let first = problem.posterior(&about, &stat)?;
            let outcome = em::run(&problem, data, ctx, &limits, first)?;
            if best.as_ref().is_none_or(|best| outcome.bound > best.bound) {
                best = Some(outcome);
            }
        }
        let Outcome { params, bound, mut log } = best.expect("at least one start");
        let used = params.rows.iter().filter(|&&rows| rows >= 1.0).count();
        log.notes.push(format!("{used} of {} components hold a row or more", self.n_components));
        Ok(Fit::new(BayesianGaussianMixtureModel { posterior: params, prior: problem.prior, bound }, log))
    }
}

/// What is believed before the rows are seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prior {
    pub process: bool,
    pub concentration: f64,
    pub mean_precision: f64,
    pub mean: Vec<f64>,
    pub freedom: f64,
    /// V_0: p x p for full and tied covariances, p for diagonal ones, a single number for spherical ones.
    pub covariance: Vec<f64>,
}

impl BayesianGaussianMixture {
    fn prior(&self, data: &dyn Source, ctx: &Ctx) -> Result<Prior> {
        let p = data.shape().cols;
        let name = "BayesianGaussianMixture";
        let freedom = self.degrees_of_freedom_prior.unwrap_or(p as f64);
        if freedom <= p as f64 - 1.0 {
            return Err(Error::Parameter {
                model: name.into(),
                name: "degrees_of_freedom_prior".into(),
                value: freedom.to_string(),
                allowed: format!("greater than {} (n_features - 1)", p - 1),
            });
        }
        let gram = reduce(ctx, data, &CrossProducts { cols: p, targets: 0 })?;
        if gram.weight <= 1.0 {
            return Err(Error::Data(format!("{name}: the total weight is {}, but it must be > 1", gram.weight)));
        }
        let mut covariance = gram.scatter.clone();
        covariance.values.iter_mut().for_each(|value| *value /= gram.weight - 1.0);
        covariance.mirror();
        let diagonal: Vec<f64> = (0..p).map(|j| covariance[(j, j)]).collect();
        let found = match self.covariance_type {
            Covariance::Full | Covariance::Tied => covariance.values,
            Covariance::Diag => diagonal,
            Covariance::Spherical => vec![diagonal.iter().sum::<f64>() / p as f64],
        };
        let given = |name: &str, found: Vec<f64>| match ctx.start(name) {
            Some(given) if given.values.len() == found.len() => Ok(given.values.clone()),
            Some(given) => {
                Err(Error::shape(name, format!("{} values", found.len()), format!("{} x {}", given.rows, given.cols)))
            }
            None => Ok(found),
        };
        let covariance = given("covariance_prior", found)?;
        if ctx.start("covariance_prior").is_some() {
            let definite = match self.covariance_type {
                Covariance::Full | Covariance::Tied => Cholesky::new(&Matrix::new(covariance.clone(), p, p)).is_some(),
                _ => covariance.iter().all(|&value| value > 0.0),
            };
            if !definite {
                return Err(Error::Data("covariance_prior is not positive definite".into()));
            }
        }
        Ok(Prior {
            process: self.weight_concentration_prior_type == Concentration::Process,
            concentration: self.weight_concentration_prior.unwrap_or(1.0 / self.n_components as f64),
            mean_precision: self.mean_precision_prior.unwrap_or(1.0),
            mean: given("mean_prior", gram.mean)?,
            freedom,
            covariance,
        })
    }
}

/// What is believed after. The mixture holds the expected weights, the means, and `V_k / nu_k` as covariances.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Posterior {
    pub mixture: Mixture,
    /// Rows that each component holds.
    pub rows: Vec<f64>,
    /// Of the Dirichlet distribution, or of the first side of each stick.
    pub concentration: Vec<f64>,
    /// Of the other side of each stick; empty for a Dirichlet distribution.
    pub remainder: Vec<f64>,
    pub mean_precision: Vec<f64>,
    pub freedom: Vec<f64>,
}

/// `sum_i digamma((nu + 1 - i) / 2)` and the like.
fn multivariate(f: impl Fn(f64) -> f64, freedom: f64, p: usize) -> f64 {
    (0..p).map(|i| f(0.5 * (freedom - i as f64))).sum()
}

impl Posterior {
    /// `E[ln pi_k]`
    fn log_weights(&self) -> Vec<f64> {
        if self.remainder.is_empty() {
            let total = digamma(self.concentration.iter().sum());
            return self.concentration.iter().map(|&a| digamma(a) - total).collect();
        }
        let mut broken = 0.0;
        let stick = |(&a, &b): (&f64, &f64)| {
            let total = digamma(a + b);
            let log = digamma(a) - total + broken;
            broken += digamma(b) - total;
            log
        };
        self.concentration.iter().zip(&self.remainder).map(stick).collect()
    }

    /// `E[ln det L_k]` less what the covariances of the mixture already have.
    fn log_precision(&self, c: usize) -> f64 {
        let (p, nu) = (self.mixture.p(), self.freedom[c]);
        p as f64 * (2.0 / nu).ln() + multivariate(digamma, nu, p)
    }

    /// Constants of the E step: `E[ln pi_k] + E[ln N(x; m_k, L_k^-1)]` at the mean.
    pub fn constants(&self) -> Vec<f64> {
        let p = self.mixture.p() as f64;
        let weights = self.log_weights();
        let one = |c: usize| {
            weights[c] - 0.5 * p * std::f64::consts::TAU.ln()
                + self.mixture.root_log_determinant(c)
                + 0.5 * (self.log_precision(c) - p / self.mean_precision[c])
        };
        (0..weights.len()).map(one).collect()
    }

    /// `KL(q || prior)` of the weights, means and precisions.
    fn divergence(&self, prior: &Prior) -> f64 {
        let weights: f64 = if prior.process {
            let (beta, alpha) = (|a: f64, b: f64| ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b), prior.concentration);
            let stick = |(&a, &b): (&f64, &f64)| {
                let total = digamma(a + b);
                beta(1.0, alpha) - beta(a, b) + (a - 1.0) * (digamma(a) - total) + (b - alpha) * (digamma(b) - total)
            };
            self.concentration.iter().zip(&self.remainder).map(stick).sum()
        } else {
            let (k, total) = (self.concentration.len() as f64, self.concentration.iter().sum::<f64>());
            let alpha = prior.concentration;
            let one = |&a: &f64| (a - alpha) * (digamma(a) - digamma(total)) - ln_gamma(a);
            self.concentration.iter().map(one).sum::<f64>() + ln_gamma(total) + k * ln_gamma(alpha)
                - ln_gamma(k * alpha)
        };
        weights + (0..self.concentration.len()).map(|c| self.component_divergence(prior, c)).sum::<f64>()
    }

    fn component_divergence(&self, prior: &Prior, c: usize) -> f64 {
        let mixture = &self.mixture;
        let p = mixture.p();
        let (nu, nu0, beta, beta0) = (self.freedom[c], prior.freedom, self.mean_precision[c], prior.mean_precision);
        let d: Vec<f64> = mixture.means.row(c).iter().zip(&prior.mean).map(|(m, m0)| m - m0).collect();
        // (m - m_0)' E[L] (m - m_0), tr(V_0 E[L]) and ln det V_0
        let (distance, trace, prior_determinant) = match mixture.covariance_type {
            Covariance::Full | Covariance::Tied => {
                let at = if mixture.covariance_type == Covariance::Full { c * p * p } else { 0 };
                let factor = Matrix::new(mixture.factors[at..at + p * p].to_vec(), p, p);
                let v0 = Matrix::new(prior.covariance.clone(), p, p);
                let products = factor.times(&v0);
                let trace: f64 = (0..p).map(|a| simd::dot(products.row(a), factor.row(a))).sum();
                let distance: f64 = (0..p).map(|a| simd::dot(factor.row(a), &d).powi(2)).sum();
                (distance, trace, Cholesky::new(&v0).map(|v0| v0.log_determinant()))
            }
            kind => {
                let factor = |j: usize| mixture.factors[if kind == Covariance::Diag { c * p + j } else { c }];
                let v0 = |j: usize| prior.covariance[if kind == Covariance::Diag { j } else { 0 }];
                let sum = |f: &dyn Fn(usize) -> f64| (0..p).map(f).sum::<f64>();
                let determinant = sum(&|j| v0(j).ln());
                (
                    sum(&|j| (factor(j) * d[j]).powi(2)),
                    sum(&|j| factor(j).powi(2) * v0(j)),
                    Some(determinant).filter(|determinant| determinant.is_finite()),
                )
            }
        };
        let columns = p as f64;
        let means = 0.5 * (columns * (beta / beta0).ln() + columns * beta0 / beta - columns + beta0 * distance);
        // ln det W_k, W_k = V_k^-1 the scale of the Wishart distribution
        let log_scale = 2.0 * mixture.root_log_determinant(c) - columns * nu.ln();
        let log_norm = |nu: f64, log_scale: f64| {
            -0.5 * nu * (log_scale + columns * std::f64::consts::LN_2) - multivariate(ln_gamma, nu, p)
        };
        // A prior that is not definite has no density: its constant is left out.
        let prior_norm = prior_determinant.map_or(0.0, |v0| log_norm(nu0, -v0));
        let log_precision = log_scale + columns * std::f64::consts::LN_2 + multivariate(digamma, nu, p);
        let precisions =
            log_norm(nu, log_scale) - prior_norm + 0.5 * (nu - nu0) * log_precision - 0.5 * nu * columns + 0.5 * trace;
        means + precisions
    }
}

struct Bayes<'a> {
    problem: Problem<'a>,
    prior: Prior,
}

impl Bayes<'_> {
    /// The M step: the moments of the components and the prior, put together.
    fn posterior(&self, old: &Matrix, stat: &Sums) -> Result<Posterior> {
        let (rows, mut mixture) = self.problem.moments(old, stat);
        let (prior, k, p) = (&self.prior, rows.len(), mixture.p());
        let (beta0, v0) = (prior.mean_precision, &prior.covariance);
        let total: f64 = rows.iter().sum();
        let mean_precision: Vec<f64> = rows.iter().map(|rows| beta0 + rows).collect();
        let d = Matrix::from_fn(k, p, |c, j| mixture.means[(c, j)] - prior.mean[j]);
        let tied = mixture.covariance_type == Covariance::Tied;
        let freedom: Vec<f64> =
            rows.iter().map(|rows| prior.freedom + if tied { total / k as f64 } else { *rows }).collect();
        let pull = |c: usize| beta0 / mean_precision[c];
        match mixture.covariance_type {
            Covariance::Full => {
                for c in 0..k {
                    for i in 0..p {
                        for j in 0..p {
                            let own = &mut mixture.covariances[(c * p + i) * p + j];
                            *own = (v0[i * p + j] + rows[c] * (*own + pull(c) * d[(c, i)] * d[(c, j)])) / freedom[c];
                        }
                    }
                }
            }
            Covariance::Tied => {
                for i in 0..p {
                    for j in 0..p {
                        let apart: f64 = (0..k).map(|c| rows[c] * pull(c) * d[(c, i)] * d[(c, j)]).sum();
                        let own = &mut mixture.covariances[i * p + j];
                        *own = (v0[i * p + j] + (*own * total + apart) / k as f64) / freedom[0];
                    }
                }
            }
            Covariance::Diag => {
                for c in 0..k {
                    for j in 0..p {
                        let own = &mut mixture.covariances[c * p + j];
                        *own = (v0[j] + rows[c] * (*own + pull(c) * d[(c, j)] * d[(c, j)])) / freedom[c];
                    }
                }
            }
            Covariance::Spherical => {
                for c in 0..k {
                    let apart = simd::dot(d.row(c), d.row(c)) / p as f64;
                    let own = &mut mixture.covariances[c];
                    *own = (v0[0] + rows[c] * (*own + pull(c) * apart)) / freedom[c];
                }
            }
        }
        mixture.means = Matrix::from_fn(k, p, |c, j| prior.mean[j] + rows[c] / mean_precision[c] * d[(c, j)]);
        let (concentration, remainder): (Vec<f64>, Vec<f64>) = if prior.process {
            let behind = |c: usize| prior.concentration + rows[c + 1..].iter().sum::<f64>();
            (rows.iter().map(|rows| 1.0 + rows).collect(), (0..k).map(behind).collect())
        } else {
            (rows.iter().map(|rows| prior.concentration + rows).collect(), Vec::new())
        };
        mixture.weights = if prior.process {
            let mut left = 1.0;
            let stick = |(a, b): (&f64, &f64)| {
                let share = a / (a + b) * left;
                left *= b / (a + b);
                share
            };
            concentration.iter().zip(&remainder).map(stick).collect()
        } else {
            concentration.clone()
        };
        let sum: f64 = mixture.weights.iter().sum();
        mixture.weights.iter_mut().for_each(|weight| *weight /= sum);
        self.problem.factor(&mut mixture, &rows)?;
        Ok(Posterior { mixture, rows, concentration, remainder, mean_precision, freedom })
    }
}

impl Em for Bayes<'_> {
    type Params = Posterior;
    type Expect = Expect<'static>;

    fn expect(&self, params: &Posterior) -> Result<Expect<'static>> {
        Ok(Expect::with(params.mixture.clone(), params.constants()))
    }

    /// In total, as `tol` measures it.
    fn bound(&self, params: &Posterior, stat: &<Expect as Reduce>::Stat) -> f64 {
        stat.log_likelihood - params.divergence(&self.prior)
    }

    fn maximise(&self, params: &Posterior, stat: Sums) -> Result<Posterior> {
        self.posterior(&params.mixture.means, &stat)
    }
}

/// A fitted mixture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BayesianGaussianMixtureModel {
    pub posterior: Posterior,
    pub prior: Prior,
    /// Lower bound of the log evidence of the fitted rows.
    pub bound: f64,
}

impl Model for BayesianGaussianMixtureModel {
    fn cols(&self) -> usize {
        self.posterior.mixture.p()
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Cluster, 1), (Output::Probability, self.posterior.rows.len()), (Output::Density, 1)]
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        predict_mixture(&self.posterior.mixture, &self.posterior.constants(), x, output, out)
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let Posterior { mixture, concentration, remainder, mean_precision, freedom, .. } = &self.posterior;
        let prior = &self.prior;
        let (k, p) = (concentration.len(), mixture.p());
        let mut attributes = mixture_attributes(mixture);
        let concentrations: Array = if remainder.is_empty() {
            concentration.into()
        } else {
            (&Matrix::new([concentration.as_slice(), remainder].concat(), 2, k)).into()
        };
        let tied = mixture.covariance_type == Covariance::Tied;
        let covariance: Array = match mixture.covariance_type {
            Covariance::Full | Covariance::Tied => (&Matrix::new(prior.covariance.clone(), p, p)).into(),
            Covariance::Diag => (&prior.covariance).into(),
            Covariance::Spherical => prior.covariance[0].into(),
        };
        attributes.extend([
            ("weight_concentration_", concentrations),
            ("mean_precision_", mean_precision.into()),
            ("degrees_of_freedom_", if tied { freedom[0].into() } else { freedom.into() }),
            ("weight_concentration_prior_", prior.concentration.into()),
            ("mean_precision_prior_", prior.mean_precision.into()),
            ("mean_prior_", (&prior.mean).into()),
            ("degrees_of_freedom_prior_", prior.freedom.into()),
            ("covariance_prior_", covariance),
            ("lower_bound_", self.bound.into()),
        ]);
        attributes
    }

    fn check(&self) -> Result<()> {
        let (posterior, prior) = (&self.posterior, &self.prior);
        let (k, p) = (posterior.mixture.weights.len(), posterior.mixture.means.cols);
        let positive = |values: &[f64]| values.len() == k && values.iter().all(|&v| v > 0.0 && v.is_finite());
        let size = match posterior.mixture.covariance_type {
            Covariance::Full | Covariance::Tied => p * p,
            Covariance::Diag => p,
            Covariance::Spherical => 1,
        };
        let fits = posterior.mixture.is_consistent()
            && posterior.rows.len() == k
            && positive(&posterior.concentration)
            && (posterior.remainder.is_empty() || positive(&posterior.remainder))
            && positive(&posterior.mean_precision)
            && positive(&posterior.freedom)
            // So that every digamma has a positive argument.
            && posterior.freedom.iter().all(|&nu| nu > p as f64 - 1.0)
            && prior.mean.len() == p
            && prior.covariance.len() == size;
        if fits {
            return Ok(());
        }
        Err(Error::shape(
            "stored mixture",
            format!("{k} components of {p} columns"),
            posterior.mixture.covariances.len(),
        ))
    }
}
