//! Linear classification by stochastic gradients: hinge (a linear support vector machine), logistic, modified Huber,
//! squared hinge, and perceptron losses, one class against the rest. The work, and what is promised for badly scaled
//! columns, is in [`sgd`](crate::engine::sgd). `resume` is a partial fit: one pass.

use super::{
    sgd::{SgdModel, WHY, cost, descend, passes},
    sgd_regressor::mix,
};
use crate::{
    Ctx, Estimator, Fit, Info, Passes, Result, Shape, Source, Task,
    core::{
        choice,
        model::Property,
        param::{above, any, at_least, between, from_to, log, within},
        params,
    },
    engine::{
        loss::Loss,
        sgd::{LearningRate, Sgd, SgdPenalty},
    },
};

choice! {
    /// Loss function.
    pub enum SgdClassLoss {
        Hinge = "hinge",
        LogLoss = "log_loss",
        ModifiedHuber = "modified_huber",
        SquaredHinge = "squared_hinge",
        Perceptron = "perceptron",
    }
}

params! {
    /// Linear classification by stochastic gradient descent, for many rows or rows that arrive in parts.
    pub struct SGDClassifier {
        /// Loss function.
        loss: SgdClassLoss = SgdClassLoss::Hinge;
        /// Penalty on the coefficients.
        penalty: SgdPenalty = SgdPenalty::L2;
        /// Regularisation strength.
        alpha: f64 = 1e-4, at_least(0.0), log(1e-7, 1e-1);
        /// Weight of the L1 penalty, for elasticnet.
        l1_ratio: f64 = 0.15, between(0.0, 1.0);
        /// Whether to fit an intercept.
        fit_intercept: bool = true;
        /// Maximum number of passes over the data.
        max_iter: usize = 1000, at_least(1.0);
        /// Stop when a pass improves the loss by less than this; none to run all passes.
        tol: Option<f64> = Some(1e-3), at_least(0.0);
        /// Whether to shuffle the rows before each pass.
        shuffle: bool = true;
        /// Learning rate schedule.
        learning_rate: LearningRate = LearningRate::Optimal;
        /// Initial learning rate, where the schedule has one.
        eta0: f64 = 0.01, above(0.0), log(1e-4, 1.0);
        /// Exponent of the invscaling schedule.
        power_t: f64 = 0.5, any();
        /// Momentum: fraction of the previous step that is kept.
        momentum: f64 = 0.0, from_to(0.0, 1.0);
        /// Whether to hold out rows and stop when the loss on them stops falling.
        early_stopping: bool = false;
        /// Fraction of rows to hold out for early stopping.
        validation_fraction: f64 = 0.1, within(0.0, 1.0);
        /// Number of passes without improvement before stopping.
        n_iter_no_change: usize = 5, at_least(1.0);
        /// Whether to average the coefficients over all steps.
        average: bool = false;
        /// Number of rows in a minibatch. Above 1, each step follows the mean gradient and several workers can share
        /// the rows.
        batch_size: usize = 1, at_least(1.0);
    }
}

impl SGDClassifier {
    fn sgd(&self) -> Sgd {
        Sgd {
            loss: match self.loss {
                SgdClassLoss::Hinge => Loss::Hinge,
                SgdClassLoss::LogLoss => Loss::Logistic,
                SgdClassLoss::ModifiedHuber => Loss::ModifiedHuber,
                SgdClassLoss::SquaredHinge => Loss::SquaredHinge,
                SgdClassLoss::Perceptron => Loss::Perceptron,
            },
            alpha: if self.penalty == SgdPenalty::None { 0.0 } else { self.alpha },
            l1_ratio: mix(self.penalty, self.l1_ratio),
            fit_intercept: self.fit_intercept,
            batch_size: self.batch_size,
            max_iter: self.max_iter,
            tol: self.tol,
            shuffle: self.shuffle,
            // Without a penalty there is nothing to be optimal for.
            rate: match self.learning_rate {
                LearningRate::Optimal if self.alpha == 0.0 || self.penalty == SgdPenalty::None => {
                    LearningRate::Constant
                }
                rate => rate,
            },
            eta0: self.eta0,
            power_t: self.power_t,
            momentum: self.momentum,
            average: self.average,
            n_iter_no_change: self.n_iter_no_change,
            validation_fraction: if self.early_stopping { self.validation_fraction } else { 0.0 },
        }
    }
}

impl Estimator for SGDClassifier {
    type Model = SgdModel;

    const INFO: Info = Info {
        resume: true,
        scale: true,
        random: true,
        exceptions: &[(
            Property::WeightIsRepetition,
            "a repeated row is two steps, a row of weight 2 is one longer step",
        )],
        not_compared: Some("LogisticRegression and LinearSVC solve the same problems exactly"),
        ..Info::new(
            "linear_model",
            Task::Classification,
            "min_{w,b} mean_i loss(y_i, w.x_i + b) + alpha ((1 - r)/2 ||w||^2 + r ||w||_1), one class against the rest",
            Passes::Memory(WHY),
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        1e-9 * cost(shape, 70, self.max_iter)
    }

    fn passes(&self) -> Passes {
        passes(self.batch_size)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<SgdModel>> {
        descend(&self.sgd(), "SGDClassifier", None, self.max_iter, data, ctx)
    }

    fn learn_more(&self, model: &SgdModel, data: &dyn Source, ctx: &Ctx) -> Result<Fit<SgdModel>> {
        descend(&self.sgd(), "SGDClassifier", Some(model), 1, data, ctx)
    }
}
