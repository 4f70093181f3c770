//! What multinomial, Bernoulli and complement naive Bayes share: how much of each column fell to each class, and a
//! model whose log-probabilities are linear in the row, `ln p(c) + ln p(x | c) = offset_c + weights_c . x`.

use super::posterior;
use crate::{
    Array, Error, Matrix, Model, Output, Result, X,
    core::{
        Batch, Reduce,
        data::{Csr, Dense},
        simd,
    },
};
use serde::{Deserialize, Serialize};

/// Total weight of each class, and of each column within it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    pub class: Vec<f64>,
    /// One row for each class.
    pub feature: Matrix,
}

impl Counts {
    pub(super) fn merge(&mut self, right: &Counts) {
        simd::add_scaled(1.0, &right.class, &mut self.class);
        simd::add_scaled(1.0, &right.feature.values, &mut self.feature.values);
    }
}

/// The sum that gives the [`Counts`].
pub(super) struct CountClasses {
    pub model: &'static str,
    pub classes: usize,
    pub cols: usize,
    /// Rows are 1 where a value is above this, 0 elsewhere; without it they are counts as they stand.
    pub binarize: Option<f64>,
    pub non_negative: bool,
}

impl Reduce for CountClasses {
    type Stat = Counts;

    fn zero(&self) -> Counts {
        Counts { class: vec![0.0; self.classes], feature: Matrix::zeros(self.classes, self.cols) }
    }

    fn add(&self, stat: &mut Counts, batch: &Batch) -> Result<()> {
        batch.x.check_finite(batch.first)?;
        if self.non_negative {
            refuse_negative(self.model, &batch.x, batch.first)?;
        }
        if let Some(threshold) = self.binarize {
            check_threshold(self.model, threshold, &batch.x)?;
        }
        for (i, &class) in batch.y.codes().iter().enumerate() {
            let (class, weight) = (class as usize, batch.weight(i));
            stat.class[class] += weight;
            let row = batch.x.row(i);
            let counts = stat.feature.row_mut(class);
            match self.binarize {
                None => row.add_to(weight, counts),
                Some(threshold) => row.for_each(|j, value| counts[j] += if value > threshold { weight } else { 0.0 }),
            }
        }
        Ok(())
    }

    fn merge(&self, left: &mut Counts, right: Counts) {
        left.merge(&right);
    }
}

fn stored<'a>(x: &X<'a>) -> &'a [f64] {
    match *x {
        X::Dense(Dense { values, .. }) => values,
        X::Sparse(Csr { starts, values, .. }) => &values[starts[0]..starts[starts.len() - 1]],
    }
}

pub(super) fn refuse_negative(model: &str, x: &X, first: usize) -> Result<()> {
    let least = simd::vectorised(
        #[inline(always)]
        || stored(x).iter().fold(0.0, |least: f64, &v| if v < least { v } else { least }),
    );
    if least >= 0.0 {
        return Ok(());
    }
    for (i, row) in x.iter().enumerate() {
        let mut found = None;
        row.for_each(|j, value| {
            if value < 0.0 && found.is_none() {
                found = Some((j, value));
            }
        });
        if let Some((j, value)) = found {
            let problem =
                format!("Negative values in data passed to {model}: the value is {value}, but it must be 0 or more");
            return Err(Error::value(first + i, j, problem));
        }
    }
    Ok(())
}

/// Sparse rows do not store the zeros that a negative threshold would turn into ones.
fn check_threshold(model: &str, threshold: f64, x: &X) -> Result<()> {
    if threshold >= 0.0 || !x.is_sparse() {
        return Ok(());
    }
    let (model, name, value) = (model.into(), "binarize".into(), threshold.to_string());
    Err(Error::Parameter { model, name, value, allowed: "0 or more for sparse rows".into() })
}

/// The smoothing that is used: `alpha`, or a little where it may not be that small.
pub(super) fn smoothing(alpha: f64, force_alpha: bool) -> f64 {
    if force_alpha { alpha } else { alpha.max(1e-10) }
}

/// Without smoothing, what never happened would have probability zero: that is said, with the column and the class.
pub(super) fn unseen(model: &str, column: usize, what: &str, class: usize) -> Error {
    let problem = format!(
        "{what} never occurs in class {class}, and without smoothing a row with it could never be of that class"
    );
    Error::value(None, column, problem).hint(format!("set alpha of {model} above 0, or leave the column out"))
}

/// `ln p(class)`: given, learnt, or all equal.
pub(super) fn log_priors(model: &str, given: Option<&Vec<f64>>, fit: bool, weights: &[f64]) -> Result<Vec<f64>> {
    let equal = vec![1.0; weights.len()];
    let weights = if fit { weights } else { &equal };
    Ok(super::priors(model, "class_prior", given, weights)?.into_iter().map(f64::ln).collect())
}

/// Naive Bayes with log-probabilities that are linear in the row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CountModel {
    /// What was counted, from which a later fit goes on.
    pub counts: Counts,
    pub class_log_prior: Vec<f64>,
    /// What a unit of each column adds to the score of each class, as scikit-learn's `feature_log_prob_`.
    pub feature_log_prob: Matrix,
    /// One row for each column, one column for each class.
    pub weights: Matrix,
    pub offset: Vec<f64>,
    pub binarize: Option<f64>,
    /// Counts over all classes, where the model is made from them.
    pub feature_all: Option<Vec<f64>>,
}

impl CountModel {
    /// The columns that speak most for a class: each with what a unit of it adds to the score of that class above the
    /// mean of the others (for two classes the log-odds), largest first.
    pub fn most_telling(&self, class: usize, count: usize) -> Vec<(usize, f64)> {
        let k = self.offset.len();
        let speaks = |j: usize| {
            let row = self.weights.row(j);
            let others = row.iter().sum::<f64>() - row[class];
            (j, row[class] - others / (k as f64 - 1.0))
        };
        let mut all: Vec<(usize, f64)> = (0..self.weights.rows).map(speaks).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        all.truncate(count);
        all
    }
}

impl Model for CountModel {
    #[expect(clippy::misnamed_getters, reason = "the weights are stored with a row for each column of the data")]
    fn cols(&self) -> usize {
        self.weights.rows
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Class, 1), (Output::Probability, self.offset.len())]
    }

    fn predict(&self, x: &X, output: Output, out: &mut [f64]) -> Result<()> {
        let k = self.offset.len();
        let mut joint = vec![0.0; x.rows() * k];
        match (self.binarize, x) {
            (None, x) => x.times_matrix(&self.weights.values, k, &mut joint),
            (Some(threshold), X::Dense(dense)) => {
                let ones: Vec<f64> = dense.values.iter().map(|&value| f64::from(value > threshold)).collect();
                X::dense(&ones, dense.cols)?.times_matrix(&self.weights.values, k, &mut joint);
            }
            (Some(threshold), x) => {
                check_threshold("BernoulliNB", threshold, x)?;
                for (row, joint) in x.iter().zip(joint.chunks_exact_mut(k)) {
                    row.for_each(|j, value| {
                        if value > threshold {
                            simd::add_scaled(1.0, self.weights.row(j), joint);
                        }
                    });
                }
            }
        }
        for row in joint.chunks_exact_mut(k) {
            simd::add_scaled(1.0, &self.offset, row);
        }
        posterior(&mut joint, k, output, out);
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let mut attributes: Vec<(&'static str, Array)> = vec![
            ("class_count_", (&self.counts.class).into()),
            ("class_log_prior_", (&self.class_log_prior).into()),
            ("feature_count_", (&self.counts.feature).into()),
            ("feature_log_prob_", (&self.feature_log_prob).into()),
        ];
        attributes.extend(self.feature_all.as_ref().map(|all| ("feature_all_", all.into())));
        attributes
    }

    fn check(&self) -> Result<()> {
        let (k, p) = (self.offset.len(), self.weights.rows);
        let class_by_feature = |m: &Matrix| m.is_consistent() && (m.rows, m.cols) == (k, p);
        let fits = k > 0
            && p > 0
            && self.weights.is_consistent()
            && self.weights.cols == k
            && class_by_feature(&self.counts.feature)
            && class_by_feature(&self.feature_log_prob)
            && self.counts.class.len() == k
            && self.class_log_prior.len() == k;
        if fits {
            Ok(())
        } else {
            Err(Error::shape("stored log-probabilities", format!("{p} x {k}"), self.weights.values.len()))
        }
    }
}
