"""Existing code on Ermine: the patch, its report, scripts, pickles, and what the engine has no form for."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import sklearn.linear_model
import sklearn.tree
from sklearn.datasets import load_diabetes, load_iris

import ermine

THEIRS = sklearn.linear_model.Ridge


@pytest.fixture
def patched():
    ermine.patch_report(reset=True)
    yield ermine.patch_sklearn()
    ermine.unpatch_sklearn()


def test_names_stand_for_ours_and_are_put_back(patched):
    assert "Ridge" in patched and sklearn.linear_model.Ridge is ermine.Ridge
    assert sklearn.linear_model._ridge.Ridge is ermine.Ridge
    assert issubclass(ermine.Ridge, THEIRS)
    ermine.unpatch_sklearn()
    assert sklearn.linear_model.Ridge is THEIRS and sklearn.linear_model._ridge.Ridge is THEIRS


def test_only_some():
    with pytest.raises(ValueError, match="there is no class 'Rigde' to replace"):
        ermine.patch_sklearn(["Rigde"])
    try:
        assert ermine.patch_sklearn("Ridge") == ["Ridge"]
        assert sklearn.linear_model.Lasso is not ermine.Lasso
    finally:
        ermine.unpatch_sklearn()


def test_report_says_what_ran_where(patched):
    X, y = load_diabetes(return_X_y=True)
    sklearn.linear_model.Ridge().fit(X, y)
    model = sklearn.linear_model.Ridge(alpha=[1.0, 2.0]).fit(X, np.c_[y, -y])
    assert model.fit_log_.engine == "scikit-learn" and model.fit_log_.notes == ["alpha is an array"]
    report = ermine.patch_report()
    assert {(fit["cls"], fit["engine"], fit["reason"]): fit["count"] for fit in report.fits} == {
        ("Ridge", "ermine", ""): 1,
        ("Ridge", "scikit-learn", "alpha is an array"): 1,
    }
    assert "scikit-learn: 1 fits" in repr(report)


def test_pickles_load_without_the_patch(patched):
    X, y = load_iris(return_X_y=True)
    for params in ({}, {"splitter": "best", "max_features": "sqrt"}):
        model = sklearn.tree.DecisionTreeClassifier(random_state=0, **params).fit(X, y)
        code = "import pickle, sys; model = pickle.load(sys.stdin.buffer); print(type(model).__module__, model.get_depth())"
        run = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(model), capture_output=True, check=True)
        assert run.stdout.decode().split() == ["ermine._models", str(model.get_depth())]


def test_a_script_runs_without_an_edit(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nfrom sklearn.datasets import load_iris\nfrom sklearn.ensemble import RandomForestClassifier\n"
        "X, y = load_iris(return_X_y=True)\nprint(RandomForestClassifier.__module__, sys.argv[1:])\n"
        "RandomForestClassifier(5).fit(X, y)\n"
    )
    run = subprocess.run(
        [sys.executable, "-m", "ermine", "--report", script, "a", "-b"], capture_output=True, text=True, check=True
    )
    assert run.stdout == "ermine._models ['a', '-b']\n"
    assert "1 RandomForestClassifier" in run.stderr


def test_private_names_do_not_meet_scikit_learns():
    """A name of ours that scikit-learn's classes use too would change what they do."""
    meant = {"_n_features_out", "_sklearn_auto_wrap_output_keys"}
    for cls in (getattr(ermine, name) for name in ermine._models.__all__):
        if cls._peer is None:
            continue
        bases = [base for base in cls.__mro__ if base.__module__.startswith("ermine.") and base is not cls]
        ours = {name for base in bases for name in vars(base) if name.startswith("_")}
        clash = {name for name in ours if not name.startswith("__") and hasattr(cls._peer, name)} - meant
        assert not clash, (cls.__name__, clash)


def test_a_class_derived_from_ours_keeps_its_own_methods():
    class Doubled(ermine.Ridge):
        def fit(self, X, y, sample_weight=None):
            self.was_called_ = True
            return super().fit(X, 2 * y, sample_weight)

    X, y = load_diabetes(return_X_y=True)
    bag = ermine.BaggingRegressor(Doubled(), n_estimators=3, random_state=0).fit(X, y)
    assert all(member.was_called_ for member in bag.estimators_)
    assert bag.predict(X).mean() == pytest.approx(2 * y.mean(), rel=0.05)


def test_trees_are_scikit_learns_to_other_tools():
    X, y = load_iris(return_X_y=True)
    tree = ermine.DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    assert tree.fit_log_.engine == "ermine"
    assert "class: 2" in sklearn.tree.export_text(tree)
    assert tree.tree_.n_node_samples[0] == 150 and tree.get_n_leaves() == (tree.tree_.children_left < 0).sum()
    np.testing.assert_allclose(tree.tree_.predict(X.astype(np.float32)), tree.predict_proba(X))
    path = tree.decision_path(X)
    assert np.all(path[np.arange(150), tree.apply(X)] == 1)
    assert np.all(np.diff(tree.cost_complexity_pruning_path(X, y).ccp_alphas) >= 0)
    forest = ermine.RandomForestRegressor(5, random_state=0).fit(X, y)
    np.testing.assert_allclose(
        np.mean([one.predict(X) for one in forest.estimators_], axis=0), forest.predict(X), atol=1e-6
    )
    boosted = ermine.HistGradientBoostingClassifier(max_iter=5).fit(X, y)
    np.testing.assert_allclose(list(boosted.staged_predict_proba(X))[-1], boosted.predict_proba(X), atol=1e-9)
