//! Gamma regression: `min_{w,b} mean_i (s_i + y_i e^{-s_i}) + alpha/2 ||w||^2`, s = w.x + b: positive amounts of
//! constant relative spread. The work is in [`newton`](crate::engine::newton): one fused pass a step.

use super::glm::{Glm, GlmModel};
use crate::{
    Ctx, Domain, Estimator, Fit, Info, Passes, Result, Shape, Source, Task,
    core::{
        param::{above, at_least, log},
        params,
    },
    engine::{
        family::{Family, Link},
        newton,
    },
};

params! {
    /// Gamma regression for positive amounts whose spread grows with their mean (costs, durations): log link, L2
    /// penalty.
    pub struct GammaRegressor {
        /// Strength of the L2 penalty; 0 for no penalty.
        alpha: f64 = 1.0, at_least(0.0), log(1e-4, 1e4);
        /// Whether to fit an intercept, which is not penalised.
        fit_intercept: bool = true;
        /// Stop when the objective is proven to be this close to its optimum, relative to it.
        tol: f64 = 1e-6, above(0.0);
        /// Maximum number of iterations.
        max_iter: usize = 100, at_least(1.0);
    }
}

impl Estimator for GammaRegressor {
    type Model = GlmModel;

    const INFO: Info = Info {
        scale: true,
        target: Domain::Positive,
        not_compared: Some("needs a choice of family; name it to use it"),
        ..Info::new(
            "linear_model",
            Task::Regression,
            "min_{w,b} mean_i s_i + y_i exp(-s_i) + alpha/2 ||w||^2,  s = w.x + b",
            Passes::Many,
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        1e-9 * newton::cost(shape, self.max_iter.min(5))
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<GlmModel>> {
        let glm = Glm {
            name: "GammaRegressor",
            family: Family::Gamma,
            link: Link::Log,
            alpha: self.alpha,
            l1_ratio: 0.0,
            fit_intercept: self.fit_intercept,
            offset: None,
            tol: self.tol,
            max_iter: self.max_iter,
        };
        glm.fit(data, ctx)
    }
}
