//! One run from a file to a fitted model, read from top to bottom: read, inspect, plan, rows, split, choose, judge,
//! explain, refit, report. The same wherever the rows live ([`crate::rows`]).

use crate::{
    check::Profile,
    choose::{self, Choice, Comparison, Contest, Effort, Size, clusters::ClusterCurve},
    explain::{self, Group, Insight},
    fit::{CheckpointFile, Pipeline},
    inspect::{self, Look},
    judge::{self, Costs, Predictions},
    plan::{Plan, Split, Supervised, terms},
    read::{self, Opened, ReadOptions},
    report::{Outcome, Report, Sizes},
    rows::{Encoded, Labels, Limits, RowSet, sampled},
    store::{Fitted, check_costs},
    table::Kind,
};
use ermine::{
    Cancel, Ctx, Entry, Error, Flexibility, Output, Result, Spec, Task,
    core::{
        ctx::{Alone, Progress, all_gather},
        trace::Trace,
    },
    metrics::{self, Metric},
};
use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Job {
    /// A file, or a pattern such as `part-*.csv` for several files of one table.
    pub data: PathBuf,
    /// More files of the same table.
    pub more: Vec<PathBuf>,
    pub read: ReadOptions,
    pub target: Option<String>,
    /// Column of row weights.
    pub weights: Option<String>,
    /// Columns not to learn from.
    pub ignore: Vec<String>,
    /// Columns to learn from even if they look like an id or leak the target.
    pub keep: Vec<String>,
    /// What to learn from, as a formula over the columns; see [`crate::plan::terms`].
    pub features: Option<String>,
    /// `None`: the best of a comparison.
    pub model: Option<Spec>,
    /// Only these are compared; empty for all that make sense.
    pub models: Vec<Spec>,
    /// Whether the parameters of `model` are searched as well.
    pub tune: bool,
    /// Candidates that a search draws for each model; `None`: as the effort says.
    pub draws: Option<usize>,
    /// What models are compared by; `None`: accuracy or R2.
    pub metric: Option<String>,
    /// How much work a comparison may take.
    pub effort: Effort,
    /// How long everything may take; it can only stop early.
    pub budget: Option<Duration>,
    /// Raised by another thread, it ends the comparison: the best so far is kept.
    pub enough: Option<Cancel>,
    /// Keeps the steps of the last fit, which sees every row.
    pub trace: Option<Trace>,
    /// Whether to explain the model for a report: dependence, learning curve.
    pub insight: bool,
    /// `None`: from the model or the target.
    pub task: Option<Task>,
    pub seed: u64,
    /// What it costs to miss a class; `None`: all the same.
    pub costs: Option<Costs>,
    /// The class of two that is asked about: it becomes the second.
    pub positive: Option<String>,
    /// How rows are divided into those that are learnt from and those that are held out.
    pub split: Split,
    /// Share of rows held out for the test score; 0 for none.
    pub test: f64,
    /// Folds of cross-validation; below 2 for none.
    pub folds: usize,
    /// Columns keep their units, also for models that want them alike.
    pub no_scale: bool,
    /// How much memory rows may take, and where those that take more go.
    pub limits: Limits,
    /// Where fits keep their state, so that a run can be killed and go on.
    pub checkpoint: Option<PathBuf>,
}

impl Job {
    pub fn new(data: impl Into<PathBuf>) -> Self {
        Job {
            data: data.into(),
            more: Vec::new(),
            read: ReadOptions::default(),
            target: None,
            weights: None,
            ignore: Vec::new(),
            keep: Vec::new(),
            features: None,
            model: None,
            models: Vec::new(),
            tune: false,
            draws: None,
            metric: None,
            effort: Effort::default(),
            budget: None,
            enough: None,
            trace: None,
            insight: false,
            task: None,
            seed: 0,
            costs: None,
            positive: None,
            split: Split::default(),
            test: 0.2,
            folds: 5,
            no_scale: false,
            limits: Limits { memory: available_memory() / 10 * 6, scratch: std::env::temp_dir() },
            checkpoint: None,
        }
    }

    /// Finds the model, tests it on rows held out, and fits it on all rows.
    pub fn run(&self, ctx: &Ctx) -> Result<(Fitted, Report)> {
        let begin = Instant::now();
        let (fitted, mut report) = ctx.install(|| self.fit(begin, ctx))?;
        report.seconds = begin.elapsed().as_secs_f64();
        Ok((fitted, report))
    }

    /// Models against each other on all rows, and nothing kept.
    pub fn compare(&self, ctx: &Ctx) -> Result<(Comparison, Vec<String>)> {
        let begin = Instant::now();
        ctx.install(|| {
            let Prepared { plan, rows, mut notes, .. } = self.prepare(ctx)?;
            notes.extend(plan.dropped.iter().map(|drop| format!("'{}' is left out: {}", drop.column, drop.reason)));
            let models: Vec<Spec> = self.models.iter().chain(&self.model).cloned().collect();
            Ok((self.compare_on(&rows, &plan, &models, begin, ctx)?, notes))
        })
    }

    fn fit(&self, begin: Instant, ctx: &Ctx) -> Result<(Fitted, Report)> {
        let Prepared { plan, rows, fingerprint, total, mut notes, look } = self.prepare(ctx)?;
        let supervised = plan.task.is_supervised();
        let split = rows.split(if supervised { self.test } else { 0.0 }, self.seed)?;
        let (train, test) = match split.test.is_empty() {
            true => (None, None),
            false => (Some(rows.take(&split.train, ctx)?), Some(rows.take(&split.test, ctx)?)),
        };
        let train = train.as_ref().unwrap_or(&rows);

        let compared = self.is_open(plan.task) && train.len() >= 2 * self.folds;
        let choice = match &self.model {
            _ if compared => {
                notes.extend(inspect::balance(rows.labels()));
                if self.metric.is_none() && self.wants_probabilities(train.labels()) {
                    notes.push("models were compared by log loss; --scoring accuracy compares them by accuracy".into());
                }
                notes.extend(inspect::duplicates(&rows.hashes(ctx)?, &split));
                let models = if self.tune { self.model.as_slice() } else { &self.models };
                Choice::best(self.compare_on(train, &plan, models, begin, ctx)?, plan.task)?
            }
            Some(spec) => Choice::of(spec, None)?,
            None => Choice::first(plan.task)?,
        };
        let (choice, cluster_curve) = self.settled(choice, &rows, &plan, ctx)?;
        let checkpoint = self.checkpoint(&choice, fingerprint, ctx)?;
        let folds = match supervised && self.folds >= 2 && !compared && train.len() >= 2 * self.folds {
            true => {
                let scores = |said: Predictions, learnt: &Labels, held: &Labels| {
                    Ok(judge::test(&said.decide(plan.costs()), learnt, held, false, ctx)?.scores)
                };
                let folds = train.folds(self.folds, self.seed)?;
                let estimator = &*choice.estimator;
                let all =
                    judge::cross_validate(train, &folds, estimator, &plan.features, checkpoint.as_ref(), ctx, scores)?;
                Some(judge::summarise(&all))
            }
            false => None,
        };

        ctx.progress(Progress { what: "testing", step: 0, of: None, value: None });
        let mut tested = None;
        let mut insight = Insight::default();
        if let Some(test) = &test {
            let learning = self.within_reach(train, &choice, begin, ctx)?;
            let ctx_of_test = CheckpointFile::of(checkpoint.as_ref(), ctx.clone(), "test");
            let pipeline = learning.set(train).fit(&*choice.estimator, &plan.features, &ctx_of_test)?;
            check_costs(plan.target.as_ref(), choice.entry.name, &*pipeline.fit.model)?;
            let said = test.predict(choice.entry, &pipeline, ctx)?.decide(plan.costs());
            let detailed = compared || self.insight;
            tested = Some(judge::test(&said, train.labels(), test.labels(), detailed, ctx)?);
            if detailed {
                insight = self.explain(&plan, &choice, (&pipeline, &said), (train, test), ctx)?;
            }
        }
        // The model that is kept has seen every row; the test score is of the same steps on fewer.
        let learning = self.within_reach(&rows, &choice, begin, ctx)?;
        let mut ctx_of_whole = CheckpointFile::of(checkpoint.as_ref(), ctx.clone(), "whole");
        if let Some(trace) = &self.trace {
            ctx_of_whole = ctx_of_whole.with_trace(trace.clone());
        }
        let pipeline = learning.set(&rows).fit(&*choice.estimator, &plan.features, &ctx_of_whole)?;
        if self.trace.as_ref().is_some_and(|trace| trace.recorded() == 0) {
            notes.push(format!("{} records no steps: the trace is empty", choice.entry.name));
        }
        check_costs(plan.target.as_ref(), choice.entry.name, &*pipeline.fit.model)?;
        notes.extend(learning.note(rows.len()));
        if checkpoint.is_some_and(|file| !file.is_used()) {
            notes.push(format!("{} has no state to keep: no checkpoint was written", choice.entry.name));
        }
        if self.insight {
            insight.tree = explain::tree_picture(&pipeline, &plan.features, plan.classes(), 4);
        }
        let mut clusters = cluster_sizes(&pipeline, ctx)?;
        if clusters.is_empty() && !supervised {
            (clusters, insight.groups) = predicted_groups(&rows, choice.entry, &pipeline, &plan, ctx)?;
        }
        insight.cluster_curve = cluster_curve;
        insight.look = look;
        if insight.groups.is_empty() && !clusters.is_empty() {
            insight.groups = groups(learning.set(&rows), &pipeline, &plan, ctx)?;
        }
        let sizes = Sizes {
            total,
            used: rows.len(),
            fitted: learning.set(&rows).len(),
            train: train.len(),
            test: split.test.len(),
            from_disk: rows.is_on_disk(),
        };
        let most = Profile::rows(plan.features.columns.len());
        let looked_at = rows.gather(&sampled(rows.len(), most, self.seed, "profile"), ctx)?;
        let profile = Profile::of(&looked_at, &plan.features, &plan.summary);
        let outcome = Outcome { tested, folds, clusters, insight, sizes, fingerprint, profile, notes };
        Report::of(self, plan, choice, pipeline, outcome)
    }

    /// Reads, inspects, plans, and brings the rows into numbers.
    fn prepare(&self, ctx: &Ctx) -> Result<Prepared> {
        self.check()?;
        if ctx.exchange().size() > 1 && read::is_query(&self.data) {
            return Err(Error::Unsupported("a database is asked by one process, not by several".into())
                .hint("write its rows to a Parquet or CSV file first"));
        }
        let files = all_gather(ctx.exchange(), self.files())?.swap_remove(0);
        self.check_memory(&files, ctx)?;
        let mut read = self.read.clone();
        let named = self.target.iter().chain(&self.weights).chain(&self.ignore).chain(&self.keep);
        read.named.extend(named.cloned().chain(self.split.column().map(String::from)));
        let factors = self.features.iter().flat_map(|formula| terms::factors(formula));
        read.kinds.extend(factors.map(|column| (column, Kind::Category)));
        let opened = Opened::open(&files, &read, self.target.as_deref(), self.limits.memory, ctx)?;
        let total = opened.rows;
        let plan = Plan::new(self, &opened, ctx)?;
        let look = match self.insight {
            true => Some(Look::of(&opened, &plan)?.for_report()),
            false => None,
        };
        let (rows, fingerprint) = RowSet::encode(opened, &plan, &self.limits, ctx)?;
        check_target(&plan, &rows)?;
        let mut notes = plan.notes.clone();
        if rows.len() < total {
            notes.push(format!("{} rows without a target were left out", total - rows.len()));
        }
        Ok(Prepared { plan, rows, fingerprint, total, notes, look })
    }

    /// A model with the number of clusters that it was not told.
    fn settled(&self, choice: Choice, rows: &RowSet, plan: &Plan, ctx: &Ctx) -> Result<(Choice, Option<ClusterCurve>)> {
        if plan.task.is_supervised() {
            return Ok((choice, None));
        }
        let (spec, curve) = choose::clusters::settle(&choice.spec, rows, &plan.features, ctx)?;
        Ok((Choice::of(&spec, choice.reason)?, curve))
    }

    /// The rows without anything to be predicted.
    pub(crate) fn rows_to_look_at(&self, ctx: &Ctx) -> Result<(Plan, RowSet, Vec<String>)> {
        let Prepared { plan, rows, notes, .. } = self.prepare(ctx)?;
        let notes = plan.assumed.iter().cloned().chain(notes).collect();
        Ok((plan, rows, notes))
    }

    /// Compares models on these rows, or on a sample of them that everyone can hold.
    fn compare_on(&self, rows: &RowSet, plan: &Plan, models: &[Spec], begin: Instant, ctx: &Ctx) -> Result<Comparison> {
        let most = self.effort.rows().min(rows.most_gathered());
        let sample = rows.gather(&sampled(rows.len(), most, self.seed, "compare"), ctx)?;
        let contest = Contest {
            task: plan.task,
            models,
            metric: self.compared_by(plan.task, rows.labels())?,
            folds: self.folds,
            seed: self.seed,
            rows: rows.len(),
            work_of_fit: self.effort.work_of_fit(),
            draws: self.draws.unwrap_or(self.effort.draws()),
            work: self.effort.work(),
            // The rest of the time is for the test and the fit on all rows.
            deadline: self.budget.map(|budget| begin + budget.mul_f64(0.5)),
            enough: self.enough.as_ref(),
            features: &plan.features,
        };
        choose::compare(&contest, &sample, ctx).map_err(|error| error.with_columns(&plan.features.names()))
    }

    /// What drives the prediction, on rows that were not learnt from; for a report also how. The first worker does it.
    fn explain(
        &self,
        plan: &Plan,
        choice: &Choice,
        (pipeline, said): (&Pipeline, &Predictions),
        (train, test): (&RowSet, &RowSet),
        ctx: &Ctx,
    ) -> Result<Insight> {
        let few = |set: &RowSet, most: usize| set.gather(&sampled(set.len(), most, ctx.seed, "look"), ctx);
        let (shown, followed) = (few(test, explain::LOOKED_AT)?, few(test, explain::FOLLOWED)?);
        let estimator = &*choice.estimator;
        let curve_rows = Size::of(&shown).rows_within(estimator, explain::LEARNT_FROM, self.effort.work() / 30.0);
        let learning = if self.insight { few(train, curve_rows)? } else { few(train, 0)? };
        let truth = test.labels().target.as_ref().filter(|_| self.insight);
        let worst = truth.map_or(Vec::new(), |truth| explain::worst(truth, said, explain::WORST));
        let worst_rows = test.gather(&worst, ctx)?;
        let mut insight = Insight::default();
        if ctx.exchange().rank() > 0 {
            return Ok(insight);
        }
        let ctx = &ctx.clone().with_exchange(Alone);
        let metric = self.judged_by(plan.task)?;
        let whole = pipeline.whole(&shown.texts, ctx);
        insight.importance = explain::importance(&whole, &plan.features, &shown, metric, ctx)?;
        if !self.insight {
            return Ok(insight);
        }
        if let Some(truth) = truth {
            explain::curves(&mut insight, truth, said, test.labels().weights.as_deref(), self.seed)?;
            insight.worst = explain::describe(truth, said, &worst, &worst_rows, &plan.features);
        }
        let is_text = |column: usize| shown.texts.0.iter().any(|(known, _)| *known == column);
        let driving = insight.importance.iter().filter(|weight| !is_text(weight.column) && weight.fall > 0.0);
        let most = if explain::can_be_followed(&whole, plan.task) { 6 } else { 0 };
        let columns: Vec<usize> = driving.map(|weight| weight.column).take(most).collect();
        for column in columns {
            insight.dependence.push(explain::dependence(&whole, plan.task, &plan.features, &followed, column, ctx)?);
        }
        // A guess learns nothing from more rows.
        if choice.entry.info.flexibility > Flexibility::Constant {
            insight.curve = explain::learning_curve(estimator, choice.entry, &plan.features, &learning, metric, ctx)?;
        }
        Ok(insight)
    }

    /// The rows that the chosen model is fitted on: all of them, or as many as memory, effort and the time left allow.
    fn within_reach(&self, rows: &RowSet, choice: &Choice, begin: Instant, ctx: &Ctx) -> Result<Reach> {
        let estimator = &*choice.estimator;
        let in_memory = rows.most_rows(estimator);
        let Some(comparison) = &choice.comparison else {
            return match in_memory < rows.len() {
                true => Err(needs_memory(choice.entry.name, estimator.info().passes.needs_memory())),
                false => Ok(Reach::All),
            };
        };
        let looked_at = sampled(rows.len(), Size::ROWS.min(rows.most_gathered()), self.seed, "size");
        let size = Size::of(&rows.gather(&looked_at, ctx)?);
        let by_effort = size.rows_within(estimator, rows.len(), self.effort.work_of_fit());
        let by_time = match self.budget {
            None => rows.len(),
            Some(budget) => {
                // The machine is as fast as it was in the comparison; a second fit and the report follow.
                let left = (begin + budget).saturating_duration_since(Instant::now()).as_secs_f64();
                let pace = (comparison.seconds / comparison.work.max(1e-3)).max(1e-3);
                size.rows_within(estimator, rows.len(), 0.4 * left / pace)
            }
        };
        let most = all_gather(ctx.exchange(), Ok(in_memory.min(by_effort).min(by_time)))?[0];
        if most >= rows.len() {
            return Ok(Reach::All);
        }
        let why = match most {
            most if most == in_memory => "more do not fit in memory; --memory allows more",
            most if most == by_effort => {
                "more would take more work than the effort allows; --effort thorough allows more"
            }
            _ => "more would take longer than the budget",
        };
        Ok(Reach::Some(Box::new(rows.sample(most, "fit", ctx)?), why))
    }

    fn check(&self) -> Result<()> {
        if let (true, Some(spec)) = (self.tune, &self.model) {
            let entry = ermine::entry(&spec.name)?;
            if !entry.info.task.is_supervised() {
                let problem = format!("tune needs a target to score by, and {} has none", entry.name);
                return Err(Error::Unsupported(problem)
                    .hint("'ermine fit' chooses the number of clusters or components where none is named"));
            }
        }
        let refused = |name: &str, value: String, allowed: &str| {
            Err(Error::Parameter { model: "fit".into(), name: name.into(), value, allowed: allowed.into() })
        };
        if !(0.0..=0.9).contains(&self.test) {
            return refused("--test", self.test.to_string(), "a share from 0 to 0.9");
        }
        if self.folds > 100 {
            return refused("--folds", self.folds.to_string(), "at most 100");
        }
        if self.tune && self.model.is_none() {
            return refused("--model", "nothing".into(), "the model whose parameters are searched");
        }
        for spec in self.model.iter().chain(&self.models) {
            ermine::make(spec)?;
        }
        Ok(())
    }

    /// A model that needs all rows in memory is refused before the first is read, if they cannot fit.
    fn check_memory(&self, files: &[PathBuf], ctx: &Ctx) -> Result<()> {
        let Some(spec) = self.model.as_ref().filter(|_| !self.tune) else { return Ok(()) };
        let (name, passes) = (ermine::entry(&spec.name)?.name, ermine::make(spec)?.info().passes);
        let workers = ctx.exchange().size() as u64;
        let (reason, share) = match passes.needs_one_worker() {
            Some(reason) => (Some(reason), 1),
            None => (passes.needs_memory(), workers),
        };
        // Its numbers alone take a quarter of what is asked for a table.
        let allowed = self.limits.memory_for_rows().saturating_mul(4 * share);
        let fits = match reason {
            Some(_) => read::bytes_needed(files, &self.read, allowed).map(|needed| needed <= allowed),
            None => Ok(true),
        };
        match all_gather(ctx.exchange(), fits)?.contains(&false) {
            true => Err(needs_memory(name, reason)),
            false => Ok(()),
        }
    }

    /// The metric that models are compared by.
    fn judged_by(&self, task: Task) -> Result<&'static Metric> {
        let metric = match &self.metric {
            Some(name) => metrics::metric(name)?,
            None => metrics::default_metric(task)
                .ok_or_else(|| Error::Unsupported("models are compared by how well they predict a target".into()))?,
        };
        if metric.task != task {
            let problem =
                format!("{} is a metric of {}, but this is a {}", metric.name, metric.task.name(), task.name());
            return Err(Error::Unsupported(problem));
        }
        Ok(metric)
    }

    /// Accuracy hardly tells models apart where one class outnumbers the others, and costs are weighed by
    /// probabilities.
    fn wants_probabilities(&self, labels: &Labels) -> bool {
        self.costs.is_some() || inspect::imbalanced(labels).is_some()
    }

    fn compared_by(&self, task: Task, labels: &Labels) -> Result<&'static Metric> {
        match self.metric.is_none() && self.wants_probabilities(labels) {
            true => metrics::metric("neg_log_loss"),
            false => self.judged_by(task),
        }
    }

    /// Whether a model has to be found, and not only fitted.
    pub(crate) fn is_open(&self, task: Task) -> bool {
        task.is_supervised() && self.folds >= 2 && (self.model.is_none() || self.tune)
    }

    /// Every file that is read.
    pub fn inputs(&self) -> Result<Vec<PathBuf>> {
        let mut inputs = Vec::new();
        for data in std::iter::once(&self.data).chain(&self.more).filter(|data| !read::is_query(data)) {
            inputs.extend(read::files(data)?);
        }
        inputs.extend(self.read.labels.clone());
        Ok(inputs)
    }

    /// The files of the table, in order.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for data in std::iter::once(&self.data).chain(&self.more) {
            files.extend(read::files(data)?);
        }
        Ok(files)
    }

    /// The checkpoint of this run and no other: model, parameters, seed, split and rows.
    fn checkpoint(&self, choice: &Choice, fingerprint: u32, ctx: &Ctx) -> Result<Option<CheckpointFile>> {
        let Some(path) = &self.checkpoint else { return Ok(None) };
        let Job { seed, test, folds, .. } = self;
        let run = format!("{}, seed {seed}, test {test}, folds {folds}, rows {fingerprint:08x}", choice.spec);
        CheckpointFile::open(path, run, ctx.exchange()).map(Some)
    }
}

/// A table ready to be learnt from.
struct Prepared {
    plan: Plan,
    rows: RowSet,
    fingerprint: u32,
    /// Rows of the table, also those without a target.
    total: usize,
    notes: Vec<String>,
    /// The columns, for a report.
    look: Option<Look>,
}

/// The rows of a set that a model is fitted on.
enum Reach {
    All,
    /// A sample, and why not all.
    Some(Box<RowSet>, &'static str),
}

impl Reach {
    fn set<'a>(&'a self, all: &'a RowSet) -> &'a RowSet {
        match self {
            Reach::All => all,
            Reach::Some(sample, _) => sample,
        }
    }

    fn note(&self, all: usize) -> Option<String> {
        let Reach::Some(sample, why) = self else { return None };
        Some(format!("the model was fitted on {} of {all} rows: {why}", sample.len()))
    }
}

fn needs_memory(model: &str, reason: Option<&str>) -> Error {
    let reason = reason.unwrap_or("it goes back to any row").into();
    Error::NeedsMemory { model: model.into(), reason }
        .hint("allow more with --memory, or choose a model that reads rows in blocks: see 'ermine models'")
}

fn check_target(plan: &Plan, rows: &RowSet) -> Result<()> {
    let Some(target) = &plan.target else { return Ok(()) };
    let name = &target.name;
    if rows.is_empty() {
        return Err(Error::Data(format!("the target '{name}' is missing in every row")));
    }
    let single = match &rows.labels().target {
        Some(Encoded::Real(values)) => {
            if let Some(bad) = values.iter().find(|value| value.is_infinite()) {
                return Err(Error::Data(format!("the target '{name}' has the value {bad}")));
            }
            values.iter().all(|value| *value == values[0]).then(|| values[0].to_string())
        }
        Some(Encoded::Class { names, .. }) if names.len() < 2 => names.first().cloned(),
        _ => None,
    };
    match single {
        Some(value) => {
            Err(Error::Data(format!("the target '{name}' has the single value {value}: there is nothing to predict")))
        }
        None => Ok(()),
    }
}

/// Rows in each cluster, over all workers. Sizes and nature of the clusters of a model that names none of its rows'
/// own, as a mixture, if it names those of others.
fn predicted_groups(
    rows: &RowSet,
    entry: &Entry,
    pipeline: &Pipeline,
    plan: &Plan,
    ctx: &Ctx,
) -> Result<(Vec<usize>, Vec<Group>)> {
    let has = pipeline.fit.model.outputs().iter().any(|(output, _)| *output == Output::Cluster);
    if !has || rows.most_gathered() < rows.len() {
        return Ok(Default::default());
    }
    let all = rows.gather(&(0..rows.len()).collect::<Vec<_>>(), ctx)?;
    let x = pipeline.recipe.apply(&all.data()?.batch().x, &all.texts, ctx)?;
    let alone = ctx.clone().with_exchange(Alone);
    let said = ermine::predict(&alone, &*pipeline.fit.model, &x.x(), Output::Cluster, entry.info.missing)?;
    let labels: Vec<i64> = said.values.iter().map(|label| *label as i64).collect();
    let groups = explain::groups(&all, &plan.features, &labels);
    Ok((groups.iter().map(|group| group.rows).collect(), groups))
}

/// What each cluster is, seen in a sample of the rows.
fn groups(rows: &RowSet, pipeline: &Pipeline, plan: &Plan, ctx: &Ctx) -> Result<Vec<Group>> {
    let labels = all_gather(ctx.exchange(), Ok(pipeline.labels().to_vec()))?.concat();
    if labels.len() != rows.len() {
        return Ok(Vec::new());
    }
    let some = sampled(rows.len(), explain::GROUPED.min(rows.most_gathered()), ctx.seed, "groups");
    let labels: Vec<i64> = some.iter().map(|&row| labels[row]).collect();
    Ok(explain::groups(&rows.gather(&some, ctx)?, &plan.features, &labels))
}

fn cluster_sizes(pipeline: &Pipeline, ctx: &Ctx) -> Result<Vec<usize>> {
    let mut all: Vec<usize> = Vec::new();
    for sizes in all_gather(ctx.exchange(), Ok(pipeline.cluster_sizes()))? {
        all.resize(all.len().max(sizes.len()), 0);
        all.iter_mut().zip(sizes).for_each(|(all, size)| *all += size);
    }
    Ok(all)
}

/// Memory that is free for use, or a careful guess where the system does not say.
fn available_memory() -> u64 {
    let free = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    });
    free.map_or(4 << 30, |kilobytes| kilobytes * 1024)
}
