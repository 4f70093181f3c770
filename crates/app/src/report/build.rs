//! A run's outcome as a report, and the model with all it takes to use it.

use super::{DataReport, FoldScores, Report, Scores, units};
use crate::{
    check::Profile,
    choose::Choice,
    explain::Insight,
    fit::Pipeline,
    judge::{self, Tested},
    plan::{Plan, Supervised},
    read,
    run::Job,
    store::{Fitted, Header, Origin, Stated},
    table::{Schema, Summary},
};
use ermine::{Flexibility, Result, Value};
use std::collections::BTreeMap;

/// Rows at each step of a run.
pub struct Sizes {
    /// Of the table.
    pub total: usize,
    /// With a target.
    pub used: usize,
    /// That the model which is kept was fitted on.
    pub fitted: usize,
    pub train: usize,
    pub test: usize,
    pub from_disk: bool,
}

/// What was found out besides the model that is kept.
pub struct Outcome {
    pub tested: Option<Tested>,
    pub folds: Option<FoldScores>,
    pub clusters: Vec<usize>,
    pub insight: Insight,
    pub sizes: Sizes,
    pub fingerprint: u32,
    pub profile: Option<Profile>,
    pub notes: Vec<String>,
}

impl Report {
    pub fn of(job: &Job, plan: Plan, choice: Choice, pipeline: Pipeline, outcome: Outcome) -> Result<(Fitted, Report)> {
        let Outcome { tested, folds, clusters, insight, sizes, fingerprint, profile, mut notes } = outcome;
        let Choice { entry, estimator, reason, comparison, .. } = choice;
        let defaults: BTreeMap<&str, Value> = (entry.params)().into_iter().map(|p| (p.name, p.default)).collect();
        let all = estimator.values();
        let changed = all.iter().filter(|(name, value)| defaults.get(name.as_str()) != Some(value));
        let changed = changed.map(|(name, value)| (name.clone(), value.to_string())).collect();
        let header = Header {
            model: entry.name.into(),
            params: all.iter().map(|(name, value)| (name.clone(), value.to_string())).collect(),
            ranges: ranges(&plan.raw, &plan.summary),
            schema: plan.raw,
            made: plan.derived,
            target: plan.target.clone(),
            seed: job.seed,
            rows: sizes.fitted,
            scores: stored_scores(tested.as_ref(), folds.as_ref()),
            version: env!("CARGO_PKG_VERSION").into(),
            fingerprint,
            profile,
            errors: tested.as_ref().and_then(|tested| tested.errors.clone()),
            origin: Some(Origin {
                choice: reason.clone(),
                left_out: plan.dropped.iter().map(|drop| (drop.column.clone(), drop.reason.clone())).collect(),
                train_rows: sizes.train,
                test_rows: sizes.test,
                stated: tested.as_ref().map_or(Vec::new(), stated),
            }),
        };
        let log = pipeline.fit.log;
        let fitted = Fitted { header, preparation: Some(pipeline.recipe), model: pipeline.fit.model, log: log.clone() };
        if let Some(found) = comparison.as_ref().filter(|found| !found.cuts.is_empty()) {
            let why = match job.enough.as_ref().is_some_and(|enough| enough.is_cancelled()) {
                true => "stopped early",
                false => "not finished within the budget",
            };
            notes.push(format!("{why}: {}", first_few(&found.cuts)));
        }
        let names = fitted.prepared_names();
        notes.extend(log.notes.iter().map(|note| ermine::core::log::name_columns(note, &names)));
        notes.extend(worries(&fitted));
        // Of a guess that is no news.
        let is_model = entry.info.flexibility > Flexibility::Constant;
        if let (Some(tested), Some(found), true) = (&tested, &comparison, is_model) {
            notes.extend(judge::no_better_than_baseline(tested, found.metric));
        }
        let (drivers, intercept) = units::weights(&fitted);
        let report = Report {
            data: DataReport {
                path: match job.more.len() {
                    0 => read::shown(&job.data),
                    more => format!("{} and {more} more", read::shown(&job.data)),
                },
                rows: sizes.total,
                rows_used: sizes.used,
                assumed: plan.assumed,
                columns: plan.summary,
                features: fitted.header.schema.columns.len(),
                prepared: fitted.model.cols(),
                dropped: plan.dropped,
                from_disk: sizes.from_disk,
                train_rows: sizes.train,
                test_rows: sizes.test,
            },
            model: entry.name.into(),
            params: changed,
            choice: reason,
            task: plan.task.name(),
            target: plan.target.as_ref().map(|target| target.name.clone()),
            costs: fitted.costs().to_vec(),
            classes: plan.target.map_or(Vec::new(), |target| target.classes),
            main_metric: match &comparison {
                Some(found) => Some(found.metric),
                None => plan.task.is_supervised().then(|| judge::main_metric(plan.task)),
            },
            confusion: tested.as_ref().and_then(|tested| tested.confusion.clone()),
            baseline: tested.as_ref().map(|tested| tested.baseline.clone()),
            intervals: tested.as_ref().map_or(Vec::new(), |tested| tested.intervals.clone()),
            test: tested.map(|tested| tested.scores),
            folds,
            comparison,
            insight,
            preparation: units::preparation(&fitted),
            drivers,
            intercept,
            components: units::components(&fitted),
            clusters,
            log,
            notes,
            version: env!("CARGO_PKG_VERSION"),
            seed: job.seed,
            fingerprint: format!("{fingerprint:08x}"),
            seconds: 0.0,
        };
        Ok((fitted, report))
    }
}

/// The scores that a model file keeps, by where they come from.
fn stored_scores(
    tested: Option<&Tested>,
    folds: Option<&FoldScores>,
) -> BTreeMap<String, BTreeMap<String, Option<f64>>> {
    // What is not finite is no score.
    let score = |name: &str, value: f64| (name.to_string(), Some(value).filter(|value| value.is_finite()));
    let names = |scores: &Scores| scores.iter().map(|(name, value)| score(name, *value)).collect();
    let mut scores = BTreeMap::new();
    if let Some(tested) = tested {
        scores.insert("test".into(), names(&tested.scores));
    }
    if let Some(folds) = folds {
        let means = folds.scores.iter().map(|(name, mean, _)| score(name, *mean)).collect();
        scores.insert("cross-validation".into(), means);
    }
    scores
}

/// What stands beside each test score.
fn stated(tested: &Tested) -> Vec<Stated> {
    let finite = |value: f64| Some(value).filter(|value| value.is_finite());
    let of = |(metric, _): &(&'static str, f64)| {
        let interval = tested.intervals.iter().find(|interval| interval.metric == *metric);
        let baseline = tested.baseline.iter().find(|(known, _)| known == metric);
        Stated {
            metric: metric.to_string(),
            interval: interval.and_then(|interval| Some((finite(interval.low)?, finite(interval.high)?))),
            baseline: baseline.and_then(|(_, value)| finite(*value)),
        }
    };
    tested.scores.iter().map(of).collect()
}

/// Where the values of the columns lie that a model is fitted on.
fn ranges(columns: &Schema, summary: &[Summary]) -> BTreeMap<String, (f64, f64)> {
    let known = |summary: &&Summary| columns.columns.iter().any(|field| field.name == summary.name);
    let range = |summary: &Summary| Some((summary.name.clone(), (summary.min?, summary.max?)));
    summary.iter().filter(known).filter_map(range).collect()
}

fn first_few(list: &[String]) -> String {
    let some = list.iter().take(3).cloned().collect::<Vec<_>>().join("; ");
    if list.len() > 3 { format!("{some}; and {} more", list.len() - 3) } else { some }
}

/// What the log says that a user should hear.
fn worries(fitted: &Fitted) -> Vec<String> {
    let mut notes = Vec::new();
    if fitted.log.unfinished() {
        let more = match fitted.log.stop() {
            ermine::Stop::Halted(ermine::Halt::MaxIter) => "; allow more with --max-iter",
            _ => "",
        };
        notes.push(format!("the fit did not meet its tolerance: {}{more}", fitted.log));
    }
    notes
}
