//! Columns by their ranks: `z = F(x)`, the share of values below x, or the normal quantile of that.
//!
//! F is the line through the quantiles of the column at `n_quantiles` evenly spaced shares; where several quantiles are
//! one value it takes the middle of their shares. Values beyond those of the fit get 0 or 1; under the normal the ends
//! are cut at a share of 1e-7. Missing values stay missing and count for nothing.
//!
//! Quantiles come from at most `subsample` rows drawn by seed, and only those are kept, wherever the rows are. Of
//! sparse rows the values that are not stored are zeros like others, or with `ignore_implicit_zeros` nothing at all: each
//! column then has its own sample of what is stored. Cost O(n log n) a column for at most `subsample` rows.

use super::columns::fill;
use crate::{
    Array, Certificate, Ctx, Error, Estimator, Fit, FitLog, Info, Matrix, Model, Output, Params, Passes, Result,
    Source, Task, X,
    core::{
        choice,
        param::{at_least, log},
        params,
    },
    engine::{
        drawn::{Drawn, value_at, without_replacement},
        quantile, special,
    },
};
use serde::{Deserialize, Serialize};

choice! {
    /// How the new columns are distributed.
    pub enum Distribution {
        /// Evenly between 0 and 1.
        Uniform = "uniform",
        /// As a standard normal.
        Normal = "normal",
    }
}

params! {
    /// Makes columns uniform or normal by their ranks, whatever they look like; robust to outliers.
    pub struct QuantileTransformer {
        /// Number of quantiles; with fewer rows as many as there are rows.
        n_quantiles: usize = 1000, at_least(1.0), log(10.0, 1000.0);
        /// How the new columns are distributed: evenly between 0 and 1, or as a standard normal.
        output_distribution: Distribution = Distribution::Uniform;
        /// Whether zeros that sparse rows do not store are left out of the quantiles.
        ignore_implicit_zeros: bool = false;
        /// Most rows that quantiles are taken from, drawn by seed; none for all.
        subsample: Option<usize> = Some(10_000), at_least(1.0);
    }
}

/// Shares nearer to 0 or 1 than this are cut under the normal.
const END: f64 = 1e-7;

impl Estimator for QuantileTransformer {
    type Model = QuantileModel;

    const INFO: Info = Info {
        weights: false,
        missing: true,
        random: true,
        ..Info::new("preprocessing", Task::Transformation, "z = F(x), F(x) the share of values below x", Passes::One)
    };

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<QuantileModel>> {
        let shape = data.shape();
        let n = shape.rows;
        let most = self.subsample.unwrap_or(n);
        if self.n_quantiles > self.subsample.unwrap_or(usize::MAX) {
            return Err(Error::Parameter {
                model: Self::NAME.into(),
                name: "n_quantiles".into(),
                value: self.n_quantiles.to_string(),
                allowed: format!("at most as many as subsample={most}"),
            });
        }
        let stored_only = shape.sparse && self.ignore_implicit_zeros;
        let all = || (0..n as u32).collect::<Vec<_>>();
        let rows = match most < n && !stored_only {
            true => {
                let mut rows = without_replacement(&mut ctx.rng("quantile rows", 0), n, most);
                rows.sort_unstable();
                rows
            }
            false => all(),
        };
        let asked = format!("subsample={most}");
        let drawn = Drawn::new(data, ctx, (Self::NAME, &asked), || Ok(rows.clone()))?;
        let x = drawn.x();
        let places: Vec<u32> = rows.iter().map(|&row| drawn.place(row)).collect();
        let stored = if shape.sparse { stored_by_column(&x, &places) } else { Vec::new() };
        let count = self.n_quantiles.min(n);
        // Steps as numpy makes them.
        let step = if count > 1 { 1.0 / (count - 1) as f64 } else { 0.0 };
        let mut references: Vec<f64> = (0..count).map(|i| i as f64 * step).collect();
        if count > 1 {
            references[count - 1] = 1.0;
        }
        let of_column = |j: usize| -> Result<Vec<f64>> {
            ctx.check()?;
            let mut values: Vec<f64> = match stored.get(j) {
                None => places.iter().map(|&row| value_at(&x, row, j)).collect(),
                Some(stored) if !stored_only => {
                    let mut values = stored.clone();
                    values.resize(places.len(), 0.0);
                    values
                }
                Some(stored) if stored.len() > most => {
                    let mut stream = ctx.rng("quantile values", j as u64);
                    let chosen = without_replacement(&mut stream, stored.len(), most);
                    chosen.into_iter().map(|at| stored[at as usize]).collect()
                }
                Some(stored) if stored.is_empty() => vec![0.0],
                Some(stored) => stored.clone(),
            };
            values.retain(|value| !value.is_nan());
            values.iter_mut().for_each(|value| *value += 0.0);
            values.sort_unstable_by(f64::total_cmp);
            // By way of percent, as numpy rounds it: then a value is above or below its quantile as it is there.
            Ok(references.iter().map(|&share| quantile::interpolated(&values, share * 100.0 / 100.0)).collect())
        };
        let quantiles = ctx.map(shape.cols, of_column)?;
        let notes = match self.n_quantiles > n {
            true => vec![format!("n_quantiles={} of {n} rows: there are {n} quantiles", self.n_quantiles)],
            false => Vec::new(),
        };
        let model = QuantileModel {
            quantiles: Matrix::new(quantiles.concat(), shape.cols, count),
            references,
            normal: self.output_distribution == Distribution::Normal,
        };
        Ok(Fit::new(model, FitLog::exact(Certificate::None).with_notes(notes)))
    }
}

/// What sparse rows store, column by column.
fn stored_by_column(x: &X, rows: &[u32]) -> Vec<Vec<f64>> {
    let mut columns = vec![Vec::new(); x.cols()];
    rows.iter().for_each(|&row| x.row(row as usize).for_each(|j, value| columns[j].push(value)));
    columns
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuantileModel {
    /// A row for each column, of quantiles that do not fall; NaN for a column without values.
    pub quantiles: Matrix,
    /// The share that each quantile stands for.
    pub references: Vec<f64>,
    pub normal: bool,
}

impl QuantileModel {
    fn forward(&self, x: f64, quantiles: &[f64]) -> f64 {
        let (low, high) = (quantiles[0], quantiles[quantiles.len() - 1]);
        let near = if self.normal { END } else { 0.0 };
        let share = if low.is_nan() {
            f64::NAN
        } else if x - near < low || x == low {
            0.0
        } else if x + near > high || x == high {
            1.0
        } else {
            0.5 * (upper(x, quantiles, &self.references) + lower(x, quantiles, &self.references))
        };
        if !self.normal {
            return share;
        }
        let end = END - f64::EPSILON;
        special::normal_quantile(share.clamp(end, 1.0 - end))
    }

    fn back(&self, z: f64, quantiles: &[f64]) -> f64 {
        let share = if self.normal { special::normal_upper(-z) } else { z };
        let near = if self.normal { END } else { 0.0 };
        if share - near < 0.0 {
            quantiles[0]
        } else if share + near > 1.0 {
            quantiles[quantiles.len() - 1]
        } else {
            upper(share, &self.references, quantiles)
        }
    }
}

/// The line through points at x; at a jump its upper end.
fn upper(x: f64, xs: &[f64], ys: &[f64]) -> f64 {
    match xs.partition_point(|&known| known <= x) {
        0 => ys[0],
        after if after == xs.len() || xs[after - 1] == x => ys[after - 1],
        after => between(x, xs, ys, after - 1),
    }
}

/// The same with the lower end of a jump.
fn lower(x: f64, xs: &[f64], ys: &[f64]) -> f64 {
    match xs.partition_point(|&known| known < x) {
        0 => ys[0],
        at if at == xs.len() => ys[at - 1],
        at if xs[at] == x => ys[at],
        at => between(x, xs, ys, at - 1),
    }
}

fn between(x: f64, xs: &[f64], ys: &[f64], i: usize) -> f64 {
    let share = (x * 0.5 - xs[i] * 0.5) / (xs[i + 1] * 0.5 - xs[i] * 0.5);
    ys[i] * (1.0 - share) + ys[i + 1] * share
}

impl Model for QuantileModel {
    fn cols(&self) -> usize {
        // A row of quantiles for each column.
        let Matrix { rows: columns, .. } = &self.quantiles;
        *columns
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Transform, self.quantiles.rows), (Output::Inverse, self.quantiles.rows)]
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        for (i, (row, out)) in x.iter().zip(out.chunks_exact_mut(self.quantiles.rows)).enumerate() {
            fill(&row, out);
            for (j, value) in out.iter_mut().enumerate().filter(|(_, value)| !value.is_nan()) {
                if value.is_infinite() {
                    return Err(Error::value(i, j, "the value is infinity, which has no rank"));
                }
                *value = match output {
                    Output::Inverse => self.back(*value, self.quantiles.row(j)),
                    _ => self.forward(*value, self.quantiles.row(j)),
                };
            }
        }
        Ok(())
    }

    fn feature_names(&self, input: &[String]) -> Option<Vec<String>> {
        Some(input.to_vec())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        vec![
            ("n_quantiles_", self.references.len().into()),
            ("quantiles_", (&self.quantiles.transposed()).into()),
            ("references_", (&self.references).into()),
        ]
    }

    fn check(&self) -> Result<()> {
        let rises = |values: &[f64]| values.windows(2).all(|pair| pair[0] <= pair[1]);
        let column = |j: usize| {
            let values = self.quantiles.row(j);
            values.iter().all(|value| value.is_nan()) || values.iter().all(|value| value.is_finite()) && rises(values)
        };
        let references = self.references.first() == Some(&0.0) && rises(&self.references);
        let fits = self.quantiles.is_consistent()
            && self.quantiles.rows > 0
            && self.quantiles.cols == self.references.len()
            && references
            && (0..self.quantiles.rows).all(column);
        if fits { Ok(()) } else { Err(Error::Data("the stored quantiles are inconsistent".into())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Data, predict};

    /// Ranks know nothing of the scale: a column and any rising function of it come out the same.
    #[test]
    fn a_rising_function_changes_nothing() {
        let mut rng = Ctx::new(1).rng("x", 0);
        let plain: Vec<f64> = (0..501).map(|_| rng.normal()).collect();
        let bent: Vec<f64> = plain.iter().map(|x| (3.0 * x).exp()).collect();
        for output_distribution in [Distribution::Uniform, Distribution::Normal] {
            let transformer = QuantileTransformer { n_quantiles: 501, output_distribution, ..Default::default() };
            let of = |x: &[f64]| {
                let data = Data::new(X::dense(x, 1).unwrap());
                let fit = transformer.fit(&data, &Ctx::new(0)).unwrap();
                predict(&Ctx::new(0), &fit.model, &data.batch().x, Output::Transform, true).unwrap().values
            };
            let (a, b) = (of(&plain), of(&bent));
            assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-9));
            let mean = a.iter().sum::<f64>() / 501.0;
            assert!(
                (mean - if output_distribution == Distribution::Normal { 0.0 } else { 0.5 }).abs() < 1e-9,
                "{mean}"
            );
        }
    }

    /// A sample of the rows gives about the quantiles of all, and the same ones for the same seed.
    #[test]
    fn a_sample_is_near_the_whole() {
        let mut rng = Ctx::new(2).rng("x", 0);
        let x: Vec<f64> = (0..20_000).map(|_| rng.uniform()).collect();
        let data = Data::new(X::dense(&x, 1).unwrap());
        let with = |subsample, seed| {
            let transformer = QuantileTransformer { n_quantiles: 11, subsample, ..Default::default() };
            transformer.fit(&data, &Ctx::new(seed)).unwrap().model.quantiles.values
        };
        let (all, some) = (with(None, 0), with(Some(5_000), 0));
        assert!(all != some && some == with(Some(5_000), 0) && some != with(Some(5_000), 1));
        assert!(all.iter().zip(&some).all(|(a, b)| (a - b).abs() < 0.03), "{all:?} {some:?}");
    }

    /// What sparse rows do not store counts or does not.
    #[test]
    fn zeros_that_are_not_stored() {
        let x = X::csr(&[0, 1, 1, 1, 2], &[0, 0], &[4.0, 8.0], 2).unwrap();
        let of = |ignore_implicit_zeros| {
            let transformer = QuantileTransformer { n_quantiles: 4, ignore_implicit_zeros, ..Default::default() };
            transformer.fit(&Data::new(x), &Ctx::new(0)).unwrap().model.quantiles
        };
        // The third quantile is at two thirds, a hair below the third row, as numpy has it.
        assert_eq!(of(false).row(0), [0.0, 0.0, 3.9999999999999982, 8.0]);
        assert_eq!((of(true).row(0)[0], of(true).row(0)[3]), (4.0, 8.0));
        assert_eq!(of(true).row(1), [0.0; 4]);
    }
}
