//! Tweedie regression: `min_{w,b} 1/2 mean_i deviance_power(y_i, mean_i) + alpha/2 ||w||^2`, where the variance grows
//! as mean^power.
//!
//! Power 0 is the normal, 1 Poisson, 2 Gamma, 3 inverse Gaussian; between 1 and 2 the amounts may be exactly zero
//! (claims, rainfall). The work is in [`newton`](crate::engine::newton).

use super::glm::{Glm, GlmModel};
use crate::{
    Ctx, Error, Estimator, Fit, Info, Passes, Result, Shape, Source, Task,
    core::{
        choice,
        param::{above, any, at_least, log},
        params,
    },
    engine::{
        family::{Family, Link},
        newton,
    },
};

choice! {
    /// Which function of the mean is linear.
    pub enum TweedieLink { Auto = "auto", Identity = "identity", Log = "log" }
}

params! {
    /// Regression for amounts whose variance is a power of their mean; powers between 1 and 2 allow exact zeros.
    pub struct TweedieRegressor {
        /// The variance is mean^power; powers between 0 and 1 do not exist.
        power: f64 = 0.0, any();
        /// Strength of the L2 penalty; 0 for no penalty.
        alpha: f64 = 1.0, at_least(0.0), log(1e-4, 1e4);
        /// Whether to fit an intercept, which is not penalised.
        fit_intercept: bool = true;
        /// Link function; auto is identity for power <= 0, otherwise log.
        link: TweedieLink = TweedieLink::Auto;
        /// Stop when the objective is proven to be this close to its optimum, relative to it.
        tol: f64 = 1e-6, above(0.0);
        /// Maximum number of iterations.
        max_iter: usize = 100, at_least(1.0);
    }
}

impl Estimator for TweedieRegressor {
    type Model = GlmModel;

    const INFO: Info = Info {
        scale: true,
        not_compared: Some("needs a choice of family; name it to use it"),
        ..Info::new(
            "linear_model",
            Task::Regression,
            "min_{w,b} mean_i deviance_p(y_i, mean_i) / 2 + alpha/2 ||w||^2,  link(mean) = w.x + b",
            Passes::Many,
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        // A quadratic is at its minimum after one step.
        1e-9 * newton::cost(shape, self.max_iter.min(if self.power == 0.0 { 2 } else { 5 }))
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<GlmModel>> {
        if self.power > 0.0 && self.power < 1.0 {
            return Err(Error::Parameter {
                model: "TweedieRegressor".into(),
                name: "power".into(),
                value: self.power.to_string(),
                allowed: "0 or less, or 1 or more: no distribution has a power between".into(),
            });
        }
        let family = Family::Tweedie { power: self.power };
        let link = match self.link {
            TweedieLink::Auto => family.usual_link(),
            TweedieLink::Identity => Link::Identity,
            TweedieLink::Log => Link::Log,
        };
        let glm = Glm {
            name: "TweedieRegressor",
            family,
            link,
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
