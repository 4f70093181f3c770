"""Writes metrics.json: what scikit-learn 1.9 says of random and degenerate predictions.

    python metrics.py > metrics.json
"""

import json
import math
import warnings

import numpy as np
from sklearn import metrics as m
from sklearn.calibration import calibration_curve

warnings.filterwarnings("ignore")
rng = np.random.default_rng(8)


def plain(value):
    value = float(value)
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else str(value)


def classification(name, y, called, p, classes, w):
    kw = {} if w is None else {"sample_weight": w}
    labels = list(range(classes))
    scores = {
        "accuracy": m.accuracy_score(y, called, **kw),
        "balanced_accuracy": m.balanced_accuracy_score(y, called, **kw),
        "matthews_corrcoef": m.matthews_corrcoef(y, called, **kw),
        "cohen_kappa": m.cohen_kappa_score(y, called, **kw),
        "kappa_linear": m.cohen_kappa_score(y, called, weights="linear", **kw),
        "kappa_quadratic": m.cohen_kappa_score(y, called, weights="quadratic", **kw),
        "log_loss": m.log_loss(y, p, labels=labels, **kw),
        "brier_score": m.brier_score_loss(y, p, labels=labels, **kw),
        "d2_log_loss_score": m.d2_log_loss_score(y, p, labels=labels, **kw),
        "d2_brier_score": m.d2_brier_score(y, p, labels=labels, **kw),
    }
    averages = ["micro", "macro", "weighted"] + (["binary"] if classes == 2 else [])
    for average in averages:
        end = "" if average == "binary" else "_" + average
        scores["precision" + end] = m.precision_score(y, called, average=average, **kw)
        scores["recall" + end] = m.recall_score(y, called, average=average, **kw)
        scores["f1" + end] = m.f1_score(y, called, average=average, **kw)
        scores["f2.5" + end] = m.fbeta_score(y, called, beta=2.5, average=average, **kw)
        scores["jaccard" + end] = m.jaccard_score(y, called, average=average, **kw)
    curves = {}
    if classes == 2:
        s = p[:, 1]
        scores["roc_auc"] = m.roc_auc_score(y, s, **kw)
        if len(set(y)) == 2:
            scores["partial_roc_auc"] = m.roc_auc_score(y, s, max_fpr=0.3, **kw)
        scores["average_precision"] = m.average_precision_score(y, s, **kw)
        fpr, tpr, t = m.roc_curve(y, s, pos_label=1, **kw)
        curves["roc"] = [[plain(v) for v in fpr], [plain(v) for v in tpr], [plain(v) for v in t[1:]]]
        precision, recall, t = m.precision_recall_curve(y, s, pos_label=1, **kw)
        curves["pr"] = [precision.tolist(), recall.tolist(), t.tolist()]
        if w is None:
            for strategy in ["uniform", "quantile"]:
                true, predicted = calibration_curve(y, s, n_bins=7, strategy=strategy, pos_label=1)
                curves["calibration_" + strategy] = [true.tolist(), predicted.tolist()]
    elif len(set(y)) == classes:
        for kind in ["ovr", "ovo"]:
            for average in ["macro", "weighted"]:
                if kind == "ovo" and w is not None:
                    continue
                end = "_weighted" if average == "weighted" else ""
                scores[f"roc_auc_{kind}{end}"] = m.roc_auc_score(y, p, multi_class=kind, average=average, **kw)
        scores["average_precision"] = m.average_precision_score(y, p, **kw)
    return {
        "name": name,
        "y": [int(v) for v in y],
        "called": [int(v) for v in called],
        "p": np.asarray(p).ravel().tolist(),
        "classes": classes,
        "weights": None if w is None else [float(v) for v in w],
        "scores": {k: plain(v) for k, v in scores.items()},
        "curves": curves,
    }


def probabilities(n, k, ties):
    p = rng.dirichlet(np.ones(k), size=n)
    if ties:
        p = np.round(p * 8) + 1
        p /= p.sum(axis=1, keepdims=True)
    return p


def regression(name, y, f, w):
    kw = {} if w is None else {"sample_weight": w}
    scores = {
        "r2": m.r2_score(y, f, **kw),
        "explained_variance": m.explained_variance_score(y, f, **kw),
        "mean_squared_error": m.mean_squared_error(y, f, **kw),
        "root_mean_squared_error": m.root_mean_squared_error(y, f, **kw),
        "mean_absolute_error": m.mean_absolute_error(y, f, **kw),
        "median_absolute_error": m.median_absolute_error(y, f, **kw),
        "mean_absolute_percentage_error": m.mean_absolute_percentage_error(y, f, **kw),
        "d2_absolute_error_score": m.d2_absolute_error_score(y, f, **kw),
        "pinball_0.2": m.mean_pinball_loss(y, f, alpha=0.2, **kw),
        "d2_pinball_0.2": m.d2_pinball_score(y, f, alpha=0.2, **kw),
    }
    cols = 1 if np.ndim(y) == 1 else np.shape(y)[1]
    if cols == 1:
        scores["max_error"] = m.max_error(y, f)
        if (np.asarray(y) > 0).all() and (np.asarray(f) > 0).all():
            scores["mean_squared_log_error"] = m.mean_squared_log_error(y, f, **kw)
            scores["mean_poisson_deviance"] = m.mean_poisson_deviance(y, f, **kw)
            scores["mean_gamma_deviance"] = m.mean_gamma_deviance(y, f, **kw)
            for power in [-1.5, 0, 1, 1.5, 2, 3]:
                scores[f"tweedie_{power}"] = m.mean_tweedie_deviance(y, f, power=power, **kw)
                if len(set(y)) > 1 and m.mean_tweedie_deviance(y, [np.average(y, weights=w)] * len(y), power=power, **kw) > 0:
                    scores[f"d2_tweedie_{power}"] = m.d2_tweedie_score(y, f, power=power, **kw)
    return {
        "name": name,
        "y": np.asarray(y, float).ravel().tolist(),
        "f": np.asarray(f, float).ravel().tolist(),
        "cols": cols,
        "weights": None if w is None else [float(v) for v in w],
        "scores": {k: plain(v) for k, v in scores.items()},
    }


cases = []
for k in [2, 3, 5]:
    for ties in [False, True]:
        for weighted in [False, True]:
            n = 60
            p = probabilities(n, k, ties)
            y = np.array([rng.choice(k, p=row) for row in p])
            y[:k] = np.arange(k)
            w = rng.integers(0, 4, n) + rng.random(n) * (rng.random(n) < 0.5) if weighted else None
            if weighted:
                w[:k] = 1.0
            called = p.argmax(axis=1) if not ties else rng.integers(0, k, n)
            cases.append(classification(f"random {k} ties={ties} weights={weighted}", y, called, p, k, w))
two = probabilities(8, 2, True)
cases.append(classification("one class in the truth", np.ones(8, int), two.argmax(axis=1), two, 2, None))
cases.append(classification("only negatives", np.zeros(8, int), two.argmax(axis=1), two, 2, None))
cases.append(classification("one class called", np.array([0, 1] * 4), np.zeros(8, int), two, 2, None))
cases.append(classification("all right", np.array([0, 1] * 4), np.array([0, 1] * 4), np.eye(2)[[0, 1] * 4], 2, None))
cases.append(classification("all wrong", np.array([0, 1] * 4), np.array([1, 0] * 4), np.eye(2)[[1, 0] * 4], 2, None))
cases.append(classification("all scores equal", np.array([0, 1] * 4), np.ones(8, int), np.full((8, 2), 0.5), 2, None))
cases.append(classification("two rows", np.array([0, 1]), np.array([0, 1]), two[:2], 2, None))
three = probabilities(9, 3, False)
cases.append(classification("a class is never called", np.array([0, 1, 2] * 3), np.array([0, 1, 1] * 3), three, 3, None))
cases.append(classification("a class is not there", np.array([0, 2, 2] * 3), np.array([0, 1, 2] * 3), three, 3, None))

numbers = []
for weighted in [False, True]:
    n = 51 if weighted else 50
    w = rng.integers(0, 3, n).astype(float) if weighted else None
    y = rng.normal(size=n)
    numbers.append(regression(f"normal weights={weighted}", y, y + rng.normal(size=n), w))
    y = rng.gamma(2.0, size=n)
    numbers.append(regression(f"positive weights={weighted}", y, y * rng.gamma(5.0, 0.2, size=n), w))
    y = rng.normal(size=(n, 3))
    numbers.append(regression(f"three targets weights={weighted}", y, y + 0.3 * rng.normal(size=(n, 3)), w))
numbers.append(regression("constant truth, met", [2.0] * 5, [2.0] * 5, None))
numbers.append(regression("constant truth, missed", [2.0] * 5, [2.0, 2.5, 2.0, 1.0, 2.0], None))
numbers.append(regression("one row", [2.0], [1.5], None))
numbers.append(regression("zeros in the truth", [0.0, 1.0, 2.0, 0.0], [0.5, 1.0, 1.5, 0.0], None))
# Halves, which survive every way of writing numbers.
numbers.append(regression("far from zero", 1e9 + rng.integers(-9, 9, 20) / 2, np.full(20, 1e9), None))

print(json.dumps({"classification": cases, "regression": numbers}))
