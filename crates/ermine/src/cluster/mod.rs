//! Groups without labels.

mod k_means;

pub use k_means::{KMeans, KMeansModel};
