//! Prediction from what is near.

mod k_neighbors;
mod model;
mod radius_neighbors;

pub use k_neighbors::{KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors};
pub use model::{Known, NeighborsModel, Reach, Weighting};
pub use radius_neighbors::{RadiusNeighborsClassifier, RadiusNeighborsRegressor};
