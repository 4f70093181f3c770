"""What scikit-learn's classes keep beside what the engine says of a model, so that their own methods go on from it.

`complete` is called after a fit of the engine with the rows of the fit; what takes long and is rarely looked at is in
`_later.py`.
"""

import numbers
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.cluster._agglomerative import _hc_cut
from sklearn.exceptions import ConvergenceWarning

from ._later import member_of


def complete(estimator, X, y, weights, rows):
    """Sets the attributes that scikit-learn's class has beyond the engine's; without rows for a model from a file."""
    if estimator._peer is None:
        return
    for cls in type(estimator).__mro__:
        made = FAMILIES.get(cls.__name__)
        if made is not None:
            made(estimator, X, y, weights, rows)
            return


def _decision_tree(self, X, y, weights, rows):
    self.n_outputs_ = 1 if y is None or y.ndim == 1 else y.shape[1]
    if hasattr(self, "classes_"):
        self.n_classes_ = np.int64(len(self.classes_))
    if X is not None:
        leaves = self._computed(rows, "Leaf")[:, 0].astype(np.intp)
        self._leaf_rows = np.bincount(leaves, minlength=self._model.attributes()["n_leaves_"])


def _forest(self, X, y, weights, rows):
    self.n_outputs_ = 1 if y is None or y.ndim == 1 else y.shape[1]
    if hasattr(self, "classes_"):
        self.n_classes_ = len(self.classes_)
    self.estimator_, self._sample_weight = self.estimator, weights
    if X is not None:
        share, n = self.max_samples, X.shape[0]
        self._n_samples = n
        self._n_samples_bootstrap = (
            n if share is None else share if isinstance(share, numbers.Integral) else max(int(n * share), 1)
        )
    _warn_of_rows_never_left_out(self)
    if hasattr(self, "oob_prediction_") and self.n_outputs_ == 1:
        self.oob_prediction_ = self.oob_prediction_.reshape(-1)


def _isolation(self, X, y, weights, rows):
    self.estimator_ = self._get_estimator()
    self._max_samples, self._n_samples, self._sample_weight = self.max_samples_, self._fit_rows, weights
    share, width = self.max_features, self.n_features_in_
    self._max_features = share if isinstance(share, numbers.Integral) else max(int(share * width), 1)
    asked = self.max_samples
    if X is not None and isinstance(asked, numbers.Integral) and asked > X.shape[0]:
        warnings.warn(
            f"max_samples ({asked}) is greater than the total number of samples ({X.shape[0]}). max_samples will be set "
            "to n_samples for estimation.",
            stacklevel=6,
        )


def _warn_of_rows_never_left_out(self):
    seen = self.__dict__.get("oob_decision_function_", self.__dict__.get("oob_prediction_"))
    if isinstance(seen, np.ndarray) and not np.isfinite(seen).all():
        members = "trees" if "Bagging" not in self._name else "estimators"
        warnings.warn(
            f"Some inputs do not have OOB scores. This probably means too few {members} were used to compute any reliable "
            "oob estimates.",
            stacklevel=8,
        )


def _logistic(self, X, y, weights, rows):
    self.n_iter_ = np.array([self.n_iter_], dtype=np.int32)


def _glm(self, X, y, weights, rows):
    self._base_loss = self._get_loss()


def _pca(self, X, y, weights, rows):
    self.n_samples_ = self._fit_rows
    self.noise_variance_ = float(self.noise_variance_)  # of no precision: scores stay in that of the rows
    if X is not None:
        self._fit_svd_solver = self.svd_solver if self.svd_solver != "auto" else _their_solver(X, self.n_components)


def _their_solver(X, n_components):
    """What svd_solver="auto" stands for in scikit-learn."""
    n, p = X.shape
    if sp.issparse(X):
        return "arpack"
    if p <= 1_000 and n >= 10 * p:
        return "covariance_eigh"
    few = isinstance(n_components, numbers.Real) and 1 <= n_components < 0.8 * min(n, p)
    return "randomized" if max(n, p) > 500 and few else "full"


def _neighbours(self, X, y, weights, rows):
    if X is None:
        return
    self._fit_X = X
    self.n_samples_fit_ = X.shape[0]
    metric = getattr(self, "metric", "minkowski")
    p = getattr(self, "p", 2)
    if metric == "minkowski":
        metric = {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}.get(p, "minkowski")
    self.effective_metric_ = metric
    self.effective_metric_params_ = {"p": p} if metric == "minkowski" else {}
    if y is not None:
        if hasattr(self, "classes_"):
            self.outputs_2d_ = False
            if self._name == "RadiusNeighborsClassifier":
                self.outlier_label_ = None
            self._y = np.searchsorted(self.classes_, y)
        else:
            self._y = y


def _local_outliers(self, X, y, weights, rows):
    _neighbours(self, X, y, weights, rows)
    if X is None:
        return
    n, asked = X.shape[0], self.n_neighbors
    if asked > n:
        warnings.warn(
            f"n_neighbors ({asked}) is greater than the total number of samples ({n}). n_neighbors will be set to "
            "(n_samples - 1) for estimation.",
            stacklevel=6,
        )
    if self.negative_outlier_factor_.min() < -1e7 and not self.novelty:
        warnings.warn(
            "Duplicate values are leading to incorrect results. Increase the number of neighbors for more accurate results.",
            stacklevel=6,
        )


def _quantile_transform(self, X, y, weights, rows):
    if X is None:
        return
    if self.n_quantiles > X.shape[0]:
        warnings.warn(
            f"n_quantiles ({self.n_quantiles}) is greater than the total number of samples ({X.shape[0]}). n_quantiles is "
            "set to n_samples.",
            stacklevel=6,
        )
    if self.ignore_implicit_zeros and not sp.issparse(X):
        warnings.warn(
            "'ignore_implicit_zeros' takes effect only with sparse matrix. This parameter has no effect.", stacklevel=6
        )


def _partial_least_squares(self, X, y, weights, rows):
    from scipy.linalg import pinv

    self._predict_1d = not self._y_is_matrix
    self._n_features_out = self.x_rotations_.shape[1]
    self.n_iter_ = [int(steps) for steps in self._steps]
    self.y_rotations_ = self.y_weights_ @ pinv(self.y_loadings_.T @ self.y_weights_, check_finite=False)
    for note in self.fit_log_.notes:
        if note.startswith("y residual is constant"):
            warnings.warn(note.partition(":")[0], stacklevel=6)


def _k_means(self, X, y, weights, rows):
    from ._convert import _threads

    self._n_threads = _threads(None)
    self._n_features_out = self.cluster_centers_.shape[0]
    if X is None:
        return
    self._check_params_vs_input(X)  # which sets what is private, and warns
    if self._name == "KMeans":
        # The engine counts the pass that finds nothing to change.
        self.n_iter_ = max(1, min(self.max_iter, self.n_iter_ - self.fit_log_.converged))
    if "labels_" in self.__dict__ and self._name == "KMeans" and len(np.unique(self.labels_)) < self.n_clusters:
        found = len(np.unique(self.labels_))
        warnings.warn(
            f"Number of distinct clusters ({found}) found smaller than n_clusters ({self.n_clusters}). Possibly due to "
            "duplicate points in X.",
            ConvergenceWarning,
            stacklevel=7,
        )
    if self._name == "MiniBatchKMeans" and X is not None:
        # The engine counts minibatches.
        self.n_steps_ = self.n_iter_
        self.n_iter_ = min(self.max_iter, -(-self.n_steps_ * self._batch_size // X.shape[0]))
        weight = np.ones(X.shape[0]) if weights is None else weights
        labels = self.labels_ if hasattr(self, "labels_") else self._computed(rows, "Cluster")[:, 0].astype(np.int32)
        self._counts = np.bincount(labels, weights=weight, minlength=self._n_features_out)
        self._n_since_last_reassign = 0


def _certified(self, kind, what):
    """A number of the certificate, if it is of that kind."""
    found = self.fit_log_.certificate
    return found[kind][what] if isinstance(found, dict) and kind in found else None


def _least_squares(self, X, y, weights, rows):
    rank = _certified(self, "LeastSquares", "rank")
    if rank is not None and not sp.issparse(X):
        self.rank_ = rank


def _ridge(self, X, y, weights, rows):
    if y is not None and y.ndim == 2:
        self.intercept_ = np.atleast_1d(self.intercept_) if self.fit_intercept else self.intercept_
    if self.positive:
        self.solver_ = "lbfgs"
        return
    self.solver_ = self.solver if self.solver != "auto" else "sparse_cg" if sp.issparse(X) else "cholesky"
    if self.solver_ in ("cholesky", "svd", "sparse_cg", "lbfgs"):
        self.n_iter_ = None


def _ridge_classifier(self, X, y, weights, rows):
    from sklearn.preprocessing import LabelBinarizer

    if y is not None:
        self._label_binarizer = LabelBinarizer(pos_label=1, neg_label=-1).fit(y)
        self._label_type = None if self._label_type is None else np.dtype(np.int64)
    if not self.fit_intercept:
        self.intercept_ = 0.0
    if self._name == "RidgeClassifier":
        _ridge(self, X, y, weights, rows)
    else:
        _ridge_cv(self, X, y, weights, rows)
    if len(self.coef_) == 1:
        self.coef_ = self.coef_[0]


def _ridge_cv(self, X, y, weights, rows):
    if self.cv is None:
        self.alpha_ = float(self.alpha_)
    if self.cv is None and weights is not None:
        self.best_score_ *= weights.mean()  # scikit-learn divides the weighted errors by the number of rows


def _dummy_classifier(self, X, y, weights, rows):
    self._strategy, self.sparse_output_ = self.strategy, False
    self.n_outputs_, self.n_classes_ = 1, len(self.classes_)
    if X is None and self.strategy == "constant":
        self.constant = self.classes_[self.constant]  # a file has its number


def _dummy_regressor(self, X, y, weights, rows):
    self.n_outputs_ = self.constant_.shape[1]


def _isotonic(self, X, y, weights, rows):
    from sklearn.isotonic import check_increasing

    self.increasing_ = bool(self.increasing_)
    self._build_f(self.X_thresholds_, self.y_thresholds_)
    if X is not None and self.increasing == "auto":
        self.increasing_ = check_increasing(X[:, 0], y)  # which warns where the direction is uncertain


def _quantile(self, X, y, weights, rows):
    if not self.fit_intercept:
        self.intercept_ = 0.0


def _bayesian_ridge(self, X, y, weights, rows):
    self.X_scale_, self.scores_ = np.ones(self.n_features_in_), []


def _net(self, X, y, weights, rows):
    gap = _certified(self, "Bound", "gap")
    if gap is not None:
        self.dual_gap_ = np.float64(gap)
    if X is not None and y.ndim == 2 and y.shape[1] > 1 and self._name in ("Lasso", "ElasticNet"):
        self.dual_gap_ = _gaps(self, X, y, np.ones(len(y)) if weights is None else weights)


def _gaps(self, X, y, weights):
    """The duality gap of each target; the engine's is that of all."""
    share = weights / weights.sum()
    ratio = getattr(self, "l1_ratio", 1.0)
    l1, l2 = self.alpha * ratio, self.alpha * (1.0 - ratio)
    centre = share @ X if self.fit_intercept else np.zeros(X.shape[1])
    y = y - share @ y if self.fit_intercept else y
    coef = np.asarray(self.coef_).reshape(y.shape[1], -1).T
    off = y - (X @ coef - centre @ coef)
    slopes = X.T @ (share[:, None] * off) - np.outer(centre, share @ off) - l2 * coef
    most = np.abs(slopes).max(axis=0)
    scale = np.where(most > l1, l1 / np.where(most > 0, most, 1.0), 1.0)
    squares, along = share @ off**2, (share[:, None] * off * y).sum(axis=0)
    gaps = 0.5 * (1.0 + scale**2) * (squares + l2 * (coef**2).sum(axis=0))
    return gaps + l1 * np.abs(coef).sum(axis=0) - scale * along


def _discriminant(self, X, y, weights, rows):
    self._max_components = min(len(self.classes_) - 1, self.n_features_in_)
    if self.n_components is not None:
        self._max_components = self.n_components
    self._n_features_out = self._max_components
    if self.solver == "svd" and not self.store_covariance:
        self.__dict__.pop("covariance_", None)


def _quadratic(self, X, y, weights, rows):
    covariance = self.__dict__.get("covariance_")
    if covariance is None:
        return
    # Weights are the engine's alone.
    if (
        y is not None
        and weights is None
        and self.solver == "svd"
        and np.unique(y, return_counts=True)[1].min() <= X.shape[1]
    ):
        raise NotImplementedError("a class of no more rows than columns")
    self.rotations_, self.scalings_ = [], []
    for matrix in covariance:
        values, vectors = np.linalg.eigh(matrix)
        self.rotations_.append(vectors[:, ::-1])
        self.scalings_.append(values[::-1])
    if not self.store_covariance:
        del self.covariance_
    if weights is None and y is not None and min(values.min() for values in self.scalings_) <= self.tol:
        raise NotImplementedError("a class whose covariance is not of full rank")


def _categorical(self, X, y, weights, rows):
    if X is None:
        return
    codes = np.searchsorted(self.classes_, y)
    per_row = np.ones(len(codes)) if weights is None else weights
    # Of the steps before this one.
    before, self.category_count_ = self.__dict__.get("category_count_", []), []
    for j, levels in enumerate(self.n_categories_):
        table = np.zeros((len(self.classes_), levels))
        np.add.at(table, (codes, X[:, j].astype(np.intp)), per_row)
        if before:
            table[:, : before[j].shape[1]] += before[j]
        self.category_count_.append(table)
    self._update_feature_log_prob(self._check_alpha())


def _linear_svc(self, X, y, weights, rows):
    if not self.fit_intercept:
        self.intercept_ = 0.0


def _incremental_pca(self, X, y, weights, rows):
    self.n_samples_seen_ = np.float64(self.n_samples_seen_)
    self.batch_size_ = 5 * self.n_features_in_ if self.batch_size is None else self.batch_size


def _one_class(self, X, y, weights, rows):
    _support(self, X, y, weights, rows)
    self.offset_ = np.atleast_1d(self.offset_)


def _linear_svr(self, X, y, weights, rows):
    self.intercept_ = np.atleast_1d(self.intercept_) if self.fit_intercept else 0.0


def _mixture(self, X, y, weights, rows):
    self.converged_ = self.fit_log_.converged
    self.lower_bounds_ = list(self.fit_log_.objective)[-self.n_iter_ :] or [self.lower_bound_]
    if self._name == "BayesianGaussianMixture":
        for prior in ("weight_concentration_prior", "mean_precision_prior", "degrees_of_freedom_prior"):
            if getattr(self, prior) is not None:
                setattr(self, f"{prior}_", getattr(self, prior))
        if self.degrees_of_freedom_prior is None:
            self.degrees_of_freedom_prior_ = int(self.degrees_of_freedom_prior_)
        if self.weight_concentration_prior_type == "dirichlet_process" and isinstance(
            self.weight_concentration_, np.ndarray
        ):
            self.weight_concentration_ = tuple(self.weight_concentration_)


def _agglomerative(self, X, y, weights, rows):
    self.n_connected_components_ = 1
    if "labels_" in self.__dict__:
        # The same clusters, numbered as scikit-learn does.
        self.labels_ = _hc_cut(self.n_clusters_, self.children_, self.n_leaves_)
    if not self.compute_distances and self.distance_threshold is None:
        self.__dict__.pop("distances_", None)


def _scale_gamma(X):
    """What gamma="scale" stands for."""
    variance = X.multiply(X).mean() - X.mean() ** 2 if sp.issparse(X) else X.var()
    return 1.0 / (X.shape[1] * variance) if variance != 0 else 1.0


def _support(self, X, y, weights, rows):
    """What the machines of libsvm keep."""
    if X is None:
        return
    self._sparse = sp.issparse(X)
    self.shape_fit_, self.fit_status_ = X.shape, 0
    named = {"scale": _scale_gamma(X), "auto": 1.0 / X.shape[1]}
    self._gamma = named.get(self.gamma, self.gamma) if isinstance(self.gamma, str) else self.gamma
    if self._gamma == 0 and self.gamma == "scale":
        raise NotImplementedError("rows whose variance is beyond the largest number")
    self._effective_probability = getattr(self, "probability", False) is True
    counts = self._found.get("n_support_", np.array([len(self.support_)]))
    several = hasattr(self, "classes_")
    self._n_support = (
        np.asarray(counts, dtype=np.int32) if several else np.array([len(self.support_)] * 2, dtype=np.int32)
    )
    self.support_ = self.support_.astype(np.int32)
    self._dual_coef_, self._intercept_ = self.dual_coef_, self.intercept_
    if several and len(self.classes_) == 2:
        self._dual_coef_, self._intercept_ = -self.dual_coef_, -self.intercept_
    self._probA = self._probB = np.empty(0)
    if several:
        from sklearn.utils.class_weight import compute_class_weight

        self.class_weight_ = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        pairs = len(self.classes_) * (len(self.classes_) - 1) // 2
        self.n_iter_ = np.full(pairs, self.n_iter_, dtype=np.int32)
    self._num_iter = self.n_iter_
    if self._sparse:
        self.support_vectors_ = X[self.support_]
        self.dual_coef_, self._dual_coef_ = sp.csr_matrix(self.dual_coef_), sp.csr_matrix(self._dual_coef_)


def _kernel_pca(self, X, y, weights, rows):
    self.gamma_ = 1.0 / self.n_features_in_ if self.gamma is None else self.gamma
    if X is None:
        return
    self.X_fit_ = X
    wanted = None if self.remove_zero_eig else self.n_components
    if wanted is not None and len(self.eigenvalues_) < min(wanted, X.shape[0]):
        raise NotImplementedError("components without variance")
    if (wanted is None or self.eigen_solver == "randomized") and any(
        "not positive semi-definite" in note for note in self.fit_log_.notes
    ):
        raise NotImplementedError("a kernel that is not positive semi-definite")


def _kernel_ridge(self, X, y, weights, rows):
    if sp.issparse(X):
        self.X_fit_ = X


def _width(self, X, y, weights, rows):
    self._n_features_out = dict(self._model.outputs())["Transform"]
    if self._name == "Nystroem" and sp.issparse(X):
        self.components_ = X[self.component_indices_]
    if self._name == "RBFSampler":
        self._gamma = self.gamma
        if self.gamma == "scale":
            self._gamma = None if X is None else _scale_gamma(X)


def _scaler(self, X, y, weights, rows):
    if X is None:
        self.n_samples_seen_ = self._fit_rows
    elif self._name == "StandardScaler":
        per_row = np.ones(X.shape[0]) if weights is None else weights
        missing = np.isnan(X.data if sp.issparse(X) else X)
        if missing.any() or weights is not None:
            if sp.issparse(X):
                seen = per_row.sum() - np.bincount(
                    X.indices[missing], weights=np.repeat(per_row, np.diff(X.indptr))[missing], minlength=X.shape[1]
                )
            else:
                seen = per_row @ ~missing
            self.n_samples_seen_ = seen[0] if np.ptp(seen) == 0 else seen
        else:
            self.n_samples_seen_ = np.float64(X.shape[0])
        if self.with_std and X.shape[0] and "var_" in self.__dict__:
            from sklearn.preprocessing._data import _is_constant_feature

            constant = _is_constant_feature(self.var_, self.mean_, self.n_samples_seen_)
            if (self.scale_[constant] != 1.0).any():
                raise NotImplementedError("a column that is constant up to rounding")
            if sp.issparse(X) and constant.any():
                # Sums of squares leave a rounding error where all values are the same.
                same = X[:, constant].max(axis=0).toarray() == X[:, constant].min(axis=0).toarray()
                self.var_[np.flatnonzero(constant)[same.ravel()]] = 0.0
        if not self.with_mean and not self.with_std:
            self.mean_ = self.var_ = None
        if not self.with_std:
            self.scale_ = self.var_ = None
        elif self.with_std and "var_" not in self.__dict__:
            self.var_ = self.scale_**2
    else:
        self.n_samples_seen_ = X.shape[0]


def _robust(self, X, y, weights, rows):
    if not self.with_centering:
        self.center_ = None
    if not self.with_scaling:
        self.scale_ = None


def _simple_imputer(self, X, y, weights, rows):
    self.indicator_ = None
    self._fit_dtype = self._fill_dtype = np.dtype(np.float64)
    if self.strategy == "constant":
        self.statistics_ = self.statistics_.astype(object)


def _one_hot(self, X, y, weights, rows):
    self._infrequent_enabled, self.drop_idx_, self._drop_idx_after_grouping = False, None, None
    self._n_features_outs = [len(found) for found in self.categories_]


def _ordinal(self, X, y, weights, rows):
    self._infrequent_enabled = False
    if X is not None and not sp.issparse(X):
        # A missing value is a category of its own, the last one.
        self.categories_ = [
            np.append(found, np.nan)
            if found.dtype.kind == "f" and np.isnan(X[:, j]).any() and not np.isnan(found[-1:]).any()
            else found
            for j, found in enumerate(self.categories_)
        ]
    self._missing_indices = {
        i: len(found) - 1
        for i, found in enumerate(self.categories_)
        if len(found) and isinstance(found[-1], (float, np.floating)) and found[-1] != found[-1]
    }


def _encodings(self):
    """An array for each column, or for each column and class where there are several classes."""
    levels = np.array([len(found) for found in self.categories_])
    each = len(self.encodings_) // levels.sum()
    columns = np.split(self.encodings_, np.cumsum(levels * each)[:-1])
    return [np.ascontiguousarray(row) for column in columns for row in column.reshape(-1, each).T]


def _target_encoder(self, X, y, weights, rows):
    self._infrequent_enabled = False
    if y is not None:
        from sklearn.utils.multiclass import type_of_target

        self.encodings_ = _encodings(self)
        self.target_type_ = type_of_target(y) if self.target_type == "auto" else self.target_type
        self.classes_ = np.unique(y) if self.target_type_ != "continuous" else None
        if self.target_type_ != "multiclass":
            self.target_mean_ = self.target_mean_[0]


def _boosting(self, X, y, weights, rows):
    """What scikit-learn's own predictors need; they are made from the engine's trees."""
    classes = hasattr(self, "classes_")
    k = len(self.classes_) if classes and len(self.classes_) > 2 else 1
    self.n_trees_per_iteration_, self.is_categorical_, self._is_categorical_remapped, self._preprocessor = (
        k,
        None,
        None,
        None,
    )
    self._n_features = self.n_features_in_
    early = self.early_stopping
    self.do_early_stopping_ = self._fit_rows > 10_000 if early == "auto" else bool(early)
    self._use_validation_data = self.validation_fraction is not None
    self._scorer = None
    if not self.do_early_stopping_:
        self.train_score_ = self.validation_score_ = np.zeros(0)
    if X is not None:
        self._loss = self._get_loss(sample_weight=weights)
    if classes:
        from sklearn.preprocessing import LabelEncoder

        self._label_encoder = LabelEncoder()
        self._label_encoder.classes_ = self.classes_


def _ada_boost(self, X, y, weights, rows):
    from . import _models

    base = "DecisionTreeClassifier" if hasattr(self, "classes_") else "DecisionTreeRegressor"
    depth = 1 if hasattr(self, "classes_") else 3
    self.estimator_ = getattr(_models, base)(max_depth=depth) if self.estimator is None else self.estimator
    if hasattr(self, "classes_"):
        self.n_classes_ = len(self.classes_)


def _bagging(self, X, y, weights, rows):
    from . import _models

    base = "DecisionTreeClassifier" if hasattr(self, "classes_") else "DecisionTreeRegressor"
    self.estimator_ = getattr(_models, base)() if self.estimator is None else self.estimator
    if hasattr(self, "classes_"):
        self.n_classes_ = len(self.classes_)
    if X is not None:
        from sklearn.ensemble._bootstrap import _get_n_samples_bootstrap

        self._n_samples = X.shape[0]
        self._max_samples = _get_n_samples_bootstrap(X.shape[0], self.max_samples, weights)
    _warn_of_rows_never_left_out(self)


def _member_names(self):
    """Names of the members; those of a model file have none but their class's."""
    return [member[0] if isinstance(member, tuple) else type(member).__name__ for member in self.estimators]


def _voting(self, X, y, weights, rows):
    from sklearn.preprocessing import LabelEncoder
    from sklearn.utils import Bunch

    if hasattr(self, "classes_"):
        self.le_ = LabelEncoder()
        self.le_.classes_ = self.classes_
    self.named_estimators_ = Bunch(**dict(zip(_member_names(self), self.estimators_)))


def _stacking(self, X, y, weights, rows):
    from sklearn.preprocessing import LabelEncoder
    from sklearn.utils import Bunch

    from . import _models

    members = self._model.members()
    last = members[-1][0]
    each = 1
    if hasattr(self, "classes_"):
        self._label_encoder = LabelEncoder()
        self._label_encoder.classes_ = self.classes_
        each = 1 if len(self.classes_) == 2 else len(self.classes_)
    self.stack_method_ = ["predict_proba" if hasattr(self, "classes_") else "predict"] * len(self.estimators)
    self._n_feature_outs = [each] * len(self.estimators)
    inputs = each * len(self.estimators) + (self.n_features_in_ if self.passthrough else 0)
    self.final_estimator_ = member_of(getattr(_models, last.name)(), last, self, inputs)
    self.named_estimators_ = Bunch(**dict(zip(_member_names(self), self.estimators_)))


def _polynomial(self, X, y, weights, rows):
    degree = self.degree
    self._min_degree, self._max_degree = (0, degree) if not isinstance(degree, (tuple, list)) else degree
    self.n_output_features_ = self._n_out_full = dict(self._model.outputs())["Transform"]
    self.n_output_features_ = int(self.n_output_features_)


def _splines(self, X, y, weights, rows):
    from scipy.interpolate import BSpline

    width = dict(self._model.outputs())["Transform"]
    self.n_features_out_ = width
    if "knots_" in self.__dict__:
        each = self.knots_.reshape(self.n_features_in_, -1)
        count = each.shape[1] - self.degree - 1
        extrapolate = self.extrapolation in ("periodic", "continue")
        self.bsplines_ = [
            BSpline.construct_fast(knots, np.eye(count), self.degree, extrapolate=extrapolate) for knots in each
        ]


def _bins(self, X, y, weights, rows):
    if X is not None:
        for j in np.flatnonzero(np.ptp(X, axis=0) == 0):
            warnings.warn(f"Feature {j} is constant and will be replaced with 0.", stacklevel=7)
    if isinstance(self.bin_edges_, np.ndarray) and self.bin_edges_.dtype != object:
        edges = np.split(self.bin_edges_, np.cumsum(np.asarray(self.n_bins_) + 1)[:-1])
        self.bin_edges_ = np.empty(len(edges), dtype=object)
        self.bin_edges_[:] = edges
    if self.encode != "ordinal":
        from ._models import OneHotEncoder

        places = [np.arange(count) for count in self.n_bins_]
        self._encoder = OneHotEncoder._peer(categories=places, sparse_output=self.encode == "onehot", dtype=np.float64)
        self._encoder.fit(np.zeros((1, len(places))))


def _support_mask(self, X, y, weights, rows):
    if "support_" in self.__dict__:
        chosen = np.asarray(self.support_)
        self.support_ = chosen if chosen.dtype == bool else np.isin(np.arange(self.n_features_in_), chosen)
    if self._name == "RFE":
        self.n_features_ = np.int64(self.support_.sum())
    if X is None:
        return
    if self._name == "VarianceThreshold" and self.threshold == 0:
        # The spread is exactly 0 where rounding leaves the variance a little above.
        spread = (
            (X.max(axis=0) - X.min(axis=0)).toarray().ravel()
            if sp.issparse(X)
            else np.nanmax(X, axis=0) - np.nanmin(X, axis=0)
        )
        self.variances_ = np.nanmin([self.variances_, spread], axis=0)
    if self._name == "SelectKBest":
        from scipy import stats

        if self.k != "all" and self.k > X.shape[1]:
            warnings.warn(
                f"k={self.k} is greater than n_features={X.shape[1]}. All the features will be returned.", stacklevel=7
            )

        name, n = getattr(self.score_func, "__name__", self.score_func), X.shape[0]
        k = len(np.unique(y))
        tails = {
            "f_classif": lambda scores: stats.f.sf(scores, k - 1, n - k),
            "f_regression": lambda scores: stats.f.sf(scores, 1, n - 2),
            "chi2": lambda scores: stats.chi2.sf(scores, k - 1),
        }
        self.pvalues_ = tails[name](self.scores_) if name in tails else None


def _knn_imputer(self, X, y, weights, rows):
    self.indicator_ = None
    if X is not None:
        self._fit_X, self._mask_fit_X = X, np.isnan(X)
        self._valid_mask = ~np.all(self._mask_fit_X, axis=0)


def _huber(self, X, y, weights, rows):
    if "outliers_" in self.__dict__:
        self.outliers_ = np.asarray(self.outliers_).astype(bool)


def _networks(self, X, y, weights, rows):
    from sklearn.preprocessing import LabelBinarizer

    self.loss_curve_ = list(self.loss_curve_)
    self.validation_scores_ = self.__dict__.get("validation_scores_")
    if self.early_stopping and self.validation_scores_ is not None:
        self.validation_scores_, self.best_loss_ = list(self.validation_scores_), None
    else:
        self.validation_scores_ = None
    self.best_validation_score_ = self.__dict__.get("best_validation_score_")
    self._no_improvement_count = 0
    if hasattr(self, "classes_"):
        self._label_binarizer = LabelBinarizer()
        if y is not None:
            self._label_binarizer.fit(y)


FAMILIES = {
    "AdaBoostClassifier": _ada_boost,
    "AdaBoostRegressor": _ada_boost,
    "AgglomerativeClustering": _agglomerative,
    "BaggingClassifier": _bagging,
    "BaggingRegressor": _bagging,
    "BayesianGaussianMixture": _mixture,
    "BayesianRidge": _bayesian_ridge,
    "CategoricalNB": _categorical,
    "DecisionTreeClassifier": _decision_tree,
    "DecisionTreeRegressor": _decision_tree,
    "DummyClassifier": _dummy_classifier,
    "DummyRegressor": _dummy_regressor,
    "ElasticNet": _net,
    "ElasticNetCV": _net,
    "ExtraTreesClassifier": _forest,
    "ExtraTreesRegressor": _forest,
    "GammaRegressor": _glm,
    "GaussianMixture": _mixture,
    "HistGradientBoostingClassifier": _boosting,
    "HistGradientBoostingRegressor": _boosting,
    "HuberRegressor": _huber,
    "IncrementalPCA": _incremental_pca,
    "IsolationForest": _isolation,
    "IsotonicRegression": _isotonic,
    "KBinsDiscretizer": _bins,
    "KMeans": _k_means,
    "KNNImputer": _knn_imputer,
    "KNeighborsClassifier": _neighbours,
    "KNeighborsRegressor": _neighbours,
    "KernelPCA": _kernel_pca,
    "KernelRidge": _kernel_ridge,
    "Lasso": _net,
    "LassoCV": _net,
    "LinearDiscriminantAnalysis": _discriminant,
    "LinearRegression": _least_squares,
    "LinearSVC": _linear_svc,
    "LinearSVR": _linear_svr,
    "LogisticRegression": _logistic,
    "LocalOutlierFactor": _local_outliers,
    "MLPClassifier": _networks,
    "MLPRegressor": _networks,
    "MaxAbsScaler": _scaler,
    "MinMaxScaler": _scaler,
    "MiniBatchKMeans": _k_means,
    "NearestNeighbors": _neighbours,
    "NuSVC": _support,
    "NuSVR": _support,
    "Nystroem": _width,
    "OneClassSVM": _one_class,
    "OneHotEncoder": _one_hot,
    "OrdinalEncoder": _ordinal,
    "PCA": _pca,
    "PLSRegression": _partial_least_squares,
    "PoissonRegressor": _glm,
    "PolynomialFeatures": _polynomial,
    "QuadraticDiscriminantAnalysis": _quadratic,
    "QuantileRegressor": _quantile,
    "QuantileTransformer": _quantile_transform,
    "RBFSampler": _width,
    "RFE": _support_mask,
    "RadiusNeighborsClassifier": _neighbours,
    "RadiusNeighborsRegressor": _neighbours,
    "RandomForestClassifier": _forest,
    "RandomForestRegressor": _forest,
    "Ridge": _ridge,
    "RidgeCV": _ridge_cv,
    "RidgeClassifier": _ridge_classifier,
    "RidgeClassifierCV": _ridge_classifier,
    "RobustScaler": _robust,
    "SVC": _support,
    "SVR": _support,
    "SelectFromModel": _support_mask,
    "SelectKBest": _support_mask,
    "SimpleImputer": _simple_imputer,
    "SplineTransformer": _splines,
    "StackingClassifier": _stacking,
    "StackingRegressor": _stacking,
    "StandardScaler": _scaler,
    "TargetEncoder": _target_encoder,
    "TweedieRegressor": _glm,
    "VarianceThreshold": _support_mask,
    "VotingClassifier": _voting,
    "VotingRegressor": _voting,
}
