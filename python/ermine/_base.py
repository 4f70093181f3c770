"""What every class shares: scikit-learn's conventions over one fitted model.

The classes in `_models.py` are generated from Ermine's list; each says which outputs its model has and inherits the
methods that hand them out. Data is checked and labels are encoded here, once; the numbers come from `_ermine`.
"""

import json
import numbers
import os
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    DensityMixin,
    OneToOneFeatureMixin,
    OutlierMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    _check_feature_names_in,
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from . import _ermine

_LIST = {entry["name"]: entry for entry in json.loads(_ermine.models())}


class FitLog:
    """How a fit went: `passes`, why it stopped (`stop`), the `objective` after each pass, the `certificate`, `notes`."""

    def __init__(self, text):
        log = json.loads(text)
        self._text = text
        self.passes = log["passes"]
        self.stop = log["stop"]
        self.objective = log["objective"]
        self.certificate = log["certificate"]
        self.notes = log["notes"]

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


class Estimator(BaseEstimator):
    """Fits and predicts through the engine. Generated classes say which model of the list they are."""

    _name = None
    # Outputs of a fitted model; those that depend on a parameter with its values, as {output: (parameter, values)}.
    _outputs = ()
    _outputs_with = {}
    # From the list.
    _info = {}
    _forms = {}

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if cls.__dict__.get("_name"):
            entry = _LIST[cls._name]
            cls._info = entry["info"]
            cls._forms = {param["name"]: param["forms"] for param in entry["params"]}

    # Fitting

    def _fit(self, X, y, sample_weight, *, previous=None, override=None, reset=True, classes=None, keep=None):
        """`keep` is a dict that gets the checked rows, and what was found about each that is not an attribute."""
        X, y = self._checked(X, y, reset)
        target = self._target(y, classes)
        weights = self._weights(X, y, sample_weight)
        params, starts = self._engine_params()
        params.update(override or {})
        if "cv" in self._forms and not isinstance(self.cv, numbers.Integral):
            params.pop("cv", None)
            if self.cv is not None:
                X, target, weights, folds = self._by_fold(X, y, target, weights)
                starts.append(("cv", folds))
        seed = self._seed()
        try:
            model, log, rows = _ermine.Model.fit(
                self._name,
                params,
                _rows(X),
                target,
                weights,
                seed=seed,
                threads=_threads(self.n_jobs),
                starts=starts,
                columns=self._column_names(),
                previous=previous,
            )
        except ValueError as error:
            if X.shape[0] > 1:
                raise
            raise ValueError(f"{error} (n_samples=1)") from None
        if keep is not None:
            keep.update(rows, X=X)
        # Names without the trailing underscore are for steps of a pipeline, not for people.
        for name, value in ((name, value) for name, value in rows.items() if name.endswith("_")):
            setattr(self, name, value)
        self._restore(model, FitLog(log), seed=seed, rows=X.shape[0])
        if override is None:
            self._warn_of_end()
        return self

    def _warn_of_end(self):
        if self.fit_log_.unfinished:
            warnings.warn(
                f"{type(self).__name__} stopped after {self.fit_log_.passes} passes before it met its tolerance "
                f"({self.fit_log_.certificate}); raise max_iter, scale the data, or accept the accuracy.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _restore(self, model, log, seed, rows):
        """Takes over a fitted model, from a fit or from a file."""
        self._model, self.fit_log_, self._fit_seed, self._fit_rows = model, log, seed, rows
        for name, value in model.attributes().items():
            # Names are an array; arrays of different shapes (the weights of each layer) stay a list.
            names = isinstance(value, list) and all(isinstance(item, str) for item in value)
            setattr(self, name, np.array(value) if names else value)
        if log.stop not in ("Exact", "Passes") or hasattr(self, "max_iter"):
            self.n_iter_ = max(1, log.passes)
        self._finish_fit()

    def _finish_fit(self):
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
            and X.shape[1] == self.n_features_in_
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
        state = self.random_state
        if isinstance(state, numbers.Integral) and not isinstance(state, bool):
            return int(state)
        return int(check_random_state(state).randint(np.iinfo(np.int32).max))

    def _engine_params(self):
        """Parameters for the engine, and arrays that start it, which travel beside them."""
        params, starts = {}, []
        for name, forms in self._forms.items():
            value = getattr(self, name)
            if name == "cv" and not isinstance(value, numbers.Integral):
                continue  # splits are made from the rows
            if isinstance(value, np.ndarray) or sp.issparse(value) or (
                isinstance(value, (list, tuple)) and not _has(forms, "List")
            ):
                if _has(forms, "List"):
                    value = np.asarray(value).tolist()
                else:
                    value = value.toarray() if sp.issparse(value) else value
                    start = np.array(value, dtype=np.float64, order="C", ndmin=2, copy=None)
                    start = start.reshape(-1, start.shape[-1])  # a matrix for each component: one under another
                    starts.append((name, start))
                    continue
            if value is None and (_has(forms, "Model") or _has(_items(forms), "Model")) and not _has(forms, "None"):
                continue  # the engine's own default
            params[name] = _plain(value, forms, name, type(self).__name__)
        return params, starts

    def _by_fold(self, X, y, target, weights):
        """Rows in the order of the folds of `cv`, and where each fold begins: the engine's folds are runs of rows."""
        fold = np.full(X.shape[0], -1)
        for number, (train, test) in enumerate(check_cv(self.cv, y).split(X, y)):
            if len(train) + len(test) != len(fold) or (fold[test] >= 0).any():
                raise ValueError("cv: every row must be tested once, and the others be learnt from")
            fold[test] = number
        if (fold < 0).any():
            raise ValueError("cv: every row must be tested once, and some are never tested")
        order = np.argsort(fold, kind="stable")
        bounds = np.concatenate([[0.0], np.cumsum(np.bincount(fold))])[:, None]
        target = (target[0][order], target[1]) if isinstance(target, tuple) else target[order]
        return X[order], target, None if weights is None else weights[order], bounds

    def _column_names(self):
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else list(names)

    def _resume(self, X, y, sample_weight, classes=None):
        """One more step from what is there, or the first one."""
        first = not hasattr(self, "_model")
        override = {"max_iter": 1} if "max_iter" in self._forms else {}
        previous = None if first else self._model
        return self._fit(
            X, y, sample_weight, previous=previous, override=override, reset=first, classes=classes
        )

    def _warm(self):
        """The model to go on from, when `warm_start` asks for it."""
        return getattr(self, "_model", None) if getattr(self, "warm_start", False) else None

    # Predicting

    def _has_output(self, output):
        if hasattr(self, "_model"):
            return any(name == output for name, _ in self._model.outputs())
        if output in self._outputs_with:
            parameter, values = self._outputs_with[output]
            return getattr(self, parameter) in values
        return output in self._outputs

    def _predicted(self, X, output):
        check_is_fitted(self)
        return self._computed(_rows(self._validated(X, reset=False)), output)

    def _computed(self, rows, output):
        return self._model.predict(rows, output, threads=_threads(self.n_jobs), columns=self._column_names())

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

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_model")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        info = self._info
        tags.input_tags.sparse = info["sparse"]
        # What is made of others takes what they all take.
        members = [member for name in self._forms for member in _members(getattr(self, name, None))]
        takes_missing = all(member.__sklearn_tags__().input_tags.allow_nan for member in members)
        tags.input_tags.allow_nan = info["missing"] and takes_missing
        tags.input_tags.positive_only = info["non_negative"]
        pairwise = ("kernel", "metric", "affinity")
        tags.input_tags.pairwise = any(getattr(self, name, None) == "precomputed" for name in pairwise)
        # Categories and nothing else: not the trees, which take them beside numbers.
        tags.input_tags.categorical = info["categories"] and info["task"] == "Transformation" or type(self).__name__ == "CategoricalNB"
        tags.target_tags.multi_output = info["multi_target"]
        tags.target_tags.positive_only = info["target"] != "Any"
        return tags


def _output_method(output):
    """For methods that exist when the model has that output, also before it is fitted."""
    return available_if(lambda self: self._has_output(output))


# Tasks


class Regressor(RegressorMixin, Estimator):
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


class Classifier(ClassifierMixin, Estimator):
    def _checked(self, X, y, reset):
        # Labels may be text: they are checked by themselves.
        if y is None:
            validate_data(self, X, y, reset=reset, **self._checks())
        X = validate_data(self, X, reset=reset, **self._checks())
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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self._info["multi_target"]
        return tags

    @_output_method("Probability")
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

    @_output_method("Probability")
    def predict_log_proba(self, X):
        """Logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @_output_method("Decision")
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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        # Counts and categories are a poor description of the numbers that checks are made of.
        tags.classifier_tags.poor_score = self._info["module"] == "naive_bayes" and type(self).__name__ != "GaussianNB"
        return tags


class Clusterer(ClusterMixin, Estimator):
    def _finish_fit(self):
        if hasattr(self, "labels_"):
            self.labels_ = self.labels_.astype(np.int32)

    @_output_method("Cluster")
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


class Density(DensityMixin, Estimator):
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
        return float(np.mean(self.score_samples(X)))

    @_output_method("Density")
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

    @_output_method("Cluster")
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
        return self._predicted(X, "Cluster")[:, 0].astype(np.int32)

    @_output_method("Cluster")
    def fit_predict(self, X, y=None):
        """Fit, and return the number of each row's component."""
        return self.fit(X).predict(X)

    @_output_method("Probability")
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


class OutlierDetector(OutlierMixin, Estimator):
    """Rows that do not belong: Decision is below 0 for them, Cluster -1, Density the score without its threshold."""

    def _finish_fit(self):
        if hasattr(self, "labels_"):
            self.labels_ = self.labels_.astype(np.int64)

    @_output_method("Decision")
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

    @_output_method("Density")
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

    @_output_method("Cluster")
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
        self.fit(X, **fit_params)
        return self.labels_ if hasattr(self, "labels_") else self.predict(X)


class Transformer(Estimator):
    """A model that is fitted to transform; what it hands out is in `Transforms`. Some look at the target to do so."""

    def _checked(self, X, y, reset):
        if not self._info.get("supervised"):
            return super()._checked(X, None, reset)
        if y is None:
            validate_data(self, X, y, reset=reset, **self._checks())  # which says that it is needed
        X, y = self._validated(X, reset), validate_data(self, y=y)
        check_consistent_length(X, y)
        return X, y

    def _target(self, y, classes):
        if y is None:
            return None
        if type_of_target(y) in ("binary", "multiclass"):
            labels, codes = _encoded(y)
            return np.ascontiguousarray(codes, dtype=np.uint32), len(labels)
        return np.ascontiguousarray(y, dtype=np.float64)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = bool(self._info.get("supervised"))
        return tags


# Outputs beside the natural prediction


class Transforms(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
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
        return self._transformed(_rows(self._validated(X, reset=False)))

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
        if not isinstance(self, Transformer) or set(fit_params) - {"sample_weight"}:
            return super().fit_transform(X, y, **fit_params)
        kept = {}
        self._fit(X, y, fit_params.get("sample_weight"), previous=self._warm(), keep=kept)
        return kept["transform"] if "transform" in kept else self._transformed(_rows(kept["X"]))

    def _transformed(self, rows):
        sparse = self._model.transform_sparse(rows, columns=self._column_names())
        if sparse is None:
            return self._computed(rows, "Transform")
        values, columns, starts, width = sparse
        return sp.csr_matrix((values, columns, starts), shape=(len(starts) - 1, width))

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

    @_output_method("Inverse")
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
        X = check_array(X, accept_sparse="csr", dtype=np.float64, order="C", ensure_all_finite="allow-nan")
        if X.shape[1] != self._n_features_out:
            raise ValueError(f"X has {X.shape[1]} features, but {self._n_features_out} were made by transform")
        return self._computed(_rows(X), "Inverse")

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

    @_output_method("Inverse")
    def inverse_transform(self, X):
        """The categories that made these columns."""
        found = super().inverse_transform(X)
        if self._levels is None:
            return found
        out = np.full(found.shape, None, dtype=object)
        for j, levels in enumerate(self._levels):
            known = ~np.isnan(found[:, j])
            out[known, j] = np.array(levels, dtype=object)[found[known, j].astype(np.intp)]
        return out

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.string = True
        return tags


class OneToOne(OneToOneFeatureMixin, Transforms):
    """Transformers that keep each column, and so its name."""


class TransformsOnce(TransformerMixin):
    """Embeddings of the fitted rows, without a function for new ones."""

    def fit_transform(self, X, y=None):
        """Fit, and return the embedding of the rows."""
        return self.fit(X).embedding_


class Leaves:
    def apply(self, X):
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
        return leaves[:, 0] if leaves.shape[1] == 1 and "n_estimators" not in self._forms else leaves


class Neighbours:
    def kneighbors(self, X, n_neighbors=None, return_distance=True):
        """The nearest rows of those that were fitted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        n_neighbors : int, default=None
            How many, up to the `n_neighbors` of the estimator.
        return_distance : bool, default=True
            Whether to return the distances too.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_neighbors)
            Only with `return_distance`.
        indices : ndarray of shape (n_samples, n_neighbors)
            Numbers of the fitted rows, the nearest first.
        """
        found = self._predicted(X, "Neighbours")
        most = found.shape[1] // 2
        k = most if n_neighbors is None else n_neighbors
        if not 0 < k <= most:
            raise ValueError(f"n_neighbors is {k}, but it must be from 1 to the {most} of the estimator")
        indices = found[:, :k].astype(np.int64)
        return (np.ascontiguousarray(found[:, most : most + k]), indices) if return_distance else indices


class Deviations:
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


def _plain(value, forms, name, owner):
    """A parameter's value as the engine takes it."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return _ermine.Spec.parse(value) if _has(forms, "Model") else value
    if isinstance(value, Estimator):
        return _spec(value)
    if isinstance(value, (list, tuple)):
        items = _items(forms)
        # A member may come with a name, as in scikit-learn's lists of estimators.
        named = _has(items, "Model")
        members = [item[1] if named and isinstance(item, tuple) and len(item) == 2 else item for item in value]
        return [_plain(item, items, name, owner) for item in members]
    if _has(forms, "Model") or _has(_items(forms), "Model"):
        raise TypeError(f"{owner}: {name} is {value!r}, but it must be an estimator of ermine")
    raise TypeError(f"{owner}: {name} is {value!r}, a {type(value).__name__}, which it cannot be")


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
        raise ValueError(f"{type(estimator).__name__}: class_weight works on the outermost estimator only")
    params, starts = estimator._engine_params()
    if starts:
        raise ValueError(f"{type(estimator).__name__}: {starts[0][0]} cannot be an array inside another estimator")
    return _ermine.Spec(estimator._name, params)
