//! The metrics as functions of arrays. Labels are codes here; the package encodes them and knows scikit-learn's
//! conventions.

use crate::{
    convert::{Rows, TargetArray, failure, floats, matrix},
    run,
};
use ermine::{
    Ctx, Result,
    metrics::{self, Costs, METRICS},
};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::{exceptions::PyValueError, prelude::*};
use serde_json::json;

type Numbers<'py> = PyReadonlyArray1<'py, f64>;
type Curve<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(list, module)?)?;
    module.add_function(wrap_pyfunction!(metric, module)?)?;
    module.add_function(wrap_pyfunction!(metric_interval, module)?)?;
    module.add_function(wrap_pyfunction!(metric_of_numbers, module)?)?;
    module.add_function(wrap_pyfunction!(metric_of_scores, module)?)?;
    module.add_function(wrap_pyfunction!(metric_of_codes, module)?)?;
    module.add_function(wrap_pyfunction!(metric_of_labels, module)?)?;
    module.add_function(wrap_pyfunction!(metric_of_clusters, module)?)?;
    module.add_function(wrap_pyfunction!(confusion_matrix, module)?)?;
    module.add_function(wrap_pyfunction!(curve, module)?)?;
    module.add_function(wrap_pyfunction!(best_threshold, module)?)
}

fn given<'a>(weights: &'a Option<Numbers<'_>>) -> PyResult<Option<&'a [f64]>> {
    Ok(weights.as_ref().map(|weights| weights.as_slice()).transpose()?)
}

fn fail(error: ermine::Error) -> PyErr {
    failure(error, None)
}

fn unknown(name: &str) -> PyErr {
    PyValueError::new_err(format!("there is no metric '{name}'"))
}

/// The list of metrics as JSON: name, definition, task, what it needs.
#[pyfunction]
#[pyo3(name = "metrics")]
fn list() -> String {
    let entry = |metric: &metrics::Metric| {
        json!({
            "name": metric.name,
            "definition": metric.definition,
            "task": metric.task,
            "needs": format!("{:?}", metric.needs),
            "greater_is_better": metric.greater_is_better,
            "binary": metric.binary,
        })
    };
    json!(METRICS.iter().map(entry).collect::<Vec<_>>()).to_string()
}

/// A metric of the list: its value, an error being positive.
#[pyfunction]
#[pyo3(signature = (name, truth, predicted, weights=None))]
fn metric<'py>(
    py: Python<'py>,
    name: &str,
    truth: TargetArray<'py>,
    predicted: PyReadonlyArray2<'py, f64>,
    weights: Option<Numbers<'py>>,
) -> PyResult<f64> {
    let metric = metrics::metric(name).map_err(fail)?;
    let (truth, predicted, weights) = (truth.view()?, matrix(&predicted)?, given(&weights)?);
    py.detach(|| metric.value(&truth, &predicted, weights)).map_err(fail)
}

/// The same with its bootstrap interval: estimate, low, high, standard error.
#[pyfunction]
#[pyo3(signature = (name, truth, predicted, weights=None, *, level=0.95, resamples=1000, seed=0, threads=1))]
fn metric_interval<'py>(
    py: Python<'py>,
    name: &str,
    truth: TargetArray<'py>,
    predicted: PyReadonlyArray2<'py, f64>,
    weights: Option<Numbers<'py>>,
    level: f64,
    resamples: usize,
    seed: u64,
    threads: usize,
) -> PyResult<(f64, f64, f64, f64)> {
    let metric = metrics::metric(name).map_err(fail)?;
    let (truth, predicted, weights) = (truth.view()?, matrix(&predicted)?, given(&weights)?);
    let work = |ctx: &Ctx| metric.interval(ctx, &truth, &predicted, weights, level, resamples);
    let found = run::apart(py, Ctx::new(seed).with_threads(threads), work)?.map_err(fail)?;
    Ok((found.estimate, found.low, found.high, found.standard_error))
}

/// A metric of predicted numbers, one target at a time; some have a parameter.
#[pyfunction]
#[pyo3(signature = (name, y, f, weights=None, parameter=0.0))]
fn metric_of_numbers<'py>(
    py: Python<'py>,
    name: &str,
    y: Numbers<'py>,
    f: Numbers<'py>,
    weights: Option<Numbers<'py>>,
    parameter: f64,
) -> PyResult<f64> {
    let (y, f, w) = (y.as_slice()?, f.as_slice()?, given(&weights)?);
    let of: fn(&[f64], &[f64], f64, Option<&[f64]>) -> Result<f64> = match name {
        "max_error" => |y, f, _, _| metrics::max_error(y, f),
        "mean_pinball_loss" => metrics::mean_pinball_loss,
        "mean_tweedie_deviance" => metrics::mean_tweedie_deviance,
        "d2_pinball_score" => metrics::d2_pinball_score,
        "d2_tweedie_score" => metrics::d2_tweedie_score,
        "mean_squared_error" => |y, f, _, w| metrics::mean_squared_error(y, f, w),
        "root_mean_squared_error" => |y, f, _, w| metrics::root_mean_squared_error(y, f, w),
        "mean_absolute_error" => |y, f, _, w| metrics::mean_absolute_error(y, f, w),
        "median_absolute_error" => |y, f, _, w| metrics::median_absolute_error(y, f, w),
        "mean_absolute_percentage_error" => |y, f, _, w| metrics::mean_absolute_percentage_error(y, f, w),
        "mean_squared_log_error" => |y, f, _, w| metrics::mean_squared_log_error(y, f, w),
        "r2_score" => |y, f, _, w| metrics::r2_score(y, f, w),
        "explained_variance_score" => |y, f, _, w| metrics::explained_variance_score(y, f, w),
        _ => return Err(unknown(name)),
    };
    py.detach(|| of(y, f, parameter, w)).map_err(fail)
}

/// A metric of how scores order the rows of a class before the others; some have a parameter.
#[pyfunction]
#[pyo3(signature = (name, positive, scores, weights=None, parameter=1.0, *, threads=1))]
fn metric_of_scores<'py>(
    py: Python<'py>,
    name: &str,
    positive: PyReadonlyArray1<'py, bool>,
    scores: Numbers<'py>,
    weights: Option<Numbers<'py>>,
    parameter: f64,
    threads: usize,
) -> PyResult<f64> {
    let (positive, scores, w) = (positive.as_slice()?, scores.as_slice()?, given(&weights)?);
    let ctx = Ctx::default().with_threads(threads);
    let work = || match name {
        "roc_auc_score" => Some(metrics::partial_roc_auc(positive, scores, parameter, w)),
        "average_precision_score" => Some(metrics::average_precision(positive, scores, w)),
        _ => None,
    };
    py.detach(|| ctx.install(work)).ok_or_else(|| unknown(name))?.map_err(fail)
}

/// How alike two labellings are.
#[pyfunction]
fn metric_of_labels<'py>(
    py: Python<'py>,
    name: &str,
    a: PyReadonlyArray1<'py, i64>,
    b: PyReadonlyArray1<'py, i64>,
) -> PyResult<Vec<f64>> {
    let (a, b) = (a.as_slice()?, b.as_slice()?);
    let work = || match name {
        "adjusted_rand_score" => Some(metrics::adjusted_rand_score(a, b).map(|value| vec![value])),
        "normalized_mutual_info_score" => Some(metrics::normalized_mutual_info_score(a, b).map(|value| vec![value])),
        "homogeneity_completeness_v_measure" => {
            Some(metrics::homogeneity_completeness_v_measure(a, b).map(|(h, c, v)| vec![h, c, v]))
        }
        _ => None,
    };
    py.detach(work).ok_or_else(|| unknown(name))?.map_err(fail)
}

/// How compact and apart groups of rows are; one value, or one for each row.
#[pyfunction]
#[pyo3(signature = (name, x, labels, *, threads=1))]
fn metric_of_clusters<'py>(
    py: Python<'py>,
    name: &str,
    x: Rows<'py>,
    labels: PyReadonlyArray1<'py, i64>,
    threads: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (x, labels) = (x.view().map_err(fail)?, labels.as_slice()?);
    let one = |value: f64| vec![value];
    let work = |ctx: &Ctx| match name {
        "silhouette_samples" => Some(metrics::silhouette_samples(ctx, &x, labels)),
        "silhouette_score" => Some(metrics::silhouette_score(ctx, &x, labels).map(one)),
        "calinski_harabasz_score" => Some(metrics::calinski_harabasz_score(&x, labels).map(one)),
        "davies_bouldin_score" => Some(metrics::davies_bouldin_score(&x, labels).map(one)),
        _ => None,
    };
    let found = run::apart(py, Ctx::default().with_threads(threads), work)?.ok_or_else(|| unknown(name))?;
    Ok(PyArray1::from_vec(py, found.map_err(fail)?))
}

/// A metric of predicted classes; some have a parameter.
#[pyfunction]
#[pyo3(signature = (name, y, f, classes, weights=None, parameter=0.0))]
fn metric_of_codes<'py>(
    py: Python<'py>,
    name: &str,
    y: PyReadonlyArray1<'py, u32>,
    f: PyReadonlyArray1<'py, u32>,
    classes: usize,
    weights: Option<Numbers<'py>>,
    parameter: f64,
) -> PyResult<f64> {
    let (y, f, w) = (y.as_slice()?, f.as_slice()?, given(&weights)?);
    let found = py.detach(|| metrics::confusion_matrix(y, f, classes, w)).map_err(fail)?;
    match name {
        "balanced_accuracy_score" => Ok(found.balanced_accuracy(parameter != 0.0)),
        "matthews_corrcoef" => Ok(found.matthews()),
        "cohen_kappa_score" => Ok(found.kappa(parameter as u32)),
        _ => Err(unknown(name)),
    }
}

/// Weight of the rows by (true class, predicted class).
#[pyfunction]
#[pyo3(signature = (y, f, classes, weights=None))]
fn confusion_matrix<'py>(
    py: Python<'py>,
    y: PyReadonlyArray1<'py, u32>,
    f: PyReadonlyArray1<'py, u32>,
    classes: usize,
    weights: Option<Numbers<'py>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (y, f, w) = (y.as_slice()?, f.as_slice()?, given(&weights)?);
    let found = py.detach(|| metrics::confusion_matrix(y, f, classes, w)).map_err(fail)?;
    floats(py, found.counts.values, &[classes, classes])
}

/// Points of a curve of thresholds: (false positive rate, true positive rate, threshold) or (precision, recall,
/// threshold).
#[pyfunction]
#[pyo3(signature = (name, positive, scores, weights=None, *, corners_only=true, threads=1))]
fn curve<'py>(
    py: Python<'py>,
    name: &str,
    positive: PyReadonlyArray1<'py, bool>,
    scores: Numbers<'py>,
    weights: Option<Numbers<'py>>,
    corners_only: bool,
    threads: usize,
) -> PyResult<Curve<'py>> {
    let (positive, scores, w) = (positive.as_slice()?, scores.as_slice()?, given(&weights)?);
    let ctx = Ctx::default().with_threads(threads);
    let work = || match name {
        "roc_curve" => Some(metrics::roc_curve(positive, scores, w, corners_only).map(|c| [c.fpr, c.tpr, c.threshold])),
        "precision_recall_curve" => {
            Some(metrics::precision_recall_curve(positive, scores, w).map(|c| [c.precision, c.recall, c.threshold]))
        }
        _ => None,
    };
    let found = py.detach(|| ctx.install(work)).ok_or_else(|| unknown(name))?.map_err(fail)?;
    let [a, b, c] = found.map(|values| PyArray1::from_vec(py, values));
    Ok((a, b, c))
}

/// The threshold of least mean cost: threshold, cost, cost of calling nothing positive, and everything.
#[pyfunction]
#[pyo3(signature = (positive, scores, costs, weights=None))]
fn best_threshold<'py>(
    py: Python<'py>,
    positive: PyReadonlyArray1<'py, bool>,
    scores: Numbers<'py>,
    costs: (f64, f64, f64, f64),
    weights: Option<Numbers<'py>>,
) -> PyResult<(f64, f64, f64, f64)> {
    let (positive, scores, w) = (positive.as_slice()?, scores.as_slice()?, given(&weights)?);
    let (false_positive, false_negative, true_positive, true_negative) = costs;
    let costs = Costs { false_positive, false_negative, true_positive, true_negative };
    let found = py.detach(|| metrics::best_threshold(positive, scores, costs, w)).map_err(fail)?;
    Ok((found.threshold, found.cost, found.cost_of_none, found.cost_of_all))
}
