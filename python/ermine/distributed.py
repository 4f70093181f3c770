"""One fit on rows that are spread over many processes, through mpi4py.

A script under ``mpirun -n 4 python script.py`` gives each process its own consecutive part of the rows, in the order of
ranks::

    from mpi4py import MPI
    import ermine
    from ermine import distributed

    model = distributed.fit(ermine.LogisticRegression(), X_part, y_part, exchange=distributed.Exchange(MPI.COMM_WORLD))

Every process gets the same model, the one that a single process fits to all rows, to the last bit and for any number of
processes and any cut of the rows. Models that are sums over rows take part, trees and forests too; the others say why
they do not.
"""

import numbers

import numpy as np
import scipy.sparse as sp

from . import _ermine
from ._base import Estimator
from ._complete import complete
from ._convert import _rows, _threads
from ._log import FitLog
from ._tasks import Classifier

__all__ = ["Exchange", "fit"]


class Exchange:
    """The processes of an MPI communicator, as a fit needs them.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm, optional
        By default all processes that were started together.
    """

    def __init__(self, comm=None):
        if comm is None:
            from mpi4py import MPI

            comm = MPI.COMM_WORLD
        self.comm = comm

    @property
    def rank(self):
        return self.comm.Get_rank()

    @property
    def size(self):
        return self.comm.Get_size()

    def all_gather(self, mine):
        """Everyone's object, in the order of ranks."""
        return self.comm.allgather(mine)

    def all_to_all(self, to):
        """What everyone has for this process, in the order of ranks; `to` has something for each."""
        return self.comm.alltoall(to)

    def together(self, work):
        """Runs `work` here; when it fails anywhere, all fail, so that nobody waits for somebody who is gone."""
        failure, result = None, None
        try:
            result = work()
        except Exception as error:
            failure = error
        said = self.all_gather(None if failure is None else f"{type(failure).__name__}: {failure}")
        if failure is not None:
            raise failure
        for rank, message in enumerate(said):
            if message is not None:
                raise ValueError(f"worker {rank}: {message}")
        return result


def fit(estimator, X, y=None, sample_weight=None, *, exchange=None):
    """Fit an estimator of ermine to the rows of all processes.

    Parameters
    ----------
    estimator : estimator of ermine
        It is fitted in place.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows of this process; they follow those of the process before it.
    y : array-like of shape (n_samples,), optional
        Their targets.
    sample_weight : array-like of shape (n_samples,), optional
        Their weights.
    exchange : Exchange, optional
        The other processes. By default all that were started together.

    Returns
    -------
    estimator
        The same in every process. What a fit finds out about single rows (`labels_`) is not kept: `predict` tells it.
    """
    exchange = Exchange() if exchange is None else exchange
    params, starts = estimator._engine_params()
    if reason := _ermine.needs_one_worker(estimator._name, params):
        raise NotImplementedError(f"{type(estimator).__name__} needs all rows in memory: {reason}")
    if getattr(estimator, "class_weight", None) is not None:
        raise NotImplementedError("class_weight is counted in one process; give sample_weight instead")
    if "cv" in estimator._forms and not (estimator.cv is None or isinstance(estimator.cv, numbers.Integral)):
        raise NotImplementedError("cv must be a number of folds where rows are spread over processes")

    X, y = exchange.together(lambda: estimator._checked(X, y, True))
    widths = exchange.all_gather((X.shape[1], estimator._column_names()))
    for rank, width in enumerate(widths):
        if width != widths[0]:
            raise ValueError(f"worker {rank} has the columns {width}, worker 0 {widths[0]}")
    labels = None
    if isinstance(estimator, Classifier):
        labels = np.unique(np.concatenate(exchange.all_gather(np.unique(y))))
        estimator.__dict__.pop("classes_", None)
    target = exchange.together(lambda: estimator._target(y, labels))
    estimator.__dict__.pop("_codes", None)
    weights = exchange.together(lambda: Estimator._weights(estimator, X, y, sample_weight))
    # A state that is drawn is drawn once.
    seed = exchange.all_gather(estimator._seed())[0]

    codes, classes = target if isinstance(target, tuple) else (target, None)
    (X, codes, weights), first, total = _aligned(exchange, [X, codes, weights])
    model, log, _ = _ermine.Model.fit(
        estimator._name,
        params,
        _rows(X),
        codes if classes is None else (codes, classes),
        weights,
        seed=seed,
        threads=_threads(estimator.n_jobs),
        starts=starts,
        columns=estimator._column_names(),
        share=(exchange, first, total),
    )
    estimator._restore(model, FitLog(log), seed=seed, rows=total)
    complete(estimator, None, None, None, None)
    estimator._warn_of_end()
    return estimator


def _aligned(exchange, arrays):
    """Moves the rows at the edges, so that every process holds whole blocks of the sum over all rows."""
    rows, cols = arrays[0].shape
    counts = exchange.all_gather(rows)
    ends = np.cumsum(counts)
    total, begin = int(ends[-1]), int(ends[exchange.rank] - rows)
    shares = _ermine.shares(total, cols, exchange.size)

    def between(start, end):
        cut = slice(max(start - begin, 0), min(max(end - begin, 0), rows))
        return [None if array is None else array[cut] for array in arrays]

    received = exchange.all_to_all([between(start, end) for start, end in shares])
    return [_joined(parts) for parts in zip(*received)], shares[exchange.rank][0], total


def _joined(parts):
    if parts[0] is None:
        return None
    if sp.issparse(parts[0]):
        return sp.vstack(parts, format="csr")
    return np.ascontiguousarray(np.concatenate(parts))
