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
//! # Ok::<(), ermine::Error>(())
//! ```

mod incremental_pca;
mod pca;
mod truncated_svd;

pub use incremental_pca::{IncrementalPCA, IncrementalPCAModel};
pub use pca::{Components, PCA, PCAModel};
pub use truncated_svd::{TruncatedSVD, TruncatedSVDModel};
