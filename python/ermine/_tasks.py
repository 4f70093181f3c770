"""A class for each task: what is checked of a target, and what a fitted model answers about rows."""

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import check_cv
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d, validate_data

from ._base import Estimator, engine_method
from ._convert import _encoded
from ._forms import Elsewhere


class Regressor(Estimator):
    def _checked(self, X, y, reset):
        checks = self._checks()
        X, y = validate_data(self, X, y, reset=reset, y_numeric=True, multi_output=self._info["multi_target"], **checks)
        if self._name == "MLPRegressor" and y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        self._y_is_matrix = y.ndim == 2
        return X, y

    _y_is_matrix = False

    def _finish_fit(self):
        self._y_is_matrix |= dict(self._model.outputs())["Value"] > 1

    def _target(self, y, classes):
        return np.ascontiguousarray(y, dtype=np.float64)

    @engine_method("Value")
    def predict(self, X, **params):
        """Predict the target.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            The predicted values.
        """
        if params:
            return super().predict(X, **params)  # a stack hands them to its final estimator; others refuse
        if X is None and hasattr(self, "_fit_X"):
            return super().predict(X)  # each row from the others
        values = self._predicted(X, "Value")
        if self._name == "RadiusNeighborsRegressor" and np.isnan(values).any():
            warnings.warn(
                "One or more samples have no neighbors within specified radius; predicting NaN.", stacklevel=3
            )
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
            raise ValueError(f"Found input variables with inconsistent numbers of samples: {[X.shape[0], len(y)]}")
        return X, y

    # Type of the labels when a row may have several of them.
    _label_type = None

    def _target(self, y, classes):
        self._label_type = y.dtype if y.ndim == 2 else None
        if self._label_type is not None:
            return np.ascontiguousarray(y, dtype=np.float64)
        if classes is None:
            before = self.classes_ if self._warm() is not None else None
            self.classes_, codes = _encoded(y)
            if before is not None and not np.array_equal(before, self.classes_):
                raise Elsewhere("warm_start with other classes than before")
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

    def _classes_of_step(self, first, classes):
        """All classes, which the first step says and a later one may repeat."""
        if self._peer is None:
            return classes
        if first:
            if classes is None:
                raise Elsewhere("the first step does not say the classes")
            return classes
        if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise Elsewhere("other classes than at the first step")
        return self.classes_

    def _weights(self, X, y, sample_weight):
        weights = super()._weights(X, y, sample_weight)
        if self._label_type is not None:
            return weights
        codes = self.__dict__.pop("_codes")
        if getattr(self, "class_weight", None) is not None:
            # As in scikit-learn, whose ridge classifiers balance the rows and not their weights.
            counted = None if "RidgeClassifier" in self._name else weights
            per_class = compute_class_weight(
                self.class_weight, classes=self.classes_, y=self.classes_[codes], sample_weight=counted
            )
            by_class = per_class[codes]
            weights = by_class if weights is None else weights * by_class
        if weights is not None:
            total = np.bincount(codes, weights=weights, minlength=len(self.classes_))
            if np.count_nonzero(total) < 2:
                raise ValueError(
                    f"{type(self).__name__} needs at least two classes of weight (sample_weight, class_weight) above 0, "
                    f"and {np.count_nonzero(total)} class has that"
                )
        return weights

    @engine_method("Class")
    def predict(self, X, **params):
        """Predict the class of each row.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_labels)
            The predicted labels; 0 and 1 where a row may have several.
        """
        if params:
            return super().predict(X, **params)  # a stack hands them to its final estimator; others refuse
        if X is None and hasattr(self, "_fit_X"):
            return super().predict(X)  # each row from the others
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

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        if X is None and hasattr(self, "_fit_X"):
            return super().predict_proba(X)  # each row from the others
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

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
        """
        return self._predicted(X, "Density")[:, 0]

    @engine_method("Cluster")
    def predict(self, X):
        """Number of each row's component.

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

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        return self._predicted(X, "Decision")[:, 0]

    @engine_method("Density")
    def score_samples(self, X):
        """The score before the threshold: `decision_function` plus `offset_`.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        return self._predicted(X, "Density")[:, 0]

    @engine_method("Cluster")
    def predict(self, X):
        """1 for rows that belong, -1 for outliers.

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


class LocalOutlierDetector(OutlierDetector):
    """Scores of new rows or of the fitted ones, as `novelty` says."""

    def _scores_itself(self):
        return self._check_novelty_fit_predict()

    @available_if(_scores_itself)
    def fit_predict(self, X, y=None):
        """Fit, and say of each row whether it belongs (1) or not (-1)."""
        return self.fit(X)._predict()


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

    def _crosses(self, keep):
        """Whether a fit looks at its folds: it does if the rows of the fit are transformed."""
        return keep is not None

    def _splitter(self, y):
        shuffle, state = self.shuffle, self.random_state
        if (shuffle, state) != ("deprecated", "deprecated"):
            name = type(self).__name__
            warnings.warn(
                f"`{name}.shuffle` and `{name}.random_state` are deprecated in scikit-learn 1.9: "
                "pass a splitter as `cv`",
                FutureWarning,
                stacklevel=6,
            )
        drawn = {"shuffle": shuffle == "deprecated" or shuffle}
        drawn |= {} if state == "deprecated" else {"random_state": state}
        return check_cv(self.cv, y, classifier=type_of_target(y) != "continuous", **drawn)
