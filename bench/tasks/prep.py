import data
import numpy as np
from harness import Bench, find, same, task, threads


def search(env, path, grid, X, y, tolerance, **params):
    """Five folds over a grid; threads over folds and candidates, one inside each fit."""

    def run(package):
        inner = find(f"{package}.{path}")(**params)
        return find(f"{package}.model_selection.GridSearchCV")(inner, grid, cv=5, n_jobs=threads()).fit(X, y)

    # Memory would miss scikit-learn's worker processes.
    contenders = {p: lambda p=p: run(p) for p in ("sklearn", "ermine")}
    return Bench(contenders, lambda s: s.best_score_, tolerance, better="higher", memory=False)


@task("ridge search, 5 folds x 20 alphas, 100,000 x 50", family="prep", target=2.0)
def ridge_search(env):
    X, y = data.regression(env.n(100_000), 50)
    return search(env, "linear_model.Ridge", {"alpha": np.logspace(-3, 4, 20).tolist()}, X, y, 1e-6)


@task("random forest search, 5 folds x 6, 10,000 x 20", family="prep", target=2.0)
def forest_search(env):
    X, y = data.curved_classes(env.n(10_000), 20)
    grid = {"max_features": ["sqrt", 0.5], "min_samples_leaf": [1, 5, 20]}
    return search(env, "ensemble.RandomForestClassifier", grid, X, y, 0.005, n_estimators=50, random_state=0)


def text(env, name):
    documents = data.texts(env.n(20_000))
    contenders = same(f"feature_extraction.text.{name}", documents, peers=["sklearn"], method="fit_transform")
    return Bench(contenders, lambda M: M.sum() + M.shape[1], 1e-9, better="same")


@task("CountVectorizer, 20,000 documents", family="prep", target=10.0)
def count_words(env):
    return text(env, "CountVectorizer")


@task("TfidfVectorizer, 20,000 documents", family="prep", target=10.0)
def tfidf(env):
    return text(env, "TfidfVectorizer")


@task("one-hot, 1,000,000 rows x 4 columns", family="prep", target=1.0)
def one_hot(env):
    X, _ = data.categories(env.n(1_000_000), [5, 20, 100, 500])
    contenders = same("preprocessing.OneHotEncoder", X, peers=["sklearn"], method="fit_transform")
    return Bench(contenders, lambda M: M.sum() + M.shape[1], 0.0, better="same")


@task("target encoding, 1,000,000 rows x 4 columns", family="prep", target=1.0)
def target_encoding(env):
    X, y = data.categories(env.n(1_000_000), [5, 20, 100, 500])
    contenders = same("preprocessing.TargetEncoder", X, y, peers=["sklearn"], method="fit_transform", random_state=0)
    # The folds are random, the strength of the relation is not.
    return Bench(contenders, lambda T: np.corrcoef(np.asarray(T).sum(1), y)[0, 1], 0.002, better="higher")


@task("AUC of 10,000,000 scores", family="prep", target=1.0)
def auc(env):
    rng = np.random.default_rng(0)
    n = env.n(10_000_000)
    y = (rng.random(n) < 0.2).astype(np.int64)
    scores = np.round(rng.standard_normal(n) + y, 4)  # rounded: with ties
    contenders = same("metrics.roc_auc_score", y, scores, peers=["sklearn", "sklearnex"])
    return Bench(contenders, lambda a: a, 1e-12, better="same")


@task("QuantileTransformer normal 1,000,000 x 10", family="prep", target=2.0)
def quantiles(env):
    X = np.exp(np.random.RandomState(0).normal(size=(env.n(1_000_000), 10)))
    params = {"output_distribution": "normal", "random_state": 0}
    contenders = same("preprocessing.QuantileTransformer", X, peers=["sklearn"], method="fit_transform", **params)
    return Bench(contenders, lambda Z: float(np.abs(Z.mean(axis=0)).max() + np.abs(Z.std(axis=0) - 1).max()), 0.1)
