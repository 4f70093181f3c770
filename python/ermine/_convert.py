"""From what people hand over to what the engine borrows: rows, labels, threads."""

import os

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples

from ._forms import Elsewhere


def _text_levels(column):
    """The sorted levels of a column of text; what is of several types or has missing values is scikit-learn's to
    sort."""
    found = set(column.tolist())
    if not all(type(level) is str for level in found):
        raise Elsewhere("a column that is neither numbers nor text alone")
    return sorted(found)


def _count(X):
    """How many rows; 0 where neighbours take a tree in their place."""
    try:
        return _num_samples(X)
    except TypeError:
        return 0


def _rows(X):
    """What the engine borrows: a C-ordered matrix, or the parts of a canonical CSR matrix."""
    if not sp.issparse(X):
        return np.ascontiguousarray(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    columns = X.indices.view(np.uint32) if X.indices.dtype == np.int32 else X.indices.astype(np.uint32)
    return X.indptr.astype(np.uintp), columns, X.data, X.shape[1]


def _encoded(y):
    """Sorted labels and the number of each row's label among them."""
    if y.dtype.kind in "iub" and len(y):
        # Integers within a small range need no sorting.
        low, high = int(y.min()), int(y.max())
        if high - low < max(1024, len(y)):
            shifted = y.astype(np.int64) - low
            present = np.bincount(shifted, minlength=high - low + 1) > 0
            codes = (np.cumsum(present) - 1).astype(np.uint32)[shifted]
            return (np.flatnonzero(present) + low).astype(y.dtype), codes
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.reshape(-1)


def _threads(n_jobs):
    """None and -1 are all cores that this process may use, -2 all but one, and so on."""
    if n_jobs == 0:
        raise ValueError("n_jobs is 0, but it must be an integer other than 0, or None")
    if n_jobs is not None and n_jobs > 0:
        return int(n_jobs)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is not None:
        return max(1, cores + 1 + int(n_jobs))
    # Process pools say through this variable how many threads each process should use.
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(cores, int(limit))) if limit.isdigit() else cores
