"""The steps of a fit, as the engine records them while it fits."""

import contextlib
import contextvars
from typing import NamedTuple

from . import _ermine

_TRACES: contextvars.ContextVar["Trace | None"] = contextvars.ContextVar("ermine_trace", default=None)


class Step(NamedTuple):
    """What was known after one step: its number from 0, what kind of step it was, and named matrices."""

    number: int
    what: str
    values: dict


class TracedFit:
    """One fit: `estimator`, its `steps`, and how many were `recorded`; of a long fit every second, fourth, eighth step
    is kept, and the last."""

    def __init__(self, estimator, most):
        self.estimator = estimator
        self._engine = _ermine.Trace(most)
        self._steps = None

    @property
    def recorded(self):
        return self._engine.recorded

    @property
    def steps(self):
        # A fit that is still running adds to them.
        if self._steps is None or self._steps[0] != self.recorded:
            self._steps = self.recorded, [Step(*step) for step in self._engine.steps()]
        return self._steps[1]

    def __repr__(self):
        return f"TracedFit({type(self.estimator).__name__}, {self.recorded} steps)"


class Trace:
    """The fits inside a `with ermine.trace()`, in order, and the steps of the last one of which any were recorded.

    It is a sequence of `Step`: `len(steps)`, `steps[-1].values["coef"]`, `for step in steps`.
    """

    def __init__(self, most):
        self._most = most
        self.fits = []

    @property
    def steps(self):
        return next((fit.steps for fit in reversed(self.fits) if fit.recorded), [])

    def __len__(self):
        return len(self.steps)

    def __getitem__(self, at):
        return self.steps[at]

    def __iter__(self):
        return iter(self.steps)

    def __repr__(self):
        return f"Trace({', '.join(map(repr, self.fits))})"


@contextlib.contextmanager
def trace(*, most=2_000_000):
    """Records the steps of every fit inside the block.

    A block, and not a parameter: a parameter of the constructor would not be scikit-learn's (`get_params`, `clone`,
    searches and its own checks see every parameter), and one of `fit` would not reach the steps of a pipeline. What is
    recorded changes no bit of a model. Fits of other processes, and fits that scikit-learn does in the engine's place,
    leave no steps.

    Parameters
    ----------
    most : int
        Numbers that the steps of one fit may take. Of a longer fit every second, fourth, eighth step is kept, and the
        last.

    Yields
    ------
    steps : Trace
        A sequence of steps, each with its number, what it was (`step.what`) and named matrices (`step.values`). The
        last step is the fitted model. `steps.fits` has every fit of the block.

    Examples
    --------
    >>> import numpy as np, ermine
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> with ermine.trace() as steps:
    ...     model = ermine.KMeans(n_clusters=3, n_init=1, random_state=0).fit(X)
    >>> bool((steps[-1].values["centres"] == model.cluster_centers_).all())
    True
    """
    if not isinstance(most, int) or most < 1:
        raise ValueError(f"most is a whole number above 0, not {most!r}")
    found = Trace(most)
    token = _TRACES.set(found)
    try:
        yield found
    finally:
        _TRACES.reset(token)


def tracing(estimator):
    """What a fit of the engine records its steps in, if anybody wants to see them."""
    now = _TRACES.get()
    if now is None:
        return None
    now.fits.append(TracedFit(estimator, now._most))
    return now.fits[-1]._engine
