//! Rows in fewer columns.

mod incremental_pca;
mod pca;
mod truncated_svd;

pub use incremental_pca::{IncrementalPCA, IncrementalPCAModel};
pub use pca::{Components, PCA, PCAModel};
pub use truncated_svd::{TruncatedSVD, TruncatedSVDModel};
