//! Logistic regression: `min_{W,b} sum_i w_i loss(y_i, W x_i + b) + ||W||^2 / (2 C)`, the intercepts free.
//!
//! Two classes have one row of W and the loss ln(1 + e^-m), m the margin; more have a row each and the loss
//! ln(sum_k e^{s_k}) - s_y. The penalty is a normal prior of variance C on every coefficient.
//!
//! Method. Two classes and not too many columns: Newton's, each pass summing loss, gradient and Hessian at once, started from
//! the solution on every sixteenth block of rows when there are many; three or four full passes usually do. Otherwise L-BFGS with
//! loss and gradient fused in each pass, scaled by the curvature of each column. Columns are centred inside (the intercept
//! takes up the difference), so an offset costs no digits. The certificate is the gradient of the mean objective.

use super::model::{check_linear, coef_array, scores};
use crate::{
    Array, Certificate, Ctx, Error, Estimator, Fit, FitLog, Info, Matrix, Model, Output, Passes, Result, Source, Stop,
    Task, X,
    core::{
        Batch, Reduce, TargetKind,
        ctx::Progress,
        data::Row,
        kernel,
        linalg::{self, Cholesky},
        param::{above, above_to, at_least, log},
        params, reduce,
        reduce::block_rows,
        stats::{ClassWeights, ColumnMoments, Moments},
    },
    engine::lbfgs::{self, Objective, Options, largest},
};
use serde::{Deserialize, Serialize};

params! {
    /// Classifies by linear scores whose probabilities are fitted by maximum likelihood, with an L2 penalty.
    pub struct LogisticRegression {
        /// Inverse strength of the penalty; infinity for none.
        C: f64 = 1.0, above_to(0.0, f64::INFINITY), log(1e-4, 1e4);
        /// Whether to fit intercepts, which are not penalised.
        fit_intercept: bool = true;
        /// Stop when no component of the gradient of the mean objective is larger.
        tol: f64 = 1e-6, above(0.0);
        /// Most iterations.
        max_iter: usize = 300, at_least(1.0);
    }
}

/// Above this many columns, or for this many classes, a Hessian costs more than it saves.
const NEWTON_COLUMNS: usize = 600;

impl Estimator for LogisticRegression {
    type Model = LogisticModel;

    const INFO: Info = Info {
        scale: true,
        ..Info::new(
            "linear_model",
            Task::Classification,
            "min_{W,b} sum_i log sum_k exp(s_ik - s_iy) + ||W||^2 / (2 C),  s = W x + b",
            Passes::Many,
        )
    };

    fn fit(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<LogisticModel>> {
        let shape = data.shape();
        let TargetKind::Class(classes) = shape.target else {
            return Err(Error::Data("LogisticRegression needs a target of classes".into()));
        };
        let moments = reduce(ctx, data, &ColumnMoments { cols: shape.cols })?;
        let weights = reduce(ctx, data, &ClassWeights { classes })?;
        let problem = Problem { data, ctx, params: self, classes, moments, weights };
        let outcome = if classes == 2 && shape.cols <= NEWTON_COLUMNS { problem.newton()? } else { problem.lbfgs()? };
        Ok(problem.finish(outcome))
    }
}

struct Problem<'a> {
    data: &'a dyn Source,
    ctx: &'a Ctx,
    params: &'a LogisticRegression,
    classes: usize,
    moments: Moments,
    /// Total weight of each class.
    weights: Vec<f64>,
}

impl Problem<'_> {
    fn cols(&self) -> usize {
        self.moments.mean.len()
    }

    /// Rows of W: one for two classes.
    fn outputs(&self) -> usize {
        if self.classes == 2 { 1 } else { self.classes }
    }

    fn penalty(&self) -> f64 {
        1.0 / (self.params.C * self.moments.weight)
    }

    /// What columns are centred by: nothing when there is no intercept to take it up.
    fn centre(&self) -> Vec<f64> {
        if self.params.fit_intercept { self.moments.mean.clone() } else { vec![0.0; self.cols()] }
    }

    /// Log-odds of the class shares: the best start for the intercepts.
    fn start(&self) -> Vec<f64> {
        let (p, k) = (self.cols(), self.outputs());
        let mut start = vec![0.0; (p + 1) * k];
        if self.params.fit_intercept {
            let logs: Vec<f64> = self.weights.iter().map(|w| (w.max(1e-3) / self.moments.weight).ln()).collect();
            if k == 1 {
                start[p] = logs[1] - logs[0];
            } else {
                let mean = logs.iter().sum::<f64>() / k as f64;
                (0..k).for_each(|c| start[p * k + c] = logs[c] - mean);
            }
        }
        start
    }

    fn newton(&self) -> Result<lbfgs::Outcome> {
        let rows = self.data.shape().rows;
        let mut start = self.start();
        // A sixteenth of the rows gives a start that is right to a few per cent at a sixteenth of the price.
        if rows > 16 * 100 * (self.cols() + 1).max(40) {
            start = self.newton_from(start, 16, 1e-3)?.w;
        }
        self.newton_from(start, 1, self.params.tol)
    }

    /// Newton's method on every `every`-th block of rows.
    fn newton_from(&self, mut theta: Vec<f64>, every: usize, tolerance: f64) -> Result<lbfgs::Outcome> {
        let p = self.cols();
        let centre = self.centre();
        let at = |theta: &[f64]| -> Result<Curvature> {
            let sum = Curvatures { theta, centre: &centre, intercept: self.params.fit_intercept, every };
            let mut at = reduce(self.ctx, self.data, &sum)?;
            let total = at.weight;
            at.loss = at.loss / total + 0.5 * self.penalty() * kernel::dot(&theta[..p], &theta[..p]);
            at.gradient.iter_mut().for_each(|g| *g /= total);
            at.hessian.iter_mut().for_each(|h| *h /= total);
            let stride = linalg::padded(p + 1);
            for j in 0..p {
                at.gradient[j] += self.penalty() * theta[j];
                at.hessian[j * stride + j] += self.penalty();
            }
            if !self.params.fit_intercept {
                at.gradient[p] = 0.0;
                at.hessian[p * stride + p] = 1.0;
            }
            Ok(at)
        };
        let mut here = at(&theta)?;
        let mut path = vec![here.loss];
        let mut stop = Stop::MaxIter;
        'newton: for iteration in 0..self.params.max_iter {
            if largest(&here.gradient) <= tolerance {
                stop = Stop::Converged;
                break;
            }
            let step = here.newton_step(p + 1);
            let decrement = -kernel::dot(&step, &here.gradient);
            let mut length = 1.0;
            let (moved, there) = loop {
                let moved: Vec<f64> = theta.iter().zip(&step).map(|(w, d)| w + length * d).collect();
                let there = at(&moved)?;
                let noise = here.loss.abs() * 4.0 * f64::EPSILON;
                if there.loss <= here.loss - 1e-4 * length * decrement + noise {
                    break (moved, there);
                }
                length *= 0.5;
                if length < 1e-10 {
                    stop = Stop::NoProgress;
                    break 'newton;
                }
            };
            // At the floor of rounding the loss stands still while the gradient may still improve.
            if there.loss >= here.loss && largest(&there.gradient) >= largest(&here.gradient) {
                stop = Stop::NoProgress;
                break;
            }
            (theta, here) = (moved, there);
            path.push(here.loss);
            if every == 1 {
                let progress = Progress { what: "newton", step: iteration + 1, of: None, value: Some(here.loss) };
                self.ctx.progress(progress);
            }
        }
        if stop == Stop::MaxIter && largest(&here.gradient) <= tolerance {
            stop = Stop::Converged;
        }
        Ok(lbfgs::Outcome { gradient_norm: largest(&here.gradient), w: theta, path, stop })
    }

    fn lbfgs(&self) -> Result<lbfgs::Outcome> {
        let (p, k) = (self.cols(), self.outputs());
        let shares: Vec<f64> = self.weights.iter().map(|w| w / self.moments.weight).collect();
        let curvature = |class: usize| (shares[class] * (1.0 - shares[class])).max(1e-3);
        let mut metric = vec![0.0; (p + 1) * k];
        for class in 0..k {
            // With one row of W either class will do: their curvature is the same.
            for j in 0..p {
                let spread = self.moments.variance(j)
                    + if self.params.fit_intercept { 0.0 } else { self.moments.mean[j].powi(2) };
                metric[j * k + class] = 1.0 / (curvature(class) * spread + self.penalty()).max(f64::MIN_POSITIVE);
            }
            metric[p * k + class] = 1.0 / curvature(class);
        }
        // A column without spread has no curvature of its own.
        let ceiling = metric.iter().copied().filter(|m| *m < 1e300).fold(0.0, f64::max);
        metric.iter_mut().for_each(|m| *m = m.min(ceiling));
        let step = |step, value| {
            self.ctx.progress(Progress { what: "l-bfgs", step, of: Some(self.params.max_iter), value: Some(value) });
        };
        let options =
            Options { max_iter: self.params.max_iter, tolerance: self.params.tol, metric: &metric, step: &step };
        lbfgs::minimise(self, self.start(), &options)
    }

    /// From centred variables to the model.
    fn finish(&self, outcome: lbfgs::Outcome) -> Fit<LogisticModel> {
        let (p, k) = (self.cols(), self.outputs());
        let centre = self.centre();
        let coef = Matrix::from_fn(k, p, |class, j| outcome.w[j * k + class]);
        let intercept = (0..k)
            .map(|class| match self.params.fit_intercept {
                true => outcome.w[p * k + class] - kernel::dot(coef.row(class), &centre),
                false => 0.0,
            })
            .collect();
        let log = FitLog {
            passes: outcome.path.len() - 1,
            stop: outcome.stop,
            objective: outcome.path,
            certificate: Certificate::Gradient { norm: outcome.gradient_norm, tolerance: self.params.tol },
            notes: Vec::new(),
        };
        Fit::new(LogisticModel { coef, intercept, classes: self.classes }, log)
    }
}

/// Loss, gradient and Hessian of two classes at `theta` = (w, b), in centred columns.
struct Curvatures<'a> {
    theta: &'a [f64],
    centre: &'a [f64],
    intercept: bool,
    /// Only every so-many-th block of rows counts.
    every: usize,
}

#[derive(Serialize, Deserialize)]
struct Curvature {
    weight: f64,
    loss: f64,
    gradient: Vec<f64>,
    /// Lower triangle, padded.
    hessian: Vec<f64>,
    #[serde(skip)]
    packed: Vec<f64>,
}

impl Curvature {
    /// Solves H d = -g with columns brought to unit curvature, adding to the diagonal only if that is what it takes.
    fn newton_step(&self, n: usize) -> Vec<f64> {
        let stride = linalg::padded(n);
        let scale: Vec<f64> = (0..n).map(|i| self.hessian[i * stride + i].max(f64::MIN_POSITIVE).sqrt()).collect();
        let scaled = |i: usize, j: usize| self.hessian[i * stride + j] / (scale[i] * scale[j]);
        let mut ridge = 0.0;
        loop {
            let a = Matrix::from_fn(
                n,
                n,
                |i, j| if j <= i { scaled(i, j) + if i == j { ridge } else { 0.0 } } else { 0.0 },
            );
            if let Some(cholesky) = Cholesky::new(&a).filter(|cholesky| cholesky.condition() < 1e15) {
                let mut step: Vec<f64> = (0..n).map(|i| -self.gradient[i] / scale[i]).collect();
                cholesky.solve(&mut step, 1);
                step.iter_mut().zip(&scale).for_each(|(d, s)| *d /= s);
                return step;
            }
            ridge = f64::max(1e-14, ridge * 100.0);
        }
    }
}

impl Reduce for Curvatures<'_> {
    type Stat = Curvature;

    fn zero(&self) -> Curvature {
        let n = self.theta.len();
        let stride = linalg::padded(n);
        Curvature {
            weight: 0.0,
            loss: 0.0,
            gradient: vec![0.0; n],
            hessian: vec![0.0; stride * stride],
            packed: Vec::new(),
        }
    }

    fn add(&self, stat: &mut Curvature, batch: &Batch) -> Result<()> {
        let p = self.centre.len();
        let stride = linalg::padded(p + 1);
        if batch.first / block_rows(p) % self.every != 0 {
            return Ok(());
        }
        let (w, shift) = (&self.theta[..p], self.theta[p] - kernel::dot(self.centre, &self.theta[..p]));
        let codes = batch.y.codes();
        // A sheet of packed rows stays in the cache between packing and multiplying.
        let sheet = (8192 / stride).clamp(32, 256);
        let (mut margin, mut residual, mut root) = (vec![0.0; sheet], vec![0.0; sheet], vec![0.0; sheet]);
        for first in (0..batch.rows()).step_by(sheet) {
            let part = batch.slice(first..(first + sheet).min(batch.rows()));
            let n = part.rows();
            part.x.times_vector(w, &mut margin[..n]);
            let codes = &codes[first..first + n];
            let (mut loss, mut weight) = (0.0, 0.0);
            kernel::vectorised(|| {
                for i in 0..n {
                    let y = f64::from(codes[i]);
                    let s = margin[i] + shift;
                    let m = if y > 0.5 { s } else { -s };
                    let c = part.weight(i);
                    // e^-|m| serves the loss and the probability.
                    let e = kernel::exp(-m.abs());
                    let probability = kernel::sigmoid(s);
                    loss += c * ((-m).max(0.0) + e.ln_1p());
                    weight += c;
                    residual[i] = c * (probability - y);
                    root[i] = (c * probability * (1.0 - probability)).sqrt();
                }
            });
            stat.loss += loss;
            stat.weight += weight;
            stat.packed.clear();
            stat.packed.resize(n * stride, 0.0);
            let unit = f64::from(u8::from(self.intercept));
            kernel::vectorised(|| {
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
                    for (g, z) in stat.gradient.iter_mut().zip(&*z) {
                        *g += residual[i] * z;
                    }
                    z.iter_mut().for_each(|z| *z *= root[i]);
                }
            });
            linalg::add_gram(&stat.packed, stride, &mut stat.hessian);
        }
        Ok(())
    }

    fn merge(&self, left: &mut Curvature, right: Curvature) {
        left.weight += right.weight;
        left.loss += right.loss;
        kernel::add_scaled(1.0, &right.gradient, &mut left.gradient);
        kernel::add_scaled(1.0, &right.hessian, &mut left.hessian);
    }
}

/// Mean loss and gradient of any number of classes at `theta`, (p + 1) x k row-major, the intercepts in the last row.
struct Slopes<'a> {
    theta: &'a [f64],
    centre: &'a [f64],
    k: usize,
    intercept: bool,
}

#[derive(Serialize, Deserialize)]
struct Slope {
    loss: f64,
    gradient: Vec<f64>,
    #[serde(skip)]
    scores: Vec<f64>,
}

impl Objective for Problem<'_> {
    fn evaluate(&self, theta: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let (p, k) = (self.cols(), self.outputs());
        let centre = self.centre();
        let sum = Slopes { theta, centre: &centre, k, intercept: self.params.fit_intercept };
        let at = reduce(self.ctx, self.data, &sum)?;
        let coefficients = &theta[..p * k];
        for (to, from) in gradient.iter_mut().zip(&at.gradient) {
            *to = from / self.moments.weight;
        }
        // The sums of residuals carry the centring into the gradient of W.
        let (by_column, totals) = gradient.split_at_mut(p * k);
        for (j, row) in by_column.chunks_exact_mut(k).enumerate() {
            for class in 0..k {
                row[class] += self.penalty() * coefficients[j * k + class] - centre[j] * totals[class];
            }
        }
        if !self.params.fit_intercept {
            totals.fill(0.0);
        }
        Ok(at.loss / self.moments.weight + 0.5 * self.penalty() * kernel::dot(coefficients, coefficients))
    }
}

impl Reduce for Slopes<'_> {
    type Stat = Slope;

    fn zero(&self) -> Slope {
        Slope { loss: 0.0, gradient: vec![0.0; self.theta.len()], scores: Vec::new() }
    }

    fn add(&self, stat: &mut Slope, batch: &Batch) -> Result<()> {
        let (p, k) = (self.centre.len(), self.k);
        let (w, b) = self.theta.split_at(p * k);
        let mut shift: Vec<f64> = b.to_vec();
        for (c, row) in self.centre.iter().zip(w.chunks_exact(k)) {
            kernel::add_scaled(-c, row, &mut shift);
        }
        let codes = batch.y.codes();
        stat.scores.resize(batch.rows() * k, 0.0);
        batch.x.times_matrix(w, k, &mut stat.scores);
        let (by_column, totals) = stat.gradient.split_at_mut(p * k);
        let mut loss = 0.0;
        kernel::vectorised(|| {
            for (i, s) in stat.scores.chunks_exact_mut(k).enumerate() {
                let (c, y) = (batch.weight(i), codes[i] as usize);
                for (s, shift) in s.iter_mut().zip(&shift) {
                    *s += shift;
                }
                if k == 1 {
                    let m = if y == 1 { s[0] } else { -s[0] };
                    loss += c * kernel::softplus(-m);
                    s[0] = c * (kernel::sigmoid(s[0]) - y as f64);
                } else {
                    let own = s[y];
                    loss += c * (softmax(s) - own);
                    s.iter_mut().for_each(|r| *r *= c);
                    s[y] -= c;
                }
                for (total, r) in totals.iter_mut().zip(&*s) {
                    *total += r;
                }
            }
        });
        stat.loss += loss;
        debug_assert!(self.intercept || b.iter().all(|&b| b == 0.0));
        batch.x.add_transposed_matrix(&stat.scores, k, by_column);
        Ok(())
    }

    fn merge(&self, left: &mut Slope, right: Slope) {
        left.loss += right.loss;
        kernel::add_scaled(1.0, &right.gradient, &mut left.gradient);
    }
}

/// Turns scores into probabilities and returns ln sum e^s.
#[inline(always)]
pub fn softmax(scores: &mut [f64]) -> f64 {
    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for s in scores.iter_mut() {
        *s = kernel::exp(*s - top);
        sum += *s;
    }
    scores.iter_mut().for_each(|s| *s /= sum);
    top + sum.ln()
}

/// Linear scores turned into probabilities.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogisticModel {
    /// One row for two classes, one for each class otherwise.
    pub coef: Matrix,
    pub intercept: Vec<f64>,
    pub classes: usize,
}

impl Model for LogisticModel {
    fn cols(&self) -> usize {
        self.coef.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Class, 1), (Output::Probability, self.classes), (Output::Decision, self.coef.rows)]
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        if output == Output::Decision {
            scores(x, &self.coef, &self.intercept, out);
            return Ok(());
        }
        let k = self.coef.rows;
        let mut raw = vec![0.0; x.rows() * k];
        scores(x, &self.coef, &self.intercept, &mut raw);
        match output {
            Output::Class => {
                for (out, s) in out.iter_mut().zip(raw.chunks_exact(k)) {
                    *out = if k == 1 { f64::from(s[0] > 0.0) } else { first_largest(s) as f64 };
                }
            }
            _ => {
                for (out, s) in out.chunks_exact_mut(self.classes).zip(raw.chunks_exact(k)) {
                    if k == 1 {
                        out[1] = kernel::sigmoid(s[0]);
                        out[0] = kernel::sigmoid(-s[0]);
                    } else {
                        out.copy_from_slice(s);
                        softmax(out);
                    }
                }
            }
        }
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        vec![("coef_", coef_array(&self.coef, false)), ("intercept_", (&self.intercept).into())]
    }

    fn check(&self) -> Result<()> {
        check_linear(&self.coef, &self.intercept)?;
        let rows = if self.classes == 2 { 1 } else { self.classes };
        if self.classes < 2 || self.coef.rows != rows {
            return Err(Error::shape("stored coefficients", format!("{rows} rows"), self.coef.rows));
        }
        Ok(())
    }
}

/// The first of the largest values.
pub fn first_largest(values: &[f64]) -> usize {
    let mut best = 0;
    for (i, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = i;
        }
    }
    best
}
