//! What a fitted linear model says about its population: standard errors, tests, intervals and criteria, as plain data.
//!
//! Under y = w.x + b + normal noise, the coefficients are normal about the truth with covariance sigma^2 (X'X)^-1, and
//! sigma^2 is estimated by RSS / (n - k). A weight counts as that many rows. Criteria follow R: the variance is one of
//! the parameters that AIC and BIC count. Inference is for models without a penalty: a penalty biases what is tested
//! here.
//!
//! A generalised linear model is asymptotically normal with covariance phi (X'WX)^-1, W the expected curvature; phi is
//! 1 for counts and classes and Pearson's estimate otherwise, and then t takes the place of the normal.
//!
//! A column that depends on others is aliased, as in R: it has no estimate of its own, and the others have those of the
//! model without it.

use super::{GlmModel, LinearModel, LogisticModel};
use crate::{
    AnyModel, Ctx, Error, Matrix, Result, Source, Value, Values,
    core::{
        Batch, Reduce, Target,
        linalg::{self, Cholesky},
        log::Redundant,
        reduce, simd,
        stats::{CrossProducts, Gram},
    },
    engine::{
        double_double::{ExactSquares, minus_dot},
        family::{Deviance, Family, Link},
        least_squares::{self, Dependence},
        loss::PointLoss,
        special,
    },
};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// One coefficient; of an aliased column everything is NaN.
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
    /// Columns that depend on others.
    pub aliased: Vec<Redundant>,
}

/// Standard errors, tests and criteria of ordinary least squares with one target, on the rows it was fitted to.
pub fn summary(model: &LinearModel, intercept: bool, level: f64, data: &dyn Source, ctx: &Ctx) -> Result<Summary> {
    if model.coef.rows != 1 {
        return Err(Error::Unsupported("a summary is of one target".into()));
    }
    let p = data.shape().cols;
    let gram = reduce(ctx, data, &CrossProducts { cols: p, targets: 1 })?;
    let design = Design::new(data, ctx, &gram, intercept, None)?;
    let (n, k) = (gram.weight, design.coefficients());
    let degrees = n - k as f64;
    if !(degrees > 0.0) {
        return Err(Error::Data(format!("{n} rows leave nothing to estimate the noise of {k} coefficients from")));
    }
    let (coef, level_of) = design.estimates(model.coef.row(0), model.intercept[0], &gram.mean);
    let exact = ExactSquares { coef: model.coef.row(0), intercept: model.intercept[0] };
    let squares = reduce(ctx, data, &exact)?;
    let normal = least_squares::normal(data, ctx, &gram, intercept, &design.kept)?.ok_or_else(no_information)?;
    let explained = normal.total.subtract(squares);
    let r2 = if normal.total.hi == 0.0 { f64::NAN } else { explained.over(normal.total).value() };
    let squares = squares.value();
    let variance = squares / degrees;
    let covariance = Matrix::from_fn(k, k, |i, j| variance * normal.inverse[(i, j)]);
    let terms = terms(&coef, level_of, intercept, &covariance, degrees, level);
    let slopes = design.kept.len() as f64;
    let f = explained.value() / slopes / variance;
    let variance_ml = squares / n;
    let log_likelihood = -0.5 * n * ((2.0 * std::f64::consts::PI * variance_ml).ln() + 1.0);
    let freedom = n - f64::from(u8::from(intercept));
    let counted = k as f64 + 1.0;
    Ok(Summary {
        level,
        rows: n,
        degrees,
        variance,
        variance_ml,
        r2,
        adjusted_r2: 1.0 - (1.0 - r2) * freedom / degrees,
        f,
        f_p_value: special::f_upper(f, slopes, degrees),
        log_likelihood,
        aic: -2.0 * log_likelihood + 2.0 * counted,
        bic: -2.0 * log_likelihood + n.ln() * counted,
        terms: design.all_terms(terms),
        covariance: design.all_pairs(&covariance),
        aliased: design.aliased,
    })
}

/// Which columns have coefficients of their own.
struct Design {
    cols: usize,
    intercept: bool,
    /// A column that is no term at all: an exposure.
    outside: Option<usize>,
    kept: Vec<usize>,
    aliased: Vec<Redundant>,
}

impl Design {
    fn new(data: &dyn Source, ctx: &Ctx, gram: &Gram, intercept: bool, outside: Option<usize>) -> Result<Design> {
        let cols = data.shape().cols;
        let found = least_squares::dependence(data, ctx, gram, intercept, outside)?;
        let aliased = found.map_or_else(Vec::new, |Dependence { redundant, .. }| redundant);
        let is_kept = |j: &usize| outside != Some(*j) && aliased.iter().all(|redundant| redundant.column != *j);
        Ok(Design { cols, intercept, outside, kept: (0..cols).filter(is_kept).collect(), aliased })
    }

    fn coefficients(&self) -> usize {
        self.kept.len() + usize::from(self.intercept)
    }

    /// What the kept columns have for coefficients when the others are left out, and the intercept.
    fn estimates(&self, coef: &[f64], intercept: f64, mean: &[f64]) -> (Vec<f64>, f64) {
        let (mut all, mut b) = (coef.to_vec(), intercept);
        for Redundant { column, of } in &self.aliased {
            let (own, others): (f64, Vec<f64>) = (coef[*column], of.iter().map(|(j, _)| mean[*j]).collect());
            of.iter().for_each(|(j, factor)| all[*j] += own * factor);
            if self.intercept {
                let factors: Vec<f64> = of.iter().map(|(_, factor)| *factor).collect();
                b += own * minus_dot(mean[*column], &factors, &others);
            }
        }
        (self.kept.iter().map(|&j| all[j]).collect(), b)
    }

    /// Where each term of the table stands among those that are estimated.
    fn places(&self) -> Vec<(Option<usize>, Option<usize>)> {
        let first = usize::from(self.intercept);
        let intercept = (0..first).map(|_| (None, Some(0)));
        let columns = (0..self.cols).filter(|&j| self.outside != Some(j));
        let place = |j: usize| self.kept.iter().position(|&kept| kept == j).map(|place| first + place);
        intercept.chain(columns.map(|j| (Some(j), place(j)))).collect()
    }

    fn all_terms(&self, terms: Vec<Term>) -> Vec<Term> {
        let nan = f64::NAN;
        let none =
            Term { column: None, estimate: nan, std_error: nan, statistic: nan, p_value: nan, low: nan, high: nan };
        let term = |(column, place): (Option<usize>, Option<usize>)| Term {
            column,
            ..place.map_or_else(|| none.clone(), |place| terms[place].clone())
        };
        self.places().into_iter().map(term).collect()
    }

    fn all_pairs(&self, covariance: &Matrix) -> Matrix {
        let places = self.places();
        Matrix::from_fn(places.len(), places.len(), |i, j| match (places[i].1, places[j].1) {
            (Some(i), Some(j)) => covariance[(i, j)],
            _ => f64::NAN,
        })
    }
}

fn no_information() -> Error {
    Error::Data("the rows do not tell some of the coefficients, so that they have no standard errors".into())
        .hint("look for columns that depend on each other and for classes that a column separates")
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
        let known: Vec<usize> = (0..self.terms.len()).filter(|&i| !self.terms[i].estimate.is_nan()).collect();
        let z: Vec<f64> = known.iter().map(|&i| self.terms[i].column.map_or(1.0, |j| x[j])).collect();
        let fit = z.iter().zip(&known).map(|(z, &i)| z * self.terms[i].estimate).sum();
        let pair = |a: usize, b: usize| z[a] * z[b] * self.covariance[(known[a], known[b])];
        let spread: f64 = (0..z.len()).map(|a| (0..z.len()).map(|b| pair(a, b)).sum::<f64>()).sum();
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
        let mut out = coefficient_table(&self.terms, &self.aliased, self.level, names, ["t value", "Pr(>|t|)"]);
        let line = format!(
            "\nResidual standard error: {:.4} on {} degrees of freedom\nMultiple R-squared: {:.4}, Adjusted \
             R-squared: {:.4}\n\
             F-statistic: {:.4} on {} and {} DF, p-value: {:.4e}\nAIC: {:.2}, BIC: {:.2}, log-likelihood: {:.2}\n",
            self.variance.sqrt(),
            self.degrees,
            self.r2,
            self.adjusted_r2,
            self.f,
            self.terms.iter().filter(|term| term.column.is_some() && !term.estimate.is_nan()).count(),
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

/// The terms with their intervals, aliased ones as R has them.
fn coefficient_table(terms: &[Term], aliased: &[Redundant], level: f64, names: &[String], heads: [&str; 2]) -> String {
    let name = |column: Option<usize>| match column {
        None => "(Intercept)".to_string(),
        Some(j) => names.get(j).cloned().unwrap_or_else(|| format!("x{j}")),
    };
    let width = terms.iter().map(|term| name(term.column).chars().count()).max().unwrap_or(0).max(11);
    let [statistic, p_value] = heads;
    let percent = |share: f64| format!("{} %", (share * 1e6).round() / 1e4);
    let (low, high) = (percent(0.5 - 0.5 * level), percent(0.5 + 0.5 * level));
    let (estimate, error) = ("Estimate", "Std. Error");
    let mut out =
        format!("{:width$} {estimate:>12} {error:>12} {statistic:>9} {p_value:>10} {low:>12} {high:>12}\n", "");
    for term in terms {
        // Writing to a string cannot fail.
        if term.estimate.is_nan() {
            let na = "NA";
            let _ = writeln!(out, "{:width$} {na:>12} {na:>12} {na:>9} {na:>10} {na:>12} {na:>12}", name(term.column));
            continue;
        }
        let stars = match term.p_value {
            p if p < 0.001 => "***",
            p if p < 0.01 => "**",
            p if p < 0.05 => "*",
            p if p < 0.1 => ".",
            _ => "",
        };
        let line = format!(
            "{:width$} {:>12.5e} {:>12.5e} {:>9.3} {:>10.3e} {:>12.5e} {:>12.5e} {stars}",
            name(term.column),
            term.estimate,
            term.std_error,
            term.statistic,
            term.p_value,
            term.low,
            term.high
        );
        let _ = writeln!(out, "{}", line.trim_end());
    }
    for Redundant { column, of } in aliased {
        let of: Vec<String> = of.iter().map(|(j, factor)| format!("{factor:.4} x {}", name(Some(*j)))).collect();
        let of = if of.is_empty() { "constant".into() } else { format!("{} and a constant", of.join(" + ")) };
        let _ = writeln!(out, "NA: {} is redundant, it equals {of}", name(Some(*column)));
    }
    out
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
    pub bic: Option<f64>,
    pub covariance: Matrix,
    /// Columns that depend on others.
    pub aliased: Vec<Redundant>,
}

/// Standard errors, tests and deviances of a generalised linear model without a penalty, on the rows it was fitted to.
/// The target is numbers, or two classes for a Bernoulli model.
pub fn glm_summary(model: &GlmModel, intercept: bool, level: f64, data: &dyn Source, ctx: &Ctx) -> Result<GlmSummary> {
    let p = model.coef.cols;
    let gram = reduce(ctx, data, &CrossProducts { cols: p, targets: 0 })?;
    let mean = reduce(ctx, data, &TargetMean)?;
    let design = Design::new(data, ctx, &gram, intercept, model.exposure)?;
    let (free, k) = (&design.kept, design.coefficients());
    let sum = Information { model, mean: &gram.mean, intercept, free, null: mean.0 / mean.1 };
    let at = reduce(ctx, data, &sum)?;
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
    let cholesky = Cholesky::new(&scaled).filter(|cholesky| cholesky.condition() < 1e14).ok_or_else(no_information)?;
    let inverse = cholesky.inverse();
    let centred = Matrix::from_fn(k, k, |i, j| dispersion * inverse[(i, j)] / (scale[i] * scale[j]));
    // b in original columns is b' - w.mean.
    let covariance = if intercept {
        let turn = Matrix::from_fn(k, k, |i, j| match (i, j) {
            (0, j) if j > 0 => -gram.mean[free[j - 1]],
            (i, j) => f64::from(u8::from(i == j)),
        });
        turn.times(&centred).times(&turn.transposed())
    } else {
        centred
    };
    let (coef, level_of) = design.estimates(model.coef.row(0), model.intercept, &gram.mean);
    let freedom = if model.family.fixed_dispersion() { f64::INFINITY } else { degrees };
    let terms = terms(&coef, level_of, intercept, &covariance, freedom, level);
    let log_likelihood = match model.family {
        Family::Tweedie { .. } => None,
        // The dispersion of the likelihood is that of maximum likelihood for the normal, the deviance's otherwise (as
        // R).
        family => {
            let phi = if family.fixed_dispersion() { 1.0 } else { at.deviance / n };
            Some(reduce(ctx, data, &Likelihood { model, phi })?)
        }
    };
    let counted = k as f64 + f64::from(u8::from(!model.family.fixed_dispersion()));
    Ok(GlmSummary {
        terms: design.all_terms(terms),
        level,
        rows: n,
        degrees,
        dispersion,
        deviance: at.deviance,
        null_deviance: at.null_deviance,
        pearson: at.pearson,
        log_likelihood,
        aic: log_likelihood.map(|value| -2.0 * value + 2.0 * counted),
        bic: log_likelihood.map(|value| -2.0 * value + n.ln() * counted),
        covariance: design.all_pairs(&covariance),
        aliased: design.aliased,
    })
}

impl GlmSummary {
    /// The table that R users know.
    pub fn table(&self, names: &[String]) -> String {
        let heads = if self.dispersion == 1.0 { ["z value", "Pr(>|z|)"] } else { ["t value", "Pr(>|t|)"] };
        let mut out = coefficient_table(&self.terms, &self.aliased, self.level, names, heads);
        let _ = write!(
            out,
            "\nDispersion: {:.5}\nNull deviance: {:.4}\nResidual deviance: {:.4} on {} degrees of freedom\n",
            self.dispersion, self.null_deviance, self.deviance, self.degrees
        );
        if let (Some(aic), Some(bic)) = (self.aic, self.bic) {
            let _ = writeln!(out, "AIC: {aic:.3}, BIC: {bic:.3}");
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
        let is = |name: &str, what: f64| match values.get(name) {
            Some(Value::Float(value)) => *value == what,
            Some(Value::Int(value)) => *value as f64 == what,
            _ => false,
        };
        let any = model.as_any();
        if values.get("positive") == Some(&Value::Bool(true)) {
            return Err(Error::Unsupported(format!(
                "inference about {name} with coefficients that must be positive: their errors are not normal"
            )));
        }
        let biased = |free: &str| {
            let why =
                "its penalty pulls coefficients towards zero, and standard errors, tests and intervals know of none";
            Err(Error::Unsupported(format!("inference about {name} with a penalty: {why}")).hint(free))
        };
        if let Some(model) = any.downcast_ref::<LinearModel>() {
            return match name {
                "LinearRegression" => summary(model, intercept, level, data, ctx).map(Inference::LeastSquares),
                "Ridge" if is("alpha", 0.0) => summary(model, intercept, level, data, ctx).map(Inference::LeastSquares),
                "Ridge" | "Lasso" | "ElasticNet" => biased("LinearRegression fits the same columns without one"),
                _ => Err(Error::Unsupported(format!("inference about {name}: it is not fitted by maximum likelihood"))),
            };
        }
        if let Some(model) = any.downcast_ref::<GlmModel>() {
            if values.contains_key("alpha") && !is("alpha", 0.0) {
                return biased("fit it with alpha 0");
            }
            return glm_summary(model, intercept, level, data, ctx).map(Inference::Glm);
        }
        if let Some(model) = any.downcast_ref::<LogisticModel>() {
            if !is("C", f64::INFINITY) {
                return biased("fit it with C of infinity");
            }
            if model.classes != 2 {
                let many = format!("inference about {name} of {} classes: only two have it", model.classes);
                return Err(Error::Unsupported(many).hint("fit one class against another, or against all others"));
            }
            let (coef, level_of) = (model.coef.clone(), model.intercept[0]);
            let (family, link) = (Family::Bernoulli, Link::Logit);
            let model = GlmModel { coef, intercept: level_of, family, link, exposure: None };
            return glm_summary(&model, intercept, level, data, ctx).map(Inference::Glm);
        }
        Err(Error::Unsupported(format!("inference about {name}: it has no coefficients fitted by maximum likelihood"))
            .hint("LinearRegression, LogisticRegression and the generalised linear models without a penalty have it"))
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
    mean: &'a [f64],
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
                *z = root * (row[j] - if self.intercept { self.mean[j] } else { 0.0 });
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
        simd::add_scaled(1.0, &right.gram, &mut left.gram);
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
