//! What a model has learned, how far it can be trusted, and what would help it.

mod bias_variance;
mod calibration;
mod clusters;
mod curves;
mod dependence;
mod importance;

pub use bias_variance::{BiasVariance, bias_variance, decompose, half};
pub use calibration::{CalibratedClassifier, CalibratedModel, Calibrator, Method, isotonic, sigmoid};
pub use clusters::{ClusterChoice, ClusterPoint, MixtureChoice, MixturePoint, choose_clusters, choose_components};
pub use curves::{Curve, CurvePoint, learning_curve, learning_verdict, validation_curve};
pub use dependence::{Along, Dependence, partial_dependence};
pub use importance::{Importance, permutation_importance, permutation_importance_of};
