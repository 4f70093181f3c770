//! Stochastic gradient descent on one linear score: `min_{w,b} mean_i c_i loss(y_i, w.x_i + b) + alpha ((1 - r)/2
//! ||w||^2 + r ||w||_1)`, a row at a time in shuffled order.
//!
//! The weights are kept as scale x vector, so that the shrinking by the L2 penalty costs one number and a step costs
//! what the row stores; the L1 penalty is paid up when a column is next met (Tsuruoka, Tsujii and Ananiadou 2009); the
//! average of all iterates (Polyak and Juditsky 1992) is kept in the same lazy way. A step is never longer than what
//! brings its own row to the minimum of its loss where that is bounded in curvature, so that columns of any size do not
//! throw the weights off; rows for which plain descent is stable are not affected.
//!
//! Sequential by nature, so rows are wanted in memory; classes run side by side. For minibatches see
//! [`super::minibatch`].

use super::loss::Loss;
use crate::{
    Ctx, Halt, Matrix, Result,
    core::{
        choice,
        data::{Row, X},
        rng, simd, trace,
    },
};
use serde::{Deserialize, Serialize};

choice! {
    /// Learning rate schedule.
    pub enum LearningRate {
        /// eta0
        Constant = "constant",
        /// 1 / (alpha (t + t0)) with t0 by Bottou's rule.
        Optimal = "optimal",
        /// eta0 / t^power_t
        Invscaling = "invscaling",
        /// eta0, divided by five whenever the loss stops falling.
        Adaptive = "adaptive",
    }
}

choice! {
    /// Penalty on the coefficients.
    pub enum SgdPenalty { L2 = "l2", L1 = "l1", Elasticnet = "elasticnet", None = "none" }
}

#[derive(Clone, Debug)]
pub struct Sgd {
    pub loss: Loss,
    pub alpha: f64,
    /// Share of the L1 penalty: 0 for L2, 1 for L1.
    pub l1_ratio: f64,
    pub fit_intercept: bool,
    /// Rows of a step.
    pub batch_size: usize,
    pub max_iter: usize,
    /// Stop when a pass improves by less, several times in a row; none never stops.
    pub tol: Option<f64>,
    pub shuffle: bool,
    pub rate: LearningRate,
    pub eta0: f64,
    pub power_t: f64,
    pub momentum: f64,
    pub average: bool,
    pub n_iter_no_change: usize,
    /// Rows held out for early stopping: every so-many-th by a seeded draw; 0 for none.
    pub validation_fraction: f64,
}

/// Where a descent stands: all that is needed to go on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    pub w: Vec<f64>,
    pub b: f64,
    /// Steps made.
    pub t: f64,
    /// Sum of the iterates that count for the average, and how many they are.
    pub sum: Vec<f64>,
    pub sum_b: f64,
    pub averaged: f64,
    pub velocity: Vec<f64>,
}

#[derive(Default)]
pub struct Descent {
    pub state: State,
    /// Mean loss of each pass, measured before each step.
    pub losses: Vec<f64>,
    /// Rows on the wrong side in each pass (or with a slope that is not zero, for a number).
    pub mistakes: Vec<usize>,
    /// What ended it before its passes did.
    pub halt: Option<Halt>,
    /// Steps that were shortened to what the curvature of the loss allows.
    pub shortened: usize,
}

/// Whether the objective was still falling over the last passes, and about as fast as at the start: then it is the
/// steps that are too small, and nothing has settled.
pub fn crawls(losses: &[f64], passes: usize) -> bool {
    let falls: Vec<f64> = losses.windows(2).map(|pair| pair[0] - pair[1]).collect();
    let last = &falls[falls.len().saturating_sub(passes)..];
    match falls.first() {
        Some(&first) => first > 0.0 && last.iter().all(|&fall| fall >= 0.5 * first),
        None => false,
    }
}

pub struct Rows<'a> {
    pub x: X<'a>,
    pub y: &'a [f64],
    pub weights: Option<&'a [f64]>,
    /// Squared length of each row, the constant of the intercept included.
    pub norms2: &'a [f64],
}

impl State {
    pub fn new(cols: usize) -> Self {
        State { w: vec![0.0; cols], ..State::default() }
    }

    pub(super) fn record(&self, what: &'static str, ctx: &Ctx) {
        ctx.record(what, || {
            let (w, b) = self.result();
            let cols = w.len();
            vec![("coef", Matrix::new(w, 1, cols)), ("intercept", trace::number(b))]
        });
    }

    /// Coefficients to predict with: the average where one was kept.
    pub fn result(&self) -> (Vec<f64>, f64) {
        if self.averaged > 0.0 {
            return (self.sum.iter().map(|sum| sum / self.averaged).collect(), self.sum_b / self.averaged);
        }
        (self.w.clone(), self.b)
    }
}

impl Sgd {
    /// Bottou's rule: the first steps are about as long as typical weights.
    pub(super) fn t0(&self) -> f64 {
        let typical = (1.0 / self.alpha.max(1e-300).sqrt()).sqrt();
        let slope = self.loss.slope(1.0, -typical).abs().max(1.0);
        1.0 / (typical / slope * self.alpha.max(1e-300))
    }

    /// The length of step t, counted from 1.
    #[inline(always)]
    pub(super) fn eta(&self, t: f64, t0: f64, eta0: f64) -> f64 {
        match self.rate {
            LearningRate::Constant | LearningRate::Adaptive => eta0,
            LearningRate::Optimal => 1.0 / (self.alpha.max(1e-300) * (t0 + t - 1.0)),
            LearningRate::Invscaling => eta0 / t.powf(self.power_t),
        }
    }

    /// Rows to learn from and rows to judge by, of so many. With nothing to learn from, all are learnt from.
    pub(super) fn cut(&self, rows: usize, ctx: &Ctx) -> (Vec<u32>, Vec<u32>) {
        let held_out = |row: u32| {
            let draw = || rng::unit(rng::key(ctx.seed, "validation", u64::from(row)));
            self.validation_fraction > 0.0 && draw() < self.validation_fraction
        };
        let (judged, order): (Vec<u32>, Vec<u32>) = (0..rows as u32).partition(|&row| held_out(row));
        if order.is_empty() { (judged, Vec::new()) } else { (order, judged) }
    }

    /// Makes up to `max_iter` passes from `state`. The order of rows is the same for every `class`.
    pub fn run(&self, rows: &Rows, state: State, ctx: &Ctx, limit: usize) -> Result<Descent> {
        let (mut order, judged) = self.cut(rows.x.rows(), ctx);
        let shuffle = |pass: usize, order: &mut Vec<u32>| {
            if self.shuffle {
                ctx.rng("shuffle", pass as u64).shuffle(order);
            }
        };
        let mut next = Vec::new();
        let mut walk = Walk::new(self, state);
        let mut out = Descent::default();
        let mut patience = Patience::new(self);
        for pass in 0..limit {
            ctx.check()?;
            if pass == 0 {
                shuffle(pass, &mut order);
            }
            // The next pass is shuffled while this one runs.
            next.clone_from(&order);
            let wanted = pass + 1 < limit;
            let ((loss, mistakes), ()) = rayon::join(
                || walk.pass_seen(rows, &order, patience.eta, ctx),
                || {
                    if wanted {
                        shuffle(pass + 1, &mut next)
                    }
                },
            );
            let weight: f64 = match rows.weights {
                Some(weights) => order.iter().map(|&i| weights[i as usize]).sum(),
                None => order.len() as f64,
            };
            std::mem::swap(&mut order, &mut next);
            out.losses.push(loss / weight.max(f64::MIN_POSITIVE));
            out.mistakes.push(mistakes);
            let judge = || Ok(walk.judge(rows, &judged));
            if patience.is_over(&mut out, !judged.is_empty(), judge)? {
                break;
            }
        }
        out.shortened = walk.shortened;
        out.state = walk.finish();
        out.state.record("done", ctx);
        Ok(out)
    }
}

/// When to stop, and how long steps are until then.
pub(super) struct Patience<'a> {
    sgd: &'a Sgd,
    pub eta: f64,
    best: f64,
    waited: usize,
}

impl<'a> Patience<'a> {
    pub fn new(sgd: &'a Sgd) -> Self {
        Patience { sgd, eta: sgd.eta0, best: f64::INFINITY, waited: 0 }
    }

    /// Looks at the last pass, and at the held-out rows where there are any.
    pub fn is_over(&mut self, out: &mut Descent, early: bool, judge: impl FnOnce() -> Result<f64>) -> Result<bool> {
        let Sgd { loss, tol, n_iter_no_change, rate, .. } = *self.sgd;
        if loss == Loss::Perceptron && out.mistakes.last() == Some(&0) {
            out.halt = Some(Halt::Settled);
            return Ok(true);
        }
        let Some(tol) = tol else { return Ok(false) };
        let score = if early { judge()? } else { out.losses.last().copied().unwrap_or(f64::INFINITY) };
        self.waited = if score > self.best - tol { self.waited + 1 } else { 0 };
        self.best = self.best.min(score);
        if self.waited < n_iter_no_change {
            return Ok(false);
        }
        if rate == LearningRate::Adaptive && self.eta > 1e-6 {
            (self.eta, self.waited) = (self.eta / 5.0, 0);
            return Ok(false);
        }
        out.halt = Some(match early {
            true => Halt::EarlyStopping,
            false if crawls(&out.losses, n_iter_no_change) => Halt::TooSlow,
            false => Halt::Stalled,
        });
        Ok(true)
    }
}

/// Weights under way: w = scale v, and the lazy sum of all iterates.
struct Walk<'a> {
    sgd: &'a Sgd,
    v: Vec<f64>,
    scale: f64,
    b: f64,
    t: f64,
    t0: f64,
    /// Sum of the scales since v was last rebased, so that the sum of iterates is scales v - lag.
    scales: f64,
    lag: Vec<f64>,
    sum_b: f64,
    averaged: f64,
    velocity: Vec<f64>,
    /// L1 penalty due so far, and paid by each column.
    due: f64,
    paid: Vec<f64>,
    shortened: usize,
}

impl<'a> Walk<'a> {
    fn new(sgd: &'a Sgd, state: State) -> Self {
        let cols = state.w.len();
        let lag = if sgd.average {
            if state.sum.is_empty() { vec![0.0; cols] } else { state.sum.iter().map(|sum| -sum).collect() }
        } else {
            Vec::new()
        };
        Walk {
            sgd,
            v: state.w,
            scale: 1.0,
            b: state.b,
            t: state.t,
            t0: sgd.t0(),
            scales: 0.0,
            lag,
            sum_b: if sgd.average { state.sum_b } else { 0.0 },
            averaged: if sgd.average { state.averaged } else { 0.0 },
            velocity: if sgd.momentum > 0.0 && state.velocity.len() == cols + 1 {
                state.velocity
            } else if sgd.momentum > 0.0 {
                vec![0.0; cols + 1]
            } else {
                Vec::new()
            },
            due: 0.0,
            shortened: 0,
            paid: if sgd.l1_ratio > 0.0 { vec![0.0; cols] } else { Vec::new() },
        }
    }

    /// The same steps; one by one where somebody watches.
    fn pass_seen(&mut self, rows: &Rows, order: &[u32], eta0: f64, ctx: &Ctx) -> (f64, usize) {
        if !ctx.is_traced() {
            return self.pass(rows, order, eta0);
        }
        order.chunks(1).fold((0.0, 0), |(sum, mistakes), row| {
            let (loss, wrong) = self.pass(rows, row, eta0);
            ctx.record("row", || {
                let w = self.v.iter().map(|v| v * self.scale).collect();
                vec![
                    ("coef", Matrix::new(w, 1, self.v.len())),
                    ("intercept", trace::number(self.b)),
                    ("row", trace::number(f64::from(row[0]))),
                    ("loss", trace::number(loss)),
                    ("mistake", trace::number(wrong as f64)),
                ]
            });
            (sum + loss, mistakes + wrong)
        })
    }

    fn pass(&mut self, rows: &Rows, order: &[u32], eta0: f64) -> (f64, usize) {
        match rows.x {
            X::Dense(_) if self.sgd.l1_ratio == 0.0 && self.lag.is_empty() && self.velocity.is_empty() => {
                simd::vectorised(
                    #[inline(always)]
                    || self.steps::<true>(rows, order, eta0),
                )
            }
            _ => self.steps::<false>(rows, order, eta0),
        }
    }

    /// `PLAIN`: dense rows, no L1, no average, no momentum, which is the loop worth compiling by itself.
    #[inline(always)]
    fn steps<const PLAIN: bool>(&mut self, rows: &Rows, order: &[u32], eta0: f64) -> (f64, usize) {
        let (loss, intercept) = (self.sgd.loss, self.sgd.fit_intercept);
        let ceiling = loss.largest_curvature();
        let shrinks = self.sgd.alpha * (1.0 - self.sgd.l1_ratio);
        let (mut sum, mut mistakes, mut shortened) = (0.0, 0, 0);
        for (place, &i) in order.iter().enumerate() {
            let i = i as usize;
            if let (X::Dense(x), Some(&ahead)) = (rows.x, order.get(place + 8)) {
                let ahead = ahead as usize;
                x.values[ahead * x.cols..(ahead + 1) * x.cols].chunks(8).for_each(|line| simd::prefetch(&line[0]));
                simd::prefetch(&rows.y[ahead]);
                simd::prefetch(&rows.norms2[ahead]);
            }
            let row = rows.x.row(i);
            let c = rows.weights.map_or(1.0, |weights| weights[i]);
            let dot = match row {
                Row::Dense(x) => dot(x, &self.v),
                sparse => sparse.dot(&self.v),
            };
            let s = dot * self.scale + self.b;
            let y = rows.y[i];
            let point = super::loss::PointLoss::at(&loss, y, s);
            sum += c * point.value;
            mistakes += usize::from(if loss.classifies() { (2.0 * y - 1.0) * s <= 0.0 } else { point.slope != 0.0 });
            self.t += 1.0;
            let mut eta = self.sgd.eta(self.t, self.t0, eta0);
            if let Some(ceiling) = ceiling {
                let longest = 1.0 / (ceiling * c * rows.norms2[i]).max(f64::MIN_POSITIVE);
                shortened += usize::from(longest < eta);
                eta = eta.min(longest);
            }
            let slope = (c * point.slope).clamp(-1e12, 1e12);
            if !PLAIN && !self.velocity.is_empty() {
                self.momentum_step(&row, slope, eta, shrinks);
            } else {
                if shrinks > 0.0 {
                    self.scale *= (1.0 - eta * shrinks).max(0.0);
                    if self.scale < 1e-9 {
                        self.rebase();
                    }
                }
                if slope != 0.0 {
                    let step = -eta * slope / self.scale;
                    match row {
                        Row::Dense(x) => self.v.iter_mut().zip(x).for_each(|(v, x)| *v += step * x),
                        sparse => sparse.add_to(step, &mut self.v),
                    }
                    if !self.lag.is_empty() {
                        row.add_to(step * self.scales, &mut self.lag);
                    }
                    if intercept {
                        self.b -= eta * slope;
                    }
                }
            }
            if !PLAIN && self.sgd.l1_ratio > 0.0 {
                self.due += eta * self.sgd.alpha * self.sgd.l1_ratio;
                row.for_each(|j, _| self.pay(j));
            }
            if !PLAIN && !self.lag.is_empty() {
                self.scales += self.scale;
                self.sum_b += self.b;
                self.averaged += 1.0;
            }
        }
        self.shortened += shortened;
        (sum, mistakes)
    }

    fn momentum_step(&mut self, row: &Row, slope: f64, eta: f64, shrinks: f64) {
        let keep = self.sgd.momentum;
        let p = self.v.len();
        for (velocity, v) in self.velocity.iter_mut().zip(&self.v) {
            *velocity = keep * *velocity - eta * shrinks * v;
        }
        row.add_to(-eta * slope, &mut self.velocity[..p]);
        if self.sgd.fit_intercept {
            self.velocity[p] = keep * self.velocity[p] - eta * slope;
            self.b += self.velocity[p];
        }
        for j in 0..p {
            self.v[j] += self.velocity[j];
            if !self.lag.is_empty() {
                self.lag[j] += self.velocity[j] * self.scales;
            }
        }
    }

    /// Brings column j up to date with the L1 penalty, never across zero.
    fn pay(&mut self, j: usize) {
        let w = self.v[j] * self.scale;
        let new = if w > 0.0 {
            (w - (self.due + self.paid[j])).max(0.0)
        } else if w < 0.0 {
            (w + (self.due - self.paid[j])).min(0.0)
        } else {
            0.0
        };
        if new != w {
            self.paid[j] += new - w;
            let change = (new - w) / self.scale;
            self.v[j] += change;
            if !self.lag.is_empty() {
                self.lag[j] += change * self.scales;
            }
        }
    }

    fn rebase(&mut self) {
        let scale = self.scale.max(1e-300);
        self.v.iter_mut().for_each(|v| *v *= scale);
        self.scales /= scale;
        self.scale = 1.0;
    }

    /// Mean loss on held-out rows.
    fn judge(&self, rows: &Rows, judged: &[u32]) -> f64 {
        let mut sum = 0.0;
        for &i in judged {
            let i = i as usize;
            let s = rows.x.row(i).dot(&self.v) * self.scale + self.b;
            sum += self.sgd.loss.value(rows.y[i], s);
        }
        sum / judged.len() as f64
    }

    fn finish(mut self) -> State {
        if !self.paid.is_empty() {
            (0..self.v.len()).for_each(|j| self.pay(j));
        }
        self.rebase();
        // Sum of the iterates: scales v - lag.
        let sum = self.lag.iter().zip(&self.v).map(|(lag, v)| self.scales * v - lag).collect();
        State {
            w: self.v,
            b: self.b,
            t: self.t,
            sum,
            sum_b: self.sum_b,
            averaged: self.averaged,
            velocity: self.velocity,
        }
    }
}

#[inline(always)]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (a8, b8) = (a.chunks_exact(8), b.chunks_exact(8));
    let tail: f64 = a8.remainder().iter().zip(b8.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a8.zip(b8) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7])) + tail
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sgd() -> Sgd {
        Sgd {
            loss: Loss::Squared,
            alpha: 0.01,
            l1_ratio: 0.0,
            fit_intercept: true,
            batch_size: 1,
            max_iter: 3,
            tol: None,
            shuffle: false,
            rate: LearningRate::Constant,
            eta0: 0.05,
            power_t: 0.25,
            momentum: 0.0,
            average: true,
            n_iter_no_change: 5,
            validation_fraction: 0.0,
        }
    }

    /// Lazy scale and lazy average against the plain loop that they stand for.
    #[test]
    fn lazy_is_plain() {
        let x: Vec<f64> = (0..60).map(|i| ((i * 37) % 17) as f64 / 17.0 - 0.4).collect();
        let y: Vec<f64> = x.chunks(3).map(|r| r[0] - 2.0 * r[1] + 0.3).collect();
        let norms2 = vec![1.0; 20];
        let sgd = sgd();
        let rows = Rows { x: X::dense(&x, 3).unwrap(), y: &y, weights: None, norms2: &norms2 };
        let out = sgd.run(&rows, State::new(3), &Ctx::new(0), 3).unwrap();
        let (mut w, mut b, mut sum, mut sum_b) = ([0.0; 3], 0.0, [0.0; 3], 0.0);
        for _ in 0..3 {
            for (row, y) in x.chunks(3).zip(&y) {
                let r: f64 = row.iter().zip(&w).map(|(x, w)| x * w).sum::<f64>() + b - y;
                for j in 0..3 {
                    w[j] = w[j] * (1.0 - 0.05 * 0.01) - 0.05 * r * row[j];
                    sum[j] += w[j];
                }
                b -= 0.05 * r;
                sum_b += b;
            }
        }
        let (average, average_b) = out.state.result();
        for j in 0..3 {
            assert!((out.state.w[j] - w[j]).abs() < 1e-13);
            assert!((average[j] - sum[j] / 60.0).abs() < 1e-13, "{average:?} {sum:?}");
        }
        assert!((out.state.b - b).abs() < 1e-13 && (average_b - sum_b / 60.0).abs() < 1e-13);
        // Going on from a state is going on.
        let first = sgd.run(&rows, State::new(3), &Ctx::new(0), 1).unwrap();
        let more = sgd.run(&rows, first.state, &Ctx::new(0), 2).unwrap();
        let (again, _) = more.state.result();
        (0..3).for_each(|j| assert!((again[j] - average[j]).abs() < 1e-13));
    }
}
