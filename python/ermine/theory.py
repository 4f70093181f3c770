"""What a course writes on the board, computed by the engine: kernels and their validity, exponential families, all
solutions of a least-squares problem, leverages, bias and variance."""

from typing import NamedTuple

import numpy as np
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import _check_sample_weight

from . import _ermine
from ._convert import _rows, _threads

__all__ = [
    "BiasVariance",
    "Categorical",
    "Family",
    "Kernel",
    "Solutions",
    "Validity",
    "bias_variance",
    "leverage",
    "solutions",
]


def _matrix(X):
    return check_array(X, dtype=np.float64, order="C")


def _vector(values):
    return np.ascontiguousarray(np.atleast_1d(np.asarray(values, dtype=np.float64)).ravel())


class Validity(NamedTuple):
    """Whether a kernel is one: an inner product in some space, so that every Gram matrix is positive semi-definite.

    `proved` by the rules of construction, for all rows; `smallest` and `largest` eigenvalue of the Gram matrix of these
    rows. `valid` if proved, or if no eigenvalue of these rows is below zero by more than rounding: that is no proof.
    """

    valid: bool
    proved: bool
    smallest: float
    largest: float


class Kernel:
    """A kernel as a formula: `Kernel("0.5*rbf(gamma=0.1) + poly(degree=2)[0,3]")`.

    Sums, products, powers, exponentials, `normalize(k)`, columns and feature maps of kernels are kernels. The text is
    what `SVC(kernel=...)` takes on the command line.

    Parameters
    ----------
    text : str
        For example `linear`, `rbf(gamma=0.5)`, `poly(degree=3, coef0=1)`, `laplacian`, `sigmoid`, `cosine`, `2*linear +
        rbf^2`.
    gamma, degree, coef0 : float
        Where the text does not say them; gamma is 1 / columns then.

    Examples
    --------
    >>> import numpy as np
    >>> from ermine.theory import Kernel
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> Kernel("linear + rbf(gamma=1)").validity(X).proved
    True
    >>> Kernel("sigmoid(gamma=1, coef0=-1)").validity(X).valid
    False
    """

    def __init__(self, text, *, gamma=None, degree=3.0, coef0=0.0):
        self.text, self.gamma, self.degree, self.coef0 = text, gamma, degree, coef0
        self._kernel = _ermine.Kernel(text)

    def _for(self, X):
        gamma = 1 / X.shape[1] if self.gamma is None else self.gamma
        return self._kernel.resolve(gamma, self.degree, self.coef0, X.shape[1])

    def gram(self, X, Z=None):
        """The kernel of every row of X with every row of Z, or of X."""
        X = _matrix(X)
        return self._for(X).block(X, X if Z is None else _matrix(Z))

    __call__ = gram

    def validity(self, X):
        """Whether this is a kernel, and on these rows the smallest eigenvalue of the Gram matrix."""
        X = _matrix(X)
        kernel = self._for(X)
        gram = kernel.block(X, X)
        if not np.allclose(gram, gram.T, rtol=1e-9, atol=1e-12 * max(np.abs(gram).max(), 1e-300)):
            return Validity(False, False, float("nan"), float("nan"))
        values = np.linalg.eigvalsh(gram)
        rounding = 1e-9 * max(np.trace(np.abs(gram)), np.finfo(float).tiny)
        proved = kernel.proved()
        return Validity(proved or bool(values[0] >= -rounding), proved, float(values[0]), float(values[-1]))

    def __repr__(self):
        return f"Kernel({str(self._kernel)!r})"


class Family:
    """A member of the exponential family: `p(y) = b(y) exp((T(y) eta - a(eta)) / dispersion)` with `T(y) = y`.

    The mean is a'(eta) and the variance, over the dispersion, a''(eta).

    Parameters
    ----------
    name : str
        `normal`, `bernoulli`, `poisson`, `gamma`, `inverse_gaussian`, `tweedie` or `negative_binomial`.
    parameter : float, optional
        Power of tweedie (variance mean^power), alpha of negative_binomial (variance mean + alpha mean^2).

    Examples
    --------
    >>> from ermine.theory import Family
    >>> poisson = Family("poisson")
    >>> round(float(poisson.mean(poisson.eta(3.0))), 12)
    3.0
    """

    def __init__(self, name, parameter=None):
        self.name, self.parameter = name, parameter
        self._family = _ermine.Family(name, parameter)

    def _of(self, what, at):
        shape = np.shape(at)
        return self._family.of(what, _vector(at)).reshape(shape)[()]

    def T(self, y):
        """The sufficient statistic, which is y itself."""
        return np.asarray(y, dtype=np.float64)[()]

    def eta(self, mean):
        """The natural parameter of a mean."""
        return self._of("eta", mean)

    def a(self, eta):
        """The log-partition function."""
        return self._of("a", eta)

    def mean(self, eta):
        """a'(eta)"""
        return self._of("mean", eta)

    def variance(self, eta):
        """a''(eta)"""
        return self._of("variance", self.mean(eta))

    def log_likelihood(self, y, eta, dispersion=1.0):
        """ln p(y); NaN for a y that cannot be, and for tweedie, which has no closed form."""
        y, eta = np.broadcast_arrays(np.asarray(y, dtype=np.float64), np.asarray(eta, dtype=np.float64))
        found = self._family.log_likelihood(_vector(y), _vector(self.mean(eta)), float(dispersion))
        return found.reshape(y.shape)[()]

    def b(self, y, dispersion=1.0):
        """The base measure: what is left of p(y) without eta."""
        # Any eta gives the same; that of the mean y has the fewest digits to lose, but y may be at the edge.
        middle = {"bernoulli": 0.5, "normal": 0.0}.get(self.name, 1.0)
        eta = self.eta(middle)
        y = np.asarray(y, dtype=np.float64)
        return np.exp(self.log_likelihood(y, eta, dispersion) - (y * eta - self.a(eta)) / dispersion)[()]

    def __repr__(self):
        more = "" if self.parameter is None else f", {self.parameter}"
        return f"Family({self.name!r}{more})"


class Categorical:
    """One of k categories: `p(y) = exp(eta[y] - a(eta))`, T(y) the indicators, b(y) = 1.

    The gradient of a is the softmax, its Hessian the covariance of the indicators.

    Examples
    --------
    >>> from ermine.theory import Categorical
    >>> Categorical().mean([0.0, 0.0]).tolist()
    [0.5, 0.5]
    """

    def T(self, y, k):
        """The indicators of the category y among k."""
        return np.eye(k)[np.asarray(y, dtype=int)]

    def b(self, y):
        return np.ones(np.shape(y))[()]

    def a(self, eta):
        """ln of the sum of exp(eta)"""
        return _ermine.categorical(_vector(eta))[0]

    def mean(self, eta):
        """The gradient of a."""
        return _ermine.categorical(_vector(eta))[1]

    def covariance(self, eta):
        """The Hessian of a."""
        return _ermine.categorical(_vector(eta))[2]

    def eta(self, mean):
        """Natural parameters of probabilities; one of many, as a constant may be added."""
        return np.log(_vector(mean))


class Solutions:
    """Every solution of a least-squares problem: `w(u) = particular + basis @ u`.

    Attributes
    ----------
    coef, intercept
        The particular solution, of least norm.
    basis : ndarray of shape (columns, directions)
        Orthonormal directions that change no prediction on the rows; none where the columns are independent.
    """

    def __init__(self, found):
        self._found = found
        self.basis = found.basis()
        self.coef, self.intercept = self.at(np.zeros(self.basis.shape[1]))

    def at(self, u):
        """Coefficients and intercept of the solution with these coordinates."""
        return self._found.at(_vector(u))

    def __repr__(self):
        return f"Solutions({self.basis.shape[0]} columns, {self.basis.shape[1]} free directions)"


def _weights(X, sample_weight):
    if sample_weight is None:
        return None
    return np.ascontiguousarray(_check_sample_weight(sample_weight, X, dtype=np.float64))


def solutions(X, y, sample_weight=None, *, fit_intercept=True):
    """All solutions of `min_w ||y - Xw||^2`, the null space of the columns with them.

    Examples
    --------
    >>> import numpy as np
    >>> from ermine.theory import solutions
    >>> X = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])  # the second column is twice the first
    >>> found = solutions(X, [1.0, 2.0, 3.0])
    >>> found.basis.shape
    (2, 1)
    >>> coef, intercept = found.at([5.0])
    >>> bool(np.allclose(X @ coef + intercept, [1, 2, 3]))
    True
    """
    X = _matrix(X)
    weights = _weights(X, sample_weight)
    return Solutions(_ermine.Solutions(_rows(X), _vector(y), weights, intercept=bool(fit_intercept)))


def leverage(X, sample_weight=None, *, fit_intercept=True):
    """The hat values: how much the fitted value of each row follows its own target, `h_i = d fit_i / d y_i`.

    They are the diagonal of `H = X (X'WX)^+ X'W`, between 0 and 1 (1/n with an intercept), and their sum is the number
    of coefficients that the rows determine. The error of a row that is left out is `(y_i - fit_i) / (1 - h_i)`.

    Examples
    --------
    >>> import numpy as np
    >>> from ermine.theory import leverage
    >>> leverage([[0.0], [1.0], [2.0], [9.0]]).round(2).tolist()
    [0.43, 0.33, 0.27, 0.97]
    """
    X = _matrix(X)
    weights = np.ones(len(X)) if sample_weight is None else _weights(X, sample_weight)
    shares = weights / weights.sum()
    if fit_intercept:
        X = X - shares @ X
    X = X * np.sqrt(weights)[:, None]
    # Columns of one length, so that what is redundant does not hang on their units.
    lengths = np.sqrt((X * X).sum(axis=0))
    U, s, _ = np.linalg.svd(X / np.where(lengths > 0, lengths, 1), full_matrices=False)
    kept = s > max(X.shape) * np.finfo(float).eps * (s[0] if len(s) else 0)
    return (U[:, kept] ** 2).sum(axis=1) + (shares if fit_intercept else 0)


class BiasVariance(NamedTuple):
    """Mean error of one refit and its parts.

    Numbers: `error = bias + variance + noise`, bias squared. Classes: `bias` is the share of rows that most refits get
    wrong, `variance` how often a refit differs from the majority, `net_variance` what of that raises the error.
    """

    error: float
    bias: float
    variance: float
    noise: float
    net_variance: float


def bias_variance(
    estimator, X, y, *, refits=20, test_size=0.3, noise=None, sample_weight=None, random_state=0, n_jobs=None
):
    """Where the error of an estimator comes from, by refits on disjoint halves of the rows.

    Two refits that share no row are independent, so the product of their errors has the bias without the variance.
    (Bootstrap samples share rows, and would count common errors as bias.)

    Parameters
    ----------
    estimator : one of Ermine's classifiers or regressors
        Is not fitted itself.
    refits : int
        An even number.
    test_size : float
        Share of the rows that the refits are judged on.
    noise : float, optional
        Variance of the target itself. Otherwise it is estimated from pairs of nearest rows, an upper bound.

    Returns
    -------
    parts : BiasVariance

    Examples
    --------
    >>> import numpy as np, ermine
    >>> from ermine.theory import bias_variance
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(300, 1))
    >>> y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=300)
    >>> line = bias_variance(ermine.LinearRegression(), X, y, noise=0.01)
    >>> tree = bias_variance(ermine.DecisionTreeRegressor(), X, y, noise=0.01)
    >>> line.bias > line.variance and tree.bias < tree.variance
    True
    """
    from sklearn.base import clone, is_classifier

    estimator = clone(estimator)
    if not hasattr(estimator, "_engine_params"):
        raise TypeError(f"bias_variance takes one of Ermine's estimators, not {type(estimator).__name__}")
    X = _matrix(X)
    weights = _weights(X, sample_weight)
    if is_classifier(estimator):
        names, codes = np.unique(np.asarray(y), return_inverse=True)
        target = (codes.astype(np.uint32), len(names))
    else:
        target = _vector(y)
    if len(X) != len(np.asarray(y)):
        raise ValueError(f"{len(X)} rows have {len(np.asarray(y))} values of the target")
    params, starts = estimator._engine_params()
    if starts:
        raise ValueError(f"{starts[0][0]} is an array, which refits do not take")
    order = check_random_state(random_state).permutation(len(X))
    tested = max(1, round(test_size * len(X)))
    train, test = np.sort(order[tested:]), np.sort(order[:tested])
    found = _ermine.bias_variance(
        _ermine.Spec(estimator._name, params),
        _rows(X),
        target,
        weights,
        train.tolist(),
        test.tolist(),
        refits=refits,
        noise=noise,
        seed=estimator._seed(),
        threads=_threads(n_jobs),
    )
    return BiasVariance(*found)
