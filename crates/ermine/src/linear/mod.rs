//! Models whose prediction is a linear function of the row, or a known function of one.
//!
//! ```
//! use ermine::prelude::*;
//!
//! // What a house costs by its rooms and its distance from the centre.
//! let houses = [[3.0, 5.0], [4.0, 2.0], [2.0, 8.0], [5.0, 1.0], [3.0, 3.0]];
//! let data = Data::from_rows(&houses)?.real(&[310.0, 442.0, 178.0, 531.0, 352.0])?;
//! let fit = Ridge { alpha: 0.1, ..Default::default() }.fit(&data, &Ctx::default())?;
//! assert!(fit.score(&data)? > 0.99);
//! println!("{:?} + {:?}; {}", fit.model.coef.values, fit.model.intercept, fit.log);
//!
//! // Whether it is sold within a month.
//! let data = Data::from_rows(&houses)?.labels(&[false, true, false, true, true])?;
//! let fit = LogisticRegression::default().fit(&data, &Ctx::default())?;
//! assert_eq!(fit.predict_labels(&[[4.0, 1.0], [2.0, 9.0]])?, [true, false]);
//! assert!(fit.predict_proba(&[[4.0, 1.0]])?[(0, 1)] > 0.9);
//! # Ok::<(), ermine::Error>(())
//! ```

mod bayesian_ridge;
mod elastic_net;
mod elastic_net_cv;
mod gamma_regressor;
mod generalized_linear_regressor;
mod glm;
mod huber_regressor;
mod inference;
mod lasso;
mod lasso_cv;
mod linear_regression;
mod logistic_regression;
mod logistic_regression_cv;
mod model;
mod net;
mod perceptron;
mod poisson_regressor;
mod quantile_regressor;
mod ridge;
mod ridge_classifier;
mod ridge_classifier_cv;
mod ridge_cv;
mod sgd;
mod sgd_classifier;
mod sgd_regressor;
mod tweedie_regressor;

pub use crate::engine::sgd::{LearningRate, SgdPenalty};
pub use bayesian_ridge::{BayesianRidge, BayesianRidgeModel};
pub use elastic_net::ElasticNet;
pub use elastic_net_cv::ElasticNetCV;
pub use gamma_regressor::GammaRegressor;
pub use generalized_linear_regressor::{FamilyName, GeneralizedLinearRegressor, LinkName};
pub use glm::GlmModel;
pub use huber_regressor::{HuberModel, HuberRegressor};
pub use inference::{GlmSummary, Inference, Interval, Summary, Term, glm_summary, summary};
pub use lasso::Lasso;
pub use lasso_cv::LassoCV;
pub use linear_regression::LinearRegression;
pub use logistic_regression::{LogisticModel, LogisticRegression};
pub use logistic_regression_cv::{LogisticCvModel, LogisticRegressionCV};
pub use model::LinearModel;
pub(crate) use model::{check_linear, class_of, scores};
pub use net::{Alphas, ChosenModel, Path};
pub use perceptron::Perceptron;
pub use poisson_regressor::PoissonRegressor;
pub use quantile_regressor::QuantileRegressor;
pub use ridge::Ridge;
pub use ridge_classifier::{RidgeClassModel, RidgeClassifier};
pub use ridge_classifier_cv::{RidgeClassCvModel, RidgeClassifierCV};
pub use ridge_cv::{RidgeCV, RidgeCvModel};
pub use sgd::SgdModel;
pub use sgd_classifier::{SGDClassifier, SgdClassLoss};
pub use sgd_regressor::{SGDRegressor, SgdLoss};
pub use tweedie_regressor::{TweedieLink, TweedieRegressor};
