"""Cross-validation and searches inside the engine give the scores that fitting one by one gives; the rest is
scikit-learn's."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.linear_model
import sklearn.model_selection as theirs
import sklearn.preprocessing
from sklearn.datasets import make_classification, make_regression
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.utils._test_common.instance_generator import PER_ESTIMATOR_XFAIL_CHECKS
from sklearn.utils.estimator_checks import parametrize_with_checks

import ermine
from ermine import model_selection as ours
from ermine.compose import ColumnTransformer
from ermine.pipeline import make_pipeline

X2, Y2 = make_classification(200, 6, n_informative=4, random_state=0)
X3, Y3 = make_classification(240, 6, n_informative=4, n_classes=3, random_state=1)
XR, YR = make_regression(150, 5, noise=20, random_state=2)


@pytest.fixture
def engine(monkeypatch):
    """How often the engine was asked."""
    calls = []
    evaluate = ours._Folds.evaluate

    def counted(self, *args):
        found = evaluate(self, *args)
        calls.append(len(found))
        return found

    monkeypatch.setattr(ours._Folds, "evaluate", counted)
    return calls


def equal(a, b):
    """All but the times; the models are the same to the bit, sums over rows may differ in the last one."""
    assert set(a) == set(b)
    for name in a:
        if "time" not in name and name != "params" and not name.startswith("param_"):
            np.testing.assert_allclose(a[name], b[name], rtol=1e-12, atol=1e-14, err_msg=name)


SPLITS = [
    (5, None),
    (theirs.KFold(4, shuffle=True, random_state=0), None),
    (theirs.RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0), None),
    (theirs.GroupKFold(3), np.arange(200) % 10),
    (theirs.StratifiedGroupKFold(3), np.arange(200) % 10),
    (theirs.LeaveOneGroupOut(), np.arange(200) % 4),
    (theirs.TimeSeriesSplit(3, gap=2), None),
    (theirs.ShuffleSplit(3, random_state=0), None),
    ([(np.arange(100), np.arange(100, 200)), (np.arange(200) >= 100, np.arange(200) < 100)], None),
]


@pytest.mark.parametrize("cv, groups", SPLITS, ids=lambda value: type(value).__name__)
def test_splits(cv, groups, engine):
    model = ermine.RandomForestClassifier(n_estimators=10, random_state=3)
    a = ours.cross_validate(model, X2, Y2, cv=cv, groups=groups, return_train_score=True)
    b = theirs.cross_validate(model, X2, Y2, cv=cv, groups=groups, return_train_score=True)
    equal(a, b)
    assert engine


def test_leave_one_out(engine):
    a = ours.cross_val_score(ermine.Ridge(), XR, YR, cv=theirs.LeaveOneOut(), scoring="neg_mean_squared_error")
    b = theirs.cross_val_score(ermine.Ridge(), XR, YR, cv=theirs.LeaveOneOut(), scoring="neg_mean_squared_error")
    np.testing.assert_allclose(a, b, rtol=1e-12)
    assert engine == [150]


@pytest.mark.parametrize(
    "scoring",
    [None, "accuracy", "roc_auc", "f1", "neg_log_loss", ["accuracy", "roc_auc", "balanced_accuracy"], {"a": "f1", "b": "matthews_corrcoef"}],
    ids=str,
)  # fmt: skip
def test_scoring(scoring, engine):
    model = ermine.LogisticRegression()
    a, b = (module.cross_validate(model, X2, Y2, cv=4, scoring=scoring) for module in (ours, theirs))
    assert set(a) == set(b) and engine
    for name in set(a) - {"fit_time", "score_time"}:
        np.testing.assert_allclose(a[name], b[name], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "scoring", [None, "r2", "neg_mean_absolute_error", "neg_root_mean_squared_error", "explained_variance"]
)
def test_scoring_of_numbers(scoring, engine):
    a, b = (module.cross_val_score(ermine.Ridge(), XR, YR, scoring=scoring) for module in (ours, theirs))
    np.testing.assert_allclose(a, b, rtol=1e-12)
    assert engine


@pytest.mark.parametrize("scoring", ["roc_auc_ovr", "f1_macro", "neg_log_loss", "roc_auc_ovo_weighted"])
def test_scoring_of_several_classes(scoring, engine):
    labels = np.array(["ant", "bee", "cat"])[Y3]
    a, b = (module.cross_val_score(ermine.GaussianNB(), X3, labels, scoring=scoring) for module in (ours, theirs))
    np.testing.assert_allclose(a, b, rtol=1e-12)
    assert engine


ELSEWHERE = [
    (sklearn.linear_model.Ridge(), XR, YR, {}),
    (ermine.Ridge(), XR, YR, {"scoring": lambda model, X, y: 1.0}),
    (ermine.Ridge(), XR, YR, {"params": {"sample_weight": np.ones(150)}}),
    (ermine.Ridge(), XR, YR, {"return_estimator": True}),
    (ermine.LogisticRegression(class_weight="balanced"), X2, Y2, {}),
    (ermine.LogisticRegression(), X2, Y2 + 1, {"scoring": "f1"}),
    (ermine.LogisticRegression(), X3, Y3, {"cv": [(np.flatnonzero(Y3 < 2), np.arange(50))]}),
    (make_pipeline(sklearn.preprocessing.StandardScaler(), ermine.Ridge()), XR, YR, {}),
    (ermine.KMeans(n_clusters=3, random_state=0), X2, None, {}),
]


@pytest.mark.parametrize("model, X, y, options", ELSEWHERE, ids=lambda value: type(value).__name__)
def test_what_is_scikit_learns(model, X, y, options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        a, b = (module.cross_validate(model, X, y, **options) for module in (ours, theirs))
    np.testing.assert_array_equal(a["test_score"], b["test_score"])


def test_kinds_of_rows(engine):
    frame = pd.DataFrame(XR, columns=list("abcde"))
    found = [ours.cross_val_score(ermine.Ridge(), X, YR) for X in (XR, frame, XR.tolist(), np.asfortranarray(XR))]
    for scores in found[1:]:
        np.testing.assert_array_equal(found[0], scores)
    np.testing.assert_allclose(ours.cross_val_score(ermine.Ridge(), sp.csr_matrix(XR), YR), found[0], rtol=1e-9)
    assert len(engine) == 5
    two = np.column_stack([YR, -YR])
    equal(ours.cross_validate(ermine.Ridge(), XR, two), theirs.cross_validate(ermine.Ridge(), XR, two))


SEARCHES = [
    ("GridSearchCV", ermine.Ridge(), {"alpha": [0.1, 1.0, 10.0]}, XR, YR, {}),
    ("GridSearchCV", ermine.Ridge(), [{"alpha": [0.1]}, {"fit_intercept": [True, False]}], XR, YR, {"return_train_score": True}),
    ("GridSearchCV", ermine.LogisticRegression(), {"C": [0.1, 1.0]}, X2, Y2, {"scoring": ["accuracy", "roc_auc"], "refit": "roc_auc"}),
    ("GridSearchCV", ermine.LogisticRegression(), {"C": [0.1, 1.0]}, X2, Y2, {"refit": False}),
    ("GridSearchCV", ermine.RandomForestClassifier(n_estimators=8, random_state=1), {"max_depth": [2, None]}, X3, Y3, {"cv": 3}),
    ("RandomizedSearchCV", ermine.Ridge(), {"alpha": np.logspace(-2, 2, 20)}, XR, YR, {"n_iter": 5, "random_state": 0}),
    ("HalvingGridSearchCV", ermine.Ridge(), {"alpha": np.logspace(-2, 2, 9)}, XR, YR, {"random_state": 0, "min_resources": 20}),
    ("HalvingRandomSearchCV", ermine.RandomForestClassifier(random_state=0), {"max_depth": [1, 2, 3, 4, 5, 6]}, X2, Y2,
     {"random_state": 0, "resource": "n_estimators", "max_resources": 20, "min_resources": 5, "cv": 3}),
    ("GridSearchCV", make_pipeline(ermine.StandardScaler(), ermine.Ridge()), {"ridge__alpha": [0.1, 10.0]}, XR, YR, {}),
    ("GridSearchCV", make_pipeline(ermine.StandardScaler(), ermine.RandomForestClassifier(n_estimators=5, random_state=0)),
     {"randomforestclassifier__max_depth": [1, 3]}, X2, Y2, {}),
]  # fmt: skip


@pytest.mark.parametrize(
    "name, model, grid, X, y, options",
    SEARCHES,
    ids=[f"{s[0]}-{type(s[1]).__name__}-{i}" for i, s in enumerate(SEARCHES)],
)
def test_searches(name, model, grid, X, y, options, engine):
    a, b = (getattr(module, name)(model, grid, **options).fit(X, y) for module in (ours, theirs))
    assert engine
    equal(a.cv_results_, b.cv_results_)
    assert a.cv_results_["params"] == b.cv_results_["params"]
    for attribute in ("best_index_", "best_params_", "n_splits_", "multimetric_", "n_resources_", "n_iterations_"):
        assert getattr(a, attribute, None) == getattr(b, attribute, None), attribute
    assert getattr(a, "best_score_", 0) == pytest.approx(getattr(b, "best_score_", 0), rel=1e-12)
    if options.get("refit") is not False:
        np.testing.assert_array_equal(a.predict(X), b.predict(X))
        assert a.score(X, y) == pytest.approx(b.score(X, y), rel=1e-12)


def test_the_number_of_threads_does_not_matter(engine):
    model, grid = ermine.RandomForestClassifier(n_estimators=6, random_state=0), {"max_depth": [1, 2, 3]}
    found = [ours.GridSearchCV(model, grid, n_jobs=n).fit(X2, Y2).cv_results_ for n in (1, 2, 3)]
    for other in found[1:]:
        equal(found[0], other)


def test_failures_are_told():
    with pytest.warns(FitFailedWarning, match="alpha"):
        search = ours.GridSearchCV(ermine.Ridge(), {"alpha": [1.0, -1.0]}).fit(XR, YR)
    assert np.isnan(search.cv_results_["mean_test_score"][1]) and search.best_params_ == {"alpha": 1.0}
    with pytest.raises(ValueError, match="alpha"):
        ours.GridSearchCV(ermine.Ridge(), {"alpha": [-1.0]}).fit(XR, YR)
    with pytest.raises(ValueError, match="alpha"):
        ours.GridSearchCV(ermine.Ridge(), {"alpha": [1.0, -1.0]}, error_score="raise").fit(XR, YR)
    with pytest.warns(ConvergenceWarning, match="of 5 fits"):
        ours.cross_val_score(ermine.HuberRegressor(max_iter=1), XR, YR)


def test_columns_of_a_frame():
    frame = pd.DataFrame({"a": XR[:, 0], "b": np.where(XR[:, 1] > 0, "up", "down")})
    prepare = ColumnTransformer([("number", ermine.StandardScaler(), ["a"]), ("word", ermine.OneHotEncoder(), ["b"])])
    search = ours.GridSearchCV(make_pipeline(prepare, ermine.Ridge()), {"ridge__alpha": [0.1, 1.0]}).fit(frame, YR)
    expected = theirs.GridSearchCV(search.estimator, search.param_grid).fit(frame, YR)
    assert search.best_score_ == pytest.approx(expected.best_score_, rel=1e-12)


def test_other_names_are_scikit_learns():
    assert ours.train_test_split is theirs.train_test_split
    assert ours.TunedThresholdClassifierCV is theirs.TunedThresholdClassifierCV


@parametrize_with_checks(
    [
        ours.GridSearchCV(ermine.Ridge(), {"alpha": [0.1, 1.0]}, cv=2),
        ours.GridSearchCV(ermine.LogisticRegression(), {"C": [0.1, 1.0]}, cv=2, error_score="raise"),
        ours.RandomizedSearchCV(ermine.Ridge(), {"alpha": [0.1, 1.0]}, n_iter=2, cv=2, random_state=0),
        ours.HalvingGridSearchCV(ermine.Ridge(), {"alpha": [0.1, 1.0]}, cv=2, random_state=0, min_resources="smallest"),
    ],
    expected_failed_checks=lambda search: PER_ESTIMATOR_XFAIL_CHECKS[getattr(theirs, type(search).__name__)],
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
