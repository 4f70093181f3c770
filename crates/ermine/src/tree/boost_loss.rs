//! The losses of boosting: start, gradient and Hessian at raw scores, and what scores mean.

use crate::core::simd;
use serde::{Deserialize, Serialize};

/// A loss of (y, raw score).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Loss {
    /// (y - s)^2 / 2
    Squared,
    /// |y - s|
    Absolute,
    /// e^s - y s
    Poisson,
    /// s + y e^-s
    Gamma,
    /// `(y - s)(q - [y < s])`
    Quantile(f64),
    /// ln(1 + e^s) - y s
    Binary,
    /// ln sum e^s - s_y, one score for each class
    Softmax,
}

impl Loss {
    /// Gradient and Hessian of one score; softmax has several and is done beside.
    #[inline(always)]
    pub fn slope(self, y: f64, s: f64) -> (f64, f64) {
        match self {
            Loss::Squared => (s - y, 1.0),
            Loss::Absolute => (
                if s > y {
                    1.0
                } else if s < y {
                    -1.0
                } else {
                    0.0
                },
                1.0,
            ),
            Loss::Poisson => {
                let mean = simd::exp(s);
                (mean - y, mean)
            }
            Loss::Gamma => {
                let ratio = y * simd::exp(-s);
                (1.0 - ratio, ratio)
            }
            Loss::Quantile(q) => (if s > y { 1.0 - q } else { -q }, 1.0),
            Loss::Binary | Loss::Softmax => {
                let p = simd::sigmoid(s);
                (p - y, p * (1.0 - p))
            }
        }
    }

    #[inline(always)]
    pub fn value(self, y: f64, s: f64) -> f64 {
        match self {
            Loss::Squared => 0.5 * (y - s) * (y - s),
            Loss::Absolute => (y - s).abs(),
            Loss::Poisson => simd::exp(s) - y * s,
            Loss::Gamma => s + y * simd::exp(-s),
            Loss::Quantile(q) => {
                if y >= s {
                    q * (y - s)
                } else {
                    (1.0 - q) * (s - y)
                }
            }
            Loss::Binary | Loss::Softmax => simd::softplus(s) - y * s,
        }
    }

    /// The quantile of residuals that is the best constant, for losses whose Hessian says nothing.
    pub fn quantile(self) -> Option<f64> {
        match self {
            Loss::Absolute => Some(0.5),
            Loss::Quantile(q) => Some(q),
            _ => None,
        }
    }

    /// The prediction that a raw score stands for.
    pub fn mean(self, s: f64) -> f64 {
        match self {
            Loss::Poisson | Loss::Gamma => simd::exp(s),
            Loss::Binary => simd::sigmoid(s),
            _ => s,
        }
    }
}

/// The smallest y with at least the share `q` of weight at or below it; the middle of two where the share is met exactly.
pub fn weighted_quantile(pairs: &mut [(f64, f64)], q: f64) -> f64 {
    pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = pairs.iter().map(|pair| pair.1).sum();
    let mut sum = 0.0;
    for (i, pair) in pairs.iter().enumerate() {
        sum += pair.1;
        if sum >= q * total * (1.0 - 1e-12) && pair.1 > 0.0 {
            let exact = (sum - q * total).abs() <= 1e-12 * total;
            return match pairs[i + 1..].iter().find(|next| next.1 > 0.0) {
                Some(next) if exact => (pair.0 + next.0) / 2.0,
                _ => pair.0,
            };
        }
    }
    pairs.last().map_or(0.0, |pair| pair.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_differences() {
        for loss in [Loss::Squared, Loss::Absolute, Loss::Poisson, Loss::Gamma, Loss::Quantile(0.3), Loss::Binary] {
            for (y, s) in [(1.0, 0.3), (0.0, -0.7), (1.0, 2.5)] {
                let (d, (g, h)) = (1e-5, loss.slope(y, s));
                let numeric = (loss.value(y, s + d) - loss.value(y, s - d)) / (2.0 * d);
                assert!((g - numeric).abs() < 1e-6, "{loss:?} {y} {s}: {g} {numeric}");
                if loss.quantile().is_none() {
                    let numeric = (loss.slope(y, s + d).0 - loss.slope(y, s - d).0) / (2.0 * d);
                    assert!((h - numeric).abs() < 1e-6, "{loss:?} {y} {s}: {h} {numeric}");
                }
            }
        }
    }

    #[test]
    fn quantiles_weigh() {
        assert_eq!(weighted_quantile(&mut [(3.0, 1.0), (1.0, 1.0), (2.0, 1.0)], 0.5), 2.0);
        assert_eq!(weighted_quantile(&mut [(4.0, 1.0), (1.0, 1.0)], 0.5), 2.5);
        assert_eq!(weighted_quantile(&mut [(4.0, 1.0), (1.0, 3.0)], 0.5), 1.0);
    }
}
