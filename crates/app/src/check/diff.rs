//! Two models on the same rows: which is better and how sure that is, where they differ, and what drives each.

use crate::{
    Fitted, Supervised,
    explain::values_as_text,
    judge,
    rows::{Encoded, Rows, sampled},
    table::number_text,
};
use ermine::{
    Ctx, Error, Output, Result, Task,
    engine::special::{t_quantile, t_upper},
};
use serde::Serialize;

/// At most so many rows are named.
const NAMED: usize = 20;
/// Points of a picture.
const DRAWN: usize = 500;

#[derive(Clone, Debug, Serialize)]
pub struct Diff {
    pub models: [String; 2],
    pub rows: usize,
    /// Metric, and the score of each.
    pub scores: Vec<(String, f64, f64)>,
    pub paired: Paired,
    /// Rows whose predicted class differs, or whose predicted number differs by more than a tenth of its deviation.
    pub differing: usize,
    /// The first of them.
    pub examples: Vec<Differing>,
    /// Of classes: rows by who is right.
    pub agreement: Option<Agreement>,
    /// Of numbers: truth and what each model says, of some rows.
    pub points: Vec<[f64; 3]>,
    /// Column, and its importance in each; the largest change first.
    pub drivers: Vec<(String, f64, f64)>,
}

/// A row of which the models say different things.
#[derive(Clone, Debug, Serialize)]
pub struct Differing {
    /// Counted from 1, among the rows with a target.
    pub row: usize,
    pub truth: String,
    pub said: [String; 2],
    /// Column and value, as the first model sees the row.
    pub values: Vec<(String, String)>,
}

/// Rows by who predicts the right class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Agreement {
    pub both: usize,
    pub first: usize,
    pub second: usize,
    pub neither: usize,
}

/// The mean difference of the loss of each row, second model minus first: below 0 the second is better.
#[derive(Clone, Debug, Serialize)]
pub struct Paired {
    /// `share of wrong classes`, or `squared error`.
    pub of: &'static str,
    pub difference: f64,
    /// 95 % interval.
    pub low: f64,
    pub high: f64,
    /// Of a paired t test, two-sided.
    pub p: f64,
}

impl Diff {
    /// Rows as each model takes them, in the same order, all with a target.
    pub fn of(models: [&Fitted; 2], rows: [&Rows; 2], ctx: &Ctx) -> Result<Diff> {
        let [a, b] = models;
        let task = a.task()?;
        let target = |fitted: &Fitted| fitted.header.target.as_ref().map(|target| target.name.clone());
        if task != b.task()? || !task.is_supervised() || target(a) != target(b) {
            return Err(Error::Unsupported("two models of the same target can be compared, and no others".into()));
        }
        if rows[0].len() != rows[1].len() {
            let problem = "the models do not know the same classes, so they cannot be judged on the same rows";
            return Err(Error::Unsupported(problem.into()));
        }
        let mut said = Vec::new();
        let mut scores = Vec::new();
        let mut losses = Vec::new();
        let mut shown = Vec::new();
        for (fitted, rows) in models.into_iter().zip(rows) {
            let data = rows.data()?;
            let predicted = fitted.predictions(ctx, &data.batch().x, &rows.texts)?;
            let truth = rows.labels.target.as_ref().ok_or_else(|| Error::Data("the rows have no target".into()))?;
            scores.push(judge::scores(truth, &predicted, None)?);
            let output = if task == Task::Classification { Output::Class } else { Output::Value };
            let values = predicted.get(output).ok_or_else(|| Error::Data("there is no prediction".into()))?.clone();
            let target = truth.target();
            losses.push(match task {
                // Each model has its own codes; an unknown class is always wrong.
                Task::Classification => {
                    let wrong = |(said, code): (&f64, &u32)| f64::from(u8::from(*said != f64::from(*code)));
                    values.values.iter().zip(target.codes()).map(wrong).collect::<Vec<f64>>()
                }
                _ => values.values.iter().zip(target.real()).map(|(said, y)| (said - y).powi(2)).collect(),
            });
            let name = |value: &f64| match fitted.classes().get(*value as usize) {
                Some(class) if task == Task::Classification => class.clone(),
                _ => number_text(*value),
            };
            shown.push(values.values.iter().map(name).collect::<Vec<String>>());
            said.push(values.values);
        }
        let spread = deviation(&said[0]);
        let differs = |i: &usize| match task {
            Task::Classification => shown[0][*i] != shown[1][*i],
            _ => (said[0][*i] - said[1][*i]).abs() > 0.1 * spread,
        };
        let differing: Vec<usize> = (0..said[0].len()).filter(differs).collect();
        let truth = rows[0].labels.target.as_ref().ok_or_else(|| Error::Data("the rows have no target".into()))?;
        let few = rows[0].take(&differing.iter().copied().take(NAMED).collect::<Vec<_>>());
        let example = |(place, &i): (usize, &usize)| Differing {
            row: i + 1,
            truth: match truth {
                Encoded::Real(y) => number_text(y[i]),
                Encoded::Class { codes, names } => names.get(codes[i] as usize).cloned().unwrap_or_default(),
            },
            said: [shown[0][i].clone(), shown[1][i].clone()],
            values: values_as_text(&few, place, a.features()),
        };
        let by_right = || {
            let mut found = Agreement::default();
            for (a, b) in losses[0].iter().zip(&losses[1]) {
                match (*a == 0.0, *b == 0.0) {
                    (true, true) => found.both += 1,
                    (true, false) => found.first += 1,
                    (false, true) => found.second += 1,
                    (false, false) => found.neither += 1,
                }
            }
            found
        };
        let points = match truth {
            Encoded::Real(y) => {
                let drawn = sampled(y.len(), DRAWN, a.header.seed, "diff");
                drawn.into_iter().map(|i| [y[i], said[0][i], said[1][i]]).collect()
            }
            Encoded::Class { .. } => Vec::new(),
        };
        Ok(Diff {
            models: models.map(|fitted| fitted.header.model.clone()),
            rows: said[0].len(),
            scores: scores[0]
                .iter()
                .filter_map(|(metric, a)| {
                    let (_, b) = scores[1].iter().find(|(known, _)| known == metric)?;
                    Some((metric.to_string(), *a, *b))
                })
                .collect(),
            paired: paired(task, &losses[0], &losses[1]),
            examples: differing.iter().take(NAMED).enumerate().map(example).collect(),
            agreement: (task == Task::Classification).then(by_right),
            points,
            differing: differing.len(),
            drivers: drivers(models, rows, ctx)?,
        })
    }
}

fn deviation(values: &[f64]) -> f64 {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt()
}

fn paired(task: Task, a: &[f64], b: &[f64]) -> Paired {
    let of = if task == Task::Classification { "share of wrong classes" } else { "squared error" };
    let n = a.len() as f64;
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
    let difference = differences.iter().sum::<f64>() / n;
    if n < 2.0 {
        return Paired { of, difference, low: f64::NEG_INFINITY, high: f64::INFINITY, p: 1.0 };
    }
    let error = deviation(&differences) * (n / (n - 1.0)).sqrt() / n.sqrt();
    let half = t_quantile(0.975, n - 1.0) * error;
    let p = match error > 0.0 {
        true => 2.0 * t_upper((difference / error).abs(), n - 1.0),
        false => f64::from(u8::from(difference == 0.0)),
    };
    Paired { of, difference, low: difference - half, high: difference + half, p }
}

/// Importance of each column in both models; a column that one does not use has none there.
fn drivers(models: [&Fitted; 2], rows: [&Rows; 2], ctx: &Ctx) -> Result<Vec<(String, f64, f64)>> {
    let mut all: Vec<(String, f64, f64)> = Vec::new();
    for (which, (fitted, rows)) in models.into_iter().zip(rows).enumerate() {
        for weight in fitted.insight(rows, ctx)?.importance {
            let name = fitted.features().columns[weight.column].name.clone();
            let at = all.iter().position(|(known, ..)| *known == name).unwrap_or_else(|| {
                all.push((name, 0.0, 0.0));
                all.len() - 1
            });
            if which == 0 { all[at].1 = weight.fall } else { all[at].2 = weight.fall }
        }
    }
    all.sort_by(|x, y| (y.2 - y.1).abs().total_cmp(&(x.2 - x.1).abs()));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paired_test() {
        // Differences 1, 0, 2, 1: mean 1, deviation sqrt(2/3), error 0.40825, t = 2.4495 with 3 degrees of freedom.
        let found = paired(Task::Regression, &[0.0, 0.0, 0.0, 0.0], &[1.0, 0.0, 2.0, 1.0]);
        assert!((found.difference - 1.0).abs() < 1e-12);
        assert!((found.p - 0.091_72).abs() < 1e-4, "{found:?}");
        assert!((found.high - found.low - 2.0 * 3.182_446 * 0.408_248).abs() < 1e-4);
        let same = paired(Task::Classification, &[1.0, 0.0], &[1.0, 0.0]);
        assert_eq!((same.difference, same.p), (0.0, 1.0));
    }
}
