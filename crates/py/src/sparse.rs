//! Sparse rows as scipy takes them.

use ermine::OwnedCsr;
use numpy::PyArray1;
use pyo3::prelude::*;

/// Values, columns, row starts, number of columns.
pub type Parts<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<i64>>, usize);

pub fn parts(py: Python<'_>, rows: OwnedCsr) -> Parts<'_> {
    let starts = PyArray1::from_vec(py, rows.starts.into_iter().map(|start| start as i64).collect());
    let columns = PyArray1::from_vec(py, rows.columns.into_iter().map(|column| column as i32).collect());
    (PyArray1::from_vec(py, rows.values), columns, starts, rows.cols)
}
