"""The command line and Python fit the same model, to the last bit. (A Rust test holds the third door to the first.)"""

import subprocess

import numpy as np
import pandas as pd
import pytest

import ermine
from conftest import CLASSES, command_line, data_for, make

DEFAULTS = {
    "LogisticRegression": {"tol": 1e-6},
    "PoissonRegressor": {"tol": 1e-6},
    "IsotonicRegression": {"out_of_bounds": "clip"},
}
# Folds are scikit-learn's in Python and the engine's own on the command line: here both get the engine's.
OWN_FOLDS = {"StackingClassifier"}
# Why there is nothing to compare.
APART = {
    "LogisticRegressionCV": "a fit in Python is scikit-learn's work: its attributes hold every fold",
    "StackingRegressor": "its folds are scikit-learn's in Python, drawn by the engine on the command line",
}


def members_of(cls):
    """The engine's own members, where Python, like scikit-learn, wants them given."""
    declared = {
        param["name"]: param["default"]
        for param in next(m for m in ermine.models() if m["name"] == cls.__name__)["params"]
    }
    named = [
        (spec["model"], getattr(ermine, spec["model"])(**DEFAULTS.get(spec["model"], {})))
        for spec in declared.get("estimators", [])
    ]
    return {"estimators": named} if named else {}


@pytest.mark.parametrize("cls", [cls for cls in CLASSES if cls._info["task"] in ("Regression", "Classification")])
def test_same_bits(cls, tmp_path):
    if cls.__name__ in APART:
        pytest.skip(APART[cls.__name__])
    X, y = data_for(cls)
    X = X.round(4)
    y = np.round(y, 4)
    frame = pd.DataFrame(X, columns=list("abcd")[: X.shape[1]]).assign(y=y)
    frame.to_csv(tmp_path / "data.csv", index=False)
    # Defaults are scikit-learn's in Python, the engine's on the command line.
    ours = make(cls, **DEFAULTS.get(cls.__name__, {}), **members_of(cls))
    if cls.__name__ in OWN_FOLDS:
        ours._crosses = lambda keep: False
    words = ["fit", "data.csv", "--target", "y", "--model", cls.__name__, "--test", "0", "--folds", "0", "--seed", "0"]
    words += ["--n_estimators", "5"] if "n_estimators" in cls._forms else []
    done = subprocess.run([command_line(), *words, "-o", "model.ermine"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    theirs = ermine.load(tmp_path / "model.ermine")
    seen = theirs.prepare(frame) if hasattr(theirs, "prepare") else X
    inner = theirs.estimator if hasattr(theirs, "estimator") else theirs
    ours.fit(seen, y)
    assert inner._model.to_bytes() == ours._model.to_bytes()
    np.testing.assert_array_equal(theirs.predict(frame), ours.predict(seen))
