"""Reference values for the linear models: scikit-learn, statsmodels, and exact rational arithmetic.

Run with scikit-learn 1.9, statsmodels and numpy installed; writes linear.json beside itself.
"""

import json
import pathlib
import warnings
from fractions import Fraction

import numpy as np
import statsmodels.api as sm
from sklearn import linear_model as lm

warnings.filterwarnings("ignore")
rng = np.random.default_rng(20)
n, p = 120, 5
X = rng.normal(size=(n, p)) @ np.diag([1.0, 2.0, 0.5, 1.0, 3.0]) + np.array([0, 5, -1, 0, 2])
X[:, 3] += 0.8 * X[:, 0]
X = X.round(3)
s = 0.5 * X[:, 0] - 0.3 * X[:, 1] + 0.4 * X[:, 3] + 1.0
y = (s + rng.normal(size=n)).round(3)
counts = rng.poisson(np.exp(0.5 * s)).astype(float)
amounts = (np.exp(0.5 * s) * rng.gamma(2.0, 0.5, size=n)).round(4) + 1e-3
binary = (s + rng.logistic(size=n) > 0).astype(int)
three = np.clip(np.round(s + rng.normal(size=n)), 0, 2).astype(int)
weights = rng.integers(1, 4, size=n).astype(float)
exposure = rng.uniform(0.5, 2.0, size=n).round(3)
out = {
    "x": X.ravel().tolist(), "cols": p, "y": y.tolist(), "counts": counts.tolist(), "amounts": amounts.tolist(),
    "binary": binary.tolist(), "three": three.tolist(), "weights": weights.tolist(), "exposure": exposure.tolist(),
    "models": {},
}


def record(name, model, target, weighted=False, **more):
    model.fit(X, target, **({"sample_weight": weights} if weighted else {}))
    coef = np.atleast_2d(model.coef_)
    out["models"][name] = {
        "coef": coef.ravel().tolist(),
        "intercept": np.atleast_1d(model.intercept_).tolist(),
        **{key: np.asarray(get(model)).ravel().tolist() for key, get in more.items()},
    }


record("least_squares_positive", lm.LinearRegression(positive=True), y)
record("ridge_positive", lm.Ridge(alpha=2.0, positive=True, tol=1e-12), y, True)
record("lasso", lm.Lasso(alpha=0.1, tol=1e-12, max_iter=100000), y)
record("lasso_weighted", lm.Lasso(alpha=0.1, tol=1e-12, max_iter=100000), y, True)
record("lasso_positive", lm.Lasso(alpha=0.05, positive=True, tol=1e-12, max_iter=100000), y)
record("elastic_net", lm.ElasticNet(alpha=0.2, l1_ratio=0.3, tol=1e-12, max_iter=100000), y)
record("elastic_net_origin", lm.ElasticNet(alpha=0.2, l1_ratio=0.3, fit_intercept=False, tol=1e-12, max_iter=100000), y)
record("lasso_cv", lm.LassoCV(cv=5, tol=1e-10, max_iter=100000), y, alpha=lambda m: m.alpha_,
       mse=lambda m: m.mse_path_.mean(axis=1))
record("ridge_cv", lm.RidgeCV(alphas=[0.01, 0.1, 1.0, 10.0, 100.0]), y, alpha=lambda m: m.alpha_,
       score=lambda m: m.best_score_)
record("ridge_classifier", lm.RidgeClassifier(alpha=2.0), three, True)
record("ridge_classifier_balanced", lm.RidgeClassifier(alpha=2.0, class_weight="balanced"), binary)
record("ridge_classifier_cv", lm.RidgeClassifierCV(alphas=[0.01, 1.0, 100.0, 1e4]), three, alpha=lambda m: m.alpha_,
       score=lambda m: m.best_score_)
record("quantile_half", lm.QuantileRegressor(alpha=0.0), y)
record("quantile_high", lm.QuantileRegressor(quantile=0.9, alpha=0.02), y, True)
record("quantile_origin", lm.QuantileRegressor(quantile=0.3, alpha=0.05, fit_intercept=False), y)
record("bayesian_ridge", lm.BayesianRidge(tol=1e-10, compute_score=True), y, alpha=lambda m: m.alpha_,
       lambda_=lambda m: m.lambda_, sigma=lambda m: m.sigma_, score=lambda m: m.scores_[-1])
record("huber", lm.HuberRegressor(tol=1e-10, max_iter=10000), y, scale=lambda m: m.scale_)
record("logistic", lm.LogisticRegression(C=0.7, tol=1e-12, max_iter=10000, solver="newton-cholesky"), binary)
record("logistic_weighted", lm.LogisticRegression(C=0.7, tol=1e-12, max_iter=10000, solver="newton-cholesky"), binary, True)
record("logistic_l1", lm.LogisticRegression(C=0.1, l1_ratio=1.0, tol=1e-12, max_iter=200000, solver="saga"), binary)
record("logistic_mixed", lm.LogisticRegression(C=0.1, l1_ratio=0.4, tol=1e-12, max_iter=200000, solver="saga"), binary)
record("softmax", lm.LogisticRegression(C=0.7, tol=1e-12, max_iter=10000, solver="newton-cg"), three)
record("softmax_l1", lm.LogisticRegression(C=0.1, l1_ratio=1.0, tol=1e-12, max_iter=200000, solver="saga"), three)
record("poisson", lm.PoissonRegressor(alpha=0.3, tol=1e-12, max_iter=10000, solver="newton-cholesky"), counts)
record("poisson_weighted", lm.PoissonRegressor(alpha=0.3, tol=1e-12, max_iter=10000, solver="newton-cholesky"), counts, True)
record("gamma", lm.GammaRegressor(alpha=0.3, tol=1e-12, max_iter=10000, solver="newton-cholesky"), amounts)
record("tweedie", lm.TweedieRegressor(power=1.5, alpha=0.3, tol=1e-12, max_iter=10000, solver="newton-cholesky"), amounts)
record("tweedie3", lm.TweedieRegressor(power=3, alpha=0.3, tol=1e-12, max_iter=10000), amounts)


def glm(name, fit):
    terms = {"estimate": fit.params, "std_error": fit.bse, "p_value": fit.pvalues, "low": fit.conf_int()[:, 0]}
    more = {"deviance": [fit.deviance], "null_deviance": [fit.null_deviance], "pearson": [fit.pearson_chi2],
            "log_likelihood": [fit.llf]}
    out["models"][name] = {key: np.asarray(value).tolist() for key, value in {**terms, **more}.items()}


A = sm.add_constant(X)
families = sm.families
glm("sm_poisson", sm.GLM(counts, A, family=families.Poisson(), exposure=exposure).fit(tol=1e-14))
glm("sm_logit", sm.GLM(binary, A, family=families.Binomial()).fit(tol=1e-14))
glm("sm_probit", sm.GLM(binary, A, family=families.Binomial(link=families.links.Probit())).fit(tol=1e-14))
glm("sm_gamma", sm.GLM(amounts, A, family=families.Gamma(link=families.links.Log())).fit(tol=1e-14))
glm("sm_inverse", sm.GLM(amounts, A, family=families.InverseGaussian(link=families.links.Log())).fit(tol=1e-14))
glm("sm_negative", sm.GLM(counts, A, family=families.NegativeBinomial(alpha=0.5)).fit(tol=1e-14))
ols = sm.OLS(y, A).fit()
predicted = ols.get_prediction(A[:1]).summary_frame(alpha=0.05)
out["models"]["ols"] = {
    "estimate": ols.params.tolist(), "std_error": ols.bse.tolist(), "statistic": ols.tvalues.tolist(),
    "p_value": ols.pvalues.tolist(), "low": ols.conf_int()[:, 0].tolist(), "high": ols.conf_int()[:, 1].tolist(),
    "r2": [ols.rsquared], "adjusted_r2": [ols.rsquared_adj], "f": [ols.fvalue], "f_p_value": [ols.f_pvalue],
    "log_likelihood": [ols.llf], "variance": [ols.mse_resid],
    "mean": [predicted["mean_ci_lower"][0], predicted["mean_ci_upper"][0]],
    "next": [predicted["obs_ci_lower"][0], predicted["obs_ci_upper"][0]],
}


def exact(rows, target):
    """Least squares with an intercept in rational arithmetic: right for the doubles as given."""
    a = [[Fraction(1)] + [Fraction(float(v)) for v in row] for row in rows]
    b = [Fraction(float(v)) for v in target]
    k = len(a[0])
    m = [[sum(r[i] * r[j] for r in a) for j in range(k)] + [sum(r[i] * t for r, t in zip(a, b))] for i in range(k)]
    for i in range(k):
        pivot = max(range(i, k), key=lambda r: abs(m[r][i]))
        m[i], m[pivot] = m[pivot], m[i]
        for r in range(k):
            if r != i and m[r][i] != 0:
                f = m[r][i] / m[i][i]
                m[r] = [x - f * z for x, z in zip(m[r], m[i])]
    return [float(m[i][k] / m[i][i]) for i in range(k)]


# A polynomial of degree 10 on a short interval far from zero, and nearly collinear series.
t = -9.0 + 6.0 * np.arange(82) / 81
far = np.stack([t**k for k in range(1, 11)], axis=1)
far_y = (0.9 + 0.01 * np.sin(3 * t) + 0.002 * t).round(6)
years = np.arange(1947, 1963, dtype=float)
level = np.array([83.0, 88.5, 88.2, 89.5, 96.2, 98.1, 99.0, 100.0, 101.2, 104.6, 108.4, 110.8, 112.6, 114.2, 115.7, 116.9])
output = (2580 * level + 20000 + 300 * np.cos(years)).round(0)
people = (107000 + 1500 * (years - 1947) + 3 * level + 20 * np.sin(2 * years)).round(0)
series = np.stack([level, output, years, people], axis=1)
series_y = (60000 + 700 * (years - 1947) + 40 * np.sin(years)).round(0)
for name, a, b in [("far_polynomial", far, far_y), ("collinear_series", series, series_y)]:
    out["models"][name] = {"x": a.ravel().tolist(), "y": b.tolist(), "solution": exact(a, b), "cols": [a.shape[1]]}

path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps(out))
