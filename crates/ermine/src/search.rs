//! Cross-validation and the search for parameters.
//!
//! A candidate is a [`Spec`], so preparation belongs to it (`Pipeline(steps=[...])`) and is learned anew inside every
//! fold: no held-out row is ever seen by a fit. Folds and candidates run in parallel inside the pool of the context,
//! and so do the fits inside them; threads are never more than the context has. Results do not depend on their number.
//!
//! ```
//! use ermine::{prelude::*, split::Folds};
//! let x: Vec<[f64; 1]> = (0..60).map(|i| [(i as f64 * 0.7).sin()]).collect();
//! let y: Vec<f64> = (0..60).map(|i| (i as f64 * 0.7).sin() * 2.0 + 0.1 * (i as f64).cos()).collect();
//! let data = Data::from_rows(&x)?.real(&y)?;
//! let ctx = Ctx::new(1);
//!
//! // How good is a model on rows that it has not seen?
//! let steps = Pipeline::new(&[StandardScaler::default().into(), Ridge::default().into()])?;
//! assert!(cross_val_score(&steps, &data, 5, &ctx)?.iter().all(|&r2| r2 > 0.9));
//!
//! // Which parameters are best?
//! let ridge = Spec::from(Ridge { alpha: 1.0, ..Default::default() });
//! let folds = Folds::KFold { n_splits: 5, shuffle: true }.split(&data.batch(), None, 1)?;
//! let candidates = search::grid(&ridge, &search::space(&ridge)?, 5)?;
//! let found = search::search(&ctx, &candidates, &data, &folds, ermine::metrics::metric("r2")?)?;
//! assert!(found.candidates[found.best].mean > 0.9);
//! # Ok::<(), ermine::Error>(())
//! ```

use crate::{
    AnyModel, Ctx, Data, Error, Matrix, OwnedData, Result, Source, Spec, Target, Task, Value,
    core::{
        Batch,
        ctx::{Progress, timed},
        param::{Form, Search},
        rng,
    },
    make,
    metrics::{Metric, default_metric},
    predict,
    split::{Fold, Folds},
};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What happened in one fold.
#[derive(Clone, Debug)]
pub struct FoldResult {
    /// One score for each metric, more being better; NaN where the fold does not define it.
    pub test: Vec<f64>,
    pub train: Option<Vec<f64>>,
    pub fit_seconds: f64,
    pub score_seconds: f64,
    /// Whether the fit met its tolerance.
    pub converged: bool,
}

/// The model's answer to what the metric needs, and the score.
pub fn score(ctx: &Ctx, model: &dyn AnyModel, batch: &Batch, metric: &Metric, missing: bool) -> Result<f64> {
    let predicted = output_for(ctx, model, batch, metric, missing)?;
    ctx.install(|| metric.score(&batch.y, &predicted, batch.weights))
}

/// The output that the metric judges.
pub fn output_for(ctx: &Ctx, model: &dyn AnyModel, batch: &Batch, metric: &Metric, missing: bool) -> Result<Matrix> {
    let outputs = model.outputs();
    let has = |output: &&crate::Output| outputs.iter().any(|(known, _)| known == *output);
    match metric.needs.outputs().iter().find(has) {
        Some(&output) => predict(ctx, model, &batch.x, output, missing),
        None => {
            let problem = format!("{} needs {:?}, which this model does not provide", metric.name, metric.needs);
            Err(Error::Unsupported(problem))
        }
    }
}

/// The rows of a fold as data of their own.
fn part(data: &Data, rows: &[usize]) -> Result<OwnedData> {
    Ok(OwnedData::of_rows(&data.batch(), rows)?.with_features(Source::features(data)))
}

/// Fits on the train rows of a fold and judges on its test rows.
fn run_fold(
    ctx: &Ctx,
    spec: &Spec,
    train: &OwnedData,
    test: &OwnedData,
    metrics: &[&Metric],
    train_scores: bool,
) -> Result<FoldResult> {
    ctx.check()?;
    let estimator = make(spec)?;
    let missing = estimator.info().missing;
    let data = train.data()?;
    let (fit, fit_seconds) = timed(|| estimator.fit(&data, ctx));
    let fit = fit?;
    let judge = |part: &OwnedData| -> Result<Vec<f64>> {
        let data = part.data()?;
        let batch = data.batch();
        metrics.iter().map(|metric| score(ctx, &*fit.model, &batch, metric, missing)).collect()
    };
    let (test, score_seconds) = timed(|| judge(test));
    let test = test?;
    let train = if train_scores { Some(judge(train)?) } else { None };
    Ok(FoldResult { test, train, fit_seconds, score_seconds, converged: !fit.log.unfinished() })
}

/// Every candidate on every fold: results by candidate, then by fold, a failed fit being its error. The rows of a fold
/// are copied once for all candidates. `seed` gives that of a fit, from the numbers of its candidate and its fold.
pub fn evaluate(
    ctx: &Ctx,
    candidates: &[Spec],
    data: &Data,
    folds: &[Fold],
    metrics: &[&Metric],
    train_scores: bool,
    seed: &(dyn Fn(usize, usize) -> u64 + Sync),
) -> Result<Vec<Vec<Result<FoldResult>>>> {
    let (done, jobs) = (AtomicUsize::new(0), candidates.len() * folds.len());
    let run = |f: usize| {
        let (train, test) = (part(data, &folds[f].train)?, part(data, &folds[f].test)?);
        ctx.map(candidates.len(), |c| {
            let mut child = ctx.child("fold", f as u64);
            child.seed = seed(c, f);
            let result = run_fold(&child, &candidates[c], &train, &test, metrics, train_scores);
            let step = done.fetch_add(1, Ordering::Relaxed) + 1;
            let value = result.as_ref().ok().and_then(|result| result.test.first().copied());
            ctx.progress(Progress { what: "search", step, of: Some(jobs), value });
            match result {
                Err(Error::Cancelled) => Err(Error::Cancelled),
                other => Ok(other),
            }
        })
    };
    let mut by_candidate: Vec<Vec<_>> = candidates.iter().map(|_| Vec::with_capacity(folds.len())).collect();
    for of_fold in ctx.map(folds.len(), run)? {
        by_candidate.iter_mut().zip(of_fold).for_each(|(results, result)| results.push(result));
    }
    Ok(by_candidate)
}

/// Fits on the train rows of every fold and judges on its test rows.
pub fn cross_validate(
    ctx: &Ctx,
    spec: &Spec,
    data: &Data,
    folds: &[Fold],
    metrics: &[&Metric],
    train_scores: bool,
) -> Result<Vec<FoldResult>> {
    let candidates = std::slice::from_ref(spec);
    let results = evaluate(ctx, candidates, data, folds, metrics, train_scores, &seed_of_fold(ctx))?;
    results.into_iter().flatten().collect()
}

/// Scores of a model, a pipeline or anything else that a spec describes, on the usual folds: R² of numbers, the share
/// of right classes. The seed of the context makes the folds.
pub fn cross_val_score(model: impl Into<Spec>, data: &Data, n_splits: usize, ctx: &Ctx) -> Result<Vec<f64>> {
    let batch = data.batch();
    let task = if matches!(batch.y, Target::Class { .. }) { Task::Classification } else { Task::Regression };
    let metric = default_metric(task).expect("both tasks have one");
    let folds = Folds::usual(&batch.y, n_splits).split(&batch, None, ctx.seed)?;
    let results = cross_validate(ctx, &model.into(), data, &folds, &[metric], false)?;
    Ok(results.into_iter().map(|fold| fold.test[0]).collect())
}

/// The same seed for a fold whatever the candidate: differences are those of the parameters.
fn seed_of_fold(ctx: &Ctx) -> impl Fn(usize, usize) -> u64 + Sync {
    let seed = ctx.seed;
    move |_, fold| rng::key(seed, "fold", fold as u64)
}

/// Predictions for every row by a model that has not seen it: rows x columns of the output that `metric` needs. Every
/// row must be tested once.
pub fn cross_val_predict(ctx: &Ctx, spec: &Spec, data: &Data, folds: &[Fold], metric: &Metric) -> Result<Matrix> {
    let run = |(i, fold): (usize, &Fold)| {
        let child = ctx.child("fold", i as u64);
        let estimator = make(spec)?;
        let (train, test) = (part(data, &fold.train)?, part(data, &fold.test)?);
        let fit = estimator.fit(&train.data()?, &child)?;
        output_for(&child, &*fit.model, &test.data()?.batch(), metric, estimator.info().missing)
    };
    let parts: Vec<Matrix> = ctx.map(folds.len(), |k| run((k, &folds[k])))?;
    let rows = data.batch().rows();
    let mut out = Matrix::zeros(rows, parts.first().map_or(0, |part| part.cols));
    let mut times = vec![0; rows];
    for (fold, part) in folds.iter().zip(&parts) {
        for (at, &row) in fold.test.iter().enumerate() {
            out.row_mut(row).copy_from_slice(part.row(at));
            times[row] += 1;
        }
    }
    match times.iter().position(|&times| times != 1) {
        Some(row) => {
            Err(Error::value(row, None, format!("the row is tested {} times, but must be tested once", times[row])))
        }
        None => Ok(out),
    }
}

/// Values to try for one parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    These(Vec<Value>),
    Range { search: Search, whole: bool },
}

/// A parameter by its path (`alpha`, or `Ridge__alpha` inside a pipeline) and what to try.
pub type Space = Vec<(String, Values)>;

/// Everything with a declared search range, for a model or for the steps of a pipeline.
pub fn space(spec: &Spec) -> Result<Space> {
    if spec.name == "Pipeline" {
        let mut all = Vec::new();
        for step in steps(spec) {
            if step.name == "ColumnTransformer" {
                continue;
            }
            all.extend(space(step)?.into_iter().map(|(name, values)| (format!("{}__{name}", step.name), values)));
        }
        return Ok(all);
    }
    let params = (crate::entry(&spec.name)?.params)();
    let declared = params.into_iter().filter_map(|param| {
        let search = param.search?;
        let takes = |wanted: fn(&Form) -> bool| param.forms.iter().any(wanted);
        let is_count = takes(|form| matches!(form, Form::Int(_)));
        // A parameter may be a count or a share; its range speaks of what its default is.
        let is_share = takes(|form| matches!(form, Form::Float(_))) && !matches!(param.default, Value::Int(_));
        let whole = is_count && !is_share;
        Some((param.name.to_string(), Values::Range { search, whole }))
    });
    Ok(declared.collect())
}

fn steps(spec: &Spec) -> Vec<&Spec> {
    match spec.params.get("steps") {
        Some(Value::List(values)) => values
            .iter()
            .filter_map(|value| if let Value::Model(spec) = value { Some(&**spec) } else { None })
            .collect(),
        _ => Vec::new(),
    }
}

/// Sets a parameter by its path.
pub fn set(spec: &mut Spec, path: &str, value: Value) -> Result<()> {
    let Some((step, rest)) = path.split_once("__") else {
        spec.params.insert(path.into(), value);
        return Ok(());
    };
    let names: Vec<String> = steps(spec).iter().map(|step| step.name.clone()).collect();
    if let Some(Value::List(values)) = spec.params.get_mut("steps") {
        for item in values.iter_mut() {
            match item {
                Value::Model(inner) if inner.name == step => return set(inner, rest, value),
                // A step by its bare name has no parameters yet.
                Value::Text(name) if name == step => {
                    let mut inner = Spec::new(name);
                    set(&mut inner, rest, value)?;
                    *item = Value::Model(Box::new(inner));
                    return Ok(());
                }
                _ => {}
            }
        }
    }
    Err(Error::Unknown { what: "step", name: step.into(), known: names })
}

impl Values {
    /// `n` values over the range, ends included, or those that are listed.
    fn spread(&self, n: usize) -> Vec<Value> {
        match self {
            Values::These(values) => values.clone(),
            Values::Range { .. } => {
                let mut values: Vec<Value> =
                    (0..n).map(|i| self.at(if n > 1 { i as f64 / (n - 1) as f64 } else { 0.5 })).collect();
                values.dedup();
                values
            }
        }
    }

    /// The value at a share of the way.
    fn at(&self, share: f64) -> Value {
        match self {
            Values::These(values) => values[((share * values.len() as f64) as usize).min(values.len() - 1)].clone(),
            Values::Range { search: Search { low, high, log }, whole } => {
                let value =
                    if *log { (low.ln() + share * (high.ln() - low.ln())).exp() } else { low + share * (high - low) };
                let value = value.clamp(*low, *high);
                if *whole { Value::Int(value.round() as i64) } else { Value::Float(value) }
            }
        }
    }
}

/// Every combination of values, `per_range` for each range.
pub fn grid(spec: &Spec, space: &Space, per_range: usize) -> Result<Vec<Spec>> {
    let mut all = vec![spec.clone()];
    for (path, values) in space {
        let values = values.spread(per_range.max(1));
        if all.len().saturating_mul(values.len()) > 1_000_000 {
            return Err(
                Error::Data("the grid has more than a million candidates".into()).hint("draw some at random instead")
            );
        }
        let mut next = Vec::with_capacity(all.len() * values.len());
        for spec in &all {
            for value in &values {
                let mut spec = spec.clone();
                set(&mut spec, path, value.clone())?;
                next.push(spec);
            }
        }
        all = next;
    }
    Ok(all)
}

/// `n` candidates drawn from the space, the spec as it is first.
pub fn random(spec: &Spec, space: &Space, n: usize, seed: u64) -> Result<Vec<Spec>> {
    let mut all = vec![spec.clone()];
    for i in 1..n.max(1) {
        let mut stream = rng::Stream::new(seed, "candidate", i as u64);
        let mut drawn = spec.clone();
        for (path, values) in space.iter().filter(|(_, values)| *values != Values::These(vec![])) {
            set(&mut drawn, path, values.at(stream.uniform()))?;
        }
        all.push(drawn);
    }
    all.dedup();
    Ok(all)
}

/// One candidate with its scores.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub spec: Spec,
    /// Score on each fold, more being better.
    pub scores: Vec<f64>,
    pub mean: f64,
    /// Standard error of the mean over the folds.
    pub standard_error: f64,
    /// 1 for the best; equal means share a rank.
    pub rank: usize,
    pub fit_seconds: f64,
    /// Why it has no score, if it failed.
    pub failure: Option<String>,
}

#[derive(Clone, Debug)]
pub struct SearchResult {
    pub candidates: Vec<Candidate>,
    /// The highest mean, the first of several.
    pub best: usize,
}

impl SearchResult {
    pub fn best(&self) -> &Candidate {
        &self.candidates[self.best]
    }
}

/// Scores every candidate on every fold. A candidate that fails is kept with the reason; all failing is an error.
pub fn search(ctx: &Ctx, candidates: &[Spec], data: &Data, folds: &[Fold], metric: &Metric) -> Result<SearchResult> {
    if candidates.is_empty() || folds.is_empty() {
        return Err(Error::Data("a search needs candidates and folds".into()));
    }
    let results = evaluate(ctx, candidates, data, folds, &[metric], false, &seed_of_fold(ctx))?;
    let mut first_error = None;
    let mut found: Vec<Candidate> = Vec::with_capacity(candidates.len());
    for (spec, results) in candidates.iter().zip(results) {
        let (mut scores, mut fit_seconds, mut failure) = (Vec::new(), 0.0, None);
        for result in results {
            match result {
                Ok(result) => {
                    scores.push(result.test[0]);
                    fit_seconds += result.fit_seconds;
                }
                Err(error) => {
                    failure.get_or_insert(error.to_string());
                    first_error.get_or_insert(error);
                }
            }
        }
        let (mean, standard_error) = if failure.is_some() { (f64::NAN, f64::NAN) } else { mean_and_error(&scores) };
        found.push(Candidate { spec: spec.clone(), scores, mean, standard_error, rank: 0, fit_seconds, failure });
    }
    rank(&mut found);
    let best = found.iter().position(|candidate| candidate.rank == 1 && !candidate.mean.is_nan());
    match (best, first_error) {
        (Some(best), _) => Ok(SearchResult { candidates: found, best }),
        (None, Some(error)) => Err(error),
        (None, None) => Err(Error::Data(format!("{} is not defined on any fold", metric.name))),
    }
}

fn rank(candidates: &mut [Candidate]) {
    let means: Vec<f64> = candidates.iter().map(|candidate| candidate.mean).collect();
    for candidate in candidates.iter_mut() {
        let better = |mean: &&f64| **mean > candidate.mean || candidate.mean.is_nan() && !mean.is_nan();
        candidate.rank = 1 + means.iter().filter(better).count();
    }
}

/// Mean over the folds and its standard error.
pub fn mean_and_error(scores: &[f64]) -> (f64, f64) {
    let n = scores.len() as f64;
    let mean = scores.iter().sum::<f64>() / n;
    let variance = scores.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (mean, (variance / n).sqrt())
}

/// Successive halving (Jamieson and Talwalkar 2016): all candidates on a few rows, the best third on three times as
/// many, and so on; the last round has all rows. Only candidates of the last round compete.
pub fn halving(
    ctx: &Ctx,
    candidates: &[Spec],
    data: &Data,
    folds: &[Fold],
    metric: &Metric,
    factor: usize,
) -> Result<SearchResult> {
    let factor = factor.max(2);
    let rounds = (candidates.len().max(1) as f64).log(factor as f64).floor() as u32;
    let mut left: Vec<Spec> = candidates.to_vec();
    for round in 0..=rounds {
        let share = (factor as f64).powi(round as i32 - rounds as i32);
        // A smaller sample is part of every larger one; test rows stay whole, so that scores can be compared.
        let seed = rng::key(ctx.seed, "halving", 0);
        let keep = |row: &usize| share >= 1.0 || rng::unit(rng::key(seed, "row", *row as u64)) < share;
        let thinned: Vec<Fold> = folds
            .iter()
            .map(|fold| Fold { train: fold.train.iter().copied().filter(keep).collect(), test: fold.test.clone() })
            .collect();
        if thinned.iter().any(|fold| fold.train.len() < 20) && share < 1.0 {
            continue;
        }
        let found = search(ctx, &left, data, &thinned, metric);
        if round == rounds {
            return found;
        }
        // A round in which nothing works (too few rows for every candidate) decides nothing.
        let Ok(found) = found else { continue };
        let mut order: Vec<usize> = (0..left.len()).collect();
        order.sort_by_key(|&c| (found.candidates[c].rank, c));
        order.truncate(left.len().div_ceil(factor));
        order.sort_unstable();
        left = order.into_iter().map(|c| left[c].clone()).collect();
    }
    Err(Error::Data("a search needs candidates".into()))
}

/// A score of the whole procedure, search included: parameters are chosen anew inside every outer fold.
pub fn nested(
    ctx: &Ctx,
    candidates: &[Spec],
    data: &Data,
    outer: &[Fold],
    inner: impl Fn(&Batch, u64) -> Result<Vec<Fold>> + Sync,
    metric: &Metric,
) -> Result<Vec<(Spec, f64)>> {
    let run = |(i, fold): (usize, &Fold)| {
        let child = ctx.child("outer", i as u64);
        let (train, test) = (part(data, &fold.train)?, part(data, &fold.test)?);
        let rows = train.data()?;
        let folds = inner(&rows.batch(), child.seed)?;
        let best = search(&child, candidates, &rows, &folds, metric)?.best().spec.clone();
        let result = run_fold(&child, &best, &train, &test, &[metric], false)?;
        Ok((best, result.test[0]))
    };
    ctx.map(outer.len(), |k| run((k, &outer[k])))
}

/// How many rows of each class a target has; for callers that choose folds.
pub fn class_counts(y: &Target) -> Vec<usize> {
    let Target::Class { codes, classes } = *y else { return Vec::new() };
    let mut counts = vec![0; classes];
    codes.iter().for_each(|&code| counts[code as usize] += 1);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_draw_from_a_declared_range_is_allowed() {
        for entry in crate::MODELS {
            let spec = Spec::new(entry.name);
            for drawn in random(&spec, &space(&spec).unwrap(), 20, 3).unwrap() {
                if let Err(error) = make(&drawn) {
                    panic!("{drawn}: {error}");
                }
            }
        }
    }
}
