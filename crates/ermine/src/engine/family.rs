//! The exponential family: `p(y | eta) = h(y, phi) exp((y eta - a(eta)) / phi)`, phi the dispersion.
//!
//! Everything about a member follows from its log-partition a: the mean is a'(eta), the variance (over phi) a''(eta),
//! and written in terms of the mean it is the variance function V. A generalised linear model sets link(mean) = w.x +
//! b; its loss is half the unit deviance, `d(y, mu) / 2 = (y eta(y) - a(eta(y))) - (y eta(mu) - a(eta(mu)))`, and its
//! slope in the raw score is (mu - y) mu' / V(mu) whatever the family and link (McCullagh and Nelder 1989).

use super::{
    loss::{Point, PointLoss},
    special,
};
use crate::core::{choice, simd};
use serde::{Deserialize, Serialize};

/// A member of the exponential family with one natural parameter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Family {
    Normal,
    Bernoulli,
    Poisson,
    Gamma,
    /// Variance mean^3.
    InverseGaussian,
    /// Variance mean^power; amounts with exact zeros for powers between 1 and 2.
    Tweedie {
        power: f64,
    },
    /// Counts of variance mean + alpha mean^2.
    NegativeBinomial {
        alpha: f64,
    },
}

impl Family {
    /// The power of the mean that the variance grows with, for the members where it does.
    fn power(&self) -> Option<f64> {
        match *self {
            Family::Normal => Some(0.0),
            Family::Poisson => Some(1.0),
            Family::Gamma => Some(2.0),
            Family::InverseGaussian => Some(3.0),
            Family::Tweedie { power } => Some(power),
            Family::Bernoulli | Family::NegativeBinomial { .. } => None,
        }
    }

    /// The natural parameter eta of a mean.
    pub fn natural(&self, mean: f64) -> f64 {
        match (*self, self.power()) {
            (Family::Bernoulli, _) => (mean / (1.0 - mean)).ln(),
            (Family::NegativeBinomial { alpha }, _) => -(1.0 / (alpha * mean)).ln_1p(),
            (_, Some(1.0)) => mean.ln(),
            (_, Some(power)) => mean.powf(1.0 - power) / (1.0 - power),
            (_, None) => f64::NAN,
        }
    }

    /// a(eta)
    pub fn log_partition(&self, eta: f64) -> f64 {
        match (*self, self.power()) {
            (Family::Bernoulli, _) => simd::softplus(eta),
            (Family::NegativeBinomial { alpha }, _) => -(-eta.exp()).ln_1p() / alpha,
            (_, Some(1.0)) => eta.exp(),
            (_, Some(2.0)) => -(-eta).ln(),
            (_, Some(power)) => ((1.0 - power) * eta).powf((2.0 - power) / (1.0 - power)) / (2.0 - power),
            (_, None) => f64::NAN,
        }
    }

    /// a'(eta)
    pub fn mean(&self, eta: f64) -> f64 {
        match (*self, self.power()) {
            (Family::Bernoulli, _) => simd::sigmoid(eta),
            (Family::NegativeBinomial { alpha }, _) => 1.0 / (alpha * (-eta).exp_m1()),
            (_, Some(1.0)) => eta.exp(),
            (_, Some(power)) => ((1.0 - power) * eta).powf(1.0 / (1.0 - power)),
            (_, None) => f64::NAN,
        }
    }

    /// V(mean) = a''(eta(mean))
    pub fn variance(&self, mean: f64) -> f64 {
        match *self {
            Family::Normal => 1.0,
            Family::Bernoulli => mean * (1.0 - mean),
            Family::Poisson => mean,
            Family::Gamma => mean * mean,
            Family::InverseGaussian => mean * mean * mean,
            Family::Tweedie { power } => mean.powf(power),
            Family::NegativeBinomial { alpha } => mean + alpha * mean * mean,
        }
    }

    /// Twice the log-likelihood lost by `mean` against the perfect prediction y, at dispersion 1.
    pub fn deviance(&self, y: f64, mean: f64) -> f64 {
        // y ln(y / mean), which is 0 at y = 0.
        let relative = |y: f64, mean: f64| if y == 0.0 { 0.0 } else { y * (y / mean).ln() };
        match (*self, self.power()) {
            (Family::Bernoulli, _) => 2.0 * (relative(y, mean) + relative(1.0 - y, 1.0 - mean)),
            (Family::NegativeBinomial { alpha }, _) => {
                2.0 * (relative(y, mean) - (y + 1.0 / alpha) * ((1.0 + alpha * y) / (1.0 + alpha * mean)).ln())
            }
            (_, Some(0.0)) => (y - mean) * (y - mean),
            (_, Some(1.0)) => 2.0 * (relative(y, mean) - y + mean),
            (_, Some(2.0)) => 2.0 * ((mean / y).ln() + y / mean - 1.0),
            (_, Some(p)) => {
                let own = if y <= 0.0 { 0.0 } else { y.powf(2.0 - p) / ((1.0 - p) * (2.0 - p)) };
                2.0 * (own - y * mean.powf(1.0 - p) / (1.0 - p) + mean.powf(2.0 - p) / (2.0 - p))
            }
            (_, None) => f64::NAN,
        }
    }

    /// Whether y can come from this member, and if not, what can.
    pub fn allows(&self, y: f64) -> Result<(), &'static str> {
        let (ok, allowed) = match (*self, self.power()) {
            (Family::Bernoulli, _) => ((0.0..=1.0).contains(&y), "between 0 and 1"),
            (Family::NegativeBinomial { .. }, _) => (y >= 0.0, "0 or more"),
            (_, Some(power)) if power <= 0.0 => (true, "any number"),
            (_, Some(power)) if power < 2.0 => (y >= 0.0, "0 or more"),
            _ => (y > 0.0, "above 0"),
        };
        if ok { Ok(()) } else { Err(allowed) }
    }

    /// Whether a mean is inside the family's range.
    pub fn has_mean(&self, mean: f64) -> bool {
        match (*self, self.power()) {
            (Family::Bernoulli, _) => mean > 0.0 && mean < 1.0,
            (_, Some(0.0)) => mean.is_finite(),
            _ => mean > 0.0 && mean.is_finite(),
        }
    }

    /// Whether the dispersion is known to be 1.
    pub fn fixed_dispersion(&self) -> bool {
        matches!(self, Family::Bernoulli | Family::Poisson | Family::NegativeBinomial { .. })
    }

    /// Log-likelihood of one observation of weight one, constants included, at dispersion `phi`; `None` where there is
    /// no closed form.
    pub fn log_likelihood(&self, y: f64, mean: f64, phi: f64) -> Option<f64> {
        let pi2 = 2.0 * std::f64::consts::PI;
        match *self {
            Family::Normal => Some(-0.5 * ((y - mean).powi(2) / phi + (pi2 * phi).ln())),
            Family::Bernoulli => Some(-0.5 * self.deviance(y, mean)),
            Family::Poisson => Some(if y == 0.0 { -mean } else { y * mean.ln() - mean - special::ln_gamma(y + 1.0) }),
            Family::Gamma => {
                let shape = 1.0 / phi;
                Some(shape * (y * shape / mean).ln() - y.ln() - y * shape / mean - special::ln_gamma(shape))
            }
            Family::InverseGaussian => {
                Some(-0.5 * ((pi2 * phi * y.powi(3)).ln() + (y - mean).powi(2) / (phi * y * mean * mean)))
            }
            Family::NegativeBinomial { alpha } => {
                let r = 1.0 / alpha;
                let share = alpha * mean / (1.0 + alpha * mean);
                let hits = if y == 0.0 { 0.0 } else { y * share.ln() };
                Some(
                    special::ln_gamma(y + r) - special::ln_gamma(r) - special::ln_gamma(y + 1.0) + hits
                        - r * (alpha * mean).ln_1p(),
                )
            }
            Family::Tweedie { .. } => None,
        }
    }

    /// The link that a model takes when none is named: the canonical one where it keeps means in range, else the
    /// logarithm.
    pub fn usual_link(&self) -> Link {
        match (*self, self.power()) {
            (Family::Bernoulli, _) => Link::Logit,
            (_, Some(power)) if power <= 0.0 => Link::Identity,
            _ => Link::Log,
        }
    }
}

/// One of k categories: the member with a vector of natural parameters, whose mean is the softmax.
pub struct Categorical;

impl Categorical {
    /// a(eta) = ln sum e^eta
    pub fn log_partition(eta: &[f64]) -> f64 {
        let top = eta.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        top + eta.iter().map(|e| (e - top).exp()).sum::<f64>().ln()
    }

    /// The gradient of a: the probability of each category.
    pub fn mean(eta: &[f64]) -> Vec<f64> {
        let a = Categorical::log_partition(eta);
        eta.iter().map(|e| (e - a).exp()).collect()
    }

    /// Element (i, j) of the Hessian of a: the covariance of the indicators.
    pub fn variance(mean: &[f64], i: usize, j: usize) -> f64 {
        if i == j { mean[i] * (1.0 - mean[i]) } else { -mean[i] * mean[j] }
    }
}

choice! {
    /// Which function of the mean is linear in the columns.
    pub enum Link {
        /// mean = s
        Identity = "identity",
        /// mean = e^s
        Log = "log",
        /// mean = 1 / (1 + e^-s)
        Logit = "logit",
        /// mean = the normal distribution function at s
        Probit = "probit",
        /// mean = 1 - e^-e^s
        Cloglog = "cloglog",
        /// mean = 1 / s
        Inverse = "inverse",
        /// mean = s^2
        Sqrt = "sqrt",
    }
}

impl Link {
    /// The score of a mean.
    pub fn score(&self, mean: f64) -> f64 {
        match self {
            Link::Identity => mean,
            Link::Log => mean.ln(),
            Link::Logit => (mean / (1.0 - mean)).ln(),
            Link::Probit => special::normal_quantile(mean),
            Link::Cloglog => (-(-mean).ln_1p()).ln(),
            Link::Inverse => 1.0 / mean,
            Link::Sqrt => mean.sqrt(),
        }
    }

    /// The mean at a score and its derivative there.
    pub fn mean(&self, s: f64) -> (f64, f64) {
        match self {
            Link::Identity => (s, 1.0),
            Link::Log => (simd::exp(s), simd::exp(s)),
            Link::Logit => {
                let p = simd::sigmoid(s);
                (p, p * simd::sigmoid(-s))
            }
            Link::Probit => special::normal(s),
            Link::Cloglog => (-(-s.exp()).exp_m1(), (s - s.exp()).exp()),
            Link::Inverse => (1.0 / s, -1.0 / (s * s)),
            Link::Sqrt => (s * s, 2.0 * s),
        }
    }
}

/// Half the unit deviance of any family under any link, with the expected curvature (Fisher scoring).
#[derive(Clone, Copy, Debug)]
pub struct Deviance {
    pub family: Family,
    pub link: Link,
}

impl PointLoss for Deviance {
    fn at(&self, y: f64, s: f64) -> Point {
        let (mut mean, slope) = self.link.mean(s);
        if self.family == Family::Bernoulli {
            // A probability that rounds to 0 or 1 is still a probability.
            mean = mean.clamp(1e-300, 1.0 - f64::EPSILON / 2.0);
        }
        if !self.family.has_mean(mean) {
            return Point { value: f64::INFINITY, slope: 0.0, curvature: 0.0 };
        }
        let variance = self.family.variance(mean);
        Point {
            value: 0.5 * self.family.deviance(y, mean),
            slope: (mean - y) * slope / variance,
            curvature: slope * slope / variance,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMBERS: &[(Family, &[f64])] = &[
        (Family::Normal, &[-2.0, 0.3, 5.0]),
        (Family::Bernoulli, &[0.1, 0.5, 0.9]),
        (Family::Poisson, &[0.2, 1.0, 7.0]),
        (Family::Gamma, &[0.2, 1.0, 7.0]),
        (Family::InverseGaussian, &[0.2, 1.0, 7.0]),
        (Family::Tweedie { power: 1.5 }, &[0.2, 1.0, 7.0]),
        (Family::Tweedie { power: 2.7 }, &[0.2, 1.0, 7.0]),
        (Family::NegativeBinomial { alpha: 0.7 }, &[0.2, 1.0, 7.0]),
    ];

    #[test]
    fn mean_and_variance_are_derivatives_of_the_log_partition() {
        for (family, means) in MEMBERS {
            for &mean in *means {
                let eta = family.natural(mean);
                let h = 1e-4 * (1.0 + eta.abs()).min(eta.abs().max(1e-3));
                let a = |shift: f64| family.log_partition(eta + shift);
                // Five-point differences.
                let first = (a(-2.0 * h) - 8.0 * a(-h) + 8.0 * a(h) - a(2.0 * h)) / (12.0 * h);
                let second = (family.mean(eta - 2.0 * h) - 8.0 * family.mean(eta - h) + 8.0 * family.mean(eta + h)
                    - family.mean(eta + 2.0 * h))
                    / (12.0 * h);
                assert!((first - mean).abs() < 1e-7 * (1.0 + mean.abs()), "{family:?} {mean}: a' = {first}");
                assert!((family.mean(eta) - mean).abs() < 1e-12 * (1.0 + mean.abs()), "{family:?} {mean}");
                let variance = family.variance(mean);
                assert!((second - variance).abs() < 1e-7 * (1.0 + variance), "{family:?} {mean}: a'' = {second}");
            }
        }
    }

    #[test]
    fn deviance_is_what_the_definition_says() {
        for (family, means) in MEMBERS {
            for &y in *means {
                for &mean in *means {
                    let fit = |m: f64| y * family.natural(m) - family.log_partition(family.natural(m));
                    let expected = 2.0 * (fit(y) - fit(mean));
                    let deviance = family.deviance(y, mean);
                    assert!((deviance - expected).abs() < 1e-9 * (1.0 + expected), "{family:?} {y} {mean}: {deviance}");
                }
                assert!(family.deviance(y, y).abs() < 1e-12);
            }
        }
        assert_eq!(Family::Poisson.deviance(0.0, 2.0), 4.0);
    }

    #[test]
    fn slopes_of_the_deviance_are_derivatives_under_every_link() {
        for (family, means) in MEMBERS {
            for link in [Link::Identity, Link::Log, Link::Logit, Link::Probit, Link::Cloglog, Link::Inverse, Link::Sqrt]
            {
                let loss = Deviance { family: *family, link };
                for &mean in *means {
                    let s = link.score(mean);
                    if !s.is_finite() {
                        continue;
                    }
                    assert!((link.mean(s).0 - mean).abs() < 1e-9, "{link:?} {mean}");
                    let h = 1e-5 * (1.0 + s.abs());
                    for &y in *means {
                        let slope = (loss.at(y, s + h).value - loss.at(y, s - h).value) / (2.0 * h);
                        if !slope.is_finite() {
                            continue;
                        }
                        let found = loss.at(y, s).slope;
                        assert!(
                            (slope - found).abs() < 1e-4 * (1.0 + slope.abs()),
                            "{loss:?} {y} {s}: {slope} {found}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn categorical_means_are_the_gradient() {
        let eta = [0.3, -1.0, 2.0];
        let mean = Categorical::mean(&eta);
        for i in 0..3 {
            let (mut up, mut down) = (eta, eta);
            up[i] += 1e-5;
            down[i] -= 1e-5;
            let slope = (Categorical::log_partition(&up) - Categorical::log_partition(&down)) / 2e-5;
            assert!((slope - mean[i]).abs() < 1e-9);
            for j in 0..3 {
                let bend = (Categorical::mean(&up)[j] - Categorical::mean(&down)[j]) / 2e-5;
                assert!((bend - Categorical::variance(&mean, i, j)).abs() < 1e-8);
            }
        }
    }
}
