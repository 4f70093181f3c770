//! Missing values (NaN) replaced by one number for each column: its weighted mean, its median, its most frequent value,
//! or a constant. `add_indicator` appends a column of 0 and 1 for every column in which something was missing. The mean
//! and the constant are one sum over rows; the median and the most frequent value need the columns in memory.

use super::columns::{column_values, fill, name_of};
use crate::{
    Array, Certificate, Ctx, Error, Estimator, Fit, FitLog, Info, Model, Output, Passes, Result, Source, Task, X,
    core::{Batch, Reduce, choice, param::any, params, reduce},
    engine::quantile,
};
use serde::{Deserialize, Serialize};

choice! {
    /// What replaces a missing value.
    pub enum ImputeStrategy {
        /// The mean of the column.
        Mean = "mean",
        /// The median of the column.
        Median = "median",
        /// The most frequent value, the smallest of several.
        MostFrequent = "most_frequent",
        /// `fill_value`.
        Constant = "constant",
    }
}

params! {
    /// Replaces missing values by a statistic of the column.
    pub struct SimpleImputer {
        /// What replaces a missing value.
        strategy: ImputeStrategy = ImputeStrategy::Mean;
        /// Value for the strategy `constant`.
        fill_value: f64 = 0.0, any();
        /// Whether to add an indicator column for each column with missing values.
        add_indicator: bool = false;
        /// Whether to keep columns without any value, filled with `fill_value`.
        keep_empty_features: bool = false;
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImputerModel {
    /// What stands for a missing value of each column; NaN for a column that is left out.
    pub statistics: Vec<f64>,
    /// Columns with an indicator.
    pub indicators: Vec<usize>,
}

struct Means {
    cols: usize,
}

#[derive(Serialize, Deserialize)]
struct Mean {
    weight: f64,
    mean: f64,
    missing: bool,
}

impl Reduce for Means {
    type Stat = Vec<Mean>;

    fn zero(&self) -> Vec<Mean> {
        (0..self.cols).map(|_| Mean { weight: 0.0, mean: 0.0, missing: false }).collect()
    }

    fn add(&self, stat: &mut Vec<Mean>, batch: &Batch) -> Result<()> {
        let mut dense = vec![0.0; self.cols];
        for i in (0..batch.rows()).filter(|&i| batch.weight(i) > 0.0) {
            fill(&batch.x.row(i), &mut dense);
            let weight = batch.weight(i);
            for (j, (stat, &value)) in stat.iter_mut().zip(&dense).enumerate() {
                if value.is_nan() {
                    stat.missing = true;
                } else if value.is_infinite() {
                    return Err(Error::value(batch.first + i, j, "the value is infinity, which is not missing"));
                } else {
                    stat.weight += weight;
                    stat.mean += weight * (value - stat.mean) / stat.weight;
                }
            }
        }
        Ok(())
    }

    fn merge(&self, left: &mut Vec<Mean>, right: Vec<Mean>) {
        for (left, right) in left.iter_mut().zip(right) {
            left.missing |= right.missing;
            if right.weight > 0.0 {
                left.weight += right.weight;
                left.mean += right.weight * (right.mean - left.mean) / left.weight;
            }
        }
    }
}

const WHOLE_COLUMNS: &str = "medians and modes need whole columns";

impl Estimator for SimpleImputer {
    type Model = ImputerModel;

    const INFO: Info = Info {
        missing: true,
        ..Info::new("impute", Task::Transformation, "z_j = x_j, or a statistic of x_j where it is missing", Passes::One)
    };

    fn passes(&self) -> Passes {
        match self.strategy {
            ImputeStrategy::Mean | ImputeStrategy::Constant => Passes::One,
            ImputeStrategy::Median | ImputeStrategy::MostFrequent => Passes::Memory(WHOLE_COLUMNS),
        }
    }

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<ImputerModel>> {
        let means = reduce(ctx, data, &Means { cols: data.shape().cols })?;
        let empty = |j: usize| means[j].weight == 0.0;
        let mut statistics: Vec<f64> = match self.strategy {
            ImputeStrategy::Mean => means.iter().map(|mean| mean.mean).collect(),
            ImputeStrategy::Constant => vec![self.fill_value; means.len()],
            ImputeStrategy::Median | ImputeStrategy::MostFrequent => {
                let batch = data.in_memory("SimpleImputer", WHOLE_COLUMNS)?;
                let of_column = |j: usize| -> Result<f64> {
                    ctx.check()?;
                    let values = column_values(&batch.x, j);
                    let weight = |i: usize| if values[i].is_nan() { 0.0 } else { batch.weight(i) };
                    let weights: Vec<f64> = (0..values.len()).map(weight).collect();
                    Ok(match self.strategy {
                        ImputeStrategy::Median => quantile::weighted(&values, Some(&weights), 0.5),
                        _ => mode(&values, &weights),
                    })
                };
                ctx.map(means.len(), of_column)?
            }
        };
        let mut log = FitLog::exact(Certificate::None);
        for j in (0..means.len()).filter(|&j| empty(j)) {
            let kept = self.keep_empty_features || self.strategy == ImputeStrategy::Constant;
            statistics[j] = if kept { self.fill_value } else { f64::NAN };
            let done = if kept { "filled" } else { "left out" };
            log.notes.push(format!("column {j} has no values and is {done}"));
        }
        let indicators = (0..means.len()).filter(|&j| self.add_indicator && means[j].missing).collect();
        Ok(Fit::new(ImputerModel { statistics, indicators }, log))
    }
}

/// The value of most weight, the smallest of several.
fn mode(values: &[f64], weights: &[f64]) -> f64 {
    let mut order: Vec<usize> = (0..values.len()).filter(|&i| weights[i] > 0.0).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let (mut best, mut most) = (f64::NAN, 0.0);
    for run in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let weight: f64 = run.iter().map(|&i| weights[i]).sum();
        if weight > most {
            (best, most) = (values[run[0]], weight);
        }
    }
    best
}

impl Model for ImputerModel {
    fn cols(&self) -> usize {
        self.statistics.len()
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        let kept = self.statistics.iter().filter(|statistic| !statistic.is_nan()).count();
        vec![(Output::Transform, kept + self.indicators.len())]
    }

    fn predict(&self, x: &X, _: Output, out: &mut [f64]) -> Result<()> {
        let width = self.outputs()[0].1;
        let mut dense = vec![0.0; self.statistics.len()];
        for (i, (row, out)) in x.iter().zip(out.chunks_exact_mut(width)).enumerate() {
            fill(&row, &mut dense);
            if let Some(j) = dense.iter().position(|value| value.is_infinite()) {
                return Err(Error::value(i, j, "the value is infinity, which is not missing"));
            }
            let kept = dense.iter().zip(&self.statistics).filter(|(_, statistic)| !statistic.is_nan());
            let filled = kept.map(|(&value, &statistic)| if value.is_nan() { statistic } else { value });
            let missing = self.indicators.iter().map(|&j| f64::from(u8::from(dense[j].is_nan())));
            out.iter_mut().zip(filled.chain(missing)).for_each(|(out, value)| *out = value);
        }
        Ok(())
    }

    fn feature_names(&self, input: &[String]) -> Option<Vec<String>> {
        let kept = (0..self.statistics.len()).filter(|&j| !self.statistics[j].is_nan());
        let missing = self.indicators.iter().map(|&j| format!("{} is missing", name_of(input, j)));
        Some(kept.map(|j| name_of(input, j)).chain(missing).collect())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let indicators: Vec<i64> = self.indicators.iter().map(|&j| j as i64).collect();
        vec![("statistics_", (&self.statistics).into()), ("indicator_features_", indicators.into())]
    }

    fn check(&self) -> Result<()> {
        if !self.statistics.is_empty() && self.indicators.iter().all(|&j| j < self.statistics.len()) {
            return Ok(());
        }
        Err(Error::Data("the stored imputer is inconsistent".into()))
    }
}
