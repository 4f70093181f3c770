"""Model files: what Python saves Python and the command line read, and the other way round."""

import io
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import ermine
from conftest import CLASSES, command_line, data_for, make
from test_inputs import answers, assert_same

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("cls", CLASSES)
def test_goes_round(cls, tmp_path):
    X, y = data_for(cls)
    model = make(cls).fit(X, y)
    if not any(hasattr(model, name) for name in ("predict", "transform", "kneighbors", "score_samples")):
        pytest.skip("it knows its own rows only")
    path = tmp_path / "model.ermine"
    if cls is ermine.LogisticRegressionCV:
        # scikit-learn's work: its attributes hold the coefficients of every fold, which the engine does not keep.
        with pytest.raises(ValueError, match="fitted by scikit-learn"):
            model.save(path)
        return
    model.save(path)
    loaded = ermine.load(path)
    assert type(loaded) is cls
    if cls in (ermine.RFE, ermine.SelectFromModel):
        # They go through models of the engine one by one; the columns they keep are what is in the file.
        assert_same([loaded.transform(X)], [model.transform(X)])
        assert repr(loaded.estimator) == repr(model.estimator)
    else:
        assert_same(answers(loaded, X), answers(model, X))
        assert repr(loaded.fit_log_) == repr(model.fit_log_)


def test_what_scikit_learn_fitted_has_no_file(tmp_path):
    X, y = data_for(ermine.Ridge)
    model = ermine.Ridge(alpha=[1.0, 2.0]).fit(X, np.c_[y, -y])
    with pytest.raises(ValueError, match="fitted by scikit-learn .alpha is an array"):
        model.save(tmp_path / "model.ermine")
    with pytest.raises(ValueError, match="fitted by scikit-learn"):
        ermine.RFE(ermine.Ridge(alpha=np.ones(1))).fit(X, y).save(tmp_path / "model.ermine")


def test_parameters_labels_and_names_go_round(tmp_path):
    X, y = data_for(ermine.LogisticRegression)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = ermine.LogisticRegression(C=0.5, fit_intercept=False).fit(frame, np.array(["no", "yes"])[y])
    model.save(tmp_path / "model.ermine")
    loaded = ermine.load(tmp_path / "model.ermine")
    assert (loaded.C, loaded.fit_intercept) == (0.5, False)
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert loaded.predict(frame).tolist() == model.predict(frame).tolist()
    for labels in (np.array([False, True]), np.array([3, 7]), np.array(["no", "yes"])):
        again = ermine.LogisticRegression().fit(X, labels[y])
        again.save(tmp_path / "again.ermine")
        np.testing.assert_array_equal(ermine.load(tmp_path / "again.ermine").classes_, again.classes_)


def test_not_fitted(tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        ermine.Ridge().save(tmp_path / "model.ermine")


def test_bad_files(tmp_path):
    with pytest.raises(OSError, match="cannot read"):
        ermine.load(tmp_path / "nothing")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(ValueError, match="not an Ermine model file"):
        ermine.load(tmp_path / "text")
    X, y = data_for(ermine.Ridge)
    path = tmp_path / "model.ermine"
    ermine.Ridge().fit(X, y).save(path)
    whole = path.read_bytes()
    for at in range(0, len(whole), 7):
        path.write_bytes(whole[:at])
        with pytest.raises(ValueError):
            ermine.load(path)
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(ValueError):
            ermine.load(path)


def table():
    rng = np.random.RandomState(0)
    return pd.DataFrame(
        {
            "size": rng.rand(60).round(3),
            "colour": rng.choice(["red", "green", "blue"], 60),
            "good": rng.choice(["yes", "no"], 60),
        }
    )


def test_command_line_to_python_and_back(tmp_path):
    program = command_line()
    frame = table()
    frame.to_csv(tmp_path / "data.csv", index=False)

    def run(*words):
        done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("fit", "data.csv", "--target", "good", "--model", "LogisticRegression", "-o", "model.ermine")
    theirs = pd.read_csv(io.StringIO(run("predict", "model.ermine", "data.csv")))
    model = ermine.load(tmp_path / "model.ermine")
    found = model.predict(frame)
    assert any((theirs[column].astype(str) == found.astype(str)).all() for column in theirs.columns)
    np.testing.assert_array_equal(model.predict_proba(pl.from_pandas(frame)), model.predict_proba(frame))
    unseen = frame.assign(colour="violet")
    assert np.isfinite(model.predict_proba(unseen)).all()
    with pytest.raises(ValueError, match="no column 'colour'"):
        model.predict(frame[["size"]])

    X = frame[["size"]].assign(twice=2 * frame["size"] + np.arange(60) % 7)
    X.to_csv(tmp_path / "numbers.csv", index=False)
    ours = ermine.Ridge().fit(X, frame["size"] * 3)
    ours.save(tmp_path / "ours.ermine")
    said = pd.read_csv(io.StringIO(run("predict", "ours.ermine", "numbers.csv")))
    assert any(np.array_equal(said[column], ours.predict(X)) for column in said.columns)


def test_text_and_dates_from_the_command_line(tmp_path):
    rng = np.random.RandomState(0)
    good = rng.rand(80) < 0.5
    words = np.where(good, "fine lovely great place", "bad awful cold room")
    frame = pd.DataFrame(
        {
            "said": [f"{w} {i % 7} times and more words {i * 37}" for i, w in enumerate(words)],
            "day": pd.date_range("2024-01-01", periods=80).strftime("%Y-%m-%d"),
            "size": rng.rand(80).round(3),
            "liked": np.where(good, "yes", "no"),
        }
    )
    frame.to_csv(tmp_path / "data.csv", index=False)
    program = command_line()
    fit = ["fit", "data.csv", "--target", "liked", "--model", "LogisticRegression", "-o", "model.ermine"]
    done = subprocess.run([program, *fit], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = subprocess.run(
        [program, "predict", "model.ermine", "data.csv"], capture_output=True, text=True, cwd=tmp_path
    )
    theirs = pd.read_csv(io.StringIO(said.stdout))
    found = ermine.load(tmp_path / "model.ermine").predict(frame.assign(day=pd.to_datetime(frame["day"])))
    assert (found == frame["liked"]).mean() > 0.9
    assert any((theirs[column].astype(str) == found.astype(str)).all() for column in theirs.columns)
