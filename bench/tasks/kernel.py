import data
import measures
import numpy as np
from harness import Bench, Contender, find, same, task, threads

SVM = {"sklearn": 5.0, "sklearnex": 1.0}


@task("SVC RBF 20,000 x 20", family="kernel", target=SVM)
def svc(env):
    X, y = data.curved_classes(env.n(20_000), 20)
    gamma = 1 / (20 * X.var())
    contenders = same("svm.SVC", X, y, peers=list(SVM), C=1.0, gamma=gamma, cache_size=500)
    return Bench(contenders, measures.svc_dual(X, gamma), 1e-4)


@task("SVC RBF MNIST 10,000 x 784", family="kernel", target=SVM)
def svc_mnist(env):
    X, y = data.mnist(env)
    n = env.n(10_000)
    X, y, (Xt, yt) = X[:n], y[:n], data.mnist(env, "t10k")
    contenders = same("svm.SVC", X, y, peers=list(SVM), C=5.0, gamma=0.02, cache_size=500)
    return Bench(contenders, measures.accuracy(Xt[:2000], yt[:2000]), 0.002, better="higher")


@task("SVC RBF adult one-hot 32,561", family="kernel", target=SVM)
def svc_adult(env):
    X, y = data.adult(env)
    n = env.n(len(y))
    X, y = X[:n], y[:n]
    contenders = same("svm.SVC", X, y, peers=list(SVM), C=1.0, gamma=0.05, cache_size=500)
    return Bench(contenders, measures.svc_dual(X, 0.05), 1e-4)


@task("SVC RBF 100,000 x 20", family="kernel", target=1.0, max_memory=2000, heavy=True)
def svc_large(env):
    X, y = data.curved_classes(env.n(100_000), 20)
    test = data.curved_classes(5_000, 20, seed=50)
    contenders = same("svm.SVC", X, y, peers=["sklearnex"], C=1.0, gamma=1 / (20 * X.var()), cache_size=500)
    return Bench(contenders, measures.accuracy(*test), 0.003, better="higher")


@task("SVR RBF 10,000 x 10", family="kernel", target=SVM)
def svr(env):
    X, y = data.curved(env.n(10_000), 10)
    gamma = 1 / (10 * X.var())
    contenders = same("svm.SVR", X, y, peers=list(SVM), C=1.0, epsilon=0.1, gamma=gamma, cache_size=500)
    return Bench(contenders, measures.svr_dual(X, y, gamma, 0.1), 1e-4)


def linear_svc(X, y):
    # LIBLINEAR penalises the intercept: without one, everybody solves the same problem.
    peers = {"sklearn primal": {"dual": False}, "sklearn dual": {"dual": True, "max_iter": 20_000}, "ermine": {"dual": "auto"}}
    contenders = same("svm.LinearSVC", X, y, peers=peers, C=1.0, fit_intercept=False, random_state=0)
    return Bench(contenders, measures.squared_hinge(X, y, 1.0), 1e-3)


@task("LinearSVC 100,000 x 50", family="kernel", target=1.5)
def linear_svc_dense(env):
    X, y = data.classes(env.n(100_000), 50)
    return linear_svc(data.scaled(X), y)


@task("LinearSVC, 20,000 sparse documents x 50,000 words", family="kernel", target=1.5)
def linear_svc_text(env):
    X, y = data.documents(env.n(20_000), 50_000)
    return linear_svc(data.tfidf(X), y)


@task("KernelRidge 5,000 x 20", family="kernel", target=1.0)
def kernel_ridge(env):
    X, y = data.curved(env.n(5_000), 20)
    test = data.curved(2_000, 20, seed=50)
    contenders = same("kernel_ridge.KernelRidge", X, y, peers=["sklearn"], alpha=0.1, kernel="rbf", gamma=0.02)
    return Bench(contenders, measures.r2(*test), 1e-6, better="higher")


def neighbours(X, Q, extra, **methods):
    """Judged by the true distances to the rows that were returned."""

    def search(model):
        return model.fit(X).kneighbors(Q)

    def distance(result):
        rows = np.asarray(result[1])
        return np.mean([np.sqrt(np.sum((X[rows[:, j]] - Q) ** 2, axis=1)).mean() for j in range(rows.shape[1])])

    peers = {p: {"algorithm": a} for p, a in methods.items()}
    contenders = same("neighbors.NearestNeighbors", peers=peers, method=search, n_neighbors=10)
    return Bench(contenders | extra, distance, 1e-6)


@task("kNN 30,000 x 200, 5,000 queries", family="kernel", target=1.0)
def knn_brute(env):
    X, _ = data.blobs(env.n(30_000), 200, 20)
    Q, _ = data.blobs(env.n(5_000), 200, 20, seed=50)

    def faiss(arrays):
        index = find("faiss.IndexFlatL2")(200)
        index.add(arrays[0])
        return index.search(arrays[1], 10)

    # faiss knows single precision only; the conversion is not held against it.
    single = Contender(faiss, lambda: (X.astype(np.float32), Q.astype(np.float32)))
    return neighbours(X, Q, {"faiss (float32)": single}, sklearn="brute", sklearnex="brute")


@task("kNN 500,000 x 3, 100,000 queries", family="kernel", target=1.5)
def knn_tree(env):
    X = data.features(env.n(500_000), 3)
    Q = data.features(env.n(100_000), 3, seed=50)
    scipy = lambda: find("scipy.spatial.cKDTree")(X).query(Q, 10, workers=threads())
    return neighbours(X, Q, {"scipy": scipy}, sklearn="kd_tree", sklearnex="kd_tree")


@task("local outlier factor 50,000 x 5", family="kernel", target=1.0)
def local_outliers(env):
    X, _ = data.curved_classes(env.n(50_000), 5)
    contenders = same("neighbors.LocalOutlierFactor", X, peers=["sklearn"], n_neighbors=20)
    return Bench(contenders, lambda m: float(m.negative_outlier_factor_.sum()), 1e-6, better="same")
