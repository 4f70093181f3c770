//! Permutation importance (Breiman 2001; Fisher, Rudin and Dominici 2019): how much a score falls when the values of
//! one column are shuffled among the rows, so that they say nothing any more. On rows that the model has not seen it
//! tells what the prediction rests on. Columns that repeat each other share their importance or hide it.

use crate::{
    AnyModel, Ctx, Error, Result, X,
    core::Batch,
    metrics::Metric,
    search::{mean_and_error, score},
};

/// How much the score falls without one column.
#[derive(Clone, Debug, PartialEq)]
pub struct Importance {
    pub column: usize,
    /// Fall of the score in each repetition.
    pub falls: Vec<f64>,
    pub mean: f64,
    pub standard_error: f64,
}

/// One entry for each column, in their order, with `repeats` shuffles each.
pub fn permutation_importance(
    ctx: &Ctx,
    model: &dyn AnyModel,
    batch: &Batch,
    metric: &Metric,
    missing: bool,
    repeats: usize,
) -> Result<Vec<Importance>> {
    let all: Vec<usize> = (0..batch.x.cols()).collect();
    permutation_importance_of(ctx, model, batch, metric, missing, repeats, &all)
}

/// The same for some of the columns, in the order given.
pub fn permutation_importance_of(
    ctx: &Ctx,
    model: &dyn AnyModel,
    batch: &Batch,
    metric: &Metric,
    missing: bool,
    repeats: usize,
    columns: &[usize],
) -> Result<Vec<Importance>> {
    if let Some(column) = columns.iter().find(|column| **column >= batch.x.cols()) {
        return Err(Error::shape("permutation importance", format!("columns below {}", batch.x.cols()), column));
    }
    if batch.rows() == 0 || repeats == 0 {
        return Err(Error::Data("permutation importance needs rows and repetitions".into()));
    }
    let base = score(ctx, model, batch, metric, missing)?;
    let dense = batch.x.to_matrix();
    let of_column = |column: usize| -> Result<Importance> {
        let mut x = dense.clone();
        let mut values: Vec<f64> = (0..x.rows).map(|i| x[(i, column)]).collect();
        let mut falls = Vec::with_capacity(repeats);
        for repeat in 0..repeats {
            ctx.check()?;
            ctx.child("importance", repeat as u64).rng("column", column as u64).shuffle(&mut values);
            (0..x.rows).for_each(|i| x[(i, column)] = values[i]);
            let shuffled = Batch { x: X::dense(&x.values, x.cols)?, ..*batch };
            falls.push(base - score(ctx, model, &shuffled, metric, missing)?);
        }
        let (mean, standard_error) = mean_and_error(&falls);
        Ok(Importance { column, falls, mean, standard_error })
    };
    ctx.map(columns.len(), |i| of_column(columns[i]))
}
