"""Categories of every kind, and a target that is not given away."""

import numpy as np
import pandas as pd
import pytest
import sklearn.preprocessing

import ermine


def words(n=400, levels=80, seed=0):
    """Many levels, and a target that has nothing to do with them."""
    rng = np.random.default_rng(seed)
    names = np.array([f"level {i}" for i in range(levels)], dtype=object)
    return names[rng.integers(0, levels, (n, 2))], rng.standard_normal(n)


def correlation(T, y):
    return abs(np.corrcoef(np.asarray(T).mean(1), y)[0, 1])


@pytest.mark.parametrize("kind", ["numbers", "classes", "codes"])
def test_fit_transform_does_not_see_the_target_of_its_row(kind):
    X, y = words()
    if kind == "classes":
        y = np.where(y > 0, "up", "down")
    if kind == "codes":
        X = np.array([[float(word.split()[1]) for word in row] for row in X])
    number = y if kind != "classes" else (y == "up").astype(float)
    encoder = ermine.TargetEncoder(smooth=0.0, random_state=0)
    crossed = encoder.fit_transform(X, y)
    assert crossed.shape == (400, 2)
    assert correlation(crossed, number) < 0.2 < 0.5 < correlation(encoder.transform(X), number)
    theirs = sklearn.preprocessing.TargetEncoder(smooth=0.0, random_state=0).fit(X, y)
    np.testing.assert_allclose(encoder.transform(X), theirs.transform(X), rtol=1e-9, atol=1e-12)


def test_fit_transform_is_fit_and_transform_elsewhere():
    X, y = words()
    for encoder in (ermine.OneHotEncoder(), ermine.OrdinalEncoder()):
        a, b = encoder.fit_transform(X), encoder.transform(X)
        assert (a != b).sum() == 0
    numbers = np.random.default_rng(1).standard_normal((50, 3))
    weights = np.arange(50.0)
    scaler = ermine.StandardScaler()
    np.testing.assert_array_equal(
        scaler.fit_transform(numbers, sample_weight=weights),
        ermine.StandardScaler().fit(numbers, sample_weight=weights).transform(numbers),
    )


def test_missing_unseen_and_mixed_values():
    X = np.array([["b", 3], ["a", 1], [None, 2], ["b", 1], [np.nan, 3]], dtype=object)
    ours, theirs = ermine.OrdinalEncoder().fit(X[:, 1:]), sklearn.preprocessing.OrdinalEncoder().fit(X[:, 1:])
    np.testing.assert_array_equal(ours.transform(X[:, 1:]), theirs.transform(X[:, 1:]))
    encoder = ermine.OneHotEncoder(handle_unknown="ignore").fit(X)
    assert encoder.categories_[0][:3].tolist() == ["a", "b", None] and np.isnan(encoder.categories_[0][3])
    numbers = np.array([[1.0, 7.0], [3.0, 7.0]])
    for cls in (ermine.OneHotEncoder, ermine.OrdinalEncoder):
        assert [part.tolist() for part in cls().fit(numbers).categories_] == [[1.0, 3.0], [7.0]]
    found = encoder.transform(np.array([["zebra", 1], ["a", 9]], dtype=object)).toarray()
    assert found.sum() == 2.0
    with pytest.raises(ValueError):
        ermine.OneHotEncoder(handle_unknown="error").fit(X).transform(np.array([["zebra", 1]], dtype=object))


def test_equal_words_are_one_level_wherever_they_stand_in_memory():
    column = ["".join(["wo", "rd", str(i % 3)]) for i in range(10_000)]  # every one an object of its own
    found = ermine.OrdinalEncoder().fit_transform(pd.DataFrame({"x": column}))
    np.testing.assert_array_equal(found[:, 0], np.arange(10_000) % 3)
