//! Groups without labels.

mod agglomerative;
mod bayesian_gaussian_mixture;
mod count_mixture;
mod dbscan;
mod gaussian_mixture;
mod k_means;
mod mini_batch_k_means;
mod watched;

pub use agglomerative::{AgglomerativeClustering, AgglomerativeModel, Linkage};
pub use bayesian_gaussian_mixture::{
    BayesianGaussianMixture, BayesianGaussianMixtureModel, Concentration, Posterior, Prior,
};
pub use count_mixture::{CountFamily, CountMixture, CountMixtureModel};
pub use dbscan::{DBSCAN, DBSCANModel};
pub use gaussian_mixture::{Covariance, GaussianMixture, GaussianMixtureModel, Mixture, MixtureInit};
pub use k_means::{Init, KMeans, KMeansModel, Starts};
pub use mini_batch_k_means::MiniBatchKMeans;
