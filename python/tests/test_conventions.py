"""What people do with scikit-learn's estimators beside fitting and predicting: write into them, go on, watch, work in place."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification

import ermine

X, Y = load_iris(return_X_y=True)

WRITTEN = [
    (ermine.StandardScaler(), "mean_", "transform"),
    (ermine.MinMaxScaler(), "scale_", "transform"),
    (ermine.PowerTransformer(standardize=False), "lambdas_", "transform"),
    (ermine.PCA(2), "components_", "transform"),
    (ermine.KMeans(3, random_state=0), "cluster_centers_", "transform"),
    (ermine.GaussianNB(), "class_prior_", "predict_proba"),
    (ermine.GaussianMixture(2, random_state=0), "means_", "score_samples"),
    (ermine.LogisticRegression(), "coef_", "predict_proba"),
    (ermine.Ridge(), "intercept_", "predict"),
]


@pytest.mark.parametrize(("model", "name", "method"), WRITTEN, ids=lambda value: getattr(value, "_name", value))
def test_what_is_written_counts(model, name, method):
    model.fit(X, Y)
    assert model.fit_log_.engine == "ermine"
    before = getattr(model, method)(X)
    kept = getattr(model, name)
    setattr(model, name, kept * np.linspace(0.5, 1.5, np.size(kept)).reshape(np.shape(kept)))
    after = getattr(model, method)(X)
    assert not np.allclose(after, before)
    theirs = model._peer(**{key: value for key, value in model.get_params().items() if key in model._peer_params})
    theirs.__dict__.update({key: value for key, value in vars(model).items() if key not in ("_model", "_written")})
    np.testing.assert_array_equal(after, getattr(theirs, method)(X))
    setattr(model, name, kept)
    np.testing.assert_array_equal(getattr(model, method)(X), before)


def test_weights_of_a_network_are_taken_up():
    model = ermine.MLPClassifier((4,), max_iter=5, warm_start=True, random_state=0).fit(X, Y)
    before = model.predict_proba(X)
    model.coefs_ = [np.zeros_like(layer) for layer in model.coefs_]
    np.testing.assert_allclose(model.predict_proba(X[:1]), model.predict_proba(X[1:2]))
    model.fit(X, Y)
    assert model.fit_log_.engine == "scikit-learn" and "written" in model.fit_log_.notes[0]
    assert not np.allclose(model.predict_proba(X), before)


def test_other_classes_do_not_go_on():
    model = ermine.MLPClassifier((4,), max_iter=5, warm_start=True, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="warm_start can only be used where `y` has the same classes"):
        model.fit(X, Y + (Y == 2))


@pytest.mark.parametrize("cls", [ermine.StandardScaler, ermine.MinMaxScaler, ermine.MaxAbsScaler, ermine.RobustScaler])
def test_in_place(cls):
    expected = cls().fit_transform(X)
    rows = X.copy()
    model = cls(copy=False).fit(rows)
    np.testing.assert_array_equal(rows, X)
    assert model.fit_log_.engine == "ermine"
    assert model.transform(rows) is rows
    np.testing.assert_array_equal(rows, expected)
    assert model.inverse_transform(rows) is rows
    np.testing.assert_allclose(rows, X)


def test_half_precision():
    assert ermine.StandardScaler().fit_transform(X.astype(np.float16)).dtype == np.float16


def test_verbose_tells_of_every_pass(capsys):
    model = ermine.KMeans(3, n_init=1, random_state=0, verbose=1).fit(X)
    said = capsys.readouterr().out
    assert said.count("inertia") == model.n_iter_ and "Converged at iteration" in said
    ermine.MLPClassifier((4,), max_iter=3, verbose=True, random_state=0).fit(X, Y)
    assert capsys.readouterr().out.count("loss = ") == 3
    ermine.KMeans(3, n_init=1, random_state=0).fit(X)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["HistGradientBoostingClassifier", "HistGradientBoostingRegressor"])
def test_a_row_without_weight_is_no_row(name):
    x, y = make_classification(600, 4, random_state=0)
    weight = np.random.RandomState(0).randint(0, 2, 600).astype(float)
    cls = getattr(ermine, name)
    weighted = cls(max_iter=5).fit(x, y, sample_weight=weight)
    left = cls(max_iter=5).fit(x[weight > 0], y[weight > 0])
    assert weighted.fit_log_.engine == left.fit_log_.engine == "ermine"
    np.testing.assert_array_equal(weighted.predict(x), left.predict(x))


def test_steps_of_a_network_are_there_when_they_can_be_taken():
    assert hasattr(ermine.MLPClassifier(solver="adam"), "partial_fit")
    assert not hasattr(ermine.MLPClassifier(solver="lbfgs"), "partial_fit")
