from types import SimpleNamespace

import data
import measures
import numpy as np
from harness import Bench, find, make, same, task, threads

BOTH = ["sklearn", "sklearnex"]


@task("least squares 1,000,000 x 50", family="linear spine", target=1.0)
def least_squares_tall(env):
    X, y = data.regression(env.n(1_000_000), 50)
    return Bench(same("linear_model.LinearRegression", X, y, peers=BOTH), measures.squares(X, y), 1e-9)


@task("least squares 20,000 x 1,000", family="linear", target=1.0)
def least_squares_wide(env):
    X, y = data.regression(env.n(20_000), 1_000)
    return Bench(same("linear_model.LinearRegression", X, y, peers=BOTH), measures.squares(X, y), 1e-9)


@task("ridge 200,000 x 200", family="linear", target=1.0)
def ridge(env):
    X, y = data.regression(env.n(200_000), 200)
    return Bench(same("linear_model.Ridge", X, y, peers=BOTH, alpha=1.0), measures.squares(X, y, l2=1.0), 1e-9)


def lasso(n, p, informative):
    X, y = data.regression(n, p, informative)
    alpha = 0.05 * np.abs((X - X.mean(0)).T @ (y - y.mean())).max() / n
    # Tolerances differ in meaning; each is set so that the objective below comes out equal.
    contenders = same("linear_model.Lasso", X, y, peers=["sklearn"], alpha=alpha, tol=1e-6, max_iter=10_000) | {
        "celer": lambda: make("celer.Lasso", alpha=alpha, tol=1e-6).fit(X, y),
        "skglm": lambda: make("skglm.Lasso", alpha=alpha, tol=1e-5 * y.std()).fit(X, y),
    }
    return Bench(contenders, measures.lasso(X, y, alpha), 1e-5)


@task("lasso 20,000 x 1,000", family="linear", target=1.0)
def lasso_tall(env):
    return lasso(env.n(20_000), 1_000, informative=100)


@task("lasso 1,000 x 20,000", family="linear", target=1.0)
def lasso_wide(env):
    return lasso(env.n(1_000), 20_000, informative=50)


@task("LassoCV 2,000 x 2,000", family="linear", target=1.0)
def lasso_cv(env):
    X, y = data.regression(env.n(2_000), 2_000, informative=50, noise=0.5)
    test = data.regression(2_000, 2_000, informative=50, noise=0.5, seed=50)
    top = np.abs((X - X.mean(0)).T @ (y - y.mean())).max() / len(y)
    alphas = top * np.logspace(0, -2, 100)

    def celer():
        # celer's own LassoCV does not know this scikit-learn; its path solver is what would run inside.
        from joblib import Parallel, delayed

        path, parts = find("celer.celer_path"), np.array_split(np.arange(len(y)), 5)

        def fold(held):
            train = np.setdiff1d(np.arange(len(y)), held)
            means, mean = X[train].mean(0), y[train].mean()
            w = path(np.asfortranarray(X[train] - means), y[train] - mean, pb="lasso", alphas=alphas, tol=1e-4)[1]
            return np.mean((y[held, None] - mean - (X[held] - means) @ w) ** 2, axis=0)

        errors = Parallel(n_jobs=threads(), prefer="threads")(delayed(fold)(p) for p in parts)
        return make("celer.Lasso", alpha=alphas[np.mean(errors, axis=0).argmin()]).fit(X, y)

    contenders = same("linear_model.LassoCV", X, y, peers=["sklearn"], alphas=alphas, cv=5)
    contenders["celer"] = celer
    return Bench(contenders, measures.r2(*test), 2e-3, better="higher")


@task("Huber 100,000 x 50", family="linear", target=2.0)
def huber(env):
    X, y = data.regression(env.n(100_000), 50)
    y = data.outliers(y)
    contenders = same("linear_model.HuberRegressor", X, y, peers=["sklearn"], epsilon=1.35, alpha=1e-4, max_iter=1000)
    return Bench(contenders, measures.huber(X, y, 1.35, 1e-4), 1e-6)


@task("quantile 10,000 x 20", family="linear", target=2.0)
def quantile(env):
    X, y = data.regression(env.n(10_000), 20)
    y = data.outliers(y)
    contenders = same("linear_model.QuantileRegressor", X, y, peers=["sklearn"], quantile=0.8, alpha=1e-3)
    return Bench(contenders, measures.pinball(X, y, 0.8, 1e-3), 1e-6)


@task("RidgeClassifier 200,000 x 100, 10 classes", family="linear", target=1.0)
def ridge_classifier(env):
    X, y = data.classes(env.n(200_000), 100, k=10)
    contenders = same("linear_model.RidgeClassifier", X, y, peers=["sklearn"], alpha=1.0)
    signs = 2.0 * (y[:, None] == np.unique(y)) - 1.0
    return Bench(contenders, measures.squares_of_all(X, signs, l2=1.0), 1e-9)


@task("isotonic 1,000,000 x 1", family="linear", target=1.0)
def isotonic(env):
    X, y = data.regression(env.n(1_000_000), 1)
    contenders = same("isotonic.IsotonicRegression", X[:, 0].copy(), y, peers=["sklearn"])
    return Bench(contenders, lambda m: float(np.sum((y - m.predict(X[:, 0])) ** 2)), 1e-9)


@task("baseline 1,000,000 x 20, median", family="linear", target=1.0)
def baseline(env):
    X, y = data.regression(env.n(1_000_000), 20)
    contenders = same("dummy.DummyRegressor", X, y, peers=["sklearn"], strategy="median")
    return Bench(contenders, lambda m: float(np.mean(np.abs(y - m.predict(X)))), 1e-12)


@task("baseline 1,000,000 x 20, 10 classes", family="linear", target=1.0)
def baseline_of_classes(env):
    X, y = data.classes(env.n(1_000_000), 20, k=10)
    contenders = same("dummy.DummyClassifier", X, y, peers=["sklearn"])
    codes = np.unique(y, return_inverse=True)[1]
    return Bench(contenders, lambda m: -float(np.mean(np.log(m.predict_proba(X[:1])[0][codes]))), 1e-12)


def logistic(n, p):
    X, y = data.classes(n, p)
    X = data.scaled(X)
    peers = {
        "sklearn": {},
        "sklearn newton-cholesky": {"solver": "newton-cholesky"},
        "sklearnex": {},
        "sklearnex newton-cg": {"solver": "newton-cg"},
    }
    contenders = same("linear_model.LogisticRegression", X, y, peers=peers, C=1.0, max_iter=1000) | {
        "glum": lambda: make("glum.GeneralizedLinearRegressor", family="binomial", alpha=1 / n).fit(X, y)
    }
    return Bench(contenders, measures.logistic(X, y, C=1.0), 1e-5)


@task("logistic 1,000,000 x 50", family="linear spine", target=1.5)
def logistic_million(env):
    return logistic(env.n(1_000_000), 50)


@task("logistic 500,000 x 50", family="linear", target=1.0)
def logistic_half(env):
    return logistic(env.n(500_000), 50)


@task("softmax 60,000 x 200, 10 classes", family="linear", target=1.0)
def softmax(env):
    X, y = data.classes(env.n(60_000), 200, k=10)
    X = data.scaled(X)
    contenders = same("linear_model.LogisticRegression", X, y, peers=BOTH, C=1.0, max_iter=1000)
    return Bench(contenders, measures.softmax(X, y, C=1.0), 1e-4)


@task("logistic, 20,000 sparse documents x 50,000 words", family="linear", target=1.0)
def logistic_text(env):
    X, y = data.documents(env.n(20_000), 50_000)
    X = data.tfidf(X)
    # LIBLINEAR penalises the intercept: without one, everybody solves the same problem.
    peers = {"sklearn": {}, "sklearn liblinear": {"solver": "liblinear"}}
    contenders = same("linear_model.LogisticRegression", X, y, peers=peers, C=10.0, max_iter=1000, fit_intercept=False)
    return Bench(contenders, measures.logistic(X, y, C=10.0), 1e-4)


@task("Poisson 500,000 x 50", family="linear", target=1.0)
def poisson(env):
    X, y = data.counts(env.n(500_000), 50)

    def statsmodels():
        find("statsmodels.api.GLM")
        import statsmodels.api as sm

        w = sm.GLM(y, sm.add_constant(X), family=sm.families.Poisson()).fit().params
        return SimpleNamespace(coef_=w[1:], intercept_=w[0])

    # No penalty: the one form of the problem that all of them have.
    peers = {"sklearn": {}, "sklearn newton-cholesky": {"solver": "newton-cholesky"}}
    contenders = same("linear_model.PoissonRegressor", X, y, peers=peers, alpha=0.0, max_iter=1000, tol=1e-5) | {
        "glum": lambda: make("glum.GeneralizedLinearRegressor", family="poisson", alpha=0).fit(X, y),
        "statsmodels": statsmodels,
    }
    return Bench(contenders, measures.poisson(X, y, alpha=0.0), 1e-6)


def passes(env, name, tolerance, **params):
    X, y = data.classes(env.n(500_000), 50)
    scale = X.std(0)
    test = data.classes(50_000, 50, seed=50)
    contenders = same(f"linear_model.{name}", X / scale, y, peers=["sklearn"], max_iter=5, tol=None, random_state=0, **params)
    return Bench(contenders, measures.accuracy(test[0] / scale, test[1]), tolerance, better="higher")


@task("perceptron 500,000 x 50, 5 passes", family="linear", target=2.0)
def perceptron(env):
    # The last point of an unaveraged perceptron moves by a few per cent from order to order.
    return passes(env, "Perceptron", 0.04)


@task("SGD (log loss) 500,000 x 50, 5 passes", family="linear", target=2.0)
def sgd(env):
    return passes(env, "SGDClassifier", 0.005, loss="log_loss", alpha=1e-4)


@task("PLS 20,000 x 300, 10 components", family="linear", target=1.0)
def partial_least_squares(env):
    X, y = data.regression(env.n(20_000), 300)
    contenders = same("cross_decomposition.PLSRegression", X, y, peers=["sklearn"], n_components=10)
    return Bench(contenders, lambda m: float(np.sum((y - m.predict(X)) ** 2)), 1e-6)
