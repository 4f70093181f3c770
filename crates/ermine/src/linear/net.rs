//! What the lasso family shares: columns from one pass or on demand, paths, and folds.
//!
//! Cross-validation over contiguous folds needs no second look at the rows when there are not too many columns: the
//! moments
//! of each fold, merged over the others, are all that a path and its errors need.

use super::LinearModel;
use crate::{
    Bound, Ctx, Error, Fit, FitLog, Matrix, Result, Shape, Source,
    core::{
        Batch, Reduce, TargetKind,
        ctx::Progress,
        memory,
        param::{Field, Form, Range as Allowed, Value, at_least},
        reduce, simd,
        stats::{Gram, Moments},
    },
    engine::{
        coordinate::{self, Columns, Lazy, Penalty, Solved, Whole},
        folds, least_squares,
    },
};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// `min_{w,b} 1/(2 sum w_i) sum_i w_i (y_i - w.x_i - b)^2 + alpha r ||w||_1 + alpha (1 - r)/2 ||w||^2`
#[derive(Clone, Copy)]
pub struct Net<'a> {
    pub name: &'a str,
    pub l1_ratio: f64,
    pub fit_intercept: bool,
    pub positive: bool,
    pub tol: f64,
    pub max_iter: usize,
}

/// Up to this many columns all products are cheaper than several passes, for a single strength.
const FEW: usize = 200;
/// Up to this many columns all products fit in memory for every fold, for a path.
const MANY: usize = 4096;

/// Strengths: how many on a logarithmic scale down from the first that keeps everything at zero, or a list.
#[derive(Clone, Debug, PartialEq)]
pub enum Alphas {
    Count(usize),
    List(Vec<f64>),
}

impl Alphas {
    pub fn count(&self) -> usize {
        match self {
            Alphas::Count(count) => *count,
            Alphas::List(list) => list.len(),
        }
    }
}

impl Field for Alphas {
    fn forms(_: Allowed) -> Vec<Form> {
        vec![Form::Int(at_least(1.0)), Form::List(vec![Form::Float(at_least(0.0))])]
    }
    fn to_value(&self) -> Value {
        match self {
            Alphas::Count(count) => count.to_value(),
            Alphas::List(list) => list.to_value(),
        }
    }
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::List(_) => Vec::from_value(value).map(Alphas::List),
            single => usize::from_value(single).map(Alphas::Count),
        }
    }
}

/// Solutions for falling strengths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Path {
    pub alphas: Vec<f64>,
    /// One row for each strength.
    pub coefs: Matrix,
    pub intercepts: Vec<f64>,
    pub gaps: Vec<f64>,
}

/// Means of x and y over the rows that count.
struct Means {
    weight: f64,
    x: Vec<f64>,
    y: Vec<f64>,
}

struct MeanSums {
    cols: usize,
    targets: usize,
    without: Range<usize>,
}

impl Reduce for MeanSums {
    type Stat = (Moments, Vec<f64>);

    fn zero(&self) -> Self::Stat {
        (Moments::new(self.cols), vec![0.0; self.targets])
    }

    fn add(&self, (x, y): &mut Self::Stat, batch: &Batch) -> Result<()> {
        batch.x.check_finite(batch.first)?;
        let mut block = Moments::new(self.cols);
        let weights: Vec<f64> = (0..batch.rows())
            .map(|i| if self.without.contains(&(batch.first + i)) { 0.0 } else { batch.weight(i) })
            .collect();
        block.weight = weights.iter().sum();
        if block.weight == 0.0 {
            return Ok(());
        }
        batch.x.add_transposed_vector(&weights, &mut block.mean);
        block.mean.iter_mut().for_each(|mean| *mean /= block.weight);
        for (row, weight) in batch.y.real().chunks_exact(self.targets).zip(&weights) {
            simd::add_scaled(*weight, row, y);
        }
        x.merge(block);
        Ok(())
    }

    fn merge(&self, left: &mut Self::Stat, right: Self::Stat) {
        left.0.merge(right.0);
        simd::add_scaled(1.0, &right.1, &mut left.1);
    }
}

/// Moments of (x, y) over some of the rows.
pub(super) struct RowProducts {
    pub cols: usize,
    pub targets: usize,
    pub rows: Range<usize>,
}

impl Reduce for RowProducts {
    type Stat = Gram;

    fn zero(&self) -> Gram {
        Gram::new(self.cols + self.targets)
    }

    fn add(&self, stat: &mut Gram, batch: &Batch) -> Result<()> {
        let last = batch.first + batch.rows();
        let (from, to) = (self.rows.start.clamp(batch.first, last), self.rows.end.clamp(batch.first, last));
        if from >= to {
            return Ok(());
        }
        let batch = batch.slice(from - batch.first..to - batch.first);
        batch.x.check_finite(batch.first)?;
        let y = batch.y.real();
        stat.add(&batch.x, batch.weights, |i| &y[i * self.targets..(i + 1) * self.targets]);
        Ok(())
    }

    fn close(&self, stat: &mut Gram) {
        stat.close();
    }

    fn merge(&self, left: &mut Gram, right: Gram) {
        left.merge(right);
    }
}

impl Net<'_> {
    fn penalty(&self, alpha: f64) -> Penalty {
        Penalty { l1: alpha * self.l1_ratio, l2: alpha * (1.0 - self.l1_ratio), positive: self.positive }
    }

    fn targets(&self, data: &dyn Source) -> Result<usize> {
        match data.shape().target {
            TargetKind::Real(targets) => Ok(targets),
            _ => Err(Error::Data(format!("{} needs a target of numbers", self.name))),
        }
    }

    fn means(&self, data: &dyn Source, ctx: &Ctx, without: Range<usize>) -> Result<Means> {
        let (cols, targets) = (data.shape().cols, self.targets(data)?);
        let (x, sums) = reduce(ctx, data, &MeanSums { cols, targets, without })?;
        Ok(Means { weight: x.weight, y: sums.iter().map(|sum| sum / x.weight).collect(), x: x.mean })
    }

    fn lazy<'a>(
        &self,
        data: &'a dyn Source,
        ctx: &'a Ctx,
        target: usize,
        without: Range<usize>,
        means: &Means,
    ) -> Result<Lazy<'a>> {
        let targets = self.targets(data)?;
        let (x, y) =
            if self.fit_intercept { (means.x.clone(), means.y[target]) } else { (vec![0.0; means.x.len()], 0.0) };
        Lazy::new(data, ctx, (target, targets), without, x, y, &means.x)
    }

    fn intercept(&self, w: &[f64], x_mean: &[f64], y_mean: f64) -> f64 {
        if self.fit_intercept { y_mean - simd::dot(w, x_mean) } else { 0.0 }
    }

    /// One strength, every target by itself.
    pub fn fit(&self, alpha: f64, data: &dyn Source, ctx: &Ctx) -> Result<Fit<LinearModel>> {
        let (shape, targets) = (data.shape(), self.targets(data)?);
        if alpha * self.l1_ratio == 0.0 && !self.positive {
            // Nothing is kinked: ridge, whose penalty is not divided by the weight of the rows.
            let total = if alpha > 0.0 { self.means(data, ctx, 0..0)?.weight } else { 1.0 };
            return least_squares::fit(data, ctx, alpha * total, self.fit_intercept);
        }
        let mut coef = Matrix::zeros(targets, shape.cols);
        let mut intercept = vec![0.0; targets];
        let mut solutions: Vec<Solved> = Vec::new();
        let mut one = |target: usize, columns: &mut dyn Columns, x_mean: &[f64], y_mean: f64| -> Result<()> {
            let w = coef.row_mut(target);
            solutions.push(coordinate::solve(columns, self.penalty(alpha), w, self.tol, self.max_iter, ctx)?);
            intercept[target] = self.intercept(w, x_mean, y_mean);
            ctx.progress(Progress { what: "target", step: target + 1, of: Some(targets), value: None });
            Ok(())
        };
        if shape.cols <= FEW {
            let gram = reduce(ctx, data, &RowProducts { cols: shape.cols, targets, rows: 0..shape.rows })?;
            for target in 0..targets {
                let mut columns = Whole::new(&gram, shape.cols, target, self.fit_intercept);
                one(target, &mut columns, &gram.mean[..shape.cols], gram.mean[shape.cols + target])?;
            }
        } else {
            let means = self.means(data, ctx, 0..0)?;
            for target in 0..targets {
                let mut columns = self.lazy(data, ctx, target, 0..0, &means)?;
                one(target, &mut columns, &means.x, means.y[target])?;
            }
        }
        // Targets are problems of their own: each must be solved, and the worst one is shown.
        let passes = solutions.iter().map(|solved| solved.passes).max().unwrap_or(0);
        let share = |bound: &Bound| bound.gap / bound.tolerance;
        let worst = solutions.into_iter().max_by(|a, b| share(&a.bound).total_cmp(&share(&b.bound)));
        let Some(worst) = worst else { return Err(Error::Data(format!("{} needs a target", self.name))) };
        let path = if targets > 1 { Vec::new() } else { worst.path };
        let log = FitLog::proven(passes, path, worst.bound, worst.halt);
        Ok(Fit::new(LinearModel { coef, intercept }, log))
    }

    /// Refuses more strengths than there is room for, with a coefficient for each column and an error for each fold.
    fn price(&self, alphas: &Alphas, width: usize) -> Result<()> {
        let count = alphas.count();
        memory::check(self.name, &format!("alphas={count}"), &[count, width + 4], 8)
    }

    /// Strengths from the first at which every coefficient is zero down to `eps` of it, or those that are given.
    fn grid(&self, columns: &dyn Columns, alphas: &Alphas, eps: f64) -> Vec<f64> {
        match alphas {
            Alphas::List(list) => {
                let mut list = list.clone();
                list.sort_by(|a, b| b.total_cmp(a));
                list
            }
            Alphas::Count(count) => {
                let top = coordinate::strongest(columns, self.positive) / self.l1_ratio.max(1e-3);
                let top = if top > 0.0 { top } else { f64::EPSILON };
                let step = |i: usize| if *count > 1 { i as f64 / (count - 1) as f64 } else { 0.0 };
                (0..*count).map(|i| top * eps.powf(step(i))).collect()
            }
        }
    }

    /// Solutions along falling strengths, each from the one before.
    fn along(&self, columns: &mut dyn Columns, alphas: &[f64], ctx: &Ctx) -> Result<(Matrix, Vec<f64>)> {
        let p = columns.cols();
        let mut coefs = Matrix::zeros(alphas.len(), p);
        let mut gaps = Vec::new();
        let mut w = vec![0.0; p];
        for (i, &alpha) in alphas.iter().enumerate() {
            gaps.push(coordinate::solve(columns, self.penalty(alpha), &mut w, self.tol, self.max_iter, ctx)?.bound.gap);
            coefs.row_mut(i).copy_from_slice(&w);
        }
        Ok((coefs, gaps))
    }

    fn whole_fits(&self, data: &dyn Source) -> bool {
        let shape = data.shape();
        shape.cols <= FEW || (shape.cols <= MANY && shape.rows >= shape.cols / 4)
    }

    /// The whole regularisation path of one target.
    pub fn path(&self, alphas: &Alphas, eps: f64, data: &dyn Source, ctx: &Ctx) -> Result<Path> {
        if self.targets(data)? != 1 {
            return Err(Error::Unsupported("a path is computed for one target".into()));
        }
        let shape = data.shape();
        self.price(alphas, shape.cols)?;
        let (mut whole, mut lazy);
        let (columns, x_mean, y_mean): (&mut dyn Columns, Vec<f64>, f64) = if self.whole_fits(data) {
            let gram = reduce(ctx, data, &RowProducts { cols: shape.cols, targets: 1, rows: 0..shape.rows })?;
            whole = Whole::new(&gram, shape.cols, 0, self.fit_intercept);
            (&mut whole, gram.mean[..shape.cols].to_vec(), gram.mean[shape.cols])
        } else {
            let means = self.means(data, ctx, 0..0)?;
            lazy = self.lazy(data, ctx, 0, 0..0, &means)?;
            (&mut lazy, means.x, means.y[0])
        };
        let alphas = self.grid(columns, alphas, eps);
        let (coefs, gaps) = self.along(columns, &alphas, ctx)?;
        let intercepts = (0..alphas.len()).map(|i| self.intercept(coefs.row(i), &x_mean, y_mean)).collect();
        Ok(Path { alphas, coefs, intercepts, gaps })
    }

    /// Strengths and the mean squared error of each (row) on each fold (column).
    pub fn errors(
        &self,
        alphas: &Alphas,
        eps: f64,
        folds: usize,
        data: &dyn Source,
        ctx: &Ctx,
    ) -> Result<(Vec<f64>, Matrix)> {
        let (shape, targets) = (data.shape(), self.targets(data)?);
        let cols = shape.cols;
        if targets != 1 {
            return Err(Error::Unsupported(format!("{} supports one target, not {targets}", self.name)));
        }
        let folds = folds::runs(ctx, shape.rows, folds)?;
        self.price(alphas, cols + 4 * folds.len())?;
        let empty = || Error::Data(format!("{}: a fold has no weight to train or to score on", self.name));
        if self.whole_fits(data) {
            let mut grams = Vec::new();
            for (f, rows) in folds.iter().enumerate() {
                grams.push(reduce(ctx, data, &RowProducts { cols, targets: 1, rows: rows.clone() })?);
                ctx.progress(Progress { what: "fold", step: f + 1, of: Some(folds.len()), value: None });
            }
            let others = |without: usize| {
                let mut sum = Gram::new(cols + 1);
                (0..folds.len()).filter(|&f| f != without).for_each(|f| sum.merge(grams[f].clone()));
                sum
            };
            let all = Whole::new(&others(folds.len()), cols, 0, self.fit_intercept);
            let alphas = self.grid(&all, alphas, eps);
            drop(all);
            let by_fold = |f: usize| -> Result<Vec<f64>> {
                let train = others(f);
                if train.weight == 0.0 || grams[f].weight == 0.0 {
                    return Err(empty());
                }
                let mut columns = Whole::new(&train, cols, 0, self.fit_intercept);
                let (coefs, _) = self.along(&mut columns, &alphas, ctx)?;
                let error = |i: usize| {
                    let w = coefs.row(i);
                    let b = self.intercept(w, &train.mean[..cols], train.mean[cols]);
                    Whole::error(&grams[f], 0, w, b)
                };
                Ok((0..alphas.len()).map(error).collect())
            };
            let by_fold: Vec<Vec<f64>> = ctx.map(folds.len(), by_fold)?;
            let errors = Matrix::from_fn(alphas.len(), folds.len(), |i, f| by_fold[f][i]);
            return Ok((alphas, errors));
        }
        let means = self.means(data, ctx, 0..0)?;
        let alphas = self.grid(&self.lazy(data, ctx, 0, 0..0, &means)?, alphas, eps);
        let mut errors = Matrix::zeros(alphas.len(), folds.len());
        // One fold after the other: each pass meets the other workers.
        for (f, rows) in folds.iter().enumerate() {
            let means = self.means(data, ctx, rows.clone())?;
            if !(means.weight > 0.0) {
                return Err(empty());
            }
            let mut columns = self.lazy(data, ctx, 0, rows.clone(), &means)?;
            let (coefs, _) = self.along(&mut columns, &alphas, ctx)?;
            let intercepts: Vec<f64> =
                (0..alphas.len()).map(|i| self.intercept(coefs.row(i), &means.x, means.y[0])).collect();
            let judged = reduce(ctx, data, &PathErrors { coefs: &coefs, intercepts: &intercepts, rows: rows.clone() })?;
            if !(judged[alphas.len()] > 0.0) {
                return Err(empty());
            }
            (0..alphas.len()).for_each(|i| errors[(i, f)] = judged[i] / judged[alphas.len()]);
            ctx.progress(Progress { what: "fold", step: f + 1, of: Some(folds.len()), value: None });
        }
        Ok((alphas, errors))
    }
}

/// Squared errors of many models on some rows; the last place holds the weight.
struct PathErrors<'a> {
    coefs: &'a Matrix,
    intercepts: &'a [f64],
    rows: Range<usize>,
}

impl Reduce for PathErrors<'_> {
    type Stat = Vec<f64>;

    fn zero(&self) -> Vec<f64> {
        vec![0.0; self.intercepts.len() + 1]
    }

    fn add(&self, stat: &mut Vec<f64>, batch: &Batch) -> Result<()> {
        let k = self.intercepts.len();
        for i in (0..batch.rows()).filter(|i| self.rows.contains(&(batch.first + i))) {
            let (row, weight, y) = (batch.x.row(i), batch.weight(i), batch.y.real()[i]);
            for model in 0..k {
                let error = y - self.intercepts[model] - row.dot(self.coefs.row(model));
                stat[model] += weight * error * error;
            }
            stat[k] += weight;
        }
        Ok(())
    }

    fn merge(&self, left: &mut Vec<f64>, right: Vec<f64>) {
        simd::add_scaled(1.0, &right, left);
    }
}

/// What a cross-validated member of the family fits: the model, and how its strength was chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChosenModel {
    pub linear: LinearModel,
    pub alpha: f64,
    pub l1_ratio: f64,
    pub alphas: Vec<f64>,
    /// Mean squared error, strengths x folds.
    pub mse_path: Matrix,
}

impl crate::Model for ChosenModel {
    fn cols(&self) -> usize {
        self.linear.coef.cols
    }

    fn outputs(&self) -> Vec<(crate::Output, usize)> {
        self.linear.outputs()
    }

    fn predict(&self, x: &crate::X, output: crate::Output, out: &mut [f64]) -> Result<()> {
        self.linear.predict(x, output, out)
    }

    fn attributes(&self) -> Vec<(&'static str, crate::Array)> {
        let mut attributes = self.linear.attributes();
        attributes.push(("alpha_", self.alpha.into()));
        attributes.push(("l1_ratio_", self.l1_ratio.into()));
        attributes.push(("alphas_", (&self.alphas).into()));
        attributes.push(("mse_path_", (&self.mse_path).into()));
        attributes
    }

    fn check(&self) -> Result<()> {
        self.linear.check()?;
        if !self.mse_path.is_consistent() {
            return Err(Error::shape("stored errors", "strengths x folds", self.mse_path.values.len()));
        }
        Ok(())
    }
}

/// Chooses strength and mix by contiguous folds, then fits all rows.
pub fn choose(
    net: &Net,
    l1_ratios: &[f64],
    (alphas, eps, folds): (&Alphas, f64, usize),
    data: &dyn Source,
    ctx: &Ctx,
) -> Result<Fit<ChosenModel>> {
    let mut best: Option<(f64, f64, f64, Vec<f64>, Matrix)> = None;
    for &l1_ratio in l1_ratios {
        let (alphas, errors) = Net { l1_ratio, ..*net }.errors(alphas, eps, folds, data, ctx)?;
        for (i, &alpha) in alphas.iter().enumerate() {
            let error = errors.row(i).iter().sum::<f64>() / errors.cols as f64;
            if best.as_ref().is_none_or(|best| error < best.0) {
                best = Some((error, alpha, l1_ratio, alphas.clone(), errors.clone()));
            }
        }
    }
    let Some((_, alpha, l1_ratio, alphas, mse_path)) = best else {
        return Err(Error::Data(format!("{}: there are no alphas to choose from", net.name)));
    };
    let fit = Net { l1_ratio, ..*net }.fit(alpha, data, ctx)?;
    Ok(fit.map(|linear| ChosenModel { linear, alpha, l1_ratio, alphas, mse_path }))
}

/// Nanoseconds of paths with this many strengths in all: products once, then sweeps over the columns that are not zero.
pub fn cost(shape: &Shape, strengths: f64) -> f64 {
    let (n, p, targets) = shape.sizes();
    8e4 + n * p * (3.0 + 0.09 * p.min(MANY as f64)) + strengths * targets * (2e3 + 10.0 * p * p.min(n))
}
