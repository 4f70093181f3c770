import pickle

import data
import measures
import numpy as np
from harness import Bench, Contender, fitted, make, same, task, threads
from sklearn.metrics import roc_auc_score

BOTH = ["sklearn", "sklearnex"]


@task("decision tree 200,000 x 20, depth 12", family="trees", target=1.0)
def tree(env):
    X, y = data.curved_classes(env.n(200_000), 20)
    test = data.curved_classes(50_000, 20, seed=50)
    contenders = same("tree.DecisionTreeClassifier", X, y, peers=["sklearn"], max_depth=12, random_state=0)
    return Bench(contenders, measures.accuracy(*test), 0.003, better="higher")


@task("random forest 100 x 100,000 x 20", family="trees", target=1.0)
def forest(env):
    X, y = data.curved_classes(env.n(100_000), 20)
    test = data.curved_classes(50_000, 20, seed=50)
    contenders = same("ensemble.RandomForestClassifier", X, y, peers=BOTH, n_estimators=100, random_state=0)
    return Bench(contenders, measures.accuracy(*test), 0.003, better="higher")


@task("random forest regressor 100 x 100,000 x 20", family="trees", target=1.0)
def forest_regressor(env):
    X, y = data.curved(env.n(100_000), 20)
    test = data.curved(50_000, 20, seed=50)
    # A third of the columns per split, the usual choice for regression.
    contenders = same("ensemble.RandomForestRegressor", X, y, peers=BOTH, n_estimators=100, max_features=0.33, random_state=0)
    return Bench(contenders, measures.r2(*test), 0.005, better="higher")


@task("AdaBoost 100 stumps 50,000 x 20", family="trees", target=5.0)
def adaboost(env):
    X, y = data.curved_classes(env.n(50_000), 20)
    test = data.curved_classes(50_000, 20, seed=50)
    contenders = same("ensemble.AdaBoostClassifier", X, y, peers=["sklearn"], n_estimators=100, random_state=0)
    return Bench(contenders, measures.accuracy(*test), 0.003, better="higher")


def boosting(n):
    X, y = data.curved_classes(n, 28)
    test = data.curved_classes(100_000, 28, seed=50)
    rounds = dict(n_estimators=100, learning_rate=0.1)
    lossguide = dict(tree_method="hist", grow_policy="lossguide", max_leaves=31, max_depth=0, max_bin=256)
    contenders = same(
        "ensemble.HistGradientBoostingClassifier",
        X,
        y,
        peers=["sklearn"],
        max_iter=100,
        learning_rate=0.1,
        max_leaf_nodes=31,
        early_stopping=False,
    ) | {
        "lightgbm": lambda: make("lightgbm.LGBMClassifier", **rounds, num_leaves=31, verbose=-1, n_jobs=threads()).fit(X, y),
        "xgboost": lambda: make("xgboost.XGBClassifier", **rounds, **lossguide, n_jobs=threads()).fit(X, y),
    }
    return Bench(contenders, measures.log_loss(*test), 0.01)


@task("boosting 100 rounds 500,000 x 28", family="trees", target=1.0)
def boosting_half(env):
    return boosting(env.n(500_000))


@task("boosting 100 rounds 1,000,000 x 28", family="trees", target=1.0)
def boosting_million(env):
    return boosting(env.n(1_000_000))


def small_forest(env, then, peers=BOTH, **params):
    X, y = data.curved_classes(env.n(20_000), 20)
    return fitted("ensemble.RandomForestClassifier", X, y, peers=peers, then=then, n_estimators=100, random_state=0, **params)


@task("random forest predict 200,000 x 20", family="trees", target=2.0)
def forest_predict(env):
    Xt, yt = data.curved_classes(env.n(200_000), 20, seed=50)
    contenders = small_forest(env, lambda m: m.predict(Xt))
    return Bench(contenders, lambda p: np.mean(np.asarray(p) == yt), 0.005, better="higher")


@task("random forest predict, one row", family="trees", target=2.0)
def forest_latency(env):
    Xt, yt = data.curved_classes(100, 20, seed=50)
    contenders = small_forest(env, lambda m: [m.predict(Xt[i : i + 1])[0] for i in range(100)], n_jobs=1)
    # A hundred rows say little about the model; the task above does that.
    return Bench(contenders, lambda p: np.mean(np.asarray(p) == yt), 0.05, better="higher", per=100, memory=False)


@task("random forest load", family="trees", target=5.0)
def forest_load(env):
    contenders = small_forest(env, None, peers=["sklearn"])
    for label, c in contenders.items():
        contenders[label] = Contender(pickle.loads, lambda fit=c.prepare: pickle.dumps(fit()))
    test = data.curved_classes(5_000, 20, seed=50)
    return Bench(contenders, measures.accuracy(*test), 0.01, better="higher")


@task("isolation forest 100 x 200,000 x 20", family="trees", target=2.0)
def isolation(env):
    X, _ = data.classes(env.n(200_000), 20)
    X[:1000] += np.random.RandomState(0).normal(0, 4, (len(X[:1000]), 20))
    outside = np.arange(len(X)) < 1000

    def area(m):
        return roc_auc_score(outside, -m.score_samples(X))

    contenders = same("ensemble.IsolationForest", X, peers=["sklearn"], contamination=0.01, random_state=0)
    return Bench(contenders, area, 0.01, better="higher")
