//! Learning and validation curves: scores on the rows that were learned from and on held-out rows, against the number
//! of rows or the value of a parameter, with what they say in plain words.

use crate::{
    Ctx, Data, Error, Result, Spec, Value,
    core::rng,
    metrics::Metric,
    search::{self, cross_validate, mean_and_error},
    split::Fold,
};

/// Mean scores over the folds at one place.
#[derive(Clone, Debug, PartialEq)]
pub struct CurvePoint {
    /// Rows learned from (mean over folds), or the place in the list of values.
    pub at: f64,
    /// "120", "alpha=0.1"
    pub label: String,
    pub train: f64,
    pub train_error: f64,
    pub test: f64,
    /// Standard error of the test score over the folds.
    pub test_error: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    pub points: Vec<CurvePoint>,
    /// What the curve says, in a sentence or two.
    pub verdict: String,
}

fn point(
    ctx: &Ctx,
    spec: &Spec,
    data: &Data,
    folds: &[Fold],
    metric: &Metric,
    at: f64,
    label: String,
) -> Result<CurvePoint> {
    let results = cross_validate(ctx, spec, data, folds, &[metric], true)?;
    let test: Vec<f64> = results.iter().map(|result| result.test[0]).collect();
    let train: Vec<f64> = results.iter().filter_map(|result| result.train.as_ref().map(|train| train[0])).collect();
    let ((test, test_error), (train, train_error)) = (mean_and_error(&test), mean_and_error(&train));
    Ok(CurvePoint { at, label, train, train_error, test, test_error })
}

/// Scores with growing shares of the rows of each fold; a smaller sample is part of every larger one.
pub fn learning_curve(
    ctx: &Ctx,
    spec: &Spec,
    data: &Data,
    folds: &[Fold],
    metric: &Metric,
    shares: &[f64],
) -> Result<Curve> {
    let mut points = Vec::new();
    let seed = rng::key(ctx.seed, "learning curve", 0);
    for &share in shares {
        if !(share > 0.0 && share <= 1.0) {
            let allowed = "above 0 and at most 1".into();
            let name = "shares".into();
            return Err(Error::Parameter { model: "learning_curve".into(), name, value: share.to_string(), allowed });
        }
        let thin = |fold: &Fold| {
            let mut order = fold.train.clone();
            order.sort_by_key(|&row| (rng::key(seed, "row", row as u64), row));
            order.truncate(((order.len() as f64 * share).round() as usize).max(2));
            order.sort_unstable();
            Fold { train: order, test: fold.test.clone() }
        };
        let thinned: Vec<Fold> = folds.iter().map(thin).collect();
        let rows = thinned.iter().map(|fold| fold.train.len()).sum::<usize>() as f64 / folds.len().max(1) as f64;
        points.push(point(ctx, spec, data, &thinned, metric, rows, format!("{rows:.0}"))?);
    }
    let verdict = learning_verdict(&points, metric);
    Ok(Curve { points, verdict })
}

/// What the points of a learning curve say, in plain words.
pub fn learning_verdict(points: &[CurvePoint], metric: &Metric) -> String {
    let (Some(last), Some(before)) = (points.last(), points.len().checked_sub(2).map(|i| &points[i])) else {
        return "A learning curve needs at least two sizes.".into();
    };
    let noise = (last.test_error.powi(2) + last.train_error.powi(2)).sqrt().max(1e-12);
    let gap = last.train - last.test;
    let rise = last.test - before.test;
    let still_rising = rise > last.test_error.max(before.test_error).max(1e-12);
    // Overfitting is a fair part of what the model gets wrong; a stump that is wrong on all rows alike does not
    // overfit.
    let room = (if metric.greater_is_better { 1.0 } else { 0.0 } - last.test).max(0.0);
    let wide = gap > 2.0 * noise && gap > 0.25 * room;
    let numbers = format!(
        "{}: {} on training rows, {} on new rows",
        metric.plain_name(),
        digits(metric.turned(last.train)),
        digits(metric.turned(last.test))
    );
    let meaning = match (wide, still_rising) {
        (true, true) => "Overfitting; more rows would help",
        (true, false) => "Overfitting, and more rows are unlikely to help; try a simpler or more regularised model",
        (false, true) => "No sign of overfitting; more rows would help",
        (false, false) => {
            "No sign of overfitting; more rows are unlikely to help. If the score is too low (underfitting), try a \
             more \
             flexible model or better columns"
        }
    };
    format!("{numbers}. {meaning}.")
}

/// Three significant digits, as people print scores: 0.983, 5.64, 326.
fn digits(value: f64) -> String {
    let size = if value == 0.0 || !value.is_finite() { 0.0 } else { value.abs().log10().floor() };
    let places = (2.0 - size).clamp(0.0, 9.0) as usize;
    format!("{value:.places$}")
}

/// Scores with each value of one parameter, given by its path (`alpha`, `Ridge__alpha`).
pub fn validation_curve(
    ctx: &Ctx,
    spec: &Spec,
    data: &Data,
    folds: &[Fold],
    metric: &Metric,
    path: &str,
    values: &[Value],
) -> Result<Curve> {
    let mut points = Vec::new();
    for (place, value) in values.iter().enumerate() {
        let mut spec = spec.clone();
        search::set(&mut spec, path, value.clone())?;
        let at = match value {
            Value::Float(value) => *value,
            Value::Int(value) => *value as f64,
            _ => place as f64,
        };
        points.push(point(ctx, &spec, data, folds, metric, at, format!("{path}={value}"))?);
    }
    let best = (0..points.len())
        .filter(|&i| !points[i].test.is_nan())
        .max_by(|&a, &b| points[a].test.total_cmp(&points[b].test).then(b.cmp(&a)));
    let verdict = match best {
        None => format!("{} is not defined for any value of {path}.", metric.plain_name()),
        Some(best) => {
            let p = &points[best];
            let edge = best == 0 || best + 1 == points.len();
            let within = points.iter().filter(|q| q.test >= p.test - p.test_error).count();
            let more =
                if edge && points.len() > 1 { " It is at the edge of the range: try values beyond it." } else { "" };
            format!(
                "Best with {} ({} {} on new rows); {within} of {} values are within one standard error of it.{more}",
                p.label,
                metric.plain_name(),
                digits(metric.turned(p.test)),
                points.len()
            )
        }
    };
    Ok(Curve { points, verdict })
}
