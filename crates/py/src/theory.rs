//! What a course writes on the board, as the engine has it: kernels, exponential families, all solutions of a
//! least-squares problem, bias and variance, and the steps of a fit.

use crate::{
    convert::{Rows, Spec, TargetArray, failure, floats},
    run,
};
use ermine::{
    Ctx, Data,
    core::{trace, trace::Step},
    engine::least_squares::{SolutionFamily, solution_family},
    family::{self, Categorical},
    inspect,
    kernel::{self, Defaults},
};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyDict};

fn fail(error: ermine::Error) -> PyErr {
    failure(error, None)
}

/// Keeps the steps of the fits that are given it, at most so many numbers.
#[pyclass(frozen, module = "ermine._ermine")]
pub struct Trace(trace::Trace);

#[pymethods]
impl Trace {
    #[new]
    fn new(most: usize) -> Self {
        Trace(trace::Trace::holding(most))
    }

    /// Steps that were recorded, also those that are not kept.
    #[getter]
    fn recorded(&self) -> usize {
        self.0.recorded()
    }

    /// Number, kind and named matrices of each step.
    fn steps<'py>(&self, py: Python<'py>) -> PyResult<Vec<(usize, &'static str, Bound<'py, PyDict>)>> {
        let plain = |step: Step| -> PyResult<_> {
            let values = PyDict::new(py);
            for (name, found) in step.values {
                values.set_item(name, floats(py, found.values, &[found.rows, found.cols])?)?;
            }
            Ok((step.step, step.what, values))
        };
        self.0.steps().into_iter().map(plain).collect()
    }
}

impl Trace {
    pub fn on(&self, ctx: Ctx) -> Ctx {
        ctx.with_trace(self.0.clone())
    }
}

/// A kernel with every number in place.
#[pyclass(frozen, module = "ermine._ermine")]
pub struct Kernel(kernel::Kernel);

#[pymethods]
impl Kernel {
    #[new]
    fn new(text: &str) -> PyResult<Self> {
        kernel::Kernel::parse(text).map(Kernel).map_err(fail)
    }

    /// With `gamma`, `degree` and `coef0` where the text does not say them, for rows of so many columns.
    fn resolve(&self, gamma: f64, degree: f64, coef0: f64, cols: usize) -> PyResult<Self> {
        let kernel = self.0.resolve(&Defaults { gamma, degree, coef0 });
        kernel.check(cols).map_err(fail)?;
        if kernel.is_precomputed() {
            return Err(PyValueError::new_err("a precomputed kernel is its own Gram matrix"));
        }
        Ok(Kernel(kernel))
    }

    /// Whether the rules of construction prove that every Gram matrix is positive semi-definite.
    fn proved(&self) -> bool {
        self.0.proved()
    }

    /// k(a_i, b_j)
    fn block<'py>(
        &self,
        py: Python<'py>,
        a: PyReadonlyArray2<'py, f64>,
        b: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (a, b) = (Rows::Dense(a), Rows::Dense(b));
        let (a, b) = (a.view().map_err(fail)?, b.view().map_err(fail)?);
        if a.cols() != b.cols() {
            let problem = format!("rows of {} and of {} columns have no kernel", a.cols(), b.cols());
            return Err(PyValueError::new_err(problem));
        }
        let mut out = vec![0.0; a.rows() * b.rows()];
        py.detach(|| self.0.block(&a, &b, &mut out));
        floats(py, out, &[a.rows(), b.rows()])
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }
}

/// A member of the exponential family with one natural parameter.
#[pyclass(frozen, module = "ermine._ermine")]
pub struct Family(family::Family);

#[pymethods]
impl Family {
    /// `parameter` is the power of tweedie or the dispersion alpha of negative_binomial.
    #[new]
    #[pyo3(signature = (name, parameter=None))]
    fn new(name: &str, parameter: Option<f64>) -> PyResult<Self> {
        use family::Family as F;
        let given =
            |what: &str| parameter.ok_or_else(|| PyValueError::new_err(format!("the {name} family needs its {what}")));
        let found = match name {
            "normal" => F::Normal,
            "bernoulli" => F::Bernoulli,
            "poisson" => F::Poisson,
            "gamma" => F::Gamma,
            "inverse_gaussian" => F::InverseGaussian,
            "tweedie" => match given("power")? {
                power if power > 1.0 && power < 2.0 => F::Tweedie { power },
                power => return Err(PyValueError::new_err(format!("power is between 1 and 2, not {power}"))),
            },
            "negative_binomial" => match given("alpha")? {
                alpha if alpha > 0.0 && alpha.is_finite() => F::NegativeBinomial { alpha },
                alpha => return Err(PyValueError::new_err(format!("alpha is above 0, not {alpha}"))),
            },
            _ => {
                let known = "normal, bernoulli, poisson, gamma, inverse_gaussian, tweedie, negative_binomial";
                return Err(PyValueError::new_err(format!("there is no family '{name}'; known are {known}")));
            }
        };
        Ok(Family(found))
    }

    /// `eta` of means, `a` of natural parameters, `mean` of natural parameters, `variance` of means.
    fn of<'py>(&self, py: Python<'py>, what: &str, at: PyReadonlyArray1<'py, f64>) -> PyResult<Bound<'py, PyAny>> {
        let function = match what {
            "eta" => family::Family::natural,
            "a" => family::Family::log_partition,
            "mean" => family::Family::mean,
            "variance" => family::Family::variance,
            _ => return Err(PyValueError::new_err(format!("a family has no '{what}'"))),
        };
        let at = at.as_slice()?;
        floats(py, at.iter().map(|at| function(&self.0, *at)).collect(), &[at.len()])
    }

    /// ln p(y) at a mean and a dispersion; NaN where y cannot be, and where there is no closed form.
    fn log_likelihood<'py>(
        &self,
        py: Python<'py>,
        y: PyReadonlyArray1<'py, f64>,
        mean: PyReadonlyArray1<'py, f64>,
        dispersion: f64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (y, mean) = (y.as_slice()?, mean.as_slice()?);
        let of = |(y, mean): (&f64, &f64)| match self.0.allows(*y).is_ok() && self.0.has_mean(*mean) {
            true => self.0.log_likelihood(*y, *mean, dispersion).unwrap_or(f64::NAN),
            false => f64::NAN,
        };
        floats(py, y.iter().zip(mean).map(of).collect(), &[y.len()])
    }
}

/// a(eta) of one of k categories, its gradient and its Hessian.
#[pyfunction]
pub fn categorical<'py>(
    py: Python<'py>,
    eta: PyReadonlyArray1<'py, f64>,
) -> PyResult<(f64, Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let eta = eta.as_slice()?;
    let k = eta.len();
    let mean = Categorical::mean(eta);
    let variance = (0..k * k).map(|at| Categorical::variance(&mean, at / k, at % k)).collect();
    Ok((Categorical::log_partition(eta), floats(py, mean.clone(), &[k])?, floats(py, variance, &[k, k])?))
}

/// Every solution of a least-squares problem.
#[pyclass(frozen, module = "ermine._ermine")]
pub struct Solutions(SolutionFamily);

#[pymethods]
impl Solutions {
    #[new]
    #[pyo3(signature = (x, y, weights=None, *, intercept=true))]
    fn new<'py>(
        py: Python<'py>,
        x: Rows<'py>,
        y: PyReadonlyArray1<'py, f64>,
        weights: Option<PyReadonlyArray1<'py, f64>>,
        intercept: bool,
    ) -> PyResult<Self> {
        let x = x.view().map_err(fail)?;
        x.check_finite(0).map_err(fail)?;
        let mut data = Data::new(x).real(y.as_slice()?).map_err(fail)?;
        if let Some(weights) = &weights {
            data = data.weights(weights.as_slice()?).map_err(fail)?;
        }
        run::apart(py, Ctx::default(), |ctx| solution_family(&data, ctx, intercept))?.map(Solutions).map_err(fail)
    }

    /// Orthonormal directions, in columns, that change no prediction.
    fn basis<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let basis = &self.0.basis;
        floats(py, basis.values.clone(), &[basis.rows, basis.cols])
    }

    /// Coefficients and intercept at these coordinates.
    fn at<'py>(&self, py: Python<'py>, u: PyReadonlyArray1<'py, f64>) -> PyResult<(Bound<'py, PyAny>, f64)> {
        let u = u.as_slice()?;
        if u.len() != self.0.basis.cols {
            let problem = format!("{} coordinates for {} directions", u.len(), self.0.basis.cols);
            return Err(PyValueError::new_err(problem));
        }
        let model = self.0.at(u);
        let intercept = model.intercept.first().copied().unwrap_or(0.0);
        Ok((floats(py, model.coef.values, &[model.coef.cols])?, intercept))
    }
}

/// Error, bias, variance, noise and net variance of refits on halves of the rows `train`, judged on the rows `test`.
#[pyfunction]
#[pyo3(signature = (spec, x, y, weights, train, test, *, refits, noise=None, seed=0, threads=1))]
pub fn bias_variance<'py>(
    py: Python<'py>,
    spec: &Bound<'py, Spec>,
    x: Rows<'py>,
    y: TargetArray<'py>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    train: Vec<usize>,
    test: Vec<usize>,
    refits: usize,
    noise: Option<f64>,
    seed: u64,
    threads: usize,
) -> PyResult<(f64, f64, f64, f64, f64)> {
    let spec = spec.get().inner();
    let x = x.view().map_err(fail)?;
    if train.iter().chain(&test).any(|row| *row >= x.rows()) {
        return Err(PyValueError::new_err(format!("a row beyond the {} rows", x.rows())));
    }
    let mut data = Data::new(x).target(y.view()?).map_err(fail)?;
    if let Some(weights) = &weights {
        data = data.weights(weights.as_slice()?).map_err(fail)?;
    }
    let work = |ctx: &Ctx| inspect::bias_variance(ctx, spec, &data, &train, &test, refits, noise);
    let found = run::apart(py, Ctx::new(seed).with_threads(threads), work)?.map_err(fail)?;
    Ok((found.error, found.bias, found.variance, found.noise, found.net_variance))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Trace>()?;
    module.add_class::<Kernel>()?;
    module.add_class::<Family>()?;
    module.add_class::<Solutions>()?;
    module.add_function(wrap_pyfunction!(categorical, module)?)?;
    module.add_function(wrap_pyfunction!(bias_variance, module)?)
}
