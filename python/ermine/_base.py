"""What every class shares: scikit-learn's conventions over one fitted model.

The classes in `_models.py` are generated from Ermine's list. Each is scikit-learn's class of that name with the engine in front: a fit goes to
the engine where it has a form for every parameter and for the rows, and to scikit-learn's own code where it has not (a Python function as a
metric, an estimator of another package, an option of scikit-learn alone). So parameters, defaults, checks, messages and methods are
scikit-learn's, and an option is never dropped. `fit_log_` says who fitted, and `ermine.patch_report()` sums it up.

Data is checked and labels are encoded here, once; the numbers come from `_ermine`.
"""

import collections
import functools
import inspect
import json
import math
import numbers
import os
import re
import warnings

import numpy as np
import scipy.sparse as sp
import sklearn
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    _check_feature_names_in,
    _check_sample_weight,
    _num_samples,
    check_is_fitted,
    check_non_negative,
    column_or_1d,
    validate_data,
)

from . import _ermine
from ._complete import LATER, complete, node_numbers

_LIST = {entry["name"]: entry for entry in json.loads(_ermine.models())}


class Elsewhere(NotImplementedError):
    """The engine has no form for this; scikit-learn does it."""


#: Fits by class, by who did them and why: {(class, "ermine" or "scikit-learn", reason): count}.
FITS: collections.Counter[tuple[str, str, str]] = collections.Counter()


class FitLog:
    """How a fit went: `passes`, why it stopped (`stop`), the `objective` after each pass, the `certificate`, `notes`.

    `engine` is "ermine", or "scikit-learn" where the engine had no form for what was asked; `notes` then says for what.
    """

    def __init__(self, text, engine="ermine"):
        log = json.loads(text)
        self._text = text
        self.engine = engine
        self.passes = log["passes"]
        self.stop = log["stop"]
        self.objective = log["objective"]
        self.certificate = log["certificate"]
        self.notes = log["notes"]

    @classmethod
    def elsewhere(cls, reason, passes):
        log = {"passes": passes, "stop": "ScikitLearn", "objective": [], "certificate": None, "notes": [reason]}
        return cls(json.dumps(log), "scikit-learn")

    @property
    def converged(self):
        """Whether the certificate is within its tolerance, or nothing changes any more where a method has no such proof."""
        return self.stop in ("Exact", "Converged", "Settled", "Stationary")

    @property
    def unfinished(self):
        """Whether a tolerance was asked for and not met."""
        return self.stop in ("MaxIter", "Rounding", "TooSlow")

    def to_json(self):
        """As it stands in a model file."""
        return self._text

    def __repr__(self):
        return f"FitLog(passes={self.passes}, stop={self.stop!r}, certificate={self.certificate!r})"


class Estimator:
    """Fits and predicts through the engine, in front of scikit-learn's class of the same name where there is one.

    Generated classes say which model of the list they are. A method of the engine hands over to scikit-learn's when the fit was not the
    engine's; a method that only scikit-learn has works from the attributes, which are the same.
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
    #: Parameters of scikit-learn's class alone that change the result, with the default under which the engine can fit.
    _only_default: dict = {}

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if cls.__dict__.get("_name"):
            entry = _LIST[cls._name]
            cls._info = entry["info"]
            cls._forms = {param["name"]: param["forms"] for param in entry["params"]}
            cls._peer_params = () if cls._peer is None else tuple(inspect.signature(cls._peer.__init__).parameters)[1:]
            known = {*cls._forms, *cls._ignored, "class_weight", "n_jobs", "random_state"}
            known |= {"warm_start"} if cls._info["resume"] else set()
            taken = {} if cls._peer is None else inspect.signature(cls._peer.__init__).parameters
            cls._only_default = {
                name: parameter.default for name, parameter in taken.items() if name != "self" and name not in known
            }

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
        self.fit_log_, self._fit_rows = FitLog.elsewhere(why, int(max(passes, default=1))), _num_samples(X)
        self._set_by_fit = self.__dict__.get("_set_by_fit", set()) | (set(vars(self)) - before)
        FITS[type(self).__name__, "scikit-learn", why] += 1
        return found

    def _peer_weighs(self, method):
        """Whether scikit-learn's method takes weights, by name or among others."""
        taken = inspect.signature(getattr(self._peer, "fit" if method == "fit_transform" else method)).parameters.values()
        return any(parameter.name == "sample_weight" or parameter.kind is parameter.VAR_KEYWORD for parameter in taken)

    def _call_peer(self, method, X, y, sample_weight, more):
        given = {name: value for name, value in more.items() if value is not None}
        if sample_weight is not None:
            given["sample_weight"] = sample_weight
        return getattr(super(), method)(X, y, **given)

    def _forget(self):
        """Drops what an earlier fit has set; returns the names of what stays."""
        for name in self.__dict__.pop("_set_by_fit", ()):
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

    def _check_rows(self, X):
        """Raises `Elsewhere` for rows that the engine has no form for, and for those that scikit-learn refuses."""
        if sp.issparse(X) and self._peer is not None and not self.__sklearn_tags__().input_tags.sparse:
            raise Elsewhere("sparse rows")
        if self._name == "PolynomialFeatures":
            degree = self.degree if isinstance(self.degree, numbers.Integral) else max(self.degree)
            if math.comb(X.shape[1] + int(degree), int(degree)) > 1 << 24:
                raise Elsewhere("more columns than fit into memory")

    def _check_form(self):
        """Raises `Elsewhere` for what the engine has no form for, beyond what the forms of the parameters say."""
        name = self._name
        if "DiscriminantAnalysis" in name and self.solver == "svd" and self.shrinkage is not None:
            raise Elsewhere("shrinkage with the solver svd")
        if name == "LinearDiscriminantAnalysis" and self.solver == "eigen":
            raise Elsewhere("solver='eigen' scales its directions otherwise")
        if name == "LogisticRegressionCV" and self.use_legacy_attributes is not False:
            raise Elsewhere("the legacy attributes hold the coefficients of every fold")
        if name == "HuberRegressor" and not self.fit_intercept:
            raise Elsewhere("fit_intercept=False, where the engine can stop at the start")
        if "force_alpha" in self._forms and not self.force_alpha and np.min(self.alpha) < 1e-10:
            raise Elsewhere("alpha below 1e-10 without force_alpha")
        if name == "NuSVC" and self.class_weight is not None:
            raise Elsewhere("class_weight, which libsvm's nu machines take otherwise")
        if name in ("SelectFromModel", "RFE"):
            raise Elsewhere("its estimator_ is fitted by itself, in the engine if it is Ermine's")
        if name == "SplineTransformer" and self.knots != "uniform":
            raise Elsewhere(f"knots={_shown(self.knots)}")
        if "bootstrap" in self._forms and "oob_score" in self._forms and self.oob_score and not self.bootstrap:
            raise Elsewhere("oob_score without bootstrap")
        if "bootstrap" in self._forms and not self.bootstrap and getattr(self, "max_samples", None) is not None:
            raise Elsewhere("max_samples without bootstrap")
        if "Voting" in name or "Stacking" in name:
            self._validate_estimators()
            # Here a member is fitted as it is; bagging and boosting draw a seed for each.
            members = [*_members(self.estimators), *_members(getattr(self, "final_estimator", None))]
            if any(member._info["random"] and isinstance(member.random_state, (numbers.Integral, np.random.RandomState)) for member in members):
                raise Elsewhere("random_state of a member")
            if self.verbose:
                raise Elsewhere("verbose, which tells how long each member took")
        if name == "StackingClassifier" and not all(hasattr(member, "predict_proba") for member in _members(self.estimators)):
            raise Elsewhere("a member without probabilities")
        if name == "PCA" and self.svd_solver == "arpack" and self.n_components is None:
            raise Elsewhere("svd_solver='arpack' for all components")
        # Options of the engine whose traces scikit-learn's class keeps in a form of its own.
        for option in {
            "OneHotEncoder": ("drop", "max_categories", "min_frequency"),
            "OrdinalEncoder": ("handle_unknown", "max_categories", "min_frequency", "unknown_value", "encoded_missing_value"),
            "SimpleImputer": ("add_indicator",),
            "KNNImputer": ("add_indicator",),
        }.get(name, ()):
            value, default = getattr(self, option), inspect.signature(self._peer.__init__).parameters[option].default
            if not _equal(value, default):
                raise Elsewhere(f"{option}={_shown(value)}")

    def _fit_in_engine(self, X, y, sample_weight, *, previous=None, override=None, reset=True, classes=None, keep=None):
        """`keep` is a dict that gets the checked rows, and what was found about each that is not an attribute."""
        params, starts = self._engine_params()
        single = _is_single(X)
        X, y = self._checked(X, y, reset)
        self._check_rows(X)
        target = self._target(y, classes)
        weights = self._weights(X, y, sample_weight)
        if self._name == "DBSCAN" and weights is not None and weights.min() <= 0:
            raise Elsewhere("weights of 0 or less")
        params.update(override or {})
        if self._name == "IncrementalPCA":
            params |= self._components(X, previous, in_parts=override is not None)
        order, given = None, (X, weights)
        if "cv" in self._forms and not (self._name == "RidgeCV" and self.cv is None) and self._crosses(keep):
            params.pop("cv", None)
            order, bounds = self._by_fold(X, y)
            starts.append(("cv", bounds))
            if order is not None:
                X, weights = X[order], None if weights is None else weights[order]
                target = (target[0][order], target[1]) if isinstance(target, tuple) else target[order]
        seed = self._seed()
        rows_given = _rows(X)
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
            )
        except (ValueError, NotImplementedError) as error:
            more = "" if X.shape[0] > 1 else " (n_samples=1)"
            raise (ValueError if self._peer is None else Refused)(f"{error}{more}") from None
        if order is not None:
            # What was found about each row is in the order of the folds.
            X, weights = given
            place = np.argsort(order)
            rows, rows_given = {name: value[place] for name, value in rows.items()}, _rows(X)
        if keep is not None:
            keep.update(rows, X=X)
        # Names without the trailing underscore are for steps of a pipeline, not for people.
        self._restore(model, FitLog(log), seed=seed, rows=X.shape[0])
        for name, value in ((name, value) for name, value in rows.items() if name.endswith("_")):
            self._set(name, value)
        self._finish_rows()
        complete(self, X, y, weights, rows_given)
        self._single = single
        if single:
            self._halve()
        if self._peer is not None and isinstance(self.__dict__.get("coef_"), np.ndarray):
            self._written = self.coef_.copy(), np.copy(self.intercept_)
        if override is None:
            self._warn_of_end()
        return self

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

    #: Whether the rows of the fit were in single precision: so is then what comes out, where scikit-learn does the same.
    _single = False
    #: Attributes that scikit-learn's class has in single precision then.
    _singles = ()
    #: Methods that then answer in single precision rows likewise.
    _single_answers = ()

    def _halve(self):
        for name in self._singles:
            value = self.__dict__.get(name)
            if isinstance(value, np.ndarray) and value.dtype == np.float64:
                setattr(self, name, value.astype(np.float32))

    def _warn_of_end(self):
        if self.fit_log_.unfinished:
            warnings.warn(
                f"{type(self).__name__} stopped after {self.fit_log_.passes} passes before it met its tolerance "
                f"({self.fit_log_.certificate}); raise max_iter, scale the data, or accept the accuracy.",
                ConvergenceWarning,
                stacklevel=5,
            )
        redundant = [note for note in self.fit_log_.notes if " is redundant: " in note]
        if redundant:
            names = getattr(self, "feature_names_in_", None)
            if names is not None:
                redundant = [re.sub(r"column (\d+)", lambda j: f"column {names[int(j[1])]!r}", note) for note in redundant]
            more = f" ({len(redundant) - 3} more in fit_log_.notes)" if len(redundant) > 3 else ""
            warnings.warn(
                f"{type(self).__name__}: {'; '.join(redundant[:3])}{more}. The coefficients are the ones of least norm: those of "
                "redundant columns have no meaning of their own.",
                stacklevel=5,
            )

    def _restore(self, model, log, seed, rows):
        """Takes over a fitted model, from a fit or from a file."""
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
            if value in _NOTHING if isinstance(value, str) else value is None and not _has(forms, "None"):
                continue  # the engine's own default
            params[name] = _plain(value, forms, name)
        if self._name == "StackingRegressor" and self.final_estimator is None:
            params["final_estimator"] = _ermine.Spec("RidgeCV", {})  # as scikit-learn has it
        return params, starts

    def _crosses(self, keep):
        """Whether a fit looks at its folds: an encoder does if the rows of the fit are transformed."""
        return keep is not None or not isinstance(self, Transformer)

    def _splitter(self, y):
        """The splits that `cv` stands for, as scikit-learn's class makes them."""
        if hasattr(self.cv, "__next__"):
            raise Elsewhere("cv can be gone through once only")
        if not isinstance(self, Transformer):
            return check_cv(self.cv, y, classifier=isinstance(self, Classifier))
        shuffle, state = self.shuffle, self.random_state
        if (shuffle, state) != ("deprecated", "deprecated"):
            warnings.warn(
                f"`{type(self).__name__}.shuffle` and `{type(self).__name__}.random_state` are deprecated in scikit-learn 1.9: "
                "pass a splitter as `cv`",
                FutureWarning,
                stacklevel=6,
            )
        drawn = {"shuffle": shuffle == "deprecated" or shuffle, **({} if state == "deprecated" else {"random_state": state})}
        return check_cv(self.cv, y, classifier=type_of_target(y) != "continuous", **drawn)

    def _by_fold(self, X, y):
        """The order of rows in which folds follow one another, None if they do; and where each begins: the engine's folds are runs of rows."""
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
            if isinstance(self, Classifier) and self._peer is not None:
                classes = self._classes_of_step(first, classes)
            self._check_form()
            override = {"max_iter": 1} if "max_iter" in self._forms else {}
            before, previous = set(vars(self)), None if first else self._model
            self._fit_in_engine(
                X, y, sample_weight, previous=previous, override=override, reset=first, classes=classes
            )
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

    def _classes_of_step(self, first, classes):
        """All classes, which the first step says and a later one may repeat."""
        if first:
            if classes is None:
                raise Elsewhere("the first step does not say the classes")
            return classes
        if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise Elsewhere("other classes than at the first step")
        return self.classes_

    def _go_on_in_peer(self, X, y=None, sample_weight=None, **more):
        """`partial_fit` of a class whose engine cannot go on from a fit: scikit-learn's code does, from the attributes."""
        if "_in_peer" in self.__dict__:
            return self._call_peer("partial_fit", X, y, sample_weight, more)
        return self._fit_in_peer(X, y, sample_weight, why="partial_fit", method="partial_fit", **more)

    def _warm(self):
        """The model to go on from, when `warm_start` asks for it."""
        return self.__dict__.get("_model") if getattr(self, "warm_start", False) else None

    # Predicting

    def _is_rewritten(self):
        """Whether somebody has written other coefficients than those of the fit: scikit-learn's code predicts with what is there."""
        written = self.__dict__.get("_written")
        if written is None:
            return False
        coef, intercept = self.__dict__.get("coef_"), self.__dict__.get("intercept_")
        return not (isinstance(coef, np.ndarray) and np.array_equal(coef, written[0]) and np.array_equal(intercept, written[1]))

    def _has_output(self, output):
        if "_model" in self.__dict__:
            return any(name == output for name, _ in self._model.outputs())
        if output in self._outputs_with:
            parameter, values = self._outputs_with[output]
            return getattr(self, parameter) in values
        return output in self._outputs

    def _predicted(self, X, output):
        check_is_fitted(self)
        rows = self._validated(X, reset=False)
        try:
            return self._computed(_rows(rows), output)
        except ValueError as error:
            # scikit-learn's words, if it refuses too; then where it is.
            try:
                check_array(rows, accept_sparse=True, input_name="X", estimator=self, ensure_min_samples=0)
                if self._peer is not None and self._info["non_negative"]:
                    check_non_negative(rows, f"{type(self).__name__} (input X)")
            except ValueError as theirs:
                raise ValueError(f"{theirs}\n{error}") from None
            raise

    def _computed(self, rows, output):
        return self._model.predict(rows, output, threads=_threads(self.n_jobs), columns=self._column_names())

    def __getattr__(self, name):
        """What scikit-learn's class keeps and few people look at is made when it is asked for."""
        made = LATER.get(name) if "_model" in self.__dict__ else None
        if made is not None and (value := made(self)) is not None:
            self.__dict__[name] = value
            return value
        # A property or a method that is not there has said why, and Python asks here afterwards.
        asked = next((vars(cls)[name] for cls in type(self).__mro__ if name in vars(cls)), None)
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
        tags.input_tags.allow_nan = tags.input_tags.allow_nan or (info["missing"] and takes_missing)
        if self._peer is not None:
            return tags
        tags.input_tags.sparse = info["sparse"]
        tags.input_tags.positive_only = info["non_negative"]
        tags.target_tags.multi_output = info["multi_target"]
        tags.target_tags.positive_only = info["target"] != "Any"
        return tags


class Refused(ValueError):
    """What the engine says of rows or parameters that it cannot fit."""


def engine_method(output):
    """A method that the engine answers after a fit of its own; scikit-learn's class answers after the others, and says when it is there."""

    def decorate(function):
        name = function.__name__

        def ours(self):
            if "_model" not in self.__dict__ or self._is_rewritten():
                return self._peer is None
            return any(known == output for known, _ in self._model.outputs())

        def there(self):
            if ours(self):
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


# Tasks


class Regressor(Estimator):
    def _checked(self, X, y, reset):
        checks = self._checks()
        X, y = validate_data(
            self, X, y, reset=reset, y_numeric=True, multi_output=self._info["multi_target"], **checks
        )
        self._y_is_matrix = y.ndim == 2
        return X, y

    _y_is_matrix = False

    def _finish_fit(self):
        self._y_is_matrix |= dict(self._model.outputs())["Value"] > 1

    def _target(self, y, classes):
        return np.ascontiguousarray(y, dtype=np.float64)

    @engine_method("Value")
    def predict(self, X):
        """Predict the target.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            The predicted values.
        """
        values = self._predicted(X, "Value")
        return values if self._y_is_matrix else values[:, 0]


class Classifier(Estimator):
    def _checked(self, X, y, reset):
        # Labels may be text: they are checked by themselves.
        if y is None:
            validate_data(self, X, y, reset=reset, **self._checks())
        X = validate_data(self, X, reset=reset, **self._checks())
        check_classification_targets(y)
        if self._info["multi_target"] and type_of_target(y) == "multilabel-indicator":
            y = y.toarray() if sp.issparse(y) else np.asarray(y)
        else:
            y = column_or_1d(y, warn=True)
        if len(y) != X.shape[0]:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: {[X.shape[0], len(y)]}"
            )
        return X, y

    # Type of the labels when a row may have several of them.
    _label_type = None

    def _target(self, y, classes):
        self._label_type = y.dtype if y.ndim == 2 else None
        if self._label_type is not None:
            return np.ascontiguousarray(y, dtype=np.float64)
        if classes is None:
            self.classes_, codes = _encoded(y)
        else:
            self.classes_ = np.unique(classes) if not hasattr(self, "classes_") else self.classes_
            codes = np.searchsorted(self.classes_, y)
            known = codes < len(self.classes_)
            known[known] = self.classes_[codes[known]] == y[known]
            if not known.all():
                raise ValueError(
                    f"y has the class {y[~known][0]!r}, which is not among the classes of the first call: "
                    f"{self.classes_.tolist()}"
                )
        if len(self.classes_) == 1:
            raise ValueError(
                f"{type(self).__name__} needs at least two classes in the target, and there is 1 class: "
                f"{self.classes_[0]!r}"
            )
        self._codes = np.ascontiguousarray(codes, dtype=np.uint32)
        return self._codes, len(self.classes_)

    def _weights(self, X, y, sample_weight):
        weights = super()._weights(X, y, sample_weight)
        if self._label_type is not None:
            return weights
        codes = self.__dict__.pop("_codes")
        if getattr(self, "class_weight", None) is not None:
            per_class = compute_class_weight(
                self.class_weight, classes=self.classes_, y=self.classes_[codes], sample_weight=weights
            )
            by_class = per_class[codes]
            weights = by_class if weights is None else weights * by_class
        if weights is not None:
            total = np.bincount(codes, weights=weights, minlength=len(self.classes_))
            if np.count_nonzero(total) < 2:
                raise ValueError(
                    f"{type(self).__name__} needs at least two classes of weight (sample_weight, class_weight) above 0, and "
                    f"{np.count_nonzero(total)} class has that"
                )
        return weights

    @engine_method("Class")
    def predict(self, X):
        """Predict the class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_labels)
            The predicted labels; 0 and 1 where a row may have several.
        """
        codes = self._predicted(X, "Class")
        if self._label_type is not None:
            return codes.astype(self._label_type)
        return self.classes_.take(codes[:, 0].astype(np.intp))

    def _finish_fit(self):
        width = dict(self._model.outputs())["Class"]
        if width > 1:
            self.classes_ = np.arange(width)
            self._label_type = self._label_type or np.dtype(np.int64)

    @engine_method("Probability")
    def predict_proba(self, X):
        """Probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        return self._predicted(X, "Probability")

    @engine_method("Probability")
    def predict_log_proba(self, X):
        """Logarithm of `predict_proba`."""
        if hasattr(self._peer, "_joint_log_likelihood") or "DiscriminantAnalysis" in self._name:
            return super().predict_log_proba(X)  # which takes no logarithm of a probability that is 0 after rounding
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @engine_method("Decision")
    def decision_function(self, X):
        """Score of each class; for two classes of the second one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        scores = self._predicted(X, "Decision")
        return scores[:, 0] if scores.shape[1] == 1 else scores


class Clusterer(Estimator):
    def _finish_rows(self):
        if hasattr(self, "labels_"):
            self.labels_ = self.labels_.astype(np.int32 if hasattr(self._peer, "predict") else np.int64)

    @engine_method("Cluster")
    def predict(self, X):
        """Number of each row's cluster.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return self._predicted(X, "Cluster")[:, 0].astype(np.int32)


class Density(Estimator):
    def score(self, X, y=None):
        """Mean log density of the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : ignored

        Returns
        -------
        score : float
        """
        return np.mean(self.score_samples(X))

    @engine_method("Density")
    def score_samples(self, X):
        """Log density of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
        """
        return self._predicted(X, "Density")[:, 0]

    @engine_method("Cluster")
    def predict(self, X):
        """Number of each row's component.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return self._predicted(X, "Cluster")[:, 0].astype(np.int64)

    def fit_predict(self, X, y=None):
        """Fit, and return the number of each row's component."""
        if "_in_peer" in self.__dict__:
            return super().fit_predict(X, y)
        return self.fit(X).predict(X)

    @engine_method("Probability")
    def predict_proba(self, X):
        """Probability of each component for each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        p : ndarray of shape (n_samples, n_components)
        """
        return self._predicted(X, "Probability")


class OutlierDetector(Estimator):
    """Rows that do not belong: Decision is below 0 for them, Cluster -1, Density the score without its threshold."""

    def _finish_rows(self):
        if hasattr(self, "labels_"):
            self.labels_ = self.labels_.astype(np.int64)

    @engine_method("Decision")
    def decision_function(self, X):
        """How well each row belongs: below 0 for outliers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        return self._predicted(X, "Decision")[:, 0]

    @engine_method("Density")
    def score_samples(self, X):
        """The score before the threshold: `decision_function` plus `offset_`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        return self._predicted(X, "Density")[:, 0]

    @engine_method("Cluster")
    def predict(self, X):
        """1 for rows that belong, -1 for outliers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return self._predicted(X, "Cluster")[:, 0].astype(np.int64)

    def fit_predict(self, X, y=None, **fit_params):
        """Fit, and say of each row whether it belongs (1) or not (-1)."""
        if "_in_peer" in self.__dict__:
            return super().fit_predict(X, y, **fit_params)
        self.fit(X, **fit_params)
        return self.labels_ if hasattr(self, "labels_") else self.predict(X)


class Transformer(Estimator):
    """A model that is fitted to transform; what it hands out is in `Transforms`. Some look at the target to do so."""

    def _checked(self, X, y, reset):
        if not self._info.get("supervised"):
            return super()._checked(X, None, reset)
        if y is None:
            validate_data(self, X, y, reset=reset, **self._checks())  # which says that it is needed
        X, y = self._validated(X, reset), check_array(y, ensure_2d=False, dtype=None, input_name="y")
        check_consistent_length(X, y)
        return X, y

    def _target(self, y, classes):
        if y is None:
            return None
        if y.ndim != 1:
            raise Elsewhere("a target of several columns")
        if type_of_target(y) in ("binary", "multiclass"):
            labels, codes = _encoded(y)
            return np.ascontiguousarray(codes, dtype=np.uint32), max(2, len(labels))
        return np.ascontiguousarray(y, dtype=np.float64)


# Outputs beside the natural prediction


class Transforms(TransformerMixin):
    @engine_method("Transform")
    def transform(self, X):
        """Compute the new features.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        Xt : ndarray or sparse matrix of shape (n_samples, n_features_out)
        """
        check_is_fitted(self)
        if sp.issparse(X) and self._name in _SPARSE_OUT or getattr(self, "solver", None) == "lsqr":
            return super().transform(X)
        found = self._transformed(_rows(self._validated(X, reset=False)))
        return found.astype(np.float32) if self._is_halved(X) else found

    def fit_transform(self, X, y=None, **fit_params):
        """Fit, and return the new features of the rows; where the target is learnt from, without each row's own target.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,), default=None
            Their target, for transformers that look at it.
        **fit_params : dict
            As `fit` takes them.

        Returns
        -------
        Xt : ndarray or sparse matrix of shape (n_samples, n_features_out)
        """
        if "_in_peer" in self.__dict__ or not isinstance(self, Transformer) or set(fit_params) - {"sample_weight"}:
            return super().fit_transform(X, y, **fit_params)
        kept = {}
        weight = {name: value for name, value in fit_params.items() if value is not None}
        found = self._fit_either(X, y, keep=kept, method="fit_transform", **weight)
        if "_model" not in self.__dict__:
            return found
        if sp.issparse(X) and self._name in _SPARSE_OUT:
            return super(Estimator, self).transform(X)
        found = kept["transform"] if "transform" in kept else self._transformed(_rows(kept["X"]))
        return found.astype(np.float32) if self._is_halved(X) else found

    def _is_halved(self, X):
        """Whether what comes out is in single precision, as what goes in."""
        return "transform" in self._single_answers and _is_single(X)

    def _transformed(self, rows):
        sparse = self._model.transform_sparse(rows, columns=self._column_names())
        if sparse is None:
            return self._computed(rows, "Transform")
        values, columns, starts, width = sparse
        return sp.csr_matrix((values, columns, starts), shape=(len(starts) - 1, width))

    @engine_method("Inverse")
    def inverse_transform(self, X):
        """Old features from new ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features_out)
            Transformed rows.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        halved = self._is_halved(X)
        X = check_array(X, accept_sparse="csr", dtype=np.float64, order="C", ensure_all_finite="allow-nan")
        width = dict(self._model.outputs())["Transform"]
        if X.shape[1] != width:
            raise ValueError(f"X has {X.shape[1]} features, but {width} were made by transform")
        found = self._computed(_rows(X), "Inverse")
        return found.astype(np.float32) if halved else found


class NamesNewColumns(ClassNamePrefixFeaturesOutMixin):
    """Transformers that scikit-learn has not: their models know the names of the columns they make."""

    def get_feature_names_out(self, input_features=None):
        """Names of the new features.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the old features; those of the fit by default.

        Returns
        -------
        names : ndarray of str objects
        """
        check_is_fitted(self)
        names = self._model.feature_names(list(_check_feature_names_in(self, input_features)))
        return super().get_feature_names_out(input_features) if names is None else np.array(names, dtype=object)

    @property
    def _n_features_out(self):
        return dict(self._model.outputs())["Transform"]


class Encodes:
    """Columns are categories of any kind: what is not a number is numbered here, in the order of its levels."""

    _levels = None

    def _validated(self, X, reset):
        X = validate_data(self, X, reset=reset, **{**self._checks(), "dtype": None, "order": None})
        if X.dtype.kind in "fiub" and (reset or self._levels is None):
            X = X.astype(np.float64, copy=False) if sp.issparse(X) else X.astype(np.float64, order="C", copy=False)
            if reset:
                self._levels = None
            return X
        if not reset and self._levels is None:
            # Fitted on numbers: text that reads as numbers will do.
            return X.astype(np.float64, order="C")
        codes = np.empty(X.shape)
        if reset:
            self._levels = []
            for j, column in enumerate(X.T.tolist()):
                found = {}
                numbered = _ermine.encode(column, found, True)
                levels = sorted(found)
                # From the order of appearance to that of the levels.
                place = np.empty(len(levels))
                place[[int(found[level]) for level in levels]] = np.arange(len(levels))
                missing = np.isnan(numbered)
                codes[:, j] = numbered
                codes[~missing, j] = place[numbered[~missing].astype(np.intp)]
                self._levels.append(levels)
            return codes
        for j, (column, levels) in enumerate(zip(X.T.tolist(), self._levels)):
            # One past the last level is a category that was never seen, which the model handles or refuses.
            codes[:, j] = _ermine.encode(column, dict(zip(levels, range(len(levels)))), False)
        return codes

    def _finish_fit(self):
        """An array of categories for each column; the engine knows them by their numbers, one after another."""
        super()._finish_fit()
        columns = np.split(self.categories_, np.cumsum(self.n_categories_)[:-1])
        if self._levels is not None:
            named = zip(columns, self._levels)
            columns = [np.array([np.nan if code != code else levels[int(code)] for code in codes], dtype=object) for codes, levels in named]
        self.categories_ = columns

    def inverse_transform(self, X):
        """The categories that made these columns."""
        return super(Estimator, self).inverse_transform(X)


class Leaves:
    @engine_method("Leaf")
    def apply(self, X, check_input=True):
        """Number of the leaf that each row reaches, in each tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        leaves : ndarray of shape (n_samples,) or (n_samples, n_trees)
        """
        leaves = self._predicted(X, "Leaf").astype(np.int64)
        if "n_estimators" in self._forms:
            return leaves
        return node_numbers(self)[leaves[:, 0]]


class Importances:
    @property
    def feature_importances_(self):
        """The share of each column in the decrease of impurity."""
        if "_model" in self.__dict__ and "feature_importances_" in self._found:
            return self._found["feature_importances_"]
        return super().feature_importances_


class Logistic:
    def _check_form(self):
        from sklearn.linear_model._logistic import _check_solver

        penalty = self.penalty
        if penalty == "deprecated":
            ratio = getattr(self, "l1_ratio", 0)
            penalty = "l2" if ratio == 0 else "l1" if ratio == 1 else "elasticnet"
        super()._check_form()
        _check_solver(self.solver, penalty, self.dual)
        if self.solver == "liblinear":
            raise Elsewhere("solver='liblinear' penalises the intercept")


class Width:
    """For classes whose scikit-learn counterpart asks its first member how many columns there are."""

    @property
    def n_features_in_(self):
        """How many columns the fitted rows had."""
        return self.__dict__["_width"] if "_width" in self.__dict__ else super().n_features_in_

    @n_features_in_.setter
    def n_features_in_(self, value):
        self._width = value


class Neighbours:
    @engine_method("Neighbours")
    def kneighbors(self, X=None, n_neighbors=None, return_distance=True):
        """The nearest rows of those that were fitted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            The rows; by default the fitted ones, each without itself.
        n_neighbors : int, default=None
            How many; by default the `n_neighbors` of the estimator.
        return_distance : bool, default=True
            Whether to return the distances too.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_neighbors)
            Only with `return_distance`.
        indices : ndarray of shape (n_samples, n_neighbors)
            Numbers of the fitted rows, the nearest first.
        """
        most = dict(self._model.outputs())["Neighbours"] // 2
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        if X is None or not isinstance(k, numbers.Integral) or not 0 < k <= most:
            return super().kneighbors(X, n_neighbors=n_neighbors, return_distance=return_distance)
        found = self._predicted(X, "Neighbours")
        indices = found[:, :k].astype(np.int64)
        return (np.ascontiguousarray(found[:, most : most + k]), indices) if return_distance else indices


class Deviations:
    @engine_method("Deviation")
    def predict(self, X, return_std=False):
        """Predict the target.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        return_std : bool, default=False
            Whether to return the standard deviation of each prediction too.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            The predicted values.
        std : ndarray, like y
            Only with `return_std`.
        """
        mean = super().predict(X)
        if not return_std:
            return mean
        deviation = self._predicted(X, "Deviation")
        return mean, deviation[:, 0] if mean.ndim == 1 else deviation


class Inertia:
    @engine_method("Transform")
    def score(self, X, y=None, sample_weight=None):
        """Minus the sum of squared distances of the rows to their nearest centre."""
        nearest = self.transform(X).min(axis=1) ** 2
        return -float(np.sum(nearest if sample_weight is None else nearest * sample_weight))


# Conversions


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


def _has(forms, kind):
    return any(form == kind or (isinstance(form, dict) and kind in form) for form in forms)


def _items(forms):
    """The forms of a list's items."""
    return next((form["List"] for form in forms if isinstance(form, dict) and "List" in form), [])


#: Transformers that make sparse rows of sparse rows, where the engine makes dense ones.
_SPARSE_OUT = ("Binarizer", "MaxAbsScaler", "Normalizer", "PolynomialFeatures", "RobustScaler", "SelectKBest", "StandardScaler", "VarianceThreshold")

#: Defaults of scikit-learn's parameters that are about to change or to go.
_NOTHING = ("deprecated", "warn")

#: Parameters that may be an array from which a fit starts.
_STARTS = ("init", "means_init", "weights_init", "precisions_init", "covariance_prior", "mean_prior")


def _plain(value, forms, name):
    """A parameter's value as the engine takes it."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return _ermine.Spec.parse(value) if _has(forms, "Model") else value
    if is_ours(value):
        return _spec(value)
    if isinstance(value, (list, tuple)):
        items = _items(forms)
        # A member may come with a name, as in scikit-learn's lists of estimators.
        named = _has(items, "Model")
        members = [item[1] if named and isinstance(item, tuple) and len(item) == 2 else item for item in value]
        if named and not all(is_ours(item) for item in members):
            raise Elsewhere(f"a member of {name} is not Ermine's")
        return [_plain(item, items, name) for item in members]
    # A function of scikit-learn that the engine knows by its name.
    if getattr(value, "__module__", "").startswith("sklearn.") and _chooses(forms, getattr(value, "__name__", "")):
        return value.__name__
    raise Elsewhere(f"{name}={_shown(value)}")


def _chooses(forms, word):
    return any(word in form["Choice"] for form in forms if isinstance(form, dict) and "Choice" in form)


def is_ours(estimator):
    """Whether an estimator is of a class of the list itself, and not of one that somebody has derived from it."""
    return isinstance(estimator, Estimator) and "_name" in vars(type(estimator))


def _shown(value):
    """A value in a few words."""
    if callable(value):
        return f"{getattr(value, '__name__', type(value).__name__)}, a function"
    text = repr(value)
    return text if len(text) < 40 and "\n" not in text else f"a {type(value).__name__}"


def _equal(a, b):
    """Whether two values of a parameter are plainly the same; arrays never are."""
    if type(a) is not type(b) and not (isinstance(a, numbers.Real) and isinstance(b, numbers.Real)):
        return False
    plain = (str, numbers.Real, tuple, list, type(None), type)
    return isinstance(a, plain) and (a == b or (a != a and b != b))


def _is_single(X):
    """Whether rows are in single precision."""
    dtype = getattr(X, "dtype", None)
    if dtype is not None:
        return dtype == np.float32
    dtypes = getattr(X, "dtypes", None)
    return dtypes is not None and len(dtypes) > 0 and all(dtype == np.float32 for dtype in dtypes)


def _members(value):
    """The estimators in a parameter: itself, or those of a list, with or without names."""
    if isinstance(value, Estimator):
        return [value]
    items = value if isinstance(value, (list, tuple)) else []
    items = [item[1] if isinstance(item, tuple) and len(item) == 2 else item for item in items]
    return [item for item in items if isinstance(item, Estimator)]


def _spec(estimator):
    """An estimator as another's parameter: its name and the parameters of the engine."""
    if getattr(estimator, "class_weight", None) is not None:
        raise Elsewhere(f"class_weight of the {type(estimator).__name__} inside")
    estimator._check_form()
    params, starts = estimator._engine_params()
    if starts:
        raise Elsewhere(f"{starts[0][0]} of the {type(estimator).__name__} inside is an array")
    return _ermine.Spec(estimator._name, params)
