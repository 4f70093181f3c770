"""How well groups agree with labels and lie apart: the part of `ermine.metrics` about clusters."""

import numpy as np
import sklearn.metrics as _sklearn
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from . import _ermine
from ._convert import _rows, _threads


def _integers(*labels):
    """Labels of any kind as integers."""
    parts = [column_or_1d(part) for part in labels]
    check_consistent_length(*parts)
    return [np.ascontiguousarray(np.unique(part, return_inverse=True)[1].reshape(-1), dtype=np.int64) for part in parts]


def _alike(name, a, b):
    a, b = _integers(a, b)
    return _ermine.metric_of_labels(name, a, b)


def adjusted_rand_score(labels_true, labels_pred):
    """Share of pairs on which two labellings agree, adjusted for chance."""
    return _alike("adjusted_rand_score", labels_true, labels_pred)[0]


def normalized_mutual_info_score(labels_true, labels_pred, *, average_method="arithmetic"):
    """Mutual information as a share of the mean entropy."""
    if average_method != "arithmetic":
        return _sklearn.normalized_mutual_info_score(labels_true, labels_pred, average_method=average_method)
    return _alike("normalized_mutual_info_score", labels_true, labels_pred)[0]


def homogeneity_completeness_v_measure(labels_true, labels_pred, *, beta=1.0):
    """Whether clusters hold one class each, whether classes lie in one cluster each, and both."""
    h, c, _ = _alike("homogeneity_completeness_v_measure", labels_true, labels_pred)
    return h, c, (1 + beta) * h * c / (beta * h + c) if h + c else 0.0


def homogeneity_score(labels_true, labels_pred):
    """Whether clusters hold one class each."""
    return homogeneity_completeness_v_measure(labels_true, labels_pred)[0]


def completeness_score(labels_true, labels_pred):
    """Whether classes lie in one cluster each."""
    return homogeneity_completeness_v_measure(labels_true, labels_pred)[1]


def v_measure_score(labels_true, labels_pred, *, beta=1.0):
    """Harmonic mean of homogeneity and completeness."""
    return homogeneity_completeness_v_measure(labels_true, labels_pred, beta=beta)[2]


def _apart(name, X, labels):
    X = check_array(X, accept_sparse="csr", dtype=np.float64, order="C")
    (codes,) = _integers(labels)
    check_consistent_length(X, codes)
    groups = len(np.unique(codes))
    if not 2 <= groups <= len(codes) - 1:
        raise ValueError(f"Number of labels is {groups}. Valid values are 2 to n_samples - 1 (inclusive)")
    return _ermine.metric_of_clusters(name, _rows(X), codes, threads=_threads(None))


def silhouette_samples(X, labels, *, metric="euclidean", **kwds):
    """`(b - a) / max(a, b)` of each row: a its mean distance to its own group, b to the nearest other one."""
    if metric != "euclidean" or kwds:
        return _sklearn.silhouette_samples(X, labels, metric=metric, **kwds)
    return _apart("silhouette_samples", X, labels)


def silhouette_score(X, labels, *, metric="euclidean", sample_size=None, random_state=None, **kwds):
    """Mean silhouette of the rows."""
    if metric != "euclidean" or sample_size is not None or kwds:
        options = {"metric": metric, "sample_size": sample_size, "random_state": random_state}
        return _sklearn.silhouette_score(X, labels, **options, **kwds)
    return float(_apart("silhouette_score", X, labels)[0])


def calinski_harabasz_score(X, labels):
    """Spread between groups over spread within them."""
    return float(_apart("calinski_harabasz_score", X, labels)[0])


def davies_bouldin_score(X, labels):
    """Mean over the groups of how near the most similar other group is; less is better."""
    return float(_apart("davies_bouldin_score", X, labels)[0])
