//! Forests: the mean of many trees that were made to differ, `f(x) = 1/T sum_t f_t(x)`.
//!
//! Random forest (Breiman 2001): each tree sees a bootstrap sample of the rows, each split a random choice of the
//! columns. Extremely randomised trees (Geurts, Ernst, Wehenkel 2006): all rows, and one random threshold for each
//! tried column. Rows that a tree did not see judge it: out-of-bag predictions cost no held-out data.
//!
//! All trees share one matrix of ranks; a bootstrap sample is a weight for each row, never a copy. Trees grow in
//! parallel, each from a seed of its own, which with the rows it draws is scikit-learn's ([`draws`]). Going on from a
//! forest grows the trees that are missing: the forest is that of one fit. Cost O(trees x tried columns x rows x depth).
//!
//! Several workers come to the forest of one process, bit by bit. Where every worker can hold all columns each grows
//! every N-th tree; otherwise they share the columns and grow one tree after the other together: see
//! [`grow`](crate::engine::grow). A worker keeps the out-of-bag predictions of its own rows.

use super::{
    common::{
        Amount, ClassCriterion, Criterion, Growth, MaxFeatures, RealCriterion, Targets, check_draws, check_target,
        cost_of_ranks, cost_of_tree, plant,
    },
    decision_tree::REASON,
    draws, prune,
};
use crate::{
    Array, Ctx, Error, Estimator, Fit, FitLog, Flexibility, Info, Matrix, Model, Output, Params, Passes, Result, Shape,
    Source, Target, Task, X,
    core::{
        ctx::{Progress, all_gather},
        memory,
        model::Property,
        param::{at_least, between, linear, log},
        params,
    },
    engine::{
        columns::Columns,
        grow::Limits,
        tree::{Block, Tree, check_trees, first_largest, normalise},
    },
};
use serde::{Deserialize, Serialize};

/// Four estimators that differ in criterion, columns tried, bootstrap and thresholds.
macro_rules! forest {
    ($name:ident, $doc:literal, $criterion:ty = $default:expr, $wrap:path, $max_features:expr, $bootstrap:expr, $random:expr, $task:expr) => {
        params! {
            #[doc = $doc]
            pub struct $name {
                /// Number of trees.
                n_estimators: usize = 100, at_least(1.0), log(50.0, 500.0);
                /// Impurity measure.
                criterion: $criterion = $default;
                /// Maximum tree depth; none for no limit.
                max_depth: Option<usize> = None, at_least(1.0), linear(4.0, 30.0);
                /// Minimum number of rows to split a node: a count, or a fraction of all rows.
                min_samples_split: Amount = Amount::Count(2), at_least(2.0);
                /// Minimum number of rows in a leaf: a count, or a fraction of all rows.
                min_samples_leaf: Amount = Amount::Count(1), at_least(1.0), log(1.0, 20.0);
                /// Minimum fraction of the total weight in a leaf.
                min_weight_fraction_leaf: f64 = 0.0, between(0.0, 0.5);
                /// Number of columns to try at each split: none for all, sqrt, log2, a count or a fraction.
                max_features: MaxFeatures = $max_features;
                /// Maximum number of leaves of a tree, grown best split first; none for no limit.
                max_leaf_nodes: Option<usize> = None, at_least(2.0);
                /// Minimum decrease of the weighted impurity by a split.
                min_impurity_decrease: f64 = 0.0, at_least(0.0);
                /// Whether to grow each tree on a bootstrap sample of the rows instead of all rows.
                bootstrap: bool = $bootstrap;
                /// Whether to compute the score on out-of-bag rows; needs bootstrap.
                oob_score: bool = false;
                /// Complexity parameter of cost-complexity pruning: cost of a leaf.
                ccp_alpha: f64 = 0.0, at_least(0.0);
                /// Size of a bootstrap sample: none for the number of rows, a count or a fraction.
                max_samples: Option<Amount> = None;
            }
        }

        impl Estimator for $name {
            type Model = ForestModel;

            const INFO: Info = Info {
                resume: true,
                missing: true,
                categories: true,
                random: true,
                multi_target: matches!($task, Task::Regression),
                exceptions: &[(
                    Property::WeightIsRepetition,
                    "rows and columns are drawn at random, and a repeated row is drawn more often than a heavy one",
                )],
                flexibility: Flexibility::Ensemble,
                ..Info::new(
                    "ensemble",
                    $task,
                    "f(x) = 1/T sum_t tree_t(x), each tree greedy on its own sample",
                    Passes::Shares(REASON),
                )
            };

            fn cost(&self, shape: &Shape) -> f64 {
                let sample = sampled(self.max_samples.filter(|_| self.bootstrap), shape.rows);
                let tried = self.max_features.of(shape.cols.max(1));
                let sampled = Shape { rows: sample.max(1), ..shape.clone() };
                let tree = cost_of_tree(&sampled, tried, self.max_depth, self.max_leaf_nodes, $random);
                1e-9 * (cost_of_ranks(shape) + self.n_estimators as f64 * (tree + 20.0 * shape.rows as f64))
            }

            fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<ForestModel>> {
                self.settings(&data.shape()).fit(None, data, ctx)
            }

            fn learn_more(&self, model: &ForestModel, data: &dyn Source, ctx: &Ctx) -> Result<Fit<ForestModel>> {
                self.settings(&data.shape()).fit(Some(model), data, ctx)
            }
        }

        impl $name {
            fn settings(&self, shape: &Shape) -> ForestSettings {
                ForestSettings {
                    name: Self::NAME,
                    trees: self.n_estimators,
                    criterion: $wrap(self.criterion),
                    limits: Limits {
                        max_depth: self.max_depth.unwrap_or(usize::MAX),
                        min_rows_split: self.min_samples_split.of(shape.rows).max(2),
                        min_rows_leaf: self.min_samples_leaf.of(shape.rows).max(1),
                        max_features: self.max_features.of(shape.cols),
                        max_leaves: self.max_leaf_nodes,
                        min_decrease: self.min_impurity_decrease,
                        random: $random,
                        coarse: true,
                        ..Limits::none(shape.cols)
                    },
                    min_weight_fraction: self.min_weight_fraction_leaf,
                    ccp_alpha: self.ccp_alpha,
                    bootstrap: self.bootstrap.then(|| sampled(self.max_samples, shape.rows)),
                    oob: self.oob_score,
                }
            }
        }
    };
}

forest!(
    RandomForestClassifier,
    "Averages many decision trees, each grown on its own sample of rows with random columns at each split. A strong \
     default.",
    ClassCriterion = ClassCriterion::Gini,
    Criterion::Class,
    MaxFeatures::Sqrt,
    true,
    false,
    Task::Classification
);
forest!(
    RandomForestRegressor,
    "Averages many regression trees, each grown on its own sample of rows. A strong default for numbers.",
    RealCriterion = RealCriterion::SquaredError,
    Criterion::Real,
    MaxFeatures::Share(1.0),
    true,
    false,
    Task::Regression
);
forest!(
    ExtraTreesClassifier,
    "Averages many decision trees with random thresholds: smoother than a random forest, and faster to grow.",
    ClassCriterion = ClassCriterion::Gini,
    Criterion::Class,
    MaxFeatures::Sqrt,
    false,
    true,
    Task::Classification
);
forest!(
    ExtraTreesRegressor,
    "Averages many regression trees with random thresholds: smoother than a random forest, and faster to grow.",
    RealCriterion = RealCriterion::SquaredError,
    Criterion::Real,
    MaxFeatures::Share(1.0),
    false,
    true,
    Task::Regression
);

struct ForestSettings {
    name: &'static str,
    trees: usize,
    criterion: Criterion,
    limits: Limits,
    min_weight_fraction: f64,
    ccp_alpha: f64,
    /// Rows drawn for each tree.
    bootstrap: Option<usize>,
    oob: bool,
}

/// Trees grown before any is added: threads wait for each other in between, but the rows that a tree did not see are
/// kept until then.
const TREES: u64 = 64;
const TREES_OUT_OF_BAG: u64 = 16;

/// Rows that a tree draws; a share is rounded down, as in scikit-learn.
fn sampled(draws: Option<Amount>, rows: usize) -> usize {
    match draws {
        None => rows,
        Some(Amount::Count(count)) => count,
        Some(Amount::Share(share)) => ((share * rows as f64) as usize).max(1),
    }
}

impl ForestSettings {
    fn fit(&self, from: Option<&ForestModel>, data: &dyn Source, ctx: &Ctx) -> Result<Fit<ForestModel>> {
        let (batch, shape) = (data.share_in_memory(self.name, REASON)?, data.shape());
        self.check(shape.rows)?;
        let targets = Targets::new(ctx, &batch, shape.rows)?;
        let (y, own) = (targets.y(), &targets.weights);
        check_target(self.name, self.criterion, &y)?;
        let columns = Columns::shared(ctx, &batch, shape.rows, data.features())?.for_everyone(ctx, shape.rows)?;
        let (n, cols, exchange) = (shape.rows, shape.cols, ctx.exchange());
        let (rank, size) = (exchange.rank() as u64, exchange.size() as u64);
        let parallel_inside = columns.dealt.is_some() || self.trees < 4 * ctx.threads() * exchange.size();
        let seeds = draws::seeds(ctx.seed, self.trees);
        let seed = |number: u64| seeds[number as usize];
        let grow = |number: u64| -> Result<(Tree, Vec<f64>)> {
            if columns.dealt.is_none() {
                ctx.check()?;
            }
            let weights: Vec<f64> = match self.bootstrap.map(|draws| draws::bootstrap(seed(number), n, draws)) {
                Some(counts) => own.iter().zip(counts).map(|(w, count)| w * f64::from(count)).collect(),
                None => own.clone(),
            };
            let total: f64 = weights.iter().sum();
            let weights = if total > 0.0 { weights } else { own.clone() };
            let limits = Limits { min_weight_leaf: self.min_weight_fraction * total, ..self.limits.clone() };
            let seed = seed(number);
            let growth = Growth { criterion: self.criterion, limits: &limits, seed, parallel: parallel_inside };
            let mut draft = plant(ctx, &columns, &y, &weights, &growth)?;
            if self.ccp_alpha > 0.0 {
                prune::cost_complexity(&mut draft, self.ccp_alpha);
            }
            Ok((draft.finish(cols, false), draft.importances(cols)))
        };
        let block = self.oob.then(|| Block::new(&batch.x));
        let unseen = |number: u64, tree: &Tree| -> Vec<(u32, u32)> {
            let mut unseen = Vec::new();
            if let (Some(block), Some(draws)) = (&block, self.bootstrap) {
                let counts = draws::bootstrap(seed(number), n, draws);
                tree.for_each_leaf(block, |row, leaf| {
                    if counts[batch.first + row] == 0 {
                        unseen.push((row as u32, leaf as u32));
                    }
                });
            }
            unseen
        };
        let (mut trees, mut importances) = self.start(from, &y, cols)?;
        let mut oob = Votes { sums: vec![], counts: vec![0; if self.oob { batch.rows() } else { 0 }] };
        let at_once = size * if self.oob { TREES_OUT_OF_BAG } else { TREES };
        for (block, known) in trees.chunks(at_once as usize).enumerate() {
            let first = block as u64 * at_once;
            let unseen = ctx.map(known.len(), |i| Ok(unseen(first + i as u64, &known[i])))?;
            known.iter().zip(unseen).for_each(|(tree, unseen)| oob.add(tree, &unseen));
        }
        for first in (trees.len() as u64..self.trees as u64).step_by(at_once as usize) {
            let numbers = first..(first + at_once).min(self.trees as u64);
            let grown: Vec<_> = if columns.dealt.is_some() {
                // Everyone grows the same tree at the same time.
                numbers.clone().map(grow).collect::<Result<_>>()?
            } else {
                let mine: Vec<u64> = numbers.clone().filter(|number| number % size == rank).collect();
                let mine = ctx.map(mine.len(), |i| grow(mine[i]));
                let mut everyones: Vec<_> = all_gather(exchange, mine)?.into_iter().map(Vec::into_iter).collect();
                numbers.clone().filter_map(|number| everyones[(number % size) as usize].next()).collect()
            };
            let unseen = ctx.map(grown.len(), |i| Ok(unseen(first + i as u64, &grown[i].0)))?;
            for ((tree, shares), unseen) in grown.into_iter().zip(unseen) {
                importances.iter_mut().zip(shares).for_each(|(sum, share)| *sum += share);
                oob.add(&tree, &unseen);
                trees.push(tree);
            }
            let step = trees.len();
            ctx.progress(Progress { what: "trees", step, of: Some(self.trees), value: None });
        }
        normalise(&mut importances);
        let classes = match self.criterion {
            Criterion::Class(_) => trees[0].outputs(),
            Criterion::Real(_) => 0,
        };
        let (mut notes, mut score, mut rows) = (Vec::new(), None, Vec::new());
        if self.oob {
            let predicted = oob.means(trees[0].outputs());
            let values = all_gather(exchange, Ok(predicted.values.clone()))?.concat();
            let all = Matrix { values, rows: n, cols: predicted.cols };
            let never = (0..n).filter(|&i| all[(i, 0)].is_nan()).count();
            if never > 0 {
                notes.push(format!("{never} rows were in the sample of every tree and have no out-of-bag prediction"));
            }
            score = oob_score(&all, &y, own);
            let name = if classes > 0 { "oob_decision_function_" } else { "oob_prediction_" };
            rows.push((name, (&predicted).into()));
        }
        let log = FitLog::members(trees.len()).with_notes(notes);
        let model = ForestModel { classes, trees, importances, oob_score: score };
        Ok(Fit { rows, ..Fit::new(model, log) })
    }

    /// What is refused before a tree grows.
    fn check(&self, rows: usize) -> Result<()> {
        if self.oob && self.bootstrap.is_none() {
            return Err(Error::Parameter {
                model: self.name.into(),
                name: "oob_score".into(),
                value: "true".into(),
                allowed: "false without bootstrap, since every tree sees all rows".into(),
            });
        }
        memory::check(self.name, &format!("n_estimators={}", self.trees), &[self.trees], size_of::<Tree>())?;
        check_draws(self.name, self.bootstrap.unwrap_or(0), rows)
    }

    /// The trees that are there, and the sums of their importances: those of each add up to one, or to nothing where it
    /// has no split.
    fn start(&self, from: Option<&ForestModel>, y: &Target, cols: usize) -> Result<(Vec<Tree>, Vec<f64>)> {
        let Some(from) = from else { return Ok((Vec::new(), vec![0.0; cols])) };
        let refused = |what: String| Err(Error::Data(format!("{} cannot go on from a forest of {what}", self.name)));
        let outputs = match *y {
            Target::Class { classes, .. } => (classes, classes),
            Target::Real { cols, .. } => (0, cols),
            Target::None => (0, 0),
        };
        if (from.classes, from.trees[0].outputs()) != outputs {
            return refused("another target".into());
        }
        if from.trees.len() > self.trees {
            return refused(format!("{} trees to n_estimators={}", from.trees.len(), self.trees));
        }
        let split = from.trees.iter().filter(|tree| tree.leaves() > 1).count();
        Ok((from.trees.clone(), from.importances.iter().map(|share| share * split as f64).collect()))
    }
}

/// Sums of the predictions of trees that did not see a row.
struct Votes {
    sums: Vec<f64>,
    counts: Vec<u32>,
}

impl Votes {
    fn add(&mut self, tree: &Tree, unseen: &[(u32, u32)]) {
        let k = tree.outputs();
        self.sums.resize(self.counts.len() * k, 0.0);
        for &(row, leaf) in unseen {
            let row = row as usize;
            self.counts[row] += 1;
            let sums = &mut self.sums[row * k..(row + 1) * k];
            sums.iter_mut().zip(tree.leaf_value(leaf as usize)).for_each(|(sum, value)| *sum += value);
        }
    }

    /// NaN where no tree can tell.
    fn means(&self, k: usize) -> Matrix {
        Matrix::from_fn(self.counts.len(), k, |i, j| self.sums[i * k + j] / f64::from(self.counts[i]))
    }
}

/// Accuracy, or R^2, over the rows that have a prediction.
fn oob_score(predicted: &Matrix, y: &Target, weights: &[f64]) -> Option<f64> {
    let known: Vec<usize> = (0..predicted.rows).filter(|&i| !predicted[(i, 0)].is_nan() && weights[i] > 0.0).collect();
    let total: f64 = known.iter().map(|&i| weights[i]).sum();
    match *y {
        _ if known.is_empty() => None,
        Target::Class { codes, .. } => {
            let right = known.iter().filter(|&&i| first_largest(predicted.row(i)) == codes[i] as usize);
            Some(right.map(|&i| weights[i]).sum::<f64>() / total)
        }
        Target::Real { values, cols } => {
            let scores = (0..cols).map(|j| {
                let mean = known.iter().map(|&i| weights[i] * values[i * cols + j]).sum::<f64>() / total;
                let (mut off, mut all) = (0.0, 0.0);
                for &i in &known {
                    off += weights[i] * (values[i * cols + j] - predicted[(i, j)]).powi(2);
                    all += weights[i] * (values[i * cols + j] - mean).powi(2);
                }
                1.0 - off / all
            });
            Some(scores.sum::<f64>() / cols as f64)
        }
        Target::None => None,
    }
}

/// Trees whose values are averaged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForestModel {
    pub trees: Vec<Tree>,
    /// 0 when leaves hold numbers.
    pub classes: usize,
    pub importances: Vec<f64>,
    pub oob_score: Option<f64>,
}

impl Model for ForestModel {
    fn cols(&self) -> usize {
        self.importances.len()
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        let leaf = (Output::Leaf, self.trees.len());
        match self.classes {
            0 => vec![(Output::Value, self.trees[0].outputs()), leaf],
            k => vec![(Output::Class, 1), (Output::Probability, k), leaf],
        }
    }

    fn rows_at_once(&self) -> usize {
        1 << 14
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        let block = Block::new(x);
        if output == Output::Leaf {
            for (t, tree) in self.trees.iter().enumerate() {
                tree.for_each_leaf(&block, |row, leaf| out[row * self.trees.len() + t] = leaf as f64);
            }
            return Ok(());
        }
        let k = self.trees[0].outputs();
        let mut own = Vec::new();
        let sums: &mut [f64] = match output {
            Output::Class => {
                own.resize(x.rows() * k, 0.0);
                &mut own
            }
            _ => out,
        };
        self.trees.iter().for_each(|tree| tree.add_to(&block, 1.0, sums));
        let share = self.trees.len() as f64;
        sums.iter_mut().for_each(|sum| *sum /= share);
        if output == Output::Class {
            out.iter_mut().zip(own.chunks_exact(k)).for_each(|(out, shares)| *out = first_largest(shares) as f64);
        }
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let mut out: Vec<(&'static str, Array)> = vec![("feature_importances_", (&self.importances).into())];
        out.extend(self.oob_score.map(|score| ("oob_score_", score.into())));
        out
    }

    fn check(&self) -> Result<()> {
        let Some(first) = self.trees.first() else {
            return Err(Error::Data("the stored forest has no trees".into()));
        };
        let outputs = if self.classes == 0 { first.outputs() } else { self.classes };
        check_trees(&self.trees, self.importances.len(), outputs)
    }
}
