//! Trees, and models made of many models.
//!
//! ```
//! use ermine::prelude::*;
//!
//! let x: Vec<[f64; 2]> = (0..200).map(|i| [f64::from(i % 20), f64::from(i / 20)]).collect();
//! let inside: Vec<&str> = x.iter().map(|row| if row[0] > 5.0 && row[1] < 6.0 { "in" } else { "out" }).collect();
//! let (train, test) = train_test(&Data::from_rows(&x)?.labels(&inside)?, 0.25, 1)?;
//! let forest = RandomForestClassifier { n_estimators: 20, ..Default::default() };
//! let fit = forest.fit(&train, &Ctx::new(1))?;
//! assert!(fit.score(&test)? > 0.9);
//!
//! let boosting = HistGradientBoostingClassifier { max_iter: 20, min_samples_leaf: 5, ..Default::default() };
//! let probabilities = boosting.fit(&train, &Ctx::new(1))?.predict_proba(&test)?;
//! assert_eq!((probabilities.rows, probabilities.cols), (50, 2));
//! # Ok::<(), ermine::Error>(())
//! ```

mod ada_boost;
mod bagging;
pub mod boost_loss;
mod common;
mod decision_tree;
mod draws;
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
    BoostingModel, ClassLoss, EarlyStopping, HistGradientBoostingClassifier, HistGradientBoostingRegressor, RealLoss,
};
pub use stacking::{StackingClassifier, StackingModel, StackingRegressor};
pub use voting::{Voting, VotingClassifier, VotingModel, VotingRegressor};

#[cfg(test)]
mod on_workers;
