//! How weights follow their gradient g: one pass over all of them, element by element.
//!
//! ```text
//! sgd     v = mu v - eta g;  w += v                   Nesterov: w += mu v - eta g
//! adam    m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;  w -= eta_t m / (sqrt v + eps),  eta_t = eta sqrt(1 - b2^t) / (1 - b1^t)
//! adamw   as adam, and w -= eta alpha w beside it: the penalty does not pass through the moments
//! ```
//!
//! (Sutskever et al. 2013; Kingma and Ba 2015; Loshchilov and Hutter 2019.)

use crate::core::{choice, simd};

choice! {
    /// Optimiser.
    pub enum Solver {
        /// Limited-memory BFGS on all rows at once.
        Lbfgs = "lbfgs",
        Sgd = "sgd",
        Adam = "adam",
        Adamw = "adamw",
    }
}

choice! {
    /// Learning rate schedule.
    pub enum Schedule {
        Constant = "constant",
        /// learning_rate_init / t^power_t after t rows; for sgd.
        Invscaling = "invscaling",
        /// Divided by five whenever the loss stops falling; for sgd.
        Adaptive = "adaptive",
        /// From learning_rate_init down to zero along a cosine over max_iter passes; for sgd, adam and adamw.
        Cosine = "cosine",
    }
}

/// The rule and its constants.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    Sgd { momentum: f64, nesterov: bool },
    Adam { beta_1: f64, beta_2: f64, epsilon: f64 },
}

/// One step's numbers.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub eta: f64,
    /// Counted from 1.
    pub number: u64,
    /// Share of the weights that is taken away beside the rule, for adamw.
    pub decay: f64,
}

impl Rule {
    /// Moves `w` against `gradient`. `first` and `second` are the moments of the same weights; sgd has no second.
    pub fn step(self, step: Step, w: &mut [f64], gradient: &[f64], first: &mut [f64], second: &mut [f64]) {
        let n = w.len();
        let (gradient, first) = (&gradient[..n], &mut first[..n]);
        match self {
            Rule::Sgd { momentum, nesterov } => simd::vectorised(
                #[inline(always)]
                || {
                    for i in 0..n {
                        let push = step.eta * gradient[i];
                        first[i] = momentum * first[i] - push;
                        w[i] += if nesterov { momentum * first[i] - push } else { first[i] };
                    }
                },
            ),
            Rule::Adam { beta_1, beta_2, epsilon } => {
                let second = &mut second[..n];
                let t = step.number as f64;
                let eta = step.eta * (1.0 - beta_2.powf(t)).sqrt() / (1.0 - beta_1.powf(t));
                let keep = 1.0 - step.eta * step.decay;
                simd::vectorised(
                    #[inline(always)]
                    || {
                        for i in 0..n {
                            let g = gradient[i];
                            first[i] = beta_1 * first[i] + (1.0 - beta_1) * g;
                            second[i] = beta_2 * second[i] + (1.0 - beta_2) * (g * g);
                            w[i] = keep * w[i] - eta * first[i] / (second[i].sqrt() + epsilon);
                        }
                    },
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps worked out by hand from the formulas.
    #[test]
    fn rules_follow_their_formulas() {
        let step = Step { eta: 0.1, number: 1, decay: 0.0 };
        let (mut w, mut m, mut v) = (vec![1.0], vec![0.5], vec![0.0]);
        Rule::Sgd { momentum: 0.9, nesterov: false }.step(step, &mut w, &[2.0], &mut m, &mut []);
        assert!((m[0] - 0.25).abs() < 1e-15 && (w[0] - 1.25).abs() < 1e-15);
        Rule::Sgd { momentum: 0.9, nesterov: true }.step(step, &mut w, &[2.0], &mut m, &mut []);
        assert!((m[0] - 0.025).abs() < 1e-15 && (w[0] - (1.25 + 0.9 * 0.025 - 0.2)).abs() < 1e-15);

        let adam = Rule::Adam { beta_1: 0.9, beta_2: 0.999, epsilon: 0.0 };
        (w, m) = (vec![1.0], vec![0.0]);
        adam.step(step, &mut w, &[-3.0], &mut m, &mut v);
        // Without a past the step has length eta, against the gradient.
        assert!((w[0] - 1.1).abs() < 1e-12, "{}", w[0]);
        let before = w[0];
        adam.step(Step { number: 2, decay: 0.5, ..step }, &mut w, &[-3.0], &mut m, &mut v);
        assert!((w[0] - (before * 0.95 + 0.1)).abs() < 1e-12, "{}", w[0]);
    }
}
