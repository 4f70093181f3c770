//! Quantile regression: `min_{w,b} 1 / sum_i w_i sum_i w_i rho(y_i - w.x_i - b) + alpha ||w||_1` with the pinball
//! loss rho(r) = q r above zero and (q - 1) r below (Koenker and Bassett 1978). At the optimum about a share q of the
//! targets is below the prediction. A linear programme, solved to the last digits by [`pinball`]: any source, some
//! ten to twenty passes of O(n p^2).
//!
//! Where several solutions are equally good, as the median of an even number of targets, one of them is found. Each
//! quantile is a fit of its own, and two of them may cross.

use super::LinearModel;
use crate::{
    Ctx, Error, Estimator, Fit, FitLog, Info, Matrix, Passes, Result, Shape, Source, Task, X,
    core::{
        Batch, Reduce,
        param::{at_least, log, within},
        params, reduce,
        stats::{ColumnMoments, Moments},
    },
    engine::{
        double_double::minus_dot,
        least_squares,
        pinball::{Basis, Programme, Solution},
    },
};

params! {
    /// Linear regression for a quantile of the target, such as its median, with an L1 penalty. Outliers in the target
    /// hardly matter.
    pub struct QuantileRegressor {
        /// The quantile to predict.
        quantile: f64 = 0.5, within(0.0, 1.0);
        /// Strength of the L1 penalty.
        alpha: f64 = 1.0, at_least(0.0), log(1e-4, 1e1);
        /// Whether to fit an intercept, which is not penalised.
        fit_intercept: bool = true;
    }
}

impl Estimator for QuantileRegressor {
    type Model = LinearModel;

    const INFO: Info = Info {
        scale: true,
        not_compared: Some("it predicts a quantile and not the mean; name it to use it"),
        ..Info::new(
            "linear_model",
            Task::Regression,
            "min_{w,b} 1/n sum_i max(q r_i, (q - 1) r_i) + alpha ||w||_1, r_i = y_i - w.x_i - b",
            Passes::Many,
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        let (n, p, _) = shape.sizes();
        // Some twelve steps of a matrix of pairs of columns and four lighter passes.
        1e-9 * 12.0 * (least_squares::cost(shape) + 8.0 * n * (p + 5.0))
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<LinearModel>> {
        let p = data.shape().cols;
        let x = reduce(ctx, data, &ColumnMoments { cols: p })?;
        let y = reduce(ctx, data, &TargetMoments)?;
        let size = |moments: &Moments, j: usize| match self.fit_intercept {
            true => moments.variance(j).sqrt(),
            false => moments.mean[j].hypot(moments.variance(j).sqrt()),
        };
        let rounding = |moments: &Moments, j: usize| 4.0 * f64::EPSILON * moments.mean[j].abs();
        let deviations: Vec<f64> = (0..p).map(|j| size(&x, j)).collect();
        let spread = if size(&y, 0) > rounding(&y, 0) { size(&y, 0) } else { 1.0 };
        if !spread.is_finite() || deviations.iter().any(|deviation| !deviation.is_finite()) {
            return Err(Error::Data("QuantileRegressor: squares of the values overflow".into())
                .hint("bring the columns and the target to a common scale"));
        }
        let rows = data.shape().rows as f64;
        // In the programme's units no slope of the loss is above this: with a larger penalty a coefficient is zero.
        let steepest = rows * self.quantile.max(1.0 - self.quantile);
        let constant = |j: usize| deviations[j] <= rounding(&x, j);
        let penalty = |j: usize| if constant(j) { 0.0 } else { rows * (self.alpha / deviations[j]) };
        let out = |j: usize| constant(j) || penalty(j) >= steepest;
        let none = vec![0.0; p];
        let programme = Programme {
            data,
            ctx,
            quantile: self.quantile,
            centre: if self.fit_intercept { x.mean.clone() } else { none },
            inverse: (0..p).map(|j| if out(j) { 0.0 } else { 1.0 / deviations[j] }).collect(),
            level: if self.fit_intercept { y.mean[0] } else { 0.0 },
            inverse_spread: 1.0 / spread,
            unit: rows / x.weight,
            intercept: self.fit_intercept,
            penalty: (0..p).map(|j| if out(j) { 0.0 } else { penalty(j) }).collect(),
        };
        let found = programme.solve()?;
        let mut line: Vec<f64> = (0..p).map(|j| found.beta[j] * programme.inverse[j] * spread).collect();
        line.push(minus_dot(programme.level, &line, &programme.centre) + found.beta[p] * spread);
        refine(&programme, &found, &mut line)?;
        let intercept = line.pop().filter(|_| self.fit_intercept).unwrap_or(0.0);
        let unit = spread / rows;
        let objective = found.objective.iter().map(|value| value * unit).collect();
        let log = FitLog::proven(found.steps, objective, found.bound.times(unit), found.halt);
        Ok(Fit::new(LinearModel { coef: Matrix::new(line, 1, p), intercept: vec![intercept] }, log))
    }
}

/// Meets the rows of a corner to the last digit of (w, b), by residuals of 32 digits in the units of the data.
fn refine(programme: &Programme, found: &Solution, line: &mut [f64]) -> Result<()> {
    const TIMES: usize = 2;
    let (Programme { data, ctx, centre, inverse, inverse_spread, .. }, p) = (programme, line.len() - 1);
    let mut numbers: Vec<usize> = found.met.iter().map(|(number, _)| *number).collect();
    numbers.sort_unstable();
    let rows = reduce(ctx, *data, &Chosen { numbers: &numbers })?;
    for _ in 0..TIMES {
        let mut basis = Basis::default();
        for (number, z) in &found.met {
            // What a penalty holds at zero is zero.
            let row = rows.binary_search_by_key(number, |row| row.0).ok().map(|at| &rows[at]);
            let residual = row.map_or(0.0, |(_, x, y)| minus_dot(*y, line, x));
            basis.offer(z, residual * inverse_spread);
        }
        let step = basis.solve(p + 1);
        let step: Vec<f64> =
            (0..p).map(|j| step[j] * inverse[j] / inverse_spread).chain([step[p] / inverse_spread]).collect();
        line[p] += minus_dot(step[p], &step[..p], centre);
        line[..p].iter_mut().zip(&step).for_each(|(w, step)| *w += step);
    }
    Ok(())
}

/// Rows by their numbers, a one behind each, and their targets.
struct Chosen<'a> {
    numbers: &'a [usize],
}

impl Reduce for Chosen<'_> {
    type Stat = Vec<(usize, Vec<f64>, f64)>;

    fn zero(&self) -> Self::Stat {
        Vec::new()
    }

    fn add(&self, stat: &mut Self::Stat, batch: &Batch) -> Result<()> {
        let from = self.numbers.partition_point(|&number| number < batch.first);
        for &number in self.numbers[from..].iter().take_while(|&&number| number < batch.first + batch.rows()) {
            let i = number - batch.first;
            let mut row = vec![0.0; batch.x.cols() + 1];
            batch.x.row(i).add_to(1.0, &mut row[..batch.x.cols()]);
            row[batch.x.cols()] = 1.0;
            stat.push((number, row, batch.y.real()[i]));
        }
        Ok(())
    }

    fn merge(&self, left: &mut Self::Stat, right: Self::Stat) {
        left.extend(right);
    }
}

/// Weight, mean and scatter of the target.
struct TargetMoments;

impl Reduce for TargetMoments {
    type Stat = Moments;

    fn zero(&self) -> Moments {
        Moments::new(1)
    }

    fn add(&self, stat: &mut Moments, batch: &Batch) -> Result<()> {
        stat.add(&X::dense(batch.y.real(), 1)?, batch.weights);
        Ok(())
    }

    fn merge(&self, left: &mut Moments, right: Moments) {
        left.merge(right);
    }
}
