//! Columns for exact splits: every value replaced by its rank among the distinct values of its column.
//!
//! Sorting happens once, here. A tree then works with small integers: it counts into bins where a node's ranks lie close together
//! and sorts integers where they do not, and never looks at a floating point number again until it needs a threshold.
//! One set of columns serves every tree of a forest and every round of a boosting.

use crate::{
    Ctx, Error, Feature, Result, X,
    engine::tree::{kinds, level},
};
use rayon::prelude::*;

/// The code of a missing value.
pub const MISSING: u32 = u32::MAX;

pub struct Columns {
    pub rows: usize,
    pub columns: Vec<Column>,
}

pub struct Column {
    pub feature: Feature,
    /// Rank of each row's value, or its level, or [`MISSING`].
    pub codes: Vec<u32>,
    /// The distinct values of a number, rising.
    pub values: Vec<f64>,
}

impl Column {
    /// A threshold between the values ranked `low` and `high`: nearer to neither, unless they are neighbours in floating point.
    pub fn between(&self, low: u32, high: u32) -> f64 {
        let (a, b) = (self.values[low as usize], self.values[high as usize]);
        let middle = a / 2.0 + b / 2.0;
        if middle >= a && middle < b { middle } else { a }
    }
}

/// Numbers in an order that integers keep.
fn ordered(value: f64) -> u64 {
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

impl Columns {
    pub fn new(ctx: &Ctx, x: &X, features: &[Feature]) -> Result<Columns> {
        let (rows, cols) = (x.rows(), x.cols());
        if rows >= u32::MAX as usize {
            return Err(Error::Unsupported(format!("a tree takes fewer than {} rows", u32::MAX)));
        }
        check(x, 0)?;
        let kinds = kinds(features, cols);
        let columns = ctx.install(|| {
            (0..cols)
                .into_par_iter()
                .map(|j| {
                    ctx.check()?;
                    Ok(match kinds[j] {
                        Feature::Number => number(&column(x, j)),
                        Feature::Category { levels } => {
                            let known = |value: f64| level(value).filter(|level| *level < levels as usize);
                            let codes =
                                column(x, j).into_iter().map(|v| known(v).map_or(MISSING, |v| v as u32)).collect();
                            Column { feature: kinds[j], codes, values: vec![] }
                        }
                    })
                })
                .collect::<Result<Vec<_>>>()
        })?;
        Ok(Columns { rows, columns })
    }
}

/// Column `j` as an array of its own.
pub fn column(x: &X, j: usize) -> Vec<f64> {
    match x {
        X::Dense(dense) => dense.values.iter().skip(j).step_by(dense.cols).copied().collect(),
        X::Sparse(_) => {
            let mut out = vec![0.0; x.rows()];
            for (i, row) in x.iter().enumerate() {
                if let crate::core::Row::Sparse { columns, values } = row
                    && let Ok(at) = columns.binary_search(&(j as u32))
                {
                    out[i] = values[at];
                }
            }
            out
        }
    }
}

/// Missing values are welcome, infinite ones have no midpoints. The rows are `first` and those after it.
pub fn check(x: &X, first: usize) -> Result<()> {
    let stored = match x {
        X::Dense(dense) => dense.values,
        X::Sparse(sparse) => sparse.values,
    };
    if !stored.iter().fold(false, |found, value| found | value.is_infinite()) {
        return Ok(());
    }
    for (i, row) in x.iter().enumerate() {
        let mut found = None;
        row.for_each(|j, value| {
            if value.is_infinite() {
                found = found.or(Some(j));
            }
        });
        if let Some(j) = found {
            let problem = "the value is infinity, and trees need finite numbers or NaN for missing ones";
            return Err(Error::value(first + i, j, problem));
        }
    }
    Ok(())
}

fn number(column: &[f64]) -> Column {
    let mut order: Vec<(u64, u32)> = Vec::with_capacity(column.len());
    for (i, &value) in column.iter().enumerate() {
        if !value.is_nan() {
            order.push((ordered(value), i as u32));
        }
    }
    order.sort_unstable_by_key(|&(key, _)| key);
    let mut codes = vec![MISSING; column.len()];
    let mut values = Vec::new();
    let mut last = None;
    for (key, row) in order {
        if last != Some(key) {
            values.push(column[row as usize] + 0.0);
            last = Some(key);
        }
        codes[row as usize] = values.len() as u32 - 1;
    }
    Column { feature: Feature::Number, codes, values }
}
