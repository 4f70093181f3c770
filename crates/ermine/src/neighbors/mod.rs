//! Prediction from what is near.
//!
//! ```
//! use ermine::prelude::*;
//!
//! let towns = [[0.0, 0.0], [0.5, 0.2], [0.1, 0.4], [9.0, 9.0], [9.3, 8.8], [8.9, 9.4]];
//! let data = Data::from_rows(&towns)?.labels(&["coast", "coast", "coast", "hills", "hills", "hills"])?;
//! let nearest = KNeighborsClassifier { n_neighbors: 3, weights: neighbors::Weighting::Distance, ..Default::default() };
//! let fit = nearest.fit(&data, &Ctx::default())?;
//! assert_eq!(fit.predict_labels(&[[8.0, 8.0]])?, ["hills"]);
//!
//! // A village between the two groups lies in thinner surroundings than its neighbours.
//! let local = LocalOutlierFactor { n_neighbors: 2, novelty: true, ..Default::default() };
//! let fit = local.fit(&Data::from_rows(&towns)?, &Ctx::default())?;
//! assert_eq!(fit.predict(&[[0.2, 0.3], [4.0, 5.0]])?, [1.0, -1.0]);
//! # Ok::<(), ermine::Error>(())
//! ```

mod k_neighbors;
mod local_outlier_factor;
mod model;
mod radius_neighbors;

pub use crate::engine::{neighbours::Metric, outliers::Contamination};
pub use k_neighbors::{KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors};
pub use local_outlier_factor::{LocalOutlierFactor, LocalOutlierModel};
pub use model::{Algorithm, Known, NeighborsModel, Reach, Weighting};
pub use radius_neighbors::{OutlierLabel, RadiusNeighborsClassifier, RadiusNeighborsRegressor};
