"""What a Python user relies on: parameters, pickles, threads, interrupts, warnings, weights."""

import copy
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.callback.tests._utils import RecordingCallback
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils._param_validation import InvalidParameterError

import ermine
from conftest import CLASSES, data_for, make, method_of, of_task
from ermine._complete import _gaps
from test_inputs import answers, assert_same


@pytest.mark.parametrize("cls", CLASSES)
def test_pickle_copy_clone(cls):
    X, y = data_for(cls)
    model = make(cls).fit(X, y)
    expected = answers(model, X)
    assert_same(answers(pickle.loads(pickle.dumps(model)), X), expected)
    assert_same(answers(copy.deepcopy(model), X), expected)
    assert_same(answers(copy.copy(model), X), expected)
    fresh = clone(model)
    assert not hasattr(fresh, "fit_log_")
    assert_same(answers(fresh.fit(X, y), X), expected)


@pytest.mark.parametrize("cls", CLASSES)
def test_threads_give_the_same_bits(cls):
    X, y = data_for(cls, n=700)
    expected = answers(make(cls, n_jobs=1).fit(X, y), X)
    for n_jobs in (2, 3, None):
        assert_same(answers(make(cls, n_jobs=n_jobs).fit(X, y), X), expected)


@pytest.mark.parametrize("cls", [cls for cls in CLASSES if method_of(make(cls))])
def test_not_fitted(cls):
    X, _ = data_for(cls)
    model = make(cls)
    if not model.__sklearn_tags__().requires_fit:
        pytest.skip("there is nothing to fit")
    # A selection by a model says so in the words of its own.
    with pytest.raises(
        ValueError
        if cls is ermine.SelectFromModel
        else AttributeError
        if cls is ermine.TargetEncoder
        else NotFittedError
    ):
        method_of(model)(X)


@pytest.mark.parametrize("cls", CLASSES)
def test_log(cls):
    X, y = data_for(cls)
    log = make(cls).fit(X, y).fit_log_
    ends = {
        "MaxIter",
        "Rounding",
        "Stalled",
        "TooSlow",
        "Stationary",
        "Settled",
        "EarlyStopping",
        "Passes",
        "ScikitLearn",
    }
    assert log.passes >= 1 and log.stop in {"Exact", "Converged"} | ends
    assert "stop=" in repr(log)


def test_parameters_are_refused_by_name():
    X, y = data_for(ermine.Ridge)
    for alpha in (-1.0, object()):
        with pytest.raises(InvalidParameterError, match="The 'alpha' parameter of Ridge must be"):
            ermine.Ridge(alpha=alpha).fit(X, y)
    # Of a class that scikit-learn has not.
    with pytest.raises(ValueError, match="GeneralizedLinearRegressor: alpha is -1.0, but it must be a number >= 0"):
        ermine.GeneralizedLinearRegressor(alpha=-1.0).fit(X, y)
    with pytest.raises(TypeError, match="alpah"):
        ermine.Ridge(alpah=1.0)


def test_numpy_scalars_are_parameters():
    X, y = data_for(ermine.Ridge)
    expected = ermine.Ridge(alpha=2.0, fit_intercept=False).fit(X, y).coef_
    for alpha in (np.float64(2), np.float32(2), np.int64(2), 2):
        np.testing.assert_array_equal(
            ermine.Ridge(alpha=alpha, fit_intercept=np.bool_(False)).fit(X, y).coef_, expected
        )


def test_convergence_warning():
    X, y = data_for(ermine.LogisticRegression, n=200)
    with pytest.warns(ConvergenceWarning, match="LogisticRegression stopped after 1 passes"):
        model = ermine.LogisticRegression(max_iter=1, tol=1e-12).fit(X, y)
    assert not model.fit_log_.converged
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        assert ermine.LogisticRegression().fit(X, y).fit_log_.converged


def test_class_weight_is_a_row_weight():
    X, y = data_for(ermine.LogisticRegression, n=200)
    y = np.array(["a", "b"])[y]
    by_class = ermine.LogisticRegression(class_weight={"a": 1.0, "b": 3.0}).fit(X, y)
    by_row = ermine.LogisticRegression().fit(X, y, sample_weight=np.where(y == "b", 3.0, 1.0))
    np.testing.assert_array_equal(by_class.coef_, by_row.coef_)
    balanced = ermine.LogisticRegression(class_weight="balanced").fit(X[y != "z"], y)
    shares = np.where(y == "a", len(y) / (2 * np.sum(y == "a")), len(y) / (2 * np.sum(y == "b")))
    np.testing.assert_allclose(
        balanced.coef_, ermine.LogisticRegression().fit(X, y, sample_weight=shares).coef_, rtol=1e-9
    )


def test_seed():
    X, _ = data_for(ermine.KMeans, n=300)

    def labels(state):
        return ermine.KMeans(5, init="random", n_init=1, max_iter=1, random_state=state).fit(X).labels_

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        np.testing.assert_array_equal(labels(3), labels(3))
        np.testing.assert_array_equal(labels(np.random.RandomState(1)), labels(np.random.RandomState(1)))
        assert any((labels(0) != labels(seed)).any() for seed in range(1, 5))


def test_start_from_an_array():
    X, _ = data_for(ermine.KMeans, n=300)
    start = X[:3]
    model = ermine.KMeans(3, init=start).fit(X)
    np.testing.assert_array_equal(model.cluster_centers_, ermine.KMeans(3, init=start.tolist()).fit(X).cluster_centers_)
    assert clone(model).init is not None
    with pytest.raises(ValueError, match="init"):
        ermine.KMeans(4, init=start).fit(X)


def test_inside_scikit_learn():
    X, y = data_for(ermine.LogisticRegression, n=200)
    pipeline = make_pipeline(StandardScaler(), ermine.LogisticRegression())
    assert cross_val_score(pipeline, X, y).mean() > 0.6
    search = GridSearchCV(ermine.LogisticRegression(), {"C": [0.01, 1.0]}, n_jobs=2).fit(X, y)
    assert search.best_params_["C"] in (0.01, 1.0)


def test_set_output():
    X, _ = data_for(ermine.KMeans)
    frame = ermine.KMeans(3, random_state=0).set_output(transform="pandas").fit(X).transform(X)
    assert frame.columns.tolist() == ["kmeans0", "kmeans1", "kmeans2"]


def test_a_scikit_learn_signature_is_taken():
    X, y = data_for(ermine.LogisticRegression)
    model = ermine.LogisticRegression(solver="lbfgs", verbose=0, random_state=3).fit(X, y)
    np.testing.assert_array_equal(model.coef_, ermine.LogisticRegression().fit(X, y).coef_)


def test_other_threads_run_during_a_fit():
    X = np.random.RandomState(0).rand(60_000, 30)
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ermine.KMeans(40, max_iter=20, tol=0.0, random_state=0, n_jobs=1).fit(X)
    ended = time.perf_counter()
    done.set()
    thread.join()
    during = [tick for tick in ticks if started < tick < ended]
    assert len(during) >= 5, f"{len(during)} ticks in {ended - started:.2f} s"


INTERRUPTED = """
import time, warnings, numpy as np, ermine
X = np.random.RandomState(0).rand(200_000, 30)
print("ready", flush=True)
try:
    ermine.KMeans(200, n_init=1000, tol=0.0, random_state=0).fit(X)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_interrupt_stops_a_fit():
    process = subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert out == "interrupted\n" and process.returncode == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
def test_fit_in_a_forked_child():
    """Threads do not survive a fork; the child must start its own."""
    X, y = data_for(ermine.Ridge, n=5000)
    expected = ermine.Ridge(n_jobs=2).fit(X, y).coef_
    code = 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        signal.alarm(30)
        try:
            code = int(not np.array_equal(ermine.Ridge(n_jobs=2).fit(X, y).coef_, expected))
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("cls", [cls for cls in CLASSES if hasattr(make(cls), "partial_fit")])
def test_partial_fit(cls):
    X, y = data_for(cls, n=120)
    extra = {"classes": np.unique(y)} if cls in of_task("Classification") else {}
    model = make(cls)
    for start in range(0, 120, 40):
        model.partial_fit(X[start : start + 40], y[start : start + 40], **extra)
    assert all(np.all(np.isfinite(found)) for found in answers(model, X))


def test_every_class_is_in_its_module():
    import importlib

    for cls in CLASSES:
        module = importlib.import_module(f"ermine.{cls._info['module']}")
        assert getattr(module, cls.__name__) is cls is getattr(ermine, cls.__name__)
        assert getattr(ermine, cls._info["module"]) is module


def test_nothing_of_an_earlier_fit_is_left():
    """What is made when it is asked for is made from the model of the last fit."""
    X, y = data_for(ermine.DecisionTreeClassifier)
    for cls in (ermine.DecisionTreeClassifier, ermine.RandomForestClassifier):
        model = make(cls).fit(X, y)
        model.apply(X), getattr(model, "tree_", None), getattr(model, "estimators_", None)
        again, fresh = model.fit(X[:20, ::-1], y[:20]), make(cls).fit(X[:20, ::-1], y[:20])
        np.testing.assert_array_equal(again.apply(X), fresh.apply(X))
        trees = [(again, fresh)] if hasattr(again, "tree_") else list(zip(again.estimators_, fresh.estimators_))
        for a, b in trees:
            np.testing.assert_array_equal(a.tree_.feature, b.tree_.feature)
    near = ermine.NearestNeighbors(n_neighbors=2).fit(X)
    near.kneighbors()
    expected = ermine.NearestNeighbors(n_neighbors=2).fit(X[:20]).kneighbors()
    assert_same(near.fit(X[:20]).kneighbors(), expected)


def test_a_fit_that_fails_leaves_the_one_before():
    X, y = data_for(ermine.CategoricalNB)
    model = ermine.CategoricalNB().fit(X, y)
    expected = model.predict_proba(X)
    with pytest.raises(ValueError, match="Negative values"):
        model.fit(-1 - X, y)
    np.testing.assert_array_equal(model.predict_proba(X), expected)


def test_none_is_no_penalty_and_all_columns_and_not_the_default():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=120) > 0).astype(int)
    forest = ermine.RandomForestClassifier(5, max_features=None, random_state=0).fit(X, y)
    every = ermine.RandomForestClassifier(5, max_features=1.0, random_state=0).fit(X, y)
    assert np.array_equal(forest.predict_proba(X), every.predict_proba(X))
    for cls in (ermine.SGDClassifier, ermine.SGDRegressor):
        given = {"max_iter": 5, "tol": None, "learning_rate": "constant", "eta0": 0.01, "random_state": 0}
        free, weak = cls(penalty=None, **given).fit(X, y), cls(alpha=0.0, **given).fit(X, y)
        assert np.array_equal(free.coef_, weak.coef_) and free.fit_log_.engine == "ermine"
        assert not np.array_equal(free.coef_, cls(alpha=0.1, **given).fit(X, y).coef_)


def test_gap_of_each_target():
    X, y = load_diabetes(return_X_y=True)
    Y = np.column_stack([y, y**2 / 100, X[:, 0] * 1000])
    for cls in (ermine.Lasso, ermine.ElasticNet):
        ours = cls(alpha=0.1).fit(X, Y)
        assert ours.dual_gap_.shape == (3,)
        # At coefficients away from the solution the formula is scikit-learn's.
        loose = cls._peer(alpha=0.1, tol=0.5, max_iter=2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loose.fit(X, Y)
        np.testing.assert_allclose(_gaps(loose, X, Y, np.ones(len(y))), loose.dual_gap_, rtol=1e-6)
        assert (np.abs(ours.dual_gap_) <= 1e-4 * Y.var(axis=0)).all()


def test_a_matrix_of_products_is_taken_for_what_it_says():
    X, y = load_diabetes(return_X_y=True)
    X = X - X.mean(axis=0)
    model = ermine.Lasso(alpha=0.1, precompute=X.T @ X).fit(X, y)
    assert model.fit_log_.engine == "ermine"
    np.testing.assert_array_equal(model.coef_, ermine.Lasso(alpha=0.1).fit(X, y).coef_)
    other = X.T @ X
    other[0, 0] += 1.0
    assert ermine.Lasso(alpha=0.1, precompute=other).fit(X, y).fit_log_.engine == "scikit-learn"
    with pytest.warns(UserWarning, match="Gram matrix was provided but X was centered"):
        ermine.Lasso(alpha=0.1, precompute=X.T @ X).fit(X + 1.0, y)


def test_callbacks_are_called():
    """By scikit-learn's own loops, to which a fit with callbacks goes."""
    X, y = load_iris(return_X_y=True)
    recorded = RecordingCallback()
    assert ermine.StandardScaler().set_callbacks(recorded).fit(X).fit_log_.engine == "scikit-learn"
    assert recorded.count_hooks("on_fit_task_begin") == 1
    assert ermine.StandardScaler().fit(X).fit_log_.engine == "ermine"


@pytest.mark.parametrize("cls", [ermine.SVC, ermine.NuSVC, ermine.SVR, ermine.OneClassSVM])
def test_sparse_and_dense_rows_give_one_machine(cls):
    X, y = data_for(cls)
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    dense, sparse = make(cls, kernel="linear").fit(X, y), make(cls, kernel="linear").fit(sp.csr_matrix(X), y)
    np.testing.assert_array_equal(sparse.support_, dense.support_)
    np.testing.assert_array_equal(sparse.dual_coef_.toarray(), dense.dual_coef_)


FORESTS = [
    ermine.RandomForestClassifier,
    ermine.RandomForestRegressor,
    ermine.ExtraTreesClassifier,
    ermine.ExtraTreesRegressor,
]


@pytest.mark.parametrize("cls", FORESTS)
def test_trees_draw_the_rows_of_scikit_learn(cls):
    """Tools draw them again from the seed of a tree, with scikit-learn's own functions."""
    X, y = load_iris(return_X_y=True)
    for params in ({}, {"bootstrap": True, "max_samples": 0.37}, {"bootstrap": True, "max_samples": 20}):
        ours, theirs = (which(6, random_state=3, **params).fit(X, y) for which in (cls, cls._peer))
        assert [tree.random_state for tree in ours.estimators_] == [tree.random_state for tree in theirs.estimators_]
        for a, b in zip(ours.estimators_samples_, theirs.estimators_samples_):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("cls", FORESTS)
def test_a_forest_goes_on(cls):
    X, y = load_iris(return_X_y=True)
    params = {"random_state": 5, "bootstrap": True}
    whole = cls(20, oob_score=True, **params).fit(X, y)
    model = cls(8, warm_start=True, **params).fit(X, y).set_params(n_estimators=20, oob_score=True).fit(X, y)
    assert model.fit_log_.engine == "ermine"
    np.testing.assert_array_equal(model.apply(X), whole.apply(X))
    np.testing.assert_allclose(model.feature_importances_, whole.feature_importances_, rtol=1e-12)
    assert model.oob_score_ == whole.oob_score_
    with pytest.warns(UserWarning, match="does not fit new trees"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="must be larger or equal"):
        model.set_params(n_estimators=3).fit(X, y)


def test_what_is_free_adds_up_to_nothing():
    """Without a penalty the coefficients of three classes are known up to what they share."""
    X, y = load_iris(return_X_y=True)
    X = X + np.random.RandomState(0).randn(*X.shape)
    model = ermine.LogisticRegression(C=np.inf, max_iter=500).fit(X, y)
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0.0, atol=1e-10)
    assert abs(model.intercept_.sum()) < 1e-10
    again = model.set_params(warm_start=True).fit(X, y)
    assert again.n_iter_[0] <= 2 and again.fit_log_.engine == "ermine"
