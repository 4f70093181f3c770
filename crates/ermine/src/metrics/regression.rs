//! How far predicted numbers are from the truth. One target at a time; [`super::Metric`] averages over several.
//!
//! `w` are the weights (1 without), `W = sum w`, `y` the truth, `f` the prediction, `m` the weighted mean of y. A score
//! that the data do not define (R2 of a single row) is NaN.

use super::same_length;
use crate::{Error, Result, engine::quantile};

/// `sum_i w_i loss(y_i, f_i) / W`
fn mean(y: &[f64], f: &[f64], weights: Option<&[f64]>, loss: impl Fn(f64, f64) -> f64) -> Result<f64> {
    same_length(y.len(), f.len(), weights)?;
    let (mut sum, mut total) = (0.0, 0.0);
    for i in 0..y.len() {
        let weight = weights.map_or(1.0, |weights| weights[i]);
        sum += weight * loss(y[i], f[i]);
        total += weight;
    }
    Ok(sum / total)
}

/// `sum w (y - f)^2 / W`
pub fn mean_squared_error(y: &[f64], f: &[f64], weights: Option<&[f64]>) -> Result<f64> {
    mean(y, f, weights, |y, f| (y - f) * (y - f))
}

/// `sqrt(sum w (y - f)^2 / W)`
pub fn root_mean_squared_error(y: &[f64], f: &[f64], weights: Option<&[f64]>) -> Result<f64> {
    Ok(mean_squared_error(y, f, weights)?.sqrt())
}

/// `sum w |y - f| / W`
pub fn mean_absolute_error(y: &[f64], f: &[f64], weights: Option<&[f64]>) -> Result<f64> {
    mean(y, f, weights, |y, f| (y - f).abs())
}

/// `sum w |y - f| / max(|y|, eps) / W`
pub fn mean_absolute_percentage_error(y: &[f64], f: &[f64], weights: Option<&[f64]>) -> Result<f64> {
    mean(y, f, weights, |y, f| (y - f).abs() / y.abs().max(f64::EPSILON))
}

/// `sum w (log(1 + y) - log(1 + f))^2 / W`, for y and f above -1.
pub fn mean_squared_log_error(y: &[f64], f: &[f64], weights: Option<&[f64]>) -> Result<f64> {
    if let Some(i) = y.iter().zip(f).position(|(&y, &f)| y <= -1.0 || f <= -1.0) {
        return Err(Error::value(i, None, "the squared log error needs truth and prediction above -1"));
    }
    mean(y, f, weights, |y, f| (y.ln_1p() - f.ln_1p()).powi(2))
}

/// Weighted median of `|y - f|`.
pub fn median_absolute_error(y: &[f64], f: &[f64], weights: Option<&[f64]>) -> Result<f64> {
    same_length(y.len(), f.len(), weights)?;
    let errors: Vec<f64> = y.iter().zip(f).map(|(y, f)| (y - f).abs()).collect();
    Ok(quantile::weighted(&errors, weights, 0.5))
}

/// `max |y - f|`; weights do not enter.
pub fn max_error(y: &[f64], f: &[f64]) -> Result<f64> {
    same_length(y.len(), f.len(), None)?;
    Ok(y.iter().zip(f).map(|(y, f)| (y - f).abs()).fold(0.0, f64::max))
}

/// Quantile loss, `sum w max(alpha (y - f), (alpha - 1) (y - f)) / W`: least at the quantile alpha.
pub fn mean_pinball_loss(y: &[f64], f: &[f64], alpha: f64, weights: Option<&[f64]>) -> Result<f64> {
    if !(0.0..=1.0).contains(&alpha) {
        return Err(refused("mean_pinball_loss", "alpha", alpha, "between 0 and 1"));
    }
    mean(y, f, weights, |y, f| if y >= f { alpha * (y - f) } else { (1.0 - alpha) * (f - y) })
}

/// Mean deviance of the Tweedie family with variance `mu^power`: 0 normal, 1 Poisson, 2 gamma, 3 inverse Gaussian.
pub fn mean_tweedie_deviance(y: &[f64], f: &[f64], power: f64, weights: Option<&[f64]>) -> Result<f64> {
    same_length(y.len(), f.len(), weights)?;
    check_tweedie(y, f, power)?;
    mean(y, f, weights, |y, f| tweedie(y, f, power))
}

fn check_tweedie(y: &[f64], f: &[f64], power: f64) -> Result<()> {
    if power > 0.0 && power < 1.0 || !power.is_finite() {
        return Err(refused("mean_tweedie_deviance", "power", power, "at most 0 or at least 1"));
    }
    let (y_least, f_positive) = match power {
        0.0 => return Ok(()),
        p if p < 0.0 => (f64::NEG_INFINITY, true),
        p if p < 2.0 => (0.0, true),
        _ => (f64::MIN_POSITIVE, true),
    };
    let bad = y.iter().zip(f).position(|(&y, &f)| y < y_least || f_positive && f <= 0.0);
    bad.map_or(Ok(()), |i| {
        let truth = if power >= 2.0 { "a truth > 0" } else { "a truth >= 0" };
        let truth = if power < 0.0 { "any truth" } else { truth };
        let found = format!("truth {} with prediction {}", y[i], f[i]);
        Err(Error::value(i, None, format!("{found}: the deviance of power {power} needs {truth} and a prediction > 0")))
    })
}

fn tweedie(y: f64, f: f64, p: f64) -> f64 {
    match p {
        0.0 => (y - f) * (y - f),
        1.0 => 2.0 * (if y == 0.0 { 0.0 } else { y * (y / f).ln() } - y + f),
        2.0 => 2.0 * ((f / y).ln() + y / f - 1.0),
        p => {
            let base = if p < 0.0 { y.max(0.0) } else { y };
            2.0 * (base.powf(2.0 - p) / ((1.0 - p) * (2.0 - p)) - y * f.powf(1.0 - p) / (1.0 - p)
                + f.powf(2.0 - p) / (2.0 - p))
        }
    }
}

/// `1 - sum w (y - f)^2 / sum w (y - m)^2`; for a constant truth 1 when it is met exactly and 0 otherwise.
pub fn r2_score(y: &[f64], f: &[f64], weights: Option<&[f64]>) -> Result<f64> {
    let m = mean(y, f, weights, |y, _| y)?;
    if y.len() < 2 {
        return Ok(f64::NAN);
    }
    let left = mean(y, f, weights, |y, f| (y - f) * (y - f))?;
    Ok(explained(left, mean(y, f, weights, |y, _| (y - m) * (y - m))?))
}

/// `1 - Var(y - f) / Var(y)`: as R2, but a constant offset costs nothing.
pub fn explained_variance_score(y: &[f64], f: &[f64], weights: Option<&[f64]>) -> Result<f64> {
    let m = mean(y, f, weights, |y, _| y)?;
    let offset = mean(y, f, weights, |y, f| y - f)?;
    let left = mean(y, f, weights, |y, f| (y - f - offset).powi(2))?;
    Ok(explained(left, mean(y, f, weights, |y, _| (y - m) * (y - m))?))
}

/// Share of the pinball loss of the best constant that is gone.
pub fn d2_pinball_score(y: &[f64], f: &[f64], alpha: f64, weights: Option<&[f64]>) -> Result<f64> {
    let left = mean_pinball_loss(y, f, alpha, weights)?;
    if y.len() < 2 {
        return Ok(f64::NAN);
    }
    let constant = vec![quantile::weighted(y, weights, alpha); y.len()];
    Ok(explained(left, mean_pinball_loss(y, &constant, alpha, weights)?))
}

/// Share of the absolute error of the median that is gone.
pub fn d2_absolute_error_score(y: &[f64], f: &[f64], weights: Option<&[f64]>) -> Result<f64> {
    d2_pinball_score(y, f, 0.5, weights)
}

/// Share of the Tweedie deviance of the mean that is gone; power 0 is R2.
pub fn d2_tweedie_score(y: &[f64], f: &[f64], power: f64, weights: Option<&[f64]>) -> Result<f64> {
    let left = mean_tweedie_deviance(y, f, power, weights)?;
    if y.len() < 2 {
        return Ok(f64::NAN);
    }
    let m = mean(y, f, weights, |y, _| y)?;
    Ok(1.0 - left / mean(y, f, weights, |y, _| tweedie(y, m, power))?)
}

/// `1 - left / whole`, finite where there is nothing to explain.
fn explained(left: f64, whole: f64) -> f64 {
    if whole != 0.0 || left.is_nan() {
        1.0 - left / whole
    } else if left == 0.0 {
        1.0
    } else {
        0.0
    }
}

fn refused(metric: &str, name: &str, value: f64, allowed: &str) -> Error {
    Error::Parameter { model: metric.into(), name: name.into(), value: value.to_string(), allowed: allowed.into() }
}
