//! One run from a file to a fitted model, read from top to bottom: read, choose, split, fold, fit, score, refit.

mod spread;

use crate::{
    checkpoint::CheckpointFile,
    compare::{self, Comparison, Contest},
    disk::RowFile,
    explain::{self, Insight},
    fitted::{Fitted, Header, Made, TargetColumn},
    frame::{Encoded, Frame, Rows, choose_features, feature_kinds},
    look,
    part::Part,
    parts,
    recipe::{Recipe, Texts},
    report::{DataReport, Driver, FoldScores, Interval, Report, Scores},
    score::{self, Predictions},
    table::{self, Column, Kind, ReadOptions, Schema, Summary, Table},
    terms,
};
use ermine::{
    AnyEstimator, AnyModel, Ctx, Entry, Error, Fit, Numbers, Result, Source, Spec, Task, Value, Values,
    core::{
        TargetKind,
        ctx::{Alone, Progress},
        rng,
        source::{Buffers, Disk, Shape},
    },
    metrics::{self, Metric},
    prepare::{Preparation, PreparedSource, Wants},
    split::{Fold, Folds, train_test_split},
};
use std::{
    collections::BTreeMap,
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
    /// Columns to learn from even if they look like an id or give the target away.
    pub keep: Vec<String>,
    /// What to learn from, as a formula over the columns; see [`terms`].
    pub features: Option<String>,
    /// `None`: the best of a comparison.
    pub model: Option<Spec>,
    /// Only these are compared; empty for all that make sense.
    pub models: Vec<Spec>,
    /// Whether the parameters of `model` are searched as well.
    pub tune: bool,
    /// Candidates that a search draws for each model.
    pub draws: usize,
    /// What models are compared by; `None`: accuracy or R2.
    pub metric: Option<String>,
    /// How long a comparison with everything around it may take.
    pub budget: Duration,
    /// Whether to look into the model for a report: dependence, learning curve.
    pub insight: bool,
    /// `None`: from the model or the target.
    pub task: Option<Task>,
    pub seed: u64,
    /// Share of rows held out for the test score; 0 for none.
    pub test: f64,
    /// Folds of cross-validation; below 2 for none.
    pub folds: usize,
    /// Bytes that rows may take in memory.
    pub memory: u64,
    /// Folder for rows that do not fit.
    pub scratch: PathBuf,
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
            draws: 12,
            metric: None,
            budget: Duration::from_secs(60),
            insight: false,
            task: None,
            seed: 0,
            test: 0.2,
            folds: 5,
            memory: available_memory() / 10 * 6,
            scratch: std::env::temp_dir(),
            checkpoint: None,
        }
    }

    pub fn run(&self, ctx: &Ctx) -> Result<(Fitted, Report)> {
        self.check()?;
        let begin = Instant::now();
        let (fitted, mut report) = ctx.install(|| match ctx.exchange().size() {
            1 if self.fits_in_memory()? => self.in_memory(ctx),
            1 => self.from_disk(ctx),
            _ => self.spread(ctx),
        })?;
        report.seconds = begin.elapsed().as_secs_f64();
        Ok((fitted, report))
    }

    fn check(&self) -> Result<()> {
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

    /// The metric that models are compared by.
    fn judged_by(&self, task: Task) -> Result<&'static Metric> {
        let metric = match &self.metric {
            Some(name) => metrics::metric(name)?,
            None => metrics::default_metric(task)
                .ok_or_else(|| Error::Unsupported("models are compared by how well they predict a target".into()))?,
        };
        if metric.task != task {
            let problem =
                format!("{} is a metric of {}, and this is a {}", metric.name, metric.task.name(), task.name());
            return Err(Error::Unsupported(problem));
        }
        Ok(metric)
    }

    /// Whether a model has to be found, and not only fitted.
    fn is_open(&self, task: Task) -> bool {
        task.is_supervised() && self.folds >= 2 && (self.model.is_none() || self.tune)
    }

    /// The files of the table, in order.
    fn files(&self) -> Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for data in std::iter::once(&self.data).chain(&self.more) {
            files.extend(parts::files(data)?);
        }
        Ok(files)
    }

    /// Bytes that a table takes, its numbers and their prepared form, side by side.
    fn bytes_needed(&self) -> Result<u64> {
        let needed = |path: &PathBuf| {
            let about = std::fs::metadata(path).ok().filter(|about| about.is_file());
            let packed = path.extension().is_some_and(|end| end == "gz" || end == "parquet");
            about.map_or(0, |about| about.len().saturating_mul(if packed { 12 } else { 3 }))
        };
        Ok(self.files()?.iter().map(needed).sum())
    }

    fn fits_in_memory(&self) -> Result<bool> {
        Ok(self.bytes_needed()? <= self.memory)
    }

    /// The table, what was decided about it, and its rows that have a target.
    fn open(&self, ctx: &Ctx) -> Result<(Table, Plan<'_>, Rows, usize)> {
        ctx.progress(Progress { what: "reading", step: 0, of: None, value: None });
        let table = match &self.files()?[..] {
            [file] => table::read(file, &self.read)?,
            files => parts::read(files, &self.read, &Alone)?.table,
        };
        let mut plan = Plan::new(self, &table.schema(), &table.summary(), Some(&table), ctx)?;
        let mut rows = plan.encode(&table)?;
        let total = rows.len();
        let usable: Vec<usize> =
            (0..total).filter(|&i| rows.target.as_ref().is_none_or(|target| !target.is_missing(i))).collect();
        let mut table = table;
        if usable.len() < total {
            plan.notes.push(format!("{} rows without a target were left out", total - usable.len()));
            rows = rows.take(&usable);
            table = table.take(&usable);
        }
        check_target(&plan, &rows)?;
        Ok((table, plan, rows, total))
    }

    /// Models against each other on all rows, and nothing kept.
    pub fn compare(&self, ctx: &Ctx) -> Result<(Comparison, Vec<String>)> {
        self.check()?;
        let begin = Instant::now();
        ctx.install(|| {
            let (_, plan, rows, _) = self.open(ctx)?;
            let metric = self.judged_by(plan.task)?;
            let dropped = plan.dropped.iter().map(|drop| format!("'{}' is left out: {}", drop.column, drop.reason));
            let notes = plan.notes.iter().cloned().chain(dropped).collect();
            let models: Vec<Spec> = self.models.iter().chain(&self.model).cloned().collect();
            Ok((compare::compare(&self.contest(plan.task, metric, &models, begin), &rows, ctx)?, notes))
        })
    }

    fn contest<'a>(&self, task: Task, metric: &'static Metric, models: &'a [Spec], begin: Instant) -> Contest<'a> {
        let (folds, seed, draws, budget) = (self.folds, self.seed, self.draws, self.budget);
        Contest { task, models, metric, folds, seed, draws, begin, budget }
    }

    fn in_memory(&self, ctx: &Ctx) -> Result<(Fitted, Report)> {
        let begin = Instant::now();
        let (table, mut plan, rows, total) = self.open(ctx)?;
        let supervised = plan.task.is_supervised();
        let Fold { train, test } = split(&rows, self.seed, if supervised { self.test } else { 0.0 })?;
        let open = self.is_open(plan.task) && train.len() >= 2 * self.folds;
        if open {
            let names = plan.everything.names();
            plan.notes.extend(look::copies(&table, &names, &train, &test)?);
        }
        drop(table);
        let train_rows = if test.is_empty() { None } else { Some(rows.take(&train)) };
        let test_rows = rows.take(&test);
        let learning = train_rows.as_ref().unwrap_or(&rows);
        let fingerprint = crc32fast::hash(bytemuck::cast_slice(&rows.x.values));

        let mut comparison = None;
        if open {
            let models: Vec<Spec> = if self.tune { self.model.iter().cloned().collect() } else { self.models.clone() };
            let metric = self.judged_by(plan.task)?;
            let found = compare::compare(&self.contest(plan.task, metric, &models, begin), learning, ctx)
                .map_err(|error| error.with_columns(&plan.schema.names()))?;
            plan.settle(&found)?;
            comparison = Some(found);
        }
        let checkpoint = self.checkpoint(&plan, fingerprint, ctx)?;
        let kept = checkpoint.as_ref();
        let folds = match supervised && self.folds >= 2 && !open {
            true => cross_validate(learning, self.folds, self.seed, ctx, |i, fold| {
                let (train, held) = (learning.take(&fold.train), learning.take(&fold.test));
                let part = plan.fit(&train, &CheckpointFile::of_fold(kept, ctx, i))?;
                Ok(score_rows(&plan, &part, &train, &held, false, ctx)?.scores)
            })?,
            false => None,
        };
        ctx.progress(Progress { what: "testing", step: 0, of: None, value: None });
        let mut insight = Insight::default();
        let mut tested = None;
        if !test.is_empty() {
            let part = plan.fit(learning, &CheckpointFile::of(kept, ctx.clone(), "test"))?;
            let said = part.outputs(plan.entry, &test_rows.data()?.batch().x, &test_rows.texts, ctx)?;
            tested = Some(judge(&said, learning, &test_rows, open || self.insight, ctx)?);
            if open || self.insight {
                let looked =
                    Looked { learning, test: &test_rows, followed: &test_rows, truth: &test_rows, said: &said };
                self.look_into(&plan, &part, &looked, begin, &mut insight, ctx)?;
            }
        }
        // The model that is kept has seen every row; the test score is of the same recipe on fewer.
        let whole = plan.fit(&rows, &CheckpointFile::of(kept, ctx.clone(), "whole"))?;
        if kept.is_some_and(|kept| !kept.is_used()) {
            plan.notes.push(format!("{} has no state to keep: no checkpoint was written", plan.entry.name));
        }
        let clusters = cluster_sizes(&whole.fit);
        if self.insight {
            insight.tree = tree_picture(&plan, &whole);
        }
        let sizes = Sizes { total, used: rows.len(), train: learning.len(), test: test.len(), from_disk: false };
        let outcome = Outcome { tested, folds, clusters, comparison, insight };
        plan.finish(whole, outcome, sizes, fingerprint)
    }

    /// What drives the prediction, on rows that were not learnt from; for a report also how.
    fn look_into(
        &self,
        plan: &Plan,
        part: &Part,
        looked: &Looked,
        begin: Instant,
        insight: &mut Insight,
        ctx: &Ctx,
    ) -> Result<()> {
        let Looked { learning, test, followed, truth, said } = *looked;
        // What is left of the budget, and a moment in any case.
        let end = (begin + self.budget).max(Instant::now() + Duration::from_secs(2));
        let (whole_time, ctx) = (ctx, &ctx.clone().with_deadline(end));
        // A picture that is not ready in time is left out; it decides nothing.
        let in_time = |outcome: Result<()>| match outcome {
            Err(Error::Cancelled) => Ok(()),
            other => other,
        };
        let metric = self.judged_by(plan.task)?;
        let whole = part.whole(&test.texts, ctx);
        in_time(explain::importance(&whole, &plan.schema, test, metric, ctx).map(|found| insight.importance = found))?;
        if !self.insight {
            return whole_time.check();
        }
        if let Some(target) = &truth.target {
            explain::curves(insight, target, said, truth.weights.as_deref(), self.seed)?;
        }
        let is_text = |column: usize| test.texts.0.iter().any(|(known, _)| *known == column);
        let shown: Vec<usize> = insight
            .importance
            .iter()
            .filter(|weight| !is_text(weight.column) && weight.fall > 0.0)
            .map(|weight| weight.column)
            .take(6)
            .collect();
        for column in shown {
            let found = explain::dependence(&whole, plan.task, &plan.schema, followed, column, ctx);
            in_time(found.map(|found| insight.dependence.push(found)))?;
        }
        let curve = explain::learning_curve(&*plan.estimator, plan.entry, learning, metric, ctx);
        in_time(curve.map(|found| insight.curve = found))?;
        whole_time.check()
    }

    /// Two passes over the file: schema first, numbers into a temporary file second. Fits the training part, scores the rest.
    fn from_disk(&self, ctx: &Ctx) -> Result<(Fitted, Report)> {
        ctx.progress(Progress { what: "scanning", step: 0, of: None, value: None });
        let files = self.files()?;
        let [file] = &files[..] else {
            let problem = format!("{} files are read whole, and they do not fit in memory", files.len());
            return Err(Error::Unsupported(problem)
                .hint("give more with --memory, or spread the rows over several workers: see docs/cluster.md"));
        };
        let scan = table::scan(file, &self.read)?;
        let mut plan = Plan::new(self, &scan.schema, &scan.summary, None, ctx)?;
        if plan.task.is_supervised() && self.model.is_none() {
            plan.notes.push("models were not compared: the rows do not fit in memory".into());
        }
        if let Some(reason) = plan.entry.info.passes.needs_memory() {
            let model = plan.entry.name.into();
            return Err(Error::NeedsMemory { model, reason: reason.into() }
                .hint("give more with --memory, or choose a model that reads rows in blocks: see 'ermine models'"));
        }
        if self.folds >= 2 && plan.task.is_supervised() {
            plan.notes.push("no cross-validation: the rows are read from disk, and the held-out part is large".into());
        }
        let mut train = RowFile::new(&self.scratch)?;
        let mut test = RowFile::new(&self.scratch)?;
        let names = plan.target.as_ref().map_or(Vec::new(), |target| target.classes.clone());
        let share = if plan.task.is_supervised() { self.test } else { 0.0 };
        let (mut row, mut skipped, mut buffer) = (0u64, 0usize, Vec::new());
        // Of all raw numbers in their order, as when they are in memory.
        let mut hash = crc32fast::Hasher::new();
        let total = table::stream(file, &self.read, &plan.everything, 8 << 20, |chunk| {
            ctx.check()?;
            let rows = plan.encode_with(&chunk, &names)?;
            for i in 0..rows.len() {
                let held_out = share > 0.0 && rng::unit(rng::key(self.seed, "test", row)) < share;
                row += 1;
                if rows.target.as_ref().is_some_and(|target| target.is_missing(i)) {
                    skipped += 1;
                    continue;
                }
                hash.update(bytemuck::cast_slice(rows.x.row(i)));
                buffer.clear();
                buffer.extend_from_slice(rows.x.row(i));
                match &rows.target {
                    Some(Encoded::Real(values)) => buffer.push(values[i]),
                    Some(Encoded::Class { codes, .. }) => buffer.push(f64::from(codes[i])),
                    None => {}
                }
                buffer.extend(rows.weights.as_ref().map(|weights| weights[i]));
                if held_out { test.push(&buffer)? } else { train.push(&buffer)? }
            }
            ctx.progress(Progress { what: "reading", step: row as usize, of: Some(scan.rows), value: None });
            Ok(())
        })?;
        if skipped > 0 {
            plan.notes.push(format!("{skipped} rows without a target were left out"));
        }
        let target = match (&plan.target, names.len()) {
            (None, _) => TargetKind::None,
            (Some(_), 0) => TargetKind::Real(1),
            (Some(_), classes) => TargetKind::Class(classes),
        };
        let cols = plan.schema.columns.len();
        let shape = Shape { rows: 0, cols, target, sparse: false, weighted: self.weights.is_some() };
        let features = feature_kinds(&plan.schema);
        let fingerprint = hash.finalize();
        let (train, test) = (train.finish(shape.clone(), features.clone())?, test.finish(shape, features)?);

        let checkpoint = self.checkpoint(&plan, fingerprint, ctx)?;
        let part = fit_source(&plan, &train, &CheckpointFile::of(checkpoint.as_ref(), ctx.clone(), "whole"))?;
        let tested = match test.shape().rows {
            0 => None,
            _ => Some(score_disk(&plan, &part, &train, &test, ctx)?),
        };
        plan.notes.push("the model was fitted on the training part only".into());
        let sizes =
            Sizes { total, used: total - skipped, train: train.shape().rows, test: test.shape().rows, from_disk: true };
        let outcome =
            Outcome { tested, folds: None, clusters: Vec::new(), comparison: None, insight: Insight::default() };
        plan.finish(part, outcome, sizes, fingerprint)
    }

    /// The checkpoint of this run and no other: model, parameters, seed, split and rows.
    fn checkpoint(&self, plan: &Plan, fingerprint: u32, ctx: &Ctx) -> Result<Option<CheckpointFile>> {
        let Some(path) = &self.checkpoint else { return Ok(None) };
        let run = format!(
            "{}, seed {}, test {}, folds {}, rows {fingerprint:08x}",
            plan.spec, self.seed, self.test, self.folds
        );
        CheckpointFile::open(path, run, ctx.exchange()).map(Some)
    }
}

/// Supervised or not, in one place.
pub trait Supervised {
    fn is_supervised(&self) -> bool;
    fn name(&self) -> &'static str;
}

impl Supervised for Task {
    fn is_supervised(&self) -> bool {
        matches!(self, Task::Regression | Task::Classification)
    }

    fn name(&self) -> &'static str {
        match self {
            Task::Regression => "regression",
            Task::Classification => "classification",
            Task::Clustering => "clustering",
            Task::Transformation => "transformation",
            Task::Density => "density",
        }
    }
}

/// Everything that is decided before the first number is read.
struct Plan<'a> {
    job: &'a Job,
    entry: &'static Entry,
    estimator: Box<dyn AnyEstimator>,
    spec: Spec,
    task: Task,
    /// Features, target and weights.
    everything: Schema,
    /// The raw columns that features come from.
    raw: Schema,
    /// Features alone: raw columns, or what is made of them.
    schema: Schema,
    made: Option<Made>,
    target: Option<TargetColumn>,
    summary: Vec<Summary>,
    dropped: Vec<crate::frame::Dropped>,
    choice: Option<String>,
    notes: Vec<String>,
    /// See [`Rows::one_unit`].
    one_unit: bool,
}

impl<'a> Plan<'a> {
    fn new(job: &'a Job, schema: &Schema, summary: &[Summary], table: Option<&Table>, ctx: &Ctx) -> Result<Plan<'a>> {
        for name in job.ignore.iter().chain(&job.weights).chain(&job.target).chain(&job.keep) {
            schema.field(name)?;
        }
        let named = match &job.model {
            Some(spec) => Some(ermine::entry(&spec.name)?),
            None => None,
        };
        let mut notes = Vec::new();
        let task_of = |target: &String| -> Result<Task> {
            let column = &summary[schema.columns.iter().position(|field| field.name == *target).unwrap_or(0)];
            Ok(match looks_like_classes(column, table.map(|table| table.column(target)).transpose()?) {
                true => Task::Classification,
                false => Task::Regression,
            })
        };
        let task = match (named, job.task, &job.target) {
            (Some(entry), _, _) => entry.info.task,
            (None, Some(task), _) => task,
            (None, None, None) => Task::Clustering,
            (None, None, Some(target)) => task_of(target)?,
        };
        // Some transformers learn from a target too.
        let wants_target = task.is_supervised() || named.is_some_and(|entry| entry.info.supervised);
        if wants_target && job.target.is_none() {
            return Err(Error::Data("no target: which column is to be predicted?".into())
                .hint(format!("give one with --target; the columns are {}", schema.names().join(", "))));
        }
        let (spec, choice) = match &job.model {
            Some(spec) => (spec.clone(), None),
            None => {
                let (name, why) = match task {
                    Task::Regression => ("Ridge", "a sound first model for a number"),
                    Task::Classification => ("LogisticRegression", "a sound first model for classes"),
                    _ => ("KMeans", "there is no target, so rows are grouped"),
                };
                (
                    Spec { name: name.into(), params: Values::new() },
                    Some(format!("{name}: {why}; choose another with --model")),
                )
            }
        };
        let entry = ermine::entry(&spec.name)?;
        let estimator = ermine::make(&spec)?;

        let target = job.target.as_ref().filter(|_| wants_target);
        if let (Some(name), None) = (&job.target, target) {
            notes.push(format!("{} takes no target: '{name}' is left out", entry.name));
        }
        let not_features: Vec<&str> =
            job.target.iter().chain(&job.weights).chain(&job.ignore).map(String::as_str).collect();
        let (mut features, mut dropped) = choose_features(schema, summary, &not_features, table.is_some());
        let target = match target {
            None => None,
            Some(name) => {
                let task = if task.is_supervised() { task } else { task_of(name)? };
                Some(target_column(name, task, schema, table, job)?)
            }
        };
        if let (Some(table), Some(target), true) = (table, &target, job.is_open(task)) {
            let found = look::look(table, &features, target, &job.keep, ctx)?;
            features.columns.retain(|field| found.dropped.iter().all(|drop| drop.column != field.name));
            dropped.extend(found.dropped);
            notes.extend(found.worries);
        }
        if features.columns.is_empty() {
            let why: Vec<String> = dropped.iter().map(|drop| format!("'{}': {}", drop.column, drop.reason)).collect();
            let why = if why.is_empty() { "the file has no other column".into() } else { why.join("; ") };
            return Err(Error::Data(format!("there is no column to learn from ({why})")));
        }
        let mut made = None;
        let terms = match (&job.features, table) {
            (Some(_), None) => {
                return Err(Error::NeedsMemory {
                    model: "--features".into(),
                    reason: "columns are made of columns".into(),
                });
            }
            (Some(formula), Some(_)) => Some(terms::parse(formula, &features)?),
            (None, Some(table)) if features.columns.iter().any(|f| matches!(f.kind, Kind::Date | Kind::DateTime)) => {
                Some(terms::usual(&features, table)?)
            }
            _ => None,
        };
        let raw = match (&terms, table) {
            (Some(terms), Some(table)) => {
                let schema = terms::derive(terms, table)?.schema();
                made = Some(Made { terms: terms.clone(), schema: schema.clone() });
                let raw = terms::used(terms, &features);
                features = schema;
                raw
            }
            _ => features.clone(),
        };
        let mut everything = raw.clone();
        for name in target.iter().map(|target| target.name.as_str()).chain(job.weights.as_deref()) {
            everything.columns.push(schema.field(name)?.clone());
        }
        Ok(Plan {
            job,
            entry,
            estimator,
            spec,
            task,
            everything,
            raw,
            schema: features,
            made,
            target,
            summary: summary.to_vec(),
            dropped,
            choice,
            notes,
            one_unit: crate::idx::is_idx(&job.files()?[0])?,
        })
    }

    fn encode(&self, table: &Table) -> Result<Rows> {
        self.encode_with(table, self.target.as_ref().map_or(&[], |target| &target.classes))
    }

    fn encode_with(&self, table: &Table, names: &[String]) -> Result<Rows> {
        let frame = match &self.made {
            Some(made) => Frame::of(&terms::derive(&made.terms, table)?, &self.schema)?,
            None => Frame::of(table, &self.schema)?,
        };
        let target = match &self.target {
            None => None,
            Some(target) if !target.classes.is_empty() => Some(Encoded::with_names(table.column(&target.name)?, names)),
            Some(target) => Some(Encoded::real(&target.name, table.column(&target.name)?)?),
        };
        let weights = match &self.job.weights {
            None => None,
            Some(name) => match table.column(name)? {
                Column::Number(values) => Some(values.clone()),
                other => return Err(Error::Data(format!("the weights '{name}' hold {}, not numbers", other.kind()))),
            },
        };
        Ok(Rows {
            x: frame.x,
            features: feature_kinds(&self.schema),
            target,
            weights,
            texts: frame.texts,
            one_unit: self.one_unit,
        })
    }

    /// Takes the model that won.
    fn settle(&mut self, found: &Comparison) -> Result<()> {
        let best = found.best().ok_or_else(|| {
            let why = found.standings.iter().find_map(|standing| standing.note.clone()).unwrap_or_default();
            Error::Data(format!("no model could be fitted: {why}")).hint("more time with --budget, or name a --model")
        })?;
        self.spec = best.spec.clone();
        self.entry = ermine::entry(&best.model)?;
        self.estimator = ermine::make(&best.spec)?;
        self.choice = Some(found.verdict());
        if !found.cuts.is_empty() {
            let some = found.cuts.iter().take(3).cloned().collect::<Vec<_>>().join("; ");
            let more =
                if found.cuts.len() > 3 { format!("; and {} more", found.cuts.len() - 3) } else { String::new() };
            self.notes.push(format!("the budget of {:.0} s cut: {some}{more}", found.budget));
        }
        Ok(())
    }

    /// Fits on these rows. Errors speak of columns by name.
    fn fit(&self, rows: &Rows, ctx: &Ctx) -> Result<Part> {
        let recipe =
            Part::prepare(&*self.estimator, rows, ctx).map_err(|error| error.with_columns(&self.schema.names()))?;
        let names = recipe.names(&self.schema);
        Part::fit_behind(&*self.estimator, recipe, rows, ctx).map_err(|error| error.with_columns(&names))
    }

    fn finish(self, part: Part, outcome: Outcome, sizes: Sizes, fingerprint: u32) -> Result<(Fitted, Report)> {
        let Outcome { tested, folds, clusters, comparison, insight } = outcome;
        let mut notes = self.notes;
        let names = |scores: &Scores| scores.iter().map(|(name, value)| (name.to_string(), *value)).collect();
        let mut scores: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
        if let Some(tested) = &tested {
            scores.insert("test".into(), names(&tested.scores));
        }
        if let Some(folds) = &folds {
            let means = folds.scores.iter().map(|(name, mean, _)| (name.to_string(), *mean)).collect();
            scores.insert("cross-validation".into(), means);
        }
        let defaults: BTreeMap<&str, Value> = (self.entry.params)().into_iter().map(|p| (p.name, p.default)).collect();
        let all = self.estimator.values();
        let changed = all.iter().filter(|(name, value)| defaults.get(name.as_str()) != Some(value));
        let changed = changed.map(|(name, value)| (name.clone(), value.to_string())).collect();
        let header = Header {
            model: self.spec.name.clone(),
            params: all.iter().map(|(name, value)| (name.clone(), value.to_string())).collect(),
            schema: self.raw,
            made: self.made,
            target: self.target.clone(),
            seed: self.job.seed,
            rows: if sizes.from_disk { sizes.train } else { sizes.used },
            scores,
            version: env!("CARGO_PKG_VERSION").into(),
            fingerprint,
        };
        let header = Header { model: self.entry.name.into(), ..header };
        let fitted =
            Fitted { header, preparation: Some(part.recipe), model: part.fit.model, log: part.fit.log.clone() };
        notes.extend(part.fit.log.notes.iter().cloned());
        notes.extend(worries(&fitted));
        if let (Some(tested), Some(metric)) = (&tested, comparison.as_ref().map(|found| found.metric)) {
            notes.extend(beaten(tested, metric));
        }
        let report = Report {
            data: DataReport {
                path: match self.job.more.len() {
                    0 => self.job.data.display().to_string(),
                    more => format!("{} and {more} more", self.job.data.display()),
                },
                rows: sizes.total,
                rows_used: sizes.used,
                columns: self.summary,
                features: fitted.header.schema.columns.len(),
                prepared: fitted.model.cols(),
                dropped: self.dropped,
                from_disk: sizes.from_disk,
                train_rows: sizes.train,
                test_rows: sizes.test,
            },
            model: self.entry.name.into(),
            params: changed,
            choice: self.choice,
            task: self.task.name(),
            target: self.target.as_ref().map(|target| target.name.clone()),
            classes: self.target.map_or(Vec::new(), |target| target.classes),
            main_metric: match &comparison {
                Some(found) => Some(found.metric),
                None => self.task.is_supervised().then(|| score::main_metric(self.task)),
            },
            confusion: tested.as_ref().and_then(|tested| tested.confusion.clone()),
            baseline: tested.as_ref().map(|tested| tested.baseline.clone()),
            intervals: tested.as_ref().map_or(Vec::new(), |tested| tested.intervals.clone()),
            test: tested.map(|tested| tested.scores),
            folds,
            comparison,
            insight,
            drivers: drivers(&fitted),
            clusters,
            log: part.fit.log,
            notes,
            version: env!("CARGO_PKG_VERSION"),
            seed: self.job.seed,
            fingerprint: format!("{fingerprint:08x}"),
            seconds: 0.0,
        };
        Ok((fitted, report))
    }
}

struct Sizes {
    total: usize,
    used: usize,
    train: usize,
    test: usize,
    from_disk: bool,
}

struct Tested {
    scores: Scores,
    baseline: Scores,
    intervals: Vec<Interval>,
    confusion: Option<Vec<Vec<f64>>>,
}

/// What was found out before the model that is kept.
struct Outcome {
    tested: Option<Tested>,
    folds: Option<FoldScores>,
    clusters: Vec<usize>,
    comparison: Option<Comparison>,
    insight: Insight,
}

/// Rows that do not fit in memory: the preparation is applied as they are read.
fn fit_source(plan: &Plan, raw: &dyn Source, ctx: &Ctx) -> Result<Part> {
    let estimator = &plan.estimator;
    let preparation = Preparation::fit(raw, ctx, &Wants::from(&estimator.info()))
        .map_err(|error| error.with_columns(&plan.schema.names()))?;
    let fit = estimator.fit(&PreparedSource::new(raw, &preparation), ctx);
    let recipe = Recipe::from(preparation);
    let fit = fit.map_err(|error| error.with_columns(&recipe.names(&plan.schema)))?;
    Ok(Part { recipe, fit })
}

fn tree_picture(plan: &Plan, whole: &Part) -> Option<String> {
    let classes = plan.target.as_ref().map_or(&[][..], |target| &target.classes);
    explain::tree_picture(&whole.recipe, &*whole.fit.model, &plan.schema, classes, 4)
}

/// What pictures of a fitted model look at.
struct Looked<'a> {
    learning: &'a Rows,
    /// Rows that were not learnt from, those that single columns are followed on, and the targets of all of them with what was said.
    test: &'a Rows,
    followed: &'a Rows,
    truth: &'a Rows,
    said: &'a Predictions,
}

fn score_rows(plan: &Plan, part: &Part, train: &Rows, test: &Rows, intervals: bool, ctx: &Ctx) -> Result<Tested> {
    let predicted = part.outputs(plan.entry, &test.data()?.batch().x, &test.texts, ctx)?;
    judge(&predicted, train, test, intervals, ctx)
}

/// What predictions of the test rows are worth. Of the rows themselves only target and weights are looked at.
fn judge(predicted: &Predictions, train: &Rows, test: &Rows, intervals: bool, ctx: &Ctx) -> Result<Tested> {
    let truth = test.target.as_ref().ok_or_else(|| Error::Data("there is nothing to score against".into()))?;
    let weights = test.weights.as_deref();
    let learnt = train.target.as_ref().ok_or_else(|| Error::Data("there is no target".into()))?;
    let guess = score::guess(learnt, train.weights.as_deref(), test.len());
    Ok(Tested {
        scores: score::scores(truth, predicted, weights)?,
        baseline: score::scores(truth, &guess, weights)?,
        intervals: if intervals { predicted.intervals(&ctx.child("interval", 0), truth, weights)? } else { Vec::new() },
        confusion: score::confusion(truth, predicted, weights),
    })
}

/// The held-out rows of a disk source, read block by block; only targets and predictions are kept.
fn score_disk(plan: &Plan, part: &Part, train: &Disk, test: &Disk, ctx: &Ctx) -> Result<Tested> {
    let names = plan.target.as_ref().map_or(Vec::new(), |target| target.classes.clone());
    let gather = |source: &Disk, predict: bool| -> Result<(Encoded, Option<Predictions>, Option<Vec<f64>>)> {
        let (mut reals, mut codes, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        let mut predicted: Option<Predictions> = None;
        let mut buffers = Buffers::default();
        for first in (0..source.shape().rows).step_by(8192) {
            ctx.check()?;
            let batch = source.read(first..(first + 8192).min(source.shape().rows), &mut buffers)?;
            reals.extend_from_slice(batch.y.real());
            codes.extend_from_slice(batch.y.codes());
            weights.extend(batch.weights.into_iter().flatten());
            if predict {
                let block = part.outputs(plan.entry, &batch.x, &Texts::default(), ctx)?;
                match &mut predicted {
                    None => predicted = Some(block),
                    Some(all) => all.append(block),
                }
            }
        }
        let truth =
            if names.is_empty() { Encoded::Real(reals) } else { Encoded::Class { codes, names: names.clone() } };
        Ok((truth, predicted, source.shape().weighted.then_some(weights)))
    };
    let (truth, predicted, weights) = gather(test, true)?;
    let (learnt, _, train_weights) = gather(train, false)?;
    let predicted = predicted.ok_or_else(|| Error::Data("there are no rows to score".into()))?;
    let guess = score::guess(&learnt, train_weights.as_deref(), test.shape().rows);
    Ok(Tested {
        scores: score::scores(&truth, &predicted, weights.as_deref())?,
        baseline: score::scores(&truth, &guess, weights.as_deref())?,
        intervals: Vec::new(),
        confusion: score::confusion(&truth, &predicted, weights.as_deref()),
    })
}

/// Fits on all folds but one, scores on that one, and so on; `None` when there are too few rows for it.
fn cross_validate(
    rows: &Rows,
    folds: usize,
    seed: u64,
    ctx: &Ctx,
    mut fit_and_score: impl FnMut(usize, &Fold) -> Result<Scores>,
) -> Result<Option<FoldScores>> {
    if rows.len() < 2 * folds {
        return Ok(None);
    }
    let data = rows.data()?;
    let parts = Folds::usual(&data.batch().y, folds).split(&data.batch(), None, seed)?;
    let mut all: Vec<Scores> = Vec::new();
    for (i, part) in parts.iter().enumerate() {
        ctx.progress(Progress { what: "fold", step: i + 1, of: Some(folds), value: None });
        all.push(fit_and_score(i, part)?);
    }
    // A score that some fold does not define is not averaged over the others.
    let named = |name: &str| -> Option<Vec<f64>> {
        all.iter().map(|scores| scores.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)).collect()
    };
    let scores = all[0].iter().filter_map(|(name, _)| {
        let values = named(name)?;
        let mean = values.iter().sum::<f64>() / folds as f64;
        let spread = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (folds - 1) as f64;
        Some((*name, mean, spread.sqrt()))
    });
    Ok(Some(FoldScores { folds, scores: scores.collect() }))
}

/// Rows to learn from and rows to test on; none of the latter when there are too few.
fn split(rows: &Rows, seed: u64, share: f64) -> Result<Fold> {
    if share == 0.0 || rows.len() < 10 {
        return Ok(Fold { train: (0..rows.len()).collect(), test: Vec::new() });
    }
    train_test_split(&rows.data()?.batch(), share, None, seed)
}

/// A target that is to be read as classes: not a number, or a number with few whole values.
fn looks_like_classes(summary: &Summary, column: Option<&Column>) -> bool {
    match (summary.kind, column) {
        (Kind::Number, Some(Column::Number(values))) => {
            let few = summary.distinct.is_some_and(|distinct| distinct <= 10 && distinct * 20 <= summary.rows);
            few && values.iter().all(|value| value.is_nan() || value.fract() == 0.0)
        }
        (Kind::Number | Kind::Date | Kind::DateTime, _) => false,
        _ => true,
    }
}

fn target_column(name: &str, task: Task, schema: &Schema, table: Option<&Table>, job: &Job) -> Result<TargetColumn> {
    let field = schema.field(name)?;
    let classes = match (task, table) {
        (Task::Classification, Some(table)) => match Encoded::classes(table.column(name)?) {
            Encoded::Class { names, .. } => names,
            Encoded::Real(_) => Vec::new(),
        },
        (Task::Classification, None) => match field.kind {
            Kind::Category => {
                let mut names = field.levels.to_vec();
                names.sort();
                names
            }
            Kind::Boolean => vec!["false".into(), "true".into()],
            // The names of classes that are numbers are found by reading that column alone.
            _ => {
                let only = ReadOptions { columns: Some(vec![name.into()]), ..job.read.clone() };
                match Encoded::classes(table::read(&job.files()?[0], &only)?.column(name)?) {
                    Encoded::Class { names, .. } => names,
                    Encoded::Real(_) => Vec::new(),
                }
            }
        },
        _ => Vec::new(),
    };
    if task == Task::Classification && classes.len() > 1000 {
        return Err(Error::Data(format!(
            "the target '{name}' has {} different values: too many for classes",
            classes.len()
        ))
        .hint("--task regression predicts it as a number"));
    }
    Ok(TargetColumn { name: name.into(), kind: field.kind, classes })
}

fn check_target(plan: &Plan, rows: &Rows) -> Result<()> {
    let Some(target) = &plan.target else { return Ok(()) };
    let name = &target.name;
    if rows.is_empty() {
        return Err(Error::Data(format!("the target '{name}' is missing in every row")));
    }
    let single = match &rows.target {
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

/// The coefficients of a linear model, largest first.
fn drivers(fitted: &Fitted) -> Vec<Driver> {
    let attributes = fitted.model.attributes();
    let Some((_, coef)) = attributes.iter().find(|(name, _)| *name == "coef_") else { return Vec::new() };
    let (Numbers::Float(values), names) = (&coef.values, fitted.prepared_names()) else { return Vec::new() };
    if names.is_empty() || values.len() % names.len() != 0 {
        return Vec::new();
    }
    let mut drivers: Vec<Driver> = (0..names.len())
        .map(|j| Driver {
            name: names[j].clone(),
            weights: values.chunks_exact(names.len()).map(|row| row[j]).collect(),
        })
        .collect();
    let size = |driver: &Driver| driver.weights.iter().fold(0.0f64, |most, w| most.max(w.abs()));
    drivers.sort_by(|a, b| size(b).total_cmp(&size(a)));
    drivers
}

/// What the log says that a user should hear.
fn worries(fitted: &Fitted) -> Vec<String> {
    let mut notes = Vec::new();
    let names = fitted.prepared_names();
    if fitted.log.unfinished() {
        let more = match fitted.log.stop() {
            ermine::Stop::Halted(ermine::Halt::MaxIter) => "; more with --max-iter",
            _ => "",
        };
        notes.push(format!("the fit did not meet its tolerance: {}{more}", fitted.log));
    }
    if let ermine::Certificate::LeastSquares { redundant, .. } = fitted.log.certificate() {
        for redundant in redundant {
            let of: Vec<String> =
                redundant.of.iter().map(|(j, factor)| format!("{factor:.4} x {}", names[*j])).collect();
            let of = if of.is_empty() { "a constant".into() } else { of.join(" + ") };
            notes.push(format!("column '{}' says nothing new: it is {of}", names[redundant.column]));
        }
    }
    notes
}

/// A score whose interval reaches down to guessing proves nothing.
fn beaten(tested: &Tested, metric: &str) -> Option<String> {
    let interval = tested.intervals.iter().find(|interval| interval.metric == metric)?;
    let guess = tested.baseline.iter().find(|(name, _)| *name == metric)?.1;
    let proven = match metrics::metric(metric).ok()?.greater_is_better {
        true => interval.low > guess,
        false => interval.high < guess,
    };
    (!proven).then(|| "the test rows do not prove that the model is better than guessing".into())
}

fn cluster_sizes(fit: &Fit<Box<dyn AnyModel>>) -> Vec<usize> {
    let Some((_, labels)) = fit.rows.iter().find(|(name, _)| *name == "labels_") else { return Vec::new() };
    let Numbers::Int(labels) = &labels.values else { return Vec::new() };
    let mut sizes = vec![0; labels.iter().max().map_or(0, |most| (*most + 1).max(0) as usize)];
    labels.iter().filter(|label| **label >= 0).for_each(|label| sizes[*label as usize] += 1);
    sizes
}

/// Memory that is free for use, or a careful guess where the system does not say.
fn available_memory() -> u64 {
    let said = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    });
    said.map_or(4 << 30, |kilobytes| kilobytes * 1024)
}
