//! Groups without labels.

mod gaussian_mixture;
mod k_means;

pub use gaussian_mixture::{Covariance, GaussianMixture, GaussianMixtureModel, Mixture, MixtureInit};
pub use k_means::{Init, KMeans, KMeansModel, Starts};
