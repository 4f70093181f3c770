//! The generalised linear model: `link(E y) = w.x + b + offset`, y from a member of the exponential family, fitted by
//! `min 1/2 mean_i deviance(y_i, mean_i) + alpha (1 - r)/2 ||w||^2 + alpha r ||w||_1`.
//!
//! An offset is a column of x that enters the score with coefficient one; an exposure is one that enters by its
//! logarithm, so that under the log link the mean is a rate times the exposure. As columns they pass through splits,
//! files and prediction like any other. Newton's method with the observed curvature where the loss is convex in the
//! score, Fisher scoring otherwise; the work is in [`newton`](crate::engine::newton). Standard errors and p-values come
//! from [`glm_summary`](super::glm_summary).

use super::glm::{Glm, GlmModel};
use crate::{
    Ctx, Error, Estimator, Fit, Info, Passes, Result, Shape, Source, Task,
    core::{
        choice,
        param::{above, any, at_least, between, log},
        params,
    },
    engine::{
        family::{Family, Link},
        newton,
        newton::Offset,
    },
};

choice! {
    /// A member of the exponential family.
    pub enum FamilyName {
        Normal = "normal",
        Binomial = "binomial",
        Poisson = "poisson",
        Gamma = "gamma",
        InverseGaussian = "inverse_gaussian",
        Tweedie = "tweedie",
        NegativeBinomial = "negative_binomial",
    }
}

choice! {
    /// Which function of the mean is linear in the columns.
    pub enum LinkName {
        /// The usual one of the family.
        Auto = "auto",
        Identity = "identity",
        Log = "log",
        Logit = "logit",
        Probit = "probit",
        Cloglog = "cloglog",
        Inverse = "inverse",
        Sqrt = "sqrt",
    }
}

params! {
    /// Generalised linear model with a choice of family and link, offset or exposure, and L2, L1 or mixed penalty.
    pub struct GeneralizedLinearRegressor {
        /// Distribution of the target.
        family: FamilyName = FamilyName::Normal;
        /// Link function; auto is the usual one of the family.
        link: LinkName = LinkName::Auto;
        /// Power of the variance function, for the tweedie family.
        power: f64 = 1.5, any();
        /// Dispersion of the negative binomial family: the variance is mean + theta mean^2.
        theta: f64 = 1.0, above(0.0);
        /// Regularisation strength; 0 is maximum likelihood.
        alpha: f64 = 0.0, at_least(0.0), log(1e-5, 1e2);
        /// Weight of the L1 penalty: 0 is pure L2, 1 is pure L1.
        l1_ratio: f64 = 0.0, between(0.0, 1.0);
        /// Whether to fit an intercept, which is not penalised.
        fit_intercept: bool = true;
        /// Index of the offset column, which is added to the linear score.
        offset: Option<usize> = None, at_least(0.0);
        /// Index of the exposure column, whose logarithm is added to the linear score.
        exposure: Option<usize> = None, at_least(0.0);
        /// Stop when the objective is proven to be this close to its optimum, relative to it.
        tol: f64 = 1e-6, above(0.0);
        /// Maximum number of iterations.
        max_iter: usize = 100, at_least(1.0);
    }
}

impl Estimator for GeneralizedLinearRegressor {
    type Model = GlmModel;

    const INFO: Info = Info {
        not_compared: Some("needs a choice of family; name it to use it"),
        ..Info::new(
            "linear_model",
            Task::Regression,
            "min_{w,b} mean_i deviance(y_i, mean_i) / 2 + alpha ((1 - r)/2 ||w||^2 + r ||w||_1),  link(mean) = w.x + \
             b + offset",
            Passes::Many,
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        // A quadratic is at its minimum after one step.
        let quadratic = self.family == FamilyName::Normal && matches!(self.link, LinkName::Auto | LinkName::Identity);
        1e-9 * newton::cost(shape, self.max_iter.min(if quadratic { 2 } else { 5 }))
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<GlmModel>> {
        let refuse = |name: &str, value: String, allowed: &str| Error::Parameter {
            model: "GeneralizedLinearRegressor".into(),
            name: name.into(),
            value,
            allowed: allowed.into(),
        };
        let family = match self.family {
            FamilyName::Normal => Family::Normal,
            FamilyName::Binomial => Family::Bernoulli,
            FamilyName::Poisson => Family::Poisson,
            FamilyName::Gamma => Family::Gamma,
            FamilyName::InverseGaussian => Family::InverseGaussian,
            FamilyName::Tweedie if self.power > 0.0 && self.power < 1.0 => {
                return Err(refuse("power", self.power.to_string(), "0 or less, or 1 or more"));
            }
            FamilyName::Tweedie => Family::Tweedie { power: self.power },
            FamilyName::NegativeBinomial => Family::NegativeBinomial { alpha: self.theta },
        };
        let link = match self.link {
            LinkName::Auto => family.usual_link(),
            LinkName::Identity => Link::Identity,
            LinkName::Log => Link::Log,
            LinkName::Logit => Link::Logit,
            LinkName::Probit => Link::Probit,
            LinkName::Cloglog => Link::Cloglog,
            LinkName::Inverse => Link::Inverse,
            LinkName::Sqrt => Link::Sqrt,
        };
        let offset = match (self.offset, self.exposure) {
            (Some(_), Some(column)) => {
                return Err(refuse("exposure", column.to_string(), "none when there is an offset"));
            }
            (Some(column), None) => Some(Offset { column, log: false }),
            (None, Some(column)) => Some(Offset { column, log: true }),
            (None, None) => None,
        };
        let glm = Glm {
            name: "GeneralizedLinearRegressor",
            family,
            link,
            alpha: self.alpha,
            l1_ratio: self.l1_ratio,
            fit_intercept: self.fit_intercept,
            offset,
            tol: self.tol,
            max_iter: self.max_iter,
        };
        glm.fit(data, ctx)
    }
}
