"""`ermine.theory` beside finite differences, scipy and linear algebra by hand."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import pairwise

import ermine
from ermine.theory import Categorical, Family, Kernel, bias_variance, leverage, solutions

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))


@pytest.mark.parametrize(
    "text, peer",
    [
        ("rbf(gamma=0.7)", lambda X: pairwise.rbf_kernel(X, gamma=0.7)),
        ("rbf", lambda X: pairwise.rbf_kernel(X)),
        ("poly(degree=2, coef0=1)", lambda X: pairwise.polynomial_kernel(X, degree=2, coef0=1)),
        ("2*linear + laplacian^2", lambda X: 2 * X @ X.T + pairwise.laplacian_kernel(X) ** 2),
        ("cosine * linear[0,2]", lambda X: pairwise.cosine_similarity(X) * (X[:, [0, 2]] @ X[:, [0, 2]].T)),
    ],
)
def test_gram_matrices_and_their_proof(text, peer):
    kernel = Kernel(text)
    np.testing.assert_allclose(kernel.gram(X), peer(X), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(kernel(X, X[:5]), peer(X)[:, :5], rtol=1e-12, atol=1e-13)
    found = kernel.validity(X)
    assert found.valid and found.proved
    assert found.smallest == pytest.approx(np.linalg.eigvalsh(peer(X))[0], abs=1e-9)


def test_what_is_no_kernel_has_a_negative_eigenvalue():
    found = Kernel("sigmoid(gamma=1, coef0=-1)").validity(X)
    assert not found.valid and not found.proved and found.smallest < -0.1
    # The Gram matrix of (x.z - 1)^3 at 0 and 1 is [[-1, -1], [-1, 0]]: eigenvalues (-1 +- sqrt 5) / 2.
    found = Kernel("poly(degree=3, gamma=1, coef0=-1)").validity([[0.0], [1.0]])
    assert found.smallest == pytest.approx((-1 - 5**0.5) / 2) and found.largest == pytest.approx((5**0.5 - 1) / 2)
    with pytest.raises(ValueError, match="rbff"):
        Kernel("rbff")
    with pytest.raises(ValueError, match="columns"):
        Kernel("linear").gram(X, X[:, :2])


FAMILIES = [
    (Family("normal"), [-1.0, 0.0, 2.5]),
    (Family("bernoulli"), [-2.0, 0.1, 3.0]),
    (Family("poisson"), [-1.0, 0.0, 2.0]),
    (Family("gamma"), [-3.0, -0.4]),
    (Family("inverse_gaussian"), [-3.0, -0.4]),
    (Family("tweedie", 1.5), [-3.0, -0.4]),
    (Family("negative_binomial", 0.5), [-3.0, -0.4]),
]


@pytest.mark.parametrize("family, etas", FAMILIES, ids=lambda value: getattr(value, "name", ""))
def test_mean_and_variance_are_derivatives_of_a(family, etas):
    eta, step = np.array(etas), 1e-5
    first = (family.a(eta + step) - family.a(eta - step)) / (2 * step)
    np.testing.assert_allclose(family.mean(eta), first, rtol=1e-8, atol=1e-9)
    second = (family.mean(eta + step) - family.mean(eta - step)) / (2 * step)
    np.testing.assert_allclose(family.variance(eta), second, rtol=1e-8)
    np.testing.assert_allclose(family.eta(family.mean(eta)), eta, rtol=1e-12, atol=1e-15)


def test_densities_are_those_of_scipy():
    for family, y, eta, dispersion, peer in [
        (Family("normal"), 1.3, 0.4, 2.0, stats.norm(0.4, 2**0.5).pdf(1.3)),
        (Family("bernoulli"), 1.0, 0.4, 1.0, 1 / (1 + np.exp(-0.4))),
        (Family("poisson"), 4.0, 0.7, 1.0, stats.poisson(np.exp(0.7)).pmf(4)),
        (Family("gamma"), 1.5, -0.5, 0.25, stats.gamma(4, scale=2 / 4).pdf(1.5)),
        (Family("negative_binomial", 0.5), 3.0, -0.4, 1.0, stats.nbinom(2, 1 - np.exp(-0.4)).pmf(3)),
    ]:
        by_parts = family.b(y, dispersion) * np.exp((family.T(y) * eta - family.a(eta)) / dispersion)
        assert by_parts == pytest.approx(peer, rel=1e-10), family
        assert np.exp(family.log_likelihood(y, eta, dispersion)) == pytest.approx(peer, rel=1e-10), family
    assert np.isnan(Family("poisson").log_likelihood(-1.0, 0.0))
    with pytest.raises(ValueError, match="known are normal"):
        Family("cauchy")
    with pytest.raises(ValueError, match="power"):
        Family("tweedie")


def test_the_categorical_family():
    family, eta, step = Categorical(), np.array([0.3, -1.0, 2.0]), 1e-6
    along = np.eye(3) * step
    gradient = [(family.a(eta + e) - family.a(eta - e)) / (2 * step) for e in along]
    np.testing.assert_allclose(family.mean(eta), gradient, rtol=1e-8)
    hessian = [(family.mean(eta + e) - family.mean(eta - e)) / (2 * step) for e in along]
    np.testing.assert_allclose(family.covariance(eta), hessian, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(family.mean(family.eta([0.2, 0.3, 0.5])), [0.2, 0.3, 0.5], rtol=1e-14)
    assert family.b(1) * np.exp(family.T(1, 3) @ eta - family.a(eta)) == pytest.approx(family.mean(eta)[1])


@pytest.mark.parametrize("intercept", [True, False])
def test_all_solutions_of_least_squares(intercept):
    wide = np.column_stack([X, X[:, 0] - 2 * X[:, 1], X[:, 2] * 3])
    y = RNG.normal(size=40)
    found = solutions(wide, y, fit_intercept=intercept)
    assert found.basis.shape == (5, 2)
    np.testing.assert_allclose(found.basis.T @ found.basis, np.eye(2), atol=1e-12)
    best = wide @ found.coef + found.intercept
    for u in [[1.0, 0.0], [-3.0, 7.0]]:
        coef, constant = found.at(u)
        np.testing.assert_allclose(wide @ coef + constant, best, atol=1e-11)
        assert np.linalg.norm(coef) > np.linalg.norm(found.coef), "the particular solution has the least norm"
    assert solutions(X, y).basis.shape == (3, 0)
    with pytest.raises(ValueError, match="1 coordinates for 2"):
        found.at([1.0])


@pytest.mark.parametrize("intercept", [True, False])
def test_leverages_are_what_a_target_does_to_its_own_fit(intercept):
    y, weights = RNG.normal(size=40), RNG.uniform(0.5, 2, size=40)
    model = ermine.LinearRegression(fit_intercept=intercept)
    h = leverage(X, weights, fit_intercept=intercept)
    before = model.fit(X, y, weights).predict(X)
    for row in (0, 7, 39):
        moved = y.copy()
        moved[row] += 1.0
        assert model.fit(X, moved, weights).predict(X)[row] - before[row] == pytest.approx(h[row], abs=1e-10)
    assert h.sum() == pytest.approx(3 + intercept)
    redundant = np.column_stack([X, X @ [1e6, 2.0, 3.0]])
    assert leverage(redundant, weights, fit_intercept=intercept) == pytest.approx(h, abs=1e-8)
    # The error of a row that is left out, without a refit.
    h, model = leverage(X, fit_intercept=intercept), model.fit(X, y)
    left_out = model.__class__(fit_intercept=intercept).fit(X[1:], y[1:]).predict(X[:1])[0]
    assert y[0] - left_out == pytest.approx((y[0] - model.predict(X)[0]) / (1 - h[0]), rel=1e-9)


def test_bias_and_variance():
    wave = RNG.uniform(-3, 3, size=(400, 1))
    y = np.sin(2 * wave[:, 0]) + 0.3 * RNG.normal(size=400)
    line = bias_variance(ermine.LinearRegression(), wave, y, noise=0.09)
    tree = bias_variance(ermine.DecisionTreeRegressor(), wave, y, noise=0.09)
    for found in (line, tree):
        assert found.error == pytest.approx(found.bias + found.variance + found.noise)
    # A line cannot bend: its bias is about the variance of the sine. A whole tree repeats the noise of its rows.
    assert line.bias > 0.3 and line.variance < 0.05 and tree.bias < 0.05 and tree.variance > 0.07
    assert bias_variance(ermine.LinearRegression(), wave, y, noise=0.09) == line, "the same seed, the same halves"
    labels = np.where(y > 0, "up", "down")
    stump = bias_variance(ermine.DecisionTreeClassifier(max_depth=1), wave, labels)
    assert 0 < stump.error < 0.6 and stump.net_variance == pytest.approx(stump.error - stump.bias)
    from sklearn.linear_model import Ridge

    with pytest.raises(TypeError, match="Ermine's"):
        bias_variance(Ridge(), wave, y)
