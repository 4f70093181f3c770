//! Networks of layers, trained by backpropagation. See [`network`] for the derivation and [`train`] for how steps are the same anywhere.

mod feed;
mod merge;
mod mlp_classifier;
mod mlp_regressor;
mod model;
pub mod network;
pub mod optimiser;
pub mod train;

pub use mlp_classifier::MLPClassifier;
pub use mlp_regressor::{MLPRegressor, RegressionLoss};
pub use model::NeuralModel;

/// The parameters that both networks have, declared once; those of one alone stand in the braces.
macro_rules! network_params {
    (
        $(#[doc = $doc:literal])*
        pub struct $name:ident { $($own:tt)* }
    ) => {
        $crate::core::params! {
            $(#[doc = $doc])*
            pub struct $name {
                $($own)*
                /// Units of each hidden layer.
                hidden_layer_sizes: Vec<usize> = vec![100], at_least(1.0);
                /// What a hidden unit makes of its input.
                activation: Activation = Activation::Relu;
                /// How weights follow their gradient.
                solver: Solver = Solver::Adam;
                /// Strength of the L2 penalty on the weights, alpha / 2 times their squares, shared by the rows of a minibatch; with adamw
                /// the share of the weights that each step of length one takes away.
                alpha: f64 = 1e-4, at_least(0.0), log(1e-6, 1.0);
                /// Rows of a minibatch; auto is 200, or all if there are fewer. Not for lbfgs.
                batch_size: BatchSize = BatchSize::Auto;
                /// How the step length changes.
                learning_rate: Schedule = Schedule::Constant;
                /// First step length.
                learning_rate_init: f64 = 1e-3, above(0.0), log(1e-4, 1e-1);
                /// Exponent of the schedule invscaling.
                power_t: f64 = 0.5, any();
                /// Most epochs, or steps of lbfgs.
                max_iter: usize = 200, at_least(1.0);
                /// Whether to shuffle the rows before each epoch.
                shuffle: bool = true;
                /// Stop when the loss (or the held-out score) improves by less in `n_iter_no_change` epochs; for lbfgs, when no component of the
                /// gradient is larger.
                tol: f64 = 1e-4, at_least(0.0);
                /// Share of the last step that is kept, for sgd.
                momentum: f64 = 0.9, between(0.0, 1.0);
                /// Whether momentum looks ahead, for sgd.
                nesterovs_momentum: bool = true;
                /// Whether to hold out rows, stop when their score stops rising, and keep the weights that had the best.
                early_stopping: bool = false;
                /// Share of the rows held out.
                validation_fraction: f64 = 0.1, within(0.0, 1.0);
                /// Decay of the first moment, for adam and adamw.
                beta_1: f64 = 0.9, from_to(0.0, 1.0);
                /// Decay of the second moment, for adam and adamw.
                beta_2: f64 = 0.999, from_to(0.0, 1.0);
                /// Keeps steps of adam and adamw finite.
                epsilon: f64 = 1e-8, above(0.0);
                /// Epochs without improvement before stopping.
                n_iter_no_change: usize = 10, at_least(1.0);
                /// How wide the weights start.
                init: Init = Init::Glorot;
                /// Share of hidden units left out in each step, at random. Not for lbfgs.
                dropout: f64 = 0.0, from_to(0.0, 1.0), linear(0.0, 0.5);
                /// Whether to normalise the input of hidden units over each block of a minibatch. Not for lbfgs.
                batch_norm: bool = false;
                /// Longest gradient; longer ones are shortened to it. Not for lbfgs.
                clip_norm: Option<f64> = None, above(0.0);
            }
        }

        impl $name {
            fn settings(&self) -> Settings {
                Settings {
                    name: stringify!($name),
                    hidden: self.hidden_layer_sizes.clone(),
                    activation: self.activation,
                    init: self.init,
                    solver: self.solver,
                    alpha: self.alpha,
                    batch_size: self.batch_size,
                    schedule: self.learning_rate,
                    rate: self.learning_rate_init,
                    power_t: self.power_t,
                    max_iter: self.max_iter,
                    shuffle: self.shuffle,
                    tol: self.tol,
                    momentum: self.momentum,
                    nesterov: self.nesterovs_momentum,
                    early_stopping: self.early_stopping,
                    validation_fraction: self.validation_fraction,
                    n_iter_no_change: self.n_iter_no_change,
                    beta_1: self.beta_1,
                    beta_2: self.beta_2,
                    epsilon: self.epsilon,
                    dropout: self.dropout,
                    batch_norm: self.batch_norm,
                    clip_norm: self.clip_norm,
                }
            }
        }
    };
}
use network_params;

#[cfg(test)]
mod tests;
