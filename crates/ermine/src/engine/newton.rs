//! Models with one raw score a row, s = w.x + b: `min mean_i loss(y_i, s_i) + l2/2 ||w||^2 + l1 ||w||_1`, the intercept free.
//!
//! Method. Not too many columns: Newton's, each pass summing loss, gradient and Hessian at once; with an L1 part the step is
//! the minimum of the quadratic model plus the penalty, by coordinate descent on the Hessian (proximal Newton: Lee, Sun and
//! Saunders 2014). Many rows start from the solution on every sixteenth block of them, so that three or four full passes do.
//! Many columns: L-BFGS (orthant-wise with an L1 part) with loss and gradient fused, scaled by the curvature of each column.
//! Columns are centred inside and the intercept takes up the difference, so an offset of the data costs no digits.
//!
//! Cost O(n p^2) a Newton pass, O(n p) an L-BFGS pass. Everything is a sum: any source, any number of workers.

use super::{
    coordinate,
    lbfgs::{self, Objective, Options, Outcome, largest},
    loss::PointLoss,
};
use crate::{
    Ctx, Error, Matrix, Result, Shape, Source, Stop,
    core::{
        Batch, Reduce, Target,
        ctx::Progress,
        data::Row,
        kernel,
        linalg::{self, Cholesky},
        reduce,
        reduce::block_rows,
        stats::Moments,
    },
};
use serde::{Deserialize, Serialize};

/// Above this many columns a Hessian costs more than it saves.
pub const NEWTON_COLUMNS: usize = 600;

/// A column that enters the score with coefficient one, as it is or by its logarithm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Offset {
    pub column: usize,
    pub log: bool,
}

impl Offset {
    pub fn of(&self, row: &Row) -> f64 {
        let value = match *row {
            Row::Dense(row) => row[self.column],
            Row::Sparse { columns, values } => {
                columns.binary_search(&(self.column as u32)).map_or(0.0, |place| values[place])
            }
        };
        if self.log { value.ln() } else { value }
    }
}

pub struct Scores<'a, L> {
    pub data: &'a dyn Source,
    pub ctx: &'a Ctx,
    pub loss: L,
    pub moments: &'a Moments,
    /// Penalties of the mean objective.
    pub l1: f64,
    pub l2: f64,
    pub intercept: bool,
    pub offset: Option<Offset>,
    pub tolerance: f64,
    pub max_iter: usize,
    /// Typical curvature of the loss at the start, for the metric of L-BFGS.
    pub curvature: f64,
}

impl<L: PointLoss> Scores<'_, L> {
    fn cols(&self) -> usize {
        self.moments.mean.len()
    }

    /// What columns are centred by: nothing when there is no intercept to take it up.
    fn centre(&self) -> Vec<f64> {
        if self.intercept { self.moments.mean.clone() } else { vec![0.0; self.cols()] }
    }

    /// From (w, b) in centred columns to the minimum.
    pub fn minimise(&self, start: Vec<f64>) -> Result<Outcome> {
        if self.cols() > NEWTON_COLUMNS {
            return self.lbfgs(start);
        }
        let rows = self.data.shape().rows;
        // A sixteenth of the rows gives a start that is right to a few per cent at a sixteenth of the price.
        let start = if rows > 16 * 100 * (self.cols() + 1).max(40) {
            self.newton(start.clone(), 16, 1e-3).map_or(start, |outcome| outcome.w)
        } else {
            start
        };
        self.newton(start, 1, self.tolerance)
    }

    /// Intercept in original columns from (w, b) in centred ones.
    pub fn intercept_of(&self, w: &[f64]) -> f64 {
        let p = self.cols();
        if self.intercept { w[p] - kernel::dot(&w[..p], &self.moments.mean) } else { 0.0 }
    }

    fn penalty(&self, w: &[f64]) -> f64 {
        0.5 * self.l2 * kernel::dot(w, w) + self.l1 * w.iter().map(|w| w.abs()).sum::<f64>()
    }

    /// Newton's method on every `every`-th block of rows.
    fn newton(&self, mut theta: Vec<f64>, every: usize, tolerance: f64) -> Result<Outcome> {
        let p = self.cols();
        let centre = self.centre();
        let free = |j: usize| j < p && self.offset.is_none_or(|offset| offset.column != j);
        let at = |theta: &[f64]| -> Result<Curvature> {
            let sum = Curvatures { scores: self, theta, centre: &centre, every };
            let mut at = reduce(self.ctx, self.data, &sum)?;
            let total = at.weight;
            at.loss = at.loss / total + self.penalty(&theta[..p]);
            at.gradient.iter_mut().for_each(|g| *g /= total);
            at.hessian.iter_mut().for_each(|h| *h /= total);
            let stride = linalg::padded(p + 1);
            for j in 0..p {
                at.gradient[j] += self.l2 * theta[j];
                at.hessian[j * stride + j] += self.l2;
            }
            for j in (0..p).filter(|&j| !free(j)) {
                at.gradient[j] = 0.0;
                at.hessian[j * stride + j] = 1.0;
            }
            if !self.intercept {
                at.gradient[p] = 0.0;
                at.hessian[p * stride + p] = 1.0;
            }
            Ok(at)
        };
        let mut here = at(&theta)?;
        if !here.loss.is_finite() {
            let hint = "take a link that keeps means in range, such as log";
            return Err(Error::Diverged("the loss is not finite at the start of the fit".into()).hint(hint));
        }
        let slope_left = |theta: &[f64], here: &Curvature| subgradient(theta, &here.gradient, self.l1, p);
        let mut left = slope_left(&theta, &here);
        let mut path = vec![here.loss];
        let mut stop = Stop::MaxIter;
        'newton: for iteration in 0..self.max_iter {
            if left <= tolerance {
                stop = Stop::Converged;
                break;
            }
            let step = if self.l1 > 0.0 { here.proximal_step(&theta, self.l1, p) } else { here.newton_step(p + 1) };
            // What the linear model promises: g.d, and the change of the kinked penalty.
            let kinked = |theta: &[f64]| self.l1 * theta[..p].iter().map(|w| w.abs()).sum::<f64>();
            let end: Vec<f64> = theta.iter().zip(&step).map(|(w, d)| w + d).collect();
            let promised = -kernel::dot(&step, &here.gradient) + kinked(&theta) - kinked(&end);
            let mut length = 1.0;
            let (moved, there) = loop {
                let moved: Vec<f64> = theta.iter().zip(&step).map(|(w, d)| w + length * d).collect();
                let there = at(&moved)?;
                let noise = here.loss.abs() * 4.0 * f64::EPSILON;
                if there.loss <= here.loss - 1e-4 * length * promised + noise {
                    break (moved, there);
                }
                length *= 0.5;
                if length < 1e-10 {
                    stop = Stop::NoProgress;
                    break 'newton;
                }
            };
            let now = slope_left(&moved, &there);
            // At the floor of rounding the loss stands still while the gradient may still improve.
            if there.loss >= here.loss && now >= left {
                stop = Stop::NoProgress;
                break;
            }
            (theta, here, left) = (moved, there, now);
            path.push(here.loss);
            if every == 1 {
                let progress = Progress { what: "newton", step: iteration + 1, of: None, value: Some(here.loss) };
                self.ctx.progress(progress);
            }
        }
        if stop == Stop::MaxIter && left <= tolerance {
            stop = Stop::Converged;
        }
        Ok(Outcome { gradient_norm: left, w: theta, path, stop })
    }

    fn lbfgs(&self, start: Vec<f64>) -> Result<Outcome> {
        let p = self.cols();
        let mut metric: Vec<f64> = (0..p)
            .map(|j| {
                let spread = self.moments.variance(j) + if self.intercept { 0.0 } else { self.moments.mean[j].powi(2) };
                1.0 / (self.curvature * spread + self.l2).max(f64::MIN_POSITIVE)
            })
            .collect();
        metric.push(1.0 / self.curvature);
        // A column without spread has no curvature of its own.
        let ceiling = metric.iter().copied().filter(|m| *m < 1e300).fold(0.0, f64::max);
        metric.iter_mut().for_each(|m| *m = m.min(ceiling));
        let step = |step, value| {
            self.ctx.progress(Progress { what: "l-bfgs", step, of: Some(self.max_iter), value: Some(value) });
        };
        let options = Options { max_iter: self.max_iter, tolerance: self.tolerance, metric: &metric, step: &step };
        if self.l1 > 0.0 {
            let l1: Vec<f64> = (0..=p).map(|j| if j < p { self.l1 } else { 0.0 }).collect();
            return lbfgs::minimise_l1(self, start, &l1, &options);
        }
        lbfgs::minimise(self, start, &options)
    }
}

/// The largest component of the least sub-gradient of f + l1 ||w||_1, given that of f.
pub fn subgradient(theta: &[f64], gradient: &[f64], l1: f64, p: usize) -> f64 {
    let kinked = |j: usize| match theta[j] {
        0.0 => (gradient[j].abs() - l1).max(0.0),
        w => (gradient[j] + l1 * w.signum()).abs(),
    };
    let kinked = (0..p).map(kinked).fold(0.0, f64::max);
    largest(&gradient[p..]).max(kinked)
}

/// The target of a batch as numbers.
fn targets<'a>(batch: &Batch<'a>, buffer: &'a mut Vec<f64>) -> &'a [f64] {
    match batch.y {
        Target::Class { codes, .. } => {
            buffer.clear();
            buffer.extend(codes.iter().map(|&code| f64::from(code)));
            buffer
        }
        _ => batch.y.real(),
    }
}

/// Loss, gradient and Hessian at `theta` = (w, b), in centred columns.
struct Curvatures<'a, 'b, L> {
    scores: &'a Scores<'b, L>,
    theta: &'a [f64],
    centre: &'a [f64],
    /// Only every so-many-th block of rows counts.
    every: usize,
}

#[derive(Serialize, Deserialize)]
pub struct Curvature {
    weight: f64,
    loss: f64,
    gradient: Vec<f64>,
    /// Lower triangle, padded.
    hessian: Vec<f64>,
    #[serde(skip)]
    packed: Vec<f64>,
}

impl Curvature {
    pub fn zero(n: usize) -> Self {
        let stride = linalg::padded(n);
        Curvature {
            weight: 0.0,
            loss: 0.0,
            gradient: vec![0.0; n],
            hessian: vec![0.0; stride * stride],
            packed: Vec::new(),
        }
    }

    pub fn merge(&mut self, right: Curvature) {
        self.weight += right.weight;
        self.loss += right.loss;
        kernel::add_scaled(1.0, &right.gradient, &mut self.gradient);
        kernel::add_scaled(1.0, &right.hessian, &mut self.hessian);
    }

    fn newton_step(&self, n: usize) -> Vec<f64> {
        newton_step(&self.hessian, linalg::padded(n), &self.gradient)
    }

    /// The minimum of the quadratic model plus l1 ||w||_1, minus where we are.
    fn proximal_step(&self, theta: &[f64], l1: f64, p: usize) -> Vec<f64> {
        let n = p + 1;
        let stride = linalg::padded(n);
        let gram = Matrix::from_fn(n, n, |i, j| {
            let value = if j <= i { self.hessian[i * stride + j] } else { self.hessian[j * stride + i] };
            // A flat direction must not let a coordinate run away.
            if i == j { value * (1.0 + 1e-12) + f64::MIN_POSITIVE } else { value }
        });
        let mut linear: Vec<f64> = self.gradient.iter().map(|g| -g).collect();
        for i in 0..n {
            linear[i] += kernel::dot(gram.row(i), theta);
        }
        let penalties: Vec<f64> = (0..n).map(|j| if j < p { l1 } else { 0.0 }).collect();
        let problem = coordinate::Quadratic { gram: &gram, linear: &linear, l1: &penalties, l2: 0.0, positive: false };
        let mut w = theta.to_vec();
        let scale = self.loss.abs().max(f64::MIN_POSITIVE);
        problem.descend(&mut w, scale * 1e-16, 2000);
        w.iter().zip(theta).map(|(new, old)| new - old).collect()
    }
}

/// Solves H d = -g with columns brought to unit curvature, adding to the diagonal only if that is what it takes.
pub fn newton_step(hessian: &[f64], stride: usize, gradient: &[f64]) -> Vec<f64> {
    let n = gradient.len();
    let scale: Vec<f64> = (0..n).map(|i| hessian[i * stride + i].max(f64::MIN_POSITIVE).sqrt()).collect();
    let scaled = |i: usize, j: usize| hessian[i * stride + j] / (scale[i] * scale[j]);
    let mut ridge = 0.0;
    loop {
        let a =
            Matrix::from_fn(n, n, |i, j| if j <= i { scaled(i, j) + if i == j { ridge } else { 0.0 } } else { 0.0 });
        let usable = |cholesky: &Cholesky| cholesky.condition() < 1e15;
        let cholesky = Cholesky::new(&a).filter(usable);
        // Numbers that are not finite have no factor however much is added.
        if cholesky.is_none() && ridge < 1e6 {
            ridge = f64::max(1e-14, ridge * 100.0);
            continue;
        }
        let mut step: Vec<f64> = (0..n).map(|i| -gradient[i] / scale[i]).collect();
        if let Some(cholesky) = cholesky {
            cholesky.solve(&mut step, 1);
        }
        step.iter_mut().zip(&scale).for_each(|(d, s)| *d /= s);
        return step;
    }
}

impl<L: PointLoss> Reduce for Curvatures<'_, '_, L> {
    type Stat = Curvature;

    fn zero(&self) -> Curvature {
        Curvature::zero(self.theta.len())
    }

    fn add(&self, stat: &mut Curvature, batch: &Batch) -> Result<()> {
        let p = self.centre.len();
        let stride = linalg::padded(p + 1);
        if !(batch.first / block_rows(p)).is_multiple_of(self.every) {
            return Ok(());
        }
        let (w, shift) = (&self.theta[..p], self.theta[p] - kernel::dot(self.centre, &self.theta[..p]));
        let mut buffer = Vec::new();
        let y = targets(batch, &mut buffer);
        // A sheet of packed rows stays in the cache between packing and multiplying.
        let sheet = linalg::sheet_rows(stride);
        let (mut score, mut residual, mut root) = (vec![0.0; sheet], vec![0.0; sheet], vec![0.0; sheet]);
        for first in (0..batch.rows()).step_by(sheet) {
            let part = batch.slice(first..(first + sheet).min(batch.rows()));
            let n = part.rows();
            part.x.times_vector(w, &mut score[..n]);
            if let Some(offset) = self.scores.offset {
                for i in 0..n {
                    score[i] += offset.of(&part.x.row(i));
                }
            }
            let y = &y[first..first + n];
            let (mut loss, mut weight) = (0.0, 0.0);
            kernel::vectorised(
                #[inline(always)]
                || {
                    for i in 0..n {
                        let c = part.weight(i);
                        let at = self.scores.loss.at(y[i], score[i] + shift);
                        loss += c * at.value;
                        weight += c;
                        residual[i] = c * at.slope;
                        root[i] = (c * at.curvature).sqrt();
                    }
                },
            );
            stat.loss += loss;
            stat.weight += weight;
            stat.packed.clear();
            stat.packed.resize(n * stride, 0.0);
            let unit = f64::from(u8::from(self.scores.intercept));
            let fixed = self.scores.offset.map(|offset| offset.column);
            kernel::vectorised(
                #[inline(always)]
                || {
                    for (i, z) in stat.packed.chunks_exact_mut(stride).enumerate() {
                        match part.x.row(i) {
                            Row::Dense(row) => {
                                for ((z, x), c) in z.iter_mut().zip(row).zip(self.centre) {
                                    *z = x - c;
                                }
                            }
                            sparse => {
                                z.iter_mut().zip(self.centre).for_each(|(z, c)| *z = -c);
                                sparse.for_each(|j, value| z[j] += value);
                            }
                        }
                        z[p] = unit;
                        if let Some(fixed) = fixed {
                            z[fixed] = 0.0;
                        }
                        for (g, z) in stat.gradient.iter_mut().zip(&*z) {
                            *g += residual[i] * z;
                        }
                        z.iter_mut().for_each(|z| *z *= root[i]);
                    }
                },
            );
            linalg::add_gram(&stat.packed, stride, &mut stat.hessian);
        }
        Ok(())
    }

    fn merge(&self, left: &mut Curvature, right: Curvature) {
        left.merge(right);
    }
}

/// Loss and gradient at `theta` = (w, b).
struct Slopes<'a, 'b, L> {
    scores: &'a Scores<'b, L>,
    theta: &'a [f64],
    shift: f64,
}

#[derive(Serialize, Deserialize)]
struct Slope {
    loss: f64,
    gradient: Vec<f64>,
    #[serde(skip)]
    scores: Vec<f64>,
}

impl<L: PointLoss> Objective for Scores<'_, L> {
    fn evaluate(&self, theta: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let p = self.cols();
        let centre = self.centre();
        let sum = Slopes { scores: self, theta, shift: theta[p] - kernel::dot(&centre, &theta[..p]) };
        let at = reduce(self.ctx, self.data, &sum)?;
        let total = self.moments.weight;
        // The sum of residuals carries the centring into the gradient of w.
        let residuals = at.gradient[p] / total;
        for j in 0..p {
            gradient[j] = at.gradient[j] / total - centre[j] * residuals + self.l2 * theta[j];
        }
        gradient[p] = if self.intercept { residuals } else { 0.0 };
        if let Some(offset) = self.offset {
            gradient[offset.column] = 0.0;
        }
        Ok(at.loss / total + 0.5 * self.l2 * kernel::dot(&theta[..p], &theta[..p]))
    }
}

impl<L: PointLoss> Reduce for Slopes<'_, '_, L> {
    type Stat = Slope;

    fn zero(&self) -> Slope {
        Slope { loss: 0.0, gradient: vec![0.0; self.theta.len()], scores: Vec::new() }
    }

    fn add(&self, stat: &mut Slope, batch: &Batch) -> Result<()> {
        let p = self.theta.len() - 1;
        let mut buffer = Vec::new();
        let y = targets(batch, &mut buffer);
        stat.scores.resize(batch.rows(), 0.0);
        batch.x.times_vector(&self.theta[..p], &mut stat.scores);
        if let Some(offset) = self.scores.offset {
            for i in 0..batch.rows() {
                stat.scores[i] += offset.of(&batch.x.row(i));
            }
        }
        let (mut loss, mut total) = (0.0, 0.0);
        kernel::vectorised(
            #[inline(always)]
            || {
                for (i, s) in stat.scores.iter_mut().enumerate() {
                    let at = self.scores.loss.at(y[i], *s + self.shift);
                    let c = batch.weight(i);
                    loss += c * at.value;
                    *s = c * at.slope;
                    total += *s;
                }
            },
        );
        stat.loss += loss;
        stat.gradient[p] += total;
        batch.x.add_transposed_vector(&stat.scores, &mut stat.gradient[..p]);
        Ok(())
    }

    fn merge(&self, left: &mut Slope, right: Slope) {
        left.loss += right.loss;
        kernel::add_scaled(1.0, &right.gradient, &mut left.gradient);
    }
}

/// Nanoseconds of a minimum with one score a row: so many Newton passes, or ten times as many of L-BFGS where columns are many.
pub fn cost(shape: &Shape, passes: usize) -> f64 {
    let (n, p, _) = shape.sizes();
    let few = p.min(NEWTON_COLUMNS as f64);
    1.2e5 + 30.0 * n + passes as f64 * (n * p * (4.0 + 0.04 * few) + 0.05 * few.powi(3))
}
