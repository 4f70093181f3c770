//! Least squares with an L2 penalty: `min_{W,b} sum_i w_i ||y_i - W x_i - b||^2 + alpha ||W||^2`, the intercept free.
//! It is the most probable W under a normal prior of variance sigma^2 / alpha. The work is in [`least_squares`].

use super::LinearModel;
use crate::{
    Ctx, Estimator, Fit, Info, Passes, Result, Shape, Source, Task,
    core::{
        param::{at_least, log},
        params,
    },
    engine::{least_squares, non_negative},
};

params! {
    /// Least squares with an L2 penalty, which keeps coefficients small and stable when columns are correlated.
    pub struct Ridge {
        /// Regularisation strength; 0 is ordinary least squares.
        alpha: f64 = 1.0, at_least(0.0), log(1e-4, 1e4);
        /// Whether to fit an intercept, which is not penalised.
        fit_intercept: bool = true;
        /// Whether coefficients are constrained to be non-negative.
        positive: bool = false;
    }
}

impl Estimator for Ridge {
    type Model = LinearModel;

    const INFO: Info = Info {
        multi_target: true,
        scale: true,
        not_compared: Some("RidgeCV chooses its penalty"),
        ..Info::new(
            "linear_model",
            Task::Regression,
            "min_{w,b} sum_i (y_i - w.x_i - b)^2 + alpha ||w||^2",
            Passes::One,
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        1e-9 * least_squares::cost(shape)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<LinearModel>> {
        let fit = if self.positive { non_negative::fit } else { least_squares::fit };
        fit(data, ctx, self.alpha, self.fit_intercept)
    }
}
