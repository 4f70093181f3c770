//! Linear support vector regression: `min_w 1/2 ||w||^2 + C sum_i w_i max(0, |y_i - w.x_i - b| - epsilon)`, or the
//! square of it.
//!
//! As in LIBLINEAR and scikit-learn the intercept is the weight of an appended column of value `intercept_scaling` and
//! is penalised with the rest; SVR(kernel="linear") leaves it free. Solved by dual coordinate descent
//! ([`dual_coordinate`]).

use crate::{
    Ctx, Estimator, Fit, FitLog, Info, Matrix, Passes, Result, Shape, Source, Task,
    core::{
        choice,
        model::Property,
        param::{above, at_least, log},
        params,
    },
    engine::dual_coordinate::{self, Rows},
    linear::LinearModel,
};

use super::linear_svc::Dual;

choice! {
    /// Loss function.
    pub enum TubeLoss {
        EpsilonInsensitive = "epsilon_insensitive",
        SquaredEpsilonInsensitive = "squared_epsilon_insensitive",
    }
}

params! {
    /// Linear support vector regression: errors below epsilon cost nothing.
    pub struct LinearSVR {
        /// Errors below this cost nothing.
        epsilon: f64 = 0.0, at_least(0.0), log(1e-3, 1e0);
        /// Stop when the violation of the optimality conditions is below this fraction of the initial one and the
        /// objective is proven to be this close to its optimum, relative to it.
        tol: f64 = 1e-4, above(0.0);
        /// Inverse regularisation strength: cost of an error above epsilon.
        C: f64 = 1.0, above(0.0), log(1e-4, 1e2);
        /// Loss function.
        loss: TubeLoss = TubeLoss::EpsilonInsensitive;
        /// Whether to fit an intercept, which is penalised like the weights.
        fit_intercept: bool = true;
        /// Value of the constant column behind the intercept; larger values penalise the intercept less.
        intercept_scaling: f64 = 1.0, above(0.0);
        /// Accepted for scikit-learn compatibility; ignored, because the faster form is chosen automatically.
        dual: Dual = Dual::Auto;
        /// Maximum number of passes over the data.
        max_iter: usize = 1000, at_least(1.0);
    }
}

const WHY_MEMORY: &str = "coordinate descent revisits rows in random order";

impl Estimator for LinearSVR {
    type Model = LinearModel;

    const INFO: Info = Info {
        scale: true,
        random: true,
        exceptions: &[(
            Property::WeightIsRepetition,
            "the optimum is reached within tol along a path that depends on the rows",
        )],
        target_units: &["C", "epsilon"],
        ..Info::new(
            "svm",
            Task::Regression,
            "min_w ||w||^2 / 2 + C sum_i max(0, |y_i - w.x_i - b| - epsilon)",
            Passes::Memory(WHY_MEMORY),
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        1e-9 * (1e5 + dual_coordinate::cost(shape, self.max_iter))
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<LinearModel>> {
        let batch = data.in_memory("LinearSVR", WHY_MEMORY)?;
        ctx.check()?;
        batch.x.check_finite(batch.first)?;
        let constant = if self.fit_intercept { self.intercept_scaling } else { 0.0 };
        let rows = Rows {
            x: batch.x,
            constant,
            cost: (0..batch.rows()).map(|i| self.C * batch.weight(i)).collect(),
            y: batch.y.real().to_vec(),
        };
        let squared = self.loss == TubeLoss::SquaredEpsilonInsensitive;
        let mut rng = ctx.rng("LinearSVR", 0);
        let found = dual_coordinate::regress(ctx, &rows, squared, self.epsilon, self.tol, self.max_iter, &mut rng)?;
        let p = batch.x.cols();
        let model =
            LinearModel { coef: Matrix::new(found.w[..p].to_vec(), 1, p), intercept: vec![found.w[p] * constant] };
        let log = FitLog::proven(found.passes, vec![found.objective], found.bound, found.halt);
        Ok(Fit::new(model, log))
    }
}
