"""Inference about linear models, as R users know it."""

import json

import numpy as np


def summary(model, X, y, sample_weight=None, *, level=0.95):
    """Standard errors, tests and intervals of a fitted linear model, on the rows it was fitted to.

    Parameters
    ----------
    model : LinearRegression, LogisticRegression of two classes with C=inf, or a generalised linear model without a
    penalty X, y, sample_weight
        The rows of the fit.
    level : float
        Confidence level of the intervals.

    Returns
    -------
    summary : Summary
        Its `repr` is the table.

    Examples
    --------
    >>> import numpy as np, ermine
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2))
    >>> y = 1 + X @ [2.0, 0.0] + rng.normal(size=100)
    >>> found = ermine.summary(ermine.LinearRegression().fit(X, y), X, y)
    >>> bool(found.p_value[1] < 1e-9)
    True
    """
    from sklearn.utils.validation import check_is_fitted

    from ._convert import _rows

    check_is_fitted(model)
    X, y = model._checked(X, y, False)
    names = [str(name) for name in getattr(model, "feature_names_in_", [f"x{j}" for j in range(X.shape[1])])]
    params, _ = model._engine_params()
    target = model._target(y, getattr(model, "classes_", None))
    weights = model._weights(X, y, sample_weight)
    found, table = model._model.inference(params, _rows(X), target, weights, level=level, columns=names)
    return Summary(json.loads(found), table, names)


class Summary:
    """Inference about the coefficients of a linear model.

    Attributes
    ----------
    names : list of str
        The terms, `(Intercept)` first if there is one.
    coef, std_error, statistic, p_value : ndarray
        One value for each term, NaN for an aliased one; the statistic is t, or z where the dispersion is known.
    aliased : dict
        Columns that depend on others, each with the factors of the columns that it is made of (and a constant). The
        other terms are those of the model without them.
    interval : ndarray of shape (terms, 2)
        Confidence intervals at `level`.
    covariance : ndarray of shape (terms, terms)

    And, for least squares: `variance` (unbiased), `variance_ml`, `r2`, `adjusted_r2`, `f`, `f_p_value`,
    `log_likelihood`, `aic`, `bic`; for generalised linear models: `dispersion`, `deviance`, `null_deviance`, `pearson`,
    `log_likelihood`, `aic`, `bic`.
    """

    def __init__(self, found, table, names):
        terms, covariance = found.pop("terms"), found.pop("covariance")
        self._table = table
        self._columns = [term["column"] for term in terms]
        self.names = ["(Intercept)" if column is None else names[column] for column in self._columns]
        self.coef, self.std_error, self.statistic, self.p_value = (
            np.array([term[key] for term in terms], dtype=float)
            for key in ("estimate", "std_error", "statistic", "p_value")
        )
        self.interval = np.array([[term["low"], term["high"]] for term in terms], dtype=float)
        self.aliased = {
            names[alias["column"]]: {names[column]: factor for column, factor in alias["of"]}
            for alias in found.pop("aliased")
        }
        self.covariance = np.array(covariance["values"], dtype=float).reshape(covariance["rows"], covariance["cols"])
        for name, value in found.items():
            setattr(self, name, value)

    def predict(self, X):
        """Predictions of least squares with their intervals: columns fit, confidence low and high, prediction low and
        high."""
        from scipy.stats import t

        if not hasattr(self, "variance"):
            raise ValueError("intervals of predictions are for LinearRegression")
        X = np.asarray(X, dtype=float)
        known = ~np.isnan(self.coef)
        Z = np.column_stack([np.ones(len(X)) if j is None else X[:, j] for j in self._columns])[:, known]
        fit, spread = Z @ self.coef[known], np.einsum("ij,jk,ik->i", Z, self.covariance[np.ix_(known, known)], Z)
        quantile = t.ppf(0.5 + 0.5 * self.level, self.degrees)
        mean, row = quantile * np.sqrt(spread), quantile * np.sqrt(spread + self.variance)
        return np.column_stack([fit, fit - mean, fit + mean, fit - row, fit + row])

    def __repr__(self):
        return self._table
