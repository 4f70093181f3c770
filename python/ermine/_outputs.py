"""What some classes answer beside the natural prediction of their task; the generator adds these to a class that has
the output."""

import numbers
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from . import _ermine
from ._base import Estimator, engine_method
from ._convert import _rows, _text_levels
from ._forms import _ANY_KIND, _IN_PLACE, _SPARSE_OUT, Elsewhere, _is_single
from ._later import node_numbers
from ._tasks import Transformer


class Transforms(TransformerMixin):
    @engine_method("Transform")
    def transform(self, X, **options):
        """Compute the new features.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        **options : dict
            What scikit-learn's method takes beside (`copy`).

        Returns
        -------
        Xt : ndarray or sparse matrix of shape (n_samples, n_features_out)
        """
        self._check_fitted()
        if options or self._keeps_form(X) or getattr(self, "solver", None) == "lsqr":
            return super().transform(X, **options)
        if isinstance(self, Encodes) and self._peer is not None:
            try:
                if self._in_table():
                    return super().transform(X)
                return self._transformed(_rows(self._validated(X, reset=False)))
            except (ValueError, TypeError):
                return super().transform(X)  # which says what it does not know, or knows what to do with it
        rows = self._validated(X, reset=False)
        with self._worded(rows):
            found = self._transformed(_rows(rows))
        return self._handed_out(found, X)

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
        if self._keeps_form(X) or (isinstance(self, Encodes) and self._in_table()):
            return super(Estimator, self).transform(X)
        found = kept["transform"] if "transform" in kept else self._transformed(_rows(kept["X"]))
        return self._handed_out(found, X)

    def _keeps_form(self, X):
        """Whether the new rows are of the kind of the old, sparse or integers, where the engine's are neither:
        scikit-learn makes them."""
        if sp.issparse(X):
            return self._name in _SPARSE_OUT
        return self._name in _ANY_KIND and not (type(X) is np.ndarray and X.dtype.kind == "f")

    def _handed_out(self, found, X):
        """New features in the precision of the rows, and in their place where `copy=False` asks for it."""
        dtype = getattr(X, "dtype", None)
        if "transform" in self._single_answers and (_is_single(X) or dtype == np.float16 and self._name in _IN_PLACE):
            found = found.astype(np.float32 if _is_single(X) else np.float16)
        if self._name in _IN_PLACE and not self.copy and type(X) is np.ndarray and type(found) is np.ndarray:
            if X.dtype == found.dtype and X.shape == found.shape and X.flags.writeable:
                X[...] = found
                return X
        return found

    def _transformed(self, rows):
        # Only these make sparse rows of dense ones.
        may = isinstance(rows, tuple) or self._name in ("KBinsDiscretizer", "OneHotEncoder")
        sparse = self._model.transform_sparse(rows, columns=self._column_names()) if may else None
        if sparse is None:
            return self._computed(rows, "Transform")
        values, columns, starts, width = sparse
        return sp.csr_matrix((values, columns, starts), shape=(len(starts) - 1, width))

    @engine_method("Inverse")
    def inverse_transform(self, X, **options):
        """Old features from new ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features_out)
            Transformed rows.
        **options : dict
            What scikit-learn's method takes beside (`copy`).

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        """
        self._check_fitted()
        if options or self._keeps_form(X):
            return super().inverse_transform(X, **options)
        rows = check_array(X, accept_sparse="csr", dtype=np.float64, order="C", ensure_all_finite="allow-nan")
        width = dict(self._model.outputs())["Transform"]
        if rows.shape[1] != width:
            name = type(self).__name__
            raise ValueError(f"X has {rows.shape[1]} features, but {name} is expecting {width} features as input.")
        found = self._computed(_rows(rows), "Inverse")
        if self._name == "PowerTransformer":
            for j in np.flatnonzero((np.isnan(found) & ~np.isnan(rows)).any(axis=0)):
                warnings.warn(
                    f"Some values in column {j} of the inverse-transformed data are NaN: no value transforms to them.",
                    stacklevel=2,
                )
        return self._handed_out(found, X)


class OneColumn:
    """For models of a single column, which scikit-learn takes as a flat array too and does not count."""

    def _checked(self, X, y, reset):
        close = np.finfo(np.float32 if _is_single(X) else np.float64).resolution
        X = check_array(X, input_name="X", dtype=np.float64, ensure_2d=False)
        self._check_input_data_shape(X)
        y = check_array(y, input_name="y", dtype=np.float64, ensure_2d=False)
        check_consistent_length(X, y)
        apart = np.diff(np.sort(X, axis=None))
        if (apart[apart > 0] < close).any():
            raise Elsewhere(f"values closer than {close:.0e}, which scikit-learn takes for one")
        return np.ascontiguousarray(X.reshape(-1, 1)), y

    def predict(self, T):
        """Predict the target.

        Parameters
        ----------
        T : array-like of shape (n_samples,) or (n_samples, 1)
            The values of the column.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predicted values.
        """
        self._check_fitted()
        return super(Estimator, self).predict(T)

    def __getstate__(self):
        kept = self.__dict__.get("f_")
        state = dict(super().__getstate__())
        if kept is not None:
            self.f_ = kept  # scikit-learn's method takes it out of the object itself
        return state


class Baseline:
    """For baselines, which look at no column: predictions are scikit-learn's, from what the engine has counted, and
    rows may be anything that has a length."""

    def _checked(self, X, y, reset):
        if self._info["task"] == "Regression":
            return super()._checked(X, y, reset)
        if np.ndim(y) != 1 or sp.issparse(y):
            raise Elsewhere("several targets")
        return super()._checked(X, y, reset)

    def _engine_params(self):
        params, starts = super()._engine_params()
        if self._name == "DummyClassifier":
            params.pop("constant", None)
            if self.strategy == "constant" and "classes_" in self.__dict__:
                params["constant"] = self._number_of_constant(self.classes_)
        return params, starts

    def _fit_in_engine(self, X, y, sample_weight, *, override=None, **more):
        if self._name == "DummyClassifier" and self.strategy == "constant":
            override = {"constant": self._number_of_constant(np.unique(y))}
        return super()._fit_in_engine(X, y, sample_weight, override=override, **more)

    def _number_of_constant(self, classes):
        """The engine knows labels by number."""
        label = np.asarray(self.constant).ravel()
        found = np.flatnonzero(classes == label[0]) if len(label) == 1 else []
        if len(found) != 1:
            raise Elsewhere("constant is not a label of the target")
        return int(found[0])

    def predict(self, X, **more):
        """Predict the same for every row, or draw.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, which are counted.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The predictions.
        """
        self._check_fitted()
        return super(Estimator, self).predict(X, **more)


class BaselineOfClasses(Baseline):
    def predict_proba(self, X):
        """Probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, which are counted.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        self._check_fitted()
        return super(Estimator, self).predict_proba(X)

    def predict_log_proba(self, X):
        """Logarithm of `predict_proba`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, which are counted.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        self._check_fitted()
        return super(Estimator, self).predict_log_proba(X)


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

    #: Of each column the levels that are text, sorted; None for a column of numbers. None if all are.
    _levels = None
    #: Of each column the type of its categories.
    _types = None

    def _validated(self, X, reset):
        checked = validate_data(self, X, reset=reset, **{**self._checks(), "dtype": None, "order": None})
        if checked.dtype.kind in "fiub" and (reset or self._levels is None):
            if reset:
                self._levels, self._types = None, [checked.dtype] * checked.shape[1]
            return (
                checked.astype(np.float64, copy=False)
                if sp.issparse(checked)
                else checked.astype(np.float64, order="C", copy=False)
            )
        frame = hasattr(X, "iloc")
        if not frame and not hasattr(X, "dtype") and checked.dtype.kind == "U":
            checked = np.asarray(X, dtype=object)  # numbers of a list would have become text
        columns = [np.asarray(X.iloc[:, j]) if frame else checked[:, j] for j in range(checked.shape[1])]
        if reset:
            self._types = [column.dtype for column in columns]
            self._levels = [None if column.dtype.kind in "fiub" else _text_levels(column) for column in columns]
        codes = np.empty(checked.shape)
        for j, (column, levels) in enumerate(zip(columns, self._levels or [None] * len(columns))):
            # One past the last level is a category that was never seen, which the model handles or refuses.
            codes[:, j] = (
                column.astype(np.float64)
                if levels is None
                else _ermine.encode(column.tolist(), dict(zip(levels, range(len(levels)))), False)
            )
        return codes

    def _finish_fit(self):
        """An array of categories for each column; the engine knows them by their numbers, one after another."""
        super()._finish_fit()
        columns = np.split(self.categories_, np.cumsum(self.n_categories_)[:-1])
        kinds = zip(
            columns, self._levels or [None] * len(columns), self._types or [np.dtype(np.float64)] * len(columns)
        )
        self.categories_ = [
            codes.astype(kind) if levels is None else np.array([levels[int(code)] for code in codes], dtype=kind)
            for codes, levels, kind in kinds
        ]

    def _in_table(self):
        """Whether a table is asked for where rows come out sparse, which scikit-learn refuses."""
        return getattr(self, "sparse_output", False) and _get_output_config("transform", self)["dense"] != "default"

    def inverse_transform(self, X):
        """The categories that made these columns."""
        return super(Estimator, self).inverse_transform(X)


class TwoTables:
    """For regressions whose targets are transformed too, which scikit-learn's class does from the attributes."""

    def transform(self, X, y=None, copy=True):
        """Compute the scores of the rows, and those of their targets if they are given.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples, n_targets), default=None
            Their targets.
        copy : bool, default=True
            Whether the rows must not be written over.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components), or a pair of them
        """
        return super().transform(X) if y is None and copy else super().transform(X, y=y, copy=copy)

    def inverse_transform(self, X, y=None):
        """Rows from their scores, and targets from theirs if they are given.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            The scores.
        y : array-like of shape (n_samples, n_components), default=None
            The scores of the targets.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features), or a pair with the targets
        """
        return super().inverse_transform(X) if y is None else super().inverse_transform(X, y=y)

    def predict(self, X, copy=True):
        """Predict the targets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        copy : bool, default=True
            Whether the rows must not be written over.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        del copy  # they never are
        return super().predict(X)


class Leaves:
    @engine_method("Leaf")
    def apply(self, X, check_input=True):
        """Number of the leaf that each row reaches, in each tree.

        Returns
        -------
        leaves : ndarray of shape (n_samples,) or (n_samples, n_trees)
        """
        leaves = self._predicted(X, "Leaf").astype(np.int64)
        nodes = node_numbers(self)
        found = np.column_stack([tree[leaves[:, t]] for t, tree in enumerate(nodes)])
        return found if "n_estimators" in self._forms else found[:, 0]


class Importances:
    @property
    def feature_importances_(self):
        """The share of each column in the decrease of impurity."""
        if "_model" in self.__dict__ and "feature_importances_" in self._found:
            return self._found["feature_importances_"]
        return super().feature_importances_


class Draws:
    """For forests, whose trees draw their rows by scikit-learn's own generator and seeds."""

    @property
    def estimators_samples_(self):
        """The rows that each tree was grown on."""
        if "_model" not in self.__dict__:
            return super().estimators_samples_
        # Weights are multiplied into those of the rows: they do not say how often a row is drawn.
        weights, self._sample_weight = self._sample_weight, None
        try:
            return super().estimators_samples_
        finally:
            self._sample_weight = weights

    def _fit_in_engine(self, X, y, sample_weight, *, previous=None, **more):
        if previous is not None:
            grown = dict(previous.outputs())["Leaf"]
            if self.n_estimators < grown:
                raise Elsewhere("warm_start with fewer trees than there are")
            if self.n_estimators == grown:
                warnings.warn(
                    "Warm-start fitting without increasing n_estimators does not fit new trees.", stacklevel=5
                )
        return super()._fit_in_engine(X, y, sample_weight, previous=previous, **more)

    def _warm(self):
        if getattr(self, "warm_start", False) and "_model" not in self.__dict__ and hasattr(self, "estimators_"):
            raise Elsewhere("warm_start from trees of scikit-learn's")
        return super()._warm()

    def _seed(self):
        """Going on, that of the trees that are there."""
        return self._fit_seed if self._warm() is not None else super()._seed()

    def _leave_engine(self):
        """Scikit-learn's code goes on from the trees."""
        hasattr(self, "estimators_")
        return super()._leave_engine()


class Logistic:
    def _check_form(self, in_parts=False):
        from sklearn.linear_model._logistic import _check_solver

        penalty = self.penalty
        if penalty == "deprecated":
            ratio = getattr(self, "l1_ratio", 0)
            penalty = "l2" if ratio == 0 else "l1" if ratio == 1 else "elasticnet"
        super()._check_form(in_parts)
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
        deviation = self._predicted(X, "Deviation").astype(mean.dtype, copy=False)
        return mean, deviation[:, 0] if mean.ndim == 1 else deviation


class Inertia:
    @engine_method("Transform")
    def score(self, X, y=None, sample_weight=None):
        """Minus the sum of squared distances of the rows to their nearest centre."""
        nearest = self.transform(X).min(axis=1) ** 2
        return -float(np.sum(nearest if sample_weight is None else nearest * sample_weight))
