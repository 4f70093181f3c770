//! The perceptron (Rosenblatt 1958): go through the rows, and add to the weights every row that is on the wrong side.
//!
//! It minimises sum_i max(0, -m_i) by unit steps. If some plane separates the classes with margin gamma among rows no
//! longer than R, it makes at most (R / gamma)^2 mistakes (Novikoff 1962). The log's objective is the number of
//! mistakes of each pass, and a note says whether the rows were separated and what the theorem then allows. Several
//! classes: each against the rest. `resume` is a partial fit: one pass.

use super::{
    sgd::{SgdModel, cost, descend},
    sgd_regressor::mix,
};
use crate::{
    Ctx, Estimator, Fit, Info, Passes, Result, Shape, Source, Task,
    core::{
        model::Property,
        param::{above, at_least, between, log, within},
        params,
    },
    engine::{
        loss::Loss,
        sgd::{LearningRate, Sgd, SgdPenalty},
    },
};

params! {
    /// Linear classification that learns from mistakes only: adds every misclassified row to the weights.
    pub struct Perceptron {
        /// Penalty on the coefficients.
        penalty: SgdPenalty = SgdPenalty::None;
        /// Regularisation strength, if there is a penalty.
        alpha: f64 = 1e-4, at_least(0.0), log(1e-7, 1e-1);
        /// Weight of the L1 penalty, for elasticnet.
        l1_ratio: f64 = 0.15, between(0.0, 1.0);
        /// Whether to fit an intercept.
        fit_intercept: bool = true;
        /// Maximum number of passes over the data.
        max_iter: usize = 1000, at_least(1.0);
        /// Stop when a pass improves the loss by less than this; none to go on until no mistake is left.
        tol: Option<f64> = Some(1e-3), at_least(0.0);
        /// Whether to shuffle the rows before each pass.
        shuffle: bool = true;
        /// Step size.
        eta0: f64 = 1.0, above(0.0);
        /// Whether to hold out rows and stop when the loss on them stops falling.
        early_stopping: bool = false;
        /// Fraction of rows to hold out for early stopping.
        validation_fraction: f64 = 0.1, within(0.0, 1.0);
        /// Number of passes without improvement before stopping.
        n_iter_no_change: usize = 5, at_least(1.0);
        /// Whether to predict with the average of all iterates (the averaged perceptron).
        average: bool = false;
    }
}

impl Perceptron {
    fn sgd(&self) -> Sgd {
        Sgd {
            loss: Loss::Perceptron,
            alpha: if self.penalty == SgdPenalty::None { 0.0 } else { self.alpha },
            l1_ratio: mix(self.penalty, self.l1_ratio),
            fit_intercept: self.fit_intercept,
            batch_size: 1,
            max_iter: self.max_iter,
            tol: self.tol,
            shuffle: self.shuffle,
            rate: LearningRate::Constant,
            eta0: self.eta0,
            power_t: 0.5,
            momentum: 0.0,
            average: self.average,
            n_iter_no_change: self.n_iter_no_change,
            validation_fraction: if self.early_stopping { self.validation_fraction } else { 0.0 },
        }
    }
}

impl Estimator for Perceptron {
    type Model = SgdModel;

    const INFO: Info = Info {
        resume: true,
        scale: true,
        random: true,
        exceptions: &[(
            Property::WeightIsRepetition,
            "a repeated row is two chances of a mistake, a row of weight 2 is one",
        )],
        not_compared: Some("LinearSVC is similar and has a margin"),
        ..Info::new(
            "linear_model",
            Task::Classification,
            "min_{w,b} sum_i max(0, -y_i (w.x_i + b)), by unit steps",
            Passes::Memory("rows are visited one at a time in random order"),
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        1e-9 * cost(shape, 15, self.max_iter)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<SgdModel>> {
        descend(&self.sgd(), "Perceptron", None, self.max_iter, data, ctx)
    }

    fn learn_more(&self, model: &SgdModel, data: &dyn Source, ctx: &Ctx) -> Result<Fit<SgdModel>> {
        descend(&self.sgd(), "Perceptron", Some(model), 1, data, ctx)
    }
}
