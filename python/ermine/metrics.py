"""How good predictions are: scikit-learn's functions, computed by the engine.

Labels are encoded and scikit-learn's conventions (`average`, `pos_label`, `zero_division`, `multioutput`) kept here;
counting, sorting and summing over rows is the engine's. What it has no form for, such as several labels a row, and
every name that is not in this file, is scikit-learn's own.
"""

import functools
import json
import sys
import warnings
from collections import namedtuple

import numpy as np
import scipy.sparse as sp
import sklearn.metrics as _sklearn
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from . import _ermine
from ._convert import _encoded, _threads
from ._metrics_of_groups import (
    adjusted_rand_score,
    calinski_harabasz_score,
    completeness_score,
    davies_bouldin_score,
    homogeneity_completeness_v_measure,
    homogeneity_score,
    normalized_mutual_info_score,
    silhouette_samples,
    silhouette_score,
    v_measure_score,
)

__all__ = [
    "accuracy_score",
    "adjusted_rand_score",
    "average_precision_score",
    "balanced_accuracy_score",
    "best_threshold",
    "brier_score_loss",
    "calinski_harabasz_score",
    "cohen_kappa_score",
    "completeness_score",
    "confusion_matrix",
    "d2_absolute_error_score",
    "d2_brier_score",
    "d2_log_loss_score",
    "d2_pinball_score",
    "d2_tweedie_score",
    "davies_bouldin_score",
    "explained_variance_score",
    "f1_score",
    "fbeta_score",
    "homogeneity_completeness_v_measure",
    "homogeneity_score",
    "interval",
    "jaccard_score",
    "log_loss",
    "matthews_corrcoef",
    "max_error",
    "mean_absolute_error",
    "mean_absolute_percentage_error",
    "mean_gamma_deviance",
    "mean_pinball_loss",
    "mean_poisson_deviance",
    "mean_squared_error",
    "mean_squared_log_error",
    "mean_tweedie_deviance",
    "median_absolute_error",
    "normalized_mutual_info_score",
    "precision_recall_curve",
    "precision_recall_fscore_support",
    "precision_score",
    "r2_score",
    "recall_score",
    "roc_auc_score",
    "roc_curve",
    "root_mean_squared_error",
    "root_mean_squared_log_error",
    "silhouette_samples",
    "silhouette_score",
    "specificity_score",
    "v_measure_score",
]

#: The engine's list, by scoring name: definition, task, what is needed, whether more is better.
METRICS = {metric["name"]: metric for metric in json.loads(_ermine.metrics())}


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(_sklearn, name)


def __dir__():
    return sorted({*globals(), *_sklearn.__all__})


# `import ermine.metrics.pairwise` finds scikit-learn's.
sys.modules[f"{__name__}.cluster"], sys.modules[f"{__name__}.pairwise"] = _sklearn.cluster, _sklearn.pairwise


def _one_label(function):
    """A function of one label a row; what has several is scikit-learn's."""

    @functools.wraps(function)
    def wrapped(y_true, *args, **kwargs):
        if sp.issparse(y_true) or (np.ndim(y_true) == 2 and np.shape(y_true)[1] > 1):
            return getattr(_sklearn, function.__name__)(y_true, *args, **kwargs)
        return function(y_true, *args, **kwargs)

    return wrapped


# Numbers


def _columns(y_true, y_pred):
    """Both as rows x targets."""
    check_consistent_length(y_true, y_pred)
    y_true, y_pred = (check_array(y, ensure_2d=False, dtype=np.float64, input_name="y") for y in (y_true, y_pred))
    y_true, y_pred = (y.reshape(len(y), -1) for y in (y_true, y_pred))
    if y_true.shape[1] != y_pred.shape[1]:
        raise ValueError(f"y_true and y_pred have different number of output ({y_true.shape[1]}!={y_pred.shape[1]})")
    return y_true, y_pred


def _weights(sample_weight, y):
    if sample_weight is None:
        return None
    sample_weight = np.ascontiguousarray(column_or_1d(sample_weight), dtype=np.float64)
    check_consistent_length(y, sample_weight)
    if not sample_weight.any():
        raise ValueError("sample_weight is zero for every row, so there is nothing to judge")
    return sample_weight


def _of_numbers(name, y_true, y_pred, sample_weight, multioutput, parameter=0.0, finish=None):
    """One value for each target, averaged as `multioutput` says."""
    y_true, y_pred = _columns(y_true, y_pred)
    weights = _weights(sample_weight, y_true)
    pairs = zip(np.ascontiguousarray(y_true.T), np.ascontiguousarray(y_pred.T))
    found = np.array([_ermine.metric_of_numbers(name, y, f, weights, parameter) for y, f in pairs])
    if np.isnan(found).any():
        warnings.warn(f"{name} is not defined with less than two samples.", UndefinedMetricWarning, stacklevel=3)
    found = found if finish is None else finish(found)
    if isinstance(multioutput, str):
        if multioutput == "raw_values":
            return found
        if multioutput == "variance_weighted":
            spread = np.average((y_true - np.average(y_true, axis=0, weights=weights)) ** 2, axis=0, weights=weights)
            return float(np.average(found, weights=spread if spread.any() else None))
        if multioutput != "uniform_average":
            raise ValueError(
                f"multioutput is {multioutput!r}, but it must be 'raw_values', 'uniform_average' or weights"
            )
        return float(found.mean())
    if len(multioutput) != len(found):
        raise ValueError(f"multioutput has {len(multioutput)} weights for {len(found)} targets")
    return float(np.average(found, weights=multioutput))


def mean_squared_error(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"):
    """`sum w (y - f)^2 / sum w`."""
    return _of_numbers("mean_squared_error", y_true, y_pred, sample_weight, multioutput)


def root_mean_squared_error(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"):
    """Square root of the mean squared error of each target."""
    return _of_numbers("root_mean_squared_error", y_true, y_pred, sample_weight, multioutput)


def mean_absolute_error(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"):
    """`sum w |y - f| / sum w`."""
    return _of_numbers("mean_absolute_error", y_true, y_pred, sample_weight, multioutput)


def median_absolute_error(y_true, y_pred, *, multioutput="uniform_average", sample_weight=None):
    """Weighted median of `|y - f|`."""
    return _of_numbers("median_absolute_error", y_true, y_pred, sample_weight, multioutput)


def mean_absolute_percentage_error(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"):
    """`sum w |y - f| / |y| / sum w`."""
    return _of_numbers("mean_absolute_percentage_error", y_true, y_pred, sample_weight, multioutput)


def mean_squared_log_error(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"):
    """`sum w (log(1 + y) - log(1 + f))^2 / sum w`."""
    return _of_numbers("mean_squared_log_error", y_true, y_pred, sample_weight, multioutput)


def root_mean_squared_log_error(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"):
    """Square root of the mean squared log error of each target."""
    return _of_numbers("mean_squared_log_error", y_true, y_pred, sample_weight, multioutput, finish=np.sqrt)


def max_error(y_true, y_pred):
    """`max |y - f|`."""
    return _of_numbers("max_error", *_single(y_true, y_pred), None, "uniform_average")


def mean_pinball_loss(y_true, y_pred, *, sample_weight=None, alpha=0.5, multioutput="uniform_average"):
    """`sum w max(alpha (y - f), (alpha - 1) (y - f)) / sum w`: least at the quantile alpha."""
    return _of_numbers("mean_pinball_loss", y_true, y_pred, sample_weight, multioutput, alpha)


def mean_tweedie_deviance(y_true, y_pred, *, sample_weight=None, power=0):
    """Mean deviance of the family with variance `mu^power`: 0 normal, 1 Poisson, 2 gamma."""
    return _of_numbers(
        "mean_tweedie_deviance", *_single(y_true, y_pred), sample_weight, "uniform_average", float(power)
    )


def mean_poisson_deviance(y_true, y_pred, *, sample_weight=None):
    """`2 sum w (y log(y / f) - y + f) / sum w`."""
    return mean_tweedie_deviance(y_true, y_pred, sample_weight=sample_weight, power=1)


def mean_gamma_deviance(y_true, y_pred, *, sample_weight=None):
    """`2 sum w (log(f / y) + y / f - 1) / sum w`."""
    return mean_tweedie_deviance(y_true, y_pred, sample_weight=sample_weight, power=2)


def r2_score(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average", force_finite=True):
    """`1 - sum w (y - f)^2 / sum w (y - mean)^2`."""
    if not force_finite:
        options = {"sample_weight": sample_weight, "multioutput": multioutput, "force_finite": False}
        return _sklearn.r2_score(y_true, y_pred, **options)
    return _of_numbers("r2_score", y_true, y_pred, sample_weight, multioutput or "uniform_average")


def explained_variance_score(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average", force_finite=True):
    """`1 - Var(y - f) / Var(y)`."""
    if not force_finite:
        options = {"sample_weight": sample_weight, "multioutput": multioutput, "force_finite": False}
        return _sklearn.explained_variance_score(y_true, y_pred, **options)
    return _of_numbers("explained_variance_score", y_true, y_pred, sample_weight, multioutput)


def d2_pinball_score(y_true, y_pred, *, sample_weight=None, alpha=0.5, multioutput="uniform_average"):
    """Share of the pinball loss of the best constant that is gone."""
    return _of_numbers("d2_pinball_score", y_true, y_pred, sample_weight, multioutput, alpha)


def d2_absolute_error_score(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"):
    """Share of the absolute error of the median that is gone."""
    return d2_pinball_score(y_true, y_pred, sample_weight=sample_weight, alpha=0.5, multioutput=multioutput)


def d2_tweedie_score(y_true, y_pred, *, sample_weight=None, power=0):
    """Share of the Tweedie deviance of the mean that is gone."""
    return _of_numbers("d2_tweedie_score", *_single(y_true, y_pred), sample_weight, "uniform_average", float(power))


def _single(y_true, y_pred):
    y_true, y_pred = _columns(y_true, y_pred)
    if y_true.shape[1] > 1:
        raise ValueError("Multioutput not supported: this metric is of one target")
    return y_true, y_pred


# Classes


def _codes(y_true, y_pred, more=None):
    """Sorted labels of both (and of `more`), and both as their numbers."""
    y_true, y_pred = column_or_1d(y_true), column_or_1d(y_pred)
    check_consistent_length(y_true, y_pred)
    if not len(y_true):
        raise ValueError("there are no rows to judge: y_true and y_pred are empty")
    parts = [y_true, y_pred, *([] if more is None else [np.asarray(more)])]
    if len({part.dtype.kind in "biuf" for part in parts if part.dtype.kind != "O"}) > 1:
        raise ValueError("Mix of label input types (string and number)")
    for part in parts[:2]:
        check_classification_targets(part)
    labels, codes = _encoded(np.concatenate(parts))
    codes = np.ascontiguousarray(codes, dtype=np.uint32)
    return labels, codes[: len(y_true)], codes[len(y_true) : 2 * len(y_true)]


@_one_label
def confusion_matrix(y_true, y_pred, *, labels=None, sample_weight=None, normalize=None):
    """Rows by (true class, predicted class): a row of the matrix for each true class."""
    if normalize not in ("true", "pred", "all", None):
        raise ValueError(f"normalize is {normalize!r}, but it must be 'true', 'pred', 'all' or None")
    if labels is not None and not len(labels):
        raise ValueError("'labels' should contains at least one label.")
    known, truth, called = _codes(y_true, y_pred, labels)
    counts = _ermine.confusion_matrix(truth, called, len(known), _weights(sample_weight, truth))
    if labels is not None:
        if not np.isin(np.asarray(labels), np.asarray(y_true)).any():
            raise ValueError("At least one label specified must be in y_true")
        at = np.searchsorted(known, labels)
        counts = counts[np.ix_(at, at)]
    if normalize is None:
        return (
            counts
            if sample_weight is not None and np.asarray(sample_weight).dtype.kind not in "biu"
            else counts.astype(np.int64)
        )
    whole = {"true": counts.sum(1, keepdims=True), "pred": counts.sum(0, keepdims=True), "all": counts.sum()}[normalize]
    with np.errstate(all="ignore"):
        return np.nan_to_num(counts / whole)


@_one_label
def accuracy_score(y_true, y_pred, *, normalize=True, sample_weight=None):
    """Share of the rows that are called right; their number without `normalize`."""
    _, truth, called = _codes(y_true, y_pred)
    weights = _weights(sample_weight, truth)
    # Right or wrong is all that matters: two classes, however many labels there are.
    wrong = np.ascontiguousarray(truth != called, dtype=np.uint32)
    right, missed = _ermine.confusion_matrix(np.zeros_like(wrong), wrong, 2, weights)[0]
    return float(right / (right + missed) if normalize else right)


@_one_label
def balanced_accuracy_score(y_true, y_pred, *, sample_weight=None, adjusted=False):
    """Mean recall of the classes; `adjusted` so that guessing has 0."""
    labels, truth, called = _codes(y_true, y_pred)
    if len(np.unique(truth)) < len(labels):
        warnings.warn("y_pred contains classes not in y_true", UserWarning, stacklevel=3)
    weights = _weights(sample_weight, truth)
    return _ermine.metric_of_codes("balanced_accuracy_score", truth, called, len(labels), weights, float(adjusted))


@_one_label
def matthews_corrcoef(y_true, y_pred, *, sample_weight=None):
    """Correlation of truth and prediction; 0 where it is not defined."""
    labels, truth, called = _codes(y_true, y_pred)
    return _ermine.metric_of_codes("matthews_corrcoef", truth, called, len(labels), _weights(sample_weight, truth), 0.0)


def cohen_kappa_score(y1, y2, *, labels=None, weights=None, sample_weight=None, replace_undefined_by=np.nan):
    """Agreement beyond chance; `weights` (linear, quadratic) for classes in an order."""
    power = {None: 0.0, "linear": 1.0, "quadratic": 2.0}.get(weights)
    if power is None:
        raise ValueError(f"weights is {weights!r}, but it must be None, 'linear' or 'quadratic'")
    y1, y2 = column_or_1d(y1), column_or_1d(y2)
    check_consistent_length(y1, y2, sample_weight)
    if labels is not None:
        if not np.isin(y1, labels).any():
            raise ValueError("At least one label in `labels` must be present in `y1`")
        known = np.isin(y1, labels) & np.isin(y2, labels)
        # In the order of the list, which the weights count in.
        place = {label: number for number, label in enumerate(np.asarray(labels).tolist())}
        y1, y2 = (np.array([place[label] for label in y[known].tolist()], dtype=np.int64) for y in (y1, y2))
        sample_weight = None if sample_weight is None else np.asarray(sample_weight)[known]
    found, a, b = _codes(y1, y2)
    kappa = _ermine.metric_of_codes("cohen_kappa_score", a, b, len(found), _weights(sample_weight, a), power)
    if np.isnan(kappa):
        _undefined("Cohen's kappa is not defined: both labellings have one and the same class, or no weight.")
        return replace_undefined_by
    return kappa


Counted = namedtuple("Counted", "tp called support whole")


def _counted(y_true, y_pred, labels, pos_label, average, sample_weight):
    """True positives, calls and truth of each class that counts."""
    if average not in (None, "micro", "macro", "weighted", "binary"):
        problem = (
            "is for several labels a row" if average == "samples" else "must be None, micro, macro, weighted or binary"
        )
        raise ValueError(f"average is {average!r}, which {problem}")
    known, truth, called = _codes(y_true, y_pred, labels if average != "binary" else None)
    if average == "binary":
        if len(known) > 2:
            choices = "[None, 'micro', 'macro', 'weighted']"
            raise ValueError(
                f"Target is multiclass but average='binary'. Please choose another average setting, one of {choices}."
            )
        if pos_label not in known.tolist() and len(known) >= 2:
            raise ValueError(f"pos_label={pos_label} is not a valid label: It should be one of {known.tolist()}")
        labels = [pos_label]
    elif pos_label not in (None, 1):
        warnings.warn(
            f"Note that pos_label (set to {pos_label!r}) is ignored when average != 'binary' (got {average!r}). "
            "You may use labels=[pos_label] to specify a single positive class.",
            UserWarning,
            stacklevel=4,
        )
    counts = _ermine.confusion_matrix(truth, called, len(known), _weights(sample_weight, truth))
    parts = [np.diagonal(counts), counts.sum(0), counts.sum(1)]
    if labels is not None:
        at = {label: number for number, label in enumerate(known.tolist())}
        places = [
            at.get(label, -1) for label in np.asarray(labels).tolist()
        ]  # the one class of the data may be another
        parts = [np.array([part[place] if place >= 0 else 0.0 for place in places]) for part in parts]
    parts = parts if average != "micro" else [np.array([part.sum()]) for part in parts]
    return Counted(*parts, counts.sum())


def _divided(above, below, name, zero_division):
    """Ratios, 0/0 being what `zero_division` says; `warn` is 0 said aloud."""
    undefined = below == 0
    with np.errstate(all="ignore"):
        found = np.where(undefined, 0.0 if zero_division == "warn" else zero_division, above / below)
    if zero_division == "warn" and undefined.any():
        warnings.warn(
            f"{name} is ill-defined and being set to 0.0 where there is nothing to divide by. "
            "Use `zero_division` parameter to control this behavior.",
            UndefinedMetricWarning,
            stacklevel=4,
        )
    return found


def _averaged(values, average, support):
    if average is None:
        return values
    known = ~np.isnan(values)
    if not known.any():
        return float("nan")
    weights = support[known] if average == "weighted" else None
    return float(np.average(values[known], weights=weights if weights is not None and weights.any() else None))


def _beta(beta, c):
    """Numerator and denominator of F-beta."""
    if np.isposinf(beta):
        return c.tp, c.support
    return (1 + beta**2) * c.tp, beta**2 * c.support + c.called


def _from_counts(name, ratio):
    """A score that is a ratio of counts of a class."""

    def score(y_true, y_pred, labels, pos_label, average, sample_weight, zero_division):
        counted = _counted(y_true, y_pred, labels, pos_label, average, sample_weight)
        return _averaged(_divided(*ratio(counted), name, zero_division), average, counted.support)

    return score


_precision = _from_counts("Precision", lambda c: (c.tp, c.called))
_recall = _from_counts("Recall", lambda c: (c.tp, c.support))
_jaccard = _from_counts("Jaccard", lambda c: (c.tp, c.called + c.support - c.tp))
_specificity = _from_counts("Specificity", lambda c: (c.whole - c.called - c.support + c.tp, c.whole - c.support))


@_one_label
def precision_score(
    y_true, y_pred, *, labels=None, pos_label=1, average="binary", sample_weight=None, zero_division="warn"
):
    """`TP / (TP + FP)`."""
    return _precision(y_true, y_pred, labels, pos_label, average, sample_weight, zero_division)


@_one_label
def recall_score(
    y_true, y_pred, *, labels=None, pos_label=1, average="binary", sample_weight=None, zero_division="warn"
):
    """`TP / (TP + FN)`, the sensitivity."""
    return _recall(y_true, y_pred, labels, pos_label, average, sample_weight, zero_division)


@_one_label
def specificity_score(
    y_true, y_pred, *, labels=None, pos_label=1, average="binary", sample_weight=None, zero_division="warn"
):
    """`TN / (TN + FP)`; not in scikit-learn."""
    if average == "micro":
        raise ValueError("average is 'micro', which specificity has not: take None, macro, weighted or binary")
    return _specificity(y_true, y_pred, labels, pos_label, average, sample_weight, zero_division)


@_one_label
def jaccard_score(
    y_true, y_pred, *, labels=None, pos_label=1, average="binary", sample_weight=None, zero_division="warn"
):
    """`TP / (TP + FP + FN)`."""
    return _jaccard(y_true, y_pred, labels, pos_label, average, sample_weight, zero_division)


@_one_label
def fbeta_score(
    y_true, y_pred, *, beta, labels=None, pos_label=1, average="binary", sample_weight=None, zero_division="warn"
):
    """`(1 + beta^2) TP / ((1 + beta^2) TP + beta^2 FN + FP)`."""
    score = _from_counts("F-score", functools.partial(_beta, beta))
    return score(y_true, y_pred, labels, pos_label, average, sample_weight, zero_division)


@_one_label
def f1_score(y_true, y_pred, *, labels=None, pos_label=1, average="binary", sample_weight=None, zero_division="warn"):
    """`2 TP / (2 TP + FP + FN)`."""
    options = {"labels": labels, "pos_label": pos_label, "average": average}
    return fbeta_score(y_true, y_pred, beta=1, sample_weight=sample_weight, zero_division=zero_division, **options)


@_one_label
def precision_recall_fscore_support(
    y_true, y_pred, *, beta=1.0, labels=None, pos_label=1, average=None, sample_weight=None, zero_division="warn"
):
    """Precision, recall and F-beta of each class, and its weight in the truth."""
    counted = _counted(y_true, y_pred, labels, pos_label, average, sample_weight)
    ratios = {
        "Precision": (counted.tp, counted.called),
        "Recall": (counted.tp, counted.support),
        "F-score": _beta(beta, counted),
    }
    found = [
        _averaged(_divided(*ratio, name, zero_division), average, counted.support) for name, ratio in ratios.items()
    ]
    support = counted.support if sample_weight is not None else counted.support.astype(np.int64)
    return (*found, support if average is None else None)


# Probabilities


def _checked(y_true, p):
    y_true = column_or_1d(y_true)
    p = check_array(p, ensure_2d=False, dtype=np.float64, order="C", input_name="y_proba")
    check_consistent_length(y_true, p)
    check_classification_targets(y_true)
    return y_true, p


def _many(y_true, p, labels):
    """Codes of the truth with the number of classes, and probabilities with a column for each."""
    y_true, p = _checked(y_true, p)
    classes = _encoded(y_true)[0] if labels is None else np.unique(np.asarray(labels))
    if len(classes) < 2:
        where = "y_true contains only one label" if labels is None else "labels holds only one label"
        raise ValueError(f"{where} ({classes.tolist()}). Please provide all labels through the labels argument.")
    if p.ndim == 1 or p.shape[1] == 1:
        p = np.column_stack([1 - p.reshape(-1), p.reshape(-1)])
    if len(classes) != p.shape[1]:
        problem = f"{len(classes)} classes {classes.tolist()}, but {p.shape[1]} columns of probabilities"
        raise ValueError(f"y_true and y_proba contain different number of classes: {problem}")
    if not np.allclose(p.sum(1), 1.0, rtol=np.sqrt(np.finfo(float).eps)):
        warnings.warn(
            "The y_proba values do not sum to one. Make sure to pass probabilities.", UserWarning, stacklevel=4
        )
    codes = np.minimum(np.searchsorted(classes, y_true), len(classes) - 1)
    if (classes[codes] != y_true).any():
        raise ValueError(f"y_true contains labels that are not in labels: {np.setdiff1d(y_true, classes).tolist()}")
    return (np.ascontiguousarray(codes, dtype=np.uint32), len(classes)), p


def _two(y_true, p, pos_label):
    """The same where the probability of one class is given."""
    y_true, p = _checked(y_true, p)
    kind = type_of_target(y_true)
    if kind != "binary":
        raise ValueError(f"The type of the target inferred from y_true is {kind} but should be binary")
    if pos_label is None and y_true.dtype.kind not in "OUS":
        pos_label = 1 if set(np.unique(y_true).tolist()) <= {-1, 0, 1} else np.max(y_true)
    positive = _positive(y_true, pos_label)
    p = p.reshape(-1)
    return (positive.astype(np.uint32), 2), np.column_stack([1 - p, p])


def _positive(y_true, pos_label):
    """Which rows are of the class that scores are of: 1, where labels are 0 or -1 and 1, unless it is named."""
    if pos_label is None:
        labels = _labels_of(y_true)
        if not set(labels.tolist()) <= {-1, 0, 1} or {-1, 0} <= set(labels.tolist()):
            raise ValueError(
                f"y_true takes value in {labels.tolist()} and pos_label is not specified: "
                "either make y_true take value in {0, 1} or {-1, 1} or pass pos_label explicitly."
            )
        pos_label = 1
    return np.ascontiguousarray(y_true == pos_label)


def _labels_of(y):
    """The distinct labels; of integers without sorting them."""
    return _encoded(y)[0] if y.dtype.kind in "iub" else np.unique(y)


@_one_label
def log_loss(y_true, y_proba, *, normalize=True, sample_weight=None, labels=None):
    """`- sum w log p(true class) / sum w`; the sum without `normalize`."""
    truth, p = _many(y_true, y_proba, labels)
    weights = _weights(sample_weight, p)
    mean = _ermine.metric("log_loss", truth, p, weights)
    return mean if normalize else mean * (len(p) if weights is None else weights.sum())


@_one_label
def brier_score_loss(y_true, y_proba, *, sample_weight=None, pos_label=None, labels=None, scale_by_half="auto"):
    """`sum w sum_c (1[y = c] - p_c)^2 / sum w`; half of it for two classes unless `scale_by_half` says otherwise."""
    truth, p = _binary_or_many(y_true, y_proba, pos_label, labels)
    found = _ermine.metric("brier_score", truth, p, _weights(sample_weight, p))
    halved = p.shape[1] == 2
    wanted = halved if scale_by_half == "auto" else bool(scale_by_half)
    return found * (0.5 if wanted else 1.0) / (0.5 if halved else 1.0)


@_one_label
def d2_log_loss_score(y_true, y_proba, *, sample_weight=None, labels=None):
    """Share of the log loss of the class shares that is gone."""
    return _share("d2_log_loss_score", lambda: _many(y_true, y_proba, labels), y_proba, sample_weight)


@_one_label
def d2_brier_score(y_true, y_proba, *, sample_weight=None, pos_label=None, labels=None):
    """Share of the Brier score of the class shares that is gone."""
    return _share("d2_brier_score", lambda: _binary_or_many(y_true, y_proba, pos_label, labels), y_proba, sample_weight)


def _binary_or_many(y_true, p, pos_label, labels):
    one = np.ndim(p) == 1 or np.shape(p)[1] == 1
    return _two(y_true, p, pos_label) if one else _many(y_true, p, labels)


def _share(name, checked, p, sample_weight):
    if len(p) == 1:
        warnings.warn("D^2 score is not well-defined with less than two samples.", UndefinedMetricWarning, stacklevel=4)
        return float("nan")
    truth, p = checked()
    return _ermine.metric(name, truth, p, _weights(sample_weight, p))


# Orders


def _scores(y_true, y_score):
    y_true = column_or_1d(y_true)
    y_score = check_array(y_score, ensure_2d=False, dtype=np.float64, order="C", input_name="y_score")
    check_consistent_length(y_true, y_score)
    return y_true, y_score


@_one_label
def roc_auc_score(
    y_true, y_score, *, average="macro", sample_weight=None, max_fpr=None, multi_class="raise", labels=None
):
    """Area under the ROC curve: `P(s+ > s-) + P(s+ = s-) / 2`. For several classes `multi_class` is `ovr` or `ovo`."""
    y_true, y_score = _scores(y_true, y_score)
    weights = _weights(sample_weight, y_true)
    classes, codes = _encoded(y_true)
    if len(classes) > 2 or (y_score.ndim == 2 and y_score.shape[1] > 2):
        return _many_auc(y_true, y_score, average, weights, max_fpr, multi_class, labels)
    if y_score.ndim == 2:
        y_score = column_or_1d(y_score)
    if len(classes) < 2:
        _undefined("Only one class is present in y_true. ROC AUC score is not defined in that case.")
        return float("nan")
    if max_fpr is not None and not 0 < max_fpr <= 1:
        raise ValueError(f"max_fpr is {max_fpr}, but it must be above 0 and at most 1")
    parameter = 1.0 if max_fpr is None else float(max_fpr)
    positive = codes == 1
    return _ermine.metric_of_scores("roc_auc_score", positive, y_score, weights, parameter, threads=_threads(None))


def _many_auc(y_true, scores, average, weights, max_fpr, multi_class, labels):
    if max_fpr not in (None, 1.0):
        raise ValueError(f"Partial AUC computation not available in multiclass setting, 'max_fpr' is {max_fpr}")
    if multi_class not in ("ovr", "ovo"):
        raise ValueError("multi_class must be in ('ovo', 'ovr')")
    if (average, multi_class) not in {("macro", "ovr"), ("weighted", "ovr"), ("macro", "ovo"), ("weighted", "ovo")}:
        # The micro average and values of each class.
        options = {"average": average, "sample_weight": weights, "multi_class": multi_class, "labels": labels}
        return _sklearn.roc_auc_score(y_true, scores, **options)
    if weights is not None and multi_class == "ovo":
        raise ValueError(
            "sample_weight is not supported for multiclass one-vs-one ROC AUC, 'sample_weight' must be None"
        )
    if not np.allclose(1, scores.sum(axis=1)):
        raise ValueError(
            "Target scores need to be probabilities for multiclass roc_auc, i.e. they should sum up to 1.0"
        )
    truth, scores = _many(y_true, scores, labels)
    suffix = "_weighted" if average == "weighted" else ""
    found = _ermine.metric(f"roc_auc_{multi_class}{suffix}", truth, scores, weights)
    if np.isnan(found):
        _undefined("A class is not present in y_true. ROC AUC score is not defined in that case.")
    return found


def _undefined(problem):
    warnings.warn(problem, UndefinedMetricWarning, stacklevel=4)


def _curve(name, y_true, y_score, pos_label, sample_weight, **options):
    y_true, y_score = column_or_1d(y_true), column_or_1d(y_score)
    check_consistent_length(y_true, y_score)
    kind = type_of_target(y_true)
    if kind != "binary" and not (kind == "multiclass" and pos_label is not None):
        raise ValueError(f"{kind} format is not supported")
    y_score = check_array(y_score, ensure_2d=False, dtype=np.float64, input_name="y_score")
    weights = _weights(sample_weight, y_true)
    positive = _positive(y_true, pos_label)
    return _ermine.curve(name, positive, np.ascontiguousarray(y_score), weights, threads=_threads(None), **options)


def roc_curve(y_true, y_score, *, pos_label=None, sample_weight=None, drop_intermediate=True):
    """False positive rate, true positive rate and threshold at each corner of the ROC curve."""
    fpr, tpr, thresholds = _curve(
        "roc_curve", y_true, y_score, pos_label, sample_weight, corners_only=drop_intermediate
    )
    for rate, name in ((fpr, "negative"), (tpr, "positive")):
        if np.isnan(rate[-1]):
            rate[:] = np.nan
            other = "false" if name == "negative" else "true"
            _undefined(f"No {name} samples in y_true, {other} positive value should be meaningless")
    return fpr, tpr, thresholds


def precision_recall_curve(y_true, y_score, *, pos_label=None, sample_weight=None, drop_intermediate=False):
    """Precision and recall at each threshold, the lowest first."""
    if drop_intermediate:
        options = {"pos_label": pos_label, "sample_weight": sample_weight, "drop_intermediate": True}
        return _sklearn.precision_recall_curve(y_true, y_score, **options)
    found = _curve("precision_recall_curve", y_true, y_score, pos_label, sample_weight)
    if not _positive(column_or_1d(y_true), pos_label).any():
        _undefined("No positive class found in y_true, recall is set to one for all thresholds.")
    return found


@_one_label
def average_precision_score(y_true, y_score, *, average="macro", pos_label=1, sample_weight=None):
    """`sum_t (recall_t - recall_{t-1}) precision_t`; for several classes the mean of each against the rest."""
    y_true, y_score = _scores(y_true, y_score)
    weights = _weights(sample_weight, y_true)
    classes, codes = _encoded(y_true)

    def of(positive, scores):
        if not positive.any():
            _undefined("No positive class found in y_true, recall is set to one for all thresholds.")
        scores = np.ascontiguousarray(scores)
        return _ermine.metric_of_scores("average_precision_score", positive, scores, weights, threads=_threads(None))

    if len(classes) <= 2:
        if len(classes) == 2 and pos_label not in classes.tolist():
            raise ValueError(f"pos_label={pos_label} is not a valid label. It should be one of {classes.tolist()}")
        return of(np.ascontiguousarray(y_true == pos_label), column_or_1d(y_score))
    if average not in ("macro", "weighted", None) or y_score.ndim != 2 or y_score.shape[1] != len(classes):
        options = {"average": average, "pos_label": pos_label, "sample_weight": weights}
        return _sklearn.average_precision_score(y_true, y_score, **options)
    if pos_label != 1:
        raise ValueError(
            "Parameter pos_label is fixed to 1 for multiclass y_true. Do not set pos_label or set pos_label to 1."
        )
    each = np.array([of(codes == c, y_score[:, c]) for c in range(len(classes))])
    share = np.bincount(codes, weights=weights, minlength=len(classes))
    return _averaged(each, average, share)


# What scikit-learn has not


Interval = namedtuple("Interval", "estimate low high standard_error")
Interval.__doc__ = "An estimate with its bootstrap interval."


def interval(
    metric, y_true, predicted, *, sample_weight=None, level=0.95, n_resamples=1000, random_state=0, n_jobs=None
):
    """A metric with its percentile bootstrap interval: rows are drawn anew, truth and prediction together.

    Parameters
    ----------
    metric : str
        A name of `ermine.metrics.METRICS`, such as "accuracy", "roc_auc" or "r2"; with or without "neg_".
    y_true : array-like of shape (n_samples,)
    predicted : array-like
        What the metric compares: labels, probabilities or scores with a column for each class, or numbers.
    sample_weight : array-like of shape (n_samples,), default=None
    level : float, default=0.95
        Probability that the interval is meant to have.
    n_resamples : int, default=1000
    random_state : int, default=0
    n_jobs : int, default=None
        Threads; all cores if not given.

    Returns
    -------
    interval : Interval
        estimate, low, high, standard_error.

    Examples
    --------
    >>> from ermine.metrics import interval
    >>> found = interval("accuracy", [0, 1, 1, 0, 1, 0], [0, 1, 0, 0, 1, 0])
    >>> round(found.estimate, 3)
    0.833
    >>> bool(found.low <= found.estimate <= found.high)
    True
    """
    known = METRICS.get(metric) or METRICS.get(f"neg_{metric}")
    needs = known["needs"] if known else "Value"  # an unknown name is refused by the engine
    if needs == "Value":
        truth, predicted = _columns(y_true, predicted)
    elif needs == "Class":
        labels, codes, called = _codes(y_true, predicted)
        truth, predicted = (codes, len(labels)), called[:, None]
    else:
        y_true, predicted = _scores(y_true, predicted)
        labels, codes = _encoded(y_true)
        truth = (np.ascontiguousarray(codes, dtype=np.uint32), len(labels))
        predicted = predicted.reshape(len(predicted), -1)
        if needs == "Probability" and len(labels) == 2 and predicted.shape[1] == 1:
            predicted = np.hstack([1 - predicted, predicted])
    found = _ermine.metric_interval(
        metric,
        truth,
        np.ascontiguousarray(predicted, dtype=np.float64),
        _weights(sample_weight, predicted),
        level=level,
        resamples=n_resamples,
        seed=random_state,
        threads=_threads(n_jobs),
    )
    return Interval(*found)


Threshold = namedtuple("Threshold", "threshold cost cost_of_none cost_of_all")
Threshold.__doc__ = "The cheapest threshold, and what it costs a row; and calling nothing, and everything, positive."


def best_threshold(
    y_true,
    y_score,
    *,
    false_positive=1.0,
    false_negative=1.0,
    true_positive=0.0,
    true_negative=0.0,
    pos_label=None,
    sample_weight=None,
):
    """The threshold of least mean cost on these rows; choose it on rows that the model has not seen.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
    y_score : array-like of shape (n_samples,)
        Probabilities or scores of the positive class; rows at or above the threshold are called positive.
    false_positive, false_negative, true_positive, true_negative : float
        What each outcome costs; a gain is a negative cost.
    pos_label : label, default=None
        The positive class; 1 if not given.
    sample_weight : array-like of shape (n_samples,), default=None

    Returns
    -------
    threshold : Threshold
        threshold, cost, cost_of_none, cost_of_all.

    Examples
    --------
    >>> from ermine.metrics import best_threshold
    >>> best_threshold([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], false_negative=10).threshold
    0.35
    """
    y_true, y_score = _scores(y_true, y_score)
    costs = (float(false_positive), float(false_negative), float(true_positive), float(true_negative))
    weights = _weights(sample_weight, y_true)
    return Threshold(*_ermine.best_threshold(_positive(y_true, pos_label), column_or_1d(y_score), costs, weights))
