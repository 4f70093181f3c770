//! Gradient boosting on histograms: `min_F sum_i w_i loss(y_i, F(x_i))`, `F = F_0 + learning_rate sum_m tree_m`.
//!
//! Each tree is a Newton step on binned columns (Friedman 2001; Ke et al. 2017): see
//! [`boost_tree`](crate::engine::boost_tree), where the sums are exact integers, and [`bins`](crate::engine::bins).
//! Trees grow leaf by leaf, missing values and categories are native, held-out rows may stop the growth. With absolute
//! error and quantiles the leaves are set to the quantile of their residuals.
//!
//! Cost O(rounds x rows x columns), half of the rows of a split being counted. Bins are cut once from the training
//! rows.
//!
//! Several workers make the trees of one, bit by bit, each with its own rows in memory: what a tree depends on is
//! either drawn by the number of a row among all, or the largest of some numbers, or a sum. Histograms are exact sums;
//! means and losses are summed leaf by leaf of the fixed tree of [`merge_units`]. Quantiles of residuals are no sums:
//! where the loss asks for them every residual travels, see `quantiles`.

use super::boost_loss::{Loss, weighted_quantile};
use crate::{
    Array, Ctx, Error, Estimator, Fit, FitLog, Flexibility, Halt, Info, Model, Output, Params, Passes, Result, Shape,
    Source, Target, Task, Value, X,
    core::{
        Batch, TargetKind, choice,
        ctx::{Progress, all_gather, all_to_all},
        model::Property,
        param::{Field, Form, Range, above, above_to, at_least, between, linear, log, within},
        params,
        reduce::{held_leaves, leaf_rows, merge_units},
        rng, simd,
    },
    engine::{
        as_bytes,
        bins::Bins,
        boost_tree::{Gradients, Grower, Leaf, MOST_ROWS, Options, larger},
        columns,
        tree::{Block, GrownTree, Tree, check_trees, first_largest},
    },
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

const REASON: &str = "every tree passes over the binned rows many times";

choice! {
    /// Loss function.
    pub enum RealLoss {
        SquaredError = "squared_error",
        AbsoluteError = "absolute_error",
        /// Positive targets with constant relative spread; predicts e^score.
        Gamma = "gamma",
        /// Counts; predicts e^score.
        Poisson = "poisson",
        /// The quantile of the parameter `quantile`.
        Quantile = "quantile",
    }
}

choice! {
    /// Loss function.
    pub enum ClassLoss {
        LogLoss = "log_loss",
    }
}

/// Whether to stop early by the loss on held-out rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EarlyStopping {
    /// When there are more than 10,000 rows.
    Auto,
    Yes,
    No,
}

impl Field for EarlyStopping {
    fn forms(_: Range) -> Vec<Form> {
        vec![Form::Choice(vec!["auto"]), Form::Bool]
    }
    fn to_value(&self) -> Value {
        match self {
            EarlyStopping::Auto => Value::Text("auto".into()),
            EarlyStopping::Yes => Value::Bool(true),
            EarlyStopping::No => Value::Bool(false),
        }
    }
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Text(text) if text == "auto" => Some(EarlyStopping::Auto),
            Value::Bool(true) => Some(EarlyStopping::Yes),
            Value::Bool(false) => Some(EarlyStopping::No),
            _ => None,
        }
    }
}

macro_rules! boosting {
    ($name:ident, $doc:literal, $loss_type:ty = $loss:expr, $task:expr, $of:expr, { $($extra:tt)* }) => {
        params! {
            #[doc = $doc]
            pub struct $name {
                /// Loss function.
                loss: $loss_type = $loss;
                $($extra)*
                /// Learning rate: shrinks every tree; smaller values need more rounds and generalise better.
                learning_rate: f64 = 0.1, above(0.0), log(0.01, 0.5);
                /// Maximum number of boosting rounds: one tree per round, or one per class if there are more than two
                /// classes.
                max_iter: usize = 100, at_least(1.0), log(50.0, 1000.0);
                /// Maximum number of leaves of a tree; none for no limit.
                max_leaf_nodes: Option<usize> = Some(31), at_least(2.0), log(8.0, 128.0);
                /// Maximum tree depth; none for no limit.
                max_depth: Option<usize> = None, at_least(1.0);
                /// Minimum number of rows in a leaf.
                min_samples_leaf: usize = 20, at_least(1.0), log(5.0, 100.0);
                /// L2 penalty on the leaf values.
                l2_regularization: f64 = 0.0, at_least(0.0), log(1e-3, 100.0);
                /// Fraction of the columns to try at each split.
                max_features: f64 = 1.0, above_to(0.0, 1.0), linear(0.3, 1.0);
                /// Fraction of the rows to draw in each round.
                subsample: f64 = 1.0, above_to(0.0, 1.0), linear(0.5, 1.0);
                /// Maximum number of bins of a column, not counting the bin of missing values.
                max_bins: usize = 255, between(2.0, 255.0);
                /// Monotonic constraint of each column: 1 increasing, -1 decreasing, 0 none; empty for no constraints.
                monotonic_cst: Vec<i64> = vec![], between(-1.0, 1.0);
                /// Groups of columns that may interact; a column in no group interacts with none. Empty for no
                /// constraints.
                interaction_cst: Vec<Vec<usize>> = vec![], at_least(0.0);
                /// Whether to stop early by the loss on held-out rows: true, false or auto (more than 10,000 rows).
                early_stopping: EarlyStopping = EarlyStopping::Auto;
                /// Fraction of rows to hold out for early stopping.
                validation_fraction: f64 = 0.1, within(0.0, 1.0);
                /// Number of rounds without improvement before stopping early.
                n_iter_no_change: usize = 10, at_least(1.0);
                /// Smallest change of the loss that counts as an improvement.
                tol: f64 = 1e-7, at_least(0.0);
            }
        }

        impl $name {
            fn settings(&self) -> Settings<'_> {
                Settings {
                    name: Self::NAME,
                    learning_rate: self.learning_rate,
                    max_iter: self.max_iter,
                    max_leaves: self.max_leaf_nodes.unwrap_or(usize::MAX),
                    max_depth: self.max_depth.unwrap_or(usize::MAX),
                    min_rows_leaf: self.min_samples_leaf,
                    l2: self.l2_regularization,
                    max_features: self.max_features,
                    subsample: self.subsample,
                    max_bins: self.max_bins,
                    monotone: &self.monotonic_cst,
                    interactions: &self.interaction_cst,
                    early_stopping: self.early_stopping,
                    validation_fraction: self.validation_fraction,
                    patience: self.n_iter_no_change,
                    tol: self.tol,
                }
            }
        }

        impl Estimator for $name {
            type Model = BoostingModel;

            const INFO: Info = Info {
                resume: true,
                missing: true,
                categories: true,
                random: true,
                exceptions: &[(
                    Property::WeightIsRepetition,
                    "min_samples_leaf counts rows, whatever their weights",
                )],
                flexibility: Flexibility::Ensemble,
                keeps_learning: true,
                // Leaves of 20 rows leave nothing to split in a hundred rows.
                on_few_rows: &[
                    ("learning_rate", 0.05),
                    ("max_iter", 300.0),
                    ("max_leaf_nodes", 8.0),
                    ("min_samples_leaf", 5.0),
                ],
..Info::new("ensemble", $task, "min_F sum_i w_i loss(y_i, F(x_i)), F a sum of small trees", Passes::Shares(REASON))
            };

            fn cost(&self, shape: &Shape) -> f64 {
                1e-9 * self.settings().cost(shape)
            }

            fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<BoostingModel>> {
                let loss: fn(&Self, TargetKind) -> Loss = $of;
                self.settings().fit(loss(self, data.shape().target), None, data, ctx)
            }

            fn learn_more(&self, model: &BoostingModel, data: &dyn Source, ctx: &Ctx) -> Result<Fit<BoostingModel>> {
                self.settings().fit(model.loss, Some(model), data, ctx)
            }
        }
    };
}

boosting!(
    HistGradientBoostingClassifier,
    "Gradient-boosted trees for classes: often the most accurate on tables; handles categories and missing values.",
    ClassLoss = ClassLoss::LogLoss,
    Task::Classification,
    |_, target| if target == TargetKind::Class(2) { Loss::Binary } else { Loss::Softmax },
    {}
);
boosting!(
    HistGradientBoostingRegressor,
    "Gradient-boosted trees for numbers: often the most accurate on tables; handles categories and missing values.",
    RealLoss = RealLoss::SquaredError, Task::Regression,
    |params, _| match params.loss {
        RealLoss::SquaredError => Loss::Squared,
        RealLoss::AbsoluteError => Loss::Absolute,
        RealLoss::Gamma => Loss::Gamma,
        RealLoss::Poisson => Loss::Poisson,
        RealLoss::Quantile => Loss::Quantile(params.quantile),
    },
    {
        /// Quantile to predict, for the loss `quantile`.
        quantile: f64 = 0.5, between(0.0, 1.0);
    }
);

struct Settings<'a> {
    name: &'static str,
    learning_rate: f64,
    max_iter: usize,
    max_leaves: usize,
    max_depth: usize,
    min_rows_leaf: usize,
    l2: f64,
    max_features: f64,
    subsample: f64,
    max_bins: usize,
    monotone: &'a [i64],
    interactions: &'a [Vec<usize>],
    early_stopping: EarlyStopping,
    validation_fraction: f64,
    patience: usize,
    tol: f64,
}

/// Rows of one parallel piece.
const PIECE: usize = 1 << 13;

impl Settings<'_> {
    fn check(&self, loss: Loss, batch: &Batch) -> Result<()> {
        let refused = |name: &str, value: String, allowed: String| Error::Parameter {
            model: self.name.into(),
            name: name.into(),
            value,
            allowed,
        };
        let cols = batch.x.cols();
        if !self.monotone.is_empty() && self.monotone.len() != cols {
            return Err(refused(
                "monotonic_cst",
                format!("a list of {}", self.monotone.len()),
                format!("empty or a list of {cols}"),
            ));
        }
        if !self.monotone.is_empty() && loss == Loss::Softmax {
            return Err(Error::Unsupported(format!("{}: monotonic_cst needs two classes", self.name)));
        }
        if let Some(column) = self.interactions.iter().flatten().find(|column| **column >= cols) {
            return Err(refused("interaction_cst", column.to_string(), format!("columns below {cols}")));
        }
        columns::check(&batch.x, batch.first)?;
        let y = batch.y.real();
        let bad = match loss {
            Loss::Gamma => y.iter().position(|y| *y <= 0.0).map(|i| (i, "gamma needs a target above 0")),
            Loss::Poisson => y.iter().position(|y| *y < 0.0).map(|i| (i, "poisson needs a target of 0 or more")),
            _ => None,
        };
        if let Some((i, need)) = bad {
            return Err(Error::value(batch.first + i, None, format!("the target is {}, but {need}", y[i])));
        }
        Ok(())
    }

    fn fit(
        &self,
        loss: Loss,
        from: Option<&BoostingModel>,
        data: &dyn Source,
        ctx: &Ctx,
    ) -> Result<Fit<BoostingModel>> {
        let batch = data.share_in_memory(self.name, REASON)?;
        let (shape, exchange) = (data.shape(), ctx.exchange());
        if shape.rows >= MOST_ROWS {
            return Err(Error::Unsupported(format!("{} takes fewer than {MOST_ROWS} rows", self.name)));
        }
        let early = self.stops_early(shape.rows);
        let drawn = |row: u32| {
            let of_all = batch.first as u64 + u64::from(row);
            early && rng::unit(rng::key(ctx.seed, "validation", of_all)) < self.validation_fraction
        };
        let weighty = (0..batch.rows() as u32).filter(|&row| batch.weight(row as usize) > 0.0);
        let (held_out, train): (Vec<u32>, Vec<u32>) = weighty.partition(|&row| drawn(row));

        let leaves =
            ctx.check().and_then(|()| self.check(loss, &batch)).and_then(|()| held_leaves(&shape, &data.held()));
        let any_above_0 = batch.y.real().iter().any(|y| *y > 0.0);
        let mine = leaves.as_ref().map(|_| RowCounts { train: train.len(), held_out: held_out.len(), any_above_0 });
        let parts = all_gather(exchange, mine.map_err(Clone::clone))?;
        if loss == Loss::Poisson && !parts.iter().any(|part| part.any_above_0) {
            return Err(Error::Data(format!("{}: poisson needs a target with a value above 0", self.name)));
        }
        let all = All {
            rows: shape.rows,
            train: parts.iter().map(|part| part.train).sum(),
            held_out: parts.iter().map(|part| part.held_out).sum(),
            first: parts.iter().position(|part| part.train > 0) == Some(exchange.rank()),
            leaf: leaf_rows(&shape),
            leaves: leaves?,
        };
        if all.train == 0 {
            return Err(Error::Data(format!("{}: early stopping leaves no row to learn from", self.name)));
        }
        let bins = Bins::new(ctx, &batch, shape.rows, data.features(), self.max_bins)?;
        let boosting = Boosting { settings: self, loss, batch, bins, train, held_out, all, ctx };
        // Workers that are threads of one process share its pool, and would wait in it for each other.
        if exchange.size() == 1 { ctx.install(|| boosting.run(from)) } else { boosting.run(from) }
    }
}

/// What one worker says of its rows.
#[derive(Serialize, Deserialize)]
struct RowCounts {
    train: usize,
    held_out: usize,
    any_above_0: bool,
}

/// The rows of all workers.
struct All {
    rows: usize,
    train: usize,
    held_out: usize,
    /// Whether the first row to learn from is held here.
    first: bool,
    /// Rows of a leaf of the merge tree, and the leaves held here.
    leaf: usize,
    leaves: std::ops::Range<usize>,
}

/// Numbers by row are of this worker's rows, counted from its first.
struct Boosting<'a> {
    settings: &'a Settings<'a>,
    loss: Loss,
    batch: Batch<'a>,
    bins: Bins,
    train: Vec<u32>,
    held_out: Vec<u32>,
    all: All,
    ctx: &'a Ctx,
}

/// What there is after some rounds. Score s of row i stands at s * n + i.
struct Grown {
    trees: Vec<Tree>,
    raw: Vec<f64>,
    train_loss: Vec<f64>,
    validation_loss: Vec<f64>,
}

/// What the rounds write into or read again and again.
struct Scratch<'a> {
    dense: Block<'a>,
    held_out: Vec<f64>,
    interactions: Vec<Vec<usize>>,
    slopes: Vec<[f32; 2]>,
    cells: Vec<[i32; 2]>,
    spare: Vec<u32>,
}

impl<'a> Scratch<'a> {
    fn new(boosting: &'a Boosting) -> Self {
        Scratch {
            dense: Block::new(&boosting.batch.x),
            held_out: boosting.held_out_rows(),
            interactions: interactions(boosting.settings.interactions, boosting.bins.cols),
            slopes: vec![[0f32; 2]; boosting.batch.rows() * boosting.width()],
            cells: Vec::new(),
            spare: Vec::new(),
        }
    }
}

impl Boosting<'_> {
    fn classes(&self) -> usize {
        match self.batch.y {
            Target::Class { classes, .. } => classes,
            _ => 0,
        }
    }

    /// Scores of a row.
    fn width(&self) -> usize {
        if self.loss == Loss::Softmax { self.classes() } else { 1 }
    }

    fn y(&self, row: usize) -> f64 {
        match self.batch.y {
            Target::Class { codes, .. } => f64::from(codes[row]),
            y => y.real()[row],
        }
    }

    fn run(&self, from: Option<&BoostingModel>) -> Result<Fit<BoostingModel>> {
        let (k, settings) = (self.width(), self.settings);
        let (baseline, mut grown) = self.start(from)?;
        let mut scratch = Scratch::new(self);
        // The rounds are the model: running through them is no failure.
        let mut halt = Halt::Passes;
        for round in grown.trees.len() / k..settings.max_iter {
            self.grow_round(round, &mut grown, &mut scratch)?;
            let Some((train, held_out)) = self.shorten(&mut grown, &scratch.dense)? else {
                halt = Halt::Stalled;
                break;
            };
            grown.train_loss.push(train);
            grown.validation_loss.extend(held_out);
            self.ctx.rows(self.all.rows);
            let of = Some(settings.max_iter);
            self.ctx.progress(Progress { what: "boosting", step: round + 1, of, value: Some(train) });
            if self.all.held_out > 0 && stalled(&grown.validation_loss, settings.patience, settings.tol) {
                halt = Halt::EarlyStopping;
                break;
            }
        }
        let Grown { trees, train_loss, validation_loss, .. } = grown;
        let certificate = FitLog::monotone(&train_loss);
        let log = FitLog::ended(trees.len() / k, train_loss.clone(), halt, certificate);
        let (cols, classes) = (self.bins.cols, self.classes());
        let model = BoostingModel { cols, classes, loss: self.loss, baseline, trees, train_loss, validation_loss };
        Ok(Fit::new(model, log))
    }

    /// The best constant, or what an earlier fit has grown.
    fn start(&self, from: Option<&BoostingModel>) -> Result<(Vec<f64>, Grown)> {
        let (n, k) = (self.batch.rows(), self.width());
        let (baseline, trees) = match from {
            Some(model) if model.baseline.len() != k || model.classes != self.classes() => {
                let problem = format!("{}: the target has other classes than the earlier fit", self.settings.name);
                return Err(Error::Data(problem));
            }
            Some(model) => (model.baseline.clone(), model.trees.clone()),
            None => (self.baseline()?, Vec::new()),
        };
        let mut raw: Vec<f64> = baseline.iter().flat_map(|&b| std::iter::repeat_n(b, n)).collect();
        let dense = Block::new(&self.batch.x);
        for (t, tree) in trees.iter().enumerate() {
            tree.add_to(&dense, 1.0, &mut raw[t % k * n..(t % k + 1) * n]);
        }
        let mut train_loss = from.map_or(vec![], |model| model.train_loss.clone());
        let mut validation_loss = from.map_or(vec![], |model| model.validation_loss.clone());
        if train_loss.is_empty() {
            let (train, held_out) = self.losses(&raw)?;
            train_loss.push(train);
            validation_loss.extend(held_out);
        }
        Ok((baseline, Grown { trees, raw, train_loss, validation_loss }))
    }

    /// A tree for each score, at the gradients of the scores so far.
    fn grow_round(&self, round: usize, grown: &mut Grown, scratch: &mut Scratch) -> Result<()> {
        let (n, k, settings) = (self.batch.rows(), self.width(), self.settings);
        let mut rows = self.sample(round);
        let largest: Vec<[f32; 2]> = self.ctx.install(|| {
            self.slopes(&grown.raw, &mut scratch.slopes);
            (0..k).map(|s| Gradients::largest(&scratch.slopes[s * n..(s + 1) * n])).collect()
        });
        let everyones = all_gather(self.ctx.exchange(), self.ctx.check().map(|()| (rows.len(), largest)))?;
        let drawn: usize = everyones.iter().map(|(rows, _)| rows).sum();
        if drawn == 0 && self.all.first {
            rows.push(self.train[0]);
        }
        // The rows of leaves are known, unless some rows were left out.
        let by_leaf = drawn.max(1) == self.all.train;
        for s in 0..k {
            let largest = everyones.iter().fold([0.0; 2], |most, (_, largest)| larger(most, largest[s]));
            let slopes = &scratch.slopes[s * n..(s + 1) * n];
            let cells = std::mem::take(&mut scratch.cells);
            let gradients = self.ctx.install(|| Gradients::new(slopes, largest, self.all.rows, cells));
            let options = Options {
                max_leaves: settings.max_leaves,
                max_depth: settings.max_depth,
                min_rows_leaf: settings.min_rows_leaf,
                l2: settings.l2,
                max_features: ((settings.max_features * self.bins.cols as f64).round() as usize).max(1),
                monotone: settings.monotone,
                interactions: &scratch.interactions,
                seed: rng::key(self.ctx.seed, "tree", (round * k + s) as u64),
            };
            let mut rows = rows.clone();
            let grower = Grower { ctx: self.ctx, bins: &self.bins, options: &options };
            let (mut draft, leaves) = grower.grow(&gradients, &mut rows, &mut scratch.spare)?;
            scratch.cells = gradients.cells;
            let raw = &mut grown.raw[s * n..(s + 1) * n];
            self.shrink(&mut draft, &leaves, &rows, raw)?;
            let tree = draft.finish(self.bins.cols, false);
            if by_leaf {
                self.ctx.install(|| scatter(&draft, &leaves, &rows, raw));
                add_rows(&tree, &scratch.held_out, &self.held_out, raw);
            } else {
                tree.add_to(&scratch.dense, 1.0, raw);
            }
            grown.trees.push(tree);
        }
        Ok(())
    }

    /// The curvature of each class by itself can promise more than all of them together keep: a round that would raise
    /// the loss is taken by half, and half again. The losses after it; None where even the shortest step raises it.
    fn shorten(&self, grown: &mut Grown, dense: &Block) -> Result<Option<(f64, Option<f64>)>> {
        let n = self.batch.rows();
        let (mut train, mut held_out) = self.losses(&grown.raw)?;
        let last = grown.train_loss[grown.train_loss.len() - 1];
        let first = grown.trees.len() - self.width();
        let mut halvings = 0;
        while train > last && halvings < HALVINGS {
            for (s, tree) in grown.trees[first..].iter_mut().enumerate() {
                tree.scale(0.5);
                tree.add_to(dense, -1.0, &mut grown.raw[s * n..(s + 1) * n]);
            }
            (train, held_out) = self.losses(&grown.raw)?;
            halvings += 1;
        }
        if train > last {
            grown.trees.truncate(first);
            return Ok(None);
        }
        Ok(Some((train, held_out)))
    }

    /// Sums over the rows of all workers. `add` has the rows to learn from and the held-out rows of one leaf of the
    /// merge tree.
    fn sum(&self, numbers: usize, add: impl Fn(&mut [f64], &[u32], &[u32]) + Sync) -> Result<Vec<f64>> {
        let All { rows, leaf, ref leaves, .. } = self.all;
        let leaf_sums = |at: usize| {
            let first = at * leaf - self.batch.first;
            let within = |rows: &[u32]| {
                let place = |end: usize| rows.partition_point(|&row| (row as usize) < end);
                place(first)..place(first + leaf)
            };
            let mut sums = vec![0.0; numbers];
            add(&mut sums, &self.train[within(&self.train)], &self.held_out[within(&self.held_out)]);
            sums
        };
        let sums = self.ctx.install(|| leaves.clone().into_par_iter().map(leaf_sums).collect());
        let merge = |left: &mut Vec<f64>, right: Vec<f64>| left.iter_mut().zip(right).for_each(|(l, r)| *l += r);
        merge_units(self.ctx, rows.div_ceil(leaf), leaves.clone(), Ok(sums), &merge)
    }

    /// The best constant.
    fn baseline(&self) -> Result<Vec<f64>> {
        let weight = |row: u32| self.batch.weight(row as usize);
        if self.loss == Loss::Softmax {
            let weights = self.sum(self.classes(), |sums, train, _| {
                train.iter().for_each(|&row| sums[self.y(row as usize) as usize] += weight(row));
            })?;
            let total: f64 = weights.iter().sum();
            let logs: Vec<f64> = weights.iter().map(|weight| (weight / total).max(f64::EPSILON).ln()).collect();
            let mean = logs.iter().sum::<f64>() / logs.len() as f64;
            return Ok(logs.iter().map(|log| log - mean).collect());
        }
        if let Some(q) = self.loss.quantile() {
            let pairs = self.train.iter().map(|&row| (self.y(row as usize), weight(row))).collect();
            return self.quantiles(vec![pairs], q);
        }
        let sums = self.sum(2, |sums, train, _| {
            for &row in train {
                sums[0] += weight(row) * self.y(row as usize);
                sums[1] += weight(row);
            }
        })?;
        let mean = sums[0] / sums[1];
        Ok(vec![match self.loss {
            Loss::Binary => {
                let p = mean.clamp(f64::EPSILON, 1.0 - f64::EPSILON);
                (p / (1.0 - p)).ln()
            }
            Loss::Poisson | Loss::Gamma => mean.max(f64::MIN_POSITIVE).ln(),
            _ => mean,
        }])
    }

    /// The weighted quantile of each group of (value, weight), where every worker has some pairs of every group. Each
    /// of N workers has an equal share of the groups to itself: 16 bytes a row travel, 16 n / N of them to each.
    fn quantiles(&self, groups: Vec<Vec<(f64, f64)>>, q: f64) -> Result<Vec<f64>> {
        #[derive(Serialize, Deserialize)]
        struct Pairs(#[serde(with = "as_bytes")] Vec<f64>);
        let (exchange, count) = (self.ctx.exchange(), groups.len());
        let mut mine = groups;
        if exchange.size() > 1 {
            let mut pairs = mine.iter().map(|pairs| Pairs(pairs.iter().flat_map(|&(y, w)| [y, w]).collect()));
            let share = |rank: usize| (rank + 1) * count / exchange.size() - rank * count / exchange.size();
            let to = (0..exchange.size()).map(|rank| pairs.by_ref().take(share(rank)).collect()).collect();
            mine = vec![Vec::new(); share(exchange.rank())];
            // In the order of ranks, which is that of all rows: equal values come to the same places as in one process.
            for part in all_to_all::<Vec<Pairs>>(exchange, to)? {
                for (group, Pairs(pairs)) in mine.iter_mut().zip(part) {
                    group.extend(pairs.as_chunks::<2>().0.iter().map(|&[y, w]| (y, w)));
                }
            }
        }
        let found =
            self.ctx.install(|| mine.par_iter_mut().map(|pairs| weighted_quantile(pairs, q)).collect::<Vec<_>>());
        Ok(all_gather(exchange, Ok(found))?.concat())
    }

    fn slopes(&self, raw: &[f64], slopes: &mut [[f32; 2]]) {
        let (n, k) = (self.batch.rows(), self.width());
        let weights = self.batch.weights;
        if k > 1 {
            let codes = self.batch.y.codes();
            // Pieces of all scores at once: the rows of a piece are far apart in memory, so they are dealt out first.
            let mut pieces: Vec<Vec<&mut [[f32; 2]]>> = (0..n.div_ceil(PIECE)).map(|_| Vec::with_capacity(k)).collect();
            for scores in slopes.chunks_mut(n.max(1)) {
                scores.chunks_mut(PIECE).zip(&mut pieces).for_each(|(part, piece)| piece.push(part));
            }
            pieces.par_iter_mut().enumerate().for_each(|(p, piece)| {
                let mut s = vec![0.0; k];
                for at in 0..piece[0].len() {
                    let i = p * PIECE + at;
                    (0..k).for_each(|c| s[c] = raw[c * n + i]);
                    simd::softmax(&mut s);
                    let w = weights.map_or(1.0, |weights| weights[i]);
                    for c in 0..k {
                        let own = f64::from(u8::from(codes[i] as usize == c));
                        piece[c][at] = [(w * (s[c] - own)) as f32, (w * s[c] * (1.0 - s[c])) as f32];
                    }
                }
            });
            return;
        }
        let loss = self.loss;
        slopes.par_chunks_mut(PIECE).zip(raw.par_chunks(PIECE)).enumerate().for_each(|(p, (slopes, raw))| {
            let first = p * PIECE;
            let mut fill = |y: &dyn Fn(usize) -> f64| {
                for (at, (slope, &s)) in slopes.iter_mut().zip(raw).enumerate() {
                    let w = weights.map_or(1.0, |weights| weights[first + at]);
                    let (g, h) = loss.slope(y(first + at), s);
                    *slope = [(w * g) as f32, (w * h) as f32];
                }
            };
            match (self.batch.y, loss) {
                // The common case in a form that the compiler turns into vectors.
                (Target::Class { codes, .. }, Loss::Binary) if weights.is_none() => simd::vectorised(
                    #[inline(always)]
                    || {
                        for ((slope, &s), &code) in slopes.iter_mut().zip(raw).zip(&codes[first..]) {
                            let p = simd::sigmoid(s);
                            *slope = [(p - f64::from(code)) as f32, (p * (1.0 - p)) as f32];
                        }
                    },
                ),
                (Target::Class { codes, .. }, _) => fill(&|i| f64::from(codes[i])),
                (y, _) => {
                    let values = y.real();
                    fill(&|i| values[i]);
                }
            }
        });
    }

    /// Mean loss over the rows to learn from, and over the held-out ones if there are any.
    fn losses(&self, raw: &[f64]) -> Result<(f64, Option<f64>)> {
        let (n, k) = (self.batch.rows(), self.width());
        let loss_and_weight = |rows: &[u32]| {
            let (mut sum, mut weight) = (0.0, 0.0);
            let mut s = vec![0.0; k];
            for &row in rows {
                let i = row as usize;
                let w = self.batch.weight(i);
                weight += w;
                sum += w * match k {
                    1 => self.loss.value(self.y(i), raw[i]),
                    _ => {
                        (0..k).for_each(|c| s[c] = raw[c * n + i]);
                        let own = s[self.y(i) as usize];
                        simd::softmax(&mut s) - own
                    }
                };
            }
            [sum, weight]
        };
        let sums = self.sum(4, |sums, train, held_out| {
            sums[..2].copy_from_slice(&loss_and_weight(train));
            sums[2..].copy_from_slice(&loss_and_weight(held_out));
        })?;
        Ok((sums[0] / sums[1], (self.all.held_out > 0).then(|| sums[2] / sums[3])))
    }

    /// The rows of a round. They may be none, here or everywhere.
    fn sample(&self, round: usize) -> Vec<u32> {
        if self.settings.subsample >= 1.0 {
            return self.train.clone();
        }
        let seed = rng::key(self.ctx.seed, "round", round as u64);
        let of_all = |row: u32| self.batch.first as u64 + u64::from(row);
        let kept = |row: &&u32| rng::unit(rng::key(seed, "row", of_all(**row))) < self.settings.subsample;
        self.train.iter().filter(kept).copied().collect()
    }

    /// Leaf values as they will be added: quantiles where the loss asks for them, times the learning rate.
    fn shrink(&self, draft: &mut GrownTree, leaves: &[Leaf], rows: &[u32], raw: &[f64]) -> Result<()> {
        if let Some(q) = self.loss.quantile() {
            let residual = |&row: &u32| (self.y(row as usize) - raw[row as usize], self.batch.weight(row as usize));
            let pairs = |leaf: &Leaf| rows[leaf.rows.clone()].iter().map(residual).collect();
            let values = self.quantiles(self.ctx.install(|| leaves.par_iter().map(pairs).collect()), q)?;
            leaves.iter().zip(values).for_each(|(leaf, value)| draft.values[leaf.node] = value);
        }
        draft.values.iter_mut().for_each(|value| *value *= self.settings.learning_rate);
        Ok(())
    }

    fn held_out_rows(&self) -> Vec<f64> {
        let cols = self.bins.cols;
        let mut out = vec![0.0; self.held_out.len() * cols];
        for (&row, out) in self.held_out.iter().zip(out.chunks_exact_mut(cols)) {
            self.batch.x.row(row as usize).for_each(|j, value| out[j] = value);
        }
        out
    }
}

/// A round that raises the loss even by so small a share of its step has nothing to give.
const HALVINGS: usize = 40;

/// Columns in no group stand alone.
fn interactions(given: &[Vec<usize>], cols: usize) -> Vec<Vec<usize>> {
    let mut sets = given.to_vec();
    if !sets.is_empty() {
        let alone: Vec<usize> =
            (0..cols).filter(|column| !given.iter().flatten().any(|other| other == column)).collect();
        sets.extend(alone.into_iter().map(|column| vec![column]));
    }
    sets
}

/// Adds the value of each leaf to its rows.
fn scatter(draft: &GrownTree, leaves: &[Leaf], rows: &[u32], raw: &mut [f64]) {
    struct Shared(*mut f64);
    // SAFETY: every row is in one leaf and once in it, so no two threads write the same number.
    unsafe impl Sync for Shared {}
    assert!(rows.iter().all(|&row| (row as usize) < raw.len()));
    let shared = Shared(raw.as_mut_ptr());
    let shared = &shared;
    leaves.par_iter().for_each(|leaf| {
        let value = draft.values[leaf.node];
        for &row in &rows[leaf.rows.clone()] {
            // SAFETY: checked above to lie inside, and see `Shared`.
            unsafe { *shared.0.add(row as usize) += value };
        }
    });
}

/// Adds a tree's values to some rows, whose columns are in `dense`.
fn add_rows(tree: &Tree, dense: &[f64], rows: &[u32], raw: &mut [f64]) {
    if rows.is_empty() {
        return;
    }
    if let Ok(x) = X::dense(dense, tree.cols()) {
        tree.for_each_leaf(&Block::new(&x), |at, leaf| raw[rows[at] as usize] += tree.leaf_value(leaf)[0]);
    }
}

/// No loss of the last `patience` rounds is below the one before them.
fn stalled(losses: &[f64], patience: usize, tol: f64) -> bool {
    if losses.len() <= patience {
        return false;
    }
    let (before, recent) = losses.split_at(losses.len() - patience);
    before.last().is_some_and(|&reference| recent.iter().all(|&loss| loss > reference - tol))
}

/// A start and trees to add to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoostingModel {
    pub cols: usize,
    /// 0 for numbers.
    pub classes: usize,
    pub loss: Loss,
    pub baseline: Vec<f64>,
    /// Round by round, one for each score.
    pub trees: Vec<Tree>,
    pub train_loss: Vec<f64>,
    pub validation_loss: Vec<f64>,
}

impl BoostingModel {
    /// Raw scores, row-major.
    pub fn scores(&self, x: &X) -> Vec<f64> {
        let (n, k) = (x.rows(), self.baseline.len());
        let block = Block::new(x);
        let mut out = vec![0.0; n * k];
        let mut column = vec![0.0; n];
        for s in 0..k {
            column.fill(self.baseline[s]);
            self.trees.iter().skip(s).step_by(k).for_each(|tree| tree.add_to(&block, 1.0, &mut column));
            column.iter().enumerate().for_each(|(i, score)| out[i * k + s] = *score);
        }
        out
    }
}

impl Model for BoostingModel {
    fn cols(&self) -> usize {
        self.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        match self.classes {
            0 => vec![(Output::Value, 1)],
            k => vec![(Output::Class, 1), (Output::Probability, k), (Output::Decision, self.baseline.len())],
        }
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        let scores = self.scores(x);
        let k = self.baseline.len();
        match output {
            Output::Decision => out.copy_from_slice(&scores),
            Output::Value => out.iter_mut().zip(scores).for_each(|(out, s)| *out = self.loss.mean(s)),
            Output::Class if k == 1 => out.iter_mut().zip(scores).for_each(|(out, s)| *out = f64::from(s > 0.0)),
            Output::Class => {
                out.iter_mut().zip(scores.chunks_exact(k)).for_each(|(out, s)| *out = first_largest(s) as f64)
            }
            _ if k == 1 => {
                for (out, &s) in out.chunks_exact_mut(2).zip(&scores) {
                    out[1] = simd::sigmoid(s);
                    out[0] = simd::sigmoid(-s);
                }
            }
            _ => {
                out.copy_from_slice(&scores);
                out.chunks_exact_mut(k).for_each(|row| {
                    simd::softmax(row);
                });
            }
        }
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        vec![("train_score_", negated(&self.train_loss)), ("validation_score_", negated(&self.validation_loss))]
    }

    fn check(&self) -> Result<()> {
        let scores = match (self.loss, self.classes) {
            (Loss::Softmax, 3..) => self.classes,
            (Loss::Binary, 2) => 1,
            (Loss::Binary | Loss::Softmax, _) | (_, 1..) => 0,
            _ => 1,
        };
        if scores == 0 || self.baseline.len() != scores || !self.trees.len().is_multiple_of(scores) || self.cols == 0 {
            return Err(Error::Data("the stored boosting is inconsistent".into()));
        }
        check_trees(&self.trees, self.cols, 1)
    }
}

/// Scores are losses with the other sign.
fn negated(losses: &[f64]) -> Array {
    (&losses.iter().map(|loss| -loss).collect::<Vec<_>>()).into()
}

impl Settings<'_> {
    /// Nanoseconds: columns are cut into bins once; each tree counts rows, level by level, for each class.
    /// Whether rows are held out to say when to stop.
    fn stops_early(&self, rows: usize) -> bool {
        match self.early_stopping {
            EarlyStopping::Auto => rows > 10_000,
            EarlyStopping::Yes => true,
            EarlyStopping::No => false,
        }
    }

    fn cost(&self, shape: &Shape) -> f64 {
        let (n, _, classes) = shape.sizes();
        // Bins are counted in every column, however few values a sparse row holds.
        let p = shape.cols.max(1) as f64;
        // Held-out rows stop it before the end, where it looks at them.
        let rounds = self.max_iter as f64 * if self.stops_early(shape.rows) { 0.7 } else { 1.0 };
        let trees = rounds * if classes > 2.0 { classes } else { 1.0 };
        let leaves = (self.max_leaves as f64).min(1.0 + n / self.min_rows_leaf as f64);
        let levels = leaves.log2().min(self.max_depth as f64).max(1.0);
        let tried = (self.max_features * p).max(1.0);
        // Rows are counted level by level, and every leaf looks at its bins whether rows fill them or not.
        let distinct = if shape.distinct > 0 { shape.distinct as f64 } else { n };
        let bins = (self.max_bins as f64).min(n).min(distinct);
        let tree = n * self.subsample * (20.0 + levels * tried) + 18.0 * leaves * tried * bins;
        1e5 + n * p * 30.0 + trees * tree
    }
}
