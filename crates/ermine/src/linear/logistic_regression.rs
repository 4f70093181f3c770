//! Logistic regression: `min_{W,b} C sum_i w_i loss(y_i, W x_i + b) + (1 - r)/2 ||W||^2 + r ||W||_1`, the intercepts
//! free.
//!
//! Two classes have one row of W and the loss ln(1 + e^-m), m the margin; more have a row each and the loss ln(sum_k
//! e^{s_k}) - s_y. The L2 penalty is a normal prior of variance C on every coefficient, the L1 penalty a Laplace prior
//! of scale C; C of infinity is maximum likelihood.
//!
//! Method. Two classes: [`newton`]. More: L-BFGS with loss and gradient fused in each pass, scaled by the curvature of
//! each column, orthant-wise when there is an L1 part. Columns are centred inside (the intercept takes up the
//! difference), so an offset costs no digits. The fit ends when the duality gap is within `tol` of the objective.
//! Without a penalty, classes that a plane separates have no finite optimum: that is detected by one more pass, and
//! said.

use super::model::{check_linear, coef_array, scores};
use crate::{
    Array, Bound, Ctx, Error, Estimator, Fit, FitLog, Halt, Info, Matrix, Model, Output, Passes, Result, Shape, Source,
    Task, X,
    core::{
        Batch, Reduce, TargetKind,
        ctx::Progress,
        param::{above, above_to, at_least, between, log},
        params, reduce, simd,
        stats::{ClassWeights, ColumnMoments, Moments},
    },
    engine::{
        lbfgs::{self, Objective, Options, largest},
        least_squares,
        loss::Logistic,
        newton::{self, Minimum, Proof, Scores},
    },
};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;

params! {
    /// Linear classification with probabilities, fitted by maximum likelihood with an L2, L1 or mixed penalty.
    pub struct LogisticRegression {
        /// Inverse regularisation strength; infinity for no penalty.
        C: f64 = 1.0, above_to(0.0, f64::INFINITY), log(1e-4, 1e4);
        /// Weight of the L1 penalty: 0 is pure L2, 1 is pure L1, which sets coefficients to zero.
        l1_ratio: f64 = 0.0, between(0.0, 1.0);
        /// Whether to fit intercepts, which are not penalised.
        fit_intercept: bool = true;
        /// Stop when the objective is proven to be this close to its optimum, relative to it.
        tol: f64 = 1e-6, above(0.0);
        /// Maximum number of iterations.
        max_iter: usize = 300, at_least(1.0);
    }
}

impl Estimator for LogisticRegression {
    type Model = LogisticModel;

    const INFO: Info = Info {
        resume: true,
        scale: true,
        ..Info::new(
            "linear_model",
            Task::Classification,
            "min_{W,b} C sum_i log sum_k exp(s_ik - s_iy) + (1 - r)/2 ||W||^2 + r ||W||_1,  s = W x + b",
            Passes::Many,
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        let (n, p, classes) = shape.sizes();
        if classes <= 2.0 {
            return 1e-9 * newton::cost(shape, self.max_iter.min(5));
        }
        // L-BFGS, loss and gradient of all classes in each pass.
        1e-9 * (1.2e5 + 60.0f64.min(self.max_iter as f64) * n * classes * (10.0 + p))
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<LogisticModel>> {
        Prepared::new(data, ctx)?.fit(self, None)
    }

    fn learn_more(&self, model: &LogisticModel, data: &dyn Source, ctx: &Ctx) -> Result<Fit<LogisticModel>> {
        let prepared = Prepared::new(data, ctx)?;
        match model.classes == prepared.classes {
            true => prepared.fit(self, Some(model)),
            false => Err(Error::shape("the classes of the earlier fit", model.classes, prepared.classes)),
        }
    }
}

/// What fits with different penalties share.
pub struct Prepared<'a> {
    data: &'a dyn Source,
    ctx: &'a Ctx,
    classes: usize,
    moments: Moments,
    /// Total weight of each class.
    weights: Vec<f64>,
}

impl<'a> Prepared<'a> {
    pub fn new(data: &'a dyn Source, ctx: &'a Ctx) -> Result<Self> {
        let shape = data.shape();
        let TargetKind::Class(classes) = shape.target else {
            return Err(Error::Data("LogisticRegression needs a target of classes".into()));
        };
        let moments = reduce(ctx, data, &ColumnMoments { cols: shape.cols })?;
        let weights = reduce(ctx, data, &ClassWeights { classes })?;
        Ok(Prepared { data, ctx, classes, moments, weights })
    }

    pub fn has_two_classes(&self) -> bool {
        self.weights.iter().filter(|weight| **weight > 0.0).count() > 1
    }

    /// With these parameters, from the start that the class shares give or from an earlier model.
    pub fn fit(&self, params: &LogisticRegression, start: Option<&LogisticModel>) -> Result<Fit<LogisticModel>> {
        let problem = Problem { shared: self, params };
        let start = start.map_or_else(|| problem.start(), |model| problem.start_from(model));
        let minimum = if problem.outputs() == 1 { problem.two_classes(start)? } else { problem.lbfgs(start)? };
        problem.finish(minimum)
    }
}

struct Problem<'a> {
    shared: &'a Prepared<'a>,
    params: &'a LogisticRegression,
}

impl Problem<'_> {
    fn moments(&self) -> &Moments {
        &self.shared.moments
    }

    fn cols(&self) -> usize {
        self.moments().mean.len()
    }

    /// Rows of W: one for two classes.
    fn outputs(&self) -> usize {
        if self.shared.classes == 2 { 1 } else { self.shared.classes }
    }

    /// The penalties (L1, L2) of the mean objective.
    fn penalty(&self) -> (f64, f64) {
        let strength = 1.0 / (self.params.C * self.moments().weight);
        (strength * self.params.l1_ratio, strength * (1.0 - self.params.l1_ratio))
    }

    /// What columns are centred by: nothing when there is no intercept to take it up.
    fn centre(&self) -> Vec<f64> {
        if self.params.fit_intercept { self.moments().mean.clone() } else { vec![0.0; self.cols()] }
    }

    /// Log-odds of the class shares: the best start for the intercepts.
    fn start(&self) -> Vec<f64> {
        let (p, k) = (self.cols(), self.outputs());
        let mut start = vec![0.0; (p + 1) * k];
        if self.params.fit_intercept {
            let shares = self.shared.weights.iter().map(|w| (w.max(1e-3) / self.moments().weight).ln());
            let logs: Vec<f64> = shares.collect();
            if k == 1 {
                start[p] = logs[1] - logs[0];
            } else {
                let mean = logs.iter().sum::<f64>() / k as f64;
                (0..k).for_each(|c| start[p * k + c] = logs[c] - mean);
            }
        }
        start
    }

    /// A model's coefficients in centred variables.
    fn start_from(&self, model: &LogisticModel) -> Vec<f64> {
        let (p, k) = (self.cols(), self.outputs());
        let centre = self.centre();
        let mut start = vec![0.0; (p + 1) * k];
        for class in 0..k {
            (0..p).for_each(|j| start[j * k + class] = model.coef[(class, j)]);
            if self.params.fit_intercept {
                start[p * k + class] = model.intercept[class] + simd::dot(model.coef.row(class), &centre);
            }
        }
        start
    }

    fn two_classes(&self, start: Vec<f64>) -> Result<Minimum> {
        let (l1, l2) = self.penalty();
        let share = self.shared.weights[1] / self.moments().weight;
        let scores = Scores {
            data: self.shared.data,
            ctx: self.shared.ctx,
            loss: Logistic,
            moments: self.moments(),
            l1,
            l2,
            intercept: self.params.fit_intercept,
            offset: None,
            least: 0.0,
            tol: self.params.tol,
            max_iter: self.params.max_iter,
            curvature: (share * (1.0 - share)).max(1e-3),
        };
        scores.minimise(start)
    }

    fn lbfgs(&self, start: Vec<f64>) -> Result<Minimum> {
        let (p, k) = (self.cols(), self.outputs());
        let (l1, l2) = self.penalty();
        let shares: Vec<f64> = self.shared.weights.iter().map(|w| w / self.moments().weight).collect();
        let curvature = |class: usize| (shares[class] * (1.0 - shares[class])).max(1e-3);
        let mut metric = vec![0.0; (p + 1) * k];
        for class in 0..k {
            for j in 0..p {
                let spread = self.moments().variance(j)
                    + if self.params.fit_intercept { 0.0 } else { self.moments().mean[j].powi(2) };
                metric[j * k + class] = 1.0 / (curvature(class) * spread + l2).max(f64::MIN_POSITIVE);
            }
            metric[p * k + class] = 1.0 / curvature(class);
        }
        // A column without spread has no curvature of its own.
        let ceiling = metric.iter().copied().filter(|m| *m < 1e300).fold(0.0, f64::max);
        metric.iter_mut().for_each(|m| *m = m.min(ceiling));
        let ctx = self.shared.ctx;
        let step = |step, value| {
            ctx.progress(Progress { what: "l-bfgs", step, of: Some(self.params.max_iter), value: Some(value) });
        };
        let smooth = Smooth { problem: self, last: RefCell::default(), lifted: RefCell::default() };
        if self.params.fit_intercept && start[..p * k].iter().any(|w| *w != 0.0) && l1 + l2 > 0.0 {
            smooth.evaluate(&vec![0.0; start.len()], &mut vec![0.0; start.len()])?;
        }
        let met = |w: &[f64], value: f64, v: &[f64]| {
            largest(v) <= self.params.tol && (l1 + l2 == 0.0 || self.bound(&smooth, w, value).holds())
        };
        let options = Options { max_iter: self.params.max_iter, met: &met, metric: &metric, step: &step };
        let outcome = if l1 > 0.0 {
            let l1: Vec<f64> = (0..(p + 1) * k).map(|at| if at < p * k { l1 } else { 0.0 }).collect();
            lbfgs::minimise_l1(&smooth, start, &l1, &options)?
        } else {
            lbfgs::minimise(&smooth, start, &options)?
        };
        let proof = if l1 + l2 > 0.0 {
            if smooth.last.borrow().as_ref().is_none_or(|last| last.theta != outcome.w) {
                smooth.evaluate(&outcome.w, &mut vec![0.0; outcome.w.len()])?;
            }
            Proof::Bound(self.bound(&smooth, &outcome.w, outcome.path[outcome.path.len() - 1]))
        } else {
            Proof::Gradient { norm: largest(&outcome.gradient), tolerance: self.params.tol }
        };
        Ok(Minimum { w: outcome.w, path: outcome.path, proof, halt: outcome.halt.unwrap_or(Halt::Rounding) })
    }

    /// The duality gap of three or more classes, from loss and gradient alone. The dual has a distribution over the
    /// classes for each row; those of the model, mixed with one for all rows so that they add up to the counts of the
    /// classes as free intercepts demand, are a feasible point. Its entropy is at least that share of the model's own.
    fn bound(&self, smooth: &Smooth, theta: &[f64], value: f64) -> Bound {
        let (p, k) = (self.cols(), self.outputs());
        let (l1, l2) = self.penalty();
        let last = smooth.last.borrow();
        let Some(last) = last.as_ref().filter(|last| last.theta == theta) else {
            return Bound::new(f64::INFINITY, self.params.tol, value, value);
        };
        let (w, b) = theta.split_at(p * k);
        let (slopes, totals) = last.gradient.split_at(p * k);
        let norm2 = simd::dot(w, w);
        let along = simd::dot(w, slopes) - l2 * norm2;
        let entropy = last.value - 0.5 * l2 * norm2 - along - simd::dot(b, totals);
        let share = |class: usize| self.shared.weights[class] / self.moments().weight;
        // How much of the common distribution it takes, and its entropy.
        let (mut mix, mut common) = (0.0f64, 0.0);
        if self.params.fit_intercept {
            let excess = |class: usize| totals[class] / (share(class) + totals[class]);
            mix = (0..k).map(excess).fold(0.0, f64::max);
            let part = |class: usize| (share(class) - (1.0 - mix) * (share(class) + totals[class])) / mix;
            let entropy = |q: f64| if q > 0.0 { -q * q.ln() } else { 0.0 };
            common = if mix > 0.0 { (0..k).map(|class| entropy(part(class))).sum() } else { 0.0 };
        }
        let lifted = smooth.lifted.borrow();
        let lift = |at: usize| if mix > 0.0 { mix * lifted[at] } else { 0.0 };
        let dual_slope = |at: usize| (1.0 - mix) * (slopes[at] - l2 * w[at]) + lift(at);
        let reached = (1.0 - mix) * entropy + mix * common;
        let dual = if l2 > 0.0 {
            let over = |at: usize| (dual_slope(at).abs() - l1).max(0.0);
            reached - (0..p * k).map(|at| over(at).powi(2)).sum::<f64>() / (2.0 * l2)
        } else {
            let most = (0..p * k).map(|at| dual_slope(at).abs()).fold(0.0, f64::max);
            reached * if most > l1 { l1 / most } else { 1.0 }
        };
        Bound::new(value - dual, self.params.tol, value, value.abs() + along.abs())
    }

    /// From centred variables to the model.
    fn finish(&self, minimum: Minimum) -> Result<Fit<LogisticModel>> {
        let (p, k) = (self.cols(), self.outputs());
        let centre = self.centre();
        let mut coef = Matrix::from_fn(k, p, |class, j| minimum.w[j * k + class]);
        let mut notes = Vec::new();
        if self.params.C.is_infinite() {
            let (data, ctx) = (self.shared.data, self.shared.ctx);
            if let Some(found) = least_squares::dependence_of(data, ctx, self.params.fit_intercept, None)? {
                // About the centre: no intercept moves.
                (0..k).for_each(|class| _ = found.least_norm(coef.row_mut(class), &centre));
                notes = found.notes();
            }
        }
        // What is the same for all classes changes no probability: of these solutions the one that adds up to nothing.
        let free = |of: &mut dyn FnMut(usize) -> f64| (0..k).map(of).sum::<f64>() / k as f64;
        if k > 1 && self.params.C.is_infinite() {
            for j in 0..p {
                let shift = free(&mut |class| coef[(class, j)]);
                (0..k).for_each(|class| coef[(class, j)] -= shift);
            }
        }
        let mut intercept: Vec<f64> = (0..k)
            .map(|class| match self.params.fit_intercept {
                true => minimum.w[p * k + class] - simd::dot(coef.row(class), &centre),
                false => 0.0,
            })
            .collect();
        if k > 1 {
            let shift = free(&mut |class| intercept[class]);
            intercept.iter_mut().for_each(|b| *b -= shift);
        }
        let model = LogisticModel { coef, intercept, classes: self.shared.classes };
        let unit = self.moments().weight * if self.params.C.is_finite() { self.params.C } else { 1.0 };
        let mut log = minimum.log(unit);
        if self.params.C.is_infinite() {
            let least = reduce(self.shared.ctx, self.shared.data, &LeastMargin { model: &model })?;
            if least > 0.0 {
                let path = log.objective.clone();
                log = FitLog::ended(log.passes(), path, Halt::MaxIter, log.certificate().clone()).with_notes(vec![
                    "the classes are separated by a plane: without a penalty the coefficients have no finite optimum, \
                     and \
                     these are only where the fit stopped; a finite C has one"
                        .into(),
                ]);
            }
        }
        Ok(Fit::new(model, log.with_notes(notes)))
    }
}

/// By how much the own class leads at the row where it leads least.
struct LeastMargin<'a> {
    model: &'a LogisticModel,
}

impl Reduce for LeastMargin<'_> {
    type Stat = f64;

    fn zero(&self) -> f64 {
        f64::INFINITY
    }

    fn add(&self, stat: &mut f64, batch: &Batch) -> Result<()> {
        let k = self.model.coef.rows;
        let mut raw = vec![0.0; batch.rows() * k];
        scores(&batch.x, &self.model.coef, &self.model.intercept, &mut raw);
        for (i, (s, &code)) in raw.chunks_exact(k).zip(batch.y.codes()).enumerate() {
            if batch.weight(i) == 0.0 {
                continue;
            }
            let own = code as usize;
            let margin = match k {
                1 => s[0] * (2.0 * f64::from(code) - 1.0),
                _ => s[own] - (0..k).filter(|&c| c != own).map(|c| s[c]).fold(f64::NEG_INFINITY, f64::max),
            };
            *stat = stat.min(margin);
        }
        Ok(())
    }

    fn merge(&self, left: &mut f64, right: f64) {
        *left = left.min(right);
    }
}

/// Loss and gradient of three or more classes at `theta`, (p + 1) x k row-major, the intercepts in the last row.
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

/// What L-BFGS sees, with where it was last evaluated and the slopes where all coefficients are zero, which the bound
/// needs.
struct Smooth<'a> {
    problem: &'a Problem<'a>,
    last: RefCell<Option<Evaluated>>,
    lifted: RefCell<Vec<f64>>,
}

struct Evaluated {
    theta: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
}

impl Objective for Smooth<'_> {
    fn evaluate(&self, theta: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let problem = self.problem;
        let (p, k) = (problem.cols(), problem.outputs());
        let centre = problem.centre();
        let sum = Slopes { theta, centre: &centre, k, intercept: problem.params.fit_intercept };
        let at = reduce(problem.shared.ctx, problem.shared.data, &sum)?;
        let (weight, (_, l2)) = (problem.moments().weight, problem.penalty());
        let coefficients = &theta[..p * k];
        for (to, from) in gradient.iter_mut().zip(&at.gradient) {
            *to = from / weight;
        }
        // The sums of residuals carry the centring into the gradient of W.
        let (by_column, totals) = gradient.split_at_mut(p * k);
        for (j, row) in by_column.chunks_exact_mut(k).enumerate() {
            for class in 0..k {
                row[class] += l2 * coefficients[j * k + class] - centre[j] * totals[class];
            }
        }
        if !problem.params.fit_intercept {
            totals.fill(0.0);
        }
        let value = at.loss / weight + 0.5 * l2 * simd::dot(coefficients, coefficients);
        if self.lifted.borrow().is_empty() && coefficients.iter().all(|w| *w == 0.0) {
            *self.lifted.borrow_mut() = gradient[..p * k].to_vec();
        }
        *self.last.borrow_mut() = Some(Evaluated { theta: theta.to_vec(), value, gradient: gradient.to_vec() });
        Ok(value)
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
            simd::add_scaled(-c, row, &mut shift);
        }
        let codes = batch.y.codes();
        stat.scores.resize(batch.rows() * k, 0.0);
        batch.x.times_matrix(w, k, &mut stat.scores);
        let (by_column, totals) = stat.gradient.split_at_mut(p * k);
        let mut loss = 0.0;
        simd::vectorised(
            #[inline(always)]
            || {
                for (i, s) in stat.scores.chunks_exact_mut(k).enumerate() {
                    let (c, y) = (batch.weight(i), codes[i] as usize);
                    for (s, shift) in s.iter_mut().zip(&shift) {
                        *s += shift;
                    }
                    let own = s[y];
                    loss += c * (simd::softmax(s) - own);
                    s.iter_mut().for_each(|r| *r *= c);
                    s[y] -= c;
                    for (total, r) in totals.iter_mut().zip(&*s) {
                        *total += r;
                    }
                }
            },
        );
        stat.loss += loss;
        debug_assert!(self.intercept || b.iter().all(|&b| b == 0.0));
        batch.x.add_transposed_matrix(&stat.scores, k, by_column);
        Ok(())
    }

    fn merge(&self, left: &mut Slope, right: Slope) {
        left.loss += right.loss;
        simd::add_scaled(1.0, &right.gradient, &mut left.gradient);
    }
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
                        out[1] = simd::sigmoid(s[0]);
                        out[0] = simd::sigmoid(-s[0]);
                    } else {
                        out.copy_from_slice(s);
                        simd::softmax(out);
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
