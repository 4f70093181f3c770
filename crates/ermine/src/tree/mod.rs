//! Trees, and models made of many models.

mod common;
mod decision_tree;
mod forest;
pub mod prune;

pub use common::{Amount, ClassCriterion, DecisionTreeModel, MaxFeatures, RealCriterion, Splitter};
pub use decision_tree::{DecisionTreeClassifier, DecisionTreeRegressor};
pub use forest::{ExtraTreesClassifier, ExtraTreesRegressor, ForestModel, RandomForestClassifier, RandomForestRegressor};
