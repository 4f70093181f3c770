"""The same objective has the same solution: coefficients and predictions of scikit-learn's class, to tight
tolerance."""

import numpy as np
import pytest
import sklearn.cluster
import sklearn.linear_model
from sklearn.datasets import load_diabetes, load_iris, load_wine

import ermine


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(
    ("name", "params"), [("LinearRegression", {}), ("Ridge", {"alpha": 0.3}), ("Ridge", {"alpha": 30.0})]
)
def test_least_squares(name, params, fit_intercept, weighted):
    X, y = load_diabetes(return_X_y=True)
    weights = np.random.RandomState(0).rand(len(y)) if weighted else None
    ours = getattr(ermine, name)(fit_intercept=fit_intercept, **params).fit(X, y, sample_weight=weights)
    theirs = getattr(sklearn.linear_model, name)(fit_intercept=fit_intercept, **params).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9, atol=1e-9)


def test_several_targets():
    X, y = load_diabetes(return_X_y=True)
    Y = np.column_stack([y, X[:, 0] - y, y**2])
    ours, theirs = ermine.LinearRegression().fit(X, Y), sklearn.linear_model.LinearRegression().fit(X, Y)
    assert ours.coef_.shape == theirs.coef_.shape and ours.predict(X).shape == Y.shape
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-8)


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_regression(load, C, classes):
    X, y = load(return_X_y=True)
    X = (X - X.mean(0)) / X.std(0)
    X, y = X[y < classes], y[y < classes]
    ours = ermine.LogisticRegression(C=C, tol=1e-10, max_iter=10_000).fit(X, y)
    theirs = sklearn.linear_model.LogisticRegression(C=C, tol=1e-10, solver="newton-cholesky").fit(X, y)
    assert ours.coef_.shape == theirs.coef_.shape and ours.intercept_.shape == theirs.intercept_.shape
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    scores = ours.decision_function(X), theirs.decision_function(X)
    if classes > 2:
        # A constant added to all intercepts changes no probability.
        scores = [score - score.mean(axis=1, keepdims=True) for score in scores]
    np.testing.assert_allclose(*scores, rtol=1e-4, atol=1e-4)


def test_k_means_from_the_same_start():
    X, _ = load_wine(return_X_y=True)
    X = (X - X.mean(0)) / X.std(0)
    ours = ermine.KMeans(5, init=X[:5], tol=0.0).fit(X)
    theirs = sklearn.cluster.KMeans(5, init=X[:5], n_init=1, tol=0.0).fit(X)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-12, atol=1e-12)
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-12)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-10)
    assert ours.score(X) == pytest.approx(theirs.score(X), rel=1e-10)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
