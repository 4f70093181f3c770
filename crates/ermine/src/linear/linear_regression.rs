//! Ordinary least squares: `min_{W,b} sum_i w_i ||y_i - W x_i - b||^2`. The work is in [`least_squares`].

use super::LinearModel;
use crate::{
    Ctx, Estimator, Fit, Info, Passes, Result, Shape, Source, Task,
    core::params,
    engine::{least_squares, non_negative},
};

params! {
    /// Ordinary least squares by the cheapest safe method: normal equations if they are well conditioned, an orthogonal
    /// factorisation if they are not, the minimum-norm solution if columns are redundant.
    pub struct LinearRegression {
        /// Whether to fit an intercept.
        fit_intercept: bool = true;
        /// Whether coefficients are constrained to be non-negative.
        positive: bool = false;
    }
}

impl Estimator for LinearRegression {
    type Model = LinearModel;

    const INFO: Info = Info {
        multi_target: true,
        reference_level: true,
        ..Info::new("linear_model", Task::Regression, "min_{w,b} sum_i (y_i - w.x_i - b)^2", Passes::One)
    };

    fn cost(&self, shape: &Shape) -> f64 {
        1e-9 * least_squares::cost(shape)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<LinearModel>> {
        let fit = if self.positive { non_negative::fit } else { least_squares::fit };
        fit(data, ctx, 0.0, self.fit_intercept)
    }
}
