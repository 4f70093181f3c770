//! Model files, the same that the command line reads and writes.

use crate::{
    Model,
    convert::{Rows, failure, floats, object, values},
    output_named, run,
};
use ermine::{Ctx, FitLog};
use ermine_app::{Fitted, file};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyDict};
use std::path::PathBuf;

/// What a model file holds.
#[pyclass(frozen, module = "ermine._ermine")]
pub struct Saved(Fitted);

#[pymethods]
impl Saved {
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        file::load(&path).map(Saved).map_err(|error| failure(error, None))
    }

    /// Writes a model that takes its columns as they are. The header comes as JSON without parameters, the log as JSON.
    #[staticmethod]
    fn write(
        path: PathBuf,
        model: &Bound<'_, Model>,
        header: &str,
        params: &Bound<'_, PyDict>,
        log: &str,
    ) -> PyResult<()> {
        let unreadable = |error: serde_json::Error| PyValueError::new_err(error.to_string());
        let fail = |error: ermine::Error| failure(error, None);
        let model = model.get();
        let mut header: ermine_app::fitted::Header = serde_json::from_str(header).map_err(unreadable)?;
        header.params = values(params)?.into_iter().map(|(name, value)| (name, value.to_string())).collect();
        let log: FitLog = serde_json::from_str(log).map_err(unreadable)?;
        let copy = (model.entry.load)(&model.model.to_bytes()).map_err(fail)?;
        file::save(&Fitted { header, preparation: None, model: copy, log }, &path).map_err(fail)
    }

    /// JSON: model, schema, target, seed, scores, versions.
    fn header(&self) -> PyResult<String> {
        serde_json::to_string(&self.0.header).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn log(&self) -> PyResult<String> {
        serde_json::to_string(&self.0.log).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn params<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let params = PyDict::new(py);
        for (name, value) in self.0.header.values() {
            params.set_item(name, object(py, &value)?)?;
        }
        Ok(params)
    }

    /// The model alone, which sees prepared columns.
    fn model(&self) -> PyResult<Model> {
        let fail = |error: ermine::Error| failure(error, None);
        let entry = ermine::entry(&self.0.header.model).map_err(fail)?;
        Ok(Model { entry, model: (entry.load)(&self.0.model.to_bytes()).map_err(fail)? })
    }

    /// Whether raw columns are prepared before the model sees them.
    fn is_prepared(&self) -> bool {
        self.0.preparation.is_some()
    }

    fn prepared_names(&self) -> Vec<String> {
        self.0.prepared_names()
    }

    /// Raw rows as the model sees them.
    fn prepare<'py>(&self, py: Python<'py>, x: Rows<'py>) -> PyResult<Bound<'py, PyAny>> {
        let fail = |error: ermine::Error| failure(error, None);
        let out = self.0.prepare(&Ctx::default(), &x.view().map_err(fail)?).map_err(fail)?;
        floats(py, out.values, &[out.rows, out.cols])
    }

    /// One output for raw rows: categories as codes, missing values as NaN.
    #[pyo3(signature = (x, output, *, threads=1))]
    fn predict<'py>(&self, py: Python<'py>, x: Rows<'py>, output: &str, threads: usize) -> PyResult<Bound<'py, PyAny>> {
        let fail = |error: ermine::Error| failure(error, None);
        let (x, output) = (x.view().map_err(fail)?, output_named(output)?);
        let ctx = Ctx::default().with_threads(threads);
        let out = run::apart(py, ctx, |ctx| self.0.predict(ctx, &x, output))?.map_err(fail)?;
        floats(py, out.values, &[out.rows, out.cols])
    }
}
