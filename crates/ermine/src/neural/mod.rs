//! Networks of layers, trained by backpropagation. See [`network`] for the derivation and [`train`] for how steps are
//! the same anywhere.
//!
//! ```
//! use ermine::prelude::*;
//!
//! let x: Vec<[f64; 1]> = (0..60).map(|i| [f64::from(i) / 10.0 - 3.0]).collect();
//! let y: Vec<f64> = x.iter().map(|row| row[0].sin()).collect();
//! let data = Data::from_rows(&x)?.real(&y)?;
//! let network = MLPRegressor {
//!     hidden_layer_sizes: vec![16],
//!     activation: neural::Activation::Tanh,
//!     solver: neural::Solver::Lbfgs,
//!     max_iter: 500,
//!     ..Default::default()
//! };
//! assert!(network.fit(&data, &Ctx::new(1))?.score(&data)? > 0.95);
//! # Ok::<(), ermine::Error>(())
//! ```

mod merge;
mod minibatches;
mod mlp_classifier;
mod mlp_regressor;
mod model;
pub mod network;
pub mod optimiser;
pub mod train;

pub use mlp_classifier::MLPClassifier;
pub use mlp_regressor::{MLPRegressor, RegressionLoss};
pub use model::NeuralModel;
pub use network::{Activation, Init};
pub use optimiser::{Schedule, Solver};
pub use train::BatchSize;

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
                /// Number of units in each hidden layer.
                hidden_layer_sizes: Vec<usize> = vec![100], at_least(1.0);
                /// Activation function of the hidden layers.
                activation: Activation = Activation::Relu;
                /// Optimiser.
                solver: Solver = Solver::Adam;
                /// Strength of the L2 penalty on the weights, alpha / 2 times the sum of squares, divided by the rows
                /// of a minibatch; for adamw, the weight decay.
                alpha: f64 = 1e-4, at_least(0.0), log(1e-6, 1.0);
                /// Number of rows in a minibatch; auto is 200, or all rows if there are fewer. Ignored by lbfgs.
                batch_size: BatchSize = BatchSize::Auto;
                /// Learning rate schedule.
                learning_rate: Schedule = Schedule::Constant;
                /// Initial learning rate.
                learning_rate_init: f64 = 1e-3, above(0.0), log(1e-4, 1e-1);
                /// Exponent of the invscaling schedule.
                power_t: f64 = 0.5, any();
                /// Maximum number of epochs, or of iterations for lbfgs.
                max_iter: usize = 200, at_least(1.0);
                /// Whether to shuffle the rows before each epoch.
                shuffle: bool = true;
                /// Stop when the loss (or the held-out score) improves by less than this over `n_iter_no_change`
                /// epochs; for lbfgs, when no component of the gradient exceeds this.
                tol: f64 = 1e-4, at_least(0.0);
                /// Momentum, for sgd.
                momentum: f64 = 0.9, between(0.0, 1.0);
                /// Whether to use Nesterov momentum, for sgd.
                nesterovs_momentum: bool = true;
                /// Whether to hold out rows, stop when the score on them stops rising, and keep the best weights.
                early_stopping: bool = false;
                /// Fraction of rows to hold out for early stopping.
                validation_fraction: f64 = 0.1, within(0.0, 1.0);
                /// Decay rate of the first moment, for adam and adamw.
                beta_1: f64 = 0.9, from_to(0.0, 1.0);
                /// Decay rate of the second moment, for adam and adamw.
                beta_2: f64 = 0.999, from_to(0.0, 1.0);
                /// Numerical stability term of adam and adamw.
                epsilon: f64 = 1e-8, above(0.0);
                /// Number of epochs without improvement before stopping.
                n_iter_no_change: usize = 10, at_least(1.0);
                /// Initialisation of the weights.
                init: Init = Init::Glorot;
                /// Dropout rate of the hidden units. Not available with lbfgs.
                dropout: f64 = 0.0, from_to(0.0, 1.0), linear(0.0, 0.5);
                /// Whether to apply batch normalisation, over each block of a minibatch. Not available with lbfgs.
                batch_norm: bool = false;
                /// Gradient clipping: maximum norm of the gradient. Not available with lbfgs.
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
