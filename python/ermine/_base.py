"""What every class shares: scikit-learn's conventions over one fitted model.

The classes in `_models.py` are generated from Ermine's list. Each is scikit-learn's class of that name with the engine
in front: a fit goes to the engine where it has a form for every parameter and for the rows, and to scikit-learn's own
code where it has not (a Python function as a metric, an estimator of another package, an option of scikit-learn alone).
So parameters, defaults, checks, messages and methods are scikit-learn's, and an option is never dropped. `fit_log_`
says who fitted, and `ermine.patch_report()` sums it up.

Data is checked and labels are encoded here, once; the numbers come from `_ermine`.
"""

import contextlib
import functools
import inspect
import json
import numbers
import re
import warnings

import numpy as np
import scipy.sparse as sp
import sklearn
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.utils import check_array, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    check_non_negative,
    validate_data,
)

from . import _ermine
from ._complete import complete
from ._convert import _count, _rows, _threads
from ._forms import (
    _MACHINES,
    _NOTHING,
    _STARTS,
    Elsewhere,
    _chooses,
    _equal,
    _has,
    _is_single,
    _members,
    _plain,
    _shown,
    check_columns,
    check_form,
    check_rows,
)
from ._later import LATER
from ._log import FITS, UNFINISHED, FitLog, tell
from ._trace import tracing

_LIST = {entry["name"]: entry for entry in json.loads(_ermine.models())}


#: Attributes that people write over after a fit, and those of them that they change in place.
_WRITABLE = frozenset(
    "coef_ intercept_ coefs_ intercepts_ mean_ scale_ min_ center_ lambdas_ components_ cluster_centers_ means_ weights_ "
    "precisions_cholesky_ theta_ var_ class_prior_ class_log_prior_ feature_log_prob_ _dual_coef_ "
    "_intercept_ _n_support".split()
)
_CHANGED = ("coef_", "intercept_", "_n_support")


class Estimator:
    """Fits and predicts through the engine, in front of scikit-learn's class of the same name where there is one.

    Generated classes say which model of the list they are. A method of the engine hands over to scikit-learn's when the
    fit was not the engine's; a method that only scikit-learn has works from the attributes, which are the same.
    """

    _name = None
    #: scikit-learn's class of that name, or None.
    _peer = None
    # Outputs of a fitted model; those that depend on a parameter with its values, as {output: (parameter, values)}.
    _outputs = ()
    _outputs_with: dict = {}
    #: Parameters of scikit-learn's class that choose an implementation and not a problem: the engine chooses by itself.
    _ignored = ()
    # From the list.
    _info: dict = {}
    _forms: dict = {}
    #: Parameters of scikit-learn's class with their defaults.
    _peer_params: dict = {}
    #: Parameters of scikit-learn's class alone that change the result, with the default under which the engine can fit.
    _only_default: dict = {}

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if cls.__dict__.get("_name"):
            entry = _LIST[cls._name]
            cls._info = entry["info"]
            cls._forms = {param["name"]: param["forms"] for param in entry["params"]}
            taken = {} if cls._peer is None else dict(inspect.signature(cls._peer.__init__).parameters)
            taken.pop("self", None)
            cls._peer_params = {name: parameter.default for name, parameter in taken.items()}
            known = {*cls._forms, *cls._ignored, "class_weight", "n_jobs", "random_state"}
            known |= {"warm_start"} if cls._info["resume"] else set()
            cls._only_default = {name: default for name, default in cls._peer_params.items() if name not in known}

    def __init__(self, **params):
        # What the installed scikit-learn does not know is the engine's alone, or of a later version.
        super().__init__(**{name: params[name] for name in self._peer_params if name in params})
        for name, value in params.items():
            if name not in self._peer_params:
                setattr(self, name, value)

    # Fitting

    def _fit_either(self, X, y, sample_weight=None, *, keep=None, method="fit", **more):
        """Fits in the engine, or in scikit-learn's class where the engine cannot. `keep` is for `_fit_in_engine`."""
        if self._peer is None:
            return self._fit_in_engine(X, y, sample_weight, previous=self._warm(), keep=keep)
        if "_in_peer" in self.__dict__:
            return self._call_peer(method, X, y, sample_weight, more)
        if not sklearn.get_config()["skip_parameter_validation"]:
            self._validate_params()
        refused, kept = None, dict(vars(self))
        try:
            others = [name for name, value in more.items() if value is not None and value is not True]
            if others:
                raise Elsewhere(f"{others[0]} is given to {method}")
            self._check_form()
            previous = self._warm()
            before = set(vars(self)) if previous is not None else self._forget()
            self._fit_in_engine(X, y, sample_weight, previous=previous, keep=keep)
            self._set_by_fit = self.__dict__.get("_set_by_fit", set()) | (set(vars(self)) - before)
            FITS[type(self).__name__, "ermine", ""] += 1
            return self
        except Elsewhere as reason:
            why = str(reason)
        except Refused as error:
            refused, why = error, str(error)
        except (ValueError, TypeError, NotImplementedError) as error:
            why = str(error)  # scikit-learn says it in its own words, or knows better
        self._take_back(kept)
        return self._fit_in_peer(X, y, sample_weight, why=why, refused=refused, method=method, **more)

    def _fit_in_peer(self, X, y, sample_weight=None, *, why, refused=None, method="fit", **more):
        if sample_weight is not None and not self._peer_weighs(method):
            raise ValueError(why)  # weights are the engine's alone
        going_on = method == "partial_fit" or getattr(self, "warm_start", False)
        kept = dict(vars(self))
        before = self._leave_engine() if going_on else self._forget()
        self._in_peer = True
        try:
            found = self._call_peer(method, X, y, sample_weight, more)
        except Exception as error:
            if not going_on:
                self._take_back(self._after_failure(kept, before))
            # The engine names the row, the column or the rule.
            if refused is not None and len(error.args) == 1 and isinstance(error.args[0], str):
                error.args = (f"{error.args[0]}\n{refused}",)
            raise
        finally:
            del self._in_peer
        passes = [n for n in np.ravel(getattr(self, "n_iter_", 1)) if isinstance(n, numbers.Integral)]
        self.fit_log_, self._fit_rows = FitLog.elsewhere(why, int(max(passes, default=1))), _count(X)
        self._set_by_fit = self.__dict__.get("_set_by_fit", set()) | (set(vars(self)) - before)
        FITS[type(self).__name__, "scikit-learn", why] += 1
        return found

    def _peer_weighs(self, method):
        """Whether scikit-learn's method takes weights, by name or among others."""
        theirs = getattr(self._peer, "fit" if method == "fit_transform" else method)
        taken = inspect.signature(theirs).parameters.values()
        return any(parameter.name == "sample_weight" or parameter.kind is parameter.VAR_KEYWORD for parameter in taken)

    def _call_peer(self, method, X, y, sample_weight, more):
        given = {name: value for name, value in more.items() if value is not None}
        if sample_weight is not None:
            given["sample_weight"] = sample_weight
        return getattr(super(), method)(X, y, **given)

    def _forget(self):
        """Drops what an earlier fit has set; returns the names of what stays."""
        for name in (*self.__dict__.pop("_set_by_fit", ()), *LATER, "_leaf_nodes"):
            self.__dict__.pop(name, None)
        return set(vars(self))

    def _after_failure(self, kept, before):
        """What is left when scikit-learn's fit fails: an earlier fit, with what was written over it."""
        written = {name: value for name, value in vars(self).items() if name not in before}
        state = {**kept, **written, "_set_by_fit": kept.get("_set_by_fit", set()) | set(written)}
        if set(written) - {"_in_peer", "n_features_in_", "feature_names_in_"}:
            state.pop("_model", None)
        return state

    def _take_back(self, kept):
        """Leaves nothing of a fit that was begun and not ended."""
        self.__dict__.clear()
        self.__dict__.update(kept)

    def _leave_engine(self):
        """From here on scikit-learn's code goes on from the attributes; returns their names."""
        for name in ("_model", "fit_log_"):
            self.__dict__.pop(name, None)
        return set(vars(self))

    def _check_form(self, in_parts=False):
        check_form(self, in_parts)

    def _fit_in_engine(self, X, y, sample_weight, *, previous=None, override=None, reset=True, classes=None, keep=None):
        """`keep` is a dict that gets the checked rows, and what was found about each that is not an attribute."""
        params, starts = self._engine_params()
        single = _is_single(X)
        check_columns(self, X)
        X, y = self._checked(X, y, reset)
        target = self._target(y, classes)
        weights = self._weights(X, y, sample_weight)
        check_rows(self, X, y, weights)
        params.update(override or {})
        if self._name == "IncrementalPCA":
            params |= self._components(X, previous, in_parts=override is not None)
        share = params.get("max_samples")
        if isinstance(share, float) and share > 1 and weights is None:
            params["max_samples"] = int(share * X.shape[0])
        order, given = None, (X, weights)
        if "HistGradientBoosting" in self._name and weights is not None and weights.any() and not weights.all():
            # Bins are quantiles of the rows, and rows without weight are none.
            X, target, weights = _taken(np.flatnonzero(weights), X, target, weights)
        if "cv" in self._forms and not (self._name in ("RidgeCV", "RidgeClassifierCV") and self.cv is None) and self._crosses(keep):
            params.pop("cv", None)
            order, bounds = self._by_fold(X, y)
            starts.append(("cv", bounds))
            if order is not None:
                X, target, weights = _taken(order, X, target, weights)
        seed = self._seed()
        rows_given = self._laid_out(X)
        try:
            model, log, rows = _ermine.Model.fit(
                self._name,
                params,
                rows_given,
                target,
                weights,
                seed=seed,
                threads=_threads(self.n_jobs),
                starts=starts,
                columns=self._column_names(),
                previous=previous,
                trace=tracing(self),
            )
        except (ValueError, NotImplementedError) as error:
            more = "" if X.shape[0] > 1 else " (n_samples=1)"
            raise (ValueError if self._peer is None else Refused)(f"{error}{more}") from None
        if X is not given[0]:
            X, weights = given
            rows_given = _rows(X)
        if order is not None:
            # What was found about each row is in the order of the folds.
            place = np.argsort(order)
            rows = {name: value[place] for name, value in rows.items()}
        if keep is not None:
            keep.update(rows, X=X)
        # Names without the trailing underscore are for steps of a pipeline, not for people.
        self._restore(model, FitLog(log), seed=seed, rows=X.shape[0])
        for name, value in ((name, value) for name, value in rows.items() if name.endswith("_")):
            self._set(name, value)
        self._finish_rows()
        self._single = single
        complete(self, X, y, weights, rows_given)
        if single:
            self._halve()
        if self._peer is not None:
            found = {name: value for name, value in vars(self).items() if name in _WRITABLE}
            copied = {name: found[name].copy() for name in _CHANGED if isinstance(found.get(name), np.ndarray)}
            self._written = found | copied
        if getattr(self, "verbose", False):
            tell(self)
        if override is None:
            self._warn_of_end()
        return self

    def _laid_out(self, X):
        """What the engine borrows. Sparse and dense rows of a small table give one machine to the last bit."""
        small = self._name in _MACHINES and sp.issparse(X) and X.shape[0] * X.shape[1] <= 1 << 20
        return _rows(X.toarray() if small else X)

    def _components(self, X, previous, in_parts):
        """As many components as the first batch has rows, if they are not given; they stay as many."""
        if previous is not None:
            count = self.components_.shape[0]
            if self.n_components is not None and self.n_components != count:
                raise Elsewhere(f"n_components={self.n_components} after {count}")
            return {"n_components": count}
        if self.n_components is None and self.batch_size is not None and not in_parts:
            return {"n_components": min(self.batch_size, *X.shape)}
        return {}

    #: Whether the rows of the fit were in single precision: so is then what comes out, where scikit-learn does the
    #: same.
    _single = False
    #: Attributes that scikit-learn's class has in single precision then.
    _singles = ()
    #: Methods that then answer in single precision rows likewise.
    _single_answers = ()

    def _halve(self):
        for name in (*self._singles, "_counts"):  # of minibatches, which scikit-learn's steps go on with
            value = self.__dict__.get(name)
            if isinstance(value, np.ndarray) and value.dtype == np.float64:
                setattr(self, name, value.astype(np.float32))
            elif isinstance(value, list):  # an array for each layer or class
                setattr(self, name, [part.astype(np.float32) for part in value])

    def _warn_of_end(self):
        if self.fit_log_.unfinished:
            proof = f" ({self.fit_log_.proof})" if self.fit_log_.proof else ""
            warnings.warn(
                f"{type(self).__name__} stopped after {self.fit_log_.passes} passes before it met its tolerance"
                f"{proof}; raise max_iter, scale the data, or accept the accuracy."
                f"{self._end_in_their_words()}",
                ConvergenceWarning,
                stacklevel=5,
            )
        redundant = [note for note in self.fit_log_.notes if " is redundant: " in note]
        if redundant:
            names = getattr(self, "feature_names_in_", None)
            if names is not None:
                redundant = [
                    re.sub(r"column (\d+)", lambda j: f"column {names[int(j[1])]!r}", note) for note in redundant
                ]
            more = f" ({len(redundant) - 3} more in fit_log_.notes)" if len(redundant) > 3 else ""
            warnings.warn(
                f"{type(self).__name__}: {'; '.join(redundant[:3])}{more}. "
                "The coefficients are the ones of least norm: those of redundant columns have no meaning of their own.",
                stacklevel=5,
            )

    def _end_in_their_words(self):
        """What scikit-learn's class says here; filters and tests look for it."""
        solver = getattr(self, "solver", None) if "Logistic" in self._name else None
        if solver == "newton-cholesky":
            return f" (Newton solver did not converge after {self.fit_log_.passes} iterations)"
        words = UNFINISHED.get(f"{self._name} {solver}" if solver else self._name)
        return f" ({words})" if words else ""

    def _restore(self, model, log, seed, rows):
        """Takes over a fitted model, from a fit or from a file."""
        for name in (*LATER, "_leaf_nodes"):
            self.__dict__.pop(name, None)  # made from the model before
        self._model, self.fit_log_, self._fit_seed, self._fit_rows, self._found = model, log, seed, rows, {}
        for name, value in model.attributes().items():
            # Names are an array; arrays of different shapes (the weights of each layer) stay a list.
            names = isinstance(value, list) and all(isinstance(item, str) for item in value)
            value = np.array(value) if names else value
            self._set(name, value)
        if log.stop not in ("Exact", "Passes") or hasattr(self, "max_iter"):
            self._set("n_iter_", max(1, log.passes))
        self._finish_fit()

    def _set(self, name, value):
        value = np.float64(value) if type(value) is float else value
        # What scikit-learn's class computes from other attributes stays its own.
        if isinstance(getattr(type(self), name, None), property):
            self._found[name] = value
        else:
            setattr(self, name, value)

    def _finish_fit(self):
        pass

    def _finish_rows(self):
        pass

    def _checked(self, X, y, reset):
        return self._validated(X, reset), None

    def _validated(self, X, reset):
        # Rows that are as the engine takes them: inspecting a single one would take longer than predicting it.
        if (
            not reset
            and type(X) is np.ndarray
            and X.dtype == np.float64
            and X.flags.c_contiguous
            and X.ndim == 2
            and X.shape[0] > 0
            and X.shape[1] == getattr(self, "n_features_in_", None)
            and not hasattr(self, "feature_names_in_")
        ):
            return X
        return validate_data(self, X, reset=reset, **self._checks())

    def _target(self, y, classes):
        return None

    def _classes_of_step(self, first, classes):
        return classes

    def _weights(self, X, y, sample_weight):
        if sample_weight is None:
            return None
        return np.ascontiguousarray(_check_sample_weight(sample_weight, X, dtype=np.float64))

    def _checks(self):
        # Whether numbers are finite is checked by the engine, which names the row and the column.
        return {
            "accept_sparse": "csr" if self._info["sparse"] else False,
            "dtype": np.float64,
            "order": "C",
            "ensure_all_finite": False,
        }

    def _seed(self):
        if not self._info["random"]:
            return 0
        state = None if isinstance(self.random_state, str) else self.random_state
        if isinstance(state, numbers.Integral) and not isinstance(state, bool):
            return int(state)
        return int(check_random_state(state).randint(np.iinfo(np.int32).max))

    def _engine_params(self):
        """Parameters for the engine, and arrays that start it, which travel beside them."""
        for name, default in self._only_default.items():
            value = getattr(self, name)
            if value is not default and not _equal(value, default):
                raise Elsewhere(f"{name}={_shown(value)}")
        params, starts = {}, []
        for name, forms in self._forms.items():
            value = getattr(self, name)
            if name == "cv" and not isinstance(value, numbers.Integral):
                continue  # splits are made from the rows
            if isinstance(value, np.ndarray) and value.ndim == 0:
                value = value.item()
            if isinstance(value, (np.ndarray, list, tuple)) or sp.issparse(value):
                if _has(forms, "List"):
                    value = np.asarray(value).tolist() if isinstance(value, np.ndarray) else list(value)
                elif name in _STARTS:
                    value = value.toarray() if sp.issparse(value) else value
                    start = np.array(value, dtype=np.float64, order="C", ndmin=2, copy=None)
                    start = start.reshape(-1, start.shape[-1])  # a matrix for each component: one under another
                    starts.append((name, start))
                    continue
                else:
                    raise Elsewhere(f"{name} is an array")
            if value is None and _chooses(forms, "none"):
                value = "none"  # which need not be the engine's default: a penalty, or columns to split by
            if value in _NOTHING if isinstance(value, str) else value is None and not _has(forms, "None"):
                continue  # the engine's own default
            params[name] = _plain(value, forms, name)
        if self._name == "StackingRegressor" and self.final_estimator is None:
            params["final_estimator"] = _ermine.Spec("RidgeCV", {})  # as scikit-learn has it
        return params, starts

    def _crosses(self, keep):
        """Whether a fit looks at its folds."""
        return True

    def _splitter(self, y):
        """The splits that `cv` stands for, as scikit-learn's class makes them."""
        return check_cv(self.cv, y, classifier=self._info["task"] == "Classification")

    def _by_fold(self, X, y):
        """The order of rows in which folds follow one another, None if they do; and where each begins: the engine's
        folds are runs of rows."""
        if hasattr(self.cv, "__next__"):
            raise Elsewhere("cv can be gone through once only")
        fold = np.full(X.shape[0], -1)
        for number, (train, test) in enumerate(self._splitter(y).split(X, y)):
            if len(train) + len(test) != len(fold) or (fold[test] >= 0).any():
                raise Elsewhere("cv tests some rows more than once or does not learn from all others")
            fold[test] = number
        if (fold < 0).any():
            raise Elsewhere("cv never tests some rows")
        bounds = np.concatenate([[0.0], np.cumsum(np.bincount(fold))])[:, None]
        return None if (np.diff(fold) >= 0).all() else np.argsort(fold, kind="stable"), bounds

    def _column_names(self):
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else list(names)

    def _resume(self, X, y=None, sample_weight=None, classes=None, **more):
        """One more step from what is there, or the first one: `partial_fit`."""
        more = more if classes is None else {**more, "classes": classes}
        if "_in_peer" in self.__dict__:
            return self._call_peer("partial_fit", X, y, sample_weight, more)
        if self._peer is not None and not sklearn.get_config()["skip_parameter_validation"]:
            self._validate_params()
        refused, kept = None, dict(vars(self))
        first = "_model" not in self.__dict__
        try:
            if first and hasattr(self, "n_features_in_"):
                raise Elsewhere("the steps before were scikit-learn's")
            if self._name == "IncrementalPCA" and sp.issparse(X):
                raise Elsewhere("sparse rows in parts")
            classes = self._classes_of_step(first, classes)
            self._check_form(in_parts=True)
            override = {"max_iter": 1} if "max_iter" in self._forms else {}
            before, previous = set(vars(self)), None if first else self._model
            self._fit_in_engine(X, y, sample_weight, previous=previous, override=override, reset=first, classes=classes)
            self._set_by_fit = self.__dict__.get("_set_by_fit", set()) | (set(vars(self)) - before)
            FITS[type(self).__name__, "ermine", ""] += 1
            return self
        except Elsewhere as reason:
            why = str(reason)
        except Refused as error:
            refused, why = error, str(error)
        except (ValueError, TypeError, NotImplementedError) as error:
            if self._peer is None:
                raise
            why = str(error)
        if self._peer is None:
            raise ValueError(why)
        self._take_back(kept)
        return self._fit_in_peer(X, y, sample_weight, why=why, refused=refused, method="partial_fit", **more)

    def _go_on_in_peer(self, X, y=None, sample_weight=None, **more):
        """`partial_fit` of a class whose engine cannot go on from a fit: scikit-learn's code does, from the
        attributes."""
        if "_in_peer" in self.__dict__:
            return self._call_peer("partial_fit", X, y, sample_weight, more)
        return self._fit_in_peer(X, y, sample_weight, why="partial_fit", method="partial_fit", **more)

    def _warm(self):
        """The model to go on from, when `warm_start` asks for it."""
        if not getattr(self, "warm_start", False):
            return None
        if self._is_rewritten():
            raise Elsewhere("warm_start from numbers that were written into the model")
        return self.__dict__.get("_model")

    # Predicting

    def _is_rewritten(self):
        """Whether somebody has written other numbers than those of the fit: scikit-learn's code goes on from what is
        there."""
        written = self.__dict__.get("_written")
        return bool(written) and any(not _same(self.__dict__.get(name), value) for name, value in written.items())

    def _has_output(self, output):
        if "_model" in self.__dict__:
            return any(name == output for name, _ in self._model.outputs())
        if output in self._outputs_with:
            parameter, values = self._outputs_with[output]
            return getattr(self, parameter) in values
        return output in self._outputs

    def _check_fitted(self):
        if "_model" not in self.__dict__:
            check_is_fitted(self)  # which asks for the tags of the estimator: it would take longer than predicting a row

    def _predicted(self, X, output):
        self._check_fitted()
        rows = self._validated(X, reset=False)
        with self._worded(rows):
            return self._computed(_rows(rows), output)

    @contextlib.contextmanager
    def _worded(self, rows):
        """What the engine refuses is said in scikit-learn's words, if it refuses too; then where it is."""
        try:
            yield
        except ValueError as error:
            finite = "allow-nan" if self.__sklearn_tags__().input_tags.allow_nan else True
            try:
                check_array(
                    rows,
                    accept_sparse=True,
                    input_name="X",
                    estimator=self,
                    ensure_min_samples=0,
                    ensure_all_finite=finite,
                )
                if self._peer is not None and self._info["non_negative"]:
                    check_non_negative(rows, f"{type(self).__name__} (input X)")
            except ValueError as theirs:
                raise ValueError(f"{theirs}\n{error}") from None
            if self._name == "PowerTransformer" and "Box-Cox" in str(error):
                words = "The Box-Cox transformation can only be applied to strictly positive data"
                raise ValueError(f"{words}\n{error}") from None
            raise

    def _computed(self, rows, output):
        return self._model.predict(rows, output, threads=_threads(self.n_jobs), columns=self._column_names())

    def __getattr__(self, name):
        """What scikit-learn's class keeps and few people look at is made when it is asked for."""
        made = LATER.get(name) if "_model" in self.__dict__ else None
        if made is not None and (value := made(self)) is not None:
            self.__dict__[name] = value
        if name in self.__dict__:
            return self.__dict__[name]
        # A property or a method that is not there has said why, and Python asks here afterwards.
        asked = _declared(type(self), name)
        if hasattr(type(asked), "__get__") and (self._peer is None or hasattr(self._peer, name)):
            return asked.__get__(self, type(self))
        above = getattr(super(), "__getattr__", None)
        if above is not None:
            return above(name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def save(self, path):
        """Write a model file, which `ermine.load` and the command line read.

        Parameters
        ----------
        path : str or path-like
            Where to write.
        """
        from ._files import save

        save(self, path)

    # scikit-learn's protocol

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        info = self._info
        # What is made of others takes what they all take.
        members = [member for name in self._forms for member in _members(getattr(self, name, None))]
        takes_missing = all(member.__sklearn_tags__().input_tags.allow_nan for member in members)
        takes_missing = takes_missing and not hasattr(self, "missing_values")  # which says it itself
        tags.input_tags.allow_nan = tags.input_tags.allow_nan or (info["missing"] and takes_missing)
        if self._peer is not None:
            return tags
        tags.input_tags.sparse = info["sparse"]
        tags.input_tags.positive_only = info["non_negative"]
        tags.target_tags.multi_output = info["multi_target"]
        tags.target_tags.positive_only = info["target"] != "Any"
        return tags


@functools.lru_cache(1 << 12)
def _declared(cls, name):
    """What a class or one above it has under a name, as it is written there."""
    return next((vars(above)[name] for above in cls.__mro__ if name in vars(above)), None)


def _taken(rows, X, target, weights):
    """These rows with their targets and weights."""
    target = (target[0][rows], target[1]) if isinstance(target, tuple) else target[rows]
    return X[rows], target, None if weights is None else weights[rows]


def _same(value, kept):
    """Whether an attribute is what it was."""
    if value is kept:
        return True
    if isinstance(kept, list):
        return isinstance(value, list) and len(value) == len(kept) and all(map(_same, value, kept))
    return type(value) is type(kept) and np.array_equal(value, kept)


def available_as_in_peer(function):
    """A method that is there for the parameters for which scikit-learn's class has it."""

    def there(self):
        return getattr(super(Estimator, self), function.__name__) is not None

    return available_if(there)(function)


class Refused(ValueError):
    """What the engine says of rows or parameters that it cannot fit."""


#: What the methods of the engine take, if they do not say it themselves.
_TAKES_ROWS = """Parameters
----------
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    The rows.

Returns
"""


def engine_method(output):
    """A method that the engine answers after a fit of its own; scikit-learn's class answers after the others, and says
    when it is there."""

    def decorate(function):
        name = function.__name__
        described = inspect.cleandoc(function.__doc__)
        if "Parameters\n" not in described:
            function.__doc__ = described.replace("Returns\n", _TAKES_ROWS, 1)

        def fitted(self):
            return "_model" in self.__dict__ and self._has_output(output)

        def ours(self):
            return fitted(self) and not self._is_rewritten() or self._peer is None

        def there(self):
            if fitted(self):
                return True
            if self._peer is None:
                return self._has_output(output)
            try:
                getattr(super(Estimator, self), name)
            except AttributeError as error:
                raise (error.__cause__ or error) from None
            return True

        @functools.wraps(function)
        def method(self, *args, **kwargs):
            if ours(self):
                found = function(self, *args, **kwargs)
                if name in self._single_answers and self._single and args and _is_single(args[0]):
                    found = found.astype(np.float32, copy=False) if hasattr(found, "astype") else found
                return found
            return getattr(super(Estimator, self), name)(*args, **kwargs)

        return available_if(there)(method)

    return decorate
