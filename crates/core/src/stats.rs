//! Statistics that merge: means and scatter matrices kept about their own centre.
//!
//! Raw sums of squares lose the digits of data far from zero, so each statistic holds (weight, mean, scatter about the
//! mean), and two of them merge by the rule of Chan, Golub and LeVeque (1983): with d the difference of the means, `S =
//! S1 + S2 + d d' w1 w2 / (w1 + w2)`.

use crate::{
    Reduce, Result,
    data::{Batch, Row, Target, X},
    linalg::{self, Matrix},
    simd,
};
use serde::{Deserialize, Serialize};

/// Total weight, mean and scatter of each column by itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    pub weight: f64,
    pub mean: Vec<f64>,
    /// `sum w (x - mean)^2`
    pub scatter: Vec<f64>,
}

impl Moments {
    pub fn new(cols: usize) -> Self {
        Moments { weight: 0.0, mean: vec![0.0; cols], scatter: vec![0.0; cols] }
    }

    /// Two passes over the rows of a block: the mean, then the scatter about it.
    pub fn add(&mut self, x: &X, weights: Option<&[f64]>) {
        let mut block = Moments::new(self.mean.len());
        let ones;
        let weights = match weights {
            Some(weights) => weights,
            None => {
                ones = vec![1.0; x.rows()];
                &ones[..]
            }
        };
        block.weight = weights.iter().sum();
        if block.weight == 0.0 {
            return;
        }
        x.add_transposed_vector(weights, &mut block.mean);
        block.mean.iter_mut().for_each(|mean| *mean /= block.weight);
        match x {
            X::Dense(x) => simd::vectorised(
                #[inline(always)]
                || {
                    for (row, &weight) in x.values.chunks_exact(x.cols).zip(weights) {
                        for ((scatter, x), mean) in block.scatter.iter_mut().zip(row).zip(&block.mean) {
                            *scatter += weight * (x - mean) * (x - mean);
                        }
                    }
                },
            ),
            X::Sparse(_) => {
                // Stored values now, the zeros of every column in one go.
                let mut stored = vec![0.0; self.mean.len()];
                for (row, &weight) in x.iter().zip(weights) {
                    row.for_each(|j, value| {
                        stored[j] += weight;
                        block.scatter[j] += weight * (value - block.mean[j]).powi(2);
                    });
                }
                for j in 0..stored.len() {
                    block.scatter[j] += (block.weight - stored[j]).max(0.0) * block.mean[j] * block.mean[j];
                }
            }
        }
        self.merge(block);
    }

    pub fn merge(&mut self, right: Moments) {
        let total = self.weight + right.weight;
        if total == 0.0 || right.weight == 0.0 {
            return;
        }
        let share = right.weight / total;
        for j in 0..self.mean.len() {
            let d = right.mean[j] - self.mean[j];
            self.mean[j] += share * d;
            self.scatter[j] += right.scatter[j] + self.weight * share * d * d;
        }
        self.weight = total;
    }

    /// Population variance of column `j`.
    pub fn variance(&self, j: usize) -> f64 {
        self.scatter[j] / self.weight
    }

    /// Standard deviation of column `j`, and 1 for a column that is constant up to rounding, so that it can be divided
    /// by.
    pub fn scale(&self, j: usize) -> f64 {
        let variance = self.variance(j);
        let rounding = f64::EPSILON * self.weight.sqrt().max(10.0) * self.mean[j].abs();
        if variance.sqrt() <= rounding { 1.0 } else { variance.sqrt() }
    }
}

/// The sum that gives the [`Moments`] of x.
pub struct ColumnMoments {
    pub cols: usize,
}

impl Reduce for ColumnMoments {
    type Stat = Moments;

    fn zero(&self) -> Moments {
        Moments::new(self.cols)
    }

    fn add(&self, stat: &mut Moments, batch: &Batch) -> Result<()> {
        batch.x.check_finite(batch.first)?;
        stat.add(&batch.x, batch.weights);
        Ok(())
    }

    fn merge(&self, left: &mut Moments, right: Moments) {
        left.merge(right);
    }
}

/// Total weight, mean and scatter matrix of the rows z = (x, y).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gram {
    pub rows: usize,
    pub weight: f64,
    pub mean: Vec<f64>,
    /// Lower triangle of `sum w (z - mean)(z - mean)'`.
    pub scatter: Matrix,
    /// The leaf that is being filled: its centre, sums about it, and room for packed rows.
    #[serde(skip)]
    open: Option<Box<OpenGram>>,
}

/// A leaf under way: packed rows about a centre near their mean, products by the fast kernel.
#[derive(Clone, Debug, PartialEq)]
struct OpenGram {
    weight: f64,
    centre: Vec<f64>,
    sum: Vec<f64>,
    gram: Vec<f64>,
    packed: Vec<f64>,
}

impl Gram {
    pub fn new(cols: usize) -> Self {
        Gram { rows: 0, weight: 0.0, mean: vec![0.0; cols], scatter: Matrix::zeros(cols, cols), open: None }
    }

    /// Adds the rows of a batch; `extra(i)` are the last columns of row i (the target), after those of x.
    pub fn add<'a>(&mut self, x: &X, weights: Option<&[f64]>, extra: impl Fn(usize) -> &'a [f64]) {
        let (cols, stride) = (self.mean.len(), linalg::padded(self.mean.len()));
        self.rows += x.rows();
        let open = self.open.get_or_insert_with(|| {
            Box::new(OpenGram {
                weight: 0.0,
                centre: centre(x, cols, &extra),
                sum: vec![0.0; stride],
                gram: vec![0.0; stride * stride],
                packed: Vec::new(),
            })
        });
        let sheet = linalg::sheet_rows(stride);
        for start in (0..x.rows()).step_by(sheet) {
            let end = (start + sheet).min(x.rows());
            open.packed.clear();
            open.packed.resize((end - start) * stride, 0.0);
            let mut packed = open.packed.chunks_exact_mut(stride);
            for i in start..end {
                let z = packed.next().expect("one packed row for each row");
                let last = extra(i);
                let (from_x, from_extra) = z[..cols].split_at_mut(cols - last.len());
                match x.row(i) {
                    Row::Dense(row) => subtract(row, &open.centre, from_x),
                    sparse => {
                        from_x.iter_mut().zip(&open.centre).for_each(|(z, centre)| *z = -centre);
                        sparse.for_each(|j, value| from_x[j] += value);
                    }
                }
                subtract(last, &open.centre[cols - last.len()..], from_extra);
                let weight = weights.map_or(1.0, |weights| weights[i]);
                open.weight += weight;
                simd::add_scaled(weight, z, &mut open.sum);
                if weights.is_some() {
                    let root = weight.sqrt();
                    z.iter_mut().for_each(|z| *z *= root);
                }
            }
            linalg::add_gram(&open.packed, stride, &mut open.gram);
        }
    }

    /// From sums about the centre of the leaf to scatter about its mean; must be called before merging or reading.
    pub fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        if open.weight == 0.0 {
            return;
        }
        let (cols, stride) = (self.mean.len(), linalg::padded(self.mean.len()));
        let mut leaf = Gram::new(cols);
        leaf.weight = open.weight;
        for i in 0..cols {
            leaf.mean[i] = open.centre[i] + open.sum[i] / open.weight;
            for j in 0..=i {
                leaf.scatter[(i, j)] = open.gram[i * stride + j] - open.sum[i] * (open.sum[j] / open.weight);
            }
        }
        self.merge(leaf);
    }

    pub fn merge(&mut self, right: Gram) {
        self.rows += right.rows;
        let total = self.weight + right.weight;
        if total == 0.0 || right.weight == 0.0 {
            return;
        }
        let share = right.weight / total;
        let d: Vec<f64> = right.mean.iter().zip(&self.mean).map(|(right, left)| right - left).collect();
        for i in 0..d.len() {
            let factor = self.weight * share * d[i];
            let cols = d.len();
            let left = &mut self.scatter.values[i * cols..i * cols + i + 1];
            let right = &right.scatter.values[i * cols..i * cols + i + 1];
            for j in 0..=i {
                left[j] += right[j] + factor * d[j];
            }
            self.mean[i] += share * d[i];
        }
        self.weight = total;
    }

    /// The scatter about zero instead of the mean, for models without an intercept.
    pub fn about_zero(&self) -> Matrix {
        let mut out = self.scatter.clone();
        for i in 0..out.rows {
            for j in 0..=i {
                out[(i, j)] += self.weight * self.mean[i] * self.mean[j];
            }
        }
        out
    }
}

#[inline(always)]
fn subtract(a: &[f64], b: &[f64], out: &mut [f64]) {
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out = a - b;
    }
}

/// A point near the mean: the average of a few rows. Zero for sparse rows, which it would fill up.
fn centre<'a>(x: &X, cols: usize, extra: &impl Fn(usize) -> &'a [f64]) -> Vec<f64> {
    let mut centre = vec![0.0; cols];
    let rows = x.rows().min(32);
    if x.is_sparse() || rows == 0 {
        return centre;
    }
    for i in 0..rows {
        x.row(i).add_to(1.0 / rows as f64, &mut centre);
        let last = extra(i);
        simd::add_scaled(1.0 / rows as f64, last, &mut centre[cols - last.len()..]);
    }
    centre
}

/// The sum that gives the [`Gram`] of x and a real target.
pub struct CrossProducts {
    pub cols: usize,
    pub targets: usize,
}

impl Reduce for CrossProducts {
    type Stat = Gram;

    fn zero(&self) -> Gram {
        Gram::new(self.cols + self.targets)
    }

    fn add(&self, stat: &mut Gram, batch: &Batch) -> Result<()> {
        batch.x.check_finite(batch.first)?;
        let y = batch.y.real();
        stat.add(&batch.x, batch.weights, |i| &y[i * self.targets..(i + 1) * self.targets]);
        Ok(())
    }

    fn close(&self, stat: &mut Gram) {
        stat.close();
    }

    fn merge(&self, left: &mut Gram, right: Gram) {
        left.merge(right);
    }
}

/// The sum that gives the total weight of each class.
pub struct ClassWeights {
    pub classes: usize,
}

impl Reduce for ClassWeights {
    type Stat = Vec<f64>;

    fn zero(&self) -> Vec<f64> {
        vec![0.0; self.classes]
    }

    fn add(&self, stat: &mut Vec<f64>, batch: &Batch) -> Result<()> {
        if let Target::Class { codes, .. } = batch.y {
            for (i, &code) in codes.iter().enumerate() {
                stat[code as usize] += batch.weight(i);
            }
        }
        Ok(())
    }

    fn merge(&self, left: &mut Vec<f64>, right: Vec<f64>) {
        left.iter_mut().zip(right).for_each(|(left, right)| *left += right);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ctx, Data, reduce};

    #[test]
    fn digits_survive_an_offset_of_a_billion() {
        let base: Vec<f64> = (0..60_000).map(|i| ((i * 7919) % 1000) as f64 / 1000.0).collect();
        let far: Vec<f64> = base.iter().map(|x| x + 1e9).collect();
        let scatter = |values: &[f64]| {
            let data = Data::new(X::dense(values, 3).unwrap());
            let moments = reduce(&Ctx::new(0), &data, &ColumnMoments { cols: 3 }).unwrap();
            (moments, reduce(&Ctx::new(0), &data, &CrossProducts { cols: 3, targets: 0 }).unwrap())
        };
        let ((near, near_gram), (far, far_gram)) = (scatter(&base), scatter(&far));
        for j in 0..3 {
            assert!((far.scatter[j] / near.scatter[j] - 1.0).abs() < 1e-6);
            assert!((far_gram.scatter[(j, j)] / near_gram.scatter[(j, j)] - 1.0).abs() < 1e-6);
            assert!((near_gram.scatter[(j, j)] / near.scatter[j] - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn weights_count_rows() {
        let rows = [[1.0, 2.0], [3.0, 5.0], [4.0, -1.0]];
        let repeated: Vec<f64> = [0, 1, 1, 1, 2].iter().flat_map(|&i: &usize| rows[i]).collect();
        let flat: Vec<f64> = rows.iter().flatten().copied().collect();
        let weights = [1.0, 3.0, 1.0];
        let sum = CrossProducts { cols: 2, targets: 0 };
        let weighted = Data::new(X::dense(&flat, 2).unwrap()).weights(&weights).unwrap();
        let repeated = Data::new(X::dense(&repeated, 2).unwrap());
        let a = reduce(&Ctx::new(0), &weighted, &sum).unwrap();
        let b = reduce(&Ctx::new(0), &repeated, &sum).unwrap();
        for i in 0..2 {
            for j in 0..=i {
                assert!((a.scatter[(i, j)] - b.scatter[(i, j)]).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn sparse_equals_dense() {
        let dense: Vec<f64> = (0..400).map(|i| if i % 3 == 0 { (i as f64).sin() } else { 0.0 }).collect();
        let (mut starts, mut columns, mut values) = (vec![0], vec![], vec![]);
        for row in dense.chunks(4) {
            for (j, &value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                columns.push(j as u32);
                values.push(value);
            }
            starts.push(values.len());
        }
        let sparse = Data::new(X::csr(&starts, &columns, &values, 4).unwrap());
        let dense = Data::new(X::dense(&dense, 4).unwrap());
        let moments = |data: &Data| reduce(&Ctx::new(0), data, &ColumnMoments { cols: 4 }).unwrap();
        let gram = |data: &Data| reduce(&Ctx::new(0), data, &CrossProducts { cols: 4, targets: 0 }).unwrap();
        for j in 0..4 {
            assert!((moments(&dense).scatter[j] - moments(&sparse).scatter[j]).abs() < 1e-12);
            for i in j..4 {
                assert!((gram(&dense).scatter[(i, j)] - gram(&sparse).scatter[(i, j)]).abs() < 1e-12);
            }
        }
    }
}
