//! Numbers by a network: min_w mean_i loss(y_i, s(x_i)) + alpha / (2 n) ||W||^2, with the squared, Huber or Poisson loss, summed over several
//! targets. Layers and gradient are in [`network`](super::network), training in [`train`](super::train). The target is not
//! scaled: one that is far from unit size learns slowly.

use super::{
    NeuralModel,
    network::{Activation, Head, Init},
    network_params,
    optimiser::{Schedule, Solver},
    train::{BatchSize, Settings, train},
};
use crate::{
    Ctx, Error, Estimator, Fit, Info, Passes, Result, Source, Task,
    core::{
        Batch, Reduce, choice,
        model::Property,
        param::{above, any, at_least, between, from_to, linear, log, within},
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
                crate::core::reduce(ctx, data, &NoNegative)?;
                Loss::PoissonLog
            }
        };
        train(&self.settings(), Head::Each(loss), 0, before, data, ctx)
    }
}

/// Refuses what is no count.
struct NoNegative;

impl Reduce for NoNegative {
    type Stat = ();

    fn zero(&self) {}

    fn add(&self, _: &mut (), batch: &Batch) -> Result<()> {
        match batch.y.real().iter().position(|y| *y < 0.0) {
            None => Ok(()),
            Some(at) => {
                let width = batch.y.real().len() / batch.rows();
                let problem = format!("the target is {}, and the Poisson loss needs 0 or more", batch.y.real()[at]);
                Err(Error::value(batch.first + at / width, None, problem))
            }
        }
    }

    fn merge(&self, _: &mut (), _: ()) {}
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
            "a row twice is drawn into two minibatches, a row of weight two into one",
        )],
        ..Info::new(
            "neural_network",
            Task::Regression,
            "min_w mean_i loss(y_i, s(x_i)) + alpha / (2 n) ||W||^2, s the scores of a network",
            Passes::Many,
        )
    };

    fn fit(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<NeuralModel>> {
        self.train(None, data, ctx)
    }

    fn resume(&self, model: &NeuralModel, data: &dyn Source, ctx: &Ctx) -> Result<Fit<NeuralModel>> {
        self.train(Some(model), data, ctx)
    }
}
