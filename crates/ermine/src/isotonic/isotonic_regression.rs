//! Isotonic regression: `min_f sum_i w_i (y_i - f(x_i))^2` over functions f that never fall (or never rise), between
//! `y_min` and `y_max` if those are given. Between the x of the fit f is linear.
//!
//! Method. Rows of equal x count as their mean. Neighbours that are in the wrong order are pooled into their mean
//! until none are left ([`pool`](crate::engine::pool); Best and Chakravarti 1990); cutting at the bounds keeps that
//! optimal. The rows are a sum: sorted lists of distinct x merge into one, so that any source will do. Cost O(n log
//! n), and three numbers for each distinct x.
//!
//! Certificate. With f at hand the multipliers of f(x_k) <= f(x_k+1) are running sums of `2 w (y - f)`; those below
//! zero are rounding and count as zero. They bound the objective from below.

use crate::{
    Array, Bound, Certificate, Ctx, Error, Estimator, Fit, FitLog, Flexibility, Halt, Info, Model, Output, Passes,
    Result, Shape, Source, Task, X,
    core::{Batch, Reduce, choice, param::at_least, params, reduce},
    engine::pool::{Pool, pools},
};
use serde::{Deserialize, Serialize};

choice! {
    /// Whether f rises with x; auto goes by the sign of Spearman's rank correlation.
    pub enum Direction: bool where at_least(0.0) => { Auto = "auto" }
}

choice! {
    /// What is predicted beyond the x of the fit.
    pub enum Beyond {
        /// Not a number.
        Nan = "nan",
        /// The value at the nearer end.
        Clip = "clip",
        /// An error.
        Raise = "raise",
    }
}

params! {
    /// The function of one column that fits the target best among all that never fall, or among all that never rise.
    pub struct IsotonicRegression {
        /// No prediction is below this.
        y_min: Option<f64> = None;
        /// No prediction is above this.
        y_max: Option<f64> = None;
        /// Whether the function rises; auto goes by the sign of Spearman's rank correlation.
        increasing: Direction = Direction::Number(true);
        /// What is predicted beyond the values of the fit: not a number, the value at the nearer end, or an error.
        out_of_bounds: Beyond = Beyond::Clip;
    }
}

/// Relative to the sum of squares of the target.
const TOLERANCE: f64 = 1e-10;

impl Estimator for IsotonicRegression {
    type Model = IsotonicModel;

    const INFO: Info = Info {
        one_column: true,
        flexibility: Flexibility::Tree,
        not_compared: Some("takes one column"),
        ..Info::new(
            "isotonic",
            Task::Regression,
            "min_f sum_i (y_i - f(x_i))^2, f(x) <= f(x') for x <= x', y_min <= f <= y_max",
            Passes::One,
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        let (n, ..) = shape.sizes();
        1e-9 * (2e4 + 15.0 * n * n.log2().max(1.0))
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<IsotonicModel>> {
        let (low, high) = (self.y_min.unwrap_or(f64::NEG_INFINITY), self.y_max.unwrap_or(f64::INFINITY));
        if low > high {
            return Err(Error::Parameter {
                model: "IsotonicRegression".into(),
                name: "y_min".into(),
                value: low.to_string(),
                allowed: format!("a number that is not above y_max={high}"),
            });
        }
        let increasing = match self.increasing {
            Direction::Number(increasing) => increasing,
            Direction::Auto => rises(reduce(ctx, data, &Pairs)?),
        };
        let found = reduce(ctx, data, &Distinct)?;
        let sign = if increasing { 1.0 } else { -1.0 };
        let chain = Chain {
            weight: &found.weight,
            y: &found.sum.iter().zip(&found.weight).map(|(sum, weight)| sign * sum / weight).collect::<Vec<_>>(),
            low: if increasing { low } else { -high },
            high: if increasing { high } else { -low },
        };
        let f = chain.pooled();
        let (objective, gap, squares) = chain.proof(&f);
        let within = found.within;
        let bound = Bound::new(gap, TOLERANCE, objective + within, squares);
        let mut log = FitLog::exact(Certificate::Bound { gap: bound.gap, tolerance: bound.tolerance });
        log.objective = vec![objective + within];
        if !bound.holds() {
            log = FitLog::proven(1, log.objective, bound, Halt::Rounding);
        }
        let mut model = IsotonicModel { x: Vec::new(), y: Vec::new(), increasing, out_of_bounds: self.out_of_bounds };
        // Of equal values in a row the first and the last say all.
        for k in (0..f.len()).filter(|&k| k == 0 || k + 1 == f.len() || f[k] != f[k - 1] || f[k] != f[k + 1]) {
            model.x.push(found.x[k]);
            model.y.push(sign * f[k]);
        }
        Ok(Fit::new(model, log))
    }
}

/// Rows by their distinct x, in increasing order.
#[derive(Default, Serialize, Deserialize)]
struct Sorted {
    x: Vec<f64>,
    weight: Vec<f64>,
    /// `sum w y`
    sum: Vec<f64>,
    /// `sum w (y - mean)^2` about the mean of equal x, which no function can explain.
    within: f64,
}

impl Sorted {
    fn push(&mut self, x: f64, weight: f64, sum: f64) {
        if self.x.last() != Some(&x) {
            self.x.push(x);
            self.weight.push(weight);
            self.sum.push(sum);
            return;
        }
        let at = self.x.len() - 1;
        let (before, apart) = (self.weight[at], sum / weight - self.sum[at] / self.weight[at]);
        self.within += apart * apart * before * (weight / (before + weight));
        self.weight[at] += weight;
        self.sum[at] += sum;
    }
}

struct Distinct;

impl Reduce for Distinct {
    type Stat = Sorted;

    fn zero(&self) -> Sorted {
        Sorted::default()
    }

    fn add(&self, stat: &mut Sorted, batch: &Batch) -> Result<()> {
        batch.x.check_finite(batch.first)?;
        let mut rows: Vec<(f64, f64, f64)> = (0..batch.rows())
            .map(|i| (value_of(&batch.x, i), batch.y.real()[i], batch.weight(i)))
            .filter(|row| row.2 > 0.0)
            .collect();
        rows.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.total_cmp(&b.2)));
        let mut block = Sorted::default();
        rows.into_iter().for_each(|(x, y, weight)| block.push(x, weight, weight * y));
        self.merge(stat, block);
        Ok(())
    }

    fn merge(&self, left: &mut Sorted, right: Sorted) {
        let a = std::mem::take(left);
        left.within = a.within + right.within;
        let (mut i, mut j) = (0, 0);
        while i < a.x.len() || j < right.x.len() {
            let from_left = j == right.x.len() || i < a.x.len() && a.x[i] <= right.x[j];
            let (side, at) = if from_left { (&a, &mut i) } else { (&right, &mut j) };
            left.push(side.x[*at], side.weight[*at], side.sum[*at]);
            *at += 1;
        }
    }
}

/// The value of a row's one column; -0 is 0.
fn value_of(x: &X, i: usize) -> f64 {
    let mut value = 0.0;
    x.row(i).for_each(|_, stored| value = stored);
    value + 0.0
}

/// All rows as (x, y).
struct Pairs;

impl Reduce for Pairs {
    type Stat = Vec<(f64, f64)>;

    fn zero(&self) -> Vec<(f64, f64)> {
        Vec::new()
    }

    fn add(&self, stat: &mut Vec<(f64, f64)>, batch: &Batch) -> Result<()> {
        batch.x.check_finite(batch.first)?;
        stat.extend((0..batch.rows()).map(|i| (value_of(&batch.x, i), batch.y.real()[i] + 0.0)));
        Ok(())
    }

    fn merge(&self, left: &mut Vec<(f64, f64)>, right: Vec<(f64, f64)>) {
        left.extend(right);
    }
}

/// Whether Spearman's correlation is 0 or more; of a constant there is none.
fn rises(pairs: Vec<(f64, f64)>) -> bool {
    let x = ranks(pairs.iter().map(|pair| pair.0).collect());
    let y = ranks(pairs.iter().map(|pair| pair.1).collect());
    let vary = |ranks: &[f64]| ranks.iter().any(|rank| *rank != ranks[0]);
    vary(&x) && vary(&y) && x.iter().zip(&y).map(|(x, y)| x * y).sum::<f64>() >= 0.0
}

/// Ranks about their mean, equal values sharing theirs.
fn ranks(values: Vec<f64>) -> Vec<f64> {
    let n = values.len();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; n];
    let mut first = 0;
    while first < n {
        let same = order[first..].iter().take_while(|&&i| values[i] == values[order[first]]).count();
        let rank = first as f64 + 0.5 * (same - 1) as f64 - 0.5 * (n - 1) as f64;
        order[first..first + same].iter().for_each(|&i| ranks[i] = rank);
        first += same;
    }
    ranks
}

/// `min_f sum_k w_k (y_k - f_k)^2` over low <= f_1 <= f_2 <= ... <= high.
struct Chain<'a> {
    weight: &'a [f64],
    y: &'a [f64],
    low: f64,
    high: f64,
}

impl Chain<'_> {
    fn pooled(&self) -> Vec<f64> {
        let pools = pools(self.y.iter().zip(self.weight).map(|(y, weight)| (weight * y, *weight)));
        let level = |pool: &Pool| pool.mean().max(self.low).min(self.high);
        pools.iter().flat_map(|pool| std::iter::repeat_n(level(pool), pool.count)).collect()
    }

    /// The objective, how far it can be from its optimum, and the squares of the target.
    fn proof(&self, f: &[f64]) -> (f64, f64, f64) {
        let n = f.len();
        let slope = |k: usize| 2.0 * self.weight[k] * (self.y[k] - f[k]);
        // What the lower bound holds up.
        let held: f64 = (0..n).take_while(|&k| f[k] == self.low).map(slope).sum();
        let (mut before, mut multiplier) = ((-held).max(0.0), -held);
        let (mut objective, mut squares, mut least) = (0.0, 0.0, 0.0);
        if before > 0.0 {
            least += before * self.low;
        }
        for k in 0..n {
            let (weight, y) = (self.weight[k], self.y[k]);
            objective += weight * (y - f[k]).powi(2);
            squares += weight * y * y;
            multiplier += slope(k);
            // Behind the last stands the upper bound, if there is one.
            let after = if k + 1 < n || self.high.is_finite() { multiplier.max(0.0) } else { 0.0 };
            // min over f_k of w (y - f)^2 + (after - before) f
            let pull = after - before;
            least += pull * y - pull * pull / (4.0 * weight);
            before = after;
        }
        if self.high.is_finite() {
            least -= before * self.high;
        }
        (objective, objective - least, squares)
    }
}

/// A line through points, in increasing order of x.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IsotonicModel {
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub increasing: bool,
    pub out_of_bounds: Beyond,
}

impl IsotonicModel {
    /// None beyond the points.
    fn at(&self, x: f64) -> Option<f64> {
        let last = self.x.len() - 1;
        let x = if self.out_of_bounds == Beyond::Clip { x.clamp(self.x[0], self.x[last]) } else { x };
        // A single point says the same everywhere.
        if last == 0 {
            return Some(self.y[0]);
        }
        if !(self.x[0] <= x && x <= self.x[last]) {
            return None;
        }
        let k = self.x.partition_point(|&known| known < x).clamp(1, last);
        let share = (x - self.x[k - 1]) / (self.x[k] - self.x[k - 1]);
        Some(if share == 1.0 { self.y[k] } else { self.y[k - 1] + share * (self.y[k] - self.y[k - 1]) })
    }
}

impl Model for IsotonicModel {
    fn cols(&self) -> usize {
        1
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Value, 1)]
    }

    fn predict(&self, x: &X, _: Output, out: &mut [f64]) -> Result<()> {
        for (i, out) in out.iter_mut().enumerate() {
            let value = value_of(x, i);
            *out = match (self.at(value), self.out_of_bounds) {
                (Some(y), _) => y,
                (None, Beyond::Raise) => {
                    let (low, high) = (self.x[0], self.x[self.x.len() - 1]);
                    return Err(Error::value(i, 0, format!("{value} is not between {low} and {high}, as in the fit"))
                        .hint("out_of_bounds=clip predicts the value at the nearer end"));
                }
                (None, _) => f64::NAN,
            };
        }
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        vec![
            ("X_min_", self.x[0].into()),
            ("X_max_", self.x[self.x.len() - 1].into()),
            ("X_thresholds_", (&self.x).into()),
            ("y_thresholds_", (&self.y).into()),
            ("increasing_", usize::from(self.increasing).into()),
        ]
    }

    fn check(&self) -> Result<()> {
        let rising = self.x.windows(2).all(|pair| pair[0] < pair[1]);
        if self.x.is_empty() || self.x.len() != self.y.len() || !rising || self.y.iter().any(|y| !y.is_finite()) {
            return Err(Error::shape("stored points", format!("{} values in order", self.x.len()), self.y.len()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Data;

    fn fit(x: &[f64], y: &[f64], weights: &[f64], params: &IsotonicRegression) -> Fit<IsotonicModel> {
        let data = Data::new(X::dense(x, 1).unwrap()).real(y).unwrap().weights(weights).unwrap();
        params.fit(&data, &Ctx::new(0)).unwrap()
    }

    /// The value at k is max over i <= k of min over j >= k of the mean from i to j (Robertson, Wright and Dykstra
    /// 1988), and the log proves it.
    #[test]
    fn is_the_max_of_min_of_means_and_proven() {
        let mut rng = Ctx::new(2).rng("rows", 0);
        for case in 0..60 {
            let n = 1 + rng.below(30);
            let x: Vec<f64> = (0..n).map(|_| rng.below(12) as f64).collect();
            let y: Vec<f64> = (0..n).map(|i| 0.2 * x[i] + rng.normal()).collect();
            let weights: Vec<f64> = (0..n).map(|i| if i == 0 { 1.0 } else { rng.below(3) as f64 }).collect();
            let bounds = [(None, None), (Some(0.5), None), (None, Some(1.0)), (Some(0.2), Some(0.9))][case % 4];
            let params = IsotonicRegression { y_min: bounds.0, y_max: bounds.1, ..Default::default() };
            let Fit { model, log, .. } = fit(&x, &y, &weights, &params);
            assert!(log.converged(), "{log}");
            let mut distinct: Vec<f64> = (0..n).filter(|&i| weights[i] > 0.0).map(|i| x[i]).collect();
            distinct.sort_by(f64::total_cmp);
            distinct.dedup();
            let mean = |low: f64, high: f64| {
                let inside = || (0..n).filter(|&i| low <= x[i] && x[i] <= high);
                inside().map(|i| weights[i] * y[i]).sum::<f64>() / inside().map(|i| weights[i]).sum::<f64>()
            };
            for &at in &distinct {
                let below = distinct.iter().filter(|&&low| low <= at);
                let least = |low: f64| {
                    distinct.iter().filter(|&&high| high >= at).map(|&high| mean(low, high)).fold(f64::MAX, f64::min)
                };
                let expected = below.map(|&low| least(low)).fold(f64::MIN, f64::max);
                let expected = expected.max(bounds.0.unwrap_or(f64::MIN)).min(bounds.1.unwrap_or(f64::MAX));
                let found = model.at(at).unwrap();
                assert!((found - expected).abs() < 1e-12, "case {case}: {found} and {expected} at {at}");
            }
        }
    }

    #[test]
    fn falls_where_the_ranks_do_and_ends_as_asked() {
        let (x, y) = ([1.0, 2.0, 3.0, 4.0], [9.0, 7.0, 8.0, 1.0]);
        let auto = IsotonicRegression { increasing: Direction::Auto, out_of_bounds: Beyond::Nan, ..Default::default() };
        let model = fit(&x, &y, &[1.0; 4], &auto).model;
        assert!(!model.increasing);
        assert_eq!((model.at(2.5), model.at(0.5)), (Some(7.5), None));
        let clip = IsotonicModel { out_of_bounds: Beyond::Clip, ..model.clone() };
        assert_eq!((clip.at(-1.0), clip.at(9.0)), (Some(9.0), Some(1.0)));
        let raise = IsotonicModel { out_of_bounds: Beyond::Raise, ..model };
        assert!(raise.predict(&X::dense(&[9.0], 1).unwrap(), Output::Value, &mut [0.0]).is_err());
    }
}
