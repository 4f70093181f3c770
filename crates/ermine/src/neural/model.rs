//! A trained network: predictions, attributes, and where its training stands.

use super::{
    network::{Head, Network},
    train::State,
};
use crate::{Array, Error, Model, Numbers, Output, Result, X, engine::loss::Loss};
use serde::{Deserialize, Serialize};

/// The network with its weights, and the state of the optimiser, so that training can go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NeuralModel {
    pub network: Network,
    /// 0 for numbers and labels.
    pub classes: usize,
    pub state: State,
}

impl NeuralModel {
    /// Weights of layer `l`, inputs x outputs, and its biases.
    pub fn layer(&self, l: usize) -> (&[f64], &[f64]) {
        let part = &self.network.parts()[l];
        (&self.state.weights[part.weights.clone()], &self.state.weights[part.bias.clone()])
    }
}

impl Model for NeuralModel {
    fn cols(&self) -> usize {
        self.network.sizes[0]
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        let width = self.network.outputs();
        match (self.network.head, self.classes) {
            (Head::Labels, _) => vec![(Output::Class, width), (Output::Probability, width)],
            (_, 0) => vec![(Output::Value, width)],
            (_, classes) => vec![(Output::Class, 1), (Output::Probability, classes)],
        }
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        let (k, head) = (self.network.outputs(), self.network.head);
        let mut scores = vec![0.0; x.rows() * k];
        self.network.scores(&self.state.weights, &self.state.running, x, &mut scores);
        match output {
            Output::Class if head != Head::Softmax => {
                out.iter_mut().zip(&scores).for_each(|(out, s)| *out = f64::from(u8::from(*s > 0.0)));
            }
            Output::Class => {
                for (out, scores) in out.iter_mut().zip(scores.chunks_exact(k)) {
                    *out = first_largest(scores) as f64;
                }
            }
            _ => head.predictions(&scores, k, out),
        }
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let State { weights, steps: _, seen, loss_curve, validation_scores, epochs, .. } = &self.state;
        let parts = self.network.parts();
        let list = |arrays: Vec<Array>| Array { shape: vec![arrays.len()], values: Numbers::List(arrays) };
        let coefs = parts.iter().map(|part| Array {
            shape: vec![part.inputs, part.outputs],
            values: Numbers::Float(weights[part.weights.clone()].to_vec()),
        });
        let text = |name: &str| Array { shape: vec![], values: Numbers::Text(vec![name.into()]) };
        let mut all = vec![
            ("coefs_", list(coefs.collect())),
            ("intercepts_", list(parts.iter().map(|part| weights[part.bias.clone()].into()).collect())),
            ("n_layers_", self.network.sizes.len().into()),
            ("n_outputs_", self.network.outputs().into()),
            ("n_iter_", (*epochs).into()),
            ("t_", (*seen).into()),
            ("loss_", loss_curve.last().copied().unwrap_or(f64::NAN).into()),
            ("loss_curve_", loss_curve.into()),
            (
                "out_activation_",
                text(match self.network.head {
                    Head::Softmax => "softmax",
                    Head::Each(Loss::Logistic) | Head::Labels => "logistic",
                    Head::Each(Loss::PoissonLog) => "exp",
                    Head::Each(_) => "identity",
                }),
            ),
        ];
        let least = loss_curve.iter().copied().fold(f64::INFINITY, f64::min);
        if validation_scores.is_empty() {
            all.push(("best_loss_", least.into()));
        } else {
            let most = validation_scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            all.push(("validation_scores_", validation_scores.into()));
            all.push(("best_validation_score_", most.into()));
        }
        all
    }

    fn check(&self) -> Result<()> {
        let damaged = || Error::Data("the stored network is not consistent".into());
        self.network.check(self.state.weights.len(), self.state.running.len())?;
        let outputs = match (self.network.head, self.classes) {
            (Head::Softmax, classes) => classes,
            (Head::Each(Loss::Logistic), 2) => 1,
            (Head::Each(Loss::Logistic), _) => return Err(damaged()),
            (Head::Each(_) | Head::Labels, 0) => self.network.outputs(),
            _ => return Err(damaged()),
        };
        if outputs == self.network.outputs() { Ok(()) } else { Err(damaged()) }
    }
}

/// The class with the largest score, the first of equals.
pub fn first_largest(scores: &[f64]) -> usize {
    let mut best = 0;
    for (class, score) in scores.iter().enumerate() {
        if *score > scores[best] {
            best = class;
        }
    }
    best
}
