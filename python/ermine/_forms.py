"""What the engine has a form for: the rules by which a fit goes to it or to scikit-learn, and parameters as it takes
them.

A rule stands here where the forms of the parameters do not say it: combinations that scikit-learn refuses or warns of,
and options whose traces its classes keep in a form of their own. Scikit-learn then does the work, or says in its own
words why not.
"""

import math
import numbers
import warnings

import numpy as np
import scipy.sparse as sp

from . import _ermine


class Elsewhere(NotImplementedError):
    """The engine has no form for this; scikit-learn does it."""


def check_form(self, in_parts=False):
    """Raises `Elsewhere` for parameters that the engine has no form for, beyond what their forms say."""
    name = self._name
    if getattr(self, "_skl_callbacks", None):
        raise Elsewhere("callbacks, which are called inside scikit-learn's own loops")
    if hasattr(self._peer, "_more_validate_params"):
        self._more_validate_params(for_partial_fit=in_parts)
    for names, rule in PARAMETER_RULES:
        if name in names:
            rule(self, in_parts)
    for option in TRACES.get(name, ()):
        value, default = getattr(self, option), self._peer_params[option]
        if not _equal(value, default):
            raise Elsewhere(f"{option}={_shown(value)}")


def check_columns(self, X):
    """Raises `Elsewhere` for tables whose columns the engine would take for numbers."""
    if "HistGradientBoosting" in self._name and self.categorical_features == "from_dtype":
        dtypes = getattr(X, "dtypes", ())
        if any(str(dtype).lower().startswith(("categor", "enum")) for dtype in dtypes):
            raise Elsewhere("columns of categories")


def check_rows(self, X, y, weights):
    """Raises `Elsewhere` for rows that the engine has no form for, and for those that scikit-learn refuses."""
    if self._peer is None:
        return
    if sp.issparse(X) and not self.__sklearn_tags__().input_tags.sparse:
        raise Elsewhere("sparse rows")
    for names, rule in ROW_RULES:
        if self._name in names:
            rule(self, X, y, weights)


#: Options of the engine whose traces scikit-learn's class keeps in a form of its own.
TRACES = {
    "OneHotEncoder": ("drop", "max_categories", "min_frequency"),
    "OrdinalEncoder": ("handle_unknown", "max_categories", "min_frequency", "unknown_value", "encoded_missing_value"),
    "SimpleImputer": ("add_indicator",),
    "KNNImputer": ("add_indicator",),
}

# Rules about parameters


def _discriminants(self, _):
    if self.solver == "svd" and self.shrinkage is not None:
        raise Elsewhere("shrinkage with the solver svd")
    if self._name == "LinearDiscriminantAnalysis" and self.solver == "eigen":
        raise Elsewhere("solver='eigen' scales its directions otherwise")


def _logistic_cv(self, _):
    if self.use_legacy_attributes is not False:
        raise Elsewhere("the legacy attributes hold the coefficients of every fold")


def _huber(self, _):
    if not self.fit_intercept:
        raise Elsewhere("fit_intercept=False, where the engine can stop at the start")


def _counts(self, _):
    if not self.force_alpha and np.min(self.alpha) < 1e-10:
        raise Elsewhere("alpha below 1e-10 without force_alpha")


def _descent(self, in_parts):
    if self.average is not True and self.average > 1:
        raise Elsewhere(f"average={self.average}, from a later row on")
    if self.warm_start and "_model" in self.__dict__:
        raise Elsewhere("warm_start, from the coefficients that are there")
    if self.power_t < 0:
        raise Elsewhere("power_t below 0")
    if in_parts and getattr(self, "class_weight", None) == "balanced":
        raise Elsewhere("class_weight='balanced' in parts")


def _networks(self, in_parts):
    if self.solver == "lbfgs" and self.max_fun != 15000:
        raise Elsewhere(f"max_fun={self.max_fun}")
    if in_parts and (self.early_stopping or self.solver == "lbfgs"):
        raise Elsewhere("early_stopping or solver='lbfgs' in parts")


def _ridge(self, _):
    if self.positive and self.solver not in ("auto", "lbfgs"):
        raise Elsewhere(f"solver={self.solver!r} for coefficients of 0 or more")


def _nets(self, _):
    if np.any(np.equal(self.alpha, 0)):
        raise Elsewhere("alpha=0, which scikit-learn warns of")
    if self._name == "ElasticNet" and self.l1_ratio == 0:
        raise Elsewhere("l1_ratio=0, which is Ridge")


def _quantiles(self, _):
    if self.solver not in ("highs", "highs-ds", "highs-ipm"):
        raise Elsewhere(f"solver={self.solver!r}")


def _nu(self, _):
    if self.class_weight is not None:
        raise Elsewhere("class_weight, which libsvm's nu machines take otherwise")


def _machines(self, _):
    if self.probability != "deprecated":
        warnings.warn(
            "the `probability` parameter is deprecated in scikit-learn: calibrate the classifier instead",
            FutureWarning,
            stacklevel=6,
        )
    if getattr(self, "break_ties", False) and self.decision_function_shape == "ovo":
        raise Elsewhere("break_ties without one score for each class")


def _linear_machines(self, _):
    primal = self.dual is False
    if self._name == "LinearSVC" and (self.loss == "hinge" and primal or self.penalty == "l1" and self.dual is True):
        raise Elsewhere(f"loss={self.loss!r}, penalty={self.penalty!r}, dual={self.dual}")
    if self._name == "LinearSVR" and self.loss == "epsilon_insensitive" and primal:
        raise Elsewhere("loss='epsilon_insensitive', dual=False")


def _selectors(self, _):
    raise Elsewhere("its estimator_ is fitted by itself, in the engine if it is Ermine's")


def _splines(self, _):
    if self.knots != "uniform":
        raise Elsewhere(f"knots={_shown(self.knots)}")


def _draws(self, _):
    if self.oob_score and not self.bootstrap:
        raise Elsewhere("oob_score without bootstrap")
    if not self.bootstrap and self.max_samples is not None:
        raise Elsewhere("max_samples without bootstrap")


def _heterogeneous(self, _):
    self._validate_estimators()
    # Here a member is fitted as it is; bagging and boosting draw a seed for each.
    members = [*_members(self.estimators), *_members(getattr(self, "final_estimator", None))]
    seeds = (numbers.Integral, np.random.RandomState)
    if any(member._info["random"] and isinstance(member.random_state, seeds) for member in members):
        raise Elsewhere("random_state of a member")
    if self.verbose:
        raise Elsewhere("verbose, which tells how long each member took")
    if self._name == "StackingClassifier" and not all(
        hasattr(member, "predict_proba") for member in _members(self.estimators)
    ):
        raise Elsewhere("a member without probabilities")


def _principal(self, _):
    if self.n_components == "mle" and self.svd_solver in ("arpack", "randomized"):
        raise Elsewhere(f"n_components='mle' with svd_solver={self.svd_solver!r}")
    if self.svd_solver == "arpack" and self.n_components is None:
        raise Elsewhere("svd_solver='arpack' for all components")


def _boosted(self, _):
    constraints = self.interaction_cst
    if constraints is not None and not isinstance(constraints, str):
        if not all(isinstance(group, (tuple, list, set)) for group in constraints):
            raise Elsewhere("interaction_cst is not a list of groups")


def _minibatches(self, _):
    if isinstance(self.init, str) and self.init == "random" and self.reassignment_ratio > 0:
        raise Elsewhere("init='random', where centres of few rows are drawn again")


def _mixtures(self, _):
    if self.weights_init is not None and not np.allclose(np.sum(self.weights_init), 1):
        raise Elsewhere("weights_init do not add up to 1")


def _distances(self, _):
    if self.metric == "minkowski" and self.p is not None and self.p < 1:
        raise Elsewhere("p below 1, which is no metric")


_FORESTS = ("RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor")
_NEIGHBOURS = (
    "KNeighborsClassifier", "KNeighborsRegressor", "NearestNeighbors", "RadiusNeighborsClassifier",
    "RadiusNeighborsRegressor", "LocalOutlierFactor",
)  # fmt: skip

PARAMETER_RULES = (
    (("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"), _discriminants),
    (("LogisticRegressionCV",), _logistic_cv),
    (("HuberRegressor",), _huber),
    (("BernoulliNB", "CategoricalNB", "ComplementNB", "MultinomialNB"), _counts),
    (("SGDClassifier", "SGDRegressor"), _descent),
    (("MLPClassifier", "MLPRegressor"), _networks),
    (("Ridge", "RidgeClassifier"), _ridge),
    (("QuantileRegressor",), _quantiles),
    (("Lasso", "ElasticNet"), _nets),
    (("NuSVC",), _nu),
    (("SVC", "NuSVC"), _machines),
    (("LinearSVC", "LinearSVR"), _linear_machines),
    (("RFE", "SelectFromModel"), _selectors),
    (("SplineTransformer",), _splines),
    ((*_FORESTS, "BaggingClassifier", "BaggingRegressor"), _draws),
    (("StackingClassifier", "StackingRegressor", "VotingClassifier", "VotingRegressor"), _heterogeneous),
    (("PCA",), _principal),
    (("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"), _boosted),
    (("MiniBatchKMeans",), _minibatches),
    (("GaussianMixture",), _mixtures),
    (_NEIGHBOURS, _distances),
)

# Rules about rows


def _held_out(self, X, *_):
    if self.average and sp.issparse(X):
        raise Elsewhere("the average over sparse rows")
    held_out = math.ceil(self.validation_fraction * X.shape[0])
    if self.early_stopping and not 0 < held_out < X.shape[0] - 1:
        raise Elsewhere("too few rows to hold some out")


def _held_out_of_network(self, X, y, _):
    if not self.early_stopping:
        return
    # Classes are held out in their proportions where there are two of them.
    least = np.unique(y, return_counts=True)[1].min() if self._name == "MLPClassifier" and y.ndim == 1 else 2
    if math.ceil(self.validation_fraction * X.shape[0]) < 2 or least < 2:
        raise Elsewhere("too few rows to hold some out")


def _weighted_draws(self, X, y, weights):
    if weights is not None and not self.bootstrap:
        raise Elsewhere("weights without bootstrap, which scikit-learn warns of")


def _no_zero_leaves(self, X, y, _):
    if self.criterion == "poisson" and np.any(np.equal(y, 0)):
        raise Elsewhere("criterion='poisson' with zeros in the target, where no leaf may be 0")


def _products(self, X, y, weights):
    """A given matrix of products spares scikit-learn their computation; the engine, which makes its own, takes one that
    is what it says."""
    given = self.precompute
    if not isinstance(given, np.ndarray):
        return
    if sp.issparse(X):
        raise Elsewhere("precompute is an array beside sparse rows")
    if self.fit_intercept and not np.allclose(np.average(X, axis=0, weights=weights), 0.0):
        warnings.warn(
            "Gram matrix was provided but X was centered to fit intercept: recomputing Gram matrix.", stacklevel=6
        )
        return
    rows = X if weights is None else X * np.sqrt(weights * (len(weights) / weights.sum()))[:, None]
    expected = rows.T @ rows
    close = (1e-5 if given.dtype == np.float32 else 1e-9) * np.abs(expected).max(initial=0.0)
    if given.shape != expected.shape or not np.allclose(given, expected, rtol=0.0, atol=close):
        raise Elsewhere("precompute is an array that is not the products of the rows")


def _undetermined(self, X, *_):
    if self.alpha == 0 and not self.fit_intercept and X.shape[0] < X.shape[1]:
        raise Elsewhere("of many solutions the one of least norm")


def _truncated(self, X, *_):
    if self.algorithm == "arpack" and self.n_components >= min(X.shape):
        raise Elsewhere("algorithm='arpack' for all components")


def _polynomials(self, X, *_):
    degree = self.degree if isinstance(self.degree, numbers.Integral) else max(self.degree)
    if math.comb(X.shape[1] + int(degree), int(degree)) > 1 << 24:
        raise Elsewhere("more columns than fit into memory")


def _density(self, X, y, weights):
    if weights is not None and weights.min() <= 0:
        raise Elsewhere("weights of 0 or less")


def _centred(self, X, *_):
    if sp.issparse(X) and (self.with_mean if self._name == "StandardScaler" else self.with_centering):
        raise Elsewhere("the centre of sparse rows")


def _empty(self, X, *_):
    missing = np.isnan(X.data if sp.issparse(X) else X)
    if sp.issparse(X):
        empty = np.bincount(X.indices[missing], minlength=X.shape[1]) == X.shape[0]
    else:
        empty = missing.all(axis=0)
    if empty.any():
        raise Elsewhere("a column without a value")


def _intercept_of_sparse(self, X, *_):
    if sp.issparse(X) and self.fit_intercept and self.solver in ("svd", "cholesky", "sag", "saga"):
        raise Elsewhere(f"solver={self.solver!r} with the intercept of sparse rows")


def _small_batches(self, X, y, weights):
    if self.n_components is None and self.batch_size == 1 and weights is None:
        raise Elsewhere("batches of one row")


def _weighted_quantile(self, X, y, weights):
    if weights is not None and self.strategy in ("median", "quantile"):
        raise Elsewhere("a quantile with weights, which scikit-learn does not interpolate")


def _negative(self, X, *_):
    if sp.issparse(X) and not self.ignore_implicit_zeros and np.any(X.data < 0):
        raise Elsewhere("sparse rows with numbers below 0")


def _weighted_folds(self, X, y, weights):
    if weights is not None and self.cv is not None:
        raise Elsewhere("weights with cv, which scikit-learn does not score by")


def _too_many_components(self, X, y, weights):
    if sp.issparse(X) and self.n_components is None and weights is None:
        raise Elsewhere("sparse rows without n_components, of which scikit-learn makes one component less")
    if isinstance(self.n_components, numbers.Integral) and self.n_components > min(X.shape):
        raise Elsewhere("more components than rows or columns")
    if self.n_components == "mle" and X.shape[0] < X.shape[1]:
        raise Elsewhere("n_components='mle' with fewer rows than columns")
    if (
        self.svd_solver == "arpack"
        and isinstance(self.n_components, numbers.Integral)
        and self.n_components >= min(X.shape)
    ):
        raise Elsewhere("svd_solver='arpack' for all components")


ROW_RULES = (
    (("SGDClassifier", "SGDRegressor"), _held_out),
    (("MLPClassifier", "MLPRegressor"), _held_out_of_network),
    (("BaggingClassifier", "BaggingRegressor"), _weighted_draws),
    (("DecisionTreeRegressor", "RandomForestRegressor", "ExtraTreesRegressor"), _no_zero_leaves),
    (("GammaRegressor", "PoissonRegressor", "TweedieRegressor"), _undetermined),
    (("Lasso", "ElasticNet"), _products),
    (("TruncatedSVD",), _truncated),
    (("PolynomialFeatures",), _polynomials),
    (("DBSCAN",), _density),
    (("StandardScaler", "RobustScaler"), _centred),
    (("SimpleImputer",), _empty),
    (("Ridge", "RidgeClassifier"), _intercept_of_sparse),
    (("IncrementalPCA",), _small_batches),
    (("RidgeCV", "RidgeClassifierCV"), _weighted_folds),
    (("PCA",), _too_many_components),
    (("DummyRegressor",), _weighted_quantile),
    (("QuantileTransformer",), _negative),
)

# Parameters as the engine takes them


def _has(forms, kind):
    return any(form == kind or (isinstance(form, dict) and kind in form) for form in forms)


def _items(forms):
    """The forms of a list's items."""
    return next((form["List"] for form in forms if isinstance(form, dict) and "List" in form), [])


#: Transformers that make sparse rows of sparse rows, where the engine makes dense ones.
_SPARSE_OUT = (
    "Binarizer", "MaxAbsScaler", "Normalizer", "PolynomialFeatures", "QuantileTransformer", "RobustScaler", "SelectKBest",
    "SimpleImputer", "StandardScaler", "VarianceThreshold",
)  # fmt: skip

#: Transformers whose rows stay of the kind they are: integers, booleans, a table's columns.
_ANY_KIND = ("Binarizer", "SelectKBest", "VarianceThreshold")

#: Transformers that write over their rows with `copy=False`, and that have answers in half precision for such rows.
_IN_PLACE = (
    "Binarizer",
    "MaxAbsScaler",
    "MinMaxScaler",
    "Normalizer",
    "PowerTransformer",
    "QuantileTransformer",
    "RobustScaler",
    "StandardScaler",
)

#: Machines that solve to a tolerance along a path which the order of sums decides.
_MACHINES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")

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
    return hasattr(type(estimator), "_fit_in_engine") and "_name" in vars(type(estimator))


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
    if hasattr(type(value), "_fit_in_engine"):
        return [value]
    items = value if isinstance(value, (list, tuple)) else []
    items = [item[1] if isinstance(item, tuple) and len(item) == 2 else item for item in items]
    return [item for item in items if hasattr(type(item), "_fit_in_engine")]


def _spec(estimator):
    """An estimator as another's parameter: its name and the parameters of the engine."""
    if getattr(estimator, "class_weight", None) is not None:
        raise Elsewhere(f"class_weight of the {type(estimator).__name__} inside")
    estimator._check_form()
    params, starts = estimator._engine_params()
    if starts:
        raise Elsewhere(f"{starts[0][0]} of the {type(estimator).__name__} inside is an array")
    return _ermine.Spec(estimator._name, params)
