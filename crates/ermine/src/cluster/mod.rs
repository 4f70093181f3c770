//! Groups without labels.
//!
//! ```
//! use ermine::prelude::*;
//!
//! let points = [[0.0, 0.1], [0.2, 0.0], [5.0, 5.1], [5.2, 4.9]];
//! let data = Data::from_rows(&points)?;
//! let kmeans = KMeans { n_clusters: 2, n_init: cluster::Starts::Number(3), ..Default::default() };
//! let fit = kmeans.fit(&data, &Ctx::new(1))?;
//! let clusters = fit.predict(&points)?;
//! assert!(clusters[0] == clusters[1] && clusters[2] == clusters[3] && clusters[0] != clusters[2]);
//! println!("centres {:?}, inertia {:.3}", fit.model.centres, fit.model.inertia);
//!
//! // How likely each point comes from each component of a mixture.
//! let mixture = GaussianMixture { n_components: 2, ..Default::default() }.fit(&data, &Ctx::new(1))?;
//! assert_eq!(mixture.predict_proba(&points)?.cols, 2);
//! # Ok::<(), ermine::Error>(())
//! ```

mod agglomerative;
mod bayesian_gaussian_mixture;
mod count_mixture;
mod dbscan;
mod gaussian_mixture;
mod k_means;
mod mini_batch_k_means;
mod watched;

pub use crate::engine::neighbours::Metric;
pub use agglomerative::{AgglomerativeClustering, AgglomerativeModel, Linkage};
pub use bayesian_gaussian_mixture::{
    BayesianGaussianMixture, BayesianGaussianMixtureModel, Concentration, Posterior, Prior,
};
pub use count_mixture::{CountFamily, CountMixture, CountMixtureModel};
pub use dbscan::{DBSCAN, DBSCANModel};
pub use gaussian_mixture::{Covariance, GaussianMixture, GaussianMixtureModel, Mixture, MixtureInit};
pub use k_means::{Init, KMeans, KMeansModel, Starts};
pub use mini_batch_k_means::MiniBatchKMeans;
