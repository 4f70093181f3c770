"""Inside other people's tools: searches in processes and threads, pickles of any kind, explainers, routing, display."""

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline

import ermine
from conftest import CLASSES, data_for, make
from test_inputs import answers, assert_same


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_search_in_processes_and_threads(backend):
    X, y = load_breast_cancer(return_X_y=True)
    pipeline = make_pipeline(ermine.StandardScaler(), ermine.LogisticRegression())
    grid = {"logisticregression__C": [0.1, 1.0, 10.0]}
    alone = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    with joblib.parallel_backend(backend, n_jobs=2):
        beside = GridSearchCV(pipeline, grid, cv=3, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(beside.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"])
    np.testing.assert_array_equal(beside.predict_proba(X), alone.predict_proba(X))


@pytest.mark.parametrize("cls", CLASSES)
def test_several_threads(cls):
    """Fits side by side give what each gives alone."""
    X, y = data_for(cls)
    expected = answers(make(cls).fit(X, y), X)
    with ThreadPoolExecutor(4) as pool:
        for model in pool.map(lambda _: make(cls).fit(X, y), range(4)):
            assert_same(answers(model, X), expected)


def test_cloudpickle_of_a_class_made_on_the_spot():
    cloudpickle = pytest.importorskip("cloudpickle", reason="a package of its own")

    class Shifted(ermine.Ridge):
        def predict(self, X):
            return super().predict(X) + 1

    X, y = load_diabetes(return_X_y=True)
    model = Shifted().fit(X, y)
    code = "import pickle, sys, numpy; model, X, y = pickle.load(sys.stdin.buffer); print(numpy.array_equal(model.predict(X), y))"
    sent = cloudpickle.dumps((model, X, model.predict(X)))
    run = subprocess.run([sys.executable, "-c", code], input=sent, capture_output=True, check=True)
    assert run.stdout.decode().strip() == "True"


@pytest.mark.parametrize("cls", CLASSES)
def test_joblib_dump(cls, tmp_path):
    X, y = data_for(cls)
    model = make(cls).fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib")
    assert_same(answers(joblib.load(tmp_path / "model.joblib"), X), answers(model, X))
    assert_same(answers(pickle.loads(pickle.dumps(model)), X), answers(model, X))


def test_metadata_routing():
    X, y = load_iris(return_X_y=True)
    weight = np.where(y == 2, 5.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = ermine.LogisticRegression().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(make_pipeline(ermine.StandardScaler().set_fit_request(sample_weight=False), model), {})
        found = search.fit(X, y, sample_weight=weight).best_estimator_[-1]
        scaled = ermine.StandardScaler().fit_transform(X)
        np.testing.assert_array_equal(found.coef_, ermine.LogisticRegression().fit(scaled, y, weight).coef_)
        assert found.fit_log_.engine == "ermine"
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
            GridSearchCV(ermine.LogisticRegression(), {}).fit(X, y, sample_weight=weight)
        scores = cross_validate(model, X, y, params={"sample_weight": weight}, cv=3)
        assert len(scores["test_score"]) == 3


@pytest.mark.parametrize("cls", CLASSES)
def test_html(cls):
    X, y = data_for(cls)
    model = make(cls)
    assert cls.__name__ in model._repr_html_()
    shown = make_pipeline(model.fit(X, y))._repr_html_()
    assert cls.__name__ in shown and "sk-estimator" in shown
    assert repr(model).startswith(cls.__name__)


def test_optuna():
    optuna = pytest.importorskip("optuna", reason="brings a database along")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    X, y = load_diabetes(return_X_y=True)

    def loss(trial):
        model = ermine.Ridge(alpha=trial.suggest_float("alpha", 1e-4, 1e3, log=True))
        return -cross_validate(model, X, y, cv=3)["test_score"].mean()

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(loss, n_trials=15, n_jobs=2)
    assert study.best_params["alpha"] < 1.0 and study.best_value < -0.45


TREES = ["DecisionTree", "RandomForest", "ExtraTrees", "HistGradientBoosting"]


@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
@pytest.mark.parametrize("family", TREES)
def test_shap_of_trees(family, kind):
    shap = pytest.importorskip("shap", reason="brings numba along")
    X, y = load_breast_cancer(return_X_y=True) if kind == "Classifier" else load_diabetes(return_X_y=True)
    X = X.astype(np.float32).astype(float)  # shap, as scikit-learn, goes through trees in single precision
    params = {"max_iter": 20} if family == "HistGradientBoosting" else {"random_state": 0, "max_depth": 6}
    params |= {"n_estimators": 10} if family in ("RandomForest", "ExtraTrees") else {}
    model = getattr(ermine, family + kind)(**params).fit(X, y)
    assert model.fit_log_.engine == "ermine"
    explained = shap.TreeExplainer(model)(X[:50])
    total = explained.values.sum(axis=1) + explained.base_values
    if kind == "Regressor":
        expected = model.predict(X[:50])
    elif family == "HistGradientBoosting":
        expected = model.decision_function(X[:50])
    else:
        expected = model.predict_proba(X[:50])
    np.testing.assert_allclose(total.reshape(expected.shape), expected, atol=1e-5)


def test_shap_of_linear_models_and_by_itself():
    shap = pytest.importorskip("shap", reason="brings numba along")
    X, y = load_diabetes(return_X_y=True)
    model = ermine.Ridge().fit(X, y)
    for explainer in (shap.LinearExplainer(model, X), shap.Explainer(model, X)):
        explained = explainer(X[:20])
        np.testing.assert_allclose(explained.values.sum(axis=1) + explained.base_values, model.predict(X[:20]))
    X, y = load_iris(return_X_y=True)
    kept = shap.Explainer(ermine.KNeighborsClassifier().fit(X, y).predict_proba, X)(X[:3])
    assert kept.values.shape == (3, 4, 3)


@pytest.mark.parametrize("cls", CLASSES)
def test_skops(cls):
    io = pytest.importorskip("skops.io", reason="a package of its own")
    X, y = data_for(cls)
    model = make(cls).fit(X, y)
    written = io.dumps(model)
    unknown = io.get_untrusted_types(data=written)
    assert all(name.startswith(("ermine.", "sklearn.", "numpy.", "scipy.", "builtins.")) for name in unknown), unknown
    assert_same(answers(io.loads(written, trusted=unknown), X), answers(model, X))


def test_mlflow(tmp_path):
    """A run logs a fitted model, and whoever loads it, as scikit-learn's or as any model, gets the same answers."""
    mlflow = pytest.importorskip("mlflow", reason="a large package")
    X, y = load_iris(return_X_y=True)
    model = ermine.RandomForestClassifier(5, random_state=0).fit(X, y)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'runs.db'}")
    mlflow.create_experiment("ermine", artifact_location=(tmp_path / "artifacts").as_uri())
    mlflow.set_experiment("ermine")
    with mlflow.start_run():
        logged = mlflow.sklearn.log_model(model, name="model", serialization_format="cloudpickle")
    loaded = mlflow.sklearn.load_model(logged.model_uri)
    assert type(loaded) is ermine.RandomForestClassifier
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(mlflow.pyfunc.load_model(logged.model_uri).predict(X), model.predict(X))


@pytest.mark.parametrize(
    "name",
    [
        "GaussianNB", "KMeans", "KNeighborsClassifier", "LinearSVC",
        "LogisticRegression", "MLPClassifier", "PCA", "RandomForestClassifier", "Ridge", "SVC", "StandardScaler",
    ],
)  # fmt: skip
def test_skl2onnx(name, monkeypatch):
    """It knows classes by identity, so it names ours as unknown; told that they are scikit-learn's, it finds in them
    all that its converters read. `ermine export --to onnx` needs none of this."""
    skl2onnx = pytest.importorskip("skl2onnx", reason="a package of its own")
    onnxruntime = pytest.importorskip("onnxruntime")
    from skl2onnx._supported_operators import sklearn_operator_name_map as known
    from skl2onnx.common.exceptions import MissingShapeCalculator

    cls = getattr(ermine, name)
    X, y = load_iris(return_X_y=True)
    X = X.astype(np.float32)
    model = make(cls, **({"max_iter": 20} if name == "MLPClassifier" else {})).fit(X, y)
    assert model.fit_log_.engine == "ermine"
    with pytest.raises(MissingShapeCalculator, match=name):
        skl2onnx.to_onnx(model, X[:1])
    monkeypatch.setitem(known, cls, known[cls._peer])
    graph = skl2onnx.to_onnx(model, X[:1]).SerializeToString()
    found = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"]).run(None, {"X": X})[0]
    expected = model.predict(X) if hasattr(model, "predict") else model.transform(X)
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-4, atol=1e-4)
