//! Columns of Python objects as codes: what an encoder of categories meets first.

use numpy::PyArray1;
use pyo3::{
    prelude::*,
    types::{PyDict, PyFloat, PyList},
};
use std::collections::HashMap;

/// Objects that are remembered by where they are; columns often repeat the same few.
const KNOWN: usize = 1 << 12;

/// The number of each value among `levels` (value -> number), NaN for a missing one (None, NaN). A value that is not
/// there is added when the levels are to be learnt, and gets the number after the last when they are not.
#[pyfunction]
pub fn encode<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyList>,
    levels: &Bound<'py, PyDict>,
    learn: bool,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let mut seen: HashMap<usize, f64> = HashMap::new();
    let mut codes = Vec::with_capacity(values.len());
    let mut last: (usize, f64) = (0, f64::NAN);
    for value in values.iter() {
        let place = value.as_ptr() as usize;
        // The list keeps every value alive, so a place belongs to one value.
        if place == last.0 {
            codes.push(last.1);
            continue;
        }
        let code = match seen.get(&place) {
            Some(&code) => code,
            None => {
                let code = code_of(&value, levels, learn)?;
                if seen.len() < KNOWN {
                    seen.insert(place, code);
                }
                code
            }
        };
        last = (place, code);
        codes.push(code);
    }
    Ok(PyArray1::from_vec(py, codes))
}

fn code_of(value: &Bound<'_, PyAny>, levels: &Bound<'_, PyDict>, learn: bool) -> PyResult<f64> {
    if is_missing(value)? {
        return Ok(f64::NAN);
    }
    match levels.get_item(value)? {
        Some(number) => number.extract(),
        None => {
            let next = levels.len() as f64;
            if learn {
                levels.set_item(value, next)?;
            }
            Ok(next)
        }
    }
}

fn is_missing(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if value.is_none() {
        return Ok(true);
    }
    match value.cast::<PyFloat>() {
        Ok(number) => Ok(number.value().is_nan()),
        // Not equal to itself: NaN of another kind, a missing date.
        Err(_) if value.is_instance_of::<pyo3::types::PyString>() => Ok(false),
        Err(_) => value.ne(value),
    }
}
