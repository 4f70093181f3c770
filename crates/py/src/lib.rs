//! The Python door: `ermine._ermine`, a thin module under the package `python/ermine`, which holds what is
//! scikit-learn's.
//!
//! It knows the list, fits, predicts, searches and judges. Arrays are borrowed from numpy, never copied; the package
//! hands over C-ordered float64 (or CSR parts) and makes the copy where an input is something else. Work runs on a
//! thread of its own without the interpreter lock, while the calling thread waits for it and for Ctrl-C.

// The arguments of a Python function are its signature.
#![allow(clippy::too_many_arguments)]

mod convert;
mod encode;
mod exchange;
mod file;
mod inside;
mod metrics;
mod run;
mod search;
mod sparse;
mod table;
mod text;

use convert::{Rows, Spec, TargetArray, array, failure, matrix, values};
use ermine::{
    AnyModel, Ctx, Data, Entry, MODELS, Output, Source, Task,
    core::{param, source::Shard},
};
use exchange::PyExchange;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyBytes, PyDict, PyList},
};
use serde_json::json;

/// The list of models as JSON: name, doc, info, parameters.
#[pyfunction]
fn models() -> String {
    let models: Vec<_> = MODELS
        .iter()
        .map(|entry| {
            let params: Vec<_> = (entry.params)()
                .into_iter()
                .map(|param| {
                    json!({
                        "name": param.name,
                        "doc": param.doc,
                        "forms": param.forms,
                        "allowed": param::describe(&param.forms),
                        "default": convert::json(&param.default),
                        "search": param.search,
                    })
                })
                .collect();
            json!({ "name": entry.name, "doc": entry.doc.trim(), "info": entry.info, "params": params })
        })
        .collect();
    json!(models).to_string()
}

/// Predicted seconds below which a fit is not worth the start of threads.
const SHORT: f64 = 0.005;

/// So many numbers are looked at sooner than a thread is started for them.
const FEW: usize = 100_000;

/// A fitted model. It never changes, so copies share it.
#[pyclass(frozen, module = "ermine._ermine")]
struct Model {
    entry: &'static Entry,
    model: Box<dyn AnyModel>,
}

#[pymethods]
impl Model {
    /// Fits `name`, or goes on from `previous`. Returns the model, the log as JSON and what was found about each row.
    /// With `share` (other workers, the number of the first row here, rows of all) the rows are one worker's part.
    #[staticmethod]
    #[pyo3(signature = (name, params, x, y=None, weights=None, *, seed=0, threads=1, starts=None, columns=None, previous=None, share=None))]
    fn fit<'py>(
        py: Python<'py>,
        name: &str,
        params: &Bound<'py, PyDict>,
        x: Rows<'py>,
        y: Option<TargetArray<'py>>,
        weights: Option<PyReadonlyArray1<'py, f64>>,
        seed: u64,
        threads: usize,
        starts: Option<Vec<(String, PyReadonlyArray2<'py, f64>)>>,
        columns: Option<Vec<String>>,
        previous: Option<&Bound<'py, Model>>,
        share: Option<(Bound<'py, PyAny>, usize, usize)>,
    ) -> PyResult<(Model, String, Bound<'py, PyDict>)> {
        let fail = |error: ermine::Error| failure(error, columns.as_deref());
        let entry = ermine::entry(name).map_err(fail)?;
        let estimator = (entry.make)(&values(params)?).map_err(fail)?;
        let mut ctx = Ctx::new(seed).with_threads(threads);
        for (name, start) in starts.iter().flatten() {
            ctx = ctx.with_start(name, matrix(start)?);
        }
        let mut data = Data::new(x.view().map_err(fail)?);
        if let Some(y) = &y {
            data = data.target(y.view()?).map_err(fail)?;
        }
        if let Some(weights) = &weights {
            data = data.weights(weights.as_slice()?).map_err(fail)?;
        }
        let previous = previous.map(|model| &model.get().model);
        let mut shard = None;
        if let Some((others, first, total)) = share {
            ctx = ctx.with_exchange(PyExchange::new(&others)?);
            shard = Some(Shard::new(&data, first, total));
        }
        let rows: &dyn Source = shard.as_ref().map_or(&data, |shard| shard);
        let work = |ctx: &Ctx| match previous {
            Some(model) => estimator.resume(&**model, rows, ctx),
            None => estimator.fit(rows, ctx),
        };
        // A short fit is over before threads would be worth their start, or anybody could interrupt it. It is handed
        // over once: on a busy machine each of its passes would wait for a turn of its own.
        let shape = rows.shape();
        let short = shard.is_none() && shape.rows * shape.cols <= FEW && estimator.cost(&shape) < SHORT;
        let fit = if short {
            let ctx = ctx.with_threads(1);
            py.detach(|| ctx.install(|| work(&ctx)))
        } else {
            run::apart(py, ctx, work)?
        };
        let fit = fit.map_err(fail)?;
        let log = serde_json::to_string(&fit.log).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let rows = PyDict::new(py);
        for (name, found) in fit.rows {
            rows.set_item(name, array(py, found)?)?;
        }
        Ok((Model { entry, model: fit.model }, log, rows))
    }

    /// Rows x columns of one output.
    #[pyo3(signature = (x, output, *, threads=1, columns=None))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        x: Rows<'py>,
        output: &str,
        threads: usize,
        columns: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let fail = |error: ermine::Error| failure(error, columns.as_deref());
        let output = output_named(output)?;
        let ctx = Ctx::default().with_threads(threads);
        let x = x.view().map_err(fail)?;
        let missing = self.entry.info.missing;
        let work = |ctx: &Ctx| ermine::predict(ctx, &*self.model, &x, output, missing);
        // A few rows are sooner predicted than a thread is started; of a transformer these may be more.
        let transforms = matches!(self.entry.info.task, Task::Transformation);
        let few = x.rows() <= 256 || transforms && x.rows() <= 4096 && x.rows() * x.cols() <= FEW;
        let out = if few { py.detach(|| work(&ctx)) } else { run::apart(py, ctx, work)? };
        let out = out.map_err(fail)?;
        convert::floats(py, out.values, &[out.rows, out.cols])
    }

    /// Inference about the coefficients on the rows of the fit: JSON, and the table as text.
    #[pyo3(signature = (params, x, y, weights=None, *, level=0.95, columns=None))]
    fn inference<'py>(
        &self,
        py: Python<'py>,
        params: &Bound<'py, PyDict>,
        x: Rows<'py>,
        y: TargetArray<'py>,
        weights: Option<PyReadonlyArray1<'py, f64>>,
        level: f64,
        columns: Option<Vec<String>>,
    ) -> PyResult<(String, String)> {
        let fail = |error: ermine::Error| failure(error, columns.as_deref());
        let mut data = Data::new(x.view().map_err(fail)?).target(y.view()?).map_err(fail)?;
        if let Some(weights) = &weights {
            data = data.weights(weights.as_slice()?).map_err(fail)?;
        }
        let values = values(params)?;
        let found = run::apart(py, Ctx::default(), |ctx| {
            ermine::linear::Inference::of(self.entry.name, &values, &*self.model, level, &data, ctx)
        })?;
        let found = found.map_err(fail)?;
        let json = serde_json::to_string(&found).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok((json, found.table(columns.as_deref().unwrap_or(&[]))))
    }

    /// The new features as the parts of a CSR matrix, from transformers whose results are mostly zero; nothing from
    /// others.
    #[pyo3(signature = (x, *, columns=None))]
    fn transform_sparse<'py>(
        &self,
        py: Python<'py>,
        x: Rows<'py>,
        columns: Option<Vec<String>>,
    ) -> PyResult<Option<sparse::Parts<'py>>> {
        let fail = |error: ermine::Error| failure(error, columns.as_deref());
        let x = x.view().map_err(fail)?;
        if !self.entry.info.missing {
            x.check_finite(0).map_err(fail)?;
        }
        let work = || self.model.transform_sparse(&x);
        let few = x.rows() * x.cols() <= FEW;
        let found = if few { py.detach(work) } else { run::apart(py, Ctx::default(), |_| work())? };
        let found = found.map_err(fail)?;
        Ok(found.map(|rows| sparse::parts(py, rows)))
    }

    /// Names of the new features from those of the old, from transformers that know what each is made of.
    fn feature_names(&self, input: Vec<String>) -> Option<Vec<String>> {
        self.model.feature_names(&input)
    }

    /// What the model can compute, its natural prediction first: name and number of columns.
    fn outputs(&self) -> Vec<(String, usize)> {
        self.model.outputs().into_iter().map(|(output, width)| (format!("{output:?}"), width)).collect()
    }

    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let attributes = PyDict::new(py);
        for (name, found) in self.model.attributes() {
            attributes.set_item(name, array(py, found)?)?;
        }
        Ok(attributes)
    }

    /// The arrays of each tree, in the form that `inside` tells of.
    fn trees<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        inside::trees(py, &*self.model)
    }

    /// Where a boosting starts before its first tree.
    fn baseline(&self) -> Option<Vec<f64>> {
        inside::baseline(&*self.model)
    }

    /// The members of an ensemble, each with the columns it looks at.
    fn members(&self) -> PyResult<Option<Vec<(Model, Vec<u32>)>>> {
        inside::members(&*self.model)
    }

    /// The columns that RFE or SelectFromModel keeps, where scikit-learn went through models of the engine to find
    /// them.
    #[staticmethod]
    fn of_selection(name: &str, kept: Vec<bool>, scores: Vec<f64>) -> PyResult<Model> {
        let entry = ermine::entry(name).map_err(|error| failure(error, None))?;
        Ok(Model { entry, model: Box::new(inside::selection(name, &kept, scores)) })
    }

    #[getter]
    fn name(&self) -> &'static str {
        self.entry.name
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.model.to_bytes())
    }

    /// A model from its bytes. What pickles it calls this, so that tools that build objects by their constructor alone
    /// can too.
    #[new]
    #[pyo3(signature = (name, bytes, version=VERSION))]
    fn new(name: &str, bytes: &[u8], version: &str) -> PyResult<Model> {
        if version != VERSION {
            let problem = format!("this {name} was pickled by ermine {version}, and this is ermine {VERSION}");
            return Err(PyValueError::new_err(format!(
                "{problem}\nhint: model files, by save and load, outlive versions"
            )));
        }
        let fail = |error: ermine::Error| failure(error, None);
        let entry = ermine::entry(name).map_err(fail)?;
        Ok(Model { entry, model: (entry.load)(bytes).map_err(fail)? })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (&str, Bound<'py, PyBytes>, &str))> {
        Ok((py.get_type::<Model>().into_any(), (self.entry.name, self.to_bytes(py), VERSION)))
    }

    fn __copy__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __deepcopy__<'py>(slf: PyRef<'py, Self>, _memo: &Bound<'py, PyAny>) -> PyRef<'py, Self> {
        slf
    }

    fn __repr__(&self) -> String {
        format!("<fitted {} of {} columns>", self.entry.name, self.model.cols())
    }
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn output_named(name: &str) -> PyResult<Output> {
    serde_json::from_value(json!(name)).map_err(|_| PyValueError::new_err(format!("there is no output '{name}'")))
}

/// Checks parameter values without fitting.
#[pyfunction]
fn check_params(name: &str, params: &Bound<'_, PyDict>) -> PyResult<()> {
    let fail = |error: ermine::Error| failure(error, None);
    (ermine::entry(name).map_err(fail)?.make)(&values(params)?).map(drop).map_err(fail)
}

#[pymodule]
fn _ermine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", VERSION)?;
    module.add_class::<Model>()?;
    module.add_class::<Spec>()?;
    module.add_class::<file::Saved>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<text::Text>()?;
    metrics::register(module)?;
    module.add_function(wrap_pyfunction!(models, module)?)?;
    module.add_function(wrap_pyfunction!(check_params, module)?)?;
    module.add_function(wrap_pyfunction!(encode::encode, module)?)?;
    module.add_function(wrap_pyfunction!(search::evaluate, module)?)?;
    module.add_function(wrap_pyfunction!(text::hashed_counts, module)?)?;
    module.add_function(wrap_pyfunction!(exchange::shares, module)?)?;
    module.add_function(wrap_pyfunction!(exchange::needs_one_worker, module)?)?;
    Ok(())
}
