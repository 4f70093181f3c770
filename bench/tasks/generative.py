from types import SimpleNamespace

import data
import measures
import numpy as np
from harness import Bench, Contender, find, same, task


@task("GaussianNB 1,000,000 x 50", family="generative", target=3.0)
def gaussian_nb(env):
    X, y = data.blobs(env.n(1_000_000), 50, 5, spread=3)
    test = data.blobs(20_000, 50, 5, spread=3, seed=50)
    return Bench(same("naive_bayes.GaussianNB", X, y, peers=["sklearn"]), measures.log_loss(*test), 1e-6)


@task("MultinomialNB, 100,000 sparse documents x 50,000 words", family="generative", target=1.0)
def multinomial_nb(env):
    X, y = data.documents(env.n(100_000), 50_000, classes=5)
    test = data.documents(2_000, 50_000, classes=5, seed=50)
    return Bench(same("naive_bayes.MultinomialNB", X, y, peers=["sklearn"]), measures.log_loss(*test), 1e-6)


def discriminant(env, name, peers):
    X, y = data.blobs(env.n(300_000), 50, 5, spread=3)
    test = data.blobs(20_000, 50, 5, spread=3, seed=50)
    return Bench(same(f"discriminant_analysis.{name}", X, y, peers=peers), measures.log_loss(*test), 1e-4)


@task("linear discriminant 300,000 x 50", family="generative", target=5.0)
def lda(env):
    peers = {"sklearn": {}, "sklearn lsqr": {"solver": "lsqr"}}
    return discriminant(env, "LinearDiscriminantAnalysis", peers)


@task("quadratic discriminant 300,000 x 50", family="generative", target=5.0)
def qda(env):
    return discriminant(env, "QuadraticDiscriminantAnalysis", ["sklearn"])


@task("PCA 100,000 x 300 to 20", family="generative", target=1.0)
def pca(env):
    X = data.features(env.n(100_000), 300, factors=30)
    contenders = same("decomposition.PCA", X, peers=["sklearn", "sklearnex"], n_components=20, random_state=0)
    return Bench(contenders, measures.reconstruction(X), 1e-6)


@task("k-means 300,000 x 20, k = 100, 30 passes", family="generative spine", target=1.2)
def kmeans_fixed(env):
    X, _ = data.blobs(env.n(300_000), 20, 60)
    start = X[:100].copy()

    def faiss(single):
        points = dict(min_points_per_centroid=1, max_points_per_centroid=len(X))  # no subsample
        model = find("faiss.Kmeans")(20, 100, niter=30, **points)
        model.train(single, init_centroids=start.astype(np.float32))
        return SimpleNamespace(cluster_centers_=model.centroids.astype(float))

    peers = {"sklearn": {}, "sklearn elkan": {"algorithm": "elkan"}, "sklearnex": {}}
    contenders = same("cluster.KMeans", X, peers=peers, n_clusters=100, init=start, n_init=1, max_iter=30, tol=0)
    contenders["faiss (float32)"] = Contender(faiss, lambda: X.astype(np.float32))
    return Bench(contenders, lambda m: measures.inertia(X, m.cluster_centers_), 1e-4)


@task("k-means++ 200,000 x 10, k = 50, 5 starts", family="generative", target=1.2)
def kmeans_restarts(env):
    X, _ = data.blobs(env.n(200_000), 10, 40)
    contenders = same("cluster.KMeans", X, peers=["sklearn", "sklearnex"], n_clusters=50, n_init=5, random_state=0)
    return Bench(contenders, lambda m: measures.inertia(X, m.cluster_centers_), 0.01)


@task("Gaussian mixture 200,000 x 20, k = 10 full, 20 passes", family="generative", target=5.0)
def mixture(env):
    X, _ = data.blobs(env.n(200_000), 20, 10, spread=2)
    # A start given in full: everybody makes the same 20 steps.
    start = dict(
        weights_init=np.full(10, 0.1),
        means_init=X[:10].copy(),
        precisions_init=np.tile(np.eye(20) / X.var(), (10, 1, 1)),
    )
    contenders = same("mixture.GaussianMixture", X, peers=["sklearn"], n_components=10, max_iter=20, tol=0.0, **start)
    rows = X[:50_000]
    return Bench(contenders, lambda m: -measures.mixture_likelihood(rows)(m), 1e-6)
