//! What a model has learned, how far it can be trusted, and what would help it.
//!
//! ```
//! use ermine::prelude::*;
//!
//! use ermine::inspect::permutation_importance;
//!
//! // Only the first column matters.
//! let x: Vec<[f64; 2]> = (0..50).map(|i| [f64::from(i), f64::from(i * 7 % 11)]).collect();
//! let y: Vec<f64> = x.iter().map(|row| 3.0 * row[0]).collect();
//! let data = Data::from_rows(&x)?.real(&y)?;
//! let fit = LinearRegression::default().fit(&data, &Ctx::default())?;
//! let found = permutation_importance(&Ctx::new(1), &fit.model, &data.batch(), metrics::metric("r2")?, false, 5)?;
//! assert!(found[0].mean > 0.5 && found[1].mean.abs() < 1e-9);
//! # Ok::<(), ermine::Error>(())
//! ```

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
