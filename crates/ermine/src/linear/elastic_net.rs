//! The elastic net: `min_{w,b} 1/(2n) sum_i (y_i - w.x_i - b)^2 + alpha r ||w||_1 + alpha (1 - r)/2 ||w||^2` (Zou and
//! Hastie 2005): zeros as the lasso has them, and columns that say the same share their weight. The work is in
//! [`coordinate`](crate::engine::coordinate).

use super::{
    LinearModel, net,
    net::{Alphas, Net, Path},
};
use crate::{
    Ctx, Estimator, Fit, Info, Passes, Result, Shape, Source, Task,
    core::{
        param::{above, at_least, between, linear, log},
        params,
    },
};

params! {
    /// Least squares with a mix of L1 penalty, which selects columns, and L2 penalty, which stabilises them.
    pub struct ElasticNet {
        /// Regularisation strength.
        alpha: f64 = 1.0, at_least(0.0), log(1e-4, 1e2);
        /// Weight of the L1 penalty: 0 is pure L2, 1 is pure L1.
        l1_ratio: f64 = 0.5, between(0.0, 1.0), linear(0.0, 1.0);
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

impl ElasticNet {
    fn net(&self) -> Net<'static> {
        Net {
            name: "ElasticNet",
            l1_ratio: self.l1_ratio,
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

impl Estimator for ElasticNet {
    type Model = LinearModel;

    const INFO: Info = Info {
        multi_target: true,
        scale: true,
        not_compared: Some("ElasticNetCV chooses its penalties"),
        ..Info::new(
            "linear_model",
            Task::Regression,
            "min_{w,b} 1/(2n) sum_i (y_i - w.x_i - b)^2 + alpha r ||w||_1 + alpha (1 - r)/2 ||w||^2",
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
