//! The lasso with its strength chosen by cross-validation over contiguous folds, then fitted on all rows. With up to a
//! few thousand columns one pass over the rows gives the moments of every fold, and every path and error follows from
//! them.

use super::{
    net,
    net::{Alphas, ChosenModel, Net, choose},
};
use crate::{
    Ctx, Estimator, Fit, Info, Passes, Result, Shape, Source, Task,
    core::{
        param::{above, at_least, within},
        params,
    },
};

params! {
    /// Lasso with regularisation strength chosen by cross-validation along the regularisation path.
    pub struct LassoCV {
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

impl Estimator for LassoCV {
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
            "min_{w,b} 1/(2n) sum_i (y_i - w.x_i - b)^2 + alpha ||w||_1, alpha by cross-validation",
            Passes::Many,
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        1e-9 * net::cost(shape, (self.cv + 1) as f64 * self.alphas.count() as f64)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<ChosenModel>> {
        let net = Net {
            name: "LassoCV",
            l1_ratio: 1.0,
            fit_intercept: self.fit_intercept,
            positive: self.positive,
            tol: self.tol,
            max_iter: self.max_iter,
        };
        choose(&net, &[1.0], (&self.alphas, self.eps, self.cv), data, ctx)
    }
}
