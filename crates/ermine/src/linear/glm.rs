//! What generalised linear models share: the target's range, the start, the choice of the compiled loss, and the model.

use super::model::{check_linear, coef_array, scores};
use crate::{
    Array, Ctx, Error, Fit, Matrix, Model, Output, Result, Source, X,
    core::{Batch, Reduce, data::Row, reduce, stats::ColumnMoments},
    engine::{
        family::{Deviance, Family, Link},
        least_squares,
        loss::{GammaLog, Logistic, PointLoss, PoissonLog, Squared, TweedieLog},
        newton::{Minimum, Offset, Scores},
    },
};
use serde::{Deserialize, Serialize};

/// The problem: `min 1/(2 sum w) sum_i w_i deviance(y_i, mean_i) + alpha (1 - r)/2 ||w||^2 + alpha r ||w||_1`,
/// link(mean) = w.x + b.
pub struct Glm<'a> {
    pub name: &'a str,
    pub family: Family,
    pub link: Link,
    pub alpha: f64,
    pub l1_ratio: f64,
    pub fit_intercept: bool,
    pub offset: Option<Offset>,
    pub tol: f64,
    pub max_iter: usize,
}

/// Runs code with the loss of a family and a link, compiled for each; up to a constant they are half the deviance.
macro_rules! with_loss {
    ($glm:expr, |$loss:ident| $run:expr) => {
        match ($glm.family, $glm.link) {
            (Family::Poisson | Family::Tweedie { power: 1.0 }, Link::Log) => {
                let $loss = PoissonLog;
                $run
            }
            (Family::Gamma | Family::Tweedie { power: 2.0 }, Link::Log) => {
                let $loss = GammaLog;
                $run
            }
            (Family::Normal | Family::Tweedie { power: 0.0 }, Link::Identity) => {
                let $loss = Squared;
                $run
            }
            (Family::Bernoulli, Link::Logit) => {
                let $loss = Logistic;
                $run
            }
            (Family::Tweedie { power }, Link::Log) if power > 0.0 => {
                let $loss = TweedieLog { power };
                $run
            }
            (family, link) => {
                let $loss = Deviance { family, link };
                $run
            }
        }
    };
}

impl Glm<'_> {
    pub fn fit(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<GlmModel>> {
        let cols = data.shape().cols;
        if let Some(offset) = self.offset.filter(|offset| offset.column >= cols) {
            return Err(Error::Parameter {
                model: self.name.into(),
                name: if offset.log { "exposure" } else { "offset" }.into(),
                value: offset.column.to_string(),
                allowed: format!("a column below {cols}"),
            });
        }
        let moments = reduce(ctx, data, &ColumnMoments { cols })?;
        let mean = reduce(ctx, data, &TargetMean { glm: self })?;
        let mut start = vec![0.0; cols + 1];
        if self.fit_intercept {
            // The mean of a target at the edge of its range (no event at all) has an infinite score.
            let inside = match self.family {
                Family::Bernoulli => mean.mean().clamp(1e-6, 1.0 - 1e-6),
                Family::Normal => mean.mean(),
                Family::Tweedie { power } if power <= 0.0 => mean.mean(),
                _ => mean.mean().max(1e-6),
            };
            start[cols] = self.link.score(inside);
        }
        let (minimum, mut intercept) = with_loss!(self, |loss| self.minimise(data, ctx, &moments, loss, &mean, start))?;
        let mut coef = Matrix::new(minimum.w[..cols].to_vec(), 1, cols);
        let mut notes = Vec::new();
        if self.alpha == 0.0 {
            let outside = self.offset.map(|offset| offset.column);
            let found = least_squares::dependence_of(data, ctx, self.fit_intercept, outside)?;
            if let Some(found) = found {
                let moved = found.least_norm(coef.row_mut(0), &moments.mean);
                intercept += if self.fit_intercept { moved } else { 0.0 };
                notes = found.notes();
            }
        }
        let mut exposure = None;
        if let Some(offset) = self.offset {
            coef[(0, offset.column)] = if offset.log { 0.0 } else { 1.0 };
            exposure = offset.log.then_some(offset.column);
        }
        let model = GlmModel { coef, intercept, family: self.family, link: self.link, exposure };
        Ok(Fit::new(model, minimum.log(1.0).with_notes(notes)))
    }

    /// The least that the loss of a row can be.
    fn least(&self, y: f64) -> f64 {
        with_loss!(self, |loss| loss.least(y))
    }

    fn minimise<L: PointLoss>(
        &self,
        data: &dyn Source,
        ctx: &Ctx,
        moments: &crate::core::stats::Moments,
        loss: L,
        mean: &Mean,
        start: Vec<f64>,
    ) -> Result<(Minimum, f64)> {
        let scores = Scores {
            data,
            ctx,
            loss,
            moments,
            l1: self.alpha * self.l1_ratio,
            l2: self.alpha * (1.0 - self.l1_ratio),
            intercept: self.fit_intercept,
            offset: self.offset,
            least: mean.least / mean.weight,
            tol: self.tol,
            max_iter: self.max_iter,
            curvature: 1.0,
        };
        let minimum = scores.minimise(start)?;
        let intercept = scores.intercept_of(&minimum.w);
        Ok((minimum, intercept))
    }
}

/// Checks every target against the family and every exposure against zero, and averages the target.
struct TargetMean<'a> {
    glm: &'a Glm<'a>,
}

#[derive(Serialize, Deserialize)]
struct Mean {
    weight: f64,
    sum: f64,
    /// Sum of what the loss is at least.
    least: f64,
}

impl Mean {
    fn mean(&self) -> f64 {
        self.sum / self.weight
    }
}

impl Reduce for TargetMean<'_> {
    type Stat = Mean;

    fn zero(&self) -> Mean {
        Mean { weight: 0.0, sum: 0.0, least: 0.0 }
    }

    fn add(&self, stat: &mut Mean, batch: &Batch) -> Result<()> {
        for (i, &y) in batch.y.real().iter().enumerate() {
            if let Err(allowed) = self.glm.family.allows(y) {
                let problem = format!("the target is {y}, but {} needs it to be {allowed}", self.glm.name);
                return Err(Error::value(batch.first + i, None, problem));
            }
            let weight = batch.weight(i);
            stat.weight += weight;
            stat.sum += weight * y;
            stat.least += weight * self.glm.least(y);
            if let Some(offset) = self.glm.offset.filter(|offset| offset.log) {
                let logarithm = offset.of(&batch.x.row(i));
                if !logarithm.is_finite() {
                    let problem = format!("the exposure is {}, but it must be above 0", logarithm.exp());
                    return Err(Error::value(batch.first + i, offset.column, problem));
                }
            }
        }
        Ok(())
    }

    fn merge(&self, left: &mut Mean, right: Mean) {
        left.weight += right.weight;
        left.sum += right.sum;
        left.least += right.least;
    }
}

/// `mean = link^-1(w.x + b)`; an exposure column multiplies the mean (under the log link).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GlmModel {
    /// One row.
    pub coef: Matrix,
    pub intercept: f64,
    pub family: Family,
    pub link: Link,
    pub exposure: Option<usize>,
}

impl GlmModel {
    /// The raw score of each row, exposure included.
    pub fn raw(&self, x: &X, out: &mut [f64]) {
        scores(x, &self.coef, &[self.intercept], out);
        if let Some(column) = self.exposure {
            let exposure = Offset { column, log: true };
            for (i, out) in out.iter_mut().enumerate() {
                let row: Row = x.row(i);
                *out += exposure.of(&row);
            }
        }
    }
}

impl Model for GlmModel {
    fn cols(&self) -> usize {
        self.coef.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Value, 1)]
    }

    fn predict(&self, x: &X, _: Output, out: &mut [f64]) -> Result<()> {
        self.raw(x, out);
        for s in out.iter_mut() {
            // A score beyond the numbers is the largest mean there is.
            *s = self.link.mean(*s).0.clamp(-f64::MAX, f64::MAX);
        }
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        vec![("coef_", coef_array(&self.coef, true)), ("intercept_", self.intercept.into())]
    }

    fn check(&self) -> Result<()> {
        check_linear(&self.coef, &[self.intercept])?;
        if self.coef.rows != 1 || self.exposure.is_some_and(|column| column >= self.coef.cols) {
            return Err(Error::shape("stored coefficients", "one row", self.coef.rows));
        }
        Ok(())
    }
}
