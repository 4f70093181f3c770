//! All rows within a radius and what they say: votes for a class, the mean of a target.
//!
//! A row without neighbours has no class, which is an error unless `outlier_label` says what to do, and the mean NaN.

use super::model::{Algorithm, NeighborsModel, Reach, Settings, WHY_MEMORY, Weighting, fit};
use crate::{
    Ctx, Estimator, Fit, Flexibility, Info, Passes, Result, Shape, Source, Task,
    core::{
        choice,
        param::{above_to, at_least, log},
        params,
    },
    engine::{neighbours, neighbours::Metric},
};

choice! {
    /// What a row without neighbours gets.
    pub enum OutlierLabel {
        /// An error.
        None = "none",
        /// The most frequent class.
        MostFrequent = "most_frequent",
    }
}

params! {
    /// Classifies by a vote of all rows within a radius.
    pub struct RadiusNeighborsClassifier {
        /// Radius within which rows are neighbours.
        radius: f64 = 1.0, at_least(0.0), log(1e-2, 1e2);
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
        /// Label for rows without neighbours; none makes them an error.
        outlier_label: OutlierLabel = OutlierLabel::None;
    }
}

params! {
    /// Predicts the mean target of all rows within a radius.
    pub struct RadiusNeighborsRegressor {
        /// Radius within which rows are neighbours.
        radius: f64 = 1.0, at_least(0.0), log(1e-2, 1e2);
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

impl Estimator for RadiusNeighborsClassifier {
    type Model = NeighborsModel;
    const INFO: Info = Info {
        scale: true,
        weights: false,
        flexibility: Flexibility::Neighbours,
        not_compared: Some("needs a radius in the units of the columns"),
        ..Info::new(
            "neighbors",
            Task::Classification,
            "argmax_c sum_{i: d(x, x_i) <= radius} [y_i = c]",
            Passes::Memory(WHY_MEMORY),
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        1e-9 * neighbours::cost_within(shape, 0.25)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<NeighborsModel>> {
        let most_frequent = self.outlier_label == OutlierLabel::MostFrequent;
        let reach = Reach::Radius(self.radius);
        let settings = Settings { metric: &self.metric, p: self.p, reach, weighting: self.weights, most_frequent };
        fit("RadiusNeighborsClassifier", data, ctx, settings)
    }
}

impl Estimator for RadiusNeighborsRegressor {
    type Model = NeighborsModel;
    const INFO: Info = Info {
        scale: true,
        weights: false,
        multi_target: true,
        flexibility: Flexibility::Neighbours,
        not_compared: Some("needs a radius in the units of the columns"),
        ..Info::new("neighbors", Task::Regression, "mean of y_i over d(x, x_i) <= radius", Passes::Memory(WHY_MEMORY))
    };

    fn cost(&self, shape: &Shape) -> f64 {
        1e-9 * neighbours::cost_within(shape, 0.25)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<NeighborsModel>> {
        let reach = Reach::Radius(self.radius);
        let settings =
            Settings { metric: &self.metric, p: self.p, reach, weighting: self.weights, most_frequent: false };
        fit("RadiusNeighborsRegressor", data, ctx, settings)
    }
}
