//! The distinct values of every column with their weights: the sum behind the encoders of categories.

use super::columns::fill;
use crate::{
    Ctx, Error, Result, Source,
    core::{Batch, Reduce, reduce},
};
use serde::{Deserialize, Serialize};
use std::{cmp::Ordering, collections::BTreeMap};

/// Codes below this are counted in a table.
const SMALL: usize = 1 << 16;

#[derive(Serialize, Deserialize)]
pub(super) struct Counted {
    /// Weight of the codes 0, 1, 2, ... and whether they were seen at all.
    small: Vec<(f64, bool)>,
    /// Everything else by its ordered bits, NaN last.
    large: BTreeMap<u64, f64>,
}

struct Levels {
    cols: usize,
}

fn small(value: f64) -> Option<usize> {
    let code = value as usize;
    (code < SMALL && code as f64 == value && value >= 0.0).then_some(code)
}

fn key(value: f64) -> u64 {
    if value.is_nan() {
        return u64::MAX;
    }
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn value(key: u64) -> f64 {
    match key {
        u64::MAX => f64::NAN,
        key => f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key }),
    }
}

impl Reduce for Levels {
    type Stat = Vec<Counted>;

    fn zero(&self) -> Vec<Counted> {
        (0..self.cols).map(|_| Counted { small: Vec::new(), large: BTreeMap::new() }).collect()
    }

    fn add(&self, stat: &mut Vec<Counted>, batch: &Batch) -> Result<()> {
        let mut dense = vec![0.0; self.cols];
        for i in (0..batch.rows()).filter(|&i| batch.weight(i) > 0.0) {
            fill(&batch.x.row(i), &mut dense);
            let weight = batch.weight(i);
            for (j, &value) in dense.iter().enumerate() {
                if value.is_infinite() {
                    return Err(Error::value(batch.first + i, j, "the value is infinity, which is no category"));
                }
                match small(value) {
                    Some(code) => {
                        let table = &mut stat[j].small;
                        if table.len() <= code {
                            table.resize(code + 1, (0.0, false));
                        }
                        table[code].0 += weight;
                        table[code].1 = true;
                    }
                    None => *stat[j].large.entry(key(value)).or_default() += weight,
                }
            }
        }
        Ok(())
    }

    fn merge(&self, left: &mut Vec<Counted>, right: Vec<Counted>) {
        for (left, right) in left.iter_mut().zip(right) {
            if left.small.len() < right.small.len() {
                left.small.resize(right.small.len(), (0.0, false));
            }
            for (left, right) in left.small.iter_mut().zip(right.small) {
                *left = (left.0 + right.0, left.1 | right.1);
            }
            for (key, weight) in right.large {
                *left.large.entry(key).or_default() += weight;
            }
        }
    }
}

/// Distinct values in increasing order, NaN last, with their weights, for every column.
pub(super) fn levels(data: &dyn Source, ctx: &Ctx) -> Result<Vec<Vec<(f64, f64)>>> {
    let counted = reduce(ctx, data, &Levels { cols: data.shape().cols })?;
    let finish = |counted: Counted| {
        let codes = counted.small.iter().enumerate().filter(|(_, (_, seen))| *seen);
        let mut all: Vec<(f64, f64)> = codes.map(|(code, &(weight, _))| (code as f64, weight)).collect();
        all.extend(counted.large.into_iter().map(|(bits, weight)| (value(bits), weight)));
        all.sort_by(|a, b| order(a.0, b.0));
        all
    };
    Ok(counted.into_iter().map(finish).collect())
}

/// Increasing, NaN behind all numbers, the two zeros equal.
pub(super) fn order(a: f64, b: f64) -> Ordering {
    key(a).cmp(&key(b))
}

/// Number of a value among sorted levels.
pub(super) fn find(levels: &[f64], value: f64) -> Option<usize> {
    // Codes 0..k are their own number.
    if let Some(code) = small(value)
        && levels.get(code) == Some(&value)
    {
        return Some(code);
    }
    levels.binary_search_by(|level| order(*level, value)).ok()
}

/// Whether levels read from a file can be searched.
pub(super) fn check(levels: &[Vec<f64>]) -> Result<()> {
    let sorted = |levels: &Vec<f64>| levels.windows(2).all(|pair| order(pair[0], pair[1]) == Ordering::Less);
    if !levels.is_empty() && levels.iter().all(sorted) {
        return Ok(());
    }
    Err(Error::Data("the stored categories are inconsistent".into()))
}

pub(super) fn unknown(row: usize, column: usize, value: f64) -> Error {
    Error::value(row, column, format!("the category {value} was not seen when the encoder was fitted"))
        .hint("set handle_unknown to allow such rows")
}

/// "job=3"
pub(super) fn named(name: &str, level: f64) -> String {
    if level.is_nan() { format!("{name}=missing") } else { format!("{name}={level}") }
}
