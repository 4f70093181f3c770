//! A mixture of independent yes-or-no columns, or of counts: `max sum_i w_i ln sum_k pi_k p(x_i | theta_k)`, with `p(x
//! | theta) = prod_j theta_j^{x_j} (1 - theta_j)^{1 - x_j}` (Bernoulli: latent class analysis) or `prod_j
//! theta_j^{x_j}` (multinomial, up to a constant that does not depend on theta: groups of texts).
//!
//! EM (engine/em.rs), both steps one sum: log-probabilities are linear in the row, so that the E step is a product with
//! k columns and the M step adds rows times responsibilities; sparse rows cost their stored values. `alpha` is a count
//! added to each column of each component (a Beta or Dirichlet prior), whose log density is part of the objective, so
//! that it still never falls.

use super::k_means::{Init, KMeans};
use crate::{
    Array, Ctx, Error, Estimator, Fit, Info, Matrix, Model, Output, Passes, Result, Shape, Source, Task, X,
    core::{
        Batch, Reduce, choice,
        model::Property,
        param::{above, at_least, log},
        params, reduce, simd,
    },
    engine::em::{self, Em, Limits, Outcome},
};
use serde::{Deserialize, Serialize};

choice! {
    /// Distribution of a column.
    pub enum CountFamily {
        /// Yes or no: above zero, or not.
        Bernoulli = "bernoulli",
        /// A count.
        Multinomial = "multinomial",
    }
}

params! {
    /// Mixture model for binary columns, or for counts such as word counts: soft clusters and a density estimate.
    pub struct CountMixture {
        /// Number of components.
        n_components: usize = 2, at_least(1.0), log(2.0, 32.0);
        /// Distribution of a column.
        family: CountFamily = CountFamily::Bernoulli;
        /// Additive smoothing: added to the count of every column and component.
        alpha: f64 = 1.0, above(0.0), log(1e-3, 10.0);
        /// Stop when a pass improves the mean objective per row by less than this.
        tol: f64 = 1e-4, at_least(0.0);
        /// Maximum number of iterations of one start.
        max_iter: usize = 200, at_least(1.0);
        /// Number of starts; the best result is kept.
        n_init: usize = 1, at_least(1.0);
    }
}

impl Estimator for CountMixture {
    type Model = CountMixtureModel;

    const INFO: Info = Info {
        random: true,
        non_negative: true,
        exceptions: &[(
            Property::WeightIsRepetition,
            "the start draws rows by number, and a repeated row has two numbers",
        )],
        ..Info::new(
            "mixture",
            Task::Density,
            "max sum_i ln sum_k pi_k prod_j theta_kj^x_ij (1 - theta_kj)^(1 - x_ij)",
            Passes::Many,
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        let (n, p, _) = shape.sizes();
        let passes = 40.0f64.min(self.max_iter as f64) * self.n_init as f64;
        1e-9 * (4e5 + passes * n * self.n_components as f64 * (10.0 + p))
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<CountMixtureModel>> {
        super::gaussian_mixture::check_components("CountMixture", self.n_components, data.shape().rows)?;
        let limits = Limits { what: "mixture", max_iter: self.max_iter, tol: self.tol };
        let mut best: Option<Outcome<CountMixtureModel>> = None;
        for start in 0..self.n_init as u64 {
            let first = self.start(data, &ctx.child("mixture start", start))?;
            let outcome = em::run(self, data, ctx, &limits, first)?;
            if best.as_ref().is_none_or(|best| outcome.bound > best.bound) {
                best = Some(outcome);
            }
        }
        let Outcome { mut params, bound, log } = best.expect("at least one start");
        params.bound = bound;
        Ok(Fit::new(params, log))
    }
}

impl CountMixture {
    /// Around rows that lie apart, softened so that every component can still win every row.
    fn start(&self, data: &dyn Source, ctx: &Ctx) -> Result<CountMixtureModel> {
        let (k, p) = (self.n_components, data.shape().cols);
        let overall = reduce(ctx, data, &Expect { model: &uniform(1, p, self.family), k: 1 })?;
        let centres = KMeans { n_clusters: k, init: Init::PlusPlus, ..KMeans::default() }.first_centres(data, ctx)?;
        let average: Vec<f64> =
            overall.sum.iter().map(|sum| (sum + self.alpha) / (overall.weight + 2.0 * self.alpha)).collect();
        let theta = Matrix::from_fn(k, p, |c, j| {
            let value =
                if self.family == CountFamily::Bernoulli { f64::from(centres[(c, j)] > 0.0) } else { centres[(c, j)] };
            0.5 * value + 0.5 * average[j]
        });
        Ok(self.model(vec![1.0 / k as f64; k], theta))
    }

    /// Brings theta to probabilities.
    fn model(&self, weights: Vec<f64>, mut theta: Matrix) -> CountMixtureModel {
        for c in 0..theta.rows {
            let row = theta.row_mut(c);
            match self.family {
                CountFamily::Bernoulli => row.iter_mut().for_each(|t| *t = t.clamp(1e-300, 1.0 - 1e-16)),
                CountFamily::Multinomial => {
                    let total: f64 = row.iter().sum();
                    row.iter_mut().for_each(|t| *t = (*t / total).max(1e-300));
                }
            }
        }
        CountMixtureModel { family: self.family, weights, theta, bound: 0.0 }
    }
}

fn uniform(k: usize, p: usize, family: CountFamily) -> CountMixtureModel {
    let theta = Matrix::from_fn(k, p, |_, _| if family == CountFamily::Bernoulli { 0.5 } else { 1.0 / p as f64 });
    CountMixtureModel { family, weights: vec![1.0 / k as f64; k], theta, bound: 0.0 }
}

#[derive(Serialize, Deserialize)]
pub struct CountSums {
    weight: f64,
    log_likelihood: f64,
    count: Vec<f64>,
    /// Columns x components.
    sum: Vec<f64>,
}

/// The sum behind an E step.
pub struct Expect<M> {
    model: M,
    k: usize,
}

impl<M: std::borrow::Borrow<CountMixtureModel> + Sync> Reduce for Expect<M> {
    type Stat = CountSums;

    fn zero(&self) -> CountSums {
        let p = self.model.borrow().theta.cols;
        CountSums { weight: 0.0, log_likelihood: 0.0, count: vec![0.0; self.k], sum: vec![0.0; p * self.k] }
    }

    fn add(&self, stat: &mut CountSums, batch: &Batch) -> Result<()> {
        batch.x.check_finite(batch.first)?;
        let model = self.model.borrow();
        let prepared = model.prepare(&batch.x, batch.first)?;
        let x = prepared.view(&batch.x);
        let mut share = vec![0.0; x.rows() * self.k];
        let mut log_density = vec![0.0; x.rows()];
        model.responsibilities(&x, &mut share, &mut log_density);
        for i in 0..x.rows() {
            let weight = batch.weight(i);
            stat.weight += weight;
            stat.log_likelihood += weight * log_density[i];
            let share = &mut share[i * self.k..(i + 1) * self.k];
            share.iter_mut().for_each(|r| *r *= weight);
            simd::add_scaled(1.0, share, &mut stat.count);
        }
        x.add_transposed_matrix(&share, self.k, &mut stat.sum);
        Ok(())
    }

    fn merge(&self, left: &mut CountSums, right: CountSums) {
        left.weight += right.weight;
        left.log_likelihood += right.log_likelihood;
        simd::add_scaled(1.0, &right.count, &mut left.count);
        simd::add_scaled(1.0, &right.sum, &mut left.sum);
    }
}

impl Em for CountMixture {
    type Params = CountMixtureModel;
    type Expect = Expect<CountMixtureModel>;

    fn expect(&self, params: &CountMixtureModel) -> Result<Self::Expect> {
        Ok(Expect { k: params.weights.len(), model: params.clone() })
    }

    /// Log-likelihood and the log density of the prior, a mean over the rows.
    fn bound(&self, params: &CountMixtureModel, stat: &CountSums) -> f64 {
        let prior: f64 = params
            .theta
            .values
            .iter()
            .map(|t| match self.family {
                CountFamily::Bernoulli => t.ln() + (1.0 - t).ln(),
                CountFamily::Multinomial => t.ln(),
            })
            .sum();
        (stat.log_likelihood + self.alpha * prior) / stat.weight
    }

    fn maximise(&self, params: &CountMixtureModel, stat: CountSums) -> Result<CountMixtureModel> {
        let (k, p) = (params.theta.rows, params.theta.cols);
        let total: f64 = stat.count.iter().sum();
        let theta = Matrix::from_fn(k, p, |c, j| {
            let count = stat.sum[j * k + c] + self.alpha;
            if self.family == CountFamily::Bernoulli { count / (stat.count[c] + 2.0 * self.alpha) } else { count }
        });
        // A component without any row keeps a share that it can be found again by.
        let weights = stat.count.iter().map(|count| (count / total).max(1e-300)).collect();
        Ok(self.model(weights, theta))
    }
}

/// Shares and column probabilities of each component.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CountMixtureModel {
    pub family: CountFamily,
    pub weights: Vec<f64>,
    /// One row for each component.
    pub theta: Matrix,
    /// Objective at the end of the fit.
    pub bound: f64,
}

/// Values as the family sees them; a copy for yes and no.
struct Prepared {
    ones: Vec<f64>,
    starts: Vec<usize>,
}

impl Prepared {
    fn view<'a>(&'a self, x: &X<'a>) -> X<'a> {
        match *x {
            x if self.ones.is_empty() => x,
            X::Dense(dense) => X::Dense(crate::core::data::Dense { values: &self.ones, ..dense }),
            X::Sparse(csr) => {
                let columns = &csr.columns[csr.starts[0]..csr.starts[csr.starts.len() - 1]];
                X::Sparse(crate::core::data::Csr { starts: &self.starts, columns, values: &self.ones, cols: csr.cols })
            }
        }
    }
}

impl CountMixtureModel {
    fn prepare(&self, x: &X, first: usize) -> Result<Prepared> {
        let values = match x {
            X::Dense(x) => x.values,
            X::Sparse(x) => &x.values[x.starts[0]..x.starts[x.starts.len() - 1]],
        };
        if let (Some(at), X::Dense(x)) = (values.iter().position(|&v| v < 0.0), x) {
            let problem = format!("Negative values in data passed to CountMixture: the value is {}", values[at]);
            return Err(Error::value(first + at / x.cols, at % x.cols, problem));
        }
        if self.family == CountFamily::Multinomial {
            return Ok(Prepared { ones: Vec::new(), starts: Vec::new() });
        }
        let starts = match x {
            X::Dense(_) => Vec::new(),
            X::Sparse(x) => x.starts.iter().map(|start| start - x.starts[0]).collect(),
        };
        Ok(Prepared { ones: values.iter().map(|&v| f64::from(v > 0.0)).collect(), starts })
    }

    /// For prepared rows.
    fn responsibilities(&self, x: &X, share: &mut [f64], log_density: &mut [f64]) {
        let (k, p) = (self.theta.rows, self.theta.cols);
        let yes_no = self.family == CountFamily::Bernoulli;
        let weights = Matrix::from_fn(p, k, |j, c| {
            let t = self.theta[(c, j)];
            if yes_no { t.ln() - (1.0 - t).ln() } else { t.ln() }
        });
        let offset: Vec<f64> = (0..k)
            .map(|c| {
                let absent: f64 = if yes_no { self.theta.row(c).iter().map(|t| (1.0 - t).ln()).sum() } else { 0.0 };
                self.weights[c].ln() + absent
            })
            .collect();
        x.times_matrix(&weights.values, k, share);
        simd::vectorised(
            #[inline(always)]
            || {
                for (row, log_density) in share.chunks_exact_mut(k).zip(log_density) {
                    let mut largest = f64::NEG_INFINITY;
                    for (value, offset) in row.iter_mut().zip(&offset) {
                        *value += offset;
                        largest = largest.max(*value);
                    }
                    let mut total = 0.0;
                    for value in row.iter_mut() {
                        *value = simd::exp(*value - largest);
                        total += *value;
                    }
                    row.iter_mut().for_each(|value| *value /= total);
                    *log_density = largest + total.ln();
                }
            },
        );
    }
}

impl Model for CountMixtureModel {
    fn cols(&self) -> usize {
        self.theta.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Cluster, 1), (Output::Probability, self.weights.len()), (Output::Density, 1)]
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        let k = self.weights.len();
        let prepared = self.prepare(x, 0)?;
        let x = prepared.view(x);
        let (mut share, mut log_density) = (vec![0.0; x.rows() * k], vec![0.0; x.rows()]);
        self.responsibilities(&x, &mut share, &mut log_density);
        match output {
            Output::Density => out.copy_from_slice(&log_density),
            Output::Probability => out.copy_from_slice(&share),
            _ => {
                for (row, out) in share.chunks_exact(k).zip(out) {
                    *out = crate::bayes::first_largest(row) as f64;
                }
            }
        }
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        vec![
            ("weights_", (&self.weights).into()),
            ("probabilities_", (&self.theta).into()),
            ("lower_bound_", self.bound.into()),
        ]
    }

    fn check(&self) -> Result<()> {
        let fits = self.theta.is_consistent()
            && self.theta.rows > 0
            && self.theta.cols > 0
            && self.weights.len() == self.theta.rows;
        let (k, p) = (self.theta.rows, self.theta.cols);
        if fits {
            Ok(())
        } else {
            Err(Error::shape("stored probabilities", format!("{k} x {p}"), self.theta.values.len()))
        }
    }
}
