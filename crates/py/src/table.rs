//! Files as tables of typed columns: the reader of the command line.

use crate::{convert::failure, run};
use ermine::Ctx;
use ermine_app::{
    read::{self, ReadOptions},
    table::{self, Column},
};
use numpy::PyArray1;
use pyo3::{exceptions::PyValueError, prelude::*};
use std::path::PathBuf;

/// A table that was read. It never changes.
#[pyclass(frozen, module = "ermine._ermine")]
pub struct Table(table::Table);

#[pymethods]
impl Table {
    #[staticmethod]
    #[pyo3(signature = (path, *, delimiter=None, header=None, na=vec![], columns=None, threads=1))]
    fn read(
        py: Python<'_>,
        path: PathBuf,
        delimiter: Option<char>,
        header: Option<bool>,
        na: Vec<String>,
        columns: Option<Vec<String>>,
        threads: usize,
    ) -> PyResult<Table> {
        let delimiter = delimiter.map(u8::try_from).transpose();
        let delimiter = delimiter.map_err(|_| PyValueError::new_err("delimiter is one ASCII character"))?;
        let options = ReadOptions { delimiter, header, na, columns, ..ReadOptions::default() };
        let ctx = Ctx::default().with_threads(threads);
        let table = run::apart(py, ctx, |ctx| ctx.install(|| read::read(&path, &options)))?;
        table.map(Table).map_err(|error| failure(error, None))
    }

    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.0.rows(), self.0.names().len())
    }

    /// Name and kind of each column.
    fn kinds(&self) -> Vec<(String, &'static str)> {
        self.0.columns().map(|(name, column)| (name.to_string(), column.kind().name())).collect()
    }

    /// Numbers as float64 (days or seconds since 1970 for dates; 0, 1 and NaN for booleans), codes of a category as
    /// int32 with -1 for missing, text as a list with None for missing.
    fn values<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let flag = |value: &Option<bool>| value.map_or(f64::NAN, |value| f64::from(u8::from(value)));
        let column = self.0.column(name).map_err(|error| failure(error, None))?;
        Ok(match column {
            Column::Number(values) | Column::Date(values) | Column::DateTime(values) => {
                PyArray1::from_slice(py, values).into_any()
            }
            Column::Boolean(values) => PyArray1::from_iter(py, values.iter().map(flag)).into_any(),
            Column::Category(values) => {
                let known = |&code: &u32| if (code as usize) < values.levels.len() { code as i32 } else { -1 };
                PyArray1::from_iter(py, values.codes.iter().map(known)).into_any()
            }
            Column::Text(values) => {
                let texts: Vec<Option<&str>> = values.iter().map(|text| (!text.is_empty()).then_some(text)).collect();
                texts.into_pyobject(py)?.into_any()
            }
        })
    }

    /// Levels of a category, in the order of its codes; nothing for other columns.
    fn levels(&self, name: &str) -> PyResult<Vec<String>> {
        match self.0.column(name).map_err(|error| failure(error, None))? {
            Column::Category(values) => Ok(values.levels.to_vec()),
            _ => Ok(Vec::new()),
        }
    }
}
