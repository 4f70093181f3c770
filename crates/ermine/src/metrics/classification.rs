//! What a confusion matrix says, and how good predicted probabilities are.
//!
//! For one class c against the rest: TP rows of c called c, FN rows of c called otherwise, FP other rows called c, TN
//! the rest; all of them sums of weights. A ratio 0/0 counts as 0, as in scikit-learn, unless said otherwise.

use super::same_length;
use crate::{Error, Matrix, Result, engine::quantile};

/// How the values of the classes become one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Average {
    /// That of class 1, where there are two classes.
    Binary,
    /// From TP, FP and FN summed over the classes.
    Micro,
    /// The plain mean over the classes that appear.
    Macro,
    /// The mean with the weight of each class in the truth.
    Weighted,
}

/// Weights of rows by (true class, predicted class), from which most scores of a classifier follow.
#[derive(Clone, Debug, PartialEq)]
pub struct Confusion {
    /// One row for each true class, one column for each predicted class.
    pub counts: Matrix,
    /// Which classes appear in truth or prediction; averages are over these.
    pub present: Vec<bool>,
}

/// Counts of one class against the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    pub tp: f64,
    pub fp: f64,
    pub r#fn: f64,
    pub tn: f64,
}

impl Counts {
    /// Sensitivity: `TP / (TP + FN)`.
    pub fn recall(&self) -> f64 {
        ratio(self.tp, self.tp + self.r#fn)
    }
    /// `TN / (TN + FP)`
    pub fn specificity(&self) -> f64 {
        ratio(self.tn, self.tn + self.fp)
    }
    /// `TP / (TP + FP)`
    pub fn precision(&self) -> f64 {
        ratio(self.tp, self.tp + self.fp)
    }
    /// `(1 + b^2) TP / ((1 + b^2) TP + b^2 FN + FP)`
    pub fn f_beta(&self, beta: f64) -> f64 {
        let b2 = beta * beta;
        ratio((1.0 + b2) * self.tp, b2 * (self.tp + self.r#fn) + self.tp + self.fp)
    }
    /// `TP / (TP + FP + FN)`
    pub fn jaccard(&self) -> f64 {
        ratio(self.tp, self.tp + self.fp + self.r#fn)
    }
}

fn ratio(a: f64, b: f64) -> f64 {
    if b == 0.0 { 0.0 } else { a / b }
}

/// The confusion matrix of class codes below `classes`.
pub fn confusion_matrix(y: &[u32], f: &[u32], classes: usize, weights: Option<&[f64]>) -> Result<Confusion> {
    same_length(y.len(), f.len(), weights)?;
    let mut counts = Matrix::zeros(classes, classes);
    let mut present = vec![false; classes];
    for i in 0..y.len() {
        let (truth, called) = (y[i] as usize, f[i] as usize);
        if truth >= classes || called >= classes {
            return Err(Error::value(i, None, format!("class code {} of {classes} classes", truth.max(called))));
        }
        (present[truth], present[called]) = (true, true);
        counts.values[truth * classes + called] += weights.map_or(1.0, |weights| weights[i]);
    }
    Ok(Confusion { counts, present })
}

impl Confusion {
    pub fn classes(&self) -> usize {
        self.present.len()
    }

    fn total(&self) -> f64 {
        self.counts.values.iter().sum()
    }

    /// Weight of class c in the truth.
    fn support(&self, c: usize) -> f64 {
        self.counts.row(c).iter().sum()
    }

    fn called(&self, c: usize) -> f64 {
        (0..self.classes()).map(|truth| self.counts[(truth, c)]).sum()
    }

    /// Class `c` against the rest.
    pub fn of_class(&self, c: usize) -> Counts {
        let tp = self.counts[(c, c)];
        let (fp, missed) = (self.called(c) - tp, self.support(c) - tp);
        Counts { tp, fp, r#fn: missed, tn: self.total() - tp - fp - missed }
    }

    fn appearing(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.classes()).filter(|&c| self.present[c])
    }

    fn average(&self, average: Average, of: impl Fn(&Counts) -> f64) -> Result<f64> {
        match average {
            Average::Binary if self.classes() != 2 => {
                let found = format!("this metric is for two classes, but there are {}", self.classes());
                Err(Error::Unsupported(found).hint("use its _macro, _micro or _weighted form"))
            }
            Average::Binary => Ok(of(&self.of_class(1))),
            Average::Micro => {
                let sum = self.appearing().map(|c| self.of_class(c)).fold(Counts::default(), |a, b| Counts {
                    tp: a.tp + b.tp,
                    fp: a.fp + b.fp,
                    r#fn: a.r#fn + b.r#fn,
                    tn: a.tn + b.tn,
                });
                Ok(of(&sum))
            }
            Average::Macro => {
                let values: Vec<f64> = self.appearing().map(|c| of(&self.of_class(c))).collect();
                Ok(values.iter().sum::<f64>() / values.len() as f64)
            }
            Average::Weighted => {
                let sum: f64 = self.appearing().map(|c| self.support(c) * of(&self.of_class(c))).sum();
                Ok(sum / self.total())
            }
        }
    }

    /// Share of the weight that is called right.
    pub fn accuracy(&self) -> f64 {
        (0..self.classes()).map(|c| self.counts[(c, c)]).sum::<f64>() / self.total()
    }

    /// Mean recall of the classes in the truth; `adjusted` so that guessing has 0 and perfection 1.
    pub fn balanced_accuracy(&self, adjusted: bool) -> f64 {
        let recalls: Vec<f64> =
            self.appearing().filter(|&c| self.support(c) != 0.0).map(|c| self.of_class(c).recall()).collect();
        let score = recalls.iter().sum::<f64>() / recalls.len() as f64;
        let chance = 1.0 / recalls.len() as f64;
        if adjusted { (score - chance) / (1.0 - chance) } else { score }
    }

    /// Sensitivity.
    pub fn recall(&self, average: Average) -> Result<f64> {
        self.average(average, Counts::recall)
    }

    pub fn specificity(&self, average: Average) -> Result<f64> {
        self.average(average, Counts::specificity)
    }

    pub fn precision(&self, average: Average) -> Result<f64> {
        self.average(average, Counts::precision)
    }

    pub fn f_beta(&self, beta: f64, average: Average) -> Result<f64> {
        self.average(average, |counts| counts.f_beta(beta))
    }

    pub fn jaccard(&self, average: Average) -> Result<f64> {
        self.average(average, Counts::jaccard)
    }

    /// Correlation of truth and prediction (Matthews 1975; Gorodkin 2004 for several classes); 0 where it is not
    /// defined.
    pub fn matthews(&self) -> f64 {
        let n = self.total();
        let (mut correct, mut tp, mut tt, mut pp) = (0.0, 0.0, 0.0, 0.0);
        for c in 0..self.classes() {
            let (t, p) = (self.support(c), self.called(c));
            correct += self.counts[(c, c)];
            tp += t * p;
            tt += t * t;
            pp += p * p;
        }
        let spread = (n * n - pp) * (n * n - tt);
        if spread == 0.0 { 0.0 } else { (correct * n - tp) / spread.sqrt() }
    }

    /// Agreement beyond chance (Cohen 1960), `1 - sum d O / sum d E` with `d_ij = |i - j|^power` and `power` 0 for all
    /// errors alike (then classes count in their order among those that appear). NaN where it is not defined.
    pub fn kappa(&self, power: u32) -> f64 {
        let classes: Vec<usize> = self.appearing().collect();
        let n = self.total();
        let (mut observed, mut expected) = (0.0, 0.0);
        for (i, &a) in classes.iter().enumerate() {
            for (j, &b) in classes.iter().enumerate().filter(|(j, _)| *j != i) {
                let distance = (i.abs_diff(j) as f64).powi(power as i32);
                observed += distance * self.counts[(a, b)];
                expected += distance * (self.called(a) * self.support(b) / n);
            }
        }
        if expected == 0.0 || n == 0.0 { f64::NAN } else { 1.0 - observed / expected }
    }
}

/// Checks probabilities (rows x classes) and hands each row's true class, probabilities and weight to `f`.
fn for_each_row(y: &[u32], p: &Matrix, weights: Option<&[f64]>, mut f: impl FnMut(usize, &[f64], f64)) -> Result<()> {
    same_length(y.len(), p.rows, weights)?;
    if p.cols < 2 {
        return Err(Error::shape("probabilities", "one column for each of two or more classes", p.cols));
    }
    for i in 0..y.len() {
        let (row, truth) = (p.row(i), y[i] as usize);
        if let Some(bad) = row.iter().find(|p| !(0.0..=1.0).contains(*p)) {
            return Err(Error::value(i, None, format!("the probability is {bad}, but it must be between 0 and 1")));
        }
        if truth >= p.cols {
            return Err(Error::value(i, None, format!("class code {truth} of {} classes", p.cols)));
        }
        f(truth, row, weights.map_or(1.0, |weights| weights[i]));
    }
    Ok(())
}

fn clipped_log(p: f64) -> f64 {
    p.clamp(f64::EPSILON, 1.0 - f64::EPSILON).ln()
}

/// `- sum w log p(true class) / W`, probabilities kept a rounding error away from 0 and 1.
pub fn log_loss(y: &[u32], p: &Matrix, weights: Option<&[f64]>) -> Result<f64> {
    let (mut sum, mut total) = (0.0, 0.0);
    for_each_row(y, p, weights, |truth, row, weight| {
        sum -= weight * clipped_log(row[truth]);
        total += weight;
    })?;
    Ok(sum / total)
}

/// `sum w sum_c (1[y = c] - p_c)^2 / W`, halved for two classes, so that it is `(1[y = 1] - p_1)^2` there.
pub fn brier_score_loss(y: &[u32], p: &Matrix, weights: Option<&[f64]>) -> Result<f64> {
    let (mut sum, mut total) = (0.0, 0.0);
    for_each_row(y, p, weights, |truth, row, weight| {
        let squares = row.iter().enumerate().map(|(c, p)| (f64::from(u8::from(c == truth)) - p).powi(2));
        sum += weight * squares.sum::<f64>();
        total += weight;
    })?;
    Ok(sum / total * if p.cols == 2 { 0.5 } else { 1.0 })
}

/// The shares of the classes, as the same prediction for every row.
fn class_shares(y: &[u32], p: &Matrix, weights: Option<&[f64]>) -> Result<Matrix> {
    let mut shares = vec![0.0; p.cols];
    for_each_row(y, p, weights, |truth, _, weight| shares[truth] += weight)?;
    let total: f64 = shares.iter().sum();
    Ok(Matrix::from_fn(p.rows, p.cols, |_, c| (shares[c] / total).clamp(0.0, 1.0)))
}

/// Share of the log loss of the class shares that is gone.
pub fn d2_log_loss_score(y: &[u32], p: &Matrix, weights: Option<&[f64]>) -> Result<f64> {
    let null = class_shares(y, p, weights)?;
    if y.len() < 2 {
        return Ok(f64::NAN);
    }
    Ok(1.0 - log_loss(y, p, weights)? / log_loss(y, &null, weights)?)
}

/// Share of the Brier score of the class shares that is gone.
pub fn d2_brier_score(y: &[u32], p: &Matrix, weights: Option<&[f64]>) -> Result<f64> {
    let null = class_shares(y, p, weights)?;
    if y.len() < 2 {
        return Ok(f64::NAN);
    }
    Ok(1.0 - brier_score_loss(y, p, weights)? / brier_score_loss(y, &null, weights)?)
}

/// How bins of predicted probabilities are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bins {
    /// Equal width.
    Uniform,
    /// Equal numbers of rows.
    Quantile,
}

/// One bin of a calibration curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// Mean predicted probability.
    pub predicted: f64,
    /// Share of the class among the rows.
    pub observed: f64,
    /// Weight of the rows.
    pub weight: f64,
}

/// Observed share against predicted probability, by bins; empty bins are left out.
pub fn calibration_curve(
    positive: &[bool],
    p: &[f64],
    bins: usize,
    cut: Bins,
    weights: Option<&[f64]>,
) -> Result<Vec<Calibration>> {
    same_length(positive.len(), p.len(), weights)?;
    if let Some(i) = p.iter().position(|p| !(0.0..=1.0).contains(p)) {
        return Err(Error::value(i, None, format!("the probability is {}, but it must be between 0 and 1", p[i])));
    }
    let bins = bins.max(1);
    let inner: Vec<f64> = match cut {
        Bins::Uniform => (1..bins).map(|b| b as f64 / bins as f64).collect(),
        Bins::Quantile => {
            let mut sorted = p.to_vec();
            sorted.sort_unstable_by(f64::total_cmp);
            (1..bins).map(|b| quantile::interpolated(&sorted, b as f64 / bins as f64)).collect()
        }
    };
    let mut sums = vec![Calibration { predicted: 0.0, observed: 0.0, weight: 0.0 }; bins];
    for i in 0..p.len() {
        let bin = &mut sums[inner.partition_point(|edge| *edge < p[i])];
        let weight = weights.map_or(1.0, |weights| weights[i]);
        bin.predicted += weight * p[i];
        bin.observed += weight * f64::from(u8::from(positive[i]));
        bin.weight += weight;
    }
    sums.retain(|bin| bin.weight > 0.0);
    for bin in &mut sums {
        bin.predicted /= bin.weight;
        bin.observed /= bin.weight;
    }
    Ok(sums)
}

/// Expected calibration error: mean of `|observed - predicted|` over the bins, by their weight.
pub fn calibration_error(curve: &[Calibration]) -> f64 {
    let total: f64 = curve.iter().map(|bin| bin.weight).sum();
    curve.iter().map(|bin| bin.weight * (bin.observed - bin.predicted).abs()).sum::<f64>() / total
}
