//! Losses as scalar functions of (y, raw score s), shared by everything that fits scores: linear models, boosting,
//! networks.
//!
//! A loss has a value, a slope and a curvature in s, all of them for a single row. Two-class losses take y = 0 or 1 and
//! use the margin m = (2 y - 1) s. The slope of a loss with a kink is a sub-gradient there; the curvature is what a
//! Newton step may use: never negative, and zero where the loss is straight.
//!
//! [`PointLoss`] is the form that hot loops are compiled for, one copy for each loss; [`Loss`] is the run-time choice.

use crate::core::simd;
use serde::{Deserialize, Serialize};

/// Value, slope and curvature of a loss in the raw score.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    pub value: f64,
    pub slope: f64,
    pub curvature: f64,
}

pub trait PointLoss: Sync {
    fn at(&self, y: f64, s: f64) -> Point;

    /// The least value over all s: what the loss has above a deviance, which is zero at best.
    fn least(&self, _y: f64) -> f64 {
        0.0
    }

    /// M such that the third derivative is at most M times the second for every s, if the loss is convex, its curvature
    /// exact and there is one (Bach 2010): how fast the curvature can change, which turns a gradient into a bound.
    fn self_concordance(&self) -> Option<f64> {
        None
    }
}

/// `ln(1 + e^-m)`: minus the log-likelihood of two classes.
#[derive(Clone, Copy, Debug)]
pub struct Logistic;

impl PointLoss for Logistic {
    #[inline(always)]
    fn at(&self, y: f64, s: f64) -> Point {
        // e^-|s| serves the loss and the probability, each exact in both tails.
        let e = simd::exp(-s.abs());
        let small = e / (1.0 + e);
        let probability = if s < 0.0 { small } else { 1.0 - small };
        let loss = e.ln_1p() + (s.max(0.0) - y * s);
        // Near the confident end s.max(0) - y s cancels exactly, because y is 0 or 1.
        Point { value: loss, slope: probability - y, curvature: small * (1.0 - small) }
    }

    fn least(&self, y: f64) -> f64 {
        let part = |share: f64| if share > 0.0 { -share * share.ln() } else { 0.0 };
        part(y) + part(1.0 - y)
    }

    fn self_concordance(&self) -> Option<f64> {
        Some(1.0)
    }
}

/// `e^s - y s`: Poisson counts with the logarithm as link, up to what does not depend on s.
#[derive(Clone, Copy, Debug)]
pub struct PoissonLog;

impl PointLoss for PoissonLog {
    #[inline(always)]
    fn at(&self, y: f64, s: f64) -> Point {
        let mean = simd::exp(s);
        Point { value: mean - y * s, slope: mean - y, curvature: mean }
    }

    fn least(&self, y: f64) -> f64 {
        if y > 0.0 { y - y * y.ln() } else { 0.0 }
    }

    fn self_concordance(&self) -> Option<f64> {
        Some(1.0)
    }
}

/// `s + y e^-s`: Gamma amounts with the logarithm as link, up to what does not depend on s.
#[derive(Clone, Copy, Debug)]
pub struct GammaLog;

impl PointLoss for GammaLog {
    #[inline(always)]
    fn at(&self, y: f64, s: f64) -> Point {
        let ratio = y * simd::exp(-s);
        Point { value: s + ratio, slope: 1.0 - ratio, curvature: ratio }
    }

    fn least(&self, y: f64) -> f64 {
        1.0 + y.ln()
    }

    fn self_concordance(&self) -> Option<f64> {
        Some(1.0)
    }
}

/// `(s - y)^2 / 2`
#[derive(Clone, Copy, Debug)]
pub struct Squared;

impl PointLoss for Squared {
    #[inline(always)]
    fn at(&self, y: f64, s: f64) -> Point {
        Point { value: 0.5 * (s - y) * (s - y), slope: s - y, curvature: 1.0 }
    }

    fn self_concordance(&self) -> Option<f64> {
        Some(0.0)
    }
}

/// `e^{(2-p) s} / (2-p) - y e^{(1-p) s} / (1-p)`: Tweedie amounts of power 1 < p < 2 with the logarithm as link.
#[derive(Clone, Copy, Debug)]
pub struct TweedieLog {
    pub power: f64,
}

impl PointLoss for TweedieLog {
    #[inline(always)]
    fn at(&self, y: f64, s: f64) -> Point {
        let (one, two) = (1.0 - self.power, 2.0 - self.power);
        let (low, high) = (y * simd::exp(one * s), simd::exp(two * s));
        // Both terms of the curvature are positive between the powers 1 and 2; outside, the expected curvature is.
        let observed = two * high - one * low;
        let curvature = if (1.0..=2.0).contains(&self.power) { observed } else { high };
        Point { value: high / two - low / one, slope: high - low, curvature }
    }

    fn least(&self, y: f64) -> f64 {
        let (one, two) = (1.0 - self.power, 2.0 - self.power);
        // At s = ln y. Without an amount the loss falls towards zero, which is its least for powers below two.
        if y > 0.0 { y.powf(two) / two - y.powf(two) / one } else { 0.0 }
    }

    fn self_concordance(&self) -> Option<f64> {
        (1.0..=2.0).contains(&self.power).then_some(1.0)
    }
}

/// Every loss by name.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Loss {
    /// `(s - y)^2 / 2`
    Squared,
    /// `|s - y|`
    Absolute,
    /// Squared up to `delta`, straight beyond.
    Huber { delta: f64 },
    /// `max(0, |s - y| - epsilon)`
    EpsilonInsensitive { epsilon: f64 },
    /// `max(0, |s - y| - epsilon)^2`
    SquaredEpsilonInsensitive { epsilon: f64 },
    /// `max(q (y - s), (q - 1) (y - s))`: its minimum is the quantile q.
    Quantile { q: f64 },
    /// `ln(1 + e^-m)`
    Logistic,
    /// `max(0, 1 - m)`
    Hinge,
    /// `max(0, 1 - m)^2`
    SquaredHinge,
    /// `max(0, -m)`
    Perceptron,
    /// `max(0, 1 - m)^2` down to m = -1, `-4 m` below.
    ModifiedHuber,
    /// `e^-m`, which boosting by weights minimises.
    Exponential,
    /// `e^s - y s`
    PoissonLog,
    /// `s + y e^-s`
    GammaLog,
}

impl Loss {
    /// Whether y is 0 or 1.
    pub fn classifies(&self) -> bool {
        use Loss::*;
        matches!(self, Logistic | Hinge | SquaredHinge | Perceptron | ModifiedHuber | Exponential)
    }

    /// An upper bound of the curvature, if there is one: what a step must respect.
    pub fn largest_curvature(&self) -> Option<f64> {
        match self {
            Loss::Squared | Loss::Huber { .. } => Some(1.0),
            Loss::SquaredEpsilonInsensitive { .. } | Loss::SquaredHinge | Loss::ModifiedHuber => Some(2.0),
            Loss::Logistic => Some(0.25),
            _ => None,
        }
    }

    pub fn value(&self, y: f64, s: f64) -> f64 {
        self.at(y, s).value
    }

    pub fn slope(&self, y: f64, s: f64) -> f64 {
        self.at(y, s).slope
    }
}

impl PointLoss for Loss {
    #[inline]
    fn at(&self, y: f64, s: f64) -> Point {
        let point = |value, slope, curvature| Point { value, slope, curvature };
        let sign = 2.0 * y - 1.0;
        let (r, m) = (s - y, sign * s);
        match *self {
            Loss::Squared => Squared.at(y, s),
            Loss::Logistic => Logistic.at(y, s),
            Loss::PoissonLog => PoissonLog.at(y, s),
            Loss::GammaLog => GammaLog.at(y, s),
            Loss::Absolute => point(r.abs(), if r == 0.0 { 0.0 } else { r.signum() }, 0.0),
            Loss::Huber { delta } if r.abs() <= delta => point(0.5 * r * r, r, 1.0),
            Loss::Huber { delta } => point(delta * (r.abs() - 0.5 * delta), delta * r.signum(), 0.0),
            Loss::EpsilonInsensitive { epsilon } if r.abs() <= epsilon => point(0.0, 0.0, 0.0),
            Loss::EpsilonInsensitive { epsilon } => point(r.abs() - epsilon, r.signum(), 0.0),
            Loss::SquaredEpsilonInsensitive { epsilon } if r.abs() <= epsilon => point(0.0, 0.0, 0.0),
            Loss::SquaredEpsilonInsensitive { epsilon } => {
                let beyond = r.abs() - epsilon;
                point(beyond * beyond, 2.0 * beyond * r.signum(), 2.0)
            }
            Loss::Quantile { q } => {
                if r < 0.0 {
                    point(-q * r, -q, 0.0)
                } else {
                    point((1.0 - q) * r, if r > 0.0 { 1.0 - q } else { 0.0 }, 0.0)
                }
            }
            Loss::Hinge if m < 1.0 => point(1.0 - m, -sign, 0.0),
            Loss::SquaredHinge if m < 1.0 => point((1.0 - m) * (1.0 - m), -2.0 * sign * (1.0 - m), 2.0),
            Loss::ModifiedHuber if m < -1.0 => point(-4.0 * m, -4.0 * sign, 0.0),
            Loss::ModifiedHuber if m < 1.0 => point((1.0 - m) * (1.0 - m), -2.0 * sign * (1.0 - m), 2.0),
            // A score of exactly zero is a mistake: that is how the perceptron leaves its start.
            Loss::Perceptron if m <= 0.0 => point(-m, -sign, 0.0),
            Loss::Hinge | Loss::SquaredHinge | Loss::ModifiedHuber | Loss::Perceptron => point(0.0, 0.0, 0.0),
            Loss::Exponential => {
                let e = simd::exp(-m);
                point(e, -sign * e, e)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &[Loss] = &[
        Loss::Squared,
        Loss::Absolute,
        Loss::Huber { delta: 0.7 },
        Loss::EpsilonInsensitive { epsilon: 0.3 },
        Loss::SquaredEpsilonInsensitive { epsilon: 0.3 },
        Loss::Quantile { q: 0.2 },
        Loss::Logistic,
        Loss::Hinge,
        Loss::SquaredHinge,
        Loss::Perceptron,
        Loss::ModifiedHuber,
        Loss::Exponential,
        Loss::PoissonLog,
        Loss::GammaLog,
    ];

    fn check(name: &str, loss: &dyn PointLoss, ys: &[f64], observed: bool) {
        for &y in ys {
            for i in -40..=40 {
                // Off every kink.
                let s = f64::from(i) * 0.1 + 0.0137;
                let h = 1e-5;
                let (low, here, high) = (loss.at(y, s - h), loss.at(y, s), loss.at(y, s + h));
                let slope = (high.value - low.value) / (2.0 * h);
                assert!((slope - here.slope).abs() < 1e-6 * (1.0 + slope.abs()), "{name} y={y} s={s}: slope {slope}");
                let bend = (high.slope - low.slope) / (2.0 * h);
                let scale = 1.0 + bend.abs();
                assert!(!observed || (bend - here.curvature).abs() < 1e-6 * scale, "{name} y={y} s={s}: {bend}");
                assert!(here.curvature >= 0.0 && here.value.is_finite(), "{name} y={y} s={s}");
                // Convex: the tangent lies below.
                let away = loss.at(y, s + 0.7);
                assert!(!observed || away.value + 1e-12 >= here.value + 0.7 * here.slope, "{name} y={y} s={s}");
            }
        }
    }

    #[test]
    fn slopes_and_curvatures_are_derivatives() {
        for loss in ALL {
            let ys: &[f64] = if loss.classifies() { &[0.0, 1.0] } else { &[0.0, 1.5, 3.0] };
            check(&format!("{loss:?}"), loss, ys, true);
        }
        for power in [1.1, 1.5, 1.9] {
            check("tweedie", &TweedieLog { power }, &[0.0, 0.5, 4.0], true);
        }
        check("tweedie 2.5", &TweedieLog { power: 2.5 }, &[0.5, 4.0], false);
    }

    #[test]
    fn least_values_and_changes_of_curvature_are_what_they_say() {
        let tweedie = TweedieLog { power: 1.4 };
        let losses: [&dyn PointLoss; 5] = [&Logistic, &PoissonLog, &GammaLog, &Squared, &tweedie];
        for (which, loss) in losses.into_iter().enumerate() {
            let Some(most) = loss.self_concordance() else { panic!("loss {which}") };
            let ys: &[f64] = if which == 0 { &[0.0, 1.0] } else { &[0.3, 1.0, 7.0] };
            for &y in ys {
                let mut reached = f64::INFINITY;
                for i in -1600..=1600 {
                    let s = f64::from(i) * 1e-2;
                    let (here, next) = (loss.at(y, s), loss.at(y, s + 1e-4));
                    reached = reached.min(here.value);
                    let change = (next.curvature - here.curvature).abs() / 1e-4;
                    assert!(change <= most * here.curvature * 1.001 + 1e-9, "loss {which}, y {y}, s {s}: {change}");
                }
                let least = loss.least(y);
                assert!(reached >= least - 1e-12 && reached <= least + 1e-3, "loss {which}, y {y}: {reached} {least}");
            }
        }
    }

    #[test]
    fn logistic_keeps_its_digits_in_both_tails() {
        for s in [40.0, 300.0, 800.0] {
            for (y, s) in [(1.0, s), (0.0, -s)] {
                let point = Logistic.at(y, s);
                assert!((point.value - (-40.0f64.max(f64::abs(s))).exp()).abs() < 1e-17 || point.value < 1e-17);
            }
            let wrong = Logistic.at(0.0, s);
            assert!((wrong.value - s).abs() < 1e-12 && wrong.slope == 1.0 && wrong.curvature >= 0.0);
        }
        let point = Logistic.at(1.0, 30.0);
        assert!((point.value / (-30.0f64).exp() - 1.0).abs() < 1e-10, "{:e}", point.value);
    }
}
