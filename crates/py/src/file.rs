//! Model files, the same that the command line reads and writes.

use crate::{
    Model,
    convert::{Rows, failure, floats, object, values},
    output_named, run,
};
use ermine::{Ctx, FitLog, X};
use ermine_app::{
    Fitted,
    export::onnx,
    file,
    store::writer::{Content, Output as Place},
    table::{Category, Column, Kind, MISSING, Table, Text},
};
use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyBytes, PyDict},
};
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

    /// A model that takes its columns as they are. The header comes as JSON without parameters, the log as JSON.
    #[staticmethod]
    fn of(model: &Bound<'_, Model>, header: &str, params: &Bound<'_, PyDict>, log: &str) -> PyResult<Self> {
        let unreadable = |error: serde_json::Error| PyValueError::new_err(error.to_string());
        let fail = |error: ermine::Error| failure(error, None);
        let model = model.get();
        let mut header: ermine_app::store::Header = serde_json::from_str(header).map_err(unreadable)?;
        header.params = values(params)?.into_iter().map(|(name, value)| (name, value.to_string())).collect();
        let log: FitLog = serde_json::from_str(log).map_err(unreadable)?;
        let copy = (model.entry.load)(&model.model.to_bytes()).map_err(fail)?;
        Ok(Saved(Fitted { header, preparation: None, model: copy, log }))
    }

    #[pyo3(signature = (path, force=false))]
    fn write(&self, path: PathBuf, force: bool) -> PyResult<()> {
        let fail = |error: ermine::Error| failure(error, None);
        let place = Place::open(&path, Content::Model, force, &[]).map_err(fail)?;
        file::save(&self.0, &place).map_err(fail)
    }

    /// As ONNX: with an input for each raw column, or with one for plain rows.
    #[pyo3(signature = (plain=false))]
    fn onnx<'py>(&self, py: Python<'py>, plain: bool) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = if plain { onnx::plain(&self.0) } else { onnx::model(&self.0) };
        Ok(PyBytes::new(py, &bytes.map_err(|error| failure(error, None))?))
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

    /// Raw rows as the model sees them; see [`Saved::predict`].
    #[pyo3(signature = (x, texts))]
    fn prepare<'py>(&self, py: Python<'py>, x: Rows<'py>, texts: Documents) -> PyResult<Bound<'py, PyAny>> {
        let fail = |error: ermine::Error| failure(error, None);
        let x = x.view().map_err(fail)?;
        let work = |ctx: &Ctx| {
            let frame = self.0.frame(&self.table(&x, texts)?)?;
            self.0.prepare(ctx, &X::dense(&frame.x.values, frame.x.cols.max(1))?, &frame.texts)
        };
        let out = run::apart(py, Ctx::default(), work)?.map_err(fail)?;
        floats(py, out.values, &[out.rows, out.cols])
    }

    /// One output for raw rows: categories as codes, dates as days, missing values as NaN; the documents of text
    /// columns beside them.
    #[pyo3(signature = (x, texts, output, *, threads=1))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        x: Rows<'py>,
        texts: Documents,
        output: &str,
        threads: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let fail = |error: ermine::Error| failure(error, None);
        let (x, output) = (x.view().map_err(fail)?, output_named(output)?);
        let work = |ctx: &Ctx| {
            let frame = self.0.frame(&self.table(&x, texts)?)?;
            self.0.predict_with(ctx, &X::dense(&frame.x.values, frame.x.cols.max(1))?, &frame.texts, output)
        };
        let out = run::apart(py, Ctx::default().with_threads(threads), work)?.map_err(fail)?;
        floats(py, out.values, &[out.rows, out.cols])
    }
}

/// The text columns: number and documents, empty where they are missing.
type Documents = Vec<(usize, Vec<String>)>;

impl Saved {
    /// The table that a file with these rows would be.
    fn table(&self, x: &X, texts: Documents) -> ermine::Result<Table> {
        let values = x.to_matrix();
        let fields = &self.0.header.schema.columns;
        if values.cols != fields.len() {
            return Err(ermine::Error::shape("x", format!("{} columns", fields.len()), values.cols));
        }
        let column = |j: usize| (0..values.rows).map(|i| values[(i, j)]).collect::<Vec<f64>>();
        let made = fields.iter().enumerate().map(|(j, field)| {
            let made = match field.kind {
                Kind::Number => Column::Number(column(j)),
                Kind::Date => Column::Date(column(j)),
                Kind::DateTime => Column::DateTime(column(j).into_iter().map(|days| days * 86_400.0).collect()),
                Kind::Boolean => {
                    Column::Boolean(column(j).into_iter().map(|v| (!v.is_nan()).then_some(v != 0.0)).collect())
                }
                Kind::Category => {
                    let code = |v: f64| if v.is_nan() { MISSING } else { v as u32 };
                    let codes = column(j).into_iter().map(code).collect();
                    Column::Category(Category { codes, levels: field.levels.clone() })
                }
                Kind::Text => {
                    let mut text = Text::default();
                    let documents = texts.iter().find(|(at, _)| *at == j).map(|(_, documents)| documents);
                    (0..values.rows).for_each(|i| text.push(documents.map_or("", |documents| &documents[i])));
                    Column::Text(text)
                }
            };
            (field.name.clone(), made)
        });
        Table::new(made.collect())
    }
}
