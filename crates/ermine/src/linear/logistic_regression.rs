//! Logistic regression: `min_{W,b} C sum_i w_i loss(y_i, W x_i + b) + (1 - r)/2 ||W||^2 + r ||W||_1`, the intercepts free.
//!
//! Two classes have one row of W and the loss ln(1 + e^-m), m the margin; more have a row each and the loss
//! ln(sum_k e^{s_k}) - s_y. The L2 penalty is a normal prior of variance C on every coefficient, the L1 penalty a Laplace prior
//! of scale C; C of infinity is maximum likelihood.
//!
//! Method. Two classes: [`newton`]. More: L-BFGS with loss and gradient fused in each pass, scaled by the curvature of each
//! column, orthant-wise when there is an L1 part. Columns are centred inside (the intercept takes up the difference), so an
//! offset costs no digits. The certificate is the (sub-)gradient of the mean objective. Without a penalty, classes that a
//! plane separates have no finite optimum: that is detected by one more pass, and said.

use super::model::{check_linear, coef_array, scores};
use crate::{
    Array, Certificate, Ctx, Error, Estimator, Fit, FitLog, Info, Matrix, Model, Output, Passes, Result, Shape, Source,
    Stop, Task, X,
    core::{
        Batch, Reduce, TargetKind,
        ctx::Progress,
        kernel,
        param::{above, above_to, at_least, between, log},
        params, reduce,
        stats::{ClassWeights, ColumnMoments, Moments},
    },
    engine::{
        lbfgs::{self, Objective, Options},
        least_squares,
        loss::Logistic,
        newton::{self, Scores},
    },
};
use serde::{Deserialize, Serialize};

params! {
    /// Classifies by linear scores whose probabilities are fitted by maximum likelihood, with an L2, L1 or mixed penalty.
    pub struct LogisticRegression {
        /// Inverse strength of the penalty; infinity for none.
        C: f64 = 1.0, above_to(0.0, f64::INFINITY), log(1e-4, 1e4);
        /// Share of the L1 penalty: 0 is pure L2, 1 is pure L1, which sets coefficients to zero.
        l1_ratio: f64 = 0.0, between(0.0, 1.0);
        /// Whether to fit intercepts, which are not penalised.
        fit_intercept: bool = true;
        /// Stop when no component of the gradient of the mean objective is larger.
        tol: f64 = 1e-6, above(0.0);
        /// Most iterations.
        max_iter: usize = 300, at_least(1.0);
    }
}

impl Estimator for LogisticRegression {
    type Model = LogisticModel;

    const INFO: Info = Info {
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

    fn fit(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<LogisticModel>> {
        Prepared::new(data, ctx)?.fit(self, None)
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
        let outcome = if problem.outputs() == 1 { problem.two_classes(start)? } else { problem.lbfgs(start)? };
        problem.finish(outcome)
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
                start[p * k + class] = model.intercept[class] + kernel::dot(model.coef.row(class), &centre);
            }
        }
        start
    }

    fn two_classes(&self, start: Vec<f64>) -> Result<lbfgs::Outcome> {
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
            tolerance: self.params.tol,
            max_iter: self.params.max_iter,
            curvature: (share * (1.0 - share)).max(1e-3),
        };
        scores.minimise(start)
    }

    fn lbfgs(&self, start: Vec<f64>) -> Result<lbfgs::Outcome> {
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
        let options =
            Options { max_iter: self.params.max_iter, tolerance: self.params.tol, metric: &metric, step: &step };
        if l1 > 0.0 {
            let l1: Vec<f64> = (0..(p + 1) * k).map(|at| if at < p * k { l1 } else { 0.0 }).collect();
            return lbfgs::minimise_l1(self, start, &l1, &options);
        }
        lbfgs::minimise(self, start, &options)
    }

    /// From centred variables to the model.
    fn finish(&self, outcome: lbfgs::Outcome) -> Result<Fit<LogisticModel>> {
        let (p, k) = (self.cols(), self.outputs());
        let centre = self.centre();
        let mut coef = Matrix::from_fn(k, p, |class, j| outcome.w[j * k + class]);
        let mut notes = Vec::new();
        if self.params.C.is_infinite() {
            let (data, ctx) = (self.shared.data, self.shared.ctx);
            if let Some(found) = least_squares::dependence_of(data, ctx, self.params.fit_intercept, None)? {
                // About the centre: no intercept moves.
                (0..k).for_each(|class| _ = found.least_norm(coef.row_mut(class), &centre));
                notes = found.notes();
            }
        }
        let intercept = (0..k)
            .map(|class| match self.params.fit_intercept {
                true => outcome.w[p * k + class] - kernel::dot(coef.row(class), &centre),
                false => 0.0,
            })
            .collect();
        let model = LogisticModel { coef, intercept, classes: self.shared.classes };
        let mut stop = outcome.stop;
        if self.params.C.is_infinite() {
            let least = reduce(self.shared.ctx, self.shared.data, &LeastMargin { model: &model })?;
            if least > 0.0 {
                notes.push(
                    "the classes are separated by a plane: without a penalty the coefficients have no finite optimum, and \
                     these are only where the fit stopped; a finite C has one"
                        .into(),
                );
                stop = Stop::MaxIter;
            }
        }
        let log = FitLog {
            passes: outcome.path.len() - 1,
            stop,
            objective: outcome.path,
            certificate: Certificate::Gradient { norm: outcome.gradient_norm, tolerance: self.params.tol },
            notes,
        };
        Ok(Fit::new(model, log))
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

impl Objective for Problem<'_> {
    fn evaluate(&self, theta: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let (p, k) = (self.cols(), self.outputs());
        let centre = self.centre();
        let sum = Slopes { theta, centre: &centre, k, intercept: self.params.fit_intercept };
        let at = reduce(self.shared.ctx, self.shared.data, &sum)?;
        let (weight, (_, l2)) = (self.moments().weight, self.penalty());
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
        if !self.params.fit_intercept {
            totals.fill(0.0);
        }
        Ok(at.loss / weight + 0.5 * l2 * kernel::dot(coefficients, coefficients))
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
        kernel::vectorised(
            #[inline(always)]
            || {
                for (i, s) in stat.scores.chunks_exact_mut(k).enumerate() {
                    let (c, y) = (batch.weight(i), codes[i] as usize);
                    for (s, shift) in s.iter_mut().zip(&shift) {
                        *s += shift;
                    }
                    let own = s[y];
                    loss += c * (kernel::softmax(s) - own);
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
        kernel::add_scaled(1.0, &right.gradient, &mut left.gradient);
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
                        out[1] = kernel::sigmoid(s[0]);
                        out[0] = kernel::sigmoid(-s[0]);
                    } else {
                        out.copy_from_slice(s);
                        kernel::softmax(out);
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
