"""Inference, against the textbook formulas."""

import numpy as np
import pytest
from scipy import stats

import ermine


def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, 1.0 + X @ [2.0, 0.0, -1.0] + rng.normal(size=60)


def test_least_squares_by_the_textbook():
    X, y = problem()
    found = ermine.summary(ermine.LinearRegression().fit(X, y), X, y, level=0.9)
    Z = np.column_stack([np.ones(60), X])
    inverse = np.linalg.inv(Z.T @ Z)
    w = inverse @ Z.T @ y
    variance = np.sum((y - Z @ w) ** 2) / 56
    error = np.sqrt(variance * np.diag(inverse))
    np.testing.assert_allclose(found.coef, w, rtol=1e-10)
    np.testing.assert_allclose(found.std_error, error, rtol=1e-10)
    np.testing.assert_allclose(found.p_value, 2 * stats.t.sf(np.abs(w / error), 56), rtol=1e-8)
    np.testing.assert_allclose(found.interval[:, 1], w + stats.t.ppf(0.95, 56) * error, rtol=1e-10)
    assert found.names == ["(Intercept)", "x0", "x1", "x2"]
    intervals = found.predict(X[:2])
    leverage = np.einsum("ij,jk,ik->i", Z[:2], inverse, Z[:2])
    np.testing.assert_allclose(intervals[:, 4], Z[:2] @ w + stats.t.ppf(0.95, 56) * np.sqrt(variance * (1 + leverage)))
    assert "Std. Error" in repr(found) and "R-squared" in repr(found)


def test_counts_have_z_and_penalties_are_refused():
    X, _ = problem()
    y = np.random.default_rng(1).poisson(np.exp(0.3 * X[:, 0] + 0.5))
    found = ermine.summary(ermine.PoissonRegressor(alpha=0).fit(X, y), X, y)
    mean = np.exp(found.coef[0] + X @ found.coef[1:])
    Z = np.column_stack([np.ones(60), X])
    covariance = np.linalg.inv(Z.T @ (mean[:, None] * Z))
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-6)
    assert found.dispersion == 1.0 and "Pr(>|z|)" in repr(found)
    with pytest.raises((ValueError, NotImplementedError), match="penalty"):
        ermine.summary(ermine.PoissonRegressor(alpha=1.0).fit(X, y), X, y)
    with pytest.raises((ValueError, NotImplementedError), match="Ridge"):
        ermine.summary(ermine.Ridge().fit(X, y), X, y)


def test_classes_without_a_penalty():
    X, y = problem()
    labels = np.where(y + np.random.default_rng(3).normal(size=60) > 1, "yes", "no")
    found = ermine.summary(ermine.LogisticRegression(C=np.inf, tol=1e-10).fit(X, labels), X, labels, level=0.9)
    Z = np.column_stack([np.ones(60), X])
    p = 1 / (1 + np.exp(-Z @ found.coef))
    np.testing.assert_allclose(Z.T @ (p - (labels == "yes")), 0, atol=1e-6)
    covariance = np.linalg.inv(Z.T @ ((p * (1 - p))[:, None] * Z))
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-6)
    half = stats.norm.ppf(0.95) * found.std_error
    np.testing.assert_allclose(found.interval, np.column_stack([found.coef - half, found.coef + half]))
    assert found.bic == pytest.approx(found.aic - 2 * 4 + 4 * np.log(60)) and "5 %" in repr(found)
    with pytest.raises((ValueError, NotImplementedError), match="penalty"):
        ermine.summary(ermine.LogisticRegression().fit(X, labels), X, labels)


def test_aliased_columns():
    X, y = problem()
    Z = np.column_stack([X[:, 0], X[:, 0] / 24, X[:, 1:]])
    with pytest.warns(UserWarning, match="column 1 is redundant: it equals 0.0417 x column 0"):
        model = ermine.LinearRegression().fit(Z, y)
    found, plain = ermine.summary(model, Z, y), ermine.summary(ermine.LinearRegression().fit(X, y), X, y)
    assert list(found.aliased) == ["x1"] and np.isnan(found.std_error[2])
    known = ~np.isnan(found.coef)
    np.testing.assert_allclose(found.coef[known], plain.coef, rtol=1e-8)
    np.testing.assert_allclose(found.std_error[known], plain.std_error, rtol=1e-8)
    np.testing.assert_allclose(found.predict(Z[:3]), plain.predict(X[:3]), rtol=1e-8)
