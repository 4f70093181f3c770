//! A mixture of normal densities by maximum likelihood, `max sum_i w_i ln sum_k pi_k N(x_i; m_k, S_k)`.
//!
//! EM (engine/em.rs). The E step and the sums of the M step are one fused pass: rows about each mean are multiplied by
//! the inverse Cholesky factor of the covariance for the distances, responsibilities follow by log-sum-exp, and
//! weighted products about the old mean give the new mean and covariance without losing digits. `reg_covar` is added to
//! variances; a component that is left with that alone has collapsed, and the log says so. Cost O(n k p^2) a pass for
//! full covariances, O(n k p) for diagonal and spherical ones; tied covariances take the scatter of all rows once.
//! Starts from k-means, k-means++, rows, random responsibilities or given arrays (`weights_init`, `means_init`,
//! `precisions_init`). Dense rows only. Not a global optimum: `n_init` starts are tried and the best is kept.

use super::{
    k_means::{Init, KMeans, Starts, assign_nearest},
    watched,
};
use crate::{
    Array, Ctx, Error, Estimator, Fit, FitLog, Info, Matrix, Model, Numbers, Output, Passes, Result, Shape, Source,
    Task, X,
    core::{
        Batch, Reduce, choice,
        data::Dense,
        linalg::{self, Cholesky},
        param::{ArrayParam, at_least, log},
        params, reduce, rng, simd,
        stats::CrossProducts,
    },
    engine::em::{self, Em, Limits, Outcome},
};
use serde::{Deserialize, Serialize};

choice! {
    /// Which covariances the components have.
    pub enum Covariance {
        /// Each its own, any shape.
        Full = "full",
        /// One for all.
        Tied = "tied",
        /// Each its own, axes along the columns.
        Diag = "diag",
        /// Each a single variance.
        Spherical = "spherical",
    }
}

choice! {
    /// How the responsibilities are initialised.
    pub enum MixtureInit {
        /// The clusters of k-means.
        KMeans = "kmeans",
        /// Nearest of the centres that k-means++ draws.
        PlusPlus = "k-means++",
        /// At random for every row.
        Random = "random",
        /// Nearest of some rows.
        RandomFromData = "random_from_data",
    }
}

params! {
    /// Mixture of Gaussians fitted by expectation-maximisation: soft clusters and a density estimate.
    pub struct GaussianMixture {
        /// Number of components.
        n_components: usize = 1, at_least(1.0), log(1.0, 32.0);
        /// Form of the covariance matrices.
        covariance_type: Covariance = Covariance::Full;
        /// Stop when a pass raises the mean log-likelihood by less than this.
        tol: f64 = 1e-3, at_least(0.0);
        /// Added to every variance, so that no component collapses.
        reg_covar: f64 = 1e-6, at_least(0.0);
        /// Maximum number of iterations of one start.
        max_iter: usize = 100, at_least(1.0);
        /// Number of starts; the best result is kept.
        n_init: usize = 1, at_least(1.0);
        /// How the responsibilities are initialised.
        init_params: MixtureInit = MixtureInit::KMeans;
        /// Initial weights of the components, as an array.
        weights_init: ArrayParam = ArrayParam;
        /// Initial means, as an array of components x columns.
        means_init: ArrayParam = ArrayParam;
        /// Initial inverse covariances, as an array shaped by `covariance_type`.
        precisions_init: ArrayParam = ArrayParam;
    }
}

impl Estimator for GaussianMixture {
    type Model = GaussianMixtureModel;

    const INFO: Info = Info {
        sparse: false,
        scale: true,
        random: true,
        ..Info::new("mixture", Task::Density, "max sum_i ln sum_k pi_k N(x_i; m_k, S_k)", Passes::Many)
    };

    fn cost(&self, shape: &Shape) -> f64 {
        1e-9 * cost(shape, self.n_components, self.covariance_type, self.max_iter, self.n_init)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<GaussianMixtureModel>> {
        let shape = data.shape();
        check_components("GaussianMixture", self.n_components, shape.rows)?;
        let problem = Problem::new(self, data, ctx)?;
        let limits = Limits { what: "mixture", max_iter: self.max_iter, tol: self.tol };
        let mut best: Option<Outcome<Mixture>> = None;
        for start in 0..self.n_init as u64 {
            let first = problem.start(data, ctx, start)?;
            let outcome = em::run(&problem, data, ctx, &limits, first)?;
            if best.as_ref().is_none_or(|best| outcome.bound > best.bound) {
                best = Some(outcome);
            }
        }
        let Outcome { params, bound, mut log } = best.expect("at least one start");
        problem.report_collapse(&params, &mut log);
        ctx.record("chosen", || problem.step(&params, bound, data));
        Ok(Fit::new(GaussianMixtureModel { mixture: params, bound }, log))
    }
}

pub(super) fn check_components(model: &str, components: usize, rows: usize) -> Result<()> {
    if rows < components.max(2) {
        return Err(Error::Data(format!(
            "{model}: {components} components need at least {} rows, and there are {rows} (n_samples)",
            components.max(2)
        )));
    }
    Ok(())
}

/// Weights, means and covariances.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mixture {
    pub covariance_type: Covariance,
    pub weights: Vec<f64>,
    /// One row for each component.
    pub means: Matrix,
    /// Full: components x p x p. Tied: p x p. Diagonal: components x p. Spherical: one for each component.
    pub covariances: Vec<f64>,
    /// Inverse Cholesky factors L^-1 (row-major, lower), or the roots of the precisions; shaped as the covariances.
    pub factors: Vec<f64>,
}

impl Mixture {
    pub(super) fn p(&self) -> usize {
        self.means.cols
    }

    /// `-ln det S_c / 2`
    pub(super) fn root_log_determinant(&self, c: usize) -> f64 {
        let p = self.p();
        let triangle = |at: usize| (0..p).map(|j| self.factors[at + j * p + j].ln()).sum::<f64>();
        match self.covariance_type {
            Covariance::Full => triangle(c * p * p),
            Covariance::Tied => triangle(0),
            Covariance::Diag => self.factors[c * p..(c + 1) * p].iter().map(|f| f.ln()).sum(),
            Covariance::Spherical => p as f64 * self.factors[c].ln(),
        }
    }

    /// `ln pi_k - p/2 ln 2 pi - ln det S_k / 2`
    pub fn constants(&self) -> Vec<f64> {
        let constant = 0.5 * self.p() as f64 * std::f64::consts::TAU.ln();
        let one = |c: usize| self.weights[c].ln() - constant + self.root_log_determinant(c);
        (0..self.weights.len()).map(one).collect()
    }

    pub(super) fn is_consistent(&self) -> bool {
        let (k, p) = (self.weights.len(), self.means.cols);
        let size = match self.covariance_type {
            Covariance::Full => k * p * p,
            Covariance::Tied => p * p,
            Covariance::Diag => k * p,
            Covariance::Spherical => k,
        };
        k > 0
            && p > 0
            && self.means.is_consistent()
            && self.means.rows == k
            && self.covariances.len() == size
            && self.factors.len() == size
    }
}

/// L^-1 of `S = L L'`, or `None` when S is not positive definite.
fn inverse_factor(covariance: &Matrix) -> Option<Matrix> {
    let p = covariance.rows;
    let lower = Cholesky::new(covariance)?.lower();
    let mut inverse = Matrix::zeros(p, p);
    for j in 0..p {
        for i in j..p {
            let known: f64 = (j..i).map(|b| lower[(i, b)] * inverse[(b, j)]).sum();
            inverse[(i, j)] = (f64::from(i == j) - known) / lower[(i, i)];
        }
    }
    inverse.values.iter().all(|value| value.is_finite()).then_some(inverse)
}

fn collapsed(component: usize, rows: f64) -> Error {
    Error::Diverged(format!(
        "the covariance of component {component}, which holds {rows:.3} rows, is not positive definite: it collapsed"
    ))
    .hint("increase reg_covar, use fewer components, or scale the columns")
}

/// Rows of one sheet: transposed in chunks of `LANES`, so that every step works on whole vectors.
const SHEET: usize = 256;
const LANES: usize = 16;

/// `out[k * SHEET + i] = ln pi_k N(x_i)` for up to a sheet of rows.
fn log_joint(mixture: &Mixture, constants: &[f64], x: &Dense, space: &mut Space) {
    let (p, rows) = (x.cols, x.rows);
    let even = p.next_multiple_of(2);
    let Space { chunk, about, joint, .. } = space;
    chunk.resize(p * LANES, 0.0);
    about.resize(even * LANES, 0.0);
    joint.resize(constants.len() * SHEET, 0.0);
    simd::vectorised(
        #[inline(always)]
        || {
            for first in (0..rows).step_by(LANES) {
                let count = LANES.min(rows - first);
                for lane in 0..LANES {
                    let row = &x.values[(first + lane.min(count - 1)) * p..][..p];
                    for j in 0..p {
                        chunk[j * LANES + lane] = row[j];
                    }
                }
                for (c, &constant) in constants.iter().enumerate() {
                    for (j, &mean) in mixture.means.row(c).iter().enumerate() {
                        for lane in 0..LANES {
                            about[j * LANES + lane] = chunk[j * LANES + lane] - mean;
                        }
                    }
                    let distance = match mixture.covariance_type {
                        Covariance::Full => triangle_distance(&mixture.factors[c * p * p..(c + 1) * p * p], p, about),
                        Covariance::Tied => triangle_distance(&mixture.factors, p, about),
                        Covariance::Diag => diagonal_distance(|j| mixture.factors[c * p + j], p, about),
                        Covariance::Spherical => diagonal_distance(|_| mixture.factors[c], p, about),
                    };
                    let out = &mut joint[c * SHEET + first..][..count];
                    for lane in 0..count {
                        out[lane] = constant - 0.5 * distance[lane];
                    }
                }
            }
        },
    );
}

/// `||L^-1 d||^2` for a chunk of rows: two rows of the triangle at a time, sums in registers.
#[inline(always)]
fn triangle_distance(factor: &[f64], p: usize, about: &[f64]) -> [f64; LANES] {
    let mut distance = [0.0; LANES];
    let mut a = 0;
    while a < p {
        let pair = a + 1 < p;
        let (top, bottom) = (&factor[a * p..(a + 1) * p], &factor[(a + usize::from(pair)) * p..][..p]);
        let (mut first, mut second) = ([0.0; LANES], [0.0; LANES]);
        for j in 0..=a {
            let d: &[f64; LANES] = about[j * LANES..(j + 1) * LANES].try_into().expect("a chunk");
            for lane in 0..LANES {
                first[lane] = top[j].mul_add(d[lane], first[lane]);
                second[lane] = bottom[j].mul_add(d[lane], second[lane]);
            }
        }
        if pair {
            let d: &[f64; LANES] = about[(a + 1) * LANES..(a + 2) * LANES].try_into().expect("a chunk");
            for lane in 0..LANES {
                second[lane] = bottom[a + 1].mul_add(d[lane], second[lane]);
                distance[lane] += second[lane] * second[lane];
            }
        }
        for lane in 0..LANES {
            distance[lane] += first[lane] * first[lane];
        }
        a += 2;
    }
    distance
}

#[inline(always)]
fn diagonal_distance(factor: impl Fn(usize) -> f64, p: usize, about: &[f64]) -> [f64; LANES] {
    let mut distance = [0.0; LANES];
    for j in 0..p {
        let factor = factor(j);
        for lane in 0..LANES {
            let z = factor * about[j * LANES + lane];
            distance[lane] = z.mul_add(z, distance[lane]);
        }
    }
    distance
}

/// Turns `ln pi_k N(x_i)` into responsibilities; `log_density[i]` becomes the log density of each row.
fn responsibilities(joint: &mut [f64], log_density: &mut [f64], k: usize, rows: usize) {
    simd::vectorised(
        #[inline(always)]
        || {
            let mut largest = [f64::NEG_INFINITY; SHEET];
            for row in joint.chunks_exact(SHEET).take(k) {
                for i in 0..rows {
                    largest[i] = if row[i] > largest[i] { row[i] } else { largest[i] };
                }
            }
            let mut total = [0.0; SHEET];
            for row in joint.chunks_exact_mut(SHEET).take(k) {
                for i in 0..rows {
                    row[i] = simd::exp(row[i] - largest[i]);
                    total[i] += row[i];
                }
            }
            for row in joint.chunks_exact_mut(SHEET).take(k) {
                for i in 0..rows {
                    row[i] /= total[i];
                }
            }
            for i in 0..rows {
                log_density[i] = largest[i] + total[i].ln();
            }
        },
    );
}

#[derive(Default)]
pub(super) struct Space {
    chunk: Vec<f64>,
    about: Vec<f64>,
    joint: Vec<f64>,
    packed: Vec<f64>,
}

/// What the M step needs, about the means of the E step.
#[derive(Serialize, Deserialize)]
pub(super) struct Sums {
    pub weight: f64,
    pub log_likelihood: f64,
    /// Total responsibility of each component.
    pub count: Vec<f64>,
    /// `sum r (x - m)`, one padded row for each component.
    pub sum: Matrix,
    /// Full: `sum r (x - m)(x - m)'` (padded, lower). Diagonal, spherical: `sum r (x - m)^2` (padded). Tied: nothing.
    pub scatter: Vec<f64>,
    #[serde(skip)]
    space: Space,
}

/// Where responsibilities come from.
enum Rule<'a> {
    Posterior(Vec<f64>),
    /// All to the nearest of these.
    Nearest(&'a Matrix),
    /// At random, by row.
    Random(u64),
}

/// The sum behind an E step.
pub(super) struct Expect<'a> {
    mixture: Mixture,
    rule: Rule<'a>,
}

impl<'a> Expect<'a> {
    pub fn new(mixture: Mixture) -> Self {
        let constants = mixture.constants();
        Expect::with(mixture, constants)
    }

    /// With other constants than those of plain densities.
    pub fn with(mixture: Mixture, constants: Vec<f64>) -> Self {
        Expect { mixture, rule: Rule::Posterior(constants) }
    }

    fn k(&self) -> usize {
        self.mixture.weights.len()
    }
}

impl Reduce for Expect<'_> {
    type Stat = Sums;

    fn zero(&self) -> Sums {
        let (k, stride) = (self.k(), linalg::padded(self.mixture.p()));
        let scatter = match self.mixture.covariance_type {
            Covariance::Full => k * stride * stride,
            Covariance::Tied => 0,
            _ => k * stride,
        };
        Sums {
            weight: 0.0,
            log_likelihood: 0.0,
            count: vec![0.0; k],
            sum: Matrix::zeros(k, stride),
            scatter: vec![0.0; scatter],
            space: Space::default(),
        }
    }

    fn add(&self, stat: &mut Sums, batch: &Batch) -> Result<()> {
        batch.x.check_finite(batch.first)?;
        let X::Dense(x) = batch.x else {
            return Err(Error::Unsupported("Gaussian mixtures support dense rows only".into()));
        };
        for first in (0..x.rows).step_by(SHEET) {
            let rows = SHEET.min(x.rows - first);
            let sheet = Dense { values: &x.values[first * x.cols..(first + rows) * x.cols], rows, cols: x.cols };
            self.add_sheet(stat, &sheet, &batch.slice(first..first + rows))?;
        }
        Ok(())
    }

    fn close(&self, stat: &mut Sums) {
        stat.space = Space::default();
    }

    fn merge(&self, left: &mut Sums, right: Sums) {
        left.weight += right.weight;
        left.log_likelihood += right.log_likelihood;
        simd::add_scaled(1.0, &right.count, &mut left.count);
        simd::add_scaled(1.0, &right.sum.values, &mut left.sum.values);
        simd::add_scaled(1.0, &right.scatter, &mut left.scatter);
    }
}

impl Expect<'_> {
    fn add_sheet(&self, stat: &mut Sums, x: &Dense, batch: &Batch) -> Result<()> {
        let (k, p, rows) = (self.k(), x.cols, x.rows);
        let stride = linalg::padded(p);
        let mut log_density = [0.0; SHEET];
        match &self.rule {
            Rule::Posterior(constants) => {
                log_joint(&self.mixture, constants, x, &mut stat.space);
                responsibilities(&mut stat.space.joint, &mut log_density, k, rows);
            }
            Rule::Nearest(centres) => {
                stat.space.joint.clear();
                stat.space.joint.resize(k * SHEET, 0.0);
                for i in 0..rows {
                    stat.space.joint[assign_nearest(&batch.x.row(i), centres) * SHEET + i] = 1.0;
                }
            }
            Rule::Random(seed) => {
                stat.space.joint.resize(k * SHEET, 0.0);
                for i in 0..rows {
                    let draw =
                        |c: usize| rng::unit(rng::key(*seed, "responsibility", ((batch.first + i) * k + c) as u64));
                    let total: f64 = (0..k).map(draw).sum();
                    (0..k).for_each(|c| stat.space.joint[c * SHEET + i] = draw(c) / total.max(f64::MIN_POSITIVE));
                }
            }
        }
        for i in 0..rows {
            stat.weight += batch.weight(i);
            stat.log_likelihood += batch.weight(i) * log_density[i];
        }
        if let Some(weights) = batch.weights {
            for row in stat.space.joint.chunks_exact_mut(SHEET) {
                row.iter_mut().zip(weights).for_each(|(r, weight)| *r *= weight);
            }
        }
        let Sums { count, sum, scatter, space: Space { joint, packed, .. }, .. } = stat;
        packed.clear();
        packed.resize(rows * stride, 0.0);
        for c in 0..k {
            let share = &joint[c * SHEET..c * SHEET + rows];
            let mean = self.mixture.means.row(c);
            let sum = sum.row_mut(c);
            simd::vectorised(
                #[inline(always)]
                || {
                    for i in 0..rows {
                        let (row, packed) = (&x.values[i * p..(i + 1) * p], &mut packed[i * stride..i * stride + p]);
                        let root = share[i].sqrt();
                        count[c] += share[i];
                        for j in 0..p {
                            let d = root * (row[j] - mean[j]);
                            packed[j] = d;
                            sum[j] += root * d;
                        }
                    }
                },
            );
            match self.mixture.covariance_type {
                Covariance::Full => {
                    linalg::add_gram(packed, stride, &mut scatter[c * stride * stride..(c + 1) * stride * stride]);
                }
                Covariance::Tied => {}
                Covariance::Diag | Covariance::Spherical => simd::vectorised(
                    #[inline(always)]
                    || {
                        let scatter = &mut scatter[c * stride..(c + 1) * stride];
                        for row in packed.chunks_exact(stride) {
                            scatter.iter_mut().zip(row).for_each(|(s, d)| *s += d * d);
                        }
                    },
                ),
            }
        }
        Ok(())
    }
}

/// What stays the same from pass to pass.
pub(super) struct Problem<'a> {
    params: &'a GaussianMixture,
    /// Mean and (lower) scatter of all rows, for tied covariances.
    mean: Vec<f64>,
    scatter: Matrix,
}

impl<'a> Problem<'a> {
    pub fn new(params: &'a GaussianMixture, data: &dyn Source, ctx: &Ctx) -> Result<Self> {
        let cols = data.shape().cols;
        if params.covariance_type != Covariance::Tied {
            return Ok(Problem { params, mean: vec![0.0; cols], scatter: Matrix::default() });
        }
        let gram = reduce(ctx, data, &CrossProducts { cols, targets: 0 })?;
        Ok(Problem { params, mean: gram.mean, scatter: gram.scatter })
    }

    /// Sums under responsibilities that do not need parameters, and the means about which they were taken. They are the
    /// nearest of `nearest`, or else as `init_params` says.
    pub fn first(&self, data: &dyn Source, ctx: &Ctx, start: u64, nearest: Option<&Matrix>) -> Result<(Matrix, Sums)> {
        let (k, p, kind) = (self.params.n_components, data.shape().cols, self.params.covariance_type);
        let child = ctx.child("mixture start", start);
        let centred = |init: Init, max_iter: usize| -> Result<Matrix> {
            let n_init = Starts::Number(1);
            let k_means = KMeans { n_clusters: k, init, n_init, max_iter, ..KMeans::default() };
            if max_iter == 0 {
                k_means.first_centres(data, &child)
            } else {
                Ok(k_means.fit(data, &child)?.model.centres)
            }
        };
        let centres = match self.params.init_params {
            _ if nearest.is_some() => nearest.cloned(),
            MixtureInit::KMeans => Some(centred(Init::PlusPlus, 300)?),
            MixtureInit::PlusPlus => Some(centred(Init::PlusPlus, 0)?),
            MixtureInit::RandomFromData => Some(centred(Init::Random, 0)?),
            MixtureInit::Random => None,
        };
        // The means about which the first sums are taken: any will do, near ones keep digits.
        let about = match &centres {
            Some(centres) => centres.clone(),
            None => {
                let moments = reduce(ctx, data, &crate::core::stats::ColumnMoments { cols: p })?;
                Matrix::from_fn(k, p, |_, j| moments.mean[j])
            }
        };
        let blank = Mixture {
            covariance_type: kind,
            weights: vec![1.0 / k as f64; k],
            means: about,
            covariances: Vec::new(),
            factors: Vec::new(),
        };
        let rule = match &centres {
            Some(centres) => Rule::Nearest(centres),
            None => Rule::Random(child.seed),
        };
        let expect = Expect { mixture: blank.clone(), rule };
        let stat = reduce(ctx, data, &expect)?;
        Ok((blank.means, stat))
    }

    /// Responsibilities that do not need parameters, then one M step; given arrays replace what it finds.
    fn start(&self, data: &dyn Source, ctx: &Ctx, start: u64) -> Result<Mixture> {
        let (k, p, kind) = (self.params.n_components, data.shape().cols, self.params.covariance_type);
        let shaped = |name: &str, rows: usize, cols: usize| match ctx.start(name) {
            Some(given) if given.values.len() != rows * cols => {
                Err(Error::shape(name, format!("{rows} x {cols}"), format!("{} x {}", given.rows, given.cols)))
            }
            given => Ok(given),
        };
        let weights = shaped("weights_init", 1, k)?;
        let means = shaped("means_init", k, p)?;
        let precisions = match kind {
            Covariance::Full => shaped("precisions_init", k * p, p)?,
            Covariance::Tied => shaped("precisions_init", p, p)?,
            Covariance::Diag => shaped("precisions_init", k, p)?,
            Covariance::Spherical => shaped("precisions_init", k, 1)?,
        };
        let (about, stat) = self.first(data, ctx, start, None)?;
        let mut mixture = self.update(&about, stat)?;
        if let Some(weights) = weights {
            mixture.weights.copy_from_slice(&weights.values);
        }
        if let Some(means) = means {
            mixture.means.values.copy_from_slice(&means.values);
        }
        if let Some(precisions) = precisions {
            mixture.covariances = match kind {
                Covariance::Full | Covariance::Tied => {
                    let mut all = Vec::new();
                    for (c, block) in precisions.values.chunks_exact(p * p).enumerate() {
                        let matrix = Matrix::new(block.to_vec(), p, p);
                        let refused = || Error::Data(format!("precisions_init: matrix {c} is not positive definite"));
                        all.extend(Cholesky::new(&matrix).ok_or_else(refused)?.inverse().values);
                    }
                    all
                }
                _ => precisions.values.iter().map(|value| 1.0 / value).collect(),
            };
            self.factor(&mut mixture, &vec![0.0; k])?;
        }
        Ok(mixture)
    }

    /// The M step, for sums about `old` means.
    fn update(&self, old: &Matrix, stat: Sums) -> Result<Mixture> {
        let (_, mut mixture) = self.moments(old, &stat);
        self.factor(&mut mixture, &stat.count)?;
        Ok(mixture)
    }

    /// Rows, means and covariances of the components, the latter not factored yet.
    pub fn moments(&self, old: &Matrix, stat: &Sums) -> (Vec<f64>, Mixture) {
        let (k, p) = (old.rows, old.cols);
        let (stride, kind, reg) = (linalg::padded(p), self.params.covariance_type, self.params.reg_covar);
        let count: Vec<f64> = stat.count.iter().map(|count| count + 10.0 * f64::EPSILON).collect();
        let total: f64 = count.iter().sum();
        let step = Matrix::from_fn(k, p, |c, j| stat.sum[(c, j)] / count[c]);
        let means = Matrix::from_fn(k, p, |c, j| old[(c, j)] + step[(c, j)]);
        let covariances: Vec<f64> = match kind {
            Covariance::Full => {
                let mut all = vec![0.0; k * p * p];
                for c in 0..k {
                    for i in 0..p {
                        for j in 0..=i {
                            let product = stat.scatter[(c * stride + i) * stride + j] / count[c];
                            let value = product - step[(c, i)] * step[(c, j)] + if i == j { reg } else { 0.0 };
                            all[(c * p + i) * p + j] = value;
                            all[(c * p + j) * p + i] = value;
                        }
                    }
                }
                all
            }
            Covariance::Tied => {
                let mut covariance = self.scatter.clone();
                for c in 0..k {
                    for i in 0..p {
                        let from = count[c] * (means[(c, i)] - self.mean[i]);
                        (0..=i).for_each(|j| covariance[(i, j)] -= from * (means[(c, j)] - self.mean[j]));
                    }
                }
                covariance.values.iter_mut().for_each(|value| *value /= total);
                (0..p).for_each(|j| covariance[(j, j)] += reg);
                covariance.mirror();
                covariance.values
            }
            _ => {
                let diagonal = Matrix::from_fn(k, p, |c, j| {
                    (stat.scatter[c * stride + j] / count[c] - step[(c, j)] * step[(c, j)]).max(0.0) + reg
                });
                match kind {
                    Covariance::Diag => diagonal.values,
                    _ => (0..k).map(|c| diagonal.row(c).iter().sum::<f64>() / p as f64).collect(),
                }
            }
        };
        let weights = count.iter().map(|count| count / total).collect();
        (count, Mixture { covariance_type: kind, weights, means, covariances, factors: Vec::new() })
    }

    pub fn factor(&self, mixture: &mut Mixture, count: &[f64]) -> Result<()> {
        let p = mixture.p();
        mixture.factors = match mixture.covariance_type {
            Covariance::Full | Covariance::Tied => {
                let mut factors = Vec::with_capacity(mixture.covariances.len());
                for (c, block) in mixture.covariances.chunks_exact(p * p).enumerate() {
                    let factor = inverse_factor(&Matrix::new(block.to_vec(), p, p));
                    factors.extend(factor.ok_or_else(|| collapsed(c, count[c]))?.values);
                }
                factors
            }
            kind => {
                let width = if kind == Covariance::Diag { p } else { 1 };
                if let Some(at) = mixture.covariances.iter().position(|&v| !(v > 0.0)) {
                    return Err(collapsed(at / width, count[at / width]));
                }
                mixture.covariances.iter().map(|v| 1.0 / v.sqrt()).collect()
            }
        };
        Ok(())
    }

    /// A component that hardly holds a row more than it has dimensions lives on `reg_covar` alone.
    fn report_collapse(&self, mixture: &Mixture, log: &mut FitLog) {
        let p = mixture.p();
        for c in 0..mixture.weights.len() {
            let variances: Vec<f64> = match mixture.covariance_type {
                Covariance::Full => (0..p).map(|j| mixture.covariances[(c * p + j) * p + j]).collect(),
                Covariance::Tied => continue,
                Covariance::Diag => mixture.covariances[c * p..(c + 1) * p].to_vec(),
                Covariance::Spherical => vec![mixture.covariances[c]],
            };
            if self.params.reg_covar > 0.0 && variances.iter().all(|&v| v <= 2.0 * self.params.reg_covar) {
                log.notes.push(format!(
                    "component {c} collapsed onto a point (share {:.2e} of the rows): its variance is reg_covar alone",
                    mixture.weights[c]
                ));
            }
        }
    }
}

impl<'a> Em for Problem<'a> {
    type Params = Mixture;
    type Expect = Expect<'static>;

    fn expect(&self, params: &Mixture) -> Result<Expect<'static>> {
        Ok(Expect::new(params.clone()))
    }

    fn bound(&self, _: &Mixture, stat: &Sums) -> f64 {
        stat.log_likelihood / stat.weight
    }

    fn maximise(&self, params: &Mixture, stat: Sums) -> Result<Mixture> {
        self.update(&params.means, stat)
    }

    fn step(&self, params: &Mixture, bound: f64, data: &dyn Source) -> Vec<(&'static str, Matrix)> {
        watched::mixture(params, bound, data)
    }
}

/// A fitted mixture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GaussianMixtureModel {
    pub mixture: Mixture,
    /// Mean log-likelihood of the fitted rows.
    pub bound: f64,
}

impl GaussianMixtureModel {
    /// Parameters that were free to choose.
    pub fn free_parameters(&self) -> usize {
        let (k, p) = (self.mixture.weights.len(), self.mixture.p());
        let covariances = match self.mixture.covariance_type {
            Covariance::Full => k * p * (p + 1) / 2,
            Covariance::Tied => p * (p + 1) / 2,
            Covariance::Diag => k * p,
            Covariance::Spherical => k,
        };
        covariances + k * p + k - 1
    }

    /// Akaike's criterion for `rows` rows of mean log-likelihood `score`: smaller is better.
    pub fn aic(&self, score: f64, rows: f64) -> f64 {
        -2.0 * score * rows + 2.0 * self.free_parameters() as f64
    }

    /// Schwarz's criterion, which charges a parameter ln(rows) instead of 2.
    pub fn bic(&self, score: f64, rows: f64) -> f64 {
        -2.0 * score * rows + self.free_parameters() as f64 * rows.ln()
    }

    /// Draws rows, with the component of each.
    pub fn sample(&self, rows: usize, ctx: &Ctx) -> Result<(Matrix, Vec<usize>)> {
        let (mixture, p) = (&self.mixture, self.mixture.p());
        let mut rng = ctx.rng("mixture sample", 0);
        let not_definite = || Error::Data("a stored covariance is not positive definite".into());
        let factors: Vec<Matrix> = match mixture.covariance_type {
            Covariance::Full | Covariance::Tied => mixture
                .covariances
                .chunks_exact(p * p)
                .map(|block| {
                    Cholesky::new(&Matrix::new(block.to_vec(), p, p)).map(|c| c.lower()).ok_or_else(not_definite)
                })
                .collect::<Result<_>>()?,
            _ => Vec::new(),
        };
        let mut out = Matrix::zeros(rows, p);
        let mut components = Vec::with_capacity(rows);
        for i in 0..rows {
            let mut left = rng.uniform();
            let mut c = 0;
            while c + 1 < mixture.weights.len() && left >= mixture.weights[c] {
                left -= mixture.weights[c];
                c += 1;
            }
            let z: Vec<f64> = (0..p).map(|_| rng.normal()).collect();
            for j in 0..p {
                let offset = match mixture.covariance_type {
                    Covariance::Full => simd::dot(&factors[c].row(j)[..j + 1], &z[..j + 1]),
                    Covariance::Tied => simd::dot(&factors[0].row(j)[..j + 1], &z[..j + 1]),
                    Covariance::Diag => mixture.covariances[c * p + j].sqrt() * z[j],
                    Covariance::Spherical => mixture.covariances[c].sqrt() * z[j],
                };
                out[(i, j)] = mixture.means[(c, j)] + offset;
            }
            components.push(c);
        }
        Ok((out, components))
    }
}

/// Component, responsibilities or log density of each row.
pub(super) fn predict_mixture(
    mixture: &Mixture,
    constants: &[f64],
    x: &X,
    output: Output,
    out: &mut [f64],
) -> Result<()> {
    let X::Dense(x) = x else {
        return Err(Error::Unsupported("Gaussian mixtures support dense rows only".into()));
    };
    let k = mixture.weights.len();
    let mut space = Space::default();
    for first in (0..x.rows).step_by(SHEET) {
        let rows = SHEET.min(x.rows - first);
        let sheet = Dense { values: &x.values[first * x.cols..(first + rows) * x.cols], rows, cols: x.cols };
        log_joint(mixture, constants, &sheet, &mut space);
        let mut log_density = [0.0; SHEET];
        responsibilities(&mut space.joint, &mut log_density, k, rows);
        for i in 0..rows {
            let share = |c: usize| space.joint[c * SHEET + i];
            match output {
                Output::Density => out[first + i] = log_density[i],
                Output::Probability => (0..k).for_each(|c| out[(first + i) * k + c] = share(c)),
                _ => out[first + i] = (1..k).fold(0, |best, c| if share(c) > share(best) { c } else { best }) as f64,
            }
        }
    }
    Ok(())
}

/// Covariances, precisions and their factors in scikit-learn's shapes.
pub(super) fn mixture_attributes(mixture: &Mixture) -> Vec<(&'static str, Array)> {
    let (k, p) = (mixture.weights.len(), mixture.p());
    let shape = match mixture.covariance_type {
        Covariance::Full => vec![k, p, p],
        Covariance::Tied => vec![p, p],
        Covariance::Diag => vec![k, p],
        Covariance::Spherical => vec![k],
    };
    let array = |values: Vec<f64>| Array { shape: shape.clone(), values: Numbers::Float(values) };
    let (factors, precisions): (Vec<f64>, Vec<f64>) = match mixture.covariance_type {
        Covariance::Full | Covariance::Tied => {
            let (mut factors, mut precisions) = (Vec::new(), Vec::new());
            for block in mixture.factors.chunks_exact(p * p) {
                let factor = Matrix::new(block.to_vec(), p, p);
                precisions.extend(factor.transposed().times(&factor).values);
                factors.extend(factor.transposed().values);
            }
            (factors, precisions)
        }
        _ => (mixture.factors.clone(), mixture.factors.iter().map(|f| f * f).collect()),
    };
    vec![
        ("weights_", (&mixture.weights).into()),
        ("means_", (&mixture.means).into()),
        ("covariances_", array(mixture.covariances.clone())),
        ("precisions_", array(precisions)),
        ("precisions_cholesky_", array(factors)),
    ]
}

impl Model for GaussianMixtureModel {
    fn cols(&self) -> usize {
        self.mixture.p()
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Cluster, 1), (Output::Probability, self.mixture.weights.len()), (Output::Density, 1)]
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        predict_mixture(&self.mixture, &self.mixture.constants(), x, output, out)
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let mut attributes = mixture_attributes(&self.mixture);
        attributes.push(("lower_bound_", self.bound.into()));
        attributes
    }

    fn check(&self) -> Result<()> {
        if self.mixture.is_consistent() {
            return Ok(());
        }
        let (k, p) = (self.mixture.weights.len(), self.mixture.means.cols);
        Err(Error::shape("stored mixture", format!("{k} components of {p} columns"), self.mixture.covariances.len()))
    }
}

/// Nanoseconds of EM from `starts` starts with this many components: passes over all rows, each about every component.
pub fn cost(shape: &Shape, components: usize, covariance: Covariance, max_iter: usize, starts: usize) -> f64 {
    let (n, p, _) = shape.sizes();
    let products = match covariance {
        Covariance::Full => 0.25 * p,
        Covariance::Tied => 0.15 * p,
        Covariance::Diag | Covariance::Spherical => 0.0,
    };
    // One component is at its best after the first pass.
    let passes = if components == 1 { 2.0 } else { 30.0f64.min(max_iter as f64) };
    2e5 + starts as f64 * passes * components as f64 * n * (200.0 + p * (1.0 + products))
}
