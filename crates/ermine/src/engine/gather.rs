//! All rows on every worker, for what needs them side by side and is no larger for it: with fewer rows than columns
//! they take less room than a matrix of pairs of columns.

use crate::{
    Ctx, Matrix, Result, Source, X,
    core::{Batch, Reduce, TargetKind, reduce, stats::Moments},
};
use serde::{Deserialize, Serialize};

/// Dense rows in their order, wherever they came from: the same numbers from memory, from disk and from workers.
#[derive(Default, Serialize, Deserialize)]
pub struct Rows {
    pub x: Matrix,
    /// Real targets, row-major; empty without.
    pub y: Vec<f64>,
    pub weights: Vec<f64>,
}

impl Rows {
    pub fn new(data: &dyn Source, ctx: &Ctx) -> Result<Rows> {
        let shape = data.shape();
        let targets = if let TargetKind::Real(targets) = shape.target { targets } else { 0 };
        let collect = Collect { cols: shape.cols, targets };
        // Of several workers one may hold all rows, and the others still wait for them.
        match data.memory().filter(|_| ctx.exchange().size() == 1 && data.held().len() == shape.rows) {
            // Not block by block: the rows are there.
            Some(batch) => {
                let mut all = collect.zero();
                collect.add(&mut all, &batch)?;
                Ok(all)
            }
            None => reduce(ctx, data, &collect),
        }
    }

    /// The weighted mean of the columns of x.
    pub fn mean(&self) -> Result<Vec<f64>> {
        let mut moments = Moments::new(self.x.cols);
        moments.add(&X::dense(&self.x.values, self.x.cols)?, Some(&self.weights));
        Ok(moments.mean)
    }

    /// Takes the mean off the rows and returns it.
    pub fn centre(&mut self) -> Result<Vec<f64>> {
        let mean = self.mean()?;
        for i in 0..self.x.rows {
            self.x.row_mut(i).iter_mut().zip(&mean).for_each(|(x, mean)| *x -= mean);
        }
        Ok(mean)
    }
}

struct Collect {
    cols: usize,
    targets: usize,
}

impl Reduce for Collect {
    type Stat = Rows;

    fn zero(&self) -> Rows {
        Rows { x: Matrix::zeros(0, self.cols), ..Rows::default() }
    }

    fn add(&self, all: &mut Rows, batch: &Batch) -> Result<()> {
        batch.x.check_finite(batch.first)?;
        let first = all.x.values.len();
        all.x.values.resize(first + batch.rows() * self.cols, 0.0);
        for (row, out) in batch.x.iter().zip(all.x.values[first..].chunks_exact_mut(self.cols)) {
            row.add_to(1.0, out);
        }
        all.x.rows += batch.rows();
        if self.targets > 0 {
            all.y.extend_from_slice(batch.y.real());
        }
        all.weights.extend((0..batch.rows()).map(|i| batch.weight(i)));
        Ok(())
    }

    fn merge(&self, left: &mut Rows, right: Rows) {
        left.x.values.extend(right.x.values);
        left.x.rows += right.x.rows;
        left.y.extend(right.y);
        left.weights.extend(right.weights);
    }
}
