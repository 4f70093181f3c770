//! Trees, and models made of many models.

mod ada_boost;
mod bagging;
pub mod boost_loss;
mod common;
mod decision_tree;
mod forest;
mod hist_gradient_boosting;
pub mod picture;
pub mod prune;
mod stacking;
mod voting;

pub use ada_boost::{AdaBoostClassifier, AdaBoostModel, AdaBoostRegressor, Distance};
pub use bagging::{BaggingClassifier, BaggingModel, BaggingRegressor};
pub use common::{Amount, ClassCriterion, DecisionTreeModel, MaxFeatures, RealCriterion, Splitter};
pub use decision_tree::{DecisionTreeClassifier, DecisionTreeRegressor};
pub use forest::{
    ExtraTreesClassifier, ExtraTreesRegressor, ForestModel, RandomForestClassifier, RandomForestRegressor,
};
pub use hist_gradient_boosting::{
    BoostingModel, EarlyStopping, HistGradientBoostingClassifier, HistGradientBoostingRegressor, RealLoss,
};
pub use stacking::{StackingClassifier, StackingModel, StackingRegressor};
pub use voting::{Voting, VotingClassifier, VotingModel, VotingRegressor};

#[cfg(test)]
mod on_workers;
