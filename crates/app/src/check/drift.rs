//! New rows beside those that a model was fitted on: whether its columns have moved, and whether it still predicts as
//! well.
//!
//! A column is compared in the cells of its [`Profile`](super::Profile): between quantiles, or by level, and missing
//! values are a cell of
//! their own. The population stability index `sum (new - old) ln(new / old)` says how far it has moved, a chi-squared
//! test of the two samples
//! how sure that is; p values are corrected for the number of columns (Holm 1979).

use super::profile::ColumnProfile;
use crate::{
    Fitted, Supervised,
    judge::{self, Predictions},
    report::Interval,
    rows::{Encoded, Frame},
};
use ermine::{Ctx, Error, Result, engine::special::chi2_upper};
use serde::Serialize;

/// What is compared, and when it is too much.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Limits {
    /// Population stability index of a column.
    pub stability: f64,
    /// Share of rows with a level that the model does not know.
    pub unseen: f64,
    /// Share of rows with a number outside what it was fitted on.
    pub outside: f64,
    /// Corrected p value below which a column has moved at all.
    pub p: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { stability: 0.2, unseen: 0.05, outside: 0.05, p: 0.01 }
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct Drift {
    pub rows: usize,
    pub fitted_rows: usize,
    /// The most moved first.
    pub columns: Vec<ColumnDrift>,
    /// Scores on these rows beside those of the fit, where the target is known.
    pub scores: Vec<ScoreChange>,
    pub limits: Limits,
    /// What is above its limit, in words.
    pub alarms: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct ColumnDrift {
    pub column: String,
    pub stability: f64,
    pub chi2: f64,
    pub cells: usize,
    /// Corrected for the number of columns.
    pub p: f64,
    pub missing: f64,
    pub missing_before: f64,
    pub unseen: f64,
    pub outside: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct ScoreChange {
    pub metric: String,
    /// On the test rows of the fit, or by cross-validation.
    pub before: Option<f64>,
    pub now: f64,
    /// 95 % interval of the score now.
    pub low: Option<f64>,
    pub high: Option<f64>,
}

impl Drift {
    /// `truth` holds the target of every row, where it is known.
    pub fn of(fitted: &Fitted, frame: &Frame, truth: Option<&Encoded>, limits: Limits, ctx: &Ctx) -> Result<Drift> {
        let Some(profile) = &fitted.header.profile else {
            return Err(Error::Unsupported("this model file does not know what its rows looked like".into())
                .hint("fit it again with this version"));
        };
        let rows = frame.x.rows;
        if rows == 0 {
            return Err(Error::Data("there are no rows to check".into()));
        }
        let mut columns = Vec::new();
        for (j, (field, before)) in fitted.features().columns.iter().zip(&profile.columns).enumerate() {
            if before.quantiles.is_empty() && before.levels.is_empty() {
                continue;
            }
            let values: Vec<f64> = (0..rows).map(|i| frame.x[(i, j)]).collect();
            let unseen = frame.unseen.iter().find(|(name, _)| *name == field.name).map_or(0, |(_, count)| *count);
            let mut found = column(before, profile.rows, &values, unseen);
            found.column = field.name.clone();
            found.outside = values.iter().filter(|x| profile.is_outside(j, **x)).count() as f64 / rows as f64;
            columns.push(found);
        }
        correct(&mut columns);
        let scores = match truth {
            Some(truth) => scores(fitted, frame, truth, ctx)?,
            None => Vec::new(),
        };
        columns.sort_by(|a, b| b.stability.total_cmp(&a.stability));
        let mut drift = Drift { rows, fitted_rows: profile.rows, columns, scores, limits, alarms: Vec::new() };
        drift.alarms = drift.alarms(fitted)?;
        Ok(drift)
    }

    fn alarms(&self, fitted: &Fitted) -> Result<Vec<String>> {
        let Limits { stability, unseen, outside, p } = self.limits;
        let mut alarms = Vec::new();
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        for column in &self.columns {
            let name = &column.column;
            if column.stability > stability && column.p < p {
                let size = column.stability;
                alarms.push(format!("'{name}' has moved: its stability index is {size:.2}, above {stability}"));
            }
            if column.unseen > unseen {
                alarms.push(format!("'{name}': {} of the rows have a level that is not known", percent(column.unseen)));
            }
            if column.outside > outside {
                alarms.push(format!("'{name}': {} of the rows are outside its range", percent(column.outside)));
            }
        }
        let task = fitted.task()?;
        let main = ermine::metrics::default_metric(task).map(|metric| (metric.plain_name(), metric.greater_is_better));
        for score in self.scores.iter().filter(|score| main.is_some_and(|(name, _)| name == score.metric)) {
            let (Some(before), Some(low), Some(high)) = (score.before, score.low, score.high) else { continue };
            let worse = if main.is_some_and(|(_, greater)| greater) { high < before } else { low > before };
            if worse {
                let (metric, now) = (&score.metric, score.now);
                alarms.push(format!("{metric} is {now:.3} ({low:.3} to {high:.3}), and it was {before:.3}"));
            }
        }
        Ok(alarms)
    }
}

/// Shares before and counts now in the cells of one column.
fn column(before: &ColumnProfile, fitted_rows: usize, values: &[f64], unseen: usize) -> ColumnDrift {
    let (shares, place): (Vec<f64>, Box<dyn Fn(f64) -> usize>) = match before.levels.is_empty() {
        false => {
            let counts = before.levels.iter().map(|&count| count as f64).collect();
            (counts, Box::new(|code| code as usize))
        }
        true => {
            // Values between two quantiles; equal quantiles are one cell that holds as much more.
            let mut ends: Vec<f64> = Vec::new();
            let mut steps: Vec<f64> = Vec::new();
            for &end in &before.quantiles[1..] {
                match ends.last() {
                    Some(last) if *last == end => *steps.last_mut().expect("as many as ends") += 1.0,
                    _ => {
                        ends.push(end);
                        steps.push(1.0);
                    }
                }
            }
            let last = ends.len() - 1;
            (steps, Box::new(move |x| ends.partition_point(|end| *end < x).min(last)))
        }
    };
    let present = (fitted_rows - before.missing) as f64;
    let total: f64 = shares.iter().sum();
    let mut old: Vec<f64> = shares.iter().map(|share| share / total.max(1.0) * present).collect();
    let mut new = vec![0.0; old.len()];
    let mut missing = 0.0;
    values.iter().for_each(|x| if x.is_nan() { missing += 1.0 } else { new[place(*x)] += 1.0 });
    // Missing and unknown are cells of their own.
    let unseen_count = unseen as f64;
    old.extend([before.missing as f64, 0.0]);
    new.extend([missing - unseen_count, unseen_count]);
    let (n, m) = (fitted_rows as f64, values.len() as f64);
    let (mut stability, mut chi2, mut cells) = (0.0, 0.0, 0);
    for (old, new) in old.iter().zip(&new) {
        if old + new == 0.0 {
            continue;
        }
        cells += 1;
        // An empty cell counts as half a row.
        let (a, b) = (old.max(0.5) / n, new.max(0.5) / m);
        stability += (b - a) * (b / a).ln();
        let expected = (old + new) / (n + m);
        chi2 += (old - n * expected).powi(2) / (n * expected) + (new - m * expected).powi(2) / (m * expected);
    }
    ColumnDrift {
        column: String::new(),
        stability,
        chi2,
        cells,
        p: if cells > 1 { chi2_upper(chi2, cells as f64 - 1.0) } else { 1.0 },
        missing: (missing - unseen_count) / m,
        missing_before: before.missing as f64 / n,
        unseen: unseen_count / m,
        outside: 0.0,
    }
}

/// Holm's correction for many tests.
fn correct(columns: &mut [ColumnDrift]) {
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by(|&a, &b| columns[a].p.total_cmp(&columns[b].p));
    let (count, mut most) = (columns.len(), 0.0f64);
    for (rank, &at) in order.iter().enumerate() {
        most = most.max((columns[at].p * (count - rank) as f64).min(1.0));
        columns[at].p = most;
    }
}

fn scores(fitted: &Fitted, frame: &Frame, truth: &Encoded, ctx: &Ctx) -> Result<Vec<ScoreChange>> {
    if !fitted.task()?.is_supervised() {
        return Ok(Vec::new());
    }
    let known: Vec<usize> = (0..frame.x.rows).filter(|&row| !truth.is_missing(row)).collect();
    if known.is_empty() {
        return Ok(Vec::new());
    }
    let truth = truth.take(&known);
    let x = ermine::Matrix::from_fn(known.len(), frame.x.cols, |i, j| frame.x[(known[i], j)]);
    let x = ermine::X::dense(&x.values, x.cols.max(1))?;
    let said: Predictions = fitted.predictions(ctx, &x, &frame.texts)?;
    let intervals: Vec<Interval> = said.intervals(ctx, &truth, None)?;
    let before = ["test", "cross-validation"].iter().find_map(|part| fitted.header.scores.get(*part));
    let all = judge::scores(&truth, &said, None)?;
    Ok(all
        .into_iter()
        .map(|(metric, now)| {
            let interval = intervals.iter().find(|interval| interval.metric == metric);
            ScoreChange {
                metric: metric.to_string(),
                before: before.and_then(|scores| scores.get(metric).copied().flatten()),
                now,
                low: interval.map(|interval| interval.low),
                high: interval.map(|interval| interval.high),
            }
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_that_stays_and_one_that_moves() {
        let quantiles: Vec<f64> = (0..=20).map(|step| f64::from(step) / 20.0).collect();
        let before = ColumnProfile { missing: 0, quantiles, levels: Vec::new() };
        let same: Vec<f64> = (0..1000).map(|i| (f64::from(i) + 0.5) / 1000.0).collect();
        let stays = column(&before, 1000, &same, 0);
        assert!(stays.stability < 1e-9 && stays.p > 0.99, "{stays:?}");
        let moved: Vec<f64> = same.iter().map(|x| x * x).collect();
        let moves = column(&before, 1000, &moved, 0);
        // The index of a square-root density beside a flat one, cell by cell.
        let shares: Vec<f64> =
            (0..20).map(|c| ((f64::from(c) + 1.0) / 20.0).sqrt() - (f64::from(c) / 20.0).sqrt()).collect();
        let expected: f64 = shares.iter().map(|share| (share - 0.05) * (share / 0.05).ln()).sum();
        assert!((moves.stability - expected).abs() < 0.02 && moves.p < 1e-6, "{moves:?} {expected}");
    }

    #[test]
    fn a_level_that_was_never_seen() {
        let before = ColumnProfile { missing: 10, quantiles: Vec::new(), levels: vec![50, 40] };
        let values: Vec<f64> = (0..100).map(|i| if i < 20 { f64::NAN } else { f64::from(i % 2) }).collect();
        let found = column(&before, 100, &values, 12);
        assert_eq!((found.unseen, found.missing, found.missing_before), (0.12, 0.08, 0.1));
        assert!(found.stability > 0.1 && found.p < 0.05, "{found:?}");
    }

    #[test]
    fn holm() {
        let with = |p: f64| ColumnDrift {
            column: String::new(),
            stability: 0.0,
            chi2: 0.0,
            cells: 2,
            p,
            missing: 0.0,
            missing_before: 0.0,
            unseen: 0.0,
            outside: 0.0,
        };
        let mut columns = [with(0.01), with(0.04), with(0.03)];
        correct(&mut columns);
        let found: Vec<f64> = columns.iter().map(|column| column.p).collect();
        assert!((found[0] - 0.03).abs() < 1e-12 && (found[1] - 0.06).abs() < 1e-12 && (found[2] - 0.06).abs() < 1e-12);
    }
}
