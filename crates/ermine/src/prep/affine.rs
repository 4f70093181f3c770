//! What scalers fit: every column moved and divided, `z = (x - center) / scale`, optionally kept inside a range.

use crate::{Array, Error, Model, Output, Result, X};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AffineModel {
    pub center: Vec<f64>,
    /// What each column is divided by; never zero.
    pub scale: Vec<f64>,
    /// Results are kept inside, where the scaler clips.
    pub clip: Option<(f64, f64)>,
    /// What the scaler found, by scikit-learn's names.
    pub found: Vec<ColumnStatistic>,
}

/// A statistic of every column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Statistic {
    Mean,
    Variance,
    Scale,
    Center,
    Min,
    DataMin,
    DataMax,
    DataRange,
    MaxAbs,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColumnStatistic {
    pub what: Statistic,
    pub values: Vec<f64>,
}

impl Statistic {
    fn name(self) -> &'static str {
        match self {
            Statistic::Mean => "mean_",
            Statistic::Variance => "var_",
            Statistic::Scale => "scale_",
            Statistic::Center => "center_",
            Statistic::Min => "min_",
            Statistic::DataMin => "data_min_",
            Statistic::DataMax => "data_max_",
            Statistic::DataRange => "data_range_",
            Statistic::MaxAbs => "max_abs_",
        }
    }

    pub fn of(self, values: &[f64]) -> ColumnStatistic {
        ColumnStatistic { what: self, values: values.to_vec() }
    }
}

impl Model for AffineModel {
    fn cols(&self) -> usize {
        self.center.len()
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Transform, self.center.len()), (Output::Inverse, self.center.len())]
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        out.fill(0.0);
        for (row, out) in x.iter().zip(out.chunks_exact_mut(self.center.len())) {
            row.for_each(|j, value| out[j] = value);
            for ((out, center), scale) in out.iter_mut().zip(&self.center).zip(&self.scale) {
                *out = if output == Output::Inverse { *out * scale + center } else { (*out - center) / scale };
                if let (Some((low, high)), Output::Transform) = (self.clip, output) {
                    *out = out.clamp(low, high);
                }
            }
        }
        Ok(())
    }

    fn feature_names(&self, input: &[String]) -> Option<Vec<String>> {
        Some(input.to_vec())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        self.found.iter().map(|found| (found.what.name(), (&found.values).into())).collect()
    }

    fn check(&self) -> Result<()> {
        let clip = self.clip.is_none_or(|(low, high)| low <= high);
        if !self.center.is_empty() && self.center.len() == self.scale.len() && clip {
            return Ok(());
        }
        Err(Error::shape("a stored scaler", format!("{} scales", self.center.len()), self.scale.len()))
    }
}
