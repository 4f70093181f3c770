//! The lasso: `min_{w,b} 1/(2n) sum_i (y_i - w.x_i - b)^2 + alpha ||w||_1`, which sets coefficients to zero (Tibshirani
//! 1996). It is the most probable w under a Laplace prior of scale sigma^2 / (n alpha). The work is in
//! [`coordinate`](crate::engine::coordinate).

use super::{
    LinearModel, net,
    net::{Alphas, Net, Path},
};
use crate::{
    Ctx, Estimator, Fit, Info, Passes, Result, Shape, Source, Task,
    core::{
        param::{above, at_least, log},
        params,
    },
};

params! {
    /// Least squares with an L1 penalty, which selects columns by setting coefficients to zero.
    pub struct Lasso {
        /// Regularisation strength.
        alpha: f64 = 1.0, at_least(0.0), log(1e-4, 1e2);
        /// Whether to fit an intercept, which is not penalised.
        fit_intercept: bool = true;
        /// Stop when the objective is proven to be this close to its optimum, relative to it.
        tol: f64 = 1e-4, above(0.0);
        /// Maximum number of working sets.
        max_iter: usize = 1000, at_least(1.0);
        /// Whether coefficients are constrained to be non-negative.
        positive: bool = false;
    }
}

impl Lasso {
    fn net(&self) -> Net<'static> {
        Net {
            name: "Lasso",
            l1_ratio: 1.0,
            fit_intercept: self.fit_intercept,
            positive: self.positive,
            tol: self.tol,
            max_iter: self.max_iter,
        }
    }

    /// Solutions for many strengths, strongest first; `alpha` is not used. `eps` is the last strength over the first
    /// when `alphas` is a count.
    pub fn path(&self, alphas: &Alphas, eps: f64, data: &dyn Source, ctx: &Ctx) -> Result<Path> {
        self.net().path(alphas, eps, data, ctx)
    }
}

impl Estimator for Lasso {
    type Model = LinearModel;

    const INFO: Info = Info {
        multi_target: true,
        scale: true,
        not_compared: Some("LassoCV chooses its penalty"),
        ..Info::new(
            "linear_model",
            Task::Regression,
            "min_{w,b} 1/(2n) sum_i (y_i - w.x_i - b)^2 + alpha ||w||_1",
            Passes::Many,
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        1e-9 * net::cost(shape, 1.0)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<LinearModel>> {
        self.net().fit(self.alpha, data, ctx)
    }
}
