//! Synchronous minibatch training, the same to the bit on any number of threads and workers.
//!
//! The rows of an epoch are one shuffle of all training rows by seed and epoch, cut into minibatches. Blocks of a
//! minibatch are summed along a fixed tree, see [`super::merge`]. Threads take blocks. Workers first swap rows, see
//! [`super::minibatches`], then take their share of the blocks, and then of the weights: N workers make the very steps
//! of one. The sum over blocks and the optimiser run in one pass over the weights.
//!
//! The order of an epoch is kept in memory, a number a row; the rows themselves may lie on disk, and are then read one
//! by one.
//!
//! After each epoch the whole state goes to the checkpoint, if there is one. It holds all that the next epoch depends
//! on, so that a run that was killed ends with the same bits as one that was not.

use super::{
    merge::{CHUNK, Mail, Node, blocks, blocks_of, held, sum},
    minibatches::{Minibatches, Swapped, push},
    model::NeuralModel,
    network::{Activation, Dropout, Head, Init, Network, Rows, Space, TAIL},
    optimiser::{Rule, Schedule, Solver, Step},
};
use crate::{
    Certificate, Ctx, Error, Fit, FitLog, Halt, Matrix, Result, Shape, Source,
    core::{
        Batch, Reduce, Target, TargetKind,
        ctx::{Progress, all_gather},
        param, rng, simd,
        source::Buffers,
        trace,
    },
    engine::{lbfgs, sgd::crawls},
};
use serde::{Deserialize, Serialize};
use std::{
    ops::Range,
    sync::{Mutex, MutexGuard, PoisonError},
};

crate::core::choice! {
    /// Rows of a minibatch.
    pub enum BatchSize: usize where param::at_least(1.0) => {
        /// 200, or all if there are fewer.
        Auto = "auto",
    }
}

/// What both estimators ask for; see their parameters.
#[derive(Clone, Debug)]
pub struct Settings {
    pub name: &'static str,
    pub hidden: Vec<usize>,
    pub activation: Activation,
    pub init: Init,
    pub solver: Solver,
    pub alpha: f64,
    pub batch_size: BatchSize,
    pub schedule: Schedule,
    pub rate: f64,
    pub power_t: f64,
    pub max_iter: usize,
    pub shuffle: bool,
    pub tol: f64,
    pub momentum: f64,
    pub nesterov: bool,
    pub early_stopping: bool,
    pub validation_fraction: f64,
    pub n_iter_no_change: usize,
    pub beta_1: f64,
    pub beta_2: f64,
    pub epsilon: f64,
    pub dropout: f64,
    pub batch_norm: bool,
    pub clip_norm: Option<f64>,
}

/// Where training stands: all that the next epoch depends on besides data and settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    pub weights: Vec<f64>,
    /// Averages of means and variances of normalised layers.
    pub running: Vec<f64>,
    /// Moments of the optimiser, and the steps behind them.
    pub first: Vec<f64>,
    pub second: Vec<f64>,
    pub steps: u64,
    /// Epochs since the weights were drawn, and in this run.
    pub epochs: usize,
    pub epochs_here: usize,
    /// Rows seen, as `t_` counts them.
    pub seen: usize,
    /// Step length, which an adaptive schedule lowers.
    pub rate: f64,
    pub loss_curve: Vec<f64>,
    pub validation_scores: Vec<f64>,
    /// Best loss or score of this run so far, and epochs without a better one.
    pub best: Option<f64>,
    pub waited: usize,
    /// Weights and averages that had the best score, for early stopping.
    pub best_weights: Option<(Vec<f64>, Vec<f64>)>,
}

/// A loss this many times the first one has gone off for good.
const EXPLODED: f64 = 1e6;

/// Fits from scratch, or goes on from `before`.
pub fn train(
    settings: &Settings,
    head: Head,
    classes: usize,
    before: Option<&NeuralModel>,
    data: &dyn Source,
    ctx: &Ctx,
) -> Result<Fit<NeuralModel>> {
    let shape = data.shape();
    let outputs = match (head, shape.target) {
        (Head::Softmax, _) => classes,
        (_, TargetKind::Real(targets)) => targets,
        _ => 1,
    };
    let mut sizes = vec![shape.cols];
    sizes.extend_from_slice(&settings.hidden);
    sizes.push(outputs);
    let network = Network { sizes, activation: settings.activation, head, norm: settings.batch_norm };
    check(settings, &network)?;
    if let Some(before) = before
        && (before.network != network || before.classes != classes)
    {
        let known = format!("layers of {:?} with {} classes", before.network.sizes, before.classes);
        let found = format!("{:?} with {classes}", network.sizes);
        return Err(Error::shape(format!("{}: the network to go on from", settings.name), known, found));
    }
    let fraction =
        if settings.early_stopping && settings.solver != Solver::Lbfgs { settings.validation_fraction } else { 0.0 };
    let held_out = HeldOut { seed: ctx.seed, fraction };
    let survey = crate::core::reduce(ctx, data, &Survey { held_out, targets: outputs })?;
    let mut state = match before {
        Some(before) => State { epochs_here: 0, best: None, waited: 0, best_weights: None, ..before.state.clone() },
        None => State {
            weights: network.start(settings.init, |layer| ctx.rng("weights", layer as u64)),
            running: unit_variances(&network),
            rate: settings.rate,
            ..State::default()
        },
    };
    if let Some(bytes) = ctx.checkpoint().map_or(Ok(None), |checkpoint| checkpoint.load())? {
        let foreign = || Error::Data(format!("the checkpoint is not of this {}", settings.name));
        state = postcard::from_bytes(&bytes).map_err(|_| foreign())?;
        network.check(state.weights.len(), state.running.len()).map_err(|_| foreign())?;
    }
    if settings.solver == Solver::Lbfgs {
        return by_lbfgs(settings, network, classes, state, data, ctx);
    }
    let trainer = Trainer::new(settings, &network, state, survey, held_out, data, ctx);
    // Workers meet between steps, and a meeting must not keep a thread of a pool that another worker needs.
    let (state, log) = if ctx.exchange().size() == 1 { ctx.install(|| trainer.run()) } else { trainer.run() }?;
    Ok(Fit::new(NeuralModel { network, classes, state }, log))
}

fn check(settings: &Settings, network: &Network) -> Result<()> {
    let refused = |name: &str, value: String, allowed: &str| {
        Err(Error::Parameter {
            model: settings.name.into(),
            name: name.into(),
            value,
            allowed: format!("{allowed} with solver lbfgs, which needs the same function at every step"),
        })
    };
    if settings.solver == Solver::Lbfgs && settings.dropout > 0.0 {
        return refused("dropout", settings.dropout.to_string(), "0");
    }
    if settings.solver == Solver::Lbfgs && settings.batch_norm {
        return refused("batch_norm", "true".into(), "false");
    }
    match network.count() {
        Some(weights) if weights <= 1 << 32 => Ok(()),
        _ => Err(Error::Parameter {
            model: settings.name.into(),
            name: "hidden_layer_sizes".into(),
            value: format!("{:?}", settings.hidden),
            allowed: format!("small enough for at most {} weights over {} columns", 1u64 << 32, network.sizes[0]),
        }),
    }
}

fn unit_variances(network: &Network) -> Vec<f64> {
    let mut running = vec![0.0; network.running_len()];
    for part in network.parts() {
        let variances = part.running.start + part.gain.len()..part.running.end;
        running[variances].fill(1.0);
    }
    running
}

/// Which rows judge and are not learnt from: a draw for each row by itself.
#[derive(Clone, Copy)]
struct HeldOut {
    seed: u64,
    fraction: f64,
}

impl HeldOut {
    fn has(&self, row: usize) -> bool {
        self.fraction > 0.0 && rng::unit(rng::key(self.seed, "validation", row as u64)) < self.fraction
    }
}

/// Refuses targets that the loss has no meaning for.
pub(super) struct Targets {
    pub allowed: fn(f64) -> bool,
    pub problem: &'static str,
}

impl Reduce for Targets {
    type Stat = ();

    fn zero(&self) {}

    fn add(&self, _: &mut (), batch: &Batch) -> Result<()> {
        let Target::Real { values, cols } = batch.y else { return Ok(()) };
        match values.iter().position(|y| !(self.allowed)(*y)) {
            None => Ok(()),
            Some(at) => {
                let problem = format!("the target is {}, and {}", values[at], self.problem);
                Err(Error::value(batch.first + at / cols, None, problem))
            }
        }
    }

    fn merge(&self, _: &mut (), _: ()) {}
}

/// Checks that the rows are numbers and sums up the held-out ones.
struct Survey {
    held_out: HeldOut,
    targets: usize,
}

#[derive(Serialize, Deserialize)]
struct TargetSummary {
    held_out: usize,
    weight: f64,
    sums: Vec<f64>,
}

impl Reduce for Survey {
    type Stat = TargetSummary;

    fn zero(&self) -> TargetSummary {
        TargetSummary { held_out: 0, weight: 0.0, sums: vec![0.0; self.targets] }
    }

    fn add(&self, stat: &mut TargetSummary, batch: &Batch) -> Result<()> {
        batch.x.check_finite(batch.first)?;
        for i in (0..batch.rows()).filter(|i| self.held_out.has(batch.first + i)) {
            stat.held_out += 1;
            stat.weight += batch.weight(i);
            if let Target::Real { values, cols } = batch.y {
                for (sum, y) in stat.sums.iter_mut().zip(&values[i * cols..(i + 1) * cols]) {
                    *sum += batch.weight(i) * y;
                }
            }
        }
        Ok(())
    }

    fn merge(&self, left: &mut TargetSummary, right: TargetSummary) {
        left.held_out += right.held_out;
        left.weight += right.weight;
        left.sums.iter_mut().zip(right.sums).for_each(|(left, right)| *left += right);
    }
}

/// Accuracy or R2 of the held-out rows: for each target the squares left over and the squares around the mean.
struct Judge<'a> {
    network: &'a Network,
    state: &'a State,
    held_out: HeldOut,
    means: &'a [f64],
}

impl Judge<'_> {
    fn score(&self, ctx: &Ctx, data: &dyn Source) -> Result<f64> {
        let sums = crate::core::reduce(ctx, data, self)?;
        if self.means.is_empty() {
            return Ok(sums[0] / sums[1].max(f64::MIN_POSITIVE));
        }
        let each = sums.chunks_exact(2).map(|sum| if sum[1] > 0.0 { 1.0 - sum[0] / sum[1] } else { 0.0 });
        Ok(each.sum::<f64>() / self.means.len() as f64)
    }
}

impl Reduce for Judge<'_> {
    type Stat = Vec<f64>;

    fn zero(&self) -> Vec<f64> {
        vec![0.0; 2 * self.means.len().max(1)]
    }

    fn add(&self, stat: &mut Vec<f64>, batch: &Batch) -> Result<()> {
        let mut rows = Rows::new(batch.x.cols());
        (0..batch.rows()).filter(|i| self.held_out.has(batch.first + i)).for_each(|i| push(&mut rows, batch, i));
        let k = self.network.outputs();
        let mut scores = vec![0.0; rows.len() * k];
        if !rows.is_empty() {
            self.network.scores(&self.state.weights, &self.state.running, &rows.x(), &mut scores);
        }
        for (i, (scores, &weight)) in scores.chunks_exact(k).zip(&rows.weights).enumerate() {
            if self.means.is_empty() {
                // A row with several labels is right when all of them are.
                let right = match self.network.head {
                    Head::Softmax => super::model::first_largest(scores) == rows.y[i] as usize,
                    _ => scores.iter().zip(&rows.y[i * k..]).all(|(score, y)| (*score > 0.0) == (*y > 0.5)),
                };
                stat[0] += if right { weight } else { 0.0 };
                stat[1] += weight;
                continue;
            }
            for j in 0..k {
                let (y, mut value) = (rows.y[i * k + j], [0.0]);
                self.network.head.predictions(&scores[j..=j], 1, &mut value);
                stat[2 * j] += weight * (y - value[0]).powi(2);
                stat[2 * j + 1] += weight * (y - self.means[j]).powi(2);
            }
        }
        Ok(())
    }

    fn merge(&self, left: &mut Vec<f64>, right: Vec<f64>) {
        left.iter_mut().zip(right).for_each(|(left, right)| *left += right);
    }
}

/// What a block needs, allocated once.
struct Slot {
    rows: Rows,
    buffers: Buffers,
    space: Space,
}

/// Weights that one thread updates.
struct Piece {
    range: Range<usize>,
    penalised: bool,
}

struct Trainer<'a> {
    settings: &'a Settings,
    network: &'a Network,
    ctx: &'a Ctx,
    minibatches: Minibatches<'a>,
    state: State,
    held_out: HeldOut,
    /// Means of the held-out targets; empty for classes.
    means: Vec<f64>,
    early: bool,
    rule: Rule,
    pieces: Vec<Piece>,
    /// The weights that each worker moves: whole pieces.
    shares: Vec<Range<usize>>,
    mail: Mail,
    slots: Vec<Mutex<Slot>>,
    /// Rows to learn from, in their own order.
    rows: Vec<usize>,
    batch: usize,
}

impl<'a> Trainer<'a> {
    fn new(
        settings: &'a Settings,
        network: &'a Network,
        mut state: State,
        survey: TargetSummary,
        held_out: HeldOut,
        source: &'a dyn Source,
        ctx: &'a Ctx,
    ) -> Self {
        let shape = source.shape();
        let early = survey.held_out > 0 && survey.held_out < shape.rows && survey.weight > 0.0;
        let rows: Vec<usize> = (0..shape.rows).filter(|row| !early || !held_out.has(*row)).collect();
        let batch = match settings.batch_size {
            BatchSize::Auto => 200,
            BatchSize::Number(rows) => rows,
        };
        let batch = batch.min(rows.len());
        let rule = match settings.solver {
            Solver::Sgd => Rule::Sgd { momentum: settings.momentum, nesterov: settings.nesterov },
            _ => Rule::Adam { beta_1: settings.beta_1, beta_2: settings.beta_2, epsilon: settings.epsilon },
        };
        let weights = state.weights.len();
        if state.first.len() != weights {
            (state.first, state.second, state.steps) = (vec![0.0; weights], Vec::new(), 0);
        }
        if matches!(rule, Rule::Adam { .. }) && state.second.len() != weights {
            (state.second, state.steps) = (vec![0.0; weights], 0);
        }
        let classifies = network.head == Head::Labels || matches!(shape.target, TargetKind::Class(_));
        let pieces = pieces(network);
        let slot = || Slot { rows: Rows::new(shape.cols), buffers: Buffers::default(), space: Space::default() };
        Trainer {
            settings,
            network,
            ctx,
            minibatches: Minibatches::new(source),
            state,
            held_out,
            means: if classifies { Vec::new() } else { survey.sums.iter().map(|sum| sum / survey.weight).collect() },
            early,
            rule,
            shares: shares(&pieces, weights, ctx.exchange().size()),
            pieces,
            mail: Mail::default(),
            slots: (0..blocks(batch, network.work())).map(|_| Mutex::new(slot())).collect(),
            rows,
            batch,
        }
    }

    fn run(mut self) -> Result<(State, FitLog)> {
        let settings = self.settings;
        let mut order = self.rows.clone();
        while self.state.epochs_here < settings.max_iter {
            // A checkpoint may be of a run that had already decided to stop.
            if self.patience_is_over() {
                break;
            }
            order.copy_from_slice(&self.rows);
            if settings.shuffle {
                self.ctx.rng("shuffle", self.state.epochs as u64).shuffle(&mut order);
            }
            let (mut loss, mut weight) = (0.0, 0.0);
            let group = self.minibatches.per_swap(self.batch);
            let mut swapped = Swapped::default();
            for (number, minibatch) in order.chunks(self.batch).enumerate() {
                self.ctx.check()?;
                if number.is_multiple_of(group) && self.ctx.exchange().size() > 1 {
                    swapped = self.swap(order.chunks(self.batch).skip(number).take(group))?;
                }
                let progress = (number * self.batch) as f64 / order.len() as f64;
                let (sum, rows) = self.step(minibatch, &swapped, number % group * self.batch, progress)?;
                self.ctx.rows(minibatch.len());
                loss += sum;
                weight += rows;
                if !loss.is_finite() {
                    return Err(self.diverged("the loss is no longer a number"));
                }
            }
            self.end_epoch(loss / f64::max(weight, f64::MIN_POSITIVE), order.len())?;
        }
        let first = self.state.loss_curve.len() - self.state.epochs_here;
        let losses = self.state.loss_curve[first..].to_vec();
        let halt = match self.patience_is_over() {
            false => Halt::MaxIter,
            true if self.early => Halt::EarlyStopping,
            true if crawls(&losses, settings.n_iter_no_change) => Halt::TooSlow,
            true => Halt::Stalled,
        };
        let mut log = FitLog::ended(self.state.epochs_here, losses, halt, Certificate::None);
        if let Some((weights, running)) = self.state.best_weights.take() {
            let scores = &self.state.validation_scores[self.state.validation_scores.len() - self.state.epochs_here..];
            let best = scores.iter().position(|score| Some(*score) == self.state.best).unwrap_or(0);
            log.notes.push(format!(
                "validation score {:.4} after epoch {} of {}: the weights are of that epoch",
                scores[best],
                best + 1,
                scores.len()
            ));
            (self.state.weights, self.state.running) = (weights, running);
        } else if settings.early_stopping {
            log.notes.push("too few rows to hold any out: the loss decided when to stop".into());
        }
        self.ctx.record("done", || self.seen(self.state.loss_curve.last().copied().unwrap_or(f64::NAN)));
        Ok((self.state, log))
    }

    fn swap<'m>(&self, minibatches: impl Iterator<Item = &'m [usize]>) -> Result<Swapped> {
        let exchange = self.ctx.exchange();
        let places = |rank: usize, length: usize| {
            let count = blocks(length, self.network.work());
            let blocks = blocks_of(exchange, rank, count);
            blocks.start * length / count..blocks.end * length / count
        };
        self.minibatches.swap(exchange, minibatches, places)
    }

    /// What an epoch shows: its loss, and weights and biases layer by layer.
    fn seen(&self, loss: f64) -> Vec<(&'static str, Matrix)> {
        vec![
            ("loss", trace::number(loss)),
            ("sizes", trace::column(self.network.sizes.iter().map(|size| *size as f64))),
            ("weights", trace::column(self.state.weights.iter().copied())),
        ]
    }

    fn patience_is_over(&self) -> bool {
        self.state.waited > self.settings.n_iter_no_change
    }

    /// Judges, decides about the step length and whether to go on, and saves.
    fn end_epoch(&mut self, loss: f64, rows: usize) -> Result<()> {
        let settings = self.settings;
        // What is kept is whole: the next run may have other workers.
        for moments in [&mut self.state.first, &mut self.state.second] {
            self.mail.spread(self.ctx.exchange(), moments, &self.shares)?;
        }
        self.state.epochs += 1;
        self.state.epochs_here += 1;
        self.state.seen += rows;
        self.state.loss_curve.push(loss);
        let start = self.state.loss_curve[self.state.loss_curve.len() - self.state.epochs_here];
        if loss > EXPLODED * (1.0 + start.abs()) || !simd::all_finite(&self.state.weights) {
            return Err(self.diverged(&format!("the loss went from {start:.3e} to {loss:.3e}")));
        }
        // What shall rise: the held-out score, or minus the loss.
        let value = if self.early {
            let judge =
                Judge { network: self.network, state: &self.state, held_out: self.held_out, means: &self.means };
            let score = judge.score(self.ctx, self.minibatches.source)?;
            self.state.validation_scores.push(score);
            score
        } else {
            -loss
        };
        let better = |best: f64, by: f64| value >= best + by;
        self.state.waited =
            if self.state.best.is_none_or(|best| better(best, settings.tol)) { 0 } else { self.state.waited + 1 };
        if self.state.best.is_none_or(|best| value > best) {
            self.state.best = Some(value);
            if self.early {
                self.state.best_weights = Some((self.state.weights.clone(), self.state.running.clone()));
            }
        }
        if self.patience_is_over()
            && settings.schedule == Schedule::Adaptive
            && settings.solver == Solver::Sgd
            && self.state.rate > 1e-6
        {
            (self.state.rate, self.state.waited) = (self.state.rate / 5.0, 0);
        }
        self.ctx.record("epoch", || self.seen(loss));
        self.ctx.progress(Progress {
            what: "epoch",
            step: self.state.epochs_here,
            of: Some(settings.max_iter),
            value: Some(if self.early { value } else { loss }),
        });
        if let Some(checkpoint) = self.ctx.checkpoint() {
            let bytes = postcard::to_stdvec(&self.state).map_err(|error| Error::Data(format!("the state: {error}")))?;
            checkpoint.save(&bytes)?;
        }
        Ok(())
    }

    fn diverged(&self, what: &str) -> Error {
        let Settings { name, rate, clip_norm, .. } = self.settings;
        let clip = if clip_norm.is_none() { ", or limit the gradient with clip_norm 1" } else { "" };
        Error::Diverged(format!("{name}: {what} in epoch {}", self.state.epochs_here + 1)).hint(format!(
            "bring the columns (and a target of numbers) to a common scale, take a learning_rate_init below \
             {rate}{clip}"
        ))
    }

    /// One step: the summed loss and the weight of the minibatch, whose rows from elsewhere begin at `first` in
    /// `swapped`.
    fn step(&mut self, minibatch: &[usize], swapped: &Swapped, first: usize, progress: f64) -> Result<(f64, f64)> {
        let exchange = self.ctx.exchange();
        let count = blocks(minibatch.len(), self.network.work());
        let mine = blocks_of(exchange, exchange.rank(), count);
        let learn = |block: usize| -> Result<()> {
            let slot = &mut *lock(&self.slots[block]);
            let places = block * minibatch.len() / count..(block + 1) * minibatch.len() / count;
            slot.rows.clear();
            for place in places.clone() {
                if !swapped.load(first + place, &mut slot.rows) {
                    self.minibatches.load(minibatch[place], &mut slot.rows, &mut slot.buffers)?;
                }
            }
            slot.rows.thin_out();
            let dropout = (self.settings.dropout > 0.0).then_some(Dropout {
                share: self.settings.dropout,
                seed: self.ctx.seed,
                step: self.state.steps,
                first: places.start,
            });
            self.network.learn(&self.state.weights, &slot.rows, dropout.as_ref(), &mut slot.space)
        };
        let outcome = match mine.len() {
            1 => learn(mine.start),
            parts => self.ctx.map(parts, |i| learn(mine.start + i)).map(drop),
        };
        let slots = std::mem::take(&mut self.slots);
        let guards: Vec<MutexGuard<Slot>> = slots[mine.clone()].iter().map(lock).collect();
        let nodes = mine.zip(&guards).map(|(first, slot)| Node { first, numbers: &slot.space.stat });
        let done = self.follow(outcome.map(|()| nodes.collect()), count, progress);
        drop(guards);
        self.slots = slots;
        done
    }

    /// Sums the blocks of all workers and moves the weights. The nodes are those of the blocks computed here.
    fn follow(&mut self, own: Result<Vec<Node>>, count: usize, progress: f64) -> Result<(f64, f64)> {
        let exchange = self.ctx.exchange();
        let tail = self.tail(own.as_ref().map_err(Clone::clone), count)?;
        let &[loss, weight, rows] = tail.last_chunk::<TAIL>().expect("every statistic ends so");
        if weight <= 0.0 {
            return Ok((0.0, 0.0));
        }
        for (running, sum) in self.state.running.iter_mut().zip(&tail) {
            *running += 0.1 * (sum / rows - *running);
        }
        self.state.steps += 1;
        let mut mail = std::mem::take(&mut self.mail);
        let nodes = mail.scatter(exchange, &own?, count, &self.shares)?;
        let squares = self.update(&nodes, count, weight, progress)?;
        let penalty: f64 = all_gather(exchange, Ok(squares))?.concat().iter().sum();
        mail.spread(exchange, &mut self.state.weights, &self.shares)?;
        self.mail = mail;
        Ok((loss + 0.5 * self.penalty() * penalty, weight))
    }

    /// Strength of the penalty that is part of the gradient.
    fn penalty(&self) -> f64 {
        if self.settings.solver == Solver::Adamw { 0.0 } else { self.settings.alpha }
    }

    /// What stands behind the gradient, summed over all blocks. A worker that failed says so here.
    fn tail(&self, own: Result<&Vec<Node>>, count: usize) -> Result<Vec<f64>> {
        let exchange = self.ctx.exchange();
        let range = self.state.weights.len()..self.network.stat_len();
        let mine = own.map(|own| {
            let mine = blocks_of(exchange, exchange.rank(), count);
            let tail = |(tree, nodes): (Range<usize>, &[Node])| {
                let mut tail = vec![0.0; range.len()];
                sum(nodes, tree.clone(), range.clone(), &mut tail);
                (tree.start, tail)
            };
            held(own, &mine, count).into_iter().map(tail).collect::<Vec<_>>()
        });
        let everyones = all_gather(exchange, mine)?.concat();
        let nodes: Vec<Node> = everyones.iter().map(|(first, numbers)| Node { first: *first, numbers }).collect();
        let mut tail = vec![0.0; range.len()];
        sum(&nodes, 0..count, 0..range.len(), &mut tail);
        Ok(tail)
    }

    /// Moves the weights of this worker's share, in one pass over them. Returns the squares of each of its pieces.
    fn update(&mut self, nodes: &[Node], count: usize, weight: f64, progress: f64) -> Result<Vec<f64>> {
        let settings = self.settings;
        let exchange = self.ctx.exchange();
        let alpha = self.penalty();
        let step = Step {
            eta: self.eta(progress),
            number: self.state.steps,
            decay: if settings.solver == Solver::Adamw { settings.alpha } else { 0.0 },
        };
        let share = self.shares[exchange.rank()].clone();
        let within = |piece: &Piece| share.start <= piece.range.start && piece.range.end <= share.end;
        let pieces: Vec<&Piece> = self.pieces.iter().filter(|piece| within(piece)).collect();

        // Every piece with its own weights and moments.
        let State { weights, first, second, .. } = &mut self.state;
        let (mut w, mut first) = (&mut weights[share.clone()], &mut first[share.clone()]);
        let mut second = if second.is_empty() { &mut [][..] } else { &mut second[share.clone()] };
        let mut views = Vec::with_capacity(pieces.len());
        for piece in &pieces {
            let length = piece.range.len();
            let (mine, rest) = w.split_at_mut(length);
            w = rest;
            let (moments, rest) = first.split_at_mut(length);
            first = rest;
            let (squares, rest) = second.split_at_mut(length.min(second.len()));
            second = rest;
            views.push(Mutex::new((mine, moments, squares)));
        }
        let each = |f: &(dyn Fn(usize) -> f64 + Sync)| -> Result<Vec<f64>> {
            // Threads do not change what is computed, only when they pay.
            if pieces.len() < 4 || self.ctx.threads() == 1 {
                return Ok((0..pieces.len()).map(f).collect());
            }
            self.ctx.map(pieces.len(), |i| Ok(f(i)))
        };
        let gradient = |i: usize, w: &[f64], at: usize, out: &mut [f64]| {
            let Piece { range, penalised } = &pieces[i];
            let start = range.start - share.start + at;
            sum(nodes, 0..count, start..start + out.len(), out);
            let alpha = if *penalised { alpha } else { 0.0 };
            scale_and_shrink(out, w, 1.0 / weight, alpha / weight)
        };
        let mut shrink = 1.0;
        if let Some(limit) = settings.clip_norm {
            let squares = each(&|i| {
                let (w, ..) = &*lock(&views[i]);
                let mut g = [0.0; CHUNK];
                w.chunks(CHUNK)
                    .enumerate()
                    .map(|(c, w)| {
                        gradient(i, w, c * CHUNK, &mut g[..w.len()]);
                        simd::dot(&g[..w.len()], &g[..w.len()])
                    })
                    .sum()
            });
            let squares: f64 = all_gather(exchange, squares)?.concat().iter().sum();
            shrink = (limit / squares.sqrt()).min(1.0);
        }
        each(&|i| {
            let (w, first, second) = &mut *lock(&views[i]);
            let mut g = [0.0; CHUNK];
            let mut squares = 0.0;
            for (c, w) in w.chunks_mut(CHUNK).enumerate() {
                let range = c * CHUNK..c * CHUNK + w.len();
                let g = &mut g[..w.len()];
                squares += gradient(i, w, range.start, g);
                if shrink < 1.0 {
                    g.iter_mut().for_each(|g| *g *= shrink);
                }
                let second = if second.is_empty() { &mut [][..] } else { &mut second[range.clone()] };
                self.rule.step(step, w, g, &mut first[range], second);
            }
            squares
        })
    }

    fn eta(&self, progress: f64) -> f64 {
        let (settings, state) = (self.settings, &self.state);
        match settings.schedule {
            Schedule::Cosine => {
                let done = (state.epochs_here as f64 + progress) / settings.max_iter as f64;
                0.5 * settings.rate * (1.0 + (std::f64::consts::PI * done).cos())
            }
            // It changes between epochs, by the rows seen so far.
            Schedule::Invscaling if settings.solver == Solver::Sgd && state.seen > 0 => {
                settings.rate / (state.seen as f64 + 1.0).powf(settings.power_t)
            }
            Schedule::Adaptive if settings.solver == Solver::Sgd => state.rate,
            _ => settings.rate,
        }
    }
}

fn pieces(network: &Network) -> Vec<Piece> {
    const LONGEST: usize = 16 * CHUNK;
    let mut pieces = Vec::new();
    for part in network.parts() {
        for start in part.weights.clone().step_by(LONGEST) {
            pieces.push(Piece { range: start..(start + LONGEST).min(part.weights.end), penalised: true });
        }
        pieces.push(Piece { range: part.bias.start..part.gain.end, penalised: false });
    }
    pieces
}

/// Cuts between pieces, as even as these allow.
fn shares(pieces: &[Piece], weights: usize, workers: usize) -> Vec<Range<usize>> {
    let cut = |worker: usize| {
        let even = (weights as u64 * worker as u64 / workers as u64) as usize;
        pieces.iter().map(|piece| piece.range.start).find(|&start| start >= even).unwrap_or(weights)
    };
    (0..workers).map(|worker| cut(worker)..cut(worker + 1)).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `g = scale g + shrink w`; returns the sum of squares of w where it is shrunk.
fn scale_and_shrink(g: &mut [f64], w: &[f64], scale: f64, shrink: f64) -> f64 {
    if shrink == 0.0 {
        g.iter_mut().for_each(|g| *g *= scale);
        return 0.0;
    }
    simd::vectorised(
        #[inline(always)]
        || g.iter_mut().zip(w).for_each(|(g, w)| *g = scale * *g + shrink * w),
    );
    simd::dot(w, w)
}

/// All rows at once, as a sum.
struct FullBatch<'a> {
    network: &'a Network,
    weights: &'a [f64],
    spaces: &'a Mutex<Vec<(Rows, Space)>>,
}

impl Reduce for FullBatch<'_> {
    type Stat = Vec<f64>;

    fn zero(&self) -> Vec<f64> {
        vec![0.0; self.network.stat_len()]
    }

    fn add(&self, stat: &mut Vec<f64>, batch: &Batch) -> Result<()> {
        let fresh = || (Rows::new(batch.x.cols()), Space::default());
        let (mut rows, mut space) = lock(self.spaces).pop().unwrap_or_else(fresh);
        for first in (0..batch.rows()).step_by(256) {
            rows.clear();
            (first..(first + 256).min(batch.rows())).for_each(|i| push(&mut rows, batch, i));
            rows.thin_out();
            self.network.learn(self.weights, &rows, None, &mut space)?;
            simd::add_scaled(1.0, &space.stat, stat);
        }
        lock(self.spaces).push((rows, space));
        Ok(())
    }

    fn merge(&self, left: &mut Vec<f64>, right: Vec<f64>) {
        simd::add_scaled(1.0, &right, left);
    }
}

struct WholeLoss<'a> {
    network: &'a Network,
    alpha: f64,
    data: &'a dyn Source,
    ctx: &'a Ctx,
    spaces: Mutex<Vec<(Rows, Space)>>,
}

impl lbfgs::Objective for WholeLoss<'_> {
    fn evaluate(&self, w: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let sum = FullBatch { network: self.network, weights: w, spaces: &self.spaces };
        let stat = crate::core::reduce(self.ctx, self.data, &sum)?;
        let &[loss, weight, _] = stat.last_chunk::<TAIL>().expect("every statistic ends so");
        for (gradient, sum) in gradient.iter_mut().zip(&stat) {
            *gradient = sum / weight;
        }
        for part in self.network.parts() {
            simd::add_scaled(self.alpha / weight, &w[part.weights.clone()], &mut gradient[part.weights]);
        }
        Ok((loss + 0.5 * self.alpha * self.network.penalised(w)) / weight)
    }
}

fn by_lbfgs(
    settings: &Settings,
    network: Network,
    classes: usize,
    mut state: State,
    data: &dyn Source,
    ctx: &Ctx,
) -> Result<Fit<NeuralModel>> {
    let objective = WholeLoss { network: &network, alpha: settings.alpha, data, ctx, spaces: Mutex::default() };
    let progress = |step: usize, value: f64| {
        ctx.progress(Progress { what: "step", step, of: Some(settings.max_iter), value: Some(value) });
    };
    let start = std::mem::take(&mut state.weights);
    let options = lbfgs::Options {
        max_iter: settings.max_iter,
        met: &|_, _, gradient| lbfgs::largest(gradient) <= settings.tol,
        metric: &vec![1.0; start.len()],
        step: &progress,
    };
    let outcome = lbfgs::minimise(&objective, start, &options)?;
    if !outcome.path.iter().all(|value| value.is_finite()) {
        return Err(Error::Diverged(format!("{}: the loss is not a number", settings.name))
            .hint("bring the columns (and a target of numbers) to a common scale"));
    }
    state.weights = outcome.w;
    state.epochs_here = outcome.path.len() - 1;
    state.epochs += state.epochs_here;
    state.seen += state.epochs_here * data.shape().rows;
    state.loss_curve.extend_from_slice(&outcome.path[1..]);
    // A stationary point: networks are not convex, so nothing is proven about the optimum.
    let certificate = Certificate::Gradient { norm: lbfgs::largest(&outcome.gradient), tolerance: settings.tol };
    let halt = outcome.halt.unwrap_or(Halt::Stationary);
    let log = FitLog::ended(state.epochs_here, outcome.path, halt, certificate);
    Ok(Fit::new(NeuralModel { network, classes, state }, log))
}

impl Settings {
    /// Nanoseconds of a training: forward and backward through every weight for every row, epoch by epoch.
    pub fn cost(&self, shape: &Shape) -> f64 {
        let (n, p, outputs) = shape.sizes();
        let widths: Vec<f64> =
            [p].into_iter().chain(self.hidden.iter().map(|&units| units as f64)).chain([outputs]).collect();
        let weights: f64 = widths.windows(2).map(|pair| (pair[0] + 1.0) * pair[1]).sum();
        let units: f64 = widths[1..].iter().sum();
        let epochs = (self.max_iter as f64).min(20.0 + 1e6 / n);
        5e4 + epochs * (n * (0.15 * weights + 4.2 * units) + 1e4)
    }
}
