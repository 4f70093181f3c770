//! Rows drawn by their number, at hand wherever they are: what looks at a sample needs no more in memory.

use super::columns;
use crate::{
    Ctx, Matrix, OwnedX, Result, Source, X,
    core::{Batch, OwnedCsr, Reduce, Row, memory, reduce, rng::Stream},
};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// The first `size` of `0..n` in random order, without writing down the others.
pub fn without_replacement(stream: &mut Stream, n: usize, size: usize) -> Vec<u32> {
    let mut moved: FxHashMap<usize, usize> = FxHashMap::default();
    let draw = |i: usize| {
        let j = i + stream.below(n - i);
        let (at_i, at_j) = (moved.get(&i).copied().unwrap_or(i), moved.get(&j).copied().unwrap_or(j));
        moved.insert(j, at_i);
        at_j as u32
    };
    (0..size).map(draw).collect()
}

/// All rows where they lie, or copies of those that were drawn. Missing values are welcome, infinite ones refused.
pub enum Drawn<'a> {
    There(X<'a>),
    Copied { rows: Vec<u32>, x: OwnedX },
}

impl<'a> Drawn<'a> {
    /// `wanted` gives the rows in increasing order; it is not asked where all rows are in the memory of this worker
    /// alone. `model` and `asked` are for the message that there is too little room.
    pub fn new(
        data: &'a dyn Source,
        ctx: &Ctx,
        (model, asked): (&str, &str),
        wanted: impl FnOnce() -> Result<Vec<u32>>,
    ) -> Result<Drawn<'a>> {
        let shape = data.shape();
        ctx.check()?;
        // Of several workers one may hold all rows, and the others still wait for them.
        let whole = data.memory().filter(|_| ctx.exchange().size() == 1 && data.held().len() == shape.rows);
        if let Some(batch) = whole {
            columns::check(&batch.x, batch.first)?;
            return Ok(Drawn::There(batch.x));
        }
        let rows = wanted()?;
        if !shape.sparse {
            memory::check(model, asked, &[rows.len(), shape.cols], size_of::<f64>())?;
        }
        let found = reduce(ctx, data, &Collect { rows: &rows })?;
        let x = match shape.sparse {
            true => {
                let starts = found.starts();
                OwnedX::Sparse(OwnedCsr { starts, columns: found.columns, values: found.values, cols: shape.cols })
            }
            false => OwnedX::Dense(Matrix::new(found.values, rows.len(), shape.cols)),
        };
        Ok(Drawn::Copied { rows, x })
    }

    pub fn x(&self) -> X<'_> {
        match self {
            Drawn::There(x) => *x,
            Drawn::Copied { x, .. } => x.x(),
        }
    }

    /// Where a drawn row is in [`Drawn::x`].
    pub fn place(&self, row: u32) -> u32 {
        match self {
            Drawn::There(_) => row,
            Drawn::Copied { rows, .. } => rows.partition_point(|&kept| kept < row) as u32,
        }
    }
}

/// One value, which sparse rows need not store.
pub fn value_at(x: &X, row: u32, column: usize) -> f64 {
    match x {
        X::Dense(dense) => dense.values[row as usize * dense.cols + column],
        X::Sparse(_) => match x.row(row as usize) {
            Row::Sparse { columns, values } => columns.binary_search(&(column as u32)).map_or(0.0, |at| values[at]),
            Row::Dense(values) => values[column],
        },
    }
}

struct Collect<'a> {
    rows: &'a [u32],
}

/// Rows one after another: all values of dense ones, the stored ones of sparse ones.
#[derive(Default, Serialize, Deserialize)]
struct Collected {
    values: Vec<f64>,
    columns: Vec<u32>,
    lengths: Vec<u32>,
}

impl Collected {
    fn starts(&self) -> Vec<usize> {
        let mut end = 0;
        let ends = self.lengths.iter().map(|&length| {
            end += length as usize;
            end
        });
        std::iter::once(0).chain(ends).collect()
    }
}

impl Reduce for Collect<'_> {
    type Stat = Collected;

    fn zero(&self) -> Collected {
        Collected::default()
    }

    fn add(&self, stat: &mut Collected, batch: &Batch) -> Result<()> {
        columns::check(&batch.x, batch.first)?;
        let place = |row: usize| self.rows.partition_point(|&kept| (kept as usize) < row);
        for &row in &self.rows[place(batch.first)..place(batch.first + batch.rows())] {
            match batch.x.row(row as usize - batch.first) {
                Row::Dense(values) => stat.values.extend_from_slice(values),
                Row::Sparse { columns, values } => {
                    stat.values.extend_from_slice(values);
                    stat.columns.extend_from_slice(columns);
                    stat.lengths.push(columns.len() as u32);
                }
            }
        }
        Ok(())
    }

    fn merge(&self, left: &mut Collected, right: Collected) {
        left.values.extend(right.values);
        left.columns.extend(right.columns);
        left.lengths.extend(right.lengths);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every row is as likely as any other, and none is drawn twice.
    #[test]
    fn rows_are_drawn_alike() {
        let mut counts = [0.0f64; 5];
        for trial in 0..20_000 {
            let mut drawn = without_replacement(&mut Stream::new(trial, "draw", 0), 5, 3);
            drawn.iter().for_each(|&row| counts[row as usize] += 1.0 / 20_000.0);
            drawn.sort_unstable();
            assert!(drawn.windows(2).all(|pair| pair[0] < pair[1]));
        }
        assert!(counts.iter().all(|count| (count - 0.6).abs() < 0.015), "{counts:?}");
    }
}
