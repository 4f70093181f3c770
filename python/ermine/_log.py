"""How fits went and who did them."""

import collections
import json

#: Fits by class, by who did them and why: {(class, "ermine" or "scikit-learn", reason): count}.
FITS: collections.Counter[tuple[str, str, str]] = collections.Counter()


class FitLog:
    """How a fit went: `passes`, why it stopped (`stop`), the `objective` after each pass, the `certificate`, `notes`.

    `engine` is "ermine", or "scikit-learn" where the engine had no form for what was asked; `notes` then says for what.
    """

    def __init__(self, text, engine="ermine"):
        log = json.loads(text)
        self._text = text
        self.engine = engine
        self.passes = log["passes"]
        self.stop = log["stop"]
        self.objective = log["objective"]
        self.certificate = log["certificate"]
        self.notes = log["notes"]

    @classmethod
    def elsewhere(cls, reason, passes):
        log = {"passes": passes, "stop": "ScikitLearn", "objective": [], "certificate": None, "notes": [reason]}
        return cls(json.dumps(log), "scikit-learn")

    @property
    def converged(self):
        """Whether the certificate is within its tolerance, or nothing changes any more where a method has no such
        proof."""
        return self.stop in ("Exact", "Converged", "Settled", "Stationary")

    @property
    def unfinished(self):
        """Whether a tolerance was asked for and not met."""
        return self.stop in ("MaxIter", "Rounding", "TooSlow")

    @property
    def proof(self):
        """The certificate in words; empty where there is none."""
        match self.certificate:
            case {"Bound": {"gap": gap, "tolerance": tolerance}}:
                return f"at most {gap:.1e} above the optimum, tolerance {tolerance:.1e}"
            case {"Gradient": {"norm": norm, "tolerance": tolerance}}:
                return f"gradient {norm:.1e}, tolerance {tolerance:.1e}"
            case {"Monotone": {"largest_rise": rise}}:
                return f"objective rose by up to {rise:.1e}" if rise else "objective never rose"
        return ""

    def to_json(self):
        """As it stands in a model file."""
        return self._text

    def __repr__(self):
        return f"FitLog(passes={self.passes}, stop={self.stop!r}, certificate={self.certificate!r})"


_MIXTURE = (
    "Best performing initialization did not converge. Try different init parameters, or increase max_iter, tol, or check "
    "for degenerate data."
)
_LINEAR_MACHINE = "Liblinear failed to converge, increase the number of iterations."
_NET = "Objective did not converge. You might want to increase the number of iterations"
_DESCENT = "Maximum number of iteration reached before convergence. Consider increasing max_iter to improve the fit."
_NETWORK = "Stochastic Optimizer: Maximum iterations reached and the optimization hasn't converged yet."
_SAG = "The max_iter was reached which means the coef_ did not converge"

#: What scikit-learn says of a fit that ends before its tolerance is met, by class, for logistic regression by solver.
UNFINISHED = {
    "BayesianGaussianMixture": _MIXTURE,
    "GaussianMixture": _MIXTURE,
    "LinearSVC": _LINEAR_MACHINE,
    "LinearSVR": _LINEAR_MACHINE,
    "Lasso": _NET,
    "ElasticNet": _NET,
    "LassoCV": _NET,
    "ElasticNetCV": _NET,
    "SGDClassifier": _DESCENT,
    "SGDRegressor": _DESCENT,
    "Perceptron": _DESCENT,
    "MLPClassifier": _NETWORK,
    "MLPRegressor": _NETWORK,
}
for _cls in ("LogisticRegression", "LogisticRegressionCV"):
    UNFINISHED[f"{_cls} lbfgs"] = "lbfgs failed to converge"
    UNFINISHED[f"{_cls} newton-cg"] = "newton-cg failed to converge. Increase the number of iterations."
    UNFINISHED[f"{_cls} sag"] = UNFINISHED[f"{_cls} saga"] = _SAG


def tell(estimator):
    """What `verbose` asks for, printed when the fit has ended: each pass, in scikit-learn's words where there are such."""
    log, name = estimator.fit_log_, estimator._name
    if name == "KMeans":
        *passes, last = log.objective
        print("Initialization complete")
        for i, inertia in enumerate(passes):
            print(f"Iteration {i}, inertia {inertia}.")
        if log.converged:
            strict = not passes or last == passes[-1]
            why = "strict convergence" if strict else f"center shift is within tolerance {estimator.tol}"
            print(f"Converged at iteration {len(passes) - 1}: {why}.")
    elif name in ("MLPClassifier", "MLPRegressor"):
        for i, loss in enumerate(estimator.loss_curve_[-log.passes :], len(estimator.loss_curve_) - log.passes + 1):
            print(f"Iteration {i}, loss = {loss:.8f}")
    elif name == "MiniBatchKMeans":
        for i, inertia in enumerate(log.objective):
            print(f"Minibatch step {i + 1}/{log.passes}: ewa inertia: {inertia}")
        why = "small centers change" if estimator.max_no_improvement is None else "lack of improvement in inertia"
        if log.converged:
            print(f"Converged ({why}) at step {log.passes}")
    else:
        value = f", objective {log.objective[-1]}" if log.objective else ""
        print(f"{type(estimator).__name__}: {log.passes} passes{value}, {log.stop}")
