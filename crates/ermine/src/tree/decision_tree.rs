//! Decision trees: `min_T sum_leaves sum_{i in leaf} w_i loss(y_i, value of leaf) + ccp_alpha |leaves|` over
//! axis-parallel partitions, greedily.
//!
//! CART (Breiman, Friedman, Olshen, Stone 1984) with exact best splits: every midpoint between consecutive values of
//! every column is tried, the split that lowers the impurity most is kept ([`grow`](crate::engine::grow)). Missing
//! values are sent the better way; categories are split into sets of levels without one-hot columns. Growth stops by
//! size, depth, decrease or a significance test, and the grown tree is cut back by cost complexity or on held-out rows
//! ([`prune`]).
//!
//! Several workers share the columns and grow the tree of one, bit by bit: see [`grow`](crate::engine::grow).
//!
//! Cost O(columns x rows x depth) after one sort of each column; predicting is O(depth). Greedy: not the best of all
//! trees, which is NP-hard.

use super::{
    common::{
        Amount, ClassCriterion, Criterion, DecisionTreeModel, Growth, MaxFeatures, RealCriterion, Splitter, Targets,
        check_target, cost_of_ranks, cost_of_tree, plant, weights,
    },
    prune,
};
use crate::{
    Certificate, Ctx, Error, Estimator, Fit, FitLog, Flexibility, Halt, Info, Passes, Result, Shape, Source, Task,
    core::{
        ctx::all_gather,
        param::{above_to, at_least, between, from_to, linear, log},
        params, rng,
    },
    engine::{columns::Columns, grow::Limits, tree::GrownTree},
};

params! {
    /// Decision tree for classes. Easy to read, needs no scaling, handles categories and missing values.
    pub struct DecisionTreeClassifier {
        /// Impurity measure.
        criterion: ClassCriterion = ClassCriterion::Gini;
        /// How thresholds are chosen: the best one of each column, or a random one.
        splitter: Splitter = Splitter::Best;
        /// Maximum tree depth; none for no limit.
        max_depth: Option<usize> = None, at_least(1.0), linear(2.0, 20.0);
        /// Minimum number of rows to split a node: a count, or a fraction of all rows.
        min_samples_split: Amount = Amount::Count(2), at_least(2.0);
        /// Minimum number of rows in a leaf: a count, or a fraction of all rows.
        min_samples_leaf: Amount = Amount::Count(1), at_least(1.0), log(1.0, 100.0);
        /// Minimum fraction of the total weight in a leaf.
        min_weight_fraction_leaf: f64 = 0.0, between(0.0, 0.5);
        /// Number of columns to try at each split: none for all, sqrt, log2, a count or a fraction.
        max_features: MaxFeatures = MaxFeatures::All;
        /// Maximum number of leaves, grown best split first; none for no limit.
        max_leaf_nodes: Option<usize> = None, at_least(2.0), log(4.0, 512.0);
        /// Minimum decrease of the weighted impurity by a split.
        min_impurity_decrease: f64 = 0.0, at_least(0.0);
        /// Complexity parameter of cost-complexity pruning: cost of a leaf.
        ccp_alpha: f64 = 0.0, at_least(0.0), log(1e-5, 1e-1);
        /// Significance level that a split must reach in a chi-squared test; none for no test.
        significance: Option<f64> = None, above_to(0.0, 1.0);
        /// Fraction of rows to hold out for reduced-error pruning.
        prune_fraction: f64 = 0.0, from_to(0.0, 1.0);
    }
}

params! {
    /// Decision tree for numbers: a piecewise constant function. Handles categories and missing values.
    pub struct DecisionTreeRegressor {
        /// Impurity measure.
        criterion: RealCriterion = RealCriterion::SquaredError;
        /// How thresholds are chosen: the best one of each column, or a random one.
        splitter: Splitter = Splitter::Best;
        /// Maximum tree depth; none for no limit.
        max_depth: Option<usize> = None, at_least(1.0), linear(2.0, 20.0);
        /// Minimum number of rows to split a node: a count, or a fraction of all rows.
        min_samples_split: Amount = Amount::Count(2), at_least(2.0);
        /// Minimum number of rows in a leaf: a count, or a fraction of all rows.
        min_samples_leaf: Amount = Amount::Count(1), at_least(1.0), log(1.0, 100.0);
        /// Minimum fraction of the total weight in a leaf.
        min_weight_fraction_leaf: f64 = 0.0, between(0.0, 0.5);
        /// Number of columns to try at each split: none for all, sqrt, log2, a count or a fraction.
        max_features: MaxFeatures = MaxFeatures::All;
        /// Maximum number of leaves, grown best split first; none for no limit.
        max_leaf_nodes: Option<usize> = None, at_least(2.0), log(4.0, 512.0);
        /// Minimum decrease of the weighted impurity by a split.
        min_impurity_decrease: f64 = 0.0, at_least(0.0);
        /// Complexity parameter of cost-complexity pruning: cost of a leaf.
        ccp_alpha: f64 = 0.0, at_least(0.0), log(1e-5, 1e-1);
        /// Significance level that a split must reach in an F test (absolute_error: median test); none for no test.
        significance: Option<f64> = None, above_to(0.0, 1.0);
        /// Fraction of rows to hold out for reduced-error pruning.
        prune_fraction: f64 = 0.0, from_to(0.0, 1.0);
    }
}

pub(super) const REASON: &str = "splits need all rows of a node sorted by every column";

/// What the parameter structs of single trees have in common, as numbers for a given size.
pub(super) struct TreeSettings {
    pub name: &'static str,
    pub criterion: Criterion,
    pub limits: Limits,
    pub ccp_alpha: f64,
    pub prune_fraction: f64,
}

impl TreeSettings {
    pub fn growth(&self, seed: u64) -> Growth<'_> {
        Growth { criterion: self.criterion, limits: &self.limits, seed, parallel: true }
    }
}

macro_rules! plan {
    ($type:ty, $criterion:path) => {
        impl $type {
            pub(super) fn plan(&self, rows: usize, cols: usize, weight: f64) -> TreeSettings {
                let limits = Limits {
                    max_depth: self.max_depth.unwrap_or(usize::MAX),
                    min_rows_split: self.min_samples_split.of(rows).max(2),
                    min_rows_leaf: self.min_samples_leaf.of(rows).max(1),
                    min_weight_leaf: self.min_weight_fraction_leaf * weight,
                    max_features: self.max_features.of(cols),
                    max_leaves: self.max_leaf_nodes,
                    min_decrease: self.min_impurity_decrease,
                    coarse: false,
                    random: self.splitter == Splitter::Random,
                    significance: self.significance,
                };
                TreeSettings {
                    name: <$type as crate::Params>::NAME,
                    criterion: $criterion(self.criterion),
                    limits,
                    ccp_alpha: self.ccp_alpha,
                    prune_fraction: self.prune_fraction,
                }
            }

            /// Penalty and total impurity of every best subtree, from the grown tree to its root.
            pub fn pruning_path(&self, data: &dyn Source, ctx: &Ctx) -> Result<Vec<prune::Step>> {
                let batch = data.in_memory(<$type as crate::Params>::NAME, REASON)?;
                let columns = Columns::new(ctx, &batch.x, data.features())?;
                let weights = weights(&batch);
                let plan = self.plan(batch.rows(), batch.x.cols(), weights.iter().sum());
                let draft = ctx.install(|| plant(ctx, &columns, &batch.y, &weights, &plan.growth(ctx.seed)))?;
                Ok(prune::path(&draft))
            }
        }
    };
}
plan!(DecisionTreeClassifier, Criterion::Class);
plan!(DecisionTreeRegressor, Criterion::Real);

impl Estimator for DecisionTreeClassifier {
    type Model = DecisionTreeModel;

    const INFO: Info = Info {
        missing: true,
        categories: true,
        random: true,
        flexibility: Flexibility::Tree,
        ..Info::new(
            "tree",
            Task::Classification,
            "min_T sum_leaves w_leaf impurity(leaf) + ccp_alpha |leaves|",
            Passes::Shares(REASON),
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        let tried = self.max_features.of(shape.cols.max(1));
        let random = self.splitter == Splitter::Random;
        let tree = cost_of_tree(shape, tried, self.max_depth, self.max_leaf_nodes, random);
        1e-9 * (cost_of_ranks(shape) + 1.3 * tree)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<DecisionTreeModel>> {
        fit(|rows, cols, weight| self.plan(rows, cols, weight), data, ctx)
    }
}

impl Estimator for DecisionTreeRegressor {
    type Model = DecisionTreeModel;

    const INFO: Info = Info {
        missing: true,
        categories: true,
        random: true,
        multi_target: true,
        flexibility: Flexibility::Tree,
        ..Info::new(
            "tree",
            Task::Regression,
            "min_T sum_leaves sum_{i in leaf} w_i loss(y_i, value) + ccp_alpha |leaves|",
            Passes::Shares(REASON),
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        let tried = self.max_features.of(shape.cols.max(1));
        let random = self.splitter == Splitter::Random;
        let tree = cost_of_tree(shape, tried, self.max_depth, self.max_leaf_nodes, random);
        1e-9 * (cost_of_ranks(shape) + 2.0 * tree)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<DecisionTreeModel>> {
        fit(|rows, cols, weight| self.plan(rows, cols, weight), data, ctx)
    }
}

fn fit(
    plan: impl Fn(usize, usize, f64) -> TreeSettings,
    data: &dyn Source,
    ctx: &Ctx,
) -> Result<Fit<DecisionTreeModel>> {
    let shape = data.shape();
    let name = plan(shape.rows, shape.cols, 1.0).name;
    let batch = data.share_in_memory(name, REASON)?;
    let targets = Targets::new(ctx, &batch, shape.rows)?;
    let (y, all) = (targets.y(), &targets.weights);
    let plan = plan(shape.rows, shape.cols, all.iter().sum());
    check_target(name, plan.criterion, &y)?;
    let columns = Columns::shared(ctx, &batch, shape.rows, data.features())?;
    let mut weights = all.clone();
    let mut held_out = Vec::new();
    if plan.prune_fraction > 0.0 {
        let drawn = |row: usize| rng::unit(rng::key(ctx.seed, "prune", row as u64)) < plan.prune_fraction;
        held_out = (0..shape.rows).filter(|&row| drawn(row)).map(|row| row as u32).collect();
        held_out.iter().for_each(|&row| weights[row as usize] = 0.0);
        if weights.iter().all(|&weight| weight == 0.0) {
            return Err(Error::Data(format!(
                "{name}: prune_fraction={} leaves no row to grow on",
                plan.prune_fraction
            )));
        }
    }
    let grow = || plant(ctx, &columns, &y, &weights, &plan.growth(ctx.seed));
    let mut draft = if ctx.exchange().size() == 1 { ctx.install(grow)? } else { grow()? };
    let mut notes = Vec::new();
    let mut cut = |draft: &mut GrownTree, what: &str, prune: &mut dyn FnMut(&mut GrownTree)| {
        let before = draft.finish(shape.cols, false).leaves();
        prune(draft);
        let after = draft.finish(shape.cols, false).leaves();
        notes.push(format!("{what} cut {before} leaves back to {after}"));
    };
    if !held_out.is_empty() {
        let here = held_out.iter().filter_map(|&row| (row as usize).checked_sub(batch.first));
        let leaves = prune::leaves(&draft, &batch.x, here.filter(|&row| row < batch.rows()));
        let leaves = all_gather(ctx.exchange(), Ok(leaves))?.concat();
        cut(&mut draft, "reduced error pruning", &mut |draft| {
            prune::reduced_error(draft, &y, all, &held_out, &leaves);
        });
    }
    if plan.ccp_alpha > 0.0 {
        cut(&mut draft, "cost complexity pruning", &mut |draft| prune::cost_complexity(draft, plan.ccp_alpha));
    }
    let tree = draft.finish(shape.cols, true);
    draft.record(ctx);
    let impurity = prune::path(&draft)[0].impurity;
    // A pass over the rows for each level.
    let log = FitLog::ended(tree.depth(), vec![impurity], Halt::Passes, Certificate::None).with_notes(notes);
    let model = DecisionTreeModel {
        classes: match plan.criterion {
            Criterion::Class(_) => tree.outputs(),
            Criterion::Real(_) => 0,
        },
        importances: draft.importances(shape.cols),
        max_features: plan.limits.max_features,
        tree,
    };
    Ok(Fit::new(model, log))
}
