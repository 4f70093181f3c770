"""Reference values of kernel machines from scikit-learn (LIBSVM, LIBLINEAR): writes kernels.json beside this file.

Data are made from a formula that the Rust test repeats, so that the numbers alone travel.
"""
import json
import pathlib

import numpy as np
import sklearn
from sklearn.kernel_ridge import KernelRidge
from sklearn.decomposition import KernelPCA
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM


def data(n=240, d=4):
    """Halton-like points; three overlapping classes; a smooth target."""
    i = np.arange(1, n + 1)[:, None]
    x = np.modf(i * np.sqrt(np.array([2.0, 3.0, 5.0, 7.0])[:d]))[0] * 4 - 2
    score = np.sin(1.5 * x[:, 0]) + x[:, 1] * x[:, 2] * 0.5 + 0.8 * np.modf(i[:, 0] * np.sqrt(11.0))[0] - 0.4
    classes = (score > -0.5).astype(int) + (score > 0.5)
    return x, classes, score


x, classes, score = data()
two = (classes > 0).astype(int)
out = {"scikit-learn": sklearn.__version__, "cases": []}


def objective(model, gram, y):
    """Dual objective 1/2 a'Qa - sum a of a two-class machine."""
    coef = np.zeros(len(y))
    coef[model.support_] = model.dual_coef_[0]
    return 0.5 * coef @ gram @ coef - np.abs(coef).sum()


def add(kind, model, y, values, **extra):
    keep = {k: v for k, v in model.get_params().items() if k in SHOWN}
    out["cases"].append({"model": kind, "params": keep, "values": np.asarray(values).ravel()[::7].tolist(), **extra})


SHOWN = {"C", "gamma", "kernel", "degree", "coef0", "nu", "epsilon", "tol", "alpha", "penalty", "loss", "n_components"}
TIGHT = 1e-8
for params in [
    dict(C=1.0), dict(C=100.0), dict(C=0.1, gamma=2.0), dict(C=10.0, kernel="linear"),
    dict(C=1.0, kernel="poly", degree=2, coef0=1.0), dict(C=1.0, kernel="sigmoid", gamma=0.05),
]:
    model = SVC(tol=TIGHT, **params).fit(x, two)
    from sklearn.metrics.pairwise import pairwise_kernels
    known = {"rbf": ["gamma"], "linear": [], "poly": ["gamma", "degree", "coef0"], "sigmoid": ["gamma", "coef0"]}
    args = {name: getattr(model, name) for name in known[model.kernel]}
    if "gamma" in args:
        args["gamma"] = model._gamma
    gram = pairwise_kernels(x, metric=model.kernel, **args)
    add("SVC", model, two, model.decision_function(x), support=len(model.support_), objective=objective(model, gram, two))
    model = SVC(tol=TIGHT, **params).fit(x, classes)
    add("SVC3", model, classes, model.decision_function(x), support=len(model.support_))
for nu in [0.2, 0.4]:
    model = NuSVC(nu=nu, tol=TIGHT).fit(x, two)
    add("NuSVC", model, two, model.decision_function(x), support=len(model.support_))
for params in [dict(C=1.0), dict(C=50.0, epsilon=0.01), dict(kernel="linear", C=3.0)]:
    model = SVR(tol=TIGHT, **params).fit(x, score)
    add("SVR", model, score, model.predict(x), support=len(model.support_))
for params in [dict(C=1.0), dict(C=20.0, nu=0.2)]:
    model = NuSVR(tol=TIGHT, **params).fit(x, score)
    add("NuSVR", model, score, model.predict(x), support=len(model.support_))
for nu in [0.1, 0.5]:
    model = OneClassSVM(nu=nu, tol=TIGHT).fit(x)
    add("OneClassSVM", model, None, model.decision_function(x), support=len(model.support_))
for params in [dict(C=1.0), dict(C=0.05), dict(C=1.0, loss="hinge"), dict(C=0.5, penalty="l1")]:
    for name, y in [("LinearSVC", two), ("LinearSVC3", classes)]:
        dual = params.get("penalty") != "l1"
        model = LinearSVC(dual=dual, tol=1e-10, max_iter=2_000_000, random_state=0, **params).fit(x, y)
        add(name, model, y, model.decision_function(x), coef=model.coef_.ravel().tolist(),
            intercept=model.intercept_.ravel().tolist())
for params in [dict(C=1.0), dict(C=2.0, loss="squared_epsilon_insensitive", epsilon=0.1), dict(C=1.0, epsilon=0.2)]:
    model = LinearSVR(dual=True, tol=1e-10, max_iter=2_000_000, random_state=0, **params).fit(x, score)
    add("LinearSVR", model, score, model.predict(x), coef=model.coef_.ravel().tolist(), intercept=model.intercept_.ravel().tolist())
for params in [dict(alpha=0.5, kernel="rbf", gamma=0.3), dict(alpha=1.0), dict(alpha=0.1, kernel="poly", degree=2, gamma=0.5, coef0=1.0)]:
    model = KernelRidge(**params).fit(x, score)
    add("KernelRidge", model, score, model.predict(x))
for params in [dict(kernel="rbf", gamma=0.3, n_components=3), dict(kernel="poly", degree=2, gamma=0.5, coef0=1.0, n_components=3)]:
    model = KernelPCA(eigen_solver="dense", **params).fit(x)
    add("KernelPCA", model, None, np.abs(model.transform(x)), eigenvalues=model.eigenvalues_.tolist())

pathlib.Path(__file__).with_suffix(".json").write_text(json.dumps(out, indent=1) + "\n")
