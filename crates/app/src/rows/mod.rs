//! Encoded rows, wherever they live: in memory, in a temporary file, shared out over workers.
//!
//! A [`RowSet`] is a set of rows of which each worker holds a stretch, in memory or on disk; a single process is one
//! worker that holds them all. Targets and weights, one or two numbers a row, are known to everyone, because splits and
//! scores are not sums. Every worker holds whole leaves of the set's merge tree ([`leaf_rows`]), so that what is learnt
//! is the same to the last bit wherever the rows live. Rows move only where a set is cut anew: the training part, a
//! fold.

mod disk;
mod encode;
mod memory;

pub use encode::{Encoded, Frame, feature_kinds};
pub use memory::{Division, Labels, Rows};

use crate::{
    fit::{Pipeline, Recipe, Texts},
    judge::Predictions,
    plan::Plan,
    read::{Opened, Place},
    table::Schema,
};
use disk::RowFile;
use ermine::{
    AnyEstimator, Ctx, Data, Entry, Error, Feature, Result, Source,
    core::{
        TargetKind,
        ctx::{Alone, Progress, all_gather},
        reduce::{leaf_rows, shares},
        rng,
        source::{Buffers, Disk, Shape, Shard},
    },
    prepare::{PreparedSource, Wants},
    split::Fold,
};
use rustc_hash::FxHasher;
use std::{
    hash::{Hash, Hasher},
    ops::Range,
    path::PathBuf,
};

/// Bytes that one worker sends to the others at a time.
const MESSAGE: usize = 256 << 20;
/// Rows that are read from disk at a time.
const BLOCK: usize = 8192;
/// So much may always be gathered in memory, whatever the limit.
const ALWAYS: u64 = 64 << 20;

/// How much memory rows may take, and where those that take more go.
#[derive(Clone, Debug)]
pub struct Limits {
    pub memory: u64,
    pub scratch: PathBuf,
}

impl Limits {
    /// Bytes that gathered rows may take.
    pub fn memory_for_rows(&self) -> u64 {
        self.memory.max(ALWAYS)
    }
}

/// A set of rows over all workers.
pub struct RowSet {
    held: Held,
    /// The number of the first row held here.
    first: usize,
    /// Rows of every worker, in the order of ranks.
    counts: Vec<usize>,
    /// Of all rows.
    labels: Labels,
    /// See [`Plan::one_unit`].
    one_unit: bool,
    limits: Limits,
}

/// The rows of this worker.
enum Held {
    Memory(Rows),
    Disk(Disk),
}

impl Held {
    fn len(&self) -> usize {
        match self {
            Held::Memory(rows) => rows.len(),
            Held::Disk(disk) => disk.shape.rows,
        }
    }

    fn shape(&self) -> Result<Shape> {
        match self {
            Held::Memory(rows) => Ok(rows.data()?.shape()),
            Held::Disk(disk) => Ok(disk.shape()),
        }
    }

    /// As numbers on their way to a file or another worker: columns, target, weight.
    fn pack(&self, rows: Range<usize>) -> Result<Vec<f64>> {
        match self {
            Held::Memory(held) => Ok(held.pack(rows)),
            Held::Disk(disk) => {
                let width = Disk::width(&disk.shape);
                let mut values = vec![0.0; rows.len() * width];
                disk.store.read_at((rows.start * width) as u64, &mut values)?;
                Ok(values)
            }
        }
    }

    /// Calls `each` with consecutive rows, packed, block by block.
    fn blocks(&self, ctx: &Ctx, mut each: impl FnMut(usize, Vec<f64>) -> Result<()>) -> Result<()> {
        for first in (0..self.len()).step_by(BLOCK) {
            ctx.check()?;
            each(first, self.pack(first..(first + BLOCK).min(self.len()))?)?;
        }
        Ok(())
    }

    /// No rows yet, and the same columns.
    fn empty(&self, limits: &Limits) -> Result<Filling> {
        Ok(match self {
            Held::Memory(rows) => Filling::Memory(rows.take(&[])),
            Held::Disk(disk) => Filling::Disk {
                file: RowFile::new(&limits.scratch)?,
                shape: disk.shape.clone(),
                features: disk.features.clone(),
            },
        })
    }

    fn take(&self, rows: &[usize], limits: &Limits, ctx: &Ctx) -> Result<Held> {
        if let Held::Memory(held) = self {
            return Ok(Held::Memory(held.take(rows)));
        }
        let mut taken = self.empty(limits)?;
        let (width, mut next) = (Disk::width(&self.shape()?), rows.iter().peekable());
        self.blocks(ctx, |first, packed| {
            for (i, row) in packed.chunks_exact(width).enumerate() {
                while next.next_if(|&&wanted| wanted == first + i).is_some() {
                    taken.push(row)?;
                }
            }
            Ok(())
        })?;
        taken.finish()
    }
}

/// Rows being put one behind the other.
enum Filling {
    Memory(Rows),
    Disk { file: RowFile, shape: Shape, features: Vec<Feature> },
}

impl Filling {
    /// Packed rows.
    fn push(&mut self, packed: &[f64]) -> Result<()> {
        match self {
            Filling::Memory(rows) => {
                let more = rows.unpack(packed);
                rows.append(more);
                Ok(())
            }
            Filling::Disk { file, shape, .. } => file.push(packed, Disk::width(shape)),
        }
    }

    fn finish(self) -> Result<Held> {
        Ok(match self {
            Filling::Memory(rows) => Held::Memory(rows),
            Filling::Disk { file, shape, features } => Held::Disk(file.finish(shape, features)?),
        })
    }
}

impl RowSet {
    /// The rows of an opened table that have a target. Returns also the fingerprint of their numbers: CRC-32, in their
    /// order.
    pub fn encode(opened: Opened, plan: &Plan, limits: &Limits, ctx: &Ctx) -> Result<(RowSet, u32)> {
        let exchange = ctx.exchange();
        let encoded = match opened.place {
            Place::Memory(table) => plan.encode(&table).map(|rows| {
                let rows = rows.with_target();
                let hash = crc32fast::hash(bytemuck::cast_slice(&rows.x.values));
                let labels = rows.labels.clone();
                (Held::Memory(rows), labels, hash)
            }),
            Place::Disk(files) => Self::to_disk(&files, opened.rows, plan, limits, ctx),
        };
        let summary = encoded.as_ref().map_err(Error::clone);
        let summary = summary.map(|(held, labels, hash)| {
            let width = if let Held::Disk(disk) = held { disk.shape.cols } else { plan.features.columns.len() };
            (labels.clone(), *hash, (held.len() * width * 8) as u64)
        });
        let everyone = all_gather(exchange, summary)?;
        let (held, ..) = encoded?;
        let counts: Vec<usize> = everyone.iter().map(|(labels, ..)| labels.len_or(held.len())).collect();
        let mut fingerprint = crc32fast::Hasher::new();
        let mut labels = Labels::default();
        for (of_one, hash, bytes) in everyone {
            labels.append(of_one);
            fingerprint.combine(&crc32fast::Hasher::new_with_initial_len(hash, bytes));
        }
        // Without labels nobody can tell how many rows the others have.
        let counts = if plan.target.is_none() && plan.weights.is_none() {
            all_gather(exchange, Ok(held.len()))?
        } else {
            counts
        };
        let first = counts[..exchange.rank()].iter().sum();
        let set = RowSet { held, first, counts, labels, one_unit: plan.one_unit, limits: limits.clone() };
        Ok((set.aligned(ctx)?, fingerprint.finalize()))
    }

    /// Two passes have found out about the columns; this one writes this worker's rows as numbers.
    fn to_disk(
        files: &[PathBuf],
        total: usize,
        plan: &Plan,
        limits: &Limits,
        ctx: &Ctx,
    ) -> Result<(Held, Labels, u32)> {
        let exchange = ctx.exchange();
        let cut = |rank: usize| rank * total / exchange.size();
        let mine = cut(exchange.rank())..cut(exchange.rank() + 1);
        let (mut file, mut hash, mut labels) =
            (RowFile::new(&limits.scratch)?, crc32fast::Hasher::new(), Labels::default());
        let mut row = 0;
        crate::read::stream_all(files, &plan.read, &plan.columns, |chunk| {
            ctx.check()?;
            let first = row;
            row += chunk.rows();
            ctx.progress(Progress { what: "reading", step: row, of: Some(total), value: None });
            let held = mine.start.clamp(first, row)..mine.end.clamp(first, row);
            if held.is_empty() {
                return Ok(());
            }
            let rows = match held == (first..row) {
                true => plan.encode(&chunk)?,
                false => plan.encode(&chunk.take(&held.map(|row| row - first).collect::<Vec<_>>()))?,
            };
            let rows = rows.with_target();
            hash.update(bytemuck::cast_slice(&rows.x.values));
            labels.append(rows.labels.clone());
            file.push(&rows.pack(0..rows.len()), rows.width())
        })?;
        let target = match &plan.target {
            None => TargetKind::None,
            Some(target) if target.classes.is_empty() => TargetKind::Real(1),
            Some(target) => TargetKind::Class(target.classes.len()),
        };
        let (cols, weighted) = (plan.features.columns.len(), plan.weights.is_some());
        let disk = file.finish(
            Shape { rows: 0, cols, target, sparse: false, stored: 0, distinct: 0, weighted },
            feature_kinds(&plan.features),
        )?;
        Ok((Held::Disk(disk), labels, hash.finalize()))
    }

    /// Rows in the memory of this process alone.
    pub fn of(rows: Rows) -> RowSet {
        let (labels, counts, one_unit) = (rows.labels.clone(), vec![rows.len()], rows.one_unit);
        let limits = Limits { memory: u64::MAX, scratch: PathBuf::new() };
        RowSet { held: Held::Memory(rows), first: 0, counts, labels, one_unit, limits }
    }

    pub fn len(&self) -> usize {
        self.counts.iter().sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether several fits on parts of it may go on at the same time.
    pub fn is_small(&self) -> bool {
        let Held::Memory(rows) = &self.held else { return false };
        self.workers() == 1 && rows.x.values.len() <= 1 << 24
    }

    pub fn is_on_disk(&self) -> bool {
        matches!(self.held, Held::Disk(_))
    }

    /// Targets and weights of all rows.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Rows to learn from and rows to test on, each class its share; none of the latter when there are too few.
    pub fn split(&self, share: f64, seed: u64) -> Result<Fold> {
        self.labels.split(self.len(), share, seed)
    }

    /// Folds with each class its share.
    pub fn folds(&self, folds: usize, seed: u64) -> Result<Vec<Fold>> {
        self.labels.folds(self.len(), folds, seed)
    }

    fn workers(&self) -> usize {
        self.counts.len()
    }

    fn shape(&self, cols: usize) -> Result<Shape> {
        Ok(Shape { rows: self.len(), cols, sparse: false, ..self.held.shape()? })
    }

    fn held_rows(&self) -> Range<usize> {
        self.first..self.first + self.held.len()
    }

    /// These rows, an increasing list, where they are.
    pub fn take(&self, rows: &[usize], ctx: &Ctx) -> Result<RowSet> {
        let place = |row: usize| rows.partition_point(|&other| other < row);
        let stretches = self.stretches();
        let counts: Vec<usize> = stretches.iter().map(|held| place(held.end) - place(held.start)).collect();
        let mine = place(self.first)..place(self.held_rows().end);
        let mine: Vec<usize> = rows[mine].iter().map(|row| row - self.first).collect();
        let held = everyone(ctx, self.held.take(&mine, &self.limits, ctx))?;
        let first = counts[..ctx.exchange().rank()].iter().sum();
        let labels = self.labels.take(rows);
        RowSet { held, first, counts, labels, one_unit: self.one_unit, limits: self.limits.clone() }.aligned(ctx)
    }

    /// At most so many rows, drawn by seed and number, where they are.
    pub fn sample(&self, most: usize, what: &str, ctx: &Ctx) -> Result<RowSet> {
        self.take(&sampled(self.len(), most, ctx.seed, what), ctx)
    }

    /// These rows, an increasing list, in the memory of everyone.
    pub fn gather(&self, rows: &[usize], ctx: &Ctx) -> Result<Rows> {
        let place = |row: usize| rows.partition_point(|&other| other < row);
        let mine = &rows[place(self.first)..place(self.held_rows().end)];
        let mine: Vec<usize> = mine.iter().map(|row| row - self.first).collect();
        let held = self.held.take(&mine, &self.limits, ctx);
        if let (Ok(Held::Memory(rows)), 1) = (&held, self.workers()) {
            return Ok(rows.take(&(0..rows.len()).collect::<Vec<_>>()));
        }
        let packed = held.and_then(|held| held.pack(0..held.len()));
        let mut all = self.no_rows();
        all.labels.division = None;
        for packed in all_gather(ctx.exchange(), packed)? {
            let more = all.unpack(&packed);
            all.append(more);
        }
        all.labels.division = self.labels.take(rows).division;
        Ok(all)
    }

    /// Rows in memory, none of them, with the columns of this set.
    fn no_rows(&self) -> Rows {
        match &self.held {
            Held::Memory(rows) => rows.take(&[]),
            Held::Disk(disk) => {
                Rows::empty(disk.shape.cols, disk.features.clone(), self.labels.take(&[]), self.one_unit)
            }
        }
    }

    /// How many rows a model that reads them in this way can be fitted on here.
    pub fn most_rows(&self, estimator: &dyn AnyEstimator) -> usize {
        let passes = estimator.info().passes;
        let (needs_one, needs_memory) = (passes.needs_one_worker().is_some(), passes.needs_memory().is_some());
        let workers = match (needs_one && self.workers() > 1, needs_memory && self.is_on_disk()) {
            (true, _) => 1,
            (false, true) => self.workers(),
            (false, false) => return self.len(),
        };
        self.room(workers)
    }

    /// How many rows everyone may gather.
    pub fn most_gathered(&self) -> usize {
        if self.workers() == 1 && !self.is_on_disk() { self.len() } else { self.room(1) }
    }

    /// Rows that so many workers hold in memory together, the numbers and their prepared form beside them.
    fn room(&self, workers: usize) -> usize {
        let cols = self.held.shape().map_or(1, |shape| shape.cols);
        let room = self.limits.memory_for_rows() / (16 * (cols as u64 + 2)) * workers as u64;
        self.len().min(usize::try_from(room).unwrap_or(usize::MAX))
    }

    /// A hash of each row, target included; equal for equal rows.
    pub fn hashes(&self, ctx: &Ctx) -> Result<Vec<u64>> {
        let mut mine = Vec::with_capacity(self.held.len());
        let width = Disk::width(&self.held.shape()?);
        let texts = if let Held::Memory(rows) = &self.held { rows.texts.clone() } else { Texts::default() };
        let outcome = self.held.blocks(ctx, |_, packed| {
            for row in packed.chunks_exact(width.max(1)) {
                let mut hasher = FxHasher::default();
                for (j, value) in row.iter().enumerate() {
                    match texts.document(j, *value) {
                        Some(text) => text.hash(&mut hasher),
                        None => (value + 0.0).to_bits().hash(&mut hasher),
                    }
                }
                mine.push(hasher.finish());
            }
            Ok(())
        });
        Ok(all_gather(ctx.exchange(), outcome.map(|()| mine))?.concat())
    }

    /// Learns preparation and model. Errors speak of columns by name.
    pub fn fit(&self, estimator: &dyn AnyEstimator, features: &Schema, ctx: &Ctx) -> Result<Pipeline> {
        let passes = estimator.info().passes;
        if self.workers() > 1 && passes.needs_one_worker().is_some() {
            return self.fit_on_first(estimator, features, ctx);
        }
        if let (Held::Disk(disk), Some(_)) = (&self.held, passes.needs_memory()) {
            let packed = everyone(ctx, self.held.pack(0..disk.shape.rows))?;
            let held = Held::Memory(self.no_rows().unpack(&packed));
            let labels = self.labels.clone();
            let (counts, limits) = (self.counts.clone(), self.limits.clone());
            return RowSet { held, first: self.first, counts, labels, one_unit: self.one_unit, limits }
                .fit(estimator, features, ctx);
        }
        let wants = Wants::from(&estimator.info());
        let reference_level = wants.reference_level || is_unpenalised(estimator);
        let wants = Wants { scale: wants.scale && !self.one_unit, reference_level, ..wants };
        let recipe = self.with_source(|raw| Recipe::fit(raw, self.texts(), ctx, &wants));
        let recipe = recipe.map_err(|error| error.with_columns(&features.names()))?;
        // Many more columns than raw ones may need larger leaves.
        let (raw, prepared) = (self.shape(recipe.inputs())?, self.shape(recipe.outputs())?);
        let moved;
        let set = match self.workers() > 1 && leaf_rows(&prepared) > leaf_rows(&raw) {
            true => {
                moved = self.moved(&shares(&prepared, self.workers()), ctx)?;
                &moved
            }
            false => self,
        };
        let fit = match &set.held {
            Held::Disk(_) => set.with_source(|raw| {
                let preparation =
                    recipe.numbers().ok_or_else(|| Error::Data("there is no column of numbers".into()))?;
                estimator.fit(&PreparedSource::new(raw, preparation), ctx)
            }),
            Held::Memory(rows) => {
                let raw = rows.data()?;
                let batch = raw.batch();
                let prepared = recipe.apply(&batch.x, &rows.texts, ctx)?;
                let mut data = Data::new(prepared.x()).target(batch.y)?.features(recipe.features())?;
                if let Some(weights) = batch.weights {
                    data = data.weights(weights)?;
                }
                estimator.fit(&Shard::new(&data, set.first, set.len()), ctx)
            }
        };
        let fit = fit.map_err(|error| error.with_columns(&recipe.names(features)))?;
        Ok(Pipeline { recipe, fit })
    }

    /// The first worker gathers all rows, fits, and hands the model to the others.
    fn fit_on_first(&self, estimator: &dyn AnyEstimator, features: &Schema, ctx: &Ctx) -> Result<Pipeline> {
        let exchange = ctx.exchange();
        let cut = |rank: usize| if rank == 0 { 0..self.len() } else { self.len()..self.len() };
        let cuts: Vec<Range<usize>> = (0..exchange.size()).map(cut).collect();
        let moved = self.moved(&cuts, ctx)?;
        let mut fitted = None;
        let fit = || -> Result<Option<Vec<u8>>> {
            if exchange.rank() > 0 {
                return Ok(None);
            }
            let rows = match moved.held {
                Held::Memory(rows) => rows,
                Held::Disk(_) => moved.no_rows().unpack(&moved.held.pack(0..moved.held.len())?),
            };
            let pipeline = RowSet::of(rows).fit(estimator, features, &ctx.clone().with_exchange(Alone))?;
            let bytes = pipeline.to_bytes()?;
            fitted = Some(pipeline);
            Ok(Some(bytes))
        };
        let outcome = fit();
        let bytes = all_gather(exchange, outcome)?.swap_remove(0);
        match (fitted, bytes) {
            (Some(pipeline), _) => Ok(pipeline),
            (None, Some(bytes)) => Pipeline::from_bytes(estimator.name(), &bytes),
            (None, None) => Err(Error::Data("the first worker sent no model".into())),
        }
    }

    fn texts(&self) -> &Texts {
        static NONE: Texts = Texts(Vec::new());
        if let Held::Memory(rows) = &self.held { &rows.texts } else { &NONE }
    }

    fn with_source<R>(&self, f: impl FnOnce(&dyn Source) -> Result<R>) -> Result<R> {
        match &self.held {
            Held::Memory(rows) => f(&Shard::new(&rows.data()?, self.first, self.len())),
            Held::Disk(disk) => f(&Shard::new(disk, self.first, self.len())),
        }
    }

    /// What a model says of all rows, in their order.
    pub fn predict(&self, entry: &Entry, pipeline: &Pipeline, ctx: &Ctx) -> Result<Predictions> {
        let mine = || -> Result<Predictions> {
            if let Held::Memory(rows) = &self.held {
                return pipeline.predict(entry, &rows.data()?.batch().x, &rows.texts, ctx);
            }
            let mut predicted = Predictions::default();
            let mut buffers = Buffers::default();
            for first in (0..self.held.len()).step_by(BLOCK) {
                ctx.check()?;
                let Held::Disk(disk) = &self.held else { unreachable!("rows in memory were predicted at once") };
                let batch = disk.read(first..(first + BLOCK).min(self.held.len()), &mut buffers)?;
                predicted.append(pipeline.predict(entry, &batch.x, &Texts::default(), ctx)?);
            }
            Ok(predicted)
        };
        let mut predicted = Predictions::default();
        all_gather(ctx.exchange(), mine())?.into_iter().for_each(|more| predicted.append(more));
        Ok(predicted)
    }

    /// The rows that each worker holds.
    fn stretches(&self) -> Vec<Range<usize>> {
        let mut end = 0;
        let held = self.counts.iter().map(|count| {
            end += count;
            end - count..end
        });
        held.collect()
    }

    /// Moves the rows at the edges, so that every worker holds whole leaves of raw rows.
    fn aligned(self, ctx: &Ctx) -> Result<RowSet> {
        if self.workers() == 1 {
            return Ok(self);
        }
        let cuts = shares(&self.shape(self.held.shape()?.cols)?, self.workers());
        if self.stretches() == cuts { Ok(self) } else { self.moved(&cuts, ctx) }
    }

    /// The same set cut otherwise.
    fn moved(&self, cuts: &[Range<usize>], ctx: &Ctx) -> Result<RowSet> {
        let (exchange, held) = (ctx.exchange(), self.stretches());
        let both = |a: &Range<usize>, b: &Range<usize>| {
            let start = a.start.max(b.start);
            start..a.end.min(b.end).max(start)
        };
        let local = |rows: Range<usize>| rows.start - self.first..rows.end - self.first;
        let rank = exchange.rank();
        let width = Disk::width(&self.held.shape()?);
        let step = (MESSAGE / (8 * width * exchange.size())).max(1);
        // Everyone knows who sends what to whom, and so how often.
        let pairs = (0..held.len()).flat_map(|from| (0..cuts.len()).map(move |to| (from, to)));
        let moves = pairs.filter(|(from, to)| from != to).map(|(from, to)| both(&held[from], &cuts[to]).len());
        let rounds = moves.max().unwrap_or(0).div_ceil(step);
        let mut received: Vec<Vec<f64>> = vec![Vec::new(); exchange.size()];
        for round in 0..rounds {
            let mut to = Vec::new();
            for (other, cut) in cuts.iter().enumerate() {
                let rows = if other == rank { self.first..self.first } else { both(&held[rank], cut) };
                let from = (rows.start + round * step).min(rows.end);
                let packed = self.held.pack(local(from..(from + step).min(rows.end)))?;
                to.push(bytemuck::cast_slice(&packed).to_vec());
            }
            for (all, bytes) in received.iter_mut().zip(exchange.all_to_all(to)?) {
                all.extend(bytes.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)));
            }
        }
        let mut filling = self.held.empty(&self.limits)?;
        let stay = both(&held[rank], &cuts[rank]);
        for (from, received) in received.iter().enumerate() {
            match from == rank {
                true => {
                    for first in stay.clone().step_by(BLOCK) {
                        filling.push(&self.held.pack(local(first..(first + BLOCK).min(stay.end)))?)?;
                    }
                }
                false => filling.push(received)?,
            }
        }
        Ok(RowSet {
            held: filling.finish()?,
            first: cuts[rank].start,
            counts: cuts.iter().map(Range::len).collect(),
            labels: self.labels.clone(),
            one_unit: self.one_unit,
            limits: self.limits.clone(),
        })
    }
}

/// Without a penalty the columns of all levels and the intercept are not determined: one level has to be the reference.
fn is_unpenalised(estimator: &dyn AnyEstimator) -> bool {
    let values = estimator.values();
    let is = |name: &str, wanted: f64| {
        values.get(name).is_some_and(|value| value.to_string().parse::<f64>().is_ok_and(|value| value == wanted))
    };
    match estimator.name() {
        "PoissonRegressor" | "GammaRegressor" | "TweedieRegressor" | "GeneralizedLinearRegressor" | "Ridge" => {
            is("alpha", 0.0)
        }
        "LogisticRegression" => {
            is("C", f64::INFINITY) || values.get("penalty").is_some_and(|value| value.to_string() == "none")
        }
        _ => false,
    }
}

/// The numbers of at most so many rows, drawn by seed and number, rising.
pub fn sampled(rows: usize, most: usize, seed: u64, what: &str) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows).collect();
    if rows > most {
        order.sort_by_key(|&row| (rng::key(seed, what, row as u64), row));
        order.truncate(most);
        order.sort_unstable();
    }
    order
}

/// A failure of one worker is everyone's.
fn everyone<T>(ctx: &Ctx, outcome: Result<T>) -> Result<T> {
    all_gather(ctx.exchange(), outcome.as_ref().map(drop).map_err(Error::clone))?;
    outcome
}
