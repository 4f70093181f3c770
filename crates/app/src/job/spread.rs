//! The same run on several workers. Every worker holds some of the rows in memory; what is learnt is a sum over all of them.
//!
//! Everyone runs this from top to bottom and comes to the same model; the first one shows and saves it. Rows move only where a set of
//! rows is cut anew (the training part, a fold): every worker then holds whole leaves of that set's tree ([`leaf_rows`]), so that the sums
//! are those of a single process to the last bit. Targets and weights, one or two numbers a row, are known to everyone when there is
//! something to score, because a split and a score are not sums.

use super::*;
use ermine::{
    Data, Feature, Matrix,
    core::{
        ctx::{Alone, Exchange, together},
        reduce::{leaf_rows, shares},
        source::Shard,
    },
};
use std::{collections::HashSet, ops::Range};

/// Bytes that one worker sends to the others at a time.
const MESSAGE: usize = 256 << 20;
/// Values of a target that are looked at to name its classes: more than there may be.
const VALUES: usize = 2000;

impl Job {
    pub(super) fn spread(&self, ctx: &Ctx) -> Result<(Fitted, Report)> {
        let (begin, exchange) = (Instant::now(), ctx.exchange());
        self.check_spread(exchange)?;
        ctx.progress(Progress { what: "reading", step: 0, of: None, value: None });
        let files = together(exchange, self.files())?.swap_remove(0);
        let held = parts::read(&files, &self.read, exchange)?;
        let specimen = together(exchange, self.specimen(&held.table));
        let specimen = join(&held.table, specimen?)?;
        let mut plan = Plan::new(self, &held.table.schema(), &held.summary, Some(&specimen), ctx)?;
        if let Some(field) = plan.schema.columns.iter().find(|field| field.kind == Kind::Text) {
            let reason = "the terms of a free text are counted in memory".into();
            return Err(Error::NeedsOneWorker { model: format!("column '{}'", field.name), reason }
                .hint("leave it out with --ignore, or fit on one worker"));
        }
        let mut rows = plan.encode(&held.table)?;
        let usable: Vec<usize> =
            (0..rows.len()).filter(|&i| rows.target.as_ref().is_none_or(|target| !target.is_missing(i))).collect();
        if usable.len() < rows.len() {
            rows = rows.take(&usable);
        }
        let total = held.total;
        drop(held);
        let all = Share::new(rows, exchange)?;
        if all.total < total {
            plan.notes.push(format!("{} rows without a target were left out", total - all.total));
        }
        check_target(&plan, &extremes(&all.rows, exchange)?)?;
        let fingerprint = fingerprint(&all.rows, exchange)?;
        let all = all.aligned(exchange)?;

        let supervised = plan.task.is_supervised();
        let targets = match supervised && (self.test > 0.0 || self.folds >= 2) {
            true => targets(&all.rows, exchange)?,
            false => without_columns(0, None, None),
        };
        let Fold { train, test } = split(&targets, self.seed, if supervised { self.test } else { 0.0 })?;
        let (train_share, test_share) = match test.is_empty() {
            true => (None, None),
            false => (Some(all.take(&train, exchange)?.aligned(exchange)?), Some(all.take(&test, exchange)?)),
        };
        let learning = train_share.as_ref().unwrap_or(&all);
        let (train_targets, test_targets) = (targets.take(&train), targets.take(&test));

        let checkpoint = self.checkpoint(&plan, fingerprint, ctx)?;
        let kept = checkpoint.as_ref();
        let folds = match supervised && self.folds >= 2 {
            true => cross_validate(&train_targets, self.folds, self.seed, ctx, |i, fold| {
                let share = learning.take(&fold.train, exchange)?.aligned(exchange)?;
                let part = fit(&plan, &share, &CheckpointFile::of_fold(kept, ctx, i))?;
                let predicted = predict(&plan, &part, &learning.take(&fold.test, exchange)?, ctx)?;
                let (train, held) = (train_targets.take(&fold.train), train_targets.take(&fold.test));
                Ok(judge(&predicted, &train, &held, false, ctx)?.scores)
            })?,
            false => None,
        };
        ctx.progress(Progress { what: "testing", step: 0, of: None, value: None });
        let mut insight = Insight::default();
        let tested = match &test_share {
            Some(share) => {
                let part = fit(&plan, learning, &CheckpointFile::of(kept, ctx.clone(), "test"))?;
                let said = predict(&plan, &part, share, ctx)?;
                if self.insight {
                    // One looks, at the rows that a single process would look at.
                    let few = |share: &Share, most: usize| {
                        share.take(&explain::sampled(share.total, most, ctx.seed), exchange)?.on_first(exchange)
                    };
                    let (test, followed) = (few(share, explain::LOOKED_AT)?, few(share, explain::FOLLOWED)?);
                    let learning = few(learning, explain::LEARNT_FROM)?;
                    if exchange.rank() == 0 {
                        let looked = Looked {
                            learning: &learning,
                            test: &test,
                            followed: &followed,
                            truth: &test_targets,
                            said: &said,
                        };
                        let alone = ctx.clone().with_exchange(Alone);
                        self.look_into(&plan, &part, &looked, begin, &mut insight, &alone)?;
                    }
                }
                Some(judge(&said, &train_targets, &test_targets, self.insight, ctx)?)
            }
            None => None,
        };
        let whole = fit(&plan, &all, &CheckpointFile::of(kept, ctx.clone(), "whole"))?;
        if kept.is_some_and(|kept| !kept.is_used()) {
            plan.notes.push(format!("{} has no state to keep: no checkpoint was written", plan.entry.name));
        }
        if self.insight {
            insight.tree = tree_picture(&plan, &whole);
        }
        let mut clusters: Vec<usize> = Vec::new();
        for sizes in together(exchange, Ok(cluster_sizes(&whole.fit)))? {
            clusters.resize(clusters.len().max(sizes.len()), 0);
            clusters.iter_mut().zip(sizes).for_each(|(all, size)| *all += size);
        }
        let train = if test.is_empty() { all.total } else { train.len() };
        let sizes = Sizes { total, used: all.total, train, test: test.len(), from_disk: false };
        let outcome = Outcome { tested, folds, clusters, comparison: None, insight };
        plan.finish(whole, outcome, sizes, fingerprint)
    }

    /// What several workers cannot do is said before a file is opened.
    fn check_spread(&self, exchange: &dyn Exchange) -> Result<()> {
        if self.tune || (self.model.is_none() && self.target.is_some() && self.folds >= 2) {
            return Err(Error::Unsupported("models are compared and tuned on one worker".into())
                .hint("name a model with --model, or compare on a sample of the rows first"));
        }
        if let Some(spec) = &self.model
            && let Some(reason) = ermine::make(spec)?.info().passes.needs_one_worker()
        {
            return Err(Error::NeedsOneWorker { model: ermine::entry(&spec.name)?.name.into(), reason: reason.into() }
                .hint("fit it on one worker, or choose a model that is a sum over rows: see 'ermine models'"));
        }
        let needed = self.bytes_needed().map(|bytes| bytes / exchange.size() as u64);
        let fits = needed.and_then(|needed| match needed <= self.memory {
            true => Ok(()),
            false => Err(Error::Unsupported(format!(
                "one worker's part needs about {} MB, and {} MB are allowed",
                needed / 1_000_000,
                self.memory / 1_000_000
            ))
            .hint("start more workers, or give more with --memory")),
        });
        together(exchange, fits).map(drop)
    }

    /// Rows of this worker from which kind and classes of the target and the parts of dates can be told.
    fn specimen(&self, table: &Table) -> Result<Vec<Column>> {
        let mut rows = terms::telling_rows(&table.schema(), table)?;
        if let Some(target) = &self.target {
            let (column, mut seen) = (table.column(target)?, HashSet::new());
            let is_new = |&row: &usize| !column.is_missing(row) && seen.insert(value_key(column, row));
            rows.extend((0..table.rows()).filter(is_new).take(VALUES));
        }
        Ok(table.take(&rows).into_columns())
    }
}

/// Equal for equal values.
fn value_key(column: &Column, row: usize) -> u64 {
    match column {
        Column::Number(values) | Column::Date(values) | Column::DateTime(values) => (values[row] + 0.0).to_bits(),
        Column::Boolean(values) => values[row].map_or(2, u64::from),
        Column::Category(category) => u64::from(category.codes[row]),
        Column::Text(text) => rng::key(0, text.get(row), 0),
    }
}

/// Tables with the columns of this one, one behind the other.
fn join(like: &Table, parts: Vec<Vec<Column>>) -> Result<Table> {
    let mut parts = parts.into_iter();
    let mut all = parts.next().expect("one worker at least");
    for part in parts {
        for (column, more) in all.iter_mut().zip(&part) {
            column.append(more)?;
        }
    }
    Table::new(like.names().iter().cloned().zip(all).collect())
}

/// The consecutive rows of a larger set that this worker holds.
struct Share {
    rows: Rows,
    first: usize,
    total: usize,
    /// Rows of every worker.
    counts: Vec<usize>,
}

impl Share {
    fn new(rows: Rows, exchange: &dyn Exchange) -> Result<Share> {
        let counts = together(exchange, Ok(rows.len()))?;
        let (first, total) = (counts[..exchange.rank()].iter().sum(), counts.iter().sum());
        Ok(Share { rows, first, total, counts })
    }

    /// Those of the rows `of_all`, an increasing list over all workers, that are held here.
    fn take(&self, of_all: &[usize], exchange: &dyn Exchange) -> Result<Share> {
        let place = |row: usize| of_all.partition_point(|&other| other < row);
        let mine = &of_all[place(self.first)..place(self.first + self.rows.len())];
        Share::new(self.rows.take(&mine.iter().map(|row| row - self.first).collect::<Vec<_>>()), exchange)
    }

    fn shape(&self, cols: usize) -> Shape {
        let target = self.rows.target.as_ref().map_or(TargetKind::None, |target| target.target().kind());
        Shape { rows: self.total, cols, target, sparse: false, weighted: self.rows.weights.is_some() }
    }

    /// Moves the rows at the edges, so that every worker holds whole leaves of raw rows.
    fn aligned(self, exchange: &dyn Exchange) -> Result<Share> {
        let cuts = shares(&self.shape(self.rows.x.cols), exchange.size());
        if self.everyones() == cuts { Ok(self) } else { self.moved(&cuts, exchange) }
    }

    /// All rows of the set on the first worker, none on the others.
    fn on_first(&self, exchange: &dyn Exchange) -> Result<Rows> {
        let cut = |rank: usize| if rank == 0 { 0..self.total } else { self.total..self.total };
        let cuts: Vec<Range<usize>> = (0..exchange.size()).map(cut).collect();
        Ok(self.moved(&cuts, exchange)?.rows)
    }

    /// The rows that each worker holds.
    fn everyones(&self) -> Vec<Range<usize>> {
        let mut end = 0;
        let held = self.counts.iter().map(|count| {
            end += count;
            end - count..end
        });
        held.collect()
    }

    /// The same set cut otherwise.
    fn moved(&self, cuts: &[Range<usize>], exchange: &dyn Exchange) -> Result<Share> {
        let held = self.everyones();
        let both = |a: &Range<usize>, b: &Range<usize>| {
            let start = a.start.max(b.start);
            start..a.end.min(b.end).max(start)
        };
        let rank = exchange.rank();
        let step = (MESSAGE / (8 * self.rows.width() * exchange.size())).max(1);
        // Everyone knows who sends what to whom, and so how often.
        let pairs = (0..held.len()).flat_map(|from| (0..cuts.len()).map(move |to| (from, to)));
        let moves = pairs.filter(|(from, to)| from != to).map(|(from, to)| both(&held[from], &cuts[to]).len());
        let rounds = moves.max().unwrap_or(0).div_ceil(step);
        let mut received: Vec<Vec<f64>> = vec![Vec::new(); exchange.size()];
        for round in 0..rounds {
            let to = cuts.iter().enumerate().map(|(to, cut)| {
                let rows = if to == rank { 0..0 } else { both(&held[rank], cut) };
                let from = (rows.start + round * step).min(rows.end);
                self.rows.pack((from..(from + step).min(rows.end)).map(|row| row - self.first))
            });
            for (all, bytes) in received.iter_mut().zip(exchange.all_to_all(to.collect())?) {
                let numbers = bytes.chunks_exact(8).map(|bytes| f64::from_le_bytes(bytes.try_into().expect("8 bytes")));
                all.extend(numbers);
            }
        }
        let stay: Vec<usize> = both(&held[rank], &cuts[rank]).map(|row| row - self.first).collect();
        let mut rows = self.rows.take(&[]);
        for (from, received) in received.iter().enumerate() {
            let part = if from == rank { self.rows.take(&stay) } else { self.rows.unpack(received) };
            rows.append(part);
        }
        Ok(Share { rows, first: cuts[rank].start, total: self.total, counts: cuts.iter().map(Range::len).collect() })
    }
}

/// Rows as numbers on their way to another worker: columns, target, weight.
impl Rows {
    fn width(&self) -> usize {
        self.x.cols + usize::from(self.target.is_some()) + usize::from(self.weights.is_some())
    }

    fn pack(&self, rows: impl Iterator<Item = usize>) -> Vec<u8> {
        let mut bytes = Vec::new();
        for row in rows {
            let target = self.target.as_ref().map(|target| match target {
                Encoded::Real(values) => values[row],
                Encoded::Class { codes, .. } => f64::from(codes[row]),
            });
            let weight = self.weights.as_ref().map(|weights| weights[row]);
            bytes.extend(self.x.row(row).iter().copied().chain(target).chain(weight).flat_map(f64::to_le_bytes));
        }
        bytes
    }

    /// Adds rows that follow.
    fn append(&mut self, more: Rows) {
        if self.is_empty() {
            *self = more;
            return;
        }
        self.x.rows += more.x.rows;
        self.x.values.extend(more.x.values);
        match (&mut self.target, more.target) {
            (Some(Encoded::Real(all)), Some(Encoded::Real(more))) => all.extend(more),
            (Some(Encoded::Class { codes: all, .. }), Some(Encoded::Class { codes: more, .. })) => all.extend(more),
            _ => {}
        }
        if let (Some(all), Some(more)) = (&mut self.weights, more.weights) {
            all.extend(more);
        }
    }

    fn unpack(&self, values: &[f64]) -> Rows {
        let (cols, width) = (self.x.cols, self.width());
        let rows = values.chunks_exact(width.max(1));
        let column = |place: usize| rows.clone().map(move |row| row[place]);
        let target = self.target.as_ref().map(|target| match target {
            Encoded::Real(_) => Encoded::Real(column(cols).collect()),
            Encoded::Class { names, .. } => {
                Encoded::Class { codes: column(cols).map(|code| code as u32).collect(), names: names.clone() }
            }
        });
        Rows {
            x: Matrix::new(rows.clone().flat_map(|row| &row[..cols]).copied().collect(), rows.len(), cols),
            features: self.features.clone(),
            target,
            weights: self.weights.as_ref().map(|_| column(width - 1).collect()),
            texts: Texts::default(),
            one_unit: self.one_unit,
        }
    }
}

/// Targets and weights without anything to learn from: what splits and scores look at.
fn without_columns(rows: usize, target: Option<Encoded>, weights: Option<Vec<f64>>) -> Rows {
    let (x, features) = (Matrix::zeros(rows, 1), vec![Feature::Number]);
    Rows { x, features, target, weights, texts: Texts::default(), one_unit: false }
}

/// Everyone's targets and weights.
fn targets(rows: &Rows, exchange: &dyn Exchange) -> Result<Rows> {
    let target = match &rows.target {
        None => None,
        Some(Encoded::Real(values)) => Some(Encoded::Real(together(exchange, Ok(values.clone()))?.concat())),
        Some(Encoded::Class { codes, names }) => {
            Some(Encoded::Class { codes: together(exchange, Ok(codes.clone()))?.concat(), names: names.clone() })
        }
    };
    let weights = match &rows.weights {
        None => None,
        Some(weights) => Some(together(exchange, Ok(weights.clone()))?.concat()),
    };
    let total = together(exchange, Ok(rows.len()))?.iter().sum();
    Ok(without_columns(total, target, weights))
}

/// A few targets of every worker, by which it can be told whether there is something to predict.
fn extremes(rows: &Rows, exchange: &dyn Exchange) -> Result<Rows> {
    let few = match &rows.target {
        Some(Encoded::Real(values)) => {
            let infinite = values.iter().copied().find(|value| value.is_infinite());
            let low = values.iter().copied().reduce(f64::min);
            infinite.into_iter().chain(low).chain(values.iter().copied().reduce(f64::max)).collect()
        }
        _ => vec![0.0; rows.len().min(1)],
    };
    let few: Vec<f64> = together(exchange, Ok(few))?.concat();
    let target = rows.target.as_ref().map(|target| match target {
        Encoded::Real(_) => Encoded::Real(few.clone()),
        Encoded::Class { names, .. } => Encoded::Class { codes: vec![0; few.len()], names: names.clone() },
    });
    Ok(without_columns(few.len(), target, None))
}

/// CRC-32 of all raw numbers, as of one array.
fn fingerprint(rows: &Rows, exchange: &dyn Exchange) -> Result<u32> {
    let bytes: &[u8] = bytemuck::cast_slice(&rows.x.values);
    let mut all = crc32fast::Hasher::new();
    for (hash, length) in together(exchange, Ok((crc32fast::hash(bytes), bytes.len() as u64)))? {
        all.combine(&crc32fast::Hasher::new_with_initial_len(hash, length));
    }
    Ok(all.finalize())
}

/// Learns the preparation from these rows of all workers, then the model.
fn fit(plan: &Plan, share: &Share, ctx: &Ctx) -> Result<Part> {
    let wants = Wants::from(&plan.estimator.info());
    let wants = Wants { scale: wants.scale && !share.rows.one_unit, ..wants };
    let raw = share.rows.data()?;
    let preparation = Preparation::fit(&Shard::new(&raw, share.first, share.total), ctx, &wants)
        .map_err(|error| error.with_columns(&plan.schema.names()))?;
    let recipe = Recipe::from(preparation);
    // Many more columns than raw ones may need larger leaves.
    let shape = share.shape(recipe.outputs());
    let moved;
    let share = match leaf_rows(&shape) > leaf_rows(&share.shape(share.rows.x.cols)) {
        true => {
            moved = share.moved(&shares(&shape, ctx.exchange().size()), ctx.exchange())?;
            &moved
        }
        false => share,
    };
    let raw = share.rows.data()?;
    let batch = raw.batch();
    let prepared = recipe.apply(&batch.x, &Texts::default(), ctx)?;
    let mut data = Data::new(prepared.x()).target(batch.y)?.features(recipe.features())?;
    if let Some(weights) = batch.weights {
        data = data.weights(weights)?;
    }
    let fit = plan.estimator.fit(&Shard::new(&data, share.first, share.total), ctx);
    let fit = fit.map_err(|error| error.with_columns(&recipe.names(&plan.schema)))?;
    Ok(Part { fit, recipe })
}

/// What the model says of the rows of all workers, in their order.
fn predict(plan: &Plan, part: &Part, share: &Share, ctx: &Ctx) -> Result<Predictions> {
    let predict = || part.outputs(plan.entry, &share.rows.data()?.batch().x, &Texts::default(), ctx);
    let mut all = together(ctx.exchange(), predict())?.into_iter();
    let mut predicted = all.next().expect("one worker at least");
    all.for_each(|more| predicted.append(more));
    Ok(predicted)
}
