//! Missing values (NaN) replaced by the mean of the nearest rows that have them (Troyanskaya et al. 2001).
//!
//! The distance of two rows looks at the columns that both have and is scaled up for those that are missing: `d(x, z)^2
//! = p / |P| sum_{j in P} (x_j - z_j)^2`, P the columns present in both of p. A missing x_j becomes the mean (plain, or
//! weighted by 1 / d) of column j over the `n_neighbors` nearest training rows that have it; where no training row
//! shares a column with x, the mean of the column. Distances are in the units of the columns: scale them first. Cost
//! O(rows with missing x training rows x p) to apply; all training rows are kept.

use super::{columns::fill, columns::name_of};
use crate::{
    Array, Certificate, Ctx, Error, Estimator, Fit, FitLog, Info, Matrix, Model, Output, Passes, Result, Source, Task,
    X,
    core::{
        choice,
        model::Property,
        param::{at_least, log},
        params,
    },
};
use serde::{Deserialize, Serialize};

choice! {
    /// How neighbours are weighted.
    pub enum DonorWeights {
        /// All neighbours alike.
        Uniform = "uniform",
        /// By the inverse of the distance; only rows at distance zero if there are any.
        Distance = "distance",
    }
}

params! {
    /// Replaces a missing value by the mean of the nearest neighbours that have it.
    pub struct KNNImputer {
        /// Number of neighbours.
        n_neighbors: usize = 5, at_least(1.0), log(1.0, 50.0);
        /// How neighbours are weighted.
        weights: DonorWeights = DonorWeights::Uniform;
        /// Whether to add an indicator column for each column with missing values.
        add_indicator: bool = false;
        /// Whether to keep columns without any value, filled with 0.
        keep_empty_features: bool = false;
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KNNImputerModel {
    /// The training rows, NaN where something is missing.
    pub rows: Matrix,
    /// Mean of each column; NaN for a column that is left out.
    pub means: Vec<f64>,
    /// Columns with an indicator.
    pub indicators: Vec<usize>,
    pub n_neighbors: usize,
    pub by_distance: bool,
}

const REASON: &str = "every training row may be a neighbour";

impl Estimator for KNNImputer {
    type Model = KNNImputerModel;

    const INFO: Info = Info {
        missing: true,
        sparse: false,
        weights: false,
        exceptions: &[(Property::OneRow, "a single row has no neighbours")],
        ..Info::new(
            "impute",
            Task::Transformation,
            "z_j = x_j, or the mean of x_j over the nearest rows that have it",
            Passes::Memory(REASON),
        )
    };

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<KNNImputerModel>> {
        let batch = data.in_memory("KNNImputer", REASON)?;
        ctx.check()?;
        let rows = batch.x.to_matrix();
        if let Some(at) = rows.values.iter().position(|value| value.is_infinite()) {
            let (row, column) = (at / rows.cols, at % rows.cols);
            return Err(Error::value(row, column, "the value is infinity, which is not missing"));
        }
        let mut log = FitLog::exact(Certificate::None);
        let mut means = Vec::with_capacity(rows.cols);
        for j in 0..rows.cols {
            let present = (0..rows.rows).map(|i| rows[(i, j)]).filter(|value| !value.is_nan());
            let (count, sum) = present.fold((0usize, 0.0), |(count, sum), value| (count + 1, sum + value));
            let mean = match count {
                0 => {
                    let done = if self.keep_empty_features { "filled with 0" } else { "left out" };
                    log.notes.push(format!("column {j} has no values and is {done}"));
                    if self.keep_empty_features { 0.0 } else { f64::NAN }
                }
                count => sum / count as f64,
            };
            means.push(mean);
        }
        let missing = |j: &usize| self.add_indicator && (0..rows.rows).any(|i| rows[(i, *j)].is_nan());
        let indicators = (0..rows.cols).filter(missing).collect();
        let model = KNNImputerModel {
            rows,
            means,
            indicators,
            n_neighbors: self.n_neighbors,
            by_distance: self.weights == DonorWeights::Distance,
        };
        Ok(Fit::new(model, log))
    }
}

impl KNNImputerModel {
    /// Squared distance over the columns that both rows have; NaN if there is none.
    fn distance2(&self, row: &[f64], other: &[f64]) -> f64 {
        let (mut sum, mut present) = (0.0, 0usize);
        for (a, b) in row.iter().zip(other) {
            let off = a - b;
            if !off.is_nan() {
                sum += off * off;
                present += 1;
            }
        }
        if present == 0 { f64::NAN } else { sum * row.len() as f64 / present as f64 }
    }

    /// What column `j` of a row should be, given its distances to all training rows.
    fn value(&self, distances: &[f64], j: usize) -> f64 {
        let mut donors: Vec<(f64, usize)> = (0..self.rows.rows)
            .filter(|&i| !self.rows[(i, j)].is_nan() && !distances[i].is_nan())
            .map(|i| (distances[i], i))
            .collect();
        if donors.is_empty() {
            return self.means[j];
        }
        let k = self.n_neighbors.min(donors.len());
        let nearer = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        if k < donors.len() {
            donors.select_nth_unstable_by(k - 1, nearer);
            donors.truncate(k);
        }
        donors.sort_unstable_by(nearer);
        let at_zero = donors.iter().any(|donor| donor.0 == 0.0);
        let weight = |distance2: f64| match (self.by_distance, at_zero) {
            (false, _) => 1.0,
            (true, true) => f64::from(u8::from(distance2 == 0.0)),
            (true, false) => 1.0 / distance2.sqrt(),
        };
        let total: f64 = donors.iter().map(|donor| weight(donor.0)).sum();
        donors.iter().map(|donor| weight(donor.0) * self.rows[(donor.1, j)]).sum::<f64>() / total
    }
}

impl Model for KNNImputerModel {
    fn cols(&self) -> usize {
        self.means.len()
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        let kept = self.means.iter().filter(|mean| !mean.is_nan()).count();
        vec![(Output::Transform, kept + self.indicators.len())]
    }

    fn predict(&self, x: &X, _: Output, out: &mut [f64]) -> Result<()> {
        let width = self.outputs()[0].1;
        let mut dense = vec![0.0; self.means.len()];
        for (i, (row, out)) in x.iter().zip(out.chunks_exact_mut(width)).enumerate() {
            fill(&row, &mut dense);
            if let Some(j) = dense.iter().position(|value| value.is_infinite()) {
                return Err(Error::value(i, j, "the value is infinity, which is not missing"));
            }
            let gaps = dense.iter().zip(&self.means).any(|(value, mean)| value.is_nan() && !mean.is_nan());
            let distances: Vec<f64> = match gaps {
                true => (0..self.rows.rows).map(|i| self.distance2(&dense, self.rows.row(i))).collect(),
                false => Vec::new(),
            };
            let kept = (0..dense.len()).filter(|&j| !self.means[j].is_nan());
            let filled = kept.map(|j| if dense[j].is_nan() { self.value(&distances, j) } else { dense[j] });
            let missing = self.indicators.iter().map(|&j| f64::from(u8::from(dense[j].is_nan())));
            out.iter_mut().zip(filled.chain(missing)).for_each(|(out, value)| *out = value);
        }
        Ok(())
    }

    fn feature_names(&self, input: &[String]) -> Option<Vec<String>> {
        let kept = (0..self.means.len()).filter(|&j| !self.means[j].is_nan());
        let missing = self.indicators.iter().map(|&j| format!("{} is missing", name_of(input, j)));
        Some(kept.map(|j| name_of(input, j)).chain(missing).collect())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let indicators: Vec<i64> = self.indicators.iter().map(|&j| j as i64).collect();
        vec![("indicator_features_", indicators.into())]
    }

    fn check(&self) -> Result<()> {
        let cols = self.means.len();
        let whole = self.rows.cols == cols && self.rows.values.len() == self.rows.rows * cols;
        if cols > 0 && whole && self.n_neighbors > 0 && self.indicators.iter().all(|&j| j < cols) {
            return Ok(());
        }
        Err(Error::Data("the stored imputer is inconsistent".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AnyEstimator, Data, predict};

    #[test]
    fn the_nearest_rows_that_have_the_value_decide() {
        let nan = f64::NAN;
        // Values from scikit-learn 1.9: KNNImputer(n_neighbors=2) and weights="distance" on the same rows.
        let x = [1.0, 2.0, nan, 3.0, 4.0, 3.0, nan, 7.0, 5.0, 8.0, 8.0, 7.0];
        let data = Data::new(X::dense(&x, 3).unwrap());
        let filled = |weights: DonorWeights| {
            let plan = KNNImputer { n_neighbors: 2, weights, ..Default::default() };
            let fit = AnyEstimator::fit(&plan, &data, &Ctx::default()).unwrap();
            predict(&Ctx::default(), &*fit.model, &data.batch().x, Output::Transform, true).unwrap().values
        };
        let plain = filled(DonorWeights::Uniform);
        assert_eq!([plain[2], plain[6]], [4.0, 5.5]);
        let by_distance = filled(DonorWeights::Distance);
        let d = |a: [f64; 2], b: [f64; 2]| (1.5 * ((a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2))).sqrt();
        let (one, two) = (1.0 / d([7.0, 5.0], [4.0, 3.0]), 1.0 / d([7.0, 5.0], [8.0, 7.0]));
        assert!((by_distance[6] - (3.0 * one + 8.0 * two) / (one + two)).abs() < 1e-12);
    }
}
