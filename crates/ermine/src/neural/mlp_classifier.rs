//! Classes by a network: min_w mean_i -ln p_{y_i}(x_i) + alpha / (2 n) ||W||^2, where p is the softmax of the last
//! layer's scores (logistic of a single one for two classes). Layers and gradient are in [`network`](super::network),
//! training in [`train`](super::train). Several labels a row, each there or not, are a target of several columns of 0
//! and 1: min_w mean_i sum_j -ln p(y_ij | x_i) + the penalty, with the logistic of a score for each label.

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
        TargetKind,
        model::Property,
        param::{above, any, at_least, between, from_to, linear, log, within},
        reduce,
    },
    engine::loss::Loss,
};

network_params! {
    /// A network of layers for classes, trained by backpropagation on minibatches.
    ///
    /// ```
    /// use ermine::{Ctx, Data, Estimator, Model, Output, X, neural::{MLPClassifier, optimiser::Solver}};
    /// // Exclusive or: no straight line separates it.
    /// let x = [0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0];
    /// let data = Data::new(X::dense(&x, 2)?).classes(&[0, 1, 1, 0], 2)?;
    /// let network = MLPClassifier { hidden_layer_sizes: vec![8], solver: Solver::Lbfgs, ..Default::default() };
    /// let fit = network.fit(&data, &Ctx::new(1))?;
    /// let mut class = [0.0; 4];
    /// fit.model.predict(&X::dense(&x, 2)?, Output::Class, &mut class)?;
    /// assert_eq!(class, [0.0, 1.0, 1.0, 0.0]);
    /// # Ok::<(), ermine::Error>(())
    /// ```
    pub struct MLPClassifier {}
}

impl MLPClassifier {
    fn train(&self, before: Option<&NeuralModel>, data: &dyn Source, ctx: &Ctx) -> Result<Fit<NeuralModel>> {
        let (head, classes) = match data.shape().target {
            TargetKind::Class(2) => (Head::Each(Loss::Logistic), 2),
            TargetKind::Class(classes) => (Head::Softmax, classes),
            _ => {
                let labels = Targets { allowed: |y| y == 0.0 || y == 1.0, problem: "a label is 0 or 1" };
                reduce(ctx, data, &labels)?;
                (Head::Labels, 0)
            }
        };
        train(&self.settings(), head, classes, before, data, ctx)
    }
}

impl Estimator for MLPClassifier {
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
            Task::Classification,
            "min_w mean_i -ln p_{y_i}(x_i) + alpha / (2 n) ||W||^2, p the softmax of a network",
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
