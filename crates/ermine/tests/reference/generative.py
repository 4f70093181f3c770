"""Reference values for naive Bayes, discriminant analysis, PCA, k-means and mixtures, from scikit-learn 1.9.1.

    python generative.py > generative.json

Iris, and counts made from it (outputs of every fifth row); everything that has a unique solution, and EM and Lloyd's method from given starts.
"""

import json
import sys

import numpy as np
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.covariance import OAS
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import IsolationForest
from sklearn.metrics import (
    adjusted_rand_score,
    calinski_harabasz_score,
    davies_bouldin_score,
    normalized_mutual_info_score,
    silhouette_score,
    v_measure_score,
)
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB

x, y = load_iris(return_X_y=True)
counts = np.round(x * 2)
codes = np.minimum(np.floor(x), 5)
start = x[[0, 60, 120]]

out = {"x": x.ravel().tolist(), "y": y.tolist(), "start": start.ravel().tolist(), "fits": []}


def add(name, params, model, data, outputs, attributes, starts=None, target=True):
    model.fit(data, y) if target else model.fit(data)
    find = lambda attribute: np.asarray(getattr(model, attribute), dtype=float).ravel().tolist()
    which = "x" if data is x else "counts" if data is counts else "codes"
    values = {output: np.asarray(getattr(model, method)(data[::5]), dtype=float).ravel().tolist() for output, method in outputs.items()}
    out["fits"].append(
        dict(name=name, params=params, data=which, outputs=values, starts=starts or {}, attributes={a: find(a) for a in attributes})
    )


probability = {"Probability": "predict_proba"}
add("GaussianNB", {}, GaussianNB(), x, probability, ["theta_", "var_", "class_prior_"])
count_attributes = ["feature_log_prob_", "class_log_prior_", "feature_count_"]
add("MultinomialNB", {"alpha": 0.5}, MultinomialNB(alpha=0.5), counts, probability, count_attributes)
add("ComplementNB", {}, ComplementNB(), counts, probability, count_attributes)
add("ComplementNB", {"norm": True}, ComplementNB(norm=True), counts, probability, count_attributes)
add("BernoulliNB", {"binarize": 3.0}, BernoulliNB(binarize=3.0), x, probability, count_attributes)
add("CategoricalNB", {}, CategoricalNB(), codes, probability, ["class_log_prior_"])
decision = {"Probability": "predict_proba", "Decision": "decision_function"}
lda = ["coef_", "intercept_", "means_", "xbar_"]
add("LinearDiscriminantAnalysis", {}, LinearDiscriminantAnalysis(), x, decision, lda + ["explained_variance_ratio_"])
for shrinkage, text in [(0.3, 0.3), ("auto", "auto")]:
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage)
    add("LinearDiscriminantAnalysis", {"shrinkage": text}, model, x, probability, lda[2:3] + ["covariance_"])
model = LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=OAS())
add("LinearDiscriminantAnalysis", {"shrinkage": "oas"}, model, x, probability, ["covariance_"])
add("QuadraticDiscriminantAnalysis", {}, QuadraticDiscriminantAnalysis(), x, decision, ["means_"])
for shrinkage in [0.3, "auto"]:
    model = QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=shrinkage)
    add("QuadraticDiscriminantAnalysis", {"shrinkage": shrinkage}, model, x, decision, ["means_"])
add("QuadraticDiscriminantAnalysis", {"reg_param": 0.2}, QuadraticDiscriminantAnalysis(reg_param=0.2), x, decision, [])
pca = ["components_", "explained_variance_", "explained_variance_ratio_", "singular_values_", "noise_variance_", "mean_"]
scores = {"Transform": "transform", "Density": "score_samples"}
for components in [2, 0.97, "mle"]:
    add("PCA", {"n_components": components}, PCA(components), x, scores, pca, target=False)
add("PCA", {"n_components": 3, "whiten": True}, PCA(3, whiten=True), x, {"Transform": "transform"}, pca, target=False)
add("IncrementalPCA", {"n_components": 4}, IncrementalPCA(4, batch_size=40), x, {"Transform": "transform"}, pca[:4] + pca[5:] + ["var_"], target=False)
svd = ["components_", "explained_variance_", "explained_variance_ratio_", "singular_values_"]
add("TruncatedSVD", {"n_components": 2}, TruncatedSVD(2, algorithm="arpack"), x, {"Transform": "transform"}, svd, target=False)
add("KMeans", {"n_clusters": 3}, KMeans(3, init=start, n_init=1), x, {"Cluster": "predict"}, ["cluster_centers_", "inertia_"], starts={"init": [3, 4]}, target=False)
for kind, precisions in [("full", np.tile(np.eye(4), (3, 1, 1))), ("tied", np.eye(4)), ("diag", np.ones((3, 4))), ("spherical", np.ones(3))]:
    model = GaussianMixture(3, covariance_type=kind, tol=1e-6, weights_init=np.full(3, 1 / 3), means_init=start, precisions_init=precisions)
    shape = {"full": [12, 4], "tied": [4, 4], "diag": [3, 4], "spherical": [3, 1]}[kind]
    add(
        "GaussianMixture",
        {"n_components": 3, "covariance_type": kind, "tol": 1e-6},
        model,
        x,
        {"Probability": "predict_proba", "Density": "score_samples"},
        ["weights_", "means_", "covariances_", "precisions_cholesky_"],
        starts={"weights_init": [1, 3], "means_init": [3, 4], "precisions_init": shape},
        target=False,
    )
    out["fits"][-1]["precisions"] = precisions.ravel().tolist()



class FromNearest(BayesianGaussianMixture):
    """Starts from the rows nearest to each of `start`."""

    def _initialize_parameters(self, X, random_state, xp=None):
        nearest = ((X[:, None, :] - start) ** 2).sum(2).argmin(1)
        self._initialize(X, np.eye(3)[nearest])


for concentration in ["dirichlet_process", "dirichlet_distribution"]:
    for kind in ["full", "tied", "diag", "spherical"]:
        params = dict(n_components=3, covariance_type=kind, weight_concentration_prior_type=concentration, tol=0.0, max_iter=30)
        # scikit-learn stops at a change below tol, and 0 is never that.
        attributes = ["weights_", "means_", "covariances_", "precisions_cholesky_", "mean_precision_", "degrees_of_freedom_", "covariance_prior_"]
        outputs = {"Probability": "predict_proba", "Density": "score_samples"}
        add("BayesianGaussianMixture", params, FromNearest(**params), x, outputs, attributes, starts={"means_init": [3, 4]}, target=False)

loadings = ["coef_", "intercept_", "x_weights_", "y_weights_", "x_loadings_", "y_loadings_", "x_rotations_"]
for params in [{}, {"n_components": 3, "scale": False}, {"n_components": 4}]:
    add("PLSRegression", params, PLSRegression(**params), x, {"Value": "predict", "Transform": "transform"}, loadings)

# Random, and so the mean over many trees.
model = IsolationForest(n_estimators=3000, max_samples=64, contamination=0.1, random_state=0).fit(x)
out["isolation"] = dict(scores=model.score_samples(x).tolist(), offset=model.offset_)

out["agglomerative"] = []
for linkage in ["ward", "complete", "average", "single"]:
    model = AgglomerativeClustering(4, linkage=linkage, compute_distances=True).fit(x)
    out["agglomerative"].append(dict(linkage=linkage, labels=model.labels_.tolist(), distances=model.distances_.tolist()))
out["dbscan"] = []
for eps, least in [(0.5, 5), (0.4, 4), (0.8, 10)]:
    model = DBSCAN(eps=eps, min_samples=least).fit(x)
    core = model.core_sample_indices_.tolist()
    out["dbscan"].append(dict(eps=eps, min_samples=least, labels=model.labels_.tolist(), core=core))
found = KMeans(3, init=start, n_init=1).fit(x).labels_
out["metrics"] = dict(
    labels=found.tolist(),
    silhouette=silhouette_score(x, found),
    rand=adjusted_rand_score(y, found),
    information=normalized_mutual_info_score(y, found),
    v=v_measure_score(y, found),
    calinski=calinski_harabasz_score(x, found),
    davies=davies_bouldin_score(x, found),
)

json.dump(out, sys.stdout)
