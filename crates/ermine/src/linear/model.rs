//! What linear regressions fit: `y = W x + b`, one row of W for each target.

use crate::{Array, Error, Matrix, Model, Output, Result, X};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinearModel {
    /// One row for each target.
    pub coef: Matrix,
    pub intercept: Vec<f64>,
}

/// `scores = X coef' + intercept`, row-major.
pub fn scores(x: &X, coef: &Matrix, intercept: &[f64], out: &mut [f64]) {
    let k = coef.rows;
    if k == 1 {
        x.times_vector(&coef.values, out);
    } else {
        x.times_matrix(&coef.transposed().values, k, out);
    }
    for row in out.chunks_exact_mut(k) {
        row.iter_mut().zip(intercept).for_each(|(score, b)| *score += b);
    }
}

/// The class with the largest score, the first of equals; a single score is that of the second of two classes.
pub fn class_of(scores: &[f64]) -> usize {
    match scores {
        [one] => usize::from(*one > 0.0),
        many => (0..many.len()).fold(0, |best, class| if many[class] > many[best] { class } else { best }),
    }
}

/// Coefficients as scikit-learn shapes them: flat for a single target.
pub fn coef_array(coef: &Matrix, flat: bool) -> Array {
    if flat && coef.rows == 1 { (&coef.values).into() } else { coef.into() }
}

/// Whether coefficients and intercepts read from a file fit together.
pub fn check_linear(coef: &Matrix, intercept: &[f64]) -> Result<()> {
    if coef.is_consistent() && coef.rows > 0 && coef.cols > 0 && intercept.len() == coef.rows {
        return Ok(());
    }
    Err(Error::shape("stored coefficients", format!("{} x {}", coef.rows, coef.cols), coef.values.len()))
}

impl Model for LinearModel {
    fn cols(&self) -> usize {
        self.coef.cols
    }

    fn outputs(&self) -> Vec<(Output, usize)> {
        vec![(Output::Value, self.coef.rows)]
    }

    fn predict(&self, x: &X, _: Output, out: &mut [f64]) -> Result<()> {
        scores(x, &self.coef, &self.intercept, out);
        Ok(())
    }

    fn attributes(&self) -> Vec<(&'static str, Array)> {
        let flat = self.coef.rows == 1;
        let intercept = if flat { self.intercept[0].into() } else { (&self.intercept).into() };
        vec![("coef_", coef_array(&self.coef, true)), ("intercept_", intercept)]
    }

    fn check(&self) -> Result<()> {
        check_linear(&self.coef, &self.intercept)
    }
}
