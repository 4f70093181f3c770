"""Model files, which the command line reads and writes too.

What Python saves takes its columns as numbers, and comes back as the estimator it was. What the command line saves
prepares raw columns first (missing values, categories), and comes back as a `FittedModel`, which takes raw tables.
"""

import ast
import json
import os

import numpy as np
from sklearn.feature_selection._base import _get_feature_importances

from . import _ermine
from ._base import Estimator
from ._log import FitLog


def save(estimator, path):
    """Write a fitted estimator to a model file."""
    _saved(estimator).write(os.fspath(path))


def to_onnx(model):
    """A fitted model as ONNX.

    Parameters
    ----------
    model : estimator or FittedModel
        An estimator takes one input `X` of double precision, with a column for each feature. A `FittedModel`, which the
        command line wrote, takes an input for each raw column, by name.

    Returns
    -------
    onnx : bytes
        The model file. Its outputs are `prediction`, `probability` where there is one, or `transform`.
    """
    if isinstance(model, FittedModel):
        return model._saved.onnx()
    if not isinstance(model, Estimator):
        raise TypeError(f"{type(model).__name__} is not a model of Ermine; skl2onnx converts those of scikit-learn")
    return _saved(model).onnx(plain=True)


def _saved(estimator):
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(estimator)
    model, log = estimator.__dict__.get("_model"), estimator.fit_log_
    if model is None:
        model, log = _selection(estimator), _SELECTED
    params, starts = estimator._engine_params()
    del starts  # where a fit began is not part of the model
    width = 1 if estimator._info["one_column"] else estimator.n_features_in_
    names = getattr(estimator, "feature_names_in_", [f"x{j}" for j in range(width)])
    target = None
    if estimator._info["task"] in ("Regression", "Classification"):
        target = {"name": "y", "kind": "number", "classes": []}
        # Labels of which a row may have several are numbers, 0 and 1.
        if estimator._info["task"] == "Classification" and estimator._label_type is None:
            target["kind"], target["classes"] = _class_names(estimator.classes_)
    header = {
        "model": estimator._name,
        "params": {},
        "schema": {"columns": [{"name": str(name), "kind": "number", "levels": []} for name in names], "na": []},
        "target": target,
        "seed": estimator.__dict__.get("_fit_seed", 0),
        "rows": estimator._fit_rows,
        "scores": {},
        "version": _ermine.__version__,
        "fingerprint": 0,
    }
    return _ermine.Saved.of(model, json.dumps(header), params, log.to_json())


_SELECTED = FitLog('{"passes": 1, "stop": "Exact", "objective": [], "certificate": "None", "notes": []}')


def _selection(estimator):
    """The columns that are kept, as a model, if all fits behind the choice were the engine's."""
    name, inside = estimator._name, getattr(estimator, "estimator_", None)
    log = estimator.fit_log_ if not isinstance(inside, Estimator) else inside.fit_log_
    if name not in ("RFE", "SelectFromModel") or log.engine != "ermine":
        raise ValueError(f"this {name} was fitted by scikit-learn ({log.notes[0]}): pickle it, it has no model file")
    if name == "RFE":
        scores = estimator.ranking_
    else:
        scores = _get_feature_importances(
            inside, estimator.importance_getter, transform_func="norm", norm_order=estimator.norm_order
        )
    return _ermine.Model.of_selection(name, estimator.get_support().tolist(), np.asarray(scores, dtype=float).tolist())


def load(path):
    """Read a model file.

    Parameters
    ----------
    path : str or path-like
        A file written by `estimator.save` or by the command line (`ermine fit ... -o FILE`).

    Returns
    -------
    model : estimator or FittedModel
        The estimator as it was saved; a `FittedModel` when raw columns are prepared before the model sees them.
    """
    saved = _ermine.Saved.load(os.fspath(path))
    header = json.loads(saved.header())
    numbers_only = all(column["kind"] == "number" for column in header["schema"]["columns"])
    return _estimator(saved, header) if numbers_only and not saved.is_prepared() else FittedModel(saved, header)


def _estimator(saved, header):
    from . import _models
    from ._complete import complete

    params = saved.params()
    if header["model"] in ("RFE", "SelectFromModel") and isinstance(params["estimator"], str):
        params["estimator"] = _parsed(params["estimator"])
    estimator = getattr(_models, header["model"])(**params)
    names = saved.prepared_names()
    estimator.n_features_in_ = len(names)
    if names != [f"x{j}" for j in range(len(names))]:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    if header["target"] and header["target"]["classes"]:
        estimator.classes_ = _labels(header["target"])
    estimator._restore(saved.model(), FitLog(saved.log()), seed=header["seed"], rows=header["rows"])
    complete(estimator, None, None, None, None)
    return estimator


def _parsed(text):
    """An estimator from `Name(parameter=value, ...)`, as it stands in a model file."""
    words = {"true": True, "false": False, "none": None, "inf": float("inf"), "nan": float("nan")}

    def value(node):
        if isinstance(node, ast.Call):
            from . import _models

            return getattr(_models, node.func.id)(**{part.arg: value(part.value) for part in node.keywords})
        if isinstance(node, ast.Name):
            return words.get(node.id, node.id)
        if isinstance(node, ast.List):
            return [value(item) for item in node.elts]
        try:
            return ast.literal_eval(node)
        except ValueError:
            return ast.get_source_segment(text, node)  # a word with a dash

    return value(ast.parse(text, mode="eval").body)


class FittedModel:
    """A model with its preparation: takes raw tables, with text and missing values, as the command line does.

    Attributes
    ----------
    header : dict
        What the file says of itself: model, parameters, schema, target, seed, scores, version.
    estimator : estimator
        The model alone. It sees prepared columns, named by its `feature_names_in_`.
    feature_names_in_ : ndarray
        The raw columns.
    classes_ : ndarray
        The labels, if the target has classes.
    """

    def __init__(self, saved, header):
        self._saved = saved
        self.header = {**header, "params": saved.params()}
        self.estimator = _estimator(saved, header)
        self._fields = header["schema"]["columns"]
        self.feature_names_in_ = np.array([field["name"] for field in self._fields], dtype=object)
        if hasattr(self.estimator, "classes_"):
            self.classes_ = self.estimator.classes_
        self.fit_log_ = self.estimator.fit_log_

    def predict(self, X):
        """Predict the target, the class or the cluster of raw rows (a data frame, or columns in the order of the
        schema)."""
        natural = self._saved.model().outputs()[0][0]
        found = self._output(X, natural)
        if natural == "Class":
            return self.classes_.take(found[:, 0].astype(np.intp))
        if natural == "Cluster":
            return found[:, 0].astype(np.int64)
        return found[:, 0] if found.shape[1] == 1 else found

    def predict_proba(self, X):
        """Probability of each class of raw rows, in the order of `classes_`."""
        return self._output(X, "Probability")

    def transform(self, X):
        """New features of raw rows."""
        return self._output(X, "Transform")

    def decision_function(self, X):
        """Scores of raw rows."""
        scores = self._output(X, "Decision")
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def prepare(self, X):
        """Raw rows as the model sees them: the columns `estimator.feature_names_in_`."""
        return self._saved.prepare(*self._raw(X))

    def _output(self, X, output):
        from ._convert import _threads

        return self._saved.predict(*self._raw(X), output, threads=_threads(None))

    def _raw(self, X):
        """Numbers of all columns, zero for text, and the documents of text columns."""
        columns = _columns(X, self._fields)
        texts = [
            (j, [_text(value) or "" for value in column.tolist()])
            for j, (column, field) in enumerate(zip(columns, self._fields))
            if field["kind"] == "text"
        ]
        rows = np.column_stack([_numbers(column, field) for column, field in zip(columns, self._fields)])
        return np.ascontiguousarray(rows), texts

    def __repr__(self):
        return f"<{self.header['model']} fitted on {self.header['rows']} rows of {len(self._fields)} columns>"


def _columns(X, fields):
    if hasattr(X, "columns"):
        missing = [field["name"] for field in fields if field["name"] not in list(X.columns)]
        if missing:
            raise ValueError(f"the table has no column '{missing[0]}', which the model was fitted on")
        return [np.asarray(X[field["name"]]) for field in fields]
    X = np.asarray(X, dtype=object) if isinstance(X, (list, tuple)) else np.asarray(X)
    if X.ndim != 2 or X.shape[1] != len(fields):
        raise ValueError(f"X has shape {X.shape}, but the model was fitted on {len(fields)} columns")
    return list(X.T)


def _numbers(column, field):
    """A raw column as the engine has it: numbers, codes of levels, days; NaN for what is missing or was never seen."""
    kind = field["kind"]
    if kind == "category":
        codes = {level: float(code) for code, level in enumerate(field["levels"])}
        return np.array([codes.get(_text(value), np.nan) for value in column.tolist()])
    if kind == "text":
        return np.zeros(len(column))
    if kind == "boolean":
        known = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}
        return np.array([known.get(str(_text(value)).lower(), np.nan) for value in column.tolist()])
    if kind in ("date", "datetime"):
        times = column.astype("datetime64[us]")
        days = times.astype(np.int64) / 86_400e6
        return np.where(np.isnat(times), np.nan, days)
    try:
        return column.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"column '{field['name']}' holds {error}, and the model was fitted on numbers") from None


def _text(value):
    """A value as it stands in a file; None when it is missing."""
    if value is None or value != value:
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _class_names(classes):
    if classes.dtype.kind == "b":
        return "boolean", [str(label).lower() for label in classes]
    if classes.dtype.kind in "iuf":
        return "number", [_text(label) for label in classes.tolist()]
    return "category", [str(label) for label in classes]


def _labels(target):
    if target["kind"] == "boolean":
        return np.array([name.lower() == "true" for name in target["classes"]])
    if target["kind"] == "number":
        labels = np.array([float(name) for name in target["classes"]])
        return labels.astype(np.int64) if np.all(labels == np.floor(labels)) else labels
    return np.array(target["classes"])
