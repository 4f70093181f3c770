//! Means and scatter matrices by class, as sums.

use crate::{
    Matrix, Result, X,
    core::{Batch, Reduce, data::Row, linalg, simd, stats::Gram},
};
use serde::{Deserialize, Serialize};

/// Weight and mean of each class, and the scatter of all rows about the mean of their class.
#[derive(Serialize, Deserialize)]
pub(super) struct Pooled {
    pub weight: Vec<f64>,
    /// One row for each class.
    pub mean: Matrix,
    /// Lower triangle of `sum w (x - mean_c)(x - mean_c)'`.
    pub scatter: Matrix,
    #[serde(skip)]
    open: Option<Box<Open>>,
}

/// A leaf under way: rows about the first row of their class, so that one product serves all classes.
struct Open {
    weight: Vec<f64>,
    centre: Vec<Option<Vec<f64>>>,
    sum: Matrix,
    gram: Vec<f64>,
    packed: Vec<f64>,
}

impl Pooled {
    fn new(classes: usize, cols: usize) -> Self {
        let (mean, scatter) = (Matrix::zeros(classes, cols), Matrix::zeros(cols, cols));
        Pooled { weight: vec![0.0; classes], mean, scatter, open: None }
    }

    /// `scatter += sign sum_r rows_r rows_r'`, by the fast product.
    fn add_products(&mut self, rows: &[f64], sign: f64) {
        let (cols, stride) = (self.mean.cols, linalg::padded(self.mean.cols));
        let mut gram = vec![0.0; stride * stride];
        linalg::add_gram(rows, stride, &mut gram);
        for i in 0..cols {
            simd::add_scaled(sign, &gram[i * stride..i * stride + i + 1], &mut self.scatter.row_mut(i)[..i + 1]);
        }
    }
}

pub(super) struct PoolScatter {
    pub classes: usize,
    pub cols: usize,
}

impl Reduce for PoolScatter {
    type Stat = Pooled;

    fn zero(&self) -> Pooled {
        Pooled::new(self.classes, self.cols)
    }

    fn add(&self, stat: &mut Pooled, batch: &Batch) -> Result<()> {
        batch.x.check_finite(batch.first)?;
        let (k, cols, stride) = (self.classes, self.cols, linalg::padded(self.cols));
        let open = stat.open.get_or_insert_with(|| {
            Box::new(Open {
                weight: vec![0.0; k],
                centre: vec![None; k],
                sum: Matrix::zeros(k, stride),
                gram: vec![0.0; stride * stride],
                packed: Vec::new(),
            })
        });
        let codes = batch.y.codes();
        // A sheet of packed rows stays in the cache between packing and multiplying.
        let sheet = linalg::sheet_rows(stride);
        for start in (0..batch.rows()).step_by(sheet) {
            let end = (start + sheet).min(batch.rows());
            open.packed.resize((end - start) * stride, 0.0);
            for (i, packed) in (start..end).zip(open.packed.chunks_exact_mut(stride)) {
                let (class, weight, row) = (codes[i] as usize, batch.weight(i), batch.x.row(i));
                let centre = open.centre[class].get_or_insert_with(|| {
                    let mut centre = vec![0.0; cols];
                    row.add_to(1.0, &mut centre);
                    centre
                });
                difference(&row, centre, &mut packed[..cols]);
                open.weight[class] += weight;
                simd::add_scaled(weight, packed, open.sum.row_mut(class));
                if weight != 1.0 {
                    let root = weight.sqrt();
                    packed.iter_mut().for_each(|value| *value *= root);
                }
            }
            linalg::add_gram(&open.packed, stride, &mut open.gram);
        }
        Ok(())
    }

    fn close(&self, stat: &mut Pooled) {
        let Some(open) = stat.open.take() else { return };
        let (cols, stride) = (self.cols, linalg::padded(self.cols));
        let mut leaf = self.zero();
        for i in 0..cols {
            leaf.scatter.row_mut(i)[..i + 1].copy_from_slice(&open.gram[i * stride..i * stride + i + 1]);
        }
        let mut corrections = Vec::new();
        for c in 0..self.classes {
            let (Some(centre), weight) = (&open.centre[c], open.weight[c]) else { continue };
            if weight > 0.0 {
                leaf.weight[c] = weight;
                (0..cols).for_each(|j| leaf.mean[(c, j)] = centre[j] + open.sum[(c, j)] / weight);
                corrections.extend(open.sum.row(c).iter().map(|sum| sum / weight.sqrt()));
            }
        }
        leaf.add_products(&corrections, -1.0);
        self.merge(stat, leaf);
    }

    fn merge(&self, left: &mut Pooled, right: Pooled) {
        let (cols, stride) = (self.cols, linalg::padded(self.cols));
        let mut moves = Vec::new();
        for c in (0..self.classes).filter(|&c| right.weight[c] > 0.0) {
            let total = left.weight[c] + right.weight[c];
            let (share, root) = (right.weight[c] / total, (left.weight[c] * right.weight[c] / total).sqrt());
            let first = moves.len();
            moves.resize(first + stride, 0.0);
            for j in 0..cols {
                let d = right.mean[(c, j)] - left.mean[(c, j)];
                left.mean[(c, j)] += share * d;
                moves[first + j] = root * d;
            }
            left.weight[c] = total;
        }
        simd::add_scaled(1.0, &right.scatter.values, &mut left.scatter.values);
        left.add_products(&moves, 1.0);
    }
}

/// `out = x - centre`
pub(super) fn difference(row: &Row, centre: &[f64], out: &mut [f64]) {
    match row {
        Row::Dense(row) => {
            for ((out, x), centre) in out.iter_mut().zip(*row).zip(centre) {
                *out = x - centre;
            }
        }
        sparse => {
            out.iter_mut().zip(centre).for_each(|(out, centre)| *out = -centre);
            sparse.for_each(|j, x| out[j] += x);
        }
    }
}

/// The sum that gives the scatter matrix of each class by itself.
pub(super) struct ClassGrams {
    pub classes: usize,
    pub cols: usize,
}

impl Reduce for ClassGrams {
    type Stat = Vec<Gram>;

    fn zero(&self) -> Vec<Gram> {
        vec![Gram::new(self.cols); self.classes]
    }

    /// Rows of a class are brought together, so that the fast product sees nothing else.
    fn add(&self, stat: &mut Vec<Gram>, batch: &Batch) -> Result<()> {
        batch.x.check_finite(batch.first)?;
        let codes = batch.y.codes();
        let (mut rows, mut weights) = (Vec::new(), Vec::new());
        for (class, gram) in stat.iter_mut().enumerate() {
            rows.clear();
            weights.clear();
            for i in (0..batch.rows()).filter(|&i| codes[i] as usize == class) {
                weights.push(batch.weight(i));
                match batch.x.row(i) {
                    Row::Dense(row) => rows.extend_from_slice(row),
                    sparse => {
                        let first = rows.len();
                        rows.resize(first + self.cols, 0.0);
                        sparse.add_to(1.0, &mut rows[first..]);
                    }
                }
            }
            if !rows.is_empty() {
                gram.add(&X::dense(&rows, self.cols)?, batch.weights.map(|_| &weights[..]), |_| &[]);
            }
        }
        Ok(())
    }

    fn close(&self, stat: &mut Vec<Gram>) {
        stat.iter_mut().for_each(Gram::close);
    }

    fn merge(&self, left: &mut Vec<Gram>, right: Vec<Gram>) {
        left.iter_mut().zip(right).for_each(|(left, right)| left.merge(right));
    }
}

/// `sum w (sum_j z_j^2)^2` of each class, z the standardised row: what Ledoit and Wolf's formula needs besides the
/// covariance.
pub(super) struct FourthMoments<'a> {
    pub mean: &'a [Vec<f64>],
    pub scale: &'a [Vec<f64>],
}

impl Reduce for FourthMoments<'_> {
    type Stat = Vec<f64>;

    fn zero(&self) -> Vec<f64> {
        vec![0.0; self.mean.len()]
    }

    fn add(&self, stat: &mut Vec<f64>, batch: &Batch) -> Result<()> {
        let mut z = vec![0.0; batch.x.cols()];
        for (i, &class) in batch.y.codes().iter().enumerate() {
            let class = class as usize;
            difference(&batch.x.row(i), &self.mean[class], &mut z);
            let norm2: f64 = z.iter().zip(&self.scale[class]).map(|(z, scale)| (z / scale) * (z / scale)).sum();
            stat[class] += batch.weight(i) * norm2 * norm2;
        }
        Ok(())
    }

    fn merge(&self, left: &mut Vec<f64>, right: Vec<f64>) {
        simd::add_scaled(1.0, &right, left);
    }
}
