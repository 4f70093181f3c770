//! What a fitted linear model says about its population: standard errors, tests, intervals and criteria, as plain data.
//!
//! Under y = w.x + b + normal noise, the coefficients are normal about the truth with covariance sigma^2 (X'X)^-1, and sigma^2 is
//! estimated by RSS / (n - k). A weight counts as that many rows. Criteria follow R: the variance is one of the parameters that
//! AIC and BIC count. Inference is for models without a penalty: a penalty biases what is tested here.
//!
//! A generalised linear model is asymptotically normal with covariance phi (X'WX)^-1, W the expected curvature; phi is 1 for
//! counts and classes and Pearson's estimate otherwise, and then t takes the place of the normal.

use super::{GlmModel, LinearModel, model::scores};
use crate::{
    AnyModel, Ctx, Error, Matrix, Result, Source, Value, Values,
    core::{
        Batch, Reduce, Target, kernel,
        linalg::{self, Cholesky},
        reduce,
        stats::{ColumnMoments, CrossProducts, Moments},
    },
    engine::{
        family::{Deviance, Family},
        least_squares,
        loss::PointLoss,
        special,
    },
};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// One coefficient.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Term {
    /// `None` for the intercept.
    pub column: Option<usize>,
    pub estimate: f64,
    pub std_error: f64,
    /// Estimate over standard error: t, or z where the dispersion is known.
    pub statistic: f64,
    /// Two-sided.
    pub p_value: f64,
    pub low: f64,
    pub high: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The intercept first, if there is one.
    pub terms: Vec<Term>,
    /// Confidence level of the intervals.
    pub level: f64,
    /// Rows, or their total weight.
    pub rows: f64,
    /// Rows minus coefficients.
    pub degrees: f64,
    /// RSS / degrees: the unbiased estimate of the noise.
    pub variance: f64,
    /// RSS / rows: the estimate of maximum likelihood.
    pub variance_ml: f64,
    pub r2: f64,
    pub adjusted_r2: f64,
    /// All slopes against none.
    pub f: f64,
    pub f_p_value: f64,
    pub log_likelihood: f64,
    pub aic: f64,
    pub bic: f64,
    /// Of the terms, in their order.
    pub covariance: Matrix,
}

/// Standard errors, tests and criteria of ordinary least squares with one target, on the rows it was fitted to.
pub fn summary(model: &LinearModel, intercept: bool, level: f64, data: &dyn Source, ctx: &Ctx) -> Result<Summary> {
    if model.coef.rows != 1 {
        return Err(Error::Unsupported("a summary is of one target".into()));
    }
    let p = data.shape().cols;
    let gram = reduce(ctx, data, &CrossProducts { cols: p, targets: 1 })?;
    let squares = reduce(ctx, data, &Squares { model })?;
    let n = gram.weight;
    let degrees = n - p as f64 - f64::from(u8::from(intercept));
    if !(degrees > 0.0) {
        return Err(Error::Data(format!("{n} rows leave nothing to estimate the noise of {p} columns from")));
    }
    let inverse = least_squares::inverse_scatter(data, ctx, &gram, intercept)?.ok_or_else(dependent)?;
    let variance = squares / degrees;
    let total = gram.scatter[(p, p)] + if intercept { 0.0 } else { n * gram.mean[p] * gram.mean[p] };
    let covariance = with_intercept(&inverse, &gram.mean[..p], 1.0 / n, intercept, variance);
    let terms = terms(&model.coef.values, model.intercept[0], intercept, &covariance, degrees, level);
    let explained = (total - squares) / p as f64;
    let f = explained / variance;
    let k = terms.len() as f64;
    let variance_ml = squares / n;
    let log_likelihood = -0.5 * n * ((2.0 * std::f64::consts::PI * variance_ml).ln() + 1.0);
    let r2 = 1.0 - squares / total;
    let freedom = n - f64::from(u8::from(intercept));
    Ok(Summary {
        terms,
        level,
        rows: n,
        degrees,
        variance,
        variance_ml,
        r2,
        adjusted_r2: 1.0 - (1.0 - r2) * freedom / degrees,
        f,
        f_p_value: special::f_upper(f, p as f64, degrees),
        log_likelihood,
        aic: -2.0 * log_likelihood + 2.0 * (k + 1.0),
        bic: -2.0 * log_likelihood + n.ln() * (k + 1.0),
        covariance,
    })
}

fn dependent() -> Error {
    Error::Data("columns are redundant, so their coefficients have no standard errors".into())
        .hint("the log of the fit names the redundant columns; leave them out")
}

/// Covariance of (b, w) from that of w about centred columns: b = level - w.mean.
fn with_intercept(inverse: &Matrix, mean: &[f64], level: f64, intercept: bool, scale: f64) -> Matrix {
    let p = inverse.rows;
    if !intercept {
        return Matrix::from_fn(p, p, |i, j| scale * inverse[(i, j)]);
    }
    let along: Vec<f64> = (0..p).map(|i| kernel::dot(inverse.row(i), mean)).collect();
    let own = level + kernel::dot(&along, mean);
    Matrix::from_fn(p + 1, p + 1, |i, j| {
        scale
            * match (i, j) {
                (0, 0) => own,
                (0, j) => -along[j - 1],
                (i, 0) => -along[i - 1],
                (i, j) => inverse[(i - 1, j - 1)],
            }
    })
}

fn terms(coef: &[f64], b: f64, intercept: bool, covariance: &Matrix, degrees: f64, level: f64) -> Vec<Term> {
    let quantile = special::t_quantile(0.5 + 0.5 * level, degrees);
    let first = usize::from(intercept);
    (0..coef.len() + first)
        .map(|i| {
            let column = i.checked_sub(first);
            let estimate = column.map_or(b, |j| coef[j]);
            let std_error = covariance[(i, i)].max(0.0).sqrt();
            let statistic = estimate / std_error;
            Term {
                column,
                estimate,
                std_error,
                statistic,
                p_value: 2.0 * special::t_upper(statistic.abs(), degrees),
                low: estimate - quantile * std_error,
                high: estimate + quantile * std_error,
            }
        })
        .collect()
}

/// A prediction with its two intervals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    pub fit: f64,
    pub std_error: f64,
    /// Where the mean of such rows lies.
    pub confidence: (f64, f64),
    /// Where the next such row lies.
    pub prediction: (f64, f64),
}

impl Summary {
    /// Confidence and prediction interval of the row `x`.
    pub fn interval(&self, x: &[f64]) -> Interval {
        let z: Vec<f64> = self.terms.iter().map(|term| term.column.map_or(1.0, |j| x[j])).collect();
        let fit = z.iter().zip(&self.terms).map(|(z, term)| z * term.estimate).sum();
        let spread: f64 = (0..z.len()).map(|i| z[i] * kernel::dot(self.covariance.row(i), &z)).sum();
        let quantile = special::t_quantile(0.5 + 0.5 * self.level, self.degrees);
        let around = |variance: f64| (fit - quantile * variance.sqrt(), fit + quantile * variance.sqrt());
        Interval {
            fit,
            std_error: spread.max(0.0).sqrt(),
            confidence: around(spread.max(0.0)),
            prediction: around(spread.max(0.0) + self.variance),
        }
    }

    /// The table that R users know.
    pub fn table(&self, names: &[String]) -> String {
        let mut out = coefficient_table(&self.terms, names, "t value", "Pr(>|t|)");
        let line = format!(
            "\nResidual standard error: {:.4} on {} degrees of freedom\nMultiple R-squared: {:.4}, Adjusted R-squared: {:.4}\n\
             F-statistic: {:.4} on {} and {} DF, p-value: {:.4e}\nAIC: {:.2}, BIC: {:.2}, log-likelihood: {:.2}\n",
            self.variance.sqrt(),
            self.degrees,
            self.r2,
            self.adjusted_r2,
            self.f,
            self.terms.iter().filter(|term| term.column.is_some()).count(),
            self.degrees,
            self.f_p_value,
            self.aic,
            self.bic,
            self.log_likelihood
        );
        out.push_str(&line);
        out
    }
}

fn coefficient_table(terms: &[Term], names: &[String], statistic: &str, p_value: &str) -> String {
    let name = |term: &Term| match term.column {
        None => "(Intercept)".to_string(),
        Some(j) => names.get(j).cloned().unwrap_or_else(|| format!("x{j}")),
    };
    let width = terms.iter().map(|term| name(term).chars().count()).max().unwrap_or(0).max(11);
    let mut out = format!("{:width$} {:>12} {:>12} {statistic:>9} {p_value:>10}\n", "", "Estimate", "Std. Error");
    for term in terms {
        let stars = match term.p_value {
            p if p < 0.001 => "***",
            p if p < 0.01 => "**",
            p if p < 0.05 => "*",
            p if p < 0.1 => ".",
            _ => "",
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{:width$} {:>12.5e} {:>12.5e} {:>9.3} {:>10.3e} {stars}",
            name(term),
            term.estimate,
            term.std_error,
            term.statistic,
            term.p_value
        );
    }
    out
}

/// Residual sum of squares.
struct Squares<'a> {
    model: &'a LinearModel,
}

impl Reduce for Squares<'_> {
    type Stat = f64;

    fn zero(&self) -> f64 {
        0.0
    }

    fn add(&self, stat: &mut f64, batch: &Batch) -> Result<()> {
        let mut fitted = vec![0.0; batch.rows()];
        scores(&batch.x, &self.model.coef, &self.model.intercept, &mut fitted);
        for (i, (fitted, y)) in fitted.iter().zip(batch.y.real()).enumerate() {
            *stat += batch.weight(i) * (y - fitted) * (y - fitted);
        }
        Ok(())
    }

    fn merge(&self, left: &mut f64, right: f64) {
        *left += right;
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GlmSummary {
    /// The intercept first, if there is one; an offset or exposure column has no term.
    pub terms: Vec<Term>,
    pub level: f64,
    pub rows: f64,
    pub degrees: f64,
    /// phi: 1 for counts and classes.
    pub dispersion: f64,
    pub deviance: f64,
    /// Deviance of the intercept alone.
    pub null_deviance: f64,
    pub pearson: f64,
    /// `None` for a Tweedie family, whose density has no closed form.
    pub log_likelihood: Option<f64>,
    pub aic: Option<f64>,
    pub covariance: Matrix,
}

/// Standard errors, tests and deviances of a generalised linear model without a penalty, on the rows it was fitted to. The target is
/// numbers, or two classes for a Bernoulli model.
pub fn glm_summary(model: &GlmModel, intercept: bool, level: f64, data: &dyn Source, ctx: &Ctx) -> Result<GlmSummary> {
    let p = model.coef.cols;
    let moments = reduce(ctx, data, &ColumnMoments { cols: p })?;
    let mean = reduce(ctx, data, &TargetMean)?;
    let free: Vec<usize> = (0..p).filter(|&j| model.exposure != Some(j)).collect();
    let sum = Information { model, moments: &moments, intercept, free: &free, null: mean.0 / mean.1 };
    let at = reduce(ctx, data, &sum)?;
    let k = free.len() + usize::from(intercept);
    let stride = linalg::padded(free.len() + 1);
    let n = at.weight;
    let degrees = n - k as f64;
    if !(degrees > 0.0) {
        return Err(Error::Data(format!("{n} rows leave nothing to estimate {k} coefficients from")));
    }
    let dispersion = if model.family.fixed_dispersion() { 1.0 } else { at.pearson / degrees };
    // Columns brought to unit length, as for any system of this kind.
    let first = usize::from(intercept);
    let place = |i: usize| if i < first { free.len() } else { i - first };
    let entry = |i: usize, j: usize| {
        let (i, j) = (place(i).max(place(j)), place(i).min(place(j)));
        at.gram[i * stride + j]
    };
    let scale: Vec<f64> = (0..k).map(|i| entry(i, i).max(f64::MIN_POSITIVE).sqrt()).collect();
    let scaled = Matrix::from_fn(k, k, |i, j| entry(i, j) / (scale[i] * scale[j]));
    let cholesky = Cholesky::new(&scaled).filter(|cholesky| cholesky.condition() < 1e14).ok_or_else(dependent)?;
    let inverse = cholesky.inverse();
    let centred = Matrix::from_fn(k, k, |i, j| dispersion * inverse[(i, j)] / (scale[i] * scale[j]));
    // b in original columns is b' - w.mean.
    let covariance = if intercept {
        let turn = Matrix::from_fn(k, k, |i, j| match (i, j) {
            (0, j) if j > 0 => -moments.mean[free[j - 1]],
            (i, j) => f64::from(u8::from(i == j)),
        });
        turn.times(&centred).times(&turn.transposed())
    } else {
        centred
    };
    let coef: Vec<f64> = free.iter().map(|&j| model.coef[(0, j)]).collect();
    let freedom = if model.family.fixed_dispersion() { f64::INFINITY } else { degrees };
    let mut terms = terms(&coef, model.intercept, intercept, &covariance, freedom, level);
    terms.iter_mut().for_each(|term| term.column = term.column.map(|j| free[j]));
    let log_likelihood = match model.family {
        Family::Tweedie { .. } => None,
        // The dispersion of the likelihood is that of maximum likelihood for the normal, the deviance's otherwise (as R).
        family => {
            let phi = if family.fixed_dispersion() { 1.0 } else { at.deviance / n };
            Some(reduce(ctx, data, &Likelihood { model, phi })?)
        }
    };
    let counted = k as f64 + f64::from(u8::from(!model.family.fixed_dispersion()));
    Ok(GlmSummary {
        terms,
        level,
        rows: n,
        degrees,
        dispersion,
        deviance: at.deviance,
        null_deviance: at.null_deviance,
        pearson: at.pearson,
        log_likelihood,
        aic: log_likelihood.map(|value| -2.0 * value + 2.0 * counted),
        covariance,
    })
}

impl GlmSummary {
    /// The table that R users know.
    pub fn table(&self, names: &[String]) -> String {
        let (statistic, p) = if self.dispersion == 1.0 { ("z value", "Pr(>|z|)") } else { ("t value", "Pr(>|t|)") };
        let mut out = coefficient_table(&self.terms, names, statistic, p);
        let _ = write!(
            out,
            "\nDispersion: {:.5}\nNull deviance: {:.4}\nResidual deviance: {:.4} on {} degrees of freedom\n",
            self.dispersion, self.null_deviance, self.deviance, self.degrees
        );
        if let Some(aic) = self.aic {
            let _ = writeln!(out, "AIC: {aic:.3}");
        }
        out
    }
}

/// Inference about any model that has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Inference {
    LeastSquares(Summary),
    Glm(GlmSummary),
}

impl Inference {
    /// About a fitted model of the list with the parameters `values`, on the rows it was fitted to.
    pub fn of(
        name: &str,
        values: &Values,
        model: &dyn AnyModel,
        level: f64,
        data: &dyn Source,
        ctx: &Ctx,
    ) -> Result<Inference> {
        if !(level > 0.0 && level < 1.0) {
            return Err(Error::Data(format!("a confidence level lies between 0 and 1, not at {level}")));
        }
        let intercept = values.get("fit_intercept").is_none_or(|value| *value == Value::Bool(true));
        let penalty = values.get("alpha").is_some_and(|value| !matches!(value, Value::Float(0.0) | Value::Int(0)));
        let any = model.as_any();
        if penalty && any.is::<GlmModel>() {
            return Err(Error::Unsupported(format!(
                "inference about {name} with a penalty, which biases what is tested"
            ))
            .hint("fit it with alpha 0"));
        }
        if values.get("positive") == Some(&Value::Bool(true)) {
            return Err(Error::Unsupported(format!(
                "inference about {name} with coefficients that must be positive: their errors are not normal"
            )));
        }
        if let Some(model) = any.downcast_ref::<LinearModel>().filter(|_| name == "LinearRegression") {
            return summary(model, intercept, level, data, ctx).map(Inference::LeastSquares);
        }
        if let Some(model) = any.downcast_ref::<GlmModel>() {
            return glm_summary(model, intercept, level, data, ctx).map(Inference::Glm);
        }
        Err(Error::Unsupported(format!("inference about {name}"))
            .hint("LinearRegression and the generalised linear models without a penalty have it"))
    }

    /// The table that R users know.
    pub fn table(&self, names: &[String]) -> String {
        match self {
            Inference::LeastSquares(summary) => summary.table(names),
            Inference::Glm(summary) => summary.table(names),
        }
    }
}

/// The target as numbers, classes as 0 and 1.
fn number(target: &Target, i: usize) -> f64 {
    match target {
        Target::Class { codes, .. } => f64::from(codes[i]),
        other => other.real()[i],
    }
}

struct TargetMean;

impl Reduce for TargetMean {
    type Stat = (f64, f64);

    fn zero(&self) -> (f64, f64) {
        (0.0, 0.0)
    }

    fn add(&self, stat: &mut (f64, f64), batch: &Batch) -> Result<()> {
        for i in 0..batch.rows() {
            stat.0 += batch.weight(i) * number(&batch.y, i);
            stat.1 += batch.weight(i);
        }
        Ok(())
    }

    fn merge(&self, left: &mut (f64, f64), right: (f64, f64)) {
        left.0 += right.0;
        left.1 += right.1;
    }
}

/// The expected information about centred columns, and the deviances.
struct Information<'a> {
    model: &'a GlmModel,
    moments: &'a Moments,
    intercept: bool,
    free: &'a [usize],
    null: f64,
}

#[derive(Serialize, Deserialize)]
struct Known {
    weight: f64,
    gram: Vec<f64>,
    deviance: f64,
    null_deviance: f64,
    pearson: f64,
}

impl Reduce for Information<'_> {
    type Stat = Known;

    fn zero(&self) -> Known {
        let stride = linalg::padded(self.free.len() + 1);
        Known { weight: 0.0, gram: vec![0.0; stride * stride], deviance: 0.0, null_deviance: 0.0, pearson: 0.0 }
    }

    fn add(&self, stat: &mut Known, batch: &Batch) -> Result<()> {
        let stride = linalg::padded(self.free.len() + 1);
        let loss = Deviance { family: self.model.family, link: self.model.link };
        let mut raw = vec![0.0; batch.rows()];
        self.model.raw(&batch.x, &mut raw);
        let mut packed = vec![0.0; batch.rows() * stride];
        let mut row = vec![0.0; self.model.coef.cols];
        for (i, z) in packed.chunks_exact_mut(stride).enumerate() {
            let (weight, y) = (batch.weight(i), number(&batch.y, i));
            let mean = self.model.link.mean(raw[i]).0;
            let root = (weight * loss.at(y, raw[i]).curvature).sqrt();
            row.fill(0.0);
            batch.x.row(i).for_each(|j, value| row[j] = value);
            for (z, &j) in z.iter_mut().zip(self.free) {
                *z = root * (row[j] - if self.intercept { self.moments.mean[j] } else { 0.0 });
            }
            z[self.free.len()] = if self.intercept { root } else { 0.0 };
            stat.weight += weight;
            stat.deviance += weight * self.model.family.deviance(y, mean);
            stat.null_deviance += weight * self.model.family.deviance(y, self.null);
            stat.pearson += weight * (y - mean).powi(2) / self.model.family.variance(mean);
        }
        linalg::add_gram(&packed, stride, &mut stat.gram);
        Ok(())
    }

    fn merge(&self, left: &mut Known, right: Known) {
        left.weight += right.weight;
        left.deviance += right.deviance;
        left.null_deviance += right.null_deviance;
        left.pearson += right.pearson;
        kernel::add_scaled(1.0, &right.gram, &mut left.gram);
    }
}

struct Likelihood<'a> {
    model: &'a GlmModel,
    phi: f64,
}

impl Reduce for Likelihood<'_> {
    type Stat = f64;

    fn zero(&self) -> f64 {
        0.0
    }

    fn add(&self, stat: &mut f64, batch: &Batch) -> Result<()> {
        let mut raw = vec![0.0; batch.rows()];
        self.model.raw(&batch.x, &mut raw);
        for (i, s) in raw.iter().enumerate() {
            let mean = self.model.link.mean(*s).0;
            let one = self.model.family.log_likelihood(number(&batch.y, i), mean, self.phi);
            *stat += batch.weight(i) * one.unwrap_or(0.0);
        }
        Ok(())
    }

    fn merge(&self, left: &mut f64, right: f64) {
        *left += right;
    }
}
