"""What the tests share."""

import inspect
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.datasets import make_blobs, make_classification, make_regression
from sklearn.utils import all_estimators

import ermine
from ermine import _models

CLASSES = [getattr(_models, name) for name in _models.__all__]
PEERS = dict(all_estimators())


# What is known not to hold yet, one test a line with the reason in front; each line is work to do, not a licence.
KNOWN = {}
for line in (Path(__file__).parent / "known_failures.txt").read_text().splitlines():
    if line and not line.startswith("#"):
        test, _, reason = line.partition("  # ")
        KNOWN[test.strip()] = reason


def pytest_collection_modifyitems(items):
    for item in items:
        name = item.nodeid.split("/")[-1]
        if name in KNOWN:
            item.add_marker(pytest.mark.xfail(reason=KNOWN[name], strict=True))


def of_task(*tasks):
    return [cls for cls in CLASSES if cls._info["task"] in tasks]


def data_for(cls, n=80, p=4, seed=0):
    """Rows, and a target where the class wants one; positive where it wants that."""
    rng = np.random.RandomState(seed)
    task = cls._info["task"]
    if task == "Classification":
        X, y = make_classification(n, p, n_informative=3, n_redundant=0, n_classes=2, random_state=seed)
    elif task == "Regression":
        X, y = make_regression(n, p, noise=1.0, random_state=seed)
        y = y / 50 + 10
    else:
        X, y = make_blobs(n, p, centers=3, random_state=seed)
    if cls._info["non_negative"]:
        X = np.abs(X)
    if cls._info["one_column"]:
        X = X[:, :1].copy()
    if cls.__name__ == "CategoricalNB":
        X = X.round()
    if task == "Regression" and cls._info["target"] != "Any":
        y = np.abs(y) + 0.1
    del rng
    return X, y


def make(cls, **params):
    """An instance that is quick and, where the seed matters, repeatable."""
    known = inspect.signature(cls.__init__).parameters
    quick = {"n_estimators": 5, "random_state": 0, "use_legacy_attributes": False}
    given = {name: value for name, value in quick.items() if name in known}
    members = [
        name
        for name, forms in cls._forms.items()
        if any("List" in f and "Model" in f["List"] for f in forms if isinstance(f, dict))
    ]
    for name in members:
        base = ermine.LinearRegression if cls._info["task"] == "Regression" else ermine.LogisticRegression
        given[name] = [("a", base()), ("b", base(fit_intercept=False))]
    if "estimator" in known and known["estimator"].default is inspect.Parameter.empty:
        given["estimator"] = ermine.LogisticRegression()
    return cls(**{**given, **params})


def method_of(model):
    """The first method that answers for new rows, if there is one."""
    for name in ("predict", "transform", "score_samples", "decision_function"):
        if hasattr(model, name):
            return getattr(model, name)
    return None


@pytest.fixture(autouse=True)
def quiet():
    with sklearn.config_context():
        yield



def command_line():
    """The built program: ERMINE, or what cargo made last."""
    named = os.environ.get("ERMINE") or shutil.which("ermine")
    built = [Path(__file__).parents[2] / "target" / profile / "ermine" for profile in ("release", "debug")]
    found = [Path(named)] if named else [path for path in built if path.exists()]
    if not found:
        pytest.skip("the command line is not built", allow_module_level=True)
    return max(found, key=lambda path: path.stat().st_mtime)
