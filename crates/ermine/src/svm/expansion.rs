//! What kernel models fit: `f(x) = sum_i coef_i k(x_i, x) + b`, one column of coefficients for each output.

use crate::{
    Array, Error, Matrix, OwnedX, Result, X,
    core::linalg::{View, multiply},
    engine::{double_double::Dd, kernel::Kernel},
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expansion {
    pub kernel: Kernel,
    /// Columns that rows must have: with a precomputed kernel, the number of training rows.
    pub cols: usize,
    /// The rows that count; none with a precomputed kernel.
    pub points: OwnedX,
    /// Their numbers among the training rows.
    pub ids: Vec<usize>,
    /// One row for each point, one column for each output.
    pub coef: Matrix,
    pub intercept: Vec<f64>,
}

/// What a score about `centre` has more than one about zero: the sum of `coef_i x_i.centre`, in 32 digits since its
/// terms cancel.
pub fn offset(x: &X, rows: &[usize], coef: &[f64], centre: &[f64]) -> f64 {
    let mut w = vec![Dd::default(); centre.len()];
    for (&row, &coef) in rows.iter().zip(coef).filter(|(_, coef)| **coef != 0.0) {
        let coef = Dd::new(coef);
        if !centre.is_empty() {
            x.row(row).for_each(|j, value| w[j] = w[j].add(coef.times(Dd::new(value))));
        }
    }
    w.iter().zip(centre).fold(Dd::default(), |sum, (w, centre)| sum.add(w.times(Dd::new(*centre)))).value()
}

/// Rows and points evaluated together: the tile of kernel values stays in the cache.
const ROWS: usize = 256;
const POINTS: usize = 512;

impl Expansion {
    /// The expansion over rows `ids` of `x`.
    pub fn new(kernel: Kernel, x: &X, ids: Vec<usize>, coef: Matrix, intercept: Vec<f64>) -> Self {
        let points = match kernel.is_precomputed() {
            true => OwnedX::Dense(Matrix::zeros(0, x.cols())),
            false => OwnedX::take(x, ids.iter().copied()),
        };
        Expansion { kernel, cols: x.cols(), points, ids, coef, intercept }
    }

    pub fn outputs(&self) -> usize {
        self.coef.cols
    }

    /// `out[i, k] = f_k(x_i)`.
    pub fn scores(&self, x: &X, out: &mut [f64]) {
        let k = self.coef.cols;
        if let (Some(w), OwnedX::Dense(_)) = (self.weights(), &self.points) {
            out.chunks_exact_mut(k).for_each(|row| row.copy_from_slice(&self.intercept));
            let mut products = vec![0.0; out.len()];
            x.times_matrix(&w.values, k, &mut products);
            out.iter_mut().zip(products).for_each(|(out, product)| *out += product);
            return;
        }
        let mut tile = vec![0.0; ROWS.min(x.rows()) * POINTS.min(self.ids.len())];
        for first in (0..x.rows()).step_by(ROWS) {
            let part = x.slice(first..(first + ROWS).min(x.rows()));
            let out = &mut out[first * k..(first + part.rows()) * k];
            for row in out.chunks_exact_mut(k) {
                row.copy_from_slice(&self.intercept);
            }
            for start in (0..self.ids.len()).step_by(POINTS) {
                let end = (start + POINTS).min(self.ids.len());
                let tile = &mut tile[..part.rows() * (end - start)];
                self.values(&part, start, end, tile);
                let coef = View::rows(&self.coef.values[start * k..end * k], end - start, k);
                multiply(View::rows(tile, part.rows(), end - start), coef, 1.0, out);
            }
        }
    }

    /// Kernel values of rows with points `start..end`.
    fn values(&self, x: &X, start: usize, end: usize, out: &mut [f64]) {
        if self.kernel.is_precomputed() {
            self.kernel.block_with(x, &self.points.x(), &self.ids[start..end], out);
        } else {
            self.kernel.block(x, &self.points.x().slice(start..end), out);
        }
    }

    /// The points as scikit-learn shows them: none when they were precomputed.
    pub fn support(&self) -> Vec<(&'static str, Array)> {
        let ids: Vec<i64> = self.ids.iter().map(|&id| id as i64).collect();
        vec![("support_", ids.into()), ("support_vectors_", (&self.points.to_matrix()).into())]
    }

    /// Weights of the columns, where the kernel is linear.
    pub fn linear(&self) -> Option<Matrix> {
        self.weights().map(|w| w.transposed())
    }

    /// One row of weights for each column. The rows are added up about the first one: coefficients of a machine add up
    /// to nothing, so what is common to all rows would only cost digits.
    fn weights(&self) -> Option<Matrix> {
        if self.kernel != Kernel::Linear {
            return None;
        }
        let k = self.coef.cols;
        let mut w = Matrix::zeros(self.cols, k);
        match &self.points {
            OwnedX::Dense(points) if points.rows > 0 => {
                let first = points.row(0);
                let about = self.kernel.points_about(&self.points.x(), 0..points.rows, first);
                about.x().add_transposed_matrix(&self.coef.values, k, &mut w.values);
                for output in 0..k {
                    let column = (0..points.rows).map(|i| self.coef[(i, output)]);
                    let left = column.fold(Dd::default(), |sum, c| sum.add(Dd::new(c))).value();
                    (0..self.cols).for_each(|j| w[(j, output)] += left * first[j]);
                }
            }
            points => points.x().add_transposed_matrix(&self.coef.values, k, &mut w.values),
        }
        Some(w)
    }

    pub fn check(&self) -> Result<()> {
        self.points.check()?;
        self.kernel.check(self.cols)?;
        let count = if self.kernel.is_precomputed() { self.ids.len() } else { self.points.rows() };
        let fits = self.points.cols() == self.cols
            && self.coef.is_consistent()
            && self.coef.rows == count
            && self.ids.len() == count
            && self.coef.cols > 0
            && self.intercept.len() == self.coef.cols
            && (!self.kernel.is_precomputed() || self.ids.iter().all(|&id| id < self.cols));
        if fits { Ok(()) } else { Err(Error::Data("the stored kernel expansion is inconsistent".into())) }
    }
}
