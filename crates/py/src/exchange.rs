//! Other processes, through a Python object that knows them (`ermine.distributed.Exchange`, over mpi4py).

use crate::convert::{failure, values};
use ermine::{
    Error, Result,
    core::{TargetKind, ctx::Exchange, reduce, source::Shape},
};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyDict},
};

/// `rank`, `size`, `all_gather(bytes) -> list[bytes]`, `all_to_all(list[bytes]) -> list[bytes]`. Called from the thread
/// of a fit, with the interpreter lock taken for the call.
pub struct PyExchange {
    object: Py<PyAny>,
    rank: usize,
    size: usize,
}

impl PyExchange {
    pub fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (rank, size) = (object.getattr("rank")?.extract()?, object.getattr("size")?.extract()?);
        Ok(PyExchange { object: object.clone().unbind(), rank, size })
    }

    /// A call that gives one `bytes` of each worker.
    fn call(
        &self,
        call: impl for<'py> Fn(Python<'py>, &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
    ) -> Result<Vec<Vec<u8>>> {
        let all = Python::attach(|py| -> PyResult<Vec<Vec<u8>>> {
            let all = call(py, self.object.bind(py))?;
            all.try_iter()?.map(|bytes| Ok(bytes?.cast::<PyBytes>()?.as_bytes().to_vec())).collect()
        });
        all.map_err(|error| Error::Worker { rank: self.rank, message: error.to_string() })
    }
}

impl Exchange for PyExchange {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn all_gather(&self, mine: Vec<u8>) -> Result<Vec<Vec<u8>>> {
        self.call(|py, object| object.call_method1("all_gather", (PyBytes::new(py, &mine),)))
    }

    fn all_to_all(&self, to: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        self.call(|py, object| {
            let to: Vec<_> = to.iter().map(|bytes| PyBytes::new(py, bytes)).collect();
            object.call_method1("all_to_all", (to,))
        })
    }
}

/// Where each of `workers` must begin and end so that sums are those of one process.
#[pyfunction]
pub fn shares(rows: usize, cols: usize, workers: usize) -> Vec<(usize, usize)> {
    let shape = Shape { rows, cols, target: TargetKind::None, sparse: false, stored: 0, distinct: 0, weighted: false };
    reduce::shares(&shape, workers).into_iter().map(|share| (share.start, share.end)).collect()
}

/// Why a model with these parameters cannot be spread over workers, if it cannot.
#[pyfunction]
pub fn needs_one_worker(name: &str, params: &Bound<'_, PyDict>) -> PyResult<Option<&'static str>> {
    let fail = |error: Error| failure(error, None);
    let estimator = (ermine::entry(name).map_err(fail)?.make)(&values(params)?).map_err(fail)?;
    Ok(estimator.info().passes.needs_one_worker())
}
