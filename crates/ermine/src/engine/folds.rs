//! The folds of models that choose their own penalty, of which each is held out once.

use crate::{Ctx, Error, Result};
use std::ops::Range;

/// The caller's own folds, if there are any: the array `cv` beside the parameters has the first row of each run and
/// the end of the last. Whoever gives it has put the rows in this order.
pub fn given(ctx: &Ctx, rows: usize) -> Result<Option<Vec<Range<usize>>>> {
    let Some(bounds) = ctx.start("cv") else { return Ok(None) };
    let bounds: Vec<usize> = bounds.values.iter().map(|&row| row as usize).collect();
    if bounds.len() < 3 || bounds.windows(2).any(|w| w[0] > w[1]) || bounds.last() != Some(&rows) {
        return Err(Error::shape("cv", format!("at least two folds that end at row {rows}"), format!("{bounds:?}")));
    }
    Ok(Some(bounds.windows(2).map(|w| w[0]..w[1]).collect()))
}

/// The caller's own folds, or `count` runs of which the first are longer by one where it does not come out even.
pub fn runs(ctx: &Ctx, rows: usize, count: usize) -> Result<Vec<Range<usize>>> {
    if let Some(given) = given(ctx, rows)? {
        return Ok(given);
    }
    if count > rows {
        return Err(Error::Data(format!("{rows} rows cannot be cut into {count} folds")));
    }
    let start = |fold: usize| fold * (rows / count) + fold.min(rows % count);
    Ok((0..count).map(|fold| start(fold)..start(fold + 1)).collect())
}

/// To which fold a row belongs.
pub enum Folds {
    /// One run of rows after another.
    Runs(Vec<Range<usize>>),
    /// In turns: each of so many folds has its share of every class, also of rows that are sorted by class.
    Turns(usize),
}

impl Folds {
    /// The caller's own folds, or `count` of them in turns.
    pub fn given_or_turns(ctx: &Ctx, rows: usize, count: usize) -> Result<Folds> {
        let folds = given(ctx, rows)?.map_or(Folds::Turns(count), Folds::Runs);
        match folds.count() > rows {
            true => Err(Error::Data(format!("{rows} rows cannot be cut into {} folds", folds.count()))),
            false => Ok(folds),
        }
    }

    pub fn count(&self) -> usize {
        match self {
            Folds::Runs(runs) => runs.len(),
            Folds::Turns(count) => *count,
        }
    }

    pub fn of(&self, row: usize) -> usize {
        match self {
            Folds::Runs(runs) => runs.partition_point(|run| run.end <= row),
            Folds::Turns(count) => row % count,
        }
    }
}
