//! Rows in fewer columns.

mod pca;
mod truncated_svd;

pub use pca::{Components, PCA, PCAModel};
pub use truncated_svd::{TruncatedSVD, TruncatedSVDModel};
