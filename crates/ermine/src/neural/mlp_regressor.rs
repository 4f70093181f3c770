//! Numbers by a network: min_w mean_i loss(y_i, s(x_i)) + alpha / (2 n) ||W||^2, with the squared, Huber or Poisson
//! loss, summed over several targets. Layers and gradient are in [`network`](super::network), training in
//! [`train`](super::train). The target is not scaled: one that is far from unit size learns slowly.

use super::{
    NeuralModel,
    network::{Activation, Head, Init},
    network_params,
    optimiser::{Schedule, Solver},
    train::{BatchSize, Settings, Targets, train},
};
use crate::{
    Ctx, Estimator, Fit, Flexibility, Info, Passes, Result, Shape, Source, Task,
    core::{
        choice,
        model::Property,
        param::{above, any, at_least, between, from_to, linear, log, within},
        reduce,
    },
    engine::loss::Loss,
};

choice! {
    /// What a wrong number costs.
    pub enum RegressionLoss {
        /// (s - y)^2 / 2
        SquaredError = "squared_error",
        /// Squared up to `huber_delta`, then straight: outliers pull less.
        Huber = "huber",
        /// e^s - y s for counts; the prediction is e^s.
        Poisson = "poisson",
    }
}

network_params! {
    /// A network of layers for one or several numbers, trained by backpropagation on minibatches.
    pub struct MLPRegressor {
        /// What a wrong number costs.
        loss: RegressionLoss = RegressionLoss::SquaredError;
        /// Error up to which the Huber loss is squared.
        huber_delta: f64 = 1.0, above(0.0);
    }
}

impl MLPRegressor {
    fn train(&self, before: Option<&NeuralModel>, data: &dyn Source, ctx: &Ctx) -> Result<Fit<NeuralModel>> {
        let loss = match self.loss {
            RegressionLoss::SquaredError => Loss::Squared,
            RegressionLoss::Huber => Loss::Huber { delta: self.huber_delta },
            RegressionLoss::Poisson => {
                let counts = Targets { allowed: |y| y >= 0.0, problem: "the Poisson loss needs 0 or more" };
                reduce(ctx, data, &counts)?;
                Loss::PoissonLog
            }
        };
        train(&self.settings(), Head::Each(loss), 0, before, data, ctx)
    }
}

impl Estimator for MLPRegressor {
    type Model = NeuralModel;

    const INFO: Info = Info {
        scale: true,
        random: true,
        resume: true,
        multi_target: true,
        exceptions: &[(
            Property::WeightIsRepetition,
            "a repeated row is drawn into two minibatches, a row of weight 2 into one",
        )],
        flexibility: Flexibility::Network,
        ..Info::new(
            "neural_network",
            Task::Regression,
            "min_w mean_i loss(y_i, s(x_i)) + alpha / (2 n) ||W||^2, s the scores of a network",
            Passes::Many,
        )
    };

    fn cost(&self, shape: &Shape) -> f64 {
        1e-9 * self.settings().cost(shape)
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<NeuralModel>> {
        self.train(None, data, ctx)
    }

    fn learn_more(&self, model: &NeuralModel, data: &dyn Source, ctx: &Ctx) -> Result<Fit<NeuralModel>> {
        self.train(Some(model), data, ctx)
    }
}
