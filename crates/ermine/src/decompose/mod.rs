//! Rows in fewer columns.
//!
//! ```
//! use ermine::prelude::*;
//!
//! // Three columns that follow one direction.
//! let x: Vec<[f64; 3]> = (0..30).map(f64::from).map(|t| [t, 2.0 * t + (t * 0.7).sin(), -t]).collect();
//! let fit = PCA { n_components: decompose::Components::Number(1.0), ..Default::default() }.fit(&Data::from_rows(&x)?, &Ctx::default())?;
//! assert_eq!(fit.transform(&x)?.cols, 1);
//! assert!(fit.model.explained[0] / fit.model.total > 0.99);
//!
//! // The one direction that goes with a target, and the target from it.
//! let y: Vec<f64> = x.iter().map(|row| 3.0 * row[0] - 1.0).collect();
//! let fit = PLSRegression { n_components: 2, ..Default::default() }.fit(&Data::from_rows(&x)?.real(&y)?, &Ctx::default())?;
//! assert!((fit.predict(&x)?[7] - y[7]).abs() < 1e-6);
//! assert_eq!(fit.transform(&x)?.cols, 2);
//! # Ok::<(), ermine::Error>(())
//! ```

mod incremental_pca;
mod pca;
mod pls_regression;
mod truncated_svd;

pub use incremental_pca::{IncrementalPCA, IncrementalPCAModel};
pub use pca::{Components, PCA, PCAModel};
pub use pls_regression::{PLSRegression, PlsModel};
pub use truncated_svd::{TruncatedSVD, TruncatedSVDModel};
