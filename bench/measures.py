"""Objectives of the original problems, computed here from coefficients or predictions, the same way for everyone:
what a solver says about itself is not used."""

import numpy as np


def coefficients(m):
    return np.asarray(m.coef_, dtype=float), np.asarray(getattr(m, "intercept_", 0.0), dtype=float)


def linear_scores(m, X):
    w, b = coefficients(m)
    return np.asarray(X @ np.atleast_2d(w).T + b)


def squares(X, y, l2=0.0):
    """||y - Xw - b||^2 + l2 ||w||^2"""
    return lambda m: np.sum((y - linear_scores(m, X)[:, 0]) ** 2) + l2 * np.sum(coefficients(m)[0] ** 2)


def squares_of_all(X, Y, l2=0.0):
    """||Y - XW - b||^2 + l2 ||W||^2 for several targets"""
    return lambda m: np.sum((Y - linear_scores(m, X)) ** 2) + l2 * np.sum(coefficients(m)[0] ** 2)


def pinball(X, y, quantile, alpha):
    """mean of max(q r, (q - 1) r) + alpha ||w||_1, r = y - Xw - b"""

    def value(m):
        r = y - linear_scores(m, X)[:, 0]
        return np.mean(np.maximum(quantile * r, (quantile - 1) * r)) + alpha * np.abs(coefficients(m)[0]).sum()

    return value


def lasso(X, y, alpha):
    """||y - Xw - b||^2 / 2n + alpha ||w||_1"""
    return lambda m: squares(X, y)(m) / (2 * len(y)) + alpha * np.abs(coefficients(m)[0]).sum()


def huber(X, y, epsilon, alpha):
    """sum(sigma + H_epsilon((y - Xw - b) / sigma) sigma) + alpha ||w||^2, jointly in sigma"""

    def value(m):
        s = float(m.scale_)
        r = np.abs(y - linear_scores(m, X)[:, 0]) / s
        h = np.where(r < epsilon, r**2, 2 * epsilon * r - epsilon**2)
        return np.sum(s + h * s) + alpha * np.sum(coefficients(m)[0] ** 2)

    return value


def logistic(X, y, C):
    """sum log(1 + exp(-+f)) + ||w||^2 / 2C, y in {0, 1}"""

    def value(m):
        f = linear_scores(m, X)[:, 0]
        return np.logaddexp(0, np.where(y == 1, -f, f)).sum() + np.sum(coefficients(m)[0] ** 2) / (2 * C)

    return value


def softmax(X, y, C):
    def value(m):
        f = linear_scores(m, X)
        return (_logsumexp(f) - f[np.arange(len(y)), y]).sum() + np.sum(coefficients(m)[0] ** 2) / (2 * C)

    return value


def poisson(X, y, alpha):
    """mean(exp(f) - y f) + alpha/2 ||w||^2"""

    def value(m):
        f = linear_scores(m, X)[:, 0]
        return np.mean(np.exp(f) - y * f) + alpha / 2 * np.sum(coefficients(m)[0] ** 2)

    return value


def squared_hinge(X, y, C):
    """||w||^2 / 2 + C sum max(0, 1 -+ f)^2, no intercept"""

    def value(m):
        margin = np.where(y == 1, 1, -1) * (X @ np.ravel(m.coef_))
        return np.sum(np.ravel(m.coef_) ** 2) / 2 + C * np.sum(np.maximum(0, 1 - margin) ** 2)

    return value


def kernel_norm(X, support, beta, gamma, rows=1024):
    """beta' K beta over the support vectors, RBF kernel, a block of rows at a time."""
    S = np.asarray(X[support])
    squared = np.sum(S * S, axis=1)
    total = 0.0
    for a in range(0, len(S), rows):
        b = slice(a, a + rows)
        K = np.exp(-gamma * np.maximum(0, squared[b, None] - 2 * S[b] @ S.T + squared))
        total += beta[b] @ (K @ beta)
    return total


def svc_dual(X, gamma):
    """beta' K beta / 2 - sum |beta|, beta = alpha y: the dual as a minimum"""

    def value(m):
        beta = np.ravel(_dense(m.dual_coef_))
        return kernel_norm(X, m.support_, beta, gamma) / 2 - np.abs(beta).sum()

    return value


def svr_dual(X, y, gamma, epsilon):
    def value(m):
        beta = np.ravel(_dense(m.dual_coef_))
        return kernel_norm(X, m.support_, beta, gamma) / 2 + epsilon * np.abs(beta).sum() - y[m.support_] @ beta

    return value


def inertia(X, centres, rows=20_000):
    total, squared = 0.0, np.sum(centres**2, axis=1)
    for a in range(0, len(X), rows):
        B = X[a : a + rows]
        total += np.sum(B * B) + (squared - 2 * B @ centres.T).min(axis=1).sum()
    return total


def mixture_likelihood(X):
    """mean log density of the rows under a fitted mixture with full covariances"""

    def value(m):
        logs = []
        for w, mean, cov in zip(m.weights_, m.means_, m.covariances_):
            L = np.linalg.cholesky(cov)
            Z = np.linalg.solve(L, (X - mean).T)
            logs.append(np.log(w) - 0.5 * np.sum(Z * Z, axis=0) - np.log(np.diag(L)).sum())
        return (_logsumexp(np.stack(logs, axis=1)) - 0.5 * X.shape[1] * np.log(2 * np.pi)).mean()

    return value


def reconstruction(X):
    """||X - mean - (X - mean) V' V||^2 per row"""

    def value(m):
        Z, V = X - X.mean(0), np.asarray(m.components_)
        return (np.sum(Z * Z) - np.sum((Z @ V.T) ** 2)) / len(X)

    return value


def log_loss(X, y):
    """Held-out log loss of predicted probabilities."""

    def value(m):
        p = np.asarray(m.predict_proba(X))[np.arange(len(y)), y]
        return -np.log(np.clip(p, 1e-15, 1)).mean()

    return value


def accuracy(X, y):
    return lambda m: np.mean(np.asarray(m.predict(X)) == y)


def r2(X, y):
    return lambda m: 1 - np.sum((y - np.asarray(m.predict(X))) ** 2) / np.sum((y - y.mean()) ** 2)


def _logsumexp(f):
    top = f.max(axis=1)
    return top + np.log(np.exp(f - top[:, None]).sum(axis=1))


def _dense(a):
    return a.toarray() if hasattr(a, "toarray") else np.asarray(a)
