//! VarianceThreshold and SelectKBest: keep some columns, as they are.
//!
//! VarianceThreshold keeps columns whose variance is above a threshold. SelectKBest keeps the k columns with the
//! largest F: of one-way analysis of variance for classes, `F = (sum_c n_c (m_c - m)^2 / (k - 1)) / (sum_c sum_i (x_i -
//! m_c)^2 / (n - k))`, or of the correlation with a real target, `F = r^2 (n - 2) / (1 - r^2)`. Both are one sum over
//! rows.

use super::columns::name_of;
use crate::{
    Array, Certificate, Ctx, Error, Estimator, Fit, FitLog, Info, Model, Output, Passes, Result, Source, Task, X,
    core::{
        Batch, OwnedX, Reduce, TargetKind, choice,
        param::at_least,
        params, reduce,
        stats::{ColumnMoments, Moments},
    },
};
use serde::{Deserialize, Serialize};

params! {
    /// Drops columns with low variance.
    pub struct VarianceThreshold {
        /// Columns with this variance or less are dropped.
        threshold: f64 = 0.0, at_least(0.0);
    }
}

choice! {
    /// Number of columns to keep.
    pub enum Keep: usize where at_least(1.0) => {
        /// All of them, for the scores alone.
        All = "all",
    }
}

params! {
    /// Selects the columns with the strongest relation to the target, one at a time: F test of the analysis of variance
    /// for classes, of the correlation for numbers.
    pub struct SelectKBest {
        /// Number of columns to keep.
        k: Keep = Keep::Number(10);
    }
}

/// What the scores of a selection are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChosenBy {
    Variance,
    Test,
    Importance,
    /// The order in which columns left; 1 for those kept.
    Ranking,
}

impl ChosenBy {
    fn attribute(self) -> &'static str {
        match self {
            ChosenBy::Variance => "variances_",
            ChosenBy::Test => "scores_",
            ChosenBy::Importance => "importances_",
            ChosenBy::Ranking => "ranking_",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SelectionModel {
    pub cols: usize,
    /// Columns that are kept, increasing.
    pub kept: Vec<usize>,
    /// What they were chosen by, for every column: its variance, its F, its importance, its rank.
    pub scores: Vec<f64>,
    pub chosen_by: ChosenBy,
}

impl Estimator for VarianceThreshold {
    type Model = SelectionModel;
    const INFO: Info =
        Info::new("feature_selection", Task::Transformation, "keep j with Var(x_j) > threshold", Passes::One);

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<SelectionModel>> {
        let cols = data.shape().cols;
        let moments = reduce(ctx, data, &ColumnMoments { cols })?;
        let scores: Vec<f64> = (0..cols).map(|j| moments.variance(j)).collect();
        // A constant column may show a variance at rounding level.
        let varies = |&j: &usize| scores[j] > self.threshold && (moments.scale(j) != 1.0 || scores[j] == 1.0);
        let kept: Vec<usize> = (0..cols).filter(varies).collect();
        if kept.is_empty() {
            let problem = format!("VarianceThreshold: no column has a variance above {}", self.threshold);
            return Err(Error::Data(problem));
        }
        let model = SelectionModel { cols, kept, scores, chosen_by: ChosenBy::Variance };
        Ok(Fit::new(model, FitLog::exact(Certificate::None)))
    }
}

/// Moments of the columns within each class.
struct ByClass {
    cols: usize,
    classes: usize,
}

impl Reduce for ByClass {
    type Stat = Vec<Moments>;

    fn zero(&self) -> Self::Stat {
        (0..self.classes).map(|_| Moments::new(self.cols)).collect()
    }

    fn add(&self, stat: &mut Self::Stat, batch: &Batch) -> Result<()> {
        batch.x.check_finite(batch.first)?;
        for class in 0..self.classes {
            let rows: Vec<usize> = (0..batch.rows()).filter(|&i| batch.y.codes()[i] as usize == class).collect();
            let weights: Option<Vec<f64>> = batch.weights.map(|weights| rows.iter().map(|&i| weights[i]).collect());
            stat[class].add(&OwnedX::of_rows(&batch.x, &rows).x(), weights.as_deref());
        }
        Ok(())
    }

    fn merge(&self, left: &mut Self::Stat, right: Self::Stat) {
        left.iter_mut().zip(right).for_each(|(left, right)| left.merge(right));
    }
}

/// Moments of the columns and of y, and their products: the correlation of each column with y.
struct WithTarget {
    cols: usize,
}

impl Reduce for WithTarget {
    /// Moments of (x, y), then `sum w (x - mean)(y - mean)`.
    type Stat = (Moments, Moments, Vec<f64>);

    fn zero(&self) -> Self::Stat {
        (Moments::new(self.cols), Moments::new(1), vec![0.0; self.cols])
    }

    fn add(&self, stat: &mut Self::Stat, batch: &Batch) -> Result<()> {
        batch.x.check_finite(batch.first)?;
        let y = batch.y.real();
        let mut block = self.zero();
        block.0.add(&batch.x, batch.weights);
        block.1.add(&X::dense(y, 1)?, batch.weights);
        let off: Vec<f64> = (0..y.len()).map(|i| batch.weight(i) * (y[i] - block.1.mean[0])).collect();
        batch.x.add_transposed_vector(&off, &mut block.2);
        // The residuals add up to zero but for rounding, which the mean of a far column would blow up.
        let rest: f64 = off.iter().sum();
        block.2.iter_mut().zip(&block.0.mean).for_each(|(product, mean)| *product -= rest * mean);
        self.merge(stat, block);
        Ok(())
    }

    fn merge(&self, left: &mut Self::Stat, right: Self::Stat) {
        let total = left.0.weight + right.0.weight;
        if right.0.weight == 0.0 {
            return;
        }
        let factor = left.0.weight * right.0.weight / total;
        for j in 0..self.cols {
            left.2[j] += right.2[j] + factor * (right.0.mean[j] - left.0.mean[j]) * (right.1.mean[0] - left.1.mean[0]);
        }
        left.0.merge(right.0);
        left.1.merge(right.1);
    }
}

impl Estimator for SelectKBest {
    type Model = SelectionModel;
    const INFO: Info = Info {
        supervised: true,
        ..Info::new("feature_selection", Task::Transformation, "keep the k largest F(x_j, y)", Passes::One)
    };

    fn learn(&self, data: &dyn Source, ctx: &Ctx) -> Result<Fit<SelectionModel>> {
        let shape = data.shape();
        let cols = shape.cols;
        let scores: Vec<f64> = match shape.target {
            TargetKind::Class(classes) => {
                let moments = reduce(ctx, data, &ByClass { cols, classes })?;
                let mut all = Moments::new(cols);
                moments.iter().for_each(|class| all.merge(class.clone()));
                let present = moments.iter().filter(|class| class.weight > 0.0).count() as f64;
                let f = |j: usize| {
                    let within: f64 = moments.iter().map(|class| class.scatter[j]).sum();
                    let between = (all.scatter[j] - within).max(0.0);
                    (between / (present - 1.0)) / (within / (all.weight - present))
                };
                (0..cols).map(f).collect()
            }
            TargetKind::Real(1) => {
                let (x, y, products) = reduce(ctx, data, &WithTarget { cols })?;
                let f = |j: usize| {
                    let r = products[j] / (x.scatter[j] * y.scatter[0]).sqrt();
                    r * r / (1.0 - r * r).max(0.0) * (x.weight - 2.0)
                };
                (0..cols).map(f).collect()
            }
            _ => return Err(Error::Data("SelectKBest needs one target".into())),
        };
        // Not defined (constant columns) comes last.
        let mut order: Vec<usize> = (0..cols).collect();
        let key = |j: usize| if scores[j].is_nan() { f64::NEG_INFINITY } else { scores[j] };
        order.sort_by(|&a, &b| key(b).total_cmp(&key(a)).then(a.cmp(&b)));
        if let Keep::Number(k) = self.k {
            order.truncate(k);
        }
        order.sort_unstable();
        let model = SelectionModel { cols, kept: order, scores, chosen_by: ChosenBy::Test };
        Ok(Fit::new(model, FitLog::exact(Certificate::None)))
    }
}

impl Model for SelectionModel {
    fn cols(&self) -> usize {
        self.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Transform, self.kept.len()), (Output::Inverse, self.cols)]
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        if output == Output::Inverse {
            if x.cols() != self.kept.len() {
                return Err(Error::shape("x", format!("{} columns", self.kept.len()), x.cols()));
            }
            out.fill(0.0);
            for (row, out) in x.iter().zip(out.chunks_exact_mut(self.cols)) {
                row.for_each(|place, value| out[self.kept[place]] = value);
            }
            return Ok(());
        }
        let mut dense = vec![0.0; self.cols];
        for (row, out) in x.iter().zip(out.chunks_exact_mut(self.kept.len())) {
            super::columns::fill(&row, &mut dense);
            out.iter_mut().zip(&self.kept).for_each(|(out, &j)| *out = dense[j]);
        }
        Ok(())
    }

    fn transform_sparse(&self, x: &X) -> Result<Option<crate::OwnedCsr>> {
        Ok(match OwnedX::of_columns(x, &self.kept) {
            OwnedX::Sparse(csr) => Some(csr),
            OwnedX::Dense(_) => None,
        })
    }

    fn feature_names(&self, input: &[String]) -> Option<Vec<String>> {
        Some(self.kept.iter().map(|&j| name_of(input, j)).collect())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let kept: Vec<i64> = self.kept.iter().map(|&j| j as i64).collect();
        let scores: Array = match self.chosen_by {
            ChosenBy::Ranking => self.scores.iter().map(|rank| *rank as i64).collect::<Vec<_>>().into(),
            _ => (&self.scores).into(),
        };
        vec![(self.chosen_by.attribute(), scores), ("support_", kept.into())]
    }

    fn check(&self) -> Result<()> {
        let rising = self.kept.windows(2).all(|pair| pair[0] < pair[1]);
        if !self.kept.is_empty() && rising && self.kept.iter().all(|&j| j < self.cols) && self.scores.len() == self.cols
        {
            return Ok(());
        }
        Err(Error::Data("the stored columns are inconsistent".into()))
    }
}
