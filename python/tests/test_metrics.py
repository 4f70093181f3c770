"""Every metric equals scikit-learn's to 1e-12, on random and on degenerate input; what it refuses is refused."""

import inspect
import warnings

import numpy as np
import pytest
import sklearn.metrics

from ermine import _ermine, metrics

N = 60


def outcome(refusals, function, *args, **options):
    """The values, or None if they are refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = function(*args, **options)
        except refusals:
            return None
    return found if isinstance(found, tuple) else (found,)


def same(name, *args, **options):
    ours = outcome((ValueError, NotImplementedError), getattr(metrics, name), *args, **options)
    # scikit-learn stumbles over some of what it should refuse.
    stumbles = (ValueError, NotImplementedError, ZeroDivisionError, IndexError, TypeError)
    theirs = outcome(stumbles, getattr(sklearn.metrics, name), *args, **options)
    if ours is None or theirs is None:
        # What is not defined is not finite in one place and refused in another: both say that there is no number.
        other = ours or theirs
        assert other is None or not any(np.isfinite(np.asarray(value, dtype=float)).any() for value in other), (
            ours,
            theirs,
        )
        return
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        if a is None or b is None:
            assert a is b
            continue
        a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
        assert a.shape == b.shape
        # A share of nothing: where the mean of a constant has a rounding error, scikit-learn divides by its square.
        noise = (np.abs(b) > 1e25) & np.isin(a, [0.0, -np.inf])
        # A share of next to nothing: a quotient of size |b| has lost as many digits, to rounding in its denominator.
        allowed = 1e-12 + (1e-12 + 4 * np.finfo(float).eps * np.abs(b)) * np.abs(b)
        with np.errstate(invalid="ignore"):
            close = (np.abs(a - b) <= allowed) | (a == b) | (np.isnan(a) & np.isnan(b)) | noise
        assert close.all(), (a, b)


def weights(seed):
    rng = np.random.default_rng(seed)
    some = rng.random(N)
    some[::5] = 0.0
    return {"none": None, "some zero": some, "integers": rng.integers(0, 3, N), "all zero": np.zeros(N)}


WEIGHTS = ["none", "some zero", "integers", "all zero"]


# Numbers


def numbers(kind):
    rng = np.random.default_rng(1)
    y = rng.random(N) * 3 + 0.1
    f = y * np.exp(0.3 * rng.standard_normal(N))
    return {
        "random": (y, f),
        "perfect": (y, y.copy()),
        "constant truth": (np.full(N, 2.0), f),
        "constant truth met": (np.full(N, 2.0), np.full(N, 2.0)),
        "constant prediction": (y, np.full(N, y.mean())),
        "ties": (np.round(y), np.round(f) + 0.5),
        "one row": (y[:1], f[:1]),
        "two rows": (y[:2], f[:2]),
        "empty": (y[:0], f[:0]),
        "zeros in the truth": (np.where(y < 1, 0.0, y), f),
        "negative": (y - 2, f - 2),
        "large": (y * 1e150, f * 1e150),
        "NaN": (np.where(y < 1, np.nan, y), f),
        "lengths differ": (y, f[:-1]),
        "two targets": (np.column_stack([y, y[::-1]]), np.column_stack([f, y])),
        "a constant target beside another": (np.column_stack([y, np.ones(N)]), np.column_stack([f, f])),
    }[kind]


NUMBERS = [
    "random", "perfect", "constant truth", "constant truth met", "constant prediction", "ties", "one row", "two rows",
    "empty", "zeros in the truth", "negative", "large", "NaN", "lengths differ", "two targets",
    "a constant target beside another",
]  # fmt: skip
OF_NUMBERS = [
    ("mean_squared_error", {}),
    ("root_mean_squared_error", {}),
    ("mean_absolute_error", {}),
    ("median_absolute_error", {}),
    ("mean_absolute_percentage_error", {}),
    ("mean_squared_log_error", {}),
    ("root_mean_squared_log_error", {}),
    ("mean_pinball_loss", {"alpha": 0.2}),
    ("r2_score", {}),
    ("r2_score", {"force_finite": False}),
    ("explained_variance_score", {}),
    ("d2_pinball_score", {"alpha": 0.7}),
    ("d2_absolute_error_score", {}),
    *[("mean_tweedie_deviance", {"power": power}) for power in (-1, 0, 1, 1.5, 2, 3, 0.5)],
    ("mean_poisson_deviance", {}),
    ("mean_gamma_deviance", {}),
    *[("d2_tweedie_score", {"power": power}) for power in (0, 1, 1.5, 2)],
]


@pytest.mark.parametrize("weighted", WEIGHTS)
@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("name, options", OF_NUMBERS)
def test_numbers(name, options, kind, weighted):
    if kind == "a constant target beside another" and weighted == "some zero":
        pytest.skip("the mean of scikit-learn's constant has a rounding error, by which it divides")
    y, f = numbers(kind)
    weight = weights(2)[weighted]
    same(name, y, f, sample_weight=None if weight is None else weight[: len(y)], **options)


@pytest.mark.parametrize("kind", NUMBERS)
def test_max_error(kind):
    same("max_error", *numbers(kind))


@pytest.mark.parametrize("multioutput", ["raw_values", "uniform_average", "variance_weighted", [0.3, 0.7], [1.0]])
@pytest.mark.parametrize("kind", ["two targets", "a constant target beside another"])
@pytest.mark.parametrize("name", ["mean_squared_error", "root_mean_squared_error", "median_absolute_error", "r2_score", "explained_variance_score"])  # fmt: skip
def test_several_targets(name, kind, multioutput):
    if multioutput == "variance_weighted" and "error" in name:
        pytest.skip("only for R2 and explained variance")
    same(name, *numbers(kind), multioutput=multioutput)
    same(name, *numbers(kind), multioutput=multioutput, sample_weight=weights(2)["integers"])


# Classes


def classes(kind):
    rng = np.random.default_rng(3)
    two, called = rng.integers(0, 2, N), rng.integers(0, 2, N)
    many, many_called = rng.integers(0, 4, N), rng.integers(0, 4, N)
    text = np.array(["ant", "bee", "cat", "dog"])
    return {
        "binary": (two, called),
        "minus one and one": (2 * two - 1, 2 * called - 1),
        "one and two": (two + 1, called + 1),
        "text, two": (text[two], text[called]),
        "several": (many, many_called),
        "text": (text[many], text[many_called]),
        "perfect": (many, many.copy()),
        "all wrong": (many, (many + 1) % 4),
        "one class": (np.ones(N, int), np.ones(N, int)),
        "one class, none called": (np.ones(N, int), np.zeros(N, int)),
        "never called": (many, np.minimum(many, 2)),
        "called but not there": (np.minimum(many, 2), many_called),
        "all called one": (many, np.zeros(N, int)),
        "one row": (two[:1], called[:1]),
        "empty": (two[:0], called[:0]),
        "booleans": (two == 1, called == 1),
        "gaps": (many * 1000 - 7, many_called * 1000 - 7),
        "floats": (many.astype(float), many_called.astype(float)),
        "continuous": (two + 0.3, called),
        "mixed": (text[two], called),
        "lengths differ": (two, called[:-1]),
        "several labels a row": (np.column_stack([two, called]), np.column_stack([called, two])),
    }[kind]


CLASSES = [
    "binary", "minus one and one", "one and two", "text, two", "several", "text", "perfect", "all wrong", "one class",
    "one class, none called", "never called", "called but not there", "all called one", "one row", "empty", "booleans",
    "gaps", "floats", "continuous", "mixed", "lengths differ", "several labels a row",
]  # fmt: skip
AVERAGED = ["precision_score", "recall_score", "f1_score", "jaccard_score", "precision_recall_fscore_support"]


def of_rows(weight, y):
    return None if weight is None else weight[: len(y)]


@pytest.mark.parametrize("weighted", WEIGHTS)
@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize(
    "name, options",
    [
        ("accuracy_score", {}),
        ("accuracy_score", {"normalize": False}),
        ("balanced_accuracy_score", {}),
        ("balanced_accuracy_score", {"adjusted": True}),
        ("matthews_corrcoef", {}),
        ("cohen_kappa_score", {}),
        ("cohen_kappa_score", {"weights": "linear"}),
        ("cohen_kappa_score", {"weights": "quadratic"}),
        ("confusion_matrix", {}),
        *[("confusion_matrix", {"normalize": normalize}) for normalize in ("true", "pred", "all")],
    ],
)
def test_classes(name, options, kind, weighted):
    y, f = classes(kind)
    if kind == "several labels a row" and name != "accuracy_score":
        pytest.skip("not for several labels a row")
    same(name, y, f, sample_weight=of_rows(weights(4)[weighted], y), **options)


@pytest.mark.parametrize(
    "zero_division, weighted",
    [
        ("warn", "none"),
        ("warn", "some zero"),
        ("warn", "all zero"),
        (0.0, "none"),
        (1.0, "some zero"),
        (np.nan, "none"),
    ],
)
@pytest.mark.parametrize("average", ["binary", "micro", "macro", "weighted", None])
@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("name", AVERAGED)
def test_averages(name, kind, average, zero_division, weighted):
    if name == "jaccard_score" and np.isnan(zero_division if zero_division != "warn" else 0.0):
        pytest.skip("scikit-learn's jaccard_score takes 0, 1 or warn")
    y, f = classes(kind)
    same(name, y, f, average=average, zero_division=zero_division, sample_weight=of_rows(weights(5)[weighted], y))


@pytest.mark.parametrize("labels", [[2, 0], [1], [3, 1, 2, 0], [0, 1, 2, 3, 9]])
@pytest.mark.parametrize("average", ["micro", "macro", "weighted", None])
@pytest.mark.parametrize("name", AVERAGED)
def test_chosen_labels(name, average, labels):
    same(name, *classes("several"), labels=labels, average=average)
    same("confusion_matrix", *classes("several"), labels=labels)
    same("cohen_kappa_score", *classes("several"), labels=labels, weights="quadratic")


@pytest.mark.parametrize("beta", [0.0, 0.5, 2.0, np.inf])
@pytest.mark.parametrize("kind", ["binary", "several", "never called", "one class"])
def test_beta(beta, kind):
    for average in ("binary", "macro", None):
        same("fbeta_score", *classes(kind), beta=beta, average=average)


@pytest.mark.parametrize("pos_label", [0, 1, 7, "ant"])
def test_positive_label(pos_label):
    for name in AVERAGED:
        same(name, *classes("binary"), pos_label=pos_label, average="binary")
        same(name, *classes("text, two"), pos_label=pos_label, average="binary")


def test_specificity_is_the_recall_of_the_other_class():
    y, f = classes("binary")
    assert metrics.specificity_score(y, f) == pytest.approx(sklearn.metrics.recall_score(y, f, pos_label=0), abs=1e-15)
    each = metrics.specificity_score(*classes("several"), average=None)
    for c, found in enumerate(each):
        truth, called = (np.asarray(y) == c for y in classes("several"))
        assert found == pytest.approx(sklearn.metrics.recall_score(~truth, ~called), abs=1e-15)


# Probabilities and orders


def scores(kind):
    rng = np.random.default_rng(6)
    two = rng.integers(0, 2, N)
    p = np.clip(0.5 * rng.random(N) + 0.4 * two, 0, 1)
    return {
        "binary": (two, p),
        "minus one and one": (2 * two - 1, p),
        "one and two": (two + 1, p),
        "text": (np.array(["no", "yes"])[two], p),
        "ties": (two, np.round(p, 1)),
        "all ties": (two, np.full(N, 0.5)),
        "certain": (two, two.astype(float)),
        "certain and wrong": (two, 1.0 - two),
        "one class": (np.ones(N, int), p),
        "none of the class": (np.zeros(N, int), p),
        "two rows": (np.array([0, 1]), p[:2]),
        "one row": (two[:1], p[:1]),
        "empty": (two[:0], p[:0]),
        "infinite": (two, np.where(p > 0.8, np.inf, p)),
        "NaN": (two, np.where(p > 0.8, np.nan, p)),
        "above one": (two, p * 10),
        "two zeros": (two, np.where(two == 1, -0.0, 0.0)),
        "lengths differ": (two, p[:-1]),
        "several labels a row": (np.column_stack([two, 1 - two]), np.column_stack([p, 1 - p])),
    }[kind]


SCORES = [
    "binary", "minus one and one", "one and two", "text", "ties", "all ties", "certain", "certain and wrong", "one class",
    "none of the class", "two rows", "one row", "empty", "infinite", "NaN", "above one", "two zeros", "lengths differ",
]  # fmt: skip


@pytest.mark.parametrize("weighted", WEIGHTS)
@pytest.mark.parametrize("kind", [*SCORES, "several labels a row"])
@pytest.mark.parametrize(
    "name, options",
    [
        ("roc_auc_score", {}),
        ("roc_auc_score", {"max_fpr": 0.3}),
        ("roc_auc_score", {"max_fpr": 1.0}),
        ("roc_auc_score", {"max_fpr": 2.0}),
        ("average_precision_score", {}),
        ("log_loss", {}),
        ("log_loss", {"normalize": False}),
        ("log_loss", {"labels": [0, 1]}),
        ("brier_score_loss", {}),
        ("brier_score_loss", {"scale_by_half": False}),
        ("d2_log_loss_score", {}),
        ("d2_brier_score", {}),
    ],
)
def test_scores(name, options, kind, weighted):
    y, p = scores(kind)
    if kind == "several labels a row" and "auc" not in name and "precision" not in name:
        pytest.skip("not for several labels a row")
    same(name, y, p, sample_weight=of_rows(weights(7)[weighted], y), **options)


@pytest.mark.parametrize("weighted", WEIGHTS)
@pytest.mark.parametrize("kind", SCORES)
def test_curves(kind, weighted):
    y, p = scores(kind)
    weight = of_rows(weights(7)[weighted], y)
    same("roc_curve", y, p, sample_weight=weight)
    same("roc_curve", y, p, sample_weight=weight, drop_intermediate=False)
    same("precision_recall_curve", y, p, sample_weight=weight)
    same("precision_recall_curve", y, p, sample_weight=weight, drop_intermediate=True)
    if kind == "text":
        same("roc_curve", y, p, sample_weight=weight, pos_label="no")
        same("brier_score_loss", y, p, sample_weight=weight, pos_label="no")


def tables(kind):
    rng = np.random.default_rng(8)
    y = rng.integers(0, 3, N)
    p = rng.dirichlet(np.ones(3), N)
    return {
        "several": (y, p),
        "text": (np.array(["a", "b", "c"])[y], p),
        "ties": (y, np.full((N, 3), 1 / 3)),
        "zeros": (y, np.eye(3)[rng.integers(0, 3, N)]),
        "a class is missing": (np.minimum(y, 1), p),
        "one class": (np.zeros(N, int), p),
        "wrong width": (y, p[:, :2]),
        "empty": (y[:0], p[:0]),
        "two columns": (np.minimum(y, 1), np.column_stack([p[:, 0], 1 - p[:, 0]])),
    }[kind]


@pytest.mark.parametrize("weighted", WEIGHTS)
@pytest.mark.parametrize(
    "kind",
    ["several", "text", "ties", "zeros", "a class is missing", "one class", "wrong width", "empty", "two columns"],
)
@pytest.mark.parametrize(
    "name, options",
    [
        ("log_loss", {}),
        ("brier_score_loss", {}),
        ("d2_log_loss_score", {}),
        ("d2_brier_score", {}),
        ("log_loss", {"labels": [0, 1, 2]}),
        ("brier_score_loss", {"labels": [0, 1, 2]}),
        *[
            ("roc_auc_score", {"multi_class": multi, "average": average})
            for multi in ("ovr", "ovo")
            for average in ("macro", "weighted", None)
        ],
        ("roc_auc_score", {"multi_class": "ovr", "average": "micro"}),
        ("roc_auc_score", {"multi_class": "ovr", "labels": [0, 1, 2]}),
        ("roc_auc_score", {}),
        ("average_precision_score", {}),
        ("average_precision_score", {"average": "weighted"}),
        ("average_precision_score", {"average": None}),
        ("average_precision_score", {"average": "micro"}),
    ],
)
def test_tables_of_probabilities(name, options, kind, weighted):
    if weighted == "all zero" and options.get("average") == "weighted":
        pytest.skip("scikit-learn's mean over the classes without any weight is 0")
    y, p = tables(kind)
    same(name, y, p, sample_weight=of_rows(weights(9)[weighted], y), **options)


def test_many_scores_with_ties():
    rng = np.random.default_rng(10)
    y = rng.random(200_000) < 0.2
    score = np.round(rng.standard_normal(len(y)) + y, 3)
    same("roc_auc_score", y, score)
    same("average_precision_score", y, score)
    same("roc_auc_score", y, score, sample_weight=rng.random(len(y)))


# Groups


def groups(kind):
    rng = np.random.default_rng(11)
    X = rng.standard_normal((N, 3))
    a, b = rng.integers(0, 4, N), rng.integers(0, 3, N)
    return {
        "random": (X, a, b),
        "equal": (X, a, a.copy()),
        "text": (X, np.array(list("abcd"))[a], b),
        "one group": (X, np.zeros(N, int), b),
        "one group both": (X, np.zeros(N, int), np.ones(N, int)),
        "alone": (X, np.arange(N), b),
        "noise": (X, a - 1, b - 1),
        "equal rows": (np.ones((N, 3)), a, b),
        "a single row": (X, np.r_[5, a[1:]], b),
        "empty": (X[:0], a[:0], b[:0]),
    }[kind]


@pytest.mark.parametrize("kind", ["random", "equal", "text", "one group", "one group both", "alone", "noise", "equal rows", "a single row", "empty"])  # fmt: skip
def test_groups(kind):
    X, a, b = groups(kind)
    alike = ["adjusted_rand_score", "normalized_mutual_info_score", "homogeneity_completeness_v_measure"]
    for name in [*alike, "homogeneity_score", "completeness_score", "v_measure_score"]:
        same(name, a, b)
    same("v_measure_score", a, b, beta=0.5)
    same("normalized_mutual_info_score", a, b, average_method="min")
    for name in ["silhouette_score", "silhouette_samples", "calinski_harabasz_score", "davies_bouldin_score"]:
        same(name, X, a)


# The list that searches and the command line use


@pytest.mark.parametrize("weighted", ["none", "some zero", "integers"])
@pytest.mark.parametrize("name", list(metrics.METRICS))
def test_the_list_of_the_engine(name, weighted):
    """Each name of the list has the value of scikit-learn's scorer of that name."""
    metric = metrics.METRICS[name]
    if "specificity" in name or name in (
        "d2_poisson_score",
        "d2_gamma_score",
        "neg_mean_pinball_loss",
        "cohen_kappa",
        "roc_auc_ovr_weighted",
    ):
        theirs = {
            "specificity": lambda y, f, sample_weight: sklearn.metrics.recall_score(1 - y, 1 - f, sample_weight=sample_weight),
            "specificity_macro": lambda y, f, sample_weight: np.mean(
                [sklearn.metrics.recall_score(y != c, f != c, sample_weight=sample_weight) for c in range(3)]
            ),
            "d2_poisson_score": lambda y, f, **w: sklearn.metrics.d2_tweedie_score(y, f, power=1, **w),
            "d2_gamma_score": lambda y, f, **w: sklearn.metrics.d2_tweedie_score(y, f, power=2, **w),
            "neg_mean_pinball_loss": sklearn.metrics.mean_pinball_loss,
            "cohen_kappa": sklearn.metrics.cohen_kappa_score,
            "roc_auc_ovr_weighted": lambda y, p, **w: sklearn.metrics.roc_auc_score(y, p, multi_class="ovr", average="weighted", **w),
        }[name]  # fmt: skip
    else:
        scorer = sklearn.metrics.get_scorer(name)

        def theirs(*args, **w):
            return scorer._score_func(*args, **scorer._kwargs, **w)

    weight = weights(12)[weighted]
    weight = None if weight is None else np.ascontiguousarray(weight, dtype=float)
    if metric["task"] == "Regression":
        y, f = numbers("random")
        truth, predicted = y, f
    elif metric["needs"] == "Class":
        y, f = classes("binary" if metric["binary"] else "several")
        if name == "specificity_macro":
            y, f = np.minimum(y, 2), np.minimum(f, 2)
        truth, predicted = (y.astype(np.uint32), len(set(y))), f
    elif metric["binary"]:
        y, f = scores("ties")
        truth, predicted = (y.astype(np.uint32), 2), f
    else:
        y, f = tables("several")
        truth, predicted = (y.astype(np.uint32), 3), f
    options = {"sample_weight": weight}
    if name == "neg_max_error":
        options = {}
    if "ovo" in name and weight is not None:
        pytest.skip("scikit-learn has no weights for pairs of classes")
    predicted = np.asarray(predicted, dtype=float).reshape(len(y), -1)
    found = _ermine.metric(name, truth, np.ascontiguousarray(predicted), options.get("sample_weight"))
    assert found == pytest.approx(theirs(y, f, **options), rel=1e-12, abs=1e-12)


def test_interval():
    y, f = classes("binary")
    found = metrics.interval("accuracy", y, f, n_resamples=2000)
    p = sklearn.metrics.accuracy_score(y, f)
    assert found.estimate == pytest.approx(p, abs=1e-15)
    assert found.standard_error == pytest.approx(np.sqrt(p * (1 - p) / N), rel=0.1)
    assert found.low < p < found.high
    assert found == metrics.interval("accuracy", y, f, n_resamples=2000, n_jobs=1)
    y, p = scores("binary")
    assert metrics.interval("roc_auc", y, p).estimate == pytest.approx(sklearn.metrics.roc_auc_score(y, p))
    assert metrics.interval("log_loss", y, p).estimate == pytest.approx(sklearn.metrics.log_loss(y, p), rel=1e-12)
    assert metrics.interval("mean_absolute_error", *numbers("random")).estimate > 0
    with pytest.raises(ValueError, match="accurate"):
        metrics.interval("accurate", y, p)


def test_best_threshold_is_the_cheapest():
    y, p = scores("ties")
    found = metrics.best_threshold(y, p, false_positive=1, false_negative=4)

    def cost(threshold):
        return np.mean(np.where(p >= threshold, 1.0 * (y == 0), 4.0 * (y == 1)))

    assert found.cost == pytest.approx(cost(found.threshold), abs=1e-12)
    assert found.cost == pytest.approx(min(cost(t) for t in [*p, np.inf]), abs=1e-12)
    assert found.cost_of_all == pytest.approx(cost(-1)) and found.cost_of_none == pytest.approx(cost(9))


def test_signatures_are_scikit_learns():
    own = {"specificity_score", "interval", "best_threshold"}
    for name in set(metrics.__all__) - own:
        ours = list(inspect.signature(getattr(metrics, name)).parameters)
        theirs = list(inspect.signature(getattr(sklearn.metrics, name)).parameters)
        left_out = set(theirs) - set(ours)
        assert left_out <= {"y_pred", "warn_for"}, (name, left_out)  # a deprecated name, and which warnings to show


def test_other_names_are_scikit_learns():
    assert metrics.classification_report is sklearn.metrics.classification_report
    with pytest.raises(AttributeError):
        _ = metrics.no_such_metric
