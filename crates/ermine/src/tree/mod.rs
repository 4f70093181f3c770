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
//!
//! // Which rows stand apart, without a target: 1 belongs, -1 does not.
//! let isolation = IsolationForest { contamination: tree::Contamination::Number(0.05), ..Default::default() };
//! let fit = isolation.fit(&Data::from_rows(&x)?, &Ctx::new(1))?;
//! assert_eq!(fit.predict(&[[9.5, 4.5], [90.0, -40.0]])?, [1.0, -1.0]);
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
mod isolation_forest;
pub mod picture;
pub mod prune;
mod stacking;
mod voting;

pub use crate::engine::outliers::Contamination;
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
pub use isolation_forest::{IsolationForest, IsolationModel, SampleSize};
pub use stacking::{StackingClassifier, StackingModel, StackingRegressor};
pub use voting::{Voting, VotingClassifier, VotingModel, VotingRegressor};

#[cfg(test)]
mod on_workers;
