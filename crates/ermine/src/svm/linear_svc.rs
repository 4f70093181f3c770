//! Linear support vector classification, one class against the rest:
//! `min_w 1/2 ||w||^2 + C sum_i w_i max(0, 1 - y_i (w.x_i + b))^2`, or the plain hinge, or the penalty ||w||_1.
//!
//! As in LIBLINEAR and scikit-learn the intercept is the weight of an appended column of value `intercept_scaling`, and
//! therefore penalised with the rest: b = intercept_scaling w_0. A larger scaling lessens that; SVC(kernel="linear")
//! leaves b free.
//!
//! Method. Squared hinge, L2 penalty: Newton's on the primal (Keerthi and DeCoste 2005), each pass one sum of loss,
//! gradient and the Hessian of the rows inside the margin: any size of data, a handful of passes. With more than some
//! hundred columns the step comes from conjugate gradients, a pass for each product with the Hessian, and no tighter
//! than it needs to be (Dembo, Eisenstat and Steihaug 1982). The plain hinge and the penalty ||w||_1 go by coordinate
//! descent ([`dual_coordinate`]), which needs the rows in memory.

use crate::{
    Array, Bound, Ctx, Error, Estimator, Fit, FitLog, Halt, Info, Matrix, Model, Output, Passes, Result, Shape, Source,
    Task, X,
    core::{
        Batch, Reduce, TargetKind, choice,
        ctx::Progress,
        linalg::{self, Cholesky},
        param::{above, at_least, log},
        params, reduce,
        simd::{add_scaled, all_finite, dot},
    },
    engine::dual_coordinate::{self, Rows},
    linear::{LinearModel, class_of},
};
use serde::{Deserialize, Serialize};

choice! {
    /// What is kept small.
    pub enum Penalty {
        L1 = "l1",
        L2 = "l2",
    }
}

choice! {
    /// Loss function.
    pub enum Loss {
        Hinge = "hinge",
        SquaredHinge = "squared_hinge",
    }
}

choice! {
    /// Accepted for scikit-learn compatibility; ignored, because the faster form is chosen automatically.
    pub enum Dual: bool where at_least(0.0) => { Auto = "auto" }
}

params! {
    /// Linear support vector classification. Fast for many rows or many sparse columns.
    pub struct LinearSVC {
        /// Penalty on the weights: l2 keeps them small, l1 sets most of them to zero.
        penalty: Penalty = Penalty::L2;
        /// Loss function.
        loss: Loss = Loss::SquaredHinge;
        /// Accepted for scikit-learn compatibility; ignored, because the faster form is chosen automatically.
        dual: Dual = Dual::Auto;
        /// Stop when the optimality conditions hold within this tolerance and the objective is proven to be this close
        /// to its optimum, relative to it.
        tol: f64 = 1e-4, above(0.0);
        /// Inverse regularisation strength: cost of a row inside the margin.
        C: f64 = 1.0, above(0.0), log(1e-4, 1e2);
        /// Whether to fit an intercept, which is penalised like the weights.
        fit_intercept: bool = true;
        /// Value of the constant column behind the intercept; larger values penalise the intercept less.
        intercept_scaling: f64 = 1.0, above(0.0);
        /// Maximum number of passes over the data.
        max_iter: usize = 1000, at_least(1.0);
    }
}

const WHY_MEMORY: &str = "coordinate descent revisits rows in random order";

/// Above this many columns a Hessian costs more than it saves.
const NEWTON_COLUMNS: usize = 500;

impl Estimator for LinearSVC {
    type Model = LinearClassifier;

    const INFO: Info = Info {
        scale: true,
        random: true,
        ..Info::new(
            "svm",
            Task::Classification,
            "min_w ||w||^2 / 2 + C sum_i max(0, 1 - y_i (w.x_i + b))^2",
            Passes::Many,
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        let (n, p, classes) = shape.sizes();
        let machines = if classes > 2.0 { classes } else { 1.0 };
        let most = self.max_iter as f64;
        let one = if self.is_smooth() {
            // Beyond some hundred columns conjugate gradients take the place of the Hessian.
            let few = p.min(NEWTON_COLUMNS as f64);
            8.0f64.min(most) * (n * p * (3.0 + 0.06 * few) + 0.2 * few.powi(3))
        } else {
            dual_coordinate::cost(shape, self.max_iter)
        };
        1e-9 * (1.5e5 + machines * one)
    }

    fn passes(&self) -> Passes {
        if self.is_smooth() { Passes::Many } else { Passes::Memory(WHY_MEMORY) }
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<LinearClassifier>> {
        let shape = data.shape();
        let TargetKind::Class(classes) = shape.target else {
            return Err(Error::Data("LinearSVC needs a target of classes".into()));
        };
        if self.penalty == Penalty::L1 && self.loss == Loss::Hinge {
            return Err(Error::Unsupported(
                "LinearSVC: penalty=l1 with loss=hinge is not supported; use loss=squared_hinge".into(),
            ));
        }
        // One machine separates two classes; more have one each.
        let targets: Vec<u32> = if classes == 2 { vec![1] } else { (0..classes as u32).collect() };
        let solved: Vec<Solved> = if self.is_smooth() {
            targets.iter().map(|&class| self.newton(data, ctx, class)).collect::<Result<_>>()?
        } else {
            let batch = data.in_memory("LinearSVC", WHY_MEMORY)?;
            ctx.check()?;
            batch.x.check_finite(batch.first)?;
            ctx.map(targets.len(), |i| self.coordinates(ctx, &batch, targets[i]))?
        };
        let p = shape.cols;
        let coef = Matrix::new(solved.iter().flat_map(|s| s.w[..p].to_vec()).collect(), solved.len(), p);
        let constant = self.constant();
        let intercept = solved.iter().map(|s| s.w[p] * constant).collect();
        let halt = solved.iter().find(|s| !s.bound.holds()).map_or(Halt::Rounding, |s| s.halt);
        let bound = Bound::sum(solved.iter().map(|s| s.bound));
        let objective = match &solved[..] {
            [one] if !one.path.is_empty() => one.path.clone(),
            many => vec![many.iter().map(|s| s.objective).sum()],
        };
        let passes = solved.iter().map(|s| s.passes).max().unwrap_or(0);
        let log = FitLog::proven(passes, objective, bound, halt);
        Ok(Fit::new(LinearClassifier { linear: LinearModel { coef, intercept }, classes }, log))
    }
}

struct Solved {
    w: Vec<f64>,
    passes: usize,
    path: Vec<f64>,
    objective: f64,
    bound: Bound,
    /// What ended it, if not the bound.
    halt: Halt,
}

impl LinearSVC {
    /// Whether the objective has a gradient, so that Newton's method applies.
    fn is_smooth(&self) -> bool {
        self.penalty == Penalty::L2 && self.loss == Loss::SquaredHinge
    }

    fn constant(&self) -> f64 {
        if self.fit_intercept { self.intercept_scaling } else { 0.0 }
    }

    fn coordinates(&self, ctx: &Ctx, batch: &Batch, class: u32) -> Result<Solved> {
        let rows = Rows {
            x: batch.x,
            constant: self.constant(),
            cost: (0..batch.rows()).map(|i| self.C * batch.weight(i)).collect(),
            y: batch.y.codes().iter().map(|&code| if code == class { 1.0 } else { -1.0 }).collect(),
        };
        let mut rng = ctx.rng("LinearSVC", u64::from(class));
        let found = match (self.penalty, self.loss) {
            (Penalty::L1, _) => dual_coordinate::sparse_weights(ctx, &rows, self.tol, self.max_iter, &mut rng)?,
            (_, loss) => {
                let squared = loss == Loss::SquaredHinge;
                dual_coordinate::classify(ctx, &rows, squared, self.tol, self.max_iter, &mut rng)?
            }
        };
        Ok(Solved {
            w: found.w,
            passes: found.passes,
            path: Vec::new(),
            objective: found.objective,
            bound: found.bound,
            halt: found.halt,
        })
    }

    fn newton(&self, data: &dyn Source, ctx: &Ctx, class: u32) -> Result<Solved> {
        let p = data.shape().cols;
        let hessian = p <= NEWTON_COLUMNS;
        let at = |w: &[f64]| -> Result<Sums> {
            let mut sums = reduce(ctx, data, &Margin { w, class, constant: self.constant(), hessian })?;
            sums.loss = self.C * sums.loss + 0.5 * dot(w, w);
            sums.gradient.iter_mut().zip(w).for_each(|(g, w)| *g = 2.0 * self.C * *g + w);
            Ok(sums)
        };
        let mut w = vec![0.0; p + 1];
        let mut here = at(&w)?;
        let overflow =
            |sums: &Sums| !sums.loss.is_finite() || !all_finite(&sums.gradient) || !all_finite(&sums.hessian);
        if overflow(&here) {
            return Err(Error::Data("LinearSVC: squares of the values overflow".into())
                .hint("bring the columns to a common scale"));
        }
        // The penalty has curvature one in every direction: |g|^2 / 2 is the duality gap. Newton's steps are exact once
        // the rows inside the margin are found, so it is worth going further than asked.
        let prove = |here: &Sums| Bound::new(0.5 * dot(&here.gradient, &here.gradient), self.tol, here.loss, here.loss);
        let first = prove(&here).gap;
        let (mut path, mut halt) = (vec![here.loss], Halt::MaxIter);
        while path.len() <= self.max_iter {
            let bound = prove(&here);
            if bound.gap <= 1e-10 * bound.tolerance {
                break;
            }
            let step = if hessian {
                newton_step(&here, p + 1, 2.0 * self.C)
            } else {
                // The closer to the optimum, the more digits: steps stay better than linear and cost no more than they
                // bring.
                let share = (bound.gap / first).powf(0.25).min(0.5);
                Some(truncated_step(&here.gradient, share, |v| {
                    let product = reduce(ctx, data, &Curvature { w: &w, v, class, constant: self.constant() })?;
                    Ok(v.iter().zip(&product).map(|(v, hv)| v + 2.0 * self.C * hv).collect())
                })?)
            };
            let Some(step) = step.filter(|step| all_finite(step)) else {
                halt = Halt::Rounding;
                break;
            };
            let slope = dot(&step, &here.gradient);
            let mut length = 1.0;
            let next = loop {
                let moved: Vec<f64> = w.iter().zip(&step).map(|(w, d)| w + length * d).collect();
                let there = at(&moved)?;
                if there.loss <= here.loss + 1e-4 * length * slope {
                    break Some((moved, there));
                }
                length *= 0.5;
                if length < 1e-8 {
                    break None;
                }
            };
            let Some((moved, there)) = next.filter(|(_, there)| there.loss < here.loss && !overflow(there)) else {
                halt = Halt::Rounding;
                break;
            };
            (w, here) = (moved, there);
            path.push(here.loss);
            ctx.progress(Progress { what: "LinearSVC", step: path.len() - 1, of: None, value: Some(here.loss) });
        }
        Ok(Solved { w, passes: path.len() - 1, objective: here.loss, bound: prove(&here), path, halt })
    }
}

/// Solves (I + scale H) d = -g with the diagonal brought to one first; `None` when the numbers do not allow it.
fn newton_step(sums: &Sums, n: usize, scale: f64) -> Option<Vec<f64>> {
    let stride = linalg::padded(n);
    let unit: Vec<f64> = (0..n).map(|i| (1.0 + scale * sums.hessian[i * stride + i]).sqrt().recip()).collect();
    let entry = |i: usize, j: usize| f64::from(i == j) + scale * sums.hessian[i.max(j) * stride + i.min(j)];
    let mut ridge = 0.0;
    while ridge < 1.0 {
        let scaled = Matrix::from_fn(n, n, |i, j| entry(i, j) * unit[i] * unit[j] + if i == j { ridge } else { 0.0 });
        if let Some(factor) = Cholesky::new(&scaled) {
            let mut step: Vec<f64> = sums.gradient.iter().zip(&unit).map(|(g, u)| -g * u).collect();
            factor.solve(&mut step, 1);
            step.iter_mut().zip(&unit).for_each(|(d, u)| *d *= u);
            return Some(step);
        }
        ridge = (ridge * 10.0f64).max(1e-12);
    }
    None
}

/// Solves A d = -g by conjugate gradients, given products with A, until `share` of the residual is left.
fn truncated_step(gradient: &[f64], share: f64, times: impl Fn(&[f64]) -> Result<Vec<f64>>) -> Result<Vec<f64>> {
    let mut step = vec![0.0; gradient.len()];
    let mut residual: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut direction = residual.clone();
    let mut square = dot(&residual, &residual);
    let enough = square * share * share;
    for _ in 0..gradient.len() {
        if square <= enough {
            break;
        }
        let product = times(&direction)?;
        let length = square / dot(&direction, &product);
        add_scaled(length, &direction, &mut step);
        add_scaled(-length, &product, &mut residual);
        let next = dot(&residual, &residual);
        let turn = next / square;
        direction.iter_mut().zip(&residual).for_each(|(d, r)| *d = r + turn * *d);
        square = next;
    }
    Ok(step)
}

/// The curvature at `w` times `v`: `sum x (x.v)` over the rows inside the margin.
struct Curvature<'a> {
    w: &'a [f64],
    v: &'a [f64],
    class: u32,
    constant: f64,
}

impl Reduce for Curvature<'_> {
    type Stat = Vec<f64>;

    fn zero(&self) -> Vec<f64> {
        vec![0.0; self.w.len()]
    }

    fn add(&self, stat: &mut Vec<f64>, batch: &Batch) -> Result<()> {
        let (p, rows) = (batch.x.cols(), batch.rows());
        let (mut scores, mut along) = (vec![0.0; rows], vec![0.0; rows]);
        batch.x.times_vector(&self.w[..p], &mut scores);
        batch.x.times_vector(&self.v[..p], &mut along);
        let codes = batch.y.codes();
        let mut constant = 0.0;
        for i in 0..rows {
            let y = if codes[i] == self.class { 1.0 } else { -1.0 };
            let inside = 1.0 - y * (scores[i] + self.constant * self.w[p]) > 0.0;
            along[i] = if inside { batch.weight(i) * (along[i] + self.constant * self.v[p]) } else { 0.0 };
            constant += along[i];
        }
        batch.x.add_transposed_vector(&along, &mut stat[..p]);
        stat[p] += constant * self.constant;
        Ok(())
    }

    fn merge(&self, left: &mut Vec<f64>, right: Vec<f64>) {
        add_scaled(1.0, &right, left);
    }
}

/// Loss, gradient and curvature of one class against the rest.
struct Margin<'a> {
    w: &'a [f64],
    class: u32,
    constant: f64,
    hessian: bool,
}

#[derive(Serialize, Deserialize)]
struct Sums {
    /// Sum of squared slacks.
    loss: f64,
    /// `-sum slack y x`, the constant's entry last.
    gradient: Vec<f64>,
    /// Lower triangle of `sum x x'` over rows inside the margin, padded.
    hessian: Vec<f64>,
    #[serde(skip)]
    packed: Vec<f64>,
    #[serde(skip)]
    scores: Vec<f64>,
}

impl Reduce for Margin<'_> {
    type Stat = Sums;

    fn zero(&self) -> Sums {
        let n = self.w.len();
        let stride = linalg::padded(n);
        Sums {
            loss: 0.0,
            gradient: vec![0.0; n],
            hessian: vec![0.0; if self.hessian { stride * stride } else { 0 }],
            packed: Vec::new(),
            scores: Vec::new(),
        }
    }

    fn add(&self, stat: &mut Sums, batch: &Batch) -> Result<()> {
        batch.x.check_finite(batch.first)?;
        let (p, rows) = (batch.x.cols(), batch.rows());
        let stride = linalg::padded(p + 1);
        stat.scores.resize(rows, 0.0);
        batch.x.times_vector(&self.w[..p], &mut stat.scores);
        let codes = batch.y.codes();
        stat.packed.clear();
        let mut constant = 0.0;
        for i in 0..rows {
            let y = if codes[i] == self.class { 1.0 } else { -1.0 };
            let slack = 1.0 - y * (stat.scores[i] + self.constant * self.w[p]);
            let weight = batch.weight(i);
            // The score becomes the row's factor in the gradient.
            stat.scores[i] = 0.0;
            if slack <= 0.0 || weight == 0.0 {
                continue;
            }
            stat.loss += weight * slack * slack;
            stat.scores[i] = -weight * slack * y;
            constant += stat.scores[i];
            if self.hessian {
                let root = weight.sqrt();
                let first = stat.packed.len();
                stat.packed.resize(first + stride, 0.0);
                let packed = &mut stat.packed[first..];
                batch.x.row(i).add_to(root, &mut packed[..p]);
                packed[p] = root * self.constant;
            }
        }
        batch.x.add_transposed_vector(&stat.scores, &mut stat.gradient[..p]);
        stat.gradient[p] += constant * self.constant;
        if self.hessian {
            linalg::add_gram(&stat.packed, stride, &mut stat.hessian);
        }
        Ok(())
    }

    fn merge(&self, left: &mut Sums, right: Sums) {
        left.loss += right.loss;
        add_scaled(1.0, &right.gradient, &mut left.gradient);
        add_scaled(1.0, &right.hessian, &mut left.hessian);
    }
}

/// A score for each class; one alone for two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinearClassifier {
    pub linear: LinearModel,
    pub classes: usize,
}

impl Model for LinearClassifier {
    fn cols(&self) -> usize {
        self.linear.coef.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Class, 1), (Output::Decision, self.linear.coef.rows)]
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        if output == Output::Decision {
            return self.linear.predict(x, Output::Value, out);
        }
        let k = self.linear.coef.rows;
        let mut scores = vec![0.0; x.rows() * k];
        self.linear.predict(x, Output::Value, &mut scores)?;
        for (out, scores) in out.iter_mut().zip(scores.chunks_exact(k)) {
            *out = class_of(scores) as f64;
        }
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        vec![("coef_", (&self.linear.coef).into()), ("intercept_", (&self.linear.intercept).into())]
    }

    fn check(&self) -> Result<()> {
        self.linear.check()?;
        let rows = if self.classes == 2 { 1 } else { self.classes };
        if self.classes >= 2 && self.linear.coef.rows == rows {
            Ok(())
        } else {
            Err(Error::shape("stored coefficients", format!("{rows} rows"), self.linear.coef.rows))
        }
    }
}
