//! The elastic net with strength and mix chosen by cross-validation over contiguous folds, then fitted on all rows; see
//! [`LassoCV`](super::LassoCV) for the cost.

use super::{
    net,
    net::{Alphas, ChosenModel, Net, choose},
};
use crate::{
    Ctx, Estimator, Fit, Info, Passes, Result, Shape, Source, Task,
    core::{
        param::{above, above_to, at_least, within},
        params,
    },
};

params! {
    /// Elastic net with regularisation strength and L1 ratio chosen by cross-validation.
    pub struct ElasticNetCV {
        /// L1 ratios to try.
        l1_ratio: Vec<f64> = vec![0.5], above_to(0.0, 1.0);
        /// Smallest strength divided by the largest, if `alphas` is a number.
        eps: f64 = 1e-3, within(0.0, 1.0);
        /// Number of strengths to try, or the strengths themselves.
        alphas: Alphas = Alphas::Count(100);
        /// Whether to fit an intercept, which is not penalised.
        fit_intercept: bool = true;
        /// Maximum number of working sets for each strength.
        max_iter: usize = 1000, at_least(1.0);
        /// Stop when the objective is proven to be this close to its optimum, relative to it.
        tol: f64 = 1e-4, above(0.0);
        /// Number of cross-validation folds.
        cv: usize = 5, at_least(2.0);
        /// Whether coefficients are constrained to be non-negative.
        positive: bool = false;
    }
}

impl Estimator for ElasticNetCV {
    type Model = ChosenModel;

    const INFO: Info = Info {
        scale: true,
        exceptions: &[(
            crate::core::model::Property::WeightIsRepetition,
            "folds are cut by row number, so repeated rows give other folds",
        )],
        ..Info::new(
            "linear_model",
            Task::Regression,
            "min_{w,b} 1/(2n) sum_i (y_i - w.x_i - b)^2 + alpha r ||w||_1 + alpha (1 - r)/2 ||w||^2, alpha and r by \
             cross-validation",
            Passes::Many,
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        let paths = (self.cv * self.l1_ratio.len() + 1) as f64;
        1e-9 * net::cost(shape, paths * self.alphas.count() as f64)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<ChosenModel>> {
        let net = Net {
            name: "ElasticNetCV",
            l1_ratio: 1.0,
            fit_intercept: self.fit_intercept,
            positive: self.positive,
            tol: self.tol,
            max_iter: self.max_iter,
        };
        choose(&net, &self.l1_ratio, (&self.alphas, self.eps, self.cv), data, ctx)
    }
}
