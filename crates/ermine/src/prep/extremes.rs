//! Least and greatest value of every column over the rows that count: the sum behind the range scalers.

use crate::{
    Result,
    core::{Batch, Reduce},
};

pub(super) struct Extremes {
    pub cols: usize,
}

impl Reduce for Extremes {
    /// Least values, greatest values, and how many rows stored a value in each column.
    type Stat = (Vec<f64>, Vec<f64>, Vec<usize>, usize);

    fn zero(&self) -> Self::Stat {
        (vec![f64::INFINITY; self.cols], vec![f64::NEG_INFINITY; self.cols], vec![0; self.cols], 0)
    }

    fn add(&self, (low, high, stored, rows): &mut Self::Stat, batch: &Batch) -> Result<()> {
        batch.x.check_finite(batch.first)?;
        for i in (0..batch.rows()).filter(|&i| batch.weight(i) > 0.0) {
            *rows += 1;
            batch.x.row(i).for_each(|j, value| {
                low[j] = low[j].min(value);
                high[j] = high[j].max(value);
                stored[j] += 1;
            });
        }
        Ok(())
    }

    fn merge(&self, left: &mut Self::Stat, right: Self::Stat) {
        for j in 0..self.cols {
            left.0[j] = left.0[j].min(right.0[j]);
            left.1[j] = left.1[j].max(right.1[j]);
            left.2[j] += right.2[j];
        }
        left.3 += right.3;
    }
}

/// (least, greatest) of every column, the zeros that sparse rows do not store included.
pub(super) fn extremes(stat: <Extremes as Reduce>::Stat) -> (Vec<f64>, Vec<f64>) {
    let (mut low, mut high, stored, rows) = stat;
    for j in 0..low.len() {
        if stored[j] < rows {
            low[j] = low[j].min(0.0);
            high[j] = high[j].max(0.0);
        }
    }
    (low, high)
}
