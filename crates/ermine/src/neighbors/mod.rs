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
//! # Ok::<(), ermine::Error>(())
//! ```

mod k_neighbors;
mod model;
mod radius_neighbors;

pub use crate::engine::neighbours::Metric;
pub use k_neighbors::{KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors};
pub use model::{Algorithm, Known, NeighborsModel, Reach, Weighting};
pub use radius_neighbors::{OutlierLabel, RadiusNeighborsClassifier, RadiusNeighborsRegressor};
