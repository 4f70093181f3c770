//! Ordinary least squares: `min_{W,b} sum_i w_i ||y_i - W x_i - b||^2`. The work is in [`least_squares`].

use super::LinearModel;
use crate::{Ctx, Estimator, Fit, Info, Passes, Result, Source, Task, core::params, engine::least_squares};

params! {
    /// Ordinary least squares, by the cheapest safe path: normal equations while they are well conditioned, an orthogonal
    /// factorisation when they are not, the solution of least norm when columns depend on each other.
    pub struct LinearRegression {
        /// Whether to fit an intercept.
        fit_intercept: bool = true;
    }
}

impl Estimator for LinearRegression {
    type Model = LinearModel;

    const INFO: Info = Info {
        multi_target: true,
        reference_level: true,
        ..Info::new("linear_model", Task::Regression, "min_{w,b} sum_i (y_i - w.x_i - b)^2", Passes::One)
    };

    fn fit(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<LinearModel>> {
        least_squares::fit(data, ctx, 0.0, self.fit_intercept)
    }
}
