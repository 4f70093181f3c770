"""`ermine.trace()`: the steps of a fit, the last of which is the model, to the last bit."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ermine


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 2))
    X[::2] += 1.2
    return X, np.arange(80) % 2, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=80)


#: Estimator, names in the last step beside the attributes that they are.
LAST = [
    (ermine.KMeans(n_clusters=3, n_init=4, random_state=0), {"centres": "cluster_centers_", "labels": "labels_"}),
    (
        ermine.GaussianMixture(2, n_init=3, random_state=0),
        {"means": "means_", "covariances": "covariances_", "weights": "weights_", "bound": "lower_bound_"},
    ),
    (ermine.Perceptron(max_iter=5, tol=None, random_state=0), {"coef": "coef_", "intercept": "intercept_"}),
    (
        ermine.SGDClassifier(max_iter=4, tol=None, average=True, random_state=0),
        {"coef": "coef_", "intercept": "intercept_"},
    ),
    (ermine.SGDRegressor(max_iter=4, tol=None, random_state=0), {"coef": "coef_", "intercept": "intercept_"}),
    (ermine.LogisticRegression(C=2.0), {"coef": "coef_", "intercept": "intercept_"}),
]


@pytest.mark.parametrize("estimator, names", LAST, ids=lambda value: getattr(value, "_name", ""))
def test_the_last_step_is_the_model(rows, estimator, names):
    X, y, heights = rows
    y = heights if estimator._name == "SGDRegressor" else y
    plain = clone(estimator).fit(X, y)
    with ermine.trace() as steps:
        model = clone(estimator).fit(X, y)
    assert len(steps) > 2 and steps[-1].number == steps.fits[-1].recorded - 1
    for step, attribute in names.items():
        found = np.ravel(getattr(model, attribute))
        assert np.array_equal(np.ravel(steps[-1].values[step]), found), step
        assert np.array_equal(found, np.ravel(getattr(plain, attribute))), "a fit that is watched is the same fit"


def test_boosting_and_trees_have_a_step_a_round(rows):
    X, y, _ = rows
    with ermine.trace() as steps:
        model = ermine.AdaBoostClassifier(n_estimators=9, random_state=0).fit(X, y)
    assert np.array_equal(np.ravel([step.values["alpha"] for step in steps]), model.estimator_weights_)
    with ermine.trace() as steps:
        model = ermine.DecisionTreeClassifier(max_depth=4).fit(X, y)
    assert len(steps) + 1 == model.get_n_leaves()


def test_fits_of_a_pipeline_and_of_a_loop_are_told_apart(rows):
    X, y, _ = rows
    with ermine.trace() as steps:
        model = make_pipeline(StandardScaler(), ermine.LogisticRegression()).fit(X, y)
        ermine.KMeans(2, random_state=0, n_init=1).fit(X)
    assert [type(fit.estimator).__name__ for fit in steps.fits] == ["LogisticRegression", "KMeans"]
    assert steps.fits[0].estimator is model[-1]
    assert np.array_equal(steps.fits[0].steps[-1].values["coef"], model[-1].coef_)
    assert steps[0].values.keys() >= {"centres"}


def test_outside_the_block_nothing_is_recorded_and_parameters_stay_scikit_learns(rows):
    X, y, _ = rows
    with ermine.trace() as steps:
        pass
    model = ermine.KMeans(2, n_init=1, random_state=0).fit(X)
    assert len(steps) == 0 and steps.fits == [] and "trace" not in model.get_params()
    with pytest.raises(ZeroDivisionError), ermine.trace():
        raise ZeroDivisionError
    with ermine.trace() as outer:
        with ermine.trace() as inner:
            ermine.KMeans(2, n_init=1, random_state=0).fit(X)
        assert len(inner) > 0 and len(outer) == 0


def test_a_long_fit_takes_no_more_than_it_may(rows):
    X, y, _ = rows
    with ermine.trace(most=300) as steps:
        ermine.Perceptron(max_iter=50, tol=None, random_state=0).fit(X, y)
    held = sum(value.size for step in steps[:-1] for value in step.values.values())
    assert held <= 300 and steps.fits[0].recorded > 1000
    with pytest.raises(ValueError, match="above 0"), ermine.trace(most=0):
        pass
