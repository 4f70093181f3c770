//! The k nearest rows and what they say: votes for a class, the mean of a target, or just who they are.
//!
//! Exact search, by a k-d tree (up to 15 columns) or by tiles of matrix products; see
//! [`neighbours`](crate::engine::neighbours). Equal distances go to the earlier row, equal votes to the smaller class.
//! No training, O(n) memory; a prediction costs O(log n) with few columns and O(n d) otherwise (Cover and Hart 1967).

use super::model::{Algorithm, NeighborsModel, Reach, Settings, WHY_MEMORY, Weighting, fit};
use crate::{
    Ctx, Estimator, Fit, Flexibility, Info, Passes, Result, Shape, Source, Task,
    core::{
        param::{above_to, at_least, log},
        params,
    },
    engine::{neighbours, neighbours::Metric},
};

params! {
    /// Classifies by a vote of the nearest neighbours.
    pub struct KNeighborsClassifier {
        /// Number of neighbours.
        n_neighbors: usize = 5, at_least(1.0), log(1.0, 100.0);
        /// How neighbours are weighted.
        weights: Weighting = Weighting::Uniform;
        /// Accepted for scikit-learn compatibility; ignored, because the fastest exact search is chosen automatically.
        algorithm: Algorithm = Algorithm::Auto;
        /// Accepted for scikit-learn compatibility; ignored.
        leaf_size: usize = 30, at_least(1.0);
        /// Power of the Minkowski metric: 1 is Manhattan, 2 is Euclidean, infinity is Chebyshev distance.
        p: f64 = 2.0, above_to(0.0, f64::INFINITY);
        /// Metric: minkowski, euclidean, manhattan, chebyshev, cosine, or the distance of a kernel such as
        /// rbf(gamma=0.1).
        metric: Metric = Metric::Minkowski(0.0);
    }
}

params! {
    /// Predicts the mean target of the nearest neighbours.
    pub struct KNeighborsRegressor {
        /// Number of neighbours.
        n_neighbors: usize = 5, at_least(1.0), log(1.0, 100.0);
        /// How neighbours are weighted.
        weights: Weighting = Weighting::Uniform;
        /// Accepted for scikit-learn compatibility; ignored, because the fastest exact search is chosen automatically.
        algorithm: Algorithm = Algorithm::Auto;
        /// Accepted for scikit-learn compatibility; ignored.
        leaf_size: usize = 30, at_least(1.0);
        /// Power of the Minkowski metric: 1 is Manhattan, 2 is Euclidean, infinity is Chebyshev distance.
        p: f64 = 2.0, above_to(0.0, f64::INFINITY);
        /// Metric: minkowski, euclidean, manhattan, chebyshev, cosine, or the distance of a kernel such as
        /// rbf(gamma=0.1).
        metric: Metric = Metric::Minkowski(0.0);
    }
}

params! {
    /// Finds the nearest neighbours and their distances.
    pub struct NearestNeighbors {
        /// Number of neighbours.
        n_neighbors: usize = 5, at_least(1.0);
        /// Radius for radius queries.
        radius: f64 = 1.0, at_least(0.0);
        /// Accepted for scikit-learn compatibility; ignored, because the fastest exact search is chosen automatically.
        algorithm: Algorithm = Algorithm::Auto;
        /// Accepted for scikit-learn compatibility; ignored.
        leaf_size: usize = 30, at_least(1.0);
        /// Metric: minkowski, euclidean, manhattan, chebyshev, cosine, or the distance of a kernel such as
        /// rbf(gamma=0.1).
        metric: Metric = Metric::Minkowski(0.0);
        /// Power of the Minkowski metric: 1 is Manhattan, 2 is Euclidean, infinity is Chebyshev distance.
        p: f64 = 2.0, above_to(0.0, f64::INFINITY);
    }
}

const fn info(task: Task, objective: &'static str) -> Info {
    Info {
        scale: true,
        weights: false,
        flexibility: Flexibility::Neighbours,
        ..Info::new("neighbors", task, objective, Passes::Memory(WHY_MEMORY))
    }
}

impl Estimator for KNeighborsClassifier {
    type Model = NeighborsModel;
    const INFO: Info = info(Task::Classification, "argmax_c sum_{i among the k nearest of x} [y_i = c]");

    fn cost(&self, shape: &Shape) -> f64 {
        1e-9 * neighbours::cost(shape, 0.25)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<NeighborsModel>> {
        let reach = Reach::Count(self.n_neighbors);
        let settings =
            Settings { metric: &self.metric, p: self.p, reach, weighting: self.weights, most_frequent: false };
        fit("KNeighborsClassifier", data, ctx, settings)
    }
}

impl Estimator for KNeighborsRegressor {
    type Model = NeighborsModel;
    const INFO: Info = Info { multi_target: true, ..info(Task::Regression, "mean of y_i among the k nearest of x") };

    fn cost(&self, shape: &Shape) -> f64 {
        1e-9 * neighbours::cost(shape, 0.25)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<NeighborsModel>> {
        let reach = Reach::Count(self.n_neighbors);
        let settings =
            Settings { metric: &self.metric, p: self.p, reach, weighting: self.weights, most_frequent: false };
        fit("KNeighborsRegressor", data, ctx, settings)
    }
}

impl Estimator for NearestNeighbors {
    type Model = NeighborsModel;
    const INFO: Info = info(Task::Transformation, "the k rows z with the smallest d(x, z)");

    fn cost(&self, shape: &Shape) -> f64 {
        1e-9 * neighbours::cost(shape, 0.25)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<NeighborsModel>> {
        let reach = Reach::Count(self.n_neighbors);
        let settings =
            Settings { metric: &self.metric, p: self.p, reach, weighting: Weighting::Uniform, most_frequent: false };
        fit("NearestNeighbors", data, ctx, settings)
    }
}
