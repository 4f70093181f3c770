"""Splits, cross-validation and the search for parameters, under scikit-learn's names.

Splits are scikit-learn's. A model of Ermine, alone or at the end of a pipeline of Ermine's transformers, is fitted and
judged on all folds and for all candidates inside the engine: one pool of threads for everything, the rows of a fold
copied once, no processes. The scores are those that fitting one by one would give. Every other estimator, a scorer that
is a function, fit parameters, and names that are not in this file are scikit-learn's own work.
"""

import inspect
import numbers
import time
import warnings

import numpy as np
import scipy.sparse as sp
import sklearn
import sklearn.model_selection as _sklearn
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    LeavePGroupsOut,
    LeavePOut,
    ParameterGrid,
    ParameterSampler,
    PredefinedSplit,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
    check_cv,
    cross_val_predict,
    learning_curve,
    permutation_test_score,
    train_test_split,
    validation_curve,
)
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils import indexable

from . import _ermine
from ._convert import _encoded, _rows, _threads
from ._forms import _spec, is_ours
from ._tasks import Classifier, Regressor, Transformer
from .metrics import METRICS

__all__ = [
    "GridSearchCV",
    "GroupKFold",
    "GroupShuffleSplit",
    "HalvingGridSearchCV",
    "HalvingRandomSearchCV",
    "KFold",
    "LeaveOneGroupOut",
    "LeaveOneOut",
    "LeavePGroupsOut",
    "LeavePOut",
    "ParameterGrid",
    "ParameterSampler",
    "PredefinedSplit",
    "RandomizedSearchCV",
    "RepeatedKFold",
    "RepeatedStratifiedKFold",
    "ShuffleSplit",
    "StratifiedGroupKFold",
    "StratifiedKFold",
    "StratifiedShuffleSplit",
    "TimeSeriesSplit",
    "check_cv",
    "cross_val_predict",
    "cross_val_score",
    "cross_validate",
    "learning_curve",
    "permutation_test_score",
    "train_test_split",
    "validation_curve",
]


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(_sklearn, name)


def __dir__():
    return sorted({*globals(), *_sklearn.__all__})


class _Elsewhere(Exception):
    """The engine has no form for this; scikit-learn does it."""


class _Folds:
    """Rows, target and folds as the engine takes them, with the metrics to judge by; `_Elsewhere` where it does not."""

    def __init__(self, estimator, X, y, folds, scoring):
        model = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
        if not isinstance(model, (Classifier, Regressor)) or y is None:
            raise _Elsewhere
        self.model = model
        self.X = _numeric(X, model)
        self.y = self._target(np.asarray(y), folds)
        self.folds = [tuple(_numbers(rows, self.X.shape[0]) for rows in fold) for fold in folds]
        self.metrics = self._metrics(scoring)

    def _target(self, y, folds):
        if not isinstance(self.model, Classifier):
            one = y.ndim == 1 or (y.ndim == 2 and y.shape[1] > 1 and self.model._info["multi_target"])
            if y.dtype.kind not in "biuf" or not one or not np.isfinite(y).all():
                raise _Elsewhere
            return np.ascontiguousarray(y, dtype=np.float64)
        if y.ndim != 1:
            raise _Elsewhere
        self.labels, codes = _encoded(y)
        # A model that has not seen a class has no column for it: the engine keeps the columns of all.
        if any(len(np.unique(codes[train])) < len(self.labels) for train, _ in folds):
            raise _Elsewhere
        return np.ascontiguousarray(codes, dtype=np.uint32), len(self.labels)

    def _metrics(self, scoring):
        """{name in the results: name in the engine's list}"""
        classifier = isinstance(self.model, Classifier)
        if scoring is None:
            return {"score": "accuracy" if classifier else "r2"}
        if isinstance(scoring, str):
            scoring = {"score": scoring}
        elif isinstance(scoring, (list, tuple, set)):
            scoring = {name: name for name in scoring}
        if not isinstance(scoring, dict):
            raise _Elsewhere
        for name in scoring.values():
            known = METRICS.get(name) if isinstance(name, str) else None
            if known is None or (known["task"] == "Classification") != classifier:
                raise _Elsewhere
            # scikit-learn judges the class called 1, the engine the second one.
            if known["binary"] and not (len(self.labels) == 2 and self.labels[1] in (1, True)):
                raise _Elsewhere
            if known["needs"] == "Probability" and not self.model._has_output("Probability"):
                raise _Elsewhere
            # With two classes scikit-learn takes the class called 1 of these too, and one column of scores.
            if classifier and len(self.labels) == 2 and name.startswith(("roc_auc_ov", "average_precision")):
                raise _Elsewhere
        return scoring

    def evaluate(self, candidates, train_scores, threads, error_score):
        """Results by candidate, then by fold, as scikit-learn's own evaluation has them."""
        specs, seeds = zip(*(_candidate(candidate) for candidate in candidates))
        found = _ermine.evaluate(
            list(specs),
            list(seeds),
            _rows(self.X),
            self.y,
            self.folds,
            list(self.metrics.values()),
            train_scores=train_scores,
            threads=threads,
        )
        fits = [fit for folds in found for fit in folds]
        failures = [fit[0] for fit in fits if fit[0] is not None]
        if failures and (error_score == "raise" or len(failures) == len(fits)):
            raise ValueError(failures[0])
        if failures:
            problem = f"{len(failures)} fits failed out of a total of {len(fits)}; their score is {error_score}."
            warnings.warn(f"{problem} The first: {failures[0]}", FitFailedWarning, stacklevel=4)
        short = sum(not fit[5] for fit in fits)
        if short:
            problem = f"{short} of {len(fits)} fits stopped before they met their tolerance"
            warnings.warn(
                f"{problem}; raise max_iter, scale the data, or accept the accuracy.", ConvergenceWarning, stacklevel=4
            )
        failed = [error_score] * len(self.metrics)
        out = []
        for number, (failure, test, train, fit_time, score_time, _) in enumerate(fits):
            result = {"fit_time": fit_time, "score_time": score_time, "fit_error": failure}
            result["n_test_samples"] = len(self.folds[number % len(self.folds)][1])
            result["test_scores"] = self._named(failed if failure else test)
            if train_scores:
                result["train_scores"] = self._named(failed if failure else train)
            out.append(result)
        return out

    def _named(self, scores):
        named = dict(zip(self.metrics, scores))
        return named["score"] if list(named) == ["score"] else named


def _numeric(X, model):
    """Rows of plain numbers; what is to be encoded first is not for the engine."""
    if sp.issparse(X):
        X = X.tocsr()
        if X.dtype.kind not in "biuf" or not model._info["sparse"]:
            raise _Elsewhere
        return X.astype(np.float64, copy=False)
    X = np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "biuf" or not X.size:
        raise _Elsewhere
    return np.ascontiguousarray(X, dtype=np.float64)


def _numbers(rows, n):
    rows = np.asarray(rows)
    return np.ascontiguousarray(np.flatnonzero(rows) if rows.dtype == bool else rows % n, dtype=np.int64)


def _candidate(estimator):
    """An estimator as the engine takes it, with its seed."""
    if not isinstance(estimator, Pipeline):
        return _alone(estimator), estimator._seed()
    steps = [step for _, step in estimator.steps if step not in ("passthrough", None)]
    if estimator.memory is not None or not steps:
        raise _Elsewhere
    for step in steps[:-1]:
        # The draws of a step depend on its place in the engine, on its own seed in Python.
        if not isinstance(step, Transformer) or step._info["random"]:
            raise _Elsewhere
    return _ermine.Spec("Pipeline", {"steps": [_alone(step) for step in steps]}), steps[-1]._seed()


def _alone(estimator):
    if not is_ours(estimator) or getattr(estimator, "warm_start", False):
        raise _Elsewhere
    if "cv" in estimator._forms and not isinstance(estimator.cv, numbers.Integral):
        raise _Elsewhere
    if any(getattr(estimator, name, None) == "precomputed" for name in ("kernel", "metric", "affinity")):
        raise _Elsewhere
    try:
        return _spec(estimator)
    except (TypeError, ValueError, NotImplementedError):
        raise _Elsewhere from None


def _given(groups):
    """Not every splitter takes groups."""
    return {} if groups is None else {"groups": groups}


def _routing():
    return sklearn.get_config().get("enable_metadata_routing", False)


def cross_validate(
    estimator,
    X,
    y=None,
    *,
    groups=None,
    scoring=None,
    cv=None,
    n_jobs=None,
    verbose=0,
    params=None,
    pre_dispatch="2*n_jobs",
    return_train_score=False,
    return_estimator=False,
    return_indices=False,
    error_score=np.nan,
):
    """Fit on the train rows of every fold and judge on its test rows.

    Parameters and results are those of `sklearn.model_selection.cross_validate`; `n_jobs=None` is all cores for a model
    of Ermine.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from ermine import Ridge
    >>> from ermine.model_selection import cross_validate
    >>> X, y = load_diabetes(return_X_y=True)
    >>> cross_validate(Ridge(alpha=0.1), X, y, cv=5)["test_score"].shape
    (5,)
    """
    try:
        if params or return_estimator or _routing():
            raise _Elsewhere
        X, y = indexable(X, y)
        splits = list(check_cv(cv, y, classifier=is_classifier(estimator)).split(X, y, **_given(groups)))
        folds = _Folds(estimator, X, y, splits, scoring)
        out = folds.evaluate([clone(estimator)], return_train_score, _threads(n_jobs), error_score)
    except _Elsewhere:
        options = {
            "groups": groups,
            "scoring": scoring,
            "cv": cv,
            "n_jobs": n_jobs,
            "verbose": verbose,
            "params": params,
        }
        returns = {"return_train_score": return_train_score, "return_estimator": return_estimator}
        returns |= {"return_indices": return_indices, "pre_dispatch": pre_dispatch, "error_score": error_score}
        return _sklearn.cross_validate(estimator, X, y, **options, **returns)
    found = {name: np.array([fold[name] for fold in out]) for name in ("fit_time", "score_time")}
    if return_indices:
        found["indices"] = {"train": [train for train, _ in splits], "test": [test for _, test in splits]}
    for part in ("test", "train") if return_train_score else ("test",):
        scores = [fold[f"{part}_scores"] for fold in out]
        scores = scores if isinstance(scores[0], dict) else [{"score": score} for score in scores]
        for name in scores[0]:
            found[f"{part}_{name}"] = np.array([score[name] for score in scores])
    return found


def cross_val_score(
    estimator,
    X,
    y=None,
    *,
    groups=None,
    scoring=None,
    cv=None,
    n_jobs=None,
    verbose=0,
    params=None,
    pre_dispatch="2*n_jobs",
    error_score=np.nan,
):
    """The score of every fold.

    Parameters are those of `sklearn.model_selection.cross_val_score`; `n_jobs=None` is all cores for a model of Ermine.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ermine import LogisticRegression
    >>> from ermine.model_selection import cross_val_score
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(cross_val_score(LogisticRegression(), X, y, cv=5).mean() > 0.9)
    True
    """
    options = {"groups": groups, "cv": cv, "n_jobs": n_jobs, "verbose": verbose, "params": params}
    options |= {"pre_dispatch": pre_dispatch, "error_score": error_score}
    if scoring is not None and not isinstance(scoring, str):
        return _sklearn.cross_val_score(estimator, X, y, scoring=scoring, **options)
    return cross_validate(estimator, X, y, scoring=scoring, **options)["test_score"]


class _Silent:
    """Stands for scikit-learn's callbacks, of which there are none here."""

    def _same(self, *args, **kwargs):
        return self

    subcontext = call_on_fit_task_begin = call_on_fit_task_end = _same


class _Search(BaseSearchCV):
    """Between scikit-learn's kinds of search and their common fit: what the engine can evaluate, it does."""

    def fit(self, X, y=None, **params):
        """Score every candidate on every fold, and fit the best on all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
        **params : dict
            `groups` for the splitter; anything else goes to `fit` of the estimator.

        Returns
        -------
        self : object
        """
        try:
            return self._fit_in_engine(X, y, **params)
        except _Elsewhere:
            return super().fit(X, y, **params)

    def _fit_in_engine(self, X, y, groups=None, **params):
        if params or _routing() or callable(self.scoring):
            raise _Elsewhere
        scorers, refit_metric = self._get_scorers()
        X, y = indexable(X, y)
        self._checked_cv_orig = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        self._check_input_parameters(X=X, y=y, split_params=_given(groups))
        self.n_splits_ = self._checked_cv_orig.get_n_splits(X, y, **_given(groups))
        base, all_params, all_out, all_more, results = clone(self.estimator), [], [], {}, {}

        def evaluate(candidate_params, cv=None, more_results=None, callback_ctx=None):
            candidate_params = list(candidate_params)
            splits = list((cv or self._checked_cv_orig).split(X, y, **_given(groups)))
            folds = _Folds(base, X, y, splits, self.scoring)
            candidates = [clone(base).set_params(**clone(given, safe=False)) for given in candidate_params]
            if not candidates:
                raise ValueError("No fits were performed. Was the CV iterator empty? Were there no candidates?")
            out = folds.evaluate(candidates, self.return_train_score, _threads(self.n_jobs), self.error_score)
            all_params.extend(candidate_params)
            all_out.extend(out)
            for name, values in (more_results or {}).items():
                all_more.setdefault(name, []).extend(values)
            results.clear()
            results.update(self._format_results(all_params, self.n_splits_, all_out, all_more))
            return results

        callbacks = "callback_ctx" in inspect.signature(self._run_search).parameters
        self._run_search(evaluate, **({"callback_ctx": _Silent()} if callbacks else {}))
        self.multimetric_ = isinstance(all_out[0]["test_scores"], dict)
        if self.refit or not self.multimetric_:
            self.best_index_ = self._select_best_index(self.refit, refit_metric, results)
            if not callable(self.refit):
                self.best_score_ = results[f"mean_test_{refit_metric}"][self.best_index_]
            self.best_params_ = results["params"][self.best_index_]
        if self.refit:
            start = time.time()
            self.best_estimator_ = clone(base).set_params(**clone(self.best_params_, safe=False)).fit(X, y)
            self.refit_time_ = time.time() - start
            if hasattr(self.best_estimator_, "feature_names_in_"):
                self.feature_names_in_ = self.best_estimator_.feature_names_in_
        self.scorer_ = getattr(scorers, "_scorers", scorers)
        self.cv_results_ = results
        return self


class GridSearchCV(_sklearn.GridSearchCV, _Search):
    """Every combination of the listed values, by cross-validation.

    Parameters and attributes are those of `sklearn.model_selection.GridSearchCV`; `n_jobs=None` is all cores for a
    model of Ermine.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from ermine import Ridge
    >>> from ermine.model_selection import GridSearchCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> search = GridSearchCV(Ridge(), {"alpha": [0.01, 0.1, 1.0]}, cv=5).fit(X, y)
    >>> search.best_params_
    {'alpha': 0.1}
    """


class RandomizedSearchCV(_sklearn.RandomizedSearchCV, _Search):
    """Combinations drawn at random, by cross-validation.

    Parameters and attributes are those of `sklearn.model_selection.RandomizedSearchCV`.
    """


class HalvingGridSearchCV(_sklearn.HalvingGridSearchCV, _Search):
    """All combinations on few rows, the better ones on more, and so on.

    Parameters and attributes are those of `sklearn.model_selection.HalvingGridSearchCV`.
    """


class HalvingRandomSearchCV(_sklearn.HalvingRandomSearchCV, _Search):
    """Combinations drawn at random on few rows, the better ones on more, and so on.

    Parameters and attributes are those of `sklearn.model_selection.HalvingRandomSearchCV`.
    """
