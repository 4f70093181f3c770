//! The losses of boosting: gradient and Hessian at raw scores, and what scores mean. The smooth ones are those of
//! [`engine::loss`](crate::engine::loss); losses with a kink have no curvature there, and boosting takes 1.

use crate::{
    core::simd,
    engine::loss::{self, GammaLog, Logistic, Point, PointLoss, PoissonLog},
};
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
        let Point { slope, curvature, .. } = self.at(y, s);
        (slope, curvature)
    }

    #[inline(always)]
    pub fn value(self, y: f64, s: f64) -> f64 {
        self.at(y, s).value
    }

    #[inline(always)]
    fn at(self, y: f64, s: f64) -> Point {
        match self {
            Loss::Squared => loss::Squared.at(y, s),
            Loss::Poisson => PoissonLog.at(y, s),
            Loss::Gamma => GammaLog.at(y, s),
            Loss::Binary | Loss::Softmax => Logistic.at(y, s),
            Loss::Absolute => {
                let sign = f64::from(i8::from(s > y) - i8::from(s < y));
                Point { value: (y - s).abs(), slope: sign, curvature: 1.0 }
            }
            // A score that is met exactly counts as too low.
            Loss::Quantile(q) if s > y => Point { value: (1.0 - q) * (s - y), slope: 1.0 - q, curvature: 1.0 },
            Loss::Quantile(q) => Point { value: q * (y - s), slope: -q, curvature: 1.0 },
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

/// The smallest y with at least the share `q` of weight at or below it; the middle of two where the share is met
/// exactly.
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
