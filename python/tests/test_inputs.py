"""Every kind of input gives the model that C-ordered float64 gives, to the bit."""

import inspect

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import ermine
from conftest import CLASSES, PEERS, data_for, make, method_of

KINDS = {
    "F order": np.asfortranarray,
    "every second column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "rows backwards twice": lambda X: X[::-1].copy()[::-1],
    "list": lambda X: X.tolist(),
    "pandas": lambda X: pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]),
    "polars": lambda X: pl.DataFrame(X, schema=[f"c{j}" for j in range(X.shape[1])]),
}


def answers(model, X):
    """Everything a model says of rows; of its own rows when it knows no others."""
    found = []
    for name in ("predict", "predict_proba", "decision_function", "transform", "score_samples"):
        # The densities of PCA are of dense rows, as in scikit-learn.
        if hasattr(model, name) and not (name == "score_samples" and sp.issparse(X) and isinstance(model, ermine.PCA)):
            answer = getattr(model, name)(X)
            found.append(answer.toarray() if hasattr(answer, "toarray") else np.asarray(answer))
    if hasattr(model, "kneighbors"):
        found.extend(model.kneighbors(X))
    return found or [np.asarray(getattr(model, name)) for name in ("labels_", "embedding_") if hasattr(model, name)]


def assert_same(found, expected):
    assert len(found) == len(expected) > 0
    for a, b in zip(found, expected):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cls", CLASSES)
def test_kind(cls, kind):
    X, y = data_for(cls)
    expected = answers(make(cls).fit(X, y), X)
    other = KINDS[kind](X)
    fitted = make(cls).fit(other, y)
    if fitted.fit_log_.engine == "ermine":
        assert_same(answers(fitted, other), expected)
    else:
        # scikit-learn's sums depend on the layout.
        for a, b in zip(answers(fitted, other), expected):
            np.testing.assert_allclose(a, b, rtol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int32, np.uint8])
@pytest.mark.parametrize("cls", CLASSES)
def test_dtype(cls, dtype):
    X, y = data_for(cls)
    X = np.abs(np.round(X)).astype(dtype)
    expected = answers(make(cls).fit(X.astype(float), y), X.astype(float))
    found = answers(make(cls).fit(X, y), X)
    if cls is ermine.PCA and dtype == np.float32:
        expected, found = expected[:1], found[:1]  # the density is scikit-learn's, in the precision of the rows
    # Single precision in, single precision out, where scikit-learn does so; in between it is double.
    assert_same(found, [one.astype(other.dtype) for one, other in zip(expected, found)])


@pytest.mark.parametrize("cls", CLASSES)
def test_memory_map_is_read_only(cls, tmp_path):
    X, y = data_for(cls)
    path = tmp_path / "x.npy"
    np.save(path, X)
    mapped = np.load(path, mmap_mode="r")
    assert_same(answers(make(cls).fit(mapped, y), mapped), answers(make(cls).fit(X, y), X))


SPARSE = [cls for cls in CLASSES if cls._info["sparse"]]


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.coo_array])
@pytest.mark.parametrize("cls", SPARSE)
def test_sparse(cls, form):
    X, y = data_for(cls)
    X[np.abs(X) < 0.5] = 0
    # What scikit-learn's class refuses, ours refuses in the same way.
    peer = PEERS.get(cls.__name__)
    try:
        if peer is not None:
            known = inspect.signature(peer).parameters
            params = {name: value for name, value in make(cls).get_params(deep=False).items() if name in known}
            peer(**params).fit(sp.csr_matrix(X), y)
    except (TypeError, ValueError) as error:
        with pytest.raises(type(error)):
            make(cls).fit(form(X), y)
        return
    expected = answers(make(cls).fit(sp.csr_matrix(X), y), sp.csr_matrix(X))
    assert_same(answers(make(cls).fit(form(X), y), form(X)), expected)


def test_sparse_with_repeated_and_unsorted_entries():
    X = sp.csr_matrix((np.array([1.0, 2.0, 3.0, 4.0]), np.array([1, 0, 1, 0]), np.array([0, 2, 4])), shape=(2, 2))
    X.indices[:] = [1, 0, 1, 1]
    dense = X.toarray()
    before = X.data.copy()
    fitted = ermine.Ridge().fit(X, [1.0, 2.0])
    np.testing.assert_allclose(fitted.coef_, ermine.Ridge().fit(dense, [1.0, 2.0]).coef_, atol=1e-12)
    np.testing.assert_array_equal(X.data, before)


def test_contiguous_input_is_not_copied():
    import tracemalloc

    X = np.random.RandomState(0).rand(100_000, 20)
    y = X @ np.ones(20)
    tracemalloc.start()
    ermine.LinearRegression().fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < X.nbytes / 4, f"{peak} bytes were allocated for {X.nbytes} bytes of x"


@pytest.mark.parametrize("cls", [cls for cls in CLASSES if cls._info["task"] == "Classification"])
def test_labels_of_any_kind(cls):
    X, codes = data_for(cls)
    expected = make(cls).fit(X, codes).predict(X)
    for labels in (
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([False, True]),
        np.array([-7, 1_000_000_007]),
        np.array([0.0, 1.0]),
        np.array([10, 200], dtype=np.uint8),
    ):
        model = make(cls).fit(X, labels[codes])
        np.testing.assert_array_equal(model.classes_, labels)
        np.testing.assert_array_equal(model.predict(X), labels[expected])
        assert model.classes_.dtype == labels.dtype
    model = make(cls).fit(X, pd.Series(["no", "yes"])[codes])
    np.testing.assert_array_equal(model.predict(X), np.array(["no", "yes"])[expected])


def test_numbers_are_no_labels():
    X, _ = data_for(ermine.LogisticRegression)
    with pytest.raises(ValueError, match="Unknown label type"):
        ermine.LogisticRegression().fit(X, X[:, 0])


def test_feature_names():
    X, y = data_for(ermine.Ridge)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = ermine.Ridge().fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert model.n_features_in_ == 4
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["b", "a", "c", "d"]])
    frame.iloc[3, 1] = np.nan
    with pytest.raises(ValueError, match="column 'b', row 3.*NaN"):
        ermine.Ridge().fit(frame, y)
    with pytest.raises(ValueError, match="column 'b', row 3.*NaN"):
        model.predict(frame)


@pytest.mark.parametrize("cls", [cls for cls in CLASSES if method_of(make(cls))])
def test_wrong_width_is_refused(cls):
    if cls.__name__.startswith("Dummy"):
        pytest.skip("it looks at no column, and scikit-learn's takes any width too")
    if cls._info["one_column"]:
        pytest.skip("its column may be a flat array, which has no width")
    X, y = data_for(cls)
    model = make(cls).fit(X, y)
    with pytest.raises(ValueError, match="X has 3 features, but .* is expecting 4 features as input"):
        method_of(model)(X[:, :3])
