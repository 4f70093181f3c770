//! Which metrics a run reports, and what a guess that ignores the columns would score.

mod costs;
mod errors;

pub use costs::Costs;
pub(crate) use costs::cheapest;
pub use errors::HeldOutErrors;

use crate::{
    fit::CheckpointFile,
    report::{FoldScores, Interval, Scores},
    rows::{Encoded, Labels, RowSet},
    table::Schema,
};
use costs::mean_cost;
use ermine::{
    AnyEstimator, AnyModel, Ctx, Entry, Error, Matrix, Output, Result, Target, Task, X,
    core::ctx::Progress,
    metrics::{self, Metric, Needs},
    split::Fold,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a model says of some rows: as much as metrics ask for.
#[derive(Default, Serialize, Deserialize)]
pub struct Predictions {
    by_output: BTreeMap<Output, Matrix>,
    /// What it costs to miss each class, if the classes were named by that.
    costs: Vec<f64>,
}

/// The outputs that metrics of a task look at.
fn wanted(task: Task) -> &'static [Output] {
    match task {
        Task::Classification => &[Output::Class, Output::Probability, Output::Decision],
        _ => &[Output::Value],
    }
}

impl Predictions {
    pub fn insert(&mut self, output: Output, values: Matrix) {
        self.by_output.insert(output, values);
    }

    /// Adds the predictions of the rows that follow.
    pub fn append(&mut self, more: Predictions) {
        for (output, more) in more.by_output {
            let all = self.by_output.entry(output).or_insert_with(|| Matrix::zeros(0, more.cols));
            all.values.extend(more.values);
            all.rows += more.rows;
        }
    }

    fn of(&self, needs: Needs) -> Option<&Matrix> {
        needs.outputs().iter().find_map(|output| self.by_output.get(output))
    }

    pub fn get(&self, output: Output) -> Option<&Matrix> {
        self.by_output.get(&output)
    }

    /// Names the classes that cost least. Without costs the likeliest class is named, as the model says.
    pub fn decide(mut self, costs: &[f64]) -> Self {
        if let (Some(probability), false) = (self.get(Output::Probability), costs.is_empty()) {
            let called = cheapest(probability, costs);
            self.insert(Output::Class, called);
            self.costs = costs.to_vec();
        }
        self
    }

    /// The value of one metric; an error if the predictions do not have what it needs.
    pub fn metric(&self, metric: &Metric, truth: &Encoded, weights: Option<&[f64]>) -> Result<f64> {
        let values = self.of(metric.needs).ok_or_else(|| {
            Error::Unsupported(format!("{} needs {:?}, which this model does not provide", metric.name, metric.needs))
        })?;
        metric.value(&truth.target(), values, weights)
    }

    /// Bootstrap intervals of the scores that are shown.
    pub fn intervals(&self, ctx: &Ctx, truth: &Encoded, weights: Option<&[f64]>) -> Result<Vec<Interval>> {
        // Enough draws for two digits; fewer when each costs much.
        let draws = if truth.target().codes().len().max(truth.target().real().len()) > 20_000 { 200 } else { 1000 };
        let mut intervals = Vec::new();
        for name in shown(&truth.target()) {
            let metric = metrics::metric(name)?;
            let Some(values) = self.of(metric.needs) else { continue };
            let Ok(found) = metric.interval(ctx, &truth.target(), values, weights, 0.95, draws) else { continue };
            let (low, high) = match (*name, weights) {
                // Shares near 0 or 1 need it: no error in 69 rows does not prove that there never is one.
                ("accuracy", None) => wilson(found.estimate, values.rows),
                _ => (found.low, found.high),
            };
            // Draws that never differ say that there are too few rows to tell.
            if low < high {
                intervals.push(Interval { metric: metric.plain_name(), low, high });
            }
        }
        Ok(intervals)
    }

    pub fn classes(&self) -> Option<Vec<u32>> {
        self.get(Output::Class).map(|codes| codes.values.iter().map(|&code| code as u32).collect())
    }
}

/// Wilson's 95 % interval of a share (1927).
fn wilson(share: f64, rows: usize) -> (f64, f64) {
    let (n, z2) = (rows as f64, 1.959_964_f64.powi(2));
    let centre = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = (z2 * (share * (1.0 - share) / n + z2 / (4.0 * n * n))).sqrt() / (1.0 + z2 / n);
    ((centre - half).max(0.0), (centre + half).min(1.0))
}

/// What a model says of prepared rows.
pub fn predictions(ctx: &Ctx, entry: &Entry, model: &dyn AnyModel, x: &X) -> Result<Predictions> {
    let mut all = Predictions::default();
    for &output in wanted(entry.info.task) {
        if model.outputs().iter().any(|(known, _)| *known == output) {
            all.insert(output, ermine::predict(ctx, model, x, output, entry.info.missing)?);
        }
    }
    Ok(all)
}

/// The metric to look at first.
pub fn main_metric(task: Task) -> &'static str {
    metrics::default_metric(task).map_or("", |metric| metric.name)
}

/// Names of the metrics that are shown, the main one first.
fn shown(truth: &Target) -> &'static [&'static str] {
    match truth {
        Target::Class { classes: 2, .. } => &["accuracy", "balanced_accuracy", "roc_auc", "log_loss"],
        Target::Class { .. } => &["accuracy", "balanced_accuracy", "roc_auc_ovr", "log_loss"],
        _ => &["r2", "root_mean_squared_error", "mean_absolute_error"],
    }
}

/// The scores that these predictions allow. A score that the rows do not define (an area with one class) is left out.
pub fn scores(truth: &Encoded, predicted: &Predictions, weights: Option<&[f64]>) -> Result<Scores> {
    let truth = truth.target();
    let mut scores = Scores::new();
    for name in shown(&truth) {
        let metric = metrics::metric(name)?;
        // Areas over several classes want probabilities; over two, any score will do.
        let Some(values) = predicted.of(metric.needs) else { continue };
        if let Ok(value) = metric.value(&truth, values, weights) {
            scores.push((metric.plain_name(), value));
        }
    }
    if let (Some(called), false) = (predicted.get(Output::Class), predicted.costs.is_empty()) {
        scores.push(("mean_cost", mean_cost(truth.codes(), &called.values, &predicted.costs, weights)));
    }
    Ok(scores)
}

/// What one would say without looking: the mean, or the most frequent class with the shares of all as probabilities.
pub fn guess(learnt: &Encoded, weights: Option<&[f64]>, rows: usize) -> Predictions {
    let weight = |i: usize| weights.map_or(1.0, |weights| weights[i]);
    let mut guess = Predictions::default();
    match learnt {
        Encoded::Real(y) => {
            let total: f64 = (0..y.len()).map(weight).sum();
            let mean = (0..y.len()).map(|i| weight(i) * y[i]).sum::<f64>() / total;
            guess.insert(Output::Value, Matrix::new(vec![mean; rows], rows, 1));
        }
        Encoded::Class { codes, names } => {
            let mut shares = vec![0.0; names.len()];
            codes.iter().enumerate().for_each(|(i, &code)| shares[code as usize] += weight(i));
            let total: f64 = shares.iter().sum();
            let most = (0..shares.len()).max_by(|&a, &b| shares[a].total_cmp(&shares[b])).unwrap_or(0);
            guess.insert(Output::Class, Matrix::new(vec![most as f64; rows], rows, 1));
            guess.insert(Output::Probability, Matrix::from_fn(rows, shares.len(), |_, class| shares[class] / total));
        }
    }
    guess
}

/// Weight of each class by predicted class.
pub fn confusion(truth: &Encoded, predicted: &Predictions, weights: Option<&[f64]>) -> Option<Vec<Vec<f64>>> {
    let Encoded::Class { codes, names } = truth else { return None };
    let called = predicted.classes()?;
    let mut table = vec![vec![0.0; names.len()]; names.len()];
    for i in 0..codes.len() {
        table[codes[i] as usize][called[i] as usize] += weights.map_or(1.0, |weights| weights[i]);
    }
    Some(table)
}

/// What predictions of some rows are worth.
pub struct Tested {
    pub scores: Scores,
    pub baseline: Scores,
    pub intervals: Vec<Interval>,
    pub confusion: Option<Vec<Vec<f64>>>,
    /// Of a predicted number.
    pub errors: Option<HeldOutErrors>,
}

/// Scores predictions of the test rows, beside those of a guess from the training rows.
pub fn test(predicted: &Predictions, train: &Labels, test: &Labels, intervals: bool, ctx: &Ctx) -> Result<Tested> {
    let nothing = || Error::Data("there is nothing to score against".into());
    let (truth, learnt) = (test.target.as_ref().ok_or_else(nothing)?, train.target.as_ref().ok_or_else(nothing)?);
    let weights = test.weights.as_deref();
    let guess = guess(learnt, train.weights.as_deref(), truth.len()).decide(&predicted.costs);
    Ok(Tested {
        scores: scores(truth, predicted, weights)?,
        baseline: scores(truth, &guess, weights)?,
        intervals: if intervals { predicted.intervals(&ctx.child("interval", 0), truth, weights)? } else { Vec::new() },
        confusion: confusion(truth, predicted, weights),
        errors: match (truth, predicted.get(Output::Value)) {
            (Encoded::Real(y), Some(said)) => HeldOutErrors::of(y, &said.values),
            _ => None,
        },
    })
}

/// Fits on all folds but one, hands the predictions of that one to `score`, and so on. The seed of a fold is its own,
/// whatever the candidate: differences are those of the models.
pub fn cross_validate<T: Send>(
    rows: &RowSet,
    folds: &[Fold],
    estimator: &dyn AnyEstimator,
    features: &Schema,
    checkpoint: Option<&CheckpointFile>,
    ctx: &Ctx,
    score: impl Fn(Predictions, &Labels, &Labels) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let entry = ermine::entry(estimator.name())?;
    let one = |i: usize| -> Result<T> {
        let ctx = &CheckpointFile::of_fold(checkpoint, ctx, i);
        let Fold { train, test } = &folds[i];
        let pipeline = rows.take(train, ctx)?.fit(estimator, features, ctx)?;
        let held_out = rows.take(test, ctx)?;
        let predicted = held_out.predict(entry, &pipeline, ctx)?;
        score(predicted, &rows.labels().take(train), held_out.labels())
    };
    // Workers meet inside a fit, and copies of many rows take memory: one fold after the other then.
    if rows.is_small() {
        return ctx.map(folds.len(), one);
    }
    let of = Some(folds.len());
    let steps = (0..folds.len()).map(|i| {
        ctx.progress(Progress { what: "fold", step: i + 1, of, value: None });
        one(i)
    });
    steps.collect()
}

/// Mean and standard deviation of each score over the folds. A score that some fold does not define is not averaged
/// over the others.
pub fn summarise(folds: &[Scores]) -> FoldScores {
    let named = |name: &str| -> Option<Vec<f64>> {
        folds.iter().map(|scores| scores.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)).collect()
    };
    let count = folds.len() as f64;
    let scores = folds.first().into_iter().flatten().filter_map(|(name, _)| {
        let values = named(name)?;
        let mean = values.iter().sum::<f64>() / count;
        let squares = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (count - 1.0);
        Some((*name, mean, squares.sqrt()))
    });
    FoldScores { folds: folds.len(), scores: scores.collect() }
}

/// Whether the test rows show that a model is better than guessing, by every score that has an interval.
pub fn no_better_than_baseline(tested: &Tested, main: &str) -> Option<String> {
    let proven = |interval: &Interval| {
        let guess = tested.baseline.iter().find(|(name, _)| *name == interval.metric)?.1;
        let greater = metrics::metric(interval.metric).ok()?.greater_is_better;
        Some(if greater { interval.low > guess } else { interval.high < guess })
    };
    let judged = tested.intervals.iter().filter_map(|interval| Some((interval.metric, proven(interval)?)));
    let (better, not): (Vec<_>, Vec<_>) = judged.partition(|(_, proven)| *proven);
    let names = better.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    match not.iter().any(|(name, _)| *name == main) {
        false => None,
        true if better.is_empty() => Some("not significantly better than the baseline on the test rows".into()),
        true => {
            Some(format!("by {main} not significantly better than the baseline on the test rows, but by {names} it is"))
        }
    }
}
