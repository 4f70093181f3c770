//! Candidates on folds, all in the engine's threads.

use crate::{
    convert::{Rows, Spec, TargetArray, failure},
    run,
};
use ermine::{Ctx, Data, metrics, search, split::Fold};
use numpy::PyReadonlyArray1;
use pyo3::{exceptions::PyValueError, prelude::*};

/// Why a fit failed, or nothing; scores on the test rows; on the train rows, if asked for; seconds to fit and to score;
/// whether the fit met its tolerance.
type Outcome = (Option<String>, Vec<f64>, Vec<f64>, f64, f64, bool);

/// Fits every candidate, each with its seed, on the train rows of every fold and judges it on the test rows: by
/// candidate, then by fold.
#[pyfunction]
#[pyo3(signature = (candidates, seeds, x, y, folds, metrics, *, train_scores=false, threads=1))]
pub fn evaluate<'py>(
    py: Python<'py>,
    candidates: Vec<PyRef<'py, Spec>>,
    seeds: Vec<u64>,
    x: Rows<'py>,
    y: TargetArray<'py>,
    folds: Vec<(PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>)>,
    metrics: Vec<String>,
    train_scores: bool,
    threads: usize,
) -> PyResult<Vec<Vec<Outcome>>> {
    let fail = |error: ermine::Error| failure(error, None);
    if seeds.len() != candidates.len() {
        return Err(PyValueError::new_err("a seed for each candidate"));
    }
    let candidates: Vec<ermine::Spec> = candidates.iter().map(|spec| spec.inner().clone()).collect();
    let x = x.view().map_err(fail)?;
    let rows = |numbers: &PyReadonlyArray1<'py, i64>| -> PyResult<Vec<usize>> {
        let known = |&row: &i64| usize::try_from(row).ok().filter(|&row| row < x.rows());
        let rows: Option<Vec<usize>> = numbers.as_slice()?.iter().map(known).collect();
        rows.ok_or_else(|| PyValueError::new_err(format!("a fold has a row beyond the {} rows", x.rows())))
    };
    let folds: Vec<Fold> = folds
        .iter()
        .map(|(train, test)| Ok(Fold { train: rows(train)?, test: rows(test)? }))
        .collect::<PyResult<_>>()?;
    let metrics: Vec<_> = metrics.iter().map(|name| metrics::metric(name).map_err(fail)).collect::<PyResult<_>>()?;
    let data = Data::new(x).target(y.view()?).map_err(fail)?;
    let work = |ctx: &Ctx| {
        search::evaluate(ctx, &candidates, &data, &folds, &metrics, train_scores, &|candidate, _| seeds[candidate])
    };
    let results = run::apart(py, Ctx::default().with_threads(threads), work)?.map_err(fail)?;
    let outcome = |result: ermine::Result<search::FoldResult>| match result {
        Ok(found) => {
            let train = found.train.unwrap_or_default();
            (None, found.test, train, found.fit_seconds, found.score_seconds, found.converged)
        }
        Err(error) => (Some(error.to_string()), vec![], vec![], 0.0, 0.0, true),
    };
    Ok(results.into_iter().map(|folds| folds.into_iter().map(outcome).collect()).collect())
}
