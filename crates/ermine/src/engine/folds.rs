//! The folds of models that choose their own penalty, as runs of rows of which each is held out once.

use crate::{Ctx, Error, Result};
use std::ops::Range;

/// The caller's own folds, if there are any: the array `cv` beside the parameters has the first row of each run and the end of the
/// last. Whoever gives it has put the rows in this order.
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
