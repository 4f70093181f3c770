//! All rows within a radius and what they say: votes for a class, the mean of a target.
//!
//! A row without neighbours has no class, which is an error unless `outlier_label` says what to do, and the mean NaN.

use super::model::{Algorithm, NeighborsModel, Reach, WHY_MEMORY, Weighting, fit};
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
    /// Classifies by the votes of all rows within a radius.
    pub struct RadiusNeighborsClassifier {
        /// How far to look.
        radius: f64 = 1.0, at_least(0.0), log(1e-2, 1e2);
        /// How neighbours count.
        weights: Weighting = Weighting::Uniform;
        /// For compatibility: the code picks the faster exact search by shape and metric.
        algorithm: Algorithm = Algorithm::Auto;
        /// For compatibility: leaves of the tree have the size that runs best.
        leaf_size: usize = 30, at_least(1.0);
        /// Power of the minkowski metric: 1 sums absolute differences, 2 is Euclidean, infinity takes the largest.
        p: f64 = 2.0, above_to(0.0, f64::INFINITY);
        /// minkowski, euclidean, manhattan, chebyshev, cosine, or the distance of a kernel such as rbf(gamma=0.1).
        metric: Metric = Metric::Minkowski(0.0);
        /// What a row without neighbours gets; none refuses it.
        outlier_label: OutlierLabel = OutlierLabel::None;
    }
}

params! {
    /// Predicts the mean target of all rows within a radius.
    pub struct RadiusNeighborsRegressor {
        /// How far to look.
        radius: f64 = 1.0, at_least(0.0), log(1e-2, 1e2);
        /// How neighbours count.
        weights: Weighting = Weighting::Uniform;
        /// For compatibility: the code picks the faster exact search by shape and metric.
        algorithm: Algorithm = Algorithm::Auto;
        /// For compatibility: leaves of the tree have the size that runs best.
        leaf_size: usize = 30, at_least(1.0);
        /// Power of the minkowski metric: 1 sums absolute differences, 2 is Euclidean, infinity takes the largest.
        p: f64 = 2.0, above_to(0.0, f64::INFINITY);
        /// minkowski, euclidean, manhattan, chebyshev, cosine, or the distance of a kernel such as rbf(gamma=0.1).
        metric: Metric = Metric::Minkowski(0.0);
    }
}

impl Estimator for RadiusNeighborsClassifier {
    type Model = NeighborsModel;
    const INFO: Info = Info {
        scale: true,
        weights: false,
        flexibility: Flexibility::Neighbours,
        not_compared: Some("its radius is in the units of the columns"),
        ..Info::new(
            "neighbors",
            Task::Classification,
            "argmax_c sum_{i: d(x, x_i) <= radius} [y_i = c]",
            Passes::Memory(WHY_MEMORY),
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        1e-9 * neighbours::cost(shape, 0.25)
    }

    fn fit(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<NeighborsModel>> {
        let frequent = self.outlier_label == OutlierLabel::MostFrequent;
        let reach = Reach::Radius(self.radius);
        fit("RadiusNeighborsClassifier", data, ctx, &self.metric, self.p, reach, self.weights, frequent)
    }
}

impl Estimator for RadiusNeighborsRegressor {
    type Model = NeighborsModel;
    const INFO: Info = Info {
        scale: true,
        weights: false,
        multi_target: true,
        flexibility: Flexibility::Neighbours,
        not_compared: Some("its radius is in the units of the columns"),
        ..Info::new("neighbors", Task::Regression, "mean of y_i over d(x, x_i) <= radius", Passes::Memory(WHY_MEMORY))
    };

    fn cost(&self, shape: &Shape) -> f64 {
        1e-9 * neighbours::cost(shape, 0.25)
    }

    fn fit(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<NeighborsModel>> {
        let reach = Reach::Radius(self.radius);
        fit("RadiusNeighborsRegressor", data, ctx, &self.metric, self.p, reach, self.weights, false)
    }
}
