//! Documents as sparse rows. Strings are borrowed from Python, never copied.

use crate::{
    convert::{failure, values},
    run,
    sparse::{Parts, parts},
};
use ermine::{
    Ctx, Params,
    text::{Counts, Hashed, Norm, TextModel, Tfidf},
};
use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    pybacked::PyBackedStr,
    types::{PyBytes, PyDict},
};

/// A learnt vocabulary. It never changes, so copies share it.
#[pyclass(frozen, module = "ermine._ermine")]
pub struct Text(TextModel);

fn fail(error: ermine::Error) -> PyErr {
    failure(error, None)
}

fn counts(params: &Bound<'_, PyDict>) -> PyResult<Counts> {
    Counts::from_values(&values(params)?).map_err(fail)
}

fn norm(name: Option<&str>) -> PyResult<Norm> {
    match name {
        None => Ok(Norm::None),
        Some("l1") => Ok(Norm::L1),
        Some("l2") => Ok(Norm::L2),
        Some(other) => Err(PyValueError::new_err(format!("norm is '{other}', but it must be 'l1', 'l2' or None"))),
    }
}

fn views(documents: &[PyBackedStr]) -> Vec<&str> {
    documents.iter().map(|document| &**document).collect()
}

#[pymethods]
impl Text {
    /// Learns the vocabulary of the documents and returns it with their rows.
    #[staticmethod]
    #[pyo3(signature = (documents, params, *, norm=None, use_idf=false, smooth_idf=true, sublinear_tf=false, threads=1))]
    fn fit<'py>(
        py: Python<'py>,
        documents: Vec<PyBackedStr>,
        params: &Bound<'py, PyDict>,
        norm: Option<&str>,
        use_idf: bool,
        smooth_idf: bool,
        sublinear_tf: bool,
        threads: usize,
    ) -> PyResult<(Text, Parts<'py>)> {
        let tfidf = Tfidf { counts: counts(params)?, norm: self::norm(norm)?, use_idf, smooth_idf, sublinear_tf };
        let documents = views(&documents);
        let work = |ctx: &Ctx| tfidf.fit_transform(&documents, ctx);
        let (model, rows) = run::apart(py, Ctx::default().with_threads(threads), work)?.map_err(fail)?;
        Ok((Text(model), parts(py, rows)))
    }

    #[pyo3(signature = (documents, *, threads=1))]
    fn transform<'py>(&self, py: Python<'py>, documents: Vec<PyBackedStr>, threads: usize) -> PyResult<Parts<'py>> {
        let documents = views(&documents);
        let work = |ctx: &Ctx| self.0.transform(&documents, ctx);
        let rows = run::apart(py, Ctx::default().with_threads(threads), work)?.map_err(fail)?;
        Ok(parts(py, rows))
    }

    /// The terms, one for each column.
    fn vocabulary(&self) -> &[String] {
        self.0.vocabulary()
    }

    fn idf(&self) -> Option<Vec<f64>> {
        self.0.idf().map(<[f64]>::to_vec)
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.to_bytes())
    }

    #[new]
    fn new(bytes: &[u8]) -> PyResult<Self> {
        TextModel::from_bytes(bytes).map(Text).map_err(fail)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Text>().into_any(), (self.to_bytes(py),)))
    }
}

/// Hashed counts of the documents; nothing is learned.
#[pyfunction]
#[pyo3(signature = (documents, params, *, n_features, alternate_sign=true, norm=None, threads=1))]
pub fn hashed_counts<'py>(
    py: Python<'py>,
    documents: Vec<PyBackedStr>,
    params: &Bound<'py, PyDict>,
    n_features: usize,
    alternate_sign: bool,
    norm: Option<&str>,
    threads: usize,
) -> PyResult<Parts<'py>> {
    let hashed = Hashed { counts: counts(params)?, n_features, alternate_sign, norm: self::norm(norm)? };
    let documents = views(&documents);
    let work = |ctx: &Ctx| hashed.transform(&documents, ctx);
    let rows = run::apart(py, Ctx::default().with_threads(threads), work)?.map_err(fail)?;
    Ok(parts(py, rows))
}
