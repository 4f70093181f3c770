//! Between Python's values and Ermine's: arrays, parameters, errors.

use ermine::{Array, Error, Matrix, Numbers, Target, Value, Values, X, core::param::DEEPEST};
use numpy::{Element, PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::{
    exceptions::{PyNotImplementedError, PyOSError, PyTypeError, PyValueError},
    prelude::*,
    types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple},
};

/// Borrowed rows: a C-ordered matrix, or the parts of a CSR matrix.
#[derive(FromPyObject)]
pub enum Rows<'py> {
    Dense(PyReadonlyArray2<'py, f64>),
    /// Row starts, columns, values, number of columns.
    Sparse(PyReadonlyArray1<'py, usize>, PyReadonlyArray1<'py, u32>, PyReadonlyArray1<'py, f64>, usize),
}

impl Rows<'_> {
    pub fn view(&self) -> ermine::Result<X<'_>> {
        let unordered = |_| Error::Data("x: the array is not in C order".into());
        match self {
            Rows::Dense(x) if x.shape()[1] == 0 => Err(Error::Data("x: there are no columns (0 features)".into())),
            Rows::Dense(x) => X::dense(x.as_slice().map_err(unordered)?, x.shape()[1]),
            Rows::Sparse(starts, columns, values, cols) => X::csr(
                starts.as_slice().map_err(unordered)?,
                columns.as_slice().map_err(unordered)?,
                values.as_slice().map_err(unordered)?,
                *cols,
            ),
        }
    }
}

/// A borrowed target.
#[derive(FromPyObject)]
pub enum TargetArray<'py> {
    One(PyReadonlyArray1<'py, f64>),
    Many(PyReadonlyArray2<'py, f64>),
    /// Codes and how many classes there are.
    Class(PyReadonlyArray1<'py, u32>, usize),
}

impl TargetArray<'_> {
    pub fn view(&self) -> PyResult<Target<'_>> {
        Ok(match self {
            TargetArray::One(y) => Target::Real { values: y.as_slice()?, cols: 1 },
            TargetArray::Many(y) => Target::Real { values: y.as_slice()?, cols: y.shape()[1] },
            TargetArray::Class(codes, classes) => Target::Class { codes: codes.as_slice()?, classes: *classes },
        })
    }
}

/// An estimator by name and parameters, as another estimator's parameter.
#[pyclass(frozen, module = "ermine._ermine")]
pub struct Spec(ermine::Spec);

#[pymethods]
impl Spec {
    #[new]
    fn new(name: &str, params: &Bound<'_, PyDict>) -> PyResult<Self> {
        Ok(Spec(ermine::Spec { name: name.into(), params: values(params)? }))
    }

    /// Reads `Name(parameter=value, ...)`.
    #[staticmethod]
    fn parse(text: &str) -> Self {
        Spec(ermine::Spec::parse(text).unwrap_or_else(|| ermine::Spec::new(text.trim())))
    }

    fn __repr__(&self) -> String {
        self.0.to_string()
    }
}

impl Spec {
    pub fn inner(&self) -> &ermine::Spec {
        &self.0
    }
}

pub fn values(params: &Bound<'_, PyDict>) -> PyResult<Values> {
    params.iter().map(|(name, object)| Ok((name.extract()?, value(&object)?))).collect()
}

fn value(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    value_at(object, 0)
}

fn value_at(object: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if depth > DEEPEST {
        return Err(PyValueError::new_err(format!("lists are nested more than {DEEPEST} deep")));
    }
    if object.is_none() {
        Ok(Value::None)
    } else if let Ok(found) = object.cast::<PyBool>() {
        Ok(Value::Bool(found.is_true()))
    } else if object.is_instance_of::<PyInt>() {
        // What no integer parameter can hold is refused by its range.
        object.extract().map(Value::Int).or_else(|_| object.extract().map(Value::Float))
    } else if let Ok(found) = object.cast::<PyFloat>() {
        Ok(Value::Float(found.value()))
    } else if let Ok(found) = object.cast::<PyString>() {
        Ok(Value::Text(found.to_string()))
    } else if let Ok(found) = object.cast::<Spec>() {
        Ok(Value::Model(Box::new(found.get().0.clone())))
    } else if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        object.try_iter()?.map(|item| value_at(&item?, depth + 1)).collect::<PyResult<_>>().map(Value::List)
    } else {
        Err(PyTypeError::new_err(format!("a parameter cannot be {}", object.get_type().name()?)))
    }
}

/// A parameter as Python has it; a model as text, which a parameter also takes.
pub fn object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::None => py.None().into_bound(py),
        Value::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
        Value::Int(value) => value.into_pyobject(py)?.into_any(),
        Value::Float(value) => PyFloat::new(py, *value).into_any(),
        Value::Text(text) => PyString::new(py, text).into_any(),
        Value::Model(spec) => PyString::new(py, &spec.to_string()).into_any(),
        Value::List(values) => {
            let items: Vec<_> = values.iter().map(|value| object(py, value)).collect::<PyResult<_>>()?;
            PyList::new(py, items)?.into_any()
        }
    })
}

/// A parameter's default for the generator, which has to tell a number from infinity and a model from text.
pub fn json(value: &Value) -> serde_json::Value {
    use serde_json::json;
    match value {
        Value::None => json!(null),
        Value::Bool(value) => json!(value),
        Value::Int(value) => json!(value),
        Value::Float(value) if value.is_finite() => json!(value),
        Value::Float(value) => json!({ "float": value.to_string() }),
        Value::Text(text) => json!(text),
        Value::List(values) => values.iter().map(json).collect(),
        Value::Model(spec) => json!({ "model": spec.to_string() }),
    }
}

pub fn matrix(array: &PyReadonlyArray2<'_, f64>) -> PyResult<Matrix> {
    let [rows, cols] = [array.shape()[0], array.shape()[1]];
    Ok(Matrix { rows, cols, values: array.as_slice()?.to_vec() })
}

pub fn floats<'py>(py: Python<'py>, values: Vec<f64>, shape: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    shaped(py, values, shape)
}

fn shaped<'py, T: Element>(py: Python<'py>, values: Vec<T>, shape: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    Ok(PyArray1::from_vec(py, values).reshape(shape.to_vec())?.into_any())
}

/// A numpy array that takes over the numbers; a number when there is one without a shape.
pub fn array(py: Python<'_>, array: Array) -> PyResult<Bound<'_, PyAny>> {
    let Array { shape, values } = array;
    let scalar = shape.is_empty();
    match values {
        Numbers::Float(values) if scalar => Ok(values.first().into_pyobject(py)?.into_any()),
        Numbers::Float(values) => shaped(py, values, &shape),
        Numbers::Int(values) if scalar => Ok(values.first().into_pyobject(py)?.into_any()),
        Numbers::Int(values) => shaped(py, values, &shape),
        Numbers::Text(values) if scalar => Ok(values.first().into_pyobject(py)?.into_any()),
        Numbers::Text(values) => Ok(PyList::new(py, values)?.into_any()),
        Numbers::List(arrays) => {
            let arrays = arrays.into_iter().map(|found| self::array(py, found)).collect::<PyResult<Vec<_>>>()?;
            Ok(PyList::new(py, arrays)?.into_any())
        }
    }
}

/// Python's exception for an error, with the names of the columns where they are known.
pub fn failure(error: Error, columns: Option<&[String]>) -> PyErr {
    let error = match columns {
        Some(names) => error.with_columns(names),
        None => error,
    };
    let message = error.to_string();
    let mut cause = &error;
    while let Error::Hinted { error, .. } = cause {
        cause = error;
    }
    match cause {
        Error::Unsupported(_) => PyNotImplementedError::new_err(message),
        Error::Io { .. } => PyOSError::new_err(message),
        _ => PyValueError::new_err(message),
    }
}
