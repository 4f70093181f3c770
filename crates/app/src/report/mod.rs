//! What a run found out, as plain data. How it looks is the business of whoever shows it.

pub mod assets;
mod build;
pub mod card;
pub mod html;
mod units;

pub use build::{Outcome, Sizes};
pub use units::{components, digits, preparation, weights};

use crate::{choose::Comparison, explain::Insight, plan::Dropped, table::Summary};
use ermine::FitLog;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub data: DataReport,
    pub model: String,
    /// Parameters that differ from their defaults.
    pub params: BTreeMap<String, String>,
    /// Why this model, when nobody asked for one.
    pub choice: Option<String>,
    pub task: &'static str,
    pub target: Option<String>,
    pub classes: Vec<String>,
    /// What it costs to miss each class; empty if all cost the same.
    pub costs: Vec<f64>,
    /// The metric to look at first.
    pub main_metric: Option<&'static str>,
    /// Scores of the held-out part, of cross-validation, of a guess that ignores the columns.
    pub test: Option<Scores>,
    pub folds: Option<FoldScores>,
    /// Bootstrap intervals of the test scores.
    pub intervals: Vec<Interval>,
    pub baseline: Option<Scores>,
    /// Rows of each class by predicted class, on the test part.
    pub confusion: Option<Vec<Vec<f64>>>,
    /// How the models that were compared stand.
    pub comparison: Option<Comparison>,
    pub insight: Insight,
    /// What was done to each column before the model saw it.
    pub preparation: Vec<Prepared>,
    /// The weights of a linear model in the units of the file, the most important first.
    pub drivers: Vec<Driver>,
    /// One for each target or class, in the units of the file; empty if the model has none.
    pub intercept: Vec<f64>,
    /// Of a decomposition.
    pub components: Vec<Component>,
    /// Rows in each cluster.
    pub clusters: Vec<usize>,
    pub log: FitLog,
    /// What to worry about.
    pub notes: Vec<String>,
    /// Of this program.
    pub version: &'static str,
    pub seed: u64,
    pub fingerprint: String,
    pub seconds: f64,
}

/// Where a score lies with 95 % probability, as far as the test rows tell.
#[derive(Clone, Debug, Serialize)]
pub struct Interval {
    pub metric: &'static str,
    pub low: f64,
    pub high: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct DataReport {
    pub path: String,
    pub rows: usize,
    pub rows_used: usize,
    /// What was taken for granted when the file was read.
    pub assumed: Vec<String>,
    pub columns: Vec<Summary>,
    pub features: usize,
    /// Columns that the model sees after preparation.
    pub prepared: usize,
    pub dropped: Vec<Dropped>,
    /// Read from disk in blocks, because it is larger than the memory allowed.
    pub from_disk: bool,
    pub train_rows: usize,
    pub test_rows: usize,
}

/// Metric by name, in the order they are shown.
pub type Scores = Vec<(&'static str, f64)>;

#[derive(Clone, Debug, Serialize)]
pub struct FoldScores {
    pub folds: usize,
    /// Metric, mean over folds, standard deviation over folds.
    pub scores: Vec<(&'static str, f64, f64)>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Driver {
    pub name: String,
    /// One weight for each target or class.
    pub weights: Vec<f64>,
    /// The same for columns of deviation 1, where the model sees such; empty if they are the same.
    pub standardised: Vec<f64>,
}

/// What became of one column.
#[derive(Clone, Debug, Serialize)]
pub struct Prepared {
    pub column: String,
    pub what: String,
    /// What stands for a missing value, unless the model takes it as it is.
    pub filled: Option<String>,
    /// The level that the others are compared with.
    pub reference: Option<String>,
    /// Columns that the model sees.
    pub columns: usize,
    pub scaled: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct Component {
    pub variance: f64,
    pub share: f64,
    /// Columns and their weights, the largest first.
    pub loadings: Vec<(String, f64)>,
}
