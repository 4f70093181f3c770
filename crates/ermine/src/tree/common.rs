//! What single trees and forests share: parameters with several forms, the choice of an impurity, the model of one
//! tree.

use crate::{
    Array, Ctx, Error, Model, Output, Result, Shape, Target, Value, X,
    core::{
        Batch, TargetKind, choice,
        ctx::all_gather,
        param::{Field, Form, Range, above_to, any, at_least},
    },
    engine::{
        as_bytes,
        columns::Columns,
        grow::{Limits, grow},
        impurity::{Absolutes, Classes, Entropy, Gini, Moments, Poisson, Reals, Squares},
        tree::{Block, GrownTree, Tree, check_trees, first_largest},
    },
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

choice! {
    /// Impurity measure.
    pub enum ClassCriterion {
        /// Probability that two rows of a node differ in class.
        Gini = "gini",
        /// Information, in bits.
        Entropy = "entropy",
        /// The same as entropy.
        LogLoss = "log_loss",
    }
}

choice! {
    /// How the spread of numbers is measured.
    pub enum RealCriterion {
        /// Variance; leaves hold means.
        SquaredError = "squared_error",
        /// Mean absolute deviation; leaves hold medians.
        AbsoluteError = "absolute_error",
        /// Poisson deviance, for counts and rates; leaves hold means.
        Poisson = "poisson",
    }
}

choice! {
    /// How thresholds are chosen.
    pub enum Splitter {
        /// The best of all.
        Best = "best",
        /// The best of one random threshold for each column.
        Random = "random",
    }
}

/// How many columns are tried at a split.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MaxFeatures {
    All,
    Sqrt,
    Log2,
    Count(usize),
    Share(f64),
}

impl MaxFeatures {
    pub fn of(self, cols: usize) -> usize {
        let count = match self {
            MaxFeatures::All => cols,
            MaxFeatures::Sqrt => (cols as f64).sqrt() as usize,
            MaxFeatures::Log2 => (cols as f64).log2() as usize,
            MaxFeatures::Count(count) => count,
            MaxFeatures::Share(share) => (share * cols as f64) as usize,
        };
        count.clamp(1, cols)
    }
}

impl Field for MaxFeatures {
    fn forms(_: Range) -> Vec<Form> {
        vec![Form::Choice(vec!["sqrt", "log2", "none"]), Form::Int(at_least(1.0)), Form::Float(above_to(0.0, 1.0))]
    }
    fn to_value(&self) -> Value {
        match *self {
            MaxFeatures::All => Value::None,
            MaxFeatures::Sqrt => Value::Text("sqrt".into()),
            MaxFeatures::Log2 => Value::Text("log2".into()),
            MaxFeatures::Count(count) => Value::Int(count as i64),
            MaxFeatures::Share(share) => Value::Float(share),
        }
    }
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::None => Some(MaxFeatures::All),
            Value::Text(name) => match name.as_str() {
                "sqrt" => Some(MaxFeatures::Sqrt),
                "log2" => Some(MaxFeatures::Log2),
                "none" => Some(MaxFeatures::All),
                _ => None,
            },
            number => Amount::from_value(number).map(|amount| match amount {
                Amount::Count(count) => MaxFeatures::Count(count),
                Amount::Share(share) => MaxFeatures::Share(share),
            }),
        }
    }
}

/// A number of rows or columns, or a share of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Amount {
    Count(usize),
    Share(f64),
}

impl Amount {
    /// Shares are rounded up.
    pub fn of(self, whole: usize) -> usize {
        match self {
            Amount::Count(count) => count,
            Amount::Share(share) => (share * whole as f64).ceil() as usize,
        }
    }
}

/// Draws with replacement far beyond the rows say nothing more, and each takes its time.
pub fn check_draws(model: &str, draws: usize, rows: usize) -> Result<()> {
    let most = 100 * rows.max(10_000);
    if draws <= most {
        return Ok(());
    }
    let (name, value) = ("max_samples".into(), draws.to_string());
    Err(Error::Parameter {
        model: model.into(),
        name,
        value,
        allowed: format!("a share, or at most {most} of {rows} rows"),
    })
}

impl Field for Amount {
    fn forms(range: Range) -> Vec<Form> {
        let counts = if range == any() { at_least(1.0) } else { range };
        vec![Form::Int(counts), Form::Float(above_to(0.0, 1.0))]
    }
    fn to_value(&self) -> Value {
        match *self {
            Amount::Count(count) => Value::Int(count as i64),
            Amount::Share(share) => Value::Float(share),
        }
    }
    fn from_value(value: &Value) -> Option<Self> {
        match *value {
            Value::Float(share) if share <= 1.0 => Some(Amount::Share(share)),
            _ => usize::from_value(value).map(Amount::Count),
        }
    }
}

/// What a tree is to tell apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Criterion {
    Class(ClassCriterion),
    Real(RealCriterion),
}

/// The weight of every row; a tree leaves out what has none.
pub fn weights(batch: &Batch) -> Vec<f64> {
    batch.weights.map_or_else(|| vec![1.0; batch.rows()], <[f64]>::to_vec)
}

/// Targets and weights of all rows of all workers. Everyone has them, 8 bytes a row for each: purity is no sum over
/// workers.
pub struct Targets<'a> {
    kind: TargetKind,
    values: Cow<'a, [f64]>,
    codes: Cow<'a, [u32]>,
    pub weights: Vec<f64>,
}

impl<'a> Targets<'a> {
    /// The batch is what this worker has of `rows` rows.
    pub fn new(ctx: &Ctx, batch: &Batch<'a>, rows: usize) -> Result<Self> {
        #[derive(Serialize, Deserialize)]
        struct Shard {
            #[serde(with = "as_bytes")]
            values: Vec<f64>,
            codes: Vec<u32>,
            #[serde(with = "as_bytes")]
            weights: Vec<f64>,
        }
        let (values, codes): (&[f64], &[u32]) = match batch.y {
            Target::Real { values, .. } => (values, &[]),
            Target::Class { codes, .. } => (&[], codes),
            Target::None => (&[], &[]),
        };
        let weights = weights(batch);
        let all = if ctx.exchange().size() == 1 {
            ctx.check()?;
            Targets { kind: batch.y.kind(), values: values.into(), codes: codes.into(), weights }
        } else {
            let mine = || Shard { values: values.to_vec(), codes: codes.to_vec(), weights };
            let parts = all_gather(ctx.exchange(), ctx.check().map(|()| mine()))?;
            let mut all =
                Targets { kind: batch.y.kind(), values: vec![].into(), codes: vec![].into(), weights: vec![] };
            for part in parts {
                all.values.to_mut().extend(part.values);
                all.codes.to_mut().extend(part.codes);
                all.weights.extend(part.weights);
            }
            all
        };
        match all.weights.len() == rows {
            true => Ok(all),
            false => Err(Error::shape("the rows of all workers", rows, all.weights.len())),
        }
    }

    pub fn y(&self) -> Target<'_> {
        match self.kind {
            TargetKind::None => Target::None,
            TargetKind::Real(cols) => Target::Real { values: &self.values, cols },
            TargetKind::Class(classes) => Target::Class { codes: &self.codes, classes },
        }
    }
}

pub fn with_weight(weights: &[f64]) -> Vec<u32> {
    (0..weights.len() as u32).filter(|&row| weights[row as usize] > 0.0).collect()
}

/// Refuses targets that a criterion has no meaning for.
pub fn check_target(model: &str, criterion: Criterion, y: &Target) -> Result<()> {
    if criterion == Criterion::Real(RealCriterion::Poisson) {
        let values = y.real();
        if let Some(i) = values.iter().position(|y| *y < 0.0) {
            return Err(Error::value(i, None, format!("the target is {}, but poisson needs 0 or more", values[i])));
        }
        if values.iter().all(|y| *y == 0.0) {
            return Err(Error::Data(format!("{model}: poisson needs a target with a value above 0")));
        }
    }
    Ok(())
}

/// How one tree grows.
pub struct Growth<'a> {
    pub criterion: Criterion,
    pub limits: &'a Limits,
    pub seed: u64,
    /// Whether threads share the nodes of this tree, and not whole trees.
    pub parallel: bool,
}

/// Grows one tree on the rows that have weight.
pub fn plant(ctx: &Ctx, columns: &Columns, y: &Target, weights: &[f64], growth: &Growth) -> Result<GrownTree> {
    let &Growth { criterion, limits, seed, parallel } = growth;
    let samples = with_weight(weights);
    let pairs = |y: &dyn Fn(usize) -> f64| -> Vec<[f64; 2]> {
        weights.iter().enumerate().map(|(i, &w)| if w > 0.0 { [w, w * y(i)] } else { [0.0; 2] }).collect()
    };
    match (*y, criterion) {
        (Target::Class { codes, classes: 2 }, Criterion::Class(criterion)) => {
            let pairs = pairs(&|i| f64::from(codes[i]));
            match criterion {
                ClassCriterion::Gini => {
                    grow(ctx, columns, Moments::<Gini>::new(&pairs, 0.0), samples, limits, seed, parallel)
                }
                _ => grow(ctx, columns, Moments::<Entropy>::new(&pairs, 0.0), samples, limits, seed, parallel),
            }
        }
        (Target::Class { codes, classes }, Criterion::Class(criterion)) => {
            let impurity = Classes::new(codes, weights, classes, criterion != ClassCriterion::Gini);
            grow(ctx, columns, impurity, samples, limits, seed, parallel)
        }
        (Target::Real { values, cols: 1 }, Criterion::Real(RealCriterion::SquaredError)) => {
            let centre = means(values, 1, weights)[0];
            let pairs = pairs(&|i| values[i] - centre);
            grow(ctx, columns, Moments::<Squares>::new(&pairs, centre), samples, limits, seed, parallel)
        }
        (Target::Real { values, cols: 1 }, Criterion::Real(RealCriterion::Poisson)) => {
            let pairs = pairs(&|i| values[i]);
            grow(ctx, columns, Moments::<Poisson>::new(&pairs, 0.0), samples, limits, seed, parallel)
        }
        (Target::Real { values, cols }, Criterion::Real(RealCriterion::SquaredError)) => {
            let centre = means(values, cols, weights);
            grow(ctx, columns, Reals::new(values, cols, weights, &centre), samples, limits, seed, parallel)
        }
        (Target::Real { values, cols }, Criterion::Real(RealCriterion::AbsoluteError)) => {
            grow(ctx, columns, Absolutes::new(values, cols, weights), samples, limits, seed, parallel)
        }
        (Target::Real { cols, .. }, _) => {
            Err(Error::Unsupported(format!("criterion poisson supports one target, not {cols}")))
        }
        _ => Err(Error::Data("the target does not fit the criterion".into())),
    }
}

/// Weighted mean of each target.
pub fn means(values: &[f64], targets: usize, weights: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; targets];
    for (row, weight) in values.chunks_exact(targets).zip(weights) {
        sums.iter_mut().zip(row).for_each(|(sum, y)| *sum += weight * y);
    }
    let total: f64 = weights.iter().sum();
    sums.iter().map(|sum| sum / total).collect()
}

/// One tree, of classes or of numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionTreeModel {
    pub tree: Tree,
    /// 0 when leaves hold numbers.
    pub classes: usize,
    pub importances: Vec<f64>,
    /// Columns tried at a split.
    pub max_features: usize,
}

impl Model for DecisionTreeModel {
    fn cols(&self) -> usize {
        self.tree.cols()
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        match self.classes {
            0 => vec![(Output::Value, self.tree.outputs()), (Output::Leaf, 1)],
            k => vec![(Output::Class, 1), (Output::Probability, k), (Output::Leaf, 1)],
        }
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        let block = Block::new(x);
        match output {
            Output::Leaf => self.tree.for_each_leaf(&block, |row, leaf| out[row] = leaf as f64),
            Output::Class => self.tree.for_each_leaf(&block, |row, leaf| {
                out[row] = first_largest(self.tree.leaf_value(leaf)) as f64;
            }),
            _ => self.tree.add_to(&block, 1.0, out),
        }
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        vec![
            ("feature_importances_", (&self.importances).into()),
            ("max_features_", self.max_features.into()),
            ("n_leaves_", self.tree.leaves().into()),
            ("depth_", self.tree.depth().into()),
        ]
    }

    fn check(&self) -> Result<()> {
        let outputs = if self.classes == 0 { self.tree.outputs() } else { self.classes };
        check_trees(std::slice::from_ref(&self.tree), self.importances.len(), outputs)
    }
}

/// Nanoseconds of ranking the columns: once, whatever is grown on them.
pub fn cost_of_ranks(shape: &Shape) -> f64 {
    let (n, p) = (shape.rows.max(1) as f64, shape.cols.max(1) as f64);
    4e5 + n * p * (5.0 + 4.0 * n.ln())
}

/// Nanoseconds of growing one tree that tries `tried` columns at each split: every level passes over the rows of its
/// nodes.
pub fn cost_of_tree(shape: &Shape, tried: usize, depth: Option<usize>, leaves: Option<usize>, random: bool) -> f64 {
    let (n, _, outputs) = shape.sizes();
    // A tree without limits is somewhat deeper than a balanced one.
    let full: f64 = 1.5 * n.max(2.0).log2();
    let depth = depth.map_or(full, |depth| full.min(depth as f64));
    let depth = leaves.map_or(depth, |leaves| depth.min(2.0 * (leaves as f64).log2()));
    3e4 + depth * n * (5.0 + tried as f64 * if random { 3.0 } else { 8.0 } * (1.0 + 0.1 * outputs))
}
