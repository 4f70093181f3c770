"""Every class beside scikit-learn's of that name: signature, and for every parameter at its default and at another
value, and for rows of every kind, every attribute and answer.

Type, dtype and shape must be scikit-learn's; values too where a problem has one solution. What differs for a reason is
listed with the reason.
"""

import collections
import inspect
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, StrOptions, generate_valid_param, make_constraint
from threadpoolctl import threadpool_limits

from conftest import CLASSES, data_for, make

PAIRS = [cls for cls in CLASSES if cls._peer is not None]
COUNTS = collections.Counter()

METHODS = (
    "predict",
    "predict_proba",
    "decision_function",
    "transform",
    "score_samples",
    "apply",
    "kneighbors",
    "get_feature_names_out",
)

# Parameters that Ermine has beyond scikit-learn's, all by name alone.
BEYOND = {"n_jobs"}

# Draws are the engine's own: what comes out is as good, and not the same numbers.
RANDOM = {
    "AdaBoostClassifier", "AdaBoostRegressor", "BaggingClassifier", "BaggingRegressor", "BayesianGaussianMixture", "DecisionTreeClassifier",
    "DecisionTreeRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor", "GaussianMixture", "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor", "IsolationForest", "KBinsDiscretizer", "KMeans", "MLPClassifier", "MLPRegressor", "MiniBatchKMeans", "Nystroem", "Perceptron",
    "RBFSampler", "RandomForestClassifier", "RandomForestRegressor", "SGDClassifier", "SGDRegressor", "TargetEncoder",
}  # fmt: skip

# Both stop within a tolerance of the solution, from different sides.
ITERATIVE = {
    "BayesianRidge", "ElasticNet", "ElasticNetCV", "GammaRegressor", "HuberRegressor", "IncrementalPCA", "Lasso", "LassoCV", "LinearSVC", "LinearSVR",
    "LogisticRegression", "LogisticRegressionCV", "NuSVC", "NuSVR", "OneClassSVM", "PoissonRegressor", "PowerTransformer", "Ridge", "SVC", "SVR",
    "StackingClassifier", "StackingRegressor", "TweedieRegressor", "VotingClassifier", "RFE", "SelectFromModel", "TruncatedSVD",
}  # fmt: skip

# (class, attribute): why it is not scikit-learn's.
REASONS = {
    ("LinearRegression", "singular_"): "the engine solves without a singular value decomposition",
    ("*", "dual_gap_"): "the gap that is left depends on the method",
    ("IncrementalPCA", "noise_variance_"): "scikit-learn takes it from the last batch alone",
    ("LassoCV", "alpha_"): "the curve of the error is flat around its least value",
    ("ElasticNetCV", "alpha_"): "the curve of the error is flat around its least value",
    ("QuadraticDiscriminantAnalysis", "rotations_"): "the sign of a direction is free",
    ("AgglomerativeClustering", "labels_"): "the same clusters under other numbers",
    ("SVC", "intercept_"): "near 0, within the tolerance",
    ("SVC", "predict_proba()"): "scikit-learn's calibration draws its folds",
    ("NuSVC", "predict_proba()"): "scikit-learn's calibration draws its folds",
    ("NuSVC", "*"): "libsvm's own answer moves as much with its tolerance",
    ("QuantileRegressor", "intercept_"): "of equally good solutions another: the median of an even number of rows",
    ("QuantileRegressor", "predict()"): "of equally good solutions another: the median of an even number of rows",
    ("*", "n_iter_"): "counts the passes of another method",
    ("*", "n_steps_"): "counts the steps of another method",
    ("*", "estimators_samples_"): "drawn by the engine",
    ("NuSVR", "*"): "rows at the edge of the tube may or may not be support vectors",
    ("SVR", "*"): "rows at the edge of the tube may or may not be support vectors",
    ("OneClassSVM", "*"): "rows at the edge may or may not be support vectors",
}


# (class, attribute): why it is not scikit-learn's for some kind of rows.
REASONS_OF_ROWS = {
    ("LocalOutlierFactor", "*"): "of rows that are equally near other ones are neighbours",
    ("KernelRidge", "X_fit_"): "rows are kept in double precision",
    ("KernelPCA", "X_fit_"): "rows are kept in double precision",
    ("Nystroem", "components_"): "rows are kept in double precision",
    ("DBSCAN", "components_"): "rows are kept in double precision",
    ("KernelPCA", "eigenvectors_"): "the directions of eigenvalues that are 0 are free",
    ("PCA", "components_"): "the directions of variances that are 0 are free",
    ("PCA", "score_samples()"): "the logarithm of a variance that is 0 after rounding",
    ("LinearDiscriminantAnalysis", "scalings_"): "the sign of a direction is free",
    ("LinearDiscriminantAnalysis", "transform()"): "the sign of a direction is free",
    ("AgglomerativeClustering", "children_"): "rows that are equally far are joined in another order",
    ("SVC", "support_"): "of rows that are the same either may be a support vector",
    ("KNeighborsClassifier", "*"): "of rows that are equally far the first are taken, scikit-learn's tree takes any",
    ("KNeighborsRegressor", "*"): "of rows that are equally far the first are taken, scikit-learn's tree takes any",
    ("NearestNeighbors", "*"): "of rows that are equally far the first are taken, scikit-learn's tree takes any",
    ("HuberRegressor", "coef_"): "a constant column and the intercept share what is the same for all rows",
    ("HuberRegressor", "intercept_"): "a constant column and the intercept share what is the same for all rows",
    ("ElasticNetCV", "coef_"): "the curve of the error is flat around its least value",
}

# Kinds of rows of which only type and shape are compared: scikit-learn's solvers end before their solution there, or
# there are many solutions.
LOOSE = ("far from 0", "tiny", "more columns than rows", "a repeated column")


def excused(name, attribute, reasons):
    return any((a, b) in reasons for a in (name, "*") for b in (attribute, "*") if (a, b) != ("*", "*"))


def kinds_of_rows(cls, X, y):
    """What people hand over: name, rows, target."""
    rng = np.random.RandomState(0)
    wide = rng.randn(12, 30)
    wide = np.abs(wide) if cls._info["non_negative"] else wide
    wide = wide.round() if cls.__name__ == "CategoricalNB" else wide
    yield "more columns than rows", wide, y[:12]
    yield "one column", X[:, :1].copy(), y
    yield "a constant column", np.column_stack([X, np.full(len(X), 3.0)]), y
    yield "a repeated column", np.column_stack([X, X[:, 0]]), y
    yield "repeated rows", np.repeat(X[:20], 3, axis=0), np.repeat(y[:20], 3)
    yield "far from 0", X + 100.0, y
    yield "tiny", X * 1e-6, y
    yield "integers", np.rint(X * 3).astype(np.int64), y
    yield "booleans", X > np.median(X), y
    yield "single precision", X.astype(np.float32), y
    yield "columns one after another", np.asfortranarray(X), y
    yield "sparse", sp.csr_matrix(X), y
    yield "missing values", np.where(rng.rand(*X.shape) < 0.05, np.nan, X), y
    if cls._info["task"] == "Classification":
        yield "three classes", X, np.arange(len(y)) % 3
        yield "labels of text", X, np.array(["ab", "c", "d"])[np.arange(len(y)) % 3]


def kind(value):
    """Type, and of arrays dtype and shape."""
    if sp.issparse(value):
        return "sparse", value.dtype, value.shape
    if isinstance(value, np.ndarray):
        return "array", value.dtype.kind if value.dtype.kind in "OUS" else value.dtype, value.shape
    if isinstance(value, (bool, np.bool_)):
        return ("bool",)
    if isinstance(value, (int, np.integer)):
        return ("int",)
    if isinstance(value, (float, np.floating)):
        return ("float",)
    if isinstance(value, (list, tuple)):
        return ("list", *[kind(item) for item in value[:1]])
    return (type(value).__name__,)


def close(ours, theirs, rtol):
    if isinstance(ours, (list, tuple)):
        return all(close(a, b, rtol) for a, b in zip(ours, theirs))
    if sp.issparse(ours):
        ours, theirs = ours.toarray(), theirs.toarray()
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.dtype.kind not in "fiub" or ours.dtype == object:
        return ours.dtype == object or bool(np.all(ours == theirs))
    size = np.abs(theirs[np.isfinite(theirs)]).max(initial=0.0)
    return np.allclose(ours, theirs, rtol=rtol, atol=rtol * max(size, 1e-300), equal_nan=True)


def settings(cls):
    """The default, then for each parameter one other value that scikit-learn takes."""
    yield {}
    defaults = inspect.signature(cls._peer.__init__).parameters
    quick = make(cls).get_params(deep=False)
    for name, constraints in cls._peer._parameter_constraints.items():
        if name not in defaults or name in (
            "verbose",
            "n_jobs",
            "random_state",
            "estimator",
            "estimators",
            "max_iter",
            "n_estimators",
        ):
            continue
        if not isinstance(constraints, list):
            continue
        for constraint in constraints:
            try:
                made = make_constraint(constraint)
                values = [True, False] if constraint == "boolean" else []
                if isinstance(made, StrOptions):
                    values = sorted(made.options - {"deprecated", "warn", "precomputed"})
                elif isinstance(made, Interval):
                    default = defaults[name].default
                    number = default if isinstance(default, (int, float)) and not isinstance(default, bool) else 0
                    values = [value for value in (number * 2, number + 1, number / 2) if made.is_satisfied_by(value)]
                    values = values or [generate_valid_param(made)]
            except (NotImplementedError, TypeError):
                continue
            for value in values:
                if type(value) is not type(quick[name]) or value != quick[name]:
                    yield {name: value}
                    break
            else:
                continue
            break


@pytest.mark.parametrize("cls", PAIRS, ids=lambda cls: cls.__name__)
def test_signature(cls):
    """The same names, order, kinds and defaults; what is beyond them by name alone."""
    ours, theirs = (dict(inspect.signature(found.__init__).parameters) for found in (cls, cls._peer))
    assert [name for name in ours if name in theirs] == list(theirs)
    for name, parameter in theirs.items():
        assert ours[name].kind is parameter.kind, name
        a, b = ours[name].default, parameter.default
        assert a is b or a == b or (a != a and b != b), f"{name}: {a!r} for {b!r}"
    for name in set(ours) - set(theirs):
        assert ours[name].kind is inspect.Parameter.KEYWORD_ONLY, name
        assert name in cls._forms or name in BEYOND | {"class_weight", "random_state", "warm_start"}, name


@pytest.mark.parametrize("cls", PAIRS, ids=lambda cls: cls.__name__)
def test_attributes_and_answers(cls):
    X, y = data_for(cls)
    problems = []
    for given in settings(cls):
        base = make(cls).get_params(deep=False)
        params = {name: value for name, value in {**base, **given}.items() if name in cls._peer_params}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                theirs = cls._peer(**params).fit(X.copy(), y.copy())
            except Exception as error:
                COUNTS["refused by scikit-learn"] += 1
                if "not finite" in str(error):
                    continue  # where its numbers run out
                with pytest.raises(type(error)):
                    cls(**params).fit(X.copy(), y.copy())
                continue
            ours = cls(**params).fit(X.copy(), y.copy())
            COUNTS["settings"] += 1
            COUNTS[f"settings fitted by {ours.fit_log_.engine}"] += 1
            problems += [f"{given}: {problem}" for problem in compared(cls, ours, theirs, X)]
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("cls", PAIRS, ids=lambda cls: cls.__name__)
def test_rows_of_every_kind(cls):
    problems = []
    quick = {"max_iter": 10} if "HistGradientBoosting" in cls.__name__ else {}
    quick |= {"Cs": 3, "cv": 3} if cls.__name__ == "LogisticRegressionCV" else {}
    quick |= {"n_neighbors": 5} if cls.__name__ == "LocalOutlierFactor" else {}
    base = make(cls, **quick).get_params(deep=False)
    params = {name: value for name, value in base.items() if name in cls._peer_params}
    for what, X, y in kinds_of_rows(cls, *data_for(cls)):
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            try:
                theirs = cls._peer(**params).fit(X.copy(), y)
            except Exception as error:
                # Missing values are welcome in some of Ermine's classes, and booleans are numbers.
                if what not in ("missing values", "booleans"):
                    with pytest.raises(type(error)):
                        cls(**params).fit(X.copy(), y)
                continue
            ours = cls(**params).fit(X.copy(), y)
            COUNTS["kinds of rows"] += 1
            rtol = float("inf") if what in LOOSE else 1e-3 if what == "single precision" else 0.0
            found = compared(cls, ours, theirs, X, rtol=rtol, reasons=REASONS | REASONS_OF_ROWS)
            problems += [f"{what}: {problem}" for problem in found]
    assert not problems, "\n".join(problems)


def compared(cls, ours, theirs, X, *, rtol=0.0, reasons=REASONS):
    name = cls.__name__
    exact = name not in RANDOM and name not in ITERATIVE
    rtol = max(rtol, 1e-6 if exact else 2e-2)
    found = {}
    for attribute in vars(theirs):
        if attribute.endswith("_") and not attribute.startswith("_") and attribute not in ("estimators_", "estimator_"):
            found[attribute] = (
                (lambda which, attribute=attribute: getattr(which, attribute)),
                getattr(theirs, attribute),
            )
    for method in METHODS:
        if hasattr(theirs, method):
            rows = (lambda: ()) if method == "get_feature_names_out" else (lambda: (X.copy(),))
            try:
                expected = getattr(theirs, method)(*rows())
            except (np.linalg.LinAlgError, TypeError):
                continue  # where it cannot answer
            found[f"{method}()"] = (lambda which, m=method, rows=rows: getattr(which, m)(*rows())), expected
    for what, (ask, expected) in found.items():
        if excused(name, what, reasons):
            COUNTS["excused"] += 1
            continue
        COUNTS["comparisons"] += 1
        try:
            got = ask(ours)
        except AttributeError as error:
            yield f"{what} is not there: {error}"
            continue
        same_size = name in RANDOM and isinstance(expected, np.ndarray)
        a, b = kind(got), kind(expected)
        if (a[:2] != b[:2] or len(a) > 2 and len(a[2:]) != len(b[2:])) if same_size else a != b:
            yield f"{what} is {a}, and scikit-learn's {b}"
        elif (
            name not in RANDOM
            and np.isfinite(rtol)
            and not what.startswith(("dual_coef_", "support_vec"))
            and not close(got, expected, rtol)
        ):
            yield f"{what} has other values"


def test_counts(capsys):
    """Prints what was compared."""
    with capsys.disabled():
        print("\n  " + ", ".join(f"{count} {what}" for what, count in COUNTS.items()))
