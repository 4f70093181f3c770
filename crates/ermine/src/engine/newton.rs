//! Models with one raw score a row, s = w.x + b: `min mean_i loss(y_i, s_i) + l2/2 ||w||^2 + l1 ||w||_1`, the intercept
//! free.
//!
//! Method. Not too many columns: Newton's, each pass summing loss, gradient and Hessian at once; with an L1 part the
//! step is the minimum of the quadratic model plus the penalty, by coordinate descent on the Hessian (proximal Newton:
//! Lee, Sun and Saunders 2014). Many rows start from the solution on every sixteenth block of them, so that three or
//! four full passes do. Many columns: L-BFGS (orthant-wise with an L1 part) with loss and gradient fused, scaled by the
//! curvature of each column. Columns are centred inside and the intercept takes up the difference, so an offset of the
//! data costs no digits.
//!
//! The fit ends when a bound on objective minus optimum is within `tol` of the objective. Two bounds are known. With a
//! penalty:
//! |v|^2 / (2 l2) for the least sub-gradient v of the objective with its intercept at the optimum, and |v|_inf |w*|_1 - v.(w* - w) with
//! l1 |w*|_1 at most the objective; what the intercept still lacks is bounded by its own curvature. Without one, by how
//! fast the curvature of the loss can change (generalised self-concordance: Bach 2010): (a + (1 - a) ln(1 - a)) / S^2
//! with a = S lambda, lambda^2 = v' H^-1 v and S the longest row in the metric of H^-1. Neither depends on how columns
//! are centred or scaled inside.
//!
//! Cost O(n p^2) a Newton pass, O(n p) an L-BFGS pass. Everything is a sum: any source, any number of workers.

use super::{
    coordinate,
    lbfgs::{self, Objective, Options, largest},
    loss::PointLoss,
};
use crate::{
    Bound, Certificate, Ctx, Error, FitLog, Halt, Matrix, Result, Shape, Source,
    core::{
        Batch, Reduce, Target,
        ctx::Progress,
        data::Row,
        linalg::{self, Cholesky, Eigen, View},
        reduce,
        reduce::block_rows,
        simd,
        stats::Moments,
        trace,
    },
};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;

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
    /// Mean of the least values of the loss, so that the objective is that of the deviance.
    pub least: f64,
    /// How far from the optimum, relative to the objective.
    pub tol: f64,
    pub max_iter: usize,
    /// Typical curvature of the loss at the start, for the metric of L-BFGS.
    pub curvature: f64,
}

/// Where a minimisation ended, in centred columns.
pub struct Minimum {
    pub w: Vec<f64>,
    pub path: Vec<f64>,
    pub proof: Proof,
    /// What ended it, if not the proof.
    pub halt: Halt,
}

/// What is known of a point.
#[derive(Clone, Copy)]
pub enum Proof {
    Bound(Bound),
    /// Of a loss that is not convex, or whose curvature changes in a way that is not known.
    Gradient {
        norm: f64,
        tolerance: f64,
    },
}

impl Minimum {
    /// The log, with the objective in units of `unit`.
    pub fn log(&self, unit: f64) -> FitLog {
        let (passes, path) = (self.path.len() - 1, self.path.iter().map(|value| value * unit).collect());
        match self.proof {
            Proof::Bound(bound) => FitLog::proven(passes, path, bound.times(unit), self.halt),
            Proof::Gradient { norm, tolerance } => {
                let halt = if norm <= tolerance { Halt::Stationary } else { self.halt };
                FitLog::ended(passes, path, halt, Certificate::Gradient { norm, tolerance })
            }
        }
    }
}

impl Proof {
    fn holds(&self) -> bool {
        match self {
            Proof::Bound(bound) => bound.holds(),
            Proof::Gradient { norm, tolerance } => norm <= tolerance,
        }
    }
}

/// Sums of the curvature over rows: mean, and mean of the square.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bend {
    mean: f64,
    square: f64,
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
    pub fn minimise(&self, start: Vec<f64>) -> Result<Minimum> {
        if self.cols() > NEWTON_COLUMNS {
            return self.lbfgs(start);
        }
        let rows = self.data.shape().rows;
        // A sixteenth of the rows gives a start that is right to a few per cent at a sixteenth of the price.
        let start = if rows > 16 * 100 * (self.cols() + 1).max(40) {
            self.newton(start.clone(), 16).map_or(start, |minimum| minimum.w)
        } else {
            start
        };
        self.newton(start, 1)
    }

    /// Intercept in original columns from (w, b) in centred ones.
    pub fn intercept_of(&self, w: &[f64]) -> f64 {
        let p = self.cols();
        if self.intercept { w[p] - simd::dot(&w[..p], &self.moments.mean) } else { 0.0 }
    }

    fn penalty(&self, w: &[f64]) -> f64 {
        0.5 * self.l2 * simd::dot(w, w) + self.l1 * w.iter().map(|w| w.abs()).sum::<f64>()
    }

    /// The bound that a penalty gives at a point with objective `value` and least sub-gradient `v`; infinite without a
    /// penalty.
    fn penalised_gap(&self, theta: &[f64], value: f64, v: &[f64], bend: Bend, change: f64) -> f64 {
        let p = self.cols();
        // How far the intercept is from its optimum, by its own curvature, and what that may do to the gradient of w.
        let (mut own, mut shift) = (0.0, 0.0);
        if self.intercept && v[p] != 0.0 {
            let a = change * v[p].abs() / bend.mean;
            if !(a < 1.0) {
                return f64::INFINITY;
            }
            own = v[p] * v[p] / bend.mean * excess(a);
            shift = v[p].abs() / bend.mean / (1.0 - a) * bend.square.sqrt();
        }
        let spread = |j: usize| match self.offset {
            Some(offset) if offset.column == j => 0.0,
            _ if shift > 0.0 => shift * self.moments.variance(j).max(0.0).sqrt(),
            _ => 0.0,
        };
        let mut gap = f64::INFINITY;
        if self.l2 > 0.0 {
            let squares: f64 = (0..p).map(|j| (v[j].abs() + spread(j)).powi(2)).sum();
            gap = 0.5 * squares / self.l2;
        }
        if self.l1 > 0.0 {
            let along: f64 = (0..p).map(|j| v[j] * theta[j] + spread(j) * theta[j].abs()).sum();
            let most = (0..p).map(|j| v[j].abs() + spread(j)).fold(0.0, f64::max);
            gap = gap.min(along + most * value.max(0.0) / self.l1);
        }
        own + gap
    }

    /// What is known of a point without another pass.
    fn proof(&self, theta: &[f64], value: f64, v: &[f64], bend: Bend) -> Proof {
        match self.loss.self_concordance() {
            Some(change) => self.bound(self.penalised_gap(theta, value, v, bend, change), value),
            None => Proof::Gradient { norm: largest(v), tolerance: self.tol },
        }
    }

    fn bound(&self, gap: f64, value: f64) -> Proof {
        Proof::Bound(Bound::new(gap, self.tol, value, value.abs() + self.least.abs()))
    }

    /// Newton's method on every `every`-th block of rows.
    fn newton(&self, mut theta: Vec<f64>, every: usize) -> Result<Minimum> {
        let p = self.cols();
        let centre = self.centre();
        let at = |theta: &[f64]| self.curvature(theta, &centre, every);
        let mut here = at(&theta)?;
        if !here.loss.is_finite() {
            let hint = "use a link that keeps means in range, such as log";
            return Err(Error::Diverged("the loss is not finite at the start of the fit".into()).hint(hint));
        }
        let proof = |theta: &[f64], here: &Curvature, v: &[f64]| {
            self.proof(theta, here.loss, v, Bend { mean: here.bend, square: here.bend2 })
        };
        // Coefficients come closer than the objective shows: the gradient goes to the tolerance too, as far as rounding
        // lets it.
        let settled = |v: &[f64]| largest(v) <= self.tol;
        let mut left = least_subgradient(&theta, &here.gradient, self.l1, p);
        let mut proven = proof(&theta, &here, &left);
        let mut path = vec![here.loss];
        if every == 1 {
            self.record(&theta, &here);
        }
        let mut halt = Halt::MaxIter;
        // Where the other bound, which takes a pass, was last asked for.
        let mut asked = f64::INFINITY;
        for iteration in 0..self.max_iter {
            if proven.holds() && settled(&left) {
                break;
            }
            let step = if self.l1 > 0.0 { here.proximal_step(&theta, self.l1, p) } else { here.newton_step(p + 1) };
            // What the linear model promises: g.d, and the change of the kinked penalty.
            let kinked = |theta: &[f64]| self.l1 * theta[..p].iter().map(|w| w.abs()).sum::<f64>();
            let end: Vec<f64> = theta.iter().zip(&step).map(|(w, d)| w + d).collect();
            let promised = -simd::dot(&step, &here.gradient) + kinked(&theta) - kinked(&end);
            // With a penalty another step is likely to be proof enough, at the same price.
            let share = if self.l1 + self.l2 > 0.0 { 1e-6 } else { 1.0 };
            let small = promised <= share * self.tol * here.loss.abs() && promised < 1e-3 * asked;
            if every > 1 && promised <= 1e-5 * here.loss.abs() {
                break;
            }
            if every == 1
                && small
                && !proven.holds()
                && let Some(change) = self.loss.self_concordance()
            {
                asked = promised;
                proven = better(proven, self.bound(self.curved_gap(&theta, &here, &left, change)?, here.loss));
                if proven.holds() && settled(&left) {
                    break;
                }
            }
            let Some((moved, there)) = self.line_search(&theta, &here, &step, promised, at)? else {
                halt = Halt::Rounding;
                break;
            };
            let now = least_subgradient(&moved, &there.gradient, self.l1, p);
            // At the floor of rounding the loss stands still while the gradient may still improve.
            if there.loss >= here.loss && largest(&now) >= largest(&left) {
                halt = Halt::Rounding;
                break;
            }
            (theta, here, left) = (moved, there, now);
            proven = proof(&theta, &here, &left);
            path.push(here.loss);
            if every == 1 {
                let progress = Progress { what: "newton", step: iteration + 1, of: None, value: Some(here.loss) };
                self.ctx.progress(progress);
                self.record(&theta, &here);
            }
        }
        if every == 1
            && !proven.holds()
            && let Some(change) = self.loss.self_concordance()
        {
            proven = better(proven, self.bound(self.curved_gap(&theta, &here, &left, change)?, here.loss));
        }
        Ok(Minimum { w: theta, path, proof: proven, halt })
    }

    /// Value, gradient and curvature of the penalised objective on every `every`-th block of rows.
    fn curvature(&self, theta: &[f64], centre: &[f64], every: usize) -> Result<Curvature> {
        let p = self.cols();
        let sum = Curvatures { scores: self, theta, centre, every };
        let mut at = reduce(self.ctx, self.data, &sum)?;
        let total = at.weight;
        at.loss = at.loss / total - self.least + self.penalty(&theta[..p]);
        at.gradient.iter_mut().for_each(|g| *g /= total);
        at.hessian.iter_mut().for_each(|h| *h /= total);
        (at.bend, at.bend2) = (at.bend / total, at.bend2 / total);
        let stride = linalg::padded(p + 1);
        for j in 0..p {
            at.gradient[j] += self.l2 * theta[j];
            at.hessian[j * stride + j] += self.l2;
        }
        // What is not free to move stays where it is.
        let fixed = self.offset.map(|offset| offset.column).into_iter().chain((!self.intercept).then_some(p));
        for j in fixed {
            at.gradient[j] = 0.0;
            at.hessian[j * stride + j] = 1.0;
        }
        Ok(at)
    }

    /// Half the step until the objective falls by a share of what was promised; `None` if rounding hides every fall.
    fn line_search(
        &self,
        theta: &[f64],
        here: &Curvature,
        step: &[f64],
        promised: f64,
        at: impl Fn(&[f64]) -> Result<Curvature>,
    ) -> Result<Option<(Vec<f64>, Curvature)>> {
        let noise = (here.loss.abs() + self.least.abs()) * 4.0 * f64::EPSILON;
        let mut length = 1.0;
        while length >= 1e-10 {
            let moved: Vec<f64> = theta.iter().zip(step).map(|(w, d)| w + length * d).collect();
            let there = at(&moved)?;
            if there.loss <= here.loss - 1e-4 * length * promised + noise {
                return Ok(Some((moved, there)));
            }
            length *= 0.5;
        }
        Ok(None)
    }

    fn record(&self, theta: &[f64], here: &Curvature) {
        let p = self.cols();
        self.ctx.record("newton", || {
            vec![
                ("coef", Matrix::new(theta[..p].to_vec(), 1, p)),
                ("intercept", trace::number(self.intercept_of(theta))),
                ("objective", trace::number(here.loss)),
                ("gradient", trace::column(here.gradient.iter().copied())),
            ]
        });
    }

    /// The bound by how fast the curvature can change, from one more pass for the longest row in the metric of H^-1.
    fn curved_gap(&self, theta: &[f64], here: &Curvature, v: &[f64], change: f64) -> Result<f64> {
        let n = theta.len();
        let stride = linalg::padded(n);
        let entry = |i: usize, j: usize| here.hessian[i.max(j) * stride + i.min(j)];
        let scale: Vec<f64> = (0..n).map(|i| entry(i, i).max(f64::MIN_POSITIVE).sqrt()).collect();
        let scaled = Matrix::from_fn(n, n, |i, j| entry(i, j) / (scale[i] * scale[j]));
        if !simd::all_finite(&scaled.values) {
            return Ok(f64::INFINITY);
        }
        let Some(eigen) = Eigen::new(&scaled) else { return Ok(f64::INFINITY) };
        // Directions without curvature are those of columns that depend on others: rows have no part in them, nor has v
        // but for rounding.
        let flat = n as f64 * 1e-15 * eigen.values[n - 1];
        let slope: Vec<f64> = v.iter().zip(&scale).map(|(v, s)| v / s).collect();
        let mut decrement = 0.0;
        let mut inverse = Matrix::zeros(n, n);
        for (k, &value) in eigen.values.iter().enumerate() {
            let vector: Vec<f64> = (0..n).map(|i| eigen.vectors[(i, k)]).collect();
            let along = simd::dot(&vector, &slope);
            if value <= flat {
                if along * along > 1e-20 * here.loss.abs() {
                    return Ok(f64::INFINITY);
                }
                continue;
            }
            decrement += along * along / value;
            for i in 0..n {
                simd::add_scaled(vector[i] / value, &vector, inverse.row_mut(i));
            }
        }
        if change == 0.0 {
            return Ok(0.5 * decrement);
        }
        // Without it a = 0 would be the answer to a point that is exact.
        if decrement == 0.0 {
            return Ok(0.0);
        }
        for i in 0..n {
            (0..n).for_each(|j| inverse[(i, j)] /= scale[i] * scale[j]);
        }
        let centre = self.centre();
        let longest2 = reduce(self.ctx, self.data, &Longest { scores: self, centre: &centre, inverse: &inverse })?;
        let a = change * (longest2 * decrement).sqrt();
        Ok(if a < 1.0 { decrement * excess(a) } else { f64::INFINITY })
    }

    fn lbfgs(&self, start: Vec<f64>) -> Result<Minimum> {
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
        let smooth = Smooth { scores: self, last: RefCell::default() };
        let proof = |w: &[f64], value: f64, v: &[f64]| match (&*smooth.last.borrow(), self.loss.self_concordance()) {
            (Some((at, bend)), _) if at == w => self.proof(w, value, v, *bend),
            // Evaluated elsewhere since: nothing is known here.
            (_, Some(_)) => self.bound(f64::INFINITY, value),
            (_, None) => Proof::Gradient { norm: largest(v), tolerance: self.tol },
        };
        let met = |w: &[f64], value: f64, v: &[f64]| largest(v) <= self.tol && proof(w, value, v).holds();
        let options = Options { max_iter: self.max_iter, met: &met, metric: &metric, step: &step };
        let outcome = if self.l1 > 0.0 {
            let l1: Vec<f64> = (0..=p).map(|j| if j < p { self.l1 } else { 0.0 }).collect();
            lbfgs::minimise_l1(&smooth, start, &l1, &options)?
        } else {
            lbfgs::minimise(&smooth, start, &options)?
        };
        let value = outcome.path[outcome.path.len() - 1];
        if smooth.last.borrow().as_ref().is_none_or(|(at, _)| *at != outcome.w) {
            smooth.evaluate(&outcome.w, &mut vec![0.0; p + 1])?;
        }
        let proven = proof(&outcome.w, value, &outcome.gradient);
        Ok(Minimum { w: outcome.w, path: outcome.path, proof: proven, halt: outcome.halt.unwrap_or(Halt::Rounding) })
    }
}

/// The smaller of two bounds.
fn better(one: Proof, other: Proof) -> Proof {
    match (one, other) {
        (Proof::Bound(a), Proof::Bound(b)) if b.gap < a.gap => other,
        _ => one,
    }
}

/// (a + (1 - a) ln(1 - a)) / a^2, which is a half and a bit.
fn excess(a: f64) -> f64 {
    if a < 1e-3 { 0.5 + a / 6.0 + a * a / 10.0 } else { (a + (1.0 - a) * (-a).ln_1p()) / (a * a) }
}

/// The least sub-gradient of f + l1 ||w||_1 over the first p variables, given the gradient of f.
pub fn least_subgradient(theta: &[f64], gradient: &[f64], l1: f64, p: usize) -> Vec<f64> {
    let one = |j: usize| match theta[j] {
        _ if j >= p => gradient[j],
        0.0 => gradient[j].signum() * (gradient[j].abs() - l1).max(0.0),
        w => gradient[j] + l1 * w.signum(),
    };
    (0..theta.len()).map(one).collect()
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
    /// Sums of the curvatures and of their squares.
    bend: f64,
    bend2: f64,
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
            bend: 0.0,
            bend2: 0.0,
            hessian: vec![0.0; stride * stride],
            packed: Vec::new(),
        }
    }

    pub fn merge(&mut self, right: Curvature) {
        self.weight += right.weight;
        self.loss += right.loss;
        self.bend += right.bend;
        self.bend2 += right.bend2;
        simd::add_scaled(1.0, &right.gradient, &mut self.gradient);
        simd::add_scaled(1.0, &right.hessian, &mut self.hessian);
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
            linear[i] += simd::dot(gram.row(i), theta);
        }
        let penalties: Vec<f64> = (0..n).map(|j| if j < p { l1 } else { 0.0 }).collect();
        let problem = coordinate::Quadratic { gram: &gram, linear: &linear, l1: &penalties, l2: 0.0, positive: false };
        let mut w = theta.to_vec();
        let scale = self.loss.abs().max(f64::MIN_POSITIVE);
        problem.descend(&mut w, scale * 1e-16, 2000, &|_, _| false);
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
        let (w, shift) = (&self.theta[..p], self.theta[p] - simd::dot(self.centre, &self.theta[..p]));
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
            let (mut loss, mut weight, mut bend, mut bend2) = (0.0, 0.0, 0.0, 0.0);
            simd::vectorised(
                #[inline(always)]
                || {
                    for i in 0..n {
                        let c = part.weight(i);
                        let at = self.scores.loss.at(y[i], score[i] + shift);
                        loss += c * at.value;
                        weight += c;
                        bend += c * at.curvature;
                        bend2 += c * at.curvature * at.curvature;
                        residual[i] = c * at.slope;
                        root[i] = (c * at.curvature).sqrt();
                    }
                },
            );
            stat.loss += loss;
            stat.weight += weight;
            stat.bend += bend;
            stat.bend2 += bend2;
            stat.packed.clear();
            stat.packed.resize(n * stride, 0.0);
            let unit = f64::from(u8::from(self.scores.intercept));
            let fixed = self.scores.offset.map(|offset| offset.column);
            simd::vectorised(
                #[inline(always)]
                || {
                    for (i, z) in stat.packed.chunks_exact_mut(stride).enumerate() {
                        centred(&part.x.row(i), self.centre, z);
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

/// A row minus the centre.
#[inline(always)]
pub fn centred(row: &Row, centre: &[f64], out: &mut [f64]) {
    match row {
        Row::Dense(row) => {
            for ((z, x), c) in out.iter_mut().zip(*row).zip(centre) {
                *z = x - c;
            }
        }
        sparse => {
            out.iter_mut().zip(centre).for_each(|(z, c)| *z = -c);
            sparse.for_each(|j, value| out[j] += value);
        }
    }
}

/// The largest z' A z over the rows z = (x - centre, 1).
struct Longest<'a, 'b, L> {
    scores: &'a Scores<'b, L>,
    centre: &'a [f64],
    inverse: &'a Matrix,
}

impl<L: PointLoss> Reduce for Longest<'_, '_, L> {
    type Stat = f64;

    fn zero(&self) -> f64 {
        0.0
    }

    fn add(&self, stat: &mut f64, batch: &Batch) -> Result<()> {
        let p = self.centre.len();
        let sheet = linalg::sheet_rows(p + 1);
        let (mut packed, mut times) = (vec![0.0; sheet * (p + 1)], vec![0.0; sheet * (p + 1)]);
        for first in (0..batch.rows()).step_by(sheet) {
            let part = batch.slice(first..(first + sheet).min(batch.rows()));
            let n = part.rows() * (p + 1);
            for (i, z) in packed[..n].chunks_exact_mut(p + 1).enumerate() {
                centred(&part.x.row(i), self.centre, z);
                z[p] = f64::from(u8::from(self.scores.intercept));
                if let Some(offset) = self.scores.offset {
                    z[offset.column] = 0.0;
                }
            }
            let rows = View::rows(&packed[..n], part.rows(), p + 1);
            linalg::multiply(rows, self.inverse.view(), 0.0, &mut times[..n]);
            for (i, (z, t)) in packed[..n].chunks_exact(p + 1).zip(times.chunks_exact(p + 1)).enumerate() {
                if part.weight(i) > 0.0 {
                    *stat = stat.max(simd::dot(z, t));
                }
            }
        }
        Ok(())
    }

    fn merge(&self, left: &mut f64, right: f64) {
        *left = left.max(right);
    }
}

/// What L-BFGS sees: the smooth part of the objective, with the point where it was last evaluated and its curvature
/// there.
struct Smooth<'a, 'b, L> {
    scores: &'a Scores<'b, L>,
    last: RefCell<Option<(Vec<f64>, Bend)>>,
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
    bend: f64,
    bend2: f64,
    gradient: Vec<f64>,
    #[serde(skip)]
    scores: Vec<f64>,
}

impl<L: PointLoss> Objective for Smooth<'_, '_, L> {
    fn evaluate(&self, theta: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let scores = self.scores;
        let p = scores.cols();
        let centre = scores.centre();
        let sum = Slopes { scores, theta, shift: theta[p] - simd::dot(&centre, &theta[..p]) };
        let at = reduce(scores.ctx, scores.data, &sum)?;
        let total = scores.moments.weight;
        // The sum of residuals carries the centring into the gradient of w.
        let residuals = at.gradient[p] / total;
        for j in 0..p {
            gradient[j] = at.gradient[j] / total - centre[j] * residuals + scores.l2 * theta[j];
        }
        gradient[p] = if scores.intercept { residuals } else { 0.0 };
        if let Some(offset) = scores.offset {
            gradient[offset.column] = 0.0;
        }
        let bend = Bend { mean: at.bend / total, square: at.bend2 / total };
        *self.last.borrow_mut() = Some((theta.to_vec(), bend));
        Ok(at.loss / total - scores.least + 0.5 * scores.l2 * simd::dot(&theta[..p], &theta[..p]))
    }
}

impl<L: PointLoss> Reduce for Slopes<'_, '_, L> {
    type Stat = Slope;

    fn zero(&self) -> Slope {
        Slope { loss: 0.0, bend: 0.0, bend2: 0.0, gradient: vec![0.0; self.theta.len()], scores: Vec::new() }
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
        let (mut loss, mut total, mut bend, mut bend2) = (0.0, 0.0, 0.0, 0.0);
        simd::vectorised(
            #[inline(always)]
            || {
                for (i, s) in stat.scores.iter_mut().enumerate() {
                    let at = self.scores.loss.at(y[i], *s + self.shift);
                    let c = batch.weight(i);
                    loss += c * at.value;
                    bend += c * at.curvature;
                    bend2 += c * at.curvature * at.curvature;
                    *s = c * at.slope;
                    total += *s;
                }
            },
        );
        stat.loss += loss;
        stat.bend += bend;
        stat.bend2 += bend2;
        stat.gradient[p] += total;
        batch.x.add_transposed_vector(&stat.scores, &mut stat.gradient[..p]);
        Ok(())
    }

    fn merge(&self, left: &mut Slope, right: Slope) {
        left.loss += right.loss;
        left.bend += right.bend;
        left.bend2 += right.bend2;
        simd::add_scaled(1.0, &right.gradient, &mut left.gradient);
    }
}

/// Nanoseconds of a minimum with one score a row: so many Newton passes, or ten times as many of L-BFGS where columns
/// are many.
pub fn cost(shape: &Shape, passes: usize) -> f64 {
    let (n, p, _) = shape.sizes();
    let few = p.min(NEWTON_COLUMNS as f64);
    1.2e5 + 30.0 * n + passes as f64 * (n * p * (4.0 + 0.04 * few) + 0.05 * few.powi(3))
}
