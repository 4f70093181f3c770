//! Partial dependence (Friedman 2001) and individual conditional expectation (Goldstein et al. 2015): the prediction as
//! a function of one column, all others as they are. The average over rows is the partial dependence; one curve a row
//! is ICE. Where columns depend on each other it asks the model about rows that do not occur.

use crate::{
    AnyModel, Ctx, Error, Matrix, Output, Result, X,
    core::{Batch, data::Feature},
    engine::quantile,
    predict,
};

/// The prediction along one column.
#[derive(Clone, Debug, PartialEq)]
pub struct Dependence {
    pub column: usize,
    /// Values that the column is set to, increasing.
    pub grid: Vec<f64>,
    /// Mean prediction at each value: grid x columns of the output.
    pub mean: Matrix,
    /// One curve for each of the first rows, for one column of the output: rows x grid.
    pub individual: Matrix,
}

/// The column that is followed, and how closely.
#[derive(Clone, Copy, Debug)]
pub struct Along {
    pub column: usize,
    pub feature: Feature,
    /// Values between the 5 % and 95 % quantiles; all values where there are few, and all levels of a category.
    pub resolution: usize,
    /// Rows that get curves of their own.
    pub curves: usize,
}

/// An output of the model along one column; curves of single rows are of column `which` of that output.
pub fn partial_dependence(
    ctx: &Ctx,
    model: &dyn AnyModel,
    batch: &Batch,
    along: Along,
    (output, which): (Output, usize),
    missing: bool,
) -> Result<Dependence> {
    let Along { column, feature, resolution, curves } = along;
    let x = batch.x.to_matrix();
    let width = model.outputs().iter().find(|known| known.0 == output).map_or(0, |known| known.1);
    if column >= x.cols || which >= width || x.rows == 0 {
        let expected = format!("column below {}, output {output:?} with column {which}, and rows", x.cols);
        return Err(Error::shape(
            "partial dependence",
            expected,
            format!("column {column}, width {width}, {} rows", x.rows),
        ));
    }
    let mut values: Vec<f64> = (0..x.rows).map(|i| x[(i, column)]).filter(|value| value.is_finite()).collect();
    values.sort_unstable_by(f64::total_cmp);
    let mut distinct = values.clone();
    distinct.dedup();
    let category = matches!(feature, Feature::Category { .. });
    let grid: Vec<f64> = if category || distinct.len() <= resolution.max(2) {
        distinct
    } else {
        let (low, high) = (quantile::interpolated(&values, 0.05), quantile::interpolated(&values, 0.95));
        let steps = resolution.max(2) - 1;
        (0..=steps).map(|i| low + (high - low) * i as f64 / steps as f64).collect()
    };
    let total: f64 = (0..x.rows).map(|i| batch.weight(i)).sum();
    let kept = curves.min(x.rows);
    let at = |&value: &f64| -> Result<(Vec<f64>, Vec<f64>)> {
        ctx.check()?;
        let mut x = x.clone();
        (0..x.rows).for_each(|i| x[(i, column)] = value);
        let out = predict(ctx, model, &X::dense(&x.values, x.cols)?, output, missing)?;
        let mut mean = vec![0.0; width];
        for i in 0..out.rows {
            mean.iter_mut().zip(out.row(i)).for_each(|(mean, value)| *mean += batch.weight(i) * value / total);
        }
        Ok((mean, (0..kept).map(|i| out[(i, which)]).collect()))
    };
    let points: Vec<(Vec<f64>, Vec<f64>)> = ctx.map(grid.len(), |i| at(&grid[i]))?;
    Ok(Dependence {
        column,
        mean: Matrix::from_fn(grid.len(), width, |g, c| points[g].0[c]),
        individual: Matrix::from_fn(kept, grid.len(), |i, g| points[g].1[i]),
        grid,
    })
}
